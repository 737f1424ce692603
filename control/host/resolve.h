/*
 * The output interface and the destination MAC towards a host, for an application that builds its
 * own frames. Unknown neighbours are resolved.
 */
#ifndef CONTROL_HOST_RESOLVE_H
#define CONTROL_HOST_RESOLVE_H

#include "net/addr.h"

enum resolve {
	RESOLVE_KNOWN,    /* *mac is the next hop's */
	RESOLVE_ASKED,    /* the next hop is being resolved: call again some 100 ms later */
	RESOLVE_NO_ROUTE, /* or the address is our own, or not a host's */
	RESOLVE_OTHER_INTERFACE, /* the route leaves by *interface, which is set */
};

/* Finds the next hop to dst by *interface. A link-local dst is on that link. */
enum resolve resolve_station(const struct net_addr *dst, unsigned *interface, uint8_t mac[6]);

#endif
