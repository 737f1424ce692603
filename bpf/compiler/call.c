/*
 * Calls: of helpers, of the program's own functions, and tail calls (RFC 9669 section 4.3); the prologue and
 * epilogue of a function.
 *
 * A frame, from high to low addresses: return address, saved registers, BPF's stack. Where a function
 * calls another one, RSP is a multiple of 16 there, as the C convention wants it.
 *
 * A helper within 2 GiB of the code is called directly. bpf_map_lookup_elem of a known map goes to the
 * look-up of that map's type.
 */
#include "bpf/compiler/compiler.h"
#include "bpf/helpers.h"
#include "bpf/maps/map.h"
#include "bpf/xdp.h"

void compile_frame(struct function *f)
{
	f->frame = (f->stack + 7) & ~7u;
	unsigned above = 8; /* the return address and the saved registers */
	for (unsigned r = 0; r < 16; r++)
		above += f->saved >> r & 1 ? 8 : 0;
	if (f->calls && (above + f->frame) % 16 != 0)
		f->frame += 8;
}

void compile_prologue(struct compiler *c)
{
	for (unsigned r = 0; r < 16; r++)
		if (c->now->saved >> r & 1)
			x86_push(&c->e, r);
	if (c->now->frame)
		x86_alu_imm(&c->e, X86_W, X86_SUB, RSP, (int32_t)c->now->frame);
}

/* All but the return itself. Keeps all registers but those that it restores. */
void compile_epilogue(struct compiler *c)
{
	if (c->now->frame)
		x86_alu_imm(&c->e, X86_W, X86_ADD, RSP, (int32_t)c->now->frame);
	for (unsigned r = 16; r-- > 0;)
		if (c->now->saved >> r & 1)
			x86_pop(&c->e, r);
}

const struct bpf_map *compile_map(const struct compiler *c, uint32_t i)
{
	if (compile_note(c, i) != BPF_NOTE_MAP || c->notes[i].map >= c->env->map_count)
		return NULL;
	return c->env->maps[c->notes[i].map];
}

uint64_t compile_value(const struct bpf_map *map, uint32_t offset)
{
	return (uint64_t)(uintptr_t)map->shared + offset;
}

/* True if a 32-bit displacement reaches `to` from everywhere in the code. */
static bool reaches(const struct compiler *c, uint64_t to)
{
	const int64_t first = (int64_t)(to - c->at), last = (int64_t)(to - (c->at + c->e.room));
	return first == (int32_t)first && last == (int32_t)last;
}

static void call_address(struct compiler *c, uint64_t to)
{
	struct emit *e = &c->e;
	if (reaches(c, to)) {
		x86_byte(e, 0xe8);
		x86_u32(e, (uint32_t)(to - (c->at + e->used + 4)));
	} else {
		x86_mov_imm(e, RAX, to);
		x86_reg(e, 0, 0xff, 2, RAX);
	}
}

static uint64_t helper_of(const struct compiler *c, uint32_t i)
{
	const uint32_t id = (uint32_t)compile_insn(c, i)->imm;
	const struct bpf_map *map = compile_map(c, i);
	if (id == BPF_FN_MAP_LOOKUP && map && c->env->lookup_for)
		return (uint64_t)(uintptr_t)c->env->lookup_for(map);
	return id < c->env->helper_count ? (uint64_t)(uintptr_t)c->env->helpers[id] : 0;
}

static void call_function(struct compiler *c, uint32_t i)
{
	const uint32_t first = compile_target(compile_insn(c, i), i);
	for (unsigned k = 0; k < c->function_count; k++)
		if (c->functions[k].first == first) {
			x86_byte(&c->e, 0xe8);
			x86_u32(&c->e, c->functions[k].entry - (c->e.used + 4));
			return;
		}
}

/* The number of entries and the address of the array are constants if the map is known. */
static void load_entry(struct compiler *c, const struct bpf_map *map, uint32_t none[2])
{
	struct emit *e = &c->e;
	if (map) {
		x86_alu_imm(e, 0, X86_CMP, RDX, (int32_t)map->entries);
		none[0] = x86_skip(e, X86_AE);
		x86_mov_imm(e, RSI, (uint64_t)(uintptr_t)map->shared);
	} else {
		x86_mem(e, 0, 0x3b, RDX, (struct x86_mem){RSI, X_NONE, 0, offsetof(struct bpf_map, entries)});
		none[0] = x86_skip(e, X86_AE);
		x86_mem(e, X86_W, 0x8b, RSI, (struct x86_mem){RSI, X_NONE, 0, offsetof(struct bpf_map, shared)});
	}
	x86_mov(e, 0, RDX, RDX);
	x86_mem(e, X86_W, 0x8b, RAX, (struct x86_mem){RSI, RDX, 3, 0});
	x86_reg(e, X86_W, 0x85, RAX, RAX);
	none[1] = x86_skip(e, X86_E);
}

/* bpf_tail_call(RDI = context, RSI = map, EDX = index): the frame of this function is left before the jump, so
 * frames do not pile up. If there is no such program, or if there were too many, the call does nothing. */
static void tail_call(struct compiler *c, uint32_t i)
{
	struct emit *e = &c->e;
	const struct bpf_map *map = compile_map(c, i);
	const struct x86_mem calls = {RDI, X_NONE, 0, offsetof(struct bpf_xdp, tail_calls)};
	if (map && map->type != BPF_MAP_PROG_ARRAY) {
		compile_fail(c, i, "a tail call by a map that is no program array");
		return;
	}
	uint32_t none[2];
	load_entry(c, map, none);
	x86_mem(e, 0, 0x83, X86_CMP, calls);
	x86_byte(e, BPF_TAIL_CALLS_MAX);
	const uint32_t too_many = x86_skip(e, X86_AE);
	x86_mem(e, 0, 0xff, 0, calls); /* INC */
	compile_epilogue(c);
	x86_reg(e, 0, 0xff, 4, RAX);
	x86_here(e, too_many);
	x86_here(e, none[0]);
	x86_here(e, none[1]);
}

uint32_t compile_call(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	if (c->lookups[i].key != KEY_NONE)
		return compile_lookup(c, i);
	c->short_values &= (uint16_t)~0x3f;
	if (insn->src == BPF_CALL_LOCAL) {
		call_function(c, i);
	} else if (insn->src != BPF_CALL_HELPER) {
		compile_fail(c, i, "a call by BTF id");
	} else if (insn->imm == BPF_FN_TAIL_CALL) {
		tail_call(c, i);
	} else if (insn->imm == BPF_FN_GET_SMP_PROCESSOR_ID && c->env->core) {
		compile_core(c, RAX);
		compile_set_short(c, BPF_R0, true);
	} else {
		const uint64_t helper = helper_of(c, i);
		if (!helper)
			compile_fail(c, i, "there is no helper %d", insn->imm);
		call_address(c, helper);
	}
	return 1;
}
