/*
 * The data that the kernel copies from a failed core program, besides the current packet
 * (abi/current_packet.h): the packets received last, and memory that the program has named, which is the
 * state of its queues. The program keeps one global `core_dump_area`. The kernel finds it by name and
 * treats its contents as untrusted (kernel/coredump.c). runtime/coredump.c formats the copy as text.
 */
#ifndef ABI_COREDUMP_H
#define ABI_COREDUMP_H

#include "lib/types.h"

#define COREDUMP_PKTS 64    /* packets in a report */
#define COREDUMP_VECTOR 256 /* most packets in a vector */
#define COREDUMP_HEADER 64  /* bytes kept of a packet */
#define COREDUMP_PARTS 52   /* most pieces of memory */
#define COREDUMP_STATE 8704 /* bytes for all pieces, each rounded up to a multiple of 8 */

/* Same layout as struct pkt (lib/pkt.h). */
struct coredump_handle {
	uint64_t data; /* address of the frame */
	uint32_t buf;
	uint16_t len;
	uint8_t flags;
	uint8_t port;
};

/* A piece of memory. */
struct coredump_part {
	uint64_t address;
	uint32_t bytes;
	uint32_t what; /* its kind, defined by runtime/coredump.c; the kernel does not interpret it */
};

/*
 * Handles of received packets. The receiver writes them here, and the program works on them in place,
 * so recording costs one addition per vector. Vectors lie one behind the other. After more than
 * COREDUMP_PKTS handles the next vector starts at v[0] again, so at least the last COREDUMP_PKTS
 * handles are always present.
 */
struct coredump {
	struct coredump_handle v[COREDUMP_PKTS + COREDUMP_VECTOR];
	uint32_t next; /* v[0, next) are the newest; the newest of all is v[next - 1] */
	uint32_t end;  /* v[next, end) came before them */
	uint64_t parts;
	struct coredump_part part[COREDUMP_PARTS];
};

extern struct coredump core_dump_area;

/* Records that a vector of n packets, at most COREDUMP_VECTOR, has been received at v[next]. */
static inline void coredump_note(struct coredump *r, unsigned n)
{
	r->next += n;
	if (r->next > COREDUMP_PKTS) {
		r->end = r->next;
		r->next = 0;
	}
}

/* One packet, as the kernel found it. */
struct coredump_pkt {
	struct coredump_handle handle;
	uint8_t header[COREDUMP_HEADER];
	uint64_t bytes; /* valid bytes of header; 0: the address was not in the program's memory */
};

#endif
