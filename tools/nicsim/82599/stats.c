/*
 * Statistics, 8.2.3.23, that only this card has; intel/stats.c has those of the MAC. Counters of events that never
 * occur in this model read 0.
 */
#include "tools/nicsim/82599/state.h"
#include "tools/nicsim/json.h"

static bool single(struct intel_stats *s, uint32_t offset, uint32_t *value)
{
	const struct {
		uint32_t offset;
		uint64_t *counter;
	} map[] = {
		{RXMPC, &s->rxmpc},   {RXDGPC, &s->rxdgpc}, {TXDGPC, &s->txdgpc}, {RXNFGPC, &s->rxnfgpc},
	};
	for (unsigned i = 0; i < sizeof map / sizeof map[0]; i++)
		if (map[i].offset == offset) {
			*value = stats_take(map[i].counter);
			return true;
		}
	return false;
}

static bool pair(const struct model *m, uint32_t offset, uint32_t *value)
{
	struct intel_stats *s = &nic_of(m)->s;
	if (offset == RXDGBCL || offset == TXDGPC + 4)
		*value = stats_take_low(offset == RXDGBCL ? &s->rxdgbc : &s->txdgbc);
	else if (offset == RXDGBCL + 4 || offset == TXDGPC + 8)
		*value = stats_take_high(m, offset == RXDGBCL + 4 ? &s->rxdgbc : &s->txdgbc);
	else
		return false;
	return true;
}

static bool indexed(uint32_t offset, uint32_t base, uint32_t stride, uint32_t count, unsigned *i)
{
	if (offset < base || offset >= base + stride * count || (offset - base) % stride)
		return false;
	*i = (offset - base) / stride;
	return true;
}

bool stats_read(struct model *m, uint32_t offset, uint32_t *value)
{
	struct intel_stats *s = &nic_of(m)->s;
	unsigned i;
	if (indexed(offset, QPRC, 64, STAT_QUEUES, &i))
		*value = stats_take(&s->qprc[i]);
	else if (indexed(offset, QPRDC, 64, STAT_QUEUES, &i))
		*value = stats_take(&s->qprdc[i]);
	else if (indexed(offset, QBRC_L, 64, STAT_QUEUES, &i))
		*value = stats_take_low(&s->qbrc[i]);
	else if (indexed(offset, QBRC_H, 64, STAT_QUEUES, &i))
		*value = stats_take_high(m, &s->qbrc[i]);
	else if (indexed(offset, QPTC, 4, STAT_QUEUES, &i) ||
	         indexed(offset, QPTC_82598, 64, STAT_QUEUES, &i))
		*value = stats_take(&s->qptc[i]);
	else if (indexed(offset, QBTC_L, 8, STAT_QUEUES, &i))
		*value = stats_take_low(&s->qbtc[i]);
	else if (indexed(offset, QBTC_H, 8, STAT_QUEUES, &i))
		*value = stats_take_high(m, &s->qbtc[i]);
	else
		return single(s, offset, value) || pair(m, offset, value) || stats_read_mac(m, offset, value);
	return true;
}

/* The most useful statistics; counters that the guest has read restart at 0. */
void stats_json(struct model *m, struct json *j)
{
	const struct intel_stats *s = &nic_of(m)->s;
	uint64_t no_descriptor = 0;
	for (unsigned i = 0; i < STAT_QUEUES; i++)
		no_descriptor += s->qprdc[i];
	stats_json_common(m, j);
	json_u64(j, "rxmpc", s->rxmpc);
	json_u64(j, "qprdc", no_descriptor);
}
