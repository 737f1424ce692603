/* See reset.h. */
#include "net/tcp/reset.h"

#include "net/ip.h"
#include "net/tcp/wire.h"

enum counter tcp_reset_build(uint8_t *out, unsigned *out_len, const uint8_t *ip, bool csum_known)
{
	struct tcp_segment s;
	*out_len = 0;
	/* not const, for the payload's sake, which nobody here touches */
	if (tcp_segment_parse((uint8_t *)(uintptr_t)ip, csum_known, &s) != CNT_NONE)
		return CNT_drop_tcp_malformed;
	if (s.flags & TCP_RST)
		return CNT_drop_tcp_port;
	uint32_t seq, ack;
	uint8_t *tcp = out + IP4_HLEN;
	uint8_t flags = tcp_reset_numbers(s.flags, s.seq + tcp_segment_space(&s), s.ack, &seq, &ack);
	ip4_header_build(out, &(struct ip4_build){.src = ip4_dst(ip),
	                                          .dst = ip4_src(ip),
	                                          .payload_len = TCP_HLEN,
	                                          .ttl = IP4_TTL_DEFAULT,
	                                          .proto = IP_PROTO_TCP,
	                                          .df = true});
	tcp_header_put(tcp, s.dst_port, s.src_port, seq, ack, TCP_HLEN, flags, 0, 0);
	raw16_store(tcp + 16, csum_fold(csum_partial(tcp, TCP_HLEN,
	                                             csum_pseudo4(ip4_dst(ip), ip4_src(ip),
	                                                          IP_PROTO_TCP, TCP_HLEN))));
	*out_len = TCP_RESET_BYTES;
	return CNT_drop_tcp_port;
}
