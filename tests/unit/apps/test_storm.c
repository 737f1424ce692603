/*
 * apps/switch/storm: several data cores share the level of a port. One process plays all cores: those that
 * core_shared_area_of() knows, each with a copy of the file's own variables.
 */
#include "tests/unit/rig/host.h"

#include "apps/switch/storm.c"

#define CORES 4u
#define LEVEL 1000u

struct core_self self;

static struct {
	uint8_t shared[DP_SHARED_BYTES + sizeof(struct switch_core)];
	uint32_t full[NIC_PORTS_MAX][SWITCH_STORMS];
} cores[1 + CORES]; /* the first is the control core */
static uint64_t now_ns;

/* --- stand-ins --- */

void *core_shared_area(size_t *bytes)
{
	*bytes = sizeof cores[0].shared;
	return cores[self.id].shared;
}

const void *core_shared_area_of(unsigned core) { return cores[core].shared; }
uint64_t core_now_ns(void) { return now_ns; }

static struct boot_info info;

static int reset(void **state)
{
	(void)state;
	memset(cores, 0xa5, sizeof cores); /* the memory is not zeroed */
	info.data_cores = CORES;
	info.first_data_core = 1;
	self.info = &info;
	now_ns = 5 * SECOND_NS;
	for (unsigned c = 1; c <= CORES; c++) {
		self.id = c;
		storm_start(true);
		memset(cores[c].full, 0, sizeof cores[c].full);
	}
	return 0;
}

static enum counter police(unsigned core, unsigned port, enum switch_storm class)
{
	self.id = core;
	memcpy(full, cores[core].full, sizeof full);
	const enum counter why = storm_police(port, class, LEVEL);
	memcpy(cores[core].full, full, sizeof full);
	return why;
}

/* Frames of n that pass, at cores chosen at random. */
static unsigned passing(unsigned n, unsigned port, enum switch_storm class)
{
	unsigned pass = 0;
	for (unsigned i = 0; i < n; i++)
		pass += police(1 + random_below(CORES), port, class) == CNT_NONE;
	return pass;
}

static void test_cores_share_the_level(void **state)
{
	(void)state;
	for (unsigned second = 0; second < 3; second++) {
		assert_int_equal(passing(5 * LEVEL, 2, SWITCH_STORM_BROADCAST), LEVEL);
		now_ns += SECOND_NS - 1;
		if (second == 0) /* 5 s to 6 s less 1 ns: the same second */
			assert_int_equal(passing(10, 2, SWITCH_STORM_BROADCAST), 0);
		now_ns += 1;
	}
}

static void test_one_core_may_use_all_of_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LEVEL; i++)
		assert_int_equal(police(3, 0, SWITCH_STORM_UNICAST), CNT_NONE);
	for (unsigned c = 1; c <= CORES; c++)
		assert_int_equal(police(c, 0, SWITCH_STORM_UNICAST), CNT_drop_switch_storm_unicast);
}

static void test_ports_and_classes_are_apart(void **state)
{
	(void)state;
	for (unsigned port = 0; port < NIC_PORTS_MAX; port += NIC_PORTS_MAX - 1)
		for (unsigned class = 0; class < SWITCH_STORMS; class++)
			assert_int_equal(passing(2 * LEVEL, port, (enum switch_storm)class), LEVEL);
}

/* A core that restarts forgets its own frames; what the others let pass still counts. */
static void test_a_core_restarts(void **state)
{
	(void)state;
	for (unsigned c = 1; c <= 2; c++)
		for (unsigned i = 0; i < LEVEL / 2; i++)
			assert_int_equal(police(c, 1, SWITCH_STORM_MULTICAST), CNT_NONE);
	self.id = 2;
	storm_start(true);
	memset(cores[2].full, 0, sizeof cores[2].full);
	assert_int_equal(passing(2 * LEVEL, 1, SWITCH_STORM_MULTICAST), LEVEL / 2);
}

/* New tables, as at a warm restart of the control program: the counts go on. */
static void test_new_tables(void **state)
{
	(void)state;
	assert_int_equal(passing(2 * LEVEL, 1, SWITCH_STORM_MULTICAST), LEVEL);
	self.id = 2;
	storm_start(false);
	assert_int_equal(storm_police(1, SWITCH_STORM_MULTICAST, LEVEL), CNT_drop_switch_storm_multicast);
}

static void test_classes(void **state)
{
	(void)state;
	static const struct {
		uint8_t mac[ETH_ALEN];
		enum switch_storm class;
	} of[] = {
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, SWITCH_STORM_BROADCAST},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xfd}, SWITCH_STORM_MULTICAST},
		{{0x01, 0x00, 0x5e, 0, 0, 1}, SWITCH_STORM_MULTICAST},
		{{0x33, 0x33, 0, 0, 0, 1}, SWITCH_STORM_MULTICAST},
		{{0x02, 0, 0, 0, 0, 1}, SWITCH_STORM_UNICAST},
	};
	for (unsigned i = 0; i < ARRAY_LEN(of); i++) {
		uint8_t frame[ETH_FRAME_MIN] = {0};
		struct pkt p = {.data = frame, .len = sizeof frame};
		memcpy(frame, of[i].mac, ETH_ALEN);
		assert_int_equal(storm_class(&p), of[i].class);
	}
}

int main(void)
{
	seed_random("storm");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_cores_share_the_level, reset),
		cmocka_unit_test_setup(test_one_core_may_use_all_of_it, reset),
		cmocka_unit_test_setup(test_ports_and_classes_are_apart, reset),
		cmocka_unit_test_setup(test_a_core_restarts, reset),
		cmocka_unit_test_setup(test_new_tables, reset),
		cmocka_unit_test_setup(test_classes, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
