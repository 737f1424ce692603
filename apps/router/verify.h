/* Source address verification of the vector path and of the slow path. See verify.c. */
#ifndef APPS_ROUTER_VERIFY_H
#define APPS_ROUTER_VERIFY_H

#include "apps/router/send.h"

/* What the interface requires of sources of IPv4, or of IPv6: enum verify. */
static inline unsigned router_verifies(unsigned interface, bool six)
{
	return __atomic_load_n(&router.dp->policy[interface].verify[six], __ATOMIC_RELAXED);
}

/* Drops those of n packets of the vector path, of one version and one interface, whose source fails
 * `verify`, which is not 0. Otherwise as router_filter_in (filter.h). */
unsigned router_verify(struct pkt *v, uint32_t *beside, unsigned n, unsigned verify, bool six);

/* Does the source of this checked packet fail `verify`, which is not 0? */
bool router_source_fails(const struct pkt *p, unsigned verify, bool six);

/* True: the source of this checked packet fails `verify`, and the packet has been dropped. */
bool router_forged(struct pkt *p, unsigned verify, bool six);

static inline bool router_is_forged(struct pkt *p, bool six)
{
	unsigned verify = router_verifies(p->interface, six);
	return unlikely(verify) && router_forged(p, verify, six);
}

#endif
