/* net/ip6: validation, classes of addresses, extension headers, fragments of our own packets. */
#include "tests/unit/rig/packets.h"

#include "net/icmp6.h"
#include "net/ip6.h"

#define SRC "2001:db8::1"
#define DST "2001:db8:1::7"

static uint8_t ip[70000];

/* The inline and the slow check, which must agree. */
static enum counter check(const uint8_t *p, unsigned avail)
{
	enum counter fast = ip6_check(p, avail);
	assert_int_equal(fast, ip6_check_slow(p, avail));
	return fast;
}

static enum counter check_forward(const uint8_t *p)
{
	enum counter fast = ip6_check_forward(p);
	assert_int_equal(fast, ip6_check_forward_slow(p));
	return fast;
}

/* --- header checks --- */

static void lengths_and_version(void **s)
{
	(void)s;
	unsigned n = make_ip6(ip, SRC, DST, 17, 30);
	assert_int_equal(check(ip, n), CNT_NONE);
	assert_int_equal(check(ip, n + 26), CNT_NONE); /* Ethernet padding */
	assert_int_equal(ip6_total_len(ip), n);
	for (unsigned avail = 0; avail < 40; avail++)
		assert_int_equal(check(ip, avail), CNT_drop_ip6_short);
	for (unsigned avail = 40; avail < n; avail++)
		assert_int_equal(check(ip, avail), CNT_drop_ip6_payload_len);
	for (unsigned v = 0; v < 16; v++) {
		ip[0] = (uint8_t)(v << 4);
		assert_int_equal(check(ip, n), v == 6 ? CNT_NONE : CNT_drop_ip6_version);
	}
	n = make_ip6(ip, SRC, DST, 6, 65535);
	assert_int_equal(check(ip, n), CNT_NONE);
	assert_int_equal(check(ip, n - 1), CNT_drop_ip6_payload_len);
	n = make_ip6(ip, SRC, DST, 59, 0);
	assert_int_equal(check(ip, n), CNT_NONE);
	n = make_ip6(ip, SRC, DST, 0, 0); /* a jumbogram, RFC 2675 2 */
	assert_int_equal(check(ip, n + 100), CNT_drop_ip6_payload_len);
}

static void addresses_at_the_door(void **s)
{
	(void)s;
	const enum counter ok = CNT_NONE, bad_src = CNT_drop_ip6_src_martian,
	                   bad_dst = CNT_drop_ip6_dst_martian, scope = CNT_drop_ip6_scope,
	                   group = CNT_drop_ip6_multicast;
	const struct {
		const char *addr;
		enum counter as_src, as_dst, src_forward, dst_forward;
	} rows[] = {
		{"2001:db8::9", ok, ok, ok, ok},
		{"fd00::1", ok, ok, ok, ok},
		{"fc00::1", ok, ok, ok, ok},
		{"fec0::1", ok, ok, ok, ok}, /* deprecated, unicast to us: RFC 3879 4 */
		{"fe00::1", ok, ok, ok, ok},
		{"fe7f::1", ok, ok, ok, ok},
		{"fe80::1", ok, ok, scope, scope},
		{"febf::1", ok, ok, scope, scope},
		{"::", ok, bad_dst, bad_src, ok},
		{"::1", bad_src, bad_dst, ok, ok},
		{"::2", ok, ok, ok, ok},
		{"::192.0.2.1", ok, ok, ok, ok}, /* deprecated, RFC 4291 2.5.5.1 */
		{"::ffff:192.0.2.1", bad_src, bad_dst, ok, ok},
		{"64:ff9b::192.0.2.1", ok, ok, ok, ok},
		{"::1:0:0:0", ok, ok, ok, ok},
		{"ff00::1", bad_src, bad_dst, ok, group},
		{"ff01::1", bad_src, bad_dst, ok, group},
		{"ff11::1", bad_src, bad_dst, ok, group},
		{"ff02::1", bad_src, ok, ok, group},
		{"ff05::2", bad_src, ok, ok, group},
		{"ff0e::1", bad_src, ok, ok, group},
		{"ff1e::1", bad_src, ok, ok, group},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned n = make_ip6(ip, rows[i].addr, DST, 17, 8);
		assert_int_equal(check(ip, n), rows[i].as_src);
		if (rows[i].as_src == ok)
			assert_int_equal(check_forward(ip), rows[i].src_forward);
		n = make_ip6(ip, SRC, rows[i].addr, 17, 8);
		assert_int_equal(check(ip, n), rows[i].as_dst);
		if (rows[i].as_dst == ok)
			assert_int_equal(check_forward(ip), rows[i].dst_forward);
	}
	/* The group is refused before the source's scope is checked: it is not routed in any
	 * case. */
	make_ip6(ip, "fe80::1", "ff02::1", 17, 8);
	assert_int_equal(check_forward(ip), CNT_drop_ip6_multicast);
}

/* The inline checks against the slow ones, for every beginning and the special ends. */
static void fast_checks_agree(void **s)
{
	(void)s;
	const char *ends[] = {"::", "::1", "::ffff:1.2.3.4", "::1:0:0:1", "0:0:0:1::"};
	for (unsigned e = 0; e < ARRAY_LEN(ends); e++)
		for (unsigned field = 0; field < 2; field++)
			for (unsigned head = 0; head < 65536; head++) {
				unsigned n = make_ip6(ip, SRC, DST, 17, 8);
				struct net_addr a = addr6(ends[e]);
				memcpy(ip + 8 + 16 * field, &a, 16);
				put16(ip + 8 + 16 * field, head);
				if (check(ip, n) == CNT_NONE)
					check_forward(ip);
			}
}

/* --- classes of addresses --- */

static void classes(void **s)
{
	(void)s;
	const struct {
		const char *addr;
		bool loopback, multicast, link_local, unicast;
	} rows[] = {
		{"::", 0, 0, 0, 0}, {"::1", 1, 0, 0, 0},
		{"::2", 0, 0, 0, 1}, {"::ffff:1.2.3.4", 0, 0, 0, 0},
		{"::fffe:1.2.3.4", 0, 0, 0, 1}, {"1::1", 0, 0, 0, 1},
		{"fe80::1", 0, 0, 1, 1},     {"fe90::", 0, 0, 1, 1},
		{"febf:ffff::", 0, 0, 1, 1}, {"fec0::1", 0, 0, 0, 1},
		{"fe7f::1", 0, 0, 0, 1},     {"fc00::", 0, 0, 0, 1},
		{"fdff::1", 0, 0, 0, 1},     {"fbff::1", 0, 0, 0, 1},
		{"ff02::1", 0, 1, 0, 0},     {"ffff::", 0, 1, 0, 0},
		{"2001:db8::1", 0, 0, 0, 1},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		struct net_addr a = addr6(rows[i].addr);
		assert_int_equal(ip6_is_loopback(&a), rows[i].loopback);
		assert_int_equal(ip6_is_multicast(&a), rows[i].multicast);
		assert_int_equal(ip6_is_link_local(&a), rows[i].link_local);
		assert_int_equal(ip6_is_unicast(&a), rows[i].unicast);
	}
	for (unsigned scope = 0; scope < 16; scope++)
		for (unsigned flags = 0; flags < 16; flags++) {
			struct net_addr a = IP6(0xff000000 | flags << 20 | scope << 16, 0, 0, 1);
			assert_int_equal(ip6_multicast_scope(&a), scope);
		}
}

static void assert_addr(struct net_addr a, const char *text)
{
	struct net_addr b = addr6(text);
	assert_memory_equal(&a, &b, 16);
}

static void derived_addresses(void **s)
{
	(void)s;
	struct net_addr a = addr6("4037::01:800:200e:8c6c"); /* the example of RFC 4291 2.7.1 */
	struct net_addr group = ip6_solicited_node(&a);
	assert_addr(group, "ff02::1:ff0e:8c6c");
	assert_true(ip6_is_solicited_node(&group));
	const char *none[] = {"ff02::1:fe0e:8c6c", "ff02::1", "ff05::1:ff0e:8c6c",
	                      "ff02:1::1:ff0e:8c6c", "2001:db8::1:ff0e:8c6c"};
	for (unsigned i = 0; i < ARRAY_LEN(none); i++) {
		a = addr6(none[i]);
		assert_false(ip6_is_solicited_node(&a));
	}
	uint8_t mac[6];
	ip6_group_mac(mac, &group);
	assert_memory_equal(mac, "\x33\x33\xff\x0e\x8c\x6c", 6);
	ip6_group_mac(mac, &IP6_ALL_NODES);
	assert_memory_equal(mac, "\x33\x33\0\0\0\1", 6);
	assert_addr(IP6_ALL_NODES, "ff02::1");
	assert_addr(IP6_ALL_ROUTERS, "ff02::2");
	assert_addr(IP6_ALL_MLD2_ROUTERS, "ff02::16");
	assert_addr(IP6_LOOPBACK, "::1");

	/* the example of RFC 2464 4 and RFC 4291 appendix A */
	const uint8_t station[6] = {0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde};
	assert_addr(ip6_link_local_of(station), "fe80::3656:78ff:fe9a:bcde");
	a = addr6("2001:db8:1:2::");
	assert_addr(ip6_eui64(&a, station), "2001:db8:1:2:3656:78ff:fe9a:bcde");
	const uint8_t local[6] = {2, 0, 0, 0, 0, 1};
	assert_addr(ip6_link_local_of(local), "fe80::ff:fe00:1");
}

/* Bit by bit. */
static bool slow_in_prefix(const struct net_addr *a, const struct net_addr *b, unsigned plen)
{
	const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
	for (unsigned i = 0; i < plen; i++)
		if ((x[i / 8] ^ y[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

static void prefixes(void **s)
{
	(void)s;
	seed_random("prefixes");
	for (unsigned round = 0; round < 200; round++)
		for (unsigned plen = 0; plen <= 128; plen++) {
			struct net_addr a, b;
			random_fill(&a, sizeof a);
			b = a;
			if (random_below(4))
				((uint8_t *)&b)[random_below(16)] ^= (uint8_t)(1 << random_below(8));
			assert_int_equal(ip6_in_prefix(&a, &b, plen), slow_in_prefix(&a, &b, plen));
			struct net_addr p = ip6_prefix_of(&a, plen), zero = NET_ADDR_ANY;
			assert_true(slow_in_prefix(&a, &p, plen));
			for (unsigned i = plen; i < 128; i++)
				assert_int_equal(((const uint8_t *)&p)[i / 8] & 0x80 >> i % 8, 0);
			assert_int_equal(ip6_is_subnet_router(&p, &a, plen), plen < 127);
			assert_true(ip6_in_prefix(&p, &zero, 0));
		}
	struct net_addr a = addr6("2001:db8:1:2::"), b = addr6("2001:db8:1:2::5"), c = addr6(SRC);
	assert_true(ip6_is_subnet_router(&a, &b, 64));
	assert_false(ip6_is_subnet_router(&b, &b, 64));
	assert_false(ip6_is_subnet_router(&c, &b, 64));
}

static void hop_limit(void **s)
{
	(void)s;
	unsigned n = make_ip6(ip, SRC, DST, 17, 8);
	for (unsigned v = 255; v > 1; v--) {
		ip[7] = (uint8_t)v;
		ip6_hop_limit_decrement(ip);
		assert_int_equal(ip6_hop_limit(ip), v - 1);
	}
	assert_int_equal(check(ip, n), CNT_NONE);
}

static void header_build(void **s)
{
	(void)s;
	uint8_t want[40];
	make_ip6(want, SRC, DST, 58, 1234);
	put32(want, 0x6b900000);
	ip6_header_build(ip, &(struct ip6_build){.src = addr6(SRC),
	                                         .dst = addr6(DST),
	                                         .payload_len = 1234,
	                                         .traffic_class = 0xb9,
	                                         .next = 58,
	                                         .hop_limit = 33});
	assert_memory_equal(ip, want, 40);
	assert_int_equal(ip6_traffic_class(ip), 0xb9);
	struct net_addr a = ip6_src(ip), b = ip6_dst(ip);
	assert_addr(a, SRC);
	assert_addr(b, DST);
	assert_int_equal(ip6_next(ip), 58);
}

/* --- extension headers --- */

/* A packet built header by header; `name` is the octet with the type of the next one. */
static struct {
	unsigned n, name;
} chain;

static void chain_begin(const char *dst)
{
	make_ip6(ip, SRC, dst, 59, 0);
	chain.n = 40;
	chain.name = 6;
}

/* Adds an extension header with this content after its first two octets, and sets its length. */
static void chain_add(uint8_t proto, const void *content, unsigned n)
{
	ip[chain.name] = proto;
	chain.name = chain.n;
	ip[chain.n] = 59;
	ip[chain.n + 1] = (uint8_t)((n + 2) / 8 - 1);
	memcpy(ip + chain.n + 2, content, n);
	assert_int_equal((n + 2) % 8, 0);
	chain.n += n + 2;
	put16(ip + 4, chain.n - 40);
}

static void chain_fragment(unsigned offset, bool more, uint32_t id)
{
	uint8_t content[6];
	put16(content, offset | more);
	put32(content + 2, id);
	chain_add(44, content, 6);
}

/* Adds n bytes of upper-layer data behind them. */
static void chain_end(uint8_t proto, unsigned n)
{
	ip[chain.name] = proto;
	memset(ip + chain.n, 0x50, n);
	chain.n += n;
	put16(ip + 4, chain.n - 40);
}

static struct ip6_upper up;

/* ip6_upper over a copy of exactly its length, so that ASan detects one byte too many. */
static enum counter upper(void)
{
	uint8_t *copy = malloc(chain.n);
	memcpy(copy, ip, chain.n);
	assert_int_equal(check(copy, chain.n), CNT_NONE);
	enum counter fate = ip6_upper(copy, &up);
	free(copy);
	assert_true(fate != CNT_NONE || up.at <= chain.n);
	assert_true(fate != CNT_NONE || !up.problem);
	return fate;
}

static void assert_problem(unsigned code, unsigned pointer)
{
	assert_true(up.problem);
	assert_int_equal(up.problem_code, code);
	assert_int_equal(up.problem_pointer, pointer);
}

#define PAD4 "\1\4\0\0\0\0" /* PadN that fills a header of 8 */

static void no_extensions(void **s)
{
	(void)s;
	for (unsigned proto = 0; proto < 256; proto++) {
		bool walked = proto == 0 || proto == 43 || proto == 44 || proto == 60;
		chain_begin(DST);
		chain_end((uint8_t)proto, 24);
		if (walked)
			continue;
		assert_int_equal(upper(), proto == 59 ? CNT_drop_ip6_proto : CNT_NONE);
		assert_int_equal(up.proto, proto);
		assert_int_equal(up.at, 40);
		assert_int_equal(up.next_at, 6);
		assert_false(up.fragment || up.problem || up.router_alert);
	}
	/* RFC 7112 is about fragments: a truncated upper-layer header is left to its own layer. */
	const uint8_t upper_layers[] = {6, 17, 58};
	for (unsigned i = 0; i < ARRAY_LEN(upper_layers); i++) {
		chain_begin(DST);
		chain_end(upper_layers[i], 2);
		assert_int_equal(upper(), CNT_NONE);
	}
}

static void chains_are_followed(void **s)
{
	(void)s;
	chain_begin(DST);
	chain_add(0, PAD4, 6);
	chain_add(60, "\1\4\0\0\0\0", 6);
	chain_add(43, "\4\0\0\0\0\0\1\2\3\4\5\6\7\x8", 14); /* no segments left */
	chain_add(60, PAD4, 6);
	chain_end(17, 8);
	assert_int_equal(upper(), CNT_NONE);
	assert_int_equal(up.proto, 17);
	assert_int_equal(up.at, 40 + 8 + 8 + 16 + 8);
	assert_int_equal(up.next_at, 72);
	assert_int_equal(ip[up.next_at], 17);
	/* RFC 8200 4.1: any order, any number of times */
	chain_begin(DST);
	for (unsigned i = 0; i < IP6_EXT_MAX; i++)
		chain_add(i % 2 ? 43 : 60, i % 2 ? "\0\0\0\0\0\0" : PAD4, 6);
	chain_end(6, 20);
	assert_int_equal(upper(), CNT_NONE);
	assert_int_equal(up.proto, 6);
}

static void chains_are_bounded(void **s)
{
	(void)s;
	chain_begin(DST);
	for (unsigned i = 0; i <= IP6_EXT_MAX; i++)
		chain_add(60, PAD4, 6);
	chain_end(6, 20);
	assert_int_equal(upper(), CNT_drop_ip6_ext_limit);
	assert_false(up.problem);
	/* One unknown, skippable option fills them. */
	uint8_t big[IP6_EXT_BYTES_MAX + 8] = {0x1e, 254};
	for (unsigned n = IP6_EXT_BYTES_MAX - 8; n <= IP6_EXT_BYTES_MAX + 8; n += 8) {
		chain_begin(DST);
		big[1] = 254;
		big[256] = 0x1e;
		big[257] = (uint8_t)(n - 2 - 256 - 2);
		chain_add(60, big, n - 2);
		chain_end(17, 8);
		assert_int_equal(upper(), n <= IP6_EXT_BYTES_MAX ? CNT_NONE : CNT_drop_ip6_ext_limit);
		assert_false(up.problem);
	}
}

static void hop_by_hop_only_first(void **s)
{
	(void)s;
	chain_begin(DST);
	chain_add(60, PAD4, 6);
	chain_add(0, PAD4, 6);
	chain_end(17, 8);
	assert_int_equal(upper(), CNT_drop_ip6_proto);
	assert_problem(1, 40);
	chain_begin(DST);
	chain_add(0, PAD4, 6);
	chain_add(0, PAD4, 6);
	assert_int_equal(upper(), CNT_drop_ip6_proto);
	assert_problem(1, 40);
	chain_begin(DST);
	chain_fragment(0, true, 7);
	chain_add(0, PAD4, 6);
	chain_end(17, 8);
	assert_int_equal(upper(), CNT_drop_ip6_proto);
	assert_problem(1, 40);
}

static void no_next_header(void **s)
{
	(void)s;
	chain_begin(DST);
	chain_add(60, PAD4, 6);
	chain_end(59, 100); /* RFC 8200 4.7: what follows is ignored */
	assert_int_equal(upper(), CNT_drop_ip6_proto);
	assert_false(up.problem);
}

/* RFC 8200 4.2: the action that the two high bits of an unknown option request. */
static void unknown_options(void **s)
{
	(void)s;
	for (unsigned header = 0; header < 2; header++)
		for (unsigned group = 0; group < 2; group++)
			for (unsigned type = 2; type < 256; type++) {
				const uint8_t content[] = {1, 0, (uint8_t)type, 2, 0, 0};
				chain_begin(group ? "ff02::1:ff00:7" : DST);
				chain_add(header ? 60 : 0, content, 6);
				chain_end(17, 8);
				enum counter fate = upper();
				assert_int_equal(fate, type < 64 ? CNT_NONE : CNT_drop_ip6_option);
				bool told = type >= 192 ? !group : type >= 128;
				assert_int_equal(up.problem, told);
				if (told)
					assert_problem(2, 44);
				assert_int_equal(up.router_alert, type == 5 && header == 0);
			}
}

static void options_counted(void **s)
{
	(void)s;
	uint8_t content[62];
	for (unsigned n = 0; n <= 10; n++) {
		memset(content, 0, sizeof content);
		for (unsigned i = 0; i < n; i++) /* 5 bytes each: option of 4, a Pad1 */
			memcpy(content + 5 * i, "\x1e\2ab\0", 5);
		for (unsigned i = 5 * n; i < 62; i += 7) { /* and the rest in small pieces */
			unsigned pad = 62 - i < 7 ? 62 - i : 7;
			if (n < 9 && i + pad < 62)
				memcpy(content + i, "\x1e\5abcde", 7);
		}
		unsigned count = 0;
		for (unsigned i = 0; i < 62; i += content[i] ? 2u + content[i + 1] : 1)
			count += content[i] != 0;
		chain_begin(DST);
		chain_add(60, content, 62);
		chain_end(17, 8);
		assert_int_equal(upper(), count <= IP6_OPTIONS_MAX ? CNT_NONE : CNT_drop_ip6_ext_limit);
		assert_false(up.problem);
	}
}

/* RFC 8504 5.3: at most 7 consecutive bytes of padding, in whatever form. */
static void padding_bounded(void **s)
{
	(void)s;
	const struct {
		uint8_t content[14];
		bool ok;
	} rows[] = {
		{{1, 5, 0, 0, 0, 0, 0, 0x1e, 5, 1, 2, 3, 4, 5}, true},
		{{0, 0, 0, 0, 0, 0, 0, 0x1e, 5, 1, 2, 3, 4, 5}, true},
		{{0, 1, 4, 0, 0, 0, 0, 0x1e, 5, 1, 2, 3, 4, 5}, true},
		{{0x1e, 5, 1, 2, 3, 4, 5, 1, 3, 0, 0, 0, 1, 0}, true},
		{{1, 2, 0, 0, 0x1e, 1, 1, 1, 5, 0, 0, 0, 0, 0}, true}, /* two paddings, not consecutive */
		{{1, 6, 0, 0, 0, 0, 0, 0, 0x1e, 4, 1, 2, 3, 4}, false},
		{{0, 0, 0, 0, 0, 0, 0, 0, 0x1e, 4, 1, 2, 3, 4}, false},
		{{1, 4, 0, 0, 0, 0, 1, 0, 0x1e, 4, 1, 2, 3, 4}, false},
		{{1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, false},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		chain_begin(DST);
		chain_add(60, rows[i].content, 14);
		chain_end(17, 8);
		assert_int_equal(upper(), rows[i].ok ? CNT_NONE : CNT_drop_ip6_ext_limit);
		assert_false(up.problem);
	}
}

static void options_malformed(void **s)
{
	(void)s;
	const struct {
		uint8_t content[6];
		unsigned octet;
	} rows[] = {
		{{1, 5, 0, 0, 0, 0}, 43},    /* one byte beyond */
		{{1, 255, 0, 0, 0, 0}, 43},
		{{0x1e, 5, 0, 0, 0, 0}, 43},
		{{1, 3, 0, 0, 0, 1}, 47},    /* no length octet */
		{{1, 3, 0, 0, 0, 0xc2}, 47},
		{{1, 2, 0, 0, 1, 1}, 47},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		for (unsigned fragment = 0; fragment < 2; fragment++) {
			chain_begin(DST);
			if (fragment)
				chain_fragment(0, true, 1);
			chain_add(60, rows[i].content, 6);
			chain_end(17, 8);
			assert_int_equal(upper(), CNT_drop_ip6_ext_malformed);
			assert_problem(0, rows[i].octet + 8 * fragment);
		}
}

static void router_alert(void **s)
{
	(void)s;
	chain_begin("ff02::16");
	chain_add(0, "\5\2\0\0\1\0", 6);
	chain_end(58, 8);
	assert_int_equal(upper(), CNT_NONE);
	assert_true(up.router_alert);
	assert_int_equal(up.alert, IP6_ALERT_MLD);
	uint8_t built[8];
	ip6_router_alert_build(built, 58, 0);
	assert_memory_equal(built, ip + 40, 8);
	chain_begin(DST);
	chain_add(0, "\5\2\x12\x34\1\0", 6);
	chain_end(58, 8);
	assert_int_equal(upper(), CNT_NONE);
	assert_int_equal(up.alert, 0x1234);
	/* With another length, or as a destination option, it is an unknown option. */
	chain_begin(DST);
	chain_add(0, "\5\4\0\0\0\0", 6);
	chain_end(58, 8);
	assert_int_equal(upper(), CNT_NONE);
	assert_false(up.router_alert);
}

/* RFC 8200 4.4, RFC 5095 3. */
static void routing_headers(void **s)
{
	(void)s;
	for (unsigned type = 0; type < 256; type++)
		for (unsigned left = 0; left < 3; left++) {
			const uint8_t content[6] = {(uint8_t)type, (uint8_t)left};
			chain_begin(DST);
			chain_add(60, PAD4, 6);
			chain_add(43, content, 6);
			chain_end(17, 8);
			assert_int_equal(upper(), left ? CNT_drop_ip6_routing : CNT_NONE);
			if (left)
				assert_problem(0, 50);
		}
}

static void fragment_headers(void **s)
{
	(void)s;
	chain_begin(DST);
	chain_add(0, PAD4, 6);
	chain_fragment(0, true, 0xdeadbeef);
	chain_end(17, 16);
	assert_int_equal(upper(), CNT_NONE);
	assert_true(up.fragment && up.more && !up.atomic);
	assert_int_equal(up.id, 0xdeadbeef);
	assert_int_equal(up.offset, 0);
	assert_int_equal(up.fragment_at, 48);
	assert_int_equal(up.fragment_next_at, 40);
	assert_int_equal(up.at, 56);
	assert_int_equal(up.proto, 17);
	chain_begin(DST);
	chain_fragment(65528, false, 1);
	chain_end(0, 16); /* the header it names is not examined */
	assert_int_equal(upper(), CNT_NONE);
	assert_true(up.fragment && !up.more && !up.atomic);
	assert_int_equal(up.offset, 65528);
	assert_int_equal(up.at, 48);
	assert_int_equal(up.fragment_next_at, 6);
	chain_begin(DST);
	chain_fragment(6, false, 1); /* reserved bits are ignored, RFC 8200 4.5 */
	chain_end(17, 16);
	assert_int_equal(upper(), CNT_NONE);
	assert_true(up.fragment && !up.more && up.atomic);
	assert_int_equal(up.offset, 0);
	chain_begin(DST);
	chain_fragment(0, false, 1);
	chain_fragment(0, true, 2);
	chain_end(17, 16);
	assert_int_equal(upper(), CNT_drop_ip6_ext_limit);
}

/* RFC 7112 5: a first fragment has all headers, the upper layer's too, or is refused. */
static void first_fragment_without_chain(void **s)
{
	(void)s;
	const struct {
		uint8_t proto;
		unsigned least;
	} rows[] = {{6, 20}, {17, 8}, {58, 4}, {50, 8}, {132, 0}};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		for (unsigned n = 0; n < 30; n++)
			for (unsigned ext = 0; ext < 2; ext++) {
				chain_begin(DST);
				chain_fragment(0, true, 1);
				if (ext)
					chain_add(60, PAD4, 6);
				chain_end(rows[i].proto, n);
				enum counter fate = upper();
				if (n >= rows[i].least) {
					assert_int_equal(fate, CNT_NONE);
				} else {
					assert_int_equal(fate, CNT_drop_ip6_first_fragment);
					assert_problem(3, 0);
				}
			}
	/* TCP's options belong to its header */
	for (unsigned n = 20; n < 30; n++) {
		chain_begin(DST);
		chain_fragment(0, true, 1);
		chain_end(6, n);
		ip[48 + 12] = 0x70;
		assert_int_equal(upper(), n < 28 ? CNT_drop_ip6_first_fragment : CNT_NONE);
	}
	/* An extension header that continues in the next fragment. */
	chain_begin(DST);
	chain_fragment(0, true, 1);
	chain_add(60, PAD4, 6);
	ip[49] = 1;
	assert_int_equal(upper(), CNT_drop_ip6_first_fragment);
	assert_problem(3, 0);
}

/* A long chain truncated at every byte, and with every length in every header. */
static void cut_off_anywhere(void **s)
{
	(void)s;
	for (unsigned n = 0; n < 130; n++)
		for (unsigned len = 0; len < 256; len++) {
			chain_begin(DST);
			chain_add(0, PAD4, 6);
			chain_add(43, "\4\0\0\0\0\0\1\2\3\4\5\6\7\x8", 14);
			chain_add(60, "\x1e\4\1\2\3\4", 6);
			chain_end(17, 64);
			ip[41 + (n % 3 == 0 ? 0 : n % 3 == 1 ? 8 : 24)] = (uint8_t)len;
			if (chain.n > 40 + n)
				chain.n = 40 + n;
			put16(ip + 4, chain.n - 40);
			if (chain.n == 40)
				continue; /* looks like a jumbogram */
			enum counter fate = upper();
			if (fate == CNT_drop_ip6_ext_malformed)
				assert_true(up.problem && up.problem_pointer < chain.n);
		}
	/* The reported octet: the length, or the octet that names the header if that is missing. */
	chain_begin(DST);
	chain_add(60, PAD4, 6);
	ip[41] = 1;
	assert_int_equal(upper(), CNT_drop_ip6_ext_malformed);
	assert_problem(0, 41);
	chain_begin(DST);
	chain_add(60, PAD4, 6);
	chain_end(43, 7);
	assert_int_equal(upper(), CNT_drop_ip6_ext_malformed);
	assert_problem(0, 40);
	chain_begin(DST);
	chain_end(44, 7);
	assert_int_equal(upper(), CNT_drop_ip6_ext_malformed);
	assert_problem(0, 6);
}

/* --- packets of other hosts --- */

static unsigned skip_to(unsigned len, uint8_t *proto)
{
	uint8_t *copy = malloc(len ? len : 1);
	memcpy(copy, ip, len);
	unsigned at = ip6_skip_extensions(copy, len, proto);
	free(copy);
	assert_true(at <= len);
	return at;
}

static void skipping(void **s)
{
	(void)s;
	uint8_t proto;
	chain_begin(DST);
	chain_add(0, "\xc2\4\0\0\0\0", 6); /* options are not evaluated */
	chain_add(43, "\0\5\0\0\0\0", 6);
	chain_fragment(0, true, 1);
	chain_add(51, "\0\0\0\0\0\1\0\0\0\1\1\2\3\4\5\6\7\x8\x9\xa\xb\xc", 22); /* AH of 24 */
	ip[40 + 24 + 1] = 4;
	chain_end(58, 8);
	assert_int_equal(skip_to(chain.n, &proto), 88);
	assert_int_equal(proto, 58);
	for (unsigned n = 0; n < 88; n++)
		assert_int_equal(skip_to(n, &proto), 0);
	assert_int_equal(skip_to(88, &proto), 88);
	ip[59] = 8; /* a later fragment */
	assert_int_equal(skip_to(chain.n, &proto), 0);
	assert_int_equal(proto, 51);

	for (unsigned n = IP6_EXT_MAX; n <= IP6_EXT_MAX + 1; n++) {
		chain_begin(DST);
		for (unsigned i = 0; i < n; i++)
			chain_add(60, PAD4, 6);
		chain_end(6, 20);
		assert_int_equal(skip_to(chain.n, &proto), n == IP6_EXT_MAX ? 40 + 8 * n : 0);
		assert_int_equal(proto, n == IP6_EXT_MAX ? 6 : 60);
	}
	make_ip6(ip, SRC, DST, 50, 0);
	assert_int_equal(skip_to(40, &proto), 40);
	assert_int_equal(proto, 50);
}

/* --- fragments --- */

#define DATA_MAX 66000

/* Reassembles byte by byte: every byte must arrive exactly once. */
static struct {
	uint8_t data[DATA_MAX];
	uint8_t have[DATA_MAX];
	unsigned end, last, fragments;
} as;

static void assembly_add(const uint8_t *f, unsigned len, unsigned head)
{
	unsigned word = (unsigned)f[head + 2] << 8 | f[head + 3], at = word & 0xfff8;
	unsigned n = len - head - 8;
	assert_int_equal(be16_load(f + 4), len - 40);
	assert_int_equal(word & 6, 0);
	assert_int_equal(f[head + 1], 0);
	assert_int_equal(be32_load(f + head + 4), 0x12345678);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(as.have[at + i], 0);
		as.have[at + i] = 1;
		as.data[at + i] = f[head + 8 + i];
	}
	if (word & 1)
		assert_int_equal(n % 8, 0);
	else
		as.last = at + n;
	if (at + n > as.end)
		as.end = at + n;
	as.fragments++;
}

/* head: bytes that are not fragmented. */
static void cut_and_join(unsigned n, unsigned mtu, unsigned head, unsigned name)
{
	struct ip6_frag it;
	uint8_t *out = malloc(mtu); /* exactly the maximum length */
	unsigned len;
	memset(&as, 0, sizeof as);
	assert_int_equal(ip6_frag_init(&it, ip, mtu, 0x12345678), E_OK);
	while ((len = ip6_frag_next(&it, out, mtu)) != 0) {
		assert_int_equal(check(out, len), CNT_NONE);
		if (n <= mtu) {
			assert_int_equal(len, n);
			assert_memory_equal(out, ip, n);
			as.fragments++;
			continue;
		}
		assert_int_equal(out[name], 44);
		assert_int_equal(out[head], ip[name]);
		assembly_add(out, len, head);
		out[name] = ip[name];
		put16(out + 4, be16_load(ip + 4));
		assert_memory_equal(out, ip, head);
	}
	assert_int_equal(ip6_frag_next(&it, out, mtu), 0);
	free(out);
	if (n <= mtu) {
		assert_int_equal(as.fragments, 1);
		return;
	}
	assert_true(as.fragments > 1);
	assert_int_equal(as.end, n - head);
	assert_int_equal(as.last, as.end);
	assert_memory_equal(as.data, ip + head, n - head);
}

static void fragments_of_every_size(void **s)
{
	(void)s;
	seed_random("fragments_of_every_size");
	random_fill(ip, sizeof ip);
	for (unsigned n = 1; n < 200; n++)
		for (unsigned mtu = 56; mtu < 120; mtu++)
			cut_and_join(make_ip6(ip, SRC, DST, 17, n), mtu, 40, 6);
	for (unsigned mtu = 1280; mtu < 1600; mtu += 37)
		cut_and_join(make_ip6(ip, SRC, DST, 17, 4000), mtu, 40, 6);
	cut_and_join(make_ip6(ip, SRC, DST, 17, 65535), 1280, 40, 6);
	/* Hop-by-hop options precede each fragment, destination options are fragmented with the
	 * rest. */
	for (unsigned n = 8; n < 400; n += 7) {
		chain_begin("ff02::16");
		chain_add(0, "\5\2\0\0\1\0", 6);
		chain_add(60, PAD4, 6);
		chain_end(58, n);
		cut_and_join(chain.n, 72, 48, 40);
	}
}

static void fragments_refused(void **s)
{
	(void)s;
	struct ip6_frag it;
	uint8_t out[100];
	make_ip6(ip, SRC, DST, 17, 100);
	assert_int_equal(ip6_frag_init(&it, ip, 55, 1), E_INVAL);
	assert_int_equal(ip6_frag_next(&it, out, 100), 0);
	assert_int_equal(ip6_frag_init(&it, ip, 56, 1), E_OK);
	assert_int_equal(ip6_frag_next(&it, out, 55), 0); /* no space: nothing is lost */
	assert_int_equal(ip6_frag_next(&it, out, 56), 56);
	make_ip6(ip, SRC, DST, 17, 40); /* fits whole */
	assert_int_equal(ip6_frag_init(&it, ip, 100, 1), E_OK);
	assert_int_equal(ip6_frag_next(&it, out, 79), 0);
	assert_int_equal(ip6_frag_next(&it, out, 80), 80);
	const uint8_t never[] = {43, 44};
	for (unsigned i = 0; i < 2; i++) {
		make_ip6(ip, SRC, DST, never[i], 100);
		assert_int_equal(ip6_frag_init(&it, ip, 72, 1), E_INVAL);
	}
	make_ip6(ip, SRC, DST, 0, 100);
	ip[41] = 12; /* 104 bytes */
	assert_int_equal(ip6_frag_init(&it, ip, 72, 1), E_INVAL);
	ip[41] = 4; /* 40 bytes, and no space left */
	ip[40] = 17;
	assert_int_equal(ip6_frag_init(&it, ip, 95, 1), E_INVAL);
	assert_int_equal(ip6_frag_init(&it, ip, 96, 1), E_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_and_version),   cmocka_unit_test(addresses_at_the_door),
		cmocka_unit_test(fast_checks_agree),     cmocka_unit_test(classes),
		cmocka_unit_test(derived_addresses),     cmocka_unit_test(prefixes),
		cmocka_unit_test(hop_limit),             cmocka_unit_test(header_build),
		cmocka_unit_test(no_extensions),         cmocka_unit_test(chains_are_followed),
		cmocka_unit_test(chains_are_bounded),    cmocka_unit_test(hop_by_hop_only_first),
		cmocka_unit_test(no_next_header),        cmocka_unit_test(unknown_options),
		cmocka_unit_test(options_counted),       cmocka_unit_test(padding_bounded),
		cmocka_unit_test(options_malformed),     cmocka_unit_test(router_alert),
		cmocka_unit_test(routing_headers),       cmocka_unit_test(fragment_headers),
		cmocka_unit_test(first_fragment_without_chain), cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(skipping),              cmocka_unit_test(fragments_of_every_size),
		cmocka_unit_test(fragments_refused),
	};
	return cmocka_run_group_tests_name("ip6", tests, NULL, NULL);
}
