/*
 * Batch look-ups over vectors of LANES addresses, included by avx2.c and avx512.c only. They define
 * LANES, the number of words in a vector, and LANES_FN, the prefix of every function here, which
 * selects the instruction set.
 *
 * Each stage handles one level for the whole vector of packets, in place. The processor then has
 * the loads of several gathers in flight, which depend only on the previous stage. A compressed
 * list of the packets still at a node costs more than the lanes it saves (docs/benchmarks.md).
 *
 * Gathers load relaxed, in trie.h's sense: each lane reads a whole aligned word, and the address of
 * a second load comes from the first. The compilers' own headers are not available in this tree, so
 * the instructions use the compilers' builtin names (Intel SDM Vol. 2: VPGATHERDD, VPMOVD2M,
 * VMOVMSKPS).
 */
#ifndef NET_FIB_LANES_H
#define NET_FIB_LANES_H

#include "lib/bytes.h"
#include "net/fib/trie.h"
#include "net/fib/vector.h"

typedef uint32_t lanes __attribute__((vector_size(LANES * 4)));
typedef int32_t signed_lanes __attribute__((vector_size(LANES * 4)));
/* the same type with any 4-byte alignment */
typedef uint32_t any_lanes __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

typedef long long quads __attribute__((vector_size(LANES * 4)));
typedef long long any_quad __attribute__((aligned(1), may_alias));

LANES_FN long long quad_at(const struct fib6_places *p, unsigned i)
{
	return *(const any_quad *)(const void *)fib6_place(p, i);
}

LANES_FN lanes lanes_load(const uint32_t *p) { return *(const any_lanes *)p; }
LANES_FN void lanes_store(uint32_t *p, lanes v) { *(any_lanes *)p = v; }

/*
 * --- differs by instruction set ---
 *     any_top(e)              the top bit is set in some lane of e
 *     gather_at(base, i, e)   the word at base + 4 i in the lanes of e with the top bit set; e in
 *                             the others
 *     choose(of, i)           of[i % LANES] in each lane (VPERMD)
 *     swapped(v)              the bytes of each word in reverse order
 *     EACH_128                a list of four indices, for each 128 bits of two vectors
 *     quads_at(p, i)          8 bytes of each of the addresses i, i + 1, i + 4, i + 5, i + 8 and so on
 */

#if LANES == AVX512_LANES

LANES_FN bool any_top(lanes e) { return __builtin_ia32_cvtd2mask512((signed_lanes)e); }

LANES_FN lanes gather_at(const uint8_t *base, lanes i, lanes e)
{
	return (lanes)__builtin_ia32_gathersiv16si((signed_lanes)e, base, (signed_lanes)i,
	                                           __builtin_ia32_cvtd2mask512((signed_lanes)e), 4);
}

LANES_FN lanes choose(lanes of, lanes i)
{
#ifdef __clang__
	return (lanes)__builtin_ia32_permvarsi512((signed_lanes)of, (signed_lanes)i);
#else
	return __builtin_shuffle(of, i);
#endif
}

/* Rotations: bytes are shuffled by AVX-512 BW only. */
LANES_FN lanes swapped(lanes v)
{
	return ((v << 8 | v >> 24) & 0x00ff00ff) | ((v << 24 | v >> 8) & 0xff00ff00);
}

#define EACH_128(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, \
	a + 12, b + 12, c + 12, d + 12

/* Quads, because a gather of them is slower. Where it is microcode (AMD Family 1Ah), it takes two fifths of
 * the time of a whole look-up (docs/benchmarks.md). */
LANES_FN quads quads_at(const struct fib6_places *p, unsigned i)
{
	return (quads){quad_at(p, i), quad_at(p, i + 1), quad_at(p, i + 4), quad_at(p, i + 5),
	               quad_at(p, i + 8), quad_at(p, i + 9), quad_at(p, i + 12), quad_at(p, i + 13)};
}

#else

#ifdef __clang__
#define GATHER8 __builtin_ia32_gatherd_d256
#else
#define GATHER8 __builtin_ia32_gathersiv8si
#endif
typedef float float_lanes __attribute__((vector_size(32)));

LANES_FN bool any_top(lanes e) { return __builtin_ia32_movmskps256((float_lanes)e); }

LANES_FN lanes gather_at(const uint8_t *base, lanes i, lanes e)
{
	return (lanes)GATHER8((signed_lanes)e, (const int *)(const void *)base, (signed_lanes)i,
	                      (signed_lanes)e, 4);
}

LANES_FN lanes choose(lanes of, lanes i)
{
	return (lanes)__builtin_ia32_permvarsi256((signed_lanes)of, (signed_lanes)i);
}

LANES_FN lanes swapped(lanes v)
{
	typedef uint8_t octets __attribute__((vector_size(32)));
	const octets o = (octets)v;
	return (lanes)__builtin_shufflevector(o, o, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 19, 18,
	                                      17, 16, 23, 22, 21, 20, 27, 26, 25, 24, 31, 30, 29, 28);
}

#define EACH_128(a, b, c, d) a, b, c, d, a + 4, b + 4, c + 4, d + 4

LANES_FN quads quads_at(const struct fib6_places *p, unsigned i)
{
	return (quads){quad_at(p, i), quad_at(p, i + 1), quad_at(p, i + 4), quad_at(p, i + 5)};
}

#endif

/* --- common --- */

/* The first and second word of LANES addresses, in host order. */
LANES_FN void load_keys(const struct fib6_places *p, unsigned i, uint32_t *high, uint32_t *low)
{
	const lanes a = (lanes)quads_at(p, i), b = (lanes)quads_at(p, i + 2);
	lanes_store(high, swapped(__builtin_shufflevector(a, b, EACH_128(0, 2, LANES, LANES + 2))));
	lanes_store(low, swapped(__builtin_shufflevector(a, b, EACH_128(1, 3, LANES + 1, LANES + 3))));
}

LANES_FN lanes gather(const uint8_t *base, lanes i) { return gather_at(base, i, ~(lanes){0}); }

/* The bits of the next entry in its word, by e >> TRIE_WIDTH_SHIFT: of a node of each width, which has
 * TRIE_NODE. Of a leaf, all. */
#define WIDTHS {UINT32_MAX, 0, 0, 0, 0xff, 0xffff, UINT32_MAX, 0}

#define STEP_BITS 15u /* of an address: what a step takes */

/* Those from bit `start` of a word on, with zeros behind its end. */
LANES_FN lanes bits_from(lanes word, unsigned start)
{
	const unsigned most = 32 - STEP_BITS;
	return (start < most ? word >> (most - start) : word << (start - most)) & ((1u << STEP_BITS) - 1);
}

/*
 * trie_step() in the lanes where e is a node; e in the others. bits: the address from the node's first bit
 * on, STEP_BITS of it. A leaf has order and width 0, so its index and its shift are 0, and the mask is
 * whole: no lane needs a choice.
 */
LANES_FN lanes step(const struct fib *fib, lanes widths, lanes e, lanes bits)
{
	const lanes width = e >> TRIE_WIDTH_SHIFT;
	const lanes index = bits >> (~(e >> TRIE_ORDER_SHIFT) & TRIE_ORDER_MASK);
	const lanes place = (e & TRIE_PLACE_MASK) * BLOCK_UNIT + (index << (width & 3));
	return gather_at(fib->room, place >> 2, e) >> (place & 3) * 8 & choose(widths, width);
}

/* Where the vector at i begins: the last one begins earlier and overlaps the one before. */
LANES_FN unsigned from(unsigned i, unsigned n)
{
	return i + LANES <= n ? i : n - LANES;
}

/* Repeating lanes is harmless: a lane that has its leaf keeps it. */
LANES_FN void lookup4(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n)
{
	const lanes widths = WIDTHS;
	for (unsigned i = 0; i < n; i += LANES)
		lanes_store(nh + from(i, n),
		            gather(fib->room, lanes_load(dst + from(i, n)) >> (32 - TRIE_TOP4)));
	for (unsigned i = 0; i < n; i += LANES) {
		lanes e = lanes_load(nh + from(i, n)), d = lanes_load(dst + from(i, n));
		if (!any_top(e))
			continue;
		e = step(fib, widths, e, bits_from(d, TRIE_TOP4));
		if (any_top(e)) /* beyond /24: rare */
			e = step(fib, widths, e, bits_from(d, 24));
		lanes_store(nh + from(i, n), e);
	}
}

/*
 * The first level of n look-ups by `high`. The last vector's addresses have entries of their own, so no entry
 * goes twice through one level. Returns whether any entry is a node; so does level6.
 */
LANES_FN bool top6(const struct fib *fib, const uint32_t *high, uint32_t *entry, unsigned n)
{
	lanes all = {0};
	for (unsigned i = 0; i < n; i += LANES) {
		const lanes e = gather(fib->room, lanes_load(high + from(i, n)) >> (32 - TRIE_TOP6));
		lanes_store(entry + i, e);
		all |= e;
	}
	return any_top(all);
}

/* The level that begins at bit `start` of `word`. */
LANES_FN bool level6(const struct fib *fib, const uint32_t *word, unsigned start, uint32_t *entry,
                     unsigned n)
{
	const lanes widths = WIDTHS;
	lanes all = {0};
	for (unsigned i = 0; i < n; i += LANES) {
		lanes e = lanes_load(entry + i);
		if (!any_top(e))
			continue;
		e = step(fib, widths, e, bits_from(lanes_load(word + from(i, n)), start));
		lanes_store(entry + i, e);
		all |= e;
	}
	return any_top(all);
}

/* trie_exchanged() of n entries. Numbers are below 1 << 31, so comparisons may be signed behind a bias. Returns
 * the least result. */
LANES_FN uint32_t exchange(const struct fib *fib, const uint32_t *entry, uint32_t *nh, unsigned n)
{
	const uint32_t bias = 1u << 31;
	const lanes near = (lanes){0} + (fib->near - bias), apart = (lanes){0} + fib->apart;
	const signed_lanes many = (signed_lanes)((lanes){0} + (fib->many - bias));
	lanes least = (lanes){0} + FIB_NH_LIMIT;
	uint32_t result = FIB_NH_LIMIT;
	for (unsigned i = 0; i < n; i += LANES) {
		const lanes hop = lanes_load(entry + i), at = hop - near;
		const lanes up = (lanes)((signed_lanes)at < many);
		const lanes down = (lanes)((signed_lanes)(at - apart) < many);
		const lanes to = hop + (up & apart) - (down & apart);
		const lanes less = (lanes)((signed_lanes)to < (signed_lanes)least);
		lanes_store(nh + from(i, n), to);
		least = (to & less) | (least & ~less);
	}
	for (unsigned k = 0; k < LANES; k++)
		result = least[k] < result ? least[k] : result;
	return result;
}

/* Look-ups that pass the first 64 bits, mostly host routes, continue one by one. */
LANES_FN uint32_t lookup6(const struct fib *fib, const struct fib6_places *p, const struct fib6_keys *keys,
                          uint32_t *nh, unsigned n)
{
	struct fib6_keys loaded;
	uint32_t entry[FIB_BATCH_MAX];
	for (unsigned i = 0; !keys && i < n; i += LANES)
		load_keys(p, from(i, n), loaded.high + from(i, n), loaded.low + from(i, n));
	const uint32_t *high = keys ? keys->high : loaded.high, *low = keys ? keys->low : loaded.low;
	bool left = top6(fib, high, entry, n);
	left = left && level6(fib, high, 16, entry, n);
	left = left && level6(fib, high, 24, entry, n);
	left = left && level6(fib, low, 0, entry, n);
	left = left && level6(fib, low, 8, entry, n);
	left = left && level6(fib, low, 16, entry, n);
	left = left && level6(fib, low, 24, entry, n);
	for (unsigned i = 0; left && i < n; i += LANES)
		for (unsigned k = 0; k < LANES; k++)
			if (unlikely(trie_is_node(entry[i + k])))
				entry[i + k] = fib6_lookup_from(fib, entry[i + k], fib6_place(p, from(i, n) + k), 8);
	return exchange(fib, entry, nh, n);
}
_Static_assert(TRIE_TOP6 == 16, "lookup6 begins there");

#endif
