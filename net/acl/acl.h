/*
 * Packet filters: an ordered list of rules (an access list), compiled into a table that gives, for
 * each packet of a vector, the first rule that matches. The caller drops, answers and counts.
 *
 * Algorithm. Each rule selects a range of values in some words of a packet's header: for IPv4 the
 * addresses, ports and kind, for IPv6 four words per address. The ends of all rules' ranges divide
 * the values of a word into intervals. Each interval has a vector with a bit for every rule that
 * accepts it (Lakshman and Stiliadis, "High-Speed Policy-based Packet Forwarding Using Efficient
 * Multi-dimensional Range Matching", SIGCOMM 1998). A look-up finds the interval of each word in a
 * tree; the first bit set in all their vectors is the answer. A 64-bit summary of each vector tells
 * which parts of it are not empty, so few are read (Baboescu and Varghese, "Scalable Packet
 * Classification", SIGCOMM 2001). The cost grows with the logarithm of the number of rules and,
 * slowly, with the number of rules that match in all words but one.
 *
 * A list is searched on one of several paths (enum acl_path), according to the machine's vector
 * instructions. All give the same answers. hal/vector.h, not net/, examines the machine.
 *
 * 1. A finished table does not change. It is replaced by storing one pointer; its memory is free
 *    when every reader has passed a quiescent point (ARCHITECTURE.md, invariant 2).
 * 2. Readers need the table at the address where it was made.
 * 3. A packet that has passed ip4_check or ip6_check is not read beyond its length.
 * 4. A packet whose ports cannot be determined matches no rule (ACL_UNDETERMINED), so no list
 *    permits it:
 *
 *    - a first fragment or a whole packet that ends within its transport header
 *    - IPv6 headers that do not end within IP6_EXT_MAX of them
 *    - a later TCP fragment that would overwrite the flags of the first one (RFC 1858 3, RFC 3128
 *      2: offset 1)
 *
 * Later fragments have no ports. They are matched as in IOS, by addresses and protocol. A permit
 * that also matches on the transport header lets them pass: a host cannot use them without the
 * first fragment, which the permit checks completely. A deny that also matches on the transport
 * header does not stop them. A rule with `fragments` matches only them.
 *
 * Deliberately missing: state (no list tracks connections: `established` only checks flags), and
 * matching IPv6 extension headers. They are skipped (RFC 7045 2.1); an unknown one ends the chain
 * and counts as the protocol.
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
	struct net_addr src, dst;    /* no bit after the prefix length is set */
	uint8_t src_plen, dst_plen;  /* of 128 bits: add 96 for IPv4 (net/addr.h) */
	bool permit;
	bool any_proto;
	uint8_t proto;               /* unless any_proto */
	bool fragments;              /* matches later fragments only; then nothing below may be
	                                set */
	bool established;            /* TCP with ACK or RST */
	uint8_t flags_mask, flags_value; /* TCP flags: those in the mask must equal the value */
	struct acl_ports src_port, dst_port; /* for ICMP, the destination port is type << 8 |
	                                        code */
};

struct acl;

/* Search paths. ACL_AVX512 needs AVX-512 F and DQ; both vector paths exist on x86-64 only. */
enum acl_path {
	ACL_SCALAR,
	ACL_AVX2,
	ACL_AVX512,
	ACL_PATHS,
};

/* The fastest path for this vector width (hal/vector.h: 512, 256, or less). */
static inline enum acl_path acl_path_for(unsigned vector_bits)
{
	return vector_bits >= 512 ? ACL_AVX512 : vector_bits >= 256 ? ACL_AVX2 : ACL_SCALAR;
}

/* Results of acl_classify without a matching rule: the number of rules plus one of these. */
enum acl_other {
	ACL_NO_RULE,      /* denied, by the implicit end of every list */
	ACL_UNDETERMINED, /* invariant 4 */
	ACL_OTHERS,
};

/* Bytes of scratch memory that acl_compile needs for this many rules. */
size_t acl_scratch_bytes(uint32_t rules);

/*
 * Compiles rules (1 to ACL_RULES_MAX) for IPv6 or IPv4, to be searched on `path`. The table lies in
 * the caller's memory, 64-byte aligned, and takes *used bytes of it. The scratch is 8-byte aligned
 * and free again after the call. E_NOMEM: the table does not fit. Its size depends on how the rules
 * differ; see docs/performance.md for figures.
 */
int acl_compile(const struct acl_rule *rule, uint32_t rules, bool six, enum acl_path path,
                void *mem, size_t bytes, void *scratch, const struct acl **out, size_t *used);

/* Copies a table of `bytes` (*used) into memory of the same size, 64-byte aligned. */
const struct acl *acl_copy(const struct acl *a, size_t bytes, void *mem);

/* rule[i] = number of the first rule that matches the packet at ip[i], which has passed ip4_check
 * or ip6_check. Without a match: the number of rules plus one of enum acl_other. */
void acl_classify(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n);

/* Does the packet pass? rule: the result of acl_classify. */
bool acl_permits(const struct acl *a, uint32_t rule);

/* The first of n packets, from packet i on, that does not pass; n: all pass. */
unsigned acl_permits_from(const struct acl *a, const uint32_t *rule, unsigned n, unsigned i);

/* The number of rules in the list. */
uint32_t acl_rule_count(const struct acl *a);

#endif
