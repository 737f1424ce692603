/*
 * The queue half of the mlx5 driver: the receive queue (RQ) and send queue (SQ) of a pair, both
 * cyclic, with a completion queue (CQ) each, and the event queue (EQ) that wakes the core (PRM,
 * "Work Queues", "Completion Queues", "Event Queues"). It handles memory and ownership, and of the
 * registers only its page of doorbells, so the same source runs on the host against constructed
 * completions and a hostile device (tests/unit/drivers/mlx5/test_mlx5_ring.c).
 *
 * Positions count on without limit (uint32_t, modulo 2^32); & mask gives the place in the ring. A
 * send WQE is one or more units of 64 bytes (WQEBB) and may wrap around the end of the ring.
 *
 * Invariants
 * 1. rx: WQEs [head, tail) are the device's; owner[] is the buffer of each. An RQ completes in
 *    order, one CQE for each WQE, and the CQE's WQE counter is checked against that. A CQE of a
 *    later WQE means that CQEs were lost; their frames are counted and dropped.
 * 2. rx: the device is told only by the doorbell record, in memory: no MMIO.
 * 3. tx: WQEBBs [tail, head) and the frames [frame_tail, frame_head) in them are the device's.
 *    Frames count on too, and are at most as many as WQEBBs. owner[] is the buffer of each, with
 *    PKT_SHARED and PKT_CHAIN above the number. reports[] of a WQE that requests a CQE holds the
 *    positions behind that WQE. For any other WQEBB it holds no position between that WQEBB and
 *    head. The last WQE of each burst requests a CQE, so all buffers come back without another
 *    burst.
 * 4. A CQE is new when its owner bit is that of its pass over the ring and its opcode is not
 *    INVALID. Its other fields are checked before use. A CQE of a WQE that is not the device's
 *    breaks the queue for good: the device cannot be trusted. An error CQE breaks it until the
 *    device half has reset the queue (`failed`, ring_mend.c).
 * 5. rx, a CQ that compresses: the CQE of the first of several frames, the title, speaks for all of
 *    them. Only their lengths lie in mini CQEs: those of frames 0 to 7 in the place behind the
 *    title, those of frames 8 to 15 in the place of frame 8, and so on. The device does not write
 *    the other places of such a session, so nothing there may look like a CQE of its pass: every
 *    CQE that was read is marked as unused before its place is the device's again. A burst that
 *    ends within a session keeps the place with the next mini CQE. For this reason fewer WQEs have
 *    buffers than the CQ has places (mlx5_rx_compressed).
 * 6. tx, slots (ring_slots.c): owner[] is not used; frame k is slot k - slot_base.
 *
 * Order: WQE, then (write barrier) doorbell record, then (write barrier) doorbell. CQE's owner,
 * then (acquire) the rest of it, then the doorbell record of the CQ. No register is read.
 */
#ifndef DRIVERS_MLX5_RING_H
#define DRIVERS_MLX5_RING_H

#include "drivers/mlx5/spec.h"
#include "drivers/nic.h"
#include "hal/dma.h"

#define MLX5_RING_LOG_SIZE 10 /* 1024 WQEs or WQEBBs: 7 us of 64-byte frames at 100 Gb/s */
#define MLX5_PAIR_EQ_LOG_SIZE 6

/* New receive WQEs per write of the doorbell record. */
#define MLX5_RX_BULK 32

/* WQEBBs between WQEs that request a CQE; a power of two. */
#define MLX5_TX_REPORT 32
/* Segments of a WQE with many frames, at most. Two are not data. */
#define MLX5_TX_SEGMENTS 34

/* Flags of packets that are not plain frames. */
#define MLX5_TX_ODD (PKT_CSUM_PARTIAL | PKT_TSO | PKT_VLAN | PKT_SHARED | PKT_CHAIN)

/* Layout of the owner of a sent frame. */
#define MLX5_OWNER_FLAGS_SHIFT 24
#define MLX5_OWNER_BUF ((1u << 29) - 1)
_Static_assert((PKT_SHARED | PKT_CHAIN) << MLX5_OWNER_FLAGS_SHIFT == 0x60000000, "above");

#define MLX5_SLOT_BYTES 64 /* for what a WQE has behind its control segment */

#define MLX5_RX_WQE_BYTES 16 /* one data segment: a frame is one buffer */

/* Bytes of headers that a send WQE contains, by inline mode: Ethernet with a tag; plus IPv6; plus
 * TCP. */
#define MLX5_INLINE_L2 18
#define MLX5_INLINE_IP 58
#define MLX5_INLINE_L4 78
#define MLX5_INLINE_MAX 256 /* with segmentation: headers with all options */

struct mlx5_cq {
	uint8_t *cqe;
	uint8_t *dbr;
	uint32_t log_size;
};

struct mlx5_rx {
	struct mlx5_cq cq;
	uint8_t *wqe;
	uint32_t *owner;
	uint8_t *dbr;
	uint32_t mask;
	uint32_t head;      /* next that a CQE completes */
	uint32_t tail;      /* next to be given a buffer */
	uint32_t most;      /* WQEs that shall have a buffer */
	uint32_t cq_head;
	uint32_t room;      /* bytes in a buffer */
	uint64_t csum_mask; /* bits of the CQE's headers that must equal MLX5_CQE_H_OK for
	                       PKT_CSUM_OK; 0: never set */
	uint64_t vlan_mask; /* MLX5_CQE_H_VLAN if the device strips tags */
	struct mlx5_session { /* compressed frames not all taken */
		uint64_t headers; /* the title's */
		uint32_t title;   /* its position in the CQ */
		uint32_t left;    /* frames to be taken; 0: there is no session */
	} session;
	bool compressed;
	uint8_t port;       /* stored in every packet */
	bool failed;        /* in error state */
};

struct mlx5_tx {
	struct mlx5_cq cq;
	uint8_t *wqe;
	uint32_t *owner;
	struct mlx5_report { /* positions behind a WQE, indexed by its first WQEBB */
		uint32_t head, frame_head;
	} *reports;
	uint8_t *slot;      /* prepared data segments, or all behind the control segment */
	uint8_t *dbr;
	volatile void *doorbell;
	uint32_t mask;
	uint32_t head;      /* next to be filled */
	uint32_t tail;      /* oldest not known to be sent */
	uint32_t frame_head, frame_tail;
	uint32_t cq_head;
	uint32_t slot_base; /* slots: frame of slot 0 */
	uint32_t sqn_word;  /* SQ number in the format of the control segment */
	uint32_t lkey;
	uint32_t inline_bytes; /* of headers in each WQE; 0: none */
	bool multi;         /* plain frames share WQEs; only with inline_bytes 0 */
	bool eights;        /* the CPU has what ring_avx2.c uses */
	bool slots;         /* slots are open */
	bool failed;        /* in error state */
};

/* Offsets of the parts of a pair's memory; queues at multiples of a page. */
struct mlx5_layout {
	size_t rq, sq, rx_cq, tx_cq, eq;
	size_t rq_dbr, sq_dbr, rx_cq_dbr, tx_cq_dbr; /* a cache line each */
	size_t rx_owner, tx_owner, tx_reports, tx_slots, bytes;
};
struct mlx5_layout mlx5_layout(unsigned log_size);

/* Initialise queues of 2^log_size WQEs or WQEBBs in zeroed memory. The caller then sets what is not
 * memory: rx: csum_mask, vlan_mask, port, and `most` if it is not all; tx: doorbell, sqn_word,
 * lkey, inline_bytes, multi. */
void mlx5_rx_init(struct mlx5_rx *r, void *mem, unsigned log_size, const struct bufpool *pool,
                  uint32_t lkey);
void mlx5_tx_init(struct mlx5_tx *r, void *mem, unsigned log_size);

/* Declares that the CQ of r, just initialised, compresses. */
void mlx5_rx_compressed(struct mlx5_rx *r);

/* Gives buffers to all WQEs that shall have one, as far as the pool has any, and tells the
 * device. */
void mlx5_rx_fill(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt);

/* As nic_ops.rx_burst. Sets *broken if the device violates the protocol or its queue is in error
 * state. */
unsigned mlx5_rx_burst(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                       struct pkt *v, unsigned max, bool *broken);

/* True if a CQE waits. */
bool mlx5_rx_waiting(const struct mlx5_rx *r);

/* As nic_ops.tx_burst. */
unsigned mlx5_tx_burst(struct mlx5_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                       const struct pkt *v, unsigned n, bool *broken);

/* As nic_ops.slots_open and the others. */
unsigned mlx5_slots_open(struct mlx5_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                         bool *broken);
void mlx5_slots_put(struct mlx5_tx *r, unsigned first, const struct nic_slot *s, unsigned n);
unsigned mlx5_slots_free(struct mlx5_tx *r, struct nic_counters *cnt, bool *broken);
void mlx5_slots_send(struct mlx5_tx *r, struct nic_counters *cnt, unsigned n, uint64_t bytes);

/* To be called when the queue, `failed`, is in RDY again and has no WQE: all buffers go back to the
 * pool. Receive WQEs get new ones; the next slot is the same as before. */
void mlx5_rx_restart(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt);
void mlx5_tx_restart(struct mlx5_tx *r, struct bufpool *pool);

/* Returns all buffers in the queue to the pool. The device is stopped, or has lost them. */
void mlx5_rx_release(struct mlx5_rx *r, struct bufpool *pool);

/* Frames in a stopped queue that were not taken: `cqes` is its CQ, `place` the last rx_place. At
 * most 2^log_size. */
unsigned mlx5_rx_left(const void *cqes, unsigned log_size, uint64_t place);

/* --- what ring*.c share --- */

/* Position for mlx5_rx_left: the head of the CQ and, above it, the frames left of a session that
 * begins before it. */
static inline void mlx5_rx_stand(const struct mlx5_rx *r, struct nic_counters *cnt)
{
	cnt->rx_place = (uint64_t)r->session.left << 32 | r->cq_head;
}

/* To be called with an error CQE at r->cq_head. */
void mlx5_rx_fail(struct mlx5_rx *r, struct nic_counters *cnt);
void mlx5_tx_fail(struct mlx5_tx *r, struct nic_counters *cnt);
/* Frees the buffers of all frames that the device has. */
void mlx5_tx_free(struct mlx5_tx *r, struct bufpool *pool);
/* Takes the CQEs that are there: advances tail, and returns how many frames from frame_tail on were
 * sent. Sets *broken at a CQE that violates the protocol. */
uint32_t mlx5_tx_completed(struct mlx5_tx *r, struct nic_counters *cnt, bool *broken);
/* Makes the last WQE, which begins at `last`, request a CQE, and tells the device of all WQEs. */
void mlx5_tx_publish(struct mlx5_tx *r, struct nic_counters *cnt, uint32_t last);

/* Puts data segments and owners of the first plain frames of v, eight together; returns how many,
 * at most n. Neither ring ends before. Only with `eights`. */
#define MLX5_EIGHT 8u
unsigned mlx5_put_eights(uint8_t *seg, uint32_t *owner, const struct pkt *v, unsigned n,
                         uint32_t lkey, uint64_t *bytes);

static inline uint8_t *mlx5_wqebb(const struct mlx5_tx *r, uint32_t pos)
{
	return r->wqe + (size_t)(pos & r->mask) * MLX5_WQEBB_BYTES;
}

/* Segment i of the WQE that begins at pos; it may have wrapped around the end of the ring. */
static inline uint8_t *mlx5_segment(const struct mlx5_tx *r, uint32_t pos, unsigned i)
{
	return mlx5_wqebb(r, pos + i / MLX5_SEGMENTS_OF_WQEBB) +
	       i % MLX5_SEGMENTS_OF_WQEBB * MLX5_SEGMENT_BYTES;
}

/* How many frames fit from `seg`, and from the place of `frame`, on before either ring ends. */
static inline uint32_t mlx5_frames_to_end(const struct mlx5_tx *r, const uint8_t *seg,
                                          uint32_t frame)
{
	uint32_t segments = (r->mask + 1) * MLX5_SEGMENTS_OF_WQEBB;
	uint32_t at = (uint32_t)(seg - r->wqe) / MLX5_SEGMENT_BYTES;
	return u32_min(segments - at, r->mask + 1 - (frame & r->mask));
}

static inline void mlx5_note_report(struct mlx5_tx *r, uint32_t pos)
{
	r->reports[pos & r->mask] = (struct mlx5_report){r->head, r->frame_head};
}

/* Completes the control segment of the WQE at r->head, of so many segments and frames. The WQE
 * requests a CQE if the next one begins in another report interval. */
static inline void mlx5_close_wqe(struct mlx5_tx *r, uint32_t opcode, unsigned segments,
                                  unsigned frames)
{
	uint32_t pos = r->head;
	uint8_t *c = mlx5_wqebb(r, pos);
	uint64_t first = be32_make((pos & 0xffff) << MLX5_WQE_INDEX_SHIFT | opcode).raw;
	r->head = pos + (segments + MLX5_SEGMENTS_OF_WQEBB - 1) / MLX5_SEGMENTS_OF_WQEBB;
	r->frame_head += frames;
	bool report = (pos ^ r->head) / MLX5_TX_REPORT != 0;
	raw64_store(c, first | (uint64_t)be32_make(r->sqn_word | segments).raw << 32);
	raw64_store(c + 8, report ? MLX5_WQE_CQE << 24 : 0);
	if (report)
		mlx5_note_report(r, pos);
}

/* Puts an Ethernet segment that requests nothing. */
static inline void mlx5_put_plain_eth(uint8_t *eth)
{
	raw64_store(eth, 0);
	raw64_store(eth + 8, 0);
}

/* Puts a data segment: `bytes` bytes at `from`. */
static inline void mlx5_put_data(const struct mlx5_tx *r, uint8_t *seg, const uint8_t *from,
                                 uint32_t bytes)
{
	raw64_store(seg, be32_make(bytes).raw | (uint64_t)be32_make(r->lkey).raw << 32);
	raw64_store(seg + MLX5_DATA_ADDRESS, BYTES_SWAP64(dma_addr(from).bus));
}

static inline uint8_t *mlx5_cqe(const struct mlx5_cq *cq, uint32_t pos)
{
	return cq->cqe + (size_t)(pos & ((1u << cq->log_size) - 1)) * MLX5_CQE_BYTES;
}

/* The last word of a CQE, which is read first. */
static inline uint64_t mlx5_cqe_end(const uint8_t *cqe)
{
	const void *end = cqe + MLX5_CQE_END;
	return __atomic_load_n((const uint64_t *)end, __ATOMIC_ACQUIRE);
}

/* Opcode and owner, the last byte of a CQE's last word as x86-64 loads it. */
static inline uint32_t mlx5_cqe_op_own(uint64_t end) { return (uint32_t)(end >> 56); }

static inline bool mlx5_cqe_is_new(const struct mlx5_cq *cq, uint32_t pos, uint64_t end)
{
	uint32_t op_own = mlx5_cqe_op_own(end);
	return (op_own & MLX5_CQE_OWNER) == (pos >> cq->log_size & 1) &&
	       op_own >> MLX5_CQE_OPCODE_SHIFT != MLX5_CQE_INVALID;
}

/*
 * The last word of an unused CQE: INVALID and owner 1, as the manual requires before first use. The
 * other bits mean nothing to the device. They hold the position at which the CQE was read, for
 * mlx5_rx_left: a program that fails within a burst has not yet counted what it had read.
 */
static inline uint64_t mlx5_cqe_unused(uint32_t pos)
{
	return (uint64_t)(MLX5_CQE_INVALID << MLX5_CQE_OPCODE_SHIFT | 1) << 56 | pos;
}

static inline void mlx5_cqe_unuse(const struct mlx5_cq *cq, uint32_t pos)
{
	raw64_store(mlx5_cqe(cq, pos) + MLX5_CQE_END, mlx5_cqe_unused(pos));
}

static inline bool mlx5_cqe_was_read(uint32_t pos, uint64_t end)
{
	return (end & ~((uint64_t)MLX5_CQE_COMPRESSED << 56)) == mlx5_cqe_unused(pos);
}

static inline uint32_t mlx5_cqe_counter(uint64_t end)
{
	return BYTES_SWAP16((uint16_t)(end >> 32));
}

#endif
