/*
 * SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012): without the key,
 * an attacker can neither predict its values nor produce collisions. Two variants:
 *
 *     siphash24          the standard one, over bytes: for unpredictable values (initial sequence
 *                        numbers, RFC 6528; SYN cookies)
 *     siphash13_words    fewer rounds, over 64-bit words in the machine's byte order: for hash tables
 *                        that hold untrusted keys, where only collisions matter
 *
 * The caller generates and keeps the keys, which are secret and random. The number of input bytes or
 * words is part of the hash. siphash24 gives the same value on either byte order.
 */
#ifndef LIB_SIPHASH_H
#define LIB_SIPHASH_H

#include "lib/types.h"

struct siphash_key {
	uint64_t k0, k1; /* bytes 0-7 and 8-15 of the key, little-endian */
};

struct siphash_state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t siphash_rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

/* Section 2.1: initialisation. */
static inline struct siphash_state siphash_begin(const struct siphash_key *key)
{
	return (struct siphash_state){
		.v0 = key->k0 ^ 0x736f6d6570736575,
		.v1 = key->k1 ^ 0x646f72616e646f6d,
		.v2 = key->k0 ^ 0x6c7967656e657261,
		.v3 = key->k1 ^ 0x7465646279746573,
	};
}

/* SipRound, section 2.4 and figure 2.1 */
static inline void siphash_round(struct siphash_state *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
	s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
	s->v0 = siphash_rotate(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
	s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
	s->v2 = siphash_rotate(s->v2, 32);
}

/* Section 2.2: compresses one word of the message in `rounds` rounds. */
static inline void siphash_word(struct siphash_state *s, uint64_t word, unsigned rounds)
{
	s->v3 ^= word;
	while (rounds--)
		siphash_round(s);
	s->v0 ^= word;
}

/* Section 2.3: the hash. */
static inline uint64_t siphash_end(struct siphash_state *s, unsigned rounds)
{
	s->v2 ^= 0xff;
	while (rounds--)
		siphash_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* SipHash-2-4 of the n bytes at data (any alignment). */
uint64_t siphash24(const struct siphash_key *key, const void *data, size_t n);

/* SipHash-2-4 of data in pieces; the value does not depend on the division into pieces. */
struct siphash24 {
	struct siphash_state state;
	uint64_t word;  /* bytes of an incomplete word */
	uint64_t bytes; /* so far */
};
struct siphash24 siphash24_begin(const struct siphash_key *key);
void siphash24_add(struct siphash24 *h, const void *data, size_t n);
uint64_t siphash24_end(const struct siphash24 *h);

/* SipHash-1-3 of n words; on a little-endian machine, of the 8 n bytes in memory. */
static inline uint64_t siphash13_words(const struct siphash_key *key, const uint64_t *w, unsigned n)
{
	struct siphash_state s = siphash_begin(key);
	for (unsigned i = 0; i < n; i++)
		siphash_word(&s, w[i], 1);
	/* The last word holds the remaining bytes, here none, and the length modulo 256. */
	siphash_word(&s, (uint64_t)(8 * n) << 56, 1);
	return siphash_end(&s, 3);
}

#endif
