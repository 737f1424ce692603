/* See udp.h. */
#include "net/udp.h"

#include "lib/csum.h"
#include "lib/mem.h"
#include "net/ip4.h"

static uint32_t pseudo_sum(const uint8_t *ip, unsigned udp_len)
{
	return csum_pseudo4(ip4_src(ip), ip4_dst(ip), IP4_PROTO_UDP, (uint16_t)udp_len);
}

enum counter udp_check(const uint8_t *ip, unsigned len, bool csum_known, struct udp_datagram *out)
{
	unsigned header_len = ip4_header_len(ip);
	unsigned total = ip4_total_len(ip);
	if (total > len || total < header_len + UDP_HLEN)
		return CNT_drop_udp_malformed;
	const uint8_t *udp = ip + header_len;
	unsigned udp_len = be16_load(udp + 4);
	/* bytes of the IP packet beyond the UDP length are not the datagram's */
	if (udp_len < UDP_HLEN || udp_len > total - header_len)
		return CNT_drop_udp_malformed;
	if (!csum_known && raw16_load(udp + 6) != 0 &&
	    csum_fold(csum_partial(udp, udp_len, pseudo_sum(ip, udp_len))) != 0)
		return CNT_drop_udp_malformed;

	*out = (struct udp_datagram){
		.src = ip4_src(ip),
		.dst = ip4_dst(ip),
		.src_port = be16_load(udp),
		.dst_port = be16_load(udp + 2),
		.data = udp + UDP_HLEN,
		.data_len = udp_len - UDP_HLEN,
	};
	return CNT_NONE;
}

unsigned udp_packet_build(uint8_t *out, unsigned room, const struct udp_build *b, const void *data,
                          unsigned n)
{
	if (n > 65535 - IP4_HLEN - UDP_HLEN || room < IP4_HLEN + UDP_HLEN + n)
		return 0;
	unsigned udp_len = UDP_HLEN + n;
	uint8_t *udp = out + IP4_HLEN;
	memmove(udp + UDP_HLEN, data, n);
	ip4_header_build(out, &(struct ip4_build){.src = b->src,
	                                          .dst = b->dst,
	                                          .payload_len = (uint16_t)udp_len,
	                                          .id = b->id,
	                                          .tos = b->tos,
	                                          .ttl = b->ttl,
	                                          .proto = IP4_PROTO_UDP,
	                                          .df = b->df});
	be16_store(udp, b->src_port);
	be16_store(udp + 2, b->dst_port);
	be16_store(udp + 4, (uint16_t)udp_len);
	raw16_store(udp + 6, 0);
	uint16_t csum = csum_fold(csum_partial(udp, udp_len, pseudo_sum(out, udp_len)));
	/* RFC 768: a computed zero is sent as all ones, zero means no checksum */
	raw16_store(udp + 6, csum ? csum : 0xffff);
	return IP4_HLEN + udp_len;
}

void udp_echo_make(uint8_t *ip)
{
	unsigned header_len = ip4_header_len(ip);
	uint8_t *udp = ip + header_len;
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

	uint16_t port = raw16_load(udp);
	raw16_store(udp, raw16_load(udp + 2));
	raw16_store(udp + 2, port);
}
