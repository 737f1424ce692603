/* See sets.h. */
#include "net/rib/sets.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/rib/table.h"

static uint64_t word_of(const struct rib_member *m)
{
	uint64_t word;
	__builtin_memcpy(&word, m, sizeof word);
	return word;
}

static uint16_t *chain_of(struct rib *r, const struct rib_member *member, unsigned n, bool six)
{
	uint64_t key = n << 1 | six;
	for (unsigned i = 0; i < n; i++) {
		key = (key ^ word_of(&member[i])) * 0x9e3779b97f4a7c15u;
		key ^= key >> 32;
	}
	return &r->set_chain[key & (r->numbers - 1)];
}

static void enter_chain(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	uint16_t *chain = chain_of(r, set_members(r, s), s->routes, s->six);
	s->next = *chain;
	*chain = (uint16_t)set;
}

static void leave_chain(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	uint16_t *link = chain_of(r, set_members(r, s), s->routes, s->six);
	while (*link != set)
		link = &r->set[*link].next;
	*link = s->next;
}

void sets_chain(struct rib *r)
{
	for (uint32_t n = 0; n < r->numbers; n++)
		if (r->set[n].users && r->set[n].routes)
			enter_chain(r, n);
}

/* --- the routes --- */

void lists_free(struct rib *r, uint32_t from, uint32_t to)
{
	for (uint32_t n = to; n-- > from;) {
		r->list[n].member[0].gateway = r->list_free;
		r->list_free = (uint16_t)n;
	}
}

/* Gives a set these routes. False: it needs a list, and there is none. */
static bool set_write(struct rib *r, struct rib_set *s, const struct rib_member *member, unsigned n)
{
	if (n > RIB_FEW && s->list == RIB_NO_NUMBER) {
		if (r->list_free == RIB_NO_NUMBER)
			return false;
		s->list = r->list_free;
		r->list_free = r->list[s->list].member[0].gateway;
	}
	if (n <= RIB_FEW && s->list != RIB_NO_NUMBER) {
		lists_free(r, s->list, s->list + 1u);
		s->list = RIB_NO_NUMBER;
	}
	memcpy(set_members(r, s), member, n * sizeof *member);
	s->routes = (uint8_t)n;
	s->sources = 0;
	for (unsigned i = 0; i < n; i++)
		s->sources |= (uint8_t)(1u << member[i].source);
	return true;
}

/* --- hops --- */

static void add_hop(struct rib_hops *h, uint16_t nh, uint32_t share)
{
	unsigned i = 0;
	while (i < h->n && h->nh[i] != nh)
		i++;
	if (i == ECMP_MEMBERS_MAX)
		return;
	if (i == h->n) {
		h->nh[h->n++] = nh;
		h->share[i] = 0;
	}
	h->share[i] += share;
}

/* Adds the hops of a gateway, with their parts of a route's weight. */
static void add_hops(struct rib_hops *h, const struct rib_gateway *g, uint8_t weight)
{
	uint32_t sum = 0;
	for (unsigned k = 0; k < g->hops; k++)
		sum += g->weight[k];
	for (unsigned k = 0; k < g->hops; k++)
		add_hop(h, g->hop[k],
		        g->hops == 1 ? weight * RIB_SHARE : weight * RIB_SHARE * g->weight[k] / sum);
}
_Static_assert(255ull * RIB_SHARE * 255 <= UINT32_MAX, "no overflow");

static unsigned hops_of(const struct rib *r, unsigned set, bool neighbours, bool waiting,
                        struct rib_hops *out)
{
	struct rib_set *s = &r->set[set];
	const struct rib_member *m = set_members(r, s), *first = NULL;
	out->n = 0;
	for (unsigned i = 0; i < s->routes; i++) {
		const struct rib_gateway *g = &r->gateway[m[i].gateway];
		if (!gateway_is_usable(g, waiting) || (neighbours && g->reach == RIB_FAR))
			continue;
		if (first && !member_alike(first, &m[i]))
			break;
		first = &m[i];
		add_hops(out, g, m[i].weight);
	}
	return out->n;
}

unsigned set_hops(const struct rib *r, unsigned set, bool neighbours, struct rib_hops *out,
                  bool *waiting)
{
	*waiting = hops_of(r, set, neighbours, false, out) == 0 && r->waiting != 0 &&
	           hops_of(r, set, neighbours, true, out) != 0;
	return out->n;
}

/* Notes the gateways that wait and would otherwise give hops to the set, which has others. */
static void want_waiting(struct rib *r, struct rib_set *s)
{
	const struct rib_member *m = set_members(r, s), *first = NULL;
	for (unsigned i = 0; i < s->routes && (!first || member_alike(first, &m[i])); i++) {
		struct rib_gateway *g = &r->gateway[m[i].gateway];
		if (gateway_is_usable(g, false))
			first = &m[i];
		else if (g->waiting && !g->wanted)
			g->wanted = r->ask = true;
	}
}

void hops_weigh(const struct rib_hops *h, uint8_t weight[ECMP_MEMBERS_MAX])
{
	uint32_t most = 0, parts = 0;
	for (unsigned i = 0; i < h->n; i++) {
		most = u32_max(most, h->share[i]);
		parts |= h->share[i] % RIB_SHARE;
	}
	const uint32_t unit = parts || most > 255 * RIB_SHARE ? (most + 254) / 255 : RIB_SHARE;
	for (unsigned i = 0; i < h->n; i++)
		weight[i] = (uint8_t)u32_max((h->share[i] + unit / 2) / unit, 1);
}

/* A group can change without touching its prefixes. Needed for several routes, unless the first one
 * alone is always used, and for a recursive route. */
static bool needs_group(const struct rib *r, const struct rib_member *m, unsigned n)
{
	if (n == 0)
		return false;
	const struct rib_gateway *g = &r->gateway[m->gateway];
	const bool alone = n == 1 || !member_alike(&m[0], &m[1]);
	if (alone && g->reach == RIB_NEIGHBOUR && g->link == RIB_NO_INTERFACE)
		return false;
	return n > 1 || g->reach == RIB_FAR;
}

/*
 * Sets the next hop of a set:
 *     its group, whose members become the set's hops
 *     its only hop, if it needs no group, or if that hop cannot be a member of one (rib_ops.member_min)
 *     RIB_NH_NONE, if it has no hops
 * False, with RIB_NH_NONE: it needs a group, and there are no more.
 */
static bool find_nh(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	struct rib_hops hop;
	uint8_t weight[ECMP_MEMBERS_MAX];
	bool waiting;
	const unsigned n = set_hops(r, set, false, &hop, &waiting);
	const bool needs = needs_group(r, set_members(r, s), s->routes);
	const uint16_t only = n == 1 && hop.nh[0] < r->ops->member_min ? hop.nh[0] : RIB_NH_NONE;
	if (n == 0 || only != RIB_NH_NONE) {
		hop.n = 0;
		add_hop(&hop, r->ops->dead_end, RIB_SHARE);
	}
	if (r->waiting && n && !waiting)
		want_waiting(r, s);
	hops_weigh(&hop, weight);
	if (s->group != RIB_NH_NONE)
		r->ops->group_change(s->group, hop.nh, weight, hop.n);
	else if (needs)
		s->group = (uint16_t)r->ops->group_make(hop.nh, weight, hop.n);
	if (s->group == RIB_NH_NONE && needs) {
		s->nh = RIB_NH_NONE;
		return false;
	}
	s->nh = n == 0 ? RIB_NH_NONE : s->group != RIB_NH_NONE ? s->group : hop.nh[0];
	if (only != RIB_NH_NONE)
		s->nh = only;
	return true;
}

static bool has_changed(const struct rib *r, struct rib_set *s)
{
	for (unsigned i = 0; i < s->routes; i++)
		if (r->gateway[set_members(r, s)[i].gateway].changed)
			return true;
	return false;
}

bool sets_refresh(struct rib *r, unsigned stage)
{
	bool any = false;
	for (uint32_t n = 0; n < r->numbers; n++) {
		struct rib_set *s = &r->set[n];
		if (s->users == 0 || !has_changed(r, s))
			continue;
		const uint32_t was = s->nh;
		find_nh(r, n);
		if (s->nh != was && s->moved < stage)
			s->moved = (uint8_t)stage;
		any |= s->nh != was;
	}
	for (uint32_t n = 0; n < r->numbers; n++)
		r->gateway[n].changed = false;
	return any;
}

/* --- numbers --- */

static int compare(const struct rib_member *a, const struct rib_member *b)
{
	if (a->distance != b->distance)
		return a->distance - b->distance;
	if (a->source != b->source)
		return a->source - b->source;
	if (a->gateway != b->gateway)
		return a->gateway - b->gateway;
	return memcmp(a, b, sizeof *a);
}

void members_sort(struct rib_member *member, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		const struct rib_member m = member[i];
		unsigned at = i;
		for (; at > 0 && compare(&m, &member[at - 1]) < 0; at--)
			member[at] = member[at - 1];
		member[at] = m;
	}
}

void members_release(struct rib *r, const struct rib_member *member, unsigned n)
{
	while (n)
		gateway_release(r, member[--n].gateway);
}

bool set_has(const struct rib *r, unsigned set, const struct rib_member *member, unsigned n, bool six)
{
	struct rib_set *s = &r->set[set];
	const struct rib_member *m = set_members(r, s);
	if (s->routes != n || s->six != six || word_of(m) != word_of(member))
		return false;
	return n == 1 || memcmp(m + 1, member + 1, (n - 1) * sizeof *m) == 0;
}

/* Frees its number, which is in no chain. */
static void set_free(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	if (s->list != RIB_NO_NUMBER)
		lists_free(r, s->list, s->list + 1u);
	*s = (struct rib_set){.next = r->set_free, .list = RIB_NO_NUMBER};
	r->set_free = (uint16_t)set;
}

unsigned set_take(struct rib *r, struct rib_member *member, unsigned n, bool six)
{
	unsigned set = *chain_of(r, member, n, six);
	while (set != RIB_NO_NUMBER && !set_has(r, set, member, n, six))
		set = r->set[set].next;
	if (set != RIB_NO_NUMBER) {
		r->set[set].users++;
		members_release(r, member, n); /* the existing set holds them */
		return set;
	}
	set = r->set_free;
	if (set == RIB_NO_NUMBER) {
		members_release(r, member, n);
		return RIB_NO_NUMBER;
	}
	struct rib_set *s = &r->set[set];
	r->set_free = s->next;
	*s = (struct rib_set){.users = 1, .list = RIB_NO_NUMBER, .six = six};
	if (!set_write(r, s, member, n) || !find_nh(r, set)) {
		set_free(r, set);
		members_release(r, member, n);
		return RIB_NO_NUMBER;
	}
	enter_chain(r, set);
	return set;
}

void set_release(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	if (--s->users)
		return;
	if (s->routes)
		leave_chain(r, set);
	if (s->group != RIB_NH_NONE)
		r->ops->group_free(s->group);
	members_release(r, set_members(r, s), s->routes);
	set_free(r, set);
}

/* --- other routes of a set --- */

bool lists_left(const struct rib *r, uint32_t n)
{
	unsigned list = r->list_free;
	for (; n && list != RIB_NO_NUMBER; n--)
		list = r->list[list].member[0].gateway;
	return n == 0;
}

bool set_prepare(struct rib *r, unsigned set, const struct rib_member *member, unsigned n,
                 uint32_t *lists)
{
	struct rib_set *s = &r->set[set];
	const uint8_t weight = 1;
	*lists += n > RIB_FEW && s->list == RIB_NO_NUMBER;
	if (s->group != RIB_NH_NONE || !needs_group(r, member, n))
		return true;
	s->group = (uint16_t)r->ops->group_make(&r->ops->dead_end, &weight, 1);
	s->prepared = s->group != RIB_NH_NONE;
	return s->prepared;
}

void set_unprepare(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	if (s->prepared)
		r->ops->group_free(s->group);
	if (s->prepared)
		s->group = RIB_NH_NONE;
	s->prepared = false;
}

bool set_become(struct rib *r, unsigned set, const struct rib_member *member, unsigned n,
                unsigned stage)
{
	struct rib_set *s = &r->set[set];
	const uint8_t sources = s->sources;
	const uint16_t was = s->nh;
	s->prepared = false;
	if (n && set_has(r, set, member, n, s->six)) {
		members_release(r, member, n);
		return false;
	}
	leave_chain(r, set);
	for (unsigned i = 0; i < s->routes; i++)
		r->gateway[set_members(r, s)[i].gateway].leaving[stage - 1]++;
	const bool written = set_write(r, s, member, n), found = find_nh(r, set);
	assert(written && found);
	if (n)
		enter_chain(r, set);
	count_sources(r, sources, s->sources, s->users);
	if ((s->nh != was || s->sources != sources) && s->moved < stage)
		s->moved = (uint8_t)stage;
	return true;
}
