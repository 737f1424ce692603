/*
 * Host twin of hal/clock.h, found first by -Itests/unit/twin_clock: the same arithmetic, but
 * reading the TSC is a call to the test, which lets time pass there, so a loop that waits only for
 * time ends.
 */
#ifndef TESTS_UNIT_TWIN_CLOCK_H
#define TESTS_UNIT_TWIN_CLOCK_H

#define clock_tsc clock_tsc_of_the_cpu
#include "../../../../hal/clock.h"
#undef clock_tsc

uint64_t host_clock_tsc(void);

static inline uint64_t clock_tsc(void) { return host_clock_tsc(); }

#endif
