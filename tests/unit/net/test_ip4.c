/* net/ip4: validation, TTL, headers, fragmentation with an independent reassembler. */
#include "tests/unit/rig/packets.h"

#include "net/ip4.h"

#define SRC IP4(192, 0, 2, 1)
#define DST IP4(198, 51, 100, 7)

static uint8_t ip[70000];

/* The inline and the slow check, which must agree. */
static enum counter check(const uint8_t *p, unsigned avail)
{
	enum counter fast = ip4_check(p, avail);
	assert_int_equal(fast, ip4_check_slow(p, avail));
	return fast;
}

static enum counter check_addresses(uint32_t src, uint32_t dst)
{
	unsigned n = make_ip(ip, src, dst, 17, NULL, 0, 30);
	return check(ip, n);
}

static enum counter check_options(const uint8_t *opt, unsigned nopt)
{
	unsigned n = make_ip(ip, SRC, DST, 17, opt, nopt, 8);
	return check(ip, n);
}

static void good_packets(void **s)
{
	(void)s;
	unsigned n = make_ip(ip, SRC, DST, 17, NULL, 0, 0);
	assert_int_equal(check(ip, n), CNT_NONE);
	assert_int_equal(check(ip, n + 26), CNT_NONE); /* Ethernet padding */
	n = make_ip(ip, SRC, DST, 6, NULL, 0, 1480);
	assert_int_equal(check(ip, n), CNT_NONE);
	n = make_ip(ip, SRC, DST, 6, NULL, 0, 65515);
	assert_int_equal(check(ip, n), CNT_NONE);
}

static void lengths_and_version(void **s)
{
	(void)s;
	unsigned n = make_ip(ip, SRC, DST, 17, NULL, 0, 10);
	for (unsigned avail = 0; avail < 20; avail++)
		assert_int_equal(check(ip, avail), CNT_drop_ip4_short);
	for (unsigned avail = 20; avail < n; avail++)
		assert_int_equal(check(ip, avail), CNT_drop_ip4_total_len);
	for (unsigned v = 0; v < 16; v++) {
		ip[0] = (uint8_t)(v << 4 | 5);
		assert_int_equal(check(ip, n), v == 4 ? CNT_NONE : CNT_drop_ip4_version);
	}
	for (unsigned ihl = 0; ihl < 5; ihl++) {
		ip[0] = (uint8_t)(0x40 | ihl);
		assert_int_equal(check(ip, n), CNT_drop_ip4_header_len);
	}
	ip[0] = 0x48; /* 32 bytes of header, 30 there */
	assert_int_equal(check(ip, n), CNT_drop_ip4_header_len);
	ip[0] = 0x46; /* header of 24 in a total of 22 */
	put16(ip + 2, 22);
	slow_ip_csum(ip);
	assert_int_equal(check(ip, n), CNT_drop_ip4_total_len);
	make_ip(ip, SRC, DST, 17, NULL, 0, 10);
	put16(ip + 2, 19);
	slow_ip_csum(ip);
	assert_int_equal(check(ip, n), CNT_drop_ip4_total_len);
}

static void every_bit_error_in_the_header(void **s)
{
	(void)s;
	unsigned n = make_ip(ip, SRC, DST, 17, NULL, 0, 10);
	for (unsigned bit = 0; bit < 160; bit++) {
		ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(check(ip, n), CNT_NONE);
		ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(check(ip, n), CNT_NONE);
	ip[10] ^= 1;
	assert_int_equal(check(ip, n), CNT_drop_ip4_checksum);
}

static void martians(void **s)
{
	(void)s;
	const uint32_t bad_src[] = {0, IP4(0, 1, 2, 3), IP4(127, 0, 0, 1), IP4(127, 255, 255, 255),
	                            IP4(224, 0, 0, 1), IP4(239, 255, 255, 255), IP4(240, 0, 0, 1),
	                            IP4(255, 255, 255, 255)};
	const uint32_t bad_dst[] = {0, IP4(0, 1, 2, 3), IP4(127, 0, 0, 1), IP4(240, 0, 0, 0),
	                            IP4(255, 255, 255, 254)};
	const uint32_t good[] = {IP4(1, 0, 0, 0), IP4(126, 255, 255, 255), IP4(128, 0, 0, 0),
	                         IP4(10, 0, 0, 1), IP4(192, 168, 0, 1), IP4(223, 255, 255, 255)};
	for (unsigned i = 0; i < ARRAY_LEN(bad_src); i++)
		assert_int_equal(check_addresses(bad_src[i], DST), CNT_drop_ip4_src_martian);
	for (unsigned i = 0; i < ARRAY_LEN(bad_dst); i++)
		assert_int_equal(check_addresses(SRC, bad_dst[i]), CNT_drop_ip4_dst_martian);
	for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(check_addresses(good[i], DST), CNT_NONE);
		assert_int_equal(check_addresses(SRC, good[i]), CNT_NONE);
	}
	assert_int_equal(check_addresses(SRC, IP4_BROADCAST), CNT_NONE);
	assert_int_equal(check_addresses(SRC, IP4(224, 0, 0, 5)), CNT_NONE);
}

static bool nobody(uint32_t addr)
{
	(void)addr;
	return false;
}

/* RFC 791 3.1: a timestamp option without room counts the hops, 15 at most. */
static void timestamps_without_room(void **s)
{
	(void)s;
	const struct ip4_passage at = {.addr = DST, .time_ms = 1, .is_ours = nobody};
	const uint8_t full[] = {68, 8, 9, 0, 1, 2, 3, 4};
	unsigned n = make_ip(ip, SRC, DST, 17, full, sizeof full, 8);
	for (unsigned hops = 1; hops < 20; hops++) {
		ip4_options_fill(ip, &at);
		assert_int_equal(ip[IP4_HLEN + 3], (hops < 15 ? hops : 15) << 4);
		assert_int_equal(check(ip, n), CNT_NONE);
	}
	assert_memory_equal(ip + IP4_HLEN + 4, full + 4, 4);
}

static void options(void **s)
{
	(void)s;
	const uint8_t nops[] = {1, 1, 1, 0};
	const uint8_t end_first[] = {0, 137, 200, 7}; /* nothing after END counts */
	const uint8_t record_route[] = {7, 7, 4, 0, 0, 0, 0, 0};
	const uint8_t timestamp[] = {68, 8, 5, 0, 1, 2, 3, 4};
	const uint8_t router_alert[] = {148, 4, 0, 0};
	assert_int_equal(check_options(nops, 4), CNT_NONE);
	assert_int_equal(check_options(end_first, 4), CNT_NONE);
	assert_int_equal(check_options(record_route, 8), CNT_NONE);
	assert_int_equal(check_options(timestamp, 8), CNT_NONE);
	assert_int_equal(check_options(router_alert, 4), CNT_NONE);
	const struct {
		uint8_t options[4];
		unsigned octet; /* offset in the header of the wrong octet */
	} bad[] = {
		{{131, 3, 4, 0}, 20},  /* LSRR */
		{{137, 3, 4, 0}, 20},  /* SSRR */
		{{1, 131, 3, 4}, 21},
		{{7, 0, 0, 0}, 21},    /* length 0, 1: the walk would not end */
		{{7, 1, 0, 0}, 21},
		{{7, 5, 4, 0}, 21},    /* beyond the header */
		{{1, 1, 7, 3}, 23},
		{{1, 1, 1, 7}, 23},    /* no length byte */
		{{148, 255, 0, 0}, 21},
	};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(check_options(bad[i].options, 4), CNT_drop_ip4_options);
		assert_int_equal(ip4_options_error(ip), bad[i].octet);
	}
	uint8_t full[40];
	memset(full, 1, 40);
	assert_int_equal(check_options(full, 40), CNT_NONE);
	assert_int_equal(ip4_options_error(ip), 0);
	full[38] = 7;
	full[39] = 3; /* the last two bytes, one too few */
	assert_int_equal(check_options(full, 40), CNT_drop_ip4_options);
	assert_int_equal(ip4_options_error(ip), 59);
	/* refused for its options: then nothing else is wrong with it */
	be32_store(ip + 12, IP4(127, 0, 0, 1));
	ip4_checksum_set(ip);
	assert_int_equal(check(ip, 68), CNT_drop_ip4_src_martian);
	be32_store(ip + 12, SRC);
	be32_store(ip + 16, IP4(240, 0, 0, 1));
	ip4_checksum_set(ip);
	assert_int_equal(check(ip, 68), CNT_drop_ip4_dst_martian);
}

static void ttl_every_value(void **s)
{
	(void)s;
	uint8_t want[20];
	for (unsigned proto = 0; proto < 256; proto++)
		for (unsigned ttl = 1; ttl < 256; ttl++) {
			make_ip(ip, SRC, DST, (uint8_t)proto, NULL, 0, 0);
			ip[8] = (uint8_t)ttl;
			slow_ip_csum(ip);
			memcpy(want, ip, 20);
			want[8]--;
			slow_ip_csum(want);
			ip4_ttl_decrement(ip);
			assert_memory_equal(ip, want, 20);
		}
}

/* All checksums before, including the edge cases 0x0000, 0xfeff, 0xff00, 0xffff (RFC 1624 5). */
static void ttl_every_checksum(void **s)
{
	(void)s;
	uint8_t want[20];
	make_ip(ip, SRC, DST, 17, NULL, 0, 0);
	for (unsigned id = 0; id < 65536; id++) {
		put16(ip + 4, id);
		ip[8] = 64;
		slow_ip_csum(ip);
		memcpy(want, ip, 20);
		want[8] = 63;
		slow_ip_csum(want);
		ip4_ttl_decrement(ip);
		if (memcmp(ip, want, 20) != 0)
			fail_msg("id %u", id);
	}
}

static void header_build(void **s)
{
	(void)s;
	uint8_t want[20];
	ip4_header_build(ip, &(struct ip4_build){.src = SRC, .dst = DST, .payload_len = 100,
	                                         .id = 0xbeef, .tos = 0xc0, .ttl = 64, .proto = 1,
	                                         .df = true});
	make_ip(want, SRC, DST, 1, NULL, 0, 100);
	want[1] = 0xc0;
	put16(want + 6, 0x4000);
	want[8] = 64;
	slow_ip_csum(want);
	assert_memory_equal(ip, want, 20);
	assert_int_equal(check(ip, 120), CNT_NONE);
}

static void address_helpers(void **s)
{
	(void)s;
	assert_int_equal(ip4_prefix_mask(0), 0);
	assert_int_equal(ip4_prefix_mask(1), 0x80000000u);
	assert_int_equal(ip4_prefix_mask(24), 0xffffff00u);
	assert_int_equal(ip4_prefix_mask(32), 0xffffffffu);
	assert_true(ip4_in_prefix(IP4(10, 1, 2, 3), IP4(10, 1, 9, 9), 16));
	assert_false(ip4_in_prefix(IP4(10, 1, 2, 3), IP4(10, 2, 2, 3), 16));
	assert_true(ip4_in_prefix(SRC, DST, 0));
	assert_int_equal(ip4_subnet_broadcast(IP4(10, 1, 2, 3), 24), IP4(10, 1, 2, 255));
	assert_int_equal(ip4_subnet_broadcast(IP4(10, 1, 2, 3), 31), IP4_BROADCAST);
	const struct {
		uint32_t addr;
		unsigned plen;
		bool host;
	} rows[] = {
		{IP4(10, 1, 2, 0), 24, false},  {IP4(10, 1, 2, 255), 24, false},
		{IP4(10, 1, 2, 1), 24, true},   {IP4(10, 1, 2, 254), 24, true},
		{IP4(10, 1, 2, 255), 23, true}, {IP4(10, 1, 3, 0), 23, true},
		{IP4(10, 1, 2, 4), 30, false},  {IP4(10, 1, 2, 7), 30, false},
		{IP4(10, 1, 2, 4), 31, true},   {IP4(10, 1, 2, 5), 31, true},
		{IP4(10, 1, 2, 0), 32, true},   {IP4(10, 1, 2, 255), 32, true},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(ip4_is_subnet_host(rows[i].addr, rows[i].plen), rows[i].host);
	assert_true(ip4_is_multicast(IP4(224, 0, 0, 0)) && ip4_is_multicast(IP4(239, 1, 2, 3)));
	assert_false(ip4_is_multicast(IP4(240, 0, 0, 0)) || ip4_is_multicast(IP4(223, 1, 2, 3)));
}

/* --- fragments --- */

#define DATA_MAX 66000

/* Reassembles byte by byte: every byte of the payload must arrive exactly once. */
struct assembly {
	uint8_t data[DATA_MAX];
	uint8_t have[DATA_MAX];
	unsigned end;  /* of the last byte seen */
	unsigned last; /* end of the fragment without MF; 0: not yet seen */
	unsigned fragments;
};

static struct assembly as;

static void assembly_add(const uint8_t *f, unsigned len, unsigned mtu)
{
	unsigned header_len = (f[0] & 15u) * 4;
	unsigned word = (unsigned)f[6] << 8 | f[7];
	unsigned at = (word & 0x1fff) * 8, n = len - header_len;
	assert_true(len <= mtu);
	assert_int_equal((unsigned)f[2] << 8 | f[3], len);
	assert_int_equal(slow_csum(f, header_len), 0);
	assert_true(at + n <= 65535);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(as.have[at + i], 0);
		as.have[at + i] = 1;
		as.data[at + i] = f[header_len + i];
	}
	if (word & 0x2000)
		assert_int_equal(n % 8, 0);
	else
		as.last = at + n;
	if (at + n > as.end)
		as.end = at + n;
	as.fragments++;
}

/* Fragments the packet of n bytes at ip, reassembles it and compares. `start`: the position of its
 * payload in the original datagram. */
static void cut_and_join(unsigned n, unsigned mtu, unsigned start, bool more)
{
	struct ip4_frag it;
	/* Exactly the maximum length, so that ASan detects one byte too many. */
	uint8_t *out = malloc(mtu);
	unsigned len, header_len = (ip[0] & 15u) * 4;
	memset(&as, 0, sizeof as);
	assert_int_equal(ip4_frag_init(&it, ip, mtu), 0);
	while ((len = ip4_frag_next(&it, out, mtu)) != 0) {
		/* The rest of the header is the source's. */
		assert_memory_equal(out + 4, ip + 4, 2);
		assert_memory_equal(out + 8, ip + 8, 2);
		assert_memory_equal(out + 12, ip + 12, 8);
		assert_int_equal(out[1], ip[1]);
		assert_int_equal(check(out, len), CNT_NONE);
		if (as.fragments == 0)
			assert_memory_equal(out + 20, ip + 20, header_len - 20);
		assembly_add(out, len, mtu);
	}
	assert_int_equal(ip4_frag_next(&it, out, mtu), 0);
	assert_true(as.fragments >= 1);
	if (n <= mtu)
		assert_int_equal(as.fragments, 1);
	assert_int_equal(as.end, start + n - header_len);
	assert_int_equal(as.last, more ? 0 : as.end);
	assert_memory_equal(as.data + start, ip + header_len, n - header_len);
	free(out);
}

static void fragments_of_every_size(void **s)
{
	(void)s;
	seed_random("fragments_of_every_size");
	random_fill(ip, sizeof ip);
	for (unsigned n = 0; n < 200; n++)
		for (unsigned mtu = 28; mtu < 120; mtu++)
			cut_and_join(make_ip(ip, SRC, DST, 17, NULL, 0, n), mtu, 0, false);
	for (unsigned mtu = 68; mtu < 1600; mtu += 113)
		cut_and_join(make_ip(ip, SRC, DST, 17, NULL, 0, 4000), mtu, 0, false);
	cut_and_join(make_ip(ip, SRC, DST, 17, NULL, 0, 65515), 576, 0, false);
}

static void fragments_of_a_fragment(void **s)
{
	(void)s;
	for (unsigned more = 0; more < 2; more++)
		for (unsigned offset = 0; offset < 8000; offset += 1999) {
			unsigned n = make_ip(ip, SRC, DST, 17, NULL, 0, 1480);
			put16(ip + 6, offset | (more ? 0x2000 : 0));
			slow_ip_csum(ip);
			cut_and_join(n, 576, offset * 8, more);
		}
}

static void fragments_copy_options(void **s)
{
	(void)s;
	/* NOP, record route (not copied), router alert (copied), NOP, security (copied), NOP, END */
	const uint8_t opt[] = {1, 7, 7, 4, 0, 0, 0, 0, 148, 4, 0, 0, 1, 130, 3, 9, 1, 0, 0, 0};
	const uint8_t later[] = {148, 4, 0, 0, 130, 3, 9, 0};
	unsigned n = make_ip(ip, SRC, DST, 17, opt, sizeof opt, 100);
	cut_and_join(n, 68, 0, false);
	struct ip4_frag it;
	uint8_t out[68];
	assert_int_equal(ip4_frag_init(&it, ip, 68), 0);
	assert_int_equal(ip4_frag_next(&it, out, 68), 40 + 24);
	assert_int_equal(ip4_frag_next(&it, out, 68), 28 + 40);
	assert_int_equal(out[0], 0x47);
	assert_memory_equal(out + 20, later, 8);
}

static void fragments_refused(void **s)
{
	(void)s;
	struct ip4_frag it;
	uint8_t out[100];
	unsigned n = make_ip(ip, SRC, DST, 17, NULL, 0, 100);
	put16(ip + 6, 0x4000);
	slow_ip_csum(ip);
	assert_int_equal(ip4_frag_init(&it, ip, n - 1), E_INVAL); /* DF */
	assert_int_equal(ip4_frag_next(&it, out, 100), 0);
	assert_int_equal(ip4_frag_init(&it, ip, n), 0);           /* fits: sent unfragmented */
	make_ip(ip, SRC, DST, 17, NULL, 0, 100);
	assert_int_equal(ip4_frag_init(&it, ip, 27), E_INVAL);
	assert_int_equal(ip4_frag_next(&it, out, 100), 0);
	put16(ip + 6, 0x1fff); /* ends beyond 65535 */
	assert_int_equal(ip4_frag_init(&it, ip, 68), E_INVAL);
	put16(ip + 6, 0);
	assert_int_equal(ip4_frag_init(&it, ip, 68), 0);
	assert_int_equal(ip4_frag_next(&it, out, 67), 0); /* no space: nothing is written or lost */
	assert_int_equal(ip4_frag_next(&it, out, 68), 68);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_packets),
		cmocka_unit_test(lengths_and_version),
		cmocka_unit_test(every_bit_error_in_the_header),
		cmocka_unit_test(martians),
		cmocka_unit_test(options),
		cmocka_unit_test(timestamps_without_room),
		cmocka_unit_test(ttl_every_value),
		cmocka_unit_test(ttl_every_checksum),
		cmocka_unit_test(header_build),
		cmocka_unit_test(address_helpers),
		cmocka_unit_test(fragments_of_every_size),
		cmocka_unit_test(fragments_of_a_fragment),
		cmocka_unit_test(fragments_copy_options),
		cmocka_unit_test(fragments_refused),
	};
	return cmocka_run_group_tests_name("ip4", tests, NULL, NULL);
}
