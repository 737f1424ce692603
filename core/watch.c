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
 *
 * The same look asks the kernel what the IOMMU has refused to devices, where there is one.
 */
#include "core/outbox.h"
#include "hal/kcall.h"
#include "lib/mem.h"

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
	core_event(EVENT_stuck, core, 0);
	core_restart(core);
}

static bool is_looking(void) { return self.info->cores > 1 || self.info->iommu.units; }

void watch_turn(void)
{
	if (!is_looking() || self.now_tsc < look_tsc)
		return;
	look_tsc = self.now_tsc + clock_ticks(&self.clock, LOOK_NS);
	if (self.info->iommu.units)
		kcall(KCALL_DMA_LOOK, 0, 0, 0);
	for (unsigned d = 0; d < self.info->data_cores && self.info->cores > 1; d++)
		look(data_core(d));
}

uint64_t watch_deadline(void)
{
	return is_looking() ? look_tsc : UINT64_MAX;
}

void core_restart(unsigned core)
{
	kcall(KCALL_RESTART, core, 0, 0);
}

/* --- for tests --- */

int core_test_dma(unsigned device)
{
	return (int)kcall(KCALL_TEST_DMA, device, 0, 0);
}

bool core_test_panic(const char *kind)
{
	static const char *const kinds[] = {[TEST_PANIC_FAULT] = "fault", [TEST_PANIC_STACK] = "stack",
	                                    [TEST_PANIC_FRAME] = "frame",
	                                    [TEST_PANIC_ASSERT] = "assert",
	                                    [TEST_PANIC_SMASH] = "smash"};
	for (unsigned i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			kcall(KCALL_TEST_PANIC, i, 0, 0);
	return false;
}
