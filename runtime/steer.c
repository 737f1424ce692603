/* The owner's side of receive packet steering; steer.h has the rules. */
#include "runtime/steer.h"

#include "runtime/flow.h"
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/mem.h"
#include "lib/number.h"

#define COLLECT 256u     /* references taken from a worker in one turn */
#define SPARES_A_TURN 256u
#define FLAGS_BACK (PKT_CSUM_PARTIAL | PKT_CSUM_OK | PKT_OWN | PKT_VLAN) /* that a worker may set */

unsigned steer_workers;

static struct {
	unsigned core; /* its number */
	uint64_t head, tail_seen; /* of the forward lane; head is published once a burst */
	uint32_t has; /* buffers */
	uint32_t steered; /* packets put since head was published */
	bool failed; /* since the lane was opened its program has failed: it has no buckets */
} workers[STEER_WORKERS_MAX];
static uint8_t target[STEER_BUCKETS]; /* 0: this core; w + 1: worker w */
static uint8_t *lent; /* by buffer: w + 1: worker w has it */
static uint32_t most; /* buffers that a worker may have */
static uint64_t seed;

static struct core_shm *out(void)
{
	return core_shm_of(self.id);
}

static const struct steer_end *end_of(unsigned core)
{
	return &core_shm_of(core)->steer_end;
}

/* --- buckets --- */

/* Buckets are dealt to the owner and its workers in turn. Those of a worker that is away are the owner's. */
static void buckets_deal(void)
{
	for (unsigned b = 0; b < STEER_BUCKETS; b++) {
		const unsigned t = b % (steer_workers + 1);
		target[b] = (uint8_t)(t && out()->lane[t - 1].open && !workers[t - 1].failed ? t : 0);
	}
}

/* --- start and stop --- */

/* Counts the packets that the worker has not taken as lost. They were not passed, so they do not count as
 * steered. */
static void lane_book_rest(unsigned w, unsigned core)
{
	const uint64_t tail = shared_load(&end_of(core)->tail), head = out()->lane[w].head;
	if (head - tail > STEER_SLOTS)
		return; /* not the worker's position */
	for (uint64_t i = tail; i != head; i++) {
		const struct steer_ref *r = &core_steer_lane(self.id, w)[i % STEER_SLOTS];
		if (r->port == STEER_SPARE)
			continue;
		count_at(r->interface, CNT_drop_restart);
		count_n(CNT_steered, UINT64_MAX); /* minus one */
	}
}

void steer_prepare(const struct published *s, uint8_t *map)
{
	struct steer_pool *p = &out()->steer_pool;
	for (unsigned w = 0; w < STEER_WORKERS_MAX; w++) {
		struct steer_lane *l = &out()->lane[w];
		if (l->open)
			lane_book_rest(w, (unsigned)l->worker);
		shared_store(&l->open, 0);
	}
	lent = map;
	*p = (struct steer_pool){0};
	if (!map)
		return;
	unsigned n = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		n += s->owner_of[d] == data_index();
	memset(map, 0, self.pool.count);
	const struct core_memory *m = &self.info->core[self.id];
	most = self.pool.count / (2 * n);
	*p = (struct steer_pool){.base = (uint64_t)(uintptr_t)self.pool.base,
	                         .bytes = m->arena + m->arena_bytes - (uint64_t)(uintptr_t)self.pool.base,
	                         .count = self.pool.count,
	                         .stride = self.pool.stride,
	                         .most = most};
}

void steer_start(const struct published *s)
{
	unsigned n = 0;
	if (lent)
		core_random(&seed, sizeof seed);
	for (unsigned d = 0; d < self.info->data_cores && lent; d++)
		if (s->owner_of[d] == data_index()) {
			memset(&workers[n], 0, sizeof workers[n]);
			workers[n++].core = data_core(d);
		}
	steer_workers = n;
	buckets_deal();
}

void steer_stop(void)
{
	steer_workers = 0;
}

/* --- to a worker --- */

/* True if the forward lane has room for a reference and `beside` others. */
static bool lane_has_room(unsigned w, unsigned beside)
{
	if (workers[w].head - workers[w].tail_seen + beside < STEER_SLOTS)
		return true;
	const uint64_t tail = shared_load(&end_of(workers[w].core)->tail);
	if (workers[w].head - tail <= STEER_SLOTS) /* else it is not the worker's position */
		workers[w].tail_seen = tail;
	return workers[w].head - workers[w].tail_seen + beside < STEER_SLOTS;
}

static void lane_put(unsigned w, struct steer_ref r)
{
	core_steer_lane(self.id, w)[workers[w].head++ % STEER_SLOTS] = r;
	lent[r.buf] = (uint8_t)(w + 1);
	workers[w].has++;
}

/* Publishes what has been put into the lane. */
static void lane_tell(unsigned w)
{
	if (workers[w].head == out()->lane[w].head)
		return;
	count_n(CNT_steered, workers[w].steered);
	workers[w].steered = 0;
	shared_store(&out()->lane[w].head, workers[w].head);
	ring_wake_later(workers[w].core);
}

unsigned steer_out(struct pkt *v, unsigned n)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct pkt *p = &v[i];
		const uint64_t hash = flow_hash(seed, p->data, p->len);
		const unsigned t = hash ? target[hash >> 56] : 0;
		if (t == 0) {
			v[kept++] = *p;
		} else if (workers[t - 1].has >= most || !lane_has_room(t - 1, 0)) {
			core_drop(p, CNT_drop_steer_full);
		} else {
			lane_put(t - 1, (struct steer_ref){.buf = p->buf,
			                                   .offset = (uint16_t)(p->data - buf_base(&self.pool, p->buf)),
			                                   .len = p->len,
			                                   .flags = p->flags,
			                                   .port = p->interface,
			                                   .interface = p->interface});
			workers[t - 1].steered++;
		}
	}
	for (unsigned w = 0; w < steer_workers; w++)
		lane_tell(w);
	return kept;
}

/* Lends spare buffers up to half of what the worker may have. Half of the lane stays free for packets. */
static bool lend_spares(unsigned w)
{
	unsigned n = 0;
	struct pkt p;
	for (; workers[w].has < most / 2 && n < SPARES_A_TURN && self.pool.free > self.pool.count / 4 &&
	       lane_has_room(w, STEER_SLOTS / 2) && pkt_alloc(&self.pool, &p);
	     n++)
		lane_put(w, (struct steer_ref){.buf = p.buf, .port = STEER_SPARE});
	lane_tell(w);
	return n > 0;
}

/* --- from a worker --- */

/* Takes one reference. False: its port is paused. */
static bool take(unsigned w, const struct steer_ref *r, bool all)
{
	if (r->buf >= self.pool.count || lent[r->buf] != w + 1) {
		count(CNT_steer_refused);
		return true;
	}
	const bool sane = r->port < published_header()->ports && r->offset >= BUF_FRAME_LEAST && r->len > 0 &&
	                  (uint32_t)r->offset + r->len <= self.pool.stride && !(r->flags & ~FLAGS_BACK);
	if (sane && !all && data_is_paused(r->port))
		return false;
	lent[r->buf] = 0;
	workers[w].has--;
	if (sane) {
		core_tx(r->port, &(struct pkt){.data = buf_base(&self.pool, r->buf) + r->offset,
		                               .buf = r->buf,
		                               .len = r->len,
		                               .flags = r->flags,
		                               .interface = r->interface});
		return true;
	}
	if (r->port != STEER_SPARE)
		count(CNT_steer_refused);
	buf_free(&self.pool, r->buf);
	return true;
}

/* Takes what the worker has returned, at most COLLECT references; `all`: packets of paused ports too. Returns
 * how many it took. */
static unsigned collect(unsigned w, bool all)
{
	struct steer_lane *l = &out()->lane[w];
	const uint64_t waiting = shared_load(&end_of(workers[w].core)->back_head) - l->back_tail;
	unsigned n = 0;
	if (waiting == 0 || waiting > STEER_SLOTS)
		return 0;
	for (; n < waiting && n < COLLECT; n++) {
		const struct steer_ref r = core_steer_back(workers[w].core)[(l->back_tail + n) % STEER_SLOTS];
		if (!take(w, &r, all))
			break;
	}
	if (n == 0)
		return 0;
	shared_store(&l->back_tail, l->back_tail + n);
	return n;
}

static bool is_there(unsigned w)
{
	return shared_load(&end_of(workers[w].core)->ready) &&
	       self.info->status[workers[w].core].state != CORE_DEAD;
}

static bool has_failed(unsigned w)
{
	return self.info->status[workers[w].core].state == CORE_FAILED && !workers[w].failed;
}

COLD static void lane_open(unsigned w)
{
	struct steer_lane *l = &out()->lane[w];
	workers[w].head = workers[w].tail_seen = 0;
	workers[w].failed = false;
	l->head = l->back_tail = 0;
	l->worker = workers[w].core;
	shared_store(&l->open, 1);
	buckets_deal();
	ring_wake_later(workers[w].core);
	core_event(EVENT_steer, workers[w].core, 1);
}

/* The worker's program has failed and is not started again yet. Its flows go by this core from now on. Its buffers
 * stay lent until lane_close, because the kernel's report shows the packets in them. */
COLD static void lane_fail(unsigned w)
{
	while (collect(w, true) > 0)
		;
	workers[w].failed = true;
	buckets_deal();
}

/* The worker is gone. Takes back its buffers. */
COLD static void lane_close(unsigned w)
{
	struct steer_lane *l = &out()->lane[w];
	while (collect(w, true) > 0)
		;
	lane_book_rest(w, workers[w].core);
	for (uint32_t b = 0; b < self.pool.count; b++)
		if (lent[b] == w + 1) {
			lent[b] = 0;
			buf_free(&self.pool, b);
		}
	workers[w].has = 0;
	shared_store(&l->open, 0);
	buckets_deal();
	ring_wake_later(workers[w].core);
	core_event(EVENT_steer, workers[w].core, 0);
}

bool steer_turn(void)
{
	bool moved = false;
	for (unsigned w = 0; w < steer_workers; w++) {
		const bool there = is_there(w), open = out()->lane[w].open;
		if (likely(there && open)) {
			if (unlikely(has_failed(w)))
				lane_fail(w);
			moved |= collect(w, false) > 0;
			moved |= !workers[w].failed && lend_spares(w);
		} else if (there != open) {
			if (open)
				lane_close(w);
			else
				lane_open(w);
			moved = true;
		}
	}
	return moved;
}

bool steer_waiting(void)
{
	for (unsigned w = 0; w < steer_workers; w++) {
		const struct steer_lane *l = &out()->lane[w];
		if (is_there(w) != (bool)l->open ||
		    (l->open && shared_load(&end_of(workers[w].core)->back_head) != l->back_tail))
			return true;
	}
	return false;
}
