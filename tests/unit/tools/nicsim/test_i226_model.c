/*
 * The I226 model (tools/nicsim/i226/): registers, semaphores, EEPROM, PHY and link, interrupts, and what it has of
 * its own in the paths of frames. The queues that it shares with the 82599 are tested there (test_82599_rx.c,
 * test_82599_tx.c). Each rule is broken once.
 */
#include "tests/unit/rig/drive_i226.h"

static uint32_t flow_frame(uint16_t sport, bool tagged)
{
	struct flow flow = {.version = 4, .protocol = 17, .payload = 100, .sport = sport, .dport = 9, .tagged = tagged,
	                    .tci = 0x2005};
	return make_ip(f, &flow);
}

/* --- identity, reset, EEPROM, semaphores --- */

static void after_reset(void **s)
{
	(void)s;
	assert_int_equal(rig_read(RAL), 0x5e0002u);
	assert_int_equal(rig_read(RAH), RAH_AV | 0x0153);
	assert_true(rig_read(EEC) & EEC_FLASH);
	rig_write(RXPBS, 0x22);
	rig_write(RCTL, 0);
	rig_write(MTA, 5);
	drive_reset();
	assert_int_equal(rig_read(RXPBS), 0x22); /* survives */
	assert_int_equal(rig_read(MTA), 0);
	assert_false(rig_read(STATUS) & STATUS_LU); /* SLU is clear */
	rig_write(CTRL, CTRL_SLU);
	assert_true(rig_read(STATUS) & STATUS_LU); /* the PHY kept its link */
}

static void reset_takes_time(void **s)
{
	(void)s;
	rig_write(CTRL, CTRL_DEV_RST);
	rig_write(RCTL, RCTL_EN);
	rig_expect_violation("during reset");
	assert_true(drive_becomes(CTRL, CTRL_DEV_RST, 0));
	rig_write(CTRL, CTRL_GIO_DIS);
	assert_false(rig_read(STATUS) & STATUS_GIO_MASTER);
}

static void eeprom_sums_up(void **s)
{
	(void)s;
	uint16_t sum = 0;
	drive_sync(0, SYNC_EEP);
	for (unsigned i = 0; i <= 0x3f; i++)
		sum = (uint16_t)(sum + drive_eeprom(i));
	assert_int_equal(sum, 0xbaba);
	assert_int_equal(drive_eeprom(0), 0x0002);
	assert_int_equal(drive_eeprom(2), 0x0153);
	assert_memory_equal(i226_eeprom(rig.m), "\x02\x00\x5e\x00\x53\x01", 6);
	drive_sync(SYNC_EEP, 0);
	rig_write(EERD, EERD_START);
	rig_expect_violation("EERD");
}

static void semaphores(void **s)
{
	(void)s;
	assert_int_equal(rig_read(SWSM) & SWSM_SMBI, 0); /* taken by this read */
	assert_int_equal(rig_read(SWSM) & SWSM_SMBI, SWSM_SMBI);
	rig_write(SW_FW_SYNC, SYNC_PHY);
	rig_expect_violation("SW_FW_SYNC");
	rig_write(SWSM, 0);
	drive_sync(SYNC_PHY, 0);
	assert_int_equal(rig_read(SW_FW_SYNC), 0);
}

/* --- the PHY --- */

static void phy_registers(void **s)
{
	(void)s;
	drive_sync(0, SYNC_PHY);
	assert_int_equal(drive_phy_get(PHY_ID1), 0x67c9);
	assert_int_equal(drive_phy_get(PHY_ID2) & 0xfff0, 0xdc00);
	assert_int_equal(drive_phy_get(PHY_STATUS) & STATUS_LINK, 0); /* it was down since the last read */
	assert_int_equal(drive_phy_get(PHY_STATUS) & (STATUS_LINK | STATUS_DONE), STATUS_LINK | STATUS_DONE);
	drive_mmd(MMD_AN, AN_MULTI);
	assert_int_equal(drive_phy_get(PHY_MMD_DATA) & MULTI_2500, MULTI_2500);
	drive_mmd(MMD_AN, AN_MULTI_STATUS);
	assert_int_equal(drive_phy_get(PHY_MMD_DATA), MULTI_PARTNER_2500);
	drive_mmd(3, 1000); /* not there */
	drive_phy_put(PHY_MMD_DATA, 5);
	assert_int_equal(drive_phy_get(PHY_MMD_DATA), 0);
	drive_phy_put(PHY_ID1, 0);
	rig_expect_violation("read-only");
	for (unsigned i = 0; i < 2; i++) {
		rig_carrier(false);
		if (i) /* a read while the link is down does not end the latch */
			assert_int_equal(drive_phy_get(PHY_STATUS) & STATUS_LINK, 0);
		rig_carrier(true);
		rig_run(100000000);
		assert_int_equal(drive_phy_get(PHY_STATUS) & STATUS_LINK, 0); /* latched */
	}
	assert_int_equal(drive_phy_get(PHY_STATUS) & STATUS_LINK, STATUS_LINK);
	drive_sync(SYNC_PHY, 0);
}

static void mdic_rules(void **s)
{
	(void)s;
	rig_write(MDIC, MDIC_READ | PHY_ID1 << MDIC_REG_SHIFT);
	rig_expect_violation("SW_PHY_SM");
	assert_true(drive_becomes(MDIC, MDIC_READY, MDIC_READY));
	drive_sync(0, SYNC_PHY);
	rig_write(MDIC, MDIC_READ | 1u << 21 | PHY_ID1 << MDIC_REG_SHIFT);
	rig_expect_violation("reserved");
	assert_false(rig_read(MDIC) & MDIC_READY);
	rig_write(MDIC, MDIC_READ | PHY_ID2 << MDIC_REG_SHIFT);
	rig_expect_violation("MDIC.READY");
	assert_true(drive_becomes(MDIC, MDIC_READY, MDIC_READY));
	assert_int_equal(rig_read(MDIC) & 0xffff, 0x67c9); /* of the first */
	rig_fault("phy-stuck");
	rig_write(MDIC, MDIC_READ);
	assert_false(drive_becomes(MDIC, MDIC_READY, MDIC_READY));
	rig_fault_clear("phy-stuck");
	rig_run(1000000);
	drive_sync(SYNC_PHY, 0);
	rig_write(CTRL, CTRL_SLU | CTRL_PHY_RST);
	rig_expect_violation("PHY_RST");
	assert_false(rig_read(PHPM) & PHPM_RST_COMP);
	rig_write(CTRL, CTRL_SLU);
	assert_true(rig_read(PHPM) & PHPM_RST_COMP);
}

static uint32_t speed(void)
{
	rig_run(100000000);
	const uint32_t status = rig_read(STATUS);
	return status & STATUS_LU ? status & (STATUS_SPEED_100 | STATUS_SPEED_1000 | STATUS_SPEED_2500) : 1;
}

static void speeds(void **s)
{
	(void)s;
	drive_sync(0, SYNC_PHY);
	assert_int_equal(speed(), STATUS_SPEED_1000 | STATUS_SPEED_2500);
	drive_mmd(MMD_AN, AN_MULTI);
	drive_phy_put(PHY_MMD_DATA, 0);
	drive_phy_put(PHY_CONTROL, CONTROL_AUTO | CONTROL_RESTART);
	assert_int_equal(drive_phy_get(PHY_CONTROL) & CONTROL_RESTART, 0);
	assert_false(rig_read(STATUS) & STATUS_LU);
	assert_int_equal(speed(), STATUS_SPEED_1000);
	drive_phy_put(PHY_1000_CONTROL, 0);
	drive_phy_put(PHY_CONTROL, CONTROL_AUTO | CONTROL_RESTART);
	assert_int_equal(speed(), STATUS_SPEED_100);
	i226_set_partner(rig.m, 10);
	assert_int_equal(speed(), 0);
	drive_phy_put(PHY_ADVERTISE, 0);
	drive_phy_put(PHY_CONTROL, CONTROL_AUTO | CONTROL_RESTART);
	assert_int_equal(speed(), 1); /* nothing in common */
	drive_phy_put(PHY_CONTROL, CONTROL_RESET);
	i226_set_partner(rig.m, 2500);
	assert_int_equal(speed(), STATUS_SPEED_1000 | STATUS_SPEED_2500);
	drive_phy_put(PHY_CONTROL, CONTROL_AUTO | CONTROL_POWER_DOWN);
	assert_int_equal(speed(), 1);
	drive_phy_put(PHY_CONTROL, CONTROL_AUTO);
	assert_int_equal(speed(), STATUS_SPEED_1000 | STATUS_SPEED_2500);
	drive_sync(SYNC_PHY, 0);
}

/* --- interrupts --- */

static void vectors_on(void)
{
	rig_write(GPIE, 1 | GPIE_MULTIPLE_MSIX | GPIE_EIAME | 1u << 31);
	rig_write(IVAR, IVAR_VALID | 1 | (IVAR_VALID | 2) << 8); /* Rx and Tx of queue 0 */
	rig_write(IVAR_MISC, (IVAR_VALID | 0) << 8);
	rig_write(EIAC, 0x1f);
	rig_write(EIMS, 0x1f);
	rig_write(IMS, ICR_LSC);
	memset(rig.irqs, 0, sizeof rig.irqs);
}

static void interrupts(void **s)
{
	(void)s;
	rig_write(GPIE, 1);
	rig_expect_violation("GPIE");
	vectors_on();
	rig_receive(f, flow_frame(1, false));
	assert_int_equal(rig.irqs[1], 1);
	drive_send(0, f, flow_frame(1, false), 0);
	assert_int_equal(rig.irqs[2], 1);
	rig_carrier(false);
	assert_int_equal(rig.irqs[0], 1);
	assert_int_equal(rig_read(ICR), ICR_LSC | ICR_INTA);
	assert_int_equal(rig_read(ICR), 0); /* cleared by the read */
	rig_write(EICS, 1u << 3);
	assert_int_equal(rig.irqs[3], 1);
	assert_int_equal(rig_read(EICR), 0); /* EIAC */
	/* Auto-mask: once, until it is unmasked; then at once, because the cause is set. */
	rig_write(EIAM, 1u << 3);
	rig_write(EICS, 1u << 3);
	assert_int_equal(rig.irqs[3], 2);
	assert_int_equal(rig_read(EIMS), 0x17);
	rig_write(EICS, 1u << 3);
	assert_int_equal(rig.irqs[3], 2);
	rig_write(EIMS, 1u << 3);
	assert_int_equal(rig.irqs[3], 3);
	/* A masked cause of ICR tells when it is unmasked. */
	rig_write(IMC, ICR_LSC);
	rig_carrier(true);
	rig_run(100000000);
	assert_int_equal(rig.irqs[0], 1);
	rig_write(IMS, ICR_LSC);
	assert_int_equal(rig.irqs[0], 2);
}

static void moderation(void **s)
{
	(void)s;
	vectors_on();
	rig_write(EITR + 4, EITR_CNT_IGNR | 400); /* 100 us */
	const uint32_t bytes = flow_frame(1, false);
	rig_receive(f, bytes);
	assert_int_equal(rig.irqs[1], 1);
	for (unsigned i = 0; i < 10; i++)
		rig_receive(f, bytes);
	rig_run(50000);
	assert_int_equal(rig.irqs[1], 1);
	rig_run(60000);
	assert_int_equal(rig.irqs[1], 2);
	rig_run(1000000);
	assert_int_equal(rig.irqs[1], 2);
}

/* --- frames --- */

static void frames_pass(void **s)
{
	(void)s;
	const uint8_t *data;
	struct rig_frame out;
	const uint32_t bytes = flow_frame(5, false);
	for (unsigned i = 0; i < 300; i++) {
		assert_true(rig_receive(f, bytes));
		const uint64_t d = drive_received(0, NULL, &data);
		assert_int_equal(d >> 32 & 0xffff, bytes);
		assert_memory_equal(data, f, bytes);
		drive_refill(0, 1);
		drive_send(0, f, bytes, 0);
		assert_true(rig_sent(&out));
		assert_int_equal(out.bytes, bytes);
		assert_memory_equal(out.data, f, bytes);
	}
}

static void queues_by_hash(void **s)
{
	(void)s;
	unsigned each[4] = {0};
	uint64_t low;
	for (unsigned q = 1; q < 4; q++)
		drive_rx(q, 0);
	for (unsigned i = 0; i < 10; i++)
		rig_write(RSSRK + 4 * i, 0x6d5a6d5au + i * 0x01010101u);
	for (unsigned i = 0; i < 32; i++)
		rig_write(RETA + 4 * i, 0x03020100);
	rig_write(RXCSUM, RXCSUM_PCSD);
	rig_write(MRQC, MRQC_RSS | MRQC_UDP4);
	for (unsigned i = 0; i < 120; i++)
		rig_receive(f, flow_frame((uint16_t)(1000 + 77 * i), false));
	for (unsigned q = 0; q < 4; q++)
		while (drive_received(q, &low, NULL)) {
			assert_int_equal(low >> 32 & 3, q); /* the table has the queues in turn */
			assert_int_equal(low & 15, RSS_UDP4);
			each[q]++;
		}
	assert_int_equal(each[0] + each[1] + each[2] + each[3], 120);
	for (unsigned q = 0; q < 4; q++)
		assert_in_range(each[q], 10, 60);
}

/* CTRL.VME: all queues strip tags, and insert them by descriptor. */
static void tags(void **s)
{
	(void)s;
	struct rig_frame out;
	uint32_t bytes = flow_frame(1, true);
	rig_receive(f, bytes);
	assert_false(drive_received(0, NULL, NULL) & RXD_VP);
	rig_write(CTRL, CTRL_SLU | CTRL_VME);
	rig_receive(f, bytes);
	const uint64_t d = drive_received(0, NULL, NULL);
	assert_true(d & RXD_VP);
	assert_int_equal(d >> 48, 0x2005);
	assert_int_equal(d >> 32 & 0xffff, bytes - 4);
	bytes = flow_frame(1, false);
	drive_desc(0, 0x2005u << 16, 2u << TXD_DTYP_SHIFT | TXD_DEXT); /* context */
	drive_send(0, f, bytes, TXD_VLE);
	assert_true(rig_sent(&out));
	assert_int_equal(out.bytes, bytes + 4);
	assert_memory_equal(out.data + 12, "\x81\x00\x20\x05", 4);
}

static void checksums(void **s)
{
	(void)s;
	const uint32_t bytes = flow_frame(1, false);
	rig_receive(f, bytes);
	assert_int_equal(drive_received(0, NULL, NULL) & (RXD_L4CS | RXD_L4E | RXD_IPE), RXD_L4CS);
	f[bytes - 1] ^= 1;
	rig_receive(f, bytes);
	assert_int_equal(drive_received(0, NULL, NULL) & (RXD_L4E | RXD_IPE), RXD_L4E);
	f[bytes - 1] ^= 1;
	f[22] ^= 1; /* TTL */
	rig_receive(f, bytes);
	assert_int_equal(drive_received(0, NULL, NULL) & (RXD_L4E | RXD_IPE), RXD_IPE);
}

/* Whether a frame that begins with these octets arrives. */
static bool passes_as(uint32_t rctl, const char *head, size_t octets, uint32_t bytes)
{
	rig_write(RCTL, RCTL_EN | RCTL_SECRC | rctl);
	numbered(1, bytes);
	memcpy(f, head, octets);
	rig_force(f, bytes, 0);
	bool came = false;
	while (drive_received(0, NULL, NULL)) {
		came = true;
		drive_refill(0, 1);
	}
	return came;
}

static bool passes(uint32_t rctl, const char *to, uint32_t bytes)
{
	return passes_as(rctl, to, 6, bytes);
}

static void filters(void **s)
{
	(void)s;
	const char us[] = "\x02\x00\x5e\x00\x53\x01", other[] = "\x02\x00\x5e\x00\x53\x02",
	           all[] = "\xff\xff\xff\xff\xff\xff", group[] = "\x01\x00\x5e\x00\x00\x05";
	assert_true(passes(0, us, 100));
	assert_false(passes(0, other, 100));
	assert_true(passes(RCTL_UPE, other, 100));
	assert_false(passes(0, all, 100));
	assert_true(passes(RCTL_BAM, all, 100));
	assert_false(passes(0, group, 100));
	assert_true(passes(RCTL_MPE, group, 100));
	for (unsigned i = 0; i < 128; i++)
		rig_write(MTA + 4 * i, ~0u);
	assert_true(passes(0, group, 100));
	assert_true(passes(0, us, 1514));
	assert_false(passes(0, us, 1515)); /* 1519 bytes with FCS */
	assert_true(passes(RCTL_LPE, us, 1515));
	rig_write(RLPML, 1600);
	assert_true(passes(RCTL_LPE, us, 1596));
	assert_false(passes(RCTL_LPE, us, 1597));
	/* a tag comes on top of 1518 bytes, but RLPML counts it */
	const char tagged[] = "\x02\x00\x5e\x00\x53\x01\x02\x00\x00\x00\x00\x01\x81";
	assert_true(passes_as(0, tagged, sizeof tagged, 1518));
	assert_false(passes_as(0, tagged, sizeof tagged, 1519));
	assert_true(passes_as(RCTL_LPE, tagged, sizeof tagged, 1596));
	assert_false(passes_as(RCTL_LPE, tagged, sizeof tagged, 1597));
}

/* With DROP_EN a full ring drops into RQDPC, which a read does not clear; without, frames wait, and then MPC counts. */
static void losses(void **s)
{
	(void)s;
	const uint32_t bytes = flow_frame(1, false);
	for (unsigned i = 0; i < RING - 1 + 5; i++)
		rig_force(f, bytes, 0);
	assert_int_equal(rig_read(RQDPC), 0);
	for (unsigned i = 0; i < 1000; i++)
		rig_force(f, bytes, 0);
	const uint32_t missed = rig_read(0x4010);
	assert_true(missed > 700 && missed < 1000); /* 34 KB wait */
	assert_int_equal(rig_read(0x4010), 0);
	assert_true(rig_read(ICR) & ICR_RXO);
	drive_refill(0, 0);
	rig_write(RCTL, 0); /* discards what waits */
	rig_write(RXDCTL, 0);
	drive_rx(0, SRRCTL_DROP_EN);
	rig_write(RCTL, RCTL_ALL);
	for (unsigned i = 0; i < RING - 1 + 5; i++)
		rig_force(f, bytes, 0);
	assert_int_equal(rig_read(RQDPC), 5);
	assert_int_equal(rig_read(RQDPC), 5);
	rig_write(RQDPC, 0);
	assert_int_equal(rig_read(RQDPC), 0);
}

static void counters(void **s)
{
	(void)s;
	const uint32_t bytes = flow_frame(1, false);
	for (unsigned i = 0; i < 3; i++)
		rig_receive(f, bytes);
	drive_send(0, f, bytes, 0);
	assert_int_equal(rig_read(0x4074), 3);               /* GPRC */
	assert_int_equal(rig_read(0x4088), 3 * (bytes + 4)); /* GORCL */
	assert_int_equal(rig_read(0x408c), 0);
	assert_int_equal(rig_read(0x4080), 1); /* GPTC */
	assert_int_equal(rig_read(0x4104), 3); /* RPTHC */
	assert_int_equal(rig_read(0x4118), 1); /* HGPTC */
	assert_int_equal(rig_read(0x4074), 0);
	rig_force(f, bytes, FRAME_BAD_FCS);
	assert_int_equal(rig_read(0x4000), 1); /* CRCERRS */
}

/* A guest may turn bus mastering off at any time: frames wait, and none is reported as a bad address. */
static void without_bus_mastering(void **s)
{
	(void)s;
	const uint32_t bytes = flow_frame(1, false);
	rig.m->masters = false;
	const uint64_t writes = rig.dma_writes, reads = rig.dma_reads;
	rig_force(f, bytes, 0);
	drive_send(0, f, bytes, 0);
	rig_run(1000000);
	assert_int_equal(rig.dma_writes, writes);
	assert_int_equal(rig.dma_reads, reads);
	rig_write(RXDCTL + 64, RXDCTL_ENABLE);
	rig_run(10000);
	rig_expect_violation("bus mastering");
	rig_write(RXDCTL + 64, 0);
	rig.m->masters = true;
	rig_run(1000000);
	assert_true(drive_received(0, NULL, NULL));
	assert_int_equal(rig_sent_count(), 1);
}

static void register_rules(void **s)
{
	(void)s;
	rig_write(STATUS, 1);
	rig_expect_violation("STATUS");
	rig_write(EIMS, 1u << 5);
	rig_expect_violation("EIMS");
	rig_write(0x7000, 1);
	rig_expect_violation("0x07000");
	rig_write(RDT, RING);
	rig_expect_violation("RDT[0]");
	rig_write(TDLEN, 128);
	rig_expect_violation("TDLEN[0]");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, drive_strict, rig_stop)
#define LINE_RATE(name) cmocka_unit_test_setup_teardown(name, drive_line_rate, rig_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(after_reset), TEST(reset_takes_time), TEST(eeprom_sums_up), TEST(semaphores), TEST(phy_registers),
		TEST(mdic_rules), TEST(speeds), TEST(interrupts), TEST(moderation), TEST(frames_pass),
		LINE_RATE(frames_pass), TEST(queues_by_hash), TEST(tags), LINE_RATE(tags), TEST(checksums), TEST(filters),
		TEST(losses), TEST(counters), TEST(without_bus_mastering), TEST(register_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
