/*
 * The verifier (bpf/verifier/). The input is a program: instructions as they are, or choices for a
 * generator that begins with a checked packet, a map value and an unknown number, and goes on at random.
 *
 * - Verifying ends within its limits, whatever the program is.
 * - A program that the verifier accepts is run by the interpreter, which checks every access, over packets
 *   and map contents at random: it must never be stopped for anything but its number of steps.
 */
#include "tests/fuzz/input.h"

#include "bpf/insn_text.h"
#include "bpf/interpret.h"
#include "bpf/maps/map.h"
#include "bpf/xdp.h"
#include "tests/unit/rig/bpf_insns.h"

#define INSNS_MAX 400
#define RUNS 6
#define STEPS 200000
#define ROOM 64 /* before and behind a packet */

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

static struct input in;
static uint64_t state; /* for choices that are not the input's: contents */

static uint64_t any64(void)
{
	state = (state + 1) * 0x9e3779b97f4a7c15u;
	return state ^ state >> 29;
}

/* --- programs --- */

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

/* R6 context, R7 the packet, 30 bytes of which are proved, R8 a map value, R9 a number; R1 to R5 numbers. */
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
		PUT(MOV_X(R1, R10), ADD_K(R1, place(R10)), MOV_X(R2, R9), CALL(0x1000));
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
	switch (take8(&in) % 18) {
	case 16: put_copies(); break;
	case 17: put_paths_to_packet(); break;
	case 0: case 1: case 2: case 3: case 4: put_alu(); break;
	case 5: case 6: case 7: put_jump(); break;
	case 8: case 9: case 10: put_memory(); break;
	case 11: case 12: put_variable_access(); break;
	case 13: put_helper(); break;
	case 14: PUT(MOV_X(number(), reg())); break;
	default: PUT(STORE(BPF_DW, R10, (int16_t)(-8 * (1 + take8(&in) % 4)), reg())); break;
	}
}

static void generate(void)
{
	const bool function = take8(&in) & 1;
	put_start();
	const unsigned n = 2 + take8(&in) % 30;
	for (unsigned i = 0; i < n && count < INSNS_MAX - 40; i++)
		put_one();
	PUT(RETURN(2), RETURN(2), RETURN(2));
	const uint32_t start = count;
	PUT(LOAD(sizes[take8(&in) & 3], R3, R1, place(R8)), STORE(sizes[take8(&in) & 3], R1, place(R8), function ? R2 : R3),
	    MOV_X(R0, R3), EXIT);
	for (uint32_t i = 0; i < start; i++)
		if (insns[i].opcode == (BPF_JMP | BPF_CALL) && insns[i].src == BPF_CALL_LOCAL && insns[i].imm == 0x1000)
			insns[i].imm = (int32_t)(start - i - 1);
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

/* --- the machine --- */

static struct bpf_map maps[RIG_MAPS];
static struct bpf_map *map_list[RIG_MAPS];
static bpf_helper helpers[BPF_HELPERS];
static struct bpf_xdp *context;
static uint8_t *shared[RIG_MAPS];

static uint64_t adjust_head(uint64_t c, uint64_t delta, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)c, (void)r3, (void)r4, (void)r5;
	uint8_t *to = context->data + (int32_t)delta;
	if (to < context->start || to + 14 > context->data_end)
		return (uint64_t)-22;
	context->data = context->data_meta = to;
	return 0;
}

static uint64_t adjust_tail(uint64_t c, uint64_t delta, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)c, (void)r3, (void)r4, (void)r5;
	uint8_t *to = context->data_end + (int32_t)delta;
	if (to > context->end || to < context->data + 14)
		return (uint64_t)-22;
	context->data_end = to;
	return 0;
}

static uint64_t random_u32(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return (uint32_t)any64();
}

static bool in_packet(const void *at, size_t bytes, bool write)
{
	(void)write;
	const uint8_t *p = at;
	return p >= context->data_meta && p <= context->data_end && bytes <= (size_t)(context->data_end - p);
}

static void make_maps(void)
{
	static const uint64_t key[2] = {1, 2};
	for (unsigned m = 0; m < RIG_MAPS; m++) {
		uint8_t *own = aligned_alloc(64, 64 + bpf_map_own_bytes(&rig_maps[m], 1));
		shared[m] = aligned_alloc(64, 64 + bpf_map_shared_bytes(&rig_maps[m], 1));
		memset(own, 0, 64 + bpf_map_own_bytes(&rig_maps[m], 1));
		memset(shared[m], 0, 64 + bpf_map_shared_bytes(&rig_maps[m], 1));
		bpf_map_init(&maps[m], &rig_maps[m], shared[m], &own, 1, key);
		map_list[m] = &maps[m];
	}
	bpf_map_helpers(helpers);
	helpers[BPF_FN_XDP_ADJUST_HEAD] = adjust_head;
	helpers[BPF_FN_XDP_ADJUST_TAIL] = adjust_tail;
	helpers[BPF_FN_GET_PRANDOM_U32] = random_u32;
}

static uint64_t content(void)
{
	static const uint64_t some[] = {0, 1, 7, 40, 47, 48, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, UINT64_MAX,
		1ull << 63};
	const uint64_t x = any64();
	return x >> 60 < 10 ? some[(x >> 32) % ARRAY_LEN(some)] : x >> (x & 63);
}

static void print_program(void)
{
	char text[BPF_INSN_TEXT];
	for (uint32_t i = 0; i < count; i++) {
		fprintf(stderr, "%4u  %s\n", i, bpf_insn_text(text, &insns[i]));
		if (bpf_is_wide(&insns[i]))
			i++;
	}
}

static void run(const struct bpf_note *notes)
{
	const struct bpf_program program = {.name = "fuzz", .section = "xdp", .insns = insns, .count = count};
	const struct bpf_env env = {map_list, RIG_MAPS, helpers, BPF_HELPERS, NULL, NULL};
	const size_t bytes = 14 + any64() % 100;
	uint8_t *buffer = malloc(bytes + 2 * ROOM);
	for (size_t i = 0; i < bytes + 2 * ROOM; i++)
		buffer[i] = (uint8_t)content();
	struct bpf_xdp xdp = {.data = buffer + ROOM, .data_end = buffer + ROOM + bytes, .data_meta = buffer + ROOM,
		.ingress_ifindex = 1, .start = buffer, .end = buffer + bytes + 2 * ROOM};
	context = &xdp;
	for (unsigned n = 0; n < 4 * 48 / 8; n++) {
		const uint64_t x = content();
		memcpy(shared[ARRAY48] + 8 * n, &x, 8);
	}
	struct bpf_run r = {.context = &xdp, .steps = STEPS};
	if (!bpf_interpret(&program, notes, &env, (uint64_t)(uintptr_t)&xdp, 0, in_packet, &r) && r.steps) {
		print_program();
		fprintf(stderr, "accepted, but: %s\n", r.why.text);
		abort();
	}
	uint32_t length;
	while (bpf_ring_next(&maps[RING], 0, &length))
		bpf_ring_release(&maps[RING], 0);
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bpf_note notes[ARRAY_LEN(insns)];
	static uint8_t *space;
	if (!space) {
		space = malloc(BPF_VERIFY_MEMORY);
		make_maps();
	}
	in = (struct input){data, size};
	state = size;
	for (size_t i = 0; i < size; i++)
		state = state * 31 + data[i];
	count = 0;
	take8(&in) % 4 ? generate() : as_it_is();

	const struct bpf_program program = {.name = "fuzz", .section = "xdp", .insns = insns, .count = count};
	const struct bpf_limits limits = {20000, 4000};
	struct bpf_memory memory = {space, space + (24u << 20)};
	struct bpf_verdict verdict;
	bpf_verify(&program, rig_maps, RIG_MAPS, BPF_CONTEXT_XDP, 0, limits, &memory, notes, &verdict);
	if (!verdict.ok) {
		assert(verdict.why.text[0]);
		assert(!strstr(verdict.why.text, "internal error"));
		return 0;
	}
	for (unsigned n = 0; n < RUNS; n++)
		run(notes);
	return 0;
}
