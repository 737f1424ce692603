/* net/ra as scripts, by tests/unit/rig/nd_rig.h: a router's advertisements (RFC 4861 6.2, RFC 8106, RFC
 * 4191). */
#include "tests/unit/rig/nd_rig.h"

#include "net/ra.h"

static struct ra ra;
static struct ra_config config;

static enum counter take(unsigned port, const uint8_t *frame, const struct ip6_upper *up,
                         const struct icmp6_msg *m, uint64_t t)
{
	return ra_input(&ra, port, frame, up, m, t);
}

#define RS(t, ...) deliver(take, 0, &(struct message){.type = 133, __VA_ARGS__}, t)
#define RA(t, ...) deliver(take, 0, &(struct message){.dst = IP6_ALL_NODES, __VA_ARGS__}, t)

static int set_up(void **state)
{
	rig_set_up(state);
	ra_init(&ra, &nd);
	config = RA_CONFIG_DEFAULT;
	assert_true(ra_deadline(&ra) == UINT64_MAX);
	return 0;
}

/* Ticks up to t; stores when advertisements were sent in `when`, at most max. */
static unsigned sent(uint64_t t, uint64_t *when, unsigned max)
{
	unsigned n = 0;
	while (ra_deadline(&ra) <= t) {
		uint64_t at = ra_deadline(&ra);
		unsigned before = counted[CNT_nd_tx_router_advert];
		assert_true(ra_tick(&ra, at) > at);
		if (counted[CNT_nd_tx_router_advert] > before && n < max)
			when[n++] = at;
	}
	hush();
	return n;
}

static void started(uint64_t t)
{
	assert_int_equal(ra_start(&ra, 0, &config, t), 0);
	run_to(t + S(2)); /* the group of all routers */
	hush();
}

static void what_is_advertised(void **s)
{
	(void)s;
	config.managed = true;
	config.mtu = 1400;
	config.reachable_ms = 30000;
	config.retransmit_ms = 1000;
	config.preference = RA_HIGH;
	config.prefix[0] = (struct ra_prefix){US, RA_PREFIX_VALID_S, RA_PREFIX_PREFERRED_S, 64, true, true};
	config.prefix[1] = (struct ra_prefix){GLOBAL1(0), 600, 300, 48, true, false};
	config.prefixes = 2;
	config.server[0] = GLOBAL(53);
	config.server[1] = GLOBAL(54);
	config.servers = 2;
	assert_int_equal(ra_start(&ra, 0, &config, S(20)), 0);
	nd_tick(&nd, S(20)); /* 6.2.2 */
	expect("tx0 ll>mld join routers; ");
	uint64_t at = ra_deadline(&ra);
	assert_true(at >= S(20) && at <= S(20.5));
	ra_tick(&ra, at);
	expect("tx0 ra ll>all hop 64 flags 88 life 1800 reach 30000 retrans 1000 mac 01 mtu 1400 "
	       "n0/64LA 2592000 604800 n0/48L 600 300 rdnss 1800 2; ");
}

/* RFC 4861 6.2.4: three soon, then at random between the two intervals. */
static void intervals(void **s)
{
	(void)s;
	uint64_t when[40];
	started(S(20));
	assert_int_equal(sent(S(20 + 600 * 40), when, 40), 40);
	assert_true(when[1] - when[0] <= S(16) && when[2] - when[1] <= S(16));
	uint64_t least = UINT64_MAX, most = 0;
	for (unsigned i = 3; i < 40; i++) {
		uint64_t gap = when[i] - when[i - 1];
		least = gap < least ? gap : least;
		most = gap > most ? gap : most;
	}
	assert_true(least >= S(198) && least < S(260) && most <= S(600) && most > S(540));
}

/* 6.2.6: answered within 0.5 s, but not within 3 s of the last advertisement. */
static void solicitations(void **s)
{
	(void)s;
	uint64_t when[100];
	started(S(20));
	sent(S(100), when, 100);
	assert_int_equal(RS(S(100), .src = LINK(5), .dst = IP6_ALL_ROUTERS, .source_mac = mac_a),
	                 CNT_delivered_nd);
	int i = nd_neigh_find(&nd, 0, &LINK(5));
	assert_int_equal(nd_neigh_state(&nd, (unsigned)i), ND_STALE);
	assert_int_equal(nd_neigh_role(&nd, (unsigned)i), ND_ROLE_HOST);
	assert_int_equal(sent(S(100.5), when, 100), 1);
	/* In a flood one in 3 s is sent. */
	for (unsigned n = 0; n < 1000; n++) {
		uint64_t t = S(101) + n * S(0.03);
		assert_int_equal(RS(t, .src = NET_ADDR_ANY, .dst = IP6_ALL_ROUTERS), CNT_delivered_nd);
		ra_tick(&ra, t);
	}
	hush();
	assert_true(counted[CNT_nd_tx_router_advert] <= 4 + 11);
	assert_true(counted[CNT_nd_tx_router_advert] >= 4 + 8);
}

static void solicitations_refused(void **s)
{
	(void)s;
	started(S(20));
	uint64_t when[9];
	sent(S(100), when, 9);
	uint64_t next = ra_deadline(&ra);
#define FROM .src = LINK(5), .dst = IP6_ALL_ROUTERS
	assert_int_equal(RS(S(100), FROM, .hop_limit = 254), CNT_drop_nd_hop_limit);
	assert_int_equal(RS(S(100), FROM, .code = 1), CNT_drop_nd_malformed);
	assert_int_equal(RS(S(100), FROM, .fragment = true), CNT_drop_nd_fragment);
	assert_int_equal(RS(S(100), FROM, .source_mac = broadcast), CNT_drop_nd_bad_sender);
	assert_int_equal(RS(S(100), .src = LL, .dst = IP6_ALL_ROUTERS), CNT_drop_nd_bad_sender);
	assert_int_equal(RS(S(100), .src = NET_ADDR_ANY, .dst = IP6_ALL_ROUTERS, .source_mac = mac_a),
	                 CNT_drop_nd_malformed); /* 6.1.1 */
	const uint8_t zero_len[8] = {1};
	assert_int_equal(RS(S(100), FROM, .tail = zero_len, .tail_len = 8), CNT_drop_nd_malformed);
	assert_int_equal(deliver(take, 1, &(struct message){.type = 133, FROM}, S(100)),
	                 CNT_drop_nd_router); /* does not advertise */
	assert_true(ra_deadline(&ra) == next);
	expect("");
}

static void waits_for_its_address(void **s)
{
	(void)s;
	uint64_t when[9];
	nd_link_up(&nd, 0, S(20));
	assert_int_equal(ra_start(&ra, 0, &config, S(20)), 0);
	assert_int_equal(sent(S(24), when, 9), 0);
	run_to(S(24));
	assert_int_equal(sent(S(26), when, 9), 1);
	assert_true(ra.interface[0].initial_left == 2);
}

/* 6.2.5 */
static void the_last_one_has_no_lifetime(void **s)
{
	(void)s;
	started(S(20));
	ra_stop(&ra, 0, S(21));
	nd_tick(&nd, S(21));
	expect("tx0 ra ll>all hop 64 flags 00 life 0 reach 0 retrans 0 mac 01; "
	       "tx0 ll>mld leave routers; ");
	assert_true(ra_deadline(&ra) == UINT64_MAX);
	ra_stop(&ra, 0, S(21));
	expect("");
}

static void link_comes_up_anew(void **s)
{
	(void)s;
	uint64_t when[9];
	started(S(20));
	sent(S(100), when, 9);
	ra_link_up(&ra, 0, S(100));
	assert_true(ra_deadline(&ra) <= S(100.5));
	ra_link_up(&ra, 1, S(100));
	assert_int_equal(sent(S(140), when, 9), 3);
}

/* 6.2.7 */
static void others_are_compared(void **s)
{
	(void)s;
	config.mtu = 1500;
	config.reachable_ms = 30000;
	config.prefix[0] = (struct ra_prefix){US, 600, 300, 64, true, true};
	config.prefixes = 1;
	started(S(20));
	uint8_t body[16 + 8 + 32] = {134, 0, 0, 0, 64, 0, 0, 30};
	put32(body + 8, 30000);
	body[16] = 5;
	body[17] = 1;
	put32(body + 20, 1500);
	const uint8_t prefix[16] = {3, 4, 64, 0xc0, 0, 0, 2, 88, 0, 0, 1, 44};
	memcpy(body + 24, prefix, 16);
	net_addr_store(body + 40, &GLOBAL(0));
#define SEND RA(S(30), .src = LINK(5), .body = body, .body_len = sizeof body)
	static const struct { unsigned at; uint8_t value; bool odd; } rows[] = {
		{4, 64, false}, {4, 0, false}, {4, 63, true}, {5, 0x80, true}, {5, 0x40, true},
		{5, 0x08, false}, {6, 9, false}, {11, 1, true}, {15, 1, false}, {23, 1, true},
		{31, 1, true}, {35, 1, true}, {26, 63, false},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t was = body[rows[i].at];
		unsigned before = counted[CNT_nd_router_inconsistent];
		body[rows[i].at] = rows[i].value;
		assert_int_equal(SEND, CNT_delivered_nd);
		assert_int_equal(counted[CNT_nd_router_inconsistent] - before, rows[i].odd);
		body[rows[i].at] = was;
	}
	expect("");
	/* 6.1.2 */
	assert_int_equal(RA(S(30), .src = GLOBAL(5), .body = body, .body_len = 16), CNT_drop_nd_malformed);
	assert_int_equal(RA(S(30), .src = LINK(5), .body = body, .body_len = 15), CNT_drop_nd_malformed);
	assert_int_equal(RA(S(30), .src = LL, .body = body, .body_len = 16), CNT_drop_nd_bad_sender);
}

static void configurations(void **s)
{
	(void)s;
#define REFUSED(field, value) \
	do { \
		struct ra_config c = config; \
		c.field = value; \
		assert_int_equal(ra_start(&ra, 0, &c, 0), E_INVAL); \
	} while (0)
	config.prefix[0] = (struct ra_prefix){US, 600, 300, 64, true, true};
	config.prefixes = 1;
	assert_true(ra_config_is_valid(&config));
	REFUSED(max_interval_s, 3);
	REFUSED(max_interval_s, 1801);
	REFUSED(min_interval_s, 2);
	REFUSED(min_interval_s, 451);
	REFUSED(lifetime_s, 599);
	REFUSED(lifetime_s, 9001);
	REFUSED(reachable_ms, 3600001);
	REFUSED(mtu, 1279);
	REFUSED(prefixes, RA_PREFIXES_MAX + 1);
	REFUSED(servers, RA_SERVERS_MAX + 1);
	REFUSED(prefix[0].preferred_s, 601);
	REFUSED(prefix[0].plen, 129);
	REFUSED(prefix[0].addr, LINK(0));
	config.lifetime_s = 0;
	assert_true(ra_config_is_valid(&config));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_advertised),
		TEST(intervals),
		TEST(solicitations),
		TEST(solicitations_refused),
		TEST(waits_for_its_address),
		TEST(the_last_one_has_no_lifetime),
		TEST(link_comes_up_anew),
		TEST(others_are_compared),
		TEST(configurations),
	};
	return cmocka_run_group_tests_name("ra", tests, NULL, NULL);
}
