/*
 * Numbers of which the verifier knows bits and bounds: deduction, extension, arithmetic (scalar.h).
 *
 * Arithmetic works on one width at a time, on a struct part. The lower 32 bits of a sum, difference,
 * product, left shift and bitwise operation depend on the lower 32 bits of the operands alone, so these
 * are computed for both widths; for the others the deduction gives the narrow bounds.
 */
#include "bpf/verifier/scalar.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LOW 0xffffffffull
#define SMIN64 ((int64_t)(1ull << 63))
#define SMAX64 ((int64_t)~(1ull << 63))
#define SMIN32 ((int32_t)(1u << 31))
#define SMAX32 ((int32_t)~(1u << 31))

const struct scalar scalar_unknown = {
	{0, UINT64_MAX}, 0, UINT64_MAX, SMIN64, SMAX64, 0, UINT32_MAX, SMIN32, SMAX32,
};

struct scalar scalar_const(uint64_t v)
{
	return (struct scalar){tnum_const(v), v, v, (int64_t)v, (int64_t)v,
		(uint32_t)v, (uint32_t)v, (int32_t)v, (int32_t)v};
}

bool scalar_contains(const struct scalar *a, const struct scalar *b)
{
	return a->umin <= b->umin && b->umax <= a->umax && a->smin <= b->smin && b->smax <= a->smax &&
		a->umin32 <= b->umin32 && b->umax32 <= a->umax32 &&
		a->smin32 <= b->smin32 && b->smax32 <= a->smax32 && tnum_contains(a->t, b->t);
}

/* --- deduction --- */

static void bounds_from_bits(struct scalar *s)
{
	const uint64_t sign = 1ull << 63, sign32 = 1ull << 31;
	const struct tnum t = s->t;
	s->umin = MAX(s->umin, t.value);
	s->umax = MIN(s->umax, t.value | t.mask);
	s->smin = MAX(s->smin, (int64_t)(t.value | (t.mask & sign)));
	s->smax = MIN(s->smax, (int64_t)(t.value | (t.mask & ~sign)));
	s->umin32 = MAX(s->umin32, (uint32_t)t.value);
	s->umax32 = MIN(s->umax32, (uint32_t)(t.value | t.mask));
	s->smin32 = MAX(s->smin32, (int32_t)(t.value | (t.mask & sign32)));
	s->smax32 = MIN(s->smax32, (int32_t)(t.value | (t.mask & ~sign32)));
}

/* Two numbers of the same upper half, in order, have the lower halves in between in the same order. */
static void narrow_from_wide(struct scalar *s)
{
	if (s->umin >> 32 == s->umax >> 32) {
		s->umin32 = MAX(s->umin32, (uint32_t)s->umin);
		s->umax32 = MIN(s->umax32, (uint32_t)s->umax);
	}
	if (s->smin >> 32 == s->smax >> 32) {
		s->umin32 = MAX(s->umin32, (uint32_t)s->smin);
		s->umax32 = MIN(s->umax32, (uint32_t)s->smax);
	}
	/* the whole number is its lower half, sign-extended */
	if (s->smin >= SMIN32 && s->smax <= SMAX32) {
		s->smin32 = MAX(s->smin32, (int32_t)s->smin);
		s->smax32 = MIN(s->smax32, (int32_t)s->smax);
		s->smin = MAX(s->smin, s->smin32);
		s->smax = MIN(s->smax, s->smax32);
	}
}

/* The upper half of the least number, with the least lower half, is not greater than any; and so on. */
static void wide_from_narrow(struct scalar *s)
{
	s->umin = MAX(s->umin, (s->umin & ~LOW) | s->umin32);
	s->umax = MIN(s->umax, (s->umax & ~LOW) | s->umax32);
	s->smin = MAX(s->smin, (int64_t)(((uint64_t)s->smin & ~LOW) | s->umin32));
	s->smax = MIN(s->smax, (int64_t)(((uint64_t)s->smax & ~LOW) | s->umax32));
}

/* A range that does not cross the point where the sign changes is a range of the other kind, too. */
static void signs(struct scalar *s)
{
	if ((int64_t)s->umin <= (int64_t)s->umax) {
		s->smin = MAX(s->smin, (int64_t)s->umin);
		s->smax = MIN(s->smax, (int64_t)s->umax);
	}
	if ((uint64_t)s->smin <= (uint64_t)s->smax) {
		s->umin = MAX(s->umin, (uint64_t)s->smin);
		s->umax = MIN(s->umax, (uint64_t)s->smax);
	}
	if ((int32_t)s->umin32 <= (int32_t)s->umax32) {
		s->smin32 = MAX(s->smin32, (int32_t)s->umin32);
		s->smax32 = MIN(s->smax32, (int32_t)s->umax32);
	}
	if ((uint32_t)s->smin32 <= (uint32_t)s->smax32) {
		s->umin32 = MAX(s->umin32, (uint32_t)s->smin32);
		s->umax32 = MIN(s->umax32, (uint32_t)s->smax32);
	}
}

static bool is_empty(const struct scalar *s)
{
	return s->umin > s->umax || s->smin > s->smax || s->umin32 > s->umax32 || s->smin32 > s->smax32;
}

bool scalar_deduce(struct scalar *s)
{
	for (unsigned round = 0; round < 3; round++) {
		bounds_from_bits(s);
		narrow_from_wide(s);
		wide_from_narrow(s);
		signs(s);
		if (is_empty(s))
			return false;
		const struct tnum low = tnum_range(s->umin32, s->umax32);
		const struct tnum lower = {low.value, low.mask | ~LOW};
		const struct tnum before = s->t;
		if (!tnum_intersect(s->t, tnum_range(s->umin, s->umax), &s->t) ||
		    !tnum_intersect(s->t, (struct tnum){lower.value & ~lower.mask, lower.mask}, &s->t))
			return false;
		if (round && before.mask == s->t.mask)
			break;
	}
	bounds_from_bits(s);
	return !is_empty(s);
}

/* --- extension --- */

struct scalar scalar_loaded(unsigned bytes, bool sign_extended)
{
	struct scalar s = scalar_unknown;
	if (sign_extended)
		scalar_sign_extend(&s, 8 * bytes);
	else
		scalar_zero_extend(&s, 8 * bytes);
	return s;
}

void scalar_zero_extend(struct scalar *s, unsigned bits)
{
	if (bits == 64)
		return;
	const uint64_t most = UINT64_MAX >> (64 - bits);
	struct scalar r = scalar_unknown;
	r.t = tnum_zero_extend(s->t, bits);
	r.umax = most;
	if (s->umax <= most) {
		r.umin = s->umin;
		r.umax = s->umax;
	}
	if (bits == 32) {
		r.umin = MAX(r.umin, s->umin32);
		r.umax = MIN(r.umax, s->umax32);
		r.smin32 = s->smin32;
		r.smax32 = s->smax32;
	}
	scalar_deduce(&r);
	*s = r;
}

void scalar_sign_extend(struct scalar *s, unsigned bits)
{
	if (bits == 64)
		return;
	const int64_t most = (int64_t)(1ull << (bits - 1)) - 1;
	struct scalar r = scalar_unknown;
	r.t = tnum_sign_extend(s->t, bits);
	r.smin = -most - 1;
	r.smax = most;
	if (s->smin >= r.smin && s->smax <= r.smax) {
		r.smin = s->smin;
		r.smax = s->smax;
	}
	if (bits == 32) {
		r.smin = MAX(r.smin, s->smin32);
		r.smax = MIN(r.smax, s->smax32);
		r.umin32 = s->umin32;
		r.umax32 = s->umax32;
	} else if (s->smin32 >= -most - 1 && s->smax32 <= most) {
		r.smin = MAX(r.smin, s->smin32);
		r.smax = MIN(r.smax, s->smax32);
	}
	scalar_deduce(&r);
	*s = r;
}

void scalar_swap(struct scalar *s, unsigned bits)
{
	if (!scalar_is_const(s)) {
		*s = scalar_loaded(bits / 8, false);
		return;
	}
	*s = scalar_const(__builtin_bswap64(s->t.value) >> (64 - bits));
}

/* --- arithmetic --- */

/* A number of `bits` bits; the signed bounds are sign-extended. */
struct part {
	struct tnum t;
	uint64_t umin, umax;
	int64_t smin, smax;
};

static struct part part_unknown(unsigned bits)
{
	const uint64_t most = UINT64_MAX >> (64 - bits);
	return (struct part){{0, most}, 0, most, -(int64_t)(most >> 1) - 1, (int64_t)(most >> 1)};
}

static struct part part_of(const struct scalar *s, unsigned bits)
{
	if (bits == 64)
		return (struct part){s->t, s->umin, s->umax, s->smin, s->smax};
	return (struct part){tnum_zero_extend(s->t, 32), s->umin32, s->umax32, s->smin32, s->smax32};
}

/* Bounds that fit into `bits` bits; with wraps, both ends wrapped around alike. */
static void set_unsigned(struct part *r, unsigned bits, bool wraps, uint64_t min, uint64_t max)
{
	const uint64_t most = UINT64_MAX >> (64 - bits);
	if (wraps) {
		r->umin = min & most;
		r->umax = max & most;
	} else if (min <= most && max <= most) {
		r->umin = min;
		r->umax = max;
	}
}

static void set_signed(struct part *r, int64_t min, int64_t max)
{
	if (min >= r->smin && max <= r->smax) {
		r->smin = min;
		r->smax = max;
	}
}

/* r comes in as unknown, so r->smin and r->smax are the limits of the width. */
static void part_add(struct part *r, const struct part *a, const struct part *b, unsigned bits)
{
	r->t = tnum_add(a->t, b->t);
	const uint64_t most = UINT64_MAX >> (64 - bits);
	const bool low = a->umin > most - b->umin, high = a->umax > most - b->umax;
	if (low == high)
		set_unsigned(r, bits, low, a->umin + b->umin, a->umax + b->umax);
	int64_t min, max;
	if (!__builtin_add_overflow(a->smin, b->smin, &min) && !__builtin_add_overflow(a->smax, b->smax, &max))
		set_signed(r, min, max);
}

static void part_sub(struct part *r, const struct part *a, const struct part *b, unsigned bits)
{
	r->t = tnum_sub(a->t, b->t);
	const bool low = a->umin < b->umax, high = a->umax < b->umin;
	if (low == high)
		set_unsigned(r, bits, low, a->umin - b->umax, a->umax - b->umin);
	int64_t min, max;
	if (!__builtin_sub_overflow(a->smin, b->smax, &min) && !__builtin_sub_overflow(a->smax, b->smin, &max))
		set_signed(r, min, max);
}

static void part_mul(struct part *r, const struct part *a, const struct part *b, unsigned bits)
{
	r->t = tnum_mul(a->t, b->t);
	uint64_t greatest;
	if (!__builtin_mul_overflow(a->umax, b->umax, &greatest))
		set_unsigned(r, bits, false, a->umin * b->umin, greatest);
	const int64_t as[2] = {a->smin, a->smax}, bs[2] = {b->smin, b->smax};
	int64_t min = SMAX64, max = SMIN64, product;
	for (unsigned i = 0; i < 4; i++) {
		if (__builtin_mul_overflow(as[i & 1], bs[i >> 1], &product))
			return;
		min = MIN(min, product);
		max = MAX(max, product);
	}
	set_signed(r, min, max);
}

/* 4.1: division by zero gives 0. */
static void part_div(struct part *r, const struct part *a, const struct part *b)
{
	r->umin = b->umin ? a->umin / b->umax : 0;
	r->umax = a->umax / (b->umin ? b->umin : 1);
}

/* 4.1: modulo zero leaves the number as it is. */
static void part_mod(struct part *r, const struct part *a, const struct part *b)
{
	if (b->umin > a->umax) {
		*r = *a;
		return;
	}
	r->umin = 0;
	r->umax = b->umin ? MIN(a->umax, b->umax - 1) : a->umax;
}

/* Signed division rounds towards zero, so it keeps order if the divisor is positive. Others are left
 * unknown: compilers make them of constants only. */
static void part_sdiv(struct part *r, const struct part *a, const struct part *b)
{
	if (b->smin != b->smax || b->smin <= 0)
		return;
	r->smin = a->smin / b->smin;
	r->smax = a->smax / b->smin;
}

/* The remainder has the dividend's sign. */
static void part_smod(struct part *r, const struct part *a, const struct part *b)
{
	if (b->smin != b->smax || b->smin <= 0)
		return;
	r->smin = a->smin >= 0 ? 0 : MAX(a->smin, 1 - b->smin);
	r->smax = a->smax <= 0 ? 0 : MIN(a->smax, b->smin - 1);
}

static void part_lsh(struct part *r, const struct part *a, unsigned least, unsigned most, unsigned bits)
{
	const uint64_t limit = UINT64_MAX >> (64 - bits);
	if (a->umax <= limit >> most)
		set_unsigned(r, bits, false, a->umin << least, a->umax << most);
	if (least != most)
		return;
	r->t = tnum_lsh(a->t, least);
	if (a->smin >= r->smin >> least && a->smax <= r->smax >> least)
		set_signed(r, (int64_t)((uint64_t)a->smin << least), (int64_t)((uint64_t)a->smax << least));
}

static void part_rsh(struct part *r, const struct part *a, unsigned least, unsigned most)
{
	r->umin = a->umin >> most;
	r->umax = a->umax >> least;
	if (least == most)
		r->t = tnum_rsh(a->t, least);
}

static void part_arsh(struct part *r, const struct part *a, unsigned least, unsigned most, unsigned bits)
{
	r->smin = a->smin >> (a->smin < 0 ? least : most);
	r->smax = a->smax >> (a->smax < 0 ? most : least);
	if (least == most)
		r->t = tnum_arsh(a->t, least, bits);
}

static void part_shift(struct part *r, const struct part *a, const struct part *b, unsigned op, unsigned bits)
{
	unsigned least = (unsigned)b->umin, most = (unsigned)b->umax;
	if (b->umin == b->umax) /* 4.1: only the low bits of the count are used */
		least = most = (unsigned)b->umin & (bits - 1);
	else if (b->umax >= bits)
		least = 0, most = bits - 1;
	if (op == BPF_LSH)
		part_lsh(r, a, least, most, bits);
	else if (op == BPF_RSH)
		part_rsh(r, a, least, most);
	else
		part_arsh(r, a, least, most, bits);
}

static void part_bitwise(struct part *r, const struct part *a, const struct part *b, unsigned op)
{
	if (op == BPF_AND) {
		r->t = tnum_and(a->t, b->t);
		r->umax = MIN(a->umax, b->umax);
	} else if (op == BPF_OR) {
		r->t = tnum_or(a->t, b->t);
		r->umin = MAX(a->umin, b->umin);
	} else {
		r->t = tnum_xor(a->t, b->t);
	}
}

static struct part part_alu(const struct part *a, const struct part *b, unsigned op, bool is_signed,
                            unsigned bits)
{
	struct part r = part_unknown(bits);
	switch (op) {
	case BPF_ADD: part_add(&r, a, b, bits); break;
	case BPF_SUB: part_sub(&r, a, b, bits); break;
	case BPF_MUL: part_mul(&r, a, b, bits); break;
	case BPF_DIV: is_signed ? part_sdiv(&r, a, b) : part_div(&r, a, b); break;
	case BPF_MOD: is_signed ? part_smod(&r, a, b) : part_mod(&r, a, b); break;
	case BPF_LSH: case BPF_RSH: case BPF_ARSH: part_shift(&r, a, b, op, bits); break;
	case BPF_AND: case BPF_OR: case BPF_XOR: part_bitwise(&r, a, b, op); break;
	}
	r.t = tnum_zero_extend(r.t, bits);
	return r;
}

static int64_t signed_divide(int64_t a, int64_t b, bool remainder)
{
	if (b == -1) /* the one quotient that does not fit is the dividend again */
		return remainder ? 0 : (int64_t)-(uint64_t)a;
	return remainder ? a % b : a / b;
}

/* Two constants: what 4.1 says. Both are cut to `bits` bits. */
static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool remainder, unsigned bits)
{
	const unsigned up = 64 - bits;
	if (!b)
		return remainder ? a : 0;
	if (!is_signed)
		return remainder ? a % b : a / b;
	return (uint64_t)signed_divide((int64_t)(a << up) >> up, (int64_t)(b << up) >> up, remainder);
}

static void put_narrow(struct scalar *s, const struct part *p)
{
	s->umin32 = (uint32_t)p->umin;
	s->umax32 = (uint32_t)p->umax;
	s->smin32 = (int32_t)p->smin;
	s->smax32 = (int32_t)p->smax;
	s->t = (struct tnum){(s->t.value & ~LOW) | p->t.value, (s->t.mask & ~LOW) | p->t.mask};
}

static void put(struct scalar *s, const struct part *p, unsigned bits)
{
	if (bits == 32) {
		put_narrow(s, p);
		return;
	}
	s->t = p->t;
	s->umin = p->umin;
	s->umax = p->umax;
	s->smin = p->smin;
	s->smax = p->smax;
}

static bool depends_on_low_half_only(unsigned op)
{
	return op != BPF_DIV && op != BPF_MOD && op != BPF_RSH && op != BPF_ARSH;
}

/* clang sign-extends 32 bits by two shifts. The first one keeps the order of the lower halves. */
static void shift_by_half(struct scalar *r, const struct scalar *a)
{
	r->umin = (uint64_t)a->umin32 << 32;
	r->umax = (uint64_t)a->umax32 << 32;
	r->smin = (int64_t)((uint64_t)(int64_t)a->smin32 << 32);
	r->smax = (int64_t)((uint64_t)(int64_t)a->smax32 << 32);
}

static void alu_64(struct scalar *dst, const struct scalar *src, unsigned op, bool is_signed)
{
	struct part a = part_of(dst, 64), b = part_of(src, 64);
	struct part wide = part_alu(&a, &b, op, is_signed, 64);
	struct scalar r = scalar_unknown;
	put(&r, &wide, 64);
	if (depends_on_low_half_only(op) && (op != BPF_LSH || (scalar_is_const(src) && src->t.value < 32))) {
		a = part_of(dst, 32);
		b = part_of(src, 32);
		const struct part narrow = part_alu(&a, &b, op, is_signed, 32);
		const struct tnum low = narrow.t, both = r.t;
		put_narrow(&r, &narrow);
		/* both say something of the lower bits */
		tnum_intersect(both, (struct tnum){low.value, low.mask | ~LOW}, &r.t);
	}
	if (op == BPF_LSH && scalar_is_const(src) && (src->t.value & 63) == 32)
		shift_by_half(&r, dst);
	*dst = r;
}

void scalar_alu(struct scalar *dst, const struct scalar *src, unsigned op, bool is_signed, unsigned bits)
{
	const uint64_t cut = UINT64_MAX >> (64 - bits);
	if ((op == BPF_DIV || op == BPF_MOD) && !((dst->t.mask | src->t.mask) & cut)) {
		const uint64_t v = divide(dst->t.value & cut, src->t.value & cut, is_signed, op == BPF_MOD, bits);
		*dst = scalar_const(v & cut);
		return;
	}
	if (bits == 64) {
		alu_64(dst, src, op, is_signed);
		scalar_deduce(dst);
		return;
	}
	const struct part a = part_of(dst, 32), b = part_of(src, 32);
	const struct part narrow = part_alu(&a, &b, op, is_signed, 32);
	*dst = scalar_unknown;
	put_narrow(dst, &narrow);
	scalar_deduce(dst);
	scalar_zero_extend(dst, 32);
}

/* --- comparisons --- */

#define NOT_JSET 0xe0u /* the opposite of BPF_JSET; no jump has this code */

static unsigned opposite(unsigned op)
{
	switch (op) {
	case BPF_JEQ: return BPF_JNE;
	case BPF_JNE: return BPF_JEQ;
	case BPF_JGT: return BPF_JLE;
	case BPF_JLE: return BPF_JGT;
	case BPF_JGE: return BPF_JLT;
	case BPF_JLT: return BPF_JGE;
	case BPF_JSGT: return BPF_JSLE;
	case BPF_JSLE: return BPF_JSGT;
	case BPF_JSGE: return BPF_JSLT;
	case BPF_JSLT: return BPF_JSGE;
	default: return NOT_JSET;
	}
}

static bool is_equal(struct part *a, struct part *b)
{
	struct part both = {{0, 0}, MAX(a->umin, b->umin), MIN(a->umax, b->umax),
		MAX(a->smin, b->smin), MIN(a->smax, b->smax)};
	if (!tnum_intersect(a->t, b->t, &both.t) || both.umin > both.umax || both.smin > both.smax)
		return false;
	*a = *b = both;
	return true;
}

/* A constant at the end of a range is taken out of the range. */
static bool differs_from(struct part *a, const struct part *constant, unsigned bits)
{
	if (constant->t.mask)
		return true;
	const uint64_t v = constant->t.value;
	const unsigned up = 64 - bits;
	const int64_t s = (int64_t)(v << up) >> up;
	if (!a->t.mask && a->t.value == v)
		return false;
	if (a->umin == v && a->umax == v)
		return false;
	if (a->umin == v)
		a->umin++;
	if (a->umax == v)
		a->umax--;
	if (a->smin == s && a->smax == s)
		return false;
	if (a->smin == s)
		a->smin++;
	if (a->smax == s)
		a->smax--;
	return true;
}

static bool is_greater(struct part *a, struct part *b)
{
	if (a->umax <= b->umin)
		return false;
	a->umin = MAX(a->umin, b->umin + 1);
	b->umax = MIN(b->umax, a->umax - 1);
	return true;
}

static bool is_not_less(struct part *a, struct part *b)
{
	a->umin = MAX(a->umin, b->umin);
	b->umax = MIN(b->umax, a->umax);
	return true;
}

static bool is_signed_greater(struct part *a, struct part *b)
{
	if (a->smax <= b->smin)
		return false;
	a->smin = MAX(a->smin, b->smin + 1);
	b->smax = MIN(b->smax, a->smax - 1);
	return true;
}

static bool is_signed_not_less(struct part *a, struct part *b)
{
	a->smin = MAX(a->smin, b->smin);
	b->smax = MIN(b->smax, a->smax);
	return true;
}

static bool has_common_bit(struct part *a, struct part *b)
{
	const uint64_t possible = (a->t.value | a->t.mask) & (b->t.value | b->t.mask);
	if (!possible)
		return false;
	if (possible & (possible - 1))
		return true;
	a->t = (struct tnum){a->t.value | possible, a->t.mask & ~possible};
	b->t = (struct tnum){b->t.value | possible, b->t.mask & ~possible};
	return true;
}

static bool has_no_common_bit(struct part *a, struct part *b)
{
	if (a->t.value & b->t.value)
		return false;
	a->t.mask &= ~b->t.value;
	b->t.mask &= ~a->t.value;
	return true;
}

static bool refine(struct part *a, struct part *b, unsigned op, unsigned bits)
{
	switch (op) {
	case BPF_JEQ: return is_equal(a, b);
	case BPF_JNE: return differs_from(a, b, bits) && differs_from(b, a, bits);
	case BPF_JGT: return is_greater(a, b);
	case BPF_JGE: return is_not_less(a, b);
	case BPF_JLT: return is_greater(b, a);
	case BPF_JLE: return is_not_less(b, a);
	case BPF_JSGT: return is_signed_greater(a, b);
	case BPF_JSGE: return is_signed_not_less(a, b);
	case BPF_JSLT: return is_signed_greater(b, a);
	case BPF_JSLE: return is_signed_not_less(b, a);
	case BPF_JSET: return has_common_bit(a, b);
	default: return has_no_common_bit(a, b);
	}
}

bool scalar_refine(struct scalar *a, struct scalar *b, unsigned op, bool holds, unsigned bits)
{
	struct part pa = part_of(a, bits), pb = part_of(b, bits);
	if (!refine(&pa, &pb, holds ? op : opposite(op), bits))
		return false;
	put(a, &pa, bits);
	put(b, &pb, bits);
	/* of two equal numbers of 64 bits all is equal */
	if ((holds ? op : opposite(op)) == BPF_JEQ && bits == 64) {
		a->umin32 = b->umin32 = MAX(a->umin32, b->umin32);
		a->umax32 = b->umax32 = MIN(a->umax32, b->umax32);
		a->smin32 = b->smin32 = MAX(a->smin32, b->smin32);
		a->smax32 = b->smax32 = MIN(a->smax32, b->smax32);
	}
	return scalar_deduce(a) && scalar_deduce(b);
}
