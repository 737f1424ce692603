#include "tools/nicsim/wires/judge.h"

#include <string.h>

#include "tools/nicsim/json.h"
#include "tools/nicsim/wires/histogram.h"

#define STAMP_END (STAMP_AT + (uint32_t)sizeof(struct stamp))

struct stream streams[STREAMS];
static struct latency {
	uint64_t sum;
	struct histogram times; /* ns */
} latencies[STREAMS];
uint8_t pattern[FRAME_MAX];
static uint64_t even_sums[FRAME_MAX / 2 + 1]; /* of pattern from STAMP_END to 2 * i */
bool judge_fours;

_Static_assert(sizeof(struct stamp) == 18, "60 byte frames hold it");

void judge_init(void)
{
	if (pattern[0])
		return;
	judge_fours = __builtin_cpu_supports("avx2");
	for (uint32_t i = 0; i < FRAME_MAX; i++)
		pattern[i] = (uint8_t)(i * 167 + 13);
	for (uint32_t i = STAMP_END; i < FRAME_MAX; i += 2)
		even_sums[i / 2 + 1] = even_sums[i / 2] + sum_load16(pattern + i);
}

uint64_t pattern_sum(uint32_t bytes)
{
	uint64_t sum = even_sums[bytes / 2];
	return bytes % 2 ? sum + pattern[bytes - 1] : sum; /* padded with zero: little-endian */
}

void stream_begin(struct stream *s, uint64_t first)
{
	memset(s, 0, sizeof *s);
	s->used = true;
	s->first = s->next = first;
}

void stream_restart(struct stream *s)
{
	struct latency *l = &latencies[s - streams];
	stream_begin(s, s->first + s->sent);
	l->sum = 0;
	histogram_clear(&l->times);
}

/* Marks number n as seen; false if it already was. The window slides with `next`. */
static bool note(struct stream *s, uint64_t n)
{
	if (n >= s->next) {
		uint64_t gap = n - s->next;
		if (gap >= JUDGE_WINDOW)
			memset(s->seen, 0, sizeof s->seen);
		else
			for (uint64_t i = s->next; i < n; i++)
				s->seen[i % JUDGE_WINDOW / 64] &= ~(1ull << i % 64);
		s->next = n + 1;
		s->seen[n % JUDGE_WINDOW / 64] |= 1ull << n % 64;
		return true;
	}
	s->reordered++;
	if (s->next - n > JUDGE_WINDOW)
		return true; /* outside the window: counted as new */
	uint64_t *word = &s->seen[n % JUDGE_WINDOW / 64], bit = 1ull << n % 64;
	bool fresh = !(*word & bit);
	*word |= bit;
	return fresh;
}

bool stream_note(struct stream *s, const struct stamp *t, uint32_t bytes)
{
	if (t->number < s->first) {
		s->stale++;
		return false;
	}
	if (!note(s, t->number)) {
		s->duplicates++;
		s->reordered--;
		return false;
	}
	s->received++;
	s->bytes += bytes;
	return true;
}

/* Whether everything from the IP header on is as sent, apart from what a router may change. */
static bool is_intact(const uint8_t *ip, uint32_t total)
{
	const uint8_t *t = ip + 28;
	uint64_t addresses = sum_load64(ip + 12);
	if (sum_fold(sum_load64(ip) + sum_load32(ip + 8) + addresses) != 0xffff ||
	    sum_fold(sum_load64(t) + sum_load64(t + 8) + sum_load16(t + 16)) != 0xffff)
		return false;
	uint32_t udp_bytes = (uint32_t)ip[24] << 8 | ip[25], frame = total + 14;
	if (udp_bytes != total - 20 ||
	    (frame > STAMP_END &&
	     memcmp(t + sizeof(struct stamp), pattern + STAMP_END, frame - STAMP_END) != 0))
		return false;
	/* RFC 768: addresses, protocol, length, header; the stamp adds nothing. Zero means no
	 * checksum. */
	uint64_t sum = addresses + (17 << 8) + sum_load16(ip + 24) + sum_load64(ip + 20);
	return sum_load16(ip + 26) == 0 || sum_fold(sum + pattern_sum(frame)) == 0xffff;
}

void judge_frame(struct judge *g, const uint8_t *data, uint32_t bytes, uint64_t now)
{
	struct stamp t;
	uint32_t at = bytes >= 18 && data[12] == 0x81 && data[13] == 0 ? 18 : 14; /* one VLAN tag */
	const uint8_t *ip = data + at;
	if (bytes < at + STAMP_END - 14 || ip[-2] != 0x08 || ip[-1] != 0 || ip[0] != 0x45 ||
	    ip[9] != 17) {
		g->foreign++;
		return;
	}
	uint32_t total = (uint32_t)ip[2] << 8 | ip[3];
	memcpy(&t, ip + 28, sizeof t);
	if (t.magic != STAMP_MAGIC || t.stream >= STREAMS || !streams[t.stream].used ||
	    total < STAMP_END - 14 || total > bytes - at) {
		g->foreign++;
		return;
	}
	struct stream *s = &streams[t.stream];
	g->judged++;
	if (!is_intact(ip, total) || t.number >= s->first + s->sent) {
		g->corrupted++;
		s->corrupted++;
		return;
	}
	if (stream_note(s, &t, bytes)) {
		const uint32_t latency = (uint32_t)now - t.ns;
		latencies[t.stream].sum += latency;
		histogram_add(&latencies[t.stream].times, latency);
	}
}

/* --- frames in a row --- */

/*
 * Frames of one stream and length that continue its numbers and were sent at the same time, as most
 * are: they are entered together, when another kind of frame comes or the call ends. What they have
 * in common is compared as words of the frame's bytes; the number after `at` says where one begins.
 */
struct run {
	struct stream *s;
	/* Numbers: the first, the one behind the last, the stream's own end; all 0: no run. */
	uint64_t begin, next, end;
	uint64_t bytes;
	uint64_t at12, at20, at34, at42, at50; /* at42 and at50: without the number */
	uint32_t frame; /* bytes without what may follow the IP packet */
	uint64_t fixed; /* part of UDP's sum: protocol and length of the pseudo header, pattern */
	uint32_t ns;
	uint16_t stream;
};

#define SAME12 0x0000ffff00ffffffull /* EtherType, version and length of the header, total length */
#define SAME20 0x00000000ff000000ull /* protocol */
#define SAME34 0x0000ffff00000000ull /* UDP's length */

static void mark_seen(struct stream *s, uint64_t from, uint64_t to)
{
	while (from < to) {
		const unsigned bit = from % 64;
		const uint64_t here = to - from < 64 - bit ? to - from : 64 - bit;
		s->seen[from % JUDGE_WINDOW / 64] |= (here < 64 ? (1ull << here) - 1 : ~0ull) << bit;
		from += here;
	}
}

static void run_end(struct run *r, uint64_t now)
{
	struct stream *s = r->s;
	const uint64_t frames = r->next - r->begin;
	if (frames) {
		const uint32_t latency = (uint32_t)now - r->ns;
		mark_seen(s, r->begin, r->next);
		s->next = r->next;
		s->received += frames;
		s->bytes += r->bytes;
		latencies[r->stream].sum += frames * latency;
		histogram_add_times(&latencies[r->stream].times, latency, frames);
	}
	r->begin = r->next = r->end = 0;
}

static inline uint64_t word(const uint8_t *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof w);
	return w;
}

static inline uint64_t end_around(uint64_t a, uint64_t b)
{
	const uint64_t sum = a + b;
	return sum + (sum < b);
}

/* Whether a one's complement sum of 16-bit words that is not 0 is -0: a multiple of 65535. Its
 * product with the inverse of 65535 is then the quotient, at most (2^64 - 1) / 65535; all other
 * numbers have larger products. */
static inline bool sum_is_right(uint64_t sum)
{
	return sum * 0xfffefffefffeffffull <= 0x0001000100010001ull;
}

/* Begins a run with that frame, of at least STAMP_END bytes; false: it has no stamp, or its number is
 * not the one that the stream expects. */
static bool run_begin(struct run *r, const uint8_t *data, uint32_t bytes)
{
	const uint32_t total = (uint32_t)data[16] << 8 | data[17], frame = total + 14;
	struct stamp t;
	memcpy(&t, data + STAMP_AT, sizeof t);
	struct stream *s = &streams[t.stream % STREAMS];
	if (frame < STAMP_END || frame > bytes || ((uint32_t)data[38] << 8 | data[39]) != total - 20 ||
	    t.magic != STAMP_MAGIC || t.stream >= STREAMS || !s->used || t.number != s->next ||
	    t.number - s->first >= s->sent)
		return false;
	*r = (struct run){
		.s = s, .begin = t.number, .next = t.number, .end = s->first + s->sent,
		.at12 = 0x450008 | (word(data + 12) & SAME12 & ~0xffffffull),
		.at20 = 17u << 24,
		.at34 = word(data + 34) & SAME34,
		.at42 = word(data + 42) & 0xffffffff,
		.at50 = (uint64_t)t.ns << 32,
		.frame = frame,
		.fixed = (17 << 8) + sum_load16(data + 38) + pattern_sum(frame),
		.ns = t.ns, .stream = t.stream};
	return true;
}

/* Takes an untagged frame that continues the run, with the checks of judge_frame; false: another. */
static inline bool run_takes(struct run *r, const uint8_t *data, uint32_t bytes)
{
	const uint64_t at12 = word(data + 12), at20 = word(data + 20), at26 = word(data + 26);
	const uint64_t at34 = word(data + 34), at42 = word(data + 42), at50 = word(data + 50);
	const uint64_t other = ((at12 ^ r->at12) & SAME12) | ((at20 ^ r->at20) & SAME20) |
	                       ((at34 ^ r->at34) & SAME34) | (at42 ^ r->at42 ^ r->next << 32) |
	                       (at50 ^ r->at50 ^ r->next >> 32);
	if (other || r->next >= r->end || r->frame > bytes)
		return false;
	/* the IP header with the EtherType before it, a word of 8, and without the bytes from 34 on */
	const uint64_t ip = end_around(end_around(at12, at20), at26 >> 16);
	const uint64_t udp = end_around(end_around(at26, at34), r->fixed);
	const uint64_t stamp = end_around(end_around(at42, at50), sum_load16(data + 58));
	if (!sum_is_right(ip - 8) || !sum_is_right(stamp) || (!sum_is_right(udp) && at34 >> 48) ||
	    (r->frame > STAMP_END &&
	     memcmp(data + STAMP_END, pattern + STAMP_END, r->frame - STAMP_END) != 0))
		return false;
	r->next++;
	r->bytes += bytes;
	return true;
}

/*
 * Four frames together by AVX2: 45 instructions a frame instead of 79. The octets 12 to 59 of the
 * frames are transposed, so each vector holds one word of all.
 */
#define FOUR    4
#define FOUR_FN static inline __attribute__((always_inline, target("avx2")))

typedef uint64_t quads __attribute__((vector_size(32)));
typedef long long signed_quads __attribute__((vector_size(32)));
typedef uint64_t any_quads __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint64_t pair __attribute__((vector_size(16)));
typedef uint64_t any_pair __attribute__((vector_size(16), aligned(1), may_alias));

#define QUADS(x)   ((quads){x, x, x, x})
#define LOW_HALVES QUADS(0xffffffff)
#define LOW_48     QUADS(0xffffffffffff)

/* What a frame consists of, as words of its octets from 12 on. */
struct words {
	quads at12, at20, at28, at36, at44, at52;
};

FOUR_FN quads load_quads(const uint8_t *p) { return *(const any_quads *)(const void *)p; }

FOUR_FN quads load_pairs(const uint8_t *p, const uint8_t *q)
{
	const pair a = *(const any_pair *)(const void *)p, b = *(const any_pair *)(const void *)q;
	return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}

FOUR_FN struct words load_words(const struct frame *v)
{
	const uint8_t *p = v[0].data, *q = v[1].data, *r = v[2].data, *s = v[3].data;
	const quads a = load_quads(p + 12), b = load_quads(q + 12);
	const quads c = load_quads(r + 12), d = load_quads(s + 12);
	const quads ab = __builtin_shufflevector(a, b, 0, 4, 2, 6);
	const quads cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
	const quads ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
	const quads cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
	const quads x = load_pairs(p + 44, r + 44), y = load_pairs(q + 44, s + 44);
	return (struct words){__builtin_shufflevector(ab, cd, 0, 1, 4, 5),
	                      __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5),
	                      __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
	                      __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7),
	                      __builtin_shufflevector(x, y, 0, 4, 2, 6),
	                      __builtin_shufflevector(x, y, 1, 5, 3, 7)};
}

/* The two halves of each word added: a sum of 16-bit words below 2^33. */
FOUR_FN quads halves(quads x) { return (x & LOW_HALVES) + (x >> 32); }

/* 0 for sums, below 2^37 and not 0, that are -0. */
FOUR_FN quads wrong_sum(quads sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) ^ 0xffff; /* below 0x10020: no other multiple */
}

/* 0 for frames that have what the run's have, and its next numbers. */
FOUR_FN quads differences(const struct words *w, const struct run *r)
{
	const quads number = QUADS(r->next) + (quads){0, 1, 2, 3};
	const uint64_t at36 = r->at34 >> 16 & 0xffff0000ull, magic = r->at42 << 48;
	return ((w->at12 ^ r->at12) & SAME12) | ((w->at20 ^ r->at20) & SAME20) |
	       ((w->at36 ^ (at36 | magic)) & 0xffff0000ffff0000ull) |
	       (w->at44 ^ r->stream ^ number << 16) |
	       ((w->at52 ^ (uint64_t)r->ns << 16 ^ number >> 48) & LOW_48);
}

/* 0 where the three checksums are right. A frame without UDP checksum is wrong here. */
FOUR_FN quads wrong_sums(const struct words *w, uint64_t fixed)
{
	const quads ip = halves(w->at12 & ~0xffffull) + halves(w->at20) + halves(w->at28 & LOW_48);
	const quads udp = (w->at20 >> 48) + halves(w->at28) + halves(w->at36 & LOW_48) + fixed;
	const quads stamp = (w->at36 >> 48) + halves(w->at44) + halves(w->at52);
	return wrong_sum(ip) | wrong_sum(udp) | wrong_sum(stamp);
}

/* Whether the frames have the run's length at least, and the pattern behind the stamp. */
FOUR_FN bool four_long(const struct run *r, const struct frame *v)
{
	bool good = true;
	for (unsigned i = 0; i < FOUR; i++)
		good &= v[i].bytes >= r->frame;
	for (unsigned i = 0; good && r->frame > STAMP_END && i < FOUR; i++)
		good = memcmp(v[i].data + STAMP_END, pattern + STAMP_END, r->frame - STAMP_END) == 0;
	return good;
}

/* Takes frames of v, at most n, four together, as run_takes would take each; returns how many. A run
 * has begun. */
__attribute__((target("avx2"))) static unsigned
run_takes_fours(struct run *r, const struct frame *v, unsigned n)
{
	struct run q = *r; /* in registers */
	unsigned done = 0;
	for (; n - done >= FOUR && q.end - q.next >= FOUR && four_long(&q, v); done += FOUR, v += FOUR) {
		const struct words w = load_words(v);
		const quads wrong = differences(&w, &q) | wrong_sums(&w, q.fixed);
		if (!__builtin_ia32_ptestz256((signed_quads)wrong, (signed_quads)wrong))
			break;
		q.next += FOUR;
		q.bytes += v[0].bytes + v[1].bytes + v[2].bytes + v[3].bytes;
	}
	r->next = q.next;
	r->bytes = q.bytes;
	return done;
}

uint64_t judge_frames(struct judge *g, const struct frame *v, unsigned n, uint64_t now)
{
	struct run r = {0};
	uint64_t others = 0;
	g->judged += n;
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *data = v[i].data;
		const uint32_t bytes = v[i].bytes;
		if (__builtin_expect(bytes >= STAMP_END && run_takes(&r, data, bytes), 1))
			continue;
		run_end(&r, now);
		if (bytes >= STAMP_END && run_begin(&r, data, bytes) && run_takes(&r, data, bytes)) {
			if (n - i > FOUR && judge_fours)
				i += run_takes_fours(&r, &v[i + 1], n - i - 1);
			continue;
		}
		r.begin = r.next = r.end = 0;
		const uint64_t foreign = g->foreign;
		g->judged--; /* judge_frame counts it */
		judge_frame(g, data, bytes, now);
		others |= (uint64_t)(g->foreign != foreign) << i;
	}
	run_end(&r, now);
	return others;
}

/* --- results --- */

void stream_stats(const struct stream *s, uint64_t sent, struct json *j)
{
	json_u64(j, "sent", sent);
	json_u64(j, "received", s->received);
	json_u64(j, "received_bytes", s->bytes);
	json_u64(j, "lost", sent > s->received ? sent - s->received : 0);
	json_u64(j, "reordered", s->reordered);
	json_u64(j, "duplicates", s->duplicates);
	json_u64(j, "corrupted", s->corrupted);
	json_u64(j, "stale", s->stale);
}

static void latency_stats(const struct latency *l, struct json *j)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = {{"latency_p50_ns", 0.5}, {"latency_p99_ns", 0.99}, {"latency_p999_ns", 0.999}};
	const uint64_t count = l->times.count;
	json_u64(j, "latency_min_ns", count ? l->times.min : 0);
	json_u64(j, "latency_avg_ns", count ? l->sum / count : 0);
	json_u64(j, "latency_max_ns", l->times.max);
	for (unsigned i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
		json_u64(j, quantiles[i].name, (uint64_t)histogram_percentile(&l->times, quantiles[i].share));
}

void judge_stats(struct json *j)
{
	json_array(j, "streams");
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct stream *s = &streams[i];
		if (!s->used)
			continue;
		json_object(j, NULL);
		json_u64(j, "stream", i);
		stream_stats(s, s->sent, j);
		latency_stats(&latencies[i], j);
		json_end(j);
	}
	json_end(j);
}
