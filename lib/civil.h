/*
 * The calendar: seconds since 1970-01-01 00:00:00 UTC, and year, month, day, hour, minute, second of UTC in the
 * Gregorian calendar. No leap seconds: every day has 86400 seconds.
 */
#ifndef LIB_CIVIL_H
#define LIB_CIVIL_H

#include "lib/types.h"

#define CIVIL_TIME_MIN (-62167219200) /* 0000-01-01 00:00:00 */
#define CIVIL_TIME_MAX 253402300799   /* 9999-12-31 23:59:59 */

struct civil {
	unsigned year, month, day; /* month and day from 1 */
	unsigned hour, minute, second;
};

/* False if a field is out of its range; the year is at most 9999. A second of 60, a leap second, is in range:
 * civil_seconds() takes it for the following second. */
bool civil_is_valid(const struct civil *c);

/* c is valid. */
int64_t civil_seconds(const struct civil *c);

/* time: CIVIL_TIME_MIN to CIVIL_TIME_MAX. Returns the day of the week, 0 for Sunday. */
unsigned civil_of(int64_t time, struct civil *c);

#endif
