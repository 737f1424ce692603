/* IPv6 tables: fib.h over trie.h. */
#include "lib/assert.h"
#include "lib/bytes.h"
#include "net/fib/trie.h"

/*
 * Trie nodes for `routes` prefixes: as many as six each (a /64 that shares nothing) while they are
 * few, one each when they are many. In the global table, 230,000 prefixes at this writing, most are
 * /48 in a few ten thousand /32, and share their upper levels; that has been reckoned, not
 * measured: no such table is at hand.
 */
static uint32_t nodes_for(uint32_t routes)
{
	uint64_t few = 6ull * routes + 128;
	uint64_t many = 32768ull + routes;
	return (uint32_t)(few < many ? few : many);
}

size_t fib6_shared_bytes(uint32_t routes)
{
	return trie_bytes(nodes_for(routes));
}

size_t fib6_private_bytes(uint32_t routes)
{
	return trie_private_bytes(nodes_for(routes), routes);
}

static uint64_t pair_of(uint32_t high, uint32_t low)
{
	return (uint64_t)be32_get((be32_t){high}) << 32 | be32_get((be32_t){low});
}

static struct fib_key key_of(const struct net_addr *a)
{
	return (struct fib_key){pair_of(a->w[0], a->w[1]), pair_of(a->w[2], a->w[3])};
}

static struct net_addr addr_of(struct fib_key k)
{
	return (struct net_addr){{be32_make((uint32_t)(k.hi >> 32)).raw, be32_make((uint32_t)k.hi).raw,
	                          be32_make((uint32_t)(k.lo >> 32)).raw, be32_make((uint32_t)k.lo).raw}};
}

int fib6_init(struct fib_writer *w, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes)
{
	return trie_init(w, 128, shared, shared_bytes, priv, priv_bytes);
}

int fib6_insert(struct fib_writer *w, const struct net_addr *prefix, unsigned plen, uint32_t nh)
{
	assert(w->rib->bits == 128);
	return trie_insert(w, key_of(prefix), plen, nh);
}

int fib6_remove(struct fib_writer *w, const struct net_addr *prefix, unsigned plen)
{
	return trie_remove(w, key_of(prefix), plen);
}

uint32_t fib6_get(const struct fib_writer *w, const struct net_addr *prefix, unsigned plen)
{
	return trie_get(w, key_of(prefix), plen);
}

bool fib6_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib6_route *out)
{
	const struct rib_node *n = trie_next(w, cursor);
	if (!n)
		return false;
	*out = (struct fib6_route){addr_of(n->prefix), leaf_nh(n->leaf), (uint8_t)leaf_plen(n->leaf)};
	return true;
}

/* The level-1 entry for an address: its first two bytes. */
static const uint32_t *level1_at(const struct fib *fib, const uint8_t *dst)
{
	return &fib->level1[be16_load(dst)];
}

uint32_t fib6_lookup(const struct fib *fib, const uint8_t *dst)
{
	uint32_t e = trie_load(level1_at(fib, dst));
	for (unsigned b = 2; trie_is_node(e); b++)
		e = trie_load(&fib->node[e & TRIE_VALUE][dst[b]]);
	return e & TRIE_VALUE;
}

/*
 * By stages over the vector as fib4_lookup_batch, which has the reasons. The first stage goes down
 * to the 32nd bit, what providers are given: few nodes for much traffic, which stay in the caches,
 * so that a processor overlaps the walks of several addresses by itself. Each further stage is a
 * level: it reads the entries that the one before has asked for, and asks for the next. Without a
 * branch, so for a leaf too: that makes an address nobody reads from (at[] is overwritten).
 *
 * The depth of a trie ends it: behind the last byte of an address there are only leaves.
 */
void fib6_lookup_batch(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh, unsigned n)
{
	const uint32_t *at[FIB_BATCH_MAX];
	uint16_t deep[FIB_BATCH_MAX];
	unsigned left = 0;
	assert(n <= FIB_BATCH_MAX);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *d = dst[i];
		uint32_t e = trie_load(level1_at(fib, d));
		for (unsigned b = 2; b < 4 && trie_is_node(e); b++)
			e = trie_load(&fib->node[e & TRIE_VALUE][d[b]]);
		nh[i] = e & TRIE_VALUE;
		at[left] = &fib->node[e & TRIE_VALUE][d[4]];
		__builtin_prefetch(at[left]);
		deep[left] = (uint16_t)i;
		left += e >> 31;
	}
	for (unsigned b = 5; left; b++) {
		unsigned more = 0;
		for (unsigned k = 0; k < left; k++) {
			unsigned i = deep[k];
			uint32_t e = trie_load(at[k]);
			nh[i] = e & TRIE_VALUE;
			/* more <= k: already read */
			at[more] = &fib->node[e & TRIE_VALUE][dst[i][b % 16]];
			__builtin_prefetch(at[more]);
			deep[more] = (uint16_t)i;
			more += e >> 31;
		}
		left = more;
	}
}
