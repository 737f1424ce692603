/*
 * Tristate numbers (tnum.h).
 */
#include "bpf/verifier/tnum.h"

static struct tnum tnum(uint64_t value, uint64_t mask)
{
	return (struct tnum){value & ~mask, mask};
}

struct tnum tnum_range(uint64_t min, uint64_t max)
{
	const uint64_t differ = min ^ max;
	if (!differ)
		return tnum_const(min);
	/* from the highest bit in which they differ all are unknown */
	const unsigned high = 63 - (unsigned)__builtin_clzll(differ);
	return tnum(min, high == 63 ? UINT64_MAX : (2ull << high) - 1);
}

/* The bits that can change by a carry are those in which the sum of the least numbers differs from the
 * sum of the greatest. */
struct tnum tnum_add(struct tnum a, struct tnum b)
{
	const uint64_t least = a.value + b.value;
	const uint64_t greatest = least + a.mask + b.mask;
	return tnum(least, (least ^ greatest) | a.mask | b.mask);
}

struct tnum tnum_sub(struct tnum a, struct tnum b)
{
	const uint64_t difference = a.value - b.value;
	const uint64_t greatest = difference + a.mask, least = difference - b.mask;
	return tnum(difference, (greatest ^ least) | a.mask | b.mask);
}

/* Long multiplication: the known bits' product, and a sum of what the unknown bits may add. */
struct tnum tnum_mul(struct tnum a, struct tnum b)
{
	const uint64_t known = a.value * b.value;
	struct tnum unknown = tnum_const(0);
	for (; a.value | a.mask; a = tnum_rsh(a, 1), b = tnum_lsh(b, 1)) {
		if (a.value & 1)
			unknown = tnum_add(unknown, tnum(0, b.mask));
		else if (a.mask & 1)
			unknown = tnum_add(unknown, tnum(0, b.value | b.mask));
	}
	return tnum_add(tnum_const(known), unknown);
}

struct tnum tnum_and(struct tnum a, struct tnum b)
{
	const uint64_t ones = a.value & b.value;
	return tnum(ones, (a.value | a.mask) & (b.value | b.mask) & ~ones);
}

struct tnum tnum_or(struct tnum a, struct tnum b)
{
	const uint64_t ones = a.value | b.value;
	return tnum(ones, (a.mask | b.mask) & ~ones);
}

struct tnum tnum_xor(struct tnum a, struct tnum b)
{
	return tnum(a.value ^ b.value, a.mask | b.mask);
}

struct tnum tnum_lsh(struct tnum a, unsigned bits)
{
	return tnum(a.value << bits, a.mask << bits);
}

struct tnum tnum_rsh(struct tnum a, unsigned bits)
{
	return tnum(a.value >> bits, a.mask >> bits);
}

/* An unknown sign bit makes all its copies unknown: the mask is shifted arithmetically, too. */
struct tnum tnum_arsh(struct tnum a, unsigned bits, unsigned width)
{
	const struct tnum wide = tnum_sign_extend(a, width);
	return tnum_zero_extend(tnum((uint64_t)((int64_t)wide.value >> bits),
	                             (uint64_t)((int64_t)wide.mask >> bits)), width);
}

struct tnum tnum_zero_extend(struct tnum a, unsigned bits)
{
	const uint64_t kept = UINT64_MAX >> (64 - bits);
	return tnum(a.value & kept, a.mask & kept);
}

struct tnum tnum_sign_extend(struct tnum a, unsigned bits)
{
	const unsigned up = 64 - bits;
	return tnum((uint64_t)((int64_t)(a.value << up) >> up), (uint64_t)((int64_t)(a.mask << up) >> up));
}

bool tnum_intersect(struct tnum a, struct tnum b, struct tnum *both)
{
	if ((a.value ^ b.value) & ~a.mask & ~b.mask)
		return false;
	*both = tnum(a.value | b.value, a.mask & b.mask);
	return true;
}
