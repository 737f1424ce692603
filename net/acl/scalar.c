/* The search with baseline instructions only: see search.h. */
#include "net/acl/inside.h"

#define SEARCH_FN static inline __attribute__((always_inline))
#define UNIT_WORDS 1

typedef uint64_t unit_words;

SEARCH_FN unit_words unit_at(const uint64_t *word) { return *word; }
SEARCH_FN unit_words unit_and(unit_words u, const uint64_t *word) { return u & *word; }

SEARCH_FN uint32_t first_of_unit(unit_words u)
{
	return u ? acl_lowest(u) : 64;
}

typedef int32_t lanes __attribute__((vector_size(16)));

SEARCH_FN uint32_t keys_below(const int32_t *node, int32_t key)
{
	const lanes *in = (const lanes *)(const void *)node, v = {key, key, key, key};
	lanes n = (in[0] < v) + (in[1] < v) + (in[2] < v) + (in[3] < v); /* -1 per key below */
	n += __builtin_shufflevector(n, n, 2, 3, 0, 1);
	return (uint32_t)-(n[0] + n[1]);
}

#define HAS_TOP 0
#define find_top(d, key, at, n) ((void)0)
#include "net/acl/search.h"

void acl_search_scalar(const struct acl *a, const struct acl_keys *k, uint32_t *rule, unsigned n)
{
	search(a, k, rule, n);
}
