/*
 * Event queues ("Event Queues"): the device writes an entry and, when the queue is armed, fires its
 * MSI-X vector once. The guest reports how far it has read, and arms the queue, through the UAR.
 *
 * The owner bit of an entry is bit 0 of the number of the pass over the queue, which starts at 0.
 *
 * In line-rate mode the UAR page is memory of the guest and keeps only the last word written.
 * Drivers let EQs share a page, so words would be missed, and a sleeping core would not be woken.
 * So the page is not read: every event fires, and QUERY_EQ's consumer counter is 0.
 */
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

static uint32_t size_of(const struct eq *e)
{
	return 1u << e->ring.log_size;
}

enum status eq_create(struct model *m, struct command *c)
{
	const uint8_t *context = c->in + EQC_AT;
	struct eq new = {.events = be64(c->in + EQ_EVENTS_AT),
	                 .uar = field_get(context, EQC_UAR),
	                 .vector = field_get(context, EQC_INTR),
	                 .ring = {.log_size = (uint8_t)field_get(context, EQC_LOG_SIZE),
	                          .log_stride = 6,
	                          .log_page = (uint8_t)(12 + field_get(context, EQC_LOG_PAGE))}};
	if (new.ring.log_size > LOG_EQ_SIZE_MAX)
		return refuse(m, c, STATUS_BAD_PARAM, "2^%u entries", new.ring.log_size);
	if (new.vector >= VECTORS)
		return refuse(m, c, STATUS_BAD_PARAM, "there is no vector %u", new.vector);
	if (object_find(m, UAR, new.uar) == NULL)
		return object_missing(m, c, UAR, new.uar);
	enum status status = ring_make(m, c, &new.ring, EQ_PAS_AT);
	if (status != STATUS_OK)
		return status;
	struct eq *e = object_new(m, EQ);
	if (e == NULL) {
		ring_free(&new.ring);
		return object_none_left(m, c, EQ);
	}
	*e = new;
	memcpy(e->context, context, sizeof e->context);
	object_hold(m, UAR, e->uar);
	return object_made(m, c, EQ, e);
}

void eq_destroy(struct model *m, void *object)
{
	struct eq *e = object;
	object_drop(m, UAR, e->uar);
	ring_free(&e->ring);
}

enum status eq_query(struct model *m, struct command *c)
{
	const uint32_t number = field_get(c->in, IN_NUMBER);
	const struct eq *e = object_find(m, EQ, number);
	uint8_t *context = c->out + EQC_AT;
	if (e == NULL)
		return object_missing(m, c, EQ, number);
	memcpy(context, e->context, sizeof e->context);
	field_set(context, EQC_STATE, e->armed ? EQ_ARMED : EQ_FIRED);
	field_set(context, EQC_CI, e->ci);
	field_set(context, EQC_PI, e->pi);
	put_be64(c->out + EQ_EVENTS_AT, e->events);
	return STATUS_OK;
}

/* --- device side --- */

static void fire(struct model *m, struct eq *e)
{
	if (!e->armed || e->pi == e->ci)
		return;
	e->armed = false;
	model_irq(m, e->vector);
}

static void post(struct model *m, struct eq *e, const uint8_t eqe[EQE_BYTES])
{
	if (!m->line_rate && ((e->pi - e->ci) & COUNTER_MASK) >= size_of(e)) {
		model_violation(m, "EQ 0x%x is full: an event is lost", object_number(m, EQ, e));
		return;
	}
	uint8_t *at = ring_at(m, &e->ring, e->pi, DMA_WRITE, "EQ");
	if (at == NULL)
		return;
	memcpy(at, eqe, EQE_OWNER);
	__atomic_store_n(&at[EQE_OWNER], e->pi >> e->ring.log_size & 1, __ATOMIC_RELEASE);
	e->pi = (e->pi + 1) & COUNTER_MASK;
	if (m->line_rate)
		model_irq(m, e->vector);
	else
		fire(m, e);
}

void eq_completion(struct model *m, uint32_t eqn, uint32_t cqn)
{
	struct eq *e = object_find(m, EQ, eqn);
	uint8_t eqe[EQE_BYTES] = {[EQE_TYPE] = EVENT_COMPLETION};
	put_be32(eqe + EQE_CQN, cqn);
	if (e)
		post(m, e, eqe);
}

static struct eq *taker(const struct model *m, enum event type)
{
	struct eq *e = NULL;
	while ((e = object_next(m, EQ, e)))
		if (e->events >> type & 1)
			return e;
	return NULL;
}

bool eq_takes(const struct model *m, enum event type)
{
	return taker(m, type);
}

void eq_event(struct model *m, enum event type, uint8_t subtype, const uint8_t data[EQE_DATA_BYTES])
{
	uint8_t eqe[EQE_BYTES] = {[EQE_TYPE] = (uint8_t)type, [EQE_SUBTYPE] = subtype};
	struct eq *e = taker(m, type);
	memcpy(eqe + EQE_DATA, data, EQE_DATA_BYTES);
	if (e)
		post(m, e, eqe);
}

void eq_doorbell(struct model *m, uint32_t uar, uint32_t value, bool arm)
{
	const uint32_t ci = value & COUNTER_MASK, eqn = value >> 24;
	struct eq *e = object_find(m, EQ, eqn);
	if (e == NULL || e->uar != uar) {
		model_violation(m, "EQ doorbell of UAR %u: EQ 0x%x is not there", uar, eqn);
		return;
	}
	if (((ci - e->ci) & COUNTER_MASK) > ((e->pi - e->ci) & COUNTER_MASK)) {
		model_violation(m, "EQ 0x%x: consumer counter 0x%x, but entries end at 0x%x", eqn,
		                ci, e->pi);
		return;
	}
	e->ci = ci;
	e->armed |= arm;
	fire(m, e);
}
