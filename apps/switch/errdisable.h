/*
 * Ports that storm control has disabled (`storm-control action shutdown`), on the control core.
 *
 * The data cores drop what is beyond a level (storm.h). Once a second, this file reads the counters of these
 * drops. A port with the action, one of whose classes has been dropped since, is disabled: for the switch
 * it has no link. Its LACP and LLDP go on.
 *
 * The port is enabled again by
 * - `errdisable recovery cause storm-control`, after the interval;
 * - `shutdown` (and `no shutdown`), or a configuration without the action.
 *
 * Invariants
 * 1. A port is in errdisable_ports() if and only if tables_disable has disabled it.
 * 2. What an earlier control program has left is used only if its seal is right (runtime/sealed.h).
 *    Otherwise no port is disabled, until a storm disables it again.
 *
 * BPDU guard disables ports too: net/stp and spanning.h do that.
 */
#ifndef APPS_SWITCH_ERRDISABLE_H
#define APPS_SWITCH_ERRDISABLE_H

#include "apps/switch/shared.h"

/* Takes memory for the state, if there is none yet. To be called before each start (spanning_keep_room). */
void errdisable_room(void);

/* In the plug-in's start, behind tables_start and before spanning_start. */
void errdisable_start(void);

/* The configuration has changed; behind tables_changed and before spanning_changed. */
void errdisable_changed(void);

/* Does the work due; returns the TSC of the next, UINT64_MAX for none. */
uint64_t errdisable_timer(void);

/* Logical ports that storm control has disabled, one bit each. */
uint32_t errdisable_ports(void);

/* When such a port is enabled again, in ns of the clock; UINT64_MAX: `errdisable recovery` is off. */
uint64_t errdisable_recovery_ns(unsigned port);

/* What storm control has dropped since the start, by class, of all ports of a logical port. */
void errdisable_drops(unsigned port, uint64_t drops[SWITCH_STORMS]);

#endif
