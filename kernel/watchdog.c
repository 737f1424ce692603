/* See watchdog.h. The look is short: a host that emulates ring 0 takes some 2 us for each instruction. */
#include "kernel/watchdog.h"

#include "abi/layout.h"
#include "hal/clock.h"
#include "kernel/apic.h"
#include "kernel/core.h"
#include "kernel/program.h"
#include "kernel/vm.h"
#include "lib/cmdline.h"
#include "lib/mem.h"

#define RFLAGS_INTERRUPTS (1ull << 9) /* IF, Intel SDM vol. 3A, 2.3 */

static const uint16_t looks_max[PACES] = {
	[PACE_FAST] = WATCHDOG_LOOKS, [PACE_SLOW] = WATCHDOG_SLOW_LOOKS, [PACE_LONG] = WATCHDOG_LONG_LOOKS};
static bool off;
static uint64_t symbol; /* address of core_pulse in every program; 0: it has none */
static uint64_t ms;     /* TSC ticks */

void watchdog_init(void)
{
	char word[4];
	off = cmdline_option(boot_info->cmdline, "watchdog", word, sizeof word) && strcmp(word, "off") == 0;
	symbol = program_symbol("core_pulse");
	ms = boot_info->tsc_hz / 1000;
}

uint64_t watchdog_rflags(void)
{
	return off ? 0 : RFLAGS_INTERRUPTS;
}

static void arm(struct watchdog *w, uint64_t tsc)
{
	w->due_tsc = tsc;
	apic_deadline(tsc);
}

void watchdog_start(struct core *c)
{
	c->watchdog.pulse = NULL;
	watchdog_resume(c);
}

void watchdog_resume(struct core *c)
{
	struct watchdog *w = &c->watchdog;
	if (off) {
		apic_deadline(0);
		return;
	}
	w->progress_tsc = clock_tsc();
	w->weight = 0;
	arm(w, w->progress_tsc + WATCHDOG_LOOK_MS * ms);
}

/* The program's signs of life, which must lie in its core's own shared memory; NULL: not known. */
static const volatile struct core_pulse *find_pulse(const struct core *c)
{
	const struct core_memory *own = &boot_info->core[c->id];
	uint64_t at;
	if (!symbol || !vm_copy_from_user(c->space, &at, symbol, sizeof at))
		return NULL;
	if (at % sizeof(uint64_t) || at < own->shm || at - own->shm > own->shm_bytes - sizeof(struct core_pulse))
		return NULL;
	return vm_phys(at - MEMORY_WINDOW);
}

unsigned watchdog_look(struct core *c)
{
	struct watchdog *w = &c->watchdog;
	const uint64_t now = clock_tsc();
	if (now < w->due_tsc) { /* left over from a sleep, or the timer is faster than the TSC */
		apic_deadline(w->due_tsc);
		return 0;
	}
	if (!w->pulse)
		w->pulse = find_pulse(c);
	/* each summand only grows */
	uint64_t progress = c->called_tsc + (w->pulse ? w->pulse->turns + w->pulse->marks : 0);
	if (progress != w->progress) {
		w->progress = progress;
		w->progress_tsc = now;
		w->weight = 0;
		arm(w, now + WATCHDOG_LOOK_MS * ms);
		return 0;
	}
	w->weight += now - w->due_tsc < WATCHDOG_LATE_MS * ms ? WATCHDOG_WEIGHT : 1;
	const uint64_t pace = w->pulse ? w->pulse->pace : PACE_LONG;
	if (w->weight >= WATCHDOG_WEIGHT * looks_max[pace < PACES ? pace : PACE_LONG])
		return (unsigned)((now - w->progress_tsc) / ms);
	arm(w, now + WATCHDOG_AGAIN_MS * ms);
	return 0;
}
