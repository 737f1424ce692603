/*
 * Reassembly of fragments, IPv4 (RFC 791 3.2, RFC 1122 3.3.2, RFC 815) and IPv6 (RFC 8200 4.5), for
 * packets to the machine itself. A router does not reassemble what it forwards.
 *
 * The module is a function of (fragment, time): the caller feeds packets and the clock and gets
 * whole packets back. It allocates nothing; it is not thread-safe.
 *
 * Each datagram has a place in memory as large as the largest one, where its bytes are put as they
 * come, and a bit for each 8 of them: so a fragment costs its copy, whatever came before it, and
 * the whole packet lies in one piece at the end.
 *
 * Invariants
 * 1. Memory is bounded by the parameters. A new datagram that finds all places taken takes that of
 *    the oldest; of its own source's oldest when that source has per_source of them, so that one
 *    source (an IPv6 /64) cannot push out all others. Sources can be forged: who can send as
 *    everybody can push out everybody.
 * 2. No byte of a packet was ever received twice. Fragments that overlap, or say different ends,
 *    end the datagram (RFC 5722 4, RFC 8200 4.5; in IPv4 the same, for RFC 1858 and 3128), and
 *    what still comes of it until its time is over. Only an exact copy of a fragment, the same
 *    bytes in the same place, is passed over (RFC 8200 4.5 lets it).
 * 3. Every fragment has one fate: what reassembly_input returns; or, when it was kept, what is
 *    added to the counters later. reassembly_held() says how many are kept: a gauge.
 * 4. Time counts from a datagram's first arrival and is not prolonged (RFC 8200 4.5, RFC 1122
 *    3.3.2).
 *
 * Deliberately missing: a path for fragments that lie in several buffers, estimating MMS_R (RFC
 * 1122 3.3.2: it is data_max), time-outs after the packet's TTL (RFC 791: RFC 1122 advises a fixed
 * one).
 */
#ifndef NET_REASSEMBLY_H
#define NET_REASSEMBLY_H

#include "lib/siphash.h"
#include "lib/types.h"
#include "net/addr.h"
#include "net/counters.h"
#include "net/ip6.h"

#define REASSEMBLY_HEAD_MAX (IP6_HLEN + IP6_EXT_BYTES_MAX + IP6_FRAGMENT_HLEN)

struct reassembly_params {
	uint64_t timeout_ns;     /* RFC 8200 4.5: 60 s; RFC 1122 3.3.2: 60 to 120 s */
	uint32_t datagrams;      /* at once; each takes data_max and some 3 KiB of memory */
	uint32_t per_source;     /* of these, invariant 1 */
	uint32_t data_max;       /* longest datagram without the headers of a fragment; at most 65535 */
	uint32_t fragments_max;  /* of one datagram, so that tiny ones cost no more than these copies */
};

/* 128 fragments of 512 bytes, or of a link of 576, make the longest packet. */
#define REASSEMBLY_PARAMS_DEFAULT \
	((struct reassembly_params){ \
		.timeout_ns = 60000000000ull, \
		.datagrams = 64, \
		.per_source = 16, \
		.data_max = 65535, \
		.fragments_max = 128, \
	})

/*
 * The time of a datagram is over, and its first fragment was here, as it came: `packet`, len bytes,
 * from `port`. Time for ICMP time exceeded, code 1 (RFC 792, RFC 4443 3.3), if that is allowed
 * about such a packet. The bytes are valid during the call, which may not call the module.
 */
typedef void reassembly_timed_out(void *ctx, unsigned port, const uint8_t *packet, unsigned len);

/* What a fragment led to. */
struct reassembly_result {
	uint8_t *ip;              /* the whole packet, valid until the next call; NULL: not yet */
	unsigned len;
	bool problem;             /* of a dropped one: send a parameter problem, code 0, */
	unsigned problem_pointer; /* to this octet of the fragment (RFC 8200 4.5) */
};

/* --- private from here on, laid open for sizes only --- */

struct reassembly_key {
	struct net_addr src, dst;
	uint32_t id;
	uint16_t zone; /* of link-local addresses (RFC 4007 6): the port and one, else 0 */
	uint8_t proto; /* IPv4 only (RFC 791 3.2); IPv6 tells datagrams apart without it */
};

struct reassembly_datagram {
	struct reassembly_key key;
	uint64_t deadline_ns;
	uint32_t hash_next;
	uint32_t older, newer;
	uint32_t have;           /* bytes */
	uint32_t high;           /* end of the last of them */
	uint32_t total;          /* bytes of the datagram, once its last fragment is here; else 0 */
	uint32_t first_len;      /* bytes of the first fragment */
	uint16_t fragments;
	uint16_t head_len;       /* headers of the first fragment, all before its data; 0: not here */
	uint16_t next_at;        /* octet of them that names the fragment header (IPv6) */
	uint16_t port;           /* the first fragment came by it */
	uint16_t refused;        /* enum counter, why nothing of it is taken any more; or CNT_NONE */
	uint8_t ecn_seen;        /* bit n: there was a fragment with ECN codepoint n */
};

struct reassembly {
	struct reassembly_params params;
	struct siphash_key hash_key;
	struct counters *cnt;
	reassembly_timed_out *timed_out;
	void *ctx;
	struct reassembly_datagram *datagrams;
	uint32_t *hash;          /* heads of the chains, hash_mask + 1 of them */
	uint8_t *places;         /* place_bytes each: headers, data, bit maps */
	uint32_t place_bytes;
	uint32_t map_words;
	uint32_t hash_mask;
	uint32_t free;           /* chained by hash_next */
	uint32_t oldest, newest; /* in use, by age */
	uint32_t held;
};

/* --- public --- */

/* Bytes of memory that reassembly_init needs for these parameters. */
size_t reassembly_memory_bytes(const struct reassembly_params *params);

/*
 * Makes an empty one in mem (8-byte aligned, the caller's for its life), with a random key. What
 * becomes of fragments that were kept is added to *cnt. E_INVAL: a parameter is 0 or out of range;
 * E_NOMEM: too few bytes.
 */
int reassembly_init(struct reassembly *r, const struct reassembly_params *params, void *mem,
                    size_t bytes, const struct siphash_key *key, struct counters *cnt,
                    reassembly_timed_out *timed_out, void *ctx);

/*
 * A fragment to one of our addresses, which came in by the port: for IPv4 a packet that has passed
 * ip4_check and for which ip4_is_fragment; for IPv6 one for which ip6_upper, whose result is u,
 * said CNT_NONE and u->fragment. The packet stays the caller's.
 *
 * CNT_NONE with out->ip: this was the last one missing; its fate is that of the whole packet, which
 * begins at out->ip, has a mended header (IPv4: no fragment, checksum; IPv6: without the fragment
 * header; both: ECN, RFC 3168 5.3) and passes ip4_check or ip6_check. IPv6 goes to ip6_upper again
 * and meets no fragment header there.
 * CNT_NONE without: kept (invariant 3).
 * Else it was dropped: CNT_drop_frag_*. out->problem says what IPv6 wants sent.
 *
 * An atomic fragment (RFC 6946) is whole at once, whatever else waits under its identification: the
 * packet is mended in place and out->ip points into it.
 */
enum counter reassembly_input4(struct reassembly *r, unsigned port, const uint8_t *ip,
                               uint64_t now_ns, struct reassembly_result *out);
enum counter reassembly_input6(struct reassembly *r, unsigned port, uint8_t *ip,
                               const struct ip6_upper *u, uint64_t now_ns,
                               struct reassembly_result *out);

/* Ends the datagrams whose time is over, as reassembly_input does first. Returns
 * reassembly_deadline(). */
uint64_t reassembly_tick(struct reassembly *r, uint64_t now_ns);

/* When reassembly_tick is needed next; UINT64_MAX: nothing waits. */
uint64_t reassembly_deadline(const struct reassembly *r);

/* Fragments kept now. */
static inline uint32_t reassembly_held(const struct reassembly *r) { return r->held; }

#endif
