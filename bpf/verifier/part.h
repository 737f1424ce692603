/*
 * What the files of struct scalar share: one width of it, as arithmetic and comparisons work on it.
 */
#ifndef BPF_VERIFIER_PART_H
#define BPF_VERIFIER_PART_H

#include "bpf/verifier/scalar.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LOW 0xffffffffull

/* A number of `bits` bits; the signed bounds are sign-extended. */
struct part {
	struct tnum t;
	uint64_t umin, umax;
	int64_t smin, smax;
};

static inline struct part part_of(const struct scalar *s, unsigned bits)
{
	if (bits == 64)
		return (struct part){s->t, s->umin, s->umax, s->smin, s->smax};
	return (struct part){tnum_zero_extend(s->t, 32), s->umin32, s->umax32, s->smin32, s->smax32};
}

static inline void part_put_narrow(struct scalar *s, const struct part *p)
{
	s->umin32 = (uint32_t)p->umin;
	s->umax32 = (uint32_t)p->umax;
	s->smin32 = (int32_t)p->smin;
	s->smax32 = (int32_t)p->smax;
	s->t = (struct tnum){(s->t.value & ~LOW) | p->t.value, (s->t.mask & ~LOW) | p->t.mask};
}

/* The width `bits` of s becomes p; the other one stays, to be deduced. */
static inline void part_put(struct scalar *s, const struct part *p, unsigned bits)
{
	if (bits == 32) {
		part_put_narrow(s, p);
		return;
	}
	s->t = p->t;
	s->umin = p->umin;
	s->umax = p->umax;
	s->smin = p->smin;
	s->smax = p->smax;
}

#endif
