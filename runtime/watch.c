/*
 * Supervision of cores by other cores, for what each core's own watchdog (kernel/watchdog.h) does not find.
 * The control core checks the data cores; the kernel restarts one that no longer makes progress. Every core
 * increments its `turns` at the end of a turn (runtime/loop.c), so the check costs a data core nothing.
 *
 * 1. Checks are counted, not time: while a whole guest is paused, no check takes place.
 * 2. A core that is parked or in the kernel is not stuck. A core that halted and resumed between two
 *    checks has changed its `turns`.
 * 3. A sleeping control core wakes once a second for the check, because a stuck core wakes no other.
 *
 * The first living data core checks the control core every five seconds, at the cost of one comparison
 * per turn. The control core may be busy for long, for example to read a million routes, so it is given
 * 30 s. The kernel does not trust a data core: it also checks when the control core last called it
 * (KCALL_RESTART). If one core has both roles, no other core checks it.
 *
 * A port that sends nothing although its link is up is started again, if its driver says that this helps
 * (nic_ops.start_mends).
 *
 * The same check asks the kernel for accesses that the IOMMU has refused, and for errors that PCI Express
 * functions report, if there are such.
 */
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/mem.h"

#define LOOK_NS 1000000000ull
#define LOOKS_MAX 5 /* checks without a turn; core_quiesce gives up after 2 s, hosts are not that slow */

static struct {
	uint64_t turns;
	unsigned looks; /* checks since `turns` changed */
} seen[CORES_MAX];
static uint64_t look_tsc;

#define CONTROL_LOOK_NS 5000000000ull
#define CONTROL_LOOKS_MAX 6
uint64_t watch_control_tsc; /* time of a data core's next check */

/* True if the core has made no turn for `most` checks; the count then starts again. */
static bool stands_still(unsigned core, unsigned most)
{
	const struct core_shm *o = core_shm_of(core);
	uint64_t turns = shared_load(&o->stats.turns);
	bool stands = turns == seen[core].turns && !shared_load(&o->parked) &&
	              self.info->status[core].state == CORE_RUNNING && !self.info->sleep[core].asleep;
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
	core_log_at(LOG_CRIT, "core %u makes no progress: restarting it", core);
	core_event(EVENT_stuck, core, 0);
	core_restart(core);
}

static bool is_looking(void)
{
	return self.info->cores > 1 || self.info->iommu.units || self.info->hardware.error_reporting;
}

void watch_turn(void)
{
	if (!is_looking() || self.now_tsc < look_tsc)
		return;
	look_tsc = self.now_tsc + clock_ticks(&self.clock, LOOK_NS);
	if (self.info->iommu.units)
		kcall(KCALL_DMA_LOOK, 0, 0, 0);
	if (self.info->hardware.error_reporting)
		kcall(KCALL_PCI_ERRORS, 0, 0, 0);
	for (unsigned d = 0; d < self.info->data_cores && self.info->cores > 1; d++)
		look(data_core(d));
}

uint64_t watch_deadline(void)
{
	return is_looking() ? look_tsc : UINT64_MAX;
}

/* A device that hangs keeps its frames for ever. One whose link was down needs time to send what has waited. */
#define HUNG_NS 3000000000ull
#define HUNG_AGAIN_NS 60000000000ull /* a start that does not help is not repeated sooner */

bool watch_port(unsigned p, bool up)
{
	static struct {
		uint64_t up_tsc;    /* since when the link has been up; 0: it is down */
		uint64_t again_tsc; /* not before */
	} ports[NIC_PORTS_MAX];
	uint64_t stalled = 0;
	if (!up || ports[p].up_tsc == 0)
		ports[p].up_tsc = up ? self.now_tsc : 0;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		stalled |= shared_load(&core_shm_of(data_core(d))->stalled);
	if (!up || !(stalled >> p & 1) || self.now_tsc < ports[p].again_tsc ||
	    self.now_tsc - ports[p].up_tsc < clock_ticks(&self.clock, HUNG_NS))
		return false;
	ports[p].again_tsc = self.now_tsc + clock_ticks(&self.clock, HUNG_AGAIN_NS);
	return true;
}

/* True if this data core has to check the control core: it is the first living data core, and the
 * control core is another core. */
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
		core_log_at(LOG_CRIT, "core 0 makes no progress: restarting it");
}

uint64_t watch_control_deadline(void)
{
	return is_mine() && !shared_load(&core_shm_of(0)->parked) ? watch_control_tsc : UINT64_MAX;
}

void core_restart(unsigned core)
{
	kcall(KCALL_RESTART, core, 0, 0);
}

/* --- for tests --- */

int core_test_dma(unsigned device, unsigned region)
{
	return (int)kcall(KCALL_TEST_DMA, device, region, 0);
}

int core_test_rings(unsigned device, unsigned port)
{
	const uint64_t at = core_shm_of(data_core(0))->ring_mem[port] + published_header()->ring_bytes[port];
	return (int)kcall(KCALL_TEST_DMA, device, at - sizeof(uint32_t), 0);
}

int core_test_message(unsigned device, unsigned entry)
{
	return (int)kcall(KCALL_TEST_DMA, device, TEST_DMA_MESSAGE + entry, 0);
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
