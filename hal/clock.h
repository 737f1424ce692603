/*
 * Time is the TSC (invariant 3). `struct clock` turns ticks into nanoseconds and back
 * by a multiplication with a fixed-point constant, exact to about 1 in 10^9 for TSC frequencies
 * up to 16 GHz.
 */
#ifndef HAL_CLOCK_H
#define HAL_CLOCK_H

#include "lib/types.h"

struct clock {
	uint64_t tsc_hz;
	uint64_t mult;    /* ns per tick, 32 fraction bits */
	uint64_t inverse; /* ticks per ns, 30 fraction bits */
	uint64_t us_mult; /* us per tick, 42 fraction bits */
};

static inline uint64_t clock_tsc(void)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline struct clock clock_make(uint64_t tsc_hz)
{
	return (struct clock){tsc_hz, (1000000000ull << 32) / tsc_hz, (tsc_hz << 30) / 1000000000u,
	                      (1000000ull << 42) / tsc_hz};
}

static inline uint64_t clock_ns(const struct clock *c, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * c->mult >> 32);
}

static inline uint64_t clock_us(const struct clock *c, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * c->us_mult >> 42);
}

/* Ticks in ns nanoseconds; saturates. */
static inline uint64_t clock_ticks(const struct clock *c, uint64_t ns)
{
	unsigned __int128 t = (unsigned __int128)ns * c->inverse >> 30;
	return t >> 64 ? UINT64_MAX : (uint64_t)t;
}

#endif
