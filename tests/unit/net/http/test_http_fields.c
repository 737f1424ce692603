/* The fields that a parser keeps for a server of content (net/http/http.h, HTTP_FIELDS): in any order, in
 * pieces of every size, in several lines, and up to the longest head. */
#include "tests/unit/rig/host.h"

#include "net/http/http.h"

#define GET "GET /p?q HTTP/1.1\r\n"
#define H "Host: h\r\n"

static struct http_parser parser;

/* Reads one request in pieces of `step` bytes, each an allocation of its own. Returns the bytes taken. */
static size_t feed(const char *text, size_t step)
{
	size_t n = strlen(text), at = 0;
	while (at < n && parser.state == HTTP_MORE) {
		size_t piece = step < n - at ? step : n - at;
		uint8_t *copy = malloc(piece);
		memcpy(copy, text + at, piece);
		at += http_input(&parser, copy, (uint32_t)piece);
		free(copy);
	}
	return at;
}

static void expect_in_pieces(const char *text, const char *const want[HTTP_FIELD_COUNT])
{
	for (size_t step = 1; step <= strlen(text); step++) {
		http_init_fields(&parser);
		feed(text, step);
		assert_int_equal(parser.state, HTTP_REQUEST);
		assert_int_equal(parser.request.status, 200);
		assert_string_equal(parser.request.path, "/p");
		assert_string_equal(parser.request.query, "q");
		assert_string_equal(parser.request.host, "h");
		for (unsigned i = 0; i < HTTP_FIELD_COUNT; i++)
			assert_string_equal(parser.request.field[i], want[i] ? want[i] : "");
	}
}

/* RFC 9110 5.1: names in any case; 5.5: without the whitespace around. */
static void values(void **state)
{
	(void)state;
	const char *none[HTTP_FIELD_COUNT] = {0};
	const char *all[HTTP_FIELD_COUNT] = {[HTTP_ACCEPT_ENCODING] = "br, gzip;q=0.5",
	                                     [HTTP_RANGE] = "bytes=0-1",
	                                     [HTTP_IF_MATCH] = "*",
	                                     [HTTP_IF_NONE_MATCH] = "\"a\", W/\"b\"",
	                                     [HTTP_IF_MODIFIED_SINCE] = "Sun, 06 Nov 1994 08:49:37 GMT",
	                                     [HTTP_IF_UNMODIFIED_SINCE] = "x",
	                                     [HTTP_IF_RANGE] = "\"c\""};
	expect_in_pieces(GET H "\r\n", none);
	expect_in_pieces(GET H "Rang: 1\r\nRanges: 2\r\nRange:\r\nIf-Match: \t \r\n\r\n", none);
	expect_in_pieces(GET "accept-encoding: br, gzip;q=0.5\r\nX: y\r\nRANGE:bytes=0-1\r\nIf-Match:\t* \r\n" H
	                 "If-None-Match: \"a\", W/\"b\" \t\r\nZ:\r\nif-unmodified-since:   x\r\n"
	                 "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nIf-Range: \"c\"\r\n\r\n",
	                 all);
}

/* RFC 9110 5.3: the lines in their order, wherever others stand between them; Host keeps its place. */
static void several_lines(void **state)
{
	(void)state;
	const char *two[HTTP_FIELD_COUNT] = {[HTTP_IF_NONE_MATCH] = "\"a\", \"b\""};
	const char *mixed[HTTP_FIELD_COUNT] = {[HTTP_IF_NONE_MATCH] = "\"a\", \"bb\", \"ccc\"",
	                                       [HTTP_ACCEPT_ENCODING] = "br, gzip;q=0, identity",
	                                       [HTTP_RANGE] = "bytes=0-1, bytes=2-3",
	                                       [HTTP_IF_RANGE] = "\"r\""};
	expect_in_pieces(GET H "If-None-Match: \"a\"\r\nIf-None-Match: \"b\"\r\n\r\n", two);
	expect_in_pieces(GET "If-None-Match: \"a\"\r\n" H "IF-NONE-MATCH:\r\nIf-None-Match:\"b\"\r\n\r\n", two);
	expect_in_pieces(GET "If-None-Match: \"a\"\r\nRange: bytes=0-1\r\n" H "Accept-Encoding: br\r\n"
	                 "If-None-Match: \"bb\"\r\nX: y\r\nIf-Range: \"r\"\r\nAccept-Encoding:gzip;q=0\r\n"
	                 "Range: bytes=2-3\r\nAccept-Encoding: identity\r\nIf-None-Match: \"ccc\"\r\n\r\n",
	                 mixed);
}

/* One request's fields are not another's, and a parser without them keeps none. */
static void each_its_own(void **state)
{
	(void)state;
	static const char text[] = GET H "Range: bytes=0-1\r\n\r\n" GET H "If-Range: \"x\"\r\n\r\n" GET "Range: 1\r\n\r\n";
	http_init_fields(&parser);
	size_t at = feed(text, 7);
	assert_string_equal(parser.request.field[HTTP_RANGE], "bytes=0-1");
	http_next(&parser);
	assert_string_equal(parser.request.field[HTTP_RANGE], "");
	at += feed(text + at, 7);
	assert_string_equal(parser.request.field[HTTP_RANGE], "");
	assert_string_equal(parser.request.field[HTTP_IF_RANGE], "\"x\"");
	http_next(&parser);
	feed(text + at, 7);
	assert_int_equal(parser.request.status, 400); /* without Host: nothing is left of it */
	assert_string_equal(parser.request.field[HTTP_RANGE], "");
	http_init(&parser);
	feed(text, 7);
	assert_int_equal(parser.request.status, 200);
	assert_string_equal(parser.request.field[HTTP_RANGE], "");
}

/* The longest value in the longest head, and as many lines of one field as a head may have. */
static void bounds(void **state)
{
	(void)state;
	static char text[HTTP_HEAD_MAX + 1], want[HTTP_HEAD_MAX];
	const size_t before = strlen(GET H "If-Match: ");
	memset(text, '"', HTTP_HEAD_MAX);
	memcpy(text, GET H "If-Match: ", before);
	memcpy(text + HTTP_HEAD_MAX - 4, "\r\n\r\n", 5);
	http_init_fields(&parser);
	feed(text, 100);
	assert_int_equal(parser.request.status, 200);
	assert_int_equal(strlen(parser.request.field[HTTP_IF_MATCH]), HTTP_HEAD_MAX - before - 4);
	strcpy(text, GET H);
	for (unsigned i = 1; i < HTTP_FIELDS_MAX; i++) {
		char one[8], line[32];
		snprintf(one, sizeof one, "\"%u\"", i);
		snprintf(line, sizeof line, "If-None-Match:%s\r\n", one);
		strcat(text, line);
		strcat(strcat(want, i > 1 ? ", " : ""), one);
	}
	strcat(text, "\r\n");
	http_init_fields(&parser);
	feed(text, 11);
	assert_int_equal(parser.request.status, 200);
	assert_string_equal(parser.request.field[HTTP_IF_NONE_MATCH], want);
}

static void expect_line(const char *line, unsigned status)
{
	assert_int_equal(parser.state, HTTP_REQUEST);
	assert_int_equal(parser.request.status, status);
	assert_int_equal(parser.request.line_bytes, strlen(line));
	assert_memory_equal(parser.request.line, line, strlen(line));
}

static void begin_log(void)
{
	http_init_fields(&parser);
	http_set_log(&parser, true);
}

/* The line as it came, also one that is refused; nothing without a log. */
static void line_for_a_log(void **state)
{
	(void)state;
	char text[HTTP_TARGET_MAX + 128] = "GET /", want[HTTP_LINE_KEPT + 1] = "GET /";
	begin_log();
	feed("\r\nGET /a%20b?c HTTP/1.1\r\n" H "\r\n", 3);
	expect_line("GET /a%20b?c HTTP/1.1", 200);
	http_next(&parser);
	feed("BREW http://x/ HTTP/1.1\r\n" H "\r\n", 100);
	expect_line("BREW http://x/ HTTP/1.1", 501);
	http_next(&parser);
	feed("GET /%41 HTTP/1.1\r\nbad\r\n", 1);
	expect_line("GET /%41 HTTP/1.1", 400);
	begin_log();
	feed("GET \"\x01 \\\n", 5); /* a bare LF */
	expect_line("GET \"\x01 \\", 400);
	begin_log();
	memset(text + 5, 'x', HTTP_TARGET_MAX + 100);
	memset(want + 5, 'x', HTTP_LINE_KEPT - 5);
	feed(text, 7);
	expect_line(want, 414);
	http_init_fields(&parser);
	feed(GET H "\r\n", 7);
	expect_line("", 200);
}

/* Random lines, beside a slow and obvious join. */
static void random_lines(void **state)
{
	(void)state;
	static const char *const names[HTTP_FIELD_COUNT] = {
		"accept-encoding", "range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
		"if-range", "referer", "user-agent", "authorization", "content-type", "accept", "origin"};
	seed_random("random_lines");
	for (unsigned round = 0; round < 3000; round++) {
		char text[HTTP_HEAD_MAX + 1] = GET, want[HTTP_FIELD_COUNT][HTTP_HEAD_MAX] = {{0}};
		unsigned lines = random_below(30), host = random_below(lines + 1);
		for (unsigned l = 0; l <= lines; l++) {
			char value[24] = "", line[64];
			unsigned f = random_below(HTTP_FIELD_COUNT + 1);
			for (unsigned i = random_below(20); i; i--)
				value[strlen(value)] = (char)('a' + random_below(26));
			snprintf(line, sizeof line, "%s:%s\r\n", f < HTTP_FIELD_COUNT ? names[f] : "x", value);
			strcat(text, l == host ? H : line);
			if (l == host || f == HTTP_FIELD_COUNT || !value[0])
				continue;
			strcat(strcat(want[f], want[f][0] ? ", " : ""), value);
		}
		strcat(text, "\r\n");
		const unsigned kind = round % 3; /* fields of content, of a log, of an API */
		if (kind == 2) {
			http_init_api(&parser);
		} else {
			http_init_fields(&parser);
			http_set_log(&parser, kind == 1);
		}
		feed(text, 1 + random_below(200));
		assert_int_equal(parser.request.status, 200);
		assert_string_equal(parser.request.host, "h");
		for (unsigned i = 0; i < HTTP_FIELD_COUNT; i++)
			assert_string_equal(parser.request.field[i],
			                    (kind == 2 ? i == HTTP_IF_MATCH || i >= HTTP_FIELDS_LOG
			                               : i < (kind == 1 ? HTTP_FIELDS_LOG : HTTP_FIELDS_CONTENT)) ? want[i] : "");
	}
}

/* RFC 9110 9.3.7: OPTIONS is told from other methods, its status stays that of a method not served. */
static void options(void **state)
{
	(void)state;
	static const char *const texts[] = {"OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS /x HTTP/1.1\r\n" H "\r\n"};
	for (unsigned i = 0; i < ARRAY_LEN(texts); i++) {
		http_init_fields(&parser);
		feed(texts[i], 5);
		assert_int_equal(parser.request.status, 405);
		assert_int_equal(parser.request.method, HTTP_OPTIONS);
		assert_string_equal(parser.request.host, "h");
		assert_false(parser.request.close);
	}
	http_init_fields(&parser);
	feed("TRACE / HTTP/1.1\r\n" H "\r\n", 5);
	assert_int_equal(parser.request.method, HTTP_OTHER);
}

/* POST and PATCH, with content of any length, are for an API; others answer 405, and throw up to 64 KiB away. */
static void methods_of_an_api(void **state)
{
	static const char *const methods[] = {"POST", "PATCH", "PUT"};
	static const enum http_method want[] = {HTTP_POST, HTTP_PATCH, HTTP_PUT};
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(methods); i++) {
		char text[200];
		snprintf(text, sizeof text, "%s /x HTTP/1.1\r\n" H "Content-Length: 100000\r\n\r\n", methods[i]);
		http_init_api(&parser);
		feed(text, 5);
		assert_int_equal(parser.request.status, 200);
		assert_int_equal(parser.request.method, want[i]);
		assert_int_equal(parser.request.content, 100000);
		assert_int_equal(http_content(&parser, 200000), 100000);
		http_next(&parser);
		assert_true(http_is_idle(&parser));
		feed("POST /y HTTP/1.1\r\n" H "\r\n", 50);
		assert_int_equal(parser.request.method, HTTP_POST); /* the next one too */
		http_init_fields(&parser);
		feed(text, 5);
		assert_int_equal(parser.request.status, want[i] == HTTP_PUT ? 200 : 413);
	}
}

/* RFC 9110 8.6: no Content-Length in a 204. */
static void answer_without_content(void **state)
{
	(void)state;
	char buf[HTTP_ANSWER_MAX];
	const struct http_answer a = {.status = 204, .minor = 1, .length = HTTP_LENGTH_NONE,
	                              .fields = "Allow: GET, HEAD, OPTIONS\r\n"};
	http_answer_put(buf, sizeof buf, &a);
	assert_string_equal(buf, "HTTP/1.1 204 No Content\r\nServer: Hayate\r\n"
	                         "Allow: GET, HEAD, OPTIONS\r\n\r\n");
	assert_false(http_is_chunked(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),       cmocka_unit_test(several_lines), cmocka_unit_test(each_its_own),
		cmocka_unit_test(bounds),       cmocka_unit_test(random_lines),  cmocka_unit_test(options),
		cmocka_unit_test(answer_without_content), cmocka_unit_test(line_for_a_log),
		cmocka_unit_test(methods_of_an_api),
	};
	return cmocka_run_group_tests_name("http_fields", tests, NULL, NULL);
}
