/*
 * The rate limiter of a transmit queue (7.7.2, 8.2.3.10.13 and .16). RTTBCNRC, of the queue that
 * RTTDQSEL selects, has a rate factor: link speed divided by rate, with 14 fractional bits. From
 * the start of a frame to the start of the queue's next frame, the frame's length in bit times
 * multiplied by the factor must pass.
 *
 * A frame's length includes the FCS, but neither preamble nor gap. LINUX does not specify this;
 * libmoon has measured it (and that the chip is inaccurate for small frames above 64/84 of the
 * link's rate, which is not modelled).
 *
 * A queue that had nothing to send may catch up by at most RTTBCNRM.MMW_SIZE KB at link speed.
 * Delay of the model itself is not lost: a queue with waiting frames may catch up all of it.
 */
#include "tools/nicsim/82599/state.h"

#include <string.h>

#define FACTOR_BITS 14
#define FACTOR_MASK 0xffffffu
#define BITS_PER_NS 10 /* of the link */

void limiter_reset(struct model *m)
{
	memset(own_of(m)->limiter, 0, sizeof own_of(m)->limiter);
}

void limiter_select(struct model *m, uint32_t value)
{
	set(m, RTTDQSEL, value);
	set(m, RTTBCNRC, own_of(m)->limiter[value % QUEUES].config);
}

void limiter_write(struct model *m, uint32_t value)
{
	unsigned q = get(m, RTTDQSEL) % QUEUES;
	if (value & RTTBCNRC_RS_ENA && (value & FACTOR_MASK) < 1u << FACTOR_BITS)
		model_violation(m, "RTTBCNRC of queue %u = 0x%08x: a rate factor below 1", q, value);
	if (value & RTTBCNRC_RS_ENA && get(m, RTTBCNRM) == 0)
		model_violation(m, "RTTBCNRC.RS_ENA of queue %u with RTTBCNRM 0", q);
	own_of(m)->limiter[q] = (struct limiter){.config = value, .next = m->now};
	set(m, RTTBCNRC, value);
}

uint64_t limiter_next(struct model *m, unsigned q)
{
	const struct limiter *l = &own_of(m)->limiter[q];
	return l->config & RTTBCNRC_RS_ENA ? l->next : 0;
}

void limiter_wake(struct model *m, unsigned q)
{
	struct limiter *l = &own_of(m)->limiter[q];
	uint64_t window = get(m, RTTBCNRM) * 1024ull * 8 / BITS_PER_NS;
	if (l->next + window < m->now) {
		l->next = m->now - window;
		l->part = 0;
	}
}

void limiter_charge(struct model *m, unsigned q, uint32_t bytes)
{
	struct limiter *l = &own_of(m)->limiter[q];
	const uint32_t unit = BITS_PER_NS << FACTOR_BITS;
	if (!(l->config & RTTBCNRC_RS_ENA))
		return;
	uint64_t cost = bytes * 8ull * (l->config & FACTOR_MASK) + l->part;
	l->next += cost / unit;
	l->part = (uint32_t)(cost % unit);
}
