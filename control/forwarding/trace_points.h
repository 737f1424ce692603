/*
 * What the control core notes of packets that are followed (control/monitor/trace.h): points that
 * those who serve a message, or hold a frame that waits for a neighbour, pass through. They cost a
 * test while no trace is on.
 */
#ifndef CONTROL_FORWARDING_TRACE_POINTS_H
#define CONTROL_FORWARDING_TRACE_POINTS_H

#include "dataplane/trace_ring.h"
#include "runtime/runtime.h"

#define TRACE_MORE 24
#define TRACE_STORIES 64
#define TRACE_DEPTH_MAX 6 /* a message that releases a frame whose error waits ... */

/* What the control core adds to a data core's record. */
struct trace_notes {
	unsigned n;
	struct trace_note note[TRACE_MORE];
};

/* A packet that is followed. */
struct trace_story {
	bool used;
	bool recorded;    /* `record` is there: number and order of arrival too */
	uint8_t core;
	uint16_t key;     /* core_trace.number */
	unsigned number;
	unsigned served;  /* messages */
	unsigned waiting; /* frames, for a neighbour */
	uint64_t due_ns;
	struct trace_record record;
	struct trace_notes more;
};

/* What is being told: the counters as they were when it began. */
struct trace_level {
	struct trace_story *story;
	struct counters before;
};

struct trace_stories {
	unsigned depth;
	struct trace_level level[TRACE_DEPTH_MAX];
	struct trace_story story[TRACE_STORIES];
};

/* A trace begins: its stories, none at first, are told here, which is zeroed memory before the first
 * one and stays there for ever. */
void trace_points_begin(struct trace_stories *stories);
void trace_points_end(void);

/* The story that `core` tells by that key, begun if need be, and told until due_ns; NULL: there are
 * too many. A trace is on. */
struct trace_story *trace_story_of(unsigned core, uint16_t key);

/* Has all of it been told? */
bool trace_story_is_whole(const struct trace_story *s);

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

#endif
