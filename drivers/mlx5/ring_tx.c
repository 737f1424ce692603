/*
 * See ring.h: the send half of a pair.
 *
 * A plain frame is one WQEBB: control, Ethernet and data segment. Where the device wants headers in
 * the WQE (inline mode), for segmentation, which has them there always, for tags, which are put
 * into that copy, and for frames in pieces it takes put_odd.
 */
#include "drivers/mlx5/ring.h"

#include "hal/barrier.h"
#include "hal/mmio.h"
#include "lib/mem.h"

#define ETHERTYPE_VLAN 0x8100
#define ETHER_BYTES 14
#define ETHER_ADDRESSES 12
#define VLAN_BYTES 4
#define PLAIN_SEGMENTS 3
#define WQE_WQEBBS_MAX 16

static inline uint8_t *wqebb(const struct mlx5_tx *r, uint32_t pos)
{
	return r->wqe + (size_t)(pos & r->mask) * MLX5_WQEBB_BYTES;
}

/* --- completion --- */

uint32_t mlx5_tx_completed(struct mlx5_tx *r, struct nic_counters *cnt, bool *broken)
{
	uint32_t done = 0, first = r->cq_head;
	for (;;) {
		uint64_t end = mlx5_cqe_end(&r->cq, r->cq_head);
		if (!mlx5_cqe_is_new(&r->cq, r->cq_head, end))
			break;
		uint32_t now = (uint16_t)(mlx5_cqe_counter(end) - r->tail) + 1u;
		uint32_t opcode = mlx5_cqe_op_own(end) >> MLX5_CQE_OPCODE_SHIFT;
		if (unlikely(opcode != MLX5_CQE_REQ || now <= done || now > r->head - r->tail)) {
			*broken = true;
			if (opcode == MLX5_CQE_REQ_ERROR)
				mlx5_tx_fail(r, cnt);
			else
				cnt->tx_bad_desc++;
			return 0;
		}
		done = now;
		r->cq_head++;
	}
	if (r->cq_head != first)
		be32_store(r->cq.dbr + MLX5_DBR_CONSUMER, r->cq_head & MLX5_INDEX_MASK);
	return done;
}

/* The end of a packet whose buffers may have other holders. */
static __attribute__((noinline)) void free_odd(struct bufpool *pool, uint32_t owner)
{
	struct pkt p = {.buf = owner & MLX5_OWNER_BUF,
	                .flags = (uint8_t)(owner >> MLX5_OWNER_FLAGS_SHIFT &
	                                   (PKT_SHARED | PKT_CHAIN))};
	if (owner != MLX5_NONE)
		pkt_free(pool, &p);
}

static inline void free_sent(struct mlx5_tx *r, struct bufpool *pool, uint32_t n)
{
	const uint32_t *owner = r->owner;
	uint32_t tail = r->tail, mask = r->mask;
	r->tail = tail + n;
	for (; n; n--, tail++) {
		uint32_t buf = owner[tail & mask] & ~MLX5_REPORTED;
		if (likely(buf <= MLX5_OWNER_BUF))
			buf_free(pool, buf);
		else
			free_odd(pool, buf);
	}
}

COLD void mlx5_tx_free(struct mlx5_tx *r, struct bufpool *pool, uint32_t n)
{
	free_sent(r, pool, n);
}

static inline void reclaim(struct mlx5_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                           bool *broken)
{
	const uint32_t *owner = r->owner;
	uint32_t n = mlx5_tx_completed(r, cnt, broken), tail = r->tail, mask = r->mask;
	if (n == 0)
		return;
	while (owner[(tail + n - 1) & mask] == MLX5_NONE && n < r->head - tail)
		n++; /* the counter names a WQE's first */
	if (unlikely(!(owner[(tail + n - 1) & mask] & MLX5_REPORTED))) {
		cnt->tx_bad_desc++;
		*broken = true;
		return;
	}
	free_sent(r, pool, n);
}

/* --- segments --- */

/* Number i of the WQE that begins at pos: it may lie behind the end of the ring. */
static inline uint8_t *segment(const struct mlx5_tx *r, uint32_t pos, unsigned i)
{
	return wqebb(r, pos + i / MLX5_SEGMENTS_OF_WQEBB) +
	       i % MLX5_SEGMENTS_OF_WQEBB * MLX5_SEGMENT_BYTES;
}

static inline void put_control(const struct mlx5_tx *r, uint32_t pos, uint32_t opcode,
                               unsigned segments, bool report)
{
	uint8_t *c = wqebb(r, pos);
	uint64_t first = be32_make((pos & 0xffff) << MLX5_WQE_INDEX_SHIFT | opcode).raw;
	raw64_store(c, first | (uint64_t)be32_make(r->sqn_word | segments).raw << 32);
	raw64_store(c + 8, report ? MLX5_WQE_CQE << 24 : 0);
}

/* --- frames that are not plain --- */

/* What a WQE is to look like. */
struct shape {
	uint32_t opcode;
	uint32_t taken;    /* bytes of the first piece that go inline, */
	uint32_t header;   /* and with a tag put in, so many */
	unsigned segments;
};

static struct shape shape_of(const struct mlx5_tx *r, const struct bufpool *pool,
                             const struct pkt *p)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	struct shape s = {.opcode = MLX5_WQE_SEND, .taken = r->inline_bytes, .segments = 2};
	if (p->flags & PKT_TSO) {
		assert(m->mss && m->hdr_bytes <= p->len);
		s.opcode = MLX5_WQE_LSO;
		s.taken = m->hdr_bytes;
	}
	if (p->flags & PKT_VLAN && s.taken < ETHER_BYTES)
		s.taken = ETHER_BYTES;
	s.taken = s.taken < p->len ? s.taken : p->len;
	s.header = s.taken + (p->flags & PKT_VLAN ? VLAN_BYTES : 0);
	assert(s.header <= MLX5_INLINE_MAX);
	if (s.header > MLX5_ETH_INLINE_FIRST)
		s.segments += (s.header - MLX5_ETH_INLINE_FIRST + MLX5_SEGMENT_BYTES - 1) /
		              MLX5_SEGMENT_BYTES;
	s.segments += (s.taken < p->len) + (p->flags & PKT_CHAIN ? m->frags : 0u);
	return s;
}

/* The Ethernet segment and the headers in and behind it; returns the segments they take. */
static unsigned put_headers(struct mlx5_tx *r, const struct bufpool *pool, const struct pkt *p,
                            const struct shape *s, uint32_t csum)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	uint8_t header[MLX5_INLINE_MAX], *eth = segment(r, r->head, 1);
	unsigned tag = s->header - s->taken, front = tag ? ETHER_ADDRESSES : s->taken, used = 2;
	memcpy(header, p->data, front);
	if (tag) {
		be16_store(header + ETHER_ADDRESSES, ETHERTYPE_VLAN);
		be16_store(header + ETHER_ADDRESSES + 2, m->vlan_tci);
		memcpy(header + ETHER_ADDRESSES + tag, p->data + front, s->taken - front);
	}
	memset(eth, 0, MLX5_SEGMENT_BYTES);
	eth[MLX5_ETH_CSUM_BYTE] = (uint8_t)csum;
	be16_store(eth + MLX5_ETH_MSS, s->opcode == MLX5_WQE_LSO ? m->mss : 0);
	be16_store(eth + MLX5_ETH_INLINE_SIZE, (uint16_t)s->header);
	unsigned n = s->header < MLX5_ETH_INLINE_FIRST ? s->header : MLX5_ETH_INLINE_FIRST;
	memcpy(eth + MLX5_ETH_INLINE, header, n);
	for (uint32_t at = n; at < s->header; at += MLX5_SEGMENT_BYTES, used++) {
		uint32_t left = s->header - at;
		memcpy(segment(r, r->head, used), header + at,
		       left < MLX5_SEGMENT_BYTES ? left : MLX5_SEGMENT_BYTES);
	}
	return used;
}

/* The position behind a WQE is in another interval of reports. */
static inline bool is_due(uint32_t pos, uint32_t units)
{
	return (pos ^ (pos + units)) / MLX5_TX_REPORT != 0;
}

/* A packet that is not plain. False, and nothing changed: no room for all of it. */
static __attribute__((noinline)) bool put_odd(struct mlx5_tx *r, const struct bufpool *pool,
                                              const struct pkt *p)
{
	struct shape s = shape_of(r, pool, p);
	uint32_t units = (s.segments + MLX5_SEGMENTS_OF_WQEBB - 1) / MLX5_SEGMENTS_OF_WQEBB;
	uint32_t held = p->flags & (PKT_SHARED | PKT_CHAIN), csum = 0;
	bool report = is_due(r->head, units);
	assert(units <= WQE_WQEBBS_MAX && units <= r->mask);
	if (units > r->tail + r->mask + 1 - r->head)
		return false;
	if (p->flags & PKT_CSUM_PARTIAL) {
		struct pkt_headers found; /* the device finds them by itself */
		struct pkt done = *p;
		if (pkt_find_headers(pool, p, &found))
			csum = MLX5_ETH_L3_CSUM | MLX5_ETH_L4_CSUM;
		else
			pkt_csum_complete(pool, &done);
	}
	put_control(r, r->head, s.opcode, s.segments, report);
	unsigned i = put_headers(r, pool, p, &s, csum);
	if (s.taken < p->len)
		mlx5_put_data(r, segment(r, r->head, i++), p->data + s.taken, p->len - s.taken);
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	for (; i < s.segments; i++, f++)
		mlx5_put_data(r, segment(r, r->head, i), buf_base(pool, f->buf) + f->offset, f->len);
	while (--units)
		r->owner[r->head++ & r->mask] = MLX5_NONE;
	r->owner[r->head++ & r->mask] = p->buf | held << MLX5_OWNER_FLAGS_SHIFT |
	                                (report ? MLX5_REPORTED : 0);
	return true;
}

/* --- send --- */

#define TX_ODD (PKT_CSUM_PARTIAL | PKT_TSO | PKT_VLAN | PKT_SHARED | PKT_CHAIN)

/* Fills WQEs for the first packets of v; returns how many had room. The last begins at *last. */
static inline unsigned put_frames(struct mlx5_tx *r, const struct bufpool *pool,
                                  const struct pkt *v, unsigned n, uint64_t *bytes, uint32_t *last)
{
	uint32_t mask = r->mask, limit = r->tail + mask + 1, odd = r->inline_bytes ? ~0u : TX_ODD;
	unsigned i;
	for (i = 0; i < n; i++) {
		const struct pkt *p = &v[i];
		uint32_t pos = r->head;
		if (unlikely(pos == limit))
			break;
		if (unlikely(p->flags & odd) || unlikely(odd == ~0u)) {
			if (!put_odd(r, pool, p))
				break;
			*bytes += pkt_bytes(pool, p);
		} else {
			bool report = is_due(pos, 1);
			put_control(r, pos, MLX5_WQE_SEND, PLAIN_SEGMENTS, report);
			uint8_t *eth = wqebb(r, pos) + MLX5_SEGMENT_BYTES;
			raw64_store(eth, 0);
			raw64_store(eth + 8, 0);
			mlx5_put_data(r, eth + MLX5_SEGMENT_BYTES, p->data, p->len);
			r->owner[pos & mask] = p->buf | (report ? MLX5_REPORTED : 0);
			r->head = pos + 1;
			*bytes += p->len;
		}
		*last = pos;
	}
	return i;
}

void mlx5_tx_publish(struct mlx5_tx *r, struct nic_counters *cnt, uint32_t last)
{
	barrier_write();
	be32_store(r->dbr + MLX5_DBR_SEND, r->head & 0xffff);
	barrier_write();
	mmio_write64(r->doorbell, raw64_load(wqebb(r, last)));
	cnt->mmio_writes++;
}

unsigned mlx5_tx_burst(struct mlx5_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                       const struct pkt *v, unsigned n, bool *broken)
{
	uint64_t bytes = 0;
	uint32_t last = 0;
	reclaim(r, pool, cnt, broken);
	if (n == 0 || unlikely(*broken))
		return 0;
	unsigned took = put_frames(r, pool, v, n, &bytes, &last);
	cnt->tx_pkts += took;
	cnt->tx_bytes += bytes;
	cnt->tx_full += took < n;
	if (took) {
		wqebb(r, last)[MLX5_WQE_FLAGS_BYTE] = MLX5_WQE_CQE;
		r->owner[(r->head - 1) & r->mask] |= MLX5_REPORTED;
		mlx5_tx_publish(r, cnt, last);
	}
	return took;
}
