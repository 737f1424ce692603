/*
 * The chips of the family, a row of constants each, and the boards that carry them. No other file asks which chip
 * a port has: it asks for what it needs to know (struct ixgbe_chip).
 *
 * Boards that need what is neither built nor tested are named, and refused with the reason. They are left as they are.
 *
 * Sources: 82599 datasheet, 9.3.3; for later chips and boards the PCI ID list and Intel's own drivers (Linux,
 * ixgbe_type.h, ixgbe_82599.c, ixgbe_x540.c, ixgbe_x550.c; DPDK for 15ca and 15cc).
 */
#include "drivers/ixgbe/device.h"

#define RX_QUIET_US 100 /* 4.6.7.1: for data still in flight after RXDCTL.ENABLE reads 0 */
#define DRAIN_US 10000  /* a full ring at 10 Gb/s; at a lower speed the rest is lost */

static const struct intel_reg registers[IXGBE_REGS] = {IXGBE_REGISTERS(INTEL_REG)};
IXGBE_REGISTERS(INTEL_REG_CHECK)

/* What drivers/intel needs to know, the same in all chips. */
#define COMMON \
	.reg = registers, .regs = IXGBE_REGS, .status = IXGBE_STATUS, .eec = IXGBE_EEC, .eec_present = INTEL_EEC_PRES, \
	.eerd = IXGBE_EERD, .swsm = IXGBE_SWSM, .sw_fw_sync = IXGBE_SW_FW_SYNC, .firmware_shift = 5, \
	.ral = IXGBE_RAL, .rah = IXGBE_RAH, .reta = IXGBE_RETA, .rssrk = IXGBE_RSSRK, .rxdctl = IXGBE_RXDCTL, \
	.txdctl = IXGBE_TXDCTL, .tdh = IXGBE_TDH, \
	.quiet_us = RX_QUIET_US, .drain_us = DRAIN_US, .rdt = IXGBE_RDT, .tdt = IXGBE_TDT, .irq_on = IXGBE_EIMS_EX, \
	.irq_off = IXGBE_EIMC_EX, .rxd_mac = IXGBE_RXD_RXE, .rxd_csum = IXGBE_RXD_TCPE | IXGBE_RXD_IPE

/* The settle times: 4.6.3.2 says 10 ms. Intel's own drivers wait longer (ixgbe_reset_hw_82599, ixgbe_reset_hw_X540). */
const struct ixgbe_chip ixgbe_82599 = {
	.intel = {COMMON},
	.rx_buffer_kb = 512,
	.settle_us = 50000,
	.clock_period = 1,
	.section = {[0x03 ... 0x0e] = IXGBE_SECTION_LENGTH},
};

static const struct ixgbe_chip x540 = {
	.intel = {COMMON, .regsmp = true},
	.rx_buffer_kb = 384,
	.settle_us = 100000,
	.shares_phy = true,
	.section = {[0x03] = IXGBE_SECTION_LENGTH, [0x06 ... 0x0e] = IXGBE_SECTION_LENGTH},
};

/* Source: Intel's own drivers; of the EEPROM ixgbe_calc_checksum_X550. Sections 6, 7 and 8 begin without a length. */
static const struct ixgbe_chip x550 = {
	.intel = {COMMON, .regsmp = true, .ereta = IXGBE_ERETA, .ereta_regs = 96, .read_words = ixgbe_firmware_read},
	.rx_buffer_kb = 384,
	.settle_us = 100000,
	.shares_phy = true,
	.firmware_rx_off = true,
	.nbase_t = true,
	.no_clock = true, /* its unit and its registers differ */
	.words_behind = 2,
	.section = {[0x02 ... 0x03] = IXGBE_SECTION_LENGTH, [0x06] = 0x24, [0x07] = 8, [0x08] = 8,
	            [0x09 ... 0x0e] = IXGBE_SECTION_LENGTH},
};

#define OTHER_PHY "not driven: an 82599 with a 10GBASE-T PHY of another maker"
#define QSFP "not driven: an 82599 with QSFP cages, whose ports share one I2C bus"
#define FIXED "not driven: an 82599 with fixed optics, whose speed is chosen by I2C"
#define BYPASS "not driven: an 82599 with bypass relays"
#define X552 "not driven: an X552, whose link is set up on an internal bus (IOSF)"
#define X553 "not driven: an X553, whose link is set up on an internal bus (IOSF)"
#define X553_TOKEN "not driven: an X553, whose PHY is shared between ports by the firmware's tokens"
#define X553_FIRMWARE "not driven: an X553, whose PHY is run by commands to the firmware"

static const struct ixgbe_board boards[] = {
	{0x10f7, &ixgbe_82599, IXGBE_BACKPLANE, NULL}, /* KX4 */
	{0x10f8, &ixgbe_82599, IXGBE_BACKPLANE, NULL}, /* KX, KX4, KR */
	{0x10f9, &ixgbe_82599, IXGBE_BACKPLANE, NULL}, /* CX4 */
	{0x10fb, &ixgbe_82599, IXGBE_SFP, NULL},       /* X520 */
	{0x10fc, &ixgbe_82599, IXGBE_BACKPLANE, NULL}, /* XAUI */
	{0x1507, &ixgbe_82599, IXGBE_SFP, NULL},       /* X520 mezzanine */
	{0x1514, &ixgbe_82599, IXGBE_BACKPLANE, NULL}, /* KX4 mezzanine */
	{0x1517, &ixgbe_82599, IXGBE_BACKPLANE, NULL}, /* KR */
	{0x1529, &ixgbe_82599, IXGBE_SFP, NULL},       /* with FCoE */
	{0x152a, &ixgbe_82599, IXGBE_BACKPLANE, NULL}, /* with FCoE */
	{0x154a, &ixgbe_82599, IXGBE_SFP, NULL},       /* X520-4 */
	{0x154d, &ixgbe_82599, IXGBE_SFP, NULL},       /* X520-2 */
	{0x1557, &ixgbe_82599, IXGBE_SFP, NULL},       /* 82599EN */
	{0x1528, &x540, IXGBE_COPPER, NULL},           /* X540-T2 */
	{0x1560, &x540, IXGBE_COPPER, NULL},           /* X540-T1 */
	{0x1563, &x550, IXGBE_COPPER, NULL},           /* X550-T2 */
	{0x15d1, &x550, IXGBE_COPPER, NULL},           /* X550-T1 */
	{.device = 0x151c, .not_driven = OTHER_PHY},
	{.device = 0x154f, .not_driven = FIXED},
	{.device = 0x1558, .not_driven = QSFP},
	{.device = 0x155d, .not_driven = BYPASS},
	{.device = 0x15aa, .not_driven = X552},          /* KX4 */
	{.device = 0x15ab, .not_driven = X552},          /* KR */
	{.device = 0x15ac, .not_driven = X552},          /* SFP+ */
	{.device = 0x15ad, .not_driven = X552},          /* 10GBASE-T */
	{.device = 0x15ae, .not_driven = X552},          /* 1000BASE-T */
	{.device = 0x15b0, .not_driven = X552},          /* XFI */
	{.device = 0x15c2, .not_driven = X553},          /* KR */
	{.device = 0x15c3, .not_driven = X553},          /* KR */
	{.device = 0x15c4, .not_driven = X553},          /* SFP+ without a PHY between */
	{.device = 0x15c6, .not_driven = X553},          /* SGMII */
	{.device = 0x15c7, .not_driven = X553},          /* SGMII */
	{.device = 0x15c8, .not_driven = X553_TOKEN},    /* 10GBASE-T */
	{.device = 0x15ca, .not_driven = X553},          /* QSFP */
	{.device = 0x15cc, .not_driven = X553},          /* QSFP without a PHY between */
	{.device = 0x15ce, .not_driven = X553},          /* SFP+ */
	{.device = 0x15e4, .not_driven = X553_FIRMWARE}, /* 1000BASE-T */
	{.device = 0x15e5, .not_driven = X553_FIRMWARE}, /* 1000BASE-T */
};

const struct ixgbe_board *ixgbe_board(const struct pci_dev *dev)
{
	for (unsigned i = 0; dev->vendor == INTEL_VENDOR && i < ARRAY_LEN(boards); i++)
		if (boards[i].device == dev->device)
			return &boards[i];
	return NULL;
}
