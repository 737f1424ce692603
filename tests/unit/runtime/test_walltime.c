/* The time of day (runtime/walltime.h): its beginning, setting and slewing, and what a restarted control program finds. */
#include "tests/unit/rig/host.h"

#include "runtime/walltime.c"

struct core_self self;
static struct boot_info info;
static uint64_t tsc;

uint64_t host_clock_tsc(void) { return tsc; }
uint64_t core_now_ns(void) { return clock_ns(&self.clock, tsc); }

static struct {
	_Alignas(16) uint8_t at[4096];
	size_t bytes;
	bool refuse;
} memory;

void *core_persist_alloc(enum core_persist what, size_t bytes)
{
	assert_int_equal(what, CORE_PERSIST_WALLTIME);
	assert_true(bytes <= sizeof memory.at);
	memory.bytes = memory.refuse ? 0 : sizeof memory.at;
	return memory.refuse ? NULL : memset(memory.at, 0, sizeof memory.at);
}

void *core_persist_find(enum core_persist what, size_t *bytes)
{
	assert_int_equal(what, CORE_PERSIST_WALLTIME);
	*bytes = memory.bytes;
	return memory.bytes ? memory.at : NULL;
}

#define HZ 2600000000ull
#define UTC 1795988645000000000ull

/* A program that has just started. */
static void start(void)
{
	memset(&now, 0, sizeof now);
	kept_time = (struct sealed)SEALED(CORE_PERSIST_WALLTIME, 2, struct walltime);
	walltime_start();
}

static int setup(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof memory);
	info = (struct boot_info){.tsc_hz = HZ, .clock_ns = UTC, .clock_tsc = HZ};
	self.info = &info;
	self.clock = clock_make(HZ);
	tsc = 3 * HZ;
	start();
	return 0;
}

static void assert_near(uint64_t a, uint64_t b, uint64_t by)
{
	if (a - b + by > 2 * by)
		fail_msg("%llu is not %llu", (unsigned long long)a, (unsigned long long)b);
}

static void the_cmos_clock(void **state)
{
	(void)state;
	assert_true(walltime_known());
	assert_int_equal(walltime_source(), WALLTIME_CMOS);
	assert_near(walltime_ns(), UTC + 2 * SECOND_NS, 10);
	tsc += HZ / 1000;
	assert_near(walltime_ns(), UTC + 2 * SECOND_NS + 1000000, 10);
	assert_near(walltime_at(core_now_ns()), walltime_ns(), 2);
	assert_near(walltime_at(0), UTC - SECOND_NS, 10);
	assert_near(core_now_ns() - walltime_epoch(), walltime_ns(), 2);
}

static void not_known(void **state)
{
	(void)state;
	info.clock_ns = 0;
	info.tsc_boot = 2 * HZ;
	start();
	assert_near(walltime_epoch(), 2 * SECOND_NS, 2);
	assert_false(walltime_known());
	assert_int_equal(walltime_source(), WALLTIME_NONE);
	assert_int_equal(walltime_ns(), 0);
	assert_int_equal(walltime_at(core_now_ns()), 0);
	assert_int_equal(walltime_remaining(), 0);
	walltime_set(UTC, tsc, WALLTIME_CONSOLE);
	assert_near(walltime_ns(), UTC, 2);
	assert_int_equal(walltime_source(), WALLTIME_CONSOLE);
	walltime_set(5, tsc, WALLTIME_CONSOLE);
	assert_int_equal(walltime_at(0), 0); /* before 1970 */
}

/* 10 ms in 100 s; then it runs by the frequency alone. */
static void slew(void **state)
{
	(void)state;
	const uint64_t from = walltime_ns(), begin = tsc;
	walltime_slew(10000000, 100 * SECOND_NS, 42950); /* 10 ppm */
	assert_near(walltime_ns(), from, 2);
	tsc = begin + 50 * HZ;
	assert_near(walltime_ns(), from + 50 * SECOND_NS + 5000000 + 500000, 300);
	assert_near((uint64_t)walltime_remaining(), 5000000, 300);
	tsc = begin + 100 * HZ;
	assert_near(walltime_ns(), from + 100 * SECOND_NS + 10000000 + 1000000, 300);
	tsc = begin + 200 * HZ;
	assert_near(walltime_ns(), from + 200 * SECOND_NS + 10000000 + 2000000, 300);
	assert_int_equal(walltime_remaining(), 0);
	assert_int_equal(walltime_source(), WALLTIME_NTP);
	/* the frequency stays when the time is set */
	walltime_set(UTC, tsc, WALLTIME_CONSOLE);
	tsc += 100 * HZ;
	assert_near(walltime_ns(), UTC + 100 * SECOND_NS + 1000000, 300);
}

/* A second at 500 ppm takes 2000 s, in either direction, and the time never goes back. */
static void limits(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		uint64_t from = walltime_ns(), last = from;
		const uint64_t begin = tsc;
		walltime_slew(sign * (int64_t)SECOND_NS, 16 * SECOND_NS, sign * INT32_MAX);
		assert_int_equal(walltime_frequency(), sign * WALLTIME_RATE_MAX);
		for (unsigned i = 0; i < 2000; i++) {
			tsc += HZ;
			const uint64_t t = walltime_ns();
			assert_true(t > last);
			last = t;
		}
		assert_near(last, from + 2000 * SECOND_NS + (uint64_t)sign * 2 * SECOND_NS, 2000);
		/* a second slew replaces what is left of the first */
		walltime_slew(sign * (int64_t)SECOND_NS, SECOND_NS, 0);
		tsc += HZ;
		assert_near((uint64_t)(sign * walltime_remaining()), SECOND_NS - 500000, 2000);
		from = walltime_ns();
		walltime_slew(0, 0, 0);
		tsc += HZ;
		assert_near(walltime_ns(), from + SECOND_NS, 10);
		assert_true(tsc > begin);
	}
}

static void a_restart(void **state)
{
	(void)state;
	start();
	assert_int_equal(walltime_source(), WALLTIME_CMOS); /* nobody has set it */
	walltime_slew(10000000, 100 * SECOND_NS, 42950);
	const struct walltime before = now;
	tsc += HZ;
	start();
	assert_memory_equal(&now, &before, sizeof now);
	walltime_set(UTC + 77, tsc, WALLTIME_NTP);
	tsc += HZ;
	const uint64_t t = walltime_ns();
	start();
	assert_int_equal(walltime_ns(), t);
	assert_int_equal(walltime_frequency(), 42950);
}

/* A program that has written anywhere before it failed. */
static void a_damaged_value(void **state)
{
	(void)state;
	static const struct walltime wrong[] = {
		{.tsc = 1, .utc_ns = 0, .source = WALLTIME_NTP},
		{.tsc = 1, .utc_ns = UTC, .source = WALLTIME_NTP + 1},
		{.tsc = UINT64_MAX, .utc_ns = UTC, .source = WALLTIME_NTP},
		{.tsc = 1, .utc_ns = UTC, .rate = WALLTIME_RATE_MAX + 1, .source = WALLTIME_NTP},
		{.tsc = 1, .utc_ns = UTC, .frequency = -WALLTIME_RATE_MAX - 1, .source = WALLTIME_NTP},
	};
	walltime_slew(0, 0, 0);
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++) {
		sealed_write(&kept_time, &wrong[i]);
		start();
		assert_int_equal(walltime_source(), WALLTIME_CMOS);
		assert_true(sealed_take(&kept_time));
	}
}

static void no_memory(void **state)
{
	(void)state;
	memory.refuse = true;
	walltime_set(UTC + 5, tsc, WALLTIME_CONSOLE);
	assert_near(walltime_ns(), UTC + 5, 2);
	start();
	assert_int_equal(walltime_source(), WALLTIME_CMOS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_cmos_clock, setup), cmocka_unit_test_setup(not_known, setup),
		cmocka_unit_test_setup(slew, setup),           cmocka_unit_test_setup(limits, setup),
		cmocka_unit_test_setup(a_restart, setup),      cmocka_unit_test_setup(a_damaged_value, setup),
		cmocka_unit_test_setup(no_memory, setup),
	};
	return cmocka_run_group_tests_name("walltime", tests, NULL, NULL);
}
