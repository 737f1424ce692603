/* control/management/tls_stream.c between a made-up TCP and a made-up server, with the real Mbed TLS and OpenSSL's
 * client: data that one side does not take, ends in each state, limits of time, work, places and memory. After each
 * test the heap of the libraries is used as before it. */
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/openssl_client.h"

#include "control/crypto/library.h"
#include "control/crypto/tls.h"

/* A step of a handshake takes step_ns. */
static uint64_t step_ns;
static unsigned calls;
static enum tls_step timed_handshake(struct tls *t);
#undef fail /* of cmocka */
#define tls_handshake timed_handshake
#include "control/management/tls_stream.c"
#undef tls_handshake

#include "runtime/entropy.h"

#define WIRES 64
#define QUEUE 131072

void *mbedtls_calloc(size_t n, size_t size);
void mbedtls_free(void *at);

struct core_self self;
uint64_t host_tsc;
static uint64_t now_ns;

uint64_t core_now_ns(void) { return now_ns; }

static enum tls_step timed_handshake(struct tls *t)
{
	calls++;
	host_tsc += step_ns;
	return tls_handshake(t);
}

void *core_private_alloc(size_t bytes)
{
	static uint8_t heap[CRYPTO_HEAP] __attribute__((aligned(4096)));
	return bytes == CRYPTO_HEAP ? heap : calloc(1, bytes);
}

bool entropy_get(void *out, size_t bytes)
{
	random_fill(out, bytes);
	return true;
}

/* --- TCP, and what the server knows of each connection --- */

struct queue {
	uint8_t *bytes;
	uint32_t at, n;
};

static struct wire {
	struct stream under;
	struct net_addr from;
	struct openssl_client client;
	struct queue up, down;
	bool open;           /* TCP has the connection */
	uint32_t unconsumed; /* bytes that count against the window */
	uint32_t allowed;    /* bytes that may still arrive */
	uint32_t room;       /* that TCP has for bytes to send */
	uint32_t arrived;
	unsigned closes, aborts;
	bool said_fin;       /* on_fin was called */
	/* the server's */
	struct stream *stream; /* NULL: not accepted, or ended */
	bool accepted;
	uint8_t *got;
	uint32_t n, takes;
	bool at_once; /* it consumes what it takes, in the same call */
	unsigned fins, ends;
	int why;
} wires[WIRES];

static struct stream_app below; /* of tls_stream.c */
static bool admits, accepts, aborts_in_data, inside;
static uint64_t moved;

static struct wire *wire_of(const struct stream *s) { return (struct wire *)(uintptr_t)s; }

static uint32_t under_send(struct stream *s, const void *data, uint32_t n)
{
	struct wire *w = wire_of(s);
	assert_true(w->open && !w->closes);
	n = u32_min(n, w->room);
	assert_in_range(w->down.n + n, 0, QUEUE);
	memcpy(w->down.bytes + w->down.n, data, n);
	w->down.n += n;
	w->room -= w->room == UINT32_MAX ? 0 : n;
	moved += n;
	return n;
}

static uint32_t under_room(const struct stream *s) { return wire_of(s)->room; }

static void under_consumed(struct stream *s, uint32_t n)
{
	struct wire *w = wire_of(s);
	assert_true(w->open);
	assert_in_range(n, 0, w->unconsumed);
	w->unconsumed -= n;
}

static void under_close(struct stream *s)
{
	struct wire *w = wire_of(s);
	assert_true(w->open);
	assert_int_equal(w->closes++, 0);
	moved++;
}

static void under_abort(struct stream *s)
{
	struct wire *w = wire_of(s);
	assert_true(w->open);
	w->open = false;
	w->aborts++;
	moved++;
}

static void under_info(const struct stream *s, struct tcp_info *info)
{
	*info = (struct tcp_info){.remote = wire_of(s)->from};
}

static void under_rcv_buf(struct stream *s, uint32_t bytes)
{
	(void)s, (void)bytes;
	assert_true(false);
}

static const struct stream_ops under_ops = {.send = under_send, .room = under_room, .consumed = under_consumed,
	.close = under_close, .abort = under_abort, .info = under_info, .set_rcv_buf = under_rcv_buf};

void stream_listen(uint16_t port, const struct stream_app *app)
{
	assert_int_equal(port, 443);
	below = *app;
}

/* No connection is opened here (tests/unit/control/crypto/test_tls_client.c, tests/system/test_tls_client.py). */
struct stream *stream_connect(const struct stream_target *to, const struct stream_app *app, void *arg, int *error)
{
	(void)to, (void)app, (void)arg;
	*error = E_NOMEM;
	assert_true(false);
	return NULL;
}

const char *stream_error_text(int error) { return error ? "error" : ""; }
uint64_t walltime_ns(void) { return 0; }

/* --- the server --- */

static struct wire *wire_under(struct stream *s) { return wire_of(session_of(s)->under); }

static bool app_admit(const struct stream *s)
{
	assert_true(wire_of(s) >= wires && wire_of(s) < wires + WIRES);
	return admits;
}

static bool app_accept(struct stream *s)
{
	struct wire *w = wire_under(s);
	assert_null(s->arg);
	assert_false(w->accepted);
	s->arg = w;
	w->accepted = true;
	if (!accepts)
		return false;
	w->stream = s;
	return true;
}

static uint32_t app_data(struct stream *s, const uint8_t *data, uint32_t n)
{
	struct wire *w = s->arg;
	assert_ptr_equal(w->stream, s);
	assert_false(inside);
	assert_in_range(n, 1, PLAIN_MAX);
	if (aborts_in_data) {
		w->stream = NULL;
		stream_abort(s);
		return n;
	}
	n = u32_min(n, w->takes);
	assert_in_range(w->n + n, 0, QUEUE);
	memcpy(w->got + w->n, data, n);
	w->n += n;
	moved += n;
	if (w->at_once)
		stream_consumed(s, n);
	return n;
}

static void app_fin(struct stream *s)
{
	struct wire *w = s->arg;
	assert_ptr_equal(w->stream, s);
	w->fins++;
	moved++;
}

static void app_closed(struct stream *s, int why)
{
	struct wire *w = s->arg;
	assert_ptr_equal(w->stream, s);
	w->stream = NULL;
	w->ends++;
	w->why = why;
}

static const struct stream_app app = {.admit = app_admit, .accept = app_accept, .data = app_data, .fin = app_fin,
                                      .closed = app_closed};

/* --- time and bytes --- */

static const struct openssl_wish versions[] = {{.version = TLS1_2_VERSION}, {.version = TLS1_3_VERSION}};
#define EACH_VERSION(wish) for (const struct openssl_wish *wish = versions; wish < versions + 2; wish++)

static size_t used_before;

static int setup(void **state)
{
	(void)state;
	tls_stream_stop();
	tls_stats = (struct tls_stats){0};
	admits = accepts = true;
	aborts_in_data = inside = false;
	step_ns = 0;
	used_before = crypto_use().used;
	return 0;
}

/* The peer's connection; it is in use until wire_free(). NULL wish: the test gives the bytes. False: it is refused. */
static bool wire_open(struct wire *w, const struct openssl_wish *wish, uint32_t from)
{
	*w = (struct wire){.under = {.ops = &under_ops, .app = &below}, .from = net_addr_ip4(from), .open = true,
	                   .allowed = UINT32_MAX, .room = UINT32_MAX, .takes = UINT32_MAX, .up = {malloc(QUEUE), 0, 0},
	                   .down = {malloc(QUEUE), 0, 0}, .got = malloc(QUEUE)};
	if (wish)
		openssl_open(&w->client, wish);
	if (below.accept(&w->under))
		return true;
	w->open = false;
	return false;
}

/* TCP says that the connection has ended. */
static void wire_end(struct wire *w, int why)
{
	if (w->open) {
		w->open = false;
		below.closed(&w->under, why);
	}
}

static void wire_free(struct wire *w)
{
	wire_end(w, E_RESET);
	assert_null(w->stream);
	if (w->client.ssl)
		openssl_close(&w->client);
	free(w->up.bytes);
	free(w->down.bytes);
	free(w->got);
	w->up.bytes = NULL;
}

/* No session is left, and the heap is as at the start. */
static int end_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WIRES; i++)
		if (wires[i].up.bytes)
			wire_free(&wires[i]);
	assert_int_equal(tls_stats.sessions, 0);
	assert_int_equal(tls_stats.shaking, 0);
	assert_int_equal(crypto_use().used, used_before);
	return 0;
}

static void put(struct wire *w, const void *bytes, uint32_t n)
{
	assert_in_range(w->up.n + n, 0, QUEUE);
	memcpy(w->up.bytes + w->up.n, bytes, n);
	w->up.n += n;
}

/* What the window lets arrive; what the client says, and hears. */
static void carry(struct wire *w)
{
	if (w->client.ssl) {
		openssl_step(&w->client);
		w->up.n += openssl_give(&w->client, w->up.bytes + w->up.n, QUEUE - w->up.n);
	}
	const uint32_t n = u32_min(u32_min(w->up.n - w->up.at, w->allowed), TCP_CONTROL_RCV_BUF - w->unconsumed);
	if (w->open && n && !w->said_fin) {
		w->unconsumed += n;
		w->allowed -= w->allowed == UINT32_MAX ? 0 : n;
		w->arrived += n;
		moved += n;
		assert_int_equal(below.data(&w->under, w->up.bytes + w->up.at, n), n);
		w->up.at += n;
		if (w->up.at == w->up.n)
			w->up.at = w->up.n = 0;
	}
	if (w->client.ssl) {
		openssl_take(&w->client, w->down.bytes, w->down.n);
		w->down.n = 0;
		openssl_step(&w->client);
	}
}

/* Until nobody has anything to do now. The timer says when it is to be called, and is not called otherwise. */
static void settle(void)
{
	uint64_t before, due;
	unsigned turns = 0;
	do {
		assert_in_range(turns++, 0, 100000);
		before = moved;
		due = u64_min(tls_stream_timer(), tls_stream_deadline());
		for (struct wire *w = wires; w < wires + WIRES; w++)
			if (w->up.bytes)
				carry(w);
	} while (moved != before || due <= now_ns);
}

static void pass(uint64_t ns)
{
	now_ns += ns;
	host_tsc += ns;
	settle();
}

static void fin(struct wire *w)
{
	w->said_fin = true;
	below.fin(&w->under);
}

static struct wire *connected(const struct openssl_wish *wish, uint32_t from)
{
	struct wire *w = wires;
	while (w->up.bytes)
		w++;
	assert_true(wire_open(w, wish, from));
	settle();
	assert_true(w->stream && w->client.ready);
	return w;
}

static void say(struct wire *w, const void *bytes, uint32_t n)
{
	openssl_write(&w->client, bytes, n);
	settle();
}

/* Sends all, as the room comes. */
static void server_sends(struct wire *w, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t at = 0, stuck = 0; at < n; stuck++) {
		const uint32_t room = stream_room(w->stream), sent = stream_send(w->stream, bytes + at, n - at);
		assert_int_equal(sent, u32_min(room, n - at));
		at += sent;
		stuck = sent ? 0 : stuck;
		assert_in_range(stuck, 0, 10);
		settle();
	}
}

/* --- tests --- */

static uint8_t some[100000];

static void data_both_ways(void **state)
{
	(void)state;
	random_fill(some, sizeof some);
	EACH_VERSION(wish) {
		struct wire *w = connected(wish, 1);
		assert_int_equal(tls_stats.handshakes[wish->version == TLS1_3_VERSION], 1);
		for (uint32_t at = 0; at < sizeof some; at += 10000)
			say(w, some + at, 10000);
		assert_int_equal(w->n, sizeof some);
		assert_memory_equal(w->got, some, sizeof some);
		server_sends(w, some, 60000);
		assert_int_equal(w->client.n, 60000);
		assert_memory_equal(w->client.got, some, 60000);
		assert_int_equal(w->unconsumed, 0);
		wire_end(w, E_RESET);
		assert_int_equal(w->ends, 1);
		wire_free(w);
	}
	assert_int_equal(tls_failed(&tls_stats), 0);
}

/* What the server does not take is kept, counts against the window, and is offered again when it has consumed. */
static void server_takes_little(void **state)
{
	(void)state;
	random_fill(some, sizeof some);
	EACH_VERSION(wish) {
		struct wire *w = connected(wish, 1);
		const uint32_t hello = w->arrived;
		w->takes = 0;
		for (uint32_t at = 0; at < 60000; at += 10000)
			say(w, some + at, 10000);
		assert_int_equal(w->n, 0);
		/* TLS holds one record, and the window is full: the client waits */
		assert_in_range(w->arrived - hello, TCP_CONTROL_RCV_BUF, 16384 + 2 * TCP_CONTROL_RCV_BUF);
		assert_int_equal(w->unconsumed, TCP_CONTROL_RCV_BUF);
		pass(SECOND_NS);
		assert_int_equal(w->n, 0);
		while (w->n < 60000) {
			const uint32_t before = w->n;
			w->takes = 1 + random_below(3000);
			inside = true;
			stream_consumed(w->stream, 1);
			inside = false;
			settle();
			assert_true(w->n > before);
		}
		w->takes = UINT32_MAX;
		stream_consumed(w->stream, 1);
		settle();
		assert_int_equal(w->n, 60000);
		assert_memory_equal(w->got, some, 60000);
		wire_free(w);
	}
}

/* A server that takes less than it is offered and consumes that in the same call is offered the rest later: nothing
 * of what it has taken is left, so it will not consume again. */
static void server_consumes_at_once(void **state)
{
	(void)state;
	random_fill(some, sizeof some);
	EACH_VERSION(wish) {
		struct wire *w = connected(wish, 1);
		w->takes = PLAIN_MAX - 1;
		w->at_once = true;
		say(w, some, 10000);
		pass(SECOND_NS);
		assert_int_equal(w->n, 10000);
		assert_memory_equal(w->got, some, 10000);
		wire_free(w);
	}
}

/* TCP takes little: the room shrinks to nothing, no record is cut, and all arrives when TCP has buffers again. */
static void tcp_takes_little(void **state)
{
	(void)state;
	random_fill(some, sizeof some);
	EACH_VERSION(wish) {
		struct wire *w = connected(wish, 1);
		uint32_t sent = 0, n;
		w->room = 0;
		while ((n = stream_room(w->stream)) > 0) {
			n = u32_min(n, 1 + random_below(5000));
			assert_int_equal(stream_send(w->stream, some + sent, n), n);
			sent += n;
		}
		assert_in_range(sent, TLS_WRITE_MAX, OUT_MAX);
		assert_int_equal(stream_send(w->stream, some, 1), 0);
		assert_int_equal(w->down.n, 0);
		while (w->client.n < 50000) {
			w->room = 1 + random_below(3000);
			below.acked(&w->under, 0);
			n = u32_min(stream_room(w->stream), 50000 - sent);
			assert_int_equal(stream_send(w->stream, some + sent, n), n);
			sent += n;
			settle();
		}
		assert_memory_equal(w->client.got, some, 50000);
		wire_free(w);
	}
	assert_int_equal(tls_failed(&tls_stats), 0);
}

/* The handshake with a TCP that takes, and brings, a few bytes at a time. */
static void narrow_handshake(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		struct wire *w = wires;
		assert_true(wire_open(w, wish, 1));
		w->room = w->allowed = 0;
		for (unsigned i = 0; i < 3000 && !w->client.ready; i++) {
			w->room = w->allowed = 1 + random_below(3);
			settle();
		}
		w->room = w->allowed = UINT32_MAX;
		settle();
		assert_true(w->client.ready && w->stream);
		wire_free(w);
	}
}

/* The server closes: close_notify goes behind the data, TCP's end behind that; what comes is still received. */
static void server_closes(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		struct wire *w = connected(wish, 1);
		w->room = 0;
		assert_int_equal(stream_send(w->stream, some, 4000), 4000);
		stream_close(w->stream);
		stream_close(w->stream);
		assert_int_equal(stream_room(w->stream), 0);
		assert_int_equal(stream_send(w->stream, some, 1), 0);
		settle();
		assert_int_equal(w->closes, 0);
		say(w, "more", 4);
		assert_int_equal(w->n, 4);
		w->room = UINT32_MAX;
		below.acked(&w->under, 0);
		settle();
		assert_true(w->closes == 1 && w->client.ended && w->client.n == 4000);
		pass(TLS_CLOSE_NS / 2);
		assert_int_equal(w->ends, 0);
		if (wish == versions) { /* the client never closes */
			pass(TLS_CLOSE_NS / 2);
			assert_true(w->aborts == 1 && w->ends == 1 && w->why == E_TIMEOUT);
		} else {
			fin(w);
			settle();
			assert_int_equal(w->fins, 1);
			wire_end(w, E_OK);
			assert_true(w->ends == 1 && w->why == E_OK);
		}
		wire_free(w);
	}
	assert_int_equal(tls_failed(&tls_stats), 0);
}

/* The client closes, by close_notify or by TCP's FIN alone: the server hears of it once, and may still send. */
static void client_closes(void **state)
{
	(void)state;
	EACH_VERSION(wish)
		for (unsigned notify = 0; notify < 2; notify++) {
			struct wire *w = connected(wish, 1);
			w->takes = 0;
			openssl_write(&w->client, "last", 4);
			if (notify)
				SSL_shutdown(w->client.ssl);
			settle();
			if (!notify)
				fin(w);
			settle();
			assert_int_equal(w->fins, 0); /* before the data */
			w->takes = UINT32_MAX;
			stream_consumed(w->stream, 1);
			settle();
			assert_true(w->n == 4 && w->fins == 1);
			if (notify) { /* what follows is ignored */
				put(w, some, 3000);
				settle();
				assert_int_equal(w->unconsumed, 0);
				fin(w);
				settle();
			}
			assert_true(w->n == 4 && w->fins == 1);
			server_sends(w, some, 5000);
			stream_close(w->stream);
			settle();
			assert_true(w->client.n == 5000 && w->client.ended && w->closes == 1);
			wire_end(w, E_OK);
			assert_int_equal(w->ends, 1);
			wire_free(w);
		}
	assert_int_equal(tls_failed(&tls_stats), 0);
}

/* TCP ends the connection, or the client's bytes end, after each byte. */
static void ends_at_every_byte(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		struct wire *w = connected(wish, 1);
		const uint32_t handshake = w->arrived;
		say(w, "hello", 5);
		const uint32_t all = w->arrived;
		wire_free(w);
		for (uint32_t at = 0; at <= all; at++) {
			const bool opens = at >= handshake, reset = random_below(2);
			assert_true(wire_open(w, wish, 1));
			w->allowed = at;
			settle();
			if (opens)
				say(w, "hello", 5);
			assert_int_equal(w->accepted, opens);
			assert_int_equal(w->n, at == all ? 5 : 0);
			if (reset) {
				wire_end(w, E_RESET);
				assert_int_equal(w->ends, opens);
			} else {
				fin(w);
				settle();
				assert_int_equal(w->fins, opens);
				assert_int_equal(w->closes, !opens); /* in a handshake: it never says more */
				assert_int_equal(w->ends, 0);
			}
			wire_free(w);
		}
	}
	assert_int_equal(tls_failed(&tls_stats), 0);
}

/* The server aborts: when it is offered the stream, in the middle of data, and at any time. */
static void server_aborts(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		struct wire *w = wires;
		accepts = false;
		assert_true(wire_open(w, wish, 1));
		settle();
		assert_true(w->accepted && w->ends == 0 && w->closes == 1);
		accepts = true;
		wire_free(w);

		w = connected(wish, 1);
		aborts_in_data = true;
		say(w, "hello", 5);
		assert_true(w->aborts == 1 && w->ends == 0);
		aborts_in_data = false;
		wire_free(w);

		w = connected(wish, 1);
		w->takes = 0;
		say(w, "hello", 5);
		w->stream->ops->abort(w->stream);
		w->stream = NULL;
		settle();
		assert_true(w->aborts == 1 && w->ends == 0);
		wire_free(w);
	}
}

/* A peer that may not connect is reset before a byte of TLS, and takes no place. */
static void not_admitted(void **state)
{
	(void)state;
	admits = false;
	assert_false(wire_open(&wires[0], NULL, 1));
	assert_int_equal(tls_stats.sessions, 0);
	assert_int_equal(crypto_use().used, used_before);
}

/* Silence, and a byte a second, in a handshake. */
static void handshake_timeout(void **state)
{
	(void)state;
	assert_true(wire_open(&wires[0], NULL, 1));
	assert_true(wire_open(&wires[1], &versions[1], 1));
	wires[1].allowed = 0;
	for (unsigned second = 0; second < TLS_HANDSHAKE_NS / SECOND_NS - 1; second++) {
		wires[1].allowed = 1;
		pass(SECOND_NS);
		assert_true(wires[0].open && wires[1].open);
	}
	pass(SECOND_NS);
	assert_true(wires[0].aborts == 1 && wires[1].aborts == 1);
	assert_int_equal(tls_stats.timeouts, 2);
	assert_int_equal(tls_stats.sessions, 0);
}

/* Garbage, and a client that is too old: an alert, then the end of the connection; what still comes is dropped. */
static void refused(void **state)
{
	static const struct openssl_wish old = {.version = TLS1_1_VERSION, .ciphers = "ALL"};
	struct wire *w = wires;
	(void)state;
	assert_true(wire_open(w, &old, 1));
	settle();
	assert_true(w->client.failed && w->client.alert == SSL_AD_PROTOCOL_VERSION);
	assert_true(w->closes == 1 && w->open && !w->accepted);
	assert_int_equal(tls_stats.failed[TLS_FAILURE_AGREE], 1);
	assert_int_equal(tls_stats.shaking, 0);
	wire_end(w, E_OK);
	wire_free(w);

	assert_true(wire_open(w, NULL, 1));
	put(w, "GET / HTTP/1.1\r\n\r\n", 18);
	settle();
	assert_int_equal(w->closes, 1);
	put(w, some, 20000);
	settle();
	assert_true(w->up.n == 0 && w->unconsumed == 0);
	pass(ENDING_NS);
	assert_int_equal(w->aborts, 1);
	assert_int_equal(tls_stats.failed[TLS_FAILURE_PROTOCOL], 1);
	wire_free(w);

	/* the alert finds no room in TCP for a while */
	assert_true(wire_open(w, &old, 1));
	w->room = 0;
	settle();
	assert_int_equal(w->closes, 0);
	w->room = UINT32_MAX;
	below.acked(&w->under, 0);
	settle();
	assert_true(w->closes == 1 && w->client.alert == SSL_AD_PROTOCOL_VERSION);
}

/* A wrong tag ends the session of a server that has the stream; data before it is delivered. */
static void broken_record(void **state)
{
	(void)state;
	EACH_VERSION(wish) {
		struct wire *w = connected(wish, 1);
		tls_stats.failed[TLS_FAILURE_RECORD] = 0;
		openssl_write(&w->client, "good", 4);
		put(w, "", 0);
		w->up.n += openssl_give(&w->client, w->up.bytes, QUEUE);
		const uint32_t good = w->up.n;
		openssl_write(&w->client, "evil", 4);
		w->up.n += openssl_give(&w->client, w->up.bytes + good, QUEUE - good);
		w->up.bytes[w->up.n - 1] ^= 1;
		settle();
		assert_true(w->n == 4 && memcmp(w->got, "good", 4) == 0);
		assert_true(w->ends == 1 && w->why == E_RESET && w->closes == 1);
		assert_int_equal(tls_stats.failed[TLS_FAILURE_RECORD], 1);
		assert_int_equal(w->client.alert, SSL_AD_BAD_RECORD_MAC);
		wire_free(w);
	}
}

/* A client that renegotiates and does not read the refusals is ended; nothing that the server sends is lost. */
static void renegotiates_without_reading(void **state)
{
	struct wire *w = connected(&versions[0], 1);
	(void)state;
	w->room = 0;
	/* as after some refusals: OpenSSL asks for one only at a time */
	session_of(w->stream)->out_at = 0;
	session_of(w->stream)->out_len = OUT_MAX - 30;
	SSL_renegotiate(w->client.ssl);
	SSL_do_handshake(w->client.ssl);
	settle();
	assert_true(w->ends == 1 && !w->stream);
	assert_int_equal(tls_stats.failed[TLS_FAILURE_PROTOCOL], 1);
}

/* A long step ends the turn, and the handshakes rest for as long; all clients get their turn. */
static void work_is_bounded(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++)
		assert_true(wire_open(&wires[i], &versions[i & 1], i / 4));
	step_ns = 3 * TLS_TURN_NS;
	for (unsigned turn = 0; turn < 1000 && tls_stats.shaking; turn++) {
		const uint64_t before = host_tsc;
		for (unsigned i = 0; i < 12; i++)
			carry(&wires[i]);
		calls = 0;
		const uint64_t due = tls_stream_timer();
		assert_in_range(calls, 0, 1);
		if (calls && tls_stats.shaking)
			assert_in_range(due, now_ns + 2 * (host_tsc - before), now_ns + TLS_HANDSHAKE_NS);
		/* too early: nothing is done */
		now_ns += host_tsc - before;
		calls = 0;
		tls_stream_timer();
		assert_int_equal(calls, 0);
		now_ns = u64_max(now_ns, u64_min(due, now_ns + TLS_TURN_NS * 10));
		host_tsc = now_ns;
	}
	assert_int_equal(tls_stats.shaking, 0);
	assert_int_equal(tls_stats.longest_ns, step_ns);
	settle();
	for (unsigned i = 0; i < 12; i++)
		assert_true(wires[i].stream && wires[i].client.ready);
}

/* A source has TLS_PER_SOURCE places. When all are in use, the oldest handshake of the source that has most makes
 * room, or a session that was silent. */
static void places(void **state)
{
	unsigned i;
	(void)state;
	for (i = 0; i < TLS_PER_SOURCE; i++) {
		assert_true(wire_open(&wires[i], NULL, 1));
		pass(SECOND_NS / 100);
	}
	assert_true(wire_open(&wires[i], NULL, 1)); /* in the place of its first */
	assert_int_equal(wires[0].aborts, 1);
	assert_true(wires[1].open);
	for (i = TLS_PER_SOURCE + 1; i < TLS_SESSIONS + 1; i++)
		assert_true(wire_open(&wires[i], NULL, i));
	assert_int_equal(tls_stats.sessions, TLS_SESSIONS);
	pass(SECOND_NS / 100);
	assert_true(wire_open(&wires[20], NULL, 100)); /* all in use: of the first source again */
	assert_int_equal(wires[1].aborts, 1);
	assert_int_equal(tls_stats.full, 2);
	assert_int_equal(tls_stats.sessions, TLS_SESSIONS);
	for (i = 0; i <= 20; i++)
		if (wires[i].up.bytes)
			wire_free(&wires[i]);

	/* open sessions make room once they are silent */
	for (i = 0; i < TLS_SESSIONS; i++)
		connected(&versions[1], i + 1);
	assert_false(wire_open(&wires[20], NULL, 100));
	wire_free(&wires[20]);
	pass(TLS_SILENT_NS - 1);
	say(&wires[0], "x", 1);
	assert_false(wire_open(&wires[20], NULL, 100));
	wire_free(&wires[20]);
	pass(1);
	assert_true(wire_open(&wires[20], NULL, 100));
	assert_true(wires[0].ends == 0 && wires[1].ends == 1 && wires[1].why == E_RESET);
}

/* All places in use by clients that take the most memory: the heap is not exhausted. */
static void heap_suffices(void **state)
{
	static const struct openssl_wish p384 = {.version = TLS1_3_VERSION, .groups = "P-384"};
	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < TLS_SESSIONS; i++) {
			struct wire *w = connected(round ? &p384 : &versions[0], i + 1);
			w->takes = 0;
		}
		for (unsigned i = 0; i < TLS_SESSIONS; i++)
			say(&wires[i], some, 16384);
		assert_int_equal(tls_stats.sessions, TLS_SESSIONS);
		for (unsigned i = 0; i < TLS_SESSIONS; i++)
			wire_free(&wires[i]);
		/* all in the middle of a handshake: with the answer to ClientHello made */
		for (unsigned i = 0; i < TLS_SESSIONS; i++) {
			assert_true(wire_open(&wires[i], round ? &p384 : &versions[0], i + 1));
			wires[i].room = 0;
		}
		settle();
		assert_int_equal(tls_stats.shaking, TLS_SESSIONS);
		for (unsigned i = 0; i < TLS_SESSIONS; i++)
			wire_free(&wires[i]);
	}
	assert_int_equal(tls_failed(&tls_stats), 0);
	assert_in_range(crypto_use().peak, 0, CRYPTO_HEAP / 4 * 3);
	printf("peak of the heap: %zu of %u bytes\n", crypto_use().peak, CRYPTO_HEAP);
}

/* The heap is exhausted: connections are refused, sessions fail, all are counted. */
static void heap_exhausted(void **state)
{
	void *taken[4096];
	unsigned n = 0;
	struct wire *open = connected(&versions[0], 1);
	(void)state;
	for (size_t bytes = CRYPTO_HEAP / 2; bytes >= 64; bytes /= 2)
		while (n < 4096 && (taken[n] = mbedtls_calloc(1, bytes)))
			n++;
	assert_in_range(n, 1, 4095);
	assert_false(wire_open(&wires[1], NULL, 2));
	assert_int_equal(tls_stats.failed[TLS_FAILURE_MEMORY], 1);
	assert_int_equal(tls_stats.sessions, 1);
	say(open, "hello", 5); /* decryption needs some too */
	assert_true(open->ends == 1 && open->closes == 1);
	assert_int_equal(tls_stats.failed[TLS_FAILURE_MEMORY], 2);
	wire_free(open);
	/* with more and more memory, until one gets through */
	unsigned failures = 0;
	while (n) {
		struct wire *w = &wires[2];
		mbedtls_free(taken[--n]);
		const size_t used = crypto_use().used;
		const bool taken_in = wire_open(w, &versions[0], 3);
		if (taken_in)
			settle();
		const bool good = w->stream && w->client.ready;
		failures += !good;
		wire_free(w);
		assert_int_equal(crypto_use().used, used);
		if (good)
			break;
	}
	assert_true(n > 0 || failures);
	assert_int_equal(tls_failed(&tls_stats), failures + 2);
	while (n)
		mbedtls_free(taken[--n]);
}

/* Some hundred sessions that end in every way, or as many as the variable TLS_SESSIONS says. */
static void many_sessions(void **state)
{
	static const struct openssl_wish old = {.version = TLS1_1_VERSION, .ciphers = "ALL"};
	static const struct openssl_wish distrust = {.version = TLS1_2_VERSION};
	(void)state;
	settle();
	const char *wish = getenv("TLS_SESSIONS");
	const unsigned rounds = wish ? (unsigned)atoi(wish) : random_rounds(400);
	for (unsigned i = 0; i < rounds; i++) {
		struct wire *w = wires;
		const unsigned kind = random_below(9);
		const bool bad = kind < 2;
		assert_true(wire_open(w, kind == 0 ? &old : kind == 1 ? &distrust : &versions[random_below(2)], 1));
		if (kind == 1)
			SSL_set_verify(w->client.ssl, SSL_VERIFY_PEER, NULL);
		if (kind == 2)
			w->allowed = random_below(400);
		settle();
		assert_int_equal(w->stream && kind > 2, !bad && kind > 2);
		if (kind == 3)
			stream_close(w->stream);
		if (kind == 4)
			SSL_shutdown(w->client.ssl);
		if (kind == 5)
			openssl_write(&w->client, some, random_below(sizeof some / 8) + 1);
		if (kind == 6) {
			w->takes = random_below(100);
			openssl_write(&w->client, some, 5000);
		}
		if (kind == 7)
			server_sends(w, some, random_below(20000));
		if (kind == 8)
			put(w, some, random_below(5000));
		settle();
		if (random_below(2) && w->open && !w->said_fin)
			fin(w);
		settle();
		if (random_below(4) == 0)
			pass(TLS_CLOSE_NS);
		wire_free(w);
		assert_int_equal(crypto_use().used, used_before);
		assert_int_equal(tls_stats.sessions, 0);
	}
}

/* The store of keys grows to what all places need, and remains so. */
static int prepare(void **state)
{
	static const uint8_t secret[TLS_SECRET] = {[TLS_SECRET - 1] = 7};
	seed_random("tls_stream");
	self.clock = clock_make(SECOND_NS);
	now_ns = host_tsc = SECOND_NS;
	assert_true(tls_stream_prepare());
	assert_true(tls_use_secret(secret));
	tls_stream_listen(443, &app);
	setup(state);
	for (unsigned i = 0; i < TLS_SESSIONS; i++)
		connected(&versions[1], i + 1);
	for (unsigned i = 0; i < TLS_SESSIONS; i++)
		wire_free(&wires[i]);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, end_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_both_ways), TEST(server_takes_little), TEST(server_consumes_at_once), TEST(tcp_takes_little), TEST(narrow_handshake),
		TEST(server_closes), TEST(client_closes), TEST(ends_at_every_byte), TEST(server_aborts), TEST(not_admitted),
		TEST(handshake_timeout), TEST(refused), TEST(broken_record), TEST(renegotiates_without_reading),
		TEST(work_is_bounded), TEST(places), TEST(heap_suffices), TEST(heap_exhausted), TEST(many_sessions),
	};
	return cmocka_run_group_tests(tests, prepare, NULL);
}
