/*
 * The generator on the control core: the script, runs one after another, what they found. Files in
 * the order in which they call each other, each those above it:
 *
 *     state.c           the plan and the present run
 *     replay_files.c    captures that streams replay
 *     conduct.c         one run: orders to data cores, their results
 *     probe.c           frames that cards time themselves, beside a run
 *     trials.c          the trials of RFC 2544, one after another
 *     capture_export.c  what ports received, as a file
 *     results.c         the last run or test, kept for reports
 *     runs.c            a run or a test begins and is ended
 *     live.c            the present run, on the console that began it; report/screen.h draws it
 *     pages.c           JSON, /metrics, the report as a page, the captures
 *     commands.c        the console: start, stop, show
 *     control.c         reads the script, gives every file its turn
 */
#ifndef PKTGEN_CONTROL_H
#define PKTGEN_CONTROL_H

#include "control/management/plugin.h"

extern const struct app_plugin pktgen_plugin
;

#endif
