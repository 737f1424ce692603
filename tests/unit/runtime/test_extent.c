/* runtime/extent: a list of free memory against a map of units, with random changes; and its limits. */
#include "tests/unit/rig/host.h"

#include "runtime/extent.c"

#define UNITS 256
#define MAX 200
#define BASE 0x70000000ull

static struct extent v[MAX];
static struct extents e;
static bool is_free[UNITS];

static void begin(unsigned max)
{
	e = (struct extents){.v = v, .max = max};
	memset(is_free, 0, sizeof is_free);
}

static bool all(unsigned from, unsigned n, bool value)
{
	for (unsigned i = from; i < from + n; i++)
		if (i >= UNITS || is_free[i] != value)
			return false;
	return true;
}

static void set(unsigned from, unsigned n, bool value)
{
	for (unsigned i = from; i < from + n; i++)
		is_free[i] = value;
}

/* The first stretch of n free units; UNITS: none. */
static unsigned first_fit(unsigned n)
{
	for (unsigned i = 0; i < UNITS; i++)
		if (all(i, n, true))
			return i;
	return UNITS;
}

/* The list is the map: sorted, and no two extents touch. */
static void check(void)
{
	unsigned in_map = 0;
	for (unsigned i = 0; i < e.count; i++) {
		assert_true(e.v[i].bytes > 0);
		assert_true(all((unsigned)(e.v[i].at - BASE), (unsigned)e.v[i].bytes, true));
		if (i)
			assert_true(e.v[i - 1].at + e.v[i - 1].bytes < e.v[i].at);
	}
	for (unsigned i = 0; i < UNITS; i++)
		in_map += is_free[i];
	assert_int_equal(extents_free(&e), in_map);
}

static void step(void)
{
	const unsigned from = random_below(UNITS), n = 1 + random_below(random_below(4) ? 6 : 60);
	uint64_t at;
	switch (random_below(3)) {
	case 0:
		if (from + n > UNITS)
			break;
		assert_int_equal(extents_give(&e, BASE + from, n), all(from, n, false));
		if (all(from, n, false))
			set(from, n, true);
		break;
	case 1:
		assert_int_equal(extents_claim(&e, BASE + from, n), all(from, n, true));
		if (all(from, n, true))
			set(from, n, false);
		break;
	default:
		assert_int_equal(extents_take(&e, n, &at), first_fit(n) < UNITS);
		if (first_fit(n) < UNITS) {
			assert_int_equal(at, BASE + first_fit(n));
			set((unsigned)(at - BASE), n, false);
		}
	}
	check();
}

static void random_changes(void **s)
{
	(void)s;
	for (unsigned round = 0; round < 200; round++) {
		begin(MAX);
		for (unsigned i = 0; i < 300; i++)
			step();
	}
}

/* A list without room refuses what would need another extent, and changes nothing. */
static void no_room(void **s)
{
	uint64_t at;
	(void)s;
	begin(2);
	assert_true(extents_give(&e, 100, 10));
	assert_true(extents_give(&e, 200, 10));
	assert_false(extents_give(&e, 300, 10));
	assert_true(extents_give(&e, 210, 5)); /* joins */
	assert_false(extents_claim(&e, 102, 2));
	assert_true(extents_claim(&e, 100, 2));
	assert_true(extents_claim(&e, 108, 2));
	assert_int_equal(extents_free(&e), 6 + 15);
	assert_true(extents_take(&e, 7, &at));
	assert_int_equal(at, 200);
	assert_false(extents_take(&e, 9, &at));
}

static void nonsense(void **s)
{
	uint64_t at;
	(void)s;
	begin(MAX);
	assert_false(extents_take(&e, 1, &at));
	assert_false(extents_give(&e, 100, 0));
	assert_false(extents_give(&e, UINT64_MAX - 3, 10));
	assert_true(extents_give(&e, 100, 10));
	assert_false(extents_take(&e, 0, &at));
	assert_false(extents_claim(&e, 100, 0));
	assert_false(extents_claim(&e, 100, UINT64_MAX));
	assert_false(extents_claim(&e, 99, 5));
	assert_false(extents_claim(&e, 108, 3));
	assert_false(extents_claim(&e, 110, 1));
	assert_false(extents_give(&e, 109, 1));
	assert_false(extents_give(&e, 90, 11));
	assert_int_equal(extents_free(&e), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes), cmocka_unit_test(no_room), cmocka_unit_test(nonsense)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
