/* kernel/boot: options of the kernel command line. */
#include "tests/unit/host.h"

#include "kernel/boot.h"
#include "kernel/panic.h"

void panic(const char *format, ...)
{
	fail_msg("panic: %s", format);
	abort();
}

static uint64_t number(const char *word)
{
	static struct boot boot;
	snprintf(boot.cmdline, sizeof boot.cmdline, "app=router n=%s idle=poll", word);
	return boot_option_number(&boot, "n", 777);
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
	static struct boot boot = {.cmdline = "app=router  apps=9 app=echo empty= idle=poll"};
	char text[8];
	(void)s;
	assert_true(boot_option(&boot, "app", text, sizeof text));
	assert_string_equal(text, "router");
	assert_true(boot_option(&boot, "empty", text, sizeof text));
	assert_string_equal(text, "");
	assert_false(boot_option(&boot, "ap", text, sizeof text));
	assert_true(boot_option(&boot, "app", text, 7));
	assert_true(boot_option(&boot, "app", text, 6)); /* too long counts as absent */
	assert_string_equal(text, "echo");
	assert_false(boot_option(&boot, "app", text, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(malformed_numbers),
		cmocka_unit_test(options),
	};
	return cmocka_run_group_tests_name("boot", tests, NULL, NULL);
}
