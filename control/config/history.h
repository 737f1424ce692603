/*
 * The earlier configurations, for `rollback`. Each is stored as the difference from the next one:
 * all its statements except routes as text, and the routes that differ, one line each. There may be
 * a million routes, but a commit changes few.
 *
 * The history is bounded: HISTORY_VERSIONS configurations in HISTORY_BYTES. The oldest are dropped
 * first.
 */
#ifndef CONTROL_CONFIG_HISTORY_H
#define CONTROL_CONFIG_HISTORY_H

#include "control/config/candidate.h"

#define HISTORY_VERSIONS 10
#define HISTORY_BYTES (512u << 10)
#define HISTORY_BY_SIZE 80
#define HISTORY_COMMENT_SIZE 80

struct history_version {
	size_t at, text_len, routes_len; /* offset and lengths in history.bytes */
	uint64_t until_ns;               /* when the next one replaced it */
	char by[HISTORY_BY_SIZE];        /* who committed the next one */
	char comment[HISTORY_COMMENT_SIZE]; /* of that commit */
};

struct history {
	char *bytes; /* HISTORY_BYTES, set by the caller */
	size_t len;
	unsigned count;
	struct history_version version[HISTORY_VERSIONS]; /* the newest is the last */
};

/* Stores the running configuration; called before the candidate replaces it. False: it exceeds
 * HISTORY_BYTES; then the history is empty. */
bool history_keep(struct history *h, const struct candidate *c, uint64_t now_ns, const char *by);

/* Sets the comment of what history_keep has stored last. */
void history_comment(struct history *h, const char *comment);

/* The n-th configuration before the running one, from 1; NULL: there is none. */
const struct history_version *history_version(const struct history *h, unsigned n);

/* Makes the candidate the n-th configuration before the running one; 0: the running one. E_NOENT:
 * there is none, and nothing is changed. After another error it is the running one. */
int history_restore(const struct history *h, unsigned n, struct candidate *c);

#endif
