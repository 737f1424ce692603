/*
 * Receive queues: their registers (8.2.3.8), the rings (7.1.9, 7.1.10) and descriptors (7.1.5,
 * 7.1.6). This file does not parse frames: rx.c chooses the queue and the descriptor fields.
 *
 *   RDH == RDT: the device owns none. RDH .. RDT - 1: owned. It writes back at once, one by one.
 */
#ifndef NICSIM_INTEL_RX_QUEUE_H
#define NICSIM_INTEL_RX_QUEUE_H

#include "tools/nicsim/intel/state.h"

/* A descriptor, as the driver writes and reads it. */
struct rxd {
	uint64_t low;  /* buffer address; written back: RSS type, packet type, hash */
	uint64_t high; /* header buffer address; written back: status, length, VLAN tag */
};

/* A frame to be placed in a ring, in one or two pieces, and its descriptor fields. */
struct delivery {
	uint64_t low;        /* first quad-word written back */
	uint32_t status;     /* without DD and EOP */
	uint32_t tag;        /* the stripped VLAN tag, or 0 */
	const uint8_t *head; /* bytes before the stripped tag, or all */
	uint32_t head_bytes;
	const uint8_t *rest; /* not set when rest_bytes is 0 */
	uint32_t rest_bytes;
};

void rx_queue_reset(struct model *m);

/* `within` is the register's offset in its queue's block, such as Q_TAIL. */
void rx_queue_write(struct model *m, unsigned q, uint32_t within, uint32_t value);

/* Applies pending changes of ENABLE that are due; n->settle_due is the next time. */
void rx_queue_settle(struct model *m);

/* Line-rate mode: rx_queue_scan reads ENABLE and VME of all mapped queues from memory,
 * rx_queue_look ENABLE and the tail of one. */
void rx_queue_scan(struct model *m);
void rx_queue_look(struct model *m, unsigned q);

/* The ring's memory, looked up once per call from outside; NULL: not memory, and the queue
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

/* Copies a frame into buffers and writes its descriptors back, applying faults; there must be
 * enough descriptors. False when an address is not memory: the queue stops. */
bool rx_queue_place(struct model *m, unsigned q, const struct delivery *d);

#endif
