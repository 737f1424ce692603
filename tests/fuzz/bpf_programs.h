/*
 * Programs for the verifier, made of an input's bytes: instructions as they are, or choices among pieces that
 * are near to what a verifier must decide.
 *
 * Registers after the start: R6 the context, R7 the packet, 30 bytes of which are proved, R8 a map value, R9 a
 * number; R0 to R5 numbers. Behind the program is one function, which pieces call.
 */
#ifndef TESTS_FUZZ_BPF_PROGRAMS_H
#define TESTS_FUZZ_BPF_PROGRAMS_H

#include "tests/fuzz/input.h"

#include "tests/unit/rig/bpf_insns.h"

#define INSNS_MAX 400
#define CALL_FUNCTION CALL(0x1000) /* until the function's place is known */

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

static struct input in;

static struct bpf_insn insns[INSNS_MAX + 16];
static uint32_t count;

static void put(struct bpf_insn i)
{
	if (count < ARRAY_LEN(insns))
		insns[count++] = i;
}

static void put_all(const struct bpf_insn *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put(list[i]);
}
#define PUT(...) put_all((const struct bpf_insn[]){__VA_ARGS__}, ARRAY_LEN(((const struct bpf_insn[]){__VA_ARGS__})))

static void put_start(void)
{
	PUT(MOV_X(R6, R1), STORE_K(BPF_DW, R10, -8, 1), MOV_X(R2, R10), ADD_K(R2, -8), WIDE_MAP(R1, ARRAY48),
	    HELPER(BPF_FN_MAP_LOOKUP), JUMP_K(BPF_JNE, R0, 0, 2), RETURN(1), MOV_X(R8, R0), LOAD(BPF_W, R7, R6, 0),
	    LOAD(BPF_W, R3, R6, 4), MOV_X(R2, R7), ADD_K(R2, 30), JUMP_X(BPF_JLE, R2, R3, 2), RETURN(2),
	    LOAD(BPF_DW, R9, R8, 0), LOAD(BPF_DW, R1, R8, 8), LOAD(BPF_W, R2, R8, 16), LOAD(BPF_B, R4, R7, 3),
	    LOAD(BPF_H, R5, R7, 6), MOV_K(R0, 0));
}

static int32_t small(void)
{
	static const int32_t some[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 47, 48, 63, 64, 255, -1, -2, -8, -16, 0x7fffffff,
		(int32_t)0x80000000, 0xffff, 0x10000};
	const uint8_t c = take8(&in);
	return c < 224 ? some[c % ARRAY_LEN(some)] : (int32_t)take32(&in);
}

static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};
static const uint8_t jumps[] = {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSGT, BPF_JSGE, BPF_JSLT,
	BPF_JSLE, BPF_JSET};

/* A register; mostly a number for arithmetic. */
static unsigned reg(void) { return take8(&in) % 10; }
static unsigned number(void)
{
	static const uint8_t numbers[] = {R0, R1, R2, R4, R5, R9, R9, R3};
	return numbers[take8(&in) % ARRAY_LEN(numbers)];
}

static void put_alu(void)
{
	const unsigned op = take8(&in) % 13 << 4, class = take8(&in) & 1 ? BPF_ALU64 : BPF_ALU;
	const unsigned d = take8(&in) % 8 ? number() : reg();
	if (op == BPF_NEG)
		PUT(INSN(class | op, d, 0, 0, 0));
	else if (take8(&in) & 1)
		PUT(INSN(class | op | BPF_X, d, number(), op == BPF_MOV && take8(&in) % 4 == 0 ? 8 << (take8(&in) & 1) : 0, 0));
	else
		PUT(INSN(class | op, d, 0, (op == BPF_DIV || op == BPF_MOD) && take8(&in) & 1, small()));
}

/* Over one to four of the next instructions; sometimes back. */
static void put_jump(void)
{
	const unsigned op = jumps[take8(&in) % sizeof jumps], class = take8(&in) & 1 ? BPF_JMP : BPF_JMP32;
	const int16_t to = take8(&in) % 16 == 0 ? (int16_t)(-1 - take8(&in) % 8) : (int16_t)(1 + take8(&in) % 4);
	const unsigned d = take8(&in) % 4 ? number() : reg();
	if (take8(&in) & 1)
		PUT(INSN(class | op | BPF_X, d, take8(&in) % 4 ? number() : reg(), to, 0));
	else
		PUT(INSN(class | op, d, 0, to, small()));
}

static int16_t place(unsigned r)
{
	if (r == R10)
		return (int16_t)(-1 - take8(&in) % 40);
	return (int16_t)(take8(&in) % 56 - 4);
}

static void put_memory(void)
{
	static const uint8_t pointers[] = {R7, R8, R10, R10, R3, R2, R0, R6};
	const unsigned p = pointers[take8(&in) % ARRAY_LEN(pointers)], size = sizes[take8(&in) & 3], what = take8(&in) % 8;
	int16_t off = place(p);
	if (p == R10 && take8(&in) % 4)
		off &= -8;
	if (what < 3)
		PUT(INSN(BPF_LDX | (what == 2 && size != BPF_DW ? BPF_MEMSX : BPF_MEM) | size, take8(&in) % 4 ? number() : reg(),
		         p, off, 0));
	else if (what < 6)
		PUT(STORE(size, p, off, take8(&in) % 2 ? reg() : number()));
	else if (what < 7)
		PUT(STORE_K(size, p, off, small()));
	else
		PUT(ATOMIC(size, (take8(&in) & 1) | (take8(&in) & 1 ? BPF_ADD : BPF_XOR), p, off, number()));
}

/* A pointer moved by a number, perhaps bounded before, and used. */
static void put_variable_access(void)
{
	static const uint8_t bases[] = {R7, R8, R10};
	const unsigned base = bases[take8(&in) % 3], n = number();
	if (take8(&in) & 1)
		PUT(INSN((take8(&in) & 1 ? BPF_JMP : BPF_JMP32) | jumps[take8(&in) % sizeof jumps], n, 0,
		         (int16_t)(3 + take8(&in) % 3), small()));
	if (take8(&in) & 1)
		PUT(ALU64_K(BPF_AND, n, small()));
	PUT(MOV_X(R3, base), INSN(BPF_ALU64 | BPF_X | (take8(&in) % 4 ? BPF_ADD : BPF_SUB), R3, n, 0, 0));
	if (base == R7 && take8(&in) % 4)
		PUT(LOAD(BPF_W, R2, R6, 4), MOV_X(R0, R3), ADD_K(R0, take8(&in) % 16),
		    JUMP_X(jumps[2 + take8(&in) % 4], R0, R2, (int16_t)(1 + take8(&in) % 3)));
	if (take8(&in) & 1)
		PUT(STORE_K(sizes[take8(&in) & 3], R3, place(base), 1));
	else
		PUT(LOAD(sizes[take8(&in) & 3], R9, R3, place(base)));
}

/* Copies of a number, on all paths or some; one is bounded, the other one used as an offset in the value. */
static void put_copies(void)
{
	const unsigned a = number(), b = number(), c = number();
	PUT(LOAD(BPF_DW, a, R8, 0), LOAD(BPF_DW, c, R8, 8));
	const uint8_t way = take8(&in);
	if (way & 1)
		PUT(LOAD(BPF_DW, b, R8, 16), JUMP_K(BPF_JEQ, c, way >> 4, 1), MOV_X(b, a));
	else
		PUT(MOV_X(b, a), JUMP_K(BPF_JEQ, c, way >> 4, 1), LOAD(BPF_DW, b, R8, 16));
	if (way & 2)
		put_alu();
	if (way & 4)
		PUT(JUMP(0));
	PUT(INSN(way & 8 ? BPF_JMP32 | BPF_JGT : BPF_JMP | BPF_JGT, b, 0, 3, 1 + take8(&in) % 47), MOV_X(R3, R8), ADD_X(R3, a),
	    LOAD(BPF_B, R3, R3, 0));
}

/* Packet pointers that are compared on one path only, or to a different extent. */
static void put_paths_to_packet(void)
{
	const unsigned n = number();
	PUT(LOAD(BPF_B, n, R8, 0), ALU64_K(BPF_AND, n, 63), MOV_X(R3, R7), ADD_X(R3, n), LOAD(BPF_W, R2, R6, 4));
	if (take8(&in) & 1)
		PUT(JUMP_K(BPF_JGT, n, small(), 2), MOV_X(R3, R7), ADD_K(R3, take8(&in) % 40));
	PUT(MOV_X(R0, R3), ADD_K(R0, take8(&in) % 16), JUMP_X(BPF_JGT, R0, R2, (int16_t)(take8(&in) % 3)));
	if (take8(&in) & 1)
		PUT(JUMP_K(BPF_JEQ, n, take8(&in) % 64, 1), ADD_K(R3, take8(&in) % 4));
	PUT(LOAD(BPF_B, R2, R3, (int16_t)(take8(&in) % 18 - 2)));
}

/* Two paths meet with different numbers in register n, or in a slot of the stack. */
static void put_meeting(unsigned n)
{
	const unsigned which = number();
	const uint8_t how = take8(&in);
	const int32_t first = how & 1 ? take8(&in) % 64 : small(), second = how & 2 ? 4096 : small();
	PUT(MOV_K(n, first));
	if (how & 4)
		PUT(STORE(BPF_DW, R10, -24, n));
	PUT(JUMP_K(how & 8 ? BPF_JEQ : BPF_JSGT, which == n ? R9 : which, 0, how & 4 ? 2 : 1), MOV_K(n, second));
	if (how & 4)
		PUT(STORE(BPF_DW, R10, -24, n));
	if (how & 16)
		PUT(MOV_K(take8(&in) % 6, 0), JUMP(0));
	if (how & 4)
		PUT(LOAD(BPF_DW, n, R10, -24));
}

/* A number bounds another one, or says how much of the packet a comparison proves; then the access. */
static void put_bound_by_register(void)
{
	const unsigned limit = number(), n = number();
	const uint8_t how = take8(&in);
	put_meeting(limit);
	if (how & 1) {
		PUT(LOAD(BPF_W, R3, R6, how & 2 ? 8 : 0), LOAD(BPF_W, R2, R6, how & 2 ? 0 : 4), MOV_X(R0, R3),
		    INSN(BPF_ALU64 | BPF_X | (how & 4 ? BPF_SUB : BPF_ADD), R0, limit, 0, 0),
		    JUMP_X(how & 8 ? BPF_JGT : BPF_JGE, R0, R2, 1), LOAD(sizes[how >> 4 & 3], R4, R3, take8(&in) % 20), MOV_K(R0, 0));
		return;
	}
	PUT(LOAD(BPF_DW, n, R8, 0), INSN((how & 2 ? BPF_JMP : BPF_JMP32) | BPF_X | jumps[take8(&in) % sizeof jumps], n, limit,
	         (int16_t)(how & 4 ? 3 : 0), 0),
	    MOV_X(R3, R8), ADD_X(R3, n), LOAD(sizes[how >> 4 & 3], R3, R3, 0));
}

/* The function gets an address in this frame, and a number; what it stores is an offset afterwards. */
static void put_call_and_use(void)
{
	const unsigned n = number();
	const uint8_t how = take8(&in);
	put_meeting(n);
	if (n != R2)
		PUT(MOV_X(R2, n));
	PUT(STORE_K(BPF_DW, R10, -16, how & 1), MOV_X(R1, R10), ADD_K(R1, how & 2 ? -16 : place(R10)), CALL_FUNCTION);
	if (how & 4)
		PUT(LOAD(BPF_DW, R4, R10, -16));
	else
		PUT(MOV_X(R4, R0));
	if (how & 8)
		PUT(JUMP_K(BPF_JGT, R4, 47, 3));
	PUT(MOV_X(R3, R8), ADD_X(R3, R4), LOAD(BPF_B, R3, R3, 0));
	if (how & 16)
		PUT(MOV_K(R0, 0), MOV_K(R1, 1), MOV_K(R2, 2), MOV_K(R5, 5));
}

static void put_helper(void)
{
	switch (take8(&in) % 8) {
	case 0:
		PUT(MOV_X(R1, R6), MOV_K(R2, small()), HELPER(take8(&in) & 1 ? BPF_FN_XDP_ADJUST_HEAD : BPF_FN_XDP_ADJUST_TAIL));
		break;
	case 1:
		PUT(WIDE_MAP(R1, RING), MOV_K(R2, take8(&in) % 64), MOV_K(R3, 0), HELPER(BPF_FN_RINGBUF_RESERVE),
		    JUMP_K(BPF_JEQ, R0, 0, 4), STORE_K(sizes[take8(&in) & 3], R0, place(R8), 1), MOV_X(R1, R0), MOV_K(R2, 0),
		    HELPER(take8(&in) & 1 ? BPF_FN_RINGBUF_SUBMIT : BPF_FN_RINGBUF_DISCARD));
		break;
	case 2:
		PUT(MOV_X(R2, R10), ADD_K(R2, place(R10)), WIDE_MAP(R1, take8(&in) % RIG_MAPS), HELPER(BPF_FN_MAP_LOOKUP),
		    JUMP_K(BPF_JEQ, R0, 0, (int16_t)(1 + take8(&in) % 2)), LOAD(sizes[take8(&in) & 3], R9, R0, place(R8)));
		break;
	case 3:
		PUT(MOV_X(R1, R6), MOV_K(R2, take8(&in) % 8), MOV_X(R3, R10), ADD_K(R3, place(R10)), MOV_X(R4, R9),
		    HELPER(BPF_FN_XDP_LOAD_BYTES));
		break;
	case 4: /* a function with an address in this frame */
		PUT(MOV_X(R1, R10), ADD_K(R1, place(R10)), MOV_X(R2, R9), CALL_FUNCTION);
		break;
	default:
		PUT(HELPER(BPF_FN_GET_PRANDOM_U32), MOV_X(number(), R0));
		break;
	}
	if (take8(&in) & 1)
		PUT(MOV_K(R1, small()), MOV_K(R2, small()), MOV_X(R4, R9), MOV_X(R5, R9), MOV_K(R3, 0));
}

static void put_one(void)
{
	switch (take8(&in) % 21) {
	case 16: put_copies(); break;
	case 17: put_paths_to_packet(); break;
	case 18: put_meeting(number()); break;
	case 19: put_bound_by_register(); break;
	case 20: put_call_and_use(); break;
	case 0: case 1: case 2: case 3: case 4: put_alu(); break;
	case 5: case 6: case 7: put_jump(); break;
	case 8: case 9: case 10: put_memory(); break;
	case 11: case 12: put_variable_access(); break;
	case 13: put_helper(); break;
	case 14: PUT(MOV_X(number(), reg())); break;
	default: PUT(STORE(BPF_DW, R10, (int16_t)(-8 * (1 + take8(&in) % 4)), reg())); break;
	}
}

/* R1 an address in the caller's stack or a map value, R2 a number. */
static void put_function(uint8_t how)
{
	if (how & 2)
		PUT(MOV_X(R4, R1), MOV_X(R1, R4));
	if (how & 4)
		PUT(JUMP_K(BPF_JEQ, R2, small(), 1), MOV_K(R2, small()), MOV_K(R5, 0), JUMP(0));
	if (how & 8)
		PUT(LOAD(sizes[take8(&in) & 3], R3, R1, how & 16 ? 0 : place(R8)));
	else
		PUT(MOV_X(R3, R2));
	PUT(STORE(sizes[how & 16 ? 3 : take8(&in) & 3], R1, how & 16 ? 0 : place(R8), how & 1 ? R2 : R3));
	if (how & 32)
		PUT(ATOMIC(BPF_DW, BPF_ADD | BPF_FETCH, R1, 0, R2));
	PUT(MOV_X(R0, how & 64 ? R2 : R3), EXIT);
}

static void generate(void)
{
	const uint8_t function = take8(&in);
	put_start();
	const unsigned n = 2 + take8(&in) % 30;
	for (unsigned i = 0; i < n && count < INSNS_MAX - 60; i++)
		put_one();
	PUT(RETURN(2), RETURN(2), RETURN(2));
	const uint32_t start = count;
	put_function(function);
	bool called = false;
	for (uint32_t i = 0; i < start; i++)
		if (insns[i].opcode == (BPF_JMP | BPF_CALL) && insns[i].src == BPF_CALL_LOCAL && insns[i].imm == 0x1000) {
			insns[i].imm = (int32_t)(start - i - 1);
			called = true;
		}
	if (!called)
		count = start;
}

static void as_it_is(void)
{
	put_start();
	while (in.n >= 8 && count < INSNS_MAX) {
		struct bpf_insn i;
		memcpy(&i, in.p, sizeof i);
		in.p += 8;
		in.n -= 8;
		put(i);
	}
	PUT(RETURN(2));
}

static void make_program(void)
{
	count = 0;
	take8(&in) % 4 ? generate() : as_it_is();
}

#endif
