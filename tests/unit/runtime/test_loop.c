/*
 * runtime/loop.c: which role runs on a core with both, and when a core sleeps. The test simulates the
 * parts of the runtime that the loop calls, the kernel and time: a turn takes as long as the test
 * says, and the end of a test's time ends the loop.
 */
#include "tests/unit/rig/host.h"

#include "runtime/idle.h"
#include "runtime/shared.h"
#include "abi/kcall.h"

#define US 1000ull /* a tick is a nanosecond */
#define MS 1000000ull

struct core_self self;
uint64_t host_tsc; /* tests/host/hal/clock.h */

static struct {
	jmp_buf over;
	uint64_t end;
	uint64_t turn_ns;      /* duration of a turn of the data role */
	bool busy;             /* whether it moves something */
	bool awake;            /* core_stay_awake() */
	bool refuses;          /* no interrupt is available */
	uint64_t nap_ns;       /* the data role's next deadline, from now; 0: none */
	uint64_t gap_ns, due;  /* from one packet to the next, and when it comes; 0: no packets */
	uint64_t wake_ns;      /* duration of a wake-up */
	unsigned packets;
	uint64_t count_from; /* sleeps, packets and asleep_ns begin at 0, in the first turn after it */
	uint64_t counted_from;
	unsigned data_turns, control_turns, arms, disarms, sleeps, noted;
	uint64_t asleep_ns, last_control, control_gap;
} t;

static struct boot_info info;
static struct core_shm shm;
static struct published published;

bool data_turn(void)
{
	if (host_tsc >= t.end)
		longjmp(t.over, 1);
	if (t.count_from && host_tsc >= t.count_from) {
		t.sleeps = t.packets = 0;
		t.asleep_ns = t.count_from = 0;
		t.counted_from = host_tsc;
	}
	t.data_turns++;
	bool came = t.gap_ns && host_tsc >= t.due;
	host_tsc += t.turn_ns;
	t.packets += came;
	if (came)
		t.due = host_tsc + t.gap_ns;
	return t.busy || came;
}

bool data_arm(void)
{
	t.arms++;
	return t.refuses || (t.gap_ns && host_tsc >= t.due);
}

unsigned data_turn_packets(void) { return t.data_turns; }
void elastic_note_turn(unsigned packets)
{
	assert_int_equal(packets, t.data_turns);
	t.noted++;
}

bool data_awake(void) { return t.awake; }
void data_disarm(void) { t.disarms++; }
uint64_t watch_control_tsc = UINT64_MAX;
void watch_control(void) {}
uint64_t watch_control_deadline(void) { return UINT64_MAX; }
uint64_t data_deadline(void) { return t.nap_ns ? self.now_tsc + t.nap_ns : UINT64_MAX; }
uint64_t control_deadline(void) { return UINT64_MAX; }
void control_woken(void) {}
void ring_wake_peers(void) {}
bool ring_messages_waiting(void) { return false; }

bool control_turn(void)
{
	uint64_t gap = host_tsc - t.last_control;
	t.control_turns++;
	t.control_gap = gap > t.control_gap ? gap : t.control_gap;
	t.last_control = host_tsc;
	return false;
}

int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	(void)b;
	(void)c;
	assert_int_equal(number, KCALL_SLEEP);
	assert_int_equal(shm.parked, 1);
	t.sleeps++;
	uint64_t until = a && a < t.end ? a : t.end;
	if (t.gap_ns && t.due < until)
		until = t.due;
	until += t.wake_ns;
	t.asleep_ns += until - host_tsc;
	host_tsc = until;
	return 0;
}

bool core_ports_running(void) { return true; }

static int set_up(void **state)
{
	(void)state;
	memset(&t, 0, sizeof t);
	memset(&shm, 0, sizeof shm);
	info.core[0].shm = (uint64_t)(uintptr_t)&shm;
	info.published = (uint64_t)(uintptr_t)&published;
	published = (struct published){.phase = {PORTS_RUNNING}, .idle_sleep = 1};
	self = (struct core_self){.info = &info,
	                          .roles = CORE_DATA | CORE_CONTROL,
	                          .clock = clock_make(1000000000)};
	host_tsc = 1;
	return 0;
}

static void run(uint64_t ns)
{
	t.end = host_tsc + ns;
	if (!setjmp(t.over))
		loop_run();
}

/* Endless packets: the control role waits half a millisecond, or one turn that takes longer. */
static void control_in_a_flood(void **state)
{
	static const uint64_t turns[] = {1 * US, 20 * US, 600 * US, 3 * MS};
	for (unsigned i = 0; i < sizeof turns / sizeof turns[0]; i++) {
		set_up(state);
		t.busy = true;
		t.turn_ns = turns[i];
		run(1000 * MS);
		assert_true(t.control_gap <= 500 * US + 2 * turns[i]);
		assert_true(t.control_turns <= 2001);
		assert_int_equal(t.sleeps, 0);
	}
}

/* An idle data role lets the control role run in every turn. */
static void control_when_idle(void **state)
{
	(void)state;
	published.idle_sleep = 0;
	t.turn_ns = 1 * US;
	run(100 * MS);
	assert_in_range(t.data_turns - t.control_turns, 0, 1);
	assert_int_equal(t.arms + t.sleeps, 0);
}

static void sleeps(void **state)
{
	(void)state;
	t.turn_ns = 1 * US;
	run(1000 * MS);
	assert_int_equal(t.sleeps, 1 + IDLE_SAMPLES); /* these measure the wake-up */
	assert_int_equal(t.arms, t.sleeps);
	assert_in_range(1000 * MS - t.asleep_ns, 50 * US, 60 * US);
}

/* Packets at equal gaps. A wake-up takes 200 us, so it costs 400 us. A core polls through shorter gaps; in
 * longer ones it polls for an eighth of the cost, and every packet wakes it. */
static void adapts(void **state)
{
	static const uint64_t gaps[] = {20, 100, 300, 390, 420, 500, 1000, 1400, 5000};
	for (unsigned i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
		bool sleeps = gaps[i] > 400;
		set_up(state);
		t.turn_ns = 1 * US;
		t.wake_ns = 200 * US;
		t.gap_ns = gaps[i] * US;
		t.due = 20 * MS; /* until then the wake-up is measured */
		t.count_from = 200 * MS;
		run(1200 * MS);
		if (sleeps) {
			assert_in_range(t.sleeps, t.packets - 1, t.packets + 1);
			assert_in_range((host_tsc - t.counted_from - t.asleep_ns) / t.packets, 50 * US, 56 * US);
		} else {
			assert_int_equal(t.sleeps, 0);
			assert_in_range(t.packets, 900000 / gaps[i], 1000000 / gaps[i]);
		}
	}
}

/* A core polls as long as is configured, whatever the gaps are. */
static void spins(void **state)
{
	static const uint64_t times[] = {1, 50, 900, 1100, 1000000};
	for (unsigned i = 0; i < sizeof times / sizeof times[0]; i++) {
		set_up(state);
		published.idle_spin_us = (uint32_t)times[i];
		t.turn_ns = 1 * US;
		t.wake_ns = 200 * US;
		t.gap_ns = t.due = 1 * MS;
		t.count_from = 200 * MS;
		run(1200 * MS);
		if (times[i] > 1000) {
			assert_int_equal(t.sleeps, 0);
		} else {
			assert_in_range(t.sleeps, t.packets - 1, t.packets + 1);
			assert_in_range((host_tsc - t.counted_from - t.asleep_ns) / t.packets, times[i] * US,
			                (times[i] + 5) * US);
		}
	}
}

/* Idle or not, with any deadline. */
static void stays_awake(void **state)
{
	(void)state;
	t.awake = true;
	t.turn_ns = 1 * US;
	t.nap_ns = 100 * US;
	run(100 * MS);
	assert_int_equal(t.arms + t.sleeps, 0);
	assert_true(t.data_turns >= 99000);
}

/* Short sleeps follow each other as long as nothing moves: with one turn and one arming each. */
static void naps(void **state)
{
	(void)state;
	t.turn_ns = 1 * US;
	t.nap_ns = 100 * US;
	run(1000 * MS);
	assert_in_range(t.sleeps, 9500, 10000);
	assert_in_range(t.arms, t.sleeps, t.sleeps + 1);
	assert_in_range(t.arms - t.disarms, 0, 1);
}

/* A port without interrupts: asked once in the time for which a core polls before it sleeps. */
static void no_interrupt(void **state)
{
	(void)state;
	t.refuses = true;
	t.turn_ns = 1 * US;
	run(1000 * MS);
	assert_int_equal(t.sleeps, 0);
	assert_in_range(t.arms, 15000, 20000);
	assert_int_equal(shm.parked, 0);
}

/* A turn that moves something and lasts longer than is published is reported, with its packets. */
static void long_turns(void **state)
{
	static const uint64_t limits[] = {0, 5 * US - 1, 5 * US, UINT64_MAX};
	for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++)
		for (unsigned busy = 0; busy < 2; busy++) {
			set_up(state);
			published.pressed_ticks = limits[i];
			t.busy = busy;
			t.turn_ns = 5 * US;
			run(10 * MS);
			assert_int_equal(t.noted, busy && limits[i] < 5 * US ? t.data_turns : 0);
		}
}

/* The watchdog looks between the end of slow work and the end of the turn: the slow work does not count. */
static void slow_work_ends_with_a_sign_of_life(void **state)
{
	struct core_pulse pulse = {.turns = 7, .pace = PACE_FAST};
	struct core_pulse *const before = self.pulse;
	(void)state;
	self.pulse = &pulse;
	const enum core_pace pace = core_pace(PACE_LONG);
	assert_int_equal(pulse.pace, PACE_LONG);
	const uint64_t marks = pulse.marks;
	(void)core_pace(pace);
	assert_int_equal(pulse.pace, PACE_FAST);
	assert_true(pulse.marks > marks);
	self.pulse = before;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(control_in_a_flood, set_up),
		cmocka_unit_test_setup(control_when_idle, set_up),
		cmocka_unit_test_setup(sleeps, set_up),
		cmocka_unit_test_setup(adapts, set_up),
		cmocka_unit_test_setup(spins, set_up),
		cmocka_unit_test_setup(stays_awake, set_up),
		cmocka_unit_test_setup(naps, set_up),
		cmocka_unit_test_setup(no_interrupt, set_up),
		cmocka_unit_test_setup(long_turns, set_up),
		cmocka_unit_test_setup(slow_work_ends_with_a_sign_of_life, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
