/*
 * Segment arrival (RFC 9293 3.10.7): finds the connection, checks that the segment is acceptable,
 * and applies its flags to the state. Follows the RFC's order, with the checks of RFC 5961 and 7323
 * in their places.
 *
 *     state         our SYN acked   peer's FIN    our FIN acked   tcp_close
 *     SYN-RECEIVED  ESTABLISHED     CLOSE-WAIT                    FIN-WAIT-1
 *     ESTABLISHED                   CLOSE-WAIT                    FIN-WAIT-1
 *     FIN-WAIT-1                    CLOSING       FIN-WAIT-2
 *     FIN-WAIT-2                    TIME-WAIT
 *     CLOSE-WAIT                                                  LAST-ACK
 *     CLOSING                                     TIME-WAIT
 *     LAST-ACK                                    (closed)
 *
 * Segments are processed in batches of LOT. A batch is parsed first while its cache lines of the
 * table are prefetched. Then each segment is processed, and finally each touched connection sends.
 * A segment that its connection expects next takes a shorter path (is_predicted).
 */
#include "net/eth.h"
#include "net/tcp/inside.h"

#define LOT 32              /* packets per batch */
#define PAWS_IDLE_MS (24u * 24 * 3600 * 1000) /* RFC 7323 5.5: 24 days */
#define LIMIT_PERIOD_MS 5000 /* RFC 5961 7 */

bool tcp_ack_permitted(struct tcp *t, struct tcp_conn *c)
{
	if ((int32_t)(t->now_ms - c->limit_ms) >= 0) {
		c->limit_ms = t->now_ms + LIMIT_PERIOD_MS;
		c->limit_used = 0;
	}
	if (c->limit_used >= t->p.challenge_acks) {
		tcp_count_event(t, CNT_tcp_ack_limited);
		return false;
	}
	c->limit_used++;
	return true;
}

static enum counter challenge(struct tcp *t, struct tcp_conn *c, enum counter fate)
{
	if (tcp_ack_permitted(t, c)) {
		tcp_count_event(t, CNT_tcp_challenge_acks);
		c->flags |= CONN_ACK_NOW;
	}
	return fate;
}

/* --- acceptability --- */

/* RFC 7323 5.5: after 24 days the sign of the difference is meaningless. */
static bool ts_recent_is_old(const struct tcp *t, const struct tcp_conn *c)
{
	return t->now_ms - c->ts_recent_ms > PAWS_IDLE_MS;
}

/* RFC 7323 5.3 R1. By 3.2, a segment without the negotiated option is not of this connection. */
static bool timestamp_ok(const struct tcp *t, const struct tcp_conn *c, const struct tcp_segment *s)
{
	if (!(s->has & TCP_HAS_TS))
		return s->flags & TCP_RST;
	return seq_ge(s->tsval, c->ts_recent) || ts_recent_is_old(t, c) || s->flags & TCP_RST;
}

/* RFC 9293 3.10.7.4, first: table of the acceptability test. rcv_adv is the rightmost edge ever
 * offered, so a window reduced by rounding is still honoured. */
static bool sequence_ok(const struct tcp_conn *c, const struct tcp_segment *s)
{
	uint32_t space = tcp_segment_space(s), wnd = c->rcv_adv - c->rcv_nxt;
	/* The RFC's table leaves out an ACK at the right edge itself. A peer that has filled the
	 * window sends such ACKs; if part of its data was lost, dropping them would leave both
	 * sides waiting. */
	if (space == 0)
		return s->seq - c->rcv_nxt <= wnd;
	uint32_t last = s->seq + space - 1;
	if (wnd == 0) /* data is not accepted, but ACK, URG and RST are (RFC 9293 3.10.7.4) */
		return s->seq == c->rcv_nxt;
	return s->seq - c->rcv_nxt < wnd || last - c->rcv_nxt < wnd;
}

/* RFC 7323 4.3 (2): echo the timestamp of the segment that the next ACK answers. */
static void note_timestamp(const struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	if ((seq_ge(s->tsval, c->ts_recent) || ts_recent_is_old(t, c)) &&
	    seq_le(s->seq, c->acked_to)) {
		c->ts_recent = s->tsval;
		c->ts_recent_ms = t->now_ms;
	}
}

/* An unacceptable segment is answered by an ACK, for a duplicate with D-SACK, so that the peer can
 * resynchronize. The rate is limited, or two desynchronized ends would answer each other for ever
 * (RFC 5961 7). */
static enum counter unacceptable(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s,
                                 enum counter fate)
{
	if (s->flags & TCP_RST)
		return fate;
	bool duplicate = s->len && seq_lt(s->seq, c->rcv_nxt) && fate == CNT_drop_tcp_seq;
	if (duplicate)
		tcp_note_duplicate(t, c, s->seq,
		                   seq_lt(s->seq + s->len, c->rcv_nxt) ? s->seq + s->len : c->rcv_nxt);
	else if (tcp_ack_permitted(t, c))
		c->flags |= CONN_ACK_NOW;
	return fate;
}

/* RFC 9293 3.8.4: a probe lies just before the window so that it must be answered; its one byte, if
 * any, is garbage. Linux probes a closed window with the same segment. */
static bool is_probe(const struct tcp_conn *c, const struct tcp_segment *s)
{
	return s->seq == c->rcv_nxt - 1 && s->len <= 1 &&
	       (s->flags & (TCP_ACK | TCP_SYN | TCP_FIN | TCP_RST)) == TCP_ACK;
}

/* --- RST and SYN --- */

static enum counter reset_arrived(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	/* RFC 5961 3.2: an RST with any other number in the window may be a guess. RFC 1337: no RST
	 * ends TIME-WAIT. */
	if (c->state == TCP_TIME_WAIT)
		return CNT_drop_tcp_challenged;
	if (s->seq != c->rcv_nxt)
		return challenge(t, c, CNT_drop_tcp_challenged);
	tcp_count_event(t, CNT_tcp_resets);
	/* Everything except our FIN is acknowledged, and we have the peer's FIN: an orderly end. */
	bool over = (c->state == TCP_CLOSING || c->state == TCP_LAST_ACK) && c->q_bytes == 0;
	bool refused = c->state == TCP_SYN_RECEIVED && !(c->flags & CONN_PASSIVE);
	tcp_conn_end(t, c, over ? E_OK : refused ? E_REFUSED : E_RESET, true);
	return CNT_delivered_tcp;
}

/* May a SYN for a connection in TIME-WAIT begin another one? RFC 6191 with timestamps, RFC 9293
 * 3.10.7.4 (fourth) by sequence number. */
static bool may_reuse(const struct tcp_conn *c, const struct tcp_segment *s)
{
	if (!(s->flags & TCP_SYN) || s->flags & (TCP_ACK | TCP_RST))
		return false;
	if (c->flags & CONN_TS && s->has & TCP_HAS_TS && s->tsval != c->ts_recent)
		return seq_gt(s->tsval, c->ts_recent);
	return seq_gt(s->seq, c->rcv_nxt);
}

/* --- a segment of a connection --- */

static void ecn_arrived(struct tcp_conn *c, const struct tcp_segment *s)
{
	if (s->flags & TCP_CWR)
		c->flags &= ~(uint32_t)CONN_ECE;
	if (s->ecn == IP_ECN_CE && s->len) /* RFC 3168 6.1.3 */
		c->flags |= CONN_ECE | CONN_ACK_NOW;
}

/* Handles the acknowledgement of our FIN. False: the segment is done. */
static bool fin_acked(struct tcp *t, struct tcp_conn *c)
{
	if (!(c->flags & CONN_FIN_QUEUED) || c->snd_una != c->q_end)
		return true;
	switch (c->state) {
	case TCP_FIN_WAIT_1:
		tcp_set_state(t, c, TCP_FIN_WAIT_2);
		tcp_life_timer(t, c);
		return true;
	case TCP_CLOSING:
		tcp_time_wait(t, c);
		return false;
	case TCP_LAST_ACK:
		tcp_count_event(t, CNT_tcp_closes);
		tcp_conn_end(t, c, E_OK, true);
		return false;
	default:
		return true;
	}
}

/* In TIME-WAIT only a retransmitted FIN matters: its ACK was lost (RFC 9293 3.10.7.4). */
static enum counter time_wait(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	if (s->flags & TCP_FIN) {
		c->flags |= CONN_ACK_NOW;
		tcp_timer_set(t, c, TIMER_LIFE, t->p.time_wait_ms);
	}
	return CNT_delivered_tcp;
}

static enum counter synchronized(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s,
                                 struct pkt *p, bool *taken)
{
	if (c->flags & CONN_TS && !timestamp_ok(t, c, s)) {
		if (!(s->has & TCP_HAS_TS)) /* RFC 7323 3.2: silently */
			return CNT_drop_tcp_timestamp;
		return unacceptable(t, c, s, CNT_drop_tcp_timestamp);
	}
	if (c->state == TCP_SYN_RECEIVED && s->flags & TCP_SYN && s->seq == c->irs) {
		/* a retransmitted SYN (our answer was lost) or, after a simultaneous open, the
		 * SYN-ACK */
		if (!(s->flags & TCP_ACK)) {
			c->flags |= CONN_ACK_NOW;
			return CNT_delivered_tcp;
		}
		s->flags &= (uint8_t)~TCP_SYN;
		s->wnd >>= c->snd_wscale; /* the window of a SYN is not scaled (RFC 7323 2.2) */
		s->seq++;
	}
	if (unlikely(!sequence_ok(c, s))) {
		/* a retransmitted FIN is old by its number, but TIME-WAIT exists to answer it */
		if (c->state == TCP_TIME_WAIT && (s->flags & (TCP_FIN | TCP_RST)) == TCP_FIN &&
		    s->seq + tcp_segment_space(s) == c->rcv_nxt)
			return time_wait(t, c, s);
		enum counter fate = unacceptable(t, c, s, CNT_drop_tcp_seq);
		if (!is_probe(c, s))
			return fate;
		tcp_count_event(t, CNT_tcp_keepalives_rx);
		return CNT_delivered_tcp;
	}
	if (unlikely(s->flags & TCP_RST))
		return reset_arrived(t, c, s);
	if (unlikely(s->flags & TCP_SYN)) /* RFC 5961 4.2 */
		return challenge(t, c, CNT_drop_tcp_challenged);
	if (!(s->flags & TCP_ACK))
		return CNT_drop_tcp_ack;
	if (c->state == TCP_TIME_WAIT)
		return time_wait(t, c, s);

	/* Checked before the segment changes anything, or a guessed sequence number would
	 * suffice. */
	if (c->state == TCP_SYN_RECEIVED && (seq_le(s->ack, c->iss) || seq_gt(s->ack, c->snd_max))) {
		tcp_reset_for(t, s); /* RFC 9293 3.10.7.4, fifth, SYN-RECEIVED */
		return CNT_drop_tcp_ack;
	}
	if (unlikely(!tcp_ack_acceptable(c, s)))
		return challenge(t, c, CNT_drop_tcp_ack);
	if (c->flags & CONN_TS)
		note_timestamp(t, c, s);
	c->heard_ms = t->now_ms;
	if (c->state == TCP_SYN_RECEIVED) {
		c->snd_wnd = s->wnd << c->snd_wscale;
		c->snd_wl1 = s->seq;
		c->snd_wl2 = s->ack;
		c->max_wnd = u32_max(c->max_wnd, c->snd_wnd);
		if (!tcp_established(t, c))
			return CNT_delivered_tcp;
	}
	tcp_ack(t, c, s);
	if (c->state == TCP_CLOSED || !fin_acked(t, c))
		return CNT_delivered_tcp;
	if (c->flags & CONN_ECN)
		ecn_arrived(c, s);
	return tcp_receive(t, c, s, p, taken);
}

/* --- header prediction --- */

/*
 * Is it the segment that an established connection expects next, with nothing but ACK and data? The
 * idea is Van Jacobson's. All tests of `synchronized` are then passed: the segment is within the
 * window, its timestamp is not old, and its ACK is for data that is outstanding, or for none.
 */
static bool is_predicted(const struct tcp_conn *c, const struct tcp_segment *s)
{
	if (c->state != TCP_ESTABLISHED || (s->flags & ~TCP_PSH) != TCP_ACK || s->seq != c->rcv_nxt ||
	    s->len > c->rcv_adv - c->rcv_nxt || s->ack - c->snd_una > c->snd_nxt - c->snd_una ||
	    c->ooo != TCP_NONE || c->flags & (CONN_FIN_RCVD | CONN_FIN_SEEN | CONN_URG_RCV) ||
	    s->ecn == IP_ECN_CE)
		return false;
	return !(c->flags & CONN_TS) || (s->has & TCP_HAS_TS && seq_ge(s->tsval, c->ts_recent));
}

/* `synchronized` for such a segment. */
static enum counter predicted(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s,
                              struct pkt *p, bool *taken)
{
	if (c->flags & CONN_TS)
		note_timestamp(t, c, s);
	c->heard_ms = t->now_ms;
	tcp_ack(t, c, s);
	if (s->len == 0 || c->state == TCP_CLOSED)
		return CNT_delivered_tcp;
	return tcp_receive_next(t, c, s, p, taken);
}

/* Processes one segment; c is its connection, or NULL. Returns its fate. */
static enum counter arrive(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s, struct pkt *p,
                           bool *taken)
{
	if (c && c->state == TCP_TIME_WAIT && unlikely(may_reuse(c, s))) {
		tcp_count_event(t, CNT_tcp_time_wait_reused);
		tcp_conn_end(t, c, E_OK, false);
		c = NULL;
	}
	if (!c)
		return tcp_input_listen(t, s, p, taken);
	tcp_touch(t, c);
	if (likely(is_predicted(c, s)))
		return predicted(t, c, s, p, taken);
	if (c->state == TCP_SYN_SENT)
		return tcp_input_syn_sent(t, c, s, p, taken);
	return synchronized(t, c, s, p, taken);
}

/* Line by line: as a loop, each would cost three instructions more. */
static inline void prefetch_record(const uint8_t *c)
{
	_Static_assert(sizeof(struct tcp_conn) <= 9 * CACHE_LINE, "all lines");
	__builtin_prefetch(c, 1);
	__builtin_prefetch(c + CACHE_LINE, 1);
	__builtin_prefetch(c + 2 * CACHE_LINE, 1);
	__builtin_prefetch(c + 3 * CACHE_LINE, 1);
	__builtin_prefetch(c + 4 * CACHE_LINE, 1);
	__builtin_prefetch(c + 5 * CACHE_LINE, 1);
	__builtin_prefetch(c + 6 * CACHE_LINE, 1);
	__builtin_prefetch(c + 7 * CACHE_LINE, 1);
	__builtin_prefetch(c + 8 * CACHE_LINE, 1);
}

/* `after`: packets that follow those n in this call. */
static void input_lot(struct tcp *t, struct pkt *v, unsigned n, unsigned after)
{
	struct tcp_segment seg[LOT];
	uint32_t hash[LOT];
	enum counter fate[LOT];
	for (unsigned i = 0; i < n; i++) {
		bool known = v[i].flags & (PKT_CSUM_OK | PKT_CSUM_PARTIAL);
		fate[i] = tcp_segment_parse(v[i].data + ETH_HLEN, known, &seg[i]);
		if (fate[i] != CNT_NONE)
			continue;
		hash[i] = tcp_hash(t, &seg[i].src, seg[i].src_port, &seg[i].dst, seg[i].dst_port);
		__builtin_prefetch(&t->buckets[hash[i] & t->bucket_mask]);
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t first = fate[i] == CNT_NONE ? t->buckets[hash[i] & t->bucket_mask] : 0;
		const uint8_t *c = first ? (const uint8_t *)&t->conns[first - 1] : NULL;
		if (c)
			prefetch_record(c);
	}
	for (unsigned i = 0; i < n; i++) {
		bool taken = false;
		t->coming = after + n - 1 - i;
		if (fate[i] == CNT_NONE)
			fate[i] = arrive(t, tcp_find(t, hash[i], &seg[i]), &seg[i], &v[i], &taken);
		tcp_count_event(t, fate[i]);
		if (!taken)
			pkt_free(t->pool, &v[i]);
	}
}

void tcp_input(struct tcp *t, struct pkt *v, unsigned n, uint64_t now_us)
{
	tcp_set_now(t, now_us);
	t->busy = true;
	for (unsigned at = 0; at < n; at += LOT) {
		const unsigned lot = n - at < LOT ? n - at : LOT;
		input_lot(t, v + at, lot, n - at - lot);
		tcp_flush(t);
	}
	t->busy = false;
}

/* --- ICMP --- */

static void too_big(struct tcp *t, struct tcp_conn *c, uint32_t mtu)
{
	uint32_t least = ip_mtu_min(&c->remote);
	/* RFC 1191 3: a router that does not report an MTU sends 0; use the minimum MTU. RFC 8201
	 * 4, for IPv6: a smaller value MUST be discarded. */
	if (mtu < least && !net_addr_is_ip4(&c->remote))
		return;
	mtu = u32_max(mtu, least);
	if (mtu >= c->path_mtu)
		return;
	tcp_count_event(t, CNT_tcp_pmtu);
	tcp_path_lower(t, c, mtu);
	/* RFC 1191 6.5: the quoted segment was dropped, and so was every other of that size.
	 * Retransmitting them is not a response to congestion. */
	for (uint32_t buf = c->q_first; buf != c->q_unsent; buf = chunk_at(t, buf)->next) {
		if (chunk_at(t, buf)->len > tcp_full(c))
			tcp_mark_lost(t, c, buf);
	}
}

/* Reads the addresses from the packet quoted in an ICMP error, of which `len` bytes are there.
 * Returns its ports, or NULL unless 8 bytes of TCP are there. */
static const uint8_t *quoted(const uint8_t *ip, unsigned len, struct net_addr *local,
                             struct net_addr *remote)
{
	unsigned at = 0;
	uint8_t proto = 0;
	if (len >= IP6_HLEN && ip_is_ip6(ip)) {
		at = ip6_skip_extensions(ip, len, &proto);
		*local = ip6_src(ip);
		*remote = ip6_dst(ip);
	} else if (len >= IP4_HLEN && ip4_header_len(ip) >= IP4_HLEN && !ip_is_ip6(ip)) {
		at = ip4_header_len(ip);
		proto = ip4_proto(ip);
		*local = net_addr_ip4(ip4_src(ip));
		*remote = net_addr_ip4(ip4_dst(ip));
	}
	return at && len >= at + 8 && proto == IP_PROTO_TCP ? ip + at : NULL;
}

void tcp_icmp(struct tcp *t, const uint8_t *ip, unsigned len, enum tcp_icmp what, uint32_t mtu,
              uint64_t now_us)
{
	struct net_addr local, remote;
	const uint8_t *tcp = quoted(ip, len, &local, &remote);
	if (!tcp)
		return;
	struct tcp_segment s = {.src = remote, .dst = local, .src_port = be16_load(tcp + 2),
	                        .dst_port = be16_load(tcp)};
	uint32_t seq = be32_load(tcp + 4);
	tcp_set_now(t, now_us);
	struct tcp_conn *c = tcp_find(t, tcp_hash(t, &remote, s.src_port, &local, s.dst_port), &s);
	/* RFC 5927 4.1: the quoted segment must be in flight */
	if (!c || seq_lt(seq, c->snd_una) || !seq_lt(seq, c->snd_max))
		return;
	t->busy = true;
	tcp_touch(t, c);
	if (what == TCP_ICMP_TOO_BIG)
		too_big(t, c, mtu);
	else if (c->state == TCP_SYN_SENT) /* RFC 5927 5.2: otherwise it may be forged */
		tcp_conn_end(t, c, E_REFUSED, true);
	tcp_flush(t);
	t->busy = false;
}

void tcp_icmp4(struct tcp *t, const struct icmp4_msg *m, uint64_t now_us)
{
	if (m->type != ICMP4_UNREACH)
		return;
	switch (m->code) {
	case ICMP4_UNREACH_FRAG: /* RFC 1191 4: the MTU is in the lower half of the second word */
		tcp_icmp(t, m->data, m->data_len, TCP_ICMP_TOO_BIG, m->rest & 0xffff, now_us);
		break;
	case ICMP4_UNREACH_PROTO:
	case ICMP4_UNREACH_PORT:
		tcp_icmp(t, m->data, m->data_len, TCP_ICMP_UNREACH, 0, now_us);
		break;
	default:
		break;
	}
}

/* RFC 9293 3.9.2.2 (SHLD-26): codes 1 and 4 of ICMPv6 destination unreachable are hard errors.
 * Codes 0 and 3, time exceeded and parameter problem are soft (MUST-56). */
void tcp_icmp6(struct tcp *t, const struct icmp6_msg *m, uint64_t now_us)
{
	bool hard = m->type == ICMP6_UNREACH &&
	            (m->code == ICMP6_UNREACH_PROHIBITED || m->code == ICMP6_UNREACH_PORT);
	if (m->type == ICMP6_TOO_BIG) /* RFC 4443 3.2 */
		tcp_icmp(t, m->data, m->data_len, TCP_ICMP_TOO_BIG, m->rest, now_us);
	else if (hard)
		tcp_icmp(t, m->data, m->data_len, TCP_ICMP_UNREACH, 0, now_us);
}
