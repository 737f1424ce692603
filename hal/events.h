/*
 * What has happened on a core, for who looks into a failure: a ring of the last events, which the core's
 * program keeps in its outbox, so that it outlasts a restart of the program. All cores may read it. The
 * program's global `core_events` says where it is; the kernel finds that by name, and copies the ring
 * into the report when the program fails. Which events there are core/events.h has.
 */
#ifndef HAL_EVENTS_H
#define HAL_EVENTS_H

#include "lib/types.h"

#define EVENTS_KEPT 256
#define EVENTS_PLACES (EVENTS_KEPT + 1) /* the one that is just being written is none of these */

struct event {
	uint64_t tsc;
	uint64_t number; /* enum core_event_number */
	uint64_t word[2];
};

struct event_ring {
	uint64_t count; /* so far: event n is v[n % EVENTS_PLACES]; written last */
	struct event v[EVENTS_PLACES];
};

extern struct event_ring *core_events;

#endif
