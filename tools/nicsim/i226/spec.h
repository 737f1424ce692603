/*
 * Registers and bits of the I226, from the "Intel Ethernet Controller I225/I226 Software User Manual" and, where the
 * chip has kept what its ancestor has, the "Intel Ethernet Controller I210 Datasheet". The rows name the register
 * groups of these documents.
 *
 * One row per register: name, offset, stride, count, access, bits a driver may write as 1, group. A row defines the
 * constant of the offset and the entry that model.c checks every access with.
 *
 * LINUX: marks what only Linux's igc (6.1) or ethtool uses; it is accepted from any driver.
 */
#ifndef NICSIM_I226_SPEC_H
#define NICSIM_I226_SPEC_H

#include <stdint.h>

#include "tools/nicsim/intel/desc.h"

#define ALL 0xffffffffu

#define INTEL_I226_REGS(R) \
	/* --- general --- */ \
	R(CTRL, 0x00000, 0, 1, REG_RW, 0xfcff1b45, "general") \
	R(STATUS, 0x00008, 0, 1, REG_RO, ALL, "general") \
	R(EEC, 0x00010, 0, 1, REG_RW, 0x00800040, "EEPROM") \
	R(CTRL_EXT, 0x00018, 0, 1, REG_RW, 0x11dfffff, "general") \
	R(MDIC, 0x00020, 0, 1, REG_RW, 0x6fffffff, "PHY") \
	R(FCAL, 0x00028, 0, 1, REG_RW, ALL, "flow control") \
	R(FCAH, 0x0002c, 0, 1, REG_RW, 0x0000ffff, "flow control") \
	R(FCT, 0x00030, 0, 1, REG_RW, 0x0000ffff, "flow control") \
	R(CONNSW, 0x00034, 0, 1, REG_RW, 0x0000001f, "general") \
	R(VET, 0x00038, 0, 1, REG_RW, ALL, "general") \
	R(TSSDP, 0x0003c, 0, 1, REG_RW, ALL, "time stamps") \
	R(LEDCTL, 0x00e00, 0, 1, REG_RW, ALL, "general") \
	R(MDICNFG, 0x00e04, 0, 1, REG_RW, 0x83e00000, "PHY") \
	R(PHPM, 0x00e14, 0, 1, REG_RW, 0x0000ffff, "PHY") \
	R(EEER, 0x00e30, 0, 1, REG_RW, ALL, "energy-efficient Ethernet") \
	R(EEE_SU, 0x00e34, 0, 1, REG_RW, ALL, "energy-efficient Ethernet") \
	R(IPCNFG, 0x00e38, 0, 1, REG_RW, 0x0000001f, "energy-efficient Ethernet") \
	/* --- EEPROM and semaphores --- */ \
	R(EERD, 0x12014, 0, 1, REG_RW, 0x0000fffd, "EEPROM") \
	R(SRWR, 0x12018, 0, 1, REG_RO, ALL, "EEPROM") \
	R(SWSM, 0x05b50, 0, 1, REG_RW, 0x00000003, "semaphores") \
	R(FWSM, 0x05b54, 0, 1, REG_RO, ALL, "semaphores") \
	R(SW_FW_SYNC, 0x05b5c, 0, 1, REG_RW, 0xffffffff, "semaphores") \
	R(FACTPS, 0x05b30, 0, 1, REG_RO, ALL, "semaphores") \
	/* --- PCIe --- */ \
	R(GCR, 0x05b00, 0, 1, REG_RW, ALL, "PCIe") \
	R(PBACL, 0x05b68, 0, 1, REG_W1C, 0x0000001f, "PCIe") \
	R(LTRC, 0x001a0, 0, 1, REG_RW, ALL, "PCIe") \
	R(LTRMINV, 0x05bb0, 0, 1, REG_RW, ALL, "PCIe") \
	R(LTRMAXV, 0x05bb4, 0, 1, REG_RW, ALL, "PCIe") \
	R(DMACR, 0x02508, 0, 1, REG_RW, ALL, "PCIe") \
	R(PTM, 0x12540, 4, 48, REG_RW, ALL, "PCIe precision time") \
	/* --- flow control --- */ \
	R(FCTTV, 0x00170, 0, 1, REG_RW, 0x0000ffff, "flow control") \
	R(FCRTL, 0x02160, 0, 1, REG_RW, 0x8003fff0, "flow control") \
	R(FCRTH, 0x02168, 0, 1, REG_RW, 0x0003fff0, "flow control") \
	R(FCRTV, 0x02460, 0, 1, REG_RW, 0x0000ffff, "flow control") \
	/* --- interrupts --- */ \
	R(ICR, 0x01500, 0, 1, REG_W1C, ALL, "interrupts") \
	R(ICS, 0x01504, 0, 1, REG_W1S, 0x7fffffff, "interrupts") \
	R(IMS, 0x01508, 0, 1, REG_W1S, 0x7fffffff, "interrupts") \
	R(IMC, 0x0150c, 0, 1, REG_W1C, ALL, "interrupts") \
	R(IAM, 0x01510, 0, 1, REG_RW, ALL, "interrupts") \
	R(GPIE, 0x01514, 0, 1, REG_RW, 0xc0000f91, "interrupts") \
	R(EICS, 0x01520, 0, 1, REG_W1S, 0x0000001f, "interrupts") \
	R(EIMS, 0x01524, 0, 1, REG_W1S, 0x0000001f, "interrupts") \
	R(EIMC, 0x01528, 0, 1, REG_W1C, 0x0000001f, "interrupts") \
	R(EIAC, 0x0152c, 0, 1, REG_RW, 0x0000001f, "interrupts") \
	R(EIAM, 0x01530, 0, 1, REG_RW, 0x0000001f, "interrupts") \
	R(EICR, 0x01580, 0, 1, REG_W1C, 0x0000001f, "interrupts") \
	R(EITR, 0x01680, 4, 5, REG_RW, 0xfffffffc, "interrupts") \
	R(IVAR, 0x01700, 4, 2, REG_RW, 0x87878787, "interrupts") \
	R(IVAR_MISC, 0x01740, 0, 1, REG_RW, 0x00008787, "interrupts") \
	/* --- receive --- */ \
	R(RCTL, 0x00100, 0, 1, REG_RW, 0x07fcfffe, "receive") \
	R(RXPBS, 0x02404, 0, 1, REG_RW, ALL, "receive") \
	R(RXCSUM, 0x05000, 0, 1, REG_RW, 0x00003bff, "receive") \
	R(RLPML, 0x05004, 0, 1, REG_RW, 0x00003fff, "receive") \
	R(RFCTL, 0x05008, 0, 1, REG_RW, ALL, "receive") \
	R(MTA, 0x05200, 4, 128, REG_RW, ALL, "receive") \
	R(RAL, 0x05400, 8, 16, REG_RW, ALL, "receive") \
	R(RAH, 0x05404, 8, 16, REG_RW, 0xffffffff, "receive") \
	R(PSRTYPE, 0x05480, 4, 4, REG_RW, ALL, "receive") \
	R(VLANPQF, 0x055b0, 0, 1, REG_RW, ALL, "receive") \
	R(VFTA, 0x05600, 4, 128, REG_RW, ALL, "receive") \
	R(MRQC, 0x05818, 0, 1, REG_RW, 0xffff0007, "receive") \
	R(FTQF, 0x059e0, 4, 8, REG_RW, ALL, "receive") \
	R(IMIR, 0x05a80, 4, 8, REG_RW, ALL, "receive") \
	R(IMIREXT, 0x05aa0, 4, 8, REG_RW, ALL, "receive") \
	R(RETA, 0x05c00, 4, 32, REG_RW, 0x07070707, "receive") \
	R(RSSRK, 0x05c80, 4, 10, REG_RW, ALL, "receive") \
	R(ETQF, 0x05cb0, 4, 8, REG_RW, ALL, "receive") \
	R(UTA, 0x0a000, 4, 128, REG_WO, ALL, "receive") \
	R(FHFT, 0x09000, 4, 256, REG_RW, ALL, "receive") \
	R(RDBAL, 0x0c000, 64, 4, REG_RW, 0xffffff80, "receive queues") \
	R(RDBAH, 0x0c004, 64, 4, REG_RW, ALL, "receive queues") \
	R(RDLEN, 0x0c008, 64, 4, REG_RW, 0x000fff80, "receive queues") \
	R(SRRCTL, 0x0c00c, 64, 4, REG_RW, 0xce003f7f, "receive queues") \
	R(RDH, 0x0c010, 64, 4, REG_RW, 0x0000ffff, "receive queues") \
	R(RXCTL, 0x0c014, 64, 4, REG_RW, ALL, "receive queues") \
	R(RDT, 0x0c018, 64, 4, REG_RW, 0x0000ffff, "receive queues") \
	R(RXDCTL, 0x0c028, 64, 4, REG_RW, 0x061f1f1f, "receive queues") \
	R(RQDPC, 0x0c030, 64, 4, REG_RW, ALL, "receive queues") \
	/* --- transmit --- */ \
	R(TCTL, 0x00400, 0, 1, REG_RW, 0x017ffffa, "transmit") \
	R(TCTL_EXT, 0x00404, 0, 1, REG_RW, 0x000ffc00, "transmit") \
	R(TIPG, 0x00410, 0, 1, REG_RW, 0x3fffffff, "transmit") \
	R(RETX_CTL, 0x0041c, 0, 1, REG_RW, ALL, "transmit") \
	R(TXPBS, 0x03404, 0, 1, REG_RW, ALL, "transmit") \
	R(DTXCTL, 0x03590, 0, 1, REG_RW, ALL, "transmit") \
	R(DTXTCPFLGL, 0x0359c, 0, 1, REG_RW, 0x0fff0fff, "transmit") \
	R(DTXTCPFLGH, 0x035a0, 0, 1, REG_RW, 0x00000fff, "transmit") \
	R(DTXMXPKTSZ, 0x0355c, 0, 1, REG_RW, 0x000001ff, "transmit") \
	R(TDBAL, 0x0e000, 64, 4, REG_RW, 0xffffff80, "transmit queues") \
	R(TDBAH, 0x0e004, 64, 4, REG_RW, ALL, "transmit queues") \
	R(TDLEN, 0x0e008, 64, 4, REG_RW, 0x000fff80, "transmit queues") \
	R(TDH, 0x0e010, 64, 4, REG_RW, 0x0000ffff, "transmit queues") \
	R(TXCTL, 0x0e014, 64, 4, REG_RW, ALL, "transmit queues") \
	R(TDT, 0x0e018, 64, 4, REG_RW, 0x0000ffff, "transmit queues") \
	R(TXDCTL, 0x0e028, 64, 4, REG_RW, 0x1e1f1f1f, "transmit queues") \
	R(TDWBAL, 0x0e038, 64, 4, REG_RW, 0xfffffffd, "transmit queues") \
	R(TDWBAH, 0x0e03c, 64, 4, REG_RW, ALL, "transmit queues") \
	/* --- time-sensitive transmission (accepted: one class, no schedule) --- */ \
	R(TQAVCC, 0x03004, 64, 2, REG_RW, ALL, "schedule") \
	R(TQAVHC, 0x0300c, 64, 2, REG_RW, ALL, "schedule") \
	R(GTXOFFSET, 0x03310, 0, 1, REG_RW, ALL, "schedule") \
	R(BASET, 0x03314, 4, 2, REG_RW, ALL, "schedule") \
	R(QBVCYCLET, 0x0331c, 4, 2, REG_RW, ALL, "schedule") \
	R(STQT, 0x03324, 4, 4, REG_RW, ALL, "schedule") \
	R(ENDQT, 0x03334, 4, 4, REG_RW, ALL, "schedule") \
	R(TXQCTL, 0x03344, 4, 4, REG_RW, ALL, "schedule") \
	R(TQAVCTRL, 0x03570, 0, 1, REG_RW, ALL, "schedule") \
	/* --- statistics: CRCERRS to LENERRS, each at its offset of stats.c and intel/stats.c --- */ \
	R(STATISTICS, 0x04000, 4, 80, REG_RC, 0, "statistics") \
	/* --- clock (accepted: it stands still) --- */ \
	R(TSYNCRXCFG, 0x05f50, 0, 1, REG_RW, ALL, "time stamps") \
	R(SYSTIM, 0x0b600, 4, 5, REG_RW, ALL, "time stamps") \
	R(TSYNCTXCTL, 0x0b614, 0, 1, REG_RW, ALL, "time stamps") \
	R(TXSTMP, 0x0b618, 4, 2, REG_RO, ALL, "time stamps") \
	R(TSYNCRXCTL, 0x0b620, 0, 1, REG_RW, ALL, "time stamps") \
	R(RXSTMP, 0x0b624, 4, 4, REG_RO, ALL, "time stamps") \
	R(TSAUXC, 0x0b640, 0, 1, REG_RW, ALL, "time stamps") \
	R(TRGTTIM, 0x0b644, 4, 10, REG_RW, ALL, "time stamps") \
	R(TSICR, 0x0b66c, 0, 1, REG_RC, ALL, "time stamps") \
	R(TSIM, 0x0b674, 0, 1, REG_RW, ALL, "time stamps") \
	R(TXSTMP_123, 0x0b698, 4, 6, REG_RO, ALL, "time stamps") \
	R(SYSTIMR, 0x0b6f8, 0, 1, REG_RW, ALL, "time stamps") \
	/* --- wake-up and management (accepted: no power management) --- */ \
	R(WUC, 0x05800, 0, 1, REG_RW, ALL, "wake-up") \
	R(WUFC, 0x05808, 0, 1, REG_RW, ALL, "wake-up") \
	R(WUS, 0x05810, 0, 1, REG_W1C, ALL, "wake-up") \
	R(MANC, 0x05820, 0, 1, REG_RO, ALL, "wake-up") \
	R(WUPL, 0x05900, 0, 1, REG_RO, ALL, "wake-up") \
	R(WUPM, 0x05a00, 4, 32, REG_RO, ALL, "wake-up")

#define OFFSET_OF_ROW(name, offset, stride, count, access, writable, section) name = offset,
enum reg_offset { INTEL_I226_REGS(OFFSET_OF_ROW) };
#undef OFFSET_OF_ROW

enum {
	CTRL_GIO_DIS = 1u << 2,
	CTRL_SLU = 1u << 6,
	CTRL_RST = 1u << 26,
	CTRL_DEV_RST = 1u << 29,
	CTRL_VME = 1u << 30,
	CTRL_PHY_RST = 1u << 31,

	STATUS_FD = 1u << 0,
	STATUS_LU = 1u << 1,
	STATUS_SPEED_100 = 1u << 6,
	STATUS_SPEED_1000 = 1u << 7,
	STATUS_GIO_MASTER = 1u << 19,
	STATUS_SPEED_2500 = 1u << 22, /* with SPEED_1000 */

	EEC_PRES = 1u << 8,
	EEC_AUTO_RD = 1u << 9,
	EEC_SIZE_SHIFT = 11,
	EEC_FLASH = 1u << 19,
	EEC_FLUDONE = 1u << 26,

	MDIC_REG_SHIFT = 16,
	MDIC_PHY = 0x1fu << 21, /* reserved: the address is in MDICNFG */
	MDIC_WRITE = 1u << 26,
	MDIC_READ = 2u << 26,
	MDIC_READY = 1u << 28,

	PHPM_RST_COMP = 1u << 8, /* the PHY's reset is complete */

	SYNC_EEP = 1u << 0,
	SYNC_PHY = 1u << 1,

	ICR_LSC = 1u << 2,
	ICR_RXO = 1u << 6,
	ICR_INTA = 1u << 31,

	GPIE_MULTIPLE_MSIX = 1u << 4,
	GPIE_EIAME = 1u << 30,
	EITR_INTERVAL = 0x7ffcu, /* in units of a quarter of 1 us */
	EITR_CNT_IGNR = 1u << 31,
	IVAR_VALID = 0x80,
	IVAR_VECTOR = 7,

	RCTL_EN = 1u << 1,
	RCTL_SBP = 1u << 2,
	RCTL_UPE = 1u << 3,
	RCTL_MPE = 1u << 4,
	RCTL_LPE = 1u << 5,
	RCTL_MO_SHIFT = 12,
	RCTL_BAM = 1u << 15,
	RCTL_VFE = 1u << 18,
	RCTL_SECRC = 1u << 26,

	TCTL_EN = 1u << 1,
	TCTL_PSP = 1u << 3,

	MRQC_RSS = 2, /* in MRQC 2:0 */
	RXPBS_KB = 0x3f,
	SRRCTL_BSIZEPACKET = 0x7f,
	SRRCTL_DROP_EN = 1u << 31,

	/* error bits of a received descriptor */
	RXD_L4E = 1u << 29,
	RXD_IPE = 1u << 30,
	RXD_RXE = 1u << 31,
};

/* --- the PHY: IEEE 802.3, clause 22, and device 7 of clause 45 through registers 13 and 14 --- */

enum {
	PHY_CONTROL = 0,
	PHY_STATUS = 1,
	PHY_ID1 = 2,
	PHY_ID2 = 3,
	PHY_ADVERTISE = 4,
	PHY_PARTNER = 5,
	PHY_1000_CONTROL = 9,
	PHY_1000_STATUS = 10,
	PHY_MMD_CONTROL = 13,
	PHY_MMD_DATA = 14,
	PHY_EXTENDED = 15,
	PHY_VERSION = 30, /* LINUX: of its firmware */

	CONTROL_RESTART = 1u << 9,
	CONTROL_POWER_DOWN = 1u << 11,
	CONTROL_AUTO = 1u << 12,
	CONTROL_RESET = 1u << 15,
	STATUS_LINK = 1u << 2, /* latches low */
	STATUS_DONE = 1u << 5,
	ADVERTISE_10 = 3u << 5,
	ADVERTISE_100 = 3u << 7,
	ADVERTISE_1000 = 1u << 9, /* of PHY_1000_CONTROL */

	MMD_AN = 7,
	AN_MULTI = 32,
	AN_MULTI_STATUS = 33,
	MULTI_2500 = 1u << 7,       /* of AN_MULTI */
	MULTI_PARTNER_2500 = 1u << 5, /* of AN_MULTI_STATUS */
	MMD_FUNCTION = 3u << 14, /* of PHY_MMD_CONTROL: 0 address, 1 data */
};

#endif
