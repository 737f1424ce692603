/*
 * The ring half of the virtio-net driver: split virtqueues (VIRTIO 1.2, 2.7) as one data core
 * polls them. Knows memory and ownership, no register: the same source runs against a model, and
 * a hostile device, on the host (tests/unit/test_virtio_ring.c, test_virtio_hostile.c).
 *
 * The 12-byte header lies just before the frame, in the same buffer: one descriptor for both. A
 * sent frame in pieces (PKT_CHAIN) is a chain of descriptors, one for each piece (2.7.5,
 * VIRTQ_DESC_F_NEXT; 2.7.4: header and frame may be cut as one likes).
 *
 * Invariants
 * 1. rx: descriptor i is the device's while owner[i] is a buffer number, ours while it is NONE.
 *    All descriptors are the device's except those a pool without buffers could not refill.
 * 2. tx: a packet has one place in avail and one in used, which `head` and `tail` count, and as
 *    many descriptors as pieces, one after the other, which `next` and `done` count. owner[] of
 *    its first descriptor is its buffer, marked if it is not a plain one; of the others it is NONE.
 *    Descriptors [done, next) are the device's or wait for an older one that is. Completions may
 *    come in any order; `done` stops at the first descriptor with an owner, so it passes over the
 *    rest of a chain only when the device has given back the whole.
 *    avail.ring[k] names descriptor k + next - head, but for the `stale` next places: it is written
 *    once, and again for one round of the ring after a chain.
 * 3. What the device writes (used.idx, used.ring) is checked before use: an index that runs ahead
 *    of what was given, an id out of range, not the device's or not the first of its
 *    chain, a length the buffer cannot have. An index that lies breaks the queue; a bad entry is
 *    counted and skipped, and breaks the queue when, for it, nothing is left that the device could
 *    return.
 * 4. rx: a frame that the device spread over several buffers (5.1.6.4) is dropped with all of them.
 *    Only the first has a header; in the others the sender could have written one.
 *
 * 5. tx, slots: place i of avail names the same descriptor for ever, so sending is a new avail.idx
 *    and nothing else: descriptor i or, of a device that keeps the order, the one whose turn it was
 *    when slots were opened. Slots [slot_done, head) are the device's or wait for an older one that
 *    is; as long as completions come in order slot_done is `tail` and owner[] is not looked at.
 *    Else owner[] has SLOT_DONE for those that came early, NONE for the others. Invariant 3 holds
 *    as for packets.
 * 6. A device that keeps the order (VIRTIO_F_IN_ORDER, 2.7.9) gets descriptors in the order of the
 *    table, and used.idx alone says how many of the oldest are back: used entries of a transmit
 *    ring are not read. rx: place k of avail names descriptor k. An entry tells the last buffer of
 *    a batch, and its length; the others of the batch are full, and have no entry. One that names
 *    a buffer behind used.idx breaks the queue.
 *
 * Order: descriptor and avail.ring, then (write barrier) avail.idx, then the doorbell. used.idx,
 * then (read barrier) used.ring and the frame.
 *
 * VIRTIO 1.2, 2.7.13.4.1 wants a full barrier between avail.idx and used.flags, else both sides
 * may miss each other: we see the old flags, the device the old index. That barrier waits for
 * every store of the burst to reach lines the device has just read, and the look at used.flags
 * fetches a line the device is writing: together more than half of the cycles of a packet,
 * measured against a polling backend. So the flags are those that came along with used.idx (of
 * slots not for each burst: virtio_slots_free), which is enough while bursts follow each other, and
 * virtio_settle looks once more, behind a barrier, in the second idle turn: nothing stays
 * unnoticed.
 */
#ifndef DRIVERS_VIRTIO_NET_RING_H
#define DRIVERS_VIRTIO_NET_RING_H

#include "drivers/nic.h"
#include "drivers/virtio_net/spec.h"

/* Entries in a cache line: what a prefetch covers. */
#define VIRTIO_DESC_PER_LINE (CACHE_LINE / sizeof(struct virtq_desc))
#define VIRTIO_USED_PER_LINE (CACHE_LINE / sizeof(struct virtq_used_elem))

#define VIRTIO_RING_MAX 1024 /* descriptors; more would only cool the cache */
#define VIRTIO_NONE UINT32_MAX
#define VIRTIO_CHAIN_MAX (1 + PKT_FRAGS_MAX) /* a sent chain; a ring has to be as large */

struct virtio_ring {
	struct virtq_desc *desc;
	struct virtq_avail *avail;
	struct virtq_used *used;
	uint32_t *owner;         /* buffer in descriptor i, or VIRTIO_NONE */
	volatile void *doorbell; /* where to write the queue's number */
	uint16_t queue;          /* that number */
	uint16_t size;           /* a power of two */
	uint16_t head;           /* next avail index we write */
	uint16_t tail;           /* next used index we read */
	uint16_t next;           /* tx: next descriptor we fill */
	uint16_t done;           /* tx: descriptors before this one are free again */
	uint16_t stale;          /* tx: places of avail from head on that are to be written */
	uint16_t most;           /* rx: descriptors that are to have a buffer */
	uint16_t missing;        /* rx: those of them without one */
	uint8_t port;            /* rx: goes into every packet */
	bool notify;             /* the device wants to be told, as of our last look at used.flags */
	bool csum;               /* tx: the device completes checksums (VIRTIO_NET_F_CSUM) */
	bool ecn;                /* tx: and knows what CWR is (VIRTIO_NET_F_HOST_ECN) */
	bool in_order;           /* the device keeps the order (VIRTIO_F_IN_ORDER) */
	uint8_t unsettled;       /* idle turns until virtio_settle looks again behind a barrier; 0: done */
	uint16_t skip;           /* rx: used buffers to come that belong to a frame dropped already */
	uint16_t batch;          /* rx, in order: used buffers to come that share an entry, */
	uint32_t batch_len;      /* and the length of the last of them */
	uint16_t slot_done;      /* tx, slots: those before this place are ours */
	uint16_t slot_base;      /* tx, slots: descriptor of slot 0 */
	uint16_t slot_asked;     /* tx, slots: `head` when virtio_slots_free was called last */
	uint8_t slot_spared;     /* tx, slots: looks at used.idx left out since the last one */
};

/* Bytes of one ring with its owner table, a multiple of 64. */
size_t virtio_ring_bytes(unsigned size);

/* Where the parts of a ring of `size` descriptors lie in mem; touches nothing there. */
void virtio_ring_layout(struct virtio_ring *r, void *mem, unsigned size);

/* The same, and prepares the zeroed memory: nothing available, interrupts off. */
void virtio_ring_init(struct virtio_ring *r, void *mem, unsigned size);

/* Gives every descriptor a buffer (or `most` of them, or as many as the pool has) and makes them
 * available. */
void virtio_rx_fill(struct virtio_ring *r, uint32_t most, struct bufpool *pool,
                    struct nic_counters *cnt);

/*
 * Up to max received frames into v, buffers replaced from the pool. A broken ring sets *broken.
 * `offload`: the device may leave checksums to us (VIRTIO_NET_F_GUEST_CSUM).
 */
unsigned virtio_rx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         struct pkt *v, unsigned max, bool offload, bool *broken);

/* As nic_ops.tx_burst. Packets with PKT_CSUM_PARTIAL are sent with NEEDS_CSUM, or completed; those
 * with PKT_TSO and PKT_USO only where the device does it. */
unsigned virtio_tx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         const struct pkt *v, unsigned n, bool *broken);

/* As nic_ops.slots_open and the others. */
unsigned virtio_slots_open(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                           bool *broken);
void virtio_slots_put(struct virtio_ring *r, unsigned first, const struct nic_slot *s, unsigned n);
unsigned virtio_slots_free(struct virtio_ring *r, struct nic_counters *cnt, bool *broken);
void virtio_slots_send(struct virtio_ring *r, struct nic_counters *cnt, unsigned n, uint64_t bytes);

/* In a turn without packets: makes certain that the device knows of all that was published. */
void virtio_settle(struct virtio_ring *r, struct nic_counters *cnt);

/* Turns receive interrupts on or off; true when frames wait already. */
bool virtio_rx_interrupt(struct virtio_ring *r, bool arm);

/* Used buffers of a ring that is stopped, which lies in mem, that were not taken: `place` is the last
 * rx_place. At most `size`. */
unsigned virtio_rx_left(const void *mem, unsigned size, uint64_t place);

#endif
