/*
 * A connection leaves: move.h has the contract, move_image.h the format of the messages.
 *
 * A frozen connection is in TCP_CLOSED for all other code: no segment finds it, no timer expires,
 * and calls of its application do nothing. Its queues stay as they are until the move has ended.
 */
#include "net/tcp/move.h"

#include "lib/mem.h"
#include "net/tcp/move_image.h"

enum stage { STAGE_RECORD, STAGE_CHUNKS, STAGE_PIECES, STAGE_END };

void tcp_move_apps(struct tcp *t, const struct tcp_move_app *apps, uint32_t n)
{
	t->move_apps = apps;
	t->move_apps_n = n;
}

const char *tcp_move_name(enum tcp_move m)
{
	static const char *const names[TCP_MOVE_COUNT] = {
		[TCP_MOVE_TAKEN] = "taken",
		[TCP_MOVE_MORE] = "incomplete",
		[TCP_MOVE_SKIPPED] = "skipped",
		[TCP_MOVE_FORMAT] = "no message of this version",
		[TCP_MOVE_ORDER] = "a message is missing",
		[TCP_MOVE_RECORD] = "impossible state",
		[TCP_MOVE_QUEUE] = "impossible send queue",
		[TCP_MOVE_RANGES] = "impossible data out of order",
		[TCP_MOVE_APP] = "refused by the application",
		[TCP_MOVE_EXISTS] = "connection exists",
		[TCP_MOVE_FULL] = "no free connection",
		[TCP_MOVE_BUFFERS] = "too few buffers",
	};
	return m < TCP_MOVE_COUNT ? names[m] : "unknown";
}

/* The position of the application in the table; MOVE_APP_NONE: it is not there. */
static uint32_t app_number(const struct tcp *t, const struct tcp_app *app)
{
	for (uint32_t i = 0; i < t->move_apps_n; i++)
		if (t->move_apps[i].app == app)
			return i;
	return MOVE_APP_NONE;
}

/* Names a move, and its connection while that is frozen. Never 0. */
static uint64_t name_move(struct tcp *t, const struct tcp_conn *c)
{
	return (uint64_t)t->moves++ << 32 | (conn_index(t, c) + 1);
}

int tcp_move_begin(struct tcp_move_out *o, struct tcp_conn *c)
{
	struct tcp *t = c->tcp;
	assert(!t->busy);
	if (c->state == TCP_CLOSED)
		return E_INVAL;
	bool known = c->state != TCP_TIME_WAIT;
	uint32_t app = known ? app_number(t, c->app) : MOVE_APP_NONE;
	if (known && app == MOVE_APP_NONE)
		return E_NOTSUP;
	*o = (struct tcp_move_out){.tcp = t, .c = c, .buf = TCP_NONE, .app = app};
	if (known && c->flags & CONN_ACCEPTED && t->move_apps[app].leave)
		o->app_bytes = t->move_apps[app].leave(c, o->app_state);
	if (o->app_bytes == TCP_MOVE_APP_BUSY)
		return E_AGAIN;
	assert(o->app_bytes <= TCP_MOVE_APP_MAX);
	tcp_conn_freeze(t, c);
	o->id = c->wheel.tick = name_move(t, c);
	return E_OK;
}

/* --- writing --- */

/* Room in a message. */
struct room {
	uint8_t *at;
	uint32_t left;
};

static void put(struct room *r, const void *from, uint32_t n)
{
	memcpy(r->at, from, n);
	r->at += n;
	r->left -= n;
}

/* Data out of order behind the peer's FIN is of no use and stays. */
static bool has_pieces(const struct tcp_conn *c)
{
	return c->ooo != TCP_NONE && !(c->flags & CONN_FIN_RCVD);
}

static void put_record(struct tcp_move_out *o, struct room *r)
{
	const struct tcp *t = o->tcp;
	const struct tcp_conn *c = o->c;
	struct move_record m = {
		.c = *c,
		.now_us = t->now_us,
		.now_ms = t->now_ms,
		.app = o->app,
		.app_bytes = o->app_bytes,
		.chunks = c->q_bufs,
		.pieces = has_pieces(c) ? c->ooo_bufs - 1u : 0, /* one holds the table */
	};
	m.c.state = c->frozen;
	put(r, &m, sizeof m);
	put(r, o->app_state, o->app_bytes);
}

/* Describes the buffer o->buf; returns its bytes. */
static uint32_t describe(const struct tcp_move_out *o, struct move_buffer *b, const uint8_t **data)
{
	const struct tcp *t = o->tcp;
	if (o->stage == STAGE_CHUNKS) {
		const struct tcp_chunk *ch = chunk_at(t, o->buf);
		*b = (struct move_buffer){.seq = ch->seq, .len = ch->len,
		                          .flags = (uint16_t)(ch->flags & ~(uint32_t)CHUNK_LANE)};
		if (ch->flags & CHUNK_SENT) { /* else these are not set */
			b->sent_us[0] = ch->sent_us[0];
			b->sent_us[1] = ch->sent_us[1];
			b->order = ch->order;
		}
		*data = chunk_payload(t, o->buf);
	} else {
		const struct tcp_piece *p = piece_at(t, o->buf);
		*b = (struct move_buffer){.seq = p->seq, .len = p->len};
		*data = buf_base(t->pool, o->buf) + p->off;
	}
	return b->len;
}

static void next_buffer(struct tcp_move_out *o)
{
	const struct tcp *t = o->tcp;
	o->done = 0;
	o->named = false;
	if (o->stage == STAGE_CHUNKS)
		o->buf = chunk_at(t, o->buf)->next;
	else
		o->buf = tcp_ranges_next(t, o->c, &o->range, o->buf);
}

/* Begins a stage whose first buffer is `buf`. */
static void enter(struct tcp_move_out *o, enum stage stage, uint32_t buf)
{
	o->stage = (uint8_t)stage;
	o->buf = buf;
}

/* Writes what fits of the buffers of this stage. True: all of it is written. */
static bool put_buffers(struct tcp_move_out *o, struct room *r)
{
	while (o->buf != TCP_NONE) {
		struct move_buffer b;
		const uint8_t *data;
		uint32_t len = describe(o, &b, &data);
		if (!o->named) {
			if (r->left < sizeof b)
				return false;
			put(r, &b, sizeof b);
			o->named = true;
		}
		uint32_t n = u32_min(len - o->done, r->left);
		put(r, data + o->done, n);
		o->done += n;
		if (o->done < len)
			return false;
		next_buffer(o);
	}
	return true;
}

uint32_t tcp_move_write(struct tcp_move_out *o, void *msg, uint32_t room)
{
	struct move_head h = {.magic = MOVE_MAGIC, .version = MOVE_VERSION, .part = o->part,
	                      .id = o->id, .record = sizeof(struct move_record)};
	struct room r = {(uint8_t *)msg + sizeof h, room - (uint32_t)sizeof h};
	const struct tcp_conn *c = o->c;
	assert(room >= TCP_MOVE_MSG_MIN);
	if (o->stage == STAGE_END)
		return 0;
	if (o->stage == STAGE_RECORD) {
		put_record(o, &r);
		enter(o, STAGE_CHUNKS, c->q_first);
	}
	if (o->stage == STAGE_CHUNKS && put_buffers(o, &r)) {
		enter(o, STAGE_PIECES, TCP_NONE);
		if (has_pieces(c))
			o->buf = tcp_ranges_next(o->tcp, c, &o->range, TCP_NONE);
	}
	if (o->stage == STAGE_PIECES && put_buffers(o, &r))
		enter(o, STAGE_END, TCP_NONE);
	h.bytes = room - (uint32_t)sizeof h - r.left;
	memcpy(msg, &h, sizeof h);
	o->part++;
	return (uint32_t)sizeof h + h.bytes;
}

/* --- the end --- */

static void tell(const struct tcp *t, struct tcp_conn *c, bool taken)
{
	uint32_t app = c->flags & CONN_ACCEPTED ? app_number(t, c->app) : MOVE_APP_NONE;
	if (app != MOVE_APP_NONE && t->move_apps[app].left)
		t->move_apps[app].left(c, taken);
}

static void go_on(struct tcp *t, struct tcp_conn *c)
{
	if (tcp_conn_twin(t, c)) { /* made by a segment that tcp_ops.elsewhere should have stopped */
		if (c->flags & CONN_ACCEPTED && c->app->closed)
			c->app->closed(c, E_RESET);
		tcp_conn_forget(t, c);
		return;
	}
	tcp_conn_thaw(t, c);
	tcp_timers_resume(t, c);
	tcp_touch(t, c);
	tell(t, c, false);
}

bool tcp_move_ended(struct tcp *t, uint64_t id, bool taken)
{
	uint32_t index = (uint32_t)id - 1;
	struct tcp_conn *c = index < t->records ? &t->conns[index] : NULL;
	if (!c || c->state != TCP_CLOSED || !c->frozen || c->wheel.tick != id)
		return false;
	assert(!t->busy);
	t->busy = true;
	if (taken) {
		tcp_count_event(t, CNT_tcp_moved_out);
		tell(t, c, true);
		tcp_conn_forget(t, c);
	} else {
		tcp_count_event(t, CNT_tcp_move_refused);
		go_on(t, c);
	}
	tcp_flush(t);
	t->busy = false;
	return true;
}
