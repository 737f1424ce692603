/*
 * The ports of UDP and TCP on which the small services listen: RFC 862 (echo), 863 (discard) and
 * 864 (character generator). The configuration sets them, data cores read them in the data-plane
 * state. apps/echo/ implements the services.
 */
#ifndef DATAPLANE_SERVICES_H
#define DATAPLANE_SERVICES_H

#include "lib/types.h"

#define SERVICE_PORTS_MAX 8 /* of one service over one protocol */

enum service { SERVICE_ECHO, SERVICE_DISCARD, SERVICE_CHARGEN, SERVICES };
enum service_proto { SERVICE_UDP, SERVICE_TCP, SERVICE_PROTOS };

struct service_ports {
	uint16_t port[SERVICE_PORTS_MAX]; /* host order */
	uint16_t ports;
};

struct services {
	struct service_ports of[SERVICE_PROTOS][SERVICES]; /* a port occurs once per protocol */
};

/* The word for a service in the configuration and on the console. */
static inline const char *service_word(enum service s)
{
	static const char *const words[] = {"echo", "discard", "chargen"};
	return words[s];
}

static inline const char *service_proto_word(enum service_proto p)
{
	return p == SERVICE_UDP ? "udp" : "tcp";
}

/* The port that the service's RFC assigns, the same for both protocols. */
static inline uint16_t service_port_default(enum service s)
{
	static const uint16_t ports[] = {7, 9, 19};
	return ports[s];
}

/* The service that listens on `port`; SERVICES: none. */
static inline enum service service_of(const struct services *all, enum service_proto proto,
                                      uint16_t port)
{
	unsigned s = 0;
	for (; s < SERVICES; s++)
		for (unsigned i = 0; i < all->of[proto][s].ports; i++)
			if (all->of[proto][s].port[i] == port)
				return (enum service)s;
	return SERVICES;
}

/* Does a service that answers every datagram have that UDP port, here or, by its RFC, on the other
 * side? Answering a request from such a port could start an endless exchange (CERT CA-1996-01). */
static inline bool service_answers(const struct services *all, uint16_t port)
{
	enum service s = service_of(all, SERVICE_UDP, port);
	return s == SERVICE_ECHO || s == SERVICE_CHARGEN ||
	       port == service_port_default(SERVICE_ECHO) ||
	       port == service_port_default(SERVICE_CHARGEN);
}

/* Does any service listen over that protocol? */
static inline bool services_any(const struct services *all, enum service_proto proto)
{
	unsigned n = 0;
	for (unsigned s = 0; s < SERVICES; s++)
		n += all->of[proto][s].ports;
	return n > 0;
}

/* The services without configuration: echo on the port of RFC 862, over UDP and TCP. */
static inline void services_default(struct services *all)
{
	for (unsigned p = 0; p < SERVICE_PROTOS; p++) {
		struct service_ports *echo = &all->of[p][SERVICE_ECHO];
		echo->port[0] = service_port_default(SERVICE_ECHO);
		echo->ports = 1;
	}
}

#endif
