/*
 * The ring half of the vmxnet3 driver: the rings of one pair as one data core polls them. It handles memory and
 * ownership, and no register but its two doorbells, so the same source runs on the host against a model and a
 * hostile device (tests/unit/drivers/vmxnet3/). ring.c receives, ring_tx.c sends, ring_slots.c sends prepared
 * frames.
 *
 * Invariants
 * 1. Positions count up for ever; an entry is its position modulo the ring's size, a power of two. In even rounds
 *    valid entries have the generation bit 1, in odd rounds 0.
 * 2. rx: descriptors [head, tail) are the device's, and owner[] has their buffers. One descriptor is kept back, so
 *    that the index in the doorbell is never ambiguous. The device returns them in order, and may pass over some.
 * 3. tx: descriptors [tail, head) are the device's. owner[] has a frame at its last descriptor, NONE at the others.
 *    Nothing of a frame is freed before the device has returned its last descriptor.
 * 4. Everything the device writes is loaded once and checked: an index outside of what it was given, another
 *    queue's number, a length that the buffer cannot have. The generation bit is only compared. A bad receive
 *    completion is counted and skipped; a bad transmit completion breaks the queue.
 * 5. A frame is one buffer: the device is told so (vmxnet3_shared.rx_pieces). What it spreads over several is
 *    dropped with all of them.
 * 6. A frame in more pieces than the device takes is gathered into fresh buffers.
 * 7. tx, slots: a descriptor stays as put, with the generation of the round before; sending it flips that bit.
 *
 * Order: the other words of a descriptor, then (write barrier) the word with its generation bit; of a frame in
 * pieces the first descriptor's comes last; then the doorbell. A completion's generation bit, then (acquire) the
 * rest of it and the frame.
 */
#ifndef DRIVERS_VMXNET3_RING_H
#define DRIVERS_VMXNET3_RING_H

#include "drivers/nic.h"
#include "drivers/vmxnet3/spec.h"

#define VMXNET3_RING_SIZE 1024
/* Completions of a receive queue: room for those of both its rings, as the public drivers have it. */
#define VMXNET3_RX_COMPS(size) (2 * (size))

/* New receive descriptors per doorbell, at most; QEMU ignores this doorbell, and each one is a VM exit. */
#define VMXNET3_RX_BULK 64

#define VMXNET3_NONE 0x7fffffffu /* no buffer */
/* In the owner of a sent frame. NONE, too, is above all buffer numbers. */
#define VMXNET3_OWNER_FLAGS_SHIFT 24
#define VMXNET3_OWNER_BUF ((1u << 29) - 1)
_Static_assert((PKT_SHARED | PKT_CHAIN) << VMXNET3_OWNER_FLAGS_SHIFT == 0x60000000, "above");
_Static_assert(BUF_STRIDE_JUMBO <= VMXNET3_LEN_MAX, "any piece fits a descriptor");

struct vmxnet3_rx {
	struct vmxnet3_rx_desc *desc;
	struct vmxnet3_rx_comp *comp;
	uint32_t *owner;
	volatile void *doorbell;
	uint32_t mask;      /* of descriptors */
	uint32_t comp_size;
	uint32_t head;      /* oldest descriptor of the device's */
	uint32_t tail;      /* next to be given a buffer */
	uint32_t told;      /* position in the last doorbell */
	uint32_t done;      /* next completion */
	uint32_t most;      /* descriptors with a buffer, below size */
	uint32_t bulk;
	uint32_t queue;     /* number that completions must have */
	bool csum, vlan;    /* the device checks checksums, strips tags */
	bool dropping;      /* a frame over several descriptors, until its end */
	uint8_t port;       /* stored in every packet */
};

struct vmxnet3_tx {
	struct vmxnet3_tx_desc *desc;
	struct vmxnet3_tx_comp *comp;
	uint32_t *owner;
	volatile void *doorbell;
	uint32_t mask;      /* of descriptors and completions */
	uint32_t head;      /* next to be filled */
	uint32_t tail;      /* oldest not known to be sent */
	uint32_t done;      /* next completion */
	uint32_t slot_base; /* slots: position of slot 0 */
};

/* Offsets of the parts of a pair's memory, multiples of VMXNET3_RING_ALIGN. `body` is the second ring of a receive
 * queue, of VMXNET3_RING_MULTIPLE descriptors without buffers. */
struct vmxnet3_layout {
	size_t rx_desc, body, rx_comp, tx_desc, tx_comp, rx_owner, tx_owner, bytes;
};
struct vmxnet3_layout vmxnet3_layout(unsigned size);

/* Initialise rings of `size` descriptors (a power of two) in zeroed memory. rx: `most` of them shall have buffers,
 * at most all but one. The caller then sets what is not memory: doorbell; rx: queue, csum, vlan, port. */
void vmxnet3_rx_init(struct vmxnet3_rx *r, void *mem, unsigned size, uint32_t most);
void vmxnet3_tx_init(struct vmxnet3_tx *r, void *mem, unsigned size);

/* Gives buffers to all descriptors that shall have some, as far as the pool has any, and tells the device. */
void vmxnet3_rx_fill(struct vmxnet3_rx *r, struct bufpool *pool, struct nic_counters *cnt);

/* As nic_ops.rx_burst. */
unsigned vmxnet3_rx_burst(struct vmxnet3_rx *r, struct bufpool *pool, struct nic_counters *cnt, struct pkt *v,
                          unsigned max);

/* True if a completion waits. */
bool vmxnet3_rx_waiting(const struct vmxnet3_rx *r);

/* Good frames in the stopped ring of the pair at mem that were not taken; `place` is the last rx_place. */
unsigned vmxnet3_rx_left(const void *mem, unsigned size, uint64_t place);

/* Return all buffers in the ring to the pool. The device is stopped. */
void vmxnet3_rx_release(struct vmxnet3_rx *r, struct bufpool *pool);
void vmxnet3_tx_release(struct vmxnet3_tx *r, struct bufpool *pool);

/* As nic_ops.tx_burst. Sets *broken if a completion is invalid. */
unsigned vmxnet3_tx_burst(struct vmxnet3_tx *r, struct bufpool *pool, struct nic_counters *cnt, const struct pkt *v,
                          unsigned n, bool *broken);

/* Takes all completions that wait; returns the position behind the last descriptor that was sent. An invalid one
 * sets *broken and ends it. */
uint32_t vmxnet3_tx_done(struct vmxnet3_tx *r, struct nic_counters *cnt, bool *broken);

/* As nic_ops.slots_open and the others. */
unsigned vmxnet3_slots_open(struct vmxnet3_tx *r, struct bufpool *pool, struct nic_counters *cnt, bool *broken);
void vmxnet3_slots_put(struct vmxnet3_tx *r, unsigned first, const struct nic_slot *s, unsigned n);
unsigned vmxnet3_slots_free(struct vmxnet3_tx *r, struct nic_counters *cnt, bool *broken);
void vmxnet3_slots_send(struct vmxnet3_tx *r, struct nic_counters *cnt, unsigned n, uint64_t bytes);

#endif
