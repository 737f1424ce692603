/*
 * See ring.h. The loops are split so that cache misses overlap: first the used entries (with a
 * prefetch of each frame's first line), then the refill, then the frames' headers. Lines that the
 * device has read and we are about to write are prefetched for writing ahead of their loop.
 * Measured against a polling backend beside l3fwd (make bench): 110 -> 92 TSC cycles a packet with
 * the two cores near each other, 234 -> 200 with them far apart.
 */
#include "drivers/virtio_net/inside.h"

#include "hal/barrier.h"

#define FEW 4 /* packets of a burst whose frames are prefetched by a guess */

static size_t desc_bytes(unsigned size)
{
	return align_up(sizeof(struct virtq_desc) * size, CACHE_LINE);
}

static size_t avail_bytes(unsigned size)
{
	return align_up(sizeof(struct virtq_avail) + 2 * size + 2, CACHE_LINE);
}

static size_t used_bytes(unsigned size)
{
	return align_up(sizeof(struct virtq_used) + 8 * size + 2, CACHE_LINE);
}

size_t virtio_ring_bytes(unsigned size)
{
	return desc_bytes(size) + avail_bytes(size) + used_bytes(size) + align_up(4 * size, CACHE_LINE);
}

void virtio_ring_layout(struct virtio_ring *r, void *mem, unsigned size)
{
	uint8_t *p = mem;
	*r = (struct virtio_ring){.size = (uint16_t)size};
	r->desc = (struct virtq_desc *)(void *)p;
	p += desc_bytes(size);
	r->avail = (struct virtq_avail *)(void *)p;
	p += avail_bytes(size);
	r->used = (struct virtq_used *)(void *)p;
	p += used_bytes(size);
	r->owner = (uint32_t *)(void *)p;
}

void virtio_ring_init(struct virtio_ring *r, void *mem, unsigned size)
{
	virtio_ring_layout(r, mem, size);
	for (unsigned i = 0; i < size; i++) {
		r->avail->ring[i] = (uint16_t)i;
		r->owner[i] = VIRTIO_NONE;
	}
	r->avail->flags = VIRTQ_AVAIL_F_NO_INTERRUPT;
}

void virtio_settle(struct virtio_ring *r, struct nic_counters *cnt)
{
	if (likely(r->unsettled == 0) || --r->unsettled)
		return;
	barrier_full();
	read_used(r);
	notify(r, cnt);
}

/* First byte of a frame in buffer `buf`; the header lies before it. */
static inline uint8_t *frame_at(const struct place *at, uint32_t buf)
{
	return at->base + (size_t)buf * at->stride + BUF_DATA_OFFSET;
}

/* Puts buffer `buf` into descriptor `id`, and `id` into avail position `head`. */
static inline void give(const struct place *at, uint16_t head, uint32_t id, uint32_t buf)
{
	uint32_t slot = head & at->mask;
	at->desc[id].addr = dma_addr(frame_at(at, buf) - HDR_BYTES).bus;
	at->owner[id] = buf;
	/* Devices mostly complete in order, so the entry usually has this value: do not dirty the
	 * line. */
	if (unlikely(at->avail->ring[slot] != id))
		at->avail->ring[slot] = (uint16_t)id;
}

/* Gives buffers to descriptors that lack one, as far as the pool has any. */
COLD static void refill_missing(struct virtio_ring *r, struct bufpool *pool,
                                struct nic_counters *cnt)
{
	const struct place at = place_of(r, pool);
	uint32_t next = r->head; /* the first to look at, as it is the next in order */
	for (uint32_t i = 0; i < r->size && r->missing; i++) {
		uint32_t id = (next + i) & at.mask;
		struct pkt p;
		if (r->owner[id] != VIRTIO_NONE)
			continue;
		if (!pkt_alloc(pool, &p)) {
			cnt->rx_no_buffer++;
			break;
		}
		give(&at, r->head++, id, p.buf);
		r->missing--;
	}
}

void virtio_rx_fill(struct virtio_ring *r, uint32_t most, struct bufpool *pool,
                    struct nic_counters *cnt)
{
	for (unsigned i = 0; i < r->size; i++) {
		r->desc[i].len = (uint32_t)(buf_room(pool) + HDR_BYTES);
		r->desc[i].flags = VIRTQ_DESC_F_WRITE;
	}
	r->most = r->missing = (uint16_t)u32_min(most, r->size);
	refill_missing(r, pool, cnt);
	publish(r, cnt);
}

/* Handles the header of a received frame that is not a plain one. False: the frame is not
 * usable. */
COLD static bool rx_header(struct virtio_ring *r, const struct bufpool *pool,
                           struct nic_counters *cnt, struct pkt *p,
                           const volatile struct virtio_net_hdr *from)
{
	struct virtio_net_hdr h = *from; /* read once, as by device_load32 */
	r->skip = 0;
	if (h.num_buffers != 1 || h.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
		/* Only if the device breaks a promise (we negotiated no TSO), or for a frame above
		 * the MTU. */
		cnt->rx_oversize++;
		if (h.num_buffers > 1 && h.num_buffers <= r->size)
			r->skip = (uint16_t)(h.num_buffers - 1);
		return false;
	}
	if (h.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		if (h.csum_start + h.csum_offset + 2u > p->len) {
			cnt->rx_bad_len++;
			return false;
		}
		*pkt_meta(pool, p->buf) = (struct pkt_meta){.csum_start = h.csum_start,
		                                          .csum_offset = h.csum_offset};
		p->flags = PKT_CSUM_PARTIAL;
	} else if (h.flags & VIRTIO_NET_HDR_F_DATA_VALID) {
		p->flags = PKT_CSUM_OK;
	}
	return true;
}

/* In order: sets *len to the length of buffer `id`, the oldest of `waiting`, from the used entry of
 * the batch. False: the entry names none of these. */
static inline bool rx_len(struct virtio_ring *r, const struct virtq_used_elem *e, uint32_t id,
                          unsigned waiting, uint32_t room, uint32_t *len)
{
	if (likely(r->batch == 0)) {
		uint32_t last = device_load32(&e->id), n = ((last - id) & (r->size - 1u)) + 1;
		if (unlikely(last >= r->size || n > waiting))
			return false;
		r->batch = (uint16_t)n;
		r->batch_len = device_load32(&e->len);
	}
	*len = --r->batch ? room : r->batch_len;
	return true;
}

/*
 * Prefetches n frames by the order in which their buffers were made available, in which nearly every device
 * uses them. Of a short burst the first frame would otherwise wait for its used entry, and both are lines
 * that the device has just written.
 */
static inline void guess(const struct place *at, uint16_t tail, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint32_t id = at->avail->ring[(tail + i) & at->mask] & at->mask;
		prefetch_write(frame_at(at, at->owner[id]) - HDR_BYTES);
	}
}

/* Frame length for a used buffer's `len`: 0, a frame that is dropped, if the buffer cannot hold that. */
static inline uint32_t frame_len(uint32_t len, uint32_t room)
{
	return likely(len - HDR_BYTES <= room - HDR_BYTES) ? len - (uint32_t)HDR_BYTES : 0;
}

/* Takes n of the `waiting` used buffers: checked packets into v, their descriptors into ids. The `before`
 * descriptors that lie before them in the table have new buffers, which the device does not know of. */
static inline __attribute__((always_inline)) unsigned
rx_take(struct virtio_ring *r, const struct bufpool *pool, struct nic_counters *cnt, struct pkt *v,
        uint16_t *ids, unsigned n, unsigned waiting, unsigned before, bool in_order, bool *broken)
{
	const struct place at = place_of(r, pool);
	uint32_t room = (uint32_t)(buf_room(pool) + HDR_BYTES);
	uint16_t tail = r->tail;
	uint8_t port = r->port;
	unsigned got = 0;
	for (unsigned i = 0; i < n; i += VIRTIO_USED_PER_LINE)
		__builtin_prefetch(&at.used[(tail + i) & at.mask]);
	if (!in_order && n <= FEW)
		guess(&at, tail, n);
	for (unsigned i = 0; i < n; i++) {
		const struct virtq_used_elem *e = &at.used[(tail + i) & at.mask];
		uint32_t id, len;
		if (in_order) {
			id = (tail + i) & at.mask;
			if (unlikely(!rx_len(r, e, id, waiting - i, room, &len))) {
				cnt->rx_bad_desc++;
				*broken = true;
				n = i;
				break;
			}
		} else {
			id = device_load32(&e->id);
			len = device_load32(&e->len);
		}
		uint32_t buf = likely(id <= at.mask) ? at.owner[id] : VIRTIO_NONE;
		if (unlikely(buf == VIRTIO_NONE) ||
		    (!in_order && unlikely(((tail - 1u - id) & at.mask) < before))) {
			cnt->rx_bad_desc++;
			continue;
		}
		uint8_t *data = frame_at(&at, buf);
		prefetch_write(data - HDR_BYTES); /* most frames leave with a new header */
		at.owner[id] = VIRTIO_NONE;
		ids[got] = (uint16_t)id;
		v[got++] = (struct pkt){data, buf, (uint16_t)frame_len(len, room), 0, port};
	}
	r->tail = (uint16_t)(tail + n);
	return got;
}

static inline __attribute__((always_inline)) void
rx_replace(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
           const uint16_t *ids, unsigned n, bool in_order)
{
	const struct place at = place_of(r, pool);
	unsigned have = n < pool->free ? n : pool->free;
	const uint32_t *fresh = &pool->stack[pool->free];
	uint16_t head = r->head;
	for (unsigned i = 0; i < have; i += VIRTIO_DESC_PER_LINE)
		prefetch_write(&at.desc[ids[i]]);
	for (unsigned i = 0; i < have; i++) {
		uint32_t id = in_order ? (head + i) & at.mask : ids[i];
		give(&at, (uint16_t)(head + i), id, fresh[-(int)i - 1]);
	}
	pool->free -= have;
	r->head = (uint16_t)(head + have);
	if (unlikely(have < n)) {
		r->missing = (uint16_t)(r->missing + n - have);
		cnt->rx_no_buffer += n - have;
	}
}

/* Whether a block of used entries from place `at` on names the descriptors of their places, which are the
 * device's and are offered next. Then each is exchanged where it is. */
static inline bool block_is_straight(const struct place *at, uint32_t from, uint32_t head)
{
	const uint32_t *owner = &at->owner[from];
	if (unlikely(!block_fits(from, at->mask) || (head & at->mask) != from))
		return false;
	const uint64_t four = from * 0x0001000100010001 + 0x0003000200010000; /* the places of avail */
	const uint64_t wrong = (raw64_load(&at->avail->ring[from]) ^ four) |
	                       (raw64_load(&at->avail->ring[from + 4]) ^ (four + 0x0004000400040004));
	const uint64_t owners = raw64_load(owner) | raw64_load(owner + 2) | raw64_load(owner + 4) |
	                        raw64_load(owner + 6);
	/* VIRTIO_NONE has the highest bit, and no buffer has */
	return likely(!(wrong | (owners & 0x8000000080000000))) &&
	       likely(names_block(&at->used[from], from));
}

/* What rx_fused needs in registers. */
struct exchange {
	uint8_t *frames;   /* frame_at(buffer 0) */
	uint64_t bus;      /* that of its header */
	uint64_t stride;
	uint64_t word;     /* PKT_WORD of the port */
	uint32_t room;
};

/* Exchanges entry k of a block: its frame into p, buffer `next` into its descriptor. */
static inline __attribute__((always_inline)) void
exchange_one(const struct exchange *x, struct pkt *p, uint32_t *owner, struct virtq_desc *desc,
             const struct virtq_used_elem *used, uint32_t next)
{
	const uint64_t buf = *owner;
	*owner = next;
	desc->addr = x->bus + next * x->stride;
	p->data = x->frames + buf * x->stride;
	prefetch_write(p->data - HDR_BYTES); /* most frames leave with a new header */
	raw64_store(&p->buf, x->word | buf | (uint64_t)frame_len(device_load32(&used->len), x->room) << 32);
}

static inline __attribute__((always_inline)) void
exchange_block(const struct exchange *x, const struct place *at, struct pkt *p, uint32_t from,
               const uint32_t *fresh)
{
	uint32_t *owner = &at->owner[from];
	struct virtq_desc *desc = &at->desc[from];
	const struct virtq_used_elem *used = &at->used[from];
	exchange_one(x, &p[0], &owner[0], &desc[0], &used[0], fresh[-1]);
	exchange_one(x, &p[1], &owner[1], &desc[1], &used[1], fresh[-2]);
	exchange_one(x, &p[2], &owner[2], &desc[2], &used[2], fresh[-3]);
	exchange_one(x, &p[3], &owner[3], &desc[3], &used[3], fresh[-4]);
	exchange_one(x, &p[4], &owner[4], &desc[4], &used[4], fresh[-5]);
	exchange_one(x, &p[5], &owner[5], &desc[5], &used[5], fresh[-6]);
	exchange_one(x, &p[6], &owner[6], &desc[6], &used[6], fresh[-7]);
	exchange_one(x, &p[7], &owner[7], &desc[7], &used[7], fresh[-8]);
}
_Static_assert(VIRTIO_BLOCK == 8, "as exchange_block has it");

/*
 * Exchanges leading blocks of the n used buffers as long as they are straight, and the pool has buffers: a
 * device that keeps the order without having promised it, as most do. A packet costs two fifths of the
 * instructions of rx_take and rx_replace. Returns how many packets.
 */
static __attribute__((noinline)) unsigned rx_blocks(struct virtio_ring *r, struct bufpool *pool,
                                                    struct pkt *v, unsigned n)
{
	const struct place at = place_of(r, pool);
	const struct exchange x = {frame_at(&at, 0), dma_addr(frame_at(&at, 0) - HDR_BYTES).bus, at.stride,
	                           PKT_WORD(0, 0, 0, r->port), (uint32_t)(buf_room(pool) + HDR_BYTES)};
	const uint16_t tail = r->tail, head = r->head;
	unsigned i = 0;
	n = n < pool->free ? n : pool->free;
	for (unsigned k = 0; k < n; k += VIRTIO_USED_PER_LINE)
		__builtin_prefetch(&at.used[(tail + k) & at.mask]);
	for (unsigned k = 0; k < n; k += VIRTIO_DESC_PER_LINE)
		prefetch_write(&at.desc[(tail + k) & at.mask]);
	for (; i + VIRTIO_BLOCK <= n; i += VIRTIO_BLOCK) {
		const uint32_t from = (tail + i) & at.mask;
		if (unlikely(!block_is_straight(&at, from, head + i)))
			break;
		exchange_block(&x, &at, v + i, from, &pool->stack[pool->free - i]);
	}
	pool->free -= i;
	r->tail = (uint16_t)(tail + i);
	r->head = (uint16_t)(head + i);
	return i;
}

/* rx_take and rx_replace, compiled once for each kind of device. A test per packet of in_order, and
 * the registers it occupies, cost 2 to 3 cycles of 27 with all lines in cache. */
static inline __attribute__((always_inline)) unsigned
rx_exchange(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt, struct pkt *v,
            unsigned n, unsigned waiting, unsigned before, bool in_order, bool *broken)
{
	uint16_t ids[PKT_VECTOR_MAX];
	n = rx_take(r, pool, cnt, v, ids, n, waiting, before, in_order, broken);
	rx_replace(r, pool, cnt, ids, n, in_order);
	return n;
}

/* True, and the sum of their lengths in *bytes: all frames have a length and a plain header. */
static inline bool all_plain(const struct virtio_ring *r, const struct pkt *v, unsigned n, bool offload,
                             uint64_t *bytes)
{
	uint32_t kinds = 0, others = r->skip, lengths = 0, sum = 0;
	for (const struct pkt *p = v, *end = v + n; p != end; p++) {
		const struct virtio_net_hdr *h = (const void *)(p->data - HDR_BYTES);
		kinds |= raw16_load(h); /* flags and gso_type */
		others |= h->num_buffers ^ 1u;
		lengths |= p->len - 1u; /* beyond 16 bits: it was 0 */
		sum += p->len;
	}
	*bytes = sum;
	return !(others | lengths >> 16) && !(kinds && offload);
}

/* Handles the headers of n received frames, of which some may not be plain. Returns how many frames are left
 * in v, with their lengths added to *bytes. */
static __attribute__((noinline)) unsigned rx_headers(struct virtio_ring *r, struct bufpool *pool,
                                                     struct nic_counters *cnt, struct pkt *v, unsigned n,
                                                     bool offload, uint64_t *bytes)
{
	unsigned good = 0, skip = r->skip;
	*bytes = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct virtio_net_hdr *h = (const void *)(v[i].data - HDR_BYTES);
		struct pkt *p = &v[i];
		if (unlikely(skip)) { /* the rest of a dropped frame: it has no header */
			skip--;
			pkt_free(pool, p);
			continue;
		}
		if (unlikely(p->len == 0)) {
			cnt->rx_bad_len++;
			pkt_free(pool, p);
			continue;
		}
		/* flags and gso_type zero, one buffer: a plain frame */
		if (unlikely((raw16_load(h) && offload) || h->num_buffers != 1) &&
		    !rx_header(r, pool, cnt, p, h)) {
			skip = r->skip;
			pkt_free(pool, p);
			continue;
		}
		*bytes += p->len;
		v[good++] = *p; /* closes the gap in the vector */
	}
	r->skip = (uint16_t)skip;
	return good;
}

unsigned virtio_rx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         struct pkt *v, unsigned max, bool offload, bool *broken)
{
	unsigned waiting = used_waiting(r, broken);
	if (waiting == 0) {
		if (unlikely(r->head == r->tail && r->missing < r->most)) {
			*broken = true; /* all returned by the index, some never by id: receives no
			                   more */
		} else if (unlikely(r->missing && pool->free && !*broken)) {
			refill_missing(r, pool, cnt);
			publish(r, cnt);
		}
		return 0;
	}
	unsigned n = waiting < max ? waiting : max;
	if (r->in_order) {
		n = rx_exchange(r, pool, cnt, v, n, waiting, 0, true, broken);
	} else {
		const unsigned blocks = n < VIRTIO_BLOCK ? 0 : rx_blocks(r, pool, v, n);
		n = blocks + rx_exchange(r, pool, cnt, v + blocks, n - blocks, waiting - blocks, blocks, false,
		                         broken);
	}
	if (unlikely(r->missing && pool->free))
		refill_missing(r, pool, cnt);
	publish(r, cnt);

	uint64_t bytes = 0;
	n = likely(all_plain(r, v, n, offload, &bytes)) ? n : rx_headers(r, pool, cnt, v, n, offload, &bytes);
	cnt->rx_place = r->tail;
	cnt->rx_pkts += n;
	cnt->rx_bytes += bytes;
	return n;
}

bool virtio_rx_interrupt(struct virtio_ring *r, bool arm)
{
	r->avail->flags = arm ? 0 : VIRTQ_AVAIL_F_NO_INTERRUPT;
	barrier_full();
	return __atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE) != r->tail;
}

unsigned virtio_rx_left(const void *mem, unsigned size, uint64_t place)
{
	struct virtio_ring r;
	virtio_ring_layout(&r, (void *)(uintptr_t)mem, size);
	uint16_t left = (uint16_t)(__atomic_load_n(&r.used->idx, __ATOMIC_ACQUIRE) - place);
	return left <= size ? left : 0; /* the device claims more than it was given */
}
