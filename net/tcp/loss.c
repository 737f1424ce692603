/*
 * Loss detection, and what the sender does about a loss.
 *
 *     RECOVERY_OPEN --- a chunk is believed lost ---------------------> RECOVERY_FAST
 *     RECOVERY_FAST --- all data then outstanding is acknowledged ----> RECOVERY_OPEN
 *     any ------------- retransmission timeout -----------------------> RECOVERY_RTO
 *     RECOVERY_RTO ---- all data then outstanding is acknowledged ----> RECOVERY_OPEN
 *     FAST, RTO ------- the loss proves spurious (undo) --------------> RECOVERY_OPEN
 *
 * Detection:
 *
 * - With SACK, RACK-TLP (RFC 8985): a chunk is lost when a chunk sent later has arrived and a
 *   reordering window has passed. This finds all that RFC 6675's IsLost() does, because DupThresh
 *   makes the window 0 while no reordering was seen. It also finds lost retransmissions and, by a
 *   probe, lost tails. Rules 3 and 4 of 6675's NextSeg(), which guess, are therefore not needed.
 * - Without SACK, NewReno (RFC 6582): the third duplicate ACK, then each partial ACK. Each
 *   duplicate means that a segment has left the network. It counts in `sacked`, which thus also
 *   implements limited transmit (RFC 3042) and window inflation.
 * - The timer (RFC 6298).
 *
 * Proportional rate reduction (RFC 6937) paces fast recovery by setting cwnd on each ACK.
 *
 * Undo: the response to a spurious loss is reverted (RFC 9438 4.9). A loss proves spurious by the
 * timestamp echo, as in RFC 3522 (Eifel), or when D-SACK (RFC 2883, 3708) has reported every
 * retransmission.
 */
#include "net/tcp/inside.h"

#define DUP_THRESH 3           /* RFC 5681 3.2, RFC 8985 6.2 */
#define REO_PERSIST 16         /* recoveries, RFC 8985 6.2 step 4 */
#define REO_MULT_MAX 255
#define MIN_RTT_WINDOW_MS 10000
#define TLP_DELACK_MS 200      /* RFC 8985 7.2: allowance for the peer's delayed ACK */
#define PTO_NO_RTT_MS 1000
#define BLACK_HOLE_TIMEOUTS 3  /* timeouts of one full segment before smaller ones are tried */

/* --- round-trip time (RFC 6298 2) --- */

static inline void rtt_sample(const struct tcp *t, struct tcp_conn *c, uint32_t rtt_us)
{
	rtt_us = u32_max(rtt_us, 1);
	if (!(c->flags & CONN_HAS_RTT)) {
		c->srtt_us = rtt_us;
		c->rttvar_us = rtt_us / 2;
		c->flags |= CONN_HAS_RTT;
	} else {
		uint32_t off = rtt_us > c->srtt_us ? rtt_us - c->srtt_us : c->srtt_us - rtt_us;
		c->rttvar_us = c->rttvar_us - c->rttvar_us / 4 + off / 4;
		c->srtt_us = c->srtt_us - c->srtt_us / 8 + rtt_us / 8;
	}
	/* The minimum applies to the variance term, as in other stacks: with an RTT of 200 ms and a
	 * steady peer, SRTT + 4 RTTVAR alone would come close to SRTT. */
	uint32_t var = u32_max(4 * u32_min(c->rttvar_us, 1u << 28), t->p.rto_min_ms * 1000);
	c->rto_us = u32_min(c->srtt_us + var, t->p.rto_max_ms * 1000);
	if (c->min_rtt_us == 0 || rtt_us <= c->min_rtt_us ||
	    t->now_ms - c->min_rtt_ms > MIN_RTT_WINDOW_MS) {
		c->min_rtt_us = rtt_us;
		c->min_rtt_ms = t->now_ms;
	}
}

void tcp_rtt_sample(struct tcp *t, struct tcp_conn *c, uint32_t rtt_us)
{
	rtt_sample(t, c, rtt_us);
}

static void sample_of_ack(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a)
{
	/* Karn's algorithm: for retransmitted data only the timestamp gives the RTT (RFC 7323 4).
	 * Data behind it may have arrived long ago and waited for the gap to close. */
	if (a->retrans_acked && a->advanced)
		a->rtt_us = 0;
	if (a->retrans_acked && a->advanced && a->has_ts && a->tsecr) {
		uint32_t ms = tcp_ts_now(t, c) - a->tsecr;
		if (ms < t->p.rto_max_ms)
			a->rtt_us = u32_max(ms, 1) * 1000;
	}
	if (a->rtt_us == 0)
		return;
	tcp_rtt_sample(t, c, a->rtt_us);
	c->backoff = 0; /* only now (RFC 6298 5): on a path slower than the RTO, each segment would
	                   otherwise be sent twice and never measured */
	cc_on_rtt(&c->cc, a->rtt_us, c->snd_una, c->snd_nxt);
}

/* --- RACK (RFC 8985 6.2) --- */

/*
 * RACK_sent_after. Everything sent by one call of the instance has the same time, retransmissions
 * and new data alike. The RFC breaks ties by the higher sequence number; a retransmission would
 * thus be called lost when new data sent before it arrives. Transmissions are therefore numbered.
 */
static bool sent_after(uint32_t order1, uint32_t order2)
{
	return seq_gt(order1, order2);
}

void tcp_rack_arrived(struct tcp *t, struct tcp_conn *c, const struct tcp_chunk *ch,
                      struct tcp_acked *a)
{
	uint64_t sent = chunk_sent_us(ch), age = t->now_us - sent;
	uint32_t rtt = age > 0x7fffffff ? 0x7fffffff : (uint32_t)age;
	bool again = ch->flags & CHUNK_EVER;
	if (!again && (a->rtt_us == 0 || rtt < a->rtt_us)) /* of the newest segment */
		a->rtt_us = u32_max(rtt, 1);
	/* Step 3: a chunk sent only once arrives after data sent later: reordering. */
	if (seq_gt(ch->ends, c->fack)) {
		c->fack = ch->ends;
	} else if (!again && seq_lt(ch->ends, c->fack) && !(c->flags & CONN_REORDERED)) {
		c->flags |= CONN_REORDERED;
		tcp_count_event(t, CNT_tcp_reordered);
	}
	/* Step 2: an ACK of a retransmitted chunk may answer the first transmission. */
	if (again) {
		if (a->has_ts && seq_lt(a->tsecr, tcp_ts_now(t, c) - rtt / 1000))
			return;
		if (rtt < c->min_rtt_us)
			return;
	}
	c->rack_rtt_us = rtt;
	if (c->rack_us == 0 || sent_after(ch->order, c->rack_order)) {
		c->rack_us = sent;
		c->rack_order = ch->order;
	}
}

/* tcp_rack_arrived for the one chunk outstanding, sent once. Returns the round trip, us. */
static inline uint32_t arrived_once(const struct tcp *t, struct tcp_conn *c, const struct tcp_chunk *ch)
{
	const uint64_t sent = chunk_sent_us(ch), age = t->now_us - sent;
	const uint32_t rtt = age > 0x7fffffff ? 0x7fffffff : (uint32_t)age;
	c->fack = ch->ends; /* no other chunk lies beyond */
	c->rack_rtt_us = rtt;
	if (c->rack_us == 0 || sent_after(ch->order, c->rack_order)) {
		c->rack_us = sent;
		c->rack_order = ch->order;
	}
	return u32_max(rtt, 1);
}

/* Step 4: the reordering window. */
static uint32_t reordering_us(const struct tcp_conn *c)
{
	bool dup_thresh = c->flags & CONN_BOARD && c->sacked_chunks >= DUP_THRESH;
	if (!(c->flags & CONN_REORDERED) && (c->recovery != RECOVERY_OPEN || dup_thresh))
		return 0;
	return u32_min(c->reo_mult * (c->min_rtt_us / 4), c->srtt_us);
}

/*
 * Step 5: marks the chunks now lost; true if there was any. *wait_us: time until the last chunk
 * sent before rack_order may be lost; 0: no chunk is waiting.
 */
static bool rack_detect(struct tcp *t, struct tcp_conn *c, uint32_t *wait_us)
{
	uint64_t limit = (uint64_t)c->rack_rtt_us + reordering_us(c);
	bool any = false;
	uint32_t buf;
	*wait_us = 0;
	/* without a scoreboard, no outstanding chunk was sent before the newest that arrived */
	if (c->rack_us == 0 || !(c->flags & CONN_BOARD))
		return false;
	while ((buf = c->in_flight.first) != TCP_NONE) {
		const struct tcp_chunk *ch = chunk_at(t, buf);
		if (!sent_after(c->rack_order, ch->order))
			break;
		if (t->now_us < chunk_sent_us(ch) + limit) {
			/* the last of them has the longest to wait */
			uint32_t last = tcp_board_before_rack(t, c);
			*wait_us = (uint32_t)(chunk_sent_us(chunk_at(t, last)) + limit - t->now_us);
			break;
		}
		tcp_mark_lost(t, c, buf);
		any = true;
	}
	return any;
}

/* RFC 8985 6.2 step 4: the window grows once per round trip in which D-SACK shows that it was too
 * small. It is reset after 16 recoveries without such a D-SACK. */
static void adapt_reordering(struct tcp_conn *c)
{
	if (seq_lt(c->snd_una, c->reo_round))
		return;
	c->reo_round = c->snd_nxt;
	if (c->reo_mult < REO_MULT_MAX)
		c->reo_mult++;
	c->reo_persist = REO_PERSIST;
}

/* --- recovery --- */

/* x * part / whole for part <= whole, by 32-bit division. */
static uint32_t share(uint32_t x, uint32_t part, uint32_t whole)
{
	while (whole > 0xffff) {
		whole >>= 1;
		part >>= 1;
	}
	if (part >= whole)
		return x;
	return (uint32_t)((uint64_t)x * ((part << 16) / whole) >> 16);
}

static void keep_for_undo(struct tcp *t, struct tcp_conn *c)
{
	c->undo_cc = c->cc;
	c->undo_una = c->snd_una;
	c->undo_ts = tcp_ts_now(t, c);
	c->undo_retrans = 0;
	c->undo_order = c->sendings;
}

static void enter_fast(struct tcp *t, struct tcp_conn *c)
{
	keep_for_undo(t, c);
	tcp_count_event(t, CNT_tcp_recoveries);
	c->recovery = RECOVERY_FAST;
	c->recover = c->snd_nxt;
	c->prr_delivered = c->prr_out = 0;
	c->prr_flight = u32_max(c->snd_nxt - c->snd_una, 1);
	/* A response to ECN in the same window of data counts for this loss as well (RFC 3168
	 * 6.1.2). Data that limited transmit sent beyond cwnd does not count (RFC 5681 3.2 step
	 * 2). */
	if (!(c->flags & CONN_CWR) || !seq_gt(c->ecn_end, c->snd_una))
		cc_on_loss(&c->cc, u32_min(c->snd_nxt - c->snd_una, c->cc.cwnd));
	if (c->flags & CONN_ECN) {
		c->flags |= CONN_CWR;
		c->ecn_end = c->snd_nxt;
	}
	c->flags &= ~(uint32_t)CONN_PROBED;
}

/* RFC 6937 3: on each ACK in fast recovery. `first`: the ACK that began it. */
static void prr(struct tcp_conn *c, uint32_t delivered, bool first)
{
	uint32_t pipe = tcp_flight(c), ssthresh = c->cc.ssthresh, send = 0;
	c->prr_delivered += delivered;
	if (pipe > ssthresh) {
		uint32_t due = share(c->prr_delivered, ssthresh, c->prr_flight);
		send = due > c->prr_out ? due - c->prr_out : 0;
	} else {
		uint32_t ahead = c->prr_delivered > c->prr_out ? c->prr_delivered - c->prr_out : 0;
		send = u32_min(ssthresh - pipe, u32_max(ahead, delivered) + c->mss);
	}
	if (first)
		send = u32_max(send, c->mss); /* the fast retransmit itself is sent at once */
	c->cc.cwnd = u32_max(pipe + send, c->mss);
}

/* Back to RECOVERY_OPEN. */
static void reopen(struct tcp_conn *c)
{
	c->recovery = RECOVERY_OPEN;
	c->dup_acks = 0;
	if (!(c->flags & CONN_SACK))
		c->sacked = 0;
}

static void leave(struct tcp_conn *c)
{
	c->undo_end = c->snd_nxt;
	if (c->recovery == RECOVERY_FAST) {
		c->cc.cwnd = u32_max(c->cc.ssthresh, c->mss);
		if (c->reo_persist && --c->reo_persist == 0)
			c->reo_mult = 1;
	}
	reopen(c);
}

static void undo(struct tcp *t, struct tcp_conn *c)
{
	uint32_t cwnd = u32_max(c->cc.cwnd, c->undo_cc.cwnd);
	tcp_count_event(t, CNT_tcp_undone);
	tcp_board_undo(t, c);
	c->cc = c->undo_cc;
	c->cc.cwnd = cwnd;
	if (c->cc.mss != c->mss)
		cc_set_mss(&c->cc, c->mss);
	c->undo_cc.mss = 0;
	/* The next sign of congestion reduces cwnd, although it comes in the same window of data: what
	 * that window's reduction was has just been undone. */
	c->ecn_end = c->snd_una;
	c->flags &= ~(uint32_t)CONN_CWR;
	reopen(c);
}

/* True if the loss that we responded to was spurious. */
static bool was_spurious(const struct tcp_conn *c, const struct tcp_acked *a)
{
	if (c->undo_cc.mss == 0)
		return false;
	/* RFC 3522 3.2: the first ACK of new data echoes a timestamp from before the first
	 * retransmission. */
	if (a->advanced && c->recovery != RECOVERY_OPEN && a->has_ts && a->tsecr &&
	    a->una_before == c->undo_una && c->undo_retrans && seq_lt(a->tsecr, c->undo_ts))
		return true;
	return a->dsack && c->undo_retrans == 1; /* the last outstanding retransmission was
	                                            reported */
}

/* --- tail loss probe (RFC 8985 7) --- */

static void probe_answered(struct tcp *t, struct tcp_conn *c, const struct tcp_acked *a)
{
	if (!(c->flags & CONN_PROBED) || !seq_ge(c->snd_una, c->probe_end))
		return;
	/*
	 * 7.4.2: after a retransmitted probe both copies may arrive. A D-SACK reports that or, from
	 * a peer without D-SACK, a duplicate ACK. An ACK up to probe_end thus proves nothing yet.
	 * An ACK beyond it proves that a segment was lost, which means congestion.
	 */
	if (c->flags & CONN_PROBE_RETRANS && !a->dsack) {
		bool beyond = seq_gt(c->snd_una, c->probe_end);
		if (!beyond && (!a->duplicate || a->sacked))
			return;
		if (beyond) {
			enter_fast(t, c);
			c->undo_cc.mss = 0;
			leave(c);
		}
	}
	c->flags &= ~(uint32_t)(CONN_PROBED | CONN_PROBE_RETRANS);
}

static void send_probe(struct tcp *t, struct tcp_conn *c)
{
	uint32_t buf = c->q_unsent;
	bool fresh = false;
	if (buf != TCP_NONE) { /* new data is preferred if the peer's window has room */
		const struct tcp_chunk *ch = chunk_at(t, buf);
		fresh = ch->len <= tcp_full(c) && seq_le(ch->ends, c->snd_una + c->snd_wnd);
	}
	if (!fresh) {
		tcp_board_begin(t, c);
		buf = tcp_board_last(t, c);
	}
	if (buf == TCP_NONE || !tcp_send_chunk(t, c, buf))
		return;
	tcp_count_event(t, CNT_tcp_tlp);
	c->flags |= CONN_PROBED | (fresh ? 0u : CONN_PROBE_RETRANS);
	c->probe_end = c->snd_nxt;
}

/* --- the timer --- */

uint32_t tcp_rto_ms(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t ms = (c->rto_us + 999) / 1000, max = t->p.rto_max_ms;
	for (unsigned i = 0; i < c->backoff && ms < max; i++)
		ms *= 2;
	return u32_min(ms, max);
}

/* RFC 8985 7.2; 0: no probe now. */
static inline uint32_t pto_ms(const struct tcp_conn *c)
{
	if (!(c->flags & CONN_SACK) || c->recovery != RECOVERY_OPEN || c->flags & CONN_PROBED ||
	    c->sacked || c->backoff || c->state < TCP_ESTABLISHED)
		return 0;
	uint32_t ms = c->flags & CONN_HAS_RTT ? (2 * c->srtt_us + 999) / 1000 : PTO_NO_RTT_MS;
	if (c->snd_nxt - c->snd_una <= c->mss) /* one segment: its ACK may be delayed */
		ms += TLP_DELACK_MS;
	ms = u32_max(ms, 2);
	return ms; /* tcp_send_timer caps it at the RTO: an earlier RTO becomes the probe, which
	              does not reduce cwnd */
}

static bool in_handshake(const struct tcp_conn *c)
{
	return c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED;
}

/* How much longer the peer may stay silent. */
static inline uint32_t patience_ms(const struct tcp *t, const struct tcp_conn *c)
{
	bool handshake = in_handshake(c);
	uint32_t limit = handshake ? t->p.syn_timeout_ms : c->user_timeout_ms;
	/* a peer with a closed window that answers is alive (RFC 9293 3.8.6.1, MUST-37) */
	uint32_t since = !handshake && c->snd_wnd == 0 ? c->heard_ms : c->stuck_ms;
	uint32_t spent = t->now_ms - since;
	return spent < limit ? limit - spent : 0;
}

void tcp_send_timer(struct tcp *t, struct tcp_conn *c)
{
	if (c->snd_una == c->snd_nxt) {
		tcp_timer_clear(c, TIMER_SEND);
		return;
	}
	/* back-off does not postpone giving up */
	uint32_t rto = u32_min(tcp_rto_ms(t, c), u32_max(patience_ms(t, c), 1)), pto = pto_ms(c);
	c->rto_at_ms = t->now_ms + rto;
	c->send_kind = pto ? SEND_TLP : SEND_RTO;
	tcp_timer_set(t, c, TIMER_SEND, pto ? u32_min(pto, rto) : rto);
}

void tcp_send_timer_sent(struct tcp *t, struct tcp_conn *c)
{
	if (!tcp_timer_armed(c, TIMER_SEND) || c->send_kind == SEND_PROBE) {
		tcp_send_timer(t, c);
		return;
	}
	uint32_t pto = c->send_kind == SEND_TLP ? pto_ms(c) : 0, left = c->rto_at_ms - t->now_ms;
	if (pto)
		tcp_timer_set(t, c, TIMER_SEND, (int32_t)left > 0 ? u32_min(pto, left) : 1);
}

static bool gave_up(struct tcp *t, struct tcp_conn *c)
{
	if (patience_ms(t, c) > 0)
		return false;
	tcp_count_event(t, CNT_tcp_timeouts);
	if (!in_handshake(c))
		tcp_send_reset(t, c);
	tcp_conn_end(t, c, E_TIMEOUT, true);
	return true;
}

/*
 * Black-hole detection: like RFC 4821, it does not rely on ICMP. When a full segment has been lost
 * three times, the path may silently drop packets of its size (RFC 8899 5.1.2, MAX_PROBES; RFC 9293
 * 3.8.3, R1: the path is in doubt). Fewer losses are common in congestion, and the smaller segments
 * would stay for ten minutes. Each further timeout lowers the size to the next plateau of RFC 1191
 * 7.1.
 */
static void suspect_black_hole(struct tcp *t, struct tcp_conn *c)
{
	static const uint16_t plateau[] = {8166, 4352, 2002, 1492, 1280, 1006, 576};
	uint32_t least = ip_mtu_min(&c->remote);
	if (c->backoff < BLACK_HOLE_TIMEOUTS || c->q_first == TCP_NONE || c->path_mtu <= least ||
	    chunk_at(t, c->q_first)->len <= least - c->ip_hlen - TCP_HLEN)
		return;
	/* Below the size that was tried, which may be less than path_mtu; otherwise nothing would
	 * change. */
	uint32_t tried = chunk_at(t, c->q_first)->len + c->ip_hlen + TCP_HLEN +
	                 (c->flags & CONN_TS ? TCP_TS_BYTES : 0u);
	for (unsigned i = 0; i < ARRAY_LEN(plateau); i++) {
		if (plateau[i] >= u32_min(c->path_mtu, tried) || plateau[i] < least)
			continue;
		tcp_count_event(t, CNT_tcp_black_hole);
		tcp_path_lower(t, c, plateau[i]);
		return;
	}
}

/* RFC 6298 5.4 to 5.6; RFC 8985 6.3 defines what counts as lost. */
static void timeout(struct tcp *t, struct tcp_conn *c)
{
	bool first = c->recovery != RECOVERY_RTO || c->rto_una != c->snd_una;
	bool sack = c->flags & CONN_SACK;
	tcp_count_event(t, CNT_tcp_rto);
	if (c->recovery == RECOVERY_OPEN)
		keep_for_undo(t, c);
	if (!sack)
		c->sacked = 0;
	uint64_t limit = (uint64_t)c->rack_rtt_us + reordering_us(c);
	tcp_board_timeout(t, c, !sack, t->now_us - u64_min(t->now_us, limit));
	cc_on_rto(&c->cc, c->snd_nxt - c->snd_una, first);
	c->rto_una = c->snd_una;
	c->recovery = RECOVERY_RTO;
	c->recover = c->snd_nxt;
	c->dup_acks = 0;
	c->flags &= ~(uint32_t)(CONN_PROBED | CONN_PROBE_RETRANS);
	if (c->flags & CONN_ECN) {
		c->flags |= CONN_CWR;
		c->ecn_end = c->snd_nxt;
	}
	if (c->backoff < TCP_BACKOFF_MAX)
		c->backoff++;
	if (!first)
		suspect_black_hole(t, c);
}

/* The handshake was not answered. */
static void syn_timeout(struct tcp *t, struct tcp_conn *c)
{
	tcp_count_event(t, CNT_tcp_rto);
	if (c->backoff < TCP_BACKOFF_MAX)
		c->backoff++;
	c->cc.cwnd = c->cc.mss;   /* RFC 5681 3.1: a lost SYN */
	c->rto_us = u32_max(c->rto_us, 1000000);
	c->flags |= CONN_NO_ECN_RETRY;
	tcp_send_syn(t, c);
	tcp_send_timer(t, c);
}

void tcp_loss_on_timer(struct tcp *t, struct tcp_conn *c)
{
	uint32_t wait_us;
	if (c->send_kind == SEND_PROBE) {
		tcp_probe(t, c);
		return;
	}
	if (c->snd_una == c->snd_nxt)
		return;
	switch (c->send_kind) {
	case SEND_TLP:
		send_probe(t, c);
		c->flags |= CONN_PROBED; /* if there was no buffer for the probe, the timeout is
		                            next */
		break;
	case SEND_REORDER:
		if (rack_detect(t, c, &wait_us) && c->recovery == RECOVERY_OPEN) {
			enter_fast(t, c);
			prr(c, 0, true);
		}
		break;
	default:
		if (gave_up(t, c))
			return;
		if (in_handshake(c)) {
			syn_timeout(t, c);
			return;
		}
		timeout(t, c);
		break;
	}
	tcp_send_timer(t, c);
}

/* --- an ACK --- */

/* Without SACK. Returns the bytes that the ACK shows to have left the network, beyond those it
 * acknowledges. */
static uint32_t newreno(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a, bool *lost)
{
	uint32_t out = c->snd_nxt - c->snd_una;
	if (a->duplicate && c->recovery == RECOVERY_RTO)
		return 0;
	if (a->duplicate) {
		/* RFC 3042: the first two release new data; RFC 5681 3.2, step 4: so do those in
		 * recovery */
		uint32_t most = c->recovery == RECOVERY_OPEN ? (DUP_THRESH - 1u) * c->mss : out;
		c->dup_acks++;
		if (c->sacked + c->mss < out && c->sacked < most)
			c->sacked += c->mss;
		/* RFC 6582 3.2 step 2: not for data sent before the last recovery began */
		*lost = c->recovery == RECOVERY_OPEN && c->dup_acks == DUP_THRESH &&
		        seq_gt(c->snd_una, c->recover);
		if (*lost)
			tcp_mark_lost(t, c, c->q_first);
		return c->mss;
	}
	if (!a->advanced)
		return 0;
	uint32_t acked = c->snd_una - a->una_before;
	c->dup_acks = 0;
	if (c->recovery == RECOVERY_OPEN) {
		c->sacked = 0;
	} else {
		/* step 5, partial ACK: the segment that is now first is lost as well; deflate */
		uint32_t less = acked > c->mss ? acked - c->mss : 0;
		c->sacked = u32_min(c->sacked > less ? c->sacked - less : 0, out);
		if (c->recovery == RECOVERY_FAST && c->q_first != c->q_unsent &&
		    seq_lt(c->snd_una, c->recover))
			tcp_mark_lost(t, c, c->q_first);
	}
	return 0;
}

/* RFC 3168 6.1.2: once per window of data. An ACK of exactly the data outstanding at the last
 * reduction cannot reflect CWR, which only later data carries. */
static void ecn_echo(struct tcp *t, struct tcp_conn *c)
{
	if (c->recovery != RECOVERY_OPEN || seq_le(c->snd_una, c->ecn_end))
		return;
	tcp_count_event(t, CNT_tcp_ecn);
	cc_on_ecn(&c->cc, c->snd_nxt - c->snd_una);
	c->ecn_end = c->snd_nxt;
	c->flags |= CONN_CWR;
}

/*
 * True if data outstanding was sent before data that has arrived. Without retransmissions this
 * cannot happen: everything that the ACK does not cover was sent later. A retransmission, however,
 * arrives out of order, and data behind it may have been lost alone. The network may have dropped
 * such data, or PAWS, because it arrived after a retransmission with an older timestamp.
 */
static bool passed_over(const struct tcp *t, const struct tcp_conn *c)
{
	return c->q_first != c->q_unsent &&
	       sent_after(c->rack_order, chunk_at(t, c->q_first)->order);
}

/* Marks the chunks now lost; true if any is newly lost. */
static bool detect(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a, uint32_t *wait_us)
{
	bool lost = false;
	*wait_us = 0;
	if (!(c->flags & CONN_SACK))
		a->delivered += newreno(t, c, a, &lost);
	else if (c->sacked || c->recovery != RECOVERY_OPEN || a->retrans_acked || passed_over(t, c))
		lost = rack_detect(t, c, wait_us);
	return lost;
}

void tcp_loss_on_answer(struct tcp *t, struct tcp_conn *c, const struct tcp_chunk *ch)
{
	const uint32_t rtt_us = arrived_once(t, c, ch);
	rtt_sample(t, c, rtt_us);
	c->backoff = 0;
	cc_on_rtt(&c->cc, rtt_us, c->snd_una, c->snd_nxt);
	if (seq_ge(c->snd_una, c->undo_end))
		c->undo_cc.mss = 0;
	cc_on_ack(&c->cc, t->now_us, ch->len, c->srtt_us, c->flags & CONN_LIMITED);
	tcp_timer_clear(c, TIMER_SEND);
}

void tcp_loss_on_ack(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a)
{
	uint32_t wait_us = 0;
	sample_of_ack(t, c, a);
	if (unlikely(a->dsack))
		adapt_reordering(c);
	if (unlikely(was_spurious(c, a)))
		undo(t, c);
	else if (a->dsack && c->undo_retrans)
		c->undo_retrans--;
	probe_answered(t, c, a);

	bool recovered = c->recovery == RECOVERY_FAST && seq_ge(c->snd_una, c->recover);
	if (c->recovery != RECOVERY_OPEN && seq_ge(c->snd_una, c->recover))
		leave(c);
	else if (c->recovery == RECOVERY_OPEN && a->advanced && seq_ge(c->snd_una, c->undo_end))
		c->undo_cc.mss = 0;
	bool lost = detect(t, c, a, &wait_us);
	bool first = lost && c->recovery == RECOVERY_OPEN;
	if (first)
		enter_fast(t, c);
	if (c->recovery == RECOVERY_FAST)
		prr(c, a->delivered, first);
	else if (a->advanced && !recovered && !a->ece)
		/* RFC 6582 3.2 step 3: after recovery cwnd is ssthresh and does not grow; RFC 3168
		 * 6.1.2: no growth on ECE */
		cc_on_ack(&c->cc, t->now_us, a->bytes, c->srtt_us, c->flags & CONN_LIMITED);
	if (unlikely(a->ece))
		ecn_echo(t, c);

	if (wait_us) {
		c->send_kind = SEND_REORDER;
		tcp_timer_set(t, c, TIMER_SEND, (wait_us + 999) / 1000);
	} else if (a->advanced || (c->send_kind == SEND_REORDER && tcp_timer_armed(c, TIMER_SEND)) ||
	           (c->send_kind == SEND_TLP && tcp_timer_armed(c, TIMER_SEND) && !pto_ms(c))) {
		/* a SACK or a recovery ends the wait for a probe (RFC 8985 7.2) */
		tcp_send_timer(t, c);
	}
}
