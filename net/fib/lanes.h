/*
 * Batch look-ups over vectors of LANES addresses, included by avx2.c and avx512.c only. They define
 * LANES, the number of words in a vector, and LANES_FN, the prefix of every function here, which
 * selects the instruction set.
 *
 * Each stage handles one level for the whole vector of packets, in place. The processor then has
 * the loads of several gathers in flight, which depend only on the previous stage. A compressed
 * list of the packets still at a node costs more than the lanes it saves (docs/performance.md).
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

LANES_FN lanes lanes_load(const uint32_t *p) { return *(const any_lanes *)p; }
LANES_FN void lanes_store(uint32_t *p, lanes v) { *(any_lanes *)p = v; }

/*
 * --- differs by instruction set ---
 *     any_top(e)              the top bit is set in some lane of e
 *     gather_at(base, i, e)   the word at base + 4 i in the lanes of e with the top bit set; e in
 *                             the others
 *     load_keys               for IPv6: the first and second word of n addresses, in host order;
 *                             LANES divides n
 */

#if LANES == AVX512_LANES

LANES_FN bool any_top(lanes e) { return __builtin_ia32_cvtd2mask512((signed_lanes)e); }

LANES_FN lanes gather_at(const uint8_t *base, lanes i, lanes e)
{
	return (lanes)__builtin_ia32_gathersiv16si((signed_lanes)e, base, (signed_lanes)i,
	                                           __builtin_ia32_cvtd2mask512((signed_lanes)e), 4);
}

typedef long long quads __attribute__((vector_size(64)));
typedef uint64_t unsigned_quads __attribute__((vector_size(64)));
typedef uint32_t half_lanes __attribute__((vector_size(32)));
typedef uint32_t any_half __attribute__((vector_size(32), aligned(4), may_alias));

LANES_FN void store_swapped(uint32_t *to, unsigned_quads v)
{
	half_lanes x = __builtin_convertvector(v, half_lanes);
	x = (x << 8 & 0xff00ff00) | (x >> 8 & 0x00ff00ff);
	*(any_half *)to = x << 16 | x >> 16;
}

typedef long long any_quad __attribute__((aligned(1), may_alias));

LANES_FN long long quad_at(const uint8_t *p) { return *(const any_quad *)(const void *)p; }

/* Eight scalar loads, because a gather of quads is slower. Where it is microcode (AMD Family 1Ah),
 * it takes two fifths of the time of a whole look-up (docs/performance.md). */
LANES_FN void load_keys(const uint8_t *const *dst, unsigned n, uint32_t *high, uint32_t *low)
{
	for (unsigned i = 0; i < n; i += 8) {
		const uint8_t *const *d = dst + i;
		unsigned_quads v = (unsigned_quads)(quads){
			quad_at(d[0]), quad_at(d[1]), quad_at(d[2]), quad_at(d[3]),
			quad_at(d[4]), quad_at(d[5]), quad_at(d[6]), quad_at(d[7])};
		store_swapped(high + i, v);
		store_swapped(low + i, v >> 32);
	}
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

LANES_FN void load_keys(const uint8_t *const *dst, unsigned n, uint32_t *high, uint32_t *low)
{
	for (unsigned i = 0; i < n; i++) {
		high[i] = be32_load(dst[i]);
		low[i] = be32_load(dst[i] + 4);
	}
}

#endif

/* --- common --- */

LANES_FN lanes gather(const uint8_t *base, lanes i) { return gather_at(base, i, ~(lanes){0}); }

/* trie_step() in the lanes where e is a node. */
LANES_FN lanes step(const struct fib *fib, lanes e, lanes bits)
{
	lanes order = e >> TRIE_ORDER_SHIFT & TRIE_ORDER_MASK, width = e >> TRIE_WIDTH_SHIFT & 3;
	lanes place = (e & TRIE_PLACE_MASK) * BLOCK_UNIT + (bits >> (-order & 31) << width);
	lanes word = gather_at(fib->room, place >> 2, e);
	lanes bits_of_one = ((lanes){0} + 8) << width;
	lanes value = word >> (place & 3) * 8 & ~(lanes){0} >> (32 - bits_of_one);
	lanes is_node = (lanes)((signed_lanes)e >> 31);
	return (value & is_node) | (e & ~is_node);
}

/* A last partial vector starts earlier and overlaps the one before. Repeating lanes is harmless: a
 * lane that has its leaf keeps it. */
LANES_FN void lookup4(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n)
{
	for (unsigned i = 0; i < n; i += LANES) {
		unsigned at = i + LANES <= n ? i : n - LANES;
		lanes_store(nh + at, gather(fib->room, lanes_load(dst + at) >> (32 - TRIE_TOP4)));
	}
	for (unsigned i = 0; i < n; i += LANES) {
		unsigned at = i + LANES <= n ? i : n - LANES;
		lanes e = lanes_load(nh + at), d = lanes_load(dst + at);
		if (!any_top(e))
			continue;
		e = step(fib, e, d << TRIE_TOP4);
		if (any_top(e)) /* beyond /24: rare */
			e = step(fib, e, d << 24);
		lanes_store(nh + at, e);
	}
}

/* The bits of an address from bit `start` on: 0 < start < 64. */
LANES_FN lanes bits_from(const uint32_t *high, const uint32_t *low, unsigned start)
{
	if (start >= 32)
		return lanes_load(low) << (start - 32);
	return lanes_load(high) << start | lanes_load(low) >> (32 - start);
}

/* trie_exchanged() */
LANES_FN lanes exchanged(const struct fib *fib, lanes nh)
{
	const lanes from = nh - fib->near, many = (lanes){0} + fib->many;
	lanes up = (lanes)(from < many), down = (lanes)(from - fib->apart < many);
	return nh + (up & fib->apart) - (down & fib->apart);
}

/* Look-ups that pass the first 64 bits, mostly host routes, continue one by one. */
LANES_FN void lookup6(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh, unsigned n)
{
	uint32_t high[FIB_BATCH_MAX], low[FIB_BATCH_MAX], entry[FIB_BATCH_MAX];
	const unsigned whole = n & ~(LANES - 1u), padded = (n + LANES - 1) & ~(LANES - 1u);
	bool left = false;
	load_keys(dst, whole, high, low);
	for (unsigned i = whole; i < padded; i++) {
		high[i] = i < n ? be32_load(dst[i]) : 0;
		low[i] = i < n ? be32_load(dst[i] + 4) : 0;
	}
	for (unsigned i = 0; i < padded; i += LANES) {
		lanes e = gather(fib->room, lanes_load(high + i) >> (32 - TRIE_TOP6));
		lanes_store(entry + i, e);
		left |= any_top(e);
	}
	for (unsigned start = TRIE_TOP6; left && start < 64; start += 8) {
		left = false;
		for (unsigned i = 0; i < padded; i += LANES) {
			lanes e = lanes_load(entry + i);
			if (!any_top(e))
				continue;
			e = step(fib, e, bits_from(high + i, low + i, start));
			lanes_store(entry + i, e);
			left |= any_top(e);
		}
	}
	for (unsigned i = 0; left && i < n; i++)
		if (unlikely(trie_is_node(entry[i])))
			entry[i] = fib6_lookup_from(fib, entry[i], dst[i], 8);
	for (unsigned i = 0; i < whole; i += LANES)
		lanes_store(nh + i, exchanged(fib, lanes_load(entry + i)));
	for (unsigned i = whole; i < n; i++)
		nh[i] = trie_exchanged(fib, entry[i]);
}

#endif
