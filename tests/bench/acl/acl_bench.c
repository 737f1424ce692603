/*
 * The cost of an access list, for lists of 1 to 10,000 rules and for realistic mixes of rules
 * (acl_mix.h), compared with DPDK's rte_acl with the same rules and packets in the same run: TSC
 * cycles a packet, the best of ROUNDS and the median (the test machines' clock varies by up to
 * two), compile time, bytes. Each measurement follows an unmeasured run of the same method, because
 * the other methods' tables evict its own from the caches.
 *
 * Both must find the same rule for each packet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/ip4.h"
#include "tests/bench/acl/acl_dpdk.h"
#include "tests/bench/acl/acl_mix.h"
#include "tests/unit/rig/acl_rig.h"

#define VECTOR 256
#define PACKETS 16384
#define ROUNDS 25
#define ROOM ((size_t)1 << 28)

static uint8_t packet[PACKETS][ACL_MIX_PACKET] __attribute__((aligned(64)));
static const uint8_t *ip[PACKETS];
static uint32_t ours[PACKETS], theirs[PACKETS];

/* A look-up method is chosen by number; those from OURS on are net/acl's, by enum acl_path. */
enum { OURS = ACL_PEER_WAYS, WAYS = OURS + ACL_PATHS };
static const char *const names[WAYS] = {"rte_acl scalar", "rte_acl AVX2", "rte_acl AVX-512",
                                        "net/acl scalar", "net/acl AVX2", "net/acl AVX-512"};

static uint64_t tsc(void)
{
	return __builtin_ia32_rdtsc();
}

static double ms_since(const struct timespec *t)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->tv_sec) * 1e3 + (double)(now.tv_nsec - t->tv_nsec) / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Loads a vector's headers into the cache, where a filter finds them: they have just been
 * checked. */
static void touch(unsigned i)
{
	for (unsigned k = i; k < i + VECTOR; k++)
		(void)*(volatile const uint8_t *)ip[k];
}

static double once(unsigned way, const struct acl *a, struct acl_peer *peer)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < PACKETS; i += VECTOR) {
		touch(i);
		uint64_t start = tsc();
		if (way >= OURS)
			acl_classify(a, ip + i, ours + i, VECTOR);
		else
			acl_peer_classify(peer, ip + i, theirs + i, VECTOR);
		sum += tsc() - start;
	}
	return (double)sum / PACKETS;
}

static void compare(const struct acl *a)
{
	for (unsigned i = 0; i < PACKETS; i++)
		if ((ours[i] < acl_rule_count(a) ? ours[i] + 1 : 0) != theirs[i]) {
			fprintf(stderr, "packet %u: rule %u here, %u there\n", i, ours[i], theirs[i]);
			exit(1);
		}
}

static bool choose(unsigned way, struct acl_peer *peer)
{
	if (way >= OURS)
		return acl_path_runs((enum acl_path)(way - OURS));
	return peer && acl_peer_choose(peer, (enum acl_peer_way)way);
}

static void measure(const struct acl *const *a, struct acl_peer *peer)
{
	double cycles[WAYS][ROUNDS];
	bool there[WAYS];
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned way = 0; way < WAYS; way++) {
			there[way] = choose(way, peer);
			if (!there[way])
				continue;
			const struct acl *ours_now = way >= OURS ? a[way - OURS] : NULL;
			(void)once(way, ours_now, peer); /* loads its tables into the caches */
			cycles[way][round] = once(way, ours_now, peer);
			if (peer && way >= OURS)
				compare(a[0]);
		}
	for (unsigned way = WAYS; way-- > 0;) {
		if (!there[way])
			continue;
		qsort(cycles[way], ROUNDS, sizeof(double), by_value);
		printf("  %-15s %7.1f cycles a packet (median %.1f)\n", names[way], cycles[way][0],
		       cycles[way][ROUNDS / 2]);
	}
}

static void run(const struct acl_rule *rule, uint32_t rules, bool six, uint8_t *memory)
{
	void *scratch = malloc(acl_scratch_bytes(rules));
	struct timespec start;
	const struct acl *a[ACL_PATHS];
	size_t bytes, peer_bytes = 0;
	acl_mix_packets(rule, rules, six, packet, ip, PACKETS);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned path = 0; path < ACL_PATHS; path++)
		if (acl_compile(rule, rules, six, (enum acl_path)path, memory + path * ROOM, ROOM, scratch,
		                &a[path], &bytes))
			abort();
	double ms = ms_since(&start) / ACL_PATHS;
	clock_gettime(CLOCK_MONOTONIC, &start);
	struct acl_peer *peer = acl_peer_make(rule, rules, six, &peer_bytes);
	printf("IPv%u, %u rule%s: compiled in %.2f ms into %zu KiB; rte_acl in %.2f ms into %zu KiB\n",
	       six ? 6 : 4, rules, rules == 1 ? "" : "s", ms, bytes >> 10, ms_since(&start),
	       peer_bytes >> 10);
	measure(a, peer);
	if (peer)
		acl_peer_free(peer);
	free(scratch);
}

static bool wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 1;
}

/* mix < 0: acl_mix_plain. */
static void run_sizes(const char *name, const uint32_t *size, unsigned sizes, bool six, int mix,
                      uint8_t *memory)
{
	for (unsigned i = 0; i < sizes; i++) {
		struct acl_rule *rule = calloc(size[i], sizeof *rule);
		if (mix < 0)
			acl_mix_plain(rule, size[i], six);
		else
			acl_mix_rules((enum acl_mix)mix, rule, size[i]);
		printf("%s: ", name);
		run(rule, size[i], six, memory);
		free(rule);
	}
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {1, 10, 100, 1000, 10000}, mix_sizes[] = {1000, 5000, 10000};
	uint8_t *memory = aligned_alloc(64, ACL_PATHS * ROOM);
	seed_random("acl_bench");
	if (wanted(argc, argv, "ip4"))
		run_sizes("random", sizes, ARRAY_LEN(sizes), false, -1, memory);
	if (wanted(argc, argv, "ip6"))
		run_sizes("random", sizes, ARRAY_LEN(sizes), true, -1, memory);
	for (int mix = 0; mix < ACL_MIXES; mix++)
		if (wanted(argc, argv, acl_mix_name[mix]))
			run_sizes(acl_mix_name[mix], mix_sizes, ARRAY_LEN(mix_sizes), false, mix, memory);
	return 0;
}
