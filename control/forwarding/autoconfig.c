/*
 * Hosts that configure themselves (RFC 4862, RFC 4861 6.3): what net/slaac.h learns from routers'
 * advertisements becomes routes in fib6, MTU and hop limit of IPv6 on a link.
 *
 *   advertised                       what becomes of it
 *   default router                   ::/0, by that neighbour, which is pinned meanwhile
 *   prefix that is on the link       a connected route
 *   address of such a prefix         none: the connected route leads to hosts6, where it is entered
 *                                    as every address of ours (neighbour6.c)
 *   address of another prefix        a /128 to ourselves, for nothing else leads there
 *   MTU                              that of port6 in the view, and of the port's IPv6 adjacencies;
 *                                    new TCP connections ask there (view_mtu6)
 *   hop limit                        that of port6 in the view, for all we send but discovery
 *   reachable time, retransmit timer of net/nd.h: slaac.c sets them there
 *
 * Invariants
 * 1. A route or subnet of the configuration stays as it is, whatever is advertised for that prefix.
 * 2. Of what slaac.h tells nothing outlives plane_start: tables and neighbours are made anew.
 *
 * Deliberately missing: an MTU that becomes less for TCP connections that there are (new ones begin
 * by it; of the others who is on the link tells a small MSS, and for the rest TCP finds it out, RFC
 * 8201, RFC 4821); a prefix that two links have at a time, of which the first to say so keeps the
 * route; preferring one of several ports for ::/0 beyond what slaac.h chooses.
 */
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/autoconfig.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/neighbour6.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "net/slaac.h"

_Static_assert(1 + CONFIG_ADDRESSES_MAX + SLAAC_PORT_PREFIXES_MAX <= VIEW_ADDRESSES6_MAX,
               "the view has room for all addresses of a port");

static uint32_t default_nh; /* of ::/0 while it is an advertisement's, else NH_NONE */

static bool is_subnet(unsigned port, const struct net_addr *prefix, unsigned plen)
{
	const struct config_interface *i = &running.config.interface[port];
	for (unsigned a = 0; a < i->address6_count; a++) {
		const struct config_address6 *own = &i->address6[a];
		const struct net_addr subnet = ip6_prefix_of(&own->addr, own->plen);
		if (own->plen == plen && net_addr_equal(&subnet, prefix))
			return true;
	}
	return false;
}

static bool insert(const struct net_addr *prefix, unsigned plen, uint32_t nh)
{
	bool entered = fib6_insert(&forwarding.fib6, prefix, plen, nh) == E_OK;
	forwarding.refused_routes += !entered;
	return entered;
}

/* --- what slaac.h tells --- */

static void op_default_router(void *ctx, unsigned port, const struct net_addr *router)
{
	const uint32_t old = default_nh;
	uint32_t nh = router ? neighbour6_next_hop(port, router) : NH_NONE;
	(void)ctx;
	if (old == NH_NONE && fib6_get(&forwarding.fib6, &NET_ADDR_ANY, 0) != NH_NONE)
		return; /* invariant 1 */
	if (nh < NH_NEIGHBOUR6) /* none, or no room for one more neighbour */
		nh = NH_NONE;
	if (nh != NH_NONE)
		nd_pin(&neighbours.nd, nh - NH_NEIGHBOUR6);
	if (nh != NH_NONE && !insert(&NET_ADDR_ANY, 0, nh)) { /* then there was none: fib.h */
		nd_unpin(&neighbours.nd, nh - NH_NEIGHBOUR6);
		nh = NH_NONE;
	}
	if (nh == NH_NONE && old != NH_NONE)
		fib6_remove(&forwarding.fib6, &NET_ADDR_ANY, 0);
	default_nh = nh;
	if (old != NH_NONE) /* no route leads there any more: it may go */
		nd_unpin(&neighbours.nd, old - NH_NEIGHBOUR6);
}

static void op_prefix(void *ctx, unsigned port, const struct net_addr *prefix, unsigned plen,
                      bool on)
{
	const uint32_t nh = fib6_get(&forwarding.fib6, prefix, plen);
	struct nd_address a;
	(void)ctx;
	if (on && nh == NH_NONE)
		insert(prefix, plen, NH_CONNECTED + port);
	if (on || nh != NH_CONNECTED + port || is_subnet(port, prefix, plen))
		return;
	fib6_remove(&forwarding.fib6, prefix, plen);
	for (unsigned cursor = 0; nd_local_next(&neighbours.nd, &cursor, &a);)
		if (a.port == port && a.state == ND_VALID)
			autoconfig_address(port, &a.addr, true);
}

/* Words that data cores read at any time, and of which the old value is as good for a moment. */
static void op_link(void *ctx, unsigned port, unsigned mtu, unsigned hop_limit)
{
	struct view *v = view_get();
	(void)ctx;
	if (hop_limit)
		__atomic_store_n(&v->port6[port].hop_limit, (uint8_t)hop_limit, __ATOMIC_RELAXED);
	if (mtu == 0 || mtu == v->port6[port].mtu)
		return;
	__atomic_store_n(&v->port6[port].mtu, (uint16_t)mtu, __ATOMIC_RELAXED);
	for (unsigned n = NH_NEIGHBOUR6; n < NH_MAX; n++)
		if (v->adj[n].state != ADJ_SPECIAL && v->adj[n].interface == port)
			__atomic_store_n(&v->adj[n].mtu, (uint16_t)mtu, __ATOMIC_RELAXED);
}

static const struct slaac_ops slaac_ops = {
	.default_router = op_default_router,
	.prefix = op_prefix,
	.link = op_link,
};

/* --- for neighbour6.c --- */

void autoconfig_init(void)
{
	default_nh = NH_NONE;
	slaac_init(&neighbours.slaac, &neighbours.nd, &slaac_ops, NULL);
}

int autoconfig_start(unsigned port)
{
	const struct view_port *vp = &view_get()->port[port];
	return slaac_start(&neighbours.slaac, port, vp->mac, vp->mtu, core_now_ns());
}

void autoconfig_address(unsigned port, const struct net_addr *addr, bool up)
{
	if (neighbours.nd.params.router || ip6_is_link_local(addr))
		return;
	const uint32_t nh = fib6_lookup(forwarding.fib6.fib, (const uint8_t *)addr->w);
	if (up && nh != NH_CONNECTED + port && nh != NH_LOCAL)
		insert(addr, 128, NH_LOCAL);
	else if (!up && fib6_get(&forwarding.fib6, addr, 128) == NH_LOCAL)
		fib6_remove(&forwarding.fib6, addr, 128);
}

bool autoconfig_made(const struct net_addr *prefix, unsigned plen)
{
	const uint32_t nh = fib6_get(&forwarding.fib6, prefix, plen);
	if (neighbours.nd.params.router) /* a /128 to ourselves is a loopback's */
		return false;
	if (nh == NH_LOCAL || plen == 0)
		return nh == NH_LOCAL || default_nh != NH_NONE;
	return view_is_connected(nh) && !is_subnet(nh - NH_CONNECTED, prefix, plen) &&
	       slaac_is_on_link(&neighbours.slaac, nh - NH_CONNECTED, prefix, plen);
}
