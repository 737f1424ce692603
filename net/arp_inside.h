/* Shared by net/arp.c (neighbours) and net/arp_local.c (our own addresses). */
#ifndef NET_ARP_INSIDE_H
#define NET_ARP_INSIDE_H

#include "net/arp.h"

struct arp_local *arp_local_find(struct arp *a, unsigned interface, uint32_t ip);
bool arp_local_on_any_interface(const struct arp *a, uint32_t ip);

/* The first of the interface's addresses; NULL: none. */
const struct arp_local *arp_local_first(const struct arp *a, unsigned interface);

/* True if ip may be a neighbour on this interface: on one of its subnets, and not a broadcast
 * address. */
bool arp_is_on_link(const struct arp *a, unsigned interface, uint32_t ip);

/* Sends a message. dst: the frame's destination; tha: the target hardware address in the
 * message. */
void arp_send(struct arp *a, const struct arp_local *from, uint16_t op, const uint8_t *dst,
              const uint8_t *tha, uint32_t tpa);

/* Sends a request for the neighbour; false: no address on the interface to ask from. For a next hop
 * outside every subnet of the interface, the request comes from the interface's first address. */
bool arp_send_request(struct arp *a, const struct neigh *n);

/* Another station used our address. RFC 5227 2.4 (c) suits a router: it cannot give the address up,
 * so it defends it with an announcement, at most once in DEFEND_INTERVAL. */
void arp_local_conflict(struct arp *a, struct arp_local *l, const uint8_t *mac, uint64_t now_ns);

/* Sends due announcements; returns when the next is due. */
void arp_local_tick(struct arp *a, uint64_t now_ns);
uint64_t arp_local_deadline(const struct arp *a);

#endif
