/* control/text/base64.c: RFC 4648 10, and what is refused. */
#include "tests/unit/rig/host.h"

#include "control/text/base64.h"

static void test_vectors(void **state)
{
	static const char *const of[][2] = {{"", ""},         {"f", "Zg=="},         {"fo", "Zm8="},        {"foo", "Zm9v"},
	                                    {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff", "+/8="}};
	uint8_t out[8];
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(of); i++) {
		assert_int_equal(base64_decode(text_of(of[i][1]), out, sizeof out), strlen(of[i][0]));
		assert_memory_equal(out, of[i][0], strlen(of[i][0]));
		char text[BASE64_SIZE(6)];
		base64_encode(text, (const uint8_t *)of[i][0], strlen(of[i][0]));
		assert_string_equal(text, of[i][1]);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "=Zm9", "Zm=v", "Zm9v=", "Zm9v====", "Zm 9", "Zm9_", "Zm9-"};
	uint8_t out[8];
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(base64_decode(text_of(bad[i]), out, sizeof out), -1);
	assert_int_equal(base64_decode(text_of("Zm9vYmFy"), out, 5), -1);
	assert_int_equal(base64_decode(text_of("Zm9vYmFy"), out, 6), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
