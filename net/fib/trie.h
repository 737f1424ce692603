/*
 * The table that readers see (for net/fib alone): a multibit trie, of which the first level is a
 * table of the top 17 bits of an IPv4 address (16 of an IPv6 one) and the others go on to the next
 * whole byte and then by bytes: 17, 7, 8 for IPv4; 16 and fourteen times 8 for IPv6.
 *
 * Why this one. A look-up costs what it does not find in the core's caches, so the table has to be
 * small, and its loads few and known early, that many can be under way. A node therefore has as
 * many entries as the longest prefix that ends in it needs, 2 to 256 ("order" 1 to 8: it is indexed
 * by so many bits, and those behind up to the next level make no difference), and entries of one
 * byte as long as the next hops are small numbers. That is controlled prefix expansion (Srinivasan
 * and Varghese, 1998) with the width of an entry as one more thing that varies. The global table
 * takes 4.4 MiB, of which the first level is half a MiB. What else was tried, and the figures:
 * docs/performance.md.
 *
 * Reader-visible part (struct fib): the first level, then nodes (blocks.h). An entry of the first
 * level, and of a node of width 2, is a word:
 *     node   bit 31 set, bits 29-30 width, 25-28 order, 0-24 place, in units of 8 bytes of room[]
 *     leaf   next hop, or 0 for none
 * The entries of a node of width 1 are leaves of two bytes, of width 0 of one byte. Leaves are
 * pushed down: whatever level a look-up ends in, the leaf is the whole answer.
 *
 * Writer-private part (struct fib_private): the prefixes (record.h), and for each leaf the length of
 * the prefix it stems from.
 *
 * Invariants
 * 1. A leaf of length l at an address is the longest prefix covering that address. So a prefix of
 *    length l may overwrite, in its range, exactly the leaves of length <= l; and when it goes,
 *    those of length l are its own.
 * 2. A node is linked only after it is filled (release store), and filled with what it replaces
 *    but for the change that it is made for. Unlinking likewise.
 * 3. A node that was linked is written again as something else only after fib_reclaim().
 * 4. Memory is counted before the first change; after that nothing can fail.
 * 5. Of a node, some leaf has a length beyond the level's first bit, or some entry is a node; in
 *    one of width below 2 the longest leaf has all bits of its order. But for want of memory: then
 *    it is larger.
 * 6. A node of width 2 has the whole order of its level. In one of width 0 every prefix that covers
 *    it, or ends in it, has a next hop below 256, visible or not: so a removal, which uncovers one,
 *    finds room in the entry.
 *
 * Readers load entries relaxed: the second load's address depends on the first load's value, which
 * orders them on every CPU we build for. They load the aligned word around a narrow entry and cut
 * it out, alike in the vector paths, where that is the only load there is.
 */
#ifndef NET_FIB_TRIE_H
#define NET_FIB_TRIE_H

#include "net/fib/blocks.h"
#include "net/fib/record.h"

#define TRIE_TOP4 17u
#define TRIE_TOP6 16u
#define TRIE_DEPTH_MAX 14 /* levels of nodes: (128 - 16) / 8 */

#define TRIE_NODE (1u << 31)
#define TRIE_WIDTH_SHIFT 29
#define TRIE_ORDER_SHIFT 25
#define TRIE_ORDER_MASK 15u
#define TRIE_PLACE_MASK ((1u << TRIE_ORDER_SHIFT) - 1)
#define TRIE_ROOM_MAX ((size_t)BLOCK_UNIT << TRIE_ORDER_SHIFT)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "trie_cut takes entries out of words");

struct fib {
	uint32_t path; /* enum fib_path */
	uint32_t unused[15];
	uint8_t room[];
};

struct fib_private {
	unsigned bits; /* of an address: 32 or 128 */
	unsigned top;  /* that the first level decides */
	struct record record;
	struct blocks blocks; /* room[] behind the first level */
	uint8_t *top_length;  /* of the first level's leaves; TRIE_IS_NODE for an entry that is none */
};

#define TRIE_IS_NODE 255

static inline uint32_t trie_load(const void *word)
{
	return __atomic_load_n((const uint32_t *)word, __ATOMIC_RELAXED);
}

static inline bool trie_is_node(uint32_t entry) { return entry & TRIE_NODE; }

/* Where in room[] the entry lies that a node's entry e leads to; bits: those of the address from
 * the node's first one on, at the top of the word. */
static inline uint32_t trie_place(uint32_t e, uint32_t bits)
{
	unsigned order = e >> TRIE_ORDER_SHIFT & TRIE_ORDER_MASK, width = e >> TRIE_WIDTH_SHIFT & 3;
	/* order 0: of a leaf, where nobody will look */
	return (e & TRIE_PLACE_MASK) * BLOCK_UNIT + (bits >> (-order & 31) << width);
}

/* The entry at that place. */
static inline uint32_t trie_cut(const struct fib *fib, uint32_t e, uint32_t place)
{
	unsigned width_bits = 8u << (e >> TRIE_WIDTH_SHIFT & 3);
	uint32_t word = trie_load(&fib->room[place & ~3u]);
	return word >> place % 4 * 8 & ~0u >> (32 - width_bits);
}

static inline uint32_t trie_step(const struct fib *fib, uint32_t e, uint32_t bits)
{
	return trie_cut(fib, e, trie_place(e, bits));
}

/* The first level's entry for the number that an address's top bits are. */
static inline uint32_t trie_top(const struct fib *fib, uint32_t top)
{
	return trie_load(&fib->room[top * 4]);
}

static inline size_t trie_top_bytes(unsigned top) { return (size_t)4 << top; }

/* Bytes of a shared part with so much room for nodes, */
size_t trie_shared_bytes(unsigned top, size_t nodes);

/* and of the private part beside one of so many bytes, for so many prefixes. */
size_t trie_private_bytes(unsigned top, uint32_t routes, size_t shared_bytes);

/* What fib.h says of fib4_ and fib6_, for keys of `bits` bits. */
int trie_init(struct fib_writer *w, unsigned bits, unsigned top, void *shared, size_t shared_bytes,
              void *priv, size_t priv_bytes);
int trie_insert(struct fib_writer *w, struct fib_key prefix, unsigned plen, uint32_t nh);
int trie_remove(struct fib_writer *w, struct fib_key prefix, unsigned plen);
uint32_t trie_get(const struct fib_writer *w, struct fib_key prefix, unsigned plen);

/* The next prefix at or behind the cursor, which goes behind it, with its length and next hop; false:
 * there is none. */
bool trie_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib_key *prefix,
               uint32_t *leaf);

#endif
