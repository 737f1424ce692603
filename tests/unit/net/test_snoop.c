/*
 * net/snoop/snoop: a switch of 16 ports and a clock. What it tells its caller is kept as the caller would keep
 * it: the table of groups, and of each VLAN the ports of routers and whether it restricts.
 */
#include "tests/unit/rig/host.h"

#include "lib/csum.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/snoop/snoop.h"

#define S 1000000000ull
#define VID 10
#define G1 IP4(239, 1, 1, 1)
#define G2 IP4(239, 1, 1, 2)
#define ROUTER IP4(192, 0, 2, 9)
#define OWN IP4(192, 0, 2, 5)

static struct snoop snoop;
static struct snoop_table table;
static uint64_t now;
static struct snoop_settings settings; /* of all VLANs */
static struct {
	uint16_t routers;
	bool restricts;
} told[SNOOP_VID_MAX + 1][SNOOP_FAMILIES];
static unsigned counted;
static bool no_room;
static struct {
	unsigned n, vid;
	enum snoop_family family;
	struct net_addr group;
	uint32_t response_ms;
	uint16_t ports;
} query; /* the last one, and how many */

static void on_settings(void *ctx, unsigned vid, enum snoop_family family, struct snoop_settings *out)
{
	(void)ctx;
	(void)vid;
	*out = settings;
	if (family == SNOOP_IP6 && !net_addr_is_any(&settings.src))
		out->src = (struct net_addr)IP6(0xfe800000, 0, 0, 5);
}

static bool on_group(void *ctx, unsigned vid, const struct net_addr *group, uint16_t ports)
{
	(void)ctx;
	const uint64_t hash = snoop_hash(&table, vid, group);
	if (ports == 0)
		snoop_table_remove(&table, hash);
	return ports == 0 || (!no_room && snoop_table_put(&table, hash, ports));
}

static void on_vlan(void *ctx, unsigned vid, enum snoop_family family, uint16_t routers, bool restricts)
{
	(void)ctx;
	told[vid][family].routers = routers;
	told[vid][family].restricts = restricts;
}

static void on_query(void *ctx, unsigned vid, enum snoop_family family, const struct net_addr *group,
                     uint32_t response_ms, uint16_t ports)
{
	(void)ctx;
	query.n++;
	query.vid = vid;
	query.family = family;
	query.group = *group;
	query.response_ms = response_ms;
	query.ports = ports;
}

static void on_count(void *ctx, enum counter c)
{
	(void)ctx;
	assert_int_equal(c, CNT_snoop_refused);
	counted++;
}

static const struct snoop_ops ops = {on_settings, on_group, on_vlan, on_query, on_count};

static int reset(void **state)
{
	(void)state;
	const uint64_t key[2] = {random64(), random64()};
	memset(told, 0, sizeof told);
	memset(&query, 0, sizeof query);
	now = 1000 * S;
	counted = 0;
	no_room = false;
	settings = (struct snoop_settings){.on = true, .ports = 0xffff, .interval_s = SNOOP_INTERVAL_S};
	snoop_table_init(&table, key);
	snoop_init(&snoop, &ops, NULL, key);
	return 0;
}

/* --- packets, and time --- */

/* Time passes, deadline by deadline; each tick must arm a later one. */
static void pass(uint64_t ns)
{
	const uint64_t end = now + ns;
	while (snoop_deadline(&snoop) <= end) {
		if (snoop_deadline(&snoop) > now)
			now = snoop_deadline(&snoop);
		snoop_tick(&snoop, now);
		assert_true(snoop_deadline(&snoop) > now);
	}
	now = end;
}

static struct snoop_packet packet; /* what input() has read */

static void input_ip(unsigned port, const uint8_t *ip, unsigned len, uint16_t type)
{
	assert_int_equal(snoop_read(ip, len, type, &packet), CNT_NONE);
	snoop_input(&snoop, VID, port, &packet, now);
}

/* An IGMP message, whose checksum is set here. */
static void input(unsigned port, uint32_t src, uint32_t dst, uint8_t *m, unsigned len)
{
	uint8_t ip[IP4_HLEN + 2048] = {0x45, 0xc0, [8] = 1, [9] = 2};
	be16_store(ip + 2, (uint16_t)(IP4_HLEN + len));
	be32_store(ip + 12, src);
	be32_store(ip + 16, dst);
	raw16_store(ip + 10, csum_fold(csum_partial(ip, IP4_HLEN, 0)));
	raw16_store(m + 2, 0);
	raw16_store(m + 2, csum_fold(csum_partial(m, len, 0)));
	memcpy(ip + IP4_HLEN, m, len);
	input_ip(port, ip, IP4_HLEN + len, ETH_TYPE_IP4);
}

static void message(unsigned port, uint8_t type, uint8_t code, uint32_t src, uint32_t group)
{
	uint8_t m[8] = {type, code};
	be32_store(m + 4, group);
	input(port, src, group ? group : IP4(224, 0, 0, 1), m, sizeof m);
}

static void report(unsigned port, uint32_t group) { message(port, 0x16, 0, IP4(192, 0, 2, 77), group); }
static void leave(unsigned port, uint32_t group) { message(port, 0x17, 0, IP4(192, 0, 2, 77), group); }
static void ask(unsigned port, uint32_t src, uint32_t group) { message(port, 0x11, group ? 10 : 100, src, group); }

/* A version 3 report with one record and n sources. */
static void report3(unsigned port, uint8_t type, uint32_t group, unsigned n)
{
	uint8_t m[16 + 4 * 8] = {0x22, [7] = 1};
	m[8] = type;
	be16_store(m + 10, (uint16_t)n);
	be32_store(m + 12, group);
	input(port, 0, IP4(224, 0, 0, 22), m, 16 + 4 * n);
}

static uint32_t ports_of(uint32_t group)
{
	const struct net_addr addr = net_addr_ip4(group);
	uint32_t ports = 0;
	const bool there = snoop_table_find(&table, snoop_hash(&table, VID, &addr), &ports);
	assert_int_equal(there, ports != 0);
	return ports;
}

/* A router at port 0 has asked, and hosts have had the time to answer. */
static void start(void)
{
	ask(0, ROUTER, 0);
	pass(11 * S);
	assert_true(told[VID][SNOOP_IP4].restricts);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 1);
}

/* --- members --- */

static void test_reports_and_their_age(void **state)
{
	(void)state;
	start();
	report(3, G1);
	pass(100 * S);
	report(4, G1);
	report(4, G2);
	assert_int_equal(ports_of(G1), 0x18);
	assert_int_equal(ports_of(G2), 0x10);
	ask(0, ROUTER, 0);
	pass(160 * S - 1);
	assert_int_equal(ports_of(G1), 0x18);
	pass(1); /* 260 s after the report by port 3 (RFC 3376 8.4) */
	assert_int_equal(ports_of(G1), 0x10);
	pass(100 * S);
	assert_int_equal(ports_of(G1) | ports_of(G2), 0);
	assert_int_equal(snoop.groups, 0);
}

static void test_versions(void **state)
{
	(void)state;
	start();
	message(1, 0x12, 0, 0, G1); /* version 1, from 0.0.0.0 */
	assert_int_equal(ports_of(G1), 2);
	for (uint8_t type = 0; type < 9; type++) {
		for (unsigned sources = 0; sources < 3; sources++) {
			report3(2, type, G2, sources);
			const bool join = type == 2 || type == 4 || ((type == 1 || type == 3 || type == 5) && sources);
			assert_int_equal(ports_of(G2), join ? 4 : 0);
			if (join) { /* the router is the querier: a leave alone changes nothing */
				report3(2, 3, G2, 0);
				assert_int_equal(ports_of(G2), 4);
				ask(0, ROUTER, G2);
				pass(2 * S);
			}
			assert_int_equal(ports_of(G2), 0);
		}
	}
}

static void test_link_groups_are_not_tracked(void **state)
{
	(void)state;
	start();
	report(1, IP4(224, 0, 0, 251));
	report3(1, 4, IP4(224, 0, 0, 9), 0);
	report3(1, 4, IP4(192, 0, 2, 1), 0);
	assert_int_equal(snoop.groups, 0);
	report(1, IP4(224, 0, 1, 0));
	assert_int_equal(snoop.groups, 1);
}

static void test_fast_leave(void **state)
{
	(void)state;
	settings.fast_leave = true;
	start();
	report(1, G1);
	report(2, G1);
	leave(1, G1);
	assert_int_equal(ports_of(G1), 4);
	leave(1, G1);
	leave(2, G1);
	assert_int_equal(ports_of(G1), 0);
}

static void test_query_of_a_group(void **state)
{
	(void)state;
	start();
	report(1, G1);
	report(2, G1);
	report(0, G1);
	leave(1, G1);
	pass(1 * S);
	ask(0, ROUTER, G1);
	pass(S);
	report(2, G1);
	pass(S - 1);
	assert_int_equal(ports_of(G1), 7);
	pass(1);
	assert_int_equal(ports_of(G1), 5); /* the querier's own port is not asked */
	ask(5, IP4(192, 0, 2, 99), G1); /* not the querier */
	pass(5 * S);
	assert_int_equal(ports_of(G1), 5);
	uint8_t m[12] = {0x11, 10, [8] = 8 | 2, 125}; /* with the S flag */
	be32_store(m + 4, G1);
	input(0, ROUTER, G1, m, sizeof m);
	pass(5 * S);
	assert_int_equal(ports_of(G1), 5);
}

/* --- queriers and routers --- */

static void test_restricts_while_there_is_a_querier(void **state)
{
	(void)state;
	report(1, G1);
	assert_false(told[VID][SNOOP_IP4].restricts);
	ask(0, ROUTER, 0);
	pass(11 * S - 1);
	assert_false(told[VID][SNOOP_IP4].restricts);
	pass(1);
	assert_true(told[VID][SNOOP_IP4].restricts);
	pass(244 * S - 1);
	assert_true(told[VID][SNOOP_IP4].restricts);
	pass(1); /* 255 s after the query (RFC 3376 8.5) */
	assert_false(told[VID][SNOOP_IP4].restricts);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 1);
	pass(45 * S);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 0);
	assert_false(told[VID][SNOOP_IP6].restricts);
}

static void test_query_of_a_switch(void **state)
{
	(void)state;
	ask(0, 0, 0);
	pass(20 * S);
	assert_false(told[VID][SNOOP_IP4].restricts);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 0);
}

static void test_the_querier_s_interval(void **state)
{
	(void)state;
	uint8_t m[12] = {0x11, 20, [8] = 3, 60}; /* version 3: 2 s, robustness 3, interval 60 s */
	input(4, ROUTER, IP4(224, 0, 0, 1), m, sizeof m);
	report(1, G1);
	assert_int_equal(snoop_vlan_of(&snoop, VID, SNOOP_IP4)->querier_version, 3);
	pass(182 * S - 1);
	assert_int_equal(ports_of(G1), 2);
	pass(1);
	assert_int_equal(ports_of(G1), 0);
	assert_false(told[VID][SNOOP_IP4].restricts); /* since 181 s */
}

static void test_routers(void **state)
{
	(void)state;
	settings.routers = 0x100;
	uint8_t ip[IP4_HLEN + 4] = {0x45, [8] = 1, [9] = 103, [IP4_HLEN] = 0x20};
	be16_store(ip + 2, sizeof ip);
	be32_store(ip + 12, ROUTER);
	be32_store(ip + 16, IP4(224, 0, 0, 13));
	raw16_store(ip + 10, csum_fold(csum_partial(ip, IP4_HLEN, 0)));
	raw16_store(ip + IP4_HLEN + 2, csum_fold(csum_partial(ip + IP4_HLEN, 4, 0)));
	input_ip(7, ip, sizeof ip, ETH_TYPE_IP4);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 0x180);
	pass(300 * S);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 0x100);
	settings.ports = 0xff; /* the port has left the VLAN */
	snoop_ports_changed(&snoop, 0, now);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 0);
}

/* --- we are the querier --- */

static void become_querier(void)
{
	settings.querier = true;
	settings.src = net_addr_ip4(OWN);
	snoop_update(&snoop, VID, SNOOP_IP4, now);
	snoop_tick(&snoop, now);
	assert_int_equal(query.n, 1);
	assert_int_equal(query.ports, 0xffff);
	assert_int_equal(query.response_ms, 10000);
	assert_true(net_addr_is_any(&query.group));
}

static void test_own_queries(void **state)
{
	(void)state;
	become_querier();
	pass(11 * S);
	assert_true(told[VID][SNOOP_IP4].restricts);
	pass(31250000000ull - 11 * S); /* a quarter of the interval */
	assert_int_equal(query.n, 2);
	pass(125 * S - 1);
	assert_int_equal(query.n, 2);
	pass(1);
	assert_int_equal(query.n, 3);
	pass(1250 * S);
	assert_int_equal(query.n, 13);
	assert_true(told[VID][SNOOP_IP4].restricts);
	settings.querier = false;
	snoop_update(&snoop, VID, SNOOP_IP4, now);
	pass(1250 * S);
	assert_int_equal(query.n, 13);
	assert_false(told[VID][SNOOP_IP4].restricts);
}

static void test_election(void **state)
{
	(void)state;
	become_querier();
	ask(1, OWN + 1, 0); /* a higher address: we stay the querier, but there is a router */
	assert_true(snoop_vlan_of(&snoop, VID, SNOOP_IP4)->querying);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 2);
	ask(2, OWN - 1, 0);
	assert_false(snoop_vlan_of(&snoop, VID, SNOOP_IP4)->querying);
	query.n = 0;
	pass(255 * S - 1);
	assert_int_equal(query.n, 0);
	assert_true(told[VID][SNOOP_IP4].restricts);
	pass(2); /* it has gone */
	assert_int_equal(query.n, 1);
	assert_true(snoop_vlan_of(&snoop, VID, SNOOP_IP4)->querying);
	assert_true(told[VID][SNOOP_IP4].restricts);
}

static void test_querier_without_an_address(void **state)
{
	(void)state;
	settings.querier = true;
	snoop_update(&snoop, VID, SNOOP_IP4, now);
	snoop_update(&snoop, VID, SNOOP_IP6, now);
	pass(S);
	assert_int_equal(query.n, 1); /* MLD needs an address */
	assert_int_equal(query.family, SNOOP_IP4);
	ask(2, IP4(223, 255, 255, 254), 0);
	assert_false(snoop_vlan_of(&snoop, VID, SNOOP_IP4)->querying);
}

static void test_last_member(void **state)
{
	(void)state;
	become_querier();
	pass(40 * S);
	report(3, G1);
	report(4, G1);
	query.n = 0;
	leave(3, G1);
	leave(9, G1); /* was no member */
	pass(0);
	assert_int_equal(query.n, 1);
	assert_int_equal(query.ports, 8);
	assert_int_equal(query.response_ms, 1000);
	assert_int_equal(net_addr_to_ip4(&query.group), G1);
	pass(S);
	assert_int_equal(query.n, 2);
	leave(3, G1); /* it is being asked (RFC 3376 6.4.2) */
	pass(S - 1);
	assert_int_equal(query.n, 2);
	assert_int_equal(ports_of(G1), 0x18);
	pass(1);
	assert_int_equal(ports_of(G1), 0x10);
	leave(4, G1);
	pass(S / 2);
	report(4, G1); /* another listener behind the port */
	query.n = 0;
	pass(10 * S);
	assert_int_equal(query.n, 0);
	assert_int_equal(ports_of(G1), 0x10);
}

static void test_links(void **state)
{
	(void)state;
	become_querier();
	report(3, G1);
	report(4, G1);
	settings.ports = 0xfff7;
	snoop_ports_changed(&snoop, 0, now);
	assert_int_equal(ports_of(G1), 0x10);
	pass(60 * S);
	query.n = 0;
	settings.ports = 0xffff;
	snoop_ports_changed(&snoop, 8, now);
	pass(0);
	assert_int_equal(query.n, 1);
	assert_int_equal(ports_of(G1), 0x10);
}

static void test_off(void **state)
{
	(void)state;
	settings.on = false;
	report(3, G1);
	assert_int_equal(snoop.vlans | snoop.groups, 0);
	settings.on = true;
	start();
	report(3, G1);
	settings.on = false;
	snoop_ports_changed(&snoop, 0, now);
	assert_int_equal(snoop.vlans | snoop.groups | ports_of(G1), 0);
	assert_false(told[VID][SNOOP_IP4].restricts);
	assert_int_equal(told[VID][SNOOP_IP4].routers, 0);
}

/* --- bounds --- */

static void test_too_many_groups(void **state)
{
	(void)state;
	start();
	unsigned i;
	for (i = 0; i < SNOOP_GROUPS_MAX; i++)
		report(1, G1 + i);
	const unsigned full_buckets = counted;
	assert_true(full_buckets < 8);
	for (; snoop.groups < SNOOP_GROUPS_MAX; i++)
		report(1, G1 + i);
	assert_true(counted < 16);
	counted = 0;
	report(2, IP4(239, 200, 0, 1));
	assert_int_equal(counted, 1);
	assert_false(told[VID][SNOOP_IP4].restricts);
	report(2, G1); /* one that is there */
	assert_int_equal(counted, 1);
	ask(0, ROUTER, 0);
	pass(260 * S);
	assert_int_equal(snoop.groups, 0);
	ask(0, ROUTER, 0);
	pass(11 * S);
	assert_true(told[VID][SNOOP_IP4].restricts);
}

static void test_no_room_in_the_table(void **state)
{
	(void)state;
	start();
	report(1, G1);
	no_room = true;
	report(2, G1); /* the ports of an entry can change where no new one fits: not here */
	assert_int_equal(counted, 1);
	assert_int_equal(snoop.groups, 0);
	assert_false(told[VID][SNOOP_IP4].restricts);
}

static void test_too_many_vlans(void **state)
{
	(void)state;
	for (unsigned vid = 1; vid <= SNOOP_VLANS_MAX + 5; vid++)
		snoop_update(&snoop, vid, SNOOP_IP4, now);
	assert_int_equal(snoop.vlans, SNOOP_VLANS_MAX);
	assert_null(snoop_vlan_of(&snoop, SNOOP_VLANS_MAX + 1, SNOOP_IP4));
	pass(S);
}

/* --- IPv6: the same by MLD --- */

static void mld(unsigned port, const uint8_t *m, unsigned len, struct net_addr src, struct net_addr dst)
{
	uint8_t ip[IP6_HLEN + 8 + 64];
	struct ip6_build b = {.src = src, .dst = dst, .next = IP6_HOP_BY_HOP, .hop_limit = 1,
	                      .payload_len = (uint16_t)(8 + len)};
	ip6_header_build(ip, &b);
	ip6_router_alert_build(ip + IP6_HLEN, IP6_ICMP6, IP6_ALERT_MLD);
	memcpy(ip + IP6_HLEN + 8, m, len);
	icmp6_checksum_set(ip, IP6_HLEN + 8);
	input_ip(port, ip, IP6_HLEN + 8 + len, ETH_TYPE_IP6);
}

static void test_mld(void **state)
{
	(void)state;
	const struct net_addr group = IP6(0xff3e0000, 0, 0, 0x1234), router = IP6(0xfe800000, 0, 0, 9);
	const struct net_addr solicited = IP6(0xff020000, 0, 1, 0xff001234), any = NET_ADDR_ANY;
	uint8_t m[28] = {ICMP6_MLD_QUERY, [4] = 0x27, 0x10, [24] = 2, 125};
	uint32_t ports;
	mld(0, m, 28, router, IP6_ALL_NODES);
	pass(11 * S);
	assert_true(told[VID][SNOOP_IP6].restricts);
	assert_int_equal(told[VID][SNOOP_IP6].routers, 1);
	assert_int_equal(snoop_vlan_of(&snoop, VID, SNOOP_IP6)->querier_version, 2);
	uint8_t v1[24] = {ICMP6_MLD_REPORT};
	net_addr_store(v1 + 8, &group);
	mld(3, v1, 24, any, group);
	uint8_t v2[28] = {ICMP6_MLD2_REPORT, [7] = 1, 4};
	net_addr_store(v2 + 12, &group);
	mld(4, v2, 28, IP6(0xfe800000, 0, 0, 4), IP6_ALL_MLD2_ROUTERS);
	assert_true(snoop_table_find(&table, snoop_hash(&table, VID, &group), &ports));
	assert_int_equal(ports, 0x18);
	net_addr_store(v2 + 12, &solicited);
	mld(4, v2, 28, IP6(0xfe800000, 0, 0, 4), IP6_ALL_MLD2_ROUTERS);
	assert_int_equal(snoop.groups, 1);
	v1[0] = ICMP6_MLD_DONE;
	mld(3, v1, 24, IP6(0xfe800000, 0, 0, 3), IP6_ALL_ROUTERS);
	m[4] = 3, m[5] = 0xe8; /* a query of the group: 1 s */
	net_addr_store(m + 8, &group);
	mld(0, m, 28, router, group);
	pass(S);
	mld(4, (v1[0] = ICMP6_MLD_REPORT, v1), 24, any, group);
	pass(S);
	assert_true(snoop_table_find(&table, snoop_hash(&table, VID, &group), &ports));
	assert_int_equal(ports, 0x10);
}

int main(void)
{
	seed_random("snoop");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_reports_and_their_age, reset),
		cmocka_unit_test_setup(test_versions, reset),
		cmocka_unit_test_setup(test_link_groups_are_not_tracked, reset),
		cmocka_unit_test_setup(test_fast_leave, reset),
		cmocka_unit_test_setup(test_query_of_a_group, reset),
		cmocka_unit_test_setup(test_restricts_while_there_is_a_querier, reset),
		cmocka_unit_test_setup(test_query_of_a_switch, reset),
		cmocka_unit_test_setup(test_the_querier_s_interval, reset),
		cmocka_unit_test_setup(test_routers, reset),
		cmocka_unit_test_setup(test_own_queries, reset),
		cmocka_unit_test_setup(test_election, reset),
		cmocka_unit_test_setup(test_querier_without_an_address, reset),
		cmocka_unit_test_setup(test_last_member, reset),
		cmocka_unit_test_setup(test_links, reset),
		cmocka_unit_test_setup(test_off, reset),
		cmocka_unit_test_setup(test_too_many_groups, reset),
		cmocka_unit_test_setup(test_no_room_in_the_table, reset),
		cmocka_unit_test_setup(test_too_many_vlans, reset),
		cmocka_unit_test_setup(test_mld, reset),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
