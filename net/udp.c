/* See udp.h. */
#include "net/udp.h"

#include "lib/csum.h"
#include "lib/mem.h"
#include "net/ip.h"

#define OFFSET_CSUM 6

enum counter udp_check(const uint8_t *ip, unsigned len, bool csum_known, struct udp_datagram *out)
{
	struct ip_packet p;
	if (ip_total_len(ip) > len)
		return CNT_drop_udp_malformed;
	/* the parser's argument is not const for its payload pointer; nothing here writes to it */
	ip_parse((uint8_t *)(uintptr_t)ip, IP_PROTO_UDP, &p);
	if (p.l4_len < UDP_HLEN)
		return CNT_drop_udp_malformed;
	const uint8_t *udp = p.l4;
	unsigned udp_len = be16_load(udp + 4);
	/* bytes of the IP packet beyond the UDP length are not part of the datagram */
	if (udp_len < UDP_HLEN || udp_len > p.l4_len)
		return CNT_drop_udp_malformed;
	bool absent = raw16_load(udp + OFFSET_CSUM) == 0;
	if (absent && ip_is_ip6(ip)) /* RFC 8200 8.1 */
		return CNT_drop_udp_malformed;
	if (!csum_known && !absent) {
		uint32_t sum = ip_pseudo_len(ip_pseudo_sum(&p.src, &p.dst, IP_PROTO_UDP), udp_len);
		if (csum_fold(csum_partial(udp, udp_len, sum)) != 0)
			return CNT_drop_udp_malformed;
	}
	*out = (struct udp_datagram){
		.src = p.src,
		.dst = p.dst,
		.src_port = be16_load(udp),
		.dst_port = be16_load(udp + 2),
		.data = udp + UDP_HLEN,
		.data_len = udp_len - UDP_HLEN,
	};
	return CNT_NONE;
}

static void header4_build(uint8_t *out, const struct udp_build *b, unsigned udp_len)
{
	ip4_header_build(out, &(struct ip4_build){.src = net_addr_to_ip4(&b->src),
	                                          .dst = net_addr_to_ip4(&b->dst),
	                                          .payload_len = (uint16_t)udp_len,
	                                          .id = b->id,
	                                          .tos = b->tos,
	                                          .ttl = b->ttl,
	                                          .proto = IP_PROTO_UDP,
	                                          .df = b->df});
}

static void header6_build(uint8_t *out, const struct udp_build *b, unsigned udp_len)
{
	ip6_header_build(out, &(struct ip6_build){.src = b->src,
	                                          .dst = b->dst,
	                                          .payload_len = (uint16_t)udp_len,
	                                          .traffic_class = b->tos,
	                                          .next = IP_PROTO_UDP,
	                                          .hop_limit = b->ttl});
}

unsigned udp_packet_build(uint8_t *out, unsigned room, const struct udp_build *b, const void *data,
                          unsigned n)
{
	unsigned ip_len = ip_header_bytes(&b->dst);
	unsigned most = ip_len == IP4_HLEN ? 65535 - IP4_HLEN : 65535; /* IPv6 counts no header */
	if (n > most - UDP_HLEN || room < ip_len + UDP_HLEN + n)
		return 0;
	unsigned udp_len = UDP_HLEN + n;
	uint8_t *udp = out + ip_len;
	memmove(udp + UDP_HLEN, data, n);
	if (ip_len == IP4_HLEN)
		header4_build(out, b, udp_len);
	else
		header6_build(out, b, udp_len);
	be16_store(udp, b->src_port);
	be16_store(udp + 2, b->dst_port);
	be16_store(udp + 4, (uint16_t)udp_len);
	raw16_store(udp + OFFSET_CSUM, 0);
	uint32_t sum = ip_pseudo_len(ip_pseudo_sum(&b->src, &b->dst, IP_PROTO_UDP), udp_len);
	uint16_t csum = csum_fold(csum_partial(udp, udp_len, sum));
	/* RFC 768: a computed zero is sent as all ones, zero means no checksum */
	raw16_store(udp + OFFSET_CSUM, csum ? csum : 0xffff);
	return ip_len + udp_len;
}

static void swap_ports(uint8_t *udp)
{
	uint16_t port = raw16_load(udp);
	raw16_store(udp, raw16_load(udp + 2));
	raw16_store(udp + 2, port);
}

static uint8_t *echo_make6(uint8_t *ip)
{
	struct ip_packet p;
	ip_parse(ip, IP_PROTO_UDP, &p);
	uint8_t *reply = p.l4 - IP6_HLEN;
	uint32_t first = raw32_load(ip);
	raw32_store(reply, first);
	be16_store(reply + 4, (uint16_t)p.l4_len);
	reply[6] = IP_PROTO_UDP;
	reply[7] = IP6_HOP_LIMIT_DEFAULT;
	net_addr_store(reply + 8, &p.dst);
	net_addr_store(reply + 24, &p.src);
	swap_ports(p.l4);
	return reply;
}

uint8_t *udp_echo_make(uint8_t *ip)
{
	if (unlikely(ip_is_ip6(ip)))
		return echo_make6(ip);
	unsigned header_len = ip4_header_len(ip);
	uint32_t src = raw32_load(ip + 12);
	raw32_store(ip + 12, raw32_load(ip + 16));
	raw32_store(ip + 16, src);

	uint16_t was = raw16_load(ip + 8);
	ip[8] = IP4_TTL_DEFAULT;
	raw16_store(ip + 10, csum_update16(raw16_load(ip + 10), was, raw16_load(ip + 8)));
	if (unlikely(header_len > IP4_HLEN)) {
		memset(ip + IP4_HLEN, 0, header_len - IP4_HLEN);
		ip4_checksum_set(ip);
	}
	swap_ports(ip + header_len);
	return ip;
}
