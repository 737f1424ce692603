/*
 * See ring.h. The loops are split so that cache misses overlap: first the used entries (and a
 * prefetch of each frame's first line), then the refill, then the frames' headers. Lines that the
 * device has read and we are about to write are fetched for writing ahead of their loop. Measured
 * against a polling backend beside l3fwd (make bench): 110 -> 92 TSC cycles a packet with the two
 * cores near each other, 234 -> 200 with them far apart.
 */
#include "drivers/virtio_net/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/bytes.h"

#define HDR_BYTES sizeof(struct virtio_net_hdr)
#define ETHER_BYTES 14
#define VLAN_BYTES 4
#define ETHERTYPE_IP6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_SVLAN 0x88a8
#define TCP_FLAGS 13 /* offset in the header (RFC 9293, 3.1) */
#define TCP_CWR 0x80

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

/* used.idx, and with it in one load used.flags. */
static inline uint16_t read_used(struct virtio_ring *r)
{
	uint32_t both = __atomic_load_n((const uint32_t *)(const void *)r->used, __ATOMIC_ACQUIRE);
	r->notify = !(both & VIRTQ_USED_F_NO_NOTIFY);
	return (uint16_t)(both >> 16);
}

/* Tells the device if it wants to be told. */
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

void virtio_settle(struct virtio_ring *r, struct nic_counters *cnt)
{
	if (likely(r->unsettled == 0) || --r->unsettled)
		return;
	barrier_full();
	read_used(r);
	notify(r, cnt);
}

/* What the device may change while we look is read once: checked and used are the same value. */
static inline uint32_t device_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* Used entries that wait, or 0 with *broken set when the device claims more than it was given. */
static inline unsigned used_waiting(struct virtio_ring *r, bool *broken)
{
	uint16_t waiting = (uint16_t)(read_used(r) - r->tail);
	if (unlikely(waiting > (uint16_t)(r->head - r->tail))) {
		*broken = true;
		return 0;
	}
	return waiting;
}

/* --- receive --- */

/*
 * Where the parts of a ring and of the pool lie. The loops below keep it in registers: read from *r
 * and *pool it would have to be read anew after every store, for all the compiler knows.
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

/* First byte of a frame in buffer `buf`; the header lies before it. */
static inline uint8_t *frame_at(const struct place *at, uint32_t buf)
{
	return at->base + (size_t)buf * at->stride + BUF_DATA_OFFSET;
}

/* Puts buffer `buf` into descriptor `id` and that at avail position `head`. */
static inline void give(const struct place *at, uint16_t head, uint32_t id, uint32_t buf)
{
	uint32_t slot = head & at->mask;
	at->desc[id].addr = dma_addr(frame_at(at, buf) - HDR_BYTES).bus;
	at->owner[id] = buf;
	/* Devices mostly complete in order, so the entry already says this: spare the line. */
	if (unlikely(at->avail->ring[slot] != id))
		at->avail->ring[slot] = (uint16_t)id;
}

/* Descriptors that lost their buffer get one as soon as the pool has some again. */
COLD static void refill_missing(struct virtio_ring *r, struct bufpool *pool,
                                struct nic_counters *cnt)
{
	const struct place at = place_of(r, pool);
	uint32_t next = r->head; /* the first to look at: whose turn it is */
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

/* Header of a received frame that is not the plain one. False: the frame is not usable. */
COLD static bool rx_header(struct virtio_ring *r, const struct bufpool *pool,
                           struct nic_counters *cnt, struct pkt *p,
                           const volatile struct virtio_net_hdr *from)
{
	struct virtio_net_hdr h = *from; /* once, as in device_load32 */
	r->skip = 0;
	if (h.num_buffers != 1 || h.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
		/* Only after a promise we never made (TSO) or for a frame above the MTU. */
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

/* In order: the length of buffer `id`, the oldest of `waiting`, by the used entry in its place.
 * False: it names none of these. */
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

/* Takes n of the `waiting` used buffers: checked packets into v, their descriptors into ids. */
static inline __attribute__((always_inline)) unsigned
rx_take(struct virtio_ring *r, const struct bufpool *pool, struct nic_counters *cnt, struct pkt *v,
        uint16_t *ids, unsigned n, unsigned waiting, bool in_order, bool *broken)
{
	const struct place at = place_of(r, pool);
	uint32_t room = (uint32_t)(buf_room(pool) + HDR_BYTES);
	uint16_t tail = r->tail;
	uint8_t port = r->port;
	unsigned got = 0;
	for (unsigned i = 0; i < n; i += VIRTIO_USED_PER_LINE)
		__builtin_prefetch(&at.used[(tail + i) & at.mask]);
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
		if (unlikely(buf == VIRTIO_NONE)) {
			cnt->rx_bad_desc++;
			continue;
		}
		uint8_t *data = frame_at(&at, buf);
		prefetch_write(data - HDR_BYTES); /* most frames leave with a new header */
		at.owner[id] = VIRTIO_NONE;
		ids[got] = (uint16_t)id;
		if (unlikely(len < HDR_BYTES || len > room))
			len = HDR_BYTES; /* an empty frame: weeded out with the headers */
		v[got++] = (struct pkt){data, buf, (uint16_t)(len - HDR_BYTES), 0, port};
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

/* rx_take and rx_replace, compiled once for each kind of device: a question for each packet, which
 * kind it is, and the registers that it takes were 2 to 3 cycles of 27, all lines at hand. */
static inline __attribute__((always_inline)) unsigned
rx_exchange(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt, struct pkt *v,
            unsigned n, unsigned waiting, bool in_order, bool *broken)
{
	uint16_t ids[PKT_VECTOR_MAX];
	n = rx_take(r, pool, cnt, v, ids, n, waiting, in_order, broken);
	rx_replace(r, pool, cnt, ids, n, in_order);
	return n;
}

unsigned virtio_rx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         struct pkt *v, unsigned max, bool offload, bool *broken)
{
	unsigned waiting = used_waiting(r, broken);
	if (waiting == 0) {
		if (unlikely(r->head == r->tail && r->missing < r->most)) {
			*broken = true; /* all returned by the index, some never by id: deaf */
		} else if (unlikely(r->missing && pool->free && !*broken)) {
			refill_missing(r, pool, cnt);
			publish(r, cnt);
		}
		return 0;
	}
	unsigned n = waiting < max ? waiting : max;
	n = r->in_order ? rx_exchange(r, pool, cnt, v, n, waiting, true, broken)
	                : rx_exchange(r, pool, cnt, v, n, waiting, false, broken);
	if (unlikely(r->missing && pool->free))
		refill_missing(r, pool, cnt);
	publish(r, cnt);
	cnt->rx_place = r->tail;

	unsigned good = 0, skip = r->skip;
	uint64_t bytes = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct virtio_net_hdr *h = (const void *)(v[i].data - HDR_BYTES);
		struct pkt *p = &v[i];
		if (unlikely(skip)) { /* goes on with a dropped frame: what stands here is no header */
			skip--;
			pkt_free(pool, p);
			continue;
		}
		if (unlikely(p->len == 0)) {
			cnt->rx_bad_len++;
			pkt_free(pool, p);
			continue;
		}
		/* flags and gso_type zero, one buffer: the plain frame */
		if (unlikely((raw16_load(h) && offload) || h->num_buffers != 1) &&
		    !rx_header(r, pool, cnt, p, h)) {
			skip = r->skip;
			pkt_free(pool, p);
			continue;
		}
		bytes += p->len;
		if (unlikely(good != i))
			v[good] = *p; /* the vector closes up */
		good++;
	}
	r->skip = (uint16_t)skip;
	cnt->rx_pkts += good;
	cnt->rx_bytes += bytes;
	return good;
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
	return left <= size ? left : 0; /* it claims more than it was given */
}

/* --- transmit --- */

/* What makes a packet more than a descriptor and a buffer of ours. */
#define TX_ODD (PKT_TSO | PKT_USO | PKT_SHARED | PKT_CHAIN)

/* In owner[], of a packet with PKT_SHARED or PKT_CHAIN: these two flags above its buffer's number.
 * VIRTIO_NONE has the highest bit as well: one comparison finds all that is not a plain buffer. */
#define OWNER_ODD 0x80000000u
#define OWNER_FLAGS_SHIFT 24
#define OWNER_BUF ((1u << 29) - 1)
_Static_assert((PKT_SHARED | PKT_CHAIN) << OWNER_FLAGS_SHIFT == 0x60000000, "OWNER_BUF is below");

static inline uint32_t owner_of(const struct pkt *p)
{
	uint32_t held = p->flags & (PKT_SHARED | PKT_CHAIN);
	return held ? p->buf | held << OWNER_FLAGS_SHIFT | OWNER_ODD : p->buf;
}

/* The end of a packet whose buffers may have other holders. */
static __attribute__((noinline)) void tx_free_odd(struct bufpool *pool, uint32_t owner)
{
	struct pkt p = {.buf = owner & OWNER_BUF,
	                .flags = (uint8_t)(owner >> OWNER_FLAGS_SHIFT & (PKT_SHARED | PKT_CHAIN))};
	pkt_free(pool, &p);
}

/* The first descriptor from `done` on that has an owner. */
static inline uint16_t skip_free(const struct place *at, uint16_t done, uint16_t next)
{
	while (done != next && at->owner[done & at->mask] == VIRTIO_NONE)
		done++;
	return done;
}

/* Takes back what the device has sent. */
static inline void tx_reclaim(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                              bool *broken)
{
	const struct place at = place_of(r, pool);
	unsigned n = used_waiting(r, broken);
	uint32_t *freed = &pool->stack[pool->free];
	uint16_t tail = r->tail, done = r->done, next = r->next;
	bool in_order = r->in_order;
	for (unsigned i = 0; i < n; i++) {
		if (in_order)
			done = skip_free(&at, done, next);
		uint32_t id = in_order ? done & at.mask
		                       : device_load32(&at.used[(tail + i) & at.mask].id);
		uint32_t buf = likely(id <= at.mask) ? at.owner[id] : VIRTIO_NONE;
		if (unlikely(buf & OWNER_ODD)) {
			if (buf == VIRTIO_NONE) {
				cnt->tx_bad_desc++;
				continue;
			}
			at.owner[id] = VIRTIO_NONE;
			pool->free = (uint32_t)(freed - pool->stack);
			tx_free_odd(pool, buf);
			freed = &pool->stack[pool->free];
			continue;
		}
		*freed++ = buf;
		at.owner[id] = VIRTIO_NONE;
	}
	pool->free = (uint32_t)(freed - pool->stack);
	assert(pool->free <= pool->count);
	r->tail = tail = (uint16_t)(tail + n);
	r->done = done = skip_free(&at, done, next);
	if (unlikely(tail == r->head && done != next))
		*broken = true; /* all returned by the index, one never by id: it would fill up */
}

/* The device does not complete checksums: done here, in the frame. */
COLD static void tx_complete(const struct bufpool *pool, struct pkt p)
{
	pkt_csum_complete(pool, &p);
}

/* Nothing is asked of the device. 5.1.6.2: num_buffers is zero too. */
static inline void plain_header(uint8_t *h)
{
	raw64_store(h, 0);
	raw32_store(h + 8, 0);
}

/* The device completes the checksum (VIRTIO_NET_F_CSUM). */
static inline void partial_header(uint8_t *header, const struct pkt_meta *m)
{
	struct virtio_net_hdr *h = (struct virtio_net_hdr *)(void *)header;
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->csum_start = m->csum_start;
	h->csum_offset = m->csum_offset;
}

/* IPv6 behind the Ethernet header, of which VLAN tags are a part. */
static bool is_ip6(const struct pkt *p, unsigned csum_start)
{
	for (unsigned l3 = ETHER_BYTES; l3 <= csum_start; l3 += VLAN_BYTES) {
		uint16_t type = be16_load(p->data + l3 - 2);
		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_SVLAN)
			return type == ETHERTYPE_IP6;
	}
	return false;
}

/* 5.1.6.2: what the device shall cut the frame into. */
static void gso_header(const struct virtio_ring *r, const struct pkt_meta *m, const struct pkt *p,
                       struct virtio_net_hdr *h)
{
	assert(m->mss && m->hdr_bytes <= p->len && m->hdr_bytes > m->csum_start);
	h->gso_type = p->flags & PKT_USO         ? VIRTIO_NET_HDR_GSO_UDP_L4
	              : is_ip6(p, m->csum_start) ? VIRTIO_NET_HDR_GSO_TCPV6
	                                         : VIRTIO_NET_HDR_GSO_TCPV4;
	/*
	 * RFC 3168, 6.1.2: CWR belongs to the first segment alone, and the device has to know. One
	 * that does not know it (HOST_ECN) must not be told, and 5.1.6.2.1 would rather not have it
	 * cut such a frame: it sets CWR in all segments. At worst the receiver forgets a mark that
	 * came between two of them, and the next one is as good.
	 */
	if (r->ecn && p->flags & PKT_TSO && p->data[m->csum_start + TCP_FLAGS] & TCP_CWR)
		h->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	h->gso_size = m->mss;
	h->hdr_len = m->hdr_bytes;
}

static void odd_header(const struct virtio_ring *r, const struct bufpool *pool,
                       const struct pkt *p)
{
	struct virtio_net_hdr *h = (struct virtio_net_hdr *)(void *)(p->data - HDR_BYTES);
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	plain_header((uint8_t *)h);
	if (!(p->flags & PKT_CSUM_PARTIAL)) {
		assert(!(p->flags & (PKT_TSO | PKT_USO)));
		return;
	}
	if (unlikely(!r->csum)) {
		assert(!(p->flags & (PKT_TSO | PKT_USO))); /* whoever made it has seen NIC_TSO, _USO */
		tx_complete(pool, *p);
		return;
	}
	partial_header((uint8_t *)h, m);
	if (p->flags & (PKT_TSO | PKT_USO))
		gso_header(r, m, p, h);
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

/*
 * Plain packets from the first of v on, n at most, up to one that is not. A checksum for the device
 * is plain enough: between guests of one host most frames have one. A function of its own, for all
 * that the loop works with to be in registers.
 */
static __attribute__((noinline)) unsigned put_plain(const struct virtio_ring *r,
                                                    const struct bufpool *pool,
                                                    const struct pkt *v, unsigned n,
                                                    uint64_t *bytes)
{
	const struct place at = place_of(r, pool);
	const struct pkt *p = v, *end = v + n;
	uint32_t next = r->next;
	uint64_t sum = 0;
	for (; p != end; p++, next++) {
		uint8_t *header = p->data - HDR_BYTES;
		uint32_t id = next & at.mask, len = p->len + (uint32_t)HDR_BYTES;
		if (unlikely(p->flags & (TX_ODD | PKT_CSUM_PARTIAL))) {
			if (p->flags & TX_ODD || !r->csum)
				break;
			plain_header(header);
			partial_header(header, pkt_meta(pool, p->buf));
		} else {
			plain_header(header);
		}
		at.owner[id] = p->buf;
		put_desc(&at, id, header, len, 0, 0);
		sum += len;
	}
	n = (unsigned)(p - v);
	*bytes += sum - n * HDR_BYTES;
	return n;
}

/* The next n places of avail name the next n descriptors (invariant 2). */
static inline void offer(struct virtio_ring *r, const struct place *at, unsigned n)
{
	unsigned write = unlikely(r->stale) ? (n < r->stale ? n : r->stale) : 0;
	for (unsigned i = 0; i < write; i++)
		at->avail->ring[(r->head + i) & at->mask] = (uint16_t)((r->next + i) & at->mask);
	r->stale = (uint16_t)(r->stale - write);
	r->head = (uint16_t)(r->head + n);
	r->next = (uint16_t)(r->next + n);
}

/* Links the fragments of a chain behind the descriptor of its first piece. */
static void put_frags(const struct place *at, const struct bufpool *pool, const struct pkt *p,
                      uint16_t next, unsigned pieces)
{
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	for (unsigned i = 1; i < pieces; i++, f++) {
		uint32_t id = (next + i) & at->mask, more = i + 1 < pieces;
		put_desc(at, id, buf_base(pool, f->buf) + f->offset, f->len,
		         more ? VIRTQ_DESC_F_NEXT : 0, more ? (id + 1) & at->mask : 0);
		at->owner[id] = VIRTIO_NONE; /* comes back with the first */
	}
}

/* A packet that is not plain. False, and nothing changed: no room for all of it. */
static __attribute__((noinline)) bool put_odd(struct virtio_ring *r, const struct bufpool *pool,
                                              const struct pkt *p, unsigned room, uint64_t *bytes)
{
	const struct place at = place_of(r, pool);
	unsigned pieces = p->flags & PKT_CHAIN ? 1u + pkt_meta(pool, p->buf)->frags : 1u;
	uint32_t id = r->next & at.mask;
	assert(pieces <= VIRTIO_CHAIN_MAX && pieces <= r->size);
	if (pieces > room)
		return false;
	odd_header(r, pool, p);
	put_desc(&at, id, p->data - HDR_BYTES, (uint32_t)(p->len + HDR_BYTES),
	         pieces > 1 ? VIRTQ_DESC_F_NEXT : 0, pieces > 1 ? (id + 1) & at.mask : 0);
	at.owner[id] = owner_of(p);
	put_frags(&at, pool, p, r->next, pieces);
	*bytes += pkt_bytes(pool, p);
	offer(r, &at, 1);
	if (pieces > 1) {
		r->next = (uint16_t)(r->next + pieces - 1);
		r->stale = r->size; /* places and descriptors have moved against each other */
	}
	return true;
}

unsigned virtio_tx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         const struct pkt *v, unsigned n, bool *broken)
{
	const struct place at = place_of(r, pool);
	uint64_t bytes = 0;
	unsigned took = 0;
	tx_reclaim(r, pool, cnt, broken);
	if (n == 0 || unlikely(*broken))
		return 0;
	unsigned room = r->size - (uint16_t)(r->next - r->done), most = n < room ? n : room;
	for (unsigned i = 0; i < most; i += VIRTIO_DESC_PER_LINE)
		prefetch_write(&at.desc[(r->next + i) & at.mask]);
	for (;;) {
		bool any = likely(most) && !(v[took].flags & TX_ODD);
		unsigned plain = any ? put_plain(r, pool, v + took, most, &bytes) : 0;
		offer(r, &at, plain);
		took += plain;
		room = r->size - (uint16_t)(r->next - r->done);
		if (likely(took == n) || room == 0 || !put_odd(r, pool, &v[took], room, &bytes))
			break;
		took++;
		room = r->size - (uint16_t)(r->next - r->done);
		most = n - took < room ? n - took : room;
	}
	cnt->tx_pkts += took;
	cnt->tx_bytes += bytes;
	cnt->tx_full += took < n;
	if (took)
		publish(r, cnt);
	return took;
}

/* --- slots --- */

#define SLOT_DONE 0u /* in owner[]: came back before an older one */

unsigned virtio_slots_open(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                           bool *broken)
{
	tx_reclaim(r, pool, cnt, broken);
	if (*broken || r->done != r->next)
		return 0;
	/* Chains have moved places against descriptors. */
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

/* Two used entries: id and length, twice. */
typedef uint32_t used_pair __attribute__((vector_size(16), aligned(4), may_alias));
#define IN_ORDER_BLOCK 8u /* entries looked at together */

/* Whether the used entries of a block, from entry `at` on, each name the descriptor of the entry's
 * own number. Eight at a time, without a branch for each: 2.0 cycles a packet for 3.1 (make
 * slots-bench). */
static inline bool block_in_order(const struct virtq_used_elem *used, uint32_t at)
{
	const used_pair *two = (const void *)&used[at], step = {2, 0, 2, 0}, id = {~0u, 0, ~0u, 0};
	used_pair wanted = {at, 0, at + 1, 0}, wrong = {0};
	for (unsigned k = 0; k < IN_ORDER_BLOCK / 2; k++, wanted += step)
		wrong |= (two[k] ^ wanted) & id;
	return (wrong[0] | wrong[2]) == 0;
}

/* How many used entries from `tail` on, n at most, name the slots in their order: then an entry's
 * number is its descriptor's. */
static inline unsigned named_in_order(const struct virtio_ring *r, unsigned n)
{
	const struct virtq_used_elem *used = r->used->ring;
	uint32_t mask = r->size - 1u, i = 0, at = r->tail & mask;
	while (likely(i + IN_ORDER_BLOCK <= n && at + IN_ORDER_BLOCK <= mask + 1) &&
	       block_in_order(used, at)) {
		at = (at + IN_ORDER_BLOCK) & mask;
		i += IN_ORDER_BLOCK;
	}
	for (; i < n && device_load32(&used[at].id) == at; i++)
		at = (at + 1) & mask;
	return i;
}

/* Used entries in any order, n of them, each to be looked at for itself. */
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
 * A look at used.idx fetches a line that the device is writing. While most slots are known to be
 * ours one look for so many sends will do, and the used entries are then read many at a time. No
 * fewer looks than that: used.flags, which come along, are how a device says that it is asleep.
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

/* Slots that are ours as of the last look. */
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
