/*
 * UDP over IPv4 (RFC 768, RFC 1122 4.1). Packets are whole IPv4 packets of any alignment that have
 * been through ip4_check and are not fragments.
 *
 *     octet 0 source port, 2 destination port, 4 length, 6 checksum (0: none), all big-endian
 */
#ifndef NET_UDP_H
#define NET_UDP_H

#include "lib/types.h"
#include "net/counters.h"

#define UDP_HLEN 8

/* A received datagram in host order; data points into the packet. */
struct udp_datagram {
	uint32_t src, dst;
	uint16_t src_port, dst_port;
	const uint8_t *data;
	unsigned data_len;
};

/*
 * Validates the datagram in the packet at ip (len bytes present): the UDP length fits the packet,
 * the checksum is right or absent (RFC 1122 4.1.3.4). csum_known: the port has verified it, or it
 * is partial and never left the host (PKT_CSUM_OK, PKT_CSUM_PARTIAL), so it is not looked at.
 * Source port 0 is legal. Returns CNT_NONE and fills *out, or CNT_drop_udp_malformed.
 */
enum counter udp_check(const uint8_t *ip, unsigned len, bool csum_known, struct udp_datagram *out);

struct udp_build {
	uint32_t src, dst;
	uint16_t src_port, dst_port;
	uint16_t id; /* of the IP header; may be 0 with df */
	uint8_t tos, ttl;
	bool df;
};

/*
 * Builds a whole IPv4 packet with the n bytes at data (which may already lie at out + 28) and a
 * checksum (RFC 1122 4.1.3.4 MUST be able to). Returns its length, 0 when room is too small.
 */
unsigned udp_packet_build(uint8_t *out, unsigned room, const struct udp_build *b, const void *data,
                          unsigned n);

/*
 * Turns a valid datagram in place into its echo (RFC 862): addresses and ports swapped, TTL 64.
 * The UDP checksum, complete, partial or absent, stays right, because it does not depend on the
 * order of what is swapped; the IP checksum is mended. IP options become End of Option List.
 */
void udp_echo_make(uint8_t *ip);

#endif
