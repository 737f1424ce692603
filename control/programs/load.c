/*
 * From the bytes of an ELF file to an object; see programs.h.
 *
 * In slices of SLICE_NS, so that the control core sees to its other duties between them: BFD, the console,
 * and with one CPU the packets. Longer is what has no seams: reading a file, making a map (its memory is
 * zeroed), preparing the verification and the compilation of a large program, writing its code. `show xdp`
 * has the longest slice of each object.
 *
 * Working memory is taken once, with the first load, and kept, also for the next control program: private memory
 * is never given back. It need not be zeroed, because bpf_take zeroes what it gives. It is at most an eighth of the
 * memory left, because a control program that takes over needs the rest. The verifier gets what the loader leaves
 * of it.
 */
#include "control/programs/programs.h"

#include "bpf/compile.h"
#include "bpf/helpers.h"
#include "bpf/object/object.h"
#include "bpf/object/reason.h"
#include "bpf/verify.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"
#include "runtime/runtime.h"

#define SLICE_NS (250 * 1000ull)
#define SLICE_STEPS 128 /* of the verifier, between looks at the clock */
#define SLICE_INSNS 32 /* of the compiler */
#define WORK_LEAST (4u << 20)
#define WORK_MOST (BPF_VERIFY_MEMORY + (24u << 20))

static const struct siphash_key seal_key = {0x6879617465206b65, 0x70742070726f6772};

static struct {
	uint8_t *at;
	size_t bytes;
} work;

uint64_t programs_seal_of(const struct programs_object *o)
{
	return siphash24(&seal_key, o->name, sizeof *o - offsetof(struct programs_object, name));
}

/* --- memory --- */

static bool take_work(struct bpf_reason *why)
{
	const size_t bytes = u64_min(u64_max(core_private_left() / 8, WORK_LEAST), WORK_MOST);
	if (!work.at)
		work.at = core_persist_find(CORE_PERSIST_PROGRAMS_WORK, &work.bytes);
	if (!work.at) {
		work.at = core_persist_alloc(CORE_PERSIST_PROGRAMS_WORK, bytes);
		work.bytes = work.at ? bytes : 0;
	}
	return work.at || object_refuse(why, "there is not enough memory to load programs");
}

/* --- programs --- */

static const bpf_helper *helper_table(void)
{
	static bpf_helper table[BPF_HELPERS];
	if (!table[BPF_FN_KTIME_GET_NS]) {
		bpf_map_helpers(table);
		for (unsigned i = 0; i < BPF_HELPERS; i++)
			if (xdp_helper(i))
				table[i] = xdp_helper(i);
	}
	return table;
}

/* --- slices --- */

/* What the next slice does. */
enum stage { STAGE_MAPS, STAGE_BEGIN, STAGE_VERIFY, STAGE_MEASURE, STAGE_WRITE };

/* The object that is being loaded. */
static struct {
	struct programs_object *o;           /* NULL: none */
	const struct programs_object *before;
	struct bpf_object *from;             /* in the working memory, as all that follows */
	struct bpf_memory memory, rest;      /* rest: of the program in hand */
	enum stage stage;
	struct bpf_note *notes;
	struct verifier *verifier;
	struct bpf_verdict verdict;
	struct compiler *compiler;           /* NULL: it is to begin */
	uint8_t *out;
	struct bpf_code code;
	struct bpf_env env;
	struct bpf_map *maps[BPF_OBJECT_MAPS];
	uint64_t verify_tsc, compile_tsc, longest_tsc; /* ticks, of all slices and of the longest */
} load;

/* The program in hand. */
static struct programs_program *program(void) { return &load.o->programs[load.o->program_count - 1]; }
static const struct bpf_program *source(void) { return &load.from->programs[load.o->program_count - 1]; }

static bool begin_program(struct bpf_reason *why)
{
	const struct bpf_program *p = &load.from->programs[load.o->program_count++];
	struct programs_program *to = program();
	memcpy(to->name, p->name, sizeof to->name);
	memcpy(to->section, p->section, sizeof to->section);
	to->priority = p->priority;
	to->chain_on = p->chain_on;
	to->insns = p->count;
	load.rest = load.memory; /* the next program has it again */
	load.notes = bpf_take(&load.rest, p->count * sizeof *load.notes);
	if (!load.notes)
		return object_refuse(why, "program %s: there is not enough memory to verify it", p->name);
	const struct bpf_limits most = BPF_LIMITS_DEFAULT, limits = {PROGRAMS_STEPS, most.states};
	load.verifier = bpf_verify_begin(p, load.from->maps, load.from->map_count, BPF_CONTEXT_XDP, 0, limits,
	                                 load.rest, load.notes, &load.verdict);
	load.stage = STAGE_VERIFY;
	return load.verifier || object_refuse(why, "program %s: %s", p->name, load.verdict.why.text);
}

static bool verify(struct bpf_reason *why)
{
	struct programs_program *p = program();
	if (!bpf_verify_go(load.verifier, SLICE_STEPS))
		return true;
	if (!load.verdict.ok)
		return object_refuse(why, "program %s: %s", p->name, load.verdict.why.text);
	p->steps = load.verdict.steps;
	p->states = load.verdict.states;
	p->stack = load.verdict.stack;
	p->changes = load.verdict.writes_packet;
	p->tail_calls = load.verdict.tail_calls;
	load.stage = STAGE_MEASURE;
	return true;
}

/* An address near what the code's will be; NULL: there is no memory. */
static uint8_t *near_code(void)
{
	uint8_t *there = core_region_alloc(REGION_CODE, CORE_REGION_ALIGN);
	if (there)
		core_region_free(REGION_CODE, there, CORE_REGION_ALIGN);
	return there;
}

/* Begins to compile for p->code, or, the first time, for any place, to learn how long the code is. */
static bool begin_compiling(struct bpf_reason *why)
{
	struct programs_program *p = program();
	struct bpf_memory memory = load.rest;
	const size_t room = bpf_code_room(p->insns);
	uint8_t *at = p->code ? p->code : near_code();
	load.out = bpf_take(&memory, room);
	if (!at || !load.out)
		return object_refuse(why, "program %s: there is not enough memory to compile it", p->name);
	for (unsigned i = 0; i < load.o->map_count; i++)
		load.maps[i] = load.o->maps[i].map;
	load.env = (struct bpf_env){.maps = load.maps, .map_count = load.o->map_count, .helpers = helper_table(),
	                            .helper_count = BPF_HELPERS};
	load.compiler = bpf_compile_begin(source(), load.notes, &load.env, (uint64_t)(uintptr_t)at, load.out, room,
	                                  memory, &load.code, why);
	return load.compiler != NULL;
}

/* The length of the code is known: takes its memory. */
static bool place_code(struct bpf_reason *why)
{
	struct programs_program *p = program();
	p->code_bytes = load.code.bytes;
	p->where = core_region_alloc(REGION_CONTROL, p->insns * sizeof *p->where);
	p->code = core_region_alloc(REGION_CODE, p->code_bytes);
	load.stage = STAGE_WRITE;
	return (p->where && p->code) ||
	       object_refuse(why, "program %s: there is not enough memory for its code", p->name);
}

static bool write_code(struct bpf_reason *why)
{
	struct programs_program *p = program();
	memcpy(p->where, load.code.where, p->insns * sizeof *p->where);
	load.stage = STAGE_BEGIN;
	return (load.code.bytes <= p->code_bytes && core_code_write(p->code, load.out, load.code.bytes) == E_OK) ||
	       object_refuse(why, "program %s: its code cannot be written", p->name);
}

static bool compile(struct bpf_reason *why)
{
	if (!load.compiler)
		return begin_compiling(why);
	if (!bpf_compile_go(load.compiler, SLICE_INSNS))
		return true;
	load.compiler = NULL;
	return load.code.ok && (load.stage == STAGE_WRITE ? write_code(why) : place_code(why));
}

static bool make_map(struct bpf_reason *why)
{
	if (load.o->map_count == load.from->map_count) {
		programs_keep_layouts(load.o, load.from);
		load.stage = STAGE_BEGIN;
		return true;
	}
	return programs_make_map(load.o, &load.from->maps[load.o->map_count], load.before, why);
}

static bool go(struct bpf_reason *why)
{
	switch (load.stage) {
	case STAGE_MAPS: return make_map(why);
	case STAGE_BEGIN: return begin_program(why);
	case STAGE_VERIFY: return verify(why);
	case STAGE_MEASURE: case STAGE_WRITE: return compile(why);
	}
	return false;
}

static bool is_done(void)
{
	return load.stage == STAGE_BEGIN && load.o->program_count == load.from->program_count;
}

/* A tail call leads to a program of the same object, which one is not known. */
static void follow_tail_calls(struct programs_object *o)
{
	bool any = false;
	for (unsigned i = 0; i < o->program_count; i++)
		any |= o->programs[i].changes;
	for (unsigned i = 0; i < o->program_count; i++)
		o->programs[i].changes |= any && o->programs[i].tail_calls;
}

/* The entries of program arrays that the object itself names. */
static bool fill_arrays(const struct programs_object *o, const struct bpf_object *from, struct bpf_reason *why)
{
	for (unsigned i = 0; i < from->slot_count; i++) {
		const struct bpf_slot *s = &from->slots[i];
		const uint64_t code = (uint64_t)(uintptr_t)o->programs[s->program].code;
		if (bpf_prog_array_set(o->maps[s->map].map, s->index, code) != 0)
			return object_refuse(why, "map %s has no index %u", o->maps[s->map].def.name, s->index);
	}
	return true;
}

static void count_time(uint64_t began)
{
	const uint64_t ticks = clock_tsc() - began;
	load.longest_tsc = u64_max(load.longest_tsc, ticks);
}

void programs_load_stop(void)
{
	if (load.o)
		programs_free(load.o, load.before);
	load.o = NULL;
}

bool programs_load_begin(struct text name, const struct programs_object *before, const uint8_t *file, size_t bytes,
                         struct bpf_reason *why)
{
	const uint64_t began = clock_tsc();
	if (!take_work(why))
		return false;
	struct bpf_memory memory = {work.at, work.at + work.bytes};
	struct bpf_object *from = bpf_take(&memory, sizeof *from);
	if (!from || (size_t)(memory.end - memory.at) < BPF_OBJECT_MEMORY(bytes))
		return object_refuse(why, "there is not enough memory to load a file of %u bytes", (unsigned)bytes);
	if (!bpf_object_load(file, bytes, &memory, from, why))
		return false;
	struct programs_object *o = core_region_alloc(REGION_CONTROL, sizeof *o);
	if (!o)
		return object_refuse(why, "there is not enough memory for the object");
	memcpy(o->name, name.at, name.len);
	memcpy(o->license, from->license, sizeof o->license);
	o->file_bytes = (uint32_t)bytes;
	o->version = before ? before->version + 1 : 1;
	memset(&load, 0, sizeof load);
	load.o = o;
	load.before = before;
	load.from = from;
	load.memory = memory;
	count_time(began);
	return true;
}

static bool finish(struct programs_object *o, struct bpf_reason *why)
{
	if (!fill_arrays(o, load.from, why))
		return false;
	follow_tail_calls(o);
	o->verify_us = (uint32_t)clock_us(&self.clock, load.verify_tsc);
	o->compile_us = (uint32_t)clock_us(&self.clock, load.compile_tsc);
	o->longest_us = (uint32_t)clock_us(&self.clock, load.longest_tsc);
	o->loaded_tsc = clock_tsc();
	o->seal = programs_seal_of(o);
	return true;
}

enum programs_progress programs_load_go(struct bpf_reason *why, struct programs_object **loaded)
{
	const uint64_t began = clock_tsc(), end = began + clock_ticks(&self.clock, SLICE_NS);
	bool ok = true;
	while (ok && !is_done() && clock_tsc() < end) {
		const enum stage stage = load.stage;
		const uint64_t tsc = clock_tsc();
		ok = go(why);
		if (stage != STAGE_MAPS)
			*(stage <= STAGE_VERIFY ? &load.verify_tsc : &load.compile_tsc) += clock_tsc() - tsc;
	}
	count_time(began);
	if (ok && !is_done())
		return PROGRAMS_MORE;
	if (!ok || !finish(load.o, why)) {
		programs_load_stop();
		return PROGRAMS_REFUSED;
	}
	*loaded = load.o;
	load.o = NULL;
	return PROGRAMS_DONE;
}
