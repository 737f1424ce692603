/* See sets.h, and rib.h for how a gateway is looked up. */
#include "lib/assert.h"
#include "lib/mem.h"
#include "net/ip6.h"
#include "net/rib/sets.h"
#include "net/rib/table.h"

static uint16_t *chain_of(struct rib *r, const struct rib_hop *h, bool six)
{
	uint64_t key = (uint64_t)six << 24 | (uint32_t)h->nh << 8 | h->interface;
	for (unsigned i = 0; i < 4; i++) {
		key = (key ^ h->via.w[i]) * 0x9e3779b97f4a7c15u;
		key ^= key >> 32;
	}
	return &r->gateway_chain[key & (r->numbers - 1)];
}

void gateways_chain(struct rib *r)
{
	for (uint32_t n = 0; n < r->numbers; n++) {
		struct rib_gateway *g = &r->gateway[n];
		if (g->users == 0)
			continue;
		uint16_t *chain = chain_of(r, &g->key, g->six);
		g->next = *chain;
		*chain = (uint16_t)n;
	}
}

static bool is_for(const struct rib_gateway *g, const struct rib_hop *h, bool six)
{
	return net_addr_equal(&g->key.via, &h->via) && g->key.nh == h->nh &&
	       g->key.interface == h->interface && g->six == six;
}

/* --- reachability --- */

/* The prefix of length plen that covers a gateway's address. */
static struct rib_prefix covering(const struct net_addr *via, unsigned plen, bool six)
{
	return (struct rib_prefix){ip6_prefix_of(via, six ? plen : 96 + plen), (uint8_t)plen, six};
}

static bool leads_nowhere(const struct rib *r, const struct rib_hops *h)
{
	for (unsigned i = 0; i < h->n; i++)
		if (r->ops->nowhere(h->nh[i]))
			return true;
	return false;
}

/* The hops of the longest prefix, other than the default, that covers a gateway; how many. waiting: as
 * set_hops. */
static unsigned look_up(const struct rib *r, const struct net_addr *via, struct rib_hops *out,
                        bool *waiting)
{
	const bool six = !net_addr_is_ip4(via);
	const struct rib_table *t = &r->table[six];
	for (unsigned plen = six ? 128 : 32; plen > 0; plen--) {
		const struct rib_prefix p = covering(via, plen, six);
		const uint32_t slot = table_find(t, &p);
		if (slot == TABLE_NO_SLOT)
			continue;
		const unsigned n = set_hops(r, slot_set(t, slot), true, out, waiting);
		if (n)
			return leads_nowhere(r, out) ? 0 : n < RIB_FAR_HOPS ? n : RIB_FAR_HOPS;
	}
	return 0;
}

/* Does a neighbour whose link is up have to be resolved before it is used? */
static bool has_to_wait(const struct rib *r, const struct rib_gateway *g)
{
	const bool fresh = g->hops == 0 || g->hop[0] != g->nh;
	return g->link != RIB_NO_INTERFACE && (fresh || g->waiting) && !r->ops->resolved(g->nh, g->link);
}

/* A recursive gateway waits while those do by which it is reached. */
static void set_waiting(struct rib *r, struct rib_gateway *g, bool waiting)
{
	r->waiting += (uint32_t)waiting - g->waiting;
	g->changed |= waiting != g->waiting;
	g->waiting = waiting;
	g->wanted = g->wanted && waiting;
}

void gateway_refresh(struct rib *r, struct rib_gateway *g)
{
	struct rib_hops hops;
	uint8_t weight[ECMP_MEMBERS_MAX] = {1};
	unsigned n = 0;
	bool waiting = false;
	hops.n = 0;
	if (g->reach == RIB_FAR) {
		n = look_up(r, &g->key.via, &hops, &waiting);
		hops_weigh(&hops, weight);
	} else if (g->reach == RIB_NEIGHBOUR &&
	           (g->link == RIB_NO_INTERFACE || r->ops->up(g->link))) {
		hops.nh[0] = g->nh;
		n = 1;
		waiting = has_to_wait(r, g);
	}
	set_waiting(r, g, waiting && n);
	if (n == g->hops && memcmp(hops.nh, g->hop, n * sizeof g->hop[0]) == 0 &&
	    memcmp(weight, g->weight, n) == 0)
		return;
	memcpy(g->hop, hops.nh, n * sizeof g->hop[0]);
	memcpy(g->weight, weight, n);
	g->hops = (uint8_t)n;
	g->changed = true;
}

/* Asks where a gateway is and for its next-hop number. The caller handles the old number. */
static void ask(struct rib *r, struct rib_gateway *g)
{
	uint32_t nh = g->key.nh;
	g->link = g->key.interface;
	g->reach = RIB_NEIGHBOUR;
	if (nh == RIB_NH_NONE)
		g->reach = (uint8_t)r->ops->reach(&g->key.via, g->six, g->key.interface, &nh,
		                                     &g->link);
	g->nh = g->reach == RIB_NEIGHBOUR ? (uint16_t)nh : RIB_NH_NONE;
	r->recursive += g->reach == RIB_FAR;
	r->full += g->reach == RIB_FULL;
}

static void let_go(struct rib *r, const struct rib_gateway *g)
{
	r->recursive -= g->reach == RIB_FAR;
	r->full -= g->reach == RIB_FULL;
	if (g->key.nh == RIB_NH_NONE && g->nh != RIB_NH_NONE)
		r->ops->release(g->nh);
}

void gateway_reach(struct rib *r, struct rib_gateway *g)
{
	const struct rib_gateway old = *g;
	if (g->key.nh != RIB_NH_NONE)
		return;
	assert(g->was == RIB_NH_NONE);
	ask(r, g);
	if (old.nh == RIB_NH_NONE || old.nh == g->nh)
		let_go(r, &old);
	else
		g->was = old.nh; /* until all prefixes have left the old number */
	gateway_refresh(r, g);
}

/* --- numbers --- */

unsigned gateway_take(struct rib *r, const struct rib_hop *hop, bool six)
{
	six = six && hop->nh == RIB_NH_NONE; /* a number is the same for both families */
	uint16_t *chain = chain_of(r, hop, six);
	unsigned n = *chain;
	while (n != RIB_NO_NUMBER && !is_for(&r->gateway[n], hop, six))
		n = r->gateway[n].next;
	if (n != RIB_NO_NUMBER) {
		r->gateway[n].users++;
		return n;
	}
	n = r->gateway_free;
	if (n == RIB_NO_NUMBER)
		return n;
	struct rib_gateway *g = &r->gateway[n];
	r->gateway_free = g->next;
	*g = (struct rib_gateway){.key = *hop, .users = 1, .next = *chain, .six = six};
	g->key.distance = g->key.weight = g->key.origin = 0;
	*chain = (uint16_t)n;
	ask(r, g);
	gateway_refresh(r, g);
	g->changed = false; /* no set uses it yet */
	return n;
}

void gateway_release(struct rib *r, unsigned n)
{
	struct rib_gateway *g = &r->gateway[n];
	if (--g->users)
		return;
	uint16_t *link = chain_of(r, &g->key, g->six);
	while (*link != n)
		link = &r->gateway[*link].next;
	*link = g->next;
	set_waiting(r, g, false);
	let_go(r, g);
	if (g->was != RIB_NH_NONE)
		r->ops->release(g->was);
	g->next = r->gateway_free;
	r->gateway_free = (uint16_t)n;
}
