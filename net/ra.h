/*
 * Router advertisements, the router part (RFC 4861 6.2; RFC 8106 for name servers; RFC 4191 2.2 for
 * the preference): hosts on our links learn routers and prefixes from them.
 *
 * A function of (packet, time) on top of net/nd.h, whose ops it uses to send and count. Each interface
 * has its own configuration and may advertise or not.
 *
 *   event                       what happens on an advertising interface
 *   ra_start, ra_link_up        advertisement to all nodes within 0.5 s, and two more at most 16 s
 *                               apart (6.2.4)
 *   t                           advertisement; the next after a random time between the two intervals
 *   router solicitation         advertisement to all nodes after up to 0.5 s, but no sooner than 3 s
 *                               after the last one (6.2.6): a flood of them costs one each 3 s
 *   another router's            compared with ours; a contradiction is counted (6.2.7)
 *   ra_stop                     advertisement with lifetime 0, the last (6.2.5)
 *
 * Invariants
 * 1. An advertisement is sent from a link-local address that DAD has passed; without one it waits.
 * 2. Two advertisements of an interface are at least 3 s apart, except for the final one.
 *
 * Deliberately missing: answers to one host (6.2.6 MAY), lifetimes that count down (6.2.1 MAY),
 * route information (RFC 4191 2.3), DNS search lists.
 */
#ifndef NET_RA_H
#define NET_RA_H

#include "net/nd.h"

#define RA_PREFIXES_MAX 8
#define RA_SERVERS_MAX 4

enum ra_preference { RA_MEDIUM = 0, RA_HIGH = 1, RA_LOW = 3 };

struct ra_prefix {
	struct net_addr addr; /* bits after plen are not sent */
	uint32_t valid_s, preferred_s; /* UINT32_MAX: infinite */
	uint8_t plen;
	bool on_link, autonomous;
};

/* What to advertise, with the names of RFC 4861 6.2.1. */
struct ra_config {
	uint32_t max_interval_s; /* MaxRtrAdvInterval: 4 to 1800 */
	uint32_t min_interval_s; /* MinRtrAdvInterval: 3 to 0.75 of max_interval_s */
	uint32_t reachable_ms;   /* AdvReachableTime: at most an hour; 0: unspecified */
	uint32_t retransmit_ms;  /* AdvRetransTimer; 0: unspecified */
	uint32_t mtu;            /* AdvLinkMTU: 1280 or more; 0: not sent */
	uint16_t lifetime_s;     /* AdvDefaultLifetime: max_interval_s to 9000; 0: not a default
	                            router */
	uint8_t hop_limit;       /* AdvCurHopLimit; 0: unspecified */
	bool managed, other;     /* AdvManagedFlag, AdvOtherConfigFlag */
	enum ra_preference preference;
	struct ra_prefix prefix[RA_PREFIXES_MAX];
	unsigned prefixes;
	struct net_addr server[RA_SERVERS_MAX];
	unsigned servers;
	uint32_t server_s;       /* lifetime of the servers: RFC 8106 5.1, 3 * max_interval_s */
};

/* The defaults of RFC 4861 6.2.1; those of a prefix are 30 and 7 days. */
#define RA_CONFIG_DEFAULT \
	((struct ra_config){ \
		.max_interval_s = 600, \
		.min_interval_s = 198, \
		.lifetime_s = 1800, \
		.hop_limit = 64, \
		.server_s = 1800, \
	})
#define RA_PREFIX_VALID_S 2592000
#define RA_PREFIX_PREFERRED_S 604800

/* --- private from here on, public only for sizes --- */

struct ra_interface {
	struct ra_config config;
	uint64_t at;        /* time of the next advertisement */
	uint64_t last;      /* valid if sent */
	uint8_t initial_left;
	bool on;
	bool sent;
};

struct ra {
	struct nd *nd;
	struct ra_interface interface[ND_INTERFACES_MAX];
};

/* --- public --- */

/* Makes an instance that advertises nothing. nd stays the caller's, and must be initialised as a
 * router. */
void ra_init(struct ra *ra, struct nd *nd);

/* True if RFC 4861 6.2.1 allows the configuration. */
bool ra_config_is_valid(const struct ra_config *c);

/* Starts advertising on an interface, or changes the configuration. Joins the all-routers group
 * (6.2.2). E_INVAL: bad configuration; E_NOMEM: no group left. */
int ra_start(struct ra *ra, unsigned interface, const struct ra_config *config, uint64_t now_ns);

/* Stops advertising. Hosts are told if the link-local address is up. */
void ra_stop(struct ra *ra, unsigned interface, uint64_t now_ns);

/* The link came up: its hosts have received no advertisement yet. */
void ra_link_up(struct ra *ra, unsigned interface, uint64_t now_ns);

/*
 * Handles a router solicitation or advertisement; parameters as in nd_input. From another router's
 * advertisement a router only learns that it is one. Returns the message's fate.
 */
enum counter ra_input(struct ra *ra, unsigned interface, const uint8_t *frame,
                      const struct ip6_upper *up, const struct icmp6_msg *m, uint64_t now_ns);

/* Does all work due. Returns ra_deadline(). */
uint64_t ra_tick(struct ra *ra, uint64_t now_ns);

/* When ra_tick is needed next; UINT64_MAX: no timer is armed. */
uint64_t ra_deadline(const struct ra *ra);

#endif
