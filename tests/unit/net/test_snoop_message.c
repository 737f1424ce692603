/* net/snoop/message: messages of all versions, cut and changed everywhere; queries of our own, read
 * back. */
#include "tests/unit/rig/host.h"

#include "lib/csum.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/snoop/message.h"

static struct snoop_packet p;

/* An IPv4 packet with that payload; its checksums are set. Options: a Router Alert, as hosts send it. */
static unsigned ip4(uint8_t *ip, uint8_t proto, uint32_t dst, const uint8_t *m, unsigned len)
{
	const unsigned head = IP4_HLEN + 4;
	memset(ip, 0, head);
	ip[0] = 0x46;
	be16_store(ip + 2, (uint16_t)(head + len));
	ip[8] = 1;
	ip[9] = proto;
	be32_store(ip + 12, IP4(192, 0, 2, 1));
	be32_store(ip + 16, dst);
	ip[20] = 0x94;
	ip[21] = 4;
	raw16_store(ip + 10, csum_fold(csum_partial(ip, head, 0)));
	memcpy(ip + head, m, len);
	raw16_store(ip + head + 2, 0);
	raw16_store(ip + head + 2, csum_fold(csum_partial(ip + head, len, 0)));
	return head + len;
}

static unsigned ip6(uint8_t *ip, struct net_addr src, struct net_addr dst, uint8_t hops, bool alert,
                    const uint8_t *m, unsigned len)
{
	const unsigned ext = alert ? IP6_ROUTER_ALERT_HLEN : 0;
	struct ip6_build b = {.src = src, .dst = dst, .hop_limit = hops, .payload_len = (uint16_t)(ext + len),
	                      .next = alert ? IP6_HOP_BY_HOP : IP6_ICMP6};
	ip6_header_build(ip, &b);
	if (alert)
		ip6_router_alert_build(ip + IP6_HLEN, IP6_ICMP6, IP6_ALERT_MLD);
	memcpy(ip + IP6_HLEN + ext, m, len);
	icmp6_checksum_set(ip, IP6_HLEN + ext);
	return IP6_HLEN + ext + len;
}

static enum counter read4(uint8_t proto, uint32_t dst, const uint8_t *m, unsigned len)
{
	static uint8_t ip[256];
	const unsigned n = ip4(ip, proto, dst, m, len);
	return snoop_read(ip, n, ETH_TYPE_IP4, &p);
}

/* Version 3: records of several types, one of them unknown, with sources and auxiliary data. */
static const uint8_t report3[] = {
	0x22, 0, 0, 0, 0, 0, 0, 4,
	4, 0, 0, 0, 239, 1, 1, 1,
	1, 2, 0, 2, 239, 1, 1, 2, 10, 0, 0, 1, 10, 0, 0, 2, 9, 9, 9, 9, 9, 9, 9, 9,
	7, 0, 0, 1, 239, 1, 1, 4, 10, 0, 0, 1,
	3, 0, 0, 0, 239, 1, 1, 3,
};

static void test_records(void **state)
{
	(void)state;
	static const struct {
		uint32_t group;
		enum snoop_change change;
	} want[] = {{IP4(239, 1, 1, 1), SNOOP_JOIN}, {IP4(239, 1, 1, 2), SNOOP_JOIN}, {IP4(239, 1, 1, 4), SNOOP_NEITHER},
	            {IP4(239, 1, 1, 3), SNOOP_LEAVE}};
	uint8_t longer[sizeof report3 + 12] = {0}; /* octets behind the records are not read */
	memcpy(longer, report3, sizeof report3);
	longer[sizeof report3] = 4;
	for (unsigned more = 0; more <= 12; more += 12) {
		struct snoop_record r;
		unsigned cursor = 0, n = 0;
		assert_int_equal(read4(2, IP4(224, 0, 0, 22), longer, sizeof report3 + more), CNT_NONE);
		assert_int_equal(p.type, SNOOP_REPORT);
		for (; snoop_record_next(&p, &cursor, &r); n++) {
			assert_in_range(n, 0, ARRAY_LEN(want) - 1);
			assert_int_equal(net_addr_to_ip4(&r.group), want[n].group);
			assert_int_equal(r.change, want[n].change);
		}
		assert_int_equal(n, ARRAY_LEN(want));
	}
}

/* Each cut leaves a record without its end; the checksum is right. */
static void test_cut_report(void **state)
{
	(void)state;
	for (unsigned len = 8; len < sizeof report3; len++)
		assert_int_equal(read4(2, IP4(224, 0, 0, 22), report3, len), CNT_drop_snoop_malformed);
}

static void test_every_bit_is_covered(void **state)
{
	(void)state;
	uint8_t ip[128];
	const unsigned n = ip4(ip, 2, IP4(224, 0, 0, 22), report3, sizeof report3);
	for (unsigned bit = 0; bit < 8 * n; bit++) {
		uint8_t *copy = malloc(n);
		memcpy(copy, ip, n);
		copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
		const enum counter why = snoop_read(copy, n, ETH_TYPE_IP4, &p);
		if (why == CNT_NONE) /* not IGMP to a group any more */
			assert_true(p.type == SNOOP_OTHER || p.type == SNOOP_DATA);
		else
			assert_int_equal(why, CNT_drop_snoop_malformed);
		free(copy);
	}
	for (unsigned len = 0; len < n; len++) {
		uint8_t *copy = malloc(len ? len : 1);
		memcpy(copy, ip, len);
		const enum counter why = snoop_read(copy, len, ETH_TYPE_IP4, &p);
		assert_int_equal(why, len < IP4_HLEN ? CNT_NONE : CNT_drop_snoop_malformed);
		free(copy);
	}
}

static void test_igmp_types(void **state)
{
	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		uint8_t m[8] = {(uint8_t)type, 0, 0, 0, 239, 1, 1, 1};
		enum snoop_type want = SNOOP_OTHER;
		if (type == 0x11)
			want = SNOOP_QUERY;
		if (type == 0x12 || type == 0x16 || type == 0x17)
			want = SNOOP_REPORT;
		if (type == 0x30)
			want = SNOOP_ROUTER;
		if (type == 0x22) /* of no records, or of 257 */
			m[4] = m[5] = m[6] = m[7] = 0, want = SNOOP_REPORT;
		assert_int_equal(read4(2, IP4(239, 1, 1, 1), m, sizeof m), CNT_NONE);
		assert_int_equal(p.type, want);
	}
	const uint8_t no_group[8] = {0x16, 0, 0, 0, 192, 0, 2, 1};
	assert_int_equal(read4(2, IP4(239, 1, 1, 1), no_group, 8), CNT_drop_snoop_malformed);
}

static void test_queries(void **state)
{
	(void)state;
	static const struct {
		uint8_t m[16];
		unsigned len, version;
		uint32_t ms, interval;
		bool suppress, sources;
	} of[] = {
		{{0x11, 0}, 8, 1, 10000, 0, false, false},
		{{0x11, 50}, 8, 2, 5000, 0, false, false},
		{{0x11, 200}, 8, 2, 20000, 0, false, false},
		{{0x11, 100, 0, 0, 0, 0, 0, 0, 2, 125}, 12, 3, 10000, 125, false, false},
		{{0x11, 0x8f, 0, 0, 0, 0, 0, 0, 0xb, 0x80}, 12, 3, 24800, 128, true, false},
		{{0x11, 0xff, 0, 0, 239, 1, 1, 1, 0, 0xff, 0, 1}, 16, 3, 3174400, 31744, false, true},
	};
	for (unsigned i = 0; i < ARRAY_LEN(of); i++) {
		struct snoop_query q;
		assert_int_equal(read4(2, IP4(224, 0, 0, 1), of[i].m, of[i].len), CNT_NONE);
		assert_int_equal(p.type, SNOOP_QUERY);
		snoop_query_read(&p, &q);
		assert_int_equal(q.version, of[i].version);
		assert_int_equal(q.response_ms, of[i].ms);
		assert_int_equal(q.interval_s, of[i].interval);
		assert_int_equal(q.suppress, of[i].suppress);
		assert_int_equal(q.sources, of[i].sources);
		assert_int_equal(net_addr_is_any(&q.group), of[i].m[4] == 0);
	}
	for (unsigned len = 9; len < 12; len++) /* RFC 3376 7.1 */
		assert_int_equal(read4(2, IP4(224, 0, 0, 1), of[3].m, len), CNT_drop_snoop_malformed);
	assert_int_equal(read4(2, IP4(224, 0, 0, 1), of[5].m, 12), CNT_drop_snoop_malformed); /* a source is missing */
}

static void test_data_and_link_groups(void **state)
{
	(void)state;
	const uint8_t m[16] = {0};
	assert_int_equal(read4(17, IP4(239, 1, 1, 1), m, sizeof m), CNT_NONE);
	assert_int_equal(p.type, SNOOP_DATA);
	assert_int_equal(net_addr_to_ip4(&p.group), IP4(239, 1, 1, 1));
	assert_int_equal(read4(17, IP4(224, 0, 0, 251), m, sizeof m), CNT_NONE);
	assert_int_equal(p.type, SNOOP_OTHER);
	assert_int_equal(read4(17, IP4(192, 0, 2, 1), m, sizeof m), CNT_NONE);
	assert_int_equal(p.type, SNOOP_OTHER);
	assert_int_equal(snoop_read(m, sizeof m, ETH_TYPE_ARP, &p), CNT_NONE);
	assert_int_equal(p.type, SNOOP_OTHER);
	/* a later fragment, with a broken header checksum: a switch does not judge data */
	uint8_t ip[64];
	const unsigned n = ip4(ip, 17, IP4(239, 1, 1, 1), m, sizeof m);
	ip[7] = 9;
	assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP4, &p), CNT_NONE);
	assert_int_equal(p.type, SNOOP_DATA);
}

static void test_hello(void **state)
{
	(void)state;
	uint8_t m[8] = {0x20, 0, 0, 0, 0, 1, 0, 0};
	assert_int_equal(read4(103, IP4(224, 0, 0, 13), m, sizeof m), CNT_NONE);
	assert_int_equal(p.type, SNOOP_ROUTER);
	m[0] = 0x23; /* join/prune */
	assert_int_equal(read4(103, IP4(224, 0, 0, 13), m, sizeof m), CNT_NONE);
	assert_int_equal(p.type, SNOOP_OTHER);
}

static void test_mld(void **state)
{
	(void)state;
	const struct net_addr node = IP6(0xfe800000, 0, 0, 1), global = IP6(0x20010db8, 0, 0, 1), any = NET_ADDR_ANY;
	const struct net_addr group = IP6(0xff3e0000, 0, 0, 0x1234);
	uint8_t ip[256], m[28] = {ICMP6_MLD_REPORT};
	struct snoop_record r;
	unsigned n = ip6(ip, node, group, 1, true, (net_addr_store(m + 8, &group), m), 24), cursor = 0;
	assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p), CNT_NONE);
	assert_int_equal(p.type, SNOOP_REPORT);
	assert_true(snoop_record_next(&p, &cursor, &r));
	assert_true(net_addr_equal(&r.group, &group) && r.change == SNOOP_JOIN);
	assert_false(snoop_record_next(&p, &cursor, &r));
	for (unsigned bit = 8 * 8; bit < 8 * n; bit++) { /* all that the checksum covers: not the options */
		if (bit >= 8 * IP6_HLEN && bit < 8 * (IP6_HLEN + IP6_ROUTER_ALERT_HLEN))
			continue;
		ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
		const enum counter why = snoop_read(ip, n, ETH_TYPE_IP6, &p);
		assert_true(why == CNT_drop_snoop_malformed || p.type == SNOOP_OTHER || p.type == SNOOP_DATA);
		ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	n = ip6(ip, any, group, 1, true, m, 24); /* RFC 3590 */
	assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p), CNT_NONE);
	for (unsigned wrong = 0; wrong < 4; wrong++) { /* not from the link; too short */
		n = ip6(ip, wrong == 0 ? global : node, group, wrong == 1 ? 2 : 1, true, m, wrong == 2 ? 23 : 24);
		if (wrong == 3)
			ip[IP6_HLEN + 5] = 1; /* an alert about another protocol (RFC 2711 2.1) */
		assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p), CNT_drop_snoop_malformed);
	}
	m[0] = ICMP6_MLD_QUERY;
	n = ip6(ip, any, IP6_ALL_NODES, 1, true, m, 24);
	assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p), CNT_drop_snoop_malformed);
	for (unsigned len = 23; len <= 28; len++) { /* RFC 3810 8.1 */
		net_addr_store(m + 8, &any);
		n = ip6(ip, node, IP6_ALL_NODES, 1, true, m, len);
		assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p),
		                 len == 24 || len == 28 ? CNT_NONE : CNT_drop_snoop_malformed);
	}
	static const struct {
		uint16_t code;
		uint32_t v1, v2; /* ms */
	} response[] = {{32767, 32767, 32767}, {0x8000, 0x8000, 32768}, {0x9001, 0x9001, 65552}, {0xffff, 0xffff, 8387584}};
	for (unsigned i = 0; i < ARRAY_LEN(response); i++) { /* RFC 3810 5.1.3; version 1 has no floating point */
		struct snoop_query q;
		be16_store(m + 4, response[i].code);
		for (unsigned len = 24; len <= 28; len += 4) {
			n = ip6(ip, node, IP6_ALL_NODES, 1, true, m, len);
			assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p), CNT_NONE);
			snoop_query_read(&p, &q);
			assert_int_equal(q.response_ms, len == 24 ? response[i].v1 : response[i].v2);
		}
	}
	m[0] = 135; /* a neighbour solicitation has no hop-by-hop options */
	n = ip6(ip, node, group, 255, false, m, 24);
	assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p), CNT_NONE);
	assert_int_equal(p.type, SNOOP_DATA);
	n = ip6(ip, node, ip6_solicited_node(&node), 255, false, m, 24);
	assert_int_equal(snoop_read(ip, n, ETH_TYPE_IP6, &p), CNT_NONE);
	assert_int_equal(p.type, SNOOP_OTHER);
}

/* What we send, we understand. */
static void test_own_queries(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool six = i & 1, general = i & 2;
		struct snoop_query_build b = {.family = six ? SNOOP_IP6 : SNOOP_IP4, .mac = {2, 0, 0, 0, 0, 1},
		                              .response_ms = 1000, .interval_s = 125, .robustness = 2};
		struct snoop_query q;
		uint8_t frame[SNOOP_QUERY_MAX];
		b.src = six ? (struct net_addr)IP6(0xfe800000, 0, 0, 1) : net_addr_ip4(IP4(192, 0, 2, 1));
		if (!general)
			b.group = six ? (struct net_addr)IP6(0xff3e0000, 0, 0, 0x1234) : net_addr_ip4(IP4(239, 129, 2, 3));
		const unsigned len = snoop_query_write(frame, &b);
		static const uint8_t macs[4][ETH_ALEN] = {
			{1, 0, 0x5e, 1, 2, 3}, {0x33, 0x33, 0, 0, 0x12, 0x34}, {1, 0, 0x5e, 0, 0, 1}, {0x33, 0x33, 0, 0, 0, 1}};
		assert_memory_equal(frame, macs[i], ETH_ALEN);
		assert_true(len <= sizeof frame);
		assert_int_equal(snoop_read(frame + ETH_HLEN, len - ETH_HLEN, be16_load(frame + 12), &p), CNT_NONE);
		assert_int_equal(p.type, SNOOP_QUERY);
		assert_true(net_addr_equal(&p.src, &b.src));
		snoop_query_read(&p, &q);
		assert_true(net_addr_equal(&q.group, &b.group));
		assert_int_equal(q.version, six ? 2 : 3);
		assert_int_equal(q.response_ms, 1000);
		assert_int_equal(q.interval_s, 125);
		assert_int_equal(q.robustness, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records), cmocka_unit_test(test_cut_report),
		cmocka_unit_test(test_every_bit_is_covered), cmocka_unit_test(test_igmp_types),
		cmocka_unit_test(test_queries), cmocka_unit_test(test_data_and_link_groups), cmocka_unit_test(test_hello),
		cmocka_unit_test(test_mld), cmocka_unit_test(test_own_queries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
