/* control/host/stream.c on a made-up TCP: which call becomes which, the life of a stream's place, and
 * the end of a connection whose application does not take what it is given. */
#include "tests/unit/rig/host.h"

#include "control/host/stream.c"

#include "lib/number.h"

struct core_self self;

struct tcp_conn {
	const struct tcp_app *app;
	void *arg;
	unsigned consumed, aborts, closes;
	uint32_t rcv_buf, sent;
};

struct tcp *tcp_control;
struct bufpool tcp_control_pool;

static struct place room[TCP_CONTROL_CONNECTIONS];
static bool refuse;

bool tcp_control_prepare(void) { return true; }

static struct tcp *const some_tcp = (struct tcp *)&room;
static unsigned starts;

void tcp_control_start(void)
{
	tcp_control = some_tcp;
	starts++;
}

void tcp_control_tick(void) {}

static uint8_t tables[sizeof(struct dp_state)] __attribute__((aligned(64)));
static bool stopped;

bool core_ports_running(void) { return !stopped; }

void *core_published_area(size_t *bytes)
{
	*bytes = sizeof tables;
	return tables;
}

static bool reachable6;

uint32_t local_source(uint32_t dst)
{
	(void)dst;
	return 0;
}

uint32_t local6_next_hop(const struct net_addr *dst, unsigned interface)
{
	(void)dst, (void)interface;
	return reachable6 ? NH_NEIGHBOUR : (uint32_t)NH_NONE;
}

bool local6_source(const struct net_addr *dst, unsigned interface, struct net_addr *src)
{
	(void)interface;
	*src = *dst;
	src->w[3] ^= 1;
	return true;
}

void *core_private_alloc(size_t bytes)
{
	assert_int_equal(bytes, sizeof room);
	return refuse ? NULL : room;
}

static struct tcp_listen listener;

int tcp_listen(struct tcp *t, const struct tcp_listen *l)
{
	assert_ptr_equal(t, tcp_control);
	listener = *l;
	return E_OK;
}

static struct tcp_open last_open;
static struct tcp_conn *next_conn; /* NULL: TCP has no place */

struct tcp_conn *tcp_connect(struct tcp *t, const struct tcp_open *o, uint64_t now_us, int *error)
{
	(void)now_us;
	assert_ptr_equal(t, some_tcp);
	last_open = *o;
	*error = E_NOMEM;
	if (next_conn)
		*next_conn = (struct tcp_conn){.app = o->app, .arg = o->arg};
	return next_conn;
}

void *tcp_arg(const struct tcp_conn *c) { return c->arg; }
void tcp_set_arg(struct tcp_conn *c, void *arg) { c->arg = arg; }
void tcp_consumed(struct tcp_conn *c, uint32_t n) { c->consumed += n; }
void tcp_close(struct tcp_conn *c) { c->closes++; }
void tcp_abort(struct tcp_conn *c) { c->aborts++; }
uint32_t tcp_send_room(const struct tcp_conn *c) { return 100 - c->sent; }
void tcp_set_rcv_buf(struct tcp_conn *c, uint32_t bytes) { c->rcv_buf = bytes; }

void tcp_info(const struct tcp_conn *c, struct tcp_info *out)
{
	*out = (struct tcp_info){.unacked = c->sent};
}

uint32_t tcp_send(struct tcp_conn *c, const void *data, uint32_t n)
{
	const uint32_t taken = u32_min(n, tcp_send_room(c));
	assert_memory_equal(data, "abcdef", n < 6 ? n : 6);
	c->sent += taken;
	return taken;
}

/* --- an application --- */

static struct stream *last;
static bool admits, aborts;
static uint32_t takes, acked_bytes, fins, ends;
static int end_why;

static bool app_accept(struct stream *s)
{
	assert_null(s->arg);
	last = s;
	return admits;
}

static uint32_t app_data(struct stream *s, const uint8_t *data, uint32_t n)
{
	assert_ptr_equal(s, last);
	assert_memory_equal(data, "abcdef", n);
	if (aborts)
		stream_abort(s);
	return u32_min(n, takes);
}

static void app_acked(struct stream *s, uint32_t bytes)
{
	assert_ptr_equal(s, last);
	acked_bytes += bytes;
}

static void app_fin(struct stream *s)
{
	assert_ptr_equal(s, last);
	fins++;
}

static void app_closed(struct stream *s, int why)
{
	assert_ptr_equal(s, last);
	ends++;
	end_why = why;
}

static const struct stream_app app = {.accept = app_accept, .data = app_data, .acked = app_acked,
                                      .fin = app_fin, .closed = app_closed};
static const struct stream_app plain_app = {.accept = app_accept, .data = app_data};

/* Accepts a connection as TCP does. */
static bool connect(struct tcp_conn *c)
{
	*c = (struct tcp_conn){.arg = listener.arg};
	return listener.app->accept(c);
}

static unsigned count_streams(void)
{
	uint32_t cursor = 0;
	unsigned n = 0;
	while (stream_next(&cursor))
		n++;
	return n;
}

static int setup(void **state)
{
	(void)state;
	memset(room, 0xa5, sizeof room);
	tcp_control = NULL;
	starts = 0;
	assert_true(stream_prepare());
	stream_start();
	stream_start();
	assert_int_equal(starts, 1); /* a second time changes nothing */
	assert_int_equal(count_streams(), 0);
	stream_listen(80, &app);
	assert_int_equal(listener.port, 80);
	assert_true(listener.nodelay);
	admits = true;
	aborts = false;
	takes = 100;
	acked_bytes = fins = ends = 0;
	return 0;
}

/* A received segment, whose buffer is free again afterwards. */
static void receive(struct tcp_conn *c)
{
	static struct {
		uint8_t memory[4096] __attribute__((aligned(64)));
		uint32_t stack[1];
	} pool;
	struct pkt p;
	bufpool_init(&tcp_control_pool, pool.memory, pool.stack, 1, sizeof pool.memory);
	assert_true(pkt_alloc(&tcp_control_pool, &p));
	memcpy(p.data, "abcdef", 6);
	p.len = 6;
	listener.app->data(c, &p);
	assert_int_equal(tcp_control_pool.free, 1);
}

static void test_calls(void **state)
{
	struct tcp_conn c;
	struct tcp_info info;
	(void)state;
	assert_true(connect(&c));
	assert_int_equal(stream_room(last), 100);
	assert_int_equal(stream_send(last, "abcdef", 6), 6);
	assert_int_equal(stream_room(last), 94);
	stream_consumed(last, 7);
	assert_int_equal(c.consumed, 7);
	stream_set_rcv_buf(last, 9000);
	assert_int_equal(c.rcv_buf, 9000);
	stream_info(last, &info);
	assert_int_equal(info.unacked, 6);
	receive(&c);
	assert_int_equal(c.aborts, 0);
	listener.app->acked(&c, 6);
	assert_int_equal(acked_bytes, 6);
	listener.app->fin(&c);
	assert_int_equal(fins, 1);
	stream_close(last);
	assert_int_equal(c.closes, 1);
	assert_int_equal(count_streams(), 1);
	listener.app->closed(&c, E_TIMEOUT);
	assert_int_equal(ends, 1);
	assert_int_equal(end_why, E_TIMEOUT);
	assert_int_equal(count_streams(), 0);
}

static void test_refused(void **state)
{
	struct tcp_conn c;
	(void)state;
	admits = false;
	assert_false(connect(&c));
	assert_int_equal(count_streams(), 0);
	assert_int_equal(ends, 0);
}

static void test_abort_in_data(void **state)
{
	struct tcp_conn c;
	(void)state;
	assert_true(connect(&c));
	aborts = true;
	takes = 3;
	receive(&c);
	assert_int_equal(c.aborts, 1); /* once, although it took less */
	assert_int_equal(ends, 0);
	assert_int_equal(count_streams(), 0);
}

static void test_takes_less(void **state)
{
	struct tcp_conn c;
	(void)state;
	assert_true(connect(&c));
	takes = 3;
	receive(&c);
	assert_int_equal(c.aborts, 1);
	assert_int_equal(ends, 1);
	assert_int_equal(end_why, E_RESET);
	assert_int_equal(count_streams(), 0);
}

/* Every connection that TCP can have gets a place, and a place is used again. */
static void test_places(void **state)
{
	static struct tcp_conn c[TCP_CONTROL_CONNECTIONS];
	struct stream *streams[TCP_CONTROL_CONNECTIONS];
	(void)state;
	for (unsigned i = 0; i < TCP_CONTROL_CONNECTIONS; i++) {
		assert_true(connect(&c[i]));
		streams[i] = last;
		last->arg = &c[i];
	}
	assert_int_equal(count_streams(), TCP_CONTROL_CONNECTIONS);
	for (unsigned i = 0; i < TCP_CONTROL_CONNECTIONS; i++)
		assert_ptr_equal(streams[i]->arg, &c[i]);
	stream_abort(streams[77]);
	assert_int_equal(c[77].aborts, 1);
	assert_true(connect(&c[77]));
	assert_ptr_equal(last, streams[77]);
}

/* What an application does not want to be told is not told. */
static void test_optional(void **state)
{
	struct tcp_conn c;
	(void)state;
	stream_listen(81, &plain_app);
	assert_true(connect(&c));
	listener.app->acked(&c, 1);
	listener.app->fin(&c);
	listener.app->closed(&c, E_OK);
	assert_int_equal(count_streams(), 0);
	assert_true(connect(&c));
	takes = 0;
	receive(&c);
	assert_int_equal(c.aborts, 1);
}

/* --- connections that we open --- */

static const struct stream_target target = {.remote = {{0x20010db8, 0, 0, 2}}, .port = 6514};
static unsigned connects;

static void app_connected(struct stream *s)
{
	assert_ptr_equal(s->arg, &connects);
	connects++;
}

static const struct stream_app client_app = {.connected = app_connected, .data = app_data, .closed = app_closed};

/* A route by an interface to 192.0.2.2, and an address. */
static void reachable(bool is)
{
	struct dp_state *v = (struct dp_state *)(void *)tables;
	memset(tables, 0, sizeof tables);
	v->adj[NH_NEIGHBOUR].state = ADJ_FORWARD;
	reachable6 = is;
	stopped = false;
	memset(&stream_stats, 0, sizeof stream_stats);
}

static struct stream *open_one(struct tcp_conn *c, int *error)
{
	next_conn = c;
	last = stream_connect(&target, &client_app, &connects, error);
	return last;
}

static void test_connect(void **state)
{
	struct tcp_conn c;
	int error;
	(void)state;
	reachable(true);
	connects = 0;
	tcp_control = NULL; /* no server has started it */
	assert_non_null(open_one(&c, &error));
	assert_true(tcp_control == some_tcp && starts == 2);
	assert_int_equal(last_open.remote_port, 6514);
	assert_int_equal(last_open.local_port, 0);
	assert_int_equal(last_open.local.w[3], last_open.remote.w[3] ^ 1);
	assert_int_equal(((struct dp_state *)(void *)tables)->client_port, TCP_CONTROL_PORT_FIRST);
	c.app->connected(&c);
	assert_int_equal(connects, 1);
	assert_int_equal(stream_stats.established, 1);
	assert_int_equal(stream_send(last, "abcdef", 6), 6);
	c.app->closed(&c, E_OK);
	assert_int_equal(ends, 1);
	assert_int_equal(count_streams(), 0);
	for (unsigned i = 0; i < STREAM_ENDS; i++)
		assert_int_equal(stream_stats.failed[i], 0);
}

static void test_connect_fails(void **state)
{
	static const struct {
		int why;
		enum stream_end end;
	} ways[] = {{E_REFUSED, STREAM_REFUSED}, {E_TIMEOUT, STREAM_TIMEOUT}, {E_RESET, STREAM_RESET}};
	struct tcp_conn c;
	int error;
	(void)state;
	reachable(true);
	for (unsigned i = 0; i < ARRAY_LEN(ways); i++) {
		assert_non_null(open_one(&c, &error));
		c.app->closed(&c, ways[i].why);
		assert_int_equal(ends, i + 1);
		assert_int_equal(end_why, ways[i].why);
		assert_int_equal(stream_stats.failed[ways[i].end], 1);
		assert_string_equal(stream_why(last, ways[i].why), stream_error_text(ways[i].why));
		assert_true(*stream_end_word(ways[i].end));
	}
	assert_null(open_one(NULL, &error)); /* TCP has no place */
	assert_int_equal(error, E_NOMEM);
	stopped = true;
	assert_null(open_one(&c, &error));
	assert_int_equal(error, E_AGAIN);
	reachable(false);
	assert_null(open_one(&c, &error));
	assert_int_equal(error, E_NOENT);
	assert_int_equal(stream_stats.failed[STREAM_NO_ROUTE], 1);
	assert_int_equal(count_streams(), 0);
}

static void test_connect_bound(void **state)
{
	static struct tcp_conn c[STREAM_CLIENTS + 1];
	int error;
	(void)state;
	reachable(true);
	for (unsigned i = 0; i < STREAM_CLIENTS; i++)
		assert_non_null(open_one(&c[i], &error));
	assert_null(open_one(&c[STREAM_CLIENTS], &error));
	assert_int_equal(error, E_AGAIN);
	assert_int_equal(stream_stats.failed[STREAM_NO_ROOM], 1);
	last = &((struct place *)c[3].arg)->stream;
	c[3].app->closed(&c[3], E_RESET);
	assert_non_null(open_one(&c[3], &error));
	stream_abort(last);
	assert_int_equal(c[3].aborts, 1);
	assert_non_null(open_one(&c[3], &error));
	/* the ports restart: each is told, and TCP is not called */
	for (unsigned i = 0; i < STREAM_CLIENTS; i++)
		stream_abort(&places[i].stream);
	assert_non_null(open_one(&c[0], &error));
	ends = 0;
	stream_stop();
	assert_int_equal(ends, 1);
	assert_int_equal(end_why, E_RESET);
	assert_int_equal(c[0].aborts, 0);
	assert_int_equal(count_streams(), 0);
}

static void test_no_memory(void **state)
{
	(void)state;
	int error;
	places = NULL;
	tcp_control = NULL;
	refuse = true;
	assert_false(stream_prepare());
	assert_null(stream_connect(&target, &app, NULL, &error));
	assert_int_equal(error, E_NOMEM);
	refuse = false;
	assert_true(stream_prepare());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_calls, setup),
		cmocka_unit_test_setup(test_refused, setup),
		cmocka_unit_test_setup(test_abort_in_data, setup),
		cmocka_unit_test_setup(test_takes_less, setup),
		cmocka_unit_test_setup(test_places, setup),
		cmocka_unit_test_setup(test_optional, setup),
		cmocka_unit_test_setup(test_connect, setup),
		cmocka_unit_test_setup(test_connect_fails, setup),
		cmocka_unit_test_setup(test_connect_bound, setup),
		cmocka_unit_test_setup(test_no_memory, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
