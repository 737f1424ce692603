/*
 * Routes: from all sources into the routing information base (net/rib/rib.h), which chooses among
 * them, and from there into the forwarding tables.
 *
 * How a route enters the FIB. A source calls the function here that has its name: interfaces.c
 * routes_local, routes_connected and routes_own6; the configuration routes_configured and, at a
 * commit, routes_change; neighbour.c routes_host when a neighbour has answered or is forgotten;
 * autoconfig.c routes_advertised and routes_own6_advertised; churn.c routes_test_set. Each ends in
 * rib_set. The base prefers the least distance, then the first source of enum rib_source, and calls
 * op_put or op_take (routes.c), which call fib4_insert, fib6_insert and their counterparts. Nobody
 * else does, and nobody else writes hosts6 (tests/check_symbols.py, ONE).
 *
 *   source                 distance    announced as long as
 *   RIB_LOCAL              0, or 255   the interface takes part; 255: broadcasts, multicast
 *   RIB_CONNECTED          0           the interface takes part; routes_own6: while a route covers it
 *   RIB_STATIC             1 to 255    it is configured
 *   RIB_TEST               0           `test churn` runs
 *   RIB_ADVERTISED         255         its lifetime lasts
 *   RIB_HOST               last        the neighbour is known
 *
 * A gateway on a subnet of ours is a neighbour, of ARP or ND, which is pinned as long as the base
 * holds it. A route that shares flows with others, or is recursive, leads to a group
 * (control/forwarding/groups.h). All of it is on the control core.
 *
 * A connected prefix stays in the table while its link is down, so that who sends there is told
 * (host unreachable); a static route whose link is down does not: a shorter prefix has its packets.
 *
 * For some seconds from the start a link that has not been told of counts as up.
 *
 * What does not fit is refused, prefix by prefix, and counted in routes_refused; hosts are not.
 */
#ifndef CONTROL_FORWARDING_ROUTES_H
#define CONTROL_FORWARDING_ROUTES_H

#include "control/config/config.h"
#include "net/rib/rib.h"

/* Memory for the prefixes that c has, and for some more. */
bool routes_room(const struct config *c);

/* The tables are empty, and so is the base: what routes_connected and routes_configured say, comes.
 * False: there is no memory. */
bool routes_start(void);

/* A subnet of an interface, in any address of it: NH_CONNECTED and up, or where it leads. */
void routes_connected(const struct net_addr *addr, unsigned plen, bool six, uint32_t nh);

/* The same of one that has been made from an advertised prefix, as long as it is `up`: it has a prefix
 * for itself, which leads to us, unless the longest prefix that covers it leads to the link. */
void routes_own6_advertised(unsigned interface, const struct net_addr *addr, bool up);

/* What routers advertise, on a machine that is none: the one route of that source to the prefix; NULL:
 * none. All other sources come before it. */
void routes_advertised(const struct net_addr *prefix, unsigned plen, const struct rib_hop *hop);

/* That route; false: there is none. */
bool routes_advertisement(const struct net_addr *prefix, unsigned plen, struct rib_hop *out);

/* Does the IPv6 prefix lead where a router has advertised it? */
bool routes_is_advertised(const struct net_addr *prefix, unsigned plen);

/* Hosts of IPv6, neighbours and ourselves, are in hosts6: that address on the link leads to nh. One
 * that leads to nh is taken out. */
void routes_host6(unsigned interface, const struct net_addr *addr, uint32_t nh);
void routes_host6_gone(unsigned interface, const struct net_addr *addr, uint32_t nh);

/* A neighbour of IPv4: its own address leads to nh, unless another route to that very address is in
 * use; NH_NONE: it is no neighbour any more. Then the forwarding table does not lead there when this
 * returns, but data cores may still use what they have looked up, until core_quiesce. */
void routes_host(uint32_t ip, uint32_t nh);

/* All routes of the configuration that runs. */
void routes_configured(void);

/* A prefix that ends at us: its packets are ours, or broadcast, or multicast (a number below NH_NULL0).
 * Our own addresses come before all other routes, the rest after them. */
void routes_local(const struct net_addr *addr, unsigned plen, bool six, uint32_t nh);

/* An IPv6 address of ours on a link, on a subnet of that length. hosts6 has it, which counts where the
 * prefixes lead to the link alone (dataplane/state.h). As long as there is a route, in use or not, to a
 * part of the subnet that covers the address, it has a prefix for itself, which leads to the link. */
void routes_own6(unsigned interface, const struct net_addr *addr, unsigned plen);

/* Of a route that goes or comes: its prefix has what the chain says that begins with `first`, in
 * `next`; CONFIG_ROUTE_NONE: nothing. While data cores look up. */
void routes_change(const struct config_route *r, const struct config *next, uint32_t first);
void routes_change6(const struct config_route6 *r, const struct config *next, uint32_t first);

/* An interface's link went up or down; dp_link_is_up knows. */
void routes_link(unsigned interface);

/* A neighbour has been forgotten: there is room for another one, which a route may wait for. */
void routes_neighbour_gone(void);

/* The table has got memory back: those that were refused are tried again. */
void routes_retry(void);

/* Does a part of what has been put off; true: there is more. When all is done, and something has
 * changed, it says on the console if routes were refused. */
bool routes_work(void);

/* Routes have changed: begins. */
void routes_settle(void);

/* Prefixes that did not fit, and hosts of IPv6 that did not fit into hosts6. */
uint32_t routes_refused(void);
uint32_t routes_refused_hosts(void);

/* The base, to be shown. */
const struct rib *routes_rib(void);

/* The tables of neighbours, as routes need them. */
struct routes_reach {
	/* The next-hop number of a neighbour, made if need be; NH_NULL0: its table is full. */
	uint32_t (*next_hop)(unsigned interface, const struct net_addr *addr);
	/* The neighbour of that next hop is not forgotten: until it is released as often. */
	void (*hold)(uint32_t nh);
	void (*release)(uint32_t nh);
};

/* Before any route with a gateway is announced. */
void routes_set_reach(const struct routes_reach *r);

/* For churn.c: as those of the tables. */
void routes_hold(uint32_t nh);
void routes_release(uint32_t nh);

/* For churn.c: a prefix (of IPv4: net_addr_ip4) leads to the neighbour nh, whatever the configuration
 * says; NH_NONE: where that says. False: refused, and it leads where that says. */
bool routes_test_set(const struct net_addr *prefix, unsigned plen, bool six, uint32_t nh);

#endif
