/* tools/pktgen/measure/histogram.h and wide.h, against sorted samples and the compiler's 128 bits. */
#include "tests/unit/rig/host.h"

#include "tools/pktgen/measure/histogram.h"

#define SAMPLES 20000

static struct histogram h, other, copy;

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static uint64_t by_rank(const uint64_t *sorted, uint64_t n, uint32_t ppm)
{
	uint64_t rank = (n * ppm + 999999) / 1000000;
	return sorted[rank == 0 ? 0 : rank - 1];
}

static void percentiles_are_those_of_the_samples(void **s)
{
	(void)s;
	static const uint32_t ppm[] = {0, 1, 1000, 250000, 500000, 900000, 990000, 999000, 999900,
	                               999999, 1000000};
	static uint64_t v[SAMPLES];
	for (unsigned round = 0; round < 20; round++) {
		unsigned n = 1 + random_below(round < 5 ? 20 : SAMPLES);
		unsigned __int128 sum = 0;
		histogram_clear(&h);
		for (unsigned i = 0; i < n; i++) {
			v[i] = random64() >> (27 + random_below(37));
			sum += v[i];
			histogram_add(&h, v[i]);
		}
		qsort(v, n, sizeof *v, by_value);
		for (unsigned i = 0; i < ARRAY_LEN(ppm); i++) {
			uint64_t exact = by_rank(v, n, ppm[i]), got = histogram_percentile(&h, ppm[i]);
			uint64_t off = got > exact ? got - exact : exact - got;
			assert_true(off * 128 <= exact);
		}
		struct histogram_summary all;
		histogram_summarize(&h, &all);
		assert_int_equal(all.count, n);
		assert_int_equal(all.min, v[0]);
		assert_int_equal(all.max, v[n - 1]);
		assert_true(all.mean_ps == (uint64_t)(sum * 1000 / n));
		assert_int_equal(all.p[P50], histogram_percentile(&h, 500000));
		assert_int_equal(all.p[P99_99], histogram_percentile(&h, 999900));
	}
}

/* Each value is in exactly the cell whose bounds include it, and cells are contiguous. */
static void cells_cover_all(void **s)
{
	(void)s;
	for (unsigned i = 0; i < HISTOGRAM_CELLS; i++) {
		uint64_t low = histogram_cell_low(i), high = histogram_cell_high(i);
		assert_int_equal(histogram_cell(low), i);
		assert_int_equal(histogram_cell(high), i);
		assert_true(i < 2 * HISTOGRAM_SUB ? low == high && low == i : (high - low + 1) * 64 <= low);
		if (i > 0)
			assert_int_equal(low, histogram_cell_high(i - 1) + 1);
	}
	assert_true(histogram_cell_high(HISTOGRAM_CELLS - 1) == HISTOGRAM_LIMIT - 1);
}

/* The minimum and the maximum are exact, even where they share a cell with the requested value. */
static void values_of_one_cell(void **s)
{
	(void)s;
	for (unsigned i = 2 * HISTOGRAM_SUB; i < HISTOGRAM_CELLS - 1; i++) {
		uint64_t low = histogram_cell_low(i), high = histogram_cell_high(i);
		histogram_clear(&h);
		histogram_add(&h, low);
		histogram_add(&h, high);
		assert_true(histogram_percentile(&h, 500000) == low);
		assert_true(histogram_percentile(&h, 990000) == high);
		histogram_clear(&h);
		histogram_add_n(&h, high, 3);
		assert_true(histogram_percentile(&h, 500000) == high);
		histogram_clear(&h);
		histogram_add_n(&h, low, 3);
		assert_true(histogram_percentile(&h, 500000) == low);
	}
}

static void ends_of_the_range(void **s)
{
	(void)s;
	struct histogram_summary all;
	histogram_clear(&h);
	histogram_summarize(&h, &all);
	assert_true(all.count == 0 && all.min == 0 && all.max == 0 && all.p[P50] == 0);
	assert_true(histogram_percentile(&h, 500000) == 0);
	histogram_add(&h, HISTOGRAM_LIMIT);
	histogram_add_n(&h, UINT64_MAX, 3);
	assert_true(histogram_percentile(&h, 500000) == UINT64_MAX);
	assert_true(h.min == HISTOGRAM_LIMIT && h.max == UINT64_MAX);
	histogram_add(&h, 0);
	assert_true(h.min == 0 && histogram_count(&h) == 5);
}

/* A sum of more than 64 bits, and a mean of it. */
static void sums_do_not_overflow(void **s)
{
	(void)s;
	struct histogram_summary all;
	histogram_clear(&h);
	histogram_add_n(&h, 1ull << 36, 1ull << 40);
	histogram_add_n(&h, (1ull << 36) + 1, 1ull << 40);
	histogram_summarize(&h, &all);
	assert_true(all.count == 1ull << 41);
	assert_true(all.mean_ps == (1ull << 36) * 1000 + 500);
	assert_true(all.p[P99_9] >= 1ull << 36 && all.p[P99_9] <= (1ull << 36) + 1);
}

static void merging_is_adding(void **s)
{
	(void)s;
	histogram_clear(&h);
	histogram_clear(&other);
	histogram_clear(&copy);
	for (unsigned i = 0; i < 5000; i++) {
		uint64_t value = random64() >> random_below(64);
		histogram_add(&h, value);
		histogram_add(i % 3 ? &other : &copy, value);
	}
	histogram_merge(&copy, &other);
	assert_memory_equal(&h, &copy, sizeof h);
	memset(&other, 0xaa, sizeof other);
	histogram_copy(&other, &h);
	assert_memory_equal(&h, &other, sizeof h);
	histogram_clear(&other);
	histogram_merge(&copy, &other);
	assert_memory_equal(&h, &copy, sizeof h);
}

static void wide_numbers(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t a = random64() >> random_below(64), b = random64() >> random_below(64);
		uint64_t d = (random64() >> random_below(64)) | 1, c = random64();
		unsigned __int128 product = (unsigned __int128)a * b;
		struct wide w = wide_mul(a, b);
		assert_true(w.high == (uint64_t)(product >> 64) && w.low == (uint64_t)product);
		unsigned __int128 quotient = product / d;
		assert_true(wide_mul_div(a, b, d) == (quotient >> 64 ? UINT64_MAX : (uint64_t)quotient));
		product += c;
		w = wide_add(w, c);
		assert_true(w.high == (uint64_t)(product >> 64) && w.low == (uint64_t)product);
	}
}

int main(void)
{
	seed_random("test_pktgen_histogram");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_those_of_the_samples),
		cmocka_unit_test(cells_cover_all),
		cmocka_unit_test(values_of_one_cell), cmocka_unit_test(ends_of_the_range),
		cmocka_unit_test(sums_do_not_overflow),
		cmocka_unit_test(merging_is_adding),
		cmocka_unit_test(wide_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
