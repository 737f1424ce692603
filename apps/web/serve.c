/* See serve.h. */
#include "apps/web/serve.h"

#include "apps/web/answer.h"
#include "apps/web/log.h"
#include "dataplane/state.h"
#include "dataplane/tcp_data.h"
#include "lib/assert.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"
#include "net/http/media.h"
#include "net/tcp/move.h"

#define NONE UINT32_MAX
#define SLOT_SHARE 32      /* slots may take this part of the memory */
#define SLOTS_MAX 512
#define RAW_MAX 1024       /* bytes of an incomplete head that moves to another core */
#define AHEAD 65536        /* bytes to queue beyond the windows: see queue_room */
#define HELD_MS 10         /* until we look whether a place is still held */

/* States. Each has a list of its connections, in the order of their deadlines. */
enum state {
	IDLE,    /* no byte of a request has come */
	HEAD,    /* the head of a request, or the body to be skipped, is incomplete: in the slot's parser */
	SENDING, /* an answer is not queued as a whole */
	LINGER,  /* we have closed */
	STATES,
	MOVING = STATES, /* to another core: it has no deadline, and is in no list */
};
static const uint32_t state_ms[STATES] = {SERVE_IDLE_MS, SERVE_HEAD_MS, SERVE_SENDING_MS, SERVE_LINGER_MS};

/*
 * A connection. While SENDING, what is still to be sent is, in this order:
 *     the rest of the slot's text, if there is a slot and it has any
 *     bytes at to end of the file
 *     the ranges from `range` on, with their heads, if `parts`
 */
struct conn {
	struct tcp_conn *tcp; /* NULL: free */
	uint64_t at, end;
	uint32_t prev, next;  /* in the list of its state; NONE. Free ones are linked by next */
	uint32_t due_ms;      /* deadline */
	uint32_t began_ms;    /* the answer */
	uint32_t slot;        /* NONE: it has none */
	uint32_t file;        /* of at and end; SITE_NONE: nothing of a file is sent */
	uint32_t first, last; /* buffers whose bytes wait (struct waiting); NONE */
	uint8_t state;
	uint8_t was;     /* while MOVING */
	uint8_t place;   /* of the site from which the answer comes (published.h) */
	bool closes : 1; /* after this answer */
	bool fin : 1;    /* the peer has closed its half */
	bool parts : 1;  /* the slot has several ranges */
	bool lost : 1;   /* while MOVING: its site has gone */
	uint8_t holds : WEB_PLACES; /* bit for each place whose bytes may be in the queue of tcp */
	uint32_t acked; /* bytes that the peer has acknowledged since began_ms, at most UINT32_MAX */
};
_Static_assert(sizeof(struct conn) == SERVE_CONN_BYTES, "what tcp_data_bytes is asked for");

/* The bytes of a head that is incomplete: another core parses them anew. */
struct raw {
	uint32_t n; /* more than RAW_MAX: they are not all here */
	uint8_t bytes[RAW_MAX];
};

struct slot {
	uint32_t next; /* free ones */
	uint32_t text_at, text_bytes;
	uint32_t range; /* the next one */
	uint32_t named; /* the file whose name has the type */
	struct raw raw;
	uint64_t size;
	const char *type;
	struct http_ranges ranges;
	struct http_parser parser;
	char text[WEB_TEXT_MAX];
};

/* Bytes of a request that wait in a buffer until the answers before it are queued: in pkt_meta.queue. */
struct waiting {
	struct pkt pkt;
	uint32_t next; /* buffer; NONE */
};
_Static_assert(sizeof(struct waiting) <= sizeof((struct pkt_meta){0}.queue), "fits");

static struct {
	struct conn *conn;
	struct slot *slot;
	uint32_t conn_free, slot_free; /* first of those that are free; NONE */
	uint32_t first[STATES], last[STATES];
	const struct web_published *published;     /* NULL: nothing is */
	const struct site *site[WEB_PLACES];       /* as published, when it was last looked at */
	uint64_t answers[WEB_PLACES]; /* as in struct web_core: connections that are SENDING, or were before MOVING */
	uint64_t ended;                            /* as published, when end_place() was last called for it */
	uint32_t conns, moving;                    /* records; connections that are MOVING */
	struct http_parser parser; /* of connections without a slot: between two requests while none of them is in work() */
	struct raw raw;                /* what web.parser has read of a head */
	struct web_answer answer;      /* that is being made */
	char boundary[WEB_BOUNDARY_MAX];
} web;

static uint32_t number_of(const struct conn *c) { return (uint32_t)(c - web.conn); }

static uint32_t now_ms(void) { return (uint32_t)(core_now_us() / 1000); }

/* --- sites --- */

/* Chooses the site for a new answer: its place goes into *place. NULL: there is none. */
static const struct site *site_now(uint8_t *place)
{
	const uint64_t current = web.published ? shared_load(&web.published->current) : WEB_NO_PLACE;
	*place = (uint8_t)current;
	if (current >= WEB_PLACES)
		return NULL;
	return web.site[current] = web.published->site[current];
}

/* The control core frees a site only when no answer is being sent from it. */
static void note_answers(unsigned place, uint64_t more)
{
	struct web_core *own = dp_plugin_shared();
	if (place >= WEB_PLACES)
		return;
	web.answers[place] += more;
	shared_store(&own->answers[place], web.answers[place]);
}

static void note_held(void)
{
	struct web_core *own = dp_plugin_shared();
	for (unsigned place = 0; place < WEB_PLACES; place++)
		shared_store(&own->held[place], self.pool.outside[place]);
}

/* A place that is not in force, and whose bytes our buffers name; WEB_NO_PLACE: none. */
static unsigned retired_held(void)
{
	const uint64_t current = web.published ? shared_load(&web.published->current) : WEB_NO_PLACE;
	for (unsigned place = 0; place < WEB_PLACES; place++)
		if (place != current && self.pool.outside[place])
			return place;
	return WEB_NO_PLACE;
}

/* --- lists of states --- */

static void leave(struct conn *c)
{
	if (c->state == SENDING)
		note_answers(c->place, -1ull);
	if (c->prev == NONE)
		web.first[c->state] = c->next;
	else
		web.conn[c->prev].next = c->next;
	if (c->next == NONE)
		web.last[c->state] = c->prev;
	else
		web.conn[c->next].prev = c->prev;
}

static void join(struct conn *c, enum state state)
{
	const uint32_t n = number_of(c);
	if (state == SENDING)
		note_answers(c->place, 1);
	c->state = state;
	c->due_ms = now_ms() + state_ms[state];
	c->next = NONE;
	c->prev = web.last[state];
	if (c->prev == NONE)
		web.first[state] = n;
	else
		web.conn[c->prev].next = n;
	web.last[state] = n;
}

static void enter(struct conn *c, enum state state)
{
	leave(c);
	join(c, state);
}

/* Until a connection has gone, its answer counts here, because it may go on here. The other core counts it
 * before it says so. */
static void begin_moving(struct conn *c)
{
	if (c->state == SENDING)
		note_answers(c->place, 1);
	leave(c);
	c->was = c->state;
	c->state = MOVING;
	c->lost = false;
	web.moving++;
}

static void end_moving(const struct conn *c)
{
	if (c->was == SENDING)
		note_answers(c->place, -1ull);
	web.moving--;
}

/* --- bytes that wait --- */

static struct waiting *waiting_of(uint32_t buf)
{
	return (struct waiting *)(void *)pkt_meta(&self.pool, buf)->queue;
}

static void wait_put(struct conn *c, const struct pkt *p)
{
	*waiting_of(p->buf) = (struct waiting){.pkt = *p, .next = NONE};
	if (c->first == NONE)
		c->first = p->buf;
	else
		waiting_of(c->last)->next = p->buf;
	c->last = p->buf;
}

/* n bytes of the first buffer have been read. */
static void wait_take(struct conn *c, uint32_t n)
{
	struct waiting *w = waiting_of(c->first);
	w->pkt.data += n;
	w->pkt.len = (uint16_t)(w->pkt.len - n);
	if (w->pkt.len == 0) {
		const struct pkt p = w->pkt;
		c->first = w->next;
		pkt_free(&self.pool, &p);
	}
	tcp_consumed(c->tcp, n);
}

static void wait_drop(struct conn *c)
{
	while (c->first != NONE) {
		const struct waiting w = *waiting_of(c->first);
		c->first = w.next;
		pkt_free(&self.pool, &w.pkt);
	}
}

/* --- connections and slots --- */

static void slot_give(struct conn *c)
{
	if (c->slot == NONE)
		return;
	web.slot[c->slot].next = web.slot_free;
	web.slot_free = c->slot;
	c->slot = NONE;
}

/* Forgets a connection; TCP does, or has done, the same. */
static void forget(struct conn *c)
{
	wait_drop(c);
	slot_give(c);
	if (c->state == MOVING)
		end_moving(c);
	else
		leave(c);
	c->tcp = NULL;
	c->next = web.conn_free;
	web.conn_free = number_of(c);
}

static void abort_conn(struct conn *c)
{
	struct tcp_conn *tcp = c->tcp;
	forget(c);
	tcp_abort(tcp);
}

/* False: no slot is free, and no other connection is in the middle of a head. */
static bool slot_take(struct conn *c)
{
	if (c->slot != NONE)
		return true;
	if (web.slot_free == NONE && web.first[HEAD] != NONE) {
		count(CNT_web_evicted);
		abort_conn(&web.conn[web.first[HEAD]]);
	}
	if (web.slot_free == NONE)
		return false;
	struct slot *s = &web.slot[web.slot_free];
	c->slot = web.slot_free;
	web.slot_free = s->next;
	s->text_at = s->text_bytes = 0;
	return true;
}

/* --- sending --- */

/*
 * How much of a file to queue now: as much as may be sent, and AHEAD. Queued buffers are missing elsewhere if
 * the peer does not read, and leave the cache while they wait.
 */
static uint32_t queue_room(const struct conn *c)
{
	const uint32_t queued = tcp_unacked(c->tcp);
	struct tcp_info i;
	if (queued < AHEAD)
		return AHEAD;
	tcp_info(c->tcp, &i);
	const uint32_t wanted = u32_min(i.cwnd, i.snd_wnd) + AHEAD;
	return wanted > queued ? wanted - queued : 0;
}

/* True: all of it is queued. Else `acked` is called later. */
static bool push_file(struct conn *c)
{
	while (c->at < c->end) {
		const struct site *s = web.site[c->place];
		const uint32_t want = (uint32_t)u64_min(c->end - c->at, queue_room(c));
		const uint32_t n = tcp_send_outside(c->tcp, site_content(s, &s->file[c->file]) + c->at, want, c->place);
		c->at += n;
		c->holds |= (uint8_t)(1u << c->place);
		note_held();
		if (n < want || want == 0)
			return false;
	}
	return true;
}

static bool push_text(struct conn *c)
{
	struct slot *s = &web.slot[c->slot];
	s->text_at += tcp_send(c->tcp, s->text + s->text_at, s->text_bytes - s->text_at);
	return s->text_at == s->text_bytes;
}

/* Makes the next range, or the end of the parts, what is to be sent. False: there is no more. */
static bool next_part(struct conn *c)
{
	struct slot *s = &web.slot[c->slot];
	if (s->range > s->ranges.n)
		return c->parts = false;
	s->text_at = 0;
	s->text_bytes = (uint32_t)web_answer_part(s->text, sizeof s->text, &s->ranges, s->range, s->size, s->type,
	                                          web.boundary);
	if (s->range < s->ranges.n) {
		c->at = s->ranges.range[s->range].first;
		c->end = s->ranges.range[s->range].last + 1;
	}
	s->range++;
	return true;
}

/* Queues what there is room for; true: the answer is queued as a whole. */
static bool push(struct conn *c)
{
	do {
		if (c->slot != NONE && !push_text(c))
			return false;
		if (!push_file(c))
			return false;
	} while (c->parts && next_part(c));
	return true;
}

/* Keeps the rest of an answer's text, and its ranges. False: there is no slot. */
static bool keep_rest(struct conn *c, const struct web_answer *a, uint32_t sent)
{
	if (!slot_take(c))
		return false;
	struct slot *s = &web.slot[c->slot];
	s->text_at = 0;
	s->text_bytes = a->text_bytes - sent;
	memcpy(s->text, a->text + sent, s->text_bytes);
	c->parts = a->parts && a->ranges.n > 0;
	if (c->parts) {
		s->ranges = a->ranges;
		s->range = 0;
		s->size = web.site[c->place]->file[a->file].size;
		s->type = a->type;
		s->named = a->named;
	}
	return true;
}

static void count_answer(unsigned status)
{
	count(CNT_web_requests);
	if (status >= 400)
		count(status >= 500 ? CNT_web_server_errors : CNT_web_client_errors);
}

/* Makes and begins the answer to a request. False: the connection is gone. */
static bool answer(struct conn *c, const struct http_request *r)
{
	struct web_answer *a = &web.answer;
	web_answer_make(a, site_now(&c->place), r, web.boundary);
	count_answer(a->status);
	if (unlikely(log_is_on()))
		log_note(c->tcp, r, a->status, a->content);
	c->closes = a->close;
	c->parts = false;
	c->at = c->end = 0;
	c->file = a->file;
	c->began_ms = now_ms();
	c->acked = 0;
	if (a->ranges.n && !a->parts) {
		c->at = a->ranges.range[0].first;
		c->end = a->ranges.range[0].last + 1;
	}
	const uint32_t sent = tcp_send(c->tcp, a->text, a->text_bytes);
	if ((sent < a->text_bytes || (a->parts && a->ranges.n)) && !keep_rest(c, a, sent)) {
		count(CNT_web_evicted);
		abort_conn(c);
		return false;
	}
	return true;
}

/* --- requests --- */

static void close_conn(struct conn *c)
{
	wait_drop(c);
	slot_give(c);
	enter(c, LINGER);
	tcp_close(c->tcp);
}

/* Between two requests, or in the middle of one. `p` is web.parser or that of the slot. */
static void rest(struct conn *c, struct http_parser *p)
{
	if (http_is_idle(p)) {
		slot_give(c);
		if (c->fin)
			close_conn(c);
		else
			enter(c, IDLE);
		return;
	}
	if (c->fin) { /* the rest of the request will not come */
		http_init_fields(p);
		close_conn(c);
		return;
	}
	if (c->slot == NONE) {
		if (!slot_take(c)) {
			count(CNT_web_evicted);
			http_init_fields(p);
			abort_conn(c);
			return;
		}
		web.slot[c->slot].parser = *p;
		web.slot[c->slot].raw = web.raw;
		http_init_fields(p);
	}
	if (c->state != HEAD) /* its time began with the first byte */
		enter(c, HEAD);
}

static void begin_head(struct http_parser *p, struct raw *raw)
{
	http_set_log(p, log_is_on());
	raw->n = 0;
}

/* p has read n more bytes. */
static void keep_raw(struct raw *raw, const struct http_parser *p, const uint8_t *data, uint32_t n)
{
	if (p->state == HTTP_REQUEST) {
		raw->n = 0;
	} else {
		if (raw->n < RAW_MAX)
			memcpy(raw->bytes + raw->n, data, u32_min(n, RAW_MAX - raw->n));
		raw->n = u32_min(raw->n + n, RAW_MAX + 1);
	}
}

/* Reads and answers requests until there is nothing to read or an answer has to wait. */
static void work(struct conn *c)
{
	struct http_parser *p = c->slot != NONE ? &web.slot[c->slot].parser : &web.parser;
	struct raw *raw = c->slot != NONE ? &web.slot[c->slot].raw : &web.raw;
	if (http_is_idle(p))
		begin_head(p, raw);
	while (c->first != NONE) {
		const struct waiting *w = waiting_of(c->first);
		const uint32_t n = http_input(p, w->pkt.data, w->pkt.len);
		keep_raw(raw, p, w->pkt.data, n);
		wait_take(c, n);
		if (p->state != HTTP_REQUEST)
			continue;
		p->request.close |= p->body != 0; /* nobody needs the content of a GET; it is not waited for */
		if (!answer(c, &p->request)) {
			http_init_fields(&web.parser);
			return;
		}
		http_next(p);
		if (c->closes)
			http_init_fields(p);
		if (!push(c)) {
			/* the parser is between two requests: the next one begins in the buffers that wait */
			enter(c, SENDING);
			return;
		}
		if (c->closes) {
			close_conn(c);
			return;
		}
	}
	rest(c, p);
}

/* --- events of TCP --- */

static struct conn *conn_of(const struct tcp_conn *tcp) { return tcp_arg(tcp); }

static bool on_accept(struct tcp_conn *tcp)
{
	if (web.conn_free == NONE)
		return false;
	struct conn *c = &web.conn[web.conn_free];
	web.conn_free = c->next;
	*c = (struct conn){.tcp = tcp, .slot = NONE, .first = NONE, .last = NONE};
	tcp_set_arg(tcp, c);
	join(c, IDLE);
	return true;
}

static void on_data(struct tcp_conn *tcp, struct pkt *p)
{
	struct conn *c = conn_of(tcp);
	if (c->state == LINGER) {
		const uint32_t n = p->len;
		pkt_free(&self.pool, p);
		tcp_consumed(tcp, n);
		return;
	}
	wait_put(c, p);
	if (c->state != SENDING)
		work(c);
}

/* Does the peer read so slowly that it may only want to hold our memory? */
static bool is_too_slow(const struct conn *c)
{
	const uint32_t ms = now_ms() - c->began_ms;
	return ms > SERVE_SENDING_MS && c->acked / SERVE_RATE < (ms - SERVE_SENDING_MS) / 1000;
}

static void go_on(struct conn *c)
{
	if (!push(c)) {
		enter(c, SENDING); /* its time begins anew */
		return;
	}
	if (c->closes) {
		close_conn(c);
		return;
	}
	slot_give(c);
	enter(c, IDLE);
	work(c);
}

static void on_acked(struct tcp_conn *tcp, uint32_t bytes)
{
	struct conn *c = conn_of(tcp);
	c->acked = bytes < UINT32_MAX - c->acked ? c->acked + bytes : UINT32_MAX;
	if (tcp_unacked(tcp) == 0)
		c->holds = 0;
	if (unlikely(is_too_slow(c)) && tcp_unacked(tcp)) {
		count(CNT_web_timeouts);
		abort_conn(c);
	} else if (c->state == SENDING) {
		go_on(c);
	}
}

static void on_fin(struct tcp_conn *tcp)
{
	struct conn *c = conn_of(tcp);
	c->fin = true;
	if (c->state == IDLE || c->state == HEAD)
		close_conn(c);
}

static void on_closed(struct tcp_conn *tcp, int why)
{
	(void)why;
	forget(conn_of(tcp));
}

static const struct tcp_app tcp_events = {
	.accept = on_accept, .data = on_data, .acked = on_acked, .fin = on_fin, .closed = on_closed};

/* --- time --- */

/* The whole head has not come: 408 (RFC 9110 15.5.9). */
static void expire_head(struct conn *c)
{
	const struct http_request late = {.status = 408, .minor = 1, .close = true, .path = "", .query = "", .host = "",
	                                  .line = "", .field = {[HTTP_REFERER] = "", [HTTP_USER_AGENT] = ""}};
	if (!answer(c, &late))
		return;
	if (push(c))
		close_conn(c);
	else
		abort_conn(c);
}

static void expire(struct conn *c)
{
	const bool queued = tcp_unacked(c->tcp) > 0;
	if ((c->state == IDLE || c->state == LINGER) && queued && !is_too_slow(c)) {
		enter(c, (enum state)c->state); /* a slow path: the end of an answer is on its way */
		return;
	}
	if (c->state == IDLE && !queued) {
		close_conn(c);
		return;
	}
	count(CNT_web_timeouts);
	if (c->state == HEAD)
		expire_head(c);
	else
		abort_conn(c);
}

/* Resets the connections that send from that place, or whose peer has not acknowledged all from there. One that
 * moves is reset if it comes back. True: any. */
static bool end_place(unsigned place)
{
	bool any = false;
	for (uint32_t i = 0; i < web.conns && (web.answers[place] || self.pool.outside[place] || web.moving); i++) {
		struct conn *c = &web.conn[i];
		const enum state state = c->state == MOVING ? c->was : c->state;
		if (!c->tcp || !((state == SENDING && c->place == place) || c->holds >> place & 1))
			continue;
		if (c->state == MOVING) {
			c->lost = true;
			continue;
		}
		count(CNT_web_replaced);
		abort_conn(c);
		any = true;
	}
	return any;
}

/* Does for places that are not in force what the control core waits for. */
static bool look_at_places(void)
{
	const uint64_t ended = web.published ? shared_load(&web.published->ended) : WEB_NO_PLACE;
	const bool any = ended < WEB_PLACES && ended != web.ended && end_place((unsigned)ended);
	web.ended = ended;
	if (unlikely(retired_held() < WEB_PLACES))
		core_tx_reclaim();
	note_held();
	return any;
}

bool serve_expire(void)
{
	const uint32_t now = now_ms();
	bool any = look_at_places();
	for (unsigned s = 0; s < STATES; s++)
		while (web.first[s] != NONE && (int32_t)(now - web.conn[web.first[s]].due_ms) >= 0) {
			expire(&web.conn[web.first[s]]);
			any = true;
		}
	return any;
}

uint64_t serve_deadline(void)
{
	const uint32_t now = now_ms();
	uint32_t left = UINT32_MAX;
	for (unsigned s = 0; s < STATES; s++)
		if (web.first[s] != NONE)
			left = u32_min(left, web.conn[web.first[s]].due_ms - now);
	if (unlikely(retired_held() < WEB_PLACES))
		left = u32_min(left, HELD_MS);
	return left == UINT32_MAX ? UINT64_MAX : core_tsc_after(left * 1000000ull);
}

/* --- moves to another core (net/tcp/move.h) --- */

/* A connection on its way, followed by ranges, the rest of the slot's text, and bytes: of an incomplete head
 * (HEAD), or of requests that wait (SENDING). */
struct moved {
	uint64_t site; /* the address of the site that the answer comes from, which all cores have in common */
	uint64_t at, end;
	uint32_t due_ms, began_ms, acked, file, named, range, ranges, text, bytes;
	uint8_t state, closes, fin, parts;
};
_Static_assert(sizeof(struct moved) + RAW_MAX <= TCP_MOVE_APP_MAX, "an incomplete head fits");

static bool sends_file(const struct conn *c) { return c->state == SENDING && c->file != SITE_NONE; }

static uint32_t waiting_bytes(const struct conn *c)
{
	uint32_t n = 0;
	for (uint32_t buf = c->first; buf != NONE; buf = waiting_of(buf)->next)
		n += waiting_of(buf)->pkt.len;
	return n;
}

static struct moved describe(const struct conn *c)
{
	const struct slot *s = c->slot != NONE ? &web.slot[c->slot] : NULL;
	const bool sends = c->state == SENDING;
	return (struct moved){
		.site = c->file == SITE_NONE ? 0 : (uint64_t)(uintptr_t)web.site[c->place],
		.at = c->at, .end = c->end, .due_ms = c->due_ms, .began_ms = c->began_ms,
		.acked = c->acked, .file = c->file, .named = s ? s->named : 0, .range = s ? s->range : 0,
		.ranges = s && sends && c->parts ? s->ranges.n : 0, .text = s && sends ? s->text_bytes - s->text_at : 0,
		.bytes = c->state == HEAD ? s->raw.n : waiting_bytes(c), .state = c->state, .closes = c->closes, .fin = c->fin,
		.parts = c->parts && sends};
}

static uint32_t move_leave(struct tcp_conn *tcp, uint8_t *to)
{
	struct conn *c = conn_of(tcp);
	const struct slot *s = c->slot != NONE ? &web.slot[c->slot] : NULL;
	const struct moved m = describe(c);
	uint8_t current;
	const uint64_t n = sizeof m + m.ranges * sizeof(struct http_range) + (uint64_t)m.text + m.bytes;
	(void)site_now(&current);
	if (n > TCP_MOVE_APP_MAX || (c->state == HEAD && m.bytes > RAW_MAX) || (sends_file(c) && c->place != current))
		return TCP_MOVE_APP_BUSY;
	memcpy(to, &m, sizeof m);
	to += sizeof m;
	if (m.ranges)
		memcpy(to, s->ranges.range, m.ranges * sizeof(struct http_range));
	to += m.ranges * sizeof(struct http_range);
	if (m.text)
		memcpy(to, s->text + s->text_at, m.text);
	to += m.text;
	if (c->state == HEAD)
		memcpy(to, s->raw.bytes, m.bytes);
	for (uint32_t buf = c->first; buf != NONE; buf = waiting_of(buf)->next) {
		memcpy(to, waiting_of(buf)->pkt.data, waiting_of(buf)->pkt.len);
		to += waiting_of(buf)->pkt.len;
	}
	begin_moving(c);
	return (uint32_t)n;
}

static void move_left(struct tcp_conn *tcp, bool taken)
{
	struct conn *c = conn_of(tcp);
	if (taken) {
		forget(c);
	} else if (c->lost) {
		count(CNT_web_replaced);
		abort_conn(c);
	} else {
		join(c, (enum state)c->was);
		end_moving(c);
	}
}

/* May an answer go on like this, from the present site? All that is used of m later is checked here, or is
 * harmless. A site that is not in force takes no further answers: published.h relies on that. */
static bool sending_ok(const struct moved *m, const struct http_range *range, const struct site *site)
{
	if (m->file == SITE_NONE)
		return m->at == m->end && !m->parts;
	if (!site || m->site != (uint64_t)(uintptr_t)site || m->file >= site->files || m->named >= site->files)
		return false;
	const uint64_t size = site->file[m->file].size;
	for (uint32_t i = 0; i < m->ranges; i++)
		if (range[i].first > range[i].last || range[i].last >= size)
			return false;
	return m->at <= m->end && m->end <= size && m->range <= m->ranges + 1;
}

/* Gives c a slot with what there was in that of the other core. False: there is none free. */
static bool join_slot(struct conn *c, const struct moved *m, const struct http_range *range, const uint8_t *text)
{
	if (!slot_take(c))
		return false;
	struct slot *s = &web.slot[c->slot];
	s->text_at = 0;
	s->text_bytes = m->text;
	memcpy(s->text, text, m->text);
	s->range = m->range;
	s->named = m->named;
	http_init_fields(&s->parser);
	begin_head(&s->parser, &s->raw);
	if (m->parts) {
		s->ranges.n = m->ranges;
		memcpy(s->ranges.range, range, m->ranges * sizeof *range);
		const struct site *site = web.site[c->place];
		s->size = site->file[m->file].size;
		s->type = http_media_type(site_text(site, site->file[m->named].path));
	}
	return true;
}

/* Requests that wait for the end of an answer. */
static bool join_waiting(struct conn *c, const uint8_t *bytes, uint32_t n)
{
	struct pkt p;
	if (n == 0)
		return true;
	if (tcp_unconsumed(c->tcp) < n || !pkt_alloc(&self.pool, &p))
		return false;
	if (n > buf_room(&self.pool)) {
		pkt_free(&self.pool, &p);
		return false;
	}
	memcpy(p.data, bytes, n);
	p.len = (uint16_t)n;
	wait_put(c, &p);
	return true;
}

/* The bytes of an incomplete head. */
static bool join_head(struct conn *c, const uint8_t *bytes, uint32_t n)
{
	struct slot *s = &web.slot[c->slot];
	if (n > RAW_MAX || http_input(&s->parser, bytes, n) != n || s->parser.state != HTTP_MORE || http_is_idle(&s->parser))
		return false;
	keep_raw(&s->raw, &s->parser, bytes, n);
	return true;
}

/* HEAD: the deadline stays that of the head's first byte. The other states begin theirs anew. */
static void join_in_order(struct conn *c, uint32_t due_ms)
{
	const uint32_t latest = now_ms() + SERVE_HEAD_MS;
	uint32_t after = web.last[HEAD];
	c->state = HEAD;
	c->due_ms = (int32_t)(latest - due_ms) > 0 && latest - due_ms < SERVE_HEAD_MS ? due_ms : latest;
	while (after != NONE && (int32_t)(web.conn[after].due_ms - c->due_ms) > 0)
		after = web.conn[after].prev;
	c->prev = after;
	c->next = after == NONE ? web.first[HEAD] : web.conn[after].next;
	*(after == NONE ? &web.first[HEAD] : &web.conn[after].next) = number_of(c);
	*(c->next == NONE ? &web.last[HEAD] : &web.conn[c->next].prev) = number_of(c);
}

/* c, in no list yet. False: m is refused. */
static bool join_state(struct conn *c, const struct moved *m, const uint8_t *more)
{
	struct http_range range[HTTP_RANGES_MAX];
	memcpy(range, more, m->ranges * sizeof *range);
	const uint8_t *text = more + m->ranges * sizeof *range;
	const struct site *site = site_now(&c->place);
	if (m->state == SENDING && !sending_ok(m, range, site))
		return false;
	if ((m->state == HEAD || m->text || m->parts) && !join_slot(c, m, range, text))
		return false;
	if (m->state == SENDING) {
		c->at = m->at;
		c->end = m->end;
		c->file = m->file;
	}
	return m->state == HEAD ? join_head(c, text + m->text, m->bytes) : join_waiting(c, text + m->text, m->bytes);
}

static bool lengths_ok(const struct moved *m, uint32_t n)
{
	return m->ranges <= HTTP_RANGES_MAX && m->text <= WEB_TEXT_MAX && m->bytes <= TCP_MOVE_APP_MAX &&
	       n == sizeof *m + m->ranges * sizeof(struct http_range) + m->text + m->bytes && m->state < STATES &&
	       m->closes <= 1 && m->fin <= 1 && m->parts <= 1 &&
	       (m->state == SENDING || (m->state == HEAD ? m->bytes > 0 : m->bytes == 0)) &&
	       (m->state == SENDING || (m->ranges == 0 && m->text == 0 && !m->parts));
}

static bool move_join(struct tcp_conn *tcp, const uint8_t *from, uint32_t n)
{
	struct moved m;
	if (n < sizeof m || web.conn_free == NONE)
		return false;
	memcpy(&m, from, sizeof m);
	if (!lengths_ok(&m, n))
		return false;
	struct conn *c = &web.conn[web.conn_free];
	web.conn_free = c->next;
	*c = (struct conn){.tcp = tcp, .slot = NONE, .first = NONE, .last = NONE, .state = MOVING, .was = IDLE,
	                   .file = SITE_NONE, .began_ms = m.began_ms, .acked = m.acked, .closes = m.closes,
	                   .fin = m.fin, .parts = m.parts};
	web.moving++;
	if (!join_state(c, &m, from + sizeof m)) {
		forget(c);
		return false;
	}
	end_moving(c);
	tcp_set_arg(tcp, c);
	if (m.state == HEAD)
		join_in_order(c, m.due_ms);
	else
		join(c, (enum state)m.state);
	if (m.state == SENDING)
		go_on(c);
	return true;
}

static const struct tcp_move_app moving[] = {
	{.app = &tcp_events, .leave = move_leave, .left = move_left, .join = move_join},
};

/* --- start --- */

size_t serve_slots_bytes(size_t room)
{
	const size_t n = u64_min(room / SLOT_SHARE / sizeof(struct slot), SLOTS_MAX);
	return align_up(n * sizeof(struct slot), 64);
}

/* The same on all cores, so that an answer in several parts can go on at another one. */
static void new_boundary(void)
{
	static const char what[] = "multipart/byteranges";
	uint64_t secret[2];
	core_secret(secret);
	const struct siphash_key key = {secret[0], secret[1]};
	fmt_format(web.boundary, sizeof web.boundary, "%016llx", (unsigned long long)siphash24(&key, what, sizeof what));
}

void serve_start(void *conns, uint32_t count, void *slots, size_t slots_bytes, uint16_t port)
{
	const uint32_t n = (uint32_t)(slots_bytes / sizeof(struct slot));
	web.conn = conns;
	web.slot = slots;
	web.conn_free = web.slot_free = NONE;
	for (uint32_t i = count; i-- > 0;) {
		web.conn[i].tcp = NULL;
		web.conn[i].next = web.conn_free;
		web.conn_free = i;
	}
	for (uint32_t i = n; i-- > 0;) {
		web.slot[i].next = web.slot_free;
		web.slot_free = i;
	}
	for (unsigned s = 0; s < STATES; s++)
		web.first[s] = web.last[s] = NONE;
	memset(web.site, 0, sizeof web.site);
	memset(web.answers, 0, sizeof web.answers);
	web.conns = count;
	web.moving = 0;
	web.ended = WEB_NO_PLACE;
	memset(((struct web_core *)dp_plugin_shared())->answers, 0, sizeof web.answers);
	note_held();
	http_init_fields(&web.parser);
	new_boundary();
	tcp_move_apps(tcp_data, moving, ARRAY_LEN(moving));
	const struct tcp_listen all = {.addr = NET_ADDR_ANY, .port = port, .nodelay = true, .app = &tcp_events};
	const int e = tcp_listen(tcp_data, &all);
	assert(e == E_OK); /* the only listener */
}

void serve_sites(const struct web_published *w)
{
	web.published = w;
	for (unsigned place = 0; place < WEB_PLACES; place++) {
		const struct site *site = w ? w->site[place] : NULL;
		if (web.site[place] != site)
			end_place(place);
		web.site[place] = site;
	}
}
