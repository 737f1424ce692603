/*
 * A worker's side of receive packet steering; steer.h has the rules. To the rest of the runtime each port is a
 * queue (struct nic_ops) without a device: the lanes from and to the owner. The port's counters are counted by
 * the owner, which has the device.
 */
#include "runtime/steer.h"

#include "runtime/shared.h"
#include "lib/mem.h"
#include "lib/number.h"

#define SURPLUS 64 /* buffers beyond the loan that are returned together */
#define RETURNS_A_TURN 256u

static struct {
	unsigned owner, lane; /* core number; index */
	bool open;            /* packets pass */
	uint32_t loan;        /* spare buffers to keep */
	uint64_t tail, head_seen;      /* of the forward lane */
	uint64_t back_head, back_seen; /* of the return lane; back_head is published once a burst */
	struct nic_counters cnt[NIC_PORTS_MAX]; /* for checks of progress, not to be shown */
} worker;

static struct steer_end *end(void)
{
	return &core_shm_of(self.id)->steer_end;
}

static const struct steer_lane *lane(void)
{
	return &core_shm_of(worker.owner)->lane[worker.lane];
}

bool steer_is_worker(const struct published *s)
{
	return s->owner_of[data_index()] != STEER_NOBODY;
}

/* Skips the forward lane, and closes it. Returns how many packets it skipped, which now count as taken. */
static unsigned lane_skip(void)
{
	struct steer_end *e = end();
	unsigned n = 0;
	if (!e->ready)
		return 0;
	const struct steer_lane *l = &core_shm_of((unsigned)e->owner)->lane[e->lane];
	const uint64_t head = shared_load(&l->open) ? shared_load(&l->head) : e->tail;
	for (uint64_t i = e->tail; head - e->tail <= STEER_SLOTS && i != head; i++)
		n += core_steer_lane((unsigned)e->owner, (unsigned)e->lane)[i % STEER_SLOTS].port != STEER_SPARE;
	count_n(CNT_steer_taken, n);
	shared_store(&e->tail, head);
	shared_store(&e->ready, 0);
	return n;
}

void steer_worker_restart(void)
{
	lane_skip();
}

void steer_worker_stop(void)
{
	count_n(CNT_drop_restart, lane_skip());
	worker.open = false;
}

void steer_worker_pool(void)
{
	const struct published *s = published_header();
	const unsigned own = s->owner_of[data_index()];
	worker.owner = data_core(own);
	worker.lane = 0;
	for (unsigned d = 0; d < data_index(); d++)
		worker.lane += s->owner_of[d] == own;
	worker.open = false;
	const struct steer_pool *p = &core_shm_of(worker.owner)->steer_pool;
	self.pool = (struct bufpool){.base = (uint8_t *)(uintptr_t)p->base,
	                             .stack = self.pool.stack,
	                             .count = (uint32_t)u64_min(p->most, self.pool.count),
	                             .stride = (uint32_t)p->stride};
	worker.loan = self.pool.count / 2;
	ring_wake_later(worker.owner); /* it may have to close the lane first */
}

bool steer_worker_waiting(void)
{
	const bool ready = end()->ready, open = shared_load(&lane()->open);
	return ready == open && worker.open != open;
}

COLD static void make_ready(void)
{
	struct steer_end *e = end();
	worker.tail = worker.head_seen = worker.back_head = worker.back_seen = 0;
	e->tail = e->back_head = 0;
	e->owner = worker.owner;
	e->lane = worker.lane;
	shared_store(&e->ready, 1);
	ring_wake_later(worker.owner);
}

static bool back_has_room(unsigned places)
{
	if (worker.back_head + places - worker.back_seen > STEER_SLOTS)
		worker.back_seen = shared_load(&lane()->back_tail);
	return worker.back_head + places - worker.back_seen <= STEER_SLOTS;
}

static void back_put(struct steer_ref r)
{
	core_steer_back(self.id)[worker.back_head++ % STEER_SLOTS] = r;
}

static void back_tell(void)
{
	if (end()->back_head == worker.back_head)
		return;
	shared_store(&end()->back_head, worker.back_head);
	ring_wake_later(worker.owner);
}

/* Returns buffers beyond the loan. Half of the lane stays free for packets. */
static void return_surplus(void)
{
	struct pkt p;
	if (likely(self.pool.free < worker.loan + SURPLUS))
		return;
	for (unsigned n = 0; n < RETURNS_A_TURN && self.pool.free > worker.loan && back_has_room(STEER_SLOTS / 2) &&
	                     pkt_alloc(&self.pool, &p);
	     n++)
		back_put((struct steer_ref){.buf = p.buf, .port = STEER_SPARE});
	back_tell();
}

bool steer_worker_turn(void)
{
	if (unlikely(!worker.open)) {
		const bool open = shared_load(&lane()->open);
		if (!end()->ready && !open)
			make_ready();
		worker.open = end()->ready && open;
		return worker.open;
	}
	return_surplus();
	return false;
}

/* --- the queue of a port --- */

static unsigned rx_burst(struct nic_queue *q, struct pkt *v, unsigned max)
{
	unsigned n = 0;
	const uint64_t from = worker.tail;
	if (!worker.open)
		return 0;
	if (worker.tail == worker.head_seen)
		worker.head_seen = shared_load(&lane()->head);
	for (; n < max && worker.tail != worker.head_seen; worker.tail++) {
		const struct steer_ref *r =
		        &core_steer_lane(worker.owner, worker.lane)[worker.tail % STEER_SLOTS];
		if (r->port == STEER_SPARE) {
			buf_free(q->pool, r->buf);
			continue;
		}
		if (r->port != q->port)
			break;
		v[n++] = (struct pkt){.data = buf_base(q->pool, r->buf) + r->offset,
		                      .buf = r->buf,
		                      .len = r->len,
		                      .flags = r->flags,
		                      .interface = r->interface};
	}
	if (worker.tail == from)
		return 0;
	count_n(CNT_steer_taken, n);
	shared_store(&end()->tail, worker.tail);
	return n;
}

/* Copies a frame that others hold too, or in pieces, into a buffer of its own. False: there is none. */
COLD static bool copy_whole(struct bufpool *pool, const struct pkt *p, struct pkt *to)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	const unsigned frags = p->flags & PKT_CHAIN ? m->frags : 0;
	if (!pkt_alloc(pool, to))
		return false;
	pkt_meta(pool, to->buf)->csum_start = m->csum_start;
	pkt_meta(pool, to->buf)->csum_offset = m->csum_offset;
	pkt_meta(pool, to->buf)->vlan_tci = m->vlan_tci;
	to->flags = p->flags & (uint8_t)~(PKT_SHARED | PKT_CHAIN);
	to->interface = p->interface;
	memcpy(to->data, p->data, p->len);
	to->len = p->len;
	for (unsigned i = 0; i < frags; i++) {
		const struct pkt_frag *f = &pkt_frags(pool, p->buf)[i];
		memcpy(to->data + to->len, buf_at(pool, f->buf, f->offset), f->len);
		to->len = (uint16_t)(to->len + f->len);
	}
	pkt_free(pool, p);
	return true;
}

static unsigned tx_burst(struct nic_queue *q, const struct pkt *v, unsigned n)
{
	unsigned k = 0;
	for (; worker.open && k < n && back_has_room(1); k++) {
		struct pkt p = v[k];
		assert(pkt_bytes(q->pool, &p) <= buf_room(q->pool)); /* core_tx_features() has no TSO */
		if (unlikely(p.flags & (PKT_SHARED | PKT_CHAIN)) && !copy_whole(q->pool, &v[k], &p))
			break;
		back_put((struct steer_ref){.buf = p.buf,
		                            .offset = (uint16_t)(p.data - buf_base(q->pool, p.buf)),
		                            .len = p.len,
		                            .flags = p.flags,
		                            .port = q->port,
		                            .interface = p.interface});
	}
	q->cnt->tx_pkts += k;
	if (k)
		back_tell();
	return k;
}

static bool rx_interrupt(struct nic_queue *q, bool arm)
{
	(void)q;
	(void)arm;
	return worker.open && (worker.tail != worker.head_seen || shared_load(&lane()->head) != worker.tail);
}

static int attach(struct nic_queue *q, const struct nic_shared *shared, unsigned pair, void *mem)
{
	(void)shared;
	(void)pair;
	(void)mem;
	q->cnt = &worker.cnt[q->port];
	return E_OK;
}

const struct nic_ops steer_ops = {
	.name = "steer",
	.attach = attach,
	.rx_burst = rx_burst,
	.tx_burst = tx_burst,
	.rx_interrupt = rx_interrupt,
};
