/*
 * Places of a server (its sessions), for which sources compete. A source is an address, for IPv6 a
 * /64 (net_addr_same_source). While places are free, any source may take them. When none is free, a
 * source may take one from the source that holds most, if that source then still holds at least as
 * many. So a source without a place always gets one, until each place is held by a different
 * source.
 */
#ifndef CONTROL_MANAGEMENT_PLACES_H
#define CONTROL_MANAGEMENT_PLACES_H

#include "net/addr.h"

/* The address that holds a place, counted from 0. NULL: the place is free, or is not counted. */
typedef const struct net_addr *(*places_holder_fn)(unsigned place);

/* Number of the places that a source holds. */
static inline unsigned places_held(places_holder_fn holder, unsigned places,
                                   const struct net_addr *source)
{
	unsigned held = 0;
	for (unsigned i = 0; i < places; i++) {
		const struct net_addr *who = holder(i);
		held += who && net_addr_same_source(who, source);
	}
	return held;
}

/* True if a source that holds `held` places may take one from a source that holds `most`. */
static inline bool places_may_take(unsigned held, unsigned most) { return most > held + 1; }

#endif
