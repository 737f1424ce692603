/*
 * What is known about a number in a register: a tnum, and bounds as an unsigned and a signed number, of
 * all 64 bits and of the lower 32.
 *
 * A struct scalar stands for all numbers that satisfy all five. Each operation's result contains what
 * the instruction computes (RFC 9669 4.1) from any numbers of its arguments; each refinement keeps all
 * numbers for which the comparison holds. The five are deduced from each other after each operation
 * (scalar_deduce), so their order does not matter. Arithmetic is in scalar_alu.c, comparisons in scalar_compare.c.
 *
 * tests/unit/bpf/test_bpf_tnum.c and test_bpf_scalar.c compare with concrete execution.
 */
#ifndef BPF_VERIFIER_SCALAR_H
#define BPF_VERIFIER_SCALAR_H

#include "bpf/insn.h"
#include "bpf/verifier/tnum.h"

struct scalar {
	struct tnum t;
	uint64_t umin, umax;
	int64_t smin, smax;
	uint32_t umin32, umax32;
	int32_t smin32, smax32;
};

extern const struct scalar scalar_unknown;
struct scalar scalar_const(uint64_t v);

static inline bool scalar_is_const(const struct scalar *s) { return !s->t.mask; }

/* True if each number of b is in a. */
bool scalar_contains(const struct scalar *a, const struct scalar *b);

/* False: no number satisfies all bounds, so the path cannot be taken. */
bool scalar_deduce(struct scalar *s);

/* What a load of so many bytes, 1 to 8, may bring. */
struct scalar scalar_loaded(unsigned bytes, bool sign_extended);

/* The lower `bits` bits, 8, 16, 32 or 64, extended. */
void scalar_zero_extend(struct scalar *s, unsigned bits);
void scalar_sign_extend(struct scalar *s, unsigned bits);

/*
 * dst = dst op src, op of enum bpf_alu but BPF_MOV, BPF_NEG and BPF_END; is_signed: BPF_DIV and BPF_MOD as
 * signed ones; bits: 64, or 32 for the class ALU, which clears the upper half.
 */
void scalar_alu(struct scalar *dst, const struct scalar *src, unsigned op, bool is_signed, unsigned bits);

/* Reverses the bytes of the lower `bits` bits, 16, 32 or 64, and clears the rest. */
void scalar_swap(struct scalar *s, unsigned bits);

/* What both are after `a op b` (enum bpf_jump, by `bits` bits) turned out `holds`; false: it cannot. */
bool scalar_refine(struct scalar *a, struct scalar *b, unsigned op, bool holds, unsigned bits);

#endif
