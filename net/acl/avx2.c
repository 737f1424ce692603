/* The search by AVX2: see search.h. */
#include "net/acl/inside.h"

#if ACL_VECTORS

#define SEARCH_TARGET __attribute__((target("avx2,popcnt")))
#define SEARCH_FN static inline __attribute__((always_inline)) SEARCH_TARGET
#define UNIT_WORDS 4
#define LANES 8

typedef int32_t lanes __attribute__((vector_size(32)));
typedef int32_t any_lanes __attribute__((vector_size(32), aligned(4), may_alias));
typedef float floats __attribute__((vector_size(32)));
typedef double doubles __attribute__((vector_size(32)));
typedef int64_t pairs __attribute__((vector_size(32)));
typedef int32_t row_words __attribute__((vector_size(16), aligned(1), may_alias));
typedef char bytes __attribute__((vector_size(32)));
typedef int64_t unit_words __attribute__((vector_size(32), may_alias));
typedef int64_t any_unit __attribute__((vector_size(32), aligned(8), may_alias));

#define BLOCKS(a, b, c, d) a, b, c, d, (a) + 4, (b) + 4, (c) + 4, (d) + 4
#define PAIRS(a, b) a, b, (a) + 2, (b) + 2

SEARCH_FN lanes rows(const uint8_t *const *ip, unsigned at, unsigned j)
{
	const row_words *low = (const row_words *)(const void *)(ip[j] + at);
	const row_words *high = (const row_words *)(const void *)(ip[j + 4] + at);
	return __builtin_shufflevector(*low, *high, 0, 1, 2, 3, 4, 5, 6, 7);
}

SEARCH_FN lanes from_be(lanes v)
{
	const bytes order = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
	                     3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
	return (lanes)__builtin_ia32_pshufb256((bytes)v, order);
}

SEARCH_FN uint32_t signs(lanes v)
{
	return (uint32_t)__builtin_ia32_movmskps256((floats)v);
}

SEARCH_FN unit_words unit_at(const uint64_t *word) { return *(const unit_words *)(const void *)word; }
SEARCH_FN unit_words unit_and(unit_words u, const uint64_t *word) { return u & unit_at(word); }

SEARCH_FN uint32_t first_of_unit(unit_words u)
{
	uint64_t word[UNIT_WORDS + 1];
	*(any_unit *)(void *)word = u;
	word[UNIT_WORDS] = 1;
	uint32_t empty = (uint32_t)__builtin_ia32_movmskpd256((doubles)(u == 0));
	uint32_t w = (uint32_t)__builtin_ctz(~empty); /* UNIT_WORDS: all words are empty */
	return w * 64 + acl_lowest(word[w]);
}

SEARCH_FN uint32_t keys_below(const int32_t *node, int32_t key)
{
	const lanes *in = (const lanes *)(const void *)node, v = (lanes){0} + key;
	uint32_t low = (uint32_t)__builtin_ia32_movmskps256((floats)(in[0] < v));
	uint32_t high = (uint32_t)__builtin_ia32_movmskps256((floats)(in[1] < v));
	return (uint32_t)__builtin_popcount(low | high << 8);
}

#define HAS_TOP 0
#define find_top(d, log2, key, at, n) ((void)0)
#include "net/acl/search.h"

SEARCH_TARGET void acl_classify_avx2(const struct acl *a, const uint8_t *const *ip, uint32_t *rule,
                                     unsigned n)
{
	classify(a, ip, rule, n);
}

#endif
