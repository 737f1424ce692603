/*
 * See ring.h: the send half of a pair.
 *
 * A plain frame is a data segment. A control and an Ethernet segment precede either one of them,
 * which is one WQEBB, or, where the device supports such WQEs, many. In the latter case the device
 * reads 17 bytes per frame instead of 64, as many as we have to write. put_odd handles the other
 * cases: headers that the device requires in the WQE (inline mode); segmentation, which always has
 * them there; tags, which are inserted into that copy; and frames in pieces.
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

/* --- completion --- */

uint32_t mlx5_tx_completed(struct mlx5_tx *r, struct nic_counters *cnt, bool *broken)
{
	struct mlx5_report done = {r->tail, r->frame_tail};
	uint32_t first = r->cq_head;
	for (;;) {
		uint64_t end = mlx5_cqe_end(mlx5_cqe(&r->cq, r->cq_head));
		if (!mlx5_cqe_is_new(&r->cq, r->cq_head, end))
			break;
		uint32_t before = (uint16_t)(mlx5_cqe_counter(end) - done.head);
		uint32_t opcode = mlx5_cqe_op_own(end) >> MLX5_CQE_OPCODE_SHIFT;
		struct mlx5_report now = r->reports[(done.head + before) & r->mask];
		if (unlikely(opcode != MLX5_CQE_REQ || before >= now.head - done.head ||
		             now.head - done.head > r->head - done.head ||
		             now.frame_head - done.frame_head > r->frame_head - done.frame_head)) {
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
	r->tail = done.head;
	return done.frame_head - r->frame_tail;
}

/* Frees a packet whose buffers may have other holders. */
static __attribute__((noinline)) void free_odd(struct bufpool *pool, uint32_t owner)
{
	struct pkt p = {.buf = owner & MLX5_OWNER_BUF,
	                .flags = (uint8_t)(owner >> MLX5_OWNER_FLAGS_SHIFT &
	                                   (PKT_SHARED | PKT_CHAIN))};
	pkt_free(pool, &p);
}

/* Frees the buffers of the next n frames. */
static inline void free_sent(struct mlx5_tx *r, struct bufpool *pool, uint32_t n)
{
	const uint32_t tail = r->frame_tail;
	r->frame_tail = tail + n;
	nic_free_sent(pool, r->owner, r->mask, tail, n, MLX5_OWNER_BUF, free_odd);
}

COLD void mlx5_tx_free(struct mlx5_tx *r, struct bufpool *pool)
{
	free_sent(r, pool, r->frame_head - r->frame_tail);
}

/* --- frames that are not plain --- */

/* The layout of a WQE. */
struct shape {
	uint32_t opcode;
	uint32_t taken;    /* bytes of the first piece that go inline, */
	uint32_t header;   /* and with an inserted tag */
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

/* Puts the Ethernet segment, and the headers in and behind it; returns the segments they take. */
static unsigned put_headers(struct mlx5_tx *r, const struct bufpool *pool, const struct pkt *p,
                            const struct shape *s, uint32_t csum)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	uint8_t header[MLX5_INLINE_MAX], *eth = mlx5_segment(r, r->head, 1);
	unsigned tag = s->header - s->taken, front = s->taken, used = 2;
	mlx5_put_plain_eth(eth);
	eth[MLX5_ETH_CSUM_BYTE] = (uint8_t)csum;
	if (s->header == 0) /* most have only a checksum, or pieces */
		return used;
	if (tag && front > ETHER_ADDRESSES) /* otherwise not a valid frame: the wire will drop it */
		front = ETHER_ADDRESSES;
	memcpy(header, p->data, front);
	if (tag) {
		be16_store(header + front, ETHERTYPE_VLAN);
		be16_store(header + front + 2, m->vlan_tci);
		memcpy(header + front + tag, p->data + front, s->taken - front);
	}
	be16_store(eth + MLX5_ETH_MSS, s->opcode == MLX5_WQE_LSO ? m->mss : 0);
	be16_store(eth + MLX5_ETH_INLINE_SIZE, (uint16_t)s->header);
	unsigned n = s->header < MLX5_ETH_INLINE_FIRST ? s->header : MLX5_ETH_INLINE_FIRST;
	memcpy(eth + MLX5_ETH_INLINE, header, n);
	for (uint32_t at = n; at < s->header; at += MLX5_SEGMENT_BYTES, used++) {
		uint32_t left = s->header - at;
		memcpy(mlx5_segment(r, r->head, used), header + at,
		       left < MLX5_SEGMENT_BYTES ? left : MLX5_SEGMENT_BYTES);
	}
	return used;
}

/* Puts a packet that is not plain. False, and nothing changed: no room for all of it. */
static __attribute__((noinline)) bool put_odd(struct mlx5_tx *r, const struct bufpool *pool,
                                              const struct pkt *p)
{
	struct shape s = shape_of(r, pool, p);
	uint32_t units = (s.segments + MLX5_SEGMENTS_OF_WQEBB - 1) / MLX5_SEGMENTS_OF_WQEBB;
	uint32_t held = p->flags & (PKT_SHARED | PKT_CHAIN), csum = 0;
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
	unsigned i = put_headers(r, pool, p, &s, csum);
	if (s.taken < p->len)
		mlx5_put_data(r, mlx5_segment(r, r->head, i++), p->data + s.taken, p->len - s.taken);
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	for (; i < s.segments; i++, f++)
		mlx5_put_data(r, mlx5_segment(r, r->head, i), buf_at(pool, f->buf, f->offset), f->len);
	r->owner[r->frame_head & r->mask] = p->buf | held << MLX5_OWNER_FLAGS_SHIFT;
	mlx5_close_wqe(r, s.opcode, s.segments, 1);
	return true;
}

/* --- send --- */

/* Puts data segments and owners of plain frames of v, at most n; neither ring ends before. Returns
 * how many. A function of its own, so that its variables stay in registers. */
static __attribute__((noinline)) unsigned put_run(const struct mlx5_tx *r, uint8_t *seg,
                                                  uint32_t *owner, const struct pkt *v,
                                                  unsigned n, uint64_t *bytes)
{
	const struct mlx5_tx q = *r; /* our stores cannot change it */
	const struct pkt *p = v, *end = v + n;
	uint64_t sum = 0;
	if (n >= MLX5_EIGHT && likely(q.eights)) {
		unsigned done = mlx5_put_eights(seg, owner, v, n, q.lkey, bytes);
		p += done;
		seg += (size_t)done * MLX5_SEGMENT_BYTES;
		owner += done;
	}
	for (; p < end && !(p->flags & MLX5_TX_ODD); p++, seg += MLX5_SEGMENT_BYTES) {
		uint32_t len = p->len;
		*owner++ = p->buf;
		sum += len;
		mlx5_put_data(&q, seg, p->data, len);
	}
	*bytes += sum;
	return (unsigned)(p - v);
}

/* Puts plain frames of v into one WQE. Returns how many; 0: no room. */
static inline unsigned put_many(struct mlx5_tx *r, const struct pkt *v, unsigned n,
                                uint64_t *bytes)
{
	const struct mlx5_tx q = *r; /* in registers: our stores cannot change it */
	const uint32_t before = PLAIN_SEGMENTS - 1;
	uint32_t room = MLX5_SEGMENTS_OF_WQEBB * (q.tail + q.mask + 1 - q.head), done = 0, end = 0;
	if (unlikely(room == 0))
		return 0;
	n = u32_min(n, u32_min(MLX5_TX_SEGMENTS, room) - before);
	while (done == end && end < n) {
		uint32_t frame = q.frame_head + done;
		uint8_t *seg = mlx5_segment(&q, q.head, before + done);
		end = u32_min(n, done + mlx5_frames_to_end(&q, seg, frame));
		done += put_run(&q, seg, &q.owner[frame & q.mask], v + done, end - done, bytes);
	}
	mlx5_put_plain_eth(mlx5_segment(&q, q.head, 1));
	mlx5_close_wqe(r, MLX5_WQE_MULTI, before + done, done);
	return done;
}

/* Puts plain frames of v into a WQE each, up to the next that requests a CQE. Returns how many; 0:
 * no room. */
static __attribute__((noinline)) unsigned put_each(struct mlx5_tx *r, const struct pkt *v,
                                                   unsigned n, uint64_t *bytes)
{
	const struct mlx5_tx q = *r; /* in registers: our stores cannot change it */
	const uint32_t at = q.head & q.mask, frame = q.frame_head & q.mask;
	const uint32_t to_end = q.mask + 1 - u32_max(at, frame);
	const uint32_t to_report = MLX5_TX_REPORT - q.head % MLX5_TX_REPORT;
	const uint32_t room = q.tail + q.mask + 1 - q.head;
	const uint32_t most = u32_min(u32_min(n, room), u32_min(to_end, to_report));
	const uint64_t size = (uint64_t)be32_make(q.sqn_word | PLAIN_SEGMENTS).raw << 32;
	const struct pkt *p = v, *end = v + most;
	uint8_t *wqe = q.wqe + (size_t)at * MLX5_WQEBB_BYTES;
	uint32_t *owner = &q.owner[frame], pos = q.head;
	uint64_t sum = 0;
	for (; p < end && !(p->flags & MLX5_TX_ODD); p++, pos++, wqe += MLX5_WQEBB_BYTES) {
		uint32_t len = p->len;
		*owner++ = p->buf;
		sum += len;
		uint32_t first = (pos & 0xffff) << MLX5_WQE_INDEX_SHIFT | MLX5_WQE_SEND;
		raw64_store(wqe, size | be32_make(first).raw);
		raw64_store(wqe + 8, 0);
		mlx5_put_plain_eth(wqe + MLX5_SEGMENT_BYTES);
		mlx5_put_data(&q, wqe + (PLAIN_SEGMENTS - 1) * MLX5_SEGMENT_BYTES, p->data, len);
	}
	const uint32_t done = (uint32_t)(p - v);
	r->head = pos;
	r->frame_head = q.frame_head + done;
	*bytes += sum;
	if (done == to_report) {
		wqe[MLX5_WQE_FLAGS_BYTE - MLX5_WQEBB_BYTES] = MLX5_WQE_CQE;
		mlx5_note_report(r, pos - 1);
	}
	return done;
}

/* Fills WQEs for the first packets of v; returns how many fitted. The last WQE begins at *last. */
static inline unsigned put_frames(struct mlx5_tx *r, const struct bufpool *pool,
                                  const struct pkt *v, unsigned n, uint64_t *bytes, uint32_t *last)
{
	uint32_t free = r->mask + 1 - (r->frame_head - r->frame_tail);
	unsigned i = 0;
	n = u32_min(n, free);
	while (i < n) {
		uint32_t pos = r->head;
		unsigned k;
		if (unlikely(r->inline_bytes || v[i].flags & MLX5_TX_ODD)) {
			k = put_odd(r, pool, &v[i]);
			*bytes += k ? pkt_bytes(pool, &v[i]) : 0;
		} else if (r->multi) {
			k = put_many(r, &v[i], n - i, bytes);
		} else {
			k = put_each(r, &v[i], n - i, bytes);
			pos = r->head - 1;
		}
		if (k == 0)
			break;
		*last = pos;
		i += k;
	}
	return i;
}

void mlx5_tx_publish(struct mlx5_tx *r, struct nic_counters *cnt, uint32_t last)
{
	uint8_t *wqe = mlx5_wqebb(r, last);
	wqe[MLX5_WQE_FLAGS_BYTE] = MLX5_WQE_CQE;
	mlx5_note_report(r, last);
	barrier_write();
	be32_store(r->dbr + MLX5_DBR_SEND, r->head & 0xffff);
	barrier_write();
	mmio_write64(r->doorbell, raw64_load(wqe));
	cnt->mmio_writes++;
}

unsigned mlx5_tx_burst(struct mlx5_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                       const struct pkt *v, unsigned n, bool *broken)
{
	uint64_t bytes = 0;
	uint32_t last = 0;
	free_sent(r, pool, mlx5_tx_completed(r, cnt, broken));
	if (n == 0 || unlikely(*broken))
		return 0;
	unsigned took = put_frames(r, pool, v, n, &bytes, &last);
	cnt->tx_pkts += took;
	cnt->tx_bytes += bytes;
	cnt->tx_full += took < n;
	if (took)
		mlx5_tx_publish(r, cnt, last);
	return took;
}
