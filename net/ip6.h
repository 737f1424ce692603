/*
 * IPv6 (RFC 8200): validation on reception, address classes (RFC 4291), the walk over extension
 * headers, hop limit, building headers, fragmenting our own packets.
 *
 * Addresses are struct net_addr, in wire order; packets are bytes of any alignment.
 *
 * A packet passes up to three checks; each adds tests that the one before does not need:
 *
 *     ip6_check           every packet: complete header, addresses that are valid on a link
 *     ip6_check_forward   one to be forwarded: scopes (RFC 4291 2.5.6); nothing after the header
 *                         (RFC 8200 4: a router does not process extension headers)
 *     ip6_upper           one to the machine itself: the chain of extension headers
 *
 * Invariants
 * 1. Every function but the three checks and ip6_find_upper takes a packet that ip6_check has
 *    passed: 40 bytes are there and the payload length lies within the buffer.
 * 2. A walk follows at most IP6_EXT_MAX headers. A walk that reads their contents covers at most
 *    IP6_EXT_BYTES_MAX bytes in all and IP6_OPTIONS_MAX options per header. RFC 8504 5.3 lets a
 *    host set such limits and silently discard packets beyond them. We do not follow its SHOULDs
 *    that the limits be configurable and lengths unlimited by default: a packet from anyone must
 *    cost a bounded number of steps.
 *
 * Deliberately missing: jumbograms (RFC 2675: refused), routing headers (all types are unknown
 * here; RFC 5095 refuses type 0), AH and ESP (RFC 4302, 4303: unrecognised by the machine itself,
 * so refused with code 1), hop-by-hop options on forwarding (RFC 8200 4.3 lets a router ignore
 * them), flow labels of our own (0, RFC 6437 3), zone indices in addresses (RFC 4007: functions
 * take the port beside the address where it matters).
 */
#ifndef NET_IP6_H
#define NET_IP6_H

#include "lib/bytes.h"
#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/eth.h"

#define IP6_HLEN 40
#define IP6_MTU_MIN 1280 /* RFC 8200 5: minimum of every link */
#define IP6_HOP_LIMIT_DEFAULT 64
#define IP6_FRAGMENT_HLEN 8
#define IP6_PACKET_MAX (IP6_HLEN + 65535)

#define IP6_EXT_MAX 8
#define IP6_EXT_BYTES_MAX 512
#define IP6_OPTIONS_MAX 8 /* RFC 8504 5.3: the default; padding is not counted */
#define IP6_PADDING_MAX 7 /* RFC 8504 5.3: limit for Pad1 in a row and for the bytes of a PadN; here
                             for their sum */

/* Next Header: extension headers, and the headers that may follow them. */
enum ip6_next {
	IP6_HOP_BY_HOP = 0,
	IP6_TCP = 6,
	IP6_UDP = 17,
	IP6_ROUTING = 43,
	IP6_FRAGMENT = 44,
	IP6_ESP = 50,
	IP6_AH = 51,
	IP6_ICMP6 = 58,
	IP6_NO_NEXT = 59,
	IP6_DEST_OPTIONS = 60,
};

struct ip6_header {
	be32_t version_class_flow;
	be16_t payload_len;
	uint8_t next;
	uint8_t hop_limit;
	uint8_t src[16];
	uint8_t dst[16];
} __attribute__((packed));
_Static_assert(sizeof(struct ip6_header) == IP6_HLEN, "wire format");
_Static_assert(offsetof(struct ip6_header, dst) == 24, "wire format");

/* An address from four words in host order, usable as a constant: IP6(0x20010db8, 0, 0, 1) is
 * 2001:db8::1. */
#define IP6(a, b, c, d) \
	((struct net_addr){{BYTES_SWAP32((uint32_t)(a)), BYTES_SWAP32((uint32_t)(b)), \
	                    BYTES_SWAP32((uint32_t)(c)), BYTES_SWAP32((uint32_t)(d))}})
#define IP6_LOOPBACK IP6(0, 0, 0, 1)
#define IP6_ALL_NODES IP6(0xff020000, 0, 0, 1)           /* RFC 4291 2.7.1 */
#define IP6_ALL_ROUTERS IP6(0xff020000, 0, 0, 2)         /* the same */
#define IP6_ALL_MLD2_ROUTERS IP6(0xff020000, 0, 0, 0x16) /* RFC 3810 5.2.14 */

/* --- classes of addresses (RFC 4291 2.4) --- */

static inline bool ip6_is_loopback(const struct net_addr *a)
{
	return (a->w[0] | a->w[1] | a->w[2]) == 0 && a->w[3] == BYTES_SWAP32(1u);
}

static inline bool ip6_is_multicast(const struct net_addr *a)
{
	return be32_get((be32_t){a->w[0]}) >> 24 == 0xff;
}

/* RFC 4291 2.7: the scopes of multicast addresses that matter here, of 0 to 15. */
enum ip6_scope {
	IP6_SCOPE_INTERFACE = 1,
	IP6_SCOPE_LINK = 2,
};

static inline unsigned ip6_multicast_scope(const struct net_addr *a)
{
	return be32_get((be32_t){a->w[0]}) >> 16 & 15;
}

/* fe80::/10 (RFC 4291 2.5.6) */
static inline bool ip6_is_link_local(const struct net_addr *a)
{
	return be32_get((be32_t){a->w[0]}) >> 22 == 0xfe80 >> 6;
}

/* ip6_identifier: the last 64 bits of an address, in host order. ip6_link_local: the address in
 * fe80::/64 with that identifier. */
static inline uint64_t ip6_identifier(const struct net_addr *a)
{
	return (uint64_t)be32_get((be32_t){a->w[2]}) << 32 | be32_get((be32_t){a->w[3]});
}

static inline struct net_addr ip6_link_local(uint64_t identifier)
{
	return (struct net_addr)IP6(0xfe800000, 0, (uint32_t)(identifier >> 32), (uint32_t)identifier);
}

/* True for the address of a single interface: not unspecified, loopback, multicast or IPv4. */
static inline bool ip6_is_unicast(const struct net_addr *a)
{
	return !net_addr_is_any(a) && !ip6_is_loopback(a) && !ip6_is_multicast(a) &&
	       !net_addr_is_ip4(a);
}

/* The solicited-node group of an address: ff02::1:ff00:0/104 and its last 24 bits (RFC 4291
 * 2.7.1). */
static inline struct net_addr ip6_solicited_node(const struct net_addr *a)
{
	uint32_t low = be32_get((be32_t){a->w[3]}) & 0xffffff;
	return IP6(0xff020000, 0, 1, 0xff000000 | low);
}

static inline bool ip6_is_solicited_node(const struct net_addr *a)
{
	struct net_addr group = ip6_solicited_node(a);
	return net_addr_equal(a, &group);
}

/* The Ethernet address of a multicast group: 33:33 and its last four octets (RFC 2464 7). */
static inline void ip6_group_mac(uint8_t mac[ETH_ALEN], const struct net_addr *group)
{
	mac[0] = mac[1] = 0x33;
	raw32_store(mac + 2, group->w[3]);
}

/* --- prefixes and interface identifiers --- */

/* Bits 32 i to 32 i + 31 of the mask of a prefix of plen bits (0 to 128), in host order. */
static inline uint32_t ip6_mask_word(unsigned plen, unsigned i)
{
	unsigned bits = plen > 32 * i ? plen - 32 * i : 0;
	return bits == 0 ? 0 : bits >= 32 ? UINT32_MAX : UINT32_MAX << (32 - bits);
}

/* The first plen bits of an address, the rest 0. For a subnet's prefix this is the subnet-router
 * anycast address (RFC 4291 2.6.1), to which every router on the subnet answers. A /127 has none,
 * because both its addresses are hosts (RFC 6164 5), nor has a /128. */
static inline struct net_addr ip6_prefix_of(const struct net_addr *a, unsigned plen)
{
	struct net_addr out;
	for (unsigned i = 0; i < 4; i++)
		out.w[i] = a->w[i] & be32_make(ip6_mask_word(plen, i)).raw;
	return out;
}

/* True when a is in prefix/plen. */
static inline bool ip6_in_prefix(const struct net_addr *a, const struct net_addr *prefix,
                                 unsigned plen)
{
	uint32_t differ = 0;
	for (unsigned i = 0; i < 4; i++)
		differ |= (a->w[i] ^ prefix->w[i]) & be32_make(ip6_mask_word(plen, i)).raw;
	return differ == 0;
}

/* Is a the subnet-router anycast address of the subnet that addr/plen is in? */
static inline bool ip6_is_subnet_router(const struct net_addr *a, const struct net_addr *addr,
                                        unsigned plen)
{
	struct net_addr anycast = ip6_prefix_of(addr, plen);
	return plen < 127 && net_addr_equal(a, &anycast);
}

/* The address with a 64-bit prefix and a station's modified EUI-64 identifier (RFC 4291 appendix A,
 * RFC 2464 4): universal/local bit inverted, ff:fe in the middle. */
static inline struct net_addr ip6_eui64(const struct net_addr *prefix, const uint8_t mac[ETH_ALEN])
{
	uint8_t id[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
	return (struct net_addr){{prefix->w[0], prefix->w[1], raw32_load(id), raw32_load(id + 4)}};
}

/* fe80::/64 with that identifier (RFC 2464 5) */
static inline struct net_addr ip6_link_local_of(const uint8_t mac[ETH_ALEN])
{
	return ip6_eui64(&IP6(0xfe800000, 0, 0, 0), mac);
}

/* --- the header --- */

static inline unsigned ip6_version(const uint8_t *ip) { return ip[0] >> 4; }
static inline unsigned ip6_payload_len(const uint8_t *ip) { return be16_load(ip + 4); }
static inline unsigned ip6_total_len(const uint8_t *ip) { return IP6_HLEN + ip6_payload_len(ip); }
static inline uint8_t ip6_next(const uint8_t *ip) { return ip[6]; }
static inline uint8_t ip6_hop_limit(const uint8_t *ip) { return ip[7]; }
static inline struct net_addr ip6_src(const uint8_t *ip) { return net_addr_load(ip + 8); }
static inline struct net_addr ip6_dst(const uint8_t *ip) { return net_addr_load(ip + 24); }

static inline uint8_t ip6_traffic_class(const uint8_t *ip)
{
	return (uint8_t)(be16_load(ip) >> 4);
}

/* Decrement requires a hop limit above 1 (RFC 8200 3): the caller has checked that the packet does
 * not expire here. */
static inline void ip6_hop_limit_set(uint8_t *ip, uint8_t limit) { ip[7] = limit; }
static inline void ip6_hop_limit_decrement(uint8_t *ip) { ip[7]--; }

/* ip6_check with every step in order, to determine the reason. */
enum counter ip6_check_slow(const uint8_t *ip, unsigned avail);

/*
 * Validates the IPv6 header at ip, of which avail bytes are there. Bytes beyond the total length
 * are allowed as Ethernet padding. Order of checks: length, version, payload length (a jumbogram
 * has 0, followed by hop-by-hop options), then addresses that are invalid on a link:
 *
 *   - a multicast source (RFC 4291 2.7)
 *   - as destination the unspecified address (2.5.2), or a group of reserved or interface scope
 *     (2.7)
 *   - as either one loopback (2.5.3) or IPv4-mapped (RFC 4942 2.2: it could be confused with IPv4
 *     internally)
 *
 * An unspecified source passes: neighbour discovery uses it. Returns CNT_NONE if the packet may
 * proceed, otherwise the CNT_drop_ip6_* to count.
 *
 * The inline part accepts the common packet: with payload, unicast, without special addresses (all
 * of those begin with 64 zero bits).
 */
static inline enum counter ip6_check(const uint8_t *ip, unsigned avail)
{
	if (unlikely(avail < IP6_HLEN))
		return CNT_drop_ip6_short;
	unsigned payload = ip6_payload_len(ip);
	bool odd = ip6_version(ip) != 6 || payload == 0 || payload > avail - IP6_HLEN;
	odd |= ip[8] == 0xff || ip[24] == 0xff;
	odd |= raw64_load(ip + 8) == 0 || raw64_load(ip + 24) == 0;
	return unlikely(odd) ? ip6_check_slow(ip, avail) : CNT_NONE;
}

/* ip6_check_forward with every step, to determine the reason. */
enum counter ip6_check_forward_slow(const uint8_t *ip);

/*
 * Additional checks of a router for packets to others: the source is not unspecified (RFC 4291
 * 2.5.2), the destination is not a group (multicast is not routed), and neither is link-local
 * (2.5.6). Returns CNT_NONE, CNT_drop_ip6_src_martian, CNT_drop_ip6_multicast or
 * CNT_drop_ip6_scope. For the latter, RFC 4443 3.1 requires "beyond scope of source address" if
 * only the source is link-local (ICMP6_UNREACH_SCOPE, on the link it came from).
 */
static inline enum counter ip6_check_forward(const uint8_t *ip)
{
	/* link-local, multicast and site-local (deprecated, RFC 3879: treated as unicast) begin
	 * with seven ones */
	bool odd = (ip[8] & 0xfe) == 0xfe || (ip[24] & 0xfe) == 0xfe || raw64_load(ip + 8) == 0;
	return unlikely(odd) ? ip6_check_forward_slow(ip) : CNT_NONE;
}

/* --- extension headers --- */

/* Result of ip6_upper. */
struct ip6_upper {
	uint8_t proto;          /* the upper-layer protocol; in a later fragment the first header of
	                           the fragmented part */
	bool fragment;          /* there is a fragment header */
	bool more;              /* its M flag */
	bool atomic;            /* the packet is its only fragment (RFC 6946) */
	bool router_alert;      /* RFC 2711; its value is `alert` */
	bool problem;           /* a parameter problem is due, if icmp6_error_allowed */
	uint8_t problem_code;   /* enum icmp6_param_problem */
	uint16_t alert;
	uint32_t problem_pointer;
	unsigned at;            /* octet of the packet where proto begins */
	unsigned next_at;       /* octet that names proto: the pointer for "unrecognised next
	                           header" if proto has no receiver */
	unsigned fragment_at;   /* fragment: octet of its header */
	unsigned fragment_next_at; /* fragment: octet of the Next Header field that names it */
	unsigned offset;        /* fragment: its offset in the fragmented part, bytes */
	uint32_t id;            /* host order */
};

/*
 * Walks the extension headers of a packet to the machine itself, as its destination does (RFC 8200
 * 4). Returns CNT_NONE with *out filled in, or the counter of the drop. out->problem then tells
 * whether a parameter problem is due:
 *
 *     CNT_drop_ip6_ext_malformed   a header or option longer than its container (code 0)
 *     CNT_drop_ip6_ext_limit       beyond invariant 2, padding beyond RFC 8504 5.3, a second
 *                                  fragment header; no answer
 *     CNT_drop_ip6_option          unknown option that must not be skipped (RFC 8200 4.2; code 2 as
 *                                  its two high bits require)
 *     CNT_drop_ip6_routing         segments are left (RFC 8200 4.4, RFC 5095 3; code 0)
 *     CNT_drop_ip6_first_fragment  first fragment without the whole header chain (RFC 7112 5;
 *                                  code 3)
 *     CNT_drop_ip6_proto           hop-by-hop options not in first place (RFC 8200 4; code 1), or
 *                                  no next header (4.7; no answer)
 *
 * The chain of a first fragment is also walked and limited, so a packet reassembled from accepted
 * fragments has no second fragment header. A later fragment is walked as far as its fragment
 * header.
 */
enum counter ip6_upper(const uint8_t *ip, struct ip6_upper *out);

/* Result of ip6_find_upper. */
struct ip6_found {
	uint8_t proto;   /* the upper-layer protocol; where `at` is 0, the header that could not be
	                    followed (truncated or one too many), or the protocol named by a later
	                    fragment's header */
	uint16_t offset; /* bytes, in a later fragment; else 0 */
	unsigned at;     /* octet where it begins, at most the length; 0: unknown */
};

/*
 * Finds the upper layer of a packet that this machine does not validate: one quoted in an ICMP
 * error, or one in transit that a filter examines or an error is sent about. len bytes are there;
 * the packet may be truncated anywhere and need not have passed a check. Walks over every extension
 * header, including AH (RFC 4302 2.2) and a fragment header of offset 0.
 */
void ip6_find_upper(const uint8_t *ip, unsigned len, struct ip6_found *out);

/* Short form of ip6_find_upper: returns `at`, and *proto. */
static inline unsigned ip6_skip_extensions(const uint8_t *ip, unsigned len, uint8_t *proto)
{
	struct ip6_found found;
	ip6_find_upper(ip, len, &found);
	*proto = found.proto;
	return found.at;
}

/* Writes hop-by-hop options with a router alert for MLD (RFC 2711 2.1, RFC 3810 5) and two bytes of
 * padding. They stand between the IPv6 header, whose next header is IP6_HOP_BY_HOP, and `next`. */
#define IP6_ROUTER_ALERT_HLEN 8
#define IP6_ALERT_MLD 0
void ip6_router_alert_build(uint8_t *ext, uint8_t next, uint16_t alert);

/* --- building --- */

struct ip6_build {
	struct net_addr src, dst;
	uint16_t payload_len; /* including extension headers */
	uint8_t traffic_class, next, hop_limit;
};

/* Writes the 40 bytes of a header, flow label 0. */
void ip6_header_build(uint8_t *ip, const struct ip6_build *b);

/*
 * Fragmentation by the source (RFC 8200 4.5): only our own packets. The source packet stays the
 * caller's and must not change until the last ip6_frag_next.
 */
struct ip6_frag {
	const uint8_t *ip;
	unsigned head_len;     /* IPv6 header and hop-by-hop options: repeated in each fragment */
	unsigned next_at;      /* octet of these headers that names the next one */
	unsigned data_len;     /* bytes after these headers */
	unsigned done;         /* bytes of these already sent */
	unsigned mtu;
	uint32_t id;
	bool ended;
};

/*
 * Prepares to fragment the packet at ip into fragments of at most mtu bytes. A packet that fits the
 * mtu is returned unchanged. id, in host order, must not repeat for the pair of addresses within a
 * minute and should not be guessable (RFC 7739). E_INVAL: mtu has no room for the headers and 8
 * bytes, the hop-by-hop header is malformed, or there is a routing or fragment header, which we
 * never build; ip6_frag_next then returns 0.
 */
int ip6_frag_init(struct ip6_frag *it, const uint8_t *ip, unsigned mtu, uint32_t id);

/*
 * Writes the next fragment, a complete IPv6 packet, to out, which has `room` bytes and does not
 * overlap the source. Returns its length; 0: none is left, or it does not fit.
 */
unsigned ip6_frag_next(struct ip6_frag *it, uint8_t *out, unsigned room);

#endif
