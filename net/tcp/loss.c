/*
 * What was lost, and what the sender does about it.
 *
 *     RECOVERY_OPEN --- a chunk is believed lost ---------------------> RECOVERY_FAST
 *     RECOVERY_FAST --- all that was out then is acknowledged --------> RECOVERY_OPEN
 *     any ------------- retransmission timeout -----------------------> RECOVERY_RTO
 *     RECOVERY_RTO ---- likewise acknowledged ------------------------> RECOVERY_OPEN
 *     FAST, RTO ------- the loss proves to have been none (undo) -----> RECOVERY_OPEN
 *
 * Who believes it:
 * - with SACK, RACK-TLP (RFC 8985): a chunk is lost when one that was sent later has arrived, and a
 *   reordering window has passed. It finds all that RFC 6675's IsLost() does (DupThresh makes the
 *   window 0 while no reordering was seen), lost retransmissions too, and, by a probe, lost tails;
 *   so 6675's NextSeg() rules 3 and 4, which guess, have nothing left to do.
 * - without SACK, NewReno (RFC 6582): the third duplicate ACK, then each partial one. Each
 *   duplicate is a segment that has left the network: it counts in `sacked`, which is also limited
 *   transmit (RFC 3042) and the inflation of the window.
 * - the timer (RFC 6298).
 *
 * How fast it goes on during fast recovery is proportional rate reduction (RFC 6937), by setting
 * cwnd on each ACK.
 *
 * Undo: a response to a loss that was none is taken back (RFC 9438 4.9): by the timestamp echo, as
 * in RFC 3522 (Eifel), or when D-SACK (RFC 2883, 3708) has reported every retransmission.
 */
#include "net/tcp/inside.h"

#define DUP_THRESH 3           /* RFC 5681 3.2, RFC 8985 6.2 */
#define REO_PERSIST 16         /* recoveries, RFC 8985 6.2 step 4 */
#define REO_MULT_MAX 255
#define MIN_RTT_WINDOW_MS 10000
#define TLP_DELACK_MS 200      /* RFC 8985 7.2: the longest that a peer's delayed ACK is allowed for */
#define PTO_NO_RTT_MS 1000
#define BLACK_HOLE_TIMEOUTS 3  /* of one full segment, before smaller ones are tried */

/* --- round-trip time (RFC 6298 2) --- */

void tcp_rtt_sample(struct tcp *t, struct tcp_conn *c, uint32_t rtt_us)
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
	/* The floor is that of the variance, as everybody has it: with an RTT of 200 ms and a steady
	 * peer, SRTT + 4 RTTVAR alone would come close to SRTT. */
	uint32_t var = u32_max(4 * u32_min(c->rttvar_us, 1u << 28), t->p.rto_min_ms * 1000);
	c->rto_us = u32_min(c->srtt_us + var, t->p.rto_max_ms * 1000);
	if (c->min_rtt_us == 0 || rtt_us <= c->min_rtt_us ||
	    t->now_ms - c->min_rtt_ms > MIN_RTT_WINDOW_MS) {
		c->min_rtt_us = rtt_us;
		c->min_rtt_ms = t->now_ms;
	}
}

static void sample_of_ack(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a)
{
	/* Karn's algorithm: of what was sent again only the timestamp knows (RFC 7323 4). What lies
	 * behind it may have been there for long and waited for the hole to be closed. */
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
	c->backoff = 0; /* and not before (RFC 6298 5): else a path that became slower than the RTO would
	                   have each segment sent twice and never be measured */
	cc_on_rtt(&c->cc, a->rtt_us, c->snd_una, c->snd_nxt);
}

/* --- RACK (RFC 8985 6.2) --- */

/*
 * RACK_sent_after. All that one call of the instance sends has the same time, retransmissions and
 * new data alike, and the RFC's tie-break, the higher sequence number, would call a retransmission
 * lost because new data arrived that was sent before it. So sendings are counted.
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
	if (!again && (a->rtt_us == 0 || rtt < a->rtt_us)) /* of the newest */
		a->rtt_us = u32_max(rtt, 1);
	/* Step 3: something was sent before what has arrived, arrives now, and was not sent again. */
	if (seq_gt(ch->ends, c->fack)) {
		c->fack = ch->ends;
	} else if (!again && seq_lt(ch->ends, c->fack) && !(c->flags & CONN_REORDERED)) {
		c->flags |= CONN_REORDERED;
		tcp_count_event(t, CNT_tcp_reordered);
	}
	/* Step 2: an ACK of what was sent twice may be that of the first. */
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

/* Step 4: the reordering window. */
static uint32_t reordering_us(const struct tcp_conn *c)
{
	bool dup_thresh = c->flags & CONN_BOARD && c->sacked_chunks >= DUP_THRESH;
	if (!(c->flags & CONN_REORDERED) && (c->recovery != RECOVERY_OPEN || dup_thresh))
		return 0;
	return u32_min(c->reo_mult * (c->min_rtt_us / 4), c->srtt_us);
}

/*
 * Step 5: marks what is lost by now; true if anything was. *wait_us: so long until the next would
 * be, 0: none will for this reason.
 */
static bool rack_detect(struct tcp *t, struct tcp_conn *c, uint32_t *wait_us)
{
	uint64_t limit = (uint64_t)c->rack_rtt_us + reordering_us(c);
	bool any = false;
	uint32_t buf;
	*wait_us = 0;
	/* without a scoreboard nothing was sent before what has arrived */
	if (c->rack_us == 0 || !(c->flags & CONN_BOARD))
		return false;
	while ((buf = c->in_flight.first) != TCP_NONE) {
		const struct tcp_chunk *ch = chunk_at(t, buf);
		if (!sent_after(c->rack_order, ch->order))
			break;
		if (t->now_us < chunk_sent_us(ch) + limit) {
			/* the longest wait of all is that of the last of them */
			uint32_t last = tcp_board_before_rack(t, c);
			*wait_us = (uint32_t)(chunk_sent_us(chunk_at(t, last)) + limit - t->now_us);
			break;
		}
		tcp_mark_lost(t, c, buf);
		any = true;
	}
	return any;
}

/* RFC 8985 6.2 step 4: the window grows with each round trip in which D-SACK says that it was too
 * small, and is small again after 16 recoveries without. */
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

/* part / whole of x, where part <= whole, in 32-bit divisions. */
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
	/* An ECN response to the same window was one to this as well (RFC 3168 6.1.2); what limited
	 * transmit sent beyond cwnd does not count (RFC 5681 3.2 step 2). */
	if (!(c->flags & CONN_CWR) || !seq_gt(c->ecn_end, c->snd_una))
		cc_on_loss(&c->cc, t->now_us, u32_min(c->snd_nxt - c->snd_una, c->cc.cwnd));
	if (c->flags & CONN_ECN) {
		c->flags |= CONN_CWR;
		c->ecn_end = c->snd_nxt;
	}
	c->flags &= ~(uint32_t)CONN_PROBED;
}

/* RFC 6937 3: on each ACK of fast recovery. `first`: it is the one that began it. */
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
		send = u32_max(send, c->mss); /* the fast retransmit itself is not waited for */
	c->cc.cwnd = u32_max(pipe + send, c->mss);
}

/* Nothing is believed lost any more. */
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
	reopen(c);
}

/* Was the loss that we responded to none? */
static bool was_spurious(const struct tcp_conn *c, const struct tcp_acked *a)
{
	if (c->undo_cc.mss == 0)
		return false;
	/* RFC 3522 3.2: the first ACK of new data echoes a time before the first retransmission. */
	if (a->advanced && c->recovery != RECOVERY_OPEN && a->has_ts && a->tsecr &&
	    a->una_before == c->undo_una && c->undo_retrans && seq_lt(a->tsecr, c->undo_ts))
		return true;
	return a->dsack && c->undo_retrans == 1; /* the last one out has been reported */
}

/* --- tail loss probe (RFC 8985 7) --- */

static void probe_answered(struct tcp *t, struct tcp_conn *c, const struct tcp_acked *a)
{
	if (!(c->flags & CONN_PROBED) || !seq_ge(c->snd_una, c->probe_end))
		return;
	/*
	 * 7.4.2: of a segment that was repeated both may arrive, which a D-SACK tells, or a duplicate ACK
	 * of a peer that knows none; so an ACK up to its end proves nothing yet. One beyond proves that
	 * a segment was lost, and that is congestion.
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
	if (buf != TCP_NONE) { /* new data is better, if the peer's window has room */
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
static uint32_t pto_ms(const struct tcp_conn *c)
{
	if (!(c->flags & CONN_SACK) || c->recovery != RECOVERY_OPEN || c->flags & CONN_PROBED ||
	    c->sacked || c->backoff || c->state < TCP_ESTABLISHED)
		return 0;
	uint32_t ms = c->flags & CONN_HAS_RTT ? (2 * c->srtt_us + 999) / 1000 : PTO_NO_RTT_MS;
	if (c->snd_nxt - c->snd_una <= c->mss) /* one segment: its ACK may be delayed */
		ms += TLP_DELACK_MS;
	ms = u32_max(ms, 2);
	return ms; /* the RTO's time, when it is earlier, is the probe's: what it asks costs no cwnd */
}

static bool in_handshake(const struct tcp_conn *c)
{
	return c->state == TCP_SYN_SENT || c->state == TCP_SYN_RECEIVED;
}

/* So long the peer may stay silent. */
static uint32_t patience_ms(const struct tcp *t, const struct tcp_conn *c)
{
	bool handshake = in_handshake(c);
	uint32_t limit = handshake ? t->p.syn_timeout_ms : c->user_timeout_ms;
	/* a peer that closes its window and answers is there (RFC 9293 3.8.6.1, MUST-37) */
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
	/* giving up is not put off by the back-off */
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
 * RFC 4821 has no ICMP to rely on, and no more do we: when a full segment has been lost three times
 * (RFC 8899 5.1.2, MAX_PROBES; RFC 9293 3.8.3, R1, from which on the path is doubted), the path may
 * drop what does not fit silently. Fewer are everyday congestion, and the smaller segments would
 * stay for ten minutes. Segments become smaller by the plateaus of RFC 1191 7.1, with each timeout.
 */
static void suspect_black_hole(struct tcp *t, struct tcp_conn *c)
{
	static const uint16_t plateau[] = {8166, 4352, 2002, 1492, 1280, 1006, 576};
	uint32_t least = ip_mtu_min(&c->remote);
	if (c->backoff < BLACK_HOLE_TIMEOUTS || c->q_first == TCP_NONE || c->path_mtu <= least ||
	    chunk_at(t, c->q_first)->len <= least - c->ip_hlen - TCP_HLEN)
		return;
	/* smaller than what was tried, which need not be the path's MTU: else nothing would change */
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

/* RFC 6298 5.4 to 5.6; RFC 8985 6.3 for what counts as lost. */
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
	cc_on_rto(&c->cc, t->now_us, c->snd_nxt - c->snd_una, first);
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
		c->flags |= CONN_PROBED; /* if there was no buffer for it, the timeout is next */
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

/* Without SACK. Returns what the ACK has taken out of the network beyond what it acknowledges. */
static uint32_t newreno(struct tcp *t, struct tcp_conn *c, struct tcp_acked *a, bool *lost)
{
	uint32_t out = c->snd_nxt - c->snd_una;
	if (a->duplicate && c->recovery == RECOVERY_RTO)
		return 0;
	if (a->duplicate) {
		/* RFC 3042: the first two let new data go; RFC 5681 3.2, step 4, those of recovery */
		uint32_t most = c->recovery == RECOVERY_OPEN ? (DUP_THRESH - 1u) * c->mss : out;
		c->dup_acks++;
		if (c->sacked + c->mss < out && c->sacked < most)
			c->sacked += c->mss;
		/* RFC 6582 3.2 step 2: not for what was sent before the last recovery began */
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
		/* step 5, partial: the segment now first is lost as well; deflate */
		uint32_t less = acked > c->mss ? acked - c->mss : 0;
		c->sacked = u32_min(c->sacked > less ? c->sacked - less : 0, out);
		if (c->recovery == RECOVERY_FAST && c->q_first != c->q_unsent &&
		    seq_lt(c->snd_una, c->recover))
			tcp_mark_lost(t, c, c->q_first);
	}
	return 0;
}

/* RFC 3168 6.1.2: once for a window of data. The ACK of just all that was out then cannot have seen
 * CWR, which the data behind it carries. */
static void ecn_echo(struct tcp *t, struct tcp_conn *c)
{
	if (c->recovery != RECOVERY_OPEN || seq_le(c->snd_una, c->ecn_end))
		return;
	tcp_count_event(t, CNT_tcp_ecn);
	cc_on_ecn(&c->cc, t->now_us, c->snd_nxt - c->snd_una);
	c->ecn_end = c->snd_nxt;
	c->flags |= CONN_CWR;
}

/*
 * Is something outstanding that was sent before what has arrived? In order, nothing is: what the
 * ACK did not take was sent later. But what was sent again arrives out of its order, and what is
 * behind it may have been lost alone: by the network, or by PAWS, when it came after a
 * retransmission, with an older timestamp.
 */
static bool passed_over(const struct tcp *t, const struct tcp_conn *c)
{
	return c->q_first != c->q_unsent &&
	       sent_after(c->rack_order, chunk_at(t, c->q_first)->order);
}

/* Marks what is lost now; true when something is that was not. */
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
		/* RFC 6582 3.2 step 3: cwnd is ssthresh then, no more; RFC 3168 6.1.2: not by ECE */
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
