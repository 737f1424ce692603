/*
 * Commands for send and receive queues ("SQ", "RQ", "Work Queue Structure"): their memory, their
 * completion queue, and their states:
 *
 *     RST --MODIFY--> RDY --an error, or MODIFY--> ERR --MODIFY--> RST
 *
 * In RST a queue does nothing, and its counters are 0 when it leaves RST; the guest sets its
 * doorbell record to 0 then. In ERR all posted entries are flushed if the guest has requested that
 * (flush_in_error_en), and the record still counts. MODIFY states the current state as the driver
 * believes it, and fails if it is wrong: so the driver learns that the device has put the queue
 * into ERR.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

/* --- common to both --- */

static enum status wq_check(struct model *m, struct command *c, const struct wq *w)
{
	const uint8_t *context = c->in + CONTEXT_AT + WQ_AT;
	if (field_get(context, WQ_TYPE) != WQ_CYCLIC)
		return refuse(m, c, STATUS_BAD_PARAM, "not a cyclic queue");
	if (field_get(context, WQ_SIGNED))
		return refuse(m, c, STATUS_BAD_PARAM, "signatures in a queue are not there");
	if (field_get(context, WQ_PADDING) > 1)
		return refuse(m, c, STATUS_BAD_PARAM, "there is no end_padding_mode %u",
		              field_get(context, WQ_PADDING));
	if (field_get(context, WQ_OFFSET))
		return refuse(m, c, STATUS_BAD_PARAM, "page_offset is not 0");
	if (w->ring.log_size > LOG_WQ_SIZE_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "2^%u entries", w->ring.log_size);
	if (w->dbr % DBR_BYTES ||
	    model_dma(m, w->dbr, DBR_BYTES, DMA_READ, "doorbell record of a queue") == NULL)
		return refuse(m, c, STATUS_BAD_PARAM, "doorbell record");
	/* LINUX: its RQ that drops unwanted frames has PD 0, and never an entry */
	if (w->pd && object_find(m, PD, w->pd) == NULL)
		return object_missing(m, c, PD, w->pd);
	if (object_find(m, CQ, w->cqn) == NULL)
		return object_missing(m, c, CQ, w->cqn);
	return STATUS_OK;
}

static struct wq wq_read(const uint8_t *context, uint32_t cqn)
{
	return (struct wq){.dbr = be64(context + WQ_DBR),
	                   .pd = field_get(context, WQ_PD),
	                   .cqn = cqn,
	                   .ring = {.log_size = (uint8_t)field_get(context, WQ_LOG_SIZE),
	                            .log_stride = (uint8_t)field_get(context, WQ_LOG_STRIDE),
	                            .log_page = (uint8_t)(12 + field_get(context, WQ_LOG_PAGE))}};
}

static void wq_hold(struct model *m, const struct wq *w)
{
	object_hold(m, PD, w->pd);
	object_hold(m, CQ, w->cqn);
}

static void wq_drop(struct model *m, struct wq *w)
{
	object_drop(m, PD, w->pd);
	object_drop(m, CQ, w->cqn);
	ring_free(&w->ring);
}

/* Checks the driver's current state and the requested transition. */
static enum status check_change(struct model *m, struct command *c, const struct wq *w,
                                uint32_t to)
{
	const uint32_t from = field_get(c->in, MODIFY_STATE);
	if (from != w->state)
		return refuse(m, c, STATUS_BAD_RES_STATE, "state is %u, not %u", w->state, from);
	if (to != from && to != QUEUE_RST && !(from == QUEUE_RST && to == QUEUE_RDY) &&
	    !(from == QUEUE_RDY && to == QUEUE_ERR))
		return refuse(m, c, STATUS_BAD_RES_STATE, "from state %u to %u", from, to);
	return STATUS_OK;
}

static void change(struct wq *w, uint32_t to)
{
	if (w->state == QUEUE_RST && to == QUEUE_RDY)
		w->head = w->counter = 0;
	w->state = to;
}

bool wq_look(struct model *m, struct wq *w, unsigned which)
{
	const uint8_t *dbr = model_dma(m, w->dbr, DBR_BYTES, DMA_READ, "doorbell record");
	if (dbr == NULL)
		return false;
	const uint32_t record = __atomic_load_n((const uint32_t *)(const void *)(dbr + which),
	                                        __ATOMIC_ACQUIRE);
	w->counter = __builtin_bswap32(record) & 0xffff;
	w->call = nic_of(m)->call;
	return true;
}

uint32_t wq_posted(struct model *m, struct wq *w, unsigned which)
{
	const bool known = w->call == nic_of(m)->call && w->counter != w->head;
	return known || wq_look(m, w, which) ? (w->counter - w->head) & 0xffff : 0;
}

bool wq_holds(struct model *m, enum kind kind, const struct wq *w, uint32_t posted)
{
	if (posted <= 1u << w->ring.log_size)
		return true;
	model_violation(m, "%s 0x%x: doorbell record %u, but entries up to %u are in use",
	                kind == SQ ? "SQ" : "RQ", object_number(m, kind, w), w->counter, w->head);
	return false;
}

/* --- send queues --- */

enum status sq_create(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + CONTEXT_AT;
	struct sq new = {.w = wq_read(context + WQ_AT, field_get(context, SQC_CQN)),
	                 .tis = field_get(context, SQC_TIS),
	                 .uar = field_get(context + WQ_AT, WQ_UAR),
	                 .flush = field_get(context, SQC_FLUSH),
	                 .min_inline = (uint8_t)field_get(context, SQC_MIN_INLINE)};
	enum status status = wq_check(m, c, &new.w);
	if (status != STATUS_OK)
		return status;
	if (new.w.ring.log_stride != 6)
		return refuse(m, c, STATUS_BAD_PARAM, "stride is not 64 bytes");
	if (field_get(context, SQC_STATE) != QUEUE_RST)
		return refuse(m, c, STATUS_BAD_PARAM, "made in a state but RST");
	if (new.min_inline > INLINE_TCP_UDP)
		return refuse(m, c, STATUS_BAD_PARAM, "there is no min_wqe_inline_mode %u",
		              new.min_inline);
	if (new.min_inline < vport_min_inline(m))
		return refuse(m, c, STATUS_BAD_PARAM, "min_wqe_inline_mode %u, the vport wants %u",
		              new.min_inline, vport_min_inline(m));
	if (object_find(m, UAR, new.uar) == NULL)
		return object_missing(m, c, UAR, new.uar);
	/* an SQ without a TIS does not send (drivers use it for other work) */
	if (field_get(context, SQC_TIS_COUNT) > 1)
		return refuse(m, c, STATUS_BAD_PARAM, "more than one TIS");
	if (field_get(context, SQC_TIS_COUNT) == 0)
		new.tis = 0;
	else if (object_find(m, TIS, new.tis) == NULL)
		return object_missing(m, c, TIS, new.tis);
	status = ring_make(m, c, &new.w.ring, CONTEXT_AT + WQ_AT + WQ_PAS);
	if (status != STATUS_OK)
		return status;
	struct sq *q = object_new(m, SQ);
	if (q == NULL) {
		ring_free(&new.w.ring);
		return object_none_left(m, c, SQ);
	}
	*q = new;
	wq_hold(m, &q->w);
	object_hold(m, UAR, q->uar);
	object_hold(m, TIS, q->tis);
	return object_made(m, c, SQ, q);
}

void sq_destroy(struct model *m, void *object)
{
	struct sq *q = object;
	wq_drop(m, &q->w);
	object_drop(m, UAR, q->uar);
	object_drop(m, TIS, q->tis);
	send_ready(m, q, false);
}

enum status sq_modify(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER);
	const uint32_t to = field_get(c->in + CONTEXT_AT, SQC_STATE);
	struct sq *q = object_find(m, SQ, number);
	if (q == NULL)
		return object_missing(m, c, SQ, number);
	if (field_get(c->in, MODIFY_MASK))
		return refuse(m, c, STATUS_BAD_PARAM, "fields 0x%x", field_get(c->in, MODIFY_MASK));
	enum status status = check_change(m, c, &q->w, to);
	if (status != STATUS_OK)
		return status;
	change(&q->w, to);
	send_ready(m, q, to != QUEUE_RST);
	return STATUS_OK;
}

enum status sq_query(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER);
	const struct sq *q = object_find(m, SQ, number);
	uint8_t *context = c->out + CONTEXT_AT;
	if (q == NULL)
		return object_missing(m, c, SQ, number);
	field_set(context, SQC_STATE, q->w.state);
	field_set(context, SQC_CQN, q->w.cqn);
	field_set(context + WQ_AT, WQ_HW_COUNTER, q->w.head);
	field_set(context + WQ_AT, WQ_LOG_SIZE, q->w.ring.log_size);
	return STATUS_OK;
}

/* --- receive queues --- */

enum status rq_create(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + CONTEXT_AT;
	struct rq new = {.w = wq_read(context + WQ_AT, field_get(context, RQC_CQN)),
	                 .counter = field_get(context, RQC_COUNTER),
	                 .keep_vlan = field_get(context, RQC_KEEP_VLAN),
	                 .flush = field_get(context, RQC_FLUSH)};
	enum status status = wq_check(m, c, &new.w);
	if (status != STATUS_OK)
		return status;
	if (new.w.ring.log_stride < LOG_RQ_STRIDE_MIN || new.w.ring.log_stride > LOG_RQ_STRIDE_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "stride of 2^%u bytes",
		              new.w.ring.log_stride);
	if (field_get(context, RQC_STATE) != QUEUE_RST)
		return refuse(m, c, STATUS_BAD_PARAM, "made in a state but RST");
	if (field_get(context, RQC_MEMORY) || field_get(context, RQC_SCATTER_FCS))
		return refuse(m, c, STATUS_BAD_PARAM, "shared queues and FCS are not there");
	if (new.counter && object_find(m, COUNTER, new.counter) == NULL)
		return object_missing(m, c, COUNTER, new.counter);
	status = ring_make(m, c, &new.w.ring, CONTEXT_AT + WQ_AT + WQ_PAS);
	if (status != STATUS_OK)
		return status;
	struct rq *q = object_new(m, RQ);
	if (q == NULL) {
		ring_free(&new.w.ring);
		return object_none_left(m, c, RQ);
	}
	*q = new;
	wq_hold(m, &q->w);
	object_hold(m, COUNTER, q->counter);
	return object_made(m, c, RQ, q);
}

void rq_destroy(struct model *m, void *object)
{
	struct rq *q = object;
	wq_drop(m, &q->w);
	object_drop(m, COUNTER, q->counter);
}

enum status rq_modify(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + CONTEXT_AT;
	const uint32_t number = field_get(c->in, IN_NUMBER), what = field_get(c->in, MODIFY_MASK);
	const uint32_t to = field_get(context, RQC_STATE);
	struct rq *q = object_find(m, RQ, number);
	if (q == NULL)
		return object_missing(m, c, RQ, number);
	if (what & ~(uint32_t)RQ_MODIFY_KEEP_VLAN)
		return refuse(m, c, STATUS_BAD_PARAM, "fields 0x%x", what);
	enum status status = check_change(m, c, &q->w, to);
	if (status != STATUS_OK)
		return status;
	if (what & RQ_MODIFY_KEEP_VLAN)
		q->keep_vlan = field_get(context, RQC_KEEP_VLAN);
	if (to != q->w.state)
		q->primed = false;
	change(&q->w, to);
	if (to == QUEUE_ERR)
		nic_of(m)->flush_due = m->now;
	return STATUS_OK;
}

enum status rq_query(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER);
	const struct rq *q = object_find(m, RQ, number);
	uint8_t *context = c->out + CONTEXT_AT;
	if (q == NULL)
		return object_missing(m, c, RQ, number);
	field_set(context, RQC_STATE, q->w.state);
	field_set(context, RQC_CQN, q->w.cqn);
	field_set(context, RQC_COUNTER, q->counter);
	field_set(context + WQ_AT, WQ_HW_COUNTER, q->w.head);
	field_set(context + WQ_AT, WQ_LOG_SIZE, q->w.ring.log_size);
	return STATUS_OK;
}
