/* ICMP errors about a packet on its way through the router. */
#ifndef APPS_ROUTER_ERROR_H
#define APPS_ROUTER_ERROR_H

#include "lib/pkt.h"
#include "net/counters.h"

/*
 * Sends an ICMP error about packet p if the RFCs and the rate limit permit one. For router_error4,
 * p has passed ip4_check or failed only by its options; for router_error6, it has passed ip6_check.
 * p stays the caller's; its partial checksum is completed. rest: as in struct icmp4_error and
 * struct icmp6_error.
 */
void router_error4(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);
void router_error6(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);

/* Reasons not to forward a checked packet that cause an ICMP error to its sender. */
enum router_refusal {
	REFUSE_NO_ROUTE,
	REFUSE_NULL0,       /* these three are routes of that name */
	REFUSE_UNREACHABLE,
	REFUSE_PROHIBIT,
	REFUSE_HOP_LIMIT,
	REFUSE_TOO_BIG,     /* mtu: of the link */
	REFUSE_LINK_DOWN,
};

/* Sends the error for `why` and drops the packet. mtu: 0, except for REFUSE_TOO_BIG. */
void router_refuse(struct pkt *p, enum router_refusal why, uint32_t mtu, bool six);

/* The same for a packet whose next hop forwards nothing: nh is NH_NONE, NH_NULL0, NH_BLACKHOLE
 * (which sends no error), NH_UNREACHABLE or NH_PROHIBIT. */
void router_reject(struct pkt *p, uint32_t nh, bool six);

/* Drops a checked packet that a filter denies, counted as `reason`. is_told: first sends the error
 * communication administratively prohibited (RFC 1812 5.3.9, RFC 4443 3.1). */
void router_deny(struct pkt *p, enum counter reason, bool is_told, bool six);

#endif
