/*
 * The table that readers see (for net/fib alone): a multibit trie. The first level is a table
 * indexed by the top 17 bits of an IPv4 address (16 of an IPv6 one). The others extend to the next
 * whole byte and then go by bytes: 17, 7, 8 for IPv4; 16 and fourteen times 8 for IPv6.
 *
 * Rationale. The cost of a look-up is its cache misses. The table must therefore be small, and its
 * loads few and known early, so that many can be in flight. A node has as many entries as the
 * longest prefix that ends in it needs, 2 to 256. Its "order" is 1 to 8: the node is indexed by
 * that many bits, and the bits up to the next level do not matter. Entries take one byte as long as
 * the next hops are small numbers. This is controlled prefix expansion (Srinivasan and Varghese,
 * 1998), with variable entry width in addition. The global table takes 4.4 MiB, half a MiB of it
 * for the first level. See docs/benchmarks.md for the alternatives and measurements.
 *
 * Reader-visible part (struct fib): the first level, then nodes (blocks.h). An entry of the first
 * level, and of a node of width 2, is a word:
 *     node   bit 31 set, bits 29-30 width, 25-28 order, 0-24 place, in units of 8 bytes of room[]
 *     leaf   next hop, or 0 for none
 * The entries of a node of width 1 are leaves of two bytes, those of width 0 leaves of one byte.
 * Leaves are pushed down: at whatever level a look-up ends, the leaf is the complete answer.
 *
 * Writer-private part (struct fib_private): the prefixes (record.h), and for each leaf the length
 * of the prefix it comes from.
 *
 * Invariants
 * 1. A leaf of length l at an address comes from the longest prefix that covers the address. A
 *    prefix of length l therefore overwrites, in its range, exactly the leaves of length <= l; on
 *    its removal, the leaves of length l are its own.
 * 2. A node is linked (release store) only after it is filled. Its content equals what it replaces,
 *    except for the change. Unlinking likewise.
 * 3. A node that was linked is reused only after fib_reclaim().
 * 4. Memory is counted before the first change; after that nothing can fail.
 * 5. In each node, some leaf is longer than the level's first bit, or some entry is a node. In a
 *    node of width below 2, the longest leaf uses all bits of the order. A lack of memory may leave
 *    a node larger.
 * 6. A node of width 2 has the full order of its level. Every prefix that covers a node of width 0,
 *    or ends in it, has a next hop below 256, even if hidden. A removal, which uncovers one,
 *    therefore always fits the entry.
 *
 * Readers load entries relaxed: the second load's address depends on the first load's value, which
 * orders them on every CPU we build for. They load the aligned word around a narrow entry and
 * extract the entry. The vector paths do the same, because a gather loads only words.
 */
#ifndef NET_FIB_TRIE_H
#define NET_FIB_TRIE_H

#include "net/fib/blocks.h"
#include "net/fib/record.h"

#define TRIE_TOP4 17u
#define TRIE_TOP6 16u

#define TRIE_NODE (1u << 31)
#define TRIE_WIDTH_SHIFT 29
#define TRIE_ORDER_SHIFT 25
#define TRIE_ORDER_MASK 15u
#define TRIE_PLACE_MASK ((1u << TRIE_ORDER_SHIFT) - 1)
#define TRIE_ROOM_MAX ((size_t)BLOCK_UNIT << TRIE_ORDER_SHIFT)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "trie_cut takes entries out of words");

struct fib {
	uint32_t path; /* enum fib_path */
	uint32_t near, many, apart; /* fib6_favour: [near, near + many) is exchanged with the range
	                               `apart` above; many 0: none is */
	uint32_t unused[12];
	uint8_t room[];
};

struct fib_private {
	unsigned bits; /* of an address: 32 or 128 */
	unsigned top;  /* address bits that the first level decides */
	struct record record;
	struct blocks blocks; /* allocate from room[] after the first level */
	uint8_t *top_length;  /* lengths of the first level's leaves; TRIE_IS_NODE: the entry is a
	                         node */
};

#define TRIE_IS_NODE 255

static inline uint32_t trie_load(const void *word)
{
	return __atomic_load_n((const uint32_t *)word, __ATOMIC_RELAXED);
}

static inline bool trie_is_node(uint32_t entry) { return entry & TRIE_NODE; }

/* A next hop as the caller numbers it, from one as the table does, or the reverse (IPv6 only). */
static inline uint32_t trie_exchanged(const struct fib *fib, uint32_t nh)
{
	if (nh - fib->near < fib->many)
		return nh + fib->apart;
	return nh - fib->near - fib->apart < fib->many ? nh - fib->apart : nh;
}

/* Offset in room[] of the next entry after node entry e. bits: the address from the node's first
 * bit on, at the top of the word. */
static inline uint32_t trie_place(uint32_t e, uint32_t bits)
{
	unsigned order = e >> TRIE_ORDER_SHIFT & TRIE_ORDER_MASK, width = e >> TRIE_WIDTH_SHIFT & 3;
	/* order 0: e is a leaf, and the result is not used */
	return (e & TRIE_PLACE_MASK) * BLOCK_UNIT + (bits >> (-order & 31) << width);
}

/* Loads the entry at that place. */
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

/* The first level's entry, indexed by an address's top bits. */
static inline uint32_t trie_top(const struct fib *fib, uint32_t top)
{
	return trie_load(&fib->room[top * 4]);
}

static inline size_t trie_top_bytes(unsigned top) { return (size_t)4 << top; }

/* Bytes of a shared part with `nodes` bytes for nodes. */
size_t trie_shared_bytes(unsigned top, size_t nodes);

/* Bytes of the private part beside a shared part of `shared_bytes`, for `routes` prefixes. */
size_t trie_private_bytes(unsigned top, uint32_t routes, size_t shared_bytes);

/* As fib4_ and fib6_ in fib.h, for keys of `bits` bits. */
int trie_init(struct fib_writer *w, unsigned bits, unsigned top, void *shared, size_t shared_bytes,
              void *priv, size_t priv_bytes);
int trie_insert(struct fib_writer *w, struct fib_key prefix, unsigned plen, uint32_t nh);
int trie_remove(struct fib_writer *w, struct fib_key prefix, unsigned plen);
uint32_t trie_get(const struct fib_writer *w, struct fib_key prefix, unsigned plen);

/* The next prefix at or after the cursor, with its length and next hop; advances the cursor. False:
 * none. */
bool trie_next(const struct fib_writer *w, struct fib_cursor *cursor, struct fib_key *prefix,
               uint32_t *leaf);

#endif
