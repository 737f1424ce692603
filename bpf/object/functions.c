/*
 * The code of an object: a copy of each section of instructions, the functions in it by the symbol table,
 * and for each instruction the relocation that applies to it.
 */
#include "bpf/object/loader.h"

#include "bpf/object/reason.h"
#include "lib/mem.h"

static bool copy_code(struct loader *l, uint32_t section)
{
	const struct section *s = &l->elf.sections[section];
	if (s->bytes % sizeof(struct bpf_insn))
		return object_refuse(l->why, "section %.60s: %u bytes are not a number of instructions",
		                     s->name, s->bytes);
	struct code *c = bpf_take(l->memory, sizeof *c);
	if (!c)
		return object_refuse(l->why, "no memory for section %.60s", s->name);
	c->count = s->bytes / sizeof(struct bpf_insn);
	c->insns = bpf_take(l->memory, s->bytes);
	c->owner = bpf_take(l->memory, c->count * sizeof *c->owner);
	c->patch = bpf_take(l->memory, c->count * sizeof *c->patch);
	if (!c->insns || !c->owner || !c->patch)
		return object_refuse(l->why, "no memory for the code of section %.60s", s->name);
	memcpy(c->insns, s->data, s->bytes);
	l->roles[section].code = c;
	l->code_sections[l->code_section_count++] = section;
	return true;
}

static bool copy_sections(struct loader *l)
{
	for (uint32_t i = 1; i < l->elf.section_count; i++) {
		const struct section *s = &l->elf.sections[i];
		if (s->type != ELF_PROGBITS || !(s->flags & ELF_EXECUTE) || s->bytes == 0)
			continue;
		if (l->code_section_count == CODE_SECTIONS_MAX)
			return object_refuse(l->why, "more than %d sections of code", CODE_SECTIONS_MAX);
		if (!copy_code(l, i))
			return false;
	}
	return true;
}

/* --- functions --- */

static bool is_function(const struct loader *l, const struct symbol *s)
{
	return s->type == ELF_FUNC && s->section != ELF_UNDEFINED && s->section < ELF_RESERVED &&
	       l->roles[s->section].code;
}

static bool add_function(struct loader *l, const struct symbol *s)
{
	struct code *c = l->roles[s->section].code;
	if (s->value % sizeof(struct bpf_insn) || s->size % sizeof(struct bpf_insn) || s->size == 0)
		return object_refuse(l->why, "function %.60s: offset or size is not a number of instructions",
		                     s->name);
	const uint64_t first = s->value / sizeof(struct bpf_insn), count = s->size / sizeof(struct bpf_insn);
	if (first > c->count || count > c->count - first)
		return object_refuse(l->why, "function %.60s ends behind its section", s->name);
	l->functions[l->function_count++] = (struct function){
		.name = s->name, .section = s->section, .first = (uint32_t)first, .count = (uint32_t)count,
		.global = s->bind != ELF_LOCAL};
	for (uint64_t i = first; i < first + count; i++) {
		if (c->owner[i])
			return object_refuse(l->why, "functions %.60s and %.60s overlap",
			                     l->functions[c->owner[i] - 1].name, s->name);
		c->owner[i] = l->function_count;
	}
	return true;
}

static bool find_functions(struct loader *l)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->elf.symbol_count; i++)
		n += is_function(l, &l->elf.symbols[i]);
	l->functions = bpf_take(l->memory, n * sizeof *l->functions);
	if (!l->functions)
		return object_refuse(l->why, "no memory for %u functions", n);
	for (uint32_t i = 0; i < l->elf.symbol_count; i++)
		if (is_function(l, &l->elf.symbols[i]) && !add_function(l, &l->elf.symbols[i]))
			return false;
	return true;
}

struct function *object_function_at(struct loader *l, uint32_t section, uint64_t offset)
{
	struct code *c = section < l->elf.section_count ? l->roles[section].code : NULL;
	const uint64_t i = offset / sizeof(struct bpf_insn);
	if (!c || offset % sizeof(struct bpf_insn) || i >= c->count || !c->owner[i])
		return NULL;
	struct function *f = &l->functions[c->owner[i] - 1];
	return f->first == i ? f : NULL;
}

/* --- relocations --- */

static bool find_relocations(struct loader *l, const struct section *s)
{
	const char *name = l->elf.sections[s->info].name;
	struct code *c = l->roles[s->info].code;
	struct relocation r;
	if (s->type == ELF_RELA || c->relocations)
		return object_refuse(l->why, "section %.60s: relocations with addends, or in two sections",
		                     name);
	c->relocations = s;
	for (uint32_t i = 0; i < elf_relocations(s); i++) {
		if (!elf_relocation(&l->elf, s, i, &r))
			return object_refuse(l->why, "relocation %u of section %.60s: symbol %u does not exist",
			                     i, name, r.symbol);
		const uint64_t at = r.offset / sizeof(struct bpf_insn);
		if (r.offset % sizeof(struct bpf_insn) || at >= c->count)
			return object_refuse(l->why, "relocation %u of section %.60s is not at an instruction",
			                     i, name);
		if (c->patch[at])
			return object_refuse(l->why, "section %.60s: two relocations of one instruction", name);
		c->patch[at] = i + 1;
	}
	return true;
}

bool object_load_functions(struct loader *l)
{
	if (!copy_sections(l) || !find_functions(l))
		return false;
	for (uint32_t i = 1; i < l->elf.section_count; i++) {
		const struct section *s = &l->elf.sections[i];
		if ((s->type != ELF_REL && s->type != ELF_RELA) || s->info >= l->elf.section_count ||
		    !l->roles[s->info].code)
			continue;
		if (!find_relocations(l, s))
			return false;
	}
	return true;
}
