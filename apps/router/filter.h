/* Packet filters of the vector path and of the slow path. See filter.c. */
#ifndef APPS_ROUTER_FILTER_H
#define APPS_ROUTER_FILTER_H

#include "dataplane/state.h"

/*
 * Drops those of n checked packets of one version and one interface that f, the interface's `in`
 * list, denies. Returns how many are left, moved to the front in their order. `beside`, if not
 * NULL, has a word for each packet, which moves with it.
 */
unsigned router_filter_in(struct pkt *v, uint32_t *beside, unsigned n, const struct dp_filter *f);

/* The same by the `out` lists of the interfaces by which the packets leave. nh[i] is the next hop
 * of v[i] and moves with it. */
unsigned router_filter_out(struct pkt *v, uint32_t *nh, unsigned n, bool six);

/* True: the list denies the checked packet, which has been dropped. reason: CNT_drop_acl_in or
 * _out. */
bool router_filter_denies(struct pkt *p, const struct dp_filter *f, enum counter reason);

static inline bool router_denied(struct pkt *p, const struct dp_filter *f, enum counter reason)
{
	return unlikely(f->acl) && router_filter_denies(p, f, reason);
}

#endif
