/*
 * lib/sha256 against the examples of FIPS 180-4 (csrc.nist.gov, "SHA256.pdf") and another
 * implementation's digests at each length where the padding changes; lib/pbkdf2 against RFC 7914 11
 * and the inputs of RFC 6070 with SHA-256. Expected values were made by Python's hashlib.
 */
#include "tests/unit/rig/host.h"

#include "lib/pbkdf2.h"
#include "lib/sha256.h"

static const char *hex(const uint8_t *bytes)
{
	static char text[2 * SHA256_BYTES + 1];
	for (unsigned i = 0; i < SHA256_BYTES; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

/* In pieces of `step` bytes, each an allocation of its own, for ASan. */
static const char *digest(const uint8_t *data, size_t n, size_t step)
{
	static uint8_t out[SHA256_BYTES];
	struct sha256 s;
	sha256_init(&s);
	for (size_t at = 0; at < n; at += step) {
		size_t piece = step < n - at ? step : n - at;
		uint8_t *copy = malloc(piece);
		memcpy(copy, data + at, piece);
		sha256_add(&s, copy, piece);
		free(copy);
	}
	sha256_end(&s, out);
	return hex(out);
}

static void published_examples(void **state)
{
	(void)state;
	static const struct {
		const char *text, *digest;
	} of[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(of); i++)
		for (size_t step = 1; step < 70; step++)
			assert_string_equal(digest((const uint8_t *)of[i].text, strlen(of[i].text), step),
			                    of[i].digest);
	uint8_t *million = malloc(1000000);
	memset(million, 'a', 1000000);
	assert_string_equal(digest(million, 1000000, 1000000),
	                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	assert_string_equal(digest(million, 1000000, 4097),
	                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	uint8_t one[SHA256_BYTES];
	sha256_of(million, 1000000, one);
	assert_string_equal(hex(one), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

/* Where the length needs a block of its own, and where it just fits. */
static void every_padding(void **state)
{
	(void)state;
	static const struct {
		size_t n;
		const char *digest;
	} of[] = {
		{55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59"},
		{56, "da2ae4d6b36748f2a318f23e7ab1dfdf45acdc9d049bd80e59de82a60895f562"},
		{63, "29af2686fd53374a36b0846694cc342177e428d1647515f078784d69cdb9e488"},
		{64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"},
		{112, "09373f127d34e61dbbaa8bc4499c87074f2ddb10e1b465f506d7d70a15011979"},
		{119, "da18797ed7c3a777f0847f429724a2d8cd5138e6ed2895c3fa1a6d39d18f7ec6"},
		{120, "f52b23db1fbb6ded89ef42a23ce0c8922c45f25c50b568a93bf1c075420bbb7c"},
		{1000, "a8af099bf2e878609558dbf69d8f88f4a31040a8cf84b549a0cfa912f12ffc3f"},
	};
	uint8_t bytes[1000];
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	for (unsigned i = 0; i < ARRAY_LEN(of); i++)
		for (size_t step = 1; step <= 130; step += 3)
			assert_string_equal(digest(bytes, of[i].n, step), of[i].digest);
}

/* The key, the same whatever the step. */
static const char *key_of(const char *password, size_t n, const char *salt, size_t salt_len,
                          uint32_t iterations, uint32_t step)
{
	static uint8_t key[SHA256_BYTES];
	struct pbkdf2 p;
	uint32_t steps = 1;
	pbkdf2_begin(&p, password, n, salt, salt_len, iterations);
	while (!pbkdf2_step(&p, step))
		steps++;
	assert_int_equal(steps, iterations == 1 ? 1 : (iterations - 2) / step + 1);
	assert_true(pbkdf2_step(&p, step)); /* done stays done */
	pbkdf2_key(&p, key);
	return hex(key);
}

#define KEY(password, salt, iterations, step) \
	key_of(password, sizeof(password) - 1, salt, sizeof(salt) - 1, iterations, step)

static void pbkdf2_vectors(void **state)
{
	(void)state;
	/* RFC 7914 11: the first 32 of 64 bytes */
	assert_string_equal(KEY("passwd", "salt", 1, 1),
	                    "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc");
	assert_string_equal(KEY("Password", "NaCl", 80000, 1000),
	                    "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56");
	/* RFC 6070 */
	assert_string_equal(KEY("password", "salt", 1, 7),
	                    "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b");
	assert_string_equal(KEY("password", "salt", 2, 1),
	                    "ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43");
	for (uint32_t step = 1; step < 5000; step = step * 3 + 1)
		assert_string_equal(KEY("password", "salt", 4096, step),
		                    "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a");
	assert_string_equal(KEY("passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096,
	                        64),
	                    "348c89dbcbd32b2f32d814b8116e84cf2b17347ebc1800181c4e2a1fb8dd53e1");
	assert_string_equal(KEY("pass\0word", "sa\0lt", 4096, 64),
	                    "89b69d0516f829893c696226650a86878c029ac13ee276509d5ae58b6466a724");
	/* A key longer than a block (RFC 2104 2), a block long, and a byte longer (values by Python's hashlib). */
	char k[131];
	memset(k, 'k', sizeof k);
	assert_string_equal(key_of(k, 64, "salt", 4, 3, 1),
	                    "59e38449e5b5499366e8ef715d2cb11880bafafa02ff5699caa77948092dc60c");
	assert_string_equal(key_of(k, 65, "salt", 4, 3, 1),
	                    "37681f3749277f6b4ddde0ffeb99b3fcf332f61ba1ee3612ed0fd921583c6cfe");
	assert_string_equal(key_of(k, sizeof k, "salt", 4, 3, 1),
	                    "44221571504eae3ceb0c65608e8dc2292354f7a35f597d3aee8148ecf46d6449");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_examples),
		cmocka_unit_test(every_padding),
		cmocka_unit_test(pbkdf2_vectors),
	};
	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
