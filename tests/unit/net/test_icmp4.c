/* net/icmp4: errors and when not to send them, rate limit, echo. */
#include "tests/unit/rig/packets.h"

#include "net/icmp4.h"
#include "net/icmp_limit.h"
#include "net/ip4.h"

#define HOST IP4(192, 0, 2, 1)
#define PEER IP4(198, 51, 100, 7)
#define ROUTER IP4(192, 0, 2, 254)

static uint8_t ip[66000], out[2000];

static unsigned make_icmp(uint8_t type, uint8_t code, const uint8_t *opt, unsigned nopt, unsigned n)
{
	unsigned len = make_ip(ip, HOST, ROUTER, 1, opt, nopt, 8 + n);
	uint8_t *icmp = ip + 20 + nopt;
	icmp[0] = type;
	icmp[1] = code;
	put16(icmp + 2, 0);
	put16(icmp + 4, 0x1234);
	put16(icmp + 6, 0x5678);
	put16(icmp + 2, slow_csum(icmp, 8 + n));
	return len;
}

static void assert_error(unsigned len, unsigned quoted)
{
	assert_int_equal(len, 28 + quoted);
	assert_int_equal(ip4_check(out, len), CNT_NONE);
	assert_int_equal(slow_csum(out + 20, len - 20), 0);
	assert_memory_equal(out + 28, ip, quoted);
	assert_int_equal(out[1] >> 5, 6);
	assert_int_equal(out[9], 1);
	assert_int_equal(ip4_src(out), ROUTER);
	assert_int_equal(ip4_dst(out), HOST);
}

/* Builds an error from ROUTER about the packet at ip, of which n bytes are present. */
static unsigned build(uint8_t *to, unsigned room, unsigned n, uint8_t type, uint8_t code,
                      uint32_t rest)
{
	const struct icmp4_error e = {.src = ROUTER, .rest = rest, .type = type, .code = code};
	return icmp4_error_build(to, room, ip, n, &e);
}

static void error_quotes_as_much_as_fits(void **s)
{
	(void)s;
	random_fill(ip, sizeof ip);
	const unsigned sizes[] = {0, 1, 8, 100, 527, 528, 529, 1480, 60000};
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		unsigned n = make_ip(ip, HOST, PEER, 17, NULL, 0, sizes[i]);
		unsigned len = build(out, sizeof out, n, ICMP4_TIME_EXCEEDED, 0, 0);
		assert_error(len, n < 548 ? n : 548);
		assert_int_equal(out[20], 11);
		assert_int_equal(out[8], 64);
		assert_int_equal(be32_load(out + 24), 0);
	}
	/* Fewer bytes present than the total length; padding present beyond it. */
	make_ip(ip, HOST, PEER, 17, NULL, 0, 100);
	assert_error(build(out, 2000, 50, 3, 1, 0), 50);
	assert_error(build(out, 2000, 500, 3, 1, 0), 120);
	assert_int_equal(out[20], 3);
	assert_int_equal(out[21], 1);
	/* an MTU goes to the low half of the second word (RFC 1191 4), a pointer to its first byte */
	assert_error(build(out, 2000, 120, 3, 4, 1400), 120);
	assert_int_equal(be32_load(out + 24), 1400);
	assert_error(build(out, 2000, 120, 12, 0, 21 << 24), 120);
	assert_int_equal(out[24], 21);
}

static void error_respects_room(void **s)
{
	(void)s;
	make_ip(ip, HOST, PEER, 17, NULL, 0, 100);
	for (unsigned room = 0; room < 160; room++) {
		uint8_t *tight = malloc(room + 1);
		unsigned len = build(tight, room, 120, 11, 0, 0);
		assert_int_equal(len, room < 56 ? 0 : room < 148 ? room : 148);
		free(tight);
	}
}

static void each_error_has_its_counter(void **s)
{
	(void)s;
	assert_int_equal(icmp4_error_counter(11, 0), CNT_icmp_tx_time_exceeded);
	assert_int_equal(icmp4_error_counter(12, 0), CNT_icmp_tx_param_problem);
	assert_int_equal(icmp4_error_counter(5, 1), CNT_icmp_tx_redirect);
	assert_int_equal(icmp4_error_counter(3, 0), CNT_icmp_tx_unreach_net);
	assert_int_equal(icmp4_error_counter(3, 1), CNT_icmp_tx_unreach_host);
	assert_int_equal(icmp4_error_counter(3, 2), CNT_icmp_tx_unreach_proto);
	assert_int_equal(icmp4_error_counter(3, 3), CNT_icmp_tx_unreach_port);
	assert_int_equal(icmp4_error_counter(3, 4), CNT_icmp_tx_unreach_frag);
}

static bool allowed(unsigned len)
{
	return icmp4_error_allowed(ip, len);
}

static void errors_that_must_not_be_sent(void **s)
{
	(void)s;
	unsigned n = make_ip(ip, HOST, PEER, 17, NULL, 0, 100);
	assert_true(allowed(n));
	put16(ip + 6, 0x2000); /* first fragment: allowed */
	assert_true(allowed(n));
	put16(ip + 6, 0x2001);
	assert_false(allowed(n));
	put16(ip + 6, 0x0001);
	assert_false(allowed(n));
	const uint32_t dst[] = {IP4(224, 0, 0, 5), IP4(239, 0, 0, 1), IP4_BROADCAST};
	for (unsigned i = 0; i < ARRAY_LEN(dst); i++) {
		make_ip(ip, HOST, dst[i], 17, NULL, 0, 100);
		assert_false(allowed(n));
	}
	const uint32_t src[] = {0, IP4(127, 0, 0, 1), IP4(224, 0, 0, 5), IP4(240, 0, 0, 1),
	                        IP4_BROADCAST};
	for (unsigned i = 0; i < ARRAY_LEN(src); i++) {
		make_ip(ip, src[i], PEER, 17, NULL, 0, 100);
		assert_false(allowed(n));
	}
}

static void no_errors_about_icmp_errors(void **s)
{
	(void)s;
	for (unsigned type = 0; type < 256; type++) {
		unsigned n = make_icmp((uint8_t)type, 0, NULL, 0, 28);
		bool query = type == 0 || type == 8 || type == 9 || type == 10 ||
		             (type >= 13 && type <= 18);
		assert_int_equal(allowed(n), query);
	}
	make_icmp(8, 0, NULL, 0, 0);
	assert_false(allowed(20)); /* the type is not present */
	make_ip(ip, HOST, PEER, 1, NULL, 0, 0);
	assert_false(allowed(60)); /* nor here: only padding is */
}

static void limit_bursts_then_paces(void **s)
{
	(void)s;
	struct icmp_limit l;
	icmp_limit_init(&l, 100, 10);
	uint64_t t = 5;
	for (int i = 0; i < 10; i++)
		assert_true(icmp_limit_take(&l, t));
	assert_false(icmp_limit_take(&l, t));
	assert_false(icmp_limit_take(&l, t + 9999999));
	assert_true(icmp_limit_take(&l, t + 10000000));
	assert_false(icmp_limit_take(&l, t + 10000000));
	/* An hour later the bucket is full, but not fuller. */
	t += 3600ull * 1000000000;
	for (int i = 0; i < 10; i++)
		assert_true(icmp_limit_take(&l, t));
	assert_false(icmp_limit_take(&l, t));
}

static void limit_keeps_its_rate(void **s)
{
	(void)s;
	struct icmp_limit l;
	unsigned taken = 0;
	icmp_limit_init(&l, 1000, 50);
	for (uint64_t t = 0; t < 10000000000ull; t += 100000)
		taken += icmp_limit_take(&l, t);
	assert_in_range(taken, 10000, 10050);
	icmp_limit_init(&l, 0, 50);
	assert_false(icmp_limit_take(&l, 1));
	icmp_limit_init(&l, 1, 0); /* burst counts as 1 */
	assert_true(icmp_limit_take(&l, 1));
	assert_false(icmp_limit_take(&l, 2));
	icmp_limit_init(&l, UINT32_MAX, 1);
	assert_true(icmp_limit_take(&l, 1));
}

static void input_classifies(void **s)
{
	(void)s;
	struct icmp4_msg m;
	unsigned n = make_icmp(8, 0, NULL, 0, 56);
	assert_int_equal(icmp4_input(ip, n, &m), CNT_delivered_icmp);
	assert_int_equal(m.kind, ICMP4_KIND_ECHO_REQUEST);
	assert_int_equal(m.id, 0x1234);
	assert_int_equal(m.seq, 0x5678);
	assert_int_equal(m.data_len, 56);
	assert_ptr_equal(m.data, ip + 28);
	n = make_icmp(0, 0, NULL, 0, 0);
	assert_int_equal(icmp4_input(ip, n, &m), CNT_delivered_icmp);
	assert_int_equal(m.kind, ICMP4_KIND_ECHO_REPLY);
	const uint8_t errors[] = {3, 4, 5, 11, 12};
	for (unsigned i = 0; i < ARRAY_LEN(errors); i++) {
		make_ip(ip + 28, ROUTER, PEER, 17, NULL, 0, 8);
		n = make_icmp(errors[i], 1, NULL, 0, 28);
		assert_int_equal(icmp4_input(ip, n, &m), CNT_delivered_icmp);
		assert_int_equal(m.kind, ICMP4_KIND_ERROR);
		assert_int_equal(m.rest, 0x12345678);
		ip[28] = 0x65;
		n = make_icmp(errors[i], 1, NULL, 0, 28);
		assert_int_equal(icmp4_input(ip, n, &m), CNT_drop_icmp_malformed);
		ip[28] = 0x4f; /* quoted header longer than the quote */
		n = make_icmp(errors[i], 1, NULL, 0, 28);
		assert_int_equal(icmp4_input(ip, n, &m), CNT_drop_icmp_malformed);
	}
	const uint8_t others[] = {1, 2, 6, 9, 10, 13, 17, 30, 255};
	for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
		n = make_icmp(others[i], 0, NULL, 0, 12);
		assert_int_equal(icmp4_input(ip, n, &m), CNT_drop_icmp_type);
		assert_int_equal(m.kind, ICMP4_KIND_OTHER);
	}
	/* RFC 1122 3.2.2.6: every request is answered, nmap's of code 9 too */
	n = make_icmp(8, 9, NULL, 0, 120);
	assert_int_equal(icmp4_input(ip, n, &m), CNT_delivered_icmp);
	assert_int_equal(m.kind, ICMP4_KIND_ECHO_REQUEST);
	n = make_icmp(0, 9, NULL, 0, 0);
	assert_int_equal(icmp4_input(ip, n, &m), CNT_drop_icmp_type);
}

static void input_refuses(void **s)
{
	(void)s;
	struct icmp4_msg m;
	unsigned n = make_icmp(8, 0, NULL, 0, 20);
	assert_int_equal(icmp4_input(ip, n - 1, &m), CNT_drop_icmp_malformed);
	for (unsigned bit = 0; bit < 28 * 8; bit++) {
		ip[20 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(icmp4_input(ip, n, &m), CNT_drop_icmp_malformed);
		ip[20 + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (unsigned k = 0; k < 8; k++) {
		make_ip(ip, HOST, ROUTER, 1, NULL, 0, k);
		assert_int_equal(icmp4_input(ip, 60, &m), CNT_drop_icmp_malformed);
	}
	n = make_icmp(8, 0, NULL, 0, 21); /* odd length; the padding behind it is not summed */
	ip[n] = 0xff;
	assert_int_equal(icmp4_input(ip, n + 10, &m), CNT_delivered_icmp);
}

static void echo_reply(void **s)
{
	(void)s;
	struct icmp4_msg m;
	uint8_t before[200];
	const uint8_t record_route[8] = {7, 7, 4, 0, 0, 0, 0, 0};
	for (unsigned nopt = 0; nopt <= 8; nopt += 8)
		for (unsigned size = 0; size < 100; size++) {
			random_fill(ip + 28, 120);
			unsigned n = make_icmp(8, size % 3 ? 0 : 9, record_route, nopt, size);
			memcpy(before, ip, n);
			icmp4_echo_reply_make(ip, n);
			assert_int_equal(ip4_check(ip, n), CNT_NONE);
			assert_int_equal(icmp4_input(ip, n, &m), CNT_delivered_icmp);
			assert_int_equal(m.kind, ICMP4_KIND_ECHO_REPLY);
			assert_int_equal(ip4_src(ip), ROUTER);
			assert_int_equal(ip4_dst(ip), HOST);
			assert_int_equal(ip[8], 64);
			assert_int_equal(slow_csum(ip, 20 + nopt), 0);
			assert_int_equal(slow_csum(ip + 20 + nopt, 8 + size), 0);
			assert_memory_equal(ip + 24 + nopt, before + 24 + nopt, 4 + size);
			for (unsigned i = 0; i < nopt; i++)
				assert_int_equal(ip[20 + i], 0);
		}
}

/* The 0xffff/0x0000 edge case of the incremental update, over all identifiers; also with sequence
 * number 0, where a reply of zeros alone has only one right checksum. */
static void echo_reply_every_checksum(void **s)
{
	(void)s;
	struct icmp4_msg m;
	for (unsigned id = 0; id < 2 * 65536; id++) {
		unsigned n = make_icmp(8, 0, NULL, 0, 0);
		put16(ip + 24, id & 0xffff);
		put16(ip + 26, id >> 16 ? 0 : 0x1234);
		put16(ip + 22, 0);
		put16(ip + 22, slow_csum(ip + 20, 8));
		icmp4_echo_reply_make(ip, n);
		assert_int_equal(slow_csum(ip + 20, 8), 0);
		assert_int_equal(icmp4_input(ip, n, &m), CNT_delivered_icmp);
	}
}

static void echo_request(void **s)
{
	(void)s;
	struct icmp4_msg m;
	struct icmp4_echo e = {ROUTER, HOST, 7, 9, 56, 64, false};
	unsigned n = icmp4_echo_request_build(out, sizeof out, &e);
	assert_int_equal(n, 84);
	assert_int_equal(ip4_check(out, n), CNT_NONE);
	assert_int_equal(icmp4_input(out, n, &m), CNT_delivered_icmp);
	assert_int_equal(m.kind, ICMP4_KIND_ECHO_REQUEST);
	assert_true(m.id == 7 && m.seq == 9 && m.data_len == 56);
	assert_int_equal(icmp4_echo_request_build(out, 83, &e), 0);
	e.data_len = 65535;
	assert_int_equal(icmp4_echo_request_build(ip, sizeof ip, &e), 0);
	e.data_len = 65507;
	assert_int_equal(icmp4_echo_request_build(ip, sizeof ip, &e), 65535);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_quotes_as_much_as_fits),
		cmocka_unit_test(error_respects_room),
		cmocka_unit_test(each_error_has_its_counter),
		cmocka_unit_test(errors_that_must_not_be_sent),
		cmocka_unit_test(no_errors_about_icmp_errors),
		cmocka_unit_test(limit_bursts_then_paces),
		cmocka_unit_test(limit_keeps_its_rate),
		cmocka_unit_test(input_classifies),
		cmocka_unit_test(input_refuses),
		cmocka_unit_test(echo_reply),
		cmocka_unit_test(echo_reply_every_checksum),
		cmocka_unit_test(echo_request),
	};
	seed_random("icmp4");
	return cmocka_run_group_tests_name("icmp4", tests, NULL, NULL);
}
