/*
 * See ring.h: memory of a pair, and its receive half. ring_tx.c has the send half.
 *
 * A CQE is a cache line that the device writes and we read. A WQE of the RQ is a quarter of a line
 * that we write and the device reads. The two never share a line, and refilling accesses no line
 * that the device has written. A line of a compressing CQ is written by both; we write it right
 * after reading it (ring.h, invariant 5). Neither accesses the lines that a session skips.
 */
#include "drivers/mlx5/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/vector.h"
#include "lib/mem.h"

static size_t take(size_t *at, size_t bytes, size_t align)
{
	size_t start = (*at + align - 1) & ~(align - 1);
	*at = start + bytes;
	return start;
}

struct mlx5_layout mlx5_layout(unsigned log_size)
{
	struct mlx5_layout l;
	size_t at = 0, size = (size_t)1 << log_size, page = MLX5_PAGE_BYTES, line = CACHE_LINE;
	l.rq = take(&at, size * MLX5_RX_WQE_BYTES, page);
	l.sq = take(&at, size * MLX5_WQEBB_BYTES, page);
	l.rx_cq = take(&at, size * MLX5_CQE_BYTES, page);
	l.tx_cq = take(&at, size * MLX5_CQE_BYTES, page);
	l.eq = take(&at, (size_t)MLX5_EQE_BYTES << MLX5_PAIR_EQ_LOG_SIZE, page);
	l.rq_dbr = take(&at, line, page);
	l.sq_dbr = take(&at, line, line);
	l.rx_cq_dbr = take(&at, line, line);
	l.tx_cq_dbr = take(&at, line, line);
	l.rx_owner = take(&at, size * sizeof(uint32_t), line);
	l.tx_owner = take(&at, size * sizeof(uint32_t), line);
	l.tx_reports = take(&at, size * sizeof(struct mlx5_report), line);
	l.tx_slots = take(&at, size * MLX5_SLOT_BYTES, line);
	l.bytes = at;
	return l;
}

static struct mlx5_cq init_cq(uint8_t *cqe, uint8_t *dbr, unsigned log_size)
{
	const struct mlx5_cq cq = {cqe, dbr, log_size};
	const uint32_t size = 1u << log_size;
	for (uint32_t i = 0; i < size; i++)
		mlx5_cqe_unuse(&cq, i - size); /* not seen as new in the first pass */
	return cq;
}

void mlx5_rx_init(struct mlx5_rx *r, void *mem, unsigned log_size, const struct bufpool *pool,
                  uint32_t lkey)
{
	struct mlx5_layout l = mlx5_layout(log_size);
	uint8_t *base = mem;
	*r = (struct mlx5_rx){
		.cq = init_cq(base + l.rx_cq, base + l.rx_cq_dbr, log_size),
		.wqe = base + l.rq,
		.owner = (uint32_t *)(void *)(base + l.rx_owner),
		.dbr = base + l.rq_dbr,
		.mask = (1u << log_size) - 1,
		.most = 1u << log_size,
		.room = buf_room(pool),
	};
	for (uint32_t i = 0; i <= r->mask; i++) {
		be32_store(r->wqe + i * MLX5_RX_WQE_BYTES, r->room);
		be32_store(r->wqe + i * MLX5_RX_WQE_BYTES + MLX5_DATA_LKEY, lkey);
	}
}

void mlx5_rx_compressed(struct mlx5_rx *r)
{
	r->compressed = true;
	r->most = r->mask + 1 - MLX5_MINI_CQES;
}

void mlx5_tx_init(struct mlx5_tx *r, void *mem, unsigned log_size)
{
	struct mlx5_layout l = mlx5_layout(log_size);
	uint8_t *base = mem;
	*r = (struct mlx5_tx){
		.cq = init_cq(base + l.tx_cq, base + l.tx_cq_dbr, log_size),
		.wqe = base + l.sq,
		.owner = (uint32_t *)(void *)(base + l.tx_owner),
		.reports = (struct mlx5_report *)(void *)(base + l.tx_reports),
		.slot = base + l.tx_slots,
		.dbr = base + l.sq_dbr,
		.mask = (1u << log_size) - 1,
		.eights = vector_bits() >= 256,
	};
}

/* --- refill --- */

/* Gives n buffers, fresh[-1] and those before, to WQEs that do not cross the end of the ring. */
static inline void give_run(uint8_t *wqe, uint32_t *owner, const struct bufpool *pool,
                            const uint32_t *fresh, uint32_t n)
{
	const uint64_t bus = dma_addr(pool->base + BUF_DATA_OFFSET).bus, stride = pool->stride;
	for (const uint32_t *end = fresh - n; fresh != end; wqe += MLX5_RX_WQE_BYTES) {
		const uint32_t buf = *--fresh;
		*owner++ = buf;
		raw64_store(wqe + MLX5_DATA_ADDRESS, BYTES_SWAP64(bus + buf * stride));
	}
}

/* Gives buffers to the `places` WQEs that shall have one, as far as the pool has any. */
static inline void give_all(struct mlx5_rx *r, struct bufpool *pool, uint32_t places)
{
	const uint32_t n = u32_min(places, pool->free), at = r->tail & r->mask;
	const uint32_t first = u32_min(n, r->mask + 1 - at);
	const uint32_t *fresh = &pool->stack[pool->free];
	give_run(r->wqe + (size_t)at * MLX5_RX_WQE_BYTES, &r->owner[at], pool, fresh, first);
	give_run(r->wqe, r->owner, pool, fresh - first, n - first);
	pool->free -= n;
	r->tail += n;
}

/* `moved`: WQEs have been taken since the last call. */
static inline void refill(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                          uint32_t moved)
{
	uint32_t places = r->head + r->most - r->tail, had = r->tail;
	if (likely(places < u32_min(MLX5_RX_BULK, r->most / 4)))
		return;
	if (unlikely(pool->free < places && moved))
		cnt->rx_no_buffer++;
	give_all(r, pool, places);
	if (r->tail == had)
		return;
	barrier_write();
	be32_store(r->dbr + MLX5_DBR_RECEIVE, r->tail & 0xffff);
}

void mlx5_rx_fill(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt)
{
	refill(r, pool, cnt, 1);
}

/* --- receive --- */

bool mlx5_rx_waiting(const struct mlx5_rx *r)
{
	return r->session.left ||
	       mlx5_cqe_is_new(&r->cq, r->cq_head, mlx5_cqe_end(mlx5_cqe(&r->cq, r->cq_head)));
}

/* Mask for the last word of a CQE: WQE counter, and opcode, format and owner. */
#define FRAME_MASK (0xffff0000 | (0xff & ~MLX5_CQE_SOLICITED))
#define FRAME_COUNTER 16

/* The value under FRAME_MASK if the CQE at cq_pos holds the frame of the WQE at pos. */
static inline uint32_t frame_word(const struct mlx5_rx *r, uint32_t cq_pos, uint32_t pos)
{
	return pos << FRAME_COUNTER | MLX5_CQE_RESP_SEND << MLX5_CQE_OPCODE_SHIFT |
	       (cq_pos >> r->cq.log_size & 1);
}

static inline bool has_frame(uint64_t end, uint32_t word)
{
	return ((uint32_t)BYTES_SWAP64(end) & FRAME_MASK) == word;
}

/* A run of frames, up to the end of either ring. */
struct run {
	struct mlx5_rx q; /* in registers: our stores cannot change it */
	struct bufpool *pool;
	struct nic_counters *cnt;
	uint8_t *frames; /* that of buffer 0 */
	uint64_t stride;
	uint64_t word, checked; /* PKT_WORD of the port; with PKT_CSUM_OK */
	const uint32_t *owner; /* that of the next frame */
	struct pkt *p;         /* where the next packet goes */
	uint32_t bytes;        /* of the packets before */
};

static inline struct run begin_run(const struct mlx5_rx *r, struct bufpool *pool,
                                   struct nic_counters *cnt, struct pkt *p)
{
	const uint64_t word = PKT_WORD(0, 0, 0, r->port);
	return (struct run){*r, pool, cnt, pool->base + BUF_DATA_OFFSET, pool->stride, word,
	                    word | PKT_WORD(0, 0, PKT_CSUM_OK, 0), &r->owner[r->head & r->mask], p, 0};
}

/* Puts the next frame, of `len` bytes, whose CQE has these headers. */
static inline void put_frame(struct run *run, uint32_t len, uint64_t headers)
{
	const uint32_t buf = *run->owner++;
	const uint64_t word = (headers & run->q.csum_mask) == MLX5_CQE_H_OK ? run->checked : run->word;
	struct pkt *p = run->p;
	p->data = run->frames + buf * run->stride;
	raw64_store(&p->buf, word | (uint64_t)len << 32 | buf); /* len is checked below */
	prefetch_write(p->data); /* most frames leave with a new header */
	if (unlikely(len - 1 >= run->q.room)) {
		run->cnt->rx_bad_len++;
		buf_free(run->pool, buf);
		return;
	}
	if (unlikely(headers & run->q.vlan_mask)) {
		pkt_meta(run->pool, buf)->vlan_tci =
			BYTES_SWAP16((uint16_t)(headers >> MLX5_CQE_H_TAG_SHIFT));
		p->flags |= PKT_VLAN;
	}
	run->bytes += len;
	run->p++;
}

/* The run's n frames are taken; returns the end of the packets. */
static inline struct pkt *end_run(struct mlx5_rx *r, const struct run *run, uint32_t n)
{
	r->head = run->q.head + n;
	r->cq_head = run->q.cq_head + n;
	run->cnt->rx_bytes += run->bytes;
	return run->p;
}

/* Takes frames that have a CQE each, at most `most`. */
static __attribute__((noinline)) struct pkt *take_singles(struct mlx5_rx *r, struct bufpool *pool,
                                       struct nic_counters *cnt, struct pkt *p, uint32_t most)
{
	struct run run = begin_run(r, pool, cnt, p);
	uint8_t *cqe = mlx5_cqe(&run.q.cq, run.q.cq_head);
	uint32_t word = frame_word(&run.q, run.q.cq_head, run.q.head), i = 0;
	for (; i < most; i++, cqe += MLX5_CQE_BYTES, word += 1u << FRAME_COUNTER) {
		if (!has_frame(mlx5_cqe_end(cqe), word))
			break;
		uint64_t headers = raw64_load(cqe + MLX5_CQE_HEADERS);
		uint32_t len = be32_load(cqe + MLX5_CQE_BYTE_COUNT);
		if (run.q.compressed)
			raw64_store(cqe + MLX5_CQE_END, mlx5_cqe_unused(run.q.cq_head + i));
		put_frame(&run, len, headers);
	}
	return end_run(r, &run, i);
}

/* --- compressed CQEs --- */

/* The number of frames of the title there, the first in the WQE at pos; 0: no title, or an invalid
 * one. */
static inline uint32_t title_frames(const struct mlx5_rx *r, uint64_t end, uint32_t pos)
{
	uint32_t word = frame_word(r, r->cq_head, pos) | MLX5_CQE_COMPRESSED;
	if (!r->compressed || !has_frame(end, word))
		return 0;
	uint32_t n = be32_load(mlx5_cqe(&r->cq, r->cq_head) + MLX5_CQE_BYTE_COUNT);
	return n >= 2 && n <= r->tail - pos ? n : 0;
}

/* False: there is no title at the head. */
static inline bool begin_session(struct mlx5_rx *r)
{
	uint8_t *cqe = mlx5_cqe(&r->cq, r->cq_head);
	uint32_t n = title_frames(r, mlx5_cqe_end(cqe), r->head);
	if (n == 0)
		return false;
	r->session = (struct mlx5_session){raw64_load(cqe + MLX5_CQE_HEADERS), r->cq_head, n};
	mlx5_cqe_unuse(&r->cq, r->cq_head);
	cqe[MLX5_CQE_OP_OWN] |= MLX5_CQE_COMPRESSED; /* still a title, for that many frames */
	return true;
}

/* Position in the CQ that holds the mini CQE of frame i of the session and those of its
 * neighbours. */
static inline uint32_t mini_place(const struct mlx5_session *s, uint32_t i)
{
	return s->title + (i < MLX5_MINI_CQES ? 1 : i & ~(MLX5_MINI_CQES - 1u));
}

/* Takes frames of the session, at most `most`. Kept apart from take_singles, which needs the
 * registers. */
static __attribute__((noinline)) struct pkt *take_session(struct mlx5_rx *r, struct bufpool *pool,
                                                          struct nic_counters *cnt, struct pkt *p,
                                                          uint32_t most)
{
	struct run run = begin_run(r, pool, cnt, p);
	const struct mlx5_session *s = &run.q.session;
	uint32_t from = run.q.cq_head - s->title, to = from + u32_min(most, s->left), i = from;
	while (i != to) {
		uint32_t place = mini_place(s, i);
		uint32_t next = i - i % MLX5_MINI_CQES + MLX5_MINI_CQES, stop = u32_min(next, to);
		const uint8_t *mini =
			mlx5_cqe(&run.q.cq, place) + i % MLX5_MINI_CQES * MLX5_MINI_CQE_BYTES;
		prefetch_write(mlx5_cqe(&run.q.cq, mini_place(s, next)));
		for (; i != stop; i++, mini += MLX5_MINI_CQE_BYTES)
			put_frame(&run, be32_load(mini + MLX5_MINI_CQE_BYTE_COUNT), s->headers);
		if (stop == next || stop == from + s->left)
			mlx5_cqe_unuse(&run.q.cq, place);
	}
	r->session.left -= to - from;
	return end_run(r, &run, to - from);
}

/* Returns the places of the CQ before the head to the device, except one with mini CQEs still to be
 * read. */
static inline void give_places(const struct mlx5_rx *r)
{
	uint32_t kept = r->session.left ? (r->cq_head - r->session.title) % MLX5_MINI_CQES : 0;
	barrier_write(); /* after they were marked as unused */
	be32_store(r->cq.dbr + MLX5_DBR_CONSUMER, (r->cq_head - kept) & MLX5_INDEX_MASK);
}

/* --- a burst --- */

/* Takes the frames that are done, at most `most`, from r->head on; returns how many were good. */
static inline unsigned take_done(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                                 struct pkt *v, uint32_t most)
{
	struct pkt *p = v;
	uint32_t last = r->head + most;
	while (r->head != last) {
		uint32_t to_end = r->mask + 1 - u32_max(r->head & r->mask, r->cq_head & r->mask);
		uint32_t from = r->head, run = u32_min(last - from, to_end);
		if (r->session.left || begin_session(r)) {
			p = take_session(r, pool, cnt, p, run);
			continue;
		}
		p = take_singles(r, pool, cnt, p, run);
		if (r->head - from != run && !begin_session(r))
			break;
	}
	cnt->rx_pkts += (unsigned)(p - v);
	return (unsigned)(p - v);
}

/*
 * There is a CQE that does not belong to the WQE at the head. If it belongs to a later WQE, the
 * CQEs of the WQEs before are lost, and nothing is known of their frames.
 */
COLD static void skip_lost(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                           bool *broken)
{
	uint64_t end = mlx5_cqe_end(mlx5_cqe(&r->cq, r->cq_head));
	uint32_t lost = (uint16_t)(mlx5_cqe_counter(end) - r->head);
	bool frames = has_frame(end, frame_word(r, r->cq_head, r->head + lost)) ||
	              title_frames(r, end, r->head + lost);
	if (frames && lost < r->tail - r->head) {
		cnt->rx_bad_desc += lost; /* 0: it has arrived just now */
		while (lost--)
			buf_free(pool, r->owner[r->head++ & r->mask]);
		return;
	}
	*broken = true;
	if (mlx5_cqe_op_own(end) >> MLX5_CQE_OPCODE_SHIFT == MLX5_CQE_RESP_ERROR)
		mlx5_rx_fail(r, cnt);
	else
		cnt->rx_bad_desc++;
}

unsigned mlx5_rx_burst(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                       struct pkt *v, unsigned max, bool *broken)
{
	uint32_t head = r->head, left = r->tail - head;
	unsigned n = take_done(r, pool, cnt, v, max < left ? max : left);
	uint32_t moved = r->head - head;
	if (moved) {
		mlx5_rx_stand(r, cnt); /* with what take_done has counted */
		give_places(r);
	}
	if (unlikely(moved < max && mlx5_rx_waiting(r)))
		skip_lost(r, pool, cnt, broken);
	if (unlikely(r->failed)) /* its doorbell record stays 0 */
		return n;
	refill(r, pool, cnt, r->head - head);
	return n;
}
