/*
 * What two data cores write while TCP connections move from one to the other (dataplane/tcp_move.h): a ring of messages
 * and a ring of answers, each with one producer and one consumer. The core that gives writes the messages, the core
 * that takes writes the answers. Each core has such an area in its shared memory, for both roles, and writes no other:
 * it is the beginning of dp_plugin_shared(), and the part of an application's plug-in lies behind it (struct web_core).
 *
 * Each period of moves has a number, as in struct core_flows. Positions count from 0 at its beginning, and only grow.
 */
#ifndef DATAPLANE_TCP_MOVE_AREA_H
#define DATAPLANE_TCP_MOVE_AREA_H

#include "dataplane/state.h"

#define TCP_MOVE_SLOTS 64   /* an idle connection takes one */
#define TCP_MOVE_SLOT 2048  /* bytes of a slot: more than TCP_MOVE_MSG_MIN, and a full segment in one or two */
#define TCP_MOVE_ANSWERS 64 /* connections on their way */

struct tcp_move_area {
	/* of the core that gives: */
	uint64_t gives;   /* the time to which the others belong; written after them at its begin */
	uint64_t head;    /* messages written */
	uint64_t heard;   /* answers read */
	uint64_t settled; /* the last time of which no connection is on its way any more */
	uint64_t cookies_until_us; /* tcp_cookies_until() */
	/* of the core that takes: */
	uint64_t takes;   /* as `gives` */
	uint64_t tail;    /* messages read */
	uint64_t answers; /* answers written */
	uint64_t closed;  /* the last time in which it takes no more, and has written all answers */
	struct {
		uint64_t id, taken;
	} answer[TCP_MOVE_ANSWERS];
	struct {
		uint32_t bytes, unused;
		uint8_t text[TCP_MOVE_SLOT - 8];
	} slot[TCP_MOVE_SLOTS];
};

static inline struct tcp_move_area *tcp_move_area(void)
{
	return dp_plugin_shared();
}

static inline const struct tcp_move_area *tcp_move_area_of(unsigned core)
{
	return dp_plugin_shared_of(core);
}

#endif
