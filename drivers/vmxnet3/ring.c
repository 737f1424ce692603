/* See ring.h: memory of a pair, and its receive half. */
#include "drivers/vmxnet3/ring.h"

#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/bytes.h"

#define COMPS_PER_LINE (CACHE_LINE / sizeof(struct vmxnet3_rx_comp))

static size_t take(size_t *at, size_t bytes)
{
	size_t start = *at;
	*at = align_up(start + bytes, VMXNET3_RING_ALIGN);
	return start;
}

struct vmxnet3_layout vmxnet3_layout(unsigned size)
{
	struct vmxnet3_layout l;
	size_t at = 0;
	l.rx_desc = take(&at, size * sizeof(struct vmxnet3_rx_desc));
	l.body = take(&at, VMXNET3_RING_MULTIPLE * sizeof(struct vmxnet3_rx_desc));
	l.rx_comp = take(&at, VMXNET3_RX_COMPS(size) * sizeof(struct vmxnet3_rx_comp));
	l.tx_desc = take(&at, size * sizeof(struct vmxnet3_tx_desc));
	l.tx_comp = take(&at, size * sizeof(struct vmxnet3_tx_comp));
	l.rx_owner = take(&at, size * sizeof(uint32_t));
	l.tx_owner = take(&at, size * sizeof(uint32_t));
	l.bytes = at;
	return l;
}

void vmxnet3_rx_init(struct vmxnet3_rx *r, void *mem, unsigned size, uint32_t most)
{
	const struct vmxnet3_layout l = vmxnet3_layout(size);
	uint8_t *base = mem;
	most = u32_min(most, size - 1);
	*r = (struct vmxnet3_rx){
		.desc = (struct vmxnet3_rx_desc *)(void *)(base + l.rx_desc),
		.comp = (struct vmxnet3_rx_comp *)(void *)(base + l.rx_comp),
		.owner = (uint32_t *)(void *)(base + l.rx_owner),
		.mask = size - 1,
		.comp_size = VMXNET3_RX_COMPS(size),
		.most = most,
		.bulk = u32_min(VMXNET3_RX_BULK, (most + 1) / 4),
	};
}

/* --- refill --- */

/* Gives buffers to the `places` descriptors that shall have some, as far as the pool has any. */
static inline void give_all(struct vmxnet3_rx *r, struct bufpool *pool, uint32_t places)
{
	const uint32_t n = u32_min(places, pool->free), mask = r->mask;
	const uint32_t *fresh = &pool->stack[pool->free];
	const struct bufpool p = *pool; /* in registers: our stores cannot change it */
	const uint32_t len = buf_room(&p);
	struct vmxnet3_rx_desc *desc = r->desc;
	uint32_t tail = r->tail;
	for (uint32_t i = 0; i < n; i++, tail++) {
		const uint32_t buf = fresh[-(int)i - 1], gen = tail & (mask + 1) ? 0 : VMXNET3_RXD_GEN;
		r->owner[tail & mask] = buf;
		desc[tail & mask].addr = dma_addr(buf_base(&p, buf) + BUF_DATA_OFFSET).bus;
		__atomic_store_n(&desc[tail & mask].len_gen, len | gen, __ATOMIC_RELEASE);
	}
	pool->free -= n;
	r->tail = tail;
}

/* Rings the doorbell if there are enough new descriptors, or if the device runs dry. */
static inline void tell(struct vmxnet3_rx *r, struct nic_counters *cnt)
{
	const uint32_t news = r->tail - r->told;
	/* `told` is behind `head` when the device has taken descriptors without the doorbell. */
	if (news == 0 || (likely(news < r->bulk) && likely((int32_t)(r->told - r->head) >= (int32_t)r->bulk)))
		return;
	r->told = r->tail;
	barrier_write();
	mmio_write32(r->doorbell, r->tail & r->mask);
	cnt->mmio_writes++;
}

/* `moved`: descriptors have been taken since the last call. */
static inline void refill(struct vmxnet3_rx *r, struct bufpool *pool, struct nic_counters *cnt, bool moved)
{
	const uint32_t places = r->head + r->most - r->tail;
	if (likely(places < r->bulk))
		return;
	if (unlikely(pool->free < places && moved))
		cnt->rx_no_buffer++;
	give_all(r, pool, places);
	tell(r, cnt);
}

void vmxnet3_rx_fill(struct vmxnet3_rx *r, struct bufpool *pool, struct nic_counters *cnt)
{
	refill(r, pool, cnt, true);
}

/* --- receive --- */

/* The second half of a completion, read once so that the value checked is the value used. */
static inline uint64_t load_end(const struct vmxnet3_rx_comp *c)
{
	return __atomic_load_n((const uint64_t *)(const void *)&c->len, __ATOMIC_ACQUIRE);
}

static inline bool is_valid(uint64_t end, uint32_t position, uint32_t comp_size)
{
	return (end >> 63) == !(position & comp_size);
}

bool vmxnet3_rx_waiting(const struct vmxnet3_rx *r)
{
	return is_valid(load_end(&r->comp[r->done & (r->comp_size - 1)]), r->done, r->comp_size);
}

/*
 * Moves head behind the descriptor that a completion names. The device has passed over those before it, whose
 * buffers go back to the pool. False: it names none of the device's.
 */
static inline bool take_descriptor(struct vmxnet3_rx *r, struct bufpool *pool, struct nic_counters *cnt,
                                   uint32_t word, uint32_t *buf)
{
	const uint32_t index = word & VMXNET3_RXC_INDEX, ahead = (index - r->head) & r->mask;
	const uint32_t queue = word >> VMXNET3_RXC_QUEUE_SHIFT & VMXNET3_RXC_QUEUE;
	if (unlikely(index > r->mask || queue != r->queue || ahead >= r->tail - r->head)) {
		cnt->rx_bad_desc++;
		return false;
	}
	for (uint32_t i = 0; unlikely(i < ahead); i++) {
		cnt->rx_bad_desc++;
		buf_free(pool, r->owner[r->head++ & r->mask]);
	}
	*buf = r->owner[r->head++ & r->mask];
	return true;
}

/* Counts what is wrong with a completion that is not a whole good frame. */
COLD static void rx_odd(struct vmxnet3_rx *r, struct nic_counters *cnt, uint32_t word, uint64_t end, uint32_t room)
{
	const bool first = word & VMXNET3_RXC_SOP, last = word & VMXNET3_RXC_EOP;
	const uint32_t len = end & VMXNET3_LEN_MAX;
	if (!first)
		cnt->rx_bad_desc += !r->dropping;
	else if (!last || (end & VMXNET3_RXC_ERROR && len == room)) /* a frame that does not fit */
		cnt->rx_oversize++;
	else if (end & VMXNET3_RXC_ERROR)
		cnt->rx_bad_desc++;
	else
		cnt->rx_bad_len++;
	r->dropping = !last;
}

/* The checksum of TCP or UDP, and of IPv4, was computed and found right. */
static inline unsigned csum_flags(uint32_t word, uint64_t end)
{
	const bool ip_ok = end & VMXNET3_RXC_IP4 ? end & VMXNET3_RXC_IP_OK : end & VMXNET3_RXC_IP6;
	const bool l4 = end & (VMXNET3_RXC_TCP | VMXNET3_RXC_UDP) && !(end & VMXNET3_RXC_FRAGMENT);
	return l4 && ip_ok && end & VMXNET3_RXC_L4_OK && !(word & VMXNET3_RXC_NO_CSUM) ? PKT_CSUM_OK : 0;
}

/* Takes completions, at most `most`; returns the number of packets. */
static inline unsigned take_done(struct vmxnet3_rx *r, struct bufpool *pool, struct nic_counters *cnt, struct pkt *v,
                                 uint32_t most)
{
	const uint32_t room = buf_room(pool), comp_size = r->comp_size;
	const struct vmxnet3_rx_comp *comp = r->comp;
	uint32_t done = r->done;
	const uint32_t stop = done + most;
	uint64_t bytes = 0;
	struct pkt *p = v;
	for (; done != stop; done++) {
		const struct vmxnet3_rx_comp *c = &comp[done & (comp_size - 1)];
		const uint64_t end = load_end(c);
		if (!is_valid(end, done, comp_size))
			break;
		const uint32_t word = __atomic_load_n(&c->index, __ATOMIC_RELAXED), len = end & VMXNET3_LEN_MAX;
		uint32_t buf;
		if (done % COMPS_PER_LINE == 0)
			__builtin_prefetch(&comp[(done + 2 * COMPS_PER_LINE) & (comp_size - 1)]);
		if (unlikely(!take_descriptor(r, pool, cnt, word, &buf)))
			continue;
		if (unlikely((word & (VMXNET3_RXC_SOP | VMXNET3_RXC_EOP)) != (VMXNET3_RXC_SOP | VMXNET3_RXC_EOP) ||
		             end & VMXNET3_RXC_ERROR || len - 1 >= room)) {
			rx_odd(r, cnt, word, end, room);
			buf_free(pool, buf);
			continue;
		}
		*p = (struct pkt){buf_base(pool, buf) + BUF_DATA_OFFSET, buf, (uint16_t)len, 0, r->port};
		prefetch_write(p->data); /* most frames leave with a new header */
		r->dropping = false;
		if (r->csum)
			p->flags = (uint8_t)csum_flags(word, end);
		if (unlikely(end & VMXNET3_RXC_TAG && r->vlan)) {
			pkt_meta(pool, buf)->vlan_tci = (uint16_t)(end >> VMXNET3_RXC_TCI_SHIFT);
			p->flags |= PKT_VLAN;
		}
		bytes += len;
		p++;
	}
	r->done = done;
	cnt->rx_place = done;
	cnt->rx_pkts += (unsigned)(p - v);
	cnt->rx_bytes += bytes;
	return (unsigned)(p - v);
}

unsigned vmxnet3_rx_burst(struct vmxnet3_rx *r, struct bufpool *pool, struct nic_counters *cnt, struct pkt *v,
                          unsigned max)
{
	const uint32_t head = r->head;
	const unsigned n = take_done(r, pool, cnt, v, max);
	refill(r, pool, cnt, r->head != head); /* also without frames: buffers may have been freed meanwhile */
	return n;
}

COLD void vmxnet3_rx_release(struct vmxnet3_rx *r, struct bufpool *pool)
{
	for (; r->head != r->tail; r->head++)
		buf_free(pool, r->owner[r->head & r->mask]);
}

unsigned vmxnet3_rx_left(const void *mem, unsigned size, uint64_t place)
{
	const struct vmxnet3_rx_comp *comp =
		(const void *)((const uint8_t *)mem + vmxnet3_layout(size).rx_comp);
	const uint32_t comps = VMXNET3_RX_COMPS(size);
	unsigned frames = 0;
	for (uint32_t i = 0, at = (uint32_t)place; i < size; i++, at++) {
		const uint64_t end = load_end(&comp[at & (comps - 1)]);
		const uint32_t word = __atomic_load_n(&comp[at & (comps - 1)].index, __ATOMIC_RELAXED);
		if (!is_valid(end, at, comps))
			break;
		frames += word & VMXNET3_RXC_EOP && !(end & VMXNET3_RXC_ERROR);
	}
	return frames;
}
