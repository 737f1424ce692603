/* net/slaac as scripts, by tests/unit/rig/nd_rig.h: a host among routers (RFC 4861 6.3, RFC 4862 5.5,
 * RFC 7559, RFC 4191), honest ones and others. */
#include "tests/unit/rig/nd_rig.h"

#include "net/slaac.h"

#define PREFIX IP6(0x20010db8, 0, 0, 0)
#define OURS IP6(0x20010db8, 0, 0x000000ff, 0xfe000001) /* PREFIX and the EUI-64 of our_mac */
#define HOURS(n) S(3600.0 * (n))

static struct slaac slaac;

static void on_default(void *ctx, unsigned port, const struct net_addr *router)
{
	(void)ctx;
	say("default%u %s; ", port, router ? name_of(router) : "none");
}

static void on_prefix(void *ctx, unsigned port, const struct net_addr *prefix, unsigned plen, bool on)
{
	(void)ctx;
	say("%slink%u %s/%u; ", on ? "on " : "off ", port, name_of(prefix), plen);
}

static void on_link(void *ctx, unsigned port, unsigned mtu, unsigned hop_limit)
{
	(void)ctx;
	say("link%u mtu %u hop %u; ", port, mtu, hop_limit);
}

static const struct slaac_ops ops = {on_default, on_prefix, on_link};

static enum counter take(unsigned port, const uint8_t *frame, const struct ip6_upper *up,
                         const struct icmp6_msg *m, uint64_t t)
{
	return slaac_input(&slaac, port, frame, up, m, t);
}

/* Lets time pass for both, as their owner does. */
static void both_to(uint64_t t)
{
	for (unsigned turns = 0;; turns++) {
		uint64_t a = nd_deadline(&nd), b = slaac_deadline(&slaac);
		uint64_t at = a < b ? a : b;
		if (at > t)
			break;
		assert_true(turns < 100000);
		nd_tick(&nd, at);
		slaac_tick(&slaac, at);
	}
}

/* An advertisement under construction. */
static uint8_t advert[16 + 10 * 32];
static unsigned advert_len;

static void begin(uint16_t lifetime_s)
{
	memset(advert, 0, sizeof advert);
	advert[0] = 134;
	put16(advert + 6, lifetime_s);
	advert_len = 16;
}

static void with_prefix(struct net_addr prefix, unsigned plen, uint8_t flags, uint32_t valid_s,
                        uint32_t preferred_s)
{
	uint8_t *p = advert + advert_len;
	p[0] = 3;
	p[1] = 4;
	p[2] = (uint8_t)plen;
	p[3] = flags;
	put32(p + 4, valid_s);
	put32(p + 8, preferred_s);
	net_addr_store(p + 16, &prefix);
	advert_len += 32;
}

static void with_mac(const uint8_t *mac)
{
	uint8_t *p = advert + advert_len;
	p[0] = p[1] = 1;
	memcpy(p + 2, mac, 6);
	advert_len += 8;
}

static void with_mtu(uint32_t mtu)
{
	uint8_t *p = advert + advert_len;
	p[0] = 5;
	p[1] = 1;
	put32(p + 4, mtu);
	advert_len += 8;
}

static enum counter send_from(struct net_addr src, uint64_t t)
{
	return deliver(take, 0, &(struct message){.src = src, .dst = IP6_ALL_NODES, .body = advert,
	                                          .body_len = advert_len}, t);
}
#define send(n, t) assert_int_equal(send_from(LINK(n), t), CNT_delivered_nd)

static int set_up(void **state)
{
	rig_host(state);
	slaac_init(&slaac, &nd, &ops, NULL);
	assert_int_equal(slaac_start(&slaac, 0, our_mac, IP6_MTU_MIN - 1, S(1)), E_INVAL);
	assert_int_equal(slaac_start(&slaac, ND_INTERFACES_MAX, our_mac, 1500, S(1)), E_INVAL);
	assert_int_equal(slaac_start(&slaac, 0, our_mac, 1500, S(1)), 0);
	return 0;
}

/* The link-local address is up, no router has answered yet. */
static int settled(void **state)
{
	set_up(state);
	both_to(S(10));
	assert_true(nd_is_local(&nd, 0, &LL));
	hush();
	return 0;
}

static struct slaac_address address(void)
{
	struct slaac_address a;
	unsigned cursor = 0;
	assert_true(slaac_next(&slaac, &cursor, &a));
	assert_true(net_addr_equal(&a.addr, &OURS));
	return a;
}

static bool no_address(void)
{
	struct slaac_address a;
	unsigned cursor = 0;
	return !slaac_next(&slaac, &cursor, &a);
}

static void starts_and_asks(void **s)
{
	(void)s;
	assert_true(slaac_deadline(&slaac) >= S(1) && slaac_deadline(&slaac) <= S(2)); /* 6.3.7 */
	slaac_tick(&slaac, S(2));
	expect("tx0 rs any>routers; "); /* 4.1: without MAC, from the unspecified address */
	uint64_t second = slaac_deadline(&slaac);
	assert_true(second >= S(2) + S(3.6) && second <= S(2) + S(4.4)); /* RFC 7559 */
	run_to(S(4));
	hush();
	slaac_tick(&slaac, second);
	expect("tx0 rs ll>routers mac 01; ");
	uint64_t last = second;
	for (unsigned n = 0; n < 20; n++) {
		uint64_t next = slaac_deadline(&slaac);
		assert_true(next > last && next - last <= S(3960.1));
		slaac_tick(&slaac, next);
		last = next;
	}
	assert_true(slaac_deadline(&slaac) - last >= S(3239.9));
	hush();
	begin(1800);
	send(5, last + 1);
	expect("default0 l5; ");
	assert_true(slaac_deadline(&slaac) == last + 1 + S(1800));
}

/* A configured link-local address is the only one. */
static void link_local_was_given(void **s)
{
	(void)s;
	slaac_init(&slaac, &nd, &ops, NULL);
	assert_int_equal(nd_add_local(&nd, 0, &LINK(9), 64, our_mac, S(1)), 0);
	assert_int_equal(slaac_start(&slaac, 0, our_mac, 1500, S(1)), 0);
	both_to(S(10));
	assert_true(nd_is_local(&nd, 0, &LINK(9)));
	assert_int_equal(nd.locals, 1);
	hush();
	slaac_stop(&slaac, 0, S(10));
	assert_true(nd_is_local(&nd, 0, &LINK(9)));
}

static void configures_itself(void **s)
{
	(void)s;
	begin(1800);
	advert[4] = 128;
	put32(advert + 8, 20000);
	put32(advert + 12, 2000);
	with_mac(mac_a);
	with_mtu(1400);
	with_prefix(PREFIX, 64, 0xc0, 86400, 14400);
	send(5, S(10));
	expect("link0 mtu 1400 hop 128; on link0 n0/64; default0 l5; ");
	int i = nd_neigh_find(&nd, 0, &LINK(5));
	assert_int_equal(nd_neigh_state(&nd, (unsigned)i), ND_STALE);
	assert_int_equal(nd_neigh_role(&nd, (unsigned)i), ND_ROLE_ROUTER);
	assert_true(nd.interface[0].reachable_ns == S(20) && nd.interface[0].retransmit_ns == S(2));
	nd_tick(&nd, S(10));
	expect("tx0 ns any>g:1 20010db8:0:ff:fe000001 nonce; "); /* DAD; the group is joined for ll */
	both_to(S(13));
	assert_true(nd_is_local(&nd, 0, &OURS));
	struct slaac_address a = address();
	assert_true(a.valid_until_ns == S(10) + S(86400) && a.preferred_until_ns == S(10) + S(14400));
	both_to(S(10) + S(1800) - 1);
	hush();
	both_to(S(10) + S(1800));
	expect("default0 none; ");
	assert_true(slaac.interface[0].soliciting); /* RFC 7559 2.2: solicited again */
	both_to(S(10) + S(86400) - 1);
	hush();
	assert_true(slaac_is_on_link(&slaac, 0, &PREFIX, 64));
	assert_false(slaac_is_on_link(&slaac, 1, &PREFIX, 64));
	assert_false(slaac_is_on_link(&slaac, 0, &PREFIX, 65));
	both_to(S(10) + S(86400));
	assert_true(no_address());
	assert_false(slaac_is_on_link(&slaac, 0, &PREFIX, 64));
	expect("address down 20010db8:0:ff:fe000001; off link0 n0/64; ");
}

/* RFC 4862 5.5.3 (e): the two-hour rule. */
static void lifetimes_are_not_cut_short(void **s)
{
	(void)s;
	begin(1800);
	with_prefix(PREFIX, 64, 0x40, 86400, 14400);
	send(5, S(10));
#define THEN(valid, preferred, t) \
	do { \
		begin(1800); \
		with_prefix(PREFIX, 64, 0x40, valid, preferred); \
		send(5, t); \
	} while (0)
	THEN(60, 60, S(20)); /* 3: more than two hours were left */
	assert_true(address().valid_until_ns == S(20) + HOURS(2));
	assert_true(address().preferred_until_ns == S(80));
	THEN(0, 0, S(30)); /* 2: less: unchanged */
	assert_true(address().valid_until_ns == S(20) + HOURS(2));
	assert_true(address().preferred_until_ns == S(30));
	THEN(7195, 100, S(30)); /* 1: more than the remaining time */
	assert_true(address().valid_until_ns == S(30) + S(7195));
	THEN(7201, 100, S(40)); /* 1: more than two hours */
	assert_true(address().valid_until_ns == S(40) + S(7201));
	THEN(100, 200, S(50)); /* (c): preferred beyond valid: ignored */
	assert_true(address().valid_until_ns == S(40) + S(7201));
	THEN(UINT32_MAX, UINT32_MAX, S(60));
	assert_true(address().valid_until_ns == SLAAC_FOREVER);
	THEN(60, 60, S(70));
	assert_true(address().valid_until_ns == S(70) + HOURS(2));
	hush();
}

static void prefixes_that_make_no_address(void **s)
{
	(void)s;
	begin(0);
	with_prefix(PREFIX, 63, 0x40, 600, 300);       /* (d): not 128 bits with our identifier */
	with_prefix(PREFIX, 64, 0x00, 600, 300);       /* (a) */
	with_prefix(LINK(0), 64, 0xc0, 600, 300);      /* (b) */
	with_prefix(PREFIX, 64, 0x40, 300, 600);       /* (c) */
	with_prefix(PREFIX, 64, 0x40, 0, 0);           /* (d): zero lifetime, no address */
	with_prefix(IP6_ALL_NODES, 64, 0xc0, 600, 300);
	with_prefix(NET_ADDR_ANY, 0, 0x80, 600, 300);  /* the whole address space on the link */
	with_prefix(PREFIX, 129, 0xc0, 600, 300);
	send(5, S(10));
	expect("");
	assert_true(no_address());
	assert_int_equal(slaac.prefixes, 0);
	assert_int_equal(counted[CNT_nd_router_refused], 4);
}

/* RFC 4861 6.3.4: on-link state has its own lifetime, and ends at once on request. */
static void on_link_without_address(void **s)
{
	(void)s;
	begin(0);
	with_prefix(IP6(0x20010db9, 0, 0, 7), 48, 0x80, 600, 300); /* bits behind it are ignored */
	send(5, S(10));
	expect("on link0 20010db9:0:0:0/48; ");
	send(5, S(100));
	expect("");
	both_to(S(699));
	hush();
	both_to(S(700));
	expect("off link0 20010db9:0:0:0/48; ");
	begin(0);
	with_prefix(PREFIX, 64, 0x80, UINT32_MAX, 0);
	send(5, S(1000));
	begin(0);
	with_prefix(PREFIX, 64, 0x00, 0, 0); /* no on-link flag: no effect */
	send(5, S(1000));
	expect("on link0 n0/64; ");
	begin(0);
	with_prefix(PREFIX, 64, 0x80, 0, 0);
	send(5, S(1000));
	expect("off link0 n0/64; ");
	assert_int_equal(slaac.prefixes, 0);
}

static void duplicate_stays_unused(void **s)
{
	(void)s;
	begin(1800);
	with_prefix(PREFIX, 64, 0xc0, 86400, 14400);
	send(5, S(10));
	nd_tick(&nd, S(10));
	hush();
	const struct net_addr ours = OURS;
	input(0, S(10.5), .type = 136, .src = LINK(9), .dst = IP6_ALL_NODES, .target = ours,
	      .target_mac = mac_b, .flags = ND_NA_OVERRIDE);
	expect("duplicate 20010db8:0:ff:fe000001 0b; ");
	both_to(S(20));
	begin(1800);
	with_prefix(PREFIX, 64, 0xc0, 86400, 14400);
	send(5, S(20));
	both_to(S(100));
	assert_false(nd_is_local(&nd, 0, &OURS));
	hush();
}

static void configured_address_is_left_alone(void **s)
{
	(void)s;
	assert_int_equal(nd_add_local(&nd, 0, &OURS, 64, our_mac, S(10)), 0);
	begin(1800);
	with_prefix(PREFIX, 64, 0x40, 60, 60);
	send(5, S(10));
	assert_true(no_address());
	both_to(S(1000));
	assert_true(nd_is_local(&nd, 0, &OURS));
	hush();
}

/* --- default routers --- */

static void a_router(uint32_t n, const uint8_t *mac, uint8_t flags, uint64_t t)
{
	begin(1800);
	advert[5] = flags;
	with_mac(mac);
	send(n, t);
}

/* RFC 4191 2.2; lifetime 0 (RFC 4861 6.3.4) */
static void the_preferred_router_is_chosen(void **s)
{
	(void)s;
	a_router(5, mac_a, 0x18, S(10)); /* low */
	expect("default0 l5; ");
	a_router(6, mac_b, 0x00, S(10)); /* medium */
	expect("default0 l6; ");
	a_router(7, mac_b, 0x10, S(10)); /* reserved: medium */
	expect("");
	a_router(5, mac_a, 0x08, S(11)); /* high now */
	expect("default0 l5; ");
	begin(0);
	send(5, S(12));
	expect("default0 l6; ");
	begin(0);
	send(6, S(12));
	expect("default0 l7; ");
	send(6, S(12));
	send(7, S(12));
	expect("default0 none; ");
}

/* RFC 4861 6.3.6: a router that does not answer is replaced, and selected again only if it is
 * better. */
static void a_dead_router_gives_way(void **s)
{
	(void)s;
	a_router(5, mac_a, 0, S(10));
	a_router(6, mac_b, 0, S(10));
	hush();
	int i = nd_neigh_find(&nd, 0, &LINK(5));
	nd_pin(&nd, (unsigned)i);
	output(i, 1, S(20));
	hush();
	both_to(S(27.9)); /* DELAY 5 s, three probes */
	assert_null(strstr(name_of(&slaac.chosen.addr), "l6"));
	hush();
	both_to(S(28));
	expect("down 0; tx0 ns ll>g:5 l5 mac 01; default0 l6; ");
	both_to(S(40));
	hush();
	a_router(5, mac_a, 0, S(40));
	expect(""); /* no reason to change back */
	a_router(5, mac_a, 0x08, S(40));
	expect("default0 l5; ");
}

/* 7.2.5: a router that declares itself a host is no longer used. */
static void a_router_that_became_a_host(void **s)
{
	(void)s;
	a_router(5, mac_a, 0, S(10));
	hush();
	input(0, S(11), .type = 136, .src = LINK(5), .dst = LL, .target = LINK(5), .target_mac = mac_a,
	      .flags = ND_NA_SOLICITED);
	hush();
	assert_true(slaac_deadline(&slaac) == 0);
	slaac_tick(&slaac, S(11));
	expect("default0 none; ");
}

/* --- bounds --- */

static void tables_are_bounded(void **s)
{
	(void)s;
	for (uint32_t n = 0; n < 100; n++) {
		begin(9000);
		with_prefix(IP6(0x20010db9, n, 0, 0), 64, 0xc0, UINT32_MAX, UINT32_MAX);
		send(100 + n, S(10));
	}
	assert_int_equal(slaac.routers, SLAAC_ROUTERS_MAX);
	assert_int_equal(slaac.prefixes, SLAAC_INTERFACE_PREFIXES_MAX);
	assert_true(counted[CNT_nd_router_refused] >= 180);
	hush();
	slaac_stop(&slaac, 0, S(11));
	assert_int_equal(slaac.routers + slaac.prefixes + nd.locals, 0);
	assert_true(slaac_deadline(&slaac) == UINT64_MAX);
	hush();
}

static void values_out_of_bounds(void **s)
{
	(void)s;
	static const struct { uint32_t mtu, reachable, retransmit; uint8_t hop; unsigned refused; } rows[] = {
		{1279, 0, 0, 0, 1}, {1501, 0, 0, 0, 1}, {0, 3600001, 0, 0, 1}, {0, 10, 0, 0, 1},
		{0, 0, 1, 0, 1}, {0, 0, UINT32_MAX, 0, 1}, {0, 0, 0, 31, 1}, {UINT32_MAX, 0, 0, 1, 2},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned before = counted[CNT_nd_router_refused];
		begin(0);
		advert[4] = rows[i].hop;
		put32(advert + 8, rows[i].reachable);
		put32(advert + 12, rows[i].retransmit);
		if (rows[i].mtu)
			with_mtu(rows[i].mtu);
		send(5, S(10));
		assert_int_equal(counted[CNT_nd_router_refused] - before, rows[i].refused);
	}
	expect("");
	assert_true(nd.interface[0].reachable_ns == S(30) && nd.interface[0].retransmit_ns == S(1));
	begin(0);
	with_mtu(1280);
	send(5, S(10));
	expect("link0 mtu 1280 hop 0; ");
}

/* 6.1.2 */
static void what_is_refused(void **s)
{
	(void)s;
	begin(1800);
	assert_int_equal(send_from(GLOBAL(5), S(10)), CNT_drop_nd_malformed);
	assert_int_equal(send_from(LL, S(10)), CNT_drop_nd_bad_sender);
#define BAD(fate, ...) \
	assert_int_equal(deliver(take, 0, &(struct message){.src = LINK(5), .dst = IP6_ALL_NODES, \
	                 .body = advert, __VA_ARGS__}, S(10)), fate)
	BAD(CNT_drop_nd_malformed, .body_len = 15);
	BAD(CNT_drop_nd_malformed, .body_len = 17);
	BAD(CNT_drop_nd_malformed, .body_len = 24); /* an option of length 0 */
	BAD(CNT_drop_nd_hop_limit, .body_len = 16, .hop_limit = 254);
	BAD(CNT_drop_nd_fragment, .body_len = 16, .fragment = true);
	advert[1] = 1;
	BAD(CNT_drop_nd_malformed, .body_len = 16);
	begin(1800);
	with_mac(broadcast);
	assert_int_equal(send_from(LINK(5), S(10)), CNT_drop_nd_bad_sender);
	begin(1800);
	assert_int_equal(deliver(take, 1, &(struct message){.src = LINK(5), .dst = IP6_ALL_NODES,
	                         .body = advert, .body_len = 16}, S(10)), CNT_drop_nd_router);
	assert_int_equal(deliver(take, 0, &(struct message){.type = 133, .src = LINK(5),
	                         .dst = IP6_ALL_ROUTERS}, S(10)), CNT_drop_nd_router); /* 6.2.6 */
	expect("");
	assert_int_equal(slaac.routers, 0);
}

static void link_comes_up_anew(void **s)
{
	(void)s;
	a_router(5, mac_a, 0, S(10));
	hush();
	slaac_link_up(&slaac, 0, S(20));
	both_to(S(22));
	expect("tx0 rs ll>routers mac 01; ");
	assert_int_equal(slaac.routers, 1);
}

/* Random advertisements and times against the invariants. */
static void random_life(void **s)
{
	(void)s;
	seed_random("slaac random_life");
	uint64_t t = S(10);
	for (unsigned step = 0; step < 20000; step++) {
		begin(random_below(3) ? (uint16_t)random_below(4000) : 0);
		advert[5] = (uint8_t)(random_below(4) << 3);
		if (random_below(2))
			with_mac(random_below(2) ? mac_a : mac_b);
		for (unsigned n = random_below(4); n > 0; n--)
			with_prefix(IP6(0x20010db9, random_below(12), 0, 0), random_below(4) ? 64 : 48,
			            (uint8_t)(random_below(4) << 6), random_below(9) ? random_below(20000) : 0,
			            random_below(10000));
		send(random_below(12), t);
		if (random_below(10) == 0)
			input(0, t, .type = 136, .src = LINK(5), .dst = LL, .target = LINK(random_below(12)),
			      .target_mac = mac_a, .flags = (uint8_t)(random_below(8) << 5));
		t += random_below(5) ? random_below(2000000000) : S(random_below(5000));
		both_to(t);
		hush();
		unsigned live = 0;
		for (uint32_t i = 0; i < slaac.prefixes; i++) {
			const struct slaac_prefix *p = &slaac.prefix[i];
			live += p->has_addr;
			assert_true(p->has_addr || p->on_link);
			assert_true(!p->on_link || p->on_link_until_ns > t);
			assert_true(!p->has_addr || p->valid_until_ns > t);
		}
		assert_int_equal(nd.locals, 1 + live);
		assert_int_equal(slaac.has_default, slaac.routers > 0);
	}
}

#define START(f) cmocka_unit_test_setup_teardown(f, set_up, rig_tear_down)
#define TEST(f) cmocka_unit_test_setup_teardown(f, settled, rig_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		START(starts_and_asks),
		cmocka_unit_test_setup_teardown(link_local_was_given, rig_host, rig_tear_down),
		TEST(configures_itself),
		TEST(lifetimes_are_not_cut_short),
		TEST(prefixes_that_make_no_address),
		TEST(on_link_without_address),
		TEST(duplicate_stays_unused),
		TEST(configured_address_is_left_alone),
		TEST(the_preferred_router_is_chosen),
		TEST(a_dead_router_gives_way),
		TEST(a_router_that_became_a_host),
		TEST(tables_are_bounded),
		TEST(values_out_of_bounds),
		TEST(what_is_refused),
		TEST(link_comes_up_anew),
		TEST(random_life),
	};
	return cmocka_run_group_tests_name("slaac", tests, NULL, NULL);
}
