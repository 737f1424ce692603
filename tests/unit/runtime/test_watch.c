/* core/watch: a core that is stuck is restarted, once, and no other ever is. */
#include "tests/unit/rig/host.h"

#include "runtime/watch.c"

#define CORES 3
#define TICK LOOK_NS /* a TSC tick is a nanosecond */

struct core_self self;
static struct boot_info info;
static struct core_shm box[CORES];
static unsigned restarts[CORES], lines, dma_looks;

void core_log_at(enum log_level level, const char *format, ...) { (void)level, (void)format; lines++; }

void core_event(enum core_event_number number, uint64_t first, uint64_t second)
{
	(void)number, (void)first, (void)second;
}

int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	(void)b, (void)c;
	if (number == KCALL_DMA_LOOK) {
		dma_looks++;
		return E_OK;
	}
	assert_int_equal(number, KCALL_RESTART);
	assert_true(a < CORES);
	restarts[a]++;
	return E_OK;
}

static int setup(void **s)
{
	(void)s;
	info = (struct boot_info){.cores = CORES, .data_cores = CORES - 1, .first_data_core = 1};
	memset(box, 0, sizeof box);
	memset(restarts, 0, sizeof restarts);
	memset(seen, 0, sizeof seen);
	look_tsc = lines = dma_looks = watch_control_tsc = 0;
	for (unsigned i = 0; i < CORES; i++) {
		info.core[i].shm = (uint64_t)(uintptr_t)&box[i];
		info.status[i].state = CORE_RUNNING;
		box[i].stats.turns = 7;
	}
	self = (struct core_self){.info = &info, .clock = clock_make(1000000000), .now_tsc = TICK};
	return 0;
}

/* A port that takes nothing to send is started again when its link has been up for some seconds, and not again
 * within a minute. */
static void ports(void **s)
{
	(void)s;
	const uint64_t second = 1000000000;
	self.now_tsc = 1000 * second;
	box[2].stalled = 1ull << 3;
	for (unsigned t = 0; t < 10; t++, self.now_tsc += second) /* its link is down */
		assert_false(watch_port(3, false));
	for (unsigned t = 0; t < 3; t++, self.now_tsc += second)
		assert_false(watch_port(3, true) || watch_port(2, true));
	assert_true(watch_port(3, true));
	for (unsigned t = 0; t < 60; t++, self.now_tsc += second)
		assert_false(watch_port(3, true));
	assert_true(watch_port(3, true));
	assert_false(watch_port(2, true));
	self.now_tsc += 100 * second;
	box[2].stalled = 0;
	assert_false(watch_port(3, true));
	box[1].stalled = 1ull << 3; /* another core's ring, and the link has been down for a moment */
	assert_false(watch_port(3, false));
	assert_false(watch_port(3, true));
	self.now_tsc += 3 * second;
	assert_true(watch_port(3, true));
}

/* The control core makes `times` turns in that time; core 1 does, core 2 does not. */
static void pass(unsigned times, uint64_t ticks)
{
	for (unsigned i = 0; i < times; i++) {
		self.now_tsc += ticks / times;
		box[1].stats.turns++;
		watch_turn();
	}
}

static void stuck(void **s)
{
	(void)s;
	pass(400, 4 * TICK);
	assert_int_equal(restarts[2], 0);
	pass(400, 4 * TICK);
	assert_int_equal(restarts[2], 1);
	assert_int_equal(lines, 1);
	pass(1000, 10 * TICK); /* unchanged: it was in the kernel at that moment */
	assert_int_equal(restarts[2], 3);
	box[2].stats.turns++;
	pass(300, 3 * TICK);
	assert_int_equal(restarts[2], 3);
	assert_int_equal(restarts[0] + restarts[1], 0);
}

static void no_turn_needed(void **s)
{
	const enum core_state others[] = {CORE_OFF, CORE_DEAD, CORE_FAILED};
	(void)s;
	box[2].parked = 1;
	pass(100, 50 * TICK);
	box[2].parked = 0;
	info.sleep[2].asleep = 1;
	pass(100, 50 * TICK);
	info.sleep[2].asleep = 0;
	for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
		info.status[2].state = others[i];
		pass(100, 50 * TICK);
	}
	assert_int_equal(restarts[2], 0);
}

/* The whole guest was paused for an hour: that counts as one look. */
static void guest_paused(void **s)
{
	(void)s;
	pass(100, TICK);
	for (unsigned i = 0; i < 3; i++)
		pass(1, 3600 * TICK);
	assert_int_equal(restarts[2], 0);
}

static void deadline(void **s)
{
	(void)s;
	watch_turn();
	assert_true(watch_deadline() == self.now_tsc + TICK);
	info.cores = 1;
	assert_true(watch_deadline() == UINT64_MAX);
	pass(100, 50 * TICK);
	assert_int_equal(restarts[1] + restarts[2], 0);
}

/* This is core `id`, a data core, and makes `times` turns in that time. */
static void data_pass(unsigned id, unsigned times, uint64_t ticks)
{
	self.id = id;
	self.roles = CORE_DATA;
	for (unsigned i = 0; i < times; i++) {
		self.now_tsc += ticks / times;
		if (self.now_tsc >= watch_control_tsc)
			watch_control();
	}
}

/* The control core is stuck: the first living data core finds out, and no other. */
static void control_core_is_stuck(void **s)
{
	(void)s;
	data_pass(2, 1000, 100 * TICK);
	assert_int_equal(restarts[0], 0);
	data_pass(1, 290, 29 * TICK);
	assert_int_equal(restarts[0], 0);
	data_pass(1, 100, 10 * TICK);
	assert_int_equal(restarts[0], 1);
	info.status[1].state = CORE_DEAD;
	data_pass(2, 400, 40 * TICK);
	assert_int_equal(restarts[0], 2);
	assert_int_equal(restarts[1] + restarts[2], 0);
}

static void control_core_is_well(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 100; i++) {
		data_pass(1, 10, TICK);
		box[0].stats.turns += i % 20 == 0; /* rarely, but it does */
		assert_true(watch_control_deadline() == watch_control_tsc);
	}
	box[0].parked = 1;
	assert_true(watch_control_deadline() == UINT64_MAX); /* and need not be woken for it */
	data_pass(1, 1000, 100 * TICK);
	info.first_data_core = 0; /* one CPU */
	box[0].parked = 0;
	data_pass(0, 1000, 100 * TICK);
	assert_true(watch_control_deadline() == UINT64_MAX);
	assert_int_equal(restarts[0], 0);
}

/* An IOMMU is queried once a second, even by the only core. */
static void iommu(void **s)
{
	(void)s;
	pass(1000, 10 * TICK);
	assert_int_equal(dma_looks, 0);
	info.iommu.units = 1;
	pass(1000, 10 * TICK);
	assert_int_equal(dma_looks, 10);
	info.cores = 1;
	pass(1000, 10 * TICK);
	assert_int_equal(dma_looks, 20);
	assert_true(watch_deadline() != UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ports, setup),
		cmocka_unit_test_setup(stuck, setup),
		cmocka_unit_test_setup(no_turn_needed, setup),
		cmocka_unit_test_setup(guest_paused, setup),
		cmocka_unit_test_setup(deadline, setup),
		cmocka_unit_test_setup(control_core_is_stuck, setup),
		cmocka_unit_test_setup(control_core_is_well, setup),
		cmocka_unit_test_setup(iommu, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
