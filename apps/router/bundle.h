/* Frames of ports that are in a bundle (control/link/bundle.c): they belong to the bundle's interface. What the
 * router sends by that interface is spread over the ports by the runtime (runtime/bundle.h). */
#ifndef APPS_ROUTER_BUNDLE_H
#define APPS_ROUTER_BUNDLE_H

#include "runtime/runtime.h"

/* Takes a vector that such a port received: link protocols go to the control core, frames from a port from which
 * the bundle does not collect are dropped, and the others get the bundle's interface; those with a tag keep the
 * port, which vlan_untag() needs. Returns how many are left, at the beginning of v. */
unsigned router_bundle_in(struct pkt *v, unsigned n, unsigned port);

#endif
