/*
 * Statistics, 8.2.3.23. 32-bit counters clear when read. A 36-bit counter is a pair: reading the
 * low half takes its 32 bits, reading the high half takes the rest and clears what was taken, so no
 * event between the two reads is lost. Counters of events that never occur in this model read 0.
 */
#include "tools/nicsim/82599/state.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/packet/bytes.h"

static uint32_t take(uint64_t *counter)
{
	uint32_t value = (uint32_t)*counter;
	*counter = 0;
	return value;
}

/* Reads the lower 32 bits and leaves the rest for the read of the high half. */
static uint32_t take_low(uint64_t *counter)
{
	uint32_t value = (uint32_t)*counter;
	*counter &= ~0xffffffffull;
	return value;
}

static uint32_t take_high(uint64_t *counter)
{
	uint32_t value = (uint32_t)(*counter >> 32) & 15;
	*counter &= 0xffffffffull;
	return value;
}

static bool single(struct stats82599 *s, uint32_t offset, uint32_t *value)
{
	const struct {
		uint32_t offset;
		uint64_t *counter;
	} map[] = {
		{CRCERRS, &s->crcerrs}, {RXMPC, &s->rxmpc},   {RLEC, &s->rlec},
		{GPRC, &s->gprc},       {BPRC, &s->bprc},     {MPRC, &s->mprc},
		{GPTC, &s->gptc},       {RUC, &s->ruc},       {ROC, &s->roc},
		{RJC, &s->rjc},         {TPR, &s->tpr},       {TPT, &s->tpt},
		{MPTC, &s->mptc},       {BPTC, &s->bptc},     {RXDGPC, &s->rxdgpc},
		{TXDGPC, &s->txdgpc},   {RXNFGPC, &s->rxnfgpc},
	};
	for (unsigned i = 0; i < sizeof map / sizeof map[0]; i++)
		if (map[i].offset == offset) {
			*value = take(map[i].counter);
			return true;
		}
	return false;
}

static bool pair(struct stats82599 *s, uint32_t offset, uint32_t *value)
{
	const struct {
		uint32_t low;
		uint64_t *counter;
	} map[] = {
		{GORCL, &s->gorc},     {GOTCL, &s->gotc},      {TORL, &s->tor},
		{RXDGBCL, &s->rxdgbc}, {TXDGPC + 4, &s->txdgbc},
	};
	for (unsigned i = 0; i < sizeof map / sizeof map[0]; i++) {
		if (map[i].low == offset)
			*value = take_low(map[i].counter);
		else if (map[i].low + 4 == offset)
			*value = take_high(map[i].counter);
		else
			continue;
		return true;
	}
	return false;
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
	struct stats82599 *s = &nic_of(m)->s;
	unsigned i;
	if (indexed(offset, PRC64, 4, 6, &i))
		*value = take(&s->prc[i]);
	else if (indexed(offset, PTC64, 4, 6, &i))
		*value = take(&s->ptc[i]);
	else if (indexed(offset, QPRC, 64, STAT_QUEUES, &i))
		*value = take(&s->qprc[i]);
	else if (indexed(offset, QPRDC, 64, STAT_QUEUES, &i))
		*value = take(&s->qprdc[i]);
	else if (indexed(offset, QBRC_L, 64, STAT_QUEUES, &i))
		*value = take_low(&s->qbrc[i]);
	else if (indexed(offset, QBRC_H, 64, STAT_QUEUES, &i))
		*value = take_high(&s->qbrc[i]);
	else if (indexed(offset, QPTC, 4, STAT_QUEUES, &i) ||
	         indexed(offset, QPTC_82598, 64, STAT_QUEUES, &i))
		*value = take(&s->qptc[i]);
	else if (indexed(offset, QBTC_L, 8, STAT_QUEUES, &i))
		*value = take_low(&s->qbtc[i]);
	else if (indexed(offset, QBTC_H, 8, STAT_QUEUES, &i))
		*value = take_high(&s->qbtc[i]);
	else
		return single(s, offset, value) || pair(s, offset, value);
	return true;
}

/* Counts any frame, good or bad, accepted or not: bytes with FCS (8.2.3.23.42, 44). */
void stats_rx_any(struct nic *n, uint32_t bytes)
{
	n->s.tpr++;
	n->s.tor += bytes + 4;
}

static bool is_broadcast(const uint8_t *frame)
{
	return be16(frame) == 0xffff && be32(frame + 2) == 0xffffffff;
}

void stats_rx_good(struct nic *n, const uint8_t *frame, uint32_t bytes)
{
	struct stats82599 *s = &n->s;
	s->prc[size_class(bytes + 4)]++;
	s->gprc++;
	s->gorc += bytes + 4;
	if (is_broadcast(frame))
		s->bprc++;
	else if (frame[0] & 1)
		s->mprc++;
}

void stats_tx(struct nic *n, const uint8_t *frame, uint32_t bytes)
{
	struct stats82599 *s = &n->s;
	s->ptc[size_class(bytes + 4)]++;
	s->gptc++;
	s->tpt++;
	s->gotc += bytes + 4;
	s->txdgpc++;
	s->txdgbc += bytes + 4;
	if (is_broadcast(frame))
		s->bptc++;
	else if (frame[0] & 1)
		s->mptc++;
}

/* The most useful statistics; counters that the guest has read restart at 0. */
void stats_json(struct model *m, struct json *j)
{
	const struct nic *n = nic_of(m);
	const struct stats82599 *s = &n->s;
	uint64_t no_descriptor = 0;
	for (unsigned i = 0; i < STAT_QUEUES; i++)
		no_descriptor += s->qprdc[i];
	json_bool(j, "link", n->link);
	json_u64(j, "rx_queues", (uint64_t)__builtin_popcountll(n->rx_on[0]) +
	                                 (uint64_t)__builtin_popcountll(n->rx_on[1]));
	json_u64(j, "tx_queues", (uint64_t)__builtin_popcountll(n->tx_on[0]) +
	                                 (uint64_t)__builtin_popcountll(n->tx_on[1]));
	json_u64(j, "packet_buffer_frames", n->fifo.frames);
	json_u64(j, "rxmpc", s->rxmpc);
	json_u64(j, "qprdc", no_descriptor);
	json_u64(j, "crcerrs", s->crcerrs);
	json_u64(j, "roc", s->roc);
	json_u64(j, "rlec", s->rlec);
}
