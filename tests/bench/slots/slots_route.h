/* The router's vector path for slots_bench.c: apps/router/forward.c with neighbours on port 0, and
 * the functions of the core that the path calls. */
#ifndef TESTS_BENCH_SLOTS_SLOTS_ROUTE_H
#define TESTS_BENCH_SLOTS_SLOTS_ROUTE_H

#include "lib/types.h"

/* The full table has `full_routes` routes. */
void route_start(uint32_t full_routes);

/* Selects the table: one route; or the full one, to 64 neighbours, with each frame's destination
 * anywhere in them. */
void route_table(bool is_full);

/* Writes routable frame `number`, of 60 bytes. */
void route_frame(uint8_t *at, uint32_t number);

#endif
