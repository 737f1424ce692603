/*
 * The X550 model (tools/nicsim/82599/x550.c, phy.c), as far as it differs from the 82599: the host interface, the
 * semaphore of SW_FW_SYNC, the PHY and the link, the redirection table, the packet buffer.
 */
#include "tests/unit/rig/drive_82599.h"

#include "tools/nicsim/82599/state.h"

static int up(void **s)
{
	(void)s;
	rig_start(&intel_x550_ops, RIG_STRICT);
	return 0;
}

/* --- semaphores --- */

static void take(uint32_t what)
{
	assert_int_equal(rig_read(SW_FW_SYNC) & SYNC_REGSMP, 0);
	rig_write(SW_FW_SYNC, (rig_read(SW_FW_SYNC) | what) & ~SYNC_REGSMP);
}

static void semaphore(void **s)
{
	(void)s;
	assert_int_equal(rig_read(SW_FW_SYNC), 0);
	assert_int_equal(rig_read(SW_FW_SYNC), SYNC_REGSMP); /* the first read has taken it */
	rig_write(SW_FW_SYNC, SYNC_SW_MNG);
	assert_int_equal(rig_read(SW_FW_SYNC), SYNC_SW_MNG);
	rig_write(SW_FW_SYNC, 0);
	assert_false(rig_violated());
	rig_write(SW_FW_SYNC, 1); /* not taken */
	rig_expect_violation("REGSMP");
}

/* --- host interface --- */

/* Gives a command to the firmware; true if its answer is valid. */
static bool command(const uint32_t *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rig_write(FLEX_MNG + 4 * i, words[i]);
	rig_write(HICR, HICR_EN | HICR_C);
	assert_true(rig_read(HICR) & HICR_C); /* it takes a while */
	rig_run(1000000);
	assert_int_equal(rig_read(HICR) & ~HICR_SV, HICR_EN);
	return rig_read(HICR) & HICR_SV;
}

static bool read_words(uint32_t at, uint32_t n)
{
	const uint32_t bytes = 2 * n;
	const uint32_t words[] = {0xff060031, __builtin_bswap32(2 * at), (bytes >> 8 & 0xff) | (bytes & 0xff) << 8};
	return command(words, 3);
}

static uint16_t answer(unsigned i)
{
	return (uint16_t)(rig_read(FLEX_MNG + 12 + i / 2 * 4) >> 16 * (i % 2));
}

static void shadow_ram(void **s)
{
	(void)s;
	const uint16_t *eeprom = intel_82599_eeprom(rig.m);
	uint16_t sum = 0;
	take(SYNC_SW_MNG);
	assert_true(read_words(0, 0x42));
	for (unsigned i = 0; i < 0x42; i++) {
		assert_int_equal(answer(i), eeprom[i]);
		sum = (uint16_t)(sum + eeprom[i]);
	}
	assert_int_equal(rig_read(FLEX_MNG), 0xff010031); /* the answer's header */
	/* Sections without a word of length, then those with one. */
	const struct {
		uint8_t word, words;
	} fixed[] = {{6, 0x24}, {7, 8}};
	for (unsigned i = 0; i < 2; i++) {
		assert_true(read_words(eeprom[fixed[i].word], fixed[i].words));
		for (unsigned k = 0; k < fixed[i].words; k++)
			sum = (uint16_t)(sum + answer(k));
	}
	for (unsigned k = 1; k <= eeprom[eeprom[9]]; k++)
		sum = (uint16_t)(sum + eeprom[eeprom[9] + k]);
	assert_int_equal(sum, 0xbaba);
	assert_true(read_words(EEPROM_WORDS - 1, 1)); /* the last one; an odd number of words */
	assert_int_equal(rig_read(FLEX_MNG + 12), 0xffff);
	assert_true(read_words(0, 512)); /* the longest answer */
	assert_int_equal(answer(511), eeprom[511]);
}

static void wrong_commands(void **s)
{
	(void)s;
	const uint32_t unknown[] = {0xff000077}, sum[] = {0x00060031, 0, 0x0200}, length[] = {0xff050031, 0, 0x0200};
	const uint32_t port[] = {0xff0001de, 1};
	take(SYNC_SW_MNG);
	assert_false(command(unknown, 1));
	rig_expect_violation("0x77 is unknown");
	assert_false(command(sum, 3));
	rig_expect_violation("wrong checksum");
	assert_false(command(length, 3));
	rig_expect_violation("shadow RAM");
	assert_false(command(port, 2));
	rig_expect_violation("port 1");
	const struct {
		uint32_t at, words;
	} outside[] = {{EEPROM_WORDS, 1}, {EEPROM_WORDS - 1, 2}, {0x7fffffff, 1}, {0, 513}, {0, 0}};
	for (unsigned i = 0; i < 5; i++) {
		assert_false(read_words(outside[i].at, outside[i].words));
		rig_expect_violation("shadow RAM");
	}
	/* a second command before the first has ended */
	rig_write(HICR, HICR_C);
	rig_write(HICR, HICR_C);
	rig_expect_violation("under way");
	rig_run(1000000);
	rig_forgive();
	rig_write(EERD, EERD_START);
	rig_expect_violation("EERD");
	rig_run(1000000);
	assert_false(rig_read(EERD) & EERD_DONE && rig_read(EERD) >> 16);
}

static void needs_the_semaphore(void **s)
{
	(void)s;
	assert_true(read_words(0, 1));
	rig_expect_violation("SW_MNG");
	rig_write(MSCA, MSCA_COMMAND | 1u << 16);
	rig_expect_violation("SW_PHY_SM0");
}

static void firmware_that_hangs(void **s)
{
	(void)s;
	take(SYNC_SW_MNG);
	rig_fault("firmware-stuck");
	rig_write(FLEX_MNG, 0xff0001de);
	rig_write(FLEX_MNG + 4, 0);
	rig_write(HICR, HICR_C);
	rig_run(1000000000);
	assert_true(rig_read(HICR) & HICR_C);
	rig_fault_clear("firmware-stuck");
	rig_run(1000);
	assert_int_equal(rig_read(HICR), HICR_EN | HICR_SV);
	/* A reset ends a command. */
	rig_write(HICR, HICR_C);
	rig_write(CTRL, CTRL_RST);
	rig_run(2000);
	assert_int_equal(rig_read(HICR), HICR_EN);
}

static void firmware_disables_receive(void **s)
{
	(void)s;
	static const uint8_t other_version[] = {0xdd, 0x13, 0, 0xc6, 0, 1, 2, 3, 4, 'a'};
	const uint32_t off[] = {0xff0001de, 0};
	uint32_t version[8] = {0};
	uint8_t sum = 0;
	drive_all();
	assert_true(rig_read(RXCTRL) & RXCTRL_RXEN);
	take(SYNC_SW_MNG);
	assert_true(command(off, 2));
	assert_int_equal(rig_read(FLEX_MNG), 0xff0100de);
	assert_int_equal(rig_read(RXCTRL), 0);
	/* The driver's version, with a checksum that counts. */
	memcpy(version, other_version, sizeof other_version);
	version[0] &= 0xffffff;
	for (unsigned i = 0; i < 4 + 0x13; i++)
		sum = (uint8_t)(sum + ((uint8_t *)version)[i]);
	version[0] |= (uint32_t)(uint8_t)-sum << 24;
	assert_true(command(version, 8));
}

/* --- PHY and link --- */

static void mdio(uint32_t operation, unsigned phy, unsigned device, uint16_t reg)
{
	rig_write(MSCA, MSCA_COMMAND | phy << 21 | device << 16 | reg);
	rig_write(MSCA, MSCA_COMMAND | operation << 26 | phy << 21 | device << 16 | reg);
	assert_false(rig_read(MSCA) & MSCA_COMMAND);
}

static uint16_t phy_read(unsigned phy, unsigned device, uint16_t reg)
{
	mdio(3, phy, device, reg);
	return (uint16_t)(rig_read(MSRWD) >> 16);
}

static void phy_write(unsigned device, uint16_t reg, uint16_t value)
{
	rig_write(MSRWD, value);
	mdio(1, 0, device, reg);
}

static void phy(void **s)
{
	(void)s;
	take(SYNC_SW_PHY0);
	assert_int_equal(phy_read(1, 1, 8), 0xffff); /* nobody there */
	assert_int_equal(phy_read(0, 1, 8) & 0xc000, 0x8000);
	assert_int_equal(phy_read(0, 1, 2), 0x0154);
	phy_write(1, 2, 0); /* read-only */
	assert_int_equal(phy_read(0, 1, 2), 0x0154);
	assert_int_equal(phy_read(0, 3, 17), 0); /* one it does not have */
	phy_write(7, 16, 0x0001);
	assert_int_equal(phy_read(0, 7, 16), 0x0001);
	rig_run(100000000);
	assert_true(rig_read(LINKS) & LINKS_UP);
	phy_write(30, 0, 0x0800); /* low power */
	assert_false(rig_read(LINKS) & LINKS_UP);
	rig_run(100000000);
	assert_false(rig_read(LINKS) & LINKS_UP);
	phy_write(30, 0, 0);
	rig_run(100000000);
	assert_true(rig_read(LINKS) & LINKS_UP);
	phy_write(7, 0, 0x1200); /* negotiates anew */
	assert_int_equal(phy_read(0, 7, 0), 0x1000);
	assert_false(rig_read(LINKS) & LINKS_UP);
	rig_run(100000000);
	assert_true(rig_read(LINKS) & LINKS_UP);
}

static void speeds(void **s)
{
	(void)s;
	const struct {
		uint32_t mbps, links; /* bits 29:27 */
	} row[] = {{100, 2}, {1000, 4}, {2500, 7}, {5000, 3}, {10000, 6}};
	rig_run(100000000);
	for (unsigned i = 0; i < 5; i++) {
		intel_x550_set_partner(rig.m, row[i].mbps);
		assert_int_equal(rig_read(LINKS) >> 27 & 7, row[i].links);
		assert_true(rig_read(LINKS) & LINKS_UP);
	}
}

/* --- receive --- */

static void table_of_512(void **s)
{
	(void)s;
	drive_up();
	for (unsigned i = 0; i < 32; i++)
		rig_write(0x5c00 + 4 * i, 0x01010101); /* the alias of RETA */
	for (unsigned i = 0; i < 96; i++)
		rig_write(ERETA + 4 * i, i < 95 ? 0x02020202 : 0x3f020202);
	rss_refresh(rig.m);
	assert_int_equal(rss_queue(rig.m, 127), 1);
	assert_int_equal(rss_queue(rig.m, 128), 2);
	assert_int_equal(rss_queue(rig.m, 511), 0x3f); /* six bits an entry */
	assert_int_equal(rss_queue(rig.m, 512), 1);
}

static void packet_buffer(void **s)
{
	(void)s;
	assert_int_equal(rig_read(RXPBSIZE), 384 << 10);
	rig_write(RXPBSIZE, 384 << 10);
	assert_false(rig_violated());
	rig_write(RXPBSIZE, 512 << 10);
	rig_expect_violation("384 KB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(semaphore, up, rig_stop),
		cmocka_unit_test_setup_teardown(shadow_ram, up, rig_stop),
		cmocka_unit_test_setup_teardown(wrong_commands, up, rig_stop),
		cmocka_unit_test_setup_teardown(needs_the_semaphore, up, rig_stop),
		cmocka_unit_test_setup_teardown(firmware_that_hangs, up, rig_stop),
		cmocka_unit_test_setup_teardown(firmware_disables_receive, up, rig_stop),
		cmocka_unit_test_setup_teardown(phy, up, rig_stop),
		cmocka_unit_test_setup_teardown(speeds, up, rig_stop),
		cmocka_unit_test_setup_teardown(table_of_512, up, rig_stop),
		cmocka_unit_test_setup_teardown(packet_buffer, up, rig_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
