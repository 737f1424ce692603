/* See date.h. */
#include "net/http/date.h"

#include "lib/civil.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/http/text.h"

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                   "Thursday", "Friday", "Saturday"};

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
	if (c->year == limit && civil_seconds(&before) > now)
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
	if (!civil_is_valid(&c))
		return false;
	*time = civil_seconds(&c);
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
