/* IPv4 neighbours: ARP, adjacencies and host routes; also what both families share. */
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
	struct ra ra;       /* on a router */
	struct slaac slaac; /* on all other machines */
};

extern struct neighbours neighbours;

/* Makes the ARP table anew, with our addresses and the configured neighbours. E_NOMEM. */
int neighbour_start(void);

/* Replaces, while the ports run, the static neighbours of running.config by those of `next`, in
 * both families. The ARP timeout of `next` applies to neighbours heard from now on. Both
 * configurations must have the same interfaces and addresses. */
void neighbour_change(const struct config *next);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t neighbour_timer(void);

/* An interface's link went up or down, and ARP knows it: adjacencies forward only while their link
 * is up. */
void neighbour_link(unsigned interface, bool up);

/* The next-hop number of the neighbour, which is added if necessary; NH_NULL0: the table is
 * full. */
uint32_t neighbour_next_hop(unsigned interface, uint32_t ip);

/* The address of the neighbour that is next hop nh, of either version. */
struct net_addr neighbour_addr(uint32_t nh);

/* Sends an IPv4 frame to nh, the result of a look-up of dst, NH_CONNECTED or above. The frame may
 * have to wait for ARP, or for ND if the next hop is an IPv6 neighbour. The fate of a received frame is
 * counted in every case, at once or later. pair: the queue pair to leave by, or PAIR_ANY. */
void neighbour_output(uint32_t nh, uint32_t dst, uint8_t *frame, unsigned len,
                      enum frame_origin origin, unsigned pair);

/* The same for a TCP packet of ours that a device segments, of either version, as adjacency_send_whole: it does
 * not wait. False: it was not sent. */
bool neighbour_output_whole(uint32_t nh, const struct bufpool *pool, const struct pkt *p);

/* Takes memory for the table that this configuration needs, unless the present memory suffices; the
 * next neighbour_start uses it. False: there is not enough. */
bool neighbour_room(const struct config *c);

/* Bytes of the longest frame that may wait: for the default MTU or, if any interface has a larger
 * one, for the largest possible MTU. Memory is thus taken again only once. */
uint32_t neighbour_frame_max(const struct config *c);
#define NEIGHBOUR_PENDING_MIN 64 /* frames that can wait even if memory is scarce */

#endif
