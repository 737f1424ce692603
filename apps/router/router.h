/*
 * The router: forwards IPv4 between its ports (RFC 1812).
 *
 *     forward.c   the vector path: what nearly every packet takes
 *     slow.c      everything else, one packet at a time
 *
 * The control plane (control/) is shared with the other applications.
 */
#ifndef APPS_ROUTER_ROUTER_H
#define APPS_ROUTER_ROUTER_H

#include "control/view.h"
#include "net/icmp4.h"
#include "net/icmp_limit.h"

extern const struct app router_app;

/* A data core's own state. */
struct router {
	const struct view *view;
	struct view_used *used; /* this core's, see control/view.h */
	struct icmp_limit limit;
	unsigned forwarded;     /* in this vector, as long as the out-going rings have room */
};

extern struct router router;

/* Every packet that the vector path does not forward; takes the buffer. */
void router_slow(struct pkt *p);

#endif
