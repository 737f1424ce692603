/*
 * The router: forwards IPv4 (RFC 1812) and IPv6 (RFC 8200) between its ports.
 *
 *     forward.c   the vector path: what nearly every packet takes
 *     filter.c    packet filters, for both ways
 *     verify.c    source addresses
 *     redirect.c  better ways, told to who sent
 *     slow.c      everything else, one packet at a time: IPv4, and what both versions need
 *     slow6.c     IPv6
 *
 * The control plane (control/) is shared with the other applications.
 */
#ifndef APPS_ROUTER_ROUTER_H
#define APPS_ROUTER_ROUTER_H

#include "dataplane/state.h"
#include "net/icmp4.h"
#include "net/icmp_limit.h"

extern const struct app router_app;

/* A data core's own state. */
struct router {
	const struct view *view;
	const struct view_filter_set *filters; /* of this vector */
	struct view_used *used; /* these two are this core's, see dataplane/state.h */
	struct view_carried *carried;
	struct icmp_limit limit, too_big, redirects; /* of errors, but for the other two */
	uint32_t icmp_rate, icmp_burst; /* of the view, that the limits are for */
	unsigned forwarded;     /* in this vector, as long as the out-going rings have room */
};

extern struct router router;

/* Every packet that the vector path does not forward; takes the buffer. asked: the filter of the
 * port it came in by has let it pass, and its source has been verified. */
void router_slow(struct pkt *p, bool asked);

/* --- the slow way: what slow.c and slow6.c share --- */

/* May one more ICMP error of either family go now? too_big: packet too big or fragmentation needed.
 * These have a limit of their own: a sender that is not told of the MTU sends into a black hole
 * (RFC 1191 3, RFC 8201 4), so a flood of other errors must not use up their rate. */
bool router_error_permitted(bool too_big);

/* May one more redirect go now? */
bool router_redirect_permitted(void);

/* An IPv6 packet that door_ip let in; takes the buffer. asked: as above. */
void router_ip6_input(struct pkt *p, bool asked);

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

/* --- filter.c --- */

/* Longer than its IP packet and than what Ethernet wants of a short one. */
static inline bool router_is_padded(const struct pkt *p, unsigned total)
{
	return p->len > total + ETH_HLEN && p->len > ETH_FRAME_MIN;
}

/* Does the vector path send this packet of `total` bytes by that adjacency? Not if bytes have to be
 * cut off that a checksum yet to be completed may cover. */
static inline bool router_sendable(const struct pkt *p, const struct adj *a, unsigned total)
{
	return router_resolved(a) && total <= a->mtu &&
	       !(p->flags & PKT_CSUM_PARTIAL && router_is_padded(p, total));
}

/*
 * Takes those out of n checked packets of one version and one port that the port's list denies, and
 * returns how many are left, in their order; `beside`, if any, holds a word for each and is closed
 * up with them. Those of `out` are of any port; nh[i]: the next hop of v[i].
 */
unsigned router_filter_in(struct pkt *v, uint32_t *beside, unsigned n, const struct view_filter *f);
unsigned router_filter_out(struct pkt *v, uint32_t *nh, unsigned n, bool six);

/* True: the list denies the checked packet, which is gone. reason: CNT_drop_acl_in or _out. */
bool router_filter_denies(struct pkt *p, const struct view_filter *f, enum counter reason);

static inline bool router_denied(struct pkt *p, const struct view_filter *f, enum counter reason)
{
	return unlikely(f->acl) && router_filter_denies(p, f, reason);
}

/* --- verify.c --- */

/* What the port asks of sources of IPv4, or of IPv6: enum verify. */
static inline unsigned router_verifies(unsigned port, bool six)
{
	return __atomic_load_n(&router.view->policy[port].verify[six], __ATOMIC_RELAXED);
}

/* Takes those out of n packets of the vector path, of one version and one port, whose source does
 * not stand up to `verify`, not 0; otherwise as router_filter_in. */
unsigned router_verify(struct pkt *v, uint32_t *beside, unsigned n, unsigned verify, bool six);

/* Does the source of this checked packet not stand up to `verify`, not 0? */
bool router_source_fails(const struct pkt *p, unsigned verify, bool six);

/* True: so it is with this checked packet, which is gone. */
bool router_forged(struct pkt *p, unsigned verify, bool six);

static inline bool router_is_forged(struct pkt *p, bool six)
{
	unsigned verify = router_verifies(p->port, six);
	return unlikely(verify) && router_forged(p, verify, six);
}

/* --- redirect.c --- */

/* Tells the sender of a packet that leaves by the interface it came in by, to nh, which is resolved,
 * of a better way, if there is one for it. The packet is as it came, stays the caller's, and has its
 * checksum completed. */
void router_redirect(struct pkt *p, uint32_t nh, bool six);

/* Is the interface to do that? */
static inline bool router_redirects(unsigned port, bool six)
{
	return __atomic_load_n(&router.view->policy[port].redirects[six], __ATOMIC_RELAXED);
}

/* router_redirect, if the interface is to. */
static inline void router_may_redirect(struct pkt *p, uint32_t nh, bool six)
{
	if (unlikely(router_redirects(p->port, six)))
		router_redirect(p, nh, six);
}

/* router_redirect for those of m packets of the vector path that the third pass will send back by
 * interface `port`, where all of them came in. nh[i]: the next hop of v[i]. A pass of its own:
 * a call within the third one costs each packet nine instructions (callgrind). */
void router_redirect_all(struct pkt *v, const uint32_t *nh, unsigned m, unsigned port, bool six);

/* Drops a checked packet for that reason and, if `tell`, has its sender know (RFC 1812 5.3.9, RFC
 * 4443 3.1). slow.c, slow6.c. */
void router_deny4(struct pkt *p, enum counter reason, bool tell);
void router_deny6(struct pkt *p, enum counter reason, bool tell);

#endif
