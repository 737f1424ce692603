/*
 * Random programs in Linux, compiled, and interpreted: results, packets and maps must be equal.
 *
 *   bpf-differential [--seed N] [--programs N | --seconds N] [--mutate] [--show]
 *
 * Each program (generate.c) is given to Linux' verifier and to ours. What both accept runs on random
 * packets, by BPF_PROG_TEST_RUN and here: the interpreter under its own checks, the compiled code as it
 * is. The maps begin with the same random contents. What a verifier refuses is counted by reason and listed
 * at the end. A program with tail calls has a second one to call.
 *
 * --mutate: programs are changed at random (mutate.c), so that most are invalid, and the verdicts of the two verifiers
 * are compared. "Linux alone refuses" is what is to be argued: docs/xdp.md does. What we accept runs here in any case,
 * and the interpreter must find nothing that a verified program may not do. Results are not compared: they may depend on
 * addresses (a mutated jump compares a pointer with a number) or on bytes that nobody wrote.
 *
 * Exit code 0: no difference; 1: a difference, with the seed that repeats it and the program;
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
#include "tests/bpf/contents.h"
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
#define REASONS 512

/* --- one run --- */

struct outcome {
	uint64_t result;
	uint32_t bytes;
	uint8_t packet[FRAME];
	struct contents maps;
};

/* A frame as BPF_PROG_TEST_RUN has it: zeroes around the packet. */
/* A program in Linux and here, with what both verifiers say. */
struct tested {
	struct generated g;
	struct bpf_note notes[GENERATED_MAX];
	struct bpf_program program;
	struct bpf_env env;
	struct bpf_loaded loaded;
	struct executable compiled;
	int in_linux; /* a descriptor, or -errno */
	bool accepted;
	bool comparable; /* what it computes is the same everywhere */
	struct bpf_reason ours;
	char theirs[160];
};

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

static bool run_interpreted(const struct tested *t, struct outcome *o)
{
	struct bpf_run run = {.steps = STEPS, .context = &frame_now.xdp};
	if (!bpf_interpret(&t->program, t->notes, &t->env, (uint64_t)(uintptr_t)&frame_now.xdp, 0, in_packet, &run)) {
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
	return contents_differ(&a->maps, &b->maps);
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

static void verify(struct tested *t)
{
	static uint8_t *lent;
	if (!lent)
		lent = malloc(BPF_VERIFY_MEMORY);
	struct bpf_memory memory = {lent, lent + BPF_VERIFY_MEMORY};
	struct bpf_verdict verdict = {0};
	t->program = (struct bpf_program){.insns = t->g.insns, .count = t->g.count};
	bpf_verify(&t->program, generated_maps, GENERATED_MAPS, BPF_CONTEXT_XDP, 0, BPF_LIMITS_DEFAULT, &memory, t->notes,
	           &verdict);
	t->ours = verdict.why;
	t->accepted = verdict.ok;
}

static void load_in_linux(struct tested *t, const struct maps *m)
{
	static struct bpf_insn insns[GENERATED_MAX];
	const struct generated *g = &t->g;
	memcpy(insns, g->insns, g->count * sizeof *insns);
	for (uint32_t i = 0; i < g->count; i++)
		if (bpf_is_wide(&insns[i]) && (insns[i].src == BPF_WIDE_MAP || insns[i].src == BPF_WIDE_VALUE))
			insns[i].imm = (uint32_t)insns[i].imm < GENERATED_MAPS ? m->theirs[insns[i].imm] : -1;
	t->theirs[0] = 0;
	t->in_linux = linux_load(insns, g->count, t->theirs, sizeof t->theirs);
}

/* False: a mutated call names a helper that only the image has, such as bpf_get_prandom_u32. */
static bool has_helpers(const struct generated *g, const bpf_helper *helpers)
{
	for (uint32_t i = 0; i < g->count; i++) {
		const struct bpf_insn *insn = &g->insns[i];
		if (insn->opcode == (BPF_JMP | BPF_CALL) && insn->src == BPF_CALL_HELPER && insn->imm != BPF_FN_TAIL_CALL &&
		    ((uint32_t)insn->imm >= BPF_HELPERS || !helpers[insn->imm]))
			return false;
	}
	return true;
}

/* Both verdicts, and machine code if both accept. False: the compiler refuses it. */
static bool make(struct tested *t, struct maps *m, struct random *r, uint64_t seed, bool mutated)
{
	static bpf_helper helpers[BPF_HELPERS];
	bpf_map_helpers(helpers);
	host_helpers(helpers);
	load_in_linux(t, m);
	verify(t);
	const bool alone = t->accepted != (t->in_linux >= 0);
	if (t->in_linux < 0 && (alone || !mutated))
		refused(alone ? "Linux alone" : "Linux", t->theirs, seed);
	if (!t->accepted && (alone || !mutated))
		refused(alone ? "Hayate alone" : "Hayate", t->ours.text, seed);
	const bool direct = random_below(r, 4) != 0;
	t->env = (struct bpf_env){.maps = m->pointers, .map_count = GENERATED_MAPS, .helpers = helpers,
	                          .helper_count = BPF_HELPERS, .lookup_for = direct ? bpf_map_lookup_for : NULL,
	                          .core = direct ? &bpf_core : NULL};
	t->loaded = (struct bpf_loaded){&t->program, t->notes, &t->env};
	t->compiled = (struct executable){0};
	struct bpf_reason why;
	if (mutated && !has_helpers(&t->g, helpers))
		t->accepted = false; /* the verdict has been compared; it cannot run here */
	if (!t->accepted || executable_make(&t->compiled, &t->program, t->notes, &t->env, &why))
		return true;
	printf("the compiler refuses what the verifier accepts: %s\n", why.text);
	return false;
}

/* It calls no helper that the host has not. */
static bool can_run(const struct tested *t)
{
	for (uint32_t i = 0; i < t->g.count; i++) {
		const struct bpf_insn *insn = &t->g.insns[i];
		if (insn->opcode == (BPF_JMP | BPF_CALL) && insn->src == BPF_CALL_HELPER && insn->imm != BPF_FN_TAIL_CALL &&
		    (insn->imm < 0 || insn->imm >= BPF_HELPERS || !t->env.helpers[insn->imm]))
			return false;
	}
	return true;
}

static bool both_accept(const struct tested *t)
{
	return t->in_linux >= 0 && t->accepted;
}

static void unmake(struct tested *t)
{
	if (t->in_linux >= 0)
		close(t->in_linux);
	executable_free(&t->compiled);
}

/* Slot `index` of the program array leads to this program; NULL: to none. */
static void fill_slot(struct maps *m, uint32_t index, const struct tested *t)
{
	const int progs = m->theirs[GENERATED_PROGS];
	if (t)
		linux_map_update(progs, &index, &t->in_linux);
	else
		linux_map_delete(progs, &index);
}

static void fill_ours(struct maps *m, const struct tested *t, const struct tested *other, bool interpreted)
{
	struct bpf_map *progs = &m->map[GENERATED_PROGS];
	bpf_prog_array_set(progs, SLOT_ITSELF, (uint64_t)(interpreted ? (uintptr_t)&t->loaded : (uintptr_t)t->compiled.at));
	if (!other)
		bpf_prog_array_set(progs, SLOT_OTHER, 0);
	else
		bpf_prog_array_set(progs, SLOT_OTHER,
		                   (uint64_t)(interpreted ? (uintptr_t)&other->loaded : (uintptr_t)other->compiled.at));
}

static bool run_in_linux(const struct tested *t, struct maps *m, const struct contents *before, const uint8_t *packet,
                         uint32_t bytes, struct outcome *o)
{
	uint32_t result;
	memcpy(o->packet, packet, bytes);
	o->bytes = bytes;
	contents_put_linux(m, before);
	const int error = linux_run(t->in_linux, o->packet, &o->bytes, FRAME, &result);
	if (error)
		printf("BPF_PROG_TEST_RUN: %s\n", strerror(-error));
	o->result = result;
	contents_get_linux(m, &o->maps);
	return error == 0;
}

static bool compare_runs(const struct tested *t, const struct tested *other, struct maps *m, struct random *r)
{
	static struct outcome in_linux, compiled, interpreted;
	static struct contents before;
	const char *with_linux = NULL, *ours = NULL;
	uint8_t packet[PACKET_MAX];
	const uint32_t bytes = 14 + random_below(r, random_below(r, 4) ? 100 : PACKET_MAX - 14);
	for (uint32_t i = 0; i < bytes; i++)
		packet[i] = (uint8_t)random_next(r);
	contents_random(&before, r);

	if (t->in_linux >= 0 && !run_in_linux(t, m, &before, packet, bytes, &in_linux))
		return false;
	contents_put_ours(m, &before);
	fill_ours(m, t, other, true);
	make_frame(&frame_now, packet, bytes);
	if (!run_interpreted(t, &interpreted))
		return false;
	contents_get_ours(m, &interpreted.maps);

	contents_put_ours(m, &before);
	fill_ours(m, t, other, false);
	make_frame(&frame_now, packet, bytes);
	run_compiled(&t->compiled, &compiled);
	contents_get_ours(m, &compiled.maps);

	if (t->comparable && t->in_linux >= 0)
		with_linux = difference(&in_linux, &compiled);
	if (t->comparable)
		ours = difference(&interpreted, &compiled);
	if (t->comparable && !ours && interpreted.result != compiled.result)
		ours = "upper half of R0";
	if (with_linux)
		printf("compiled and Linux differ in: %s (R0 %lx, %lx)\n", with_linux, compiled.result, in_linux.result);
	if (ours)
		printf("compiled and interpreted differ in: %s (R0 %lx, %lx)\n", ours, compiled.result, interpreted.result);
	total.packets++;
	return !with_linux && !ours;
}

static bool run_program(const struct tested *t, const struct tested *other, struct maps *m, struct random *r)
{
	bool ok = true;
	if (t->g.tail_calls && t->in_linux >= 0) {
		fill_slot(m, SLOT_ITSELF, t);
		fill_slot(m, SLOT_OTHER, other);
	}
	for (unsigned n = 0; n < PACKETS && ok; n++)
		ok = compare_runs(t, other, m, r);
	if (t->g.tail_calls && t->in_linux >= 0) /* the array holds the programs */
		for (uint32_t slot = SLOT_OTHER; slot <= SLOT_ITSELF; slot++)
			fill_slot(m, slot, NULL);
	total.ran++;
	total.insns += t->g.count;
	return ok;
}

/* One program of that seed, and the one that its tail calls lead to. */
static bool test(uint64_t seed, struct maps *m, const struct generate_for *kernel, bool mutated)
{
	static struct tested t, other;
	struct random r = {seed};
	generate(&t.g, &r, kernel);
	if (mutated)
		mutate(&t.g, &r);
	t.comparable = !mutated;
	const bool with_other = t.g.tail_calls && !mutated;
	if (with_other)
		generate(&other.g, &r, kernel);
	total.programs++;
	bool ok = make(&t, m, &r, seed, mutated);
	if (ok && with_other)
		ok = make(&other, m, &r, seed, mutated);
	const bool leads = ok && with_other && both_accept(&other);
	if (ok && t.accepted && can_run(&t))
		ok = run_program(&t, leads ? &other : NULL, m, &r);
	total.linux_only += t.in_linux >= 0 && !t.accepted;
	total.ours_only += t.in_linux < 0 && t.accepted;
	total.neither += t.in_linux < 0 && !t.accepted;
	unmake(&t);
	if (with_other)
		unmake(&other);
	if (!ok) {
		printf("repeat: bpf-differential%s --seed %lu --programs 1\n", mutated ? " --mutate" : "", seed);
		show(&t.g);
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
	bool only_show = false, mutated = false;
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
		else if (!strcmp(argv[i], "--mutate"))
			mutated = true;
		else
			return fprintf(stderr, "usage: bpf-differential [--seed N] [--programs N | --seconds N] [--mutate] [--show]\n"), 2;
	}
	if (!linux_allows_bpf()) {
		fprintf(stderr, "this kernel lets this process load no programs\n");
		return 2;
	}
	const struct generate_for kernel = {.v4 = linux_knows_v4(), .csum = linux_release() >= 6013,
	                                    .tries = linux_release() >= 6013,
	                                    .empty_is_free = linux_empty_slots_are_free(),
	                                    .fetch_is_load = linux_fetch_is_load(),
	                                    .cmpxchg_extends = linux_cmpxchg_extends()};
	host_meta_max = linux_meta_max();
	if (only_show) {
		static struct generated g;
		struct random r = {seed};
		generate(&g, &r, &kernel);
		if (mutated)
			mutate(&g, &r);
		show(&g);
		return 0;
	}
	printf("seed %lu, instructions of -mcpu=%s%s%s\n", seed, kernel.v4 ? "v4" : "v3",
	       kernel.fetch_is_load ? "" : "; not compared: values fetched from a known slot of the stack",
	       kernel.cmpxchg_extends ? "" : "; not compared: the upper half of R0 after a 32-bit CMPXCHG");
	static struct maps maps;
	maps_make(&maps);
	const uint64_t end = now_s() + seconds;
	for (uint64_t n = 0; seconds ? now_s() < end : n < programs; n++)
		if (!test(seed + n, &maps, &kernel, mutated))
			return report(), 1;
	report();
	return 0;
}
