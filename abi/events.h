/*
 * The last events on a core, for the analysis of a failure. The core's program keeps the ring in
 * its shared memory, so the ring survives a restart of the program. All cores may read it. The
 * program's global `core_events` points to it. The kernel finds `core_events` by name and copies
 * the ring into the report when the program fails. runtime/events.h lists the events.
 */
#ifndef ABI_EVENTS_H
#define ABI_EVENTS_H

#include "lib/types.h"

#define EVENTS_KEPT 256
#define EVENTS_PLACES (EVENTS_KEPT + 1) /* one more for the event that is being written */

struct event {
	uint64_t tsc;
	uint64_t number; /* enum core_event_number */
	uint64_t word[2];
};

struct event_ring {
	uint64_t count; /* events so far; event n is v[n % EVENTS_PLACES]; written last */
	struct event v[EVENTS_PLACES];
};

extern struct event_ring *core_events;

#endif
