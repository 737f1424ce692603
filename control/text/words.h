/*
 * A line cut into words, for a parser of statements: the configuration's (control/config) and the
 * generator's script (tools/pktgen/script).
 *
 * The parser has a struct words as its member `w`. It sets line, body, err and syntax; words_cut
 * fills in the words. Word i at or behind n is the empty one at the end of the line, so that an error
 * there says "the end of the line".
 *
 * All functions that return int return 0, or fill *err and return E_INVAL.
 */
#ifndef CONTROL_TEXT_WORDS_H
#define CONTROL_TEXT_WORDS_H

#include "control/text/text.h"

#define WORDS_MAX 24 /* the longest statement, an access list's rule, has 22 words */

struct words {
	uint32_t line;          /* its number, for errors */
	struct text body;       /* the line without blanks around it */
	struct text word[WORDS_MAX];
	unsigned n;             /* words in use */
	struct text_error *err; /* where an error goes; NULL: nowhere */
	const char *syntax;     /* of the line's statement, for errors */
};

/* The i-th word. */
static inline struct text words_at(const struct words *w, unsigned i)
{
	return i < w->n ? w->word[i] : (struct text){w->body.at + w->body.len, 0};
}

static inline bool words_is(const struct words *w, unsigned i, const char *keyword)
{
	return i < w->n && text_is_word(w->word[i], text_of(keyword));
}

/* An error at word i: `return WORDS_FAIL(w, i, "why")`. FAIL is the same for the words of parser p. */
#define WORDS_FAIL(w, i, ...) text_fail((w)->err, (w)->line, words_at((w), (i)), __VA_ARGS__)
#define FAIL(p, i, ...) WORDS_FAIL(&(p)->w, i, __VA_ARGS__)

/* Cuts the body into words, WORDS_MAX at most; the others are lost. Fails at a byte that is neither
 * printable ASCII nor a tab. `line` is where the line begins, from which columns count. */
int words_cut(struct words *w, const char *line);

/* There is a word i; there is none. */
int words_expect(const struct words *w, unsigned i);
int words_end(const struct words *w, unsigned i);

/* Word i is a decimal number from min to max; `what` begins the error. words_u32: max has 32 bits. */
int words_number(const struct words *w, unsigned i, const char *what, uint64_t min, uint64_t max,
                 uint64_t *out);
int words_u32(const struct words *w, unsigned i, const char *what, uint32_t min, uint32_t max,
              uint32_t *out);

/* How many of the first words of a line of n are those of `own`, in order. *all: `own` has no more;
 * otherwise *next is the first of `own` that the line does not have. */
static inline unsigned words_match(const struct text *word, unsigned n, const char *own, bool *all,
                                   struct text *next)
{
	struct text rest = text_of(own);
	unsigned matched = 0;
	while (text_next_word(&rest, next)) {
		if (matched >= n || !text_is_word(word[matched], *next)) {
			*all = false;
			return matched;
		}
		matched++;
	}
	*all = true;
	return matched;
}

#endif
