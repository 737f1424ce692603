/*
 * The control core looks after the data cores: one that does not come round any more is restarted
 * by the kernel. Every core adds one to its `turns` at the end of a turn (core/loop.c), so nobody
 * has to say that he lives, and no core pays for being looked at.
 *
 * 1. What counts are looks, not time: while a whole guest stands still nobody looks.
 * 2. A core that is parked, or in the kernel, is not stuck. One that halts between two looks and
 *    comes back is seen in its turns.
 * 3. A look wakes the control core once a second when it sleeps. It cannot wait for something that
 *    wakes it: a stuck core wakes nobody.
 *
 * A core that is both control and data core has nobody who looks after it, nor has the control core.
 */
#include "core/outbox.h"
#include "hal/kcall.h"

#define LOOK_NS 1000000000ull
#define LOOKS_MAX 5 /* without a turn; core_quiesce gives up after 2 s, a host is not that slow */

static struct {
	uint64_t turns;
	unsigned looks; /* since they changed */
} seen[CORES_MAX];
static uint64_t look_tsc;

static void look(unsigned core)
{
	const struct outbox *o = outbox_of(core);
	uint64_t turns = shared_load(&o->stats.turns);
	bool stands = turns == seen[core].turns && !shared_load(&o->parked) &&
	              self.info->status[core].state == CORE_RUNNING;
	seen[core].turns = turns;
	seen[core].looks = stands ? seen[core].looks + 1 : 0;
	if (seen[core].looks < LOOKS_MAX)
		return;
	seen[core].looks = 0;
	core_log("core %u does not come round any more: restarting it", core);
	core_restart(core);
}

void watch_turn(void)
{
	if (self.info->cores == 1 || self.now_tsc < look_tsc)
		return;
	look_tsc = self.now_tsc + clock_ticks(&self.clock, LOOK_NS);
	for (unsigned d = 0; d < self.info->data_cores; d++)
		look(data_core(d));
}

uint64_t watch_deadline(void)
{
	return self.info->cores == 1 ? UINT64_MAX : look_tsc;
}

void core_restart(unsigned core)
{
	kcall(KCALL_RESTART, core, 0, 0);
}
