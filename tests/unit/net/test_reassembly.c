/* net/reassembly: whole packets from fragments of both families, refusals, bounds, time; random
 * fragments against a slow oracle. */
#include "tests/unit/rig/packets.h"

#include "lib/siphash.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/reassembly.h"

#define SECOND 1000000000ull
#define SRC4 IP4(192, 0, 2, 1)
#define DST4 IP4(198, 51, 100, 7)
#define SRC6 "2001:db8::1"
#define DST6 "2001:db8:1::7"

static struct reassembly r;
static struct counters cnt;
static void *memory;
static uint64_t now;
static struct reassembly_result res;

/* The arguments of the last call of timed_out. */
static struct {
	unsigned calls, port, len;
	uint8_t packet[2000];
} late;

static void timed_out(void *ctx, unsigned port, const uint8_t *packet, unsigned len)
{
	assert_ptr_equal(ctx, &late);
	late.calls++;
	late.port = port;
	late.len = len;
	memcpy(late.packet, packet, len < sizeof late.packet ? len : sizeof late.packet);
}

static const struct siphash_key hash_key = {1, 2};

static void begin_with(struct reassembly_params p)
{
	size_t bytes = reassembly_memory_bytes(&p);
	free(memory);
	memory = malloc(bytes);
	memset(memory, 0xa5, bytes);
	memset(&cnt, 0, sizeof cnt);
	memset(&late, 0, sizeof late);
	now = 5 * SECOND;
	assert_int_equal(reassembly_init(&r, &p, memory, bytes - 1, &hash_key, &cnt, timed_out, &late),
	                 E_NOMEM);
	assert_int_equal(reassembly_init(&r, &p, memory, bytes, &hash_key, &cnt, timed_out, &late),
	                 E_OK);
	assert_true(reassembly_deadline(&r) == UINT64_MAX);
}

static int setup(void **s)
{
	(void)s;
	begin_with(REASSEMBLY_PARAMS_DEFAULT);
	return 0;
}

static int teardown(void **s)
{
	(void)s;
	free(memory);
	memory = NULL;
	return 0;
}

/* --- fragments to feed --- */

/* A datagram to be fragmented: its headers without the fragment header, and its data. */
struct whole {
	bool v6;
	uint8_t head[200];
	unsigned head_len, next_at;
	uint32_t id;
	uint8_t data[66000];
};

static struct whole w;

static void make_whole4(unsigned nopt)
{
	const uint8_t nops[40] = {1, 1, 1, 1};
	w.v6 = false;
	w.id = 0xbeef;
	w.head_len = make_ip(w.head, SRC4, DST4, 17, nops, nopt, 0);
	random_fill(w.data, sizeof w.data);
}

static void make_whole6(bool hop_by_hop)
{
	w.v6 = true;
	w.id = 0xdeadbeef;
	w.head_len = make_ip6(w.head, SRC6, DST6, hop_by_hop ? 0 : 17, 0);
	w.next_at = 6;
	if (hop_by_hop) {
		memcpy(w.head + 40, "\x11\0\1\4\0\0\0\0", 8);
		w.head_len = 48;
		w.next_at = 40;
	}
	random_fill(w.data, sizeof w.data);
}

static void make_whole(bool v6)
{
	if (v6)
		make_whole6(false);
	else
		make_whole4(0);
}

static uint8_t frag[66000];

/* Writes the fragment to frag; returns its length. */
static unsigned make_piece(unsigned offset, unsigned len, bool more)
{
	unsigned head = w.head_len;
	memcpy(frag, w.head, head);
	if (w.v6) {
		frag[head] = frag[w.next_at];
		frag[w.next_at] = 44;
		frag[head + 1] = 0;
		put16(frag + head + 2, offset | more);
		put32(frag + head + 4, w.id);
		head += 8;
		put16(frag + 4, head - 40 + len);
	} else {
		put16(frag + 2, head + len);
		put16(frag + 4, w.id);
		put16(frag + 6, offset / 8 | (more ? 0x2000 : 0));
		slow_ip_csum(frag);
	}
	memcpy(frag + head, w.data + offset, len);
	return head + len;
}

static uint64_t fed, dropped; /* fragments: all, and those whose fate was returned */

/* Feeds frag as a copy of exactly its length, so that ASan detects one byte too many. */
static enum counter feed_frag(unsigned port, unsigned n)
{
	static uint8_t *copy;
	free(copy); /* the result of an atomic fragment points into it until the next call */
	copy = malloc(n);
	memcpy(copy, frag, n);
	enum counter fate;
	fed++;
	if (copy[0] >> 4 == 6) {
		struct ip6_upper u;
		assert_int_equal(ip6_check(copy, n), CNT_NONE);
		assert_int_equal(ip6_upper(copy, &u), CNT_NONE);
		fate = reassembly_input6(&r, port, copy, &u, now, &res);
	} else {
		assert_int_equal(ip4_check(copy, n), CNT_NONE);
		fate = reassembly_input4(&r, port, copy, now, &res);
		assert_memory_equal(copy, frag, n);
	}
	assert_true(fate == CNT_NONE || res.ip == NULL);
	dropped += fate != CNT_NONE;
	return fate;
}

static enum counter feed(unsigned offset, unsigned len, bool more)
{
	return feed_frag(3, make_piece(offset, len, more));
}

static void assert_kept(enum counter fate)
{
	assert_int_equal(fate, CNT_NONE);
	assert_null(res.ip);
}

/* The result is the datagram of n bytes of data, with correct headers. */
static void assert_whole(unsigned n)
{
	static uint8_t want[66000];
	unsigned head = w.head_len;
	assert_non_null(res.ip);
	assert_int_equal(res.len, head + n);
	memcpy(want, w.head, head);
	memcpy(want + head, w.data, n);
	if (w.v6) {
		struct ip6_upper u;
		put16(want + 4, head - 40 + n);
		assert_int_equal(ip6_check(res.ip, res.len), CNT_NONE);
		assert_int_equal(ip6_upper(res.ip, &u), CNT_NONE);
		assert_false(u.fragment);
		assert_int_equal(u.at, head);
	} else {
		put16(want + 2, head + n);
		put16(want + 4, w.id);
		put16(want + 6, 0);
		slow_ip_csum(want);
		assert_int_equal(ip4_check(res.ip, res.len), CNT_NONE);
		assert_false(ip4_is_fragment(res.ip));
	}
	assert_memory_equal(res.ip, want, head + n);
}

/* --- whole packets --- */

/* Pieces of the given size in a random order. */
static void shuffled(unsigned n, unsigned size)
{
	unsigned order[8192], pieces = (n + size - 1) / size;
	for (unsigned i = 0; i < pieces; i++) {
		unsigned j = random_below(i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	uint64_t before = cnt.v[CNT_reassembled];
	for (unsigned i = 0; i < pieces; i++) {
		unsigned at = order[i] * size;
		bool more = at + size < n;
		enum counter fate = feed(at, more ? size : n - at, more);
		if (i + 1 < pieces)
			assert_kept(fate);
		else
			assert_int_equal(fate, CNT_NONE);
		assert_int_equal(reassembly_held(&r), i + 1 < pieces ? i + 1 : 0);
	}
	assert_whole(n);
	assert_int_equal(cnt.v[CNT_reassembled] - before, pieces - 1);
	w.id++;
}

static void any_order_and_size(void **s)
{
	(void)s;
	seed_random("any_order_and_size");
	for (unsigned kind = 0; kind < 4; kind++) {
		if (kind < 2)
			make_whole4(kind * 12);
		else
			make_whole6(kind == 3);
		for (unsigned n = 25; n < 400; n++)
			shuffled(n, 24);
		for (unsigned n = 1481; n < 30000; n += 997)
			shuffled(n, 1480);
		unsigned most = 65535 - (w.v6 ? w.head_len - 40 : w.head_len);
		shuffled(most, 1232);
		shuffled(most, 552);
	}
	assert_int_equal(cnt.v[CNT_drop_frag_overlap] + cnt.v[CNT_drop_frag_timeout], 0);
}

/* RFC 6946: complete at once, and separate from fragments that wait with the same
 * identification. */
static void atomic_fragments(void **s)
{
	(void)s;
	for (unsigned hop = 0; hop < 2; hop++) {
		make_whole6(hop);
		assert_kept(feed(0, 800, true));
		for (unsigned n = 8; n < 300; n++) {
			assert_int_equal(feed(0, n, false), CNT_NONE);
			assert_whole(n);
		}
		assert_int_equal(reassembly_held(&r), 1);
		assert_int_equal(feed(800, 100, false), CNT_NONE);
		assert_whole(900);
	}
}

static void keys_keep_datagrams_apart(void **s)
{
	(void)s;
	struct reassembly_params many = REASSEMBLY_PARAMS_DEFAULT;
	many.datagrams = 100;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		begin_with(many);
		make_whole(v6);
		const struct whole first = w;
		unsigned src = v6 ? 8 : 12, dst = v6 ? 24 : 16, alen = v6 ? 16 : 4, variants = 0;
		assert_kept(feed(0, 80, true));
		for (unsigned i = 0; i < 2 * alen + 32 + !v6; i++) {
			w = first;
			if (i < alen)
				w.head[src + i] ^= 2;
			else if (i < 2 * alen)
				w.head[dst + i - alen] ^= 2;
			else if (i < 2 * alen + 32)
				w.id ^= 1u << (i - 2 * alen);
			else
				w.head[9] ^= 1;
			if (!v6 && w.id > 65535)
				continue;
			make_piece(80, 80, false);
			if (v6 ? ip6_check(frag, 1000) != CNT_NONE : ip4_check(frag, 1000) != CNT_NONE)
				continue; /* the flipped bit made it a martian */
			assert_kept(feed(80, 80, false));
			variants++;
		}
		assert_true(variants > 20);
		w = first;
		assert_int_equal(feed(80, 80, false), CNT_NONE);
		assert_whole(160);
	}
	/* A link-local address means another node on another link, a group other nodes (RFC 4007
	 * 6). */
	const struct {
		const char *src, *dst;
		bool zoned;
	} rows[] = {{SRC6, DST6, false}, {"fe80::1", DST6, true}, {SRC6, "fe80::7", true},
	            {SRC6, "ff05::7", true}};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		make_whole6(false);
		w.id += i;
		w.head_len = make_ip6(w.head, rows[i].src, rows[i].dst, 17, 0);
		assert_kept(feed_frag(0, make_piece(0, 80, true)));
		enum counter fate = feed_frag(1, make_piece(80, 8, false));
		assert_int_equal(fate, CNT_NONE);
		assert_int_equal(res.ip == NULL, rows[i].zoned);
	}
}

/* With two buckets some of sixteen pairs share one, where only their keys differ. */
static void keys_differ_in_one_bucket(void **s)
{
	(void)s;
	enum { SOURCE, DESTINATION, PROTOCOL, IDENTIFICATION, ZONE, FIELDS };
	struct reassembly_params two = REASSEMBLY_PARAMS_DEFAULT;
	two.datagrams = 2;
	for (unsigned id = 0; id < 16; id++)
		for (unsigned field = 0; field < FIELDS; field++) {
			begin_with(two);
			make_whole(field == ZONE);
			if (field == ZONE)
				w.head_len = make_ip6(w.head, "fe80::1", DST6, 17, 0);
			w.id = id;
			assert_kept(feed_frag(0, make_piece(0, 80, true)));
			w.head[15] ^= field == SOURCE;
			w.head[19] ^= field == DESTINATION;
			w.head[9] ^= field == PROTOCOL;
			w.id ^= field == IDENTIFICATION ? 16 : 0;
			assert_kept(feed_frag(field == ZONE, make_piece(80, 80, false)));
		}
}

/* --- refusals --- */

static void assert_refused(enum counter fate, unsigned kept)
{
	assert_int_equal(fate, CNT_drop_frag_overlap);
	assert_int_equal(reassembly_held(&r), 0);
	assert_int_equal(cnt.v[CNT_drop_frag_overlap], kept);
	/* RFC 5722 4: including the fragments not yet received. */
	assert_int_equal(feed(800, 80, true), CNT_drop_frag_overlap);
	assert_int_equal(feed(0, 80, true), CNT_drop_frag_overlap);
	assert_false(res.problem);
	/* Silently; and when its time is over the identification is free again. */
	now += 60 * SECOND;
	assert_true(reassembly_tick(&r, now) == UINT64_MAX);
	assert_int_equal(late.calls, 0);
	assert_kept(feed(0, 80, true));
	assert_int_equal(feed(80, 80, false), CNT_NONE);
	assert_whole(160);
	begin_with(REASSEMBLY_PARAMS_DEFAULT);
}

static void overlaps(void **s)
{
	(void)s;
	const struct {
		unsigned offset, len;
		bool more;
	} rows[] = {
		{80, 168, true},  /* all, and before it */
		{72, 16, true},   /* the beginning, by one unit */
		{88, 8, true},    /* inside */
		{160, 16, true},  /* beyond the end, by one unit */
		{80, 80, true},   /* its first part */
		{88, 80, true},   /* its last part */
		{80, 96, true},   /* over the end */
		{72, 200, false}, /* all, as the last fragment */
		{80, 88, false},  /* the same, but as the last */
		{80, 85, false},  /* into its last unit */
		{96, 8, false},   /* ends before the others do */
	};
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
			make_whole(v6);
			assert_kept(feed(400, 80, true));
			assert_kept(feed(80, 88, true));
			assert_refused(feed(rows[i].offset, rows[i].len, rows[i].more), 2);
		}
}

static void ends_disagree(void **s)
{
	(void)s;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned i = 0; i < 5; i++) {
			make_whole(v6);
			assert_kept(feed(80, 21, false));
			enum counter fate = i == 0   ? feed(104, 8, true)   /* beyond the last */
			                    : i == 1 ? feed(104, 8, false)  /* a second last one, later */
			                    : i == 2 ? feed(40, 8, false)   /* a second last one,
			                                                       before it */
			                    : i == 3 ? feed(80, 20, false)  /* shorter */
			                             : feed(80, 24, true);  /* equal, but not the last */
			assert_refused(fate, 1);
		}
}

/* RFC 8200 4.5: exact copies are ignored, whichever fragment it is. */
static void copies(void **s)
{
	(void)s;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		make_whole(v6);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(feed(80, 80, true), i ? CNT_drop_frag_duplicate : CNT_NONE);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(feed(160, 13, false), i ? CNT_drop_frag_duplicate : CNT_NONE);
		assert_int_equal(feed(80, 80, true), CNT_drop_frag_duplicate);
		assert_int_equal(feed(0, 80, true), CNT_NONE);
		assert_whole(173);
		/* One different bit, in any byte, makes it an overlap. */
		const unsigned byte[] = {80, 100, 159};
		for (unsigned i = 0; i < 3; i++) {
			begin_with(REASSEMBLY_PARAMS_DEFAULT);
			assert_kept(feed(80, 80, true));
			w.data[byte[i]] ^= 0x10;
			assert_refused(feed(80, 80, true), 1);
		}
		/* The end of the longest packet. */
		unsigned most = 65535 - (v6 ? 0 : w.head_len), at = most / 8 * 8;
		assert_kept(feed(at, most - at, false));
		assert_int_equal(feed(at, most - at, false), CNT_drop_frag_duplicate);
		begin_with(REASSEMBLY_PARAMS_DEFAULT);
	}
}

static void lengths(void **s)
{
	(void)s;
	for (unsigned hop = 0; hop < 2; hop++) {
		make_whole6(hop);
		for (unsigned n = 9; n < 100; n++) {
			enum counter fate = feed(n % 2 ? 0 : 8000, n, true);
			if (n % 8 == 0)
				continue;
			assert_int_equal(fate, CNT_drop_frag_length);
			assert_true(res.problem);
			assert_int_equal(res.problem_pointer, 4); /* payload length */
		}
		assert_int_equal(feed(80, 0, true), CNT_drop_frag_length);
		assert_false(res.problem);
		assert_int_equal(feed(80, 0, false), CNT_drop_frag_length);
		unsigned at = 65528 - 8 * hop;
		w.id++;
		assert_kept(feed(at, 7, false));
		assert_int_equal(feed(at, 8, false), CNT_drop_frag_too_long);
		assert_true(res.problem);
		assert_int_equal(res.problem_pointer, 42 + 8 * hop); /* fragment offset */
		begin_with(REASSEMBLY_PARAMS_DEFAULT);
	}
	make_whole4(0);
	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(feed(n * 640, n, true),
		                 n == 0 || n % 8 ? CNT_drop_frag_length : CNT_NONE);
	assert_int_equal(feed(80, 0, false), CNT_drop_frag_length);
	assert_int_equal(feed(65512, 3, false), CNT_NONE);
	assert_int_equal(feed(65512, 4, false), CNT_drop_frag_too_long);
	assert_false(res.problem);
	/* RFC 1858, 3128: the whole TCP header must be in the first fragment. */
	make_whole4(0);
	w.head[9] = 6;
	assert_int_equal(feed(0, 8, true), CNT_drop_frag_tiny);
	assert_int_equal(feed(0, 16, true), CNT_drop_frag_tiny);
	assert_int_equal(feed(8, 16, true), CNT_drop_frag_tiny);
	assert_int_equal(feed(16, 13, false), CNT_drop_frag_tiny);
	w.id++;
	assert_kept(feed(24, 13, false));
	assert_int_equal(feed(0, 24, true), CNT_NONE);
	assert_whole(37);
}

/* Each fragment alone is short enough, but the first has more headers than the last: with them the
 * packet has the maximum length, or one octet more. */
static void too_long_with_the_headers_of_the_first(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 4; i++) {
		bool v6 = i & 1, fits = i & 2;
		make_whole(v6);
		unsigned most = 65536 - (v6 ? 8 : 24) - fits;
		for (unsigned at = 1480; at < most; at += 1480)
			assert_kept(feed(at, at + 1480 < most ? 1480 : most - at, at + 1480 < most));
		unsigned kept = reassembly_held(&r);
		const struct whole plain = w;
		if (v6)
			make_whole6(true);
		else
			make_whole4(4);
		memcpy(w.data, plain.data, sizeof w.data);
		assert_int_equal(feed(0, 1480, true), fits ? CNT_NONE : CNT_drop_frag_too_long);
		if (fits)
			assert_whole(most);
		assert_int_equal(cnt.v[CNT_drop_frag_too_long], fits ? 0 : kept);
		assert_int_equal(reassembly_held(&r), 0);
		begin_with(REASSEMBLY_PARAMS_DEFAULT);
	}
}

/* RFC 3168 5.3 */
static void ecn(void **s)
{
	(void)s;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned a = 0; a < 4; a++)
			for (unsigned b = 0; b < 4; b++) {
				make_whole(v6);
				unsigned shift = v6 ? 4 : 0;
				w.id += 4 * a + b;
				w.head[1] = (uint8_t)(a << shift);
				assert_kept(feed(0, 80, true));
				w.head[1] = (uint8_t)(b << shift);
				enum counter fate = feed(80, 80, false);
				bool lie = (a == 3 && b == 0) || (a == 0 && b == 3);
				assert_int_equal(fate, lie ? CNT_drop_frag_ecn : CNT_NONE);
				if (lie)
					continue;
				w.head[1] = (uint8_t)((a == 3 || b == 3 ? 3 : a) << shift);
				assert_whole(160);
			}
	assert_int_equal(cnt.v[CNT_drop_frag_ecn], 4);
}

/* --- bounds --- */

static void fragments_bounded(void **s)
{
	(void)s;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		make_whole(v6);
		for (unsigned i = 1; i <= 128; i++)
			assert_kept(feed(i * 8, 8, true));
		assert_int_equal(feed(129 * 8, 8, true), CNT_drop_frag_many);
		assert_int_equal(reassembly_held(&r), 0);
		assert_int_equal(cnt.v[CNT_drop_frag_many], 128);
		assert_int_equal(feed(130 * 8, 8, false), CNT_drop_frag_many);
		begin_with(REASSEMBLY_PARAMS_DEFAULT);
	}
}

static void data_bounded(void **s)
{
	(void)s;
	struct reassembly_params p = REASSEMBLY_PARAMS_DEFAULT;
	p.data_max = 1001;
	begin_with(p);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		make_whole(v6);
		assert_kept(feed(1000, 1, false));
		assert_int_equal(feed(1000, 2, false), CNT_drop_frag_too_long);
		assert_int_equal(feed(1000, 8, true), CNT_drop_frag_too_long);
		assert_false(res.problem);
		assert_int_equal(feed(0, 1000, true), CNT_NONE);
		assert_whole(1001);
		w.id++;
		shuffled(1001, 8); /* the maps are not a word too short for them */
	}
}

/* The oldest is evicted; a source with its share of places evicts its own. */
static void full(void **s)
{
	(void)s;
	struct reassembly_params p = REASSEMBLY_PARAMS_DEFAULT;
	p.datagrams = 8;
	p.per_source = 4;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		begin_with(p);
		make_whole(v6);
		const struct whole good = w;
		unsigned host = v6 ? 8 + 7 : 15; /* last octet of the subnet, or of the address */
		for (unsigned i = 0; i < 8; i++) { /* 0 and 1 from one source, the rest from others */
			w.id = i;
			w.head[host] = (uint8_t)(i < 2 ? 100 : i);
			assert_kept(feed(0, 80, true));
			now++;
		}
		w = good;
		w.head[host] = 200; /* a flood from one source, in IPv6 from one subnet */
		for (unsigned i = 0; i < 100; i++) {
			w.id = 1000 + i;
			if (v6)
				put32(w.head + 8 + 12, i);
			assert_kept(feed(0, 80, true));
			now++;
		}
		assert_int_equal(cnt.v[CNT_drop_frag_full], 100);
		assert_int_equal(reassembly_held(&r), 8);
		w = good;
		for (unsigned i = 0; i < 8; i++) { /* the first four were evicted, the others were not */
			w.id = i;
			w.head[host] = (uint8_t)(i < 2 ? 100 : i);
			if (i < 4)
				continue;
			assert_int_equal(feed(80, 80, false), CNT_NONE);
			memcpy(w.data, good.data, sizeof w.data);
			assert_whole(160);
		}
		assert_int_equal(late.calls, 0); /* no error for evicted packets */
	}
}

/* --- time --- */

static void timeout(void **s)
{
	(void)s;
	for (unsigned v6 = 0; v6 < 2; v6++)
		for (unsigned first = 0; first < 2; first++) {
			begin_with(REASSEMBLY_PARAMS_DEFAULT);
			make_whole(v6);
			uint64_t start = now;
			assert_kept(feed_frag(2, make_piece(160, 80, true)));
			now += 30 * SECOND;
			assert_kept(feed_frag(2, make_piece(240, 80, true)));
			if (first)
				assert_kept(feed_frag(7, make_piece(0, 160, true)));
			/* Not extended by later fragments. */
			assert_true(reassembly_deadline(&r) == start + 60 * SECOND);
			assert_true(reassembly_tick(&r, start + 60 * SECOND - 1) == start + 60 * SECOND);
			assert_int_equal(reassembly_held(&r), 2 + first);
			assert_true(reassembly_tick(&r, start + 60 * SECOND) == UINT64_MAX);
			assert_int_equal(reassembly_held(&r), 0);
			assert_int_equal(cnt.v[CNT_drop_frag_timeout], 2 + first);
			assert_int_equal(late.calls, first);
			if (!first)
				continue;
			/* The first fragment as it was received. */
			unsigned n = make_piece(0, 160, true);
			assert_int_equal(late.port, 7);
			assert_int_equal(late.len, n);
			assert_memory_equal(late.packet, frag, n);
		}
}

/* The sender of refused fragments gets no further error. */
static void timeout_of_refused(void **s)
{
	(void)s;
	make_whole6(false);
	assert_kept(feed(0, 80, true));
	assert_int_equal(feed(40, 80, true), CNT_drop_frag_overlap);
	assert_true(reassembly_tick(&r, now + 60 * SECOND) == UINT64_MAX);
	assert_int_equal(late.calls, 0);
}

/* Without a tick: a late fragment does not complete an expired packet. */
static void timeout_seen_by_input(void **s)
{
	(void)s;
	make_whole6(false);
	assert_kept(feed(0, 80, true));
	now += 60 * SECOND;
	assert_kept(feed(80, 80, false));
	assert_int_equal(late.calls, 1);
	assert_int_equal(cnt.v[CNT_drop_frag_timeout], 1);
	now += 59 * SECOND;
	assert_int_equal(feed(0, 80, true), CNT_NONE);
	assert_whole(160);
	assert_int_equal(late.calls, 1);
}

static void parameters(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 8; i++) {
		struct reassembly_params p = REASSEMBLY_PARAMS_DEFAULT;
		p.timeout_ns *= i != 0;
		p.datagrams = i == 1 ? 0 : i == 2 ? 1 << 21 : 1;
		p.per_source *= i != 3;
		p.data_max += i == 4;
		p.data_max *= i != 5;
		p.fragments_max = i == 6 ? 0 : i == 7 ? 8193 : 1;
		assert_int_equal(reassembly_init(&r, &p, memory, SIZE_MAX, &hash_key, &cnt, timed_out,
		                                 &late), E_INVAL);
	}
	/* One place, one fragment: the minimum. */
	struct reassembly_params p = {SECOND, 1, 1, 1, 1};
	begin_with(p);
	make_whole6(false);
	assert_int_equal(feed(0, 80, true), CNT_drop_frag_too_long);
}

/* --- random, against a slow oracle --- */

#define KEYS 6
#define TIME (8 * SECOND)
#define LEN 96

struct oracle {
	struct {
		unsigned offset, len;
		bool more;
		uint8_t data[LEN];
	} piece[64];
	unsigned n;
	uint64_t began;
	enum counter refused;
	bool used;
};

/* The expected fate of this piece; *complete: it was the last missing one. */
static enum counter oracle_feed(struct oracle *o, unsigned offset, unsigned len, bool more,
                                unsigned most, unsigned *complete)
{
	unsigned end = offset + len, sum = 0, last = 0;
	*complete = 0;
	if (o->used && now - o->began >= TIME)
		*o = (struct oracle){0};
	if (!o->used)
		*o = (struct oracle){.used = true, .began = now, .refused = CNT_NONE};
	if (o->refused != CNT_NONE)
		return o->refused;
	for (unsigned i = 0; i < o->n; i++)
		if (o->piece[i].offset == offset && o->piece[i].len == len && o->piece[i].more == more &&
		    memcmp(o->piece[i].data, w.data + offset, len) == 0)
			return CNT_drop_frag_duplicate;
	for (unsigned i = 0; i < o->n; i++) {
		unsigned other = o->piece[i].offset + o->piece[i].len;
		if ((o->piece[i].offset < end && offset < other) || (!more && other > end) ||
		    (!o->piece[i].more && end > other) || (!more && !o->piece[i].more))
			return o->refused = CNT_drop_frag_overlap;
	}
	if (o->n == most)
		return o->refused = CNT_drop_frag_many;
	o->piece[o->n].offset = offset;
	o->piece[o->n].len = len;
	o->piece[o->n].more = more;
	memcpy(o->piece[o->n].data, w.data + offset, len);
	o->n++;
	for (unsigned i = 0; i < o->n; i++) {
		sum += o->piece[i].len;
		if (!o->piece[i].more)
			last = o->piece[i].offset + o->piece[i].len;
	}
	if (last != 0 && sum == last)
		*complete = last;
	return CNT_NONE;
}

/* Mostly pieces of a clean division by 16, or (too many) by 8, and among them some of any kind. */
static void check_random_piece(struct oracle *o, unsigned most)
{
	unsigned complete, grid = w.id == 0 ? 8 : 16;
	unsigned offset = grid * random_below(LEN / grid), len = grid;
	bool more = offset + len < LEN;
	if (random_below(30) == 0) {
		offset = 8 * random_below(LEN / 8);
		len = 8 * (1 + random_below(3));
		more = offset == 0 || random_below(4); /* otherwise not a fragment */
		if (!more)
			len -= random_below(8);
		if (offset + len > LEN)
			len = LEN - offset;
	}
	bool flip = random_below(100) == 0;
	w.data[offset] ^= flip;
	enum counter want = oracle_feed(o, offset, len, more, most, &complete);
	enum counter fate = feed(offset, len, more);
	assert_int_equal(fate, want);
	assert_int_equal(res.ip != NULL, complete != 0);
	if (complete) {
		static uint8_t saved[LEN];
		memcpy(saved, w.data, LEN);
		for (unsigned i = 0; i < o->n; i++)
			memcpy(w.data + o->piece[i].offset, o->piece[i].data, o->piece[i].len);
		assert_whole(complete);
		memcpy(w.data, saved, LEN);
		*o = (struct oracle){0};
	}
	w.data[offset] ^= flip;
}

static void random_fragments(void **s)
{
	(void)s;
	static struct oracle oracle[2][KEYS];
	struct reassembly_params p = REASSEMBLY_PARAMS_DEFAULT;
	p.fragments_max = 7;
	p.timeout_ns = TIME;
	p.datagrams = 2 * KEYS;
	seed_random("random_fragments");
	begin_with(p);
	memset(oracle, 0, sizeof oracle);
	static struct whole family[2];
	make_whole4(0);
	family[0] = w;
	make_whole6(true);
	family[1] = w;
	uint64_t later = 0, delivered = 0;
	fed = dropped = 0;
	for (unsigned i = 0; i < 60000; i++) {
		unsigned v6 = random_below(2), key = random_below(KEYS);
		memcpy(&w, &family[v6], offsetof(struct whole, data));
		w.id = key;
		check_random_piece(&oracle[v6][key], p.fragments_max);
		delivered += res.ip != NULL;
		now += random_below(1000) ? random_below(SECOND / 20) : TIME;
	}
	/* Invariant 3: nothing is lost, nothing is counted twice. */
	reassembly_tick(&r, now + TIME);
	assert_int_equal(reassembly_held(&r), 0);
	for (unsigned i = 0; i < CNT_MAX; i++)
		if (counter_desc[i].kind != COUNTER_INFO)
			later += cnt.v[i];
	assert_true(delivered > 300 && cnt.v[CNT_drop_frag_timeout] > 100 &&
	            cnt.v[CNT_drop_frag_overlap] > 100 && cnt.v[CNT_drop_frag_many] > 5);
	assert_int_equal(cnt.v[CNT_reassembled_packets], delivered);
	assert_int_equal(fed, dropped + delivered + later);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(any_order_and_size),
		TEST(atomic_fragments),
		TEST(keys_keep_datagrams_apart),
		TEST(keys_differ_in_one_bucket),
		TEST(overlaps),
		TEST(ends_disagree),
		TEST(copies),
		TEST(lengths),
		TEST(too_long_with_the_headers_of_the_first),
		TEST(ecn),
		TEST(fragments_bounded),
		TEST(data_bounded),
		TEST(full),
		TEST(timeout),
		TEST(timeout_of_refused),
		TEST(timeout_seen_by_input),
		TEST(parameters),
		TEST(random_fragments),
	};
	return cmocka_run_group_tests_name("reassembly", tests, NULL, NULL);
}
