/* See bfd.h. TCP's callbacks copy input to the buffer; engine_bfd_timer serves it. */
#include "control/engine/bfd.h"

#include "control/config/running.h"
#include "control/engine/bfd_sessions.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/tcp_control.h"
#include "lib/number.h"

/* What TCP's window lets bfdd send: octets are consumed for TCP only when no message waits. */
#define IN_BYTES (TCP_CONTROL_RCV_BUF + BFD_DPLANE_MAX)
/* Two messages for each session, and answers. */
#define OUT_BYTES 32768u
#define RETRY_NS (3 * SECOND_NS) /* between attempts to connect, as bfdd itself */

struct engine_bfd_stats engine_bfd_stats;

static struct engine_connection bfdd = {
	.label = "bfd ",
	.closed = "bfdd closed it",
	.silent = "bfdd does not answer",
	.reset = "bfdd reset it",
	.stats = &engine_bfd_stats.connection,
	.ended = bfd_sessions_make_stale,
	.in_bytes = IN_BYTES,
};
static struct tcp_conn *opening; /* an attempt to connect; NULL: none */
static uint64_t retry_ns;        /* the next one, not before */

const char *engine_bfd_refusal_name(enum engine_bfd_refusal r)
{
#define ENGINE_BFD_REFUSAL_NAME(name, word, text) [ENGINE_BFD_REFUSED_##name] = word,
	static const char *const names[ENGINE_BFD_REFUSALS_END] = {
		"none", ENGINE_BFD_REFUSALS(ENGINE_BFD_REFUSAL_NAME)};
	return names[r];
}

bool engine_bfd_prepare(void)
{
	bfdd.in = bfdd.in ? bfdd.in : core_private_alloc(IN_BYTES);
	bfdd.out = bfdd.out ? bfdd.out : core_private_alloc(OUT_BYTES);
	return bfdd.in && bfdd.out && bfd_sessions_prepare();
}

/* --- the connection --- */

static void stop_opening(void)
{
	struct tcp_conn *c = opening;
	opening = NULL;
	if (c)
		tcp_abort(c);
}

static bool on_accept(struct tcp_conn *c)
{
	if (!engine_connection_admits(&bfdd, running.config.engine.bfd_port != 0, c))
		return false;
	if (bfdd.session)
		engine_connection_abort(&bfdd, "a new connection replaced it");
	stop_opening();
	engine_connection_begin(&bfdd, c);
	return true;
}

static void on_connected(struct tcp_conn *c)
{
	opening = NULL;
	engine_connection_begin(&bfdd, c);
}

static void on_data(struct tcp_conn *c, struct pkt *p) { engine_connection_data(&bfdd, c, p); }
static void on_fin(struct tcp_conn *c) { engine_connection_fin(&bfdd, c); }

static void on_closed(struct tcp_conn *c, int why)
{
	if (c == opening)
		opening = NULL;
	engine_connection_closed(&bfdd, c, why);
}

static const struct tcp_app app = {.accept = on_accept, .connected = on_connected, .data = on_data,
                                   .fin = on_fin, .closed = on_closed};

/* Our address towards the engine; false: there is none at present. */
static bool our_address(const struct net_addr *engine, struct net_addr *local)
{
	if (!net_addr_is_ip4(engine))
		return local6_source(engine, 0, local);
	*local = net_addr_ip4(local_source(net_addr_to_ip4(engine)));
	return net_addr_to_ip4(local) != 0;
}

/* Connects, if the configuration asks for it and it is time; returns when that is. The local port is
 * the one that we listen on: applications with TCP of their own know it as ours (dp_is_management). */
static uint64_t try_to_connect(uint64_t now_ns)
{
	const struct config_engine *c = &running.config.engine;
	struct tcp_open o = {.remote = c->addr, .local_port = c->bfd_port, .remote_port = c->bfd_port,
	                     .nodelay = true, .app = &app};
	if (!c->bfd_connect || bfdd.session || opening || !tcp_control)
		return UINT64_MAX;
	if (now_ns < retry_ns)
		return retry_ns;
	retry_ns = now_ns + RETRY_NS;
	if (our_address(&c->addr, &o.local)) {
		tcp_control_tick();
		opening = tcp_connect(tcp_control, &o, core_now_us(), NULL);
	}
	return opening ? UINT64_MAX : retry_ns;
}

void engine_bfd_listen(uint16_t port)
{
	const struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = port, .nodelay = true, .app = &app};
	int e = tcp_listen(tcp_control, &l);
	assert(e == E_OK);
	bfd_sessions_take(true);
}

void engine_bfd_stop(void)
{
	engine_connection_forget(&bfdd);
	opening = NULL;
	bfd_sessions_take(false);
	bfd_sessions_forget();
}

void engine_bfd_leave(const char *why)
{
	if (bfdd.session)
		engine_connection_abort(&bfdd, why);
	bfd_sessions_make_stale();
	bfd_sessions_end_stale();
}

/* --- the configuration --- */

static bool differ(const struct config *a, const struct config *b)
{
	return b->engine.bfd_port == 0 || a->engine.bfd_port != b->engine.bfd_port ||
	       a->engine.bfd_connect != b->engine.bfd_connect ||
	       !net_addr_equal(&a->engine.addr, &b->engine.addr) || engine_indices_differ(a, b);
}

void engine_bfd_change(const struct config *next)
{
	if (running.config.engine.bfd_port == 0 || !differ(&running.config, next))
		return;
	stop_opening();
	if (bfdd.session)
		engine_connection_abort(&bfdd, next->engine.bfd_port
		                                       ? "the configuration changed"
		                                       : "the configuration has no bfd any more");
	if (next->engine.bfd_port)
		return;
	bfd_sessions_make_stale();
	bfd_sessions_end_stale();
	bfd_sessions_take(false);
	bfdd.cut_ns = 0;
}

/* --- messages --- */

static void answer_counters(const struct bfd_dplane_message *m)
{
	const struct engine_bfd_session *e = bfd_sessions_find(m->lid);
	struct bfd_dplane_counters c = {.lid = m->lid};
	engine_bfd_stats.unknown += !e;
	if (e) {
		c.rx_packets = e->rx_packets;
		c.tx_packets = e->tx_packets;
		c.rx_octets = e->rx_packets * BFD_PACKET_LEN;
		c.tx_octets = e->tx_packets * BFD_PACKET_LEN;
	}
	/* bfdd waits for the answer in a loop, also for an unknown session */
	bfdd.out_len += bfd_dplane_write_counters(bfdd.out + bfdd.out_len, m->id, &c);
}

static void delete_session(uint32_t lid)
{
	struct engine_bfd_session *e = bfd_sessions_find(lid);
	engine_bfd_stats.unknown += !e;
	if (e)
		bfd_sessions_end(e);
}

static void serve(const struct bfd_dplane_message *m)
{
	enum engine_bfd_refusal refusal;
	switch (m->type) {
	case BFD_DPLANE_ADD:
		refusal = bfd_sessions_state(&m->session);
		engine_bfd_stats.refused[refusal] += refusal != ENGINE_BFD_ACCEPTED;
		break;
	case BFD_DPLANE_DELETE:
		delete_session(m->session.lid);
		break;
	case BFD_DPLANE_COUNTERS_REQUEST:
		answer_counters(m);
		break;
	case BFD_DPLANE_ECHO_REQUEST:
		bfdd.out_len += bfd_dplane_write_echo(bfdd.out + bfdd.out_len, m);
		break;
	default: /* a reply to an echo request, which this side never sends */
		break;
	}
}

static bool has_room(void)
{
	return OUT_BYTES - bfdd.out_len >= BFD_DPLANE_OUT_MAX;
}

/* Serves the next message. False: there is none, it is malformed, or an answer would have no room. */
static bool next_message(void)
{
	struct bfd_dplane_message m;
	if (!has_room())
		return false;
	const enum bfd_dplane_error error = bfd_dplane_read(bfdd.in + bfdd.in_at, bfdd.in_len - bfdd.in_at, &m);
	if (error) {
		engine_bfd_stats.connection.malformed++;
		engine_connection_abort(&bfdd, bfd_dplane_error_text(error));
		return false;
	}
	if (m.length == 0)
		return false;
	serve(&m);
	bfdd.in_at += m.length;
	engine_bfd_stats.messages++;
	return true;
}

/* Tells bfdd what is new, and sends; returns when something else will be. */
static uint64_t tell(uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;
	unsigned n;
	while (has_room() && (n = bfd_sessions_tell(bfdd.out + bfdd.out_len, now_ns, &due)) > 0)
		bfdd.out_len += n;
	if (!has_room()) /* an acknowledgement makes some */
		due = UINT64_MAX;
	engine_connection_send(&bfdd);
	return due;
}

/* Serves the connection; returns when to call again. */
static uint64_t work(uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;
	unsigned messages = 0;
	while (messages < ENGINE_BFD_MESSAGES && bfdd.session && next_message())
		messages++;
	if (!bfdd.session)
		return UINT64_MAX;
	if (bfdd.conn)
		due = tell(now_ns);
	if (messages == ENGINE_BFD_MESSAGES)
		return now_ns;
	if (has_room()) /* no message waits */
		engine_connection_consume(&bfdd, bfdd.owed);
	if (bfdd.over)
		engine_connection_abort(&bfdd, bfdd.over);
	return due;
}

uint64_t engine_bfd_timer(void)
{
	const uint64_t now = core_now_ns();
	if (!bfdd.in || running.config.engine.bfd_port == 0)
		return UINT64_MAX;
	/* first the input: a session that it adds or changes is due */
	uint64_t due = bfdd.session ? work(now) : try_to_connect(now);
	uint64_t stale_ns;
	if (engine_connection_settles(&bfdd, now, &stale_ns))
		bfd_sessions_end_stale();
	else
		due = u64_min(due, stale_ns);
	due = u64_min(due, bfd_sessions_work(now));
	/* an expiry is told at once */
	if (bfdd.session && bfdd.conn)
		due = u64_min(due, tell(now));
	return due;
}
