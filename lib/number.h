/* Minimum, maximum, their places, rounding to a multiple, and digits. */
#ifndef LIB_NUMBER_H
#define LIB_NUMBER_H

#include "lib/types.h"

static inline uint32_t u32_min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t u32_max(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline uint64_t u64_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t u64_max(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Where the least, or the greatest, of v[first..end) is: the first place; there is one at least. */
static inline unsigned u32_least_at(const uint32_t *v, unsigned first, unsigned end)
{
	unsigned best = first;
	for (unsigned i = first + 1; i < end; i++)
		if (v[i] < v[best])
			best = i;
	return best;
}

static inline unsigned u32_most_at(const uint32_t *v, unsigned first, unsigned end)
{
	unsigned best = first;
	for (unsigned i = first + 1; i < end; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

/* n rounded to a multiple of `to`, a power of two. */
static inline size_t align_down(size_t n, size_t to) { return n & ~(to - 1); }
static inline size_t align_up(size_t n, size_t to) { return align_down(n + to - 1, to); }

/* The value of a hexadecimal digit, in either case; -1: it is none. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
