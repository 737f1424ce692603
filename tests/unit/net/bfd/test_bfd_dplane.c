/* net/bfd/dplane: messages of FRR's bfdd, octet by octet, and those to it. */
#include "tests/unit/rig/host.h"

#include "net/bfd/dplane.h"

/* DP_ADD_SESSION as bfdd of FRR 8.4.4 sends it: 192.0.2.1 -> 192.0.2.2 on eth1 (index 77), 3 x 50 ms. */
static const uint8_t add[140] = {
	1, 0, 0, 2, 0, 0, 0, 140,
	0, 0, 0, 0x24, /* C bit, passive */
	192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	192, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x12, 0x34, 0x56, 0x78,
	0, 0, 0xc3, 0x50, 0, 0, 0x75, 0x30,
	0, 0, 0xc3, 0x50, 0, 0, 0xc3, 0x50, 0, 0, 0, 0,
	255, 3, 0, 0,
	0, 0, 0, 77, 'e', 't', 'h', '1',
};

static void test_add(void **state)
{
	(void)state;
	struct bfd_dplane_message m;
	assert_int_equal(bfd_dplane_read(add, sizeof add, &m), BFD_DPLANE_OK);
	assert_int_equal(m.length, 140);
	assert_int_equal(m.type, BFD_DPLANE_ADD);
	assert_int_equal(m.session.flags, BFD_DPLANE_CBIT | BFD_DPLANE_PASSIVE);
	assert_int_equal(net_addr_to_ip4(&m.session.src), 0xc0000201);
	assert_int_equal(net_addr_to_ip4(&m.session.dst), 0xc0000202);
	assert_true(net_addr_is_ip4(&m.session.src) && net_addr_is_ip4(&m.session.dst));
	assert_int_equal(m.session.lid, 0x12345678);
	assert_int_equal(m.session.min_tx_us, 50000);
	assert_int_equal(m.session.min_rx_us, 30000);
	assert_int_equal(m.session.ttl, 255);
	assert_int_equal(m.session.detect_mult, 3);
	assert_int_equal(m.session.ifindex, 77);
}

static void test_addresses(void **state)
{
	(void)state;
	uint8_t in[140];
	struct bfd_dplane_message m;
	memcpy(in, add, sizeof in);
	memset(in + 12, 0, 16);
	assert_int_equal(bfd_dplane_read(in, sizeof in, &m), BFD_DPLANE_OK);
	assert_true(net_addr_is_any(&m.session.src));
	in[11] = BFD_DPLANE_IPV6;
	memcpy(in + 28, (const uint8_t[16]){0xfe, 0x80, [15] = 2}, 16);
	assert_int_equal(bfd_dplane_read(in, sizeof in, &m), BFD_DPLANE_OK);
	assert_memory_equal(m.session.dst.w, in + 28, 16);
	assert_false(net_addr_is_ip4(&m.session.dst));
}

static void test_incomplete(void **state)
{
	(void)state;
	struct bfd_dplane_message m;
	for (size_t n = 0; n < sizeof add; n++) {
		uint8_t *exact = test_malloc(n ? n : 1);
		memcpy(exact, add, n);
		assert_int_equal(bfd_dplane_read(exact, n, &m), BFD_DPLANE_OK);
		assert_int_equal(m.length, 0);
		test_free(exact);
	}
}

static enum bfd_dplane_error read_with(unsigned at, uint8_t value)
{
	uint8_t in[140];
	struct bfd_dplane_message m;
	memcpy(in, add, sizeof in);
	in[at] = value;
	return bfd_dplane_read(in, BFD_DPLANE_HEADER, &m); /* before the rest is there */
}

static void test_malformed(void **state)
{
	(void)state;
	assert_int_equal(read_with(0, 0), BFD_DPLANE_ERR_VERSION);
	assert_int_equal(read_with(0, 2), BFD_DPLANE_ERR_VERSION);
	assert_int_equal(read_with(3, BFD_DPLANE_STATE), BFD_DPLANE_ERR_TYPE);
	assert_int_equal(read_with(3, BFD_DPLANE_COUNTERS), BFD_DPLANE_ERR_TYPE);
	assert_int_equal(read_with(3, 7), BFD_DPLANE_ERR_TYPE);
	assert_int_equal(read_with(2, 1), BFD_DPLANE_ERR_TYPE);
	assert_int_equal(read_with(7, 139), BFD_DPLANE_ERR_LENGTH);
	assert_int_equal(read_with(7, 0), BFD_DPLANE_ERR_LENGTH);
	assert_int_equal(read_with(3, BFD_DPLANE_ECHO_REQUEST), BFD_DPLANE_ERR_LENGTH);
	for (enum bfd_dplane_error e = BFD_DPLANE_OK; e < BFD_DPLANE_ERRORS_END; e++)
		assert_true(bfd_dplane_error_text(e)[0] != 0);
}

static void test_counters(void **state)
{
	(void)state;
	static const uint8_t request[12] = {1, 0, 0, 5, 0x0a, 0x0b, 0, 12, 0, 0, 1, 2};
	uint8_t out[BFD_DPLANE_OUT_MAX];
	uint8_t want[80] = {1, 0, 0, 6, 0x0a, 0x0b, 0, 80, 0, 0, 1, 2, [23] = 48, [31] = 2, [39] = 72, [47] = 3};
	struct bfd_dplane_message m;
	assert_int_equal(bfd_dplane_read(request, sizeof request, &m), BFD_DPLANE_OK);
	assert_int_equal(m.lid, 0x102);
	assert_int_equal(m.id, 0x0a0b);
	assert_int_equal(bfd_dplane_write_counters(out, m.id, &(struct bfd_dplane_counters){
		.lid = m.lid, .rx_octets = 48, .rx_packets = 2, .tx_octets = 72, .tx_packets = 3}), 80);
	assert_memory_equal(out, want, 80);
}

static void test_echo(void **state)
{
	(void)state;
	static const uint8_t request[24] = {1, 0, 0, 0, 0, 9, 0, 24, 1, 2, 3, 4, 5, 6, 7, 8, 9};
	uint8_t out[BFD_DPLANE_OUT_MAX], want[24];
	struct bfd_dplane_message m;
	assert_int_equal(bfd_dplane_read(request, sizeof request, &m), BFD_DPLANE_OK);
	memcpy(want, request, sizeof want);
	want[3] = BFD_DPLANE_ECHO_REPLY;
	assert_int_equal(bfd_dplane_write_echo(out, &m), 24);
	assert_memory_equal(out, want, 24);
	assert_int_equal(bfd_dplane_read(out, 24, &m), BFD_DPLANE_OK);
}

static void test_state(void **state)
{
	(void)state;
	uint8_t out[BFD_DPLANE_OUT_MAX];
	static const uint8_t want[36] = {1, 0, 0, 4, 0, 0, 0, 36, 0, 0, 0, 5, 0, 0, 0, 77, 0, 0, 0, 1,
	                                 0, 0, 0xc3, 0x50, 0, 0, 0x27, 0x10, 0, 0, 0, 8, 3, 7, 4};
	assert_int_equal(bfd_dplane_write_state(out, &(struct bfd_dplane_state){
		.lid = 5, .rid = 77, .remote_cpi = true, .desired_tx_us = 50000, .required_rx_us = 10000,
		.required_echo_us = 8, .state = 3, .remote_diag = 7, .remote_mult = 4}), 36);
	assert_memory_equal(out, want, 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add), cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_incomplete), cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_counters), cmocka_unit_test(test_echo), cmocka_unit_test(test_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
