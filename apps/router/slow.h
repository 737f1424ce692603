/* The slow path: every packet that the vector path does not forward. */
#ifndef APPS_ROUTER_SLOW_H
#define APPS_ROUTER_SLOW_H

#include "lib/pkt.h"

/* Takes the buffer. asked: the filter of the interface that the packet came in by has permitted it,
 * and its source has been verified. */
void router_slow(struct pkt *p, bool asked);

#endif
