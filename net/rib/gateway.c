/* See sets.h, and rib.h for how a gateway is looked up. */
#include "lib/assert.h"
#include "lib/mem.h"
#include "net/ip6.h"
#include "net/rib/sets.h"
#include "net/rib/table.h"

static uint16_t *chain_of(struct rib *r, const struct rib_hop *h)
{
	uint64_t key = (uint64_t)h->nh << 8 | h->interface;
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
		uint16_t *chain = chain_of(r, &g->key);
		g->next = *chain;
		*chain = (uint16_t)n;
	}
}

static bool same_hop(const struct rib_hop *a, const struct rib_hop *b)
{
	return net_addr_equal(&a->via, &b->via) && a->nh == b->nh && a->interface == b->interface;
}

/* --- reachability --- */

/* The prefix of length plen that covers a gateway's address. */
static struct rib_prefix covering(const struct net_addr *via, unsigned plen, bool six)
{
	return (struct rib_prefix){ip6_prefix_of(via, six ? plen : 96 + plen), (uint8_t)plen, six};
}

static bool leads_nowhere(const struct rib *r, const uint16_t *hop, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (r->ops->nowhere(hop[i]))
			return true;
	return false;
}

/* The hops of the longest prefix, other than the default, that covers a gateway. */
static unsigned look_up(const struct rib *r, const struct net_addr *via,
                        uint16_t hop[ECMP_MEMBERS_MAX])
{
	const bool six = !net_addr_is_ip4(via);
	const struct rib_table *t = &r->table[six];
	for (unsigned plen = six ? 128 : 32; plen > 0; plen--) {
		const struct rib_prefix p = covering(via, plen, six);
		const uint32_t slot = table_find(t, &p);
		if (slot == TABLE_NO_SLOT)
			continue;
		unsigned n = set_hops(r, slot_set(t, slot), true, hop);
		if (n)
			return leads_nowhere(r, hop, n) ? 0 : n;
	}
	return 0;
}

void gateway_refresh(struct rib *r, struct rib_gateway *g)
{
	uint16_t hop[ECMP_MEMBERS_MAX];
	unsigned n = 0;
	if (g->reach == RIB_FAR) {
		n = look_up(r, &g->key.via, hop);
	} else if (g->reach == RIB_NEIGHBOUR &&
	           (g->link == RIB_NO_INTERFACE || r->ops->up(g->link))) {
		hop[0] = g->nh;
		n = 1;
	}
	if (n == g->hops && memcmp(hop, g->hop, n * sizeof hop[0]) == 0)
		return;
	memcpy(g->hop, hop, n * sizeof hop[0]);
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
		g->reach = (uint8_t)r->ops->reach(&g->key.via, g->key.interface, &nh, &g->link);
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

unsigned gateway_take(struct rib *r, const struct rib_hop *hop)
{
	uint16_t *chain = chain_of(r, hop);
	unsigned n = *chain;
	while (n != RIB_NO_NUMBER && !same_hop(&r->gateway[n].key, hop))
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
	*g = (struct rib_gateway){.key = *hop, .users = 1, .next = *chain};
	g->key.distance = 0;
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
	uint16_t *link = chain_of(r, &g->key);
	while (*link != n)
		link = &r->gateway[*link].next;
	*link = g->next;
	let_go(r, g);
	if (g->was != RIB_NH_NONE)
		r->ops->release(g->was);
	g->next = r->gateway_free;
	r->gateway_free = (uint16_t)n;
}
