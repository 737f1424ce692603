/*
 * Packets followed through the machine (docs/console.md, `trace`): where they came in, what each
 * stage decided and why, what became of them, and of those that went to the control core, what that
 * did.
 *
 *     trace_core.c    a data core follows a packet and writes what it saw into its ring
 *     trace.c         the command; puts together what data cores and the control core tell
 *     trace_words.c   all of it in words
 *
 * A packet's story is what its data core has recorded, and what the control core notes while it
 * works on a message (core_msg.traced) or on a frame that waited for a neighbour. It is told once
 * the record is there, all of the packet's messages have been served and none of its frames waits;
 * or after ten seconds (forwarding/trace_points.c). There is one trace at a time.
 *
 * Bounded: who traces gets TRACE_MAX packets; the data core keeps TRACE_SLOTS records; the control
 * core takes one an TRACE_POLL_NS.
 */
#ifndef CONTROL_MONITOR_TRACE_H
#define CONTROL_MONITOR_TRACE_H

#include "runtime/runtime.h"
#include "control/console/shell.h"
#include "control/forwarding/trace_points.h"
#include "dataplane/trace_ring.h"

#define TRACE_MAX 100
#define TRACE_SECONDS 60 /* unless the command says, up to */
#define TRACE_SECONDS_MAX 3600
#define TRACE_POLL_NS (SECOND_NS / 500)

/* --- trace.c --- */

/* The command: `trace N [on ethN] [timeout SECONDS] [FILTER]`. */
void trace_command(struct shell *sh);

/* Before the ports are started anew: the end of what is under way. */
void trace_stop(void);

/* Does what is due. core_now_ns() of the next time; UINT64_MAX: none. */
uint64_t trace_timer(void);

/* --- trace_words.c --- */

/* Prints packet `number`, which core `core` followed. */
void trace_print(struct shell *sh, unsigned number, unsigned core, const struct trace_record *r,
                 const struct trace_notes *more, bool whole);

#endif
