/*
 * The hash of a password as the configuration has it: PBKDF2-HMAC-SHA-256 (lib/pbkdf2.h) in the
 * modular crypt format that passlib and others write,
 *
 *     $pbkdf2-sha256$ITERATIONS$SALT$HASH
 *
 * SALT and HASH (32 bytes) in base64 (RFC 4648 4) without padding and with '.' in place of '+',
 * which is taken too. `tools/hayate password` makes one.
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
	uint8_t salt[PASSWORD_SALT_MAX]; /* zeros behind salt_len */
	uint8_t hash[SHA256_BYTES];
};

/* E_INVAL: *why says what was expected, in words that go on after a colon; *out is not changed. */
int password_parse(struct text t, struct password_hash *out, const char **why);

/* Writes it as text, with the NUL; returns buf. */
#define PASSWORD_TEXT_MAX 160
char *password_format(char buf[PASSWORD_TEXT_MAX], const struct password_hash *h);

/* Is this the key that the password of h gives? Takes the same time whatever the answer. */
bool password_is(const struct password_hash *h, const uint8_t key[SHA256_BYTES]);

#endif
