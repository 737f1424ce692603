/*
 * L3/L4 5-tuple filters, 7.1.2.5: 128 of them choose the queue of IPv4 packets. Of those that match, the one of the
 * highest priority wins; of equal ones the lowest number.
 *
 * Fragments have no L4 header, so they match only filters that compare addresses alone. The manual's text on
 * fragments is not known here: this is the assumption of the driver's documents, too.
 */
#include "tools/nicsim/82599/state.h"

#define FILTERS 128

/* Addresses and ports lie in the registers in the order of the wire, the first byte lowest. */
static uint32_t wire_bytes(const uint8_t *p, unsigned n)
{
	uint32_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint32_t)p[i] << 8 * i;
	return v;
}

void tuple_reset(struct model *m)
{
	own_of(m)->tuples[0] = own_of(m)->tuples[1] = 0;
}

void tuple_write(struct model *m, unsigned i, uint32_t ftqf)
{
	queue_map_clear(own_of(m)->tuples, i);
	if (ftqf & FTQF_EN)
		queue_map_set(own_of(m)->tuples, i);
}

bool tuple_any(const struct model *m)
{
	return own_of(m)->tuples[0] | own_of(m)->tuples[1];
}

static unsigned protocol_code(const struct headers *h)
{
	if (h->fragment)
		return 3;
	return h->protocol == IP_TCP ? 0 : h->protocol == IP_UDP ? 1 : h->protocol == IP_SCTP ? 2 : 3;
}

static bool matches(const struct model *m, unsigned i, uint32_t ftqf, const uint8_t *frame,
                    const struct headers *h)
{
	const uint32_t ports = get(m, SDPQF + 4 * i), want = ftqf & FTQF_PROTOCOL;
	const uint8_t *ip = frame + h->l3, *l4 = h->l4 ? frame + h->l4 : NULL;
	if (!(ftqf & FTQF_NOT_SRC) && get(m, SAQF + 4 * i) != wire_bytes(ip + 12, 4))
		return false;
	if (!(ftqf & FTQF_NOT_DST) && get(m, DAQF + 4 * i) != wire_bytes(ip + 16, 4))
		return false;
	if (!(ftqf & FTQF_NOT_PROTOCOL) && want != protocol_code(h))
		return false;
	if (!(ftqf & FTQF_NOT_SRC_PORT) && (!l4 || (ports & 0xffff) != wire_bytes(l4, 2)))
		return false;
	return ftqf & FTQF_NOT_DST_PORT || (l4 && ports >> 16 == wire_bytes(l4 + 2, 2));
}

static unsigned queue_of(struct model *m, unsigned i)
{
	const uint32_t timir = get(m, L34TIMIR + 4 * i);
	if ((timir & L34TIMIR_FIXED) != L34TIMIR_FIXED_VALUE)
		model_violation(m, "L34TIMIR[%u] = 0x%08x of a filter in use: bits 19:13 must be 1000000b", i, timir);
	return timir >> L34TIMIR_QUEUE_SHIFT & (QUEUES - 1);
}

int tuple_queue(struct model *m, const uint8_t *frame, const struct headers *h)
{
	const uint64_t *on = own_of(m)->tuples;
	int best = -1;
	unsigned best_priority = 0;
	if (h->version != 4)
		return -1;
	for (unsigned i = 0; i < FILTERS; i++) {
		const uint32_t ftqf = get(m, FTQF + 4 * i);
		const unsigned priority = ftqf >> FTQF_PRIORITY_SHIFT & 7;
		if (!(on[i / 64] >> (i & 63) & 1) || (best >= 0 && priority <= best_priority) ||
		    !matches(m, i, ftqf, frame, h))
			continue;
		best = (int)i;
		best_priority = priority;
	}
	return best < 0 ? -1 : (int)queue_of(m, (unsigned)best);
}
