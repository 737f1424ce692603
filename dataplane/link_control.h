/*
 * Frames of link protocols (net/link.h) for the control core, on a data core: recognised in the slow path
 * alone, limited by rate, and punted. A protocol that a port does not use costs its frames one test, and
 * other frames none.
 *
 * Each port has its own rate for each protocol on each data core, so a flood on one port starves neither
 * another port nor another protocol. Frames beyond it are dropped as drop_link_limit.
 */
#ifndef DATAPLANE_LINK_CONTROL_H
#define DATAPLANE_LINK_CONTROL_H

#include "dataplane/state.h"
#include "net/link.h"

/* The link protocols that the port takes, one bit each. */
static inline unsigned link_control_protocols(unsigned port)
{
	return __atomic_load_n(&dp_get()->link_protocols[port], __ATOMIC_RELAXED);
}

/* Takes a frame of at least ETH_HLEN octets, received by that port, if it is of a protocol that the port
 * takes. False: the packet is unchanged and still the caller's. */
bool link_control_punt(struct pkt *p, unsigned port);

/* The same, for a frame that arrived on an interface. Only a port's own has link protocols: their frames
 * have no tag. */
static inline bool link_control_input(struct pkt *p, const struct dp_interface *ifp)
{
	return ifp->port < NIC_PORTS_MAX && !ifp->vid && unlikely(link_control_protocols(ifp->port)) &&
	       link_control_punt(p, ifp->port);
}

#endif
