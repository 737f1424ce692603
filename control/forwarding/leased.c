/*
 * See leased.h. Data cores read an interface's addresses at any time, so they are written in this order: the address,
 * the number of addresses, `enabled`. While it goes, a packet may find the route and not the address, or the other
 * way round: it is then dropped or reaches the control core, which looks again.
 */
#include "control/forwarding/leased.h"

#include "control/config/config.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/subnets.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "net/ip4.h"

static struct leased {
	bool set;
	unsigned distance; /* of its routes */
	struct dhcp_lease lease;
} leased[DP_INTERFACES_MAX];

static bool overlaps(unsigned interface, const struct dhcp_lease *l)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; n < v->ifs; n++) {
		const struct dp_interface *ifp = &v->interface[n];
		for (unsigned a = 0; n != interface && a < ifp->addresses; a++)
			if (ip4_in_prefix(l->addr, ifp->addr[a], ifp->plen[a] < l->plen ? ifp->plen[a] : l->plen))
				return true;
	}
	return false;
}

/* Announces what follows from the address, or withdraws it; as add_connected of interfaces.c. */
static void announce(unsigned interface, const struct dhcp_lease *l, bool on)
{
	const struct net_addr own = net_addr_ip4(l->addr);
	const struct net_addr last = net_addr_ip4(ip4_subnet_broadcast(l->addr, l->plen));
	const struct net_addr zeros = net_addr_ip4(l->addr & ip4_prefix_mask(l->plen));
	const bool broadcasts = l->plen <= 30;
	if (!on) {
		routes_withdrawn(&own, 32, true);
		if (broadcasts) {
			routes_withdrawn(&last, 32, true);
			routes_withdrawn(&zeros, 32, true);
		}
		routes_withdrawn(&own, l->plen, false);
		return;
	}
	routes_connected(&own, l->plen, false, NH_CONNECTED + interface);
	if (broadcasts) {
		routes_local(&last, 32, false, NH_BROADCAST);
		routes_local(&zeros, 32, false, NH_BROADCAST);
	}
	routes_local(&own, 32, false, NH_LOCAL);
}

static void write_address(struct dp_interface *ifp, const struct dhcp_lease *l)
{
	__atomic_store_n(&ifp->addr[0], l->addr, __ATOMIC_RELAXED);
	__atomic_store_n(&ifp->plen[0], (uint8_t)l->plen, __ATOMIC_RELAXED);
	__atomic_store_n(&ifp->addresses, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&ifp->enabled, true, __ATOMIC_RELEASE);
}

/* Announces the routes that all leases together have to the prefix. */
static void set_route(uint32_t prefix, uint32_t plen)
{
	struct rib_hop hop[CONFIG_DHCP_CLIENTS_MAX];
	unsigned n = 0;
	_Static_assert(CONFIG_DHCP_CLIENTS_MAX <= RIB_ROUTES_MAX, "a lease has one route to a prefix");
	for (const struct leased *at = leased; at < leased + ARRAY_LEN(leased); at++)
		for (uint32_t i = 0; at->set && i < at->lease.routes; i++)
			if (at->lease.route[i].prefix == prefix && at->lease.route[i].plen == plen &&
			    n < ARRAY_LEN(hop))
				hop[n++] = (struct rib_hop){.via = net_addr_ip4(at->lease.route[i].via),
				                            .interface = RIB_ANY_INTERFACE,
				                            .distance = (uint8_t)at->distance};
	routes_leased(prefix, plen, hop, n);
}

static void set_routes(const struct dhcp_lease *l)
{
	for (uint32_t i = 0; i < l->routes; i++)
		set_route(l->route[i].prefix, l->route[i].plen);
}

bool leased_set(unsigned interface, const struct dhcp_lease *l, unsigned distance)
{
	struct dp_interface *ifp = &dp_get()->interface[interface];
	struct leased *at = &leased[interface];
	const struct net_addr own = net_addr_ip4(l->addr);
	const struct dhcp_lease was = at->lease; /* no routes unless at->set */
	if (!at->set) {
		if (overlaps(interface, l) ||
		    arp_add_local(&neighbours.arp, interface, l->addr, l->plen, ifp->mac) != E_OK)
			return false;
		write_address(ifp, l);
		subnets_add(interface, &own, 96 + l->plen);
		announce(interface, l, true);
		routes_reach_again(); /* configured routes may have their gateways there */
	}
	*at = (struct leased){true, distance, *l};
	set_routes(&was); /* of which some may have gone */
	set_routes(l);
	routes_settle();
	return true;
}

void leased_clear(unsigned interface)
{
	struct dp_interface *ifp = &dp_get()->interface[interface];
	const struct dhcp_lease was = leased[interface].lease, *const l = &was;
	const struct net_addr own = net_addr_ip4(l->addr);
	if (!leased[interface].set)
		return;
	memset(&leased[interface], 0, sizeof leased[interface]);
	set_routes(l);
	routes_settle();
	__atomic_store_n(&ifp->enabled, false, __ATOMIC_RELEASE);
	__atomic_store_n(&ifp->addresses, 0, __ATOMIC_RELEASE);
	arp_clear_local(&neighbours.arp, interface);
	subnets_remove(interface, &own, 96 + l->plen);
	announce(interface, l, false);
	routes_reach_again(); /* before its neighbours are forgotten: no route holds them now */
	arp_flush_interface(&neighbours.arp, interface);
}

void leased_forget(void) { memset(leased, 0, sizeof leased); }
