/*
 * The MAC's statistics, 8.2.3.23, which lie at the same offsets in all cards. 32-bit counters clear when read. A
 * longer counter is a pair: reading the low half takes its 32 bits, reading the high half takes the rest and clears
 * what was taken, so no event between the two reads is lost.
 */
#include "tools/nicsim/intel/state.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/packet/bytes.h"

/* Offsets in BAR 0. The six sizes of PRC and PTC are registers in a row. */
enum {
	AT_CRCERRS = 0x4000,
	AT_RLEC = 0x4040,
	AT_PRC64 = 0x405c,
	AT_GPRC = 0x4074,
	AT_BPRC = 0x4078,
	AT_MPRC = 0x407c,
	AT_GPTC = 0x4080,
	AT_GORCL = 0x4088,
	AT_GOTCL = 0x4090,
	AT_RUC = 0x40a4,
	AT_ROC = 0x40ac,
	AT_RJC = 0x40b0,
	AT_TORL = 0x40c0,
	AT_TPR = 0x40d0,
	AT_TPT = 0x40d4,
	AT_PTC64 = 0x40d8,
	AT_MPTC = 0x40f0,
	AT_BPTC = 0x40f4,
};

uint32_t stats_take(uint64_t *counter)
{
	uint32_t value = (uint32_t)*counter;
	*counter = 0;
	return value;
}

uint32_t stats_take_low(uint64_t *counter)
{
	uint32_t value = (uint32_t)*counter;
	*counter &= ~0xffffffffull;
	return value;
}

uint32_t stats_take_high(const struct model *m, uint64_t *counter)
{
	uint32_t value = (uint32_t)(*counter >> 32 & ((1ull << kind_of(m)->octets_high) - 1));
	*counter &= 0xffffffffull;
	return value;
}

static bool single(struct intel_stats *s, uint32_t offset, uint32_t *value)
{
	const struct {
		uint32_t offset;
		uint64_t *counter;
	} map[] = {
		{AT_CRCERRS, &s->crcerrs}, {AT_RLEC, &s->rlec}, {AT_GPRC, &s->gprc}, {AT_BPRC, &s->bprc},
		{AT_MPRC, &s->mprc},       {AT_GPTC, &s->gptc}, {AT_RUC, &s->ruc},   {AT_ROC, &s->roc},
		{AT_RJC, &s->rjc},         {AT_TPR, &s->tpr},   {AT_TPT, &s->tpt},   {AT_MPTC, &s->mptc},
		{AT_BPTC, &s->bptc},
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
	const struct {
		uint32_t low;
		uint64_t *counter;
	} map[] = {{AT_GORCL, &s->gorc}, {AT_GOTCL, &s->gotc}, {AT_TORL, &s->tor}};
	for (unsigned i = 0; i < sizeof map / sizeof map[0]; i++) {
		if (map[i].low == offset)
			*value = stats_take_low(map[i].counter);
		else if (map[i].low + 4 == offset)
			*value = stats_take_high(m, map[i].counter);
		else
			continue;
		return true;
	}
	return false;
}

bool stats_read_mac(struct model *m, uint32_t offset, uint32_t *value)
{
	struct intel_stats *s = &nic_of(m)->s;
	if (offset >= AT_PRC64 && offset < AT_PRC64 + 6 * 4)
		*value = stats_take(&s->prc[(offset - AT_PRC64) / 4]);
	else if (offset >= AT_PTC64 && offset < AT_PTC64 + 6 * 4)
		*value = stats_take(&s->ptc[(offset - AT_PTC64) / 4]);
	else
		return single(s, offset, value) || pair(m, offset, value);
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
	struct intel_stats *s = &n->s;
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
	struct intel_stats *s = &n->s;
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

/* Counters that the guest has read restart at 0. */
void stats_json_common(struct model *m, struct json *j)
{
	const struct nic *n = nic_of(m);
	json_bool(j, "link", n->link);
	json_u64(j, "rx_queues", (uint64_t)__builtin_popcountll(n->rx_on[0]) +
	                                 (uint64_t)__builtin_popcountll(n->rx_on[1]));
	json_u64(j, "tx_queues", (uint64_t)__builtin_popcountll(n->tx_on[0]) +
	                                 (uint64_t)__builtin_popcountll(n->tx_on[1]));
	json_u64(j, "packet_buffer_frames", n->fifo.frames);
	json_u64(j, "crcerrs", n->s.crcerrs);
	json_u64(j, "roc", n->s.roc);
	json_u64(j, "rlec", n->s.rlec);
}
