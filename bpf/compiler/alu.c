/*
 * Arithmetic: RFC 9669 section 4.1 and 4.2.
 *
 * An operation of 32 bits clears the upper half of its register in both machines. Operations of 64 bits
 * become such of 32 where the result is the same, because their encodings are shorter. Sequences that
 * clang makes for what x86-64 does in one instruction (a copy and an addition, two shifts that extend)
 * are compiled as one.
 */
#include "bpf/compiler/compiler.h"

/* --- moves and addresses --- */

/* dst = src + imm, or dst = src + other, as one LEA: for a copy with an addition behind it. */
static uint32_t copy_and_add(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *copy = compile_insn(c, i), *add = copy + 1;
	if (!compile_follows(c, i, 1) || copy->offset || copy->opcode != (BPF_ALU64 | BPF_MOV | BPF_X) ||
	    bpf_class(add) != BPF_ALU64 || bpf_op(add) != BPF_ADD || add->dst != copy->dst)
		return 0;
	struct x86_mem m = compile_at(c, copy->src, 0);
	if (!bpf_source_is_reg(add)) {
		if (copy->src == BPF_R10 && (add->imm > BPF_STACK || add->imm < -BPF_STACK))
			return 0;
		m.disp += add->imm;
	} else {
		if (copy->src == BPF_R10 || add->src == BPF_R10 || add->src == copy->dst)
			return 0;
		m.index = c->now->reg[add->src];
	}
	x86_mem(&c->e, X86_W, 0x8d, c->now->reg[copy->dst], m);
	compile_set_short(c, copy->dst, false);
	return 2;
}

static void move(struct compiler *c, const struct bpf_insn *i)
{
	struct emit *e = &c->e;
	const bool wide = bpf_class(i) == BPF_ALU64;
	const unsigned dst = c->now->reg[i->dst];
	if (!bpf_source_is_reg(i)) {
		x86_mov_imm(e, dst, wide ? (uint64_t)(int64_t)i->imm : (uint32_t)i->imm);
		compile_set_short(c, i->dst, !wide || i->imm >= 0);
		return;
	}
	const bool source_short = i->src != BPF_R10 && compile_is_short(c, i->src);
	if (i->src == BPF_R10 && wide && !i->offset) {
		x86_mem(e, X86_W, 0x8d, dst, compile_at(c, BPF_R10, 0));
		compile_set_short(c, i->dst, false);
		return;
	}
	const unsigned src = compile_reg(c, i->src), w = wide ? X86_W : 0;
	switch (i->offset) {
	case 8: x86_reg(e, w | X86_0F | X86_BYTE_RM, 0xbe, dst, src); break;
	case 16: x86_reg(e, w | X86_0F, 0xbf, dst, src); break;
	case 32: x86_reg(e, w, 0x63, dst, src); break;
	default:
		if (dst != src || !(wide || source_short))
			x86_mov(e, wide && !source_short ? X86_W : 0, dst, src);
	}
	compile_set_short(c, i->dst, !wide || (!i->offset && source_short));
}

/* --- shifts --- */

/* A shift to the left and the same to the right: an extension of the low 32, 48 or 56 bits less. */
static uint32_t extend(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *left = compile_insn(c, i), *right = left + 1;
	if (!compile_follows(c, i, 1) || left->opcode != (BPF_ALU64 | BPF_LSH | BPF_K) || right->dst != left->dst ||
	    right->imm != left->imm || (left->imm != 32 && left->imm != 48 && left->imm != 56))
		return 0;
	const unsigned r = c->now->reg[left->dst];
	if (right->opcode == (BPF_ALU64 | BPF_RSH | BPF_K)) {
		if (left->imm == 32 && !compile_is_short(c, left->dst))
			x86_mov(&c->e, 0, r, r);
		else if (left->imm == 48)
			x86_reg(&c->e, X86_0F, 0xb7, r, r);
		else if (left->imm == 56)
			x86_reg(&c->e, X86_0F | X86_BYTE_RM, 0xb6, r, r);
		compile_set_short(c, left->dst, true);
		return 2;
	}
	if (right->opcode != (BPF_ALU64 | BPF_ARSH | BPF_K))
		return 0;
	if (left->imm == 32)
		x86_reg(&c->e, X86_W, 0x63, r, r);
	else if (left->imm == 48)
		x86_reg(&c->e, X86_W | X86_0F, 0xbf, r, r);
	else
		x86_reg(&c->e, X86_W | X86_0F | X86_BYTE_RM, 0xbe, r, r);
	compile_set_short(c, left->dst, false);
	return 2;
}

/* The count must be in CL; the CPU takes its low 5 or 6 bits, as RFC 9669 wants. */
static void shift(struct compiler *c, const struct bpf_insn *i, unsigned op, uint16_t live)
{
	struct emit *e = &c->e;
	const unsigned w = bpf_class(i) == BPF_ALU64 ? X86_W : 0, dst = c->now->reg[i->dst];
	if (!bpf_source_is_reg(i)) {
		const unsigned count = (unsigned)i->imm & (w ? 63 : 31);
		if (count)
			x86_shift_imm(e, w, op, dst, count);
		else if (!w)
			x86_mov(e, 0, dst, dst);
		return;
	}
	if (i->src == BPF_R4 && dst != RCX) {
		x86_reg(e, w, 0xd3, op, dst);
		return;
	}
	const bool keep = dst == RCX || (live & 1 << BPF_R4);
	if (keep)
		x86_mov(e, X86_W, X_R11, RCX);
	if (i->src == BPF_R10)
		x86_mem(e, X86_W, 0x8d, RCX, compile_at(c, BPF_R10, 0));
	else if (i->src != BPF_R4)
		x86_mov(e, 0, RCX, c->now->reg[i->src]);
	x86_reg(e, w, 0xd3, op, dst == RCX ? X_R11 : dst);
	if (keep)
		x86_mov(e, X86_W, RCX, X_R11);
}

/* --- division --- */

struct division {
	bool is_signed, modulo;
	unsigned w, dst;
	bool keep_rax, keep_rdx; /* the program needs them afterwards */
};

/* The quotient or remainder of dst and R11, which is neither 0 nor, if signed, -1. */
static void divide(struct compiler *c, struct division d)
{
	struct emit *e = &c->e;
	if (d.keep_rdx)
		x86_push(e, RDX);
	if (d.keep_rax)
		x86_push(e, RAX);
	if (d.dst != RAX)
		x86_mov(e, d.w, RAX, d.dst);
	if (d.is_signed) {
		if (d.w)
			x86_byte(e, 0x48);
		x86_byte(e, 0x99); /* CQO, CDQ */
	} else {
		x86_alu(e, 0, X86_XOR, RDX, RDX);
	}
	x86_reg(e, d.w, 0xf7, d.is_signed ? 7 : 6, X_R11);
	const unsigned result = d.modulo ? RDX : RAX;
	if (d.dst != result)
		x86_mov(e, d.w, d.dst, result);
	if (d.keep_rax)
		x86_pop(e, RAX);
	if (d.keep_rdx)
		x86_pop(e, RDX);
}

/* By 0: the quotient is 0, the remainder is dst, of which an operation of 32 bits keeps the lower half. */
static void divide_by_0(struct compiler *c, struct division d)
{
	if (!d.modulo)
		x86_alu(&c->e, 0, X86_XOR, d.dst, d.dst);
	else if (!d.w)
		x86_mov(&c->e, 0, d.dst, d.dst);
}

/* By -1: the CPU raises an exception for the smallest number; negation gives what RFC 9669 wants. */
static void divide_by_minus_1(struct compiler *c, struct division d)
{
	if (d.modulo)
		x86_alu(&c->e, 0, X86_XOR, d.dst, d.dst);
	else
		x86_reg(&c->e, d.w, 0xf7, 3, d.dst);
}

static void divide_by_number(struct compiler *c, struct division d, int32_t imm)
{
	struct emit *e = &c->e;
	const uint64_t divisor = d.w ? (uint64_t)(int64_t)imm : (uint32_t)imm;
	if (imm == 0) {
		divide_by_0(c, d);
	} else if (imm == -1 && d.is_signed) {
		divide_by_minus_1(c, d);
	} else if (!d.is_signed && (divisor & (divisor - 1)) == 0) {
		const unsigned shift = (unsigned)__builtin_ctzll(divisor);
		if (d.modulo) /* 2^31 at most, so the mask has 31 bits */
			x86_alu_imm(e, 0, X86_AND, d.dst, (int32_t)(divisor - 1));
		else if (shift)
			x86_shift_imm(e, d.w, X86_SHR, d.dst, shift);
		else if (!d.w)
			x86_mov(e, 0, d.dst, d.dst);
	} else {
		x86_mov_imm(e, X_R11, divisor);
		divide(c, d);
	}
}

static void division(struct compiler *c, const struct bpf_insn *i, uint16_t live)
{
	struct emit *e = &c->e;
	const struct division d = {i->offset == 1, bpf_op(i) == BPF_MOD, bpf_class(i) == BPF_ALU64 ? X86_W : 0,
	                           c->now->reg[i->dst], i->dst != BPF_R0 && (live & 1 << BPF_R0),
	                           i->dst != BPF_R3 && (live & 1 << BPF_R3)};
	if (!bpf_source_is_reg(i)) {
		divide_by_number(c, d, i->imm);
		return;
	}
	if (i->src == BPF_R10)
		compile_reg(c, i->src);
	else
		x86_mov(e, d.w, X_R11, c->now->reg[i->src]);
	x86_reg(e, d.w, 0x85, X_R11, X_R11);
	const uint32_t not_0 = x86_skip(e, X86_NE);
	divide_by_0(c, d);
	const uint32_t end = x86_skip(e, X_NONE);
	x86_here(e, not_0);
	uint32_t end_too = 0;
	if (d.is_signed) {
		x86_alu_imm(e, d.w, X86_CMP, X_R11, -1);
		const uint32_t not_minus_1 = x86_skip(e, X86_NE);
		divide_by_minus_1(c, d);
		end_too = x86_skip(e, X_NONE);
		x86_here(e, not_minus_1);
	}
	divide(c, d);
	x86_here(e, end);
	if (end_too)
		x86_here(e, end_too);
}

/* --- the rest --- */

static void swap(struct compiler *c, const struct bpf_insn *i)
{
	struct emit *e = &c->e;
	const bool swaps = bpf_class(i) == BPF_ALU64 || bpf_source_is_reg(i);
	const unsigned r = c->now->reg[i->dst];
	if (i->imm == 16) {
		if (swaps) {
			x86_reg(e, X86_16, 0xc1, X86_ROL, r);
			x86_byte(e, 8);
		}
		x86_reg(e, X86_0F, 0xb7, r, r); /* MOVZX */
	} else if (swaps) {
		const unsigned w = i->imm == 64 ? 8 : 0;
		if (w || r >= X_R8)
			x86_byte(e, 0x40 | w | r >> 3);
		x86_byte(e, 0x0f);
		x86_byte(e, 0xc8 | (r & 7)); /* BSWAP */
	} else if (i->imm == 32 && !compile_is_short(c, i->dst)) {
		x86_mov(e, 0, r, r);
	}
	compile_set_short(c, i->dst, i->imm != 64 || (!swaps && compile_is_short(c, i->dst)));
}

/* A mask of 8 or 16 bits is an extension. */
static void and_imm(struct compiler *c, unsigned w, unsigned dst, int32_t imm)
{
	if (imm == 0xff)
		x86_reg(&c->e, X86_0F | X86_BYTE_RM, 0xb6, dst, dst);
	else if (imm == 0xffff)
		x86_reg(&c->e, X86_0F, 0xb7, dst, dst);
	else
		x86_alu_imm(&c->e, w, X86_AND, dst, imm);
}

/* Bits of values whose upper halves are 0 are bits of their lower halves. */
static bool is_short_op(const struct compiler *c, const struct bpf_insn *i, unsigned op)
{
	const bool dst = compile_is_short(c, i->dst);
	const bool src = bpf_source_is_reg(i) ? i->src != BPF_R10 && compile_is_short(c, i->src) : i->imm >= 0;
	return bpf_class(i) == BPF_ALU || (op == X86_AND && (dst || src)) ||
	       ((op == X86_OR || op == X86_XOR) && dst && src);
}

static void simple(struct compiler *c, const struct bpf_insn *i, unsigned op)
{
	const bool is_short = is_short_op(c, i, op);
	const unsigned w = is_short ? 0 : X86_W, dst = c->now->reg[i->dst];
	if (bpf_source_is_reg(i))
		x86_alu(&c->e, w, op, dst, compile_reg(c, i->src));
	else if (op == X86_AND)
		and_imm(c, w, dst, i->imm);
	else
		x86_alu_imm(&c->e, w, op, dst, i->imm);
	compile_set_short(c, i->dst, is_short);
}

static void multiply(struct compiler *c, const struct bpf_insn *i)
{
	struct emit *e = &c->e;
	const unsigned w = bpf_class(i) == BPF_ALU64 ? X86_W : 0, dst = c->now->reg[i->dst];
	if (bpf_source_is_reg(i)) {
		x86_reg(e, w | X86_0F, 0xaf, dst, compile_reg(c, i->src));
	} else if (i->imm >= -128 && i->imm <= 127) {
		x86_reg(e, w, 0x6b, dst, dst);
		x86_byte(e, (uint8_t)i->imm);
	} else {
		x86_reg(e, w, 0x69, dst, dst);
		x86_u32(e, (uint32_t)i->imm);
	}
}

static bool is_valid(const struct bpf_insn *i)
{
	const bool wide = bpf_class(i) == BPF_ALU64;
	switch (bpf_op(i)) {
	case BPF_END: return (i->imm == 16 || i->imm == 32 || i->imm == 64) && !(wide && bpf_source_is_reg(i));
	case BPF_DIV:
	case BPF_MOD: return i->offset == 0 || i->offset == 1;
	case BPF_MOV:
		return i->offset == 0 || (bpf_source_is_reg(i) && (i->offset == 8 || i->offset == 16 ||
		                                                   (wide && i->offset == 32)));
	default: return i->offset == 0 && bpf_op(i) < 0xe0;
	}
}

uint32_t compile_alu(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	const bool wide = bpf_class(insn) == BPF_ALU64;
	uint32_t done = copy_and_add(c, i);
	if (!done)
		done = extend(c, i);
	if (done)
		return done;
	if (!is_valid(insn)) {
		compile_fail(c, i, "unknown arithmetic instruction");
		return 1;
	}
	const bool was_short = compile_is_short(c, insn->dst);
	bool stays_short = false;
	switch (bpf_op(insn)) {
	case BPF_MOV: move(c, insn); return 1;
	case BPF_END: swap(c, insn); return 1;
	case BPF_ADD: simple(c, insn, X86_ADD); return 1;
	case BPF_SUB: simple(c, insn, X86_SUB); return 1;
	case BPF_OR: simple(c, insn, X86_OR); return 1;
	case BPF_AND: simple(c, insn, X86_AND); return 1;
	case BPF_XOR: simple(c, insn, X86_XOR); return 1;
	case BPF_MUL: multiply(c, insn); break;
	case BPF_LSH: shift(c, insn, X86_SHL, c->live[i]); break;
	case BPF_RSH: shift(c, insn, X86_SHR, c->live[i]); stays_short = was_short; break;
	case BPF_ARSH: shift(c, insn, X86_SAR, c->live[i]); stays_short = was_short; break;
	case BPF_NEG: x86_reg(&c->e, wide ? X86_W : 0, 0xf7, 3, c->now->reg[insn->dst]); break;
	default: division(c, insn, c->live[i]); break;
	}
	compile_set_short(c, insn->dst, !wide || stays_short);
	return 1;
}
