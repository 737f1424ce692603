/* Access lists on ports of the switch, on a data core. See access.c. */
#ifndef APPS_SWITCH_ACCESS_H
#define APPS_SWITCH_ACCESS_H

#include "apps/switch/send.h"
#include "dataplane/vlan.h"

/* Frames of a vector; tagged[i]: v[i] has a tag. vid: for access_in only. denied[i] is set for those that a
 * list denies: they have been dropped. */
struct access_frames {
	struct pkt *v;
	const bool *tagged;
	const uint16_t *vid; /* of the frame, with a tag or without */
	bool *denied;
};

/* Has the `in` lists of a port judge n frames that it received. */
void access_in(const struct access_frames *f, unsigned n, unsigned port);

/* Has the `out` lists judge n of the frames, number which[k], each of which is to leave by port to[k] alone. */
void access_out(const struct access_frames *f, const uint16_t *which, const uint8_t *to, unsigned n);

/* Those of the ports, one bit each, whose `out` lists permit a frame to all of them. The frame stays the
 * caller's. *why: set if any list denies it, to the counter of a drop. */
uint32_t access_flood(struct pkt *p, bool tagged, uint32_t ports, enum counter *why);

#endif
