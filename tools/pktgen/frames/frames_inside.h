/* Shared by frames.c, frames_patch.c and frames_avx2.c only; see frames.h. */
#ifndef PKTGEN_FRAMES_FRAMES_INSIDE_H
#define PKTGEN_FRAMES_FRAMES_INSIDE_H

#include "lib/csum.h"
#include "lib/divide.h"
#include "tools/pktgen/frames/frames.h"

/* n modulo count, count not 0. */
static inline uint64_t frames_modulo(uint64_t n, uint64_t count)
{
	/* on processors before 2019 a 32-bit division costs a third of a 64-bit one */
	if ((n | count) >> 32 == 0)
		return (uint32_t)n % (uint32_t)count;
#if __SIZEOF_POINTER__ >= 8
	return n % count;
#else
	/* lib/divide.h divides by 32 bits. The quotient by a larger count has at most 32 bits, and
	 * is found bit by bit. */
	if (count >> 32 == 0)
		return n - divide(n, (uint32_t)count) * count;
	for (unsigned bit = 32; bit-- > 0;)
		if (count <= n >> bit)
			n -= count << bit;
	return n;
#endif
}

/* The number of frame n in its stream. */
static inline uint64_t frames_in_stream(const struct frames *f, uint64_t n)
{
	return f->sender + n * f->senders;
}

/* Byte i of the pattern (frames.h). */
#define FRAMES_PATTERN_STEP 167
#define FRAMES_PATTERN_FIRST 13
static inline uint8_t frames_pattern(unsigned i)
{
	return (uint8_t)(i * FRAMES_PATTERN_STEP + FRAMES_PATTERN_FIRST);
}

/* Sum of the pattern's bytes below `end`, an odd last one padded with zero (RFC 1071). */
static inline uint32_t frames_pattern_below(const struct frames *f, unsigned end)
{
	unsigned whole = end / FRAMES_PATTERN_PERIOD, rest = end % FRAMES_PATTERN_PERIOD;
	uint32_t sum = whole * f->pattern_sum[FRAMES_PATTERN_PERIOD / 2] + f->pattern_sum[rest / 2];
	/* no branch: half of random sizes are odd, and a mispredicted branch costs as much as a
	 * frame */
	return sum + (frames_pattern(end - 1) & -(end % 2));
}

/* The values that depend on the length of a frame. */
static inline struct frames_size frames_size_of(const struct frames *f, unsigned len)
{
	const unsigned tags = f->ip_at - ETH_HLEN;
	const unsigned packet = len - f->ip_at;
	struct frames_size z = {.len = (uint16_t)len};
	z.ip_len = be16_make((uint16_t)(f->v6 ? packet - IP6_HLEN : packet)).raw;
	z.udp_len = be16_make((uint16_t)(len - f->l4_at)).raw;
	z.ip_sum = f->ip_base + z.ip_len;
	z.l4_sum = f->l4_base + f->len_weight * z.udp_len + frames_pattern_below(f, len - tags) -
	           frames_pattern_below(f, f->payload_at - tags) - f->holes;
	return z;
}

/* Writes the lengths in the headers. */
static inline void frames_put_size(const struct frames *f, uint8_t *frame,
                                   const struct frames_size *z)
{
	/* octet 2 of IPv4's header (RFC 791), 4 of IPv6's (RFC 8200) and of UDP's (RFC 768) */
	raw16_store(frame + f->ip_at + (f->v6 ? 4 : 2), z->ip_len);
	if (f->proto == PLAN_UDP)
		raw16_store(frame + f->l4_at + 4, z->udp_len);
}

static inline void frames_put_ip_csum(const struct frames *f, uint8_t *frame, uint32_t sum)
{
	raw16_store(frame + f->ip_at + offsetof(struct ip4_header, checksum), csum_fold(sum));
}

static inline void frames_put_l4_csum(const struct frames *f, uint8_t *frame, uint32_t sum)
{
	uint16_t csum = csum_fold(sum);
	/* RFC 768: UDP sends a checksum of zero as all ones, because 0 means no checksum */
	if (f->proto == PLAN_UDP && csum == 0)
		csum = 0xffff;
	raw16_store(frame + f->l4_csum_at, csum);
}

/* --- the passes of frames_patch.c --- */

#define FRAMES_CHUNK 64 /* frames of a pass */

/* Sums of their IPv4 headers, and of what their L4 checksums cover; then the checksums. */
struct frames_sums {
	uint32_t ip[FRAMES_CHUNK] __attribute__((aligned(32)));
	uint32_t l4[FRAMES_CHUNK] __attribute__((aligned(32)));
};

/* The constants of SplitMix64 (frames.h). */
#define FRAMES_GOLDEN 0x9e3779b97f4a7c15u
#define FRAMES_MIX_FIRST 0xbf58476d1ce4e5b9u
#define FRAMES_MIX_SECOND 0x94d049bb133111ebu

/*
 * Passes for machines with AVX2 (frames.avx2). state: that of SplitMix64 for the first frame; gap: what is added to it
 * for the next frame.
 *
 * frames_random_avx2 patches a random field; false: it has not, because no vector code fits the field.
 * frames_fold_avx2 replaces sums by checksums, and an L4 checksum of 0 by `zero`.
 */
#ifdef __x86_64__
#define FRAMES_AVX2 1
bool frames_random_avx2(const struct frames_field *d, uint64_t state, uint64_t gap,
                        uint8_t *const *bufs, unsigned count, struct frames_sums *sums);
void frames_sizes_avx2(const struct frames *f, uint64_t state, uint64_t gap, uint8_t *const *bufs,
                       unsigned count, struct frames_sums *sums);
void frames_fold_avx2(struct frames_sums *sums, bool ip, bool l4, uint16_t zero, unsigned count);
#else
#define FRAMES_AVX2 0
#define frames_random_avx2(d, state, gap, bufs, count, sums) false
#define frames_sizes_avx2(f, state, gap, bufs, count, sums) ((void)0)
#define frames_fold_avx2(sums, ip, l4, zero, count) ((void)0)
#endif

#endif
