/*
 * What the kernel copies out of a core's program that has failed, beside the packet in hand
 * (hal/core_hand.h): the packets received last, and memory that the program has named, the state of
 * its queues. The program keeps one global `core_remains`; the kernel finds it by name and believes
 * nothing in it (kernel/remains.c). core/remains.c makes text of the copy.
 */
#ifndef HAL_REMAINS_H
#define HAL_REMAINS_H

#include "lib/types.h"

#define REMAINS_PKTS 64    /* packets of a report */
#define REMAINS_VECTOR 256 /* most packets of a vector */
#define REMAINS_HEADER 64  /* bytes of a packet */
#define REMAINS_PARTS 52   /* pieces of memory, */
#define REMAINS_STATE 8704 /* and bytes of all together, of each a multiple of 8 */

/* As struct pkt (lib/pkt.h). */
struct remains_handle {
	uint64_t data; /* address of the frame */
	uint32_t buf;
	uint16_t len;
	uint8_t flags;
	uint8_t port;
};

/* A piece of memory. */
struct remains_part {
	uint64_t address;
	uint32_t bytes;
	uint32_t what; /* it is, by words that the kernel does not know (core/remains.c) */
};

/*
 * Handles of received packets, written by who receives them and where they are worked on: noting
 * them costs nothing but the sum of a vector's. Vectors lie one behind the other, and begin anew at
 * v[0] behind REMAINS_PKTS or more: so many handles at least are there at any time.
 */
struct remains {
	struct remains_handle v[REMAINS_PKTS + REMAINS_VECTOR];
	uint32_t next; /* v[0, next) are the newest, the last of them first */
	uint32_t end;  /* before these came v[next, end) */
	uint64_t parts;
	struct remains_part part[REMAINS_PARTS];
};

extern struct remains core_remains;

/* A vector of n packets, at most REMAINS_VECTOR, has been received at v[next]. */
static inline void remains_note(struct remains *r, unsigned n)
{
	r->next += n;
	if (r->next > REMAINS_PKTS) {
		r->end = r->next;
		r->next = 0;
	}
}

/* One of them, as the kernel found it. */
struct remains_pkt {
	struct remains_handle handle;
	uint8_t header[REMAINS_HEADER];
	uint64_t bytes; /* of header; 0: its address was no memory of the program's */
};

#endif
