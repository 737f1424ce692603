/*
 * LPM tries: longest-prefix match over keys of up to 256 bytes (BPF_MAP_LPM_TRIE).
 *
 * A key is the length of the prefix, 32 bits in the machine's byte order, and the bytes of the prefix, most
 * significant bit first. The trie takes 4 bits a node, and compresses paths: there is a node only where two
 * prefixes part, or one ends in another. So a trie of n prefixes has fewer than n nodes beside the root, and a
 * look-up among 100,000 IPv4 prefixes passes 5 nodes, where a binary trie passes 17 and more.
 *
 * A node at depth d (a multiple of 4) has all prefixes with its d bits in front:
 * - `inner`: those of d to d + 3 bits, by the place in a binary tree: 1 is d bits, 2 and 3 are d + 1 bits, ...
 * - `slot`: for each value of the next four bits the longer ones (`child`: nothing, one entry, or a node),
 *   and the longest inner prefix that covers this value (`best`, which `inner` determines).
 * A look-up reads one slot, 8 bytes, of each node. It does not look at the bits that a path skips: the candidates
 * that it passes are compared with the key, the longest first, until one matches.
 *
 * Entries are replaced, as in Linux: an update puts a new one in the old one's place.
 *
 * Concurrency: readers take no lock, and repeat a look-up, at most LPM_RETRIES times, if something was removed
 * meanwhile (`version`). Writers lock the trie. What readers follow changes by single stores of 4 bytes: a subtree
 * is complete before it is linked, and a node or entry is used again only after the version has changed. A prefix
 * that ends in a node and covers several slots appears in one after the other.
 *
 * Recovery: the lock's holder names in the header each entry and node before it leaves its place, and the
 * node whose slots it computes. lpm_recover computes the slots again and frees what is not linked.
 */
#ifndef BPF_MAPS_LPM_H
#define BPF_MAPS_LPM_H

#include "bpf/maps/map.h"
#include "bpf/maps/shared.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define LPM_RETRIES 64
#define LPM_RETRIES_CONTROL 4096 /* an operator's look */
#define LPM_NONE UINT32_MAX
#define LPM_FREE UINT32_MAX /* prefix_bits of an entry that holds none */

struct lpm_slot {
	uint32_t child; /* 0; LPM_LEAF | entry; depth / 4 << LPM_NODE_BITS | node */
	uint32_t best;  /* entry + 1; 0: none */
};
#define LPM_LEAF 0x80000000u
#define LPM_NODE_BITS 22

struct lpm_node {
	struct lpm_slot slot[16];
	uint32_t inner[16]; /* entry + 1; [0] is the link of the free list */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct lpm_node) == 192, "three cache lines");

struct lpm_entry {
	uint32_t free_next;   /* entry + 1 */
	uint32_t prefix_bits; /* here the key begins */
	uint8_t data[];
};
_Static_assert(offsetof(struct lpm_entry, data) == 8, "data is aligned to 8");

/* At the start of `shared`. All are number + 1, 0: none. */
struct lpm_head {
	uint32_t version;
	uint8_t pad[60]; /* readers read the version; the rest changes at each update */
	uint32_t lock;
	uint32_t free_entry, free_node;
	/* the journal of the lock's holder */
	uint32_t new_entry, old_entry, new_node, old_node, touched;
	uint8_t pad2[64 - 32];
};
_Static_assert(sizeof(struct lpm_head) == 128, "two cache lines");

static inline struct lpm_head *lpm_head(const struct bpf_map *map) { return (struct lpm_head *)(void *)map->shared; }

static inline struct lpm_node *lpm_node(const struct bpf_map *map, uint32_t node)
{
	return &((struct lpm_node *)(void *)map->buckets)[node];
}

static inline struct lpm_entry *lpm_entry(const struct bpf_map *map, uint32_t entry)
{
	return (struct lpm_entry *)(void *)(map->pool + (size_t)entry * map->entry_stride);
}

static inline uint32_t lpm_bits(const struct bpf_map *map) { return 8 * (map->key_bytes - 4); }

/* Bits depth to depth + 3 of the data. */
static inline unsigned lpm_nibble(const uint8_t *data, uint32_t depth)
{
	return data[depth / 8] >> (4 - (depth & 4)) & 15;
}

/* The place in `inner` of a prefix of `bits` bits, 0 to 3, whose next four bits are `nibble`. */
static inline unsigned lpm_inner(unsigned bits, unsigned nibble) { return 1u << bits | nibble >> (4 - bits); }

/* What a child that is a node says: false if it is none, or none that can be below `depth`. */
static inline bool lpm_child_node(const struct bpf_map *map, uint32_t child, uint32_t depth, uint32_t *node,
                                  uint32_t *node_depth)
{
	if (child == 0 || (child & LPM_LEAF))
		return false;
	*node = child & ((1u << LPM_NODE_BITS) - 1);
	*node_depth = 4 * (child >> LPM_NODE_BITS);
	return *node < map->buckets_mask && *node_depth > depth && *node_depth < lpm_bits(map);
}

/* The first bits in which a and b are the same, at most `bits`. */
static inline uint32_t lpm_common(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	uint32_t at = 0;
	for (; at + 8 <= bits; at += 8)
		if (a[at / 8] != b[at / 8])
			return at + (uint32_t)__builtin_clz((uint32_t)(a[at / 8] ^ b[at / 8])) - 24;
	if (at == bits)
		return bits;
	const uint32_t differ = (uint32_t)(a[at / 8] ^ b[at / 8]) & 0xff;
	const uint32_t same = differ ? at + (uint32_t)__builtin_clz(differ) - 24 : at + 8;
	return same < bits ? same : bits;
}

/* --- what map.c calls --- */
uint64_t lpm_shared_bytes(const struct bpf_map *map);
void lpm_init(struct bpf_map *map);
uint32_t lpm_find_exact(const struct bpf_map *map, const void *key); /* the entry, or LPM_NONE */
int64_t lpm_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags, unsigned me);
int64_t lpm_delete(const struct bpf_map *map, const void *key, unsigned me);
bool lpm_next(const struct bpf_map *map, const void *key, void *next);
uint32_t lpm_used(const struct bpf_map *map);
void lpm_recover(const struct bpf_map *map, unsigned core);

/* --- among lpm*.c --- */

/* Where a prefix is, or would be. */
struct lpm_spot {
	uint32_t node, depth;  /* the deepest node on the path whose bits the prefix has all */
	uint32_t *parent;      /* the child word that leads to `node`; NULL: it is the root */
	uint32_t *link;        /* the word for the prefix: inner[], or a slot's child */
	bool is_inner;
	uint32_t entry;        /* the entry of exactly this prefix, or LPM_NONE */
	/* If the slot has another child, from which the prefix parts at bit `parts`: an entry of it, and the
	 * entry's length, or, of a child that is a node, its depth. */
	uint32_t other, other_bits;
	uint32_t parts;
};
struct lpm_spot lpm_spot(const struct bpf_map *map, const uint8_t *data, uint32_t bits);

#endif
