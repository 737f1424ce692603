/*
 * A virtio device for unit tests, one virtqueue at a time, written from "Virtual I/O Device
 * (VIRTIO) Version 1.2" (2.7 split virtqueues, 5.1.6 network device operation) with offsets of its
 * own: it shares no layout with the driver, so that one misreading cannot hide in both.
 *
 * The machine around it: guest.h, and the registers of tests/unit/twin/hal/mmio.h.
 *
 * A violation by the driver fails the test at once.
 */
#ifndef TESTS_UNIT_RIG_VIRTQ_DEVICE_H
#define TESTS_UNIT_RIG_VIRTQ_DEVICE_H

#include "tests/unit/rig/guest.h"

#define VQ_MAX 1024

enum { HEADER = 12 }; /* 5.1.6: struct virtio_net_hdr with num_buffers */

struct chain { /* indexed by its first descriptor */
	bool held; /* made available and not yet used */
	uint64_t addr; /* of its first piece */
	uint32_t len;
	unsigned pieces; /* more than one only in chains to be read */
};

struct vq {
	uint64_t desc, avail, used; /* bus addresses of the three parts */
	unsigned size;
	uint16_t number;
	bool writable;    /* the device may write its buffers: a receive queue */
	bool strict;      /* the device has complied so far, so the driver must too, in everything */
	bool in_order;    /* VIRTIO_F_IN_ORDER is negotiated: batches are as large as possible */
	uint16_t turn;    /* in order: the descriptor that the driver must use next */
	bool open;        /* in order: the entry at `first` may still grow */
	uint16_t first;
	uint16_t seen;    /* avail entries taken */
	uint16_t idx;     /* used.idx */
	unsigned rings;   /* of the doorbell */
	unsigned n;       /* descriptors held, in order of arrival: */
	uint16_t fifo[VQ_MAX];
	struct chain chain[VQ_MAX];
	bool busy[VQ_MAX]; /* descriptors of chains that are held */
};

/* 2.7.5.2, 2.7.6: takes everything that the driver has made available. */
void device_take(struct vq *q);

/* 4.1.5.2: the driver has written `v` of `bytes` bytes to the queue's doorbell. */
void device_doorbell(struct vq *q, unsigned bytes, uint32_t v);

/* Copies the bytes of a chain that is held; they must not have changed. */
unsigned device_read(const struct vq *q, unsigned id, uint8_t *to);

/* 2.7.8.2: writes a used entry, which counts once device_publish() has been called. In order, there
 * is one entry for each batch (2.7.9), in the place of its first buffer. */
void device_use(struct vq *q, uint32_t id, uint32_t len);
void device_publish(struct vq *q);

/* Removes the i-th oldest descriptor from the device's list, and returns it. */
unsigned device_pick(struct vq *q, unsigned i);

/* used.flags. */
void device_wants_doorbell(struct vq *q, bool wants);

/* 5.1.6: the header fields that are set before a frame; the rest is zero. */
struct header {
	uint8_t flags, gso_type;
	uint16_t csum_start, csum_offset, num_buffers;
};
void store_header(uint64_t at, struct header h);

#endif
