/*
 * Plain streams; see stream.h. A place is a TCP connection that was accepted or opened, and its
 * stream. TCP tells of the end of each (tcp_app.closed) before it has room for another connection, so
 * there is always a free place for a new one. The argument of a connection is its place; until it has
 * one, it is the application.
 */
#include "control/host/stream.h"

#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/tcp_control.h"
#include "dataplane/state.h"
#include "net/ip6.h"
#include "runtime/runtime.h"

struct place {
	struct stream stream;
	struct tcp_conn *conn; /* NULL: the place is free */
	bool opened;           /* by us */
};

struct stream_stats stream_stats;

static struct place *places; /* TCP_CONTROL_CONNECTIONS */

bool stream_prepare(void)
{
	if (!tcp_control_prepare())
		return false;
	if (!places)
		places = core_private_alloc(TCP_CONTROL_CONNECTIONS * sizeof *places);
	return places != NULL;
}

void stream_start(void)
{
	if (tcp_control)
		return;
	for (unsigned i = 0; i < TCP_CONTROL_CONNECTIONS; i++)
		places[i].conn = NULL;
	tcp_control_start();
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

/* --- errors --- */

static enum stream_end end_of(int error)
{
	return error == E_NOENT     ? STREAM_NO_ROUTE
	       : error == E_REFUSED ? STREAM_REFUSED
	       : error == E_TIMEOUT ? STREAM_TIMEOUT
	       : error == E_RESET   ? STREAM_RESET
	                            : STREAM_NO_ROOM;
}

const char *stream_error_text(int error)
{
	static const char *const texts[STREAM_ENDS] = {
		[STREAM_NO_ROUTE] = "there is no route, or no source address",
		[STREAM_REFUSED] = "the connection was refused",
		[STREAM_TIMEOUT] = "no answer in time",
		[STREAM_RESET] = "the connection was reset",
		[STREAM_NO_ROOM] = "there is no room for the connection now",
	};
	return error == E_OK ? "the peer closed the connection" : texts[end_of(error)];
}

const char *stream_end_word(enum stream_end e)
{
	static const char *const words[STREAM_ENDS] = {"no_route", "refused", "timeout", "reset", "no_room"};
	return words[e];
}

/* --- connections --- */

static struct place *free_place(void)
{
	unsigned i = 0;
	while (places[i].conn)
		assert(++i < TCP_CONTROL_CONNECTIONS);
	return &places[i];
}

static bool on_accept(struct tcp_conn *c)
{
	struct place *place = free_place();
	*place = (struct place){.stream = {.ops = &plain_ops, .app = tcp_arg(c)}, .conn = c};
	tcp_set_arg(c, place);
	const struct stream_app *app = place->stream.app;
	if ((!app->admit || app->admit(&place->stream)) && app->accept(&place->stream))
		return true;
	place->conn = NULL;
	return false;
}

static void on_connected(struct tcp_conn *c)
{
	struct place *place = tcp_arg(c);
	stream_stats.established++;
	if (place->stream.app->connected)
		place->stream.app->connected(&place->stream);
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
	if (place->opened && why != E_OK)
		stream_stats.failed[end_of(why)]++;
	if (place->stream.app->closed)
		place->stream.app->closed(&place->stream, why);
	place->conn = NULL;
}

void stream_stop(void)
{
	for (unsigned i = 0; places && tcp_control && i < TCP_CONTROL_CONNECTIONS; i++) {
		struct place *place = &places[i];
		if (!place->conn || !place->opened)
			continue;
		place->conn = NULL;
		if (place->stream.app->closed)
			place->stream.app->closed(&place->stream, E_RESET);
	}
}

/* --- opening --- */

static unsigned clients(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < TCP_CONTROL_CONNECTIONS; i++)
		n += places[i].conn && places[i].opened;
	return n;
}

/* Our address for a connection to `to`; false: there is none, or no route. */
static bool source_of(const struct stream_target *to, struct net_addr *local)
{
	const struct dp_state *v = dp_get();
	const bool four = net_addr_is_ip4(&to->remote);
	const uint32_t nh = four ? dp_next_hop4(v, net_addr_to_ip4(&to->remote)) : local6_next_hop(&to->remote, 0);
	*local = to->local;
	if (dp_interface_of(v, nh) < 0 || (!four && ip6_is_link_local(&to->remote)))
		return false; /* struct stream_target has no link for such an address */
	if (!net_addr_is_any(local))
		return true;
	if (!four)
		return local6_source(&to->remote, 0, local);
	*local = net_addr_ip4(local_source(net_addr_to_ip4(&to->remote)));
	return net_addr_to_ip4(local) != 0;
}

static int try_to_connect(const struct stream_target *to, const struct stream_app *app, void *arg,
                          struct place **place)
{
	static const struct tcp_app opened = {.connected = on_connected, .data = on_data, .acked = on_acked,
	                                      .fin = on_fin, .closed = on_closed};
	struct tcp_open o = {.remote = to->remote, .remote_port = to->port, .nodelay = true, .app = &opened};
	int error;
	if (!core_ports_running())
		return E_AGAIN;
	if (!stream_prepare())
		return E_NOMEM;
	stream_start();
	if (clients() >= STREAM_CLIENTS)
		return E_AGAIN;
	if (!source_of(to, &o.local))
		return E_NOENT;
	__atomic_store_n(&dp_get()->client_port, TCP_CONTROL_PORT_FIRST, __ATOMIC_RELAXED);
	tcp_control_tick();
	*place = free_place(); /* tcp_connect() takes none: no connection is accepted within it */
	o.arg = *place;
	**place = (struct place){.stream = {.ops = &plain_ops, .app = app, .arg = arg}, .opened = true};
	(*place)->conn = tcp_connect(tcp_control, &o, core_now_us(), &error);
	return (*place)->conn ? E_OK : E_NOMEM;
}

struct stream *stream_connect(const struct stream_target *to, const struct stream_app *app, void *arg,
                              int *error)
{
	struct place *place = NULL;
	*error = try_to_connect(to, app, arg, &place);
	if (*error == E_OK)
		return &place->stream;
	stream_stats.failed[end_of(*error)]++;
	return NULL;
}

void stream_listen(uint16_t port, const struct stream_app *app)
{
	static const struct tcp_app accepted = {.accept = on_accept, .data = on_data, .acked = on_acked,
	                                        .fin = on_fin, .closed = on_closed};
	const struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = port, .nodelay = true,
	                             .app = &accepted, .arg = (void *)(uintptr_t)app};
	int e = tcp_listen(tcp_control, &l);
	assert(e == E_OK);
}
