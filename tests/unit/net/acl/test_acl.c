/* net/acl, by all search methods that this host supports, against a search of the rules one after
 * another (acl_rig.h), and against malformed packets. */
#include "tests/unit/rig/acl_rig.h"

#include "net/ip4.h"
#include "net/ip6.h"

#define VECTOR 256
#define TCP 6
#define UDP 17

struct list {
	struct acl_rule *rule;
	uint32_t rules;
	const struct acl *acl[ACL_PATHS];
	void *memory[ACL_PATHS];
	size_t bytes;
};

/* The copy is searched; the original table is freed. */
static void copy_path(struct list *l, enum acl_path path)
{
	void *copy = NULL;
	assert_int_equal(posix_memalign(&copy, 64, l->bytes), 0);
	l->acl[path] = acl_copy(l->acl[path], l->bytes, copy);
	free(l->memory[path]);
	l->memory[path] = copy;
}

/* Into exactly as much memory as the table needs, and refused with a byte less. */
static void compile_path(struct list *l, bool six, enum acl_path path, void *scratch)
{
	void *less = NULL;
	size_t used;
	assert_int_equal(posix_memalign(&less, 64, l->bytes - 1), 0);
	assert_int_equal(acl_compile(l->rule, l->rules, six, path, less, l->bytes - 1, scratch,
	                             &l->acl[path], &used), E_NOMEM);
	free(less);
	assert_int_equal(posix_memalign(&l->memory[path], 64, l->bytes), 0);
	assert_int_equal(acl_compile(l->rule, l->rules, six, path, l->memory[path], l->bytes, scratch,
	                             &l->acl[path], &used), E_OK);
	assert_int_equal(used, l->bytes);
	copy_path(l, path);
	assert_int_equal(acl_rule_count(l->acl[path]), l->rules);
}

static void compile(struct list *l, bool six)
{
	const size_t room = 131072 + l->rules * 20032u;
	void *scratch = malloc(acl_scratch_bytes(l->rules)), *first = aligned_alloc(64, room);
	assert_non_null(first);
	assert_int_equal(acl_compile(l->rule, l->rules, six, ACL_SCALAR, first, room, scratch, &l->acl[0],
	                             &l->bytes), E_OK);
	free(first);
	for (unsigned path = 0; path < ACL_PATHS; path++) {
		l->memory[path] = NULL;
		if (acl_path_runs((enum acl_path)path))
			compile_path(l, six, (enum acl_path)path, scratch);
	}
	free(scratch);
}

static void random_list(struct list *l, uint32_t rules, bool six, unsigned mix)
{
	l->rule = calloc(rules, sizeof *l->rule);
	l->rules = rules;
	acl_random_rules(l->rule, rules, six, mix);
	compile(l, six);
}

static void forget(struct list *l)
{
	for (unsigned path = 0; path < ACL_PATHS; path++)
		free(l->memory[path]);
	free(l->rule);
}

/* All methods agree, and none writes beyond the results. */
static void classify(const struct list *l, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	uint32_t other[VECTOR];
	acl_classify(l->acl[ACL_SCALAR], ip, rule, n);
	for (unsigned path = ACL_SCALAR + 1; path < ACL_PATHS; path++) {
		if (!acl_path_runs((enum acl_path)path))
			continue;
		memset(other, 0xee, sizeof other);
		acl_classify(l->acl[path], ip, other, n);
		for (unsigned i = 0; i < n; i++)
			if (other[i] != rule[i])
				fail_msg("%s: rule %u of %u, not %u", acl_path_name[path], other[i], l->rules, rule[i]);
		for (unsigned i = n; i < VECTOR; i++)
			assert_int_equal(other[i], 0xeeeeeeeeu);
	}
}

/* Classifies a vector of n random packets, each allocated in exactly its length. */
static void ask(const struct list *l, bool six, unsigned n, uint32_t *hits)
{
	static uint8_t copy[ACL_PROBE_BYTES];
	struct acl_probe probe[VECTOR];
	const uint8_t *ip[VECTOR] = {NULL};
	uint32_t rule[VECTOR];
	for (unsigned i = 0; i < n; i++) {
		probe[i] = acl_random_probe(l->rule, l->rules, six);
		unsigned len = acl_packet(copy, &probe[i]);
		ip[i] = memcpy(malloc(len), copy, len);
	}
	classify(l, ip, rule, n);
	for (unsigned i = 0; i < n; i++) {
		uint32_t want = acl_oracle(l->rule, l->rules, &probe[i]);
		assert_int_equal(rule[i], want);
		assert_int_equal(acl_permits(l->acl[0], rule[i]), want < l->rules && l->rule[want].permit);
		hits[want >= l->rules ? 1 + want - l->rules : 0]++;
		free((void *)ip[i]);
	}
	for (unsigned i = 0; i <= n; i++) {
		unsigned end = i;
		while (end < n && acl_permits(l->acl[0], rule[end]))
			end++;
		assert_int_equal(acl_permits_from(l->acl[0], rule, n, i), end);
	}
}

static void compare(bool six)
{
	static const struct {
		uint32_t rules, lists, vectors;
	} row[] = {{1, 60, 4},    {2, 60, 4},    {10, 60, 8},   {63, 4, 40},   {64, 6, 40},  {65, 6, 40},
	           {129, 4, 40},  {200, 4, 40},  {257, 4, 40},  {500, 2, 40},  {513, 4, 40}, {1000, 2, 40},
	           {1025, 2, 40}, {1500, 1, 40}, {4097, 1, 10}, {5000, 1, 10}};
	uint32_t hits[3] = {0};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		for (uint32_t k = 0; k < row[i].lists; k++) {
			struct list l;
			random_list(&l, 1 + row[i].rules - (k & 1) * (row[i].rules > 2), six,
			            1 + random_below(row[i].rules * 2));
			for (uint32_t v = 0; v < row[i].vectors; v++)
				ask(&l, six, 1 + random_below(VECTOR), hits);
			forget(&l);
		}
	for (unsigned i = 0; i < 3; i++)
		assert_true(hits[i] > 1000);
	print_message("%u packets match a rule, %u none, %u cannot be told\n", hits[0], hits[1], hits[2]);
}

static void test_random_ip4(void **state)
{
	(void)state;
	compare(false);
}

static void test_random_ip6(void **state)
{
	(void)state;
	compare(true);
}

/* Typical IPv4 lists: no rule matches on a source port, and both addresses have enough prefixes for
 * acl.late. 300 rules are one unit of AVX-512, 1,000 are two. */
static void test_no_source_ports(void **state)
{
	static const uint32_t rules[] = {300, 1000};
	uint32_t hits[3] = {0};
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(rules); i++) {
		struct list l = {calloc(rules[i], sizeof *l.rule), rules[i], {NULL}, {NULL}, 0};
		acl_random_rules(l.rule, l.rules, false, 2 * l.rules);
		for (uint32_t r = 0; r < l.rules; r++)
			l.rule[r].src_port = (struct acl_ports){0, 65535};
		compile(&l, false);
		for (unsigned v = 0; v < 20; v++)
			ask(&l, false, 1 + random_below(VECTOR), hits);
		forget(&l);
	}
	assert_true(hits[0] > 1000 && hits[2] > 10);
}

/* --- constructed cases --- */

static const struct acl_rule ANY4 = {.src_plen = 96,
                                     .dst_plen = 96,
                                     .src = {{0, 0, BYTES_SWAP32(0xffffu), 0}},
                                     .dst = {{0, 0, BYTES_SWAP32(0xffffu), 0}},
                                     .any_proto = true,
                                     .permit = true,
                                     .src_port = {0, 65535},
                                     .dst_port = {0, 65535}};

/* The verdict of a list on one packet. */
static uint32_t one(const struct acl_rule *rule, uint32_t rules, const struct acl_probe *p)
{
	uint8_t ip[ACL_PROBE_BYTES];
	const uint8_t *at = ip;
	struct list l = {.rule = (struct acl_rule *)rule, .rules = rules};
	uint32_t out;
	compile(&l, p->six);
	acl_packet(ip, p);
	classify(&l, &at, &out, 1);
	l.rule = NULL;
	forget(&l);
	return out;
}

static struct acl_probe packet(uint8_t proto)
{
	return (struct acl_probe){.src = net_addr_ip4(IP4(192, 0, 2, 1)),
	                          .dst = net_addr_ip4(IP4(198, 51, 100, 1)),
	                          .proto = proto,
	                          .src_port = 1024,
	                          .dst_port = 80,
	                          .flags = ACL_SYN,
	                          .transport = 20};
}

static void test_first_match_wins(void **state)
{
	struct acl_rule rule[3] = {ANY4, ANY4, ANY4};
	struct acl_probe p = packet(TCP);
	(void)state;
	rule[0].dst_port = (struct acl_ports){81, 90};
	rule[0].any_proto = false;
	rule[0].proto = TCP;
	rule[1].permit = false;
	assert_int_equal(one(rule, 3, &p), 1);
	p.dst_port = 81;
	assert_int_equal(one(rule, 3, &p), 0);
	p.dst_port = 90;
	assert_int_equal(one(rule, 3, &p), 0);
	p.dst_port = 91;
	assert_int_equal(one(rule, 3, &p), 1);
	p.proto = UDP;
	p.dst_port = 85;
	assert_int_equal(one(rule, 3, &p), 1);
}

static void test_edges_of_addresses(void **state)
{
	struct acl_rule r = ANY4;
	struct acl_probe p = packet(UDP);
	(void)state;
	r.dst = net_addr_ip4(0xffffffff);
	r.dst_plen = 128;
	assert_int_equal(one(&r, 1, &p), 1 + ACL_NO_RULE);
	p.dst = net_addr_ip4(0xffffffff);
	assert_int_equal(one(&r, 1, &p), 0);
	p.dst = net_addr_ip4(0xfffffffe);
	assert_int_equal(one(&r, 1, &p), 1 + ACL_NO_RULE);
	r.dst = net_addr_ip4(0);
	p.dst = net_addr_ip4(0);
	assert_int_equal(one(&r, 1, &p), 0);
	p.dst = net_addr_ip4(1);
	assert_int_equal(one(&r, 1, &p), 1 + ACL_NO_RULE);
}

static void test_established(void **state)
{
	struct acl_rule r = ANY4;
	struct acl_probe p = packet(TCP);
	(void)state;
	r.any_proto = false;
	r.proto = TCP;
	r.established = true;
	for (unsigned flags = 0; flags < 256; flags++) {
		p.flags = (uint8_t)flags;
		assert_int_equal(one(&r, 1, &p), flags & (ACL_ACK | ACL_RST) ? 0 : 1 + ACL_NO_RULE);
	}
}

/* acl.h: a permit with ports lets later fragments pass, a deny with ports does not stop them. */
static void test_later_fragments(void **state)
{
	struct acl_rule rule[2] = {ANY4, ANY4};
	struct acl_probe p = packet(UDP);
	(void)state;
	p.offset = 1480;
	rule[0].any_proto = false;
	rule[0].proto = UDP;
	rule[0].dst_port = (struct acl_ports){53, 53};
	assert_int_equal(one(rule, 2, &p), 0);
	rule[0].permit = false;
	assert_int_equal(one(rule, 2, &p), 1);
	rule[0].dst_port = ACL_ANY_PORT;
	assert_int_equal(one(rule, 2, &p), 0);
	rule[0].proto = TCP;
	assert_int_equal(one(rule, 2, &p), 1);
	rule[0] = ANY4;
	rule[0].fragments = true;
	assert_int_equal(one(rule, 2, &p), 0);
	p.offset = 0;
	assert_int_equal(one(rule, 2, &p), 1);
}

/* RFC 1858 3, RFC 3128 2: no list lets them pass. */
static void test_tiny_fragments(void **state)
{
	struct acl_probe p = packet(TCP);
	(void)state;
	for (p.transport = 0; p.transport < 24; p.transport++)
		assert_int_equal(one(&ANY4, 1, &p), p.transport < 20 ? 1 + ACL_UNDETERMINED : 0);
	p.offset = 8;
	assert_int_equal(one(&ANY4, 1, &p), 1 + ACL_UNDETERMINED);
	p.offset = 16;
	assert_int_equal(one(&ANY4, 1, &p), 0);
	p.proto = UDP;
	p.offset = 8;
	assert_int_equal(one(&ANY4, 1, &p), 0);
}

static void test_icmp_types(void **state)
{
	struct acl_rule r = ANY4;
	struct acl_probe p = packet(1);
	(void)state;
	r.any_proto = false;
	r.proto = 1;
	r.dst_port = (struct acl_ports){3 << 8 | 4, 3 << 8 | 4};
	p.src_port = 3;
	p.dst_port = 4;
	assert_int_equal(one(&r, 1, &p), 0);
	p.dst_port = 5;
	assert_int_equal(one(&r, 1, &p), 1 + ACL_NO_RULE);
	r.dst_port.first = 3 << 8;
	r.dst_port.last = 3 << 8 | 255;
	assert_int_equal(one(&r, 1, &p), 0);
	p.src_port = 11;
	assert_int_equal(one(&r, 1, &p), 1 + ACL_NO_RULE);
}

/* All ports, with rules that begin and end at the edges of a table's blocks, and in one block more
 * rules than a vector has keys. */
static void test_all_ports(void **state)
{
	static const uint16_t edge[] = {0, 1, 62, 63, 64, 65, 127, 128, 191, 192, 65471, 65472, 65534, 65535};
	struct list l = {calloc(200, sizeof(struct acl_rule)), 200, {NULL}, {NULL}, 0};
	uint8_t *const bytes = calloc(VECTOR, ACL_PROBE_BYTES);
	const uint8_t *ip[VECTOR];
	uint32_t rule[VECTOR];
	(void)state;
	for (uint32_t i = 0; i < l.rules; i++) {
		const uint16_t first = i < ARRAY_LEN(edge) ? edge[i] : (uint16_t)(1000 + 3 * i);
		l.rule[i] = ANY4;
		l.rule[i].any_proto = false;
		l.rule[i].proto = UDP;
		l.rule[i].dst_port = (struct acl_ports){first, (uint16_t)(first + (first < 65535 && i % 3))};
		l.rule[i].src_port = i % 2 ? ACL_ANY_PORT : (struct acl_ports){first, 65535};
	}
	compile(&l, false);
	for (uint32_t port = 0; port <= 65535; port += VECTOR) {
		struct acl_probe probe[VECTOR];
		for (uint32_t i = 0; i < VECTOR; i++) {
			probe[i] = packet(UDP);
			probe[i].dst_port = (uint16_t)(port + i);
			probe[i].src_port = (uint16_t)(port + i - i % 5);
			ip[i] = bytes + (size_t)i * ACL_PROBE_BYTES;
			acl_packet(bytes + (size_t)i * ACL_PROBE_BYTES, &probe[i]);
		}
		classify(&l, ip, rule, VECTOR);
		for (uint32_t i = 0; i < VECTOR; i++)
			assert_int_equal(rule[i], acl_oracle(l.rule, l.rules, &probe[i]));
	}
	free(bytes);
	forget(&l);
}

/* Whatever passes the IP checks is classified without a read beyond its length. */
static void test_hostile(void **state)
{
	static const uint8_t protos[] = {0, 1, 6, 17, 43, 44, 50, 51, 58, 59, 60, 132, 135};
	struct list l[2];
	uint32_t passed = 0;
	(void)state;
	random_list(&l[0], 100, false, 50);
	random_list(&l[1], 100, true, 50);
	for (unsigned round = 0; round < random_rounds(100000); round++) {
		bool six = round & 1;
		unsigned len = (six ? IP6_HLEN : IP4_HLEN) + random_below(random_below(4) ? 60 : 200);
		uint8_t *ip = malloc(len);
		uint32_t rule;
		random_fill(ip, len);
		for (unsigned i = 40; six && i + 8 < len; i += 8 * (1 + random_below(2))) {
			ip[i] = protos[random_below(sizeof protos)];
			ip[i + 1] = (uint8_t)(random_below(8) ? random_below(3) : random64());
		}
		if (six) {
			ip[0] = 0x60;
			be16_store(ip + 4, (uint16_t)(len - IP6_HLEN));
			ip[6] = protos[random_below(sizeof protos)];
		} else {
			ip[0] = (uint8_t)(0x45 + (random_below(4) ? 0 : random_below(11)));
			be16_store(ip + 2, (uint16_t)len);
			ip[9] = protos[random_below(sizeof protos)];
			ip[16] &= 0x7f;
			if (random_below(2))
				ip[6] = ip[7] = 0;
			if ((ip[0] & 15u) * 4 <= len)
				ip4_checksum_set(ip);
		}
		const uint8_t *at = ip;
		if ((six ? ip6_check(ip, len) : ip4_check(ip, len)) == CNT_NONE) {
			classify(&l[six], &at, &rule, 1);
			assert_true(rule < l[six].rules + ACL_OTHERS);
			passed++;
		}
		free(ip);
	}
	assert_true(passed > random_rounds(25000));
	forget(&l[0]);
	forget(&l[1]);
}

/* The maximum of rules, all different: bytes and time are known in advance. */
static void test_most_rules(void **state)
{
	struct list l = {calloc(ACL_RULES_MAX, sizeof(struct acl_rule)), ACL_RULES_MAX, {NULL}, {NULL}, 0};
	uint32_t hits[3] = {0};
	(void)state;
	for (uint32_t i = 0; i < l.rules; i++) {
		l.rule[i] = ANY4;
		l.rule[i].dst = net_addr_ip4(IP4(10, 0, 0, 0) + i);
		l.rule[i].dst_plen = 128;
		l.rule[i].permit = i & 1;
	}
	compile(&l, false);
	for (unsigned v = 0; v < 4; v++)
		ask(&l, false, VECTOR, hits);
	assert_true(hits[0] > 500);
	forget(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_match_wins), cmocka_unit_test(test_edges_of_addresses),
		cmocka_unit_test(test_established),      cmocka_unit_test(test_later_fragments),
		cmocka_unit_test(test_tiny_fragments),   cmocka_unit_test(test_icmp_types),
		cmocka_unit_test(test_random_ip4),       cmocka_unit_test(test_random_ip6),
		cmocka_unit_test(test_all_ports),        cmocka_unit_test(test_no_source_ports),
		cmocka_unit_test(test_hostile),          cmocka_unit_test(test_most_rules),
	};
	seed_random("acl");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
