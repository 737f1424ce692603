/*
 * Several next hops for one prefix, with weights (RFC 2992): selects the one for a flow.
 *
 * A group is a table of ECMP_BUCKETS buckets. A packet's hash selects a bucket, and the bucket
 * names a member: a next-hop number defined by the caller. As RFC 2992 asks, a change of members
 * disrupts few flows, here the minimum:
 *
 * 1. Members have buckets in proportion to their weights, rounded, and each has at least one. With
 *    equal weights the numbers of buckets differ by one at most.
 * 2. When a member leaves, or its weight falls, some or all of its buckets are distributed to the
 *    others; no other bucket changes.
 * 3. When a member joins or returns, or its weight rises, it takes what it lacks of its share from
 *    the others, and no other bucket changes.
 * 4. The result depends on the members, their weights and the previous buckets, not on the order of
 *    the members. No change of members and weights moves more buckets than their new numbers
 *    require.
 * 5. A change is made bucket by bucket, by single stores. A concurrent reader finds the old or the
 *    new member in each bucket. Both must therefore stay usable until readers have passed a
 *    quiescent point.
 *
 * Buckets are apportioned by the method of Webster (Balinski and Young, Fair Representation, 1982), with
 * at least one for each member: the next bucket goes to the member with the largest quotient
 * weight / (buckets + 1/2). Other methods, such as that of the largest remainder, always give the exact
 * share rounded up or down. They would break invariants 2 and 3: when a member leaves, one that stays
 * may lose a bucket. Webster's method nearly always gives the rounded share too, unless the exact share
 * of some members is less than one bucket.
 *
 * The hash covers fields that are the same in all packets of a flow:
 *
 *     IPv4   addresses, protocol; ports of TCP, UDP, DCCP, SCTP and UDP-Lite
 *     IPv6   addresses and flow label, if there is one (RFC 6438 3 asks no more of nodes that
 *            balance in transit, and all fragments of a datagram have it); else as IPv4
 *
 * Only a datagram's first fragment has ports, so fragments are hashed without ports. All fragmented
 * datagrams of a flow thus take one path, which may differ from that of the unfragmented ones. The
 * same holds for packets with extension headers. ICMP is hashed by its addresses. IPv4
 * identification, options and TTL, and the traffic class are excluded, because they may differ
 * within a flow.
 *
 * The hash is mixed with a random seed. Successive routers with the same hash would send all their
 * traffic through one member (polarisation). All cores of a machine share the seed. The seed is not
 * protected against a measurement of which packets take which path.
 *
 * Deliberately missing: weights above 255 (the caller scales or clamps), and finer shares than one
 * bucket in 256.
 */
#ifndef NET_ECMP_H
#define NET_ECMP_H

#include "lib/types.h"
#include "net/addr.h"

#define ECMP_MEMBERS_MAX 64
#define ECMP_BUCKETS_LOG2 8
#define ECMP_BUCKETS (1u << ECMP_BUCKETS_LOG2) /* with 64 members 4 each; with 63, 4 or 5 */
_Static_assert(ECMP_MEMBERS_MAX < ECMP_BUCKETS, "each member has a bucket");

/* The content of new buckets; never a member's number. */
#define ECMP_NOBODY 0

struct ecmp_group {
	uint16_t bucket[ECMP_BUCKETS];
};

/*
 * Sets the members of the group, whatever it was before: n of them, 1 to ECMP_MEMBERS_MAX, with
 * their weights, 1 to 255. weight NULL: all have the same. The weights of duplicates add up. Returns
 * the number of changed buckets.
 */
unsigned ecmp_set(struct ecmp_group *g, const uint16_t *member, const uint8_t *weight, unsigned n);

/* The member for packets with that hash. */
static inline uint32_t ecmp_member(const struct ecmp_group *g, uint32_t hash)
{
	return __atomic_load_n(&g->bucket[hash >> (32 - ECMP_BUCKETS_LOG2)], __ATOMIC_RELAXED);
}

/* The flow hash of an IPv4 packet that has passed ip4_check. */
uint32_t ecmp_hash4(uint64_t seed, const uint8_t *ip);

/* The flow hash of an IPv6 packet that has passed ip6_check. */
uint32_t ecmp_hash6(uint64_t seed, const uint8_t *ip);

/* One hash for all packets to an address of either family: for the machine's own packets, because
 * source address, MTU and a full port must be known for the path before a packet exists. */
uint32_t ecmp_hash_to(uint64_t seed, const struct net_addr *dst);

#endif
