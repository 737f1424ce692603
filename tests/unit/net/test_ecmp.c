/* net/ecmp: the buckets of a group through random changes of its members, which must be in proportion
 * to their weights and minimally disruptive; the hash, which must cover what identifies a flow and nothing else. */
#include "tests/unit/rig/host.h"

#include <math.h>

#include "lib/bytes.h"
#include "net/ecmp.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* --- members --- */

static bool is_in(const uint16_t *member, unsigned n, uint16_t m)
{
	for (unsigned i = 0; i < n; i++)
		if (member[i] == m)
			return true;
	return false;
}

static unsigned buckets_of(const struct ecmp_group *g, uint16_t m)
{
	unsigned n = 0;
	for (unsigned b = 0; b < ECMP_BUCKETS; b++)
		n += g->bucket[b] == m;
	return n;
}

static void shuffle(uint16_t *v, uint8_t *weight, unsigned n)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned k = random_below(i);
		uint16_t swap = v[i - 1];
		uint8_t swap_weight = weight[i - 1];
		v[i - 1] = v[k];
		v[k] = swap;
		weight[i - 1] = weight[k];
		weight[k] = swap_weight;
	}
}

/* 1 to ECMP_MEMBERS_MAX of 80 numbers, so that sets overlap; one time in two all of one weight. */
static unsigned random_members(uint16_t member[ECMP_MEMBERS_MAX], uint8_t weight[ECMP_MEMBERS_MAX])
{
	uint16_t all[80];
	uint8_t weights[ARRAY_LEN(all)];
	const unsigned most = random_below(2) ? 1 : random_below(2) ? 4 : 255;
	for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
		all[i] = (uint16_t)(1 + i * 700);
		weights[i] = (uint8_t)(1 + random_below(most));
	}
	shuffle(all, weights, ARRAY_LEN(all));
	memcpy(member, all, ECMP_MEMBERS_MAX * sizeof *member);
	memcpy(weight, weights, ECMP_MEMBERS_MAX * sizeof *weight);
	return 1 + random_below(random_below(2) ? 8 : ECMP_MEMBERS_MAX);
}

/* The oracle of quotas: bucket by bucket to the largest quotient, in floating point; of equal
 * quotients the first. least[i]: what i has without those of the last quotient; over: how many have
 * one more by it, of those of which equal[i]. */
static void webster(const uint8_t *weight, unsigned n, unsigned *least, bool *equal, unsigned *over)
{
	unsigned quota[ECMP_MEMBERS_MAX];
	double last = INFINITY;
	for (unsigned i = 0; i < n; i++)
		quota[i] = 1;
	for (unsigned b = n; b < ECMP_BUCKETS; b++) {
		unsigned next = 0;
		for (unsigned i = 1; i < n; i++)
			if (weight[i] / (quota[i] + .5) > weight[next] / (quota[next] + .5))
				next = i;
		last = weight[next] / (quota[next] + .5);
		quota[next]++;
	}
	*over = 0;
	for (unsigned i = 0; i < n; i++) {
		const bool took = quota[i] > 1 && weight[i] / (quota[i] - .5) == last;
		least[i] = quota[i] - took;
		equal[i] = took || weight[i] / (quota[i] + .5) == last;
		*over += took;
	}
}

/* The fewest buckets that have to change: each keeps what it has of its quota, and one more where
 * there is one left over for it. */
static unsigned fewest(const struct ecmp_group *g, const uint16_t *member, const uint8_t *weight,
                       unsigned n)
{
	unsigned least[ECMP_MEMBERS_MAX], over, kept = 0;
	bool equal[ECMP_MEMBERS_MAX];
	webster(weight, n, least, equal, &over);
	for (unsigned i = 0; i < n; i++) {
		unsigned has = buckets_of(g, member[i]);
		kept += has < least[i] ? has : least[i];
		if (has > least[i] && equal[i] && over) {
			kept++;
			over--;
		}
	}
	return ECMP_BUCKETS - kept;
}

static void assert_shares(const struct ecmp_group *g, const uint16_t *member, const uint8_t *weight,
                          unsigned n)
{
	unsigned least[ECMP_MEMBERS_MAX], over, sum = 0;
	bool equal[ECMP_MEMBERS_MAX];
	webster(weight, n, least, equal, &over);
	for (unsigned i = 0; i < n; i++) {
		unsigned has = buckets_of(g, member[i]);
		assert_in_range(has, least[i], least[i] + equal[i]);
		sum += has;
	}
	assert_int_equal(sum, ECMP_BUCKETS); /* nobody else has a bucket */
}

/* Any set after any other. */
static void changes_are_fair_and_least(void **s)
{
	unsigned long moved = 0;
	(void)s;
	seed_random("changes_are_fair_and_least");
	struct ecmp_group g = {{ECMP_NOBODY}};
	for (int round = 0; round < 4000; round++) {
		uint16_t member[ECMP_MEMBERS_MAX];
		uint8_t weight[ECMP_MEMBERS_MAX];
		unsigned n = random_members(member, weight), least = fewest(&g, member, weight, n);
		const struct ecmp_group before = g;
		struct ecmp_group other = g;
		unsigned changed = ecmp_set(&g, member, weight, n), differ = 0;
		for (unsigned b = 0; b < ECMP_BUCKETS; b++)
			differ += g.bucket[b] != before.bucket[b];
		assert_int_equal(changed, differ);
		assert_int_equal(changed, least);
		assert_shares(&g, member, weight, n);
		shuffle(member, weight, n); /* named in any order */
		ecmp_set(&other, member, weight, n);
		assert_memory_equal(&other, &g, sizeof g);
		assert_int_equal(ecmp_set(&g, member, weight, n), 0);
		moved += changed;
	}
	printf("changes_are_fair_and_least: %lu buckets moved\n", moved);
}

/* Without weights the numbers of buckets differ by one at most. */
static void equal_ones_are_even(void **s)
{
	(void)s;
	seed_random("equal_ones_are_even");
	struct ecmp_group g = {{ECMP_NOBODY}};
	for (int round = 0; round < 1000; round++) {
		uint16_t member[ECMP_MEMBERS_MAX];
		uint8_t weight[ECMP_MEMBERS_MAX];
		unsigned n = random_members(member, weight);
		ecmp_set(&g, member, NULL, n);
		for (unsigned i = 0; i < n; i++)
			assert_in_range(buckets_of(&g, member[i]), ECMP_BUCKETS / n,
			                (ECMP_BUCKETS + n - 1) / n);
		memset(weight, 1 + (int)random_below(255), n);
		assert_int_equal(ecmp_set(&g, member, weight, n), 0);
	}
}

/* Only buckets of `from` may have changed, and to others. */
static void assert_lost(const struct ecmp_group *before, const struct ecmp_group *after, uint16_t from,
                        const uint16_t *member, unsigned n)
{
	for (unsigned b = 0; b < ECMP_BUCKETS; b++)
		if (before->bucket[b] != after->bucket[b]) {
			assert_int_equal(before->bucket[b], from);
			assert_true(is_in(member, n, after->bucket[b]));
		}
}

/* Buckets may have changed to `to` alone. */
static void assert_gained(const struct ecmp_group *before, const struct ecmp_group *after, uint16_t to)
{
	for (unsigned b = 0; b < ECMP_BUCKETS; b++)
		assert_true(before->bucket[b] == after->bucket[b] || after->bucket[b] == to);
}

/* One member leaves: only its buckets are redistributed. It returns: only it gets buckets. */
static void a_member_goes_and_returns(void **s)
{
	(void)s;
	seed_random("a_member_goes_and_returns");
	for (int round = 0; round < 5000; round++) {
		struct ecmp_group g = {{ECMP_NOBODY}};
		uint16_t member[ECMP_MEMBERS_MAX];
		uint8_t weight[ECMP_MEMBERS_MAX];
		unsigned n = random_members(member, weight);
		if (n == 1)
			continue;
		ecmp_set(&g, member, weight, n);
		const struct ecmp_group whole = g;
		const uint16_t gone = member[n - 1];
		assert_int_equal(ecmp_set(&g, member, weight, n - 1), buckets_of(&whole, gone));
		assert_lost(&whole, &g, gone, member, n - 1);
		const struct ecmp_group less = g;
		const unsigned back = ecmp_set(&g, member, weight, n);
		assert_int_equal(back, buckets_of(&g, gone));
		assert_gained(&less, &g, gone);
	}
}

/* A weight rises: only that member gets buckets. It falls: only that member loses some. */
static void a_weight_changes(void **s)
{
	unsigned long moved = 0;
	(void)s;
	seed_random("a_weight_changes");
	for (int round = 0; round < 5000; round++) {
		struct ecmp_group g = {{ECMP_NOBODY}};
		uint16_t member[ECMP_MEMBERS_MAX];
		uint8_t weight[ECMP_MEMBERS_MAX];
		unsigned n = random_members(member, weight), i = random_below(n);
		ecmp_set(&g, member, weight, n);
		for (unsigned step = 0; step < 4; step++) {
			const struct ecmp_group before = g;
			const uint8_t was = weight[i];
			weight[i] = (uint8_t)(1 + random_below(255));
			const unsigned had = buckets_of(&g, member[i]);
			const unsigned changed = ecmp_set(&g, member, weight, n);
			const unsigned has = buckets_of(&g, member[i]);
			assert_int_equal(changed, has > had ? has - had : had - has);
			if (weight[i] >= was)
				assert_gained(&before, &g, member[i]);
			else
				assert_lost(&before, &g, member[i], member, n);
			moved += changed;
		}
	}
	printf("a_weight_changes: %lu buckets moved\n", moved);
}

static void weights_of_one_named_twice_add_up(void **s)
{
	(void)s;
	struct ecmp_group g = {{ECMP_NOBODY}};
	const uint16_t member[] = {7, 9, 7, 7};
	const uint8_t weight[] = {100, 60, 50, 30}, most[] = {255, 1, 255, 255};
	ecmp_set(&g, member, NULL, ARRAY_LEN(member));
	assert_int_equal(buckets_of(&g, 7), 3 * ECMP_BUCKETS / 4);
	assert_int_equal(buckets_of(&g, 9), ECMP_BUCKETS / 4);
	ecmp_set(&g, member, weight, ARRAY_LEN(member));
	assert_int_equal(buckets_of(&g, 7), 3 * ECMP_BUCKETS / 4);
	ecmp_set(&g, member, most, ARRAY_LEN(member));
	assert_int_equal(buckets_of(&g, 9), 1); /* of the 0.33 that are its due */
}

static void every_hash_has_a_member(void **s)
{
	(void)s;
	struct ecmp_group g;
	for (unsigned b = 0; b < ECMP_BUCKETS; b++)
		g.bucket[b] = (uint16_t)(b + 1);
	assert_int_equal(ecmp_member(&g, 0), 1);
	assert_int_equal(ecmp_member(&g, UINT32_MAX), ECMP_BUCKETS);
	assert_int_equal(ecmp_member(&g, 1u << (32 - ECMP_BUCKETS_LOG2)), 2);
}

/* --- flows --- */

#define SEED 0x0123456789abcdef

/* In memory of exactly its length, so that ASan detects reads beyond. */
static uint8_t *packet4(uint8_t proto, unsigned payload, unsigned options)
{
	unsigned header = IP4_HLEN + options;
	uint8_t *ip = calloc(1, header + payload);
	assert_non_null(ip);
	ip[0] = (uint8_t)(0x40 | header / 4);
	be16_store(ip + 2, (uint16_t)(header + payload));
	ip[8] = 64;
	ip[9] = proto;
	be32_store(ip + 12, IP4(192, 0, 2, 1));
	be32_store(ip + 16, IP4(198, 51, 100, 7));
	return ip;
}

static uint8_t *packet6(uint8_t next, unsigned payload)
{
	uint8_t *ip = calloc(1, IP6_HLEN + payload);
	assert_non_null(ip);
	ip[0] = 0x60;
	be16_store(ip + 4, (uint16_t)payload);
	ip[6] = next;
	ip[7] = 64;
	be32_store(ip + 8, 0x20010db8);
	ip[23] = 1;
	be32_store(ip + 24, 0x20010db8);
	ip[39] = 2;
	return ip;
}

/* Does the hash change when one bit of byte `at` changes? */
static bool counts(uint8_t *ip, unsigned at)
{
	bool six = ip[0] >> 4 == 6;
	uint32_t hash = six ? ecmp_hash6(SEED, ip) : ecmp_hash4(SEED, ip);
	ip[at] ^= 1;
	uint32_t other = six ? ecmp_hash6(SEED, ip) : ecmp_hash4(SEED, ip);
	ip[at] ^= 1;
	return other != hash;
}

static void assert_counts(uint8_t *ip, unsigned at, unsigned n, bool want)
{
	for (unsigned i = at; i < at + n; i++)
		assert_int_equal(counts(ip, i), want);
}

static void what_is_a_flow4(void **s)
{
	(void)s;
	static const uint8_t ported[] = {6, 17, 33, 132, 136};
	for (unsigned i = 0; i < ARRAY_LEN(ported); i++) {
		uint8_t *ip = packet4(ported[i], 24, 0);
		assert_counts(ip, 1, 1, false);   /* service */
		assert_counts(ip, 4, 2, false);   /* identification */
		assert_counts(ip, 8, 1, false);   /* TTL */
		assert_counts(ip, 9, 1, true);    /* protocol */
		assert_counts(ip, 10, 2, false);  /* checksum */
		assert_counts(ip, 12, 12, true);  /* addresses, ports */
		assert_counts(ip, 24, 20, false); /* the rest of the segment */
		free(ip);
	}
	uint8_t *ip = packet4(IP4_PROTO_TCP, 20, 8);
	assert_counts(ip, 20, 8, false); /* options */
	assert_counts(ip, 28, 4, true);
	free(ip);
	ip = packet4(IP4_PROTO_ICMP, 24, 0);
	assert_counts(ip, 20, 24, false);
	free(ip);
	ip = packet4(IP4_PROTO_UDP, 3, 0); /* no room for ports */
	assert_counts(ip, 20, 3, false);
	free(ip);
}

/* All fragments of a datagram, and all fragmented datagrams of a flow, take one next hop. */
static void fragments_go_together(void **s)
{
	(void)s;
	uint8_t *ip = packet4(IP4_PROTO_UDP, 24, 0);
	static const uint16_t place[] = {IP4_FLAG_MF, IP4_FLAG_MF | 3, 6};
	uint32_t hash = 0;
	for (unsigned i = 0; i < ARRAY_LEN(place); i++) {
		be16_store(ip + 6, place[i]);
		be16_store(ip + 4, (uint16_t)(4000 + i));
		be32_store(ip + 20, i * 0x12345678); /* the first fragment's ports, data of the others */
		assert_true(i == 0 || ecmp_hash4(SEED, ip) == hash);
		hash = ecmp_hash4(SEED, ip);
	}
	be16_store(ip + 6, IP4_FLAG_DF); /* not a fragment */
	assert_counts(ip, 20, 4, true);
	free(ip);
}

static void what_is_a_flow6(void **s)
{
	(void)s;
	uint8_t *ip = packet6(IP6_TCP, 20);
	assert_counts(ip, 7, 1, false);   /* hop limit */
	assert_counts(ip, 6, 1, true);    /* protocol */
	assert_counts(ip, 8, 36, true);   /* addresses, ports */
	assert_counts(ip, 44, 16, false); /* the rest of the segment */
	ip[0] |= 0xf;
	ip[1] |= 0xf0;
	assert_counts(ip, 40, 4, true); /* the traffic class is not part of the flow label */
	assert_counts(ip, 2, 2, true);
	ip[3] = 77; /* a flow label, which alone decides */
	assert_counts(ip, 1, 3, true);
	assert_counts(ip, 6, 1, false);
	assert_counts(ip, 8, 32, true);
	assert_counts(ip, 40, 20, false);
	free(ip);
	ip = packet6(IP6_FRAGMENT, 40);
	assert_counts(ip, 40, 40, false);
	free(ip);
	ip = packet6(IP6_UDP, 3); /* no room for ports */
	assert_counts(ip, 40, 3, false);
	free(ip);
}

/* Chi-squared of the counts of buckets against even ones. */
static double unevenness(const unsigned count[ECMP_BUCKETS])
{
	double sum = 0, even = 0, square = 0;
	for (unsigned b = 0; b < ECMP_BUCKETS; b++)
		sum += count[b];
	even = sum / ECMP_BUCKETS;
	for (unsigned b = 0; b < ECMP_BUCKETS; b++)
		square += (count[b] - even) * (count[b] - even) / even;
	return square;
}

/* The value that one in a million even spreads exceeds, with 255 degrees of freedom: 377. */
#define UNEVEN 377

static unsigned bucket(uint32_t hash) { return hash >> (32 - ECMP_BUCKETS_LOG2); }

/* Flows with small differences, like those of real hosts: each of these alone spreads them. */
static void spreads_similar_flows(void **s)
{
	(void)s;
	static const unsigned at[] = {12, 14, 16, 18, 20, 22}; /* halves of addresses, ports */
	uint8_t *ip = packet4(IP4_PROTO_TCP, 20, 0);
	for (unsigned k = 0; k < ARRAY_LEN(at); k++) {
		unsigned count[ECMP_BUCKETS] = {0};
		const uint16_t was = be16_load(ip + at[k]);
		for (unsigned i = 0; i < 1 << 15; i++) {
			be16_store(ip + at[k], (uint16_t)i);
			count[bucket(ecmp_hash4(SEED, ip))]++;
		}
		assert_true(unevenness(count) < UNEVEN);
		be16_store(ip + at[k], was);
	}
	free(ip);
	ip = packet6(IP6_TCP, 20);
	for (unsigned at6 = 8; at6 < 44; at6 += 2) {
		unsigned count[ECMP_BUCKETS] = {0};
		const uint16_t was = be16_load(ip + at6);
		for (unsigned i = 0; i < 1 << 15; i++) {
			be16_store(ip + at6, (uint16_t)i);
			count[bucket(ecmp_hash6(SEED, ip))]++;
		}
		assert_true(unevenness(count) < UNEVEN);
		be16_store(ip + at6, was);
	}
	free(ip);
}

/* The flows that one router sends by one bucket spread again at the next one, which has another
 * seed. */
static void routers_in_a_row_differ(void **s)
{
	(void)s;
	static const uint64_t seeds[] = {SEED ^ 1, SEED ^ 1ull << 63, 0, 0x5555};
	uint8_t *ip = packet4(IP4_PROTO_TCP, 20, 0);
	for (unsigned k = 0; k < ARRAY_LEN(seeds); k++) {
		unsigned count[ECMP_BUCKETS] = {0};
		for (unsigned i = 0; i < 1 << 22; i++) {
			be32_store(ip + 20, i << 8);
			be32_store(ip + 12, IP4(10, 0, 0, 0) | i >> 10);
			if (bucket(ecmp_hash4(SEED, ip)) == 5)
				count[bucket(ecmp_hash4(seeds[k], ip))]++;
		}
		assert_true(unevenness(count) < UNEVEN);
	}
	free(ip);
}

static void own_packets_by_destination(void **s)
{
	(void)s;
	unsigned four[ECMP_BUCKETS] = {0}, six[ECMP_BUCKETS] = {0};
	for (unsigned i = 0; i < 1 << 15; i++) {
		const struct net_addr a = net_addr_ip4(IP4(10, 0, 0, 0) + i);
		const struct net_addr b = {{be32_make(0x20010db8).raw, 0, 0, be32_make(i).raw}};
		assert_int_equal(ecmp_hash_to(SEED, &a), ecmp_hash_to(SEED, &a));
		four[bucket(ecmp_hash_to(SEED, &a))]++;
		six[bucket(ecmp_hash_to(SEED, &b))]++;
	}
	assert_true(unevenness(four) < UNEVEN);
	assert_true(unevenness(six) < UNEVEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_fair_and_least),
		cmocka_unit_test(equal_ones_are_even),
		cmocka_unit_test(a_member_goes_and_returns),
		cmocka_unit_test(a_weight_changes),
		cmocka_unit_test(weights_of_one_named_twice_add_up),
		cmocka_unit_test(every_hash_has_a_member),
		cmocka_unit_test(what_is_a_flow4),
		cmocka_unit_test(fragments_go_together),
		cmocka_unit_test(what_is_a_flow6),
		cmocka_unit_test(spreads_similar_flows),
		cmocka_unit_test(routers_in_a_row_differ),
		cmocka_unit_test(own_packets_by_destination),
	};
	return cmocka_run_group_tests_name("ecmp", tests, NULL, NULL);
}
