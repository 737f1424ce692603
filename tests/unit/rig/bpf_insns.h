/*
 * Programs of BPF instructions as C initialisers, for tests, and the verifier called with them.
 */
#ifndef TESTS_UNIT_RIG_BPF_INSNS_H
#define TESTS_UNIT_RIG_BPF_INSNS_H

#include "bpf/helpers.h"
#include "bpf/insn.h"
#include "bpf/program.h"
#include "bpf/verify.h"

#define INSN(op, d, s, o, i) {.opcode = (op), .dst = (d), .src = (s), .offset = (o), .imm = (int32_t)(i)}

#define ALU64_K(op, d, i) INSN(BPF_ALU64 | BPF_K | (op), d, 0, 0, i)
#define ALU64_X(op, d, s) INSN(BPF_ALU64 | BPF_X | (op), d, s, 0, 0)
#define ALU32_K(op, d, i) INSN(BPF_ALU | BPF_K | (op), d, 0, 0, i)
#define ALU32_X(op, d, s) INSN(BPF_ALU | BPF_X | (op), d, s, 0, 0)
#define MOV_K(d, i) ALU64_K(BPF_MOV, d, i)
#define MOV_X(d, s) ALU64_X(BPF_MOV, d, s)
#define MOV32_K(d, i) ALU32_K(BPF_MOV, d, i)
#define MOV32_X(d, s) ALU32_X(BPF_MOV, d, s)
#define MOVSX(d, s, bits) INSN(BPF_ALU64 | BPF_X | BPF_MOV, d, s, bits, 0)
#define ADD_K(d, i) ALU64_K(BPF_ADD, d, i)
#define ADD_X(d, s) ALU64_X(BPF_ADD, d, s)
#define WIDE(d, s, low, high) INSN(BPF_LD | BPF_IMM | BPF_DW, d, s, 0, low), INSN(0, 0, 0, 0, high)
#define WIDE_NUMBER(d, x) WIDE(d, 0, (uint64_t)(x), (uint64_t)(x) >> 32)
#define WIDE_MAP(d, m) WIDE(d, BPF_WIDE_MAP, m, 0)
#define WIDE_VALUE(d, m, off) WIDE(d, BPF_WIDE_VALUE, m, off)
#define LOAD(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define LOAD_SX(size, d, s, o) INSN(BPF_LDX | BPF_MEMSX | (size), d, s, o, 0)
#define STORE(size, d, o, s) INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define STORE_K(size, d, o, i) INSN(BPF_ST | BPF_MEM | (size), d, 0, o, i)
#define ATOMIC(size, op, d, o, s) INSN(BPF_STX | BPF_ATOMIC | (size), d, s, o, op)
#define JUMP(o) INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define JUMP_K(op, d, i, o) INSN(BPF_JMP | BPF_K | (op), d, 0, o, i)
#define JUMP_X(op, d, s, o) INSN(BPF_JMP | BPF_X | (op), d, s, o, 0)
#define JUMP32_K(op, d, i, o) INSN(BPF_JMP32 | BPF_K | (op), d, 0, o, i)
#define JUMP32_X(op, d, s, o) INSN(BPF_JMP32 | BPF_X | (op), d, s, o, 0)
#define HELPER(id) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define CALL(o) INSN(BPF_JMP | BPF_CALL, 0, BPF_CALL_LOCAL, 0, o)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define RETURN(i) MOV_K(BPF_R0, i), EXIT

/* The maps that these programs see, by number. */
enum { ARRAY48, HASH8, RODATA, RING, PROGS, DEVICES, WRITE_ONLY, BSS, RIG_MAPS };
extern const struct bpf_map_def rig_maps[RIG_MAPS];

/* R0 = a value of map `m` under key 0, not null: 8 instructions; uses R1, R2 and the stack at -8; leaves
 * with 0 if there is none. */
#define LOOKUP(m) \
	STORE_K(BPF_DW, BPF_R10, -8, 0), MOV_X(BPF_R2, BPF_R10), ADD_K(BPF_R2, -8), WIDE_MAP(BPF_R1, m), \
		HELPER(BPF_FN_MAP_LOOKUP), JUMP_K(BPF_JNE, BPF_R0, 0, 1), EXIT

/* Verifies with rig_maps and the default limits, in one go and in slices; notes may be NULL. */
struct bpf_verdict rig_verify(const struct bpf_insn *insns, uint32_t count, enum bpf_context context,
                              uint32_t memory_bytes, struct bpf_note *notes);

#endif
