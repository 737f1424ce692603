/*
 * See ring.h: the transmit half of a pair.
 *
 * RS is set in one descriptor of INTEL_TX_REPORT and in the last of a burst. The device reports by
 * writing its head (7.2.3.5.2), never into the ring: one line tells its progress. With DD it would write
 * a descriptor per report, in lines that we are about to fill again.
 */
#include "drivers/intel/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/number.h"

#define DESC_PER_LINE (CACHE_LINE / sizeof(union intel_tx_desc))
#define ETHER_BYTES 14
#define TCP_BYTES 20
#define TCP_BYTES_MAX 60
#define UDP_BYTES 8

void intel_tx_init(struct intel_tx *r, void *mem, unsigned size)
{
	struct intel_layout l = intel_layout(size);
	uint8_t *base = mem;
	*r = (struct intel_tx){
		.desc = (union intel_tx_desc *)(void *)(base + l.tx_desc),
		.owner = (uint32_t *)(void *)(base + l.tx_owner),
		.written_head = (uint32_t *)(void *)(base + l.written_head),
		.mask = size - 1,
	};
}

/* --- completion --- */

/* Frees a packet whose buffers may have other holders. */
static __attribute__((noinline)) void free_odd(struct bufpool *pool, uint32_t owner)
{
	struct pkt p = {.buf = owner & INTEL_OWNER_BUF,
	                .flags = (uint8_t)(owner >> INTEL_OWNER_FLAGS_SHIFT &
	                                   (PKT_SHARED | PKT_CHAIN))};
	if (owner != INTEL_NONE)
		pkt_free(pool, &p);
}

/* Frees the buffers of the next n descriptors. */
static inline void free_sent(struct intel_tx *r, struct bufpool *pool, uint32_t n)
{
	const uint32_t tail = r->tail;
	r->tail = tail + n;
	nic_free_sent(pool, r->owner, r->mask, tail, n, INTEL_OWNER_BUF, free_odd);
}

COLD void intel_tx_release(struct intel_tx *r, struct bufpool *pool)
{
	free_sent(r, pool, r->head - r->tail);
}

unsigned intel_tx_left(const void *mem, unsigned size, uint32_t from, uint32_t to)
{
	const uint8_t *base = mem;
	const union intel_tx_desc *desc = (const void *)(base + intel_layout(size).tx_desc);
	unsigned frames = 0;
	for (; from != to; from = (from + 1) & (size - 1))
		frames += (__atomic_load_n(&desc[from].data.cmd_len, __ATOMIC_RELAXED) & INTEL_TXD_EOP) != 0;
	return frames;
}

static inline void reclaim(struct intel_tx *r, struct bufpool *pool, struct nic_counters *cnt, bool *broken)
{
	uint32_t written = __atomic_load_n(r->written_head, __ATOMIC_ACQUIRE);
	uint32_t done = (written - r->tail) & r->mask;
	if (unlikely(written > r->mask || done > r->head - r->tail)) {
		cnt->tx_bad_desc++;
		*broken = true;
		return;
	}
	free_sent(r, pool, done);
}

/* --- offloads --- */

/* Fills in what 7.2.5 needs to know of the frame's headers. False: the device cannot handle
 * them. */
static bool find_headers(const struct bufpool *pool, const struct pkt *p, struct intel_context *c)
{
	struct pkt_headers h;
	if (!pkt_find_headers(pool, p, &h) || h.l3 > INTEL_TXC_MACLEN_MAX ||
	    h.l4 - h.l3 > INTEL_TXC_IPLEN_MAX)
		return false;
	c->vlan_macip |= (h.l4 - h.l3) | h.l3 << INTEL_TXC_MACLEN_SHIFT;
	c->type_tucmd |= (h.ip4 ? INTEL_TXC_IPV4 : 0) | (h.tcp ? INTEL_TXC_L4T_TCP : 0);
	return true;
}

/*
 * 7.2.4.7: for segmentation IP lengths and the IPv4 checksum must be 0, and the pseudo-header sum
 * must omit the length, because the device adds that of each segment. `bytes`: of all pieces.
 */
static void prepare_segmentation(const struct pkt *p, uint32_t bytes, const struct pkt_meta *m,
                                 const struct intel_context *c)
{
	uint8_t *ip = p->data + (c->vlan_macip >> INTEL_TXC_MACLEN_SHIFT & INTEL_TXC_MACLEN_MAX);
	uint8_t *check = p->data + m->csum_start + m->csum_offset;
	uint32_t sum = be16_load(check) + (0xffffu ^ (uint16_t)(bytes - m->csum_start));
	be16_store(check, (uint16_t)((sum & 0xffff) + (sum >> 16)));
	if (c->type_tucmd & INTEL_TXC_IPV4) {
		be16_store(ip + 2, 0);
		be16_store(ip + 10, 0);
	} else {
		be16_store(ip + 4, 0);
	}
}

/* The two words of a data descriptor after its address. */
struct how {
	uint32_t cmd_len, olinfo;
};

static void put_context(struct intel_tx *r, const struct intel_context *c)
{
	uint32_t at = r->head++ & r->mask;
	r->owner[at] = INTEL_NONE;
	r->desc[at].word[0] = c->vlan_macip;
	r->desc[at].word[1] = c->type_tucmd | (uint64_t)c->mss_l4len << 32;
	r->context = *c;
}

static bool same_context(const struct intel_context *a, const struct intel_context *b)
{
	return a->vlan_macip == b->vlan_macip && a->type_tucmd == b->type_tucmd &&
	       a->mss_l4len == b->mss_l4len;
}

/* 7.2.4: what a frame of `bytes` bytes that shall be segmented adds to context and descriptor. Its
 * maker has seen NIC_TSO or NIC_USO. */
static void tx_segments(const struct pkt *p, uint32_t bytes, const struct pkt_meta *m,
                        struct intel_context *c, struct how *h)
{
	unsigned l4 = m->hdr_bytes - m->csum_start;
	bool tcp = c->type_tucmd & INTEL_TXC_L4T_TCP;
	assert(m->mss && m->hdr_bytes <= p->len && m->hdr_bytes < bytes);
	assert(p->flags & PKT_TSO ? tcp && l4 >= TCP_BYTES && l4 <= TCP_BYTES_MAX
	                          : !tcp && l4 == UDP_BYTES);
	c->mss_l4len = (uint32_t)m->mss << INTEL_TXC_MSS_SHIFT | l4 << INTEL_TXC_L4LEN_SHIFT;
	h->cmd_len |= INTEL_TXD_TSE;
	h->olinfo = (bytes - m->hdr_bytes) << INTEL_TXO_PAYLEN_SHIFT;
	h->olinfo |= c->type_tucmd & INTEL_TXC_IPV4 ? INTEL_TXO_IXSM : 0;
}

/*
 * The offloads of a frame of `bytes` bytes in `pieces`: completes `h`, puts a context descriptor if
 * the last one does not match, and does in software what the device cannot. False, and nothing
 * changed: no room for all descriptors.
 */
static bool tx_offload(struct intel_tx *r, const struct bufpool *pool, const struct pkt *p,
                       uint32_t bytes, unsigned pieces, struct how *h)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	struct intel_context c = {.type_tucmd = INTEL_TXD_DTYP_CONTEXT | INTEL_TXD_DEXT};
	uint32_t room = r->tail + r->mask - r->head;
	bool partial = p->flags & PKT_CSUM_PARTIAL, cut = p->flags & (PKT_TSO | PKT_USO);
	bool here = partial && find_headers(pool, p, &c);
	if (!here)
		c.vlan_macip = ETHER_BYTES << INTEL_TXC_MACLEN_SHIFT;
	if (cut) {
		assert(here);
		tx_segments(p, bytes, m, &c, h);
	}
	if (here)
		h->olinfo |= INTEL_TXO_TXSM;
	if (p->flags & PKT_VLAN) {
		c.vlan_macip |= (uint32_t)m->vlan_tci << INTEL_TXC_VLAN_SHIFT;
		h->cmd_len |= INTEL_TXD_VLE;
	}
	bool news = (here || p->flags & PKT_VLAN) && !same_context(&c, &r->context);
	if (room < pieces + news)
		return false;
	if (news)
		put_context(r, &c);
	if (cut)
		prepare_segmentation(p, bytes, m, &c);
	if (partial && !here) {
		struct pkt done = *p;
		pkt_csum_complete(pool, &done);
	}
	return true;
}

/* See INTEL_TX_BYTES_MIN. The driver may write behind the frame, and no other frame begins
 * there. */
COLD static uint32_t pad(const struct pkt *p)
{
	memset(p->data + p->len, 0, (size_t)(INTEL_TX_BYTES_MIN - p->len));
	return INTEL_TX_BYTES_MIN;
}

/* --- send --- */

/* Flags of packets that need more than the plain descriptor. */
#define TX_ODD (PKT_CSUM_PARTIAL | PKT_TSO | PKT_USO | PKT_VLAN | PKT_SHARED | PKT_CHAIN)

/* Fills the next descriptor of a frame. */
static inline void put_piece(struct intel_tx *r, const uint8_t *from, const struct how *h,
                             uint32_t len, uint32_t owner)
{
	uint32_t at = r->head++ & r->mask;
	r->owner[at] = owner;
	r->desc[at].word[0] = dma_addr(from).bus;
	r->desc[at].word[1] = h->cmd_len | len | (uint64_t)h->olinfo << 32;
}

/* Puts the pieces of a frame whose offloads are in *h. The last has EOP, and RS if one is due. The
 * first has the other fields of 7.2.3.2.4, of which the others repeat the command. */
static void put_pieces(struct intel_tx *r, const struct bufpool *pool, const struct pkt *p,
                       uint32_t len, unsigned pieces, struct how h)
{
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	uint32_t held = p->flags & (PKT_SHARED | PKT_CHAIN), mask = r->mask;
	uint32_t owner = p->buf | held << INTEL_OWNER_FLAGS_SHIFT;
	bool due = (r->head & mask) / INTEL_TX_REPORT != ((r->head + pieces) & mask) / INTEL_TX_REPORT;
	uint32_t end = INTEL_TXD_EOP | (due ? INTEL_TXD_RS : 0);
	h.cmd_len |= pieces == 1 ? end : 0;
	put_piece(r, p->data, &h, len, pieces == 1 ? owner : INTEL_NONE);
	h.olinfo = 0;
	for (unsigned i = 1; i < pieces; i++, f++) {
		bool last = i + 1 == pieces;
		h.cmd_len |= last ? end : 0;
		put_piece(r, buf_at(pool, f->buf, f->offset), &h, f->len, last ? owner : INTEL_NONE);
	}
}

/* Puts a packet that is not plain. False, and nothing changed: no room for all of it. */
static __attribute__((noinline)) bool put_odd(struct intel_tx *r, const struct bufpool *pool,
                                              const struct pkt *p, uint64_t *bytes)
{
	uint32_t len = p->len, total = pkt_bytes(pool, p);
	unsigned pieces = p->flags & PKT_CHAIN ? 1u + pkt_meta(pool, p->buf)->frags : 1;
	assert(pieces <= INTEL_TX_PIECES_MAX && pieces < r->mask); /* and a context */
	if (unlikely(total < INTEL_TX_BYTES_MIN)) {
		assert(pieces == 1); /* no headers are that short */
		len = pad(p);
	}
	struct how h = {INTEL_TXD_DTYP_DATA | INTEL_TXD_DEXT | INTEL_TXD_IFCS,
	                (total + len - p->len) << INTEL_TXO_PAYLEN_SHIFT};
	if (!tx_offload(r, pool, p, total, pieces, &h))
		return false;
	put_pieces(r, pool, p, len, pieces, h);
	*bytes += total;
	return true;
}

/* The command of a plain frame in one descriptor. */
#define PLAIN (INTEL_TXD_DTYP_DATA | INTEL_TXD_DEXT | INTEL_TXD_IFCS | INTEL_TXD_EOP)

/* Fills descriptors from the head on for plain packets of v, at most n, up to the next that may request a
 * report; returns how many. A function of its own, so that its variables stay in registers. */
static __attribute__((noinline)) unsigned put_plain(const struct intel_tx *r, const struct pkt *v,
                                                    unsigned n, uint64_t *bytes)
{
	const uint32_t at = r->head & r->mask, interval = u32_min(INTEL_TX_REPORT, r->mask + 1);
	const uint32_t most = u32_min(n, interval - at % interval);
	union intel_tx_desc *desc = &r->desc[at];
	uint32_t *owner = &r->owner[at];
	const struct pkt *p = v, *end = v + most;
	uint64_t sum = 0;
	for (; p != end && likely(!(p->flags & TX_ODD)); p++, desc++) {
		uint64_t len = p->len;
		sum += len;
		if (unlikely(len < INTEL_TX_BYTES_MIN))
			len = pad(p);
		*owner++ = p->buf;
		desc->word[0] = dma_addr(p->data).bus;
		desc->word[1] = (len << (INTEL_TXO_PAYLEN_SHIFT + 32)) + len + PLAIN;
	}
	const unsigned done = (unsigned)(p - v);
	if (done && (at + done) % INTEL_TX_REPORT == 0)
		desc[-1].word[1] |= INTEL_TXD_RS;
	*bytes += sum;
	return done;
}

/* Fills descriptors for the first packets of v; returns how many fitted. */
static inline unsigned put_frames(struct intel_tx *r, const struct bufpool *pool,
                                  const struct pkt *v, unsigned n, uint64_t *bytes)
{
	unsigned i = 0;
	while (i < n) {
		const uint32_t room = r->tail + r->mask - r->head;
		const unsigned plain = put_plain(r, &v[i], u32_min(n - i, room), bytes);
		i += plain;
		r->head += plain;
		if (likely(plain))
			continue;
		if (room == 0 || !put_odd(r, pool, &v[i], bytes))
			break;
		i++;
	}
	return i;
}

unsigned intel_tx_burst(struct intel_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                        const struct pkt *v, unsigned n, bool *broken)
{
	reclaim(r, pool, cnt, broken);
	if (n == 0 || unlikely(*broken))
		return 0;
	for (unsigned i = 0; i < n; i += DESC_PER_LINE)
		prefetch_write(&r->desc[(r->head + i) & r->mask]);
	uint64_t bytes = 0;
	unsigned took = put_frames(r, pool, v, n, &bytes);
	cnt->tx_pkts += took;
	cnt->tx_bytes += bytes;
	if (unlikely(took < n))
		cnt->tx_full++;
	if (took) {
		r->desc[(r->head - 1) & r->mask].data.cmd_len |= INTEL_TXD_RS;
		barrier_write();
		mmio_write32(r->tail_reg, r->head & r->mask);
		cnt->mmio_writes++;
	}
	return took;
}
