/* See stats.h. */
#include "control/stats.h"

#include "control/fragments.h"
#include "control/inside.h"
#include "control/tcp_control.h"
#include "lib/mem.h"

uint64_t stats_uptime_ns(void)
{
	return clock_ns(&self.clock, clock_tsc() - self.info->tsc_boot);
}

uint64_t stats_waiting(const struct counters *sum)
{
	uint64_t punted = sum->v[CNT_punted], taken = sum->v[CNT_punt_taken];
	return plane.waiting + fragments_waiting() + (punted > taken ? punted - taken : 0);
}

const char *stats_role(unsigned core)
{
	uint32_t roles = self.info->core[core].roles;
	if (roles != CORE_DATA)
		return roles == CORE_CONTROL ? "control" : "control+data";
	return self.info->status[core].state != CORE_DEAD && core_pair_of(core) < 0 ? "stand-by"
	                                                                           : "data";
}

void stats_neighbours(const struct neigh_table *table, uint32_t count[STATS_NEIGH_STATES])
{
	memset(count, 0, STATS_NEIGH_STATES * sizeof *count);
	for (uint32_t i = 0; plane.fib_ready && i < table->size.neighbours; i++) {
		assert(table->neigh[i].state < STATS_NEIGH_STATES);
		count[table->neigh[i].state]++;
	}
}

bool stats_tcp(unsigned core, enum tcp_state state, uint32_t *n)
{
	*n = 0;
	bool any = core == self.id && tcp_control;
	if (any)
		*n = tcp_count(tcp_control, state);
	if (self.info->core[core].roles & CORE_DATA) {
		/* single words: whether they are of one moment does not matter here */
		const struct view_tcp *tcp = &view_shared_of(core)->tcp;
		any |= __atomic_load_n(&tcp->capacity, __ATOMIC_RELAXED) > 0;
		*n += __atomic_load_n(&tcp->count[state], __ATOMIC_RELAXED);
	}
	return any;
}

const char *stats_tcp_state(enum tcp_state state)
{
	static const char *const names[VIEW_TCP_STATES] = {
		[TCP_CLOSED] = "closed",           [TCP_SYN_SENT] = "syn_sent",
		[TCP_SYN_RECEIVED] = "syn_recv",   [TCP_ESTABLISHED] = "estab",
		[TCP_FIN_WAIT_1] = "fin_wait_1",   [TCP_FIN_WAIT_2] = "fin_wait_2",
		[TCP_CLOSE_WAIT] = "close_wait",   [TCP_CLOSING] = "closing",
		[TCP_LAST_ACK] = "last_ack",       [TCP_TIME_WAIT] = "time_wait",
	};
	return names[state];
}

#define QUEUE(field) offsetof(struct nic_counters, field), false
#define DEVICE(field) offsetof(struct nic_stats, field), true

const struct stats_reason stats_reasons[] = {
	{"no_buffer", QUEUE(rx_no_buffer), false},
	{"bad_length", QUEUE(rx_bad_len), false},
	{"bad_descriptor", QUEUE(rx_bad_desc), false},
	{"oversize", QUEUE(rx_oversize), false},
	{"device_missed", DEVICE(rx_missed), false},
	{"device_no_descriptor", DEVICE(rx_no_desc), false},
	{"device_crc", DEVICE(rx_crc), false},
	{"device_length", DEVICE(rx_length), false},
	{"device_error", DEVICE(rx_error), false},
	{"device_filtered", DEVICE(rx_filtered), false},
	{"bad_descriptor", QUEUE(tx_bad_desc), true},
	{"device_error", DEVICE(tx_error), true},
};
const unsigned stats_reason_count = ARRAY_LEN(stats_reasons);
