/*
 * The hash of a password in the configuration: PBKDF2-HMAC-SHA-256 (lib/pbkdf2.h) in the modular
 * crypt format that passlib and others write:
 *
 *     $pbkdf2-sha256$ITERATIONS$SALT$HASH
 *
 * SALT and HASH (32 bytes) are in base64 (RFC 4648 4) without padding and with '.' in place of '+';
 * the parser accepts both. `tools/hayate password` prints such a hash.
 */
#ifndef CONTROL_CONFIG_PASSWORD_H
#define CONTROL_CONFIG_PASSWORD_H

#include "control/text/text.h"
#include "lib/pbkdf2.h"
#include "lib/types.h"

#define PASSWORD_SALT_MIN 8 /* bytes; RFC 8018 4.1 */
#define PASSWORD_SALT_MAX 64
#define PASSWORD_ITERATIONS_MIN 1000 /* RFC 8018 4.2 */
#define PASSWORD_ITERATIONS_MAX 10000000

struct password_hash {
	uint32_t iterations;
	uint8_t salt_len;
	uint8_t salt[PASSWORD_SALT_MAX]; /* zeros after salt_len */
	uint8_t hash[SHA256_BYTES];
};

/* E_INVAL: *why is the reason, for an error message; *out is not changed. */
int password_parse(struct text t, struct password_hash *out, const char **why);

/* Writes the hash as text, with a NUL; returns buf. */
#define PASSWORD_TEXT_MAX 160
char *password_format(char buf[PASSWORD_TEXT_MAX], const struct password_hash *h);

/* True if this is the key in h. Takes the same time for any key. */
bool password_is(const struct password_hash *h, const uint8_t key[SHA256_BYTES]);

#endif
