/* See rfc3339.h. */
#include "lib/rfc3339.h"

#include "lib/civil.h"
#include "lib/divide.h"
#include "lib/fmt.h"

#define NS 1000000000u
#define SECONDS_MAX (__UINT64_MAX__ / NS - 1) /* its last nanosecond fits too */

char *rfc3339_put(char buf[RFC3339_MAX], uint64_t ns, unsigned digits)
{
	struct civil c;
	const uint64_t seconds = divide(ns, NS);
	uint32_t rest = (uint32_t)(ns - seconds * NS);
	civil_of((int64_t)seconds, &c);
	size_t n = fmt_format(buf, RFC3339_MAX, "%04u-%02u-%02uT%02u:%02u:%02u", c.year, c.month, c.day, c.hour,
	                      c.minute, c.second);
	if (digits)
		buf[n++] = '.';
	for (unsigned i = 0; i < digits && i < 9; i++) {
		buf[n++] = (char)('0' + rest / (NS / 10));
		rest = rest % (NS / 10) * 10;
	}
	buf[n++] = 'Z';
	buf[n] = '\0';
	return buf;
}

/* Takes one of the two characters. */
static bool take(const char **at, char a, char b)
{
	if (**at != a && **at != b)
		return false;
	++*at;
	return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Takes exactly `digits` digits. */
static bool take_number(const char **at, unsigned digits, unsigned *number)
{
	*number = 0;
	for (; digits; digits--, ++*at) {
		if (!is_digit(**at))
			return false;
		*number = *number * 10 + (unsigned)(**at - '0');
	}
	return true;
}

/* ".25", or nothing */
static bool take_fraction(const char **at, uint32_t *ns)
{
	uint32_t unit = NS / 10;
	*ns = 0;
	if (!take(at, '.', '.'))
		return true;
	if (!is_digit(**at))
		return false;
	for (; is_digit(**at); ++*at, unit /= 10)
		*ns += unit * (uint32_t)(**at - '0');
	return true;
}

/* "Z" or "+01:30"; *seconds is how much the local time is ahead. */
static bool take_offset(const char **at, int32_t *seconds)
{
	unsigned hour, minute;
	*seconds = 0;
	if (take(at, 'Z', 'z'))
		return true;
	const bool behind = **at == '-';
	if (!take(at, '+', '-') || !take_number(at, 2, &hour) || !take(at, ':', ':') || !take_number(at, 2, &minute) ||
	    hour > 23 || minute > 59)
		return false;
	*seconds = (int32_t)(hour * 3600 + minute * 60) * (behind ? -1 : 1);
	return true;
}

bool rfc3339_read(const char *text, uint64_t *ns)
{
	struct civil c;
	uint32_t fraction;
	int32_t ahead;
	if (!take_number(&text, 4, &c.year) || !take(&text, '-', '-') || !take_number(&text, 2, &c.month) ||
	    !take(&text, '-', '-') || !take_number(&text, 2, &c.day) || !(take(&text, 'T', 't') || take(&text, ' ', ' ')) ||
	    !take_number(&text, 2, &c.hour) || !take(&text, ':', ':') || !take_number(&text, 2, &c.minute) ||
	    !take(&text, ':', ':') || !take_number(&text, 2, &c.second) || !take_fraction(&text, &fraction) ||
	    !take_offset(&text, &ahead) || *text || !civil_is_valid(&c))
		return false;
	const int64_t seconds = civil_seconds(&c) - ahead;
	if (seconds < 0 || seconds > (int64_t)SECONDS_MAX)
		return false;
	*ns = (uint64_t)seconds * NS + fraction;
	return true;
}
