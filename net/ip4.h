/*
 * IPv4 (RFC 791) for a router (RFC 1812): validation on reception, TTL, building headers,
 * fragmentation. Addresses are uint32_t in host order; packets are bytes of any alignment.
 *
 * Invariant: every function but ip4_check, ip4_check_slow and ip4_options_error takes a packet that
 * ip4_check has passed: header and total length lie within the buffer, and the options are well
 * formed.
 *
 * Deliberately missing: reassembly (a router forwards fragments; net/reassembly.h handles those for
 * the router itself), source routing (dropped, as RFC 1812 5.3.13.4 permits and RFC 7126
 * recommends).
 */
#ifndef NET_IP4_H
#define NET_IP4_H

#include "lib/bytes.h"
#include "lib/csum.h"
#include "lib/types.h"
#include "net/counters.h"

#define IP4_HLEN 20     /* without options */
#define IP4_HLEN_MAX 60
#define IP4_TTL_DEFAULT 64

#define IP4_FLAG_DF 0x4000
#define IP4_FLAG_MF 0x2000
#define IP4_OFFSET_MASK 0x1fff /* units of 8 bytes */

#define IP4_TOS_INTERNET_CONTROL 0xc0 /* precedence 6 */

enum ip4_proto {
	IP4_PROTO_ICMP = 1,
	IP4_PROTO_TCP = 6,
	IP4_PROTO_UDP = 17,
	IP4_PROTO_SCTP = 132, /* RFC 9260 */
};

struct ip4_header {
	uint8_t version_ihl;
	uint8_t tos;
	be16_t total_len;
	be16_t id;
	be16_t flags_offset;
	uint8_t ttl;
	uint8_t proto;
	be16_t checksum;
	be32_t src;
	be32_t dst;
} __attribute__((packed));
_Static_assert(sizeof(struct ip4_header) == IP4_HLEN, "wire format");
_Static_assert(offsetof(struct ip4_header, dst) == 16, "wire format");

#define IP4(a, b, c, d) \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))
#define IP4_BROADCAST 0xffffffffu

/* Netmask of a prefix length 0..32. */
static inline uint32_t ip4_prefix_mask(unsigned plen)
{
	return plen == 0 ? 0 : UINT32_MAX << (32 - plen);
}

/* True when addr is in prefix/plen. */
static inline bool ip4_in_prefix(uint32_t addr, uint32_t prefix, unsigned plen)
{
	return ((addr ^ prefix) & ip4_prefix_mask(plen)) == 0;
}

/* The directed broadcast address of addr's subnet. /31 and /32 have none (RFC 3021); for them it
 * returns the limited broadcast. */
static inline uint32_t ip4_subnet_broadcast(uint32_t addr, unsigned plen)
{
	return plen >= 31 ? IP4_BROADCAST : addr | ~ip4_prefix_mask(plen);
}

/* True for a host address: neither the first nor the last of its subnet; for /31 and /32 any (RFC
 * 3021). */
static inline bool ip4_is_subnet_host(uint32_t addr, unsigned plen)
{
	uint32_t host_bits = ~ip4_prefix_mask(plen);
	return plen >= 31 || ((addr & host_bits) != 0 && (addr & host_bits) != host_bits);
}

static inline bool ip4_is_multicast(uint32_t addr) { return addr >> 28 == 0xe; }

/* Never the address of a host on a network: 0/8, 127/8, 240/4 with the limited broadcast (RFC 1122
 * 3.2.1.3, RFC 1812 5.3.7). Multicast is not included. */
static inline bool ip4_is_martian(uint32_t addr)
{
	uint32_t top = addr >> 24;
	return top == 0 || top == 127 || top >= 240;
}

/* RFC 1812 5.3.7: invalid source address of any packet (martian or multicast). */
static inline bool ip4_src_is_martian(uint32_t src)
{
	uint32_t top = src >> 24;
	return top == 0 || top == 127 || top >= 224;
}

/* Invalid destination address. The limited broadcast is valid, for the machine itself. */
static inline bool ip4_dst_is_martian(uint32_t dst)
{
	return ip4_is_martian(dst) && dst != IP4_BROADCAST;
}

static inline unsigned ip4_header_len(const uint8_t *ip) { return (ip[0] & 15u) * 4; }
static inline unsigned ip4_total_len(const uint8_t *ip) { return be16_load(ip + 2); }
static inline uint8_t ip4_ttl(const uint8_t *ip) { return ip[8]; }
static inline uint8_t ip4_proto(const uint8_t *ip) { return ip[9]; }
static inline uint32_t ip4_src(const uint8_t *ip) { return be32_load(ip + 12); }
static inline uint32_t ip4_dst(const uint8_t *ip) { return be32_load(ip + 16); }

/* True for any fragment, including the first. */
static inline bool ip4_is_fragment(const uint8_t *ip)
{
	return be16_load(ip + 6) & (IP4_FLAG_MF | IP4_OFFSET_MASK);
}

static inline bool ip4_dont_fragment(const uint8_t *ip) { return ip[6] & (IP4_FLAG_DF >> 8); }

/* ip4_check with every step in order, to determine the reason. */
enum counter ip4_check_slow(const uint8_t *ip, unsigned avail);

/*
 * Validates the IPv4 packet at ip, of which avail bytes are there (RFC 1812 5.2.2 and 5.3.7). Bytes
 * beyond the total length are allowed as Ethernet padding. Order of checks: length, version, header
 * length, total length, header checksum, source and destination martians, options. A packet refused
 * as CNT_drop_ip4_options is thus valid except for its options, and the functions here may be used
 * on it. Options must be well formed; LSRR and SSRR are refused, all others pass unchanged. Returns
 * CNT_NONE if the packet may proceed, otherwise the CNT_drop_ip4_* to count.
 *
 * The inline part accepts only a correct common packet (no options, no broadcast) and leaves all
 * others to the slow part. Forwarding thus needs neither a call nor eight branches.
 */
static inline enum counter ip4_check(const uint8_t *ip, unsigned avail)
{
	if (unlikely(avail < IP4_HLEN || ip[0] != 0x45))
		return ip4_check_slow(ip, avail);
	uint64_t sum = csum_add64(raw64_load(ip), raw64_load(ip + 8));
	unsigned total = ip4_total_len(ip);
	if (unlikely(total < IP4_HLEN || total > avail ||
	             !csum_is_right64(csum_add64(sum, raw32_load(ip + 16))) ||
	             ip4_src_is_martian(ip4_src(ip)) || ip4_is_martian(ip4_dst(ip))))
		return ip4_check_slow(ip, avail);
	return CNT_NONE;
}

/*
 * The octet of the header where its options are invalid, for the pointer of a parameter problem
 * (RFC 792): a length below 2 or beyond the header, a type without room for its length, or the type
 * of a source route. 0: no error. The complete header must be present.
 */
unsigned ip4_options_error(const uint8_t *ip);

/* Information about us for options of a forwarded packet. */
struct ip4_passage {
	uint32_t addr;    /* of the outgoing interface */
	uint32_t time_ms; /* from any starting point */
	bool (*is_ours)(uint32_t addr); /* true for our address on any interface */
};

/* Fills in the record route and timestamp options of a packet where they have room (RFC 1812
 * 5.3.13.5, 5.3.13.6; RFC 791 3.1), and recomputes the checksum. A timestamp without room is
 * counted in its option, up to 15. A malformed option is not changed. */
void ip4_options_fill(uint8_t *ip, const struct ip4_passage *at);

/* Decrements the TTL, which must not be 0, and updates the checksum (RFC 1624). The caller has
 * checked that the packet does not expire here: RFC 1812 5.3.1, TTL > 1. */
static inline void ip4_ttl_decrement(uint8_t *ip)
{
	/*
	 * Decrementing the TTL word increments the checksum, with end-around carry, and never
	 * yields 0xffff (RFC 1624 3: the other zero). One load and one store cover TTL, protocol
	 * and checksum, because reading back a recent store in another width stalls until all
	 * earlier stores are done. Little-endian order is equally valid for a sum (RFC 1071 2(B)).
	 * The TTL is then the lowest byte, and above 0, so nothing is borrowed. The checksum is the
	 * upper half, so its carry leaves the word.
	 */
	const uint32_t ttl_one = 1, sum_one = 1u << 16, all_but_one = 0xfffeu << 16;
	uint32_t word = le32_load(ip + 8);
	le32_store(ip + 8, word - ttl_one + sum_one + (word >= all_but_one ? sum_one : 0));
}

/* Recomputes the header checksum. */
void ip4_checksum_set(uint8_t *ip);

/* The header of a packet to build. */
struct ip4_build {
	uint32_t src, dst;
	uint16_t payload_len; /* the total length is 20 more and must be <= 65535 */
	uint16_t id;          /* may be 0 with df (RFC 6864 4.1: atomic datagram) */
	uint8_t tos, ttl, proto;
	bool df;
};

/* Writes the 20 bytes of a header without options, checksum included. */
void ip4_header_build(uint8_t *ip, const struct ip4_build *b);

/*
 * Fragmentation (RFC 791 3.2, RFC 1812 4.2.2.7). The source packet stays the caller's and must
 * not change until the last ip4_frag_next.
 */
struct ip4_frag {
	const uint8_t *ip;
	unsigned header_len;  /* of the source packet */
	unsigned data_len;    /* payload bytes of the source packet */
	unsigned done;        /* payload bytes already sent */
	unsigned mtu;
	bool ended;
	unsigned later_len;   /* header of the second and later fragments */
	uint8_t later[IP4_HLEN_MAX];
};

/*
 * Prepares to fragment the packet at ip (checked) into fragments of at most mtu bytes. A packet
 * that fits the mtu is returned unchanged. E_INVAL: DF is set, mtu has no room for the header and 8
 * bytes, or the packet is itself a fragment that ends beyond 65535 (count drop_ip4_total_len);
 * ip4_frag_next then returns 0.
 */
int ip4_frag_init(struct ip4_frag *it, const uint8_t *ip, unsigned mtu);

/*
 * Writes the next fragment, a complete IP packet, to out, which has `room` bytes and does not
 * overlap the source. Returns its length; 0: none is left, or it does not fit.
 */
unsigned ip4_frag_next(struct ip4_frag *it, uint8_t *out, unsigned room);

#endif
