/*
 * tcp_icmp4 and tcp_icmp6 (net/tcp/tcp.h): which ICMP errors end an open, and which lower the MTU
 * of a path. tests/drill (pmtud) shows that forged ones have no effect.
 */
#include "tests/unit/rig/host.h"

#include "net/eth.h"
#include "net/ip4.h"
#include "net/ip.h"
#include "net/tcp/tcp.h"
#include "net/tcp/wire.h"

#define BUFS 64
#define LOCAL net_addr_ip4(IP4(192, 0, 2, 1))
#define REMOTE net_addr_ip4(IP4(198, 51, 100, 2))
#define LOCAL6 IP6(0x20010db8, 0, 0, 1)
#define REMOTE6 IP6(0x20010db8, 1, 0, 2)

static struct {
	struct bufpool pool;
	struct counters cnt;
	struct tcp *tcp;
	uint8_t sent[256]; /* the last IP packet */
	unsigned sent_len;
	int closed; /* E_...; 1: not yet */
} w;

static _Alignas(64) uint8_t buffers[BUFS * BUF_STRIDE_STANDARD];
static uint32_t stack[BUFS];
static _Alignas(64) uint8_t memory[1 << 17];

static void tx(void *ctx, struct pkt *p)
{
	(void)ctx;
	w.sent_len = p->len - ETH_HLEN;
	memcpy(w.sent, p->data + ETH_HLEN, w.sent_len);
	pkt_free(&w.pool, p);
}

static void data(struct tcp_conn *c, struct pkt *p)
{
	(void)c;
	pkt_free(&w.pool, p);
}

static void closed(struct tcp_conn *c, int why)
{
	(void)c;
	w.closed = why;
}

static struct tcp_ops ops = {.tx = tx};
static const struct tcp_app app = {.data = data, .closed = closed};

/* Begins to connect; w.sent is the SYN. */
static struct tcp_conn *open_to(struct net_addr local, struct net_addr remote)
{
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	const struct siphash_key key = {1, 2};
	p.connections = 8;
	p.pool_reserve = 0;
	memset(&w, 0, sizeof w);
	memset(memory, 0, sizeof memory);
	assert_true(tcp_memory_bytes(&p) <= sizeof memory);
	bufpool_init(&w.pool, buffers, stack, BUFS, BUF_STRIDE_STANDARD);
	w.closed = 1;
	w.tcp = tcp_init(memory, &p, &w.pool, &w.cnt, &key, &ops, NULL, 1000);
	return tcp_connect(w.tcp, &(struct tcp_open){.local = local, .remote = remote, .remote_port = 80,
	                                             .app = &app}, 1000, NULL);
}

static struct tcp_conn *open_one(void) { return open_to(LOCAL, REMOTE); }

static void report(uint8_t type, uint8_t code, uint32_t rest)
{
	const struct icmp4_msg m = {.kind = ICMP4_KIND_ERROR, .type = type, .code = code, .rest = rest,
	                            .data = w.sent, .data_len = w.sent_len};
	tcp_icmp4(w.tcp, &m, 2000);
}

/* RFC 9293 3.9.2.2: MUST-56 for soft errors, SHLD-26 for hard ones. */
static void which_ends_an_open(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 20; type++) {
		for (unsigned code = 0; code < 16; code++) {
			assert_non_null(open_one());
			report((uint8_t)type, (uint8_t)code, 1000);
			bool hard = type == ICMP4_UNREACH &&
			            (code == ICMP4_UNREACH_PROTO || code == ICMP4_UNREACH_PORT);
			assert_int_equal(w.closed, hard ? E_REFUSED : 1);
			assert_int_equal(tcp_connections(w.tcp), !hard);
			bool big = type == ICMP4_UNREACH && code == ICMP4_UNREACH_FRAG;
			assert_int_equal(w.cnt.v[CNT_tcp_pmtu], big);
		}
	}
}

/* RFC 1191 4: the lower half of the second word is the MTU, the upper is unused. */
static void mtu_of_the_path(void **state)
{
	(void)state;
	struct tcp_conn *c = open_one();
	struct tcp_info before, after;
	report(ICMP4_UNREACH, ICMP4_UNREACH_FRAG, 0xabcd0000 | 1400);
	assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 1);
	report(ICMP4_UNREACH, ICMP4_UNREACH_FRAG, 1400); /* already known */
	assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 1);
	tcp_info(c, &before);
	report(ICMP4_UNREACH, ICMP4_UNREACH_FRAG, 0); /* an old router, which gives none: the minimum */
	tcp_info(c, &after);
	assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 2);
	assert_true(after.mss <= before.mss);
	assert_int_equal(after.mss, 536);
}

static void report6(uint8_t type, uint8_t code, uint32_t rest)
{
	const struct icmp6_msg m = {.kind = ICMP6_KIND_ERROR, .type = type, .code = code, .rest = rest,
	                            .data = w.sent, .data_len = w.sent_len};
	tcp_icmp6(w.tcp, &m, 2000);
}

static void which_ends_an_open6(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 130; type++) {
		for (unsigned code = 0; code < 8; code++) {
			assert_non_null(open_to(LOCAL6, REMOTE6));
			report6((uint8_t)type, (uint8_t)code, 1400);
			bool hard = type == 1 && (code == 1 || code == 4);
			assert_int_equal(w.closed, hard ? E_REFUSED : 1);
			assert_int_equal(tcp_connections(w.tcp), !hard);
			assert_int_equal(w.cnt.v[CNT_tcp_pmtu], type == 2);
		}
	}
}

/* RFC 8201 4: not below 1280; the quoted packet may be truncated anywhere. */
static void mtu_of_the_path6(void **state)
{
	(void)state;
	struct tcp_conn *c = open_to(LOCAL6, REMOTE6);
	struct tcp_info i;
	assert_int_equal(ip6_check(w.sent, w.sent_len), CNT_NONE);
	report6(ICMP6_TOO_BIG, 0, 1279);
	report6(ICMP6_TOO_BIG, 0, 0);
	report6(ICMP6_TOO_BIG, 0, 1500);
	report6(ICMP6_TOO_BIG, 0, UINT32_MAX);
	assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 0);
	unsigned whole = w.sent_len;
	for (w.sent_len = 0; w.sent_len < 48; w.sent_len++)
		report6(ICMP6_TOO_BIG, 0, 1400);
	assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 0);
	w.sent_len = 48;
	report6(ICMP6_TOO_BIG, 0, 1400);
	assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 1);
	w.sent_len = whole;
	report6(ICMP6_TOO_BIG, 0, 1280);
	assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 2);
	tcp_info(c, &i);
	assert_int_equal(i.mss, 1220); /* as before: the peer has announced none yet */
}

static unsigned told; /* by tcp_ops.mtu6 */

static unsigned mtu6(void *ctx, const struct net_addr *remote)
{
	(void)ctx;
	assert_false(net_addr_is_ip4(remote));
	return told;
}

/* The MSS option, which is the first one of a SYN. */
static unsigned offered(void)
{
	const uint8_t *tcp = w.sent + (ip_is_ip6(w.sent) ? IP6_HLEN : IP4_HLEN);
	assert_int_equal(be16_load(tcp + 20), 0x0204);
	return be16_load(tcp + 22);
}

/* RFC 4861 4.6.4: an IPv6 link may have a smaller MTU than its port, but not more than
 * params.mtu (1500), nor less than 1280 (RFC 8200 5). Also when a larger size is tried again
 * (RFC 1191 6.3). */
static void mtu_of_the_link6(void **state)
{
	static const unsigned links[][2] = {{1400, 1340}, {9000, 1440}, {100, 1220}, {1500, 1440}};
	(void)state;
	ops.mtu6 = mtu6;
	for (unsigned i = 0; i < ARRAY_LEN(links); i++) {
		told = links[i][0];
		open_to(LOCAL6, REMOTE6);
		assert_int_equal(offered(), links[i][1]);
		report6(ICMP6_TOO_BIG, 0, links[i][1] + 60);
		assert_int_equal(w.cnt.v[CNT_tcp_pmtu], 0); /* this limit holds */
		open_one();
		assert_int_equal(offered(), 1460);
	}
	ops.mtu6 = NULL;
	open_to(LOCAL6, REMOTE6);
	assert_int_equal(offered(), 1440);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_ends_an_open),
		cmocka_unit_test(mtu_of_the_path),
		cmocka_unit_test(which_ends_an_open6),
		cmocka_unit_test(mtu_of_the_path6),
		cmocka_unit_test(mtu_of_the_link6),
	};
	return cmocka_run_group_tests_name("tcp_icmp", tests, NULL, NULL);
}
