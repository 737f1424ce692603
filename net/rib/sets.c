/* See sets.h. */
#include "net/rib/sets.h"

#include "lib/mem.h"

static uint16_t *chain_of(struct rib *r, const struct rib_member *member, unsigned n)
{
	uint64_t key = n;
	for (unsigned i = 0; i < n; i++) {
		key = (key ^ ((uint32_t)member[i].gateway << 16 | member[i].distance << 8 |
		              member[i].source)) * 0x9e3779b97f4a7c15u;
		key ^= key >> 32;
	}
	return &r->set_chain[key & (r->numbers - 1)];
}

void sets_chain(struct rib *r)
{
	for (uint32_t n = 0; n < r->numbers; n++) {
		struct rib_set *s = &r->set[n];
		if (s->users == 0 || n == RIB_SET_UNKNOWN)
			continue;
		uint16_t *chain = chain_of(r, s->member, s->routes);
		s->next = *chain;
		*chain = (uint16_t)n;
	}
}

/* --- hops --- */

/* Adds a hop unless present; returns the number of hops. */
static unsigned add_hop(uint16_t hop[ECMP_MEMBERS_MAX], unsigned n, uint16_t nh)
{
	for (unsigned i = 0; i < n; i++)
		if (hop[i] == nh)
			return n;
	if (n < ECMP_MEMBERS_MAX)
		hop[n++] = nh;
	return n;
}

unsigned set_hops(const struct rib *r, unsigned set, bool neighbours,
                  uint16_t hop[ECMP_MEMBERS_MAX])
{
	const struct rib_set *s = &r->set[set];
	const struct rib_member *first = NULL;
	unsigned n = 0;
	for (unsigned i = 0; i < s->routes; i++) {
		const struct rib_gateway *g = &r->gateway[s->member[i].gateway];
		if (g->hops == 0 || (neighbours && g->reach == RIB_FAR))
			continue;
		if (first && !member_alike(first, &s->member[i]))
			break;
		first = &s->member[i];
		for (unsigned k = 0; k < g->hops; k++)
			n = add_hop(hop, n, g->hop[k]);
	}
	return n;
}

/* A group can change without touching its prefixes. Needed for several routes, unless the first one
 * alone is always used, and for a recursive route. */
static bool needs_group(const struct rib *r, const struct rib_set *s)
{
	const struct rib_gateway *g = &r->gateway[s->member[0].gateway];
	const bool alone = s->routes == 1 || !member_alike(&s->member[0], &s->member[1]);
	if (alone && g->reach == RIB_NEIGHBOUR && g->link == RIB_NO_INTERFACE)
		return false;
	return s->routes > 1 || g->reach == RIB_FAR;
}

/* Its hops go into its group, or its only one is what the table is to say: where it needs no group, or
 * is no member of any. nh is RIB_NH_NONE where there are none, or there are no more groups: false. */
static bool find_nh(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	uint16_t hop[ECMP_MEMBERS_MAX] = {r->ops->dead_end};
	const unsigned n = set_hops(r, set, false, hop);
	const uint16_t only = n == 1 && hop[0] < r->ops->member_min ? hop[0] : RIB_NH_NONE;
	if (only != RIB_NH_NONE)
		hop[0] = r->ops->dead_end;
	if (s->group != RIB_NH_NONE)
		r->ops->group_change(s->group, hop, NULL, n ? n : 1);
	else if (needs_group(r, s))
		s->group = (uint16_t)r->ops->group_make(hop, NULL, n ? n : 1);
	if (s->group == RIB_NH_NONE && needs_group(r, s)) {
		s->nh = RIB_NH_NONE;
		return false;
	}
	s->nh = n == 0 ? RIB_NH_NONE : s->group != RIB_NH_NONE ? s->group : hop[0];
	if (only != RIB_NH_NONE)
		s->nh = only;
	return true;
}

static bool has_changed(const struct rib *r, const struct rib_set *s)
{
	for (unsigned i = 0; i < s->routes; i++)
		if (r->gateway[s->member[i].gateway].changed)
			return true;
	return false;
}

bool sets_refresh(struct rib *r)
{
	bool any = false;
	for (uint32_t n = 0; n < r->numbers; n++) {
		struct rib_set *s = &r->set[n];
		if (s->users == 0 || !has_changed(r, s))
			continue;
		const uint32_t was = s->nh;
		find_nh(r, n);
		s->moved |= s->nh != was;
		any |= s->nh != was;
	}
	for (uint32_t n = 0; n < r->numbers; n++)
		r->gateway[n].changed = false;
	return any;
}

/* --- numbers --- */

static bool comes_before(const struct rib_member *a, const struct rib_member *b)
{
	if (a->distance != b->distance)
		return a->distance < b->distance;
	return a->source != b->source ? a->source < b->source : a->gateway < b->gateway;
}

static void sort(struct rib_member *member, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		const struct rib_member m = member[i];
		unsigned at = i;
		for (; at > 0 && comes_before(&m, &member[at - 1]); at--)
			member[at] = member[at - 1];
		member[at] = m;
	}
}

static void release_all(struct rib *r, const struct rib_member *member, unsigned n)
{
	while (n)
		gateway_release(r, member[--n].gateway);
}

unsigned set_take(struct rib *r, struct rib_member *member, unsigned n)
{
	sort(member, n);
	uint16_t *chain = chain_of(r, member, n);
	unsigned set = *chain;
	while (set != RIB_NO_NUMBER &&
	       (r->set[set].routes != n ||
	        memcmp(r->set[set].member, member, n * sizeof *member) != 0))
		set = r->set[set].next;
	if (set != RIB_NO_NUMBER) {
		r->set[set].users++;
		release_all(r, member, n); /* the existing set holds them */
		return set;
	}
	set = r->set_free;
	if (set == RIB_NO_NUMBER) {
		release_all(r, member, n);
		return RIB_NO_NUMBER;
	}
	struct rib_set *s = &r->set[set];
	const uint16_t next_free = s->next;
	*s = (struct rib_set){.users = 1, .next = *chain, .routes = (uint8_t)n};
	memcpy(s->member, member, n * sizeof *member);
	if (!find_nh(r, set)) {
		*s = (struct rib_set){.next = next_free};
		release_all(r, member, n);
		return RIB_NO_NUMBER;
	}
	r->set_free = next_free;
	*chain = (uint16_t)set;
	return set;
}

void set_release(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	if (--s->users)
		return;
	uint16_t *link = chain_of(r, s->member, s->routes);
	while (*link != set)
		link = &r->set[*link].next;
	*link = s->next;
	if (s->group != RIB_NH_NONE)
		r->ops->group_free(s->group);
	release_all(r, s->member, s->routes);
	s->moved = false;
	s->next = r->set_free;
	r->set_free = (uint16_t)set;
}
