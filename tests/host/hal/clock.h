/*
 * Host twin of hal/clock.h, found first by -Itests/host: the same arithmetic, but the TSC is a
 * variable of the test, which alone makes time pass.
 */
#ifndef TESTS_HOST_CLOCK_H
#define TESTS_HOST_CLOCK_H

#define clock_tsc clock_tsc_of_the_cpu
#include "../../../hal/clock.h"
#undef clock_tsc

extern uint64_t host_tsc;

static inline uint64_t clock_tsc(void) { return host_tsc; }

#endif
