/*
 * The committed configuration, for the control program that replaces a failed one, with
 * or without a disk, in memory of core_persist_alloc(). The journal stores the difference from the boot
 * configuration: all statements except routes as text, and the changes of routes since the boot,
 * one line each, in their order. A route that was added and removed again is left out, as far as
 * the search for it is cheap enough (journal.c, EFFORT_MAX).
 *
 * An unconfirmed commit is written (staged), but not sealed. If the program fails before it is
 * confirmed, the commit before it is restored, as if the time to confirm had ended. Two slots are
 * written alternately, each with a hash, so a program that fails while writing leaves the other.
 */
#ifndef CONTROL_CONFIG_JOURNAL_H
#define CONTROL_CONFIG_JOURNAL_H

#include "control/config/candidate.h"

#define JOURNAL_BYTES (8u << 20) /* of a slot, at most */

/* Stages the candidate's configuration; called before it replaces the running one. Seals an earlier
 * staged commit. on_boot: the running configuration derives from the boot configuration; otherwise
 * from an empty one, because the boot configuration is bad or there was no memory for it. False: no
 * memory; the journal is empty, and stays empty. */
bool journal_stage(const struct candidate *c, bool on_boot);

/* Seals the staged commit, if any: from now on it would be restored. */
void journal_seal(void);

/* Drops the staged commit, which is rolled back. */
void journal_drop(void);

/* The commit that the failed program has left; valid until the next journal_stage. */
struct journal_found {
	struct text statements, routes;
	bool on_boot;     /* as in journal_stage: usable only from the same starting point */
	bool unconfirmed; /* a later commit was staged, which nobody had confirmed */
};

/* False: there is no valid commit; in *found only `unconfirmed` is valid. */
bool journal_find(struct journal_found *found);

/* Empties the journal: the next commit starts from the boot configuration. */
void journal_forget(void);

#endif
