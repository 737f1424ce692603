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
#define FIB_VECTORS 0 /* the four functions do not exist and are not called */
#endif

void fib4_lookup_avx2(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n);
void fib4_lookup_avx512(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n);
void fib6_lookup_avx2(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh, unsigned n);
void fib6_lookup_avx512(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh,
                        unsigned n);

/* Continues a look-up from entry e at byte b of the address, to the leaf as it is stored. */
uint32_t fib6_lookup_from(const struct fib *fib, uint32_t e, const uint8_t *dst, unsigned b);

#endif
