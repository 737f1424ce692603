/*
 * Interrupts: causes, masks, moderation, MSI-X.
 *
 * With MSI-X, the IVAR byte of a queue gives its vector, which is also its bit of EICR. The causes in ICR that IMS
 * enables go to the vector in IVAR_MISC.
 *
 *   a cause is set, or unmasked while set
 *      --> vector pending --EITR allows--> message; auto-clear by EIAC, auto-mask by EIAM
 *
 * Only MSI-X messages are delivered: the host offers no line interrupts.
 */
#include "tools/nicsim/i226/state.h"

#define EITR_UNIT_NS 250 /* EITR_INTERVAL is in units of a quarter of 1 us */
#define ALL_VECTORS ((1u << VECTORS) - 1)

void i226_intr_reset(struct model *m)
{
	struct i226 *n = own_of(m);
	n->cause = n->mask = n->pending = 0;
	n->other = n->other_mask = 0;
	n->irq_due = NEVER;
	for (unsigned i = 0; i < VECTORS; i++)
		n->may_fire[i] = 0;
}

static void fire(struct model *m, unsigned vector)
{
	struct i226 *n = own_of(m);
	const uint32_t bit = 1u << vector;
	n->pending &= ~bit;
	if (!(n->cause & n->mask & bit))
		return;
	n->cause &= ~(bit & get(m, EIAC));
	if (get(m, GPIE) & GPIE_EIAME)
		n->mask &= ~(bit & get(m, EIAM));
	n->may_fire[vector] = m->now + (uint64_t)(get(m, EITR + 4 * vector) & EITR_INTERVAL) * EITR_UNIT_NS;
	model_irq(m, vector);
}

void i226_intr_work(struct model *m)
{
	struct i226 *n = own_of(m);
	n->irq_due = NEVER;
	for (uint32_t left = n->pending; left; left &= left - 1) {
		unsigned vector = (unsigned)__builtin_ctz(left);
		if (n->may_fire[vector] <= m->now)
			fire(m, vector);
		else if (n->may_fire[vector] < n->irq_due)
			n->irq_due = n->may_fire[vector];
	}
}

static void raise(struct model *m, uint32_t vectors)
{
	struct i226 *n = own_of(m);
	n->cause |= vectors;
	n->pending |= vectors & n->mask;
	if (vectors & n->mask)
		i226_intr_work(m);
}

/* `entry` is a byte of IVAR or IVAR_MISC. */
static void raise_entry(struct model *m, uint32_t entry)
{
	const unsigned vector = entry & IVAR_VECTOR;
	if (entry & IVAR_VALID && vector < VECTORS)
		raise(m, 1u << vector);
}

void i226_intr_other(struct model *m, uint32_t bits)
{
	struct i226 *n = own_of(m);
	n->other |= bits;
	if (bits & n->other_mask)
		raise_entry(m, get(m, IVAR_MISC) >> 8);
}

/* IVAR[q / 2] has four bytes: Rx and Tx of the even, Rx and Tx of the odd queue. */
void i226_intr_rx(struct model *m, unsigned queue)
{
	raise_entry(m, get(m, IVAR + 4 * (queue / 2)) >> 16 * (queue & 1));
}

void i226_intr_tx(struct model *m, unsigned queue)
{
	raise_entry(m, get(m, IVAR + 4 * (queue / 2)) >> (16 * (queue & 1) + 8));
}

bool i226_is_interrupt(uint32_t at)
{
	return at >= ICR && at < IVAR;
}

static uint32_t icr_read(struct model *m)
{
	struct i226 *n = own_of(m);
	const uint32_t value = n->other | (n->other & n->other_mask ? (uint32_t)ICR_INTA : 0);
	n->other = 0;
	return value;
}

uint32_t i226_intr_read(struct model *m, uint32_t at)
{
	const struct i226 *n = own_of(m);
	switch (at) {
	case ICR:
		return icr_read(m);
	case IMS:
	case IMC:
		return n->other_mask;
	case EICR:
	case EICS:
		return n->cause;
	case EIMS:
	case EIMC:
		return n->mask;
	}
	return get(m, at);
}

static void eitr_write(struct model *m, unsigned vector, uint32_t value)
{
	set(m, EITR + 4 * vector, value & EITR_INTERVAL);
	if (!(value & EITR_CNT_IGNR)) /* the counter begins at 0: the next cause is reported at once */
		own_of(m)->may_fire[vector] = m->now;
	i226_intr_work(m);
}

void i226_intr_write(struct model *m, uint32_t at, uint32_t value)
{
	struct i226 *n = own_of(m);
	const uint32_t vectors = value & ALL_VECTORS;
	switch (at) {
	case ICR:
		n->other &= ~value;
		return;
	case ICS:
		i226_intr_other(m, value);
		return;
	case IMS:
		n->other_mask |= value;
		if (n->other & value)
			raise_entry(m, get(m, IVAR_MISC) >> 8);
		return;
	case IMC:
		n->other_mask &= ~value;
		return;
	case EICR:
		n->cause &= ~vectors;
		return;
	case EICS:
		raise(m, vectors);
		return;
	case EIMS:
		n->mask |= vectors;
		raise(m, n->cause & vectors);
		return;
	case EIMC:
		n->mask &= ~vectors;
		return;
	}
	if (at >= EITR && at < EITR + 4 * VECTORS) {
		eitr_write(m, (at - EITR) / 4, value);
		return;
	}
	set(m, at, value);
	if (at == GPIE && value && !(value & GPIE_MULTIPLE_MSIX))
		model_violation(m, "GPIE = 0x%08x: only MSI-X is delivered, Multiple_MSIX is clear", value);
}
