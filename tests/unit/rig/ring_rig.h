/*
 * What the rigs of ixgbe's and mlx5's ring halves share (intel_rig.h, mlx5_ring_rig.h), and the
 * tests that both pass (ring_tests.c): what nic_ops says of rx_burst and tx_burst. (A virtio device
 * completes in any order: test_virtio_ring.c.)
 */
#ifndef TESTS_UNIT_RIG_RING_RIG_H
#define TESTS_UNIT_RIG_RING_RIG_H

#include "drivers/nic.h"
#include "tests/unit/rig/hand.h"

extern const struct ring_card {
	unsigned kept_back;   /* places of a ring that are never used */
	unsigned data_offset; /* where a received frame begins in its buffer */
	unsigned kinds;       /* kinds of sending or completion */
	unsigned kinds_of_a_place; /* in the first so many a plain frame takes at most one place */
} ring_card;

/* Zeroed rings, a fresh pool, first fill with `most` buffers. */
void start_kind(unsigned size, unsigned buffers, uint32_t most, unsigned kind);

/* Descriptors or WQEs that the device may fill. */
unsigned device_room(void);
/* Address for the next frame; fails the test if the device has none. */
uint8_t *device_buffer(void);
/* Receives a good frame. */
void device_receive(uint32_t seq);
/* Places of the transmit ring that the device was told of and has not sent. */
unsigned device_waiting(void);
/* The device sends its next frame, which must be the plain one `seq`. */
void device_send(uint32_t seq);
/* Reports to the driver everything sent so far that requested a report. */
void device_report(void);

/* A burst received into the hand; a burst sent from it. */
unsigned rx(unsigned max);
unsigned tx(void);
/* What the driver expects of rx(): true if there is something. */
bool rx_waiting(void);
/* What the driver would report as left in the ring if it were stopped now. */
unsigned rx_left(void);

/* As nic_ops.release: the device is stopped. */
void release(void);

void assert_accounted(void);
int teardown(void **state);

/* Runs the tests for each kind of sending; after a group that has mapped guest memory. Returns the
 * number of failed tests. */
int run_ring_tests(void);

#endif
