/*
 * The ixgbe driver and an 82599 model that misbehaves: every fault that the model offers, and
 * surprise removal. Each ends within a deadline: in an error that names the cause, or counted and
 * survived.
 */
#include "tests/unit/rig/ixgbe_port.h"
#include "tests/unit/rig/packets.h"

#define CALL_NS 5000000000ull /* no call may take longer */

/* Frame `seq` with its own length and bytes, to us, of no protocol that the device knows. */
static unsigned make_numbered(uint32_t seq)
{
	unsigned len = 64 + seq * 13 % 1400;
	memset(frame, (int)(seq * 7), len);
	ether(0x88b5);
	put32(frame + 14, seq);
	return len;
}

static uint64_t began;
static void begin(void) { began = rig.now; }
static void end_in_time(void) { assert_true(rig.now - began < CALL_NS); }

static int timed_probe(void)
{
	begin();
	int e = port_probe();
	end_in_time();
	return e;
}

static int timed_start(void)
{
	begin();
	int e = port_start(2, ALL, STANDARD, 1600);
	end_in_time();
	return e;
}

static void timed_stop(void)
{
	begin();
	port_stop();
	end_in_time();
}

/* Sends and receives `n` frames, in bursts; checks the contents of received ones. Returns how many
 * were received, over all pairs. */
static unsigned traffic(unsigned n)
{
	unsigned came = 0;
	for (uint32_t i = 0; i < n; i++) {
		unsigned len = make_numbered(i);
		rig_force(frame, len, 0);
		struct port_pair *p = &port.pair[0];
		if (p->pool.free && p->nhands < POOL_MAX)
			take(0, frame, len);
		if (i % 32 != 31)
			continue;
		tx(0);
		let_go(0);
		rig_run(200000);
		for (unsigned q = 0; q < port.pairs; q++) {
			rx(q, PKT_VECTOR_MAX);
			for (unsigned k = 0; k < port.pair[q].nhands; k++) {
				const struct pkt *r = &port.pair[q].hands[k];
				const uint8_t *base = buf_base(&port.pair[q].pool, r->buf);
				assert_true(r->data >= base + BUF_META && r->len > 0);
				assert_true(r->data + r->len <= base + STANDARD);
			}
			came += port.pair[q].nhands;
			let_go(q);
		}
		assert_buffers();
		struct rig_frame f;
		while (rig_sent(&f))
			;
	}
	return came;
}

/* The device works again: start, traffic without loss, stop. */
static void assert_recovers(void)
{
	if (timed_probe() != E_OK || timed_start() != E_OK)
		fail_msg("%s", port.nic.error);
	port_attach();
	assert_true(link_within(5000).up);
	assert_int_equal(traffic(320), 320);
	timed_stop();
}

/* --- faults that start-up must name --- */

static void start_up_faults(void **s)
{
	(void)s;
	static const struct {
		const char *fault;
		int probe, start; /* probe's error; start's, when the fault comes after probe */
		const char *names;
	} row[] = {
		{"reset-stuck", E_TIMEOUT, E_TIMEOUT, "CTRL.RST"},
		{"eeprom-checksum", E_DEVICE, E_OK, "checksum"},
		{"eeprom-stuck", E_TIMEOUT, E_OK, "EERD.DONE"},
		{"no-dma-done", E_TIMEOUT, E_TIMEOUT, "RDRXCTL.DMAIDONE"},
		{"secrx-late", E_OK, E_OK, ""},
		{"rxdctl-stuck", E_OK, E_TIMEOUT, "RXDCTL.ENABLE"},
		{"txdctl-stuck", E_OK, E_TIMEOUT, "TXDCTL.ENABLE"},
		{"master-disable-stuck", E_OK, E_OK, ""},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		for (unsigned later = 0; later < 2; later++) {
			power();
			if (later)
				assert_int_equal(timed_probe(), E_OK);
			rig_fault(row[i].fault);
			int e = later ? timed_start() : timed_probe();
			int want = later ? row[i].start : row[i].probe;
			if (e != want || (want != E_OK && !strstr(port.nic.error, row[i].names)))
				fail_msg("%s: %d, %s", row[i].fault, e,
				         port.nic.error ? port.nic.error : "-");
			/* A device that failed moves no frame. */
			uint64_t writes = rig.dma_writes;
			for (unsigned k = 0; e != E_OK && k < 10; k++)
				rig_force(frame, make_numbered(k), 0);
			rig_run(10000000);
			if (e != E_OK)
				assert_int_equal(rig.dma_writes, writes);
			timed_stop();
			rig_fault_clear(row[i].fault);
			assert_recovers();
			rig_forgive();
			teardown(NULL);
		}
	}
}

/* The link does without what fails, and says so once. */
static void link_faults(void **s)
{
	(void)s;
	static const struct {
		const char *fault, *why;
	} row[] = {
		{"eeprom-stuck", "EERD.DONE"},
		{"module-out", "no module"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		unsigned told = 0;
		power();
		assert_int_equal(timed_probe(), E_OK);
		rig_fault(row[i].fault);
		assert_int_equal(timed_start(), E_OK);
		port_attach();
		for (unsigned ms = 0; ms < 7000; ms++, rig_run(1000000)) {
			const char *why = link_now().why;
			if (why && !strstr(why, row[i].why))
				fail_msg("%s: %s", row[i].fault, why);
			told += why != NULL;
		}
		assert_int_equal(told, 1);
		assert_null(port.nic.error);
		rig_fault_clear(row[i].fault);
		assert_true(link_within(3000).up); /* plugged in, or read, while the port runs */
		assert_int_equal(traffic(320), 320);
		timed_stop();
		teardown(NULL);
	}
}

/* 4.6.7: a receive path that never says that it is empty is started all the same, as by other drivers, and told. */
static void receive_path_never_rests(void **s)
{
	(void)s;
	unsigned told = 0;
	power();
	assert_int_equal(timed_probe(), E_OK);
	rig_fault_arg("secrx-late", 1000000);
	assert_int_equal(timed_start(), E_OK);
	port_attach();
	for (unsigned ms = 0; ms < 3000; ms++, rig_run(1000000)) {
		const char *why = link_now().why;
		told += why && strstr(why, "SECRXSTAT");
	}
	assert_int_equal(told, 1);
	assert_null(port.nic.error);
	assert_int_equal(traffic(320), 320);
	timed_stop();
	teardown(NULL);
}

/* 5.2.5.3.2: a device whose DMA does not end is flushed and reset twice. */
static void master_disable_takes_two_resets(void **s)
{
	(void)s;
	for (unsigned stuck = 0; stuck < 2; stuck++) {
		unsigned resets = 0;
		uint64_t last = 0;
		power();
		if (stuck)
			rig_fault("master-disable-stuck");
		assert_int_equal(timed_probe(), E_OK);
		for (unsigned i = 0; i < port.traced; i++)
			if (port.trace[i].write && port.trace[i].offset == 0 &&
			    port.trace[i].value & 0x04000008) {
				assert_true(port.trace[i].at - last > 1000);
				last = port.trace[i].at;
				resets++;
			}
		assert_int_equal(resets, 1 + stuck);
		assert_int_equal(find_access(0, WRITES, 0x11050, 4) >= 0, stuck); /* GCR_EXT */
		assert_recovers();
		rig_forgive();
		teardown(NULL);
	}
}

/* PCIe 7.8.16: requests may wait as long as Device Control 2 allows. The buffers are cleared after that, not before;
 * a range of minutes is not waited for. */
static void flush_waits_for_completions(void **s)
{
	(void)s;
	static const struct {
		uint16_t range;
		uint64_t pending_ms, least_ms, most_ms;
	} row[] = {
		{0, 70, 70, 130}, {0, 4000, 80, 130}, {6, 130, 130, 180}, {9, 500, 500, 700},
		{0xa, 1900, 1900, 2600}, {0xe, 4000, 2000, 2600},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power();
		rig_fault("master-disable-stuck");
		port.completion_timeout = row[i].range;
		/* from the end of the poll for STATUS.GIO on */
		const uint64_t start = rig.now + 100000000;
		port.pending_until = start + row[i].pending_ms * 1000000;
		assert_int_equal(timed_probe(), E_OK);
		const int clears = find_access(0, WRITES, 0x11050, 4);
		assert_true(clears >= 0);
		const uint64_t waited = (port.trace[clears].at - start) / 1000000;
		if (waited < row[i].least_ms || waited > row[i].most_ms)
			fail_msg("range %x: %llu ms", row[i].range, (unsigned long long)waited);
		rig_forgive();
		teardown(NULL);
	}
}

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
		up(2, ALL, STANDARD);
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
				up(2, ALL, STANDARD);
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
			ixgbe_ops.stats(&port.nic, &stats);
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
	assert_non_null(strstr(port.nic.error, "no more"));
	timed_stop();
}

static void removed_before_start(void **s)
{
	(void)s;
	power();
	assert_int_equal(timed_probe(), E_OK);
	rig.m->removed = true;
	assert_int_equal(timed_start(), E_DEVICE);
	assert_non_null(strstr(port.nic.error, "no more"));
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
		assert_non_null(strstr(port.nic.error, "no more"));
		timed_stop();
		teardown(NULL);
	}
	power();
}

static void removed_under_traffic(void **s)
{
	(void)s;
	struct nic_stats stats = {.rx_crc = 5};
	up(2, ALL, STANDARD);
	traffic(320);
	rig.m->removed = true;
	struct nic_link l = link_now();
	assert_true(l.gone && !l.up);
	ixgbe_ops.stats(&port.nic, &stats);
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
	ixgbe_ops.rx_interrupt(&port.pair[0].q, true);
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
	up(2, ALL, STANDARD);
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
		cmocka_unit_test(start_up_faults),
		cmocka_unit_test(link_faults),
		cmocka_unit_test(receive_path_never_rests),
		cmocka_unit_test(master_disable_takes_two_resets),
		cmocka_unit_test(flush_waits_for_completions),
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
