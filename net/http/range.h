/*
 * Range requests, RFC 9110 14: the field Range with the unit "bytes", the field Content-Range, and content
 * of the type multipart/byteranges (14.6, RFC 2046 5.1).
 *
 *     status = http_ranges_read(&ranges, request->field[HTTP_RANGE], size);
 *     416              Content-Range is http_content_range_put(buf, NULL, size); no content of the file
 *     206, n == 1      Content-Range is http_content_range_put(buf, &ranges.range[0], size)
 *     206, n > 1       Content-Type is http_parts_type_put(), Content-Length http_parts_length(); before the
 *                      bytes of range i comes http_part_head_put(i), after the last http_parts_end_put()
 *     200              the whole file; the field was absent, malformed or refused
 *
 * Only GET has ranges (14.2), and http_condition() says whether the request's Range counts.
 *
 * Against abuse (14.2, 17.15) a Range is ignored, and the whole file sent, if
 * 1. it has more than HTTP_RANGES_MAX ranges, satisfiable or not,
 * 2. two of its satisfiable ranges overlap, or
 * 3. it has several satisfiable ranges, and they and HTTP_PART_COST for each are more bytes than the file.
 * So no answer is longer than the file and a few heads. Ranges are sent in the order of the request, and
 * adjacent ones are not combined (15.3.7.2 allows both).
 */
#ifndef NET_HTTP_RANGE_H
#define NET_HTTP_RANGE_H

#include "lib/types.h"

#define HTTP_RANGES_MAX 8
#define HTTP_PART_COST 128 /* bytes that the head of a part counts for in rule 3 */

/* The bytes first to last, both included, as in Content-Range; last < size of the file. */
struct http_range {
	uint64_t first, last;
};

struct http_ranges {
	unsigned n;
	struct http_range range[HTTP_RANGES_MAX];
};

/*
 * field: the value of Range, "" if there was none. size: bytes of the representation. Returns the status:
 *     200  the field is absent or to be ignored: malformed, of another unit, or refused by the rules above
 *     206  r has the satisfiable ranges, 1 to HTTP_RANGES_MAX
 *     416  well formed, but no range is satisfiable (14.1.2)
 * r->n is 0 unless it returns 206. A suffix of a representation of 0 bytes is satisfiable (14.1.2), but no
 * Content-Range can express it: the result is 200.
 */
unsigned http_ranges_read(struct http_ranges *r, const char *field, uint64_t size);

static inline uint64_t http_range_bytes(const struct http_range *r)
{
	return r->last - r->first + 1;
}

/* The value of Content-Range (14.4), "bytes 0-499/1234"; for a 416 r is NULL, and an asterisk stands in place
 * of the range. Returns buf. */
#define HTTP_CONTENT_RANGE_MAX 72
char *http_content_range_put(char buf[HTTP_CONTENT_RANGE_MAX], const struct http_range *r, uint64_t size);

/* --- multipart/byteranges --- */

struct http_parts {
	const struct http_ranges *ranges;
	uint64_t size;        /* of the representation */
	const char *type;     /* its Content-Type; NULL: none */
	const char *boundary; /* 1 to 70 letters and digits (RFC 2046 5.1.1), which the content must not
	                       * contain behind a line end: the caller chooses it at random */
};

/* The value of Content-Type, into buf. Returns its length without the NUL, 0 if `room` is too small. */
#define HTTP_PARTS_TYPE_MAX 104
size_t http_parts_type_put(char *buf, size_t room, const char *boundary);

/* What comes before the bytes of range i: the delimiter and the head of the part, with the line end of the
 * part before. Returns its length without the NUL, 0 if `room` is too small: HTTP_PART_HEAD_MAX and the
 * bytes of the type suffice. */
#define HTTP_PART_HEAD_MAX 192
size_t http_part_head_put(char *buf, size_t room, const struct http_parts *m, unsigned i);

/* What comes after the last part. */
#define HTTP_PARTS_END_MAX 80
size_t http_parts_end_put(char *buf, size_t room, const struct http_parts *m);

/* Content-Length: the bytes of all heads, ranges and the end. */
uint64_t http_parts_length(const struct http_parts *m);

#endif
