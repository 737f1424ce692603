/*
 * The small services of RFC 862 (echo), 863 (discard) and 864 (character generator) as the
 * configuration states them and the data-plane state tells data cores: on which ports of UDP and
 * TCP each listens. What they do is apps/echo/.
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
	struct service_ports of[SERVICE_PROTOS][SERVICES]; /* no port stands twice in a protocol */
};

/* As the configuration and the console write them. */
static inline const char *service_word(enum service s)
{
	static const char *const words[] = {"echo", "discard", "chargen"};
	return words[s];
}

static inline const char *service_proto_word(enum service_proto p)
{
	return p == SERVICE_UDP ? "udp" : "tcp";
}

/* The port that the RFC gives it, for either protocol. */
static inline uint16_t service_port_default(enum service s)
{
	static const uint16_t ports[] = {7, 9, 19};
	return ports[s];
}

/* Whose port it is; SERVICES: nobody's. */
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

/* A UDP port that answers whatever comes to it, here or by the RFCs on the other side: a request
 * from there must not be answered, for it would never end (CERT CA-1996-01). */
static inline bool service_answers(const struct services *all, uint16_t port)
{
	enum service s = service_of(all, SERVICE_UDP, port);
	return s == SERVICE_ECHO || s == SERVICE_CHARGEN ||
	       port == service_port_default(SERVICE_ECHO) ||
	       port == service_port_default(SERVICE_CHARGEN);
}

/* There is one at all. */
static inline bool services_any(const struct services *all, enum service_proto proto)
{
	unsigned n = 0;
	for (unsigned s = 0; s < SERVICES; s++)
		n += all->of[proto][s].ports;
	return n > 0;
}

/* What runs when nothing is said: echo, on the port of RFC 862, over UDP and TCP. */
static inline void services_default(struct services *all)
{
	for (unsigned p = 0; p < SERVICE_PROTOS; p++) {
		struct service_ports *echo = &all->of[p][SERVICE_ECHO];
		echo->port[0] = service_port_default(SERVICE_ECHO);
		echo->ports = 1;
	}
}

#endif
