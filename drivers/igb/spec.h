/*
 * Registers and bits of "Intel 82576EB Gigabit Ethernet Controller Datasheet", revision 2.63, as far as used
 * here. The I350, I210 and I211 have the same, with the exceptions in struct igb_chip (device.h), and so have the
 * I225 and I226 ("Intel Ethernet Controller I225/I226 Software User Manual", cited as I225). All
 * little-endian, as the CPU is. Descriptors are in drivers/intel/desc.h.
 *
 * ERRATUM: where silicon and manual differ; the source is named.
 */
#ifndef DRIVERS_IGB_SPEC_H
#define DRIVERS_IGB_SPEC_H

#include "lib/types.h"

/*
 * One row per register (struct intel_reg). Of the registers of a queue this is the place that all 16 queues have;
 * queues 0 to 3 have a second one, of the 82575.
 */
#define IGB_REGISTERS(X) \
	/* general, 8.2 */ \
	X(CTRL, 0x00000, 0, 1, RW, "8.2.1") \
	X(STATUS, 0x00008, 0, 1, RO, "8.2.2") \
	X(CTRL_EXT, 0x00018, 0, 1, RW, "8.2.3") \
	X(MDIC, 0x00020, 0, 1, RW, "8.2.4") \
	X(VET, 0x00038, 0, 1, RW, "8.2") \
	X(IPCNFG, 0x00e38, 0, 1, RW, "I225, IPCNFG") \
	X(EEER, 0x00e30, 0, 1, RW, "I225, EEER") \
	/* EEPROM, and semaphores: 8.4, 8.7. The I210 and later chips have EERD at 0x12014. */ \
	X(EEC, 0x00010, 0, 1, RW, "8.4") \
	X(EERD, 0x00014, 0, 1, RW, "8.4") \
	X(EERD_I210, 0x12014, 0, 1, RW, "I210 8.4") \
	X(SWSM, 0x05b50, 0, 1, RW, "8.7") \
	X(SW_FW_SYNC, 0x05b5c, 0, 1, RW, "8.7") \
	/* flow control, 8.5 */ \
	X(FCTTV, 0x00170, 0, 1, RW, "8.5") \
	X(FCRTL, 0x02160, 0, 1, RW, "8.5") \
	X(FCRTH, 0x02168, 0, 1, RW, "8.5") \
	X(FCRTV, 0x02460, 0, 1, RW, "8.5") \
	/* interrupts, 8.8 */ \
	X(ICR, 0x01500, 0, 1, RC, "8.8") \
	X(IMS, 0x01508, 0, 1, W1S, "8.8") \
	X(IMC, 0x0150c, 0, 1, WO, "8.8") \
	X(GPIE, 0x01514, 0, 1, RW, "8.8") \
	X(EIMS, 0x01524, 0, 1, W1S, "8.8") \
	X(EIMC, 0x01528, 0, 1, WO, "8.8") \
	X(EIAC, 0x0152c, 0, 1, RW, "8.8") \
	X(EIAM, 0x01530, 0, 1, RW, "8.8") \
	X(EITR, 0x01680, 4, 25, RW, "8.8") \
	X(IVAR, 0x01700, 4, 8, RW, "8.8") \
	X(IVAR_MISC, 0x01740, 0, 1, RW, "8.8") \
	/* receive, 8.10 */ \
	X(RCTL, 0x00100, 0, 1, RW, "8.10") \
	X(RXCSUM, 0x05000, 0, 1, RW, "8.10") \
	X(RLPML, 0x05004, 0, 1, RW, "8.10") \
	X(MTA, 0x05200, 4, 128, WO, "8.10") \
	X(RAL, 0x05400, 8, 16, RW, "8.10") \
	X(RAH, 0x05404, 8, 16, RW, "8.10") \
	X(VFTA, 0x05600, 4, 128, RW, "8.10") \
	X(MRQC, 0x05818, 0, 1, RW, "8.10") \
	X(RETA, 0x05c00, 4, 32, RW, "8.10") \
	X(RSSRK, 0x05c80, 4, 10, RW, "8.10") \
	X(UTA, 0x0a000, 4, 128, WO, "8.10") \
	X(RDBAL, 0x0c000, 0x40, 16, RW, "8.10") \
	X(RDBAH, 0x0c004, 0x40, 16, RW, "8.10") \
	X(RDLEN, 0x0c008, 0x40, 16, RW, "8.10") \
	X(SRRCTL, 0x0c00c, 0x40, 16, RW, "8.10") \
	X(RDH, 0x0c010, 0x40, 16, RW, "8.10") \
	X(RDT, 0x0c018, 0x40, 16, RW, "8.10") \
	X(RXDCTL, 0x0c028, 0x40, 16, RW, "8.10") \
	X(RQDPC, 0x0c030, 0x40, 16, RW, "8.10") \
	X(RXPBS, 0x02404, 0, 1, RW, "I225, RXPBSIZE") \
	/* transmit, 8.12 */ \
	X(TCTL, 0x00400, 0, 1, RW, "8.12") \
	X(TXPBS, 0x03404, 0, 1, RW, "I225, TXPBSIZE") \
	X(TDBAL, 0x0e000, 0x40, 16, RW, "8.12") \
	X(TDBAH, 0x0e004, 0x40, 16, RW, "8.12") \
	X(TDLEN, 0x0e008, 0x40, 16, RW, "8.12") \
	X(TDH, 0x0e010, 0x40, 16, RW, "8.12") \
	X(DCA_TXCTRL, 0x0e014, 0x40, 16, RW, "8.13") \
	X(TDT, 0x0e018, 0x40, 16, RW, "8.12") \
	X(TXDCTL, 0x0e028, 0x40, 16, RW, "8.12") \
	X(TDWBAL, 0x0e038, 0x40, 16, RW, "8.12") \
	X(TDWBAH, 0x0e03c, 0x40, 16, RW, "8.12") \
	/* statistics, 8.19 */ \
	X(CRCERRS, 0x04000, 0, 1, RC, "8.19") \
	X(ALGNERRC, 0x04004, 0, 1, RC, "8.19") \
	X(RXERRC, 0x0400c, 0, 1, RC, "8.19") \
	X(MPC, 0x04010, 0, 1, RC, "8.19") \
	X(ECOL, 0x04018, 0, 1, RC, "8.19") \
	X(LATECOL, 0x04020, 0, 1, RC, "8.19") \
	X(RLEC, 0x04040, 0, 1, RC, "8.19") \
	X(RFC, 0x040a8, 0, 1, RC, "8.19") \
	X(ROC, 0x040ac, 0, 1, RC, "8.19") \
	X(RJC, 0x040b0, 0, 1, RC, "8.19")

enum igb_reg {
#define IGB_REG_NUMBER(name, offset, stride, count, access, section) IGB_##name,
	IGB_REGISTERS(IGB_REG_NUMBER)
#undef IGB_REG_NUMBER
	IGB_REGS
};

/* --- bits --- */

#define IGB_CTRL_GIO_DIS (1u << 2) /* PCIe master disable */
#define IGB_CTRL_SLU (1u << 6)     /* the MAC follows the PHY's link */
#define IGB_CTRL_FRCSPD (1u << 11) /* speed and duplex from CTRL, not from the PHY */
#define IGB_CTRL_FRCDPX (1u << 12)
#define IGB_CTRL_RST (1u << 26)
#define IGB_CTRL_RFCE (1u << 27) /* obeys PAUSE frames */
#define IGB_CTRL_TFCE (1u << 28) /* sends PAUSE frames */
#define IGB_CTRL_VME (1u << 30)  /* strips VLAN tags, and inserts them by descriptor */

#define IGB_STATUS_LU (1u << 1)
#define IGB_STATUS_LAN_ID_SHIFT 2
#define IGB_STATUS_LAN_ID_MASK 3u
#define IGB_STATUS_SPEED_SHIFT 6
#define IGB_STATUS_SPEED_MASK 3u /* 0: 10, 1: 100, 2 or 3: 1000 Mb/s */
#define IGB_STATUS_GIO (1u << 19) /* PCIe master enabled: requests may be outstanding */
#define IGB_STATUS_2500 (1u << 22) /* I225: with 1000 in SPEED, 2500 Mb/s */

#define IGB_CTRL_EXT_LINK_MODE (3u << 22) /* 0: the internal PHY */
#define IGB_CTRL_EXT_DRV_LOAD (1u << 28)  /* tells firmware that a driver is loaded */

#define IGB_EEC_ARD (1u << 9)    /* auto-read done */
#define IGB_EEC_FLASH (1u << 19) /* I225: a flash is there */

/* Energy-efficient Ethernet, of the I225: speeds that the PHY offers to sleep at, and what the MAC does. */
#define IGB_IPCNFG_EEE (7u << 2)  /* 2.5 Gb/s, 1 Gb/s, 100 Mb/s */
#define IGB_EEER_LPI (7u << 16)   /* transmit, receive, flow control */

#define IGB_MDIC_REG_SHIFT 16
#define IGB_MDIC_PHY1 (1u << 21) /* PHY at address 1 */
#define IGB_MDIC_WRITE (1u << 26)
#define IGB_MDIC_READ (2u << 26)
#define IGB_MDIC_READY (1u << 28)
#define IGB_MDIC_ERROR (1u << 30)

/* SW_FW_SYNC, besides those of drivers/intel/device.h: ports 2 and 3 of an I350. */
#define IGB_SYNC_PHY2 (1u << 5)
#define IGB_SYNC_PHY3 (1u << 6)
#define IGB_SYNC_FIRMWARE_SHIFT 16

#define IGB_IMS_LSC (1u << 2)  /* link status change; also in ICR */
#define IGB_IMS_FER (1u << 22) /* fatal error, in the card's own memory; also in ICR */

#define IGB_GPIE_NSICR (1u << 0)         /* reading ICR clears it whether or not it is masked */
#define IGB_GPIE_MULTIPLE_MSIX (1u << 4)
#define IGB_GPIE_EIAME (1u << 30)        /* MSI-X messages mask the causes in EIAM */
#define IGB_GPIE_PBA_SUPPORT (1u << 31)  /* a message for a masked vector is kept pending */

#define IGB_IVAR_VALID (1u << 7)
#define IGB_IVAR_MISC_OTHER_SHIFT 8 /* vector of all causes but queues and the TCP timer */

#define IGB_RCTL_EN (1u << 1)
#define IGB_RCTL_UPE (1u << 3)    /* accept all unicast */
#define IGB_RCTL_MPE (1u << 4)    /* accept all multicast */
#define IGB_RCTL_LPE (1u << 5)    /* frames up to RLPML */
#define IGB_RCTL_BAM (1u << 15)   /* accept broadcast */
#define IGB_RCTL_DPF (1u << 22)   /* PAUSE frames are not delivered */
#define IGB_RCTL_SECRC (1u << 26) /* strips the FCS */

#define IGB_RXCSUM_IPOFLD (1u << 8)
#define IGB_RXCSUM_TUOFLD (1u << 9)
#define IGB_RXCSUM_PCSD (1u << 13) /* the descriptor has the RSS hash, no fragment checksum */

#define IGB_RLPML_MAX 9728u /* 9.5 KB with FCS and tag */

#define IGB_TAG_TYPE 0x8100u /* IEEE 802.1Q, 9.6 */

#define IGB_MRQC_RSS 2u /* one pool, queues by RSS */
#define IGB_MRQC_TCP4 (1u << 16)
#define IGB_MRQC_IP4 (1u << 17)
#define IGB_MRQC_TCP6_EX (1u << 18) /* with extension headers: home address option, type 2 routing header */
#define IGB_MRQC_IP6 (1u << 20)
#define IGB_MRQC_TCP6 (1u << 21)
#define IGB_MRQC_UDP4 (1u << 22)
#define IGB_MRQC_UDP6 (1u << 23)

/* Packet buffers of the I225 when no queue has one of its own. Source: Linux igc. */
#define IGB_RXPBS_I225 0x000000a2u
#define IGB_TXPBS_I225 0x04000014u

#define IGB_SRRCTL_BSIZEHEADER (4u << 8) /* 256 bytes; unused */
#define IGB_SRRCTL_DESCTYPE_ONEBUF (1u << 25)
#define IGB_SRRCTL_DROP_EN (1u << 31)

#define IGB_RXDCTL_PTHRESH 8u        /* with fewer descriptors than this in the chip, */
#define IGB_RXDCTL_HTHRESH (8u << 8) /* fetch when this many wait in memory */
#define IGB_RXDCTL_WTHRESH (1u << 16) /* write back each one */

#define IGB_TCTL_EN (1u << 1)
#define IGB_TCTL_PSP (1u << 3) /* pads frames to 60 bytes */

/* No relaxed ordering for head write-back: an old head could overtake a new one. */
#define IGB_DCA_TXCTRL_WRO (1u << 11)

#define IGB_TXDCTL_PTHRESH 8u        /* as for RXDCTL; WTHRESH 0, as head write-back requires */
#define IGB_TXDCTL_HTHRESH (1u << 8)

#define IGB_TDWBAL_HEAD_WB_EN (1u << 0)

/* Error bits of a received descriptor (7.1.5); the MAC's: CE, SE, SEQ, CXE, RXE. */
#define IGB_RXD_MAC (1u << 24 | 1u << 25 | 1u << 26 | 1u << 28 | 1u << 31)
#define IGB_RXD_L4E (1u << 29)
#define IGB_RXD_IPE (1u << 30)

/* --- the PHY (IEEE 802.3, clause 22) --- */

#define IGB_PHY_CONTROL 0
#define IGB_PHY_STATUS 1
#define IGB_PHY_ADVERTISE 4
#define IGB_PHY_CONTROL_RESTART (1u << 9)
#define IGB_PHY_CONTROL_POWER_DOWN (1u << 11)
#define IGB_PHY_CONTROL_AUTO (1u << 12) /* auto-negotiation */
#define IGB_PHY_STATUS_DONE (1u << 5)   /* auto-negotiation complete */
#define IGB_PHY_ADVERTISE_PAUSE (3u << 10)

/* Registers of clause 45 through those of clause 22 (IEEE 802.3, annex 22D): device, then address or data. */
#define IGB_PHY_MMD_CONTROL 13
#define IGB_PHY_MMD_DATA 14
#define IGB_PHY_MMD_IS_DATA (1u << 14)

/* The PHY of the I225: device 7, auto-negotiation (IEEE 802.3, 45.2.7.10). */
#define IGB_PHY_AN 7
#define IGB_PHY_AN_MULTI 32
#define IGB_PHY_AN_MULTI_2500 (1u << 7) /* advertises 2.5GBASE-T */

#endif
