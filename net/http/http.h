/*
 * HTTP/1.1 for a server: parses requests (RFC 9112 2 to 7) and writes the head of a response. No
 * TCP, no clock, no memory except struct http_parser. Input arrives in pieces of any size.
 *
 *     http_init(&p);
 *     n = http_input(&p, data, len);         takes n <= len bytes
 *     if (p.state == HTTP_REQUEST)           p.request is valid until http_next(&p)
 *         answer it (p.request.status is 200 or the error to send); http_next(&p);
 *     pass the remaining bytes in again      a pipelined request, RFC 9112 9.3.2
 *
 * Ambiguous requests are refused, because an intermediary may have parsed them differently (request
 * smuggling, RFC 9112 11.2): a bare CR or LF, whitespace before the colon or in front of a field,
 * two lengths, a length together with a transfer coding, a coding whose end is not marked by chunks.
 *
 * Invariants
 * 1. Of a head no more than HTTP_HEAD_MAX bytes are read, and the request line, Host, the fields of
 *    HTTP_FIELDS (after http_init_fields) and one more field are kept, all in text[]. What is longer is
 *    answered by 414 or 431.
 * 2. After an error (request.status >= 400 with request.close) nothing more is read: where the next
 *    request would begin is not known.
 * 3. request.path is decoded and has neither control characters nor NUL.
 *
 * States: MORE --end of a head, or an error--> REQUEST --http_next--> MORE (first skips a body) or,
 * if request.close, CLOSED, which consumes all bytes and yields nothing.
 *
 * A server of content begins with http_init_fields() instead: the request then has the values of the
 * fields of HTTP_FIELDS, which range.h, condition.h and coding.h read.
 *
 * The content of a PUT, POST or PATCH is read by http_content() while the request is valid. Other bodies with a
 * length up to HTTP_BODY_MAX are read and discarded, longer ones are refused: 413; without a length: 411.
 *
 * Deliberately missing: upgrades, request content in chunks, trailers.
 */
#ifndef NET_HTTP_HTTP_H
#define NET_HTTP_HTTP_H

#include "lib/types.h"

#define HTTP_HEAD_MAX 4096   /* bytes of request line and fields: 431 beyond */
#define HTTP_TARGET_MAX 1024 /* bytes of the request target: 414 beyond */
#define HTTP_LINE_KEPT 256   /* bytes of the request line for a log */
#define HTTP_FIELDS_MAX 64   /* field lines: 431 beyond */
#define HTTP_BODY_MAX 65536  /* bytes of a body to discard: 413 beyond */
#define HTTP_CONTENT_MAX (1u << 28) /* bytes of such a content: 413 beyond; a server may take less */

/* The status of OPTIONS is 405, as of HTTP_OTHER. A server that knows OPTIONS (RFC 9110 9.3.7) looks at the
 * method first. Its target may be `*`; it is not kept. HTTP_POST and HTTP_PATCH (RFC 5789) are for a parser with
 * http_init_api() only; of the others they are HTTP_OTHER. */
enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_DELETE, HTTP_OPTIONS, HTTP_OTHER, HTTP_POST, HTTP_PATCH };

/* The fields that a parser keeps after http_init_fields(): enumerator, name in lower case. */
#define HTTP_FIELDS(X) \
	X(HTTP_ACCEPT_ENCODING, "accept-encoding")         /* coding.h */ \
	X(HTTP_RANGE, "range")                             /* range.h */ \
	X(HTTP_IF_MATCH, "if-match")                       /* these: condition.h */ \
	X(HTTP_IF_NONE_MATCH, "if-none-match") \
	X(HTTP_IF_MODIFIED_SINCE, "if-modified-since") \
	X(HTTP_IF_UNMODIFIED_SINCE, "if-unmodified-since") \
	X(HTTP_IF_RANGE, "if-range") \
	X(HTTP_REFERER, "referer")                         /* these: for a log (http_set_log) */ \
	X(HTTP_USER_AGENT, "user-agent") \
	X(HTTP_AUTHORIZATION, "authorization")             /* these, and If-Match: only after http_init_api */ \
	X(HTTP_CONTENT_TYPE, "content-type") \
	X(HTTP_ACCEPT, "accept") \
	X(HTTP_ORIGIN, "origin")
#define HTTP_FIELD_ROW(name, text) name,
enum http_field { HTTP_FIELDS(HTTP_FIELD_ROW) HTTP_FIELD_COUNT };
#undef HTTP_FIELD_ROW
#define HTTP_FIELDS_CONTENT HTTP_REFERER /* how many a server of content needs: those before it */
#define HTTP_FIELDS_LOG HTTP_AUTHORIZATION /* how many it needs with a log */

/* The status codes in use, RFC 9110 15. */
#define HTTP_STATUSES(X) \
	X(200, "OK") \
	X(201, "Created") \
	X(204, "No Content") \
	X(206, "Partial Content") \
	X(301, "Moved Permanently") \
	X(304, "Not Modified") \
	X(308, "Permanent Redirect") \
	X(400, "Bad Request") \
	X(401, "Unauthorized") \
	X(403, "Forbidden") \
	X(404, "Not Found") \
	X(405, "Method Not Allowed") \
	X(406, "Not Acceptable") \
	X(408, "Request Timeout") \
	X(409, "Conflict") \
	X(411, "Length Required") \
	X(412, "Precondition Failed") \
	X(413, "Content Too Large") \
	X(414, "URI Too Long") \
	X(415, "Unsupported Media Type") \
	X(416, "Range Not Satisfiable") \
	X(417, "Expectation Failed") \
	X(421, "Misdirected Request") \
	X(422, "Unprocessable Content") \
	X(428, "Precondition Required") \
	X(431, "Request Header Fields Too Large") \
	X(500, "Internal Server Error") \
	X(501, "Not Implemented") \
	X(503, "Service Unavailable") \
	X(505, "HTTP Version Not Supported")

struct http_request {
	unsigned status;   /* 200: well formed; else the error to answer, for any target */
	enum http_method method;
	unsigned minor;    /* minor version: 0 or 1 (and above) */
	bool close;        /* close the connection after the response */
	uint32_t content;  /* bytes of a PUT's, POST's or PATCH's content */
	bool expects;      /* the client waits for 100 (Continue) before it sends the content */
	const char *path;  /* begins with '/'; "" when status is not 200 */
	const char *query; /* behind the '?', not decoded; "" when there is none */
	/* Whom it is for, without the port: of the target, where that has an authority (RFC 9112
	 * 3.2.2), else of Host; an IPv6 address is in brackets. Not compared with anything here. ""
	 * where nothing said so, which HTTP/1.0 alone may, and after an error. */
	const char *host;
	/* After http_init_fields: the values, without whitespace at the ends, by enum http_field; "" where
	 * the field is absent or empty. The lines of a field that comes several times are joined by ", "
	 * (RFC 9110 5.3). A date, a Range or an If-Range that comes twice is thereby malformed, for which
	 * 13.1.3, 13.1.4, 14.2 and 13.1.5 have the rule. */
	const char *field[HTTP_FIELD_COUNT];
	/* With a log (http_set_log): the first bytes of the request line as they came, whatever they are, also
	 * of a line that is refused. No NUL stands at their end. */
	const char *line;
	uint32_t line_bytes; /* at most HTTP_LINE_KEPT */
};

enum http_state { HTTP_MORE, HTTP_REQUEST, HTTP_CLOSED };

struct http_parser {
	enum http_state state;
	struct http_request request;
	/* private to the parser */
	uint32_t head_bytes; /* bytes read of this head */
	uint32_t body;       /* bytes to discard before the next head */
	uint32_t line;       /* start of the current line in text[] */
	uint32_t used;       /* bytes used in text[] */
	uint32_t length;     /* Content-Length */
	uint8_t fields;
	uint16_t keeps;      /* a bit for each of HTTP_FIELDS that is kept; with HTTP_USER_AGENT, the request line too */
	bool have_line;      /* the request line has been read */
	bool cr;             /* the last byte was CR */
	bool host, have_length, coded, coding_chunked, keep, said_close, expects;
	char text[HTTP_HEAD_MAX + 1];
	char line_kept[HTTP_LINE_KEPT];
};

void http_init(struct http_parser *p);

/* The same for a server of content: each request has its fields of HTTP_FIELDS. */
void http_init_fields(struct http_parser *p);

/* For a server whose pages can be changed: the requests have Authorization, Content-Type, Accept, If-Match and Origin,
 * and may be POST and PATCH. */
void http_init_api(struct http_parser *p);

/* After http_init_fields: have the requests from the next one on what a log needs: their line, Referer and User-Agent?
 * Only while http_is_idle(). */
static inline void http_set_log(struct http_parser *p, bool on)
{
	p->keeps = (uint16_t)((1u << (on ? HTTP_FIELDS_LOG : HTTP_FIELDS_CONTENT)) - 1);
}

/* Takes bytes up to the end of a head, or all; none while state is HTTP_REQUEST. */
uint32_t http_input(struct http_parser *p, const uint8_t *data, uint32_t n);

/* Of n bytes behind the head of a request with content, as many belong to its content as this returns: they are
 * taken. 0: all of the content has been taken. What is not taken is discarded by http_next(). */
uint32_t http_content(struct http_parser *p, uint32_t n);

/* The request has been answered. Its path, query, host and fields are gone. */
void http_next(struct http_parser *p);

/* True if no byte of a further request has come: either side may close the connection. */
static inline bool http_is_idle(const struct http_parser *p)
{
	return p->state == HTTP_MORE && p->head_bytes == 0 && p->body == 0;
}

/* "Not Found" for 404; "Error" for a code that is not in the list. */
const char *http_reason(unsigned status);

/*
 * The head of a response. If the content length is HTTP_LENGTH_UNKNOWN, HTTP/1.1 clients get chunks
 * (http_chunk_*). Other clients read to the end of the connection; `close` must then be set.
 */
#define HTTP_LENGTH_UNKNOWN UINT64_MAX
/* No Content-Length and no content: 204, which MUST NOT have one (RFC 9110 8.6), and 304, which may. */
#define HTTP_LENGTH_NONE (UINT64_MAX - 1)
struct http_answer {
	unsigned status;
	unsigned minor;          /* of the request */
	bool close;
	uint64_t length;
	const char *type;        /* Content-Type; NULL: none */
	const char *fields;      /* further field lines, each with CR LF; NULL: none */
};

/*
 * Writes the head, including the empty line, into buf; returns its length, or 0 if `size` is too
 * small (HTTP_ANSWER_MAX plus the fields' bytes suffice). There is no Date: RFC 9110 6.6.1 forbids
 * it to servers without a clock that knows the date.
 */
#define HTTP_ANSWER_MAX 256
size_t http_answer_put(char *buf, size_t size, const struct http_answer *a);

/* True if the content of such a response is sent in chunks. */
static inline bool http_is_chunked(const struct http_answer *a)
{
	return a->length == HTTP_LENGTH_UNKNOWN && a->minor >= 1;
}

/* A chunk (RFC 9112 7.1) has n bytes, 1 to 0xffff: HTTP_CHUNK_HEAD bytes written by this function,
 * the content, and HTTP_CHUNK_END. HTTP_CHUNK_LAST ends the content. */
#define HTTP_CHUNK_HEAD 6
#define HTTP_CHUNK_END "\r\n"
#define HTTP_CHUNK_LAST "0\r\n\r\n"
void http_chunk_head_put(char to[HTTP_CHUNK_HEAD], uint32_t n);

#endif
