/*
 * The writer's own record of a table's prefixes (for net/fib alone): a path-compressed binary tree.
 * It serves exact match, finding the covering prefix on removal, and the walk in order. Both
 * families share it: a prefix is the top bits of 128, and an IPv4 prefix has at most 32 of them.
 *
 * A node of the tree is a prefix with a next hop, or a fork between two (next hop FIB_NH_NONE).
 * Number 0 is the root, the prefix of length 0, which always exists; as a child number, 0 means
 * "none".
 *
 * A path from the root through a full table has twenty or more nodes. Each load depends on the one
 * before, and most miss the caches. The table `start` therefore gives, for the first bits of a
 * prefix, the deepest node that covers them and has no more bits; a search begins there. It also
 * gives the deepest route there, so a search upwards for the covering prefix can end there.
 *
 * The record holds only the route that look-ups use for each prefix; net/rib.h has all routes.
 */
#ifndef NET_FIB_RECORD_H
#define NET_FIB_RECORD_H

#include "net/fib/fib.h"

/* An address or prefix in host order; its first bit is the highest of hi. */
struct fib_key {
	uint64_t hi, lo;
};

/* 20 bytes in an IPv4 table, which may have two million nodes; 32 in an IPv6 table. */
struct record_node {
	uint32_t leaf;     /* leaf_make of prefix length and next hop */
	uint32_t child[2]; /* by the bit after the prefix */
	uint32_t parent;   /* the root is its own parent */
	uint32_t prefix[]; /* RECORD_WORDS words; the first bit is the highest of the first word */
};

#define RECORD_WORDS(bits) ((bits) / 32) /* for addresses of `bits` bits, 32 or 128 */

static inline size_t record_node_bytes(unsigned bits)
{
	return sizeof(struct record_node) + RECORD_WORDS(bits) * sizeof(uint32_t);
}

/* Numbers not in use: a list of released ones, and those never used. */
struct number_pool {
	uint32_t head; /* of the list, if `listed` is not 0 */
	uint32_t fresh;
	uint32_t limit;
	uint32_t listed;
};

/* For keys with the same first start_bits: among the nodes of at most start_bits that cover them
 * all, */
struct record_start {
	uint32_t node;  /* the deepest, where a search begins */
	uint32_t route; /* the deepest with a next hop; the root if there is none */
};

#define RECORD_NH_NARROW 256 /* smaller next hops fit in a byte */

struct record {
	uint8_t *nodes;
	unsigned node_bytes; /* per node */
	struct number_pool free;
	uint32_t count; /* prefixes */
	uint32_t wide;  /* prefixes whose next hop is not below RECORD_NH_NARROW */
	unsigned start_bits;
	struct record_start *start; /* indexed by the first start_bits of a key */
};

static inline bool number_pool_has(const struct number_pool *p, unsigned n)
{
	return p->listed + (p->limit - p->fresh) >= n;
}

static inline struct record_node *record_at(const struct record *r, uint32_t n)
{
	return (struct record_node *)(void *)(r->nodes + (size_t)n * r->node_bytes);
}

static inline struct fib_key record_key(const struct record *r, const struct record_node *n)
{
	const uint32_t *w = n->prefix;
	if (r->node_bytes == record_node_bytes(32))
		return (struct fib_key){(uint64_t)w[0] << 32, 0};
	return (struct fib_key){(uint64_t)w[0] << 32 | w[1], (uint64_t)w[2] << 32 | w[3]};
}

/* A prefix length and next hop in one word. */
static inline uint32_t leaf_make(unsigned plen, uint32_t nh) { return (uint32_t)plen << 16 | nh; }
static inline unsigned leaf_plen(uint32_t leaf) { return leaf >> 16; }
static inline uint32_t leaf_nh(uint32_t leaf) { return leaf & (FIB_NH_LIMIT - 1); }

/* The first plen bits of key. */
static inline struct fib_key fib_key_masked(struct fib_key key, unsigned plen)
{
	uint64_t hi = plen == 0 ? 0 : plen >= 64 ? UINT64_MAX : UINT64_MAX << (64 - plen);
	uint64_t lo = plen <= 64 ? 0 : UINT64_MAX << (128 - plen);
	return (struct fib_key){key.hi & hi, key.lo & lo};
}

static inline bool fib_key_equal(struct fib_key a, struct fib_key b)
{
	return a.hi == b.hi && a.lo == b.lo;
}

/* Makes an empty tree for addresses of `bits` bits. Memory: `nodes` nodes, at least one, and 1 <<
 * start_bits starts. */
void record_init(struct record *r, unsigned bits, void *memory, uint32_t nodes,
                 struct record_start *start, unsigned start_bits);

/* The deepest node that covers or equals prefix/plen. */
uint32_t record_find(const struct record *r, struct fib_key prefix, unsigned plen);

/* True if `at`, found for plen, is the node of exactly that prefix; it may be a fork. */
static inline bool record_is_exact(const struct record *r, uint32_t at, unsigned plen)
{
	return leaf_plen(record_at(r, at)->leaf) == plen;
}

/* The next hop of exactly the prefix for which `at` was found; FIB_NH_NONE: it does not exist. */
static inline uint32_t record_nh(const struct record *r, uint32_t at, unsigned plen)
{
	return record_is_exact(r, at, plen) ? leaf_nh(record_at(r, at)->leaf) : FIB_NH_NONE;
}

/* The longest prefix above the node that has a next hop, as a leaf. If there is none, and for the
 * root: length 0 with FIB_NH_NONE. */
uint32_t record_cover(const struct record *r, uint32_t at);

/* True if the next hops of the node and of all prefixes above it are below RECORD_NH_NARROW. */
bool record_is_narrow(const struct record *r, uint32_t at);

/* True if record_set needs no node, or there are enough. */
bool record_has_room(const struct record *r, uint32_t at, unsigned plen);

/* Adds prefix/plen, for which `at` was found, or changes its next hop. record_has_room must be
 * true. */
void record_set(struct record *r, uint32_t at, struct fib_key prefix, unsigned plen, uint32_t nh);

/* Removes the route at the node, which must have one. */
void record_remove(struct record *r, uint32_t at);

/* The first route at or after (key, plen) in ascending order; NULL: none. */
const struct record_node *record_from(const struct record *r, struct fib_key key, unsigned plen);

#endif
