/* The table of an access list, written by compile.c and read by classify.c and the searches
 * (search.h). acl.h describes the algorithm. */
#ifndef NET_ACL_INSIDE_H
#define NET_ACL_INSIDE_H

#include "net/acl/acl.h"

/* The words of a packet that rules match on. An IPv4 address is the last word of four. */
enum acl_word {
	ACL_SRC = 0,
	ACL_DST = 4,
	ACL_SRC_PORT = 8,
	ACL_DST_PORT,
	ACL_RANGES, /* words up to here are matched by intervals */
	ACL_KIND = ACL_RANGES, /* matched by its value */
	ACL_WORDS,
};

/* Values of the port words that are not ports. */
#define ACL_PORT_LATER 0x10000u /* a later fragment */
#define ACL_PORT_NONE 0x10001u  /* a protocol without ports */

/* Values of ACL_KIND. */
enum acl_kind {
	ACL_KIND_PROTO = 0,   /* + protocol, not TCP: a packet, or a first fragment */
	ACL_KIND_LATER = 256, /* + protocol: a later fragment */
	ACL_KIND_TCP = 512,   /* + flags */
	ACL_KIND_UNDETERMINED = 768,
	ACL_KINDS,
};

/*
 * A set of rules: a 64-bit summary and a vector. Bit g of the summary tells whether the set has any
 * rule of group g, which begins at rule g << acl.group_log2. Bit r of the vector is rule r. With at
 * most 64 rules the summary is complete and there is no vector.
 *
 * A vector consists of cache lines. Vectors of a word that have the same line share one copy in the
 * table. Most lines of a long list are shared, and the rest is small enough to stay in the caches.
 * The row of a set has the places of its lines. Places count 64-bit words from the start of the
 * table. The first ACL_NEAR lines, which most packets read, have their places in arrays of their own.
 */
#define ACL_NEAR 2
#define ACL_GROUP_MAX (ACL_RULES_MAX / 64)
#define ACL_LINE_WORDS (CACHE_LINE / 8)
#define ACL_LINES_MAX (ACL_RULES_MAX / 64 / ACL_LINE_WORDS)
struct acl_set {
	uint64_t sum;
	uint32_t row; /* place of the row: the places of all lines, uint32_t each */
} __attribute__((aligned(16)));

/* The sets of a word, by interval or by kind. */
struct acl_sets {
	const uint32_t *line[ACL_NEAR]; /* places of the first lines, and of the second; NULL: none */
	const struct acl_set *set;
};

/*
 * The intervals of one word, each with the rules that accept it. A tree of nodes finds the interval
 * of a value. A node is one cache line of ACL_NODE keys. The last level holds the last values of
 * all intervals except the last one, node by node, followed by ACL_NO_KEY. Each level above holds
 * the last keys of the nodes below. The number of keys in a node below the value selects the child
 * among its ACL_NODE children. Keys of addresses have the top bit flipped so that they compare as
 * signed numbers, as vector instructions do.
 *
 * The heap is another form of the upper levels, for AVX-512: the keys of the lowest of these
 * levels, 127 at most, as a binary tree. heap[1] is the middle key. The children of heap[h] are
 * heap[2 h], for values not above it, and heap[2 h + 1].
 *
 * A word of ports has no tree. cell[value + skip[value / ACL_BLOCK]] is the interval of a value.
 * Blocks of ACL_BLOCK values that all lie in one interval share their cells with the block before,
 * if that is such a block too. The heap, of all keys, is there if they are few enough.
 */
#define ACL_BLOCK 64
#define ACL_BLOCKS (ACL_PORT_NONE / ACL_BLOCK + 1)
#define ACL_NODE_LOG2 4
#define ACL_NODE (1 << ACL_NODE_LOG2)
#define ACL_STEPS_MIN 4
#define ACL_STEPS_MAX 7
#define ACL_LEVELS_MAX 5
#define ACL_NO_KEY 0x7fffffff /* no value is above it */
struct acl_dim {
	const int32_t *level[ACL_LEVELS_MAX]; /* [0] is one node */
	struct acl_sets sets;
	uint32_t levels;
	uint32_t word; /* enum acl_word */
	const int32_t *heap;
	uint32_t heap_levels; /* levels that the heap replaces */
	uint32_t steps;       /* depth of the heap; 0: there is none */
	const int32_t *skip;  /* ports */
	const uint16_t *cell;
};

#define ACL_TURNED 0x80000000u
static inline int32_t acl_address_key(uint32_t value)
{
	return (int32_t)(value ^ ACL_TURNED);
}

/* acl.late: the list is of IPv4, its first words are both addresses, and each has one level below
 * the heap. The search with AVX-512 then searches these levels in the same loop as the lines. */
#define ACL_LATE 2
#define ACL_LATE_WORD(d) ((d) ? ACL_DST + 3 : ACL_SRC + 3)

struct acl {
	uint32_t rules;
	uint32_t lines;        /* lines per vector; 0: no vectors */
	uint32_t group_log2;   /* log2 of the rules per bit of a summary */
	enum acl_path path;
	bool six;
	bool flags;            /* some rule matches on TCP flags */
	bool late;             /* see ACL_LATE */
	uint32_t dims;         /* words other than ACL_KIND that any rule matches on */
	struct acl_dim dim[ACL_RANGES];
	struct acl_sets kind;
	const uint64_t *permit; /* bit r: rule r is a permit; and a 0 for each of enum acl_other */
};

/* Packets per batch, a multiple of all paths' lanes: their loads overlap, and all of the batch
 * stays in L1. */
#define ACL_LOT 64

/* The words of a batch; addresses as acl_address_key. */
struct acl_keys {
	int32_t word[ACL_WORDS][ACL_LOT] __attribute__((aligned(CACHE_LINE)));
	bool undetermined; /* some packet is ACL_KIND_UNDETERMINED */
};

/* The index of the lowest set bit; undefined for 0. On other machines a 64-bit builtin might call a
 * library. */
static inline __attribute__((always_inline)) uint32_t acl_lowest(uint64_t bits)
{
#if defined __x86_64__ || defined __aarch64__
	return (uint32_t)__builtin_ctzll(bits);
#else
	uint32_t low = (uint32_t)bits;
	return low ? (uint32_t)__builtin_ctz(low) : 32 + (uint32_t)__builtin_ctz((uint32_t)(bits >> 32));
#endif
}

/* Placed before a loop, unrolls it completely if its count is constant. clang does so by itself. */
#ifdef __clang__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Reads the words of packet i, of any form. */
void acl_read(const struct acl *a, struct acl_keys *k, unsigned i, const uint8_t *ip);

/* acl_classify by each path. The last two exist only on x86-64 (ACL_VECTORS). */
void acl_classify_scalar(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n);
void acl_classify_avx2(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n);
void acl_classify_avx512(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n);

#ifdef __x86_64__
#define ACL_VECTORS 1
#else
#define ACL_VECTORS 0
#endif

#endif
