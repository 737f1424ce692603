#include "tools/pktgen/measure/histogram.h"

#include "lib/mem.h"

static const uint32_t rank_ppm[HISTOGRAM_RANKS] = {500000, 900000, 990000, 999000, 999900};

void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof *h);
	h->min = UINT64_MAX;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_CELLS; i++)
		into->cell[i] += from->cell[i];
	into->sum = wide_sum(into->sum, from->sum);
	into->max = from->max > into->max ? from->max : into->max;
	into->min = from->min < into->min ? from->min : into->min;
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* A carry between the reads of the two words would change the sum by 2^64 ns, which are 584 years.
 * A second read of the high word detects it. */
static struct wide load_sum(const struct wide *sum)
{
	struct wide copy;
	unsigned tries = 4;
	do {
		copy.high = load(&sum->high);
		copy.low = load(&sum->low);
	} while (load(&sum->high) != copy.high && --tries > 0);
	return copy;
}

void histogram_copy(struct histogram *to, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_CELLS; i++)
		to->cell[i] = load(&from->cell[i]);
	/* after the cells, so that these three cover all samples in them */
	to->sum = load_sum(&from->sum);
	to->max = load(&from->max);
	to->min = load(&from->min);
}

uint64_t histogram_count(const struct histogram *h)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < HISTOGRAM_CELLS; i++)
		count += h->cell[i];
	return count;
}

uint64_t histogram_cell_low(unsigned cell)
{
	unsigned shift = cell < 2 * HISTOGRAM_SUB ? 0 : cell / HISTOGRAM_SUB - 1;
	return (uint64_t)(cell - shift * HISTOGRAM_SUB) << shift;
}

uint64_t histogram_cell_high(unsigned cell)
{
	return histogram_cell_low(cell + 1) - 1;
}

/* The value of rank `rank`, 1 to count. */
static uint64_t value_at(const struct histogram *h, uint64_t rank, uint64_t count)
{
	uint64_t seen = 0;
	unsigned cell = 0;
	if (rank <= 1)
		return h->min;
	if (rank >= count)
		return h->max;
	while ((seen += h->cell[cell]) < rank)
		cell++;
	if (cell == HISTOGRAM_CELLS - 1)
		return h->max; /* the last cell has no upper bound */
	uint64_t low = histogram_cell_low(cell), high = histogram_cell_high(cell);
	uint64_t middle = low + (high - low) / 2;
	middle = middle > h->max ? h->max : middle;
	return middle < h->min ? h->min : middle;
}

static uint64_t percentile_of(const struct histogram *h, uint64_t count, uint32_t ppm)
{
	/* rounded up; count * ppm might not fit */
	uint64_t rank = count / 1000000 * ppm + (count % 1000000 * ppm + 999999) / 1000000;
	return count == 0 ? 0 : value_at(h, rank, count);
}

uint64_t histogram_percentile(const struct histogram *h, uint32_t ppm)
{
	return percentile_of(h, histogram_count(h), ppm);
}

void histogram_summarize(const struct histogram *h, struct histogram_summary *out)
{
	memset(out, 0, sizeof *out);
	uint64_t count = histogram_count(h);
	if (count == 0)
		return;
	out->count = count;
	out->min = h->min;
	out->max = h->max;
	/* the whole part first: a sum in ps might not fit */
	uint64_t mean = wide_div(h->sum, count);
	struct wide part = wide_mul(mean, count);
	uint64_t rest = h->sum.low - part.low; /* below count, so the high words do not matter */
	out->mean_ps = wide_div(wide_add(wide_mul(mean, 1000), wide_mul_div(rest, 1000, count)), 1);
	for (unsigned i = 0; i < HISTOGRAM_RANKS; i++)
		out->p[i] = percentile_of(h, count, rank_ppm[i]);
}
