/*
 * The queue half of Intel's cards with advanced descriptors (desc.h): one receive and one transmit descriptor ring
 * (82599 datasheet, 7.1.6 to 7.1.9, 7.2.3) as one data core polls them. It handles memory and ownership, and of the
 * registers only the two tails it is given, so the same source runs on the host against constructed write-backs and
 * a hostile device (tests/unit/drivers/intel/test_intel_ring.c, test_intel_hostile.c, test_intel_slots.c).
 *
 * A frame is one buffer and one descriptor, with three exceptions: received frames longer than what
 * a descriptor covers of a buffer; sent frames in pieces (PKT_CHAIN: a descriptor for each); and
 * the context descriptor before a sent frame whose offloads differ from those of the frame before.
 *
 * Positions count on without limit (uint32_t, modulo 2^32); & mask gives the descriptor. One
 * descriptor stays unused, because head == tail means empty to the device (7.1.9, 7.2.3.4).
 *
 * Invariants
 * 1. rx: descriptors [head, told) are the device's; [told, tail) have a buffer, but the device does
 *    not know of them yet; [tail, head + most) have none; the others shall have none. owner[] is
 *    the buffer of each in [head, tail).
 * 2. rx: the tail register is written once for at least `bulk` new descriptors, or when the device
 *    has fewer than that left, because a write costs as much as several packets. At most once a
 *    burst.
 * 3. tx: descriptors [tail, head) are the device's. owner[] of a frame's last descriptor is its
 *    buffer, with PKT_SHARED and PKT_CHAIN above the number; it is NONE in the others and in a
 *    context. RS is set in a frame's last descriptor only, and in the last one of each burst, so all
 *    buffers come back without another burst.
 * 4. What the device writes is checked before use: lengths, error bits, the head it writes back. A
 *    bad frame is counted and dropped. A head outside of [tail, head] breaks the queue. Write-backs
 *    come in order: one that is missing while a later one is there is counted and skipped.
 * 5. rx: a frame over several descriptors is gathered in the buffer of its first, across bursts
 *    (`part`), or dropped as a whole (`dropping`).
 * 6. tx, slots (ring_slots.c): RS is set permanently in one descriptor of
 *    INTEL_TX_REPORT, and in the last of each send until its slot is sent again. owner[] has one
 *    bit for each descriptor, set for those that have RS temporarily.
 *
 * Order: descriptor, then (write barrier) tail register. DD or the written head, then (acquire)
 * the rest. No register is read.
 */
#ifndef DRIVERS_INTEL_RING_H
#define DRIVERS_INTEL_RING_H

#include "drivers/intel/desc.h"
#include "drivers/nic.h"

/* Descriptors of a ring: they last 69 us at 14.88 Mpps; more would cost cache. */
#define INTEL_RING_SIZE 1024

/* New receive descriptors per write of the tail register; may be set on the compiler's command line, to
 * measure alternatives. */
#ifndef INTEL_RX_BULK
#define INTEL_RX_BULK 32
#endif

/* One sent descriptor in this many requests a report; a power of two. */
#define INTEL_TX_REPORT 32

/* Offset of a received frame in its buffer: the frame begins a cache line, and the rest of the
 * buffer is a multiple of 1 KB, the unit of SRRCTL.BSIZEPACKET. */
#define INTEL_RX_OFFSET 128
_Static_assert((BUF_STRIDE_STANDARD - INTEL_RX_OFFSET) % INTEL_RX_UNIT == 0, "2");
_Static_assert((BUF_STRIDE_JUMBO - INTEL_RX_OFFSET) % INTEL_RX_UNIT == 0, "9");
_Static_assert(INTEL_RX_OFFSET >= BUF_DATA_OFFSET, "gathering moves frames down, never up");

#define INTEL_NONE 0x7fffffffu /* no buffer */
/* In the owner of a sent frame. NONE, too, is above all buffer numbers. */
#define INTEL_OWNER_FLAGS_SHIFT 24
#define INTEL_OWNER_BUF ((1u << 29) - 1)
_Static_assert((PKT_SHARED | PKT_CHAIN) << INTEL_OWNER_FLAGS_SHIFT == 0x60000000, "above");

/* 7.2.1.1: a frame has at most 40 data descriptors. */
#define INTEL_TX_PIECES_MAX 40
_Static_assert(1 + PKT_FRAGS_MAX <= INTEL_TX_PIECES_MAX, "any chain fits");

struct intel_rx {
	union intel_rx_desc *desc;
	uint32_t *owner;
	volatile void *tail_reg;
	uint32_t mask;
	uint32_t head;       /* next to be checked */
	uint32_t tail;       /* next to be given a buffer */
	uint32_t told;       /* value of the tail register */
	uint32_t most;       /* descriptors with a buffer, below size */
	uint32_t bulk;
	uint32_t plain_room; /* bytes the device may write into one buffer; 0 while a frame is
	                        gathered or dropped: one comparison finds all that is not plain */
	uint32_t bad_mask;   /* status bits of a frame that the MAC has found wrong */
	uint32_t csum_mask;  /* status bits that must equal L4I for PKT_CSUM_OK; 0: never set */
	uint32_t vlan_mask;  /* INTEL_RXD_VP if the device strips tags */
	uint32_t suspect;    /* position whose write-back seems lost; other than head: none */
	struct pkt part;     /* frame being gathered; data NULL: none */
	bool dropping;       /* until the end of a frame */
	uint8_t port;        /* stored in every packet */
};

/* Contents of a context descriptor; seed is 0. */
struct intel_context {
	uint32_t vlan_macip, type_tucmd, mss_l4len;
};

struct intel_tx {
	union intel_tx_desc *desc;
	uint32_t *owner;
	uint32_t *written_head; /* written by the device (7.2.3.5.2) */
	volatile void *tail_reg;
	uint32_t mask;
	uint32_t head;       /* next to be filled */
	uint32_t tail;       /* oldest not known to be sent */
	uint32_t slot_base;  /* slots: position of slot 0 */
	struct intel_context context; /* the device's current one; type_tucmd 0: none yet */
};

/* Offsets of the parts of a pair's memory; all, and the sum, are multiples of 128. */
struct intel_layout {
	size_t rx_desc, tx_desc, written_head, rx_owner, tx_owner, bytes;
};
struct intel_layout intel_layout(unsigned size);

/* Initialise rings of `size` descriptors (a power of two) in zeroed memory. rx: `most` of them
 * shall have buffers, at most all but one. The caller then sets what is not memory: tail_reg; rx:
 * bad_mask, csum_mask, vlan_mask, port. */
void intel_rx_init(struct intel_rx *r, void *mem, unsigned size, uint32_t most,
                   const struct bufpool *pool);
void intel_tx_init(struct intel_tx *r, void *mem, unsigned size);

/* Gives buffers to all descriptors that shall have some, as far as the pool has any, and tells the
 * device. */
void intel_rx_fill(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt);

/* As nic_ops.rx_burst. */
unsigned intel_rx_burst(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                        struct pkt *v, unsigned max);

/* Frames in the stopped ring of the pair at mem that were not taken, counted by their ends; `place`
 * is the last rx_place. */
unsigned intel_rx_left(const void *mem, unsigned size, uint64_t place);

/* Frames among the descriptors [from, to), modulo `size`, of the transmit ring of the pair at mem; positions are below
 * `size`. Its core may be writing other descriptors meanwhile. */
unsigned intel_tx_left(const void *mem, unsigned size, uint32_t from, uint32_t to);

/* True if a frame, or a part of one, waits. */
bool intel_rx_waiting(const struct intel_rx *r);

/* Return all buffers in the ring to the pool. The device is stopped. */
void intel_rx_release(struct intel_rx *r, struct bufpool *pool);
void intel_tx_release(struct intel_tx *r, struct bufpool *pool);

/* As nic_ops.tx_burst. Sets *broken if the device's head is invalid. */
unsigned intel_tx_burst(struct intel_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                        const struct pkt *v, unsigned n, bool *broken);

/* As nic_ops.slots_open and the others. */
unsigned intel_slots_open(struct intel_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                          bool *broken);
void intel_slots_put(struct intel_tx *r, unsigned first, const struct nic_slot *s, unsigned n);
void intel_slot_stamp(struct intel_tx *r, unsigned slot);
unsigned intel_slots_free(struct intel_tx *r, struct nic_counters *cnt, bool *broken);
void intel_slots_send(struct intel_tx *r, struct nic_counters *cnt, unsigned n, uint64_t bytes);

#endif
