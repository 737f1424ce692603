/*
 * The way to a host as Ethernet sees it, for an application that makes frames of its own: by which
 * port, to which station address. Neighbours that are not known are asked for.
 */
#ifndef CONTROL_HOST_RESOLVE_H
#define CONTROL_HOST_RESOLVE_H

#include "net/addr.h"

enum resolve {
	RESOLVE_KNOWN,    /* *mac is the next hop's */
	RESOLVE_ASKED,    /* its neighbour has been asked for: call again, some 100 ms later */
	RESOLVE_NO_ROUTE, /* or the address is our own, or no host's */
	RESOLVE_OTHER_PORT, /* the route leaves by *port */
};

/* The next hop to dst, which is to be reached by *port (a link-local one: on that link). */
enum resolve resolve_station(const struct net_addr *dst, unsigned *port, uint8_t mac[6]);

#endif
