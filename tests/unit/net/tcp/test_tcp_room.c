/*
 * tcp_ops.full and tcp_room (net/tcp/tcp.h): an instance whose paths take a few packets at a time,
 * and thousands of connections with something to send at once. Two instances in virtual time: the
 * server's packets go through a queue for each path, as an owner holds what its device does not
 * take yet; packets that do not fit are lost. The client always has room.
 *
 * without_being_asked shows that these tests can fail: with the same load, and without asking the
 * owner.
 */
#include "tests/unit/rig/host.h"

#include "net/eth.h"
#include "net/ip4.h"
#include "net/tcp/tcp.h"

#define CONNECTIONS 2048
#define BUFS (4 * CONNECTIONS)
#define WAYS 2
#define QUEUE 96    /* packets that a path holds; those that cannot wait use the places beyond ROOM */
#define ROOM 64
#define VECTOR 64
#define TURN_US 50u
#define REQUEST 64u
#define BULK 200000u
#define PORT 7
#define SERVER net_addr_ip4(IP4(192, 0, 2, 1))
#define CLIENT(way) net_addr_ip4(IP4(10, (way), 0, 1))

struct frame {
	uint16_t len;
	uint8_t bytes[BUF_STRIDE_STANDARD];
};

struct end {
	struct bufpool pool;
	struct counters cnt;
	struct tcp *tcp;
	uint8_t *bufs;
	uint32_t *stack;
	void *mem;
};

static struct {
	struct end client, server;
	uint64_t now_us;
	struct frame *to_server; /* an endless ring for the little that a test needs */
	unsigned to_server_n, to_server_done;
	struct frame queue[WAYS][QUEUE];
	unsigned held[WAYS], most[WAYS], takes[WAYS], lost;
	bool was_full[WAYS];
	struct tcp_conn *conn[CONNECTIONS]; /* the client's; NULL: ended */
	struct tcp_conn *accepted[CONNECTIONS];
	unsigned established, accepts, ended;
	uint64_t received[WAYS]; /* bytes, by the client */
} w;

#define TO_SERVER (16 * CONNECTIONS)

/* --- the paths --- */

static unsigned way_of(const uint8_t *ip)
{
	return (ip4_dst(ip) >> 16 & 0xff) - 1;
}

static void server_tx(void *ctx, struct pkt *p)
{
	(void)ctx;
	unsigned way = way_of(p->data + ETH_HLEN);
	assert_true(way < WAYS && !(p->flags & PKT_CHAIN));
	if (w.held[way] < QUEUE) {
		struct frame *f = &w.queue[way][w.held[way]++];
		f->len = p->len;
		memcpy(f->bytes, p->data, p->len);
	} else {
		w.lost++;
	}
	if (w.held[way] > w.most[way])
		w.most[way] = w.held[way];
	pkt_free(&w.server.pool, p);
}

/* Once full, a path stays so until half has left, as in core_tx_full. */
static unsigned server_full(void *ctx, const struct net_addr *remote)
{
	unsigned way = (net_addr_to_ip4(remote) >> 16 & 0xff) - 1;
	(void)ctx;
	w.was_full[way] |= w.held[way] >= ROOM;
	return w.was_full[way] ? way + 1 : 0;
}

static void client_tx(void *ctx, struct pkt *p)
{
	(void)ctx;
	assert_true(w.to_server_n - w.to_server_done < TO_SERVER);
	struct frame *f = &w.to_server[w.to_server_n++ % TO_SERVER];
	f->len = p->len;
	memcpy(f->bytes, p->data, p->len);
	pkt_free(&w.client.pool, p);
}

static bool take_frame(struct end *e, const struct frame *f, struct pkt *p)
{
	if (!pkt_alloc(&e->pool, p))
		return false;
	memcpy(p->data, f->bytes, f->len);
	p->len = f->len;
	return true;
}

static void to_client(unsigned way)
{
	struct pkt v[VECTOR];
	unsigned n = 0;
	while (n < w.takes[way] && n < w.held[way] &&
	       take_frame(&w.client, &w.queue[way][n], &v[n]))
		n++;
	w.held[way] -= n;
	memmove(w.queue[way], w.queue[way] + n, w.held[way] * sizeof(struct frame));
	if (w.held[way] <= ROOM / 2)
		w.was_full[way] = false;
	if (n)
		tcp_input(w.client.tcp, v, n, w.now_us);
}

/* Delivers what the devices take, then a vector of what the client has sent. */
static void turn(void)
{
	struct pkt v[VECTOR];
	unsigned n = 0;
	w.now_us += TURN_US;
	for (unsigned way = 0; way < WAYS; way++)
		to_client(way);
	tcp_tick(w.client.tcp, w.now_us);
	for (; n < VECTOR && w.to_server_done != w.to_server_n; n++)
		if (!take_frame(&w.server, &w.to_server[w.to_server_done++ % TO_SERVER], &v[n]))
			break;
	if (n)
		tcp_input(w.server.tcp, v, n, w.now_us);
	tcp_room(w.server.tcp, w.now_us);
	tcp_tick(w.server.tcp, w.now_us);
}

static void turns(uint64_t us)
{
	for (uint64_t end = w.now_us + us; w.now_us < end;)
		turn();
}

/* --- the applications --- */

static bool accept(struct tcp_conn *c)
{
	tcp_set_nodelay(c, true);
	w.accepted[w.accepts++] = c;
	return true;
}

static void echo_data(struct tcp_conn *c, struct pkt *p)
{
	assert_int_equal(tcp_send_pkt(c, p), E_OK);
}

static void echo_acked(struct tcp_conn *c, uint32_t bytes)
{
	if (!tcp_arg(c)) /* otherwise it was not an echo */
		tcp_consumed(c, bytes);
}

static void server_closed(struct tcp_conn *c, int why)
{
	(void)c;
	(void)why;
	w.ended++;
}

static void connected(struct tcp_conn *c)
{
	tcp_set_nodelay(c, true);
	w.established++;
}

static void answer(struct tcp_conn *c, struct pkt *p)
{
	struct tcp_info i;
	tcp_info(c, &i);
	w.received[(net_addr_to_ip4(&i.local) >> 16 & 0xff) - 1] += p->len;
	tcp_consumed(c, p->len);
	pkt_free(&w.client.pool, p);
}

static void client_closed(struct tcp_conn *c, int why)
{
	struct tcp_conn **slot = tcp_arg(c);
	(void)why;
	*slot = NULL;
}

static const struct tcp_app echo = {.accept = accept, .data = echo_data, .acked = echo_acked,
                                    .closed = server_closed};
static const struct tcp_app asker = {.connected = connected, .data = answer,
                                     .closed = client_closed};

/* --- start and end --- */

static void make(struct end *e, const struct tcp_ops *ops)
{
	const struct siphash_key key = {3, 4};
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	p.connections = CONNECTIONS + 1;
	p.syn_max = CONNECTIONS;
	p.pool_reserve = 0;
	p.time_wait_ms = 1;
	size_t bytes = (tcp_memory_bytes(&p) + 63) & ~(size_t)63;
	e->bufs = aligned_alloc(64, (size_t)BUFS * BUF_STRIDE_STANDARD);
	e->stack = calloc(BUFS, sizeof *e->stack);
	e->mem = aligned_alloc(64, bytes);
	memset(e->mem, 0, bytes);
	bufpool_init(&e->pool, e->bufs, e->stack, BUFS, BUF_STRIDE_STANDARD);
	e->tcp = tcp_init(e->mem, &p, &e->pool, &e->cnt, &key, ops, NULL, w.now_us);
}

static void end(struct end *e)
{
	assert_int_equal(tcp_connections(e->tcp), 0);
	assert_int_equal(e->pool.free, e->pool.count);
	free(e->bufs);
	free(e->stack);
	free(e->mem);
}

/* The first half of n connections uses path 0. */
static unsigned way_of_conn(unsigned i, unsigned n)
{
	return i >= (n + 1) / 2;
}

static void start(unsigned n, bool asked)
{
	static const struct tcp_ops asks = {.tx = server_tx, .full = server_full};
	static const struct tcp_ops asks_not = {.tx = server_tx};
	static const struct tcp_ops client = {.tx = client_tx};
	memset(&w, 0, sizeof w);
	w.now_us = 1000000;
	w.to_server = calloc(TO_SERVER, sizeof *w.to_server);
	make(&w.client, &client);
	make(&w.server, asked ? &asks : &asks_not);
	w.takes[0] = w.takes[1] = QUEUE;
	const struct tcp_listen l = {.addr = NET_ADDR_ANY, .port = PORT, .app = &echo};
	assert_int_equal(tcp_listen(w.server.tcp, &l), E_OK);
	for (unsigned i = 0; i < n; i++) {
		w.conn[i] = tcp_connect(w.client.tcp,
		                        &(struct tcp_open){.local = CLIENT(way_of_conn(i, n) + 1),
		                                           .remote = SERVER, .remote_port = PORT,
		                                           .app = &asker, .arg = &w.conn[i]},
		                        w.now_us, NULL);
		assert_non_null(w.conn[i]);
		turn();
	}
	turns(100000);
	assert_int_equal(w.established, n);
	assert_int_equal(w.accepts, n);
	assert_int_equal(w.lost, 0);
	w.most[0] = w.most[1] = 0;
}

static void ask(unsigned n)
{
	static const uint8_t request[REQUEST];
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(tcp_send(w.conn[i], request, sizeof request), sizeof request);
}

/* Resets all: afterwards nothing holds a buffer. */
static void finish(unsigned n)
{
	w.takes[0] = w.takes[1] = QUEUE;
	turns(20000);
	for (unsigned i = 0; i < n; i++)
		if (w.conn[i])
			tcp_abort(w.conn[i]);
	turns(TURN_US * (n / VECTOR + 100));
	end(&w.client);
	end(&w.server);
	free(w.to_server);
}

static uint64_t repeated(void)
{
	return w.server.cnt.v[CNT_tcp_retransmits] + w.server.cnt.v[CNT_tcp_rto];
}

/* --- the tests --- */

/* Devices that take three packets a turn, while requests come as fast as they are read. */
static void all_ask_at_once(void **state)
{
	(void)state;
	start(CONNECTIONS, true);
	w.takes[0] = w.takes[1] = 3;
	for (unsigned round = 1; round <= 3; round++) {
		ask(CONNECTIONS);
		turns(TURN_US * (CONNECTIONS / 2 / 3 + 2 * QUEUE));
		assert_int_equal(w.received[0] + w.received[1], round * CONNECTIONS * REQUEST);
	}
	assert_int_equal(w.lost, 0);
	assert_int_equal(repeated(), 0);
	assert_true(w.most[0] <= ROOM && w.most[1] <= ROOM);
	finish(CONNECTIONS);
}

static void without_being_asked(void **state)
{
	(void)state;
	start(CONNECTIONS, false);
	w.takes[0] = w.takes[1] = 3;
	ask(CONNECTIONS);
	turns(TURN_US * (CONNECTIONS / 2 / 3 + 2 * QUEUE));
	assert_true(w.lost > 100);
	assert_true(w.received[0] + w.received[1] < CONNECTIONS * REQUEST);
	finish(CONNECTIONS);
}

/* Connections on the other path are not affected. Those on this one wait, with their timers: what
 * has not left does not count as lost. */
static void a_way_that_stands_still(void **state)
{
	(void)state;
	const unsigned n = 600;
	start(n, true);
	w.takes[1] = 0;
	ask(n);
	turns(50000);
	assert_int_equal(w.received[0], n / 2 * REQUEST);
	assert_int_equal(w.received[1], 0);
	assert_int_equal(w.most[1], ROOM);
	turns(1000000);
	assert_int_equal(w.most[1], ROOM);
	assert_int_equal(repeated(), 0);
	ask(n); /* requests that arrive meanwhile */
	turns(50000);
	assert_int_equal(w.received[0], n * REQUEST);
	w.takes[1] = 3;
	turns(50000);
	assert_int_equal(w.received[1], n * REQUEST);
	assert_int_equal(w.lost, 0);
	finish(n);
}

/* A window larger than the room leaves in parts, and two connections share the path. */
static void more_than_there_is_room_for(void **state)
{
	(void)state;
	static const uint8_t bulk[BULK];
	start(3, true); /* two on path 0 */
	w.takes[0] = 16; /* so that a packet waits less than a tail loss probe does */
	for (unsigned i = 0; i < 2; i++) {
		tcp_set_arg(w.accepted[i], &w);
		assert_int_equal(tcp_send(w.accepted[i], bulk, BULK), BULK);
	}
	turns(500000);
	assert_int_equal(w.received[0], 2 * BULK);
	assert_int_equal(w.lost, 0);
	assert_int_equal(repeated(), 0);
	assert_true(w.most[0] <= ROOM);
	finish(3);
}

/* Ended by either side while it waits: its record and its buffers are freed when its turn comes. */
static void ends_while_it_waits(void **state)
{
	(void)state;
	const unsigned n = 400;
	start(n, true);
	w.takes[0] = 0;
	ask(n);
	turns(20000);
	for (unsigned i = 0; i < n / 2; i += 2) {
		tcp_abort(w.conn[i]); /* by the peer's reset */
		w.conn[i] = NULL;
	}
	turns(20000);
	assert_int_equal(w.ended, n / 4);
	for (unsigned i = 1; i < n / 2; i += 2)
		tcp_abort(w.accepted[i]); /* here: some resets find no place either */
	assert_int_equal(tcp_connections(w.server.tcp), n / 2);
	w.takes[0] = 3;
	turns(50000);
	assert_int_equal(w.received[1], n / 2 * REQUEST);
	assert_int_equal(tcp_connections(w.server.tcp), n / 2);
	finish(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_ask_at_once),
		cmocka_unit_test(without_being_asked),
		cmocka_unit_test(a_way_that_stands_still),
		cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(ends_while_it_waits),
	};
	return cmocka_run_group_tests_name("tcp_room", tests, NULL, NULL);
}
