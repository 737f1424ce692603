/*
 * The host part of router discovery and stateless address autoconfiguration (RFC 4861 6.3, RFC 4862
 * 5.5, RFC 7559), for applications that are servers and not routers.
 *
 * A function of (packet, time) on top of net/nd.h, whose ops it uses to send and count. Addresses
 * are added to nd, which runs DAD and reports them by address_up.
 *
 *   event                          what happens
 *   slaac_start                    link-local address; solicitation within 1 s, again after 4 s, 8 s
 *                                  and so on up to an hour, until a default router answers
 *   advertisement with lifetime    its sender is a default router for that time
 *   prefix, on-link                prefix(…, true) until its lifetime ends
 *   prefix of 64 bits, autonomous  an address in it, until its lifetime ends; an existing one keeps
 *                                  at least two hours, whatever is advertised (5.5.3 (e))
 *   the neighbour of the default   default_router() with another: the best that may be reachable,
 *   router fails, or its time ends else the next one (6.3.6)
 *
 * Threat model: an advertisement that passes 6.1.2 comes from a station on the link, and such a
 * station can always pose as a router. It cannot make the tables grow, remove an address at once,
 * lower the MTU below 1280 or the hop limit below SLAAC_HOP_LIMIT_MIN, or set times so short that
 * we flood the link.
 *
 * Invariants
 * 1. default_router is called exactly when the choice changes.
 * 2. prefix(…, true) and prefix(…, false) alternate for a prefix of an interface.
 *
 * Deliberately missing: temporary addresses (RFC 8981), identifiers that hide the MAC (RFC 7217: a
 * server is found by its address anyway), preferring addresses that are not deprecated for active
 * opens (servers answer), DHCPv6, name servers, route information (RFC 4191 2.3).
 */
#ifndef NET_SLAAC_H
#define NET_SLAAC_H

#include "net/nd.h"

#define SLAAC_ROUTERS_MAX 8   /* over all interfaces */
#define SLAAC_PREFIXES_MAX 32 /* over all interfaces */
#define SLAAC_INTERFACE_PREFIXES_MAX 8 /* per interface */
#define SLAAC_HOP_LIMIT_MIN 32
#define SLAAC_FOREVER UINT64_MAX

struct slaac_ops {
	/* The default router has changed; NULL: there is none. */
	void (*default_router)(void *ctx, unsigned interface, const struct net_addr *router);
	/* The prefix is on the interface's link (a connected route), or no longer. */
	void (*prefix)(void *ctx, unsigned interface, const struct net_addr *prefix, unsigned plen,
	               bool on);
	/* A router advertised the link's MTU or the hop limit to send with; 0: not advertised. */
	void (*link)(void *ctx, unsigned interface, unsigned mtu, unsigned hop_limit);
};

/* An autoconfigured address as returned by the iterator; SLAAC_FOREVER: no end. */
struct slaac_address {
	struct net_addr addr;
	unsigned interface;
	uint64_t valid_until_ns, preferred_until_ns;
};

/* --- private from here on, public only for sizes --- */

struct slaac_router {
	struct net_addr addr;
	uint64_t until_ns;
	uint8_t interface;
	uint8_t rank; /* preference: 2 high, 1 medium, 0 low */
};

struct slaac_prefix {
	struct net_addr prefix; /* bits after plen are 0 */
	struct net_addr addr;   /* valid if has_addr */
	uint64_t on_link_until_ns; /* valid if on_link */
	uint64_t valid_until_ns, preferred_until_ns; /* valid if has_addr */
	uint8_t interface;
	uint8_t plen;
	bool on_link;
	bool has_addr;
};

struct slaac_interface {
	uint64_t solicit_at; /* valid if soliciting */
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
	struct slaac_interface interface[ND_INTERFACES_MAX];
	struct slaac_router router[SLAAC_ROUTERS_MAX];
	struct slaac_prefix prefix[SLAAC_PREFIXES_MAX];
	uint32_t routers;
	uint32_t prefixes;
	uint32_t changes_seen;       /* last seen value of nd_router_changes */
	bool has_default;
	struct slaac_router chosen;  /* valid if has_default */
};

/* --- public --- */

/* Makes an instance with every interface off. nd stays the caller's, and must be initialised as a
 * host. */
void slaac_init(struct slaac *s, struct nd *nd, const struct slaac_ops *ops, void *ctx);

/* Configures the interface from its routers' advertisements; its link has an MTU of link_mtu (1280
 * or more). Adds the link-local address of the MAC if the interface has none. E_INVAL, E_NOMEM as
 * nd_add_local. */
int slaac_start(struct slaac *s, unsigned interface, const uint8_t *mac, unsigned link_mtu,
                uint64_t now_ns);

/* Removes everything that was learned on the interface. */
void slaac_stop(struct slaac *s, unsigned interface, uint64_t now_ns);

/* The link came up: routers are solicited again. Learned state stays until a router changes it. */
void slaac_link_up(struct slaac *s, unsigned interface, uint64_t now_ns);

/* Handles a router solicitation or advertisement; parameters as in nd_input. Returns its fate. */
enum counter slaac_input(struct slaac *s, unsigned interface, const uint8_t *frame,
                         const struct ip6_upper *up, const struct icmp6_msg *m, uint64_t now_ns);

/* Does all work due. Must be called after nd_tick, since it depends on neighbour states. Returns
 * slaac_deadline(). */
uint64_t slaac_tick(struct slaac *s, uint64_t now_ns);

/* When slaac_tick is needed next; 0: at once; UINT64_MAX: no timer is armed. */
uint64_t slaac_deadline(const struct slaac *s);

/* True if a router advertised this prefix as on the interface's link and its lifetime has not
 * ended. */
bool slaac_is_on_link(const struct slaac *s, unsigned interface, const struct net_addr *prefix,
                      unsigned plen);

/* Walks the addresses; *cursor starts at 0. False after the last. */
bool slaac_next(const struct slaac *s, unsigned *cursor, struct slaac_address *out);

#endif
