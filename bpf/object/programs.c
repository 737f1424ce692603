/*
 * Programs: each global function in a section whose name begins with "xdp" is one, by the order of the
 * code. Behind its own instructions come those of all functions that it calls, directly or not, each once;
 * calls are changed to the places where the functions have come to lie.
 *
 * The entries of program arrays that the object itself fills (libbpf's __array(values, ...)).
 */
#include "bpf/object/loader.h"

#include "bpf/object/reason.h"
#include "bpf/xdp.h"
#include "lib/bytes.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define PRIORITY_DEFAULT 50

/* A function whose calls are being followed, from instruction `next` on. */
struct step {
	struct function *f;
	uint32_t next;
};

/* Functions of the program that is put together. */
struct set {
	struct function *functions[BPF_FUNCTIONS_MAX];
	uint32_t at[BPF_FUNCTIONS_MAX]; /* first instruction in the program */
	uint32_t count;
	uint32_t insns;
	struct step path[BPF_FUNCTIONS_MAX];
};

static bool contains(const struct set *s, const struct function *f)
{
	return f->place < s->count && s->functions[f->place] == f;
}

static bool add(struct loader *l, struct set *s, struct function *f)
{
	const char *first = s->count ? s->functions[0]->name : f->name;
	if (s->count == BPF_FUNCTIONS_MAX)
		return object_refuse(l->why, "program %.60s has more than %d functions", first,
		                     BPF_FUNCTIONS_MAX);
	if (f->count > BPF_INSNS_MAX - s->insns)
		return object_refuse(l->why, "program %.60s has more than %d instructions", first,
		                     BPF_INSNS_MAX);
	if (!object_relocate(l, f))
		return false;
	f->place = s->count;
	s->functions[s->count] = f;
	s->at[s->count++] = s->insns;
	s->insns += f->count;
	return true;
}

static bool is_call(const struct bpf_insn *insn)
{
	return insn->opcode == (BPF_JMP | BPF_CALL) && insn->src == BPF_CALL_LOCAL;
}

static const struct bpf_insn *code_of(const struct loader *l, const struct function *f)
{
	return &l->roles[f->section].code->insns[f->first];
}

/* Adds f and what it calls, in the order of libbpf: a function comes behind those that are there when the
 * first call of it is met, and its own calls are followed at once. */
static bool add_all(struct loader *l, struct set *s, struct function *f)
{
	uint32_t depth = 0;
	s->count = s->insns = 0;
	if (!add(l, s, f))
		return false;
	s->path[depth++] = (struct step){f, 0};
	while (depth) {
		struct step *top = &s->path[depth - 1];
		if (top->next == top->f->count) {
			depth--;
			continue;
		}
		const struct bpf_insn *insn = code_of(l, top->f) + top->next++;
		struct function *callee = is_call(insn) ? &l->functions[insn->imm] : NULL;
		if (!callee || contains(s, callee))
			continue;
		if (!add(l, s, callee))
			return false;
		s->path[depth++] = (struct step){callee, 0}; /* each function once: never deeper than count */
	}
	return true;
}

static void copy_insns(const struct loader *l, const struct set *s, struct bpf_insn *to)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct function *f = s->functions[i];
		struct bpf_insn *out = to + s->at[i];
		memcpy(out, code_of(l, f), f->count * sizeof *out);
		for (uint32_t n = 0; n < f->count; n++)
			if (is_call(&out[n]))
				out[n].imm = (int32_t)s->at[l->functions[out[n].imm].place] -
				             (int32_t)(s->at[i] + n + 1);
	}
}

static bool add_program(struct loader *l, struct set *s, struct function *f)
{
	struct bpf_object *o = l->object;
	if (o->program_count == BPF_OBJECT_PROGRAMS)
		return object_refuse(l->why, "more than %d programs", BPF_OBJECT_PROGRAMS);
	struct bpf_program *p = &o->programs[o->program_count];
	*p = (struct bpf_program){.priority = PRIORITY_DEFAULT, .chain_on = 1u << XDP_PASS};
	if (!object_name(p->name, "program", f->name, l->why) ||
	    !object_section_name(p->section, l->elf.sections[f->section].name, l->why))
		return false;
	for (unsigned i = 0; i < o->program_count; i++)
		if (strcmp(o->programs[i].name, p->name) == 0)
			return object_refuse(l->why, "two programs are called %s", p->name);
	if (!add_all(l, s, f))
		return false;
	struct bpf_insn *insns = bpf_take(l->memory, s->insns * sizeof *insns);
	if (!insns)
		return object_refuse(l->why,
		                     "no memory for program %s: each program has its own copy of what it calls", p->name);
	copy_insns(l, s, insns);
	p->insns = insns;
	p->count = s->insns;
	f->program = (uint8_t)++o->program_count;
	return true;
}

static bool add_section(struct loader *l, struct set *s, const struct code *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct function *f = c->owner[i] ? &l->functions[c->owner[i] - 1] : NULL;
		if (f && f->first == i && f->global && !add_program(l, s, f))
			return false;
	}
	return true;
}

/* No XDP program: names the sections of code that there are. */
static bool refuse_sections(struct loader *l)
{
	char names[160];
	struct fmt_buf b = {names, sizeof names, 0, false};
	names[0] = 0;
	for (unsigned i = 0; i < l->code_section_count; i++)
		fmt_put(&b, "%s%.40s", i ? ", " : "", l->elf.sections[l->code_sections[i]].name);
	return object_refuse(l->why,
	                     "no XDP program: no global function in a section xdp...; sections of code: %s%s",
	                     b.used ? names : "none", b.full ? "..." : "");
}

bool object_load_programs(struct loader *l)
{
	struct set *s = bpf_take(l->memory, sizeof *s);
	if (!s)
		return object_refuse(l->why, "no memory for the list of functions");
	for (unsigned i = 0; i < l->code_section_count; i++) {
		const struct section *section = &l->elf.sections[l->code_sections[i]];
		if (object_begins(section->name, "xdp") && !add_section(l, s, l->roles[l->code_sections[i]].code))
			return false;
	}
	return l->object->program_count ? true : refuse_sections(l);
}

/* --- initial entries of program arrays --- */

/* The map of .maps in which an offset lies, and the index of the entry there. */
static bool find_entry(const struct loader *l, uint32_t section, uint64_t offset, unsigned *map,
                       uint64_t *index)
{
	const struct bpf_object *o = l->object;
	bool found = false;
	for (unsigned i = 0; i < o->map_count; i++)
		if (l->map_section[i] == section && l->map_offset[i] <= offset &&
		    (!found || l->map_offset[i] > l->map_offset[*map])) {
			*map = i;
			found = true;
		}
	if (!found || !l->map_values[*map] || offset - l->map_offset[*map] < l->map_values[*map])
		return false;
	const uint64_t behind = offset - l->map_offset[*map] - l->map_values[*map];
	*index = behind / sizeof(uint64_t);
	return behind % sizeof(uint64_t) == 0 && *index < o->maps[*map].entries;
}

static bool add_slot(struct loader *l, uint32_t section, const struct relocation *r)
{
	struct bpf_object *o = l->object;
	const struct section *s = &l->elf.sections[section];
	const struct symbol *symbol = &l->elf.symbols[r->symbol];
	unsigned map = 0;
	uint64_t index;
	if (!find_entry(l, section, r->offset, &map, &index))
		return object_refuse(l->why,
		                     "section .maps: an address at 0x%llx, where no map has an initial entry",
		                     (unsigned long long)r->offset);
	if (!s->data || r->offset + sizeof(uint64_t) > s->bytes)
		return object_refuse(l->why, "map %s: its initial entries end behind the section",
		                     o->maps[map].name);
	const struct function *f =
		object_function_at(l, symbol->section, symbol->value + raw64_load(s->data + r->offset));
	if (!f || !f->program)
		return object_refuse(l->why, "map %s: entry %llu is not an XDP program of this object (%.60s)",
		                     o->maps[map].name, (unsigned long long)index, symbol->name);
	if (o->slot_count == BPF_OBJECT_SLOTS)
		return object_refuse(l->why, "more than %d initial entries of program arrays",
		                     BPF_OBJECT_SLOTS);
	o->slots[o->slot_count++] = (struct bpf_slot){(uint8_t)map, f->program - 1, (uint32_t)index};
	return true;
}

bool object_load_slots(struct loader *l)
{
	for (uint32_t i = 1; i < l->elf.section_count; i++) {
		const struct section *s = &l->elf.sections[i];
		if (s->type != ELF_REL || s->info >= l->elf.section_count ||
		    strcmp(l->elf.sections[s->info].name, ".maps") != 0)
			continue;
		for (uint32_t k = 0; k < elf_relocations(s); k++) {
			struct relocation r;
			if (!elf_relocation(&l->elf, s, k, &r))
				return object_refuse(l->why,
				                     "relocation %u of section .maps: symbol %u does not exist",
				                     k, r.symbol);
			if (!add_slot(l, s->info, &r))
				return false;
		}
	}
	return true;
}
