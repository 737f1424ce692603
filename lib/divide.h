/*
 * Division of a 64-bit by a 32-bit number. 64-bit machines have an instruction for it. For 32-bit
 * machines the compiler calls its run-time library, which is not linked here.
 */
#ifndef LIB_DIVIDE_H
#define LIB_DIVIDE_H

#include "lib/types.h"

/* n / d for machines without the instruction, d not 0: long division in base 2. */
static inline uint64_t divide_by_steps(uint64_t n, uint32_t d)
{
	/* One 32-bit division handles the upper half and leaves a remainder below d, so each further bit
	 * of the quotient takes one comparison. */
	uint32_t high = (uint32_t)(n >> 32), low = (uint32_t)n;
	uint32_t quotient = 0;
	uint64_t rest = high % d;
	for (unsigned bit = 0; bit < 32; bit++) {
		rest = rest << 1 | low >> 31;
		low <<= 1;
		quotient <<= 1;
		if (rest >= d) {
			rest -= d;
			quotient |= 1;
		}
	}
	return (uint64_t)(high / d) << 32 | quotient;
}

/* n / d, d not 0. */
static inline uint64_t divide(uint64_t n, uint32_t d)
{
#if __SIZEOF_POINTER__ >= 8
	return n / d;
#else
	return divide_by_steps(n, d);
#endif
}

#endif
