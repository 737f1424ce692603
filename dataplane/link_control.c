/* See link_control.h. */
#include "dataplane/link_control.h"

#include "net/icmp_limit.h"

/* Frames per second and at once. Neighbours send one every second or two; LACP a marker beside. A change of
 * the topology makes a few more (802.1D-2004 17.13.12: Transmit Hold Count, up to 10). */
#define RATE 50
#define BURST 16

static struct icmp_limit limits[NIC_PORTS_MAX][LINK_PROTOCOLS]; /* of this core */

static bool permitted(unsigned port, enum link_protocol protocol)
{
	struct icmp_limit *l = &limits[port][protocol];
	if (l->interval_ns == 0)
		icmp_limit_init(l, RATE, BURST);
	return icmp_limit_take(l, core_now_ns());
}

bool link_control_punt(struct pkt *p, unsigned port)
{
	const enum link_protocol protocol = link_protocol_of(p->data);
	if (protocol == LINK_NONE || !(link_control_protocols(port) >> protocol & 1))
		return false;
	if (!permitted(port, protocol)) {
		core_drop(p, CNT_drop_link_limit);
		return true;
	}
	p->flags &= (uint8_t)~PKT_CSUM_PARTIAL; /* no such frame has a checksum to complete */
	core_punt(p, PUNT_LINK + (uint32_t)protocol, 0);
	return true;
}
