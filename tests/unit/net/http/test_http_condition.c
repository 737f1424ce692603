/* Conditional requests (net/http/condition.h): every step of RFC 9110 13.2.2, strong and weak comparison
 * (8.8.3.2), and malformed fields. The requests come from the parser. */
#include "tests/unit/rig/host.h"

#include "net/http/condition.h"
#include "net/http/date.h"

#define MODIFIED 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */
#define BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define SAME "Sun, 06 Nov 1994 08:49:37 GMT"
#define AFTER "Sun, 06 Nov 1994 08:49:38 GMT"
#define NOW 1000000000

static const struct http_validators both = {"\"a,b\"", MODIFIED};
static const struct http_validators none = {NULL, HTTP_TIME_UNKNOWN};

/* The status, and 1000 more if ranges count. */
static unsigned verdict(const char *method, const char *fields, const struct http_validators *v)
{
	static struct http_parser p;
	char text[1024];
	snprintf(text, sizeof text, "%s / HTTP/1.1\r\nHost: h\r\n%s\r\n", method, fields);
	http_init_fields(&p);
	http_input(&p, (const uint8_t *)text, (uint32_t)strlen(text));
	assert_int_equal(p.state, HTTP_REQUEST);
	assert_int_equal(p.request.status, 200);
	const struct http_verdict got = http_condition(&p.request, v, NOW);
	return got.status + 1000 * got.ranges;
}

struct row {
	unsigned want;
	const char *fields;
};

static void expect(const struct row *rows, size_t n, const struct http_validators *v)
{
	for (size_t i = 0; i < n; i++) {
		unsigned got = verdict("GET", rows[i].fields, v);
		if (got != rows[i].want)
			fail_msg("%u instead of %u: %s", got, rows[i].want, rows[i].fields);
		got = verdict("HEAD", rows[i].fields, v);
		if (got != rows[i].want % 1000)
			fail_msg("HEAD: %u instead of %u: %s", got, rows[i].want, rows[i].fields);
	}
}

#define M "If-Match: "
#define N "If-None-Match: "
#define MS "If-Modified-Since: "
#define US "If-Unmodified-Since: "
#define R "Range: bytes=0-1\r\n"
#define IR "If-Range: "
#define E "\r\n"

static void single_fields(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{200, ""}, {1200, R},
		/* 13.1.1: strong */
		{200, M "*" E}, {200, M "\"a,b\"" E}, {200, M "\"x\", \"a,b\"" E}, {200, M "\"x\"" E M "\"a,b\"" E},
		{412, M "\"x\"" E}, {412, M "W/\"a,b\"" E}, {412, M "\"a,b" E}, {412, M "a,b" E}, {412, M "\"A,B\"" E},
		{412, M "\"a\", \"b\"" E}, {412, M "*, \"x\"" E}, {412, M "\"\"" E}, {412, M "," E},
		/* 13.1.2: weak */
		{304, N "*" E}, {304, N "\"a,b\"" E}, {304, N "W/\"a,b\"" E}, {304, N "\"x\",,W/\"a,b\"" E},
		{304, N "\"x\" , \"a,b\" , \"y\"" E}, {304, N "\"x\"" E N "\"a,b\"" E},
		{200, N "\"x\"" E}, {200, N "w/\"a,b\"" E}, {200, N "W/ \"a,b\"" E}, {200, N "\"a,b\"\"x\"" E},
		{200, N "\"a,b\" x" E}, {200, N "x, \"a,b\"" E}, {200, N "\"a b\", \"a,b\"" E}, {304, N "\"a,b\", x" E},
		{200, N "a,b" E}, {200, N "\"a,b" E}, {200, N "W/" E}, {200, N "\"" E}, {200, N "\"*\"" E},
		/* 13.1.3 */
		{200, MS BEFORE E}, {304, MS SAME E}, {304, MS AFTER E}, {200, MS "x" E}, {200, MS SAME E MS SAME E},
		{304, MS "Sunday, 06-Nov-94 08:49:37 GMT" E}, {304, MS "Sun Nov  6 08:49:37 1994" E},
		/* 13.1.4 */
		{412, US BEFORE E}, {200, US SAME E}, {200, US AFTER E}, {200, US "x" E}, {200, US BEFORE E US BEFORE E},
		/* 13.1.5: strong; nothing without Range */
		{1200, R IR "\"a,b\"" E}, {200, R IR "W/\"a,b\"" E}, {200, R IR "\"x\"" E}, {200, R IR "\"x\", \"a,b\"" E},
		{200, R IR "\"a,b\", \"x\"" E}, {200, R IR "*" E}, {200, R IR "\"a,b\"" E IR "\"a,b\"" E},
		{1200, R IR SAME E}, {200, R IR BEFORE E}, {200, R IR AFTER E}, {200, R IR "x" E},
		{1200, R IR "Sun Nov  6 08:49:37 1994" E}, {200, IR "\"x\"" E}, {200, IR "\"a,b\"" E},
	};
	expect(rows, ARRAY_LEN(rows), &both);
}

/* Without validators: "*" is any representation, dates MUST be ignored, and If-Range cannot match. */
static void without_validators(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{200, M "*" E}, {412, M "\"a,b\"" E}, {304, N "*" E}, {200, N "\"a,b\"" E}, {200, N "\"\"" E},
		{200, MS AFTER E}, {200, MS SAME E}, {200, US BEFORE E}, {1200, R}, {200, R IR SAME E}, {200, R IR "\"\"" E},
	};
	expect(rows, ARRAY_LEN(rows), &none);
}

/* 13.2.2: tags go before dates, If-Match before If-None-Match, If-Range is last. */
static void precedence(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{200, M "\"a,b\"" E US BEFORE E}, {412, M "\"x\"" E US AFTER E},
		{200, N "\"x\"" E MS AFTER E}, {304, N "\"a,b\"" E MS BEFORE E},
		{200, N "x" E MS AFTER E}, /* present, though malformed */
		{412, M "\"x\"" E N "\"a,b\"" E}, {304, M "\"a,b\"" E N "\"a,b\"" E}, {200, M "*" E N "\"x\"" E},
		{304, N "\"a,b\"" E M "*" E}, /* whatever the order of the lines */
		{412, US BEFORE E MS AFTER E}, {304, US AFTER E MS AFTER E}, {304, US "x" E MS AFTER E},
		{304, N "\"a,b\"" E R IR "\"a,b\"" E}, {412, M "\"x\"" E R IR "\"a,b\"" E},
		{1200, N "\"x\"" E R IR "\"a,b\"" E}, {200, N "\"x\"" E R IR "\"x\"" E}, {1200, M "\"a,b\"" E R},
		{1200, MS BEFORE E R}, {1200, US AFTER E R},
	};
	expect(rows, ARRAY_LEN(rows), &both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_fields), cmocka_unit_test(without_validators), cmocka_unit_test(precedence),
	};
	return cmocka_run_group_tests_name("http_condition", tests, NULL, NULL);
}
