/*
 * The configurations that were in force before: for `rollback`. Of each is kept what it takes to
 * come back to it from the one after it: all its statements but the routes as text, and the routes
 * that the two do not share, a line each, for routes there may be a million of, and a commit
 * changes few.
 *
 * Bounded: HISTORY_VERSIONS of them, in HISTORY_BYTES all together; the oldest are forgotten first.
 */
#ifndef CONTROL_CONFIG_HISTORY_H
#define CONTROL_CONFIG_HISTORY_H

#include "control/config/candidate.h"

#define HISTORY_VERSIONS 10
#define HISTORY_BYTES (512u << 10)
#define HISTORY_BY_SIZE 48

struct history_version {
	size_t at, text_len, routes_len; /* in the bytes */
	uint64_t until_ns;               /* when the next one took its place */
	char by[HISTORY_BY_SIZE];        /* who did that */
};

struct history {
	char *bytes; /* HISTORY_BYTES, the caller's to set */
	size_t len;
	unsigned count;
	struct history_version version[HISTORY_VERSIONS]; /* the newest is the last */
};

/* Keeps what runs, before the candidate takes its place. False: it is larger than all there is room
 * for; then nothing earlier is kept either. */
bool history_keep(struct history *h, const struct candidate *c, uint64_t now_ns, const char *by);

/* The n-th before the one that runs, 1 the last one, or NULL. */
const struct history_version *history_version(const struct history *h, unsigned n);

/* Makes the candidate that one; 0: the one that runs. E_NOENT: there is none, and nothing is
 * changed. */
int history_restore(const struct history *h, unsigned n, struct candidate *c);

#endif
