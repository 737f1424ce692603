/* See engine.h. TCP's callbacks copy input to the buffer; engine_timer applies it. */
#include "control/engine/engine.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/engine/apply.h"
#include "control/engine/hops.h"
#include "control/engine/tags.h"
#include "control/forwarding/interfaces.h"
#include "control/forwarding/persist.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/tables.h"
#include "control/host/tcp_control.h"
#include "lib/number.h"

/* What waits to be applied, and behind it what TCP's window lets the engine send: consume keeps their sum
 * below IN_BYTES. A window is open as long as less than WAITING_MOST waits. */
#define WINDOW TCP_CONTROL_RCV_GIVEN
#define WAITING_MOST (FPM_FRAME_MAX + WINDOW / 2)
#define IN_BYTES (WAITING_MOST + WINDOW)
#define SIZE_STEP 16384 /* of tell_size */
#define LOST_TRIES 10
#define PROGRESS_STEP 4096 /* prefixes between two looks at the time */
_Static_assert(WAITING_MOST >= FPM_FRAME_MAX, "a frame that is not complete does not close the window");

struct engine_stats engine_stats;

static void session_ended(void);

static struct engine_connection zebra = {
	.label = "",
	.closed = "the engine closed it",
	.silent = "the engine does not answer",
	.reset = "the engine reset it",
	.stats = &engine_stats.connection,
	.ended = session_ended,
	.in_bytes = IN_BYTES,
};
static struct {
	bool removing;          /* stale routes are being removed */
	unsigned lost;          /* tries of reset_lost that are left; 0: no connection is known to be lost */
	uint64_t lost_ns;       /* when the next one is due */
} engine;

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
	zebra.in = zebra.in ? zebra.in : core_private_alloc(IN_BYTES);
	zebra.out = zebra.out ? zebra.out : core_private_alloc(ENGINE_OUT_BYTES);
	return zebra.in && zebra.out && engine_apply_prepare();
}

/* --- the session --- */

static void session_ended(void)
{
	persist_note_connection(&NET_ADDR_ANY, 0);
	engine.removing = false;
	routes_engine_session();
}

static bool on_accept(struct tcp_conn *c)
{
	struct tcp_info info;
	if (!engine_connection_admits(&zebra, running.config.engine.line != 0, c))
		return false;
	if (zebra.session)
		engine_connection_abort(&zebra, "a new connection replaced it");
	tcp_info(c, &info);
	persist_note_connection(&info.local, info.remote_port);
	engine.lost = 0;
	engine.removing = false;
	tcp_set_rcv_buf(c, WINDOW);
	engine_apply_begin();
	engine_connection_begin(&zebra, c);
	return true;
}

static void on_data(struct tcp_conn *c, struct pkt *p) { engine_connection_data(&zebra, c, p); }
static void on_fin(struct tcp_conn *c) { engine_connection_fin(&zebra, c); }
static void on_closed(struct tcp_conn *c, int why) { engine_connection_closed(&zebra, c, why); }

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
	/* the base of routes is made anew: there is nothing to hold until engine_resume */
	engine_connection_forget(&zebra);
	engine.removing = false;
}

/*
 * Logs progress, at most once a second. The kernel takes a control program that does not call it for 30 s
 * for stuck (is_silent, kernel/kcall.c). A million routes are two seconds of work, but on a busy host a
 * second of work can take that long.
 */
static void say_progress(uint32_t prefixes, uint64_t *said_tsc)
{
	if (prefixes % PROGRESS_STEP)
		return;
	core_alive();
	if (log_is_due(said_tsc))
		log_event(LOG_INFO, "ENGINE", "routing engine: %u prefixes of the program before read", prefixes);
}

void engine_resume(void)
{
	static struct rib_previous left;
	static struct engine_hops hops;
	uint64_t said_tsc = clock_tsc();
	uint32_t read = 0;
	for (; routes_previous_next(&left); say_progress(++read, &said_tsc))
		if (engine_is_destination(&left.prefix) && engine_hops_previous(&hops, &left))
			(void)routes_engine_set(&left.prefix, TAG_NONE, hops.hop, hops.hops);
	persist_close();
	engine.removing = false;
	const uint32_t n = rib_stated(routes_rib());
	if (n == 0)
		return;
	routes_engine_session();
	zebra.cut_ns = core_now_ns();
	log_event(LOG_INFO, "ENGINE", "routing engine: prefixes kept as stale ones: %u", n);
}

void engine_leave(const char *why)
{
	if (zebra.session)
		engine_connection_abort(&zebra, why);
}

/* --- the configuration --- */

static bool differ(const struct config *a, const struct config *b)
{
	return a->engine.line == 0 || b->engine.line == 0 ||
	       !net_addr_equal(&a->engine.addr, &b->engine.addr) || a->engine.port != b->engine.port ||
	       a->engine.distance != b->engine.distance || a->engine.routes_max != b->engine.routes_max ||
	       engine_indices_differ(a, b);
}

void engine_change(const struct config *next)
{
	if (zebra.session && differ(&running.config, next))
		engine_connection_abort(&zebra, next->engine.line
		                                        ? "the configuration changed"
		                                        : "the configuration has no engine any more");
	if (next->engine.line == 0 && running.config.engine.line != 0)
		engine.removing = true;
}

/* --- work --- */

/* Applies the next frame; *messages grows. False: there is none, or it is malformed. */
static bool next_frame(unsigned *messages)
{
	uint32_t length, at = 0;
	const uint8_t *in = zebra.in + zebra.in_at;
	enum fpm_error error = fpm_frame(in, zebra.in_len - zebra.in_at, &length);
	if (!error && length == 0)
		return false;
	if (!error)
		error = fpm_check(in, length, &at);
	if (error) {
		engine_stats.connection.malformed++;
		log_event(LOG_ERR, "ENGINE", "routing engine: malformed frame, octet %u: %s", at,
		          fpm_error_text(error));
		engine_connection_abort(&zebra, fpm_error_text(error));
		return false;
	}
	*messages += engine_apply(in, length, zebra.out, ENGINE_OUT_BYTES, &zebra.out_len);
	zebra.in_at += length;
	engine_stats.frames++;
	engine_stats.octets += length;
	return true;
}

/* TCP may receive as much as there is room for behind what waits: the engine goes on sending while its
 * frames are applied. */
static void consume(void)
{
	const uint32_t waiting = zebra.in_len - zebra.in_at;
	const uint32_t close = waiting > WAITING_MOST ? waiting - WAITING_MOST : 0;
	engine_connection_consume(&zebra, zebra.owed > close ? zebra.owed - close : 0);
}

/* True: call again at once. */
static bool work(void)
{
	unsigned messages = 0;
	while (messages < ENGINE_MESSAGES_PER_TURN && zebra.session && next_frame(&messages))
		;
	if (messages)
		routes_settle();
	if (!zebra.session)
		return false;
	if (zebra.conn)
		engine_connection_send(&zebra);
	consume();
	if (messages >= ENGINE_MESSAGES_PER_TURN)
		return true;
	if (zebra.over)
		engine_connection_abort(&zebra, zebra.over);
	return false;
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
	const bool more = zebra.session && work();
	uint64_t due;
	tell_size();
	engine.removing |= engine_connection_settles(&zebra, now, &due);
	if (engine.removing && remove_stale())
		due = now;
	if (engine.lost && now >= engine.lost_ns)
		engine.lost_ns = reset_lost();
	if (engine.lost)
		due = u64_min(due, engine.lost_ns);
	return more ? now : due;
}
