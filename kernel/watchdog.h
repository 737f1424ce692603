/*
 * The watchdog: each core finds out by itself that its program makes no progress, also if no other core is
 * there or awake to see it.
 *
 * While a program runs, its core has a one-shot deadline (kernel/apic.h). Then the kernel compares the
 * program's signs of life (abi/pulse.h) and the time of its last kernel call with those of the look before.
 *
 *     look                            next look after   effect
 *     there was progress              WATCHDOG_LOOK_MS  none
 *     there was none                  WATCHDOG_AGAIN_MS counts; at the limit the program is stuck
 *     there was none, and it is late  WATCHDOG_AGAIN_MS counts a fifth
 *
 * 1. A program that no longer makes progress is found within 90 ms: two periods of WATCHDOG_LOOK_MS, and
 *    three of WATCHDOG_AGAIN_MS. Work of less than 60 ms is never interrupted.
 * 2. A program announces slower work (enum core_pace). A turn of the control core is given 220 ms, a start, a
 *    command or a commit 4 s. Under emulation (TCG), the longest such work without a sign of life took 7 and
 *    117 looks. That was a configuration of a million routes; hardware is some ten times faster. Only
 *    more than five failures in ten seconds stop a core (kernel/fault.c), so even a limit that is too low stops none.
 * 3. Looks count, not time. A virtual CPU that its host does not run takes no interrupt either. Its deadline
 *    passes meanwhile, so the look after it is late. A guest that was stopped, and a core that was in the
 *    kernel for long, are late once. On a busy host most looks are late, and between two of them the core ran
 *    for a time slice at most: there it takes five times as many.
 * 4. A sleeping core has no watchdog: serve_sleep (kernel/kcall.c) uses the same timer.
 *
 * A program that calls the kernel in an endless loop makes progress here. The control core finds it by its
 * turns (runtime/watch.c), later.
 */
#ifndef KERNEL_WATCHDOG_H
#define KERNEL_WATCHDOG_H

#include "abi/pulse.h"
#include "lib/types.h"

#define WATCHDOG_LOOK_MS 30
#define WATCHDOG_AGAIN_MS 10
#define WATCHDOG_LATE_MS 5 /* an interrupt that comes later than that has waited: the core did not run */
#define WATCHDOG_WEIGHT 5  /* late looks that count as one */
#define WATCHDOG_LOOKS 4         /* of a program that is PACE_FAST, */
#define WATCHDOG_SLOW_LOOKS 20   /* PACE_SLOW, */
#define WATCHDOG_LONG_LOOKS 400  /* PACE_LONG, or has not said */

struct core;

/* Of one core; only that core uses it. */
struct watchdog {
	const volatile struct core_pulse *pulse; /* NULL: the program has not published it yet */
	uint64_t due_tsc;      /* of the next look */
	uint64_t progress;     /* at the last look */
	uint64_t progress_tsc; /* of the last look that saw progress, or of the start */
	unsigned weight;       /* of the looks since then: WATCHDOG_WEIGHT for one in time, 1 for a late one */
};

/* Reads `watchdog=` of the kernel command line. Boot core, after program_init and before any program runs. */
void watchdog_init(void);

/* The flags (RFLAGS) with which ring 3 runs: with interrupts on if there is a watchdog. */
uint64_t watchdog_rflags(void);

/* The calling core is about to run its program from the start. */
void watchdog_start(struct core *c);

/* The calling core continues its program after a sleep. Replaces the deadline of the sleep. */
void watchdog_resume(struct core *c);

/* The deadline has passed while the calling core's program ran. Returns 0 if the program goes on, else for
 * how many milliseconds it has made no progress: it is stuck, and nothing is armed. */
unsigned watchdog_look(struct core *c);

#endif
