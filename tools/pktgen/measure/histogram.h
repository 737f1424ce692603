/*
 * Histogram of times in nanoseconds, log-linear as HDR histograms: 64 cells to each doubling,
 * values below 128 in cells of their own. Count, sum, minimum and maximum are exact. A percentile
 * is the middle of a cell: within 1/128 (0.8 %) of the sample of that rank, and never below the
 * minimum or above the maximum.
 *
 * Values from HISTOGRAM_LIMIT (137 s) on are in the last cell. Sum and maximum are exact for them
 * too.
 *
 * One core writes; others may copy at the same time (histogram_copy). Each word is read atomically,
 * but words may be a few samples apart. The count of a copy is the sum of its cells.
 */
#ifndef PKTGEN_MEASURE_HISTOGRAM_H
#define PKTGEN_MEASURE_HISTOGRAM_H

#include "lib/types.h"
#include "tools/pktgen/wide.h"

#define HISTOGRAM_SUB_LOG2 6
#define HISTOGRAM_SUB (1u << HISTOGRAM_SUB_LOG2)
#define HISTOGRAM_LIMIT_LOG2 37
#define HISTOGRAM_LIMIT (1ull << HISTOGRAM_LIMIT_LOG2)
#define HISTOGRAM_CELLS ((HISTOGRAM_LIMIT_LOG2 - HISTOGRAM_SUB_LOG2 + 1) * HISTOGRAM_SUB)

struct histogram {
	uint64_t min, max; /* without samples UINT64_MAX and 0 */
	struct wide sum;
	uint64_t cell[HISTOGRAM_CELLS];
};
_Static_assert(sizeof(struct histogram) <= 16 * 1024 + 32, "a stream and core has one");

void histogram_clear(struct histogram *h);

static inline unsigned histogram_cell(uint64_t value)
{
	if (unlikely(value >= HISTOGRAM_LIMIT))
		return HISTOGRAM_CELLS - 1;
	/* with the bit set, values below 128 need no branch: their shift is 0 */
	unsigned top = 63u - (unsigned)__builtin_clzll(value | HISTOGRAM_SUB);
	unsigned shift = top - HISTOGRAM_SUB_LOG2;
	return shift * HISTOGRAM_SUB + (unsigned)(value >> shift);
}

/* n samples of one value; n at least 1. */
static inline void histogram_add_n(struct histogram *h, uint64_t value, uint64_t n)
{
	h->cell[histogram_cell(value)] += n;
	h->sum = wide_sum(h->sum, n == 1 ? (struct wide){0, value} : wide_mul(value, n));
	h->max = value > h->max ? value : h->max;
	h->min = value < h->min ? value : h->min;
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	histogram_add_n(h, value, 1);
}

/* Adds the samples of `from`. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/* Copies a histogram that another core may be writing. */
void histogram_copy(struct histogram *to, const struct histogram *from);

uint64_t histogram_count(const struct histogram *h);

/* A histogram in short; all zero if it is empty. Nanoseconds; mean in ps. */
enum histogram_rank { P50, P90, P99, P99_9, P99_99, HISTOGRAM_RANKS };
struct histogram_summary {
	uint64_t count, min, max, mean_ps;
	uint64_t p[HISTOGRAM_RANKS];
};
void histogram_summarize(const struct histogram *h, struct histogram_summary *out);

/* The value that ppm millionths of the samples do not exceed: number ceil(n * ppm / 10^6) of n
 * sorted samples, the first one for ppm 0. 0 if there are no samples. Only tests use this function; reports
 * have the ranks of struct histogram_summary. */
uint64_t histogram_percentile(const struct histogram *h, uint32_t ppm);

/* Least and greatest value of a cell. */
uint64_t histogram_cell_low(unsigned cell);
uint64_t histogram_cell_high(unsigned cell);

#endif
