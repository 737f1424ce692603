/*
 * The passes of frames_patch.c with AVX2, eight frames together: random fields of 2, 4 and 8 octets that
 * have fewer than 2^32 values, random sizes, and checksums. A pass computes what frames need in vectors
 * and then stores it frame by frame.
 *
 * AVX2 has no multiplication of 64 bits: the compiler makes the two of SplitMix64 from three of 32 bits
 * each. The compilers' own headers are not available in this tree, so instructions have the compilers'
 * builtin names.
 */
#include "tools/pktgen/frames/frames_inside.h"

#ifdef __x86_64__

#define LANES_FN static inline __attribute__((always_inline, target("avx2")))
#define LANES 8

typedef uint32_t lanes __attribute__((vector_size(32), may_alias));
typedef int signed_lanes __attribute__((vector_size(32)));
typedef uint64_t quads __attribute__((vector_size(32), may_alias));
typedef char octets __attribute__((vector_size(32)));

#ifdef __clang__
#define GATHER __builtin_ia32_gatherd_d256
#else
#define GATHER __builtin_ia32_gathersiv8si
#endif

/* What eight frames need of 64 bits. Frames 0, 1, 4 and 5 are in a: so evens() has them in their order. */
struct pair {
	quads a, b;
};

LANES_FN lanes evens(struct pair p)
{
	return __builtin_shufflevector((lanes)p.a, (lanes)p.b, 0, 2, 8, 10, 4, 6, 12, 14);
}

LANES_FN lanes odds(struct pair p)
{
	return __builtin_shufflevector((lanes)p.a, (lanes)p.b, 1, 3, 9, 11, 5, 7, 13, 15);
}

/* The product of the lower halves of 64 bits (VPMULUDQ). */
LANES_FN quads low_product(quads x, quads y)
{
	return (quads)__builtin_ia32_pmuludq256((signed_lanes)x, (signed_lanes)y);
}

LANES_FN quads mix(quads z)
{
	z = (z ^ z >> 30) * FRAMES_MIX_FIRST;
	z = (z ^ z >> 27) * FRAMES_MIX_SECOND;
	return z ^ z >> 31;
}

/* The upper half of r * count, where count is below 2^32. */
LANES_FN quads below(quads r, quads count)
{
	return (low_product(r >> 32, count) + (low_product(r, count) >> 32)) >> 32;
}

/* Where a stream of random numbers is. */
struct draws {
	struct pair state;
	quads gap, count;
};

LANES_FN struct draws draws_from(uint64_t state, uint64_t gap, uint64_t count)
{
	const quads from = (quads){0} + state;
	return (struct draws){
		.state = {from + (quads){0, gap, 4 * gap, 5 * gap},
		          from + (quads){2 * gap, 3 * gap, 6 * gap, 7 * gap}},
		.gap = (quads){0} + 8 * gap,
		.count = (quads){0} + count};
}

LANES_FN struct pair draw(struct draws *d)
{
	const struct pair drawn = {below(mix(d->state.a), d->count), below(mix(d->state.b), d->count)};
	d->state.a += d->gap;
	d->state.b += d->gap;
	return drawn;
}

/* Sums of the two 16-bit words of each lane. */
LANES_FN lanes words(lanes raw)
{
	return (raw & 0xffff) + (raw >> 16);
}

LANES_FN lanes swap2(lanes v)
{
	return (v << 8 & 0xff00) | (v >> 8 & 0xff);
}

LANES_FN lanes swap4(lanes v)
{
	const octets order = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
	                      3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
	return (lanes)__builtin_ia32_pshufb256((octets)v, order);
}

LANES_FN void add_to(uint32_t *sum, unsigned i, lanes more)
{
	*(lanes *)(void *)&sum[i] += more;
}

LANES_FN void put(uint32_t *to, unsigned i, lanes v)
{
	*(lanes *)(void *)&to[i] = v;
}

/* Adds the sums of a field's values to those of the frames from i on. */
LANES_FN void add_sums(const struct frames_field *d, struct frames_sums *sums, unsigned i, lanes sum)
{
	add_to(sums->ip, i, sum & (d->in_ip ? UINT32_MAX : 0));
	add_to(sums->l4, i, sum << d->shift & (d->in_l4 ? UINT32_MAX : 0));
}

/* `bytes` is a constant at each call. Lanes behind the last frame are computed and not used. */
LANES_FN void patch_field(const struct frames_field *d, struct draws draws, unsigned bytes,
                          uint8_t *const *bufs, unsigned count, struct frames_sums *sums)
{
	uint32_t raw[FRAMES_CHUNK] __attribute__((aligned(32)));
	uint32_t upper[FRAMES_CHUNK] __attribute__((aligned(32)));
	const unsigned at = d->at;
	const quads first = (quads){0} + d->first;
	const lanes keep = (lanes){0} + d->keep;
	for (unsigned i = 0; i < count; i += LANES) {
		struct pair v = draw(&draws);
		v.a += first, v.b += first;
		const lanes low = evens(v) | keep;
		const lanes stored = bytes == 2 ? swap2(low) : swap4(low);
		lanes sum = bytes == 2 ? stored : (lanes)words(stored);
		put(raw, i, stored);
		if (bytes == 8) {
			const lanes high = swap4(odds(v));
			put(upper, i, high);
			sum += words(high);
		}
		add_sums(d, sums, i, sum);
	}
	for (unsigned i = 0; i < count; i++) {
		uint8_t *to = bufs[i] + at;
		if (bytes == 2) {
			raw16_store(to, (uint16_t)raw[i]);
		} else if (bytes == 4) {
			raw32_store(to, raw[i]);
		} else {
			raw32_store(to, upper[i]);
			raw32_store(to + 4, raw[i]);
		}
	}
}

__attribute__((target("avx2"))) bool frames_random_avx2(const struct frames_field *d, uint64_t state,
                                                        uint64_t gap, uint8_t *const *bufs,
                                                        unsigned count, struct frames_sums *sums)
{
	const struct draws draws = draws_from(state, gap, d->count);
	if (d->count > UINT32_MAX)
		return false;
	if (d->bytes == 2)
		patch_field(d, draws, 2, bufs, count, sums);
	else if (d->bytes == 4)
		patch_field(d, draws, 4, bufs, count, sums);
	else if (d->bytes == 8)
		patch_field(d, draws, 8, bufs, count, sums);
	else
		return false;
	return true;
}

/* --- sizes --- */

/* frames_pattern_below of lengths */
LANES_FN lanes pattern_below(const struct frames *f, lanes end)
{
	const lanes rest = end % FRAMES_PATTERN_PERIOD / 2;
	const signed_lanes all = (signed_lanes){0} - 1;
	const int *sums = (const int *)(const void *)f->pattern_sum;
	const lanes sum = (lanes)GATHER((signed_lanes){0}, sums, (signed_lanes)rest, all, 4);
	const lanes last = ((end - 1) * FRAMES_PATTERN_STEP + FRAMES_PATTERN_FIRST) & 0xff;
	return end / FRAMES_PATTERN_PERIOD * f->pattern_sum[FRAMES_PATTERN_PERIOD / 2] + sum +
	       (last & -(end % 2));
}

__attribute__((target("avx2"))) void frames_sizes_avx2(const struct frames *f, uint64_t state,
                                                       uint64_t gap, uint8_t *const *bufs,
                                                       unsigned count, struct frames_sums *sums)
{
	uint32_t ip_len[FRAMES_CHUNK] __attribute__((aligned(32)));
	uint32_t udp_len[FRAMES_CHUNK] __attribute__((aligned(32)));
	struct draws draws = draws_from(state, gap, f->size_span);
	const unsigned tags = f->ip_at - ETH_HLEN, head = f->v6 ? IP6_HLEN : 0;
	const uint32_t l4_base = f->l4_base - f->holes - frames_pattern_below(f, f->payload_at - tags);
	for (unsigned i = 0; i < count; i += LANES) {
		const lanes len = evens(draw(&draws)) + f->size[0].len;
		const lanes ip = swap2(len - f->ip_at - head), udp = swap2(len - f->l4_at);
		put(ip_len, i, ip);
		put(udp_len, i, udp);
		put(sums->ip, i, ip + f->ip_base);
		put(sums->l4, i, udp * f->len_weight + l4_base + pattern_below(f, len - tags));
	}
	for (unsigned i = 0; i < count; i++)
		frames_put_size(f, bufs[i], &(struct frames_size){.ip_len = (uint16_t)ip_len[i],
		                                                  .udp_len = (uint16_t)udp_len[i]});
}

/* --- checksums --- */

LANES_FN void fold(uint32_t *sum, unsigned i, uint32_t zero)
{
	const lanes once = words(*(const lanes *)(const void *)&sum[i]);
	const lanes csum = ~words(once) & 0xffff;
	put(sum, i, csum | ((lanes)(csum == 0) & zero));
}

__attribute__((target("avx2"))) void frames_fold_avx2(struct frames_sums *sums, bool ip, bool l4,
                                                      uint16_t zero, unsigned count)
{
	for (unsigned i = 0; ip && i < count; i += LANES)
		fold(sums->ip, i, 0);
	for (unsigned i = 0; l4 && i < count; i += LANES)
		fold(sums->l4, i, zero);
}

#endif
