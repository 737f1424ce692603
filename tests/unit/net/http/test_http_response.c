/* Responses (net/http/response.h): each is read whole, byte by byte and cut at every byte, and means the same. */
#include "tests/unit/rig/host.h"

#include "net/http/response.h"

#define LIMIT 1000

static struct http_response r;
static char content[4096];
static uint32_t got, taken;

/* Reads n bytes in pieces of `each`; the connection then ends. */
static void read_by(const char *text, uint32_t n, uint32_t each)
{
	http_response_init(&r, LIMIT);
	got = taken = 0;
	while (taken < n) {
		struct http_piece piece;
		const uint32_t step = n - taken < each ? n - taken : each;
		uint8_t *copy = malloc(step); /* for ASan */
		memcpy(copy, text + taken, step);
		uint32_t used = 0, now;
		do {
			now = http_response_input(&r, copy + used, step - used, &piece);
			assert_true(piece.n == 0 || (piece.at >= copy + used && piece.at + piece.n == copy + used + now));
			assert_in_range(got + piece.n, 0, LIMIT);
			memcpy(content + got, piece.at, piece.n);
			got += piece.n;
			used += now;
		} while (now && used < step);
		free(copy);
		taken += used;
		if (used < step)
			break;
	}
	assert_int_equal(r.got, got);
	content[got] = 0;
}

/* status 0: it is refused with `what`, else that is its content. rest: what is not taken. */
static void expect(const char *text, unsigned status, const char *what, const char *rest)
{
	const uint32_t n = (uint32_t)strlen(text);
	for (uint32_t each = 1; each <= n; each++) {
		read_by(text, n, each);
		http_response_fin(&r);
		if (status) {
			assert_int_equal(r.state, HTTP_RESPONSE_ENDED);
			assert_int_equal(r.status, status);
			assert_string_equal(content, what);
			assert_string_equal(text + taken, rest);
		} else {
			assert_int_equal(r.state, HTTP_RESPONSE_BROKEN);
			assert_string_equal(r.why, what);
		}
		if (each > 4 && each < n)
			each = each * 2 < n ? each * 2 : n - 1;
	}
}

#define OK "HTTP/1.1 200 OK\r\n"
#define LENGTH(n) "Content-Length: " #n "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

static void contents(void **state)
{
	(void)state;
	expect(OK LENGTH(5) "\r\nhello", 200, "hello", "");
	assert_int_equal(r.length, 5);
	expect(OK LENGTH(5) "\r\nhelloHTTP/1.1", 200, "hello", "HTTP/1.1");
	expect(OK LENGTH(0) "\r\n", 200, "", "");
	expect(OK "content-LENGTH:\t5 \t\r\nX:\r\nY: a:b\r\n\r\nhello", 200, "hello", "");
	expect(OK "\r\nup to the end", 200, "up to the end", "");
	assert_true(r.length == HTTP_RESPONSE_UNKNOWN);
	expect("HTTP/1.0 200 OK\r\n\r\nold", 200, "old", "");
	expect("HTTP/1.1 200 \r\n" LENGTH(1) "\r\nx", 200, "x", "");
	expect("HTTP/1.1 200\r\n" LENGTH(1) "\r\nx", 200, "x", "");
	expect("HTTP/1.1 404 Not Found\r\n" LENGTH(2) "\r\nno", 404, "no", "");
	expect("HTTP/1.1 204 No Content\r\n\r\nx", 204, "", "x");
	expect("HTTP/1.1 304 Not Modified\r\n" LENGTH(7) "\r\n", 304, "", "");
	expect("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" OK LENGTH(1) "\r\nx", 200, "x", "");
	expect(OK "Content-Encoding: identity\r\n" LENGTH(1) "\r\nx", 200, "x", "");
	expect("HTTP/1.1 302 Found\r\nLocation: https://a.example/b?c=d e\x1b\r\n" LENGTH(0) "\r\n", 302, "", "");
	assert_string_equal(r.location, "https://a.example/b?c=d?e?");
}

static void chunks(void **state)
{
	(void)state;
	expect(OK CHUNKED "\r\n5\r\nhello\r\n0\r\n\r\n", 200, "hello", "");
	expect(OK "transfer-encoding: Chunked\r\n\r\n1\r\na\r\n00A;name=value;b\r\n0123456789\r\n0\r\nTrailer: x\r\nother\r\n\r\nrest", 200,
	       "a0123456789", "rest");
	expect(OK CHUNKED "\r\n3 \r\nabc\r\n0;last\r\n\r\n", 200, "abc", "");
	expect(OK CHUNKED "\r\n0\r\n\r\n", 200, "", "");
	const char *bad = "the answer has a malformed chunk";
	expect(OK CHUNKED "\r\n\r\n", 0, bad, "");
	expect(OK CHUNKED "\r\n;x\r\n", 0, bad, "");
	expect(OK CHUNKED "\r\n-1\r\n", 0, bad, "");
	expect(OK CHUNKED "\r\n0x5\r\n", 0, bad, "");
	expect(OK CHUNKED "\r\n5\r\nhello0\r\n\r\n", 0, bad, "");
	expect(OK CHUNKED "\r\n5\r\nhello\n0\r\n\r\n", 0, "the answer has a bare CR or LF", "");
	expect(OK CHUNKED "\r\n3e9\r\n", 0, "the answer is too long", "");
	expect(OK CHUNKED "\r\n10000000000000005\r\n", 0, "the answer is too long", "");
	expect(OK CHUNKED "\r\nffffffffffffffffffffffff\r\n", 0, "the answer is too long", "");
	const char *cut = "the connection ended in the middle of the answer";
	expect(OK CHUNKED "\r\n5\r\nhello\r\n0\r\n", 0, cut, "");
	expect(OK CHUNKED "\r\n5\r\nhello\r\n", 0, cut, "");
	expect(OK CHUNKED "\r\n5\r\nhel", 0, cut, "");
}

static void refusals(void **state)
{
	(void)state;
	const char *not = "the answer is not HTTP/1.1", *length = "the answer has an ambiguous length",
	           *field = "the answer has a malformed field", *coding = "the answer has an unknown transfer coding",
	           *bare = "the answer has a bare CR or LF", *cut = "the connection ended in the middle of the answer";
	static const char *const others[] = {"HTTP/2.0 200 OK\r\n", "http/1.1 200 OK\r\n", "HTTP/1.1  200 OK\r\n", "HTTP/1.1 20 OK\r\n",
	                                     "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1\r\n", "SSH-2.0-x\r\n", "\r\n"};
	for (unsigned i = 0; i < ARRAY_LEN(others); i++)
		expect(others[i], 0, not, "");
	expect("HTTP/1.1 099 x\r\n", 0, "the answer has an impossible status", "");
	expect("HTTP/1.1 600 x\r\n", 0, "the answer has an impossible status", "");
	expect("HTTP/1.1 101 Switching Protocols\r\n", 0, "the answer has an impossible status", "");
	expect(OK LENGTH(5) LENGTH(5) "\r\n", 0, length, "");
	expect(OK LENGTH(5) CHUNKED "\r\n", 0, length, "");
	expect(OK LENGTH(-5), 0, length, "");
	expect(OK LENGTH(5x), 0, length, "");
	expect(OK "Content-Length: \r\n", 0, length, "");
	expect(OK "Content-Length: 5, 5\r\n", 0, length, "");
	expect(OK LENGTH(18446744073709551615), 0, length, "");
	expect(OK LENGTH(99999999999999999999999), 0, length, "");
	expect(OK LENGTH(1001) "\r\n", 0, "the answer is too long", "");
	expect(OK "Transfer-Encoding: gzip, chunked\r\n", 0, coding, "");
	expect(OK CHUNKED CHUNKED, 0, coding, "");
	expect("HTTP/1.0 200 OK\r\n" CHUNKED, 0, coding, "");
	expect(OK "Content-Encoding: gzip\r\n\r\n", 0, "the content is encoded", "");
	expect(OK "X : y\r\n", 0, field, "");
	expect(OK " X: y\r\n", 0, field, "");
	expect(OK "X: y\r\n more\r\n", 0, field, "");
	expect(OK "none\r\n", 0, field, "");
	expect(OK ": y\r\n", 0, field, "");
	expect("HTTP/1.1 200 OK\n", 0, bare, "");
	expect(OK "X: a\rb\r\n", 0, bare, "");
	expect(OK "\n", 0, bare, "");
	http_response_init(&r, LIMIT);
	http_response_fin(&r);
	assert_string_equal(r.why, "the connection ended without an answer");
	expect("HTTP/1.1 200", 0, cut, "");
	expect(OK LENGTH(5), 0, cut, "");
	expect(OK LENGTH(5) "\r\nhell", 0, cut, "");
}

static void limits(void **state)
{
	static char text[40000];
	(void)state;
	/* a long field is ignored, unless it counts */
	snprintf(text, sizeof text, OK "X: %0*d\r\n" LENGTH(1) "\r\nx", 3000, 7);
	expect(text, 200, "x", "");
	snprintf(text, sizeof text, OK "%0*d\r\n" LENGTH(1) "\r\nx", 3000, 7);
	expect(text, 200, "x", "");
	snprintf(text, sizeof text, OK "Content-Length: %0*d\r\n\r\nx", HTTP_RESPONSE_LINE, 1);
	expect(text, 0, "the answer has a malformed field", "");
	snprintf(text, sizeof text, OK CHUNKED "\r\n1;%0*d\r\nx\r\n0\r\n\r\n", HTTP_RESPONSE_LINE - 2, 1);
	expect(text, 200, "x", "");
	snprintf(text, sizeof text, OK CHUNKED "\r\n1;%0*d\r\nx\r\n0\r\n\r\n", HTTP_RESPONSE_LINE - 1, 1);
	expect(text, 0, "the answer has a malformed chunk", "");
	snprintf(text, sizeof text, OK "X: %0*d\r\n\r\n", HTTP_RESPONSE_HEAD, 1);
	expect(text, 0, "the head of the answer is too long", "");
	snprintf(text, sizeof text, OK CHUNKED "\r\n0\r\nX: %0*d\r\n\r\n", HTTP_RESPONSE_HEAD, 1);
	expect(text, 0, "the head of the answer is too long", "");
	uint32_t n = 0; /* heads that never end */
	while (n < HTTP_RESPONSE_HEAD)
		n += (uint32_t)snprintf(text + n, sizeof text - n, "HTTP/1.1 100 Continue\r\n\r\n");
	expect(text, 0, "the head of the answer is too long", "");
	snprintf(text, sizeof text, OK "\r\n%0*d", LIMIT, 1);
	expect(text, 200, strchr(text + 20, '0') ? text + strlen(OK "\r\n") : "", "");
	snprintf(text, sizeof text, OK "\r\n%0*d", LIMIT + 1, 1);
	expect(text, 0, "the answer is too long", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(contents), cmocka_unit_test(chunks), cmocka_unit_test(refusals),
	                                   cmocka_unit_test(limits)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
