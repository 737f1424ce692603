/* The table of an access list: what compile.c makes, and classify.c, avx2.c and avx512.c read. acl.h
 * says how. */
#ifndef NET_ACL_INSIDE_H
#define NET_ACL_INSIDE_H

#include "net/acl/acl.h"

/* The words of a packet that rules ask for. IPv4's addresses are the last word of four. */
enum acl_word {
	ACL_SRC = 0,
	ACL_DST = 4,
	ACL_SRC_PORT = 8,
	ACL_DST_PORT,
	ACL_RANGES, /* so far by intervals, */
	ACL_KIND = ACL_RANGES, /* this one by its values: */
	ACL_WORDS,
};

/* Values of the words of ports that are no port. */
#define ACL_PORT_LATER 0x10000u /* of a later fragment */
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
 * What stands for a set of rules: a sum of it in 64 bits, of which bit g says whether any of the
 * rules from g << acl.group_log2 on, as many as a group has, is in it; and a vector, in which bit r
 * is rule r. There is none where the sum says it all, the rules being 64 at most.
 *
 * A vector is cache lines, each of which stands in the table once for all vectors of a word that
 * have the same there: of a long list most have, and what is left is so small that it stays in the
 * caches. Its row has where they are, the first one's place is here too. Places count words of 64
 * bits from the start of the table.
 */
#define ACL_GROUP_MAX (ACL_RULES_MAX / 64)
#define ACL_LINE_WORDS (CACHE_LINE / 8)
#define ACL_LINES_MAX (ACL_RULES_MAX / 64 / ACL_LINE_WORDS)
struct acl_set {
	uint64_t sum;
	uint32_t line; /* place of the first line, */
	uint32_t row;  /* and of the places of all, uint32_t each */
} __attribute__((aligned(16)));

/*
 * The intervals of one word, each with the rules that take it. Which interval a value is in is
 * found by a tree of nodes of ACL_NODE keys, a cache line each: at the last of its levels stand the
 * last values of all intervals but the last, node by node, then ACL_NO_KEY; at each level above the
 * last keys of the nodes below. The keys of a node that are less than the value are the number of
 * the node to go on with, in the ACL_NODE below this one. Keys are turned so that they compare as
 * signed numbers, which is what vector instructions compare.
 *
 * The heap is another form of the upper levels, for AVX-512: their last level's keys, 127 at most,
 * as a tree of two ways. heap[1] is the middle one, and below heap[h] are heap[2 h], for values that
 * are not above it, and heap[2 h + 1].
 */
#define ACL_NODE 16
#define ACL_STEPS_MIN 4
#define ACL_STEPS_MAX 7
#define ACL_LEVELS_MAX 5
#define ACL_NO_KEY 0x7fffffff /* nothing is above it */
struct acl_dim {
	const int32_t *level[ACL_LEVELS_MAX]; /* [0] is one node */
	const struct acl_set *set;
	uint32_t levels;
	uint32_t word; /* enum acl_word */
	const int32_t *heap;
	uint32_t heap_levels; /* that the heap stands for */
	uint32_t steps;       /* down the heap */
};

static inline int32_t acl_key(uint32_t value)
{
	return (int32_t)(value ^ 0x80000000u);
}

struct acl {
	uint32_t rules;
	uint32_t lines;        /* of a vector; 0: there are none */
	uint32_t group_log2;   /* rules that a bit of a sum stands for */
	enum acl_path path;
	bool six;
	uint32_t dims;         /* words that any rule asks for, but ACL_KIND */
	struct acl_dim dim[ACL_RANGES];
	const struct acl_set *kind; /* by its value */
	const uint64_t *permit; /* bit r: rule r is one */
};

/* Packets that are looked up together: their loads overlap, and all of it stays in L1. */
#define ACL_LOT 32

/* The words of a lot, turned but for the kind. */
struct acl_keys {
	int32_t word[ACL_RANGES][ACL_LOT];
	uint16_t kind[ACL_LOT];
};

/* The number of the lowest bit; undefined of 0. Elsewhere a word of 64 bits might want a library. */
static inline __attribute__((always_inline)) uint32_t acl_lowest(uint64_t bits)
{
#if defined __x86_64__ || defined __aarch64__
	return (uint32_t)__builtin_ctzll(bits);
#else
	uint32_t low = (uint32_t)bits;
	return low ? (uint32_t)__builtin_ctz(low) : 32 + (uint32_t)__builtin_ctz((uint32_t)(bits >> 32));
#endif
}

/* Before a loop: as many times as it goes round, if that is a constant. clang does that unasked. */
#ifdef __clang__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* rule[i] = number of the first rule that takes all words of packet i of n, or the number of rules
 * if there is none. The latter two are for x86-64 alone, where ACL_VECTORS says so. */
void acl_search_scalar(const struct acl *a, const struct acl_keys *k, uint32_t *rule, unsigned n);
void acl_search_avx2(const struct acl *a, const struct acl_keys *k, uint32_t *rule, unsigned n);
void acl_search_avx512(const struct acl *a, const struct acl_keys *k, uint32_t *rule, unsigned n);

#ifdef __x86_64__
#define ACL_VECTORS 1
#else
#define ACL_VECTORS 0
#endif

#endif
