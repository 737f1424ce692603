/* control/crypto/ssh_crypto.c by vectors: RFC 8032 7.1 (Ed25519), RFC 6979 A.2.5 (ECDSA), and for RSA, AES-GCM and
 * chacha20-poly1305@openssh.com by what Python's cryptography 38 (OpenSSL 3.0) computed. */
#include "tests/unit/rig/host.h"

#include "control/crypto/library.h"
#include "control/crypto/ssh_crypto.h"
#include "lib/number.h"
#include "runtime/runtime.h"

struct core_self self;
uint64_t host_tsc;

static struct ssh_text hex(const char *text)
{
	static uint8_t bytes[8][600];
	static unsigned next;
	uint8_t *to = bytes[next++ % 8];
	uint32_t n = 0;
	for (; text[2 * n]; n++)
		to[n] = (uint8_t)(hex_digit(text[2 * n]) << 4 | hex_digit(text[2 * n + 1]));
	return (struct ssh_text){to, n};
}

static int setup(void **state)
{
	(void)state;
	assert_true(crypto_start());
	return 0;
}

/* RFC 8032 7.1, TEST 3. */
static void test_ed25519(void **state)
{
	const struct ssh_text seed = hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
	const struct ssh_text public = hex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
	const struct ssh_text signature = hex("6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
	                                      "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a");
	const struct ssh_text message = hex("af82");
	struct ssh_public key = {.kind = SSH_ED25519, .point = public};
	uint8_t point[SSH_POINT_MAX], made[SSH_SIGNATURE];
	(void)state;
	assert_int_equal(ssh_crypto.host_key(SSH_ED25519, point), 0);
	assert_false(ssh_crypto.sign(SSH_ED25519, message.at, message.n, made));
	ssh_crypto_set_host_key(seed.at);
	assert_int_equal(ssh_crypto.host_key(SSH_ED25519, point), 32);
	assert_int_equal(ssh_crypto.host_key(SSH_ECDSA_NISTP256, point), 0);
	assert_int_equal(ssh_crypto.host_key(SSH_ED25519, point), 32);
	assert_memory_equal(point, public.at, 32);
	assert_true(ssh_crypto.sign(SSH_ED25519, message.at, message.n, made));
	assert_memory_equal(made, signature.at, sizeof made);
	assert_true(ssh_crypto.verify(&key, message, signature));
	made[3] ^= 1;
	assert_false(ssh_crypto.verify(&key, message, (struct ssh_text){made, sizeof made}));
	assert_false(ssh_crypto.verify(&key, hex("af83"), signature));
	/* a key of small order verifies nothing, not even the signature that fits any message */
	key.point = hex("0100000000000000000000000000000000000000000000000000000000000000");
	assert_false(ssh_crypto.verify(&key, message, hex("0100000000000000000000000000000000000000000000000000000000000000"
	                                                  "0000000000000000000000000000000000000000000000000000000000000000")));
}

/* RFC 6979 A.2.5, SHA-256, "sample". */
static void test_ecdsa(void **state)
{
	struct ssh_public key = {.kind = SSH_ECDSA_NISTP256,
	                         .point = hex("0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
	                                      "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")};
	const struct ssh_text signature = hex("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
	                                      "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");
	(void)state;
	assert_true(ssh_crypto.verify(&key, ssh_text_of("sample"), signature));
	assert_false(ssh_crypto.verify(&key, ssh_text_of("simple"), signature));
	key.point = hex("0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
	                "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462298"); /* not on the curve */
	assert_false(ssh_crypto.verify(&key, ssh_text_of("sample"), signature));
}

static void test_rsa(void **state)
{
	static const char modulus[] =
		"b1422a1724043474ad6e08fed682ab25875d75042327adbcef2374111824698f1f190036b46ab34b74b6ca571be521e3"
		"2b791fa1fe1d0ceea9184bb2217d15e4ce078c5f7591e7235780523164190e67fa57396bc0b93422f2bda3337506b2f2"
		"a73046e61bf7718ccedfdfd2ab63496ecf3de7d6fec370e1c17701bc15fdffd41db2b147b65f75cf06269fbf37962079"
		"b7413c8aa50917355be8a1c51274667e708a99998441bcbeb59683e6c6b54d45e2b9c183c61fe2b2020142a3fb9b952a"
		"b6b4518e4bb2a7f345a33d3aaf804ffd1857037381a10c8e73fc96c35553b7959d07065f97c4f56ac311f2af9269d1df"
		"bd96aedd175d0223b4c9a5514b985d8d";
	static const char sha256[] =
		"869a10d4f0fa772bf894a9917549a4d911321cd4e7d87eb5f454c7dda848a83cdcc944bb93728c1c35864b6eb92fb445"
		"0923721541de970f401d8f59dbd7f34d65b496caaa635d0eaefc76302a675c606a815e28651a0df516f521cc02b31257"
		"b6b21d243cda490844a765044e613b465e6a60365223354dfa9671e1d83b9e18cc4a9568e3abb9819cf7bb7e62f14545"
		"e511a3e4f5e22189aa66cb0e05f719c7788047ab3b8c1c5b5551cd2c3da95e316615a140608bc312cfeefe616f3051ef"
		"1b63415007ef2322ddc3bd88141f24b48bf52f542976fe0734e827cd243ea22c691e84059dc5ddde7b5a7bbeccc46443"
		"e83d06b6921d57f5035d900113fbc5fa";
	static const char sha512[] =
		"43a72039422c31ca5b24f484f74fd892a1aee70a18b47f7f0d2a9469ca74a5acd79d401117fd2b73776871bd6995af86"
		"c9b33ec37b4dd5e48ac80441bbac8a285457b64f130503f8814b03dff0505d5f89150d62ea77abf777e80890a5d2d58d"
		"fa637599bd77dc5a256222b9f888fd814d16a176fae5e16249fd881b98d7fa0380c9a244ffbf6073707d99fc0be5a830"
		"ed3a799e2e120a556076721daf803d4434f03883bd633323f7643202cb91682b662eaa45f832c505a0e19bbd24c722b0"
		"94fb82ba084adaa3a7843825e61abd0b62671ea2f5152bc0b7be83820af8ff541e6bb39fff1499cde591963be7aee115"
		"694fb3835de03faa1a92d49410659b79";
	struct ssh_public key = {.kind = SSH_RSA_SHA256, .modulus = hex(modulus), .exponent = hex("010001")};
	(void)state;
	assert_true(ssh_crypto.verify(&key, ssh_text_of("message"), hex(sha256)));
	assert_false(ssh_crypto.verify(&key, ssh_text_of("message"), hex(sha512)));
	assert_false(ssh_crypto.verify(&key, ssh_text_of("another"), hex(sha256)));
	key.kind = SSH_RSA_SHA512;
	assert_true(ssh_crypto.verify(&key, ssh_text_of("message"), hex(sha512)));
	assert_false(ssh_crypto.verify(&key, ssh_text_of("message"), hex("00")));
}

/* A key comes from a client before it has logged in: one whose numbers are too long is refused, and written nowhere. */
static void test_rsa_too_long(void **state)
{
	static uint8_t bytes[2000];
	(void)state;
	memset(bytes, 0x7f, sizeof bytes);
	for (unsigned exponent = 8; exponent <= 1000; exponent = exponent == 8 ? 9 : 2 * exponent)
		for (unsigned modulus = 512; modulus <= 1024; modulus *= 2) {
			const struct ssh_public key = {.kind = SSH_RSA_SHA256, .modulus = {bytes, modulus},
			                               .exponent = {bytes, exponent}};
			assert_false(ssh_crypto.verify(&key, ssh_text_of("message"), (struct ssh_text){bytes, modulus}));
		}
}

/* With the base point as the peer's share, the secret is the own share. */
static void test_agree(void **state)
{
	const struct ssh_text nine = hex("0900000000000000000000000000000000000000000000000000000000000000");
	const struct ssh_text zero = hex("0000000000000000000000000000000000000000000000000000000000000000");
	struct ssh_text g = hex("046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
	                        "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5");
	uint8_t share[SSH_POINT_MAX], other[SSH_POINT_MAX], secret[SSH_SECRET];
	(void)state;
	assert_true(ssh_crypto.agree(SSH_CURVE25519_SHA256, nine, share, secret));
	assert_memory_equal(share, secret, 32);
	assert_true(ssh_crypto.agree(SSH_CURVE25519_SHA256, nine, other, secret));
	assert_true(memcmp(share, other, 32) != 0); /* a new key each time */
	assert_false(ssh_crypto.agree(SSH_CURVE25519_SHA256, zero, share, secret));
	assert_false(ssh_crypto.agree(SSH_CURVE25519_SHA256, g, share, secret));
	assert_true(ssh_crypto.agree(SSH_ECDH_NISTP256, g, share, secret));
	assert_int_equal(share[0], 4);
	assert_memory_equal(share + 1, secret, 32);
	g.n = 64;
	assert_false(ssh_crypto.agree(SSH_ECDH_NISTP256, g, share, secret));
	g = hex("046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
	        "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f6");
	assert_false(ssh_crypto.agree(SSH_ECDH_NISTP256, g, share, secret));
}

static void packet_by(enum ssh_cipher cipher, const char *sealed, const char *nonce)
{
	uint8_t key[SSH_CIPHER_KEY_MAX], packet[32 + SSH_TAG], length[4];
	const struct ssh_text want = hex(sealed), n = hex(nonce);
	struct ssh_cipher_state c;
	const size_t before = crypto_use().used;
	for (unsigned i = 0; i < sizeof key; i++)
		key[i] = (uint8_t)i;
	memcpy(packet, "\0\0\0\x1c", 4);
	for (unsigned i = 0; i < 28; i++)
		packet[4 + i] = (uint8_t)i;
	assert_true(ssh_crypto.cipher_begin(&c, cipher, key));
	assert_true(ssh_crypto.seal(&c, cipher, n.at, packet, 32));
	assert_memory_equal(packet, want.at, sizeof packet);
	for (unsigned i = 0; i < sizeof packet; i++) {
		uint8_t damaged[sizeof packet];
		memcpy(damaged, packet, sizeof packet);
		damaged[i] ^= 0x10;
		assert_false(ssh_crypto.open(&c, cipher, n.at, damaged, 32));
	}
	if (cipher == SSH_CHACHA20_POLY1305) {
		assert_true(ssh_crypto.length(&c, n.at, packet, length));
		assert_memory_equal(length, "\0\0\0\x1c", 4);
	}
	assert_true(ssh_crypto.open(&c, cipher, n.at, packet, 32));
	for (unsigned i = 0; i < 28; i++)
		assert_int_equal(packet[4 + i], i);
	ssh_crypto.cipher_end(&c, cipher);
	assert_int_equal(crypto_use().used, before);
}

static void test_ciphers(void **state)
{
	static const char aes[] = "6465666768696a6b6c6d6e6f", seven[] = "000000000000000000000007";
	(void)state;
	for (unsigned round = 0; round < 2; round++) { /* the first makes the store of keys */
		struct ssh_cipher_state c;
		static const uint8_t key[SSH_CIPHER_KEY_MAX];
		assert_true(ssh_crypto.cipher_begin(&c, SSH_AES128_GCM, key));
		ssh_crypto.cipher_end(&c, SSH_AES128_GCM);
	}
	packet_by(SSH_AES128_GCM,
	          "0000001c"
	          "1a634ca6df07befd93375d1b8ac725e320996aec86bccb4dec76ab8c709f06c56689501f0dac5f6467d01a54", aes);
	packet_by(SSH_AES256_GCM,
	          "0000001c"
	          "481adc657dec5099366b55e3d66864f252d314199f79e565bfc8b653a9c90e8ed8fd404cce436ce2eee757b2", aes);
	packet_by(SSH_CHACHA20_POLY1305,
	          "a39afcb6284717404a862c596464b1fbdb82dd2324a322256af62b94587301c4a77b63f0dcdc32668440e80ca9beec17", seven);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ed25519), cmocka_unit_test(test_ecdsa), cmocka_unit_test(test_rsa),
		cmocka_unit_test(test_rsa_too_long),
		cmocka_unit_test(test_agree), cmocka_unit_test(test_ciphers),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
