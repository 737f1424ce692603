/*
 * Packets followed through the machine (docs/console.md, `trace`): the port that received them, the
 * decision of each stage and its reason, their fate, and the control core's work on those that were
 * punted.
 *
 *     dataplane/trace.c   a data core follows a packet and writes a record into its ring
 *     trace.c             the command; combines these records with the control core's notes
 *     trace_words.c       prints both in words
 *
 * A packet's story is the record of its data core and the notes of the control core while it works
 * on a message (core_msg.traced) or on a frame that waited for a neighbour. It is printed when the
 * record has come, all of the packet's messages have been served and none of its frames waits; or
 * after ten seconds (forwarding/trace_points.c). There is one trace at a time.
 *
 * Bounds: a trace follows at most TRACE_MAX packets; a data core keeps TRACE_SLOTS records; the
 * control core takes one from each ring every TRACE_POLL_NS.
 */
#ifndef CONTROL_MONITOR_TRACE_H
#define CONTROL_MONITOR_TRACE_H

#include "runtime/runtime.h"
#include "control/console/shell.h"
#include "control/forwarding/trace_points.h"
#include "dataplane/trace_ring.h"

#define TRACE_MAX 100
#define TRACE_SECONDS 60 /* without `timeout` */
#define TRACE_SECONDS_MAX 3600
#define TRACE_POLL_NS (SECOND_NS / 500)

/* --- trace.c --- */

/* The command: `trace N [on ethN] [timeout SECONDS] [FILTER]`. */
void trace_command(struct shell *sh);

/* Called before the ports restart: ends the trace. */
void trace_stop(void);

/* Does the work that is due. Returns core_now_ns() of the next call, UINT64_MAX for none. */
uint64_t trace_timer(void);

/* --- trace_words.c --- */

/* Prints packet `number`, which core `core` followed. `whole`: its story is complete. */
void trace_print(struct shell *sh, unsigned number, unsigned core, const struct trace_record *r,
                 const struct trace_notes *more, bool whole);

#endif
