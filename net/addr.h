/*
 * An address of either family, so that code above IP is written once: 16 bytes in wire order, with
 * IPv4 as an IPv4-mapped address (RFC 4291 2.5.5.2), ::ffff:a.b.c.d.
 */
#ifndef NET_ADDR_H
#define NET_ADDR_H

#include "lib/bytes.h"
#include "lib/types.h"

struct net_addr {
	uint32_t w[4]; /* in wire order: raw32_load */
};

/* Load and store the 16 bytes of an address in a packet, any alignment. */
static inline struct net_addr net_addr_load(const void *p)
{
	struct net_addr a;
	__builtin_memcpy(&a, p, sizeof a);
	return a;
}

static inline void net_addr_store(void *p, const struct net_addr *a)
{
	__builtin_memcpy(p, a, sizeof *a);
}

/* The mapped form of an IPv4 address in host order; 0 is INADDR_ANY, but see NET_ADDR_ANY. */
static inline struct net_addr net_addr_ip4(uint32_t addr)
{
	return (struct net_addr){{0, 0, be32_make(0xffff).raw, be32_make(addr).raw}};
}

static inline bool net_addr_is_ip4(const struct net_addr *a)
{
	return (a->w[0] | a->w[1]) == 0 && a->w[2] == be32_make(0xffff).raw;
}

/* The IPv4 address in host order of a mapped address. */
static inline uint32_t net_addr_to_ip4(const struct net_addr *a)
{
	return be32_get((be32_t){a->w[3]});
}

static inline bool net_addr_equal(const struct net_addr *a, const struct net_addr *b)
{
	uint64_t x, y; /* the first two words, which are written together */
	__builtin_memcpy(&x, a, sizeof x);
	__builtin_memcpy(&y, b, sizeof y);
	return ((x ^ y) | (a->w[2] ^ b->w[2]) | (a->w[3] ^ b->w[3])) == 0;
}

/* True if one station may own both addresses, for per-source limits. An IPv6 station may use any
 * address of its subnet, so only the subnet counts (RFC 4291 2.5.4). */
static inline bool net_addr_same_source(const struct net_addr *a, const struct net_addr *b)
{
	bool same_net = a->w[0] == b->w[0] && a->w[1] == b->w[1];
	return net_addr_is_ip4(a) ? net_addr_equal(a, b) : same_net && !net_addr_is_ip4(b);
}

/* The unspecified address, for either family: all zero (RFC 4291 2.5.2). */
#define NET_ADDR_ANY ((struct net_addr){{0, 0, 0, 0}})

static inline bool net_addr_is_any(const struct net_addr *a)
{
	return (a->w[0] | a->w[1] | a->w[2] | a->w[3]) == 0;
}

#endif
