/* See ecmp.h. */
#include "net/ecmp.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* --- members --- */

struct share {
	uint16_t member;
	uint16_t has;   /* present buckets */
	uint16_t quota; /* intended buckets */
};

/* Sorts in ascending order without duplicates; returns how many. */
static unsigned sort(struct share *s, const uint16_t *member, unsigned n)
{
	unsigned m = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = 0;
		assert(member[i] != ECMP_NOBODY);
		while (at < m && s[at].member < member[i])
			at++;
		if (at < m && s[at].member == member[i])
			continue;
		for (unsigned k = m; k > at; k--)
			s[k] = s[k - 1];
		s[at] = (struct share){.member = member[i]};
		m++;
	}
	return m;
}

static struct share *find(struct share *s, unsigned m, uint16_t member)
{
	for (unsigned i = 0; i < m; i++)
		if (s[i].member == member)
			return &s[i];
	return NULL;
}

/* Sets equal quotas, one larger for some members if the buckets do not divide evenly. The larger
 * quotas go to the members that have most buckets, so that no bucket moves needlessly. */
static void set_quotas(struct share *s, unsigned m)
{
	unsigned larger = ECMP_BUCKETS % m;
	for (unsigned i = 0; i < m; i++)
		s[i].quota = (uint16_t)(ECMP_BUCKETS / m);
	for (; larger; larger--) {
		struct share *most = NULL;
		for (unsigned i = 0; i < m; i++)
			if (s[i].quota == ECMP_BUCKETS / m && (!most || s[i].has > most->has))
				most = &s[i];
		most->quota++;
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

unsigned ecmp_set(struct ecmp_group *g, const uint16_t *member, unsigned n)
{
	struct share s[ECMP_MEMBERS_MAX], *owner;
	unsigned changed = 0;
	assert(n > 0 && n <= ECMP_MEMBERS_MAX);
	unsigned m = sort(s, member, n);
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
	const uint8_t dccp = 33, sctp = 132, udp_lite = 136; /* IANA, protocol numbers */
	return proto == IP4_PROTO_TCP || proto == IP4_PROTO_UDP || proto == dccp || proto == sctp ||
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
