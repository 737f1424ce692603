/* See engine.h. TCP's callbacks copy input to the buffer; engine_timer applies it. */
#include "control/engine/engine.h"

#include "control/config/running.h"
#include "control/console/serial.h"
#include "control/engine/apply.h"
#include "control/engine/hops.h"
#include "control/engine/tags.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/persist.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/tables.h"
#include "control/host/tcp_control.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

/* What waits to be applied, and behind it what TCP's window lets the engine send: consume keeps their sum
 * below IN_BYTES. A window is open as long as less than WAITING_MOST waits. */
#define WINDOW TCP_CONTROL_RCV_GIVEN
#define WAITING_MOST (FPM_FRAME_MAX + WINDOW / 2)
#define IN_BYTES (WAITING_MOST + WINDOW)
#define SIZE_STEP 16384 /* of tell_size */
#define LOST_TRIES 10
_Static_assert(WAITING_MOST >= FPM_FRAME_MAX, "a frame that is not complete does not close the window");

static struct {
	uint8_t *in;  /* IN_BYTES */
	uint8_t *out; /* ENGINE_OUT_BYTES */
	uint32_t in_len, in_at; /* in[in_at] to in[in_len - 1] are not applied yet */
	uint32_t owed;          /* octets received and not consumed for TCP */
	size_t out_len;
	struct tcp_conn *conn;  /* NULL: none, or it is over and its input is not all applied */
	bool session;           /* there is a connection, or input of one */
	const char *over;       /* why it is over; NULL: it is not */
	uint64_t cut_ns;        /* DOWN: when the connection ended; 0: there was none */
	uint64_t up_ns;         /* UP: when it began; */
	bool settled;           /* settle-time has passed since */
	bool removing;          /* stale routes are being removed */
	unsigned lost;          /* tries of reset_lost that are left; 0: no connection is known to be lost */
	uint64_t lost_ns;       /* when the next one is due */
} engine;

struct engine_stats engine_stats;

const char *engine_refusal_name(enum engine_refusal r)
{
#define ENGINE_REFUSAL_NAME(name, word, text) [ENGINE_REFUSED_##name] = word,
	static const char *const names[ENGINE_REFUSALS_END] = {"none",
	                                                       ENGINE_REFUSALS(ENGINE_REFUSAL_NAME)};
	return names[r];
}

const char *engine_kind_name(enum fpm_kind k)
{
	static const char *const names[ENGINE_KINDS] = {
		"route", "route_delete", "route_refused", "nexthop", "nexthop_delete",
		"nexthop_refused", "skipped"};
	return names[k];
}

bool engine_prepare(void)
{
	engine.in = engine.in ? engine.in : core_private_alloc(IN_BYTES);
	engine.out = engine.out ? engine.out : core_private_alloc(ENGINE_OUT_BYTES);
	return engine.in && engine.out && engine_apply_prepare();
}

/* --- the session --- */

static uint64_t seconds_after(uint64_t ns, uint32_t s)
{
	return ns + s * SECOND_NS;
}

static void session_end(const char *why)
{
	console_log("routing engine: disconnected: %s", why);
	persist_note_connection(&NET_ADDR_ANY, 0);
	engine.session = false;
	engine.over = NULL;
	engine.removing = false;
	engine.cut_ns = core_now_ns();
	engine_stats.up = false;
	engine_stats.since_ns = engine.cut_ns;
	engine_stats.closed = why;
	routes_engine_session();
}

/* Ends it at once; input that has not been applied is lost. */
static void session_abort(const char *why)
{
	struct tcp_conn *c = engine.conn;
	engine.conn = NULL;
	session_end(why);
	if (c)
		tcp_abort(c);
}

static void session_begin(struct tcp_conn *c)
{
	char text[FMT_ADDR_MAX];
	struct tcp_info info;
	tcp_info(c, &info);
	persist_note_connection(&info.local, info.remote_port);
	engine.lost = 0;
	tcp_set_rcv_buf(c, WINDOW);
	engine.conn = c;
	engine.session = true;
	engine.over = NULL;
	engine.in_len = engine.in_at = engine.owed = 0;
	engine.out_len = 0;
	engine.up_ns = core_now_ns();
	engine.settled = false;
	engine.removing = false;
	engine_apply_begin();
	engine_stats.up = true;
	engine_stats.since_ns = engine.up_ns;
	engine_stats.connections++;
	console_log("routing engine: %s connected", fmt_addr(text, running.config.engine.addr.w));
}

/* --- TCP --- */

static bool on_accept(struct tcp_conn *c)
{
	struct tcp_info info;
	tcp_info(c, &info);
	if (running.config.engine.line == 0 ||
	    !net_addr_equal(&info.remote, &running.config.engine.addr)) {
		engine_stats.foreign++;
		return false;
	}
	if (engine.session)
		session_abort("a new connection replaced it");
	tcp_set_keepalive(c, true); /* after 2 h (RFC 9293 3.8.4), because zebra sends nothing when idle */
	session_begin(c);
	return true;
}

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	if (engine.in_at && engine.in_len + p->len > IN_BYTES) {
		memmove(engine.in, engine.in + engine.in_at, engine.in_len - engine.in_at);
		engine.in_len -= engine.in_at;
		engine.in_at = 0;
	}
	const bool fits = c == engine.conn && engine.in_len + p->len <= IN_BYTES;
	if (fits) {
		memcpy(engine.in + engine.in_len, p->data, p->len);
		engine.in_len += p->len;
		engine.owed += p->len;
	}
	pkt_free(&tcp_control_pool, p);
	if (!fits && c == engine.conn)
		engine.over = "the input buffer overflowed"; /* engine_timer resets it */
}

static void on_fin(struct tcp_conn *c)
{
	if (c == engine.conn && !engine.over)
		engine.over = "the engine closed it";
}

static void on_closed(struct tcp_conn *c, int why)
{
	if (c != engine.conn)
		return;
	engine.conn = NULL;
	if (!engine.over)
		engine.over = why == E_TIMEOUT ? "the engine does not answer" : "the engine reset it";
}

/* --- a connection that is lost --- */

/*
 * After a restart of this program the engine's TCP still has the connection, and zebra, which only
 * writes, would not notice before its next change of a route. A SYN from the same addresses and ports
 * makes the engine's TCP answer with its sequence numbers, and those make ours reset the connection
 * (RFC 9293 3.5.1, half-open connections). zebra then connects again.
 */

static void probe_data(struct tcp_conn *c, struct pkt *p)
{
	(void)c;
	pkt_free(&tcp_control_pool, p);
}

/* Somebody listens there: it is no longer that connection. */
static void probe_connected(struct tcp_conn *c) { tcp_abort(c); }

/* Sends it, as soon as we may use our address (RFC 4862 5.4). Returns core_now_ns() of the next try. */
static uint64_t reset_lost(void)
{
	static const struct tcp_app app = {.connected = probe_connected, .data = probe_data};
	struct tcp_open o = {.remote = running.config.engine.addr, .local_port = running.config.engine.port,
	                     .app = &app};
	o.remote_port = persist_connection(&o.local);
	engine.lost--;
	if (o.remote_port && tcp_control && !interfaces_have(&o.local) && engine.lost)
		return core_now_ns() + SECOND_NS;
	if (o.remote_port && tcp_control && interfaces_have(&o.local) &&
	    net_addr_is_ip4(&o.local) == net_addr_is_ip4(&o.remote))
		(void)tcp_connect(tcp_control, &o, core_now_us(), NULL);
	persist_note_connection(&NET_ADDR_ANY, 0);
	engine.lost = 0;
	return UINT64_MAX;
}

void engine_listen(uint16_t port)
{
	static const struct tcp_app app = {.accept = on_accept, .data = on_data, .fin = on_fin,
	                                   .closed = on_closed};
	const struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = port, .nodelay = true, .app = &app};
	int e = tcp_listen(tcp_control, &l);
	assert(e == E_OK);
	engine.lost = LOST_TRIES;
	engine.lost_ns = 0;
}

void engine_stop(void)
{
	if (engine.session) {
		engine_stats.closed = "the ports restarted";
		engine_stats.since_ns = core_now_ns();
	}
	engine.conn = NULL;
	engine.session = engine.removing = engine_stats.up = false;
	engine.over = NULL;
	engine.cut_ns = 0; /* the base of routes is made anew: there is nothing to hold until engine_resume */
}

void engine_resume(void)
{
	static struct rib_previous left;
	static struct engine_hops hops;
	while (routes_previous_next(&left))
		if (engine_is_destination(&left.prefix) && engine_hops_previous(&hops, &left))
			(void)routes_engine_set(&left.prefix, TAG_NONE, hops.hop, hops.hops);
	persist_close();
	engine.removing = false;
	const uint32_t n = rib_stated(routes_rib());
	if (n == 0)
		return;
	routes_engine_session();
	engine.cut_ns = core_now_ns();
	console_log("routing engine: prefixes kept as stale ones: %u", n);
}

void engine_leave(const char *why)
{
	if (engine.session)
		session_abort(why);
}

/* --- the configuration --- */

static bool differ(const struct config *a, const struct config *b)
{
	if (a->engine.line == 0 || b->engine.line == 0)
		return true;
	if (!net_addr_equal(&a->engine.addr, &b->engine.addr) || a->engine.port != b->engine.port ||
	    a->engine.distance != b->engine.distance || a->engine.routes_max != b->engine.routes_max ||
	    a->interfaces != b->interfaces)
		return true;
	for (unsigned n = 0; n < a->interfaces; n++)
		if (config_engine_index_of(&a->interface[n]) != config_engine_index_of(&b->interface[n]))
			return true;
	return false;
}

void engine_change(const struct config *next)
{
	if (engine.session && differ(&running.config, next))
		session_abort(next->engine.line ? "the configuration changed"
		                                : "the configuration has no engine any more");
	if (next->engine.line == 0 && running.config.engine.line != 0)
		engine.removing = true;
}

/* --- work --- */

/* Applies the next frame; *messages grows. False: there is none, or it is malformed. */
static bool next_frame(unsigned *messages)
{
	uint32_t length, at = 0;
	const uint8_t *in = engine.in + engine.in_at;
	enum fpm_error error = fpm_frame(in, engine.in_len - engine.in_at, &length);
	if (!error && length == 0)
		return false;
	if (!error)
		error = fpm_check(in, length, &at);
	if (error) {
		engine_stats.malformed++;
		console_log("routing engine: malformed frame, octet %u: %s", at, fpm_error_text(error));
		session_abort(fpm_error_text(error));
		return false;
	}
	*messages += engine_apply(in, length, engine.out, ENGINE_OUT_BYTES, &engine.out_len);
	engine.in_at += length;
	engine_stats.frames++;
	engine_stats.octets += length;
	return true;
}

static void send_out(void)
{
	if (engine.out_len == 0 || tcp_control_is_short())
		return;
	const uint32_t n = tcp_send(engine.conn, engine.out, (uint32_t)engine.out_len);
	engine.out_len -= n;
	memmove(engine.out, engine.out + n, engine.out_len);
}

/* TCP may receive as much as there is room for behind what waits: the engine goes on sending while its
 * frames are applied. */
static void consume(void)
{
	const uint32_t waiting = engine.in_len - engine.in_at;
	const uint32_t close = waiting > WAITING_MOST ? waiting - WAITING_MOST : 0;
	const uint32_t n = engine.owed > close ? engine.owed - close : 0;
	if (waiting == 0)
		engine.in_at = engine.in_len = 0;
	engine.owed -= n;
	if (engine.conn && n)
		tcp_consumed(engine.conn, n);
}

/* True: call again at once. */
static bool work(void)
{
	unsigned messages = 0;
	while (messages < ENGINE_MESSAGES_PER_TURN && engine.session && next_frame(&messages))
		;
	if (messages)
		routes_settle();
	if (!engine.session)
		return false;
	if (engine.conn)
		send_out();
	consume();
	if (messages >= ENGINE_MESSAGES_PER_TURN)
		return true;
	if (engine.over)
		session_abort(engine.over);
	return false;
}

/* Begins to remove stale routes when it is time; returns when that is. */
static uint64_t stale_due(uint64_t now)
{
	const struct config_engine *c = &running.config.engine;
	uint64_t due = UINT64_MAX;
	if (c->line && engine.session && !engine.settled)
		due = seconds_after(engine.up_ns, c->settle_s);
	else if (c->line && !engine.session && engine.cut_ns)
		due = seconds_after(engine.cut_ns, c->hold_s);
	if (due > now)
		return due;
	engine.settled = engine.session;
	engine.cut_ns = engine.session ? engine.cut_ns : 0;
	engine.removing = true;
	return now;
}

/* A slice of the stale routes; true: more remain. */
static bool remove_stale(void)
{
	const uint32_t before = rib_stale(routes_rib());
	engine.removing = routes_engine_remove_stale(ENGINE_STALE_PER_TURN);
	engine_stats.stale_removed += before - rib_stale(routes_rib());
	return engine.removing;
}

/* Tells the runtime of the tables that a warm restart needs, whenever the routes are many more or fewer. */
static void tell_size(void)
{
	static uint32_t reported;
	const uint32_t n = rib_stated(routes_rib());
	if (n <= reported + SIZE_STEP && reported <= n + SIZE_STEP)
		return;
	reported = n;
	forwarding_tell_spare(n);
}

uint64_t engine_timer(void)
{
	const uint64_t now = core_now_ns();
	const bool more = engine.session && work();
	tell_size();
	uint64_t due = stale_due(now);
	if (engine.removing && remove_stale())
		due = now;
	if (engine.lost && now >= engine.lost_ns)
		engine.lost_ns = reset_lost();
	if (engine.lost)
		due = u64_min(due, engine.lost_ns);
	return more ? now : due;
}
