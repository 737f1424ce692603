/* Range requests; see range.h. */
#include "net/http/range.h"

#include "lib/fmt.h"
#include "lib/number.h"
#include "net/http/text.h"

/* --- reading --- */

enum spec { SPEC_MALFORMED, SPEC_UNSATISFIABLE, SPEC_RANGE };

/* A range-spec, RFC 9110 14.1.1: first "-" [ last ], or "-" and the length of a suffix. */
static enum spec read_spec(struct http_text t, uint64_t size, struct http_range *r)
{
	uint64_t suffix;
	r->last = UINT64_MAX;
	if (http_text_number(&t, &r->first)) {
		if (t.n == 0 || t.at[0] != '-')
			return SPEC_MALFORMED;
		http_text_skip(&t, 1);
		if (t.n && (!http_text_number(&t, &r->last) || t.n || r->last < r->first))
			return SPEC_MALFORMED;
		if (r->first >= size)
			return SPEC_UNSATISFIABLE;
		r->last = u64_min(r->last, size - 1);
		return SPEC_RANGE;
	}
	if (t.n == 0 || t.at[0] != '-')
		return SPEC_MALFORMED;
	http_text_skip(&t, 1);
	if (!http_text_number(&t, &suffix) || t.n)
		return SPEC_MALFORMED;
	if (suffix == 0)
		return SPEC_UNSATISFIABLE;
	/* A suffix longer than the representation is all of it (14.1.2). Of 0 bytes this is an empty range,
	 * first > last. */
	r->first = size - u64_min(suffix, size);
	r->last = size - 1;
	return SPEC_RANGE;
}

static bool overlaps_one(const struct http_ranges *r, const struct http_range *one)
{
	for (unsigned i = 0; i < r->n; i++)
		if (one->first <= r->range[i].last && r->range[i].first <= one->last)
			return true;
	return false;
}

/* Rule 3 of range.h. The ranges do not overlap, so their sum cannot overflow. */
static bool are_too_small(const struct http_ranges *r, uint64_t size)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < r->n; i++)
		bytes += http_range_bytes(&r->range[i]);
	return r->n > 1 && size - bytes < r->n * HTTP_PART_COST;
}

/* Reads the list. False: it is malformed or refused. */
static bool read_list(struct http_ranges *r, struct http_text list, uint64_t size, unsigned *specs)
{
	struct http_text element;
	struct http_range one;
	while (http_text_element(&list, &element)) {
		if (element.n == 0)
			continue; /* 5.6.1.2: MUST be ignored */
		const enum spec spec = read_spec(element, size, &one);
		if (spec == SPEC_MALFORMED || ++*specs > HTTP_RANGES_MAX)
			return false;
		if (spec == SPEC_UNSATISFIABLE)
			continue;
		if (size == 0 || overlaps_one(r, &one))
			return false;
		r->range[r->n++] = one;
	}
	return *specs > 0;
}

unsigned http_ranges_read(struct http_ranges *r, const char *field, uint64_t size)
{
	struct http_text t = http_text_of(field);
	unsigned specs = 0;
	r->n = 0;
	/* Names of units are in either case (14.1). */
	if (t.n < 6 || !http_text_is((struct http_text){t.at, 6}, "bytes="))
		return 200;
	http_text_skip(&t, 6);
	if (!read_list(r, t, size, &specs) || are_too_small(r, size)) {
		r->n = 0;
		return 200;
	}
	return r->n ? 206 : 416;
}

/* --- writing --- */

char *http_content_range_put(char buf[HTTP_CONTENT_RANGE_MAX], const struct http_range *r, uint64_t size)
{
	if (r)
		fmt_format(buf, HTTP_CONTENT_RANGE_MAX, "bytes %llu-%llu/%llu", (unsigned long long)r->first,
		           (unsigned long long)r->last, (unsigned long long)size);
	else
		fmt_format(buf, HTTP_CONTENT_RANGE_MAX, "bytes */%llu", (unsigned long long)size);
	return buf;
}

size_t http_parts_type_put(char *buf, size_t room, const char *boundary)
{
	const size_t n = fmt_format(buf, room, "multipart/byteranges; boundary=%s", boundary);
	return n < room ? n : 0;
}

/* The complete length, whatever room there is. */
static size_t part_head(char *buf, size_t room, const struct http_parts *m, unsigned i)
{
	char range[HTTP_CONTENT_RANGE_MAX];
	/* The line end before a boundary belongs to it (RFC 2046 5.1.1); before the first there is none. */
	return fmt_format(buf, room, "%s--%s\r\n%s%s%sContent-Range: %s\r\n\r\n", i ? "\r\n" : "", m->boundary,
	                  m->type ? "Content-Type: " : "", m->type ? m->type : "", m->type ? "\r\n" : "",
	                  http_content_range_put(range, &m->ranges->range[i], m->size));
}

static size_t parts_end(char *buf, size_t room, const struct http_parts *m)
{
	return fmt_format(buf, room, "\r\n--%s--\r\n", m->boundary);
}

size_t http_part_head_put(char *buf, size_t room, const struct http_parts *m, unsigned i)
{
	const size_t n = part_head(buf, room, m, i);
	return n < room ? n : 0;
}

size_t http_parts_end_put(char *buf, size_t room, const struct http_parts *m)
{
	const size_t n = parts_end(buf, room, m);
	return n < room ? n : 0;
}

uint64_t http_parts_length(const struct http_parts *m)
{
	uint64_t length = parts_end(NULL, 0, m);
	for (unsigned i = 0; i < m->ranges->n; i++)
		length += part_head(NULL, 0, m, i) + http_range_bytes(&m->ranges->range[i]);
	return length;
}
