/*
 * bpf_map_lookup_elem of an array, inline: bpf/maps/map.h says where the values are. A program that counts
 * does little else, so the usual forms of it lose what is not needed:
 *
 *   key = X;                          *(u32 *)(r10 - 4) = X
 *   value = bpf_map_lookup_elem(      r2 = r10; r2 += -4; r1 = map ll; call 1
 *           &array, &key);
 *   if (!value) ...                   if r0 == 0 goto L
 *
 * X is used from its register if it is still there; R1 and R2 are not set if nothing else reads them; and
 * an index beyond the array jumps to L at once. The number of entries and the addresses are constants.
 *
 * A key that is a constant of the program needs no comparison.
 */
#include "bpf/compiler/compiler.h"
#include "bpf/helpers.h"
#include "bpf/maps/map.h"

#define LOOK_BACK 24 /* instructions */

static bool is_inline(const struct compiler *c, uint32_t call, const struct bpf_map *map)
{
	const struct bpf_insn *insn = compile_insn(c, call);
	if (insn->src != BPF_CALL_HELPER || insn->imm != BPF_FN_MAP_LOOKUP || !map || map->key_bytes != 4)
		return false;
	return map->type == BPF_MAP_ARRAY || (map->type == BPF_MAP_PERCPU_ARRAY && c->env->core);
}

/* The instruction before i in the same straight piece of code; false: there is none. */
static bool before(const struct compiler *c, uint32_t *i)
{
	if (*i == 0 || (c->flags[*i] & (IS_TARGET | IS_FUNCTION)))
		return false;
	--*i;
	if (c->flags[*i] & IS_SECOND)
		--*i;
	const struct bpf_insn *insn = compile_insn(c, *i);
	return !compile_is_jump(insn) && insn->opcode != (BPF_JMP | BPF_EXIT) && insn->opcode != (BPF_JMP | BPF_CALL);
}

/* R2 = R10 + offset at the call; *at is where the addition is, behind the move. */
static bool pointer(const struct compiler *c, uint32_t call, uint32_t *at, int16_t *offset)
{
	uint32_t i = call;
	while (before(c, &i)) {
		const struct bpf_insn *insn = compile_insn(c, i);
		if (!(compile_defines(insn) & 1 << BPF_R2))
			continue;
		const struct bpf_insn *move = i ? insn - 1 : NULL;
		if (!move || insn->opcode != (BPF_ALU64 | BPF_ADD | BPF_K) || (c->flags[i] & (IS_TARGET | IS_FUNCTION)) ||
		    (c->flags[i - 1] & IS_SECOND) || move->opcode != (BPF_ALU64 | BPF_MOV | BPF_X) || move->offset ||
		    move->dst != BPF_R2 || move->src != BPF_R10 || insn->imm < -BPF_STACK || insn->imm > -4)
			return false;
		*at = i;
		*offset = (int16_t)insn->imm;
		return true;
	}
	return false;
}

/* True if an instruction between `from` and the call, both not counted, reads or writes one of the registers. */
static bool touched(const struct compiler *c, uint32_t from, uint32_t call, unsigned registers, bool reads)
{
	for (uint32_t i = from + 1; i < call; i++) {
		const struct bpf_insn *insn = compile_insn(c, i);
		if (c->flags[i] & (IS_SECOND | IS_UNUSED))
			continue;
		if ((reads && (compile_uses(c, i) & registers)) || (compile_defines(insn) & registers))
			return true;
	}
	return false;
}

/* R1 = map in front of the call, if only the call reads it. */
static void drop_map(struct compiler *c, uint32_t call)
{
	uint32_t i = call;
	while (before(c, &i)) {
		const struct bpf_insn *insn = compile_insn(c, i);
		if (compile_uses(c, i) & 1 << BPF_R1)
			return;
		if (!(compile_defines(insn) & 1 << BPF_R1))
			continue;
		if (bpf_is_wide(insn))
			c->flags[i] |= IS_UNUSED;
		return;
	}
}

/* The store that set the four bytes of stack at `offset`, if nothing else can have changed them since. */
static bool find_store(const struct compiler *c, uint32_t call, int16_t offset, uint32_t *at)
{
	uint32_t i = call;
	for (unsigned n = 0; n < LOOK_BACK && before(c, &i); n++) {
		const struct bpf_insn *insn = compile_insn(c, i);
		const unsigned class = bpf_class(insn);
		if (class != BPF_ST && class != BPF_STX)
			continue;
		if (insn->dst != BPF_R10 || (insn->opcode & 0xe0) != BPF_MEM)
			return false;
		if (insn->offset == offset && bpf_bytes(insn) == 4) {
			*at = i;
			return true;
		}
		if (insn->offset < offset + 4 && insn->offset + (int)bpf_bytes(insn) > offset)
			return false;
	}
	return false;
}

/* The number that the register has at i, if a move says so. */
static bool number_of(const struct compiler *c, uint32_t i, unsigned reg, uint32_t *number)
{
	for (unsigned n = 0; n < LOOK_BACK && before(c, &i); n++) {
		const struct bpf_insn *insn = compile_insn(c, i);
		if (!(compile_defines(insn) & 1 << reg))
			continue;
		*number = (uint32_t)insn->imm;
		return insn->opcode == (BPF_ALU64 | BPF_MOV | BPF_K) || insn->opcode == (BPF_ALU | BPF_MOV | BPF_K);
	}
	return false;
}

/* Where the key is when it need not be read by way of R2. */
static void find_value(struct compiler *c, uint32_t call, int16_t offset)
{
	struct lookup *l = &c->lookups[call];
	uint32_t store;
	l->key = KEY_STACK;
	l->offset = offset;
	if (!find_store(c, call, offset, &store))
		return;
	const struct bpf_insn *insn = compile_insn(c, store);
	l->number = (uint32_t)insn->imm;
	if ((bpf_class(insn) == BPF_ST || number_of(c, store, insn->src, &l->number)) &&
	    (uint64_t)l->number * compile_map(c, call)->value_stride <= 0x7fffffff) {
		l->key = KEY_NUMBER;
	} else if (bpf_class(insn) == BPF_STX && insn->src != BPF_R10 &&
	           !touched(c, store, call, 1u << insn->src, false)) {
		l->key = KEY_REGISTER;
		l->reg = insn->src;
	}
}

void compile_find_key(struct compiler *c, uint32_t call)
{
	uint32_t at;
	int16_t offset;
	if (!is_inline(c, call, compile_map(c, call)))
		return;
	struct lookup *l = &c->lookups[call];
	l->key = KEY_POINTER;
	drop_map(c, call);
	if (!pointer(c, call, &at, &offset) || touched(c, at, call, 1 << BPF_R2, true))
		return;
	c->flags[at] |= IS_UNUSED;
	c->flags[at - 1] |= IS_UNUSED;
	find_value(c, call, offset);
}

/* --- emission --- */

/* ECX = the key. */
static void load_key(struct compiler *c, const struct lookup *l)
{
	if (l->key == KEY_REGISTER)
		x86_mov(&c->e, 0, RCX, c->now->reg[l->reg]);
	else
		x86_mem(&c->e, 0, 0x8b, RCX, l->key == KEY_STACK ? compile_at(c, BPF_R10, l->offset) :
		                                                  compile_at(c, BPF_R2, 0));
}

static bool is_near(const void *at)
{
	return (uint64_t)(uintptr_t)at <= 0x7fffffff;
}

void compile_core(struct compiler *c, unsigned reg)
{
	struct x86_mem m = {X_NONE, X_NONE, 0, (int32_t)(uintptr_t)c->env->core};
	if (!is_near(c->env->core)) {
		x86_mov_imm(&c->e, reg, (uint64_t)(uintptr_t)c->env->core);
		m = (struct x86_mem){(uint8_t)reg, X_NONE, 0, 0};
	}
	x86_mem(&c->e, 0, 0x8b, reg, m);
}

/* RAX = where the values start + offset. May change RDX. */
static void load_base(struct compiler *c, const struct bpf_map *map, uint64_t offset)
{
	struct emit *e = &c->e;
	if (map->type == BPF_MAP_ARRAY) {
		x86_mov_imm(e, RAX, compile_value(map, 0) + offset);
		return;
	}
	compile_core(c, RAX);
	struct x86_mem own = {X_NONE, RAX, 3, (int32_t)(uintptr_t)map->own};
	if (!is_near(map->own)) {
		x86_mov_imm(e, RDX, (uint64_t)(uintptr_t)map->own);
		own = (struct x86_mem){RDX, RAX, 3, 0};
	}
	x86_mem(e, X86_W, 0x8b, RAX, own);
	if (offset)
		x86_alu_imm(e, X86_W, X86_ADD, RAX, (int32_t)offset);
}

/* RAX = base + RCX * stride */
static void load_address(struct compiler *c, const struct bpf_map *map)
{
	struct emit *e = &c->e;
	const uint32_t stride = map->value_stride;
	const uint64_t base = compile_value(map, 0);
	const unsigned w = (uint64_t)stride * map->entries > UINT32_MAX ? X86_W : 0;
	uint8_t scale = 0;
	if (stride == 8)
		scale = 3;
	else if ((stride & (stride - 1)) == 0)
		x86_shift_imm(e, w, X86_SHL, RCX, (unsigned)__builtin_ctz(stride));
	else {
		x86_reg(e, w, 0x69, RCX, RCX);
		x86_u32(e, stride);
	}
	if (map->type == BPF_MAP_ARRAY && base <= 0x7fffffff) {
		x86_mem(e, X86_W, 0x8d, RAX, (struct x86_mem){X_NONE, RCX, scale, (int32_t)base});
		return;
	}
	load_base(c, map, 0);
	x86_mem(e, X86_W, 0x8d, RAX, (struct x86_mem){RAX, RCX, scale, 0});
}

/* The jump behind the call that asks whether it found something: BPF_JEQ, BPF_JNE; 0: another instruction. */
static unsigned null_check(const struct compiler *c, uint32_t i)
{
	const struct bpf_insn *next = compile_insn(c, i + 1);
	if (!compile_follows(c, i, 1) || next->dst != BPF_R0 || next->imm != 0)
		return 0;
	if (next->opcode == (BPF_JMP | BPF_JEQ | BPF_K))
		return BPF_JEQ;
	return next->opcode == (BPF_JMP | BPF_JNE | BPF_K) ? BPF_JNE : 0;
}

static uint32_t lookup_number(struct compiler *c, uint32_t i, const struct bpf_map *map)
{
	const uint32_t number = c->lookups[i].number;
	const unsigned check = null_check(c, i);
	const bool found = number < map->entries;
	const uint64_t offset = (uint64_t)number * map->value_stride;
	if (!found)
		x86_alu(&c->e, 0, X86_XOR, RAX, RAX);
	else
		load_base(c, map, offset);
	if (check && found == (check == BPF_JNE))
		compile_jump(c, i + 1, X_NONE, compile_target(compile_insn(c, i + 1), i + 1));
	return check ? 2 : 1;
}

uint32_t compile_lookup(struct compiler *c, uint32_t i)
{
	const struct bpf_map *map = compile_map(c, i);
	const struct lookup *l = &c->lookups[i];
	struct emit *e = &c->e;
	c->short_values = 0;
	if (l->key == KEY_NUMBER)
		return lookup_number(c, i, map);
	const unsigned check = null_check(c, i);
	const uint32_t target = check ? compile_target(compile_insn(c, i + 1), i + 1) : 0;
	load_key(c, l);
	x86_alu(e, 0, X86_XOR, RAX, RAX);
	x86_alu_imm(e, 0, X86_CMP, RCX, (int32_t)map->entries);
	uint32_t skip = 0;
	if (check == BPF_JEQ)
		compile_jump(c, i + 1, X86_AE, target);
	else
		skip = x86_skip(e, X86_AE);
	load_address(c, map);
	if (check == BPF_JNE)
		compile_jump(c, i + 1, X_NONE, target);
	if (skip)
		x86_here(e, skip);
	return check ? 2 : 1;
}
