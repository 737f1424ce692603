/*
 * Parsing of commands; private to shell.c and shell_words.c.
 *
 * A command's keywords form a path. Words are matched from the left. Each may be abbreviated as far
 * as it is unique at its place; a keyword typed in full wins over longer ones that begin with it.
 * The keyword # stands for a number. Where no keyword fits and a command ends, the words left are
 * its arguments.
 */
#ifndef CONTROL_CONSOLE_SHELL_WORDS_H
#define CONTROL_CONSOLE_SHELL_WORDS_H

#include "control/console/shell.h"

enum shell_result {
	SHELL_FOUND,
	SHELL_UNKNOWN,    /* word `bad` is neither a keyword nor an argument */
	SHELL_AMBIGUOUS,  /* word `bad` begins several keywords */
	SHELL_INCOMPLETE, /* more words are needed */
};

struct shell_match {
	struct text keyword[SHELL_DEPTH_MAX]; /* in full */
	unsigned depth;
	struct text number; /* the word for the keyword #, if there is one */
	const struct shell_command *command; /* takes the words left; NULL: all are keywords */
	unsigned bad;
};

/* Cuts text into words; returns their number, or SHELL_WORDS_MAX + 1 if there are too many. */
unsigned shell_split(struct text text, struct text words[SHELL_WORDS_MAX]);

/* Finds the command of n words, and checks the number of its arguments, which begin at word
 * m->depth. */
enum shell_result shell_resolve(const struct shell *sh, const struct text *words, unsigned n,
                                struct shell_match *m);

/* Lists the keywords that begin with `partial` after those in m. */
void shell_list_keywords(struct shell *sh, const struct shell_match *m, struct text partial);

/* Lists what may follow at the end of `before` (the `?` key). */
void shell_list_next(struct shell *sh, struct text before);

/*
 * What the TAB key adds to `before`. *add is part of a keyword, possibly empty; *whole: it
 * completes the keyword. Returns the number of keywords that fit.
 */
unsigned shell_complete(const struct shell *sh, struct text before, struct text *add, bool *whole);

#endif
