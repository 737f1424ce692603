/*
 * Places of a server, for which sources compete. A source is an address, of IPv6 a /64
 * (net_addr_same_source). While places are free any source may take them. When none is free, a
 * source may take one from the source that has most, if that one still has as many afterwards. So a
 * source without a place always gets one, until every place has a source of its own.
 */
#ifndef CONTROL_MANAGEMENT_PLACES_H
#define CONTROL_MANAGEMENT_PLACES_H

#include "net/addr.h"

/* The address that has a place, counted from 0; NULL: the place is free, or is not counted. */
typedef const struct net_addr *(*places_holder_fn)(unsigned place);

/* How many of the places a source has. */
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

/* May a source that has so many take one of a source that has `most`? */
static inline bool places_may_take(unsigned held, unsigned most) { return most > held + 1; }

#endif
