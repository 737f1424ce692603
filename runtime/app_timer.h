/*
 * When a data core calls its application's timer (struct app, data_timer): at the time that the timer asked
 * for, at most `slack` after a turn that moved packets or messages, since these may have set an earlier timer,
 * and in the first turn after that which moves none. A core that is asked again and again by one peer thus
 * calls the timer while it waits for the next request.
 *
 * Pure functions of their arguments. Times are ticks of any clock, the same in all calls.
 */
#ifndef RUNTIME_APP_TIMER_H
#define RUNTIME_APP_TIMER_H

#include "lib/number.h"
#include "lib/types.h"

struct app_timer {
	uint64_t at;    /* when to call it; a core does not sleep beyond it */
	uint64_t slack;
	bool owed;      /* something was moved since the last call */
};

/* Is the timer due in a turn that began at `now`? moved: that turn moved something. */
static inline bool app_timer_due(struct app_timer *t, uint64_t now, bool moved)
{
	if (moved && !t->owed) {
		t->owed = true;
		t->at = u64_min(t->at, now + t->slack);
	}
	return now >= t->at || (t->owed && !moved);
}

/* It was called, and asked for a call at `at`. */
static inline void app_timer_called(struct app_timer *t, uint64_t at)
{
	t->at = at;
	t->owed = false;
}

#endif
