/*
 * PBKDF2-HMAC-SHA-256 (RFC 8018 5.2 with RFC 2104 and FIPS 180-4): from a password a key of 32
 * bytes, at a cost that whoever guesses has to pay for each guess. It is made in steps, so that a
 * loop that has other things to do goes on with them:
 *
 *     pbkdf2_begin(&p, password, n, salt, salt_len, iterations);
 *     while (!pbkdf2_step(&p, 64))
 *             something else;
 *     pbkdf2_key(&p, key);
 *
 * A step of one iteration is two compressions of SHA-256: the blocks that hold the key of HMAC are
 * the same each time, and their states are kept.
 *
 * Deliberately missing: keys of another length than the hash's, which is the first block (T_1).
 */
#ifndef LIB_PBKDF2_H
#define LIB_PBKDF2_H

#include "lib/sha256.h"

/* RFC 2104 with SHA-256: the states behind the two blocks with the key. */
struct hmac_key {
	struct sha256_state inner, outer;
};

void hmac_key_init(struct hmac_key *k, const void *key, size_t n);

/* Holds what leads to the password: the caller overwrites it after use. */
struct pbkdf2 {
	struct hmac_key key;
	uint8_t u[SHA256_BYTES]; /* U_i */
	uint8_t t[SHA256_BYTES]; /* U_1 xor ... xor U_i */
	uint32_t left;           /* iterations */
};

/* iterations: 1 or more. The first is done here. */
void pbkdf2_begin(struct pbkdf2 *p, const void *password, size_t n, const void *salt,
                  size_t salt_len, uint32_t iterations);

/* Does at most `most` iterations. True: all are done. */
bool pbkdf2_step(struct pbkdf2 *p, uint32_t most);

void pbkdf2_key(const struct pbkdf2 *p, uint8_t key[SHA256_BYTES]);

#endif
