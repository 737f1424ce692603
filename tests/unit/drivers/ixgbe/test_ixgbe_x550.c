/*
 * The ixgbe driver and the X550 model in one process, as far as an X550 differs: EEPROM and end of receive by
 * commands to the firmware, semaphores, PHY, speeds, the table of 512 entries. test_ixgbe_driver.c has the rest, on
 * an 82599; the tests of traffic run on both.
 */
#include "tests/unit/rig/ixgbe_port.h"
#include "tests/unit/rig/spread.h"

#include "drivers/intel/device.h"
#include "tools/nicsim/82599/82599.h"

/* Registers, for the trace. */
enum {
	CTRL = 0x0,
	EERD = 0x10014,
	SW_FW_SYNC = 0x10160,
	FLEX_MNG = 0x15800,
	HICR = 0x15f00,
	RXPBSIZE = 0x3c00,
	RETA = 0x5c00,
	ERETA = 0xee80,
	RXCTRL = 0x3000,
	MSRWD = 0x4260,
	AUTOC = 0x42a0,
	READ_SHADOW_RAM = 0x31,
	DISABLE_RX = 0xde,
};

/* Commands of this kind given to the firmware. */
static unsigned commands(uint8_t kind)
{
	unsigned n = 0;
	for (int i = -1; (i = find_access((unsigned)i + 1, WRITES, FLEX_MNG, 4)) >= 0;)
		n += (uint8_t)port.trace[i].value == kind;
	return n;
}

/* The table is 5, that is pairs 0 and 2 in turn. */
static void only_what_changes_is_written(void)
{
	uint8_t pair_of[512];
	for (unsigned b = 0; b < 512; b++)
		pair_of[b] = b % 2 ? 2 : 0;
	pair_of[300] = 3;
	port.traced = 0;
	assert_int_equal(ixgbe_ops.table(&port.nic, pair_of), E_OK);
	assert_int_equal(find_access(0, WRITES, RETA, 4 * 32), -1);
	const int at = find_access(0, WRITES, ERETA, 4 * 96);
	assert_int_equal(port.trace[at].offset, ERETA + 300 - 128);
	assert_int_equal(port.trace[at].value, 0x02000203);
	assert_int_equal(find_access((unsigned)at + 1, WRITES, ERETA, 4 * 96), -1);
}

static void starts(void **s)
{
	(void)s;
	static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	power();
	if (port_probe() != E_OK)
		fail_msg("%s", port.nic.error);
	assert_memory_equal(port.nic.mac, mac, 6);
	assert_int_equal(port.nic.pairs_max, 16);
	assert_int_equal(port.nic.features, ALL | NIC_VLAN);
	assert_int_equal(find_access(0, WRITES, EERD, 4), -1);
	assert_in_range(commands(READ_SHADOW_RAM), 5, 30); /* many words a command */
	assert_int_equal(commands(DISABLE_RX), 0);          /* it was not on */
	port.traced = 0;
	assert_int_equal(port_start(4, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_true(link_within(1000).up);
	assert_int_equal(link_now().mbps, 10000);
	assert_int_equal(port.trace[find_access(0, WRITES, RXPBSIZE, 4)].value, 384 << 10);
	assert_int_equal(find_access(0, WRITES, AUTOC, 4), -1);
	assert_true(find_access(0, WRITES, MSRWD, 4) >= 0); /* PAUSE is no longer advertised */
	/* All 512 entries. */
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(rig_read(RETA + 4 * i), 0x03020100);
	for (unsigned i = 0; i < 96; i++)
		assert_int_equal(rig_read(ERETA + 4 * i), 0x03020100);
	assert_int_equal(rig_spread(&ixgbe_ops, &port.nic, 5), E_OK);
	assert_int_equal(rig_read(ERETA + 4 * 95), 0x02000200);
	only_what_changes_is_written();
	/* Stop: the firmware disables receive before the reset. */
	port.traced = 0;
	port_stop();
	assert_int_equal(commands(DISABLE_RX), 1);
	assert_true(find_access(0, WRITES, FLEX_MNG, 4) < find_access(0, WRITES, CTRL, 4));
	assert_int_equal(rig_read(RXCTRL), 0);
	/* The next start leaves the link alone. */
	port.traced = 0;
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_true(link_now().up);
	assert_int_equal(find_access(0, WRITES, MSRWD, 4), -1);
	port_stop();
}

static void wakes_the_phy(void **s)
{
	(void)s;
	power();
	intel_82599_set_phy(rig.m, 7); /* left in low power */
	assert_int_equal(port_probe(), E_OK);
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_true(link_within(1000).up);
	port_stop();
}

static void speeds(void **s)
{
	(void)s;
	static const uint32_t mbps[] = {100, 1000, 2500, 5000, 10000};
	uint32_t set;
	up(1, ALL, STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(mbps); i++) {
		intel_x550_set_partner(rig.m, mbps[i]);
		assert_true(link_now().up);
		assert_int_equal(link_now().mbps, mbps[i]);
	}
	/* A rate is a part of the link's. */
	intel_x550_set_partner(rig.m, 2500);
	assert_int_equal(ixgbe_ops.rate(&port.nic, 0, 1250000, &set), E_OK);
	assert_int_equal(set, 1250000);
	assert_int_equal(ixgbe_ops.rate(&port.nic, 0, 2500000, &set), E_INVAL);
}

static void has_no_clock(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	assert_true(port.nic.no_clock);
	assert_int_equal(ixgbe_ops.time_start(&port.nic), E_NOTSUP);
	assert_non_null(strstr(port.nic.error, "clock"));
}

/* --- firmware that fails --- */

static void wrong_checksum(void **s)
{
	(void)s;
	static const uint8_t words[] = {0x10, 0x40, 0x41, 0x06}; /* covered, or pointers to what is */
	for (unsigned i = 0; i < ARRAY_LEN(words); i++) {
		power();
		intel_82599_eeprom(rig.m)[words[i]] ^= 1;
		assert_int_equal(port_probe(), E_DEVICE);
		assert_non_null(strstr(port.nic.error, "checksum"));
		teardown(NULL);
	}
	power(); /* in a section without a word of length, its last word */
	uint16_t *eeprom = intel_82599_eeprom(rig.m);
	eeprom[eeprom[6] + 0x23] ^= 1;
	assert_int_equal(port_probe(), E_DEVICE);
	eeprom[eeprom[6] + 0x23] ^= 1;
	eeprom[eeprom[6] + 0x24] ^= 1; /* behind it */
	assert_int_equal(port_probe(), E_OK);
	/* Sections that lie outside. */
	const uint16_t six = eeprom[6];
	eeprom[6] = 0x1ff;
	assert_int_equal(port_probe(), E_DEVICE);
	assert_non_null(strstr(port.nic.error, "outside"));
	eeprom[6] = 0x2000; /* beyond the size that EEC states: none, as in other drivers */
	assert_int_equal(port_probe(), E_DEVICE);
	assert_non_null(strstr(port.nic.error, "checksum"));
	eeprom[6] = six;
	assert_int_equal(port_probe(), E_OK);
}

static void stuck(void **s)
{
	(void)s;
	power();
	rig_fault("firmware-stuck");
	uint64_t began = rig.now;
	assert_int_equal(port_probe(), E_TIMEOUT);
	assert_non_null(strstr(port.nic.error, "HICR.C"));
	assert_true(rig.now - began < 3000000000);
	/* The command is still there when the firmware wakes: it is waited for. */
	rig_fault_clear("firmware-stuck");
	if (port_probe() != E_OK)
		fail_msg("%s", port.nic.error);
	assert_int_equal(port_start(1, ALL, STANDARD, 1600), E_OK);
	port_attach();
	assert_true(link_within(1000).up);
	/* Receive ends without the firmware, too. */
	rig_fault("firmware-stuck");
	port_stop();
	assert_int_equal(rig_read(RXCTRL), 0);
	rig_fault_clear("firmware-stuck");
	assert_int_equal(rig_read(SW_FW_SYNC) & 0x7fffffff, 0); /* no semaphore is left behind */
}

static uint32_t refuse(uint32_t value)
{
	const struct access *a = &port.trace[port.traced - 1];
	return a->offset == HICR ? value & ~4u : value; /* SV */
}

static uint32_t off(uint32_t value)
{
	const struct access *a = &port.trace[port.traced - 1];
	return a->offset == HICR ? value & ~1u : value; /* EN */
}

static void refuses(void **s)
{
	(void)s;
	power();
	port.lie = refuse;
	assert_int_equal(port_probe(), E_DEVICE);
	assert_non_null(strstr(port.nic.error, "HICR.SV"));
	port.lie = off;
	assert_int_equal(port_probe(), E_DEVICE);
	assert_non_null(strstr(port.nic.error, "HICR.EN"));
	port.lie = NULL;
	assert_int_equal(port_probe(), E_OK);
}

/* The firmware has no bit for its own interface; its bits for the rest are respected. */
static void semaphores(void **s)
{
	(void)s;
	power();
	assert_int_equal(port_probe(), E_OK);
	rig_read(SW_FW_SYNC);
	rig_write(SW_FW_SYNC, 1u << 15 | 1u << 6); /* INTEL_SYNC_MNG << 5, which means nothing; firmware has the PHY */
	rig_expect_violation("SW_FW_SYNC");         /* bit 15 is reserved */
	assert_int_equal(intel_lock_now(&port.nic, INTEL_SYNC_MNG, false), E_OK);
	assert_int_equal(intel_lock_now(&port.nic, INTEL_SYNC_MNG, false), E_AGAIN);
	intel_unlock(&port.nic, INTEL_SYNC_MNG);
	assert_int_equal(intel_lock_now(&port.nic, INTEL_SYNC_PHY0, false), E_AGAIN);
	rig_read(SW_FW_SYNC);
	rig_write(SW_FW_SYNC, 0);
	assert_int_equal(intel_lock_now(&port.nic, INTEL_SYNC_PHY0, false), E_OK);
	intel_unlock(&port.nic, INTEL_SYNC_PHY0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(starts, teardown),
		cmocka_unit_test_teardown(wakes_the_phy, teardown),
		cmocka_unit_test_teardown(speeds, teardown),
		cmocka_unit_test_teardown(has_no_clock, teardown),
		cmocka_unit_test_teardown(wrong_checksum, teardown),
		cmocka_unit_test_teardown(stuck, teardown),
		cmocka_unit_test_teardown(refuses, teardown),
		cmocka_unit_test_teardown(semaphores, teardown),
	};
	int failed = cmocka_run_group_tests_name("strict", tests, strict, NULL);
	return failed + cmocka_run_group_tests_name("line rate", tests, line_rate, NULL);
}
