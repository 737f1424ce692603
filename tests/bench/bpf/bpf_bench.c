/*
 * The cost of a packet in XDP programs: compiled by clang for BPF and by our compiler, beside the same C
 * compiled by GCC. TSC cycles for each call, the best of many rounds; the ratio is the goal's (1.3).
 *
 *   bpf_bench
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "bpf/helpers.h"
#include "bpf/maps/map.h"
#include "bpf/object/object.h"
#include "bpf/verify.h"
#include "bpf/xdp.h"
#include "tests/bench/bpf/native.h"
#include "tests/bpf/execute.h"

#define CALLS 4096
#define ROUNDS 400
#define FLOWS 256
#define PREFIXES 100000

const struct bpf_map *native_map;
unsigned char *native_values;

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: %s\n", file, line, expr);
	abort();
}

static _Noreturn void die(const char *name, const char *why)
{
	fprintf(stderr, "bpf_bench: %s: %s\n", name, why);
	exit(1);
}

typedef uint64_t (*compiled_fn)(struct bpf_xdp *);
typedef int (*native_fn)(struct native_xdp *);

static uint8_t packets[FLOWS][64] __attribute__((aligned(64)));
static struct bpf_xdp contexts[FLOWS];

/* IPv4 and UDP, a flow each. */
static void make_packets(void)
{
	for (unsigned n = 0; n < FLOWS; n++) {
		uint8_t *p = packets[n];
		memset(p, 0, 64);
		memset(p, 0x02, 12);
		p[12] = 8;
		p[14] = 0x45;
		p[23] = 17;
		p[26] = 10;
		p[28] = (uint8_t)(n * 7);
		p[29] = (uint8_t)n;
		p[30] = 192;
		p[35] = 53;
		p[37] = 80;
		contexts[n] = (struct bpf_xdp){.data = p, .data_end = p + 64, .data_meta = p, .ingress_ifindex = 1};
	}
}

static double best(compiled_fn compiled, native_fn native)
{
	uint64_t least = UINT64_MAX;
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t start = __rdtsc();
		for (unsigned n = 0; n < CALLS; n++) {
			struct bpf_xdp *x = &contexts[n % FLOWS];
			if (compiled)
				compiled(x);
			else
				native((struct native_xdp *)(void *)x);
		}
		const uint64_t took = __rdtsc() - start;
		least = took < least ? took : least;
	}
	return (double)least / CALLS;
}

static uint8_t *zeroed(uint64_t bytes)
{
	uint8_t *p = aligned_alloc(4096, (bytes + 4095) & ~4095ull);
	memset(p, 0, bytes);
	return p;
}

static struct bpf_map *make_map(const struct bpf_map_def *def)
{
	static const uint64_t key[2] = {3, 5};
	struct bpf_reason why;
	if (!bpf_map_check(def, &why))
		die(def->name, why.text);
	struct bpf_map *map = (struct bpf_map *)(void *)zeroed(sizeof *map);
	uint8_t *own[1] = {zeroed(bpf_map_own_bytes(def, 1) + 1)};
	bpf_map_init(map, def, zeroed(bpf_map_shared_bytes(def, 1) + 1), own, 1, key);
	return map;
}

/* Every flow of make_packets is in the hash; prefixes of /24 and /16 in the trie. */
static void fill(struct bpf_map *map)
{
	if (map->type == BPF_MAP_HASH)
		for (unsigned n = 0; n < FLOWS; n++) {
			uint8_t key[16] = {0};
			const uint64_t value = 0;
			memcpy(key, packets[n] + 26, 8);
			memcpy(key + 8, packets[n] + 34, 4);
			key[12] = 17;
			bpf_map_update(map, key, &value, BPF_ANY);
		}
	for (uint32_t n = 0; map->type == BPF_MAP_LPM_TRIE && map->key_bytes == 8 && n < PREFIXES; n++) {
		const uint32_t address = 10 + ((n * 2654435761u) & 0xffffff00u), action = XDP_DROP;
		uint8_t key[8] = {n % 4 ? 24 : 16};
		memcpy(key + 4, &address, 4);
		bpf_map_update(map, key, &action, BPF_ANY);
	}
}

static uint8_t *read_file(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		die(path, "cannot be read; make bpf-programs");
	uint8_t *data = malloc(1 << 20);
	*bytes = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static struct executable load(const char *name, struct bpf_map **maps)
{
	static struct bpf_object object;
	static bpf_helper helpers[BPF_HELPERS];
	char path[128];
	size_t bytes;
	struct bpf_reason why;
	snprintf(path, sizeof path, "build/bpf/%s.o", name);
	uint8_t *file = read_file(path, &bytes);
	const size_t room = BPF_OBJECT_MEMORY(bytes) + BPF_VERIFY_MEMORY;
	uint8_t *lent = malloc(room);
	struct bpf_memory memory = {lent, lent + room};
	if (!bpf_object_load(file, bytes, &memory, &object, &why))
		die(name, why.text);
	const struct bpf_program *p = &object.programs[0];
	struct bpf_note *notes = calloc(p->count, sizeof *notes);
	struct bpf_verdict verdict = {0};
	bpf_verify(p, object.maps, object.map_count, BPF_CONTEXT_XDP, 0, BPF_LIMITS_DEFAULT, &memory, notes, &verdict);
	if (!verdict.ok)
		die(name, verdict.why.text);
	for (unsigned i = 0; i < object.map_count; i++)
		fill(maps[i] = make_map(&object.maps[i]));
	bpf_map_helpers(helpers);
	const struct bpf_env env = {.maps = maps, .map_count = object.map_count, .helpers = helpers,
	                            .helper_count = BPF_HELPERS, .lookup_for = bpf_map_lookup_for, .core = &bpf_core};
	struct executable x;
	if (!executable_make(&x, p, notes, &env, &why))
		die(name, why.text);
	free(notes);
	free(lent);
	free(file);
	return x;
}

static const struct { const char *name; native_fn native; } programs[] = {
	{"drop", native_drop}, {"tx", native_tx}, {"count", native_count}, {"five_tuple", native_five_tuple},
	{"lpm", native_lpm},
};

int main(void)
{
	make_packets();
	printf("%-12s %8s %8s %6s %6s\n", "cycles", "BPF", "GCC", "ratio", "bytes");
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
		struct bpf_map *maps[BPF_OBJECT_MAPS] = {0};
		struct executable x = load(programs[i].name, maps);
		native_map = maps[0];
		native_values = maps[0] ? maps[0]->shared : NULL;
		/* the same results, or the comparison means nothing */
		for (unsigned n = 0; n < FLOWS; n++)
			if ((int)((compiled_fn)(uintptr_t)x.at)(&contexts[n]) !=
			    programs[i].native((struct native_xdp *)(void *)&contexts[n]))
				die(programs[i].name, "GCC's result is another one");
		const double ours = best((compiled_fn)(uintptr_t)x.at, NULL), gcc = best(NULL, programs[i].native);
		printf("%-12s %8.1f %8.1f %6.2f %6u\n", programs[i].name, ours, gcc, ours / gcc, x.code_bytes);
		executable_free(&x);
	}
	return 0;
}
