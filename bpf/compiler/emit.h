/*
 * Instructions of x86-64 as bytes: Intel SDM volume 2, chapter 2 (prefixes, ModRM, SIB) and chapters 3 to 6.
 * Nothing here knows BPF.
 *
 * A function that emits writes at out[used] if there is room, and counts in any case: so the size of code
 * is known even if it does not fit.
 */
#ifndef BPF_COMPILER_EMIT_H
#define BPF_COMPILER_EMIT_H

#include "lib/types.h"

enum x86_reg {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, X_R8, X_R9, X_R10, X_R11, X_R12, X_R13, X_R14, X_R15,
	X_NONE = 0xff,
};

struct emit {
	uint8_t *out;
	size_t room;
	uint32_t used;
};

/* base + index * scale + disp; base X_NONE: an absolute address of 31 bits. */
struct x86_mem {
	uint8_t base, index;
	uint8_t scale_log2;
	int32_t disp;
};

/* What precedes the opcode. */
enum x86_prefix {
	X86_W = 1,     /* 64-bit operands */
	X86_16 = 2,    /* 16-bit operands */
	X86_LOCK = 4,
	X86_0F = 8,    /* two-byte opcode */
	X86_BYTE = 16, /* the register in `reg` is one of 8 bits: SIL, not DH */
	X86_BYTE_RM = 32, /* the same for the register in `rm` */
};

/* The eight operations that share their encodings: the value of `reg` in opcode 0x81, and the opcode / 8. */
enum x86_alu { X86_ADD, X86_OR, X86_ADC, X86_SBB, X86_AND, X86_SUB, X86_XOR, X86_CMP };
/* The same for opcode 0xc1 and 0xd3. */
enum x86_shift { X86_ROL = 0, X86_SHL = 4, X86_SHR = 5, X86_SAR = 7 };
/* Conditions of Jcc. */
enum x86_condition {
	X86_B = 2, X86_AE = 3, X86_E = 4, X86_NE = 5, X86_BE = 6, X86_A = 7, X86_L = 12, X86_GE = 13, X86_LE = 14,
	X86_G = 15,
};

void x86_byte(struct emit *e, unsigned byte);
void x86_u32(struct emit *e, uint32_t v);
void x86_u64(struct emit *e, uint64_t v);

/* opcode with ModRM: a register, or an extension of the opcode, and a register or memory. */
void x86_reg(struct emit *e, unsigned prefix, unsigned opcode, unsigned reg, unsigned rm);
void x86_mem(struct emit *e, unsigned prefix, unsigned opcode, unsigned reg, struct x86_mem m);

/* op is enum x86_alu; w is X86_W or 0. The shortest forms. */
void x86_alu(struct emit *e, unsigned w, unsigned op, unsigned dst, unsigned src);
void x86_alu_imm(struct emit *e, unsigned w, unsigned op, unsigned dst, int32_t imm);
void x86_test_imm(struct emit *e, unsigned w, unsigned reg, int32_t imm);
void x86_mov(struct emit *e, unsigned w, unsigned dst, unsigned src);
/* Any 64-bit number. Changes the flags. */
void x86_mov_imm(struct emit *e, unsigned dst, uint64_t imm);
void x86_shift_imm(struct emit *e, unsigned w, unsigned op, unsigned dst, unsigned count);
void x86_push(struct emit *e, unsigned reg);
void x86_pop(struct emit *e, unsigned reg);

/* A jump of 8 bits forward inside of a sequence; `condition` X_NONE: always. Its end is given to x86_here
 * when the target is reached. */
uint32_t x86_skip(struct emit *e, unsigned condition);
void x86_here(struct emit *e, uint32_t skip);

#endif
