/*
 * Random programs in Linux, compiled, and interpreted: results, packets and maps must be equal.
 *
 *   bpf-differential [--seed N] [--programs N | --seconds N] [--show]
 *
 * Each program (generate.c) is given to Linux' verifier and to ours. What both accept runs on random
 * packets, by BPF_PROG_TEST_RUN and here: the interpreter under its own checks, the compiled code as it
 * is. The maps begin with the same random contents. What a verifier refuses is counted by reason and listed
 * at the end. Exit code 0: no difference; 1: a difference, with the seed that repeats it and the program;
 * 2: bpf(2) is not allowed here.
 *
 * --show prints the instructions of the first program of the seed, in hex, for bpf-run or llvm-objdump.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/helpers.h"
#include "bpf/interpret.h"
#include "bpf/maps/map.h"
#include "bpf/verify.h"
#include "bpf/xdp.h"
#include "tests/bpf/execute.h"
#include "tests/bpf/generate.h"
#include "tests/bpf/host_helpers.h"
#include "tests/bpf/linux.h"

#define PACKETS 4          /* of each program */
#define PACKET_MAX 1024
#define HEADROOM 256       /* of BPF_PROG_TEST_RUN, and what it keeps of it and behind the packet */
#define FRAME 4096
#define KEPT_BEFORE 40
#define KEPT_BEHIND 320
#define STEPS 10000000
#define REASONS 64

/* --- our maps and Linux' --- */

struct maps {
	struct bpf_map map[GENERATED_MAPS];
	struct bpf_map *pointers[GENERATED_MAPS];
	int theirs[GENERATED_MAPS];
	unsigned cpus;
};

/* The contents of all maps: arrays by index, the hash by key, of the per-CPU array the sums of all CPUs (a
 * program runs on one). */
struct contents {
	uint8_t array[4][32];
	uint8_t per_cpu[3][24];
	uint8_t hash[GENERATED_KEYS][16];
	bool present[GENERATED_KEYS];
};

static uint8_t *zeroed(uint64_t bytes)
{
	uint8_t *p = aligned_alloc(64, (bytes + 63) & ~63ull);
	memset(p, 0, bytes);
	return p;
}

static void make_maps(struct maps *m)
{
	static const uint64_t key[2] = {1, 2};
	m->cpus = linux_cpus();
	for (unsigned i = 0; i < GENERATED_MAPS; i++) {
		const struct bpf_map_def *def = &generated_maps[i];
		const uint64_t shared = bpf_map_shared_bytes(def, 1), own = bpf_map_own_bytes(def, 1);
		uint8_t *owns[1] = {own ? zeroed(own) : NULL};
		bpf_map_init(&m->map[i], def, shared ? zeroed(shared) : NULL, owns, 1, key);
		m->pointers[i] = &m->map[i];
		m->theirs[i] = linux_map(def->type, def->key_bytes, def->value_bytes, def->entries);
		if (m->theirs[i] < 0) {
			fprintf(stderr, "Linux makes no map %s: %s\n", def->name, strerror(-m->theirs[i]));
			exit(2);
		}
	}
}

static void random_contents(struct contents *c, struct random *r)
{
	memset(c, 0, sizeof *c);
	for (unsigned n = 0; n < sizeof c->array; n++)
		((uint8_t *)c->array)[n] = (uint8_t)random_next(r);
	for (unsigned n = 0; n < sizeof c->per_cpu; n++)
		((uint8_t *)c->per_cpu)[n] = (uint8_t)random_next(r);
	for (unsigned n = random_below(r, 8); n > 0; n--) {
		const uint32_t key = random_below(r, GENERATED_KEYS);
		c->present[key] = true;
		for (unsigned b = 0; b < 16; b++)
			c->hash[key][b] = (uint8_t)random_next(r);
	}
}

static void put_ours(struct maps *m, const struct contents *c)
{
	for (uint32_t i = 0; i < 4; i++)
		bpf_map_update(&m->map[GENERATED_ARRAY], &i, c->array[i], BPF_ANY);
	for (uint32_t i = 0; i < 3; i++)
		bpf_map_update(&m->map[GENERATED_PER_CPU], &i, c->per_cpu[i], BPF_ANY);
	for (uint64_t key = 0; key < GENERATED_KEYS; key++)
		bpf_map_delete(&m->map[GENERATED_HASH], &key);
	for (uint64_t key = 0; key < GENERATED_KEYS; key++)
		if (c->present[key])
			bpf_map_update(&m->map[GENERATED_HASH], &key, c->hash[key], BPF_ANY);
}

static void get_ours(const struct maps *m, struct contents *c)
{
	memset(c, 0, sizeof *c);
	for (uint32_t i = 0; i < 4; i++)
		memcpy(c->array[i], bpf_map_lookup(&m->map[GENERATED_ARRAY], &i), 32);
	for (uint32_t i = 0; i < 3; i++)
		memcpy(c->per_cpu[i], bpf_map_lookup(&m->map[GENERATED_PER_CPU], &i), 24);
	for (uint64_t key = 0; key < GENERATED_KEYS; key++) {
		const void *value = bpf_map_lookup(&m->map[GENERATED_HASH], &key);
		c->present[key] = value != NULL;
		if (value)
			memcpy(c->hash[key], value, 16);
	}
}

/* The program may run on any CPU. */
static void put_linux(const struct maps *m, const struct contents *c)
{
	uint8_t values[24 * m->cpus];
	for (uint32_t i = 0; i < 4; i++)
		linux_map_update(m->theirs[GENERATED_ARRAY], &i, c->array[i]);
	for (uint32_t i = 0; i < 3; i++) {
		for (unsigned cpu = 0; cpu < m->cpus; cpu++)
			memcpy(values + 24 * cpu, c->per_cpu[i], 24);
		linux_map_update(m->theirs[GENERATED_PER_CPU], &i, values);
	}
	for (uint64_t key = 0; key < GENERATED_KEYS; key++)
		linux_map_delete(m->theirs[GENERATED_HASH], &key);
	for (uint64_t key = 0; key < GENERATED_KEYS; key++)
		if (c->present[key])
			linux_map_update(m->theirs[GENERATED_HASH], &key, c->hash[key]);
}

/* Of the per-CPU array the value that differs from what was put, if one does. */
static void get_linux(const struct maps *m, const struct contents *put, struct contents *c)
{
	uint8_t values[24 * m->cpus];
	memset(c, 0, sizeof *c);
	for (uint32_t i = 0; i < 4; i++)
		linux_map_lookup(m->theirs[GENERATED_ARRAY], &i, c->array[i]);
	for (uint32_t i = 0; i < 3; i++) {
		linux_map_lookup(m->theirs[GENERATED_PER_CPU], &i, values);
		memcpy(c->per_cpu[i], values, 24);
		for (unsigned cpu = 1; cpu < m->cpus; cpu++)
			if (memcmp(values + 24 * cpu, put->per_cpu[i], 24))
				memcpy(c->per_cpu[i], values + 24 * cpu, 24);
	}
	for (uint64_t key = 0; key < GENERATED_KEYS; key++)
		c->present[key] = linux_map_lookup(m->theirs[GENERATED_HASH], &key, c->hash[key]) == 0;
}

/* --- one run --- */

struct outcome {
	uint64_t result;
	uint32_t bytes;
	uint8_t packet[FRAME];
	struct contents maps;
};

/* A frame as BPF_PROG_TEST_RUN has it: zeroes around the packet. */
struct frame {
	uint8_t bytes[FRAME];
	struct bpf_xdp xdp;
};

static void make_frame(struct frame *f, const uint8_t *packet, uint32_t bytes)
{
	memset(f, 0, sizeof *f);
	memcpy(f->bytes + HEADROOM, packet, bytes);
	f->xdp.data = f->xdp.data_meta = f->bytes + HEADROOM;
	f->xdp.data_end = f->xdp.data + bytes;
	f->xdp.start = f->bytes + KEPT_BEFORE;
	f->xdp.end = f->bytes + FRAME - KEPT_BEHIND;
}

static void take_frame(const struct frame *f, struct outcome *o)
{
	o->bytes = (uint32_t)(f->xdp.data_end - f->xdp.data_meta);
	memcpy(o->packet, f->xdp.data_meta, o->bytes);
}

static struct frame frame_now;

static bool in_packet(const void *at, size_t bytes, bool write)
{
	(void)write;
	const uint8_t *from = at;
	return from >= frame_now.xdp.data_meta && from <= frame_now.xdp.data_end &&
	       bytes <= (size_t)(frame_now.xdp.data_end - from);
}

static bool run_interpreted(const struct bpf_program *p, const struct bpf_note *notes, const struct bpf_env *env,
                            struct outcome *o)
{
	struct bpf_run run = {.steps = STEPS, .context = &frame_now.xdp};
	if (!bpf_interpret(p, notes, env, (uint64_t)(uintptr_t)&frame_now.xdp, 0, in_packet, &run)) {
		printf("the interpreter stopped: %s\n", run.why.text);
		return false;
	}
	o->result = run.result;
	take_frame(&frame_now, o);
	return true;
}

static void run_compiled(const struct executable *x, struct outcome *o)
{
	o->result = ((uint64_t (*)(struct bpf_xdp *))(uintptr_t)x->at)(&frame_now.xdp);
	take_frame(&frame_now, o);
}

/* --- comparison --- */

static const char *difference(const struct outcome *a, const struct outcome *b)
{
	if ((uint32_t)a->result != (uint32_t)b->result)
		return "R0";
	if (a->bytes != b->bytes)
		return "length of the packet";
	if (memcmp(a->packet, b->packet, a->bytes))
		return "packet";
	if (memcmp(a->maps.array, b->maps.array, sizeof a->maps.array))
		return "array";
	if (memcmp(a->maps.per_cpu, b->maps.per_cpu, sizeof a->maps.per_cpu))
		return "per-CPU array";
	if (memcmp(a->maps.present, b->maps.present, sizeof a->maps.present) ||
	    memcmp(a->maps.hash, b->maps.hash, sizeof a->maps.hash))
		return "hash";
	return NULL;
}

static void show(const struct generated *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		const uint8_t *b = (const uint8_t *)&g->insns[i];
		for (unsigned n = 0; n < 8; n++)
			printf("%02x%s", b[n], n == 7 ? "\n" : " ");
	}
}

/* --- refusals --- */

static struct reason {
	char text[160];
	const char *who;
	unsigned times;
	uint64_t seed;
} reasons[REASONS];

/* Counts a reason without its numbers. */
static void refused(const char *who, const char *text, uint64_t seed)
{
	char general[160];
	size_t n = 0;
	const char *colon = strncmp(text, "instruction ", 12) ? NULL : strchr(text, ':');
	for (const char *s = colon ? colon + 1 : text; *s && n < sizeof general - 1; s++) {
		if (*s >= '0' && *s <= '9' && n && general[n - 1] == '#')
			continue;
		general[n++] = *s >= '0' && *s <= '9' ? '#' : *s;
	}
	general[n] = 0;
	for (struct reason *r = reasons; r < reasons + REASONS; r++) {
		if (!r->times) {
			snprintf(r->text, sizeof r->text, "%s", general);
			r->who = who;
			r->seed = seed;
		}
		if (r->who == who && !strcmp(r->text, general)) {
			r->times++;
			return;
		}
	}
}

/* --- the test --- */

static struct {
	uint64_t programs, ran, packets, insns, linux_only, ours_only, neither;
} total;

static bool our_verdict(const struct generated *g, struct bpf_note *notes, struct bpf_reason *why)
{
	static uint8_t *lent;
	if (!lent)
		lent = malloc(BPF_VERIFY_MEMORY);
	struct bpf_memory memory = {lent, lent + BPF_VERIFY_MEMORY};
	const struct bpf_program p = {.insns = g->insns, .count = g->count};
	struct bpf_verdict verdict = {0};
	bpf_verify(&p, generated_maps, GENERATED_MAPS, BPF_CONTEXT_XDP, 0, BPF_LIMITS_DEFAULT, &memory, notes, &verdict);
	*why = verdict.why;
	return verdict.ok;
}

static int linux_program(const struct generated *g, const struct maps *m, char *why, size_t why_bytes)
{
	static struct bpf_insn insns[GENERATED_MAX];
	memcpy(insns, g->insns, g->count * sizeof *insns);
	for (uint32_t i = 0; i < g->count; i++)
		if (bpf_is_wide(&insns[i]) && insns[i].src == BPF_WIDE_MAP)
			insns[i].imm = m->theirs[insns[i].imm];
	return linux_load(insns, g->count, why, why_bytes);
}

static bool compare_runs(const struct generated *g, const struct bpf_note *notes, const struct bpf_env *env,
                         const struct executable *x, int program, struct maps *m, struct random *r)
{
	static struct outcome in_linux, compiled, interpreted;
	const struct bpf_program p = {.insns = g->insns, .count = g->count};
	struct contents before;
	uint8_t packet[PACKET_MAX];
	const uint32_t bytes = 14 + random_below(r, random_below(r, 4) ? 100 : PACKET_MAX - 14);
	for (uint32_t i = 0; i < bytes; i++)
		packet[i] = (uint8_t)random_next(r);
	random_contents(&before, r);

	memcpy(in_linux.packet, packet, bytes);
	in_linux.bytes = bytes;
	put_linux(m, &before);
	uint32_t result;
	const int error = linux_run(program, in_linux.packet, &in_linux.bytes, FRAME, &result);
	if (error) {
		printf("BPF_PROG_TEST_RUN: %s\n", strerror(-error));
		return false;
	}
	in_linux.result = result;
	get_linux(m, &before, &in_linux.maps);

	put_ours(m, &before);
	make_frame(&frame_now, packet, bytes);
	if (!run_interpreted(&p, notes, env, &interpreted))
		return false;
	get_ours(m, &interpreted.maps);

	put_ours(m, &before);
	make_frame(&frame_now, packet, bytes);
	run_compiled(x, &compiled);
	get_ours(m, &compiled.maps);

	const char *with_linux = difference(&in_linux, &compiled), *ours = difference(&interpreted, &compiled);
	if (!ours && interpreted.result != compiled.result)
		ours = "upper half of R0";
	if (with_linux)
		printf("compiled and Linux differ in: %s (R0 %lx, %lx)\n", with_linux, compiled.result, in_linux.result);
	if (ours)
		printf("compiled and interpreted differ in: %s (R0 %lx, %lx)\n", ours, compiled.result, interpreted.result);
	total.packets++;
	return !with_linux && !ours;
}

static bool run_program(const struct generated *g, struct bpf_note *notes, int program, struct maps *m,
                        struct random *r)
{
	static bpf_helper helpers[BPF_HELPERS];
	bpf_map_helpers(helpers);
	host_helpers(helpers);
	const bool direct = random_below(r, 4) != 0;
	const struct bpf_env env = {.maps = m->pointers, .map_count = GENERATED_MAPS, .helpers = helpers,
	                            .helper_count = BPF_HELPERS, .lookup_for = direct ? bpf_map_lookup_for : NULL,
	                            .core = direct ? &bpf_core : NULL};
	const struct bpf_program p = {.insns = g->insns, .count = g->count};
	struct bpf_reason why;
	struct executable x;
	if (!executable_make(&x, &p, notes, &env, &why)) {
		printf("the compiler refuses what the verifier accepts: %s\n", why.text);
		return false;
	}
	bool ok = true;
	for (unsigned n = 0; n < PACKETS && ok; n++)
		ok = compare_runs(g, notes, &env, &x, program, m, r);
	executable_free(&x);
	total.ran++;
	total.insns += g->count;
	return ok;
}

/* One program of that seed. */
static bool test(uint64_t seed, struct maps *m, const struct generate_for *kernel)
{
	static struct generated g;
	static struct bpf_note notes[GENERATED_MAX];
	struct random r = {seed};
	struct bpf_reason ours = {""};
	char theirs[160] = "";
	generate(&g, &r, kernel);
	total.programs++;
	const int program = linux_program(&g, m, theirs, sizeof theirs);
	const bool we_accept = our_verdict(&g, notes, &ours);
	bool ok = true;
	if (program < 0)
		refused("Linux", theirs, seed);
	if (!we_accept)
		refused("Hayate", ours.text, seed);
	if (program >= 0 && we_accept)
		ok = run_program(&g, notes, program, m, &r);
	total.linux_only += program >= 0 && !we_accept;
	total.ours_only += program < 0 && we_accept;
	total.neither += program < 0 && !we_accept;
	if (program >= 0)
		close(program);
	if (!ok) {
		printf("repeat: bpf-differential --seed %lu --programs 1\n", seed);
		show(&g);
	}
	return ok;
}

static void report(void)
{
	printf("%lu programs, %lu of them run (%lu instructions), on %lu packets; refused by Hayate alone %lu, by "
	       "Linux alone %lu, by both %lu\n",
	       total.programs, total.ran, total.insns, total.packets, total.linux_only, total.ours_only, total.neither);
	for (const struct reason *r = reasons; r < reasons + REASONS && r->times; r++)
		printf("  %6u  %s refuses: %s (seed %lu)\n", r->times, r->who, r->text, r->seed);
}

static uint64_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

int main(int argc, char **argv)
{
	uint64_t seed = (uint64_t)time(NULL) * 1000003, programs = 2000, seconds = 0;
	bool only_show = false;
	for (int i = 1; i < argc; i++) {
		const bool more = i + 1 < argc;
		if (!strcmp(argv[i], "--seed") && more)
			seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--programs") && more)
			programs = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--seconds") && more)
			seconds = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--show"))
			only_show = true;
		else
			return fprintf(stderr, "usage: bpf-differential [--seed N] [--programs N | --seconds N] [--show]\n"), 2;
	}
	if (!linux_allows_bpf()) {
		fprintf(stderr, "this kernel lets this process load no programs\n");
		return 2;
	}
	const struct generate_for kernel = {.v4 = linux_knows_v4(), .csum = linux_release() >= 6013,
	                                    .fetch_is_load = linux_fetch_is_load(),
	                                    .cmpxchg_extends = linux_cmpxchg_extends()};
	host_meta_max = linux_meta_max();
	if (only_show) {
		static struct generated g;
		generate(&g, &(struct random){seed}, &kernel);
		show(&g);
		return 0;
	}
	printf("seed %lu, instructions of -mcpu=%s%s%s\n", seed, kernel.v4 ? "v4" : "v3",
	       kernel.fetch_is_load ? "" : "; not compared: values fetched from a known slot of the stack",
	       kernel.cmpxchg_extends ? "" : "; not compared: the upper half of R0 after a 32-bit CMPXCHG");
	static struct maps maps;
	make_maps(&maps);
	const uint64_t end = now_s() + seconds;
	for (uint64_t n = 0; seconds ? now_s() < end : n < programs; n++)
		if (!test(seed + n, &maps, &kernel))
			return report(), 1;
	report();
	return 0;
}
