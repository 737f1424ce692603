/* See pbkdf2.h. */
#include "lib/pbkdf2.h"

#include "lib/bytes.h"
#include "lib/mem.h"

/* RFC 2104 2: a key longer than a block is hashed first. */
void hmac_key_init(struct hmac_key *k, const void *key, size_t n)
{
	uint8_t block[SHA256_BLOCK] = {0};
	struct sha256 s;
	if (n > SHA256_BLOCK) {
		sha256_init(&s);
		sha256_add(&s, key, n);
		sha256_end(&s, block);
	} else if (n > 0) {
		memcpy(block, key, n);
	}
	for (unsigned i = 0; i < SHA256_BLOCK; i++)
		block[i] ^= 0x36; /* ipad */
	sha256_state_init(&k->inner);
	sha256_block(&k->inner, block);
	for (unsigned i = 0; i < SHA256_BLOCK; i++)
		block[i] ^= 0x36 ^ 0x5c; /* opad */
	sha256_state_init(&k->outer);
	sha256_block(&k->outer, block);
}

/* Hashes a message of SHA256_BYTES that follows one block with the key. Message and padding are the
 * second and last block (FIPS 180-4 5.1.1). */
static void finish(struct sha256_state s, const uint8_t message[SHA256_BYTES],
                   uint8_t digest[SHA256_BYTES])
{
	uint8_t block[SHA256_BLOCK] = {0};
	memcpy(block, message, SHA256_BYTES);
	block[SHA256_BYTES] = 0x80;
	be32_store(block + SHA256_BLOCK - 4, (SHA256_BLOCK + SHA256_BYTES) * 8);
	sha256_block(&s, block);
	for (unsigned i = 0; i < 8; i++)
		be32_store(digest + 4 * i, s.h[i]);
}

/* U_1 = HMAC(password, salt, block number 1). */
static void first(struct pbkdf2 *p, const void *salt, size_t salt_len)
{
	static const uint8_t number[4] = {0, 0, 0, 1};
	uint8_t inner[SHA256_BYTES];
	struct sha256 s = {.state = p->key.inner, .bytes = SHA256_BLOCK};
	sha256_add(&s, salt, salt_len);
	sha256_add(&s, number, sizeof number);
	sha256_end(&s, inner);
	finish(p->key.outer, inner, p->u);
	memcpy(p->t, p->u, sizeof p->t);
}

void pbkdf2_begin(struct pbkdf2 *p, const void *password, size_t n, const void *salt,
                  size_t salt_len, uint32_t iterations)
{
	hmac_key_init(&p->key, password, n);
	first(p, salt, salt_len);
	p->left = iterations - 1;
}

bool pbkdf2_step(struct pbkdf2 *p, uint32_t most)
{
	for (; p->left > 0 && most > 0; p->left--, most--) {
		uint8_t inner[SHA256_BYTES];
		finish(p->key.inner, p->u, inner);
		finish(p->key.outer, inner, p->u);
		for (unsigned i = 0; i < SHA256_BYTES; i++)
			p->t[i] ^= p->u[i];
	}
	return p->left == 0;
}

void pbkdf2_key(const struct pbkdf2 *p, uint8_t key[SHA256_BYTES])
{
	memcpy(key, p->t, SHA256_BYTES);
}
