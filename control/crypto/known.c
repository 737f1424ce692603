/* See known.h. */
#include "control/crypto/known.h"

#include <psa/crypto.h>
#include <sodium/crypto_onetimeauth_poly1305.h>
#include <sodium/crypto_scalarmult_curve25519.h>
#include <sodium/crypto_sign_ed25519.h>

#include "lib/mem.h"
#include "runtime/runtime.h"

#define HEX_MAX 128 /* bytes of a vector */
#define BULK 4096

/* The bytes of a text of hexadecimal digits; returns how many. */
static size_t hex(const char *text, uint8_t to[HEX_MAX])
{
	size_t n = 0;
	for (; text[0] && text[1] && n < HEX_MAX; text += 2, n++) {
		uint8_t v = 0;
		for (unsigned i = 0; i < 2; i++)
			v = (uint8_t)(v << 4 | (text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10));
		to[n] = v;
	}
	return n;
}

static bool is(const uint8_t *got, size_t n, const char *text)
{
	uint8_t want[HEX_MAX];
	return hex(text, want) == n && memcmp(got, want, n) == 0;
}

static psa_key_id_t key(psa_key_type_t type, psa_algorithm_t algorithm, const char *text)
{
	uint8_t bytes[HEX_MAX];
	psa_key_attributes_t a = PSA_KEY_ATTRIBUTES_INIT;
	psa_key_id_t id = 0;
	psa_set_key_type(&a, type);
	psa_set_key_algorithm(&a, algorithm);
	psa_set_key_usage_flags(&a, PSA_KEY_USAGE_ENCRYPT | PSA_KEY_USAGE_SIGN_MESSAGE | PSA_KEY_USAGE_SIGN_HASH |
	                                PSA_KEY_USAGE_VERIFY_HASH | PSA_KEY_USAGE_DERIVE);
	return psa_import_key(&a, bytes, hex(text, bytes), &id) == PSA_SUCCESS ? id : 0;
}

static bool sha256(void)
{
	uint8_t out[32];
	size_t n;
	return psa_hash_compute(PSA_ALG_SHA_256, (const uint8_t *)"abc", 3, out, sizeof out, &n) == PSA_SUCCESS &&
	       is(out, n, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static bool sha384(void)
{
	uint8_t out[48];
	size_t n;
	return psa_hash_compute(PSA_ALG_SHA_384, (const uint8_t *)"abc", 3, out, sizeof out, &n) == PSA_SUCCESS &&
	       is(out, n, "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
	                  "8086072ba1e7cc2358baeca134c825a7");
}

static bool sha512(void)
{
	uint8_t out[64];
	size_t n;
	return psa_hash_compute(PSA_ALG_SHA_512, (const uint8_t *)"abc", 3, out, sizeof out, &n) == PSA_SUCCESS &&
	       is(out, n, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
	                  "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

static bool hmac(void)
{
	const psa_key_id_t id = key(PSA_KEY_TYPE_HMAC, PSA_ALG_HMAC(PSA_ALG_SHA_256), "4a656665");
	uint8_t out[32];
	size_t n = 0;
	const bool done = psa_mac_compute(id, PSA_ALG_HMAC(PSA_ALG_SHA_256),
	                                  (const uint8_t *)"what do ya want for nothing?", 28, out, sizeof out,
	                                  &n) == PSA_SUCCESS;
	psa_destroy_key(id);
	return done && is(out, n, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static bool gcm(const char *secret, const char *answer)
{
	static const uint8_t zeros[16];
	const psa_key_id_t id = key(PSA_KEY_TYPE_AES, PSA_ALG_GCM, secret);
	uint8_t out[32];
	size_t n = 0;
	const bool done = psa_aead_encrypt(id, PSA_ALG_GCM, zeros, 12, NULL, 0, zeros, 16, out, sizeof out, &n) ==
	                  PSA_SUCCESS;
	psa_destroy_key(id);
	return done && is(out, n, answer);
}

static bool gcm128(void)
{
	return gcm("00000000000000000000000000000000",
	           "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf");
}

static bool gcm256(void)
{
	return gcm("0000000000000000000000000000000000000000000000000000000000000000",
	           "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
}

/* The ciphertext's end and the tag; the whole is 114 bytes. */
static bool chachapoly(void)
{
	static const char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip "
	                           "for the future, sunscreen would be it.";
	const psa_key_id_t id = key(PSA_KEY_TYPE_CHACHA20, PSA_ALG_CHACHA20_POLY1305,
	                            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
	uint8_t nonce[HEX_MAX], ad[HEX_MAX], out[130];
	size_t n = 0;
	const bool done = psa_aead_encrypt(id, PSA_ALG_CHACHA20_POLY1305, nonce, hex("070000004041424344454647", nonce),
	                                   ad, hex("50515253c0c1c2c3c4c5c6c7", ad), (const uint8_t *)text,
	                                   sizeof text - 1, out, sizeof out, &n) == PSA_SUCCESS;
	psa_destroy_key(id);
	return done && n == 130 && is(out, 16, "d31a8d34648e60db7b86afbc53ef7ec2") &&
	       is(out + 114, 16, "1ae10b594f09e26a7e902ecbd0600691");
}

static bool poly1305(void)
{
	uint8_t secret[HEX_MAX], tag[16];
	hex("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b", secret);
	return crypto_onetimeauth_poly1305(tag, (const uint8_t *)"Cryptographic Forum Research Group", 34,
	                                   secret) == 0 &&
	       is(tag, 16, "a8061dc1305136c6c22b8baf0c0127a9");
}

static bool agree(psa_ecc_family_t family, const char *own, const char *other, const char *answer)
{
	const psa_key_id_t id = key(PSA_KEY_TYPE_ECC_KEY_PAIR(family), PSA_ALG_ECDH, own);
	uint8_t peer[HEX_MAX], out[32];
	size_t n = 0;
	const bool done = psa_raw_key_agreement(PSA_ALG_ECDH, id, peer, hex(other, peer), out, sizeof out, &n) ==
	                  PSA_SUCCESS;
	psa_destroy_key(id);
	return done && is(out, n, answer);
}

#define X25519_OWN "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
#define X25519_OTHER "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
#define X25519_ANSWER "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"

static bool x25519(void)
{
	return agree(PSA_ECC_FAMILY_MONTGOMERY, X25519_OWN, X25519_OTHER, X25519_ANSWER);
}

static bool x25519_sodium(void)
{
	uint8_t own[HEX_MAX], other[HEX_MAX], out[32];
	hex(X25519_OWN, own);
	hex(X25519_OTHER, other);
	return crypto_scalarmult_curve25519(out, own, other) == 0 && is(out, 32, X25519_ANSWER);
}

static bool ecdh(void)
{
	return agree(PSA_ECC_FAMILY_SECP_R1, "c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433",
	             "04d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf6356fbf3ca366cc23e8157854c13c5"
	             "8d6aac23f046ada30f8353e74f33039872ab",
	             "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de");
}

#define ECDSA_HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" /* of "test" */
#define ECDSA_ANSWER \
	"f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367" \
	"019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"

static bool ecdsa_sign(void)
{
	const psa_algorithm_t algorithm = PSA_ALG_DETERMINISTIC_ECDSA(PSA_ALG_SHA_256);
	const psa_key_id_t id = key(PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_SECP_R1), algorithm,
	                            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
	uint8_t hash[HEX_MAX], out[64];
	size_t n = 0;
	const bool done = psa_sign_hash(id, algorithm, hash, hex(ECDSA_HASH, hash), out, sizeof out, &n) == PSA_SUCCESS;
	psa_destroy_key(id);
	return done && is(out, n, ECDSA_ANSWER);
}

/* The right signature passes, and one with a changed bit does not. */
static bool ecdsa_verify(void)
{
	const psa_algorithm_t algorithm = PSA_ALG_ECDSA(PSA_ALG_SHA_256);
	const psa_key_id_t id = key(PSA_KEY_TYPE_ECC_PUBLIC_KEY(PSA_ECC_FAMILY_SECP_R1), algorithm,
	                            "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
	                            "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299");
	uint8_t hash[HEX_MAX], signature[HEX_MAX];
	const size_t n = hex(ECDSA_HASH, hash), bytes = hex(ECDSA_ANSWER, signature);
	const bool right = psa_verify_hash(id, algorithm, hash, n, signature, bytes) == PSA_SUCCESS;
	signature[40] ^= 1;
	const bool wrong = psa_verify_hash(id, algorithm, hash, n, signature, bytes) == PSA_ERROR_INVALID_SIGNATURE;
	psa_destroy_key(id);
	return right && wrong;
}

static bool p256_generate(void)
{
	psa_key_attributes_t a = PSA_KEY_ATTRIBUTES_INIT;
	psa_key_id_t id = 0;
	uint8_t public[65];
	size_t n = 0;
	psa_set_key_type(&a, PSA_KEY_TYPE_ECC_KEY_PAIR(PSA_ECC_FAMILY_SECP_R1));
	psa_set_key_bits(&a, 256);
	psa_set_key_algorithm(&a, PSA_ALG_ECDH);
	psa_set_key_usage_flags(&a, PSA_KEY_USAGE_DERIVE);
	const bool done = psa_generate_key(&a, &id) == PSA_SUCCESS &&
	                  psa_export_public_key(id, public, sizeof public, &n) == PSA_SUCCESS;
	psa_destroy_key(id);
	return done && n == 65 && public[0] == 4;
}

#define ED25519_ANSWER \
	"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac" \
	"18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
#define ED25519_PUBLIC "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
static const uint8_t ed25519_text[] = {0xaf, 0x82};

static bool ed25519_sign(void)
{
	uint8_t seed[HEX_MAX], public[32], secret[64], out[64];
	hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", seed);
	return crypto_sign_ed25519_seed_keypair(public, secret, seed) == 0 && is(public, 32, ED25519_PUBLIC) &&
	       crypto_sign_ed25519_detached(out, NULL, ed25519_text, sizeof ed25519_text, secret) == 0 &&
	       is(out, sizeof out, ED25519_ANSWER);
}

static bool ed25519_verify(void)
{
	uint8_t public[HEX_MAX], signature[HEX_MAX];
	hex(ED25519_PUBLIC, public);
	hex(ED25519_ANSWER, signature);
	const bool right = crypto_sign_ed25519_verify_detached(signature, ed25519_text, sizeof ed25519_text,
	                                                       public) == 0;
	signature[3] ^= 1;
	return right && crypto_sign_ed25519_verify_detached(signature, ed25519_text, sizeof ed25519_text, public) != 0;
}

/* A record of BULK bytes, encrypted: there is no answer, it is here for its time. */
static bool bulk(psa_key_type_t type, psa_algorithm_t algorithm, const char *secret)
{
	uint8_t from[BULK] = {0}, to[BULK + 16];
	static const uint8_t nonce[12];
	const psa_key_id_t id = key(type, algorithm, secret);
	size_t n = 0;
	const bool done = psa_aead_encrypt(id, algorithm, nonce, sizeof nonce, NULL, 0, from, sizeof from, to,
	                                   sizeof to, &n) == PSA_SUCCESS;
	psa_destroy_key(id);
	return done && n == sizeof to;
}

static bool gcm_bulk(void)
{
	return bulk(PSA_KEY_TYPE_AES, PSA_ALG_GCM, "00000000000000000000000000000000");
}

static bool chachapoly_bulk(void)
{
	return bulk(PSA_KEY_TYPE_CHACHA20, PSA_ALG_CHACHA20_POLY1305,
	            "0000000000000000000000000000000000000000000000000000000000000000");
}

static const struct {
	const char *name, *source;
	bool (*run)(void);
} rows[] = {
	{"SHA-256", "FIPS 180-4", sha256},
	{"SHA-384", "FIPS 180-4", sha384},
	{"SHA-512", "FIPS 180-4", sha512},
	{"HMAC-SHA-256", "RFC 4231 4.3", hmac},
	{"AES-128-GCM", "GCM specification, case 2", gcm128},
	{"AES-256-GCM", "GCM specification, case 14", gcm256},
	{"AES-128-GCM, 4096 bytes", "", gcm_bulk},
	{"ChaCha20-Poly1305", "RFC 8439 2.8.2", chachapoly},
	{"ChaCha20-Poly1305, 4096 bytes", "", chachapoly_bulk},
	{"Poly1305", "RFC 8439 2.5.2", poly1305},
	{"X25519 (Mbed TLS)", "RFC 7748 6.1", x25519},
	{"X25519 (libsodium)", "RFC 7748 6.1", x25519_sodium},
	{"ECDH P-256", "RFC 5903 8.1", ecdh},
	{"a key of P-256", "", p256_generate},
	{"ECDSA P-256, sign", "RFC 6979 A.2.5", ecdsa_sign},
	{"ECDSA P-256, verify", "RFC 6979 A.2.5", ecdsa_verify},
	{"Ed25519, sign", "RFC 8032 7.1", ed25519_sign},
	{"Ed25519, verify", "RFC 8032 7.1", ed25519_verify},
};

bool crypto_known(unsigned i, struct crypto_known *to)
{
	if (i >= ARRAY_LEN(rows))
		return false;
	const uint64_t before = clock_tsc();
	const bool right = rows[i].run();
	*to = (struct crypto_known){rows[i].name, rows[i].source, right,
	                            clock_ns(&self.clock, clock_tsc() - before)};
	return true;
}
