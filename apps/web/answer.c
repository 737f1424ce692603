/* See answer.h. */
#include "apps/web/answer.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "net/http/condition.h"
#include "net/http/date.h"
#include "net/http/media.h"

#define ALLOW "Allow: GET, HEAD, OPTIONS\r\n"
#define TEXT_TYPE "text/plain; charset=utf-8"

/* --- texts --- */

static void put_head(struct web_answer *a, const struct http_request *r, unsigned status, uint64_t length,
                     const char *type, const char *fields)
{
	a->status = status;
	a->content = r->method == HTTP_HEAD || length == HTTP_LENGTH_NONE ? 0 : length;
	a->text = a->own;
	a->text_bytes = (uint32_t)http_answer_put(
		a->own, sizeof a->own, &(struct http_answer){.status = status, .minor = r->minor, .close = a->close,
	                                                     .length = length, .type = type, .fields = fields});
}

/* The head, and for all but HEAD and answers without content, one line that says the status. */
static void put_status(struct web_answer *a, const struct http_request *r, unsigned status, const char *fields)
{
	char line[64];
	const bool none = status == 204 || status == 304;
	const size_t n = none ? 0 : fmt_format(line, sizeof line, "%u %s\n", status, http_reason(status));
	put_head(a, r, status, none ? HTTP_LENGTH_NONE : n, none ? NULL : TEXT_TYPE, fields);
	if (none || r->method == HTTP_HEAD || a->text_bytes + n > sizeof a->own)
		return;
	memcpy(a->own + a->text_bytes, line, n);
	a->text_bytes += (uint32_t)n;
}

/* A path in a URI: what is neither unreserved nor allowed in a segment is percent-encoded (RFC 3986 2.1, 3.3). */
static void put_path(struct fmt_buf *b, const char *path)
{
	for (; *path; path++) {
		const unsigned char c = (unsigned char)*path;
		const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		bool allowed = plain;
		for (const char *also = "/-._~!$&'()*+,;=:@"; *also && !allowed; also++)
			allowed = c == (unsigned char)*also;
		fmt_put(b, allowed ? "%c" : "%%%02X", c);
	}
}

/* --- files --- */

static uint32_t find(const struct site *s, const char *path, const char *more)
{
	char whole[SITE_PATH_MAX + sizeof SITE_INDEX + 1];
	const size_t n = fmt_format(whole, sizeof whole, "%s%s", path, more);
	return n < sizeof whole ? site_find(s, whole, n) : SITE_NONE;
}

/* False: the site has no such path, and no folder of that name with an index. */
static bool redirect(struct web_answer *a, const struct site *s, const struct http_request *r)
{
	char fields[WEB_TEXT_MAX / 2 + WEB_TEXT_MAX / 4];
	struct fmt_buf b = {.at = fields, .size = sizeof fields};
	if (find(s, r->path, "/" SITE_INDEX) == SITE_NONE)
		return false;
	fmt_put(&b, "Location: ");
	put_path(&b, r->path);
	/* a query is as the client wrote it: it has no control characters and no spaces (net/http/http.h) */
	fmt_put(&b, "/%s%s\r\n", *r->query ? "?" : "", r->query);
	if (b.full)
		put_status(a, r, 404, NULL);
	else
		put_status(a, r, 301, fields);
	return true;
}

static void put_ranges(struct web_answer *a, const struct site *s, const struct http_request *r,
                       const struct site_file *f, enum http_coding c, const char *boundary)
{
	const uint64_t size = s->file[f->coded[c]].size;
	char fields[SITE_HEAD_MAX + HTTP_CONTENT_RANGE_MAX + 32], value[HTTP_PARTS_TYPE_MAX];
	const char *type = http_media_type(site_text(s, f->path));
	a->file = f->coded[c];
	const struct http_parts parts = {.ranges = &a->ranges, .size = size, .type = type, .boundary = boundary};
	uint64_t length = 0;
	size_t n = site_fields(fields, sizeof fields, s, f, c);
	a->parts = a->ranges.n > 1;
	a->type = type;
	a->named = (uint32_t)(f - s->file);
	if (a->parts) {
		http_parts_type_put(value, sizeof value, boundary);
		length = http_parts_length(&parts);
	} else {
		char range[HTTP_CONTENT_RANGE_MAX];
		fmt_format(fields + n, sizeof fields - n, "Content-Range: %s\r\n",
		           http_content_range_put(range, &a->ranges.range[0], size));
		length = http_range_bytes(&a->ranges.range[0]);
	}
	put_head(a, r, 206, length, a->parts ? value : type, fields);
}

/* The content is all of a file. */
static void all_of(struct web_answer *a, uint32_t file, uint64_t size)
{
	a->file = file;
	a->ranges.n = size > 0;
	a->ranges.range[0] = (struct http_range){0, size - 1};
}

/* The whole file: the head lies ready, unless the connection has another form. */
static void put_whole(struct web_answer *a, const struct site *s, const struct http_request *r,
                      const struct site_file *f, enum http_coding c)
{
	char fields[SITE_HEAD_MAX];
	const uint64_t size = s->file[f->coded[c]].size;
	all_of(a, f->coded[c], size);
	if (!a->close && r->minor > 0) {
		a->status = 200;
		a->content = r->method == HTTP_HEAD ? 0 : size;
		a->text = site_text(s, f->head[c]);
		a->text_bytes = f->head_bytes[c];
		return;
	}
	site_fields(fields, sizeof fields, s, f, c);
	put_head(a, r, 200, size, http_media_type(site_text(s, f->path)), fields);
}

static void put_unsatisfiable(struct web_answer *a, const struct http_request *r, uint64_t size)
{
	char fields[HTTP_CONTENT_RANGE_MAX + 32], range[HTTP_CONTENT_RANGE_MAX];
	fmt_format(fields, sizeof fields, "Content-Range: %s\r\n", http_content_range_put(range, NULL, size));
	put_status(a, r, 416, fields);
}

static void put_file(struct web_answer *a, const struct site *s, const struct http_request *r, uint32_t number,
                     const char *boundary)
{
	const struct site_file *f = &s->file[number];
	unsigned available = 0;
	for (unsigned c = 0; c < HTTP_CODINGS; c++)
		available |= (unsigned)(f->coded[c] != SITE_NONE) << c;
	const enum http_coding c = http_coding_choose(r->field[HTTP_ACCEPT_ENCODING], available);
	const struct site_file *content = &s->file[f->coded[c]];
	char etag[SITE_ETAG_MAX], fields[SITE_HEAD_MAX];
	const struct http_validators v = {.etag = site_etag(etag, content), .modified = content->modified};
	const struct http_verdict verdict = http_condition(r, &v, HTTP_TIME_UNKNOWN);
	if (verdict.status != 200) {
		site_fields(fields, sizeof fields, s, f, c);
		put_status(a, r, verdict.status, verdict.status == 304 ? fields : NULL); /* RFC 9110 15.4.5 */
		return;
	}
	unsigned status = 200;
	if (verdict.ranges && r->method == HTTP_GET)
		status = http_ranges_read(&a->ranges, r->field[HTTP_RANGE], content->size);
	if (status == 416) {
		put_unsatisfiable(a, r, content->size);
		return;
	}
	if (status == 206)
		put_ranges(a, s, r, f, c, boundary);
	else
		put_whole(a, s, r, f, c);
}

/* The site may have a page for it. It is sent whole, and never "not modified". */
static void put_not_found(struct web_answer *a, const struct site *s, const struct http_request *r)
{
	const uint32_t page = find(s, "/404.html", "");
	if (page == SITE_NONE) {
		put_status(a, r, 404, NULL);
		return;
	}
	const uint64_t size = s->file[page].size;
	all_of(a, page, size);
	put_head(a, r, 404, size, "text/html; charset=utf-8", NULL);
}

static void put_path_of(struct web_answer *a, const struct site *s, const struct http_request *r, const char *boundary)
{
	const size_t n = strlen(r->path);
	const bool folder = n > 0 && r->path[n - 1] == '/';
	const uint32_t number = find(s, r->path, folder ? SITE_INDEX : "");
	if (number != SITE_NONE)
		put_file(a, s, r, number, boundary);
	else if (folder || !redirect(a, s, r))
		put_not_found(a, s, r);
}

void web_answer_make(struct web_answer *a, const struct site *site, const struct http_request *r, const char *boundary)
{
	a->close = r->close;
	a->file = SITE_NONE;
	a->ranges.n = 0;
	a->parts = false;
	a->type = NULL;
	if (r->method == HTTP_OPTIONS && (r->status == 405 || r->status == 200))
		put_status(a, r, 204, ALLOW);
	else if (r->status != 200)
		put_status(a, r, r->status, r->status == 405 ? ALLOW : NULL);
	else if (r->method != HTTP_GET && r->method != HTTP_HEAD)
		put_status(a, r, 405, ALLOW);
	else if (!site)
		put_status(a, r, 503, NULL);
	else
		put_path_of(a, site, r, boundary);
	if (r->method == HTTP_HEAD)
		a->ranges.n = 0;
}

size_t web_answer_part(char *buf, size_t size, const struct http_ranges *ranges, unsigned i, uint64_t file_bytes,
                       const char *type, const char *boundary)
{
	const struct http_parts m = {.ranges = ranges, .size = file_bytes, .type = type, .boundary = boundary};
	return i < ranges->n ? http_part_head_put(buf, size, &m, i) : http_parts_end_put(buf, size, &m);
}
