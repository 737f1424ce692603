/*
 * The writer's own record of a table's prefixes (for net/fib alone): a path-compressed binary tree,
 * for exact match, for the covering prefix when one goes, and for the walk in order. Both families:
 * a prefix is the top bits of 128, so an IPv4 one is at most 32 of them.
 *
 * A node of the tree is a prefix with a next hop, or a fork between two (next hop FIB_NH_NONE).
 * Number 0 is the root, the prefix of length 0, always there; as a child it means "none".
 *
 * A way from the root through a full table is twenty nodes and more, each of which waits for the
 * one before, and most are in no cache. So a search begins at the deepest node that covers the
 * first bits of its prefix and has no more bits, which a table tells; and one from below for the
 * covering prefix ends there, for the table tells the deepest route as well.
 *
 * Of the routes to a prefix it has the one that look-ups get; all that there are is net/rib.h's
 * matter.
 */
#ifndef NET_FIB_RECORD_H
#define NET_FIB_RECORD_H

#include "net/fib/fib.h"

/* An address or prefix in host order, its first bit the highest of hi. */
struct fib_key {
	uint64_t hi, lo;
};

/* 20 bytes of an IPv4 table, which may have two million, and 32 of an IPv6 one. */
struct record_node {
	uint32_t leaf;     /* leaf_make of length and next hop */
	uint32_t child[2]; /* by the bit after the prefix */
	uint32_t parent;   /* the root's is itself */
	uint32_t prefix[]; /* RECORD_WORDS of it, the first bit the highest of the first */
};

#define RECORD_WORDS(bits) ((bits) / 32) /* of a table for addresses of so many bits, 32 or 128 */

static inline size_t record_node_bytes(unsigned bits)
{
	return sizeof(struct record_node) + RECORD_WORDS(bits) * sizeof(uint32_t);
}

/* Numbers not in use: those given back (a list) and those never used yet. */
struct number_pool {
	uint32_t head; /* of the list, when `listed` */
	uint32_t fresh;
	uint32_t limit;
	uint32_t listed;
};

/* For keys that begin alike: of the nodes of start_bits at most that cover them all, */
struct record_start {
	uint32_t node;  /* the deepest, where a search begins, */
	uint32_t route; /* and the deepest that has a next hop; the root when none has */
};

#define RECORD_NH_NARROW 256 /* next hops below it fit a byte */

struct record {
	uint8_t *nodes;
	unsigned node_bytes; /* of each */
	struct number_pool free;
	uint32_t count; /* prefixes */
	uint32_t wide;  /* of them those whose next hop is not below RECORD_NH_NARROW */
	unsigned start_bits;
	struct record_start *start; /* by the first start_bits of a key */
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

/* A prefix's length and next hop in one word. */
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

/* An empty tree for addresses of so many bits in the memory of `nodes` nodes, one at least, and of
 * 1 << start_bits starts. */
void record_init(struct record *r, unsigned bits, void *memory, uint32_t nodes,
                 struct record_start *start, unsigned start_bits);

/* The last node that covers or is prefix/plen. */
uint32_t record_find(const struct record *r, struct fib_key prefix, unsigned plen);

/* at, found for plen, is a node of that very prefix; which may be a fork. */
static inline bool record_is_exact(const struct record *r, uint32_t at, unsigned plen)
{
	return leaf_plen(record_at(r, at)->leaf) == plen;
}

/* The next hop of exactly the prefix that at was found for; FIB_NH_NONE: it is not there. */
static inline uint32_t record_nh(const struct record *r, uint32_t at, unsigned plen)
{
	return record_is_exact(r, at, plen) ? leaf_nh(record_at(r, at)->leaf) : FIB_NH_NONE;
}

/* The longest prefix above the node that has a next hop, as a leaf; without one, and of the root,
 * that of length 0 with FIB_NH_NONE. */
uint32_t record_cover(const struct record *r, uint32_t at);

/* The next hops of the node and of all prefixes above it are below RECORD_NH_NARROW. */
bool record_is_narrow(const struct record *r, uint32_t at);

/* True when record_set needs no node, or there are enough. */
bool record_has_room(const struct record *r, uint32_t at, unsigned plen);

/* Enters prefix/plen, which at was found for, or changes its next hop. There is room. */
void record_set(struct record *r, uint32_t at, struct fib_key prefix, unsigned plen, uint32_t nh);

/* Removes the route at the node, which has one. */
void record_remove(struct record *r, uint32_t at);

/* The first route at or behind (key, plen) in ascending order; NULL: there is none. */
const struct record_node *record_from(const struct record *r, struct fib_key key, unsigned plen);

#endif
