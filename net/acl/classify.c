/* Classifies packets by an access list: read.h and search.h, on one of the paths, read their words
 * and find the rules. Here are the words of packets that read.h cannot read in lanes. See acl.h and
 * inside.h. */
#include "net/acl/inside.h"

#include "lib/bytes.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define TCP_LEAST 20 /* bytes of a TCP header without options */
#define SCTP_LEAST 12u

/* The part of a transport header that is matched, by protocol. */
enum transport {
	TRANSPORT_OTHER,
	TRANSPORT_PORTS,
	TRANSPORT_TCP,
	TRANSPORT_ICMP4, /* ICMP of IPv4; the next is of IPv6 */
	TRANSPORT_ICMP6,
	TRANSPORTS,
};

static const uint8_t transport_of[256] = {
	[IP4_PROTO_TCP] = TRANSPORT_TCP,    [IP4_PROTO_UDP] = TRANSPORT_PORTS,
	[IP4_PROTO_SCTP] = TRANSPORT_PORTS,     [IP4_PROTO_ICMP] = TRANSPORT_ICMP4,
	[IP6_ICMP6] = TRANSPORT_ICMP6,
};

/* How to build the words: the header bits to keep, and the bits to set. */
struct recipe {
	uint32_t src_keep, src_set;
	uint32_t dst_shift, dst_keep, dst_set;
	uint32_t proto_keep, flags_keep, kind_set;
	uint32_t least; /* bytes of the header that must be present */
};

#define NO_PORT ACL_PORT_NONE
#define RECIPE_OTHER {0, NO_PORT, 0, 0, NO_PORT, 0xff, 0, ACL_KIND_PROTO, 0}
#define RECIPE_PORTS(least) {0xffff, 0, 0, 0xffff, 0, 0xff, 0, ACL_KIND_PROTO, least}
#define RECIPE_TCP {0xffff, 0, 0, 0xffff, 0, 0, 0xff, ACL_KIND_TCP, TCP_LEAST}
#define RECIPE_ICMP {0, NO_PORT, 16, 0xffff, 0, 0xff, 0, ACL_KIND_PROTO, 4}

/* The other IP version's ICMP is treated as any protocol. */
static const struct recipe recipes[2][TRANSPORTS] = {
	{RECIPE_OTHER, RECIPE_PORTS(8), RECIPE_TCP, RECIPE_ICMP, RECIPE_OTHER},
	{RECIPE_OTHER, RECIPE_PORTS(8), RECIPE_TCP, RECIPE_OTHER, RECIPE_ICMP},
};

static void set_transport(struct acl_keys *k, unsigned i, uint32_t port, uint32_t kind)
{
	k->word[ACL_SRC_PORT][i] = k->word[ACL_DST_PORT][i] = (int32_t)port;
	k->word[ACL_KIND][i] = (int32_t)kind;
	k->undetermined |= kind == ACL_KIND_UNDETERMINED;
}

/* ports: the first four bytes of the header, in host order. */
static void set_by(const struct recipe *r, struct acl_keys *k, unsigned i, uint8_t proto,
                          uint32_t ports, uint32_t flags)
{
	k->word[ACL_SRC_PORT][i] = (int32_t)((ports >> 16 & r->src_keep) | r->src_set);
	k->word[ACL_DST_PORT][i] = (int32_t)((ports >> r->dst_shift & r->dst_keep) | r->dst_set);
	k->word[ACL_KIND][i] = (int32_t)((proto & r->proto_keep) + (flags & r->flags_keep) + r->kind_set);
}

/* Reads a transport header of len bytes, fewer than the longest recipe needs. */
static __attribute__((noinline)) void read_short(struct acl_keys *k, unsigned i, uint8_t proto,
                                                 bool six, const uint8_t *l4, unsigned len)
{
	const struct recipe *r = &recipes[six][transport_of[proto]];
	if (len < (proto == IP4_PROTO_SCTP ? SCTP_LEAST : r->least))
		set_transport(k, i, ACL_PORT_NONE, ACL_KIND_UNDETERMINED);
	else
		set_by(r, k, i, proto, r->least ? be32_load(l4) : 0, 0);
}

/* Reads the transport header l4, of len bytes, of a packet or first fragment. */
static void read_transport(struct acl_keys *k, unsigned i, uint8_t proto, bool six,
                                  const uint8_t *l4, unsigned len)
{
	if (unlikely(len < TCP_LEAST))
		read_short(k, i, proto, six, l4, len);
	else
		set_by(&recipes[six][transport_of[proto]], k, i, proto, be32_load(l4), l4[13]);
}

/* A later fragment, which begins at byte `offset` of its packet. */
static void read_later(struct acl_keys *k, unsigned i, uint8_t proto, unsigned offset)
{
	bool over_flags = proto == IP4_PROTO_TCP && offset == 8; /* RFC 1858 3.2.2 */
	set_transport(k, i, ACL_PORT_LATER,
	              over_flags ? (uint32_t)ACL_KIND_UNDETERMINED : (uint32_t)ACL_KIND_LATER + proto);
}

static void read4(struct acl_keys *k, unsigned i, const uint8_t *ip)
{
	unsigned header = ip4_header_len(ip), offset = (be16_load(ip + 6) & IP4_OFFSET_MASK) * 8u;
	k->word[ACL_SRC + 3][i] = acl_address_key(ip4_src(ip));
	k->word[ACL_DST + 3][i] = acl_address_key(ip4_dst(ip));
	if (unlikely(offset))
		read_later(k, i, ip4_proto(ip), offset);
	else
		read_transport(k, i, ip4_proto(ip), false, ip + header, ip4_total_len(ip) - header);
}

/* The upper layer follows extension headers, or is a protocol without a recipe. */
static __attribute__((noinline)) void read6_far(struct acl_keys *k, unsigned i, const uint8_t *ip,
                                                unsigned len)
{
	struct ip6_found f;
	ip6_find_upper(ip, len, &f);
	if (f.at)
		read_transport(k, i, f.proto, true, ip + f.at, len - f.at);
	else if (f.offset)
		read_later(k, i, f.proto, f.offset);
	else
		set_transport(k, i, ACL_PORT_NONE, ACL_KIND_UNDETERMINED);
}

static void read6(struct acl_keys *k, unsigned i, const uint8_t *ip)
{
	const unsigned len = ip6_total_len(ip);
	UNROLL
	for (unsigned w = 0; w < 4; w++) {
		k->word[ACL_SRC + w][i] = acl_address_key(be32_load(ip + 8 + 4 * w));
		k->word[ACL_DST + w][i] = acl_address_key(be32_load(ip + 24 + 4 * w));
	}
	if (likely(recipes[true][transport_of[ip6_next(ip)]].least))
		read_transport(k, i, ip6_next(ip), true, ip + IP6_HLEN, len - IP6_HLEN);
	else
		read6_far(k, i, ip, len);
}

void acl_read(const struct acl *a, struct acl_keys *k, unsigned i, const uint8_t *ip)
{
	if (a->six)
		read6(k, i, ip);
	else
		read4(k, i, ip);
}

void acl_classify(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	if (ACL_VECTORS && a->path == ACL_AVX512)
		acl_classify_avx512(a, ip, rule, n);
	else if (ACL_VECTORS && a->path == ACL_AVX2)
		acl_classify_avx2(a, ip, rule, n);
	else
		acl_classify_scalar(a, ip, rule, n);
}

/* The bits of enum acl_other follow those of the rules. */
static inline bool permits(const uint64_t *permit, uint32_t rule)
{
	return permit[rule / 64] >> rule % 64 & 1;
}

bool acl_permits(const struct acl *a, uint32_t rule)
{
	return permits(a->permit, rule);
}

unsigned acl_permits_from(const struct acl *a, const uint32_t *rule, unsigned n, unsigned i)
{
	const uint64_t *permit = a->permit;
	while (i < n && permits(permit, rule[i]))
		i++;
	return i;
}

uint32_t acl_rule_count(const struct acl *a)
{
	return a->rules;
}
