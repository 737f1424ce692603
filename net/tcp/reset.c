/* See reset.h. */
#include "net/tcp/reset.h"

#include "net/ip.h"
#include "net/tcp/wire.h"

enum counter tcp_reset_build(uint8_t *out, unsigned *out_len, const uint8_t *ip, bool csum_known)
{
	struct tcp_segment s;
	*out_len = 0;
	/* the parser's argument is not const for its payload pointer; nothing here writes to it */
	if (tcp_segment_parse((uint8_t *)(uintptr_t)ip, csum_known, &s) != CNT_NONE)
		return CNT_drop_tcp_malformed;
	if (s.flags & TCP_RST)
		return CNT_drop_tcp_port;
	uint32_t seq, ack;
	unsigned ip_len = ip_header_bytes(&s.src);
	uint8_t *tcp = out + ip_len;
	uint8_t flags = tcp_reset_numbers(s.flags, s.seq + tcp_segment_space(&s), s.ack, &seq, &ack);
	ip_header_put(tcp, TCP_HLEN, ip_len, &s.dst, &s.src, IP_PROTO_TCP, IP_ECN_NOT);
	tcp_header_put(tcp, s.dst_port, s.src_port, seq, ack, TCP_HLEN, flags, 0, 0);
	uint32_t sum = ip_pseudo_len(ip_pseudo_sum(&s.dst, &s.src, IP_PROTO_TCP), TCP_HLEN);
	raw16_store(tcp + 16, csum_fold(csum_partial(tcp, TCP_HLEN, sum)));
	*out_len = ip_len + TCP_HLEN;
	return CNT_drop_tcp_port;
}
