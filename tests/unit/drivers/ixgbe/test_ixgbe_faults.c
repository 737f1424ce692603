/*
 * The ixgbe driver and an 82599 model that misbehaves: what start-up names, and what only this card has.
 * tests/unit/drivers/test_hostile_card.c has the faults of all of Intel's cards. Each ends within a deadline: in an
 * error that names the cause, or counted and survived.
 */
#include "tests/unit/rig/intel_faults.h"
#include "tests/unit/rig/ixgbe_port.h"

/* --- faults that start-up must name --- */

static void start_up_faults(void **s)
{
	(void)s;
	static const struct start_up_fault row[] = {
		{"reset-stuck", E_TIMEOUT, E_TIMEOUT, "CTRL.RST"},
		{"eeprom-checksum", E_DEVICE, E_OK, "checksum"},
		{"eeprom-stuck", E_TIMEOUT, E_OK, "EERD.DONE"},
		{"no-dma-done", E_TIMEOUT, E_TIMEOUT, "RDRXCTL.DMAIDONE"},
		{"secrx-late", E_OK, E_OK, ""},
		{"rxdctl-stuck", E_OK, E_TIMEOUT, "RXDCTL.ENABLE"},
		{"txdctl-stuck", E_OK, E_TIMEOUT, "TXDCTL.ENABLE"},
		{"master-disable-stuck", E_OK, E_OK, ""},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		assert_start_up_names(&row[i]);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_up_faults),
		cmocka_unit_test(link_faults),
		cmocka_unit_test(receive_path_never_rests),
		cmocka_unit_test(master_disable_takes_two_resets),
		cmocka_unit_test(flush_waits_for_completions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
