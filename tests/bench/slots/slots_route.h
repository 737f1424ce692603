/* The router's vector path for slots_bench.c: apps/router/forward.c with neighbours on port 0, and
 * the functions of the core that the path calls. */
#ifndef TESTS_BENCH_SLOTS_SLOTS_ROUTE_H
#define TESTS_BENCH_SLOTS_SLOTS_ROUTE_H

#include "lib/types.h"

enum route_table { ROUTE_ONE, ROUTE_FULL, ROUTE_SIX, ROUTE_VLAN, ROUTE_FILTER, ROUTE_VERIFY };

/* The full table has `full_routes` routes, IPv6's `six_routes`. */
void route_start(uint32_t full_routes, uint32_t six_routes);

/* Selects the table: one route; or a full one, to 64 neighbours, with each frame's destination
 * anywhere in it; or one route, and frames with a tag that come from a VLAN and go there; or one
 * route, and a filter of 1,000 rules, or the check that there is a route to the source. */
void route_table(enum route_table wanted);

/* Writes routable frame `number`, of 60 bytes. */
void route_frame(uint8_t *at, uint32_t number);

#endif
