/*
 * A segment arrives (RFC 9293 3.10.7): which connection, is it acceptable, what its flags do to the
 * state. In the RFC's order, with the checks of RFC 5961 and 7323 where they belong.
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
 * Segments are taken in lots of a few: first all are parsed and the table's lines for them fetched,
 * then each is gone through, then each connection among them sends what it has to.
 */
#include "net/eth.h"
#include "net/tcp/inside.h"

#define LOT 32              /* packets between two rounds of answers */
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

/* --- is it acceptable? --- */

/* RFC 7323 5.5: after 24 days its sign says nothing any more. */
static bool ts_recent_is_old(const struct tcp *t, const struct tcp_conn *c)
{
	return t->now_ms - c->ts_recent_ms > PAWS_IDLE_MS;
}

/* RFC 7323 5.3 R1, and 3.2: without the option that was agreed on it is not of this connection. */
static bool timestamp_ok(const struct tcp *t, const struct tcp_conn *c, const struct tcp_segment *s)
{
	if (!(s->has & TCP_HAS_TS))
		return s->flags & TCP_RST;
	return seq_ge(s->tsval, c->ts_recent) || ts_recent_is_old(t, c) || s->flags & TCP_RST;
}

/* RFC 9293 3.10.7.4, first: table of the acceptability test. rcv_adv is the edge that was ever
 * offered, so a window that was taken back by rounding is still honoured. */
static bool sequence_ok(const struct tcp_conn *c, const struct tcp_segment *s)
{
	uint32_t space = tcp_segment_space(s), wnd = c->rcv_adv - c->rcv_nxt;
	/* An ACK at the right edge itself, which the RFC's table leaves out, is that of a peer that has
	 * filled the window: if some of that was lost, to drop it would leave both waiting. */
	if (space == 0)
		return s->seq - c->rcv_nxt <= wnd;
	uint32_t last = s->seq + space - 1;
	if (wnd == 0) /* text is not taken, but its ACK, URG and RST are (RFC 9293 3.10.7.4) */
		return s->seq == c->rcv_nxt;
	return s->seq - c->rcv_nxt < wnd || last - c->rcv_nxt < wnd;
}

/* RFC 7323 4.3 (2): the timestamp to be echoed is that of the segment that the next ACK answers. */
static void note_timestamp(const struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	if ((seq_ge(s->tsval, c->ts_recent) || ts_recent_is_old(t, c)) &&
	    seq_le(s->seq, c->acked_to)) {
		c->ts_recent = s->tsval;
		c->ts_recent_ms = t->now_ms;
	}
}

/* Not acceptable: it is answered by an ACK (that of a duplicate tells of it), so that the peer can
 * find its way; not without limit, or two confused ends would never stop (RFC 5961 7). */
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

/* RFC 9293 3.8.4: before the window on purpose, so that it has to be answered; the one byte, if
 * any, is garbage. Linux probes a closed window by the same segment. */
static bool is_probe(const struct tcp_conn *c, const struct tcp_segment *s)
{
	return s->seq == c->rcv_nxt - 1 && s->len <= 1 &&
	       (s->flags & (TCP_ACK | TCP_SYN | TCP_FIN | TCP_RST)) == TCP_ACK;
}

/* --- RST and SYN --- */

static enum counter reset_arrived(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	/* RFC 5961 3.2: exactly the next number, or it is a guess within the window. RFC 1337: none
	 * ends TIME-WAIT. */
	if (c->state == TCP_TIME_WAIT)
		return CNT_drop_tcp_challenged;
	if (s->seq != c->rcv_nxt)
		return challenge(t, c, CNT_drop_tcp_challenged);
	tcp_count_event(t, CNT_tcp_resets);
	/* All but our FIN has been acknowledged, and so has theirs: it has ended in order. */
	bool over = (c->state == TCP_CLOSING || c->state == TCP_LAST_ACK) && c->q_bytes == 0;
	bool refused = c->state == TCP_SYN_RECEIVED && !(c->flags & CONN_PASSIVE);
	tcp_conn_end(t, c, over ? E_OK : refused ? E_REFUSED : E_RESET, true);
	return CNT_delivered_tcp;
}

/* A SYN for a connection in TIME-WAIT: may it begin another one? RFC 6191 with timestamps, RFC
 * 9293 3.10.7.4 (fourth) by sequence number. */
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

/* Whether our FIN has been acknowledged, and what follows. False: nothing more is to be done. */
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

/* In TIME-WAIT only a retransmitted FIN is of interest: its ACK was lost (RFC 9293 3.10.7.4). */
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
		/* its SYN again (our answer was lost), or, after a simultaneous open, its SYN-ACK */
		if (!(s->flags & TCP_ACK)) {
			c->flags |= CONN_ACK_NOW;
			return CNT_delivered_tcp;
		}
		s->flags &= (uint8_t)~TCP_SYN;
		s->wnd >>= c->snd_wscale; /* a SYN's is not scaled (RFC 7323 2.2) */
		s->seq++;
	}
	if (unlikely(!sequence_ok(c, s))) {
		/* the peer's FIN again: old by its number, but the reason why TIME-WAIT is */
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

	/* Before the segment changes anything: else one that guesses a sequence number would. */
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

/* One segment; c is its connection, or NULL. Returns its fate. */
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
	if (c->state == TCP_SYN_SENT)
		return tcp_input_syn_sent(t, c, s, p, taken);
	return synchronized(t, c, s, p, taken);
}

static void input_lot(struct tcp *t, struct pkt *v, unsigned n)
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
		for (unsigned line = 0; c && line < sizeof(struct tcp_conn); line += CACHE_LINE)
			__builtin_prefetch(c + line, 1);
	}
	for (unsigned i = 0; i < n; i++) {
		bool taken = false;
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
		input_lot(t, v + at, n - at < LOT ? n - at : LOT);
		tcp_flush(t);
	}
	t->busy = false;
}

/* --- ICMP --- */

static void too_big(struct tcp *t, struct tcp_conn *c, uint32_t mtu)
{
	uint32_t least = ip_mtu_min(&c->remote);
	/* RFC 1191 3: a router that does not say, says 0; then the smallest that must do. Of IPv6, RFC
	 * 8201 4: less than that MUST be discarded. */
	if (mtu < least && !net_addr_is_ip4(&c->remote))
		return;
	mtu = u32_max(mtu, least);
	if (mtu >= c->path_mtu)
		return;
	tcp_count_event(t, CNT_tcp_pmtu);
	tcp_path_lower(t, c, mtu);
	/* RFC 1191 6.5: it did not get through, nor did any other of that size; to send them again is no
	 * response to congestion. */
	for (uint32_t buf = c->q_first; buf != c->q_unsent; buf = chunk_at(t, buf)->next) {
		if (chunk_at(t, buf)->len > tcp_full(c))
			tcp_mark_lost(t, c, buf);
	}
}

/* Whose segment the packet quoted in an ICMP error is, of which len bytes are there: where its
 * ports are, NULL for none with 8 bytes of TCP. */
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
	/* RFC 5927 4.1: of something that is under way */
	if (!c || seq_lt(seq, c->snd_una) || !seq_lt(seq, c->snd_max))
		return;
	t->busy = true;
	tcp_touch(t, c);
	if (what == TCP_ICMP_TOO_BIG)
		too_big(t, c, mtu);
	else if (c->state == TCP_SYN_SENT) /* RFC 5927 5.2: else it may be forged; the timers decide */
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

/* RFC 9293 3.9.2.2 (SHLD-26): of ICMPv6 the codes 1 and 4 of destination unreachable are hard
 * errors. Soft are its codes 0 and 3, time exceeded and parameter problems (MUST-56). */
void tcp_icmp6(struct tcp *t, const struct icmp6_msg *m, uint64_t now_us)
{
	bool hard = m->type == ICMP6_UNREACH &&
	            (m->code == ICMP6_UNREACH_PROHIBITED || m->code == ICMP6_UNREACH_PORT);
	if (m->type == ICMP6_TOO_BIG) /* RFC 4443 3.2 */
		tcp_icmp(t, m->data, m->data_len, TCP_ICMP_TOO_BIG, m->rest, now_us);
	else if (hard)
		tcp_icmp(t, m->data, m->data_len, TCP_ICMP_UNREACH, 0, now_us);
}
