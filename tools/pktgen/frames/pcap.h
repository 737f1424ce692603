/*
 * Reads the packets of a capture file, one after another, in two formats and either byte order.
 *
 *     pcap    draft-ietf-opsawg-pcap: file header (section 4), packet records (section 5), times in
 *             microseconds or nanoseconds
 *     pcapng  draft-ietf-opsawg-pcapng, blocks (section 3.1): Section Header (4.1), Interface
 *             Description (4.2) with if_tsresol, if_fcslen and if_tsoffset, Enhanced Packet (4.3)
 *             and Simple Packet (4.4). The obsolete Packet Block is an error. Other blocks are
 *             skipped.
 *
 * Invariants
 * 1. The file may be any bytes. The reader stays within it, and each step moves on by a record.
 * 2. Nothing is copied or allocated: a packet's data lies in the file.
 * 3. After an error there are no more packets. `why` is the reason. `packet` is the number of the
 *    packet, from 1 as in Wireshark; 0: before the first one.
 *
 * Missing: link types other than Ethernet, the obsolete Packet Block, FCS lengths of single packets
 * (epb_flags), compressed files.
 */
#ifndef PKTGEN_FRAMES_PCAP_H
#define PKTGEN_FRAMES_PCAP_H

#include "lib/types.h"

#define PCAP_INTERFACES_MAX 64 /* of a section */

/* An Interface Description Block, or the file header of pcap. */
struct pcap_interface {
	uint32_t snaplen;  /* 0: no limit */
	uint8_t fcs_bytes; /* at the end of each packet; not sent */
	bool binary;       /* a tick is 2^-exponent s, else 10^-exponent s */
	uint8_t exponent;
	int64_t offset_s;  /* added to its times */
};

struct pcap {
	const uint8_t *at, *end;
	bool is_ng;
	bool swapped;     /* file or section is big-endian; this machine is little-endian */
	uint64_t packet;  /* number of the last one, from 1 */
	uint64_t last_ns; /* time of the last packet that had one */
	const char *why;
	unsigned interfaces;
	struct pcap_interface interface[PCAP_INTERFACES_MAX];
};

struct pcap_packet {
	const uint8_t *data; /* without FCS */
	uint32_t len;        /* bytes in the file */
	uint32_t wire_len;   /* bytes on the wire */
	uint64_t ns;         /* since 1970, modulo 2^64; of a Simple Packet Block: last_ns */
};

/* Begins to read a file, which must stay in place until the last pcap_next. E_INVAL with p->why: it
 * is no pcap or pcapng, or its pcap header is not of version 2 or not of Ethernet. */
int pcap_open(struct pcap *p, const uint8_t *file, size_t bytes);

/* 1: *out is the next packet; 0: there are no more; E_INVAL: p->why. */
int pcap_next(struct pcap *p, struct pcap_packet *out);

#endif
