/*
 * Numbers of which the verifier knows bits and bounds: deduction of the ones from the others, extension (scalar.h).
 */
#include "bpf/verifier/part.h"

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
		const struct tnum before = s->t;
		if (!tnum_intersect(s->t, tnum_range(s->umin, s->umax), &s->t) ||
		    !tnum_intersect(s->t, (struct tnum){low.value, low.mask | ~LOW}, &s->t))
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
