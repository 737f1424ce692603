/* net/http: each rule of RFC 9112 that is obeyed, in pieces of every size; the form of an
 * answer. */
#include "tests/unit/rig/host.h"

#include "lib/mem.h"
#include "net/http/http.h"

static struct http_parser parser;

/* Feeds the text in pieces of `step` bytes; each piece is an allocation of its own, for ASan.
 * Returns how much was taken when a request was complete, or all. */
static uint32_t feed(const char *text, uint32_t n, uint32_t step)
{
	uint32_t at = 0;
	while (at < n && parser.state == HTTP_MORE) {
		uint32_t piece = step < n - at ? step : n - at;
		uint8_t *copy = malloc(piece);
		memcpy(copy, text + at, piece);
		uint32_t taken = http_input(&parser, copy, piece);
		assert_true(taken <= piece && (taken == piece || parser.state != HTTP_MORE));
		at += taken;
		free(copy);
	}
	return at;
}

/* The status of one request, the same however it is split. */
static unsigned status_of(const char *text)
{
	uint32_t n = (uint32_t)strlen(text);
	unsigned status = 0;
	for (uint32_t step = 1; step <= n; step = step < 5 ? step + 1 : step * 3) {
		http_init(&parser);
		uint32_t taken = feed(text, n, step);
		if (parser.state == HTTP_MORE)
			return 0;
		assert_true(status == 0 || status == parser.request.status);
		assert_true(taken <= n);
		status = parser.request.status;
	}
	return status;
}

#define H "Host: a\r\n"

static void good_requests(void **state)
{
	(void)state;
	assert_int_equal(status_of("GET / HTTP/1.1\r\n" H "\r\n"), 200);
	assert_string_equal(parser.request.path, "/");
	assert_string_equal(parser.request.query, "");
	assert_int_equal(parser.request.method, HTTP_GET);
	assert_false(parser.request.close);
	assert_int_equal(status_of("\r\n\r\nHEAD /a/b?x=%201&y HTTP/1.1\r\n" H "\r\n"), 200);
	assert_string_equal(parser.request.path, "/a/b");
	assert_string_equal(parser.request.query, "x=%201&y");
	assert_int_equal(parser.request.method, HTTP_HEAD);
	assert_int_equal(status_of("GET /%61%2Fb%7e HTTP/1.1\r\nhOST:\t[2001:db8::1]:80 \t\r\n\r\n"), 200);
	assert_string_equal(parser.request.path, "/a/b~");
	assert_int_equal(status_of("GET http://x.example:8/y?z HTTP/1.1\r\n" H "\r\n"), 200);
	assert_string_equal(parser.request.path, "/y");
	assert_string_equal(parser.request.query, "z");
	assert_int_equal(status_of("GET / HTTP/1.9\r\n" H "X-Any: \x80\xff\tq\r\nEmpty:\r\n\r\n"), 200);
	assert_int_equal(status_of("GET / HTTP/1.1\r\n" H), 0);
}

static void keep_alive(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool close;
	} rows[] = {
		{"GET / HTTP/1.1\r\n" H "\r\n", false},
		{"GET / HTTP/1.1\r\n" H "Connection: x, Close\r\n\r\n", true},
		{"GET / HTTP/1.1\r\n" H "Connection: closed\r\n\r\n", false},
		{"GET / HTTP/1.0\r\n\r\n", true},
		{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", true},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(status_of(rows[i].text), 200);
		assert_int_equal(parser.request.close, rows[i].close);
	}
}

/* Each is refused permanently. */
static void bad_requests(void **state)
{
	(void)state;
	static const struct {
		unsigned status;
		const char *text;
	} rows[] = {
		/* request line, RFC 9112 3 */
		{400, "GET /\r\n"}, {400, "GET  / HTTP/1.1\r\n"}, {400, "GET / HTTP/1.1 \r\n"},
		{400, " GET / HTTP/1.1\r\n"}, {400, "GET / x HTTP/1.1\r\n"}, {400, "GET\t/ HTTP/1.1\r\n"},
		{400, "G(T / HTTP/1.1\r\n"}, {400, "GET / http/1.1\r\n"}, {400, "GET / HTTP/1.10\r\n"},
		{400, "GET / HTTP/11\r\n"}, {505, "GET / HTTP/2.0\r\n"}, {400, "GET x HTTP/1.1\r\n"},
		{400, "GET * HTTP/1.1\r\n"}, {400, "GET a:80 HTTP/1.1\r\n"}, {400, "GET http:///x HTTP/1.1\r\n"},
		{400, "GET /#x HTTP/1.1\r\n"}, {400, "GET /\x80 HTTP/1.1\r\n"}, {400, "GET /\x01 HTTP/1.1\r\n"},
		{400, "GET /% HTTP/1.1\r\n"}, {400, "GET /%4 HTTP/1.1\r\n"}, {400, "GET /%g0 HTTP/1.1\r\n"},
		{400, "GET /%00 HTTP/1.1\r\n"}, {400, "GET /%0d%0aX HTTP/1.1\r\n"}, {400, "GET /%7f HTTP/1.1\r\n"},
		/* ends of lines, 2.2 */
		{400, "GET / HTTP/1.1\n"}, {400, "\n"}, {400, "GET / HTTP/1.1\rX"}, {400, "GET / HTTP/1.1\r\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "\n"},
		/* fields, 5 */
		{400, "GET / HTTP/1.1\r\n X: y\r\n"}, {400, "GET / HTTP/1.1\r\n" H "X: y\r\n z\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "X : y\r\n"}, {400, "GET / HTTP/1.1\r\n" H "X\t: y\r\n"},
		{400, "GET / HTTP/1.1\r\n" H ": y\r\n"}, {400, "GET / HTTP/1.1\r\n" H "X\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "X: \x01\r\n"}, {400, "GET / HTTP/1.1\r\n" H "X(: 1\r\n"},
		/* host, 3.2 */
		{400, "GET / HTTP/1.1\r\n\r\n"}, {400, "GET / HTTP/1.1\r\n" H H "\r\n"},
		{400, "GET / HTTP/1.1\r\nHost:\r\n"}, {400, "GET / HTTP/1.1\r\nHost: a/b\r\n"},
		{400, "GET / HTTP/1.0\r\nHost: a, b\r\n"},
		/* lengths and codings, 6 */
		{400, "GET / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Content-Length: +1\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Content-Length: 0x1\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Content-Length:\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "X: a\x7f" "b\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\nTransfer-Encoding: chunked\r\n"},
		{400, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{411, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: gzip\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, gzip\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, chunked\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: chunked;q=1\r\n"},
		{400, "GET / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n"},
		{411, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: , chunked,\r\n\r\n"},
		{501, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n"},
		{501, "GET / HTTP/1.1\r\n" H "Transfer-Encoding: \x0b" "chunked\r\n\r\n"},
		{413, "GET / HTTP/1.1\r\n" H "Content-Length: 65537\r\n\r\n"},
		{413, "GET / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n"},
		{417, "GET / HTTP/1.1\r\n" H "Expect: the-spanish-inquisition\r\n\r\n"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned want = strchr(rows[i].text, '\x0b') ? 400 : rows[i].status;
		unsigned got = status_of(rows[i].text);
		if (got != want)
			fail_msg("%u instead of %u: %s", got, want, rows[i].text);
		assert_true(parser.request.close);
		assert_string_equal(parser.request.path, "");
		http_next(&parser);
		assert_int_equal(http_input(&parser, (const uint8_t *)"GET / HTTP/1.1\r\n", 16), 16);
		assert_int_equal(parser.state, HTTP_CLOSED);
	}
}

static void methods(void **state)
{
	(void)state;
	assert_int_equal(status_of("POST /x HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n"), 405);
	assert_false(parser.request.close);
	assert_int_equal(status_of("OPTIONS * HTTP/1.1\r\n" H "\r\n"), 405);
	assert_int_equal(status_of("CONNECT a:80 HTTP/1.1\r\n" H "\r\n"), 405);
	assert_int_equal(status_of("BREW / HTTP/1.1\r\n" H "\r\n"), 501);
	assert_int_equal(status_of("get / HTTP/1.1\r\n" H "\r\n"), 501); /* case matters, RFC 9110 9.1 */
}

/* Who a request is for: RFC 9110 7.2, RFC 9112 3.2 and 3.2.2. */
static void hosts(void **state)
{
	(void)state;
	static const struct {
		unsigned status;
		const char *host, *text;
	} rows[] = {
		{200, "a", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		{200, "A.Example", "GET / HTTP/1.1\r\nhost:\tA.Example:8080 \r\nX: y\r\nY: z\r\n\r\n"},
		{200, "a", "GET / HTTP/1.1\r\nX: y\r\nHost: a:\r\n\r\n"},
		{200, "192.0.2.1", "GET / HTTP/1.1\r\nHost: 192.0.2.1:80\r\n\r\n"},
		{200, "[2001:db8::1]", "GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n"},
		{200, "[fe80::1%25eth0.7]", "GET / HTTP/1.1\r\nHost: [fe80::1%25eth0.7]:80\r\n\r\n"},
		{200, "", "GET / HTTP/1.0\r\n\r\n"},
		{200, "a", "GET / HTTP/1.0\r\nHost: a\r\n\r\n"},
		/* the target's authority goes before Host, which has to be there all the same */
		{200, "b", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"},
		{200, "b", "GET HTTP://b:/x?y=//a/ HTTP/1.1\r\nHost: a:1\r\nX: y\r\n\r\n"},
		{200, "[::1]", "GET http://[::1]:8080/ HTTP/1.0\r\n\r\n"},
		{200, "b", "GET http://b HTTP/1.1\r\n" H "\r\n"},
		{200, "b", "GET http://b:80 HTTP/1.1\r\n" H "\r\n"},
		{400, "", "GET http:// HTTP/1.1\r\n" H "\r\n"},
		{400, "", "GET http://?x HTTP/1.1\r\n" H "\r\n"},
		{400, "", "GET http://b/ HTTP/1.1\r\n\r\n"},
		{400, "", "GET http://b/ HTTP/1.1\r\n" H "Host: b\r\n\r\n"},
		{400, "", "GET http://b/ HTTP/1.1\r\nHost: a b\r\n\r\n"},
		{405, "a", "POST / HTTP/1.1\r\n" H "\r\n"},
		{501, "a", "BREW / HTTP/1.1\r\n" H "\r\n"},
		/* what is no uri-host [":" port] */
		{400, "", "GET / HTTP/1.1\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\n" H H "\r\n"},
		{400, "", "GET / HTTP/1.0\r\n" H H "\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: 2001:db8::1\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: []\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: [::1]80\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: [::1]]\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: [[::1]]\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: a[1]\r\n\r\n"},
		{400, "", "GET / HTTP/1.1\r\nHost: [a/b]\r\n\r\n"},
		{400, "", "GET http://b@c/ HTTP/1.1\r\n" H "\r\n"}, /* RFC 9110 4.2.4 */
		{400, "", "GET http://b:c/ HTTP/1.1\r\n" H "\r\n"},
		{400, "", "GET http://[b/ HTTP/1.1\r\n" H "\r\n"},
		{400, "", "GET http://:80/ HTTP/1.1\r\n" H "\r\n"},
		{400, "", "GET https://a/ HTTP/1.1\r\n" H "\r\n"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned got = status_of(rows[i].text);
		if (got != rows[i].status || strcmp(parser.request.host, rows[i].host) != 0)
			fail_msg("%u, \"%s\": %s", got, parser.request.host, rows[i].text);
	}
	assert_int_equal(status_of("GET http://x.example:8/y?z=%41 HTTP/1.1\r\n" H "\r\n"), 200);
	assert_string_equal(parser.request.path, "/y");
	assert_string_equal(parser.request.query, "z=%41");
	assert_string_equal(parser.request.host, "x.example");
	/* RFC 9110 4.2.3: an empty path is "/" */
	assert_int_equal(status_of("GET http://x.example:8?z HTTP/1.1\r\n" H "\r\n"), 200);
	assert_string_equal(parser.request.path, "/");
	assert_string_equal(parser.request.query, "z");
	assert_string_equal(parser.request.host, "x.example");
	assert_int_equal(status_of("GET http://x HTTP/1.1\r\n" H "\r\n"), 200);
	assert_string_equal(parser.request.path, "/");
	assert_string_equal(parser.request.query, "");
}

/* Each of those that come together has its own; the longest there may be is kept whole. */
static void host_of_each(void **state)
{
	(void)state;
	static const char text[] = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.0\r\n\r\n"
	                           "GET http://c/3 HTTP/1.1\r\nHost: b\r\n\r\n";
	static const char alive[] = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nX: y\r\n"
	                            "Host: bb\r\n\r\n";
	static char longest[HTTP_HEAD_MAX + 2];
	http_init(&parser);
	uint32_t at = feed(text, sizeof text - 1, 7);
	assert_string_equal(parser.request.host, "a");
	http_next(&parser);
	assert_string_equal(parser.request.host, "");
	at += feed(text + at, (uint32_t)(sizeof text - 1 - at), 7);
	assert_string_equal(parser.request.path, "/2");
	assert_string_equal(parser.request.host, "");
	http_init(&parser);
	at = feed(alive, sizeof alive - 1, 5);
	http_next(&parser);
	feed(alive + at, (uint32_t)(sizeof alive - 1 - at), 5);
	assert_string_equal(parser.request.path, "/2");
	assert_string_equal(parser.request.host, "bb");
	memset(longest, 'a', sizeof longest - 1);
	memcpy(longest, "GET / HTTP/1.1\r\nHost: ", 22);
	memcpy(longest + HTTP_HEAD_MAX - 3, "\r\n\r\n", 5); /* one byte too many */
	assert_int_equal(status_of(longest), 431);
	memcpy(longest + HTTP_HEAD_MAX - 4, "\r\n\r\n", 5);
	assert_int_equal(status_of(longest), 200);
	assert_int_equal(strlen(parser.request.host), HTTP_HEAD_MAX - 22 - 4);
	assert_string_equal(parser.request.path, "/");
}

/* A body of a known length is read over, and what follows is the next request. */
static void bodies_and_pipelining(void **state)
{
	(void)state;
	static const char text[] = "POST / HTTP/1.1\r\n" H "Content-Length: 19\r\n\r\n"
	                           "GET /x HTTP/1.1\r\n\r\n\r\n" /* 19 bytes and an empty line */
	                           "GET /y HTTP/1.1\r\n" H "\r\nGET /z HTTP/1.1\r\n" H "\r\n";
	uint32_t n = sizeof text - 1;
	for (uint32_t step = 1; step < n; step++) {
		http_init(&parser);
		uint32_t at = feed(text, n, step);
		assert_int_equal(parser.request.status, 405);
		assert_int_equal(http_input(&parser, (const uint8_t *)text + at, 1), 0);
		http_next(&parser);
		at += feed(text + at, n - at, step);
		assert_int_equal(parser.request.status, 200);
		assert_string_equal(parser.request.path, "/y");
		http_next(&parser);
		assert_true(http_is_idle(&parser));
		at += feed(text + at, n - at, step);
		assert_string_equal(parser.request.path, "/z");
		assert_int_equal(at, n);
	}
	assert_int_equal(status_of("POST / HTTP/1.1\r\n" H "Content-Length: 2\r\nExpect: 100-Continue\r\n\r\n"),
	                 405);
	assert_true(parser.request.close);
}

/* RFC 9110 10.1.1: for HTTP/1.1 only. */
static void expectations(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool expects;
	} rows[] = {
		{"PUT / HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", true},
		{"PUT / HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", false},
		{"PUT / HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\n", false},
		{"PUT / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
		 false},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(status_of(rows[i].text), 200);
		assert_int_equal(parser.request.expects, rows[i].expects);
		assert_int_equal(parser.request.close, rows[i].expects);
	}
}

static void bounds(void **state)
{
	(void)state;
	static char text[3 * HTTP_HEAD_MAX];
	/* The longest target, and one byte more. */
	for (unsigned more = 0; more < 2; more++) {
		memset(text, 0, sizeof text);
		strcpy(text, "GET /");
		memset(text + 5, 'a', HTTP_TARGET_MAX - 1 + more);
		strcat(text, " HTTP/1.1\r\n" H "\r\n");
		assert_int_equal(status_of(text), more ? 414 : 200);
		assert_int_equal(strlen(parser.request.path), more ? 0 : HTTP_TARGET_MAX);
	}
	/* An endless request line, an endless method. */
	memset(text + 5, 'a', sizeof text - 6);
	assert_int_equal(status_of(text), 414);
	/* The maximum of fields, and one more. */
	for (unsigned more = 0; more < 2; more++) {
		strcpy(text, "GET / HTTP/1.1\r\n" H);
		for (unsigned i = 1; i < HTTP_FIELDS_MAX + more; i++)
			strcat(text, "X: y\r\n");
		strcat(text, "\r\n");
		assert_int_equal(status_of(text), more ? 431 : 200);
	}
	/* An endless field, and endless empty lines. */
	memset(text, 'a', sizeof text - 1);
	memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
	assert_int_equal(status_of(text), 431);
	for (unsigned i = 0; i + 2 < sizeof text; i += 2)
		memcpy(text + i, "\r\n", 2);
	assert_int_equal(status_of(text), 431);
	/* Exactly the longest head. */
	memset(text, 'a', sizeof text - 1);
	memcpy(text, "GET / HTTP/1.1\r\n" H "X: ", 16 + 9 + 3);
	memcpy(text + HTTP_HEAD_MAX - 4, "\r\n\r\n", 5);
	assert_int_equal(status_of(text), 200);
}

static void answers(void **state)
{
	(void)state;
	char buf[HTTP_ANSWER_MAX];
	struct http_answer a = {.status = 200, .minor = 1, .length = 5, .type = "text/plain"};
	size_t n = http_answer_put(buf, sizeof buf, &a);
	assert_int_equal(n, strlen(buf));
	assert_string_equal(buf, "HTTP/1.1 200 OK\r\nServer: Hayate\r\nContent-Type: text/plain\r\n"
	                         "Content-Length: 5\r\n\r\n");
	assert_int_equal(http_answer_put(buf, n, &a), 0);
	a = (struct http_answer){.status = 405, .minor = 1, .length = HTTP_LENGTH_UNKNOWN, .close = true,
	                         .fields = "Allow: GET, HEAD\r\n"};
	http_answer_put(buf, sizeof buf, &a);
	assert_string_equal(buf, "HTTP/1.1 405 Method Not Allowed\r\nServer: Hayate\r\n"
	                         "Transfer-Encoding: chunked\r\nConnection: close\r\n"
	                         "Allow: GET, HEAD\r\n\r\n");
	a = (struct http_answer){.status = 200, .minor = 0, .length = 0};
	http_answer_put(buf, sizeof buf, &a);
	assert_string_equal(buf, "HTTP/1.1 200 OK\r\nServer: Hayate\r\nContent-Length: 0\r\n"
	                         "Connection: keep-alive\r\n\r\n");
	http_chunk_head_put(buf, 0x5a3);
	assert_memory_equal(buf, "05a3\r\n", HTTP_CHUNK_HEAD);
	assert_string_equal(http_reason(999), "Error");
}

/* Damaged requests in random pieces: nothing is read beyond the bounds (ASan), and the parser comes
 * to an end. */
static void noise(void **state)
{
	(void)state;
	static const char good[] = "GET /a%20b?c HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
	                           "Connection: keep-alive, close\r\n\r\nabc";
	seed_random("noise");
	for (unsigned round = 0; round < 100000; round++) {
		char text[sizeof good];
		memcpy(text, good, sizeof good);
		for (unsigned k = random_below(4); k; k--)
			text[random_below(sizeof good - 1)] = (char)random_below(256);
		http_init(&parser);
		feed(text, sizeof good - 1, 1 + random_below(20));
		if (parser.state == HTTP_REQUEST)
			assert_true(parser.request.status >= 200 && parser.request.status < 600);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_requests), cmocka_unit_test(keep_alive),
		cmocka_unit_test(bad_requests), cmocka_unit_test(methods),
		cmocka_unit_test(hosts), cmocka_unit_test(host_of_each),
		cmocka_unit_test(bodies_and_pipelining), cmocka_unit_test(expectations),
		cmocka_unit_test(bounds),
		cmocka_unit_test(answers), cmocka_unit_test(noise),
	};
	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
