/*
 * Interfaces: what the view has of each, the routes that follow from their addresses, and their
 * links. A port and its VLANs have one link; a loopback's is always up.
 */
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "control/forwarding/routes.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "net/ip4.h"

/* config.h knows neither machine nor runtime */
_Static_assert(CONFIG_PORTS_MAX == NIC_PORTS_MAX && CONFIG_IFS_MAX == VIEW_IFS_MAX &&
               CONFIG_VID_MAX == ETH_VID_MAX, "an interface has one number in both");
_Static_assert(CONFIG_ADDRESSES_MAX <= VIEW_ADDRESSES_MAX, "interfaces_start copies them");
_Static_assert(VIEW_NAME_MAX == CONFIG_IF_NAME_SIZE, "view_name has config_key_name write it");

unsigned interface_mtu(const struct config *c, unsigned port)
{
	unsigned most = core_port_nic(port)->mtu_max;
	return c->interface[port].mtu ? c->interface[port].mtu : u32_min(CONFIG_MTU_DEFAULT, most);
}

/* What a port and its VLANs have. */
static void start_link(struct view *v, unsigned n, const struct config_interface *i)
{
	const struct config *c = &running.config;
	struct view_port *vp = &v->port[n];
	unsigned port = config_if_port(i), vid = config_if_vid(i);
	bool shutdown = i->shutdown || c->interface[port].shutdown;
	*vp = (struct view_port){.mtu = (uint16_t)(i->mtu ? i->mtu : interface_mtu(c, port)),
	                         .enabled = !shutdown && i->address_count,
	                         .enabled6 = !shutdown && i->ipv6,
	                         .port = (uint8_t)port,
	                         .key = i->key,
	                         .vid = (uint16_t)vid};
	eth_copy(vp->mac, core_port_nic(port)->mac);
	if (vid) {
		v->vlan[port][vid] = (uint8_t)n;
		v->tagged |= 1u << port;
	}
	struct adj *glean = &v->adj[NH_CONNECTED + n];
	glean->port = (uint8_t)port;
	glean->interface = (uint8_t)n;
	glean->state = ADJ_UNRESOLVED;
	glean->mtu = vp->mtu;
}

/* Its addresses are the machine's, whatever link is up; IPv6's need no DAD, for nobody else is
 * there (RFC 4862 5.4). */
static void start_loopback(struct view *v, unsigned n, const struct config_interface *i)
{
	struct view_port6 *six = &v->port6[n];
	v->port[n] = (struct view_port){.mtu = NIC_MTU_MAX,
	                                .enabled = !i->shutdown && i->address_count,
	                                .enabled6 = !i->shutdown && i->address6_count,
	                                .link_up = true,
	                                .port = VIEW_PORT_NONE,
	                                .key = i->key};
	six->count = v->port[n].enabled6 ? i->address6_count : 0;
	for (unsigned a = 0; a < six->count; a++) {
		six->addr[a] = i->address6[a].addr;
		six->plen[a] = i->address6[a].plen;
	}
}

void interfaces_start(struct view *v)
{
	const struct config *c = &running.config;
	unsigned mtu_most = CONFIG_MTU_DEFAULT;
	v->ifs = c->interfaces > NIC_PORTS_MAX ? c->interfaces : core_port_count();
	for (unsigned n = 0; n < v->ifs; n++) {
		const struct config_interface *i = &c->interface[n];
		struct view_port *vp = &v->port[n];
		config_key_name(v->name[n], i->key);
		if (config_is_loopback(i))
			start_loopback(v, n, i);
		else if (config_if_port(i) < core_port_count())
			start_link(v, n, i);
		else
			continue;
		vp->addresses = i->address_count;
		for (unsigned a = 0; a < i->address_count; a++) {
			vp->addr[a] = i->address[a].addr;
			vp->plen[a] = i->address[a].plen;
		}
		v->port6[n].mtu = vp->mtu;
		v->port6[n].hop_limit = IP6_HOP_LIMIT_DEFAULT;
		if (!view_is_loopback(vp) && vp->mtu > mtu_most)
			mtu_most = vp->mtu;
	}
	core_set_mtu(mtu_most);
}

/* --- routes --- */

static void add_route(uint32_t prefix, unsigned plen, uint32_t nh)
{
	if (fib4_insert(&forwarding.fib, prefix & ip4_prefix_mask(plen), plen, nh) != E_OK)
		forwarding.refused_routes++;
}

/* Routes that follow from an interface: its subnets, its addresses, their broadcasts. */
static void add_connected(unsigned port, const struct view_port *vp)
{
	for (unsigned a = 0; a < vp->addresses; a++) {
		uint32_t addr = vp->addr[a];
		const struct net_addr subnet = net_addr_ip4(addr);
		bool loopback = view_is_loopback(vp); /* nobody else is on its subnet */
		if (!loopback || vp->plen[a] < 32)
			routes_connected(&subnet, vp->plen[a], false,
			                 loopback ? NH_NULL0 : NH_CONNECTED + port);
		if (vp->plen[a] <= 30 && !loopback) {
			add_route(ip4_subnet_broadcast(addr, vp->plen[a]), 32, NH_BROADCAST);
			/* all zeros: the old broadcast, RFC 1812 5.3.5 */
			add_route(addr & ip4_prefix_mask(vp->plen[a]), 32, NH_BROADCAST);
		}
		add_route(addr, 32, NH_LOCAL);
	}
}

/* The prefixes alone (view.h). */
static void add_route6(const struct net_addr *prefix, unsigned plen, uint32_t nh)
{
	const struct net_addr masked = ip6_prefix_of(prefix, plen);
	if (fib6_insert(&forwarding.fib6, &masked, plen, nh) != E_OK)
		forwarding.refused_routes++;
}

/* What hosts6 says of an address counts where the prefixes lead to its link alone: one of ours, on a
 * subnet of that length, that a route to a part of it covers, now or when a link comes up, gets a
 * prefix for itself. */
static void uncover6(const struct net_addr *addr, unsigned plen, unsigned port)
{
	if (routes_cover6(addr, plen))
		add_route6(addr, 128, NH_CONNECTED + port);
}

static void start_own6(unsigned port, const struct config_interface *i)
{
	if (config_is_loopback(i))
		return; /* add_connected6 has */
	for (unsigned a = 0; a < i->address6_count; a++) {
		const struct config_address6 *own = &i->address6[a];
		const struct net_addr anycast = ip6_prefix_of(&own->addr, own->plen);
		uncover6(&own->addr, own->plen, port);
		if (ip6_is_subnet_router(&anycast, &own->addr, own->plen))
			uncover6(&anycast, own->plen, port);
	}
}

/* A link's subnets; a loopback's addresses, which no host of hosts6 is, and the rest of their
 * subnets, where nobody is. */
static void add_connected6(unsigned port, const struct config_interface *i)
{
	for (unsigned a = 0; a < i->address6_count; a++) {
		const struct config_address6 *own = &i->address6[a];
		bool loopback = config_is_loopback(i);
		if (!loopback || own->plen < 128)
			routes_connected(&own->addr, own->plen, true,
			                 loopback ? NH_NULL0 : NH_CONNECTED + port);
		if (loopback)
			add_route6(&own->addr, 128, NH_LOCAL);
	}
}

static void start_connected6(const struct view *v)
{
	for (unsigned p = 0; p < v->ifs; p++)
		if (v->port[p].enabled6)
			add_connected6(p, &running.config.interface[p]);
}

void interfaces_routes(const struct view *v)
{
	add_route(IP4(224, 0, 0, 0), 4, NH_MULTICAST);
	add_route(IP4_BROADCAST, 32, NH_BROADCAST);
	for (unsigned p = 0; p < v->ifs; p++)
		if (v->port[p].enabled)
			add_connected(p, &v->port[p]);
	start_connected6(v);
	routes_configured();
	for (unsigned p = 0; p < v->ifs; p++)
		if (v->port[p].enabled6)
			start_own6(p, &running.config.interface[p]);
}

/* --- links --- */

/* An interface whose port's link went up or down. */
static void interface_link(unsigned n, bool up)
{
	__atomic_store_n(&view_get()->port[n].link_up, up, __ATOMIC_RELAXED);
	if (!forwarding.ready)
		return;
	if (up)
		arp_announce(&neighbours.arp, n);
	else
		arp_flush_port(&neighbours.arp, n);
	neighbour_link(n, up);
	routes_link(n);
}

void interfaces_link(unsigned port, bool up)
{
	const struct view *v = view_get();
	for (unsigned n = 0; n < v->ifs; n++)
		if (view_has_link(v, n) && v->port[n].port == port)
			interface_link(n, up);
}
