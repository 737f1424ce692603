/*
 * Times as text by RFC 3339: 2026-11-29T21:44:05.123456Z. They are nanoseconds since 1970-01-01 00:00:00 UTC,
 * without leap seconds, so from 1970 to 2554.
 */
#ifndef LIB_RFC3339_H
#define LIB_RFC3339_H

#include "lib/types.h"

#define RFC3339_MAX 31 /* "2026-11-29T21:44:05.123456789Z" and NUL */

/* Writes the time in UTC with that many digits of the second's fraction, 0 to 9; the rest is cut off. Returns
 * buf. */
char *rfc3339_put(char buf[RFC3339_MAX], uint64_t ns, unsigned digits);

/*
 * Reads a date-time (5.6), with the time's offset from UTC: Z, +HH:MM or -HH:MM. A blank may stand for the T.
 * Digits of the fraction behind the ninth count as 0. A second of 60 is the following second. False: the text is
 * none, has a field out of range, or is of a time before 1970 or after 2554-07-21T23:34:33Z; *ns is unchanged.
 */
bool rfc3339_read(const char *text, uint64_t *ns);

#endif
