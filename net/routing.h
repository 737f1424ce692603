/*
 * Which routing protocol a received frame belongs to. The routing engine (docs/routing-engine.md)
 * runs the protocols; this machine recognises their frames and hands them over.
 *
 *     protocol    recognised by
 *     bgp         TCP 179, source or destination (RFC 4271)
 *     bfd         UDP 3784, 3785 (RFC 5881), 4784 (RFC 5883)
 *     rip         UDP 520 (RFC 2453), 521 (RFC 2080)
 *     ldp         UDP and TCP 646 (RFC 5036)
 *     ospf        IP protocol 89 (RFC 2328, RFC 5340)
 *     pim         IP protocol 103 (RFC 7761)
 *     igmp        IP protocol 2 (RFC 3376)
 *     isis        IEEE 802.3 with LLC FE FE 03, to the groups of ISO 10589 8.4.8 and RFC 5309
 *     lldp        EtherType 0x88cc, to the groups of IEEE 802.1AB 7.1
 *     discovery   router solicitations and advertisements (RFC 4861), as copies
 *
 * Deliberately missing: IPv6 extension headers other than a fragment header, so that OSPFv3 with an
 * authentication header (RFC 4552) is not recognised; MLD; IS-IS with EtherType 0x8870.
 *
 * Invariant: every function reads only within the packet that it is given.
 */
#ifndef NET_ROUTING_H
#define NET_ROUTING_H

#include "lib/types.h"

/* Columns: name, word of the configuration, frames per second and at once that a data core hands
 * over, and whether an interface of the engine has the protocol by default. */
#define ROUTING_PROTOCOLS(X) \
	X(BGP, "bgp", 20000, 512, true) \
	X(BFD, "bfd", 10000, 256, true) \
	X(RIP, "rip", 1000, 128, true) \
	X(LDP, "ldp", 2000, 128, false) \
	X(OSPF, "ospf", 5000, 256, true) \
	X(PIM, "pim", 1000, 128, false) \
	X(IGMP, "igmp", 1000, 128, false) \
	X(ISIS, "isis", 5000, 256, true) \
	X(LLDP, "lldp", 200, 32, false) \
	X(DISCOVERY, "discovery", 200, 32, true)

enum routing_protocol {
#define ROUTING_ENUM(name, word, rate, burst, usual) ROUTING_##name,
	ROUTING_PROTOCOLS(ROUTING_ENUM)
#undef ROUTING_ENUM
	ROUTING_PROTOCOLS_END,
};
#define ROUTING_NONE ROUTING_PROTOCOLS_END
_Static_assert(ROUTING_PROTOCOLS_END <= 16, "a set of protocols has 16 bits");

/* The protocols that an interface of the engine has by default, one bit each. */
#define ROUTING_USUAL_BIT(name, word, rate, burst, usual) ((usual) ? 1u << ROUTING_##name : 0u) |
#define ROUTING_USUAL (ROUTING_PROTOCOLS(ROUTING_USUAL_BIT) 0u)

struct routing_desc {
	const char *word;
	uint32_t rate, burst;
};
extern const struct routing_desc routing_desc[ROUTING_PROTOCOLS_END];

/* What the destination of a packet is to this machine. */
enum routing_to {
	ROUTING_TO_OWN,       /* an address of ours */
	ROUTING_TO_GROUP,     /* a multicast group */
	ROUTING_TO_BROADCAST, /* a broadcast address */
};

/* The protocol of a packet that ip4_check, or ip6_check, has passed; ROUTING_NONE: none. A fragment
 * counts if its protocol has no ports. */
enum routing_protocol routing_of_ip4(const uint8_t *ip, enum routing_to to);
enum routing_protocol routing_of_ip6(const uint8_t *ip, enum routing_to to);

/* The protocol of an untagged frame that is not IP, at least ETH_HLEN bytes. */
enum routing_protocol routing_of_link(const uint8_t *frame, unsigned len);

/* Is the IPv6 packet, which ip6_check has passed, a router solicitation or advertisement? Its
 * contents are not checked. */
bool routing_is_discovery(const uint8_t *ip);

#endif
