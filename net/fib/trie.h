/*
 * The table that readers see (for net/fib alone): a multibit trie with a first stride of 16 bits
 * and further ones of 8, two of them for IPv4, fourteen for IPv6.
 *
 * Why this one: the whole first level is 256 KiB, so it stays in a core's L2 cache; most of IPv4's
 * global table is decided by the second load (DIR-24-8 needs a 64 MiB first level, a cache miss
 * for almost every packet of mixed traffic); and an update writes entries in place instead of
 * rebuilding. 901,899 IPv4 prefixes make 25,849 nodes: 26 MiB. Figures: tests/bench/fib_bench.c.
 * For IPv6 a prefix of length l takes (l - 16) / 8 loads, four for the usual /48, and a lonely long
 * one a node of 1 KiB at each of its levels: hosts on a link are not kept here (net/fib/host6.h).
 *
 * Reader-visible part (struct fib): level 1, 65,536 entries, by the top 16 bits; then nodes of 256
 * entries, by the next 8 bits each. An entry is one word:
 *     node   bit 31 set, bits 0-22 number of the node to go on with
 *     leaf   bits 23-30 length of the prefix it stems from, bits 0-22 next hop, or 0 for none
 * Leaves are pushed down: whatever level a look-up ends in, the leaf is the whole answer.
 *
 * Writer-private part (struct fib_rib): the prefixes (rib.h), and for each trie node in use the
 * number of prefixes and child nodes that need it.
 *
 * Invariants
 * 1. A leaf of length l at an address is the longest prefix covering that address. So a prefix of
 *    length l may overwrite, in its range, exactly the leaves of length <= l; and when it goes,
 *    those of length l are its own.
 * 2. A node is linked only after it is filled (release store), and filled with the leaf it
 *    replaces, so linking changes no answer. Unlinking likewise: all its leaves are alike by then.
 * 3. A node that was linked is written again as something else only after fib_reclaim().
 * 4. Memory is counted before the first change; after that nothing can fail.
 *
 * Readers load entries relaxed: the second load's address depends on the first load's value, which
 * orders them on every CPU we build for.
 */
#ifndef NET_FIB_TRIE_H
#define NET_FIB_TRIE_H

#include "net/fib/rib.h"

#define TRIE_L1_ENTRIES 65536u
#define TRIE_NODE_ENTRIES 256u
#define TRIE_DEPTH_MAX 14 /* levels of nodes: (128 - 16) / 8 */

#define TRIE_NODE (1u << 31)
#define TRIE_VALUE (FIB_NH_LIMIT - 1)

struct fib {
	uint32_t level1[TRIE_L1_ENTRIES];
	uint32_t node[][TRIE_NODE_ENTRIES];
};

struct fib_rib {
	unsigned bits; /* of an address: 32 or 128 */
	struct rib rib;
	struct number_pool free; /* trie nodes; the list goes through link[] */
	uint32_t retired;        /* list through link[], when retired_count */
	uint32_t retired_last;
	uint32_t retired_count;
	/* per trie node: in use: prefixes that end in it and nodes below it; else next in list */
	uint32_t *link;
};

static inline uint32_t trie_load(const uint32_t *entry)
{
	return __atomic_load_n(entry, __ATOMIC_RELAXED);
}

static inline bool trie_is_node(uint32_t entry) { return entry & TRIE_NODE; }

/* Bytes of a shared part with that many nodes. */
static inline size_t trie_bytes(uint32_t nodes)
{
	return sizeof(struct fib) + (size_t)nodes * TRIE_NODE_ENTRIES * sizeof(uint32_t);
}

/* Bytes of the private part beside it, for so many prefixes. */
size_t trie_private_bytes(uint32_t nodes, uint32_t routes);

/* What fib.h says of fib4_ and fib6_, for keys of `bits` bits. */
int trie_init(struct fib_writer *w, unsigned bits, void *shared, size_t shared_bytes, void *priv,
              size_t priv_bytes);
int trie_insert(struct fib_writer *w, struct fib_key prefix, unsigned plen, uint32_t nh);
int trie_remove(struct fib_writer *w, struct fib_key prefix, unsigned plen);
uint32_t trie_get(const struct fib_writer *w, struct fib_key prefix, unsigned plen);
const struct rib_node *trie_next(const struct fib_writer *w, struct fib_cursor *cursor);

#endif
