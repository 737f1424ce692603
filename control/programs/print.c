/*
 * Lines of bpf_trace_printk (dataplane/xdp_print.c) on the console, a few at a time: a program that prints
 * for every packet must not keep the console busy. And locks in maps of cores that are dead.
 */
#include "control/programs/programs.h"

#include "control/console/serial.h"
#include "dataplane/state.h"
#include "runtime/runtime.h"

#define POLL_NS (SECOND_NS / 10)
#define LINES_EACH 4 /* of a core, at a time */

static uint64_t lost_before[CORES_MAX];
static bool dead[CORES_MAX];

static void print_core(unsigned core)
{
	const struct dp_xdp_prints *ring = &dp_xdp_shared_of(core)->prints;
	uint64_t *tail = &dp_get()->xdp.printed[core];
	const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	if (head - *tail > DP_XDP_PRINTS) /* the ring has begun anew, or its core has gone mad */
		__atomic_store_n(tail, head, __ATOMIC_RELEASE);
	for (unsigned n = 0; n < LINES_EACH && *tail != head; n++) {
		const struct dp_xdp_print line = ring->line[*tail % DP_XDP_PRINTS]; /* one copy: untrusted */
		char text[sizeof line.text + 1];
		unsigned len = line.len < sizeof line.text ? line.len : sizeof line.text;
		for (unsigned i = 0; i < len; i++)
			text[i] = line.text[i] >= ' ' && line.text[i] <= '~' ? (char)line.text[i] : '?';
		text[len] = 0;
		console_log("xdp: core %u, eth%u: %s", core, line.port % NIC_PORTS_MAX, text);
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	}
	const uint64_t lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED);
	if (lost > lost_before[core] && *tail == head)
		console_log("xdp: core %u: %llu more lines were lost", core,
		            (unsigned long long)(lost - lost_before[core]));
	if (*tail == head)
		lost_before[core] = lost;
}

/* A core that is dead cannot release its locks itself. */
static void release_locks(unsigned core)
{
	const struct dp_xdp *x = &dp_get()->xdp;
	if (self.info->status[core].state != CORE_DEAD || dead[core])
		return;
	dead[core] = true;
	for (uint32_t i = 0; i < x->maps; i++)
		bpf_map_recover(x->map[i], core);
}

uint64_t programs_timer(void)
{
	if (dp_get()->xdp.maps == 0 && !programs_at(0))
		return UINT64_MAX; /* a put calls for the timer again: all are called after it */
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const unsigned core = self.info->first_data_core + d;
		if (dp_xdp_shared_of(core)->started == dp_get()->started)
			print_core(core);
		release_locks(core);
	}
	return core_now_ns() + POLL_NS;
}
