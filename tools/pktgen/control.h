/*
 * The generator on the control core: the script, its runs one after another, and their results.
 * Each file calls only files above it in this list:
 *
 *     state.c           the plan and the present run
 *     replay_files.c    captures that streams replay
 *     conduct.c         one run: orders to data cores, their results
 *     probe.c           frames that are timed by the cards, beside a run
 *     trials.c          the trials of RFC 2544, one after another
 *     capture_export.c  captured frames as a file
 *     results.c         the last run or test, kept for reports
 *     runs.c            begins and ends a run or a test
 *     live.c            the present run, on the console that began it; report/screen.h formats it
 *     pages.c           JSON, /metrics, the report as a page, the captures
 *     commands.c        the console: start, stop, show
 *     control.c         reads the script, calls every file's timer
 */
#ifndef PKTGEN_CONTROL_H
#define PKTGEN_CONTROL_H

#include "control/management/plugin.h"

extern const struct app_plugin pktgen_plugin;

#endif
