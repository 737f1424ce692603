/*
 * A host's side of router discovery and stateless address autoconfiguration (RFC 4861 6.3, RFC 4862
 * 5.5, RFC 7559), for the applications that are servers and not routers.
 *
 * A function of (packet, time) upon net/nd.h, by whose ops it sends and counts; addresses are
 * entered there, where DAD is done, and address_up tells of them.
 *
 *   event                          what happens
 *   slaac_start                    link-local address; solicitation within 1 s, again after 4 s, 8 s
 *                                  and so on up to an hour, until a default router answers
 *   advertisement with lifetime    its sender is a default router for so long
 *   prefix, on-link                prefix(…, true) until its time ends
 *   prefix of 64 bits, autonomous  an address in it, until its time ends; one that lives has two
 *                                  hours left at least, whatever is advertised (5.5.3 (e))
 *   the neighbour of the default   default_router() with another: the best of those that may be
 *   router fails, or its time ends reachable, else the next one (6.3.6)
 *
 * What strangers may do: an advertisement that passes 6.1.2 comes from a station on the link, and
 * such a one can pose as a router whatever is done here. It cannot make the tables grow, take an
 * address away at once, lower the MTU below 1280 or the hop limit below SLAAC_HOP_LIMIT_MIN, or set
 * times so short that we flood the link.
 *
 * Invariants
 * 1. default_router is called when the choice changes, and only then.
 * 2. prefix(…, true) and prefix(…, false) alternate for a prefix of a port.
 *
 * Deliberately missing: temporary addresses (RFC 8981), identifiers that do not show the MAC (RFC
 * 7217: a server is found by its address anyhow), preferring what is not deprecated when we are the
 * one to open (servers answer), DHCPv6, name servers, route information (RFC 4191 2.3).
 */
#ifndef NET_SLAAC_H
#define NET_SLAAC_H

#include "net/nd.h"

#define SLAAC_ROUTERS_MAX 8   /* of all ports */
#define SLAAC_PREFIXES_MAX 32 /* of all ports, */
#define SLAAC_PORT_PREFIXES_MAX 8 /* and of one */
#define SLAAC_HOP_LIMIT_MIN 32
#define SLAAC_FOREVER UINT64_MAX

struct slaac_ops {
	/* All that is on no link goes to this router from now on; NULL: there is none. */
	void (*default_router)(void *ctx, unsigned port, const struct net_addr *router);
	/* The prefix is on the port's link (a connected route), or no longer. */
	void (*prefix)(void *ctx, unsigned port, const struct net_addr *prefix, unsigned plen, bool on);
	/* A router told the link's MTU or the hop limit to send with; 0: did not. */
	void (*link)(void *ctx, unsigned port, unsigned mtu, unsigned hop_limit);
};

/* An address made here, as the iterator shows it; SLAAC_FOREVER: without end. */
struct slaac_address {
	struct net_addr addr;
	unsigned port;
	uint64_t valid_until_ns, preferred_until_ns;
};

/* --- private from here on, laid open for sizes only --- */

struct slaac_router {
	struct net_addr addr;
	uint64_t until_ns;
	uint8_t port;
	uint8_t rank; /* preference: 2 high, 1 medium, 0 low */
};

struct slaac_prefix {
	struct net_addr prefix; /* bits behind plen are 0 */
	struct net_addr addr;   /* valid while has_addr */
	uint64_t on_link_until_ns; /* valid while on_link */
	uint64_t valid_until_ns, preferred_until_ns; /* valid while has_addr */
	uint8_t port;
	uint8_t plen;
	bool on_link;
	bool has_addr;
};

struct slaac_port {
	uint64_t solicit_at; /* valid while soliciting */
	uint64_t interval_ns;
	uint32_t link_mtu;
	uint8_t mac[ETH_ALEN];
	bool on;
	bool soliciting;
};

struct slaac {
	struct nd *nd;
	const struct slaac_ops *ops;
	void *ctx;
	struct slaac_port port[ND_PORTS_MAX];
	struct slaac_router router[SLAAC_ROUTERS_MAX];
	struct slaac_prefix prefix[SLAAC_PREFIXES_MAX];
	uint32_t routers;
	uint32_t prefixes;
	uint32_t changes_seen;       /* of nd_router_changes */
	bool has_default;
	struct slaac_router chosen;  /* valid while has_default */
};

/* --- public --- */

/* Nothing is on. nd stays the caller's, and must have been made for a host. */
void slaac_init(struct slaac *s, struct nd *nd, const struct slaac_ops *ops, void *ctx);

/* Configures the port by what its routers say; its link carries frames of link_mtu (1280 or more).
 * Enters the link-local address of the MAC if there is none on the port. E_INVAL, E_NOMEM as
 * nd_add_local. */
int slaac_start(struct slaac *s, unsigned port, const uint8_t *mac, unsigned link_mtu,
                uint64_t now_ns);

/* Takes all of it back. */
void slaac_stop(struct slaac *s, unsigned port, uint64_t now_ns);

/* The link came up: routers are asked anew. What was learnt stays until they say otherwise. */
void slaac_link_up(struct slaac *s, unsigned port, uint64_t now_ns);

/* A router solicitation or advertisement, as with nd_input. Returns its fate. */
enum counter slaac_input(struct slaac *s, unsigned port, const uint8_t *frame,
                         const struct ip6_upper *up, const struct icmp6_msg *m, uint64_t now_ns);

/* Does what is due: after nd_tick, whose neighbours it looks at. Returns slaac_deadline(). */
uint64_t slaac_tick(struct slaac *s, uint64_t now_ns);

/* When slaac_tick is needed next; 0: at once; UINT64_MAX: not before something else happens. */
uint64_t slaac_deadline(const struct slaac *s);

/* Has a router said that this prefix is on the port's link, and is its time not over? */
bool slaac_is_on_link(const struct slaac *s, unsigned port, const struct net_addr *prefix,
                      unsigned plen);

/* Walks the addresses; *cursor starts at 0. False after the last. */
bool slaac_next(const struct slaac *s, unsigned *cursor, struct slaac_address *out);

#endif
