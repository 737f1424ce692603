/*
 * Comparisons of numbers of which the verifier knows bits and bounds (scalar.h): what each outcome says of both.
 */
#include "bpf/verifier/part.h"

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
	part_put(a, &pa, bits);
	part_put(b, &pb, bits);
	/* of two equal numbers of 64 bits all is equal */
	if ((holds ? op : opposite(op)) == BPF_JEQ && bits == 64) {
		a->umin32 = b->umin32 = MAX(a->umin32, b->umin32);
		a->umax32 = b->umax32 = MIN(a->umax32, b->umax32);
		a->smin32 = b->smin32 = MAX(a->smin32, b->smin32);
		a->smax32 = b->smax32 = MIN(a->smax32, b->smax32);
	}
	return scalar_deduce(a) && scalar_deduce(b);
}
