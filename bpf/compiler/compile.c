/*
 * The compiler: see compile.h for what it promises and compiler.h for its parts.
 *
 * The code is emitted again and again until no jump changes its size. All jumps begin long. A jump that
 * fits into 8 bits becomes short and stays so: the code only shrinks, so what fitted once fits for ever,
 * and the passes end. In the last pass every offset is that of the pass before, so every displacement is
 * right.
 *
 * Invariants
 *   1. The code writes no register that the C convention lets the callee keep, but what it saves.
 *   2. Execution never leaves the code at its end: INT3 follows a function whose last instruction is no jump, and
 *      stands in place of instructions that no path leads to.
 *   3. A program with an unknown instruction is refused.
 */
#include "bpf/compiler/compiler.h"
#include "lib/fmt.h"

#define PASSES 24 /* then jumps stay as they are; no program of the tests needs more than 6 */
#define FAR 0x40000000u

void compile_fail(struct compiler *c, uint32_t insn, const char *format, ...)
{
	if (c->failed)
		return;
	c->failed = true;
	const size_t used = fmt_format(c->why->text, sizeof c->why->text, "instruction %u: ", insn);
	__builtin_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(c->why->text + used, sizeof c->why->text - used, format, args);
	__builtin_va_end(args);
}

unsigned compile_reg(struct compiler *c, unsigned r)
{
	if (r != BPF_R10)
		return c->now->reg[r];
	x86_mem(&c->e, X86_W, 0x8d, X_R11, compile_at(c, BPF_R10, 0));
	return X_R11;
}

struct x86_mem compile_at(const struct compiler *c, unsigned r, int32_t offset)
{
	if (r == BPF_R10)
		return (struct x86_mem){RSP, X_NONE, 0, (int32_t)c->now->frame + offset};
	return (struct x86_mem){c->now->reg[r], X_NONE, 0, offset};
}

void compile_jump(struct compiler *c, uint32_t i, unsigned condition, uint32_t target)
{
	struct emit *e = &c->e;
	const bool always = condition == X_NONE;
	const int64_t distance = (int64_t)c->where[target] - (e->used + 2);
	if (!c->frozen && distance >= -128 && distance <= 127)
		c->flags[i] |= IS_SHORT;
	if (c->flags[i] & IS_SHORT) {
		x86_byte(e, always ? 0xeb : 0x70 | condition);
		x86_byte(e, (uint8_t)distance);
		return;
	}
	if (!always)
		x86_byte(e, 0x0f);
	x86_byte(e, always ? 0xe9 : 0x80 | condition);
	x86_u32(e, c->where[target] - (e->used + 4));
}

static const uint8_t conditions[16] = {
	[BPF_JEQ >> 4] = X86_E, [BPF_JNE >> 4] = X86_NE, [BPF_JSET >> 4] = X86_NE,
	[BPF_JGT >> 4] = X86_A, [BPF_JGE >> 4] = X86_AE, [BPF_JLT >> 4] = X86_B, [BPF_JLE >> 4] = X86_BE,
	[BPF_JSGT >> 4] = X86_G, [BPF_JSGE >> 4] = X86_GE, [BPF_JSLT >> 4] = X86_L, [BPF_JSLE >> 4] = X86_LE,
};

static bool is_signed(unsigned op)
{
	return op == BPF_JSGT || op == BPF_JSGE || op == BPF_JSLT || op == BPF_JSLE;
}

/* X86_W, or 0 if a comparison of the lower halves has the same result. */
static unsigned width(const struct compiler *c, const struct bpf_insn *i)
{
	if (bpf_class(i) == BPF_JMP32)
		return 0;
	const unsigned both = 1u << i->dst | (bpf_source_is_reg(i) ? 1u << i->src : 0);
	const bool same = !is_signed(bpf_op(i)) && (c->short_values & both) == both &&
	                  (bpf_source_is_reg(i) || i->imm >= 0);
	return same ? 0 : X86_W;
}

static void compare(struct compiler *c, const struct bpf_insn *i)
{
	struct emit *e = &c->e;
	const unsigned w = width(c, i);
	const bool is_test = bpf_op(i) == BPF_JSET;
	if (bpf_source_is_reg(i)) {
		if (i->dst == BPF_R10 && i->src == BPF_R10) {
			const unsigned r = compile_reg(c, BPF_R10);
			x86_reg(e, w, is_test ? 0x85 : 0x39, r, r);
			return;
		}
		const unsigned dst = compile_reg(c, i->dst), src = compile_reg(c, i->src);
		x86_reg(e, w, is_test ? 0x85 : 0x39, src, dst);
		return;
	}
	const unsigned dst = compile_reg(c, i->dst);
	if (is_test)
		x86_test_imm(e, w, dst, i->imm);
	else if (i->imm == 0)
		x86_reg(e, w, 0x85, dst, dst);
	else
		x86_alu_imm(e, w, X86_CMP, dst, i->imm);
}

static uint32_t branch(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	const unsigned op = bpf_op(insn);
	if (insn->opcode == (BPF_JMP | BPF_CALL))
		return compile_call(c, i);
	if (insn->opcode == (BPF_JMP | BPF_EXIT)) {
		compile_epilogue(c);
		x86_byte(&c->e, 0xc3);
	} else if (op == BPF_JA && !bpf_source_is_reg(insn)) {
		compile_jump(c, i, X_NONE, compile_target(insn, i));
	} else if (conditions[op >> 4]) {
		compare(c, insn);
		compile_jump(c, i, conditions[op >> 4], compile_target(insn, i));
	} else {
		compile_fail(c, i, "unknown jump");
	}
	return 1;
}

static uint32_t wide(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	uint64_t v = (uint32_t)insn->imm | (uint64_t)(uint32_t)insn[1].imm << 32;
	if (insn->src != BPF_WIDE_NUMBER) {
		const struct bpf_map *map = NULL;
		if (insn->src <= BPF_WIDE_VALUE && (uint32_t)insn->imm < c->env->map_count)
			map = c->env->maps[insn->imm];
		if (!map) {
			compile_fail(c, i, "there is no map %d", insn->imm);
			return 2;
		}
		v = insn->src == BPF_WIDE_MAP ? (uint64_t)(uintptr_t)map : compile_value(map, (uint32_t)insn[1].imm);
	}
	x86_mov_imm(&c->e, c->now->reg[insn->dst], v);
	c->short_values &= (uint16_t)~(1u << insn->dst);
	if (v <= UINT32_MAX)
		c->short_values |= (uint16_t)(1u << insn->dst);
	return 2;
}

/* Emits instruction i with those that form a sequence with it; returns their number. */
static uint32_t instruction(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	const uint32_t length = bpf_is_wide(insn) ? 2 : 1;
	if (c->flags[i] & IS_DEAD) {
		x86_byte(&c->e, 0xcc);
		return length;
	}
	if (c->flags[i] & IS_UNUSED)
		return length;
	const uint32_t merged = compile_merge(c, i);
	if (merged)
		return merged;
	switch (bpf_class(insn)) {
	case BPF_ALU:
	case BPF_ALU64: return compile_alu(c, i);
	case BPF_JMP:
	case BPF_JMP32: return branch(c, i);
	case BPF_LD:
		if (bpf_is_wide(insn))
			return wide(c, i);
		compile_fail(c, i, "a legacy packet instruction");
		return 1;
	default: return compile_memory(c, i);
	}
}

/* Notes where i is; true if it was elsewhere in the pass before. */
static bool place(uint32_t *where, uint32_t used)
{
	const bool moved = *where != used;
	*where = used;
	return moved;
}

static void begin_function(struct compiler *c)
{
	struct function *f = &c->functions[c->in_hand];
	c->now = f;
	c->short_values = 0;
	c->moved |= place(&f->entry, c->e.used);
	compile_prologue(c);
	c->next = f->first;
}

static void end_function(struct compiler *c)
{
	const struct bpf_insn *last = compile_insn(c, c->now->end - 1);
	if (last->opcode != (BPF_JMP | BPF_EXIT) && !(compile_is_jump(last) && bpf_op(last) == BPF_JA))
		x86_byte(&c->e, 0xcc);
	c->now = NULL;
	c->in_hand++;
}

static uint32_t emit_one(struct compiler *c)
{
	const uint32_t i = c->next;
	if (c->flags[i] & IS_TARGET)
		c->short_values = 0;
	c->moved |= place(&c->where[i], c->e.used);
	const uint32_t done = instruction(c, i);
	for (uint32_t k = 1; k < done; k++)
		c->moved |= place(&c->where[i + k], c->where[i]);
	c->next += done;
	return done;
}

/* Begins a pass. False: nothing has moved in the last one, so its code is final. */
static bool begin_pass(struct compiler *c)
{
	if (!c->moved)
		return false;
	c->frozen = c->pass++ >= PASSES;
	c->e.used = 0;
	c->in_hand = 0;
	c->moved = false;
	return true;
}

/* Goes on for about `most` instructions. True: the last pass has ended, or something was refused. */
static bool emit(struct compiler *c, uint32_t most)
{
	for (uint32_t done = 0; done < most && !c->failed;) {
		if (c->in_hand == c->function_count && !begin_pass(c))
			return true;
		if (!c->now)
			begin_function(c);
		while (c->next < c->now->end && done < most && !c->failed)
			done += emit_one(c);
		if (c->next < c->now->end)
			continue;
		end_function(c);
	}
	return c->failed;
}

/* Bytes: a division of 64 bits, a look-up and a tail call with its epilogue take less than 80. */
size_t bpf_code_room(uint32_t count)
{
	return 80 * (size_t)count + 64;
}

struct compiler *bpf_compile_begin(const struct bpf_program *program, const struct bpf_note *notes,
                                   const struct bpf_env *env, uint64_t at, uint8_t *out, size_t room,
                                   struct bpf_memory memory, struct bpf_code *code, struct bpf_reason *why)
{
	struct compiler none = {.why = why}, *c = bpf_take(&memory, sizeof *c);
	*code = (struct bpf_code){0};
	if (program->count == 0 || program->count > BPF_INSNS_MAX) {
		compile_fail(&none, 0, "a program has 1 to %d instructions", BPF_INSNS_MAX);
		return NULL;
	}
	uint32_t *where = bpf_take(&memory, (program->count + 1) * sizeof *where);
	if (!c || !where) {
		compile_fail(&none, 0, "not enough memory for the compiler");
		return NULL;
	}
	*c = (struct compiler){.program = program, .notes = notes, .env = env, .at = at, .why = why, .code = code,
	                       .where = where, .e = {out, room, 0}, .moved = true};
	for (uint32_t i = 0; i < program->count; i++)
		where[i] = FAR;
	if (!compile_analyse(c, &memory))
		return NULL;
	c->in_hand = c->function_count;
	return c;
}

bool bpf_compile_go(struct compiler *c, uint32_t insns)
{
	if (!emit(c, insns))
		return false;
	if (!c->failed && c->e.used > c->e.room)
		compile_fail(c, 0, "the code has %u bytes, and there is room for %zu", c->e.used, c->e.room);
	*c->code = (struct bpf_code){.ok = !c->failed, .bytes = c->e.used, .where = c->where};
	return true;
}

bool bpf_compile(const struct bpf_program *program, const struct bpf_note *notes, const struct bpf_env *env,
                 uint64_t at, uint8_t *out, size_t room, struct bpf_memory *memory, struct bpf_code *code,
                 struct bpf_reason *why)
{
	struct compiler *c = bpf_compile_begin(program, notes, env, at, out, room, *memory, code, why);
	while (c && !bpf_compile_go(c, UINT32_MAX))
		;
	return code->ok;
}
