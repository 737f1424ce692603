/*
 * The ring that carries records of followed packets from a data core (dataplane/trace.c) to the
 * control core (control/monitor/trace.c). It lies in the data core's shared area; all records have
 * one size.
 *
 * The data core writes the ring and the control core reads it. Each has a position, counted in
 * records from the start of the trace: head lies in the ring, tail in published memory (struct
 * dp_trace). A packet whose record would find no room is counted and not followed.
 *
 * Invariants
 * 1. tail <= head <= tail + TRACE_SLOTS. Head is stored last (release), so everything before it is
 *    complete.
 * 2. A new trace resets both positions: the writer sets head, and then `number`. The ring is empty
 *    to its reader until `number` is that of the trace.
 * 3. The ring is untrusted input to its reader: it copies a record, and checks every number in the
 *    copy before it uses that number as an index.
 */
#ifndef DATAPLANE_TRACE_RING_H
#define DATAPLANE_TRACE_RING_H

#include "lib/types.h"
#include "net/counters.h"

#define TRACE_SLOTS 32
#define TRACE_HEAD 128 /* bytes kept of a frame; they hold every field that is shown */
#define TRACE_NOTES 28

/* The events of a followed packet, in order, and the fields of struct trace_note that each uses. */
enum trace_kind {
	TRACE_FILTER,  /* a filter was asked. port: its interface; word: enum trace_filter; number:
	                * the answer (rule) */
	TRACE_SOURCE,  /* the source was verified. number: next hop back to it */
	TRACE_WAY,     /* a next hop was looked up. port: output interface; word: bytes of the IP
	                * packet; number: next hop; more: of the adjacency, TRACE_WAY_MTU and
	                * TRACE_WAY_KNOWN */
	TRACE_BRIDGE,  /* a bridge looked stations up. word: the VLAN; number: port of the source, more: port
	                * of the destination, or TRACE_NOWHERE */
	TRACE_COUNTED, /* a counter grew. number: enum counter; more: by how much */
	TRACE_SENT,    /* frames were sent. port: the port; number: frames; more: how many wait
	                * there for room. Control core: a packet that waited was sent; number: 1 if
	                * it was our own, else 0 */
	TRACE_PUNTED,  /* control core: the message arrived. number: enum punt_kind */
	TRACE_WAITS,   /* control core: the packet waits for its neighbour */
};

/* OUT: an `out` list; SIX: of IPv6; MAC: of MAC addresses; SET: of dp_state.filter_set[1]. */
enum trace_filter { TRACE_FILTER_OUT = 1, TRACE_FILTER_SIX = 2, TRACE_FILTER_SET = 4, TRACE_FILTER_MAC = 8 };

#define TRACE_NOWHERE 0xff
#define TRACE_WAY_MTU 0xffff
#define TRACE_WAY_KNOWN 0x10000 /* the neighbour's MAC address is known */

/* Counters of the messages between cores, which a trace does not show. */
static inline bool trace_is_transport(enum counter c)
{
	return c == CNT_punted || c == CNT_punt_taken || c == CNT_injected;
}

struct trace_note {
	uint8_t kind; /* enum trace_kind */
	uint8_t port; /* a port or an interface, by kind */
	uint16_t word;
	uint32_t number;
	uint32_t more;
};

struct trace_record {
	uint64_t ns;       /* when, core_now_ns() */
	uint16_t number;   /* core_trace.number */
	uint16_t messages; /* sent to the control core because of it */
	uint16_t len;      /* of the frame, without FCS */
	uint8_t port;
	uint8_t pair;
	uint8_t notes;
	uint8_t reserved[7];
	uint8_t head[TRACE_HEAD]; /* the first bytes of the frame as received */
	struct trace_note note[TRACE_NOTES];
};

/* Written by the data core. */
struct trace_ring {
	uint64_t number; /* of the trace that the ring is for; 0: none */
	uint64_t head;
	uint64_t missed; /* packets not followed for lack of room */
	uint64_t left;   /* packets that this core is still to follow */
	struct trace_record slot[TRACE_SLOTS];
};

#endif
