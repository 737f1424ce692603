/*
 * A table without a free connection (net/tcp/table.c): whose record is taken, when all come in one
 * vector. And a vector that takes all buffers. What becomes of one SYN after the other is tests/drill's (cookies, close).
 */
#include "tests/unit/rig/host.h"

#include "lib/csum.h"
#include "net/eth.h"
#include "net/ip.h"
#include "net/ip4.h"
#include "net/tcp/tcp.h"
#include "net/tcp/wire.h"

#define BUFS 64
#define CONNECTIONS 4
#define LOCAL net_addr_ip4(IP4(192, 0, 2, 1))
#define REMOTE net_addr_ip4(IP4(198, 51, 100, 2))
#define PORT 7
#define SENT_MAX 64

/* One connection's, by its peer. */
struct peer {
	uint16_t port;
	uint32_t seq, ack;
};

static struct {
	struct bufpool pool;
	struct counters cnt;
	struct tcp *tcp;
	struct tcp_conn *conn[CONNECTIONS]; /* in the order in which they were accepted */
	unsigned accepts, received;
	struct {
		uint16_t port;
		uint8_t flags;
		uint32_t seq, ack;
	} sent[SENT_MAX];
	unsigned sent_n;
} w;

static _Alignas(64) uint8_t buffers[BUFS * BUF_STRIDE_STANDARD];
static uint32_t stack[BUFS];
static _Alignas(64) uint8_t memory[1 << 17];

static void tx(void *ctx, struct pkt *p)
{
	struct tcp_segment s;
	(void)ctx;
	assert_int_equal(tcp_segment_parse(p->data + ETH_HLEN, true, &s), CNT_NONE);
	assert_true(w.sent_n < SENT_MAX);
	w.sent[w.sent_n].port = s.dst_port;
	w.sent[w.sent_n].flags = s.flags;
	w.sent[w.sent_n].seq = s.seq;
	w.sent[w.sent_n++].ack = s.ack;
	pkt_free(&w.pool, p);
}

static bool accept(struct tcp_conn *c)
{
	assert_true(w.accepts < CONNECTIONS);
	w.conn[w.accepts++] = c;
	return true;
}

static void data(struct tcp_conn *c, struct pkt *p)
{
	tcp_consumed(c, p->len);
	w.received += p->len;
	pkt_free(&w.pool, p);
}

static struct tcp_ops ops = {.tx = tx};
static const struct tcp_app app = {.accept = accept, .data = data};

static void begin_with(uint32_t reserve)
{
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	const struct siphash_key key = {1, 2};
	p.connections = CONNECTIONS;
	p.pool_reserve = reserve;
	memset(&w, 0, sizeof w);
	memset(memory, 0, sizeof memory);
	assert_true(tcp_memory_bytes(&p) <= sizeof memory);
	bufpool_init(&w.pool, buffers, stack, BUFS, BUF_STRIDE_STANDARD);
	w.tcp = tcp_init(memory, &p, &w.pool, &w.cnt, &key, &ops, NULL, 1000);
	assert_int_equal(tcp_listen(w.tcp, &(struct tcp_listen){.addr = NET_ADDR_ANY, .port = PORT,
	                                                        .app = &app}), E_OK);
}

static void begin(void) { begin_with(0); }

/* A segment of the peer's, with that many bytes of data. */
static struct pkt segment_of(struct peer *from, uint8_t flags, unsigned bytes)
{
	const struct net_addr src = REMOTE, dst = LOCAL;
	struct pkt p;
	assert_true(pkt_alloc(&w.pool, &p));
	uint8_t *ip = p.data + ETH_HLEN, *tcp = ip + IP4_HLEN;
	const uint32_t ack = flags & TCP_ACK ? from->ack : 0;
	tcp_header_put(tcp, from->port, PORT, from->seq, ack, TCP_HLEN, flags, 65535, 0);
	memset(tcp + TCP_HLEN, 'x', bytes);
	ip_header_put(tcp, TCP_HLEN + bytes, IP4_HLEN, &src, &dst, IP_PROTO_TCP, IP_ECN_NOT);
	p.len = (uint16_t)(ETH_HLEN + IP4_HLEN + TCP_HLEN + bytes);
	p.flags = PKT_CSUM_OK;
	from->seq += bytes + ((flags & (TCP_SYN | TCP_FIN)) != 0);
	return p;
}

static struct pkt segment(struct peer *from, uint8_t flags) { return segment_of(from, flags, 0); }

static void receive(struct pkt *v, unsigned n, uint64_t now_us)
{
	w.sent_n = 0;
	tcp_input(w.tcp, v, n, now_us);
}

static void receive_one(struct peer *from, uint8_t flags, uint64_t now_us)
{
	struct pkt p = segment(from, flags);
	receive(&p, 1, now_us);
}

/* Opens, and is in FIN-WAIT-2 then: the peer has to close. */
static void open_and_close(struct peer *p, uint64_t now_us)
{
	receive_one(p, TCP_SYN, now_us);
	assert_int_equal(w.sent_n, 1);
	p->ack = w.sent[0].seq + 1;
	receive_one(p, TCP_ACK, now_us);
	w.sent_n = 0;
	tcp_close(w.conn[w.accepts - 1]);
	assert_true(w.sent_n == 1 && w.sent[0].flags & TCP_FIN);
	p->ack++;
	receive_one(p, TCP_ACK, now_us);
	assert_int_equal(w.sent_n, 0);
}

/* All FINs of a full table and a SYN in one vector: each FIN is acknowledged, and the SYN is
 * answered by a cookie, for none of the TIME-WAITs has done with its own packet. */
static void none_that_has_to_answer(void **state)
{
	(void)state;
	struct peer p[CONNECTIONS + 1];
	struct pkt v[CONNECTIONS + 1];
	begin();
	for (unsigned i = 0; i <= CONNECTIONS; i++)
		p[i] = (struct peer){.port = (uint16_t)(40000 + i), .seq = 1000 * i};
	for (unsigned i = 0; i < CONNECTIONS; i++)
		open_and_close(&p[i], 2000 + i);
	for (unsigned i = 0; i < CONNECTIONS; i++)
		v[i] = segment(&p[i], TCP_FIN | TCP_ACK);
	v[CONNECTIONS] = segment(&p[CONNECTIONS], TCP_SYN);
	receive(v, CONNECTIONS + 1, 10000);
	assert_int_equal(w.sent_n, CONNECTIONS + 1);
	assert_int_equal(w.cnt.v[CNT_tcp_cookies_tx], 1);
	assert_int_equal(w.cnt.v[CNT_tcp_time_wait_recycled], 0);
	assert_int_equal(tcp_count(w.tcp, TCP_TIME_WAIT), CONNECTIONS);
	for (unsigned i = 0; i < CONNECTIONS; i++) { /* the cookie goes at once */
		assert_int_equal(w.sent[i + 1].port, 40000 + i);
		assert_int_equal(w.sent[i + 1].flags, TCP_ACK);
		assert_int_equal(w.sent[i + 1].ack, p[i].seq);
	}
	/* its ACK then takes the place of the oldest */
	p[CONNECTIONS].ack = w.sent[0].seq + 1;
	w.accepts = 0;
	receive_one(&p[CONNECTIONS], TCP_ACK, 20000);
	assert_int_equal(w.cnt.v[CNT_tcp_cookies_good], 1);
	assert_int_equal(w.cnt.v[CNT_tcp_time_wait_recycled], 1);
	assert_int_equal(w.accepts, 1);
}

/* The oldest has to answer its peer's FIN, which came again, in the vector of the SYN: the next
 * older one gives its record. */
static void the_next_older_one(void **state)
{
	(void)state;
	struct peer p[CONNECTIONS + 1];
	struct pkt v[2];
	begin();
	for (unsigned i = 0; i <= CONNECTIONS; i++)
		p[i] = (struct peer){.port = (uint16_t)(40000 + i), .seq = 1000 * i};
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		open_and_close(&p[i], 2000 + 10 * i);
		receive_one(&p[i], TCP_FIN | TCP_ACK, 2005 + 10 * i);
	}
	p[0].seq--;
	v[0] = segment(&p[0], TCP_FIN | TCP_ACK);
	v[1] = segment(&p[CONNECTIONS], TCP_SYN);
	receive(v, 2, 10000);
	assert_int_equal(w.sent_n, 2);
	assert_int_equal(w.sent[0].flags, TCP_SYN | TCP_ACK);
	assert_true(w.sent[1].port == 40000 && w.sent[1].flags == TCP_ACK);
	assert_int_equal(w.cnt.v[CNT_tcp_cookies_tx], 0);
	assert_int_equal(w.cnt.v[CNT_tcp_time_wait_recycled], 1);
	assert_int_equal(tcp_count(w.tcp, TCP_TIME_WAIT), CONNECTIONS - 1);
	/* whose it was: the second's is gone, so its peer is told */
	p[1].seq--;
	receive_one(&p[1], TCP_FIN | TCP_ACK, 11000);
	assert_true(w.sent_n == 1 && w.sent[0].flags & TCP_RST);
}

/* All buffers are those of one vector: its packets are delivered from the first one on, for most give their buffers back. */
static void vector_of_all_buffers(void **state)
{
	(void)state;
	struct peer p = {.port = 40000, .seq = 1};
	struct pkt v[BUFS];
	begin_with(BUFS / 2);
	receive_one(&p, TCP_SYN, 2000);
	p.ack = w.sent[0].seq + 1;
	receive_one(&p, TCP_ACK, 2001);
	for (unsigned i = 0; i < BUFS; i++)
		v[i] = segment_of(&p, TCP_ACK, 10);
	assert_int_equal(w.pool.free, 0);
	receive(v, BUFS, 2002);
	assert_int_equal(w.received, 10 * BUFS);
	assert_int_equal(w.cnt.v[CNT_drop_tcp_buffers], 0);
	assert_int_equal(w.pool.free, BUFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_that_has_to_answer),
		cmocka_unit_test(the_next_older_one),
		cmocka_unit_test(vector_of_all_buffers),
	};
	return cmocka_run_group_tests_name("tcp_full", tests, NULL, NULL);
}
