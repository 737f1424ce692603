/*
 * The packets and buffers that a test of a driver's ring half holds of its pool (ixgbe_rig.h,
 * mlx5_ring_rig.h, virtio_rig.h).
 */
#ifndef TESTS_UNIT_HAND_H
#define TESTS_UNIT_HAND_H

#include "drivers/nic.h"
#include "tests/unit/guest.h"

#define BUFS_MAX 2200
extern struct hand {
	struct bufpool *pool;
	struct nic_counters *cnt; /* of the ring pair */
	unsigned n;
	struct pkt pkt[BUFS_MAX];
	unsigned nkept;
	uint32_t kept[BUFS_MAX]; /* counted buffers that it holds beside a ring */
} hand;

/* Nothing, of this pool. */
void hand_empty(struct bufpool *pool, struct nic_counters *cnt);
/* Takes `n` buffers in hand, with frames seq, seq + 1, ...; one as a chain (take_chain). */
void take_frames(unsigned n, uint32_t seq);
void take_frags(uint32_t seq, unsigned frags);
/* Makes the packet one of so many holders of its buffer; the others are the test's, which lets go
 * of one, or of all. */
void keep(struct pkt *p, unsigned holders);
void let_go_of_kept(unsigned i);
void let_go_of_all_kept(void);
/* Gives all packets in hand back to the pool. */
void let_go(void);

/* Begins with the owners that are known: of what is free, of what the test holds. */
void assert_hand(void);

#endif
