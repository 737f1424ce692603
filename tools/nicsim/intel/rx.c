/*
 * Receive: the path of a frame from the wire to its ring.
 *
 * A frame passes MAC, filters and RSS, then goes into the descriptors of its queue (rx_queue.c). If
 * there are too few descriptors, the frame is dropped if the queue says so (SRRCTL.DROP_EN: QPRDC).
 * Otherwise it waits in the packet buffer (fifo.c), in order, and so do all later frames. When the
 * buffer is full, frames are lost (RXMPC).
 */
#include "tools/nicsim/intel/rx_queue.h"

#include <string.h>

#include "tools/nicsim/packet/bytes.h"

#define STALLED_NS 10000000 /* a queue whose tail has not moved for this long is ignored */
#define FETCH_QUEUES 8      /* with more, fetched lines would be evicted before use */

void rx_forget(struct model *m)
{
	struct fifo *f = &nic_of(m)->fifo;
	m->rx_refused += f->frames;
	fifo_clear(f);
}

void rx_reset(struct model *m)
{
	struct nic *n = nic_of(m);
	rx_queue_reset(m);
	rx_forget(m);
	n->fifo.limit = n->kind->fifo_bytes;
}

/* --- one frame into its ring --- */

static void count_delivered(struct model *m, unsigned q, uint32_t bytes)
{
	struct intel_stats *s = &nic_of(m)->s;
	unsigned i = rx_stat_index(m, q);
	m->rx_frames++;
	m->rx_bytes += bytes;
	s->qprc[i]++;
	s->qbrc[i] += bytes;
	s->rxdgpc++;
	s->rxdgbc += bytes;
}

/* IEEE 802.3, 3.2.9; used only when the driver wants the FCS. */
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

static void append_fcs(struct nic *n, const uint8_t *frame, uint32_t bytes, struct delivery *d)
{
	uint32_t crc = fcs(frame, bytes);
	memcpy(n->with_fcs, frame, bytes);
	memcpy(n->with_fcs + bytes, &crc, 4);
	d->head = n->with_fcs;
	if (d->rest_bytes) {
		d->rest = n->with_fcs + 16;
		d->rest_bytes += 4;
	} else {
		d->head_bytes += 4;
	}
}

/* Chooses the queue and fills in the descriptor fields for the frame. */
static unsigned describe(struct model *m, const uint8_t *frame, uint32_t bytes,
                         enum mac_verdict verdict, struct delivery *out)
{
	struct nic *n = nic_of(m);
	struct headers h;
	const struct intel_kind *k = n->kind;
	const struct checked c = offload_check(k, frame, bytes, &h);
	uint32_t hash = 0, rxcsum = get(m, k->rxcsum), mrqe = get(m, k->mrqc) & k->mrqc_on;
	unsigned q = 0;
	enum rss_type type = RSS_NONE;
	out->tag = 0;
	out->head = frame;
	out->head_bytes = bytes;
	out->rest_bytes = 0;
	out->status = verdict == MAC_DAMAGED ? k->rxe : c.status;
	if (verdict == MAC_STAMPED)
		out->status |= RXD_TS;
	if (frame[0] & 1)
		out->status |= RXD_PIF; /* passed by an inexact filter */
	if (mrqe) {
		if (n->rss_stale)
			rss_refresh(m);
		type = rss_hash(m, frame, &h, &hash);
		q = type ? rss_queue(m, hash) : 0;
	}
	const int steered = k->steer ? k->steer(m, frame, &h) : -1;
	q = steered >= 0 ? (unsigned)steered : q;
	if (!(rxcsum & RXCSUM_PCSD)) { /* 7.1.11: fragment checksum and IP ID replace the hash */
		hash = 0;
		type = RSS_NONE;
		if (rxcsum & RXCSUM_IPPCSE && h.fragment && h.version == 4)
			hash = (uint32_t)offload_fragment_sum(frame, &h) << 16 | be16(frame + h.l3 + 4);
	}
	out->low = type | (uint64_t)c.ptype << 4 | (uint64_t)hash << 32;
	if (h.tagged && (n->rx[q].strip_vlan || mode_of(m)->strips_tag)) {
		out->status |= RXD_VP;
		out->tag = h.tci;
		out->head_bytes = 12;
		out->rest = frame + 16;
		out->rest_bytes = bytes - 16;
	}
	if (m->faults && model_fault_strikes(m, FAULT_ERROR_BITS))
		out->status |= k->rxe | k->l4e;
	return q;
}

/* Also false when the ring is invalid, a fault stops it, or the device may not access memory. */
static bool has_room(const struct model *m, const struct rxq *r, uint32_t bytes)
{
	uint32_t free = rx_queue_available(r);
	return free && m->masters && free >= rx_queue_needed(r, bytes) && !model_fault(m, FAULT_RX_STUCK);
}

/* In line-rate mode the queues' counters are memory and could not clear when read: RXMPC counts the loss there. */
static void count_no_descriptor(struct model *m, unsigned q)
{
	struct intel_stats *s = &nic_of(m)->s;
	if (m->line_rate)
		s->rxmpc++;
	else
		s->qprdc[rx_stat_index(m, q)]++;
	m->rx_missed++;
}

enum outcome { PLACED, DROPPED, MUST_WAIT };

/* Tries to put a frame that has passed the MAC into its ring. */
static enum outcome deliver(struct model *m, const uint8_t *frame, uint32_t bytes,
                            enum mac_verdict verdict, uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	struct delivery d;
	unsigned q = describe(m, frame, bytes, verdict, &d);
	struct rxq *r = &n->rx[q];
	if (!r->enabled) { /* 4.6.7.1: frames for a queue that is not enabled are dropped */
		if (q)
			model_violation(m, "RETA, or a filter, leads to queue %u, and RXDCTL[%u].ENABLE is not set", q, q);
		count_no_descriptor(m, q);
		return DROPPED;
	}
	if (mode_of(m)->keeps_fcs)
		append_fcs(n, frame, bytes, &d);
	uint32_t total = d.head_bytes + d.rest_bytes;
	if (!has_room(m, r, total)) {
		rx_queue_look(m, q);
		if (!has_room(m, r, total)) {
			if (!r->drop)
				return MUST_WAIT;
			count_no_descriptor(m, q);
			return DROPPED;
		}
	}
	if (!rx_queue_place(m, q, &d)) {
		m->rx_refused++;
		return DROPPED;
	}
	count_delivered(m, q, total);
	queue_map_set(touched, q);
	return PLACED;
}

/* Delivers waiting frames; true when one moved. */
static bool drain(struct model *m, uint64_t touched[2])
{
	struct fifo *f = &nic_of(m)->fifo;
	struct waiting w;
	bool moved = false;
	while (fifo_first(f, &w) && deliver(m, w.frame, w.bytes, w.verdict, touched) != MUST_WAIT) {
		fifo_pop(f, &w);
		moved = true;
	}
	return moved;
}

/* --- from the wire --- */

/* 8.2.3.22.8, 13: the longest frame that the MAC accepts. A tag may come on top. */
static uint32_t longest(const struct model *m, const uint8_t *frame)
{
	const struct mac_mode *mode = mode_of(m);
	return mode->longest + (be16(frame + 12) == 0x8100 ? mode->tag_bytes : 0);
}

static bool length_field_wrong(const struct model *m, const uint8_t *frame, uint32_t bytes)
{
	uint32_t type = be16(frame + 12);
	return mode_of(m)->checks_length && type < 0x600 && type > bytes - 14;
}

static enum mac_verdict mac_judge(struct model *m, const uint8_t *frame, uint32_t bytes,
                                  uint32_t flags)
{
	struct intel_stats *s = &nic_of(m)->s;
	enum mac_verdict verdict = MAC_GOOD;
	stats_rx_any(nic_of(m), bytes);
	if (bytes + 4 > longest(m, frame)) {
		if (flags & FRAME_BAD_FCS)
			s->rjc++;
		else
			s->roc++;
		return MAC_REFUSED;
	}
	if (flags & FRAME_BAD_FCS) {
		s->crcerrs++;
		verdict = MAC_DAMAGED;
	} else if (length_field_wrong(m, frame, bytes)) {
		s->rlec++;
		verdict = MAC_DAMAGED;
	}
	if (verdict == MAC_DAMAGED && !mode_of(m)->keeps_bad)
		return MAC_REFUSED;
	s->rxnfgpc += verdict == MAC_GOOD;
	return verdict;
}

/* MAC and L2 filters. */
static enum mac_verdict pass(struct model *m, const uint8_t *frame, uint32_t bytes, uint32_t flags)
{
	enum mac_verdict verdict = mac_judge(m, frame, bytes, flags);
	if (verdict == MAC_REFUSED || !filter_accepts(m, frame))
		return MAC_REFUSED;
	bool tagged = be16(frame + 12) == 0x8100;
	return tagged && !filter_accepts_vlan(m, (uint16_t)be16(frame + 14)) ? MAC_REFUSED : verdict;
}

/* `at`: time of arrival in ns; 0: now. */
static void accept(struct model *m, const uint8_t *frame, uint32_t bytes, uint32_t flags,
                   uint64_t at, uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	uint8_t padded[60];
	if (bytes < 14 || bytes + 4 > FRAME_MAX) {
		n->s.ruc += bytes < 14;
		n->s.roc += bytes >= 14;
		m->rx_refused++;
		return;
	}
	if (bytes < sizeof padded) { /* as the sending MAC does: no frame on the wire is shorter */
		memcpy(padded, frame, bytes);
		memset(padded + bytes, 0, sizeof padded - bytes);
		frame = padded;
		bytes = sizeof padded;
	}
	enum mac_verdict verdict = pass(m, frame, bytes, flags);
	if (verdict == MAC_REFUSED) {
		m->rx_refused++;
		return;
	}
	if (verdict == MAC_GOOD) {
		stats_rx_good(n, frame, bytes);
		if (n->kind->stamp_received && n->kind->stamp_received(m, frame, bytes, at))
			verdict = MAC_STAMPED;
	}
	if (n->fifo.frames == 0 && deliver(m, frame, bytes, verdict, touched) != MUST_WAIT)
		return;
	if (!fifo_put(&n->fifo, frame, bytes, verdict)) {
		n->s.rxmpc++;
		m->rx_missed++;
		n->kind->overrun(m);
	}
}

/* Publishes the heads and raises the causes of the queues that received frames. */
static void finish(struct model *m, const uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	for (unsigned i = 0; i < 2; i++)
		for (uint64_t left = touched[i]; left; left &= left - 1) {
			unsigned q = 64 * i + (unsigned)__builtin_ctzll(left);
			set(m, rx_block(m, q) + Q_HEAD, n->rx[q].head);
			if (!model_fault(m, FAULT_WRITEBACK_DELAY))
				n->kind->rx_event(m, q);
		}
}

static bool listens(const struct model *m)
{
	const struct nic *n = nic_of(m);
	return !n->reset_done && n->link && mode_of(m)->listens;
}

/*
 * The fast path: untagged unicast frames that need one descriptor, with no fault set. All other
 * frames take the slow path, which could also handle these.
 *
 * Descriptors and buffers are in the cache of the guest's core: each single fetch would cost the
 * latency between the cores. So they are prefetched for the whole burst, and written back together
 * at its end (the chip gathers write-backs too, 7.1.9). Otherwise a polling guest would take away
 * the next descriptor's cache line after every frame.
 */
struct burst {
	bool plain;
	bool stamps;      /* time stamping is on; frames to be stamped take the slow path */
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
	const struct mac_mode *mode = mode_of(m);
	const uint32_t mfs = mode->longest;
	b->plain = m->faults == 0 && m->masters && !mode->keeps_fcs && mfs >= 64;
	b->stamps = mode->stamps;
	b->longest = mfs < FRAME_MAX ? mfs - 4 : FRAME_MAX - 4;
	b->frames = b->placed = 0;
	b->bytes = 0;
}

/* Prefetches, for writing, what the next `count` frames need if they are spread evenly. */
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
		unsigned here = rx_queue_available(r) < count ? rx_queue_available(r) : count;
		struct rxd *ring = here ? rx_queue_ring(m, q) : NULL;
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
	struct intel_stats *s = &nic_of(m)->s;
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

/* False: nothing has changed; take the slow path. */
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
	if (b->stamps && n->kind->stamp_may_want(m, frame, type))
		return false;
	struct delivery place;
	unsigned q = describe(m, frame, bytes, MAC_GOOD, &place);
	struct rxq *r = &n->rx[q];
	if (bytes > r->buffer || r->type != DESCTYPE_ONE_BUFFER || rx_queue_available(r) == 0)
		return false;
	struct rxd *ring = r->at_call == n->call ? (struct rxd *)(void *)r->at : rx_queue_ring(m, q);
	if (ring == NULL)
		return false;
	struct rxd *d = &ring[r->head];
	uint8_t *buffer = model_dma(m, d->low, bytes, DMA_WRITE, "receive buffer");
	if (buffer == NULL)
		return false;
	memcpy(buffer, frame, bytes);
	b->back[b->placed++] = (struct write_back){
		d, place.low, place.status | RXD_DD | RXD_EOP | (uint64_t)bytes << 32};
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
	if (!listens(m) || mode_of(m)->loops) {
		m->rx_refused += count;
		return;
	}
	if (nic_of(m)->fifo.frames)
		drain(m, touched);
	struct burst b;
	burst_begin(m, &b);
	if (b.plain && m->line_rate)
		fetch(m, count);
	for (unsigned i = 0; i < count; i++)
		if (!b.plain || !place_plain(m, &b, &v[i], touched)) {
			burst_write_back(&b); /* keeps the order */
			accept(m, v[i].data, v[i].bytes, v[i].flags, v[i].at, touched);
		}
	burst_end(m, &b);
	finish(m, touched);
}

void rx_loop_back(struct model *m, const uint8_t *frame, uint32_t bytes)
{
	uint64_t touched[2] = {0, 0};
	if (!listens(m))
		return;
	accept(m, frame, bytes, 0, 0, touched);
	finish(m, touched);
}

bool rx_work(struct model *m)
{
	struct nic *n = nic_of(m);
	uint64_t touched[2] = {0, 0};
	if (m->line_rate)
		for (uint64_t left = n->rx_on[0]; left; left &= left - 1)
			rx_queue_look(m, (unsigned)__builtin_ctzll(left));
	if (n->fifo.frames == 0 || !listens(m))
		return false;
	bool moved = drain(m, touched);
	finish(m, touched);
	return moved;
}

/*
 * The least that any enabled queue has room for: RSS is not evaluated, so every frame may go to the
 * same queue. An empty packet buffer takes one frame, so that a queue without descriptors blocks
 * the others only as in the device. A queue that has stalled for STALLED_NS and drops (DROP_EN)
 * does not count.
 */
unsigned rx_room(struct model *m, unsigned max)
{
	struct nic *n = nic_of(m);
	if (!listens(m) || mode_of(m)->loops)
		return max;
	if (n->fifo.frames)
		rx_work(m);
	if (n->fifo.frames)
		return 0;
	const uint32_t mtu = mode_of(m)->longest + mode_of(m)->tag_bytes;
	for (unsigned i = 0; i < 2; i++)
		for (uint64_t left = n->rx_on[i]; left; left &= left - 1) {
			unsigned q = 64 * i + (unsigned)__builtin_ctzll(left);
			struct rxq *r = &n->rx[q];
			rx_queue_look(m, q);
			if (r->drop && m->now - r->moved > STALLED_NS && rx_queue_available(r) < max)
				continue;
			uint32_t room = rx_queue_available(r);
			room = room ? room / rx_queue_needed(r, mtu) : 0;
			max = room < max ? room : max;
		}
	return max ? max : 1;
}
