/*
 * Encodings of x86-64: see emit.h.
 */
#include "bpf/compiler/emit.h"

void x86_byte(struct emit *e, unsigned byte)
{
	if (e->used < e->room)
		e->out[e->used] = (uint8_t)byte;
	e->used++;
}

void x86_u32(struct emit *e, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		x86_byte(e, v >> 8 * i & 0xff);
}

void x86_u64(struct emit *e, uint64_t v)
{
	x86_u32(e, (uint32_t)v);
	x86_u32(e, (uint32_t)(v >> 32));
}

static bool is_imm8(int64_t v)
{
	return v >= -128 && v <= 127;
}

/* Prefixes and opcode. `reg`, `index` and `base` are numbers of registers whose fourth bit goes into REX. */
static void opcode_bytes(struct emit *e, unsigned prefix, unsigned opcode, unsigned reg, unsigned index,
                         unsigned base)
{
	unsigned rex = (prefix & X86_W ? 8u : 0) | (reg & 8) >> 1 | (index & 8) >> 2 | (base & 8) >> 3;
	if (((prefix & X86_BYTE) && reg >= RSP) || ((prefix & X86_BYTE_RM) && base >= RSP))
		rex |= 0x40;
	if (prefix & X86_LOCK)
		x86_byte(e, 0xf0);
	if (prefix & X86_16)
		x86_byte(e, 0x66);
	if (rex)
		x86_byte(e, 0x40 | rex);
	if (prefix & X86_0F)
		x86_byte(e, 0x0f);
	x86_byte(e, opcode);
}

void x86_reg(struct emit *e, unsigned prefix, unsigned opcode, unsigned reg, unsigned rm)
{
	opcode_bytes(e, prefix, opcode, reg, 0, rm);
	x86_byte(e, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* RSP and R12 as a base need a SIB byte, RBP and R13 a displacement. Without a base there are SIB and 32 bits. */
void x86_mem(struct emit *e, unsigned prefix, unsigned opcode, unsigned reg, struct x86_mem m)
{
	const bool has_base = m.base != X_NONE, has_index = m.index != X_NONE;
	opcode_bytes(e, prefix, opcode, reg, has_index ? m.index : 0, has_base ? m.base : 0);
	const bool sib = has_index || !has_base || (m.base & 7) == RSP;
	unsigned mode = 0;
	if (has_base && (m.disp != 0 || (m.base & 7) == RBP))
		mode = is_imm8(m.disp) ? 1 : 2;
	x86_byte(e, mode << 6 | (reg & 7) << 3 | (sib ? RSP : m.base & 7));
	if (sib)
		x86_byte(e, (unsigned)m.scale_log2 << 6 | (has_index ? m.index & 7 : RSP) << 3 |
		            (has_base ? m.base & 7 : RBP));
	if (mode == 1)
		x86_byte(e, (uint8_t)m.disp);
	else if (mode == 2 || !has_base)
		x86_u32(e, (uint32_t)m.disp);
}

void x86_alu(struct emit *e, unsigned w, unsigned op, unsigned dst, unsigned src)
{
	x86_reg(e, w, op << 3 | 1, src, dst);
}

void x86_alu_imm(struct emit *e, unsigned w, unsigned op, unsigned dst, int32_t imm)
{
	if (is_imm8(imm)) {
		x86_reg(e, w, 0x83, op, dst);
		x86_byte(e, (uint8_t)imm);
		return;
	}
	if (dst == RAX) {
		opcode_bytes(e, w, op << 3 | 5, 0, 0, 0);
	} else {
		x86_reg(e, w, 0x81, op, dst);
	}
	x86_u32(e, (uint32_t)imm);
}

/* The upper bits of a number that is not negative are 0, so a test of fewer bits has the same result; but
 * not the same sign flag, which nobody asks for. */
void x86_test_imm(struct emit *e, unsigned w, unsigned reg, int32_t imm)
{
	if (imm >= 0 && imm <= 0xff) {
		x86_reg(e, X86_BYTE_RM, 0xf6, 0, reg);
		x86_byte(e, (uint8_t)imm);
		return;
	}
	x86_reg(e, imm >= 0 ? 0 : w, 0xf7, 0, reg);
	x86_u32(e, (uint32_t)imm);
}

void x86_mov(struct emit *e, unsigned w, unsigned dst, unsigned src)
{
	x86_reg(e, w, 0x89, src, dst);
}

void x86_mov_imm(struct emit *e, unsigned dst, uint64_t imm)
{
	if (imm == 0) {
		x86_alu(e, 0, X86_XOR, dst, dst);
	} else if (imm <= UINT32_MAX) {
		opcode_bytes(e, 0, 0xb8 | (dst & 7), 0, 0, dst);
		x86_u32(e, (uint32_t)imm);
	} else if ((int64_t)imm == (int32_t)imm) {
		x86_reg(e, X86_W, 0xc7, 0, dst);
		x86_u32(e, (uint32_t)imm);
	} else {
		opcode_bytes(e, X86_W, 0xb8 | (dst & 7), 0, 0, dst);
		x86_u64(e, imm);
	}
}

void x86_shift_imm(struct emit *e, unsigned w, unsigned op, unsigned dst, unsigned count)
{
	if (count == 1) {
		x86_reg(e, w, 0xd1, op, dst);
		return;
	}
	x86_reg(e, w, 0xc1, op, dst);
	x86_byte(e, count);
}

void x86_push(struct emit *e, unsigned reg)
{
	opcode_bytes(e, 0, 0x50 | (reg & 7), 0, 0, reg);
}

void x86_pop(struct emit *e, unsigned reg)
{
	opcode_bytes(e, 0, 0x58 | (reg & 7), 0, 0, reg);
}

uint32_t x86_skip(struct emit *e, unsigned condition)
{
	x86_byte(e, condition == X_NONE ? 0xeb : 0x70 | condition);
	x86_byte(e, 0);
	return e->used;
}

void x86_here(struct emit *e, uint32_t skip)
{
	if (skip <= e->room)
		e->out[skip - 1] = (uint8_t)(e->used - skip);
}
