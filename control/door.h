/*
 * The door of an IPv4 host or router on a data core: what Ethernet says of a received frame, in the
 * order of RFC 1812 5.2.1. Applications ask here first, with each packet that rx_vector was given
 * (those on their fast path know already).
 */
#ifndef CONTROL_DOOR_H
#define CONTROL_DOOR_H

#include "control/view.h"
#include "core/core.h"
#include "net/eth.h"

/*
 * True: an IPv4 packet for our station, or for several (eth_is_multicast), unchecked beyond its
 * Ethernet header, which is there: ask ip4_check next. It stays the caller's, unchanged. False: it
 * was something else and is gone: dropped under its counter, or, ARP, handed to the control core.
 * `port`: that of the view by which it came in, &view->port[p->port].
 */
static inline bool door_ip4(const struct pkt *p, const struct view_port *port)
{
	if (p->len < ETH_HLEN) {
		core_drop(p, CNT_drop_eth_short);
		return false;
	}
	uint16_t type = be16_load(p->data + 12);
	if (!port->enabled)
		core_drop(p, CNT_drop_port_down);
	else if (!eth_is_multicast(p->data) && !eth_equal(p->data, port->mac))
		core_drop(p, CNT_drop_eth_dst);
	else if (type == ETH_TYPE_ARP)
		core_punt(p, PUNT_ARP, 0);
	else if (type != ETH_TYPE_IP4)
		core_drop(p, CNT_drop_eth_type);
	else
		return true;
	return false;
}

#endif
