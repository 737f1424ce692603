/*
 * Places of a server, for which sources compete: an address, of IPv6 a /64 (net_addr_same_source).
 * While places are free everybody may have them. When there are none, a source takes one of that
 * which has most, as long as it has fewer itself even then; so one that comes from elsewhere finds
 * a place, whatever others do, until each has as many.
 */
#ifndef CONTROL_PLACES_H
#define CONTROL_PLACES_H

#include "net/addr.h"

/* Who has a place, from 0 on; NULL: nobody, or not of those that count. */
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
