/* The calendar (lib/civil.h) and times as text (lib/rfc3339.h): every day from 2000 to 2400 beside a count of our
 * own, the C library's calendar, leap years, and text that is no time. */
#include "tests/unit/rig/host.h"

#include <time.h>

#include "lib/civil.h"
#include "lib/rfc3339.h"

#define DAY_S 86400
#define NS 1000000000ull

static unsigned month_days(unsigned year, unsigned month)
{
	if (month == 2)
		return year % 400 == 0 || (year % 4 == 0 && year % 100) ? 29 : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* 1970-01-01 was a Thursday; each day is counted on from there. */
static void every_day(void **state)
{
	(void)state;
	int64_t time = 0;
	unsigned weekday = 4;
	for (unsigned year = 1970; year <= 2400; year++)
		for (unsigned month = 1; month <= 12; month++)
			for (unsigned day = 1; day <= month_days(year, month); day++, time += DAY_S, weekday = (weekday + 1) % 7) {
				struct civil c;
				const struct civil last = {year, month, day, 23, 59, 59};
				assert_int_equal(civil_of(time, &c), weekday);
				assert_true(c.year == year && c.month == month && c.day == day && !c.hour && !c.minute && !c.second);
				assert_int_equal(civil_seconds(&c), time);
				assert_true(civil_is_valid(&last));
				assert_int_equal(civil_seconds(&last), time + DAY_S - 1);
			}
}

static void like_the_c_library(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t seconds = random64() % (UINT64_MAX / NS);
		const time_t t = (time_t)seconds;
		const uint32_t rest = random_below((uint32_t)NS);
		struct tm tm;
		char text[64], ours[RFC3339_MAX];
		uint64_t back = 0;
		assert_non_null(gmtime_r(&t, &tm));
		snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%09uZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		         tm.tm_hour, tm.tm_min, tm.tm_sec, rest);
		assert_string_equal(rfc3339_put(ours, seconds * NS + rest, 9), text);
		assert_true(rfc3339_read(ours, &back));
		assert_int_equal(back, seconds * NS + rest);
	}
}

static void valid(void **state)
{
	(void)state;
	static const struct {
		struct civil c;
		bool valid;
	} row[] = {
		{{2000, 2, 29, 0, 0, 0}, true},  {{2100, 2, 29, 0, 0, 0}, false}, {{2400, 2, 29, 0, 0, 0}, true},
		{{2024, 2, 30, 0, 0, 0}, false}, {{2023, 2, 29, 0, 0, 0}, false}, {{2024, 4, 31, 0, 0, 0}, false},
		{{2024, 0, 1, 0, 0, 0}, false},  {{2024, 13, 1, 0, 0, 0}, false}, {{2024, 1, 0, 0, 0, 0}, false},
		{{2024, 1, 1, 24, 0, 0}, false}, {{2024, 1, 1, 0, 60, 0}, false}, {{2016, 12, 31, 23, 59, 60}, true},
		{{2024, 1, 1, 0, 0, 61}, false}, {{10000, 1, 1, 0, 0, 0}, false}, {{2024, 1, 32, 0, 0, 0}, false},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		assert_int_equal(civil_is_valid(&row[i].c), row[i].valid);
}

static void digits(void **state)
{
	(void)state;
	char text[RFC3339_MAX];
	const uint64_t ns = 951782400ull * NS + 987654321;
	assert_string_equal(rfc3339_put(text, ns, 0), "2000-02-29T00:00:00Z");
	assert_string_equal(rfc3339_put(text, ns, 3), "2000-02-29T00:00:00.987Z");
	assert_string_equal(rfc3339_put(text, ns, 6), "2000-02-29T00:00:00.987654Z");
	assert_string_equal(rfc3339_put(text, ns, 9), "2000-02-29T00:00:00.987654321Z");
	assert_string_equal(rfc3339_put(text, 0, 0), "1970-01-01T00:00:00Z");
	assert_string_equal(rfc3339_put(text, UINT64_MAX, 9), "2554-07-21T23:34:33.709551615Z");
}

/* The first four are RFC 3339 5.8. */
static void read_back(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t seconds, rest;
	} row[] = {
		{"1985-04-12T23:20:50.52Z", 482196050, 520000000},
		{"1996-12-19T16:39:57-08:00", 851042397, 0},
		{"1990-12-31T23:59:60Z", 662688000, 0}, /* a leap second */
		{"1990-12-31T15:59:60-08:00", 662688000, 0},
		{"1970-01-01T00:00:00Z", 0, 0},
		{"1970-01-01t00:00:00z", 0, 0},
		{"1970-01-01 00:00:00Z", 0, 0},
		{"1970-01-01T01:30:00+01:30", 0, 0},
		{"1969-12-31T23:00:00-01:00", 0, 0},
		{"2000-02-29T00:00:00.1234567891Z", 951782400, 123456789},
		{"2000-02-29T00:00:00.000000001Z", 951782400, 1},
		{"2554-07-21T23:34:32.999999999Z", 18446744072, 999999999},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		char *copy = strdup(row[i].text); /* for ASan */
		uint64_t ns = 1;
		if (!rfc3339_read(copy, &ns))
			fail_msg("refused: %s", copy);
		assert_int_equal(ns, row[i].seconds * NS + row[i].rest);
		free(copy);
	}
}

static void refused(void **state)
{
	(void)state;
	static const char *const row[] = {
		"", "2", "2026", "2026-", "2026-11-29", "2026-11-29T", "2026-11-29T21:44", "2026-11-29T21:44:05",
		"2026-11-29T21:44:05.Z", "2026-11-29T21:44:05.5", "2026-11-29T21:44:05ZZ", "2026-11-29T21:44:05 Z",
		"2026-11-29T21:44:05+1:00", "2026-11-29T21:44:05+0100", "2026-11-29T21:44:05+24:00", "2026-11-29T21:44:05+00:60",
		"26-11-29T21:44:05Z", "2026-11-9T21:44:05Z", "2026/11/29T21:44:05Z", "2026-11-29_21:44:05Z",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-01T24:00:00Z",
		"2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01",
		"0000-01-01T00:00:00Z", "2554-07-21T23:34:33Z", "9999-12-31T23:59:59Z", "-2026-01-01T00:00:00Z",
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		char *copy = strdup(row[i]);
		uint64_t ns = 77;
		if (rfc3339_read(copy, &ns) || ns != 77)
			fail_msg("accepted: %s", copy);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_day), cmocka_unit_test(like_the_c_library), cmocka_unit_test(valid),
		cmocka_unit_test(digits),    cmocka_unit_test(read_back),          cmocka_unit_test(refused),
	};
	seed_random("rfc3339");
	return cmocka_run_group_tests_name("rfc3339", tests, NULL, NULL);
}
