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
 * or after TRACE_STORY_US. There is one trace at a time.
 *
 * Bounded: who traces gets TRACE_MAX packets; the data core keeps TRACE_SLOTS records; the control
 * core takes one an TRACE_POLL_US.
 */
#ifndef CONTROL_TRACE_H
#define CONTROL_TRACE_H

#include "control/inside.h"
#include "control/trace_ring.h"

#define TRACE_MAX 100
#define TRACE_SECONDS 60 /* unless the command says, up to */
#define TRACE_SECONDS_MAX 3600
#define TRACE_STORY_US 10000000ull /* neighbours are given up within 3 s */
#define TRACE_POLL_US 2000ull
#define TRACE_MORE 24

/* What the control core adds. */
struct trace_notes {
	unsigned n;
	struct trace_note note[TRACE_MORE];
};

/* --- trace.c --- */

/* The command: `trace N [on ethN] [timeout SECONDS] [FILTER]`. */
void trace_command(struct shell *sh, int argc, char **argv);

/* Before the ports are started anew: the end of what is under way. */
void trace_stop(void);

/* Does what is due. core_now_us() of the next time; UINT64_MAX: none. */
uint64_t trace_turn(void);

/*
 * What is counted from here on until trace_leave() belongs to the story of a packet: of which this
 * is a message; or which waited for a neighbour, and had been marked (trace_mark). False: it is not
 * followed, and there is nothing to leave. They nest: what is told inside is not told outside.
 */
enum trace_end { TRACE_LOST, TRACE_TRANSIT_SENT, TRACE_OWN_SENT }; /* of the wait */
bool trace_message(const struct core_msg *m);
bool trace_resume(const uint8_t *mark, enum trace_end end);
void trace_leave(void);

/* A frame is about to wait: mark[TRACE_MARK] says of which story it is, if one is being told. */
#define TRACE_MARK 4
void trace_mark(uint8_t *mark);

/* --- trace_words.c --- */

/* Prints packet `number`, which core `core` followed. */
void trace_print(struct shell *sh, unsigned number, unsigned core, const struct trace_record *r,
                 const struct trace_notes *more, bool whole);

#endif
