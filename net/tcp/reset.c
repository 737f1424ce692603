/* See reset.h. */
#include "net/tcp/reset.h"

#include "net/ip.h"
#include "net/tcp/wire.h"

/* The header lies in the packet, and the checksum is right (RFC 9293 3.1). */
static bool is_sound(const uint8_t *ip, bool csum_known)
{
	const uint8_t *tcp = ip + ip4_header_len(ip);
	unsigned len = ip4_total_len(ip) - ip4_header_len(ip);
	if (len < TCP_HLEN || (tcp[12] >> 4) * 4u < TCP_HLEN || (tcp[12] >> 4) * 4u > len)
		return false;
	uint32_t pseudo = csum_pseudo4(ip4_src(ip), ip4_dst(ip), IP_PROTO_TCP, (uint16_t)len);
	return csum_known || csum_fold(csum_partial(tcp, len, pseudo)) == 0;
}

enum counter tcp_reset_build(uint8_t *out, unsigned *out_len, const uint8_t *ip, bool csum_known)
{
	*out_len = 0;
	if (!is_sound(ip, csum_known))
		return CNT_drop_tcp_malformed;
	const uint8_t *in = ip + ip4_header_len(ip);
	uint8_t *tcp = out + IP4_HLEN, flags = in[13];
	uint32_t seq, ack;
	uint32_t space = ip4_total_len(ip) - ip4_header_len(ip) - (in[12] >> 4) * 4u +
	                 !!(flags & TCP_SYN) + !!(flags & TCP_FIN);
	if (flags & TCP_RST)
		return CNT_drop_tcp_port;
	ip4_header_build(out, &(struct ip4_build){.src = ip4_dst(ip),
	                                          .dst = ip4_src(ip),
	                                          .payload_len = TCP_HLEN,
	                                          .ttl = IP4_TTL_DEFAULT,
	                                          .proto = IP_PROTO_TCP,
	                                          .df = true});
	flags = tcp_reset_numbers(flags, be32_load(in + 4) + space, be32_load(in + 8), &seq, &ack);
	tcp_header_put(tcp, be16_load(in + 2), be16_load(in), seq, ack, TCP_HLEN, flags, 0, 0);
	raw16_store(tcp + 16, csum_fold(csum_partial(tcp, TCP_HLEN,
	                                             csum_pseudo4(ip4_dst(ip), ip4_src(ip),
	                                                          IP_PROTO_TCP, TCP_HLEN))));
	*out_len = TCP_RESET_BYTES;
	return CNT_drop_tcp_port;
}
