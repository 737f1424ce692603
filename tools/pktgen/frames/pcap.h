/*
 * Captures: the packets of a file, one after another. Two formats, either byte order:
 *
 *     pcap    draft-ietf-opsawg-pcap: file header (section 4), packet records (section 5), times in
 *             microseconds or nanoseconds
 *     pcapng  draft-ietf-opsawg-pcapng: blocks (section 3.1), of which are read Section Header
 *             (4.1), Interface Description (4.2) with if_tsresol, if_fcslen and if_tsoffset,
 *             Enhanced Packet (4.3), Simple Packet (4.4); all others but the obsolete Packet Block
 *             are passed over
 *
 * Invariants
 * 1. The file may be any bytes. Nothing outside of it is read; every step goes forward by a record.
 * 2. Nothing is copied and nothing allocated: a packet's data lie in the file.
 * 3. After an error there is nothing more: `why` says it, `packet` is the packet at hand, from 1 as
 *    Wireshark counts; 0: none was yet.
 *
 * Missing: other link types than Ethernet, the obsolete Packet Block, FCS lengths of single packets
 * (epb_flags), compressed files.
 */
#ifndef PKTGEN_FRAMES_PCAP_H
#define PKTGEN_FRAMES_PCAP_H

#include "lib/types.h"

#define PCAP_INTERFACES_MAX 64 /* of a section */

/* An Interface Description Block; of pcap the file header. */
struct pcap_interface {
	uint32_t snaplen;  /* 0: no limit */
	uint8_t fcs_bytes; /* behind each packet; no part of what is sent */
	bool binary;       /* a tick is 2^-exponent s, else 10^-exponent s */
	uint8_t exponent;
	int64_t offset_s;  /* to be added to its times */
};

struct pcap {
	const uint8_t *at, *end;
	bool is_ng;
	bool swapped; /* big-endian: this machine and most files are little-endian */
	uint64_t packet;
	uint64_t last_ns; /* time of the last packet that had one */
	const char *why;
	unsigned interfaces;
	struct pcap_interface interface[PCAP_INTERFACES_MAX];
};

struct pcap_packet {
	const uint8_t *data; /* without FCS */
	uint32_t len;        /* bytes that the file has of it */
	uint32_t wire_len;   /* that it had */
	uint64_t ns;         /* since 1970, modulo 2^64. Of a Simple Packet Block that of the one before */
};

/* Begins to read; the file stays where it is. E_INVAL: it is no capture of Ethernet frames. */
int pcap_open(struct pcap *p, const uint8_t *file, size_t bytes);

/* 1: the next packet; 0: there are no more; E_INVAL. */
int pcap_next(struct pcap *p, struct pcap_packet *out);

#endif
