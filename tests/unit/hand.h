/*
 * What the rigs of drivers' ring halves share (ixgbe_rig.h, mlx5_ring_rig.h, virtio_rig.h): their
 * memory, the packets and buffers that a test holds of its pool, that no register is read
 * (ARCHITECTURE.md, Invariants, 4).
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

/* Begins a test: zeroed guest memory for rings, which it returns, and behind it a fresh pool, of
 * which nothing is in hand. Memory around the two is poisoned: ASan reports who leaves them. */
uint8_t *hand_begin(struct bufpool *pool, uint32_t *stack, struct nic_counters *cnt,
                    size_t ring_bytes, unsigned buffers, uint32_t stride);
/* Received packets come into the hand; the first n packets in it are the driver's. */
void hand_takes(const struct pkt *v, unsigned n);
void hand_gave(unsigned n);
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
