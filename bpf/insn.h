/*
 * Instructions of BPF, in their one encoding: RFC 9669. The comments cite its sections.
 *
 * A program is an array of struct bpf_insn. A wide instruction (BPF_LD | BPF_IMM | BPF_DW) takes two
 * of them; the second has opcode 0, and its `imm` is the upper half of the 64-bit immediate. Offsets of
 * jumps and calls count instructions of 8 bytes, from the one behind the jump.
 */
#ifndef BPF_INSN_H
#define BPF_INSN_H

#include "lib/types.h"

struct bpf_insn {
	uint8_t opcode;
	uint8_t dst : 4; /* R0 to R10 */
	uint8_t src : 4;
	int16_t offset;
	int32_t imm;
};
_Static_assert(sizeof(struct bpf_insn) == 8, "3.1: the basic encoding");

/* Registers (2.1): R0 the result, R1 to R5 arguments, which a call destroys, R6 to R9 kept by calls, R10
 * the read-only end of the stack frame. */
enum bpf_reg { BPF_R0, BPF_R1, BPF_R2, BPF_R3, BPF_R4, BPF_R5, BPF_R6, BPF_R7, BPF_R8, BPF_R9, BPF_R10, BPF_REGS };

/* The class: the three low bits of the opcode (3.3). */
enum bpf_class { BPF_LD, BPF_LDX, BPF_ST, BPF_STX, BPF_ALU, BPF_JMP, BPF_JMP32, BPF_ALU64 };

/* Arithmetic and jumps: the source, and the operation (4). */
enum bpf_source { BPF_K = 0x00, BPF_X = 0x08 };
enum bpf_alu {
	BPF_ADD = 0x00, BPF_SUB = 0x10, BPF_MUL = 0x20, BPF_DIV = 0x30, BPF_OR = 0x40, BPF_AND = 0x50,
	BPF_LSH = 0x60, BPF_RSH = 0x70, BPF_NEG = 0x80, BPF_MOD = 0x90, BPF_XOR = 0xa0, BPF_MOV = 0xb0,
	BPF_ARSH = 0xc0, BPF_END = 0xd0,
};
enum bpf_jump {
	BPF_JA = 0x00, BPF_JEQ = 0x10, BPF_JGT = 0x20, BPF_JGE = 0x30, BPF_JSET = 0x40, BPF_JNE = 0x50,
	BPF_JSGT = 0x60, BPF_JSGE = 0x70, BPF_CALL = 0x80, BPF_EXIT = 0x90, BPF_JLT = 0xa0, BPF_JLE = 0xb0,
	BPF_JSLT = 0xc0, BPF_JSLE = 0xd0,
};

/* Load and store: the size and the mode (5). */
enum bpf_size { BPF_W = 0x00, BPF_H = 0x08, BPF_B = 0x10, BPF_DW = 0x18 };
enum bpf_mode {
	BPF_IMM = 0x00, BPF_ABS = 0x20, BPF_IND = 0x40, BPF_MEM = 0x60, BPF_MEMSX = 0x80, BPF_ATOMIC = 0xc0,
};

/* Atomic operations, in imm (5.3). */
enum bpf_atomic { BPF_FETCH = 0x01, BPF_XCHG = 0xe1, BPF_CMPXCHG = 0xf1 };

/* The source register of a call says what is called (4.3.1). */
enum bpf_call { BPF_CALL_HELPER, BPF_CALL_LOCAL, BPF_CALL_BTF };

/*
 * The source register of a wide instruction says what the immediate is (5.4). In a struct bpf_program
 * the loader leaves three: a number; BPF_WIDE_MAP, whose imm is an index into the object's maps; and
 * BPF_WIDE_VALUE, whose imm is the same and whose second imm is an offset in the value of that map's
 * only entry.
 */
enum bpf_wide { BPF_WIDE_NUMBER, BPF_WIDE_MAP, BPF_WIDE_VALUE };

static inline unsigned bpf_class(const struct bpf_insn *i) { return i->opcode & 7u; }
static inline unsigned bpf_op(const struct bpf_insn *i) { return i->opcode & 0xf0u; }
static inline bool bpf_source_is_reg(const struct bpf_insn *i) { return i->opcode & BPF_X; }
static inline bool bpf_is_wide(const struct bpf_insn *i) { return i->opcode == (BPF_LD | BPF_IMM | BPF_DW); }

/* Bytes that a load or store moves. */
static inline unsigned bpf_bytes(const struct bpf_insn *i)
{
	switch (i->opcode & 0x18) {
	case BPF_B: return 1;
	case BPF_H: return 2;
	case BPF_W: return 4;
	default: return 8;
	}
}

#endif
