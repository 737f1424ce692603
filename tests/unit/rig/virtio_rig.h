/*
 * drivers/virtio_net/ring.c on one side, a device (virtq_device.h) on the other, guest memory and
 * two doorbells between them. The device takes what is available at the moment its doorbell rings,
 * so it would not see a descriptor published later. Guest memory around the rings is poisoned: ASan
 * reports accesses beyond them. A read of a register fails the test (ARCHITECTURE.md, invariant 4).
 *
 * Every test ends in a teardown that finds each buffer with exactly one owner: pool, a ring, or the
 * test.
 */
#ifndef TESTS_UNIT_RIG_VIRTIO_RIG_H
#define TESTS_UNIT_RIG_VIRTIO_RIG_H

#include "drivers/virtio_net/ring.h"
#include "tests/unit/rig/hand.h"
#include "tests/unit/rig/virtq_device.h"

#define ROOM (BUF_STRIDE_STANDARD - BUF_DATA_OFFSET) /* in a buffer, for a frame */

extern struct world {
	struct bufpool pool;
	uint32_t stack[BUFS_MAX];
	struct nic_counters cnt;
	struct virtio_ring rx, tx; /* the driver's */
	struct vq drx, dtx;        /* the device's */
	bool offload, broken;
} w;

/* As a data core does: zeroed rings of `size` descriptors, a fresh pool, attach, and the first
 * turns, in which nothing arrives. */
void start(unsigned size, unsigned buffers);

/* Whether start() negotiates VIRTIO_F_IN_ORDER from here on: before a second group of tests. */
void set_in_order(bool on);
int negotiate_in_order(void **s);

extern const struct header plain_header;

/* The device receives frame `seq` into the i-th oldest descriptor it holds. */
void device_receive(unsigned i, uint32_t seq);

/* The device sends the i-th oldest frame it holds, which must be `seq`, plain. */
void device_send(unsigned i, uint32_t seq);

/* A burst of at most `max` into the test's hands. */
unsigned rx(unsigned max);

/* Sends what is in hand; refused packets stay there. */
unsigned tx(void);

/* Does what the driver does in turns of the loop without packets. */
void idle_turns(unsigned n);

/* Every buffer has exactly one owner, and the rings know what they have. */
void assert_accounted(void);

int teardown(void **s);

/* Teardown of tests in which the device complies: no counter blames it. */
int teardown_good(void **s);

#endif
