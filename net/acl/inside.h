/* The table of an access list: what compile.c makes and classify.c reads. acl.h says how. */
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
 * The intervals of one word: vector[i] is where the vector of interval i begins, counted in words
 * of 64 bits from the start of the table. Which interval a value is in is found by a tree of nodes
 * of ACL_NODE keys, a cache line each: at the last of its levels stand the last values of all
 * intervals but the last, node by node, then ACL_NO_KEY; at each level above the last keys of the
 * nodes below. The keys of a node that are less than the value are the number of the node to go on
 * with, in the ACL_NODE below this one. Keys are turned so that they compare as signed numbers,
 * which is what vector instructions compare.
 */
#define ACL_NODE 16
#define ACL_LEVELS_MAX 5
#define ACL_NO_KEY 0x7fffffff /* nothing is above it */
struct acl_dim {
	const int32_t *level[ACL_LEVELS_MAX]; /* [0] is one node */
	const uint32_t *vector;
	uint32_t levels;
	uint32_t word; /* enum acl_word */
};

static inline int32_t acl_key(uint32_t value)
{
	return (int32_t)(value ^ 0x80000000u);
}

/*
 * A vector is `heads` words that sum up, then `words` words: bit r of these is rule r. Bit w of the
 * heads: word w is not zero.
 */
struct acl {
	uint32_t rules;
	uint32_t heads, words;
	bool six;
	uint32_t dims;         /* words that any rule asks for, but ACL_KIND */
	struct acl_dim dim[ACL_RANGES];
	const uint32_t *kind;  /* by its value: where its vector begins */
	const uint64_t *permit; /* bit r: rule r is one */
};

#endif
