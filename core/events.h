/*
 * Events of a core: what it did and what befell it, but for packets. They are cold, a line of a report
 * each (`show events`, `show crash`); nothing of the data path notes one per packet.
 *
 * Columns: name, what its two words are called ("" is not shown, one that begins with # is
 * hexadecimal), meaning. To add one: a row here, and a call of core_event() where it happens.
 */
#ifndef CORE_EVENTS_H
#define CORE_EVENTS_H

#include "hal/events.h"

#define CORE_EVENTS(X) \
	/* any core */ \
	X(start, "roles", "faults", "its program began: enum core_role, and how often it had failed") \
	/* data cores */ \
	X(phase, "phase", "asked", "it has done what it was asked: enum ports_phase, which request") \
	X(stalled, "port", "waiting", "a port has taken nothing for long, with packets waiting") \
	X(punt_full, "kind", "dropped", "no room towards the control core; drops so far, at most once a second") \
	/* the control core */ \
	X(ports, "state", "ports", "the life of the ports goes on: enum state of core/ports.c") \
	X(link, "port", "up", "a link went up or down; 2: the device is gone") \
	X(crash, "core", "number", "a program had failed; the number of its report") \
	X(stuck, "core", "", "a data core does not come round any more, and is restarted") \
	X(revive, "core", "pair", "a data core came up anew, and is helped; 255: it has no queue pair") \
	X(revived, "core", "us", "it polls again, after so long") \
	X(takeover, "us", "", "this control program has taken over from the one before it") \
	X(unquiet, "core", "", "a data core does not finish its turn") \
	X(commit, "number", "", "another configuration is in force") \
	X(configuration, "number", "#hash", "which one it is") \
	X(neighbours_full, "version", "dropped", "no room for a neighbour of that version of IP; drops so far, " \
	  "at most once a second")

#define CORE_EVENT_NUMBER(name, first, second, meaning) EVENT_##name,
enum core_event_number { CORE_EVENTS(CORE_EVENT_NUMBER) EVENTS };
#undef CORE_EVENT_NUMBER

/* Finds this core's ring, and empties it if nobody has since boot. */
void core_events_start(void);

/* Notes an event of this core. */
void core_event(enum core_event_number number, uint64_t first, uint64_t second);

/* The same, unless this core has noted one of that number within the last second. */
void core_event_seldom(enum core_event_number number, uint64_t first, uint64_t second);

/* The next event of any core, from number *at on, of those that are still kept; *at goes behind it.
 * False: there is none. */
bool core_event_next(unsigned core, uint64_t *at, struct event *e);

/* Its line, "\n" at its end, in CORE_EVENT_LINE bytes with the NUL; returns its length. What the event
 * holds may be anything. */
#define CORE_EVENT_LINE 128
size_t core_event_line(const struct event *e, char *line);

#endif
