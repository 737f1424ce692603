/*
 * The frames of one flow: what a core sends of one stream.
 *
 * Frame n of a flow is a function of (stream, flow, n) and of the time in its stamp, so every byte
 * can be recomputed from the script. A stream that `senders` flows share is
 * numbered through: frame n of the flow `sender` has the sizes and fields of frame
 * m = sender + n * senders of the stream, whatever the number of cores; the number in its stamp is
 * n, the flow's own.
 *
 *     Ethernet | 0 to 2 tags | IPv4 or IPv6 | UDP, TCP, ICMP or nothing | stamp, if any | pattern
 *
 * Byte i of the pattern is (167 i + 13) modulo 256, where i counts from the start of the frame as
 * if it had no tags: a router or switch may take tags off and the pattern still fits. The generator
 * of tools/nicsim sends the same (docs/nicsim.md, gen). Fields in the payload replace it where they
 * are.
 *
 * A random number is SplitMix64 (Steele, Lea, Flood, 2014) of a seed at place m: any of them can be
 * had without those before it. Of r, 64 bits, a number below `count` is the upper half of the 128
 * bits of r * count: a multiplication, where a division would cost as much as the whole frame.
 *
 * Invariants
 * 1. Every checksum is right in every frame: IPv4 header, UDP, TCP, ICMP, ICMPv6. That of UDP is
 *    never 0 (RFC 768, RFC 8200 8.1: 0 is sent as ffff).
 * 2. frames_patch makes of any buffer that once was given to frames_make of this flow exactly the
 *    bytes that frames_make would make. For this a buffer has the pattern up to the flow's largest
 *    size, also while its frame is shorter.
 * 3. Nothing is divided and nothing summed up per frame: of a frame's checksum all but its fields
 *    is a number kept for its size. The stamp sums up to zero, so checksums do not depend on it.
 * 4. No state changes after frames_init: the same flow may be asked for any n in any order.
 *
 * m is computed in 64 bits: it wraps after 2^64 / senders frames, which is thousands of years.
 *
 * Deliberately missing: IPv4 options and IPv6 extension headers, fragments, sequence numbers of TCP
 * that move (each segment is the same, from 0), 802.3 length frames.
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
#define FRAMES_PROTO_NONE 253  /* RFC 3692: for experiments; of a stream that is IP alone */
#define FRAMES_SENDERS_MAX 256
#define FRAMES_HEAD_MAX \
	(ETH_HLEN + PLAN_VLANS_MAX * FRAMES_TAG_BYTES + IP6_HLEN + TCP_HLEN + STAMP_BYTES)

/* --- where things are; the script's checks ask as well --- */

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

/* Offset of the payload behind the stamp, if there is one: where the fields of a payload begin. */
static inline unsigned frames_payload_at(const struct plan_stream *s)
{
	return frames_l4_at(s) + frames_l4_bytes(s->proto) + (s->stamped ? STAMP_BYTES : 0);
}

/* Length of the shortest frame that holds headers, stamp and fields, without FCS; it may be less
 * than Ethernet's least. */
unsigned frames_least(const struct plan_stream *s);

/* --- a flow --- */

/* A field that changes. */
struct frames_field {
	enum plan_where where;
	enum plan_mode mode;
	uint64_t first, step, count;
	uint64_t seed;
	uint64_t back;   /* count less the stride of k, which is senders modulo count */
	uint16_t at;     /* offset in the frame */
	uint16_t keep;   /* of a tag: the bits beside its ID, host order */
	uint8_t bytes;   /* 1, 2, 4, 6 or 8 */
	uint8_t shift;   /* 8 when it begins at an odd offset of what is summed, else 0 */
	bool in_ip, in_l4; /* whose checksums it is part of */
	uint64_t list[PLAN_LIST_MAX];
};

/* What depends on the size of a frame. */
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
	enum plan_proto proto;
	uint16_t flow;
	uint16_t ip_at, l4_at, payload_at; /* as the functions above */
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
	uint32_t size_span;    /* of those: how many sizes there are */
	uint32_t ip_base, l4_base;  /* sums of what no size and no field changes, of 16 bits */
	uint32_t len_weight;   /* how often the length of the segment stands in what l4_sum adds up */
	uint32_t holes;        /* what the pattern would have where the payload's fields are */
	struct frames_field field[PLAN_FIELDS_MAX];
	uint32_t pattern_sum[FRAMES_PATTERN_PERIOD / 2 + 1]; /* of a period's first words */
	uint8_t head[FRAMES_HEAD_MAX]; /* of a frame of size[0], fields and stamp zero */
};

/*
 * The frames that sender number `sender` (below `senders`) sends of stream s, with these station
 * addresses where no field says otherwise, and `flow` in their stamps. E_INVAL, *f undefined: the
 * stream is none that script_parse lets through (a size without room for headers, stamp and fields,
 * a field that the protocol has not, fields of the payload that overlap, too many senders).
 */
int frames_init(struct frames *f, const struct plan_stream *s, const uint8_t mac_src[6],
                const uint8_t mac_dst[6], unsigned flow, unsigned sender, unsigned senders);

/* The largest frame: room that buffers must have. */
static inline unsigned frames_len_max(const struct frames *f)
{
	return f->len_max;
}

/* All frames have the same size. */
static inline bool frames_one_size(const struct frames *f)
{
	return !f->vary_sizes;
}

/* Length of frame n without FCS; of frames n to n + count - 1. */
unsigned frames_len(const struct frames *f, uint64_t n);
void frames_lens(const struct frames *f, uint64_t n, unsigned count, uint16_t *lens);

/* Writes the whole frame n into buf, which has room for frames_len_max, with `ns` in its stamp, and
 * the pattern behind it up to there. Returns its length. */
unsigned frames_make(const struct frames *f, uint8_t *buf, uint64_t n, uint32_t ns);

/* Buffers that hold frames of this flow become frames n to n + count - 1, all with `ns` in their
 * stamps; only what may differ is written. Lengths: frames_lens. */
void frames_patch(const struct frames *f, uint8_t *const *bufs, unsigned count, uint64_t n,
                  uint32_t ns);

/* Frame n equals frame n + slots for all n, so that `slots` prepared frames are all there are. It
 * may miss that a list or a range says the same more than once in a round. */
bool frames_fixed(const struct frames *f, unsigned slots);

#endif
