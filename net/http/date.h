/*
 * HTTP dates, RFC 9110 5.6.7. Times are seconds since 1970-01-01 00:00:00 GMT in the Gregorian calendar,
 * without leap seconds; they may be negative.
 *
 *     IMF-fixdate   Sun, 06 Nov 1994 08:49:37 GMT
 *     rfc850-date   Sunday, 06-Nov-94 08:49:37 GMT     obsolete: read, never written
 *     asctime-date  Sun Nov  6 08:49:37 1994           obsolete: read, never written
 */
#ifndef NET_HTTP_DATE_H
#define NET_HTTP_DATE_H

#include "lib/civil.h"
#include "lib/types.h"

#define HTTP_DATE_MAX 30 /* "Sun, 06 Nov 1994 08:49:37 GMT" and NUL */
#define HTTP_TIME_UNKNOWN (-__INT64_MAX__ - 1)
#define HTTP_TIME_MIN CIVIL_TIME_MIN /* Sat, 01 Jan 0000 00:00:00 GMT */
#define HTTP_TIME_MAX CIVIL_TIME_MAX /* Fri, 31 Dec 9999 23:59:59 GMT */

/*
 * Reads a date in any of the three forms; *time is unchanged unless the result is true. False: the text is
 * none of them, or the day, hour, minute or second is out of range. Letter case counts (5.6.7). A second of
 * 60, a leap second, is the following second. The name of the day must be one, but need not be the right
 * one.
 *
 * now: the time, for the two-digit year of an rfc850-date. The year is the latest one that is at most 50
 * years in the future (5.6.7). HTTP_TIME_UNKNOWN, or before 1970: the clock does not know the date; 70 to 99
 * are then 1970 to 1999, others are 2000 to 2069.
 */
bool http_date_read(const char *text, int64_t now, int64_t *time);

/* Writes an IMF-fixdate and returns buf. A time before HTTP_TIME_MIN or after HTTP_TIME_MAX is written as
 * that limit, because the form has four digits for the year. */
char *http_date_put(char buf[HTTP_DATE_MAX], int64_t time);

#endif
