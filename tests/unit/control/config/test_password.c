/* control/password: the text of a hash, in both directions, and its errors. */
#include "tests/unit/rig/host.h"

#include "control/config/password.h"

/* "password", by Python's hashlib */
#define GOOD "$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdYw$f1qhN9YsPiA.FWAKgBg.Zbb3eu4rJdCMOZr6RaDOADY"
#define HASH43 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static struct password_hash h;

static int parse(const char *text, const char **why)
{
	size_t n = strlen(text);
	char *copy = malloc(n ? n : 1);
	memcpy(copy, text, n);
	int e = password_parse((struct text){copy, n}, &h, why);
	free(copy);
	return e;
}

static void refuse(const char *text, const char *reason)
{
	const char *why;
	struct password_hash before;
	memset(&h, 0x5a, sizeof h);
	before = h;
	assert_int_equal(parse(text, &why), E_INVAL);
	if (!strstr(why, reason))
		fail_msg("%s: \"%s\", expected \"%s\"", text, why, reason);
	assert_memory_equal(&h, &before, sizeof h);
}

static void makes_the_key(const char *password, bool right)
{
	struct pbkdf2 p;
	uint8_t key[SHA256_BYTES];
	pbkdf2_begin(&p, password, strlen(password), h.salt, h.salt_len, h.iterations);
	while (!pbkdf2_step(&p, 100))
		;
	pbkdf2_key(&p, key);
	assert_int_equal(password_is(&h, key), right);
}

static void another_ones_hash(void **state)
{
	(void)state;
	const char *why;
	char text[PASSWORD_TEXT_MAX];
	assert_int_equal(parse(GOOD, &why), E_OK);
	assert_int_equal(h.iterations, 6400);
	assert_int_equal(h.salt_len, 16);
	assert_string_equal(password_format(text, &h), GOOD);
	makes_the_key("password", true);
	makes_the_key("Password", false);
	makes_the_key("", false);
}

static void one_bit_is_enough(void **state)
{
	(void)state;
	uint8_t key[SHA256_BYTES];
	const char *why;
	assert_int_equal(parse(GOOD, &why), E_OK);
	memcpy(key, h.hash, sizeof key);
	assert_true(password_is(&h, key));
	for (unsigned bit = 0; bit < 8 * sizeof key; bit++) {
		key[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(password_is(&h, key));
		key[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void errors(void **state)
{
	(void)state;
	refuse("", "expected $pbkdf2-sha256$");
	refuse("secret", "expected $pbkdf2-sha256$");
	refuse("$6$salt$hash", "expected $pbkdf2-sha256$");
	refuse("$pbkdf2-sha256", "expected $pbkdf2-sha256$");
	refuse("$pbkdf2-sha512$6400$AAAAAAAAAAA$" HASH43, "expected $pbkdf2-sha256$");
	refuse("$pbkdf2-sha256$", "iterations");
	refuse("$pbkdf2-sha256$999$AAAAAAAAAAA$" HASH43, "iterations");
	refuse("$pbkdf2-sha256$10000001$AAAAAAAAAAA$" HASH43, "iterations");
	refuse("$pbkdf2-sha256$06400$AAAAAAAAAAA$" HASH43, "iterations");
	refuse("$pbkdf2-sha256$6400$$" HASH43, "salt");
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAA$" HASH43, "salt"); /* 7 and a half bytes */
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAAB$" HASH43, "salt"); /* bits left over */
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAA=$" HASH43, "salt");
	refuse("$pbkdf2-sha256$6400$" HASH43 HASH43 "A$" HASH43, "salt");
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAAA", "hash");
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAAA$", "hash");
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAAA$" HASH43 "A", "hash");
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAAA$" HASH43 "$", "hash");
	refuse("$pbkdf2-sha256$6400$AAAAAAAAAAA$AAAA", "hash");
}

static void there_and_back(void **state)
{
	(void)state;
	char text[PASSWORD_TEXT_MAX];
	const char *why;
	seed_random("there_and_back");
	for (int round = 0; round < 5000; round++) {
		struct password_hash made = {
			.iterations = PASSWORD_ITERATIONS_MIN + random_below(PASSWORD_ITERATIONS_MAX - 999),
			.salt_len = (uint8_t)(PASSWORD_SALT_MIN + random_below(57))};
		random_fill(made.salt, made.salt_len);
		random_fill(made.hash, sizeof made.hash);
		password_format(text, &made);
		assert_int_equal(parse(text, &why), E_OK);
		assert_memory_equal(&h, &made, sizeof h);
		for (char *c = text; *c; c++)
			*c = *c == '.' ? '+' : *c; /* standard base64 */
		assert_int_equal(parse(text, &why), E_OK);
		assert_memory_equal(&h, &made, sizeof h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_ones_hash), cmocka_unit_test(one_bit_is_enough),
		cmocka_unit_test(errors),            cmocka_unit_test(there_and_back),
	};
	return cmocka_run_group_tests_name("password", tests, NULL, NULL);
}
