/*
 * IGMP and MLD snooping on a data core (RFC 4541): by which ports a frame to a group leaves, and which frames the
 * control core is to see. Only frames that would be flooded are looked at; a frame to a known station costs
 * nothing.
 *
 *     frame                            leaves by
 *     report, leave                    ports of routers (2.1.1)
 *     query, PIM hello, other IGMP     all ports
 *     IP group with listeners          their ports, and ports of routers (2.1.2)
 *     IP group without listeners       ports of routers, and ports with `switchport unknown-multicast flood`
 *     group of link scope, no IP       all ports
 *
 * That is so while the VLAN restricts the family (net/snoop/snoop.h); otherwise all leave by all ports. The control
 * core sees reports, leaves, queries and hellos, at most SNOOP_RATE a second of a port and core: a flood of them
 * takes no more of it. A message that is malformed, or beyond the rate, is dropped, so that no router knows of a
 * listener that the switch does not know of.
 */
#ifndef APPS_SWITCH_SNOOP_H
#define APPS_SWITCH_SNOOP_H

#include "apps/switch/shared.h"

struct snoop_way {
	uint32_t ports;   /* in: where it would be flooded; out: where it goes */
	enum counter why; /* out: the reason if `ports` has become empty */
	bool tell;        /* out: the control core is to see it */
};

/* A frame to a group, which has a whole Ethernet header, with a tag of `tag` bytes or 0. CNT_NONE, or the reason why
 * it is dropped. */
enum counter snoop_route(struct pkt *p, unsigned tag, unsigned vid, unsigned port, struct snoop_way *way);

/* Gives such a frame to the control core. own: a copy of it; the frame stays the caller's. */
void snoop_tell(struct pkt *p, unsigned tag, unsigned vid, bool own);

#endif
