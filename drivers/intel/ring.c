/*
 * See ring.h: memory of a pair, and its receive half. ring_tx.c has the transmit half.
 *
 * Cache lines: a descriptor's line is read to find DD, written soon after by the refill, and then
 * read by the device. It is prefetched for writing, some lines ahead of the loop, but only behind a
 * descriptor that is done: an idle poll reads one word and takes no line from the device.
 */
#include "drivers/intel/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define DESC_PER_LINE (CACHE_LINE / sizeof(union intel_rx_desc))
#define FETCH_AHEAD (2 * DESC_PER_LINE)

static size_t take(size_t *at, size_t bytes)
{
	size_t start = *at;
	*at = (start + bytes + INTEL_RING_ALIGN - 1) & ~(size_t)(INTEL_RING_ALIGN - 1);
	return start;
}

struct intel_layout intel_layout(unsigned size)
{
	struct intel_layout l;
	size_t at = 0;
	l.rx_desc = take(&at, size * sizeof(union intel_rx_desc));
	l.tx_desc = take(&at, size * sizeof(union intel_tx_desc));
	l.written_head = take(&at, sizeof(uint32_t)); /* a line that only the device writes */
	l.rx_owner = take(&at, size * sizeof(uint32_t));
	l.tx_owner = take(&at, size * sizeof(uint32_t));
	l.bytes = at;
	return l;
}

void intel_rx_init(struct intel_rx *r, void *mem, unsigned size, uint32_t most,
                   const struct bufpool *pool)
{
	most = u32_min(most, size - 1);
	struct intel_layout l = intel_layout(size);
	uint8_t *base = mem;
	*r = (struct intel_rx){
		.desc = (union intel_rx_desc *)(void *)(base + l.rx_desc),
		.owner = (uint32_t *)(void *)(base + l.rx_owner),
		.mask = size - 1,
		.most = most,
		.bulk = u32_min(INTEL_RX_BULK, (most + 1) / 4),
		.plain_room = pool->stride - INTEL_RX_OFFSET,
		.suspect = UINT32_MAX,
	};
}

/* --- refill --- */

/* Gives n buffers, fresh[-1] and those before, to descriptors that do not cross the end of the ring. */
static inline void give_run(union intel_rx_desc *desc, uint32_t *owner, const struct bufpool *pool,
                            const uint32_t *fresh, uint32_t n)
{
	const uint64_t bus = dma_addr(pool->base + INTEL_RX_OFFSET).bus, stride = pool->stride;
	for (const uint32_t *end = fresh - n; fresh != end; desc++) {
		const uint32_t buf = *--fresh;
		*owner++ = buf;
		desc->read.packet = bus + buf * stride;
		desc->read.header = 0; /* clears DD */
	}
}

/* Gives buffers to the `places` descriptors that shall have some, as far as the pool has any. */
static inline void give_all(struct intel_rx *r, struct bufpool *pool, uint32_t places)
{
	const uint32_t n = u32_min(places, pool->free), at = r->tail & r->mask;
	const uint32_t first = u32_min(n, r->mask + 1 - at);
	const uint32_t *fresh = &pool->stack[pool->free];
	give_run(&r->desc[at], &r->owner[at], pool, fresh, first);
	give_run(r->desc, r->owner, pool, fresh - first, n - first);
	pool->free -= n;
	r->tail += n;
}

/* For intel_rx_left, which must not go beyond `told`: descriptors there were taken before and still
 * look done. */
static inline uint64_t place_of(const struct intel_rx *r)
{
	return (uint64_t)r->told << 32 | r->head;
}

/* Invariant 2: tells the device of new descriptors if they are worth a write, or if it runs dry. */
static inline void tell(struct intel_rx *r, struct nic_counters *cnt)
{
	uint32_t news = r->tail - r->told;
	if (news == 0 || (likely(news < r->bulk) && likely(r->told - r->head >= r->bulk)))
		return;
	r->told = r->tail;
	cnt->rx_place = place_of(r);
	barrier_write();
	mmio_write32(r->tail_reg, r->tail & r->mask);
	cnt->mmio_writes++;
}

/* `moved`: descriptors have been taken since the last call. */
static inline void refill(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                          uint32_t moved)
{
	uint32_t places = r->head + r->most - r->tail;
	if (likely(places < r->bulk))
		return;
	if (unlikely(pool->free < places && moved))
		cnt->rx_no_buffer++;
	give_all(r, pool, places);
	tell(r, cnt);
}

void intel_rx_fill(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt)
{
	refill(r, pool, cnt, 1);
}

/* --- receive --- */

/* The second quadword of a descriptor, read once so that the value checked is the value used. */
static inline uint64_t load_status(const union intel_rx_desc *d)
{
	return __atomic_load_n(&d->wb.status, __ATOMIC_ACQUIRE);
}

bool intel_rx_waiting(const struct intel_rx *r)
{
	return r->head != r->told && load_status(&r->desc[r->head & r->mask]) & INTEL_RXD_DD;
}

/* Sets the plain path's length limit, after `part` or `dropping` has changed. */
static void set_plain(struct intel_rx *r, const struct bufpool *pool)
{
	r->plain_room = r->part.data || r->dropping ? 0 : pool->stride - INTEL_RX_OFFSET;
}

/* Drops the frame that p is a part of: what has been gathered, p, and what follows. */
static void drop_frame(struct intel_rx *r, struct bufpool *pool, const struct pkt *p, bool more)
{
	if (r->part.data)
		pkt_free(pool, &r->part);
	r->part.data = NULL;
	r->dropping = more;
	set_plain(r, pool);
	pkt_free(pool, p);
}

/*
 * Handles what is not a frame in one good descriptor. True: *p is now a frame. False: its buffer
 * has been taken over.
 */
COLD static bool rx_odd(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                        struct pkt *p, uint64_t status)
{
	bool more = !(status & INTEL_RXD_EOP);
	if (r->dropping) {
		drop_frame(r, pool, p, more);
	} else if (status & r->bad_mask) {
		cnt->rx_bad_desc++; /* the device was told not to deliver such frames */
		drop_frame(r, pool, p, more);
	} else if (p->len == 0 || p->len > pool->stride - INTEL_RX_OFFSET) {
		cnt->rx_bad_len++;
		drop_frame(r, pool, p, more);
	} else if (r->part.data == NULL) { /* more: the frame begins here */
		r->part = *p;
		r->part.data = buf_base(pool, p->buf) + BUF_DATA_OFFSET;
		memmove(r->part.data, p->data, p->len);
		set_plain(r, pool);
	} else if (r->part.len + (uint32_t)p->len > buf_room(pool)) {
		cnt->rx_oversize++;
		drop_frame(r, pool, p, more);
	} else {
		memcpy(r->part.data + r->part.len, p->data, p->len);
		r->part.len = (uint16_t)(r->part.len + p->len);
		r->part.flags = p->flags; /* 7.1.6.2: status is valid in the last descriptor only */
		pkt_free(pool, p);
		if (more)
			return false;
		*p = r->part;
		r->part.data = NULL;
		set_plain(r, pool);
		return true;
	}
	return false;
}

/*
 * The descriptor at the head is not done but the next one is. Write-backs come in order, so one is
 * lost, and the ring would stand still for ever. Acts only when this is seen in two turns. Whether
 * a frame ended there is unknown, so everything is dropped up to the next end of frame.
 */
COLD static void skip_lost(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt)
{
	uint32_t buf = r->owner[r->head & r->mask];
	if (load_status(&r->desc[r->head & r->mask]) & INTEL_RXD_DD)
		return;
	if (r->suspect != r->head) {
		r->suspect = r->head;
		return;
	}
	cnt->rx_bad_desc++;
	drop_frame(r, pool, &(struct pkt){.buf = buf}, true);
	r->head++;
	cnt->rx_place = place_of(r);
	refill(r, pool, cnt, 1);
}

/* Handles a done descriptor that is not a whole plain frame; false as for rx_odd. */
static __attribute__((noinline)) bool take_odd(struct intel_rx *r, struct bufpool *pool,
                                               struct nic_counters *cnt, struct pkt *p, uint64_t status)
{
	const bool whole = (status & (INTEL_RXD_EOP | r->bad_mask)) == INTEL_RXD_EOP &&
	                   p->len - 1u < r->plain_room;
	if (unlikely(!whole) && !rx_odd(r, pool, cnt, p, status))
		return false;
	if (status & r->vlan_mask) {
		pkt_meta(pool, p->buf)->vlan_tci = (uint16_t)(status >> INTEL_RXD_VLAN_SHIFT);
		p->flags |= PKT_VLAN;
	}
	return true;
}

/* Takes whole plain frames at the head, at most `most`; the ring does not end before. Adds their lengths to
 * *bytes, and returns how many. A function of its own, so that its variables stay in registers. */
static __attribute__((noinline)) unsigned take_plain(const struct intel_rx *r, const struct bufpool *pool,
                                                     struct pkt *v, uint32_t most, uint64_t *bytes)
{
	const uint32_t at = r->head & r->mask, csum_mask = r->csum_mask, plain_room = r->plain_room;
	/* some of these bits differ if it is something else */
	const uint32_t all_mask = INTEL_RXD_DD | INTEL_RXD_EOP | r->bad_mask | r->vlan_mask;
	const union intel_rx_desc *desc = &r->desc[at], *end = desc + most;
	const uint32_t *owner = &r->owner[at];
	uint8_t *frames = pool->base + INTEL_RX_OFFSET;
	const uint64_t stride = pool->stride, word = PKT_WORD(0, 0, 0, r->port);
	const uint64_t checked = word | PKT_WORD(0, 0, PKT_CSUM_OK, 0);
	uint64_t sum = 0;
	struct pkt *p = v;
	for (; desc != end; desc++) {
		const uint64_t status = load_status(desc);
		const uint32_t len = (uint16_t)(status >> INTEL_RXD_LENGTH_SHIFT);
		if (unlikely((status & all_mask) != (INTEL_RXD_DD | INTEL_RXD_EOP)) ||
		    unlikely(len - 1 >= plain_room))
			break;
		const uint64_t buf = *owner++;
		prefetch_write(desc + FETCH_AHEAD);
		p->data = frames + buf * stride;
		prefetch_write(p->data); /* most frames leave with a new header */
		raw64_store(&p->buf, ((status & csum_mask) == INTEL_RXD_L4I ? checked : word) |
		                             (uint64_t)len << 32 | buf);
		sum += len;
		p++;
	}
	*bytes += sum;
	return (unsigned)(p - v);
}

/* Takes the descriptors that are done, at most `most`, from r->head on; returns the number of
 * packets. */
static inline unsigned take_done(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                                 struct pkt *v, uint32_t most)
{
	const uint32_t end = r->head + most;
	uint64_t bytes = 0;
	struct pkt *p = v;
	while (r->head != end) {
		const uint32_t at = r->head & r->mask;
		const unsigned plain = take_plain(r, pool, p, u32_min(end - r->head, r->mask + 1 - at), &bytes);
		p += plain;
		r->head += plain;
		if (r->head == end)
			break;
		const uint32_t next = r->head & r->mask;
		const uint64_t status = load_status(&r->desc[next]);
		if (!(status & INTEL_RXD_DD))
			break;
		if (plain && next == 0) /* the ring's end */
			continue;
		const uint32_t buf = r->owner[next], len = (uint16_t)(status >> INTEL_RXD_LENGTH_SHIFT);
		const bool good = (status & r->csum_mask) == INTEL_RXD_L4I;
		*p = (struct pkt){buf_base(pool, buf) + INTEL_RX_OFFSET, buf, (uint16_t)len,
		                  good ? PKT_CSUM_OK : 0, r->port};
		r->head++;
		if (take_odd(r, pool, cnt, p, status)) {
			bytes += p->len;
			p++;
		}
	}
	cnt->rx_place = place_of(r);
	cnt->rx_pkts += (unsigned)(p - v);
	cnt->rx_bytes += bytes;
	return (unsigned)(p - v);
}

unsigned intel_rx_burst(struct intel_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                        struct pkt *v, unsigned max)
{
	uint32_t head = r->head, left = r->told - head;
	if (!intel_rx_waiting(r)) {
		if (left > 1 &&
		    unlikely(load_status(&r->desc[(head + 1) & r->mask]) & INTEL_RXD_DD))
			skip_lost(r, pool, cnt);
		refill(r, pool, cnt, 0); /* buffers may have been freed meanwhile */
		return 0;
	}
	prefetch_write(&r->desc[(head + DESC_PER_LINE) & r->mask]);
	unsigned n = take_done(r, pool, cnt, v, max < left ? max : left);
	refill(r, pool, cnt, r->head - head);
	return n;
}

COLD void intel_rx_release(struct intel_rx *r, struct bufpool *pool)
{
	if (r->part.data)
		pkt_free(pool, &r->part);
	r->part.data = NULL;
	for (; r->head != r->tail; r->head++)
		buf_free(pool, r->owner[r->head & r->mask]);
}

unsigned intel_rx_left(const void *mem, unsigned size, uint64_t place)
{
	const uint8_t *base = mem;
	const union intel_rx_desc *desc = (const void *)(base + intel_layout(size).rx_desc);
	uint32_t at = (uint32_t)place, told = (uint32_t)(place >> 32), frames = 0;
	for (; at != told; at++) {
		uint64_t status = load_status(&desc[at & (size - 1)]);
		if (!(status & INTEL_RXD_DD))
			break;
		frames += (status & INTEL_RXD_EOP) != 0;
	}
	return frames;
}
