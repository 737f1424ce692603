/*
 * Several next hops for one prefix (RFC 2992): which of them a flow takes.
 *
 * A group is a table of ECMP_BUCKETS buckets. A packet's hash picks a bucket, the bucket names a
 * member: a next-hop number, whose meaning is the caller's. As RFC 2992 wants it, a change of the
 * members disrupts few flows, here as few as can be:
 *
 * 1. Members have equal numbers of buckets, but for one more or less.
 * 2. When one goes, its buckets are dealt out to the others; every other bucket stays as it is.
 * 3. When one comes, or comes back, it takes its share from those who have most, no bucket more.
 * 4. The outcome depends on the members and the buckets as they were, not on the order in which the
 *    members are named.
 * 5. A change is made bucket by bucket, by single stores: who reads meanwhile finds in each the old
 *    member or the new one, and so must be able to send by both until readers have passed a
 *    quiescent point.
 *
 * The hash is of what all packets of a flow have alike:
 *
 *     IPv4   addresses, protocol; ports of TCP, UDP, DCCP, SCTP and UDP-Lite
 *     IPv6   addresses and flow label, if there is one (RFC 6438 3 wants no more of those that
 *            balance on the way; a datagram's fragments have it all); else as IPv4
 *
 * Only a datagram's first fragment has ports, so fragments are hashed without: all those of a
 * datagram, and of all fragmented datagrams of a flow, go one way, which need not be that of its
 * whole ones. The same holds for what lies behind extension headers. ICMP goes by its addresses.
 * IPv4's identification, options and TTL, and the traffic class, which may differ between packets
 * of a flow, are left out.
 *
 * It is mixed with a random seed: routers in a row that hashed alike would send all that one of them
 * gets by one and the same member (polarisation). Those of one machine must agree, so all its cores
 * have one. It is no secret kept from who measures which way packets go.
 *
 * Deliberately missing: weights.
 */
#ifndef NET_ECMP_H
#define NET_ECMP_H

#include "lib/types.h"
#include "net/addr.h"

#define ECMP_MEMBERS_MAX 16
#define ECMP_BUCKETS_LOG2 7
#define ECMP_BUCKETS (1u << ECMP_BUCKETS_LOG2) /* 16 members: 8 each, equal; 15: 8 or 9 */

/* A table whose buckets hold this is new. No member has that number. */
#define ECMP_NOBODY 0

struct ecmp_group {
	uint16_t bucket[ECMP_BUCKETS];
};

/*
 * Makes the n members, 1 to ECMP_MEMBERS_MAX of them, those of the group, whatever it was before; a
 * member that is named twice counts once. Returns how many buckets have changed.
 */
unsigned ecmp_set(struct ecmp_group *g, const uint16_t *member, unsigned n);

/* The member for packets with that hash. */
static inline uint32_t ecmp_member(const struct ecmp_group *g, uint32_t hash)
{
	return __atomic_load_n(&g->bucket[hash >> (32 - ECMP_BUCKETS_LOG2)], __ATOMIC_RELAXED);
}

/* The hash of the flow of an IPv4 packet that ip4_check has passed. */
uint32_t ecmp_hash4(uint64_t seed, const uint8_t *ip);

/* The same of an IPv6 packet that ip6_check has passed. */
uint32_t ecmp_hash6(uint64_t seed, const uint8_t *ip);

/* The hash of all that is sent to an address of either family (the machine's own packets, for whose
 * way more is asked than packets show: source address, MTU, a full port). */
uint32_t ecmp_hash_to(uint64_t seed, const struct net_addr *dst);

#endif
