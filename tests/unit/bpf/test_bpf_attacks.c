/*
 * Attacks on verifiers. Each program is our own, after the idea of a published vulnerability of Linux'
 * verifier; if the same mistake were here, the program would be accepted. Each has a twin that differs in
 * the place that matters and is accepted: so it is refused for that reason and no other.
 */
#include "tests/unit/rig/host.h"

#include "tests/unit/rig/bpf_insns.h"

/* Refused with a reason that contains `why`. */
static void refused(const char *name, const struct bpf_insn *insns, uint32_t count, const char *why)
{
	const struct bpf_verdict v = rig_verify(insns, count, BPF_CONTEXT_XDP, 0, NULL);
	if (v.ok)
		fail_msg("%s: accepted", name);
	if (!strstr(v.why.text, why))
		fail_msg("%s: refused for another reason: %s", name, v.why.text);
}

static void accepted(const char *name, const struct bpf_insn *insns, uint32_t count)
{
	const struct bpf_verdict v = rig_verify(insns, count, BPF_CONTEXT_XDP, 0, NULL);
	if (!v.ok)
		fail_msg("%s: the harmless twin is refused: %s", name, v.why.text);
}

#define REFUSED(name, why, ...) \
	do { \
		const struct bpf_insn insns[] = {__VA_ARGS__}; \
		refused(name, insns, ARRAY_LEN(insns), why); \
	} while (0)
#define ACCEPTED(name, ...) \
	do { \
		const struct bpf_insn insns[] = {__VA_ARGS__}; \
		accepted(name, insns, ARRAY_LEN(insns)); \
	} while (0)

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

/* An index in R6, loaded from the map value in R0, so that nothing is known of it. */
#define UNKNOWN_R6 LOOKUP(ARRAY48), LOAD(BPF_DW, R6, R0, 0)
#define UNKNOWN_R6_R7 UNKNOWN_R6, LOAD(BPF_DW, R7, R0, 8)
/* Byte R6 of the value in R0. */
#define USE_R6 ADD_X(R0, R6), STORE_K(BPF_B, R0, 0, 1), RETURN(2)

/* A number, or something that is no map, where a map is expected (as CVE-2016-4557). */
static void no_map(void **s)
{
	(void)s;
#define PROGRAM(...) STORE_K(BPF_DW, R10, -8, 0), MOV_X(R2, R10), ADD_K(R2, -8), __VA_ARGS__, \
	HELPER(BPF_FN_MAP_LOOKUP), RETURN(2)
	ACCEPTED("map", PROGRAM(WIDE_MAP(R1, ARRAY48)));
	REFUSED("number", "takes a map", PROGRAM(WIDE_NUMBER(R1, 0x40001000)));
	REFUSED("index out of range", "there is no map", PROGRAM(WIDE_MAP(R1, 77)));
	REFUSED("value instead of map", "takes a map", PROGRAM(WIDE_VALUE(R1, BSS, 0)));
	REFUSED("moved map", "no arithmetic", PROGRAM(WIDE_MAP(R1, ARRAY48), ADD_K(R1, 8)));
	REFUSED("loaded through the map", "not a pointer to memory", WIDE_MAP(R1, ARRAY48), LOAD(BPF_DW, R0, R1, 0), EXIT);
#undef PROGRAM
}

/* A 32-bit move does not sign-extend (CVE-2017-16995): the branch that a wrong verifier thinks dead runs. */
static void sign_extension(void **s)
{
	(void)s;
	REFUSED("mov32 -1", "R1 is not initialised", MOV32_K(R6, -1), JUMP_K(BPF_JNE, R6, -1, 2), RETURN(1), MOV_X(R0, R1),
	        MOV_K(R1, 0), HELPER(BPF_FN_KTIME_GET_NS), MOV_X(R0, R1), EXIT);
	ACCEPTED("mov -1", MOV_K(R6, -1), JUMP_K(BPF_JNE, R6, -1, 2), RETURN(1), HELPER(BPF_FN_KTIME_GET_NS),
	         MOV_X(R0, R1), EXIT);
	REFUSED("movsx of a byte", "not negative", UNKNOWN_R6, ALU64_K(BPF_AND, R6, 0xff), MOVSX(R6, R6, 8),
	        JUMP_K(BPF_JSGT, R6, 40, 3), USE_R6, RETURN(1));
	ACCEPTED("and of a byte", UNKNOWN_R6, ALU64_K(BPF_AND, R6, 0xff), JUMP_K(BPF_JSGT, R6, 40, 4), USE_R6, RETURN(1));
}

/* Bounds of the lower half say nothing of the upper one (CVE-2020-8835, CVE-2021-31440). */
static void bounds_of_32_bits(void **s)
{
	(void)s;
	REFUSED("jlt32", "R0 is", UNKNOWN_R6, JUMP32_K(BPF_JLT, R6, 40, 2), RETURN(1), USE_R6);
	REFUSED("jset32", "R0 is", UNKNOWN_R6, JUMP32_K(BPF_JSET, R6, 0xffffffc0, 4), USE_R6, RETURN(1));
	REFUSED("equal32", "R0 is", UNKNOWN_R6, JUMP32_K(BPF_JEQ, R6, 7, 2), RETURN(1), USE_R6);
	ACCEPTED("jlt", UNKNOWN_R6, JUMP_K(BPF_JLT, R6, 40, 2), RETURN(1), USE_R6);
	ACCEPTED("jlt32, then a 32-bit move", UNKNOWN_R6, JUMP32_K(BPF_JLT, R6, 40, 2), RETURN(1), MOV32_X(R6, R6), USE_R6);
	/* signed bounds of 32 bits, after a 64-bit comparison of the unsigned ones */
	REFUSED("jslt32", "R0 is", UNKNOWN_R6, JUMP32_K(BPF_JSLT, R6, 40, 2), RETURN(1), MOV32_X(R6, R6), USE_R6);
}

/* or, and, xor of partly known numbers in 32 bits (CVE-2020-27194, CVE-2021-3490). */
static void bitwise_of_32_bits(void **s)
{
	(void)s;
#define HIGH_KNOWN(op) UNKNOWN_R6_R7, WIDE_NUMBER(R8, 0xffffffff00000000), ALU64_X(BPF_AND, R6, R8), ADD_K(R6, 1), \
	ALU64_X(op, R6, R7), MOV32_X(R6, R6)
	REFUSED("or", "R0 is", HIGH_KNOWN(BPF_OR), JUMP_K(BPF_JGT, R6, 100, 4), USE_R6, RETURN(1));
	REFUSED("xor", "R0 is", HIGH_KNOWN(BPF_XOR), USE_R6);
	ACCEPTED("and", HIGH_KNOWN(BPF_AND), USE_R6);
	REFUSED("or, wide bound", "R0 is", UNKNOWN_R6, WIDE_NUMBER(R8, 0x600000002), JUMP_X(BPF_JLT, R6, R8, 2), RETURN(0),
	        JUMP_K(BPF_JGE, R6, 1, 2), RETURN(0), ALU64_K(BPF_OR, R6, 0), MOV32_X(R6, R6), USE_R6);
#undef HIGH_KNOWN
}

/* A remainder by zero keeps 32 bits and clears the others (CVE-2021-3444); a move of 32 bits clears them, too, so
 * that a negative number becomes a large one (CVE-2021-45402). */
static void results_of_32_bits(void **s)
{
	(void)s;
#define UPPER_OF_R6 ALU64_K(BPF_RSH, R6, 32), ALU64_K(BPF_XOR, R6, 1), ALU64_K(BPF_LSH, R6, 6)
	ACCEPTED("64-bit remainder by zero", LOOKUP(ARRAY48), WIDE_NUMBER(R6, 0x100000000), MOV_K(R7, 0), ALU64_X(BPF_MOD, R6, R7),
	         UPPER_OF_R6, USE_R6);
	REFUSED("32-bit remainder by zero", "of 48 bytes", LOOKUP(ARRAY48), WIDE_NUMBER(R6, 0x100000000), MOV_K(R7, 0),
	        ALU32_X(BPF_MOD, R6, R7), UPPER_OF_R6, USE_R6);
	REFUSED("by what may be zero", "of 48 bytes", UNKNOWN_R6_R7, ALU64_K(BPF_AND, R6, 0), WIDE_NUMBER(R8, 0x100000000),
	        ALU64_X(BPF_OR, R6, R8), ALU32_X(BPF_MOD, R6, R7), UPPER_OF_R6, USE_R6);
#undef UPPER_OF_R6
	ACCEPTED("64-bit move", LOOKUP(ARRAY48), MOV_K(R7, -1), MOV_X(R6, R7), ADD_K(R6, 1), USE_R6);
	REFUSED("32-bit move", "moved too far", LOOKUP(ARRAY48), MOV_K(R7, -1), MOV32_X(R6, R7), ADD_K(R6, 1), USE_R6);
	REFUSED("32-bit move of a range", "R0 is", UNKNOWN_R6, JUMP_K(BPF_JSGT, R6, 40, 6), JUMP_K(BPF_JSLT, R6, -40, 5), MOV32_X(R6, R6),
	        ADD_K(R6, 40), USE_R6, RETURN(1));
}

/* A register compared with itself: what is known of it on one path must not spoil the other (CVE-2024-41003). */
static void compared_with_itself(void **s)
{
	(void)s;
	static const uint8_t always[] = {BPF_JEQ, BPF_JGE, BPF_JLE, BPF_JSGE, BPF_JSLE};
	static const uint8_t never[] = {BPF_JNE, BPF_JGT, BPF_JLT, BPF_JSGT, BPF_JSLT};
	for (unsigned n = 0; n < ARRAY_LEN(always); n++) {
		REFUSED("always", "R0 is", UNKNOWN_R6, JUMP_X(always[n], R6, R6, 2), RETURN(1), USE_R6);
		REFUSED("never", "R0 is", UNKNOWN_R6, JUMP_X(never[n], R6, R6, 3), USE_R6, RETURN(1));
		REFUSED("always, 32 bits", "R0 is", UNKNOWN_R6, JUMP32_X(always[n], R6, R6, 2), RETURN(1), USE_R6);
		REFUSED("never, 32 bits", "R0 is", UNKNOWN_R6, JUMP32_X(never[n], R6, R6, 4), USE_R6, RETURN(1));
		REFUSED("a copy", "R0 is", UNKNOWN_R6, MOV_X(R7, R6), JUMP_X(always[n], R7, R6, 2), RETURN(1), USE_R6);
		ACCEPTED("of known bounds", UNKNOWN_R6, ALU64_K(BPF_AND, R6, 31), JUMP_X(always[n], R6, R6, 2), RETURN(1), USE_R6);
	}
	REFUSED("its bits", "R0 is", UNKNOWN_R6, JUMP_X(BPF_JSET, R6, R6, 2), RETURN(1), USE_R6);
}

/* What helpers are given: maps of another type (CVE-2021-34866), memory to fill that cannot be written
 * (CVE-2022-0500, CVE-2024-49861), sizes that are negative as 32 bits (CVE-2024-35905), a moved context. */
static void arguments_of_helpers(void **s)
{
	(void)s;
#define LOADED(to, ...) MOV_X(R6, R1), LOOKUP(ARRAY48), MOV_X(R7, R0), to, MOV_X(R1, R6), MOV_K(R2, 0), __VA_ARGS__, \
	HELPER(BPF_FN_XDP_LOAD_BYTES), RETURN(1)
	ACCEPTED("filled", LOADED(MOV_X(R3, R7), MOV_K(R4, 48)));
	REFUSED("too much", "of 48 bytes", LOADED(MOV_X(R3, R7), MOV_K(R4, 49)));
	REFUSED("constants", "cannot write", LOADED(MOV_X(R3, R7), WIDE_VALUE(R3, RODATA, 0), MOV_K(R4, 8)));
	REFUSED("the stack's end", "reaches the bytes", LOADED(MOV_X(R3, R10), ADD_K(R3, -16), MOV_K(R4, 17)));
	REFUSED("a negative size", "negative", LOADED(MOV_X(R3, R10), ADD_K(R3, -16), MOV_K(R4, -1)));
	REFUSED("a size of 32 bits", "negative", LOADED(MOV_X(R3, R10), ADD_K(R3, -16), MOV32_K(R4, -1)));
	REFUSED("a size that may be negative", "negative", LOADED(LOAD(BPF_DW, R4, R7, 0), MOV_X(R3, R10), ADD_K(R3, -16),
	        JUMP_K(BPF_JSGT, R4, 16, 2)));
	REFUSED("no size", "may be 0", LOADED(MOV_X(R3, R7), MOV_K(R4, 0)));
	REFUSED("the packet", "no memory of the packet", LOADED(LOAD(BPF_W, R3, R6, 0), MOV_K(R4, 4)));
	REFUSED("the context", "not a pointer to memory", LOADED(MOV_X(R3, R6), MOV_K(R4, 8)));
#undef LOADED
	REFUSED("a ring that is an array", "whose type", STORE_K(BPF_DW, R10, -8, 0), WIDE_MAP(R1, ARRAY48), MOV_X(R2, R10), ADD_K(R2, -8),
	        MOV_K(R3, 8), MOV_K(R4, 0), HELPER(BPF_FN_RINGBUF_OUTPUT), RETURN(1));
	REFUSED("an array that is a ring", "whose type", STORE_K(BPF_DW, R10, -8, 0), WIDE_MAP(R1, RING), MOV_X(R2, R10), ADD_K(R2, -8),
	        HELPER(BPF_FN_MAP_LOOKUP), RETURN(1));
	REFUSED("ports updated", "whose type", STORE_K(BPF_DW, R10, -8, 0), WIDE_MAP(R1, DEVICES), MOV_X(R2, R10), ADD_K(R2, -8),
	        MOV_X(R3, R2), MOV_K(R4, 0), HELPER(BPF_FN_MAP_UPDATE), RETURN(1));
	REFUSED("tail call by an array", "whose type", WIDE_MAP(R2, ARRAY48), MOV_K(R3, 0), HELPER(BPF_FN_TAIL_CALL), RETURN(1));
	REFUSED("moved context", "offset added", ADD_K(R1, 8), MOV_K(R2, 0), HELPER(BPF_FN_XDP_ADJUST_HEAD), RETURN(1));
	REFUSED("context moved by a number", "only constants", MOV_X(R9, R1), UNKNOWN_R6, ALU64_K(BPF_AND, R6, 4), ADD_X(R9, R6),
	        RETURN(1));
}

/* Pointers that are moved farther than their object (CVE-2021-33200, CVE-2021-4204, CVE-2020-27170). */
static void pointer_arithmetic(void **s)
{
	(void)s;
	ACCEPTED("there and back", LOOKUP(ARRAY48), ADD_K(R0, 1000), ADD_K(R0, -960), STORE_K(BPF_DW, R0, 0, 1), RETURN(2));
	REFUSED("beyond", "of 48 bytes", LOOKUP(ARRAY48), ADD_K(R0, 41), STORE_K(BPF_DW, R0, 0, 1), RETURN(2));
	REFUSED("before", "as low as -1", LOOKUP(ARRAY48), ADD_K(R0, -1), STORE_K(BPF_B, R0, 0, 1), RETURN(2));
	REFUSED("wraps", "too far", LOOKUP(ARRAY48), WIDE_NUMBER(R6, 0x7fffffffffffffff), ADD_X(R0, R6), ADD_X(R0, R6),
	        ADD_K(R0, 2), STORE_K(BPF_B, R0, 0, 1), RETURN(2));
	REFUSED("sub of an unknown", "R0 is", UNKNOWN_R6, JUMP_K(BPF_JGT, R6, 40, 4), ALU64_X(BPF_SUB, R0, R6),
	        STORE_K(BPF_B, R0, 0, 1), RETURN(2), RETURN(1));
	/* an offset in the stack that 32 bits do not hold (CVE-2023-52676) */
	REFUSED("the stack, far", "too far", MOV_X(R2, R10), ADD_K(R2, 0x7fffffff), ADD_K(R2, 0x7fffffff), STORE_K(BPF_B, R2, 0, 1),
	        RETURN(2));
	REFUSED("the stack, at a range", "reaches the bytes", UNKNOWN_R6, ALU64_K(BPF_AND, R6, 0x1fffffff), MOV_X(R2, R10), ADD_X(R2, R6),
	        STORE_K(BPF_B, R2, -1, 1), RETURN(2));
	REFUSED("32-bit", "64-bit addition", LOOKUP(ARRAY48), ALU32_K(BPF_ADD, R0, 1), RETURN(2));
	REFUSED("or of a pointer", "64-bit addition", LOOKUP(ARRAY48), ALU64_K(BPF_OR, R0, 1), RETURN(2));
	REFUSED("number made of a pointer", "is a number", LOOKUP(ARRAY48), MOV_X(R6, R0), WIDE_VALUE(R7, BSS, 0),
	        ALU64_X(BPF_SUB, R6, R7), STORE_K(BPF_B, R6, 0, 1), RETURN(2));
	REFUSED("ring record", "of 16 bytes", WIDE_MAP(R1, RING), MOV_K(R2, 16), MOV_K(R3, 0),
	        HELPER(BPF_FN_RINGBUF_RESERVE), JUMP_K(BPF_JEQ, R0, 0, 4), STORE_K(BPF_DW, R0, 12, 1), MOV_X(R1, R0),
	        MOV_K(R2, 0), HELPER(BPF_FN_RINGBUF_SUBMIT), RETURN(2));
}

/* Null plus something is not null (CVE-2022-23222). */
static void arithmetic_before_null_check(void **s)
{
	(void)s;
#define LOOKED_UP STORE_K(BPF_DW, R10, -8, 0), MOV_X(R2, R10), ADD_K(R2, -8), WIDE_MAP(R1, ARRAY48), \
	HELPER(BPF_FN_MAP_LOOKUP)
	REFUSED("add", "before arithmetic", LOOKED_UP, ADD_K(R0, 8), JUMP_K(BPF_JEQ, R0, 0, 1), STORE_K(BPF_B, R0, 0, 1),
	        RETURN(2));
	REFUSED("ring", "before arithmetic", WIDE_MAP(R1, RING), MOV_K(R2, 16), MOV_K(R3, 0),
	        HELPER(BPF_FN_RINGBUF_RESERVE), ADD_K(R0, 8), RETURN(2));
	REFUSED("no check", "may be null", LOOKED_UP, STORE_K(BPF_B, R0, 0, 1), RETURN(2));
	REFUSED("another look-up's check", "may be null", LOOKED_UP, MOV_X(R6, R0), LOOKED_UP,
	        JUMP_K(BPF_JEQ, R0, 0, 1), STORE_K(BPF_B, R6, 0, 1), RETURN(2));
	REFUSED("the wrong way", "is a number", LOOKED_UP, JUMP_K(BPF_JNE, R0, 0, 1), STORE_K(BPF_B, R0, 0, 1), RETURN(2));
	REFUSED("32-bit check", "may be null", LOOKED_UP, JUMP32_K(BPF_JEQ, R0, 0, 1), STORE_K(BPF_B, R0, 0, 1), RETURN(2));
	ACCEPTED("a copy's check", LOOKED_UP, MOV_X(R6, R0), JUMP_K(BPF_JEQ, R0, 0, 1), STORE_K(BPF_B, R6, 0, 1),
	         RETURN(2));
#undef LOOKED_UP
}

/* Pruning must compare what decides later (CVE-2023-2163): two paths meet, one of them with an index that is
 * out of bounds, which reaches the access by a copy, the stack, or a chain of registers. */
static void pruning(void **s)
{
	(void)s;
	REFUSED("registers", "of 48 bytes", UNKNOWN_R6, MOV_K(R7, 0), JUMP_K(BPF_JEQ, R6, 0, 1), MOV_K(R7, 4096),
	        JUMP(0), MOV_X(R8, R7), MOV_X(R6, R8), USE_R6);
	REFUSED("the good path second", "of 48 bytes", UNKNOWN_R6, MOV_K(R7, 4096), JUMP_K(BPF_JEQ, R6, 0, 1), MOV_K(R7, 0),
	        JUMP(0), MOV_X(R8, R7), MOV_X(R6, R8), USE_R6);
	REFUSED("the stack", "of 48 bytes", UNKNOWN_R6, STORE_K(BPF_DW, R10, -16, 0), JUMP_K(BPF_JEQ, R6, 0, 1),
	        STORE_K(BPF_DW, R10, -16, 4096), JUMP(0), LOAD(BPF_DW, R6, R10, -16), USE_R6);
	REFUSED("a flag tested later", "of 48 bytes", UNKNOWN_R6_R7, MOV_K(R8, 0), MOV_K(R9, 1), JUMP_K(BPF_JEQ, R6, 0, 1),
	        MOV_K(R9, 0), JUMP(0), JUMP_K(BPF_JEQ, R9, 1, 1), MOV_K(R8, 64), MOV_X(R6, R8), USE_R6);
	/* what a comparison of one copy says of the other holds only on the path where they are copies */
	REFUSED("copies on one path only", "R0 is", UNKNOWN_R6_R7, MOV_X(R8, R6), JUMP_K(BPF_JEQ, R7, 0, 1),
	        LOAD(BPF_DW, R8, R0, 16), JUMP(0), JUMP_K(BPF_JGT, R8, 40, 4), USE_R6, RETURN(1));
	REFUSED("copies on the first path only", "R0 is", UNKNOWN_R6_R7, LOAD(BPF_DW, R8, R0, 16),
	        JUMP_K(BPF_JEQ, R7, 0, 1), MOV_X(R8, R6), JUMP(0), JUMP_K(BPF_JGT, R8, 40, 4), USE_R6, RETURN(1));
	/* a value of a larger map on the first path */
#define TWO_MAPS(offset) UNKNOWN_R6, MOV_X(R7, R0), LOOKUP(HASH8), JUMP_K(BPF_JEQ, R6, 0, 1), MOV_X(R0, R7), JUMP(0), \
	STORE_K(BPF_DW, R0, offset, 1), RETURN(1)
	ACCEPTED("values of two maps", TWO_MAPS(0));
	REFUSED("values of two maps", "of 8 bytes", TWO_MAPS(40));
#undef TWO_MAPS
	/* of one packet pointer, alone in both states, more bytes were compared on the first path */
	REFUSED("ranges of one pointer", "ends at byte 8", MOV_X(R6, R1), LOOKUP(ARRAY48), LOAD(BPF_B, R5, R0, 0),
	        LOAD(BPF_B, R7, R0, 1), ALU64_K(BPF_AND, R5, 63), LOAD(BPF_W, R2, R6, 0), LOAD(BPF_W, R3, R6, 4),
	        MOV_X(R4, R2), ADD_X(R4, R5), JUMP_K(BPF_JEQ, R7, 0, 3), MOV_X(R8, R4), ADD_K(R8, 8), JUMP(2),
	        MOV_X(R8, R4), ADD_K(R8, 1), JUMP_X(BPF_JGT, R8, R3, 5), MOV_K(R8, 0), JUMP(0), LOAD(BPF_DW, R0, R4, 0),
	        RETURN(2), RETURN(1));
	/* the pointer may lie behind byte 65,535 on the second path only, where a comparison proves nothing */
#define TWO_PLACES(mask) MOV_X(R6, R1), LOOKUP(ARRAY48), LOAD(BPF_B, R7, R0, 0), LOAD(BPF_W, R8, R0, 4), \
	ALU64_K(BPF_AND, R8, mask), LOAD(BPF_W, R2, R6, 0), LOAD(BPF_W, R3, R6, 4), MOV_X(R5, R2), JUMP_K(BPF_JEQ, R7, 77, 2), ADD_X(R5, R7), JUMP(1), ADD_X(R5, R8), JUMP(0), \
	MOV_X(R4, R5), ADD_K(R4, 8), JUMP_X(BPF_JGT, R4, R3, 1), LOAD(BPF_DW, R0, R5, 0), RETURN(1)
	ACCEPTED("two places in the packet", TWO_PLACES(0xff));
	REFUSED("two places in the packet", "was not compared", TWO_PLACES(0x1ffff));
#undef TWO_PLACES
	REFUSED("ranges in the packet", "data_end", LOAD(BPF_W, R2, R1, 0), LOAD(BPF_W, R3, R1, 4), MOV_X(R4, R2),
	        ADD_K(R4, 14), JUMP_X(BPF_JGT, R4, R3, 1), JUMP(0), LOAD(BPF_B, R0, R2, 13), EXIT);
}

/* A number gets its bounds from another register, which has a greater number on the path walked second
 * (as backtracking over a comparison in CVE-2023-2163): that number matters, too. */
static void bounds_of_a_register(void **s)
{
	(void)s;
#define LIMIT(first, second) UNKNOWN_R6_R7, MOV_K(R8, second), JUMP_K(BPF_JEQ, R7, 0, 1), MOV_K(R8, first), MOV_X(R9, R6)
	ACCEPTED("limit", LIMIT(40, 30), JUMP_X(BPF_JLT, R6, R8, 2), RETURN(1), USE_R6);
	REFUSED("limit", "R0 is", LIMIT(40, 4096), JUMP_X(BPF_JLT, R6, R8, 2), RETURN(1), USE_R6);
	REFUSED("limit on the left", "R0 is", LIMIT(40, 4096), JUMP_X(BPF_JGT, R8, R6, 2), RETURN(1), USE_R6);
	ACCEPTED("limit of a copy", LIMIT(40, 30), JUMP_X(BPF_JLT, R9, R8, 2), RETURN(1), USE_R6);
	REFUSED("limit of a copy", "R0 is", LIMIT(40, 4096), JUMP_X(BPF_JLT, R9, R8, 2), RETURN(1), USE_R6);
	REFUSED("limit of a copy in the stack", "R0 is", LIMIT(40, 4096), STORE(BPF_DW, R10, -16, R9),
	        JUMP_X(BPF_JLT, R6, R8, 2), RETURN(1), LOAD(BPF_DW, R6, R10, -16), USE_R6);
	REFUSED("limit of a copy in the calling function", "R0 is", UNKNOWN_R6_R7, MOV_X(R9, R0), MOV_K(R2, 4096),
	        JUMP_K(BPF_JEQ, R7, 0, 1), MOV_K(R2, 40), MOV_X(R1, R6), CALL(8), JUMP_K(BPF_JNE, R0, 0, 5), MOV_X(R0, R9),
	        USE_R6, RETURN(1), MOV_K(R0, 0), JUMP_X(BPF_JLT, R1, R2, 1), MOV_K(R0, 1), EXIT);
	ACCEPTED("equal", LIMIT(40, 30), JUMP_X(BPF_JEQ, R6, R8, 2), RETURN(1), USE_R6);
	REFUSED("equal", "R0 is", LIMIT(40, 4096), JUMP_X(BPF_JEQ, R6, R8, 2), RETURN(1), USE_R6);
	ACCEPTED("bits", LIMIT(-33, -17), JUMP_X(BPF_JSET, R6, R8, 4), USE_R6, RETURN(1));
	REFUSED("bits", "R0 is", LIMIT(-33, 4), JUMP_X(BPF_JSET, R6, R8, 4), USE_R6, RETURN(1));
	REFUSED("32 bits", "R0 is", LIMIT(40, 4096), MOV32_X(R6, R6), JUMP32_X(BPF_JLT, R6, R8, 2), RETURN(1), USE_R6);
	/* what the walk takes for dead code is run on the second path */
	REFUSED("dead code", "R1 is not initialised", LIMIT(40, 4096), JUMP_X(BPF_JLT, R6, R8, 2), RETURN(1),
	        JUMP_K(BPF_JGT, R6, 40, 2), RETURN(1), HELPER(BPF_FN_KTIME_GET_NS), MOV_X(R0, R1), EXIT);
#undef LIMIT
}

/* A number that moves a pointer says how much of the packet a comparison of that pointer proves. It matters,
 * though no access uses the moved pointer. */
static void number_that_moves_a_pointer(void **s)
{
	(void)s;
#define PROGRAM(field, first, second, ...) MOV_X(R9, R1), UNKNOWN_R6, LOAD(BPF_W, R2, R9, field), \
	LOAD(BPF_W, R3, R9, field == 8 ? 0 : 4), MOV_K(R7, second), JUMP_K(BPF_JEQ, R6, 0, 1), MOV_K(R7, first), JUMP(0), \
	__VA_ARGS__, JUMP_X(BPF_JGT, R5, R3, 1), LOAD(BPF_DW, R0, R2, 0), RETURN(1)
#define DATA 0
#define META 8
	ACCEPTED("packet", PROGRAM(DATA, 8, 9, MOV_X(R5, R2), ADD_X(R5, R7)));
	REFUSED("packet", "ends at byte 8", PROGRAM(DATA, 8, 1, MOV_X(R5, R2), ADD_X(R5, R7)));
	REFUSED("number first", "ends at byte 8", PROGRAM(DATA, 8, 1, MOV_X(R5, R7), ADD_X(R5, R2)));
	REFUSED("minus", "ends at byte 8", PROGRAM(DATA, -8, -1, MOV_X(R5, R2), ALU64_X(BPF_SUB, R5, R7)));
	REFUSED("from the stack", "ends at byte 8", PROGRAM(DATA, 8, 1, STORE(BPF_DW, R10, -16, R7), MOV_X(R5, R2),
	        LOAD(BPF_DW, R4, R10, -16), ADD_X(R5, R4)));
	ACCEPTED("metadata", PROGRAM(META, 8, 9, MOV_X(R5, R2), ADD_X(R5, R7)));
	REFUSED("metadata", "ends at byte 8", PROGRAM(META, 8, 1, MOV_X(R5, R2), ADD_X(R5, R7)));
	/* what metadata is compared with is not the packet's start on the second path */
	REFUSED("the start", "was not compared", PROGRAM(META, 0, 8, ADD_X(R3, R7), MOV_X(R5, R2), ADD_K(R5, 8)));
#undef META
#undef DATA
#undef PROGRAM
}

/* A function stores a number into the stack of its caller, which uses it as an index. */
static void numbers_in_the_callers_stack(void **s)
{
	(void)s;
#define CALLER(first, second, ...) UNKNOWN_R6, MOV_X(R8, R0), MOV_K(R2, second), JUMP_K(BPF_JEQ, R6, 0, 1), MOV_K(R2, first), \
	JUMP(0), STORE_K(BPF_DW, R10, -16, 0), MOV_X(R1, R10), ADD_K(R1, -16), CALL(5), LOAD(BPF_DW, R6, R10, -16), ADD_X(R8, R6), \
	STORE_K(BPF_B, R8, 0, 1), RETURN(1), __VA_ARGS__, RETURN(0)
	ACCEPTED("stored", CALLER(40, 47, STORE(BPF_DW, R1, 0, R2)));
	REFUSED("stored", "of 48 bytes", CALLER(40, 4096, STORE(BPF_DW, R1, 0, R2)));
	REFUSED("copied", "of 48 bytes", CALLER(40, 4096, MOV_X(R3, R2), MOV_X(R4, R1), STORE(BPF_DW, R4, 0, R3)));
	REFUSED("a function between", "of 48 bytes", CALLER(40, 4096, CALL(2), RETURN(0), STORE(BPF_DW, R1, 0, R2)));
	REFUSED("by an address in the stack", "of 48 bytes",
	        CALLER(40, 4096, STORE(BPF_DW, R10, -8, R1), LOAD(BPF_DW, R3, R10, -8), STORE(BPF_DW, R3, 0, R2)));
#undef CALLER
	/* as Linux; the address would come back without its name */
	REFUSED("the address returned", "R0 is an address in the stack", MOV_X(R1, R10), ADD_K(R1, -16), CALL(3),
	        STORE_K(BPF_DW, R0, 0, 1), RETURN(1), MOV_X(R0, R1), EXIT);
}

/* Linked numbers and 32 bits (the fixes of 2024 for linked registers): a copy of the lower half is no
 * copy of the number. */
static void linked_numbers(void **s)
{
	(void)s;
	REFUSED("mov32 copy", "R0 is", UNKNOWN_R6, MOV32_X(R7, R6), JUMP_K(BPF_JGT, R7, 40, 4), USE_R6, RETURN(1));
	REFUSED("movsx copy", "R0 is", UNKNOWN_R6, MOVSX(R7, R6, 8), JUMP_K(BPF_JLT, R7, 40, 2), RETURN(1), USE_R6);
	REFUSED("changed since", "R0 is", UNKNOWN_R6, MOV_X(R7, R6), ALU64_K(BPF_LSH, R6, 4), JUMP_K(BPF_JGT, R7, 40, 4),
	        USE_R6, RETURN(1));
	ACCEPTED("copy", UNKNOWN_R6, MOV_X(R7, R6), JUMP_K(BPF_JGT, R7, 40, 4), USE_R6, RETURN(1));
}

/* Narrow spills and fills: the other bytes keep what they had. */
static void narrow_fills(void **s)
{
	(void)s;
	REFUSED("upper half", "R0 is", UNKNOWN_R6, STORE(BPF_DW, R10, -16, R6), MOV_K(R7, 1), STORE(BPF_W, R10, -16, R7),
	        LOAD(BPF_DW, R6, R10, -16), USE_R6);
	ACCEPTED("lower half", UNKNOWN_R6, STORE(BPF_DW, R10, -16, R6), MOV_K(R7, 1), STORE(BPF_W, R10, -16, R7),
	         LOAD(BPF_W, R6, R10, -16), USE_R6);
	REFUSED("a byte of a bounded number", "R0 is", UNKNOWN_R6, JUMP_K(BPF_JGT, R6, 40, 8), STORE(BPF_DW, R10, -16, R6),
	        STORE_K(BPF_B, R10, -15, 1), LOAD(BPF_DW, R6, R10, -16), USE_R6, RETURN(1), RETURN(1));
	REFUSED("16 bits of a bounded number", "R0 is", UNKNOWN_R6, STORE(BPF_DW, R10, -16, R6),
	        JUMP_K(BPF_JGT, R6, 40, 5), STORE_K(BPF_H, R10, -14, 1), LOAD(BPF_DW, R6, R10, -16), USE_R6, RETURN(1));
	/* a store of one byte leaves the three beside it, which differ on the path walked second */
#define BESIDE(first, second) UNKNOWN_R6_R7, MOV_K(R8, second), JUMP_K(BPF_JEQ, R7, 0, 1), MOV_K(R8, first), \
	STORE(BPF_DW, R10, -16, R8), JUMP(0), STORE_K(BPF_B, R10, -13, 0), LOAD(BPF_H, R6, R10, -16), USE_R6
	ACCEPTED("beside a byte", BESIDE(0, 0));
	REFUSED("beside a byte", "R0 is", BESIDE(0, 4096));
#undef BESIDE
	REFUSED("part of a pointer", "read only as a whole", LOOKUP(ARRAY48), STORE(BPF_DW, R10, -16, R0),
	        LOAD(BPF_W, R0, R10, -16), EXIT);
	REFUSED("a pointer partly overwritten", "not initialised", LOOKUP(ARRAY48), STORE(BPF_DW, R10, -16, R0),
	        STORE_K(BPF_B, R10, -16, 0), LOAD(BPF_DW, R0, R10, -16), STORE_K(BPF_B, R0, 0, 1), RETURN(2));
	REFUSED("a pointer overwritten at a range", "not initialised", UNKNOWN_R6, ALU64_K(BPF_AND, R6, 8),
	        STORE(BPF_DW, R10, -16, R0), STORE_K(BPF_DW, R10, -24, 0), MOV_X(R7, R10), ADD_X(R7, R6),
	        STORE_K(BPF_DW, R7, -24, 0), LOAD(BPF_DW, R0, R10, -16), STORE_K(BPF_B, R0, 0, 1), RETURN(2));
}

/* The packet after it has moved; the end moved; offsets that wrap. */
static void packet(void **s)
{
	(void)s;
#define DATA LOAD(BPF_W, R2, R1, 0), LOAD(BPF_W, R3, R1, 4)
	REFUSED("moved by a helper", "not initialised", MOV_X(R6, R1), DATA, MOV_X(R7, R2), MOV_X(R4, R2), ADD_K(R4, 14),
	        JUMP_X(BPF_JGT, R4, R3, 4), MOV_K(R2, -4), HELPER(BPF_FN_XDP_ADJUST_HEAD), LOAD(BPF_B, R0, R7, 0), EXIT,
	        RETURN(1));
	REFUSED("moved, from the stack", "not initialised", DATA, STORE(BPF_DW, R10, -8, R2), MOV_X(R4, R2), ADD_K(R4, 14),
	        JUMP_X(BPF_JGT, R4, R3, 5), MOV_K(R2, -4), HELPER(BPF_FN_XDP_ADJUST_HEAD), LOAD(BPF_DW, R7, R10, -8),
	        LOAD(BPF_B, R0, R7, 0), EXIT, RETURN(1));
	REFUSED("moved in a function", "not initialised", MOV_X(R6, R1), DATA, MOV_X(R7, R2), MOV_X(R4, R2), ADD_K(R4, 14),
	        JUMP_X(BPF_JGT, R4, R3, 3), CALL(4), LOAD(BPF_B, R0, R7, 0), EXIT, RETURN(1), MOV_K(R2, -4),
	        HELPER(BPF_FN_XDP_ADJUST_HEAD), EXIT);
	/* CVE-2024-58098: the caller's pointers, also those in its stack, are gone */
	REFUSED("moved in a function, from the stack", "not initialised", MOV_X(R6, R1), DATA, STORE(BPF_DW, R10, -8, R2), MOV_X(R4, R2),
	        ADD_K(R4, 14), JUMP_X(BPF_JGT, R4, R3, 4), CALL(5), LOAD(BPF_DW, R7, R10, -8), LOAD(BPF_B, R0, R7, 0), EXIT, RETURN(1),
	        MOV_K(R2, -4), HELPER(BPF_FN_XDP_ADJUST_HEAD), EXIT);
	REFUSED("the end is moved", "no arithmetic", DATA, ADD_K(R3, 64), RETURN(1));
	REFUSED("behind the end", "not a pointer to memory", DATA, LOAD(BPF_B, R0, R3, 0), EXIT);
	REFUSED("an offset without bounds", "no bounds", MOV_X(R6, R1), LOOKUP(ARRAY48), LOAD(BPF_DW, R7, R0, 0),
	        LOAD(BPF_W, R2, R6, 0), LOAD(BPF_W, R3, R6, 4), ADD_X(R2, R7), MOV_X(R4, R2), ADD_K(R4, 8),
	        JUMP_X(BPF_JGT, R4, R3, 1), LOAD(BPF_DW, R0, R2, 0), EXIT);
	REFUSED("an offset beyond 16 bits", "was not compared", MOV_X(R6, R1), LOOKUP(ARRAY48), LOAD(BPF_W, R7, R0, 0),
	        LOAD(BPF_W, R2, R6, 0), LOAD(BPF_W, R3, R6, 4), ADD_X(R2, R7), MOV_X(R4, R2), ADD_K(R4, 8),
	        JUMP_X(BPF_JGT, R4, R3, 1), LOAD(BPF_DW, R0, R2, 0), RETURN(1));
	ACCEPTED("an offset of 8 bits", MOV_X(R6, R1), LOOKUP(ARRAY48), LOAD(BPF_B, R7, R0, 0), LOAD(BPF_W, R2, R6, 0),
	         LOAD(BPF_W, R3, R6, 4), ADD_X(R2, R7), MOV_X(R4, R2), ADD_K(R4, 8), JUMP_X(BPF_JGT, R4, R3, 1),
	         LOAD(BPF_DW, R0, R2, 0), RETURN(1));
	REFUSED("32-bit comparison", "end", DATA, MOV_X(R4, R2), ADD_K(R4, 14), JUMP32_X(BPF_JGT, R4, R3, 1),
	        LOAD(BPF_B, R0, R2, 0), RETURN(1));
	REFUSED("signed comparison", "end", DATA, MOV_X(R4, R2), ADD_K(R4, 14), JUMP_X(BPF_JSGT, R4, R3, 1),
	        LOAD(BPF_B, R0, R2, 0), RETURN(1));
	REFUSED("metadata beyond data", "data", LOAD(BPF_W, R2, R1, 8), LOAD(BPF_W, R3, R1, 4), MOV_X(R4, R2), ADD_K(R4, 4),
	        JUMP_X(BPF_JGT, R4, R3, 1), LOAD(BPF_W, R0, R2, 0), RETURN(1));
#undef DATA
}

/* Frames: addresses of a function's stack that outlive it; tail calls under a caller; the depth. */
static void frames(void **s)
{
	(void)s;
	REFUSED("returned", "R0 is an address in the stack", CALL(2), LOAD(BPF_DW, R0, R0, -8), EXIT, STORE_K(BPF_DW, R10, -8, 0),
	        MOV_X(R0, R10), EXIT);
	REFUSED("left in the caller's frame", "calling function", MOV_X(R1, R10), ADD_K(R1, -8), CALL(2), RETURN(1),
	        STORE(BPF_DW, R1, 0, R10), RETURN(0));
	REFUSED("tail call in a function", "in the program itself only", CALL(2), RETURN(1), WIDE_MAP(R2, PROGS), MOV_K(R3, 0),
	        HELPER(BPF_FN_TAIL_CALL), RETURN(0));
	ACCEPTED("tail call", WIDE_MAP(R2, PROGS), MOV_K(R3, 0), HELPER(BPF_FN_TAIL_CALL), RETURN(0));
	REFUSED("too much stack in a chain", "bytes of stack together", STORE_K(BPF_DW, R10, -512, 0), CALL(2), RETURN(1),
	        STORE_K(BPF_DW, R10, -8, 0), RETURN(0));
	REFUSED("frames are multiples of 8", "520 bytes of stack together", STORE_K(BPF_B, R10, -505, 0), CALL(2), RETURN(1),
	        STORE_K(BPF_B, R10, -1, 0), RETURN(0));
	REFUSED("recursion", "recursion", CALL(1), EXIT, CALL(-1), EXIT);
	for (unsigned r = R1; r <= R5; r++) {
		REFUSED("an argument, behind a helper", "is not initialised", MOV_K(r, 1), HELPER(BPF_FN_KTIME_GET_NS), MOV_X(R0, r), EXIT);
		REFUSED("an argument, behind a function", "is not initialised", MOV_K(r, 1), CALL(2), MOV_X(R0, r), EXIT, RETURN(0));
	}
	REFUSED("the caller's R6", "R6 is not initialised", MOV_K(R6, 0), CALL(1), EXIT, MOV_X(R0, R6), EXIT);
}

/* Reserved memory: given back twice, used after, lost, given back moved. */
static void reserved(void **s)
{
	(void)s;
#define RESERVE WIDE_MAP(R1, RING), MOV_K(R2, 16), MOV_K(R3, 0), HELPER(BPF_FN_RINGBUF_RESERVE), \
	JUMP_K(BPF_JNE, R0, 0, 2), RETURN(1), MOV_X(R6, R0)
#define SUBMIT(r) MOV_X(R1, r), MOV_K(R2, 0), HELPER(BPF_FN_RINGBUF_SUBMIT)
	ACCEPTED("used", RESERVE, STORE_K(BPF_DW, R6, 8, 1), SUBMIT(R6), RETURN(1));
	REFUSED("twice", "not initialised", RESERVE, SUBMIT(R6), SUBMIT(R6), RETURN(1));
	REFUSED("used after", "not initialised", RESERVE, SUBMIT(R6), STORE_K(BPF_DW, R6, 0, 1), RETURN(1));
	REFUSED("a copy used after", "not initialised", RESERVE, STORE(BPF_DW, R10, -8, R6), SUBMIT(R6),
	        LOAD(BPF_DW, R7, R10, -8), STORE_K(BPF_DW, R7, 0, 1), RETURN(1));
	REFUSED("lost", "submitted or discarded", RESERVE, MOV_K(R6, 0), RETURN(1));
	REFUSED("moved", "offset added", RESERVE, ADD_K(R6, 8), SUBMIT(R6), RETURN(1));
	REFUSED("a map value", "takes memory from", LOOKUP(ARRAY48), SUBMIT(R0), RETURN(1));
	/* other memory is reserved on the path walked first */
	ACCEPTED("on two paths", LOOKUP(ARRAY48), LOAD(BPF_DW, R7, R0, 0), RESERVE, JUMP_K(BPF_JEQ, R7, 0, 17), SUBMIT(R6), RESERVE,
	         SUBMIT(R6), RETURN(1), SUBMIT(R6), RETURN(1));
	REFUSED("before a tail call", "before the tail call", MOV_X(R7, R1), RESERVE, MOV_X(R1, R7), WIDE_MAP(R2, PROGS),
	        MOV_K(R3, 0), HELPER(BPF_FN_TAIL_CALL), SUBMIT(R6), RETURN(1));
#undef SUBMIT
#undef RESERVE
}

/* What a fetching atomic instruction returns depends on the slot of the stack: a path on which the slot had
 * another number is not the same (CVE-2026-43009). This verifier takes any fetched value for unknown. */
static void fetched(void **s)
{
	(void)s;
#define PROGRAM(op, ...) UNKNOWN_R6, MOV_X(R8, R0), MOV_K(R7, 48), JUMP_K(BPF_JNE, R6, 0, 1), MOV_K(R7, 0), \
	STORE(BPF_DW, R10, -16, R7), MOV_K(R2, 0), MOV_K(R0, 0), ATOMIC(BPF_DW, op, R10, -16, R2), __VA_ARGS__, \
	STORE_K(BPF_B, R8, 0, 1), RETURN(2)
	ACCEPTED("added", PROGRAM(BPF_ADD | BPF_FETCH, ALU64_K(BPF_AND, R2, 47), ADD_X(R8, R2)));
	REFUSED("added", "no bounds", PROGRAM(BPF_ADD | BPF_FETCH, ADD_X(R8, R2)));
	ACCEPTED("exchanged", PROGRAM(BPF_XCHG, ALU64_K(BPF_AND, R2, 47), ADD_X(R8, R2)));
	REFUSED("exchanged", "no bounds", PROGRAM(BPF_XCHG, ADD_X(R8, R2)));
	ACCEPTED("compared", PROGRAM(BPF_CMPXCHG, ALU64_K(BPF_AND, R0, 47), ADD_X(R8, R0)));
	REFUSED("compared", "no bounds", PROGRAM(BPF_CMPXCHG, ADD_X(R8, R0)));
#undef PROGRAM
}

/* Addresses must not reach memory that others read. */
static void addresses(void **s)
{
	(void)s;
	REFUSED("into a map", "in the stack only", LOOKUP(ARRAY48), STORE(BPF_DW, R0, 0, R10), RETURN(1));
	REFUSED("into the packet", "in the stack only", LOAD(BPF_W, R2, R1, 0), LOAD(BPF_W, R3, R1, 4), MOV_X(R4, R2), ADD_K(R4, 8),
	        JUMP_X(BPF_JGT, R4, R3, 1), STORE(BPF_DW, R2, 0, R10), RETURN(1));
	REFUSED("into a ring", "in the stack only", WIDE_MAP(R1, RING), MOV_K(R2, 16), MOV_K(R3, 0), HELPER(BPF_FN_RINGBUF_RESERVE),
	        JUMP_K(BPF_JNE, R0, 0, 2), RETURN(1), STORE(BPF_DW, R0, 0, R10), RETURN(1));
	REFUSED("atomically", "work on numbers", LOOKUP(ARRAY48), ATOMIC(BPF_DW, BPF_ADD, R0, 0, R10), RETURN(1));
	REFUSED("as a key", "part of an address", STORE(BPF_DW, R10, -8, R10), MOV_X(R2, R10), ADD_K(R2, -8),
	        WIDE_MAP(R1, HASH8), HELPER(BPF_FN_MAP_LOOKUP), RETURN(1));
	REFUSED("returned", "R0 is a pointer", MOV_X(R0, R10), EXIT);
	REFUSED("stack that was not written", "not initialised", MOV_X(R2, R10), ADD_K(R2, -8), WIDE_MAP(R1, HASH8),
	        HELPER(BPF_FN_MAP_LOOKUP), RETURN(1));
	REFUSED("written constants", "cannot write", WIDE_VALUE(R1, RODATA, 0), STORE_K(BPF_B, R1, 0, 1), RETURN(1));
	REFUSED("read write-only memory", "cannot read", LOOKUP(WRITE_ONLY), LOAD(BPF_B, R0, R0, 0), EXIT);
	REFUSED("written ports", "cannot write", LOOKUP(DEVICES), STORE_K(BPF_W, R0, 0, 1), RETURN(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_map), cmocka_unit_test(sign_extension), cmocka_unit_test(bounds_of_32_bits),
		cmocka_unit_test(bitwise_of_32_bits), cmocka_unit_test(results_of_32_bits), cmocka_unit_test(compared_with_itself),
		cmocka_unit_test(arguments_of_helpers), cmocka_unit_test(pointer_arithmetic),
		cmocka_unit_test(arithmetic_before_null_check), cmocka_unit_test(pruning), cmocka_unit_test(bounds_of_a_register),
		cmocka_unit_test(number_that_moves_a_pointer), cmocka_unit_test(numbers_in_the_callers_stack),
		cmocka_unit_test(linked_numbers), cmocka_unit_test(narrow_fills), cmocka_unit_test(packet),
		cmocka_unit_test(frames), cmocka_unit_test(reserved), cmocka_unit_test(fetched),
		cmocka_unit_test(addresses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
