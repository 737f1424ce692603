/*
 * Completion queues ("Completion Queues"): the device writes an entry; when the queue is armed, an
 * event follows. The guest publishes its position in the doorbell record in its memory: the first
 * word is the consumer counter, the second the word that last armed the queue. The doorbell in the
 * UAR repeats the second word.
 *
 *     FIRED --doorbell--> ARMED --an entry beyond the counter in the doorbell--> event, FIRED
 *
 * The owner bit of an entry is bit 0 of the number of the pass over the queue, which starts at 0.
 * Moderation: the event waits for cq_max_count entries or until cq_period has passed; if either is
 * 0, there is no moderation.
 *
 * Compression (LINUX and DPDK, which read it): entries of consecutive frames in an RQ that differ
 * only in byte count, checksum and hash form a session, which occupies one place per frame. The
 * first place holds the title: the first frame's entry with another format in the last byte, and
 * with the number of frames instead of the byte count. Mini CQEs of all the frames follow, eight in
 * a place: in the second, the ninth, the seventeenth and so on. All other places are left
 * unchanged. The guest must ensure that these do not look new; the model checks this.
 *
 * A session ends with an entry that does not fit, with SESSION_MAX frames, or with the burst of
 * frames, which stands for the device's time limit. A session of one frame is written as a plain
 * entry. Not implemented: stride indices, flow tags and header types in mini CQEs, and the enhanced
 * layout.
 *
 * In line-rate mode doorbells are not seen: the record is read from time to time. An unwritten
 * record looks like one that arms, so a new queue counts as armed.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

enum { DBR_CI = 0, DBR_ARM = 4 };

static uint32_t size_of(const struct cq *q)
{
	return 1u << q->ring.log_size;
}

/* --- commands --- */

static enum status check(struct model *m, struct command *c, const uint8_t *context,
                         const struct cq *q)
{
	if (q->ring.log_size > LOG_CQ_SIZE_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "2^%u entries", q->ring.log_size);
	if (field_get(context, CQC_CQE_SIZE))
		return refuse(m, c, STATUS_BAD_PARAM, "only whole entries of 64 bytes");
	if (field_get(context, CQC_MINI_FORMAT) > (q->compress ? MINI_CHECKSUM : 0))
		return refuse(m, c, STATUS_BAD_PARAM, "mini CQEs of format %u", q->format);
	if (q->dbr % DBR_BYTES ||
	    model_dma(m, q->dbr, DBR_BYTES, DMA_READ, "doorbell record of a CQ") == NULL)
		return refuse(m, c, STATUS_BAD_PARAM, "doorbell record");
	if (object_find(m, UAR, q->uar) == NULL)
		return object_missing(m, c, UAR, q->uar);
	if (object_find(m, EQ, q->eqn) == NULL)
		return object_missing(m, c, EQ, q->eqn);
	return STATUS_OK;
}

enum status cq_create(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + CQC_AT;
	struct cq new = {.dbr = be64(context + CQC_DBR),
	                 .uar = field_get(context, CQC_UAR),
	                 .eqn = field_get(context, CQC_EQN),
	                 .overrun_ignored = field_get(context, CQC_OVERRUN_IGNORE),
	                 .period_us = field_get(context, CQC_PERIOD),
	                 .max_count = field_get(context, CQC_MAX_COUNT),
	                 .event_due = NEVER,
	                 .compress = field_get(context, CQC_COMPRESS),
	                 .format = field_get(context, CQC_MINI_FORMAT),
	                 .ring = {.log_size = (uint8_t)field_get(context, CQC_LOG_SIZE),
	                          .log_stride = 6,
	                          .log_page = (uint8_t)(12 + field_get(context, CQC_LOG_PAGE))}};
	enum status status = check(m, c, context, &new);
	if (status == STATUS_OK)
		status = ring_make(m, c, &new.ring, CQ_PAS_AT);
	if (status != STATUS_OK)
		return status;
	struct cq *q = object_new(m, CQ);
	if (q == NULL) {
		ring_free(&new.ring);
		return object_none_left(m, c, CQ);
	}
	*q = new;
	memcpy(q->context, context, sizeof q->context);
	object_hold(m, UAR, q->uar);
	object_hold(m, EQ, q->eqn);
	return object_made(m, c, CQ, q);
}

void cq_destroy(struct model *m, void *object)
{
	struct cq *q = object;
	object_drop(m, UAR, q->uar);
	object_drop(m, EQ, q->eqn);
	ring_free(&q->ring);
}

enum status cq_query(struct model *m, struct command *c)
{
	static const uint8_t states[] = {[CQ_FIRED] = CQ_STATE_FIRED, [CQ_ARMED] = CQ_STATE_ARMED,
	                                 [CQ_ARMED_SOLICITED] = CQ_STATE_ARMED_SOLICITED};
	const uint32_t number = field_get(c->in, IN_NUMBER);
	const struct cq *q = object_find(m, CQ, number);
	uint8_t *context = c->out + CQC_AT;
	if (q == NULL)
		return object_missing(m, c, CQ, number);
	memcpy(context, q->context, sizeof q->context);
	field_set(context, CQC_STATUS, q->error ? CQ_STATUS_OVERFLOW : 0);
	field_set(context, CQC_STATE, states[q->arm]);
	field_set(context, CQC_PERIOD, q->period_us);
	field_set(context, CQC_MAX_COUNT, q->max_count);
	field_set(context, CQC_CI, q->ci);
	field_set(context, CQC_PI, q->pi);
	return STATUS_OK;
}

enum status cq_modify(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER), what = field_get(c->in, CQ_MODIFY);
	struct cq *q = object_find(m, CQ, number);
	if (q == NULL)
		return object_missing(m, c, CQ, number);
	if (field_get(c->in, IN_OP_MOD))
		return refuse(m, c, STATUS_BAD_PARAM, "cannot be resized");
	if (what & ~(uint32_t)(CQ_MODIFY_PERIOD | CQ_MODIFY_COUNT | CQ_MODIFY_OVERRUN |
	                       CQ_MODIFY_MODE))
		return refuse(m, c, STATUS_BAD_PARAM, "fields 0x%x", what);
	if (what & CQ_MODIFY_PERIOD)
		q->period_us = field_get(c->in + CQC_AT, CQC_PERIOD);
	if (what & CQ_MODIFY_COUNT)
		q->max_count = field_get(c->in + CQC_AT, CQC_MAX_COUNT);
	if (what & CQ_MODIFY_OVERRUN)
		q->overrun_ignored = field_get(c->in + CQC_AT, CQC_OVERRUN_IGNORE);
	return STATUS_OK;
}

/* --- events --- */

static void send_event(struct model *m, struct cq *q)
{
	q->arm = CQ_FIRED;
	q->unreported = 0;
	q->event_due = NEVER;
	eq_completion(m, q->eqn, object_number(m, CQ, q));
}

/* Reports entries to the guest, which has armed the queue, now or when moderation allows. */
static void report(struct model *m, struct cq *q)
{
	struct nic *n = nic_of(m);
	if (q->period_us == 0 || q->max_count == 0 || q->unreported >= q->max_count) {
		send_event(m, q);
	} else if (q->event_due == NEVER) {
		q->event_due = m->now + q->period_us * 1000ull;
		if (q->event_due < n->cq_due)
			n->cq_due = q->event_due;
	}
}

/* Whether `a` comes before `b` among counters of 24 bits. */
static bool before(uint32_t a, uint32_t b)
{
	return ((b - a) & COUNTER_MASK) - 1 < COUNTER_MASK / 2;
}

static void arm(struct model *m, struct cq *q, uint32_t word)
{
	const uint32_t ci = word & COUNTER_MASK;
	q->arm_word = word;
	q->arm = word & CQ_SOLICITED ? CQ_ARMED_SOLICITED : CQ_ARMED;
	q->unreported = 0;
	if (q->arm == CQ_ARMED ? before(ci, q->pi) : before(ci, q->solicited)) {
		q->unreported = (q->pi - ci) & COUNTER_MASK;
		report(m, q);
	}
}

void cq_doorbell(struct model *m, uint32_t uar, uint32_t word, uint32_t cqn)
{
	struct cq *q = object_find(m, CQ, cqn);
	if (q == NULL || q->uar != uar) {
		model_violation(m, "CQ doorbell of UAR %u: CQ 0x%x is not there", uar, cqn);
		return;
	}
	const uint8_t *dbr = model_dma(m, q->dbr, DBR_BYTES, DMA_READ, "doorbell record of a CQ");
	if (dbr == NULL)
		return;
	if (word & CQ_RESERVED)
		model_violation(m, "CQ 0x%x: doorbell 0x%08x: bits 0x%08x are reserved", cqn, word,
		                word & CQ_RESERVED);
	/* the guest writes the record first, and may have updated it since */
	if (before(be32(dbr + DBR_ARM) & COUNTER_MASK, word & COUNTER_MASK))
		model_violation(m, "CQ 0x%x: doorbell 0x%08x, but its record says 0x%08x", cqn,
		                word, be32(dbr + DBR_ARM));
	arm(m, q, word);
}

/* --- entries --- */

/* The guest writes the record's cache line, so it is read once per call of the model, and again
 * when the queue seems full. */
static bool has_room(struct model *m, struct cq *q, uint32_t entries)
{
	if (q->call == nic_of(m)->call &&
	    ((q->pi - q->ci) & COUNTER_MASK) + entries <= size_of(q))
		return true;
	const uint8_t *dbr = model_dma(m, q->dbr, DBR_BYTES, DMA_READ, "doorbell record of a CQ");
	if (dbr == NULL)
		return false;
	q->ci = be32(dbr + DBR_CI) & COUNTER_MASK;
	q->call = nic_of(m)->call;
	return ((q->pi - q->ci) & COUNTER_MASK) + entries <= size_of(q);
}

static void overrun(struct model *m, struct cq *q)
{
	const uint32_t cqn = object_number(m, CQ, q);
	uint8_t data[EQE_DATA_BYTES] = {[0x0b] = 1}; /* syndrome: overrun */
	put_be32(data, cqn);
	q->error = true;
	model_violation(m, "CQ 0x%x is full: entries 0x%x, consumer counter 0x%x", cqn, q->pi,
	                q->ci);
	eq_event(m, EVENT_CQ_ERROR, 0, data);
}

static bool make_room(struct model *m, struct cq *q, uint32_t entries)
{
	if (has_room(m, q, entries) || q->overrun_ignored)
		return true;
	overrun(m, q);
	return false;
}

static uint8_t *place(struct model *m, struct cq *q, uint32_t index)
{
	return ring_at(m, &q->ring, index, DMA_WRITE, "CQ");
}

static uint8_t owner_of(const struct cq *q, uint32_t index)
{
	return index >> q->ring.log_size & 1;
}

/* Passes `places` places from pi on to the guest. The first gets this entry; it is written last,
 * because the guest polls its last byte. */
static void publish(struct model *m, struct cq *q, const uint8_t cqe[CQE_BYTES], uint32_t places,
                    bool solicited)
{
	uint8_t *at = place(m, q, q->pi);
	if (at == NULL)
		return;
	memcpy(at, cqe, CQE_OP_OWN);
	__atomic_store_n(&at[CQE_OP_OWN], (cqe[CQE_OP_OWN] & 0xfe) | owner_of(q, q->pi),
	                 __ATOMIC_RELEASE);
	q->pi = (q->pi + places) & COUNTER_MASK;
	q->unreported += places;
	if (solicited)
		q->solicited = q->pi;
	if (q->arm == CQ_ARMED || (q->arm == CQ_ARMED_SOLICITED && solicited))
		report(m, q);
}

/* --- compression --- */

/* Whether the entry differs from the title only in what mini CQEs carry or the guest can miss. */
static bool joins(const struct cq *q, const uint8_t cqe[CQE_BYTES])
{
	const uint8_t *title = q->session.title;
	const uint32_t next = be16(title + CQE_COUNTER) + q->session.count;
	return be16(cqe + CQE_COUNTER) == (next & 0xffff) &&
	       cqe[CQE_OP_OWN] == title[CQE_OP_OWN] &&
	       memcmp(cqe + CQE_FLAGS_RQPN, title + CQE_FLAGS_RQPN,
	              CQE_BYTE_COUNT - CQE_FLAGS_RQPN) == 0 &&
	       memcmp(cqe + CQE_OPCODE_QPN, title + CQE_OPCODE_QPN, 4) == 0 &&
	       (q->format == MINI_CHECKSUM || cqe[CQE_RSS_TYPE] == title[CQE_RSS_TYPE]);
}

static void add_mini(struct cq *q, const uint8_t cqe[CQE_BYTES])
{
	uint8_t *mini = q->session.mini[q->session.count++];
	memset(mini, 0, MINI_CQE_BYTE_COUNT);
	if (q->format == MINI_HASH)
		memcpy(mini, cqe + CQE_RSS_HASH, 4);
	else
		memcpy(mini, cqe + CQE_CHECKSUM, 2);
	memcpy(mini + MINI_CQE_BYTE_COUNT, cqe + CQE_BYTE_COUNT, 4);
}

/* Writes mini CQEs to the place of frame i of the session, if the place holds any. */
static void write_place(struct model *m, struct cq *q, uint32_t i)
{
	const uint32_t index = (q->pi + i) & COUNTER_MASK;
	const bool minis = i == 1 || i % MINI_CQES == 0;
	/* the check would move a cache line from the guest's core for each frame */
	uint8_t *at = minis || !m->line_rate ? place(m, q, index) : NULL;
	if (at == NULL)
		return;
	if (minis)
		memcpy(at, q->session.mini[i == 1 ? 0 : i], CQE_BYTES);
	else if (at[CQE_OP_OWN] >> 4 != CQE_INVALID && (at[CQE_OP_OWN] & 1) == owner_of(q, index))
		model_violation(m, "CQ 0x%x: entry 0x%x looks new, but is left out of a session",
		                object_number(m, CQ, q), index);
}

static void end_session(struct model *m, struct cq *q)
{
	const uint32_t count = q->session.count;
	uint8_t *title = q->session.title;
	q->session.count = 0;
	if (count == 0 || !make_room(m, q, count))
		return;
	if (count > 1) {
		for (uint32_t i = 1; i < count; i++)
			write_place(m, q, i);
		put_be32(title + CQE_BYTE_COUNT, count);
		title[CQE_OP_OWN] |= CQE_COMPRESSED;
	}
	publish(m, q, title, count, false);
}

static void compress(struct model *m, struct cq *q, const uint8_t cqe[CQE_BYTES])
{
	struct nic *n = nic_of(m);
	if (q->session.count == SESSION_MAX || !joins(q, cqe))
		end_session(m, q);
	if (q->session.count == 0)
		memcpy(q->session.title, cqe, CQE_BYTES);
	add_mini(q, cqe);
	if (q->open)
		return;
	q->open = true;
	q->next_open = n->cq_open;
	n->cq_open = q;
}

void cq_burst_end(struct model *m)
{
	struct nic *n = nic_of(m);
	for (; n->cq_open; n->cq_open = n->cq_open->next_open) {
		n->cq_open->open = false;
		end_session(m, n->cq_open);
	}
}

void cq_post(struct model *m, uint32_t cqn, uint8_t cqe[CQE_BYTES], bool solicited)
{
	struct cq *q = object_find(m, CQ, cqn);
	if (q == NULL || q->error)
		return;
	if (q->compress && cqe[CQE_OP_OWN] == CQE_RECEIVED << 4) {
		compress(m, q, cqe);
		return;
	}
	end_session(m, q);
	if (make_room(m, q, 1))
		publish(m, q, cqe, 1, solicited);
}

/* Appends to the open session. */
static inline void add_entry(struct cq *q, const struct cq_entry *e)
{
	uint8_t *mini = q->session.mini[q->session.count++];
	const uint64_t bytes = (uint64_t)__builtin_bswap32(e->bytes) << 32;
	const uint64_t all = bytes | (q->format == MINI_HASH ? __builtin_bswap32(e->hash) : e->sum);
	memcpy(mini, &all, sizeof all);
}

void cq_post_row(struct model *m, uint32_t cqn, const uint8_t title[CQE_BYTES],
                 const struct cq_entry *e, uint32_t n)
{
	struct cq *q = object_find(m, CQ, cqn);
	for (uint32_t i = 0; i < n; i++, e++) {
		/* in a session that the row has begun or joined */
		if (i && q->open && q->session.count && q->session.count < SESSION_MAX) {
			add_entry(q, e);
			continue;
		}
		uint8_t cqe[CQE_BYTES];
		memcpy(cqe, title, sizeof cqe);
		put_be32(cqe + CQE_RSS_HASH, e->hash);
		memcpy(cqe + CQE_CHECKSUM, &e->sum, 2);
		put_be32(cqe + CQE_BYTE_COUNT, e->bytes);
		put_be16(cqe + CQE_COUNTER, e->counter);
		cq_post(m, cqn, cqe, false);
	}
}

/* A session leaves most places alone. */
void cq_fetch(struct model *m, uint32_t cqn, uint32_t count)
{
	struct cq *q = object_find(m, CQ, cqn);
	const bool all = q && !(q->compress && m->line_rate);
	for (uint32_t i = 0; q && i < count; i++)
		if (all || i % SESSION_MAX == 1 || i % MINI_CQES == 0)
			__builtin_prefetch(ring_at(m, &q->ring, q->pi + i, DMA_WRITE, "CQ"), 1);
}

bool cq_alive(const struct model *m, uint32_t cqn)
{
	const struct cq *q = object_find(m, CQ, cqn);
	return q && !q->error;
}

/* --- time --- */

void cq_scan(struct model *m)
{
	struct cq *q = NULL;
	while ((q = object_next(m, CQ, q))) {
		const uint8_t *dbr = model_dma(m, q->dbr, DBR_BYTES, DMA_READ,
		                               "doorbell record of a CQ");
		if (dbr && (!q->scanned || be32(dbr + DBR_ARM) != q->arm_word))
			arm(m, q, be32(dbr + DBR_ARM));
		q->scanned = true;
	}
}

void cq_work(struct model *m)
{
	struct nic *n = nic_of(m);
	struct cq *q = NULL;
	if (n->cq_due > m->now)
		return;
	n->cq_due = NEVER;
	while ((q = object_next(m, CQ, q))) {
		if (q->event_due <= m->now)
			send_event(m, q);
		if (q->event_due < n->cq_due)
			n->cq_due = q->event_due;
	}
}
