/*
 * What the control core notes about the packets of a trace (control/monitor/trace.h). Code that
 * processes a message, or holds a frame that waits for a neighbour, calls these functions. Without
 * a trace a call costs one test.
 */
#ifndef CONTROL_FORWARDING_TRACE_POINTS_H
#define CONTROL_FORWARDING_TRACE_POINTS_H

#include "dataplane/trace_ring.h"
#include "runtime/runtime.h"

#define TRACE_MORE 24
#define TRACE_STORIES 64
#define TRACE_DEPTH_MAX 6 /* nested: a message releases a frame whose error waits ... */

/* What the control core adds to a data core's record. */
struct trace_notes {
	unsigned n;
	struct trace_note note[TRACE_MORE];
};

/* A traced packet. */
struct trace_story {
	bool used;
	bool recorded;    /* `record` and `number`, its order of arrival, are set */
	uint8_t core;
	uint16_t key;     /* core_trace.number */
	unsigned number;
	unsigned served;  /* messages processed */
	unsigned waiting; /* frames that wait for a neighbour */
	uint64_t due_ns;
	struct trace_record record;
	struct trace_notes more;
};

/* A story to which notes are added, and the counters up to which it has them. */
struct trace_level {
	struct trace_story *story;
	struct counters before;
};

struct trace_stories {
	unsigned depth;
	struct trace_level level[TRACE_DEPTH_MAX];
	struct trace_story story[TRACE_STORIES];
};

/* Begins a trace, without any story yet, in *stories. This memory must be zeroed before the first
 * trace and stay valid for ever. */
void trace_points_begin(struct trace_stories *stories);
void trace_points_end(void);

/* The story of that core and key, begun if necessary, which lasts until due_ns; NULL: there are too
 * many. Only during a trace. */
struct trace_story *trace_story_of(unsigned core, uint16_t key);

/* True if nothing can be added to it any more. */
bool trace_story_is_whole(const struct trace_story *s);

/*
 * All that is counted from here until trace_leave() belongs to the story of a packet: the one that
 * the message is about, or the one that waited for a neighbour with this mark (trace_mark). False:
 * the packet is not traced, and trace_leave() must not be called. Calls nest: an inner story's
 * counts do not belong to the outer one.
 */
enum trace_end { TRACE_LOST, TRACE_TRANSIT_SENT, TRACE_OWN_SENT }; /* how the wait ended */
bool trace_message(const struct core_msg *m);
bool trace_resume(const uint8_t *mark, enum trace_end end);
void trace_leave(void);

/* Writes the current story, or none, to mark[TRACE_MARK] of a frame that is about to wait. */
#define TRACE_MARK 4
void trace_mark(uint8_t *mark);

#endif
