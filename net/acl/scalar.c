/* The search with baseline instructions only: see search.h. */
#include "net/acl/inside.h"

/* No vector is passed to a function that is not inlined, so its ABI does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define SEARCH_FN static inline __attribute__((always_inline))
#define UNIT_WORDS 2
#define LANES 4

typedef uint64_t unit_words __attribute__((vector_size(16), may_alias));
typedef int32_t lanes __attribute__((vector_size(16)));
typedef int32_t any_lanes __attribute__((vector_size(16), aligned(4), may_alias));
typedef short shorts __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(16)));
typedef int64_t pairs __attribute__((vector_size(16)));
typedef int32_t row_words __attribute__((vector_size(16), aligned(1), may_alias));

#define BLOCKS(a, b, c, d) a, b, c, d
#define PAIRS(a, b) a, b

SEARCH_FN lanes rows(const uint8_t *const *ip, unsigned at, unsigned j)
{
	return *(const row_words *)(const void *)(ip[j] + at);
}

SEARCH_FN lanes from_be(lanes v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = (v << 8 & (int32_t)0xff00ff00) | (v >> 8 & 0x00ff00ff);
	v = v << 16 | (v >> 16 & 0xffff);
#endif
	return v;
}

SEARCH_FN uint32_t signs(lanes v)
{
#ifdef __SSE2__
	return (uint32_t)__builtin_ia32_movmskps((floats)v);
#else
	return (uint32_t)((v[0] & 1) | (v[1] & 2) | (v[2] & 4) | (v[3] & 8)); /* each is 0 or -1 */
#endif
}

SEARCH_FN unit_words unit_at(const uint64_t *word) { return *(const unit_words *)(const void *)word; }
SEARCH_FN unit_words unit_and(unit_words u, const uint64_t *word) { return u & unit_at(word); }

SEARCH_FN uint32_t first_of_unit(unit_words u)
{
	const uint32_t high = u[1] ? 64 + acl_lowest(u[1]) : 128;
	return u[0] ? acl_lowest(u[0]) : high;
}

SEARCH_FN uint32_t keys_below(const int32_t *node, int32_t key)
{
	const lanes *in = (const lanes *)(const void *)node, v = {key, key, key, key};
#ifdef __SSE2__
	/* the keys are sorted: zeros from the first that is not below */
	const shorts low = __builtin_ia32_packssdw128(v > in[0], v > in[1]);
	const shorts high = __builtin_ia32_packssdw128(v > in[2], v > in[3]);
	return (uint32_t)__builtin_ctz(~(uint32_t)__builtin_ia32_pmovmskb128(
		__builtin_ia32_packsswb128(low, high)));
#else
	lanes n = (in[0] < v) + (in[1] < v) + (in[2] < v) + (in[3] < v); /* -1 per key below */
	n += __builtin_shufflevector(n, n, 2, 3, 0, 1);
	return (uint32_t)-(n[0] + n[1]);
#endif
}

#define HAS_TOP 0
#define find_top(d, log2, key, at, n) ((void)0)
#include "net/acl/search.h"

void acl_classify_scalar(const struct acl *a, const uint8_t *const *ip, uint32_t *rule,
                         unsigned n)
{
	classify(a, ip, rule, n);
}
