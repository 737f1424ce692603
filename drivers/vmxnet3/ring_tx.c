/*
 * See ring.h: the transmit half of a pair. Every frame asks for a completion, as in all public drivers. One look
 * takes all completions that wait; the last of them says up to where buffers are free.
 */
#include "drivers/vmxnet3/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define DESC_PER_LINE (CACHE_LINE / sizeof(struct vmxnet3_tx_desc))
#define MSS_MAX 0x3fffu

void vmxnet3_tx_init(struct vmxnet3_tx *r, void *mem, unsigned size)
{
	const struct vmxnet3_layout l = vmxnet3_layout(size);
	uint8_t *base = mem;
	*r = (struct vmxnet3_tx){
		.desc = (struct vmxnet3_tx_desc *)(void *)(base + l.tx_desc),
		.comp = (struct vmxnet3_tx_comp *)(void *)(base + l.tx_comp),
		.owner = (uint32_t *)(void *)(base + l.tx_owner),
		.mask = size - 1,
	};
}

/* --- completion --- */

uint32_t vmxnet3_tx_done(struct vmxnet3_tx *r, struct nic_counters *cnt, bool *broken)
{
	const uint32_t mask = r->mask, last = r->done + mask + 1;
	uint32_t done = r->done, sent = r->tail;
	for (; done != last; done++) {
		const struct vmxnet3_tx_comp *c = &r->comp[done & mask];
		const uint32_t gen = __atomic_load_n(&c->gen, __ATOMIC_ACQUIRE);
		if ((gen >> 31) != !(done & (mask + 1)))
			break;
		const uint32_t index = __atomic_load_n(&c->index, __ATOMIC_RELAXED) & VMXNET3_TXC_INDEX;
		const uint32_t n = ((index - sent) & mask) + 1;
		if (unlikely(index > mask || n > r->head - sent)) {
			cnt->tx_bad_desc++;
			*broken = true;
			break;
		}
		sent += n;
	}
	r->done = done;
	return sent;
}

/* Frees a packet whose buffers may have other holders. */
static __attribute__((noinline)) void free_odd(struct bufpool *pool, uint32_t owner)
{
	struct pkt p = {.buf = owner & VMXNET3_OWNER_BUF,
	                .flags = (uint8_t)(owner >> VMXNET3_OWNER_FLAGS_SHIFT & (PKT_SHARED | PKT_CHAIN))};
	if (owner != VMXNET3_NONE)
		pkt_free(pool, &p);
}

static inline void free_until(struct vmxnet3_tx *r, struct bufpool *pool, uint32_t end)
{
	const uint32_t *owner = r->owner;
	const uint32_t mask = r->mask;
	for (uint32_t tail = r->tail; tail != end; tail++) {
		const uint32_t buf = owner[tail & mask];
		if (likely(buf <= VMXNET3_OWNER_BUF))
			buf_free(pool, buf);
		else
			free_odd(pool, buf);
	}
	r->tail = end;
}

static inline void reclaim(struct vmxnet3_tx *r, struct bufpool *pool, struct nic_counters *cnt, bool *broken)
{
	free_until(r, pool, vmxnet3_tx_done(r, cnt, broken));
}

COLD void vmxnet3_tx_release(struct vmxnet3_tx *r, struct bufpool *pool)
{
	free_until(r, pool, r->head);
}

/* --- offloads --- */

/* What the first descriptor of a frame says besides its address and length. */
struct how {
	uint32_t mss, how;
};

/*
 * For segmentation the pseudo-header sum must omit the length, and the IPv4 checksum be 0: the device adds those of
 * each segment (Linux' vmxnet3_prepare_tso). `bytes`: of all pieces.
 */
static void prepare_segmentation(const struct pkt *p, uint32_t bytes, const struct pkt_meta *m,
                                 const struct pkt_headers *h)
{
	uint8_t *check = p->data + m->csum_start + m->csum_offset;
	const uint32_t sum = be16_load(check) + (0xffffu ^ (uint16_t)(bytes - m->csum_start));
	be16_store(check, (uint16_t)((sum & 0xffff) + (sum >> 16)));
	if (h->ip4)
		be16_store(p->data + h->l3 + 10, 0);
}

/* Completes `h`, and does in software what the device cannot. */
static void tx_offload(const struct bufpool *pool, const struct pkt *p, uint32_t bytes, struct how *h)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	struct pkt_headers at;
	if (p->flags & PKT_VLAN)
		h->how |= VMXNET3_TXD_TAG | (uint32_t)m->vlan_tci << VMXNET3_TXD_TCI_SHIFT;
	if (!(p->flags & PKT_CSUM_PARTIAL))
		return;
	const bool here = pkt_find_headers(pool, p, &at) && at.l4 <= VMXNET3_TXD_HEADERS_MAX;
	if (p->flags & PKT_TSO) { /* its maker has seen NIC_TSO */
		assert(here && at.tcp && m->mss && m->mss <= MSS_MAX);
		assert(m->hdr_bytes <= p->len && m->hdr_bytes < bytes && m->hdr_bytes <= VMXNET3_TXD_HEADERS_MAX);
		prepare_segmentation(p, bytes, m, &at);
		h->how |= VMXNET3_TXD_TSO | m->hdr_bytes;
		h->mss = (uint32_t)m->mss << VMXNET3_TXD_MSS_SHIFT;
	} else if (here) {
		h->how |= VMXNET3_TXD_CSUM | m->csum_start;
		h->mss = (uint32_t)(m->csum_start + m->csum_offset) << VMXNET3_TXD_MSS_SHIFT;
	} else {
		struct pkt done = *p;
		pkt_csum_complete(pool, &done);
	}
}

/* --- send --- */

/* Flags of packets that need more than the plain descriptor. */
#define TX_ODD (PKT_CSUM_PARTIAL | PKT_TSO | PKT_USO | PKT_VLAN | PKT_SHARED | PKT_CHAIN)
#define LAST (VMXNET3_TXD_EOP | VMXNET3_TXD_CQ)

static inline uint32_t gen_of(const struct vmxnet3_tx *r, uint32_t position)
{
	return position & (r->mask + 1) ? 0 : VMXNET3_TXD_GEN;
}

/* Writes a descriptor; word 2, with `gen`, last. */
static inline void put_desc(struct vmxnet3_tx *r, uint32_t at, const uint8_t *from, uint32_t len_gen, uint32_t how)
{
	struct vmxnet3_tx_desc *d = &r->desc[at];
	d->addr = dma_addr(from).bus;
	d->how = how;
	__atomic_store_n(&d->len_gen, len_gen, __ATOMIC_RELEASE);
}

/* A frame being put: its next descriptor. */
struct putting {
	uint32_t first; /* position of its first descriptor */
	struct how h;
};

/* Puts a piece. That of the first descriptor is not valid yet: publish makes it so. */
static void put_piece(struct vmxnet3_tx *r, const struct putting *f, const uint8_t *from, uint32_t len, bool last,
                      uint32_t owner)
{
	const uint32_t position = r->head++, at = position & r->mask;
	const bool first = position == f->first;
	const uint32_t gen = gen_of(r, position) ^ (first ? VMXNET3_TXD_GEN : 0);
	r->owner[at] = owner;
	put_desc(r, at, from, len | gen | (first ? f->h.mss : 0), (first ? f->h.how : 0) | (last ? LAST : 0));
}

static void publish(struct vmxnet3_tx *r, const struct putting *f)
{
	uint32_t *word = &r->desc[f->first & r->mask].len_gen;
	__atomic_store_n(word, *word ^ VMXNET3_TXD_GEN, __ATOMIC_RELEASE);
}

/* Copies a frame of `bytes` bytes into fresh buffers, one to a descriptor, and frees it (invariant 6). */
static void put_gathered(struct vmxnet3_tx *r, struct bufpool *pool, const struct pkt *p, uint32_t bytes,
                         const struct putting *f)
{
	const struct pkt_frag *frag = pkt_frags(pool, p->buf);
	const uint8_t *from = p->data;
	uint32_t have = p->len;
	while (bytes) {
		struct pkt to;
		const uint32_t len = u32_min(bytes, buf_room(pool));
		bool got = pkt_alloc(pool, &to);
		assert(got); /* the caller has counted them */
		for (uint32_t at = 0; at < len;) {
			const uint32_t n = u32_min(have, len - at);
			memcpy(to.data + at, from, n);
			at += n;
			from += n;
			have -= n;
			if (have == 0 && (at < len || bytes > len)) {
				from = buf_at(pool, frag->buf, frag->offset);
				have = frag++->len;
			}
		}
		bytes -= len;
		put_piece(r, f, to.data, len, bytes == 0, to.buf);
	}
	pkt_free(pool, p);
}

/* Puts the pieces of a frame as they are. */
static void put_pieces(struct vmxnet3_tx *r, const struct bufpool *pool, const struct pkt *p, unsigned pieces,
                       const struct putting *f)
{
	const struct pkt_frag *frag = pkt_frags(pool, p->buf);
	const uint32_t held = p->flags & (PKT_SHARED | PKT_CHAIN);
	const uint32_t owner = p->buf | held << VMXNET3_OWNER_FLAGS_SHIFT;
	put_piece(r, f, p->data, p->len, pieces == 1, pieces == 1 ? owner : VMXNET3_NONE);
	for (unsigned i = 1; i < pieces; i++, frag++)
		put_piece(r, f, buf_at(pool, frag->buf, frag->offset), frag->len, i + 1 == pieces,
		          i + 1 == pieces ? owner : VMXNET3_NONE);
}

/*
 * Puts a packet that is not plain. False, and nothing changed: no room for all of it, or no buffers to gather it
 * into. A frame that is too long even when gathered, which takes a chain of more than 24 buffers full of data, is
 * counted and dropped.
 */
static __attribute__((noinline)) bool put_odd(struct vmxnet3_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                                              const struct pkt *p, uint64_t *bytes)
{
	const uint32_t total = pkt_bytes(pool, p), room = r->tail + r->mask - r->head;
	const unsigned most = p->flags & PKT_TSO ? VMXNET3_PIECES_MAX_TSO : VMXNET3_PIECES_MAX;
	unsigned pieces = p->flags & PKT_CHAIN ? 1u + pkt_meta(pool, p->buf)->frags : 1;
	const bool gather = pieces > most;
	struct putting f = {.first = r->head};
	assert(!(p->flags & PKT_USO)); /* its maker has not seen NIC_USO */
	if (unlikely(gather)) {
		pieces = (total + buf_room(pool) - 1) / buf_room(pool);
		if (pieces > most) {
			cnt->tx_bad_desc++;
			pkt_free(pool, p);
			*bytes += total;
			return true;
		}
		if (pool->free < pieces)
			return false;
	}
	if (room < pieces)
		return false;
	tx_offload(pool, p, total, &f.h);
	if (unlikely(gather))
		put_gathered(r, pool, p, total, &f);
	else
		put_pieces(r, pool, p, pieces, &f);
	publish(r, &f);
	*bytes += total;
	return true;
}

/* Fills descriptors for the first packets of v; returns how many fitted. */
static inline unsigned put_frames(struct vmxnet3_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                                  const struct pkt *v, unsigned n, uint64_t *bytes)
{
	const uint32_t limit = r->tail + r->mask;
	unsigned i;
	for (i = 0; i < n; i++) {
		const struct pkt *p = &v[i];
		if (unlikely(r->head == limit))
			break;
		if (unlikely(p->flags & TX_ODD)) {
			if (!put_odd(r, pool, cnt, p, bytes))
				break;
			continue;
		}
		const uint32_t position = r->head++, at = position & r->mask;
		r->owner[at] = p->buf;
		put_desc(r, at, p->data, p->len | gen_of(r, position), LAST);
		*bytes += p->len;
	}
	return i;
}

unsigned vmxnet3_tx_burst(struct vmxnet3_tx *r, struct bufpool *pool, struct nic_counters *cnt, const struct pkt *v,
                          unsigned n, bool *broken)
{
	reclaim(r, pool, cnt, broken);
	if (n == 0 || unlikely(*broken))
		return 0;
	for (unsigned i = 0; i < n; i += DESC_PER_LINE)
		prefetch_write(&r->desc[(r->head + i) & r->mask]);
	const uint32_t head = r->head;
	uint64_t bytes = 0;
	const unsigned took = put_frames(r, pool, cnt, v, n, &bytes);
	cnt->tx_pkts += took;
	cnt->tx_bytes += bytes;
	if (unlikely(took < n))
		cnt->tx_full++;
	if (r->head != head) {
		barrier_write();
		mmio_write32(r->doorbell, r->head & r->mask);
		cnt->mmio_writes++;
	}
	return took;
}
