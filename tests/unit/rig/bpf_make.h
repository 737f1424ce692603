/* Instructions of BPF as initialisers of struct bpf_insn, for tests. */
#ifndef TESTS_UNIT_RIG_BPF_MAKE_H
#define TESTS_UNIT_RIG_BPF_MAKE_H

#include "bpf/insn.h"

#define INSN(op, d, s, off, i) {.opcode = (op), .dst = (d), .src = (s), .offset = (off), .imm = (i)}
#define ALU64_K(op, d, i) INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALU64_X(op, d, s) INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define ALU32_K(op, d, i) INSN(BPF_ALU | (op) | BPF_K, d, 0, 0, i)
#define ALU32_X(op, d, s) INSN(BPF_ALU | (op) | BPF_X, d, s, 0, 0)
#define MOV_K(d, i) ALU64_K(BPF_MOV, d, i)
#define MOV_X(d, s) ALU64_X(BPF_MOV, d, s)
#define LOAD(size, d, s, off) INSN(BPF_LDX | BPF_MEM | (size), d, s, off, 0)
#define STORE(size, d, s, off) INSN(BPF_STX | BPF_MEM | (size), d, s, off, 0)
#define STORE_K(size, d, off, i) INSN(BPF_ST | BPF_MEM | (size), d, 0, off, i)
#define ATOMIC(size, op, d, s, off) INSN(BPF_STX | BPF_ATOMIC | (size), d, s, off, op)
#define WIDE(d, s, v) INSN(BPF_LD | BPF_IMM | BPF_DW, d, s, 0, (int32_t)(v)), \
	INSN(0, 0, 0, 0, (int32_t)((uint64_t)(v) >> 32))
#define JUMP(off) INSN(BPF_JMP | BPF_JA, 0, 0, off, 0)
#define JUMP_K(op, d, i, off) INSN(BPF_JMP | (op) | BPF_K, d, 0, off, i)
#define JUMP_X(op, d, s, off) INSN(BPF_JMP | (op) | BPF_X, d, s, off, 0)
#define CALL(id) INSN(BPF_JMP | BPF_CALL, 0, BPF_CALL_HELPER, 0, id)
#define CALL_LOCAL(distance) INSN(BPF_JMP | BPF_CALL, 0, BPF_CALL_LOCAL, 0, distance)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#endif
