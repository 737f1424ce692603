/*
 * A fixed amount of classifications for the gate (tests/bench/gate.py), whose callgrind counts
 * measured():
 *
 *   acl_count acl4|acl6 scalar|avx2
 *
 * The list has RULES rules; they and the packets are those of acl_bench.c. The last line is
 * `counted PACKETS`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/acl/acl_mix.h"
#include "tests/unit/rig/host.h"

#define RULES 1000
#define VECTOR 256
#define PACKETS (32 * VECTOR)
#define ROOM ((size_t)4 << 20)

static struct acl_rule rule[RULES];
static uint8_t packet[PACKETS][ACL_MIX_PACKET] __attribute__((aligned(64)));
static const uint8_t *ip[PACKETS];
static uint32_t found[PACKETS];

__attribute__((noinline)) static void measured(const struct acl *a)
{
	for (unsigned i = 0; i < PACKETS; i += VECTOR)
		acl_classify(a, ip + i, found + i, VECTOR);
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "acl_count: %s\n", what);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct acl *a;
	size_t used;
	const bool avx2 = argc == 3 && strcmp(argv[2], "avx2") == 0;
	if (argc != 3 || (!avx2 && strcmp(argv[2], "scalar") != 0))
		die("usage: acl_count acl4|acl6 scalar|avx2");
	const bool six = strcmp(argv[1], "acl6") == 0;
	seed_random("acl_count");
	acl_mix_plain(rule, RULES, six);
	acl_mix_packets(rule, RULES, six, packet, ip, PACKETS);
	void *memory = aligned_alloc(64, ROOM), *scratch = malloc(acl_scratch_bytes(RULES));
	if (!memory || !scratch ||
	    acl_compile(rule, RULES, six, avx2 ? ACL_AVX2 : ACL_SCALAR, memory, ROOM, scratch, &a,
	                &used) != E_OK)
		die("no table");
	measured(a);
	printf("counted %u\n", PACKETS);
	return 0;
}
