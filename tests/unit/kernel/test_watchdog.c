/* kernel/watchdog: a program without progress is found in time, and no other is ever taken for stuck. */
#include "tests/unit/rig/host.h"

#include "tests/unit/rig/phys_window.h"
#include "kernel/watchdog.c"

#define MS 1000ull /* ticks */
#define WINDOW_SHM (MEMORY_WINDOW + 0x1000)

static struct boot_info info;
struct boot_info *boot_info = &info;
struct core cores[CORES_MAX];
static struct core *const core = &cores[0];
static uint64_t deadline; /* of the timer; 0: none */
#define signs ((struct core_pulse *)vm_phys(0x1040))
static uint64_t pulse_at; /* what the program publishes */
static unsigned reads;
uint64_t host_tsc;

void apic_deadline(uint64_t tsc) { deadline = tsc; }

uint64_t program_symbol(const char *name)
{
	assert_string_equal(name, "core_pulse");
	return 0x1234;
}

bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes)
{
	(void)space;
	assert_int_equal(virt, 0x1234);
	assert_int_equal(bytes, sizeof pulse_at);
	memcpy(dst, &pulse_at, bytes);
	reads++;
	return true;
}

static void start_with(const char *cmdline)
{
	window_open();
	memset(&info, 0, sizeof info);
	info.tsc_hz = 1000 * MS;
	info.core[0].shm = WINDOW_SHM;
	info.core[0].shm_bytes = 0x1000;
	strcpy(info.cmdline, cmdline);
	memset(cores, 0, sizeof cores[0]);
	*signs = (struct core_pulse){.turns = 5};
	pulse_at = WINDOW_SHM + 0x40;
	host_tsc = 77 * MS;
	deadline = reads = 0;
	watchdog_init();
	watchdog_start(core);
}

static int setup(void **s)
{
	(void)s;
	start_with("app=router");
	return 0;
}

/* The timer's interrupt, `late` ticks after its deadline. */
static unsigned fires(uint64_t late)
{
	assert_true(deadline >= host_tsc || late);
	host_tsc = deadline + late;
	deadline = 0;
	const unsigned stuck = watchdog_look(core);
	if (stuck)
		assert_int_equal(deadline, 0);
	else
		assert_true(deadline > host_tsc && deadline <= host_tsc + WATCHDOG_LOOK_MS * MS);
	return stuck;
}

/* Lets the program stop `at` ticks after a look that saw progress; returns the ticks until it is found. */
static uint64_t found_after(uint64_t at)
{
	signs->turns++;
	assert_int_equal(fires(0), 0);
	const uint64_t stopped = host_tsc + at;
	if (at)
		signs->turns++;
	unsigned stuck = 0;
	for (unsigned looks = 0; !stuck; looks++) {
		assert_true(looks < 10);
		stuck = fires(0);
	}
	assert_true(stuck >= 60 && stuck <= 90);
	return host_tsc - stopped;
}

static void found_in_time(void **s)
{
	(void)s;
	for (uint64_t at = 0; at < WATCHDOG_LOOK_MS * MS; at += MS / 10) {
		setup(NULL);
		const uint64_t after = found_after(at);
		assert_true(after >= 60 * MS - MS && after <= 90 * MS);
	}
}

/* Whatever the length of its turns, up to 60 ms. */
static void long_turns(void **s)
{
	(void)s;
	seed_random("long_turns");
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t end = host_tsc + random_below(60 * MS);
		while (deadline < end)
			assert_int_equal(fires(random_below(2) ? random_below(MS / 20) : 0), 0);
		host_tsc = end;
		signs->turns++;
	}
}

/* The core did not run, or was in the kernel: it takes many such looks. One at any time, as after a stop of the
 * guest, brings the end no closer. */
static void late_looks(void **s)
{
	(void)s;
	assert_int_equal(fires(0), 0); /* progress */
	for (unsigned i = 1; i < WATCHDOG_LOOKS * WATCHDOG_WEIGHT; i++)
		assert_int_equal(fires(WATCHDOG_LATE_MS * MS + random_below(3000 * MS)), 0);
	assert_true(fires(WATCHDOG_LATE_MS * MS) >= 300);
	for (unsigned at = 0; at < WATCHDOG_LOOKS; at++) {
		setup(NULL);
		assert_int_equal(fires(0), 0);
		for (unsigned i = 0; i < WATCHDOG_LOOKS; i++)
			assert_int_equal(fires(i == at ? 10000 * MS : 0), 0);
		assert_true(fires(0) > 10000);
	}
}

static void marks_and_calls(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 1000; i++) {
		if (i % 3 == 0)
			signs->marks++;
		else if (i % 3 == 1)
			core->called_tsc++;
		else
			signs->turns++;
		for (unsigned look = 0; look < WATCHDOG_LOOKS; look++)
			assert_int_equal(fires(0), 0);
	}
}

static void slow_work(void **s)
{
	(void)s;
	static const struct {
		uint64_t pace;
		unsigned looks;
	} work[] = {{PACE_FAST, WATCHDOG_LOOKS}, {PACE_SLOW, WATCHDOG_SLOW_LOOKS}, {PACE_LONG, WATCHDOG_LONG_LOOKS},
	            {PACES, WATCHDOG_LONG_LOOKS}, {UINT64_MAX, WATCHDOG_LONG_LOOKS}};
	for (unsigned w = 0; w < ARRAY_LEN(work); w++) {
		setup(NULL);
		signs->pace = work[w].pace;
		assert_int_equal(fires(0), 0);
		for (unsigned i = 1; i < work[w].looks; i++)
			assert_int_equal(fires(0), 0);
		assert_int_equal(fires(0), work[w].looks * WATCHDOG_AGAIN_MS + WATCHDOG_LOOK_MS - WATCHDOG_AGAIN_MS);
	}
	setup(NULL);
	signs->pace = PACE_LONG;
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(fires(0), 0);
	signs->pace = PACE_FAST; /* it goes on, and makes no progress */
	assert_true(fires(0) > 0);
}

/* A program that has not said where its signs are, or says nonsense, has the longest time. */
static void signs_are_not_trusted(void **s)
{
	(void)s;
	static const uint64_t places[] = {0, WINDOW_SHM - 8, WINDOW_SHM + 0x41, WINDOW_SHM + 0xff0, WINDOW_SHM + 0x1000,
	                                  UINT64_MAX - 7, MEMORY_WINDOW, 0x400000};
	for (unsigned p = 0; p < ARRAY_LEN(places); p++) {
		setup(NULL);
		pulse_at = places[p];
		unsigned looks = 1;
		while (!fires(0))
			looks++;
		assert_in_range(looks, WATCHDOG_LONG_LOOKS, WATCHDOG_LONG_LOOKS + 1);
		assert_null(core->watchdog.pulse);
	}
	setup(NULL);
	for (unsigned i = 0; i < 10; i++, signs->turns++)
		(void)fires(0);
	assert_int_equal(reads, 1); /* once found, not searched again */
	watchdog_start(core);
	assert_null(core->watchdog.pulse); /* another program has other signs */
}

/* The deadline of a sleep that was still pending, or a timer that runs fast: neither counts nor ends the watch. */
static void too_early(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 10; i++) {
		const uint64_t due = core->watchdog.due_tsc;
		host_tsc = due - 1 - i;
		deadline = 0;
		assert_int_equal(watchdog_look(core), 0);
		assert_int_equal(deadline, due);
	}
}

static void begins_again_after_a_sleep(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(fires(0), 0);
		assert_int_equal(fires(0), 0);
		host_tsc += random_below(5000 * MS);
		watchdog_resume(core);
		assert_int_equal(deadline, host_tsc + WATCHDOG_LOOK_MS * MS);
	}
}

static void switched_off(void **s)
{
	(void)s;
	assert_int_equal(watchdog_rflags(), 0x200);
	start_with("watchdog=off");
	assert_int_equal(watchdog_rflags(), 0);
	assert_int_equal(deadline, 0);
	deadline = 1; /* of a sleep */
	watchdog_resume(core);
	assert_int_equal(deadline, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(found_in_time, setup),
		cmocka_unit_test_setup(long_turns, setup),
		cmocka_unit_test_setup(late_looks, setup),
		cmocka_unit_test_setup(marks_and_calls, setup),
		cmocka_unit_test_setup(slow_work, setup),
		cmocka_unit_test_setup(signs_are_not_trusted, setup),
		cmocka_unit_test_setup(too_early, setup),
		cmocka_unit_test_setup(begins_again_after_a_sleep, setup),
		cmocka_unit_test_setup(switched_off, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
