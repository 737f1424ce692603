/*
 * A connection arrives: move.h has the contract, move_image.h the format of the messages,
 * move_check.c what is checked.
 *
 * Until its last message the connection is frozen, as at the old instance: it has a record and
 * buffers, but no segment finds it.
 */
#include "lib/mem.h"
#include "net/tcp/move_image.h"

#define TRANSIT_MAX_US 10000000u /* more between two readings of one clock: they are of two */
#define RTT_MAX_US (1u << 30)    /* sums of two stay below 32 bits */

/* Flags that say what this instance does with a connection, not what it is. */
#define FLAGS_LOCAL (CONN_PENDING | CONN_SND_GIVEN)

/* What is left of a message. */
struct text {
	const uint8_t *at;
	uint32_t left;
};

static bool get(struct text *m, void *to, uint32_t n)
{
	if (m->left < n)
		return false;
	memcpy(to, m->at, n);
	m->at += n;
	m->left -= n;
	return true;
}

/* --- the record --- */

/* Times of the old instance become times of this one. None lies in the future. */
static uint64_t past_us(const struct tcp *t, const struct tcp_move_in *in, uint64_t then_us)
{
	return u64_min(then_us + in->shift_us, t->now_us);
}

static uint32_t past_ms(const struct tcp *t, const struct tcp_move_in *in, uint32_t then_ms)
{
	uint32_t ms = then_ms + in->shift_ms;
	return (int32_t)(t->now_ms - ms) < 0 ? t->now_ms : ms;
}

static void find_shift(const struct tcp *t, struct tcp_move_in *in, const struct move_record *r)
{
	uint64_t passed = t->now_us - r->now_us;
	if (passed > TRANSIT_MAX_US)
		passed = 0;
	in->shift_us = t->now_us - passed - r->now_us;
	in->shift_ms = t->now_ms - (uint32_t)passed / 1000 - r->now_ms;
}

static void shift_times(const struct tcp *t, const struct tcp_move_in *in, struct tcp_conn *c)
{
	uint32_t shift_us = (uint32_t)in->shift_us;
	c->heard_ms = past_ms(t, in, c->heard_ms);
	c->sent_ms = past_ms(t, in, c->sent_ms);
	c->stuck_ms = past_ms(t, in, c->stuck_ms);
	c->min_rtt_ms = past_ms(t, in, c->min_rtt_ms);
	c->ts_recent_ms = past_ms(t, in, c->ts_recent_ms);
	for (unsigned which = 0; which < TIMER_COUNT; which++)
		c->at_ms[which] += in->shift_ms;
	c->rto_at_ms += in->shift_ms;
	c->limit_ms += in->shift_ms;
	if (c->path_raise_ms)
		c->path_raise_ms = u32_max(c->path_raise_ms + in->shift_ms, 1);
	if (c->syn_us)
		c->syn_us = u64_max(past_us(t, in, c->syn_us), 1);
	if (c->rack_us)
		c->rack_us = u64_max(past_us(t, in, c->rack_us), 1);
	c->tune_us += shift_us;
	c->cc.last_us += shift_us;
	c->undo_cc.last_us += shift_us;
	c->ts_offset -= in->shift_ms; /* so that its timestamps go on */
}

/* Gives c, just made, the variables of the old connection. What belongs to this instance stays. */
static void settle(const struct tcp *t, const struct tcp_move_in *in, struct tcp_conn *c,
                   const struct tcp_conn *old)
{
	struct tcp_conn here = *c;
	bool handshake = old->state <= TCP_SYN_RECEIVED;
	*c = *old;
	c->hash_next = here.hash_next;
	c->pending_next = here.pending_next;
	c->wheel = here.wheel;
	c->age_next = c->age_prev = TCP_NONE; /* the same as lane_first and lane_last */
	c->tcp = here.tcp;
	c->app = NULL;
	c->arg = NULL;
	c->state = here.state;
	c->frozen = here.frozen;
	c->armed = 0;
	c->ip_hlen = here.ip_hlen;
	c->pseudo = here.pseudo;
	c->flags &= ~(uint32_t)FLAGS_LOCAL;
	if (!(c->flags & CONN_ACCEPTED)) /* no application waits for room */
		c->flags &= ~(uint32_t)CONN_STARVED;

	c->ooo = TCP_NONE;
	c->ooo_bufs = 0;
	c->q_first = c->q_last = c->q_unsent = c->rack_at = TCP_NONE;
	c->q_bytes = c->q_bufs = 0;
	c->q_end = handshake ? c->iss + 1 : c->snd_una;
	c->sacked = c->lost = c->retrans = c->sacked_chunks = 0;
	c->lane_gap = 0;

	c->rcv_buf = u32_min(c->rcv_buf, u32_max(tcp_rcv_buf_most(&t->p), t->p.rcv_buf_given));
	c->path_mtu = (uint16_t)u32_min(c->path_mtu, tcp_link_mtu(t, &c->remote));
	c->srtt_us = u32_min(c->srtt_us, RTT_MAX_US);
	c->rack_rtt_us = u32_min(c->rack_rtt_us, RTT_MAX_US);
	shift_times(t, in, c);
}

static enum tcp_move take_record(struct tcp *t, struct tcp_move_in *in, struct text *m)
{
	struct move_record r;
	if (!get(m, &r, sizeof r) || r.app_bytes > TCP_MOVE_APP_MAX)
		return TCP_MOVE_FORMAT;
	in->app = r.app;
	in->app_bytes = r.app_bytes;
	if (!get(m, in->app_state, r.app_bytes))
		return TCP_MOVE_FORMAT;
	enum tcp_move verdict = tcp_move_check(&r);
	if (verdict != TCP_MOVE_MORE)
		return verdict;
	if (r.c.state != TCP_TIME_WAIT && r.app >= t->move_apps_n)
		return TCP_MOVE_APP;
	if (r.chunks > 2 * tcp_queue_most(t, &r.c)) /* cuts may have exceeded the limit */
		return TCP_MOVE_BUFFERS;
	if (tcp_conn_twin(t, &r.c))
		return TCP_MOVE_EXISTS;
	in->c = tcp_conn_new(t, &r.c.local, r.c.local_port, &r.c.remote, r.c.remote_port);
	if (!in->c)
		return TCP_MOVE_FULL;
	tcp_conn_unhash(t, in->c);
	in->c->frozen = r.c.state;
	find_shift(t, in, &r);
	settle(t, in, in->c, &r.c);
	in->c->wheel.tick = 0; /* no move from here */
	in->q_end = r.c.q_end;
	in->sacked = r.c.sacked;
	in->armed = r.c.armed;
	in->chunks = r.chunks;
	in->pieces = r.pieces;
	return TCP_MOVE_MORE;
}

/* --- buffers --- */

/* The buffer's payload is copied to where headers fit in front of it, if there is space. */
static uint32_t payload_offset(const struct tcp *t, uint32_t len)
{
	return u32_min(TCP_PAYLOAD_OFFSET, t->pool->stride - len);
}

static enum tcp_move begin_buffer(struct tcp *t, struct tcp_move_in *in, struct text *m)
{
	struct move_buffer b;
	struct pkt p;
	bool chunk = in->chunks > 0;
	if (!get(m, &b, sizeof b))
		return TCP_MOVE_FORMAT;
	if (chunk && !tcp_move_check_chunk(in->c, &b, t->pool->stride))
		return TCP_MOVE_QUEUE;
	if (!chunk && !tcp_move_check_piece(in->c, &b, t->pool->stride))
		return TCP_MOVE_RANGES;
	/* Received data and ACKs need buffers too. */
	if (t->pool->free <= t->p.pool_reserve / 2 || !pkt_alloc(t->pool, &p))
		return TCP_MOVE_BUFFERS;
	memcpy(in->head, &b, sizeof b);
	in->buf = p.buf;
	in->got = 0;
	in->filling = true;
	return TCP_MOVE_MORE;
}

static void end_chunk(struct tcp *t, struct tcp_move_in *in, const struct move_buffer *b)
{
	struct tcp_conn *c = in->c;
	uint64_t sent_us = b->sent_us[0] | (uint64_t)b->sent_us[1] << 32;
	tcp_queue_append(t, c, in->buf, payload_offset(t, b->len), b->len);
	struct tcp_chunk *ch = chunk_at(t, in->buf);
	ch->flags = b->flags;
	if (b->flags & CHUNK_FIN) {
		ch->ends++;
		c->q_end++;
	}
	in->chunks--;
	if (!(b->flags & CHUNK_SENT))
		return;
	sent_us = past_us(t, in, sent_us);
	ch->sent_us[0] = (uint32_t)sent_us;
	ch->sent_us[1] = (uint32_t)(sent_us >> 32);
	ch->order = b->order;
	c->q_unsent = TCP_NONE;
	if (b->flags & CHUNK_SACKED)
		c->sacked += chunk_space(ch);
	else if (b->flags & CHUNK_LOST)
		c->lost += chunk_space(ch);
	if (b->flags & CHUNK_RETRANS)
		c->retrans += chunk_space(ch);
}

static enum tcp_move end_piece(struct tcp *t, struct tcp_move_in *in, const struct move_buffer *b)
{
	const struct pkt p = {.buf = in->buf};
	const struct tcp_segment s = {.seq = b->seq, .len = b->len,
	                              .data = buf_base(t->pool, in->buf) + payload_offset(t, b->len)};
	enum tcp_kept kept = tcp_ranges_keep(t, in->c, &p, &s);
	if (kept != KEPT_BUFFER)
		buf_free(t->pool, in->buf);
	in->pieces--;
	/* one that overlaps another would have been cut where it came from */
	return kept == KEPT_BUFFER  ? TCP_MOVE_MORE
	       : kept == KEPT_NO_ROOM ? TCP_MOVE_BUFFERS
	                              : TCP_MOVE_RANGES;
}

/* Takes bytes of the buffer that is being filled. */
static enum tcp_move fill_buffer(struct tcp *t, struct tcp_move_in *in, struct text *m)
{
	struct move_buffer b;
	memcpy(&b, in->head, sizeof b);
	uint32_t n = u32_min(b.len - in->got, m->left);
	uint8_t *to = buf_base(t->pool, in->buf) + payload_offset(t, b.len);
	if (!get(m, to + in->got, n))
		return TCP_MOVE_FORMAT;
	in->got += n;
	if (in->got < b.len)
		return TCP_MOVE_MORE;
	in->filling = false;
	if (in->chunks == 0)
		return end_piece(t, in, &b);
	end_chunk(t, in, &b);
	return TCP_MOVE_MORE;
}

static enum tcp_move take_buffers(struct tcp *t, struct tcp_move_in *in, struct text *m)
{
	enum tcp_move r = TCP_MOVE_MORE;
	while (r == TCP_MOVE_MORE && (in->filling || in->chunks || in->pieces)) {
		if (!in->filling && m->left == 0)
			return TCP_MOVE_MORE;
		if (!in->filling)
			r = begin_buffer(t, in, m);
		if (r == TCP_MOVE_MORE)
			r = fill_buffer(t, in, m);
		if (in->filling && m->left == 0)
			return r;
	}
	return r == TCP_MOVE_MORE && m->left ? TCP_MOVE_FORMAT : r;
}

/* --- the whole connection --- */

/* Does the queue fit the variables? */
static bool queue_ok(const struct tcp *t, const struct tcp_move_in *in)
{
	const struct tcp_conn *c = in->c;
	bool fin = c->q_last != TCP_NONE && chunk_at(t, c->q_last)->flags & CHUNK_FIN;
	uint32_t unsent = c->q_unsent != TCP_NONE ? chunk_at(t, c->q_unsent)->seq : c->q_end;
	if (c->q_end != in->q_end || unsent != c->snd_nxt)
		return false;
	if (c->flags & CONN_FIN_QUEUED && c->q_last != TCP_NONE && !fin)
		return false;
	/* tcp_send_syn puts that chunk behind its options. */
	return !(c->frozen == TCP_SYN_SENT && c->flags & CONN_SYN_DATA) ||
	       chunk_at(t, c->q_first)->len <= c->mss;
}

static void restore_marks(struct tcp *t, struct tcp_conn *c, uint32_t sacked)
{
	uint32_t out = c->snd_nxt - c->snd_una;
	bool marked = c->sacked || c->lost;
	for (uint32_t buf = c->q_first; buf != c->q_unsent && !marked; buf = chunk_at(t, buf)->next)
		marked = chunk_at(t, buf)->flags & CHUNK_EVER;
	if (!(c->flags & CONN_SACK)) /* what duplicate ACKs said */
		c->sacked = u32_min(sacked, out);
	if (!marked && !(c->flags & CONN_BOARD))
		return;
	if (c->board_end - c->snd_una > out || c->board_end == c->snd_una)
		c->board_end = c->snd_nxt;
	tcp_board_restore(t, c);
}

/* A connection that waits for something has a timer, and outstanding data has one that sends it again. */
static void restore_timers(struct tcp *t, struct tcp_conn *c, uint8_t armed)
{
	c->armed = armed;
	if (c->snd_una != c->snd_nxt && (!tcp_timer_armed(c, TIMER_SEND) || c->send_kind == SEND_PROBE))
		tcp_send_timer(t, c);
	if (!tcp_timer_armed(c, TIMER_LIFE)) {
		if (c->state == TCP_TIME_WAIT)
			tcp_timer_set(t, c, TIMER_LIFE, t->p.time_wait_ms);
		else
			tcp_life_timer(t, c);
	}
	tcp_timers_resume(t, c);
}

/* Finds the application. False: there is none. */
static bool find_app(struct tcp *t, struct tcp_conn *c, uint32_t app)
{
	if (c->frozen == TCP_TIME_WAIT)
		return true;
	c->app = t->move_apps[app].app;
	if (c->flags & CONN_ACCEPTED)
		return true;
	const struct tcp_listen *l = tcp_listener(t, &c->local, c->local_port);
	if (!l || l->app != c->app)
		return false;
	c->arg = l->arg;
	return true;
}

/* Hands the connection to its application. False: refused. */
static bool joined(struct tcp *t, struct tcp_move_in *in)
{
	if (!(in->c->flags & CONN_ACCEPTED))
		return in->app_bytes == 0;
	const struct tcp_move_app *app = &t->move_apps[in->app];
	if (!app->join)
		return in->app_bytes == 0 && in->c->rcv_held == 0;
	return app->join(in->c, in->app_state, in->app_bytes) || in->c->state == TCP_CLOSED;
}

/* All messages are there. */
static enum tcp_move finish(struct tcp *t, struct tcp_move_in *in)
{
	struct tcp_conn *c = in->c;
	tcp_mss_set(t, c);
	if (!queue_ok(t, in))
		return TCP_MOVE_QUEUE;
	if (!find_app(t, c, in->app))
		return TCP_MOVE_APP;
	if (tcp_conn_twin(t, c))
		return TCP_MOVE_EXISTS;
	tcp_conn_thaw(t, c);
	if (c->state != TCP_TIME_WAIT)
		restore_marks(t, c, in->sacked);
	restore_timers(t, c, in->armed);
	tcp_touch(t, c); /* first: if join ends it, the record stays until tcp_flush */
	if (!joined(t, in)) {
		tcp_conn_freeze(t, c);
		return TCP_MOVE_APP;
	}
	tcp_count_event(t, CNT_tcp_moved_in);
	in->c = NULL;
	return TCP_MOVE_TAKEN;
}

void tcp_move_drop(struct tcp *t, struct tcp_move_in *in)
{
	if (!in->c)
		return;
	if (in->filling)
		buf_free(t->pool, in->buf);
	in->filling = false;
	tcp_conn_forget(t, in->c);
	in->c = NULL;
}

static enum tcp_move take_message(struct tcp *t, struct tcp_move_in *in, struct text *m)
{
	struct move_head h;
	enum tcp_move r = TCP_MOVE_MORE;
	if (!get(m, &h, sizeof h) || h.magic != MOVE_MAGIC || h.version != MOVE_VERSION ||
	    h.record != sizeof(struct move_record) || h.bytes != m->left || h.id == 0) {
		in->id = in->c ? in->id : 0;
		return TCP_MOVE_FORMAT;
	}
	if (h.part && !in->c && h.id == in->refused)
		return TCP_MOVE_SKIPPED;
	if (h.part == 0)
		tcp_move_drop(t, in); /* its rest will never come */
	else if (!in->c || h.id != in->id || h.part != in->part + 1u)
		r = TCP_MOVE_ORDER;
	in->id = h.id;
	in->part = h.part;
	if (r == TCP_MOVE_MORE && h.part == 0)
		r = take_record(t, in, m);
	if (r == TCP_MOVE_MORE)
		r = take_buffers(t, in, m);
	if (r == TCP_MOVE_MORE && !in->filling && !in->chunks && !in->pieces)
		r = finish(t, in);
	return r;
}

enum tcp_move tcp_move_read(struct tcp *t, struct tcp_move_in *in, const void *msg, uint32_t len,
                            uint64_t now_us)
{
	struct text m = {msg, len};
	assert(!t->busy);
	tcp_set_now(t, now_us);
	t->busy = true;
	enum tcp_move r = take_message(t, in, &m);
	if (r > TCP_MOVE_SKIPPED) {
		tcp_count_event(t, CNT_tcp_move_refused);
		tcp_move_drop(t, in);
		in->refused = in->id;
	}
	tcp_flush(t);
	t->busy = false;
	return r;
}
