/*
 * The memory of objects, and their maps: made, kept from the object before, claimed after a restart, freed.
 */
#include "control/programs/programs.h"

#include "bpf/layout.h"
#include "bpf/object/reason.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "runtime/runtime.h"

/* --- memory --- */

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

void programs_free(struct programs_object *o, const struct programs_object *after)
{
	for (unsigned i = 0; i < o->program_count; i++) {
		const struct programs_program *p = &o->programs[i];
		if (p->code)
			core_region_free(REGION_CODE, p->code, p->code_bytes);
		if (p->where)
			core_region_free(REGION_CONTROL, p->where, p->insns * sizeof *p->where);
	}
	for (unsigned i = 0; i < o->map_count; i++)
		if (!has_map(after, o->maps[i].map))
			free_map(&o->maps[i]);
	if (o->layouts)
		core_region_free(REGION_CONTROL, o->layouts, o->layout_bytes);
	core_region_free(REGION_CONTROL, o, sizeof *o);
}

/* Claims a piece of memory, if there is one. */
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
	return there && claim(REGION_CONTROL, o->layouts, o->layout_bytes);
}

/* --- making --- */

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

static bool make_new(struct programs_map *m, const struct bpf_map_def *def, struct bpf_reason *why)
{
	const unsigned cores = self.info->cores;
	const bool constant = def->is_data && def->flags & BPF_F_RDONLY_PROG;
	uint64_t key[2];
	uint8_t *own[BPF_CORES_MAX];
	m->def = *def;
	m->def.initial = NULL;
	m->def.layout = NULL;
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
		return object_refuse(
			why, "map %s: there is not enough memory for its %llu KiB", def->name,
			(unsigned long long)(m->shared_bytes + m->own_bytes * self.info->data_cores) / 1024);
	own_of(m, own);
	core_random(key, sizeof key);
	bpf_map_init(m->map, def, m->shared, own, cores, key);
	return true;
}

bool programs_make_map(struct programs_object *o, const struct bpf_map_def *def,
                       const struct programs_object *before, struct bpf_reason *why)
{
	const struct programs_map *was = map_before(before, def);
	struct programs_map *m = &o->maps[o->map_count];
	if (!bpf_map_check(def, why))
		return false;
	o->map_count++;
	if (!was)
		return make_new(m, def, why);
	*m = *was;
	m->def.layout = NULL;
	m->kept = true;
	return true;
}

/* --- names of what keys and values consist of --- */

#define LAYOUT_ALIGN 8

void programs_keep_layouts(struct programs_object *o, const struct bpf_object *from)
{
	uint32_t at = 0;
	for (unsigned i = 0; i < from->map_count; i++)
		at += from->maps[i].layout ? (uint32_t)align_up(from->maps[i].layout->bytes, LAYOUT_ALIGN) : 0;
	o->layouts = at ? core_region_alloc(REGION_CONTROL, at) : NULL;
	o->layout_bytes = o->layouts ? at : 0;
	at = 0;
	for (unsigned i = 0; o->layouts && i < from->map_count; i++) {
		const struct bpf_layout *l = from->maps[i].layout;
		if (!l)
			continue;
		o->maps[i].def.layout = memcpy(o->layouts + at, l, l->bytes);
		at += (uint32_t)align_up(l->bytes, LAYOUT_ALIGN);
	}
}
