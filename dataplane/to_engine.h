/*
 * Frames of routing protocols for the routing engine, on a data core: recognised (net/routing.h) in
 * the slow path alone, limited by protocol, and punted. Only protocols that the interface hands
 * over count (struct dp_policy, routing). So without an engine a packet to ourselves costs one
 * test, and a forwarded packet none.
 *
 * Each protocol has its own rate on each data core (ROUTING_PROTOCOLS) and its own kind in the punt
 * ring, so a flood of one starves neither another protocol nor ARP and neighbour discovery. Frames
 * beyond the rate are dropped as drop_engine_limit.
 */
#ifndef DATAPLANE_TO_ENGINE_H
#define DATAPLANE_TO_ENGINE_H

#include "dataplane/state.h"

/* The protocols that the interface hands over, one bit each. */
static inline unsigned to_engine_protocols(unsigned interface)
{
	return __atomic_load_n(&dp_get()->policy[interface].routing, __ATOMIC_RELAXED);
}

/* Takes the packet if its interface hands over protocol r, which may be ROUTING_NONE. The first
 * `headers` bytes have been checked. False: the packet is unchanged and still the caller's. */
bool to_engine_punt(struct pkt *p, enum routing_protocol r, unsigned headers);

/* The same of any packet that ip4_check, or ip6_check, has passed. */
static inline bool to_engine_ip4(struct pkt *p, enum routing_to to)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	return unlikely(to_engine_protocols(p->interface)) &&
	       to_engine_punt(p, routing_of_ip4(ip, to), ETH_HLEN + ip4_header_len(ip));
}

static inline bool to_engine_ip6(struct pkt *p, enum routing_to to)
{
	return unlikely(to_engine_protocols(p->interface)) &&
	       to_engine_punt(p, routing_of_ip6(p->data + ETH_HLEN, to), ETH_HLEN + IP6_HLEN);
}

/* The same of a frame with a whole Ethernet header that is not IP. */
static inline bool to_engine_link(struct pkt *p)
{
	return unlikely(to_engine_protocols(p->interface)) &&
	       to_engine_punt(p, routing_of_link(p->data, p->len), ETH_HLEN);
}

#endif
