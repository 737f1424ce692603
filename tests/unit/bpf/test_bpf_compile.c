/*
 * The compiler: what it emits for known programs, byte by byte where the shape is the point, and what the code
 * does: with maps, helpers, functions, tail calls, jumps of all distances. Arithmetic is left to the
 * differential test and the conformance suite.
 */
#include "tests/unit/rig/host.h"

#include "bpf/helpers.h"
#include "bpf/maps/map.h"
#include "bpf/xdp.h"
#include "tests/bpf/execute.h"
#include "tests/unit/rig/bpf_make.h"
#include "tests/unit/rig/maps_rig.h"

static bpf_helper helpers[BPF_HELPERS];
static struct bpf_map *maps[2];

static struct bpf_env environment(void)
{
	bpf_map_helpers(helpers);
	return (struct bpf_env){.maps = maps, .map_count = 2, .helpers = helpers, .helper_count = BPF_HELPERS,
	                        .lookup_for = bpf_map_lookup_for, .core = &bpf_core};
}

static bool compiles(struct executable *x, const struct bpf_insn *insns, uint32_t count, const struct bpf_note *notes,
                     struct bpf_reason *why)
{
	const struct bpf_program p = {.insns = insns, .count = count};
	const struct bpf_env env = environment();
	return executable_make(x, &p, notes, &env, why);
}

static struct executable compile(const struct bpf_insn *insns, uint32_t count, const struct bpf_note *notes)
{
	struct executable x;
	struct bpf_reason why;
	if (!compiles(&x, insns, count, notes, &why))
		fail_msg("%s", why.text);
	return x;
}

static uint64_t call(const struct executable *x, uint64_t r1, uint64_t r2)
{
	return ((uint64_t (*)(uint64_t, uint64_t))(uintptr_t)x->at)(r1, r2);
}

static uint64_t run(const struct bpf_insn *insns, uint32_t count, const struct bpf_note *notes, uint64_t r1, uint64_t r2)
{
	struct executable x = compile(insns, count, notes);
	const uint64_t result = call(&x, r1, r2);
	executable_free(&x);
	return result;
}

#define RUN(r1, r2, ...) \
	run((const struct bpf_insn[]){__VA_ARGS__}, sizeof((const struct bpf_insn[]){__VA_ARGS__}) / 8, NULL, r1, r2)

static void is_bytes(const struct bpf_insn *insns, uint32_t count, const char *bytes, size_t n)
{
	struct executable x = compile(insns, count, NULL);
	assert_int_equal(x.code_bytes, n);
	assert_memory_equal(x.at, bytes, n);
	executable_free(&x);
}

#define SHAPE(bytes, ...) \
	is_bytes((const struct bpf_insn[]){__VA_ARGS__}, sizeof((const struct bpf_insn[]){__VA_ARGS__}) / 8, bytes, sizeof(bytes) - 1)

static void shapes(void **s)
{
	(void)s;
	/* no frame, no saved register: mov eax, 1; ret */
	SHAPE("\xb8\x01\0\0\0\xc3", MOV_K(0, 1), EXIT);
	/* xor eax, eax; ret */
	SHAPE("\x31\xc0\xc3", MOV_K(0, 0), EXIT);
	/* mov rax, -1 sign-extended from 32 bits */
	SHAPE("\x48\xc7\xc0\xff\xff\xff\xff\xc3", MOV_K(0, -1), EXIT);
	/* a wide number of 32 bits */
	SHAPE("\xb8\xef\xbe\xad\xde\xc3", WIDE(0, 0, 0xdeadbeef), EXIT);
	/* lea rax, [rdi+14]; lea rax, [rdi+rsi] */
	SHAPE("\x48\x8d\x47\x0e\xc3", MOV_X(0, 1), ALU64_K(BPF_ADD, 0, 14), EXIT);
	SHAPE("\x48\x8d\x04\x37\xc3", MOV_X(0, 1), ALU64_X(BPF_ADD, 0, 2), EXIT);
	/* movzx eax, byte [rdi+3]: its upper half is 0, so a comparison and an extension cost nothing more */
	SHAPE("\x0f\xb6\x47\x03\xc3", LOAD(BPF_B, 0, 1, 3), ALU64_K(BPF_LSH, 0, 32), ALU64_K(BPF_RSH, 0, 32), EXIT);
	/* movzx eax, word [rdi+12]: two bytes that are a word */
	SHAPE("\x0f\xb7\x47\x0c\xc3", LOAD(BPF_B, 2, 1, 12), LOAD(BPF_B, 0, 1, 13), ALU64_K(BPF_LSH, 0, 8), ALU64_X(BPF_OR, 0, 2), EXIT);
	/* what nobody reads: R3 */
	SHAPE("\x48\x89\xf8\xc3", MOV_K(3, 5), ALU64_K(BPF_MUL, 3, 7), MOV_X(0, 1), EXIT);
	/* R6 of a function that calls nothing is a register that need not be saved: mov r9, rdi; mov rax, r9 */
	SHAPE("\x49\x89\xf9\x4c\x89\xc8\xc3", MOV_X(6, 1), MOV_X(0, 6), EXIT);
	/* sub rsp, 8; mov [rsp], rdi; mov rax, [rsp]; add rsp, 8; ret */
	SHAPE("\x48\x83\xec\x08\x48\x89\x3c\x24\x48\x8b\x04\x24\x48\x83\xc4\x08\xc3", STORE(BPF_DW, 10, 1, -8),
	      LOAD(BPF_DW, 0, 10, -8), EXIT);
	/* lock add [rdi], rsi */
	SHAPE("\xf0\x48\x01\x37\x31\xc0\xc3", ATOMIC(BPF_DW, BPF_ADD, 1, 2, 0), MOV_K(0, 0), EXIT);
	/* test rdi, rdi; je */
	SHAPE("\x31\xc0\x48\x85\xff\x74\x05\xb8\x01\0\0\0\xc3", MOV_K(0, 0), JUMP_K(BPF_JEQ, 1, 0, 1), MOV_K(0, 1), EXIT);
	/* R7 is R10 of the CPU here */
	SHAPE("\x49\x89\xfa\x41\x8b\x02\xc3", MOV_X(7, 1), LOAD(BPF_W, 0, 7, 0), EXIT);
}

/* Bytes that a program moves one by one (merge.c). R1 is the address, and the second argument is R2. */
#define BYTE(r, at) LOAD(BPF_B, r, 1, at)
#define PUT(r, at) STORE(BPF_B, 1, r, at)
#define SHR(r, n) ALU64_K(BPF_RSH, r, n)
#define SHL(r, n) ALU64_K(BPF_LSH, r, n)
#define OR(d, r) ALU64_X(BPF_OR, d, r)
static void merged_shapes(void **s)
{
	(void)s;
	/* mov eax, [rdi+2]: the low word first, as clang loads an address, and the high word first */
	SHAPE("\x8b\x47\x02\xc3", BYTE(2, 3), SHL(2, 8), BYTE(3, 2), OR(2, 3), BYTE(0, 5), SHL(0, 8), BYTE(3, 4), OR(0, 3),
	      SHL(0, 16), OR(0, 2), EXIT);
	SHAPE("\x8b\x47\x02\xc3", BYTE(3, 4), BYTE(0, 5), SHL(0, 8), OR(0, 3), SHL(0, 16), BYTE(2, 3), SHL(2, 8), BYTE(3, 2),
	      OR(2, 3), OR(0, 2), EXIT);
	/* six bytes from 6 to 0: mov r11d, [rdi+6]; mov [rdi], r11d; movzx r11d, word [rdi+10]; mov [rdi+4], r11w; and
	 * R0, which is read later: movzx eax, byte [rdi+11] */
	SHAPE("\x44\x8b\x5f\x06\x44\x89\x1f\x44\x0f\xb7\x5f\x0a\x66\x44\x89\x5f\x04\x0f\xb6\x47\x0b\xc3", BYTE(0, 8), PUT(0, 2),
	      BYTE(0, 9), PUT(0, 3), BYTE(0, 6), PUT(0, 0), BYTE(0, 7), PUT(0, 1), BYTE(0, 10), PUT(0, 4), BYTE(0, 11), PUT(0, 5),
	      EXIT);
	/* R2 as four bytes: mov [rdi+6], esi; shr rsi, 8; mov rax, rsi */
	SHAPE("\x89\x77\x06\x48\xc1\xee\x08\x48\x89\xf0\xc3", MOV_X(3, 2), SHR(3, 16), PUT(3, 8), MOV_X(3, 2), SHR(3, 24),
	      PUT(3, 9), PUT(2, 6), SHR(2, 8), PUT(2, 7), MOV_X(0, 2), EXIT);
	/* operations of 32 bits, as of -mcpu=v3: mov eax, [rdi+2] */
	SHAPE("\x8b\x47\x02\xc3", BYTE(2, 3), ALU32_K(BPF_LSH, 2, 8), BYTE(3, 2), ALU32_X(BPF_OR, 2, 3), BYTE(0, 5),
	      ALU32_K(BPF_LSH, 0, 8), BYTE(3, 4), ALU32_X(BPF_OR, 0, 3), ALU32_K(BPF_LSH, 0, 16), ALU32_X(BPF_OR, 0, 2), EXIT);
	/* movzx eax, word [rdi]; mov [rdi+6], ax; shr rax, 8 */
	SHAPE("\x0f\xb7\x07\x66\x89\x47\x06\x48\xc1\xe8\x08\xc3", LOAD(BPF_H, 0, 1, 0), PUT(0, 6), ALU32_K(BPF_RSH, 0, 8),
	      PUT(0, 7), EXIT);
}

static uint64_t on_bytes(const struct bpf_insn *insns, uint32_t count, uint64_t r2, uint8_t bytes[16])
{
	for (uint8_t n = 0; n < 16; n++)
		bytes[n] = (uint8_t)(0x10 + n);
	return run(insns, count, NULL, (uintptr_t)bytes, r2);
}

#define ON_BYTES(r2, ...) \
	on_bytes((const struct bpf_insn[]){__VA_ARGS__}, sizeof((const struct bpf_insn[]){__VA_ARGS__}) / 8, r2, bytes)

static void merged(void **s)
{
	(void)s;
	uint8_t bytes[16];
	/* all registers of a double word are read later */
	assert_int_equal(ON_BYTES(0, BYTE(2, 1), SHL(2, 8), BYTE(3, 0), OR(2, 3), BYTE(0, 3), SHL(0, 8), BYTE(4, 2), OR(0, 4),
	                          SHL(0, 16), OR(0, 2), SHL(0, 32), SHL(2, 16), OR(0, 2), SHL(3, 8), OR(0, 3), OR(0, 4), EXIT),
	                 0x1312111011100000 | 0x1000 | 0x12);
	/* the words are not neighbours; the same word twice */
	assert_int_equal(ON_BYTES(0, BYTE(2, 1), SHL(2, 8), BYTE(3, 0), OR(2, 3), BYTE(0, 5), SHL(0, 8), BYTE(3, 4), OR(0, 3),
	                          SHL(0, 16), OR(0, 2), EXIT), 0x15141110);
	assert_int_equal(ON_BYTES(0, BYTE(2, 1), SHL(2, 8), BYTE(3, 0), OR(2, 3), BYTE(0, 1), SHL(0, 8), BYTE(3, 0), OR(0, 3),
	                          SHL(0, 16), OR(0, 2), EXIT), 0x11101110);
	/* bytes that overlap are copied in the program's order: byte 0 runs through */
	ON_BYTES(0, BYTE(0, 0), PUT(0, 1), BYTE(0, 1), PUT(0, 2), BYTE(0, 2), PUT(0, 3), EXIT);
	assert_memory_equal(bytes, "\x10\x10\x10\x10\x14", 5);
	/* and two that do not: as far apart as they are many */
	ON_BYTES(0, BYTE(0, 1), PUT(0, 3), BYTE(0, 0), PUT(0, 2), EXIT);
	assert_memory_equal(bytes, "\x10\x11\x10\x11\x14", 5);
	/* one byte goes elsewhere, and comes from elsewhere */
	ON_BYTES(0, BYTE(0, 1), PUT(0, 9), BYTE(0, 0), PUT(0, 10), EXIT);
	assert_memory_equal(bytes + 8, "\x18\x11\x10\x1b", 4);
	/* a jump leads into a copy: its first pair is skipped */
	ON_BYTES(0, MOV_K(0, 0x77), JUMP_K(BPF_JEQ, 2, 0, 1), BYTE(0, 0), PUT(0, 8), BYTE(0, 1), PUT(0, 9), EXIT);
	assert_memory_equal(bytes + 8, "\x77\x11\x1a", 3);
	ON_BYTES(1, MOV_K(0, 0x77), JUMP_K(BPF_JEQ, 2, 0, 1), BYTE(0, 0), PUT(0, 8), BYTE(0, 1), PUT(0, 9), EXIT);
	assert_memory_equal(bytes + 8, "\x10\x11\x1a", 3);
	/* the copy changes its own base: no copy */
	ON_BYTES(0, MOV_X(2, 1), LOAD(BPF_B, 0, 2, 0), STORE(BPF_B, 2, 0, 8), ALU64_K(BPF_ADD, 2, 1), LOAD(BPF_B, 0, 2, 0),
	         STORE(BPF_B, 2, 0, 8), EXIT);
	assert_memory_equal(bytes + 8, "\x10\x11\x1a", 3);
	/* a split, whose copies and own register are read later */
	assert_int_equal(ON_BYTES(0x8877665544332211, MOV_X(3, 2), SHR(3, 24), PUT(3, 7), PUT(2, 4), SHR(2, 8), PUT(2, 5),
	                          MOV_X(4, 2), SHR(4, 8), PUT(4, 6), MOV_X(0, 2), ALU64_X(BPF_XOR, 0, 3), ALU64_X(BPF_XOR, 0, 4), EXIT),
	                 0x0088776655443322 ^ 0x0000008877665544 ^ 0x0000887766554433);
	assert_memory_equal(bytes + 3, "\x13\x11\x22\x33\x44\x18", 6);
	/* three bytes, of which two are merged; a byte twice; a byte elsewhere */
	ON_BYTES(0x332211, PUT(2, 4), SHR(2, 8), PUT(2, 5), SHR(2, 8), PUT(2, 6), EXIT);
	assert_memory_equal(bytes + 3, "\x13\x11\x22\x33\x17", 5);
	ON_BYTES(0x332211, PUT(2, 4), PUT(2, 4), SHR(2, 8), PUT(2, 5), EXIT);
	assert_memory_equal(bytes + 3, "\x13\x11\x22\x16", 4);
	ON_BYTES(0x332211, PUT(2, 4), SHR(2, 8), PUT(2, 6), EXIT);
	assert_memory_equal(bytes + 3, "\x13\x11\x15\x22\x17", 5);
	/* of 32 bits: the upper half of the value counts, unless it is 0 */
	assert_int_equal(ON_BYTES(0x8877665544332211, ALU32_X(BPF_MOV, 0, 2), PUT(0, 4), ALU32_K(BPF_RSH, 0, 8), PUT(0, 5), EXIT), 0x443322);
	assert_memory_equal(bytes + 3, "\x13\x11\x22\x16", 4);
	assert_int_equal(ON_BYTES(0x8877665544332211, PUT(2, 4), ALU32_K(BPF_RSH, 2, 8), PUT(2, 5), MOV_X(0, 2), EXIT), 0x443322);
	assert_memory_equal(bytes + 3, "\x13\x11\x22\x16", 4);
	/* the base is a copy that the sequence itself makes: its own address */
	ON_BYTES(0, MOV_X(3, 1), STORE(BPF_B, 3, 1, 4), SHR(1, 8), STORE(BPF_B, 3, 1, 5), MOV_K(0, 0), EXIT);
	assert_int_equal(bytes[4] | bytes[5] << 8, (uintptr_t)bytes & 0xffff);
	/* eight bytes */
	ON_BYTES(0x8877665544332211, PUT(2, 4), SHR(2, 8), PUT(2, 5), SHR(2, 8), PUT(2, 6), SHR(2, 8), PUT(2, 7), SHR(2, 8),
	         PUT(2, 8), SHR(2, 8), PUT(2, 9), SHR(2, 8), PUT(2, 10), SHR(2, 8), PUT(2, 11), EXIT);
	assert_memory_equal(bytes + 3, "\x13\x11\x22\x33\x44\x55\x66\x77\x88\x1c", 10);
}

/* Shifts use RCX (R4), divisions RAX and RDX (R0 and R3): what the program needs of these afterwards is kept. */
static void kept_registers(void **s)
{
	(void)s;
	assert_int_equal(RUN(1, 3, MOV_K(4, 77), ALU64_X(BPF_LSH, 1, 2), MOV_X(0, 1), ALU64_X(BPF_ADD, 0, 4), EXIT), 8 + 77);
	assert_int_equal(RUN(100, 7, MOV_K(3, 5), ALU64_X(BPF_DIV, 1, 2), MOV_X(0, 1), ALU64_X(BPF_ADD, 0, 3), EXIT), 14 + 5);
	assert_int_equal(RUN(100, 7, MOV_K(0, 5), ALU64_X(BPF_DIV, 1, 2), ALU64_X(BPF_ADD, 0, 1), EXIT), 14 + 5);
}

/* By constants that are powers of two: masks and shifts. As a number of 64 bits the last one is negative, and no power. */
static void divided_by_powers(void **s)
{
	(void)s;
	static const int32_t powers[] = {1, 2, 1 << 30, INT32_MIN};
	const uint64_t x = 0xfedcba98f6543217;
	for (size_t n = 0; n < ARRAY_LEN(powers); n++) {
		const uint32_t by = (uint32_t)powers[n];
		const uint64_t wide = (uint64_t)(int64_t)powers[n];
		assert_int_equal(RUN(x, 0, MOV_X(0, 1), ALU32_K(BPF_MOD, 0, powers[n]), EXIT), (uint32_t)x % by);
		assert_int_equal(RUN(x, 0, MOV_X(0, 1), ALU32_K(BPF_DIV, 0, powers[n]), EXIT), (uint32_t)x / by);
		assert_int_equal(RUN(x, 0, MOV_X(0, 1), ALU64_K(BPF_MOD, 0, powers[n]), EXIT), x % wide);
		assert_int_equal(RUN(x, 0, MOV_X(0, 1), ALU64_K(BPF_DIV, 0, powers[n]), EXIT), x / wide);
	}
}

/* A comparison of lower halves stands for one of 64 bits only while the upper halves are known to be 0. */
static void narrow_comparisons(void **s)
{
	(void)s;
	/* 0xffffffff is not -1 */
	assert_int_equal(RUN(0, 0, ALU32_K(BPF_MOV, 0, -1), JUMP_K(BPF_JEQ, 0, -1, 1), EXIT, MOV_K(0, 7), EXIT), 0xffffffff);
	/* one of two paths to a comparison sets R0 to a number whose upper half is 0 */
	assert_int_equal(RUN(0, 0, WIDE(0, 0, 0x100000000), JUMP_K(BPF_JEQ, 1, 0, 1), MOV_K(0, 0), JUMP_K(BPF_JEQ, 0, 0, 1), EXIT,
	                     MOV_K(0, 7), EXIT), 0x100000000);
}

static void refusals(void **s)
{
	(void)s;
	static const struct { struct bpf_insn insns[3]; uint32_t count; const char *says; } bad[] = {
		{{JUMP(5), EXIT}, 2, "jumps to no instruction"},
		{{JUMP(-3), EXIT}, 2, "jumps to no instruction"},
		{{JUMP(1), WIDE(0, 0, 1)}, 3, "jumps to no instruction"},
		{{EXIT, INSN(BPF_LD | BPF_IMM | BPF_DW, 0, 0, 0, 1)}, 2, "half of a wide instruction"},
		{{WIDE(0, BPF_WIDE_MAP, 7), EXIT}, 3, "there is no map 7"},
		{{MOV_K(10, 1), EXIT}, 2, "no register that can be used so"},
		{{MOV_X(11, 1), EXIT}, 2, "no register that can be used so"},
		{{INSN(BPF_JMP | BPF_CALL | BPF_X, 2, 0, 0, 0), EXIT}, 2, "unknown jump"},
		{{INSN(BPF_JMP | BPF_CALL, 0, BPF_CALL_BTF, 0, 1), EXIT}, 2, "a call by BTF id"},
		{{CALL(211), EXIT}, 2, "there is no helper 211"},
		{{CALL(100000), EXIT}, 2, "there is no helper 100000"},
		{{INSN(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), EXIT}, 2, "legacy packet"},
		{{INSN(BPF_ALU64 | 0xe0, 3, 0, 0, 0), EXIT}, 2, "unknown arithmetic"},
		{{INSN(BPF_ALU | BPF_END, 0, 0, 0, 24), EXIT}, 2, "unknown arithmetic"},
		{{ATOMIC(BPF_W, 0x77, 1, 2, 0), EXIT}, 2, "unknown atomic"},
		{{ATOMIC(BPF_B, BPF_ADD, 1, 2, 0), EXIT}, 2, "unknown atomic"},
		{{CALL_LOCAL(1), JUMP(1), EXIT}, 3, "jumps to no instruction"},
		{{EXIT}, 0, "1 to 65536 instructions"},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct executable x;
		struct bpf_reason why = {""};
		if (compiles(&x, bad[i].insns, bad[i].count, NULL, &why))
			fail_msg("%zu is compiled", i);
		if (!strstr(why.text, bad[i].says))
			fail_msg("%zu: \"%s\" does not say \"%s\"", i, why.text, bad[i].says);
	}
}

static void room(void **s)
{
	(void)s;
	const struct bpf_insn insns[] = {MOV_K(0, 1), EXIT};
	const struct bpf_program p = {.insns = insns, .count = 2};
	const struct bpf_env env = environment();
	const size_t bytes = BPF_COMPILE_MEMORY(2);
	uint8_t *memory = malloc(bytes), *out = malloc(5);
	struct bpf_code code;
	struct bpf_reason why;
	struct bpf_memory lent = {memory, memory + bytes};
	assert_false(bpf_compile(&p, NULL, &env, 0x1000, out, 5, &lent, &code, &why)); /* it has 6 */
	assert_non_null(strstr(why.text, "room for 5"));
	lent = (struct bpf_memory){memory, memory + 64};
	assert_false(bpf_compile(&p, NULL, &env, 0x1000, out, 5, &lent, &code, &why));
	assert_non_null(strstr(why.text, "not enough memory"));
	free(memory);
	free(out);
}

/* A jump over n additions, at every distance around 128 bytes, forward and back. */
static void distances(void **s)
{
	(void)s;
	static struct bpf_insn insns[200];
	for (uint32_t n = 20; n < 60; n++) {
		uint32_t at = 0;
		insns[at++] = (struct bpf_insn)MOV_K(0, 0);
		insns[at++] = (struct bpf_insn)MOV_K(2, 3);
		const uint32_t top = at;
		insns[at++] = (struct bpf_insn)JUMP_K(BPF_JEQ, 1, 0, (int16_t)(n + 2));
		for (uint32_t k = 0; k < n; k++)
			insns[at++] = (struct bpf_insn)ALU64_K(BPF_ADD, 0, 1);
		insns[at++] = (struct bpf_insn)ALU64_K(BPF_SUB, 2, 1);
		insns[at] = (struct bpf_insn)JUMP_K(BPF_JNE, 2, 0, (int16_t)((int)top - (int)at - 1));
		at++;
		insns[at++] = (struct bpf_insn)EXIT;
		assert_int_equal(run(insns, at, NULL, 1, 0), 3 * n);
		assert_int_equal(run(insns, at, NULL, 0, 0), 0);
	}
}

/* Many jumps whose sizes depend on each other: all lead to the end, over each other. */
static void many_jumps(void **s)
{
	(void)s;
	enum { N = 3000 };
	static struct bpf_insn insns[2 * N + 2];
	uint32_t at = 0;
	insns[at++] = (struct bpf_insn)MOV_K(0, 0);
	for (uint32_t n = 0; n < N; n++) {
		insns[at++] = (struct bpf_insn)ALU64_K(BPF_ADD, 0, 1);
		const uint32_t over = random_below(60), end = 2 * N + 1;
		const uint32_t target = at + 1 + over < end ? at + 1 + over : end;
		insns[at] = (struct bpf_insn)JUMP_K(BPF_JEQ, 1, (int32_t)n, (int16_t)(target - at - 1));
		at++;
	}
	insns[at++] = (struct bpf_insn)EXIT;
	struct executable x = compile(insns, at, NULL);
	for (uint32_t n = 0; n < N; n += 7) {
		/* what the jump number n leaves out */
		const uint32_t jump = 2 + 2 * n, target = jump + 1 + (uint32_t)insns[jump].offset;
		uint32_t left = 0;
		for (uint32_t k = jump + 1; k < target; k++)
			left += insns[k].opcode == (BPF_ALU64 | BPF_ADD | BPF_K);
		assert_int_equal(call(&x, n, 0), N - left);
	}
	for (uint32_t i = 1; i < at; i++)
		assert_true(x.where[i] >= x.where[i - 1] && x.where[i] < x.code_bytes);
	executable_free(&x);
}

/* --- calls --- */

static bool aligned;

static uint64_t sum_of_5(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	/* GCC may use instructions here that need an aligned stack. */
	aligned = ((uintptr_t)__builtin_frame_address(0) & 15) == 0;
	return r1 + 10 * r2 + 100 * r3 + 1000 * r4 + 10000 * r5;
}

#define ARGUMENTS MOV_K(1, 1), MOV_K(2, 2), MOV_K(3, 3), MOV_K(4, 4), MOV_K(5, 5)

static void helper_calls(void **s)
{
	(void)s;
	/* all five arguments, with and without saved registers and stack */
	aligned = false;
	helpers[BPF_FN_TRACE_PRINTK] = sum_of_5;
	assert_int_equal(RUN(0, 0, ARGUMENTS, CALL(BPF_FN_TRACE_PRINTK), EXIT), 54321);
	assert_true(aligned);
	aligned = false;
	assert_int_equal(RUN(7, 0, MOV_X(6, 1), ARGUMENTS, CALL(BPF_FN_TRACE_PRINTK), ALU64_X(BPF_ADD, 0, 6), EXIT), 54328);
	assert_true(aligned);
	aligned = false;
	assert_int_equal(RUN(7, 0, MOV_X(6, 1), MOV_X(7, 1), STORE(BPF_DW, 10, 7, -24), ARGUMENTS, CALL(BPF_FN_TRACE_PRINTK),
	                     LOAD(BPF_DW, 7, 10, -24), ALU64_X(BPF_ADD, 0, 6), ALU64_X(BPF_ADD, 0, 7), EXIT), 54335);
	assert_true(aligned);
}

/* The registers that the caller keeps are kept: the compiler of this function relies on it. */
static void callee_saved(void **s)
{
	(void)s;
	helpers[BPF_FN_TRACE_PRINTK] = sum_of_5;
	struct executable x = compile((const struct bpf_insn[]){MOV_K(6, 1), MOV_K(7, 2), MOV_K(8, 3), MOV_K(9, 4), ARGUMENTS,
	                              CALL(BPF_FN_TRACE_PRINTK), ALU64_X(BPF_ADD, 0, 6), ALU64_X(BPF_ADD, 0, 7),
	                              ALU64_X(BPF_ADD, 0, 8), ALU64_X(BPF_ADD, 0, 9), EXIT}, 15, NULL);
	/* kept: RBX, R12 to R15 as they are behind the call */
	uint64_t kept[5], result = (uintptr_t)x.at;
	__asm__ volatile("push %%rbx\n\tpush %%rbp\n\tpush %%r12\n\tpush %%r13\n\tpush %%r14\n\tpush %%r15\n\t"
	                 "mov %%rsp, %%rbp\n\tand $-16, %%rsp\n\tpush %%rdx\n\tpush %%rdx\n\tmov $11, %%ebx\n\tmov $12, %%r12d\n\t"
	                 "mov $13, %%r13d\n\tmov $14, %%r14d\n\tmov $15, %%r15d\n\tcall *%%rax\n\tpop %%rdx\n\tmov %%rbp, %%rsp\n\t"
	                 "mov %%rbx, (%%rdx)\n\tmov %%r12, 8(%%rdx)\n\tmov %%r13, 16(%%rdx)\n\tmov %%r14, 24(%%rdx)\n\tmov %%r15, 32(%%rdx)\n\t"
	                 "pop %%r15\n\tpop %%r14\n\tpop %%r13\n\tpop %%r12\n\tpop %%rbp\n\tpop %%rbx"
	                 : "+a"(result)
	                 : "d"(kept)
	                 : "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	assert_int_equal(result, 54331);
	for (unsigned n = 0; n < 5; n++)
		assert_int_equal(kept[n], 11 + n);
	executable_free(&x);
}

static void functions(void **s)
{
	(void)s;
	/* f(n) = n + g(n); g uses R6 to R9 and the stack, and its caller's stack by a pointer */
	assert_int_equal(RUN(5, 0, MOV_X(6, 1), STORE(BPF_DW, 10, 1, -8), MOV_X(2, 10), ALU64_K(BPF_ADD, 2, -8), CALL_LOCAL(2),
	                     ALU64_X(BPF_ADD, 0, 6), EXIT,
	                     /* g */ MOV_K(6, 100), STORE(BPF_DW, 10, 6, -8), LOAD(BPF_DW, 7, 2, 0), LOAD(BPF_DW, 0, 10, -8),
	                     ALU64_X(BPF_ADD, 0, 7), EXIT), 110);
}

/* --- maps --- */

#define MAP_NOTE(at, count) \
	struct bpf_note notes[count] = {0}; \
	notes[at] = (struct bpf_note){BPF_NOTE_MAP, 0}

static void array_lookups(void **s)
{
	(void)s;
	static const uint32_t values[] = {4, 8, 12, 16, 24, 256};
	for (size_t v = 0; v < ARRAY_LEN(values); v++) {
		struct rig_map *rig = rig_map(v % 2 ? BPF_MAP_PERCPU_ARRAY : BPF_MAP_ARRAY, 4, values[v], 5);
		bpf_core = 2;
		maps[0] = &rig->map;
		/* the key from R1 by way of the stack */
		const struct bpf_insn by_register[] = {STORE(BPF_W, 10, 1, -4), MOV_X(2, 10), ALU64_K(BPF_ADD, 2, -4),
			WIDE(1, BPF_WIDE_MAP, 0), CALL(BPF_FN_MAP_LOOKUP), JUMP_K(BPF_JEQ, 0, 0, 1), EXIT, MOV_K(0, 77), EXIT};
		MAP_NOTE(5, ARRAY_LEN(by_register));
		struct executable x = compile(by_register, ARRAY_LEN(by_register), notes);
		for (uint32_t key = 0; key < 8; key++)
			assert_int_equal(call(&x, key | 0xabcd00000000, 0), key < 5 ? (uintptr_t)bpf_map_lookup(maps[0], &key) : 77);
		executable_free(&x);
		/* the key by a pointer, and the other comparison */
		const struct bpf_insn by_pointer[] = {MOV_X(6, 1), WIDE(1, BPF_WIDE_MAP, 0), CALL(BPF_FN_MAP_LOOKUP),
			JUMP_K(BPF_JNE, 0, 0, 1), MOV_K(0, 77), EXIT};
		struct bpf_note other[ARRAY_LEN(by_pointer)] = {[3] = {BPF_NOTE_MAP, 0}};
		for (uint32_t key = 0; key < 8; key++)
			assert_int_equal(run(by_pointer, ARRAY_LEN(by_pointer), other, 0, (uintptr_t)&key),
			                 key < 5 ? (uintptr_t)bpf_map_lookup(maps[0], &key) : 77);
		/* a constant, within and beyond */
		for (int32_t key = 3; key < 7; key++) {
			const uint32_t number = (uint32_t)key;
			const struct bpf_insn by_number[] = {STORE_K(BPF_W, 10, -4, key), MOV_X(2, 10), ALU64_K(BPF_ADD, 2, -4),
				WIDE(1, BPF_WIDE_MAP, 0), CALL(BPF_FN_MAP_LOOKUP), JUMP_K(BPF_JEQ, 0, 0, 1), EXIT, MOV_K(0, 77), EXIT};
			assert_int_equal(run(by_number, ARRAY_LEN(by_number), notes, 0, 0),
			                 key < 5 ? (uintptr_t)bpf_map_lookup(maps[0], &number) : 77);
		}
		rig_map_free(rig);
	}
}

/* The key's register is written between its store and the call, so the stack has the key. */
static void overwritten_key(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_ARRAY, 4, 8, 5);
	maps[0] = &rig->map;
	const struct bpf_insn insns[] = {STORE(BPF_W, 10, 3, -4), MOV_K(3, 4), MOV_X(2, 10), ALU64_K(BPF_ADD, 2, -4),
		WIDE(1, BPF_WIDE_MAP, 0), CALL(BPF_FN_MAP_LOOKUP), EXIT};
	const struct bpf_insn whole[] = {MOV_X(3, 1), insns[0], insns[1], insns[2], insns[3], insns[4], insns[5], insns[6], insns[7]};
	struct bpf_note notes[ARRAY_LEN(whole)] = {[7] = {BPF_NOTE_MAP, 0}};
	for (uint32_t key = 0; key < 5; key++)
		assert_int_equal(run(whole, ARRAY_LEN(whole), notes, key, 0), (uintptr_t)bpf_map_lookup(maps[0], &key));
	rig_map_free(rig);
}

/* Another store has changed part of the key since. */
static void partly_overwritten_key(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_ARRAY, 4, 8, 5);
	maps[0] = &rig->map;
	for (int16_t at = -7; at < 0; at++) {
		const uint32_t key = at < -4 ? 3 : 3 | 1u << 8 * (at + 4);
		const struct bpf_insn insns[] = {MOV_X(6, 1), STORE(BPF_W, 10, 6, -4), STORE_K(BPF_B, 10, at, at == -4 ? 3 : 1), MOV_X(2, 10),
			ALU64_K(BPF_ADD, 2, -4), WIDE(1, BPF_WIDE_MAP, 0), CALL(BPF_FN_MAP_LOOKUP), EXIT};
		MAP_NOTE(7, ARRAY_LEN(insns));
		assert_int_equal(run(insns, ARRAY_LEN(insns), notes, 3, 0), (uintptr_t)bpf_map_lookup(maps[0], &key));
	}
	rig_map_free(rig);
}

/* A constant key so large that its value's offset has no room in an instruction: the stack has the key, and no register,
 * because a store of a constant has none. */
static void large_key(void **s)
{
	(void)s;
	static const int32_t keys[] = {-1, INT32_MIN, 0x7fffffff, 0x10000000};
	struct rig_map *rig = rig_map(BPF_MAP_ARRAY, 4, 8, 5);
	maps[0] = &rig->map;
	for (size_t n = 0; n < ARRAY_LEN(keys); n++) {
		const struct bpf_insn insns[] = {MOV_K(0, 2), STORE_K(BPF_W, 10, -4, keys[n]), MOV_X(2, 10), ALU64_K(BPF_ADD, 2, -4),
			WIDE(1, BPF_WIDE_MAP, 0), CALL(BPF_FN_MAP_LOOKUP), EXIT};
		MAP_NOTE(6, ARRAY_LEN(insns));
		assert_int_equal(run(insns, ARRAY_LEN(insns), notes, 0, 0), 0);
	}
	rig_map_free(rig);
}

static void tail_calls(void **s)
{
	(void)s;
	struct rig_map *rig = rig_map(BPF_MAP_PROG_ARRAY, 4, 4, 4);
	maps[0] = &rig->map;
	uint64_t *entries = (uint64_t *)(void *)rig->map.shared;
	/* counts in the word at the context's `data`, and calls itself: with a frame that would pile up */
	const struct bpf_insn again[] = {MOV_X(6, 1), LOAD(BPF_W, 7, 1, 0), LOAD(BPF_DW, 2, 7, 0), ALU64_K(BPF_ADD, 2, 1),
		STORE(BPF_DW, 7, 2, 0), STORE(BPF_DW, 10, 2, -512), MOV_X(1, 6), WIDE(2, BPF_WIDE_MAP, 0), MOV_K(3, 1),
		CALL(BPF_FN_TAIL_CALL), MOV_K(0, 9), EXIT};
	for (unsigned known = 0; known < 2; known++) {
		struct bpf_note notes[ARRAY_LEN(again)] = {[1] = {BPF_NOTE_CONTEXT, 0}};
		if (known)
			notes[10] = (struct bpf_note){BPF_NOTE_MAP, 0};
		struct executable x = compile(again, ARRAY_LEN(again), notes);
		uint64_t count = 0;
		struct bpf_xdp xdp = {.data = (uint8_t *)&count};
		entries[1] = 0;
		assert_int_equal(call(&x, (uintptr_t)&xdp, 0), 9); /* nobody is there */
		assert_int_equal(count, 1);
		assert_int_equal(xdp.tail_calls, 0);
		entries[1] = (uintptr_t)x.at;
		count = 0;
		assert_int_equal(call(&x, (uintptr_t)&xdp, 0), 9);
		assert_int_equal(count, 1 + BPF_TAIL_CALLS_MAX);
		assert_int_equal(xdp.tail_calls, BPF_TAIL_CALLS_MAX);
		executable_free(&x);
	}
	rig_map_free(rig);
}

static void context(void **s)
{
	(void)s;
	struct bpf_xdp xdp = {.data = (uint8_t *)0x123456789a, .data_end = (uint8_t *)0x2222222222, .data_meta = (uint8_t *)0x3333333333,
	                      .ingress_ifindex = 0xfffffff1, .rx_queue_index = 5, .egress_ifindex = 6};
	static const uint64_t want[] = {0x123456789a, 0x2222222222, 0x3333333333, 0xfffffff1, 5, 6};
	for (unsigned n = 0; n < 6; n++) {
		const struct bpf_insn insns[] = {LOAD(BPF_W, 0, 1, (int16_t)(4 * n)), EXIT};
		const struct bpf_note notes[2] = {{BPF_NOTE_CONTEXT, 0}};
		assert_int_equal(run(insns, 2, notes, (uintptr_t)&xdp, 0), want[n]);
	}
}

/* A 32-bit CMPXCHG that succeeds does not write EAX: R0's upper half must be cleared all the same (RFC 9669 5.3). */
static void compare_and_exchange(void **s)
{
	(void)s;
	uint64_t memory = 0x1111111122222222;
	assert_int_equal(RUN((uintptr_t)&memory, 5, WIDE(0, 0, 0xffffffff22222222), ATOMIC(BPF_W, BPF_CMPXCHG, 1, 2, 0), EXIT), 0x22222222);
	assert_int_equal(memory, 0x1111111100000005);
	assert_int_equal(RUN((uintptr_t)&memory, 6, WIDE(0, 0, 0xffffffff22222222), ATOMIC(BPF_W, BPF_CMPXCHG, 1, 2, 0), EXIT), 5);
	assert_int_equal(memory, 0x1111111100000005);
}

/* The address or the operand may be in the register that CMPXCHG uses. */
static void fetch_loops(void **s)
{
	(void)s;
	uint64_t memory = 0xf0;
	assert_int_equal(RUN((uintptr_t)&memory, 0x3f, MOV_X(0, 1), ATOMIC(BPF_DW, BPF_AND | BPF_FETCH, 0, 2, 0), MOV_X(0, 2), EXIT), 0xf0);
	assert_int_equal(memory, 0x30);
	assert_int_equal(RUN((uintptr_t)&memory, 0x0f, MOV_X(0, 2), ATOMIC(BPF_DW, BPF_OR | BPF_FETCH, 1, 0, 0), EXIT), 0x30);
	assert_int_equal(memory, 0x3f);
	assert_int_equal(RUN((uintptr_t)&memory, 0xff, MOV_K(0, 7), MOV_X(6, 1), ATOMIC(BPF_W, BPF_XOR | BPF_FETCH, 6, 2, 0),
	                     ALU64_X(BPF_ADD, 0, 2), EXIT), 7 + 0x3f);
	assert_int_equal(memory, 0xc0);
}

static void dead_code(void **s)
{
	(void)s;
	const struct bpf_insn insns[] = {MOV_K(0, 3), JUMP(2), MOV_K(0, 4), CALL(999), EXIT};
	const struct bpf_note notes[] = {{0}, {0}, {BPF_NOTE_DEAD, 0}, {BPF_NOTE_DEAD, 0}, {0}};
	struct executable x = compile(insns, 5, notes);
	assert_int_equal(call(&x, 0, 0), 3);
	assert_int_equal(x.at[x.where[2]], 0xcc);
	assert_int_equal(x.at[x.where[3]], 0xcc);
	executable_free(&x);
}

int main(void)
{
	seed_random("test_bpf_compile");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes), cmocka_unit_test(merged_shapes), cmocka_unit_test(merged),
		cmocka_unit_test(refusals), cmocka_unit_test(room), cmocka_unit_test(distances),
		cmocka_unit_test(many_jumps), cmocka_unit_test(helper_calls), cmocka_unit_test(callee_saved),
		cmocka_unit_test(functions), cmocka_unit_test(array_lookups), cmocka_unit_test(overwritten_key),
		cmocka_unit_test(large_key), cmocka_unit_test(partly_overwritten_key), cmocka_unit_test(kept_registers),
		cmocka_unit_test(narrow_comparisons), cmocka_unit_test(divided_by_powers),
		cmocka_unit_test(tail_calls), cmocka_unit_test(context), cmocka_unit_test(compare_and_exchange),
		cmocka_unit_test(fetch_loops), cmocka_unit_test(dead_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
