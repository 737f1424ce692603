/*
 * Requests of net/http: the input is a byte that seeds where the stream is split, then the stream.
 * However it is split, it means the same: the same requests with the same answers and fields, in the same
 * order. The fields and lines that are kept for a server of content and for a log change nothing else.
 */
#include "tests/fuzz/input.h"

#include "lib/mem.h"
#include "net/http/http.h"

#define REQUESTS_MAX 8 /* compared in all details */

/* What a reader understood of the stream. */
struct meaning {
	unsigned requests;
	struct {
		unsigned status, minor, method;
		bool close;
		char path[HTTP_TARGET_MAX + 1], query[HTTP_TARGET_MAX + 1], host[HTTP_HEAD_MAX + 1];
		char field[HTTP_FIELD_COUNT][HTTP_HEAD_MAX + 1];
		char line[HTTP_LINE_KEPT];
		uint32_t line_bytes;
	} request[REQUESTS_MAX];
	enum http_state state;
	bool idle;
};

static void note(struct meaning *m, const struct http_request *r)
{
	assert(r->status == 200 || (r->status >= 400 && r->status < 600));
	assert(r->status == 200 || r->status == 405 || r->status == 501 || r->close);
	assert(r->status != 200 || r->path[0] == '/');
	for (const char *c = r->path; *c; c++)
		assert((uint8_t)*c >= 0x20 && *c != 0x7f);
	assert(r->status != 200 || r->minor == 0 || r->host[0]);
	for (const char *c = r->host; *c; c++)
		assert(*c > 0x20 && *c < 0x7f && *c != '/' && *c != '@' && (*c != ':' || r->host[0] == '['));
	if (m->requests == REQUESTS_MAX)
		return;
	m->request[m->requests].status = r->status;
	m->request[m->requests].minor = r->minor;
	m->request[m->requests].method = r->method;
	m->request[m->requests].close = r->close;
	assert(strlen(r->path) <= HTTP_TARGET_MAX && strlen(r->query) <= HTTP_TARGET_MAX);
	memcpy(m->request[m->requests].path, r->path, strlen(r->path) + 1);
	memcpy(m->request[m->requests].query, r->query, strlen(r->query) + 1);
	assert(strlen(r->host) <= HTTP_HEAD_MAX);
	memcpy(m->request[m->requests].host, r->host, strlen(r->host) + 1);
	for (unsigned i = 0; i < HTTP_FIELD_COUNT; i++) {
		const char *value = r->field[i];
		assert(strlen(value) <= HTTP_HEAD_MAX && (!value[0] || r->status != 400));
		memcpy(m->request[m->requests].field[i], value, strlen(value) + 1);
	}
	assert(r->line_bytes <= HTTP_LINE_KEPT);
	memcpy(m->request[m->requests].line, r->line, r->line_bytes);
	m->request[m->requests].line_bytes = r->line_bytes;
	m->requests++;
}

enum keeps { NONE, LOG, API };

/* Reads pieces of 1 to 64 bytes that follow from the seed; 0: all at once. */
static void read_stream(struct meaning *m, const uint8_t *data, size_t size, unsigned seed, enum keeps keeps)
{
	static struct http_parser p;
	size_t at = 0;
	memset(m, 0, sizeof *m);
	if (keeps == LOG) {
		http_init_fields(&p);
		http_set_log(&p, true);
	} else if (keeps == API) {
		http_init_api(&p);
	} else {
		http_init(&p);
	}
	while (at < size) {
		size_t n = seed ? seed % 64 + 1 : size - at;
		n = n < size - at ? n : size - at;
		uint8_t *piece = exactly(data + at, n);
		uint32_t taken = http_input(&p, piece, (uint32_t)n);
		assert(taken <= n && (taken == n || p.state == HTTP_REQUEST));
		free(piece);
		at += taken;
		if (p.state == HTTP_REQUEST) {
			note(m, &p.request);
			http_next(&p);
		}
		seed = seed ? seed * 1103515245 + 12345 : 0;
		seed += seed == 0 && n < size;
	}
	m->state = p.state;
	m->idle = http_is_idle(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct meaning whole, cut, without;
	struct input in = {data, size};
	unsigned seed = take8(&in);
	read_stream(&whole, in.p, in.n, 0, LOG);
	read_stream(&cut, in.p, in.n, seed + 1, LOG);
	assert(memcmp(&whole, &cut, sizeof whole) == 0);
	read_stream(&without, in.p, in.n, 0, NONE);
	for (unsigned i = 0; i < whole.requests; i++) {
		memset(whole.request[i].field, 0, sizeof whole.request[i].field);
		memset(whole.request[i].line, 0, sizeof whole.request[i].line);
		whole.request[i].line_bytes = 0;
	}
	assert(memcmp(&whole, &without, sizeof whole) == 0);
	read_stream(&whole, in.p, in.n, 0, API);
	read_stream(&cut, in.p, in.n, seed + 1, API);
	assert(memcmp(&whole, &cut, sizeof whole) == 0);
	return 0;
}
