/*
 * Bytes that a program moves one by one: what clang makes of fields of packed structures, such as the EtherType and
 * the addresses in <linux/if_ether.h>. Four kinds of sequences become a few wide instructions. x86-64 needs no
 * alignment.
 *
 *   word     low = *(u8 *)(base + n);  high = *(u8 *)(base + n + 1);  high <<= 8;  high |= low
 *            in either order of the loads
 *   double   a word, the word behind it, high <<= 16, high |= low; or the higher word with its shift first
 *   copy     pairs  x = *(u8 *)(base + from);  *(u8 *)(base + to) = x  in any order of the bytes
 *   split    *(u8 *)(base + n) = x,  *(u8 *)(base + n + 1) = x >> 8,  and so on, in any order, with the shifts in x
 *            itself or in copies of it
 *
 * Invariants
 *   1. No jump leads into a sequence (compile_follows). What it leaves in registers that may be read behind it is the
 *      same as without merging.
 *   2. The same bytes are read and written. The order of accesses changes only where the bytes differ: both are
 *      offsets from one register, which the sequence does not change, and they do not overlap.
 *
 *   3. Shifts, ORs and moves may be those of 32 bits (clang -mcpu=v3) where the results are the same: words and double
 *      words fit into 32 bits, and a split needs to know that the upper half of its value is 0.
 *
 * Deliberately missing: words whose bytes are exchanged.
 */
#include "bpf/compiler/compiler.h"

#define MERGE_BYTES 8 /* of a copy or a split, at most 8: an offset is a bit in a mask of 8 */

static bool is_byte_load(const struct bpf_insn *i)
{
	return i->opcode == (BPF_LDX | BPF_MEM | BPF_B);
}

static bool is_byte_store(const struct bpf_insn *i)
{
	return i->opcode == (BPF_STX | BPF_MEM | BPF_B);
}

/* The operation of 64 bits or, if `short_too`, of 32. */
static bool is_alu(const struct bpf_insn *i, unsigned op, bool short_too)
{
	return i->opcode == (BPF_ALU64 | op) || (short_too && i->opcode == (BPF_ALU | op));
}

static bool is_left_shift(const struct bpf_insn *i, unsigned dst, int32_t by)
{
	return is_alu(i, BPF_LSH | BPF_K, true) && i->dst == dst && i->imm == by;
}

static bool is_or(const struct bpf_insn *i, unsigned dst, unsigned src)
{
	return is_alu(i, BPF_OR | BPF_X, true) && i->dst == dst && i->src == src;
}

/* --- words --- */

/* What a sequence of loads leaves: in register r `bytes[r]` bytes, zero-extended, of base + offset[r]. */
struct loads {
	unsigned base;
	uint8_t bytes[BPF_REGS]; /* 0: the register is not written */
	int16_t offset[BPF_REGS];
};

static void loads_set(struct loads *l, unsigned r, unsigned bytes, int16_t offset)
{
	l->bytes[r] = (uint8_t)bytes;
	l->offset[r] = offset;
}

/* The register that gets the word that begins at instruction i, or -1. */
static int word_at(struct compiler *c, uint32_t i, struct loads *l)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	if (!compile_follows(c, i, 3) || !is_byte_load(insn))
		return -1;
	const bool low_first = is_byte_load(insn + 1);
	const struct bpf_insn *low = low_first ? insn : insn + 2, *high = low_first ? insn + 1 : insn;
	const struct bpf_insn *shift = low_first ? insn + 2 : insn + 1;
	if (!is_byte_load(low) || !is_left_shift(shift, high->dst, 8) || low->src != high->src ||
	    !is_or(insn + 3, high->dst, low->dst) || high->offset != low->offset + 1 || high->dst == low->dst ||
	    low->src == low->dst || low->src == high->dst)
		return -1;
	l->base = low->src;
	loads_set(l, low->dst, 1, low->offset);
	loads_set(l, high->dst, 2, low->offset);
	return high->dst;
}

/* A second word that forms a double word with the one at i, which is in `first`; the number of instructions from i,
 * or 0. */
static uint32_t double_at(struct compiler *c, uint32_t i, unsigned first, struct loads *l)
{
	if (!compile_follows(c, i, 9))
		return 0;
	const struct bpf_insn *insn = compile_insn(c, i);
	const bool high_first = is_left_shift(insn + 4, first, 16);
	const unsigned base = l->base;
	const int16_t offset = l->offset[first];
	struct loads both = *l;
	const int second = word_at(c, i + (high_first ? 5 : 4), &both);
	if (second < 0 || (unsigned)second == first || both.base != base || both.bytes[base] || both.bytes[first] != 2 ||
	    both.offset[first] != offset)
		return 0;
	const unsigned high = high_first ? first : (unsigned)second, low = high_first ? (unsigned)second : first;
	if (both.offset[high] != both.offset[low] + 2 || !is_or(insn + 9, high, low) ||
	    (!high_first && !is_left_shift(insn + 8, high, 16)))
		return 0;
	loads_set(&both, high, 4, both.offset[low]);
	*l = both;
	return 10;
}

static void load(struct compiler *c, unsigned reg, unsigned bytes, struct x86_mem m)
{
	switch (bytes) {
	case 1: x86_mem(&c->e, X86_0F, 0xb6, reg, m); break;
	case 2: x86_mem(&c->e, X86_0F, 0xb7, reg, m); break;
	default: x86_mem(&c->e, bytes == 8 ? X86_W : 0, 0x8b, reg, m); break;
	}
}

static void store(struct compiler *c, unsigned reg, unsigned bytes, struct x86_mem m)
{
	switch (bytes) {
	case 1: x86_mem(&c->e, X86_BYTE, 0x88, reg, m); break;
	case 2: x86_mem(&c->e, X86_16, 0x89, reg, m); break;
	default: x86_mem(&c->e, bytes == 8 ? X86_W : 0, 0x89, reg, m); break;
	}
}

static uint32_t words(struct compiler *c, uint32_t i)
{
	struct loads l = {0};
	const int first = word_at(c, i, &l);
	if (first < 0)
		return 0;
	const uint32_t longer = double_at(c, i, (unsigned)first, &l), count = longer ? longer : 4;
	for (unsigned r = 0; r < BPF_R10; r++) {
		if (!l.bytes[r] || !(c->live[i + count - 1] >> r & 1))
			continue;
		load(c, c->now->reg[r], l.bytes[r], compile_at(c, l.base, l.offset[r]));
		compile_set_short(c, r, true);
	}
	return count;
}

/* --- copies --- */

/* True if the n pairs of instructions from `insn` copy adjacent bytes, from *lowest on. */
static bool is_adjacent(const struct bpf_insn *insn, unsigned n, int *lowest)
{
	unsigned seen = 0;
	*lowest = insn->offset;
	for (unsigned k = 1; k < n; k++)
		*lowest = insn[2 * k].offset < *lowest ? insn[2 * k].offset : *lowest;
	for (unsigned k = 0; k < n; k++) {
		const int at = insn[2 * k].offset - *lowest;
		if (at >= MERGE_BYTES)
			return false;
		seen |= 1u << at;
	}
	return seen == (1u << n) - 1;
}

static uint32_t copy(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *insn = compile_insn(c, i);
	if (!is_byte_load(insn) || !compile_follows(c, i, 1))
		return 0;
	const unsigned base = insn->src;
	const int distance = insn[1].offset - insn->offset;
	unsigned n = 0;
	while (n < MERGE_BYTES && (n == 0 || compile_follows(c, i, 2 * n + 1))) {
		const struct bpf_insn *from = insn + 2 * n, *to = from + 1;
		if (!is_byte_load(from) || !is_byte_store(to) || from->src != base || to->dst != base || from->dst == base ||
		    to->src != from->dst || to->offset - from->offset != distance)
			break;
		n++;
	}
	int lowest = 0;
	while (n > 1 && (!is_adjacent(insn, n, &lowest) || (distance < (int)n && -distance < (int)n)))
		n--;
	if (n < 2)
		return 0;
	for (unsigned done = 0, bytes = 8; done < n; done += bytes) {
		while (bytes > n - done)
			bytes /= 2;
		const int at = lowest + (int)done;
		load(c, X_R11, bytes, compile_at(c, base, at));
		store(c, X_R11, bytes, compile_at(c, base, at + distance));
	}
	uint16_t wanted = c->live[i + 2 * n - 1];
	for (unsigned k = n; k-- > 0;) {
		const struct bpf_insn *from = insn + 2 * k;
		if (!(wanted >> from->dst & 1))
			continue;
		wanted &= (uint16_t)~(1u << from->dst);
		load(c, c->now->reg[from->dst], 1, compile_at(c, base, from->offset));
		compile_set_short(c, from->dst, true);
	}
	return 2 * n;
}

/* --- splits --- */

/* Registers as the value of one register at the beginning, shifted to the right by so many bits. */
struct split {
	unsigned value, base; /* base: BPF_REGS until the first store */
	int offset;           /* of the value's lowest byte from base */
	bool is_short;        /* the value's upper half is 0 */
	uint16_t known, written;
	uint8_t shift[BPF_REGS];
	uint8_t bytes;        /* bit n: byte n has been stored */
};

static bool split_store(struct split *s, const struct bpf_insn *insn)
{
	if (!is_byte_store(insn) || !(s->known >> insn->src & 1) || s->known >> insn->dst & 1)
		return false;
	const unsigned byte = s->shift[insn->src] / 8;
	if (s->base == BPF_REGS) {
		s->base = insn->dst;
		s->offset = insn->offset - (int)byte;
	}
	if (insn->dst != s->base || insn->offset - (int)byte != s->offset || s->bytes >> byte & 1)
		return false;
	s->bytes |= (uint8_t)(1u << byte);
	return true;
}

static bool split_step(struct split *s, const struct bpf_insn *insn)
{
	const unsigned dst = insn->dst;
	if (is_alu(insn, BPF_MOV | BPF_X, s->is_short) && insn->offset == 0) {
		if (!(s->known >> insn->src & 1) || dst == s->base || dst == s->value)
			return false;
		s->shift[dst] = s->shift[insn->src];
	} else if (is_alu(insn, BPF_RSH | BPF_K, s->is_short)) {
		const int32_t bits = bpf_class(insn) == BPF_ALU64 ? 64 : 32;
		if (!(s->known >> dst & 1) || insn->imm <= 0 || insn->imm % 8 || s->shift[dst] + insn->imm >= bits)
			return false;
		s->shift[dst] = (uint8_t)(s->shift[dst] + insn->imm);
	} else {
		return split_store(s, insn);
	}
	s->known |= (uint16_t)(1u << dst);
	s->written |= (uint16_t)(1u << dst);
	return true;
}

/* Registers that are read later: copies of the value, and at last the value's own. */
static void split_rest(struct compiler *c, const struct split *s, uint16_t live)
{
	const uint16_t wanted = s->written & live;
	const unsigned value = c->now->reg[s->value];
	for (unsigned n = 1; n <= BPF_R10; n++) {
		const unsigned r = (s->value + n) % BPF_R10; /* the value's register is the last */
		if (!(wanted >> r & 1))
			continue;
		if (r != s->value)
			x86_mov(&c->e, X86_W, c->now->reg[r], value);
		if (s->shift[r])
			x86_shift_imm(&c->e, X86_W, X86_SHR, c->now->reg[r], s->shift[r]);
		compile_set_short(c, r, s->is_short || s->shift[r] >= 32);
	}
}

static uint32_t split(struct compiler *c, uint32_t i)
{
	const struct bpf_insn *first = compile_insn(c, i);
	struct split s = {.base = BPF_REGS}, best = s;
	if (is_byte_store(first) || is_alu(first, BPF_MOV | BPF_X, true))
		s.value = first->src;
	else if (is_alu(first, BPF_RSH | BPF_K, true))
		s.value = first->dst;
	else
		return 0;
	if (s.value == BPF_R10)
		return 0;
	s.known = (uint16_t)(1u << s.value);
	s.is_short = compile_is_short(c, s.value);
	uint32_t count = 0;
	for (uint32_t k = 0; k < 4 * MERGE_BYTES && (k == 0 || compile_follows(c, i, k)); k++) {
		const struct bpf_insn *insn = first + k;
		if (!split_step(&s, insn))
			break;
		if (is_byte_store(insn) && (s.bytes == 0x03 || s.bytes == 0x0f || s.bytes == 0xff)) {
			best = s;
			count = k + 1;
		}
	}
	if (!count)
		return 0;
	const unsigned bytes = best.bytes == 0x03 ? 2 : best.bytes == 0x0f ? 4 : 8;
	store(c, c->now->reg[best.value], bytes, compile_at(c, best.base, best.offset));
	split_rest(c, &best, c->live[i + count - 1]);
	return count;
}

uint32_t compile_merge(struct compiler *c, uint32_t i)
{
	uint32_t count = words(c, i);
	if (!count)
		count = copy(c, i);
	return count ? count : split(c, i);
}
