/*
 * Relocations in a function's instructions (Linux' Documentation/bpf/llvm_reloc.rst). There are two:
 *
 * R_BPF_64_64, at a wide instruction: the address of a map, or a place in a section of data. The addend is
 * the instruction's immediate: static variables are named by their section and an offset.
 * R_BPF_64_32, at a call: the function at the symbol's value plus 8 * (imm + 1). A call in the same section
 * may have none; its imm counts from the next instruction (RFC 9669, 4.3.1).
 *
 * Undefined symbols belong to a running kernel or its configuration (__ksym, __kconfig). A weak one of the
 * kernel's becomes the number 0, as libbpf resolves one that the kernel lacks; others are refused by name.
 */
#include "bpf/object/loader.h"

#include "bpf/object/reason.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define CALL (BPF_JMP | BPF_CALL)

/* An instruction: number n of its function. */
struct site {
	struct loader *l;
	const struct function *f;
	uint32_t n;
	struct bpf_insn *insn;
};

static bool refuse_at(const struct site *at, const char *format, ...) PRINTF_LIKE(2, 3);
static bool refuse_at(const struct site *at, const char *format, ...)
{
	char text[sizeof at->l->why->text];
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(text, sizeof text, format, args);
	__builtin_va_end(args);
	return object_refuse(at->l->why, "instruction %u of function %.60s: %s", at->n, at->f->name, text);
}

static bool is_kconfig(const struct loader *l, const char *name)
{
	const struct btf_type t = btf_type(&l->btf, l->kconfig);
	for (uint32_t i = 0; i < t.vlen; i++) {
		struct btf_member v;
		if (btf_section_variable(&l->btf, &t, i, &v) && strcmp(v.name, name) == 0)
			return true;
	}
	return false;
}

static bool set_wide(const struct site *at, unsigned kind, int32_t low, int32_t high)
{
	at->insn[0].src = kind & 15;
	at->insn[0].imm = low;
	at->insn[1].imm = high;
	return true;
}

static bool relocate_undefined(const struct site *at, const struct symbol *s)
{
	if (is_kconfig(at->l, s->name))
		return refuse_at(at, "%.60s is an option of Linux' configuration (__kconfig), unknown here",
		                 s->name);
	if (s->bind != ELF_WEAK)
		return refuse_at(at,
		                 "%.60s is not in the object: the kernel's symbols (__ksym) do not exist here",
		                 s->name);
	return set_wide(at, BPF_WIDE_NUMBER, 0, 0);
}

static bool relocate_map(const struct site *at, const struct symbol *s, uint64_t offset)
{
	const struct loader *l = at->l;
	for (unsigned i = 0; i < l->object->map_count; i++)
		if (l->map_section[i] == s->section && l->map_offset[i] == offset)
			return set_wide(at, BPF_WIDE_MAP, (int32_t)i, 0);
	return refuse_at(at, "no map begins at the address of %.60s", s->name);
}

static bool relocate_wide(const struct site *at, const struct relocation *r)
{
	const struct loader *l = at->l;
	const struct symbol *s = &l->elf.symbols[r->symbol];
	if (r->type != R_BPF_64_64)
		return refuse_at(at, "a wide instruction has a relocation of type %u", r->type);
	if (s->section == ELF_UNDEFINED)
		return relocate_undefined(at, s);
	if (s->section >= ELF_RESERVED)
		return refuse_at(at, "symbol %.60s is in no section", s->name);
	const struct role *role = &l->roles[s->section];
	const struct section *section = &l->elf.sections[s->section];
	const uint64_t offset = s->value + (uint64_t)(int64_t)at->insn->imm;
	if (role->has_maps)
		return relocate_map(at, s, offset);
	if (role->data && offset < section->bytes)
		return set_wide(at, BPF_WIDE_VALUE, role->data - 1, (int32_t)offset);
	if (role->data)
		return refuse_at(at, "the address of %.60s lies outside of section %.60s", s->name,
		                 section->name);
	if (role->code)
		return refuse_at(at, "the address of a function in %.60s: helpers that call back are not supported",
		                 section->name);
	return refuse_at(at, "section %.60s is neither maps nor data", section->name);
}

static bool relocate_call(const struct site *at, const struct relocation *r)
{
	struct loader *l = at->l;
	uint32_t section = at->f->section;
	uint64_t from = (uint64_t)(at->f->first + at->n) * sizeof *at->insn;
	const char *name = "";
	if (r) {
		const struct symbol *s = &l->elf.symbols[r->symbol];
		if (r->type != R_BPF_64_32)
			return refuse_at(at, "a call has a relocation of type %u", r->type);
		if (s->section == ELF_UNDEFINED)
			return refuse_at(at,
			                 "%.60s is not in the object: the kernel's functions do not exist here",
			                 s->name);
		section = s->section;
		from = s->value;
		name = s->name;
	}
	const uint64_t to = from + (uint64_t)((int64_t)at->insn->imm + 1) * sizeof *at->insn;
	const struct function *callee = object_function_at(l, section, to);
	if (!callee)
		return refuse_at(at, "the call%s%.60s does not lead to the beginning of a function",
		                 r ? " by " : "", name);
	at->insn->imm = (int32_t)(callee - l->functions);
	return true;
}

static bool relocate_insn(const struct site *at, const struct code *c)
{
	const uint32_t i = at->f->first + at->n;
	const struct bpf_insn *insn = at->insn;
	struct relocation r;
	const bool has = c->patch[i] && elf_relocation(&at->l->elf, c->relocations, c->patch[i] - 1, &r);
	if (bpf_is_wide(insn)) {
		if (at->n + 1 >= at->f->count || insn[1].opcode || c->patch[i + 1])
			return refuse_at(at, "the second half of a wide instruction is missing");
		if (has)
			return relocate_wide(at, &r);
		return insn->src == BPF_WIDE_NUMBER ||
		       refuse_at(at, "a wide instruction of kind %u without a relocation", insn->src);
	}
	if (insn->opcode == CALL && insn->src == BPF_CALL_LOCAL)
		return relocate_call(at, has ? &r : NULL);
	if (insn->opcode == CALL && insn->src != BPF_CALL_HELPER)
		return refuse_at(at, "a call of kind %u: the kernel's functions do not exist here", insn->src);
	return !has || refuse_at(at, "a relocation at an instruction that takes none");
}

bool object_relocate(struct loader *l, struct function *f)
{
	const struct code *c = l->roles[f->section].code;
	if (f->relocated)
		return true;
	if (f->core)
		return object_refuse_core(l, f);
	for (uint32_t n = 0; n < f->count; n++) {
		const struct site at = {l, f, n, &c->insns[f->first + n]};
		if (!relocate_insn(&at, c))
			return false;
		n += bpf_is_wide(at.insn);
	}
	f->relocated = true;
	return true;
}
