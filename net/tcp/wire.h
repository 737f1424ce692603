/*
 * The TCP header and its options (RFC 9293 3.1, 3.2; 7323 2.2, 3.2; 2018 2, 3; 7413 4.1.1): parsing
 * and writing. No state.
 */
#ifndef NET_TCP_WIRE_H
#define NET_TCP_WIRE_H

#include "lib/bytes.h"
#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"

#define TCP_HLEN 20
#define TCP_HLEN_MAX 60
#define TCP_WSCALE_MAX 14    /* RFC 7323 2.3 */
#define TCP_TS_BYTES 12      /* the timestamps option, preceded by two NOPs */
#define TCP_TS_WORD 0x0101080a /* its first four bytes, NOPs included (RFC 7323 appendix A) */
#define TCP_SACK_MAX 4
#define TCP_COOKIE_MAX 16    /* Fast Open: 4 to 16, even (RFC 7413 4.1.1) */
#define IP_PROTO_TCP 6

enum tcp_flag {
	TCP_FIN = 0x01,
	TCP_SYN = 0x02,
	TCP_RST = 0x04,
	TCP_PSH = 0x08,
	TCP_ACK = 0x10,
	TCP_URG = 0x20,
	TCP_ECE = 0x40,
	TCP_CWR = 0x80,
};

enum tcp_option_seen {
	TCP_HAS_TS = 1,
	TCP_HAS_MSS = 2,
	TCP_HAS_WSCALE = 4,
	TCP_HAS_SACK_OK = 8,
	TCP_HAS_COOKIE = 16, /* Fast Open; an empty cookie is a request */
};

struct tcp_sack {
	uint32_t start, end; /* sequence numbers [start, end) */
};

/* A received segment, host order. */
struct tcp_segment {
	struct net_addr src, dst;
	uint16_t src_port, dst_port;
	uint32_t seq, ack;
	uint32_t len;    /* payload bytes */
	uint8_t *data;   /* payload, in the packet */
	uint32_t wnd;    /* as in the header, unscaled */
	uint32_t tsval, tsecr;
	uint16_t up;
	uint16_t mss;
	uint8_t flags;   /* enum tcp_flag */
	uint8_t ecn;     /* enum ip_ecn of the IP packet */
	uint8_t has;     /* enum tcp_option_seen */
	uint8_t wscale;
	uint8_t sacks, cookie_len;
	const uint8_t *cookie;
	struct tcp_sack sack[TCP_SACK_MAX];
};

/* Sequence space that a segment occupies. */
static inline uint32_t tcp_segment_space(const struct tcp_segment *s)
{
	return s->len + !!(s->flags & TCP_SYN) + !!(s->flags & TCP_FIN);
}

/* Comparison of sequence numbers (RFC 9293 3.4): a before b, and so on. */
static inline bool seq_lt(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }
static inline bool seq_le(uint32_t a, uint32_t b) { return (int32_t)(a - b) <= 0; }
static inline bool seq_gt(uint32_t a, uint32_t b) { return (int32_t)(a - b) > 0; }
static inline bool seq_ge(uint32_t a, uint32_t b) { return (int32_t)(a - b) >= 0; }

/*
 * Parses the segment in the IP packet at ip, which is TCP as required by ip_parse (net/ip.h).
 * csum_known: the checksum is not verified. Returns CNT_NONE and fills *out, or
 * CNT_drop_tcp_malformed. An option with a length below 2 or beyond the header ends the options
 * (RFC 9293 3.1, MUST-7: it must not crash us); those before it are used.
 */
enum counter tcp_segment_parse(uint8_t *ip, bool csum_known, struct tcp_segment *out);

/* Writes the 20 bytes of a header with the given `header_len` and checksum 0. */
static inline void tcp_header_put(uint8_t *tcp, uint16_t src_port, uint16_t dst_port, uint32_t seq,
                                  uint32_t ack, unsigned header_len, uint8_t flags, uint16_t wnd,
                                  uint16_t up)
{
	be16_store(tcp, src_port);
	be16_store(tcp + 2, dst_port);
	be32_store(tcp + 4, seq);
	be32_store(tcp + 8, ack);
	tcp[12] = (uint8_t)(header_len << 2);
	tcp[13] = flags;
	be16_store(tcp + 14, wnd);
	raw16_store(tcp + 16, 0);
	be16_store(tcp + 18, up);
}

/*
 * The numbers of the reset that answers a segment without a connection (RFC 9293 3.10.7.1). The
 * segment is not a reset itself. <SEQ=SEG.ACK><CTL=RST> or, if it has no ACK,
 * <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>. end: SEG.SEQ + SEG.LEN. Returns the flags.
 */
static inline uint8_t tcp_reset_numbers(uint8_t flags, uint32_t end, uint32_t seg_ack,
                                        uint32_t *seq, uint32_t *ack)
{
	bool acks = flags & TCP_ACK;
	*seq = acks ? seg_ack : 0;
	*ack = acks ? 0 : end;
	return acks ? TCP_RST : TCP_RST | TCP_ACK;
}

/* Each writes one option, preceded by NOPs to a multiple of 4, and returns its length. */
static inline unsigned tcp_put_ts(uint8_t *o, uint32_t tsval, uint32_t tsecr)
{
	be32_store(o, TCP_TS_WORD);
	be32_store(o + 4, tsval);
	be32_store(o + 8, tsecr);
	return TCP_TS_BYTES;
}

static inline unsigned tcp_put_mss(uint8_t *o, uint16_t mss)
{
	be32_store(o, 0x02040000u | mss);
	return 4;
}

static inline unsigned tcp_put_wscale(uint8_t *o, uint8_t shift)
{
	be32_store(o, 0x01030300u | shift);
	return 4;
}

static inline unsigned tcp_put_sack_ok(uint8_t *o)
{
	be32_store(o, 0x01010402u);
	return 4;
}

/* n blocks, 1 to TCP_SACK_MAX. */
unsigned tcp_put_sack(uint8_t *o, const struct tcp_sack *blocks, unsigned n);

/* n bytes, 0 to TCP_COOKIE_MAX, even. */
unsigned tcp_put_cookie(uint8_t *o, const uint8_t *cookie, unsigned n);

#endif
