/*
 * The search by AVX-512 F and DQ: see search.h. The upper levels of a tree, up to 128 ways, are one
 * binary search in registers for 16 packets at a time. The lower levels go packet by packet, one
 * node at a time. Gathers for 16 packets would be slower than 16 node compares. Two ports of a core
 * execute 512-bit vectors; their turns are what a packet costs.
 */
#include "net/acl/inside.h"

#if ACL_VECTORS

#define SEARCH_TARGET __attribute__((target("avx512f,avx512dq,bmi,popcnt")))
#define SEARCH_FN static inline __attribute__((always_inline)) SEARCH_TARGET
#define UNIT_WORDS 8
#define LANES 16

typedef int32_t lanes __attribute__((vector_size(64)));
typedef uint32_t unsigned_lanes __attribute__((vector_size(64)));
typedef long long quads __attribute__((vector_size(64)));
typedef long long half_quads __attribute__((vector_size(32)));
typedef int64_t pairs __attribute__((vector_size(64)));
typedef int32_t row_words __attribute__((vector_size(16), aligned(1), may_alias));
typedef int32_t any_lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef long long unit_words __attribute__((vector_size(64), may_alias));
typedef long long half_words __attribute__((vector_size(32), may_alias));

#define NOT_EQUAL 4 /* Intel SDM Vol. 2, VPCMPD */
#define GREATER 6

/* The compilers' own headers are not available in this tree. VPERMD: key[h & 15]; VPERMI2D: key[h &
 * 31]. */
#ifdef __clang__
#define PERMUTE(key, h) __builtin_ia32_permvarsi512((key)[0], h)
#define PERMUTE2(key, h) __builtin_ia32_vpermi2vard512((key)[0], h, (key)[1])
#define ADD_IF(mask, a, b) ((lanes)__builtin_ia32_selectd_512(mask, (a) + (b), a))
#define JOIN(low, high)                                                                            \
	__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define PERMUTE(key, h) __builtin_ia32_permvarsi512_mask((key)[0], h, (lanes){0}, 0xffff)
#define PERMUTE2(key, h) __builtin_ia32_vpermt2vard512_mask(h, (key)[0], (key)[1], 0xffff)
#define ADD_IF(mask, a, b) __builtin_ia32_paddd512_mask(a, b, a, mask)
/* The shuffle that clang is given becomes two more moves with GCC. */
#define JOIN(low, high)                                                                            \
	((lanes)__builtin_ia32_inserti64x4_mask((quads)__builtin_ia32_si512_256si(low),                \
	                                        (half_quads)(high), 1, (quads){0}, 0xff))
#endif

#define BLOCKS(a, b, c, d)                                                                         \
	a, b, c, d, (a) + 4, (b) + 4, (c) + 4, (d) + 4, (a) + 8, (b) + 8, (c) + 8, (d) + 8, (a) + 12,  \
		(b) + 12, (c) + 12, (d) + 12
#define PAIRS(a, b) a, b, (a) + 2, (b) + 2, (a) + 4, (b) + 4, (a) + 6, (b) + 6

SEARCH_FN lanes rows(const uint8_t *const *ip, unsigned at, unsigned j)
{
	const row_words *row[4];
	UNROLL
	for (unsigned b = 0; b < 4; b++)
		row[b] = (const row_words *)(const void *)(ip[j + 4 * b] + at);
	return JOIN(__builtin_shufflevector(*row[0], *row[1], 0, 1, 2, 3, 4, 5, 6, 7),
	            __builtin_shufflevector(*row[2], *row[3], 0, 1, 2, 3, 4, 5, 6, 7));
}

/* Two rotations and a selection: VPSHUFB would need AVX-512 BW. */
SEARCH_FN lanes from_be(lanes v)
{
	const unsigned_lanes u = (unsigned_lanes)v;
	return (lanes)(((u << 8 | u >> 24) & 0x00ff00ffu) | ((u >> 8 | u << 24) & 0xff00ff00u));
}

SEARCH_FN uint32_t signs(lanes v)
{
	return (uint16_t)__builtin_ia32_cvtd2mask512(v);
}

SEARCH_FN unit_words unit_at(const uint64_t *word) { return *(const unit_words *)(const void *)word; }
SEARCH_FN unit_words unit_and(unit_words u, const uint64_t *word) { return u & unit_at(word); }

/*
 * TZCNT of 0 is the operand's width, so an empty unit gives 32 * 64 and more. The store and the load of
 * a word leave the two ports of 512-bit vectors free, where VPCOMPRESSQ would need three turns. The halves
 * are stored one by one: on an Intel Xeon of family 6, model 207, a load from the upper half of a store of
 * 64 bytes is not forwarded and takes 14 cycles.
 */
SEARCH_FN uint32_t first_of_unit(unit_words u)
{
	const unsigned some = (uint8_t)__builtin_ia32_cmpq512_mask(u, (unit_words){0}, NOT_EQUAL, 0xff);
	const uint32_t w = __builtin_ia32_tzcnt_u32(some);
	uint64_t word[32 + 1] __attribute__((aligned(CACHE_LINE)));
	half_words *half = (half_words *)(void *)word;
	half[0] = __builtin_shufflevector(u, u, 0, 1, 2, 3);
	half[1] = __builtin_shufflevector(u, u, 4, 5, 6, 7);
	word[32] = 0;
	return w * 64 + (uint32_t)__builtin_ia32_tzcnt_u64(word[w]);
}

/* The compiler takes 16 bits of a POPCNT of 16 bits again. */
SEARCH_FN uint32_t bits_of(uint16_t mask)
{
	uint32_t bits;
	__asm__("kmovw %1, %0" : "=r"(bits) : "k"(mask));
	return (uint32_t)__builtin_popcount(bits);
}

SEARCH_FN uint32_t keys_below(const int32_t *node, int32_t key)
{
	const lanes in = *(const lanes *)(const void *)node, v = (lanes){0} + key;
	return bits_of((uint16_t)__builtin_ia32_cmpd512_mask(v, in, GREATER, 0xffff));
}

/* One step of the binary search: from node h of the heap to one of its two children. */
SEARCH_FN lanes halve(lanes h, lanes pivot, lanes key)
{
	const uint16_t above = (uint16_t)__builtin_ia32_cmpd512_mask(key, pivot, GREATER, 0xffff);
	return ADD_IF(above, h + h, (lanes){0} + 1);
}

/* The interval among the pivots: 16, 32, 64 or 128 of them, by d->steps. */
SEARCH_FN lanes top_way(const lanes *heap, uint32_t steps, lanes key)
{
	lanes h = (lanes){0} + 1;
	UNROLL
	for (unsigned s = 0; s < 4; s++)
		h = halve(h, PERMUTE(heap, h), key);
	if (steps >= 5)
		h = halve(h, PERMUTE(heap + 1, h), key);
	if (steps >= 6)
		h = halve(h, PERMUTE2(heap + 2, h), key);
	if (steps >= 7) {
		lanes upper = (h & 32) != 0;
		h = halve(h, (PERMUTE2(heap + 4, h) & ~upper) | (PERMUTE2(heap + 6, h) & upper), key);
	}
	return h - (1 << steps);
}

/* After the n keys there is space up to a whole vector. */
SEARCH_FN void find_ways(const struct acl_dim *d, uint32_t steps, uint32_t log2, const int32_t *key,
                         uint32_t *at, unsigned n)
{
	const lanes *heap = (const lanes *)(const void *)d->heap;
	for (unsigned i = 0; i < n; i += LANES)
		*(any_lanes *)(void *)&at[i] =
			top_way(heap, steps, *(const any_lanes *)(const void *)&key[i]) << log2;
}

#define HAS_TOP 1
SEARCH_FN void find_top(const struct acl_dim *d, uint32_t log2, const int32_t *key, uint32_t *at,
                        unsigned n)
{
	if (d->steps == 4)
		find_ways(d, 4, log2, key, at, n);
	else if (d->steps == 5)
		find_ways(d, 5, log2, key, at, n);
	else if (d->steps == 6)
		find_ways(d, 6, log2, key, at, n);
	else
		find_ways(d, 7, log2, key, at, n);
}

#include "net/acl/search.h"

SEARCH_TARGET void acl_classify_avx512(const struct acl *a, const uint8_t *const *ip,
                                       uint32_t *rule, unsigned n)
{
	classify(a, ip, rule, n);
}

#endif
