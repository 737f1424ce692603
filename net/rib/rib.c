/* See rib.h. */
#include "net/rib/rib.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/rib/sets.h"
#include "net/rib/table.h"

#define NUMBERS_LEAST 64u
#define LISTS_MOST 1024u

/* --- memory --- */

/* Sets, and gateways, for `routes` routes: in a small base all may differ, in a large one many are
 * alike. */
static uint32_t numbers_for(uint32_t routes)
{
	uint32_t n = NUMBERS_LEAST;
	while (n < RIB_NUMBERS_MAX && n < routes)
		n *= 2;
	return n;
}

/* Lists of sets with more than RIB_FEW routes. Where all of so many routes may differ, a fifth of as
 * many sets may need one; more than a thousand need more groups than there usually are. */
uint32_t lists_for(uint32_t numbers) { return u32_min(numbers / 4, LISTS_MOST); }

size_t rib_bytes(const struct rib_size *size)
{
	const uint32_t n = numbers_for(size->routes);
	return n * (sizeof(struct rib_set) + sizeof(struct rib_gateway) + 2 * sizeof(uint16_t)) +
	       lists_for(n) * sizeof(struct rib_list) + table_bytes(table_slots(size->four), false) +
	       table_bytes(table_slots(size->six), true) + table_bytes(table_slots(size->hosts), false);
}

bool rib_has_room(const struct rib *r, const struct rib_size *size)
{
	return size->four <= r->size.four && size->six <= r->size.six && size->hosts <= r->size.hosts &&
	       numbers_for(size->routes) <= r->numbers;
}

void rib_divide(struct rib *r, uint8_t *at, const struct rib_size *size)
{
	const uint32_t n = numbers_for(size->routes);
	r->size = *size;
	r->numbers = n;
	r->set = (struct rib_set *)(void *)at;
	at += n * sizeof *r->set;
	r->gateway = (struct rib_gateway *)(void *)at;
	at += n * sizeof *r->gateway;
	r->list = (struct rib_list *)(void *)at;
	at += lists_for(n) * sizeof *r->list;
	r->set_chain = (uint16_t *)(void *)at;
	at += n * sizeof *r->set_chain;
	r->gateway_chain = (uint16_t *)(void *)at;
	at += n * sizeof *r->gateway_chain;
	r->table[0] = (struct rib_table){(uint32_t *)(void *)at, table_slots(size->four), 0, false};
	at += table_bytes(r->table[0].slots, false);
	r->table[1] = (struct rib_table){(uint32_t *)(void *)at, table_slots(size->six), 0, true};
	at += table_bytes(r->table[1].slots, true);
	r->hosts = (struct rib_table){(uint32_t *)(void *)at, table_slots(size->hosts), 0, false};
}

/* Divides the memory; everything is empty. */
static void lay_out(struct rib *r, void *memory, const struct rib_size *size)
{
	rib_divide(r, memory, size);
	memset(r->set_chain, 0xff, 2 * r->numbers * sizeof *r->set_chain); /* RIB_NO_NUMBER */
	table_clear(&r->table[0]);
	table_clear(&r->table[1]);
	table_clear(&r->hosts);
}

/* Puts the numbers from `from` on, which are unused, and their lists on the free lists. */
static void free_numbers(struct rib *r, uint32_t from)
{
	lists_free(r, lists_for(from), lists_for(r->numbers));
	for (uint32_t n = r->numbers; n-- > from;) {
		r->set[n] = (struct rib_set){.next = r->set_free, .list = RIB_NO_NUMBER};
		r->gateway[n] = (struct rib_gateway){.next = r->gateway_free};
		r->set_free = r->gateway_free = (uint16_t)n;
	}
}

void rib_init(struct rib *r, const struct rib_ops *ops, void *memory, const struct rib_size *size)
{
	*r = (struct rib){.ops = ops, .set_free = RIB_NO_NUMBER, .gateway_free = RIB_NO_NUMBER,
	                  .list_free = RIB_NO_NUMBER};
	lay_out(r, memory, size);
	free_numbers(r, 0);
	r->set_free = r->set[RIB_SET_UNKNOWN].next;
	r->epoch = 1;
	r->set[RIB_SET_UNKNOWN] = (struct rib_set){.users = 1, .list = RIB_NO_NUMBER};
}

/* --- gateways whose hops change --- */

static void tell_sets(struct rib *r)
{
	const unsigned stage = sweep_stage(r);
	if (sets_refresh(r, stage))
		sweep_begin(r, stage);
}

void gateways_resolve(struct rib *r)
{
	r->resolve = false;
	for (uint32_t n = 0; r->recursive && n < r->numbers; n++)
		if (r->gateway[n].users && r->gateway[n].reach == RIB_FAR)
			gateway_refresh(r, &r->gateway[n]);
	tell_sets(r);
}

/* Refreshes the gateways on this link; RIB_NO_INTERFACE: on any link. */
static void refresh_links(struct rib *r, unsigned interface)
{
	bool any = false;
	for (uint32_t n = 0; n < r->numbers; n++) {
		struct rib_gateway *g = &r->gateway[n];
		if (!g->users || g->link == RIB_NO_INTERFACE ||
		    (interface != RIB_NO_INTERFACE && g->link != interface))
			continue;
		gateway_refresh(r, g);
		any |= g->changed;
	}
	if (!any)
		return;
	tell_sets(r);
	gateways_resolve(r);
}

void rib_link(struct rib *r, unsigned interface) { refresh_links(r, interface); }

void rib_links(struct rib *r) { refresh_links(r, RIB_NO_INTERFACE); }

void rib_resolved(struct rib *r, uint32_t nh)
{
	bool any = false;
	for (uint32_t n = 0; r->waiting && n < r->numbers; n++) {
		struct rib_gateway *g = &r->gateway[n];
		if (!g->users || !g->waiting || g->reach != RIB_NEIGHBOUR || g->nh != nh)
			continue;
		gateway_refresh(r, g);
		any |= g->changed;
	}
	if (!any)
		return;
	tell_sets(r);
	gateways_resolve(r);
}

bool rib_ask(struct rib *r)
{
	bool any = false;
	r->ask = false;
	for (uint32_t n = 0; r->waiting && n < r->numbers; n++) {
		const struct rib_gateway *g = &r->gateway[n];
		for (unsigned i = 0; g->users && g->wanted && i < g->hops; i++) {
			r->ops->ask(g->hop[i]);
			any = true;
		}
	}
	return any;
}

void rib_reach_again(struct rib *r)
{
	while (rib_work(r, UINT32_MAX))
		;
	for (uint32_t n = 0; n < r->numbers; n++)
		if (r->gateway[n].users)
			gateway_reach(r, &r->gateway[n]);
	tell_sets(r);
	gateways_resolve(r);
	sweep_begin(r, sweep_stage(r)); /* at its end gateways release their old numbers */
}

/* --- routes --- */

/* Is a recursive gateway reached through that neighbour? */
static bool serves(const struct rib *r, uint16_t nh)
{
	for (uint32_t n = 0; n < r->numbers; n++) {
		const struct rib_gateway *g = &r->gateway[n];
		for (unsigned i = 0; g->users && g->reach == RIB_FAR && i < g->hops; i++)
			if (g->hop[i] == nh)
				return true;
	}
	return false;
}

/* A prefix has left its set. If that releases a gateway, recursive gateways that use its neighbour
 * are resolved first. */
static void leave_set(struct rib *r, unsigned set)
{
	struct rib_set *s = &r->set[set];
	const struct rib_member *m = set_members(r, s);
	bool tell = false;
	for (unsigned i = 0; r->recursive && s->users == 1 && !tell && i < s->routes; i++) {
		const struct rib_gateway *g = &r->gateway[m[i].gateway];
		tell = g->reach == RIB_NEIGHBOUR && serves(r, g->nh);
	}
	if (tell)
		gateways_resolve(r);
	set_release(r, set);
}

int routes_compose(struct rib *r, unsigned set, const struct routes *new,
                   struct rib_member member[RIB_ROUTES_MAX])
{
	const struct rib_member *old = set_members(r, &r->set[set]);
	unsigned count = 0;
	for (unsigned i = 0; i < r->set[set].routes; i++)
		if (old[i].source != new->source) {
			member[count++] = old[i];
			r->gateway[old[i].gateway].users++;
		}
	for (unsigned i = 0; i < new->n; i++) {
		const struct rib_hop *h = &new->hop[i];
		unsigned g = count < RIB_ROUTES_MAX ? gateway_take(r, h, new->six) : RIB_NO_NUMBER;
		if (g == RIB_NO_NUMBER) {
			while (count)
				gateway_release(r, member[--count].gateway);
			return E_NOMEM;
		}
		member[count++] = (struct rib_member){
			.gateway = (uint16_t)g, .tag = new->tag, .distance = h->distance,
			.source = (uint8_t)new->source, .weight = h->weight ? h->weight : 1, .origin = h->origin};
	}
	if (count > 1)
		members_sort(member, count);
	return (int)count;
}

void slot_forget(struct rib *r, struct rib_table *t, uint32_t slot)
{
	const struct rib_prefix p = slot_prefix(t, slot);
	const unsigned set = slot_set(t, slot), flags = slot_flags(t, slot);
	if (flags & SLOT_IN_TABLE)
		host_uncover(r, &p);
	count_sources(r, r->set[set].sources, 0, 1);
	count_flags(r, flags, UINT32_MAX);
	slot_state(r, t, slot, 0);
	table_remove(t, slot, slot_moved, r);
	if (set != RIB_SET_UNKNOWN)
		leave_set(r, set);
}

/* Refuses a prefix for lack of room. *slot: as in routes_set. */
static int refuse(struct rib *r, struct rib_table *t, const struct rib_prefix *p, uint32_t *slot,
                  enum rib_source source)
{
	if (*slot != TABLE_NO_SLOT) {
		slot_change(r, t, *slot, slot_set(t, *slot), slot_flags(t, *slot) | SLOT_REFUSED);
	} else if (table_is_full(t)) {
		r->unknown++;
		r->unknown_engine += source == RIB_ENGINE;
	} else {
		*slot = table_add(t, p);
		slot_write(t, *slot, RIB_SET_UNKNOWN, SLOT_REFUSED);
		count_flags(r, SLOT_REFUSED, 1);
	}
	return E_NOMEM;
}

/* Gives the prefix a set, which was already taken for it. */
static int change(struct rib *r, struct rib_table *t, const struct rib_prefix *p, uint32_t *slot,
                  unsigned set, enum rib_source source)
{
	const bool fresh = *slot == TABLE_NO_SLOT;
	const uint32_t nh = r->set[set].nh;
	const unsigned old = fresh ? RIB_SET_UNKNOWN : slot_set(t, *slot);
	const unsigned had = fresh ? 0 : slot_flags(t, *slot);
	unsigned flags = 0;
	if (nh != RIB_NH_NONE)
		flags = r->ops->put(p, nh) ? SLOT_IN_TABLE : SLOT_REFUSED;
	if (flags == SLOT_REFUSED && had & SLOT_IN_TABLE) {
		set_release(r, set);
		return refuse(r, t, p, slot, source);
	}
	if (nh == RIB_NH_NONE && had & SLOT_IN_TABLE)
		host_uncover(r, p);
	count_sources(r, r->set[old].sources, r->set[set].sources, 1);
	if (fresh) {
		*slot = table_add(t, p);
		slot_write(t, *slot, set, flags);
		count_flags(r, flags, 1);
	} else {
		slot_change(r, t, *slot, set, flags);
	}
	if (!(r->set[set].sources & 1u << RIB_ENGINE))
		slot_state(r, t, *slot, 0); /* rib_replace may have removed the engine's */
	if (old != RIB_SET_UNKNOWN)
		leave_set(r, old);
	return flags == SLOT_REFUSED ? E_NOMEM : E_OK;
}

/* The source has no routes to a prefix without a slot. If prefixes without a slot have been refused, this is
 * taken for one of them. */
static int forget_unknown(struct rib *r, enum rib_source source)
{
	const bool engine = source == RIB_ENGINE;
	const bool known = engine ? r->unknown_engine != 0 : r->unknown > r->unknown_engine;
	r->unknown -= known;
	r->unknown_engine -= known && engine;
	return E_OK;
}

int routes_set(struct rib *r, struct rib_table *t, const struct rib_prefix *p, uint32_t *slot,
               const struct routes *new)
{
	struct rib_member member[RIB_ROUTES_MAX];
	const bool fresh = *slot == TABLE_NO_SLOT;
	const unsigned old = fresh ? RIB_SET_UNKNOWN : slot_set(t, *slot);
	const int routes = routes_compose(r, old, new, member);
	const unsigned n = routes > 0 ? (unsigned)routes : 0;
	if (n && !fresh && !(slot_flags(t, *slot) & SLOT_REFUSED) &&
	    set_has(r, old, member, n, new->six)) {
		members_release(r, member, n);
		return E_OK;
	}
	r->resolve |= r->recursive != 0;
	if (routes == 0 && fresh)
		return forget_unknown(r, new->source);
	if (routes == 0) {
		slot_forget(r, t, *slot);
		*slot = TABLE_NO_SLOT;
		return E_OK;
	}
	const unsigned set = routes < 0 ? RIB_NO_NUMBER : set_take(r, member, n, new->six);
	if (set == RIB_NO_NUMBER)
		return refuse(r, t, p, slot, new->source);
	if (fresh && table_is_full(t)) {
		set_release(r, set);
		return refuse(r, t, p, slot, new->source);
	}
	return change(r, t, p, slot, set, new->source);
}

int rib_set(struct rib *r, const struct rib_prefix *p, enum rib_source source, uint16_t tag,
            const struct rib_hop *hop, unsigned n)
{
	const struct routes new = {source, tag, p->six, hop, n};
	struct rib_table *t = &r->table[p->six];
	if (source == RIB_HOST)
		return host_set(r, p, n ? hop[0].nh : RIB_NH_NONE);
	uint32_t slot = table_find(t, p);
	const int error = routes_set(r, t, p, &slot, &new);
	if (source == RIB_ENGINE && slot != TABLE_NO_SLOT && (n || error == E_OK))
		slot_state(r, t, slot, n ? r->epoch : 0);
	return error;
}

void rib_prefetch(const struct rib *r, const struct rib_prefix *p)
{
	table_prefetch(&r->table[p->six], p);
}

/* --- queries --- */

static bool host_route(const struct rib *r, const struct rib_prefix *p, bool used,
                       struct rib_route *out)
{
	uint32_t slot;
	const uint16_t nh = (uint16_t)host_find(r, p, &slot);
	if (nh == RIB_NH_NONE)
		return false;
	*out = (struct rib_route){.hop = {.nh = nh, .interface = RIB_NO_INTERFACE, .weight = 1},
	                          .source = RIB_HOST,
	                          .reach = RIB_NEIGHBOUR, .used = used, .hops = 1, .nh = {nh}};
	return true;
}

/* The first of a set's routes that are used; its number of routes: none is. *waiting: it waits. */
static unsigned first_used(const struct rib *r, const struct rib_set *s, const struct rib_member *m,
                           bool *waiting)
{
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < s->routes; i++)
			if (gateway_is_usable(&r->gateway[m[i].gateway], pass)) {
				*waiting = pass;
				return i;
			}
	return s->routes;
}

bool rib_route(const struct rib *r, const struct rib_prefix *p, unsigned i, struct rib_route *out)
{
	const struct rib_table *t = &r->table[p->six];
	const uint32_t slot = table_find(t, p);
	struct rib_set *s = &r->set[slot == TABLE_NO_SLOT ? RIB_SET_UNKNOWN : slot_set(t, slot)];
	const struct rib_member *m = set_members(r, s);
	bool waiting = false;
	if (i >= s->routes)
		return i == s->routes &&
		       host_route(r, p, slot == TABLE_NO_SLOT || !(slot_flags(t, slot) & SLOT_IN_TABLE), out);
	const unsigned first = first_used(r, s, m, &waiting);
	const struct rib_gateway *g = &r->gateway[m[i].gateway];
	*out = (struct rib_route){.hop = g->key, .source = m[i].source, .tag = m[i].tag, .reach = g->reach,
	                          .hops = g->hops};
	out->hop.distance = m[i].distance;
	out->hop.weight = m[i].weight;
	out->hop.origin = m[i].origin;
	out->stale = m[i].source == RIB_ENGINE && slot_is_stale(r, t, slot);
	out->waiting = g->waiting;
	out->used = gateway_is_usable(g, waiting) && member_alike(&m[i], &m[first]);
	memcpy(out->nh, g->hop, g->hops * sizeof g->hop[0]);
	return true;
}

bool rib_next_idle(const struct rib *r, bool six, uint32_t *cursor, struct rib_prefix *out)
{
	const struct rib_table *t = &r->table[six];
	for (uint32_t i = (*cursor)++; i < t->slots; i = (*cursor)++)
		if (slot_set(t, i) != TABLE_NO_SET && !(slot_flags(t, i) & SLOT_IN_TABLE) &&
		    !slot_is_dying(r, t, i)) {
			*out = slot_prefix(t, i);
			return true;
		}
	*cursor = t->slots;
	return false;
}

/* --- more memory --- */

static void move_slots(struct rib_table *to, const struct rib_table *from)
{
	for (uint32_t i = 0; i < from->slots; i++) {
		const struct rib_prefix p = slot_prefix(from, i);
		if (slot_set(from, i) == TABLE_NO_SET)
			continue;
		const uint32_t slot = table_add(to, &p);
		slot_write(to, slot, slot_set(from, i), slot_flags(from, i));
		slot_epoch_write(to, slot, slot_epoch(from, i));
	}
}

void rib_move(struct rib *r, void *memory, const struct rib_size *size)
{
	const struct rib old = *r;
	lay_out(r, memory, size);
	free_numbers(r, old.numbers);
	memcpy(r->set, old.set, old.numbers * sizeof *r->set);
	memcpy(r->gateway, old.gateway, old.numbers * sizeof *r->gateway);
	memcpy(r->list, old.list, lists_for(old.numbers) * sizeof *r->list);
	gateways_chain(r);
	sets_chain(r);
	move_slots(&r->table[0], &old.table[0]);
	move_slots(&r->table[1], &old.table[1]);
	move_slots(&r->hosts, &old.hosts);
	r->sweep = r->stale = (struct rib_place){0, 0}; /* slots are elsewhere now */
}
