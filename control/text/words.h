/*
 * A line cut into words, for the parsers of the configuration (control/config) and of the
 * generator's script (tools/pktgen/script).
 *
 * A parser has a struct words as its member `w`. It sets line, body, err and syntax; words_cut sets
 * the words. Any word from number n on is empty and at the end of the line, so that an error there
 * reports the end of the line.
 *
 * Functions that return int return 0, or fill *err and return E_INVAL.
 */
#ifndef CONTROL_TEXT_WORDS_H
#define CONTROL_TEXT_WORDS_H

#include "control/text/text.h"

#define WORDS_MAX 24 /* the longest statement, an access list's rule, has 22 words */

struct words {
	uint32_t line;          /* line number, for errors */
	struct text body;       /* the line without blanks around it */
	struct text word[WORDS_MAX];
	unsigned n;             /* words in use */
	struct text_error *err; /* receives an error; NULL: errors are not recorded */
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

/* Fails at word i: `return WORDS_FAIL(w, i, "why")`. FAIL does so for the words of parser p. */
#define WORDS_FAIL(w, i, ...) text_fail((w)->err, (w)->line, words_at((w), (i)), __VA_ARGS__)
#define FAIL(p, i, ...) WORDS_FAIL(&(p)->w, i, __VA_ARGS__)

/* Cuts the body into at most WORDS_MAX words and ignores the rest. Fails at a byte that is neither
 * printable ASCII nor a tab. `line` is the beginning of the line, from which columns count. */
int words_cut(struct words *w, const char *line);

/* words_expect fails unless there is a word i; words_end fails if there is one. */
int words_expect(const struct words *w, unsigned i);
int words_end(const struct words *w, unsigned i);

/* Word i, the last one, is `yes` or `no`; *is_yes says which. `why`: what is wrong with any other word. */
int words_choice(const struct words *w, unsigned i, const char *yes, const char *no, const char *why, bool *is_yes);

/* Parses word i as a decimal number from min to max. `what` names the value in the error. */
int words_number(const struct words *w, unsigned i, const char *what, uint64_t min, uint64_t max,
                 uint64_t *out);
int words_u32(const struct words *w, unsigned i, const char *what, uint32_t min, uint32_t max,
              uint32_t *out);

/* Compares the n words of a line with those of `own`; returns how many match from the left. *all:
 * all words of `own` match. Otherwise *next is the first word of `own` that does not. */
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
