/*
 * What has been committed, for the control program that comes after one that has failed: there is no
 * disk, but core_persist_alloc(). Kept is what it takes to come from the configuration of the boot to
 * the one that stands: all its statements but the routes as text, and each route that went or came
 * since, a line each, in their order; one that came and went again is not among them.
 *
 * A commit that has yet to be confirmed is written and not sealed: if the program fails before it is
 * confirmed, that before it comes back, as it does when nobody confirms. Two slots are written by
 * turns, each under a hash: a program that fails while it writes leaves the one before.
 */
#ifndef CONTROL_CONFIG_JOURNAL_H
#define CONTROL_CONFIG_JOURNAL_H

#include "control/config/candidate.h"

#define JOURNAL_BYTES (8u << 20) /* of a slot, at most */

/* Writes what will stand when the candidate has taken the place of what runs; before that. What had
 * been staged before stands. on_boot: what runs has come from the configuration of the boot; else from
 * an empty one, for that of the boot is bad, or there was no memory for it. False: there is no memory
 * for it, and nothing stands from now on. */
bool journal_stage(const struct candidate *c, bool on_boot);

/* What is staged stands from now on. */
void journal_seal(void);

/* It is rolled back. */
void journal_drop(void);

/* What stands, as the program before this one has left it; valid until the next journal_stage. */
struct journal_found {
	struct text statements, routes;
	bool on_boot;     /* as in journal_stage: it is of use to who begins from the same */
	bool unconfirmed; /* there was another one, which nobody had confirmed */
};

/* False: nothing stands; of *found `unconfirmed` counts alone. */
bool journal_find(struct journal_found *found);

/* Nothing stands; what is committed next comes after the configuration of the boot. */
void journal_forget(void);

#endif
