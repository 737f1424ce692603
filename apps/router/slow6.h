/* The slow path of IPv6. */
#ifndef APPS_ROUTER_SLOW6_H
#define APPS_ROUTER_SLOW6_H

#include "lib/pkt.h"

/* Takes an IPv6 packet that ingress_classify let in, with its buffer. asked: as for router_slow
 * (slow.h). */
void router_ip6_input(struct pkt *p, bool asked);

#endif
