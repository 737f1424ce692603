/*
 * Plain streams; see stream.h. A place is a TCP connection that was accepted and its stream. TCP
 * tells of the end of each (tcp_app.closed) before it has room for another connection, so there is
 * always a free place for one that is to be accepted. The argument of a connection is its place;
 * until it has one, it is the application.
 */
#include "control/host/stream.h"

#include "control/host/tcp_control.h"
#include "runtime/runtime.h"

struct place {
	struct stream stream;
	struct tcp_conn *conn; /* NULL: the place is free */
};

static struct place *places; /* TCP_CONTROL_CONNECTIONS */

bool stream_prepare(void)
{
	if (!places)
		places = core_private_alloc(TCP_CONTROL_CONNECTIONS * sizeof *places);
	return places != NULL;
}

void stream_start(void)
{
	for (unsigned i = 0; places && i < TCP_CONTROL_CONNECTIONS; i++)
		places[i].conn = NULL;
}

struct stream *stream_next(uint32_t *cursor)
{
	while (*cursor < TCP_CONTROL_CONNECTIONS) {
		struct place *p = &places[(*cursor)++];
		if (p->conn)
			return &p->stream;
	}
	return NULL;
}

/* --- operations --- */

static struct place *place_of(struct stream *s)
{
	return (struct place *)(void *)s; /* its first member */
}

static struct tcp_conn *conn_of(const struct stream *s)
{
	return ((const struct place *)(const void *)s)->conn;
}

static uint32_t plain_send(struct stream *s, const void *data, uint32_t n)
{
	return tcp_send(conn_of(s), data, n);
}

static uint32_t plain_room(const struct stream *s) { return tcp_send_room(conn_of(s)); }
static void plain_consumed(struct stream *s, uint32_t n) { tcp_consumed(conn_of(s), n); }
static void plain_close(struct stream *s) { tcp_close(conn_of(s)); }

static void plain_abort(struct stream *s)
{
	struct tcp_conn *c = conn_of(s);
	place_of(s)->conn = NULL;
	tcp_abort(c);
}

static void plain_info(const struct stream *s, struct tcp_info *info)
{
	tcp_info(conn_of(s), info);
}

static void plain_set_rcv_buf(struct stream *s, uint32_t bytes)
{
	tcp_set_rcv_buf(conn_of(s), bytes);
}

static const struct stream_ops plain_ops = {
	.send = plain_send, .room = plain_room, .consumed = plain_consumed, .close = plain_close,
	.abort = plain_abort, .info = plain_info, .set_rcv_buf = plain_set_rcv_buf,
};

/* --- connections --- */

static bool on_accept(struct tcp_conn *c)
{
	unsigned i = 0;
	while (places[i].conn)
		assert(++i < TCP_CONTROL_CONNECTIONS);
	places[i] = (struct place){.stream = {.ops = &plain_ops, .app = tcp_arg(c)}, .conn = c};
	tcp_set_arg(c, &places[i]);
	const struct stream_app *app = places[i].stream.app;
	if ((!app->admit || app->admit(&places[i].stream)) && app->accept(&places[i].stream))
		return true;
	places[i].conn = NULL;
	return false;
}

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	struct place *place = tcp_arg(c);
	const uint32_t n = p->len, taken = place->stream.app->data(&place->stream, p->data, n);
	pkt_free(&tcp_control_pool, p);
	if (taken == n || place->conn != c)
		return; /* all is well, or the application has aborted the stream */
	place->conn = NULL;
	if (place->stream.app->closed)
		place->stream.app->closed(&place->stream, E_RESET);
	tcp_abort(c);
}

static void on_acked(struct tcp_conn *c, uint32_t bytes)
{
	struct place *place = tcp_arg(c);
	if (place->stream.app->acked)
		place->stream.app->acked(&place->stream, bytes);
}

static void on_fin(struct tcp_conn *c)
{
	struct place *place = tcp_arg(c);
	if (place->stream.app->fin)
		place->stream.app->fin(&place->stream);
}

static void on_closed(struct tcp_conn *c, int why)
{
	struct place *place = tcp_arg(c);
	if (place->stream.app->closed)
		place->stream.app->closed(&place->stream, why);
	place->conn = NULL;
}

void stream_listen(uint16_t port, enum stream_kind kind, const struct stream_app *app)
{
	static const struct tcp_app apps[] = {
		[STREAM_PLAIN] = {.accept = on_accept, .data = on_data, .acked = on_acked, .fin = on_fin,
		                  .closed = on_closed},
	};
	const struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = port, .nodelay = true,
	                             .app = &apps[kind], .arg = (void *)(uintptr_t)app};
	int e = tcp_listen(tcp_control, &l);
	assert(e == E_OK);
}
