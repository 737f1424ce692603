/*
 * The Forwarding Plane Manager stream of FRRouting: zebra, the TCP client, sends each change of its
 * routes to a forwarding plane. This room decodes the stream and writes acknowledgements. No TCP, no
 * clock, no memory except the caller's.
 *
 *     error = fpm_frame(data, received, &n);     n: length of the first frame; 0: incomplete
 *     error = fpm_check(data, n, &at);           every message of the frame, completely
 *     struct fpm_cursor c = fpm_begin(data, n);
 *     while (fpm_next(&c, &message))             apply all messages of a frame as one change
 *         ...
 *
 * A frame has a header of 4 octets: version 1, type 1 (netlink), length (big-endian, including the
 * header). One or more netlink messages follow, each padded to 4 octets. FRR before 9.1, or without
 * its route-replace option, changes a route by RTM_DELROUTE and RTM_NEWROUTE in one frame. If these
 * were applied one after the other, packets would be lost between them.
 *
 * Netlink is in the sender's byte order. Little-endian senders are supported (x86-64, AArch64);
 * messages of others are FPM_ERR_BYTE_ORDER.
 *
 * Not all content becomes a route here:
 *
 *     malformed   fpm_check fails. Where the next frame begins may be unknown: close the connection,
 *                 and zebra sends everything again
 *     refused     a route or next-hop object that this system cannot forward by (MPLS, SRv6, too
 *                 many hops). It replaces the former one of its prefix or id, which is obsolete
 *     skipped     a message that changes no route here (MPLS label tables, neighbours, rules)
 *
 * The last two are not errors; enum fpm_skip names the reason, for counters.
 *
 * Invariants
 * 1. fpm_frame, fpm_check and fpm_next read no octet beyond the given length.
 * 2. A frame has at least one message and a message at least 16 octets: every loop ends.
 * 3. After fpm_check has returned FPM_OK for the same octets, fpm_next cannot fail.
 * 4. struct fpm_message has copies, no pointers into the frame.
 *
 * Specification: none is published. FRR's fpm/fpm.h, zebra/dplane_fpm_nl.c and zebra/rt_netlink.c;
 * Linux uapi netlink.h, rtnetlink.h, nexthop.h, lwtunnel.h; RFC 3549. FRR 8.4 to 10.x.
 *
 * Peculiarities of FRR
 * - Routes that zebra shows as connected, local or kernel are all of protocol FPM_KERNEL. A route of
 *   BGP that becomes connected arrives as one of these.
 * - RTM_DELROUTE has no next hops and rtm_type 0, and the protocol of the former route.
 * - RTA_PRIORITY is 20 in all routes, whatever their metric.
 * - NLM_F_REPLACE is set for nearly all new routes, also first ones.
 * - IPv4 with an IPv6 next hop (RFC 8950): a next-hop object has the IPv6 address. A route without
 *   next-hop objects has it (RTA_VIA) from FRR 10.6 on. Before, RTA_GATEWAY is 169.254.0.1, and the
 *   address is not in the message.
 * - RTA_NH_ID may refer to an object that comes later or, in FRR 8.4 on kernels without next-hop
 *   objects, never. FRR 10.3 omits the objects of some connected routes.
 * - A route without usable hop is sent with an empty RTA_MULTIPATH.
 * - When an interface goes down, FRR 10 may leave the objects and routes over it as they are: Linux
 *   ignores hops of such interfaces, and so should the receiver.
 *
 * Deliberately missing: the old FPM of zebra_fpm.so with protobuf; realms (RTA_FLOW); preferred
 * source addresses (RTA_PREFSRC); metrics other than the MTU.
 */
#ifndef NET_FPM_FPM_H
#define NET_FPM_FPM_H

#include "lib/types.h"
#include "net/addr.h"

#define FPM_HEADER_LEN 4
#define FPM_FRAME_MAX 65535 /* octets, with the header */
#define FPM_HOPS_MAX 64     /* hops of a route, members of a group; more are refused */

/* Why a frame is malformed. */
#define FPM_ERRORS(X) \
	X(VERSION, "the FPM version is not 1") \
	X(TYPE, "the FPM type is not netlink") \
	X(FRAME_LENGTH, "the frame is too short for a message") \
	X(BYTE_ORDER, "the sender is big-endian") \
	X(MESSAGE_LENGTH, "a message is shorter than its header or exceeds the frame") \
	X(ATTRIBUTE, "an attribute is shorter than its header or exceeds its message") \
	X(VALUE_LENGTH, "an attribute's value has a wrong length for its type") \
	X(PREFIX, "a prefix length is impossible, or the destination is missing") \
	X(GATEWAY, "two gateways of one hop, or a gateway of an unknown family") \
	X(MULTIPATH, "a hop is shorter than its header or exceeds RTA_MULTIPATH") \
	X(NEXTHOP_ID, "a next-hop object without an id") \
	X(GROUP, "an empty group, or a member without an id")

enum fpm_error {
	FPM_OK,
#define FPM_ERROR_ENUM(name, text) FPM_ERR_##name,
	FPM_ERRORS(FPM_ERROR_ENUM)
#undef FPM_ERROR_ENUM
	FPM_ERRORS_END,
};

/* The text in FPM_ERRORS; "no error" for FPM_OK. */
const char *fpm_error_text(enum fpm_error e);

/* Why a message was refused or skipped, and the name for counters: messages that are not about routes (CONTROL
 * to MPLS), routes of other families and types (FAMILY to ROUTE_TYPE), next hops and next-hop objects. */
#define FPM_SKIPS(X) \
	X(CONTROL, "control") \
	X(LINK, "link") \
	X(ADDRESS, "address") \
	X(NEIGHBOUR, "neighbour") \
	X(RULE, "rule") \
	X(TC, "tc") \
	X(UNKNOWN, "unknown") \
	X(MPLS, "mpls") \
	X(FAMILY, "family") \
	X(SOURCE, "source") \
	X(LOCAL, "local") \
	X(BROADCAST, "broadcast") \
	X(ANYCAST, "anycast") \
	X(MULTICAST, "multicast") \
	X(THROW, "throw") \
	X(ROUTE_TYPE, "route_type") \
	X(ENCAP_MPLS, "encap_mpls") \
	X(ENCAP_SRV6, "encap_srv6") \
	X(ENCAP_VXLAN, "encap_vxlan") \
	X(ENCAP_OTHER, "encap_other") \
	X(HOPS, "hops") \
	X(NEXTHOP_FDB, "nexthop_fdb") \
	X(NEXTHOP_EMPTY, "nexthop_empty")

enum fpm_skip {
	FPM_SKIP_NONE,
#define FPM_SKIP_ENUM(name, word) FPM_SKIP_##name,
	FPM_SKIPS(FPM_SKIP_ENUM)
#undef FPM_SKIP_ENUM
	FPM_SKIPS_END,
};

const char *fpm_skip_name(enum fpm_skip s); /* "encap_mpls"; "none" for FPM_SKIP_NONE */

/* The protocols of zebra/rt_netlink.h, and those that zebra's own table of numbers calls kernel. One
 * letter as in `show ip route` of FRR. OSPF is OSPFv2 or OSPFv3, by the route's family. */
#define FPM_PROTOCOLS(X) \
	X(OTHER, '?', "other") \
	X(KERNEL, 'K', "kernel") /* connected, local or kernel in zebra */ \
	X(TABLE, 'T', "table") \
	X(STATIC, 'S', "static") \
	X(BABEL, 'A', "babel") \
	X(BGP, 'B', "bgp") \
	X(ISIS, 'I', "isis") \
	X(OSPF, 'O', "ospf") \
	X(RIP, 'R', "rip") \
	X(RIPNG, 'R', "ripng") \
	X(NHRP, 'N', "nhrp") \
	X(EIGRP, 'E', "eigrp") \
	X(LDP, 'L', "ldp") \
	X(SHARP, 'D', "sharp") \
	X(PBR, 'F', "pbr") \
	X(OPENFABRIC, 'f', "openfabric") \
	X(SRTE, '-', "srte")

enum fpm_protocol {
#define FPM_PROTOCOL_ENUM(name, letter, word) FPM_##name,
	FPM_PROTOCOLS(FPM_PROTOCOL_ENUM)
#undef FPM_PROTOCOL_ENUM
	FPM_PROTOCOLS_END,
};

/* Of rtm_protocol or nh_protocol; FPM_OTHER for a number that is not known. */
enum fpm_protocol fpm_protocol_of(uint8_t number);
const char *fpm_protocol_name(enum fpm_protocol p);
char fpm_protocol_letter(enum fpm_protocol p);

/* One hop. Without gateway and interface it leads nowhere: packets of its share are discarded. */
struct fpm_hop {
	struct net_addr gateway; /* of either family, whatever the route's; NET_ADDR_ANY: none */
	uint32_t ifindex;        /* of the sender's Linux; 0: not stated */
	uint32_t weight;         /* 1 to 256 in routes; in groups to 65,536, from FRR 10.5 on */
	bool onlink;             /* the gateway is on the interface's link whatever its subnets */
};

enum fpm_route_type { FPM_UNICAST, FPM_BLACKHOLE, FPM_UNREACHABLE, FPM_PROHIBIT };

/* A route. FPM_ROUTE_DELETE has only the fields up to `protocol_number`. */
struct fpm_route {
	struct net_addr addr; /* IPv4: as net_addr_ip4; no bit after plen is set */
	uint8_t plen;
	bool six;
	uint32_t table;    /* of Linux; 254: main */
	uint32_t priority; /* 0: not stated */
	enum fpm_protocol protocol; /* of a deletion: the former route's */
	uint8_t protocol_number;
	enum fpm_route_type type;
	uint32_t mtu;        /* 0: not stated */
	uint32_t nexthop_id; /* of a next-hop object; 0: the hops below */
	unsigned hops;       /* 0 unless FPM_UNICAST without next-hop object. A unicast route with
	                      * neither cannot be used */
	struct fpm_hop hop[FPM_HOPS_MAX];
};

struct fpm_member {
	uint32_t id;
	uint32_t weight; /* 1 to 65,536 */
};

/* A next-hop object. FPM_NEXTHOP_DELETE and FPM_NEXTHOP_REFUSED have only the id. */
struct fpm_nexthop {
	uint32_t id; /* not 0 */
	enum fpm_protocol protocol;
	unsigned members;   /* 0: no group */
	bool blackhole;     /* no group: discards packets; `hop` is empty */
	struct fpm_hop hop; /* neither group nor blackhole; its weight is 1 */
	struct fpm_member member[FPM_HOPS_MAX];
};

enum fpm_kind {
	FPM_ROUTE_SET,       /* the route to this prefix in this table is now this one */
	FPM_ROUTE_DELETE,
	FPM_ROUTE_REFUSED,   /* as FPM_ROUTE_SET, but the route cannot be forwarded by */
	FPM_NEXTHOP_SET,     /* the object of this id is now this one */
	FPM_NEXTHOP_DELETE,
	FPM_NEXTHOP_REFUSED, /* as FPM_NEXTHOP_SET, but the object cannot be forwarded by */
	FPM_SKIPPED,         /* neither `route` nor `nexthop` is valid */
};

struct fpm_message {
	enum fpm_kind kind;
	enum fpm_skip skip; /* of FPM_SKIPPED and the refused ones; else FPM_SKIP_NONE */
	bool create, replace; /* NLM_F_CREATE, NLM_F_REPLACE */
	uint16_t type;        /* nlmsg_type */
	uint32_t offset;      /* of the netlink message in the frame, */
	uint32_t length;      /* and its length without padding */
	union {
		struct fpm_route route;
		struct fpm_nexthop nexthop;
	};
};

/*
 * Looks for a frame at the beginning of n octets received. FPM_OK: *length is the frame's length, at
 * most n, or 0 if more octets are needed. Errors are reported as early as the octets allow.
 */
enum fpm_error fpm_frame(const uint8_t *data, size_t n, uint32_t *length);

/* Validates all messages of a frame of that length. On an error *at is the offset of the message; at
 * may be NULL. */
enum fpm_error fpm_check(const uint8_t *frame, uint32_t length, uint32_t *at);

/* Position in a frame that fpm_check has accepted. The caller keeps the frame unchanged. */
struct fpm_cursor {
	const uint8_t *frame;
	uint32_t length, at;
};

static inline struct fpm_cursor fpm_begin(const uint8_t *frame, uint32_t length)
{
	return (struct fpm_cursor){frame, length, FPM_HEADER_LEN};
}

/* Decodes the next message; false after the last. */
bool fpm_next(struct fpm_cursor *c, struct fpm_message *out);

/*
 * Acknowledgements, for `zebra --asic-offload=notify_on_offload` and bgpd's suppress-fib-pending.
 * FRR 8.5 and later read them; FRR 8.4 discards all input. An acknowledgement is the RTM_NEWROUTE as
 * it was received, with RTM_F_OFFLOAD or RTM_F_OFFLOAD_FAILED in rtm_flags. All attributes stay,
 * because FRR before 10.3 compares the next hops too. FRR 10.3 reads the table's number as that of a
 * VRF, so no acknowledgement has an effect there; its routes stay queued. 10.4 is right again.
 *
 * zebra reads only the first message of a frame, so each acknowledgement is a frame of its own.
 * Several frames may follow one another in the stream.
 */
#define FPM_ACK_MAX 8192 /* zebra's input buffer to FRR 10.3: it would never take a longer frame */

/* True if zebra expects one: not for routes of the kernel, as in FRR's zebra/fpm_listener.c. */
bool fpm_ack_wanted(const struct fpm_message *m);

/*
 * Writes the frame that acknowledges a message of type RTM_NEWROUTE: `length` octets at `message`,
 * frame + m.offset and m.length of a struct fpm_message. installed: false reports a failure. out
 * must not overlap the message. Returns the frame's length, or 0 if it exceeds room or FPM_ACK_MAX.
 */
size_t fpm_ack_put(uint8_t *out, size_t room, const uint8_t *message, uint32_t length,
                   bool installed);

#endif
