/*
 * The mlx5 driver and a ConnectX-5 model that misbehaves: every fault the model offers. Whatever
 * happens ends in bounded time, is named or counted, and loses no buffer.
 */
#include "tests/unit/mlx5_model_rig.h"
#include "tests/unit/nicsim_frames.h"

#define STANDARD BUF_STRIDE_STANDARD
#define LIFE_NS 60000000000u /* of a start or a stop, at most */

static uint64_t began;

static void timed(void)
{
	assert_true(rig.now - began < LIFE_NS);
}

static int timed_probe(void)
{
	began = rig.now;
	int e = port_probe();
	timed();
	return e;
}

static int timed_start(void)
{
	began = rig.now;
	int e = port_start(2, ALL, STANDARD, 2000);
	timed();
	return e;
}

static void timed_stop(void)
{
	began = rig.now;
	port_stop();
	timed();
}

/* Frames that come and go out again; returns how many came. */
static unsigned traffic(unsigned frames)
{
	unsigned came = 0;
	for (unsigned i = 0; i < frames; i += 32) {
		for (unsigned k = 0; k < 32; k++) {
			struct flow w = {.version = 4, .protocol = 17, .sport = (uint16_t)(i + k)};
			w.payload = 100;
			rig_force(f, make_ip(f, &w), 0);
		}
		for (unsigned q = 0; q < 2; q++) {
			struct port_pair *p = &port.pair[q];
			if (p->q.broken)
				continue;
			came += rx_all(q);
			if (!p->q.broken)
				tx(q);
			rig_run(50000);
		}
		for (struct rig_frame got; rig_sent(&got);)
			;
		assert_buffers();
	}
	return came;
}

static void start_up_faults(void **s)
{
	(void)s;
	static const struct {
		const char *fault;
		uint64_t arg;
		int error;
		const char *names;
	} row[] = {
		{"initializing-stuck", 0, E_TIMEOUT, "initialisation"},
		{"command-timeout", 1, E_TIMEOUT, "ENABLE_HCA(0x104)"},
		{"command-timeout", 9, E_TIMEOUT, "(0x"},
		{"command-status", 1, E_DEVICE, "internal error(0x1)"},
		{"command-status", 13, E_DEVICE, "internal error(0x1)"},
		{"command-delivery", 1, E_DEVICE, "delivery status"},
		{"command-delivery", 7, E_DEVICE, "delivery status"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power(64);
		rig_fault_arg(row[i].fault, row[i].arg);
		int e = timed_probe();
		if (e != row[i].error || !strstr(port.nic.error, row[i].names))
			fail_msg("%s: %d, %s", row[i].fault, e,
			         port.nic.error ? port.nic.error : "-");
		rig_forgive();
		teardown(NULL);
	}
}

static void data_faults(void **s)
{
	(void)s;
	static const struct {
		const char *fault;
		uint64_t arg;
		unsigned least, most; /* of 3200 frames */
		size_t counter;       /* in struct nic_counters, to be above zero; 0: none */
		bool breaks;
	} row[] = {
		{"send-stuck", 0, 3200, 3200, offsetof(struct nic_counters, tx_full), false},
		{"send-error", 100, 1, 3200, offsetof(struct nic_counters, tx_bad_desc), true},
		{"receive-stuck", 0, 0, 0, 0, false},
		{"receive-error", 100, 1, 3199, offsetof(struct nic_counters, rx_bad_desc), true},
		{"bad-length", 50, 3000, 3190, offsetof(struct nic_counters, rx_bad_len), false},
		{"completion-lost", 50, 3000, 3190, offsetof(struct nic_counters, rx_bad_desc),
	         false},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		up(2, ALL, STANDARD);
		rig_fault_arg(row[i].fault, row[i].arg);
		unsigned came = traffic(3200);
		uint64_t counted = 0;
		bool broken = false;
		for (unsigned q = 0; q < 2; q++) {
			counted += ((const uint64_t *)&port.pair[q].cnt)[row[i].counter / 8];
			broken |= port.pair[q].q.broken;
		}
		if (came < row[i].least || came > row[i].most || (row[i].counter && !counted) ||
		    broken != row[i].breaks)
			fail_msg("%s: %u frames came, %llu counted, %s", row[i].fault, came,
			         (unsigned long long)counted, broken ? "broken" : "whole");
		timed_stop();
		rig_fault_clear(row[i].fault);
		assert_int_equal(timed_start(), E_OK);
		port_attach();
		assert_int_equal(traffic(320), 320);
		timed_stop();
		rig_forgive();
		teardown(NULL);
	}
}

/* Headers inline as the vport wants them: slower, and right. */
static void inline_modes(void **s)
{
	(void)s;
	for (unsigned mode = 1; mode <= 3; mode++) {
		power(64);
		rig_fault_arg("min-inline", mode);
		assert_int_equal(timed_probe(), E_OK);
		assert_int_equal(timed_start(), E_OK);
		port_attach();
		assert_int_equal(traffic(640), 640);
		timed_stop();
		teardown(NULL);
	}
}

/* A firmware that counts no more is dead; one that warns is not. */
static void health(void **s)
{
	(void)s;
	unsigned looks = 0;
	up(2, ALL, STANDARD);
	rig_fault("health-syndrome");
	for (unsigned i = 0; i < 100; i++) {
		assert_false(link_now().gone);
		rig_run(100000000);
	}
	rig_fault("health-stuck");
	while (!link_now().gone) {
		assert_true(++looks < 100);
		rig_run(100000000);
	}
	timed_stop();
	rig_forgive();
	teardown(NULL);
}

/* Whatever faults the model comes to have: all of them, from power-on and under traffic. */
static void every_fault(void **s)
{
	(void)s;
	for (unsigned later = 0; later < 2; later++) {
		for (unsigned i = 0;; i++) {
			bool started = later;
			if (later)
				up(2, ALL, STANDARD);
			else
				power(64);
			if (rig.m->ops->faults[i].name == NULL) {
				teardown(NULL);
				break;
			}
			rig_fault(rig.m->ops->faults[i].name);
			bool probed = later || timed_probe() == E_OK;
			if (!later && probed && timed_start() == E_OK) {
				port_attach();
				started = true;
			}
			if (started) {
				traffic(640);
				link_now();
			} else {
				assert_non_null(port.nic.error);
			}
			if (probed)
				timed_stop();
			rig_forgive();
			teardown_forgiving(NULL);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_up_faults), cmocka_unit_test(data_faults),
		cmocka_unit_test(inline_modes),    cmocka_unit_test(health),
		cmocka_unit_test(every_fault),
	};
	return cmocka_run_group_tests_name("strict", tests, strict, NULL);
}
