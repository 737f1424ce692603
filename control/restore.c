/*
 * Warm restart of the control program (runtime/warm_restart.c). The new program builds its tables
 * from the configuration, and from the routes of the routing engine that the previous program has left
 * (engine_resume). It takes the neighbours from the previous program's tables, so that no
 * packet has to wait for them. The previous program has failed, so its tables are untrusted input:
 * a neighbour's address must be on the link of its interface, and its MAC must be a station's. All
 * these neighbours are probed again soon.
 *
 * A program that lacks something that the previous one had (a route, a server) gives up. The next
 * program restarts the ports and has more memory.
 *
 * Not taken over: management connections, packets that waited, fragments, the age of neighbours,
 * and the distribution of flows to next hops if one of these had been away.
 */
#include "control/forwarding/adjacency.h"
#include "control/commit/servers.h"
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/subnets.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "control/restore.h"
#include "dataplane/state.h"
#include "net/arp.h"
#include "net/nd.h"
#include "control/forwarding/routes.h"

/* The present number of interface `was` of the old data-plane state; E_NOENT. Numbers may differ,
 * names do not. */
static int interface_of(const struct dp_state *old, unsigned was)
{
	const struct dp_state *v = dp_get();
	for (unsigned n = 0; was < DP_INTERFACES_MAX && n < v->ifs; n++)
		if (dp_has_link(v, n) && v->interface[n].key == old->interface[was].key)
			return (int)n;
	return E_NOENT;
}

/* True for a neighbour to which data cores send; sets its present interface. */
static bool is_known(const struct dp_state *old, uint32_t nh, int *interface)
{
	const struct adj *a = &old->adj[nh];
	if (a->state != ADJ_FORWARD)
		return false;
	*interface = interface_of(old, a->interface);
	return *interface >= 0;
}

static void restore_neighbours4(const struct dp_state *old)
{
	const struct dp_state *v = dp_get();
	int n;
	for (unsigned i = 0; i < DP_NEIGHBOURS; i++) {
		const struct adj *a = &old->adj[NH_NEIGHBOUR + i];
		const uint32_t ip = (uint32_t)a->gateway;
		const struct net_addr addr = net_addr_ip4(ip);
		if (is_known(old, NH_NEIGHBOUR + i, &n) && v->interface[n].enabled &&
		    subnet_interface(&addr) == n)
			(void)arp_restore(&neighbours.arp, (unsigned)n, ip, a->header, core_now_ns());
	}
}

/* Only hosts6 has the addresses of IPv6 neighbours. */
static void restore_neighbours6(const struct dp_state *old, size_t bytes)
{
	const struct dp_state *v = dp_get();
	const uint64_t at = (uint64_t)(uintptr_t)old->hosts6 - (uint64_t)(uintptr_t)old;
	struct host6_entry e;
	int n;
	if (at < sizeof *old || at >= bytes || at % CACHE_LINE)
		return;
	for (uint32_t cursor = 0; host6_next(old->hosts6, bytes - at, &cursor, &e);)
		if (e.nh >= NH_NEIGHBOUR6 && e.nh < NH_NEIGHBOUR46 && is_known(old, e.nh, &n) &&
		    v->interface[n].enabled6)
			(void)nd_restore(&neighbours.nd, (unsigned)n, &e.addr, old->adj[e.nh].header,
			                 core_now_ns());
}

static void restore_addresses6(const struct dp_state *old)
{
	for (unsigned interface = 0; interface < DP_INTERFACES_MAX; interface++) {
		const struct dp_interface6 *was = &old->interface6[interface];
		const int n = interface_of(old, interface);
		for (unsigned i = 0; n >= 0 && i < was->count && i < DP_ADDRESSES6_MAX; i++)
			(void)nd_keep_local(&neighbours.nd, (unsigned)n, &was->addr[i], core_now_ns());
	}
}

bool restore_tables(const void *old, size_t bytes)
{
	const struct dp_state *was = old;
	if (bytes < sizeof *was || !running.applied || !forwarding.ready || routes_lack() ||
	    !servers_are_there())
		return false;
	dp_get()->flow_seed = was->flow_seed; /* flows keep their next hops */
	restore_addresses6(was);
	restore_neighbours4(was);
	restore_neighbours6(was, bytes);
	while (routes_work())
		;
	return true;
}
