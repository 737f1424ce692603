/*
 * Commits: the candidate configuration becomes the running one, on the control core. All consoles
 * share one candidate (control/config/candidate.h), whose memory is allocated at its first use.
 *
 * A commit checks the whole candidate like a configuration file at boot, then puts it into force.
 * If every statement that differs is STATEMENT_LIVE (control/config/config_parse.h), it takes
 * effect while data cores forward. Otherwise the ports restart with the new configuration,
 * RESTART_NS later, so that the console can print the outcome first. Both end as if the machine had
 * booted with that text. A live commit changes the tables of data cores route by route: a prefix
 * that gets another next hop is never without one.
 *
 *     RUNNING   --commit, live-->  RUNNING
 *               --commit-->        WAITING (the next configuration is complete and checked)
 *     WAITING   --RESTART_NS, the ports stop--> commit_take --the ports run: commit_done--> RUNNING
 *
 * A commit may require confirmation by another commit in time. Without that, the configuration
 * before it is committed again, and the candidate's changes are lost.
 *
 * A commit that needs no confirmation, or has it, survives a failure of the control program
 * (control/config/journal.h); the history of earlier configurations in memory does not. On a disk are the startup
 * configuration (startup.h) and a record of each commit (record.h).
 */
#ifndef CONTROL_COMMIT_COMMIT_H
#define CONTROL_COMMIT_COMMIT_H

#include "control/config/candidate.h"
#include "control/config/history.h"

/* The candidate. NULL: there is none, for the reason *why. */
struct candidate *commit_candidate(const char **why);

/* What a commit would do. */
enum commit_effect {
	COMMIT_REFUSED, /* *err says why; the candidate's `fault` is the line */
	COMMIT_NOTHING, /* nothing differs */
	COMMIT_LIVE,
	COMMIT_RESTART,
};
enum commit_effect commit_check(struct text_error *err);

/* Does a line of candidate_compare restart the ports? */
bool commit_line_restarts(char sign, struct text line);

/* Puts the candidate into force, for which commit_check has just returned `effect`. by: the user,
 * for the history and the serial console. confirm_ns: time in which the commit must be confirmed;
 * 0: no confirmation is needed. False: the commit could not be rolled back; it is not put into
 * force. */
bool commit_apply(enum commit_effect effect, const char *by, uint64_t confirm_ns);

/* The comment of the next commit that commit_apply makes, printable; it is cut to HISTORY_COMMENT_SIZE. */
void commit_comment(const char *comment);

/*
 * Changes by a script, which take several turns: from commit_lock to commit_unlock no console can change the
 * candidate. NULL: the candidate has changes already, the last commit waits to be confirmed, or see
 * commit_candidate; *why is the reason. commit_unlock discards what was not committed. A commit of the locked
 * candidate ends the lock.
 */
struct candidate *commit_lock(const char **why);
void commit_unlock(void);

/* The locked candidate. */
struct candidate *commit_locked(void);

/* Makes room for so many added routes of each family, and rules of access lists, in a candidate that is locked and
 * unchanged. False: no memory. */
bool commit_room(uint32_t four, uint32_t six, uint32_t rules);

/* Makes the locked candidate, which is unchanged, what a whole configuration says; takes some microseconds per
 * line. E_INVAL: *err says why, and *wrong lists all wrong lines if any is wrong in itself; err->line 0: the
 * reason is no line. */
int commit_replace(struct text text, struct config_wrong *wrong, struct text_error *err);

/* The configuration that commit_check has built. Valid until the next call of anything above. */
const struct config *commit_next(void);

/* Called before a commit changes routes, unless NULL. When it returns, the table must be as
 * configured. */
extern void (*commit_before_change)(void);

/* Seconds left to confirm the last commit, rounded up; 0: it needs no confirmation. */
uint64_t commit_unconfirmed_s(void);

/* Confirms the last commit. */
void commit_confirm(const char *by);

/* Makes the candidate the configuration n commits ago; 0: the running one. E_NOENT: there is
 * none. */
int commit_rollback(unsigned n);
const struct history_version *commit_version(unsigned n);

/* Makes the candidate what a whole configuration says. E_INVAL: *err says why, and the candidate is the running
 * configuration. */
int commit_restore(struct text text, struct text_error *err);

/* Called when a commit has become the running configuration, unless NULL. */
extern void (*commit_after)(const char *by, const char *comment);

/* Does the work that is due. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t commit_timer(void);

/* Called in the first control_plane_start, after the boot's configuration has been read: restores
 * the last commit of the previous program, if there is one. */
void commit_resume(void);

/* Called when the boot's configuration is withdrawn: the running one is not based on it. */
void commit_forget_boot(void);

/* Called in control_plane_start: a configuration that waits becomes the running one. */
void commit_take(void);

/* Called when the ports run, or cannot be started: logs that, if a commit restarted them. */
void commit_done(void);

#endif
