/* What net/arp.c (neighbours) and net/arp_local.c (our own addresses) have of each other. */
#ifndef NET_ARP_INSIDE_H
#define NET_ARP_INSIDE_H

#include "net/arp.h"

struct arp_local *arp_local_find(struct arp *a, unsigned port, uint32_t ip);
bool arp_local_on_any_port(const struct arp *a, uint32_t ip);

/* The first of the port's addresses; NULL: it has none. */
const struct arp_local *arp_local_first(const struct arp *a, unsigned port);

/* May ip be a neighbour on this port: on a subnet of it, and no broadcast address of it. */
bool arp_is_on_link(const struct arp *a, unsigned port, uint32_t ip);

/* Sends a message. dst: where the frame goes; tha: what the message says of the target. */
void arp_send(struct arp *a, const struct arp_local *from, uint16_t op, const uint8_t *dst,
              const uint8_t *tha, uint32_t tpa);

/* Asks for the neighbour; false when we have no address on the port to ask from. A next hop off
 * every subnet of the port is asked for from the port's first address. */
bool arp_send_request(struct arp *a, const struct neigh *n);

/* Somebody sent from our address. RFC 5227 2.4 (c) fits a router: it cannot give the address up, so
 * it defends it with an announcement, at most once in DEFEND_INTERVAL. */
void arp_local_conflict(struct arp *a, struct arp_local *l, uint64_t now_ns);

/* Announces what is due; when it is needed next. */
void arp_local_tick(struct arp *a, uint64_t now_ns);
uint64_t arp_local_deadline(const struct arp *a);

#endif
