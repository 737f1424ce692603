/*
 * Groups of next hops (net/ecmp.h) in the data-plane state, for routes with several next hops. The
 * owner of the routes makes, changes and frees them, on the control core.
 *
 * A member is a next-hop number of NH_NULL0 or above that is not a group. The caller keeps a
 * neighbour pinned (arp_pin, nd_pin) while it is a member. Data cores see a change bucket by
 * bucket. They may therefore still use a former member until the caller has waited for them
 * (core_quiesce), as adjacency_free does.
 */
#ifndef CONTROL_FORWARDING_GROUPS_H
#define CONTROL_FORWARDING_GROUPS_H

#include "dataplane/state.h"

/* Forgets all groups. Called before the first route is made. */
void groups_start(void);

/* Makes a group of n members, 1 to ECMP_MEMBERS_MAX, with weights as ecmp_set has them; returns its
 * next-hop number. NH_NONE: there are no more groups. */
uint32_t group_make(const uint16_t *member, const uint8_t *weight, unsigned n);

/* Sets other members or weights. Only flows of changed buckets take another path. */
void group_change(uint32_t nh, const uint16_t *member, const uint8_t *weight, unsigned n);

/* Frees a group to which no route leads any more. Its number rests until groups_reclaim. */
void group_free(uint32_t nh);

/* The count of resting numbers; and makes them usable again, after core_quiesce. */
unsigned groups_resting(void);
void groups_reclaim(void);

#endif
