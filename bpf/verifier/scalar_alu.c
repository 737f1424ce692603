/*
 * Arithmetic on numbers of which the verifier knows bits and bounds (scalar.h).
 *
 * It works on one width at a time, on a struct part. The lower 32 bits of a sum, difference, product, left shift
 * and bitwise operation depend on the lower 32 bits of the operands alone, so these are computed for both
 * widths; for the others the deduction gives the narrow bounds.
 */
#include "bpf/verifier/part.h"

#define SMIN64 ((int64_t)(1ull << 63))
#define SMAX64 ((int64_t)~(1ull << 63))

static struct part part_unknown(unsigned bits)
{
	const uint64_t most = UINT64_MAX >> (64 - bits);
	return (struct part){{0, most}, 0, most, -(int64_t)(most >> 1) - 1, (int64_t)(most >> 1)};
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
	part_put(&r, &wide, 64);
	if (depends_on_low_half_only(op) && (op != BPF_LSH || (scalar_is_const(src) && src->t.value < 32))) {
		a = part_of(dst, 32);
		b = part_of(src, 32);
		const struct part narrow = part_alu(&a, &b, op, is_signed, 32);
		const struct tnum low = narrow.t, both = r.t;
		part_put_narrow(&r, &narrow);
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
	part_put_narrow(dst, &narrow);
	scalar_deduce(dst);
	scalar_zero_extend(dst, 32);
}
