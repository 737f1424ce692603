/*
 * What the verifier accepts and refuses, by part; each refusal with the reason that a programmer sees.
 * Vulnerabilities of other verifiers are in test_bpf_attacks.c.
 */
#include "tests/unit/rig/host.h"

#include <time.h>

#include "bpf/insn_text.h"
#include "tests/unit/rig/bpf_insns.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

static void check(enum bpf_context context, const struct bpf_insn *insns, uint32_t count, const char *why)
{
	const struct bpf_verdict v = rig_verify(insns, count, context, 64, NULL);
	if (!why && !v.ok)
		fail_msg("refused: %s", v.why.text);
	if (why && v.ok)
		fail_msg("accepted, not refused because: %s", why);
	if (why && !strstr(v.why.text, why))
		fail_msg("refused because: %s; expected: %s", v.why.text, why);
}

#define OK(...) \
	do { \
		const struct bpf_insn insns[] = {__VA_ARGS__}; \
		check(BPF_CONTEXT_XDP, insns, ARRAY_LEN(insns), NULL); \
	} while (0)
#define NO(why, ...) \
	do { \
		const struct bpf_insn insns[] = {__VA_ARGS__}; \
		check(BPF_CONTEXT_XDP, insns, ARRAY_LEN(insns), why); \
	} while (0)
#define MEMORY_OK(...) \
	do { \
		const struct bpf_insn insns[] = {__VA_ARGS__}; \
		check(BPF_CONTEXT_MEMORY, insns, ARRAY_LEN(insns), NULL); \
	} while (0)
#define MEMORY_NO(why, ...) \
	do { \
		const struct bpf_insn insns[] = {__VA_ARGS__}; \
		check(BPF_CONTEXT_MEMORY, insns, ARRAY_LEN(insns), why); \
	} while (0)

/* RFC 9669 3 to 5: fields that are not used are zero, and only what is defined exists. */
static void encoding(void **s)
{
	(void)s;
	NO("unknown arithmetic", MOV_K(R0, 0), INSN(BPF_ALU64 | 0xe0, R0, 0, 0, 0), EXIT);
	NO("unknown jump", MOV_K(R0, 0), INSN(BPF_JMP | 0xe0, R0, 0, 0, 0), EXIT);
	NO("unknown jump", INSN(BPF_JMP32 | BPF_CALL, 0, 0, 0, 1), RETURN(0));
	NO("R0 to R10 only", INSN(BPF_ALU64 | BPF_MOV, 11, 0, 0, 0), RETURN(0));
	NO("R10 is the end", MOV_K(R10, 0), RETURN(0));
	NO("R10 is the end", LOAD(BPF_DW, R10, R1, 0), RETURN(0));
	NO("the source register is not zero", INSN(BPF_ALU64 | BPF_MOV, R0, 1, 0, 0), EXIT);
	NO("the immediate is not zero", INSN(BPF_ALU64 | BPF_X | BPF_MOV, R0, R1, 0, 1), EXIT);
	NO("the offset is not zero", INSN(BPF_ALU64 | BPF_ADD, R0, 0, 1, 0), EXIT);
	NO("0 is unsigned and 1 signed", MOV_K(R0, 0), INSN(BPF_ALU64 | BPF_DIV, R0, 0, 2, 3), EXIT);
	NO("no sign extension from 32 bits", MOV_K(R0, 0), INSN(BPF_ALU | BPF_X | BPF_MOV, R0, R0, 32, 0), EXIT);
	NO("16, 32 and 64", MOV_K(R0, 0), INSN(BPF_ALU | BPF_END, R0, 0, 0, 8), EXIT);
	NO("bswap", MOV_K(R0, 0), INSN(BPF_ALU64 | BPF_X | BPF_END, R0, 0, 0, 16), EXIT);
	NO("the source is not zero", MOV_K(R0, 0), INSN(BPF_ALU64 | BPF_X | BPF_NEG, R0, 0, 0, 0), EXIT);
	NO("legacy packet loads", MOV_X(R6, R1), INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT);
	NO("unknown load", INSN(BPF_LDX | BPF_MEMSX | BPF_DW, R0, R1, 0, 0), EXIT);
	NO("unknown store", INSN(BPF_ST | BPF_ATOMIC | BPF_W, R10, 0, -8, 0), RETURN(0));
	NO("4 or 8 bytes", MOV_K(R1, 0), ATOMIC(BPF_H, BPF_ADD, R10, -8, R1), RETURN(0));
	NO("unknown atomic", MOV_K(R1, 0), ATOMIC(BPF_W, BPF_SUB, R10, -8, R1), RETURN(0));
	NO("second half of the wide instruction is missing", INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 0, 0, 0));
	NO("has an opcode, register or offset", INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 0, 0, 0), MOV_K(R0, 0), EXIT);
	NO("callx is not supported", INSN(BPF_JMP | BPF_X | BPF_CALL, R1, 0, 0, 0), RETURN(0));
	NO("kfuncs", INSN(BPF_JMP | BPF_CALL, 0, BPF_CALL_BTF, 0, 5), RETURN(0));
	NO("no helper number 4", HELPER(4), RETURN(0));
	NO("no helper number -1", HELPER(-1), RETURN(0));
	OK(MOV_K(R0, -7), INSN(BPF_ALU64 | BPF_DIV, R0, 0, 1, 2), INSN(BPF_ALU64 | BPF_END, R0, 0, 0, 32), EXIT);
}

static void jumps_and_functions(void **s)
{
	(void)s;
	NO("does not end in exit", MOV_K(R0, 0));
	NO("does not end in exit", MOV_K(R0, 0), JUMP_K(BPF_JEQ, R0, 0, -1));
	NO("out of its function", MOV_K(R0, 0), JUMP(5), EXIT);
	NO("out of its function", MOV_K(R0, 0), JUMP(-9), EXIT);
	NO("middle of a wide", MOV_K(R0, 0), JUMP(1), WIDE_NUMBER(R0, 1), EXIT);
	NO("out of its function", CALL(2), JUMP(2), EXIT, MOV_K(R0, 0), EXIT);
	NO("not in the program", CALL(7), RETURN(0));
	NO("recursion", CALL(-1), RETURN(0));
	NO("infinite loop", MOV_K(R0, 0), JUMP(-1), EXIT);
	NO("infinite loop", MOV_K(R0, 0), MOV_X(R6, R0), HELPER(BPF_FN_GET_PRANDOM_U32), JUMP_K(BPF_JNE, R0, 5, -2), EXIT);
	NO("too complex", MOV_K(R6, 0), ADD_K(R6, 1), JUMP_K(BPF_JNE, R6, 0x7fffffff, -2), RETURN(0));
	OK(MOV_K(R6, 0), ADD_K(R6, 1), JUMP_K(BPF_JNE, R6, 10000, -2), RETURN(0));
	OK(INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, 1), EXIT, RETURN(0));
	/* chains of 8 functions, and of 9 */
	OK(CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT,
	   RETURN(0));
	NO("longer than 8", CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT, CALL(1), EXIT,
	   CALL(1), EXIT, CALL(1), EXIT, RETURN(0));
	NO("R0 is not initialised: the program", EXIT);
	NO("instruction 1 (r0 = r3): R3 is not initialised", MOV_K(R2, 1), MOV_X(R0, R3), EXIT);
}

static void context(void **s)
{
	(void)s;
	OK(LOAD(BPF_W, R0, R1, 12), LOAD(BPF_W, R2, R1, 20), ADD_X(R0, R2), EXIT);
	NO("no 32-bit field at offset 24", LOAD(BPF_W, R0, R1, 24), EXIT);
	NO("no 32-bit field at offset 2", LOAD(BPF_W, R0, R1, 2), EXIT);
	NO("no 32-bit field at offset -4", LOAD(BPF_W, R0, R1, -4), EXIT);
	NO("no 32-bit field", LOAD(BPF_DW, R0, R1, 0), EXIT);
	NO("with an offset added", ADD_K(R1, 4), LOAD(BPF_W, R0, R1, 0), EXIT);
	NO("programs cannot write", STORE_K(BPF_W, R1, 0, 0), RETURN(0));
	NO("the context on one path", LOAD(BPF_W, R6, R1, 12), STORE_K(BPF_W, R10, -8, 0), MOV_X(R2, R10), ADD_K(R2, -8),
	   JUMP_K(BPF_JEQ, R6, 1, 1), MOV_X(R2, R1), LOAD(BPF_W, R5, R2, 0), RETURN(0));
	MEMORY_OK(LOAD(BPF_DW, R0, R1, 56), STORE(BPF_B, R1, 63, R0), EXIT);
	MEMORY_NO("of 64 bytes", LOAD(BPF_DW, R0, R1, 57), EXIT);
	MEMORY_OK(JUMP_K(BPF_JNE, R2, 64, 2), RETURN(0), EXIT);
	MEMORY_NO("takes the context", MOV_K(R2, 0), HELPER(BPF_FN_XDP_ADJUST_HEAD), RETURN(0));
}

#define DATA LOAD(BPF_W, R2, R1, 0), LOAD(BPF_W, R3, R1, 4)

/* All forms in which clang compares with data_end. */
static void packet(void **s)
{
	(void)s;
#define BOUND(...) DATA, MOV_X(R4, R2), ADD_K(R4, 14), __VA_ARGS__, RETURN(1)
	OK(BOUND(JUMP_X(BPF_JGT, R4, R3, 1), LOAD(BPF_B, R0, R2, 13)));
	OK(BOUND(JUMP_X(BPF_JGE, R4, R3, 1), LOAD(BPF_B, R0, R2, 14)));
	OK(BOUND(JUMP_X(BPF_JLT, R3, R4, 1), LOAD(BPF_B, R0, R2, 13)));
	OK(BOUND(JUMP_X(BPF_JLE, R3, R4, 1), LOAD(BPF_B, R0, R2, 14)));
	OK(BOUND(JUMP_X(BPF_JLE, R4, R3, 2), RETURN(2), LOAD(BPF_B, R0, R2, 13)));
	OK(BOUND(JUMP_X(BPF_JGE, R3, R4, 2), RETURN(2), LOAD(BPF_B, R0, R2, 13)));
	OK(BOUND(JUMP_X(BPF_JGT, R3, R4, 2), RETURN(2), LOAD(BPF_B, R0, R2, 14)));
	OK(BOUND(JUMP_X(BPF_JNE, R3, R4, 1), LOAD(BPF_B, R0, R2, 13)));
	NO("ends at byte 15", BOUND(JUMP_X(BPF_JGT, R4, R3, 1), LOAD(BPF_B, R0, R2, 14)));
	NO("ends at byte 15", BOUND(JUMP_X(BPF_JLT, R3, R4, 1), LOAD(BPF_H, R0, R2, 13)));
	NO("known to be at byte 0", BOUND(JUMP_X(BPF_JLT, R4, R3, 1), LOAD(BPF_B, R0, R2, 0)));
	NO("known to be at byte 0", BOUND(JUMP_X(BPF_JEQ, R4, R3, 1), LOAD(BPF_B, R0, R2, 0)));
	NO("before the packet", BOUND(JUMP_X(BPF_JGT, R4, R3, 1), LOAD(BPF_B, R0, R2, -1)));
	OK(BOUND(JUMP_X(BPF_JGT, R4, R3, 1), STORE_K(BPF_DW, R4, -8, 7)));
	/* a header of variable length; the bytes before the pointer, too */
#define VARIABLE(...) BOUND(JUMP_X(BPF_JGT, R4, R3, 8), LOAD(BPF_B, R5, R2, 0), ALU64_K(BPF_AND, R5, 15), \
	ALU64_K(BPF_LSH, R5, 2), ADD_X(R4, R5), MOV_X(R6, R4), ADD_K(R6, 8), JUMP_X(BPF_JGT, R6, R3, 1), __VA_ARGS__)
	OK(VARIABLE(LOAD(BPF_DW, R0, R4, 0)));
	OK(VARIABLE(LOAD(BPF_DW, R0, R6, -8)));
	OK(VARIABLE(LOAD(BPF_DW, R0, R4, -14)));
	NO("before the packet", VARIABLE(LOAD(BPF_DW, R0, R4, -15)));
	NO("ends at byte 9", VARIABLE(LOAD(BPF_DW, R0, R4, 1)));
	/* metadata */
	OK(LOAD(BPF_W, R2, R1, 8), LOAD(BPF_W, R3, R1, 0), MOV_X(R4, R2), ADD_K(R4, 4), JUMP_X(BPF_JGT, R4, R3, 1),
	   STORE_K(BPF_W, R2, 0, 7), RETURN(2));
	NO("atomic operations work on", BOUND(JUMP_X(BPF_JGT, R4, R3, 2), MOV_K(R5, 1), ATOMIC(BPF_W, BPF_ADD, R2, 0, R5)));
}

static void stack(void **s)
{
	(void)s;
	OK(STORE_K(BPF_DW, R10, -512, 3), LOAD(BPF_DW, R0, R10, -512), EXIT);
	NO("the stack is R10-512", STORE_K(BPF_DW, R10, -513, 3), RETURN(0));
	NO("the stack is R10-512", STORE_K(BPF_DW, R10, -7, 3), RETURN(0));
	NO("byte of the stack at R10-4 is not initialised", STORE_K(BPF_W, R10, -8, 3), LOAD(BPF_DW, R0, R10, -8), EXIT);
	OK(STORE_K(BPF_W, R10, -8, 3), STORE_K(BPF_W, R10, -4, 3), LOAD(BPF_DW, R0, R10, -8), EXIT);
	OK(STORE_K(BPF_DW, R10, -8, 3), STORE_K(BPF_DW, R10, -16, 3), LOAD(BPF_DW, R0, R10, -13), EXIT); /* unaligned */
	/* zeros are known, also if they are read by other sizes */
	OK(STORE_K(BPF_H, R10, -4, 0), STORE_K(BPF_H, R10, -2, 0), LOAD(BPF_W, R6, R10, -4), JUMP_K(BPF_JNE, R6, 0, 2),
	   RETURN(1), MOV_X(R0, R9), EXIT);
	/* at a range */
#define RANGE LOOKUP(ARRAY48), LOAD(BPF_DW, R6, R0, 0), ALU64_K(BPF_AND, R6, 7), MOV_X(R7, R10), ADD_X(R7, R6)
	OK(RANGE, STORE_K(BPF_DW, R10, -16, 0), LOAD(BPF_B, R0, R7, -16), EXIT);
	NO("not initialised", RANGE, STORE_K(BPF_W, R10, -16, 0), LOAD(BPF_B, R0, R7, -16), EXIT);
	NO("not initialised", RANGE, STORE_K(BPF_B, R7, -16, 0), LOAD(BPF_B, R0, R10, -16), EXIT);
	/* zeros stay known if the store may write zeros only */
#define ZEROS(number) RANGE, STORE_K(BPF_DW, R10, -16, 0), STORE_K(BPF_B, R7, -16, number), LOAD(BPF_B, R6, R10, -16), \
	JUMP_K(BPF_JNE, R6, 0, 2), RETURN(1), MOV_X(R0, R9), EXIT
	OK(ZEROS(0));
	NO("R9 is not initialised", ZEROS(1));
#undef ZEROS
	NO("without bounds", LOOKUP(ARRAY48), LOAD(BPF_W, R6, R0, 0), MOV_X(R7, R10), ALU64_K(BPF_LSH, R6, 31),
	   ADD_X(R7, R6), STORE_K(BPF_B, R7, -16, 0), RETURN(0));
	/* in the caller's frame */
	OK(MOV_X(R1, R10), ADD_K(R1, -8), CALL(2), LOAD(BPF_DW, R0, R10, -8), EXIT, STORE_K(BPF_DW, R1, 0, 5), RETURN(0));
	OK(STORE_K(BPF_DW, R10, -8, 3), MOV_X(R1, R10), ADD_K(R1, -8), CALL(1), EXIT, LOAD(BPF_DW, R0, R1, 0), EXIT);
	OK(MOV_K(R1, 1), STORE_K(BPF_DW, R10, -8, 0), ATOMIC(BPF_DW, BPF_ADD | BPF_FETCH, R10, -8, R1), RETURN(0));
	NO("multiple of 8", MOV_K(R1, 1), STORE_K(BPF_DW, R10, -8, 0), STORE_K(BPF_DW, R10, -16, 0),
	   ATOMIC(BPF_DW, BPF_ADD, R10, -12, R1), RETURN(0));
}

static void helpers(void **s)
{
	(void)s;
	OK(HELPER(BPF_FN_GET_SMP_PROCESSOR_ID), EXIT);
	NO("R1 is not initialised", HELPER(BPF_FN_KTIME_GET_NS), MOV_X(R0, R1), EXIT);
	NO("R0 is not initialised", MOV_X(R6, R1), WIDE_MAP(R2, PROGS), MOV_K(R3, 0), HELPER(BPF_FN_TAIL_CALL), EXIT);
	NO("R2 is not initialised", HELPER(BPF_FN_XDP_ADJUST_HEAD), EXIT);
	NO("whose type this helper does not take", STORE_K(BPF_DW, R10, -8, 0), MOV_X(R2, R10), ADD_K(R2, -8),
	   WIDE_MAP(R1, RING), HELPER(BPF_FN_MAP_LOOKUP), EXIT);
	NO("not initialised", STORE_K(BPF_W, R10, -8, 0), MOV_X(R2, R10), ADD_K(R2, -8), WIDE_MAP(R1, HASH8),
	   HELPER(BPF_FN_MAP_LOOKUP), RETURN(0));
	OK(WIDE_MAP(R1, DEVICES), MOV_K(R2, 1), MOV_K(R3, 2), HELPER(BPF_FN_REDIRECT_MAP), EXIT);
	OK(WIDE_VALUE(R1, RODATA, 0), MOV_K(R2, 16), HELPER(BPF_FN_TRACE_PRINTK), EXIT);
	NO("of 16 bytes", WIDE_VALUE(R1, RODATA, 0), MOV_K(R2, 17), HELPER(BPF_FN_TRACE_PRINTK), EXIT);
	NO("may be 0", WIDE_VALUE(R1, RODATA, 0), MOV_K(R2, 0), HELPER(BPF_FN_TRACE_PRINTK), EXIT);
	NO("not in the value", WIDE_VALUE(R1, RODATA, 16), MOV_K(R2, 1), HELPER(BPF_FN_TRACE_PRINTK), EXIT);
	/* sizes that are ranges */
#define SIZE LOAD(BPF_W, R6, R1, 12), MOV_X(R7, R1), LOAD(BPF_W, R8, R1, 16)
#define LOAD_BYTES MOV_X(R1, R7), MOV_K(R2, 0), MOV_X(R3, R10), ADD_K(R3, -16), MOV_X(R4, R6), \
	HELPER(BPF_FN_XDP_LOAD_BYTES)
	OK(SIZE, ALU64_K(BPF_AND, R6, 7), ADD_K(R6, 1), LOAD_BYTES, EXIT);
	NO("not initialised", SIZE, ALU64_K(BPF_AND, R6, 7), ADD_K(R6, 1), LOAD_BYTES, LOAD(BPF_DW, R0, R10, -16), EXIT);
	OK(SIZE, ALU64_K(BPF_AND, R6, 7), ADD_K(R6, 8), LOAD_BYTES, LOAD(BPF_DW, R0, R10, -16), EXIT);
	NO("may be 0", SIZE, ALU64_K(BPF_AND, R6, 7), LOAD_BYTES, EXIT);
	NO("the stack is", SIZE, ALU64_K(BPF_AND, R6, 31), ADD_K(R6, 1), LOAD_BYTES, EXIT);
	NO("no upper bound", SIZE, ADD_K(R6, 1), LOAD_BYTES, EXIT);
	/* null with size 0 */
	OK(MOV_K(R1, 0), MOV_K(R2, 0), STORE_K(BPF_DW, R10, -8, 1), MOV_X(R3, R10), ADD_K(R3, -8), MOV_K(R4, 8), MOV_K(R5, 0),
	   HELPER(BPF_FN_CSUM_DIFF), EXIT);
	NO("is a number", MOV_K(R1, 0), MOV_K(R2, 4), MOV_K(R3, 0), MOV_K(R4, 0), MOV_K(R5, 0), HELPER(BPF_FN_CSUM_DIFF), EXIT);
}

/* Dead code, maps and context for the compiler. */
static void notes(void **s)
{
	(void)s;
	struct bpf_note n[32];
	const struct bpf_insn insns[] = {
		LOAD(BPF_W, R6, R1, 12), STORE_K(BPF_DW, R10, -8, 0), MOV_X(R2, R10), ADD_K(R2, -8), WIDE_MAP(R1, ARRAY48),
		JUMP_K(BPF_JEQ, R6, 3, 2), WIDE_MAP(R1, HASH8), HELPER(BPF_FN_MAP_LOOKUP),
		MOV_X(R2, R10), ADD_K(R2, -8), WIDE_MAP(R1, HASH8), HELPER(BPF_FN_MAP_LOOKUP), MOV_K(R0, 0),
		JUMP_K(BPF_JEQ, R0, 0, 2), WIDE_NUMBER(R0, 1), EXIT,
	};
	const struct bpf_verdict v = rig_verify(insns, ARRAY_LEN(insns), BPF_CONTEXT_XDP, 0, n);
	if (!v.ok)
		fail_msg("%s", v.why.text);
	assert_int_equal(n[0].kind, BPF_NOTE_CONTEXT);
	assert_int_equal(n[9].kind, BPF_NOTE_NONE); /* two maps */
	assert_int_equal(n[14].kind, BPF_NOTE_MAP);
	assert_int_equal(n[14].map, HASH8);
	assert_int_equal(n[17].kind, BPF_NOTE_DEAD);
	assert_int_equal(n[18].kind, BPF_NOTE_DEAD);
	assert_int_equal(n[19].kind, BPF_NOTE_NONE);
	assert_int_equal(v.stack, 8);
}

/* Whether a program may write into the packet, and whether it makes tail calls. */
static void changes(void **s)
{
	(void)s;
#define CHANGES(writes, tails, ...) \
	do { \
		const struct bpf_insn insns[] = {__VA_ARGS__}; \
		const struct bpf_verdict v = rig_verify(insns, ARRAY_LEN(insns), BPF_CONTEXT_XDP, 0, NULL); \
		if (!v.ok) \
			fail_msg("%s", v.why.text); \
		assert_int_equal(v.writes_packet, writes); \
		assert_int_equal(v.tail_calls, tails); \
	} while (0)
#define CHECKED(...) BOUND(JUMP_X(BPF_JGT, R4, R3, 1), __VA_ARGS__)
	CHANGES(false, false, RETURN(2));
	CHANGES(false, false, CHECKED(LOAD(BPF_B, R0, R2, 13)));
	CHANGES(false, false, STORE_K(BPF_DW, R10, -8, 0), LOOKUP(ARRAY48), STORE_K(BPF_W, R0, 0, 5), RETURN(2));
	CHANGES(true, false, CHECKED(STORE_K(BPF_B, R2, 13, 5)));
	CHANGES(true, false, MOV_K(R5, 1), CHECKED(STORE(BPF_B, R4, -1, R5)));
	/* in a function; on one path only */
	CHANGES(true, false, DATA, MOV_X(R4, R2), ADD_K(R4, 14), JUMP_X(BPF_JGT, R4, R3, 2), MOV_X(R1, R2), CALL(2),
	        RETURN(1), STORE_K(BPF_B, R1, 0, 5), RETURN(0));
	CHANGES(true, false, LOAD(BPF_W, R6, R1, 12), DATA, MOV_X(R4, R2), ADD_K(R4, 14), JUMP_X(BPF_JGT, R4, R3, 2),
	        JUMP_K(BPF_JNE, R6, 7, 1), STORE_K(BPF_B, R2, 0, 5), RETURN(1));
	/* in code that no path reaches */
	CHANGES(false, false, MOV_K(R6, 1), DATA, MOV_X(R4, R2), ADD_K(R4, 14), JUMP_X(BPF_JGT, R4, R3, 2),
	        JUMP_K(BPF_JEQ, R6, 1, 1), STORE_K(BPF_B, R2, 0, 5), RETURN(1));
	/* metadata; the calls that move bounds */
	CHANGES(true, false, LOAD(BPF_W, R2, R1, 8), LOAD(BPF_W, R3, R1, 0), MOV_X(R4, R2), ADD_K(R4, 4),
	        JUMP_X(BPF_JGT, R4, R3, 1), STORE_K(BPF_W, R2, 0, 5), RETURN(1));
	CHANGES(true, false, MOV_K(R2, -4), HELPER(BPF_FN_XDP_ADJUST_META), RETURN(2));
	CHANGES(true, false, MOV_K(R2, 4), HELPER(BPF_FN_XDP_ADJUST_HEAD), RETURN(2));
	CHANGES(true, false, MOV_K(R2, -4), HELPER(BPF_FN_XDP_ADJUST_TAIL), RETURN(2));
	/* bytes that helpers copy: into the packet, and out of it */
	CHANGES(true, false, STORE_K(BPF_DW, R10, -8, 0), MOV_K(R2, 0), MOV_X(R3, R10), ADD_K(R3, -8), MOV_K(R4, 8),
	        HELPER(BPF_FN_XDP_STORE_BYTES), RETURN(2));
	CHANGES(false, false, MOV_K(R2, 0), MOV_X(R3, R10), ADD_K(R3, -8), MOV_K(R4, 8), HELPER(BPF_FN_XDP_LOAD_BYTES),
	        RETURN(2));
	/* memory that a helper fills or reads may lie in the packet */
#define IN_PACKET(bytes) MOV_X(R6, R1), DATA, MOV_X(R4, R2), ADD_K(R4, bytes), JUMP_X(BPF_JLE, R4, R3, 2), RETURN(1)
	CHANGES(true, false, IN_PACKET(64), MOV_X(R1, R6), MOV_K(R3, 64), MOV_K(R4, 0), HELPER(BPF_FN_FIB_LOOKUP), RETURN(2));
	CHANGES(false, false, IN_PACKET(8), WIDE_MAP(R1, HASH8), HELPER(BPF_FN_MAP_LOOKUP), RETURN(2));
	CHANGES(false, true, WIDE_MAP(R2, PROGS), MOV_K(R3, 0), HELPER(BPF_FN_TAIL_CALL), RETURN(2));
}

/* A constant section decides branches. */
static void constants(void **s)
{
	(void)s;
	OK(WIDE_VALUE(R1, RODATA, 4), LOAD(BPF_W, R6, R1, 0), JUMP_K(BPF_JNE, R6, 5 | 6 << 8 | 7 << 16, 4),
	   MOV_X(R0, R9), EXIT, EXIT, EXIT, LOAD_SX(BPF_B, R6, R1, 3), JUMP_K(BPF_JEQ, R6, -120, 2), MOV_X(R0, R9), EXIT,
	   RETURN(1));
	NO("R9 is not initialised", WIDE_VALUE(R1, BSS, 4), LOAD(BPF_W, R6, R1, 0), JUMP_K(BPF_JEQ, R6, 0, 2),
	   MOV_X(R0, R9), EXIT, RETURN(1));
}

static void text(void **s)
{
	(void)s;
	static const struct {
		struct bpf_insn insn[2];
		const char *text;
	} rows[] = {
		{{LOAD(BPF_W, R1, R2, 4)}, "r1 = *(u32 *)(r2 + 4)"},
		{{LOAD_SX(BPF_B, R1, R2, -4)}, "r1 = *(s8 *)(r2 - 4)"},
		{{STORE_K(BPF_H, R10, -8, -1)}, "*(u16 *)(r10 - 8) = -1"},
		{{STORE(BPF_DW, R10, -8, R1)}, "*(u64 *)(r10 - 8) = r1"},
		{{ATOMIC(BPF_W, BPF_ADD, R1, 0, R2)}, "lock *(u32 *)(r1 + 0) += r2"},
		{{ATOMIC(BPF_DW, BPF_CMPXCHG, R1, 0, R2)}, "r0 = cmpxchg((u64 *)(r1 + 0), r0, r2)"},
		{{ATOMIC(BPF_DW, BPF_OR | BPF_FETCH, R1, 0, R2)}, "r2 = atomic_fetch_or((u64 *)(r1 + 0), r2)"},
		{{ALU32_X(BPF_ADD, R1, R2)}, "w1 += w2"}, {{ALU64_K(BPF_ARSH, R1, 3)}, "r1 s>>= 3"},
		{{MOVSX(R1, R2, 8)}, "r1 = (s8)r2"}, {{INSN(BPF_ALU | BPF_X | BPF_END, R1, 0, 0, 16)}, "r1 = be16 r1"},
		{{JUMP_K(BPF_JSGT, R1, -1, -5)}, "if r1 s> -1 goto -5"}, {{JUMP32_X(BPF_JSET, R1, R2, 7)}, "if w1 & w2 goto +7"},
		{{CALL(3)}, "call pc+3"}, {{HELPER(1)}, "call bpf_map_lookup_elem#1"}, {{EXIT}, "exit"},
		{{WIDE_NUMBER(R1, 0x123456789a)}, "r1 = 0x123456789a ll"}, {{WIDE_MAP(R1, 2)}, "r1 = map[2] ll"},
	};
	for (unsigned n = 0; n < ARRAY_LEN(rows); n++) {
		char out[BPF_INSN_TEXT];
		assert_string_equal(bpf_insn_text(out, rows[n].insn), rows[n].text);
	}
}

/* --- time --- */

#define SLICE 256

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not that of others on this machine */
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void measure(const char *what, const struct bpf_insn *insns, uint32_t count)
{
	const struct bpf_program program = {.insns = insns, .count = count};
	struct bpf_note *notes = malloc(count * sizeof *notes);
	uint8_t *space = malloc(BPF_VERIFY_MEMORY);
	struct bpf_verdict verdict;
	double total = 0, longest = 0;
	bool done = false;
	struct verifier *v = bpf_verify_begin(&program, rig_maps, RIG_MAPS, BPF_CONTEXT_XDP, 0, BPF_LIMITS_DEFAULT,
	                                      (struct bpf_memory){space, space + BPF_VERIFY_MEMORY}, notes, &verdict);
	while (!done) {
		const double began = now_ms();
		done = bpf_verify_go(v, SLICE);
		const double ms = now_ms() - began;
		total += ms;
		longest = ms > longest ? ms : longest;
	}
	print_message("%s: %u instructions, %s, %u steps, %u states, %.1f ms; longest slice of %d steps %.2f ms\n", what,
	              count, verdict.ok ? "accepted" : verdict.why.text, verdict.steps, verdict.states, total, SLICE,
	              longest);
	free(notes);
	free(space);
}

#define BIG 65536
static struct bpf_insn big[BIG];

static uint32_t put(uint32_t n, struct bpf_insn i)
{
	assert_true(n < BIG);
	big[n] = i;
	return n + 1;
}

/* A filter of pairs of numbers. When the first number of a pair is equal and the second one is not, the walk must not
 * go on to the end of the filter, where the same is known with less: that would take the square of the steps. */
static void chain_of_comparisons(void **s)
{
	(void)s;
	uint32_t n = 0;
	n = put(n, (struct bpf_insn)LOAD(BPF_W, R6, R1, 12));
	n = put(n, (struct bpf_insn)LOAD(BPF_W, R7, R1, 16));
	while (n < 4000) {
		n = put(n, (struct bpf_insn)JUMP_K(BPF_JNE, R6, n, 3));
		n = put(n, (struct bpf_insn)JUMP_K(BPF_JNE, R7, n, 2));
		n = put(n, (struct bpf_insn)MOV_K(R0, 1));
		n = put(n, (struct bpf_insn)EXIT);
	}
	n = put(n, (struct bpf_insn)MOV_K(R0, 2));
	n = put(n, (struct bpf_insn)EXIT);
	const struct bpf_verdict verdict = rig_verify(big, n, BPF_CONTEXT_XDP, 0, NULL);
	assert_true(verdict.ok);
	assert_true(verdict.steps < 20 * n);
	measure("a chain of comparisons", big, n);
}

/* Many small tests of packet bytes, as a filter has them; and the inputs that took longest. The walk ends
 * whatever they are: that is what is tested; the time is only printed. */
static void time_of_large_programs(void **s)
{
	(void)s;
	uint32_t n = 0;
	const struct bpf_insn head[] = {BOUND(JUMP_X(BPF_JGT, R4, R3, 2), MOV_K(R0, 0), JUMP(2))};
	for (unsigned i = 0; i < ARRAY_LEN(head); i++)
		n = put(n, head[i]);
	while (n < 3990) {
		n = put(n, (struct bpf_insn)LOAD(BPF_B, R5, R2, (int16_t)(n % 14)));
		n = put(n, (struct bpf_insn)JUMP_K(BPF_JNE, R5, n % 251, 2));
		n = put(n, (struct bpf_insn)ADD_K(R0, 1));
		n = put(n, (struct bpf_insn)MOV_K(R6, n));
	}
	n = put(n, (struct bpf_insn)EXIT);
	assert_true(rig_verify(big, n, BPF_CONTEXT_XDP, 0, NULL).ok);
	measure("a filter", big, n);

	/* each bit of R7 is tested at the end, so no two of 2^n states are alike */
	n = 0;
	n = put(n, (struct bpf_insn)LOAD(BPF_W, R6, R1, 12));
	n = put(n, (struct bpf_insn)MOV_K(R7, 0));
	for (unsigned bit = 0; bit < 30; bit++) {
		n = put(n, (struct bpf_insn)JUMP_K(BPF_JSET, R6, 1u << bit, 1));
		n = put(n, (struct bpf_insn)ALU64_K(BPF_OR, R7, 1u << bit));
	}
	n = put(n, (struct bpf_insn)JUMP_K(BPF_JEQ, R7, 77, 0));
	n = put(n, (struct bpf_insn)MOV_K(R0, 0));
	n = put(n, (struct bpf_insn)EXIT);
	measure("2^30 states", big, n);

	/* the same with a full stack, which makes each state large */
	n = 0;
	n = put(n, (struct bpf_insn)LOAD(BPF_W, R6, R1, 12));
	n = put(n, (struct bpf_insn)MOV_K(R7, 0));
	for (int slot = 1; slot <= 64; slot++)
		n = put(n, (struct bpf_insn)STORE(BPF_DW, R10, (int16_t)(-8 * slot), R6));
	for (unsigned bit = 0; bit < 30; bit++) {
		n = put(n, (struct bpf_insn)JUMP_K(BPF_JSET, R6, 1u << bit, 1));
		n = put(n, (struct bpf_insn)ALU64_K(BPF_OR, R7, 1u << bit));
	}
	for (int slot = 1; slot <= 64; slot++) {
		n = put(n, (struct bpf_insn)LOAD(BPF_DW, R8, R10, (int16_t)(-8 * slot)));
		n = put(n, (struct bpf_insn)ADD_X(R7, R8));
	}
	n = put(n, (struct bpf_insn)JUMP_K(BPF_JEQ, R7, 77, 0));
	n = put(n, (struct bpf_insn)MOV_K(R0, 0));
	n = put(n, (struct bpf_insn)EXIT);
	measure("2^30 large states", big, n);

	/* a loop of many rounds with a test in it */
	const struct bpf_insn loop[] = {LOAD(BPF_W, R6, R1, 12), MOV_K(R7, 0), JUMP_X(BPF_JEQ, R6, R7, 4),
		ADD_K(R7, 1), MOV_X(R8, R7), ALU64_K(BPF_AND, R8, 1), JUMP_K(BPF_JNE, R7, 1000000, -5), RETURN(0)};
	measure("a loop", loop, ARRAY_LEN(loop));

	/* as long as possible, backwards: the data flow takes the most rounds */
	n = 0;
	n = put(n, (struct bpf_insn)MOV_K(R0, 0));
	while (n < BIG - 3) {
		n = put(n, (struct bpf_insn)STORE(BPF_DW, R10, (int16_t)(-8 * (int)(1 + n % 64)), R0));
		n = put(n, (struct bpf_insn)JUMP_K(BPF_JEQ, R0, 1, n > 30000 ? -30000 : -1));
		n = put(n, (struct bpf_insn)LOAD(BPF_DW, R0, R10, (int16_t)(-8 * (int)(1 + (n - 2) % 64))));
	}
	n = put(n, (struct bpf_insn)EXIT);
	measure("65,536 instructions", big, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encoding), cmocka_unit_test(jumps_and_functions), cmocka_unit_test(context),
		cmocka_unit_test(packet), cmocka_unit_test(stack), cmocka_unit_test(helpers), cmocka_unit_test(notes),
		cmocka_unit_test(changes), cmocka_unit_test(constants), cmocka_unit_test(text), cmocka_unit_test(chain_of_comparisons),
		cmocka_unit_test(time_of_large_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
