/*
 * Batch look-ups by vector instructions (for net/fib alone): avx2.c and avx512.c, which differ in
 * the number of lanes and in how they gather. Both are compiled from lanes.h.
 */
#ifndef NET_FIB_VECTOR_H
#define NET_FIB_VECTOR_H

#include "net/fib/fib.h"

/* Addresses per vector; n must not be less. */
#define AVX2_LANES 8
#define AVX512_LANES 16

#ifdef __x86_64__
#define FIB_VECTORS 1
#else
#define FIB_VECTORS 0 /* the functions below do not exist and are not called */
#endif

void fib4_lookup_avx2(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n);
void fib4_lookup_avx512(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n);

/* Where addresses are: the one of number i at octet `at` behind the i-th pointer, one each `stride` octets.
 * Functions that take them are inline, so the stride is a constant. */
struct fib6_places {
	const void *first;
	size_t stride;
	unsigned at;
};

static inline struct fib6_places fib6_pointers(const uint8_t *const *dst)
{
	return (struct fib6_places){dst, sizeof *dst, 0};
}

static inline struct fib6_places fib6_frames(const struct pkt *v, unsigned at)
{
	return (struct fib6_places){&v->data, sizeof *v, at};
}

static inline const uint8_t *fib6_place(const struct fib6_places *p, unsigned i)
{
	return *(const uint8_t *const *)(const void *)((const char *)p->first + i * p->stride) + p->at;
}

void fib6_lookup_avx2(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh, unsigned n);
void fib6_lookup_avx512(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh,
                        unsigned n);
uint32_t fib6_frames_avx2(const struct fib *fib, const struct pkt *v, unsigned at,
                          const struct fib6_keys *keys, uint32_t *nh, unsigned n);
uint32_t fib6_frames_avx512(const struct fib *fib, const struct pkt *v, unsigned at,
                            const struct fib6_keys *keys, uint32_t *nh, unsigned n);

/* Continues a look-up from entry e at byte b of the address, to the leaf as it is stored. */
uint32_t fib6_lookup_from(const struct fib *fib, uint32_t e, const uint8_t *dst, unsigned b);

#endif
