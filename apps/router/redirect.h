/* ICMP redirects for the vector path and for the slow path. See redirect.c. */
#ifndef APPS_ROUTER_REDIRECT_H
#define APPS_ROUTER_REDIRECT_H

#include "apps/router/send.h"

/* Is the interface configured to send redirects? */
static inline bool router_redirects(unsigned interface, bool six)
{
	return __atomic_load_n(&router.dp->policy[interface].redirects[six], __ATOMIC_RELAXED);
}

/* Tells the sender of a packet of a better next hop, if there is one. The packet leaves by the
 * interface it came in by, to nh, which is resolved. It is as it came and stays the caller's; its
 * partial checksum is completed. */
void router_redirect(struct pkt *p, uint32_t nh, bool six);

/* router_redirect, if the input interface is configured to send redirects. */
static inline void router_may_redirect(struct pkt *p, uint32_t nh, bool six)
{
	if (unlikely(router_redirects(p->interface, six)))
		router_redirect(p, nh, six);
}

/* router_redirect for those of m packets of the vector path that pass 3 will send back by
 * `interface`, which received all of them. nh[i]: the next hop of v[i]. A pass of its own, because
 * a call within pass 3 costs each packet nine instructions (callgrind). */
void router_redirect_all(struct pkt *v, const uint32_t *nh, unsigned m, unsigned interface,
                         bool six);

#endif
