/*
 * Blocks of a pcapng file (draft-ietf-opsawg-pcapng), each made in memory of the caller's:
 * Section Header (section 4.1), Interface Description (4.2), Enhanced Packet (4.3), Interface
 * Statistics (4.6). A file is one section header, its interfaces, and then packets and statistics
 * in any order. In this machine's byte order, little-endian, which the section header says; times
 * in nanoseconds. tools/pktgen/pcap.h reads such files.
 *
 * Missing: comments, names of hosts, secrets, custom blocks.
 */
#ifndef NET_PCAPNG_H
#define NET_PCAPNG_H

#include "lib/types.h"

/* --- the format, for who reads too --- */

#define PCAPNG_LINK_ETHERNET 1
#define PCAPNG_ORDER 0x1a2b3c4du

enum pcapng_block {
	PCAPNG_INTERFACE = 1,
	PCAPNG_PACKET_OLD = 2, /* obsolete */
	PCAPNG_SIMPLE = 3,
	PCAPNG_STATISTICS = 5,
	PCAPNG_ENHANCED = 6,
	PCAPNG_SECTION = 0x0a0d0d0a, /* the same in either byte order */
};

/* Options (3.5): codes mean something else in each block. */
enum pcapng_option {
	PCAPNG_END = 0,
	PCAPNG_SECTION_APPLICATION = 4, /* shb_userappl */
	PCAPNG_IF_NAME = 2,
	PCAPNG_IF_SPEED = 8,
	PCAPNG_IF_TSRESOL = 9,
	PCAPNG_IF_FCSLEN = 13,
	PCAPNG_IF_TSOFFSET = 14,
	PCAPNG_PACKET_FLAGS = 2,       /* epb_flags */
	PCAPNG_PACKET_DROPPED = 4,     /* epb_dropcount */
	PCAPNG_STATISTICS_RECEIVED = 4,  /* isb_ifrecv */
	PCAPNG_STATISTICS_DROPPED = 5,   /* isb_ifdrop */
	PCAPNG_STATISTICS_DELIVERED = 8, /* isb_usrdeliv */
};

/* --- blocks: each returns how many bytes it has, a multiple of 4 --- */

#define PCAPNG_TEXT_MAX 64 /* bytes of a name that are written */
#define PCAPNG_OTHER_MAX 160 /* bytes of a block, but for the data of a packet */

size_t pcapng_section(uint8_t *out, const char *application);

/* `snaplen` bytes of a packet at most; bps 0: its speed is not known. */
size_t pcapng_interface(uint8_t *out, const char *name, uint32_t snaplen, uint64_t bps);

struct pcapng_packet {
	const uint8_t *data;
	uint32_t interface; /* by its place among the section's, from 0 */
	uint32_t len;       /* bytes of data */
	uint32_t wire_len;  /* that it had, without FCS */
	uint64_t ns;
	uint64_t dropped;   /* of its interface, since the packet before */
	bool out;           /* it was sent; else: received */
};

size_t pcapng_packet(uint8_t *out, const struct pcapng_packet *p);

struct pcapng_statistics {
	uint32_t interface;
	uint64_t ns; /* of when */
	uint64_t received, dropped, delivered;
};

size_t pcapng_statistics(uint8_t *out, const struct pcapng_statistics *s);

#endif
