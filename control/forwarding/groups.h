/*
 * Groups of next hops (net/ecmp.h) in the data-plane state, for routes with several. Who makes
 * routes keeps them; all of this is on the control core.
 *
 * A member is a next-hop number of NH_NULL0 and above that is no group; a neighbour among them
 * is pinned by the caller (arp_pin, nd_pin) as long as it is one. A change is seen by data cores
 * bucket by bucket, so what has gone out of a group may serve once more until they have been waited
 * for (core_quiesce), as adjacency_free does.
 */
#ifndef CONTROL_FORWARDING_GROUPS_H
#define CONTROL_FORWARDING_GROUPS_H

#include "dataplane/state.h"

/* Before the first route is made: there is none, and what was is forgotten. */
void groups_start(void);

/* A next-hop number for a route by n members, 1 to ECMP_MEMBERS_MAX; NH_NONE: there are no more
 * groups. */
uint32_t group_make(const uint16_t *member, unsigned n);

/* Gives it other members; only flows of the buckets that change take another way. */
void group_change(uint32_t nh, const uint16_t *member, unsigned n);

/* No route leads to it any more. Its number rests until groups_reclaim. */
void group_free(uint32_t nh);

/* Numbers that rest; and makes them usable again, after core_quiesce. */
unsigned groups_resting(void);
void groups_reclaim(void);

#endif
