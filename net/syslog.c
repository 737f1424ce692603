/* See syslog.h. */
#include "net/syslog.h"

#include "lib/divide.h"
#include "lib/fmt.h"
#include "lib/rfc3339.h"

#define SEQUENCE_MAX 2147483647u
#define FRACTION_DIGITS 6 /* TIME-SECFRAC has at most 6 (6) */

typedef unsigned long long ull;

/* A field of the header; NILVALUE if there is none. */
static void put_field(struct fmt_buf *b, const char *text, int most)
{
	fmt_put(b, " %.*s", most, text[0] ? text : "-");
}

/* timeQuality (7.1) is left out without a time of day. A sender in UTC knows its time zone. */
static void put_structured_data(struct fmt_buf *b, const struct syslog_message *m)
{
	const uint64_t before = m->sequence - 1; /* a 32-bit machine divides by steps */
	fmt_put(b, " ");
	if (m->utc_ns)
		fmt_put(b, "[timeQuality tzKnown=\"1\" isSynced=\"%u\"]", m->synchronized);
	fmt_put(b, "[meta sequenceId=\"%llu\" sysUpTime=\"%llu\"]",
	        (ull)(before - divide(before, SEQUENCE_MAX) * SEQUENCE_MAX + 1),
	        (ull)divide(m->since_boot_ns, 10000000));
}

size_t syslog_put(char *buf, size_t size, const struct syslog_message *m)
{
	char time[RFC3339_MAX];
	struct fmt_buf b = {buf, size, 0, false};
	fmt_put(&b, "<%u>1", m->facility * 8 + (unsigned)m->level);
	put_field(&b, m->utc_ns ? rfc3339_put(time, m->utc_ns, FRACTION_DIGITS) : "", RFC3339_MAX);
	put_field(&b, m->hostname, 255);
	put_field(&b, m->app, 48);
	put_field(&b, "", 128); /* PROCID: there are no processes */
	put_field(&b, m->msgid, 32);
	put_structured_data(&b, m);
	fmt_put(&b, " %s", m->text);
	return b.used;
}
