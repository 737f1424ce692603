/* core/events: the last events are there, in order, also for a reader while they are written; the
 * text of a line. */
#include "tests/unit/rig/host.h"

#include "runtime/events.c"

struct core_self self;
uint64_t host_tsc;
static struct boot_info info;
static _Alignas(
        64) uint8_t shm[BOOT_HEADER_BYTES + sizeof(struct fate_counts) + sizeof(struct event_ring)];

static int setup(void **s)
{
	(void)s;
	memset(&info, 0, sizeof info);
	memset(next_tsc, 0, sizeof next_tsc);
	memset(shm, 0xa5, sizeof shm);
	memset(shm, 0, BOOT_HEADER_BYTES); /* as the kernel does */
	info.core[3].shm = (uint64_t)(uintptr_t)shm;
	info.tsc_boot = 1000;
	self = (struct core_self){.info = &info, .id = 3, .clock = clock_make(1000000000)};
	return 0;
}

/* Reads events from `at` on: they must be n, from `first`; the first word of each is its number. */
static void expect_from(uint64_t at, uint64_t first, uint64_t n)
{
	struct event e;
	for (uint64_t i = first; i < n; i++) {
		assert_true(core_event_next(3, &at, &e));
		assert_int_equal(e.word[0], i);
		assert_int_equal(at, i + 1);
	}
	assert_false(core_event_next(3, &at, &e));
	assert_int_equal(at, n);
}

static void the_last_are_there(void **s)
{
	uint64_t at = 0;
	struct event e;
	(void)s;
	assert_false(core_event_next(3, &at, &e)); /* its program has not begun */
	core_events_start();
	for (uint64_t n = 0; n < 1000; n++) {
		expect_from(0, n > EVENTS_KEPT ? n - EVENTS_KEPT : 0, n);
		expect_from(n, n, n);
		core_event(EVENT_link, n, 0);
	}
	core_events_start(); /* the program has restarted: events are kept */
	expect_from(990, 990, 1000);
}

/* The writer overtakes the reader: that event is left out. */
static void written_over(void **s)
{
	(void)s;
	core_events_start();
	for (unsigned i = 0; i < EVENTS_KEPT; i++)
		core_event(EVENT_link, i, 0);
	expect_from(0, 0, EVENTS_KEPT);
	/* The next place is being written; the oldest event is unchanged. */
	core_events->v[EVENTS_KEPT] = (struct event){.word = {12345}};
	expect_from(0, 0, EVENTS_KEPT);
	core_events->count = UINT64_MAX; /* an invalid value */
	uint64_t at = 0;
	struct event e;
	for (unsigned i = 0; i < EVENTS_KEPT; i++)
		assert_true(core_event_next(3, &at, &e));
	assert_false(core_event_next(3, &at, &e));
}

static void seldom(void **s)
{
	(void)s;
	core_events_start();
	self.now_tsc = 5;
	for (unsigned i = 0; i < 10; i++, self.now_tsc += 400000000)
		core_event_seldom(EVENT_punt_full, i, 0);
	uint64_t at = 0;
	struct event e;
	for (unsigned i = 0; i < 10; i += 3) { /* after 1.2 s each */
		assert_true(core_event_next(3, &at, &e));
		assert_int_equal(e.word[0], i);
	}
	assert_false(core_event_next(3, &at, &e));
}

static void lines(void **s)
{
	(void)s;
	char line[CORE_EVENT_LINE];
	struct event e = {12345679500, EVENT_link, {1, 0}};
	assert_int_equal(core_event_line(&e, line), strlen("    12.345678 link port 1 up 0\n"));
	assert_string_equal(line, "    12.345678 link port 1 up 0\n");
	e = (struct event){1000, EVENT_configuration, {7, 0xabc}};
	core_event_line(&e, line);
	assert_string_equal(line, "     0.000000 configuration number 7 hash 0000000000000abc\n");
	e = (struct event){1000, EVENT_stuck, {2, 9}};
	core_event_line(&e, line);
	assert_string_equal(line, "     0.000000 stuck core 2\n");
	e = (struct event){1000, 0x1234, {1, 2}};
	core_event_line(&e, line);
	assert_non_null(strstr(line, " ? 1234 1 2\n"));
	for (unsigned i = 0; i <= EVENTS; i++) { /* the longest */
		e = (struct event){UINT64_MAX, i < EVENTS ? i : UINT64_MAX, {UINT64_MAX, UINT64_MAX}};
		size_t n = core_event_line(&e, line);
		assert_true(n < CORE_EVENT_LINE);
		assert_int_equal(strlen(line), n);
		assert_int_equal(line[n - 1], '\n');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_last_are_there, setup), cmocka_unit_test_setup(written_over, setup),
		cmocka_unit_test_setup(seldom, setup), cmocka_unit_test_setup(lines, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
