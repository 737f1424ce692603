/*
 * What a data core has to tell of a packet that it followed (dataplane/trace.c), on its way to
 * the control core (control/monitor/trace.c): a ring of records of one size in the data core's shared area.
 *
 * One writer, the data core, and one reader, the control core, each with its own position, counted
 * in records from the beginning of the trace: head lies in the ring, tail with what the control
 * core publishes (struct dp_trace). A packet that would find no room is not followed, and counted.
 *
 * Invariants
 * 1. tail <= head <= tail + TRACE_SLOTS. Head is stored last (release), so what lies before it is
 *    complete.
 * 2. With another trace both positions begin anew: the writer sets head, and then `number`; until
 *    that is the number of the trace the ring is empty for its reader.
 * 3. The reader believes nothing: it takes a copy of a record, and looks at every number in it
 *    before it uses it as an index.
 */
#ifndef DATAPLANE_TRACE_RING_H
#define DATAPLANE_TRACE_RING_H

#include "lib/types.h"
#include "net/counters.h"

#define TRACE_SLOTS 32
#define TRACE_HEAD 128 /* kept of a frame: in them lies all that is told of it */
#define TRACE_NOTES 28

/* What became of the packet, in the order in which it did. port, word, number, more: */
enum trace_kind {
	TRACE_FILTER,  /* asked: of the port; word: enum trace_filter; number: what it says (rule) */
	TRACE_SOURCE,  /* the way back to it; number: next hop */
	TRACE_WAY,     /* looked up: port; word: bytes of the IP packet; number: next hop; more: what
	                * the adjacency said, TRACE_WAY_MTU and TRACE_WAY_KNOWN */
	TRACE_COUNTED, /* number: enum counter; more: by how much */
	TRACE_SENT,    /* port; number: frames; more: how many wait there for room. Of the control
	                * core: what waited; number: it is an answer of ours */
	TRACE_PUNTED,  /* control core: it has come; number: enum punt_kind */
	TRACE_WAITS,   /* control core: for its neighbour to answer */
	TRACE_KINDS,
};

/* SET: of the second dp.filter_set. */
enum trace_filter { TRACE_FILTER_OUT = 1, TRACE_FILTER_SIX = 2, TRACE_FILTER_SET = 4 };

#define TRACE_WAY_MTU 0xffff
#define TRACE_WAY_KNOWN 0x10000 /* the neighbour's MAC address */

/* Of how messages travel, which is not told. */
static inline bool trace_is_transport(enum counter c)
{
	return c == CNT_punted || c == CNT_punt_taken || c == CNT_injected;
}

struct trace_note {
	uint8_t kind; /* enum trace_kind */
	uint8_t port;
	uint16_t word;
	uint32_t number;
	uint32_t more;
};

struct trace_record {
	uint64_t ns;       /* when, core_now_ns() */
	uint16_t number;   /* core_trace.number */
	uint16_t messages; /* about it to the control core */
	uint16_t len;      /* the frame's, without FCS */
	uint8_t port;
	uint8_t pair;
	uint8_t notes;
	uint8_t reserved[7];
	uint8_t head[TRACE_HEAD]; /* the frame as it came, its first bytes */
	struct trace_note note[TRACE_NOTES];
};

/* Written by the data core. */
struct trace_ring {
	uint64_t number; /* of the trace that the rest is about; 0: none */
	uint64_t head;
	uint64_t missed; /* packets to be followed for which there was no room */
	uint64_t left;   /* that this core is to follow yet */
	struct trace_record slot[TRACE_SLOTS];
};

#endif
