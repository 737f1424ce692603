/* tests/bench/open_loop.h: the schedule of the benchmarks' generators, and what gaps do to it. */
#include "tests/unit/rig/host.h"

#include "tests/bench/open_loop.h"

#define GAP 100
static struct open_loop o;

static void begin(double interval)
{
	open_loop_begin(&o, 1000, 10000, interval, GAP);
}

/* A packet is due at its time, and counts from it, however late it is sent. */
static void schedule(void **s)
{
	(void)s;
	begin(10);
	assert_int_equal(open_loop_due(&o, 1000), 1);
	assert_int_equal(open_loop_due(&o, 1009), 1);
	assert_int_equal(open_loop_due(&o, 1010), 2);
	o.sent = 2;
	assert_int_equal(open_loop_due(&o, 1010), 0);
	assert_int_equal(open_loop_due(&o, 1050), 4);
	assert_int_equal(open_loop_stamp(&o, 1050), 1020);
	assert_true(open_loop_back(&o, 1020, 1070));
	assert_int_equal(o.latency.min, 50);
}

static void without_rate(void **s)
{
	(void)s;
	begin(0);
	o.sent = 12345;
	assert_true(open_loop_due(&o, 1001) == UINT64_MAX);
	assert_int_equal(open_loop_stamp(&o, 1001), 1001);
}

/* A gap moves schedule and end; packets under way in it are left out, later ones count. */
static void gap(void **s)
{
	(void)s;
	begin(10);
	assert_true(open_loop_runs(&o, 1000 + GAP - 1));
	assert_int_equal(o.gap.count, 0);
	o.sent = 10;
	uint64_t stamp = open_loop_stamp(&o, 1099);
	assert_int_equal(open_loop_due(&o, 1099), 0);
	assert_true(open_loop_runs(&o, 1099 + 500));
	assert_int_equal(o.gap.count, 1);
	assert_int_equal(o.gap.max, 500);
	assert_int_equal(o.gone, 500);
	assert_int_equal(open_loop_due(&o, 1599), 0); /* no more than before the gap */
	assert_int_equal(open_loop_stamp(&o, 1599), stamp + 500);
	assert_true(open_loop_back(&o, 1090, 1600));
	assert_int_equal(o.left_out, 1);
	assert_int_equal(o.latency.count, 0);
	assert_true(open_loop_back(&o, 1600, 1620));
	assert_int_equal(o.latency.count, 1);
}

/* The turn that finds the end does not mistake a gap for it. */
static void gap_at_the_end(void **s)
{
	(void)s;
	begin(10);
	assert_true(open_loop_runs(&o, 1050));
	assert_true(open_loop_runs(&o, 20000));
	assert_int_equal(o.end, 11000 + 18950);
	for (uint64_t now = 20050; now < o.end; now += 50)
		assert_true(open_loop_runs(&o, now));
	assert_false(open_loop_runs(&o, o.end));
}

static void stamps_of_others(void **s)
{
	(void)s;
	begin(10);
	assert_false(open_loop_back(&o, 999, 1500));  /* from before the begin */
	assert_false(open_loop_back(&o, 1501, 1500)); /* from the future */
	open_loop_clock(&o, 5000);
	assert_false(open_loop_back(&o, 999, 5000));
	assert_true(open_loop_back(&o, 1000, 5000));
	assert_int_equal(o.left_out, 1);
	assert_int_equal(o.latency.count, 0);
}

/* The printed value of a cell is within 0.8 % of all values that the cell counts. */
static void cells(void **s)
{
	(void)s;
	struct histogram *h = &o.latency;
	for (uint64_t value = 1; value < 1ull << 40; value += value / 5 + 1) {
		unsigned cell = 0;
		histogram_clear(h);
		histogram_add(h, value);
		while (!h->cell[cell])
			cell++;
		double off = histogram_middle(cell) - (double)value;
		assert_true((off < 0 ? -off : off) <= 0.008 * (double)value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedule),
		cmocka_unit_test(without_rate),
		cmocka_unit_test(gap),
		cmocka_unit_test(gap_at_the_end),
		cmocka_unit_test(stamps_of_others),
		cmocka_unit_test(cells),
	};
	return cmocka_run_group_tests_name("open_loop", tests, NULL, NULL);
}
