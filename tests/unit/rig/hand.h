/*
 * What the rigs of drivers' ring halves share (intel_rig.h, mlx5_ring_rig.h, virtio_rig.h): their
 * memory, the packets and buffers that a test holds from its pool ("in hand"), and the check that
 * no register is read (ARCHITECTURE.md, Invariants, 4).
 */
#ifndef TESTS_UNIT_RIG_HAND_H
#define TESTS_UNIT_RIG_HAND_H

#include "drivers/nic.h"
#include "tests/unit/rig/guest.h"

#define BUFS_MAX 2200
extern struct hand {
	struct bufpool *pool;
	struct nic_counters *cnt; /* of the ring pair */
	unsigned n;
	struct pkt pkt[BUFS_MAX];
	unsigned nkept;
	uint32_t kept[BUFS_MAX]; /* shared buffers that it holds besides a ring */
} hand;

/* Begins a test: zeroed guest memory for rings, which it returns, and behind it a fresh pool with
 * nothing in hand. Memory around the two is poisoned: ASan reports accesses beyond them. */
uint8_t *hand_begin(struct bufpool *pool, uint32_t *stack, struct nic_counters *cnt,
                    size_t ring_bytes, unsigned buffers, uint32_t stride);
/* Adds received packets to those in hand; hands the first n packets in hand to the driver. */
void hand_takes(const struct pkt *v, unsigned n);
void hand_gave(unsigned n);
/* Takes `n` buffers in hand, with frames seq, seq + 1, ...; one frame as a chain (take_chain). */
void take_frames(unsigned n, uint32_t seq);
void take_frags(uint32_t seq, unsigned frags);
/* Makes the packet one of `holders` holders of its buffer; the test is the others, and releases one
 * of them, or all. */
void keep(struct pkt *p, unsigned holders);
void let_go_of_kept(unsigned i);
void let_go_of_all_kept(void);
/* Returns all packets in hand to the pool. */
void let_go(void);

/* Begins accounting with the known owners: free buffers, and buffers that the test holds. */
void assert_hand(void);

#endif
