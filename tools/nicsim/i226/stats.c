/*
 * Statistics that the I226 has besides those of the MAC (intel/stats.c). Counters of events that never occur in this
 * model read 0. Deliberately missing: TOTL, TOTH, RNBC.
 */
#include "tools/nicsim/i226/state.h"
#include "tools/nicsim/json.h"

enum {
	AT_MPC = 0x4010,
	AT_RPTHC = 0x4104,
	AT_HGPTC = 0x4118,
	AT_HGORCL = 0x4128,
	AT_HGOTCL = 0x4130,
};

bool i226_stats_read(struct model *m, uint32_t at, uint32_t *value)
{
	struct intel_stats *s = &nic_of(m)->s;
	switch (at) {
	case AT_MPC:
		*value = stats_take(&s->rxmpc);
		return true;
	case AT_RPTHC:
		*value = stats_take(&s->rxdgpc);
		return true;
	case AT_HGPTC:
		*value = stats_take(&s->txdgpc);
		return true;
	case AT_HGORCL:
		*value = stats_take_low(&s->rxdgbc);
		return true;
	case AT_HGORCL + 4:
		*value = stats_take_high(m, &s->rxdgbc);
		return true;
	case AT_HGOTCL:
		*value = stats_take_low(&s->txdgbc);
		return true;
	case AT_HGOTCL + 4:
		*value = stats_take_high(m, &s->txdgbc);
		return true;
	}
	return stats_read_mac(m, at, value);
}

void i226_stats_json(struct model *m, struct json *j)
{
	const struct intel_stats *s = &nic_of(m)->s;
	uint64_t no_descriptor = 0;
	for (unsigned q = 0; q < I226_QUEUES; q++)
		no_descriptor += s->qprdc[q];
	stats_json_common(m, j);
	json_u64(j, "mpc", s->rxmpc);
	json_u64(j, "rqdpc", no_descriptor);
	json_u64(j, "mbps", nic_of(m)->link ? i226_mbps(m) : 0);
}
