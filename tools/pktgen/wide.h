/*
 * 128-bit numbers, for sums of nanoseconds and products with clock rates that do not fit 64 bits.
 * They are a struct, because a compiler divides its own 128-bit type by a library function that is
 * not linked here. Division is slow: do not use it for each packet.
 */
#ifndef PKTGEN_WIDE_H
#define PKTGEN_WIDE_H

#include "lib/assert.h"
#include "lib/types.h"

struct wide {
	uint64_t high, low;
};

static inline struct wide wide_mul(uint64_t a, uint64_t b)
{
	uint64_t a1 = a >> 32, a0 = (uint32_t)a, b1 = b >> 32, b0 = (uint32_t)b;
	uint64_t mid = a1 * b0 + (a0 * b0 >> 32); /* below 2^64: (2^32 - 1)^2 + 2^32 - 1 */
	uint64_t mid2 = a0 * b1 + (uint32_t)mid;
	return (struct wide){a1 * b1 + (mid >> 32) + (mid2 >> 32), a * b};
}

static inline struct wide wide_add(struct wide a, uint64_t b)
{
	uint64_t low = a.low + b;
	return (struct wide){a.high + (low < b), low};
}

static inline struct wide wide_sum(struct wide a, struct wide b)
{
	struct wide sum = wide_add(a, b.low);
	sum.high += b.high;
	return sum;
}

/* a / d, d not 0; the greatest number where the quotient does not fit 64 bits. Rounds down. */
static inline uint64_t wide_div(struct wide a, uint64_t d)
{
	assert(d != 0);
	if (a.high >= d)
		return UINT64_MAX;
	uint64_t rest = a.high, quotient = 0;
	for (unsigned bit = 64; bit-- > 0;) {
		bool carry = rest >> 63;
		rest = rest << 1 | (a.low >> bit & 1);
		quotient <<= 1;
		if (carry || rest >= d) {
			rest -= d;
			quotient |= 1;
		}
	}
	return quotient;
}

/* a * b / d, rounded down. */
static inline uint64_t wide_mul_div(uint64_t a, uint64_t b, uint64_t d)
{
	return wide_div(wide_mul(a, b), d);
}

#endif
