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
 * The control core is looked after by the first data core that lives, every five seconds: one
 * comparison a turn. It may be busy for long, with a million routes to read, so it is given thirty; and
 * the kernel believes no data core, but looks when the control core has last called it
 * (KCALL_RESTART). A core that is both has nobody who looks after it.
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

#define CONTROL_LOOK_NS 5000000000ull
#define CONTROL_LOOKS_MAX 6
uint64_t watch_control_tsc; /* a data core's next look */

/* Whether it has stood still for so many looks now, and the count begins anew. */
static bool stands_still(unsigned core, unsigned most)
{
	const struct outbox *o = outbox_of(core);
	uint64_t turns = shared_load(&o->stats.turns);
	bool stands = turns == seen[core].turns && !shared_load(&o->parked) &&
	              self.info->status[core].state == CORE_RUNNING;
	seen[core].turns = turns;
	seen[core].looks = stands ? seen[core].looks + 1 : 0;
	if (seen[core].looks < most)
		return false;
	seen[core].looks = 0;
	return true;
}

static void look(unsigned core)
{
	if (!stands_still(core, LOOKS_MAX))
		return;
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

/* Is there a control core that is not this one, and no other data core to look after it? */
static bool is_mine(void)
{
	unsigned d = 0;
	if (self.info->first_data_core == 0 || !(self.roles & CORE_DATA))
		return false;
	while (self.info->status[data_core(d)].state == CORE_DEAD)
		d++;
	return data_core(d) == self.id;
}

void watch_control(void)
{
	watch_control_tsc = self.now_tsc + clock_ticks(&self.clock, CONTROL_LOOK_NS);
	if (!is_mine() || !stands_still(0, CONTROL_LOOKS_MAX))
		return;
	if (kcall(KCALL_RESTART, 0, 0, 0) == 0)
		core_log("core 0 does not come round any more: restarting it");
}

uint64_t watch_control_deadline(void)
{
	return is_mine() && !shared_load(&outbox_of(0)->parked) ? watch_control_tsc : UINT64_MAX;
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
