/*
 * Acknowledgement arrival (RFC 9293 3.10.7.4, fifth; RFC 2018 5): removes acknowledged chunks from
 * the queue, marks SACKED chunks, updates the send window. loss.c derives the congestion window and
 * the retransmissions from it.
 */
#include "net/tcp/inside.h"

/* True for a block within the outstanding sequence space. */
static bool is_sane(const struct tcp_conn *c, const struct tcp_sack *b)
{
	return seq_lt(b->start, b->end) && seq_ge(b->start, c->snd_una) && seq_le(b->end, c->snd_nxt);
}

/* RFC 2883 4: the first block reports a duplicate if it lies below the acknowledgement or within
 * the second block. */
static bool is_dsack(const struct tcp_segment *s)
{
	const struct tcp_sack *b = s->sack;
	if (!seq_lt(b[0].start, b[0].end))
		return false;
	return seq_le(b[0].end, s->ack) ||
	       (s->sacks > 1 && seq_ge(b[0].start, b[1].start) && seq_le(b[0].end, b[1].end));
}

static void mark_sacked(struct tcp *t, struct tcp_conn *c, uint32_t buf, struct tcp_acked *a)
{
	const struct tcp_chunk *ch = chunk_at(t, buf);
	a->retrans_acked |= !!(ch->flags & CHUNK_EVER);
	tcp_rack_arrived(t, c, ch, a);
	a->delivered += chunk_space(ch);
	a->sacked = true;
	tcp_board_sacked(t, c, buf);
}

/* Copies the sane blocks to `out`, sorted by start; returns how many. */
static unsigned sort_blocks(const struct tcp_conn *c, const struct tcp_segment *s, unsigned first,
                            struct tcp_sack *out)
{
	unsigned n = 0;
	for (unsigned i = first; i < s->sacks; i++) {
		unsigned at = n;
		if (!is_sane(c, &s->sack[i]))
			continue;
		for (; at > 0 && seq_lt(s->sack[i].start, out[at - 1].start); at--)
			out[at] = out[at - 1];
		out[at] = s->sack[i];
		n++;
	}
	return n;
}

static void read_sacks(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s,
                       struct tcp_acked *a)
{
	struct tcp_sack blocks[TCP_SACK_MAX];
	a->dsack = is_dsack(s);
	unsigned n = sort_blocks(c, s, a->dsack, blocks);
	if (n == 0)
		return;
	tcp_board_begin(t, c);
	uint32_t buf = c->q_first, lane = c->lane_first;
	for (unsigned i = 0; i < n && buf != c->q_unsent; i++) {
		buf = tcp_board_seek(t, c, buf, &lane, blocks[i].start);
		while ((buf = tcp_board_unsacked(t, c, buf)) != c->q_unsent &&
		       seq_le(chunk_at(t, buf)->ends, blocks[i].end)) {
			mark_sacked(t, c, buf, a);
			buf = chunk_at(t, buf)->next;
		}
	}
}

static void set_window(struct tcp_conn *c, const struct tcp_segment *s, uint32_t wnd)
{
	c->snd_wnd = wnd;
	c->snd_wl1 = s->seq;
	c->snd_wl2 = s->ack;
	c->max_wnd = u32_max(c->max_wnd, wnd);
}

/*
 * RFC 9293 3.10.7.4: a segment older than the one that last set the window must not update it. A
 * segment that acknowledges new data is not old, even if it carries retransmitted data: without its
 * window, snd_una would move and push the right edge beyond any offered one. Returns whether the
 * window has changed.
 */
static bool update_window(struct tcp_conn *c, const struct tcp_segment *s)
{
	if (!(seq_gt(s->ack, c->snd_una) || seq_lt(c->snd_wl1, s->seq) ||
	      (c->snd_wl1 == s->seq && seq_le(c->snd_wl2, s->ack))))
		return false;
	uint32_t before = c->snd_wnd;
	/* the window of a SYN is not scaled (RFC 7323 2.2) */
	set_window(c, s, s->flags & TCP_SYN ? s->wnd : s->wnd << c->snd_wscale);
	return c->snd_wnd != before;
}

/* Moves snd_una to ack. */
static void advance(struct tcp *t, struct tcp_conn *c, uint32_t ack, struct tcp_acked *a)
{
	a->advanced = true;
	a->bytes = tcp_queue_ack(t, c, ack, a);
	c->snd_una = ack;
	if (seq_gt(ack, c->snd_nxt)) /* the peer took a window probe */
		c->snd_nxt = ack;
	if (c->flags & CONN_URG_SND && seq_ge(ack, c->snd_up))
		c->flags &= ~(uint32_t)CONN_URG_SND;
	if (seq_lt(c->fack, ack))
		c->fack = ack;
	if (ack - c->ack_floor > c->max_wnd)
		c->ack_floor = ack - c->max_wnd;
	if (unlikely(c->flags & CONN_BOARD) && seq_ge(ack, c->board_end))
		c->flags &= ~(uint32_t)CONN_BOARD;
	c->stuck_ms = t->now_ms;
}

static void acked(struct tcp_conn *c, uint32_t bytes)
{
	if (bytes && c->app->acked && c->flags & CONN_ACCEPTED)
		c->app->acked(c, bytes);
}

/*
 * The ACK of all that is outstanding, one chunk that was sent once, without loss, probe, mark of
 * congestion or urgent data: an exchange of requests and answers has no other. Returns that chunk, or NULL.
 */
static const struct tcp_chunk *answered_chunk(const struct tcp *t, const struct tcp_conn *c,
                                              const struct tcp_segment *s)
{
	const uint32_t rare = CONN_BOARD | CONN_PROBED | CONN_URG_SND;
	if (c->q_first == TCP_NONE || s->ack == c->snd_una || s->ack != c->snd_nxt ||
	    (c->flags & (rare | CONN_SACK)) != CONN_SACK ||
	    c->recovery != RECOVERY_OPEN || s->sacks || c->sacked || s->flags & (TCP_SYN | TCP_ECE))
		return NULL;
	const struct tcp_chunk *ch = chunk_at(t, c->q_first);
	const bool once = (ch->flags & (CHUNK_SENT | CHUNK_SACKED | CHUNK_LOST | CHUNK_RETRANS | CHUNK_EVER)) ==
	                  CHUNK_SENT;
	return ch->ends == s->ack && once ? ch : NULL;
}

/* What ack_any does, for such an ACK. */
static void answered(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s,
                     const struct tcp_chunk *ch)
{
	const uint32_t buf = c->q_first, bytes = ch->len;
	set_window(c, s, s->wnd << c->snd_wscale);
	c->q_bytes -= bytes;
	c->q_first = ch->next;
	if (c->q_first == TCP_NONE)
		c->q_last = TCP_NONE;
	c->q_bufs--;
	c->snd_una = s->ack;
	if (s->ack - c->ack_floor > c->max_wnd)
		c->ack_floor = s->ack - c->max_wnd;
	c->stuck_ms = t->now_ms;
	c->probes = 0;
	tcp_loss_on_answer(t, c, ch);
	buf_put(t->pool, buf);
	acked(c, bytes);
}

static __attribute__((noinline)) void ack_any(struct tcp *t, struct tcp_conn *c,
                                              const struct tcp_segment *s)
{
	struct tcp_acked a = {.before = tcp_flight(c),
	                      .una_before = c->snd_una,
	                      .tsecr = s->tsecr,
	                      .has_ts = s->has & TCP_HAS_TS && c->flags & CONN_TS,
	                      .ece = c->flags & CONN_ECN && s->flags & TCP_ECE};
	bool outstanding = c->snd_una != c->snd_nxt;
	bool old = seq_lt(s->ack, c->snd_una);
	bool window_moved = !old && update_window(c, s);
	if (seq_gt(s->ack, c->snd_una))
		advance(t, c, s->ack, &a);
	else if (!old)
		/* RFC 5681 2 */
		a.duplicate = outstanding && s->len == 0 && !window_moved &&
		              !(s->flags & (TCP_SYN | TCP_FIN));
	if (unlikely(s->sacks) && c->flags & CONN_SACK)
		read_sacks(t, c, s, &a);
	c->probes = 0;
	if (c->send_kind == SEND_PROBE && (a.advanced || window_moved))
		c->backoff = 0;
	if ((outstanding || a.dsack) && !old)
		tcp_loss_on_ack(t, c, &a);
	acked(c, a.bytes);
}

void tcp_ack(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	const struct tcp_chunk *ch = answered_chunk(t, c, s);
	if (likely(ch))
		answered(t, c, s, ch);
	else
		ack_any(t, c, s);
}
