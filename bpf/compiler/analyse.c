/*
 * What the compiler knows before it emits: the functions, the targets of jumps, which registers are live,
 * and which instructions have a result that nobody reads.
 *
 * The compiler does not rely on the verifier for its own safety: jumps, calls and registers are checked
 * here, so that a program which was not verified (bpf-run) is compiled as it stands or refused.
 */
#include "bpf/compiler/compiler.h"
#include "bpf/helpers.h"
#include "bpf/xdp.h"

#define BIT(r) (uint16_t)(1u << (r))

/* --- structure --- */

bool compile_is_jump(const struct bpf_insn *i)
{
	const unsigned class = bpf_class(i);
	return (class == BPF_JMP || class == BPF_JMP32) && bpf_op(i) != BPF_CALL && bpf_op(i) != BPF_EXIT;
}

static bool is_call(const struct bpf_insn *i)
{
	return i->opcode == (BPF_JMP | BPF_CALL);
}

static bool is_exit(const struct bpf_insn *i)
{
	return i->opcode == (BPF_JMP | BPF_EXIT);
}

uint32_t compile_target(const struct bpf_insn *i, uint32_t at)
{
	const bool far = i->opcode == (BPF_JMP32 | BPF_JA) || (is_call(i) && i->src == BPF_CALL_LOCAL);
	return at + 1 + (uint32_t)(far ? i->imm : i->offset);
}

/* True if the instruction leaves a result in dst. */
static bool writes_dst(const struct bpf_insn *i)
{
	const unsigned class = bpf_class(i);
	return class == BPF_ALU || class == BPF_ALU64 || class == BPF_LDX || class == BPF_LD;
}

static bool mark_target(struct compiler *c, uint32_t at, unsigned flag)
{
	const struct bpf_insn *i = compile_insn(c, at);
	const uint32_t target = compile_target(i, at);
	if (target >= c->program->count || (c->flags[target] & IS_SECOND)) {
		compile_fail(c, at, "jumps to no instruction");
		return false;
	}
	c->flags[target] |= (uint8_t)flag;
	return true;
}

static bool mark_seconds(struct compiler *c)
{
	const uint32_t count = c->program->count;
	for (uint32_t i = 0; i < count; i++) {
		const struct bpf_insn *insn = compile_insn(c, i);
		if (insn->dst > BPF_R10 || insn->src > BPF_R10 || (writes_dst(insn) && insn->dst == BPF_R10)) {
			compile_fail(c, i, "no register that can be used so");
			return false;
		}
		if (c->notes && c->notes[i].kind == BPF_NOTE_DEAD)
			c->flags[i] |= IS_DEAD;
		if (!bpf_is_wide(insn))
			continue;
		if (i + 1 == count) {
			compile_fail(c, i, "half of a wide instruction");
			return false;
		}
		c->flags[++i] |= IS_SECOND;
	}
	return true;
}

static bool mark_targets(struct compiler *c)
{
	c->flags[0] |= IS_FUNCTION;
	for (uint32_t i = 0; i < c->program->count; i++) {
		const struct bpf_insn *insn = compile_insn(c, i);
		if (c->flags[i] & IS_SECOND)
			continue;
		if (compile_is_jump(insn) && !mark_target(c, i, IS_TARGET))
			return false;
		if (is_call(insn) && insn->src == BPF_CALL_LOCAL && !mark_target(c, i, IS_FUNCTION))
			return false;
	}
	return true;
}

static bool cut_functions(struct compiler *c)
{
	struct function *f = NULL;
	for (uint32_t i = 0; i < c->program->count; i++) {
		if (c->flags[i] & IS_FUNCTION) {
			if (c->function_count == BPF_FUNCTIONS_MAX) {
				compile_fail(c, i, "more than %d functions", BPF_FUNCTIONS_MAX);
				return false;
			}
			f = &c->functions[c->function_count++];
			f->first = i;
		}
		f->end = i + 1;
	}
	for (unsigned k = 0; k < c->function_count; k++)
		for (uint32_t i = c->functions[k].first; i < c->functions[k].end; i++) {
			const struct bpf_insn *insn = compile_insn(c, i);
			if ((c->flags[i] & IS_SECOND) || !compile_is_jump(insn))
				continue;
			const uint32_t target = compile_target(insn, i);
			if (target < c->functions[k].first || target >= c->functions[k].end) {
				compile_fail(c, i, "jumps into another function");
				return false;
			}
		}
	return true;
}

/* --- registers --- */

/* A call of a helper reads as many registers as its prototype has arguments. */
static uint16_t call_uses(const struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	const struct lookup *l = &c->lookups[i];
	if (l->key != KEY_NONE)
		return l->key == KEY_REGISTER ? BIT(l->reg) : l->key == KEY_POINTER ? BIT(BPF_R2) : 0;
	const struct bpf_proto *p = insn->src == BPF_CALL_HELPER ? bpf_proto((uint32_t)insn->imm) : NULL;
	uint16_t uses = 0;
	for (unsigned n = 0; n < 5; n++)
		if (!p || p->args[n] != BPF_ARG_NONE)
			uses |= BIT(BPF_R1 + n);
	if (p && insn->imm == BPF_FN_TAIL_CALL && compile_map(c, i))
		uses &= (uint16_t)~BIT(BPF_R2);
	return uses;
}

static uint16_t jump_uses(const struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	switch (bpf_op(insn)) {
	case BPF_JA: return 0;
	case BPF_CALL: return call_uses(c, i);
	case BPF_EXIT: return BIT(BPF_R0);
	default: return BIT(insn->dst) | (bpf_source_is_reg(insn) ? BIT(insn->src) : 0);
	}
}

uint16_t compile_uses(const struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	switch (bpf_class(insn)) {
	case BPF_LD: return 0;
	case BPF_LDX: return BIT(insn->src);
	case BPF_ST: return BIT(insn->dst);
	case BPF_STX:
		return BIT(insn->dst) | BIT(insn->src) |
		       ((insn->opcode & 0xe0) == BPF_ATOMIC && insn->imm == BPF_CMPXCHG ? BIT(BPF_R0) : 0);
	case BPF_ALU:
	case BPF_ALU64:
		if (bpf_op(insn) == BPF_END)
			return BIT(insn->dst);
		return (bpf_op(insn) == BPF_MOV ? 0 : BIT(insn->dst)) |
		       (bpf_source_is_reg(insn) ? BIT(insn->src) : 0);
	default: return jump_uses(c, i);
	}
}

uint16_t compile_defines(const struct bpf_insn *insn)
{
	if (writes_dst(insn))
		return BIT(insn->dst);
	if (is_call(insn))
		return BIT(BPF_R0) | BIT(BPF_R1) | BIT(BPF_R2) | BIT(BPF_R3) | BIT(BPF_R4) | BIT(BPF_R5);
	if (bpf_class(insn) != BPF_STX || (insn->opcode & 0xe0) != BPF_ATOMIC)
		return 0;
	return insn->imm == BPF_CMPXCHG ? BIT(BPF_R0) : insn->imm & BPF_FETCH ? BIT(insn->src) : 0;
}

/* An instruction that does nothing but leave a result in dst. */
static bool only_result(const struct bpf_insn *insn)
{
	const unsigned class = bpf_class(insn);
	return ((class == BPF_ALU || class == BPF_ALU64) && bpf_op(insn) < 0xe0) || bpf_is_wide(insn);
}

static bool is_unused(const struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	return (c->flags[i] & IS_UNUSED) || (only_result(insn) && !(c->live[i] & compile_defines(insn)));
}

/* Registers that may be read at or behind i. */
static uint16_t live_before(const struct compiler *c, uint32_t i)
{
	const uint16_t live = c->live[i];
	if (is_unused(c, i) || (c->flags[i] & (IS_SECOND | IS_DEAD)))
		return live;
	const struct bpf_insn *insn = compile_insn(c, i);
	return (uint16_t)((live & ~compile_defines(insn)) | compile_uses(c, i));
}

static uint16_t live_behind(const struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	if (c->flags[i] & IS_SECOND)
		return i + 1 < c->program->count ? live_before(c, i + 1) : 0;
	if (is_exit(insn))
		return 0;
	uint16_t live = 0;
	if (compile_is_jump(insn))
		live = live_before(c, compile_target(insn, i));
	if (i + 1 < c->program->count && !(c->flags[i + 1] & IS_FUNCTION) &&
	    !(compile_is_jump(insn) && bpf_op(insn) == BPF_JA))
		live |= live_before(c, i + 1);
	return live;
}

/* Backward until nothing changes: sets only grow. */
static void find_live(struct compiler *c)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = c->program->count; i-- > 0;) {
			const uint16_t live = live_behind(c, i);
			changed |= live != c->live[i];
			c->live[i] = live;
		}
	}
	for (uint32_t i = 0; i < c->program->count; i++)
		if (!(c->flags[i] & IS_SECOND) && is_unused(c, i))
			c->flags[i] |= IS_UNUSED;
}

/* --- functions --- */

static bool loops_atomic(const struct bpf_insn *i)
{
	return bpf_class(i) == BPF_STX && (i->opcode & 0xe0) == BPF_ATOMIC &&
	       (i->imm == (BPF_AND | BPF_FETCH) || i->imm == (BPF_OR | BPF_FETCH) || i->imm == (BPF_XOR | BPF_FETCH));
}

/* Bytes of stack: as far as loads and stores reach from R10; all of it if the program takes an address. */
static uint32_t stack_of(const struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	const unsigned class = bpf_class(insn);
	const bool is_store = class == BPF_ST || class == BPF_STX;
	const bool is_base = (is_store && insn->dst == BPF_R10) || (class == BPF_LDX && insn->src == BPF_R10);
	if (is_base && !(class == BPF_STX && insn->src == BPF_R10))
		return insn->offset < 0 ? (uint32_t)-insn->offset : 0;
	return compile_uses(c, i) & BIT(BPF_R10) ? BPF_STACK : 0;
}

/* A tail call leaves the function by a jump. */
static bool is_inline(const struct bpf_insn *i)
{
	return i->src == BPF_CALL_HELPER && i->imm == BPF_FN_TAIL_CALL;
}

static void describe_function(struct compiler *c, struct function *f)
{
	uint16_t used = 0;
	for (uint32_t i = f->first; i < f->end; i++) {
		const struct bpf_insn *insn = compile_insn(c, i);
		if (c->flags[i] & (IS_SECOND | IS_UNUSED | IS_DEAD))
			continue;
		if (is_call(insn) && c->lookups[i].key == KEY_NONE && !is_inline(insn))
			f->calls = true;
		f->loops_atomic |= loops_atomic(insn);
		used |= compile_uses(c, i) | compile_defines(insn);
		const uint32_t stack = stack_of(c, i);
		f->stack = stack > f->stack ? stack : f->stack;
		if (c->lookups[i].key == KEY_STACK && f->stack < (uint32_t)-c->lookups[i].offset)
			f->stack = (uint32_t)-c->lookups[i].offset;
	}
	static const uint8_t registers[BPF_R10] = {RAX, RDI, RSI, RDX, RCX, X_R8, RBX, X_R13, X_R14, X_R15};
	for (unsigned r = 0; r < BPF_R10; r++)
		f->reg[r] = registers[r];
	if (!f->calls && !f->loops_atomic) {
		f->reg[BPF_R6] = X_R9;
		f->reg[BPF_R7] = X_R10;
	}
	for (unsigned r = BPF_R6; r <= BPF_R9; r++)
		if ((used & BIT(r)) && f->reg[r] != X_R9 && f->reg[r] != X_R10)
			f->saved |= (uint16_t)(1u << f->reg[r]);
	compile_frame(f);
}

bool compile_analyse(struct compiler *c, struct bpf_memory *memory)
{
	const uint32_t count = c->program->count;
	c->functions = bpf_take(memory, BPF_FUNCTIONS_MAX * sizeof *c->functions);
	c->flags = bpf_take(memory, count);
	c->live = bpf_take(memory, count * sizeof *c->live);
	c->lookups = bpf_take(memory, count * sizeof *c->lookups);
	if (!c->functions || !c->flags || !c->live || !c->lookups) {
		compile_fail(c, 0, "not enough memory for the compiler");
		return false;
	}
	if (!mark_seconds(c) || !mark_targets(c) || !cut_functions(c))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!(c->flags[i] & IS_SECOND) && is_call(compile_insn(c, i)))
			compile_find_key(c, i);
	find_live(c);
	for (unsigned k = 0; k < c->function_count; k++)
		describe_function(c, &c->functions[k]);
	return true;
}
