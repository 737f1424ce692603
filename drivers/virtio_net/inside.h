/*
 * What ring.c, ring_tx.c and ring_slots.c share: reading, notifying and writing a split virtqueue.
 * ring.h has the invariants.
 */
#ifndef DRIVERS_VIRTIO_NET_INSIDE_H
#define DRIVERS_VIRTIO_NET_INSIDE_H

#include "drivers/virtio_net/ring.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/bytes.h"

#define HDR_BYTES sizeof(struct virtio_net_hdr)

/* Reads used.idx and, in the same load, used.flags. */
static inline uint16_t read_used(struct virtio_ring *r)
{
	uint32_t both = __atomic_load_n((const uint32_t *)(const void *)r->used, __ATOMIC_ACQUIRE);
	r->notify = !(both & VIRTQ_USED_F_NO_NOTIFY);
	return (uint16_t)(both >> 16);
}

/* Rings the doorbell if the device wants notifications. */
static inline void notify(struct virtio_ring *r, struct nic_counters *cnt)
{
	if (unlikely(r->notify)) {
		mmio_write16(r->doorbell, r->queue);
		cnt->mmio_writes++;
		r->unsettled = 0;
	}
}

/* Makes the descriptors before r->head available. */
static inline void publish(struct virtio_ring *r, struct nic_counters *cnt)
{
	__atomic_store_n(&r->avail->idx, r->head, __ATOMIC_RELEASE);
	r->unsettled = 2;
	notify(r, cnt);
}

/* Reads once a word that the device may change meanwhile, so that the value checked is the value
 * used. */
static inline uint32_t device_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Used entries that wait, or 0 with *broken set if the device claims more than it was given. */
static inline unsigned used_waiting(struct virtio_ring *r, bool *broken)
{
	uint16_t waiting = (uint16_t)(read_used(r) - r->tail);
	if (unlikely(waiting > (uint16_t)(r->head - r->tail))) {
		*broken = true;
		return 0;
	}
	return waiting;
}

/*
 * Addresses of the ring's parts and of the pool. As local values the loops keep them in registers;
 * read through *r and *pool, the compiler would have to load them again after every store.
 */
struct place {
	struct virtq_desc *desc;
	struct virtq_avail *avail;
	const struct virtq_used_elem *used;
	uint32_t *owner;
	uint8_t *base;   /* of the pool */
	uint32_t stride; /* of the pool */
	uint32_t mask;
};

static inline struct place place_of(const struct virtio_ring *r, const struct bufpool *pool)
{
	return (struct place){r->desc,    r->avail,     r->used->ring,   r->owner,
	                      pool->base, pool->stride, r->size - 1u};
}

/* Fills in a descriptor; len, flags and next are one store. */
static inline void put_desc(const struct place *at, uint32_t id, const uint8_t *from, uint32_t len,
                            uint32_t flags, uint32_t next)
{
	uint8_t *d = (uint8_t *)&at->desc[id];
	raw64_store(d, dma_addr(from).bus);
	raw64_store(d + offsetof(struct virtq_desc, len),
	            (uint64_t)next << 48 | (uint64_t)flags << 32 | len);
}
_Static_assert(offsetof(struct virtq_desc, len) == 8 && offsetof(struct virtq_desc, flags) == 12 &&
                       offsetof(struct virtq_desc, next) == 14,
               "as put_desc has them");

/* Two used entries: id and length, twice. */
typedef uint32_t used_pair __attribute__((vector_size(16), aligned(4), may_alias));
#define VIRTIO_BLOCK 8u /* entries compared together */

/* Whether each used entry of a block names the next descriptor, the first of them `id`. Eight at a time
 * without a branch for each: 2.0 instead of 3.1 cycles a packet (make slots-bench). */
static inline bool names_block(const struct virtq_used_elem *used, uint32_t id)
{
	const used_pair *two = (const void *)used, step = {2, 0, 2, 0};
	const used_pair first = {id, 0, id + 1, 0}, second = first + step, third = second + step;
	const used_pair wrong = (two[0] ^ first) | (two[1] ^ second) | (two[2] ^ third) |
	                        (two[3] ^ (third + step));
	return (wrong[0] | wrong[2]) == 0; /* the other two are lengths */
}
_Static_assert(VIRTIO_BLOCK == 8, "as names_block has it");

/* Whether a block from place `at` on does not cross the end of the ring. */
static inline bool block_fits(uint32_t at, uint32_t mask)
{
	return at + VIRTIO_BLOCK <= mask + 1;
}

/* Reclaims the buffers that the device has sent. */
void virtio_tx_reclaim(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                       bool *broken);

#endif
