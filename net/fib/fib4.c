/* IPv4 tables: fib.h over trie.h. */
#include "lib/assert.h"
#include "net/fib/trie.h"
#include "net/fib/vector.h"

#define TOP_SHIFT (32 - TRIE_TOP4)

/*
 * Memory for the nodes of `routes` prefixes. In a small table most prefixes are /24 in a separate
 * node of 128 entries. The global table's 901,899 prefixes take 3.9 MiB, 7.7 with large next hops,
 * and no subset of it takes more. The rest is for other distributions, for growth, and for nodes
 * that wait for fib_reclaim(). A million prefixes get 16 MiB in all.
 */
static size_t room_for(uint32_t routes)
{
	uint64_t few = 288ull * routes + 8192;
	uint64_t many = (9ull << 20) + 6ull * routes;
	return (size_t)(few < many ? few : many);
}

size_t fib4_shared_bytes(uint32_t routes)
{
	return trie_shared_bytes(TRIE_TOP4, room_for(routes));
}

size_t fib4_private_bytes(uint32_t routes, size_t shared_bytes)
{
	return trie_private_bytes(TRIE_TOP4, routes, shared_bytes);
}

static struct fib_key key_of(uint32_t addr)
{
	return (struct fib_key){(uint64_t)addr << 32, 0};
}

int fib4_init(struct fib_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes)
{
	return trie_init(w, 32, TRIE_TOP4, shared, shared_bytes, priv, priv_bytes);
}

int fib4_insert(struct fib_writer *w, uint32_t prefix, unsigned plen, uint32_t nh)
{
	assert(w->priv->bits == 32);
	return trie_insert(w, key_of(prefix), plen, nh);
}

int fib4_remove(struct fib_writer *w, uint32_t prefix, unsigned plen)
{
	return trie_remove(w, key_of(prefix), plen);
}

uint32_t fib4_get(const struct fib_writer *w, uint32_t prefix, unsigned plen)
{
	return trie_get(w, key_of(prefix), plen);
}

bool fib4_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib4_route *out)
{
	struct fib_key prefix;
	uint32_t leaf;
	if (!trie_next(w, cursor, &prefix, &leaf))
		return false;
	*out = (struct fib4_route){(uint32_t)(prefix.hi >> 32), leaf_nh(leaf),
	                           (uint8_t)leaf_plen(leaf)};
	return true;
}

uint32_t fib4_lookup(const struct fib *fib, uint32_t dst)
{
	uint32_t e = trie_top(fib, dst >> TOP_SHIFT);
	if (trie_is_node(e)) {
		e = trie_step(fib, e, dst << TRIE_TOP4);
		if (trie_is_node(e))
			e = trie_step(fib, e, dst << 24);
	}
	return e;
}

/*
 * Works in stages over the vector, so that the loads of one level are independent and overlap.
 * `deep` collects, without a branch, the packets whose entry was a node. Between stages nh[] holds
 * the entry and place[] where it leads. The second level is prefetched before its first use; the
 * third level is too rare to need it.
 */
static void lookup_scalar(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n)
{
	uint32_t place[FIB_BATCH_MAX];
	uint16_t deep[FIB_BATCH_MAX];
	unsigned left = 0;
	for (unsigned i = 0; i < n; i++) {
		uint32_t e = trie_top(fib, dst[i] >> TOP_SHIFT);
		nh[i] = e;
		place[left] = trie_place(e, dst[i] << TRIE_TOP4);
		__builtin_prefetch(&fib->room[place[left]]);
		deep[left] = (uint16_t)i;
		left += e >> 31;
	}
	for (unsigned k = 0; k < left; k++) {
		unsigned i = deep[k];
		uint32_t e = trie_cut(fib, nh[i], place[k]);
		nh[i] = unlikely(trie_is_node(e)) ? trie_step(fib, e, dst[i] << 24) : e;
	}
}

void fib4_lookup_batch(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n)
{
	assert(n <= FIB_BATCH_MAX);
	if (FIB_VECTORS && n >= AVX512_LANES && fib->path == FIB_AVX512)
		fib4_lookup_avx512(fib, dst, nh, n);
	else if (FIB_VECTORS && n >= AVX2_LANES && fib->path == FIB_AVX2)
		fib4_lookup_avx2(fib, dst, nh, n);
	else
		lookup_scalar(fib, dst, nh, n);
}
