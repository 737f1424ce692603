/*
 * PBKDF2-HMAC-SHA-256 (RFC 8018 5.2 with RFC 2104 and FIPS 180-4): derives a key of 32 bytes from a
 * password, at a cost that an attacker pays for each guess. The work is done in steps, so that an event
 * loop can continue with other work in between:
 *
 *     pbkdf2_begin(&p, password, n, salt, salt_len, iterations);
 *     while (!pbkdf2_step(&p, 64))
 *             other work;
 *     pbkdf2_key(&p, key);
 *
 * An iteration costs two SHA-256 compressions: the blocks with the HMAC key are always the same, so the
 * states after them are kept.
 *
 * Deliberately missing: keys of any other length than the hash's. The key is the first block (T_1).
 */
#ifndef LIB_PBKDF2_H
#define LIB_PBKDF2_H

#include "lib/sha256.h"

/* RFC 2104 with SHA-256: the states after the two blocks with the key. */
struct hmac_key {
	struct sha256_state inner, outer;
};

void hmac_key_init(struct hmac_key *k, const void *key, size_t n);

/* Holds data derived from the password; the caller overwrites it after use. */
struct pbkdf2 {
	struct hmac_key key;
	uint8_t u[SHA256_BYTES]; /* U_i */
	uint8_t t[SHA256_BYTES]; /* U_1 xor ... xor U_i */
	uint32_t left;           /* iterations still to do */
};

/* Starts a computation and does the first iteration. iterations is 1 or more. */
void pbkdf2_begin(struct pbkdf2 *p, const void *password, size_t n, const void *salt,
                  size_t salt_len, uint32_t iterations);

/* Does at most `most` iterations; true if all are done. */
bool pbkdf2_step(struct pbkdf2 *p, uint32_t most);

void pbkdf2_key(const struct pbkdf2 *p, uint8_t key[SHA256_BYTES]);

#endif
