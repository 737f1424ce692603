/* See routes.h. */
#include "control/routes.h"

#include "control/groups.h"
#include "control/inside.h"
#include "lib/mem.h"
#include "net/ip4.h"

#define NO_SET 0xffffu
#define NO_INTERFACE 0xff
_Static_assert(CONFIG_ROUTES_EACH_MAX <= ECMP_MEMBERS_MAX, "all may be members");
_Static_assert(VIEW_GROUPS < NO_SET && VIEW_IFS_MAX <= NO_INTERFACE, "they are numbers");
_Static_assert((int)NH_PROHIBIT - (int)NH_NULL0 ==
               (int)CONFIG_ROUTE_PROHIBIT - (int)CONFIG_ROUTE_NULL0, "in one order");

struct prefix {
	struct net_addr addr; /* of IPv4: net_addr_ip4 */
	uint8_t plen;
	bool six;
};

struct hop {
	uint16_t nh;
	uint8_t distance;
	uint8_t interface; /* NO_INTERFACE: it needs none */
};

/* The routes of a prefix. */
struct ways {
	struct hop hop[CONFIG_ROUTES_EACH_MAX];
	unsigned n;
	bool several; /* the configuration has more than one, of which some may be out of service */
};

/* Several ways, which prefixes share. */
static struct set {
	struct ways ways;
	uint32_t users; /* prefixes; 0: it is free */
	uint32_t group;
	bool empty;     /* none can be used: its prefixes are not in the table */
	bool moved;     /* it has just become empty, or is so no more */
} sets[VIEW_GROUPS];

/* The prefixes with several routes: a hash table, open addressing, at most half full. */
static struct member {
	struct prefix prefix;
	uint16_t set; /* NO_SET: free */
} *members;
static uint32_t members_max, members_count; /* a power of two, or 0 */

/* --- the forwarding table --- */

static uint32_t table_get(const struct prefix *p)
{
	return p->six ? fib6_get(&plane.fib6, &p->addr, p->plen)
	              : fib4_get(&plane.fib, net_addr_to_ip4(&p->addr), p->plen);
}

static int table_put(const struct prefix *p, uint32_t nh)
{
	return p->six ? fib6_insert(&plane.fib6, &p->addr, p->plen, nh)
	              : fib4_insert(&plane.fib, net_addr_to_ip4(&p->addr), p->plen, nh);
}

static int table_take(const struct prefix *p)
{
	return p->six ? fib6_remove(&plane.fib6, &p->addr, p->plen)
	              : fib4_remove(&plane.fib, net_addr_to_ip4(&p->addr), p->plen);
}

/* --- next hops --- */

static void pin(uint32_t nh)
{
	if (nh >= NH_NEIGHBOUR6)
		nd_pin(&plane.nd, nh - NH_NEIGHBOUR6);
	else if (nh >= NH_NEIGHBOUR)
		arp_pin(&plane.arp, nh - NH_NEIGHBOUR);
}

static void unpin(uint32_t nh)
{
	if (nh >= NH_NEIGHBOUR6)
		nd_unpin(&plane.nd, nh - NH_NEIGHBOUR6);
	else if (nh >= NH_NEIGHBOUR)
		arp_unpin(&plane.arp, nh - NH_NEIGHBOUR);
}

static void unpin_all(const struct ways *w)
{
	for (unsigned i = 0; i < w->n; i++)
		unpin(w->hop[i].nh);
}

/* The interface of a next hop, if it is there and takes part; -1: not. */
static int link_of(const struct config_route *r)
{
	int n = config_connected(&plane.config, r->next_hop);
	return n >= 0 && view_has_link(view_get(), (unsigned)n) && view_get()->port[n].enabled ? n : -1;
}

static int link_of6(const struct config_route6 *r)
{
	int n = r->port == CONFIG_PORT_ANY ? config_connected6(&plane.config, &r->next_hop)
	                                   : config_number(&plane.config, r->port);
	return n >= 0 && view_has_link(view_get(), (unsigned)n) && view_get()->port[n].enabled6 ? n : -1;
}

/* One more way, which is pinned; in the order of distance and number, so that the same ones are
 * equal. */
static void add_way(struct ways *w, uint32_t nh, unsigned distance, unsigned interface)
{
	const struct hop hop = {(uint16_t)nh, (uint8_t)distance, (uint8_t)interface};
	unsigned at = w->n++;
	pin(nh);
	for (; at > 0; at--) {
		const struct hop *before = &w->hop[at - 1];
		if (before->distance < distance || (before->distance == distance && before->nh <= nh))
			break;
		w->hop[at] = *before;
	}
	w->hop[at] = hop;
}

static uint32_t nowhere(unsigned kind) { return NH_NULL0 + kind - CONFIG_ROUTE_NULL0; }

static struct ways ways_of(const struct config *c, uint32_t first)
{
	struct ways w = {.n = 0};
	for (uint32_t i = first; i != CONFIG_ROUTE_NONE; i = c->routes[i].more - 1) {
		const struct config_route *r = &c->routes[i];
		int n = r->kind == CONFIG_ROUTE_VIA ? link_of(r) : -1;
		if (r->kind != CONFIG_ROUTE_VIA)
			add_way(&w, nowhere(r->kind), r->distance, NO_INTERFACE);
		else if (n >= 0)
			add_way(&w, neighbour_next_hop((unsigned)n, r->next_hop), r->distance, (unsigned)n);
		w.several |= i != first;
	}
	return w;
}

static struct ways ways_of6(const struct config *c, uint32_t first)
{
	struct ways w = {.n = 0};
	for (uint32_t i = first; i != CONFIG_ROUTE_NONE; i = c->routes6[i].more - 1) {
		const struct config_route6 *r = &c->routes6[i];
		int n = r->kind == CONFIG_ROUTE_VIA ? link_of6(r) : -1;
		if (r->kind != CONFIG_ROUTE_VIA)
			add_way(&w, nowhere(r->kind), r->distance, NO_INTERFACE);
		else if (n >= 0)
			add_way(&w, neighbour6_next_hop((unsigned)n, &r->next_hop), r->distance,
			        (unsigned)n);
		w.several |= i != first;
	}
	return w;
}

/* --- sets --- */

static bool can_be_used(const struct hop *h)
{
	return h->interface == NO_INTERFACE || plane.link_up[h->interface];
}

/* The next hops of the least distance that can be used; returns how many. */
static unsigned usable(const struct ways *w, uint16_t member[ECMP_MEMBERS_MAX])
{
	unsigned n = 0, distance = 0;
	for (unsigned i = 0; i < w->n; i++) { /* in the order of distance */
		const struct hop *h = &w->hop[i];
		if (!can_be_used(h) || (n && h->distance != distance))
			continue;
		distance = h->distance;
		member[n++] = h->nh;
	}
	return n;
}

static bool same_ways(const struct ways *a, const struct ways *b)
{
	return a->n == b->n && memcmp(a->hop, b->hop, a->n * sizeof a->hop[0]) == 0;
}

/* The set of these ways, with one more user; what was pinned for w is the set's. NO_SET: there are
 * too many. */
static unsigned set_take(const struct ways *w)
{
	uint16_t member[ECMP_MEMBERS_MAX];
	unsigned free = NO_SET;
	for (unsigned s = 0; s < VIEW_GROUPS; s++) {
		if (sets[s].users && same_ways(&sets[s].ways, w)) {
			sets[s].users++;
			unpin_all(w);
			return s;
		}
		if (!sets[s].users && free == NO_SET)
			free = s;
	}
	if (free == NO_SET)
		return NO_SET;
	unsigned n = usable(w, member);
	const bool empty = n == 0;
	if (empty) /* nobody asks it */
		member[n++] = w->hop[0].nh;
	uint32_t group = group_make(member, n);
	if (group == NH_NONE)
		return NO_SET;
	sets[free] = (struct set){*w, 1, group, empty, false};
	return free;
}

static void set_release(unsigned s)
{
	if (--sets[s].users)
		return;
	group_free(sets[s].group);
	unpin_all(&sets[s].ways);
}

/* --- prefixes with several routes --- */

static bool same_prefix(const struct prefix *a, const struct prefix *b)
{
	return a->plen == b->plen && a->six == b->six && net_addr_equal(&a->addr, &b->addr);
}

/* The text is the operator's own, so nobody aims at collisions. */
static uint32_t place_of(const struct prefix *p)
{
	uint64_t key = p->plen + 256u * p->six;
	for (unsigned i = 0; i < 4; i += 2) {
		key = (key ^ ((uint64_t)p->addr.w[i] << 32 | p->addr.w[i + 1])) * 0x9e3779b97f4a7c15u;
		key ^= key >> 32;
	}
	return (uint32_t)(key >> 16) & (members_max - 1);
}

/* The member, or the free place where it belongs. */
static struct member *member_of(const struct prefix *p)
{
	uint32_t i = place_of(p);
	while (members[i].set != NO_SET && !same_prefix(&members[i].prefix, p))
		i = (i + 1) & (members_max - 1);
	return &members[i];
}

static unsigned set_of(const struct prefix *p)
{
	return members_max ? member_of(p)->set : NO_SET;
}

static void member_put(const struct prefix *p, unsigned set)
{
	struct member *m = member_of(p);
	members_count += m->set == NO_SET;
	*m = (struct member){*p, (uint16_t)set};
}

/* Those behind it move up, so that no search ends before them. */
static void member_remove(const struct prefix *p)
{
	const uint32_t mask = members_max - 1;
	uint32_t hole = (uint32_t)(member_of(p) - members);
	for (uint32_t i = (hole + 1) & mask; members[i].set != NO_SET; i = (i + 1) & mask)
		if (((i - place_of(&members[i].prefix)) & mask) >= ((i - hole) & mask)) {
			members[hole] = members[i];
			hole = i;
		}
	members[hole].set = NO_SET;
	members_count--;
}

static uint32_t prefixes_with_several(const struct config *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->route_count; i++)
		n += c->routes[i].more && !c->routes[i].follows;
	for (uint32_t i = 0; i < c->route6_count; i++)
		n += c->routes6[i].more && !c->routes6[i].follows;
	return n;
}

bool routes_room(const struct config *c)
{
	const uint32_t want = prefixes_with_several(c) + members_count;
	uint32_t max = members_max ? members_max : 64;
	while (max / 2 < want)
		max *= 2;
	if (want == 0 || max == members_max)
		return true;
	struct member *old = members, *new = core_private_alloc(max * sizeof *new);
	const uint32_t old_max = members_max;
	if (!new)
		return false;
	memset(new, 0xff, max * sizeof *new); /* NO_SET */
	members = new;
	members_max = max;
	members_count = 0;
	for (uint32_t i = 0; i < old_max; i++)
		if (old[i].set != NO_SET)
			member_put(&old[i].prefix, old[i].set);
	return true;
}

/* --- changes --- */

/* The prefix is to have these ways, all pinned; `fresh`: it has none yet. False: refused. */
static bool change(const struct prefix *p, const struct ways *w, bool fresh)
{
	const uint32_t was = fresh ? (uint32_t)NH_NONE : table_get(p);
	const unsigned old = fresh ? NO_SET : set_of(p);
	unsigned set = NO_SET;
	uint32_t nh = w->n ? w->hop[0].nh : (uint32_t)NH_NONE;
	if (w->several && w->n) {
		set = members_max ? set_take(w) : NO_SET;
		if (set == NO_SET) {
			unpin_all(w);
			return false;
		}
		nh = sets[set].empty ? (uint32_t)NH_NONE : sets[set].group;
	}
	if (nh != NH_NONE && table_put(p, nh) != E_OK) {
		if (set != NO_SET)
			set_release(set);
		else
			unpin_all(w);
		return false;
	}
	if (nh == NH_NONE && was != NH_NONE)
		table_take(p);
	if (set != NO_SET)
		member_put(p, set);
	else if (old != NO_SET)
		member_remove(p);
	if (old != NO_SET)
		set_release(old);
	else
		unpin(was);
	return true;
}

static struct prefix prefix4(const struct config_route *r)
{
	return (struct prefix){net_addr_ip4(r->prefix), r->plen, false};
}

static struct prefix prefix6(const struct config_route6 *r)
{
	return (struct prefix){r->prefix, r->plen, true};
}

/* Changes a prefix and counts. ends: the first of its routes goes, which could be used; of those of
 * a prefix that has none any more it is told of once. */
static void change_counted(const struct prefix *p, const struct ways *w, bool ends)
{
	/* it was refused when it came: it is in no table */
	if (ends && w->n == 0 && table_get(p) == NH_NONE && set_of(p) == NO_SET)
		plane.refused_routes--;
	plane.refused_routes += !change(p, w, false);
}

void routes_change(const struct config_route *r, bool gone, const struct config *next,
                   uint32_t first)
{
	const struct prefix p = prefix4(r);
	const struct ways w = ways_of(next, first);
	change_counted(&p, &w, gone && !r->follows &&
	                               (r->kind != CONFIG_ROUTE_VIA || link_of(r) >= 0));
}

void routes_change6(const struct config_route6 *r, bool gone, const struct config *next,
                    uint32_t first)
{
	const struct prefix p = prefix6(r);
	const struct ways w = ways_of6(next, first);
	change_counted(&p, &w, gone && !r->follows &&
	                               (r->kind != CONFIG_ROUTE_VIA || link_of6(r) >= 0));
}

void routes_hold(uint32_t nh) { pin(nh); }
void routes_release(uint32_t nh) { unpin(nh); }

bool routes_test_set(const struct net_addr *prefix, unsigned plen, bool six, uint32_t nh)
{
	const struct prefix p = {*prefix, (uint8_t)plen, six};
	struct ways w = {.n = 0};
	if (nh != NH_NONE)
		add_way(&w, nh, 1, NO_INTERFACE);
	return change(&p, &w, false);
}

void routes_start(void)
{
	const struct config *c = &plane.config;
	memset(sets, 0, sizeof sets);
	if (members_max)
		memset(members, 0xff, members_max * sizeof *members);
	members_count = 0;
	(void)routes_room(c); /* else those prefixes are refused */
	for (uint32_t i = 0; i < c->route_count; i++) {
		const struct prefix p = prefix4(&c->routes[i]);
		if (c->routes[i].follows)
			continue;
		const struct ways w = ways_of(c, i);
		plane.refused_routes += !change(&p, &w, true);
	}
	for (uint32_t i = 0; i < c->route6_count; i++) {
		const struct prefix p = prefix6(&c->routes6[i]);
		if (c->routes6[i].follows)
			continue;
		const struct ways w = ways_of6(c, i);
		plane.refused_routes += !change(&p, &w, true);
	}
}

/* --- links --- */

/* The prefixes of all sets that have moved go into the table, or out of it. */
static void move_prefixes(void)
{
	for (uint32_t i = 0; i < members_max; i++) {
		const struct set *s = members[i].set == NO_SET ? NULL : &sets[members[i].set];
		if (!s || !s->moved)
			continue;
		if (!s->empty)
			plane.refused_routes += table_put(&members[i].prefix, s->group) != E_OK;
		else if (table_take(&members[i].prefix) != E_OK)
			plane.refused_routes--; /* it had found no room */
	}
}

static bool uses(const struct set *s, unsigned interface)
{
	for (unsigned i = 0; s->users && i < s->ways.n; i++)
		if (s->ways.hop[i].interface == interface)
			return true;
	return false;
}

void routes_link(unsigned interface)
{
	uint16_t member[ECMP_MEMBERS_MAX];
	bool any = false;
	for (struct set *s = sets; s < sets + VIEW_GROUPS; s++) {
		s->moved = false;
		if (!uses(s, interface))
			continue;
		unsigned n = usable(&s->ways, member);
		if (n)
			group_change(s->group, member, n);
		s->moved = s->empty != (n == 0);
		s->empty = n == 0;
		any |= s->moved;
	}
	if (any)
		move_prefixes();
}
