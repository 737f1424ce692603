/* See tcp_flow.h. */
#include "tests/unit/rig/tcp_flow.h"

#include "net/tcp/move.h"

/* The bytes of a stream repeat a table. Its length is prime, so data that is displaced by a power
 * of two, or by a segment, differs. */
#define PERIOD 65521u
#define PIECE 65536u
#define AWAY_US 100u /* when to look again whether a connection has arrived */

struct persistent {
	struct persistent *next;
	struct pkt pkt;
};

static const struct tcp_app flow_app;
static void pump(struct end *e);
static void write_later(struct end *e, uint32_t us);

static struct end *peer_of(const struct end *e) { return &e->flow->end[1 - e->side]; }
static struct rig *rig_of(const struct end *e) { return e->flow->all->rig; }
static struct rig_host *host_of(const struct end *e)
{
	return &rig_of(e)->host[e->flow->plan.host[e->side]];
}

/* Where its connection is: a machine may have several hosts. */
static void find_host(struct end *e)
{
	const struct rig *r = rig_of(e);
	for (unsigned i = 0; i < r->hosts; i++)
		if (r->host[i].tcp == tcp_instance(e->c))
			e->flow->plan.host[e->side] = i;
}

/* At most PIECE bytes of the stream of e, from pos on. */
static const uint8_t *bytes_at(const struct end *e, uint64_t pos)
{
	return e->flow->all->pattern + (pos + e->key) % PERIOD;
}

/* --- the end of a connection's end --- */

static void drop_kept(struct end *e)
{
	while (e->kept_first) {
		struct persistent *k = e->kept_first;
		e->kept_first = k->next;
		pkt_free(&host_of(e)->pool, &k->pkt);
		free(k);
	}
}

static void ended(struct end *e, int how)
{
	drop_kept(e);
	e->c = NULL;
	e->how = how;
	e->ended_us = rig_of(e)->now_us;
	e->flow->all->open--;
}

static void abort_end(struct end *e)
{
	struct tcp_conn *c = e->c;
	e->busy++;
	tcp_abort(c);
	e->busy--;
	ended(e, END_ABORTED);
}

static void close_end(struct end *e)
{
	e->closing = true;
	e->busy++;
	tcp_close(e->c);
	e->busy--;
	rig_check_equal(tcp_send(e->c, "x", 1), 0);
}

/* --- writing --- */

static void on_write_timer(void *arg)
{
	struct end *e = arg;
	e->timer_write = false;
	if (e->away)
		write_later(e, AWAY_US);
	else if (e->c)
		pump(e);
}

static void write_later(struct end *e, uint32_t us)
{
	if (e->timer_write)
		return;
	e->timer_write = true;
	rig_at(rig_of(e), rig_of(e)->now_us + us, on_write_timer, e);
}

/* One write from a buffer of our own, anywhere in it. Returns how many bytes were taken. */
static uint32_t write_pkt(struct end *e, uint32_t n)
{
	struct bufpool *pool = &host_of(e)->pool;
	struct pkt p;
	/* Received packets need buffers, or acknowledgements could not be received. */
	if (pool->free <= host_of(e)->p.tcp.pool_reserve / 2 || !pkt_alloc(pool, &p))
		return 0;
	uint32_t offset = 192;
	if (chance_below(&e->chance, 4) == 0)
		offset = chance_range(&e->chance, BUF_META, 400);
	if (n > pool->stride - offset)
		n = pool->stride - offset;
	p.data = buf_base(pool, p.buf) + offset;
	p.len = (uint16_t)n;
	memcpy(p.data, bytes_at(e, e->sent), n);
	int error = tcp_send_pkt(e->c, &p);
	if (error) {
		rig_check_equal(error, E_AGAIN);
		pkt_free(pool, &p);
		return 0;
	}
	return n;
}

/* One write; false: no more are possible now. */
static bool write_once(struct end *e)
{
	uint32_t room = tcp_send_room(e->c), taken;
	uint32_t n = chance_range(&e->chance, 1, e->plan.write_max ? e->plan.write_max : PIECE);
	if (n > e->plan.bytes - e->sent)
		n = (uint32_t)(e->plan.bytes - e->sent);
	if (room == 0) /* something is unacknowledged, so acked() will call us */
		return false;
	e->busy++;
	if (e->plan.pkt_percent > chance_below(&e->chance, 100)) {
		n = n < room ? n : room;
		taken = write_pkt(e, n);
	} else {
		if (e->plan.outside_percent > chance_below(&e->chance, 100)) {
			taken = tcp_send_outside(e->c, bytes_at(e, e->sent), n, e->side);
		} else {
			bool urgent = e->plan.urgent && chance_below(&e->chance, 8) == 0;
			taken = (urgent ? tcp_send_urgent : tcp_send)(e->c, bytes_at(e, e->sent), n);
		}
		rig_check(taken <= n && taken <= room);
		e->starved = taken < n && taken < room;
	}
	e->sent += taken;
	e->busy--;
	if (e->starved)
		return false;
	if (taken == 0) { /* no buffers for packets of our own: no callback announces when there are */
		write_later(e, 5 * MS);
		return false;
	}
	if (e->plan.pause_us) {
		write_later(e, chance_below(&e->chance, e->plan.pause_us));
		return false;
	}
	return true;
}

static void pump(struct end *e)
{
	if (e->closing || !e->established || e->timer_write || e->plan.reader == READ_ECHO) {
		if (e->plan.reader == READ_ECHO && e->established && !e->closing && e->fin_seen)
			close_end(e);
		return;
	}
	while (e->sent < e->plan.bytes)
		if (!write_once(e))
			return;
	if (!e->plan.wait_fin || e->fin_seen)
		close_end(e);
}

/* --- reading --- */

static void consume(struct end *e, uint32_t n)
{
	rig_check(n <= e->held);
	e->held -= n;
	e->busy++;
	tcp_consumed(e->c, n);
	e->busy--;
}

static void read_later(struct end *e);

static void on_read_timer(void *arg)
{
	struct end *e = arg;
	e->timer_read = false;
	if (e->away) {
		e->timer_read = true;
		rig_at(rig_of(e), rig_of(e)->now_us + AWAY_US, on_read_timer, e);
	}
	if (!e->c || e->away)
		return;
	if (e->plan.reader == READ_ODD) {
		uint32_t n = chance_range(&e->chance, 1, e->plan.read_max);
		consume(e, n < e->held ? n : (uint32_t)e->held);
	} else if (e->kept_first) {
		struct persistent *k = e->kept_first;
		e->kept_first = k->next;
		uint32_t n = k->pkt.len;
		pkt_free(&host_of(e)->pool, &k->pkt);
		free(k);
		consume(e, n);
	}
	if (e->held)
		read_later(e);
}

static void read_later(struct end *e)
{
	if (e->timer_read)
		return;
	e->timer_read = true;
	rig_at(rig_of(e), rig_of(e)->now_us + chance_below(&e->chance, e->plan.read_us + 1),
	       on_read_timer, e);
}

static void keep(struct end *e, const struct pkt *p)
{
	struct persistent *k = malloc(sizeof *k);
	*k = (struct persistent){NULL, *p};
	if (e->kept_first)
		e->kept_last->next = k;
	else
		e->kept_first = k;
	e->kept_last = k;
	read_later(e);
}

static void read_pkt(struct end *e, struct pkt *p)
{
	struct bufpool *pool = &host_of(e)->pool;
	uint32_t n = p->len;
	switch (e->plan.reader) {
	case READ_LATE:
		keep(e, p);
		break;
	case READ_ODD:
		pkt_free(pool, p);
		read_later(e);
		break;
	case READ_ECHO:
		e->busy++;
		/* The whole buffer is given, and other data may be appended to this. */
		ASAN_UNPOISON_MEMORY_REGION(buf_base(pool, p->buf), pool->stride);
		if (tcp_send_pkt(e->c, p) != E_OK)
			rig_fail(__FILE__, __LINE__, "no room for the echo");
		e->busy--;
		e->sent += n;
		break;
	case READ_NOW:
		pkt_free(pool, p);
		consume(e, n);
	}
}

/* --- chaos: what an application might do in any callback --- */

static void begin(void *arg);

static void chaos(struct end *e)
{
	struct flows *all = e->flow->all;
	struct tcp_info info;
	uint32_t bytes;
	if (!chance_ppm(&e->chance, e->plan.chaos_ppm) || !e->c)
		return;
	switch (chance_below(&e->chance, 12)) {
	case 0:
		if (chance_below(&e->chance, 4) == 0)
			abort_end(e);
		break;
	case 1:
		if (e->established && !e->closing && chance_below(&e->chance, 4) == 0)
			close_end(e);
		break;
	case 2:
		tcp_info(e->c, &info);
		rig_check(info.unacked <= e->sent - e->acked + 2);
		break;
	case 3:
		tcp_set_nodelay(e->c, chance_below(&e->chance, 2));
		break;
	case 4:
		tcp_set_keepalive(e->c, true);
		break;
	case 5:
		rig_check_equal(tcp_send_urgent(e->c, NULL, 0), 0);
		break;
	case 6:
		tcp_set_user_timeout(e->c, 500000 + chance_below(&e->chance, 500000));
		break;
	case 7: {
		struct flow *f = all->flow[chance_below(&e->chance, all->count)];
		begin(f);
		break;
	}
	case 8: { /* another one of this host */
		struct end *o = &all->flow[chance_below(&e->chance, all->count)]->end[e->side];
		if (o != e && o->c && o->busy == 0 && o->plan.chaos_ppm)
			abort_end(o);
		break;
	}
	case 9:
		if (e->held && e->plan.reader != READ_ECHO && e->plan.reader != READ_LATE)
			consume(e, (uint32_t)e->held);
		break;
	case 10:
		(void)tcp_urgent(e->c, &bytes);
		rig_check(tcp_instance(e->c) == host_of(e)->tcp && tcp_arg(e->c) == e);
		break;
	default:
		if (e->established && !e->closing && e->plan.reader != READ_ECHO)
			pump(e);
	}
}

/* --- callbacks --- */

static struct end *called(struct tcp_conn *c)
{
	struct end *e = tcp_arg(c);
	if (e->c != c || e->busy)
		rig_fail(__FILE__, __LINE__, "callback of a connection that %s",
		         e->c != c ? "has ended" : "is being called");
	return e;
}

static void become_established(struct end *e)
{
	rig_check(!e->established);
	e->established = true;
	if (e->plan.keepalive)
		tcp_set_keepalive(e->c, true);
	chaos(e);
	if (e->c)
		pump(e);
}

static void on_abort_timer(void *arg)
{
	struct end *e = arg;
	if (e->away)
		rig_at(rig_of(e), rig_of(e)->now_us + AWAY_US, on_abort_timer, e);
	else if (e->c)
		abort_end(e);
}

static void set_alarm(struct end *e)
{
	if (e->plan.abort_us)
		rig_at(rig_of(e), rig_of(e)->now_us + e->plan.abort_us, on_abort_timer, e);
}

static struct flow *flow_of(struct flows *a, const struct tcp_info *i)
{
	struct rig_host *client = rig_host_of(a->rig, net_addr_to_ip4(&i->remote));
	rig_check(client);
	struct flow *f = a->by_port[client->index][i->remote_port];
	rig_check(f && f->plan.port[1] == i->local_port);
	return f;
}

static bool on_accept(struct tcp_conn *c)
{
	struct flows *a = tcp_arg(c);
	struct tcp_info info;
	tcp_info(c, &info);
	struct end *e = &flow_of(a, &info)->end[1];
	rig_check_equal(e->how, END_NEVER);
	a->accepts++;
	if (e->plan.refuse) {
		e->how = END_REFUSED;
		return false;
	}
	e->c = c;
	e->how = END_OPEN;
	a->open++;
	find_host(e);
	tcp_set_arg(c, e);
	if (e->plan.abort_in_accept) {
		abort_end(e);
		return chance_below(&e->chance, 2);
	}
	set_alarm(e);
	become_established(e);
	return true;
}

static void on_connected(struct tcp_conn *c)
{
	struct end *e = called(c);
	e->flow->all->connects++;
	become_established(e);
}

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	struct end *e = called(c);
	const struct end *o = peer_of(e);
	rig_check(p->len >= 1 && !e->fin_seen && e->established);
	rig_check(!(p->flags & PKT_CHAIN));
	if (e->received + p->len > o->sent)
		rig_fail(__FILE__, __LINE__, "received to %llu, sent to %llu",
		         (unsigned long long)e->received + p->len, (unsigned long long)o->sent);
	if (memcmp(p->data, bytes_at(o, e->received), p->len) != 0)
		rig_fail(__FILE__, __LINE__, "other bytes than sent, within %u from %llu on",
		         p->len, (unsigned long long)e->received);
	e->received += p->len;
	e->held += p->len;
	if (e->held > e->held_max)
		rig_fail(__FILE__, __LINE__, "%llu bytes wait, more than rcv_buf",
		         (unsigned long long)e->held);
	read_pkt(e, p);
	if (e->plan.abort_bytes && e->received >= e->plan.abort_bytes)
		abort_end(e);
	else if (e->plan.close_in_data && !e->closing)
		close_end(e);
	chaos(e);
}

static void on_acked(struct tcp_conn *c, uint32_t n)
{
	struct end *e = called(c);
	const struct end *o = peer_of(e);
	e->starved = false; /* 0 bytes only mean that there are buffers again (tcp.h) */
	e->acked += n;
	rig_check(e->acked <= e->sent);
	rig_check(e->acked <= o->received);
	struct tcp_info info;
	tcp_info(c, &info);
	rig_check(info.cwnd <= CC_WINDOW_MAX);
	if (e->plan.reader == READ_ECHO && n)
		consume(e, n);
	chaos(e);
	if (e->c)
		pump(e);
}

static void on_fin(struct tcp_conn *c)
{
	struct end *e = called(c);
	const struct end *o = peer_of(e);
	rig_check(!e->fin_seen && o->closing && e->received == o->sent);
	e->fin_seen = true;
	chaos(e);
	if (e->c)
		pump(e);
}

static void on_urgent(struct tcp_conn *c)
{
	struct end *e = called(c);
	uint32_t bytes = 0;
	rig_check(tcp_urgent(c, &bytes));
	chaos(e);
}

static void on_closed(struct tcp_conn *c, int why)
{
	struct end *e = called(c);
	const struct end *o = peer_of(e);
	if (why == E_OK) {
		rig_check(e->closing && e->fin_seen);
		rig_check_equal(e->acked, e->sent);
		rig_check_equal(e->received, o->sent);
	}
	ended(e, why);
	if (e->plan.chaos_ppm && e->flow->all->started < e->flow->all->count)
		begin(e->flow->all->flow[e->flow->all->started]); /* connect in closed */
}

static const struct tcp_app flow_app = {
	.accept = on_accept,
	.connected = on_connected,
	.data = on_data,
	.acked = on_acked,
	.fin = on_fin,
	.urgent = on_urgent,
	.closed = on_closed,
};

/* --- moves --- */

/* The state of an application that moves: the end, and how far its streams are. */
struct moved {
	struct end *e;
	uint64_t sent, received;
};

/* Received buffers that the application has not read would have to move as well. */
static uint32_t on_leave(struct tcp_conn *c, uint8_t *to)
{
	struct end *e = called(c);
	if (e->kept_first)
		return TCP_MOVE_APP_BUSY;
	rig_check(!e->away);
	e->away = true;
	const struct moved m = {e, e->sent, e->received};
	memcpy(to, &m, sizeof m);
	return sizeof m;
}

static void on_left(struct tcp_conn *c, bool taken)
{
	struct end *e = tcp_arg(c);
	rig_check(taken ? e->c != c : e->c == c && e->away);
	if (!taken)
		e->away = false;
}

static bool on_join(struct tcp_conn *c, const uint8_t *from, uint32_t n)
{
	struct moved m;
	rig_check_equal(n, sizeof m);
	memcpy(&m, from, n);
	struct end *e = m.e;
	rig_check(e->away && e->c != c && e->sent == m.sent && e->received == m.received);
	rig_check(!tcp_arg(c));
	rig_check_equal(tcp_unconsumed(c), e->held);
	rig_check_equal(tcp_unacked(c), e->sent - e->acked);
	e->away = false;
	e->c = c;
	find_host(e);
	tcp_set_arg(c, e);
	return true;
}

void flows_movable(struct flows *a, unsigned host)
{
	static const struct tcp_move_app table[] = {
		{.app = &flow_app, .leave = on_leave, .left = on_left, .join = on_join}};
	tcp_move_apps(a->rig->host[host].tcp, table, ARRAY_LEN(table));
}

/* --- flows --- */

static const uint8_t *pattern(void)
{
	static uint8_t table[PERIOD + PIECE];
	struct chance c = {4711};
	for (unsigned i = 0; i < PERIOD; i++)
		table[i] = (uint8_t)chance_next(&c);
	for (unsigned i = PERIOD; i < PERIOD + PIECE; i++)
		table[i] = table[i - PERIOD];
	return table;
}

struct flows *flows_new(struct rig *r)
{
	static const uint8_t *table;
	struct flows *a = calloc(1, sizeof *a);
	if (!table)
		table = pattern();
	a->rig = r;
	a->pattern = table;
	for (unsigned i = 0; i < RIG_HOSTS; i++)
		a->by_port[i] = calloc(65536, sizeof **a->by_port);
	return a;
}

void flows_listen(struct flows *a, unsigned host, uint16_t port, bool fastopen)
{
	const struct tcp_listen l = {
		.port = port, .fastopen = fastopen, .app = &flow_app, .arg = a};
	rig_check_equal(tcp_listen(a->rig->host[host].tcp, &l), E_OK);
}

static void connect_end(struct end *e, uint16_t local_port, uint16_t remote_port)
{
	struct flow *f = e->flow;
	struct flows *a = f->all;
	uint32_t first = e->side == 0 ? f->plan.first_bytes : 0;
	const struct tcp_open o = {
		.local = rig_addr(a->rig, host_of(e)->addr),
		.remote = rig_addr(a->rig, host_of(peer_of(e))->addr),
		.local_port = local_port,
		.remote_port = remote_port,
		.nodelay = e->plan.nodelay,
		.fastopen = f->plan.fastopen,
		.data = first ? bytes_at(e, 0) : NULL,
		.data_len = first,
		.app = &flow_app,
		.arg = e,
	};
	int error = 1;
	e->sent = first;
	e->c = tcp_connect(host_of(e)->tcp, &o, a->rig->now_us, &error);
	if (!e->c) {
		rig_check(error == E_NOMEM || error == E_INVAL);
		e->sent = 0;
		e->how = error;
		/* Other connections hold the buffers that its first bytes need. */
		const struct rig_host *h = host_of(e);
		f->plan.may_fail |= error == E_NOMEM && first && h->pool.free <= h->p.tcp.pool_reserve;
		return;
	}
	e->how = END_OPEN;
	a->open++;
	struct tcp_info info;
	tcp_info(e->c, &info);
	rig_check(info.state == TCP_SYN_SENT && info.local_port != 0);
	if (e->side == 0)
		a->by_port[host_of(e)->index][info.local_port] = f;
	set_alarm(e);
}

static void begin(void *arg)
{
	struct flow *f = arg;
	if (f->started)
		return;
	f->started = true;
	f->started_us = f->all->rig->now_us;
	f->all->started++;
	connect_end(&f->end[0], f->plan.port[0], f->plan.port[1]);
	if (f->plan.simultaneous)
		connect_end(&f->end[1], f->plan.port[1], f->plan.port[0]);
}

struct flow *flow_add(struct flows *a, const struct flow_plan *p)
{
	if (a->count == a->room) {
		a->room = a->room ? 2 * a->room : 16;
		a->flow = realloc(a->flow, a->room * sizeof *a->flow);
	}
	struct flow *f = a->flow[a->count++] = calloc(1, sizeof *f);
	f->all = a;
	f->plan = *p;
	if (p->host[0] == p->host[1])
		f->plan.host[0] = 0, f->plan.host[1] = 1;
	uint32_t key = (uint32_t)(chance_next(&a->rig->chance) % PERIOD);
	for (unsigned s = 0; s < 2; s++) {
		struct end *e = &f->end[s];
		*e = (struct end){.flow = f, .side = s, .plan = p->end[s], .how = END_NEVER};
		e->chance.state = chance_next(&a->rig->chance);
		e->key = p->end[1].reader == READ_ECHO ? key : (key + 1009 * s) % PERIOD;
		const struct tcp_params *t = &a->rig->host[f->plan.host[s]].p.tcp;
		e->held_max = t->rcv_buf_max < t->snd_buf ? t->rcv_buf_max : t->snd_buf;
		e->held_max = e->held_max > t->rcv_buf ? e->held_max : t->rcv_buf;
	}
	rig_at(a->rig, a->rig->now_us + p->start_us, begin, f);
	return f;
}

bool flows_done(void *flows)
{
	const struct flows *a = flows;
	return a->started == a->count && a->open == 0;
}

/* Could this have caused the peer's error? */
static bool is_cause(const struct end *e)
{
	return e->how == END_ABORTED || e->how == END_REFUSED || e->how == E_TIMEOUT;
}

static void judge(const struct flow *f)
{
	for (unsigned s = 0; s < 2; s++) {
		const struct end *e = &f->end[s], *o = &f->end[1 - s];
		rig_check(e->how != END_OPEN && !e->kept_first);
		if (e->how == E_OK || f->plan.may_fail)
			continue;
		bool fine = is_cause(e) ? e->how != E_TIMEOUT || is_cause(o) :
		            e->how == END_NEVER ? s == 1 && is_cause(o) : is_cause(o);
		if (!fine)
			rig_fail(__FILE__, __LINE__, "side %u ended with %d, the other with %d", s,
			         e->how, o->how);
	}
}

void flows_end(struct flows *a)
{
	for (unsigned i = 0; i < a->count; i++) {
		judge(a->flow[i]);
		free(a->flow[i]);
	}
	for (unsigned i = 0; i < RIG_HOSTS; i++)
		free(a->by_port[i]);
	free(a->flow);
	free(a);
}

void flows_finish(struct flows *a, uint64_t limit_us)
{
	struct rig *r = a->rig;
	rig_run_until(r, r->now_us + limit_us, flows_done, a);
	rig_run_dry(r, r->now_us + limit_us);
	flows_end(a);
	rig_end(r);
}
