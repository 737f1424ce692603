#include "tools/nicsim/intel/rx_queue.h"

#include <string.h>

#define ENABLE_NS 1000 /* until RXDCTL.ENABLE reads back */

/* --- registers --- */

void rx_queue_reset(struct model *m)
{
	struct nic *n = nic_of(m);
	memset(n->rx, 0, sizeof n->rx);
	n->rx_on[0] = n->rx_on[1] = 0;
}

static void learn_srrctl(struct model *m, unsigned q)
{
	struct rxq *r = &nic_of(m)->rx[q];
	uint32_t srrctl = get(m, rx_block(m, q) + kind_of(m)->srrctl);
	r->buffer = (srrctl & kind_of(m)->bsize_mask) << 10;
	r->type = srrctl >> SRRCTL_DESCTYPE_SHIFT & 7;
	r->drop = srrctl & kind_of(m)->drop_en;
	if (r->buffer == 0 || r->buffer > 16384)
		model_violation(m, "SRRCTL[%u].BSIZEPACKET = %u KB: 1 to 16", q, r->buffer >> 10);
	if (r->type != DESCTYPE_LEGACY && r->type != DESCTYPE_ONE_BUFFER)
		model_violation(m, "SRRCTL[%u].DESCTYPE = %u: only 0 and 1 are modelled", q, r->type);
	r->broken |= r->buffer == 0 || r->buffer > 16384 || r->type > DESCTYPE_ONE_BUFFER;
}

/* Enables a queue and checks what must be set before (8.2.3.8.6, 4.6.7). */
static void enable(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	struct rxq *r = &n->rx[q];
	const uint32_t block = rx_block(m, q);
	*r = (struct rxq){.enabled = true, .moved = m->now};
	r->ring = (get(m, block) & ~127u) | (uint64_t)get(m, block + 4) << 32;
	r->size = (get(m, block + 8) & 0xfff80) / 16;
	r->head = get(m, block + Q_HEAD) & 0xffff;
	r->tail = get(m, block + Q_TAIL) & 0xffff;
	r->strip_vlan = get(m, block + Q_DCTL) & n->kind->queue_vme;
	r->broken = r->size == 0 || r->head >= r->size || r->tail >= r->size;
	learn_srrctl(m, q);
	if (r->size == 0)
		model_violation(m, "RXDCTL[%u].ENABLE with RDLEN[%u] = 0", q, q);
	else if (r->head >= r->size || r->tail >= r->size)
		model_violation(m, "RXDCTL[%u].ENABLE with RDH %u, RDT %u, of %u descriptors", q,
		                r->head, r->tail, r->size);
	else if (!m->line_rate && r->tail != r->head)
		model_violation(m, "RDT[%u] = %u before RXDCTL[%u].ENABLE reads back set", q, r->tail, q);
	if (!m->masters)
		model_violation(m, "RXDCTL[%u].ENABLE while PCI bus mastering is off", q);
	queue_map_set(n->rx_on, q);
}

static void disable(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	n->rx[q].enabled = false;
	n->rx[q].settles = 0;
	queue_map_clear(n->rx_on, q);
}

void rx_queue_settle(struct model *m)
{
	struct nic *n = nic_of(m);
	for (unsigned q = 0; q < n->kind->queues; q++) {
		uint64_t at = n->rx[q].settles;
		if (at && at <= m->now) {
			const uint32_t rxdctl = rx_block(m, q) + Q_DCTL;
			set(m, rxdctl, get(m, rxdctl) | RXDCTL_ENABLE);
			enable(m, q);
		} else if (at && at < n->settle_due) {
			n->settle_due = at;
		}
	}
}

static void rxdctl_write(struct model *m, unsigned q, uint32_t value)
{
	struct nic *n = nic_of(m);
	struct rxq *r = &n->rx[q];
	const uint32_t rxdctl = rx_block(m, q) + Q_DCTL;
	bool want = value & RXDCTL_ENABLE;
	if (model_fault(m, FAULT_RXDCTL_STUCK))
		want = r->enabled;
	value &= ~(uint32_t)(RXDCTL_ENABLE | RXDCTL_SWFLSH);
	r->strip_vlan = value & n->kind->queue_vme;
	if (r->enabled && want) {
		set(m, rxdctl, value | RXDCTL_ENABLE);
		return;
	}
	set(m, rxdctl, value);
	if (!want) {
		disable(m, q);
		return;
	}
	r->settles = m->now + ENABLE_NS;
	if (r->settles < n->settle_due)
		n->settle_due = r->settles;
}

/* 8.2.3.8.5: the tail moves forward, never past the head; otherwise software would pass the device
 * a descriptor that the device already owns. */
static void tail_write(struct model *m, unsigned q, uint32_t tail)
{
	struct rxq *r = &nic_of(m)->rx[q];
	if (!r->enabled) {
		if (tail != 0)
			model_violation(m, "RDT[%u] = %u while RXDCTL[%u].ENABLE is not set", q, tail, q);
		return;
	}
	if (r->broken || tail == r->tail)
		return;
	if (tail >= r->size) {
		model_violation(m, "RDT[%u] = %u: the ring has %u descriptors", q, tail, r->size);
		return;
	}
	uint32_t owned = (r->tail + r->size - r->head) % r->size;
	uint32_t moved = (tail + r->size - r->tail) % r->size;
	if (owned + moved >= r->size)
		model_violation(m, "RDT[%u] from %u to %u passes RDH %u (of %u)", q, r->tail, tail,
		                r->head, r->size);
	r->tail = tail;
	r->moved = m->now;
}

void rx_queue_write(struct model *m, unsigned q, uint32_t within, uint32_t value)
{
	const struct rxq *r = &nic_of(m)->rx[q];
	const uint32_t at = rx_block(m, q) + within;
	if (within == Q_DCTL) {
		rxdctl_write(m, q, value);
		return;
	}
	bool fixed = within <= 8 || within == Q_HEAD; /* base, length, head */
	if (fixed && r->enabled && value != get(m, at)) {
		model_violation(m, "%s[%u] written while RXDCTL[%u].ENABLE is set",
		                within == 8 ? "RDLEN" : within == Q_HEAD ? "RDH" : "RDBA", q, q);
		return;
	}
	set(m, at, value);
	if (within == Q_TAIL)
		tail_write(m, q, value);
	if (within == kind_of(m)->srrctl && r->enabled)
		learn_srrctl(m, q);
}

void rx_queue_scan(struct model *m)
{
	for (unsigned q = 0; q < 64 && q < kind_of(m)->queues; q++) {
		uint32_t rxdctl = get(m, rx_block(m, q) + Q_DCTL);
		struct rxq *r = &nic_of(m)->rx[q];
		r->strip_vlan = rxdctl & kind_of(m)->queue_vme;
		if (!!(rxdctl & RXDCTL_ENABLE) == r->enabled || model_fault(m, FAULT_RXDCTL_STUCK))
			continue;
		if (r->enabled)
			disable(m, q);
		else
			enable(m, q);
	}
}

/* All registers read here are in one cache line. */
void rx_queue_look(struct model *m, unsigned q)
{
	if (!m->line_rate || q >= 64)
		return;
	const uint32_t block = rx_block(m, q);
	if (!(get(m, block + Q_DCTL) & RXDCTL_ENABLE)) {
		disable(m, q);
		return;
	}
	uint32_t tail = get(m, block + Q_TAIL) & 0xffff;
	/* the driver's descriptors are read after its tail */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (tail != nic_of(m)->rx[q].tail)
		tail_write(m, q, tail);
}

struct rxd *rx_queue_ring(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	struct rxq *r = &n->rx[q];
	if (r->at_call != n->call || r->at == NULL) {
		r->at = model_dma(m, r->ring, (uint64_t)r->size * 16, DMA_WRITE, "receive ring (RDBA)");
		r->at_call = n->call;
		r->broken |= r->at == NULL;
	}
	return (struct rxd *)(void *)r->at;
}

/* --- one frame into descriptors --- */

/* Copies [from, from + bytes) of a frame in two pieces. */
static void copy_piece(const struct delivery *f, uint8_t *to, uint32_t from, uint32_t bytes)
{
	if (f->rest_bytes == 0) {
		memcpy(to, f->head + from, bytes);
		return;
	}
	if (from < f->head_bytes) {
		uint32_t k = f->head_bytes - from < bytes ? f->head_bytes - from : bytes;
		memcpy(to, f->head + from, k);
		to += k;
		from += k;
		bytes -= k;
	}
	if (bytes)
		memcpy(to, f->rest + (from - f->head_bytes), bytes);
}

static void write_back(struct model *m, unsigned q, struct rxd *d, uint64_t bus, uint64_t low,
                       uint64_t high)
{
	if (m->faults) {
		if (model_fault_strikes(m, FAULT_WRITEBACK_LOST))
			return;
		if (model_fault_strikes(m, FAULT_DD_GARBAGE)) {
			low = 0x9e3779b97f4a7c15u * (low + m->now);
			high = (low ^ low << 21) | RXD_DD | RXD_EOP;
		}
		if (model_fault(m, FAULT_WRITEBACK_DELAY)) {
			late_add(m, &(struct late){.bus = bus,
			                           .low = low,
			                           .high = high,
			                           .kind = LATE_RX_DESCRIPTOR,
			                           .queue = (uint8_t)q});
			return;
		}
	}
	__atomic_store_n(&d->low, low, __ATOMIC_RELAXED);
	__atomic_store_n(&d->high, high, __ATOMIC_RELEASE);
}

/* The quad-words of the two formats: advanced 7.1.6.2, legacy 7.1.5. */
static uint64_t status_word(const struct rxq *r, const struct delivery *f, uint32_t bytes, bool last)
{
	uint32_t tag = last ? f->tag : 0;
	if (r->type == DESCTYPE_ONE_BUFFER) {
		uint32_t status = last ? f->status | RXD_DD | RXD_EOP : RXD_DD;
		return status | (uint64_t)bytes << 32 | (uint64_t)tag << 48;
	}
	uint64_t status = last ? (f->status & 0xf8) | RXD_DD | RXD_EOP : RXD_DD;
	uint64_t errors = last ? f->status >> 24 : 0;
	return bytes | status << 32 | errors << 40 | (uint64_t)tag << 48;
}

bool rx_queue_place(struct model *m, unsigned q, const struct delivery *f)
{
	struct rxq *r = &nic_of(m)->rx[q];
	struct rxd *ring = rx_queue_ring(m, q);
	if (ring == NULL)
		return false;
	const uint32_t bytes = f->head_bytes + f->rest_bytes;
	uint32_t lie = m->faults && model_fault_strikes(m, FAULT_BAD_LENGTH) ? r->buffer + 1 : 0;
	for (uint32_t from = 0; from < bytes;) {
		struct rxd *d = &ring[r->head];
		uint32_t k = bytes - from < r->buffer ? bytes - from : r->buffer;
		bool last = from + k == bytes;
		/* LINUX: leaves the header address as it was written back, DD set. Without header
		 * split the device ignores it (7.1.6.1), so it is no violation. */
		uint8_t *buffer = model_dma(m, d->low, k, DMA_WRITE, "receive buffer");
		if (buffer == NULL) {
			r->broken = true;
			return false;
		}
		copy_piece(f, buffer, from, k);
		uint64_t high = status_word(r, f, last && lie ? lie : k, last);
		write_back(m, q, d, r->ring + r->head * 16ull,
		           r->type == DESCTYPE_LEGACY ? d->low : last ? f->low : 0, high);
		r->head = r->head + 1 == r->size ? 0 : r->head + 1;
		r->fetched -= r->fetched > 0;
		from += k;
	}
	return true;
}
