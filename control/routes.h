/*
 * Static routes: from the configuration into the forwarding tables.
 *
 * Most prefixes have one route, and the table says its next hop. A prefix with several leads to a
 * group (control/groups.h): of those that can be used, the ones of the least distance, which share
 * its flows. A next hop can be used while its interface's link is up; a route that leads nowhere,
 * always. So when a link goes, or comes back, groups change and the table does not, unless a group
 * has nobody left: then its prefixes go out of the table, and a shorter prefix has their packets.
 *
 * Prefixes with the same routes share a group.
 *
 * Invariants
 * 1. A neighbour that a route leads to is pinned: once for each prefix with that route alone, once
 *    for each set of several.
 * 2. A prefix that gets another way is never without one: the table is changed by one store.
 * 3. What does not fit is refused, prefix by prefix, and counted in plane.refused_routes; a change
 *    that is refused leaves the prefix as it was.
 *
 * Missing: next hops that are reached by another route (recursive ones); a prefix with one route
 * keeps it while its link is down, so that who sends there is told (host unreachable).
 */
#ifndef CONTROL_ROUTES_H
#define CONTROL_ROUTES_H

#include "control/config.h"

/* Memory for the prefixes with several routes that c has beside those that there are. */
bool routes_room(const struct config *c);

/* The tables are empty but for what is connected: enters all routes of the configuration. */
void routes_start(void);

/* Of a route that goes (`gone`) or comes: its prefix has what the chain says that begins with
 * `first`, in `next`; CONFIG_ROUTE_NONE: nothing. While data cores look up. */
void routes_change(const struct config_route *r, bool gone, const struct config *next,
                   uint32_t first);
void routes_change6(const struct config_route6 *r, bool gone, const struct config *next,
                    uint32_t first);

/* An interface's link went up or down; plane.link_up knows. */
void routes_link(unsigned interface);

/* The neighbour of that next hop is not forgotten: until it is released as often. */
void routes_hold(uint32_t nh);
void routes_release(uint32_t nh);

/* For churn.c: a prefix (of IPv4: net_addr_ip4) that leads to a neighbour, or nowhere, leads to the
 * neighbour nh, whatever the configuration says, as a commit would change it; NH_NONE: nowhere.
 * False: refused, it is as before. */
bool routes_test_set(const struct net_addr *prefix, unsigned plen, bool six, uint32_t nh);

#endif
