/* The router's vector path for slots_bench.c: apps/router/forward.c with neighbours on port 0, and
 * of the core what that path calls. */
#ifndef TESTS_BENCH_SLOTS_ROUTE_H
#define TESTS_BENCH_SLOTS_ROUTE_H

#include "lib/types.h"

void route_start(void);

/* The table from now on: one route; or a million, to 64 neighbours, and each frame's destination
 * anywhere in them. */
void route_table(bool is_full);

/* Writes a frame of 60 bytes that is to be routed, the number-th. */
void route_frame(uint8_t *at, uint32_t number);

#endif
