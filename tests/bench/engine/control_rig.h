/* What control/forwarding asks of the runtime, neighbours and devices, for benchmarks on this host: memory
 * in huge pages, two ports whose links are up, and a neighbour for each address. */
#ifndef TESTS_BENCH_ENGINE_CONTROL_RIG_H
#define TESTS_BENCH_ENGINE_CONTROL_RIG_H

#include "dataplane/state.h"

#define RIG_HOPS 64 /* next hops of the routes */

extern struct dp_state *rig_dp;
extern size_t rig_taken; /* by core_private_alloc */

/* Takes the data-plane state. */
void rig_start(void);

/* Two interfaces with 192.0.2.1/24 and 198.51.100.1/24 in the data-plane state, and where gateways on
 * their subnets are. running.config has them already. */
void rig_interfaces(void);

/* Of this thread: what else the CPU does is no part of it. */
double rig_cpu_s(void);

#endif
