/*
 * Access lists (net/acl): the input is a program that makes a list and packets, each byte a choice.
 *
 *     2 bytes      family, how many rules
 *     rules        random ones of tests/unit/rig/acl_rig.h, or byte by byte
 *     packets      likewise, or bytes of the input as a packet, if it passes the IP checks
 *
 * All search methods that this host supports return for each packet what the oracle returns. For
 * raw bytes, for which there is no oracle, all methods agree.
 */
#include "tests/fuzz/input.h"

#include "net/ip4.h"
#include "net/ip6.h"
#include "tests/unit/rig/acl_rig.h"

#define PACKETS 40 /* more than a lot, and not a multiple of lanes */
#define RULES 1400

static struct input in;
static uint64_t behind; /* state from which choices are made after the end of the input */

/* Two bytes of the input make the upper bits; see random_below. */
uint64_t random64(void)
{
	behind = (behind + take16(&in) + 1) * 0x9e3779b97f4a7c15u;
	behind ^= behind >> 29;
	return behind;
}

static struct net_addr raw_prefix(bool six, uint8_t *plen)
{
	struct net_addr a = NET_ADDR_ANY;
	if (!six) {
		*plen = (uint8_t)(96 + take8(&in) % 33);
		a = net_addr_ip4((uint32_t)take16(&in) << 16 | take16(&in));
	} else {
		*plen = (uint8_t)(take8(&in) % 129);
		for (unsigned w = 0; w < 4; w++)
			a.w[w] = (uint32_t)take16(&in) << 16 | take8(&in);
	}
	return ip6_prefix_of(&a, *plen);
}

static struct acl_ports raw_ports(void)
{
	uint16_t a = take16(&in), b = take16(&in);
	return a < b ? (struct acl_ports){a, b} : (struct acl_ports){b, a};
}

/* A rule as the parser would accept it: ports only where the protocol has them, flags for TCP
 * only. */
static void raw_rule(struct acl_rule *r, bool six)
{
	const uint8_t how = take8(&in);
	*r = (struct acl_rule){.permit = how & 1, .any_proto = how & 2, .proto = take8(&in) & 63};
	r->src = raw_prefix(six, &r->src_plen);
	r->dst = raw_prefix(six, &r->dst_plen);
	r->src_port = r->dst_port = ACL_ANY_PORT;
	if (r->any_proto) {
		r->proto = 0;
		r->fragments = how & 4;
		return;
	}
	if (r->proto == IP4_PROTO_TCP || r->proto == IP4_PROTO_UDP) {
		r->src_port = how & 8 ? raw_ports() : ACL_ANY_PORT;
		r->dst_port = how & 16 ? raw_ports() : ACL_ANY_PORT;
	}
	if (r->proto == IP4_PROTO_TCP && (how & 32)) {
		r->established = how & 64;
		r->flags_mask = take8(&in);
		r->flags_value = r->flags_mask & take8(&in);
	}
}

static void make_rules(struct acl_rule *rule, uint32_t rules, bool six)
{
	for (uint32_t i = 0; i < rules;) {
		const uint8_t op = take8(&in);
		uint32_t n = 1 + (op >> 2) * (op >> 2) / 8;
		n = n < rules - i ? n : rules - i;
		if (op & 1)
			raw_rule(&rule[i], six);
		else
			acl_random_rules(rule + i, n, six, 1 + op);
		i += op & 1 ? 1 : n;
	}
}

/* Makes one table for each method, in exactly the memory that it needs. */
static void compile(const struct acl_rule *rule, uint32_t rules, bool six, const struct acl **a,
                    void **memory)
{
	static uint8_t room[16 << 20] __attribute__((aligned(64)));
	void *scratch = malloc(acl_scratch_bytes(rules));
	size_t bytes, used;
	if (acl_compile(rule, rules, six, ACL_SCALAR, room, sizeof room, scratch, a, &bytes) != E_OK)
		abort();
	for (unsigned path = 0; path < ACL_PATHS; path++) {
		if (!acl_path_runs((enum acl_path)path))
			continue;
		if (posix_memalign(&memory[path], 64, bytes) != 0)
			abort();
		if (acl_compile(rule, rules, six, (enum acl_path)path, memory[path], bytes, scratch, &a[path],
		                &used) != E_OK)
			abort();
	}
	free(scratch);
}

/* A packet: made from a probe, with *want set to the oracle's verdict, or from the input's bytes.
 * NULL: no packet. Allocated in exactly its length. */
static uint8_t *make_packet(const struct acl_rule *rule, uint32_t rules, bool six, uint32_t *want)
{
	static uint8_t bytes[ACL_PROBE_BYTES];
	const bool raw = take8(&in) & 1;
	if (!raw) {
		struct acl_probe p = acl_random_probe(rule, rules, six);
		*want = acl_oracle(rule, rules, &p);
		return exactly(bytes, acl_packet(bytes, &p));
	}
	const unsigned len = 20 + take8(&in) % 120;
	for (unsigned i = 0; i < len; i++)
		bytes[i] = take8(&in);
	bytes[0] = six ? 0x60 : (uint8_t)(0x40 | (bytes[0] & 15));
	be16_store(bytes + (six ? 4 : 2), (uint16_t)(six ? len - IP6_HLEN : len));
	if (!six && (bytes[0] & 15u) * 4 <= len)
		ip4_checksum_set(bytes);
	uint8_t *ip = exactly(bytes, len);
	if ((six ? ip6_check(ip, len) : ip4_check(ip, len)) == CNT_NONE)
		return ip;
	free(ip);
	return NULL;
}

static void ask(const struct acl_rule *rule, uint32_t rules, bool six,
                const struct acl *const *acl)
{
	uint8_t *ip[PACKETS];
	uint32_t want[PACKETS], got[PACKETS];
	unsigned n = 0;
	for (unsigned i = 0; i < PACKETS; i++) {
		want[n] = UINT32_MAX;
		ip[n] = make_packet(rule, rules, six, &want[n]);
		n += ip[n] != NULL;
	}
	for (unsigned path = 0; path < ACL_PATHS; path++) {
		if (!acl[path])
			continue;
		acl_classify(acl[path], (const uint8_t *const *)ip, got, n);
		for (unsigned i = 0; i < n; i++) {
			if (want[i] == UINT32_MAX)
				want[i] = got[i];
			assert(got[i] == want[i] && got[i] < rules + ACL_OTHERS);
			assert(acl_permits(acl[path], got[i]) == (got[i] < rules && rule[got[i]].permit));
		}
	}
	for (unsigned i = 0; i < n; i++)
		free(ip[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct acl_rule rule[RULES];
	const struct acl *acl[ACL_PATHS] = {NULL};
	void *memory[ACL_PATHS] = {NULL};
	in = (struct input){data, size};
	behind = 0;
	const uint8_t how = take8(&in), more = take8(&in);
	const bool six = how & 1;
	const uint32_t rules = 1 + (how & 2 ? more * 5u : more & 15u);
	make_rules(rule, rules, six);
	compile(rule, rules, six, acl, memory);
	ask(rule, rules, six, acl);
	for (unsigned path = 0; path < ACL_PATHS; path++)
		free(memory[path]);
	return 0;
}
