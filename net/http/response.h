/*
 * HTTP/1.1 for a client: reads the response to a GET (RFC 9112 4 to 7). No TCP, no clock, no memory except
 * struct http_response. Input arrives in pieces of any size.
 *
 *     http_response_init(&r, limit);
 *     n = http_response_input(&r, data, len, &piece);   takes n <= len bytes, of which `piece` is content
 *     pass the remaining bytes in again, until it takes none
 *     http_response_fin(&r);                            the server has closed the connection
 *
 *     STATUS, FIELDS --end of the head--> a state of the content --its end--> ENDED
 *     any --what RFC 9112 forbids, or a limit--> BROKEN, which takes nothing; `why` says what it was
 *
 * Responses with a status of 1xx before the one that counts are skipped. A response is refused if its length is
 * ambiguous: two Content-Lengths, one beside a Transfer-Encoding, another coding than `chunked` (6.3), or
 * either in a form that the grammar does not have; a bare CR or LF; a line that continues another one (5.2).
 *
 * Limits: HTTP_RESPONSE_HEAD bytes of all heads and trailers together, HTTP_RESPONSE_LINE of a chunk's line,
 * and `limit` bytes of content. A field whose line is longer than HTTP_RESPONSE_LINE is ignored, unless it is
 * one that counts.
 *
 * Deliberately missing: content codings, which the client must not ask for; ranges; the end of a connection
 * that is used again.
 */
#ifndef NET_HTTP_RESPONSE_H
#define NET_HTTP_RESPONSE_H

#include "lib/types.h"

#define HTTP_RESPONSE_HEAD 16384
#define HTTP_RESPONSE_LINE 512
#define HTTP_RESPONSE_TO 256 /* bytes of Location that are kept, with NUL */
#define HTTP_RESPONSE_UNKNOWN UINT64_MAX

enum http_response_state {
	HTTP_RESPONSE_STATUS, /* the status line is read, */
	HTTP_RESPONSE_FIELDS, /* the lines behind it */
	HTTP_RESPONSE_LENGTH, /* content with a known length, */
	HTTP_RESPONSE_CLOSE,  /* up to the end of the connection, */
	HTTP_RESPONSE_SIZE,   /* or in chunks: the line of one, */
	HTTP_RESPONSE_CHUNK,  /* its content, */
	HTTP_RESPONSE_AFTER,  /* the end of line behind it, */
	HTTP_RESPONSE_TRAILER, /* and lines behind the last one */
	HTTP_RESPONSE_ENDED,
	HTTP_RESPONSE_BROKEN,
};

struct http_response {
	enum http_response_state state;
	unsigned status;     /* 200 to 599 once the state is beyond FIELDS; 0 before */
	uint64_t length;     /* of the content, likewise; HTTP_RESPONSE_UNKNOWN: not known */
	uint64_t got;        /* bytes of content so far */
	const char *why;     /* BROKEN: static */
	char location[HTTP_RESPONSE_TO]; /* Location, printable and perhaps cut; "": none */
	/* private */
	uint64_t limit, left; /* `left`: of this length or chunk */
	uint32_t head;        /* bytes of heads and trailers so far */
	uint32_t used;        /* bytes in line[] */
	unsigned minor;
	bool cr, cut;         /* the last byte was CR; the line did not fit */
	bool has_length, chunked, coded;
	char line[HTTP_RESPONSE_LINE];
};

/* A piece of content within the caller's data. */
struct http_piece {
	const uint8_t *at;
	uint32_t n; /* 0: none */
};

void http_response_init(struct http_response *r, uint64_t limit);
uint32_t http_response_input(struct http_response *r, const uint8_t *data, uint32_t n, struct http_piece *piece);
void http_response_fin(struct http_response *r);

#endif
