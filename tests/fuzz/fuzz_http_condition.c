/*
 * Conditional requests (net/http/condition.h): the input is a byte of choices, and fields of a request, which the
 * parser reads. A verdict has a cause: 412 needs If-Match or If-Unmodified-Since, 304 needs If-None-Match or
 * If-Modified-Since, ranges need a GET with Range; tags go before dates. The verdict's Range can be read.
 */
#include "tests/fuzz/input.h"

#include "net/http/condition.h"
#include "net/http/date.h"
#include "net/http/range.h"

#define MODIFIED 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */

static void check(struct http_request *r, const struct http_validators *v, int64_t now)
{
	const struct http_verdict got = http_condition(r, v, now);
	const char **f = r->field;
	struct http_ranges ranges;
	assert(got.status == 200 || got.status == 304 || got.status == 412);
	assert(got.status != 412 || f[HTTP_IF_MATCH][0] || f[HTTP_IF_UNMODIFIED_SINCE][0]);
	assert(got.status != 304 || f[HTTP_IF_NONE_MATCH][0] || f[HTTP_IF_MODIFIED_SINCE][0]);
	assert(!got.ranges || (got.status == 200 && r->method == HTTP_GET && f[HTTP_RANGE][0]));
	if (got.ranges)
		http_ranges_read(&ranges, f[HTTP_RANGE], 1000);
	/* beside a tag, what the dates say changes nothing */
	if (f[HTTP_IF_MATCH][0])
		f[HTTP_IF_UNMODIFIED_SINCE] = "Thu, 01 Jan 1970 00:00:00 GMT";
	if (f[HTTP_IF_NONE_MATCH][0])
		f[HTTP_IF_MODIFIED_SINCE] = "Fri, 31 Dec 9999 23:59:59 GMT";
	const struct http_verdict again = http_condition(r, v, now);
	assert(again.status == got.status && again.ranges == got.ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_parser p;
	static const char get[] = "GET / HTTP/1.1\r\nHost: h\r\n", head[] = "HEAD / HTTP/1.1\r\nHost: h\r\n";
	struct input in = {data, size};
	const uint8_t choice = take8(&in);
	const struct http_validators v = {choice & 2 ? "\"a,b\"" : NULL, choice & 4 ? MODIFIED : HTTP_TIME_UNKNOWN};
	http_init_fields(&p);
	if (choice & 1)
		http_input(&p, (const uint8_t *)head, sizeof head - 1);
	else
		http_input(&p, (const uint8_t *)get, sizeof get - 1);
	uint8_t *copy = exactly(in.p, in.n);
	http_input(&p, copy, (uint32_t)in.n);
	free(copy);
	if (p.state == HTTP_MORE)
		http_input(&p, (const uint8_t *)"\r\n\r\n", 4);
	if (p.state == HTTP_REQUEST && p.request.status == 200)
		check(&p.request, &v, choice & 8 ? MODIFIED : HTTP_TIME_UNKNOWN);
	return 0;
}
