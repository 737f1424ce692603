/*
 * The frames of one flow: the part of a stream that one core sends.
 *
 * Frame n of a flow is a function of (stream, flow, n) and of the time in its stamp, so every byte
 * can be recomputed from the script. If `senders` flows share a stream, frame n of the flow
 * `sender` has the size and fields of frame m = sender + n * senders of the stream. So the frames
 * of a stream do not depend on the number of cores. The number in a stamp is n, the flow's own.
 *
 *     Ethernet | 0 to 2 tags | IPv4 or IPv6 | UDP, TCP, ICMP or nothing | stamp, if any | pattern
 *
 * Byte i of the pattern is (167 i + 13) modulo 256, where i counts from the start of the frame
 * without its tags. So the pattern stays right when a router or switch removes tags. The generator
 * of tools/nicsim sends the same pattern (docs/nicsim.md, gen). Payload fields overwrite it.
 *
 * Random number m of a seed is output m of SplitMix64 (Steele, Lea, Flood, 2014), which needs none
 * of the outputs before it. A number below `count` is the upper half of the 128-bit product
 * output * count. A division instead of this multiplication would cost as much as the whole frame.
 *
 * Invariants
 * 1. Every checksum is right in every frame: IPv4 header, UDP, TCP, ICMP, ICMPv6. That of UDP is
 *    never 0 (RFC 768, RFC 8200 8.1: 0 is sent as ffff).
 * 2. In any buffer that frames_make has filled for this flow, frames_patch makes exactly the bytes
 *    that frames_make would make. So a buffer keeps the pattern up to the flow's largest size, even
 *    while its frame is shorter.
 * 3. No frame costs a division or a sum over its bytes. Each size has a sum of all but the fields,
 *    to which the fields are added. A stamp sums up to zero, so checksums do not depend on it.
 * 4. No state changes after frames_init, so a flow can make any frame n, in any order.
 *
 * m has 64 bits. It wraps after 2^64 / senders frames, which takes thousands of years.
 *
 * Deliberately missing: IPv4 options and IPv6 extension headers, fragments, TCP sequence numbers
 * other than 0, 802.3 length frames.
 */
#ifndef PKTGEN_FRAMES_FRAMES_H
#define PKTGEN_FRAMES_FRAMES_H

#include "lib/types.h"
#include "net/eth.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/tcp/wire.h"
#include "net/udp.h"
#include "tools/pktgen/plan.h"
#include "tools/pktgen/frames/stamp.h"

#define FRAMES_TAG_BYTES 4
#define FRAMES_ICMP_HLEN 8     /* echo: type, code, checksum, identifier, sequence number */
#define FRAMES_PROTO_NONE 253  /* RFC 3692: for experiments; PLAN_IP_ONLY */
#define FRAMES_SENDERS_MAX 256
#define FRAMES_HEAD_MAX \
	(ETH_HLEN + PLAN_VLANS_MAX * FRAMES_TAG_BYTES + IP6_HLEN + TCP_HLEN + STAMP_BYTES)

/* --- offsets in a frame, for the checks of the script too --- */

static inline unsigned frames_ip_at(const struct plan_stream *s)
{
	return ETH_HLEN + FRAMES_TAG_BYTES * (unsigned)s->vlans;
}

static inline unsigned frames_l4_at(const struct plan_stream *s)
{
	return frames_ip_at(s) + (s->v6 ? IP6_HLEN : IP4_HLEN);
}

static inline unsigned frames_l4_bytes(enum plan_proto proto)
{
	switch (proto) {
	case PLAN_UDP: return UDP_HLEN;
	case PLAN_TCP: return TCP_HLEN;
	case PLAN_ICMP: return FRAMES_ICMP_HLEN;
	default: return 0;
	}
}

/* Offset of the payload, behind the stamp if there is one. Payload fields count from here. */
static inline unsigned frames_payload_at(const struct plan_stream *s)
{
	return frames_l4_at(s) + frames_l4_bytes(s->proto) + (s->stamped ? STAMP_BYTES : 0);
}

/* Length of the shortest frame that holds headers, stamp and fields, without FCS. It may be below
 * Ethernet's minimum. */
unsigned frames_least(const struct plan_stream *s);

/* --- a flow --- */

/* A field that changes. */
struct frames_field {
	enum plan_where where;
	enum plan_mode mode;
	uint64_t first, step, count;
	uint64_t seed;
	uint64_t back;   /* count - (senders modulo count) */
	uint16_t at;     /* offset in the frame */
	uint16_t keep;   /* of a VLAN tag: its priority and DEI, host order */
	uint8_t bytes;   /* 1, 2, 4, 6 or 8 */
	uint8_t shift;   /* 8 if it begins at an odd offset, else 0 */
	bool in_ip, in_l4; /* the IPv4 header's, the L4 checksum covers it */
	uint64_t list[PLAN_LIST_MAX];
};

/* The values that depend on the size of a frame. */
struct frames_size {
	uint16_t len;       /* of the frame, without FCS */
	uint16_t ip_len;    /* raw, as it stands in the IP header: total (v4) or payload length (v6) */
	uint16_t udp_len;   /* raw */
	uint32_t ip_sum;    /* of the IPv4 header without fields */
	uint32_t l4_sum;    /* of pseudo header and segment without fields; the stamp adds nothing */
};

#define FRAMES_PATTERN_PERIOD 256

/* Written by frames_init alone. */
struct frames {
	bool stamped, v6;
	bool avx2;             /* frames_use */
	enum plan_proto proto;
	uint16_t flow;
	uint16_t ip_at, l4_at, payload_at; /* the values of the functions above */
	uint16_t stamp_at;
	uint16_t l4_csum_at;   /* 0: there is none */
	uint16_t len_max;
	uint32_t sender, senders;
	bool vary_sizes, vary_ip_csum, vary_l4_csum;
	enum plan_sizes size_mode;
	uint8_t sizes, fields;
	uint32_t size_stride;  /* senders modulo sizes */
	uint64_t size_seed;
	struct frames_size size[PLAN_SIZES_MAX]; /* PLAN_SIZES_RANDOM: the first is the least */
	uint32_t size_span;    /* PLAN_SIZES_RANDOM: how many sizes there are */
	uint32_t ip_base, l4_base;  /* 16-bit sums of all that no size and no field changes */
	uint32_t len_weight;   /* how often l4_sum adds the length of the segment */
	uint32_t holes;        /* sum of the pattern's bytes that payload fields overwrite */
	struct frames_field field[PLAN_FIELDS_MAX];
	uint32_t pattern_sum[FRAMES_PATTERN_PERIOD / 2 + 1]; /* [k]: of a period's first k words */
	uint8_t head[FRAMES_HEAD_MAX]; /* up to the payload, of a frame of size[0]; zero: number,
	                                * time and check of the stamp, and fields except vlan */
};

/*
 * Prepares the flow of sender number `sender` (below `senders`) in stream s. Its frames have these
 * MAC addresses, unless a field varies them, and `flow` in their stamps.
 *
 * E_INVAL, with *f undefined: too many senders, or a stream that script_parse would not accept (a
 * size without room for headers, stamp and fields, a field that the protocol does not have, payload
 * fields that overlap).
 */
int frames_init(struct frames *f, const struct plan_stream *s, const uint8_t mac_src[6],
                const uint8_t mac_dst[6], unsigned flow, unsigned sender, unsigned senders);

/* The machine's widest vectors (hal/vector.h); frames_init assumes that it has none. */
void frames_use(struct frames *f, unsigned vector_bits);

/* Length of the largest frame, for which every buffer must have room. */
static inline unsigned frames_len_max(const struct frames *f)
{
	return f->len_max;
}

/* Do all frames have the same size? */
static inline bool frames_one_size(const struct frames *f)
{
	return !f->vary_sizes;
}

/* Length without FCS of frame n; lengths of frames n to n + count - 1. */
unsigned frames_len(const struct frames *f, uint64_t n);
void frames_lens(const struct frames *f, uint64_t n, unsigned count, uint16_t *lens);

/* Writes frame n into buf, with `ns` in its stamp, and behind it the pattern up to frames_len_max
 * bytes, for which buf has room. Returns the frame's length. */
unsigned frames_make(const struct frames *f, uint8_t *buf, uint64_t n, uint32_t ns);

/* Turns `count` buffers that hold frames of this flow into frames n to n + count - 1, all with `ns`
 * in their stamps. Writes only what may differ. frames_lens gives the lengths. */
void frames_patch(const struct frames *f, uint8_t *const *bufs, unsigned count, uint64_t n,
                  uint32_t ns);

/* Does frame n equal frame n + slots for all n, so that `slots` prepared frames suffice? The answer
 * may be a false no if a list or range has the same value more than once. */
bool frames_fixed(const struct frames *f, unsigned slots);

#endif
