/*
 * drivers/vmxnet3/ring*.c on one side, a device on the other, guest memory and two doorbells between them. The
 * device has offsets of its own (FreeBSD's if_vmxreg.h) and shares no layout with the driver. It takes only
 * descriptors with its generation, and only up to its doorbell: a real one may do with the generation alone. Guest
 * memory around the rings is poisoned. A read of a register fails the test.
 *
 * Every test ends in a teardown that finds each buffer with exactly one owner: pool, a ring, or the test.
 */
#ifndef TESTS_UNIT_RIG_VMXNET3_RIG_H
#define TESTS_UNIT_RIG_VMXNET3_RIG_H

#include "drivers/vmxnet3/ring.h"
#include "tests/unit/rig/ring_rig.h"

#define ROOM (BUF_STRIDE_STANDARD - BUF_DATA_OFFSET) /* in a buffer, for a frame */
#define QUEUE 3u /* the receive queue's number */

/* The first descriptor of a sent frame as the device read it, and how many it had. */
struct sent {
	uint32_t len_word, how; /* its third and fourth word */
	unsigned pieces;
};

extern struct world {
	struct bufpool pool;
	uint32_t stack[BUFS_MAX];
	struct nic_counters cnt;
	struct vmxnet3_rx rx;
	struct vmxnet3_tx tx;
	bool broken;
	unsigned size;
	uint8_t *rings, *rx_desc, *rx_comp, *tx_desc, *tx_comp;
	/* the device; positions count up */
	bool hostile;                  /* it writes anywhere, so its state cannot be checked */
	unsigned rx_told, tx_told;     /* doorbells, as positions */
	unsigned rx_writes, tx_writes; /* writes of them */
	unsigned rx_at, tx_at;         /* next descriptors */
	unsigned rx_done, tx_done;     /* next completions */
	unsigned wanted;               /* completions not written yet, of these frames: */
	unsigned ends[BUFS_MAX];       /* index of the last descriptor */
} w;

/* Zeroed rings, a fresh pool, first fill. */
void start(unsigned size, unsigned buffers, uint32_t stride);

/* Completes the next descriptor; the words as the device writes them, without index, queue and generation. */
void device_complete(uint32_t first, uint64_t end);
/* Writes any completion; `end` without generation. */
void device_write(uint32_t first, uint64_t end);
/* Words of a good frame. */
#define WHOLE (1u << 14 | 1u << 15)

/* The device sends its next frame, whose bytes it copies. */
struct sent device_gather(uint8_t *to, unsigned *bytes);
void device_tx_write(uint32_t index);

#endif
