/* sFlow v5 datagrams (net/sflow.h) against bytes made by hand from the specification, and their bounds. */
#include "tests/unit/rig/host.h"

#include "lib/bytes.h"
#include "net/sflow.h"

static struct sflow_datagram d;

static void expect(uint32_t at, const uint32_t *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (be32_load(d.bytes + at + 4 * i) != words[i])
			fail_msg("word %u is %08x, wanted %08x", i, be32_load(d.bytes + at + 4 * i), words[i]);
}

static void begin(void)
{
	const struct net_addr agent = net_addr_ip4(0xc0000201);
	sflow_begin(&d, &agent, 7, 123456);
}

static void header(void **state)
{
	(void)state;
	begin();
	expect(0, (const uint32_t[]){5, 1, 0xc0000201, 0, 7, 123456, 0}, 7);
	assert_int_equal(d.at, 28);
	struct net_addr six = {{0}};
	((uint8_t *)&six)[0] = 0x20;
	((uint8_t *)&six)[15] = 9;
	sflow_begin(&d, &six, 1, 2);
	expect(0, (const uint32_t[]){5, 2, 0x20000000, 0, 0, 9, 0, 1, 2, 0}, 10);
	assert_int_equal(d.at, 40);
}

static void flow(void **state)
{
	static const uint8_t head[] = {0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}; /* padded to a multiple of four */
	(void)state;
	const struct sflow_flow f = {.sequence = 3, .source = 2, .rate = 2048, .pool = 9000, .drops = 4, .input = 2,
	                             .output = SFLOW_DISCARDED(0), .length = 60, .head = head, .kept = sizeof head};
	begin();
	memset(d.bytes + d.at, 0x5a, 100);
	assert_true(sflow_put_flow(&d, &f));
	expect(24, (const uint32_t[]){1, /* sample */ 1, 64, 3, 2, 2048, 9000, 4, 2, 0x40000000, 1,
	                              /* record */ 1, 24, 1, 64, 4, 6, 0xaabbccdd, 0xeeff0000}, 19);
	assert_int_equal(d.at, 28 + 8 + 64);
}

static void counters(void **state)
{
	(void)state;
	const uint32_t no = 0xffffffff;
	const struct sflow_counters c = {.sequence = 5, .source = 1, .speed = 10000000000ull, .admin_up = true, .oper_up = true,
	                                 .in_octets = 0x100000002ull, .in_packets = 11, .in_discards = 12, .in_errors = 13,
	                                 .out_octets = 21, .out_packets = 22, .out_discards = 23, .out_errors = 24,
	                                 .promiscuous = true, .fcs_errors = 31, .frame_too_longs = 32,
	                                 .internal_receive_errors = 33, .internal_transmit_errors = 34};
	begin();
	assert_true(sflow_put_counters(&d, &c));
	expect(24, (const uint32_t[]){1, 2, 168, 5, 1, 2,
	                              1, 88, 1, 6, 2, 0x540be400, 1, 3, 1, 2, 11, no, no, 12, 13, no, 0, 21, 22, no, no, 23, 24, 1,
	                              2, 52, no, 31, no, no, no, no, no, no, 34, no, 32, 33, no}, 45);
	assert_int_equal(d.at, 28 + 176);
}

/* No datagram is longer than SFLOW_DATAGRAM_MAX; what does not fit changes nothing; heads are cut. */
static void bounds(void **state)
{
	static uint8_t head[SFLOW_HEAD_MAX + 100];
	(void)state;
	const struct sflow_flow f = {.head = head, .kept = sizeof head, .length = 1514};
	unsigned n = 0;
	begin();
	while (sflow_put_flow(&d, &f))
		n++;
	assert_int_equal(n, (SFLOW_DATAGRAM_MAX - 28) / (64 + SFLOW_HEAD_MAX));
	assert_int_equal(d.at, 28 + n * (64 + SFLOW_HEAD_MAX));
	assert_int_equal(be32_load(d.bytes + 24), n);
	const struct sflow_counters c = {0};
	assert_int_equal(SFLOW_DATAGRAM_MAX - d.at < 176, !sflow_put_counters(&d, &c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header), cmocka_unit_test(flow), cmocka_unit_test(counters), cmocka_unit_test(bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
