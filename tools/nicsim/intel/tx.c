/*
 * Transmit: queues (8.2.3.9, 7.2.3), descriptors (7.2.3.2), completion (7.2.3.5).
 *
 *   TDH == TDT: the device owns none. TDH .. TDT - 1: owned, oldest first.
 *
 * A frame is one or more data descriptors up to EOP. It uses at most one context descriptor, which
 * comes before it (a queue keeps two, by IDX). The model takes no part of a frame until the frame
 * is complete. Waiting for the rest is legal, but is reported when it lasts WAIT_NS.
 */
#include "tools/nicsim/intel/state.h"

#include <string.h>

#include "tools/nicsim/packet/bytes.h"
#include "tools/nicsim/packet/sum.h"

#define ENABLE_NS 1000    /* until TXDCTL.ENABLE reads back */
#define WAIT_NS 100000000 /* for an EOP */
#define PIECES_MAX 40     /* 7.2.1.1: descriptors of one frame, without the context */
#define BURST 256         /* frames and contexts of one queue in one turn */
#define FETCH_AHEAD 24    /* frames */

struct txd {
	uint64_t low;  /* buffer address, or fields of the context */
	uint64_t high; /* command and status */
};

void tx_reset(struct model *m)
{
	struct nic *n = nic_of(m);
	memset(n->tx, 0, sizeof n->tx);
	n->tx_on[0] = n->tx_on[1] = 0;
	n->tx_due = NEVER;
}

/* --- queues --- */

static void learn_head_wb(struct model *m, unsigned q)
{
	struct txq *t = &nic_of(m)->tx[q];
	const uint32_t block = tx_block(m, q);
	uint32_t low = get(m, block + Q_WBAL);
	t->head_wb = 0;
	if (!(low & TDWBAL_HEAD_WB_EN))
		return;
	t->head_wb = (low & ~3u) | (uint64_t)get(m, block + Q_WBAH) << 32;
	/* 7.2.3.5.2: with head write-back, descriptors are not written back */
	if (get(m, block + Q_DCTL) >> TXDCTL_WTHRESH_SHIFT & 0x7f)
		model_violation(m, "TDWBAL[%u].Head_WB_En with TXDCTL[%u].WTHRESH not 0", q, q);
}

static void enable(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	struct txq *t = &n->tx[q];
	const uint32_t block = tx_block(m, q);
	*t = (struct txq){.enabled = true};
	t->ring = (get(m, block) & ~127u) | (uint64_t)get(m, block + 4) << 32;
	t->size = (get(m, block + 8) & 0xfff80) / 16;
	t->head = get(m, block + Q_HEAD) & 0xffff;
	t->tail = get(m, block + Q_TAIL) & 0xffff;
	if (n->kind->tx_enable && !mode_of(m)->sends) /* 4.6.8 */
		model_violation(m, "TXDCTL[%u].ENABLE before %s", q, n->kind->tx_enable);
	if (t->size == 0)
		model_violation(m, "TXDCTL[%u].ENABLE with TDLEN[%u] = 0", q, q);
	else if (t->head >= t->size || t->tail >= t->size)
		model_violation(m, "TXDCTL[%u].ENABLE with TDH %u, TDT %u, of %u descriptors", q,
		                t->head, t->tail, t->size);
	else if (!m->line_rate && t->tail != t->head)
		model_violation(m, "TDT[%u] = %u before TXDCTL[%u].ENABLE reads back set", q, t->tail, q);
	t->broken = t->size == 0 || t->head >= t->size || t->tail >= t->size;
	if (!m->masters)
		model_violation(m, "TXDCTL[%u].ENABLE while PCI bus mastering is off", q);
	learn_head_wb(m, q);
	queue_map_set(n->tx_on, q);
}

static void disable(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	n->tx[q].enabled = false;
	n->tx[q].settles = 0;
	queue_map_clear(n->tx_on, q);
}

void tx_settle(struct model *m)
{
	struct nic *n = nic_of(m);
	for (unsigned q = 0; q < kind_of(m)->queues; q++) {
		uint64_t at = n->tx[q].settles;
		if (at && at <= m->now) {
			const uint32_t txdctl = tx_block(m, q) + Q_DCTL;
			set(m, txdctl, get(m, txdctl) | TXDCTL_ENABLE);
			enable(m, q);
		} else if (at && at < n->settle_due) {
			n->settle_due = at;
		}
	}
}

static void txdctl_write(struct model *m, unsigned q, uint32_t value)
{
	struct nic *n = nic_of(m);
	struct txq *t = &n->tx[q];
	const uint32_t txdctl = tx_block(m, q) + Q_DCTL;
	bool want = value & TXDCTL_ENABLE;
	if (model_fault(m, FAULT_TXDCTL_STUCK))
		want = t->enabled;
	value &= ~(uint32_t)(TXDCTL_ENABLE | TXDCTL_SWFLSH);
	if (t->enabled && want) {
		set(m, txdctl, value | TXDCTL_ENABLE);
		return;
	}
	set(m, txdctl, value);
	if (!want) {
		disable(m, q);
		return;
	}
	t->settles = m->now + ENABLE_NS;
	if (t->settles < n->settle_due)
		n->settle_due = t->settles;
}

static void tail_write(struct model *m, unsigned q, uint32_t tail)
{
	struct txq *t = &nic_of(m)->tx[q];
	if (!t->enabled) {
		if (tail != 0)
			model_violation(m, "TDT[%u] = %u while TXDCTL[%u].ENABLE is not set", q, tail, q);
		return;
	}
	if (t->broken || tail == t->tail)
		return;
	if (tail >= t->size) {
		model_violation(m, "TDT[%u] = %u: the ring has %u descriptors", q, tail, t->size);
		return;
	}
	uint32_t owned = (t->tail + t->size - t->head) % t->size;
	uint32_t moved = (tail + t->size - t->tail) % t->size;
	if (owned + moved >= t->size)
		model_violation(m, "TDT[%u] from %u to %u passes TDH %u (of %u)", q, t->tail, tail,
		                t->head, t->size);
	if (owned == 0 && kind_of(m)->rate_wake)
		kind_of(m)->rate_wake(m, q);
	t->tail = tail;
	t->waiting = false;
}

void tx_write(struct model *m, unsigned q, uint32_t within, uint32_t value)
{
	const struct txq *t = &nic_of(m)->tx[q];
	const uint32_t at = tx_block(m, q) + within;
	if (within == Q_DCTL) {
		txdctl_write(m, q, value);
		return;
	}
	bool fixed = within <= 8 || within == Q_HEAD || within >= Q_WBAL;
	if (fixed && t->enabled && value != get(m, at)) {
		model_violation(m, "%s[%u] written while TXDCTL[%u].ENABLE is set",
		                within == 8             ? "TDLEN"
		                : within == Q_HEAD  ? "TDH"
		                : within >= Q_WBAL ? "TDWBA"
		                                        : "TDBA",
		                q, q);
		return;
	}
	set(m, at, value);
	if (within == Q_TAIL)
		tail_write(m, q, value);
}

void tx_scan(struct model *m)
{
	for (unsigned q = 0; q < kind_of(m)->queues; q++) {
		bool want = get(m, tx_block(m, q) + Q_DCTL) & TXDCTL_ENABLE;
		if (want == nic_of(m)->tx[q].enabled || model_fault(m, FAULT_TXDCTL_STUCK))
			continue;
		if (want)
			enable(m, q);
		else
			disable(m, q);
	}
}

static void look(struct model *m, unsigned q)
{
	const uint32_t block = tx_block(m, q);
	if (!(get(m, block + Q_DCTL) & TXDCTL_ENABLE)) {
		disable(m, q);
		return;
	}
	uint32_t tail = get(m, block + Q_TAIL) & 0xffff;
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* descriptors are read after the tail */
	if (tail != nic_of(m)->tx[q].tail)
		tail_write(m, q, tail);
}

/* --- completion, 7.2.3.5 --- */

/* Reports a completed descriptor with RS. */
static void report(struct model *m, unsigned q, struct txd *d, uint32_t index, uint32_t next)
{
	struct txq *t = &nic_of(m)->tx[q];
	bool legacy = !(d->high & TXD_DEXT);
	uint64_t done = legacy ? d->high | 1ull << 32 : (uint64_t)TXD_STA_DD << 32;
	if (m->faults && model_fault_strikes(m, FAULT_WRITEBACK_LOST))
		return;
	if (model_fault(m, FAULT_WRITEBACK_DELAY)) {
		struct late l = {.bus = t->head_wb ? t->head_wb : t->ring + index * 16ull + 8,
		                 .low = next,
		                 .high = done,
		                 .kind = t->head_wb ? LATE_TX_HEAD : LATE_TX_STATUS,
		                 .queue = (uint8_t)q};
		late_add(m, &l);
		return;
	}
	if (!t->head_wb) {
		__atomic_store_n(&d->high, done, __ATOMIC_RELEASE);
		return;
	}
	uint8_t *at = model_dma(m, t->head_wb, 4, DMA_WRITE, "head write-back (TDWBA)");
	if (at == NULL)
		t->broken = true;
	else
		__atomic_store_n((uint32_t *)(void *)at, next, __ATOMIC_RELEASE);
}

/* --- frames --- */

/* 7.2.3.2.3 */
static void take_context(struct model *m, unsigned q, const struct txd *d)
{
	uint32_t vlan_ip = (uint32_t)d->low, type = (uint32_t)d->high;
	uint32_t upper = (uint32_t)(d->high >> 32);
	struct tx_context *c = &nic_of(m)->tx[q].context[upper >> TXD_IDX_SHIFT & 1];
	*c = (struct tx_context){
		.valid = true,
		.iplen = vlan_ip & 0x1ff,
		.maclen = vlan_ip >> 9 & 0x7f,
		.vlan = (uint16_t)(vlan_ip >> 16),
		.ipv4 = type & TUCMD_IPV4,
		.l4t = type >> TUCMD_L4T_SHIFT & 3,
		.l4len = (uint8_t)(upper >> 8),
		.mss = (uint16_t)(upper >> 16),
	};
	if (upper & TXD_CONTEXT_UPPER_RESERVED || type & TXD_CONTEXT_RESERVED)
		model_violation(m, "context descriptor of queue %u: reserved bits set (0x%08x %08x)", q,
		                upper, type);
}

/* A frame's length and the fields of its first descriptor. */
struct gathered {
	uint32_t descriptors;
	uint32_t bytes;
	uint32_t cmd, olinfo; /* of the first data descriptor */
	uint32_t tag;         /* legacy: VLAN field */
	bool legacy;
};

/* Checks a data descriptor's address and length; false: stop the queue. */
static bool check_piece(struct model *m, unsigned q, uint32_t index, const struct txd *d)
{
	uint32_t length = d->high & 0xffff, cmd = (uint32_t)d->high;
	bool legacy = !(cmd & TXD_DEXT);
	if (length == 0) {
		model_violation(m, "transmit descriptor %u of queue %u: length 0", index, q);
		return false;
	}
	if (legacy)
		return true;
	uint32_t dtyp = cmd >> TXD_DTYP_SHIFT & 15;
	if (dtyp != TXD_DTYP_DATA) {
		model_violation(m, "transmit descriptor %u of queue %u: DTYP %u within a frame", index, q,
		                dtyp);
		return false;
	}
	if (cmd & TXD_DATA_RESERVED)
		model_violation(m, "transmit descriptor %u of queue %u: reserved DCMD bits set (0x%08x)",
		                index, q, cmd);
	if (cmd & TXD_EOP && d->high >> 32 & TXD_STA_DD)
		model_violation(m, "transmit descriptor %u of queue %u: DD set by software", index, q);
	return true;
}

/* 7.2.3.2.4: finds the end of the frame at the head. Returns 1 complete, 0 incomplete, -1 bad. */
static int measure(struct model *m, unsigned q, const struct txd *ring, struct gathered *g)
{
	const struct txq *t = &nic_of(m)->tx[q];
	uint32_t at = t->head;
	*g = (struct gathered){0};
	while (at != t->tail) {
		const struct txd *d = &ring[at];
		if (!check_piece(m, q, at, d))
			return -1;
		if (g->descriptors++ == 0) {
			g->cmd = (uint32_t)d->high;
			g->olinfo = (uint32_t)(d->high >> 32);
			g->legacy = !(g->cmd & TXD_DEXT);
			g->tag = g->olinfo >> 16;
		}
		g->bytes += d->high & 0xffff;
		if (g->bytes > TSO_MAX || g->descriptors > PIECES_MAX) {
			model_violation(m, "transmit queue %u: frame at %u has %u bytes in %u descriptors "
			                "(at most %u, %u)", q, t->head, g->bytes, g->descriptors, TSO_MAX,
			                PIECES_MAX);
			return -1;
		}
		if (d->high & TXD_EOP)
			return 1;
		at = at + 1 == t->size ? 0 : at + 1;
	}
	return 0;
}

/* The frame's bytes: in guest memory if it has one piece, else gathered. NULL: bad. */
static const uint8_t *gather(struct model *m, unsigned q, const struct txd *ring,
                             const struct gathered *g)
{
	struct nic *n = nic_of(m);
	const struct txq *t = &n->tx[q];
	if (g->descriptors == 1)
		return model_dma(m, ring[t->head].low, g->bytes, DMA_READ, "transmit buffer");
	uint32_t at = t->head, to = 0;
	for (uint32_t i = 0; i < g->descriptors; i++) {
		uint32_t length = ring[at].high & 0xffff;
		if (length > sizeof n->gather - to) /* changed by the guest since measure() */
			return NULL;
		const uint8_t *from = model_dma(m, ring[at].low, length, DMA_READ, "transmit buffer");
		if (from == NULL)
			return NULL;
		memcpy(n->gather + to, from, length);
		to += length;
		at = at + 1 == t->size ? 0 : at + 1;
	}
	return to == g->bytes ? n->gather : NULL;
}

/* 7.2.5.3, RFC 4960 appendix B: CRC32c, least significant byte first. */
static void insert_sctp(uint8_t *p, uint32_t bytes)
{
	uint32_t crc = ~0u;
	memset(p + 8, 0, 4);
	for (uint32_t i = 0; i < bytes; i++) {
		crc ^= p[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	for (unsigned i = 0; i < 4; i++)
		p[8 + i] = (uint8_t)(~crc >> 8 * i);
}

/* 7.2.5: inserts IPv4 header and L4 checksums as the context says. In place: `p` is our copy. */
static void insert_checksums(struct model *m, unsigned q, uint8_t *p, uint32_t bytes,
                             const struct tx_context *c, uint32_t olinfo)
{
	uint32_t l4 = c->maclen + c->iplen;
	uint32_t field = c->l4t == L4T_TCP ? 16 : c->l4t == L4T_UDP ? 6 : 0;
	if (c->maclen < 14 || c->iplen < 20 || l4 + (olinfo & TXD_TXSM ? field + 2 : 0) > bytes) {
		model_violation(m, "transmit queue %u: MACLEN %u, IPLEN %u do not fit a frame of %u bytes",
		                q, c->maclen, c->iplen, bytes);
		return;
	}
	if (olinfo & TXD_IXSM) {
		if (!c->ipv4)
			model_violation(m, "transmit queue %u: IXSM without TUCMD.IPV4", q);
		put_be16(p + c->maclen + 10, 0);
		uint16_t sum = (uint16_t)~sum_fold(sum_add(0, p + c->maclen, c->iplen));
		memcpy(p + c->maclen + 10, &sum, 2);
	}
	if (olinfo & TXD_TXSM) {
		if (c->l4t == L4T_SCTP && l4 + 12 <= bytes) {
			insert_sctp(p + l4, bytes - l4);
			return;
		}
		if (field == 0) {
			model_violation(m, "transmit queue %u: TXSM with L4T %u", q, c->l4t);
			return;
		}
		/* software has put the sum of the pseudo header into the field */
		uint16_t sum = (uint16_t)~sum_fold(sum_add(0, p + l4, bytes - l4));
		if (sum == 0 && c->l4t == L4T_UDP)
			sum = 0xffff; /* RFC 768 */
		memcpy(p + l4 + field, &sum, 2);
	}
}

static bool needs_context(uint32_t cmd, uint32_t olinfo)
{
	return cmd & (TXD_TSE | TXD_VLE) || olinfo & (TXD_CC | TXD_IXSM | TXD_TXSM);
}

/* Sends a frame with advanced descriptors; an invalid frame is a violation and is not sent. */
static void send_advanced(struct model *m, unsigned q, const uint8_t *data, const struct gathered *g)
{
	struct nic *n = nic_of(m);
	const struct tx_context *c = &n->tx[q].context[g->olinfo >> TXD_IDX_SHIFT & 1];
	uint32_t paylen = g->olinfo >> TXD_PAYLEN_SHIFT;
	/* LINUX: sets IFCS always; without it the frame would need its own FCS */
	if (!(g->cmd & TXD_IFCS))
		model_violation(m, "transmit queue %u: first descriptor without IFCS", q);
	if (needs_context(g->cmd, g->olinfo) && !c->valid) {
		model_violation(m, "transmit queue %u: context %u used and never given", q,
		                g->olinfo >> TXD_IDX_SHIFT & 1);
		return;
	}
	const struct tx_context *tag = g->cmd & TXD_VLE ? c : NULL;
	if (g->cmd & TXD_TSE) {
		if (g->cmd & TXD_1588)
			model_violation(m, "transmit queue %u: 1588 bit with TSE", q);
		if (data != n->gather)
			memcpy(n->gather, data, g->bytes);
		tso_send(m, q, c, g->bytes, g->olinfo, tag);
		return;
	}
	if (paylen != g->bytes)
		model_violation(m, "transmit queue %u: PAYLEN %u, the buffers have %u bytes", q, paylen,
		                g->bytes);
	if (g->bytes > TX_FRAME_MAX) {
		model_violation(m, "transmit queue %u: frame of %u bytes", q, g->bytes);
		return;
	}
	if (g->olinfo & (TXD_IXSM | TXD_TXSM)) {
		if (data != n->gather)
			memcpy(n->gather, data, g->bytes);
		insert_checksums(m, q, n->gather, g->bytes, c, g->olinfo);
		data = n->gather;
	}
	if (g->cmd & TXD_1588 && n->kind->stamp_sent)
		n->kind->stamp_sent(m, q);
	tx_emit(m, q, data, g->bytes, tag);
}

/* Sends a frame with legacy descriptors, with CSO and CSS when IC is set (7.2.3.2.2). */
static void send_legacy(struct model *m, unsigned q, const uint8_t *data, const struct gathered *g)
{
	struct nic *n = nic_of(m);
	struct tx_context tag = {.vlan = (uint16_t)g->tag};
	uint32_t cso = g->cmd >> 16 & 0xff, css = g->olinfo >> 8 & 0xff;
	if (g->bytes > TX_FRAME_MAX) {
		model_violation(m, "transmit queue %u: frame of %u bytes", q, g->bytes);
		return;
	}
	if (g->cmd & TXD_LEGACY_IC) {
		if (css >= g->bytes || cso + 2 > g->bytes) {
			model_violation(m, "transmit queue %u: CSS %u, CSO %u in a frame of %u bytes", q, css,
			                cso, g->bytes);
			return;
		}
		if (data != n->gather)
			memcpy(n->gather, data, g->bytes);
		uint16_t sum = (uint16_t)~sum_fold(sum_add(0, n->gather + css, g->bytes - css));
		memcpy(n->gather + cso, &sum, 2);
		data = n->gather;
	}
	tx_emit(m, q, data, g->bytes, g->cmd & TXD_VLE ? &tag : NULL);
}

/* Sends the frame at the head and completes its descriptors. */
static void send_one(struct model *m, unsigned q, struct txd *ring, const struct gathered *g)
{
	struct txq *t = &nic_of(m)->tx[q];
	const uint8_t *data = gather(m, q, ring, g);
	if (data == NULL) {
		t->broken = true;
		return;
	}
	if (g->legacy)
		send_legacy(m, q, data, g);
	else
		send_advanced(m, q, data, g);
	for (uint32_t i = 0; i < g->descriptors; i++) {
		uint32_t index = t->head;
		t->head = index + 1 == t->size ? 0 : index + 1;
		if (ring[index].high & TXD_RS)
			report(m, q, &ring[index], index, t->head);
	}
}

static bool starts_with_context(const struct txd *d)
{
	return d->high & TXD_DEXT && (d->high >> TXD_DTYP_SHIFT & 15) == TXD_DTYP_CONTEXT;
}

static void wait_for_eop(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	struct txq *t = &n->tx[q];
	if (!t->waiting) {
		t->waiting = true;
		t->since = m->now;
	} else if (m->now - t->since >= WAIT_NS) {
		model_violation(m, "transmit queue %u: no EOP from %u to TDT %u for 100 ms", q, t->head,
		                t->tail);
		t->since = m->now;
	}
	if (t->since + WAIT_NS < n->tx_due)
		n->tx_due = t->since + WAIT_NS;
}

/* Descriptors between two places of a ring. */
static inline uint32_t distance(const struct txq *t, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + t->size - from;
}

static inline uint32_t wrap(uint32_t at, uint32_t size)
{
	return at < size ? at : at - size;
}

/* Prefetches the frame at that place. */
static inline void fetch_frame(struct model *m, struct dma_view *view, const struct txd *ring,
                               uint32_t place)
{
	const uint8_t *data = model_view_reach(m, view, ring[place].low, 60, DMA_READ);
	if (data) {
		__builtin_prefetch(data);
		__builtin_prefetch(data + 59);
	}
}

/* Descriptors and frames are in the cache of the guest's core: prefetched, as in rx.c. */
static void fetch_first(struct model *m, const struct txq *t, const struct txd *ring)
{
	const uint32_t waiting = distance(t, t->head, t->tail);
	struct dma_view view = model_view(m, DMA_READ);
	for (uint32_t i = 0; i < waiting && i < BURST; i += 4)
		__builtin_prefetch(&ring[wrap(t->head + i, t->size)]);
	for (uint32_t i = 0; i < waiting && i < FETCH_AHEAD; i++)
		fetch_frame(m, &view, ring, wrap(t->head + i, t->size));
}

/* Frames that are ready to be sent, and which of their descriptors have RS. */
struct row {
	unsigned n;
	uint64_t reports;
	uint64_t bytes;
	struct frame v[FRAME_BURST];
};

/* The second quad-word of a plain frame's descriptor, without RS, for its length; 0: none. PAYLEN must
 * be the length, and no other bit be set. */
static uint64_t plain_descriptor(uint32_t length)
{
	const uint32_t command = TXD_DEXT | (unsigned)TXD_DTYP_DATA << TXD_DTYP_SHIFT | TXD_EOP | TXD_IFCS;
	const bool plain = length >= 60 && length <= TX_FRAME_MAX;
	return plain ? (uint64_t)length << TXD_PAYLEN_SHIFT << 32 | command | length : 0;
}

/* Gathers plain frames from the head on; stops at another one, or at the tail. */
static void row_gather(struct model *m, unsigned q, const struct txd *ring, struct row *row)
{
	struct nic *n = nic_of(m);
	struct txq *t = &n->tx[q];
	const uint32_t waiting = distance(t, t->head, t->tail), size = t->size;
	const uint32_t most = waiting < FRAME_BURST ? waiting : FRAME_BURST;
	const uint32_t fetches = m->line_rate && waiting > FETCH_AHEAD ? waiting - FETCH_AHEAD : 0;
	uint64_t plain = 0, reports = 0, bytes = 0; /* plain: of the length before */
	uint32_t at = t->head, i = 0, length = 0;
	struct dma_view view = model_view(m, DMA_READ);
	for (; i < most; i++) {
		const uint64_t high = ring[at].high;
		if (i < fetches)
			fetch_frame(m, &view, ring, wrap(at + FETCH_AHEAD, size));
		if ((high & ~(uint64_t)TXD_RS) != plain || plain == 0) {
			length = high & 0xffff;
			plain = plain_descriptor(length);
			if ((high & ~(uint64_t)TXD_RS) != plain || plain == 0)
				break;
		}
		const uint64_t bus = ring[at].low;
		const uint8_t *data = model_view_reach(m, &view, bus, length, DMA_READ);
		if (data == NULL) {
			model_dma_error(m, bus, length, "transmit buffer");
			t->broken = true;
			break;
		}
		if (data[0] & 1) /* counted by kind, on the slow path */
			break;
		row->v[i] = (struct frame){.data = data, .bytes = length};
		reports |= (uint64_t)!!(high & TXD_RS) << i;
		bytes += length;
		n->s.ptc[size_class(length + 4)]++;
		at = wrap(at + 1, size);
	}
	row->n = i;
	row->reports = reports;
	row->bytes = bytes;
}

/* Completes the descriptors of a row that has been sent. The head that is written back covers all
 * before it, so the last one does. */
static void row_report(struct model *m, unsigned q, struct txd *ring, uint64_t reports)
{
	struct txq *t = &nic_of(m)->tx[q];
	if (t->head_wb && reports)
		reports = 1ull << (63 - __builtin_clzll(reports));
	for (; reports && !t->broken; reports &= reports - 1) {
		const uint32_t at = (t->head + (unsigned)__builtin_ctzll(reports)) % t->size;
		report(m, q, &ring[at], at, at + 1 == t->size ? 0 : at + 1);
	}
}

/*
 * The fast path: complete frames in one descriptor without offloads, with no fault set. Takes all
 * such frames in a row; send_one, the slow path, handles them too.
 */
static unsigned serve_plain(struct model *m, unsigned q, struct txd *ring)
{
	struct nic *n = nic_of(m);
	struct txq *t = &n->tx[q];
	unsigned frames = 0;
	uint64_t bytes = 0;
	struct row row;
	if (m->line_rate)
		fetch_first(m, t, ring);
	do {
		row_gather(m, q, ring, &row);
		if (row.n == 0)
			break;
		model_send_all(m, row.v, row.n);
		const bool broken = t->broken;
		t->broken = false; /* those before the broken one are complete */
		row_report(m, q, ring, row.reports);
		t->broken |= broken;
		t->head = (t->head + row.n) % t->size;
		frames += row.n;
		bytes += row.bytes;
	} while (frames < BURST && !t->broken);
	const uint64_t with_fcs = bytes + 4ull * frames;
	const unsigned i = tx_stat_index(m, q);
	n->s.qptc[i] += frames;
	n->s.qbtc[i] += bytes;
	n->s.gptc += frames;
	n->s.tpt += frames;
	n->s.gotc += with_fcs;
	n->s.txdgpc += frames;
	n->s.txdgbc += with_fcs;
	return frames;
}

static struct txd *ring_of(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	struct txq *t = &n->tx[q];
	if (t->at_call != n->call || t->at == NULL) {
		t->at = model_dma(m, t->ring, (uint64_t)t->size * 16, DMA_WRITE, "transmit ring (TDBA)");
		t->at_call = n->call;
		t->broken |= t->at == NULL;
	}
	return (struct txd *)(void *)t->at;
}

/* Handles a frame or a context descriptor. False: an incomplete frame. */
static bool serve_one(struct model *m, unsigned q, struct txd *ring)
{
	struct txq *t = &nic_of(m)->tx[q];
	struct txd *d = &ring[t->head];
	struct gathered g;
	if (starts_with_context(d)) {
		uint32_t index = t->head;
		take_context(m, q, d);
		t->head = index + 1 == t->size ? 0 : index + 1;
		if (d->high & TXD_RS)
			report(m, q, d, index, t->head);
		return true;
	}
	int whole = measure(m, q, ring, &g);
	if (whole > 0)
		send_one(m, q, ring, &g);
	else if (whole < 0)
		t->broken = true;
	else
		wait_for_eop(m, q);
	return whole != 0;
}

static bool serve(struct model *m, unsigned q)
{
	struct nic *n = nic_of(m);
	struct txq *t = &n->tx[q];
	struct txd *ring = ring_of(m, q);
	const struct intel_kind *k = n->kind;
	const bool limited = k->rate_next && k->rate_next(m, q);
	const bool plain = m->faults == 0 && ring && !limited && !mode_of(m)->loops;
	const uint32_t first = t->head;
	unsigned done = 0; /* frames and contexts */
	while (done < BURST && t->head != t->tail && !t->broken) {
		const uint64_t next = limited ? k->rate_next(m, q) : 0;
		if (next > m->now) {
			n->tx_due = next < n->tx_due ? next : n->tx_due;
			break;
		}
		if (plain)
			done += serve_plain(m, q, ring);
		if (done >= BURST || t->head == t->tail || t->broken || !serve_one(m, q, ring))
			break;
		done++;
	}
	if (done >= BURST && t->head != t->tail)
		n->tx_due = m->now;
	if (t->head == first)
		return false;
	set(m, tx_block(m, q) + Q_HEAD, t->head);
	if (!model_fault(m, FAULT_WRITEBACK_DELAY))
		n->kind->tx_event(m, q);
	return true;
}

/* LINUX: without a link the card reads no transmit ring. Descriptors and TDH stay, nothing is written back, and all
 * leaves when the link returns, unless a reset comes first (ixgbe_watchdog_flush_tx, igc_watchdog_task). */
bool tx_work(struct model *m)
{
	struct nic *n = nic_of(m);
	bool moved = false;
	n->tx_due = NEVER;
	if (model_fault(m, FAULT_HEAD_STUCK) || n->hangs || !m->masters)
		return false;
	const bool on = mode_of(m)->sends && n->link;
	for (unsigned i = 0; i < 2; i++)
		for (uint64_t left = n->tx_on[i]; left; left &= left - 1) {
			unsigned q = 64 * i + (unsigned)__builtin_ctzll(left);
			struct txq *t = &n->tx[q];
			if (m->line_rate)
				look(m, q);
			if (on && t->enabled && !t->broken && t->head != t->tail)
				moved |= serve(m, q);
		}
	return moved;
}
