/*
 * The signs of life of a core's program, for the kernel's watchdog (kernel/watchdog.h). They lie in the
 * core's shared memory; the program's global `core_pulse` points to them, and the kernel finds `core_pulse`
 * by name. The program writes them, the kernel reads them and trusts them in nothing else: a wrong value
 * delays the watchdog, or has the program restarted.
 */
#ifndef ABI_PULSE_H
#define ABI_PULSE_H

#include "lib/types.h"

/* How long its work may take before it makes progress again; kernel/watchdog.h has the limits. */
enum core_pace {
	PACE_FAST, /* a turn of the data path */
	PACE_SLOW, /* a turn of the control core */
	PACE_LONG, /* a start, a typed command, a commit */
	PACES,
};

struct core_pulse {
	uint64_t turns; /* turns of the loop */
	uint64_t marks; /* marks in work that takes longer than a turn should: core_alive() */
	uint64_t pace;  /* enum core_pace */
};

extern const struct core_pulse *core_pulse;

#endif
