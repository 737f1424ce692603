/* lib/cmdline: options of the kernel command line. */
#include "tests/unit/rig/host.h"

#include "lib/cmdline.h"

static uint64_t number(const char *word)
{
	char line[128];
	snprintf(line, sizeof line, "app=router n=%s idle=poll", word);
	return cmdline_number(line, "n", 777);
}

static void numbers(void **s)
{
	(void)s;
	assert_int_equal(number("0"), 0);
	assert_int_equal(number("42"), 42);
	assert_int_equal(number("0xf4"), 0xf4);
	assert_int_equal(number("0xDeadBeef"), 0xdeadbeef);
	assert_true(number("18446744073709551615") == UINT64_MAX);
	assert_true(number("0xffffffffffffffff") == UINT64_MAX);
}

static void malformed_numbers(void **s)
{
	static const char *const bad[] = {
		"", "x", "0x", "4x", "-1", "+1", "1f", "0x1g", "0x:", "0xG", "0x@", "0x`", "1:", "1/",
		"18446744073709551616", "99999999999999999999", "0x10000000000000000",
		"123456789012345678901234567890",
	};
	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(number(bad[i]), 777);
}

static void options(void **s)
{
	static const char line[] = "app=router  apps=9 app=echo empty= idle=poll";
	char text[8];
	(void)s;
	assert_true(cmdline_option(line, "app", text, sizeof text));
	assert_string_equal(text, "router");
	assert_true(cmdline_option(line, "empty", text, sizeof text));
	assert_string_equal(text, "");
	assert_false(cmdline_option(line, "ap", text, sizeof text));
	assert_true(cmdline_option(line, "app", text, 7));
	assert_true(cmdline_option(line, "app", text, 6)); /* too long counts as absent */
	assert_string_equal(text, "echo");
	assert_false(cmdline_option(line, "app", text, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(malformed_numbers),
		cmocka_unit_test(options),
	};
	return cmocka_run_group_tests_name("cmdline", tests, NULL, NULL);
}
