/* HTTP dates (net/http/date.h): the examples of RFC 9110 5.6.7, the calendar beside the C library's, the rule
 * for years of two digits, and text that is no date. */
#include "tests/unit/rig/host.h"

#include <time.h>

#include "net/http/date.h"

#define RFC_EXAMPLE 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */
#define DAY_S 86400

static int64_t at(const char *text, int64_t now)
{
	int64_t time = 0;
	char *copy = strdup(text); /* for ASan */
	if (!http_date_read(copy, now, &time))
		fail_msg("refused: %s", text);
	free(copy);
	return time;
}

static void examples(void **state)
{
	(void)state;
	static const struct {
		int64_t time;
		const char *text;
	} rows[] = {
		{RFC_EXAMPLE, "Sun, 06 Nov 1994 08:49:37 GMT"},
		{RFC_EXAMPLE, "Sunday, 06-Nov-94 08:49:37 GMT"},
		{RFC_EXAMPLE, "Sun Nov  6 08:49:37 1994"},
		{RFC_EXAMPLE + 10 * DAY_S, "Wed Nov 16 08:49:37 1994"},
		{0, "Thu, 01 Jan 1970 00:00:00 GMT"},
		{-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
		{951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
		{1709164800, "Thu, 29 Feb 2024 00:00:00 GMT"},
		{4294967296, "Sun, 07 Feb 2106 06:28:16 GMT"},
		{1483228800, "Sat, 31 Dec 2016 23:59:60 GMT"}, /* a leap second */
		{HTTP_TIME_MIN, "Sat, 01 Jan 0000 00:00:00 GMT"},
		{HTTP_TIME_MAX, "Fri, 31 Dec 9999 23:59:59 GMT"},
		{RFC_EXAMPLE, "Mon, 06 Nov 1994 08:49:37 GMT"}, /* the wrong name of a day */
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(at(rows[i].text, HTTP_TIME_UNKNOWN), rows[i].time);
}

static void refused(void **state)
{
	(void)state;
	static const char *const rows[] = {
		"", "Sun", "Sun,", "Sun, ", "Sund, 06 Nov 1994 08:49:37 GMT", "x",
		"sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", /* case counts, 5.6.7 */
		"Sun, 06 Nov 1994 08:49:37 gmt", "Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT ",
		" Sun, 06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
		"Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
		"Sun, 06 Nov 19940 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
		"Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday 06-Nov-94 08:49:37 GMT",
		"Sun Nov 6 08:49:37 1994", "Sun Nov   6 08:49:37 1994", "Sun Nov  6 08:49:37 94",
		"Sun Nov  6 08:49:37 1994 GMT", "Sun, Nov  6 08:49:37 1994", "Sunday Nov  6 08:49:37 1994",
		/* ranges */
		"Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 32 Oct 1994 08:49:37 GMT",
		"Sun, 29 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 30 Feb 2000 08:49:37 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
		"Sun Nov  0 08:49:37 1994", "Sun Nov 31 08:49:37 1994", "Sunday, 31-Nov-94 08:49:37 GMT",
		"Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
		/* two dates, as the lines of a field that came twice are joined (13.1.3) */
		"Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		char *copy = strdup(rows[i]);
		int64_t time = 7;
		if (http_date_read(copy, RFC_EXAMPLE, &time) || time != 7)
			fail_msg("read: %s", rows[i]);
		free(copy);
	}
}

/* 5.6.7: more than 50 years in the future is the past. */
static void two_digits(void **state)
{
	(void)state;
	static const struct {
		const char *now, *text, *want;
	} rows[] = {
		{"Sun, 29 Nov 2026 10:00:00 GMT", "Sunday, 29-Nov-26 10:00:00 GMT", "Sun, 29 Nov 2026 10:00:00 GMT"},
		{"Sun, 29 Nov 2026 10:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"},
		{"Sun, 29 Nov 2026 10:00:00 GMT", "Sunday, 29-Nov-76 10:00:00 GMT", "Sun, 29 Nov 2076 10:00:00 GMT"},
		{"Sun, 29 Nov 2026 10:00:00 GMT", "Sunday, 29-Nov-76 10:00:01 GMT", "Mon, 29 Nov 1976 10:00:01 GMT"},
		{"Sun, 29 Nov 2026 10:00:00 GMT", "Sunday, 01-Jan-77 00:00:00 GMT", "Sat, 01 Jan 1977 00:00:00 GMT"},
		{"Sun, 29 Nov 2026 10:00:00 GMT", "Sunday, 31-Dec-75 23:59:59 GMT", "Tue, 31 Dec 2075 23:59:59 GMT"},
		/* across the century */
		{"Thu, 31 Dec 2099 23:59:59 GMT", "Friday, 01-Jan-05 00:00:00 GMT", "Thu, 01 Jan 2105 00:00:00 GMT"},
		{"Sun, 06 Nov 1994 08:49:37 GMT", "Friday, 01-Jan-44 00:00:00 GMT", "Fri, 01 Jan 2044 00:00:00 GMT"},
		{"Sun, 06 Nov 1994 08:49:37 GMT", "Friday, 01-Jan-45 00:00:00 GMT", "Mon, 01 Jan 1945 00:00:00 GMT"},
		/* a leap day 50 years before a year without one */
		{"Fri, 28 Feb 2098 00:00:00 GMT", "Sunday, 29-Feb-48 00:00:00 GMT", "Sat, 29 Feb 2048 00:00:00 GMT"},
		{"Sat, 01 Mar 2098 00:00:00 GMT", "Sunday, 29-Feb-48 00:00:00 GMT", "Thu, 29 Feb 2148 00:00:00 GMT"},
		/* the clock does not know the date */
		{NULL, "Thursday, 01-Jan-70 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"},
		{NULL, "Tuesday, 31-Dec-69 23:59:59 GMT", "Tue, 31 Dec 2069 23:59:59 GMT"},
		{NULL, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		char buf[HTTP_DATE_MAX];
		int64_t now = rows[i].now ? at(rows[i].now, 0) : HTTP_TIME_UNKNOWN;
		assert_string_equal(http_date_put(buf, at(rows[i].text, now)), rows[i].want);
	}
}

/* In all three forms, as the C library writes them. */
static void expect_as_library(int64_t time)
{
	char buf[HTTP_DATE_MAX], want[64];
	time_t t = time;
	struct tm tm;
	assert_non_null(gmtime_r(&t, &tm));
	/* strftime's %Y has no leading zeros */
	int year = tm.tm_year + 1900;
	strftime(want, sizeof want, "%a, %d %b XXXX %H:%M:%S GMT", &tm);
	char digits[16];
	snprintf(digits, sizeof digits, "%04d", year);
	memcpy(strstr(want, "XXXX"), digits, 4);
	assert_string_equal(http_date_put(buf, time), want);
	assert_int_equal(strlen(buf), HTTP_DATE_MAX - 1);
	assert_int_equal(at(buf, HTTP_TIME_UNKNOWN), time);
	strftime(want, sizeof want, "%a %b %e %H:%M:%S ", &tm);
	strcat(want, digits);
	assert_int_equal(at(want, HTTP_TIME_UNKNOWN), time);
	strftime(want, sizeof want, "%A, %d-%b-%y %H:%M:%S GMT", &tm);
	if (time >= 50LL * 366 * DAY_S && time <= HTTP_TIME_MAX)
		assert_int_equal(at(want, time), time);
}

static void calendar(void **state)
{
	(void)state;
	seed_random("calendar");
	for (int64_t day = -150 * 366; day < 450 * 366; day++) /* more than one period of 400 years */
		expect_as_library(day * DAY_S + random_below(DAY_S));
	for (unsigned i = 0; i < 20000; i++)
		expect_as_library(HTTP_TIME_MIN + (int64_t)(random64() % (uint64_t)(HTTP_TIME_MAX - HTTP_TIME_MIN)));
	expect_as_library(HTTP_TIME_MIN);
	expect_as_library(HTTP_TIME_MAX);
}

static void limits(void **state)
{
	(void)state;
	char buf[HTTP_DATE_MAX];
	assert_string_equal(http_date_put(buf, HTTP_TIME_MIN - 1), "Sat, 01 Jan 0000 00:00:00 GMT");
	assert_string_equal(http_date_put(buf, HTTP_TIME_UNKNOWN), "Sat, 01 Jan 0000 00:00:00 GMT");
	assert_string_equal(http_date_put(buf, HTTP_TIME_MAX + 1), "Fri, 31 Dec 9999 23:59:59 GMT");
	assert_string_equal(http_date_put(buf, INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples), cmocka_unit_test(refused), cmocka_unit_test(two_digits),
		cmocka_unit_test(calendar), cmocka_unit_test(limits),
	};
	return cmocka_run_group_tests_name("http_date", tests, NULL, NULL);
}
