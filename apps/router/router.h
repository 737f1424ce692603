/*
 * The router: forwards IPv4 (RFC 1812) and IPv6 (RFC 8200) between its ports.
 *
 *     forward.c   the vector path: what nearly every packet takes
 *     slow.c      everything else, one packet at a time: IPv4, and what both versions need
 *     slow6.c     IPv6
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

/* --- the slow way: what slow.c and slow6.c share --- */

/* An IPv6 packet that door_ip let in; takes the buffer. */
void router_ip6_input(struct pkt *p);

/* Is the neighbour of this adjacency known, and the rest of it to be read? */
static inline bool router_resolved(const struct adj *a)
{
	return __atomic_load_n(&a->state, __ATOMIC_ACQUIRE) == ADJ_FORWARD;
}

/*
 * Completes a partial checksum. Where it belongs is what the sender's virtio header said, and may
 * be a lie: within the first `headers` bytes, which have been checked, nothing is written any more.
 */
void router_complete(struct pkt *p, unsigned headers);

/* Takes off what lies behind `total` bytes of IP packet, but for what Ethernet wants of a short
 * frame; a partial checksum is completed before. headers: as above. */
void router_trim(struct pkt *p, unsigned total, unsigned headers);

/* Sends a frame that fits the link to a neighbour that is known. */
void router_send(struct pkt *p, uint32_t nh);

/* Sends our own packet of ip_len bytes in e, made because of packet `about`, to nh. */
void router_send_own(struct pkt *e, unsigned ip_len, const struct pkt *about, uint32_t nh);

#endif
