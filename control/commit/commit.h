/*
 * From the candidate configuration to the running one, on the control core. There is one candidate,
 * which all consoles share (control/config/candidate.h); the memory for it is taken when somebody first
 * wants it.
 *
 * A commit checks the whole candidate as a file is checked when the machine boots, then puts it
 * into force: as it is, while data cores forward, when all that differs may change so
 * (STATEMENT_LIVE, control/config/config_parse.h); else by a restart of the ports with the new
 * configuration, a little later, so that who asked for it is told before. Both ways end as if the machine had booted with
 * that text. What data cores look up changes route by route: a prefix that gets another next hop is
 * never without one.
 *
 *     RUNNING   --commit, live-->  RUNNING
 *               --commit-->        WAITING (the next configuration is complete and checked)
 *     WAITING   --RESTART_NS, the ports stop--> commit_take --the ports run: commit_done--> RUNNING
 *
 * A commit may have to be confirmed by another one in time; else the configuration before it is
 * committed again, and what the candidate held then is lost.
 *
 * What stands is kept beyond a failure of the control program (control/config/journal.h), without what was
 * in force before it; nothing is beyond a restart of the machine: there is no disk.
 */
#ifndef CONTROL_COMMIT_COMMIT_H
#define CONTROL_COMMIT_COMMIT_H

#include "control/config/candidate.h"
#include "control/config/history.h"

/* The candidate, or NULL and why there is none. */
struct candidate *commit_candidate(const char **why);

/* What a commit would do. */
enum commit_effect {
	COMMIT_REFUSED, /* *err says why; of what line, c->fault of the candidate */
	COMMIT_NOTHING, /* nothing differs */
	COMMIT_LIVE,
	COMMIT_RESTART,
};
enum commit_effect commit_check(struct text_error *err);

/* Does a line of candidate_compare restart the ports? */
bool commit_line_restarts(char sign, struct text line);

/* Puts what commit_check has just let pass into force. by: who, for the history and the serial
 * console. confirm_ns: how long somebody has to confirm it; 0: it stands. False: it could not be
 * rolled back, and is not put into force. */
bool commit_apply(enum commit_effect effect, const char *by, uint64_t confirm_ns);

/* Called before a configuration changes routes, unless NULL: the table is as configured when it
 * returns. */
extern void (*commit_before_change)(void);

/* How many seconds are left to confirm the last commit, rounded up; 0: it stands. */
uint64_t commit_unconfirmed_s(void);

/* It stands from now on. */
void commit_confirm(const char *by);

/* Makes the candidate the configuration n commits ago; 0: that which runs. E_NOENT: there is
 * none. */
int commit_rollback(unsigned n);
const struct history_version *commit_version(unsigned n);

/* Does what is due; returns core_now_ns() of the next time, UINT64_MAX for none. */
uint64_t commit_timer(void);

/* In the first control_plane_start, once the boot's configuration has been read: what the program
 * before this one had committed is the configuration. */
void commit_resume(void);

/* What runs has not come from the configuration of the boot after all: nothing of that is applied. */
void commit_forget_boot(void);

/* In control_plane_start: a configuration that waits is the one that runs. */
void commit_take(void);

/* The ports run, or cannot: says so if a commit restarted them. */
void commit_done(void);

#endif
