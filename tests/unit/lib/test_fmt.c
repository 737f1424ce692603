/* lib/fmt against the host's snprintf. */
#include "tests/unit/rig/host.h"

#include "lib/fmt.h"

#define SAME(...) \
	do { \
		char ours[200], theirs[200]; \
		size_t n = fmt_format(ours, sizeof ours, __VA_ARGS__); \
		size_t m = (size_t)snprintf(theirs, sizeof theirs, __VA_ARGS__); \
		assert_string_equal(ours, theirs); \
		assert_int_equal(n, m); \
	} while (0)

static void integers(void **s)
{
	(void)s;
	const int v[] = {0, 1, -1, 9, 10, 12345, INT32_MAX, INT32_MIN};
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		SAME("%d|%i|%5d|%-5d|%05d|%.3d|%8.3d|%-8.3d|", v[i], v[i], v[i], v[i], v[i], v[i], v[i],
		     v[i]);
		SAME("%u|%x|%X|%08x|%-8X|%.10x|", (unsigned)v[i], (unsigned)v[i], (unsigned)v[i],
		     (unsigned)v[i], (unsigned)v[i], (unsigned)v[i]);
	}
}

static void lengths(void **s)
{
	(void)s;
	const long long v[] = {0, 1, -1, 255, -128, 65535, 0x123456789abcdef, INT64_MAX, INT64_MIN};
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		SAME("%hhd|%hhu|%hd|%hu|%hhx", (signed char)v[i], (unsigned char)v[i], (short)v[i],
		     (unsigned short)v[i], (unsigned char)v[i]);
		SAME("%ld|%lu|%lld|%llu|%zu|%llx|%lX", (long)v[i], (unsigned long)v[i], v[i],
		     (unsigned long long)v[i], (size_t)v[i], (unsigned long long)v[i], (unsigned long)v[i]);
	}
}

static void texts(void **s)
{
	(void)s;
	SAME("%s|%10s|%-10s|%.2s|%10.2s|%c|%-3c|%%", "abc", "abc", "abc", "abc", "abc", 'x', 'y');
	SAME("%*d|%-*d|%.*s|%*s", 6, 42, 6, 42, 2, "abc", -6, "ab");
	SAME("no conversion at all");
}

static void random_numbers(void **s)
{
	(void)s;
	seed_random("random_numbers");
	for (int i = 0; i < 20000; i++) {
		unsigned long long v = random64() >> random_below(64);
		int w = (int)random_below(25);
		SAME("%*llu|%-*llx|%0*lld", w, v, w, v, w, (long long)v);
	}
}

/* What the compiler would refuse, or a C library prints differently. */
static void odd_conversions(void **s)
{
	(void)s;
	char text[64];
	const char *volatile odd = "50%";
	const char *volatile none = NULL;
	assert_int_equal(fmt_format(text, sizeof text, "%p|%s", (void *)0xc0ffee, none), 23);
	assert_string_equal(text, "0000000000c0ffee|(null)");
	SAME("%.*d|%.*s|%0*d", -3, 7, -1, "abc", -6, 42);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
	assert_int_equal(fmt_format(text, sizeof text, odd), 2);
	assert_string_equal(text, "50");
	odd = "%q|%5%|";
	assert_int_equal(fmt_format(text, sizeof text, odd), 4);
#pragma GCC diagnostic pop
	assert_string_equal(text, "q|%|");
}

/* Every buffer size: what fits is there and ends in NUL, and nothing beyond is written. */
static void truncation(void **s)
{
	(void)s;
	for (size_t size = 0; size < 20; size++) {
		char ours[24], theirs[24];
		memset(ours, '#', sizeof ours);
		memset(theirs, '#', sizeof theirs);
		const char *volatile format = "%s-%d"; /* hides the truncation from the compiler */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
		assert_int_equal(fmt_format(ours, size, format, "hayate", 12345), 12);
		assert_int_equal(snprintf(theirs, size, format, "hayate", 12345), 12);
#pragma GCC diagnostic pop
		assert_memory_equal(ours, theirs, sizeof ours);
	}
}

static void addresses(void **s)
{
	(void)s;
	char ip[FMT_IP4_MAX], prefix[FMT_PREFIX_MAX], mac[FMT_MAC_MAX];
	const uint8_t m[6] = {0x02, 0, 0xab, 0xcd, 0xef, 0xff};
	assert_string_equal(fmt_ip4(ip, 0xc0000201), "192.0.2.1");
	assert_string_equal(fmt_ip4(ip, 0xffffffff), "255.255.255.255");
	assert_string_equal(fmt_prefix(prefix, 0xffffffff, 32), "255.255.255.255/32");
	assert_string_equal(fmt_prefix(prefix, 0, 0), "0.0.0.0/0");
	assert_string_equal(fmt_mac(mac, m), "02:00:ab:cd:ef:ff");
}

/* Every size: what fits is there, `full` tells whether that is all, nothing comes behind a cut. */
static void growing(void **s)
{
	static const char all[] = "head 12345 tail";
	(void)s;
	for (size_t size = 1; size < 20; size++) {
		char text[24];
		memset(text, '#', sizeof text);
		struct fmt_buf b = {.at = text, .size = size};
		fmt_put(&b, "%s ", "head");
		fmt_put_bytes(&b, "12345", 5);
		fmt_put(&b, " %s", "tail");
		const size_t fits = size - 1 < sizeof all - 1 ? size - 1 : sizeof all - 1;
		assert_int_equal(b.used, fits);
		assert_int_equal(b.full, size < sizeof all);
		assert_memory_equal(text, all, fits);
		assert_true(text[fits] == '\0' && text[size] == '#');
		fmt_put_bytes(&b, "", 0);
		assert_int_equal(b.full, size < sizeof all);
	}
}

static void json(void **s)
{
	static const struct {
		char c;
		const char *text;
	} rows[] = {{'a', "a"}, {'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\u000a"}, {'<', "\\u003c"},
	            {0x7f, "\\u007f"}, {(char)0xc3, "\xc3"}};
	char buf[FMT_JSON_MAX];
	(void)s;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_string_equal(fmt_json(buf, rows[i].c), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),       cmocka_unit_test(lengths),
		cmocka_unit_test(texts),          cmocka_unit_test(random_numbers),
		cmocka_unit_test(odd_conversions), cmocka_unit_test(truncation),
		cmocka_unit_test(addresses),       cmocka_unit_test(growing),
		cmocka_unit_test(json),
	};
	return cmocka_run_group_tests_name("fmt", tests, NULL, NULL);
}
