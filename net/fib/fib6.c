/* IPv6 tables: fib.h over trie.h. */
#include "lib/assert.h"
#include "lib/bytes.h"
#include "net/fib/trie.h"
#include "net/fib/vector.h"

/*
 * Memory for the nodes of `routes` prefixes. In a small table some prefixes take a node of 1 KiB at
 * each of five levels (a /64 that shares nothing). In the global table most are /48 in a few ten
 * thousand /32 and share their upper levels: 160,147 prefixes take 15 MiB, 20 with large next hops.
 */
static size_t room_for(uint32_t routes)
{
	uint64_t few = 6144ull * routes + (128 << 10);
	uint64_t many = (24ull << 20) + 96ull * routes;
	return (size_t)(few < many ? few : many);
}

size_t fib6_shared_bytes(uint32_t routes)
{
	return trie_shared_bytes(TRIE_TOP6, room_for(routes));
}

size_t fib6_private_bytes(uint32_t routes, size_t shared_bytes)
{
	return trie_private_bytes(TRIE_TOP6, routes, shared_bytes);
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
	return trie_init(w, 128, TRIE_TOP6, shared, shared_bytes, priv, priv_bytes);
}

void fib6_favour(struct fib_writer *w, uint32_t near, uint32_t far)
{
	assert(fib_count(w) == 0 && near > FIB_NH_NONE && near < RECORD_NH_NARROW);
	w->fib->near = near;
	w->fib->many = RECORD_NH_NARROW - near;
	w->fib->apart = far - near;
	assert(far >= RECORD_NH_NARROW && far + w->fib->many <= FIB_NH_LIMIT);
}

int fib6_insert(struct fib_writer *w, const struct net_addr *prefix, unsigned plen, uint32_t nh)
{
	assert(w->priv->bits == 128);
	return trie_insert(w, key_of(prefix), plen, trie_exchanged(w->fib, nh));
}

int fib6_remove(struct fib_writer *w, const struct net_addr *prefix, unsigned plen)
{
	return trie_remove(w, key_of(prefix), plen);
}

uint32_t fib6_get(const struct fib_writer *w, const struct net_addr *prefix, unsigned plen)
{
	return trie_exchanged(w->fib, trie_get(w, key_of(prefix), plen));
}

bool fib6_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib6_route *out)
{
	struct fib_key prefix;
	uint32_t leaf;
	if (!trie_next(w, cursor, &prefix, &leaf))
		return false;
	*out = (struct fib6_route){addr_of(prefix), trie_exchanged(w->fib, leaf_nh(leaf)),
	                           (uint8_t)leaf_plen(leaf)};
	return true;
}

/* The first level's entry for an address, from its first two bytes. */
static uint32_t top_of(const struct fib *fib, const uint8_t *dst)
{
	return trie_top(fib, be16_load(dst));
}

/* The depth of the trie bounds the loop: after the last byte of an address there are only
 * leaves. */
uint32_t fib6_lookup_from(const struct fib *fib, uint32_t e, const uint8_t *dst, unsigned b)
{
	for (; trie_is_node(e); b++)
		e = trie_step(fib, e, (uint32_t)dst[b] << 24);
	return e;
}

uint32_t fib6_lookup(const struct fib *fib, const uint8_t *dst)
{
	return trie_exchanged(fib, fib6_lookup_from(fib, top_of(fib, dst), dst, 2));
}

/*
 * Works in stages over the vector like IPv4 (fib4.c gives the reasons). Each stage reads the
 * entries that the previous one prefetched, and prefetches the next. It has no branch, so it also
 * computes a place for a leaf; nothing reads that place before it is overwritten.
 */
static inline __attribute__((always_inline)) void
lookup_scalar(const struct fib *fib, const struct fib6_places *p, uint32_t *nh, unsigned n)
{
	uint32_t place[FIB_BATCH_MAX];
	uint16_t deep[FIB_BATCH_MAX];
	unsigned left = 0;
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *dst = fib6_place(p, i);
		uint32_t e = top_of(fib, dst);
		nh[i] = e;
		place[left] = trie_place(e, (uint32_t)dst[2] << 24);
		__builtin_prefetch(&fib->room[place[left]]);
		deep[left] = (uint16_t)i;
		left += e >> 31;
	}
	for (unsigned b = 3; left; b++) {
		unsigned more = 0;
		for (unsigned k = 0; k < left; k++) {
			unsigned i = deep[k];
			uint32_t e = trie_cut(fib, nh[i], place[k]);
			nh[i] = e;
			/* more <= k: this element was already read */
			place[more] = trie_place(e, (uint32_t)fib6_place(p, i)[b % 16] << 24);
			__builtin_prefetch(&fib->room[place[more]]);
			deep[more] = (uint16_t)i;
			more += e >> 31;
		}
		left = more;
	}
	for (unsigned i = 0; fib->many && i < n; i++)
		nh[i] = trie_exchanged(fib, nh[i]);
}

void fib6_lookup_batch(const struct fib *fib, const uint8_t *const *dst, uint32_t *nh, unsigned n)
{
	const struct fib6_places p = fib6_pointers(dst);
	assert(n <= FIB_BATCH_MAX);
	if (FIB_VECTORS && n >= AVX512_LANES && fib->path == FIB_AVX512)
		fib6_lookup_avx512(fib, dst, nh, n);
	else if (FIB_VECTORS && n >= AVX2_LANES && fib->path == FIB_AVX2)
		fib6_lookup_avx2(fib, dst, nh, n);
	else
		lookup_scalar(fib, &p, nh, n);
}

uint32_t fib6_lookup_frames(const struct fib *fib, const struct pkt *v, unsigned at, const struct fib6_keys *keys,
                            uint32_t *nh, unsigned n)
{
	const struct fib6_places p = fib6_frames(v, at);
	uint32_t least = UINT32_MAX;
	assert(n <= FIB_BATCH_MAX);
	if (FIB_VECTORS && n >= AVX512_LANES && fib->path == FIB_AVX512)
		return fib6_frames_avx512(fib, v, at, keys, nh, n);
	if (FIB_VECTORS && n >= AVX2_LANES && fib->path == FIB_AVX2)
		return fib6_frames_avx2(fib, v, at, keys, nh, n);
	lookup_scalar(fib, &p, nh, n);
	for (unsigned i = 0; i < n; i++)
		least = nh[i] < least ? nh[i] : least;
	return least;
}
