/*
 * The ring half of the virtio-net driver: split virtqueues (VIRTIO 1.2, 2.7) as one data core polls
 * them. It handles memory and ownership, and no register, so the same source runs on the host
 * against a model and a hostile device (tests/unit/drivers/virtio_net/test_virtio_ring.c, test_virtio_hostile.c).
 *
 * The 12-byte header lies just before the frame, in the same buffer: one descriptor covers both. A
 * sent frame in pieces (PKT_CHAIN) is a chain of descriptors, one for each piece (2.7.5,
 * VIRTQ_DESC_F_NEXT; by 2.7.4 the driver may divide header and frame among descriptors as it
 * likes).
 *
 * Invariants
 * 1. rx: descriptor i is the device's while owner[i] is a buffer number, ours while it is NONE. All
 *    descriptors are the device's except those that an empty pool could not refill.
 * 2. tx: a packet takes one entry of avail and one of used, which `head` and `tail` count, and as
 *    many consecutive descriptors as it has pieces, which `next` and `done` count. owner[] of its
 *    first descriptor is its buffer, marked if it is not a plain one; owner[] of the others is
 *    NONE. Descriptors [done, next) are the device's or wait for an older one that is. Completions
 *    may come in any order. `done` stops at the first descriptor with an owner, so it passes the
 *    rest of a chain only when the device has returned the whole chain. avail.ring[k] names
 *    descriptor k + next - head, except for the next `stale` entries: an entry is written once, and
 *    again during one round of the ring after a chain.
 * 3. Everything the device writes (used.idx, used.ring) is checked before use, against: an index
 *    ahead of what was given; an id that is out of range, not the device's, or not the first of its
 *    chain; a length that the buffer cannot have. A false index breaks the queue. A bad entry is
 *    counted and skipped. It breaks the queue if it leaves nothing that the device could return.
 * 4. rx: a frame that the device spread over several buffers (5.1.6.4) is dropped with all of them.
 *    Only the first has a header; in the others the sender could have forged one.
 * 5. tx, slots: entry i of avail always names the same descriptor, so sending is a new avail.idx
 *    and nothing else. That is descriptor i or, for a device that keeps the order, the one whose
 *    turn it was when slots were opened. Slots [slot_done, head) are the device's or wait for an
 *    older one that is. As long as completions come in order slot_done is `tail` and owner[] is not
 *    read. Otherwise owner[] has SLOT_DONE for those that came early, NONE for the others.
 *    Invariant 3 holds as for packets.
 * 6. A device that keeps the order (VIRTIO_F_IN_ORDER, 2.7.9) gets descriptors in table order, and
 *    used.idx alone says how many of the oldest are back: used entries of a transmit ring are not
 *    read. rx: entry k of avail names descriptor k. A used entry names the last buffer of a batch
 *    and its length. The others of the batch are full and have no entry. An entry that names a
 *    buffer beyond used.idx breaks the queue.
 *
 * Order: descriptor and avail.ring, then (write barrier) avail.idx, then the doorbell. used.idx,
 * then (read barrier) used.ring and the frame.
 *
 * VIRTIO 1.2, 2.7.13.4.1 requires a full barrier between writing avail.idx and reading used.flags.
 * Without it we may see the old flags while the device sees the old index, and no notification is
 * sent. That barrier waits until every store of the burst reaches lines that the device has just
 * read, and reading used.flags fetches a line that the device is writing. Together they took more
 * than half of the cycles of a packet, measured against a polling backend. So the driver uses the
 * flags that were loaded with used.idx (for slots not at each burst: virtio_slots_free), which is
 * enough while bursts follow each other. In the second idle turn virtio_settle reads them again
 * behind a barrier, so no notification is lost for good.
 */
#ifndef DRIVERS_VIRTIO_NET_RING_H
#define DRIVERS_VIRTIO_NET_RING_H

#include "drivers/nic.h"
#include "drivers/virtio_net/spec.h"

/* Entries in a cache line, which one prefetch covers. */
#define VIRTIO_DESC_PER_LINE (CACHE_LINE / sizeof(struct virtq_desc))
#define VIRTIO_USED_PER_LINE (CACHE_LINE / sizeof(struct virtq_used_elem))

#define VIRTIO_RING_MAX 1024 /* descriptors; more would only cost cache */
#define VIRTIO_NONE UINT32_MAX
#define VIRTIO_CHAIN_MAX (1 + PKT_FRAGS_MAX) /* of a sent chain; a ring has at least as many */

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
	uint16_t stale;          /* tx: entries of avail, from head on, that must be rewritten */
	uint16_t most;           /* rx: descriptors that shall have a buffer */
	uint16_t missing;        /* rx: those of them without one */
	uint8_t port;            /* rx: stored in every packet */
	bool notify;             /* the device wants notifications, by our last look at used.flags */
	bool csum;               /* tx: the device completes checksums (VIRTIO_NET_F_CSUM) */
	bool ecn;                /* tx: segments frames with CWR correctly (VIRTIO_NET_F_HOST_ECN) */
	bool in_order;           /* the device keeps the order (VIRTIO_F_IN_ORDER) */
	uint8_t unsettled;       /* idle turns until virtio_settle looks again behind a barrier; 0: done */
	uint16_t skip;           /* rx: coming used buffers of a frame already dropped */
	uint16_t batch;          /* rx, in order: coming used buffers that share an entry */
	uint32_t batch_len;      /* the length of the last of them */
	uint16_t slot_done;      /* tx, slots: slots before this one are free */
	uint16_t slot_base;      /* tx, slots: descriptor of slot 0 */
	uint16_t slot_asked;     /* tx, slots: `head` at the last call of virtio_slots_free */
	uint8_t slot_spared;     /* tx, slots: reads of used.idx omitted since the last one */
};

/* Bytes of one ring including its owner table, a multiple of 64. */
size_t virtio_ring_bytes(unsigned size);

/* Computes where the parts of a ring of `size` descriptors lie in mem; does not access mem. */
void virtio_ring_layout(struct virtio_ring *r, void *mem, unsigned size);

/* The same, and initialises the zeroed memory: nothing available, interrupts off. */
void virtio_ring_init(struct virtio_ring *r, void *mem, unsigned size);

/* Gives buffers to all descriptors, at most `most` and as many as the pool has, and makes them
 * available. */
void virtio_rx_fill(struct virtio_ring *r, uint32_t most, struct bufpool *pool,
                    struct nic_counters *cnt);

/*
 * Receives up to max frames into v, and replaces their buffers from the pool. Sets *broken if the
 * ring is broken. `offload`: the device may leave checksums to us (VIRTIO_NET_F_GUEST_CSUM).
 */
unsigned virtio_rx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         struct pkt *v, unsigned max, bool offload, bool *broken);

/* As nic_ops.tx_burst. Packets with PKT_CSUM_PARTIAL are sent with NEEDS_CSUM, or completed here;
 * those with PKT_TSO and PKT_USO only if the device supports it. */
unsigned virtio_tx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         const struct pkt *v, unsigned n, bool *broken);

/* As nic_ops.slots_open and the others. */
unsigned virtio_slots_open(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                           bool *broken);
void virtio_slots_put(struct virtio_ring *r, unsigned first, const struct nic_slot *s, unsigned n);
unsigned virtio_slots_free(struct virtio_ring *r, struct nic_counters *cnt, bool *broken);
void virtio_slots_send(struct virtio_ring *r, struct nic_counters *cnt, unsigned n, uint64_t bytes);

/* Called in a turn without packets: ensures that the device learns of all that was published. */
void virtio_settle(struct virtio_ring *r, struct nic_counters *cnt);

/* Turns receive interrupts on or off; returns true if frames wait already. */
bool virtio_rx_interrupt(struct virtio_ring *r, bool arm);

/* Returns all buffers in the ring, of either direction, to the pool. The device is stopped. */
void virtio_release(struct virtio_ring *r, struct bufpool *pool);

/* Used buffers that were not taken from the stopped ring in mem: `place` is the last rx_place. At
 * most `size`. */
unsigned virtio_rx_left(const void *mem, unsigned size, uint64_t place);

#endif
