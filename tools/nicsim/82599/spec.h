/*
 * Registers, bits and descriptors of the 82599, typed from the "Intel 82599 10 GbE Controller
 * Datasheet", revision 3.3 (331520). Sections are those of that document.
 *
 * One row per register: name, offset, stride, count, access, bits a driver may write as 1, section.
 * A row defines the constant of the offset and the entry that model.c checks every access with.
 *
 * LINUX: marks what the datasheet calls reserved but Linux 6.1's ixgbe or ethtool uses; it is
 * accepted from any driver. A few such bits remain violations, because no driver but Linux needs
 * them: tests/witness/conftest.py lists these (quirks).
 */
#ifndef NICSIM_82599_SPEC_H
#define NICSIM_82599_SPEC_H

#include <stdint.h>

#include "tools/nicsim/intel/desc.h"

#define ALL 0xffffffffu

#define INTEL_82599_REGS(R) \
	/* --- general control, 8.2.3.1 --- */ \
	R(CTRL, 0x00000, 0, 1, REG_RW, 0x0400000c, "8.2.3.1.1") \
	R(CTRL_ALIAS, 0x00004, 0, 1, REG_RW, 0x0400000c, "8.2.3.1.1") \
	R(STATUS, 0x00008, 0, 1, REG_RO, ALL, "8.2.3.1.2") \
	R(CTRL_EXT, 0x00018, 0, 1, REG_RW, 0x14034000, "8.2.3.1.3") \
	R(ESDP, 0x00020, 0, 1, REG_RW, ALL, "8.2.3.1.4") \
	R(I2CCTL, 0x00028, 0, 1, REG_RW, 0x0000000f, "8.2.3.1.5") \
	R(FRTIMER, 0x00048, 0, 1, REG_RO, ALL, "8.2.3.1") \
	R(TCPTIMER, 0x0004c, 0, 1, REG_RW, 0x00000fff, "8.2.3.1") \
	R(LEDCTL, 0x00200, 0, 1, REG_RW, 0xefefefef, "8.2.3.1.6") \
	R(EXVET, 0x05078, 0, 1, REG_RW, ALL, "8.2.3.1.7") \
	/* --- EEPROM and Flash, 8.2.3.2 --- */ \
	R(EEC, 0x10010, 0, 1, REG_RW, 0x0000ffff, "8.2.3.2.1") \
	R(EERD, 0x10014, 0, 1, REG_RW, 0x0000fffd, "8.2.3.2.2") \
	R(FLA, 0x1001c, 0, 1, REG_RW, 0x0000006f, "8.2.3.2.3") \
	R(EEMNGCTL, 0x10110, 0, 1, REG_RW, ALL, "8.2.3.2.4") \
	R(EEMNGDATA, 0x10114, 0, 1, REG_RW, ALL, "8.2.3.2.5") \
	R(FLMNG, 0x10118, 4, 3, REG_RW, ALL, "8.2.3.2") \
	R(EEARBC, 0x10128, 0, 1, REG_RW, ALL, "8.2.3.2") \
	R(FLOP, 0x1013c, 0, 1, REG_RW, ALL, "8.2.3.2.8") \
	R(GRC, 0x10200, 0, 1, REG_RW, 0x00000003, "8.2.3.2.9") \
	R(SRAMREL, 0x10210, 0, 1, REG_RW, ALL, "8.2.3.2") \
	/* --- flow control, 8.2.3.3 --- */ \
	R(PFCTOP, 0x03008, 0, 1, REG_RW, ALL, "8.2.3.3.1") \
	R(FCTTV, 0x03200, 4, 4, REG_RW, ALL, "8.2.3.3.2") \
	R(FCRTL, 0x03220, 4, 8, REG_RW, 0x8007fff0, "8.2.3.3.3") /* LINUX: -t wants bit 4 */ \
	R(FCRTH, 0x03260, 4, 8, REG_RW, 0x8007fff0, "8.2.3.3.4") \
	R(FCRTV, 0x032a0, 0, 1, REG_RW, 0x0000ffff, "8.2.3.3.5") \
	R(FCCFG, 0x03d00, 0, 1, REG_RW, 0x00000018, "8.2.3.3.7") \
	R(DROPEN, 0x03d04, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(TFCS, 0x0ce00, 0, 1, REG_RO, ALL, "8.2.3.3.6") \
	/* --- PCIe and firmware, 8.2.3.4 --- */ \
	R(GCR, 0x11000, 0, 1, REG_RW, ALL, "8.2.3.4.1") \
	R(GSCL, 0x11010, 4, 4, REG_RW, ALL, "8.2.3.4.2") \
	R(GSCN, 0x11020, 4, 4, REG_RW, ALL, "8.2.3.4.7") \
	R(GSCL_5, 0x11030, 4, 4, REG_RW, ALL, "8.2.3.4.4") \
	R(PCIEANACTL, 0x11040, 4, 3, REG_RW, ALL, "8.2.3.4") \
	R(GCR_EXT, 0x11050, 0, 1, REG_RW, 0xc0000003, "8.2.3.4.15") \
	R(MREVID, 0x11064, 0, 1, REG_RO, ALL, "8.2.3.4.14") \
	R(PBACL0, 0x11068, 0, 1, REG_W1C, ALL, "8.2.3.6.4") \
	R(PCIEECCCTL, 0x1106c, 0, 1, REG_RW, ALL, "8.2.3.4") \
	R(DCA_ID, 0x11070, 0, 1, REG_RO, ALL, "8.2.3.11.3") \
	R(DCA_CTRL, 0x11074, 0, 1, REG_RW, 0x0000001f, "8.2.3.11.4") \
	R(PCIE_DIAG, 0x11090, 4, 8, REG_RO, ALL, "LINUX: dumped") \
	R(PICAUSE, 0x110b0, 0, 1, REG_W1C, ALL, "8.2.3.4") \
	R(PIENA, 0x110b8, 0, 1, REG_RW, ALL, "8.2.3.4") \
	R(PBACL, 0x110c4, 4, 7, REG_W1C, ALL, "8.2.3.6.4") \
	R(BARCTRL, 0x110f4, 0, 1, REG_RW, ALL, "8.2.3.4") \
	R(SWSM, 0x10140, 0, 1, REG_RW, 0x00000007, "8.2.3.4.12") \
	R(FWSM, 0x10148, 0, 1, REG_RO, ALL, "8.2.3.4.12") \
	R(FACTPS, 0x10150, 0, 1, REG_RO, ALL, "8.2.3.4.11") \
	R(SW_FW_SYNC, 0x10160, 0, 1, REG_RW, 0x000003ff, "8.2.3.4.13") \
	/* --- interrupts, 8.2.3.5 --- */ \
	R(EICR, 0x00800, 0, 1, REG_W1C, ALL, "8.2.3.5.1") \
	R(EICS, 0x00808, 0, 1, REG_W1S, 0x7fffffff, "8.2.3.5.2") \
	R(EIAC, 0x00810, 0, 1, REG_RW, 0x7fffffff, "8.2.3.5.5") \
	R(EITR, 0x00820, 4, 24, REG_RW, 0xffffeff8, "8.2.3.5.12") \
	R(EITR_HIGH, 0x12300, 4, 104, REG_RW, 0xffffeff8, "8.2.3.5.12") \
	R(EIMS, 0x00880, 0, 1, REG_W1S, 0x7fffffff, "8.2.3.5.3") \
	R(EIMC, 0x00888, 0, 1, REG_W1C, ALL, "8.2.3.5.4") /* LINUX: masks with bit 31 set, too */ \
	R(EIAM, 0x00890, 0, 1, REG_RW, 0x7fffffff, "8.2.3.5.6") \
	R(EITRSEL, 0x00894, 0, 1, REG_RW, ALL, "8.2.3.5.11") \
	R(GPIE, 0x00898, 0, 1, REG_RW, 0xc000ffff, "8.2.3.5.18") \
	R(IVAR, 0x00900, 4, 64, REG_RW, 0xbfbfbfbf, "8.2.3.5.16") \
	R(IVAR_MISC, 0x00a00, 0, 1, REG_RW, 0x0000bfbf, "8.2.3.5.17") \
	R(EICS_EX, 0x00a90, 4, 2, REG_W1S, ALL, "8.2.3.5.7") \
	R(EIMS_EX, 0x00aa0, 4, 2, REG_W1S, ALL, "8.2.3.5.8") \
	R(EIMC_EX, 0x00ab0, 4, 2, REG_W1C, ALL, "8.2.3.5.9") \
	R(EIAM_EX, 0x00ad0, 4, 2, REG_RW, ALL, "8.2.3.5.10") \
	/* --- receive filters, 8.2.3.7 --- */ \
	R(FCTRL, 0x05080, 0, 1, REG_RW, 0x00000702, "8.2.3.7.1") \
	R(VLNCTRL, 0x05088, 0, 1, REG_RW, 0xf000ffff, "8.2.3.7.2") \
	R(MCSTCTRL, 0x05090, 0, 1, REG_RW, 0x00000007, "8.2.3.7.3") \
	R(RUPPBMR, 0x050a0, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(RFVAL, 0x050a4, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(PFFLP, 0x050b0, 4, 2, REG_RW, ALL, "8.2.3.27") \
	R(PSRTYPE, 0x0ea00, 4, 64, REG_RW, 0xe003f330, "8.2.3.7.4") /* LINUX: sets L2 (12), 17 */ \
	R(PSRTYPE_ALIAS, 0x05480, 4, 16, REG_RW, 0xe003f330, "8.2.3.7.4") \
	R(RXCSUM, 0x05000, 0, 1, REG_RW, 0x00003000, "8.2.3.7.5") \
	R(RFCTL, 0x05008, 0, 1, REG_RW, 0x0000fffe, "8.2.3.7.6") \
	R(MTA, 0x05200, 4, 128, REG_RW, ALL, "8.2.3.7.7") \
	R(RAL, 0x0a200, 8, 128, REG_RW, ALL, "8.2.3.7.8") \
	R(RAH, 0x0a204, 8, 128, REG_RW, 0x8000ffff, "8.2.3.7.9") \
	R(RAL_ALIAS, 0x05400, 8, 16, REG_RW, ALL, "8.2.3.7.8") \
	R(RAH_ALIAS, 0x05404, 8, 16, REG_RW, 0x8000ffff, "8.2.3.7.9") \
	R(MPSAR, 0x0a600, 4, 256, REG_RW, ALL, "8.2.3.7.10") \
	R(VFTA, 0x0a000, 4, 128, REG_RW, ALL, "8.2.3.7.11") \
	R(MRQC, 0x0ec80, 0, 1, REG_RW, 0xfff7800f, "8.2.3.7.12") /* LINUX: bit 15, 24:22 IPv6_EX */ \
	R(MRQC_ALIAS, 0x05818, 0, 1, REG_RW, 0xfff7800f, "8.2.3.7.12") \
	R(RQTC, 0x0ec70, 0, 1, REG_RW, 0x77777777, "8.2.3.7.13") \
	R(VMD_CTL, 0x0581c, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(RSSRK, 0x0eb80, 4, 10, REG_RW, ALL, "8.2.3.7.14") \
	R(RSSRK_ALIAS, 0x05c80, 4, 10, REG_RW, ALL, "8.2.3.7.14") \
	R(RETA, 0x0eb00, 4, 32, REG_RW, 0x0f0f0f0f, "8.2.3.7.15") \
	R(RETA_ALIAS, 0x05c00, 4, 32, REG_RW, 0x0f0f0f0f, "8.2.3.7.15") \
	R(SAQF, 0x0e000, 4, 128, REG_RW, ALL, "8.2.3.7.16") \
	R(DAQF, 0x0e200, 4, 128, REG_RW, ALL, "8.2.3.7.17") \
	R(SDPQF, 0x0e400, 4, 128, REG_RW, ALL, "8.2.3.7.18") \
	R(FTQF, 0x0e600, 4, 128, REG_RW, 0xfe003f1f, "8.2.3.7.19") \
	R(L34TIMIR, 0x0e800, 4, 128, REG_RW, ALL, "8.2.3.7.20") \
	R(SYNQF, 0x0ec30, 0, 1, REG_RW, 0x800000ff, "8.2.3.7.22") \
	R(ETQF, 0x05128, 4, 8, REG_RW, ALL, "8.2.3.7.21") \
	R(ETQS, 0x0ec00, 4, 8, REG_RW, 0xa07f0000, "8.2.3.7.23") \
	R(LLITHRESH, 0x0ec90, 0, 1, REG_RW, ALL, "8.2.3.5") \
	R(IMIR, 0x05a80, 4, 8, REG_RO, ALL, "LINUX: dumped") \
	R(IMIREXT, 0x05aa0, 4, 8, REG_RO, ALL, "LINUX: dumped") \
	R(IMIRVP, 0x05ac0, 0, 1, REG_RW, ALL, "8.2.3.5") \
	/* --- receive DMA, 8.2.3.8 --- */ \
	R(RDBAL, 0x01000, 64, 64, REG_RW, 0xffffff80, "8.2.3.8.1") \
	R(RDBAH, 0x01004, 64, 64, REG_RW, ALL, "8.2.3.8.2") \
	R(RDLEN, 0x01008, 64, 64, REG_RW, 0x000fff80, "8.2.3.8.3") \
	R(RDH, 0x01010, 64, 64, REG_RW, 0x0000ffff, "8.2.3.8.4") \
	R(RDT, 0x01018, 64, 64, REG_RW, 0x0000ffff, "8.2.3.8.5") \
	R(RXDCTL, 0x01028, 64, 64, REG_RW, 0x4600ffff, "8.2.3.8.6") /* LINUX: RLPML, SWFLSH */ \
	R(SRRCTL_1014, 0x01014, 64, 64, REG_RW, 0x1fc03f1f, "8.2.3.8.7") \
	R(SRRCTL_2100, 0x02100, 4, 16, REG_RW, 0x1fc03f1f, "8.2.3.8.7") \
	R(DCA_RXCTRL_100C, 0x0100c, 64, 64, REG_RW, 0xff00f3e0, "8.2.3.11.1") \
	R(DCA_RXCTRL_2200, 0x02200, 4, 16, REG_RW, 0xff00f3e0, "8.2.3.11.1") \
	R(RSCCTL, 0x0102c, 64, 64, REG_RW, 0x0000000f, "8.2.3.8.13") \
	R(RDBAL_64, 0x0d000, 64, 64, REG_RW, 0xffffff80, "8.2.3.8.1") \
	R(RDBAH_64, 0x0d004, 64, 64, REG_RW, ALL, "8.2.3.8.2") \
	R(RDLEN_64, 0x0d008, 64, 64, REG_RW, 0x000fff80, "8.2.3.8.3") \
	R(DCA_RXCTRL_64, 0x0d00c, 64, 64, REG_RW, 0xff00f3e0, "8.2.3.11.1") \
	R(RDH_64, 0x0d010, 64, 64, REG_RW, 0x0000ffff, "8.2.3.8.4") \
	R(SRRCTL_64, 0x0d014, 64, 64, REG_RW, 0x1fc03f1f, "8.2.3.8.7") \
	R(RDT_64, 0x0d018, 64, 64, REG_RW, 0x0000ffff, "8.2.3.8.5") \
	R(RXDCTL_64, 0x0d028, 64, 64, REG_RW, 0x4600ffff, "8.2.3.8.6") \
	R(RSCCTL_64, 0x0d02c, 64, 64, REG_RW, 0x0000000f, "8.2.3.8.13") \
	R(QDE, 0x02f04, 0, 1, REG_RW, 0x00037f01, "8.2.3.27") \
	R(RDRXCTL, 0x02f00, 0, 1, REG_RW, 0x07fe00db, "8.2.3.8.8") /* LINUX: RSCLLIDIS, 1:0 kept */ \
	R(RDHMPN, 0x02f08, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(RIC_DW, 0x02f10, 4, 4, REG_RO, ALL, "LINUX: dumped") \
	R(RDPROBE, 0x02f20, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(RDMAM, 0x02f30, 4, 2, REG_RO, ALL, "LINUX: dumped") \
	R(LVMMC_RX, 0x02fa8, 0, 1, REG_RO, ALL, "8.2.3.27") \
	R(RXPBSIZE, 0x03c00, 4, 8, REG_RW, 0x000ffc00, "8.2.3.8.9") \
	R(RXCTRL, 0x03000, 0, 1, REG_RW, 0x00000003, "8.2.3.8.10") /* LINUX: -t sets bit 1 */ \
	R(STARCTRL, 0x03024, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(RSCDBU, 0x03028, 0, 1, REG_RW, 0x000000ff, "8.2.3.8.12") \
	R(RXMEMWRAP, 0x03190, 0, 1, REG_RO, ALL, "8.2.3.8.11") \
	R(RXUSED, 0x03100, 4, 32, REG_RO, ALL, "LINUX: dumped") \
	R(RXBUF, 0x03600, 4, 8, REG_RO, ALL, "LINUX: dumped") \
	R(RXPTR, 0x03700, 4, 16, REG_RO, ALL, "LINUX: dumped") \
	/* --- transmit, 8.2.3.9 --- */ \
	R(DMATXCTL, 0x04a80, 0, 1, REG_RW, 0xffff000f, "8.2.3.9.2") \
	R(DTXTCPFLGL, 0x04a88, 0, 1, REG_RW, 0x0fff0fff, "8.2.3.9.3") \
	R(DTXTCPFLGH, 0x04a8c, 0, 1, REG_RW, 0x00000fff, "8.2.3.9.4") \
	R(DTXMXSZRQ, 0x08100, 0, 1, REG_RW, 0x00000fff, "8.2.3.9.1") \
	R(MTQC, 0x08120, 0, 1, REG_RW, 0x0000000f, "8.2.3.9.15") \
	R(TXPBSIZE, 0x0cc00, 4, 8, REG_RW, 0x000ffc00, "8.2.3.9.13") \
	R(TXPBTHRESH, 0x04950, 4, 8, REG_RW, 0x000003ff, "8.2.3.9.16") \
	R(TDBAL, 0x06000, 64, 128, REG_RW, 0xffffff80, "8.2.3.9.5") \
	R(TDBAH, 0x06004, 64, 128, REG_RW, ALL, "8.2.3.9.6") \
	R(TDLEN, 0x06008, 64, 128, REG_RW, 0x000fff80, "8.2.3.9.7") \
	R(DCA_TXCTRL, 0x0600c, 64, 128, REG_RW, 0xff002a20, "8.2.3.11.2") \
	R(TDH, 0x06010, 64, 128, REG_RW, 0x0000ffff, "8.2.3.9.8") \
	R(TDT, 0x06018, 64, 128, REG_RW, 0x0000ffff, "8.2.3.9.9") \
	R(TXDCTL, 0x06028, 64, 128, REG_RW, 0x067f7f7f, "8.2.3.9.10") \
	R(TDWBAL, 0x06038, 64, 128, REG_RW, 0xfffffffd, "8.2.3.9.11") \
	R(TDWBAH, 0x0603c, 64, 128, REG_RW, ALL, "8.2.3.9.12") \
	R(DCA_TXCTRL_82598, 0x07200, 4, 16, REG_RO, ALL, "LINUX: dumped") \
	R(DTXCTL, 0x07e00, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(TDHMPN, 0x07f08, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(TIC_DW, 0x07f10, 4, 5, REG_RO, ALL, "LINUX: dumped") \
	R(DPMCS, 0x07f40, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(TXUSED, 0x0c100, 4, 32, REG_RO, ALL, "LINUX: dumped") \
	R(TXBUF, 0x0c600, 4, 8, REG_RO, ALL, "LINUX: dumped") \
	R(TXPTR, 0x0c700, 4, 16, REG_RO, ALL, "LINUX: dumped") \
	R(TIPG, 0x0cb00, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(MNGTXMAP, 0x0cd10, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	/* --- DCB, 8.2.3.10 --- */ \
	R(RTRPCS, 0x02430, 0, 1, REG_RW, 0x00ff0006, "8.2.3.10.1") \
	R(RTTDCS, 0x04900, 0, 1, REG_RW, 0x80c00073, "8.2.3.10.2") \
	R(RTTPCS, 0x0cd00, 0, 1, REG_RW, 0xffc00120, "8.2.3.10.3") \
	R(RTRUP2TC, 0x03020, 0, 1, REG_RW, 0x00ffffff, "8.2.3.10.4") \
	R(RTTUP2TC, 0x0c800, 0, 1, REG_RW, 0x00ffffff, "8.2.3.10.5") \
	R(RTRPT4C, 0x02140, 4, 8, REG_RW, ALL, "8.2.3.10.6") \
	R(TXLLQ, 0x082e0, 4, 4, REG_RW, ALL, "8.2.3.10.7") \
	R(RTRPT4S, 0x02160, 4, 8, REG_RO, ALL, "8.2.3.10.8") \
	R(RTTDT2C, 0x04910, 4, 8, REG_RW, ALL, "8.2.3.10.9") \
	R(RTTPT2C, 0x0cd20, 4, 8, REG_RW, ALL, "8.2.3.10.10") \
	R(RTTPT2S, 0x0cd40, 4, 8, REG_RO, ALL, "8.2.3.10.11") \
	R(RTTDT2S, 0x04930, 4, 8, REG_RO, ALL, "8.2.3.10.12") \
	R(RTTDQSEL, 0x04904, 0, 1, REG_RW, 0x0000007f, "8.2.3.10.13") \
	R(RTTDT1C, 0x04908, 0, 1, REG_RW, 0x00003fff, "8.2.3.10.14") \
	R(RTTDT1S, 0x0490c, 0, 1, REG_RO, ALL, "8.2.3.10.15") \
	R(RTTBCNRM, 0x04980, 0, 1, REG_RW, ALL, "8.2.3.10") \
	R(RTTBCNRC, 0x04984, 0, 1, REG_RW, 0x80ffffff, "8.2.3.10.16") \
	R(RTTBCNRS, 0x04988, 0, 1, REG_RO, ALL, "8.2.3.10.17") \
	R(RTTBCNRD, 0x0498c, 0, 1, REG_RW, ALL, "8.2.3.10") \
	R(RT2CR, 0x03c20, 4, 16, REG_RO, ALL, "LINUX: dumped") \
	/* --- security, 8.2.3.12 --- */ \
	R(SECTXCTRL, 0x08800, 0, 1, REG_RW, 0x00000007, "8.2.3.12.1") \
	R(SECTXSTAT, 0x08804, 0, 1, REG_RO, ALL, "8.2.3.12.2") \
	R(SECTXBUFFAF, 0x08808, 0, 1, REG_RW, 0x000003ff, "8.2.3.12.3") \
	R(SECTXMINIFG, 0x08810, 0, 1, REG_RW, 0x00001f0f, "8.2.3.12.4") \
	R(SECRXCTRL, 0x08d00, 0, 1, REG_RW, 0x00000003, "8.2.3.12.5") \
	R(SECRXSTAT, 0x08d04, 0, 1, REG_RO, ALL, "8.2.3.12.6") \
	R(LSECTXCAP, 0x08a00, 4, 16, REG_RW, ALL, "8.2.3.13") \
	R(LSECRXCAP, 0x08f00, 4, 33, REG_RW, ALL, "8.2.3.13") \
	R(IPSTXIDX, 0x08900, 4, 6, REG_RW, ALL, "8.2.3.14") \
	R(IPSRXIDX, 0x08e00, 4, 13, REG_RW, ALL, "8.2.3.14") \
	/* --- time stamps, 8.2.3.26. LINUX: writes RXTT and TXTT back as read --- */ \
	R(TSYNCRXCTL, 0x05188, 0, 1, REG_RW, 0x0000001f, "8.2.3.26.1") \
	R(RXSTMPL, 0x051e8, 0, 1, REG_RO, ALL, "8.2.3.26.2") \
	R(RXSTMPH, 0x051a4, 0, 1, REG_RO, ALL, "8.2.3.26.3") \
	R(RXSATRL, 0x051a0, 0, 1, REG_RO, ALL, "8.2.3.26.4") \
	R(RXSATRH, 0x051a8, 0, 1, REG_RO, ALL, "8.2.3.26.5") \
	R(RXMTRL, 0x05120, 0, 1, REG_RW, ALL, "8.2.3.26.6") \
	R(TSYNCTXCTL, 0x08c00, 0, 1, REG_RW, 0x00000011, "8.2.3.26.7") \
	R(TXSTMPL, 0x08c04, 4, 2, REG_RO, ALL, "8.2.3.26.8") \
	R(SYSTIM, 0x08c0c, 4, 2, REG_RW, ALL, "8.2.3.26.10") \
	R(TIMINCA, 0x08c14, 0, 1, REG_RW, ALL, "8.2.3.26.12") \
	R(TIMADJ, 0x08c18, 4, 2, REG_RW, ALL, "8.2.3.26.13") \
	R(TSAUXC, 0x08c20, 0, 1, REG_RW, ALL, "8.2.3.26.15") \
	R(TRGTTIM, 0x08c24, 4, 9, REG_RW, ALL, "8.2.3.26.16") \
	/* --- virtualisation, 8.2.3.27 (accepted; pools are not modelled) --- */ \
	R(PFVTCTL, 0x051b0, 0, 1, REG_RW, 0x60001f81, "8.2.3.27.1") \
	R(PFMAILBOX, 0x04b00, 4, 64, REG_RW, ALL, "8.2.3.27.2") \
	R(PFMBICR, 0x00710, 4, 4, REG_W1C, ALL, "8.2.3.27.3") \
	R(PFMBIMR, 0x00720, 4, 2, REG_RW, ALL, "8.2.3.27.4") \
	R(PFVFLRE, 0x00600, 0, 1, REG_RO, ALL, "8.2.3.27.5") \
	R(PFVFLRE1, 0x001c0, 0, 1, REG_RO, ALL, "8.2.3.27.5") \
	R(PFVFLREC, 0x00700, 4, 2, REG_W1C, ALL, "8.2.3.27.6") \
	R(PFVFRE, 0x051e0, 4, 2, REG_RW, ALL, "8.2.3.27.7") \
	R(PFVFTE, 0x08110, 4, 2, REG_RW, ALL, "8.2.3.27.8") \
	R(VMECM, 0x08790, 4, 2, REG_RW, ALL, "8.2.3.27") \
	R(PFVMTXSW, 0x05180, 4, 2, REG_RW, ALL, "8.2.3.27.10") \
	R(PFVFSPOOF, 0x08200, 4, 8, REG_RW, 0x0000ffff, "8.2.3.27.13") \
	R(PFDTXGSWC, 0x08220, 0, 1, REG_RW, 0x00000001, "8.2.3.27.14") \
	R(PFVML2FLT, 0x0f000, 4, 64, REG_RW, 0x1fc00000, "8.2.3.27.15") \
	R(PFVLVF, 0x0f100, 4, 64, REG_RW, 0x80000fff, "8.2.3.27.16") \
	R(PFVLVFB, 0x0f200, 4, 128, REG_RW, ALL, "8.2.3.27.17") \
	R(PFUTA, 0x0f400, 4, 128, REG_WO, ALL, "8.2.3.27.18") \
	R(PFMRCTL, 0x0f600, 4, 4, REG_RW, ALL, "8.2.3.27.19") \
	R(PFMRVLAN, 0x0f610, 4, 8, REG_RW, ALL, "8.2.3.27.20") \
	R(PFMRVM, 0x0f630, 4, 8, REG_RW, ALL, "8.2.3.27.21") \
	R(PFVMVIR, 0x08000, 4, 64, REG_RW, 0xc000ffff, "8.2.3.27.9") \
	/* --- FCoE, 8.2.3.19, 20 (accepted) --- */ \
	R(FCPTRL, 0x02410, 4, 8, REG_RW, ALL, "8.2.3.20") \
	R(TEOFF, 0x04a94, 4, 2, REG_RW, ALL, "8.2.3.19") \
	R(FCRXCTRL, 0x05100, 4, 6, REG_RW, ALL, "8.2.3.20") \
	R(FCCRC, 0x05118, 0, 1, REG_RC, ALL, "8.2.3.23") \
	R(REOFF, 0x05158, 0, 1, REG_RW, ALL, "8.2.3.20") \
	R(FCPARAM, 0x051d8, 0, 1, REG_RW, ALL, "8.2.3.20") \
	R(RSOFF, 0x051f8, 0, 1, REG_RW, ALL, "8.2.3.20") \
	R(FCRECTL, 0x0ed00, 0, 1, REG_RW, ALL, "8.2.3.20") \
	R(FCRETA, 0x0ed10, 4, 8, REG_RW, ALL, "8.2.3.20") \
	/* --- flow director, 8.2.3.21 --- */ \
	R(FDIRCTRL, 0x0ee00, 0, 1, REG_RW, 0xff1f07bb, "8.2.3.21.1") \
	R(FDIRSIPV6, 0x0ee0c, 4, 3, REG_RW, ALL, "8.2.3.21.6") \
	R(FDIRIPSA, 0x0ee18, 0, 1, REG_RW, ALL, "8.2.3.21.7") \
	R(FDIRIPDA, 0x0ee1c, 0, 1, REG_RW, ALL, "8.2.3.21.8") \
	R(FDIRPORT, 0x0ee20, 0, 1, REG_RW, ALL, "8.2.3.21.9") \
	R(FDIRVLAN, 0x0ee24, 0, 1, REG_RW, ALL, "8.2.3.21.10") \
	R(FDIRHASH, 0x0ee28, 0, 1, REG_RW, 0x7fffffff, "8.2.3.21.11") \
	R(FDIRCMD, 0x0ee2c, 0, 1, REG_RW, 0x3f7fffff, "8.2.3.21.12") \
	R(FDIRFREE, 0x0ee38, 0, 1, REG_RW, ALL, "8.2.3.21.13") \
	R(FDIRDIP4M, 0x0ee3c, 0, 1, REG_RW, ALL, "8.2.3.21.18") \
	R(FDIRSIP4M, 0x0ee40, 0, 1, REG_RW, ALL, "8.2.3.21.19") \
	R(FDIRTCPM, 0x0ee44, 0, 1, REG_RW, ALL, "8.2.3.21.20") \
	R(FDIRUDPM, 0x0ee48, 0, 1, REG_RW, ALL, "8.2.3.21.21") \
	R(FDIRLEN, 0x0ee4c, 0, 1, REG_RC, ALL, "8.2.3.21.14") \
	R(FDIRUSTAT, 0x0ee50, 0, 1, REG_RC, ALL, "8.2.3.21.15") \
	R(FDIRFSTAT, 0x0ee54, 0, 1, REG_RC, ALL, "8.2.3.21.16") \
	R(FDIRMATCH, 0x0ee58, 0, 1, REG_RC, ALL, "8.2.3.21.17") \
	R(FDIRMISS, 0x0ee5c, 0, 1, REG_RC, ALL, "8.2.3.21.17") \
	R(FDIRHKEY, 0x0ee68, 0, 1, REG_RW, ALL, "8.2.3.21.2") \
	R(FDIRSKEY, 0x0ee6c, 0, 1, REG_RW, ALL, "8.2.3.21.3") \
	R(FDIRM, 0x0ee70, 0, 1, REG_RW, 0x0000003f, "8.2.3.21.22") \
	R(FDIRIP6M, 0x0ee74, 0, 1, REG_RW, ALL, "8.2.3.21.23") \
	R(FDIRSCTPM, 0x0ee78, 0, 1, REG_RW, ALL, "LINUX: of the X550") \
	/* --- MAC, 8.2.3.22 --- */ \
	R(PCS1GCFIG, 0x04200, 0, 1, REG_RW, ALL, "8.2.3.22.1") \
	R(PCS1GLCTL, 0x04208, 0, 1, REG_RW, ALL, "8.2.3.22.2") \
	R(PCS1GLSTA, 0x0420c, 0, 1, REG_RO, ALL, "8.2.3.22.3") \
	R(PCS1GDBG, 0x04210, 4, 2, REG_RO, ALL, "LINUX: dumped") \
	R(PCS1GANA, 0x04218, 0, 1, REG_RW, ALL, "8.2.3.22.4") \
	R(PCS1GANLP, 0x0421c, 0, 1, REG_RO, ALL, "8.2.3.22.5") \
	R(PCS1GANNP, 0x04220, 0, 1, REG_RW, ALL, "8.2.3.22.6") \
	R(PCS1GANLPNP, 0x04224, 0, 1, REG_RO, ALL, "8.2.3.22.7") \
	R(HLREG0, 0x04240, 0, 1, REG_RW, 0x1ff7ffff, "8.2.3.22.8") \
	R(HLREG1, 0x04244, 0, 1, REG_RO, ALL, "8.2.3.22.9") \
	R(PAP, 0x04248, 0, 1, REG_RW, 0x0000ffff, "8.2.3.22.10") \
	R(MACA, 0x0424c, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(APAE, 0x04250, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(ARD, 0x04254, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(AIS, 0x04258, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(MSCA, 0x0425c, 0, 1, REG_RW, 0x7fffffff, "8.2.3.22.11") \
	R(MSRWD, 0x04260, 0, 1, REG_RW, 0x0000ffff, "8.2.3.22.12") \
	R(MLADD, 0x04264, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(MAXFRS, 0x04268, 0, 1, REG_RW, 0xffff0000, "8.2.3.22.13") \
	R(TREG, 0x0426c, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(PCSS1, 0x04288, 0, 1, REG_RO, ALL, "8.2.3.22.14") \
	R(PCSS2, 0x0428c, 0, 1, REG_RO, ALL, "8.2.3.22.15") \
	R(XPCSS, 0x04290, 0, 1, REG_RO, ALL, "8.2.3.22.16") \
	R(MFLCN, 0x04294, 0, 1, REG_RW, 0x00000fff, "8.2.3.22.27") \
	R(SERDESC, 0x04298, 0, 1, REG_RW, ALL, "8.2.3.22.17") \
	R(MACS, 0x0429c, 0, 1, REG_RO, ALL, "8.2.3.22.18") \
	R(AUTOC, 0x042a0, 0, 1, REG_RW, ALL, "8.2.3.22.19") \
	R(LINKS, 0x042a4, 0, 1, REG_RO, ALL, "8.2.3.22.20") \
	R(AUTOC2, 0x042a8, 0, 1, REG_RW, 0xfffbffff, "8.2.3.22.22") \
	R(AUTOC3, 0x042ac, 0, 1, REG_RO, ALL, "LINUX: dumped") \
	R(ANLP1, 0x042b0, 0, 1, REG_RO, ALL, "8.2.3.22.23") \
	R(ANLP2, 0x042b4, 0, 1, REG_RO, ALL, "8.2.3.22.24") \
	R(MDFTC, 0x042b8, 4, 6, REG_RO, ALL, "LINUX: dumped") \
	R(MMNGC, 0x042d0, 0, 1, REG_RO, ALL, "8.2.3.22.25") \
	R(ANLPNP1, 0x042d4, 4, 2, REG_RO, ALL, "8.2.3.22.26") \
	R(KRPCSFC, 0x042e0, 4, 2, REG_RW, ALL, "8.2.3.22") \
	R(MACC, 0x04330, 0, 1, REG_RW, ALL, "LINUX: of the X540") \
	R(FECS1, 0x042e8, 4, 2, REG_RC, ALL, "8.2.3.22") \
	R(ATLASCTL, 0x04800, 0, 1, REG_RW, ALL, "LINUX: of the 82598") \
	R(CORECTL, 0x14f00, 0, 1, REG_RW, 0x0001ffff, "8.2.3.22.21") \
	/* --- statistics, 8.2.3.23 --- */ \
	R(CRCERRS, 0x04000, 0, 1, REG_RC, 0, "8.2.3.23.1") \
	R(ILLERRC, 0x04004, 0, 1, REG_RC, 0, "8.2.3.23.2") \
	R(ERRBC, 0x04008, 0, 1, REG_RC, 0, "8.2.3.23.3") \
	R(MSPDC, 0x04010, 0, 1, REG_RC, 0, "8.2.3.23.4") \
	R(RXMPC, 0x03fa0, 4, 8, REG_RC, 0, "8.2.3.23.5") \
	R(RNBC, 0x03fc0, 4, 8, REG_RC, 0, "LINUX: of the 82598, dumped") \
	R(MLFC, 0x04034, 0, 1, REG_RC, 0, "8.2.3.23.6") \
	R(MRFC, 0x04038, 0, 1, REG_RC, 0, "8.2.3.23.7") \
	R(RLEC, 0x04040, 0, 1, REG_RC, 0, "8.2.3.23.8") \
	R(SSVPC, 0x08780, 0, 1, REG_RC, 0, "8.2.3.23.9") \
	R(LXONTXC, 0x03f60, 0, 1, REG_RC, 0, "8.2.3.23.10") \
	R(LXONRXC_82598, 0x0cf60, 0, 1, REG_RC, 0, "LINUX: of the 82598, dumped") \
	R(LXOFFTXC, 0x03f68, 0, 1, REG_RC, 0, "8.2.3.23.12") \
	R(LXOFFRXC_82598, 0x0cf68, 0, 1, REG_RC, 0, "LINUX: of the 82598, dumped") \
	R(LXONRXCNT, 0x041a4, 0, 1, REG_RC, 0, "8.2.3.23.11") \
	R(LXOFFRXCNT, 0x041a8, 0, 1, REG_RC, 0, "8.2.3.23.13") \
	R(PXONTXC, 0x03f00, 4, 8, REG_RC, 0, "8.2.3.23.14") \
	R(PXOFFTXC, 0x03f20, 4, 8, REG_RC, 0, "8.2.3.23.16") \
	R(PXONRXCNT, 0x04140, 4, 8, REG_RC, 0, "8.2.3.23.15") \
	R(PXOFFRXCNT, 0x04160, 4, 8, REG_RC, 0, "8.2.3.23.17") \
	R(PXON2OFFCNT, 0x03240, 4, 8, REG_RC, 0, "8.2.3.23.18") \
	R(PXRXC_82598, 0x0cf00, 4, 16, REG_RC, 0, "LINUX: of the 82598, dumped") \
	R(PRC64, 0x0405c, 4, 6, REG_RC, 0, "8.2.3.23.19") \
	R(GPRC, 0x04074, 0, 1, REG_RC, 0, "8.2.3.23.25") \
	R(BPRC, 0x04078, 0, 1, REG_RC, 0, "8.2.3.23.26") \
	R(MPRC, 0x0407c, 0, 1, REG_RC, 0, "8.2.3.23.27") \
	R(GPTC, 0x04080, 0, 1, REG_RC, 0, "8.2.3.23.28") \
	R(GORCL, 0x04088, 0, 1, REG_RC, 0, "8.2.3.23.29") \
	R(GORCH, 0x0408c, 0, 1, REG_RC, 0, "8.2.3.23.29") \
	R(GOTCL, 0x04090, 0, 1, REG_RC, 0, "8.2.3.23.31") \
	R(GOTCH, 0x04094, 0, 1, REG_RC, 0, "8.2.3.23.31") \
	R(RUC, 0x040a4, 0, 1, REG_RC, 0, "8.2.3.23.35") \
	R(RFC, 0x040a8, 0, 1, REG_RC, 0, "8.2.3.23.36") \
	R(ROC, 0x040ac, 0, 1, REG_RC, 0, "8.2.3.23.37") \
	R(RJC, 0x040b0, 0, 1, REG_RC, 0, "8.2.3.23.38") \
	R(MNGPRC, 0x040b4, 0, 1, REG_RC, 0, "8.2.3.23.39") \
	R(MNGPDC, 0x040b8, 0, 1, REG_RC, 0, "8.2.3.23.40") \
	R(MNGPTC, 0x0cf90, 0, 1, REG_RC, 0, "8.2.3.23.41") \
	R(TORL, 0x040c0, 0, 1, REG_RC, 0, "8.2.3.23.42") \
	R(TORH, 0x040c4, 0, 1, REG_RC, 0, "8.2.3.23.43") \
	R(TPR, 0x040d0, 0, 1, REG_RC, 0, "8.2.3.23.44") \
	R(TPT, 0x040d4, 0, 1, REG_RC, 0, "8.2.3.23.45") \
	R(PTC64, 0x040d8, 4, 6, REG_RC, 0, "8.2.3.23.46") \
	R(MPTC, 0x040f0, 0, 1, REG_RC, 0, "8.2.3.23.52") \
	R(BPTC, 0x040f4, 0, 1, REG_RC, 0, "8.2.3.23.53") \
	R(XEC, 0x04120, 0, 1, REG_RC, 0, "8.2.3.23.54") \
	R(RQSMR, 0x02300, 4, 32, REG_RW, 0x0f0f0f0f, "8.2.3.23.55") \
	R(RXDSTATCTRL, 0x02f40, 0, 1, REG_RW, 0x0000001f, "8.2.3.23.56") \
	R(TQSM, 0x08600, 4, 32, REG_RW, 0x0f0f0f0f, "8.2.3.23.57") \
	R(TQSMR_82598, 0x07300, 4, 8, REG_RW, ALL, "LINUX: of the 82598") \
	R(RXDGPC, 0x02f50, 0, 1, REG_RC, 0, "8.2.3.23.58") \
	R(RXDGBCL, 0x02f54, 0, 1, REG_RC, 0, "8.2.3.23.59") \
	R(RXDGBCH, 0x02f58, 0, 1, REG_RC, 0, "8.2.3.23.60") \
	R(RXDDPC, 0x02f5c, 4, 3, REG_RC, 0, "8.2.3.23.61") \
	R(RXLPBKPC, 0x02f68, 4, 3, REG_RC, 0, "8.2.3.23.64") \
	R(RXDLPBKPC, 0x02f74, 4, 3, REG_RC, 0, "8.2.3.23.67") \
	R(TXDGPC, 0x087a0, 4, 3, REG_RC, 0, "8.2.3.23.70") \
	R(RXNFGPC, 0x041b0, 0, 1, REG_RC, 0, "8.2.3.23") \
	R(QPRC, 0x01030, 64, 16, REG_RC, 0, "8.2.3.23.73") \
	R(QPRDC, 0x01430, 64, 16, REG_RC, 0, "8.2.3.23.74") \
	R(QBRC_L, 0x01034, 64, 16, REG_RC, 0, "8.2.3.23.75") \
	R(QBRC_H, 0x01038, 64, 16, REG_RC, 0, "8.2.3.23.76") \
	R(QPTC, 0x08680, 4, 16, REG_RC, 0, "8.2.3.23.77") \
	R(QPTC_82598, 0x06030, 64, 16, REG_RC, 0, "LINUX: reads QPTC here, as in the 82598") \
	R(QBTC_L, 0x08700, 8, 16, REG_RC, 0, "8.2.3.23.78") \
	R(QBTC_H, 0x08704, 8, 16, REG_RC, 0, "8.2.3.23.79") \
	R(RDSTAT_82598, 0x02c00, 4, 9, REG_RO, ALL, "LINUX: dumped") \
	R(FCOEPTC, 0x08784, 4, 2, REG_RC, 0, "8.2.3.23") \
	R(BUPRC, 0x04180, 4, 8, REG_RC, 0, "8.2.3.23") \
	R(B2OSPC, 0x041c0, 4, 2, REG_RC, 0, "LINUX: of the X540") \
	R(BXOFFRXC, 0x041e0, 4, 4, REG_RC, 0, "8.2.3.23") \
	R(O2BSPC, 0x087b0, 0, 1, REG_RC, 0, "LINUX: of the X540") \
	R(B2OGPRC, 0x02f90, 0, 1, REG_RC, 0, "LINUX: of the X540") \
	/* --- wake-up and management, 8.2.3.24, 25 (accepted: no power management) --- */ \
	R(WUC, 0x05800, 0, 1, REG_RW, ALL, "8.2.3.24.1") \
	R(WUFC, 0x05808, 0, 1, REG_RW, ALL, "8.2.3.24.2") \
	R(WUS, 0x05810, 0, 1, REG_W1C, ALL, "8.2.3.24.3") \
	R(IPAV, 0x05838, 0, 1, REG_RW, ALL, "8.2.3.24.4") \
	R(IP4AT, 0x05840, 8, 4, REG_RW, ALL, "8.2.3.24.5") \
	R(IP6AT, 0x05880, 4, 4, REG_RW, ALL, "8.2.3.24.6") \
	R(WUPL, 0x05900, 0, 1, REG_RO, ALL, "8.2.3.24.7") \
	R(WUPM, 0x05a00, 4, 32, REG_RO, ALL, "8.2.3.24.8") \
	R(FHFT, 0x09000, 4, 384, REG_RW, ALL, "8.2.3.24.9") \
	R(MAVTV, 0x05010, 4, 8, REG_RW, ALL, "8.2.3.25.1") \
	R(MFUTP, 0x05030, 4, 8, REG_RO, ALL, "8.2.3.25.2") \
	R(MANC, 0x05820, 0, 1, REG_RO, ALL, "8.2.3.25.5") \
	R(MFVAL, 0x05824, 0, 1, REG_RO, ALL, "8.2.3.25.6") \
	R(MANC2H, 0x05860, 0, 1, REG_RO, ALL, "8.2.3.25.7") \
	R(HICR, 0x15f00, 0, 1, REG_RW, ALL, "8.2.3.25") \
	R(FLEX_MNG, 0x15800, 4, 448, REG_RW, ALL, "8.2.3.25")

/*
 * The X550, as far as it differs: rows that replace those above, and more rows. Names are those of the "Intel
 * Ethernet Controller X550 Datasheet"; offsets and bits are as Linux's ixgbe uses them (ixgbe_type.h,
 * ixgbe_x540.c, ixgbe_x550.c, ixgbe_ptp.c).
 */
#define INTEL_X550_CHANGED_REGS(R) \
	R(SW_FW_SYNC, 0x10160, 0, 1, REG_RW, 0x80007fff, "X550") \
	R(RETA, 0x0eb00, 4, 32, REG_RW, 0x3f3f3f3f, "X550") \
	R(RETA_ALIAS, 0x05c00, 4, 32, REG_RW, 0x3f3f3f3f, "X550") \
	R(HICR, 0x15f00, 0, 1, REG_RW, 0x00000007, "X550")
#define INTEL_X550_NEW_REGS(R) \
	R(ERETA, 0x0ee80, 4, 96, REG_RW, 0x3f3f3f3f, "X550") \
	R(FWSTS, 0x15f0c, 0, 1, REG_RW, ALL, "X550") \
	R(SYSTIMR, 0x08c58, 0, 1, REG_RW, ALL, "X550") \
	R(TSIM, 0x08c68, 0, 1, REG_RW, ALL, "X550")

#define OFFSET_OF_ROW(name, offset, stride, count, access, writable, section) name = offset,
enum reg_offset { INTEL_82599_REGS(OFFSET_OF_ROW) INTEL_X550_NEW_REGS(OFFSET_OF_ROW) };
#undef OFFSET_OF_ROW

/* --- bits, each prefixed with its register --- */

enum {
	CTRL_GIO_DIS = 1u << 2,
	CTRL_LRST = 1u << 3,
	CTRL_RST = 1u << 26,

	STATUS_LINK_UP = 1u << 7,
	STATUS_GIO_MASTER = 1u << 19,

	ESDP_SDP3_DATA = 1u << 3, /* LINUX: the laser is off */
	ESDP_SDP5_DATA = 1u << 5, /* LINUX: a module with two speeds uses 10 Gb/s, */
	ESDP_SDP5_DIR = 1u << 13, /* if this is an output */
	ESDP_SDP2_DATA = 1u << 2, /* a module is in the SFP+ cage (X520 wiring) */

	I2CCTL_CLK_IN = 1u << 0,
	I2CCTL_CLK_OUT = 1u << 1,
	I2CCTL_DATA_IN = 1u << 2,
	I2CCTL_DATA_OUT = 1u << 3,

	EEC_REQ = 1u << 6,
	EEC_GNT = 1u << 7,
	EEC_PRES = 1u << 8,
	EEC_AUTO_RD = 1u << 9,
	EEC_ADDR_SIZE = 1u << 10,
	EEC_SIZE_SHIFT = 11,

	SYNC_SW_PHY0 = 1u << 1,
	SYNC_SW_MNG = 1u << 10, /* X550: the host interface, for software */
	SYNC_REGSMP = 1u << 31, /* X550: a read that finds it clear takes the register */

	HICR_EN = 1u << 0, /* X550: the firmware takes commands */
	HICR_C = 1u << 1,  /* a command is in FLEX_MNG; clears itself */
	HICR_SV = 1u << 2, /* its answer is valid */
	FWSM_MODE_NONE = 0u << 1,
	FWSM_VALID = 1u << 15,

	EICR_RX_QUEUES = 0xffffu,
	EICR_RX_MISS = 1u << 17,
	EICR_LSC = 1u << 20,
	EICR_ECC = 1u << 28,

	GPIE_MULTIPLE_MSIX = 1u << 4,
	GPIE_OCD = 1u << 5,
	GPIE_EIAME = 1u << 30,

	EITR_INTERVAL = 0x00000ff8u,
	EITR_CNT_WDIS = 1u << 31,

	FCTRL_SBP = 1u << 1,
	FCTRL_MPE = 1u << 8,
	FCTRL_UPE = 1u << 9,
	FCTRL_BAM = 1u << 10,
	VLNCTRL_VFE = 1u << 30,
	MCSTCTRL_MO = 3u,
	MCSTCTRL_MFE = 1u << 2,

	MRQC_MRQE = 0xfu,

	RXDCTL_VME = 1u << 30,
	SRRCTL_BSIZEPACKET = 0x1fu,
	SRRCTL_DROP_EN = 1u << 28,
	RDRXCTL_CRCSTRIP = 1u << 1,
	RDRXCTL_DMAIDONE = 1u << 3,
	RXCTRL_RXEN = 1u << 0,

	DMATXCTL_TE = 1u << 0,
	RTTDCS_ARBDIS = 1u << 6,
	RTTBCNRC_RS_ENA = 1u << 31,

	TSYNC_VALID = 1u << 0, /* RXTT, TXTT: a stamp can be read */
	TSYNC_EN = 1u << 4,    /* of TSYNCRXCTL and TSYNCTXCTL */
	/* L3/L4 5-tuple filters, 8.2.3.7.18 to 20 */
	FTQF_PROTOCOL = 3u, /* TCP, UDP, SCTP, any other */
	FTQF_PRIORITY_SHIFT = 2,
	FTQF_NOT_SRC = 1u << 25, /* what a filter does not compare */
	FTQF_NOT_DST = 1u << 26,
	FTQF_NOT_SRC_PORT = 1u << 27,
	FTQF_NOT_DST_PORT = 1u << 28,
	FTQF_NOT_PROTOCOL = 1u << 29,
	FTQF_EN = 1u << 31,
	L34TIMIR_FIXED = 0x7fu << 13, /* must be */
	L34TIMIR_FIXED_VALUE = 0x40u << 13,
	L34TIMIR_QUEUE_SHIFT = 21,

	ETQF_ETYPE = 0xffffu,
	ETQF_1588 = 1u << 30,
	ETQF_EN = 1u << 31,

	SECRXCTRL_RX_DIS = 1u << 1,
	SECSTAT_RDY = 1u << 0,

	FDIRCTRL_INIT_DONE = 1u << 3,
	FDIRCMD_CMD = 3u,

	HLREG0_TXCRCEN = 1u << 0,
	HLREG0_RXCRCSTRP = 1u << 1,
	HLREG0_JUMBOEN = 1u << 2,
	HLREG0_TXPADEN = 1u << 10,
	HLREG0_LPBK = 1u << 15,
	HLREG0_RXLNGTHERREN = 1u << 27,

	MSCA_COMMAND = 1u << 30,

	AUTOC_FLU = 1u << 0,
	AUTOC_RESTART_AN = 1u << 12,
	AUTOC_LMS_SHIFT = 13,
	LINKS_SIGNAL = 1u << 10,
	LINKS_10G_ALIGN = 1u << 16,
	LINKS_SPEED_NON_STD = 1u << 27, /* X550: 2.5 Gb/s with the code of 10, 5 with that of 100 Mb/s */
	LINKS_SPEED_100M = 1u << 28,
	LINKS_SPEED_1G = 2u << 28,
	LINKS_SPEED_10G = 3u << 28,
	LINKS_UP = 1u << 30,
	LINKS_KX_AN_COMP = 1u << 31,
	AUTOC2_DISABLE = 7u << 28, /* LINUX: link disabled by the EEPROM */
};

/* --- error bits of a received descriptor, 7.1.6.2 --- */

enum {
	RXD_RXE = 1u << 29,
	RXD_TCPE = 1u << 30,
	RXD_IPE = 1u << 31,
};

/* TSYNCRXCTL.Type, 8.2.3.26.1: the version and transport of the PTP messages to stamp, and which of
 * them: those that RXMTRL selects, or all events */
enum rx_stamped { RX_V2_L2 = 0, RX_V1_L4 = 1, RX_V2_BOTH = 2, RX_V2_EVENTS = 5 };

#endif
