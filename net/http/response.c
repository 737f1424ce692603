/* See response.h. Lines are collected in line[] and judged one by one. */
#include "net/http/response.h"

#include "lib/mem.h"
#include "lib/number.h"
#include "net/http/text.h"

static void break_off(struct http_response *r, const char *why)
{
	r->state = HTTP_RESPONSE_BROKEN;
	r->why = why;
}

/* --- the head --- */

/* HTTP-version SP status-code [SP reason-phrase] (4). The blank before an empty reason is missing in some
 * servers' answers. */
static void status_line(struct http_response *r, struct http_text t)
{
	static const char version[] = "HTTP/1.";
	const size_t n = sizeof version - 1;
	if (t.n < n + 5 || memcmp(t.at, version, n) != 0 || !http_is_digit(t.at[n]) || t.at[n + 1] != ' ' ||
	    (t.n > n + 5 && t.at[n + 5] != ' ')) {
		break_off(r, "the answer is not HTTP/1.1");
		return;
	}
	r->minor = (unsigned)(t.at[n] - '0');
	r->status = 0;
	for (size_t i = n + 2; i < n + 5; i++) {
		if (!http_is_digit(t.at[i])) {
			break_off(r, "the answer is not HTTP/1.1");
			return;
		}
		r->status = r->status * 10 + (unsigned)(t.at[i] - '0');
	}
	if (r->status < 100 || r->status > 599 || r->status == 101) { /* 101: nothing else was asked for */
		break_off(r, "the answer has an impossible status");
		return;
	}
	r->has_length = r->chunked = r->coded = false;
	r->location[0] = 0;
	r->state = HTTP_RESPONSE_FIELDS;
}

/* RFC 9110 8.6: digits, and once. */
static void content_length(struct http_response *r, struct http_text value)
{
	const bool number = !r->has_length && http_text_number(&value, &r->length) && value.n == 0;
	if (!number || r->length == HTTP_RESPONSE_UNKNOWN)
		break_off(r, "the answer has an ambiguous length");
	r->has_length = true;
}

static void keep_location(struct http_response *r, struct http_text value)
{
	const size_t n = value.n < sizeof r->location ? value.n : sizeof r->location - 1;
	for (size_t i = 0; i < n; i++)
		r->location[i] = value.at[i] > ' ' && value.at[i] < 0x7f ? value.at[i] : '?';
	r->location[n] = 0;
}

static bool is_name(struct http_text name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.at[i] <= ' ' || name.at[i] >= 0x7f)
			return false;
	return name.n;
}

/* RFC 9112 5: no blank before the colon, none in front of the line. */
static void field_line(struct http_response *r, struct http_text t)
{
	struct http_text name = {t.at, 0};
	while (name.n < t.n && t.at[name.n] != ':')
		name.n++;
	if (name.n == t.n || !is_name(name)) {
		if (!r->cut || !is_name(name)) /* else the colon has not been kept */
			break_off(r, "the answer has a malformed field");
		return;
	}
	struct http_text value = {t.at + name.n + 1, t.n - name.n - 1};
	http_text_trim(&value);
	const bool length = http_text_is(name, "content-length"), coding = http_text_is(name, "transfer-encoding"),
	           content = http_text_is(name, "content-encoding");
	if (r->cut && (length || coding || content))
		break_off(r, "the answer has a malformed field");
	else if (length)
		content_length(r, value);
	else if (coding && (r->chunked || r->minor == 0 || !http_text_is(value, "chunked"))) /* 6.1 */
		break_off(r, "the answer has an unknown transfer coding");
	else if (content && !http_text_is(value, "identity"))
		r->coded = true;
	else if (http_text_is(name, "location"))
		keep_location(r, value);
	r->chunked |= coding;
}

static void expect_content(struct http_response *r, uint64_t n)
{
	r->left = n;
	if (n > r->limit - r->got)
		break_off(r, "the answer is too long");
}

/* The empty line behind the fields: 6.3. */
static void end_of_head(struct http_response *r)
{
	if (r->status < 200) {
		r->status = 0;
		r->state = HTTP_RESPONSE_STATUS;
		return;
	}
	if (r->chunked && r->has_length) {
		break_off(r, "the answer has an ambiguous length");
		return;
	}
	if (!r->has_length)
		r->length = HTTP_RESPONSE_UNKNOWN;
	if (r->status == 204 || r->status == 304) {
		r->length = 0;
		r->state = HTTP_RESPONSE_ENDED;
	} else if (r->coded) {
		break_off(r, "the content is encoded");
	} else if (r->chunked) {
		r->state = HTTP_RESPONSE_SIZE;
	} else if (!r->has_length) {
		r->left = r->limit;
		r->state = HTTP_RESPONSE_CLOSE;
	} else {
		r->state = r->length ? HTTP_RESPONSE_LENGTH : HTTP_RESPONSE_ENDED;
		expect_content(r, r->length);
	}
}

/* --- chunks --- */

/* chunk-size [chunk-ext] (7.1); extensions are ignored (7.1.1). */
static void chunk_line(struct http_response *r, struct http_text t)
{
	uint64_t size = 0;
	size_t i = 0;
	for (; i < t.n && hex_digit(t.at[i]) >= 0; i++)
		size = size >> 56 ? UINT64_MAX >> 4 : size << 4 | (unsigned)hex_digit(t.at[i]);
	if (i == 0 || (i < t.n && t.at[i] != ';' && !http_is_blank(t.at[i]))) {
		break_off(r, "the answer has a malformed chunk");
		return;
	}
	r->state = size ? HTTP_RESPONSE_CHUNK : HTTP_RESPONSE_TRAILER;
	expect_content(r, size);
}

/* --- lines --- */

static void judge(struct http_response *r)
{
	const struct http_text t = {r->line, r->used};
	if (r->state == HTTP_RESPONSE_STATUS)
		status_line(r, t);
	else if (r->state == HTTP_RESPONSE_SIZE && r->cut)
		break_off(r, "the answer has a malformed chunk");
	else if (r->state == HTTP_RESPONSE_SIZE)
		chunk_line(r, t);
	else if (r->state == HTTP_RESPONSE_AFTER && t.n)
		break_off(r, "the answer has a malformed chunk");
	else if (r->state == HTTP_RESPONSE_AFTER)
		r->state = HTTP_RESPONSE_SIZE;
	else if (t.n == 0 && r->state == HTTP_RESPONSE_FIELDS)
		end_of_head(r);
	else if (t.n == 0)
		r->state = HTTP_RESPONSE_ENDED;
	else if (r->state == HTTP_RESPONSE_FIELDS)
		field_line(r, t);
}

/* A byte of a line. */
static void line_byte(struct http_response *r, char c)
{
	const bool counts = r->state != HTTP_RESPONSE_SIZE && r->state != HTTP_RESPONSE_AFTER;
	if (counts && ++r->head > HTTP_RESPONSE_HEAD) {
		break_off(r, "the head of the answer is too long");
	} else if (r->cr ? c != '\n' : c == '\n') { /* 2.2: a bare one may be a smuggled end of line */
		break_off(r, "the answer has a bare CR or LF");
	} else if (c == '\n') {
		judge(r);
		r->used = 0;
		r->cr = r->cut = false;
	} else if (c == '\r') {
		r->cr = true;
	} else if (r->used < sizeof r->line) {
		r->line[r->used++] = c;
	} else {
		r->cut = true;
		if (!counts)
			break_off(r, "the answer has a malformed chunk");
	}
}

/* --- for others --- */

void http_response_init(struct http_response *r, uint64_t limit)
{
	*r = (struct http_response){.state = HTTP_RESPONSE_STATUS, .length = HTTP_RESPONSE_UNKNOWN, .limit = limit};
}

static bool is_content(const struct http_response *r)
{
	return r->state == HTTP_RESPONSE_LENGTH || r->state == HTTP_RESPONSE_CLOSE || r->state == HTTP_RESPONSE_CHUNK;
}

uint32_t http_response_input(struct http_response *r, const uint8_t *data, uint32_t n, struct http_piece *piece)
{
	uint32_t at = 0;
	*piece = (struct http_piece){data, 0};
	while (at < n && !is_content(r)) {
		if (r->state >= HTTP_RESPONSE_ENDED)
			return at;
		line_byte(r, (char)data[at++]);
	}
	if (at == n)
		return at;
	*piece = (struct http_piece){data + at, (uint32_t)u64_min(n - at, r->left)};
	r->got += piece->n;
	r->left -= piece->n;
	if (piece->n == 0)
		break_off(r, "the answer is too long"); /* its content has no length */
	else if (r->left == 0 && r->state != HTTP_RESPONSE_CLOSE)
		r->state = r->state == HTTP_RESPONSE_CHUNK ? HTTP_RESPONSE_AFTER : HTTP_RESPONSE_ENDED;
	return at + piece->n;
}

void http_response_fin(struct http_response *r)
{
	if (r->state == HTTP_RESPONSE_CLOSE)
		r->state = HTTP_RESPONSE_ENDED;
	else if (r->state < HTTP_RESPONSE_ENDED)
		break_off(r, r->status || r->head ? "the connection ended in the middle of the answer"
		                                  : "the connection ended without an answer");
}
