/* Batch look-ups by AVX-512 F and DQ: see lanes.h. */
#include "net/fib/vector.h"

#if FIB_VECTORS

#define LANES AVX512_LANES
#define LANES_TARGET __attribute__((target("avx512f,avx512dq")))
#define LANES_FN static inline __attribute__((always_inline)) LANES_TARGET
#include "net/fib/lanes.h"

LANES_TARGET void fib4_lookup_avx512(const struct fib *fib, const uint32_t *dst, uint32_t *nh,
                                     unsigned n)
{
	lookup4(fib, dst, nh, n);
}

LANES_TARGET void fib6_lookup_avx512(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh,
                                     unsigned n)
{
	const struct fib6_places p = fib6_pointers(dst);
	lookup6(fib, &p, NULL, nh, n);
}

LANES_TARGET uint32_t fib6_frames_avx512(const struct fib *fib, const struct pkt *v, unsigned at,
                                         const struct fib6_keys *keys, uint32_t *nh, unsigned n)
{
	const struct fib6_places p = fib6_frames(v, at);
	return lookup6(fib, &p, keys, nh, n);
}

#endif
