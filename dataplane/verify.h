/* Source verification (RFC 3704): what an interface requires of the sources of received packets. */
#ifndef DATAPLANE_VERIFY_H
#define DATAPLANE_VERIFY_H

enum verify {
	VERIFY_NOT,
	VERIFY_ANY, /* loose: a route leads back to the source */
	VERIFY_RX,  /* strict: the route back leaves by this interface */
};

#endif
