/* net/icmp6: errors and when not to send them, echo, received messages. */
#include "tests/unit/rig/packets.h"

#include "net/icmp6.h"
#include "net/ip6.h"

#define HOST "2001:db8::1"
#define PEER "2001:db8:1::7"
#define ROUTER "2001:db8::fe"

static uint8_t ip[70000], out[2000];

static void set_checksum(unsigned at, unsigned n)
{
	put16(ip + at + 2, 0);
	put16(ip + at + 2, slow_csum6(ip, at, n, 58));
}

/* An ICMPv6 message of 8 + n bytes from HOST, whose data is left unchanged. */
static unsigned make_icmp(const char *dst, uint8_t type, uint8_t code, unsigned n)
{
	unsigned len = make_ip6(ip, HOST, dst, 58, 8 + n);
	ip[40] = type;
	ip[41] = code;
	put16(ip + 44, 0x1234);
	put16(ip + 46, 0x5678);
	set_checksum(40, 8 + n);
	return len;
}

/* --- errors --- */

static unsigned build(uint8_t *to, unsigned room, unsigned n, uint8_t type, uint8_t code,
                      uint32_t rest)
{
	const struct icmp6_error e = {
		.src = addr6(ROUTER), .rest = rest, .type = type, .code = code};
	return icmp6_error_build(to, room, ip, n, &e);
}

static void assert_error(unsigned len, unsigned quoted)
{
	uint8_t want[40];
	make_ip6(want, ROUTER, HOST, 58, 8 + quoted);
	want[7] = 64;
	assert_int_equal(len, 48 + quoted);
	assert_memory_equal(out, want, 40);
	assert_int_equal(ip6_check(out, len), CNT_NONE);
	assert_int_equal(slow_csum6(out, 40, len - 40, 58), 0);
	assert_memory_equal(out + 48, ip, quoted);
}

/* RFC 4443 2.4 (c): as much as fits the minimum MTU. */
static void error_quotes_as_much_as_fits(void **s)
{
	(void)s;
	random_fill(ip, sizeof ip);
	const unsigned sizes[] = {0, 1, 8, 100, 1191, 1192, 1193, 1460, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		unsigned n = make_ip6(ip, HOST, PEER, 17, sizes[i]);
		assert_error(build(out, sizeof out, n, 3, 0, 0), n < 1232 ? n : 1232);
		assert_int_equal(out[40], 3);
		assert_int_equal(be32_load(out + 44), 0);
	}
	/* Fewer bytes present than the payload length; padding present beyond it. */
	make_ip6(ip, HOST, PEER, 17, 100);
	assert_error(build(out, 2000, 50, 1, 4, 0), 50);
	assert_error(build(out, 2000, 500, 1, 4, 0), 140);
	assert_int_equal(out[40], 1);
	assert_int_equal(out[41], 4);
	assert_error(build(out, 2000, 140, 2, 0, 1400), 140);
	assert_int_equal(be32_load(out + 44), 1400);
	assert_error(build(out, 2000, 140, 4, 1, 0x12345), 140);
	assert_int_equal(be32_load(out + 44), 0x12345);
}

static void error_respects_room(void **s)
{
	(void)s;
	make_ip6(ip, HOST, PEER, 17, 100);
	for (unsigned room = 0; room < 200; room++) {
		uint8_t *tight = malloc(room + 1);
		unsigned len = build(tight, room, 140, 3, 0, 0);
		assert_int_equal(len, room < 88 ? 0 : room < 188 ? room : 188);
		free(tight);
	}
	make_ip6(ip, HOST, PEER, 17, 1460);
	for (unsigned room = 1280; room < 1300; room++)
		assert_int_equal(build(out, room, 1500, 3, 0, 0), 1280);
}

/* Whether time exceeded, packet too big, unrecognised option, other parameter problems may be
 * sent. */
static void assert_allowed(unsigned len, bool plain, bool too_big, bool option, bool field)
{
	uint8_t *copy = malloc(len);
	memcpy(copy, ip, len);
	for (unsigned code = 0; code < 7; code++)
		assert_int_equal(icmp6_error_allowed(copy, len, 1, (uint8_t)code), plain);
	assert_int_equal(icmp6_error_allowed(copy, len, 3, 0), plain);
	assert_int_equal(icmp6_error_allowed(copy, len, 2, 0), too_big);
	assert_int_equal(icmp6_error_allowed(copy, len, 4, 2), option);
	for (unsigned code = 0; code < 4; code++)
		if (code != 2)
			assert_int_equal(icmp6_error_allowed(copy, len, 4, (uint8_t)code), field);
	free(copy);
}

static void no_errors_to_groups_and_nobody(void **s)
{
	(void)s;
	const char *one[] = {HOST, "fe80::1", "fd00::1", "1::1"};
	const char *none[] = {"::", "::1", "ff02::1", "::ffff:1.2.3.4"};
	unsigned n = 0;
	for (unsigned i = 0; i < ARRAY_LEN(one); i++) {
		n = make_ip6(ip, one[i], PEER, 17, 8);
		assert_allowed(n, true, true, true, true);
		/* 2.4 (e.3): two are sent even then. */
		n = make_ip6(ip, one[i], "ff02::1", 17, 8);
		assert_allowed(n, false, true, true, false);
	}
	for (unsigned i = 0; i < ARRAY_LEN(none); i++) {
		n = make_ip6(ip, none[i], PEER, 17, 8);
		assert_allowed(n, false, false, false, false);
		n = make_ip6(ip, none[i], "ff0e::1", 17, 8);
		assert_allowed(n, false, false, false, false);
	}
}

/* 2.4 (e.1), (e.2) */
static void no_errors_about_errors(void **s)
{
	(void)s;
	for (unsigned type = 0; type < 256; type++) {
		unsigned n = make_icmp(PEER, (uint8_t)type, 0, 60);
		bool ok = type >= 128 && type != 137;
		assert_allowed(n, ok, ok, ok, ok);
		assert_allowed(41, ok, ok, ok, ok); /* only the type is present */
		/* behind extension headers, authenticated or not */
		const uint8_t ext[] = {0, 43, 44, 51, 60};
		for (unsigned i = 0; i < sizeof ext; i++) {
			n = make_ip6(ip, HOST, PEER, ext[i], 32);
			memset(ip + 40, 0, 32);
			ip[40] = 58;
			ip[48] = (uint8_t)type;
			assert_allowed(n, ok, ok, ok, ok);
		}
	}
}

static void errors_about_what_cannot_be_followed(void **s)
{
	(void)s;
	unsigned n = make_ip6(ip, HOST, PEER, 44, 100); /* a later fragment of UDP */
	memset(ip + 40, 0, 100);
	ip[40] = 17;
	put16(ip + 42, 1280 | 1);
	assert_allowed(n, true, true, true, true);
	ip[40] = 58; /* of ICMPv6: might be an error */
	assert_allowed(n, false, false, true, true);
	ip[40] = 60;
	assert_allowed(n, false, false, true, true);
	n = make_ip6(ip, HOST, PEER, 60, 8);
	ip[41] = 9; /* longer than the packet */
	assert_allowed(n, false, false, true, true);
	n = make_ip6(ip, HOST, PEER, 58, 0);
	assert_allowed(n, false, false, true, true);
	n = make_ip6(ip, HOST, PEER, 51, 8);
	ip[41] = 9; /* likewise */
	assert_allowed(n, false, false, true, true);
	n = make_ip6(ip, HOST, PEER, 50, 0);
	assert_allowed(n, true, true, true, true);
	/* Padding behind the packet does not count: a type there is ignored. */
	make_ip6(ip, HOST, PEER, 58, 0);
	ip[40] = 128;
	assert_int_equal(icmp6_error_allowed(ip, 60, 1, 0), false);
}

static void error_counters(void **s)
{
	(void)s;
	const enum counter unreach[] = {
		CNT_icmp6_tx_unreach_no_route, CNT_icmp6_tx_unreach_prohibited,
		CNT_icmp6_tx_unreach_scope,    CNT_icmp6_tx_unreach_address,
		CNT_icmp6_tx_unreach_port,     CNT_icmp6_tx_unreach_policy,
		CNT_icmp6_tx_unreach_reject};
	for (unsigned code = 0; code < 7; code++)
		assert_int_equal(icmp6_error_counter(1, (uint8_t)code), unreach[code]);
	assert_int_equal(icmp6_error_counter(2, 0), CNT_icmp6_tx_too_big);
	assert_int_equal(icmp6_error_counter(3, 1), CNT_icmp6_tx_time_exceeded);
	assert_int_equal(icmp6_error_counter(4, 2), CNT_icmp6_tx_param_problem);
}

/* --- received messages --- */

static struct icmp6_msg m;

/* icmp6_input over a copy of exactly its length. */
static enum counter input(unsigned len, unsigned at)
{
	uint8_t *copy = malloc(len);
	memcpy(copy, ip, len);
	enum counter fate = icmp6_input(copy, at, &m);
	if (fate != CNT_drop_icmp6_malformed) {
		assert_ptr_equal(m.icmp, copy + at);
		assert_int_equal(m.icmp_len, len - at);
		assert_ptr_equal(m.data, copy + at + 8);
		assert_int_equal(m.data_len, len - at - 8);
	}
	free(copy);
	return fate;
}

static void every_type(void **s)
{
	(void)s;
	random_fill(ip, 200);
	for (unsigned type = 0; type < 256; type++)
		for (unsigned code = 0; code < 2; code++) {
			make_ip6(ip + 48, ROUTER, PEER, 17, 52);
			unsigned n = make_icmp(ROUTER, (uint8_t)type, (uint8_t)code, 60);
			enum counter fate = input(n, 40);
			enum icmp6_kind kind = ICMP6_KIND_OTHER;
			if (type < 128)
				kind = ICMP6_KIND_ERROR; /* known or not, 2.4 (a) */
			else if (type <= 129 && code == 0)
				kind = type == 128 ? ICMP6_KIND_ECHO_REQUEST : ICMP6_KIND_ECHO_REPLY;
			else if ((type >= 130 && type <= 132) || type == 143)
				kind = ICMP6_KIND_MLD;
			else if (type >= 133 && type <= 137)
				kind = ICMP6_KIND_ND;
			assert_int_equal(m.kind, kind);
			assert_int_equal(m.type, type);
			assert_int_equal(m.code, code);
			assert_int_equal(m.id, 0x1234);
			assert_int_equal(m.seq, 0x5678);
			assert_int_equal(m.rest, 0x12345678);
			bool ours = kind == ICMP6_KIND_ND || kind == ICMP6_KIND_MLD;
			assert_int_equal(fate, ours ? CNT_NONE
			                       : kind == ICMP6_KIND_OTHER ? CNT_drop_icmp6_type
			                                                  : CNT_delivered_icmp6);
		}
}

static void malformed(void **s)
{
	(void)s;
	unsigned n = make_icmp(ROUTER, 128, 0, 20);
	for (unsigned bit = 0; bit < 28 * 8; bit++) {
		ip[40 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(input(n, 40), CNT_drop_icmp6_malformed);
		ip[40 + bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* the pseudo header is part of it */
	ip[8] ^= 1;
	assert_int_equal(input(n, 40), CNT_drop_icmp6_malformed);
	ip[8] ^= 1;
	assert_int_equal(input(n, 40), CNT_delivered_icmp6);
	for (unsigned k = 0; k < 8; k++) {
		n = make_ip6(ip, HOST, ROUTER, 58, k);
		memset(ip + 40, 0, 8);
		ip[40] = 128;
		if (k >= 4)
			set_checksum(40, k);
		assert_int_equal(input(n, 40), CNT_drop_icmp6_malformed);
	}
	/* Behind extension headers: the checksum covers the message alone. */
	n = make_ip6(ip, HOST, ROUTER, 60, 8 + 12);
	memset(ip + 40, 0, 20);
	ip[48] = 128;
	set_checksum(48, 12);
	assert_int_equal(input(n, 48), CNT_delivered_icmp6);
	assert_int_equal(icmp6_checksum(ip, 48), 0);
}

static void errors_quote_a_packet(void **s)
{
	(void)s;
	for (unsigned n = 0; n < 80; n++) {
		make_ip6(ip + 48, ROUTER, PEER, 60, 60);
		memset(ip + 88, 0, 60);
		ip[88] = 6;
		unsigned len = make_icmp(ROUTER, 1, 4, n);
		if (n < 40) {
			assert_int_equal(input(len, 40), CNT_drop_icmp6_malformed);
			continue;
		}
		assert_int_equal(input(len, 40), CNT_delivered_icmp6);
		assert_int_equal(m.quoted_at, n < 48 ? 0 : 48);
		assert_int_equal(m.quoted_proto, n < 48 ? 60 : 6);
	}
	ip[48] = 0x45;
	unsigned len = make_icmp(ROUTER, 1, 4, 60);
	assert_int_equal(input(len, 40), CNT_drop_icmp6_malformed);
}

/* --- echo --- */

static void echo_reply(void **s)
{
	(void)s;
	seed_random("echo_reply");
	for (unsigned n = 0; n < 300; n++)
		for (unsigned ext = 0; ext < 2; ext++) {
			unsigned at = 40 + 8 * ext;
			uint8_t data[300];
			random_fill(data, sizeof data);
			unsigned len = make_ip6(ip, HOST, "ff02::1", ext ? 60 : 58, 8 * ext + 8 + n);
			put32(ip, 0x6b912345);
			put32(ip + 40, 58u << 24);
			put32(ip + 44, 0);
			put32(ip + at, 128u << 24);
			put32(ip + at + 4, 0xabcd0007);
			memcpy(ip + at + 8, data, n);
			set_checksum(at, 8 + n);
			assert_int_equal(input(len, at), CNT_delivered_icmp6);
			assert_int_equal(m.kind, ICMP6_KIND_ECHO_REQUEST);

			struct net_addr us = addr6(ROUTER);
			uint8_t *reply = icmp6_echo_reply_make(ip, at, &us), want[40];
			assert_ptr_equal(reply, ip + 8 * ext);
			make_ip6(want, ROUTER, HOST, 58, 8 + n);
			put32(want, 0x6b900000);
			want[7] = 64;
			assert_memory_equal(reply, want, 40);
			assert_int_equal(slow_csum6(reply, 40, 8 + n, 58), 0);
			assert_int_equal(icmp6_input(reply, 40, &m), CNT_delivered_icmp6);
			assert_int_equal(m.kind, ICMP6_KIND_ECHO_REPLY);
			assert_int_equal(m.id, 0xabcd);
			assert_int_equal(m.seq, 7);
			assert_memory_equal(m.data, data, n);
		}
}

static void echo_request(void **s)
{
	(void)s;
	for (unsigned n = 0; n < 300; n++) {
		const struct icmp6_echo e = {.src = addr6(HOST), .dst = addr6(PEER), .id = 77,
		                             .seq = 3, .data_len = (uint16_t)n, .hop_limit = 9};
		uint8_t *tight = malloc(48 + n), want[40];
		assert_int_equal(icmp6_echo_request_build(tight, 47 + n, &e), 0);
		assert_int_equal(icmp6_echo_request_build(tight, 48 + n, &e), 48 + n);
		make_ip6(want, HOST, PEER, 58, 8 + n);
		want[7] = 9;
		assert_memory_equal(tight, want, 40);
		assert_int_equal(icmp6_input(tight, 40, &m), CNT_delivered_icmp6);
		assert_int_equal(m.kind, ICMP6_KIND_ECHO_REQUEST);
		assert_int_equal(m.id, 77);
		assert_int_equal(m.seq, 3);
		assert_int_equal(m.data_len, n);
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(m.data[i], i & 0xff);
		free(tight);
	}
	const struct icmp6_echo long_one = {.data_len = 65528};
	assert_int_equal(icmp6_echo_request_build(ip, sizeof ip, &long_one), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_quotes_as_much_as_fits),
		cmocka_unit_test(error_respects_room),
		cmocka_unit_test(no_errors_to_groups_and_nobody),
		cmocka_unit_test(no_errors_about_errors),
		cmocka_unit_test(errors_about_what_cannot_be_followed),
		cmocka_unit_test(error_counters),
		cmocka_unit_test(every_type),
		cmocka_unit_test(malformed),
		cmocka_unit_test(errors_quote_a_packet),
		cmocka_unit_test(echo_reply),
		cmocka_unit_test(echo_request),
	};
	return cmocka_run_group_tests_name("icmp6", tests, NULL, NULL);
}
