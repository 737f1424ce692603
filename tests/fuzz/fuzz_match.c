/*
 * The filter of a capture or a trace (net/match.h), and its words (control/text/match_words.h). Neither
 * any words nor any frame do harm, and the filter means what its terms mean when read one by one.
 *
 * Input: words separated by blanks, up to a zero byte; then a frame.
 */
#include "tests/fuzz/input.h"

#include "control/text/match_words.h"
#include "net/ip4.h"

#define WORDS_MAX 48
#define PROTO_SCTP 132

/* Splits the text at its blanks, in place. */
static unsigned cut(char *text, char **word)
{
	unsigned n = 0;
	for (char *w = strtok(text, " "); w && n < WORDS_MAX; w = strtok(NULL, " "))
		word[n++] = w;
	return n;
}

/* A match of one term alone, or of its negation. */
static bool one(const struct match_term *t, bool opposite, const struct match_frame *f)
{
	struct match m = {.terms = 1, .term = {*t}};
	m.term[0].not ^= opposite;
	return match_is(&m, f);
}

static void check_match(const struct match *m, const struct match_frame *f)
{
	bool is = true;
	for (unsigned i = 0; i < m->terms; i++) {
		bool term = one(&m->term[i], false, f);
		assert(term != one(&m->term[i], true, f));
		is = i == 0 ? term : m->term[i].or ? is || term : is && term;
	}
	assert(match_is(m, f) == is);
}

/* What a truncated frame reveals agrees with the whole one. */
static void check_frame(const struct match_frame *all, const uint8_t *frame, size_t len)
{
	struct match_frame part;
	uint8_t *copy = exactly(frame, len);
	match_read(&part, copy, (unsigned)len);
	free(copy);
	assert(!part.has_port || (part.has_addr && (part.proto == IP4_PROTO_TCP ||
	                          part.proto == IP4_PROTO_UDP || part.proto == PROTO_SCTP)));
	if (part.has_addr)
		assert(all->has_addr && all->type == part.type && net_addr_equal(&all->src, &part.src) &&
		       net_addr_equal(&all->dst, &part.dst));
	if (part.has_port)
		assert(all->has_port && all->proto == part.proto && all->src_port == part.src_port &&
		       all->dst_port == part.dst_port);
}

/* A segment belongs to its own connection, in either direction, and not to that of another port. */
static void check_flow(const struct match_frame *f)
{
	struct match_flow there = {f->src, f->dst, f->src_port, f->dst_port};
	struct match_flow back = {f->dst, f->src, f->dst_port, f->src_port};
	bool segment = f->has_port && f->proto == IP4_PROTO_TCP;
	assert(match_is_flow(&there, f) == segment && match_is_flow(&back, f) == segment);
	there.a_port++;
	if (f->src_port != f->dst_port)
		assert(!match_is_flow(&there, f));
}

/* The quick way to the same answer, for a connection that is the frame's own and for another. */
static void check_wants(const struct match *m, const struct match_frame *f, const uint8_t *frame, unsigned len)
{
	const struct match_flow own = {f->src, f->dst, f->src_port, f->dst_port};
	const struct match_flow other = {f->src, f->dst, f->src_port, (uint16_t)(f->dst_port + 1)};
	assert(match_wants(m, &own, frame, len) == (match_is(m, f) && !match_is_flow(&own, f)));
	assert(match_wants(m, &other, frame, len) == (match_is(m, f) && !match_is_flow(&other, f)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = memchr(data, 0, size);
	size_t text_len = zero ? (size_t)(zero - data) : size;
	size_t len = zero ? size - text_len - 1 : 0;
	char *word[WORDS_MAX], *text = malloc(text_len + 1);
	uint8_t *frame = exactly(data + size - len, len);
	struct match_frame f;
	struct match m;
	unsigned bad;
	const char *why = NULL;
	memcpy(text, data, text_len);
	text[text_len] = '\0';
	match_read(&f, frame, (unsigned)len);
	unsigned n = cut(text, word);
	int e = match_words(&m, word, n, &bad, &why);
	assert(m.terms <= MATCH_TERMS_MAX);
	if (e == E_OK) {
		check_match(&m, &f);
		check_wants(&m, &f, frame, (unsigned)len);
	} else {
		assert(e == E_INVAL && bad <= n && why);
	}
	check_frame(&f, frame, len < 60 ? len / 2 : 60);
	check_frame(&f, frame, len);
	check_flow(&f);
	free(text);
	free(frame);
	return 0;
}
