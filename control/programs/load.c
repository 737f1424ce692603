/*
 * From the bytes of an ELF file to an object; see programs.h.
 *
 * Working memory is taken once, with the first load, and kept, also for the next control program: private
 * memory is never given back, and a control program that takes over needs what is left. It is at most an
 * eighth of that. The verifier gets what the loader leaves of it.
 */
#include "control/programs/programs.h"

#include "bpf/compile.h"
#include "bpf/helpers.h"
#include "bpf/object/object.h"
#include "bpf/object/reason.h"
#include "bpf/verify.h"
#include "control/console/serial.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"
#include "runtime/runtime.h"

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

static uint64_t us_since(uint64_t tsc)
{
	return clock_us(&self.clock, clock_tsc() - tsc);
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

/* The number of parts of a map's own memory, by core: data cores have theirs in REGION_OWN. */
static void own_of(const struct programs_map *m, uint8_t *own[BPF_CORES_MAX])
{
	for (unsigned c = 0; c < BPF_CORES_MAX; c++)
		own[c] = m->own_control;
	for (unsigned d = 0; m->own && d < self.info->data_cores; d++)
		own[self.info->first_data_core + d] = core_region_own(m->own, d);
}

static void free_map(const struct programs_map *m)
{
	if (m->map)
		core_region_free(REGION_CONTROL, m->map, sizeof *m->map);
	if (m->shared)
		core_region_free((enum region_kind)m->region, m->shared, m->shared_bytes);
	if (m->own)
		core_region_free(REGION_OWN, m->own, m->own_bytes);
	if (m->own_control)
		core_region_free(REGION_CONTROL, m->own_control, m->own_bytes);
}

static bool has_map(const struct programs_object *o, const struct bpf_map *map)
{
	for (unsigned i = 0; o && i < o->map_count; i++)
		if (o->maps[i].map == map)
			return true;
	return false;
}

void programs_free(struct programs_object *o, const struct programs_object *other)
{
	for (unsigned i = 0; i < o->program_count; i++) {
		const struct programs_program *p = &o->programs[i];
		if (p->code)
			core_region_free(REGION_CODE, p->code, p->code_bytes);
		if (p->where)
			core_region_free(REGION_CONTROL, p->where, p->insns * sizeof *p->where);
	}
	for (unsigned i = 0; i < o->map_count; i++)
		if (!has_map(other, o->maps[i].map))
			free_map(&o->maps[i]);
	core_region_free(REGION_CONTROL, o, sizeof *o);
}

/* Claims it unless another object, whose map this is too, has done so. */
static bool claim(enum region_kind kind, void *at, size_t bytes)
{
	return !at || core_region_claim(kind, at, bytes);
}

static bool claim_map(const struct programs_map *m)
{
	return claim(REGION_CONTROL, m->map, sizeof *m->map) &&
	       claim((enum region_kind)m->region, m->shared, m->shared_bytes) &&
	       claim(REGION_OWN, m->own, m->own_bytes) &&
	       claim(REGION_CONTROL, m->own_control, m->own_bytes);
}

bool programs_claim(const struct programs_object *o, const struct programs_object *claimed)
{
	bool there = true;
	for (unsigned i = 0; there && i < o->program_count; i++) {
		const struct programs_program *p = &o->programs[i];
		there = claim(REGION_CODE, p->code, p->code_bytes) &&
		        claim(REGION_CONTROL, p->where, p->insns * sizeof *p->where);
	}
	for (unsigned i = 0; there && i < o->map_count; i++)
		there = has_map(claimed, o->maps[i].map) || claim_map(&o->maps[i]);
	return there;
}

/* --- maps --- */

static bool same_shape(const struct bpf_map_def *a, const struct bpf_map_def *b)
{
	return strcmp(a->name, b->name) == 0 && a->type == b->type && a->key_bytes == b->key_bytes &&
	       a->value_bytes == b->value_bytes && a->entries == b->entries && a->flags == b->flags;
}

/* The map of the object before that goes on as `def`; NULL: a new one is made. Sections and program arrays
 * belong to the code. */
static const struct programs_map *map_before(const struct programs_object *before, const struct bpf_map_def *def)
{
	if (!before || def->is_data || def->type == BPF_MAP_PROG_ARRAY)
		return NULL;
	for (unsigned i = 0; i < before->map_count; i++)
		if (!before->maps[i].def.is_data && same_shape(&before->maps[i].def, def))
			return &before->maps[i];
	return NULL;
}

static bool make_map(struct programs_map *m, const struct bpf_map_def *def, struct bpf_reason *why)
{
	const unsigned cores = self.info->cores;
	const bool constant = def->is_data && def->flags & BPF_F_RDONLY_PROG;
	uint64_t key[2];
	uint8_t *own[BPF_CORES_MAX];
	m->def = *def;
	m->def.initial = NULL;
	m->region = constant || bpf_map_place(def) == BPF_PLACE_CONTROL ? REGION_CONTROL : REGION_SHARED;
	m->shared_bytes = bpf_map_shared_bytes(def, cores);
	m->own_bytes = bpf_map_own_bytes(def, cores);
	m->map = core_region_alloc(REGION_CONTROL, sizeof *m->map);
	if (m->map && m->shared_bytes)
		m->shared = core_region_alloc((enum region_kind)m->region, m->shared_bytes);
	if (m->map && m->own_bytes)
		m->own = core_region_alloc(REGION_OWN, m->own_bytes);
	if (m->own && !(self.roles & CORE_DATA))
		m->own_control = core_region_alloc(REGION_CONTROL, m->own_bytes);
	if (!m->map || (m->shared_bytes && !m->shared) || (m->own_bytes && !m->own) ||
	    (m->own && !(self.roles & CORE_DATA) && !m->own_control))
		return object_refuse(why, "map %s: there is not enough memory for its %llu KiB", def->name,
		                     (unsigned long long)(m->shared_bytes + m->own_bytes * self.info->data_cores) / 1024);
	own_of(m, own);
	core_random(key, sizeof key);
	bpf_map_init(m->map, def, m->shared, own, cores, key);
	return true;
}

static bool make_maps(struct programs_object *o, const struct bpf_object *from,
                      const struct programs_object *before, struct bpf_reason *why)
{
	for (unsigned i = 0; i < from->map_count; i++) {
		const struct bpf_map_def *def = &from->maps[i];
		const struct programs_map *was = map_before(before, def);
		struct programs_map *m = &o->maps[o->map_count];
		if (!bpf_map_check(def, why))
			return false;
		o->map_count++;
		if (was) {
			*m = *was;
			m->kept = true;
		} else if (!make_map(m, def, why)) {
			return false;
		}
	}
	return true;
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

static bool verify(struct programs_program *p, const struct bpf_program *from, const struct bpf_object *object,
                   struct bpf_memory memory, struct bpf_note *notes, struct bpf_reason *why)
{
	const struct bpf_limits most = BPF_LIMITS_DEFAULT, limits = {PROGRAMS_STEPS, most.states};
	struct bpf_verdict verdict = {0};
	bpf_verify(from, object->maps, object->map_count, BPF_CONTEXT_XDP, 0, limits, &memory, notes, &verdict);
	if (!verdict.ok)
		return object_refuse(why, "program %s: %s", from->name, verdict.why.text);
	p->insns = from->count;
	p->steps = verdict.steps;
	p->states = verdict.states;
	p->stack = verdict.stack;
	p->changes = verdict.writes_packet;
	p->tail_calls = verdict.tail_calls;
	return true;
}

/* Compiles for the address p->code, or, the first time, for any, to learn how long the code is. */
static bool compile_at(struct programs_program *p, const struct bpf_program *from, const struct bpf_note *notes,
                       const struct bpf_env *env, uint64_t at, struct bpf_memory memory, struct bpf_reason *why)
{
	const size_t room = bpf_code_room(from->count);
	uint8_t *out = bpf_take(&memory, room);
	uint32_t *where = bpf_take(&memory, from->count * sizeof *where);
	struct bpf_code code = {.where = where};
	if (!out || !where)
		return object_refuse(why, "program %s: there is not enough memory to compile it", from->name);
	if (!bpf_compile(from, notes, env, at, out, room, &memory, &code, why))
		return false;
	if (!p->code) {
		p->code_bytes = code.bytes;
		return true;
	}
	memcpy(p->where, where, from->count * sizeof *where);
	if (code.bytes > p->code_bytes || core_code_write(p->code, out, code.bytes) != E_OK)
		return object_refuse(why, "program %s: its code cannot be written", from->name);
	return true;
}

static bool compile(struct programs_program *p, const struct bpf_program *from, const struct bpf_note *notes,
                    const struct bpf_env *env, struct bpf_memory memory, struct bpf_reason *why)
{
	void *there = core_region_alloc(REGION_CODE, CORE_REGION_ALIGN); /* near what the code will be */
	if (!there)
		return object_refuse(why, "there is not enough memory for code");
	const bool ok = compile_at(p, from, notes, env, (uint64_t)(uintptr_t)there, memory, why);
	core_region_free(REGION_CODE, there, CORE_REGION_ALIGN);
	if (!ok)
		return false;
	p->where = core_region_alloc(REGION_CONTROL, from->count * sizeof *p->where);
	p->code = core_region_alloc(REGION_CODE, p->code_bytes);
	if (!p->where || !p->code)
		return object_refuse(why, "program %s: there is not enough memory for its code", from->name);
	return compile_at(p, from, notes, env, (uint64_t)(uintptr_t)p->code, memory, why);
}

static bool make_programs(struct programs_object *o, const struct bpf_object *from, struct bpf_memory *memory,
                          struct bpf_reason *why)
{
	struct bpf_map *maps[BPF_OBJECT_MAPS];
	for (unsigned i = 0; i < o->map_count; i++)
		maps[i] = o->maps[i].map;
	const struct bpf_env env = {.maps = maps, .map_count = o->map_count, .helpers = helper_table(),
	                            .helper_count = BPF_HELPERS};
	for (unsigned i = 0; i < from->program_count; i++) {
		const struct bpf_program *p = &from->programs[i];
		struct programs_program *to = &o->programs[o->program_count++];
		struct bpf_memory rest = *memory; /* the next program has it again */
		struct bpf_note *notes = bpf_take(&rest, p->count * sizeof *notes);
		uint64_t tsc = clock_tsc();
		memcpy(to->name, p->name, sizeof to->name);
		memcpy(to->section, p->section, sizeof to->section);
		to->priority = p->priority;
		to->chain_on = p->chain_on;
		if (!notes)
			return object_refuse(why, "program %s: there is not enough memory to verify it", p->name);
		if (!verify(to, p, from, rest, notes, why))
			return false;
		o->verify_us += (uint32_t)us_since(tsc);
		tsc = clock_tsc();
		if (!compile(to, p, notes, &env, rest, why))
			return false;
		o->compile_us += (uint32_t)us_since(tsc);
	}
	return true;
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

struct programs_object *programs_load(struct text name, const struct programs_object *before,
                                      const uint8_t *file, size_t bytes, struct bpf_reason *why)
{
	if (!take_work(why))
		return NULL;
	struct bpf_memory memory = {work.at, work.at + work.bytes};
	struct bpf_object *from = bpf_take(&memory, sizeof *from);
	if (!from || (size_t)(memory.end - memory.at) < BPF_OBJECT_MEMORY(bytes)) {
		object_refuse(why, "there is not enough memory to load a file of %u bytes", (unsigned)bytes);
		return NULL;
	}
	if (!bpf_object_load(file, bytes, &memory, from, why))
		return NULL;
	struct programs_object *o = core_region_alloc(REGION_CONTROL, sizeof *o);
	if (!o) {
		object_refuse(why, "there is not enough memory for the object");
		return NULL;
	}
	memcpy(o->name, name.at, name.len);
	memcpy(o->license, from->license, sizeof o->license);
	o->file_bytes = (uint32_t)bytes;
	o->version = before ? before->version + 1 : 1;
	o->loaded_tsc = clock_tsc();
	if (!make_maps(o, from, before, why) || !make_programs(o, from, &memory, why) ||
	    !fill_arrays(o, from, why)) {
		programs_free(o, before);
		return NULL;
	}
	follow_tail_calls(o);
	o->seal = programs_seal_of(o);
	return o;
}
