/*
 * Hosts that configure themselves (RFC 4862, RFC 4861 6.3): what net/slaac.h learns from routers'
 * advertisements becomes routes, MTU and hop limit of IPv6 on a link.
 *
 *   advertised                       what becomes of it
 *   default router                   ::/0, by that neighbour
 *   prefix that is on the link       a connected route
 *   address of such a prefix         none: the connected route leads to hosts6, where it is entered
 *                                    as every address of ours (neighbour6.c)
 *   address of another prefix        a /128 to ourselves, for nothing else leads there (routes_own6)
 *   MTU                              that of interface6 in the data-plane state, and of the port's IPv6 adjacencies;
 *                                    new TCP connections ask there (dp_mtu6)
 *   hop limit                        that of interface6 in the data-plane state, for all we send but discovery
 *   reachable time, retransmit timer of net/nd.h: slaac.c sets them there
 *
 * Invariants
 * 1. A route or subnet of the configuration goes before what is advertised for that prefix, as long as
 *    it can be used.
 * 2. Of what slaac.h tells nothing outlives control_plane_start: tables and neighbours are made anew.
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
#include "control/forwarding/routes.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "net/slaac.h"

_Static_assert(1 + CONFIG_ADDRESSES_MAX + SLAAC_INTERFACE_PREFIXES_MAX <= DP_ADDRESSES6_MAX,
               "the data-plane state has room for all addresses of a port");

/* --- what slaac.h tells --- */

static void op_default_router(void *ctx, unsigned port, const struct net_addr *router)
{
	(void)ctx;
	if (!router) {
		routes_advertised(&NET_ADDR_ANY, 0, NULL);
		return;
	}
	const struct rib_hop hop = {.via = *router, .nh = NH_NONE, .interface = (uint8_t)port};
	routes_advertised(&NET_ADDR_ANY, 0, &hop);
}

static void op_prefix(void *ctx, unsigned port, const struct net_addr *prefix, unsigned plen,
                      bool on)
{
	const struct rib_hop hop = {.nh = (uint16_t)(NH_CONNECTED + port),
	                            .interface = RIB_NO_INTERFACE};
	struct rib_hop was;
	(void)ctx;
	const bool there = routes_advertisement(prefix, plen, &was);
	if (on && !there)
		routes_advertised(prefix, plen, &hop);
	else if (!on && there && was.nh == hop.nh)
		routes_advertised(prefix, plen, NULL);
}

/* Words that data cores read at any time, and of which the old value is as good for a moment. */
static void op_link(void *ctx, unsigned port, unsigned mtu, unsigned hop_limit)
{
	struct dp_state *v = dp_get();
	(void)ctx;
	if (hop_limit)
		__atomic_store_n(&v->interface6[port].hop_limit, (uint8_t)hop_limit,
		                 __ATOMIC_RELAXED);
	if (mtu == 0 || mtu == v->interface6[port].mtu)
		return;
	__atomic_store_n(&v->interface6[port].mtu, (uint16_t)mtu, __ATOMIC_RELAXED);
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
	slaac_init(&neighbours.slaac, &neighbours.nd, &slaac_ops, NULL);
}

int autoconfig_start(unsigned port)
{
	const struct dp_interface *ifp = &dp_get()->interface[port];
	return slaac_start(&neighbours.slaac, port, ifp->mac, ifp->mtu, core_now_ns());
}

void autoconfig_address(unsigned port, const struct net_addr *addr, bool up)
{
	if (!neighbours.nd.params.router && !ip6_is_link_local(addr))
		routes_own6_advertised(port, addr, up);
}
