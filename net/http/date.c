/* Dates; see date.h. Days are counted by the calendar that begins on March 1, so that a leap day is the last
 * of its year. */
#include "net/http/date.h"

#include "lib/divide.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/http/text.h"

#define DAY_S 86400
#define YEARS_400_DAYS 146097
#define EPOCH_DAY 719468 /* 1970-01-01 in days since 0000-03-01 */

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

struct civil {
	unsigned year, month, day; /* month and day from 1 */
	unsigned hour, minute, second;
};

/* --- the calendar --- */

static bool is_leap(unsigned year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned days_of_month(unsigned year, unsigned month)
{
	static const uint8_t of[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	return of[month - 1] + (month == 2 && is_leap(year));
}

/* Days from 0000-03-01 to the first of a month, counted from March, 0 to 11: 31, 30, 31, 30, 31 days, and
 * again. */
static unsigned days_before_month(unsigned month)
{
	return (153 * month + 2) / 5;
}

static int64_t seconds_of(const struct civil *c)
{
	/* 400 years more, so that the number stays positive before March of the year 0. */
	const unsigned year = c->year + 400 - (c->month <= 2), month = (c->month + 9) % 12;
	const unsigned day = 365 * year + year / 4 - year / 100 + year / 400 + days_before_month(month) +
	                     c->day - 1;
	return ((int64_t)day - YEARS_400_DAYS - EPOCH_DAY) * DAY_S + c->hour * 3600 + c->minute * 60 +
	       c->second;
}

/* time: HTTP_TIME_MIN to HTTP_TIME_MAX. Returns the day of the week, 0 for Sunday. */
static unsigned civil_of(int64_t time, struct civil *c)
{
	const uint64_t since = (uint64_t)(time + ((int64_t)EPOCH_DAY + YEARS_400_DAYS) * DAY_S);
	uint32_t day = (uint32_t)divide(since, DAY_S), rest = (uint32_t)(since - (uint64_t)day * DAY_S);
	const unsigned weekday = (day + 3) % 7; /* 0000-03-01 and 400 years before were Wednesdays */
	const uint32_t era = day / YEARS_400_DAYS;
	day %= YEARS_400_DAYS;
	const uint32_t year = (day - day / 1460 + day / 36524 - day / (YEARS_400_DAYS - 1)) / 365;
	day -= 365 * year + year / 4 - year / 100;
	const uint32_t month = (5 * day + 2) / 153; /* from March */
	c->year = era * 400 + year - 400 + (month >= 10);
	c->month = month < 10 ? month + 3 : month - 9;
	c->day = day - days_before_month(month) + 1;
	c->hour = rest / 3600;
	c->minute = rest / 60 % 60;
	c->second = rest % 60;
	return weekday;
}

/* --- reading --- */

/* Takes `word` off the front. */
static bool take(struct http_text *t, const char *word)
{
	const size_t n = strlen(word);
	if (t->n < n || memcmp(t->at, word, n) != 0)
		return false;
	http_text_skip(t, n);
	return true;
}

/* Takes exactly `digits` digits. */
static bool take_number(struct http_text *t, unsigned digits, unsigned *number)
{
	unsigned n = 0;
	for (unsigned i = 0; i < digits; i++) {
		if (i >= t->n || !http_is_digit(t->at[i]))
			return false;
		n = n * 10 + (unsigned)(t->at[i] - '0');
	}
	http_text_skip(t, digits);
	*number = n;
	return true;
}

static bool take_month(struct http_text *t, unsigned *month)
{
	for (*month = 1; *month <= 12; ++*month)
		if (take(t, months[*month - 1]))
			return true;
	return false;
}

static bool take_time(struct http_text *t, struct civil *c)
{
	return take_number(t, 2, &c->hour) && take(t, ":") && take_number(t, 2, &c->minute) && take(t, ":") &&
	       take_number(t, 2, &c->second);
}

/* "06 Nov 1994 08:49:37 GMT", behind the name of the day */
static bool read_fixdate(struct http_text t, struct civil *c)
{
	return take_number(&t, 2, &c->day) && take(&t, " ") && take_month(&t, &c->month) && take(&t, " ") &&
	       take_number(&t, 4, &c->year) && take(&t, " ") && take_time(&t, c) && take(&t, " GMT") && t.n == 0;
}

/* "06-Nov-94 08:49:37 GMT" */
static bool read_rfc850(struct http_text t, struct civil *c)
{
	return take_number(&t, 2, &c->day) && take(&t, "-") && take_month(&t, &c->month) && take(&t, "-") &&
	       take_number(&t, 2, &c->year) && take(&t, " ") && take_time(&t, c) && take(&t, " GMT") && t.n == 0;
}

/* "Nov  6 08:49:37 1994": the day has two digits, or a blank and one */
static bool read_asctime(struct http_text t, struct civil *c)
{
	return take_month(&t, &c->month) && take(&t, " ") &&
	       (take(&t, " ") ? take_number(&t, 1, &c->day) : take_number(&t, 2, &c->day)) && take(&t, " ") &&
	       take_time(&t, c) && take(&t, " ") && take_number(&t, 4, &c->year) && t.n == 0;
}

/* A second of 60 is a leap second (5.6.7). */
static bool is_in_range(const struct civil *c)
{
	return c->day >= 1 && c->day <= days_of_month(c->year, c->month) && c->hour <= 23 && c->minute <= 59 &&
	       c->second <= 60;
}

/* The year of two digits: the latest that is at most 50 years after now (5.6.7). The day is compared 50
 * years before, when it may not exist: a leap day is then March 1. */
static void complete_year(struct civil *c, int64_t now)
{
	struct civil today;
	if (now < 0 || now > HTTP_TIME_MAX) {
		c->year += c->year >= 70 ? 1900 : 2000;
		return;
	}
	civil_of(now, &today);
	const unsigned limit = today.year + 50, digits = c->year;
	c->year = limit - (limit + 100 - digits) % 100;
	struct civil before = *c;
	before.year = c->year - 50;
	if (c->year == limit && seconds_of(&before) > now)
		c->year -= 100;
}

bool http_date_read(const char *text, int64_t now, int64_t *time)
{
	struct http_text t = http_text_of(text);
	struct civil c;
	unsigned day = 0;
	while (day < 7 && !(t.n >= 3 && memcmp(t.at, days[day], 3) == 0))
		day++;
	if (day == 7)
		return false;
	if (take(&t, days[day])) {
		if (!take(&t, ", ") || !read_rfc850(t, &c))
			return false;
		complete_year(&c, now);
	} else {
		http_text_skip(&t, 3);
		if (!(take(&t, ", ") ? read_fixdate(t, &c) : take(&t, " ") && read_asctime(t, &c)))
			return false;
	}
	if (!is_in_range(&c))
		return false;
	*time = seconds_of(&c);
	return true;
}

/* --- writing --- */

char *http_date_put(char buf[HTTP_DATE_MAX], int64_t time)
{
	struct civil c;
	time = time < HTTP_TIME_MIN ? HTTP_TIME_MIN : time > HTTP_TIME_MAX ? HTTP_TIME_MAX : time;
	const unsigned day = civil_of(time, &c);
	fmt_format(buf, HTTP_DATE_MAX, "%.3s, %02u %s %04u %02u:%02u:%02u GMT", days[day], c.day,
	           months[c.month - 1], c.year, c.hour, c.minute, c.second);
	return buf;
}
