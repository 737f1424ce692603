/* tools/nicsim/wires/histogram.h: the source of nicsim's and the benchmarks' percentiles, against sorted values. */
#include "tests/unit/rig/host.h"

#include "tools/nicsim/wires/histogram.h"

#define VALUES 20000

static struct histogram h;

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void percentiles_are_close(void **s)
{
	(void)s;
	static const double shares[] = {0, 0.01, 0.5, 0.9, 0.99, 0.999};
	static uint64_t v[VALUES];
	histogram_clear(&h);
	for (unsigned i = 0; i < VALUES; i++) {
		v[i] = random64() >> random_below(64);
		histogram_add(&h, v[i]);
	}
	qsort(v, VALUES, sizeof *v, by_value);
	for (unsigned i = 0; i < ARRAY_LEN(shares); i++) {
		double exact = (double)v[(unsigned)(shares[i] * VALUES)];
		double got = histogram_percentile(&h, shares[i]);
		assert_true(got >= exact * 0.992 - 1 && got <= exact * 1.008 + 1);
	}
	assert_int_equal(h.count, VALUES);
	assert_true(h.min == v[0] && h.max == v[VALUES - 1]);
	assert_true(histogram_percentile(&h, 1) == (double)h.max);
}

/* Below 256 each value has a cell of its own. */
static void small_values_are_exact(void **s)
{
	(void)s;
	histogram_clear(&h);
	for (unsigned i = 0; i < 256; i++)
		histogram_add(&h, i);
	for (unsigned i = 0; i < 256; i++)
		assert_true(histogram_percentile(&h, i / 256.0) == i);
}

static void ends_of_the_range(void **s)
{
	(void)s;
	histogram_clear(&h);
	assert_true(histogram_percentile(&h, 0.5) == 0);
	histogram_add(&h, UINT64_MAX);
	assert_true(histogram_percentile(&h, 0.5) > 1.8e19);
	histogram_add(&h, 0);
	assert_true(h.min == 0);
}

int main(void)
{
	seed_random("test_histogram");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_close),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(ends_of_the_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
