/* Frames to the machine itself: to its address in a VLAN that has an interface. */
#ifndef APPS_SWITCH_HOST_H
#define APPS_SWITCH_HOST_H

#include "apps/switch/shared.h"

/* Does the machine want a frame to a group, in the VLAN of that interface of its own? tag: bytes of its tag,
 * ETH_TAG_LEN or 0. The frame has a whole Ethernet header. */
bool host_wants(const struct dp_state *dp, const struct pkt *p, unsigned tag, unsigned interface);

/* Takes such a frame, or one to our MAC address: gives it to the control core, or drops it under a name.
 * tag: bytes of its tag, ETH_TAG_LEN or 0. */
void host_input(const struct dp_state *dp, struct pkt *p, unsigned tag, unsigned interface);

#endif
