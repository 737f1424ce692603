/*
 * See leased.h. Data cores read an interface's addresses at any time, so they are written in this order: the address, the
 * number of addresses, `enabled`. While it goes, a packet may find the route and not the address, or the other way round:
 * it is then dropped or reaches the control core, which looks again.
 */
#include "control/forwarding/leased.h"

#include "control/config/config.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/subnets.h"
#include "dataplane/state.h"
#include "lib/mem.h"
#include "net/ip4.h"

static struct {
	bool set;
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
		if (broadcasts)
			routes_withdrawn(&last, 32, true), routes_withdrawn(&zeros, 32, true);
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

static bool has_route(const struct dhcp_lease *l, const struct dhcp_lease_route *r)
{
	for (unsigned i = 0; i < l->routes; i++)
		if (l->route[i].prefix == r->prefix && l->route[i].plen == r->plen)
			return true;
	return false;
}

/* Routes of `was` that `l` does not have go, the others come. */
static void set_routes(const struct dhcp_lease *was, const struct dhcp_lease *l, unsigned distance)
{
	for (unsigned i = 0; i < was->routes; i++)
		if (!has_route(l, &was->route[i]))
			routes_leased(was->route[i].prefix, was->route[i].plen, 0, distance);
	for (unsigned i = 0; i < l->routes; i++)
		routes_leased(l->route[i].prefix, l->route[i].plen, l->route[i].via, distance);
	routes_settle();
}

bool leased_set(unsigned interface, const struct dhcp_lease *l, unsigned distance)
{
	static const struct dhcp_lease none;
	struct dp_interface *ifp = &dp_get()->interface[interface];
	const struct net_addr own = net_addr_ip4(l->addr);
	const bool again = leased[interface].set;
	if (!again) {
		if (overlaps(interface, l) ||
		    arp_add_local(&neighbours.arp, interface, l->addr, l->plen, ifp->mac) != E_OK)
			return false;
		write_address(ifp, l);
		subnets_add(interface, &own, 96 + l->plen);
		announce(interface, l, true);
		routes_reach_again(); /* configured routes may have their gateways there */
	}
	set_routes(again ? &leased[interface].lease : &none, l, distance);
	leased[interface].lease = *l;
	leased[interface].set = true;
	return true;
}

void leased_clear(unsigned interface)
{
	static const struct dhcp_lease none;
	struct dp_interface *ifp = &dp_get()->interface[interface];
	const struct dhcp_lease *l = &leased[interface].lease;
	const struct net_addr own = net_addr_ip4(l->addr);
	if (!leased[interface].set)
		return;
	leased[interface].set = false;
	set_routes(l, &none, 0);
	__atomic_store_n(&ifp->enabled, false, __ATOMIC_RELEASE);
	__atomic_store_n(&ifp->addresses, 0, __ATOMIC_RELEASE);
	arp_clear_local(&neighbours.arp, interface);
	subnets_remove(interface, &own, 96 + l->plen);
	announce(interface, l, false);
	routes_reach_again(); /* before its neighbours are forgotten: no route holds them now */
	arp_flush_interface(&neighbours.arp, interface);
}

void leased_forget(void) { memset(leased, 0, sizeof leased); }
