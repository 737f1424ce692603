/* See wire.h. */
#include "net/tcp/wire.h"

#include "lib/csum.h"
#include "lib/mem.h"
#include "net/ip.h"

enum option {
	OPT_END = 0,
	OPT_NOP = 1,
	OPT_MSS = 2,
	OPT_WSCALE = 3,
	OPT_SACK_OK = 4,
	OPT_SACK = 5,
	OPT_TS = 8,
	OPT_COOKIE = 34,
};

static void read_sacks(const uint8_t *o, unsigned len, struct tcp_segment *s)
{
	unsigned n = (len - 2) / 8;
	if ((len - 2) % 8 || n == 0 || n > TCP_SACK_MAX)
		return;
	s->sacks = (uint8_t)n;
	for (unsigned i = 0; i < n; i++)
		s->sack[i] = (struct tcp_sack){be32_load(o + 2 + 8 * i), be32_load(o + 6 + 8 * i)};
}

/* Reads one option of `len` bytes at o, including kind and length. A length that is wrong for its
 * kind makes it ignored. */
static void read_option(const uint8_t *o, unsigned len, struct tcp_segment *s)
{
	bool syn = s->flags & TCP_SYN;
	switch (o[0]) {
	case OPT_MSS:
		if (len == 4 && syn) {
			s->mss = be16_load(o + 2);
			s->has |= TCP_HAS_MSS;
		}
		break;
	case OPT_WSCALE:
		if (len == 3 && syn) { /* RFC 7323 2.3: more than 14 counts as 14 */
			s->wscale = o[2] > TCP_WSCALE_MAX ? TCP_WSCALE_MAX : o[2];
			s->has |= TCP_HAS_WSCALE;
		}
		break;
	case OPT_SACK_OK:
		if (len == 2 && syn)
			s->has |= TCP_HAS_SACK_OK;
		break;
	case OPT_SACK:
		read_sacks(o, len, s);
		break;
	case OPT_TS:
		if (len == 10) {
			s->tsval = be32_load(o + 2);
			s->tsecr = be32_load(o + 6);
			s->has |= TCP_HAS_TS;
		}
		break;
	case OPT_COOKIE:
		if (syn && len - 2 <= TCP_COOKIE_MAX && len % 2 == 0 && len != 4) {
			s->cookie = o + 2;
			s->cookie_len = (uint8_t)(len - 2);
			s->has |= TCP_HAS_COOKIE;
		}
		break;
	default: /* RFC 9293 3.1, MUST-6: unknown options are ignored */
		break;
	}
}

static void read_options(const uint8_t *o, unsigned n, struct tcp_segment *s)
{
	/* The layout of nearly every segment (RFC 7323 appendix A). */
	if (likely(n == TCP_TS_BYTES && be32_load(o) == TCP_TS_WORD)) {
		s->tsval = be32_load(o + 4);
		s->tsecr = be32_load(o + 8);
		s->has = TCP_HAS_TS;
		return;
	}
	for (unsigned i = 0; i < n && o[i] != OPT_END;) {
		if (o[i] == OPT_NOP) {
			i++;
			continue;
		}
		if (n - i < 2 || o[i + 1] < 2 || o[i + 1] > n - i)
			return;
		read_option(o + i, o[i + 1], s);
		i += o[i + 1];
	}
}

/* Inlined once per IP version: a shared copy costs IPv4 12 instructions per segment (gcc 12). */
static inline __attribute__((always_inline)) enum counter
parse(struct ip_packet p, bool csum_known, struct tcp_segment *s)
{
	if (p.l4_len < TCP_HLEN)
		return CNT_drop_tcp_malformed;
	uint8_t *tcp = p.l4;
	unsigned header_len = (unsigned)(tcp[12] >> 4) * 4;
	if (header_len < TCP_HLEN || header_len > p.l4_len)
		return CNT_drop_tcp_malformed;
	if (!csum_known) {
		uint32_t sum = ip_pseudo_len(ip_pseudo_sum(&p.src, &p.dst, IP_PROTO_TCP), p.l4_len);
		if (csum_fold(csum_partial(tcp, p.l4_len, sum)) != 0)
			return CNT_drop_tcp_malformed;
	}
	s->src = p.src;
	s->dst = p.dst;
	s->src_port = be16_load(tcp);
	s->dst_port = be16_load(tcp + 2);
	s->seq = be32_load(tcp + 4);
	s->ack = be32_load(tcp + 8);
	s->flags = tcp[13];
	s->wnd = be16_load(tcp + 14);
	s->up = be16_load(tcp + 18);
	s->data = tcp + header_len;
	s->len = p.l4_len - header_len;
	s->ecn = p.ecn;
	s->has = s->sacks = s->cookie_len = 0;
	read_options(tcp + TCP_HLEN, header_len - TCP_HLEN, s);
	/* Invalid combinations of flags; port 0 is invalid. */
	bool bad = (s->flags & (TCP_SYN | TCP_FIN)) == (TCP_SYN | TCP_FIN) ||
	           (s->flags & (TCP_SYN | TCP_RST)) == (TCP_SYN | TCP_RST) || !s->src_port ||
	           !s->dst_port;
	return unlikely(bad) ? CNT_drop_tcp_malformed : CNT_NONE;
}

static __attribute__((noinline)) enum counter parse6(uint8_t *ip, bool csum_known,
                                                     struct tcp_segment *s)
{
	struct ip_packet p;
	ip_parse6(ip, IP_PROTO_TCP, &p);
	return parse(p, csum_known, s);
}

enum counter tcp_segment_parse(uint8_t *ip, bool csum_known, struct tcp_segment *s)
{
	struct ip_packet p;
	if (unlikely(ip_is_ip6(ip)))
		return parse6(ip, csum_known, s);
	ip_parse4(ip, &p);
	return parse(p, csum_known, s);
}

unsigned tcp_put_sack(uint8_t *o, const struct tcp_sack *blocks, unsigned n)
{
	be32_store(o, 0x01010500u | (2 + 8 * n));
	for (unsigned i = 0; i < n; i++) {
		be32_store(o + 4 + 8 * i, blocks[i].start);
		be32_store(o + 8 + 8 * i, blocks[i].end);
	}
	return 4 + 8 * n;
}

unsigned tcp_put_cookie(uint8_t *o, const uint8_t *cookie, unsigned n)
{
	unsigned pad = (4 - (2 + n) % 4) % 4;
	memset(o, OPT_NOP, pad);
	o[pad] = OPT_COOKIE;
	o[pad + 1] = (uint8_t)(2 + n);
	memcpy(o + pad + 2, cookie, n);
	return pad + 2 + n;
}
