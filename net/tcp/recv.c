/*
 * Received data. In order it goes to the application at once, in its buffer; out of order it waits
 * in ranges (struct tcp_piece) until what is before it has come.
 *
 *     rcv_nxt   next byte in order        rcv_adv   right edge of the window that was offered
 *
 * What the application has not consumed (rcv_held) and what it may still be sent make up rcv_buf.
 * Bytes are trusted where they came first: of an overlap what is here already stays.
 */
#include "net/tcp/inside.h"

#define PIECE_BYTES_MIN 256 /* out-of-order buffers of a connection: one for so much of rcv_buf */
#define PIECES_MIN 16
#define LOCAL_US 1500          /* vectors, sleep and wake-up delay a peer who is near by so much */
#define LOCAL_BYTES (1u << 20) /* nearly three vectors of full segments */
#define LOCAL_WINDOWS 4

/* --- ranges --- */

static struct pkt piece_pkt(const struct tcp *t, uint32_t buf)
{
	const struct tcp_piece *p = piece_at(t, buf);
	return (struct pkt){buf_base(t->pool, buf) + p->off, buf, p->len, 0, 0};
}

static void free_pieces(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	while (buf != TCP_NONE) {
		uint32_t next = piece_at(t, buf)->next;
		buf_free(t->pool, buf);
		c->ooo_bufs--;
		t->ooo_bufs--;
		buf = next;
	}
}

void tcp_ranges_free(struct tcp *t, struct tcp_conn *c)
{
	while (c->ooo != TCP_NONE) {
		uint32_t range = c->ooo;
		c->ooo = piece_at(t, range)->range_next;
		free_pieces(t, c, range);
	}
}

void tcp_note_duplicate(struct tcp *t, struct tcp_conn *c, uint32_t start, uint32_t end)
{
	tcp_count_event(t, CNT_tcp_duplicates);
	c->dsack = (struct tcp_sack){start, end};
	c->flags |= CONN_DSACK | CONN_ACK_NOW;
}

/*
 * May the application have data in order? Each may keep what it gets (an echo does, until it is
 * acknowledged), within windows that together offer more buffers than there are. With the last of
 * them gone nothing could come in, not even the acknowledgements that give them back: so the last
 * ones are only lent, to segments whose data is dropped. The peer sends it again.
 */
static bool may_deliver(const struct tcp *t)
{
	return likely(t->pool->free >= t->p.pool_reserve / 4);
}

static bool may_keep(const struct tcp *t, const struct tcp_conn *c)
{
	return t->ooo_bufs < t->p.reassembly_bufs && t->pool->free > t->p.pool_reserve / 2 &&
	       c->ooo_bufs < c->rcv_buf / PIECE_BYTES_MIN + PIECES_MIN;
}

/*
 * Keeps the `len` bytes at `data` in p, sequence numbers [seq, seq + len), beyond rcv_nxt. True
 * when the buffer has passed; false when the bytes were all here.
 */
static bool keep(struct tcp *t, struct tcp_conn *c, const struct pkt *p, const uint8_t *data,
                 uint32_t seq, uint32_t len)
{
	uint32_t end = seq + len, prev = TCP_NONE, next = c->ooo, into = TCP_NONE;
	while (next != TCP_NONE && seq_lt(piece_at(t, next)->range_end, seq)) {
		prev = next;
		next = piece_at(t, next)->range_next;
	}
	if (next != TCP_NONE && seq_le(piece_at(t, next)->seq, seq)) {
		/* begins in this range, or right behind it */
		struct tcp_piece *r = piece_at(t, next);
		if (seq_le(end, r->range_end)) {
			tcp_note_duplicate(t, c, seq, end);
			r->range_age = ++c->ooo_age;
			return false;
		}
		if (seq_lt(seq, r->range_end))
			tcp_note_duplicate(t, c, seq, r->range_end);
		data += r->range_end - seq;
		seq = r->range_end;
		into = next;
		next = r->range_next;
	}
	while (next != TCP_NONE && seq_lt(piece_at(t, next)->seq, end)) {
		struct tcp_piece *n = piece_at(t, next);
		if (seq_gt(n->range_end, end)) {
			tcp_note_duplicate(t, c, n->seq, end);
			end = n->seq;
			break;
		}
		/* The new bytes cover a whole range: they take its place. */
		uint32_t gone = next;
		tcp_note_duplicate(t, c, n->seq, n->range_end);
		next = n->range_next;
		free_pieces(t, c, gone);
	}

	struct tcp_piece *piece = piece_at(t, p->buf);
	*piece = (struct tcp_piece){.next = TCP_NONE,
	                            .seq = seq,
	                            .off = (uint16_t)(data - buf_base(t->pool, p->buf)),
	                            .len = (uint16_t)(end - seq),
	                            .range_next = next,
	                            .range_last = p->buf,
	                            .range_end = end};
	c->ooo_bufs++;
	t->ooo_bufs++;
	struct tcp_piece *range = piece;
	if (into != TCP_NONE) {
		range = piece_at(t, into);
		piece_at(t, range->range_last)->next = p->buf;
		range->range_last = p->buf;
		range->range_end = end;
		range->range_next = next;
	} else if (prev != TCP_NONE) {
		piece_at(t, prev)->range_next = p->buf;
	} else {
		c->ooo = p->buf;
	}
	if (next != TCP_NONE && piece_at(t, next)->seq == end) { /* the gap to the next is closed */
		const struct tcp_piece *n = piece_at(t, next);
		piece_at(t, range->range_last)->next = next;
		range->range_last = n->range_last;
		range->range_end = n->range_end;
		range->range_next = n->range_next;
	}
	range->range_age = ++c->ooo_age;
	return true;
}

/* --- delivery --- */

static void deliver(struct tcp *t, struct tcp_conn *c, struct pkt *p)
{
	(void)t;
	c->rcv_nxt += p->len;
	c->rcv_held += p->len;
	c->flags |= CONN_ACK_DUE;
	c->app->data(c, p);
}

/* Ranges that begin at rcv_nxt are in order now. */
static void deliver_ranges(struct tcp *t, struct tcp_conn *c)
{
	while (c->ooo != TCP_NONE && seq_le(piece_at(t, c->ooo)->seq, c->rcv_nxt)) {
		uint32_t buf = c->ooo;
		struct tcp_piece *r = piece_at(t, buf);
		struct pkt p = piece_pkt(t, buf);
		uint32_t old = c->rcv_nxt - r->seq;
		/* the rest of the range gets a new first piece */
		if (r->next != TCP_NONE) {
			struct tcp_piece *first = piece_at(t, r->next);
			first->range_next = r->range_next;
			first->range_last = r->range_last;
			first->range_end = r->range_end;
			first->range_age = r->range_age;
			c->ooo = r->next;
		} else {
			c->ooo = r->range_next;
		}
		c->ooo_bufs--;
		t->ooo_bufs--;
		c->flags |= CONN_ACK_NOW; /* RFC 5681 4.2: a hole is filled, whole or in part */
		if (old >= p.len) {
			buf_free(t->pool, buf);
			continue;
		}
		p.data += old;
		p.len = (uint16_t)(p.len - old);
		deliver(t, c, &p);
	}
}

/* All data before it has come: the peer's FIN (RFC 9293 3.10.7.4, eighth). */
static void fin_arrived(struct tcp *t, struct tcp_conn *c)
{
	c->rcv_nxt++;
	/* FIN takes no room: behind data that fills the window it is accepted, and the edge follows. */
	if (seq_gt(c->rcv_nxt, c->rcv_adv))
		c->rcv_adv = c->rcv_nxt;
	c->flags |= CONN_FIN_RCVD | CONN_ACK_NOW;
	switch (c->state) {
	case TCP_ESTABLISHED:
		tcp_set_state(t, c, TCP_CLOSE_WAIT);
		break;
	case TCP_FIN_WAIT_1:
		tcp_set_state(t, c, TCP_CLOSING);
		break;
	default:
		break;
	}
	if (c->app->fin)
		c->app->fin(c);
	if (c->state == TCP_FIN_WAIT_2)
		tcp_time_wait(t, c);
}

/* Cuts off what is old or beyond the window (RFC 9293 3.10.7.4, "trimmed"). */
static void trim(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s)
{
	if (seq_lt(s->seq, c->rcv_nxt)) {
		uint32_t old = u32_min(c->rcv_nxt - s->seq, s->len);
		if (old)
			tcp_note_duplicate(t, c, s->seq, s->seq + old);
		s->data += old;
		s->len -= old;
		s->seq = c->rcv_nxt;
	}
	uint32_t room = c->rcv_adv - s->seq;
	if ((int32_t)room < 0)
		room = 0;
	if (s->len > room) {
		s->len = room;
		s->flags &= (uint8_t)~TCP_FIN;
		c->flags |= CONN_ACK_NOW;
	}
}

static void urgent(struct tcp_conn *c, const struct tcp_segment *s)
{
	/* RFC 6093 3.1: the pointer points behind the urgent data; SEG.UP counts from SEG.SEQ. */
	uint32_t up = s->seq + s->up;
	if (c->flags & CONN_FIN_RCVD || !seq_gt(up, c->rcv_nxt) ||
	    (c->flags & CONN_URG_RCV && !seq_gt(up, c->rcv_up)))
		return;
	c->rcv_up = up;
	c->flags |= CONN_URG_RCV;
	if (c->app->urgent)
		c->app->urgent(c);
}

static bool receives(const struct tcp_conn *c)
{
	return (c->state == TCP_ESTABLISHED || c->state == TCP_FIN_WAIT_1 ||
	        c->state == TCP_FIN_WAIT_2 || c->state == TCP_SYN_RECEIVED) &&
	       !(c->flags & CONN_FIN_RCVD);
}

/* What a card has put together (receive offload) are several segments: counted as one, each would
 * wait for the timer of the delayed ACK, and the window be told when two more of them fit. */
static uint16_t segment_at_most(const struct tcp *t, const struct tcp_conn *c, uint32_t len)
{
	uint32_t options = c->flags & CONN_TS ? TCP_TS_BYTES : 0;
	return (uint16_t)u32_min(len, t->p.mtu - c->ip_hlen - TCP_HLEN - options);
}

enum counter tcp_receive(struct tcp *t, struct tcp_conn *c, struct tcp_segment *s, struct pkt *p,
                         bool *taken)
{
	if (unlikely(s->flags & TCP_URG))
		urgent(c, s);
	if (s->len == 0 && !(s->flags & TCP_FIN))
		return CNT_delivered_tcp;
	if (!receives(c)) {
		if (c->state != TCP_CLOSED)
			c->flags |= CONN_ACK_NOW;
		return s->len ? CNT_drop_tcp_closed : CNT_delivered_tcp;
	}
	if (s->len > c->rcv_mss)
		c->rcv_mss = segment_at_most(t, c, s->len);
	trim(t, c, s);
	if (s->len && s->seq == c->rcv_nxt && !may_deliver(t))
		return CNT_drop_tcp_buffers;
	if (s->flags & TCP_FIN) {
		c->rcv_fin = s->seq + s->len;
		c->flags |= CONN_FIN_SEEN | CONN_ACK_NOW; /* out of order, too (RFC 5681 4.2) */
	}
	if (c->flags & CONN_TS && s->tsecr)
		c->tune_rtt_ms = u32_min(c->tune_rtt_ms, tcp_ts_now(t, c) - s->tsecr);
	enum counter fate = CNT_delivered_tcp;
	if (s->len && s->seq == c->rcv_nxt) {
		p->data = s->data;
		p->len = (uint16_t)s->len;
		p->flags = 0;
		*taken = true;
		deliver(t, c, p);
	} else if (s->len) {
		/* RFC 5681 4.2: at once, so that the sender sees the gap */
		c->flags |= CONN_ACK_NOW;
		tcp_count_event(t, CNT_tcp_out_of_order);
		if (!may_keep(t, c))
			fate = CNT_drop_tcp_reassembly;
		else
			*taken = keep(t, c, p, s->data, s->seq, s->len);
	}
	if (unlikely(c->ooo != TCP_NONE) && c->state != TCP_CLOSED)
		deliver_ranges(t, c);
	if (c->flags & CONN_URG_RCV && seq_ge(c->rcv_nxt, c->rcv_up))
		c->flags &= ~(uint32_t)CONN_URG_RCV;
	if (unlikely(c->flags & CONN_FIN_SEEN) && c->rcv_nxt == c->rcv_fin && receives(c))
		fin_arrived(t, c);
	return fate;
}

/* --- the window --- */

/*
 * The least round trip, us; 0: nothing is known. One that only receives has measured that of the
 * handshake alone, which may have had to wake the peer: so the timestamps that data echoes are
 * looked at too.
 */
static uint32_t least_rtt(const struct tcp_conn *c)
{
	uint32_t by_ts = (u32_min(c->tune_rtt_ms, UINT32_MAX / 1000 - 1) + 1) * 1000;
	return u32_min(c->min_rtt_us, by_ts);
}

/*
 * rcv_buf doubles when as much was consumed within two round trips: then it, and not the path, may
 * be what limits the sender, or soon will. The least round trip counts: one that is longer because
 * our own windows stand in queues asks for no larger windows. So a window is promised to who fills
 * it and to an application that keeps up, not to the idle, nor to an echo whose peer does not read.
 *
 * Near by, the round trip is what the batches make it. With a window of less than a vector of
 * segments (256 of 1448 bytes) sender and receiver work in turn instead of both at once. So up to
 * LOCAL_BYTES it grows for 1.4 Gbit/s and more; not for less, or many connections that share a core
 * would each promise, and keep out of the cache, what one of them needs. The mean of some windows
 * tells which it is.
 */
void tcp_tune(struct tcp *t, struct tcp_conn *c)
{
	uint32_t now = (uint32_t)t->now_us, took = now - c->tune_us, rtt = least_rtt(c);
	uint32_t most = tcp_rcv_buf_most(&t->p), windows = 1, limit = 2 * u32_min(rtt, 1u << 30);
	if (rtt <= LOCAL_US) {
		most = u32_min(most, LOCAL_BYTES);
		windows = LOCAL_WINDOWS;
		limit = LOCAL_WINDOWS * LOCAL_US;
	}
	/* with half of the buffers in use, what was promised is enough */
	if (took <= limit && c->rcv_buf < most && t->pool->free >= t->pool->count / 2)
		c->rcv_buf = u32_min(2 * c->rcv_buf, most);
	c->tune_us = now;
	c->tune_seq = c->rcv_nxt - c->rcv_held + windows * c->rcv_buf;
}

static uint32_t space(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t offered = c->rcv_adv - c->rcv_nxt;
	uint32_t room = c->rcv_held < c->rcv_buf ? c->rcv_buf - c->rcv_held : 0;
	room = u32_min(room, 0xffffu << (c->flags & CONN_WSCALE ? c->rcv_wscale : 0));
	/* Short of buffers: a little for everybody, so that those who hold them stop nobody else; when
	 * they are really few, keep the promise, make no new one. */
	if (unlikely(t->pool->free < t->p.pool_reserve)) {
		uint32_t least = t->pool->free > t->p.pool_reserve / 2 ? 4u * c->rcv_mss : 0;
		room = u32_min(room, u32_max(offered, least));
	}
	return u32_max(room, offered);
}

uint32_t tcp_window(struct tcp *t, struct tcp_conn *c)
{
	uint32_t offered = c->rcv_adv - c->rcv_nxt, room = space(t, c);
	uint8_t shift = c->flags & CONN_WSCALE ? c->rcv_wscale : 0;
	/* Silly window avoidance (RFC 9293 3.8.6.2.2): the edge moves by a segment or half of all. */
	if (room - offered < u32_min(c->rcv_buf / 2, c->rcv_mss))
		room = offered;
	/* Rounded down, which may take back less than one unit (RFC 7323 2.4 has senders know that);
	 * what was offered is still accepted. */
	uint32_t field = u32_min(room >> shift, 0xffff);
	uint32_t edge = c->rcv_nxt + (field << shift);
	if (seq_gt(edge, c->rcv_adv))
		c->rcv_adv = edge;
	return field;
}

bool tcp_window_worth_telling(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t offered = c->rcv_adv - c->rcv_nxt, gain = space(t, c) - offered;
	if (gain == 0 || gain < u32_min(c->rcv_buf / 2, c->rcv_mss))
		return false;
	/* While the peer has enough, the next acknowledgement tells. */
	return offered < 2u * c->rcv_mss || gain >= c->rcv_buf / 4;
}

unsigned tcp_sack_blocks(struct tcp *t, struct tcp_conn *c, struct tcp_sack *out, unsigned max)
{
	unsigned n = 0;
	uint32_t below = UINT32_MAX; /* ages taken so far are this and more */
	if (c->flags & CONN_DSACK && max) {
		out[n++] = c->dsack;
		c->flags &= ~(uint32_t)CONN_DSACK;
	}
	while (n < max) {
		const struct tcp_piece *newest = NULL;
		for (uint32_t r = c->ooo; r != TCP_NONE; r = piece_at(t, r)->range_next) {
			const struct tcp_piece *p = piece_at(t, r);
			if (p->range_age < below && (!newest || p->range_age > newest->range_age))
				newest = p;
		}
		if (!newest)
			break;
		below = newest->range_age;
		out[n++] = (struct tcp_sack){newest->seq, newest->range_end};
	}
	return n;
}
