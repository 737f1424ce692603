/*
 * The generator on the control core: the script, runs one after another, what they found.
 *
 *     control.c   the plan, one run or a whole test at a time, by conduct.h
 *     trials.c    the trials of RFC 2544, one after another
 *     results.c   what came of the last of them, kept for reports
 *     live.c      how the present run goes, on the console that began it; screen.h draws it
 *     commands.c  the console: start, stop, show
 *     captures.c  what ports received, as a file; captures.h
 *     pages.c     JSON, /metrics, the report as a page, the captures
 */
#ifndef PKTGEN_CONTROL_H
#define PKTGEN_CONTROL_H

#include "control/management/plugin.h"
#include "tools/pktgen/conduct.h"
#include "tools/pktgen/plan.h"
#include "tools/pktgen/report/report.h"
#include "tools/pktgen/report/screen.h"

extern const struct app_extension pktgen_extension;

/* --- control.c --- */

/* The plan of the script; no streams when there is none, or it is wrong: then `error` says why. */
struct generator {
	struct plan plan;
	bool has_script, is_bad;
	char error[320];
	uint64_t runs;   /* begun since the machine started */
	uint64_t begun_ns; /* the present one, after the start of the machine */
	bool testing;    /* the present one is a test of RFC 2544 */
	bool reported;   /* the end of the present one has been told */
};
extern struct generator generator;

/* Begins to send the streams, for ns nanoseconds, 0: as the script says. NULL, or why not. */
const char *generator_start(uint64_t ns);
const char *generator_test(void); /* the same for the script's tests of RFC 2544 */
void generator_stop(void);
bool generator_busy(void);       /* a run or a test is on */
void generator_over(void);       /* it has come to an end */
uint32_t generator_burst(void);  /* frames for one doorbell */

/* --- trials.c --- */

const struct rfc2544 *trials(void); /* the last test, NULL: none yet */
const char *trials_start(void);     /* of generator.plan; NULL, or why not */
void trials_stop(void);
bool trials_on(void);

/* The trial that is under way, what its search has found so far, and its number, from 1. False:
 * none. */
bool trials_now(uint32_t *number, struct trial *trial, struct rfc2544_bounds *bounds);
const char *trials_pause(void);     /* what goes on between trials; NULL: one is under way */
const char *trials_error(void);     /* why the last test ended early; "" */
uint64_t trials_turn(void);

/* --- results.c --- */

/* What is said of the present run, and of a stream of it, as of now; the latter into the memory of
 * the caller, which it points to then. */
void results_run(struct report *run);
void results_stream(unsigned i, struct report_stream *out, struct judge_result *judged,
                    struct pace_result *paced);
/* The probes of the run; false: none were sent. */
bool results_probe(struct report_probe *out);

/* Takes what the run that has ended found, or the test up to its last trial; what was kept before
 * is gone. */
void results_take(void);
const struct report *results(void);   /* of the last run or test; NULL: none, or no memory for it */
uint32_t results_number(void);        /* another one after each change */

/* --- live.c --- */

/* The console sh began the run, and is told of it until its end; it is busy until then. */
void live_watch(struct shell *sh);
bool live_is_watched(void);

/* Takes figures and tells of them, when it is time. Returns the TSC of the next call. */
uint64_t live_turn(void);

/* A line that stays: for the console that watches or, when none does, a message of the system. */
void live_say(const char *format, ...) PRINTF_LIKE(1, 2);

/* What the report would say of the present run. */
void live_report(struct shell *sh);

/* Figures of the present run, or trial, a second old at most. */
const struct screen_row *live_streams(unsigned *count);
const struct screen_row *live_all(void);
void live_progress(struct screen_progress *p);

/* --- commands.c --- */

#define PKTGEN_COMMANDS 9
extern const struct shell_command pktgen_commands[PKTGEN_COMMANDS];

/* Writes to a shell, as reports and scripts want it. */
void commands_write(void *sh, const char *text, size_t len);

/* Goes on with a report or capture that is being shown. Returns the TSC of the next call. */
uint64_t commands_turn(void);

void commands_trial(const struct rfc2544 *tests, uint32_t i); /* trial i has ended, */
void commands_over(void);                                     /* the run or the test has */

/* --- pages.c --- */

#define PKTGEN_PAGES 5
enum report_form { REPORT_TEXT, REPORT_JSON, REPORT_HTML };

/* What the report of that number has from byte `at` on; 0: no more, or it is not the newest. Valid
 * until the next call. */
size_t report_piece(enum report_form form, uint32_t number, uint64_t at, const char **text);

extern const struct page pktgen_pages[PKTGEN_PAGES];
bool pktgen_metrics(struct page_walk *w, struct page_text *t);

#endif
