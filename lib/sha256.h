/*
 * SHA-256 (FIPS 180-4, sections 4.1.2, 5.1.1, 5.3.3 and 6.2) over data in pieces:
 *
 *     sha256_init(&s);
 *     sha256_add(&s, data, n);      any number of times
 *     sha256_end(&s, digest);
 *
 * or sha256_of() of data in one piece.
 *
 * sha256_block is the compression function alone, for callers that continue repeatedly from one state
 * (lib/pbkdf2.h). Its time does not depend on the data: no table look-up and no branch depends on it.
 */
#ifndef LIB_SHA256_H
#define LIB_SHA256_H

#include "lib/types.h"

#define SHA256_BYTES 32
#define SHA256_BLOCK 64

/* The eight words of the hash value, between two blocks. */
struct sha256_state {
	uint32_t h[8];
};

struct sha256 {
	struct sha256_state state;
	uint64_t bytes; /* hashed so far; block holds those of an incomplete last block */
	uint8_t block[SHA256_BLOCK];
};

/* Section 5.3.3: the initial hash value. */
void sha256_state_init(struct sha256_state *s);

/* Section 6.2.2: hashes one block of SHA256_BLOCK bytes, any alignment. */
void sha256_block(struct sha256_state *s, const uint8_t *block);

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t n);
void sha256_end(struct sha256 *s, uint8_t digest[SHA256_BYTES]);

void sha256_of(const void *data, size_t n, uint8_t digest[SHA256_BYTES]);

#endif
