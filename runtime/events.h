/*
 * Events of a core: its actions and incidents, other than packets. Events are cold; each is a line of a
 * report (`show events`, `show crash`). The data path records no event per packet.
 *
 * Columns: name, names of its two words ("" is not printed, a name with a leading # is printed in
 * hexadecimal), meaning. To add an event: a row here, and a call of core_event() where it happens.
 */
#ifndef RUNTIME_EVENTS_H
#define RUNTIME_EVENTS_H

#include "abi/events.h"

#define CORE_EVENTS(X) \
	/* any core */ \
	X(start, "roles", "faults", \
	  "its program began: enum core_role, and how often it had failed") \
	X(test_fault, "kind", "", "a test has its program fail (enum test_fault)") \
	/* data cores */ \
	X(phase, "phase", "asked", \
	  "it has done what it was asked: enum ports_phase, which request") \
	X(stalled, "port", "waiting", "a port has taken nothing for long, with packets waiting") \
	X(punt_full, "kind", "dropped", \
	  "no room towards the control core; drops so far, at most once a second") \
	X(steer, "core", "takes", "a core begins or ends to take packets from this one") \
	/* the control core */ \
	X(ports, "state", "ports", "the life of the ports goes on: enum state of runtime/ports.c") \
	X(link, "port", "up", "a link went up or down; 2: the device is gone") \
	X(crash, "core", "number", "a program had failed; the number of its report") \
	X(stuck, "core", "", "a data core makes no progress, and is restarted") \
	X(led, "core", "us", "a data core has failed, and its packets go to others, so long after") \
	X(recover, "core", "pair", \
	  "a restarted data core is being recovered; 255: it has no queue pair") \
	X(recovered, "core", "us", "that core polls again, after so long") \
	X(port_restart, "port", "core", \
	  "a port is restarted alone; for that data core, which has restarted, or, core 0, for its device") \
	X(port_back, "port", "us", "that port runs again, after so long") \
	X(buckets, "buckets", "us", \
	  "so many buckets of the cards' tables have moved to other data cores, in that time") \
	X(cores, "pairs", "before", "the flows are on the first so many queue pairs from now on; and before") \
	X(warm_restart, "us", "", "this control program has replaced the one before it") \
	X(unquiet, "core", "", "a data core does not finish its turn") \
	X(commit, "number", "", "another configuration is in force") \
	X(configuration, "number", "#hash", "which one it is") \
	X(neighbours_full, "version", "dropped", \
	  "no room for a neighbour of that version of IP; drops so far, " \
	  "at most once a second")

#define CORE_EVENT_NUMBER(name, first, second, meaning) EVENT_##name,
enum core_event_number { CORE_EVENTS(CORE_EVENT_NUMBER) EVENTS };
#undef CORE_EVENT_NUMBER

/* Locates this core's ring, and clears it at the first start since boot. */
void core_events_start(void);

/* Records an event of this core. */
void core_event(enum core_event_number number, uint64_t first, uint64_t second);

/* Records an event, unless this core has recorded one of that number within the last second. */
void core_event_seldom(enum core_event_number number, uint64_t first, uint64_t second);

/* Copies the next kept event of `core`, from number *at on, and moves *at behind it. False: there is
 * none. */
bool core_event_next(unsigned core, uint64_t *at, struct event *e);

/* Formats the event as a line that ends in "\n", at most CORE_EVENT_LINE bytes including the NUL; returns
 * its length. The event is untrusted. */
#define CORE_EVENT_LINE 128
size_t core_event_line(const struct event *e, char *line);

#endif
