/* Port mirroring (monitor sessions) on a data core. See mirror.c. */
#ifndef APPS_SWITCH_MIRROR_H
#define APPS_SWITCH_MIRROR_H

#include "apps/switch/send.h"

/* Copies n frames that a source port has received, as they came, to its destination. The frames stay the
 * caller's. */
void mirror_received(const struct pkt *v, unsigned n, unsigned port);

/* A frame that is to leave by the source port `port`, in its final form, becomes shared with the mirrored one,
 * which is sent. The caller must not change the frame any more. */
void mirror_sent(struct pkt *p, unsigned port);

/* The destinations of a frame that leaves by `ports`, some of which are sources: to[], one for each source whose
 * destination takes the frame. Returns how many. */
unsigned mirror_destinations(const struct pkt *p, uint32_t ports, uint8_t to[NIC_PORTS_MAX]);

#endif
