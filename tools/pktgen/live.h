/*
 * How the present run or test goes.
 */
#ifndef PKTGEN_LIVE_H
#define PKTGEN_LIVE_H

#include "control/console/shell.h"
#include "lib/fmt.h"
#include "tools/pktgen/report/screen.h"

/* The console sh began the run, and is told of it until its end; it is busy until then. Ctrl-C
 * calls stop. */
void live_watch(struct shell *sh, void (*stop)(void));
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

/* Writes to a shell, as reports and scripts want it. */
void live_write(void *sh, const char *text, size_t len);

#endif
