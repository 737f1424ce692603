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

#define NONE UINT32_MAX
#define SLOT_SHARE 32      /* slots may take this part of the memory */
#define SLOTS_MAX 512
#define AHEAD 65536        /* bytes to queue beyond the windows: see queue_room */

/* States. Each has a list of its connections, in the order of their deadlines. */
enum state {
	IDLE,    /* no byte of a request has come */
	HEAD,    /* the head of a request, or the body to be skipped, is incomplete: in the slot's parser */
	SENDING, /* an answer is not queued as a whole */
	LINGER,  /* we have closed */
	STATES,
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
	uint8_t place;   /* of the site from which the answer comes (published.h) */
	bool closes : 1; /* after this answer */
	bool fin : 1;    /* the peer has closed its half */
	bool parts : 1;  /* the slot has several ranges */
	uint32_t acked; /* bytes that the peer has acknowledged since began_ms, at most UINT32_MAX */
};
_Static_assert(sizeof(struct conn) == SERVE_CONN_BYTES, "what tcp_data_bytes is asked for");

struct slot {
	uint32_t next; /* free ones */
	uint32_t text_at, text_bytes;
	uint32_t range; /* the next one */
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
	uint64_t answers[WEB_PLACES];              /* as in struct web_core: connections that are SENDING */
	struct http_parser parser; /* of connections without a slot: between two requests while none of them is in work() */
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
 * How much of a file to queue now: as much as may be sent, and AHEAD. Queued buffers are missing elsewhere if the peer does
 * not read, and leave the cache while they wait.
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
		const uint32_t n = tcp_send(c->tcp, site_content(s, &s->file[c->file]) + c->at, want);
		c->at += n;
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
	s->text_bytes = (uint32_t)web_answer_part(s->text, sizeof s->text, &s->ranges, s->range, s->size, s->type, web.boundary);
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
		http_init_fields(p);
	}
	if (c->state != HEAD) /* its time began with the first byte */
		enter(c, HEAD);
}

/* Reads and answers requests until there is nothing to read or an answer has to wait. */
static void work(struct conn *c)
{
	struct http_parser *p = c->slot != NONE ? &web.slot[c->slot].parser : &web.parser;
	if (http_is_idle(p))
		http_set_log(p, log_is_on());
	while (c->first != NONE) {
		const struct waiting *w = waiting_of(c->first);
		wait_take(c, http_input(p, w->pkt.data, w->pkt.len));
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

/* Resets the connections with answers from that place. */
static bool end_answers(unsigned place)
{
	bool any = false;
	for (uint32_t n = web.first[SENDING], next; n != NONE && web.answers[place]; n = next) {
		next = web.conn[n].next;
		if (web.conn[n].place != place)
			continue;
		count(CNT_web_replaced);
		abort_conn(&web.conn[n]);
		any = true;
	}
	return any;
}

bool serve_expire(void)
{
	const uint32_t now = now_ms();
	const uint64_t ended = web.published ? shared_load(&web.published->ended) : WEB_NO_PLACE;
	bool any = ended < WEB_PLACES && end_answers((unsigned)ended);
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
	return left == UINT32_MAX ? UINT64_MAX : core_tsc_after(left * 1000000ull);
}

/* --- start --- */

size_t serve_slots_bytes(size_t room)
{
	const size_t n = u64_min(room / SLOT_SHARE / sizeof(struct slot), SLOTS_MAX);
	return align_up(n * sizeof(struct slot), 64);
}

static void new_boundary(void)
{
	uint64_t random[2];
	core_random(random, sizeof random);
	fmt_format(web.boundary, sizeof web.boundary, "%016llx%04llx", (unsigned long long)random[0],
	           (unsigned long long)random[1] & 0xffff);
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
	memset(((struct web_core *)dp_plugin_shared())->answers, 0, sizeof web.answers);
	http_init_fields(&web.parser);
	new_boundary();
	const int e = tcp_listen(tcp_data, &(struct tcp_listen){.addr = NET_ADDR_ANY, .port = port, .nodelay = true, .app = &tcp_events});
	assert(e == E_OK); /* the only listener */
}

void serve_sites(const struct web_published *w)
{
	web.published = w;
	for (unsigned place = 0; place < WEB_PLACES; place++) {
		const struct site *site = w ? w->site[place] : NULL;
		if (web.site[place] != site)
			end_answers(place);
		web.site[place] = site;
	}
}
