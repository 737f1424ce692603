/* See log.h: a line of the access log. */
#include "apps/web/log.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/http/date.h"

#define TEXT_MAX 512 /* characters of a request line, escaped */
#define FIELD_MAX 256

/* Returns the escape of a byte, or "" if it is to be written as it is. */
static const char *escape(char buf[8], char c)
{
	static const char letters[] = "btnvfr"; /* from 8 on */
	if (c == '"' || c == '\\')
		fmt_format(buf, 8, "\\%c", c);
	else if (c >= 8 && c <= 13)
		fmt_format(buf, 8, "\\%c", letters[c - 8]);
	else if ((uint8_t)c < 0x20 || (uint8_t)c >= 0x7f)
		fmt_format(buf, 8, "\\x%02x", (uint8_t)c);
	else
		buf[0] = 0;
	return buf;
}

/* A text of at most `size` bytes in quotation marks, and at most `most` characters of it; "-" for none. */
static void put_quoted(struct fmt_buf *b, const char *text, size_t size, size_t most)
{
	const size_t end = b->used + 1 + most;
	char buf[8];
	fmt_put(b, "\"");
	if (!text[0])
		fmt_put(b, "-");
	for (size_t i = 0; i < size && text[i]; i++) {
		const char *other = escape(buf, text[i]);
		if (b->used + (other[0] ? strlen(other) : 1) > end)
			break;
		if (other[0])
			fmt_put(b, "%s", other);
		else
			fmt_put_bytes(b, &text[i], 1);
	}
	fmt_put(b, "\"");
}

/* [06/Nov/1994:08:49:37 +0000], made of the parts of an IMF-fixdate: "Sun, 06 Nov 1994 08:49:37 GMT". */
static void put_time(struct fmt_buf *b, uint64_t seconds)
{
	char date[HTTP_DATE_MAX];
	http_date_put(date, (int64_t)seconds);
	fmt_put(b, "[%.2s/%.3s/%.4s:%.8s +0000]", date + 5, date + 8, date + 12, date + 17);
}

char *log_line(char buf[LOG_LINE_MAX], const struct log_entry *e, uint64_t seconds)
{
	struct fmt_buf b = {.at = buf, .size = LOG_LINE_MAX};
	char addr[FMT_ADDR_MAX];
	fmt_put(&b, "%s - - ", fmt_addr(addr, &e->peer));
	put_time(&b, seconds);
	fmt_put(&b, " ");
	put_quoted(&b, e->line, sizeof e->line, TEXT_MAX);
	fmt_put(&b, " %03u ", e->status % 1000);
	if (e->bytes)
		fmt_put(&b, "%llu ", (unsigned long long)e->bytes);
	else
		fmt_put(&b, "- ");
	put_quoted(&b, e->referer, sizeof e->referer, FIELD_MAX);
	fmt_put(&b, " ");
	put_quoted(&b, e->agent, sizeof e->agent, FIELD_MAX);
	return buf;
}
