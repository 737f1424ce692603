/* See connection.h. */
#include "control/engine/connection.h"

#include "control/config/running.h"
#include "control/console/log.h"
#include "control/host/tcp_control.h"
#include "lib/fmt.h"
#include "lib/mem.h"

bool engine_connection_admits(struct engine_connection *e, bool wanted, struct tcp_conn *c)
{
	struct tcp_info info;
	tcp_info(c, &info);
	if (wanted && net_addr_equal(&info.remote, &running.config.engine.addr))
		return true;
	e->stats->foreign++;
	return false;
}

void engine_connection_begin(struct engine_connection *e, struct tcp_conn *c)
{
	char text[FMT_ADDR_MAX];
	tcp_set_keepalive(c, true); /* after 2 h (RFC 9293 3.8.4): an idle engine sends nothing */
	e->conn = c;
	e->session = true;
	e->over = NULL;
	e->in_len = e->in_at = e->owed = 0;
	e->out_len = 0;
	e->up_ns = core_now_ns();
	e->settled = false;
	e->stats->up = true;
	e->stats->since_ns = e->up_ns;
	e->stats->connections++;
	log_event(LOG_NOTICE, "ENGINE-UP", "routing engine: %s%s connected", e->label,
	            fmt_addr(text, running.config.engine.addr.w));
}

void engine_connection_abort(struct engine_connection *e, const char *why)
{
	struct tcp_conn *c = e->conn;
	e->conn = NULL;
	log_event(LOG_WARNING, "ENGINE-DOWN", "routing engine: %sdisconnected: %s", e->label, why);
	e->session = false;
	e->over = NULL;
	e->cut_ns = core_now_ns();
	e->stats->up = false;
	e->stats->since_ns = e->cut_ns;
	e->stats->closed = why;
	e->ended();
	if (c)
		tcp_abort(c);
}

void engine_connection_forget(struct engine_connection *e)
{
	if (e->session) {
		e->stats->closed = "the ports restarted";
		e->stats->since_ns = core_now_ns();
	}
	e->conn = NULL;
	e->session = e->stats->up = false;
	e->over = NULL;
	e->cut_ns = 0;
}

/* --- TCP --- */

void engine_connection_data(struct engine_connection *e, struct tcp_conn *c, struct pkt *p)
{
	if (e->in_at && e->in_len + p->len > e->in_bytes) {
		memmove(e->in, e->in + e->in_at, e->in_len - e->in_at);
		e->in_len -= e->in_at;
		e->in_at = 0;
	}
	const bool fits = c == e->conn && e->in_len + p->len <= e->in_bytes;
	if (fits) {
		memcpy(e->in + e->in_len, p->data, p->len);
		e->in_len += p->len;
		e->owed += p->len;
	}
	pkt_free(&tcp_control_pool, p);
	if (!fits && c == e->conn)
		e->over = "the input buffer overflowed";
}

void engine_connection_fin(struct engine_connection *e, struct tcp_conn *c)
{
	if (c == e->conn && !e->over)
		e->over = e->closed;
}

void engine_connection_closed(struct engine_connection *e, struct tcp_conn *c, int why)
{
	if (c != e->conn)
		return;
	e->conn = NULL;
	if (!e->over)
		e->over = why == E_TIMEOUT ? e->silent : e->reset;
}

void engine_connection_send(struct engine_connection *e)
{
	if (e->out_len == 0 || tcp_control_is_short())
		return;
	const uint32_t n = tcp_send(e->conn, e->out, (uint32_t)e->out_len);
	e->out_len -= n;
	memmove(e->out, e->out + n, e->out_len);
}

void engine_connection_consume(struct engine_connection *e, uint32_t n)
{
	if (e->in_at == e->in_len)
		e->in_at = e->in_len = 0;
	e->owed -= n;
	if (e->conn && n)
		tcp_consumed(e->conn, n);
}

/* --- times --- */

bool engine_connection_settles(struct engine_connection *e, uint64_t now_ns, uint64_t *due_ns)
{
	const struct config_engine *c = &running.config.engine;
	*due_ns = UINT64_MAX;
	if (c->line && e->session && !e->settled)
		*due_ns = e->up_ns + c->settle_s * SECOND_NS;
	else if (c->line && !e->session && e->cut_ns)
		*due_ns = e->cut_ns + c->hold_s * SECOND_NS;
	if (*due_ns > now_ns)
		return false;
	e->settled = e->session;
	e->cut_ns = 0;
	return true;
}

/* --- the configuration --- */

bool engine_indices_differ(const struct config *a, const struct config *b)
{
	if (a->interfaces != b->interfaces)
		return true;
	for (unsigned n = 0; n < a->interfaces; n++)
		if (config_engine_index_of(&a->interface[n]) != config_engine_index_of(&b->interface[n]))
			return true;
	return false;
}
