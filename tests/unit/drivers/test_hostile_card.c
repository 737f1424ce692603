/*
 * A driver of Intel's and a model of its card that misbehaves, once for each card: every fault that the model
 * offers, in traffic and from power-on, and surprise removal. Each ends within a deadline: in an error that names the
 * cause, or counted and survived.
 */
#include "tests/unit/rig/intel_faults.h"

/* --- faults in traffic --- */

static void data_faults(void **s)
{
	(void)s;
	static const struct {
		const char *fault;
		uint64_t arg;
		unsigned least, most; /* of 3200 frames */
		size_t counter;       /* in struct nic_counters, to be above zero; 0: none */
	} row[] = {
		{"rx-stuck", 0, 0, 0, 0},
		{"head-stuck", 0, 3200, 3200, offsetof(struct nic_counters, tx_full)},
		{"writeback-delay", 100, 3000, 3200, 0},
		{"writeback-lost", 100, 3000, 3200, offsetof(struct nic_counters, rx_bad_desc)},
		{"bad-length", 50, 3000, 3180, offsetof(struct nic_counters, rx_bad_len)},
		{"error-bits", 50, 3000, 3180, offsetof(struct nic_counters, rx_bad_desc)},
		{"dd-garbage", 50, 3000, 3200, 0},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		up(2, INTEL_FEATURES, STANDARD);
		rig_fault_arg(row[i].fault, row[i].arg);
		unsigned came = traffic(3200);
		uint64_t counted = 0;
		for (unsigned q = 0; q < 2; q++)
			counted += ((const uint64_t *)&port.pair[q].cnt)[row[i].counter / 8];
		if (came < row[i].least || came > row[i].most || (row[i].counter && !counted))
			fail_msg("%s: %u frames came, %llu counted", row[i].fault, came,
			         (unsigned long long)counted);
		assert_false(port.pair[0].q.broken || port.pair[1].q.broken);
		timed_stop();
		rig_fault_clear(row[i].fault);
		assert_recovers();
		rig_forgive();
		teardown(NULL);
	}
}

/* Whatever faults the model offers, including later ones: all of them, from power-on and under
 * traffic. */
static void every_fault(void **s)
{
	(void)s;
	for (unsigned later = 0; later < 2; later++) {
		unsigned i = 0;
		do {
			if (later)
				up(2, INTEL_FEATURES, STANDARD);
			else
				power();
			rig_fault(rig.m->ops->faults[i].name);
			if (later || (timed_probe() == E_OK && timed_start() == E_OK)) {
				if (!later)
					port_attach();
				traffic(640);
				link_now();
			} else {
				assert_non_null(port.nic.error);
			}
			struct nic_stats stats = {0};
			card.driver->stats(&port.nic, &stats);
			timed_stop();
			rig_fault_clear(rig.m->ops->faults[i].name);
			assert_recovers();
			bool more = rig.m->ops->faults[++i].name != NULL;
			rig_forgive();
			teardown(NULL);
			if (!more)
				break;
		} while (i < FAULTS_MAX);
	}
}

/* --- surprise removal: all ones from every register --- */

static void removed_before_probe(void **s)
{
	(void)s;
	power();
	rig.m->removed = true;
	assert_int_equal(timed_probe(), E_DEVICE);
	assert_non_null(strstr(port.nic.error, "no longer answers"));
	timed_stop();
}

static void removed_before_start(void **s)
{
	(void)s;
	power();
	assert_int_equal(timed_probe(), E_OK);
	rig.m->removed = true;
	assert_int_equal(timed_start(), E_DEVICE);
	assert_non_null(strstr(port.nic.error, "no longer answers"));
	timed_stop();
}

/* At every moment of start-up: after one more register access each time. */
static void removed_during_start(void **s)
{
	(void)s;
	power();
	assert_int_equal(timed_probe(), E_OK);
	uint64_t start = rig.now;
	assert_int_equal(timed_start(), E_OK);
	uint64_t took = rig.now - start;
	teardown(NULL);
	for (unsigned i = 0; i < 40; i++) {
		power();
		assert_int_equal(timed_probe(), E_OK);
		port.remove_at = rig.now + took * i / 40 + 1;
		assert_int_equal(timed_start(), E_DEVICE);
		assert_non_null(strstr(port.nic.error, "no longer answers"));
		timed_stop();
		teardown(NULL);
	}
	power();
}

static void removed_under_traffic(void **s)
{
	(void)s;
	struct nic_stats stats = {.rx_crc = 5};
	up(2, INTEL_FEATURES, STANDARD);
	traffic(320);
	rig.m->removed = true;
	struct nic_link l = link_now();
	assert_true(l.gone && !l.up);
	card.driver->stats(&port.nic, &stats);
	assert_int_equal(stats.rx_crc, 5);
	assert_int_equal(stats.rx_missed + stats.rx_filtered + stats.rx_length, 0);
	for (unsigned i = 0; i < 1300; i++) {
		take(0, frame, make_numbered(i));
		if (i % 32 == 31) {
			tx(0);
			let_go(0);
			assert_int_equal(rx(0, PKT_VECTOR_MAX) + rx(1, PKT_VECTOR_MAX), 0);
		}
	}
	let_go(0);
	assert_buffers();
	assert_true(port.pair[0].cnt.tx_full > 0);
	card.driver->rx_interrupt(&port.pair[0].q, true);
	assert_false(port.pair[0].q.broken); /* nothing it wrote was wrong */
	timed_stop();
	/* Plugged in again. */
	rig.m->removed = false;
	assert_recovers();
}

/* The link goes down and up while frames move: no buffer is lost, and traffic continues. */
static void link_flaps_under_traffic(void **s)
{
	(void)s;
	up(2, INTEL_FEATURES, STANDARD);
	for (unsigned i = 0; i < 10; i++) {
		rig_carrier(false);
		traffic(64);
		rig_run(500000000);
		assert_false(link_now().up);
		rig_carrier(true);
		rig_run(3000000000);
		assert_true(link_now().up);
		for (unsigned k = 0; k < 50; k++) {
			rig_run(10000000);
			rx_all(0);
			let_go(0);
			rx_all(1);
			let_go(1);
		}
		assert_int_equal(traffic(320), 320);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_faults),
		cmocka_unit_test(every_fault),
		cmocka_unit_test_teardown(removed_before_probe, teardown),
		cmocka_unit_test_teardown(removed_before_start, teardown),
		cmocka_unit_test_teardown(removed_during_start, teardown),
		cmocka_unit_test_teardown(removed_under_traffic, teardown),
		cmocka_unit_test_teardown(link_flaps_under_traffic, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
