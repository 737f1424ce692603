/*
 * The headers of a frame, as far as a network card parses them: Ethernet II, one 802.1Q tag, IPv4
 * (RFC 791), IPv6 with its extension headers (RFC 8200), and where TCP, UDP or SCTP begin.
 *
 * Nothing in the frame is trusted: IP that does not fit the frame, or whose header does not fit the
 * packet, is not treated as IP; an incomplete L4 header is ignored. Checksums are not verified.
 *
 * Missing: a second tag, tunnels, the inside of fragments.
 */
#ifndef NICSIM_PACKET_HEADERS_H
#define NICSIM_PACKET_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

enum ip_protocol { IP_ICMP = 1, IP_TCP = 6, IP_UDP = 17, IP_ICMP6 = 58, IP_SCTP = 132 };

struct headers {
	uint16_t l3;      /* offset of the IP header; 0: no IP, and all below but the tag are 0 */
	uint16_t l4;      /* offset of the TCP, UDP or SCTP header; 0: none, or a fragment */
	uint16_t end;     /* offset after the IP packet: padding follows */
	uint8_t version;  /* 4, 6 or 0 */
	uint8_t protocol; /* after all extension headers, also where l4 is 0 */
	bool extended;    /* IPv4 options, IPv6 extension headers */
	bool fragment;
	bool tagged;
	uint16_t tci; /* of the tag */
};

/* `bytes`, without FCS, is at least 18. */
void headers_parse(const uint8_t *frame, uint32_t bytes, struct headers *h);

#endif
