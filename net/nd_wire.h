/*
 * Wire formats of neighbour and router discovery (RFC 4861 4), for net/nd.c and its siblings:
 * offsets, options, and the headers of the messages we send.
 *
 * Invariant: nd_options_read has walked the options of every message before any field is read; the
 * pointers it returns lie within the message.
 */
#ifndef NET_ND_WIRE_H
#define NET_ND_WIRE_H

#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/eth.h"
#include "net/icmp6.h"
#include "net/ip6.h"

#define ND_HOP_LIMIT 255 /* RFC 4861 7.1.1: in every message, so it cannot come from another link */

/* Length of the messages without options. */
#define ND_RS_LEN 8
#define ND_RA_LEN 16
#define ND_NEIGHBOUR_LEN 24 /* solicitation and advertisement */
#define ND_REDIRECT_LEN 40
#define ND_TARGET 8 /* octet of the target in the last three */

/* Flags in octet 4 of a neighbour advertisement (4.4). */
#define ND_NA_ROUTER 0x80
#define ND_NA_SOLICITED 0x40
#define ND_NA_OVERRIDE 0x20

/* Flags in octet 5 of a router advertisement (4.2; the preference: RFC 4191 2.2). */
#define ND_RA_MANAGED 0x80
#define ND_RA_OTHER 0x40
#define ND_RA_PREFERENCE 0x18

/* Flags in octet 3 of a prefix information option (4.6.2). */
#define ND_PREFIX_ON_LINK 0x80
#define ND_PREFIX_AUTONOMOUS 0x40

enum nd_option {
	ND_OPT_SOURCE_MAC = 1,
	ND_OPT_TARGET_MAC = 2,
	ND_OPT_PREFIX = 3,
	ND_OPT_REDIRECTED = 4,
	ND_OPT_MTU = 5,
	ND_OPT_NONCE = 14,  /* RFC 3971 5.3.2, RFC 7527 */
	ND_OPT_RDNSS = 25,  /* RFC 8106 5.1 */
};

#define ND_MAC_OPT_LEN 8
#define ND_PREFIX_OPT_LEN 32
#define ND_REDIRECTED_OPT_LEN 8 /* without the quoted packet (4.6.3) */
#define ND_MTU_OPT_LEN 8
#define ND_NONCE_OPT_LEN 8
#define ND_NONCE_LEN 6
#define ND_PREFIXES_MAX 16 /* per message; further ones are ignored */

/* The options of a message; absent ones are NULL. Of repeated options the first counts, except for
 * prefixes. */
struct nd_options {
	const uint8_t *source_mac;
	const uint8_t *target_mac;
	const uint8_t *nonce; /* ND_NONCE_LEN octets */
	const uint8_t *mtu;   /* the whole option */
	const uint8_t *prefix[ND_PREFIXES_MAX]; /* the whole options */
	unsigned prefixes;
};

/*
 * Walks the options after the first `fixed` octets of a message of len octets. False: the message
 * is shorter, or an option has length 0 or exceeds the message (RFC 4861 4.6, 7.1.1). Options of
 * unknown type, or with a wrong length for their type, are ignored.
 */
bool nd_options_read(const uint8_t *icmp, unsigned len, unsigned fixed, struct nd_options *out);

/* The checks common to all messages (6.1, 7.1, 8.1: hop limit, code, lengths; RFC 6980: no
 * fragment). `fixed`: length of the message's fixed part. Returns CNT_NONE with *options filled in,
 * or the counter. */
enum counter nd_check(const uint8_t *ip, const struct ip6_upper *up, const struct icmp6_msg *m,
                      unsigned fixed, struct nd_options *options);

/* Writes a link-layer address option of the given type. Returns the end of the option. */
uint8_t *nd_mac_option_put(uint8_t *p, enum nd_option type, const uint8_t *mac);

/* Offset of the message in a frame without extension headers. */
#define ND_FRAME_ICMP (ETH_HLEN + IP6_HLEN)

/* Addresses of a message. */
struct nd_envelope {
	struct net_addr src, dst;
	const uint8_t *src_mac;
	const uint8_t *dst_mac; /* NULL: dst is a group, which determines the MAC */
};

/* Writes the Ethernet and IPv6 headers (hop limit 255) in front of the message of icmp_len octets
 * at frame + ND_FRAME_ICMP, and the message's checksum. Returns the frame's length. */
unsigned nd_frame_finish(uint8_t *frame, const struct nd_envelope *e, unsigned icmp_len);

/* A better first hop, for a redirect. */
struct nd_redirect {
	struct net_addr src;    /* our link-local address */
	struct net_addr target; /* a router's link-local address, or the destination itself if
	                           on-link */
	const uint8_t *mac;     /* of the target */
};

/*
 * Builds the whole IPv6 packet of a redirect (4.5, 8.2) about the packet at orig_ip, which has
 * passed ip6_check and of which orig_len bytes are there. It goes to the packet's source, with the
 * target's MAC and as much of the packet, in units of 8 bytes, as IP6_MTU_MIN and room permit. out
 * must not overlap orig_ip. Returns the length, or 0 if room cannot hold the original's header.
 */
unsigned nd_redirect_build(uint8_t *out, unsigned room, const uint8_t *orig_ip, unsigned orig_len,
                           const struct nd_redirect *r);

#endif
