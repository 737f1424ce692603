/*
 * Tristate numbers: what is known about the bits of a number. A bit of `mask` that is set is unknown; a
 * bit that is not has the value in `value`. No bit is set in both.
 *
 * A tnum stands for the set of all numbers x with (x & ~mask) == value. Each operation's result contains
 * op(x, y) for all x and y of its arguments, modulo 2^64. H. Vishwanathan and others prove addition,
 * subtraction and multiplication in "Sound, Precise, and Fast Abstract Interpretation with Tristate
 * Numbers" (CGO 2022).
 */
#ifndef BPF_VERIFIER_TNUM_H
#define BPF_VERIFIER_TNUM_H

#include "lib/types.h"

struct tnum {
	uint64_t value, mask;
};

static inline struct tnum tnum_const(uint64_t v) { return (struct tnum){v, 0}; }

/* The smallest tnum that contains min to max, min <= max. */
struct tnum tnum_range(uint64_t min, uint64_t max);

struct tnum tnum_add(struct tnum a, struct tnum b);
struct tnum tnum_sub(struct tnum a, struct tnum b);
struct tnum tnum_mul(struct tnum a, struct tnum b);
struct tnum tnum_and(struct tnum a, struct tnum b);
struct tnum tnum_or(struct tnum a, struct tnum b);
struct tnum tnum_xor(struct tnum a, struct tnum b);
struct tnum tnum_lsh(struct tnum a, unsigned bits);
struct tnum tnum_rsh(struct tnum a, unsigned bits);
/* Of a number of `width` bits, 32 or 64; the result is cut to as many. */
struct tnum tnum_arsh(struct tnum a, unsigned bits, unsigned width);

/* The lower `bits` bits, 1 to 64; the others are zero, or copies of the highest of them. */
struct tnum tnum_zero_extend(struct tnum a, unsigned bits);
struct tnum tnum_sign_extend(struct tnum a, unsigned bits);

/* What both contain; false: nothing. */
bool tnum_intersect(struct tnum a, struct tnum b, struct tnum *both);

/* True if each number of b is in a. */
static inline bool tnum_contains(struct tnum a, struct tnum b)
{
	return !(b.mask & ~a.mask) && (b.value & ~a.mask) == a.value;
}

#endif
