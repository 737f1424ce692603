/*
 * Interrupts, 7.3: causes, masks, moderation, MSI-X.
 *
 * With MSI-X, the IVAR byte of a queue gives the number of its cause, which is also its vector.
 * Causes 0 to 15 show in EICR; 16 to 63 show only in the _EX registers, and are always cleared when
 * their message is sent (7.3.1.4). All other causes go to the vector in IVAR_MISC.
 *
 *   a cause is set, or set again while not yet auto-cleared, or unmasked while set
 *      --> vector pending --EITR allows--> message; auto-clear by EIAC, auto-mask by EIAM
 *
 * Only MSI-X messages are delivered: the host offers no line interrupts.
 */
#include "tools/nicsim/82599/state.h"

#define EITR_NS 2048 /* granularity of the interval, 8.2.3.5.12, at 10 Gb/s */

/* EICR 30:16, and those of them that hardware has; bit 31 is their OR. */
#define OTHER_BITS 0x7fff0000u

void intr_reset(struct model *m)
{
	struct nic82599 *n = own_of(m);
	n->cause = n->mask = 0;
	n->other_cause = n->other_mask = 0;
	n->pending = 0;
	n->irq_due = NEVER;
	for (unsigned i = 0; i < VECTORS; i++)
		n->may_fire[i] = 0;
}

static uint32_t eitr_at(unsigned vector)
{
	return vector < 24 ? EITR + 4 * vector : EITR_HIGH + 4 * (vector - 24);
}

/* The vector of the other causes, byte 1 of IVAR_MISC; VECTORS: not valid. */
static unsigned other_vector(const struct model *m)
{
	uint32_t entry = get(m, IVAR_MISC) >> 8;
	return entry & 0x80 ? entry & 0x3f : VECTORS;
}

static bool is_due(const struct model *m, unsigned vector)
{
	const struct nic82599 *n = own_of(m);
	if (n->cause >> vector & n->mask >> vector & 1)
		return true;
	return n->other_cause & n->other_mask && other_vector(m) == vector;
}

/* 7.3.1.3 auto-mask, 7.3.1.4 auto-clear */
static void fire(struct model *m, unsigned vector)
{
	struct nic82599 *n = own_of(m);
	const uint64_t bit = 1ull << vector;
	n->pending &= ~bit;
	if (!is_due(m, vector))
		return;
	uint64_t clear = ~0xffffull | (get(m, EIAC) & EICR_RX_QUEUES);
	n->cause &= ~(bit & clear);
	if (get(m, GPIE) & GPIE_EIAME)
		n->mask &= ~(bit & (get(m, EIAM_EX) | (uint64_t)get(m, EIAM_EX + 4) << 32));
	if (vector == other_vector(m)) {
		n->other_cause &= ~(get(m, EIAC) & OTHER_BITS);
		if (get(m, GPIE) & GPIE_EIAME)
			n->other_mask &= ~(get(m, EIAM) & OTHER_BITS);
	}
	uint64_t interval = (get(m, eitr_at(vector)) & EITR_INTERVAL) >> 3;
	n->may_fire[vector] = m->now + interval * EITR_NS;
	model_irq(m, vector);
}

static void wake(struct model *m, uint64_t vectors)
{
	struct nic82599 *n = own_of(m);
	n->pending |= vectors;
	intr_work(m);
}

void intr_work(struct model *m)
{
	struct nic82599 *n = own_of(m);
	n->irq_due = NEVER;
	for (uint64_t left = n->pending; left; left &= left - 1) {
		unsigned vector = (unsigned)__builtin_ctzll(left);
		if (n->may_fire[vector] <= m->now)
			fire(m, vector);
		else if (n->may_fire[vector] < n->irq_due)
			n->irq_due = n->may_fire[vector];
	}
}

static void queue_causes(struct model *m, uint64_t bits)
{
	struct nic82599 *n = own_of(m);
	n->cause |= bits;
	if (bits & n->mask)
		wake(m, bits & n->mask);
}

void intr_other(struct model *m, uint32_t bits)
{
	struct nic82599 *n = own_of(m);
	unsigned vector = other_vector(m);
	n->other_cause |= bits;
	if (bits & n->other_mask && vector < VECTORS)
		wake(m, 1ull << vector);
}

/* `entry` is a byte of IVAR. */
static void queue_cause(struct model *m, uint32_t entry)
{
	struct nic82599 *n = own_of(m);
	uint64_t bit = 1ull << (entry & 0x3f);
	if (!(entry & 0x80))
		return;
	/* already set, and masked: reported when it is unmasked */
	if (n->cause & bit & ~n->mask)
		return;
	queue_causes(m, bit);
}

/* 8.2.3.5.16: IVAR[q / 2] has four bytes: Rx and Tx of the even, Rx and Tx of the odd. */
void intr_rx_queue(struct model *m, unsigned queue)
{
	queue_cause(m, get(m, IVAR + 4 * (queue / 2)) >> 16 * (queue & 1));
}

void intr_tx_queue(struct model *m, unsigned queue)
{
	queue_cause(m, get(m, IVAR + 4 * (queue / 2)) >> (16 * (queue & 1) + 8));
}

/* EIMS: a cause that is set and becomes unmasked is reported now. */
static void unmask(struct model *m, uint64_t queues, uint32_t other)
{
	struct nic82599 *n = own_of(m);
	uint64_t fresh = queues & ~n->mask & n->cause;
	uint32_t fresh_other = other & ~n->other_mask & n->other_cause;
	n->mask |= queues;
	n->other_mask |= other;
	if (fresh_other && other_vector(m) < VECTORS)
		fresh |= 1ull << other_vector(m);
	if (fresh)
		wake(m, fresh);
}

static uint32_t eicr_read(struct model *m)
{
	struct nic82599 *n = own_of(m);
	uint32_t value = (uint32_t)(n->cause & EICR_RX_QUEUES) | n->other_cause;
	if (n->other_cause & n->other_mask)
		value |= 1u << 31;
	/* 8.2.3.5.18, OCD: only 29:16 clear on read */
	if (get(m, GPIE) & GPIE_OCD) {
		n->other_cause &= ~0x3fff0000u;
	} else {
		n->cause &= ~(uint64_t)EICR_RX_QUEUES;
		n->other_cause = 0;
	}
	return value;
}

uint32_t intr_read(struct model *m, uint32_t offset)
{
	const struct nic82599 *n = own_of(m);
	switch (offset) {
	case EICR:
		return eicr_read(m);
	case EICS: /* LINUX: -d reads it instead of EICR; the datasheet calls it write-only */
		return (uint32_t)(n->cause & EICR_RX_QUEUES) | n->other_cause;
	case EIMS:
	case EIMC:
		return (uint32_t)(n->mask & EICR_RX_QUEUES) | n->other_mask;
	case EICS_EX:
		return (uint32_t)n->cause;
	case EICS_EX + 4:
		return (uint32_t)(n->cause >> 32);
	case EIMS_EX:
	case EIMC_EX:
		return (uint32_t)n->mask;
	case EIMS_EX + 4:
	case EIMC_EX + 4:
		return (uint32_t)(n->mask >> 32);
	}
	return get(m, offset);
}

static void eitr_write(struct model *m, uint32_t offset, uint32_t value)
{
	struct nic82599 *n = own_of(m);
	unsigned vector = offset >= EITR_HIGH ? 24 + (offset - EITR_HIGH) / 4 : (offset - EITR) / 4;
	set(m, offset, value & EITR_INTERVAL);
	/* If CNT_WDIS is clear, the counter (27:21) is written too and counts from there. We treat
	 * this as the start of a new interval at 0: the next cause is reported at once. */
	if (vector < VECTORS && !(value & EITR_CNT_WDIS))
		n->may_fire[vector] = m->now;
	intr_work(m);
}

void intr_write(struct model *m, uint32_t offset, uint32_t value)
{
	struct nic82599 *n = own_of(m);
	uint32_t queues = value & EICR_RX_QUEUES, other = value & OTHER_BITS;
	switch (offset) {
	case EICR:
		n->cause &= ~(uint64_t)queues;
		n->other_cause &= ~other;
		return;
	case EICS:
		queue_causes(m, queues);
		intr_other(m, other);
		return;
	case EIMS:
		unmask(m, queues, other);
		return;
	case EIMC:
		n->mask &= ~(uint64_t)queues;
		n->other_mask &= ~other;
		return;
	case EICS_EX:
		queue_causes(m, value);
		return;
	case EICS_EX + 4:
		queue_causes(m, (uint64_t)value << 32);
		return;
	case EIMS_EX:
		unmask(m, value, 0);
		return;
	case EIMS_EX + 4:
		unmask(m, (uint64_t)value << 32, 0);
		return;
	case EIMC_EX:
		n->mask &= ~(uint64_t)value;
		return;
	case EIMC_EX + 4:
		n->mask &= ~((uint64_t)value << 32);
		return;
	}
	if ((offset >= EITR && offset < EITR + 4 * 24) || offset >= EITR_HIGH) {
		eitr_write(m, offset, value);
		return;
	}
	set(m, offset, value);
	/* the queue bits of EIAM and the first of EIAM_EX are one register, 8.2.3.5.10 */
	if (offset == EIAM)
		set(m, EIAM_EX, (get(m, EIAM_EX) & ~EICR_RX_QUEUES) | queues);
	if (offset == EIAM_EX)
		set(m, EIAM, (get(m, EIAM) & OTHER_BITS) | (value & EICR_RX_QUEUES));
	if (offset == GPIE && !(value & GPIE_MULTIPLE_MSIX) && value)
		model_violation(m, "GPIE = 0x%08x: only MSI-X is delivered, Multiple_MSIX is clear",
		                value);
}
