/*
 * Blocks of a pcapng file (draft-ietf-opsawg-pcapng), each built in the caller's memory: Section
 * Header (section 4.1), Interface Description (4.2), Enhanced Packet (4.3), Interface Statistics
 * (4.6). A file is one section header, its interfaces, and then packets and statistics in any
 * order. The byte order is this machine's, little-endian, as marked in the section header; times
 * are in nanoseconds. tools/pktgen/frames/pcap.h reads such files.
 *
 * Missing: comments, host names, secrets, custom blocks.
 */
#ifndef NET_PCAPNG_H
#define NET_PCAPNG_H

#include "lib/types.h"

/* --- the format, also for readers --- */

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

/* Options (3.5): the meaning of a code depends on the block. */
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

/* --- blocks: each function returns the block's length, a multiple of 4 --- */

#define PCAPNG_TEXT_MAX 64 /* maximum bytes written of a name */
#define PCAPNG_OTHER_MAX 160 /* maximum bytes of a block, without a packet's data */

size_t pcapng_section(uint8_t *out, const char *application);

/* snaplen: maximum bytes per packet; bps 0: unknown speed. */
size_t pcapng_interface(uint8_t *out, const char *name, uint32_t snaplen, uint64_t bps);

#define PCAPNG_DATA_AT 28
struct pcapng_packet {
	const uint8_t *data; /* NULL: the caller writes them to out + PCAPNG_DATA_AT */
	uint32_t interface; /* index within the section, from 0 */
	uint32_t len;       /* bytes of data */
	uint32_t wire_len;  /* original length, without FCS */
	uint64_t ns;
	uint64_t dropped;   /* on its interface, since the previous packet */
	bool out;           /* sent; else received */
};

size_t pcapng_packet(uint8_t *out, const struct pcapng_packet *p);

struct pcapng_statistics {
	uint32_t interface;
	uint64_t ns; /* time of the counts */
	uint64_t received, dropped, delivered;
};

size_t pcapng_statistics(uint8_t *out, const struct pcapng_statistics *s);

#endif
