/*
 * The transmit ring with slots (ring.h, invariant 5): descriptors that stay as they were put.
 */
#include "drivers/virtio_net/inside.h"

#define SLOT_DONE 0u /* in owner[]: returned before an older one */

unsigned virtio_slots_open(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                           bool *broken)
{
	virtio_tx_reclaim(r, pool, cnt, broken);
	if (*broken || r->done != r->next)
		return 0;
	/* Chains have shifted avail entries against descriptors. */
	uint32_t mask = r->size - 1u;
	r->slot_base = r->in_order ? r->next : r->head;
	for (unsigned i = 0; i < r->size; i++)
		r->avail->ring[(r->head + i) & mask] = (uint16_t)((r->slot_base + i) & mask);
	r->stale = 0;
	r->slot_done = r->slot_asked = r->head;
	return r->size;
}

void virtio_slots_put(struct virtio_ring *r, unsigned first, const struct nic_slot *s, unsigned n)
{
	const struct place at = {.desc = r->desc, .mask = r->size - 1u};
	uint32_t id = first + r->slot_base;
	for (unsigned i = 0; i < n; i++, id++) {
		uint32_t len = s[i].len + (uint32_t)HDR_BYTES;
		put_desc(&at, id & at.mask, s[i].data - HDR_BYTES, len, 0, 0);
	}
}
_Static_assert(HDR_BYTES == NIC_SLOT_ROOM, "these zeros are the header: nothing is asked for");

/* How many used entries from `tail` on, at most n, name the slots in order: then an entry's number
 * is its descriptor's. */
static inline unsigned named_in_order(const struct virtio_ring *r, unsigned n)
{
	const struct virtq_used_elem *used = r->used->ring;
	uint32_t mask = r->size - 1u, i = 0, at = r->tail & mask;
	while (likely(i + VIRTIO_BLOCK <= n && at + VIRTIO_BLOCK <= mask + 1) &&
	       names_block(&used[at], at)) {
		at = (at + VIRTIO_BLOCK) & mask;
		i += VIRTIO_BLOCK;
	}
	for (; i < n && device_load32(&used[at].id) == at; i++)
		at = (at + 1) & mask;
	return i;
}

/* Takes n used entries in any order, each checked by itself. */
COLD static void take_any_order(struct virtio_ring *r, struct nic_counters *cnt, unsigned n)
{
	uint32_t mask = r->size - 1u;
	uint16_t done = r->slot_done, sent = (uint16_t)(r->head - done);
	for (; n; n--) {
		uint32_t id = device_load32(&r->used->ring[r->tail++ & mask].id);
		if (id > mask || ((id - done) & mask) >= sent || r->owner[id] == SLOT_DONE)
			cnt->tx_bad_desc++;
		else
			r->owner[id] = SLOT_DONE;
	}
	for (; done != r->head && r->owner[done & mask] == SLOT_DONE; done++)
		r->owner[done & mask] = VIRTIO_NONE;
	r->slot_done = done;
}

/*
 * Reading used.idx fetches a line that the device is writing. While most slots are known to be
 * free, one read serves this many more sends, and the used entries are then read many at a time.
 * The number is no larger because used.flags, read together with used.idx, are how a device says
 * that it sleeps.
 */
#define SLOT_LOOKS_SPARED 7

static inline bool spare_look(struct virtio_ring *r, unsigned known)
{
	bool spare = known > r->size / 2u && r->slot_asked != r->head &&
	             r->slot_spared < SLOT_LOOKS_SPARED;
	r->slot_asked = r->head;
	r->slot_spared = spare ? (uint8_t)(r->slot_spared + 1) : 0;
	return spare;
}

/* Slots that were free at the last look. */
static inline unsigned slots_known(const struct virtio_ring *r)
{
	return r->size - (unsigned)(uint16_t)(r->head - r->slot_done);
}

unsigned virtio_slots_free(struct virtio_ring *r, struct nic_counters *cnt, bool *broken)
{
	unsigned known = slots_known(r);
	if (spare_look(r, known))
		return known;
	unsigned n = used_waiting(r, broken);
	if (likely(n)) {
		unsigned plain = r->in_order                      ? n
		                 : likely(r->tail == r->slot_done) ? named_in_order(r, n)
		                                                   : 0;
		r->tail = (uint16_t)(r->tail + plain);
		r->slot_done = (uint16_t)(r->slot_done + plain);
		if (unlikely(plain < n))
			take_any_order(r, cnt, n - plain);
	}
	if (unlikely(r->tail == r->head && r->slot_done != r->head))
		*broken = true; /* all returned by the index, one never by id: it would fill up */
	return unlikely(*broken) ? 0 : slots_known(r);
}

void virtio_slots_send(struct virtio_ring *r, struct nic_counters *cnt, unsigned n, uint64_t bytes)
{
	assert(n <= slots_known(r));
	if (n == 0)
		return;
	r->head = (uint16_t)(r->head + n);
	cnt->tx_pkts += n;
	cnt->tx_bytes += bytes;
	publish(r, cnt);
}
