/*
 * Conditional requests, RFC 9110 13: If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since and
 * If-Range of a GET or HEAD, evaluated in the order of 13.2.2.
 *
 * A condition counts only for a request whose answer would otherwise be 200 (13.2.1): the caller finds the
 * representation first. For a content coding, the ETag is that of the coded representation (8.8.3.3).
 */
#ifndef NET_HTTP_CONDITION_H
#define NET_HTTP_CONDITION_H

#include "net/http/http.h"

/* The validators of the selected representation, RFC 9110 8.8. */
struct http_validators {
	const char *etag; /* a strong entity-tag with its quotes, "\"x\""; NULL: none */
	/* Last-Modified; HTTP_TIME_UNKNOWN: none. It must be a strong validator (8.8.2.2): the representation
	 * does not change twice within this second. Files of an archive never change. */
	int64_t modified;
};

struct http_verdict {
	unsigned status; /* 200: go on; 304; 412 */
	bool ranges;     /* status 200: http_ranges_read() is to read the request's Range, which is not empty */
};

/*
 * r: a GET or HEAD of a parser with http_init_fields(), status 200. now: the time, or HTTP_TIME_UNKNOWN
 * (http_date_read).
 *
 * Malformed fields: a date that is none is ignored (13.1.3, 13.1.4), or, in If-Range, does not match. Of a
 * list of tags, those before the malformed place count.
 */
struct http_verdict http_condition(const struct http_request *r, const struct http_validators *v, int64_t now);

#endif
