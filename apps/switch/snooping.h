/* IGMP and MLD snooping on the control core: net/snoop with the tables that data cores read. */
#ifndef APPS_SWITCH_SNOOPING_H
#define APPS_SWITCH_SNOOPING_H

#include "net/snoop/snoop.h"
#include "runtime/runtime.h"

/* The state; NULL: there was no memory for it, and no VLAN is snooped. Read-only. */
extern struct snoop *snooping;

/* To be called before each start. Takes the memory, once. */
void snooping_room(void);

/* The tables of the switch have been built, or have changed. */
void snooping_start(void);
void snooping_changed(void);

/* Does the work that is due; follows ports that have begun or ended to forward. Returns the next deadline, a TSC. */
uint64_t snooping_timer(void);

/* Is snooping on in that VLAN? */
bool snooping_is_on(unsigned vid, enum snoop_family family);

#endif
