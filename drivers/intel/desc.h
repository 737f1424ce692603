/*
 * Advanced descriptors, the same in all of Intel's cards from the 82575 to the X550, and what the cards ask of
 * rings. Sections are those of "Intel 82599 10 GbE Controller Datasheet", revision 3.3; "Intel 82576EB GbE
 * Controller Datasheet", revision 2.63, has them in 7.1.5, 7.2.2 and 7.2.4. The bits for errors of a received
 * frame differ: each driver's spec.h has them.
 *
 * ERRATUM: where silicon and manual differ; the source is named.
 */
#ifndef DRIVERS_INTEL_DESC_H
#define DRIVERS_INTEL_DESC_H

#include "lib/types.h"

/* 7.1.6.1, 7.1.6.2: as software writes it, and as the device writes it back */
union intel_rx_desc {
	struct {
		uint64_t packet; /* bus address of the buffer */
		uint64_t header; /* 0: unused; its bit 0 becomes DD */
	} read;
	struct {
		uint64_t info;   /* packet type, RSS type and hash */
		uint64_t status; /* INTEL_RXD_..., read at once so that it is consistent */
	} wb;
};
_Static_assert(sizeof(union intel_rx_desc) == 16, "7.1.6");

/* The second quadword written back: extended status 19:0, error 31:20, length, VLAN tag. */
#define INTEL_RXD_DD (1u << 0)
#define INTEL_RXD_EOP (1u << 1)
#define INTEL_RXD_VP (1u << 3)   /* 802.1Q; with RXDCTL.VME its tag has been stripped */
#define INTEL_RXD_L4I (1u << 5)  /* TCP or UDP checksum has been checked */
#define INTEL_RXD_LENGTH_SHIFT 32
#define INTEL_RXD_VLAN_SHIFT 48

/* 7.2.3.2.3, 7.2.3.2.4: a context or a data descriptor */
union intel_tx_desc {
	struct {
		uint64_t buffer;      /* bus address */
		uint32_t cmd_len;     /* INTEL_TXD_... */
		uint32_t olinfo;      /* INTEL_TXO_... */
	} data;
	struct {
		uint32_t vlan_macip; /* IPLEN 8:0, MACLEN 15:9, VLAN 31:16 */
		uint32_t seed;
		uint32_t type_tucmd;
		uint32_t mss_l4len; /* IDX 6:4, L4LEN 15:8, MSS 31:16 */
	} context;
	uint64_t word[2];
};
_Static_assert(sizeof(union intel_tx_desc) == 16, "7.2.3.2");

#define INTEL_TXD_1588 (1u << 19) /* in MAC: take the time of sending */
#define INTEL_TXD_DTYP_CONTEXT (2u << 20)
#define INTEL_TXD_DTYP_DATA (3u << 20)
#define INTEL_TXD_EOP (1u << 24)
#define INTEL_TXD_IFCS (1u << 25)
#define INTEL_TXD_RS (1u << 27) /* report when done */
#define INTEL_TXD_DEXT (1u << 29)
#define INTEL_TXD_VLE (1u << 30)
#define INTEL_TXD_TSE (1u << 31)
#define INTEL_TXO_IXSM (1u << 8) /* IPv4 header checksum */
#define INTEL_TXO_TXSM (1u << 9) /* L4 checksum */
#define INTEL_TXO_PAYLEN_SHIFT 14
#define INTEL_TXC_MACLEN_SHIFT 9
#define INTEL_TXC_MACLEN_MAX 127u
#define INTEL_TXC_IPLEN_MAX 511u
#define INTEL_TXC_VLAN_SHIFT 16
#define INTEL_TXC_IPV4 (1u << 10)
#define INTEL_TXC_L4T_TCP (1u << 11) /* 0: UDP */
#define INTEL_TXC_L4LEN_SHIFT 8
#define INTEL_TXC_MSS_SHIFT 16

/* ERRATUM: the chip needs frames of at least 17 bytes; HLREG0.TXPADEN pads the rest. Source:
 * Intel's own drivers (Linux ixgbe pads to that). */
#define INTEL_TX_BYTES_MIN 17

#define INTEL_RX_UNIT 1024u  /* of the size of a receive buffer (SRRCTL.BSIZEPACKET) */
#define INTEL_RING_ALIGN 128 /* of a ring's address and size, bytes (8.2.3.8.1, 8.2.3.8.3) */

#endif
