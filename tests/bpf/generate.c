/*
 * Random programs that are valid by construction, so that most of them pass any verifier: every register is
 * set before it is read, every access is inside of what has been checked, every loop has a count.
 *
 * A program is a list of random statements:
 *   arithmetic of all kinds, stack, packet, metadata, maps, ring buffer, atomic instructions, helpers, a branch
 *   with one or two sides, a loop, a call of a function of the program, a tail call
 *
 * R6 is the context, R7 a pointer within a statement, R9 the count of a loop. All others, and R9 outside of
 * loops, are numbers. At the end all numbers, and some of the stack, are mixed into R0: what any
 * instruction did wrong shows in the result, in the packet or in a map.
 */
#include <string.h>

#include "bpf/helpers.h"
#include "bpf/xdp.h"
#include "tests/bpf/generate.h"

#define SLOTS 16        /* of 8 bytes at the end of the stack, always initialised */
#define FUNCTION_SLOTS 6
#define KEY_AT (-8 * (SLOTS + 1))
#define VALUE_AT (-8 * (SLOTS + 3))
#define FUNCTIONS 2

const struct bpf_map_def generated_maps[GENERATED_MAPS] = {
	[GENERATED_ARRAY] = {.name = "array", .type = BPF_MAP_ARRAY, .key_bytes = 4, .value_bytes = 32, .entries = 4},
	[GENERATED_HASH] = {.name = "hash", .type = BPF_MAP_HASH, .key_bytes = 8, .value_bytes = 16, .entries = 8},
	[GENERATED_PER_CPU] = {.name = "per_cpu", .type = BPF_MAP_PERCPU_ARRAY, .key_bytes = 4, .value_bytes = 24, .entries = 3},
	/* never full: what is evicted then is each system's own affair, and Linux' CPUs take free entries in bulk */
	[GENERATED_LRU] = {.name = "lru", .type = BPF_MAP_LRU_HASH, .key_bytes = 8, .value_bytes = 16, .entries = 4096},
	[GENERATED_PER_CPU_HASH] = {.name = "per_cpu_hash", .type = BPF_MAP_PERCPU_HASH, .key_bytes = 8, .value_bytes = 16, .entries = 8},
	[GENERATED_LPM] = {.name = "lpm", .type = BPF_MAP_LPM_TRIE, .key_bytes = 8, .value_bytes = 16, .entries = 20,
	                   .flags = BPF_F_NO_PREALLOC},
	[GENERATED_RING] = {.name = "ring", .type = BPF_MAP_RINGBUF, .entries = 4096},
	[GENERATED_PROGS] = {.name = "progs", .type = BPF_MAP_PROG_ARRAY, .key_bytes = 4, .value_bytes = 4, .entries = 4},
};

struct state {
	struct generated *g;
	struct random *r;
	const struct generate_for *kernel;
	bool has_context;
	uint16_t numbers;   /* bit r: register r is a number */
	uint16_t locked;    /* must not be written */
	int slots;
	unsigned branches;  /* that may still be made: paths double with each */
	int function;       /* -1: the program itself */
	uint32_t calls[64], call_count; /* to be set when functions are placed: insn << 8 | function */
};

uint64_t random_next(struct random *r)
{
	r->state += 0x9e3779b97f4a7c15; /* splitmix64 */
	uint64_t z = r->state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

uint32_t random_below(struct random *r, uint32_t n)
{
	return (uint32_t)((random_next(r) >> 32) * n >> 32);
}

static uint32_t below(struct state *s, uint32_t n)
{
	return random_below(s->r, n);
}

/* --- instructions --- */

static uint32_t emit(struct state *s, unsigned opcode, unsigned dst, unsigned src, int offset, int32_t imm)
{
	struct generated *g = s->g;
	if (g->count == GENERATED_MAX)
		__builtin_trap();
	g->insns[g->count] = (struct bpf_insn){(uint8_t)opcode, dst & 15u, src & 15u, (int16_t)offset, imm};
	g->notes[g->count] = (struct bpf_note){BPF_NOTE_NONE, 0};
	return g->count++;
}

static void set(struct state *s, unsigned r)
{
	s->numbers |= (uint16_t)(1u << r);
}

static void move_imm(struct state *s, unsigned dst, int32_t imm)
{
	emit(s, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

static void move(struct state *s, unsigned dst, unsigned src)
{
	emit(s, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void add_imm(struct state *s, unsigned dst, int32_t imm)
{
	emit(s, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, imm);
}

static void wide(struct state *s, unsigned dst, unsigned src, uint64_t v)
{
	emit(s, BPF_LD | BPF_IMM | BPF_DW, dst, src, 0, (int32_t)v);
	emit(s, 0, 0, 0, 0, (int32_t)(v >> 32));
}

/* The jump at `at` leads to what comes next. */
static void lands(struct state *s, uint32_t at)
{
	struct bpf_insn *i = &s->g->insns[at];
	const uint32_t distance = s->g->count - at - 1;
	if (i->opcode == (BPF_JMP32 | BPF_JA))
		i->imm = (int32_t)distance;
	else
		i->offset = (int16_t)distance;
}

static uint32_t jump_always(struct state *s)
{
	const bool is_long = s->kernel->v4 && below(s, 4) == 0;
	return emit(s, is_long ? BPF_JMP32 | BPF_JA : BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

/* --- numbers --- */

static int32_t number(struct state *s)
{
	static const int32_t special[] = {0, 1, -1, 2, 7, 8, 31, 32, 127, 128, -128, -129, 255, 256, 65535, 65536,
	                                  0x7fffffff, -0x7fffffff - 1, 0x7ffffffe, 10, 100, -2};
	if (below(s, 3) == 0)
		return (int32_t)random_next(s->r);
	return special[below(s, sizeof special / sizeof special[0])];
}

static const uint8_t scalars[] = {0, 1, 2, 3, 4, 5, 8, 9};

/* A register that may be written. */
static unsigned writable(struct state *s)
{
	for (;;) {
		const unsigned r = scalars[below(s, sizeof scalars)];
		if (!(s->locked >> r & 1))
			return r;
	}
}

static void make_number(struct state *s, unsigned r)
{
	switch (below(s, 3)) {
	case 0: wide(s, r, BPF_WIDE_NUMBER, random_next(s->r)); break;
	case 1: emit(s, BPF_ALU | BPF_MOV | BPF_K, r, 0, 0, number(s)); break;
	default: move_imm(s, r, number(s)); break;
	}
	set(s, r);
}

/* A register that is a number and may be written. */
static unsigned operand(struct state *s)
{
	const unsigned r = writable(s);
	if (!(s->numbers >> r & 1))
		make_number(s, r);
	return r;
}

static unsigned source(struct state *s)
{
	for (unsigned tries = 0; tries < 8; tries++) {
		const unsigned r = scalars[below(s, sizeof scalars)];
		if (s->numbers >> r & 1)
			return r;
	}
	return operand(s);
}

/* A new number from 0 to mask in a register of its own; `not` is not taken. */
static unsigned masked(struct state *s, int32_t mask, uint16_t not)
{
	const unsigned from = source(s);
	unsigned r;
	do
		r = writable(s);
	while (not >> r & 1);
	if (r != from)
		move(s, r, from);
	emit(s, BPF_ALU64 | BPF_AND | BPF_K, r, 0, 0, mask);
	set(s, r);
	return r;
}

/* --- statements --- */

static void arithmetic(struct state *s)
{
	static const uint8_t ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_LSH, BPF_RSH, BPF_NEG,
	                              BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH, BPF_END};
	const unsigned op = ops[below(s, sizeof ops)], class = below(s, 2) ? BPF_ALU64 : BPF_ALU;
	const int width = class == BPF_ALU64 ? 64 : 32;
	const unsigned src = source(s), dst = operand(s);
	if (op == BPF_NEG) {
		emit(s, class | op, dst, 0, 0, 0);
		return;
	}
	if (op == BPF_END) {
		static const int bits[] = {16, 32, 64};
		const unsigned swap = s->kernel->v4 && below(s, 3) == 0 ? BPF_ALU64 : BPF_ALU | (below(s, 2) ? BPF_X : BPF_K);
		emit(s, swap | op, dst, 0, 0, bits[below(s, 3)]);
		return;
	}
	const bool divides = op == BPF_DIV || op == BPF_MOD;
	int offset = divides && s->kernel->v4 && below(s, 2) ? 1 : 0;
	if (below(s, 2)) {
		if (op == BPF_MOV && s->kernel->v4 && below(s, 2))
			offset = 8 << below(s, class == BPF_ALU64 ? 3 : 2);
		emit(s, class | op | BPF_X, dst, src, offset, 0);
		return;
	}
	int32_t imm = number(s);
	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		imm = (int32_t)below(s, (uint32_t)width);
	if (divides && imm == 0)
		imm = 3;
	emit(s, class | op | BPF_K, dst, 0, offset, imm);
}

/* Sequences that a compiler treats as one. */
static void idiom(struct state *s)
{
	const unsigned src = source(s), other = source(s), dst = operand(s);
	static const int shifts[] = {32, 48, 56, 24};
	const int shift = shifts[below(s, 4)];
	switch (below(s, 4)) {
	case 0:
		move(s, dst, src);
		add_imm(s, dst, number(s));
		break;
	case 1:
		move(s, dst, src);
		emit(s, BPF_ALU64 | BPF_ADD | BPF_X, dst, other, 0, 0);
		break;
	default:
		emit(s, BPF_ALU64 | BPF_LSH | BPF_K, dst, 0, 0, shift);
		emit(s, BPF_ALU64 | (below(s, 2) ? BPF_RSH : BPF_ARSH) | BPF_K, dst, 0, 0, shift);
	}
}

static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};

/* Loads or stores of one to eight bytes at reg + an offset below `bytes`. */
static void access(struct state *s, unsigned reg, int from, int bytes, bool aligned)
{
	const unsigned log2 = below(s, 4), size = sizes[log2];
	const int width = 1 << log2;
	if (width > bytes)
		return;
	int at = (int)below(s, (uint32_t)(bytes - width + 1));
	if (aligned)
		at &= ~(width - 1);
	at += from;
	switch (below(s, 4)) {
	case 0: emit(s, BPF_ST | BPF_MEM | size, reg, 0, at, number(s)); break;
	case 1: emit(s, BPF_STX | BPF_MEM | size, reg, source(s), at, 0); break;
	default: {
		const unsigned dst = writable(s);
		const bool sign = s->kernel->v4 && size != BPF_DW && below(s, 3) == 0;
		if (dst == reg)
			return;
		emit(s, BPF_LDX | (sign ? BPF_MEMSX : BPF_MEM) | size, dst, reg, at, 0);
		set(s, dst);
	}
	}
}

/* --- bytes that a compiler moves as words; now and then one is wrong, and must be moved alone --- */

/* Of 64 bits or of 32. */
static unsigned class_of(struct state *s)
{
	return below(s, 2) ? BPF_ALU64 : BPF_ALU;
}

static int wrong(struct state *s)
{
	return below(s, 24) == 0 ? (int)below(s, 3) - 1 : 0;
}

/* A number register that is not in `not`; -1: none was found. */
static int spare(struct state *s, uint16_t not)
{
	for (unsigned tries = 0; tries < 8; tries++) {
		const unsigned r = writable(s);
		if (!(not >> r & 1))
			return (int)r;
	}
	return -1;
}

static void byte_load(struct state *s, unsigned dst, unsigned reg, int at)
{
	emit(s, BPF_LDX | BPF_MEM | BPF_B, dst, reg, at, 0);
	set(s, dst);
}

/* Two bytes that are a word, in `high`. */
static void word(struct state *s, unsigned reg, int at, unsigned high, unsigned low)
{
	const bool first = below(s, 2);
	if (first)
		byte_load(s, low, reg, at);
	byte_load(s, high, reg, at + 1);
	emit(s, class_of(s) | BPF_LSH | BPF_K, high, 0, 0, below(s, 32) ? 8 : 16);
	if (!first)
		byte_load(s, low, reg, at);
	emit(s, class_of(s) | BPF_OR | BPF_X, high, low, 0, 0);
}

/* One word, or two that are a double word. */
static void words(struct state *s, unsigned reg, int from, int bytes)
{
	if (bytes < 5)
		return;
	const int at = from + (int)below(s, (uint32_t)(bytes - 4));
	const uint16_t base = (uint16_t)(1u << reg);
	const int one = spare(s, base), two = spare(s, base | (uint16_t)(1 << one)), temp = spare(s, base);
	if (one < 0 || two < 0 || temp < 0 || temp == one)
		return;
	if (below(s, 3) == 0) {
		word(s, reg, at, (unsigned)one, (unsigned)temp);
		return;
	}
	const int other = below(s, 2) ? spare(s, base | (uint16_t)(1 << two)) : temp;
	if (other < 0 || other == two)
		return;
	const bool high_first = below(s, 2);
	word(s, reg, at + (high_first ? 2 : 0), (unsigned)one, (unsigned)temp);
	const unsigned high = (unsigned)(high_first ? one : two);
	if (high_first)
		emit(s, class_of(s) | BPF_LSH | BPF_K, high, 0, 0, 16);
	word(s, reg, at + (high_first ? 0 : 2) + (below(s, 24) == 0), (unsigned)two, (unsigned)other);
	if (!high_first)
		emit(s, class_of(s) | BPF_LSH | BPF_K, high, 0, 0, 16);
	emit(s, class_of(s) | BPF_OR | BPF_X, high, (unsigned)(high_first ? two : one), 0, 0);
}

/* The numbers from 0 to n - 1. */
static void shuffle(struct state *s, uint8_t *order, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		order[k] = (uint8_t)k;
	for (unsigned k = n; k > 1; k--) {
		const unsigned other = below(s, k);
		const uint8_t kept = order[k - 1];
		order[k - 1] = order[other];
		order[other] = kept;
	}
}

/* Copies some bytes to others, which may overlap. */
static void copy(struct state *s, unsigned reg, int from, int bytes)
{
	const unsigned n = 2 + below(s, 7);
	uint8_t order[8];
	if (bytes < (int)n + 2)
		return;
	const int at = from + 1 + (int)below(s, (uint32_t)bytes - n - 1), to = from + 1 + (int)below(s, (uint32_t)bytes - n - 1);
	const bool one_register = below(s, 2);
	int r = spare(s, (uint16_t)(1u << reg));
	shuffle(s, order, n);
	for (unsigned k = 0; k < n && r >= 0; k++) {
		byte_load(s, (unsigned)r, reg, at + order[k] + wrong(s));
		emit(s, BPF_STX | BPF_MEM | BPF_B, reg, (unsigned)r, to + order[k] + wrong(s), 0);
		if (!one_register)
			r = spare(s, (uint16_t)(1u << reg));
	}
}

/* Stores a number byte by byte: shifted in its register in ascending order, or in copies in any order. */
static void split(struct state *s, unsigned reg, int from, int bytes)
{
	const unsigned n = 2u << below(s, 3), value = source(s);
	uint8_t order[8];
	if (bytes < (int)n + 2 || value == reg)
		return;
	const int at = from + 1 + (int)below(s, (uint32_t)bytes - n - 1);
	const bool in_place = below(s, 2) && !(s->locked >> value & 1);
	const unsigned class = class_of(s);
	int32_t shifted = 0;
	if (below(s, 2) && in_place) /* its upper half is 0, as far as a compiler knows */
		emit(s, BPF_ALU | BPF_RSH | BPF_K, value, 0, 0, 8);
	shuffle(s, order, n);
	for (unsigned k = 0; k < n; k++) {
		const unsigned byte = in_place ? k : order[k];
		const int32_t shift = 8 * (int32_t)byte - shifted + (below(s, 40) == 0);
		unsigned r = value;
		if (!in_place || below(s, 2)) {
			const int copy_in = spare(s, (uint16_t)(1u << reg | 1u << value));
			if (copy_in < 0)
				return;
			r = (unsigned)copy_in;
			emit(s, class | BPF_MOV | BPF_X, r, value, 0, 0);
			set(s, r);
		} else {
			shifted += shift;
		}
		if (shift && !(r == value && shift < 0))
			emit(s, class | BPF_RSH | BPF_K, r, 0, 0, shift & (class == BPF_ALU64 ? 63 : 31));
		emit(s, BPF_STX | BPF_MEM | BPF_B, reg, r, at + (int)byte + wrong(s), 0);
	}
}

static void bytewise(struct state *s, unsigned reg, int from, int bytes)
{
	switch (below(s, 3)) {
	case 0: words(s, reg, from, bytes); break;
	case 1: copy(s, reg, from, bytes); break;
	default: split(s, reg, from, bytes); break;
	}
}

static void stack(struct state *s)
{
	if (below(s, 4) == 0)
		bytewise(s, BPF_R10, -8 * s->slots, 8 * s->slots);
	else
		access(s, BPF_R10, -8 * s->slots, 8 * s->slots, true);
}

static void atomic_at(struct state *s, unsigned reg, int from, int bytes)
{
	static const int32_t ops[] = {BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_ADD | BPF_FETCH, BPF_OR | BPF_FETCH,
	                              BPF_AND | BPF_FETCH, BPF_XOR | BPF_FETCH, BPF_XCHG, BPF_CMPXCHG};
	const int32_t op = ops[below(s, sizeof ops / sizeof ops[0])];
	const unsigned size = below(s, 2) ? BPF_DW : BPF_W;
	const int width = size == BPF_DW ? 8 : 4;
	const int at = from + ((int)below(s, (uint32_t)(bytes - width + 1)) & ~(width - 1));
	const unsigned src = operand(s);
	if (src == reg || (op == BPF_CMPXCHG && (reg == BPF_R0 || (s->locked & 1))))
		return;
	if (op == BPF_CMPXCHG && !(s->numbers & 1))
		make_number(s, BPF_R0);
	/* Without a fetch Linux forgets what it knew about the slot, so that the value fetched next is unknown. */
	if (reg == BPF_R10 && (op & BPF_FETCH) && !s->kernel->fetch_is_load)
		emit(s, BPF_STX | BPF_ATOMIC | size, reg, src, at, BPF_XOR);
	emit(s, BPF_STX | BPF_ATOMIC | size, reg, src, at, op);
	if (op == BPF_CMPXCHG && size == BPF_W && !s->kernel->cmpxchg_extends)
		emit(s, BPF_ALU | BPF_MOV | BPF_X, BPF_R0, BPF_R0, 0, 0);
}

static void load_context(struct state *s, unsigned dst, int field)
{
	const uint32_t at = emit(s, BPF_LDX | BPF_MEM | BPF_W, dst, BPF_R6, field, 0);
	s->g->notes[at].kind = BPF_NOTE_CONTEXT;
}

/* Jumps if R `past` is behind R `end`, in one of the forms that compilers make; returns the jump. */
static uint32_t jump_if_past(struct state *s, unsigned past, unsigned end)
{
	switch (below(s, 3)) {
	case 0: return emit(s, BPF_JMP | BPF_JGT | BPF_X, past, end, 0, 0);
	case 1: return emit(s, BPF_JMP | BPF_JLT | BPF_X, end, past, 0, 0);
	default:
		emit(s, BPF_JMP | BPF_JLE | BPF_X, past, end, 1, 0);
		return jump_always(s);
	}
}

/* Accesses the first bytes of the packet, or of its metadata, if there are so many. */
static void packet(struct state *s)
{
	const bool meta = below(s, 6) == 0;
	const int bytes = 1 + (int)below(s, meta ? 8 : 64);
	const uint16_t before = s->numbers;
	unsigned past, end;
	do
		past = writable(s), end = writable(s);
	while (past == end);
	const bool variable = !meta && below(s, 3) == 0;
	const unsigned index = variable ? masked(s, 15, (uint16_t)(1u << past | 1u << end)) : 0;
	const uint16_t after = variable ? before | (uint16_t)(1u << index) : before;
	load_context(s, BPF_R7, meta ? XDP_MD_DATA_META : XDP_MD_DATA);
	load_context(s, end, meta ? XDP_MD_DATA : XDP_MD_DATA_END);
	if (variable)
		emit(s, BPF_ALU64 | BPF_ADD | BPF_X, BPF_R7, index, 0, 0);
	move(s, past, BPF_R7);
	add_imm(s, past, bytes);
	const uint32_t skip = jump_if_past(s, past, end);
	s->numbers &= (uint16_t)~(1u << past | 1u << end);
	const uint16_t locked = s->locked;
	s->locked |= (uint16_t)(1u << past | 1u << end);
	for (unsigned n = 1 + below(s, 4); n > 0; n--) {
		if (below(s, 4) == 0)
			bytewise(s, BPF_R7, 0, bytes);
		else
			access(s, BPF_R7, 0, bytes, false);
	}
	s->locked = locked;
	lands(s, skip);
	s->numbers &= after;
	make_number(s, past);
	make_number(s, end);
}

/* --- helpers --- */

static uint32_t call(struct state *s, int32_t id)
{
	const uint32_t at = emit(s, BPF_JMP | BPF_CALL, 0, BPF_CALL_HELPER, 0, id);
	s->numbers &= (uint16_t)~0x3e;
	set(s, BPF_R0);
	return at;
}

static void call_with_map(struct state *s, int32_t id, unsigned map)
{
	wide(s, BPF_R1, BPF_WIDE_MAP, map);
	const uint32_t at = call(s, id);
	s->g->notes[at] = (struct bpf_note){BPF_NOTE_MAP, (uint8_t)map};
}

static void point(struct state *s, unsigned r, int at)
{
	move(s, r, BPF_R10);
	add_imm(s, r, at);
}

static bool is_array(unsigned map)
{
	return map == GENERATED_ARRAY || map == GENERATED_PER_CPU;
}

static void put_number(struct state *s, unsigned size, int at, int32_t mask)
{
	if (below(s, 3) == 0)
		emit(s, BPF_ST | BPF_MEM | size, BPF_R10, 0, at, (int32_t)random_next(s->r) & mask);
	else
		emit(s, BPF_STX | BPF_MEM | size, BPF_R10, masked(s, mask, 0), at, 0);
}

/* R2 = the address of a key. */
static void put_key(struct state *s, unsigned map)
{
	if (map == GENERATED_LPM) {
		put_number(s, BPF_W, KEY_AT, 0x38);           /* 0, 8, up to 56 bits: beyond 32 there are none */
		put_number(s, BPF_W, KEY_AT + 4, 0x01010101); /* 16 addresses */
	} else {
		const int32_t index = below(s, 8) ? 7 : -1; /* of an array; seldom any number */
		put_number(s, is_array(map) ? BPF_W : BPF_DW, KEY_AT, is_array(map) ? index : GENERATED_KEYS - 1);
	}
	point(s, BPF_R2, KEY_AT);
}

/* A map with values. */
static unsigned any_map(struct state *s)
{
	static const uint8_t maps[] = {GENERATED_ARRAY, GENERATED_ARRAY, GENERATED_HASH, GENERATED_HASH, GENERATED_PER_CPU,
	                               GENERATED_LRU, GENERATED_PER_CPU_HASH, GENERATED_LPM};
	return maps[below(s, s->kernel->tries ? 8 : 7)];
}

/* Jumps if R0, a pointer, is null; returns the jump. */
static uint32_t jump_if_null(struct state *s)
{
	if (below(s, 3))
		return emit(s, BPF_JMP | BPF_JEQ | BPF_K, BPF_R0, 0, 0, 0);
	emit(s, BPF_JMP | BPF_JNE | BPF_K, BPF_R0, 0, 1, 0);
	return jump_always(s);
}

/* Looks up and, if there is a value, works on it. */
static void lookup(struct state *s)
{
	const unsigned map = any_map(s);
	const int bytes = (int)generated_maps[map].value_bytes;
	put_key(s, map);
	call_with_map(s, BPF_FN_MAP_LOOKUP, map);
	s->numbers &= (uint16_t)~1;
	const uint16_t before = s->numbers, locked = s->locked;
	const uint32_t skip = jump_if_null(s);
	s->locked |= 1;
	int rest = bytes;
	if (below(s, 3) == 0) {
		const unsigned index = masked(s, 7, 0);
		emit(s, BPF_ALU64 | BPF_ADD | BPF_X, BPF_R0, index, 0, 0);
		rest -= 7;
	}
	for (unsigned n = 1 + below(s, 3); n > 0; n--) {
		if (rest == bytes && below(s, 3) == 0)
			atomic_at(s, BPF_R0, 0, bytes);
		else if (below(s, 6) == 0)
			bytewise(s, BPF_R0, 0, rest);
		else
			access(s, BPF_R0, 0, rest, false);
	}
	s->locked = locked;
	lands(s, skip);
	s->numbers &= before;
	make_number(s, BPF_R0);
}

static void update(struct state *s)
{
	const unsigned map = any_map(s);
	for (int n = 0; n < (is_array(map) ? 0 : 2); n++)
		emit(s, BPF_STX | BPF_MEM | BPF_DW, BPF_R10, source(s), VALUE_AT + 8 * n, 0);
	put_key(s, map);
	point(s, BPF_R3, is_array(map) ? -8 * s->slots : VALUE_AT);
	move_imm(s, BPF_R4, (int32_t)below(s, 4)); /* 3: there is no such flag */
	call_with_map(s, BPF_FN_MAP_UPDATE, map);
}

static void delete(struct state *s)
{
	const unsigned map = any_map(s);
	put_key(s, map);
	call_with_map(s, BPF_FN_MAP_DELETE, map);
}

/* A record of the stack's bytes. */
static void ring_output(struct state *s)
{
	point(s, BPF_R2, -8 * s->slots);
	move_imm(s, BPF_R3, (int32_t)below(s, 8 * (uint32_t)s->slots + 1));
	move_imm(s, BPF_R4, below(s, 4) ? 0 : (int32_t)below(s, 6)); /* 4 and 5: no such flags */
	call_with_map(s, BPF_FN_RINGBUF_OUTPUT, GENERATED_RING);
}

/* A record that is reserved, filled, and submitted or discarded. */
static void ring_reserve(struct state *s)
{
	static const int32_t words[] = {1, 2, 5, 8, 24};
	const int32_t bytes = 8 * words[below(s, 5)];
	const bool large = below(s, 6) == 0; /* these fill the ring in loops */
	move_imm(s, BPF_R2, large ? bytes + 600 : bytes);
	move_imm(s, BPF_R3, below(s, 16) == 0); /* no flags are defined */
	call_with_map(s, BPF_FN_RINGBUF_RESERVE, GENERATED_RING);
	s->numbers &= (uint16_t)~1;
	const uint16_t before = s->numbers, locked = s->locked;
	const uint32_t skip = jump_if_null(s);
	s->locked |= 1;
	const unsigned value = source(s);
	for (int32_t at = 0; at < bytes && !large; at += 8)
		emit(s, BPF_STX | BPF_MEM | BPF_DW, BPF_R0, value, at, 0);
	for (unsigned n = large ? 0 : below(s, 4); n > 0; n--)
		access(s, BPF_R0, 0, bytes, false);
	s->locked = locked;
	move(s, BPF_R1, BPF_R0);
	move_imm(s, BPF_R2, 0);
	call(s, large || below(s, 3) == 0 ? BPF_FN_RINGBUF_DISCARD : BPF_FN_RINGBUF_SUBMIT);
	lands(s, skip);
	s->numbers &= before & (uint16_t)~0x3f;
	make_number(s, BPF_R0);
}

/* To a program that exists, to this one, or to none: then it goes on. */
static void tail_call(struct state *s)
{
	const bool any = s->kernel->empty_is_free;
	const unsigned index = any && below(s, 2) ? masked(s, 3, 1 << BPF_R1 | 1 << BPF_R2) : 0;
	if (index)
		move(s, BPF_R3, index);
	else
		move_imm(s, BPF_R3, any ? (int32_t)below(s, 6) : SLOT_ITSELF);
	move(s, BPF_R1, BPF_R6);
	wide(s, BPF_R2, BPF_WIDE_MAP, GENERATED_PROGS);
	const uint32_t at = call(s, BPF_FN_TAIL_CALL);
	s->g->notes[at] = (struct bpf_note){BPF_NOTE_MAP, GENERATED_PROGS};
	s->numbers &= (uint16_t)~1;
	make_number(s, BPF_R0);
	s->g->tail_calls = true;
}

static void csum_diff(struct state *s)
{
	const unsigned seed = source(s);
	if (seed != BPF_R5)
		move(s, BPF_R5, seed);
	for (unsigned r = BPF_R1; r <= BPF_R3; r += 2) {
		const int words = (int)below(s, 7);
		if (words)
			point(s, r, -8 * s->slots + 8 * (int)below(s, 3));
		else
			move_imm(s, r, 0);
		move_imm(s, r + 1, 4 * words);
	}
	call(s, BPF_FN_CSUM_DIFF);
}

static void adjust(struct state *s)
{
	static const int32_t ids[] = {BPF_FN_XDP_ADJUST_HEAD, BPF_FN_XDP_ADJUST_META, BPF_FN_XDP_ADJUST_TAIL};
	static const int32_t by[] = {0, 4, -4, 8, -8, -32, 14, -14, 20, -40, 300, -300, 3};
	move(s, BPF_R1, BPF_R6);
	move_imm(s, BPF_R2, by[below(s, sizeof by / sizeof by[0])]);
	call(s, ids[below(s, 3)]);
}

static void copy_bytes(struct state *s)
{
	const unsigned at = masked(s, 63, 0);
	if (at != BPF_R2)
		move(s, BPF_R2, at);
	move(s, BPF_R1, BPF_R6);
	point(s, BPF_R3, -8 * s->slots + 8 * (int)below(s, 4));
	move_imm(s, BPF_R4, 1 + (int32_t)below(s, 16));
	call(s, below(s, 2) ? BPF_FN_XDP_LOAD_BYTES : BPF_FN_XDP_STORE_BYTES);
}

static void call_function(struct state *s)
{
	const int callee = s->function + 1 + (int)below(s, (uint32_t)(FUNCTIONS - 1 - s->function));
	for (unsigned r = BPF_R1; r <= BPF_R2; r++)
		if (!(s->numbers >> r & 1))
			make_number(s, r);
	const uint32_t at = emit(s, BPF_JMP | BPF_CALL, 0, BPF_CALL_LOCAL, 0, 0);
	s->calls[s->call_count++] = at << 8 | (uint32_t)callee;
	s->numbers &= (uint16_t)~0x3e;
	set(s, BPF_R0);
}

/* --- control flow --- */

static void statement(struct state *s, bool plain);

static void statements(struct state *s, unsigned n, bool plain)
{
	while (n-- > 0)
		statement(s, plain);
}

static uint32_t jump_if(struct state *s)
{
	static const uint8_t ops[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT, BPF_JSGE, BPF_JLT, BPF_JLE,
	                              BPF_JSLT, BPF_JSLE};
	const unsigned op = ops[below(s, sizeof ops)], class = below(s, 2) ? BPF_JMP : BPF_JMP32;
	const unsigned dst = source(s);
	if (below(s, 2))
		return emit(s, class | op | BPF_X, dst, source(s), 0, 0);
	return emit(s, class | op | BPF_K, dst, 0, 0, number(s));
}

static void branch(struct state *s)
{
	s->branches--;
	const uint32_t skip = jump_if(s);
	const uint16_t before = s->numbers;
	statements(s, 1 + below(s, 3), false);
	if (below(s, 2)) {
		lands(s, skip);
		s->numbers &= before;
		return;
	}
	const uint16_t one = s->numbers;
	const uint32_t end = jump_always(s);
	lands(s, skip);
	s->numbers = before;
	statements(s, 1 + below(s, 3), false);
	lands(s, end);
	s->numbers &= one;
}

static void loop(struct state *s)
{
	if (s->locked >> BPF_R9 & 1)
		return;
	move_imm(s, BPF_R9, 1 + (int32_t)below(s, 4));
	s->numbers &= (uint16_t)~(1u << BPF_R9);
	s->locked |= 1u << BPF_R9;
	const uint32_t top = s->g->count;
	const uint16_t at_top = s->numbers;
	statements(s, 1 + below(s, 2), true);
	for (unsigned r = 0; r < 10; r++)
		if ((at_top & ~s->numbers) >> r & 1)
			make_number(s, r);
	add_imm(s, BPF_R9, -1);
	const uint32_t back = emit(s, BPF_JMP | BPF_JNE | BPF_K, BPF_R9, 0, 0, 0);
	s->g->insns[back].offset = (int16_t)((int32_t)top - (int32_t)back - 1);
	s->locked &= (uint16_t)~(1u << BPF_R9);
	set(s, BPF_R9);
}

static void with_context(struct state *s)
{
	if (!s->has_context) {
		arithmetic(s);
		return;
	}
	switch (below(s, 9)) {
	case 0: adjust(s); break;
	case 3: tail_call(s); break;
	case 1: copy_bytes(s); break;
	case 2: {
		const unsigned dst = writable(s);
		load_context(s, dst, XDP_MD_RX_QUEUE_INDEX);
		set(s, dst);
		break;
	}
	default: packet(s); break;
	}
}

/* plain: without branches, loops and calls of functions. */
static void statement(struct state *s, bool plain)
{
	switch (below(s, 26)) {
	case 0: case 1: stack(s); break;
	case 2: atomic_at(s, BPF_R10, -8 * s->slots, 8 * s->slots); break;
	case 3: case 4: idiom(s); break;
	case 5: lookup(s); break;
	case 6: update(s); break;
	case 7: delete(s); break;
	case 8:
		if (s->kernel->csum)
			csum_diff(s);
		break;
	case 9: case 10: case 11: with_context(s); break;
	case 12: case 13:
		if (!plain && s->branches)
			branch(s);
		break;
	case 14:
		if (!plain)
			loop(s);
		break;
	case 15:
		if (!plain && s->function < FUNCTIONS - 1 && s->call_count < 8)
			call_function(s);
		break;
	case 16: ring_output(s); break;
	case 17: ring_reserve(s); break;
	default: arithmetic(s); break;
	}
}

/* --- whole programs --- */

static void begin(struct state *s, int slots)
{
	s->slots = slots;
	const unsigned r = operand(s);
	for (int n = 1; n <= slots; n++) {
		if (below(s, 3) == 0)
			make_number(s, r);
		emit(s, BPF_STX | BPF_MEM | BPF_DW, BPF_R10, r, -8 * n, 0);
	}
	/* The bytes behind them are the key's and the value's. */
	for (int n = slots + 1; n <= SLOTS + 3; n++)
		emit(s, BPF_ST | BPF_MEM | BPF_DW, BPF_R10, 0, -8 * n, n);
}

/* R0 = a mixture of all that there is. */
static void end(struct state *s)
{
	if (!(s->numbers & 1))
		move_imm(s, BPF_R0, 0);
	for (unsigned n = 1; n < sizeof scalars; n++) {
		emit(s, BPF_ALU64 | BPF_MUL | BPF_K, BPF_R0, 0, 0, 0x5bd1e995);
		if (s->numbers >> scalars[n] & 1)
			emit(s, BPF_ALU64 | BPF_XOR | BPF_X, BPF_R0, scalars[n], 0, 0);
	}
	for (int n = 1; n <= s->slots; n++) {
		emit(s, BPF_LDX | BPF_MEM | BPF_DW, BPF_R1, BPF_R10, -8 * n, 0);
		emit(s, BPF_ALU64 | BPF_MUL | BPF_K, BPF_R0, 0, 0, 0x5bd1e995);
		emit(s, BPF_ALU64 | BPF_XOR | BPF_X, BPF_R0, BPF_R1, 0, 0);
	}
	move(s, BPF_R1, BPF_R0);
	emit(s, BPF_ALU64 | BPF_RSH | BPF_K, BPF_R1, 0, 0, 32);
	emit(s, BPF_ALU64 | BPF_XOR | BPF_X, BPF_R0, BPF_R1, 0, 0);
	emit(s, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void generate(struct generated *g, struct random *r, const struct generate_for *kernel)
{
	struct state s = {.g = g, .r = r, .kernel = kernel, .has_context = true, .branches = 7, .function = -1};
	g->count = 0;
	g->tail_calls = false;
	move(&s, BPF_R6, BPF_R1);
	for (unsigned n = 0; n < sizeof scalars; n++)
		if (below(&s, 4))
			make_number(&s, scalars[n]);
	begin(&s, SLOTS);
	statements(&s, 4 + below(&s, 28), false);
	end(&s);
	uint32_t entries[FUNCTIONS];
	bool called[FUNCTIONS] = {0};
	for (s.function = 0; s.function < FUNCTIONS; s.function++) {
		for (uint32_t n = 0; n < s.call_count; n++)
			called[s.function] |= (int)(s.calls[n] & 0xff) == s.function;
		entries[s.function] = g->count;
		if (!called[s.function])
			continue; /* verifiers refuse what nobody calls */
		s.has_context = false;
		s.numbers = 1 << BPF_R1 | 1 << BPF_R2;
		s.branches = 1;
		begin(&s, FUNCTION_SLOTS);
		statements(&s, 1 + below(&s, 6), false);
		end(&s);
	}
	for (uint32_t n = 0; n < s.call_count; n++) {
		const uint32_t at = s.calls[n] >> 8;
		g->insns[at].imm = (int32_t)(entries[s.calls[n] & 0xff] - at - 1);
	}
}
