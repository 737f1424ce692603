/* The router's state on a data core, and sending: the bottom of apps/router. */
#ifndef APPS_ROUTER_SEND_H
#define APPS_ROUTER_SEND_H

#include "dataplane/state.h"
#include "dataplane/vlan.h"
#include "net/icmp_limit.h"

/*
 * The rate limits of our ICMP messages. Packet too big and fragmentation needed have a limit of
 * their own: a sender that does not learn the MTU sends into a black hole (RFC 1191 3, RFC 8201 4),
 * so a flood of other errors must not use up their rate. Redirects have one too, so that a host
 * that ignores them does not suppress errors.
 */
enum router_limit { LIMIT_ERRORS, LIMIT_TOO_BIG, LIMIT_REDIRECTS, LIMITS };

/* The state of one data core. */
struct router {
	const struct dp_state *dp;
	const struct dp_filter_set *filters; /* of the present vector */
	struct dp_used *used;       /* used and carried are this core's own, see dataplane/state.h */
	struct dp_carried *carried;
	struct icmp_limit limit[LIMITS]; /* of both families together */
	uint32_t icmp_rate,
	        icmp_burst; /* those of dp_state from which the limits were made */
};

extern struct router router;

/* Is the neighbour of this adjacency known, and its header therefore valid? */
static inline bool router_resolved(const struct adj *a)
{
	return __atomic_load_n(&a->state, __ATOMIC_ACQUIRE) == ADJ_FORWARD;
}

/* Is the frame longer than its IP packet of `total` bytes, and than Ethernet's minimum? */
static inline bool router_is_padded(const struct pkt *p, unsigned total)
{
	return p->len > total + ETH_HLEN && p->len > ETH_FRAME_MIN;
}

/* Does the vector path send this packet of `total` bytes by that adjacency? Not if it would have to
 * cut off bytes that a partial checksum may cover. */
static inline bool router_sendable(const struct pkt *p, const struct adj *a, unsigned total)
{
	return router_resolved(a) && total <= a->mtu &&
	       !(p->flags & PKT_CSUM_PARTIAL && router_is_padded(p, total));
}

/* Gives the frame length `len`, or Ethernet's minimum if that is more. */
static inline void router_set_len(struct pkt *p, unsigned len)
{
	p->len = (uint16_t)eth_pad(p->data, len);
}

/* Sends a frame that fits the link by a resolved adjacency. */
static inline void router_send_by(struct pkt *p, const struct adj *a)
{
	vlan_header(p, a, router.carried);
	core_tx(a->port, p);
}

/* Sends a frame that fits the link by next hop nh, which is resolved. */
void router_send(struct pkt *p, uint32_t nh);

/* Sends our own packet of ip_len bytes in e, caused by packet `about`, to nh. */
void router_send_own(struct pkt *e, unsigned ip_len, const struct pkt *about, uint32_t nh);

/* Cuts off bytes after the IP packet of `total` bytes, down to Ethernet's minimum. Completes a partial
 * checksum first. headers: as for ingress_complete(). */
void router_trim(struct pkt *p, unsigned total, unsigned headers);

/* Takes a buffer for one more ICMP message. False: the limit permits none now, or the pool is
 * empty; both are counted. */
bool router_message(struct pkt *e, enum router_limit which);

#endif
