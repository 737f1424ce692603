/*
 * IGMP and MLD snooping (RFC 4541): behind which ports of a VLAN are listeners of a group, and routers. A
 * function of (packet, time). The caller forwards packets; this module says by which table.
 *
 * The state of a VLAN and family ("VLAN" below):
 *
 *     event                              what happens
 *     report of a group                  its port is a member for the membership interval (RFC 3376 8.4)
 *     leave, fast leave is on            its port is no member any more
 *     leave, we are the querier          2 queries of the group, 1 s apart (RFC 2236 3, RFC 3376 8.8); the port
 *                                        is no member any more if it does not report within 2 s
 *     leave, another querier             nothing: that one asks
 *     query of a group                   the other ports' time is at most twice its response time (RFC 3376
 *                                        6.6.1), unless it has the S flag or is about sources
 *     query, PIM hello, MRD              its port leads to a router, for SNOOP_ROUTER_NS
 *     query from a lower address         its sender is the querier, until the other querier present interval
 *                                        (RFC 2236 3; RFC 3376 8.5) ends
 *     no other querier, and one is       we are the querier: two queries, a quarter of the interval apart (RFC
 *     configured                         3376 8.6, 8.7), then one each interval
 *     link of a port goes down           it is no member and leads to no router
 *     link of a port comes up            a query of ours, if we are the querier
 *
 * A VLAN restricts groups to their listeners only while it has a querier, and after hosts have had the time to
 * answer it. Without a querier hosts that joined long ago would be cut off, so its packets are flooded, as
 * without snooping. A query from 0.0.0.0 is of a switch, not of a router (RFC 4541 2.1.1): it neither makes its
 * sender the querier nor its port a router's.
 *
 * Sources are not tracked: a listener of some sources is a listener of the group. Groups of link scope are not
 * tracked (message.h).
 *
 * Bounds: SNOOP_VLANS_MAX VLANs and families, SNOOP_GROUPS_MAX groups. A VLAN beyond them is not restricted. A
 * VLAN with a report that found no room restricts nothing for a membership interval, so nobody is cut off.
 */
#ifndef NET_SNOOP_SNOOP_H
#define NET_SNOOP_SNOOP_H

#include "net/snoop/message.h"
#include "net/snoop/table.h"

#define SNOOP_VLANS_MAX 512
#define SNOOP_VID_MAX 4094
#define SNOOP_NONE 0xffff
#define SNOOP_NEVER UINT64_MAX

#define SNOOP_ROBUSTNESS 2                     /* RFC 3376 8.1 */
#define SNOOP_INTERVAL_S 125                   /* 8.2 */
#define SNOOP_RESPONSE_MS 10000u               /* 8.3 */
#define SNOOP_LAST_MEMBER_MS 1000u             /* 8.8; the count is the robustness (8.9) */
#define SNOOP_ROUTER_NS 300000000000ull        /* without a sign of life */

/* What the configuration says of a VLAN and family. */
struct snoop_settings {
	bool on;
	bool querier;
	bool fast_leave;
	uint16_t ports;       /* that carry the VLAN and forward */
	uint16_t routers;     /* of these, ports that are configured to lead to a router */
	uint32_t interval_s;  /* between queries of ours; at least 2 */
	struct net_addr src;  /* of our queries; NET_ADDR_ANY: none. Then IPv4 queries are sent from 0.0.0.0, and no
	                       * MLD queries */
};

struct snoop_ops {
	void (*settings)(void *ctx, unsigned vid, enum snoop_family family, struct snoop_settings *out);

	/* A group of the VLAN has listeners at these ports; 0: it has none. False: there is no room. */
	bool (*group)(void *ctx, unsigned vid, const struct net_addr *group, uint16_t ports);

	/* Ports of the VLAN that lead to routers, and whether packets to groups are restricted. */
	void (*vlan)(void *ctx, unsigned vid, enum snoop_family family, uint16_t routers, bool restricts);

	/* Sends a query by these ports. group: NET_ADDR_ANY for all groups. */
	void (*query)(void *ctx, unsigned vid, enum snoop_family family, const struct net_addr *group,
	              uint32_t response_ms, uint16_t ports);

	/* Adds 1 to a counter. */
	void (*count)(void *ctx, enum counter c);
};

/* A VLAN and family with snooping. Read-only for the caller, as struct snoop_group. */
struct snoop_vlan {
	uint16_t vid; /* 0: free */
	uint8_t family;
	uint8_t querier_port;
	uint8_t querier_version;
	uint8_t startup;         /* queries left before the interval is the configured one */
	bool restricts;
	bool querying;           /* we are the querier */
	uint16_t routers;        /* of both kinds, as told */
	uint32_t groups;
	struct snoop_settings set;
	struct net_addr querier; /* another, until querier_until */
	uint64_t querier_until;
	uint64_t restrict_at;    /* from then on; SNOOP_NEVER: no querier */
	uint64_t full_until;     /* it has lost a report */
	uint64_t member_ns;      /* membership interval */
	uint64_t query_at;       /* our next, if querying */
	uint64_t router_until[SNOOP_PORTS];
};

struct snoop_group {
	struct net_addr addr;
	uint16_t vlan;      /* number of its struct snoop_vlan */
	uint16_t next;      /* of the same hash, or of the free ones; SNOOP_NONE: the last */
	uint16_t ports;     /* 0: free */
	uint16_t asked;     /* ports that are being asked whether there are listeners left */
	uint8_t asks;       /* queries left */
	uint64_t ask_at;
	uint64_t until[SNOOP_PORTS]; /* of each port in `ports` */
};

#define SNOOP_HASHES 1024

struct snoop {
	const struct snoop_ops *ops;
	void *ctx;
	struct siphash_key key;
	uint64_t due; /* next snoop_tick */
	uint32_t groups, vlans;
	uint16_t free;
	uint16_t chain[SNOOP_HASHES];
	uint16_t number[SNOOP_FAMILIES][SNOOP_VID_MAX + 1]; /* of the struct snoop_vlan, plus 1; 0: none */
	struct snoop_vlan vlan[SNOOP_VLANS_MAX];
	struct snoop_group group[SNOOP_GROUPS_MAX];
};

/* key: random and secret. */
void snoop_init(struct snoop *s, const struct snoop_ops *ops, void *ctx, const uint64_t key[2]);

/* A packet of type SNOOP_QUERY, SNOOP_REPORT or SNOOP_ROUTER (message.h) has come by a port of a VLAN, which
 * carries the VLAN and forwards. */
void snoop_input(struct snoop *s, unsigned vid, unsigned port, const struct snoop_packet *p, uint64_t now_ns);

/* The settings of the VLAN and family may have changed, or it has some at all. */
void snoop_update(struct snoop *s, unsigned vid, enum snoop_family family, uint64_t now_ns);

/* The links, states or VLANs of ports have changed: reads the settings of all VLANs again. `up` ports have come
 * up. */
void snoop_ports_changed(struct snoop *s, uint16_t up, uint64_t now_ns);

/* Does all work due. */
void snoop_tick(struct snoop *s, uint64_t now_ns);

/* When snoop_tick is needed next; SNOOP_NEVER: no timer is armed. */
static inline uint64_t snoop_deadline(const struct snoop *s) { return s->due; }

/* The VLAN's state; NULL: it has none. */
const struct snoop_vlan *snoop_vlan_of(const struct snoop *s, unsigned vid, enum snoop_family family);

#endif
