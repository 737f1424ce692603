/*
 * The send queue: bytes the application has queued and the peer has not acknowledged, cut into
 * chunks (see inside.h, invariant 2). A chunk is the buffer that holds its payload; its description
 * lies in front of the frame, in pkt_meta.queue.
 *
 *     q_first ... sent ...  | q_unsent ... not sent yet ... q_last
 *     snd_una              snd_nxt                        q_end
 */
#include "net/tcp/inside.h"

static bool is_unsent(const struct tcp *t, uint32_t buf)
{
	return buf != TCP_NONE && !(chunk_at(t, buf)->flags & CHUNK_SENT);
}

static inline void append(struct tcp *t, struct tcp_conn *c, uint32_t buf, unsigned off, unsigned len,
                          uint32_t flags)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	pkt_meta(t->pool, buf)->refs = 1;
	/* the other fields are set on sending and by the scoreboard */
	ch->next = TCP_NONE;
	ch->seq = c->q_end;
	ch->off = (uint16_t)off;
	ch->len = (uint16_t)len;
	ch->flags = flags;
	ch->ends = c->q_end + len;
	if (c->q_last == TCP_NONE)
		c->q_first = buf;
	else
		chunk_at(t, c->q_last)->next = buf;
	c->q_last = buf;
	if (c->q_unsent == TCP_NONE)
		c->q_unsent = buf;
	c->q_end += len;
	c->q_bytes += len;
	c->q_bufs++;
}

void tcp_queue_append(struct tcp *t, struct tcp_conn *c, uint32_t buf, unsigned off, unsigned len)
{
	append(t, c, buf, off, len, 0);
}

/* The bytes by which the last chunk can grow while it stays one segment. */
static uint32_t growth_of_last(const struct tcp *t, const struct tcp_conn *c)
{
	if (!is_unsent(t, c->q_last))
		return 0;
	const struct tcp_chunk *ch = chunk_at(t, c->q_last);
	const uint32_t full = tcp_full(c);
	return ch->len >= full || ch->flags & CHUNK_FIN ? 0 : full - ch->len;
}

/* Of these, those that its buffer has room for. */
static uint32_t room_in_last(const struct tcp *t, const struct tcp_conn *c)
{
	const uint32_t most = growth_of_last(t, c);
	const struct tcp_chunk *ch = most ? chunk_at(t, c->q_last) : NULL;
	return !ch || is_outside(ch) ? 0 : u32_min(most, t->pool->stride - (ch->off + ch->len));
}

/* Does the chunk name bytes outside that end where `data` begins? */
static bool goes_on_at(const struct tcp *t, uint32_t buf, const uint8_t *data, unsigned kind)
{
	const struct tcp_chunk *ch = chunk_at(t, buf);
	return is_outside(ch) && chunk_payload(t, buf) + ch->len == data && pkt_meta(t->pool, buf)->outside_kind == kind;
}

/* The last chunk has n bytes more. */
static void lengthen_last(struct tcp *t, struct tcp_conn *c, uint32_t n)
{
	struct tcp_chunk *ch = chunk_at(t, c->q_last);
	ch->len = (uint16_t)(ch->len + n);
	ch->ends += n;
	c->q_end += n;
	c->q_bytes += n;
}

static void copy_to_last(struct tcp *t, struct tcp_conn *c, const uint8_t *data, uint32_t n)
{
	const struct tcp_chunk *ch = chunk_at(t, c->q_last);
	memcpy(buf_base(t->pool, c->q_last) + ch->off + ch->len, data, n);
	lengthen_last(t, c, n);
}

/* Takes a buffer for a new chunk. Received data and ACKs need buffers too. A connection with an empty queue
 * may use more of the reserve, so that it gets a buffer before others get more. */
static bool take_buffer(struct tcp *t, const struct tcp_conn *c, struct pkt *p)
{
	uint32_t leave = t->p.pool_reserve / 2;
	leave += c->q_first != TCP_NONE ? leave / 2 : 0;
	return !tcp_queue_full(t, c) && t->pool->free > leave && pkt_alloc(t->pool, p);
}

uint32_t tcp_queue_copy(struct tcp *t, struct tcp_conn *c, const uint8_t *data, uint32_t n)
{
	uint32_t done = 0;
	while (done < n) {
		uint32_t room = room_in_last(t, c);
		if (room == 0) {
			struct pkt p;
			if (!take_buffer(t, c, &p))
				break;
			tcp_queue_append(t, c, p.buf, TCP_PAYLOAD_OFFSET, 0);
			room = room_in_last(t, c);
		}
		room = u32_min(room, n - done);
		copy_to_last(t, c, data + done, room);
		done += room;
	}
	if (done == n && n)
		chunk_at(t, c->q_last)->flags |= CHUNK_PSH;
	return done;
}

uint32_t tcp_queue_outside(struct tcp *t, struct tcp_conn *c, const uint8_t *data, uint32_t n, unsigned kind)
{
	uint32_t done = u32_min(room_in_last(t, c), n);
	if (done) /* behind bytes of another origin: one segment */
		copy_to_last(t, c, data, done);
	while (done < n) {
		uint32_t room = growth_of_last(t, c);
		room = room && goes_on_at(t, c->q_last, data + done, kind) ? room : 0;
		if (room == 0) {
			struct pkt p;
			if (!take_buffer(t, c, &p))
				break;
			tcp_queue_append(t, c, p.buf, BUF_OUTSIDE, 0);
			buf_set_outside(t->pool, p.buf, data + done, kind);
			room = tcp_full(c);
		}
		room = u32_min(room, n - done);
		lengthen_last(t, c, room);
		done += room;
	}
	if (done == n && n)
		chunk_at(t, c->q_last)->flags |= CHUNK_PSH;
	return done;
}

void tcp_queue_pkt(struct tcp *t, struct tcp_conn *c, const struct pkt *p)
{
	if (c->q_last != TCP_NONE && p->len <= TCP_COPY_MAX && room_in_last(t, c) >= p->len) {
		copy_to_last(t, c, p->data, p->len);
		buf_free(t->pool, p->buf);
		chunk_at(t, c->q_last)->flags |= CHUNK_PSH;
	} else {
		append(t, c, p->buf, (unsigned)(p->data - buf_base(t->pool, p->buf)), p->len, CHUNK_PSH);
	}
}

void tcp_queue_fin(struct tcp *t, struct tcp_conn *c)
{
	if (!(c->flags & CONN_CLOSING) || c->flags & CONN_FIN_QUEUED)
		return;
	if (!is_unsent(t, c->q_last)) {
		struct pkt p;
		if (!pkt_alloc(t->pool, &p)) {
			tcp_count_event(t, CNT_tcp_no_buffer);
			return; /* tcp_output tries again */
		}
		tcp_queue_append(t, c, p.buf, TCP_PAYLOAD_OFFSET, 0);
	}
	struct tcp_chunk *ch = chunk_at(t, c->q_last);
	ch->flags |= CHUNK_FIN;
	ch->ends++;
	c->q_end++;
	c->flags |= CONN_FIN_QUEUED;
}

bool tcp_queue_split(struct tcp *t, struct tcp_conn *c, uint32_t buf, uint32_t len)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	uint32_t rest = ch->len - len;
	struct pkt p;
	if (!(ch->flags & CHUNK_SENT) && c->snd_una != c->snd_nxt && tcp_queue_full(t, c))
		return false;
	if (!pkt_alloc(t->pool, &p)) {
		tcp_count_event(t, CNT_tcp_no_buffer);
		return false;
	}
	struct tcp_chunk *tail = chunk_at(t, p.buf);
	uint32_t off = TCP_PAYLOAD_OFFSET;
	if (is_outside(ch)) {
		off = BUF_OUTSIDE;
		buf_set_outside(t->pool, p.buf, chunk_payload(t, buf) + len, pkt_meta(t->pool, buf)->outside_kind);
	} else {
		if (off + rest > t->pool->stride)
			off = t->pool->stride - rest;
		memcpy(buf_base(t->pool, p.buf) + off, chunk_payload(t, buf) + len, rest);
		pkt_meta(t->pool, p.buf)->refs = 1;
	}
	*tail = *ch;
	tail->seq = ch->seq + len;
	tail->off = (uint16_t)off;
	tail->len = (uint16_t)rest;
	ch->len = (uint16_t)len;
	ch->ends = tail->seq;
	ch->flags &= ~(uint32_t)(CHUNK_FIN | CHUNK_PSH);
	tail->flags |= tail->flags & CHUNK_SENT ? 0 : CHUNK_CUT;
	ch->next = p.buf;
	c->q_bufs++;
	if (c->q_last == buf)
		c->q_last = p.buf;
	if (c->flags & CONN_BOARD && tail->flags & CHUNK_SENT)
		tcp_board_split(t, c, buf, p.buf);
	return true;
}

/* Can `buf` have bytes of the chunk behind it? One that names bytes outside can if those follow there. */
static bool can_pull(const struct tcp *t, uint32_t buf)
{
	const struct tcp_chunk *ch = chunk_at(t, buf);
	return !is_outside(ch) ||
	       (is_outside(chunk_at(t, ch->next)) &&
	        goes_on_at(t, buf, chunk_payload(t, ch->next), pkt_meta(t->pool, ch->next)->outside_kind));
}

/* Moves n bytes, at most all, from the chunk behind `buf` to its end. Neither was ever sent, so the
 * queue alone holds their buffers. */
static void pull(struct tcp *t, struct tcp_conn *c, uint32_t buf, uint32_t n)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	uint32_t from = ch->next;
	struct tcp_chunk *next = chunk_at(t, from);
	if (!is_outside(ch)) {
		uint8_t *base = buf_base(t->pool, buf);
		if ((uint32_t)ch->off + ch->len + n > t->pool->stride) {
			memmove(base + TCP_PAYLOAD_OFFSET, base + ch->off, ch->len);
			ch->off = TCP_PAYLOAD_OFFSET;
		}
		assert((uint32_t)ch->off + ch->len + n <= t->pool->stride);
		memcpy(base + ch->off + ch->len, chunk_payload(t, from), n);
	}
	ch->len = (uint16_t)(ch->len + n);
	ch->ends += n;
	if (n < next->len) {
		next->seq += n;
		if (is_outside(next))
			pkt_meta(t->pool, from)->outside += n;
		else
			next->off = (uint16_t)(next->off + n);
		next->len = (uint16_t)(next->len - n);
		next->flags |= CHUNK_CUT;
		return;
	}
	ch->ends = next->ends;
	ch->flags |= next->flags & (CHUNK_FIN | CHUNK_PSH);
	ch->next = next->next;
	if (c->q_last == from)
		c->q_last = buf;
	c->q_bufs--;
	buf_put(t->pool, from);
}

void tcp_queue_fill(struct tcp *t, struct tcp_conn *c, uint32_t buf)
{
	struct tcp_chunk *ch = chunk_at(t, buf);
	uint32_t full = tcp_full(c);
	/* A chunk that ends a write (CHUNK_PSH) is not filled. Payloads of tcp_send_pkt thus stay
	 * in their own buffers, as they do without a cut. */
	while (ch->len < full && !(ch->flags & (CHUNK_FIN | CHUNK_PSH)) && is_unsent(t, ch->next) &&
	       can_pull(t, buf)) {
		/* A chunk that already fits is left alone. Otherwise every chunk behind it would
		 * have to be copied, until the queue is empty. */
		const struct tcp_chunk *next = chunk_at(t, ch->next);
		if (!(next->flags & CHUNK_CUT) && next->len <= full)
			return;
		pull(t, c, buf, u32_min(full - ch->len, next->len));
	}
}

/* Subtracts `space` from the sums to which the chunk's marks add it. */
static void uncount(struct tcp_conn *c, const struct tcp_chunk *ch, uint32_t space)
{
	if (ch->flags & CHUNK_SACKED)
		c->sacked -= space;
	else if (ch->flags & CHUNK_LOST)
		c->lost -= space;
	if (ch->flags & CHUNK_RETRANS)
		c->retrans -= space;
}

/* Removes the acknowledged part at the start of a chunk. */
static void trim(struct tcp_conn *c, struct tcp_chunk *ch, uint32_t n)
{
	uncount(c, ch, n);
	ch->seq += n;
	ch->off = (uint16_t)(ch->off + n);
	ch->len = (uint16_t)(ch->len - n);
	c->q_bytes -= n;
}

uint32_t tcp_queue_ack(struct tcp *t, struct tcp_conn *c, uint32_t ack, struct tcp_acked *a)
{
	uint32_t before = c->q_bytes;
	bool board = c->flags & CONN_BOARD;
	while (c->q_first != TCP_NONE) {
		uint32_t buf = c->q_first;
		struct tcp_chunk *ch = chunk_at(t, buf);
		bool whole = seq_le(ch->ends, ack);
		uint32_t n = (whole ? ch->ends : ack) - ch->seq;
		if (!whole && seq_le(ack, ch->seq))
			break;
		if (!(ch->flags & CHUNK_SACKED)) {
			a->delivered += n;
			if (ch->flags & CHUNK_SENT && whole)
				tcp_rack_arrived(t, c, ch, a);
		}
		a->retrans_acked |= ch->flags & CHUNK_EVER;
		if (!whole) {
			trim(c, ch, n);
			break;
		}
		if (unlikely(board) && ch->flags & CHUNK_SENT)
			tcp_board_acked(t, c, buf);
		uncount(c, ch, n);
		c->q_bytes -= ch->len;
		c->q_first = ch->next;
		if (c->q_unsent == buf)
			c->q_unsent = ch->next;
		if (c->q_first == TCP_NONE)
			c->q_last = TCP_NONE;
		c->q_bufs--;
		buf_put(t->pool, buf);
	}
	return before - c->q_bytes;
}

void tcp_queue_free(struct tcp *t, struct tcp_conn *c)
{
	while (c->q_first != TCP_NONE) {
		uint32_t buf = c->q_first;
		c->q_first = chunk_at(t, buf)->next;
		buf_put(t->pool, buf);
	}
	c->q_last = c->q_unsent = TCP_NONE;
	c->q_bytes = c->q_bufs = 0;
	c->sacked = c->lost = c->retrans = 0;
	c->flags &= ~(uint32_t)CONN_BOARD;
}
