/*
 * The answer to a request: which file in which coding, by RFC 9110, as a text (the head of the response, and
 * content that is no file's) and ranges of a file behind it. A pure function of request and site.
 *
 *     GET, HEAD   the file of that path; of a path that ends in "/", its index.html. A path whose folder has
 *                 an index.html is redirected to the one with "/": 301
 *     OPTIONS     204 with Allow
 *     others      405 with Allow
 *
 * An error has a text of one line as content, or the site's /404.html.
 */
#ifndef APPS_WEB_ANSWER_H
#define APPS_WEB_ANSWER_H

#include "apps/web/site.h"
#include "net/http/http.h"
#include "net/http/range.h"

/* Bytes of a text: a head with a Location, each byte of a path in three, or the head of a part. */
#define WEB_TEXT_MAX 4096

#define WEB_BOUNDARY_MAX 24

struct web_answer {
	unsigned status;
	bool close;       /* the connection, once all has been sent */
	uint64_t content; /* bytes of content that will be sent */
	const char *text; /* in the site, or own[] */
	uint32_t text_bytes;
	uint32_t file;    /* whose content follows; SITE_NONE: none */
	/* What of it: range by range, before each of which, if `parts`, comes web_answer_part(). */
	struct http_ranges ranges;
	bool parts;
	const char *type; /* of each part; static */
	uint32_t named;   /* the file whose name has that type */
	char own[WEB_TEXT_MAX];
};

/* site NULL: there is none: 503. boundary: of parts (net/http/range.h), at most WEB_BOUNDARY_MAX
 * bytes with NUL. */
void web_answer_make(struct web_answer *a, const struct site *site, const struct http_request *r, const char *boundary);

/* The text before range i, or, for i == ranges.n, after the last. Returns its length; `size` of WEB_TEXT_MAX
 * suffices. */
size_t web_answer_part(char *buf, size_t size, const struct http_ranges *ranges, unsigned i, uint64_t file_bytes,
                       const char *type, const char *boundary);

#endif
