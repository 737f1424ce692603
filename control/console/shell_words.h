/*
 * From words to commands: private to shell.c and shell_words.c.
 *
 * A command's keywords form a path. Words are matched from the left; each may be abbreviated to
 * what is unique at its place, and a keyword typed in full wins over longer ones that begin so. The
 * keyword # stands for a number.
 * Where no keyword fits and a command ends, the words left are its arguments.
 */
#ifndef CONTROL_CONSOLE_SHELL_WORDS_H
#define CONTROL_CONSOLE_SHELL_WORDS_H

#include "control/console/shell.h"

enum shell_result {
	SHELL_FOUND,
	SHELL_UNKNOWN,    /* word `bad` fits nowhere */
	SHELL_AMBIGUOUS,  /* word `bad` begins several keywords */
	SHELL_INCOMPLETE, /* more words are needed */
};

struct shell_match {
	struct text keyword[SHELL_DEPTH_MAX]; /* in full */
	unsigned depth;
	struct text number; /* the word that fits the keyword #, if one has */
	const struct shell_command *command; /* that takes the words left; NULL: keywords only */
	unsigned bad;
};

/* Cuts text into words; returns their number, SHELL_WORDS_MAX + 1 when there are more than fit. */
unsigned shell_split(struct text text, struct text words[SHELL_WORDS_MAX]);

/* Which command, complete with arguments, the n words are. Its arguments begin at m->depth. */
enum shell_result shell_resolve(const struct shell *sh, const struct text *words, unsigned n,
                                struct shell_match *m);

/* Lists the keywords that begin with `partial` after those in m. */
void shell_list_keywords(struct shell *sh, const struct shell_match *m, struct text partial);

/* Lists what may stand where `before` ends (the `?` key). */
void shell_list_next(struct shell *sh, struct text before);

/*
 * What the TAB key adds to `before`: *add is a part of a keyword (maybe empty), *whole says that
 * the keyword is then complete. Returns the number of keywords that fit.
 */
unsigned shell_complete(const struct shell *sh, struct text before, struct text *add, bool *whole);

#endif
