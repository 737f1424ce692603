/* ICMP errors about a packet on its way through the router. */
#ifndef APPS_ROUTER_ERROR_H
#define APPS_ROUTER_ERROR_H

#include "lib/pkt.h"
#include "net/counters.h"

/*
 * Sends an ICMP error about packet p if the RFCs and the rate limit permit one. p has passed
 * ip4_check, or failed it by its options alone (router_error4); or has passed ip6_check
 * (router_error6). p stays the caller's; its partial checksum is completed. rest: as in struct
 * icmp4_error and struct icmp6_error.
 */
void router_error4(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);
void router_error6(struct pkt *p, uint8_t type, uint8_t code, uint32_t rest);

/* Drops a checked packet for that reason. tell: sends an error, communication administratively
 * prohibited, before (RFC 1812 5.3.9, RFC 4443 3.1). */
void router_deny4(struct pkt *p, enum counter reason, bool tell);
void router_deny6(struct pkt *p, enum counter reason, bool tell);

#endif
