/* IPv6 neighbours, as neighbour.h; addresses as on the wire. */
#ifndef CONTROL_FORWARDING_NEIGHBOUR6_H
#define CONTROL_FORWARDING_NEIGHBOUR6_H

#include "control/forwarding/neighbour.h"

/* Makes the ND table anew with our addresses and the configured neighbours, and starts DAD and the
 * router advertisements. E_NOMEM. */
int neighbour6_start(void);

/* As neighbour_room. */
bool neighbour6_room(const struct config *c);

/* IPv6's part of neighbour_change: static neighbours and router advertisements. */
void neighbour6_change(const struct config *next);

/* IPv6's parts of neighbour_timer and neighbour_link; its neighbour_next_hop and
 * neighbour_output. */
uint64_t neighbour6_tick(uint64_t now_ns);
void neighbour6_link(unsigned interface, bool up);
uint32_t neighbour6_next_hop(unsigned interface, const struct net_addr *addr);

/* The next-hop number of the same neighbour for IPv4 packets (RFC 8950). */
uint32_t neighbour46_next_hop(unsigned interface, const struct net_addr *addr);

/* The number in the ND table of the neighbour that is next hop nh, NH_NEIGHBOUR6 or above. */
static inline unsigned neighbour6_index(uint32_t nh)
{
	return nh - (nh < NH_NEIGHBOUR46 ? NH_NEIGHBOUR6 : NH_NEIGHBOUR46);
}

void neighbour6_output(uint32_t nh, const struct net_addr *dst, uint8_t *frame, unsigned len,
                       enum frame_origin origin, unsigned pair);

#endif
