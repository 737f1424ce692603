/*
 * Routes: from all sources into the routing information base (net/rib/rib.h), which chooses among
 * them, and from there into the forwarding tables.
 *
 * How a route enters the FIB. Each source calls the functions here that have its name:
 *
 *     interfaces.c        routes_local, routes_connected, routes_own6
 *     the configuration   routes_configured and, at a commit, routes_change, routes_change6
 *     neighbour.c         routes_host, when a neighbour has answered or is forgotten
 *     autoconfig.c        routes_advertised, routes_own6_advertised
 *     leased.c            routes_connected, routes_local, routes_withdrawn, routes_leased
 *     control/engine/     routes_engine_set, routes_engine_replace
 *     churn.c             routes_test_set
 *
 * Each of them ends in rib_set. The base prefers the least distance, then the first source of enum
 * rib_source, and calls op_put or op_take (routes.c), which call fib4_insert, fib6_insert and their
 * counterparts. Only routes.c calls these, and only routes.c writes hosts6 (tests/check_symbols.py,
 * ONE).
 *
 *   source                 distance    announced as long as
 *   RIB_LOCAL              0, or 255   the interface takes part; 255: broadcasts, multicast
 *   RIB_CONNECTED          0           the interface takes part; routes_own6: a route covers it
 *   RIB_STATIC             1 to 255    it is configured
 *   RIB_TEST               0           `test churn` runs
 *   RIB_ENGINE             1 to 255    the engine states it, and for some time after it is gone
 *   RIB_LEASED             1 to 255    the lease lasts
 *   RIB_ADVERTISED         255         its lifetime lasts
 *   RIB_HOST               last        the neighbour is known
 *
 * A gateway on a subnet of ours is a neighbour of ARP or ND, pinned as long as the base holds it. A
 * route that shares flows with others, or is recursive, leads to a group
 * (control/forwarding/groups.h). All of this runs on the control core.
 *
 * A connected prefix stays in the table while its link is down, so that senders get host
 * unreachable. A static route leaves the table while its link is down; its packets then take a
 * shorter prefix. For 3 s after the ports' start, a link whose state is unknown counts as up.
 *
 * Prefixes that do not fit are refused one by one and counted in routes_refused, except IPv4 hosts.
 */
#ifndef CONTROL_FORWARDING_ROUTES_H
#define CONTROL_FORWARDING_ROUTES_H

#include "control/config/config.h"
#include "net/rib/rib.h"

/* Takes memory for the prefixes of c, and for some more. False: there is not enough. */
bool routes_room(const struct config *c);

/* Makes an empty base; persist_open has been called. The forwarding tables must be empty too. False: there
 * is no memory. */
bool routes_start(void);

/* A subnet of an interface; addr is any address in it. nh: NH_CONNECTED + interface, or a number
 * that leads nowhere. */
void routes_connected(const struct net_addr *addr, unsigned plen, bool six, uint32_t nh);

/* Removes what routes_connected, or (local) routes_local, has announced for the prefix. */
void routes_withdrawn(const struct net_addr *addr, unsigned plen, bool local);

/* The n routes, at most RIB_ROUTES_MAX, of all DHCP leases together to an IPv4 prefix; 0: none. */
void routes_leased(uint32_t prefix, unsigned plen, const struct rib_hop *hop, unsigned n);

/* Subnets of ours have come or gone: all gateways are looked for again. */
void routes_reach_again(void);

/* The same as routes_own6 for an address made from an advertised prefix; `up`: it may be used. It
 * has a prefix of its own, which leads to us, unless the longest prefix that covers it leads to the
 * link. */
void routes_own6_advertised(unsigned interface, const struct net_addr *addr, bool up);

/* The route to the prefix that routers advertise, on a machine that is not a router; NULL: none.
 * All other sources take precedence. */
void routes_advertised(const struct net_addr *prefix, unsigned plen, const struct rib_hop *hop);

/* Gets that route; false: there is none. */
bool routes_advertisement(const struct net_addr *prefix, unsigned plen, struct rib_hop *out);

/* True if the route in use to the IPv6 prefix is an advertised one. */
bool routes_is_advertised(const struct net_addr *prefix, unsigned plen);

/* An IPv6 host, a neighbour or ourselves: hosts6 leads from that address on the link to nh. `gone`
 * removes the entry if it leads to nh. */
void routes_host6(unsigned interface, const struct net_addr *addr, uint32_t nh);
void routes_host6_gone(unsigned interface, const struct net_addr *addr, uint32_t nh);

/* An IPv4 neighbour: its /32 leads to nh, unless another route to the same /32 is in use. NH_NONE:
 * it is no longer a neighbour. When the call returns, the forwarding table does not lead there, but
 * data cores may use the result of an earlier look-up until core_quiesce. */
void routes_host(uint32_t ip, uint32_t nh);

/* Announces all routes of running.config. */
void routes_configured(void);

/* The routing engine states its routes to the prefix: n of them, with its tag for all (net/rib/rib.h);
 * 0: none. E_NOMEM: refused. */
int routes_engine_set(const struct rib_prefix *p, uint16_t tag, const struct rib_hop *hop,
                      unsigned n);

/* Has the engine a route to the prefix? */
bool routes_engine_has(const struct rib_prefix *p);

/* All routes of the engine with that tag have these hops from now on; E_NOMEM: they have not. */
int routes_engine_replace(uint16_t tag, const struct rib_hop *hop, unsigned n);

/* The engine's routes are stale until it states them again. */
void routes_engine_session(void);

/* Removes stale routes, at most `changes` of them; true: more remain. */
bool routes_engine_remove_stale(unsigned changes);

/* The engine's routes that the base before has left (persist.h), one prefix at a call, after routes_start.
 * Untrusted, as rib_previous_next says, but each interface is one of the present ones by its name; hops
 * without it are left out, perhaps all. False after the last. */
bool routes_previous_next(struct rib_previous *out);

/* The number of these prefixes. Before routes_previous_next. */
uint32_t routes_previous_count(void);

/* The ports run by the present base: from now on it is the one that will be left. */
void routes_keep(void);

/* A prefix that ends at this machine. nh: NH_LOCAL, which takes precedence over all other routes;
 * NH_BROADCAST or NH_MULTICAST, over which all other routes do. */
void routes_local(const struct net_addr *addr, unsigned plen, bool six, uint32_t nh);

/* An IPv6 address of ours on a link, in a subnet of length plen. Data cores look it up in hosts6
 * only if the prefix in the FIB leads to the link (dataplane/state.h). While there is a route, in
 * use or not, to a part of the subnet that covers the address, the address therefore has a prefix
 * of its own, which leads to the link. */
void routes_own6(unsigned interface, const struct net_addr *addr, unsigned plen);

/* The routes of r's prefix become the chain in `next` that begins at `first`; CONFIG_ROUTE_NONE: no
 * routes. For a commit, while data cores forward. */
void routes_change(const struct config_route *r, const struct config *next, uint32_t first);
void routes_change6(const struct config_route6 *r, const struct config *next, uint32_t first);

/* An interface's link went up or down; dp_link_is_up has the new state. */
void routes_link(unsigned interface);

/* The neighbour of that next hop has been resolved: flows that other next hops had meanwhile take it. */
void routes_resolved(uint32_t nh);

/* A neighbour has been forgotten. A gateway that found no room in the neighbour table may find it
 * now. */
void routes_neighbour_gone(void);

/* Tries refused prefixes again, after the tables have reclaimed memory. */
void routes_retry(void);

/* Does a part of the pending changes; true: more are left. When none are left after routes have
 * changed, reports newly refused routes on the console. */
bool routes_work(void);

/* When routes_work has to ask again for neighbours that routes wait for (net/rib/rib.h), as
 * core_now_ns; UINT64_MAX: for none. */
uint64_t routes_deadline(void);

/* Begins the pending changes, after routes have changed. */
void routes_settle(void);

/* Prefixes that did not fit. */
uint32_t routes_refused(void);

/* Have many more prefixes been refused than the base before had refused, or any if it had refused none,
 * or IPv6 hosts by hosts6? */
bool routes_lack(void);

/* The base, for display. */
const struct rib *routes_rib(void);

/* The tables of neighbours, as routes need them. */
struct routes_reach {
	/* The next-hop number of a neighbour for packets of that version, six: IPv6's. It is added if
	 * necessary; NH_NULL0: its table is full. */
	uint32_t (*next_hop)(unsigned interface, const struct net_addr *addr, bool six);
	/* Pins the neighbour of that next hop until it has been released as often. */
	void (*hold)(uint32_t nh);
	void (*release)(uint32_t nh);
	/* Begins to resolve it, without a packet; nothing if that is done already. */
	void (*resolve)(uint32_t nh);
};

/* Before any route with a gateway is announced. */
void routes_set_reach(const struct routes_reach *r);

/* For churn.c: hold and release of struct routes_reach. */
void routes_hold(uint32_t nh);
void routes_release(uint32_t nh);

/* For churn.c: a prefix (IPv4: as net_addr_ip4) leads to the neighbour nh instead of where the
 * configuration says. NH_NONE: the configuration applies again. False: refused, so the
 * configuration applies. */
bool routes_test_set(const struct net_addr *prefix, unsigned plen, bool six, uint32_t nh);

#endif
