/* See civil.h. Days are counted by the calendar that begins on March 1, so that a leap day is the last of its
 * year. */
#include "lib/civil.h"

#include "lib/divide.h"

#define DAY_S 86400
#define YEARS_400_DAYS 146097
#define EPOCH_DAY 719468 /* 1970-01-01 in days since 0000-03-01 */

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

bool civil_is_valid(const struct civil *c)
{
	return c->year <= 9999 && c->month >= 1 && c->month <= 12 && c->day >= 1 &&
	       c->day <= days_of_month(c->year, c->month) && c->hour <= 23 && c->minute <= 59 && c->second <= 60;
}

int64_t civil_seconds(const struct civil *c)
{
	/* 400 years more, so that the number stays positive before March of the year 0. */
	const unsigned year = c->year + 400 - (c->month <= 2), month = (c->month + 9) % 12;
	const unsigned day = 365 * year + year / 4 - year / 100 + year / 400 + days_before_month(month) +
	                     c->day - 1;
	return ((int64_t)day - YEARS_400_DAYS - EPOCH_DAY) * DAY_S + c->hour * 3600 + c->minute * 60 +
	       c->second;
}

unsigned civil_of(int64_t time, struct civil *c)
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
