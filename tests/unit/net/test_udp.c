/* net/udp: validation, building, echo in place. */
#include "tests/unit/rig/packets.h"

#include "net/ip4.h"
#include "net/ip6.h"
#include "net/udp.h"

#define HOST IP4(192, 0, 2, 1)
#define ROUTER IP4(192, 0, 2, 254)

static uint8_t ip[66000];

static bool is4(const struct net_addr *a, uint32_t addr)
{
	struct net_addr want = net_addr_ip4(addr);
	return net_addr_equal(a, &want);
}

static unsigned make_udp(unsigned nopt, unsigned n)
{
	const uint8_t nops[40] = {1, 1, 1, 1, 1, 1, 1, 1};
	unsigned len = make_ip(ip, HOST, ROUTER, 17, nops, nopt, 8 + n);
	uint8_t *udp = ip + 20 + nopt;
	put16(udp, 40000);
	put16(udp + 2, 7);
	put16(udp + 4, 8 + n);
	put16(udp + 6, 0);
	uint16_t c = slow_udp_csum(ip);
	put16(udp + 6, c ? c : 0xffff);
	return len;
}

static void good_datagrams(void **s)
{
	(void)s;
	struct udp_datagram d;
	for (unsigned size = 0; size < 300; size++) {
		random_fill(ip + 28, size);
		unsigned n = make_udp(0, size);
		assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
		assert_true(is4(&d.src, HOST) && is4(&d.dst, ROUTER) && d.src_port == 40000 && d.dst_port == 7);
		assert_int_equal(d.data_len, size);
		assert_ptr_equal(d.data, ip + 28);
		assert_int_equal(udp_check(ip, n + 18, false, &d), CNT_NONE);
	}
	unsigned n = make_udp(0, 65507);
	assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
}

static void no_checksum_is_fine(void **s)
{
	(void)s;
	struct udp_datagram d;
	unsigned n = make_udp(0, 100);
	put16(ip + 26, 0);
	ip[60] ^= 0xff;
	assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
	put16(ip + 26, 0x1111);
	assert_int_equal(udp_check(ip, n, false, &d), CNT_drop_udp_malformed);
	assert_int_equal(udp_check(ip, n, true, &d), CNT_NONE);
}

static void bad_datagrams(void **s)
{
	(void)s;
	struct udp_datagram d;
	memset(ip, 0x5a, 100); /* a checksum with several bits set: no single-bit error makes it 0 */
	unsigned n = make_udp(0, 20);
	assert_int_equal(udp_check(ip, n - 1, false, &d), CNT_drop_udp_malformed);
	for (unsigned bit = 0; bit < 28 * 8; bit++) {
		ip[20 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(udp_check(ip, n, false, &d), CNT_drop_udp_malformed);
		ip[20 + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	const unsigned lens[] = {0, 1, 7, 29, 30, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
		put16(ip + 24, lens[i]);
		assert_int_equal(udp_check(ip, n, true, &d), CNT_drop_udp_malformed);
	}
	for (unsigned k = 0; k < 8; k++) {
		make_ip(ip, HOST, ROUTER, 17, NULL, 0, k);
		assert_int_equal(udp_check(ip, 60, true, &d), CNT_drop_udp_malformed);
	}
}

static void shorter_than_its_packet(void **s)
{
	(void)s;
	struct udp_datagram d;
	make_udp(0, 20);
	unsigned n = make_ip(ip, HOST, ROUTER, 17, NULL, 0, 40); /* 12 bytes follow the datagram */
	assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
	assert_int_equal(d.data_len, 20);
}

static void build(void **s)
{
	(void)s;
	struct udp_datagram d;
	uint8_t data[1500];
	struct udp_build b = {net_addr_ip4(ROUTER), net_addr_ip4(HOST), 7, 40000, 0, 0, 64, true};
	for (unsigned size = 0; size < 1500; size += 1 + size / 10) {
		random_fill(data, size);
		unsigned n = udp_packet_build(ip, 28 + size, &b, data, size);
		assert_int_equal(n, 28 + size);
		assert_int_equal(ip4_check(ip, n), CNT_NONE);
		assert_int_equal(slow_udp_csum(ip), 0);
		assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
		assert_true(is4(&d.src, ROUTER) && is4(&d.dst, HOST) && d.src_port == 7 && d.dst_port == 40000);
		assert_memory_equal(d.data, data, size);
		assert_int_equal(udp_packet_build(ip, 27 + size, &b, data, size), 0);
	}
	assert_int_equal(udp_packet_build(ip, sizeof ip, &b, ip + 28, 65507), 65535);
	assert_int_equal(udp_packet_build(ip, sizeof ip, &b, ip + 28, 65508), 0);
}

/* RFC 768: a checksum of zero is sent as all ones, for every value of a data word. */
static void build_never_sends_zero(void **s)
{
	(void)s;
	struct udp_datagram d;
	struct udp_build b = {net_addr_ip4(ROUTER), net_addr_ip4(HOST), 7, 40000, 0, 0, 64, true};
	unsigned all_ones = 0;
	for (unsigned w = 0; w < 65536; w++) {
		uint8_t data[2];
		put16(data, w);
		unsigned n = udp_packet_build(ip, sizeof ip, &b, data, 2);
		assert_int_not_equal(be16_load(ip + 26), 0);
		all_ones += be16_load(ip + 26) == 0xffff;
		assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
	}
	assert_int_equal(all_ones, 1);
}

static void echo(void **s)
{
	(void)s;
	struct udp_datagram d;
	uint8_t before[200];
	for (unsigned nopt = 0; nopt <= 8; nopt += 4)
		for (unsigned size = 0; size < 100; size++) {
			random_fill(ip + 28 + nopt, size);
			unsigned n = make_udp(nopt, size);
			memcpy(before, ip, n);
			udp_echo_make(ip);
			assert_int_equal(ip4_check(ip, n), CNT_NONE);
			assert_int_equal(slow_udp_csum(ip), 0);
			assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
			assert_true(is4(&d.src, ROUTER) && is4(&d.dst, HOST));
			assert_true(d.src_port == 7 && d.dst_port == 40000);
			assert_int_equal(ip[8], 64);
			assert_memory_equal(ip + 24 + nopt, before + 24 + nopt, 4 + size);
		}
	unsigned n = make_udp(0, 10);
	put16(ip + 26, 0); /* no checksum stays no checksum */
	udp_echo_make(ip);
	assert_int_equal(be16_load(ip + 26), 0);
	assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
}

/* --- IPv6 --- */

#define HOST6 "2001:db8::1"
#define ROUTER6 "2001:db8::fe"

/* A datagram of n bytes behind `ext` bytes of destination options (a multiple of 8). */
static unsigned make_udp6(unsigned ext, unsigned n)
{
	uint8_t *udp = ip + 40 + ext;
	unsigned len = make_ip6(ip, HOST6, ROUTER6, ext ? 60 : 17, ext + 8 + n);
	for (unsigned at = 0; at < ext; at += 8) {
		const uint8_t options[8] = {at + 8 < ext ? 60 : 17, 0, 1, 4};
		memcpy(ip + 40 + at, options, 8);
	}
	put16(udp, 40000);
	put16(udp + 2, 7);
	put16(udp + 4, 8 + n);
	put16(udp + 6, 0);
	uint16_t c = slow_csum6(ip, 40 + ext, 8 + n, 17);
	put16(udp + 6, c ? c : 0xffff);
	return len;
}

static bool is6(const struct net_addr *a, const char *text)
{
	struct net_addr want = addr6(text);
	return net_addr_equal(a, &want);
}

static void good_datagrams6(void **s)
{
	(void)s;
	struct udp_datagram d;
	for (unsigned ext = 0; ext <= 16; ext += 8)
		for (unsigned size = 0; size < 300; size++) {
			random_fill(ip + 48 + ext, size);
			unsigned n = make_udp6(ext, size);
			assert_int_equal(ip6_check(ip, n), CNT_NONE);
			assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
			assert_true(is6(&d.src, HOST6) && is6(&d.dst, ROUTER6));
			assert_true(d.src_port == 40000 && d.dst_port == 7);
			assert_int_equal(d.data_len, size);
			assert_ptr_equal(d.data, ip + 48 + ext);
			assert_int_equal(udp_check(ip, n + 18, false, &d), CNT_NONE);
		}
	unsigned n = make_udp6(0, 65527);
	assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
}

/* RFC 8200 8.1: the checksum is mandatory. */
static void bad_datagrams6(void **s)
{
	(void)s;
	struct udp_datagram d;
	memset(ip, 0x5a, 100);
	unsigned n = make_udp6(0, 20);
	assert_int_equal(udp_check(ip, n - 1, false, &d), CNT_drop_udp_malformed);
	for (unsigned bit = 0; bit < 28 * 8; bit++) {
		ip[40 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(udp_check(ip, n, false, &d), CNT_drop_udp_malformed);
		ip[40 + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	put16(ip + 46, 0);
	assert_int_equal(udp_check(ip, n, false, &d), CNT_drop_udp_malformed);
	assert_int_equal(udp_check(ip, n, true, &d), CNT_drop_udp_malformed);
	make_udp6(0, 20);
	const unsigned lens[] = {0, 1, 7, 29, 30, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
		put16(ip + 44, lens[i]);
		assert_int_equal(udp_check(ip, n, true, &d), CNT_drop_udp_malformed);
	}
	for (unsigned k = 0; k < 8; k++) {
		make_ip6(ip, HOST6, ROUTER6, 17, k);
		assert_int_equal(udp_check(ip, 60, true, &d), CNT_drop_udp_malformed);
	}
}

static void build6(void **s)
{
	(void)s;
	struct udp_datagram d;
	uint8_t data[1500];
	struct udp_build b = {addr6(ROUTER6), addr6(HOST6), 7, 40000, 0, 0x12, 64, true};
	for (unsigned size = 0; size < 1500; size += 1 + size / 10) {
		random_fill(data, size);
		unsigned n = udp_packet_build(ip, 48 + size, &b, data, size);
		assert_int_equal(n, 48 + size);
		assert_int_equal(ip6_check(ip, n), CNT_NONE);
		assert_int_equal(ip6_traffic_class(ip), 0x12);
		assert_int_equal(ip6_hop_limit(ip), 64);
		assert_int_equal(slow_csum6(ip, 40, 8 + size, 17), 0);
		assert_int_equal(udp_check(ip, n, false, &d), CNT_NONE);
		assert_memory_equal(d.data, data, size);
		assert_int_equal(udp_packet_build(ip, 47 + size, &b, data, size), 0);
	}
	assert_int_equal(udp_packet_build(ip, sizeof ip, &b, ip + 48, 65527), 65575);
	assert_int_equal(udp_packet_build(ip, sizeof ip, &b, ip + 48, 65528), 0);
}

/* Extension headers are not returned. */
static void echo6(void **s)
{
	(void)s;
	struct udp_datagram d;
	uint8_t before[200];
	for (unsigned ext = 0; ext <= 16; ext += 8)
		for (unsigned size = 0; size < 100; size++) {
			random_fill(ip + 48 + ext, size);
			unsigned n = make_udp6(ext, size);
			memcpy(before, ip, n);
			uint8_t *reply = udp_echo_make(ip);
			assert_ptr_equal(reply, ip + ext);
			assert_int_equal(ip6_check(reply, n - ext), CNT_NONE);
			assert_int_equal(ip6_total_len(reply), n - ext);
			assert_int_equal(ip6_next(reply), 17);
			assert_int_equal(ip6_hop_limit(reply), 64);
			assert_int_equal(slow_csum6(reply, 40, 8 + size, 17), 0);
			assert_int_equal(udp_check(reply, n - ext, false, &d), CNT_NONE);
			assert_true(is6(&d.src, ROUTER6) && is6(&d.dst, HOST6));
			assert_true(d.src_port == 7 && d.dst_port == 40000);
			assert_memory_equal(reply + 44, before + 44 + ext, 4 + size);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_datagrams),          cmocka_unit_test(no_checksum_is_fine),
		cmocka_unit_test(bad_datagrams),           cmocka_unit_test(shorter_than_its_packet),
		cmocka_unit_test(build),                   cmocka_unit_test(build_never_sends_zero),
		cmocka_unit_test(echo),                    cmocka_unit_test(good_datagrams6),
		cmocka_unit_test(bad_datagrams6),          cmocka_unit_test(build6),
		cmocka_unit_test(echo6),
	};
	seed_random("udp");
	return cmocka_run_group_tests_name("udp", tests, NULL, NULL);
}
