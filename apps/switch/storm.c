/* See storm.h. */
#include "apps/switch/storm.h"

#include "lib/mem.h"
#include "net/eth.h"
#include "runtime/runtime.h"

/* A word of struct switch_core, storm[]: the second in the upper half, frames in the lower. */
static inline uint32_t second_of(uint64_t word) { return (uint32_t)(word >> 32); }

/* The second in which this core found the limit reached, plus 1; 0: none. */
static uint32_t full[NIC_PORTS_MAX][SWITCH_STORMS];

void storm_start(bool fresh)
{
	struct switch_core *own = dp_plugin_shared();
	memset(full, 0, sizeof full);
	if (fresh)
		memset(own->storm, 0, sizeof own->storm);
}

enum switch_storm storm_class(const struct pkt *p)
{
	if (!eth_is_multicast(p->data))
		return SWITCH_STORM_UNICAST;
	const bool broadcast = raw32_load(p->data) == 0xffffffff && raw16_load(p->data + 4) == 0xffff;
	return broadcast ? SWITCH_STORM_BROADCAST : SWITCH_STORM_MULTICAST;
}

/* Frames of all data cores in that second. A core that writes nonsense only makes the others drop more, or
 * is counted not at all. */
static uint64_t passed(unsigned port, enum switch_storm class, uint32_t second)
{
	uint64_t sum = 0;
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const struct switch_core *o = dp_plugin_shared_of(self.info->first_data_core + d);
		const uint64_t word = __atomic_load_n(&o->storm[port][class], __ATOMIC_RELAXED);
		if (second_of(word) == second)
			sum += (uint32_t)word;
	}
	return sum;
}

enum counter storm_police(unsigned port, enum switch_storm class, uint32_t limit)
{
	static const enum counter drop[SWITCH_STORMS] = {
		[SWITCH_STORM_BROADCAST] = CNT_drop_switch_storm_broadcast,
		[SWITCH_STORM_MULTICAST] = CNT_drop_switch_storm_multicast,
		[SWITCH_STORM_UNICAST] = CNT_drop_switch_storm_unicast,
	};
	struct switch_core *own = dp_plugin_shared();
	uint64_t *word = &own->storm[port][class];
	const uint32_t second = (uint32_t)(core_now_ns() / SECOND_NS);
	if (full[port][class] == second + 1)
		return drop[class];
	if (passed(port, class, second) >= limit) {
		full[port][class] = second + 1;
		return drop[class];
	}
	const uint64_t first = (uint64_t)second << 32;
	__atomic_store_n(word, (second_of(*word) == second ? *word : first) + 1, __ATOMIC_RELAXED);
	return CNT_NONE;
}
