/*
 * Registers, bits and layouts of "Intel 82599 10 GbE Controller Datasheet", revision 3.3, as far as
 * used here; those marked X540 are from "Intel Ethernet Controller X540 Datasheet", revision 2.7; those marked
 * X550 have the names of "Intel Ethernet Controller X550 Datasheet", and offsets and bits as in Intel's own drivers.
 * All little-endian, as the CPU is.
 *
 * ERRATUM: where silicon and manual differ; the source is named.
 */
#ifndef DRIVERS_IXGBE_SPEC_H
#define DRIVERS_IXGBE_SPEC_H

#include "lib/types.h"

/* One row per register (struct intel_reg). */
#define IXGBE_REGISTERS(X) \
	/* general control, 8.2.3.1 */ \
	X(CTRL, 0x00000, 0, 1, RW, "8.2.3.1") \
	X(STATUS, 0x00008, 0, 1, RO, "8.2.3.1") \
	X(CTRL_EXT, 0x00018, 0, 1, RW, "8.2.3.1") \
	X(ESDP, 0x00020, 0, 1, RW, "8.2.3.1") \
	X(I2CCTL, 0x00028, 0, 1, RW, "8.2.3.1") \
	/* EEPROM, and semaphores: 8.2.3.2, 8.2.3.4 */ \
	X(EEC, 0x10010, 0, 1, RW, "8.2.3.2") \
	X(EERD, 0x10014, 0, 1, RW, "8.2.3.2") \
	X(CORECTL, 0x14f00, 0, 1, RW, "8.2.3.22") \
	X(SWSM, 0x10140, 0, 1, RW, "8.2.3.4") \
	X(SW_FW_SYNC, 0x10160, 0, 1, RW, "8.2.3.4") \
	X(GCR_EXT, 0x11050, 0, 1, RW, "8.2.3.4") \
	/* host interface of the firmware */ \
	X(FLEX_MNG, 0x15800, 4, 448, RW, "8.2.3.25") \
	X(HICR, 0x15f00, 0, 1, RW, "8.2.3.25") \
	X(FWSTS, 0x15f0c, 0, 1, RW, "X550") \
	/* interrupts, 8.2.3.5; the _EX registers cover queue vectors 0 to 31 */ \
	X(EICR, 0x00800, 0, 1, W1C, "8.2.3.5") \
	X(EIAC, 0x00810, 0, 1, RW, "8.2.3.5") \
	X(EITR, 0x00820, 4, 24, RW, "8.2.3.5") \
	X(EIMS, 0x00880, 0, 1, W1S, "8.2.3.5") \
	X(EIMC, 0x00888, 0, 1, WO, "8.2.3.5") \
	X(GPIE, 0x00898, 0, 1, RW, "8.2.3.5") \
	X(IVAR, 0x00900, 4, 64, RW, "8.2.3.5") \
	X(IVAR_MISC, 0x00a00, 0, 1, RW, "8.2.3.5") \
	X(EIMS_EX, 0x00aa0, 4, 2, W1S, "8.2.3.5") \
	X(EIMC_EX, 0x00ab0, 4, 2, WO, "8.2.3.5") \
	X(EIAM_EX, 0x00ad0, 4, 2, RW, "8.2.3.5") \
	/* flow control, 8.2.3.3 */ \
	X(FCTTV, 0x03200, 4, 4, RW, "8.2.3.3") \
	X(FCRTL, 0x03220, 4, 8, RW, "8.2.3.3") \
	X(FCRTH, 0x03260, 4, 8, RW, "8.2.3.3") \
	X(FCRTV, 0x032a0, 0, 1, RW, "8.2.3.3") \
	X(FCCFG, 0x03d00, 0, 1, RW, "8.2.3.3") \
	X(MFLCN, 0x04294, 0, 1, RW, "8.2.3.22") \
	/* receive filters, 8.2.3.7 */ \
	X(RXCSUM, 0x05000, 0, 1, RW, "8.2.3.7") \
	X(FCTRL, 0x05080, 0, 1, RW, "8.2.3.7") \
	X(VLNCTRL, 0x05088, 0, 1, RW, "8.2.3.7") \
	X(MCSTCTRL, 0x05090, 0, 1, RW, "8.2.3.7") \
	X(MTA, 0x05200, 4, 128, RW, "8.2.3.7") \
	X(RAL, 0x0a200, 8, 128, RW, "8.2.3.7") \
	X(RAH, 0x0a204, 8, 128, RW, "8.2.3.7") \
	X(MPSAR, 0x0a600, 4, 256, RW, "8.2.3.7") \
	X(VFTA, 0x0a000, 4, 128, RW, "8.2.3.7") \
	X(PFVLVF, 0x0f100, 4, 64, RW, "8.2.3.27") \
	X(PFVLVFB, 0x0f200, 4, 128, RW, "8.2.3.27") \
	X(PFUTA, 0x0f400, 4, 128, RW, "8.2.3.27") \
	X(MRQC, 0x05818, 0, 1, RW, "8.2.3.7") \
	X(RETA, 0x05c00, 4, 32, RW, "8.2.3.7") \
	X(ERETA, 0x0ee80, 4, 96, RW, "X550") \
	X(RSSRK, 0x05c80, 4, 10, RW, "8.2.3.7") \
	/* L3/L4 5-tuple filters, 8.2.3.7.16 to 20 */ \
	X(SAQF, 0x0e000, 4, 128, RW, "8.2.3.7.16") \
	X(DAQF, 0x0e200, 4, 128, RW, "8.2.3.7.17") \
	X(SDPQF, 0x0e400, 4, 128, RW, "8.2.3.7.18") \
	X(FTQF, 0x0e600, 4, 128, RW, "8.2.3.7.19") \
	X(L34TIMIR, 0x0e800, 4, 128, RW, "8.2.3.7.20") \
	/* receive DMA, 8.2.3.8 */ \
	X(RDBAL, 0x01000, 0x40, 64, RW, "8.2.3.8.1") \
	X(RDBAH, 0x01004, 0x40, 64, RW, "8.2.3.8.2") \
	X(RDLEN, 0x01008, 0x40, 64, RW, "8.2.3.8.3") \
	X(RDH, 0x01010, 0x40, 64, RW, "8.2.3.8.4") \
	X(RDT, 0x01018, 0x40, 64, RW, "8.2.3.8.5") \
	X(RXDCTL, 0x01028, 0x40, 64, RW, "8.2.3.8.6") \
	X(SRRCTL, 0x02100, 4, 16, RW, "8.2.3.8.7") \
	X(RDRXCTL, 0x02f00, 0, 1, RW, "8.2.3.8.8") \
	X(RXPBSIZE, 0x03c00, 4, 8, RW, "8.2.3.8.9") \
	X(RXCTRL, 0x03000, 0, 1, RW, "8.2.3.8.10") \
	X(DCA_RXCTRL, 0x02200, 4, 16, RW, "8.2.3.11") \
	X(SECRXCTRL, 0x08d00, 0, 1, RW, "8.2.3.12") \
	X(SECRXSTAT, 0x08d04, 0, 1, RO, "8.2.3.12") \
	/* transmit, 8.2.3.9 and 8.2.3.10 */ \
	X(RTTDCS, 0x04900, 0, 1, RW, "8.2.3.10") \
	X(RTTDQSEL, 0x04904, 0, 1, RW, "8.2.3.10.13") \
	X(RTTBCNRM, 0x04980, 0, 1, RW, "8.2.3.10") \
	X(RTTBCNRC, 0x04984, 0, 1, RW, "8.2.3.10.16") \
	X(TXPBTHRESH, 0x04950, 4, 8, RW, "8.2.3.9") \
	X(DMATXCTL, 0x04a80, 0, 1, RW, "8.2.3.9") \
	X(DTXTCPFLGL, 0x04a88, 0, 1, RW, "8.2.3.9") \
	X(DTXTCPFLGH, 0x04a8c, 0, 1, RW, "8.2.3.9") \
	X(TDBAL, 0x06000, 0x40, 128, RW, "8.2.3.9") \
	X(TDBAH, 0x06004, 0x40, 128, RW, "8.2.3.9") \
	X(TDLEN, 0x06008, 0x40, 128, RW, "8.2.3.9") \
	X(DCA_TXCTRL, 0x0600c, 0x40, 128, RW, "8.2.3.11") \
	X(TDH, 0x06010, 0x40, 128, RW, "8.2.3.9") \
	X(TDT, 0x06018, 0x40, 128, RW, "8.2.3.9") \
	X(TXDCTL, 0x06028, 0x40, 128, RW, "8.2.3.9") \
	X(TDWBAL, 0x06038, 0x40, 128, RW, "8.2.3.9") \
	X(TDWBAH, 0x0603c, 0x40, 128, RW, "8.2.3.9") \
	X(DTXMXSZRQ, 0x08100, 0, 1, RW, "8.2.3.9") \
	X(MTQC, 0x08120, 0, 1, RW, "8.2.3.9") \
	X(TXPBSIZE, 0x0cc00, 4, 8, RW, "8.2.3.9") \
	/* time stamps, 8.2.3.26 */ \
	X(ETQF, 0x05128, 4, 8, RW, "8.2.3.7.21") \
	X(RXMTRL, 0x05120, 0, 1, RW, "8.2.3.26.6") \
	X(TSYNCRXCTL, 0x05188, 0, 1, RW, "8.2.3.26.1") \
	X(RXSTMPL, 0x051e8, 0, 1, RO, "8.2.3.26.2") \
	X(RXSTMPH, 0x051a4, 0, 1, RO, "8.2.3.26.3") \
	X(RXSATRH, 0x051a8, 0, 1, RO, "8.2.3.26.5") \
	X(TSYNCTXCTL, 0x08c00, 0, 1, RW, "8.2.3.26.7") \
	X(TXSTMPL, 0x08c04, 0, 1, RO, "8.2.3.26.8") \
	X(TXSTMPH, 0x08c08, 0, 1, RO, "8.2.3.26.9") \
	X(SYSTIML, 0x08c0c, 0, 1, RW, "8.2.3.26.10") \
	X(SYSTIMH, 0x08c10, 0, 1, RW, "8.2.3.26.11") \
	X(TIMINCA, 0x08c14, 0, 1, RW, "8.2.3.26.12") \
	/* MAC and link, 8.2.3.22 */ \
	X(HLREG0, 0x04240, 0, 1, RW, "8.2.3.22") \
	X(MAXFRS, 0x04268, 0, 1, RW, "8.2.3.22") \
	X(MSCA, 0x0425c, 0, 1, RW, "8.2.3.22") \
	X(MSRWD, 0x04260, 0, 1, RW, "8.2.3.22") \
	X(PCS1GANA, 0x04218, 0, 1, RW, "8.2.3.22") \
	X(AUTOC, 0x042a0, 0, 1, RW, "8.2.3.22") \
	X(LINKS, 0x042a4, 0, 1, RO, "8.2.3.22") \
	X(AUTOC2, 0x042a8, 0, 1, RW, "8.2.3.22") \
	X(ANLP1, 0x042b0, 0, 1, RO, "8.2.3.22") \
	/* statistics, 8.2.3.23 */ \
	X(CRCERRS, 0x04000, 0, 1, RC, "8.2.3.23") \
	X(ILLERRC, 0x04004, 0, 1, RC, "8.2.3.23") \
	X(ERRBC, 0x04008, 0, 1, RC, "8.2.3.23") \
	X(RXMPC, 0x03fa0, 4, 8, RC, "8.2.3.23") \
	X(RLEC, 0x04040, 0, 1, RC, "8.2.3.23") \
	X(GPRC, 0x04074, 0, 1, RC, "8.2.3.23") \
	X(RUC, 0x040a4, 0, 1, RC, "8.2.3.23") \
	X(RFC, 0x040a8, 0, 1, RC, "8.2.3.23") \
	X(ROC, 0x040ac, 0, 1, RC, "8.2.3.23") \
	X(RJC, 0x040b0, 0, 1, RC, "8.2.3.23") \
	X(RXNFGPC, 0x041b0, 0, 1, RC, "8.2.3.23") \
	X(RQSMR, 0x02300, 4, 32, RW, "8.2.3.23") \
	X(QPRDC, 0x01430, 0x40, 16, RC, "8.2.3.23")

enum ixgbe_reg {
#define IXGBE_REG_NUMBER(name, offset, stride, count, access, section) IXGBE_##name,
	IXGBE_REGISTERS(IXGBE_REG_NUMBER)
#undef IXGBE_REG_NUMBER
	IXGBE_REGS
};

/* --- bits --- */

#define IXGBE_CTRL_GIO_DIS (1u << 2) /* PCIe master disable */
#define IXGBE_CTRL_LRST (1u << 3)    /* link reset: MAC, PCS and all that RST resets */
#define IXGBE_CTRL_RST (1u << 26)

#define IXGBE_STATUS_LAN_ID_SHIFT 2
#define IXGBE_STATUS_LAN_ID_MASK 3u
#define IXGBE_STATUS_GIO (1u << 19) /* PCIe master enabled: requests may be outstanding */

#define IXGBE_CTRL_EXT_NS_DIS (1u << 16)    /* no PCIe no-snoop: memory is coherent */
#define IXGBE_CTRL_EXT_DRV_LOAD (1u << 28)  /* tells firmware that a driver is loaded */

/* X520 boards (Intel's own drivers): */
#define IXGBE_ESDP_SDP2 (1u << 2)      /* input: a module is in the cage */
#define IXGBE_ESDP_SDP3 (1u << 3)      /* the laser of the module is off */
#define IXGBE_ESDP_SDP5 (1u << 5)      /* a module with two speeds uses 10 Gb/s */
#define IXGBE_ESDP_SDP5_OUT (1u << 13) /* that pin is an output */

#define IXGBE_I2CCTL_CLK_IN (1u << 0)
#define IXGBE_I2CCTL_CLK_OUT (1u << 1)
#define IXGBE_I2CCTL_DATA_IN (1u << 2)
#define IXGBE_I2CCTL_DATA_OUT (1u << 3)

#define IXGBE_EEC_ARD (1u << 9)  /* auto-read done */

/* 10.5.4, besides those of drivers/intel/device.h; bits for firmware are 5 positions higher */
#define IXGBE_SW_FW_SYNC_MAC_CSR (1u << 3)

#define IXGBE_GCR_EXT_BUFFERS_CLEAR (1u << 30)

#define IXGBE_HICR_EN (1u << 0) /* the firmware takes commands */
#define IXGBE_HICR_C (1u << 1)  /* a command waits; clears itself */
#define IXGBE_HICR_SV (1u << 2) /* its answer is valid */
#define IXGBE_FWSTS_FWRI (1u << 9) /* written as 1: forgets a reset of the firmware */

#define IXGBE_EICR_LSC (1u << 20) /* link status change; also in EIMS and EIMC */
#define IXGBE_EICR_ECC (1u << 28) /* an error in the card's own memory that it cannot correct */
#define IXGBE_EICR_WATCHED (IXGBE_EICR_LSC | IXGBE_EICR_ECC)
#define IXGBE_EIMC_ALL 0x7fffffffu /* bit 31 is reserved */

#define IXGBE_GPIE_MULTIPLE_MSIX (1u << 4)
#define IXGBE_GPIE_OCD (1u << 5)          /* reading EICR clears other causes only */
#define IXGBE_GPIE_EIAME (1u << 30)       /* MSI-X messages mask the causes in EIAM */
#define IXGBE_GPIE_PBA_SUPPORT (1u << 31) /* a message for a masked vector is kept pending */

#define IXGBE_IVAR_VALID (1u << 7)
#define IXGBE_IVAR_ODD_SHIFT 16       /* queue 2n + 1 in the upper half, receive byte first */
#define IXGBE_IVAR_MISC_OTHER_SHIFT 8 /* vector of all causes but queues and the TCP timer */

#define IXGBE_MFLCN_DPF (1u << 1) /* PAUSE frames are not delivered */

#define IXGBE_RXCSUM_IPPCSE (1u << 12)
#define IXGBE_RXCSUM_PCSD (1u << 13) /* the descriptor has the RSS hash, no fragment checksum */

#define IXGBE_FCTRL_MPE (1u << 8) /* accept all multicast */
#define IXGBE_FCTRL_UPE (1u << 9) /* accept all unicast */
#define IXGBE_FCTRL_BAM (1u << 10) /* accept broadcast */

#define IXGBE_VLNCTRL_VET 0x8100u /* IEEE 802.1Q, 9.6; VFE stays 0: no filter */

#define IXGBE_MRQC_RSS 1u /* MRQE: one pool, 16 queues by RSS */
#define IXGBE_MRQC_TCP4 (1u << 16)
#define IXGBE_MRQC_IP4 (1u << 17)
#define IXGBE_MRQC_IP6 (1u << 20)
#define IXGBE_MRQC_TCP6 (1u << 21)
#define IXGBE_MRQC_UDP4 (1u << 22)
#define IXGBE_MRQC_UDP6 (1u << 23)
#define IXGBE_RSS_QUEUES 16 /* a RETA entry has 4 bits */

/* FTQF; a MASK bit: the field is not compared */
#define IXGBE_FTQF_TCP 0u
#define IXGBE_FTQF_UDP 1u
#define IXGBE_FTQF_SCTP 2u
#define IXGBE_FTQF_PRIORITY (1u << 2) /* from 1 to 7; of equal ones the lowest filter wins */
#define IXGBE_FTQF_MASK_SRC (1u << 25)
#define IXGBE_FTQF_MASK_DST (1u << 26)
#define IXGBE_FTQF_MASK_SRC_PORT (1u << 27)
#define IXGBE_FTQF_MASK_DST_PORT (1u << 28)
#define IXGBE_FTQF_MASK_PROTOCOL (1u << 29)
#define IXGBE_FTQF_MASK_POOL (1u << 30)
#define IXGBE_FTQF_ENABLE (1u << 31)
#define IXGBE_SDPQF_DST_SHIFT 16
#define IXGBE_L34TIMIR_RESERVED (1u << 19) /* to be set: bits 19:13 are 1000000b */
#define IXGBE_L34TIMIR_QUEUE_SHIFT 21

#define IXGBE_RXDCTL_VME (1u << 30) /* strips VLAN tags */

#define IXGBE_SRRCTL_BSIZEHEADER (4u << 8)    /* 256 bytes, the reset value; unused */
#define IXGBE_SRRCTL_DESCTYPE_ONEBUF (1u << 25)
#define IXGBE_SRRCTL_DROP_EN (1u << 28)

#define IXGBE_RDRXCTL_CRCSTRIP (1u << 1)
#define IXGBE_RDRXCTL_DMAIDONE (1u << 3)
#define IXGBE_RDRXCTL_RSCFRSTSIZE (31u << 17) /* to be cleared */
#define IXGBE_RDRXCTL_RSCACKC (1u << 25)      /* to be set */
#define IXGBE_RDRXCTL_FCOE_WRFIX (1u << 26)   /* to be set */

#define IXGBE_PBSIZE_SHIFT 10 /* RXPBSIZE, TXPBSIZE: the field in KB begins here */
#define IXGBE_TXPBSIZE_KB 160u
#define IXGBE_TXPBTHRESH_KB (IXGBE_TXPBSIZE_KB - 10) /* less the largest frame */

#define IXGBE_RXCTRL_RXEN (1u << 0)

/* To be cleared. 4.6.7: bit 12. Relaxed ordering of frames (13) and headers (15) that the card writes is on after a
 * reset; root ports of Xeon E5 and E7 v3 and v4 have errata with it. Intel's own drivers clear both. */
#define IXGBE_DCA_RXCTRL_OFF (1u << 12 | 1u << 13 | 1u << 15)
/* No relaxed ordering for head write-back: an old head could overtake a new one. */
#define IXGBE_DCA_TXCTRL_WRO (1u << 11)

#define IXGBE_SECRXCTRL_RX_DIS (1u << 1)
#define IXGBE_SECRXSTAT_RDY (1u << 0)

#define IXGBE_RTTDCS_ARBDIS (1u << 6)
/* RTTBCNRC: link speed divided by rate, with 14 fraction bits, for the queue in RTTDQSEL */
#define IXGBE_RTTBCNRC_FACTOR_SHIFT 14
#define IXGBE_RTTBCNRC_FACTOR_MAX 0xffffffu
#define IXGBE_RTTBCNRC_RS_ENA (1u << 31)
/* RTTBCNRM: how much a queue that was idle may catch up. Source: Intel's own drivers */
#define IXGBE_RTTBCNRM_STANDARD 0x04u
#define IXGBE_RTTBCNRM_JUMBO 0x14u
#define IXGBE_DTXMXSZRQ_MAX 0xfffu
#define IXGBE_DMATXCTL_TE (1u << 0)
/* TCP flags that segments keep (7.2.4.7): all but FIN and PSH; CWR only in the first */
#define IXGBE_DTXTCPFLGL_FLAGS (0xff6u | 0xf76u << 16)
#define IXGBE_DTXTCPFLGH_FLAGS 0xf7fu

/* WTHRESH 0: only descriptors with RS are written back. PTHRESH 32 avoids a hang of the transmitter (Linux,
 * ixgbe_configure_tx_ring). */
#define IXGBE_TX_QUEUES 128
#define IXGBE_TXDCTL_SWFLSH (1u << 26) /* discards what the queue still holds */
#define IXGBE_TXDCTL_PTHRESH 32u        /* with fewer than this in the chip, */
#define IXGBE_TXDCTL_HTHRESH (8u << 8)  /* fetch when this many wait in memory */

#define IXGBE_TDWBAL_HEAD_WB_EN (1u << 0)

#define IXGBE_ETQF_PTP 3 /* the entry that other drivers use for it, too */
#define IXGBE_ETQF_1588 (1u << 30)
#define IXGBE_ETQF_EN (1u << 31)
#define IXGBE_ETYPE_PTP 0x88f7u
#define IXGBE_PTP_EVENT_PORT 319u
#define IXGBE_RXMTRL_UDPT_SHIFT 16
#define IXGBE_TSYNC_VALID (1u << 0) /* RXTT, TXTT: a time stamp waits to be read */
#define IXGBE_TSYNC_EN (1u << 4)
#define IXGBE_TSYNCRXCTL_V2_EVENTS (5u << 1) /* Type: PTP version 2, all event messages */
#define IXGBE_TIMINCA_IP_SHIFT 24

#define IXGBE_HLREG0_TXCRCEN (1u << 0)
#define IXGBE_HLREG0_RXCRCSTRP (1u << 1)
#define IXGBE_HLREG0_JUMBOEN (1u << 2)
#define IXGBE_HLREG0_TXPADEN (1u << 10)
#define IXGBE_HLREG0_LPBK (1u << 15)

#define IXGBE_MAXFRS_SHIFT 16

/* MDIO, clause 45: an address cycle, then a transfer */
#define IXGBE_MSCA_DEVICE_SHIFT 16
#define IXGBE_MSCA_PHY_SHIFT 21
#define IXGBE_MSCA_ADDRESS (0u << 26)
#define IXGBE_MSCA_WRITE (1u << 26)
#define IXGBE_MSCA_READ (3u << 26)
#define IXGBE_MSCA_COMMAND (1u << 30) /* clears itself */
#define IXGBE_MSRWD_READ_SHIFT 16

#define IXGBE_AUTOC_RESTART_AN (1u << 12)
#define IXGBE_AUTOC_LMS_SHIFT 13
#define IXGBE_AUTOC_LMS_MASK (7u << IXGBE_AUTOC_LMS_SHIFT)
#define IXGBE_AUTOC_LMS_1G_AN (2u << IXGBE_AUTOC_LMS_SHIFT)
#define IXGBE_AUTOC_LMS_10G_SERIAL (3u << IXGBE_AUTOC_LMS_SHIFT)
#define IXGBE_AUTOC_LMS_BIT2 (4u << IXGBE_AUTOC_LMS_SHIFT)
#define IXGBE_AUTOC_PAUSE (3u << 28)   /* what a backplane advertises */
#define IXGBE_PCS1GANA_PAUSE (3u << 7) /* what 1000BASE-X advertises */
#define IXGBE_AUTOC2_LINK_DISABLE (7u << 28)
#define IXGBE_ANLP1_STATE (15u << 16)

#define IXGBE_LINKS_UP (1u << 30)
#define IXGBE_LINKS_NBASE_T (1u << 27) /* X550, SPEED_NON_STD: 2.5 instead of 10, 5 Gb/s instead of 100 Mb/s */
#define IXGBE_LINKS_SPEED_SHIFT 28
#define IXGBE_LINKS_SPEED_MASK 3u /* 1: 100 Mb/s, 2: 1 Gb/s, 3: 10 Gb/s */

/* --- EEPROM (6.2 to 6.4), addresses of 16-bit words --- */

#define IXGBE_EEPROM_SECTION_LAST 0x0e
#define IXGBE_EEPROM_SFP_INIT 0x2b
#define IXGBE_EEPROM_CAPS 0x2c
#define IXGBE_EEPROM_CAPS_NO_CROSSTALK (1u << 7) /* SDP2 need not be asked. Source: DPDK, ixgbe_start_hw_generic */

/* Kinds of module in the list that word 0x2b points to, one number per LAN port. */
#define IXGBE_SFP_COPPER 3 /* passive direct attach; port 1: 4 */
#define IXGBE_SFP_OPTICAL 5 /* SR, LR, limiting active cables, 1G modules; port 1: 6 */

/* --- descriptors, besides drivers/intel/desc.h: error bits of a received one (7.1.6.2) --- */

#define IXGBE_RXD_RXE (1u << 29) /* MAC error; never without FCTRL.SBP */
#define IXGBE_RXD_TCPE (1u << 30)
#define IXGBE_RXD_IPE (1u << 31)

#endif
