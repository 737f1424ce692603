/* The look-up in the table of an access list; see acl.h and inside.h. */
#include "net/acl/inside.h"

#include "lib/bytes.h"
#include "net/ip4.h"
#include "net/ip6.h"

#define LOT 32 /* packets looked up together: their loads overlap, and all of it stays in L1 */
#define PROTO_SCTP 132
#define TCP_LEAST 20 /* bytes of a header without options */

/* The words of a lot. */
struct keys {
	uint32_t word[ACL_WORDS][LOT];
};

/* --- the words of a packet --- */

static void set_transport(struct keys *k, unsigned i, uint32_t src_port, uint32_t dst_port,
                          uint32_t kind)
{
	k->word[ACL_SRC_PORT][i] = src_port;
	k->word[ACL_DST_PORT][i] = dst_port;
	k->word[ACL_KIND][i] = kind;
}

static bool has_ports(uint8_t proto)
{
	return (proto == IP4_PROTO_TCP) | (proto == IP4_PROTO_UDP) | (proto == PROTO_SCTP);
}

/* A transport header of which len bytes are there, fewer than the longest has. */
static __attribute__((noinline)) void read_short(struct keys *k, unsigned i, uint8_t proto,
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
static inline void read_transport(struct keys *k, unsigned i, uint8_t proto, uint8_t icmp,
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
static void read_later(struct keys *k, unsigned i, uint8_t proto, unsigned offset)
{
	bool over_flags = proto == IP4_PROTO_TCP && offset == 8; /* RFC 1858 3.2.2 */
	set_transport(k, i, ACL_PORT_LATER, ACL_PORT_LATER,
	              over_flags ? (uint32_t)ACL_KIND_UNDETERMINED : (uint32_t)ACL_KIND_LATER + proto);
}

static inline void read4(struct keys *k, unsigned i, const uint8_t *ip)
{
	unsigned header = ip4_header_len(ip), offset = (be16_load(ip + 6) & IP4_OFFSET_MASK) * 8u;
	k->word[ACL_SRC + 3][i] = ip4_src(ip);
	k->word[ACL_DST + 3][i] = ip4_dst(ip);
	if (unlikely(offset))
		read_later(k, i, ip4_proto(ip), offset);
	else
		read_transport(k, i, ip4_proto(ip), IP4_PROTO_ICMP, ip + header,
		               ip4_total_len(ip) - header);
}

static inline void read6(struct keys *k, unsigned i, const uint8_t *ip)
{
	struct ip6_found f;
	unsigned len = ip6_total_len(ip);
	for (unsigned w = 0; w < 4; w++) {
		k->word[ACL_SRC + w][i] = be32_load(ip + 8 + 4 * w);
		k->word[ACL_DST + w][i] = be32_load(ip + 24 + 4 * w);
	}
	ip6_find_upper(ip, len, &f);
	if (likely(f.at))
		read_transport(k, i, f.proto, IP6_ICMP6, ip + f.at, len - f.at);
	else if (f.offset)
		read_later(k, i, f.proto, f.offset);
	else
		set_transport(k, i, ACL_PORT_NONE, ACL_PORT_NONE, ACL_KIND_UNDETERMINED);
}

/* --- the vectors of its words, and what they have in common --- */

static const uint64_t *vector_at(const struct acl *a, uint32_t at)
{
	return (const uint64_t *)(const void *)a + at;
}

typedef int32_t lanes __attribute__((vector_size(16)));

/* How many keys of a node are less than the value. */
static inline uint32_t keys_below(const int32_t *node, int32_t value)
{
	const lanes *key = (const lanes *)(const void *)node;
	const lanes v = {value, value, value, value};
	lanes n = (key[0] < v) + (key[1] < v) + (key[2] < v) + (key[3] < v); /* -1 each */
	n += __builtin_shufflevector(n, n, 2, 3, 0, 1);
	return (uint32_t)-(n[0] + n[1]);
}

/* The vectors of n values of one word. Without a branch on the values, so the next packet's loads
 * begin before this one's are there. */
static void find(const struct acl *a, const struct acl_dim *d, const uint32_t *value,
                 const uint64_t **vector, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const int32_t key = acl_key(value[i]);
		uint32_t at = 0;
		for (uint32_t level = 0; level < d->levels; level++)
			at = at * ACL_NODE + keys_below(d->level[level] + at * ACL_NODE, key);
		vector[i] = vector_at(a, d->vector[at]);
		__builtin_prefetch(vector[i]);
	}
}

static inline uint32_t lowest(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	return low ? (uint32_t)__builtin_ctz(low) : 32 + (uint32_t)__builtin_ctz((uint32_t)(bits >> 32));
}

/* The first bit that all n vectors have; the number of rules if there is none. */
static inline __attribute__((always_inline)) uint32_t
first_common(const struct acl *a, const uint64_t *const *v, uint32_t n)
{
	for (uint32_t head = 0; head < a->heads; head++) {
		uint64_t some = v[0][head];
		for (uint32_t d = 1; d < n; d++)
			some &= v[d][head];
		for (; some; some &= some - 1) {
			uint32_t word = head * 64 + lowest(some);
			uint64_t all = v[0][a->heads + word];
			for (uint32_t d = 1; d < n; d++)
				all &= v[d][a->heads + word];
			if (all)
				return word * 64 + lowest(all);
		}
	}
	return a->rules;
}

/* The same for packet i of a lot with n vectors each; n is a constant where it is called, so that
 * the vectors' places stay in registers. */
static inline __attribute__((always_inline)) uint32_t
first_of(const struct acl *a, const uint64_t *(*vector)[LOT], unsigned i, uint32_t n)
{
	const uint64_t *v[ACL_WORDS];
	for (uint32_t d = 0; d < n; d++)
		v[d] = vector[d][i];
	return first_common(a, v, n);
}

static void classify_lot(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	const uint64_t *vector[ACL_WORDS][LOT];
	struct keys k;
	for (unsigned i = 0; i < n; i++) {
		if (a->six)
			read6(&k, i, ip[i]);
		else
			read4(&k, i, ip[i]);
		vector[0][i] = vector_at(a, a->kind[k.word[ACL_KIND][i]]);
	}
	for (uint32_t d = 0; d < a->dims; d++)
		find(a, &a->dim[d], k.word[a->dim[d].word], vector[1 + d], n);
	for (unsigned i = 0; i < n; i++) {
		rule[i] = a->dims == 4 ? first_of(a, vector, i, 5) : first_of(a, vector, i, a->dims + 1);
		if (unlikely(k.word[ACL_KIND][i] == ACL_KIND_UNDETERMINED))
			rule[i] = a->rules + ACL_UNDETERMINED;
	}
}

void acl_classify(const struct acl *a, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	for (unsigned done = 0; done < n; done += LOT)
		classify_lot(a, ip + done, rule + done, n - done < LOT ? n - done : LOT);
}

bool acl_permits(const struct acl *a, uint32_t rule)
{
	return rule < a->rules && (a->permit[rule / 64] >> rule % 64 & 1);
}

uint32_t acl_rule_count(const struct acl *a)
{
	return a->rules;
}
