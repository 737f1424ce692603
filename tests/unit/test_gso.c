/*
 * net/gso.c: every segment is compared with the one that the model of an 82599 makes of the same
 * bytes (tools/nicsim/packet/segment.c, written from its datasheet by other hands); the checksums
 * with slow ones besides.
 */
#include "net/gso.h"

#include "tests/unit/guest.h"
#include "tests/unit/packets.h"
#include "tools/nicsim/packet/segment.h"

#define BUFFERS 100

enum { FIN = 0x01, PSH = 0x08, CWR = 0x80 };

static uint8_t memory[BUFFERS * BUF_STRIDE_STANDARD];
static uint32_t stack[BUFFERS];
static struct bufpool pool;
static uint8_t whole[70000];

struct shape {
	unsigned tags, ip_options, tcp_options; /* options in bytes */
	bool ip6, tcp;
	unsigned payload, mss;
	uint8_t flags; /* of TCP */
};

static unsigned l3_of(const struct shape *s) { return 14 + 4 * s->tags; }
static unsigned l4_of(const struct shape *s)
{
	return l3_of(s) + (s->ip6 ? 40 : 20 + s->ip_options);
}

static unsigned hdr_of(const struct shape *s)
{
	return l4_of(s) + (s->tcp ? 20 + s->tcp_options : 8);
}

/* The frame of that shape, in `whole`: random payload, addresses, numbers. */
static unsigned make_whole(const struct shape *s)
{
	unsigned l3 = l3_of(s), l4 = l4_of(s), hdr = hdr_of(s), len = hdr + s->payload;
	uint8_t options[40];
	memset(options, 1, sizeof options); /* no operation */
	random_fill(whole, len);
	for (unsigned i = 0; i < s->tags; i++)
		put16(whole + 12 + 4 * i, i + 1 < s->tags ? 0x88a8 : 0x8100);
	put16(whole + l3 - 2, s->ip6 ? 0x86dd : 0x0800);
	if (s->ip6) {
		make_ip6(whole + l3, "2001:db8::1", "2001:db8:ffff::2", s->tcp ? 6 : 17, len - l4);
	} else {
		make_ip(whole + l3, (uint32_t)random64(), (uint32_t)random64(), s->tcp ? 6 : 17,
		        options, s->ip_options, len - l4);
		put16(whole + l3 + 4, 0xfffe); /* the identification wraps */
	}
	if (s->tcp) {
		put32(whole + l4 + 4, 0xfffffff0); /* and the sequence number */
		whole[l4 + 12] = (uint8_t)((20 + s->tcp_options) / 4 << 4);
		whole[l4 + 13] = s->flags;
	}
	return len;
}

/* The pseudo header's sum without the length, as the model wants it. */
static void put_pseudo(uint8_t *frame, const struct shape *s)
{
	uint8_t h[36];
	unsigned n = s->ip6 ? 32 : 8;
	memcpy(h, frame + l3_of(s) + (s->ip6 ? 8 : 12), n);
	put16(h + n, s->tcp ? 6 : 17);
	put16(h + n + 2, 0);
	put16(frame + l4_of(s) + (s->tcp ? 16 : 6), (uint16_t)~slow_csum(h, n + 4));
}

static void fill_meta(struct pkt *p, const struct shape *s)
{
	struct pkt_meta *m = pkt_meta(&pool, p->buf);
	p->flags |= PKT_OWN | PKT_CSUM_PARTIAL | (s->tcp ? PKT_TSO : PKT_USO);
	p->port = 3;
	m->csum_start = (uint16_t)l4_of(s);
	m->csum_offset = s->tcp ? 16 : 6;
	m->mss = (uint16_t)s->mss;
	m->hdr_bytes = (uint16_t)hdr_of(s);
}

/* `whole` as a packet: `first` bytes in its first piece, the others in as many as it takes. */
static struct pkt packet(const struct shape *s, unsigned len, unsigned first, unsigned piece)
{
	struct pkt p, body;
	assert_true(pkt_alloc(&pool, &p));
	memcpy(p.data, whole, first);
	p.len = (uint16_t)first;
	struct pkt_meta m = {.frag_bytes = (uint16_t)(len - first)};
	while (first < len) {
		unsigned n = len - first < piece ? len - first : piece, at = 64 + random_below(9);
		assert_true(m.frags < PKT_FRAGS_MAX && pkt_alloc(&pool, &body));
		pkt_meta(&pool, body.buf)->refs = 1;
		memcpy(buf_base(&pool, body.buf) + at, whole + first, n);
		pkt_frags(&pool, p.buf)[m.frags++] =
			(struct pkt_frag){body.buf, (uint16_t)at, (uint16_t)n};
		first += n;
		p.flags |= PKT_CHAIN;
	}
	*pkt_meta(&pool, p.buf) = m;
	fill_meta(&p, s);
	return p;
}

static uint16_t slow_tcp_csum(const uint8_t *ip, unsigned l4, unsigned bytes)
{
	static uint8_t all[12 + BUF_STRIDE_JUMBO];
	memcpy(all, ip + 12, 8);
	put16(all + 8, ip[9]);
	put16(all + 10, bytes);
	memcpy(all + 12, ip + l4, bytes);
	return slow_csum(all, 12 + bytes);
}

/* Cuts p and compares all that comes of it. */
static void cut(const struct shape *s, const struct pkt *p)
{
	static uint8_t want[BUF_STRIDE_JUMBO];
	const unsigned l3 = l3_of(s), l4 = l4_of(s), hdr = hdr_of(s);
	const struct segments model = {
		.l3 = l3, .l4 = l4, .headers = hdr, .payload = s->payload, .mss = s->mss,
		.ipv4 = !s->ip6, .tcp = s->tcp, .flags_first = 0xfff & ~(FIN | PSH),
		.flags_middle = 0xfff & ~(FIN | PSH | CWR),
		.flags_last = s->payload <= s->mss ? 0xfff : 0xfff & ~CWR};
	struct gso g;
	struct pkt to;
	assert_int_equal(gso_init(&g, &pool, p), E_OK);
	assert_int_equal(g.payload, s->payload);
	assert_true(pkt_alloc(&pool, &to));
	put_pseudo(whole, s);
	for (unsigned at = 0; at < s->payload; at += s->mss) {
		unsigned n = s->payload - at < s->mss ? s->payload - at : s->mss;
		memset(to.data, 0xee, hdr + n + 1);
		assert_true(gso_next(&g, &to));
		assert_int_equal(to.len, segment_make(&model, whole, at, want));
		assert_int_equal(to.len, hdr + n);
		assert_memory_equal(to.data, want, to.len);
		assert_int_equal(to.data[to.len], 0xee);
		assert_int_equal(to.flags, PKT_OWN | PKT_CSUM_OK);
		assert_int_equal(to.port, 3);
		if (s->ip6) {
			assert_int_equal(slow_csum6(to.data + l3, 40, to.len - l4, s->tcp ? 6 : 17), 0);
		} else {
			assert_int_equal(slow_csum(to.data + l3, l4 - l3), 0);
			assert_int_equal(slow_tcp_csum(to.data + l3, l4 - l3, to.len - l4), 0);
		}
		assert_memory_equal(to.data + hdr, whole + hdr + at, n);
	}
	struct pkt before = to;
	assert_false(gso_next(&g, &to));
	assert_memory_equal(&to, &before, sizeof to);
	pkt_free(&pool, &to);
}

static void fresh(void)
{
	bufpool_init(&pool, memory, stack, BUFFERS, BUF_STRIDE_STANDARD);
}

static struct shape random_shape(void)
{
	struct shape s = {.tags = random_below(3), .ip_options = 4 * random_below(4),
	                  .ip6 = random_below(2), .tcp = random_below(2),
	                  .flags = (uint8_t)random64(),
	                  .mss = 1 + random_below(1600)};
	if (s.tcp)
		s.tcp_options = 4 * random_below(8);
	return s;
}

static void linear_frames(void **state)
{
	(void)state;
	seed_random("linear_frames");
	fresh();
	for (unsigned i = 0; i < 3000; i++) {
		struct shape s = random_shape();
		s.payload = 1 + random_below(1900);
		unsigned len = make_whole(&s);
		struct pkt p = packet(&s, len, len, 1);
		cut(&s, &p);
		static uint8_t now[BUF_STRIDE_STANDARD];
		memcpy(now, p.data, len);
		put_pseudo(now, &s); /* the one place in which `whole` was changed */
		assert_memory_equal(now, whole, len); /* the source is as it was */
		pkt_free(&pool, &p);
		assert_int_equal(pool.free, BUFFERS);
	}
}

/* Up to 64 KB, in pieces that have nothing to do with where it is cut. */
static void chains(void **state)
{
	(void)state;
	seed_random("chains");
	fresh();
	for (unsigned i = 0; i < 2000; i++) {
		struct shape s = random_shape();
		s.payload = 1 + random_below(random_below(2) ? 65000 : 3000);
		unsigned len = make_whole(&s), first = hdr_of(&s) + random_below(20);
		unsigned least = (len + PKT_FRAGS_MAX - 1) / PKT_FRAGS_MAX;
		struct pkt p = packet(&s, len, first < len ? first : len,
		                      least + random_below(2049 - least));
		cut(&s, &p);
		pkt_free(&pool, &p);
		assert_int_equal(pool.free, BUFFERS);
	}
}

/* RFC 3168 6.1.2, RFC 9293: what each segment has of the flags. */
static void flags_of_segments(void **state)
{
	static const struct {
		unsigned payload;
		uint8_t flags, want[3];
	} row[] = {
		{3000, 0x10 | FIN | PSH | CWR, {0x10 | CWR, 0x10, 0x10 | FIN | PSH}},
		{2000, 0x10 | FIN | PSH | CWR, {0x10 | CWR, 0x10 | FIN | PSH}},
		{1000, 0x10 | FIN | PSH | CWR, {0x10 | FIN | PSH | CWR}}, /* first and last */
		{3000, 0x50, {0x50, 0x50, 0x50}},                         /* ECE in all */
		{3000, 0x30, {0x30, 0x30, 0x30}},
	};
	(void)state;
	fresh();
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		struct shape s = {.tcp = true, .payload = row[i].payload, .mss = 1000,
		                  .flags = row[i].flags};
		unsigned len = make_whole(&s);
		struct pkt p = packet(&s, len, hdr_of(&s), 1500), to;
		struct gso g;
		assert_int_equal(gso_init(&g, &pool, &p), E_OK);
		assert_true(pkt_alloc(&pool, &to));
		for (unsigned k = 0; gso_next(&g, &to); k++)
			assert_int_equal(to.data[34 + 13], row[i].want[k]);
		pkt_free(&pool, &to);
		pkt_free(&pool, &p);
	}
}

/* A tag beside the frame goes with each segment. */
static void vlan_tag_beside(void **state)
{
	struct shape s = {.tcp = true, .payload = 1500, .mss = 1000};
	struct gso g;
	struct pkt to;
	(void)state;
	fresh();
	unsigned len = make_whole(&s);
	struct pkt p = packet(&s, len, len, 1);
	p.flags |= PKT_VLAN;
	pkt_meta(&pool, p.buf)->vlan_tci = 0x6123;
	assert_int_equal(gso_init(&g, &pool, &p), E_OK);
	assert_true(pkt_alloc(&pool, &to));
	for (unsigned k = 0; k < 2; k++) {
		assert_true(gso_next(&g, &to));
		assert_int_equal(to.flags, PKT_OWN | PKT_VLAN | PKT_CSUM_OK);
		assert_int_equal(pkt_meta(&pool, to.buf)->vlan_tci, 0x6123);
	}
}

static void wrong_frames(void **state)
{
	(void)state;
	fresh();
	for (unsigned i = 0; i < 16; i++) {
		struct shape s = {.tcp = true, .payload = 1500, .mss = 1000};
		unsigned len = make_whole(&s);
		struct pkt p = packet(&s, len, len, 1);
		struct pkt_meta *m = pkt_meta(&pool, p.buf);
		struct gso g;
		switch (i) {
		case 0: p.flags &= (uint8_t)~PKT_CSUM_PARTIAL; break;
		case 1: p.flags &= (uint8_t)~PKT_TSO; break;
		case 2: p.flags ^= PKT_TSO | PKT_USO; break; /* it is TCP */
		case 3: m->mss = 0; break;
		case 4: m->mss = BUF_STRIDE_STANDARD - BUF_DATA_OFFSET - 53; break;
		case 5: m->hdr_bytes = (uint16_t)(len + 1); break;
		case 6: m->hdr_bytes = (uint16_t)len; break; /* no payload */
		case 7: m->hdr_bytes = 53; break;
		case 8: m->csum_start = 38; break;
		case 9: m->csum_start = 33; break;
		case 10: m->csum_offset = 6; break;
		case 11: put16(p.data + 12, 0x0806); break;
		case 12: p.data[14] = 0x65; break;
		case 13: p.data[14] = 0x46; break;
		case 14: p.data[14 + 6] = 0x20; break; /* a fragment */
		default: p.data[14 + 9] = 17; break;
		}
		if (gso_init(&g, &pool, &p) != E_INVAL)
			fail_msg("case %u", i);
		pkt_free(&pool, &p);
	}
	for (unsigned i = 0; i < 4; i++) { /* IPv6: extension headers, another protocol, no room */
		struct shape s = {.ip6 = true, .tcp = true, .payload = 1500, .mss = 1000};
		unsigned len = make_whole(&s);
		struct pkt p = packet(&s, len, len, 1);
		struct gso g;
		assert_int_equal(gso_init(&g, &pool, &p), E_OK);
		switch (i) {
		case 0: p.data[14 + 6] = 60; break;
		case 1: p.data[14 + 6] = 17; break;
		case 2: p.data[14] = 0x45; break;
		default: pkt_meta(&pool, p.buf)->csum_start = 34; break;
		}
		assert_int_equal(gso_init(&g, &pool, &p), E_INVAL);
		pkt_free(&pool, &p);
	}
	/* headers that lie in two pieces */
	struct shape s = {.tcp = true, .payload = 1500, .mss = 1000};
	struct pkt p = packet(&s, make_whole(&s), 50, 1600);
	struct gso g;
	assert_int_equal(gso_init(&g, &pool, &p), E_INVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_frames),
		cmocka_unit_test(chains),
		cmocka_unit_test(flags_of_segments),
		cmocka_unit_test(vlan_tag_beside),
		cmocka_unit_test(wrong_frames),
	};
	return cmocka_run_group_tests_name("gso", tests, NULL, NULL);
}
