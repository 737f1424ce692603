/* Minimum, maximum, and rounding to a multiple. */
#ifndef LIB_NUMBER_H
#define LIB_NUMBER_H

#include "lib/types.h"

static inline uint32_t u32_min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t u32_max(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline uint64_t u64_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t u64_max(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* n rounded to a multiple of `to`, a power of two. */
static inline size_t align_down(size_t n, size_t to) { return n & ~(to - 1); }
static inline size_t align_up(size_t n, size_t to) { return align_down(n + to - 1, to); }

#endif
