/* net/lacp/pdu.c: LACPDUs and markers, octet by octet (IEEE 802.1AX-2014 6.4.2, 6.5.3). */
#include "tests/unit/rig/host.h"

#include "net/lacp/pdu.h"

static const uint8_t source[ETH_ALEN] = {2, 0, 0, 0, 0, 0x11};

static const struct lacp_end actor = {
	.system_priority = 0x8001, .system = {2, 1, 2, 3, 4, 5}, .key = 0x0102, .port_priority = 0x8003, .port = 7,
	.state = LACP_ACTIVITY | LACP_AGGREGATION | LACP_SYNCHRONIZATION};
static const struct lacp_end partner = {
	.system_priority = 0xffff, .system = {2, 9, 9, 9, 9, 9}, .key = 5, .port_priority = 0xff, .port = 0x0203,
	.state = LACP_TIMEOUT | LACP_COLLECTING};

static bool same(const struct lacp_end *a, const struct lacp_end *b)
{
	return a->system_priority == b->system_priority && a->key == b->key && a->port_priority == b->port_priority &&
	       a->port == b->port && a->state == b->state && eth_equal(a->system, b->system);
}

static void write(uint8_t *frame)
{
	memset(frame, 0xee, LACP_FRAME_LEN);
	lacp_pdu_write(frame, source, &actor, &partner);
}

static void test_octets(void **state)
{
	(void)state;
	uint8_t frame[LACP_FRAME_LEN];
	static const uint8_t head[] = {
		0x01, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 0x11, 0x88, 0x09, /* Ethernet */
		1, 1,                                                       /* LACP, version 1 */
		1, 20, 0x80, 0x01, 2, 1, 2, 3, 4, 5, 0x01, 0x02, 0x80, 0x03, 0, 7, 0x0d, 0, 0, 0,
		2, 20, 0xff, 0xff, 2, 9, 9, 9, 9, 9, 0, 5, 0, 0xff, 2, 3, 0x12, 0, 0, 0,
		3, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0};
	write(frame);
	assert_int_equal(sizeof frame, 124);
	assert_memory_equal(frame, head, sizeof head);
	for (unsigned i = sizeof head; i < sizeof frame; i++)
		assert_int_equal(frame[i], 0);
}

static void test_both_ways(void **state)
{
	(void)state;
	uint8_t frame[LACP_FRAME_LEN];
	struct lacp_pdu pdu;
	write(frame);
	assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), CNT_NONE);
	assert_int_equal(pdu.kind, LACP_KIND_LACPDU);
	assert_true(same(&pdu.actor, &actor) && same(&pdu.partner, &partner));
}

/* Each octet that must have a value, with another. */
static void test_malformed(void **state)
{
	(void)state;
	static const struct { unsigned at; uint8_t value; enum counter why; } rows[] = {
		{0, 3, CNT_drop_lacp_malformed}, {5, 3, CNT_drop_lacp_malformed}, {6, 1, CNT_drop_lacp_malformed},
		{13, 0, CNT_drop_lacp_malformed}, {14, 3, CNT_drop_slow_subtype}, {14, 10, CNT_drop_slow_subtype},
		{17, 19, CNT_drop_lacp_malformed}, {20, 1, CNT_drop_lacp_malformed}, {37, 0, CNT_drop_lacp_malformed},
		{57, 15, CNT_drop_lacp_malformed}};
	struct lacp_pdu pdu;
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t frame[LACP_FRAME_LEN];
		write(frame);
		frame[rows[i].at] = rows[i].value;
		assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), rows[i].why);
	}
}

static void test_short(void **state)
{
	(void)state;
	struct lacp_pdu pdu;
	uint8_t whole[LACP_FRAME_LEN];
	write(whole);
	for (unsigned n = 0; n < LACP_FRAME_LEN; n++) {
		uint8_t *cut = malloc(n ? n : 1); /* ASan sees a read beyond it */
		memcpy(cut, whole, n);
		assert_int_equal(lacp_pdu_read(cut, n, &pdu), CNT_drop_lacp_malformed);
		free(cut);
	}
}

/* 6.4.12: a receiver shall not validate the version, the types of TLVs and reserved octets. */
static void test_not_validated(void **state)
{
	(void)state;
	uint8_t frame[LACP_FRAME_LEN];
	struct lacp_pdu pdu;
	write(frame);
	memset(frame + 33, 0xaa, 3);
	memset(frame + 53, 0xaa, 3);
	memset(frame + 58, 0xaa, LACP_FRAME_LEN - 58); /* with the terminator, where later versions have TLVs */
	assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), CNT_NONE);
	for (unsigned value = 0; value < 256; value++) {
		frame[15] = frame[16] = frame[36] = frame[56] = (uint8_t)value;
		assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), CNT_NONE);
		assert_true(same(&pdu.actor, &actor) && same(&pdu.partner, &partner));
	}
}

static void test_marker(void **state)
{
	(void)state;
	uint8_t frame[LACP_FRAME_LEN] = {0x01, 0x80, 0xc2, 0, 0, 2, 2, 0, 0, 0, 0, 0x99, 0x88, 0x09, 2, 1,
	                                 1, 16, 0, 9, 2, 0, 0, 0, 0, 0x77, 1, 2, 3, 4, 0, 0, 0, 0};
	uint8_t answer[LACP_FRAME_LEN];
	struct lacp_pdu pdu;
	assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), CNT_NONE);
	assert_int_equal(pdu.kind, LACP_KIND_MARKER);
	lacp_marker_answer(answer, source, frame);
	assert_memory_equal(answer, "\x01\x80\xc2\0\0\2\2\0\0\0\0\x11\x88\x09\2\1\2\x10", 18);
	assert_memory_equal(answer + 18, frame + 18, LACP_FRAME_LEN - 18);
	assert_int_equal(lacp_pdu_read(answer, sizeof answer, &pdu), CNT_NONE);
	assert_int_equal(pdu.kind, LACP_KIND_MARKER_RESPONSE);
	frame[17] = 15;
	assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), CNT_drop_lacp_malformed);
	frame[17] = 16, frame[16] = 3;
	assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), CNT_drop_lacp_malformed);
	/* 6.5.4.2: version, padding, terminator and reserved octets are not validated; the answer has its own */
	frame[15] = 0, frame[16] = 1;
	memset(frame + 30, 0xaa, LACP_FRAME_LEN - 30);
	assert_int_equal(lacp_pdu_read(frame, sizeof frame, &pdu), CNT_NONE);
	lacp_marker_answer(answer, source, frame);
	assert_memory_equal(answer + 12, "\x88\x09\2\1\2\x10", 6);
	assert_memory_equal(answer + 18, frame + 18, 14);
	for (unsigned i = 32; i < LACP_FRAME_LEN; i++)
		assert_int_equal(answer[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octets),        cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_malformed),     cmocka_unit_test(test_short),
		cmocka_unit_test(test_not_validated), cmocka_unit_test(test_marker),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
