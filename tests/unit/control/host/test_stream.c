/* control/host/stream.c on a made-up TCP: which call becomes which, the life of a stream's place, and
 * the end of a connection whose application does not take what it is given. */
#include "tests/unit/rig/host.h"

#include "control/host/stream.c"

#include "lib/number.h"

struct tcp_conn {
	void *arg;
	unsigned consumed, aborts, closes;
	uint32_t rcv_buf, sent;
};

struct tcp *tcp_control;
struct bufpool tcp_control_pool;

static struct place room[TCP_CONTROL_CONNECTIONS];
static bool refuse;

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
	assert_true(stream_prepare());
	stream_start();
	assert_int_equal(count_streams(), 0);
	stream_listen(80, STREAM_PLAIN, &app);
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
	stream_listen(81, STREAM_PLAIN, &plain_app);
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

static void test_no_memory(void **state)
{
	(void)state;
	places = NULL;
	refuse = true;
	assert_false(stream_prepare());
	stream_start();
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
		cmocka_unit_test_setup(test_no_memory, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
