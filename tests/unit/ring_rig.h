/*
 * What the rigs of ixgbe's and mlx5's ring halves both have (ixgbe_rig.h, mlx5_ring_rig.h), and the
 * tests that both pass (ring_tests.c): what nic_ops says of rx_burst and tx_burst. (A device of
 * virtio completes in any order: test_virtio_ring.c.)
 */
#ifndef TESTS_UNIT_RING_RIG_H
#define TESTS_UNIT_RING_RIG_H

#include "drivers/nic.h"
#include "tests/unit/hand.h"

extern const struct ring_card {
	unsigned kept_back;   /* places of a ring that are never used */
	unsigned data_offset; /* where a received frame begins in its buffer */
	unsigned kinds;       /* ways to send, or to complete: */
	unsigned kinds_of_a_place; /* in the first of them a plain frame takes one place at most */
} ring_card;

/* Zeroed rings, a fresh pool, first fill with `most` buffers. */
void start_kind(unsigned size, unsigned buffers, uint32_t most, unsigned kind);

/* Descriptors, or WQEs, that the device may fill. */
unsigned device_room(void);
/* Where the next frame goes; fails the test when the device has none. */
uint8_t *device_buffer(void);
/* A good frame. */
void device_receive(uint32_t seq);
/* Places of the transmit ring that the device was told of and has not sent. */
unsigned device_waiting(void);
/* It sends its next frame, which has to be the plain one `seq`. */
void device_send(uint32_t seq);
/* Tells the driver of all that was sent so far and asked for a report. */
void device_report(void);

/* Bursts into the hand and out of it. */
unsigned rx(unsigned max);
unsigned tx(void);
/* What the driver thinks of rx(): there is something. */
bool rx_waiting(void);
/* What it would say is left in the ring, were it stopped now. */
unsigned rx_left(void);

void assert_accounted(void);
int teardown(void **state);

/* The tests, for each kind of sending; after a group that has mapped guest memory. Returns how many
 * failed. */
int run_ring_tests(void);

#endif
