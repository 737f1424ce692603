/* See ecmp.h. */
#include "net/ecmp.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* --- members --- */

struct share {
	uint16_t member;
	uint16_t weight; /* sum over duplicates: at most 255 * ECMP_MEMBERS_MAX */
	uint16_t has;    /* present buckets */
	uint16_t quota;  /* intended buckets */
};

/* The place of a member among m that are sorted in ascending order, or where it belongs. */
static unsigned place(const struct share *s, unsigned m, uint16_t member)
{
	unsigned low = 0;
	while (low < m) {
		const unsigned middle = (low + m) / 2;
		if (s[middle].member < member)
			low = middle + 1;
		else
			m = middle;
	}
	return low;
}

static struct share *find(struct share *s, unsigned m, uint16_t member)
{
	const unsigned at = place(s, m, member);
	return at < m && s[at].member == member ? &s[at] : NULL;
}

/* Sorts in ascending order and adds up duplicates; returns how many there are. */
static unsigned sort(struct share *s, const uint16_t *member, const uint8_t *weight, unsigned n)
{
	unsigned m = 0;
	for (unsigned i = 0; i < n; i++) {
		const uint16_t w = weight ? weight[i] : 1;
		assert(member[i] != ECMP_NOBODY && w > 0);
		const unsigned at = place(s, m, member[i]);
		if (at < m && s[at].member == member[i]) {
			s[at].weight += w;
			continue;
		}
		for (unsigned k = m; k > at; k--)
			s[k] = s[k - 1];
		s[at] = (struct share){.member = member[i], .weight = w};
		m++;
	}
	return m;
}

/* Does the next bucket go to a rather than to b? Of equals, to one that keeps a bucket by it. */
static bool comes_before(const struct share *a, const struct share *b)
{
	const uint32_t of_a = (uint32_t)a->weight * (2u * b->quota + 1);
	const uint32_t of_b = (uint32_t)b->weight * (2u * a->quota + 1);
	return of_a != of_b ? of_a > of_b : a->has > a->quota && b->has <= b->quota;
}

/* Webster's quotas. Those of weights divided by sum / (buckets - members), rounded, are no more than
 * there are buckets: rounding adds half a bucket at most to each member, the least share less than
 * one. The rest goes bucket by bucket. */
static void set_quotas(struct share *s, unsigned m)
{
	uint32_t sum = 0, left = ECMP_BUCKETS;
	for (unsigned i = 0; i < m; i++)
		sum += s[i].weight;
	for (unsigned i = 0; i < m; i++) {
		const uint32_t q = (2 * s[i].weight * (ECMP_BUCKETS - m) + sum) / (2 * sum);
		s[i].quota = (uint16_t)(q ? q : 1);
		left -= s[i].quota;
	}
	for (; left; left--) {
		struct share *next = &s[0];
		for (unsigned i = 1; i < m; i++)
			if (comes_before(&s[i], next))
				next = &s[i];
		next->quota++;
	}
}

/* The member that lacks most buckets of its quota. */
static struct share *neediest(struct share *s, unsigned m)
{
	struct share *best = &s[0];
	for (unsigned i = 1; i < m; i++)
		if (s[i].quota - s[i].has > best->quota - best->has)
			best = &s[i];
	return best;
}

unsigned ecmp_set(struct ecmp_group *g, const uint16_t *member, const uint8_t *weight, unsigned n)
{
	struct share s[ECMP_MEMBERS_MAX], *owner;
	unsigned changed = 0;
	assert(n > 0 && n <= ECMP_MEMBERS_MAX);
	unsigned m = sort(s, member, weight, n);
	for (unsigned b = 0; b < ECMP_BUCKETS; b++)
		if ((owner = find(s, m, g->bucket[b])))
			owner->has++;
	set_quotas(s, m);
	for (unsigned b = 0; b < ECMP_BUCKETS; b++) {
		owner = find(s, m, g->bucket[b]);
		if (owner && owner->has <= owner->quota)
			continue;
		if (owner)
			owner->has--;
		struct share *to = neediest(s, m);
		to->has++;
		__atomic_store_n(&g->bucket[b], to->member, __ATOMIC_RELAXED);
		changed++;
	}
	return changed;
}

/* --- flows --- */

/* Mixes one more word into the hash: multiplication by an odd number carries bits upwards, the
 * shift returns the upper half downwards. */
static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15; /* 2^64 / the golden ratio */
	return hash ^ hash >> 32;
}

/* The upper bits select the bucket; after one more multiplication they depend on all bits. */
static inline uint32_t finish(uint64_t hash)
{
	return (uint32_t)((hash * 0xd6e8feb86659fd93) >> 32);
}

/* True if the first four bytes of the segment are ports. */
static bool has_ports(uint8_t proto)
{
	const uint8_t dccp = 33, udp_lite = 136; /* IANA, protocol numbers */
	return proto == IP4_PROTO_TCP || proto == IP4_PROTO_UDP || proto == dccp || proto == IP4_PROTO_SCTP ||
	       proto == udp_lite;
}

uint32_t ecmp_hash4(uint64_t seed, const uint8_t *ip)
{
	unsigned at = ip4_header_len(ip);
	uint8_t proto = ip4_proto(ip);
	uint32_t ports = 0;
	if (has_ports(proto) && !ip4_is_fragment(ip) && ip4_total_len(ip) >= at + 4)
		ports = be32_load(ip + at);
	uint64_t hash = mix(seed, (uint64_t)ip4_src(ip) << 32 | ip4_dst(ip));
	return finish(mix(hash, (uint64_t)ports << 8 | proto));
}

static uint64_t mix16(uint64_t hash, const uint8_t *addr)
{
	hash = mix(hash, (uint64_t)be32_load(addr) << 32 | be32_load(addr + 4));
	return mix(hash, (uint64_t)be32_load(addr + 8) << 32 | be32_load(addr + 12));
}

uint32_t ecmp_hash6(uint64_t seed, const uint8_t *ip)
{
	const uint32_t label = be32_load(ip) & 0xfffff; /* RFC 8200 3: 20 bits */
	const uint64_t labelled = 1ull << 63;           /* distinguishes a label from ports and
	                                                   protocol */
	uint64_t hash = mix16(seed, ip + offsetof(struct ip6_header, src));
	hash = mix16(hash, ip + offsetof(struct ip6_header, dst));
	uint8_t next = ip6_next(ip);
	uint32_t ports = 0;
	if (label)
		return finish(mix(hash, labelled | label));
	if (has_ports(next) && ip6_payload_len(ip) >= 4)
		ports = be32_load(ip + IP6_HLEN);
	return finish(mix(hash, (uint64_t)ports << 8 | next));
}

uint32_t ecmp_hash_to(uint64_t seed, const struct net_addr *dst)
{
	return finish(mix16(seed, (const uint8_t *)dst->w));
}
