/*
 * The progress of the present run or test.
 */
#ifndef PKTGEN_LIVE_H
#define PKTGEN_LIVE_H

#include "control/console/shell.h"
#include "tools/pktgen/report/screen.h"

/* Shows the progress on console sh, which began the run and is busy until its end. Ctrl-C calls
 * stop. */
void live_watch(struct shell *sh, void (*stop)(void));
bool live_is_watched(void);

/* Updates and shows the figures when it is time. Returns the TSC of the next call. */
uint64_t live_turn(void);

/* Prints a line that stays: to the console that watches the run, or as a system message if none
 * does. */
void live_say(const char *format, ...) PRINTF_LIKE(1, 2);

/* Prints a preliminary report of the present run. */
void live_report(struct shell *sh);

/* Figures of the present run or trial, at most a second old. */
const struct screen_row *live_streams(unsigned *count);
const struct screen_row *live_all(void);
void live_progress(struct screen_progress *p);

/* Writes to shell sh: a report_write, also for script_print. */
void live_write(void *sh, const char *text, size_t len);

#endif
