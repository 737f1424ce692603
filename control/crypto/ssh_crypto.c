/* See ssh_crypto.h. */
#include "control/crypto/ssh_crypto.h"

#include <psa/crypto.h>
#include <sodium/crypto_onetimeauth_poly1305.h>
#include <sodium/crypto_scalarmult_curve25519.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sodium/utils.h>

#include "control/crypto/library.h"

#define X25519_BYTES 32
#define LENGTH 4             /* of a packet's length field */
#define CHACHA_KEY 32
#define CHACHA_BLOCK 64

static uint8_t host_secret[crypto_sign_ed25519_SECRETKEYBYTES], host_public[crypto_sign_ed25519_PUBLICKEYBYTES];
static bool has_host_key;

void ssh_crypto_set_host_key(const uint8_t seed[SSH_SEED])
{
	has_host_key = crypto_sign_ed25519_seed_keypair(host_public, host_secret, seed) == 0;
}

static bool random_bytes(void *out, uint32_t n)
{
	return crypto_random(out, n);
}

static bool sha256(const void *in, uint32_t n, uint8_t out[SSH_HASH])
{
	size_t bytes;
	return psa_hash_compute(PSA_ALG_SHA_256, in, n, out, SSH_HASH, &bytes) == PSA_SUCCESS;
}

/* --- keys --- */

static psa_key_id_t import(psa_key_type_t type, psa_algorithm_t algorithm, psa_key_usage_t usage,
                           const uint8_t *data, size_t n)
{
	psa_key_attributes_t a = PSA_KEY_ATTRIBUTES_INIT;
	psa_key_id_t id = PSA_KEY_ID_NULL;
	psa_set_key_type(&a, type);
	psa_set_key_algorithm(&a, algorithm);
	psa_set_key_usage_flags(&a, usage);
	return psa_import_key(&a, data, n, &id) == PSA_SUCCESS ? id : PSA_KEY_ID_NULL;
}

/* --- key agreement --- */

/* RFC 8731 3: the client's part has 32 bytes; libsodium refuses an answer of all zeros. */
static bool agree_x25519(struct ssh_text peer, uint8_t *share, uint8_t secret[SSH_SECRET])
{
	uint8_t own[X25519_BYTES];
	const bool done = peer.n == X25519_BYTES && crypto_random(own, sizeof own) &&
	                  crypto_scalarmult_curve25519_base(share, own) == 0 &&
	                  crypto_scalarmult_curve25519(secret, own, peer.at) == 0;
	crypto_wipe(own, sizeof own);
	return done;
}

/* RFC 5656 4; Mbed TLS refuses a point that is not on the curve. */
static bool agree_p256(struct ssh_text peer, uint8_t *share, uint8_t secret[SSH_SECRET])
{
	psa_key_attributes_t a = PSA_KEY_ATTRIBUTES_INIT;
	psa_key_id_t id = PSA_KEY_ID_NULL;
	size_t n = 0;
	psa_set_key_type(&a, PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_SECP_R1));
	psa_set_key_bits(&a, 256);
	psa_set_key_algorithm(&a, PSA_ALG_ECDH);
	psa_set_key_usage_flags(&a, PSA_KEY_USAGE_DERIVE);
	const bool done = peer.n == SSH_POINT_MAX && psa_generate_key(&a, &id) == PSA_SUCCESS &&
	                  psa_export_public_key(id, share, SSH_POINT_MAX, &n) == PSA_SUCCESS && n == SSH_POINT_MAX &&
	                  psa_raw_key_agreement(PSA_ALG_ECDH, id, peer.at, peer.n, secret, SSH_SECRET, &n) ==
	                          PSA_SUCCESS && n == SSH_SECRET;
	psa_destroy_key(id);
	return done;
}

static bool agree(enum ssh_kex kex, struct ssh_text peer, uint8_t share[SSH_POINT_MAX], uint8_t secret[SSH_SECRET])
{
	return kex == SSH_CURVE25519_SHA256 ? agree_x25519(peer, share, secret) : agree_p256(peer, share, secret);
}

/* --- signatures --- */

static uint32_t host_key(enum ssh_key kind, uint8_t point[SSH_POINT_MAX])
{
	if (kind != SSH_ED25519 || !has_host_key)
		return 0;
	memcpy(point, host_public, sizeof host_public);
	return sizeof host_public;
}

static bool sign(enum ssh_key kind, const void *in, uint32_t n, uint8_t signature[SSH_SIGNATURE])
{
	return kind == SSH_ED25519 && has_host_key &&
	       crypto_sign_ed25519_detached(signature, NULL, in, n, host_secret) == 0;
}

/* Writes an ASN.1 tag with a length of at most 16 bits (X.690 8.1). */
static uint32_t put_tag(uint8_t *to, uint8_t tag, uint32_t length)
{
	const uint8_t head[4] = {tag, 0x82, (uint8_t)(length >> 8), (uint8_t)length};
	if (length < 128) {
		to[0] = tag;
		to[1] = (uint8_t)length;
		return 2;
	}
	if (length < 256) {
		to[0] = tag;
		to[1] = 0x81;
		to[2] = (uint8_t)length;
		return 3;
	}
	memcpy(to, head, sizeof head);
	return sizeof head;
}

/* Writes a positive INTEGER. */
static uint32_t put_integer(uint8_t *to, struct ssh_text n)
{
	const uint32_t pad = n.at[0] >> 7;
	uint32_t used = put_tag(to, 0x02, n.n + pad);
	to[used] = 0;
	used += pad;
	memcpy(to + used, n.at, n.n);
	return used + n.n;
}

/* RSAPublicKey of RFC 8017 A.1.1, which PSA takes. */
static psa_key_id_t import_rsa(const struct ssh_public *key, psa_algorithm_t algorithm)
{
	uint8_t body[PSA_BITS_TO_BYTES(PSA_VENDOR_RSA_MAX_KEY_BITS) + 32], der[sizeof body + 4];
	if (key->modulus.n > PSA_BITS_TO_BYTES(PSA_VENDOR_RSA_MAX_KEY_BITS) || key->exponent.n > 8)
		return PSA_KEY_ID_NULL;
	uint32_t n = put_integer(body, key->modulus);
	n += put_integer(body + n, key->exponent);
	const uint32_t head = put_tag(der, 0x30, n);
	memcpy(der + head, body, n);
	return import(PSA_KEY_TYPE_RSA_PUBLIC_KEY, algorithm, PSA_KEY_USAGE_VERIFY_MESSAGE, der, head + n);
}

static bool verify(const struct ssh_public *key, struct ssh_text message, struct ssh_text signature)
{
	psa_algorithm_t algorithm = PSA_ALG_ECDSA(PSA_ALG_SHA_256);
	psa_key_id_t id;
	if (key->kind == SSH_ED25519)
		return crypto_sign_ed25519_verify_detached(signature.at, message.at, message.n, key->point.at) == 0;
	if (key->kind == SSH_ECDSA_NISTP256) {
		id = import(PSA_KEY_TYPE_ECC_PUBLIC_KEY(PSA_ECC_FAMILY_SECP_R1), algorithm,
		            PSA_KEY_USAGE_VERIFY_MESSAGE, key->point.at, key->point.n);
	} else {
		algorithm = PSA_ALG_RSA_PKCS1V15_SIGN(key->kind == SSH_RSA_SHA512 ? PSA_ALG_SHA_512 : PSA_ALG_SHA_256);
		id = import_rsa(key, algorithm);
	}
	const bool right = id != PSA_KEY_ID_NULL &&
	                   psa_verify_message(id, algorithm, message.at, message.n, signature.at, signature.n) ==
	                           PSA_SUCCESS;
	psa_destroy_key(id);
	return right;
}

/* --- ciphers --- */

static psa_key_id_t import_chacha(const uint8_t *key)
{
	return import(PSA_KEY_TYPE_CHACHA20, PSA_ALG_STREAM_CIPHER, PSA_KEY_USAGE_ENCRYPT | PSA_KEY_USAGE_DECRYPT, key,
	              CHACHA_KEY);
}

/* handle[0]: the key of packets; handle[1]: of ChaCha20, the key of lengths. PROTOCOL.chacha20poly1305: the
 * first 256 bits are of packets, the others of lengths. */
static bool cipher_begin(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t *key)
{
	*c = (struct ssh_cipher_state){.handle = {PSA_KEY_ID_NULL}};
	if (cipher == SSH_CHACHA20_POLY1305) {
		c->handle[0] = import_chacha(key);
		c->handle[1] = import_chacha(key + CHACHA_KEY);
		return c->handle[0] != PSA_KEY_ID_NULL && c->handle[1] != PSA_KEY_ID_NULL;
	}
	c->handle[0] = import(PSA_KEY_TYPE_AES, PSA_ALG_GCM, PSA_KEY_USAGE_ENCRYPT | PSA_KEY_USAGE_DECRYPT, key,
	                      ssh_cipher_key(cipher));
	return c->handle[0] != PSA_KEY_ID_NULL;
}

static void cipher_end(struct ssh_cipher_state *c, enum ssh_cipher cipher)
{
	psa_destroy_key(c->handle[0]);
	if (cipher == SSH_CHACHA20_POLY1305)
		psa_destroy_key(c->handle[1]);
	c->handle[0] = c->handle[1] = PSA_KEY_ID_NULL;
}

/* Encrypts, which is decrypting, `skip` bytes of nothing, whose key stream goes to *stream, and n bytes in
 * place behind them. */
static bool chacha20(psa_key_id_t id, const uint8_t nonce[SSH_NONCE], uint8_t stream[CHACHA_BLOCK], uint32_t skip,
                     uint8_t *data, uint32_t n)
{
	static const uint8_t zeros[CHACHA_BLOCK];
	psa_cipher_operation_t op = PSA_CIPHER_OPERATION_INIT;
	size_t out = 0;
	const bool done = psa_cipher_encrypt_setup(&op, id, PSA_ALG_STREAM_CIPHER) == PSA_SUCCESS &&
	                  psa_cipher_set_iv(&op, nonce, SSH_NONCE) == PSA_SUCCESS &&
	                  (skip == 0 || psa_cipher_update(&op, zeros, skip, stream, skip, &out) == PSA_SUCCESS) &&
	                  (n == 0 || psa_cipher_update(&op, data, n, data, n, &out) == PSA_SUCCESS);
	psa_cipher_abort(&op);
	return done;
}

/* PROTOCOL.chacha20poly1305: Poly1305's key is the start of block 0, the payload is encrypted from block 1
 * on, the length by the other key; the tag is over both, encrypted. */
static bool seal_chacha(struct ssh_cipher_state *c, const uint8_t *nonce, uint8_t *packet, uint32_t n)
{
	uint8_t block[CHACHA_BLOCK];
	const bool done = chacha20(c->handle[1], nonce, NULL, 0, packet, LENGTH) &&
	                  chacha20(c->handle[0], nonce, block, CHACHA_BLOCK, packet + LENGTH, n - LENGTH) &&
	                  crypto_onetimeauth_poly1305(packet + n, packet, n, block) == 0;
	crypto_wipe(block, sizeof block);
	return done;
}

static bool open_chacha(struct ssh_cipher_state *c, const uint8_t *nonce, uint8_t *packet, uint32_t n)
{
	uint8_t block[CHACHA_BLOCK];
	const bool done = chacha20(c->handle[0], nonce, block, CHACHA_BLOCK, NULL, 0) &&
	                  crypto_onetimeauth_poly1305_verify(packet + n, packet, n, block) == 0 &&
	                  chacha20(c->handle[0], nonce, block, CHACHA_BLOCK, packet + LENGTH, n - LENGTH);
	crypto_wipe(block, sizeof block);
	return done;
}

static bool seal(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t nonce[SSH_NONCE], uint8_t *packet,
                 uint32_t n)
{
	size_t out;
	if (cipher == SSH_CHACHA20_POLY1305)
		return seal_chacha(c, nonce, packet, n);
	return psa_aead_encrypt(c->handle[0], PSA_ALG_GCM, nonce, SSH_NONCE, packet, LENGTH, packet + LENGTH,
	                        n - LENGTH, packet + LENGTH, n - LENGTH + SSH_TAG, &out) == PSA_SUCCESS;
}

static bool open(struct ssh_cipher_state *c, enum ssh_cipher cipher, const uint8_t nonce[SSH_NONCE], uint8_t *packet,
                 uint32_t n)
{
	size_t out;
	if (cipher == SSH_CHACHA20_POLY1305)
		return open_chacha(c, nonce, packet, n);
	return psa_aead_decrypt(c->handle[0], PSA_ALG_GCM, nonce, SSH_NONCE, packet, LENGTH, packet + LENGTH,
	                        n - LENGTH + SSH_TAG, packet + LENGTH, n - LENGTH, &out) == PSA_SUCCESS;
}

static bool length(struct ssh_cipher_state *c, const uint8_t nonce[SSH_NONCE], const uint8_t in[4], uint8_t out[4])
{
	memcpy(out, in, LENGTH);
	return chacha20(c->handle[1], nonce, NULL, 0, out, LENGTH);
}

const struct ssh_crypto ssh_crypto = {
	.random = random_bytes, .sha256 = sha256, .agree = agree, .host_key = host_key, .sign = sign, .verify = verify,
	.cipher_begin = cipher_begin, .cipher_end = cipher_end, .seal = seal, .open = open, .length = length,
};
