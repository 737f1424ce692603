/*
 * ICMP for IPv6 (RFC 4443): errors with their rules, echo, and the classification of neighbour
 * discovery and MLD messages (net/nd.h), which are ICMPv6 too.
 *
 * Packets are whole IPv6 packets of any alignment; packets passed in have passed ip6_check. The
 * rate limit (2.4 (f)) is net/icmp_limit.h.
 *
 * Deliberately missing: node information (RFC 4620), extended echo (RFC 8335), multi-part errors
 * (RFC 4884), errors about processing limits (RFC 8883: optional, and a packet beyond the limits is
 * not an accident).
 */
#ifndef NET_ICMP6_H
#define NET_ICMP6_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/ip6.h"

#define ICMP6_HLEN 8

enum icmp6_type {
	ICMP6_UNREACH = 1,
	ICMP6_TOO_BIG = 2,       /* rest: the MTU of the next link */
	ICMP6_TIME_EXCEEDED = 3,
	ICMP6_PARAM_PROBLEM = 4, /* rest: the offending octet */
	ICMP6_ECHO = 128,
	ICMP6_ECHO_REPLY = 129,
	ICMP6_MLD_QUERY = 130,   /* RFC 2710, RFC 3810 */
	ICMP6_MLD_REPORT = 131,
	ICMP6_MLD_DONE = 132,
	ICMP6_ROUTER_SOLICIT = 133, /* RFC 4861 4 */
	ICMP6_ROUTER_ADVERT = 134,
	ICMP6_NEIGHBOUR_SOLICIT = 135,
	ICMP6_NEIGHBOUR_ADVERT = 136,
	ICMP6_REDIRECT = 137,
	ICMP6_MLD2_REPORT = 143,
};

/* Codes of ICMP6_UNREACH (RFC 4443 3.1). */
enum icmp6_unreach {
	ICMP6_UNREACH_NO_ROUTE = 0,
	ICMP6_UNREACH_PROHIBITED = 1, /* administratively prohibited */
	ICMP6_UNREACH_SCOPE = 2,      /* beyond the scope of the source address */
	ICMP6_UNREACH_ADDRESS = 3,    /* the neighbour does not answer */
	ICMP6_UNREACH_PORT = 4,
	ICMP6_UNREACH_POLICY = 5,     /* source address failed the policy */
	ICMP6_UNREACH_REJECT = 6,     /* reject route */
};

/* Codes of ICMP6_TIME_EXCEEDED (3.3). */
enum icmp6_time {
	ICMP6_TIME_HOP_LIMIT = 0,
	ICMP6_TIME_REASSEMBLY = 1,
};

/* Codes of ICMP6_PARAM_PROBLEM (3.4; RFC 7112 5). */
enum icmp6_param_problem {
	ICMP6_PARAM_FIELD = 0,
	ICMP6_PARAM_NEXT_HEADER = 1,
	ICMP6_PARAM_OPTION = 2,
	ICMP6_PARAM_FIRST_FRAGMENT = 3,
};

/*
 * May an ICMP error of this type and code be sent about this packet, of which len bytes are there?
 * RFC 4443 2.4 (e): not about an ICMP error or a redirect (e.1, e.2), and only to a source that is
 * a single host (e.6). About a packet to a group only packet too big and an unrecognised option may
 * be sent (e.3; ip6_upper reports such an option only if its high bits are 10). The caller must
 * apply the same rule to a link-layer group or broadcast (e.4, e.5). A header chain that cannot be
 * followed may hide an error; then only parameter problems are allowed, which report exactly that.
 */
bool icmp6_error_allowed(const uint8_t *orig_ip, unsigned len, uint8_t type, uint8_t code);

/* An error to be sent. */
struct icmp6_error {
	struct net_addr src; /* our address */
	uint32_t rest;       /* second word, host order: MTU, pointer, or 0 */
	uint8_t type, code;
};

/*
 * Builds the whole IPv6 packet of an ICMP error about the packet at orig_ip, of which orig_len
 * bytes are there. It goes to the packet's source and quotes the packet, up to its payload length,
 * as far as the error stays within IP6_MTU_MIN (2.4 (c)) and room. Hop limit 64, traffic class 0.
 * out must not overlap orig_ip. Returns the length, or 0 if room cannot hold the ICMP header and
 * the original's IPv6 header.
 */
unsigned icmp6_error_build(uint8_t *out, unsigned room, const uint8_t *orig_ip, unsigned orig_len,
                           const struct icmp6_error *e);

/* The counter for sent errors of this type and code. */
enum counter icmp6_error_counter(uint8_t type, uint8_t code);

enum icmp6_kind {
	ICMP6_KIND_ECHO_REQUEST,
	ICMP6_KIND_ECHO_REPLY,
	ICMP6_KIND_ERROR,
	ICMP6_KIND_ND,  /* types 133 to 137 */
	ICMP6_KIND_MLD, /* types 130 to 132 and 143 */
	ICMP6_KIND_OTHER,
};

/* An ICMP message to the machine itself; pointers point into the packet. */
struct icmp6_msg {
	enum icmp6_kind kind;
	uint8_t type, code;
	uint16_t id, seq;     /* echo only, host order */
	uint32_t rest;        /* second header word, host order */
	const uint8_t *icmp;  /* the whole message, starting at its type */
	unsigned icmp_len;
	const uint8_t *data;  /* after the 8-byte header: echo data or the quoted packet */
	unsigned data_len;
	/* errors only: the upper layer of the quoted packet (2.4 (d)), as far as it is present */
	uint8_t quoted_proto;
	unsigned quoted_at;   /* octet of data; 0: unknown */
};

/*
 * Validates the ICMP message at octet `at` of the packet at ip (from ip6_upper; not a fragment) and
 * classifies it. Returns
 *     CNT_delivered_icmp6       echo request, echo reply, or error, which then quotes at least an
 *                               IPv6 header; also errors of unknown type (2.4 (a))
 *     CNT_NONE                  neighbour discovery or MLD: net/nd.h decides its fate
 *                               (fragmented packets must not get there: RFC 6980 5)
 *     CNT_drop_icmp6_malformed  too short, checksum
 *     CNT_drop_icmp6_type       unknown and not an error: silently discarded (2.4 (b))
 * Fills *out unless malformed.
 */
enum counter icmp6_input(const uint8_t *ip, unsigned at, struct icmp6_msg *out);

/* The checksum (2.3) of the message at octet `at`: 0 if its field is correct. */
uint16_t icmp6_checksum(const uint8_t *ip, unsigned at);

/* Writes the checksum: the last step of building any ICMPv6 message. Header and payload length are
 * complete; `at` is IP6_HLEN, or more after the hop-by-hop options of MLD. */
void icmp6_checksum_set(uint8_t *ip, unsigned at);

/*
 * Turns a valid echo request (by icmp6_input), whose message is at octet `at`, in place into its
 * reply (4.2). It goes to the source; src is our address: the request's destination or, for a group
 * or anycast address, a unicast one. Hop limit 64, traffic class kept. The request's extension
 * headers are not returned, so the reply begins `at - IP6_HLEN` bytes later than the request.
 * Returns that start.
 */
uint8_t *icmp6_echo_reply_make(uint8_t *ip, unsigned at, const struct net_addr *src);

struct icmp6_echo {
	struct net_addr src, dst;
	uint16_t id, seq;
	uint16_t data_len; /* bytes of pattern after the header */
	uint8_t hop_limit;
};

/* Builds an echo request, a whole IPv6 packet. Returns its length, 0 if room is too small. */
unsigned icmp6_echo_request_build(uint8_t *out, unsigned room, const struct icmp6_echo *e);

#endif
