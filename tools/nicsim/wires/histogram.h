/*
 * Log-linear histogram of times: 128 cells per doubling, so a percentile is accurate to 0.8 %; the
 * smallest and the largest value are exact. Adding a value is a shift and an increment.
 */
#ifndef NICSIM_WIRES_HISTOGRAM_H
#define NICSIM_WIRES_HISTOGRAM_H

#include <stdint.h>
#include <string.h>

#define HISTOGRAM_SUB_LOG2 7
#define HISTOGRAM_SUB (1u << HISTOGRAM_SUB_LOG2)
#define HISTOGRAM_CELLS ((64 - HISTOGRAM_SUB_LOG2 + 1) * HISTOGRAM_SUB)

struct histogram {
	uint64_t count, min, max;
	uint64_t cell[HISTOGRAM_CELLS];
};

static inline void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof *h);
	h->min = UINT64_MAX;
}

/* Adds a value `times` times. */
static inline void histogram_add_times(struct histogram *h, uint64_t value, uint64_t times)
{
	unsigned shift = 0;
	if (value >= 2 * HISTOGRAM_SUB)
		shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_LOG2;
	h->cell[shift * HISTOGRAM_SUB + (value >> shift)] += times;
	h->count += times;
	h->max = value > h->max ? value : h->max;
	h->min = value < h->min ? value : h->min;
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	histogram_add_times(h, value, 1);
}

/* The middle of the values that this cell counts. */
static inline double histogram_middle(unsigned cell)
{
	unsigned shift = cell < 2 * HISTOGRAM_SUB ? 0 : cell / HISTOGRAM_SUB - 1;
	uint64_t low = (uint64_t)(cell - shift * HISTOGRAM_SUB) << shift;
	return (double)low + (double)((1ull << shift) - 1) / 2;
}

/* The value not exceeded by `share` of the samples (0 to 1): the middle of its cell, or max. */
static inline double histogram_percentile(const struct histogram *h, double share)
{
	uint64_t wanted = (uint64_t)(share * (double)h->count), seen = 0;
	for (unsigned i = 0; i < HISTOGRAM_CELLS; i++) {
		seen += h->cell[i];
		if (seen <= wanted || h->cell[i] == 0)
			continue;
		double middle = histogram_middle(i);
		return middle < (double)h->max ? middle : (double)h->max;
	}
	return (double)h->max;
}

#endif
