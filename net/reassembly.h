/*
 * Reassembly of fragments, IPv4 (RFC 791 3.2, RFC 1122 3.3.2, RFC 815) and IPv6 (RFC 8200 4.5), for
 * packets to the machine itself. A router does not reassemble packets that it forwards.
 *
 * The module is a function of (fragment, time): the caller passes packets and the time, and
 * receives complete packets. It allocates nothing; it is not thread-safe.
 *
 * Each datagram has a slot of memory as large as the largest datagram. Data is stored at its final
 * place, with one bit for each 8 bytes. A fragment thus costs one copy, whatever came before it,
 * and the complete packet is contiguous.
 *
 * Invariants
 * 1. The parameters bound the memory. When all slots are in use, a new datagram replaces the oldest
 *    one, or its own source's oldest one if that source has per_source of them. One source (an IPv6
 *    /64) thus cannot evict all others. Sources can be forged: a sender that forges all addresses
 *    can evict all datagrams.
 * 2. No byte of a packet was received twice. Fragments that overlap or disagree about the end
 *    discard the datagram (RFC 5722 4, RFC 8200 4.5; also in IPv4, because of RFC 1858 and 3128)
 *    and all its later fragments until its timeout. Only an exact copy of a fragment, with the same
 *    bytes in the same place, is ignored (permitted by RFC 8200 4.5).
 * 3. Every fragment has one fate: the result of reassembly_input or, if it was kept, a count added
 *    later. reassembly_held() tells how many are kept: a gauge.
 * 4. The timeout runs from a datagram's first arrival and is not extended (RFC 8200 4.5, RFC 1122
 *    3.3.2).
 *
 * Deliberately missing: input fragments in several buffers, estimating MMS_R (RFC 1122 3.3.2: it is
 * data_max), timeouts by the packet's TTL (RFC 791; RFC 1122 recommends a fixed one).
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
	uint32_t datagrams;      /* maximum at once; each takes data_max and some 3 KiB of memory */
	uint32_t per_source;     /* maximum per source, invariant 1 */
	uint32_t data_max;       /* longest datagram without the headers of a fragment; at most 65535 */
	uint32_t fragments_max;  /* per datagram; limits the cost of tiny fragments to this many
	                            copies */
};

/* 128 fragments of 512 bytes, as on a link with MTU 576, make the longest packet. */
#define REASSEMBLY_PARAMS_DEFAULT \
	((struct reassembly_params){ \
		.timeout_ns = 60000000000ull, \
		.datagrams = 64, \
		.per_source = 16, \
		.data_max = 65535, \
		.fragments_max = 128, \
	})

/*
 * A datagram timed out, and its first fragment had been received: `packet`, len bytes, as it came
 * from `interface`. The caller sends ICMP time exceeded, code 1 (RFC 792, RFC 4443 3.3), if it is
 * allowed for this packet. The bytes are valid during the call, which must not call the module.
 */
typedef void reassembly_timed_out(void *ctx, unsigned interface, const uint8_t *packet,
                                  unsigned len);

/* Result of a fragment. */
struct reassembly_result {
	uint8_t *ip;              /* the complete packet, valid until the next call; NULL:
	                             incomplete */
	unsigned len;
	bool problem;             /* dropped: send a parameter problem, code 0, */
	unsigned problem_pointer; /* pointing to this octet of the fragment (RFC 8200 4.5) */
};

/* --- private from here on, public only for sizes --- */

struct reassembly_key {
	struct net_addr src, dst;
	uint32_t id;
	uint16_t zone; /* for link-local addresses (RFC 4007 6) interface + 1, else 0 */
	uint8_t proto; /* IPv4 only (RFC 791 3.2); IPv6 does not use it to identify datagrams */
};

struct reassembly_datagram {
	struct reassembly_key key;
	uint64_t deadline_ns;
	uint32_t hash_next;
	uint32_t older, newer;
	uint32_t have;           /* bytes received */
	uint32_t high;           /* end of the highest fragment received */
	uint32_t total;          /* bytes of the datagram, known from its last fragment; 0:
	                            unknown */
	uint32_t first_len;      /* bytes of the first fragment */
	uint16_t fragments;
	uint16_t head_len;       /* bytes in front of the first fragment's data; 0: not received */
	uint16_t next_at;        /* octet in these that names the fragment header (IPv6) */
	uint16_t interface;           /* interface of the first fragment */
	uint16_t refused;        /* enum counter: why further fragments are dropped; or CNT_NONE */
	uint8_t ecn_seen;        /* bit n: a fragment had ECN codepoint n */
};

struct reassembly {
	struct reassembly_params params;
	struct siphash_key hash_key;
	struct counters *cnt;
	reassembly_timed_out *timed_out;
	void *ctx;
	struct reassembly_datagram *datagrams;
	uint32_t *hash;          /* heads of the chains, hash_mask + 1 of them */
	uint8_t *places;         /* slots of place_bytes: headers, data, bit maps */
	uint32_t place_bytes;
	uint32_t map_words;
	uint32_t hash_mask;
	uint32_t free;           /* chained by hash_next */
	uint32_t oldest, newest; /* list of those in use, by age */
	uint32_t held;
};

/* --- public --- */

/* Bytes of memory that reassembly_init needs for these parameters. */
size_t reassembly_memory_bytes(const struct reassembly_params *params);

/*
 * Makes an empty instance in mem (8-byte aligned, lent by the caller as long as the instance
 * exists), with a random key. The fates of fragments that were kept are added to *cnt. E_INVAL: a
 * parameter is 0 or out of range; E_NOMEM: too few bytes.
 */
int reassembly_init(struct reassembly *r, const struct reassembly_params *params, void *mem,
                    size_t bytes, const struct siphash_key *key, struct counters *cnt,
                    reassembly_timed_out *timed_out, void *ctx);

/*
 * Takes a fragment to one of our addresses, received on the interface. IPv4: a packet that has
 * passed ip4_check and is a fragment (ip4_is_fragment). IPv6: one for which ip6_upper returned
 * CNT_NONE with the result u and u->fragment. The packet stays the caller's.
 *
 * Returns
 *
 *   - CNT_NONE with out->ip: the packet is complete. The fragment's fate is that of the complete
 *     packet, which begins at out->ip and passes ip4_check or ip6_check. Its header is updated
 *     (IPv4: no fragment, checksum; IPv6: fragment header removed; both: ECN, RFC 3168 5.3). An
 *     IPv6 packet goes to ip6_upper again, which finds no fragment header.
 *   - CNT_NONE without out->ip: the fragment was kept (invariant 3).
 *   - CNT_drop_frag_*: dropped. out->problem tells whether IPv6 requires a parameter problem.
 *
 * An atomic fragment (RFC 6946) is complete at once, whatever other fragments have its
 * identification: the packet is updated in place and out->ip points into it.
 */
enum counter reassembly_input4(struct reassembly *r, unsigned interface, const uint8_t *ip,
                               uint64_t now_ns, struct reassembly_result *out);
enum counter reassembly_input6(struct reassembly *r, unsigned interface, uint8_t *ip,
                               const struct ip6_upper *u, uint64_t now_ns,
                               struct reassembly_result *out);

/* Ends datagrams that have timed out, as reassembly_input also does first. Returns
 * reassembly_deadline(). */
uint64_t reassembly_tick(struct reassembly *r, uint64_t now_ns);

/* When reassembly_tick is needed next; UINT64_MAX: no datagram is incomplete. */
uint64_t reassembly_deadline(const struct reassembly *r);

/* The number of fragments kept. */
static inline uint32_t reassembly_held(const struct reassembly *r) { return r->held; }

#endif
