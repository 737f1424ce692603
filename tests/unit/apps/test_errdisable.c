/*
 * apps/switch/errdisable: what outlives the control program, memory that is missing or damaged, and counters of
 * several ports in a port channel. What the whole switch does is in tests/packet/test_switch_storm.py.
 */
#include "tests/unit/rig/host.h"

#include "apps/switch/errdisable.c"

#define PORTS 4u
#define LEVEL 100u

struct core_self self;
struct running running;
struct switch_tables tables;

static uint64_t now_ns;
static uint64_t dropped[PORTS][CNT_FATES];
static uint8_t room[4096]; /* that outlives the program */
static size_t room_bytes;  /* 0: none has been taken */
static bool no_room, shut[PORTS];
static unsigned logical[PORTS], logs;
static uint32_t told; /* ports that the spanning tree was told of */

/* --- stand-ins --- */

void *core_persist_find(enum core_persist what, size_t *bytes)
{
	assert_int_equal(what, CORE_PERSIST_ERRDISABLE);
	*bytes = room_bytes;
	return room_bytes ? room : NULL;
}

void *core_persist_alloc(enum core_persist what, size_t bytes)
{
	assert_int_equal(what, CORE_PERSIST_ERRDISABLE);
	assert_true(bytes <= sizeof room);
	if (no_room)
		return NULL;
	memset(room, 0, sizeof room);
	room_bytes = sizeof room;
	return room;
}

uint64_t core_now_ns(void) { return now_ns; }
unsigned core_port_count(void) { return PORTS; }

void core_fates(unsigned interface, uint64_t sum[CNT_FATES]) { memcpy(sum, dropped[interface], sizeof dropped[0]); }

void log_event(enum log_level level, const char *facility, const char *format, ...)
{
	(void)level, (void)facility, (void)format;
	logs++;
}

bool tables_is_logical(unsigned port) { return logical[port] == port; }
const char *tables_port_name(unsigned port) { return port ? "ethN" : "eth0"; }
void tables_settle(void) {}
void spanning_link(unsigned port) { told |= 1u << port; }
unsigned config_logical(const struct config *c, unsigned port) { (void)c; return logical[port]; }
bool config_logical_shut(const struct config *c, unsigned port) { (void)c; return shut[port]; }
const struct config_switchport *config_switchport(const struct config *c, unsigned port) { return &c->switchport[port]; }

void tables_disable(unsigned port, bool disabled)
{
	tables.disabled = (tables.disabled & ~(1u << port)) | (uint32_t)disabled << port;
}

/* --- rig --- */

/* A control program begins, the first one or one after a failure. */
static void begin(void)
{
	static struct switch_shared shared;
	tables = (struct switch_tables){.shared = &shared};
	memset(seen, 0xa5, sizeof seen);
	kept = (struct sealed)SEALED(CORE_PERSIST_ERRDISABLE, 1, struct disabled);
	disabled_now = (struct disabled){0};
	look_ns = 77;
	told = 0;
	errdisable_room();
	errdisable_start();
}

static int reset(void **state)
{
	(void)state;
	memset(&running, 0, sizeof running);
	running.applied = true;
	running.config.stp.recovery_s = 60;
	for (unsigned p = 0; p < PORTS; p++) {
		running.config.switchport[p].storm[0] = LEVEL;
		running.config.switchport[p].storm_shutdown = p < 2;
		logical[p] = p;
		shut[p] = false;
	}
	memset(dropped, 0, sizeof dropped);
	room_bytes = 0;
	no_room = false;
	logs = 0;
	now_ns = 5 * SECOND_NS;
	begin();
	return 0;
}

/* Frames are dropped, then the second ends. */
static void storm(unsigned port)
{
	dropped[port][CNT_drop_switch_storm_broadcast] += 9;
	now_ns += SECOND_NS;
	(void)errdisable_timer();
}

/* Both know the same ports. */
static void expect_disabled(uint32_t ports)
{
	assert_int_equal(errdisable_ports(), ports);
	assert_int_equal(tables.disabled, ports);
}

/* --- tests --- */

static void test_a_storm(void **state)
{
	(void)state;
	storm(0);
	expect_disabled(1);
	assert_int_equal(logs, 1);
	assert_int_equal(told, 1);
	storm(0); /* frames that were on their way */
	storm(2); /* it has no action */
	expect_disabled(1);
	assert_int_equal(logs, 1);
	storm(1);
	expect_disabled(3);
}

/* The look is at the end of a second of the clock, in which level and drops are counted. */
static void test_the_time_of_a_look(void **state)
{
	(void)state;
	now_ns = 7 * SECOND_NS;
	(void)errdisable_timer();
	dropped[0][CNT_drop_switch_storm_unicast] = 1;
	now_ns = 8 * SECOND_NS - 1;
	(void)errdisable_timer();
	expect_disabled(0);
	now_ns = 8 * SECOND_NS;
	(void)errdisable_timer();
	expect_disabled(1);
}

static void test_nothing_to_do_without_the_action(void **state)
{
	(void)state;
	running.config.switchport[0].storm_shutdown = running.config.switchport[1].storm_shutdown = false;
	errdisable_changed();
	assert_int_equal(errdisable_timer(), UINT64_MAX);
	running.config.switchport[1].storm_shutdown = true;
	errdisable_changed();
	assert_int_not_equal(errdisable_timer(), UINT64_MAX);
	running.applied = false; /* a wrong configuration */
	errdisable_changed();
	assert_int_equal(errdisable_timer(), UINT64_MAX);
}

/* The next program goes on: with the port, and with its interval. Drops of before are no new storm. */
static void test_the_next_program(void **state)
{
	(void)state;
	running.config.stp.storm_recovers = true;
	storm(0);
	const uint64_t at = errdisable_recovery_ns(0);
	assert_int_equal(at, now_ns + 60 * SECOND_NS);
	now_ns += 20 * SECOND_NS;
	begin();
	expect_disabled(1);
	assert_int_equal(errdisable_recovery_ns(0), at);
	now_ns += SECOND_NS;
	(void)errdisable_timer();
	expect_disabled(1);
	now_ns = at - 1;
	(void)errdisable_timer();
	expect_disabled(1);
	now_ns = at;
	(void)errdisable_timer();
	expect_disabled(0);
	assert_int_equal(logs, 2);
	now_ns += 3 * SECOND_NS;
	(void)errdisable_timer();
	expect_disabled(0);
}

/* What was dropped until the moment of the recovery is no new storm: those frames were on their way. */
static void test_drops_before_the_recovery(void **state)
{
	(void)state;
	running.config.stp.storm_recovers = true;
	storm(0);
	now_ns = errdisable_recovery_ns(0);
	dropped[0][CNT_drop_switch_storm_broadcast] += 3;
	(void)errdisable_timer();
	expect_disabled(0);
	assert_int_equal(logs, 2);
	storm(0);
	expect_disabled(1);
}

/* The next program's configuration has no action, or shuts the port down. */
static void test_the_next_program_has_another_configuration(void **state)
{
	(void)state;
	storm(0);
	storm(1);
	running.config.switchport[0].storm_shutdown = false;
	shut[1] = true;
	begin();
	expect_disabled(0);
	running.config.switchport[0].storm_shutdown = true;
	shut[1] = false;
	begin();
	expect_disabled(0);
}

/* Whatever bit of the state or of its seal (runtime/sealed.c) has changed, nothing of it is used, or the port would be disabled without a reason. */
static void test_damaged_memory(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		reset(NULL);
		storm(0);
		room[random_below(16 + sizeof(struct disabled))] ^= (uint8_t)(1u << random_below(8));
		begin();
		expect_disabled(0);
		storm(1);
		begin();
		expect_disabled(2);
	}
}

static void test_no_memory(void **state)
{
	(void)state;
	no_room = true;
	room_bytes = 0;
	begin();
	storm(0);
	expect_disabled(1);
	tables.disabled = 0;
	errdisable_room(); /* a restart of the ports */
	errdisable_start();
	expect_disabled(1);
	running.config.switchport[0].storm_shutdown = false;
	errdisable_changed();
	expect_disabled(0);
}

/* Ports 1 to 3 are a port channel: frames of each count, and the port channel is disabled. */
static void test_port_channel(void **state)
{
	(void)state;
	uint64_t drops[SWITCH_STORMS];
	logical[2] = logical[3] = 1;
	errdisable_changed();
	dropped[2][CNT_drop_switch_storm_multicast] = 4;
	storm(3);
	expect_disabled(2);
	errdisable_drops(1, drops);
	assert_int_equal(drops[SWITCH_STORM_BROADCAST], 9);
	assert_int_equal(drops[SWITCH_STORM_MULTICAST], 4);
	assert_int_equal(drops[SWITCH_STORM_UNICAST], 0);
	errdisable_drops(2, drops);
	assert_int_equal(drops[SWITCH_STORM_BROADCAST], 0);
	logical[1] = 0; /* it joins another port channel */
	errdisable_changed();
	expect_disabled(0);
}

int main(void)
{
	seed_random("errdisable");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_storm, reset),
		cmocka_unit_test_setup(test_the_time_of_a_look, reset),
		cmocka_unit_test_setup(test_nothing_to_do_without_the_action, reset),
		cmocka_unit_test_setup(test_the_next_program, reset),
		cmocka_unit_test_setup(test_drops_before_the_recovery, reset),
		cmocka_unit_test_setup(test_the_next_program_has_another_configuration, reset),
		cmocka_unit_test_setup(test_damaged_memory, reset),
		cmocka_unit_test_setup(test_no_memory, reset),
		cmocka_unit_test_setup(test_port_channel, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
