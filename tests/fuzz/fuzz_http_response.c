/*
 * Responses of net/http (response.h): the input is a byte that seeds where the stream is split, then the stream. However it is
 * split, it means the same: state, status, length, content.
 */
#include "tests/fuzz/input.h"

#include "lib/mem.h"
#include "net/http/response.h"

#define LIMIT 600
#define MAX 4096

struct meaning {
	struct http_response r;
	uint8_t content[LIMIT];
	uint32_t got, taken;
};

/* Reads the stream; pieces of 1 to `most` bytes, by a generator with that seed. */
static void read_by(struct meaning *m, const uint8_t *data, uint32_t n, uint32_t seed, uint32_t most)
{
	memset(m, 0, sizeof *m);
	http_response_init(&m->r, LIMIT);
	while (m->taken < n) {
		struct http_piece piece;
		uint32_t step = 1 + (seed >> 16) % most;
		seed = seed * 1103515245 + 12345;
		step = step < n - m->taken ? step : n - m->taken;
		const uint8_t *at = data + m->taken;
		const uint32_t now = http_response_input(&m->r, at, step, &piece);
		assert(now <= step && piece.n <= now);
		assert(piece.n == 0 || piece.at + piece.n == at + now);
		assert(piece.n <= LIMIT - m->got);
		memcpy(m->content + m->got, piece.at, piece.n);
		m->got += piece.n;
		m->taken += now;
		assert(m->r.got == m->got);
		if (now == 0) {
			assert(m->r.state >= HTTP_RESPONSE_ENDED);
			break;
		}
	}
	http_response_fin(&m->r);
	assert(m->r.state == HTTP_RESPONSE_ENDED || m->r.state == HTTP_RESPONSE_BROKEN);
	assert((m->r.state == HTTP_RESPONSE_BROKEN) == (m->r.why != NULL));
	if (m->r.state == HTTP_RESPONSE_ENDED) {
		assert(m->r.status >= 200 && m->r.status <= 599);
		assert(m->r.length == HTTP_RESPONSE_UNKNOWN || m->r.length == m->got || m->r.chunked);
	}
	for (const char *c = m->r.location; *c; c++)
		assert(*c > ' ' && *c < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct meaning whole, split;
	if (size < 1 || size > MAX)
		return 0;
	const uint32_t n = (uint32_t)size - 1;
	read_by(&whole, data + 1, n, 0, 1);
	for (unsigned i = 0; i < 2; i++) {
		read_by(&split, data + 1, n, data[0] * 2654435761u, i ? MAX : 40);
		assert(split.r.state == whole.r.state && split.r.status == whole.r.status && split.r.length == whole.r.length);
		assert(split.r.why == whole.r.why && split.got == whole.got && split.taken == whole.taken);
		assert(memcmp(split.content, whole.content, whole.got) == 0 && strcmp(split.r.location, whole.r.location) == 0);
	}
	return 0;
}
