/*
 * Hosts that configure themselves (RFC 4862, RFC 4861 6.3): makes routes, the MTU and the hop limit
 * of IPv6 on a link from what net/slaac.h learns of routers' advertisements.
 *
 *   advertised                        effect
 *   default router                    ::/0 by that neighbour
 *   on-link prefix                    a connected route
 *   address in an on-link prefix      no route: the connected route leads to hosts6, which has all
 *                                     addresses of ours (neighbour6.c)
 *   address in another prefix         a /128 to ourselves, because no other route leads to us
 *                                     (routes_own6_advertised)
 *   MTU                               dp_interface6.mtu, and the MTU of the interface's IPv6
 *                                     adjacencies; new TCP connections read it (dp_mtu6)
 *   hop limit                         dp_interface6.hop_limit, for all we send except discovery
 *   reachable time, retransmit timer  those of net/nd.h: slaac.c sets them there
 *
 * Invariants
 * 1. A usable route or subnet of the configuration takes precedence over what is advertised for the
 *    same prefix.
 * 2. Nothing learnt from slaac.h outlives control_plane_start, which makes tables and neighbours
 *    anew.
 *
 * Deliberately missing:
 *   - A lower MTU for existing TCP connections. New ones begin with it. A peer on the link
 *     announces a small MSS. TCP finds the MTU of all other paths (RFC 8201, RFC 4821).
 *   - One prefix on two links. The link that advertised it first keeps the route.
 *   - A preference among several interfaces for ::/0, beyond the choice of slaac.h.
 */
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/autoconfig.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/routes.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "net/slaac.h"

_Static_assert(1 + CONFIG_ADDRESSES_MAX + SLAAC_INTERFACE_PREFIXES_MAX <= DP_ADDRESSES6_MAX,
               "the data-plane state has room for all addresses of an interface");

/* --- callbacks of slaac.h --- */

static void op_default_router(void *ctx, unsigned interface, const struct net_addr *router)
{
	(void)ctx;
	if (!router) {
		routes_advertised(&NET_ADDR_ANY, 0, NULL);
		return;
	}
	const struct rib_hop hop = {.via = *router, .nh = NH_NONE, .interface = (uint8_t)interface};
	routes_advertised(&NET_ADDR_ANY, 0, &hop);
}

static void op_prefix(void *ctx, unsigned interface, const struct net_addr *prefix, unsigned plen,
                      bool on)
{
	const struct rib_hop hop = {.nh = (uint16_t)(NH_CONNECTED + interface),
	                            .interface = RIB_NO_INTERFACE};
	struct rib_hop was;
	(void)ctx;
	const bool there = routes_advertisement(prefix, plen, &was);
	if (on && !there)
		routes_advertised(prefix, plen, &hop);
	else if (!on && there && was.nh == hop.nh)
		routes_advertised(prefix, plen, NULL);
}

/* Data cores read these words at any time. For a moment, the old value does no harm. */
static void op_link(void *ctx, unsigned interface, unsigned mtu, unsigned hop_limit)
{
	struct dp_state *v = dp_get();
	(void)ctx;
	if (hop_limit)
		__atomic_store_n(&v->interface6[interface].hop_limit, (uint8_t)hop_limit,
		                 __ATOMIC_RELAXED);
	if (mtu == 0 || mtu == v->interface6[interface].mtu)
		return;
	__atomic_store_n(&v->interface6[interface].mtu, (uint16_t)mtu, __ATOMIC_RELAXED);
	for (unsigned n = NH_NEIGHBOUR6; n < NH_NEIGHBOUR46; n++)
		if (v->adj[n].state != ADJ_SPECIAL && v->adj[n].interface == interface)
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

int autoconfig_start(unsigned interface)
{
	const struct dp_interface *ifp = &dp_get()->interface[interface];
	return slaac_start(&neighbours.slaac, interface, ifp->mac, ifp->mtu, core_now_ns());
}

void autoconfig_address(unsigned interface, const struct net_addr *addr, bool up)
{
	if (!neighbours.nd.params.router && !ip6_is_link_local(addr))
		routes_own6_advertised(interface, addr, up);
}
