/*
 * Netlink's wire format, for the files of net/fpm: RFC 3549, Linux uapi netlink.h, rtnetlink.h,
 * nexthop.h, lwtunnel.h. Numbers are little-endian (fpm.h). All loads may be unaligned.
 *
 * Invariant: the values that netlink_attributes returns lie within the octets that it was given.
 */
#ifndef NET_FPM_NETLINK_H
#define NET_FPM_NETLINK_H

#include "lib/bytes.h"
#include "lib/types.h"
#include "net/fpm/fpm.h"

#define NETLINK_ALIGN 4

/* The first two octets of a frame (fpm.h) */
#define FPM_VERSION 1
#define FPM_TYPE_NETLINK 1

/* struct nlmsghdr: length, type, flags, sequence number, port */
#define NLMSG_LEN 16
#define NLMSG_AT_LENGTH 0
#define NLMSG_AT_TYPE 4
#define NLMSG_AT_FLAGS 6
#define NLM_F_REQUEST 0x001
#define NLM_F_REPLACE 0x100
#define NLM_F_CREATE 0x400

enum netlink_type {
	NLMSG_MIN_TYPE = 16, /* below: control messages */
	RTM_NEWROUTE = 24,
	RTM_DELROUTE = 25,
	RTM_NEWNEXTHOP = 104,
	RTM_DELNEXTHOP = 105,
};

enum netlink_family { AF_INET = 2, AF_INET6 = 10, AF_MPLS = 28 };

/* struct rtmsg */
#define RTM_LEN 12
#define RTM_AT_FAMILY 0
#define RTM_AT_DST_LEN 1
#define RTM_AT_SRC_LEN 2
#define RTM_AT_TABLE 4
#define RTM_AT_PROTOCOL 5
#define RTM_AT_TYPE 7
#define RTM_AT_FLAGS 8
#define RTM_F_OFFLOAD 0x4000u
#define RTM_F_TRAP 0x8000u
#define RTM_F_OFFLOAD_FAILED 0x20000000u
#define RTNH_F_ONLINK 4 /* in rtnh_flags and nh_flags, and in rtm_flags of a single hop */

enum netlink_route_type {
	RTN_UNICAST = 1,
	RTN_LOCAL = 2,
	RTN_BROADCAST = 3,
	RTN_ANYCAST = 4,
	RTN_MULTICAST = 5,
	RTN_BLACKHOLE = 6,
	RTN_UNREACHABLE = 7,
	RTN_PROHIBIT = 8,
	RTN_THROW = 9,
};

enum netlink_protocol {
	RTPROT_KERNEL = 2,
	RTPROT_STATIC = 4,
};

enum netlink_rta {
	RTA_DST = 1,
	RTA_OIF = 4,
	RTA_GATEWAY = 5,
	RTA_PRIORITY = 6,
	RTA_METRICS = 8,
	RTA_MULTIPATH = 9,
	RTA_TABLE = 15,
	RTA_VIA = 18,
	RTA_ENCAP_TYPE = 21,
	RTA_ENCAP = 22,
	RTA_NH_ID = 30,
	RTA_COUNT,
};

enum netlink_rtax { RTAX_MTU = 2, RTAX_COUNT };

/* struct rtnexthop: length, flags, hops (weight - 1), interface index */
#define RTNH_LEN 8
#define RTNH_AT_FLAGS 2
#define RTNH_AT_HOPS 3
#define RTNH_AT_IFINDEX 4

/* struct nhmsg: family, scope, protocol, reserved, flags */
#define NHMSG_LEN 8
#define NHMSG_AT_PROTOCOL 2
#define NHMSG_AT_FLAGS 4

enum netlink_nha {
	NHA_ID = 1,
	NHA_GROUP = 2,
	NHA_BLACKHOLE = 4,
	NHA_OIF = 5,
	NHA_GATEWAY = 6,
	NHA_ENCAP_TYPE = 7,
	NHA_ENCAP = 8,
	NHA_FDB = 11,
	NHA_COUNT,
};

/* struct nexthop_grp: id, low and high octet of the weight - 1, reserved. Kernels and zebras that
 * know no high octet write 0. */
#define NEXTHOP_GRP_LEN 8
#define NEXTHOP_GRP_AT_WEIGHT 4

enum netlink_encap {
	LWTUNNEL_ENCAP_MPLS = 1,
	LWTUNNEL_ENCAP_SEG6 = 5,
	LWTUNNEL_ENCAP_SEG6_LOCAL = 7,
	FPM_ENCAP_VXLAN = 100, /* FRR's own, NET_VXLAN in lib/nexthop.h */
};

/* The value of an attribute; p is NULL: the attribute is absent. */
struct netlink_value {
	const uint8_t *p;
	uint16_t len;
};

/*
 * Walks n octets of attributes. value[i] becomes the value of type i, for all i below count; other
 * types are ignored. Of repeated attributes the last counts, as in Linux.
 */
enum fpm_error netlink_attributes(const uint8_t *p, uint32_t n, struct netlink_value *value,
                                  unsigned count);

/* Reads a number of 32 bits; an absent one leaves *out as it is. */
enum fpm_error netlink_u32(struct netlink_value v, uint32_t *out);

/* Reads an address of 4 or 16 octets. */
enum fpm_error netlink_address(struct netlink_value v, struct net_addr *out);

/* Why a hop with RTA_ENCAP_TYPE and RTA_ENCAP, or those of a next-hop object, is refused;
 * FPM_SKIP_NONE: it has no encapsulation. */
enum fpm_error netlink_encapsulation(struct netlink_value type, struct netlink_value encap,
                                     enum fpm_skip *out);

/* Decode the n octets after the netlink header (route.c, object.c). They fill in kind, skip, and
 * route or nexthop. */
enum fpm_error fpm_route_decode(const uint8_t *p, uint32_t n, bool deletes, struct fpm_message *out);
enum fpm_error fpm_nexthop_decode(const uint8_t *p, uint32_t n, bool deletes,
                                  struct fpm_message *out);

#endif
