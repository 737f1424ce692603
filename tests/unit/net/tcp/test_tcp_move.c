/*
 * Connections that move (net/tcp/move.h). Two machines of two instances each, one address a machine,
 * and a bad wire between them, in virtual time (tests/unit/rig/tcp_rig.h). At random moments a
 * connection leaves one instance of its machine for the other, in messages that take time; some
 * moves are refused or cut off. Whatever happens, each stream arrives exactly, both ends close, and
 * no connection that both ends still have is reset.
 *
 * Then what no wire is needed for: a hundred thousand idle connections, and each kind of refusal.
 */
#include "tests/unit/rig/tcp_flow.h"

#include "lib/number.h"
#include "net/eth.h"
#include "net/ip.h"
#include "net/tcp/move_image.h"
#include "net/tcp/wire.h"

#include <time.h>

#define HOUR (3600ull * SECOND)
#define CORES 2         /* instances a machine: hosts m and m + 2 are machine m */
#define MSG_MAX 4096
#define MOVES_MAX 400   /* of a world; then its streams come to an end */
#define STATES (TCP_TIME_WAIT + 1)

static bool one_in(struct chance *c, uint32_t n) { return chance_below(c, n) == 0; }

static uint32_t any_size(struct chance *c, uint32_t max)
{
	uint32_t bits = chance_below(c, 32);
	uint32_t n = (uint32_t)chance_next(c) >> bits;
	return n > max ? n % (max + 1) : n;
}

/* --- machines --- */

/* A move in progress: its messages are delivered one after the other. */
struct mover {
	struct world *w;
	unsigned from, to;      /* hosts */
	uint16_t client;        /* the flow's port */
	struct tcp_move_out out;
	uint32_t room, delay_us, cut; /* cut: lost from this message on; 0: never */
	unsigned messages;
	bool refuse;            /* the answer, if it is not the new instance's */
	enum tcp_move result;
};

struct world {
	struct rig *r;
	struct flows *flows;
	struct chance chance;
	struct tcp_move_in in[RIG_HOSTS];
	bool busy[RIG_HOSTS];   /* of the messages to that host */
	uint8_t at[2][65536];   /* core of that machine, by client's port */
	bool moving[2][65536];
	bool hold;              /* segments of a connection that moves wait */
	uint32_t every_us;
	unsigned moves, refused, cut;
	unsigned by_state[STATES];
	uint64_t messages;
};

static unsigned machine_of(const struct rig_host *h) { return h->index % 2; }

/* Clients are machine 0. */
static uint16_t client_port(const struct rig_host *h, uint16_t local, uint16_t remote)
{
	return machine_of(h) == 0 ? local : remote;
}

static struct rig_host *route(struct rig_host *to, const uint8_t *ip)
{
	struct world *w = to->rig->machine;
	unsigned m = machine_of(to);
	uint16_t port = (uint16_t)(m == 0 ? get16(seg_tcp(ip) + 2) : get16(seg_tcp(ip)));
	if (w->hold && w->moving[m][port])
		return NULL;
	return &to->rig->host[m + 2u * w->at[m][port]];
}

static bool elsewhere(struct rig_host *h, uint16_t local, uint16_t remote)
{
	const struct world *w = h->rig->machine;
	unsigned m = machine_of(h);
	uint16_t port = client_port(h, local, remote);
	return w->moving[m][port] || m + 2u * w->at[m][port] != h->index;
}

/* No segment resets a connection that both ends have. */
static bool no_reset(struct rig_host *h, uint8_t *ip, unsigned len)
{
	struct world *w = h->rig->machine;
	uint16_t local = (uint16_t)get16(seg_tcp(ip)), remote = (uint16_t)get16(seg_tcp(ip) + 2);
	const struct flow *f = w->flows->by_port[0][client_port(h, local, remote)];
	(void)len;
	if (seg_flags(ip) & RST && f)
		rig_check(f->end[0].how != END_OPEN || f->end[1].how != END_OPEN);
	return true;
}

/* --- moving --- */

static void end_move(struct mover *m, bool taken)
{
	struct world *w = m->w;
	unsigned machine = m->from % 2;
	rig_check(tcp_move_ended(w->r->host[m->from].tcp, m->out.id, taken));
	rig_check(!tcp_move_ended(w->r->host[m->from].tcp, m->out.id, taken));
	if (taken)
		w->at[machine][m->client] = (uint8_t)(m->to / 2);
	w->moving[machine][m->client] = false;
	w->busy[m->to] = false;
	free(m);
}

static void on_answer(void *arg)
{
	struct mover *m = arg;
	end_move(m, m->result == TCP_MOVE_TAKEN);
}

static void on_message(void *arg)
{
	struct mover *m = arg;
	struct world *w = m->w;
	struct tcp_move_in *in = &w->in[m->to];
	uint8_t msg[MSG_MAX];
	uint32_t n = tcp_move_write(&m->out, msg, m->room);
	if (m->cut && m->messages == m->cut) { /* the old owner stops */
		w->cut++;
		end_move(m, false);
		return;
	}
	if (n == 0)
		rig_fail(__FILE__, __LINE__, "all is written and not taken: %u", m->result);
	uint8_t *exact = malloc(n);
	memcpy(exact, msg, n);
	m->result = tcp_move_read(w->r->host[m->to].tcp, in, exact, n, w->r->now_us);
	free(exact);
	m->messages++;
	w->messages++;
	rig_check_equal(in->id, m->out.id);
	if (m->result == TCP_MOVE_MORE) {
		rig_at(w->r, w->r->now_us + m->delay_us, on_message, m);
		return;
	}
	if (m->result != TCP_MOVE_TAKEN) {
		if (m->result != TCP_MOVE_BUFFERS && m->result != TCP_MOVE_FULL)
			rig_fail(__FILE__, __LINE__, "refused: %s", tcp_move_name(m->result));
		w->refused++;
	}
	/* From now on the new instance answers, so its segments go there. */
	if (m->result == TCP_MOVE_TAKEN)
		w->at[m->from % 2][m->client] = (uint8_t)(m->to / 2);
	rig_at(w->r, w->r->now_us + m->delay_us, on_answer, m);
}

/* Some connection of the host, or NULL. */
static struct tcp_conn *any_conn(struct world *w, unsigned host)
{
	struct tcp *t = w->r->host[host].tcp;
	uint32_t n = tcp_connections(t), cursor = 0;
	struct tcp_conn *c = NULL;
	if (n == 0)
		return NULL;
	for (uint32_t skip = chance_below(&w->chance, n) + 1; skip; skip--)
		c = tcp_next(t, &cursor, UINT32_MAX);
	return c;
}

static void move_one(struct world *w, unsigned from)
{
	struct tcp_info info;
	struct chance *ch = &w->chance;
	struct tcp_conn *c = any_conn(w, from);
	unsigned to = (from + 2) % RIG_HOSTS;
	if (!c || w->busy[to] || (!w->r->overtakes && w->r->host[from].sent_n))
		return;
	tcp_info(c, &info);
	struct mover *m = calloc(1, sizeof *m);
	*m = (struct mover){.w = w, .from = from, .to = to};
	m->client = client_port(&w->r->host[from], info.local_port, info.remote_port);
	m->room = one_in(ch, 2) ? TCP_MOVE_MSG_MIN : chance_range(ch, TCP_MOVE_MSG_MIN, MSG_MAX);
	m->delay_us = one_in(ch, 2) ? 0 : any_size(ch, 3000);
	m->cut = one_in(ch, 8) ? 1 + any_size(ch, 20) : 0;
	if (w->moving[from % 2][m->client] || tcp_move_begin(&m->out, c) != E_OK) {
		free(m);
		return;
	}
	w->moves++;
	w->by_state[info.state]++;
	w->moving[from % 2][m->client] = true;
	w->busy[to] = true;
	on_message(m);
}

static void on_move(void *arg)
{
	struct world *w = arg;
	for (unsigned n = chance_range(&w->chance, 1, 3); n; n--)
		move_one(w, chance_below(&w->chance, RIG_HOSTS));
	if (!flows_done(w->flows) && w->moves < MOVES_MAX)
		rig_at(w->r, w->r->now_us + 1 + chance_below(&w->chance, w->every_us), on_move, w);
}

/* --- worlds --- */

static struct rig_host_params random_host(struct chance *c)
{
	static const uint32_t can[] = {0, TCP_TX_CSUM, TCP_TX_CSUM | TCP_TX_SG,
	                               TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO};
	struct rig_host_params p = rig_host_default();
	p.tcp.offload = can[chance_below(c, ARRAY_LEN(can))];
	p.device_us = one_in(c, 2) ? 0 : any_size(c, 2000);
	p.batch_us = one_in(c, 2) ? 0 : any_size(c, 2000);
	p.late_us = one_in(c, 2) ? 0 : any_size(c, 3000);
	p.device_room = one_in(c, 2) ? 0 : any_size(c, 64);
	p.tcp.congestion = one_in(c, 2) ? CC_CUBIC : CC_NEWRENO;
	p.tcp.sack = !one_in(c, 4);
	p.tcp.timestamps = !one_in(c, 4);
	p.tcp.window_scale = !one_in(c, 5);
	p.tcp.ecn = !one_in(c, 3);
	if (one_in(c, 3))
		p.tcp.rcv_buf = p.tcp.snd_buf = 2000 + any_size(c, 1000000);
	p.tcp.delack_ms = chance_range(c, 1, 200);
	p.tcp.keepalive_ms = one_in(c, 3) ? 30000 : 0;
	return p;
}

static struct wire random_wire(struct chance *c)
{
	struct wire w = {.delay_us = any_size(c, 100 * MS)};
	w.jitter_us = one_in(c, 2) ? any_size(c, 20 * MS) : 0;
	w.loss_ppm = one_in(c, 2) ? any_size(c, 80000) : 0;
	w.dup_ppm = one_in(c, 3) ? any_size(c, 100000) : 0;
	if (one_in(c, 3)) {
		w.reorder_ppm = any_size(c, 200000);
		w.reorder_us = any_size(c, 50 * MS);
	}
	w.ce_ppm = one_in(c, 3) ? any_size(c, 100000) : 0;
	if (one_in(c, 3)) {
		w.rate_bps = 200000 + any_size(c, 1000000000);
		w.queue_bytes = 5000 + any_size(c, 200000);
	}
	return w;
}

/* Machines 0 and 1 of two instances each. */
static struct world *world_new(uint64_t seed, const struct rig_host_params machine[2],
                               const struct wire wire[2])
{
	struct world *w = calloc(1, sizeof *w);
	w->r = rig_new(seed, SECOND + seed * 12345678901ull % (1ull << 40));
	w->chance.state = seed ^ 0x5eed;
	for (unsigned i = 0; i < RIG_HOSTS; i++) {
		struct rig_host_params p = machine[i % 2];
		p.key = seed * 2 + i % 2 + 77; /* one for the machine */
		struct rig_host *h = rig_host_add(w->r, &p);
		h->addr = w->r->host[i % 2].addr;
		h->wire = wire[i % 2];
		h->filter = no_reset;
	}
	w->r->route = route;
	w->r->elsewhere = elsewhere;
	w->r->machine = w;
	w->flows = flows_new(w->r);
	for (unsigned i = 0; i < RIG_HOSTS; i++)
		flows_movable(w->flows, i);
	flows_listen(w->flows, 1, 7, false);
	flows_listen(w->flows, 3, 7, false);
	return w;
}

static void world_end(struct world *w, unsigned total[STATES])
{
	for (unsigned i = 0; i < RIG_HOSTS; i++)
		tcp_move_drop(w->r->host[i].tcp, &w->in[i]); /* cut off */
	flows_finish(w->flows, 24 * HOUR);
	for (unsigned s = 0; s < STATES; s++)
		total[s] += w->by_state[s];
	free(w);
}

static struct end_plan random_end(struct chance *c, uint32_t max_bytes)
{
	struct end_plan e = {.bytes = any_size(c, max_bytes)};
	e.write_max = one_in(c, 2) ? 0 : 1 + any_size(c, 20000);
	if (e.write_max && e.bytes / e.write_max > 20000)
		e.write_max = (uint32_t)(e.bytes / 10000);
	e.pkt_percent = one_in(c, 2) ? 0 : chance_range(c, 0, 100);
	e.outside_percent = one_in(c, 2) ? 0 : chance_range(c, 0, 100);
	e.pause_us = one_in(c, 3) && e.bytes < 50000 ? any_size(c, 100 * MS) : 0;
	e.reader = (enum reader)chance_below(c, 3);
	e.read_us = any_size(c, 20 * MS);
	e.read_max = 500 + any_size(c, 200000);
	e.wait_fin = one_in(c, 3);
	e.nodelay = one_in(c, 3);
	e.urgent = one_in(c, 5);
	return e;
}

/* Bulk both ways, echoes, and simultaneous opens, moved every few milliseconds. */
static void streams_move(void **state)
{
	(void)state;
	unsigned total[STATES] = {0}, moves = 0;
	uint64_t messages = 0;
	struct rig_runs runs = rig_runs("streams_move", 300);
	for (uint64_t seed = runs.first; seed < runs.end; seed++) {
		struct chance c = {seed};
		const struct rig_host_params p[2] = {random_host(&c), random_host(&c)};
		const struct wire wires[2] = {random_wire(&c), random_wire(&c)};
		struct world *w = world_new(seed, p, wires);
		w->every_us = 100 + any_size(&c, 200 * MS);
		w->hold = one_in(&c, 2);
		w->r->overtakes = one_in(&c, 2);
		for (unsigned n = chance_range(&c, 1, 4), i = 0; i < n; i++) {
			struct flow_plan f = {.end = {random_end(&c, 150000), random_end(&c, 150000)}};
			f.port[0] = (uint16_t)(4000 + i);
			f.port[1] = 7;
			f.start_us = any_size(&c, 100 * MS);
			if (f.end[0].wait_fin && f.end[1].wait_fin)
				f.end[chance_below(&c, 2)].wait_fin = false;
			if (one_in(&c, 4)) {
				f.end[1] = (struct end_plan){.reader = READ_ECHO};
				f.end[0].wait_fin = false;
			} else if (one_in(&c, 4)) {
				f.simultaneous = true;
				f.port[1] = (uint16_t)(5000 + i);
			}
			flow_add(w->flows, &f);
		}
		rig_at(w->r, w->r->now_us, on_move, w);
		rig_run_until(w->r, w->r->now_us + 24 * HOUR, flows_done, w->flows);
		on_move(w); /* TIME-WAIT */
		moves += w->moves;
		messages += w->messages;
		world_end(w, total);
	}
	printf("moves: %u, in %llu messages; by state:", moves, (unsigned long long)messages);
	for (unsigned s = TCP_SYN_SENT; s < STATES; s++)
		printf(" %u", total[s]);
	printf("\n");
	if (runs.end - runs.first >= 300)
		for (unsigned s = TCP_SYN_SENT; s < STATES; s++)
			rig_check(total[s] >= 10);
}

/* --- two instances without a wire --- */

#define LOCAL net_addr_ip4(IP4(192, 0, 2, 1))
#define PORT 7
#define BUFS 512

/* One of the two instances, and the last segment that it sent. */
struct core {
	struct bufpool pool;
	struct counters cnt;
	struct tcp *tcp;
	void *mem;
	uint8_t *bufs;
	uint32_t *stack;
	struct tcp_segment sent;
	unsigned sent_n;
	unsigned closed;
};

static struct core core[CORES];

static void lab_tx(void *ctx, struct pkt *p)
{
	struct core *k = ctx;
	assert_int_equal(tcp_segment_parse(p->data + ETH_HLEN, true, &k->sent), CNT_NONE);
	assert_false(k->sent.flags & TCP_RST);
	k->sent_n++;
	pkt_free(&k->pool, p);
}

static struct core *core_of(const struct tcp_conn *c)
{
	return tcp_instance(c) == core[0].tcp ? &core[0] : &core[1];
}

/* An echo, which has no state of its own: it consumes what is acknowledged. */
static bool lab_accept(struct tcp_conn *c) { return c; }
static void lab_fin(struct tcp_conn *c) { tcp_close(c); }
static void lab_acked(struct tcp_conn *c, uint32_t n) { tcp_consumed(c, n); }
static void lab_closed(struct tcp_conn *c, int why)
{
	(void)why;
	core_of(c)->closed++;
}
static void lab_data(struct tcp_conn *c, struct pkt *p)
{
	assert_int_equal(tcp_send_pkt(c, p), E_OK);
}

static const struct tcp_app lab_app = {.accept = lab_accept, .data = lab_data, .acked = lab_acked,
                                       .fin = lab_fin, .closed = lab_closed};
static bool lab_join(struct tcp_conn *c, const uint8_t *from, uint32_t n)
{
	(void)from;
	return n == 0 && tcp_unconsumed(c) == tcp_unacked(c);
}

static const struct tcp_move_app lab_apps[] = {{.app = &lab_app, .join = lab_join}};

static void core_begin_at(struct core *k, uint32_t connections, uint64_t now_us)
{
	static const struct tcp_ops ops = {.tx = lab_tx};
	static struct tcp_params p;
	const struct siphash_key key = {1, 2};
	p = TCP_PARAMS_DEFAULT;
	p.connections = connections;
	p.pool_reserve = 16;
	p.snd_buf_given = 2 * p.snd_buf;
	memset(k, 0, sizeof *k);
	k->bufs = aligned_alloc(CACHE_LINE, (size_t)BUFS * BUF_STRIDE_STANDARD);
	k->stack = calloc(BUFS, sizeof *k->stack);
	bufpool_init(&k->pool, k->bufs, k->stack, BUFS, BUF_STRIDE_STANDARD);
	k->mem = aligned_alloc(CACHE_LINE, align_up(tcp_memory_bytes(&p), CACHE_LINE));
	k->tcp = tcp_init(k->mem, &p, &k->pool, &k->cnt, &key, &ops, k, now_us);
	tcp_move_apps(k->tcp, lab_apps, ARRAY_LEN(lab_apps));
	assert_int_equal(tcp_listen(k->tcp, &(struct tcp_listen){.port = PORT, .nodelay = true,
	                                                          .app = &lab_app}), E_OK);
}

static void core_begin(struct core *k, uint32_t connections)
{
	core_begin_at(k, connections, SECOND);
}

static void core_end(struct core *k)
{
	assert_int_equal(k->pool.free, k->pool.count);
	free(k->mem);
	free(k->bufs);
	free(k->stack);
}

/* A peer, by its number. */
struct lab_peer {
	struct net_addr addr;
	uint16_t port;
	uint32_t seq, ack;
	uint32_t ts; /* of its clock; 0: no timestamps */
};

static struct lab_peer peer_new(uint32_t n)
{
	return (struct lab_peer){.addr = net_addr_ip4(IP4(198, 51, 100, 1) + n % 100),
	                         .port = (uint16_t)(1024 + n / 100), .seq = n * 7919};
}

/* Core k receives a segment of `len` bytes from the peer. */
static void receive(struct core *k, struct lab_peer *from, uint8_t flags, unsigned len, uint64_t now_us)
{
	const struct net_addr to = LOCAL;
	struct pkt p;
	assert_true(pkt_alloc(&k->pool, &p));
	uint8_t *tcp = p.data + ETH_HLEN + IP4_HLEN;
	unsigned header = TCP_HLEN;
	if (from->ts)
		header += tcp_put_ts(tcp + TCP_HLEN, from->ts, flags & TCP_ACK ? k->sent.tsval : 0);
	tcp_header_put(tcp, from->port, PORT, from->seq, flags & TCP_ACK ? from->ack : 0, header, flags,
	               65535, 0);
	for (unsigned i = 0; i < len; i++)
		tcp[header + i] = (uint8_t)(from->seq + i);
	ip_header_put(tcp, header + len, IP4_HLEN, &from->addr, &to, IP_PROTO_TCP, IP_ECN_NOT);
	p.len = (uint16_t)(ETH_HLEN + IP4_HLEN + header + len);
	p.flags = PKT_CSUM_OK;
	from->seq += len + !!(flags & (TCP_SYN | TCP_FIN));
	k->sent_n = 0;
	tcp_input(k->tcp, &p, 1, now_us);
}

static void establish(struct core *k, struct lab_peer *p, uint64_t now_us)
{
	receive(k, p, TCP_SYN, 0, now_us);
	assert_int_equal(k->sent.flags, TCP_SYN | TCP_ACK);
	p->ack = k->sent.seq + 1;
	receive(k, p, TCP_ACK, 0, now_us);
}

static uint64_t clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Moves every connection of one core to the other; returns how many bytes that took. */
static uint64_t move_all(struct core *from, struct core *to, uint64_t now_us)
{
	uint8_t msg[TCP_MOVE_MSG_MIN];
	struct tcp_move_in in = {0};
	uint64_t bytes = 0;
	uint32_t cursor = 0;
	for (struct tcp_conn *c; (c = tcp_next(from->tcp, &cursor, UINT32_MAX)) != NULL;) {
		struct tcp_move_out out;
		assert_int_equal(tcp_move_begin(&out, c), E_OK);
		uint32_t n = tcp_move_write(&out, msg, sizeof msg);
		assert_int_equal(tcp_move_read(to->tcp, &in, msg, n, now_us), TCP_MOVE_TAKEN);
		assert_int_equal(tcp_move_write(&out, msg, sizeof msg), 0);
		assert_true(tcp_move_ended(from->tcp, in.id, true));
		bytes += n;
	}
	return bytes;
}

/* All answer where they are, after each of three moves, and end there in order. */
static void hundred_thousand(void **state)
{
	(void)state;
	const uint32_t n = 100000;
	uint64_t now_us = SECOND, bytes;
	struct lab_peer *peer = calloc(n, sizeof *peer);
	core_begin(&core[0], n);
	core_begin(&core[1], n);
	for (uint32_t i = 0; i < n; i++) {
		peer[i] = peer_new(i);
		establish(&core[0], &peer[i], now_us);
	}
	for (unsigned round = 0; round < 3; round++) {
		struct core *from = &core[round % 2], *to = &core[1 - round % 2];
		now_us += SECOND;
		uint64_t begun = clock_ns();
		bytes = move_all(from, to, now_us);
		uint64_t took = clock_ns() - begun;
		printf("%u moved, %llu bytes and %llu ns each\n", n, (unsigned long long)(bytes / n),
		       (unsigned long long)(took / n));
		assert_int_equal(tcp_connections(from->tcp), 0);
		assert_int_equal(tcp_count(to->tcp, TCP_ESTABLISHED), n);
		assert_true(tcp_deadline(from->tcp) == UINT64_MAX);
		for (uint32_t i = 0; i < n; i++) {
			receive(to, &peer[i], TCP_ACK | TCP_PSH, 10, now_us);
			assert_int_equal(to->sent_n, 1);
			assert_int_equal(to->sent.len, 10);
			assert_int_equal(to->sent.ack, peer[i].seq);
			assert_int_equal(to->sent.seq, peer[i].ack);
			peer[i].ack += 10;
			receive(to, &peer[i], TCP_ACK, 0, now_us);
		}
	}
	struct core *at = &core[1];
	for (uint32_t i = 0; i < n; i++) {
		receive(at, &peer[i], TCP_ACK | TCP_FIN, 0, now_us);
		peer[i].ack++;
		receive(at, &peer[i], TCP_ACK, 0, now_us);
	}
	assert_int_equal(tcp_connections(at->tcp), 0);
	assert_int_equal(at->closed, n);
	assert_int_equal(core[0].closed, 0);
	assert_int_equal(core[0].cnt.v[CNT_tcp_moved_out], 2 * n);
	assert_int_equal(core[0].cnt.v[CNT_tcp_moved_in], n);
	core_end(&core[0]);
	core_end(&core[1]);
	free(peer);
}

/* --- refusals: each leaves the connection where it was, and nothing behind --- */

static struct {
	struct lab_peer peer;
	struct tcp_move_in in;
	struct tcp_move_out out;
	_Alignas(8) uint8_t msg[8][TCP_MOVE_MSG_MIN];
	uint32_t len[8];
	unsigned n;
} one;

/* A connection of core 0 with `segments` of 1000 bytes echoed and not acknowledged. */
static struct tcp_conn *stay_with(unsigned segments)
{
	uint32_t cursor = 0;
	memset(&one, 0, sizeof one);
	core_begin(&core[0], 16);
	core_begin(&core[1], 4);
	one.peer = peer_new(1);
	establish(&core[0], &one.peer, SECOND);
	for (unsigned i = 0; i < segments; i++)
		receive(&core[0], &one.peer, TCP_ACK, 1000, SECOND);
	return tcp_next(core[0].tcp, &cursor, UINT32_MAX);
}

static void leave(struct tcp_conn *c)
{
	assert_int_equal(tcp_move_begin(&one.out, c), E_OK);
	assert_int_equal(tcp_move_begin(&one.out, c), E_INVAL);
	while ((one.len[one.n] = tcp_move_write(&one.out, one.msg[one.n], TCP_MOVE_MSG_MIN)) != 0)
		one.n++;
}

static void leave_with(unsigned segments) { leave(stay_with(segments)); }

/* The variables in the first message, to be damaged. */
static struct tcp_conn *written(void)
{
	return &((struct move_record *)(void *)(one.msg[0] + sizeof(struct move_head)))->c;
}

static enum tcp_move arrive(unsigned i)
{
	return tcp_move_read(core[1].tcp, &one.in, one.msg[i], one.len[i], SECOND);
}

/* Both cores are well: the connection goes on at core 0. */
static void still_there(unsigned segments)
{
	tcp_move_drop(core[1].tcp, &one.in);
	assert_int_equal(tcp_connections(core[1].tcp), core[1].cnt.v[CNT_tcp_accepts]);
	assert_int_equal(core[1].pool.free, core[1].pool.count);
	assert_true(tcp_move_ended(core[0].tcp, one.out.id, false));
	assert_false(tcp_move_ended(core[0].tcp, one.out.id, true));
	assert_int_equal(core[0].cnt.v[CNT_tcp_move_refused], 1);
	one.peer.ack += 1000 * segments;
	receive(&core[0], &one.peer, TCP_ACK | TCP_PSH, 100, SECOND);
	assert_int_equal(core[0].sent.len, 100);
	assert_int_equal(core[0].sent.seq, one.peer.ack);
	one.peer.ack += 100;
	receive(&core[0], &one.peer, TCP_ACK | TCP_FIN, 0, SECOND);
	one.peer.ack++;
	receive(&core[0], &one.peer, TCP_ACK, 0, SECOND);
	assert_int_equal(tcp_connections(core[0].tcp), 0);
	core_end(&core[0]);
	core_end(&core[1]);
}

static void refusals(void **state)
{
	(void)state;
	leave_with(5);
	assert_int_equal(one.n, 3);
	assert_int_equal(arrive(0), TCP_MOVE_MORE);
	assert_int_equal(arrive(2), TCP_MOVE_ORDER);
	assert_int_equal(arrive(1), TCP_MOVE_SKIPPED);
	still_there(5);

	leave_with(5); /* the rest of what never began */
	assert_int_equal(arrive(1), TCP_MOVE_ORDER);
	still_there(5);

	leave_with(1); /* cut off */
	one.len[0]--;
	assert_int_equal(arrive(0), TCP_MOVE_FORMAT);
	still_there(1);

	leave_with(0); /* of another version */
	one.msg[0][4]++;
	assert_int_equal(arrive(0), TCP_MOVE_FORMAT);
	still_there(0);

	leave_with(0); /* twice the same */
	assert_int_equal(arrive(0), TCP_MOVE_TAKEN);
	assert_int_equal(arrive(0), TCP_MOVE_EXISTS);
	assert_true(tcp_move_ended(core[0].tcp, one.in.id, true));
	assert_int_equal(move_all(&core[1], &core[0], SECOND) > 0, 1);
	receive(&core[0], &one.peer, TCP_ACK | TCP_FIN, 0, SECOND);
	one.peer.ack++;
	receive(&core[0], &one.peer, TCP_ACK, 0, SECOND);
	core_end(&core[0]);
	core_end(&core[1]);

	struct tcp_conn *c = stay_with(0); /* an answer to an earlier move */
	leave(c);
	const uint64_t earlier = one.out.id;
	assert_true(tcp_move_ended(core[0].tcp, earlier, false));
	core[0].cnt.v[CNT_tcp_move_refused] = 0;
	one.n = 0;
	leave(c);
	assert_false(tcp_move_ended(core[0].tcp, earlier, true));
	still_there(0);

	leave_with(0); /* the application is unknown there */
	tcp_move_apps(core[1].tcp, lab_apps, 0);
	assert_int_equal(arrive(0), TCP_MOVE_APP);
	still_there(0);

	leave_with(0); /* one that never has anything unconsumed is taken without `join` */
	static const struct tcp_move_app plain[] = {{.app = &lab_app}};
	tcp_move_apps(core[1].tcp, plain, 1);
	written()->rcv_held = 1;
	assert_int_equal(arrive(0), TCP_MOVE_APP);
	still_there(0);

	leave_with(2); /* no buffers */
	struct pkt p[BUFS];
	unsigned n = 0;
	while (core[1].pool.free > 8)
		assert_true(pkt_alloc(&core[1].pool, &p[n++]));
	assert_int_equal(arrive(0), TCP_MOVE_BUFFERS);
	while (n)
		pkt_free(&core[1].pool, &p[--n]);
	still_there(2);

	leave_with(0); /* no free connection */
	for (uint32_t i = 0; i < 4; i++) {
		struct lab_peer other = peer_new(200 + i);
		establish(&core[1], &other, SECOND);
	}
	assert_int_equal(arrive(0), TCP_MOVE_FULL);
	still_there(0);
	for (unsigned m = 0; m <= TCP_MOVE_COUNT; m++)
		assert_non_null(tcp_move_name((enum tcp_move)m));
}

/* Variables of an established connection that no such connection has; false: there are no more of them. */
static bool damage_variables(struct tcp_conn *c, unsigned i)
{
	const uint32_t far = 1u << 30;
	switch (i) {
	case 0: c->state = TCP_CLOSED; break;
	case 1: c->state = TCP_TIME_WAIT + 1; break;
	case 2: c->remote_port = 0; break;
	case 3: c->local_port = 0; break;
	case 4: c->local = NET_ADDR_ANY; break; /* and the other is of IPv4 */
	case 5: c->rcv_adv = c->rcv_nxt - 1; break;
	case 6: c->rcv_adv = c->rcv_nxt + far + 1; break;
	case 7: c->rcv_buf = 0; break;
	case 8: c->rcv_held = far + 1; break;
	case 9: c->rcv_mss = 0; break;
	case 10: c->rcv_wscale = TCP_WSCALE_MAX + 1; break;
	case 11: c->snd_wscale = TCP_WSCALE_MAX + 1; break;
	case 12: c->snd_una = c->snd_nxt + 1; break;
	case 13: c->snd_max = c->snd_nxt - 1; break;
	case 14: c->q_end = c->snd_nxt - 1; break;
	case 15: c->ack_floor = c->snd_una + 1; break;
	case 16: c->snd_wnd = far + 1; break;
	case 17: c->max_wnd = far + 1; break;
	case 18: c->path_mtu = IP4_HLEN + TCP_HLEN; break;
	case 19: c->armed = 1 << TIMER_COUNT; break;
	case 20: c->send_kind = SEND_PROBE + 1; break;
	case 21: c->recovery = RECOVERY_RTO + 1; break;
	case 22: c->backoff = TCP_BACKOFF_MAX + 1; break;
	case 23: c->rto_us = 0; break;
	case 24: c->rto_us = (1u << 31) + 1; break;
	case 25: c->reo_mult = 0; break;
	case 26: c->cc.mss = 0; break;
	case 27: c->cc.w_max = CC_WINDOW_MAX + 1; break;
	case 28: c->cc.algorithm = CC_NEWRENO + 1; break;
	case 29: c->cc.flags = 2 * CC_CSS; break;
	case 30: c->undo_cc = c->cc; c->undo_cc.w_est = CC_WINDOW_MAX + 1; break;
	case 31: c->flags |= CONN_CLOSING; break; /* not in this state */
	case 32: c->flags |= CONN_FIN_QUEUED; break;
	case 33: c->flags |= CONN_FIN_RCVD; break;
	case 34: c->flags &= ~(uint32_t)CONN_ACCEPTED; break;
	default: return false;
	}
	return true;
}

/* The same for its chunk, which was sent and is not acknowledged. */
static bool damage_chunk(unsigned i)
{
	uint8_t *at = one.msg[0] + sizeof(struct move_head) + sizeof(struct move_record);
	struct move_buffer b;
	memcpy(&b, at, sizeof b);
	switch (i) {
	case 0: b.seq++; break;
	case 1: b.len = 0; break;
	case 2: b.len = BUF_STRIDE_STANDARD - TCP_PAYLOAD_OFFSET + 1; break;
	case 3: b.flags = 0; break; /* but snd_nxt is behind it */
	case 4: b.flags |= CHUNK_FIN; break;
	case 5: b.flags |= CHUNK_SACKED; break; /* without SACK */
	case 6: b.flags |= CHUNK_RETRANS; break; /* and not lost */
	case 7: b.flags |= CHUNK_LANE; break;
	default: return false;
	}
	memcpy(at, &b, sizeof b);
	return true;
}

static void damaged(void **state)
{
	(void)state;
	unsigned i;
	for (i = 0; leave_with(1), damage_variables(written(), i); i++) {
		if (arrive(0) != TCP_MOVE_RECORD)
			fail_msg("variables, case %u", i);
		still_there(1);
	}
	still_there(1);
	for (i = 0; leave_with(1), damage_chunk(i); i++) {
		if (arrive(0) != TCP_MOVE_QUEUE)
			fail_msg("chunk, case %u", i);
		still_there(1);
	}
	written()->q_end++; /* a byte that is in no chunk */
	assert_int_equal(arrive(0), TCP_MOVE_QUEUE);
	still_there(1);
}

/* What an application does with a frozen connection has no effect, and its timers do not run. */
static void frozen(void **state)
{
	(void)state;
	leave_with(2);
	struct tcp_conn *c = one.out.c;
	assert_int_equal(tcp_send(c, "x", 1), 0);
	tcp_close(c);
	tcp_set_nodelay(c, true);
	tcp_abort(c);
	core[0].sent_n = 0;
	tcp_tick(core[0].tcp, 100 * SECOND);
	assert_int_equal(core[0].sent_n, 0);
	assert_int_equal(tcp_connections(core[0].tcp), 0);
	assert_true(tcp_deadline(core[0].tcp) == UINT64_MAX);
	/* The data that the peer did not acknowledge is overdue when it arrives. */
	for (unsigned i = 0; i < one.n; i++)
		assert_int_equal(tcp_move_read(core[1].tcp, &one.in, one.msg[i], one.len[i], 3 * SECOND),
		                 i + 1 < one.n ? TCP_MOVE_MORE : TCP_MOVE_TAKEN);
	assert_int_equal(core[1].sent_n, 0);
	assert_int_equal(tcp_deadline(core[1].tcp), 3 * SECOND);
	tcp_tick(core[1].tcp, 3 * SECOND);
	assert_int_equal(core[1].sent_n, 1);
	assert_int_equal(core[1].sent.seq, one.peer.ack);
	assert_true(tcp_move_ended(core[0].tcp, one.out.id, true));
	assert_int_equal(core[0].pool.free, core[0].pool.count);
	one.peer.ack += 2000;
	receive(&core[1], &one.peer, TCP_ACK | TCP_FIN, 0, 3 * SECOND);
	one.peer.ack++;
	receive(&core[1], &one.peer, TCP_ACK, 0, 3 * SECOND);
	core_end(&core[0]);
	core_end(&core[1]);
}

/* Damaged variables of timers: the connection still makes progress, and no application hears of one that it
 * does not know. */
static void damaged_timers(void **state)
{
	(void)state;
	leave_with(1); /* the timer of outstanding data is said to be that of window probes */
	written()->armed = 1 << TIMER_SEND;
	written()->send_kind = SEND_PROBE;
	written()->at_ms[TIMER_SEND] = written()->heard_ms;
	assert_int_equal(arrive(0), TCP_MOVE_TAKEN);
	assert_true(tcp_move_ended(core[0].tcp, one.out.id, true));
	core[1].sent_n = 0;
	for (unsigned s = 1; s < 5 && core[1].sent_n == 0; s++)
		tcp_tick(core[1].tcp, (1 + s) * SECOND);
	assert_int_equal(core[1].sent_n, 1);
	assert_int_equal(core[1].sent.seq, one.peer.ack);
	one.peer.ack += 1000;
	receive(&core[1], &one.peer, TCP_ACK | TCP_FIN, 0, 6 * SECOND);
	one.peer.ack++;
	receive(&core[1], &one.peer, TCP_ACK, 0, 6 * SECOND);
	core_end(&core[0]);
	core_end(&core[1]);

	struct tcp_conn *c = stay_with(0); /* FIN-WAIT-2 without a timer */
	tcp_close(c);
	one.peer.ack++;
	receive(&core[0], &one.peer, TCP_ACK, 0, SECOND);
	leave(c);
	assert_int_equal(written()->state, TCP_FIN_WAIT_2);
	written()->armed = 0;
	assert_int_equal(arrive(0), TCP_MOVE_TAKEN);
	assert_true(tcp_move_ended(core[0].tcp, one.out.id, true));
	assert_true(tcp_deadline(core[1].tcp) <= 61 * SECOND + MS);
	receive(&core[1], &one.peer, TCP_ACK | TCP_FIN, 0, 2 * SECOND);
	tcp_tick(core[1].tcp, 100 * SECOND);
	assert_int_equal(tcp_connections(core[1].tcp), 0);
	core_end(&core[0]);
	core_end(&core[1]);

	c = stay_with(0); /* TIME-WAIT, of which no application knows, waits to tell it of room */
	tcp_close(c);
	one.peer.ack++;
	receive(&core[0], &one.peer, TCP_ACK | TCP_FIN, 0, SECOND);
	leave(c);
	assert_int_equal(written()->state, TCP_TIME_WAIT);
	written()->armed = 1 << TIMER_SEND | 1 << TIMER_LIFE;
	written()->send_kind = SEND_PROBE;
	written()->flags |= CONN_STARVED;
	written()->at_ms[TIMER_SEND] = written()->heard_ms;
	assert_int_equal(arrive(0), TCP_MOVE_TAKEN);
	assert_true(tcp_move_ended(core[0].tcp, one.out.id, true));
	tcp_tick(core[1].tcp, 2 * SECOND);
	assert_int_equal(tcp_count(core[1].tcp, TCP_TIME_WAIT), 1);
	tcp_tick(core[1].tcp, 100 * SECOND);
	assert_int_equal(tcp_connections(core[1].tcp), 0);
	core_end(&core[0]);
	core_end(&core[1]);
}

/* When its data was sent arrives with a connection, in all 64 bits; a larger snd_buf, which the old instance gave
 * it, does not. */
static void measured(void **state)
{
	(void)state;
	const uint64_t begin = 5000ull * SECOND;
	struct tcp_info info;
	uint32_t cursor = 0;
	core_begin_at(&core[0], 4, begin);
	core_begin_at(&core[1], 4, begin);
	memset(&one, 0, sizeof one);
	one.peer = peer_new(1);
	receive(&core[0], &one.peer, TCP_SYN, 0, begin);
	one.peer.ack = core[0].sent.seq + 1;
	receive(&core[0], &one.peer, TCP_ACK, 0, begin + 400 * MS);
	receive(&core[0], &one.peer, TCP_ACK, 100, begin + SECOND);
	assert_int_equal(core[0].sent.len, 100);
	struct tcp_conn *c = tcp_next(core[0].tcp, &cursor, UINT32_MAX);
	const uint32_t room = tcp_send_room(c);
	tcp_set_snd_buf(c);
	assert_true(tcp_send_room(c) > room);
	leave(c);
	assert_int_equal(tcp_move_read(core[1].tcp, &one.in, one.msg[0], one.len[0], begin + SECOND + 100 * MS),
	                 TCP_MOVE_TAKEN);
	assert_true(tcp_move_ended(core[0].tcp, one.in.id, true));
	cursor = 0;
	c = tcp_next(core[1].tcp, &cursor, UINT32_MAX);
	assert_int_equal(tcp_send_room(c), room);
	one.peer.ack += 100;
	receive(&core[1], &one.peer, TCP_ACK, 0, begin + SECOND + 300 * MS);
	tcp_info(c, &info);
	assert_int_equal(info.srtt_us, (400 - 400 / 8) * MS + 300 * MS / 8); /* RFC 6298 2.3 */
	receive(&core[1], &one.peer, TCP_ACK | TCP_FIN, 0, begin + 2 * SECOND);
	one.peer.ack++;
	receive(&core[1], &one.peer, TCP_ACK, 0, begin + 2 * SECOND);
	core_end(&core[0]);
	core_end(&core[1]);
}

/* Instances with clocks of their own: what is due in 700 ms stays so, and timestamps go on. */
static void clocks(void **state)
{
	(void)state;
	const uint64_t later = 5000ull * SECOND;
	const uint32_t rto_ms = 400 + 4 * 200; /* RFC 6298 2.2, after one RTT of 400 ms */
	uint32_t cursor = 0;
	core_begin(&core[0], 4);
	core_begin_at(&core[1], 4, later);
	memset(&one, 0, sizeof one);
	one.peer = peer_new(1);
	one.peer.ts = 1000;
	receive(&core[0], &one.peer, TCP_SYN, 0, SECOND);
	one.peer.ack = core[0].sent.seq + 1;
	receive(&core[0], &one.peer, TCP_ACK, 0, SECOND + 400000);
	receive(&core[0], &one.peer, TCP_ACK, 100, 2 * SECOND);
	uint32_t ts = core[0].sent.tsval;
	assert_int_equal(core[0].sent.len, 100);
	core[0].sent_n = 0;
	tcp_tick(core[0].tcp, 2 * SECOND + 500000);
	assert_int_equal(core[0].sent_n, 0);
	struct tcp_conn *c = tcp_next(core[0].tcp, &cursor, UINT32_MAX);
	assert_int_equal(tcp_move_begin(&one.out, c), E_OK);
	one.len[0] = tcp_move_write(&one.out, one.msg[0], TCP_MOVE_MSG_MIN);
	assert_int_equal(tcp_move_read(core[1].tcp, &one.in, one.msg[0], one.len[0], later), TCP_MOVE_TAKEN);
	assert_true(tcp_move_ended(core[0].tcp, one.in.id, true));
	uint64_t due = later + (rto_ms - 500) * MS;
	tcp_tick(core[1].tcp, due - 2000);
	assert_int_equal(core[1].sent_n, 0);
	tcp_tick(core[1].tcp, due + 2000);
	assert_int_equal(core[1].sent_n, 1);
	assert_int_equal(core[1].sent.seq, one.peer.ack);
	assert_in_range(core[1].sent.tsval, ts + rto_ms - 3, ts + rto_ms + 3);
	one.peer.ack += 100;
	receive(&core[1], &one.peer, TCP_ACK | TCP_FIN, 0, due + 3000);
	one.peer.ack++;
	receive(&core[1], &one.peer, TCP_ACK, 0, due + 4000);
	assert_int_equal(tcp_connections(core[1].tcp), 0);
	core_end(&core[0]);
	core_end(&core[1]);
}

/* All connections leave, and arrive nowhere: a silent end. */
static void forget_all(struct core *k)
{
	uint32_t cursor = 0;
	k->sent_n = 0;
	for (struct tcp_conn *c; (c = tcp_next(k->tcp, &cursor, UINT32_MAX)) != NULL;) {
		struct tcp_move_out out;
		assert_int_equal(tcp_move_begin(&out, c), E_OK);
		assert_true(tcp_move_ended(k->tcp, out.id, true));
	}
	assert_int_equal(k->sent_n, 0);
}

static void silent_end(struct core *k)
{
	forget_all(k);
	core_end(k);
}

/* A SYN cookie of one instance opens a connection at the other, which was told to expect it. */
static void cookies(void **state)
{
	(void)state;
	core_begin(&core[0], 4);
	core_begin(&core[1], 4);
	for (uint32_t i = 0; i < 4; i++) {
		struct lab_peer other = peer_new(i);
		establish(&core[0], &other, SECOND);
	}
	assert_true(tcp_cookies_until(core[0].tcp) == 0);
	struct lab_peer p = peer_new(100);
	receive(&core[0], &p, TCP_SYN, 0, 2 * SECOND);
	assert_int_equal(core[0].cnt.v[CNT_tcp_cookies_tx], 1);
	p.ack = core[0].sent.seq + 1;
	uint64_t until = tcp_cookies_until(core[0].tcp);
	assert_true(until > 2 * SECOND);
	tcp_cookies_expect(core[1].tcp, until);
	receive(&core[1], &p, TCP_ACK, 5, 3 * SECOND);
	assert_int_equal(core[1].cnt.v[CNT_tcp_cookies_good], 1);
	assert_int_equal(core[1].sent.len, 5);
	silent_end(&core[0]);
	silent_end(&core[1]);
}

/* RFC 4987 3.6: a cookie is valid in the step of time in which it was made, and in two more. */
static void cookies_expire(void **state)
{
	(void)state;
	const uint64_t step = 1ull << 26;
	for (unsigned late = 0; late < 2; late++) {
		struct lab_peer first = peer_new(1), p = peer_new(100);
		core_begin_at(&core[0], 1, 10 * step);
		establish(&core[0], &first, 10 * step);
		receive(&core[0], &p, TCP_SYN, 0, 11 * step - 1);
		assert_int_equal(core[0].cnt.v[CNT_tcp_cookies_tx], 1);
		p.ack = core[0].sent.seq + 1;
		forget_all(&core[0]);
		receive(&core[0], &p, TCP_ACK, 5, 13 * step - 1 + late); /* with data: not reset if refused */
		assert_int_equal(core[0].cnt.v[CNT_tcp_cookies_good], !late);
		assert_int_equal(core[0].cnt.v[CNT_tcp_cookies_bad], late);
		silent_end(&core[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_move),
		cmocka_unit_test(hundred_thousand),
		cmocka_unit_test(refusals),
		cmocka_unit_test(damaged),
		cmocka_unit_test(frozen),
		cmocka_unit_test(damaged_timers),
		cmocka_unit_test(measured),
		cmocka_unit_test(clocks),
		cmocka_unit_test(cookies),
		cmocka_unit_test(cookies_expire),
	};
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests_name("tcp_move", tests, NULL, NULL);
}
