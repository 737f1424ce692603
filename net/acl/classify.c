/* Asks the table of an access list about packets: their words, for which the rules are found by
 * search.h in one of its forms. See acl.h and inside.h. */
#include "net/acl/inside.h"

#include "lib/bytes.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define PROTO_SCTP 132
#define TCP_LEAST 20 /* bytes of a header without options */

static void set_transport(struct acl_keys *k, unsigned i, uint32_t src_port, uint32_t dst_port,
                          uint32_t kind)
{
	k->word[ACL_SRC_PORT][i] = acl_key(src_port);
	k->word[ACL_DST_PORT][i] = acl_key(dst_port);
	k->kind[i] = (uint16_t)kind;
}

static bool has_ports(uint8_t proto)
{
	return (proto == IP4_PROTO_TCP) | (proto == IP4_PROTO_UDP) | (proto == PROTO_SCTP);
}

/* A transport header of which len bytes are there, fewer than the longest has. */
static __attribute__((noinline)) void read_short(struct acl_keys *k, unsigned i, uint8_t proto,
                                                 uint8_t icmp, const uint8_t *l4, unsigned len)
{
	bool ports = has_ports(proto);
	unsigned least = proto == IP4_PROTO_TCP   ? TCP_LEAST
	                 : proto == IP4_PROTO_UDP ? 8
	                 : proto == PROTO_SCTP    ? 12
	                 : proto == icmp          ? 4
	                                          : 0;
	if (len < least)
		set_transport(k, i, ACL_PORT_NONE, ACL_PORT_NONE, ACL_KIND_UNDETERMINED);
	else
		set_transport(k, i, ports ? be16_load(l4) : ACL_PORT_NONE,
		              ports          ? be16_load(l4 + 2)
		              : proto == icmp ? be16_load(l4)
		                              : ACL_PORT_NONE,
		              ACL_KIND_PROTO + proto);
}

/*
 * The transport header l4 of a packet or a first fragment, of which len bytes are there. `icmp`:
 * the number that ICMP has in this version of IP. No branch depends on the protocol: the next packet's
 * is another.
 */
static inline void read_transport(struct acl_keys *k, unsigned i, uint8_t proto, uint8_t icmp,
                                  const uint8_t *l4, unsigned len)
{
	if (unlikely(len < TCP_LEAST)) {
		read_short(k, i, proto, icmp, l4, len);
		return;
	}
	uint32_t first = be16_load(l4), second = be16_load(l4 + 2), flags = l4[13];
	uint32_t other = proto == icmp ? first : ACL_PORT_NONE;
	set_transport(k, i, has_ports(proto) ? first : ACL_PORT_NONE, has_ports(proto) ? second : other,
	              proto == IP4_PROTO_TCP ? ACL_KIND_TCP + flags : (uint32_t)ACL_KIND_PROTO + proto);
}

/* A fragment that begins at that byte of its packet, which is not the first. */
static void read_later(struct acl_keys *k, unsigned i, uint8_t proto, unsigned offset)
{
	bool over_flags = proto == IP4_PROTO_TCP && offset == 8; /* RFC 1858 3.2.2 */
	set_transport(k, i, ACL_PORT_LATER, ACL_PORT_LATER,
	              over_flags ? (uint32_t)ACL_KIND_UNDETERMINED : (uint32_t)ACL_KIND_LATER + proto);
}

static inline void read4(struct acl_keys *k, unsigned i, const uint8_t *ip)
{
	unsigned header = ip4_header_len(ip), offset = (be16_load(ip + 6) & IP4_OFFSET_MASK) * 8u;
	k->word[ACL_SRC + 3][i] = acl_key(ip4_src(ip));
	k->word[ACL_DST + 3][i] = acl_key(ip4_dst(ip));
	if (unlikely(offset))
		read_later(k, i, ip4_proto(ip), offset);
	else
		read_transport(k, i, ip4_proto(ip), IP4_PROTO_ICMP, ip + header,
		               ip4_total_len(ip) - header);
}

static inline void read6(struct acl_keys *k, unsigned i, const uint8_t *ip)
{
	struct ip6_found f;
	unsigned len = ip6_total_len(ip);
	for (unsigned w = 0; w < 4; w++) {
		k->word[ACL_SRC + w][i] = acl_key(be32_load(ip + 8 + 4 * w));
		k->word[ACL_DST + w][i] = acl_key(be32_load(ip + 24 + 4 * w));
	}
	ip6_find_upper(ip, len, &f);
	if (likely(f.at))
		read_transport(k, i, f.proto, IP6_ICMP6, ip + f.at, len - f.at);
	else if (f.offset)
		read_later(k, i, f.proto, f.offset);
	else
		set_transport(k, i, ACL_PORT_NONE, ACL_PORT_NONE, ACL_KIND_UNDETERMINED);
}

static void search(const struct acl *a, const struct acl_keys *k, uint32_t *rule, unsigned n)
{
	if (ACL_VECTORS && a->path == ACL_AVX512)
		acl_search_avx512(a, k, rule, n);
	else if (ACL_VECTORS && a->path == ACL_AVX2)
		acl_search_avx2(a, k, rule, n);
	else
		acl_search_scalar(a, k, rule, n);
}

static void classify_lot(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	struct acl_keys k;
	for (unsigned i = 0; i < n; i++)
		if (a->six)
			read6(&k, i, ip[i]);
		else
			read4(&k, i, ip[i]);
	search(a, &k, rule, n);
	for (unsigned i = 0; i < n; i++)
		if (unlikely(k.kind[i] == ACL_KIND_UNDETERMINED))
			rule[i] = a->rules + ACL_UNDETERMINED;
}

void acl_classify(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	for (unsigned done = 0; done < n; done += ACL_LOT)
		classify_lot(a, ip + done, rule + done, n - done < ACL_LOT ? n - done : ACL_LOT);
}

bool acl_permits(const struct acl *a, uint32_t rule)
{
	return rule < a->rules && (a->permit[rule / 64] >> rule % 64 & 1);
}

uint32_t acl_rule_count(const struct acl *a)
{
	return a->rules;
}
