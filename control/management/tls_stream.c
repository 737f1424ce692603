/*
 * See tls_stream.h. The states of a session:
 *
 *     OPENING --the connection is established--> SHAKING       of a client
 *     SHAKING --handshake complete, the server accepts--> OPEN --the application closes--> CLOSING
 *     any     --failure, or the server refuses--> ENDING: an alert goes out, nothing is processed
 *
 * TCP's callbacks store what came, and tls_stream_timer works. Encrypted bytes count as consumed for TCP when
 * TLS has taken them from in[], so a peer whose data the application does not take is not read from. What the
 * application sends becomes a record at once, in out[], which always has room for an alert (ALERT_ROOM).
 */
#include "control/management/tls_stream.h"

#include "control/crypto/library.h"
#include "control/host/tcp_control.h"
#include "control/management/places.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/walltime.h"

#define OUT_MAX (2 * (TLS_WRITE_MAX + TLS_OVERHEAD) + ALERT_ROOM)
#define ALERT_ROOM 128
#define PLAIN_MAX 4096
#define READS_PER_TURN 4 /* of a session */
#define STEPS_PER_TURN 32
#define HANDSHAKE_CUT "the peer ended the connection in the TLS handshake"
#define ENDING_NS (2 * SECOND_NS)

enum session_state { OPENING, SHAKING, OPEN, CLOSING, ENDING };

struct session {
	struct stream stream; /* that the application sees: a server from OPEN on, a client always */
	struct stream *under; /* NULL: the place is free */
	struct tls *tls;      /* NULL in ENDING */
	struct net_addr from;
	enum session_state state;
	bool client;          /* it was opened here */
	const char *why;      /* of its end, static; NULL: as TCP says */
	struct tls_stats *stats;
	uint64_t due_ns;      /* SHAKING, CLOSING, ENDING: deadline */
	uint64_t active_ns;   /* when something last came or was acknowledged */
	bool fin, told_fin;   /* the peer's FIN has come; the application knows of an end */
	bool broken;          /* a record could not be made */
	bool waits;           /* the server has not taken all, and consumed nothing since */
	bool more;            /* SHAKING: there is a step to do that waits for nothing */
	bool shut;            /* stream_close(under) has been called */
	uint32_t in_at, in_len, out_at, out_len, plain_at, plain_len;
	uint8_t in[TCP_CONTROL_RCV_BUF], out[OUT_MAX], plain[PLAIN_MAX];
};

struct tls_stats tls_stats, tls_client_stats;

static struct session *accepted; /* TLS_SESSIONS; NULL: there is no server */
static struct session *opened;   /* TLS_CLIENTS; NULL: nothing was opened yet */
static const struct stream_app *server;
static unsigned next_turn;
static uint64_t rest_ns; /* no handshakes until then */

#define PLACES (TLS_SESSIONS + TLS_CLIENTS)

/* The session in a place; NULL: the place is free. */
static struct session *session_at(unsigned place)
{
	struct session *all = place < TLS_SESSIONS ? accepted : opened;
	struct session *s = all + (place < TLS_SESSIONS ? place : place - TLS_SESSIONS);
	return all && s->under ? s : NULL;
}

uint64_t tls_failed(const struct tls_stats *t)
{
	uint64_t n = t->timeouts + t->cut;
	for (unsigned i = 0; i < TLS_FAILURES; i++)
		n += t->failed[i];
	return n;
}

/* --- bytes --- */

static uint32_t io_receive(void *arg, uint8_t *to, uint32_t n)
{
	struct session *s = arg;
	n = u32_min(n, s->in_len - s->in_at);
	memcpy(to, s->in + s->in_at, n);
	s->in_at += n;
	if (n)
		stream_consumed(s->under, n);
	return n;
}

static uint32_t io_send(void *arg, const uint8_t *from, uint32_t n)
{
	struct session *s = arg;
	if (s->out_at) {
		memmove(s->out, s->out + s->out_at, s->out_len - s->out_at);
		s->out_len -= s->out_at;
		s->out_at = 0;
	}
	n = u32_min(n, OUT_MAX - s->out_len);
	memcpy(s->out + s->out_len, from, n);
	s->out_len += n;
	return n;
}

static const struct tls_io io = {io_receive, io_send};

/* Gives TCP what it takes of out[]; then, if nothing more is to come, closes. */
static void flush(struct session *s)
{
	if (s->state == OPENING)
		return;
	if (s->out_at < s->out_len)
		s->out_at += stream_send(s->under, s->out + s->out_at, s->out_len - s->out_at);
	if (s->out_at == s->out_len && s->state >= CLOSING && !s->shut) {
		s->shut = true;
		stream_close(s->under);
	}
}

/* --- ends --- */

/* Does the application know of the stream? */
static bool is_known(const struct session *s)
{
	return s->state == OPEN || s->state == CLOSING || (s->client && s->state != ENDING);
}

static bool is_shaking(const struct session *s)
{
	return s->state == OPENING || s->state == SHAKING;
}

static void tell_closed(struct session *s, int why)
{
	const struct stream_app *app = s->stream.app;
	if (app->closed)
		app->closed(&s->stream, why);
}

/* Forgets the session; its connection is somebody else's, or has ended. */
static void release(struct session *s)
{
	tls_close(s->tls);
	s->tls = NULL;
	s->under = NULL;
	s->stats->sessions--;
	s->stats->shaking -= is_shaking(s);
}

/* Ends it with a reset; `why` is for the application, if it has the stream. */
static void break_off(struct session *s, int why)
{
	struct stream *under = s->under;
	const bool known = is_known(s);
	release(s);
	stream_abort(under);
	if (known)
		tell_closed(s, why);
}

/* Nothing more is processed; what is in out[] goes out, and the connection is closed. */
static void end(struct session *s)
{
	s->stats->shaking -= is_shaking(s);
	const bool known = is_known(s);
	s->state = ENDING;
	s->due_ns = core_now_ns() + ENDING_NS;
	tls_close(s->tls);
	s->tls = NULL;
	stream_consumed(s->under, s->in_len - s->in_at);
	s->in_at = s->in_len;
	flush(s);
	if (known)
		tell_closed(s, E_RESET);
}

static void fail(struct session *s)
{
	const enum tls_failure why = tls_failure(s->tls);
	s->stats->failed[why]++;
	s->why = tls_failure_text(why);
	end(s);
}

/* --- operations of the application --- */

static struct session *session_of(struct stream *s)
{
	return (struct session *)(void *)s; /* its first member */
}

static const struct session *looked_at(const struct stream *s)
{
	return (const struct session *)(const void *)s;
}

static uint32_t tls_room(const struct stream *stream)
{
	const struct session *s = looked_at(stream);
	const uint32_t used = s->out_len - s->out_at + TLS_OVERHEAD + ALERT_ROOM;
	return s->state != OPEN || s->broken || used >= OUT_MAX ? 0 : u32_min(OUT_MAX - used, TLS_WRITE_MAX);
}

static uint32_t tls_send(struct stream *stream, const void *data, uint32_t n)
{
	struct session *s = session_of(stream);
	n = u32_min(n, tls_room(stream));
	if (n == 0)
		return 0;
	if (!tls_write(s->tls, data, n)) {
		s->broken = true; /* the application hears of it from the timer, not within its call */
		return 0;
	}
	flush(s);
	return n;
}

static void tls_consumed(struct stream *stream, uint32_t n)
{
	if (n)
		session_of(stream)->waits = false; /* offered again by the timer */
}

static void tls_shut(struct stream *stream)
{
	struct session *s = session_of(stream);
	if (s->state != OPEN)
		return;
	s->state = CLOSING;
	s->due_ns = core_now_ns() + TLS_CLOSE_NS;
	tls_end(s->tls);
	flush(s);
}

static void tls_abort(struct stream *stream)
{
	struct session *s = session_of(stream);
	struct stream *under = s->under;
	release(s);
	stream_abort(under);
}

static void tls_info(const struct stream *stream, struct tcp_info *info)
{
	const struct session *s = looked_at(stream);
	stream_info(s->under, info);
	info->unsent += s->out_len - s->out_at;
}

/* in[] is as large as TCP's window, and remains so. */
static void tls_set_rcv_buf(struct stream *stream, uint32_t bytes)
{
	(void)stream;
	(void)bytes;
}

static const char *tls_why(const struct stream *stream)
{
	return looked_at(stream)->why;
}

const char *tls_stream_version(const struct stream *stream)
{
	return tls_version(looked_at(stream)->tls);
}

static const struct stream_ops ops = {
	.send = tls_send, .room = tls_room, .consumed = tls_consumed, .close = tls_shut, .abort = tls_abort,
	.info = tls_info, .set_rcv_buf = tls_set_rcv_buf, .why = tls_why,
};

/* --- work --- */

/* The handshake is over. */
static void open_stream(struct session *s)
{
	s->stats->handshakes[strcmp(tls_version(s->tls), "TLSv1.3") == 0]++;
	s->stats->shaking--;
	s->state = OPEN;
	const struct stream_app *app = s->stream.app;
	if (s->client && app->connected)
		app->connected(&s->stream);
	if (s->client || app->accept(&s->stream))
		return;
	s->state = ENDING; /* `closed` is not called for a stream that was not accepted */
	end(s);
}

/* Steps of a handshake until it waits, ends, or has used the time of this turn. Returns what it took. */
static uint64_t shake(struct session *s, uint64_t spent_ns)
{
	const uint64_t began = clock_tsc();
	uint64_t took = 0;
	for (unsigned i = 0; i < STEPS_PER_TURN && spent_ns + took < TLS_TURN_NS; i++) {
		const uint64_t before = took;
		const enum tls_step step = tls_handshake(s->tls);
		took = clock_ns(&self.clock, clock_tsc() - began);
		s->stats->longest_ns = u64_max(s->stats->longest_ns, took - before);
		if (step == TLS_READY)
			open_stream(s);
		else if (step == TLS_FAILED)
			fail(s);
		s->more = step == TLS_MORE;
		if (!s->more)
			break;
	}
	if (s->under)
		flush(s);
	return took;
}

/* Gives the application what it takes. False: it is not to be called again. */
static bool offer(struct session *s)
{
	s->waits = true; /* unless it consumes within the call: then the timer offers the rest */
	const uint32_t taken = s->stream.app->data(&s->stream, s->plain + s->plain_at, s->plain_len - s->plain_at);
	if (!s->under)
		return false; /* the application has aborted it */
	s->plain_at += taken;
	if (s->plain_at < s->plain_len)
		return false;
	s->waits = false;
	s->plain_at = s->plain_len = 0;
	return true;
}

/* Decrypts and hands over, some records. Returns true if there may be more. */
static bool pump(struct session *s)
{
	int got = 0;
	if (s->told_fin) { /* what comes behind close_notify is ignored (RFC 8446 6.1) */
		stream_consumed(s->under, s->in_len - s->in_at);
		s->in_at = s->in_len;
	}
	if (s->waits || s->told_fin)
		return false;
	for (unsigned i = 0; i < READS_PER_TURN; i++) {
		if (s->plain_len == 0) {
			got = tls_read(s->tls, s->plain, PLAIN_MAX);
			if (got <= 0)
				break;
			s->plain_len = (uint32_t)got;
		}
		if (!offer(s))
			return false;
	}
	if (got == TLS_BROKEN || s->broken) {
		fail(s);
		return false;
	}
	if ((got == TLS_ENDED || (got == 0 && s->fin && s->in_at == s->in_len)) && !s->told_fin) {
		s->told_fin = true;
		if (s->stream.app->fin)
			s->stream.app->fin(&s->stream);
		return false;
	}
	return got > 0;
}

/* Deadlines; false: the session has ended. */
static bool in_time(struct session *s, uint64_t now)
{
	if (s->state == OPEN || s->state == OPENING || now < s->due_ns)
		return true;
	if (s->state == SHAKING) {
		s->stats->timeouts++;
		s->why = "the TLS handshake took too long";
	}
	break_off(s, E_TIMEOUT);
	return false;
}

/* The peer has closed the connection in the handshake, and will never say more. */
static void cut(struct session *s)
{
	s->stats->cut += s->client;
	s->why = HANDSHAKE_CUT;
	end(s);
}

uint64_t tls_stream_timer(void)
{
	const uint64_t now = core_now_ns();
	uint64_t due = UINT64_MAX, spent = 0;
	bool steps = false; /* of handshakes can be done */
	if (tls_stats.sessions == 0 && tls_client_stats.sessions == 0)
		return UINT64_MAX;
	next_turn = (next_turn + 1) % PLACES;
	for (unsigned i = 0; i < PLACES; i++) {
		struct session *s = session_at((next_turn + i) % PLACES);
		if (!s || !in_time(s, now))
			continue;
		flush(s);
		if (s->state == SHAKING && now >= rest_ns)
			spent += shake(s, spent);
		if (s->under && (s->state == OPEN || s->state == CLOSING) && pump(s))
			due = now;
		if (s->under && s->state == SHAKING && s->fin && s->in_at == s->in_len)
			cut(s);
		if (s->under && s->state != OPEN && s->state != OPENING)
			due = u64_min(due, s->due_ns);
		steps = steps || (s->under && s->state == SHAKING && (s->in_at < s->in_len || s->more));
	}
	if (spent >= TLS_TURN_NS)
		rest_ns = now + 2 * spent; /* `now` is the beginning of this turn */
	return steps ? u64_min(due, u64_max(now, rest_ns)) : due;
}

uint64_t tls_stream_deadline(void)
{
	if (tls_stats.sessions == 0 && tls_client_stats.sessions == 0)
		return UINT64_MAX;
	for (unsigned i = 0; i < PLACES; i++) {
		const struct session *s = session_at(i);
		if (s && ((s->plain_len && !s->waits) || s->broken))
			return core_now_ns();
	}
	return UINT64_MAX;
}

/* --- connections --- */

static const struct net_addr *holder(unsigned place)
{
	return accepted[place].under ? &accepted[place].from : NULL;
}

/* Chooses the session that is to make room: of the source that holds most, or of `only`, the oldest handshake,
 * or else the session that was silent for longest. NULL: there is none. */
static struct session *dispensable(const struct net_addr *only)
{
	struct session *found = NULL;
	unsigned most = 0;
	for (unsigned i = 0; i < TLS_SESSIONS; i++) {
		struct session *s = &accepted[i];
		const bool shaking = s->state == SHAKING || s->state == ENDING;
		if (!s->under || (only && !net_addr_same_source(&s->from, only)) ||
		    (!shaking && core_now_ns() - s->active_ns < TLS_SILENT_NS))
			continue;
		const unsigned held = places_held(holder, TLS_SESSIONS, &s->from);
		const bool found_shaking = found && (found->state == SHAKING || found->state == ENDING);
		if (!found || held > most || (held == most && shaking > found_shaking) ||
		    (held == most && shaking == found_shaking && s->active_ns < found->active_ns)) {
			found = s;
			most = held;
		}
	}
	return found;
}

static struct session *take_place(const struct net_addr *from)
{
	struct session *s;
	const bool many = places_held(holder, TLS_SESSIONS, from) >= TLS_PER_SOURCE;
	for (s = accepted; !many && s < accepted + TLS_SESSIONS; s++)
		if (!s->under)
			return s;
	s = dispensable(many ? from : NULL);
	tls_stats.full++;
	if (s)
		break_off(s, E_RESET);
	return s;
}

/* A session begins in a place whose other members the caller has set. */
static void begin(struct session *s, struct stream *under, enum session_state state)
{
	s->under = under;
	s->state = state;
	s->why = NULL;
	s->active_ns = core_now_ns();
	s->due_ns = s->active_ns + TLS_HANDSHAKE_NS;
	s->fin = s->told_fin = s->broken = s->waits = s->more = s->shut = false;
	s->in_at = s->in_len = s->out_at = s->out_len = s->plain_at = s->plain_len = 0;
	s->stats->sessions++;
	s->stats->shaking++;
}

static bool on_accept(struct stream *under)
{
	struct tcp_info info;
	stream_info(under, &info);
	if (server->admit && !server->admit(under))
		return false; /* the server counts it */
	struct session *s = take_place(&info.remote);
	if (!s)
		return false;
	s->tls = tls_open(&io, s);
	if (!s->tls) {
		tls_stats.failed[TLS_FAILURE_MEMORY]++;
		return false;
	}
	s->from = info.remote;
	s->client = false;
	s->stats = &tls_stats;
	s->stream = (struct stream){.ops = &ops, .app = server};
	begin(s, under, SHAKING);
	under->arg = s;
	return true;
}

static uint32_t on_data(struct stream *under, const uint8_t *data, uint32_t n)
{
	struct session *s = under->arg;
	s->active_ns = core_now_ns();
	if (s->state == ENDING) {
		stream_consumed(under, n);
		return n;
	}
	if (s->in_at) {
		memmove(s->in, s->in + s->in_at, s->in_len - s->in_at);
		s->in_len -= s->in_at;
		s->in_at = 0;
	}
	n = u32_min(n, sizeof s->in - s->in_len); /* all of it, by TCP's window */
	memcpy(s->in + s->in_len, data, n);
	s->in_len += n;
	return n;
}

static void on_acked(struct stream *under, uint32_t bytes)
{
	struct session *s = under->arg;
	s->active_ns = core_now_ns();
	flush(s);
	if ((s->state == OPEN || s->state == CLOSING) && s->stream.app->acked)
		s->stream.app->acked(&s->stream, bytes);
}

static void on_fin(struct stream *under)
{
	struct session *s = under->arg;
	s->fin = true;
	if (s->state == ENDING && s->shut)
		return; /* TCP ends it */
	flush(s);
}

static void on_closed(struct stream *under, int why)
{
	struct session *s = under->arg;
	const bool known = is_known(s);
	if (s->client && s->state == SHAKING) {
		s->stats->cut++;
		s->why = HANDSHAKE_CUT;
	}
	release(s);
	if (known)
		tell_closed(s, why);
}

bool tls_stream_prepare(void)
{
	if (!accepted)
		accepted = core_private_alloc(TLS_SESSIONS * sizeof *accepted);
	return accepted && crypto_start();
}

void tls_stream_stop(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (session_at(i))
			release(session_at(i));
	rest_ns = 0;
}

void tls_stream_listen(uint16_t port, const struct stream_app *app)
{
	static const struct stream_app under = {.accept = on_accept, .data = on_data, .acked = on_acked,
	                                        .fin = on_fin, .closed = on_closed};
	server = app;
	stream_listen(port, &under);
}

/* --- opening --- */

static void on_connected(struct stream *under)
{
	struct session *s = under->arg;
	s->state = SHAKING;
	s->more = true; /* the first message is ours */
	s->due_ns = core_now_ns() + TLS_HANDSHAKE_NS;
}

/* A free place; NULL: there is none, or no memory. */
static struct session *client_place(void)
{
	if (!opened)
		opened = core_private_alloc(TLS_CLIENTS * sizeof *opened);
	for (unsigned i = 0; opened && i < TLS_CLIENTS; i++)
		if (!opened[i].under)
			return &opened[i];
	return NULL;
}

static struct session *refuse(enum tls_failure failure, const char **why)
{
	tls_client_stats.failed[failure]++;
	*why = tls_failure_text(failure);
	return NULL;
}

/* A place with a session that has no connection yet; NULL: *why. */
static struct session *prepare_client(const struct stream_target *to, const struct tls_peer *peer, const char **why)
{
	struct tls_peer p = *peer;
	enum tls_failure failure;
	struct session *s = client_place();
	if (!s)
		return refuse(TLS_FAILURE_MEMORY, why);
	if (net_addr_is_any(&p.addr))
		p.addr = to->remote;
	p.utc_ns = walltime_ns();
	s->tls = tls_open_client(&io, s, &p, &failure);
	return s->tls ? s : refuse(failure, why);
}

struct stream *tls_stream_connect(const struct stream_target *to, const struct tls_peer *peer,
                                  const struct stream_app *app, void *arg, const char **why)
{
	static const struct stream_app under = {.connected = on_connected, .data = on_data, .acked = on_acked,
	                                        .fin = on_fin, .closed = on_closed};
	int error;
	struct session *s = prepare_client(to, peer, why);
	if (!s)
		return NULL;
	struct stream *connection = stream_connect(to, &under, s, &error);
	if (!connection) {
		*why = stream_error_text(error);
		tls_close(s->tls);
		s->tls = NULL;
		return NULL;
	}
	s->from = to->remote;
	s->client = true;
	s->stats = &tls_client_stats;
	s->stream = (struct stream){.ops = &ops, .app = app, .arg = arg};
	begin(s, connection, OPENING);
	return &s->stream;
}
