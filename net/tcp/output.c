/*
 * Decides what to send now, and builds segments.
 *
 * A chunk is sent from its own buffer: the header is written in front of the payload, and the
 * device then holds the buffer as well as the queue (pkt_meta.refs). This needs room for the
 * header, and the device must have released the buffer after an earlier transmission. Otherwise, and
 * if the payload lies outside the pool (buf_set_outside), a short payload is copied, and a long one
 * becomes a fragment behind a separate header (PKT_CHAIN). A run of full chunks becomes one
 * PKT_TSO frame if the port can segment it.
 *
 * tcp_output sends in this order: lost chunks, new data, and an ACK if none of these carried it. The one
 * chunk of a connection with nothing outstanding takes a shorter path (send_answer), and so does nearly
 * every segment with data (send_plain): 305 instructions for both, with checksum offload (gcc 12).
 */
#include "net/eth.h"
#include "net/tcp/inside.h"

#define TSO_BYTES_MAX 64000 /* payload; with its headers below 65536 */
#define RETRY_MS 10         /* delay after a buffer shortage */

/* --- segments --- */

/* A segment under construction: its payload is in place, headers go in front of it. */
struct making {
	struct pkt p;      /* data: where the payload begins or would begin */
	uint32_t payload;  /* payload bytes, in this buffer or in fragments */
	uint32_t seq;
	uint8_t flags;     /* enum tcp_flag */
	uint8_t ecn;       /* enum ip_ecn */
	unsigned options_len;
	uint8_t options[TCP_HLEN_MAX - TCP_HLEN];
};

static unsigned header_bytes(const struct tcp_conn *c, const struct making *m)
{
	return ETH_HLEN + c->ip_hlen + TCP_HLEN + m->options_len;
}

/* Writes timestamps, and as many SACK blocks as fit beside the payload. False: no block could be
 * written although some are due. */
static bool put_options(struct tcp *t, struct tcp_conn *c, struct making *m)
{
	m->options_len = 0;
	if (c->flags & CONN_TS)
		m->options_len = tcp_put_ts(m->options, tcp_ts_now(t, c), c->ts_recent);
	if (likely(c->ooo == TCP_NONE && !(c->flags & CONN_DSACK)) || !(c->flags & CONN_SACK))
		return true;
	struct tcp_sack blocks[TCP_SACK_MAX];
	unsigned max = c->flags & CONN_TS ? 3 : 4; /* maximum in 40 bytes of options */
	if (m->payload) {
		uint32_t room = m->payload < tcp_full(c) ? tcp_full(c) - m->payload : 0;
		max = room < 12 ? 0 : u32_min(max, (room - 4) / 8);
	}
	unsigned n = max ? tcp_sack_blocks(t, c, blocks, max) : 0;
	if (n)
		m->options_len += tcp_put_sack(m->options + m->options_len, blocks, n);
	return n > 0;
}

/* An ACK is being sent: nothing is left to acknowledge. */
static void acknowledged(struct tcp_conn *c)
{
	c->flags &= ~(uint32_t)(CONN_ACK_NOW | CONN_ACK_DUE | CONN_WND_UPDATE);
	c->acked_to = c->rcv_nxt;
	tcp_timer_clear(c, TIMER_ACK);
}

/* Checksum of the payload, which lies at p->data or, in a chain, in its fragment: without TSO it has one. */
static uint32_t payload_sum(const struct tcp *t, const struct pkt *p, uint32_t payload)
{
	if (!(p->flags & PKT_CHAIN))
		return csum_partial(p->data, payload, 0);
	const struct pkt_frag *f = pkt_frags(t->pool, p->buf);
	return csum_partial(buf_at(t->pool, f->buf, f->offset), f->len, 0);
}

/* Completes p, whose TCP header, checksum 0, lies at `tcp` and has `payload` bytes behind it, with the
 * checksum and the IP header, and sends it. header_sum: of the TCP header; not read if the device completes
 * checksums. */
static inline __attribute__((always_inline)) void
seal(struct tcp *t, const struct tcp_conn *c, struct pkt *p, struct pkt_meta *meta, uint8_t *tcp,
     unsigned tcp_len, uint32_t header_sum, uint32_t payload, uint8_t ecn)
{
	const unsigned l4_len = tcp_len + payload, ip_len = c->ip_hlen, head = ETH_HLEN + ip_len + tcp_len;
	uint32_t sum = ip_pseudo_len(c->pseudo, l4_len);
	p->flags |= PKT_OWN;
	if (t->p.offload & TCP_TX_CSUM) {
		raw16_store(tcp + 16, (uint16_t)~csum_fold(sum));
		meta->csum_start = (uint16_t)(ETH_HLEN + ip_len);
		meta->csum_offset = 16;
		p->flags |= PKT_CSUM_PARTIAL;
	} else {
		sum = csum_add(csum_add(sum, header_sum), payload_sum(t, p, payload));
		raw16_store(tcp + 16, csum_fold(sum));
	}
	ip_header_put(tcp, l4_len, ip_len, &c->local, &c->remote, IP_PROTO_TCP, ecn);
	p->data = tcp - ip_len - ETH_HLEN;
	p->len = (uint16_t)(p->flags & PKT_CHAIN ? head : head + payload);
	meta->hdr_bytes = (uint16_t)head;
	tcp_count_event(t, CNT_tcp_tx);
	t->ops->tx(t->ctx, p);
}

/* Writes the headers and sends the segment. */
static void finish(struct tcp *t, struct tcp_conn *c, struct making *m)
{
	unsigned tcp_len = TCP_HLEN + m->options_len;
	uint8_t *tcp = m->p.data - tcp_len;
	uint16_t up = 0;
	if (unlikely(c->flags & CONN_URG_SND) && seq_gt(c->snd_up, m->seq) &&
	    !(m->flags & TCP_SYN)) {
		/* RFC 9293 3.8.5: end of urgent data; beyond 16 bits it is reported later */
		m->flags |= TCP_URG;
		up = (uint16_t)u32_min(c->snd_up - m->seq, 0xffff);
	}
	if (c->flags & CONN_ECE)
		m->flags |= TCP_ECE;
	tcp_header_put(tcp, c->local_port, c->remote_port, m->seq, c->rcv_nxt, tcp_len, m->flags,
	               (uint16_t)tcp_window(t, c), up);
	memcpy(tcp + TCP_HLEN, m->options, m->options_len);
	const uint32_t sum = t->p.offload & TCP_TX_CSUM ? 0 : csum_partial(tcp, tcp_len, 0);
	seal(t, c, &m->p, pkt_meta(t->pool, m->p.buf), tcp, tcp_len, sum, m->payload, m->ecn);
}

/* The same for data, which carries an ACK. told: result of put_options; if false, a separate ACK
 * follows, which has room for the SACK blocks. */
static void finish_data(struct tcp *t, struct tcp_conn *c, struct making *m, bool told)
{
	uint32_t ack_now = c->flags & CONN_ACK_NOW;
	acknowledged(c);
	if (!told)
		c->flags |= ack_now;
	finish(t, c, m);
}

/* Allocates a buffer for headers and for `copied` bytes of payload. */
static bool fresh_buffer(struct tcp *t, const struct tcp_conn *c, struct making *m, uint32_t copied)
{
	unsigned at = TCP_PAYLOAD_OFFSET;
	if (!pkt_alloc(t->pool, &m->p)) {
		tcp_count_event(t, CNT_tcp_no_buffer);
		return false;
	}
	if (at + copied > t->pool->stride)
		at = t->pool->stride - copied;
	assert(at >= BUF_FRAME_LEAST + header_bytes(c, m));
	m->p.data = buf_base(t->pool, m->p.buf) + at;
	return true;
}

void tcp_send_empty(struct tcp *t, struct tcp_conn *c, uint8_t flags, uint32_t seq)
{
	struct making m = {.seq = seq, .flags = flags};
	put_options(t, c, &m);
	if (!fresh_buffer(t, c, &m, 0))
		return;
	acknowledged(c);
	finish(t, c, &m);
}

void tcp_send_reset(struct tcp *t, struct tcp_conn *c)
{
	tcp_count_event(t, CNT_tcp_tx_rst);
	tcp_send_empty(t, c, TCP_RST | TCP_ACK, c->snd_nxt);
}

void tcp_send_syn(struct tcp *t, struct tcp_conn *c)
{
	bool passive = c->state == TCP_SYN_RECEIVED;
	struct making m = {.seq = c->iss, .flags = passive ? TCP_SYN | TCP_ACK : TCP_SYN};
	m.options_len = tcp_syn_options(t, c, m.options);
	/* A retransmitted SYN does not ask for ECN (6.1.1.1). A SYN-ACK is the same each time:
	 * which copy arrives is unknown, and both ends must agree. */
	if (c->flags & CONN_ECN && (passive || !(c->flags & CONN_NO_ECN_RETRY)))
		m.flags |= passive ? TCP_ECE : TCP_ECE | TCP_CWR; /* RFC 3168 6.1.1 */
	/* RFC 7413 4.2.1: the SYN carries the first chunk; a retransmitted SYN does not. */
	const struct tcp_chunk *ch = NULL;
	if (!passive && c->flags & CONN_SYN_DATA && c->backoff == 0)
		ch = chunk_at(t, c->q_first);
	m.payload = ch ? ch->len : 0;
	if (!fresh_buffer(t, c, &m, m.payload))
		return;
	if (ch) {
		memcpy(m.p.data, chunk_payload(t, c->q_first), ch->len);
		m.flags |= TCP_PSH;
	}
	/* The window of a SYN is never scaled (RFC 7323 2.2), but tcp_window scales it under
	 * CONN_WSCALE. */
	uint32_t agreed = c->flags & CONN_WSCALE;
	c->flags &= ~(uint32_t)CONN_WSCALE;
	if (passive)
		acknowledged(c);
	finish(t, c, &m);
	c->flags |= agreed;
	c->sent_ms = t->now_ms;
	if (!c->syn_us)
		c->syn_us = t->now_us;
}

/* --- chunks --- */

/* Provides the payload of one chunk: in its own buffer, copied, or as a fragment. */
static bool place_payload(struct tcp *t, struct tcp_conn *c, struct making *m, uint32_t buf)
{
	const struct tcp_chunk *ch = chunk_at(t, buf);
	if (pkt_meta(t->pool, buf)->refs == 1 && ch->off >= BUF_FRAME_LEAST + header_bytes(c, m)) {
		m->p = (struct pkt){buf_base(t->pool, buf) + ch->off, buf, 0, PKT_SHARED, 0};
		buf_hold(t->pool, buf);
		return true;
	}
	bool copy = ch->len <= TCP_COPY_MAX || !(t->p.offload & TCP_TX_SG);
	if (!fresh_buffer(t, c, m, copy ? ch->len : 0))
		return false;
	if (copy) {
		memcpy(m->p.data, chunk_payload(t, buf), ch->len);
		return true;
	}
	struct pkt_meta *meta = pkt_meta(t->pool, m->p.buf);
	*pkt_frags(t->pool, m->p.buf) = (struct pkt_frag){buf, ch->off, ch->len};
	meta->frags = 1;
	meta->frag_bytes = ch->len;
	m->p.flags = PKT_CHAIN;
	buf_hold(t->pool, buf);
	return true;
}

/* Records when a chunk is sent. */
static inline void note_time(const struct tcp *t, struct tcp_conn *c, struct tcp_chunk *ch)
{
	ch->sent_us[0] = (uint32_t)t->now_us;
	ch->sent_us[1] = (uint32_t)(t->now_us >> 32);
	ch->order = c->sendings++;
}

/* Records that a chunk is sent for the first time. */
static inline void note_first(struct tcp *t, struct tcp_conn *c, uint32_t buf, struct tcp_chunk *ch)
{
	ch->flags |= CHUNK_SENT;
	c->q_unsent = ch->next;
	c->snd_nxt = ch->ends;
	if (seq_gt(c->snd_nxt, c->snd_max))
		c->snd_max = c->snd_nxt;
	c->sent_ms = t->now_ms;
	if (unlikely(c->flags & CONN_BOARD))
		tcp_board_sent(t, c, buf);
	note_time(t, c, ch);
}

/* Records that a chunk is sent, for the first time or again. */
static void note_sent(struct tcp *t, struct tcp_conn *c, uint32_t buf, struct tcp_chunk *ch)
{
	if (!(ch->flags & CHUNK_SENT)) {
		note_first(t, c, buf, ch);
		return;
	}
	tcp_board_sent_again(t, c, buf);
	ch->flags |= CHUNK_EVER;
	c->retransmits++;
	tcp_count_event(t, CNT_tcp_retransmits);
	note_time(t, c, ch);
}

/* The flags of a chunk's segment but CWR. */
static inline uint8_t plain_flags(const struct tcp_chunk *ch)
{
	uint8_t flags = TCP_ACK;
	if (unlikely(ch->flags & CHUNK_FIN))
		flags |= TCP_FIN;
	if (ch->flags & CHUNK_PSH || ch->next == TCP_NONE)
		flags |= ch->len ? TCP_PSH : 0;
	return flags;
}

static uint8_t flags_of(struct tcp_conn *c, const struct tcp_chunk *ch, bool fresh)
{
	uint8_t flags = plain_flags(ch);
	if (fresh && ch->len && c->flags & CONN_CWR && c->flags & CONN_ECN) {
		flags |= TCP_CWR; /* RFC 3168 6.1.2: on the first new data after the reduction */
		c->flags &= ~(uint32_t)CONN_CWR;
	}
	return flags;
}

/* Writes the header of a segment without other options than timestamps, with checksum 0. Only in words of 32
 * bits: see header_sum. */
static inline __attribute__((always_inline)) void
put_header(struct tcp *t, struct tcp_conn *c, uint8_t *tcp, unsigned tcp_len, uint32_t seq, uint8_t flags)
{
	be32_store(tcp, (uint32_t)c->local_port << 16 | c->remote_port);
	be32_store(tcp + 4, seq);
	be32_store(tcp + 8, c->rcv_nxt);
	be32_store(tcp + 12, tcp_len << 26 | (uint32_t)flags << 16 | tcp_window(t, c));
	raw32_store(tcp + 16, 0);
	if (likely(tcp_len > TCP_HLEN))
		tcp_put_ts(tcp + TCP_HLEN, tcp_ts_now(t, c), c->ts_recent);
}

/*
 * The sum of such a header. A load of exactly the bytes of an earlier store gets them from that store. Any
 * other waits until the stores have reached their line, which the peer's core may own.
 */
static __attribute__((noinline)) uint32_t header_sum(const uint8_t *tcp, unsigned tcp_len)
{
	uint64_t sum = (uint64_t)raw32_load(tcp) + raw32_load(tcp + 4) + raw32_load(tcp + 8) + raw32_load(tcp + 12);
	if (likely(tcp_len > TCP_HLEN))
		sum += (uint64_t)raw32_load(tcp + 20) + raw32_load(tcp + 24) + raw32_load(tcp + 28);
	return csum_add((uint32_t)sum, (uint32_t)(sum >> 32));
}

/*
 * tcp_send_chunk for a chunk never sent, from its own buffer, of a connection whose segments have no
 * options but timestamps and no flags but ACK, PSH and FIN: nearly every segment. False: it is not that,
 * and nothing has changed.
 */
static inline __attribute__((always_inline)) bool
send_plain(struct tcp *t, struct tcp_conn *c, uint32_t buf, struct tcp_chunk *ch)
{
	const uint32_t rare = CONN_URG_SND | CONN_ECE | CONN_CWR | CONN_DSACK;
	struct pkt_meta *meta = pkt_meta(t->pool, buf);
	const unsigned tcp_len = TCP_HLEN + (c->flags & CONN_TS ? TCP_TS_BYTES : 0u);
	if (c->flags & rare || c->ooo != TCP_NONE || c->path_raise_ms || ch->flags & CHUNK_SENT ||
	    meta->refs != 1 || ch->off < BUF_FRAME_LEAST + ETH_HLEN + c->ip_hlen + tcp_len)
		return false;
	uint8_t *payload = (uint8_t *)meta + ch->off, *tcp = payload - tcp_len;
	struct pkt p = {payload, buf, 0, PKT_SHARED, 0};
	meta->refs = 2;
	if (c->snd_una == c->snd_nxt)
		c->stuck_ms = t->now_ms; /* the user timeout starts here */
	note_first(t, c, buf, ch);
	acknowledged(c);
	put_header(t, c, tcp, tcp_len, ch->seq, plain_flags(ch));
	const uint32_t sum = t->p.offload & TCP_TX_CSUM ? 0 : header_sum(tcp, tcp_len);
	seal(t, c, &p, meta, tcp, tcp_len, sum, ch->len,
	     c->flags & CONN_ECN && ch->len ? IP_ECN_ECT0 : IP_ECN_NOT);
	return true;
}

bool tcp_send_chunk(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	if (likely(send_plain(t, c, buf, ch)))
		return true;
	bool fresh = !(ch->flags & CHUNK_SENT);
	struct making m;
	m.seq = ch->seq;
	m.payload = ch->len;
	bool told = put_options(t, c, &m);
	if (!place_payload(t, c, &m, buf))
		return false;
	m.flags = flags_of(c, ch, fresh);
	/* RFC 3168 6.1.5: no ECT on retransmissions, nor (6.1.4) on segments without data. */
	m.ecn = fresh && ch->len && c->flags & CONN_ECN ? IP_ECN_ECT0 : IP_ECN_NOT;
	if (c->snd_una == c->snd_nxt)
		c->stuck_ms = t->now_ms; /* the user timeout starts here */
	note_sent(t, c, buf, ch);
	finish_data(t, c, &m, told);
	return true;
}

/* Sends `n` chunks from q_unsent on, `bytes` in total, as one frame for the device to segment. */
static bool send_run(struct tcp *t, struct tcp_conn *c, unsigned n, uint32_t bytes)
{
	uint32_t buf = c->q_unsent;
	struct making m = {.seq = chunk_at(t, buf)->seq, .payload = bytes};
	bool told = put_options(t, c, &m);
	if (!fresh_buffer(t, c, &m, 0))
		return false;
	struct pkt_meta *meta = pkt_meta(t->pool, m.p.buf);
	struct pkt_frag *frag = pkt_frags(t->pool, m.p.buf);
	meta->mss = (uint16_t)tcp_full(c);
	meta->frags = (uint8_t)n;
	meta->frag_bytes = (uint16_t)bytes;
	m.p.flags = PKT_CHAIN | PKT_TSO;
	if (c->snd_una == c->snd_nxt)
		c->stuck_ms = t->now_ms;
	for (unsigned i = 0; i < n; i++) {
		struct tcp_chunk *ch = chunk_at(t, buf);
		frag[i] = (struct pkt_frag){buf, ch->off, ch->len};
		buf_hold(t->pool, buf);
		/* PSH belongs on the last segment only; the device ensures that */
		m.flags |= flags_of(c, ch, true);
		note_sent(t, c, buf, ch);
		buf = ch->next;
	}
	m.ecn = c->flags & CONN_ECN ? IP_ECN_ECT0 : IP_ECN_NOT;
	finish_data(t, c, &m, told);
	return true;
}

/* --- what may be sent --- */

/* Checks for room before a further packet. True: the connection has to wait. */
static bool no_more_room(struct tcp *t, struct tcp_conn *c)
{
	if (likely(!tcp_way_full(t, c)))
		return false;
	tcp_touch(t, c); /* tcp_flush visits it again and puts it on the waiting list */
	return true;
}

/* Retransmits lost chunks. False: stopped by cwnd, or for lack of a buffer or of room. */
static bool send_lost(struct tcp *t, struct tcp_conn *c)
{
	bool first = true;
	while (c->lost > c->retrans) {
		uint32_t buf = c->lost_wait.first;
		const struct tcp_chunk *ch = chunk_at(t, buf);
		uint32_t flight = tcp_flight(c);
		/* the MSS may have shrunk since the chunk was sent */
		if (ch->len > tcp_full(c) && !tcp_queue_split(t, c, buf, tcp_full(c)))
			return false;
		uint32_t space = chunk_space(ch);
		if (flight && flight + space > c->cc.cwnd) {
			c->flags |= CONN_LIMITED;
			return false;
		}
		if ((!first && no_more_room(t, c)) || !tcp_send_chunk(t, c, buf))
			return false;
		first = false;
		c->prr_out += space;
		c->undo_retrans++;
	}
	return true;
}

enum verdict { SEND_IT, STOP_NONE, STOP_WINDOW, STOP_CWND, STOP_NAGLE, STOP_BUFFER, STOP_ROOM };

/* May the chunk at q_unsent be sent? Cuts it to the permitted size. */
static enum verdict judge(struct tcp *t, struct tcp_conn *c)
{
	uint32_t buf = c->q_unsent, full = tcp_full(c);
	if (buf == TCP_NONE)
		return STOP_NONE;
	struct tcp_chunk *ch = chunk_at(t, buf);
	if (unlikely(ch->flags & CHUNK_CUT))
		tcp_queue_fill(t, c, buf);
	if (ch->len > full && !tcp_queue_split(t, c, buf, full))
		return STOP_BUFFER;
	/* Sender's silly window avoidance (RFC 9293 3.8.6.2.1): send a full segment, or all queued
	 * data, or at least half of the largest window the peer ever offered. */
	int32_t usable = (int32_t)(c->snd_una + c->snd_wnd - ch->seq);
	if ((int32_t)ch->len > usable) {
		if (usable <= 0 || (uint32_t)usable < c->max_wnd / 2)
			return STOP_WINDOW;
		if (!tcp_queue_split(t, c, buf, (uint32_t)usable))
			return STOP_BUFFER;
	}
	/* Nagle (RFC 9293 3.7.4): a small segment waits while data is unacknowledged. */
	if (c->q_end - ch->seq < full && !(ch->flags & CHUNK_FIN) && !(c->flags & CONN_NODELAY) &&
	    c->snd_una != c->snd_nxt && !(c->flags & CONN_URG_SND))
		return STOP_NAGLE;
	uint32_t flight = tcp_flight(c);
	if (flight && flight + ch->len > c->cc.cwnd)
		return STOP_CWND;
	return SEND_IT;
}

/* May frames of this connection use TSO? */
static bool may_run(const struct tcp *t, const struct tcp_conn *c)
{
	uint32_t tso = c->ip_hlen == IP4_HLEN ? TCP_TX_TSO4 : TCP_TX_TSO6;
	return t->p.offload & tso && !(c->flags & (CONN_URG_SND | CONN_CWR));
}

/* The number of chunks from q_unsent on that form one TSO frame. */
static unsigned run_length(struct tcp *t, const struct tcp_conn *c, uint32_t *bytes)
{
	uint32_t full = tcp_full(c), flight = tcp_flight(c), sum = 0;
	uint32_t room = u32_min(c->snd_una + c->snd_wnd - c->snd_nxt,
	                        c->cc.cwnd > flight ? c->cc.cwnd - flight : 0);
	room = u32_min(room, TSO_BYTES_MAX);
	unsigned n = 0;
	for (uint32_t buf = c->q_unsent; buf != TCP_NONE && n < PKT_FRAGS_MAX;
	     buf = chunk_at(t, buf)->next) {
		const struct tcp_chunk *ch = chunk_at(t, buf);
		if (ch->len != full || ch->flags & CHUNK_FIN || sum + full > room)
			break;
		sum += full;
		n++;
	}
	*bytes = sum;
	return n;
}

static enum verdict send_new(struct tcp *t, struct tcp_conn *c)
{
	enum verdict v;
	for (bool first = true; (v = judge(t, c)) == SEND_IT; first = false) {
		if (!first && no_more_room(t, c))
			return STOP_ROOM;
		uint32_t bytes, space = chunk_space(chunk_at(t, c->q_unsent));
		unsigned run = may_run(t, c) ? run_length(t, c, &bytes) : 0;
		bool sent = run > 1 ? send_run(t, c, run, bytes) : tcp_send_chunk(t, c, c->q_unsent);
		if (!sent)
			return STOP_BUFFER;
		if (c->recovery == RECOVERY_FAST)
			c->prr_out += run > 1 ? bytes : space;
	}
	return v;
}

/* RFC 9293 3.8.6.1: a window probe carries one byte beyond the window; the byte stays in the
 * queue. */
static void window_probe(struct tcp *t, struct tcp_conn *c)
{
	const struct tcp_chunk *ch = chunk_at(t, c->q_unsent);
	struct making m = {.seq = c->snd_nxt, .payload = ch->len ? 1 : 0, .flags = TCP_ACK};
	put_options(t, c, &m);
	if (!fresh_buffer(t, c, &m, m.payload))
		return;
	if (m.payload)
		m.p.data[0] = *chunk_payload(t, c->q_unsent);
	else
		m.seq--; /* only FIN waits: an acknowledged number also requires an answer */
	if (m.payload && c->snd_max == c->snd_nxt)
		c->snd_max++;
	tcp_count_event(t, CNT_tcp_window_probes);
	acknowledged(c);
	finish(t, c, &m);
}

void tcp_probe(struct tcp *t, struct tcp_conn *c)
{
	if (c->flags & CONN_STARVED) {
		c->flags &= ~(uint32_t)CONN_STARVED;
		if (c->app->acked)
			c->app->acked(c, 0);
	}
	if (c->state == TCP_CLOSED || c->q_unsent == TCP_NONE || c->snd_una != c->snd_nxt)
		return;
	struct tcp_chunk *ch = chunk_at(t, c->q_unsent);
	int32_t usable = (int32_t)(c->snd_una + c->snd_wnd - ch->seq);
	if (usable > 0) {
		/* The window was small for so long that a smaller segment is sent (3.8.6.2.1,
		 * override). Or a buffer was missing, and the chunk may still exceed a segment. */
		uint32_t most = u32_min((uint32_t)usable, tcp_full(c));
		if (ch->len <= most || tcp_queue_split(t, c, c->q_unsent, most))
			if (tcp_send_chunk(t, c, c->q_unsent))
				tcp_send_timer(t, c);
		return;
	}
	/* RFC 9293 3.8.6.1: a peer that answers may keep its window closed indefinitely */
	if (c->probes == 0)
		c->stuck_ms = t->now_ms;
	if (t->now_ms - c->stuck_ms >= c->user_timeout_ms) {
		tcp_count_event(t, CNT_tcp_timeouts);
		tcp_send_reset(t, c);
		tcp_conn_end(t, c, E_TIMEOUT, true);
		return;
	}
	window_probe(t, c);
	if (c->probes < 255)
		c->probes++;
	if (c->backoff < TCP_BACKOFF_MAX)
		c->backoff++;
}

/* If nothing is outstanding but data waits, starts the probe timer. */
static void arm_probe(struct tcp *t, struct tcp_conn *c, enum verdict v)
{
	if (c->snd_una != c->snd_nxt || tcp_timer_armed(c, TIMER_SEND) ||
	    (v != STOP_WINDOW && v != STOP_BUFFER))
		return;
	c->send_kind = SEND_PROBE;
	tcp_timer_set(t, c, TIMER_SEND, v == STOP_WINDOW ? tcp_rto_ms(t, c) : RETRY_MS);
}

static void send_data(struct tcp *t, struct tcp_conn *c)
{
	uint32_t before = c->snd_nxt;
	uint32_t idle_ms = t->now_ms - c->sent_ms;
	if (c->snd_una == c->snd_nxt && idle_ms * 1000ull > c->rto_us)
		cc_after_idle(&c->cc); /* RFC 5681 4.1 */
	if (unlikely(c->path_raise_ms) && (int32_t)(t->now_ms - c->path_raise_ms) >= 0) {
		c->path_raise_ms = 0; /* RFC 1191 6.3: the path MTU may have risen */
		c->path_mtu = (uint16_t)tcp_link_mtu(t, &c->remote);
		tcp_mss_set(t, c);
	}
	c->flags &= ~(uint32_t)CONN_LIMITED;
	enum verdict v = STOP_CWND;
	if (c->lost <= c->retrans || send_lost(t, c))
		v = send_new(t, c);
	else if (c->flags & CONN_PENDING)
		v = STOP_ROOM; /* not limited by cwnd, so cwnd must not grow */
	if (v == STOP_CWND)
		c->flags |= CONN_LIMITED;
	if (c->snd_nxt != before || (c->snd_una != c->snd_nxt && !tcp_timer_armed(c, TIMER_SEND)))
		tcp_send_timer_sent(t, c);
	if (v != STOP_NONE)
		arm_probe(t, c, v);
}

/* A function of its own, because its variables would take the registers of send_answer. */
static __attribute__((noinline)) void output(struct tcp *t, struct tcp_conn *c)
{
	switch (c->state) {
	case TCP_CLOSED:
	case TCP_SYN_SENT:
		return;
	case TCP_SYN_RECEIVED:
		/* a retransmitted SYN is answered again; data only with Fast Open (RFC 7413
		 * 4.2.2) */
		if (c->flags & CONN_ACK_NOW)
			tcp_send_syn(t, c);
		if (!(c->flags & CONN_FASTOPEN))
			return;
		break;
	case TCP_TIME_WAIT:
		if (c->flags & CONN_ACK_NOW)
			tcp_send_empty(t, c, TCP_ACK, c->snd_nxt);
		return;
	default:
		break;
	}
	if (unlikely(c->flags & CONN_CLOSING)) {
		tcp_queue_fin(t, c);
		if (!(c->flags & CONN_FIN_QUEUED) && !tcp_timer_armed(c, TIMER_SEND)) {
			c->send_kind = SEND_PROBE; /* there was no buffer: try again later */
			tcp_timer_set(t, c, TIMER_SEND, RETRY_MS);
		}
	}
	if (c->q_unsent != TCP_NONE || c->lost > c->retrans)
		send_data(t, c);
	if (unlikely(c->flags & CONN_STARVED))
		arm_probe(t, c, STOP_BUFFER);
	if (c->flags & CONN_ACK_NOW || c->rcv_nxt - c->acked_to >= 2u * c->rcv_mss ||
	    (c->flags & CONN_WND_UPDATE && tcp_window_worth_telling(t, c)))
		tcp_send_empty(t, c, TCP_ACK, c->snd_nxt);
	else if (c->flags & CONN_ACK_DUE && !tcp_timer_armed(c, TIMER_ACK))
		tcp_timer_set(t, c, TIMER_ACK, t->p.delack_ms);
	c->flags &= ~(uint32_t)CONN_WND_UPDATE;
}

/*
 * tcp_output for an answer: one chunk alone in the queue, which fits into a segment and the window,
 * while nothing is outstanding. Then neither cwnd nor Nagle's algorithm delays it. False: it is not that,
 * and `output` decides.
 */
static bool send_answer(struct tcp *t, struct tcp_conn *c)
{
	const uint32_t buf = c->q_unsent;
	if (buf == TCP_NONE || buf != c->q_last || c->state != TCP_ESTABLISHED ||
	    c->snd_una != c->snd_nxt || c->recovery != RECOVERY_OPEN ||
	    c->flags & (CONN_CLOSING | CONN_STARVED) || tcp_timer_armed(c, TIMER_SEND) ||
	    (t->now_ms - c->sent_ms) * 1000ull > c->rto_us)
		return false;
	struct tcp_chunk *ch = chunk_at(t, buf);
	if (ch->flags & (CHUNK_CUT | CHUNK_FIN) || ch->len > tcp_full(c) || ch->len > c->snd_wnd ||
	    !send_plain(t, c, buf, ch))
		return false;
	c->flags &= ~(uint32_t)CONN_LIMITED;
	tcp_send_timer(t, c);
	return true;
}

void tcp_output(struct tcp *t, struct tcp_conn *c)
{
	if (unlikely(!send_answer(t, c)))
		output(t, c);
}

/* --- segments without a connection --- */

void tcp_send_reply(struct tcp *t, const struct tcp_segment *to, const struct tcp_reply *r)
{
	struct pkt p;
	if (!pkt_alloc(t->pool, &p)) {
		tcp_count_event(t, CNT_tcp_no_buffer);
		return;
	}
	unsigned tcp_len = TCP_HLEN + r->options_len;
	uint8_t *tcp = buf_base(t->pool, p.buf) + TCP_PAYLOAD_OFFSET - TCP_HLEN_MAX;
	tcp_header_put(tcp, to->dst_port, to->src_port, r->seq, r->ack, tcp_len, r->flags, r->wnd, 0);
	memcpy(tcp + TCP_HLEN, r->options, r->options_len);
	uint32_t sum = ip_pseudo_len(ip_pseudo_sum(&to->dst, &to->src, IP_PROTO_TCP), tcp_len);
	raw16_store(tcp + 16, csum_fold(csum_partial(tcp, tcp_len, sum)));
	unsigned ip_len = ip_header_bytes(&to->src);
	ip_header_put(tcp, tcp_len, ip_len, &to->dst, &to->src, IP_PROTO_TCP, IP_ECN_NOT);
	p.data = tcp - ip_len - ETH_HLEN;
	p.len = (uint16_t)(ETH_HLEN + ip_len + tcp_len);
	p.flags = PKT_OWN;
	tcp_count_event(t, CNT_tcp_tx);
	t->ops->tx(t->ctx, &p);
}

void tcp_reset_for(struct tcp *t, const struct tcp_segment *s)
{
	if (s->flags & TCP_RST)
		return;
	struct tcp_reply r = {0};
	r.flags = tcp_reset_numbers(s->flags, s->seq + tcp_segment_space(s), s->ack, &r.seq, &r.ack);
	tcp_count_event(t, CNT_tcp_tx_rst);
	tcp_send_reply(t, s, &r);
}
