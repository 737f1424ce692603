/*
 * Received data. Data in order goes to the application at once, in its buffer. Data out of order
 * waits in ranges (ranges.c) until the gap before it is filled.
 *
 *     rcv_nxt   next byte in order        rcv_adv   right edge of the window that was offered
 *
 * rcv_buf bounds the bytes the application has not consumed (rcv_held) plus the window.
 */
#include "net/tcp/inside.h"

#define LOCAL_US 1500          /* RTT limit of a nearby peer: delay by vectors, sleep and wake-up */
#define LOCAL_BYTES (1u << 20) /* nearly three vectors of full segments */
#define LOCAL_WINDOWS 4

void tcp_note_duplicate(struct tcp *t, struct tcp_conn *c, uint32_t start, uint32_t end)
{
	tcp_count_event(t, CNT_tcp_duplicates);
	c->dsack = (struct tcp_sack){start, end};
	c->flags |= CONN_DSACK | CONN_ACK_NOW;
}

/*
 * May data in order be delivered? An application may keep the buffers it gets; an echo keeps them
 * until they are acknowledged. All windows together offer more buffers than exist. Without any
 * buffer nothing could be received, not even the ACKs that release buffers. The last buffers are
 * therefore only used for reception, and their data is dropped; the peer retransmits it.
 *
 * Buffers of packets of this vector that have not been processed yet (tcp.coming) count as free.
 * Otherwise the first packet of a long vector would be dropped although the packets behind it return
 * their buffers, and dropped again each time the peer retransmits the whole vector.
 */
static bool may_deliver(const struct tcp *t)
{
	return likely(t->pool->free + t->coming >= t->p.pool_reserve / 4);
}

/* --- delivery --- */

static void deliver(struct tcp_conn *c, struct pkt *p)
{
	c->rcv_nxt += p->len;
	c->rcv_held += p->len;
	c->flags |= CONN_ACK_DUE;
	c->app->data(c, p);
}

/* Delivers ranges that have become in order. */
static void deliver_ranges(struct tcp *t, struct tcp_conn *c)
{
	struct pkt p;
	uint32_t seq;
	while (tcp_ranges_take(t, c, &p, &seq)) {
		uint32_t old = c->rcv_nxt - seq;
		c->flags |= CONN_ACK_NOW; /* RFC 5681 4.2: a gap is filled, completely or in part */
		if (old >= p.len) {
			buf_free(t->pool, p.buf);
			continue;
		}
		p.data += old;
		p.len = (uint16_t)(p.len - old);
		deliver(c, &p);
	}
}

/* Handles the peer's FIN after all data before it (RFC 9293 3.10.7.4, eighth). */
static void fin_arrived(struct tcp *t, struct tcp_conn *c)
{
	c->rcv_nxt++;
	/* FIN needs no buffer: behind data that fills the window it is accepted, and the edge
	 * follows. */
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

/* Trims bytes that are old or beyond the window (RFC 9293 3.10.7.4, "trimmed"). */
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
	/* RFC 6093 3.1: the pointer gives the end of the urgent data; SEG.UP counts from
	 * SEG.SEQ. */
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

/* A packet merged by receive offload holds several segments. If its whole length counted as one
 * segment, each would wait for the delayed ACK timer, and window updates would need room for two
 * such packets. */
static uint16_t segment_at_most(const struct tcp *t, const struct tcp_conn *c, uint32_t len)
{
	uint32_t options = c->flags & CONN_TS ? TCP_TS_BYTES : 0;
	return (uint16_t)u32_min(len, t->p.mtu - c->ip_hlen - TCP_HLEN - options);
}

/* Delivers the payload of s, 1 byte or more and the next in order; *taken as in tcp_receive. */
static void deliver_segment(struct tcp_conn *c, const struct tcp_segment *s, struct pkt *p, bool *taken)
{
	p->data = s->data;
	p->len = (uint16_t)s->len;
	p->flags = 0;
	*taken = true;
	deliver(c, p);
}

static void note_size(const struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	if (s->len > c->rcv_mss)
		c->rcv_mss = segment_at_most(t, c, s->len);
}

static void note_rtt(const struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s)
{
	if (c->flags & CONN_TS && s->tsecr)
		c->tune_rtt_ms = u32_min(c->tune_rtt_ms, tcp_ts_now(t, c) - s->tsecr);
}

enum counter tcp_receive_next(struct tcp *t, struct tcp_conn *c, const struct tcp_segment *s,
                              struct pkt *p, bool *taken)
{
	note_size(t, c, s);
	if (!may_deliver(t))
		return CNT_drop_tcp_buffers;
	note_rtt(t, c, s);
	deliver_segment(c, s, p, taken);
	return CNT_delivered_tcp;
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
	note_size(t, c, s);
	trim(t, c, s);
	if (s->len && s->seq == c->rcv_nxt && !may_deliver(t))
		return CNT_drop_tcp_buffers;
	if (s->flags & TCP_FIN) {
		c->rcv_fin = s->seq + s->len;
		c->flags |= CONN_FIN_SEEN | CONN_ACK_NOW; /* even out of order (RFC 5681 4.2) */
	}
	note_rtt(t, c, s);
	enum counter fate = CNT_delivered_tcp;
	if (s->len && s->seq == c->rcv_nxt) {
		deliver_segment(c, s, p, taken);
	} else if (s->len) {
		/* RFC 5681 4.2: ACK at once, so that the sender sees the gap */
		c->flags |= CONN_ACK_NOW;
		tcp_count_event(t, CNT_tcp_out_of_order);
		enum tcp_kept kept = tcp_ranges_keep(t, c, p, s);
		*taken = kept == KEPT_BUFFER;
		if (kept == KEPT_NO_ROOM)
			fate = CNT_drop_tcp_reassembly;
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
 * The minimum round trip, us; 0: unknown. A side that only receives has measured only the
 * handshake, which may include the peer's wake-up. The timestamps echoed with data are therefore
 * used as well.
 */
static uint32_t least_rtt(const struct tcp_conn *c)
{
	uint32_t by_ts = (u32_min(c->tune_rtt_ms, UINT32_MAX / 1000 - 1) + 1) * 1000;
	return u32_min(c->min_rtt_us, by_ts);
}

/*
 * Doubles rcv_buf when that many bytes were consumed within two round trips: rcv_buf, not the path,
 * may then limit the sender, or soon will. The minimum round trip is used, because delay by our own
 * windows in queues does not call for larger ones. The window thus grows only if the peer fills it
 * and the application keeps up, and not for an idle connection or an echo whose peer does not read.
 *
 * For a nearby peer, batching determines the round trip. With a window below one vector of segments
 * (256 of 1448 bytes), sender and receiver work in turn instead of in parallel. rcv_buf therefore
 * grows up to LOCAL_BYTES, but only at 1.4 Gbit/s or more. Otherwise many connections on one core
 * would each offer what one of them needs, and exceed the cache. The rate is the mean over several
 * windows.
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
	/* with half of the buffers in use, the windows are large enough */
	if (took <= limit && c->rcv_buf < most && t->pool->free >= t->pool->count / 2)
		c->rcv_buf = u32_min(2 * c->rcv_buf, most);
	c->tune_us = now;
	c->tune_seq = c->rcv_nxt - c->rcv_held + windows * c->rcv_buf;
}

bool tcp_window_worth_telling(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t offered = c->rcv_adv - c->rcv_nxt, gain = tcp_window_space(t, c) - offered;
	if (gain == 0 || gain < u32_min(c->rcv_buf / 2, c->rcv_mss))
		return false;
	/* While the peer has enough window, the next ACK carries the update. */
	return offered < 2u * c->rcv_mss || gain >= c->rcv_buf / 4;
}
