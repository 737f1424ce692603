/*
 * Look-ups of maps beside Linux' own: the same keys in both, in random order. Linux runs a program that makes
 * LOOKUPS look-ups by BPF_PROG_TEST_RUN; ours are called in a loop that computes keys in the same way, with the
 * values' addresses used, as compiled programs call them. Rounds of both alternate; medians. The cost of computing a
 * key is in both.
 *   make maps-bench T="hash-1k lpm4": only these
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bpf/helpers.h"
#include "bpf/insn.h"
#include "bpf/maps/map.h"
#include "tests/unit/rig/linux_maps.h"

#define LOOKUPS 64    /* of one run of the program */
#define ROUNDS 21
#define RUNS 1000     /* of a round */
#define FACTOR 6364136223846793005u
#define MIX 0x9e3779b97f4a7c15u

struct bench {
	const char *name;
	uint32_t type, key_bytes, entries, present;
};

/* What the key of entry number `index` is made of. The program computes the same. */
static uint64_t spread(uint32_t index) { return index * MIX ^ (index * MIX) >> 29; }

/* Prefix lengths as in a table of routes: 9 of 16 are /24 (/48), the others /16 to /23 (/32 to /47). */
static uint32_t bits_of(const struct bench *b, uint32_t index)
{
	const uint32_t r = (uint32_t)(index * MIX >> 60);
	return b->key_bytes == 8 ? (r < 9 ? 24 : 16 + (r - 9)) : (r < 9 ? 48 : 32 + 2 * (r - 9));
}

/* Writes the key as the program writes it on its stack. */
static inline __attribute__((always_inline)) void key_of(uint32_t type, uint32_t key_bytes, uint32_t index,
                                                         uint8_t *key)
{
	const uint64_t s = spread(index);
	if (type == BPF_MAP_LPM_TRIE) {
		const uint32_t full = 8 * (key_bytes - 4);
		memcpy(key, &full, 4);
		memcpy(key + 4, &s, key_bytes == 8 ? 4 : 8);
	} else {
		memcpy(key, &s, key_bytes == 4 ? 4 : 8);
	}
}

static void fill(const struct bench *b, int fd, const struct bpf_map *ours)
{
	for (uint32_t i = 0; i < b->present; i++) {
		uint8_t key[BPF_KEY_MAX] = {0};
		uint64_t value[64]; /* of all CPUs */
		for (unsigned c = 0; c < 64; c++)
			value[c] = i;
		key_of(b->type, b->key_bytes, i, key);
		if (b->type == BPF_MAP_LPM_TRIE)
			memcpy(key, &(uint32_t){bits_of(b, i)}, 4);
		const int64_t theirs = linux_map_update(fd, key, value, 0);
		const int64_t result = bpf_map_update(ours, key, value, 0);
		if (theirs || result) {
			fprintf(stderr, "%s: update %u: %ld, Linux %ld\n", b->name, i, (long)result, (long)theirs);
			exit(1);
		}
	}
}

/* --- Linux' program --- */

static struct bpf_insn code[LOOKUPS * 40 + 64];
static unsigned count;

static void emit(unsigned opcode, unsigned dst, unsigned src, int offset, int32_t imm)
{
	code[count++] = (struct bpf_insn){(uint8_t)opcode, dst & 15, src & 15, (int16_t)offset, imm};
}

static void emit_number(unsigned dst, unsigned src, uint64_t n)
{
	emit(BPF_LD | BPF_IMM | BPF_DW, dst, src, 0, (int32_t)n);
	emit(0, 0, 0, 0, (int32_t)(n >> 32));
}

#define PSEUDO_MAP_FD 1

/* R7: the state of the random numbers; R6: where it is kept; R9: the sum of values. */
static int program(const struct bench *b, int map, int state)
{
	const bool lpm = b->type == BPF_MAP_LPM_TRIE;
	count = 0;
	for (int at = -32; at < 0; at += 8)
		emit(BPF_ST | BPF_MEM | BPF_DW, BPF_R10, 0, at, 0);
	emit_number(BPF_R1, PSEUDO_MAP_FD, (uint32_t)state);
	emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_R2, BPF_R10, 0, 0);
	emit(BPF_ALU64 | BPF_ADD | BPF_K, BPF_R2, 0, 0, -8);
	emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FN_MAP_LOOKUP);
	emit(BPF_JMP | BPF_JNE | BPF_K, BPF_R0, 0, 1, 0);
	emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_R6, BPF_R0, 0, 0);
	emit(BPF_LDX | BPF_MEM | BPF_DW, BPF_R7, BPF_R6, 0, 0);
	emit(BPF_ALU64 | BPF_MOV | BPF_K, BPF_R9, 0, 0, 0);
	if (lpm)
		emit(BPF_ST | BPF_MEM | BPF_W, BPF_R10, 0, -28, (int32_t)(8 * (b->key_bytes - 4)));
	for (unsigned i = 0; i < LOOKUPS; i++) {
		emit_number(BPF_R1, 0, FACTOR);
		emit(BPF_ALU64 | BPF_MUL | BPF_X, BPF_R7, BPF_R1, 0, 0);
		emit(BPF_ALU64 | BPF_ADD | BPF_K, BPF_R7, 0, 0, 12345);
		emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_R2, BPF_R7, 0, 0); /* index = (state >> 40) * present >> 24 */
		emit(BPF_ALU64 | BPF_RSH | BPF_K, BPF_R2, 0, 0, 40);
		emit(BPF_ALU64 | BPF_MUL | BPF_K, BPF_R2, 0, 0, (int32_t)b->present);
		emit(BPF_ALU64 | BPF_RSH | BPF_K, BPF_R2, 0, 0, 24);
		emit_number(BPF_R1, 0, MIX); /* spread() */
		emit(BPF_ALU64 | BPF_MUL | BPF_X, BPF_R2, BPF_R1, 0, 0);
		emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_R1, BPF_R2, 0, 0);
		emit(BPF_ALU64 | BPF_RSH | BPF_K, BPF_R1, 0, 0, 29);
		emit(BPF_ALU64 | BPF_XOR | BPF_X, BPF_R2, BPF_R1, 0, 0);
		const bool four = b->key_bytes == (lpm ? 8 : 4);
		emit(BPF_STX | BPF_MEM | (four ? BPF_W : BPF_DW), BPF_R10, BPF_R2, -24, 0);
		emit_number(BPF_R1, PSEUDO_MAP_FD, (uint32_t)map);
		emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_R2, BPF_R10, 0, 0);
		emit(BPF_ALU64 | BPF_ADD | BPF_K, BPF_R2, 0, 0, lpm ? -28 : -24);
		emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FN_MAP_LOOKUP);
		emit(BPF_JMP | BPF_JEQ | BPF_K, BPF_R0, 0, 2, 0);
		emit(BPF_LDX | BPF_MEM | BPF_DW, BPF_R0, BPF_R0, 0, 0);
		emit(BPF_ALU64 | BPF_ADD | BPF_X, BPF_R9, BPF_R0, 0, 0);
	}
	emit(BPF_STX | BPF_MEM | BPF_DW, BPF_R6, BPF_R7, 0, 0);
	emit(BPF_ALU64 | BPF_MOV | BPF_X, BPF_R0, BPF_R9, 0, 0);
	emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return linux_xdp(code, count);
}

/* --- ours --- */

static uint64_t random_state;

static inline __attribute__((always_inline)) uint32_t run_as(bpf_lookup *lookup, const struct bpf_map *map,
                                                             uint32_t type, uint32_t key_bytes,
                                                             uint32_t present)
{
	uint8_t key[64] __attribute__((aligned(8))) = {0};
	uint64_t sum = 0;
	for (unsigned i = 0; i < LOOKUPS; i++) {
		random_state = random_state * FACTOR + 12345;
		key_of(type, key_bytes, (uint32_t)((random_state >> 40) * present >> 24), key + 4 * (type == BPF_MAP_LPM_TRIE));
		const uint64_t *at = lookup(map, key + 4 * (type == BPF_MAP_LPM_TRIE));
		if (at)
			sum += *at;
	}
	return (uint32_t)sum;
}

/* As a compiled program: key sizes are constants. */
static __attribute__((noinline)) uint32_t run(const struct bench *b, bpf_lookup *lookup, const struct bpf_map *map)
{
	if (b->type == BPF_MAP_LPM_TRIE)
		return b->key_bytes == 8 ? run_as(lookup, map, BPF_MAP_LPM_TRIE, 8, b->present)
		                         : run_as(lookup, map, BPF_MAP_LPM_TRIE, 20, b->present);
	return b->key_bytes == 4 ? run_as(lookup, map, BPF_MAP_HASH, 4, b->present)
	                         : run_as(lookup, map, BPF_MAP_HASH, b->key_bytes, b->present);
}

/* Time of this thread: BPF_PROG_TEST_RUN, too, stops its clock while another task runs. */
static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *ns)
{
	qsort(ns, ROUNDS, sizeof *ns, by_value);
	return ns[ROUNDS / 2];
}

/* In pages of 2 MiB, as the image has its maps. */
static void *memory(uint64_t bytes)
{
	const uint64_t page = 2 << 20, whole = (bytes + page - 1) / page * page;
	void *at = bytes ? aligned_alloc(page, whole) : NULL;
	if (at) {
		madvise(at, whole, MADV_HUGEPAGE);
		memset(at, 0, whole);
	}
	return at;
}

static void compare(const struct bench *b)
{
	struct bpf_map_def def = {.type = b->type, .key_bytes = b->key_bytes, .value_bytes = 8, .entries = b->entries};
	uint8_t *own[2] = {memory(bpf_map_own_bytes(&def, 2)), memory(bpf_map_own_bytes(&def, 2))};
	const uint64_t key[2] = {0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1};
	struct bpf_map map;
	uint8_t *shared = memory(bpf_map_shared_bytes(&def, 2));
	bpf_map_init(&map, &def, shared, own, 2, key);
	const int fd = linux_map(b->type, b->key_bytes, 8, b->entries, b->type == BPF_MAP_LPM_TRIE ? BPF_F_NO_PREALLOC : 0);
	const int state = linux_map(BPF_MAP_ARRAY, 4, 8, 1, 0);
	if (fd < 0 || state < 0) {
		fprintf(stderr, "bpf(2): %s\n", strerror(fd < 0 ? -fd : -state));
		exit(1);
	}
	fill(b, fd, &map);
	const int linux_program = program(b, fd, state);
	if (linux_program < 0)
		exit(1);
	bpf_lookup *lookup = bpf_map_lookup_for(&map);
	double ours[ROUNDS], theirs[ROUNDS];
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t result, sum = 0;
		linux_map_update(state, &(uint32_t){0}, &(uint64_t){round}, 0);
		random_state = round;
		linux_xdp_run(linux_program, 1, &result);
		if (run(b, lookup, &map) != result) {
			fprintf(stderr, "%s: other values than Linux'\n", b->name);
			exit(1);
		}
		theirs[round] = linux_xdp_run(linux_program, RUNS, &result) / LOOKUPS;
		const double start = now_ns();
		for (unsigned i = 0; i < RUNS; i++)
			sum += run(b, lookup, &map);
		ours[round] = (now_ns() - start) / RUNS / LOOKUPS;
		__asm__ volatile("" : : "r"(sum));
	}
	const double us = median(ours), them = median(theirs);
	printf("%-14s %9u entries  %7.1f M/s  Linux %7.1f M/s  %5.1f ns  %5.1f ns  ratio %4.2f\n", b->name,
	       b->present, 1e3 / us, 1e3 / them, us, them, them / us);
	fflush(stdout);
	close(linux_program);
	close(state);
	close(fd);
	free(shared);
	free(own[0]);
	free(own[1]);
}

int main(int argc, char **argv)
{
	static const struct bench benches[] = {
		{"hash-1k", BPF_MAP_HASH, 4, 1024, 1024},
		{"hash-1k-16", BPF_MAP_HASH, 16, 1024, 1024},
		{"hash-1M", BPF_MAP_HASH, 4, 1 << 20, 1 << 20},
		{"hash-1M-16", BPF_MAP_HASH, 16, 1 << 20, 1 << 20},
		{"lru-1M", BPF_MAP_LRU_HASH, 4, 1 << 20, 1 << 19},
		{"percpu-1k", BPF_MAP_PERCPU_HASH, 4, 1024, 1024},
		{"lpm4", BPF_MAP_LPM_TRIE, 8, 100000, 100000},
		{"lpm6", BPF_MAP_LPM_TRIE, 20, 100000, 100000},
	};
	printf("look-ups of maps beside Linux', medians of %u rounds of %u:\n", ROUNDS, RUNS * LOOKUPS);
	for (unsigned i = 0; i < sizeof benches / sizeof benches[0]; i++) {
		bool wanted = argc == 1;
		for (int a = 1; a < argc; a++)
			wanted |= strcmp(argv[a], benches[i].name) == 0;
		if (wanted)
			compare(&benches[i]);
	}
	return 0;
}
