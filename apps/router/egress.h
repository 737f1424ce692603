/* The end of the slow path: a packet leaves by its next hop. */
#ifndef APPS_ROUTER_EGRESS_H
#define APPS_ROUTER_EGRESS_H

#include "dataplane/state.h"

/* Forwards a checked packet of the slow path; takes the buffer. a: the adjacency of nh, or one to all
 * stations of its link. */
void router_egress(struct pkt *p, const struct adj *a, uint32_t nh, bool six);

#endif
