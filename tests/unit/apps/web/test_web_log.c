/* A line of the access log (apps/web/log.h): the Combined Log Format, whatever an entry holds. */
#include "tests/unit/rig/host.h"

#include "apps/web/log.h"

static const struct log_entry good = {.us = 784111777000000ull + 999999, .bytes = 1ull << 40, .peer = {{0, 0, 0xffff0000, 0x020200c0}},
                                      .status = 200, .line = "GET / HTTP/1.1", .referer = "http://x/", .agent = "a"};

static void expect(const struct log_entry *e, const char *want)
{
	char buf[LOG_LINE_MAX];
	assert_string_equal(log_line(buf, e, e->us / 1000000), want);
}

static void lines(void **state)
{
	(void)state;
	struct log_entry e = good;
	expect(&e, "192.0.2.2 - - [06/Nov/1994:08:49:37 +0000] \"GET / HTTP/1.1\" 200 1099511627776 \"http://x/\" \"a\"");
	e = (struct log_entry){.peer = {{0xb80d0120, 0, 0, 0x01000000}}, .status = 408};
	expect(&e, "2001:db8::1 - - [01/Jan/1970:00:00:00 +0000] \"-\" 408 - \"-\" \"-\"");
}

/* Each byte is printable ASCII, and a quotation mark inside a text has a backslash before it. */
static void escapes(void **state)
{
	(void)state;
	struct log_entry e = good;
	memcpy(e.line, "\x01\a\b\t\n\v\f\r\x1b \"\\\x7f\xff", 15);
	expect(&e, "192.0.2.2 - - [06/Nov/1994:08:49:37 +0000] \"\\x01\\x07\\b\\t\\n\\v\\f\\r\\x1b \\\"\\\\\\x7f\\xff\" 200 "
	           "1099511627776 \"http://x/\" \"a\"");
}

/* A text is cut behind its last whole escape: at 512 characters of the line, 256 of the others. */
static void long_texts(void **state)
{
	(void)state;
	struct log_entry e = good;
	char want[2048], line[600] = "x", field[300] = "x";
	memset(e.line, 1, sizeof e.line);
	memset(e.referer, 1, sizeof e.referer);
	memset(e.agent, 1, sizeof e.agent);
	e.line[0] = e.referer[0] = e.agent[0] = 'x';
	for (unsigned i = 0; i < 127; i++)
		strcat(line, "\\x01");
	for (unsigned i = 0; i < 63; i++)
		strcat(field, "\\x01");
	snprintf(want, sizeof want, "192.0.2.2 - - [06/Nov/1994:08:49:37 +0000] \"%s\" 200 1099511627776 \"%s\" \"%s\"", line,
	         field, field);
	expect(&e, want);
}

/* Entries of any bytes, texts without an end: the line ends within its bounds and has its three texts. */
static void any_bytes(void **state)
{
	(void)state;
	seed_random("any_bytes");
	for (unsigned round = 0; round < 2000; round++) {
		struct log_entry *e = malloc(sizeof *e);
		char *buf = malloc(LOG_LINE_MAX);
		const unsigned kind = random_below(4);
		for (size_t i = 0; i < sizeof *e; i++)
			((uint8_t *)e)[i] = (uint8_t)(kind == 0 ? 0xff : kind == 1 ? '"' : kind == 2 ? 'x' : 1 + random_below(255));
		log_line(buf, e, random64() >> random_below(64));
		unsigned quotes = 0;
		size_t n = 0;
		for (; buf[n]; n++) {
			assert_true(buf[n] >= ' ' && buf[n] < 0x7f);
			if (buf[n] == '\\')
				n++;
			else
				quotes += buf[n] == '"';
		}
		assert_int_equal(quotes, 6);
		assert_true(n < LOG_LINE_MAX && buf[n - 1] == '"');
		free(e);
		free(buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(escapes),
	                                   cmocka_unit_test(long_texts), cmocka_unit_test(any_bytes)};
	return cmocka_run_group_tests_name("web_log", tests, NULL, NULL);
}
