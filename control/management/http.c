/*
 * See http.h. A session is a connection and the request on it; its states:
 *
 *     READ    --head complete--> ANSWER --all given to TCP--> READ; after the last request CLOSE
 *     READ    --head of a PUT or DELETE--> CONTENT --content complete--> WORK --http_timer, in one turn or
 *             several--> ANSWER
 *     READ    --deadline--> CLOSE; if a head has begun, 408 is sent first
 *     READ    --head with a password--> AUTH --http_timer, in several turns--> as READ with the complete head
 *     AUTH, CONTENT, ANSWER --no progress, not finished in time, or the page is broken--> (reset)
 *     CLOSE   TCP sends the rest and waits for the peer's FIN; --deadline--> (reset)
 *
 * Input that arrives during an answer waits in in[], which is as large as TCP's window. Bytes count
 * as consumed for TCP only when they are parsed, so the window of a client that does not read its
 * answers closes. TCP's callbacks only store and parse input. http_timer makes the answers, a
 * bounded number of pieces per call, session by session.
 *
 * A connection without a session is being closed. At most HTTP_LEAVING connections are; a further
 * one is reset. TCP ends such a connection, or `sweep` does if the peer does not finish. The
 * connection's argument is &leaving[0] until the first sweep and &leaving[1] until the next.
 */
#include "control/management/http.h"

#include "control/config/config.h"
#include "control/config/running.h"
#include "dataplane/state.h"
#include "control/management/http_auth.h"
#include "control/management/http_host.h"
#include "control/management/page.h"
#include "control/management/places.h"
#include "control/host/stream.h"
#include "control/host/tcp_control.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/http/http.h"

#define IN_MAX TCP_CONTROL_RCV_BUF
#define CONTENT_MAX 1400 /* content bytes of a piece: one segment */
#define PIECE_MAX (HTTP_CHUNK_HEAD + CONTENT_MAX)
#define OUT_MAX (PIECE_MAX + sizeof HTTP_CHUNK_END + sizeof HTTP_CHUNK_LAST)
#define FIXED_MAX 65536u /* bytes of a text that is there, given to TCP at once */
#define WORK_MADE 4 /* a generated piece takes as long as giving TCP so many pieces of a text that is there */
#define CLOSE_NS (5 * SECOND_NS)
#define SHORT_NS (SECOND_NS / 100) /* retry interval while buffers are short */
#define SWEEP_NS (10 * SECOND_NS)
_Static_assert(CONTENT_MAX >= PAGE_ITEM_MAX, "any item fits");

enum session_state { SESSION_READ, SESSION_CONTENT, SESSION_AUTH, SESSION_WORK, SESSION_ANSWER, SESSION_CLOSE };

struct session {
	struct stream *stream; /* NULL: free */
	struct net_addr from;  /* its peer */
	enum session_state state;
	uint64_t due_ns;   /* deadline of this state */
	uint64_t end_ns;   /* ANSWER: deadline even of an answer that progresses */
	bool heard_fin;
	/* the answer */
	const struct page *page; /* NULL: the content is line_of(status) */
	struct page_walk walk;
	struct http_answer answer;
	const char *fixed, *fixed_end; /* the unsent rest of a text that is there; NULL: the page is generated */
	struct page_kept *kept;  /* the text, if it is a kept one: this session is among its readers */
	uint64_t since;          /* page_kept_number() when the request had come */
	bool writes;             /* it is the one that may change something */
	bool has_begun;          /* WORK: page->write has been called */
	uint32_t content;        /* bytes of a PUT's content that have come */
	struct http_auth auth;   /* whose request it is */
	bool head_only, has_head; /* no content wanted; the head has been written */
	bool ended;              /* the answer's end is in out[], or given to TCP */
	uint32_t out_at, out_len;
	uint32_t in_len;
	char out[OUT_MAX];
	uint8_t in[IN_MAX];
	struct http_parser parser;
};

struct http_stats http_stats;

static struct session *sessions; /* HTTP_SESSIONS */
static struct session *writer;   /* the last session that has changed something, or does */
static const struct page *writing; /* what it changes; NULL: page->stop has been called */
static uint8_t *content;         /* of its PUT */
static char reply[PAGE_REPLY_MAX];
static struct page replied;      /* its answer, */
static char replied_fields[512]; /* and the fields of that */
static unsigned next_turn;       /* the session that http_timer serves first */
static char leaving[2];
static unsigned leaving_count;
static uint64_t sweep_ns = UINT64_MAX; /* next sweep; UINT64_MAX: no connection is leaving */

/* --- start --- */

bool http_prepare(void)
{
	if (!sessions)
		sessions = core_private_alloc(HTTP_SESSIONS * sizeof *sessions);
	return page_kept_prepare() && sessions != NULL;
}

/* --- answers --- */

/* The session has its text, or wants it no longer. */
static void leave_text(struct session *s)
{
	if (s->kept)
		s->kept->readers--;
	s->kept = NULL;
}

static void to_read(struct session *s)
{
	s->state = SESSION_READ;
	s->due_ns = core_now_ns() + (http_is_idle(&s->parser) && s->in_len == 0 ? HTTP_IDLE_NS
	                                                                       : HTTP_HEAD_NS);
}

static void to_close(struct session *s)
{
	s->state = SESSION_CLOSE;
	s->due_ns = core_now_ns() + CLOSE_NS;
	s->end_ns = s->end_ns > s->due_ns ? s->end_ns : s->due_ns;
	stream_close(s->stream);
}

static uint64_t answer_ns(const struct page *page)
{
	return page && page->answer_ns ? page->answer_ns : HTTP_ANSWER_NS;
}

/* Begins an answer. page NULL: its content is the status in words. */
static void answer(struct session *s, unsigned status, const struct page *page)
{
	const struct http_request *r = &s->parser.request;
	s->state = SESSION_ANSWER;
	s->due_ns = core_now_ns() + HTTP_STALL_NS;
	s->end_ns = core_now_ns() + answer_ns(page);
	s->page = page;
	s->walk = (struct page_walk){.query = r->query,
	                             .below = page && page->path ? r->path + strlen(page->path) : "",
	                             .role = s->auth.user[0] ? s->auth.role : ROLE_READ};
	s->fixed = page ? page->fixed : NULL;
	s->fixed_end = page ? page->fixed_end : NULL;
	s->since = page_kept_number();
	s->head_only = r->method == HTTP_HEAD;
	s->has_head = s->ended = false;
	s->out_at = s->out_len = 0;
	s->answer = (struct http_answer){.status = status, .minor = r->minor, .close = r->close};
	http_stats.requests[status / 100]++;
}

/* RFC 9110 7.4. An HTTP/1.0 request may lack Host. Such a request is answered, because every
 * browser sends Host, but some scrapers and health checks do not (docs/http.md). */
static bool is_misdirected(const struct http_request *r)
{
	return r->host[0] && !http_host_is_ours(r->host);
}

/* --- changes --- */

static bool has_writer(void)
{
	return writer && writer->stream && writer->writes;
}

static bool is_working(void)
{
	return has_writer() && writer->state == SESSION_WORK;
}

static void stop_writing(void)
{
	if (writing && writing->stop)
		writing->stop();
	writing = NULL;
}

/* What a page is told of its PUT or DELETE. */
static struct page_write write_of(const struct session *s, const struct page *page)
{
	const struct http_request *r = &s->parser.request;
	reply[0] = 0;
	return (struct page_write){.remove = r->method == HTTP_DELETE,
	                           .request = r,
	                           .user = s->auth.user,
	                           .from = &s->from,
	                           .again = s->has_begun,
	                           .below = r->path + strlen(page->path),
	                           .query = r->query,
	                           .content = content,
	                           .bytes = r->content,
	                           .reply = {.out = {.at = reply, .size = sizeof reply}}};
}

/* Answers with what the page has written to `reply`. */
static void answer_reply(struct session *s, const struct page *page, const struct page_write *w, unsigned status)
{
	fmt_format(replied_fields, sizeof replied_fields, "%s%s", page->fields ? page->fields : "", w->fields);
	replied = (struct page){.type = page->type, .fields = replied_fields, .parts = w->parts};
	if (!w->parts) {
		replied.fixed = reply;
		replied.fixed_end = reply + w->reply.out.used;
	}
	answer(s, status, &replied);
}

/* Takes memory for the content of a PUT. False: there is none, and the answer has begun. */
static bool take_memory(struct session *s, const struct page *page)
{
	unsigned status = 413;
	struct page_write w = write_of(s, page);
	content = NULL;
	if (w.bytes && page->take)
		content = page->take(&w, &status);
	if (content || w.bytes == 0)
		return true;
	s->parser.request.close |= w.bytes > HTTP_BODY_MAX; /* it is not read */
	if (w.reply.out.used)
		answer_reply(s, page, &w, status);
	else
		answer(s, status, NULL);
	return false;
}

static void read_requests(struct session *s);

/* A request that changes a page: waits for the content, if there is any. */
static void begin_write(struct session *s, const struct page *page)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct http_request *r = &s->parser.request;
	if (has_writer()) {
		r->close |= r->content > HTTP_BODY_MAX;
		answer(s, 503, NULL);
		return;
	}
	stop_writing(); /* of a client that has gone */
	s->has_begun = false;
	if (!page->take && r->content <= HTTP_BODY_MAX)
		r->content = 0; /* of no use: http_next() discards it */
	if (!take_memory(s, page))
		return;
	writer = s;
	writing = page;
	if (page->bulk && r->content) {
		r->close = true; /* the window stays large, and in[] does not hold so much */
		stream_set_rcv_buf(s->stream, TCP_CONTROL_RCV_GIVEN);
	}
	s->writes = true;
	s->content = 0;
	s->state = r->content ? SESSION_CONTENT : SESSION_WORK;
	s->due_ns = core_now_ns() + HTTP_STALL_NS;
	s->end_ns = core_now_ns() + answer_ns(page);
	if (r->expects)
		stream_send(s->stream, go_on, sizeof go_on - 1);
}

/* Takes as much of n bytes as belongs to the content; returns how much. */
static uint32_t take_content(struct session *s, const uint8_t *data, uint32_t n)
{
	n = http_content(&s->parser, n);
	memcpy(content + s->content, data, n);
	s->content += n;
	stream_consumed(s->stream, n);
	s->due_ns = core_now_ns() + HTTP_STALL_NS;
	s->due_ns = s->due_ns < s->end_ns ? s->due_ns : s->end_ns;
	if (s->content == s->parser.request.content)
		s->state = SESSION_WORK;
	return n;
}

static void read_content(struct session *s)
{
	const uint32_t n = take_content(s, s->in, s->in_len);
	s->in_len -= n;
	memmove(s->in, s->in + n, s->in_len);
}

/* Makes the change, or a part of it; at last the answer. */
static void write_page(struct session *s)
{
	const struct http_request *r = &s->parser.request;
	const struct page *page = page_find(r->path);
	struct page_write w = write_of(s, page);
	const unsigned status = page->write(&w);
	s->has_begun = true;
	s->due_ns = core_now_ns() + HTTP_STALL_NS; /* the page sees to it that this ends */
	if (status == 0)
		return;
	if (!w.parts) /* else what the answer is made from stays until that has ended */
		stop_writing();
	answer_reply(s, page, &w, status);
}

static bool is_write(const struct http_request *r)
{
	return r->method != HTTP_GET && r->method != HTTP_HEAD;
}

/* The methods that change this page, as bits. */
static unsigned methods_of(const struct page *page)
{
	return !page || !page->write ? 0 : page->methods ? page->methods : 1u << HTTP_PUT | 1u << HTTP_DELETE;
}

static bool may_write(const struct page *page, const struct http_request *r)
{
	return methods_of(page) >> r->method & 1;
}

/* True if a page of another host has a browser send this: it would add the user's password by itself (CSRF). Browsers
 * name the page's origin in requests that change something (Fetch: `Origin`); other clients name none. */
static bool is_foreign(const struct http_request *r)
{
	char host[HTTP_TARGET_MAX];
	const struct text origin = text_of(r->field[HTTP_ORIGIN]);
	size_t at = text_find(origin, '/') + 2, n = 0;
	if (origin.len == 0)
		return false;
	const bool six = at < origin.len && origin.at[at] == '[';
	for (; at < origin.len && n < sizeof host - 1 &&
	     !(origin.at[at] == ':' && (!six || origin.at[at - 1] == ']')); at++)
		host[n++] = origin.at[at];
	host[n] = 0;
	return !http_host_is_ours(host);
}

/* 200, or why this user may not have the page. */
static unsigned access_status(const struct session *s, const struct page *page)
{
	const struct http_request *r = &s->parser.request;
	const enum role needs = page && page->open ? ROLE_NONE : is_write(r) ? ROLE_CONFIGURE : ROLE_READ;
	if (s->auth.state == HTTP_AUTH_WRONG || (needs && s->auth.role == ROLE_NONE))
		return 401;
	return s->auth.role < needs || (is_write(r) && is_foreign(r)) ? 403 : 200;
}

/* The client has been authenticated, or sent no credentials. */
static void begin_page(struct session *s)
{
	struct http_request *r = &s->parser.request;
	const struct page *page = page_find(r->path);
	const unsigned status = access_status(s, page);
	if (r->content > HTTP_BODY_MAX && (status != 200 || !may_write(page, r)))
		r->close = true; /* so much is not read for nothing */
	if (status != 200) {
		answer(s, status, NULL);
	} else if (!page) {
		answer(s, 404, NULL);
	} else if (may_write(page, r)) {
		begin_write(s, page);
	} else if (is_write(r) || (!page->parts && !page->fixed && !page->choose)) {
		answer(s, 405, NULL);
	} else if (page->choose) {
		const struct page *chosen = page->choose(r);
		answer(s, chosen ? 200 : 406, chosen);
	} else if (page->exists && !page->exists(r->path + strlen(page->path))) {
		answer(s, 404, NULL);
	} else {
		answer(s, page->status ? page->status() : 200, page);
	}
}

static void begin_answer(struct session *s)
{
	struct http_request *r = &s->parser.request;
	s->auth = (struct http_auth){.state = HTTP_AUTH_NONE};
	if (is_misdirected(r)) {
		r->close |= r->content > HTTP_BODY_MAX;
		count(CNT_http_misdirected);
		answer(s, 421, NULL);
		return;
	}
	if (r->status != 200) {
		answer(s, r->status, NULL);
		return;
	}
	http_auth_begin(&s->auth, r, &s->from);
	if (s->auth.state != HTTP_AUTH_CHECK) {
		begin_page(s);
		return;
	}
	s->state = SESSION_AUTH;
	s->due_ns = s->end_ns = core_now_ns() + HTTP_AUTH_NS;
}

/* Continues the check of a password; returns the time of the next call. */
static uint64_t authenticate(struct session *s, uint64_t now)
{
	const uint64_t due = http_auth_step(&s->auth, now);
	if (s->auth.state == HTTP_AUTH_CHECK)
		return due;
	begin_page(s);
	read_requests(s); /* content that came meanwhile */
	return now;
}

/* The content of an answer without a page; an object below /api/v1/config. */
#define LINE_MAX 256
static const char *line_of(unsigned status)
{
	return status == 421 ? "Misdirected Request: ask for an address or the hostname of this "
	                       "machine, or for a name that its configuration has as "
	                       "\"http host NAME\""
	                     : http_reason(status);
}

/* The field Allow of a 405 (RFC 9110 10.2.1). */
#define ALLOW_MAX 64
static const char *allow_of(const struct http_request *r, char buf[ALLOW_MAX])
{
	static const char *const words[] = {[HTTP_PUT] = "PUT", [HTTP_DELETE] = "DELETE", [HTTP_POST] = "POST",
	                                    [HTTP_PATCH] = "PATCH"};
	const struct page *page = r->status == 200 ? page_find(r->path) : NULL;
	const bool gets = !page || page->parts || page->fixed || page->choose;
	struct fmt_buf out = {.at = buf, .size = ALLOW_MAX};
	fmt_put(&out, "Allow: %s", gets ? "GET, HEAD" : "");
	for (unsigned m = 0; m < ARRAY_LEN(words); m++)
		if (words[m] && methods_of(page) >> m & 1)
			fmt_put(&out, "%s%s", out.used > 7 ? ", " : "", words[m]);
	fmt_put(&out, "\r\n");
	return buf;
}

/* The challenges of a 401 (RFC 9110 11.6.1). RFC 6750 3: the error is for a token that was sent. */
#define BASIC "WWW-Authenticate: Basic realm=\"hayate\", charset=\"UTF-8\"\r\n"
#define BEARER "WWW-Authenticate: Bearer realm=\"hayate\""
static const char *challenges(const struct http_auth *a)
{
	return a->token ? BASIC BEARER ", error=\"invalid_token\"\r\n" : BASIC BEARER "\r\n";
}

/* The field of a 403: RFC 6750 3 wants it where the role of a token does not suffice. */
static const char *challenge_403(const struct http_auth *a)
{
	return a->token && a->role < ROLE_CONFIGURE ? BEARER ", error=\"insufficient_scope\"\r\n" : "";
}

/* Has the answer be the page's kept text, if it can be. */
static void take_text(struct session *s)
{
	struct page_kept *k = page_kept(s->page, s->since);
	if (!k)
		return;
	k->readers++;
	s->kept = k;
	s->fixed = k->text;
	s->fixed_end = k->text + k->len;
}

/* Writes the head to out[], and the content if there is no page. False: a field of it is not known yet. */
static bool put_head(struct session *s)
{
	char fields[512 + PAGE_FIELDS_MAX], allow[ALLOW_MAX];
	const struct page *page = s->page;
	char text[LINE_MAX];
	const bool json = !page && strncmp(s->parser.request.path, "/api/v1/config", 14) == 0;
	const char *line = text;
	fmt_format(text, sizeof text, json ? "{\"error\":\"%s\"}" : "%s", line_of(s->answer.status));
	s->answer.type = page ? page->type : json ? "application/json" : "text/plain; charset=utf-8";
	s->answer.fields = fields;
	fmt_format(fields, sizeof fields, "%s",
	           page                       ? page->fields ? page->fields : ""
	           : s->answer.status == 401  ? challenges(&s->auth)
	           : s->answer.status == 403  ? challenge_403(&s->auth)
	           : s->answer.status == 405  ? allow_of(&s->parser.request, allow)
	           : s->answer.status == 503  ? "Retry-After: 1\r\n"
	                                      : "");
	if (page && page->head && !page->head(fields + strlen(fields)))
		return false;
	if (page && page->keeps)
		take_text(s);
	s->answer.length = !page      ? strlen(line) + 1
	                   : s->fixed ? (uint64_t)(s->fixed_end - s->fixed)
	                              : HTTP_LENGTH_UNKNOWN;
	if (s->answer.length == HTTP_LENGTH_UNKNOWN && s->answer.minor == 0)
		s->answer.close = true; /* the end of the connection is the end of the content */
	size_t n = http_answer_put(s->out, sizeof s->out, &s->answer);
	assert(n > 0);
	s->answer.fields = NULL;
	if (!page && !s->head_only) {
		memcpy(s->out + n, line, strlen(line));
		n += strlen(line);
		s->out[n++] = '\n';
	}
	s->out_len = (uint32_t)n;
	s->has_head = true;
	s->ended = !page || s->head_only;
	return true;
}

/* Writes the next piece of a generated page to out[]. The first piece follows the head, so that a
 * short answer is one segment with one acknowledgement. False: the page is broken. */
static bool put_piece(struct session *s)
{
	bool chunked = http_is_chunked(&s->answer);
	uint32_t head = s->out_len, begin = head + (chunked ? HTTP_CHUNK_HEAD : 0);
	struct page_text t = {.out = {.at = s->out, .size = PIECE_MAX, .used = begin}};
	s->ended = !page_fill(s->page, &s->walk, &t);
	if (t.broken)
		return false;
	assert(t.out.used > begin || head || s->ended || t.later); /* an item fits into an empty piece */
	if (!chunked) {
		s->out_len = t.out.used;
		return true;
	}
	if (t.out.used > begin) {
		http_chunk_head_put(s->out + head, t.out.used - begin);
		memcpy(s->out + t.out.used, HTTP_CHUNK_END, 2);
		s->out_len = t.out.used + 2;
	}
	if (s->ended) {
		memcpy(s->out + s->out_len, HTTP_CHUNK_LAST, sizeof HTTP_CHUNK_LAST - 1);
		s->out_len += sizeof HTTP_CHUNK_LAST - 1;
	}
	return true;
}

/* Resets the connection, so that the client recognizes the answer as incomplete (RFC 9112 8). */
static void break_off(struct session *s)
{
	http_auth_forget(&s->auth);
	leave_text(s);
	struct stream *stream = s->stream;
	s->stream = NULL;
	http_stats.sessions--;
	stream_abort(stream);
}

/* Sends the next part of a fixed page, as far as there is room. False: TCP has no buffer. */
static bool send_fixed(struct session *s)
{
	const uint32_t n = stream_send(s->stream, s->fixed, u32_min((uint32_t)(s->fixed_end - s->fixed), FIXED_MAX));
	s->fixed += n;
	s->ended = s->fixed == s->fixed_end;
	return n > 0;
}

/* Sends the head in out[] and the kept text behind it in one piece, so that they share segments. The room before the
 * text is for such a call. */
static bool send_with_head(struct session *s)
{
	const uint32_t head = s->out_len, bytes = head + (uint32_t)(s->fixed_end - s->fixed);
	_Static_assert(OUT_MAX <= PAGE_KEPT_HEAD, "the head fits before the text");
	memcpy(s->kept->text - head, s->out, head);
	const uint32_t n = stream_send(s->stream, s->kept->text - head, u32_min(bytes, FIXED_MAX));
	s->out_at = u32_min(n, head);
	s->fixed += n - s->out_at;
	s->ended = s->fixed == s->fixed_end;
	return n > 0;
}

/* The same as send_fixed for out[]. */
static bool send_made(struct session *s)
{
	uint32_t n = stream_send(s->stream, s->out + s->out_at, s->out_len - s->out_at);
	s->out_at += n;
	return n > 0;
}

/* Parses requests from in[] until an answer begins. */
static void read_requests(struct session *s)
{
	const enum core_pace pace = core_pace(PACE_LONG); /* a page may do a command's work */
	while (s->state <= SESSION_CONTENT && s->in_len) {
		if (s->state == SESSION_CONTENT) {
			read_content(s);
			continue;
		}
		bool idle = http_is_idle(&s->parser);
		uint32_t n = http_input(&s->parser, s->in, s->in_len);
		s->in_len -= n;
		memmove(s->in, s->in + n, s->in_len);
		stream_consumed(s->stream, n);
		if (s->parser.state == HTTP_REQUEST)
			begin_answer(s);
		else if (idle)
			to_read(s); /* a head has begun, and with it HTTP_HEAD_NS */
	}
	(void)core_pace(pace);
	if (s->state == SESSION_CONTENT && s->heard_fin)
		break_off(s);
	else if (s->state == SESSION_READ && s->heard_fin)
		to_close(s); /* after FIN no request can be completed */
}

/* The whole answer has been given to TCP. */
static void finish(struct session *s)
{
	bool last = s->answer.close;
	s->writes = false;
	leave_text(s);
	http_next(&s->parser);
	if (last) {
		stream_consumed(s->stream, s->in_len);
		s->in_len = 0;
		to_close(s);
		return;
	}
	to_read(s);
	read_requests(s);
}

/* True if the answer is incomplete and TCP has room for a piece of it. */
static bool owes(const struct session *s)
{
	return s->stream && s->state == SESSION_ANSWER && stream_room(s->stream) >= OUT_MAX;
}

/* Number of buffers with data that this source has not acknowledged. */
static uint32_t bufs_of(const struct net_addr *source)
{
	uint32_t bufs = 0;
	for (unsigned i = 0; i < HTTP_SESSIONS; i++) {
		struct tcp_info info;
		if (!sessions[i].stream || !net_addr_same_source(&sessions[i].from, source))
			continue;
		stream_info(sessions[i].stream, &info);
		bufs += info.bufs;
	}
	return bufs;
}

/* May this session take another buffer? A source holds no more buffers than are left (dynamic queue
 * thresholds: Choudhury and Hahne, 1998). A source that reads nothing thus takes half of the
 * buffers, and two such sources a third each. Some are always left for another source and for the
 * console. */
static bool has_share(const struct session *s)
{
	const uint32_t used = tcp_control_pool.count - tcp_control_pool.free;
	const uint32_t left = tcp_control_spare();
	return used < left || bufs_of(&s->from) < left; /* mostly the first test suffices */
}

/* The work of what was sent of a text that is there. */
static unsigned fixed_work(const struct session *s, const char *from)
{
	return 1 + (unsigned)(s->fixed - from) / CONTENT_MAX;
}

/* Sends one piece of an answer. Returns the work that this took, for HTTP_WORK_PER_TURN; 0: there is nothing to send,
 * no room, or no buffer. */
static unsigned advance(struct session *s)
{
	unsigned work = WORK_MADE;
	bool moved = true;
	if (!owes(s) || !has_share(s))
		return 0;
	if (s->out_at == s->out_len && !s->ended) {
		s->out_at = s->out_len = 0;
		const bool begins = !s->has_head;
		if (begins && !put_head(s))
			return 0;
		const char *from = s->fixed;
		if (begins && s->kept && !s->ended) {
			moved = send_with_head(s);
			work += fixed_work(s, from);
			if (!moved || s->out_at < s->out_len)
				return moved ? work : 0;
		} else if (s->fixed && s->out_len == 0) {
			moved = send_fixed(s);
			work = fixed_work(s, from);
		}
		if (!s->fixed && !s->ended && !put_piece(s)) {
			break_off(s);
			return work;
		}
	}
	if (s->out_at < s->out_len)
		moved = send_made(s);
	if (s->ended && s->out_at == s->out_len)
		finish(s);
	return moved ? work : 0;
}

/* --- time --- */

/* The session's deadline has passed. */
static void expire(struct session *s)
{
	http_stats.timeouts += s->state != SESSION_READ || !http_is_idle(&s->parser);
	if (s->state == SESSION_READ && !http_is_idle(&s->parser)) {
		s->parser.request.close = true;
		s->parser.state = HTTP_REQUEST; /* like a refused request */
		answer(s, 408, NULL);
	} else if (s->state == SESSION_READ) {
		to_close(s);
	} else {
		break_off(s);
	}
}

/* Resets connections that have been leaving for a whole interval, for example because the peer's
 * window stays closed. Returns the time of the next sweep. */
static uint64_t sweep(uint64_t now)
{
	struct stream *stream;
	uint32_t cursor = 0;
	if (now < sweep_ns)
		return sweep_ns;
	sweep_ns = UINT64_MAX;
	while ((stream = stream_next(&cursor)) != NULL) {
		if (stream->arg == &leaving[1]) {
			stream_abort(stream);
			leaving_count--;
		} else if (stream->arg == &leaving[0]) {
			stream->arg = &leaving[1];
			sweep_ns = now + SWEEP_NS;
		}
	}
	return sweep_ns;
}

uint64_t http_timer(void)
{
	uint64_t now = core_now_ns(), due, auth_due = UINT64_MAX;
	unsigned left = HTTP_WORK_PER_TURN, idle = 0;
	if (!tcp_control || !sessions)
		return UINT64_MAX;
	const enum core_pace pace = core_pace(PACE_LONG); /* likewise */
	for (unsigned i = 0; i < HTTP_SESSIONS; i++)
		if (sessions[i].stream && sessions[i].state == SESSION_AUTH)
			auth_due = u64_min(auth_due, authenticate(&sessions[i], now));
	if (is_working())
		write_page(writer);
	else if (!has_writer())
		stop_writing(); /* of a client that has gone */
	/* round robin, a piece each, until no session has more or the turn's share is used */
	while (left && idle < HTTP_SESSIONS && !tcp_control_is_short()) {
		struct session *s = &sessions[next_turn++ % HTTP_SESSIONS];
		const unsigned work = advance(s);
		idle = work ? 0 : idle + 1;
		left -= work < left ? work : left;
	}
	(void)core_pace(pace);
	if (left == 0 || is_working())
		return now;
	due = u64_min(sweep(now), auth_due);
	for (unsigned i = 0; i < HTTP_SESSIONS; i++) {
		struct session *s = &sessions[i];
		if (s->stream && now >= s->due_ns)
			expire(s);
		if (s->stream && s->due_ns < due)
			due = s->due_ns;
		if (owes(s) && now + SHORT_NS < due)
			due = now + SHORT_NS; /* just expired, or waiting for a buffer */
	}
	return due;
}

/* --- connections --- */

/* The session of a connection, NULL when it is leaving. */
static struct session *session_of(const struct stream *stream)
{
	void *arg = stream->arg;
	return arg == &leaving[0] || arg == &leaving[1] ? NULL : arg;
}

/* Closes a connection that has no session any more. If its peer does not close, it stays for up
 * to two sweeps. */
static void leave(struct stream *stream)
{
	leaving_count++;
	stream->arg = &leaving[0];
	stream_close(stream);
	if (sweep_ns == UINT64_MAX)
		sweep_ns = core_now_ns() + SWEEP_NS;
}

static bool is_idle(const struct session *s)
{
	return s->state == SESSION_READ && http_is_idle(&s->parser) && s->in_len == 0;
}

static const struct net_addr *holder(unsigned place)
{
	return sessions[place].stream ? &sessions[place].from : NULL;
}

/* Chooses the idle (`idle`) or busy session that is to make room for another: one of the source
 * that holds most sessions, or of `only` unless that is NULL. Of these it is the one nearest to its
 * deadline, which has been idle for longest or progresses least. NULL: there is none. *most: the
 * number of sessions that its source holds; 0 with `only`. */
static struct session *dispensable(bool idle, const struct net_addr *only, unsigned *most)
{
	struct session *found = NULL;
	for (unsigned i = 0; i < HTTP_SESSIONS; i++) {
		struct session *s = &sessions[i];
		if (!s->stream || is_idle(s) != idle || (only && !net_addr_same_source(&s->from, only)))
			continue;
		unsigned held = only ? 0 : places_held(holder, HTTP_SESSIONS, &s->from);
		if (found && (held < *most || (held == *most && s->due_ns >= found->due_ns)))
			continue;
		found = s;
		*most = held;
	}
	return found;
}

/* Ends a session to free its place. An idle one is closed, unless HTTP_LEAVING connections are
 * already being closed; any other is reset. */
static void make_room(struct session *s)
{
	if (!is_idle(s) || leaving_count >= HTTP_LEAVING) {
		break_off(s);
		return;
	}
	leave(s->stream);
	s->stream = NULL;
	http_stats.sessions--;
}

/* Finds a place for a new connection from `from`: a free one, that of an idle session, or that of a
 * busy session of a source that holds more (places.h). A source that already holds HTTP_PER_SOURCE
 * may take only the place of its own idle sessions. NULL: there is no place. */
static struct session *take_place(const struct net_addr *from)
{
	unsigned most = 0, held = places_held(holder, HTTP_SESSIONS, from);
	struct session *s;
	if (held >= HTTP_PER_SOURCE) {
		s = dispensable(true, from, &most);
	} else {
		for (s = sessions; s < sessions + HTTP_SESSIONS; s++)
			if (!s->stream)
				return s;
		s = dispensable(true, NULL, &most);
		if (!s && (s = dispensable(false, NULL, &most)) != NULL) {
			if (!places_may_take(held, most))
				return NULL;
			http_stats.full++;
		}
	}
	if (s)
		make_room(s);
	return s;
}

/* There is no place: the connection gets 503 and is closed, or is reset when HTTP_LEAVING
 * connections are being closed already. */
static bool turn_away(struct stream *stream)
{
	char head[HTTP_ANSWER_MAX];
	const struct http_answer a = {.status = 503, .minor = 1, .close = true,
	                              .fields = "Retry-After: 1\r\n"};
	http_stats.full++;
	if (leaving_count >= HTTP_LEAVING)
		return false;
	size_t n = http_answer_put(head, sizeof head, &a);
	stream_send(stream, head, (uint32_t)n);
	leave(stream);
	http_stats.requests[5]++;
	return true;
}

static bool on_admit(const struct stream *stream)
{
	struct tcp_info info;
	stream_info(stream, &info);
	const bool may = config_admits(&running.config.http.access, &info.remote);
	http_stats.refused += !may;
	return may;
}

static bool on_accept(struct stream *stream)
{
	struct tcp_info info;
	stream_info(stream, &info);
	struct session *s = take_place(&info.remote);
	if (!s)
		return turn_away(stream);
	s->stream = stream;
	s->from = info.remote;
	s->heard_fin = s->writes = false;
	s->end_ns = 0;
	s->in_len = s->out_at = s->out_len = 0;
	http_init_api(&s->parser);
	s->state = SESSION_READ;
	s->due_ns = core_now_ns() + HTTP_HEAD_NS; /* a new connection begins with a request */
	http_stats.sessions++;
	stream->arg = s;
	return true;
}

static uint32_t on_data(struct stream *stream, const uint8_t *data, uint32_t bytes)
{
	struct session *s = session_of(stream);
	uint32_t n = bytes;
	if (s && s->state == SESSION_CONTENT && s->in_len == 0) {
		const uint32_t content_bytes = take_content(s, data, n);
		data += content_bytes;
		n -= content_bytes;
	}
	if (!s || s->state == SESSION_CLOSE ||
	    (s->state != SESSION_CONTENT && s->state != SESSION_AUTH && s->parser.request.close)) {
		stream_consumed(stream, n); /* after the last request */
		return bytes;
	}
	const uint32_t taken = u32_min(n, IN_MAX - s->in_len); /* of a plain stream all (TCP's window) */
	memcpy(s->in + s->in_len, data, taken);
	s->in_len += taken;
	read_requests(s);
	return bytes - n + taken;
}

static void on_acked(struct stream *stream, uint32_t bytes)
{
	struct session *s = session_of(stream);
	if (!s || s->state == SESSION_READ || s->state == SESSION_AUTH || bytes == 0)
		return; /* what is acknowledged is of an earlier answer */
	uint64_t due = core_now_ns() + HTTP_STALL_NS;
	s->due_ns = due < s->end_ns ? due : s->end_ns;
}

static void on_fin(struct stream *stream)
{
	struct session *s = session_of(stream);
	if (!s) {
		stream_close(stream);
		return;
	}
	s->heard_fin = true;
	read_requests(s);
}

static void on_closed(struct stream *stream, int why)
{
	struct session *s = session_of(stream);
	(void)why;
	if (!s) {
		leaving_count--;
		return;
	}
	http_auth_forget(&s->auth);
	leave_text(s);
	s->stream = NULL;
	http_stats.sessions--;
}

void http_start(void)
{
	page_kept_start();
	for (unsigned i = 0; sessions && i < HTTP_SESSIONS; i++) {
		sessions[i].stream = NULL;
		sessions[i].kept = NULL;
		sessions[i].auth.login.state = LOGIN_IDLE; /* login_start has forgotten those that wait */
	}
	http_stats.sessions = leaving_count = 0;
	sweep_ns = UINT64_MAX;
}

const struct stream_app http_stream_app = {.admit = on_admit, .accept = on_accept, .data = on_data,
                                           .acked = on_acked, .fin = on_fin, .closed = on_closed};

void http_listen(uint16_t port)
{
	stream_listen(port, &http_stream_app);
}
