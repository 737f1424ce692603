/*
 * Message rings between a data core and the control core. Each has one producer and one consumer,
 * which write only their own shared memories: the producer publishes the slot, then the head; the
 * consumer reads the slot, then moves the tail. Frames are copied: this path is cold, and each side
 * keeps its own buffers.
 *
 * Either program may die at any instruction and restart while the other continues. Outboxes survive
 * a program, and so do the positions in them:
 *
 * 1. Heads and tails only grow, and tail <= head <= tail + slots. Neither ever moves back, so no
 * slot is served twice or before it is complete.
 * 2. A restarted producer continues at its head. An unpublished message is overwritten; a published
 *    message is complete and is served.
 * 3. A restarted consumer skips to the head (rings_restart), because the message it was serving may
 *    have caused the failure. A consumer always moves forward, so the producer sees no difference.
 * 4. The geometry (slots, buf_stride) changes only in enter_preparing, when all data cores have
 * released the ports. Data cores do not punt then, and skipped injected messages before they
 * answered; the control core skips the punt rings first. All rings are therefore empty.
 * 5. The other side is untrusted: a head that is not within `slots` of the tail counts as no
 * message, and the next restart of the ports skips to it.
 *
 * A punt ring is divided among the kinds of message, so a flood of one kind does not starve the
 * others, and within a kind among the ports, so a flood by one port does not starve another. Kinds
 * whose rate is limited before are not divided among the ports (control_hooks.punt_whole). Three
 * eighths of the ring are reserved in equal parts for the former kinds, an eighth for the latter; the
 * other half is first come, first served. Only the
 * producer counts the messages in the ring (struct punt_places). The places that the consumer has
 * freed are those between the tail that the producer read last and the current one.
 *
 * A received frame in a punt ring counts as `punted` once its message is published, and as
 * `punt_taken` when the control core begins to serve it or skips it. punt_taken[] in the shared
 * memory identifies the message being served, which a restart must not count twice.
 */
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/mem.h"
#include "lib/number.h"

unsigned ring_from;
static uint64_t wake_mask; /* cores written to in this turn */

static size_t slot_bytes(void)
{
	size_t frame = published_header()->buf_stride - BUF_DATA_OFFSET;
	return align_up(sizeof(struct core_msg) + frame, CACHE_LINE);
}

static struct core_msg *slot(uint64_t ring, uint64_t index)
{
	return (struct core_msg *)(uintptr_t)(ring +
	                                      index % published_header()->slots * slot_bytes());
}

static uint64_t punt_ring(unsigned d)
{
	return self.info->core[data_core(d)].shm + CORE_SHM_AREA;
}

static uint64_t inject_ring(unsigned d)
{
	bool both = self.info->first_data_core == 0;
	return self.info->core[0].shm + CORE_SHM_AREA * (1 + both + (uint64_t)d);
}

static bool is_waiting(uint64_t head, uint64_t tail)
{
	return unlikely(head != tail) && head - tail <= published_header()->slots;
}

/* --- restart --- */

/*
 * Account of the messages in the punt ring. A share is a kind of message from a port, or a whole kind.
 * The shares are kept here and not in the slots, because empty slots may change their size (4). Messages
 * from before a restart of this program belong to no share.
 */
#define PUNT_SHARES (CORE_PUNT_KINDS * NIC_PORTS_MAX + CORE_PUNT_WHOLE)
_Static_assert(PUNT_SHARES <= 256, "a share's number is a byte");
static struct punt_places {
	uint64_t seen; /* the tail as last read; messages before it are no longer counted */
	unsigned slots, ports;   /* for which the ring is divided */
	unsigned part, part_whole; /* places reserved for a share of a kind and port, of a whole kind */
	unsigned kept; /* reserved places that are free, over all shares */
	uint16_t count[PUNT_SHARES];
	uint8_t share[RING_SLOTS_MAX]; /* share of message n, at n % RING_SLOTS_MAX */
} places;

static void places_restart(void)
{
	places = (struct punt_places){.seen = core_shm_of(self.id)->punt_head};
}

void rings_restart(void)
{
	if (self.roles & CORE_DATA) {
		steer_worker_restart();
		ring_inject_skip();
		places_restart();
	}
	if (self.roles & CORE_CONTROL)
		for (unsigned d = 0; d < self.info->data_cores; d++)
			ring_punt_skip(d);
}

/*
 * Every frame that a core receives ends in one fate or is passed on. A difference between the two sides
 * is therefore the number of frames being processed:
 *     data role      received + steer_taken = fates + punted + steered
 *     control role   punt_taken = fates (+ frames that wait for a neighbour)
 */
uint64_t ring_deficit(unsigned core)
{
	const struct core_shm *o = core_shm_of(core);
	uint32_t roles = self.info->core[core].roles;
	uint64_t n = 0;
	if (roles & CORE_DATA) {
		for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
			n += o->nic[p].rx_pkts;
		n -= o->counters.v[CNT_punted] + o->counters.v[CNT_steered];
		n += o->counters.v[CNT_steer_taken];
	}
	if (roles & CORE_CONTROL)
		n += o->counters.v[CNT_punt_taken];
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counter_desc[i].kind != COUNTER_INFO)
			n -= o->counters.v[i];
	return n;
}

void ring_account_restart(void)
{
	count_n(CNT_drop_restart, ring_deficit(self.id));
}

unsigned core_frame_max(void)
{
	return published_header()->buf_stride - BUF_DATA_OFFSET;
}

/* --- punt: data core to control core --- */

static void fill(struct core_msg *m, const uint8_t *frame, unsigned len)
{
	m->len = (uint16_t)len;
	memcpy(m->frame, frame, len);
}

/* Fills the message with a packet, in one piece or several. */
static void fill_packet(struct core_msg *m, const struct pkt *p)
{
	const struct pkt_frag *f = pkt_frags(&self.pool, p->buf);
	fill(m, p->data, p->len);
	for (unsigned n = p->flags & PKT_CHAIN ? pkt_meta(&self.pool, p->buf)->frags : 0; n; n--, f++) {
		memcpy(m->frame + m->len, buf_at(&self.pool, f->buf, f->offset), f->len);
		m->len = (uint16_t)(m->len + f->len);
	}
}

/* Shares of whole kinds follow those of kinds and ports. */
#define SHARE_WHOLE (CORE_PUNT_KINDS * NIC_PORTS_MAX)

static unsigned places_of(unsigned share)
{
	return share < SHARE_WHOLE ? places.part : places.part_whole;
}

static void places_give_back(uint64_t tail)
{
	for (; places.seen < tail; places.seen++) {
		unsigned share = places.share[places.seen % RING_SLOTS_MAX];
		places.kept += places.count[share]-- <= places_of(share);
	}
}

/* Reserves its parts of the ring, whose size changes only while no message of ours is in it (4). */
static void places_divide(const struct published *s)
{
	const struct control_hooks *c = core_app()->control;
	const unsigned divided = c->punt_kinds * s->ports, whole = c->punt_whole;
	if (likely(places.slots == s->slots && places.ports == s->ports))
		return;
	places.slots = s->slots;
	places.ports = s->ports;
	places.part = s->slots * 3 / 8 / divided;
	places.part_whole = whole ? s->slots / 8 / whole : 0;
	places.kept = places.part * divided + places.part_whole * whole;
}

/* The share of a message: its kind and, if the kind is divided among the ports, the port whose packets
 * are being handled. */
static unsigned share_of(uint32_t kind)
{
	const struct control_hooks *c = core_app()->control;
	assert(kind < c->punt_kinds + c->punt_whole && ring_from < published_header()->ports);
	return kind < c->punt_kinds ? kind * NIC_PORTS_MAX + ring_from
	                            : SHARE_WHOLE + kind - c->punt_kinds;
}

/* True if the punt ring, whose next slot is head, has room for another message of this share. */
static bool punt_has_room(uint64_t head, unsigned share)
{
	const struct published *s = published_header();
	uint64_t tail = shared_load(&core_shm_of(0)->punt_tail[data_index()]), used = head - tail;
	if (used >= s->slots) /* full, or the tail is invalid (5) */
		return false;
	places_give_back(tail);
	places_divide(s);
	return places.count[share] < places_of(share) || s->slots - used > places.kept;
}

static void places_take(uint64_t index, unsigned share)
{
	places.share[index % RING_SLOTS_MAX] = (uint8_t)share;
	places.kept -= places.count[share]++ < places_of(share);
}

/* Copies the packet into the punt ring, counts it and frees it. `flags` are the message's. */
static void punt(const struct pkt *p, unsigned flags, uint32_t kind, uint32_t arg)
{
	struct core_shm *out = core_shm_of(self.id);
	bool own = flags & PKT_OWN;
	uint64_t head = out->punt_head;
	unsigned share = share_of(kind);
	if (punt_has_room(head, share) && pkt_bytes(&self.pool, p) <= core_frame_max()) {
		struct core_msg *m = slot(punt_ring(data_index()), head);
		fill_packet(m, p);
		m->port = p->interface;
		m->flags = (uint8_t)(flags & ~(unsigned)(PKT_SHARED | PKT_CHAIN));
		m->kind = kind;
		m->arg = arg;
		m->core = (uint16_t)self.id;
		m->traced = core_trace.number;
		core_trace.messages++;
		places_take(head, share);
		shared_store(&out->punt_head, head + 1);
		count_n(CNT_punted, !own);
		wake_mask |= 1;
	} else {
		count_at(p->interface, own ? CNT_originated_drop_tx : CNT_drop_punt_full);
		core_event_seldom(EVENT_punt_full, kind, self.counters->v[CNT_drop_punt_full]);
	}
	pkt_free(&self.pool, p);
}

void core_punt(const struct pkt *p, uint32_t kind, uint32_t arg)
{
	punt(p, p->flags & ~(unsigned)PKT_OWN, kind, arg);
}

void core_punt_own(const struct pkt *p, uint32_t kind, uint32_t arg)
{
	struct pkt whole = *p;
	if (unlikely(p->flags & (PKT_TSO | PKT_USO))) {
		core_drop(p, CNT_originated_drop_tx);
		return;
	}
	pkt_csum_complete(&self.pool, &whole);
	punt(&whole, whole.flags | (unsigned)PKT_OWN, kind, arg);
}

static bool punt_is_waiting(unsigned d)
{
	return is_waiting(shared_load(&core_shm_of(data_core(d))->punt_head),
	                  core_shm_of(self.id)->punt_tail[d]);
}

/* Counts message `index` as taken by the control core, once. */
static void punt_book(unsigned d, uint64_t index, const struct core_msg *m)
{
	struct core_shm *out = core_shm_of(self.id);
	if (out->punt_taken[d] > index)
		return;
	out->punt_taken[d] = index + 1;
	count_n(CNT_punt_taken, !(m->flags & PKT_OWN));
}

struct core_msg *ring_punt_next(unsigned d)
{
	uint64_t tail = core_shm_of(self.id)->punt_tail[d];
	if (!punt_is_waiting(d))
		return NULL;
	struct core_msg *m = slot(punt_ring(d), tail);
	punt_book(d, tail, m);
	return m;
}

void ring_punt_done(unsigned d)
{
	struct core_shm *out = core_shm_of(self.id);
	shared_store(&out->punt_tail[d], out->punt_tail[d] + 1);
}

void ring_punt_skip(unsigned d)
{
	struct core_shm *out = core_shm_of(self.id);
	uint64_t head = shared_load(&core_shm_of(data_core(d))->punt_head);
	uint64_t before = self.counters->v[CNT_punt_taken];
	if (is_waiting(head, out->punt_tail[d]))
		for (uint64_t i = out->punt_tail[d]; i != head; i++)
			punt_book(d, i, slot(punt_ring(d), i));
	count_n(CNT_drop_restart, self.counters->v[CNT_punt_taken] - before);
	out->punt_taken[d] = head;
	shared_store(&out->punt_tail[d], head);
}

void core_punt_mark(struct core_punt_mark *m)
{
	for (unsigned d = 0; d < self.info->data_cores; d++)
		m->head[d] = shared_load(&core_shm_of(data_core(d))->punt_head);
}

bool core_punt_passed(const struct core_punt_mark *m)
{
	const struct core_shm *out = core_shm_of(self.id);
	for (unsigned d = 0; d < self.info->data_cores; d++)
		if (is_waiting(m->head[d], out->punt_tail[d]))
			return false;
	return true;
}

/* --- inject: control core to data core --- */

unsigned core_data_count(void)
{
	return core_ports_running() ? published_header()->pairs : 0;
}

int core_pair_of(unsigned core)
{
	unsigned d = core - self.info->first_data_core;
	if (!core_ports_running() || d >= self.info->data_cores ||
	    published_header()->pair_of[d] == NO_PAIR)
		return E_NOENT;
	return published_header()->pair_of[d];
}

int core_pair_serving(unsigned core)
{
	const unsigned d = core - self.info->first_data_core;
	const bool takes = core_ports_running() && d < self.info->data_cores &&
	                   published_header()->owner_of[d] != STEER_NOBODY;
	return takes ? published_header()->pair_of[published_header()->owner_of[d]] : core_pair_of(core);
}

int core_steered_from(unsigned core)
{
	const unsigned d = core - self.info->first_data_core;
	if (!core_ports_running() || d >= self.info->data_cores || published_header()->owner_of[d] == STEER_NOBODY)
		return E_NOENT;
	return (int)data_core(published_header()->owner_of[d]);
}

/* The index of the data core that polls `pair` < core_data_count(). */
static unsigned holder(unsigned pair)
{
	unsigned d = 0;
	while (published_header()->pair_of[d] != pair)
		d++;
	return d;
}

int core_inject(unsigned pair, unsigned port, const uint8_t *frame, unsigned len, uint32_t kind,
                uint32_t arg)
{
	if (pair >= core_data_count())
		return len > core_frame_max() ? E_INVAL : E_AGAIN;
	return core_inject_to(data_core(holder(pair)), port, frame, len, kind, arg);
}

/* --- a message of several slots: a packet that the device segments --- */

/*
 * The first slot has the headers, and in arg the packet's mss, csum_start and the number of slots behind it. These are
 * filled with its other bytes. The head moves once, so the consumer sees all of them or none.
 */
static uint32_t whole_arg(const struct pkt_meta *meta, unsigned slots)
{
	return (uint32_t)meta->mss << 16 | (uint32_t)meta->csum_start << 8 | slots;
}

static unsigned inject_room(unsigned d)
{
	const uint64_t tail = shared_load(&core_shm_of(data_core(d))->inject_tail);
	const uint64_t used = core_shm_of(self.id)->inject_head[d] - tail;
	const unsigned slots = published_header()->slots;
	return used < slots ? slots - (unsigned)used : 0;
}

unsigned core_inject_room(unsigned pair)
{
	return pair < core_data_count() ? inject_room(holder(pair)) : 0;
}

unsigned core_inject_slots(const struct bufpool *pool, const struct pkt *p)
{
	const unsigned most = core_frame_max();
	return 1 + (pkt_meta(pool, p->buf)->frag_bytes + most - 1) / most;
}

/* Copies the packet's pieces into slots from index on; each but the last one is full. */
static void fill_slots(uint64_t ring, uint64_t index, const struct bufpool *pool, const struct pkt *p)
{
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	struct core_msg *m = slot(ring, index);
	m->len = 0;
	for (unsigned n = pkt_meta(pool, p->buf)->frags; n; n--, f++) {
		const uint8_t *from = buf_at(pool, f->buf, f->offset);
		for (unsigned left = f->len; left;) {
			if (m->len == core_frame_max()) {
				m = slot(ring, ++index);
				m->len = 0;
			}
			const unsigned part = u32_min(left, core_frame_max() - m->len);
			memcpy(m->frame + m->len, from, part);
			m->len = (uint16_t)(m->len + part);
			from += part;
			left -= part;
		}
	}
}

int core_inject_whole(unsigned pair, unsigned port, const struct bufpool *pool, const struct pkt *p, uint32_t kind)
{
	struct core_shm *out = core_shm_of(self.id);
	const struct pkt_meta *meta = pkt_meta(pool, p->buf);
	const unsigned slots = core_inject_slots(pool, p);
	assert(p->flags & PKT_TSO && p->flags & PKT_CHAIN && p->flags & PKT_CSUM_PARTIAL && meta->csum_start <= 0xff);
	if (slots > 1 + PKT_FRAGS_MAX)
		return E_INVAL;
	if (core_inject_room(pair) < slots)
		return E_AGAIN;
	const unsigned d = holder(pair);
	const uint64_t head = out->inject_head[d];
	struct core_msg *m = slot(inject_ring(d), head);
	fill(m, p->data, p->len);
	*m = (struct core_msg){.len = p->len, .port = (uint8_t)port, .flags = p->flags, .kind = kind,
	                       .arg = whole_arg(meta, slots - 1), .core = (uint16_t)self.id};
	fill_slots(inject_ring(d), head + 1, pool, p);
	shared_store(&out->inject_head[d], head + slots);
	count(CNT_injected);
	wake_mask |= 1ull << data_core(d);
	return E_OK;
}

/* Takes the slots behind a first one into buffers, as the packet's pieces. False: a slot is wrong. */
static bool take_pieces(const struct pkt *p, uint64_t from, unsigned slots)
{
	struct pkt_meta *meta = pkt_meta(&self.pool, p->buf);
	struct pkt_frag *frag = pkt_frags(&self.pool, p->buf);
	uint32_t bytes = 0;
	for (; meta->frags < slots; meta->frags++, from++) {
		const struct core_msg *m = slot(inject_ring(data_index()), from);
		const unsigned len = m->len;
		struct pkt piece;
		bytes += len;
		if (len == 0 || len > core_frame_max() || bytes + p->len > 0xffff || !pkt_alloc(&self.pool, &piece))
			return false;
		memcpy(piece.data, m->frame, len);
		pkt_meta(&self.pool, piece.buf)->refs = 1;
		const uint16_t at = (uint16_t)(piece.data - buf_base(&self.pool, piece.buf));
		frag[meta->frags] = (struct pkt_frag){piece.buf, at, (uint16_t)len};
		meta->frag_bytes = (uint16_t)bytes;
	}
	return true;
}

#define WHOLE_HEADERS (BUF_FRAGS_OFFSET - BUF_DATA_OFFSET)
#define TCP_CSUM_OFFSET 16u /* RFC 9293 3.1 */

/* Makes the packet of a first slot; it is not checked yet. */
static enum counter take_whole(const struct core_msg *m, struct pkt *p, uint64_t tail, unsigned slots)
{
	const uint32_t arg = m->arg;
	const unsigned len = m->len, csum_start = arg >> 8 & 0xff;
	if (!(core_tx_features() & NIC_TSO) || slots == 0 || slots > PKT_FRAGS_MAX || len > WHOLE_HEADERS ||
	    csum_start + TCP_CSUM_OFFSET + 2 > len || arg >> 16 == 0)
		return CNT_originated_drop_tx;
	if (self.pool.free < 1 + slots || !pkt_alloc(&self.pool, p))
		return CNT_originated_drop_no_buffer;
	memcpy(p->data, m->frame, len);
	p->len = (uint16_t)len;
	p->interface = m->port;
	p->flags = PKT_OWN | PKT_TSO | PKT_CHAIN | PKT_CSUM_PARTIAL;
	struct pkt_meta *meta = pkt_meta(&self.pool, p->buf);
	meta->csum_start = (uint16_t)csum_start;
	meta->csum_offset = TCP_CSUM_OFFSET;
	meta->mss = (uint16_t)(arg >> 16);
	meta->hdr_bytes = (uint16_t)len;
	meta->frags = 0;
	meta->frag_bytes = 0;
	if (take_pieces(p, tail + 1, slots))
		return CNT_NONE;
	pkt_free(&self.pool, p);
	return CNT_originated_drop_tx;
}

bool ring_inject_whole(const struct core_msg *m, struct pkt *p)
{
	struct core_shm *out = core_shm_of(self.id);
	const uint64_t tail = out->inject_tail, there = shared_load(&core_shm_of(0)->inject_head[data_index()]) - tail;
	unsigned slots = m->arg & 0xff;
	enum counter fate = CNT_originated_drop_tx;
	if (slots < there)
		fate = take_whole(m, p, tail, slots);
	else
		slots = 0;
	if (fate != CNT_NONE)
		count(fate);
	shared_store(&out->inject_tail, tail + 1 + slots);
	return fate == CNT_NONE;
}

int core_inject_to(unsigned core, unsigned port, const uint8_t *frame, unsigned len, uint32_t kind, uint32_t arg)
{
	struct core_shm *out = core_shm_of(self.id);
	const unsigned d = core - self.info->first_data_core;
	if (len > core_frame_max())
		return E_INVAL;
	if (core_pair_serving(core) < 0)
		return E_AGAIN;
	uint64_t head = out->inject_head[d];
	if (head - shared_load(&core_shm_of(data_core(d))->inject_tail) >= published_header()->slots)
		return E_AGAIN;
	struct core_msg *m = slot(inject_ring(d), head);
	fill(m, frame, len);
	m->port = (uint8_t)port;
	m->flags = 0;
	m->kind = kind;
	m->arg = arg;
	m->core = (uint16_t)self.id;
	m->traced = 0;
	shared_store(&out->inject_head[d], head + 1);
	count(CNT_injected);
	wake_mask |= 1ull << data_core(d);
	return E_OK;
}

struct core_msg *ring_inject_next(void)
{
	uint64_t tail = core_shm_of(self.id)->inject_tail;
	if (!is_waiting(shared_load(&core_shm_of(0)->inject_head[data_index()]), tail))
		return NULL;
	return slot(inject_ring(data_index()), tail);
}

void ring_inject_done(void)
{
	struct core_shm *out = core_shm_of(self.id);
	shared_store(&out->inject_tail, out->inject_tail + 1);
}

void ring_inject_skip(void)
{
	struct core_shm *out = core_shm_of(self.id);
	uint64_t head = shared_load(&core_shm_of(0)->inject_head[data_index()]);
	if (is_waiting(head, out->inject_tail))
		count_n(CNT_originated_drop_tx, head - out->inject_tail);
	shared_store(&out->inject_tail, head);
}

/* --- sleep --- */

void ring_wake_later(unsigned core)
{
	if (likely(core < 64)) {
		wake_mask |= 1ull << core;
		return;
	}
	barrier_full();
	if (shared_load(&core_shm_of(core)->parked))
		kcall(KCALL_WAKE, core, 0, 0);
}

void ring_wake_peers(void)
{
	if (likely(wake_mask == 0))
		return;
	barrier_full(); /* the messages are visible before `parked` is read */
	for (unsigned i = 0; wake_mask; i++, wake_mask >>= 1)
		if (wake_mask & 1 && i != self.id && shared_load(&core_shm_of(i)->parked))
			kcall(KCALL_WAKE, i, 0, 0);
}

bool ring_messages_waiting(void)
{
	if (self.roles & CORE_DATA && ring_inject_next())
		return true;
	if (self.roles & CORE_CONTROL)
		for (unsigned d = 0; d < self.info->data_cores; d++)
			if (punt_is_waiting(d))
				return true;
	return false;
}
