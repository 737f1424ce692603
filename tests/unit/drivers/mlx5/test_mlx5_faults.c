/*
 * The mlx5 driver and a ConnectX-5 model that misbehaves: every fault that the model offers. Each
 * ends in bounded time, is named or counted, and loses no buffer.
 */
#include "tests/unit/rig/mlx5_port.h"

#include "drivers/mlx5/device.h"
#include "tests/unit/rig/nicsim_frames.h"

#define TRAP_NS 20000 /* a register access that traps: waits of seconds take fewer polls */
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

static void wait_link(void)
{
	for (unsigned ms = 0; !link_now().up; ms++) {
		assert_true(ms < 5000);
		rig_run(1000000);
	}
}

/* In whatever state: all pages come back, or the device can no longer access them. */
static void timed_stop(void)
{
	const struct mlx5_device *d = mlx5_device(&port.nic);
	began = rig.now;
	port_stop();
	timed();
	assert_true(d->memory->pages.given == 0 || !(port.command & 4));
}

/* Receives frames and sends them again; returns how many were received. */
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
			if (!mend(q))
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
		{"initializing-stuck", 0, E_AGAIN, "initialisation"},
		{"command-timeout", 1, E_TIMEOUT, "ENABLE_HCA(0x104)"},
		{"command-timeout", 9, E_TIMEOUT, "(0x"},
		{"command-status", 1, E_DEVICE, "internal error(0x1)"},
		{"command-status", 13, E_DEVICE, "internal error(0x1)"},
		{"command-delivery", 1, E_DEVICE, "delivery status"},
		{"command-delivery", 7, E_DEVICE, "delivery status"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power();
		rig.tick_ns = TRAP_NS;
		rig_fault_arg(row[i].fault, row[i].arg);
		int e = timed_probe();
		if (e != row[i].error || !strstr(port.nic.error, row[i].names))
			fail_msg("%s: %d, %s", row[i].fault, e,
			         port.nic.error ? port.nic.error : "-");
		rig_forgive();
		teardown(NULL);
	}
}

/* The port is another function's, and there are no counters: traffic all the same, and one notice
 * for all starts. */
static void refusals(void **s)
{
	unsigned said = 0;
	power();
	rig_fault("foreign-port");
	rig_fault("no-q-counters");
	if (port_probe() != E_OK)
		fail_msg("%s", port.nic.error);
	for (unsigned lives = 0; lives < 2; lives++) {
		assert_int_equal(timed_start(), E_OK);
		port_attach();
		for (unsigned i = 0; i < 50; i++) {
			struct nic_link l = link_now();
			assert_false(l.gone);
			if (l.why)
				assert_string_equal(l.why,
				                    "firmware refuses, and the port does without: "
				                    "PMTU (frame length), PTYS (speed), PPCNT (errors), "
				                    "PPCNT (discards), Q counters");
			said += l.why != NULL;
			rig_run(20000000);
		}
		assert_true(link_now().up);
		assert_int_equal(traffic(320), 320);
		port_stop();
	}
	assert_int_equal(said, 1);
	teardown(s);
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
		{"send-error", 100, 3200, 3200, offsetof(struct nic_counters, tx_queue_errors),
	         false},
		{"receive-stuck", 0, 0, 0, 0, false},
		{"receive-error", 100, 2000, 3190, offsetof(struct nic_counters, rx_queue_errors),
	         false},
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
			broken |= !mend(q);
		}
		if (came < row[i].least || came > row[i].most || (row[i].counter && !counted) ||
		    broken != row[i].breaks)
			fail_msg("%s: %u frames came, %llu counted, %s", row[i].fault, came,
			         (unsigned long long)counted, broken ? "broken" : "whole");
		timed_stop();
		rig_fault_clear(row[i].fault);
		assert_int_equal(timed_start(), E_OK);
		port_attach();
		wait_link();
		assert_int_equal(traffic(320), 320);
		timed_stop();
		teardown(NULL); /* it has not answered with violations of its own */
	}
}

/* A pair whose queue is in error state, while another works on: nothing of it moves until it is
 * mended, and nothing of the other is lost meanwhile. */
static void others_go_on(void **s)
{
	(void)s;
	up(2, ALL, STANDARD);
	struct port_pair *ill = &port.pair[0], *well = &port.pair[1];
	rig_fault_arg("send-error", 1);
	take(0, f, numbered(1, 100));
	assert_int_equal(tx(0), 1);
	rig_run(100000);
	rig_fault_clear("send-error");
	assert_int_equal(tx(0), 0);
	assert_true(ill->q.broken);
	assert_int_equal(ill->cnt.tx_queue_errors, 1);
	for (unsigned i = 0; i < 500; i++) {
		struct rig_frame got;
		take(1, f, numbered(i, 100));
		assert_int_equal(tx(1), 1);
		rig_run(100000);
		assert_true(rig_sent(&got));
	}
	assert_false(well->q.broken);
	assert_true(mlx5_ops.mend(&ill->q));
	assert_true(ill->q.broken);
	assert_true(mend(0));
	take(0, f, numbered(2, 100));
	assert_int_equal(tx(0), 1);
	rig_run(100000);
	assert_int_equal(tx(0), 0);
	assert_int_equal(rig_sent_count(), 1);
	assert_int_equal(well->cnt.tx_queue_errors, 0);
	timed_stop();
	teardown(NULL);
}

/* Slots continue with the next one, wherever the ring was. */
static void slots_mended(void **s)
{
	(void)s;
	static struct nic_slot slot[NIC_SLOTS_MAX];
	up(1, ALL, STANDARD);
	struct nic_queue *q = &port.pair[0].q;
	uint8_t *mem = rig_mem(rig_alloc(NIC_SLOTS_MAX * 128, 128), NIC_SLOTS_MAX * 128);
	unsigned errors = 0;
	assert_int_equal(mlx5_ops.slots_open(q), NIC_SLOTS_MAX);
	for (unsigned i = 0; i < NIC_SLOTS_MAX; i++) {
		slot[i] = (struct nic_slot){mem + i * 128 + 32, 60};
		memset(slot[i].data, 2, 60);
		be32_store(slot[i].data + 40, i);
	}
	mlx5_ops.slots_put(q, 0, slot, NIC_SLOTS_MAX);
	for (unsigned sent = 0; sent < 10000;) {
		struct rig_frame got = {0};
		unsigned n = 1 + sent % 37;
		while (mlx5_ops.slots_free(q) < n && !q->broken)
			rig_run(10000);
		if (q->broken) {
			assert_int_equal(q->cnt->tx_queue_errors, ++errors);
			assert_true(mend(0));
			rig_run(100000);
			assert_int_equal(mlx5_ops.slots_free(q), NIC_SLOTS_MAX);
			while (rig_sent(&got))
				;
		}
		if (sent / 1000 > errors)
			rig_fault_arg("send-error", 1);
		slots_send(0, n, 60 * n);
		rig_run(100000);
		rig_fault_clear("send-error");
		while (rig_sent(&got))
			assert_int_equal(be32_load(got.data + 40), sent++ % NIC_SLOTS_MAX), n--;
		sent += n; /* given up */
	}
	assert_in_range(errors, 8, 10);
	timed_stop();
	teardown(NULL);
}

/* A device that does not execute the commands that would mend a queue: that is reported, and not
 * waited for any longer. */
static void hopeless(void **s)
{
	(void)s;
	enum { STATUS, HALF, TIMEOUT, STUCK, HOW };
	static const char *const fault[HOW] = {"command-status", "command-status", "command-timeout", "health-stuck"};
	for (unsigned i = STATUS; i < HOW; i++) {
		up(2, ALL, STANDARD);
		rig_fault_arg(fault[i], i == HALF ? 2 : 1); /* one command in so many */
		for (unsigned looks = 0; i == STUCK && !link_now().gone; looks++) {
			assert_true(looks < 100);
			rig_run(100000000);
		}
		rig_fault_arg("send-error", 1);
		take(0, f, numbered(1, 100));
		assert_int_equal(tx(0), 1);
		rig_run(100000);
		assert_int_equal(tx(0), 0);
		for (unsigned looks = 0; mlx5_ops.mend(&port.pair[0].q); looks++) {
			assert_true(looks < 300);
			link_now();
			rig_run(100000000);
		}
		assert_true(port.pair[0].q.broken);
		timed_stop();
		rig_forgive();
		teardown_forgiving(NULL);
	}
}

/* Inline headers as the vport requires: slower, but correct. */
static void inline_modes(void **s)
{
	(void)s;
	for (unsigned mode = 1; mode <= 3; mode++) {
		power();
		rig_fault_arg("min-inline", mode);
		assert_int_equal(timed_probe(), E_OK);
		assert_int_equal(timed_start(), E_OK);
		port_attach();
		wait_link();
		assert_int_equal(traffic(640), 640);
		timed_stop();
		teardown(NULL);
	}
}

/* Firmware whose counter stops is dead; firmware that reports a warning is not. */
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
	while (!link_now().gone) { /* a function that cannot be reset */
		assert_true(++looks < 100);
		rig_run(100000000);
	}
	timed_stop();
	rig_forgive();
	teardown(NULL);
}

/* Whatever faults the model offers, including later ones: all of them, from power-on and under
 * traffic. */
static void every_fault(void **s)
{
	(void)s;
	for (unsigned later = 0; later < 2; later++) {
		for (unsigned i = 0;; i++) {
			bool started = later;
			if (later)
				up(2, ALL, STANDARD);
			else
				power();
			if (rig.m->ops->faults[i].name == NULL) {
				teardown(NULL);
				break;
			}
			rig.tick_ns = TRAP_NS;
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
		cmocka_unit_test(refusals),
		cmocka_unit_test(inline_modes),    cmocka_unit_test(health),
		cmocka_unit_test(every_fault),
		cmocka_unit_test(others_go_on),    cmocka_unit_test(slots_mended),
		cmocka_unit_test(hopeless),
	};
	return cmocka_run_group_tests_name("strict", tests, strict, NULL);
}
