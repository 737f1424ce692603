/*
 * Turns frames of a flow into its next ones: the hot path of the generator; see frames.h.
 *
 * Passes go over up to FRAMES_CHUNK frames: one for sizes, one for each field, one for checksums. A last
 * pass writes the stamps of the whole burst. A pass takes its decisions once, outside of its loop.
 * Between passes, two small arrays keep the sums of the frames. frames_avx2.c has some of the passes for
 * machines with AVX2.
 *
 * Carries: all that is added to a sum stays below 2^30 (a pattern of PLAN_FRAME_MAX bytes below
 * 2^29, a field below 2^26). So a sum fits 32 bits, and only the pass for checksums folds it.
 */
#include "lib/types.h"
#include "tools/pktgen/frames/frames.h"
#include "tools/pktgen/frames/frames_inside.h"
#include "tools/pktgen/wide.h"

_Static_assert((uint64_t)PLAN_FRAME_MAX / 2 * 0xffff + ((uint64_t)PLAN_FIELDS_MAX << 26) +
               8 * 0xffff < UINT32_MAX, "sums of a frame");

/* --- random numbers (frames.h) --- */

static inline uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * FRAMES_MIX_FIRST;
	z = (z ^ z >> 27) * FRAMES_MIX_SECOND;
	return z ^ z >> 31;
}

/* The state of SplitMix64 that yields its output m. */
static inline uint64_t place(uint64_t seed, uint64_t m)
{
	return seed + (m + 1) * FRAMES_GOLDEN;
}

/* The upper half of r * count. */
static inline uint64_t below(uint64_t r, uint64_t count)
{
#ifdef __SIZEOF_INT128__
	return (uint64_t)((unsigned __int128)r * count >> 64);
#else
	return wide_mul(r, count).high;
#endif
}

/* --- sizes --- */

static inline unsigned random_len(const struct frames *f, uint64_t state)
{
	return f->size[0].len + (unsigned)below(mix(state), f->size_span);
}

/* The index of the next frame's size, where k is that of this frame. */
static inline unsigned next_size(const struct frames *f, unsigned k)
{
	k += f->size_stride;
	return k >= f->sizes ? k - f->sizes : k;
}

static inline unsigned first_size(const struct frames *f, uint64_t m)
{
	return (unsigned)frames_modulo(m, f->sizes);
}

void frames_lens(const struct frames *f, uint64_t n, unsigned count, uint16_t *lens)
{
	const uint64_t m = frames_in_stream(f, n);
	if (!f->vary_sizes) {
		for (unsigned i = 0; i < count; i++)
			lens[i] = f->size[0].len;
	} else if (f->size_mode == PLAN_SIZES_RANDOM) {
		uint64_t state = place(f->size_seed, m);
		for (unsigned i = 0; i < count; i++, state += f->senders * FRAMES_GOLDEN)
			lens[i] = (uint16_t)random_len(f, state);
	} else {
		unsigned k = first_size(f, m);
		for (unsigned i = 0; i < count; i++, k = next_size(f, k))
			lens[i] = f->size[k].len;
	}
}

unsigned frames_len(const struct frames *f, uint64_t n)
{
	uint16_t len;
	frames_lens(f, n, 1, &len);
	return len;
}

static void patch_sizes(const struct frames *f, uint8_t *const *bufs, unsigned count, uint64_t m,
                        struct frames_sums *sums)
{
	const bool random = f->size_mode == PLAN_SIZES_RANDOM;
	uint64_t state = place(f->size_seed, m);
	if (FRAMES_AVX2 && f->avx2 && random) {
		frames_sizes_avx2(f, state, f->senders * FRAMES_GOLDEN, bufs, count, sums);
		return;
	}
	unsigned k = random ? 0 : first_size(f, m);
	for (unsigned i = 0; i < count; i++) {
		struct frames_size made;
		const struct frames_size *z = &f->size[k];
		if (random) {
			made = frames_size_of(f, random_len(f, state));
			z = &made;
			state += f->senders * FRAMES_GOLDEN;
		} else {
			k = next_size(f, k);
		}
		frames_put_size(f, bufs[i], z);
		sums->ip[i] = z->ip_sum;
		sums->l4[i] = z->l4_sum;
	}
}

/* Fills the whole arrays, for bursts of any length: the compiler makes vector stores of a loop of
 * constant length. */
static void same_size(const struct frames *f, struct frames_sums *sums)
{
	const uint32_t ip = f->size[0].ip_sum, l4 = f->size[0].l4_sum;
	for (unsigned i = 0; i < FRAMES_CHUNK; i++)
		sums->ip[i] = ip;
	for (unsigned i = 0; i < FRAMES_CHUNK; i++)
		sums->l4[i] = l4;
}

/* --- fields --- */

/* Sum of the 16-bit words of a raw value. */
static inline uint32_t words(uint32_t raw)
{
	return (raw & 0xffff) + (raw >> 16);
}

/* Stores the low `bytes` bytes of v in network order. Returns their sum as if they began at an even
 * offset. */
static inline __attribute__((always_inline)) uint32_t store(uint8_t *p, uint64_t v, unsigned bytes)
{
	const uint32_t low = be32_make((uint32_t)v).raw, high = be32_make((uint32_t)(v >> 32)).raw;
	const uint16_t two = be16_make((uint16_t)v).raw;
	switch (bytes) {
	case 1:
		p[0] = (uint8_t)v;
		return be16_make((uint16_t)(p[0] << 8)).raw;
	case 2:
		raw16_store(p, two);
		return two;
	case 4:
		raw32_store(p, low);
		return words(low);
	case 6:
		be16_store(p, (uint16_t)(v >> 32));
		raw32_store(p + 2, low);
		return 0; /* a MAC address is in no checksum */
	default:
		raw32_store(p, high);
		raw32_store(p + 4, low);
		return words(high) + words(low);
	}
}

/* The pass for one field, in frames m, m + senders, ... of the stream. Mode and bytes are constants
 * to the compiler, which makes a loop without branches for each pair of them. */
static inline __attribute__((always_inline)) void patch_one(const struct frames *f,
                                                            const struct frames_field *d,
                                                            enum plan_mode mode, unsigned bytes,
                                                            uint8_t *const *bufs, unsigned count,
                                                            uint64_t m, struct frames_sums *sums)
{
	const uint32_t ip = d->in_ip ? UINT32_MAX : 0, l4 = d->in_l4 ? UINT32_MAX : 0;
	const unsigned at = d->at, shift = d->shift;
	const uint64_t keep = d->keep, first = d->first, step = d->step, range = d->count;
	const uint64_t back = d->back, stride = range - back, gap = f->senders * FRAMES_GOLDEN;
	uint64_t state = place(d->seed, m), k = mode == PLAN_RANDOM ? 0 : frames_modulo(m, range);
	for (unsigned i = 0; i < count; i++) {
		uint64_t v;
		if (mode == PLAN_RANDOM) {
			v = first + below(mix(state), range);
			state += gap;
		} else {
			v = mode == PLAN_LIST ? d->list[k] : first + k * step;
			/* one stride on, modulo count, without an overflow of k + stride */
			k = k >= back ? k - back : k + stride;
		}
		uint32_t sum = store(bufs[i] + at, v | keep, bytes);
		if (bytes == 6)
			continue;
		/* RFC 1071 2(B): at an odd offset the bytes of each word are swapped */
		sums->ip[i] += sum & ip;
		sums->l4[i] += sum << shift & l4;
	}
}

static inline __attribute__((always_inline)) void patch_bytes(const struct frames *f,
                                                              const struct frames_field *d,
                                                              unsigned bytes, uint8_t *const *bufs,
                                                              unsigned count, uint64_t m,
                                                              struct frames_sums *sums)
{
	if (d->mode == PLAN_RANDOM)
		patch_one(f, d, PLAN_RANDOM, bytes, bufs, count, m, sums);
	else if (d->mode == PLAN_LIST)
		patch_one(f, d, PLAN_LIST, bytes, bufs, count, m, sums);
	else
		patch_one(f, d, PLAN_INCREMENT, bytes, bufs, count, m, sums);
}

static void patch_field(const struct frames *f, const struct frames_field *d, uint8_t *const *bufs,
                        unsigned count, uint64_t m, struct frames_sums *sums)
{
	if (FRAMES_AVX2 && f->avx2 && d->mode == PLAN_RANDOM &&
	    frames_random_avx2(d, place(d->seed, m), f->senders * FRAMES_GOLDEN, bufs, count, sums))
		return;
	switch (d->bytes) {
	case 1: patch_bytes(f, d, 1, bufs, count, m, sums); break;
	case 2: patch_bytes(f, d, 2, bufs, count, m, sums); break;
	case 4: patch_bytes(f, d, 4, bufs, count, m, sums); break;
	case 6: patch_bytes(f, d, 6, bufs, count, m, sums); break;
	default: patch_bytes(f, d, 8, bufs, count, m, sums); break;
	}
}

/* --- checksums and stamps --- */

/* Replaces sums by checksums. ip and l4: of these. */
static void fold(const struct frames *f, bool ip, bool l4, unsigned count, struct frames_sums *sums)
{
	/* RFC 768: UDP sends a checksum of zero as all ones, because 0 means no checksum */
	const uint16_t zero = f->proto == PLAN_UDP ? 0xffff : 0;
	if (FRAMES_AVX2 && f->avx2) {
		frames_fold_avx2(sums, ip, l4, zero, count);
		return;
	}
	for (unsigned i = 0; ip && i < count; i++)
		sums->ip[i] = csum_fold(sums->ip[i]);
	for (unsigned i = 0; l4 && i < count; i++) {
		const uint16_t csum = csum_fold(sums->l4[i]);
		sums->l4[i] = csum == 0 ? zero : csum;
	}
}

/* ip and l4 are constants to the compiler, which makes a loop for each of three combinations. */
static inline __attribute__((always_inline)) void put_checksums(const struct frames *f, bool ip,
                                                                bool l4, uint8_t *const *bufs,
                                                                unsigned count,
                                                                struct frames_sums *sums)
{
	const unsigned ip_at = f->ip_at + (unsigned)offsetof(struct ip4_header, checksum);
	const unsigned l4_at = f->l4_csum_at;
	fold(f, ip, l4, count, sums);
	for (unsigned i = 0; i < count; i++) {
		uint8_t *frame = bufs[i];
		if (ip)
			raw16_store(frame + ip_at, (uint16_t)sums->ip[i]);
		if (l4)
			raw16_store(frame + l4_at, (uint16_t)sums->l4[i]);
	}
}

static void patch_checksums(const struct frames *f, uint8_t *const *bufs, unsigned count,
                            struct frames_sums *sums)
{
	if (f->vary_ip_csum && f->vary_l4_csum)
		put_checksums(f, true, true, bufs, count, sums);
	else if (f->vary_ip_csum)
		put_checksums(f, true, false, bufs, count, sums);
	else if (f->vary_l4_csum)
		put_checksums(f, false, true, bufs, count, sums);
}

/* The check word of the stamp with this number and time. */
static uint16_t stamp_check(const struct frames *f, uint64_t n, uint32_t ns)
{
	uint64_t sum = (uint64_t)STAMP_MAGIC + f->flow + words(ns) + words((uint32_t)n) +
	               words((uint32_t)(n >> 32));
	return csum_fold((uint32_t)sum);
}

/*
 * Two stores a frame. The first is the number. The second is the number's two upper bytes again,
 * the time and the check word.
 *
 * The words of a number sum up to the number itself modulo ffff, so each check word is one less
 * than the one before. After 0 follows fffe: the sum of a stamp includes its magic, so it folds to
 * 1 to ffff, never to 0. The inner loop ends before the number's two upper bytes change or the
 * check word wraps.
 */
static void patch_stamps(const struct frames *f, uint8_t *const *bufs, unsigned count, uint64_t n,
                         uint32_t ns)
{
	const unsigned at = f->stamp_at;
	while (count > 0) {
		const uint16_t check = stamp_check(f, n, ns);
		const uint64_t room = (1ull << 48) - (n & ((1ull << 48) - 1));
		uint64_t tail = n >> 48 | (uint64_t)ns << 16 | (uint64_t)check << 48;
		unsigned run = count < check + 1u ? count : check + 1u;
		if (run > room)
			run = (unsigned)room;
		for (unsigned i = 0; i < run; i++, tail -= 1ull << 48) {
			raw64_store(bufs[i] + at + offsetof(struct stamp, number), n + i);
			raw64_store(bufs[i] + at + offsetof(struct stamp, ns) - 2, tail);
		}
		bufs += run;
		count -= run;
		n += run;
	}
}

_Static_assert(offsetof(struct stamp, ns) + 4 == offsetof(struct stamp, check) &&
               offsetof(struct stamp, number) + 8 == offsetof(struct stamp, ns),
               "patch_stamps writes across them");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a stamp is little-endian and is stored as the host's own numbers"
#endif

void frames_use(struct frames *f, unsigned vector_bits)
{
	f->avx2 = FRAMES_AVX2 && vector_bits >= 256;
}

void frames_patch(const struct frames *f, uint8_t *const *bufs, unsigned count, uint64_t n,
                  uint32_t ns)
{
	if (f->vary_sizes || f->fields > 0) {
		struct frames_sums sums;
		for (unsigned done = 0; done < count; done += FRAMES_CHUNK) {
			const unsigned left = count - done, some = left < FRAMES_CHUNK ? left : FRAMES_CHUNK;
			const uint64_t m = frames_in_stream(f, n + done);
			if (f->vary_sizes)
				patch_sizes(f, bufs + done, some, m, &sums);
			else
				same_size(f, &sums);
			for (unsigned i = 0; i < f->fields; i++)
				patch_field(f, &f->field[i], bufs + done, some, m, &sums);
			patch_checksums(f, bufs + done, some, &sums);
		}
	}
	if (f->stamped)
		patch_stamps(f, bufs, count, n, ns);
}
