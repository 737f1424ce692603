/*
 * Receive: queues (8.2.3.8, 7.1.9, 7.1.10), descriptors (7.1.5, 7.1.6), the packet buffer.
 *
 * A frame passes MAC, filters and RSS (rx_frame), then goes into the descriptors of its queue. When
 * these do not suffice it is dropped if the queue says so (SRRCTL.DROP_EN: QPRDC), else it waits in
 * the packet buffer, in order, and everything behind it does too; when that is full, frames are lost
 * (RXMPC).
 *
 *   RDH == RDT: the device owns none. RDH .. RDT - 1: owned. It writes back at once, one by one.
 */
#include "tools/nicsim/82599/state.h"

#include <string.h>

#include "tools/nicsim/packet/bytes.h"

#define ENABLE_NS 1000         /* until RXDCTL.ENABLE reads back */
#define STALLED_NS 10000000    /* a queue whose tail has not moved for so long is not waited for */
#define FETCH_QUEUES 8         /* with more, what is fetched would be pushed out before it is used */
#define RECORD_BYTES 8         /* before each frame in the packet buffer */

/* 7.1.5, 7.1.6: what the queue's descriptors look like, as the driver writes and reads them. */
struct rxd {
	uint64_t low;  /* buffer address; written back: RSS type, packet type, hash */
	uint64_t high; /* header buffer address; written back: status, length, VLAN tag */
};

static void set_bit(uint64_t map[2], unsigned q, bool on)
{
	uint64_t bit = 1ull << (q & 63);
	map[q / 64] = on ? map[q / 64] | bit : map[q / 64] & ~bit;
}

/* --- queues --- */

void rx_reset(struct model *m)
{
	struct nic *n = nic_of(m);
	memset(n->rx, 0, sizeof n->rx);
	n->rx_on[0] = n->rx_on[1] = 0;
	n->fifo.in = n->fifo.out = n->fifo.used = n->fifo.frames = 0;
	n->fifo_limit = n->fifo.bytes ? FIFO_BYTES : 0;
}

static void learn_srrctl(struct model *m, unsigned q)
{
	struct rxq *r = &nic_of(m)->rx[q];
	uint32_t srrctl = get(m, rx_block(q) + (SRRCTL_1014 & 63));
	r->buffer = (srrctl & SRRCTL_BSIZEPACKET) << 10;
	r->type = srrctl >> SRRCTL_DESCTYPE_SHIFT & 7;
	r->drop = srrctl & SRRCTL_DROP_EN;
	if (r->buffer == 0 || r->buffer > 16384)
		model_violation(m, "SRRCTL[%u].BSIZEPACKET = %u KB: 1 to 16", q, r->buffer >> 10);
	if (r->type != DESCTYPE_LEGACY && r->type != DESCTYPE_ONE_BUFFER)
		model_violation(m, "SRRCTL[%u].DESCTYPE = %u: only 0 and 1 are modelled", q, r->type);
	r->broken |= r->buffer == 0 || r->buffer > 16384 || r->type > DESCTYPE_ONE_BUFFER;
}

/* 8.2.3.8.6, 4.6.7: what must be set when a queue is enabled. */
static void enable(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	struct rxq *r = &n->rx[q];
	const uint32_t block = rx_block(q);
	*r = (struct rxq){.enabled = true, .moved = m->now};
	r->ring = (get(m, block) & ~127u) | (uint64_t)get(m, block + 4) << 32;
	r->size = (get(m, block + 8) & 0xfff80) / 16;
	r->head = get(m, block + (RDH & 63)) & 0xffff;
	r->tail = get(m, block + (RDT & 63)) & 0xffff;
	r->strip_vlan = get(m, block + (RXDCTL & 63)) & RXDCTL_VME;
	r->broken = r->size == 0 || r->head >= r->size || r->tail >= r->size;
	learn_srrctl(m, q);
	if (r->size == 0)
		model_violation(m, "RXDCTL[%u].ENABLE with RDLEN[%u] = 0", q, q);
	else if (r->head >= r->size || r->tail >= r->size)
		model_violation(m, "RXDCTL[%u].ENABLE with RDH %u, RDT %u, of %u descriptors", q,
		                r->head, r->tail, r->size);
	else if (!m->line_rate && r->tail != r->head)
		model_violation(m, "RDT[%u] = %u before RXDCTL[%u].ENABLE reads back set", q, r->tail, q);
	set_bit(n->rx_on, q, true);
}

static void disable(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	n->rx[q].enabled = false;
	n->rx[q].settles = 0;
	set_bit(n->rx_on, q, false);
}

void rx_settle(struct model *m)
{
	struct nic *n = nic_of(m);
	for (unsigned q = 0; q < QUEUES; q++) {
		uint64_t at = n->rx[q].settles;
		if (at && at <= m->now) {
			const uint32_t rxdctl = rx_block(q) + (RXDCTL & 63);
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
	const uint32_t rxdctl = rx_block(q) + (RXDCTL & 63);
	bool want = value & RXDCTL_ENABLE;
	if (model_fault(m, FAULT_RXDCTL_STUCK))
		want = r->enabled;
	value &= ~(uint32_t)(RXDCTL_ENABLE | RXDCTL_SWFLSH);
	r->strip_vlan = value & RXDCTL_VME;
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

/* 8.2.3.8.5: the tail moves forward, never past the head: then software would give the device a
 * descriptor that it owns already. */
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

void rx_write(struct model *m, unsigned q, uint32_t within, uint32_t value)
{
	const struct rxq *r = &nic_of(m)->rx[q];
	const uint32_t at = rx_block(q) + within;
	if (within == (RXDCTL & 63)) {
		rxdctl_write(m, q, value);
		return;
	}
	bool fixed = within <= 8 || within == (RDH & 63); /* base, length, head */
	if (fixed && r->enabled && value != get(m, at)) {
		model_violation(m, "%s[%u] written while RXDCTL[%u].ENABLE is set",
		                within == 8 ? "RDLEN" : within == (RDH & 63) ? "RDH" : "RDBA", q, q);
		return;
	}
	set(m, at, value);
	if (within == (RDT & 63))
		tail_write(m, q, value);
	if (within == (SRRCTL_1014 & 63) && r->enabled)
		learn_srrctl(m, q);
}

/* Line-rate: ENABLE has changed without anybody telling. */
void rx_scan(struct model *m)
{
	for (unsigned q = 0; q < 64; q++) {
		uint32_t rxdctl = get(m, rx_block(q) + (RXDCTL & 63));
		struct rxq *r = &nic_of(m)->rx[q];
		r->strip_vlan = rxdctl & RXDCTL_VME;
		if (!!(rxdctl & RXDCTL_ENABLE) == r->enabled || model_fault(m, FAULT_RXDCTL_STUCK))
			continue;
		if (r->enabled)
			disable(m, q);
		else
			enable(m, q);
	}
}

/* Line-rate: the tail and ENABLE as they are in memory now, one cache line. */
static void look(struct model *m, unsigned q)
{
	if (!m->line_rate || q >= 64)
		return;
	const uint32_t block = rx_block(q);
	if (!(get(m, block + (RXDCTL & 63)) & RXDCTL_ENABLE)) {
		disable(m, q);
		return;
	}
	uint32_t tail = get(m, block + (RDT & 63)) & 0xffff;
	/* the driver's descriptors are read after its tail */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (tail != nic_of(m)->rx[q].tail)
		tail_write(m, q, tail);
}

/* The ring's memory, looked up once in each call from outside. */
static struct rxd *ring_of(struct model *m, unsigned q)
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

static uint32_t available(const struct rxq *r)
{
	if (r->broken || !r->enabled)
		return 0;
	uint32_t n = r->tail + r->size - r->head;
	return n >= r->size ? n - r->size : n;
}

/* --- one frame into descriptors --- */

struct placed {
	uint64_t low;   /* first quad-word written back */
	uint32_t status;
	uint32_t tag;
	const uint8_t *head; /* bytes before the tag that is taken out, or all */
	uint32_t head_bytes;
	const uint8_t *rest; /* not set when rest_bytes is 0 */
	uint32_t rest_bytes;
};

/* Copies [from, from + bytes) of the two-piece frame. */
static void copy_piece(const struct placed *p, uint8_t *to, uint32_t from, uint32_t bytes)
{
	if (p->rest_bytes == 0) {
		memcpy(to, p->head + from, bytes);
		return;
	}
	if (from < p->head_bytes) {
		uint32_t k = p->head_bytes - from < bytes ? p->head_bytes - from : bytes;
		memcpy(to, p->head + from, k);
		to += k;
		from += k;
		bytes -= k;
	}
	if (bytes)
		memcpy(to, p->rest + (from - p->head_bytes), bytes);
}

static void write_back(struct model *m, unsigned q, struct rxd *d, uint64_t bus, uint64_t low,
                       uint64_t high)
{
	if (m->faults) {
		if (fault_strikes(m, FAULT_WRITEBACK_LOST))
			return;
		if (fault_strikes(m, FAULT_DD_GARBAGE)) {
			low = 0x9e3779b97f4a7c15u * (low + m->now);
			high = (low ^ low << 21) | RXD_DD | RXD_EOP;
		}
		if (model_fault(m, FAULT_WRITEBACK_DELAY)) {
			late_add(m, &(struct late){.due = m->now + m->fault_arg[FAULT_WRITEBACK_DELAY] * 1000,
			                           .bus = bus,
			                           .low = low,
			                           .high = high,
			                           .bytes = 16,
			                           .queue = (uint8_t)q});
			return;
		}
	}
	__atomic_store_n(&d->low, low, __ATOMIC_RELAXED);
	__atomic_store_n(&d->high, high, __ATOMIC_RELEASE);
}

/* The quad-words of the two formats: advanced 7.1.6.2, legacy 7.1.5. */
static uint64_t status_word(const struct rxq *r, const struct placed *p, uint32_t bytes, bool last)
{
	uint32_t tag = last ? p->tag : 0;
	if (r->type == DESCTYPE_ONE_BUFFER) {
		uint32_t status = last ? p->status | RXD_DD | RXD_EOP : RXD_DD;
		return status | (uint64_t)bytes << 32 | (uint64_t)tag << 48;
	}
	uint64_t status = last ? (p->status & 0xf8) | RXD_DD | RXD_EOP : RXD_DD;
	uint64_t errors = last ? p->status >> 24 : 0;
	return bytes | status << 32 | errors << 40 | (uint64_t)tag << 48;
}

/* Returns false when an address is not memory: the queue stops. */
static bool place(struct model *m, unsigned q, const struct placed *p)
{
	struct rxq *r = &nic_of(m)->rx[q];
	struct rxd *ring = ring_of(m, q);
	if (ring == NULL)
		return false;
	const uint32_t bytes = p->head_bytes + p->rest_bytes;
	uint32_t lie = m->faults && fault_strikes(m, FAULT_BAD_LENGTH) ? r->buffer + 1 : 0;
	for (uint32_t from = 0; from < bytes;) {
		struct rxd *d = &ring[r->head];
		uint32_t k = bytes - from < r->buffer ? bytes - from : r->buffer;
		bool last = from + k == bytes;
		/* LINUX: leaves the header address as it was written back, DD set: without header
		 * split the device does not look at it (7.1.6.1), so there is nothing to complain of */
		uint8_t *buffer = model_dma(m, d->low, k, DMA_WRITE, "receive buffer");
		if (buffer == NULL) {
			r->broken = true;
			return false;
		}
		copy_piece(p, buffer, from, k);
		uint64_t high = status_word(r, p, last && lie ? lie : k, last);
		write_back(m, q, d, r->ring + r->head * 16ull,
		           r->type == DESCTYPE_LEGACY ? d->low : last ? p->low : 0, high);
		r->head = r->head + 1 == r->size ? 0 : r->head + 1;
		from += k;
	}
	return true;
}

static void count_delivered(struct model *m, unsigned q, uint32_t bytes)
{
	struct stats82599 *s = &nic_of(m)->s;
	unsigned i = rx_stat_index(m, q);
	m->rx_frames++;
	m->rx_bytes += bytes;
	s->qprc[i]++;
	s->qbrc[i] += bytes;
	s->rxdgpc++;
	s->rxdgbc += bytes;
}

/* IEEE 802.3, 3.2.9; only when the driver wants the FCS (HLREG0.RXCRCSTRP clear). */
static uint32_t fcs(const uint8_t *p, uint32_t bytes)
{
	uint32_t crc = ~0u;
	while (bytes--) {
		crc ^= *p++;
		for (unsigned i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void append_fcs(struct nic *n, const uint8_t *frame, uint32_t bytes, struct placed *p)
{
	uint32_t crc = fcs(frame, bytes);
	memcpy(n->with_fcs, frame, bytes);
	memcpy(n->with_fcs + bytes, &crc, 4);
	p->head = n->with_fcs;
	if (p->rest_bytes) {
		p->rest = n->with_fcs + 16;
		p->rest_bytes += 4;
	} else {
		p->head_bytes += 4;
	}
}

/* Fills in what the descriptor says of the frame. */
static unsigned describe(struct model *m, const uint8_t *frame, uint32_t bytes, bool bad,
                         struct placed *out)
{
	struct nic *n = nic_of(m);
	struct headers p;
	const struct checked c = offload_check(frame, bytes, &p);
	uint32_t hash = 0, rxcsum = get(m, RXCSUM), mrqe = get(m, MRQC) & MRQC_MRQE;
	unsigned q = 0;
	enum rss_type type = RSS_NONE;
	out->tag = 0;
	out->head = frame;
	out->head_bytes = bytes;
	out->rest_bytes = 0;
	out->status = bad ? (uint32_t)RXD_RXE : c.status;
	if (frame[0] & 1)
		out->status |= RXD_PIF; /* passed by other than an exact filter */
	if (mrqe) {
		if (n->rss_stale)
			rss_refresh(m);
		type = rss_hash(m, frame, &p, &hash);
		q = type ? rss_queue(m, hash) : 0;
	}
	if (!(rxcsum & RXCSUM_PCSD)) { /* 7.1.11: fragment checksum and IP ID in place of the hash */
		hash = 0;
		type = RSS_NONE;
		if (rxcsum & RXCSUM_IPPCSE && p.fragment && p.version == 4)
			hash = (uint32_t)offload_fragment_sum(frame, &p) << 16 | be16(frame + p.l3 + 4);
	}
	out->low = type | (uint64_t)c.ptype << 4 | (uint64_t)hash << 32;
	if (p.tagged && n->rx[q].strip_vlan) {
		out->status |= RXD_VP;
		out->tag = p.tci;
		out->head_bytes = 12;
		out->rest = frame + 16;
		out->rest_bytes = bytes - 16;
	}
	if (m->faults && fault_strikes(m, FAULT_ERROR_BITS))
		out->status |= RXD_RXE | RXD_TCPE;
	return q;
}

static uint32_t descriptors_for(const struct rxq *r, uint32_t bytes)
{
	return bytes <= r->buffer ? 1 : (bytes + r->buffer - 1) / r->buffer;
}

/* Also false when the ring makes no sense or a fault holds it. */
static bool has_room(const struct model *m, const struct rxq *r, uint32_t bytes)
{
	uint32_t free = available(r);
	return free && free >= descriptors_for(r, bytes) && !model_fault(m, FAULT_RX_STUCK);
}

/* In line-rate mode QPRDC is memory and could not clear when read: RXMPC has the loss there. */
static void count_no_descriptor(struct model *m, unsigned q)
{
	struct stats82599 *s = &nic_of(m)->s;
	if (m->line_rate)
		s->rxmpc++;
	else
		s->qprdc[rx_stat_index(m, q)]++;
	m->rx_missed++;
}

enum outcome { PLACED, DROPPED, MUST_WAIT };

/* Tries to put a frame that has passed the MAC into its ring. */
static enum outcome deliver(struct model *m, const uint8_t *frame, uint32_t bytes, bool bad,
                            uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	struct placed p;
	unsigned q = describe(m, frame, bytes, bad, &p);
	struct rxq *r = &n->rx[q];
	if (!r->enabled) { /* frames for a queue that is not enabled are dropped, 4.6.7.1 */
		if (q)
			model_violation(m, "RETA leads to queue %u, and RXDCTL[%u].ENABLE is not set", q, q);
		count_no_descriptor(m, q);
		return DROPPED;
	}
	if (!(get(m, HLREG0) & HLREG0_RXCRCSTRP))
		append_fcs(n, frame, bytes, &p);
	uint32_t total = p.head_bytes + p.rest_bytes;
	if (!has_room(m, r, total)) {
		look(m, q);
		if (!has_room(m, r, total)) {
			if (!r->drop)
				return MUST_WAIT;
			count_no_descriptor(m, q);
			return DROPPED;
		}
	}
	if (!place(m, q, &p))
		return DROPPED;
	count_delivered(m, q, total);
	set_bit(touched, q, true);
	return PLACED;
}

/* --- the packet buffer --- */

/* Records are contiguous; one that does not fit before the end starts at 0, after a record of
 * length 0 when there is room for that. */
static bool fifo_put(struct model *m, const uint8_t *frame, uint32_t bytes, bool bad)
{
	struct nic *n = nic_of(m);
	struct fifo *f = &n->fifo;
	uint32_t need = RECORD_BYTES + ((bytes + 7) & ~7u);
	uint32_t skip = f->in + need > FIFO_BYTES ? FIFO_BYTES - f->in : 0;
	if (f->used + skip + need > n->fifo_limit)
		return false;
	if (skip) {
		memset(f->bytes + f->in, 0, RECORD_BYTES);
		f->in = 0;
	}
	uint32_t record[2] = {bytes, bad};
	memcpy(f->bytes + f->in, record, sizeof record);
	memcpy(f->bytes + f->in + RECORD_BYTES, frame, bytes);
	f->in = f->in + need == FIFO_BYTES ? 0 : f->in + need;
	f->used += skip + need;
	f->frames++;
	return true;
}

/* Moves waiting frames on; true when one moved. */
static bool fifo_drain(struct model *m, uint64_t touched[2])
{
	struct fifo *f = &nic_of(m)->fifo;
	bool moved = false;
	while (f->frames) {
		uint32_t record[2];
		memcpy(record, f->bytes + f->out, sizeof record);
		if (record[0] == 0) {
			f->used -= FIFO_BYTES - f->out;
			f->out = 0;
			continue;
		}
		if (deliver(m, f->bytes + f->out + RECORD_BYTES, record[0], record[1], touched) == MUST_WAIT)
			break;
		uint32_t need = RECORD_BYTES + ((record[0] + 7) & ~7u);
		f->out = f->out + need == FIFO_BYTES ? 0 : f->out + need;
		f->used -= need;
		f->frames--;
		moved = true;
	}
	return moved;
}

/* --- from the wire --- */

/* 8.2.3.22.8, 13: what is too long for the MAC. A tag is allowed on top. */
static uint32_t longest(const struct model *m, const uint8_t *frame)
{
	uint32_t tag = be16(frame + 12) == 0x8100 ? 4 : 0;
	return (get(m, HLREG0) & HLREG0_JUMBOEN ? get(m, MAXFRS) >> 16 : 1518u) + tag;
}

static bool length_field_wrong(const struct model *m, const uint8_t *frame, uint32_t bytes)
{
	uint32_t type = be16(frame + 12);
	return get(m, HLREG0) & HLREG0_RXLNGTHERREN && type < 0x600 && type > bytes - 14;
}

/* The MAC: true when the frame goes on; *bad when it does so only by FCTRL.SBP. */
static bool mac_passes(struct model *m, const uint8_t *frame, uint32_t bytes, uint32_t flags,
                       bool *bad)
{
	struct stats82599 *s = &nic_of(m)->s;
	stats_rx_any(nic_of(m), bytes);
	*bad = false;
	if (bytes + 4 > longest(m, frame)) {
		if (flags & FRAME_BAD_FCS)
			s->rjc++;
		else
			s->roc++;
		return false;
	}
	if (flags & FRAME_BAD_FCS) {
		s->crcerrs++;
		*bad = true;
	} else if (length_field_wrong(m, frame, bytes)) {
		s->rlec++;
		*bad = true;
	}
	if (*bad && !(get(m, FCTRL) & FCTRL_SBP))
		return false;
	s->rxnfgpc += !*bad;
	return filter_accepts(m, frame);
}

static void accept(struct model *m, const uint8_t *frame, uint32_t bytes, uint32_t flags,
                   uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	bool bad;
	uint8_t padded[60];
	if (bytes < 14 || bytes + 4 > FRAME_MAX) {
		n->s.ruc += bytes < 14;
		n->s.roc += bytes >= 14;
		return;
	}
	if (bytes < sizeof padded) { /* the sending MAC would have: the wire has no shorter frame */
		memcpy(padded, frame, bytes);
		memset(padded + bytes, 0, sizeof padded - bytes);
		frame = padded;
		bytes = sizeof padded;
	}
	if (!mac_passes(m, frame, bytes, flags, &bad))
		return;
	if (be16(frame + 12) == 0x8100 && !filter_accepts_vlan(m, (uint16_t)be16(frame + 14)))
		return;
	if (!bad)
		stats_rx_good(n, frame, bytes);
	if (n->fifo.frames == 0 && deliver(m, frame, bytes, bad, touched) != MUST_WAIT)
		return;
	if (!fifo_put(m, frame, bytes, bad)) {
		n->s.rxmpc++;
		m->rx_missed++;
		intr_other(m, EICR_RX_MISS);
	}
}

/* Shows the heads and raises the causes of the queues that got something. */
static void finish(struct model *m, const uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	for (unsigned i = 0; i < 2; i++)
		for (uint64_t left = touched[i]; left; left &= left - 1) {
			unsigned q = 64 * i + (unsigned)__builtin_ctzll(left);
			set(m, rx_block(q) + (RDH & 63), n->rx[q].head);
			if (!model_fault(m, FAULT_WRITEBACK_DELAY))
				intr_queue(m, q, 0);
		}
}

static bool listens(const struct model *m)
{
	const struct nic *n = nic_of(m);
	return !n->reset_done && n->link && get(m, RXCTRL) & RXCTRL_RXEN &&
	       !(get(m, SECRXCTRL) & SECRXCTRL_RX_DIS);
}

/*
 * The short way for what line rate is made of: untagged unicast frames that need one descriptor, no
 * fault in force. Everything it does the long way does too; what is not plain goes there.
 *
 * Descriptors and buffers lie in the cache of the guest's core: fetched one by one they would cost
 * its distance for every frame. So they are fetched for the whole burst first, and written back
 * together at its end (the chip gathers write-backs too, 7.1.9): otherwise a guest that polls takes
 * the line of the next descriptor away after every frame.
 */
struct burst {
	bool plain;
	uint32_t longest; /* without FCS */
	uint32_t frames;
	uint64_t bytes;
	unsigned placed; /* frames in their buffers whose descriptors are not written back yet */
	struct write_back {
		struct rxd *d;
		uint64_t low, high;
	} back[FRAME_BURST];
};

static void burst_begin(const struct model *m, struct burst *b)
{
	uint32_t hlreg0 = get(m, HLREG0);
	uint32_t mfs = hlreg0 & HLREG0_JUMBOEN ? get(m, MAXFRS) >> 16 : 1518;
	b->plain = m->faults == 0 && hlreg0 & HLREG0_RXCRCSTRP && mfs >= 64;
	b->longest = mfs < FRAME_MAX ? mfs - 4 : FRAME_MAX - 4;
	b->frames = b->placed = 0;
	b->bytes = 0;
}

/* Fetches, for writing, what the next `count` frames will need if they are spread evenly. */
static void fetch(struct model *m, unsigned count)
{
	struct nic *n = nic_of(m);
	unsigned queues = (unsigned)(__builtin_popcountll(n->rx_on[0]) + __builtin_popcountll(n->rx_on[1]));
	if (queues == 0 || queues > FETCH_QUEUES)
		return;
	count = (count + queues - 1) / queues;
	for (uint64_t left = n->rx_on[0]; left; left &= left - 1) {
		unsigned q = (unsigned)__builtin_ctzll(left);
		struct rxq *r = &n->rx[q];
		unsigned here = available(r) < count ? available(r) : count;
		struct rxd *ring = here ? ring_of(m, q) : NULL;
		for (unsigned i = 0; ring && i < here; i += 4)
			__builtin_prefetch(&ring[(r->head + i) % r->size], 1);
		for (unsigned i = 0; ring && i < here; i++) {
			uint64_t bus = ring[(r->head + i) % r->size].low;
			uint8_t *buffer = m->host.dma(m->host.ctx, bus, 64, DMA_WRITE);
			if (buffer) {
				__builtin_prefetch(buffer, 1);
				__builtin_prefetch(buffer + 63, 1);
			}
		}
	}
}

static void burst_write_back(struct burst *b)
{
	for (unsigned i = 0; i < b->placed; i++) {
		__atomic_store_n(&b->back[i].d->low, b->back[i].low, __ATOMIC_RELAXED);
		__atomic_store_n(&b->back[i].d->high, b->back[i].high, __ATOMIC_RELEASE);
	}
	b->placed = 0;
}

static void burst_end(struct model *m, struct burst *b)
{
	burst_write_back(b);
	struct stats82599 *s = &nic_of(m)->s;
	const uint64_t with_fcs = b->bytes + 4ull * b->frames;
	s->tpr += b->frames;
	s->tor += with_fcs;
	s->gprc += b->frames;
	s->rxnfgpc += b->frames;
	s->gorc += with_fcs;
	s->rxdgpc += b->frames;
	s->rxdgbc += b->bytes;
	m->rx_frames += b->frames;
	m->rx_bytes += b->bytes;
}

/* False: nothing has happened, take the long way. */
static inline bool place_plain(struct model *m, struct burst *b, const struct frame *f,
                               uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	const uint8_t *frame = f->data;
	const uint32_t bytes = f->bytes;
	if (f->flags || bytes < 60 || bytes > b->longest || frame[0] & 1 || n->fifo.frames)
		return false;
	uint32_t type = be16(frame + 12);
	if (type < 0x600 || type == 0x8100 || !filter_accepts(m, frame))
		return false;
	struct placed p;
	unsigned q = describe(m, frame, bytes, false, &p);
	struct rxq *r = &n->rx[q];
	if (bytes > r->buffer || r->type != DESCTYPE_ONE_BUFFER || available(r) == 0)
		return false;
	struct rxd *ring = r->at_call == n->call ? (struct rxd *)(void *)r->at : ring_of(m, q);
	if (ring == NULL)
		return false;
	struct rxd *d = &ring[r->head];
	uint8_t *buffer = model_dma(m, d->low, bytes, DMA_WRITE, "receive buffer");
	if (buffer == NULL)
		return false;
	memcpy(buffer, frame, bytes);
	b->back[b->placed++] = (struct write_back){
		d, p.low, p.status | RXD_DD | RXD_EOP | (uint64_t)bytes << 32};
	r->head = r->head + 1 == r->size ? 0 : r->head + 1;
	unsigned i = rx_stat_index(m, q);
	n->s.qprc[i]++;
	n->s.qbrc[i] += bytes;
	n->s.prc[size_class(bytes + 4)]++;
	b->frames++;
	b->bytes += bytes;
	touched[q / 64] |= 1ull << (q & 63);
	return true;
}

void rx_receive(struct model *m, const struct frame *v, unsigned count)
{
	uint64_t touched[2] = {0, 0};
	if (!listens(m) || get(m, HLREG0) & HLREG0_LPBK)
		return;
	if (nic_of(m)->fifo.frames)
		fifo_drain(m, touched);
	struct burst b;
	burst_begin(m, &b);
	if (b.plain && m->line_rate)
		fetch(m, count);
	for (unsigned i = 0; i < count; i++)
		if (!b.plain || !place_plain(m, &b, &v[i], touched)) {
			burst_write_back(&b); /* in order */
			accept(m, v[i].data, v[i].bytes, v[i].flags, touched);
		}
	burst_end(m, &b);
	finish(m, touched);
}

void rx_frame(struct model *m, const uint8_t *data, uint32_t bytes, uint32_t flags)
{
	uint64_t touched[2] = {0, 0};
	if (!listens(m))
		return;
	accept(m, data, bytes, flags, touched);
	finish(m, touched);
}

bool rx_work(struct model *m)
{
	struct nic *n = nic_of(m);
	uint64_t touched[2] = {0, 0};
	for (unsigned i = 0; i < 1 && m->line_rate; i++)
		for (uint64_t left = n->rx_on[i]; left; left &= left - 1)
			look(m, (unsigned)__builtin_ctzll(left));
	if (n->fifo.frames == 0 || !listens(m))
		return false;
	bool moved = fifo_drain(m, touched);
	finish(m, touched);
	return moved;
}

/*
 * The least that an enabled queue has room for: RSS is not asked, so each may get all of it. One
 * frame is taken into an empty packet buffer, so that a queue without descriptors holds the others
 * up only as it would in the device. A queue that has been dead for long and drops (DROP_EN) does
 * not count.
 */
unsigned rx_room(struct model *m, unsigned max)
{
	struct nic *n = nic_of(m);
	if (!listens(m) || get(m, HLREG0) & HLREG0_LPBK)
		return max;
	if (n->fifo.frames)
		rx_work(m);
	if (n->fifo.frames)
		return 0;
	uint32_t mtu = get(m, HLREG0) & HLREG0_JUMBOEN ? get(m, MAXFRS) >> 16 : 1522;
	for (unsigned i = 0; i < 2; i++)
		for (uint64_t left = n->rx_on[i]; left; left &= left - 1) {
			unsigned q = 64 * i + (unsigned)__builtin_ctzll(left);
			struct rxq *r = &n->rx[q];
			look(m, q);
			if (r->drop && m->now - r->moved > STALLED_NS && available(r) < max)
				continue;
			uint32_t room = available(r);
			room = room ? room / descriptors_for(r, mtu) : 0;
			max = room < max ? room : max;
		}
	return max ? max : 1;
}

/* --- write-backs that come late (fault) --- */

void late_add(struct model *m, const struct late *l)
{
	struct nic *n = nic_of(m);
	if (n->late_in - n->late_out < LATE_MAX)
		n->late[n->late_in++ % LATE_MAX] = *l;
}

uint64_t late_deadline(const struct nic *n)
{
	return n->late_in == n->late_out ? NEVER : n->late[n->late_out % LATE_MAX].due;
}

void late_work(struct model *m)
{
	struct nic *n = nic_of(m);
	while (n->late_in != n->late_out && n->late[n->late_out % LATE_MAX].due <= m->now) {
		const struct late *l = &n->late[n->late_out++ % LATE_MAX];
		uint8_t *at = model_dma(m, l->bus, l->bytes, DMA_WRITE, "late write-back");
		if (at == NULL)
			continue;
		if (l->bytes == 4) {
			__atomic_store_n((uint32_t *)(void *)at, (uint32_t)l->low, __ATOMIC_RELEASE);
		} else if (l->bytes == 8) {
			__atomic_store_n((uint64_t *)(void *)at, l->high, __ATOMIC_RELEASE);
		} else {
			struct rxd *d = (struct rxd *)(void *)at;
			__atomic_store_n(&d->low, l->low, __ATOMIC_RELAXED);
			__atomic_store_n(&d->high, l->high, __ATOMIC_RELEASE);
		}
		intr_queue(m, l->queue, l->tx);
	}
}
