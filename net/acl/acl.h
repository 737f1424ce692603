/*
 * Packet filters: an ordered list of rules (an access list), compiled into a table that says of
 * each packet of a vector which rule is the first to match. What follows from that, dropping,
 * answering, counting, is the caller's.
 *
 * How. Each rule asks for a range of values in each of some words of a packet's header: of IPv4's
 * addresses, ports and kind, of IPv6 four words an address. The ends of the ranges of all rules cut
 * the values of a word into intervals, and for each interval there is a vector with a bit for every
 * rule that takes it (Lakshman and Stiliadis, "High-Speed Policy-based Packet Forwarding Using
 * Efficient Multi-dimensional Range Matching", SIGCOMM 1998). A look-up finds the interval of each
 * word in a tree, and the first bit that all their vectors have is the answer. A vector is summed up
 * in 64 bits, which say in which parts of it there is something, so few are read (Baboescu and
 * Varghese, "Scalable Packet Classification", SIGCOMM 2001). The cost grows with the logarithm of
 * the number of rules and, slowly, with the rules that match in all words but one.
 *
 * A list is asked in one of several ways (enum acl_path), by the vector instructions that the
 * machine has; all give the same answers. net/ does not ask the machine: hal/vector.h does.
 *
 * 1. A table does not change once it is made. To replace it is to store one pointer; its memory is
 *    free when every reader has passed a quiescent point (ARCHITECTURE.md, invariant 2).
 * 2. Readers need the table at the address at which it was made.
 * 3. No packet that ip4_check or ip6_check has passed is read beyond its length.
 * 4. A packet whose ports cannot be told matches no rule (ACL_UNDETERMINED): a first fragment or a
 *    whole packet that ends within its transport header, IPv6 headers that do not come to an end
 *    within IP6_EXT_MAX of them, and a later fragment of TCP that would be put over the flags of
 *    its first one (RFC 1858 3, RFC 3128 2: offset 1). So no list lets it pass.
 *
 * Later fragments have no ports. They are judged as operators know it of IOS: by addresses and
 * protocol; a permit that asks for more of the transport header lets them pass, for without their
 * first fragment, which it judges whole, they are nothing to a host; a deny that asks for more does
 * not stop them. `fragments` of a rule is for them alone.
 *
 * Missing on purpose: state (no list knows connections: `established` is a look at flags), and
 * extension headers of IPv6 as something to match (RFC 7045 2.1: they are walked over; one that is
 * unknown ends the walk and is the protocol).
 */
#ifndef NET_ACL_ACL_H
#define NET_ACL_ACL_H

#include "lib/types.h"
#include "net/addr.h"

#define ACL_RULES_MAX 16384

/* An inclusive range of ports. */
struct acl_ports {
	uint16_t first, last;
};
#define ACL_ANY_PORT ((struct acl_ports){0, 65535})

enum acl_tcp_flag {
	ACL_FIN = 1,
	ACL_SYN = 2,
	ACL_RST = 4,
	ACL_PSH = 8,
	ACL_ACK = 16,
	ACL_URG = 32,
	ACL_ECE = 64,
	ACL_CWR = 128,
};

struct acl_rule {
	struct net_addr src, dst;    /* no bit set behind the length */
	uint8_t src_plen, dst_plen;  /* of 128 bits: IPv4's are 96 more (net/addr.h) */
	bool permit;
	bool any_proto;
	uint8_t proto;               /* unless any_proto */
	bool fragments;              /* later fragments alone: then it asks for nothing below */
	bool established;            /* TCP with ACK or RST */
	uint8_t flags_mask, flags_value; /* TCP's: of those in the mask, these are set */
	struct acl_ports src_port, dst_port; /* ICMP's type and code are its destination port:
	                                        type << 8 | code */
};

struct acl;

/* Ways of asking. ACL_AVX512 wants AVX-512 F and DQ; both are of x86-64 alone. */
enum acl_path {
	ACL_SCALAR,
	ACL_AVX2,
	ACL_AVX512,
	ACL_PATHS,
};

/* The fastest where vectors have so many bits (hal/vector.h: 512, 256, or less). */
static inline enum acl_path acl_path_for(unsigned vector_bits)
{
	return vector_bits >= 512 ? ACL_AVX512 : vector_bits >= 256 ? ACL_AVX2 : ACL_SCALAR;
}

/* What acl_classify says of a packet that no rule matches: the number of rules and this. */
enum acl_other {
	ACL_NO_RULE,      /* denied, as every list ends */
	ACL_UNDETERMINED, /* invariant 4 */
	ACL_OTHERS,
};

/* Bytes that acl_compile needs for its work on that many rules. */
size_t acl_scratch_bytes(uint32_t rules);

/*
 * Compiles rules (1 to ACL_RULES_MAX) for IPv6, or for IPv4, to be asked in the way `path`. The table lies in the caller's memory,
 * 64-byte aligned, of which it takes *used bytes; the scratch is 8-byte aligned and the caller's
 * again. E_NOMEM: the table is larger than that. How large depends on how the rules differ:
 * docs/performance.md has figures.
 */
int acl_compile(const struct acl_rule *rule, uint32_t rules, bool six, enum acl_path path,
                void *mem, size_t bytes, void *scratch, const struct acl **out, size_t *used);

/* A table of so many bytes (*used) once more, in memory of as many, 64-byte aligned. */
const struct acl *acl_copy(const struct acl *a, size_t bytes, void *mem);

/* rule[i] = number of the first rule that matches the packet at ip[i], which has passed ip4_check
 * or ip6_check; or one of enum acl_other behind the last rule. */
void acl_classify(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n);

/* Does the packet pass? rule: what acl_classify said. */
bool acl_permits(const struct acl *a, uint32_t rule);

/* Of the list it was made of. */
uint32_t acl_rule_count(const struct acl *a);

#endif
