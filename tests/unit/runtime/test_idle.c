/*
 * runtime/idle: the time to poll before a sleep, on traces of gaps without work. The test plays the core:
 * a gap costs the time that the rule polls, and `COST` more if it is longer. A rule that knows the gap
 * would pay the less of the gap and COST.
 */
#include "tests/unit/rig/host.h"

#include <math.h>

#include "runtime/idle.h"

#define US 1000ull /* a tick is a nanosecond */
#define MS 1000000ull
#define COST (400 * US)
#define WAKE_UP (COST / 2)
#define LEARNED 30 /* gaps after which another pattern is known */
#define SEED 0x2545f4914f6cdd1dull

static struct idle rule;
static struct {
	uint64_t paid, least, time; /* sums: of the rule, of one that knows the gaps, of all gaps */
	unsigned gaps, late;        /* late: gaps that ended with a wake-up */
} sum;
static uint64_t dice;

static int set_up(void **state)
{
	(void)state;
	idle_init(&rule, 50 * US, COST);
	memset(&sum, 0, sizeof sum);
	dice = SEED;
	return 0;
}

/* A time of the exponential distribution. */
static uint64_t exponential(double mean)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint64_t)(-mean * log(((double)(dice >> 11) + 1) / 9007199254740994.0)) + 1;
}

static void gap(uint64_t ticks)
{
	bool late = ticks > rule.spin;
	uint64_t paid = late ? rule.spin + COST : ticks, least = ticks < COST ? ticks : COST;
	assert_in_range(rule.spin, COST / 8, COST);
	assert_true(paid <= 9 * least);
	assert_true(ticks < COST || paid <= 2 * least);
	sum.paid += paid;
	sum.least += least;
	sum.time += ticks;
	sum.gaps++;
	sum.late += late;
	if (late)
		idle_gap(&rule, ticks + WAKE_UP, true);
	else if (ticks > rule.least)
		idle_gap(&rule, ticks, false);
}

/* What a core pays for the gaps that `next` gives if it always polls for `spin`. */
static uint64_t paid_by(uint64_t spin, const uint64_t *trace, unsigned gaps)
{
	uint64_t paid = 0;
	for (unsigned i = 0; i < gaps; i++)
		paid += trace[i] > spin ? spin + COST : trace[i];
	return paid;
}

/* With the same gap again and again the rule pays an eighth more than it must; gaps shorter than the cost
 * meet a core that polls, and longer ones one that sleeps after an eighth of the cost. */
static void constant_gaps(void **state)
{
	for (uint64_t ticks = US; ticks <= 10 * MS; ticks += ticks / 16 + 1) {
		set_up(state);
		for (unsigned i = 0; i < LEARNED; i++)
			gap(ticks);
		memset(&sum, 0, sizeof sum);
		for (unsigned i = 0; i < 100; i++)
			gap(ticks);
		assert_true(8 * sum.paid <= 9 * sum.least);
		assert_int_equal(sum.late, ticks > COST ? 100 : 0);
		if (ticks > COST)
			assert_int_equal(rule.spin, COST / 8);
	}
}

/* Gaps without memory: less than twice what must be paid, and a fifth more at most than the best of all
 * fixed times to poll. The share of CPU time spent on polling follows the rate. */
static void poisson(void **state)
{
	enum { GAPS = 20000 };
	static uint64_t trace[GAPS];
	for (double mean = 1e3; mean < 2e7; mean *= 1.3) {
		set_up(state);
		uint64_t best = UINT64_MAX;
		for (unsigned i = 0; i < GAPS; i++)
			gap(trace[i] = exponential(mean));
		for (uint64_t spin = 0; spin <= COST; spin += COST / 64) {
			uint64_t paid = paid_by(spin, trace, GAPS);
			best = paid < best ? paid : best;
		}
		assert_true(sum.paid < 2 * sum.least);
		assert_true(5 * sum.paid <= 6 * best);
		if (mean > 20 * COST)
			assert_true(sum.late > GAPS * 9 / 10);
		if (mean < COST / 8)
			assert_true(sum.late < GAPS / 100);
	}
}

/* A hundred packets in a row, then 10 ms: one late packet a burst, and an eighth of the cost polled. */
static void bursts(void **state)
{
	(void)state;
	for (unsigned burst = 0; burst < 100; burst++) {
		for (unsigned i = 0; i < 99; i++)
			gap(5 * US);
		gap(10 * MS);
	}
	assert_int_equal(sum.late, 100);
	assert_int_equal(sum.paid, 100 * (99 * 5 * US + COST / 8 + COST));
}

/* A flow that comes and goes: few packets are late before the rule has noticed. */
static void on_and_off(void **state)
{
	static const uint64_t on[] = {60 * US, 150 * US, 390 * US};
	for (unsigned k = 0; k < sizeof on / sizeof on[0]; k++) {
		set_up(state);
		for (unsigned round = 0; round < 20; round++) {
			unsigned before = sum.late;
			for (unsigned i = 0; i < 100; i++)
				gap(on[k]);
			assert_in_range(sum.late - before, 0, 12);
			for (unsigned i = 0; i < 100; i++)
				gap(5 * MS);
		}
		assert_true(4 * sum.paid < 5 * sum.least);
	}
}

/* An adversary that knows the rule: every gap is a tick longer than the core polls. */
static void adversary(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		gap(rule.spin + 1);
	assert_int_equal(sum.late, 10000);
	assert_true(sum.paid < 4 * sum.least);
}

/* The old times are forgotten: a core that has slept for days polls for a peer that answers at once. */
static void forgets(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		gap(i % 2 ? 3600000 * MS : 2 * MS);
	sum.late = 0;
	for (unsigned i = 0; i < 1000; i++)
		gap(300 * US);
	assert_in_range(sum.late, 1, 10);
}

/* The second shortest of five sleeps counts, once, within its bounds. */
static void measured(void **state)
{
	static const struct {
		uint64_t late[IDLE_SAMPLES], cost;
	} table[] = {
		{{100 * US, 100 * US, 100 * US, 100 * US, 100 * US}, 200 * US},
		{{130 * US, 4000 * US, 110 * US, 70 * US, 100 * US}, 200 * US},
		{{9 * MS, 8 * MS, 7 * MS, 110 * US, 0}, 220 * US},
		{{150 * US, 0, 7 * MS, 8 * MS, 9 * MS}, 300 * US},
		{{1 * US, 2 * US, 3 * US, 4 * US, 5 * US}, 50 * US},
		{{0}, 50 * US},
		{{201 * US, 201 * US, 201 * US, 201 * US, 201 * US}, COST},
		{{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, COST},
	};
	for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
		set_up(state);
		for (unsigned k = 0; k < IDLE_SAMPLES; k++) {
			assert_true(idle_wants_sample(&rule));
			assert_int_equal(rule.cost, COST);
			idle_sample(&rule, table[i].late[k]);
		}
		assert_false(idle_wants_sample(&rule));
		assert_int_equal(rule.cost, table[i].cost);
		assert_int_equal(rule.least, table[i].cost / 8);
		assert_int_equal(rule.spin, table[i].cost / 8);
		idle_sample(&rule, 300 * US);
		assert_int_equal(rule.cost, table[i].cost);
	}
}

/* A time that is configured holds whatever the gaps are, and until it is taken back. */
static void fixed(void **state)
{
	(void)state;
	idle_fix(&rule, 7 * MS);
	for (unsigned i = 0; i < 100; i++)
		idle_gap(&rule, 300 * US, false);
	assert_int_equal(rule.spin, 7 * MS);
	idle_fix(&rule, 0);
	assert_int_equal(rule.spin, COST);
	idle_fix(&rule, 1);
	assert_int_equal(rule.spin, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(constant_gaps, set_up),
		cmocka_unit_test_setup(poisson, set_up),
		cmocka_unit_test_setup(bursts, set_up),
		cmocka_unit_test_setup(on_and_off, set_up),
		cmocka_unit_test_setup(adversary, set_up),
		cmocka_unit_test_setup(forgets, set_up),
		cmocka_unit_test_setup(measured, set_up),
		cmocka_unit_test_setup(fixed, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
