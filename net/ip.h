/*
 * What TCP and UDP need of either IP version: reading a checked header, writing a header, and the
 * pseudo-header sum. Only the functions here branch on the version; the IPv4 branch is the fast
 * path.
 */
#ifndef NET_IP_H
#define NET_IP_H

#include "lib/csum.h"
#include "lib/mem.h"
#include "lib/types.h"
#include "net/addr.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define IP_HLEN_MAX 40 /* of headers written here, in either version */

/* The two ECN bits of TOS or traffic class (RFC 3168 5). */
enum ip_ecn { IP_ECN_NOT = 0, IP_ECN_ECT1 = 1, IP_ECN_ECT0 = 2, IP_ECN_CE = 3 };

/* A received packet; l4 points into it. */
struct ip_packet {
	struct net_addr src, dst;
	uint8_t *l4;
	unsigned l4_len;
	uint8_t ecn; /* enum ip_ecn */
};

static inline bool ip_is_ip6(const uint8_t *ip) { return ip[0] >> 4 == 6; }

/* Length of a packet that has passed its check. */
static inline unsigned ip_total_len(const uint8_t *ip)
{
	return ip_is_ip6(ip) ? ip6_total_len(ip) : ip4_total_len(ip);
}

/* ip_parse for IPv6. If the upper layer is missing (ip6_upper refuses such packets), l4_len is
 * 0. */
void ip_parse6(uint8_t *ip, uint8_t proto, struct ip_packet *out);

/* ip_parse for IPv4. */
static inline void ip_parse4(uint8_t *ip, struct ip_packet *out)
{
	unsigned header_len = ip4_header_len(ip);
	const uint32_t mapped = be32_make(0xffff).raw;
	out->src = (struct net_addr){{0, 0, mapped, raw32_load(ip + 12)}};
	out->dst = (struct net_addr){{0, 0, mapped, raw32_load(ip + 16)}};
	out->l4 = ip + header_len;
	out->l4_len = ip4_total_len(ip) - header_len;
	out->ecn = ip[1] & 3;
}

/* Reads a packet of upper-layer protocol `proto` that has passed ip4_check, or ip6_check and, if
 * extension headers precede its upper layer, ip6_upper. */
static inline void ip_parse(uint8_t *ip, uint8_t proto, struct ip_packet *out)
{
	if (unlikely(ip_is_ip6(ip)))
		ip_parse6(ip, proto, out);
	else
		ip_parse4(ip, out);
}

/* Bytes of the header that ip_header_put writes for this destination. */
static inline unsigned ip_header_bytes(const struct net_addr *dst)
{
	return likely(net_addr_is_ip4(dst)) ? IP4_HLEN : IP6_HLEN;
}

/* The packet size in bytes that every host accepts: RFC 9293 3.7.1 for IPv4 (576), RFC 8200 5 for
 * IPv6 (1280). */
static inline unsigned ip_mtu_min(const struct net_addr *dst)
{
	return net_addr_is_ip4(dst) ? 576 : IP6_MTU_MIN;
}

/* Partial sum of the pseudo header, without its length. */
static inline uint32_t ip_pseudo_sum(const struct net_addr *src, const struct net_addr *dst,
                                     uint8_t proto)
{
	return likely(net_addr_is_ip4(dst))
	               ? csum_pseudo4(net_addr_to_ip4(src), net_addr_to_ip4(dst), proto, 0)
	               : csum_pseudo6(src, dst, proto, 0);
}

/* Adds the length that ip_pseudo_sum left out. */
static inline uint32_t ip_pseudo_len(uint32_t sum, unsigned l4_len)
{
	return csum_add(sum, be16_make((uint16_t)l4_len).raw);
}

/* ip_header_put for IPv6, with flow label 0 (RFC 6437 3). */
void ip_header_put6(uint8_t *l4, unsigned l4_len, const struct net_addr *src,
                    const struct net_addr *dst, uint8_t proto, uint8_t ecn);

/*
 * Writes the header of a packet with l4_len bytes directly in front of l4. header_len must be
 * ip_header_bytes(dst). TTL or hop limit 64, not to be fragmented, IPv4 identification 0 (RFC 6864
 * 4.1: an atomic datagram).
 */
static inline void ip_header_put(uint8_t *l4, unsigned l4_len, unsigned header_len,
                                 const struct net_addr *src, const struct net_addr *dst,
                                 uint8_t proto, uint8_t ecn)
{
	if (unlikely(header_len != IP4_HLEN)) {
		ip_header_put6(l4, l4_len, src, dst, proto, ecn);
		return;
	}
	/* The header as 16-bit words: the constant words and their sum are compile-time
	 * constants. */
	uint8_t *ip = l4 - IP4_HLEN;
	uint16_t first = be16_make((uint16_t)(0x4500 | ecn)).raw;
	uint16_t total = be16_make((uint16_t)(IP4_HLEN + l4_len)).raw;
	uint16_t flags = be16_make(IP4_FLAG_DF).raw;
	uint16_t ttl = be16_make((uint16_t)(IP4_TTL_DEFAULT << 8 | proto)).raw;
	uint32_t sum = csum_add(src->w[3], dst->w[3]);
	sum = csum_add(sum, (uint32_t)first + total + flags + ttl);
	raw16_store(ip, first);
	raw16_store(ip + 2, total);
	raw16_store(ip + 4, 0);
	raw16_store(ip + 6, flags);
	raw16_store(ip + 8, ttl);
	raw16_store(ip + 10, csum_fold(sum));
	raw32_store(ip + 12, src->w[3]);
	raw32_store(ip + 16, dst->w[3]);
}

#endif
