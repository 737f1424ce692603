/*
 * Loads, stores and atomic instructions: RFC 9669 section 5.
 *
 * Atomic instructions are LOCK-prefixed ones, which order all other accesses too; what x86-64 has no
 * instruction for (AND, OR and XOR that return the old value) is a loop around CMPXCHG.
 */
#include "bpf/compiler/compiler.h"
#include "bpf/xdp.h"

static void load(struct compiler *c, const struct bpf_insn *i)
{
	struct emit *e = &c->e;
	const bool sign = (i->opcode & 0xe0) == BPF_MEMSX;
	const unsigned dst = c->now->reg[i->dst];
	const struct x86_mem m = compile_at(c, i->src, i->offset);
	switch (i->opcode & 0x18) {
	case BPF_B: x86_mem(e, X86_0F | (sign ? X86_W : 0), sign ? 0xbe : 0xb6, dst, m); break;
	case BPF_H: x86_mem(e, X86_0F | (sign ? X86_W : 0), sign ? 0xbf : 0xb7, dst, m); break;
	case BPF_W: x86_mem(e, sign ? X86_W : 0, sign ? 0x63 : 0x8b, dst, m); break;
	default: x86_mem(e, X86_W, 0x8b, dst, m); break;
	}
	compile_set_short(c, i->dst, !sign && bpf_bytes(i) < 8);
}

static void load_context(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	unsigned offset, bytes;
	if (insn->opcode != (BPF_LDX | BPF_MEM | BPF_W) || insn->offset < 0 ||
	    !xdp_field((unsigned)insn->offset, &offset, &bytes)) {
		compile_fail(c, i, "no field of struct xdp_md");
		return;
	}
	x86_mem(&c->e, bytes == 8 ? X86_W : 0, 0x8b, c->now->reg[insn->dst],
	        compile_at(c, insn->src, (int32_t)offset));
	compile_set_short(c, insn->dst, bytes < 8);
}

static const struct { uint8_t prefix, reg, imm; } stores[4] = {
	[BPF_W >> 3] = {0, 0x89, 0xc7},
	[BPF_H >> 3] = {X86_16, 0x89, 0xc7},
	[BPF_B >> 3] = {X86_BYTE, 0x88, 0xc6},
	[BPF_DW >> 3] = {X86_W, 0x89, 0xc7},
};

static void store(struct compiler *c, const struct bpf_insn *i)
{
	const unsigned size = (i->opcode & 0x18) >> 3;
	const unsigned src = compile_reg(c, i->src);
	x86_mem(&c->e, stores[size].prefix, stores[size].reg, src, compile_at(c, i->dst, i->offset));
}

static void store_imm(struct compiler *c, const struct bpf_insn *i)
{
	const unsigned size = (i->opcode & 0x18) >> 3, bytes = bpf_bytes(i);
	x86_mem(&c->e, stores[size].prefix & ~(unsigned)X86_BYTE, stores[size].imm, 0,
	        compile_at(c, i->dst, i->offset));
	for (unsigned n = 0; n < (bytes == 8 ? 4 : bytes); n++)
		x86_byte(&c->e, (uint32_t)i->imm >> 8 * n & 0xff);
}

/*
 * src = *m; *m = *m op src, as one:
 *
 *         R10 = RAX; RAX = *m
 *     L:  R11 = RAX; R11 op= src; LOCK CMPXCHG *m, R11; JNE L
 *         src = RAX; RAX = R10
 *
 * If src is RAX, R10 is the operand, and RAX is the result. If the address is in RAX, it is copied to R9.
 */
static void fetch_bits(struct compiler *c, const struct bpf_insn *i, unsigned w, unsigned op)
{
	struct emit *e = &c->e;
	struct x86_mem m = compile_at(c, i->dst, i->offset);
	const unsigned src = c->now->reg[i->src];
	if (m.base == RAX) {
		x86_mov(e, X86_W, X_R9, RAX);
		m.base = X_R9;
	}
	x86_mov(e, X86_W, X_R10, RAX);
	x86_mem(e, w, 0x8b, RAX, m);
	const uint32_t again = e->used;
	x86_mov(e, X86_W, X_R11, RAX);
	x86_alu(e, w, op, X_R11, src == RAX ? X_R10 : src);
	x86_mem(e, w | X86_LOCK | X86_0F, 0xb1, X_R11, m);
	x86_byte(e, 0x75);
	x86_byte(e, (uint8_t)(again - (e->used + 1)));
	if (src != RAX) {
		x86_mov(e, w, src, RAX);
		x86_mov(e, X86_W, RAX, X_R10);
	}
}

static void atomic(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	struct emit *e = &c->e;
	const unsigned w = bpf_bytes(insn) == 8 ? X86_W : 0;
	const struct x86_mem m = compile_at(c, insn->dst, insn->offset);
	if (bpf_bytes(insn) < 4 || ((insn->imm & BPF_FETCH) && insn->src == BPF_R10)) {
		compile_fail(c, i, "unknown atomic instruction");
		return;
	}
	const unsigned src = compile_reg(c, insn->src), locked = w | X86_LOCK;
	switch (insn->imm) {
	case BPF_ADD: x86_mem(e, locked, 0x01, src, m); return;
	case BPF_OR: x86_mem(e, locked, 0x09, src, m); return;
	case BPF_AND: x86_mem(e, locked, 0x21, src, m); return;
	case BPF_XOR: x86_mem(e, locked, 0x31, src, m); return;
	case BPF_ADD | BPF_FETCH: x86_mem(e, locked | X86_0F, 0xc1, src, m); break;
	case BPF_XCHG: x86_mem(e, w, 0x87, src, m); break; /* locks without a prefix */
	case BPF_OR | BPF_FETCH: fetch_bits(c, insn, w, X86_OR); break;
	case BPF_AND | BPF_FETCH: fetch_bits(c, insn, w, X86_AND); break;
	case BPF_XOR | BPF_FETCH: fetch_bits(c, insn, w, X86_XOR); break;
	case BPF_CMPXCHG:
		x86_mem(e, locked | X86_0F, 0xb1, src, m);
		/* If the values were equal, EAX has not been written, and its upper half is R0's. */
		if (!w)
			x86_mov(e, 0, RAX, RAX);
		compile_set_short(c, BPF_R0, !w);
		return;
	default: compile_fail(c, i, "unknown atomic instruction"); return;
	}
	compile_set_short(c, insn->src, !w);
}

uint32_t compile_memory(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	const unsigned mode = insn->opcode & 0xe0u, class = bpf_class(insn);
	if (class == BPF_STX && mode == BPF_ATOMIC)
		atomic(c, i);
	else if (class == BPF_LDX && compile_note(c, i) == BPF_NOTE_CONTEXT)
		load_context(c, i);
	else if (class == BPF_LDX && (mode == BPF_MEM || (mode == BPF_MEMSX && bpf_bytes(insn) < 8)))
		load(c, insn);
	else if (class == BPF_STX && mode == BPF_MEM)
		store(c, insn);
	else if (class == BPF_ST && mode == BPF_MEM)
		store_imm(c, insn);
	else
		compile_fail(c, i, "unknown load or store");
	return 1;
}
