/* Neighbours of IPv4: ARP, their adjacencies and host routes; and what both families share. */
#ifndef CONTROL_FORWARDING_NEIGHBOUR_H
#define CONTROL_FORWARDING_NEIGHBOUR_H

#include "control/config/config.h"
#include "control/forwarding/adjacency.h"
#include "net/arp.h"
#include "net/nd.h"
#include "net/ra.h"
#include "net/slaac.h"

struct neighbours {
	struct arp arp;
	struct nd nd;
	struct ra ra;       /* of a router, */
	struct slaac slaac; /* and of all others */
};

extern struct neighbours neighbours;

/* Makes the ARP table anew, with our addresses and the configured neighbours. E_NOMEM. */
int neighbour_start(void);

/* While the ports run: the static neighbours of `next` take the place of those of running.config,
 * both versions', and its ARP timeout counts for whom is heard from now on. Their interfaces and
 * addresses are the same. */
void neighbour_change(const struct config *next);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t neighbour_timer(void);

/* A link went up or down, and ARP has been told: adjacencies forward only into links that are
 * up. */
void neighbour_link(unsigned port, bool up);

/* The next-hop number of the neighbour, made if need be; NH_NULL0 when the table is full. */
uint32_t neighbour_next_hop(unsigned port, uint32_t ip);

/* Sends a frame to nh, the next hop that a look-up of dst gave, NH_CONNECTED or above; it may have
 * to wait for ARP. A received one is counted, whatever becomes of it. pair: the queue pair to leave
 * by, or PAIR_ANY. */
void neighbour_output(uint32_t nh, uint32_t dst, uint8_t *frame, unsigned len,
                      enum frame_origin origin, unsigned pair);

/* Takes memory for a table as that configuration wants it, if there is none yet; the next
 * neighbour_start uses it. False: there is not enough. */
bool neighbour_room(const struct config *c);

/* The longest frame that may wait, bytes: the usual one, or, where an interface takes longer ones,
 * the longest of all, so that memory is taken anew but once. */
uint32_t neighbour_frame_max(const struct config *c);
#define NEIGHBOUR_PENDING_MIN 64 /* so many frames can wait, however little memory there is */

#endif
