/*
 * Interfaces: their entries in the data-plane state, the routes that follow from their addresses,
 * and their links. A port and its VLANs share one link; a loopback's link is always up.
 */
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/subnets.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "net/ip4.h"

/* config.h does not include the headers of the runtime and the data plane */
_Static_assert(CONFIG_PORTS_MAX == NIC_PORTS_MAX && CONFIG_IFS_MAX == DP_INTERFACES_MAX &&
               CONFIG_VID_MAX == ETH_VID_MAX, "an interface has the same number in both");
_Static_assert(CONFIG_ADDRESSES_MAX <= DP_ADDRESSES_MAX, "interfaces_start copies them");
_Static_assert(DP_NAME_MAX == CONFIG_IF_NAME_SIZE, "config_key_name writes it");

/* What the port's device takes; of a port channel, what the devices of all its ports take. */
unsigned interface_mtu_most(const struct config *c, unsigned port)
{
	unsigned most = core_port_nic(port)->mtu_max;
	for (unsigned p = 0; config_channel_of(c, port) && p < core_port_count(); p++)
		if (config_channel_of(c, p) == config_channel_of(c, port))
			most = u32_min(most, core_port_nic(p)->mtu_max);
	return most;
}

unsigned interface_mtu(const struct config *c, unsigned port)
{
	const struct config_interface *i = config_logical_interface(c, port);
	return i && i->mtu ? i->mtu : u32_min(CONFIG_MTU_DEFAULT, interface_mtu_most(c, port));
}

/* Is interface n shut down, or the port that carries it? */
static bool is_shut(const struct config *c, unsigned n)
{
	const struct config_interface *i = &c->interface[n];
	const bool on_port = !config_is_loopback(i) && !config_is_svi(i);
	return i->shutdown || (on_port && config_logical_shut(c, config_if_port(c, i)));
}

/* The interface from which n borrows its IPv4 address, unless it is shut down; -1: none. */
static int lender_of(const struct config *c, unsigned n)
{
	const int lender = config_lender(c, n);
	return lender >= 0 && !is_shut(c, (unsigned)lender) ? lender : -1;
}

/* Sets the interface of a port or of a VLAN. */
static void start_link(struct dp_state *v, unsigned n, const struct config_interface *i)
{
	const struct config *c = &running.config;
	struct dp_interface *ifp = &v->interface[n];
	unsigned port = config_if_port(c, i), vid = config_if_vid(i);
	const bool shutdown = is_shut(c, n);
	*ifp = (struct dp_interface){.mtu = (uint16_t)(i->mtu ? i->mtu : interface_mtu(c, port)),
	                         .enabled = !shutdown && (i->address_count || lender_of(c, n) >= 0),
	                         .enabled6 = !shutdown && i->ipv6,
	                         .port = (uint8_t)port,
	                         .bundle = config_is_channel(i),
	                         .key = i->key,
	                         .vid = (uint16_t)vid};
	eth_copy(ifp->mac, core_port_nic(port)->mac);
	for (unsigned p = 0; p < core_port_count(); p++) {
		if (config_logical(c, p) != port || config_is_channel(i) != (config_channel_of(c, p) != 0))
			continue;
		if (vid)
			v->vlan[p][vid] = (uint8_t)n;
		else if (config_is_channel(i))
			v->bundle_interface[p] = (uint8_t)n;
		if (vid || config_is_channel(i))
			v->tagged |= 1u << p;
	}
	struct adj *glean = &v->adj[NH_CONNECTED + n];
	glean->port = (uint8_t)port;
	glean->interface = (uint8_t)n;
	glean->state = ADJ_UNRESOLVED;
	glean->mtu = ifp->mtu;
}

unsigned interface_mtu_svi(const struct config *c)
{
	unsigned least = NIC_MTU_MAX;
	for (unsigned p = 0; p < core_port_count(); p++)
		least = u32_min(least, interface_mtu(c, p));
	return least;
}

/* Sets the interface of a VLAN of the switch. Its address on the link is that of the first port. */
static void start_svi(struct dp_state *v, unsigned n, const struct config_interface *i)
{
	struct dp_interface *ifp = &v->interface[n];
	struct adj *glean = &v->adj[NH_CONNECTED + n];
	*ifp = (struct dp_interface){
		.mtu = (uint16_t)(i->mtu ? i->mtu : interface_mtu_svi(&running.config)),
		.enabled = !i->shutdown && i->address_count,
		.enabled6 = !i->shutdown && i->ipv6,
		.port = DP_PORT_SWITCH,
		.key = i->key,
		.vid = (uint16_t)config_if_vid(i)};
	eth_copy(ifp->mac, core_port_nic(0)->mac);
	glean->port = DP_PORT_SWITCH;
	glean->interface = (uint8_t)n;
	glean->state = ADJ_UNRESOLVED;
	glean->mtu = ifp->mtu;
}

/* A loopback's addresses are usable whatever link is up. IPv6's need no DAD: no other station is on
 * the interface (RFC 4862 5.4). */
static void start_loopback(struct dp_state *v, unsigned n, const struct config_interface *i)
{
	struct dp_interface6 *six = &v->interface6[n];
	v->interface[n] = (struct dp_interface){.mtu = NIC_MTU_MAX,
	                                .enabled = !i->shutdown && i->address_count,
	                                .enabled6 = !i->shutdown && i->address6_count,
	                                .link_up = true,
	                                .port = DP_PORT_NONE,
	                                .key = i->key};
	six->count = v->interface[n].enabled6 ? i->address6_count : 0;
	for (unsigned a = 0; a < six->count; a++) {
		six->addr[a] = i->address6[a].addr;
		six->plen[a] = i->address6[a].plen;
	}
}

void interfaces_start(struct dp_state *v)
{
	const struct config *c = &running.config;
	subnets_start();
	unsigned mtu_most = CONFIG_MTU_DEFAULT;
	v->ifs = c->interfaces > NIC_PORTS_MAX ? c->interfaces : core_port_count();
	for (unsigned n = 0; n < v->ifs; n++) {
		const struct config_interface *i = &c->interface[n];
		struct dp_interface *ifp = &v->interface[n];
		config_key_name(v->name[n], i->key);
		if (config_is_loopback(i))
			start_loopback(v, n, i);
		else if (config_is_svi(i) && core_port_count() == 0)
			continue;
		else if (config_is_svi(i))
			start_svi(v, n, i);
		else if (config_if_port(c, i) < core_port_count())
			start_link(v, n, i);
		else
			continue;
		ifp->addresses = i->address_count;
		if (config_lender(c, n) >= 0)
			ifp->addr[0] = c->interface[config_lender(c, n)].address[0].addr;
		for (unsigned a = 0; a < i->address_count; a++) {
			ifp->addr[a] = i->address[a].addr;
			ifp->plen[a] = i->address[a].plen;
		}
		v->interface6[n].mtu = ifp->mtu;
		v->interface6[n].hop_limit = IP6_HOP_LIMIT_DEFAULT;
		if (!dp_is_loopback(ifp) && ifp->mtu > mtu_most)
			mtu_most = ifp->mtu;
	}
	core_set_mtu(mtu_most);
}

/* --- routes --- */

/* Announces the IPv4 subnets, addresses and broadcast addresses of an interface. */
static void add_connected(unsigned interface, const struct dp_interface *ifp)
{
	for (unsigned a = 0; a < ifp->addresses; a++) {
		const uint32_t addr = ifp->addr[a];
		const struct net_addr own = net_addr_ip4(addr);
		bool loopback = dp_is_loopback(ifp); /* no other host is on its subnet */
		if (!loopback || ifp->plen[a] < 32)
			routes_connected(&own, ifp->plen[a], false,
			                 loopback ? NH_NULL0 : NH_CONNECTED + interface);
		if (ifp->plen[a] <= 30 && !loopback) {
			const struct net_addr last = net_addr_ip4(ip4_subnet_broadcast(addr, ifp->plen[a]));
			/* all zeros: the old broadcast, RFC 1812 5.3.5 */
			const struct net_addr zeros = net_addr_ip4(addr & ip4_prefix_mask(ifp->plen[a]));
			routes_local(&last, 32, false, NH_BROADCAST);
			routes_local(&zeros, 32, false, NH_BROADCAST);
		}
		routes_local(&own, 32, false, NH_LOCAL);
	}
}

/* Announces the IPv6 subnets of an interface. Those of a loopback lead to null0, except our
 * addresses, which are not in hosts6. */
static void add_connected6(unsigned interface, const struct config_interface *i)
{
	for (unsigned a = 0; a < i->address6_count; a++) {
		const struct config_address6 *own = &i->address6[a];
		bool loopback = config_is_loopback(i);
		if (!loopback || own->plen < 128)
			routes_connected(&own->addr, own->plen, true,
			                 loopback ? NH_NULL0 : NH_CONNECTED + interface);
		if (loopback)
			routes_local(&own->addr, 128, true, NH_LOCAL);
	}
}

void interfaces_routes(const struct dp_state *v)
{
	const struct net_addr multicast = net_addr_ip4(IP4(224, 0, 0, 0));
	const struct net_addr broadcast = net_addr_ip4(IP4_BROADCAST);
	routes_local(&multicast, 4, false, NH_MULTICAST);
	routes_local(&broadcast, 32, false, NH_BROADCAST);
	for (unsigned interface = 0; interface < v->ifs; interface++)
		if (v->interface[interface].enabled)
			add_connected(interface, &v->interface[interface]);
	for (unsigned interface = 0; interface < v->ifs; interface++)
		if (v->interface[interface].enabled6)
			add_connected6(interface, &running.config.interface[interface]);
}

static void add_own6(unsigned interface, const struct config_interface *i)
{
	for (unsigned a = 0; a < i->address6_count; a++) {
		const struct config_address6 *own = &i->address6[a];
		const struct net_addr anycast = ip6_prefix_of(&own->addr, own->plen);
		routes_own6(interface, &own->addr, own->plen);
		if (ip6_is_subnet_router(&anycast, &own->addr, own->plen))
			routes_own6(interface, &anycast, own->plen);
	}
}

void interfaces_own6(const struct dp_state *v)
{
	for (unsigned interface = 0; interface < v->ifs; interface++)
		if (v->interface[interface].enabled6 &&
		    !config_is_loopback(&running.config.interface[interface]))
			add_own6(interface, &running.config.interface[interface]);
}

/* --- links --- */

/* The link of interface n went up or down. */
static void interface_link(unsigned n, bool up)
{
	__atomic_store_n(&dp_get()->interface[n].link_up, up, __ATOMIC_RELAXED);
	if (!forwarding.ready)
		return;
	if (up)
		arp_announce(&neighbours.arp, n);
	else
		arp_flush_interface(&neighbours.arp, n);
	neighbour_link(n, up);
	routes_link(n);
}

/* The links of the interfaces on a port, or on the bundle of that number. */
static void link_on(unsigned port, bool bundle, bool up)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; n < v->ifs; n++)
		if (dp_has_link(v, n) && v->interface[n].port == port && v->interface[n].bundle == bundle)
			interface_link(n, up);
}

void interfaces_link(unsigned port, bool up) { link_on(port, false, up); }

void interfaces_link_bundle(unsigned port, bool up) { link_on(port, true, up); }

void interfaces_link_svi(unsigned n, bool up)
{
	if (dp_link_is_up(dp_get(), n) != up)
		interface_link(n, up);
}

static bool has4(const struct dp_interface *ifp, uint32_t addr)
{
	for (unsigned i = 0; i < ifp->addresses; i++)
		if (ifp->addr[i] == addr)
			return true;
	return false;
}

bool interfaces_have(const struct net_addr *addr)
{
	const struct dp_state *v = dp_get();
	if (net_addr_is_ip4(addr)) {
		const int n = subnet_interface(addr);
		return n >= 0 && has4(&v->interface[n], net_addr_to_ip4(addr));
	}
	for (unsigned n = 0; n < v->ifs; n++)
		for (unsigned i = 0; i < v->interface6[n].count; i++)
			if (net_addr_equal(addr, &v->interface6[n].addr[i]))
				return true;
	return false;
}
