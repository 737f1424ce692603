/*
 * UDP over IPv4 and IPv6 (RFC 768, RFC 1122 4.1, RFC 8200 8.1). Packets are whole, of any
 * alignment, not fragments, and have passed ip4_check, or ip6_check and, if extension headers
 * precede the datagram, ip6_upper.
 *
 *     octet 0 source port, 2 destination port, 4 length, 6 checksum (0: none), all big-endian
 *
 * Deliberately missing: datagrams without checksum over IPv6 (RFC 6935: for tunnels), jumbograms.
 */
#ifndef NET_UDP_H
#define NET_UDP_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"

#define UDP_HLEN 8
#define IP_PROTO_UDP 17

/* A received datagram in host order; data points into the packet. */
struct udp_datagram {
	struct net_addr src, dst;
	uint16_t src_port, dst_port;
	const uint8_t *data;
	unsigned data_len;
};

/*
 * Validates the datagram in the packet at ip (len bytes present): the UDP length fits the packet,
 * the checksum is correct or, for IPv4, absent (RFC 1122 4.1.3.4). csum_known: the checksum is not
 * verified, because the port has verified it, or it is partial and never left the host
 * (PKT_CSUM_OK, PKT_CSUM_PARTIAL). Source port 0 is legal. Returns CNT_NONE and fills *out, or
 * CNT_drop_udp_malformed.
 */
enum counter udp_check(const uint8_t *ip, unsigned len, bool csum_known, struct udp_datagram *out);

struct udp_build {
	struct net_addr src, dst; /* of one family */
	uint16_t src_port, dst_port;
	uint16_t id;      /* IPv4 only; may be 0 with df */
	uint8_t tos, ttl; /* for IPv6: traffic class, hop limit */
	bool df;          /* IPv4 only */
};

/*
 * Builds a whole packet with the n bytes at data (which may lie anywhere in out) and a checksum
 * (RFC 1122 4.1.3.4 requires the ability). Returns its length, 0 if room is too small.
 */
unsigned udp_packet_build(uint8_t *out, unsigned room, const struct udp_build *b, const void *data,
                          unsigned n);

/*
 * Turns a valid datagram in place into its echo (RFC 862): addresses and ports swapped, TTL or hop
 * limit 64. The UDP checksum, complete, partial or absent, stays valid, because swapping does not
 * change the sum; the IPv4 checksum is updated. IPv4 options become End of Option List. IPv6
 * extension headers are not returned. Returns the start of the echo: ip, unless there were such headers.
 */
uint8_t *udp_echo_make(uint8_t *ip);

#endif
