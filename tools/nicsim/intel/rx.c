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
#define FETCH_AHEAD 32      /* frames of a queue */

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

/* What the registers say about the choice of a queue and the first quad-word; they do not change in a
 * call. */
struct rx_mode {
	bool rss, steers;
	uint32_t rxcsum;
};

static struct rx_mode rx_mode_of(const struct model *m)
{
	const struct intel_kind *k = kind_of(m);
	return (struct rx_mode){.rss = get(m, k->mrqc) & k->mrqc_on,
	                        .steers = k->steers && k->steers(m),
	                        .rxcsum = get(m, k->rxcsum)};
}

/* Chooses the queue, and sets the first quad-word that is written back. */
static inline unsigned choose(struct model *m, const struct rx_mode *x, const uint8_t *frame,
                              const struct headers *h, uint32_t ptype, uint64_t *low)
{
	struct nic *n = nic_of(m);
	uint32_t hash = 0;
	unsigned q = 0;
	enum rss_type type = RSS_NONE;
	if (x->rss) {
		if (n->rss_stale)
			rss_refresh(m);
		type = rss_hash(m, frame, h, &hash);
		q = type ? rss_queue(m, hash) : 0;
	}
	const int steered = x->steers ? n->kind->steer(m, frame, h) : -1;
	q = steered >= 0 ? (unsigned)steered : q;
	if (!(x->rxcsum & RXCSUM_PCSD)) { /* 7.1.11: fragment checksum and IP ID replace the hash */
		hash = 0;
		type = RSS_NONE;
		if (x->rxcsum & RXCSUM_IPPCSE && h->fragment && h->version == 4)
			hash = (uint32_t)offload_fragment_sum(frame, h) << 16 | be16(frame + h->l3 + 4);
	}
	*low = type | (uint64_t)ptype << 4 | (uint64_t)hash << 32;
	return q;
}

/* Chooses the queue and fills in the descriptor fields for the frame. */
static unsigned describe(struct model *m, const uint8_t *frame, uint32_t bytes,
                         enum mac_verdict verdict, struct delivery *out)
{
	struct nic *n = nic_of(m);
	struct headers h;
	const struct intel_kind *k = n->kind;
	const struct checked c = offload_check(k, frame, bytes, &h);
	const struct rx_mode x = rx_mode_of(m);
	out->tag = 0;
	out->head = frame;
	out->head_bytes = bytes;
	out->rest_bytes = 0;
	out->status = verdict == MAC_DAMAGED ? k->rxe : c.status;
	if (verdict == MAC_STAMPED)
		out->status |= RXD_TS;
	if (frame[0] & 1)
		out->status |= RXD_PIF; /* passed by an inexact filter */
	unsigned q = choose(m, &x, frame, &h, c.ptype, &out->low);
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
 * frames take the slow path, which could also handle these. A row of plain frames is planned first
 * (queue, contents of the descriptor), then placed.
 *
 * Descriptors and buffers are in the cache of the guest's core: each single fetch would cost the
 * latency between the cores. So they are prefetched, FETCH_AHEAD frames before their use, also for
 * the next bursts. Descriptors are written back together at the end of the burst (the chip gathers
 * write-backs too, 7.1.9). Otherwise a polling guest would take away the next descriptor's cache
 * line after every frame.
 */
struct burst {
	bool plain;
	bool stamps;      /* time stamping is on; frames to be stamped take the slow path */
	uint32_t longest; /* without FCS */
	struct rx_mode mode;
	uint64_t station; /* the destination that the filters accepted last; NEVER: none */
	uint32_t frames;
	uint64_t bytes;
	unsigned back, placed; /* frames from `back` to before `placed` are not written back yet */
	struct plan {
		struct rxd *d;
		uint64_t low, high;
	} plan[FRAME_BURST];
	uint8_t queue[FRAME_BURST];
};

static void burst_begin(const struct model *m, struct burst *b)
{
	const struct mac_mode *mode = mode_of(m);
	const uint32_t mfs = mode->longest;
	b->plain = m->faults == 0 && m->masters && !mode->keeps_fcs && mfs >= 64;
	b->stamps = mode->stamps;
	b->longest = mfs < FRAME_MAX ? mfs - 4 : FRAME_MAX - 4;
	b->mode = rx_mode_of(m);
	b->station = NEVER;
	b->frames = 0;
	b->bytes = 0;
	b->back = b->placed = 0;
}

/* Whether the filters accept an untagged unicast frame. */
static inline bool passes(struct model *m, struct burst *b, const uint8_t *frame)
{
	uint64_t station;
	memcpy(&station, frame, sizeof station);
	station <<= 16;
	if (station == b->station)
		return true;
	if (!filter_accepts(m, frame))
		return false;
	b->station = station;
	return true;
}

/* Plans for frames that their wire vouches for, all with the destination that the filters accepted
 * last: they are untagged and plain, and without RSS and filters they all go to queue 0. */
static inline unsigned plan_vouched(struct burst *b, const struct frame *v, unsigned i, unsigned count)
{
	struct headers h;
	const struct checked c = offload_vouched(60, &h);
	const uint64_t low = (uint64_t)c.ptype << 4, high = c.status | RXD_DD | RXD_EOP;
	const uint64_t station = b->station;
	const uint32_t range = b->longest - 60;
	for (; i < count && v[i].flags == FRAME_UDP4 && v[i].bytes - 60 <= range; i++) {
		uint64_t to;
		memcpy(&to, v[i].data, sizeof to);
		if (to << 16 != station)
			break;
		b->queue[i] = 0;
		b->plan[i].low = low;
		b->plan[i].high = high | (uint64_t)v[i].bytes << 32;
	}
	return i;
}

/* Plans for the plain frames at v[from] and behind it; returns the number of the first other one. */
static unsigned burst_plan(struct model *m, struct burst *b, const struct frame *v, unsigned from,
                           unsigned count)
{
	const struct intel_kind *k = kind_of(m);
	const bool simple = !b->mode.rss && !b->mode.steers && !b->stamps;
	unsigned i = from;
	for (; i < count; i++) {
		if (simple)
			i = plan_vouched(b, v, i, count);
		if (i == count)
			break;
		const uint8_t *frame = v[i].data;
		const uint32_t bytes = v[i].bytes, flags = v[i].flags;
		if (flags & FRAME_BAD_FCS || bytes < 60 || bytes > b->longest || frame[0] & 1)
			break;
		struct headers h;
		struct checked c;
		if (flags & FRAME_UDP4) {
			c = offload_vouched(bytes, &h);
		} else {
			const uint32_t type = be16(frame + 12);
			if (type < 0x600 || type == 0x8100)
				break;
			c = offload_check(k, frame, bytes, &h);
		}
		if (!passes(m, b, frame) ||
		    (b->stamps && k->stamp_may_want(m, frame, be16(frame + 12))))
			break;
		b->plan[i].high = c.status | RXD_DD | RXD_EOP | (uint64_t)bytes << 32;
		b->queue[i] = (uint8_t)choose(m, &b->mode, frame, &h, c.ptype, &b->plan[i].low);
	}
	return i;
}

static inline uint32_t wrap(uint32_t at, uint32_t size)
{
	return at < size ? at : at - size;
}

/* Prefetches, for writing, the buffer of the descriptor at that place, and if `more` a descriptor
 * behind that. */
static inline void fetch(struct model *m, struct dma_view *view, struct rxd *ring, uint32_t at,
                         uint32_t size, bool more)
{
	const uint8_t *buffer = model_view_reach(m, view, ring[at].low, 64, DMA_WRITE);
	if (more)
		__builtin_prefetch(&ring[wrap(at + FETCH_AHEAD, size)], 1);
	if (buffer) {
		__builtin_prefetch(buffer, 1);
		__builtin_prefetch(buffer + 63, 1);
	}
}

/* Places the frames from v[from] on that are planned for its queue; returns the number of the first
 * that is not placed: the slow path knows why. */
static unsigned burst_place(struct model *m, struct burst *b, const struct frame *v, unsigned from,
                            unsigned end, uint64_t touched[2])
{
	struct nic *n = nic_of(m);
	const unsigned q = b->queue[from];
	struct rxq *r = &n->rx[q];
	const uint32_t size = r->size, most = r->buffer, fetches = m->line_rate ? FETCH_AHEAD : 0;
	uint32_t left = rx_queue_available(r), head = r->head, fetched = r->fetched;
	struct rxd *ring = left && r->type == DESCTYPE_ONE_BUFFER ? rx_queue_ring(m, q) : NULL;
	const bool more = left >= FRAME_BURST + 2 * FETCH_AHEAD;
	struct dma_view view = model_view(m, DMA_WRITE);
	uint64_t bytes = 0;
	unsigned i = from;
	end = !ring ? from : left < end - from ? from + left : end;
	for (; i < end && b->queue[i] == q; i++, left--) {
		const uint32_t length = v[i].bytes;
		for (; fetched < fetches && fetched < left; fetched++)
			fetch(m, &view, ring, wrap(head + fetched, size), size, more);
		uint8_t *buffer = NULL;
		if (length <= most)
			buffer = model_view_reach(m, &view, ring[head].low, length, DMA_WRITE);
		if (buffer == NULL)
			break;
		copy_frame(buffer, v[i].data, length);
		b->plan[i].d = &ring[head];
		bytes += length;
		n->s.prc[size_class(length + 4)]++;
		head = wrap(head + 1, size);
		fetched -= fetched > 0;
	}
	if (i == from)
		return from;
	r->head = head;
	r->fetched = fetched;
	const unsigned stat = rx_stat_index(m, q);
	n->s.qprc[stat] += i - from;
	n->s.qbrc[stat] += bytes;
	b->frames += i - from;
	b->bytes += bytes;
	b->placed = i;
	queue_map_set(touched, q);
	return i;
}

static void burst_write_back(struct burst *b)
{
	for (; b->back < b->placed; b->back++) {
		const struct plan *p = &b->plan[b->back];
		struct rxd *d = p->d;
		__atomic_store_n(&d->low, p->low, __ATOMIC_RELAXED);
		__atomic_store_n(&d->high, p->high, __ATOMIC_RELEASE);
	}
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

/* Places plain frames until one is not plain, or cannot be placed; returns its number. */
static unsigned burst_run(struct model *m, struct burst *b, const struct frame *v, unsigned from,
                          unsigned count, uint64_t touched[2])
{
	if (!b->plain || nic_of(m)->fifo.frames)
		return from;
	b->back = b->placed = from;
	const unsigned planned = burst_plan(m, b, v, from, count);
	while (from < planned) {
		const unsigned next = burst_place(m, b, v, from, planned, touched);
		if (next == from) { /* no plan a second time for those behind it */
			b->plain = false;
			break;
		}
		from = next;
	}
	return from;
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
	for (unsigned i = burst_run(m, &b, v, 0, count, touched); i < count;
	     i = burst_run(m, &b, v, i + 1, count, touched)) {
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
