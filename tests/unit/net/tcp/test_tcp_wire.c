/*
 * net/tcp/wire.c: headers and options, read and written. The test constructs segments by itself, so
 * that a mistake in the builders cannot hide one in the parser.
 */
#include "tests/unit/rig/host.h"

#include "net/ip4.h"
#include "net/tcp/wire.h"

#define SRC IP4(192, 0, 2, 1)
#define DST IP4(198, 51, 100, 7)

/* An IP packet in an allocation of exactly its size, so that ASan detects a read of one byte too
 * many. */
struct frame {
	uint8_t *ip;
	unsigned len;
};

static struct frame make(uint8_t flags, const uint8_t *options, unsigned options_len,
                         unsigned payload)
{
	unsigned tcp_len = 20 + options_len + payload;
	struct frame f = {malloc(20 + tcp_len), 20 + tcp_len};
	ip4_header_build(f.ip, &(struct ip4_build){.src = SRC, .dst = DST, .payload_len = (uint16_t)tcp_len,
	                                           .ttl = 64, .proto = 6, .df = true});
	uint8_t *t = f.ip + 20;
	memset(t, 0, tcp_len);
	be16_store(t, 1234);
	be16_store(t + 2, 80);
	be32_store(t + 4, 0x11223344);
	be32_store(t + 8, 0x55667788);
	t[12] = (uint8_t)((20 + options_len) / 4 << 4);
	t[13] = flags;
	be16_store(t + 14, 4321);
	be16_store(t + 18, 7);
	memcpy(t + 20, options, options_len);
	for (unsigned i = 0; i < payload; i++)
		t[20 + options_len + i] = (uint8_t)(i * 13);
	uint32_t sum = csum_pseudo4(SRC, DST, 6, (uint16_t)tcp_len);
	raw16_store(t + 16, csum_fold(csum_partial(t, tcp_len, sum)));
	return f;
}

static enum counter parse(struct frame f, struct tcp_segment *s)
{
	memset(s, 0xa5, sizeof *s);
	enum counter c = tcp_segment_parse(f.ip, false, s);
	return c;
}

#define MAKE_AND_PARSE(s, flags, payload, ...) \
	do { \
		const uint8_t o_[] = {__VA_ARGS__}; \
		struct frame f_ = make(flags, o_, sizeof o_, payload); \
		assert_int_equal(parse(f_, s), CNT_NONE); \
		free(f_.ip); \
	} while (0)

static void fields(void **state)
{
	(void)state;
	struct tcp_segment s;
	struct frame f = make(TCP_ACK | TCP_PSH, (const uint8_t *)"", 0, 33);
	assert_int_equal(parse(f, &s), CNT_NONE);
	assert_int_equal(net_addr_to_ip4(&s.src), SRC);
	assert_int_equal(net_addr_to_ip4(&s.dst), DST);
	assert_int_equal(s.src_port, 1234);
	assert_int_equal(s.dst_port, 80);
	assert_int_equal(s.seq, 0x11223344);
	assert_int_equal(s.ack, 0x55667788);
	assert_int_equal(s.flags, TCP_ACK | TCP_PSH);
	assert_int_equal(s.wnd, 4321);
	assert_int_equal(s.up, 7);
	assert_int_equal(s.len, 33);
	assert_ptr_equal(s.data, f.ip + 40);
	assert_int_equal(s.has, 0);
	assert_int_equal(s.sacks, 0);
	free(f.ip);
}

/* Any wrong bit, in segment or addresses, is detected. */
static void every_bit(void **state)
{
	(void)state;
	struct tcp_segment s;
	struct frame f = make(TCP_ACK, (const uint8_t *)"", 0, 9);
	for (unsigned bit = 12 * 8; bit < f.len * 8; bit++) {
		if (bit / 8 == 32) /* the data offset: dropped for another reason */
			continue;
		f.ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(parse(f, &s), CNT_drop_tcp_malformed);
		f.ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	f.ip[25] ^= 1;
	assert_int_equal(tcp_segment_parse(f.ip, true, &s), CNT_NONE); /* the port has checked it */
	free(f.ip);
}

static void lengths(void **state)
{
	(void)state;
	struct tcp_segment s;
	for (unsigned doff = 0; doff < 16; doff++) {
		struct frame f = make(TCP_ACK, (const uint8_t *)"\1\1\1\1\1\1\1\1", 8, 4);
		f.ip[32] = (uint8_t)(doff << 4);
		enum counter want = doff >= 5 && doff <= 8 ? CNT_NONE : CNT_drop_tcp_malformed;
		assert_int_equal(tcp_segment_parse(f.ip, true, &s), want);
		if (want == CNT_NONE)
			assert_int_equal(s.len, 32 - 4 * doff);
		free(f.ip);
	}
	for (unsigned l4 = 0; l4 < 20; l4++) {
		struct frame f = {malloc(20 + l4), 20 + l4};
		ip4_header_build(f.ip, &(struct ip4_build){.src = SRC, .dst = DST, .payload_len = (uint16_t)l4,
		                                           .ttl = 64, .proto = 6});
		memset(f.ip + 20, 0x50, l4);
		assert_int_equal(tcp_segment_parse(f.ip, true, &s), CNT_drop_tcp_malformed);
		free(f.ip);
	}
}

static void illegal_flags(void **state)
{
	(void)state;
	struct tcp_segment s;
	for (unsigned flags = 0; flags < 256; flags++) {
		struct frame f = make((uint8_t)flags, (const uint8_t *)"", 0, 0);
		bool bad = (flags & 2 && flags & 1) || (flags & 2 && flags & 4);
		assert_int_equal(parse(f, &s), bad ? CNT_drop_tcp_malformed : CNT_NONE);
		free(f.ip);
	}
	struct frame f = make(TCP_SYN, (const uint8_t *)"", 0, 0);
	be16_store(f.ip + 20, 0);
	assert_int_equal(tcp_segment_parse(f.ip, true, &s), CNT_drop_tcp_malformed);
	free(f.ip);
}

static void syn_options(void **state)
{
	(void)state;
	struct tcp_segment s;
	MAKE_AND_PARSE(&s, TCP_SYN, 0, 2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 9, 1, 3, 3, 7);
	assert_int_equal(s.has, TCP_HAS_MSS | TCP_HAS_SACK_OK | TCP_HAS_TS | TCP_HAS_WSCALE);
	assert_int_equal(s.mss, 1460);
	assert_int_equal(s.wscale, 7);
	assert_int_equal(s.tsval, 0x01020304);
	assert_int_equal(s.tsecr, 9);
	/* RFC 7323 2.3: a scale above 14 is 14 */
	MAKE_AND_PARSE(&s, TCP_SYN, 0, 3, 3, 200, 0);
	assert_int_equal(s.wscale, 14);
	/* None of them is valid without SYN. */
	MAKE_AND_PARSE(&s, TCP_ACK, 0, 2, 4, 5, 180, 4, 2, 3, 3, 7, 34, 6, 1, 2, 3, 4, 0);
	assert_int_equal(s.has, 0);
}

static void timestamps(void **state)
{
	(void)state;
	struct tcp_segment s;
	/* In the usual layout, and in another. */
	MAKE_AND_PARSE(&s, TCP_ACK, 5, 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8);
	assert_int_equal(s.has, TCP_HAS_TS);
	assert_int_equal(s.tsval, 0x01020304);
	assert_int_equal(s.tsecr, 0x05060708);
	MAKE_AND_PARSE(&s, TCP_ACK, 5, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1);
	assert_int_equal(s.has, TCP_HAS_TS);
	assert_int_equal(s.tsecr, 0x05060708);
	MAKE_AND_PARSE(&s, TCP_ACK, 5, 1, 1, 1, 8, 9, 1, 2, 3, 4, 5, 6, 7, 1); /* length 9 */
	assert_int_equal(s.has, 0);
}

static void sack(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		struct tcp_sack blocks[4] = {{1, 2}, {30, 40}, {0xfffffff0, 5}, {7, 9}};
		struct tcp_segment s;
		uint8_t o[40];
		unsigned len = tcp_put_sack(o, blocks, n);
		assert_int_equal(len, 4 + 8 * n);
		struct frame f = make(TCP_ACK, o, len, 0);
		assert_int_equal(parse(f, &s), CNT_NONE);
		assert_int_equal(s.sacks, n);
		assert_memory_equal(s.sack, blocks, n * sizeof blocks[0]);
		free(f.ip);
	}
	struct tcp_segment s;
	MAKE_AND_PARSE(&s, TCP_ACK, 0, 5, 9, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1); /* no multiple of 8 */
	assert_int_equal(s.sacks, 0);
}

static void fastopen_cookie(void **state)
{
	(void)state;
	const uint8_t cookie[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	for (unsigned n = 0; n <= 16; n += 2) {
		struct tcp_segment s;
		uint8_t o[40];
		unsigned len = tcp_put_cookie(o, cookie, n);
		assert_int_equal(len % 4, 0);
		struct frame f = make(TCP_SYN, o, len, 0);
		assert_int_equal(parse(f, &s), CNT_NONE);
		if (n == 2) { /* RFC 7413 4.1.1: 4 to 16, or none */
			assert_int_equal(s.has, 0);
		} else {
			assert_int_equal(s.has, TCP_HAS_COOKIE);
			assert_int_equal(s.cookie_len, n);
			assert_memory_equal(s.cookie, cookie, n);
		}
		free(f.ip);
	}
}

/* Options that end in the middle of one, or never: those before are valid, and nothing beyond is
 * read. */
static void broken_options(void **state)
{
	(void)state;
	struct tcp_segment s;
	MAKE_AND_PARSE(&s, TCP_SYN, 0, 4, 2, 8, 10);
	assert_int_equal(s.has, TCP_HAS_SACK_OK);
	MAKE_AND_PARSE(&s, TCP_SYN, 0, 4, 2, 99, 0);
	assert_int_equal(s.has, TCP_HAS_SACK_OK);
	MAKE_AND_PARSE(&s, TCP_SYN, 0, 1, 1, 1, 2);
	assert_int_equal(s.has, 0);
	MAKE_AND_PARSE(&s, TCP_SYN, 0, 99, 4, 0, 0, 2, 4, 1, 0); /* unknown: skipped (MUST-6) */
	assert_int_equal(s.has, TCP_HAS_MSS);
	MAKE_AND_PARSE(&s, TCP_SYN, 0, 0, 4, 2, 4); /* behind the end */
	assert_int_equal(s.has, 0);
	for (unsigned i = 0; i < 20000; i++) {
		uint8_t o[40];
		unsigned n = random_below(11) * 4;
		for (unsigned k = 0; k < n; k++)
			o[k] = (uint8_t)(random_below(4) ? random_below(12) : random_below(256));
		struct frame f = make(random_below(2) ? TCP_SYN : TCP_ACK, o, n, random_below(3));
		assert_int_equal(parse(f, &s), CNT_NONE);
		assert_true(s.sacks <= TCP_SACK_MAX);
		free(f.ip);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),      cmocka_unit_test(every_bit),
		cmocka_unit_test(lengths),     cmocka_unit_test(illegal_flags),
		cmocka_unit_test(syn_options), cmocka_unit_test(timestamps),
		cmocka_unit_test(sack),        cmocka_unit_test(fastopen_cookie),
		cmocka_unit_test(broken_options),
	};
	seed_random("tcp_wire");
	return cmocka_run_group_tests_name("tcp_wire", tests, NULL, NULL);
}
