/*
 * The 82599 model (tools/nicsim/82599): reset, EEPROM, SFP+, link, semaphores, interrupts,
 * statistics. test_82599_rx.c and test_82599_tx.c have the rings, test_82599_fuzz.c random writes.
 */
#include "tests/unit/rig/drive_82599.h"

#include "tools/nicsim/82599/state.h"

static int up(void **s)
{
	(void)s;
	rig_start(&intel_82599_ops, RIG_STRICT);
	return 0;
}

static uint16_t eeprom(unsigned word)
{
	rig_write(EERD, word << 2 | EERD_START);
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t v = rig_read(EERD);
		if (v & EERD_DONE) {
			assert_int_equal(v >> 2 & 0x3fff, word);
			return (uint16_t)(v >> 16);
		}
	}
	fail_msg("EERD never done");
	return 0;
}

static uint16_t eeprom_sum(void)
{
	uint16_t sum = 0;
	for (unsigned i = 0; i <= 0x3f; i++)
		sum = (uint16_t)(sum + eeprom(i));
	for (unsigned i = 3; i <= 0xe; i++) {
		uint16_t at = eeprom(i);
		if (at == 0 || at == 0xffff)
			continue;
		uint16_t words = eeprom(at);
		for (unsigned k = 1; k <= words; k++)
			sum = (uint16_t)(sum + eeprom(at + k));
	}
	return sum;
}

/* --- reset, 4.2.1.6 --- */

static void reset_clears_itself(void **s)
{
	(void)s;
	rig_write(CTRL, CTRL_RST);
	assert_true(rig_read(CTRL) & CTRL_RST);
	rig_run(2000);
	assert_false(rig_read(CTRL) & CTRL_RST);
	rig_write(CTRL, CTRL_LRST);
	rig_run(2000);
	assert_int_equal(rig_read(CTRL), 0);
	/* The address comes from the EEPROM, and appears at both places. */
	assert_int_equal(rig_read(RAL), 0x005e0002);
	assert_int_equal(rig_read(RAH), 0x80000153);
	assert_int_equal(rig_read(0x5400), 0x005e0002);
	assert_int_equal(rig_read(0x5404), 0x80000153);
}

static void reset_stuck(void **s)
{
	(void)s;
	rig_fault("reset-stuck");
	rig_write(CTRL, CTRL_RST);
	rig_run(1000000000);
	assert_true(rig_read(CTRL) & CTRL_RST);
	rig_write(RXCSUM, 0);
	rig_expect_violation("RXCSUM written during reset");
	rig_fault_clear("reset-stuck");
	rig_run(1000);
	assert_false(rig_read(CTRL) & CTRL_RST);
}

static void reset_forgets(void **s)
{
	(void)s;
	drive_all();
	rig_write(MTA, 0xffffffff);
	assert_true(rig_receive(f, numbered(0, 60)));
	drive_up();
	assert_int_equal(rig_read(GPRC), 0);
	assert_int_equal(rig_read(MTA), 0);
	assert_int_equal(rig_read(RDBAL), 0);
	assert_int_equal(rig_read(RXDCTL), 0);
	assert_int_equal(rig_read(RXCTRL), 0);
}

static void master_disable(void **s)
{
	(void)s;
	assert_true(rig_read(STATUS) & STATUS_GIO_MASTER);
	rig_write(CTRL, CTRL_GIO_DIS);
	assert_false(rig_read(STATUS) & STATUS_GIO_MASTER);
	rig_write(CTRL, 0);
	rig_fault("master-disable-stuck");
	rig_write(CTRL, CTRL_GIO_DIS);
	assert_true(rig_read(STATUS) & STATUS_GIO_MASTER);
}

static void aliases(void **s)
{
	(void)s;
	const uint32_t pairs[][2] = {{0x2100 + 12, 0x1014 + 3 * 64}, {0x2200 + 4, 0x100c + 64},
	                             {0x5c00 + 8, 0xeb00 + 8},       {0x5c80 + 36, 0xeb80 + 36},
	                             {0x5818, 0xec80},               {0x5480 + 4, 0xea00 + 4}};
	for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		uint32_t v = i < 2 ? (i ? 0x20 : 0x02000002) : i == 5 ? 0x10 : 0x00010001;
		rig_write(pairs[i][0], v);
		assert_int_equal(rig_read(pairs[i][1]), v);
		rig_write(pairs[i][1], 0);
		assert_int_equal(rig_read(pairs[i][0]), 0);
	}
}

static void reserved_bits(void **s)
{
	(void)s;
	rig_write(RXCSUM, 1);
	rig_expect_violation("RXCSUM");
	assert_int_equal(rig_read(RXCSUM), 0);
	rig_write(RDLEN, 0xfffff); /* as ethtool -t tries: low bits read 0 */
	rig_expect_violation("RDLEN");
	assert_int_equal(rig_read(RDLEN), 0xfff80);
	rig_write(STATUS, 1);
	rig_expect_violation("STATUS");
	rig_write(GPRC, 1);
	rig_expect_violation("GPRC");
	model_write(rig.m, 0, RXCSUM, 2, 0, rig.now);
	rig_expect_violation("access of 2 bytes");
	model_write(rig.m, 0, 0x7ffe0, 8, 0, rig.now);
	rig_expect_violation("no register");
	/* eight bytes are two registers */
	model_write(rig.m, 0, RAL + 8, 8, 0x8000665544332211, rig.now);
	assert_int_equal(rig_read(RAL + 8), 0x44332211);
	assert_int_equal(rig_read(RAH + 8), 0x80006655);
	assert_int_equal(model_read(rig.m, 0, RAL + 8, 8, rig.now), 0x8000665544332211);
}

/* --- EEPROM --- */

static void eeprom_reads(void **s)
{
	(void)s;
	assert_true(rig_read(EEC) & EEC_PRES);
	assert_int_equal(eeprom_sum(), 0xbaba);
	unsigned list = eeprom(0x2b) + 1;
	bool found = false;
	for (; eeprom(list) != 0xffff; list += 2)
		found |= eeprom(list) == 5 && eeprom(list + 1) != 0xffff; /* SR, core 0 */
	assert_true(found);
	assert_int_equal(eeprom(0x15), 0xfafa);
	/* the grant for bit-banging */
	rig_write(EEC, EEC_REQ);
	assert_true(rig_read(EEC) & EEC_GNT);
	assert_int_equal(eeprom(0x3fff), 0xffff);
}

static void eeprom_faults(void **s)
{
	(void)s;
	rig_fault("eeprom-checksum");
	assert_int_not_equal(eeprom_sum(), 0xbaba);
	rig_fault_clear("eeprom-checksum");
	assert_int_equal(eeprom_sum(), 0xbaba);
	rig_fault("eeprom-stuck");
	rig_write(EERD, EERD_START);
	rig_run(1000000000);
	assert_false(rig_read(EERD) & EERD_DONE);
	rig_fault_clear("eeprom-stuck");
	assert_true(rig_read(EERD) & EERD_DONE);
}

/* --- SFP+ by I2CCTL, bit by bit --- */

static uint32_t lines;

static void wires(uint32_t v)
{
	lines = v;
	rig_write(I2CCTL, v);
}

static void i2c_start(void)
{
	wires(lines | I2CCTL_DATA_OUT);
	wires(lines | I2CCTL_CLK_OUT);
	wires(lines & ~(uint32_t)I2CCTL_DATA_OUT);
	wires(lines & ~(uint32_t)I2CCTL_CLK_OUT);
}

static void i2c_stop(void)
{
	wires(lines & ~(uint32_t)I2CCTL_DATA_OUT);
	wires(lines | I2CCTL_CLK_OUT);
	wires(lines | I2CCTL_DATA_OUT);
}

static bool i2c_bit(bool out)
{
	wires(out ? lines | I2CCTL_DATA_OUT : lines & ~(uint32_t)I2CCTL_DATA_OUT);
	wires(lines | I2CCTL_CLK_OUT);
	assert_true(rig_read(I2CCTL) & I2CCTL_CLK_IN);
	bool in = rig_read(I2CCTL) & I2CCTL_DATA_IN;
	wires(lines & ~(uint32_t)I2CCTL_CLK_OUT);
	return in;
}

static bool i2c_put(uint8_t byte) /* true: acknowledged */
{
	for (unsigned i = 0; i < 8; i++)
		i2c_bit(byte >> (7 - i) & 1);
	return !i2c_bit(true);
}

static uint8_t i2c_get(bool acknowledge)
{
	uint8_t byte = 0;
	for (unsigned i = 0; i < 8; i++)
		byte = (uint8_t)(byte << 1 | (i2c_bit(true) ? 1 : 0));
	i2c_bit(!acknowledge);
	return byte;
}

static uint8_t sfp(uint8_t page, uint8_t offset)
{
	i2c_start();
	assert_true(i2c_put(page));
	assert_true(i2c_put(offset));
	i2c_start();
	assert_true(i2c_put(page | 1));
	uint8_t byte = i2c_get(false);
	i2c_stop();
	return byte;
}

static void sfp_pages(void **s)
{
	(void)s;
	lines = I2CCTL_CLK_OUT | I2CCTL_DATA_OUT;
	assert_int_equal(sfp(0xa0, 0), 3);
	assert_int_equal(sfp(0xa0, 3) & 0x10, 0x10);
	assert_int_equal(sfp(0xa0, 6), 0);
	assert_int_equal(sfp(0xa0, 8), 0);
	assert_int_equal(sfp(0xa0, 37), 0x00);
	assert_int_equal(sfp(0xa0, 38), 0x1b);
	assert_int_equal(sfp(0xa0, 39), 0x21);
	assert_int_equal(sfp(0xa0, 20), 'I');
	uint8_t sum = 0;
	for (uint8_t i = 0; i < 63; i++)
		sum = (uint8_t)(sum + sfp(0xa0, i));
	assert_int_equal(sfp(0xa0, 63), sum);
	sum = 0;
	for (uint8_t i = 64; i < 95; i++)
		sum = (uint8_t)(sum + sfp(0xa0, i));
	assert_int_equal(sfp(0xa0, 95), sum);
	assert_int_equal(sfp(0xa2, 96), 41); /* degrees */
	/* Sequential: the offset advances by itself, also across a stop. */
	i2c_start();
	assert_true(i2c_put(0xa0));
	assert_true(i2c_put(20));
	i2c_start();
	assert_true(i2c_put(0xa1));
	assert_int_equal(i2c_get(true), 'I');
	assert_int_equal(i2c_get(true), 'n');
	assert_int_equal(i2c_get(false), 't');
	i2c_stop();
	i2c_start();
	assert_true(i2c_put(0xa1));
	assert_int_equal(i2c_get(false), 'e');
	i2c_stop();
	/* No other device is on the bus, and a write changes nothing. */
	i2c_start();
	assert_false(i2c_put(0x42));
	i2c_stop();
	i2c_start();
	assert_true(i2c_put(0xa0));
	assert_true(i2c_put(0));
	assert_true(i2c_put(0x55));
	i2c_stop();
	assert_int_equal(sfp(0xa0, 0), 3);
	assert_true(rig_read(ESDP) & ESDP_SDP2_DATA);
}

/* --- semaphores, MDIO, flow director --- */

static void semaphores(void **s)
{
	(void)s;
	assert_int_equal(rig_read(SWSM) & SWSM_SMBI, 0);
	assert_int_equal(rig_read(SWSM) & SWSM_SMBI, SWSM_SMBI);
	rig_write(SWSM, SWSM_SMBI | SWSM_SWESMBI);
	assert_int_equal(rig_read(SWSM) & SWSM_SWESMBI, SWSM_SWESMBI);
	rig_write(SWSM, 0);
	assert_int_equal(rig_read(SWSM) & 3, 0);
	rig_write(SW_FW_SYNC, 1);
	assert_int_equal(rig_read(SW_FW_SYNC), 1);
	assert_true(rig_read(FWSM) & FWSM_VALID);
	rig_write(MSCA, 1u << 30 | 3u << 26 | 1u << 16 | 2);
	assert_false(rig_read(MSCA) & 1u << 30);
	assert_int_equal(rig_read(MSRWD) >> 16, 0xffff);
	rig_write(FDIRCTRL, 1);
	assert_true(rig_read(FDIRCTRL) & FDIRCTRL_INIT_DONE);
	rig_write(FDIRHASH, 0x8000);
	rig_write(FDIRCMD, 1);
	assert_int_equal(rig_read(FDIRCMD) & 3, 0);
	assert_true(rig_read(SECRXSTAT) & 1);
	rig_write(MTQC, 1);
	rig_expect_violation("MTQC");
}

static void register_rules(void **s)
{
	(void)s;
	rig_write(EERD, EERD_START);
	rig_write(EERD, EERD_START);
	rig_expect_violation("EERD: START while");
	rig_write(RXPBSIZE, 0x000ffc00);
	rig_expect_violation("RXPBSIZE[0]");
	rig_write(GPIE, GPIE_EIAME);
	rig_expect_violation("Multiple_MSIX is clear");
	rig_write(RXCTRL, RXCTRL_RXEN); /* HLREG0.RXCRCSTRP is set after reset, CRCStrip is not */
	rig_expect_violation("CRCStrip is not as");
	rig_write(RDRXCTL, RDRXCTL_CRCSTRIP);
	rig_write(RXCTRL, RXCTRL_RXEN);
	rig_write(RTTDCS, RTTDCS_ARBDIS);
	rig_write(MTQC, 1); /* a valid value */
	assert_false(rig_violated());
}

static void no_dma_done(void **s)
{
	(void)s;
	rig_fault("no-dma-done");
	rig_write(CTRL, CTRL_RST);
	rig_run(1000000000);
	assert_false(rig_read(RDRXCTL) & RDRXCTL_DMAIDONE);
}

/* --- link --- */

static void link_follows_cable(void **s)
{
	(void)s;
	drive_up();
	rig_write(IVAR_MISC, 0x8100); /* other causes: vector 1 */
	rig_write(GPIE, GPIE_MULTIPLE_MSIX | GPIE_OCD);
	rig_write(EIMS, EICR_LSC);
	drive_link();
	assert_int_equal(rig.irqs[1], 1);
	assert_true(rig_read(STATUS) & STATUS_LINK_UP);
	assert_int_equal(rig_read(LINKS) >> 28 & 3, 3); /* 10 Gb/s */
	assert_int_equal(rig_read(EICR) & EICR_LSC, EICR_LSC);
	assert_int_equal(rig_read(EICR) & EICR_LSC, 0); /* cleared by reading */
	rig_carrier(false);
	assert_false(rig_read(LINKS) & LINKS_UP);
	assert_int_equal(rig.irqs[1], 2);
	rig_run(1000000000);
	assert_false(rig_read(LINKS) & LINKS_UP);
	rig_carrier(true);
	assert_false(rig_read(LINKS) & LINKS_UP); /* not at once */
	drive_link();
	assert_int_equal(rig.irqs[1], 3);
	rig_fault("module-out");
	assert_false(rig_read(LINKS) & LINKS_UP);
	assert_int_equal(rig.irqs[1], 4);
	rig_fault_clear("module-out");
	drive_link();
	assert_int_equal(rig.irqs[1], 5);
	/* flaps faster than the link can train: never up */
	for (unsigned i = 0; i < 100; i++) {
		rig_carrier(i & 1);
		rig_run(1000000);
		assert_false(rig_read(LINKS) & LINKS_UP);
	}
}

/* 8.2.3.5.18, OCD: reading EICR clears only bits 29:16, not the queues' and not bit 30. */
static void other_causes_clear(void **s)
{
	(void)s;
	const uint32_t causes = 1u << 30 | EICR_LSC | 1u << 3;
	drive_up();
	rig_write(GPIE, GPIE_MULTIPLE_MSIX | GPIE_OCD);
	rig_write(EICS, causes);
	assert_int_equal(rig_read(EICR) & causes, causes);
	assert_int_equal(rig_read(EICR) & causes, causes & ~EICR_LSC);
	rig_write(GPIE, GPIE_MULTIPLE_MSIX);
	assert_int_equal(rig_read(EICR) & causes, causes & ~EICR_LSC);
	assert_int_equal(rig_read(EICR) & causes, 0);
}

static void autoc(void **s)
{
	(void)s;
	drive_up();
	drive_link();
	uint32_t v = rig_read(AUTOC);
	rig_write(AUTOC, v | AUTOC_RESTART_AN);
	assert_false(rig_read(LINKS) & LINKS_UP);
	assert_true(rig_read(ANLP1) & 0x000f0000);
	assert_int_equal(rig_read(AUTOC), v);
	drive_link();
	rig_write(AUTOC, (v & ~(7u << 13)) | AUTOC_RESTART_AN); /* 1 GbE: the other end is 10 */
	rig_run(1000000000);
	assert_false(rig_read(LINKS) & LINKS_UP);
	rig_write(AUTOC, (v & ~(7u << 13)) | 4u << 13 | AUTOC_RESTART_AN); /* KX4/KX/KR */
	drive_link();
	assert_true(rig_read(LINKS) & LINKS_KX_AN_COMP);
	rig_carrier(false);
	rig_write(AUTOC, v | AUTOC_FLU);
	assert_true(rig_read(LINKS) & LINKS_UP);
}

/* --- interrupts --- */

static void interrupts_up(void)
{
	drive_all();
	rig_write(GPIE, GPIE_MULTIPLE_MSIX | GPIE_OCD | GPIE_EIAME | 1u << 31);
	rig_write(IVAR, 0x8382);      /* queue 0: Rx vector 2, Tx vector 3 */
	rig_write(IVAR + 4, 0x00a8);  /* queue 2: Rx vector 40 */
	rig_write(EIAC, 0xffff);
	memset(rig.irqs, 0, sizeof rig.irqs);
}

static const uint8_t frame[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};

static void masked_then_unmasked(void **s)
{
	(void)s;
	interrupts_up();
	assert_true(rig_receive(frame, 60));
	assert_int_equal(rig.irqs[2], 0);
	rig_write(EIMS, 1u << 2); /* the cause is still there */
	assert_int_equal(rig.irqs[2], 1);
	rig_write(EIMS, 1u << 2); /* auto-cleared: nothing new */
	assert_int_equal(rig.irqs[2], 1);
	assert_true(rig_receive(frame, 60));
	assert_int_equal(rig.irqs[2], 2);
	drive_send(0, frame, 60);
	assert_int_equal(rig.irqs[3], 0);
	rig_write(EIMS_EX, 1u << 3);
	assert_int_equal(rig.irqs[3], 1);
	assert_int_equal(rig_read(EIMS), 1u << 2 | 1u << 3);
	rig_write(EIMC, 0x7fffffff);
	assert_int_equal(rig_read(EIMS), 0);
}

static void auto_mask(void **s)
{
	(void)s;
	interrupts_up();
	rig_write(EIAM_EX, 1u << 2);
	rig_write(EIMS_EX, 1u << 2);
	for (unsigned i = 1; i <= 3; i++) {
		assert_true(rig_receive(frame, 60));
		assert_true(rig_receive(frame, 60));
		assert_int_equal(rig.irqs[2], 2 * i - 1);
		assert_int_equal(rig_read(EIMS_EX), 0);
		rig_write(EIMS_EX, 1u << 2); /* the second frame arrived meanwhile */
		assert_int_equal(rig.irqs[2], 2 * i);
		rig_write(EIMS_EX, 1u << 2);
		assert_int_equal(rig.irqs[2], 2 * i);
	}
}

static void high_vectors(void **s)
{
	(void)s;
	interrupts_up();
	rig_write(EIMS_EX + 4, 1u << 8);
	rig_write(EICS_EX + 4, 1u << 8);
	assert_int_equal(rig.irqs[40], 1);
	rig_write(EICS_EX + 4, 1u << 8); /* auto-cleared unasked: EICR does not show it */
	assert_int_equal(rig.irqs[40], 2);
	rig_write(EIMC_EX + 4, 1u << 8);
	rig_write(EICS_EX + 4, 1u << 8);
	assert_int_equal(rig.irqs[40], 2);
	rig_write(EIMS, 1u << 5);
	rig_write(EICS, 1u << 5);
	assert_int_equal(rig.irqs[5], 1);
}

static void moderation(void **s)
{
	(void)s;
	interrupts_up();
	rig_write(EITR + 8, 50 << 3); /* vector 2: 102.4 us */
	rig_write(EIMS_EX, 1u << 2);
	assert_true(rig_receive(frame, 60));
	assert_int_equal(rig.irqs[2], 1);
	uint64_t first = rig.now;
	for (unsigned i = 0; i < 9; i++) {
		rig_run(10000);
		assert_true(rig_receive(frame, 60));
		assert_int_equal(rig.irqs[2], 1);
	}
	assert_int_equal(rig.m->ops->deadline(rig.m), first + 50 * 2048);
	rig_run(20000);
	assert_int_equal(rig.irqs[2], 2);
	rig_run(10000000);
	assert_int_equal(rig.irqs[2], 2); /* no cause, no interrupt */
	rig_write(EITR + 8, 0);
	for (unsigned i = 0; i < 5; i++)
		assert_true(rig_receive(frame, 60));
	assert_int_equal(rig.irqs[2], 7);
}

/* --- statistics --- */

static void statistics(void **s)
{
	(void)s;
	static const uint32_t sizes[] = {60, 61, 124, 252, 508, 1020, 1514};
	drive_all();
	numbered(0, 1514);
	rig_write(RQSMR, 3);
	rig_write(TQSM, 5);
	uint32_t bytes = 0;
	for (unsigned i = 0; i < 7; i++) {
		assert_true(rig_receive(f, sizes[i]));
		drive_send(0, f, sizes[i]);
		bytes += sizes[i] + 4;
	}
	f[0] = 3;
	assert_true(rig_receive(f, 60));
	assert_true(rig_receive(frame, 60));
	for (unsigned dir = 0; dir < 2; dir++) {
		/* 64 | 65 | 128 | 256 | 512 | 1024, 1518: with FCS, most at the lower end of their
		 * size class */
		const uint32_t want[6] = {dir ? 1 : 3, 1, 1, 1, 1, 2};
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(rig_read((dir ? PTC64 : PRC64) + 4 * i), want[i]);
	}
	assert_int_equal(rig_read(GPRC), 9);
	assert_int_equal(rig_read(GPRC), 0);
	assert_int_equal(rig_read(GPTC), 7);
	assert_int_equal(rig_read(GORCL), bytes + 128);
	assert_int_equal(rig_read(GORCH), 0);
	assert_int_equal(rig_read(GORCL), 0);
	assert_int_equal(rig_read(GOTCL), bytes);
	assert_int_equal(rig_read(TORL), bytes + 128);
	assert_int_equal(rig_read(TPR), 9);
	assert_int_equal(rig_read(TPT), 7);
	assert_int_equal(rig_read(BPRC), 1);
	assert_int_equal(rig_read(MPRC), 1);
	assert_int_equal(rig_read(QPRC + 3 * 64), 9);
	assert_int_equal(rig_read(QPRC + 3 * 64), 0);
	assert_int_equal(rig_read(QBRC_L + 3 * 64), bytes - 28 + 120);
	assert_int_equal(rig_read(QPTC_82598 + 5 * 64), 7);
	assert_int_equal(rig_read(QPTC + 5 * 4), 0); /* the same register */
	assert_int_equal(rig_read(QBTC_L + 5 * 8), bytes - 28);
	assert_int_equal(rig.m->rx_frames, 9);
	assert_int_equal(rig.m->tx_frames, 7);
}

/* Counters of unusual frames. */
static void odd_statistics(void **s)
{
	(void)s;
	drive_all();
	rig_force(f, numbered(0, 18) - 5, 0);
	assert_int_equal(rig_read(RUC), 1);
	rig_force(f, numbered(0, 1515), 0);
	assert_int_equal(rig_read(ROC), 1);
	rig_force(f, numbered(0, 1515), FRAME_BAD_FCS);
	assert_int_equal(rig_read(RJC), 1);
	assert_int_equal(rig_read(ROC), 0);
	assert_int_equal(rig_read(RXDGPC), 0);
	assert_true(rig_receive(f, numbered(0, 60)));
	assert_int_equal(rig_read(RXDGPC), 1);
	assert_int_equal(rig_read(RXDGBCL), 60);
	f[0] = 3;
	drive_send(0, f, 60);
	drive_send(0, frame, 60);
	drive_send(0, f, numbered(0, 60));
	assert_int_equal(rig_read(MPTC), 1);
	assert_int_equal(rig_read(BPTC), 1);
	assert_int_equal(rig_read(GPTC), 3);
	assert_int_equal(rig_read(TXDGPC), 3);
	assert_int_equal(rig_read(TXDGPC + 4), 3 * 64);
}

/* 36 bits in two registers: what arrives between the two reads is not lost. Gigabytes of traffic
 * would take long, so the test sets the model's own counter. */
static void wide_counters(void **s)
{
	(void)s;
	const struct {
		uint64_t *counter;
		uint32_t low, high;
	} v[] = {{&nic_of(rig.m)->s.gorc, GORCL, GORCH},
	         {&nic_of(rig.m)->s.gotc, GOTCL, GOTCH},
	         {&nic_of(rig.m)->s.tor, TORL, TORH},
	         {&nic_of(rig.m)->s.qbrc[3], QBRC_L + 3 * 64, QBRC_H + 3 * 64},
	         {&nic_of(rig.m)->s.qbtc[5], QBTC_L + 5 * 8, QBTC_H + 5 * 8},
	         {&nic_of(rig.m)->s.rxdgbc, RXDGBCL, RXDGBCH},
	         {&nic_of(rig.m)->s.txdgbc, TXDGPC + 4, TXDGPC + 8}};
	for (unsigned i = 0; i < sizeof v / sizeof v[0]; i++) {
		*v[i].counter = 0xa87654321;
		assert_int_equal(rig_read(v[i].low), 0x87654321);
		*v[i].counter += 0x100000005;
		assert_int_equal(rig_read(v[i].high), 0xb);
		assert_int_equal(rig_read(v[i].low), 5);
		assert_int_equal(rig_read(v[i].low), 0);
		assert_int_equal(rig_read(v[i].high), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(t) cmocka_unit_test_setup_teardown(t, up, rig_stop)
		T(reset_clears_itself), T(reset_stuck),
		T(reset_forgets),       T(master_disable),
		T(aliases),             T(reserved_bits),
		T(eeprom_reads),        T(eeprom_faults),
		T(sfp_pages),           T(semaphores),
		T(no_dma_done),         T(link_follows_cable),
		T(autoc),               T(masked_then_unmasked),
		T(auto_mask),           T(high_vectors),
		T(moderation),          T(statistics),
		T(wide_counters),       T(odd_statistics),
		T(register_rules),      T(other_causes_clear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
