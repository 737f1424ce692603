/*
 * What a switch that snoops on IGMP and MLD reads of a frame to an IP multicast group, and the queries that it
 * sends (RFC 4541).
 *
 *     IGMPv1, v2, v3      RFC 1112 appendix I, RFC 2236 2, RFC 3376 4
 *     MLDv1, v2           RFC 2710 3, RFC 3810 5
 *     PIM hello           RFC 7761 4.9.2: a router is there
 *     MRD advertisement   RFC 4286 3: the same
 *
 * Both families have one form: groups and sources are struct net_addr, IPv4 as mapped addresses.
 *
 * A message with a wrong length or checksum is refused as a whole, and nothing of it is used (RFC 4541 2.1.1).
 * A packet that is no such message is judged by its destination alone: what follows is no business of a switch.
 *
 * Not checked: the TTL and the Router Alert option of IGMP, because hosts of version 1 send no such option.
 * MLD messages need both and a link-local source (RFC 3810 5, 5.1.14, 5.2.13).
 */
#ifndef NET_SNOOP_MESSAGE_H
#define NET_SNOOP_MESSAGE_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/eth.h"

enum snoop_family {
	SNOOP_IP4,
	SNOOP_IP6,
	SNOOP_FAMILIES,
};

enum snoop_type {
	SNOOP_OTHER,  /* not restricted: no IP, a group of link scope, an unknown message: to all ports */
	SNOOP_DATA,   /* a packet to a group */
	SNOOP_QUERY,
	SNOOP_REPORT, /* a report or a leave */
	SNOOP_ROUTER, /* a PIM hello or an MRD advertisement */
};

struct snoop_packet {
	enum snoop_type type;
	enum snoop_family family;
	struct net_addr src;    /* 0.0.0.0 is NET_ADDR_ANY */
	struct net_addr group;  /* the destination */
	const uint8_t *message; /* IGMP, or ICMPv6; of a query and a report */
	unsigned len;
};

/*
 * Reads the packet behind an Ethernet header with that EtherType (host order), of which len bytes are there.
 * CNT_NONE: *out says what it is, and points into the packet. CNT_drop_snoop_malformed: a malformed IGMP or
 * MLD message.
 */
enum counter snoop_read(const uint8_t *ip, unsigned len, uint16_t ethertype, struct snoop_packet *out);

struct snoop_query {
	struct net_addr group; /* NET_ADDR_ANY: of all groups */
	unsigned version;      /* 1 to 3 of IGMP, 1 or 2 of MLD */
	uint32_t response_ms;  /* Maximum Response Time; 10 s of IGMPv1 (RFC 2236 4) */
	bool suppress;         /* S flag: routers keep their timers (RFC 3376 4.1.5) */
	bool sources;          /* about some sources of the group only */
	unsigned robustness;   /* 1 to 7; 0: not told */
	uint32_t interval_s;   /* Querier's Query Interval; 0: not told */
};

/* The contents of a packet of type SNOOP_QUERY. */
void snoop_query_read(const struct snoop_packet *p, struct snoop_query *out);

enum snoop_change {
	SNOOP_JOIN,    /* there is a listener */
	SNOOP_LEAVE,   /* a listener has gone; others may be there */
	SNOOP_NEITHER, /* nothing about the group as a whole, or it is of link scope */
};

struct snoop_record {
	struct net_addr group;
	enum snoop_change change;
};

/* The next record of a packet of type SNOOP_REPORT. *cursor is 0 at first. False: there is none. */
bool snoop_record_next(const struct snoop_packet *p, unsigned *cursor, struct snoop_record *out);

/* Groups that a switch forwards to all ports, and does not track: 224.0.0.0/24 (RFC 4541 2.1.2), and IPv6 groups
 * of at most link scope. RFC 4541 3 demands that only of ff02::1; but neighbour discovery ends where hosts do
 * not report their solicited-node groups. */
bool snoop_is_link_group(const struct net_addr *group);

/* A query of our own: version 3 of IGMP, 2 of MLD. Older hosts take it for one of theirs, because they ignore
 * what follows their own fields (RFC 2236 2.5, RFC 2710 3). */
struct snoop_query_build {
	enum snoop_family family;
	struct net_addr src;   /* IPv6: link-local. IPv4: NET_ADDR_ANY for 0.0.0.0 */
	struct net_addr group; /* NET_ADDR_ANY: of all groups */
	uint8_t mac[ETH_ALEN];
	uint32_t response_ms;
	uint32_t interval_s;
	uint8_t robustness;
};

#define SNOOP_QUERY_MAX 90 /* bytes of a frame */

/* Writes a whole frame without a tag; it may be shorter than ETH_FRAME_MIN. Returns its length. */
unsigned snoop_query_write(uint8_t frame[SNOOP_QUERY_MAX], const struct snoop_query_build *q);

#endif
