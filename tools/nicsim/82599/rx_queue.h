/*
 * Receive queues: their registers (8.2.3.8), the rings (7.1.9, 7.1.10) and descriptors (7.1.5,
 * 7.1.6). Nothing here knows what is in a frame: rx.c decides where it goes and what is said of it.
 *
 *   RDH == RDT: the device owns none. RDH .. RDT - 1: owned. It writes back at once, one by one.
 */
#ifndef NICSIM_82599_RX_QUEUE_H
#define NICSIM_82599_RX_QUEUE_H

#include "tools/nicsim/82599/state.h"

/* A descriptor, as the driver writes and reads it. */
struct rxd {
	uint64_t low;  /* buffer address; written back: RSS type, packet type, hash */
	uint64_t high; /* header buffer address; written back: status, length, VLAN tag */
};

/* A frame on its way into a ring, in one or two pieces, and what its descriptors say. */
struct delivery {
	uint64_t low;        /* first quad-word written back */
	uint32_t status;     /* without DD and EOP */
	uint32_t tag;        /* that was taken out; 0 */
	const uint8_t *head; /* bytes before the tag that is taken out, or all */
	uint32_t head_bytes;
	const uint8_t *rest; /* not set when rest_bytes is 0 */
	uint32_t rest_bytes;
};

void rx_queue_reset(struct model *m);

/* `within` is the register's place in the block of its queue, as RDT & 63. */
void rx_queue_write(struct model *m, unsigned q, uint32_t within, uint32_t value);

/* Does what was to happen to ENABLE by now; n->settle_due is the next time. */
void rx_queue_settle(struct model *m);

/* Line-rate: ENABLE and VME of all mapped queues, or of one also the tail, as they are in
 * memory. */
void rx_queue_scan(struct model *m);
void rx_queue_look(struct model *m, unsigned q);

/* The ring's memory, looked up once in each call from outside; NULL: not memory, the queue
 * stops. */
struct rxd *rx_queue_ring(struct model *m, unsigned q);

/* Descriptors that the device owns. */
static inline uint32_t rx_queue_available(const struct rxq *r)
{
	if (r->broken || !r->enabled)
		return 0;
	uint32_t n = r->tail + r->size - r->head;
	return n >= r->size ? n - r->size : n;
}

static inline uint32_t rx_queue_needed(const struct rxq *r, uint32_t bytes)
{
	return bytes <= r->buffer ? 1 : (bytes + r->buffer - 1) / r->buffer;
}

/* Copies a frame into buffers and writes its descriptors back, faults included; there are enough.
 * False when an address is not memory: the queue stops. */
bool rx_queue_place(struct model *m, unsigned q, const struct delivery *d);

#endif
