/*
 * Requests; see http.h. Lines are collected in text[] and judged one by one: the request line stays
 * there (path and query point into it), and so do the host and the values of HTTP_FIELDS; another field
 * line is forgotten once its meaning is noted. Each line has two bytes less there than it had with its
 * end: room for a NUL.
 */
#include "net/http/http.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "net/http/text.h"

/* A piece of text[]. */
struct span {
	char *at;
	uint32_t n;
};

/* RFC 9110 5.6.2 */
static bool is_tchar(char c)
{
	static const char others[] = "!#$%&'*+-.^_`|~";
	if (http_is_alpha(c) || http_is_digit(c))
		return true;
	for (const char *o = others; *o; o++)
		if (*o == c)
			return true;
	return false;
}

/* word is in lower case. */
static bool span_is(struct span s, const char *word)
{
	return http_text_is((struct http_text){s.at, s.n}, word);
}

/* Of a line that has not ended, what has come. */
static void keep_line(struct http_parser *p, struct span s)
{
	if (!(p->keeps >> HTTP_USER_AGENT & 1) || p->request.line_bytes)
		return;
	p->request.line_bytes = u32_min(s.n, HTTP_LINE_KEPT);
	memcpy(p->line_kept, s.at, p->request.line_bytes);
}

static void forget(struct http_request *r)
{
	r->path = r->query = r->host = "";
	for (unsigned i = 0; i < HTTP_FIELD_COUNT; i++)
		r->field[i] = "";
}

/* Refuses the request. The start of the next one is unknown (http.h, invariant 2). */
static void refuse(struct http_parser *p, unsigned status)
{
	if (!p->have_line)
		keep_line(p, (struct span){p->text + p->line, p->used - p->line});
	p->request.status = status;
	p->request.close = true;
	forget(&p->request);
	p->state = HTTP_REQUEST;
}

/* --- whom it is for, RFC 9110 7.2 --- */

/* Of a uri-host without brackets. A comma, which RFC 3986 3.2.2 allows, is what becomes of two
 * fields that somebody has made one (RFC 9110 5.3). */
static bool is_host_char(char c)
{
	static const char others[] = "-._~%!$&'()*+;=";
	if (http_is_alpha(c) || http_is_digit(c))
		return true;
	for (const char *o = others; *o; o++)
		if (*o == c)
			return true;
	return false;
}

/* s is uri-host [ ":" port ]: cuts it to the host. The host may not be empty: http has none without
 * (RFC 9110 4.2.1). A user name before it is an error (4.2.4). */
static bool cut_authority(struct span *s)
{
	bool bracket = s->n && s->at[0] == '[';
	uint32_t n = bracket;
	while (n < s->n && (is_host_char(s->at[n]) || (bracket && s->at[n] == ':')))
		n++;
	if (n == bracket || (bracket && (n == s->n || s->at[n++] != ']')))
		return false;
	if (n < s->n && s->at[n] != ':')
		return false;
	for (uint32_t i = n + 1; i < s->n; i++)
		if (!http_is_digit(s->at[i]))
			return false;
	s->n = n;
	return true;
}

/* --- request line, RFC 9112 3 --- */

/* Decodes %XX in place and terminates the text with NUL; false: invalid, or a control character was
 * encoded. There is room for the NUL in place of the following blank. */
static bool decode_path(struct span s)
{
	char *to = s.at;
	for (uint32_t i = 0; i < s.n; i++) {
		char c = s.at[i];
		if (c == '%') {
			if (i + 2 >= s.n || hex_digit(s.at[i + 1]) < 0 || hex_digit(s.at[i + 2]) < 0)
				return false;
			c = (char)(hex_digit(s.at[i + 1]) << 4 | hex_digit(s.at[i + 2]));
			i += 2;
			if ((uint8_t)c < 0x20 || c == 0x7f)
				return false;
		}
		*to++ = c;
	}
	*to = 0;
	return true;
}

/* Cuts scheme and authority of absolute-form off (RFC 9112 3.2.2: MUST be accepted, and MUST be
 * what counts, whatever Host says). The authority moves towards the scheme, so that there is room
 * before the path for a NUL, and for the "/" that an empty path is (RFC 9110 4.2.3). */
static bool take_authority(struct http_parser *p, struct span *s)
{
	static const char scheme[] = "http://";
	uint32_t n = sizeof scheme - 1;
	if (s->n <= n || !span_is((struct span){s->at, n}, scheme))
		return false;
	uint32_t i = n;
	while (i < s->n && s->at[i] != '/' && s->at[i] != '?')
		i++;
	struct span host = {s->at + n, i - n};
	const bool has_path = i < s->n && s->at[i] == '/';
	if (!cut_authority(&host))
		return false;
	char *to = memmove(host.at - 2, host.at, host.n);
	to[host.n] = 0;
	p->request.host = to;
	if (!has_path)
		s->at[--i] = '/';
	s->at += i;
	s->n -= i;
	return true;
}

static bool parse_target(struct http_parser *p, struct span s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if ((uint8_t)s.at[i] <= 0x20 || (uint8_t)s.at[i] >= 0x7f || s.at[i] == '#')
			return false;
	if (s.at[0] != '/' && !take_authority(p, &s))
		return false; /* `*` and authority-form belong to methods that are not served */
	uint32_t n = 0;
	while (n < s.n && s.at[n] != '?')
		n++;
	s.at[s.n] = 0;
	p->request.query = n < s.n ? s.at + n + 1 : s.at + s.n;
	p->request.path = s.at;
	return decode_path((struct span){s.at, n});
}

static bool takes_api(const struct http_parser *p)
{
	return p->keeps >> HTTP_AUTHORIZATION & 1;
}

/* Returns 200 or the error: 501 for a method that RFC 9110 9 does not define (9.1: SHOULD), 405 for
 * the others not served. */
static unsigned parse_method(struct http_parser *p, struct span s)
{
	static const char *const known[] = {"POST", "CONNECT", "TRACE", "PATCH"};
	for (uint32_t i = 0; i < s.n; i++)
		if (!is_tchar(s.at[i]))
			return 400;
	p->request.method = HTTP_OTHER;
	if (text_is(s.at, s.n, "GET"))
		p->request.method = HTTP_GET;
	else if (text_is(s.at, s.n, "HEAD"))
		p->request.method = HTTP_HEAD;
	else if (text_is(s.at, s.n, "PUT"))
		p->request.method = HTTP_PUT;
	else if (text_is(s.at, s.n, "DELETE"))
		p->request.method = HTTP_DELETE;
	else if (takes_api(p) && text_is(s.at, s.n, "POST"))
		p->request.method = HTTP_POST;
	else if (takes_api(p) && text_is(s.at, s.n, "PATCH"))
		p->request.method = HTTP_PATCH;
	if (p->request.method != HTTP_OTHER)
		return 200;
	if (text_is(s.at, s.n, "OPTIONS")) {
		p->request.method = HTTP_OPTIONS;
		return 405;
	}
	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (text_is(s.at, s.n, known[i]))
			return 405;
	return 501;
}

/* Returns 200 or the error. */
static unsigned parse_version(struct http_parser *p, struct span s)
{
	if (s.n != 8 || memcmp(s.at, "HTTP/", 5) != 0 || !http_is_digit(s.at[5]) || s.at[6] != '.' ||
	    !http_is_digit(s.at[7]))
		return 400;
	p->request.minor = (unsigned)(s.at[7] - '0');
	return s.at[5] == '1' ? 200 : 505;
}

static void request_line(struct http_parser *p, struct span s)
{
	struct span part[3];
	unsigned parts = 0;
	uint32_t from = 0;
	keep_line(p, s); /* before it is decoded in place */
	/* Exactly one blank between the three parts: RFC 9112 3 lets a server be lenient, 11.2
	 * describes the danger. */
	for (uint32_t i = 0; i <= s.n; i++) {
		if (i < s.n && s.at[i] != ' ')
			continue;
		if (parts == 3 || i == from) {
			refuse(p, 400);
			return;
		}
		part[parts++] = (struct span){s.at + from, i - from};
		from = i + 1;
	}
	if (parts < 3) {
		refuse(p, 400); /* including HTTP/0.9 */
		return;
	}
	unsigned status = parse_version(p, part[2]), method = parse_method(p, part[0]);
	if (status == 200 && method == 400)
		status = 400;
	if (status == 200 && part[1].n > HTTP_TARGET_MAX)
		status = 414;
	if (status == 200 && method != 200)
		p->request.path = p->request.query = "";
	else if (status == 200 && !parse_target(p, part[1]))
		status = 400;
	if (status != 200) {
		refuse(p, status);
		return;
	}
	p->request.status = method;
	p->have_line = true;
}

/* --- fields, RFC 9112 5 and 6 --- */

/* RFC 9112 6.3: one decimal number. A list of equal numbers may be accepted; here two fields or a
 * list are refused. */
static bool field_length(struct http_parser *p, struct span v)
{
	uint32_t n = 0;
	if (p->have_length || v.n == 0)
		return false;
	for (uint32_t i = 0; i < v.n; i++) {
		if (!http_is_digit(v.at[i]))
			return false;
		n = n > HTTP_CONTENT_MAX ? n : n * 10 + (uint32_t)(v.at[i] - '0');
	}
	p->length = n;
	p->have_length = true;
	return true;
}

/* RFC 9112 3.2: exactly one. Empty is for targets without authority, which http does not have. */
static bool field_host(struct http_parser *p, struct span v)
{
	if (p->host || !cut_authority(&v))
		return false;
	p->host = true;
	if (p->request.host[0])
		return true; /* the target has said so */
	v.at[v.n] = 0;
	p->request.host = v.at;
	p->used++;
	p->line = p->used;
	return true;
}

static void field_connection(struct http_parser *p, struct span v)
{
	struct http_text list = {v.at, v.n}, e;
	while (http_text_element(&list, &e)) {
		p->said_close |= http_text_is(e, "close");
		p->keep |= http_text_is(e, "keep-alive");
	}
}

/* --- the fields of HTTP_FIELDS --- */

static void reverse(char *from, char *end)
{
	while (from < end) {
		char c = *from;
		*from++ = *--end;
		*end = c;
	}
}

/* Exchanges what stands before `middle` and behind it. */
static void exchange(char *from, char *middle, char *end)
{
	reverse(from, middle);
	reverse(middle, end);
	reverse(from, end);
}

/* Adds v, of the line that has just been read, to the value `at` of the same field, behind ", " (RFC 9110
 * 5.3). What is kept behind `at` moves up. The new line ends up shorter than it was, because its name and
 * colon are more than ", ". */
static void join(struct http_parser *p, const char *at, struct span v)
{
	const uint32_t n = v.n + 2;
	struct http_request *r = &p->request;
	char *kept = p->text + p->line, *end = p->text + (at - p->text) + strlen(at);
	/* Empty ones are not in text[]. */
	if (r->host[0] && r->host > at)
		r->host += n;
	for (unsigned i = 0; i < HTTP_FIELD_COUNT; i++)
		if (r->field[i][0] && r->field[i] > at)
			r->field[i] += n;
	v.at[-2] = ',';
	v.at[-1] = ' ';
	memmove(kept, v.at - 2, n);
	exchange(end, kept, kept + n);
	p->line += n;
}

static void keep_field(struct http_parser *p, struct span name, struct span v)
{
#define HTTP_FIELD_NAME(row, text) text,
	static const char *const names[] = {HTTP_FIELDS(HTTP_FIELD_NAME)};
#undef HTTP_FIELD_NAME
	unsigned i = 0;
	while (i < HTTP_FIELD_COUNT && !((p->keeps >> i & 1) && span_is(name, names[i])))
		i++;
	if (i == HTTP_FIELD_COUNT || v.n == 0)
		return;
	if (p->request.field[i][0]) {
		join(p, p->request.field[i], v);
		return;
	}
	char *to = memmove(p->text + p->line, v.at, v.n);
	to[v.n] = 0;
	p->request.field[i] = to;
	p->line += v.n + 1;
}

/* RFC 9112 6.1: the codings in the order of their application. chunked MUST be the last one (6.3: else 400), and
 * MUST NOT be applied twice. */
static bool field_coding(struct http_parser *p, struct span v)
{
	struct http_text list = {v.at, v.n}, e;
	bool chunked = false;
	unsigned codings = 0;
	while (http_text_element(&list, &e)) {
		if (e.n == 0)
			continue; /* RFC 9110 5.6.1.2 */
		if (chunked)
			return false;
		chunked = http_text_is(e, "chunked");
		codings++;
	}
	p->coding_chunked = codings == 1;
	return chunked;
}

static unsigned field_value(struct http_parser *p, struct span name, struct span v)
{
	if (span_is(name, "content-length"))
		return field_length(p, v) ? 200 : 400;
	if (span_is(name, "host"))
		return field_host(p, v) ? 200 : 400;
	if (span_is(name, "connection"))
		field_connection(p, v);
	if (span_is(name, "transfer-encoding")) {
		if (p->coded) /* several fields: no list of codings is supported, and the last must
		                 be chunked */
			return 400;
		p->coded = true;
		return field_coding(p, v) ? 200 : 400;
	}
	if (span_is(name, "expect")) { /* RFC 9110 10.1.1 */
		if (!span_is(v, "100-continue"))
			return 417;
		p->expects = p->request.minor >= 1; /* MUST be ignored in HTTP/1.0 */
	}
	if (p->keeps)
		keep_field(p, name, v);
	return 200;
}

static void field_line(struct http_parser *p, struct span s)
{
	uint32_t n = 0;
	if (++p->fields > HTTP_FIELDS_MAX) {
		refuse(p, 431);
		return;
	}
	/* Leading whitespace is obs-fold or, before the first field, MUST be refused or ignored
	 * (2.2). Before the colon it MUST be refused (5.1). Whitespace is not a tchar. */
	while (n < s.n && is_tchar(s.at[n]))
		n++;
	if (n == 0 || n == s.n || s.at[n] != ':') {
		refuse(p, 400);
		return;
	}
	struct span v = {s.at + n + 1, s.n - n - 1};
	while (v.n && http_is_blank(v.at[0])) {
		v.at++;
		v.n--;
	}
	while (v.n && http_is_blank(v.at[v.n - 1]))
		v.n--;
	for (uint32_t i = 0; i < v.n; i++)
		if (((uint8_t)v.at[i] < 0x20 && v.at[i] != '\t') || v.at[i] == 0x7f) {
			refuse(p, 400); /* RFC 9110 5.5 */
			return;
		}
	unsigned status = field_value(p, (struct span){s.at, n}, v);
	if (status != 200)
		refuse(p, status);
}

/* --- the end of a head --- */

static bool has_content(const struct http_parser *p)
{
	const enum http_method m = p->request.method;
	return m == HTTP_PUT || m == HTTP_POST || m == HTTP_PATCH;
}

/* Decides whether there is a body and how to treat it (RFC 9112 6.3); 200 or the error. */
static unsigned body_status(struct http_parser *p)
{
	if (p->coded && (p->have_length || p->request.minor == 0))
		return 400; /* 6.1: a smuggling attempt, or framing to be treated as faulty */
	if (p->coded)
		return p->coding_chunked ? 411 : 501;
	if (p->length > (has_content(p) ? HTTP_CONTENT_MAX : HTTP_BODY_MAX))
		return 413;
	return 200;
}

static void end_of_head(struct http_parser *p)
{
	struct http_request *r = &p->request;
	unsigned status = body_status(p);
	if (r->minor >= 1 && !p->host)
		status = 400;
	if (status != 200) {
		refuse(p, status);
		return;
	}
	r->close = p->said_close || (r->minor == 0 && !p->keep);
	/* A client waiting for 100 (Continue) gets the response instead, unless the caller wants its
	 * content, and may or may not send the body. The connection ends, as RFC 9110 10.1.1 permits. */
	r->expects = p->expects && p->length;
	r->close |= r->expects;
	r->content = has_content(p) ? p->length : 0;
	p->body = p->length;
	p->state = HTTP_REQUEST;
}

static void line(struct http_parser *p)
{
	struct span s = {p->text + p->line, p->used - p->line};
	if (s.n == 0 && !p->have_line)
		return; /* RFC 9112 2.2: empty lines before a request line are ignored */
	if (s.n == 0) {
		end_of_head(p);
	} else if (!p->have_line) {
		request_line(p, s);
		p->line = ++p->used; /* a NUL may terminate the query in place of the CR */
	} else {
		field_line(p, s);
		p->used = p->line;
	}
}

/* Handles the next byte of a head. */
static void take(struct http_parser *p, char c)
{
	if (p->cr != (c == '\n')) { /* a bare CR or LF: RFC 9112 2.2 */
		refuse(p, 400);
	} else if (c == '\n') {
		p->cr = false;
		line(p);
	} else if (c == '\r') {
		p->cr = true;
	} else {
		p->text[p->used++] = c;
		if (!p->have_line && p->used > HTTP_TARGET_MAX + 64)
			refuse(p, 414);
	}
	if (++p->head_bytes == HTTP_HEAD_MAX && p->state == HTTP_MORE)
		refuse(p, 431);
}

uint32_t http_input(struct http_parser *p, const uint8_t *data, uint32_t n)
{
	uint32_t i = 0;
	if (p->state == HTTP_CLOSED)
		return n;
	if (p->state == HTTP_MORE && p->body) {
		i = n < p->body ? n : p->body;
		p->body -= i;
	}
	while (i < n && p->state == HTTP_MORE)
		take(p, (char)data[i++]);
	return i;
}

uint32_t http_content(struct http_parser *p, uint32_t n)
{
	const uint32_t taken = p->state != HTTP_REQUEST ? 0 : n < p->body ? n : p->body;
	p->body -= taken;
	return taken;
}

void http_init(struct http_parser *p)
{
	memset(p, 0, offsetof(struct http_parser, text));
	forget(&p->request);
	p->request.line = p->line_kept;
	p->request.status = 200;
}

void http_init_fields(struct http_parser *p)
{
	http_init(p);
	http_set_log(p, false);
}

void http_init_api(struct http_parser *p)
{
	http_init(p);
	p->keeps = 1u << HTTP_IF_MATCH | 1u << HTTP_AUTHORIZATION | 1u << HTTP_CONTENT_TYPE | 1u << HTTP_ACCEPT |
	           1u << HTTP_ORIGIN;
}

void http_next(struct http_parser *p)
{
	bool closed = p->request.close;
	uint16_t keeps = p->keeps;
	uint32_t body = p->body;
	http_init(p);
	p->keeps = keeps;
	p->body = body;
	p->state = closed ? HTTP_CLOSED : HTTP_MORE;
}
