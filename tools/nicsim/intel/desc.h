/*
 * Descriptors of Intel's cards from the 82576 to the X550 and I226, receive and transmit, and the registers that
 * lie at the same places in the block of 64 bytes that each queue has. Sections are those of the "Intel 82599 10
 * GbE Controller Datasheet", revision 3.3; the "Intel 82576EB Gigabit Ethernet Controller Datasheet", revision
 * 2.63, has the formats in 7.1.5 and 7.2.2. The error bits of a received descriptor differ (struct intel_kind).
 */
#ifndef NICSIM_INTEL_DESC_H
#define NICSIM_INTEL_DESC_H

#include <stdint.h>

/* --- the block of a queue: offsets of registers, 8.2.3.8 and 8.2.3.9 --- */

enum {
	Q_BAL = 0x00,
	Q_BAH = 0x04,
	Q_LEN = 0x08,
	Q_HEAD = 0x10,
	Q_TAIL = 0x18,
	Q_DCTL = 0x28, /* RXDCTL, TXDCTL */
	Q_WBAL = 0x38, /* TDWBAL, of transmit queues */
	Q_WBAH = 0x3c,
};

/* --- bits that the registers of all have --- */

enum {
	EERD_START = 1u << 0,
	EERD_DONE = 1u << 1,

	SWSM_SMBI = 1u << 0,
	SWSM_SWESMBI = 1u << 1,

	RAH_AV = 1u << 31,

	RXCSUM_IPPCSE = 1u << 12,
	RXCSUM_PCSD = 1u << 13,

	/* fields that are hashed, 8.2.3.7.12 */
	MRQC_TCP4 = 1u << 16,
	MRQC_IP4 = 1u << 17,
	MRQC_IP6 = 1u << 20,
	MRQC_TCP6 = 1u << 21,
	MRQC_UDP4 = 1u << 22,
	MRQC_UDP6 = 1u << 23,

	RXDCTL_ENABLE = 1u << 25,
	RXDCTL_SWFLSH = 1u << 26,
	SRRCTL_DESCTYPE_SHIFT = 25,
	TXDCTL_WTHRESH_SHIFT = 16,
	TXDCTL_ENABLE = 1u << 25,
	TXDCTL_SWFLSH = 1u << 26,
	TDWBAL_HEAD_WB_EN = 1u << 0,
};

/* --- receive descriptors, 7.1.6; one-buffer advanced write-back and legacy have the same layout of
 * status, errors, length and VLAN tag --- */

enum {
	RXD_DD = 1u << 0,
	RXD_EOP = 1u << 1,
	RXD_VP = 1u << 3,
	RXD_UDPCS = 1u << 4,
	RXD_L4CS = 1u << 5,
	RXD_IPCS = 1u << 6,
	RXD_PIF = 1u << 7,
	RXD_TS = 1u << 16, /* the frame was time-stamped */

	/* Packet type, 7.1.6.2, "Packet Type" */
	PTYPE_IPV4 = 1u << 0,
	PTYPE_IPV4E = 1u << 1,
	PTYPE_IPV6 = 1u << 2,
	PTYPE_IPV6E = 1u << 3,
	PTYPE_TCP = 1u << 4,
	PTYPE_UDP = 1u << 5,
	PTYPE_SCTP = 1u << 6,
};

/* RSS type of the write-back descriptor, 7.1.6.2 */
enum rss_type {
	RSS_NONE = 0,
	RSS_TCP4 = 1,
	RSS_IP4 = 2,
	RSS_TCP6 = 3,
	RSS_IP6 = 5,
	RSS_UDP4 = 7,
	RSS_UDP6 = 8,
};

/* SRRCTL.DESCTYPE, 8.2.3.8.7 */
enum { DESCTYPE_LEGACY = 0, DESCTYPE_ONE_BUFFER = 1 };

/* --- transmit descriptors, 7.2.3.2: bits of the second quad-word --- */

enum {
	TXD_1588 = 1u << 19, /* in the MAC field: time-stamp the frame */
	TXD_DTYP_SHIFT = 20,
	TXD_DTYP_CONTEXT = 2,
	TXD_DTYP_DATA = 3,
	TXD_EOP = 1u << 24,
	TXD_IFCS = 1u << 25,
	TXD_RS = 1u << 27,
	TXD_DEXT = 1u << 29,
	TXD_VLE = 1u << 30,
	TXD_TSE = 1u << 31,
	TXD_LEGACY_IC = 1u << 26, /* insert checksum: legacy */
	TXD_DATA_RESERVED = 1u << 26 | 1u << 28,
	/* upper 32 bits */
	TXD_STA_DD = 1u << 0,
	TXD_IDX_SHIFT = 4,
	TXD_CC = 1u << 7,
	TXD_IXSM = 1u << 8,
	TXD_TXSM = 1u << 9,
	TXD_PAYLEN_SHIFT = 14,
	/* context */
	TXD_CONTEXT_RESERVED = 0x1fu << 24,
	TXD_CONTEXT_UPPER_RESERVED = 1u << 6,
	TUCMD_IPV4 = 1u << 10,
	TUCMD_L4T_SHIFT = 11,
};

enum l4t { L4T_UDP = 0, L4T_TCP = 1, L4T_SCTP = 2, L4T_NONE = 3 };

#endif
