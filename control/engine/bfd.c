/* See bfd.h. TCP's callbacks copy input to the buffer; engine_bfd_timer serves it. */
#include "control/engine/bfd.h"

#include "control/config/running.h"
#include "control/console/serial.h"
#include "control/engine/bfd_sessions.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/tcp_control.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

/* What TCP's window lets bfdd send: octets are consumed for TCP only when no message waits. */
#define IN_BYTES (TCP_CONTROL_SND_BUF + BFD_DPLANE_MAX)
/* Two messages for each session, and answers. */
#define OUT_BYTES 32768u
#define RETRY_NS (3 * SECOND_NS) /* between attempts to connect, as bfdd itself */

static struct {
	uint8_t *in, *out; /* IN_BYTES, OUT_BYTES */
	uint32_t in_len, in_at; /* in[in_at] to in[in_len - 1] have not been served yet */
	uint32_t owed;          /* octets received and not consumed for TCP */
	uint32_t out_len;
	struct tcp_conn *conn;  /* NULL: none, or it is over and its input is not all served */
	struct tcp_conn *opening; /* an attempt to connect; NULL: none */
	uint64_t retry_ns;      /* the next one, not before */
	bool session;           /* there is a connection, or input of one */
	const char *over;       /* why it is over; NULL: it is not */
	uint64_t cut_ns;        /* DOWN: when the connection ended; 0: nothing is held */
	uint64_t up_ns;         /* UP: when it began */
	bool settled;           /* settle-time has passed since */
} bfd;

struct engine_bfd_stats engine_bfd_stats;

const char *engine_bfd_refusal_name(enum engine_bfd_refusal r)
{
#define ENGINE_BFD_REFUSAL_NAME(name, word, text) [ENGINE_BFD_REFUSED_##name] = word,
	static const char *const names[ENGINE_BFD_REFUSALS_END] = {
		"none", ENGINE_BFD_REFUSALS(ENGINE_BFD_REFUSAL_NAME)};
	return names[r];
}

bool engine_bfd_prepare(void)
{
	bfd.in = bfd.in ? bfd.in : core_private_alloc(IN_BYTES);
	bfd.out = bfd.out ? bfd.out : core_private_alloc(OUT_BYTES);
	return bfd.in && bfd.out && bfd_sessions_prepare();
}

/* --- the connection --- */

static void session_end(const char *why)
{
	console_log("routing engine: bfd disconnected: %s", why);
	bfd.session = false;
	bfd.over = NULL;
	bfd.cut_ns = core_now_ns();
	engine_bfd_stats.up = false;
	engine_bfd_stats.since_ns = bfd.cut_ns;
	engine_bfd_stats.closed = why;
	bfd_sessions_make_stale();
}

/* Ends it at once; input that has not been served is lost. */
static void session_abort(const char *why)
{
	struct tcp_conn *c = bfd.conn;
	bfd.conn = NULL;
	session_end(why);
	if (c)
		tcp_abort(c);
}

static void session_begin(struct tcp_conn *c)
{
	char text[FMT_ADDR_MAX];
	tcp_set_keepalive(c, true); /* bfdd sends nothing when idle */
	bfd.conn = c;
	bfd.session = true;
	bfd.over = NULL;
	bfd.in_len = bfd.in_at = bfd.owed = bfd.out_len = 0;
	bfd.up_ns = core_now_ns();
	bfd.settled = false;
	engine_bfd_stats.up = true;
	engine_bfd_stats.since_ns = bfd.up_ns;
	engine_bfd_stats.connections++;
	console_log("routing engine: bfd %s connected", fmt_addr(text, running.config.engine.addr.w));
}

static void stop_opening(void)
{
	struct tcp_conn *c = bfd.opening;
	bfd.opening = NULL;
	if (c)
		tcp_abort(c);
}

static bool on_accept(struct tcp_conn *c)
{
	struct tcp_info info;
	tcp_info(c, &info);
	if (running.config.engine.bfd_port == 0 ||
	    !net_addr_equal(&info.remote, &running.config.engine.addr)) {
		engine_bfd_stats.foreign++;
		return false;
	}
	if (bfd.session)
		session_abort("a new connection replaced it");
	stop_opening();
	session_begin(c);
	return true;
}

static void on_connected(struct tcp_conn *c)
{
	bfd.opening = NULL;
	session_begin(c);
}

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	if (bfd.in_at && bfd.in_len + p->len > IN_BYTES) {
		memmove(bfd.in, bfd.in + bfd.in_at, bfd.in_len - bfd.in_at);
		bfd.in_len -= bfd.in_at;
		bfd.in_at = 0;
	}
	const bool fits = c == bfd.conn && bfd.in_len + p->len <= IN_BYTES;
	if (fits) {
		memcpy(bfd.in + bfd.in_len, p->data, p->len);
		bfd.in_len += p->len;
		bfd.owed += p->len;
	}
	pkt_free(&tcp_control_pool, p);
	if (!fits && c == bfd.conn)
		bfd.over = "the input buffer overflowed"; /* engine_bfd_timer resets it */
}

static void on_fin(struct tcp_conn *c)
{
	if (c == bfd.conn && !bfd.over)
		bfd.over = "bfdd closed it";
}

static void on_closed(struct tcp_conn *c, int why)
{
	if (c == bfd.opening)
		bfd.opening = NULL;
	if (c != bfd.conn)
		return;
	bfd.conn = NULL;
	if (!bfd.over)
		bfd.over = why == E_TIMEOUT ? "bfdd does not answer" : "bfdd reset it";
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
	if (!c->bfd_connect || bfd.session || bfd.opening || !tcp_control)
		return UINT64_MAX;
	if (now_ns < bfd.retry_ns)
		return bfd.retry_ns;
	bfd.retry_ns = now_ns + RETRY_NS;
	if (our_address(&c->addr, &o.local)) {
		tcp_control_tick();
		bfd.opening = tcp_connect(tcp_control, &o, core_now_us(), NULL);
	}
	return bfd.opening ? UINT64_MAX : bfd.retry_ns;
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
	if (bfd.session) {
		engine_bfd_stats.closed = "the ports restarted";
		engine_bfd_stats.since_ns = core_now_ns();
	}
	bfd.conn = bfd.opening = NULL;
	bfd.session = engine_bfd_stats.up = false;
	bfd.over = NULL;
	bfd.cut_ns = 0;
	bfd_sessions_take(false);
	bfd_sessions_forget();
}

void engine_bfd_leave(const char *why)
{
	if (bfd.session)
		session_abort(why);
	bfd_sessions_make_stale();
	bfd_sessions_end_stale();
}

/* --- the configuration --- */

static bool differ(const struct config *a, const struct config *b)
{
	if (b->engine.bfd_port == 0 || a->engine.bfd_port != b->engine.bfd_port ||
	    a->engine.bfd_connect != b->engine.bfd_connect ||
	    !net_addr_equal(&a->engine.addr, &b->engine.addr) || a->interfaces != b->interfaces)
		return true;
	for (unsigned n = 0; n < a->interfaces; n++)
		if (a->interface[n].engine_index != b->interface[n].engine_index)
			return true;
	return false;
}

void engine_bfd_change(const struct config *next)
{
	if (running.config.engine.bfd_port == 0 || !differ(&running.config, next))
		return;
	stop_opening();
	if (bfd.session)
		session_abort(next->engine.bfd_port ? "the configuration changed"
		                                    : "the configuration has no bfd any more");
	if (next->engine.bfd_port)
		return;
	bfd_sessions_make_stale();
	bfd_sessions_end_stale();
	bfd_sessions_take(false);
	bfd.cut_ns = 0;
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
	bfd.out_len += bfd_dplane_write_counters(bfd.out + bfd.out_len, m->id, &c);
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
		bfd.out_len += bfd_dplane_write_echo(bfd.out + bfd.out_len, m);
		break;
	default: /* a reply to an echo request, which this side never sends */
		break;
	}
}

static bool has_room(void)
{
	return OUT_BYTES - bfd.out_len >= BFD_DPLANE_OUT_MAX;
}

/* Serves the next message. False: there is none, it is malformed, or an answer would have no room. */
static bool next_message(void)
{
	struct bfd_dplane_message m;
	if (!has_room())
		return false;
	const enum bfd_dplane_error error = bfd_dplane_read(bfd.in + bfd.in_at, bfd.in_len - bfd.in_at, &m);
	if (error) {
		engine_bfd_stats.malformed++;
		session_abort(bfd_dplane_error_text(error));
		return false;
	}
	if (m.length == 0)
		return false;
	serve(&m);
	bfd.in_at += m.length;
	engine_bfd_stats.messages++;
	return true;
}

/* Tells bfdd what is new, and sends; returns when something else will be. */
static uint64_t tell(uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;
	unsigned n;
	while (has_room() && (n = bfd_sessions_tell(bfd.out + bfd.out_len, now_ns, &due)) > 0)
		bfd.out_len += n;
	if (!has_room()) /* an acknowledgement makes some */
		due = UINT64_MAX;
	if (bfd.out_len == 0 || tcp_control_is_short())
		return due;
	const uint32_t sent = tcp_send(bfd.conn, bfd.out, bfd.out_len);
	bfd.out_len -= sent;
	memmove(bfd.out, bfd.out + sent, bfd.out_len);
	return due;
}

/* No message waits: TCP may receive more. */
static void consume(void)
{
	const uint32_t owed = bfd.owed;
	if (bfd.in_at == bfd.in_len)
		bfd.in_at = bfd.in_len = 0;
	bfd.owed = 0;
	if (bfd.conn && owed)
		tcp_consumed(bfd.conn, owed);
}

/* Serves the connection; returns when to call again. */
static uint64_t work(uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;
	unsigned messages = 0;
	while (messages < ENGINE_BFD_MESSAGES && bfd.session && next_message())
		messages++;
	if (!bfd.session)
		return UINT64_MAX;
	if (bfd.conn)
		due = tell(now_ns);
	if (messages == ENGINE_BFD_MESSAGES)
		return now_ns;
	if (has_room())
		consume();
	if (bfd.over)
		session_abort(bfd.over);
	return due;
}

/* Ends stale sessions when it is time; returns when that is. */
static uint64_t end_stale(uint64_t now_ns)
{
	const struct config_engine *c = &running.config.engine;
	uint64_t due = UINT64_MAX;
	if (bfd.session && !bfd.settled)
		due = bfd.up_ns + c->settle_s * SECOND_NS;
	else if (!bfd.session && bfd.cut_ns)
		due = bfd.cut_ns + c->hold_s * SECOND_NS;
	if (due > now_ns)
		return due;
	bfd.settled = bfd.session;
	bfd.cut_ns = 0;
	bfd_sessions_end_stale();
	return UINT64_MAX;
}

uint64_t engine_bfd_timer(void)
{
	const uint64_t now = core_now_ns();
	if (!bfd.in || running.config.engine.bfd_port == 0)
		return UINT64_MAX;
	/* first the input: a session that it adds or changes is due */
	uint64_t due = bfd.session ? work(now) : try_to_connect(now);
	due = u64_min(due, end_stale(now));
	due = u64_min(due, bfd_sessions_work(now));
	/* an expiry is told at once */
	if (bfd.session && bfd.conn)
		due = u64_min(due, tell(now));
	return due;
}
