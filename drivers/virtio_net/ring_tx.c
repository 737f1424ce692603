/*
 * The transmit ring with packets (ring.h, invariant 2). Plain packets are put by a loop of their
 * own. Packets to be segmented, in pieces, or with other holders are put one by one.
 */
#include "drivers/virtio_net/inside.h"

#include "hal/barrier.h"

#define ETHER_BYTES 14
#define VLAN_BYTES 4
#define ETHERTYPE_IP6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_SVLAN 0x88a8
#define TCP_FLAGS 13 /* offset in the header (RFC 9293, 3.1) */
#define TCP_CWR 0x80
#define RECLAIM_ABOVE 32 /* descriptors: wants_reclaim */

/* Flags of packets that need more than one descriptor and one buffer of our own. */
#define TX_ODD (PKT_TSO | PKT_USO | PKT_SHARED | PKT_CHAIN)

/* owner[] of a packet with PKT_SHARED or PKT_CHAIN has these two flags above the buffer number.
 * VIRTIO_NONE also has the highest bit: one comparison finds all that is not a plain buffer. */
#define OWNER_ODD 0x80000000u
#define OWNER_FLAGS_SHIFT 24
#define OWNER_BUF ((1u << 29) - 1)
_Static_assert((PKT_SHARED | PKT_CHAIN) << OWNER_FLAGS_SHIFT == 0x60000000, "OWNER_BUF is below");

static inline uint32_t owner_of(const struct pkt *p)
{
	uint32_t held = p->flags & (PKT_SHARED | PKT_CHAIN);
	return held ? p->buf | held << OWNER_FLAGS_SHIFT | OWNER_ODD : p->buf;
}

/* Frees a packet whose buffers may have other holders. */
static __attribute__((noinline)) void tx_free_odd(struct bufpool *pool, uint32_t owner)
{
	if (!(owner >> OWNER_FLAGS_SHIFT & PKT_CHAIN)) {
		buf_put(pool, owner & OWNER_BUF);
		return;
	}
	struct pkt p = {.buf = owner & OWNER_BUF,
	                .flags = (uint8_t)(owner >> OWNER_FLAGS_SHIFT & (PKT_SHARED | PKT_CHAIN))};
	pkt_free(pool, &p);
}

COLD void virtio_release(struct virtio_ring *r, struct bufpool *pool)
{
	for (unsigned i = 0; i < r->size; i++) {
		const uint32_t owner = r->owner[i];
		r->owner[i] = VIRTIO_NONE;
		if (owner & OWNER_ODD && owner != VIRTIO_NONE)
			tx_free_odd(pool, owner);
		else if (owner != VIRTIO_NONE)
			buf_free(pool, owner);
	}
}

/* The first descriptor from `done` on that has an owner. */
static inline uint16_t skip_free(const struct place *at, uint16_t done, uint16_t next)
{
	while (done != next && at->owner[done & at->mask] == VIRTIO_NONE)
		done++;
	return done;
}

/* Reclaims a block of plain packets whose descriptors begin at `done`. False, and nothing changed: some
 * packet is not plain. */
static inline bool free_block(const struct place *at, struct bufpool *pool, uint16_t done)
{
	uint32_t *owner = &at->owner[done & at->mask];
	if (unlikely(!buf_free_block(pool, owner, VIRTIO_BLOCK, OWNER_ODD)))
		return false;
	for (unsigned k = 0; k < VIRTIO_BLOCK; k += 2)
		raw64_store(&owner[k], UINT64_MAX);
	return true;
}
_Static_assert(VIRTIO_NONE == UINT32_MAX, "as free_block has it");

/* Reclaims blocks of plain packets that the device has sent in their order, of the n used entries from
 * `tail` on. Returns how many packets; the first is in descriptor `done`, which has an owner. */
static inline unsigned reclaim_blocks(const struct place *at, struct bufpool *pool, uint16_t tail,
                                      unsigned n, uint16_t done, bool in_order)
{
	unsigned i = 0;
	for (; i + VIRTIO_BLOCK <= n; i += VIRTIO_BLOCK, done = (uint16_t)(done + VIRTIO_BLOCK)) {
		const uint32_t id = done & at->mask, entry = (tail + i) & at->mask;
		if (unlikely(!block_fits(id, at->mask) || !block_fits(entry, at->mask)) ||
		    unlikely(!in_order && !names_block(&at->used[entry], id)) ||
		    unlikely(!free_block(at, pool, done)))
			break;
	}
	return i;
}

/* Reclaims the packets of n used entries from `tail` on, each by itself. Returns `done`. */
static uint16_t reclaim_each(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                             uint16_t tail, unsigned n, uint16_t done)
{
	const struct place at = place_of(r, pool);
	const bool in_order = r->in_order;
	for (unsigned i = 0; i < n; i++) {
		if (in_order)
			done = skip_free(&at, done, r->next);
		uint32_t id = in_order ? done & at.mask
		                       : device_load32(&at.used[(tail + i) & at.mask].id);
		uint32_t buf = likely(id <= at.mask) ? at.owner[id] : VIRTIO_NONE;
		if (unlikely(buf == VIRTIO_NONE)) {
			cnt->tx_bad_desc++;
			continue;
		}
		at.owner[id] = VIRTIO_NONE;
		if (unlikely(buf & OWNER_ODD))
			tx_free_odd(pool, buf);
		else
			buf_free(pool, buf);
	}
	return skip_free(&at, done, r->next);
}

/* Reclaims what the device has sent. */
static inline void tx_reclaim(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                              bool *broken)
{
	const struct place at = place_of(r, pool);
	unsigned n = used_waiting(r, broken);
	uint16_t tail = r->tail, done = r->done;
	while (n) {
		const unsigned plain = reclaim_blocks(&at, pool, tail, n, done, r->in_order);
		tail = (uint16_t)(tail + plain);
		done = (uint16_t)(done + plain);
		n -= plain;
		const unsigned each = n < VIRTIO_BLOCK ? n : VIRTIO_BLOCK;
		done = reclaim_each(r, pool, cnt, tail, each, done);
		tail = (uint16_t)(tail + each);
		n -= each;
	}
	r->tail = tail;
	r->done = done;
	if (unlikely(tail == r->head && done != r->next))
		*broken = true; /* all returned by the index, one never by id: it would fill up */
}

/* Completes the checksum in the frame, because the device does not. */
COLD static void tx_complete(const struct bufpool *pool, struct pkt p)
{
	pkt_csum_complete(pool, &p);
}

/* A header that requests nothing from the device. 5.1.6.2: num_buffers is zero too. */
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

/* Whether IPv6 follows the Ethernet header, VLAN tags included. */
static bool is_ip6(const struct pkt *p, unsigned csum_start)
{
	for (unsigned l3 = ETHER_BYTES; l3 <= csum_start; l3 += VLAN_BYTES) {
		uint16_t type = be16_load(p->data + l3 - 2);
		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_SVLAN)
			return type == ETHERTYPE_IP6;
	}
	return false;
}

/* 5.1.6.2: how the device shall segment the frame. */
static void gso_header(const struct virtio_ring *r, const struct pkt_meta *m, const struct pkt *p,
                       struct virtio_net_hdr *h)
{
	assert(m->mss && m->hdr_bytes <= p->len && m->hdr_bytes > m->csum_start);
	h->gso_type = p->flags & PKT_USO         ? VIRTIO_NET_HDR_GSO_UDP_L4
	              : is_ip6(p, m->csum_start) ? VIRTIO_NET_HDR_GSO_TCPV6
	                                         : VIRTIO_NET_HDR_GSO_TCPV4;
	/*
	 * RFC 3168, 6.1.2: only the first segment may carry CWR, so the device has to know of it. A
	 * device without HOST_ECN must not be told. 5.1.6.2.1 advises against giving it such a
	 * frame (SHOULD NOT); we do so all the same, and it sets CWR in all segments. At worst the
	 * receiver forgets a mark that arrived between two of them, and the next mark serves as
	 * well.
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
		assert(!(p->flags & (PKT_TSO | PKT_USO))); /* the maker has seen NIC_TSO, _USO */
		tx_complete(pool, *p);
		return;
	}
	partial_header((uint8_t *)h, m);
	if (p->flags & (PKT_TSO | PKT_USO))
		gso_header(r, m, p, h);
}

/*
 * Puts plain packets from the start of v, at most n, up to the first that is not plain. A partial
 * checksum still counts as plain, because most frames between guests of one host have one. A
 * function of its own so that the loop's variables stay in registers.
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

/* put_plain for packets in one buffer that has other holders, as TCP sends them. The device gets no request
 * but a checksum. */
static __attribute__((noinline)) unsigned put_shared(const struct virtio_ring *r,
                                                     const struct bufpool *pool,
                                                     const struct pkt *v, unsigned n,
                                                     uint64_t *bytes)
{
	const struct place at = place_of(r, pool);
	const struct pkt *p = v, *end = v + n;
	uint32_t next = r->next;
	uint64_t sum = 0;
	for (; p != end && (p->flags & TX_ODD) == PKT_SHARED; p++, next++) {
		uint8_t *header = p->data - HDR_BYTES;
		uint32_t id = next & at.mask, len = p->len + (uint32_t)HDR_BYTES;
		plain_header(header);
		if (p->flags & PKT_CSUM_PARTIAL) {
			if (unlikely(!r->csum))
				tx_complete(pool, *p);
			else
				partial_header(header, pkt_meta(pool, p->buf));
		}
		at.owner[id] = p->buf | PKT_SHARED << OWNER_FLAGS_SHIFT | OWNER_ODD;
		put_desc(&at, id, header, len, 0, 0);
		sum += len;
	}
	n = (unsigned)(p - v);
	*bytes += sum - n * HDR_BYTES;
	return n;
}

/* Makes the next n entries of avail name the next n descriptors (invariant 2). */
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
		put_desc(at, id, buf_at(pool, f->buf, f->offset), f->len,
		         more ? VIRTQ_DESC_F_NEXT : 0, more ? (id + 1) & at->mask : 0);
		at->owner[id] = VIRTIO_NONE; /* returned together with the first */
	}
}

/* Puts a packet that is not plain. False, and nothing changed: no room for all of it. */
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
		r->stale = r->size; /* entries and descriptors have shifted against each other */
	}
	return true;
}

void virtio_tx_reclaim(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                       bool *broken)
{
	tx_reclaim(r, pool, cnt, broken);
}

/*
 * Shall a burst of n packets read what the device has sent? Short bursts share that read, which fetches a
 * line that the device writes. A burst that might ring the doorbell reads in any case, because the device
 * may want no notification by now; so does the first, which knows nothing of the device.
 */
static bool wants_reclaim(const struct virtio_ring *r, unsigned n)
{
	return r->notify || r->tail == r->head ||
	       n + (uint16_t)(r->next - r->done) > u32_min(RECLAIM_ABOVE, r->size / 2u);
}

unsigned virtio_tx_burst(struct virtio_ring *r, struct bufpool *pool, struct nic_counters *cnt,
                         const struct pkt *v, unsigned n, bool *broken)
{
	const struct place at = place_of(r, pool);
	uint64_t bytes = 0;
	unsigned took = 0;
	if (n == 0 || wants_reclaim(r, n))
		tx_reclaim(r, pool, cnt, broken);
	if (n == 0 || unlikely(*broken))
		return 0;
	unsigned room = r->size - (uint16_t)(r->next - r->done), most = n < room ? n : room;
	for (unsigned i = 0; i < most; i += VIRTIO_DESC_PER_LINE)
		prefetch_write(&at.desc[(r->next + i) & at.mask]);
	for (;;) {
		const unsigned odd = likely(most) ? v[took].flags & TX_ODD : PKT_CHAIN;
		unsigned put = 0;
		if (odd == 0)
			put = put_plain(r, pool, v + took, most, &bytes);
		else if (odd == PKT_SHARED)
			put = put_shared(r, pool, v + took, most, &bytes);
		offer(r, &at, put);
		took += put;
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
