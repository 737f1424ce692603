/* The 82599 model's clock and time stamps (tools/nicsim/82599/timesync.c; 7.9, 8.2.3.26). */
#include "tests/unit/rig/drive_82599.h"

#include "tools/nicsim/82599/state.h"

#define TIMINCA_10G (1u << 24 | 0xcccccc) /* 6.4 ns at 2^-21 ns, each tick */
#define TYPE(t) ((uint32_t)(t) << 1 | TSYNC_EN)
#define CMD_STAMPED (CMD_FRAME | TXD_1588)

static uint64_t clock_read(void)
{
	uint64_t low = rig_read(SYSTIM);
	return low | (uint64_t)rig_read(SYSTIM + 4) << 32;
}

/* Time passes only when a test makes it. */
static void stand_still(void)
{
	rig.tick_ns = 0;
	rig_write(TIMINCA, TIMINCA_10G);
	rig_write(SYSTIM, 0);
	rig_write(SYSTIM + 4, 0);
}

static uint64_t stamp(uint32_t control, uint32_t low, uint32_t high)
{
	assert_true(rig_read(control) & TSYNC_VALID);
	uint64_t v = rig_read(low);
	v |= (uint64_t)rig_read(high) << 32;
	assert_false(rig_read(control) & TSYNC_VALID);
	return v;
}

static uint64_t sent_stamp(void)
{
	return stamp(TSYNCTXCTL, TXSTMPL, TXSTMPL + 4);
}

static uint64_t received_stamp(void)
{
	return stamp(TSYNCRXCTL, RXSTMPL, RXSTMPH);
}

/* --- the clock --- */

static void clock_counts(void **s)
{
	(void)s;
	rig.tick_ns = 0;
	assert_int_equal(clock_read(), 0); /* TIMINCA 0: it stands still */
	rig_run(1000);
	assert_int_equal(clock_read(), 0);
	stand_still();
	for (uint64_t ticks = 0; ticks < 5000000; ticks = ticks * 3 + 5) {
		stand_still();
		rig_run((ticks * 32 + 4) / 5);
		assert_int_equal(clock_read(), ticks * 0xcccccc);
	}
	/* Every third tick, from a value that was written. */
	rig_write(TIMINCA, 3u << 24 | 7);
	rig_write(SYSTIM, 0xfffffff9);
	rig_write(SYSTIM + 4, 1);
	rig_run(320); /* 50 ticks */
	assert_int_equal(clock_read(), 0x1fffffff9 + 16 * 7);
	rig_write(TIMINCA, 0);
	rig_run(320);
	assert_int_equal(clock_read(), 0x1fffffff9 + 16 * 7);
	rig_write(CTRL, CTRL_RST);
	rig_run(2000);
	assert_int_equal(clock_read(), 0);
}

/* Reading the low half keeps the matching high half. */
static void halves_belong_together(void **s)
{
	(void)s;
	stand_still();
	rig_write(SYSTIM, 0xffffffff);
	uint32_t low = rig_read(SYSTIM);
	rig_run(640);
	assert_int_equal(low, 0xffffffff);
	assert_int_equal(rig_read(SYSTIM + 4), 0);
	assert_int_equal(clock_read() >> 32, 1);
	rig_read(SYSTIM + 4);
	rig_expect_violation("SYSTIMH read before SYSTIML");
}

/* --- sent frames --- */

static void send_stamped(uint32_t seq)
{
	drive_data(0, f, numbered(seq, 100), CMD_STAMPED, PAYLEN(100));
	rig_write(TDT, tx_ring[0].next);
	rig_work();
}

/* Only the first frame that requests a stamp gets one, until it is read. */
static void one_sent_at_a_time(void **s)
{
	(void)s;
	rig_write(TSYNCTXCTL, TSYNC_EN);
	stand_still();
	rig_run(64);
	drive_send(0, f, numbered(0, 100));
	assert_int_equal(rig_read(TSYNCTXCTL), TSYNC_EN);
	send_stamped(1);
	uint64_t first = clock_read();
	rig_run(64);
	send_stamped(2);
	rig_write(TSYNCTXCTL, TSYNC_EN); /* does not discard it */
	rig_write(TSYNCTXCTL, rig_read(TSYNCTXCTL)); /* as Linux does, whether or not one waits */
	assert_int_equal(sent_stamp(), first);
	rig_write(TSYNCTXCTL, TSYNC_EN | TSYNC_VALID); /* nor creates one */
	assert_int_equal(rig_read(TSYNCTXCTL), TSYNC_EN);
	rig_write(TSYNCRXCTL, TSYNC_VALID);
	assert_int_equal(rig_read(TSYNCRXCTL), 0);
	rig_run(64);
	send_stamped(3);
	assert_int_equal(sent_stamp(), first + 20 * 0xcccccc);
	assert_int_equal(rig_sent_count(), 4);
	rig_read(TXSTMPL);
	rig_expect_violation("TXSTMPL read while TSYNCTXCTL.TXTT is clear");
}

static void sending_rules(void **s)
{
	(void)s;
	stand_still();
	send_stamped(1);
	rig_expect_violation("1588 bit while TSYNCTXCTL.EN is clear");
	assert_int_equal(rig_read(TSYNCTXCTL), 0);
	rig_write(TSYNCTXCTL, TSYNC_EN);
	rig_carrier(false);
	rig_run(1000);
	send_stamped(2); /* with the link down */
	assert_int_equal(rig_read(TSYNCTXCTL), TSYNC_EN);
}

/* --- received frames --- */

/* A PTP message in f, of messageType and version, over UDP (to `port`) or in a frame of its own. */
static uint32_t make_ptp(unsigned version, unsigned ip, unsigned port, unsigned type,
                         uint16_t number, bool tagged)
{
	struct flow flow = {.version = ip, .protocol = 17, .sport = 319, .dport = (uint16_t)port,
	                    .payload = 44, .tagged = tagged, .tci = 5};
	uint32_t bytes = make_ip(f, &flow), at = bytes - 44;
	if (ip == 0) {
		bytes = numbered(0, 80);
		f[12] = 0x88;
		f[13] = 0xf7;
		at = 14;
	}
	memset(f + at, 0, bytes - at);
	f[at] = (uint8_t)type;
	f[at + 1] = (uint8_t)version;
	memcpy(f + at + 20, "\1\2\3\4\5\6\7\10", 8);
	f[at + 30] = (uint8_t)(number >> 8);
	f[at + 31] = (uint8_t)number;
	f[at + 32] = (uint8_t)type; /* the place in version 1 */
	return bytes;
}

/* The frame arrives; true if it was stamped, and registers and descriptor are then checked. */
static bool stamped(uint32_t bytes, uint16_t number)
{
	struct received got;
	uint64_t now = clock_read();
	assert_true(rig_receive(f, bytes));
	assert_true(drive_received(0, &got));
	drive_refill(0, 1);
	assert_int_equal(got.bytes, bytes);
	if (!(rig_read(TSYNCRXCTL) & TSYNC_VALID)) {
		assert_false(got.status & RXD_TS);
		return false;
	}
	assert_true(got.status & RXD_TS);
	assert_int_equal(rig_read(RXSATRL), 0x06050403);
	assert_int_equal(rig_read(RXSATRH),
	                 0x0807u | (uint32_t)(number >> 8) << 16 | (uint32_t)(number & 0xff) << 24);
	assert_int_equal(received_stamp(), now);
	return true;
}

static bool try(unsigned version, unsigned ip, unsigned port, unsigned type)
{
	rig_run(1000);
	return stamped(make_ptp(version, ip, port, type, 0xabcd, false), 0xabcd);
}

static void which_are_stamped(void **s)
{
	(void)s;
	stand_still();
	rig_write(RXMTRL, 319u << 16 | 1u << 8 | 0); /* version 2: Delay_Req; version 1: Sync */
	assert_false(try(2, 0, 319, 1)); /* off */
	rig_write(TSYNCRXCTL, TYPE(RX_V2_EVENTS));
	assert_false(try(2, 0, 319, 0)); /* no EtherType filter */
	rig_write(ETQF + 12, 0x88f7 | ETQF_1588 | ETQF_EN);
	for (unsigned type = 0; type < 16; type++) {
		assert_int_equal(try(2, 0, 319, type), type < 8);
		assert_int_equal(try(2, 4, 319, type), type < 8);
		assert_int_equal(try(2, 6, 319, type), type < 8);
	}
	assert_false(try(1, 4, 319, 0)); /* another version, */
	assert_false(try(2, 4, 320, 0)); /* another port */
	assert_false(try(2, 6, 320, 0));
	rig_run(1000);
	assert_true(stamped(make_ptp(2, 4, 319, 0, 7, true), 7)); /* behind a tag */
	assert_false(stamped(numbered(1, 80), 0));
	rig_write(TSYNCRXCTL, TYPE(RX_V2_L2));
	assert_true(try(2, 0, 319, 1));
	assert_true(try(2, 0, 319, 3)); /* Pdelay_Resp is included */
	assert_false(try(2, 0, 319, 0));
	assert_false(try(2, 4, 319, 1));
	rig_write(TSYNCRXCTL, TYPE(RX_V2_BOTH));
	assert_true(try(2, 0, 319, 1));
	assert_true(try(2, 4, 319, 1));
	assert_false(try(2, 4, 319, 0));
	rig_write(TSYNCRXCTL, TYPE(RX_V1_L4));
	assert_true(try(1, 4, 319, 0));
	assert_false(try(1, 4, 319, 1));
	assert_false(try(1, 0, 319, 0));
	rig_write(TSYNCRXCTL, TYPE(4));
	rig_expect_violation("Type 4 is reserved");
}

/* Only the first frame gets a stamp, until it is read. The others arrive without one, and frames in
 * between are not examined. */
static void one_received_at_a_time(void **s)
{
	(void)s;
	struct received got;
	stand_still();
	rig_write(RXMTRL, 319u << 16);
	rig_write(TSYNCRXCTL, TYPE(RX_V2_EVENTS));
	uint64_t first = clock_read();
	for (unsigned i = 0; i < 5; i++) {
		assert_true(rig_receive(f, make_ptp(2, 4, 319, 0, (uint16_t)i, false)));
		assert_true(rig_receive(f, numbered(i, 64)));
		rig_run(640);
	}
	for (unsigned i = 0; i < 10; i++) {
		assert_true(drive_received(0, &got));
		assert_int_equal(!!(got.status & RXD_TS), i == 0);
	}
	assert_int_equal(rig_read(RXSATRH) >> 16, 0);
	assert_int_equal(received_stamp(), first);
	rig_read(RXSTMPL);
	rig_expect_violation("RXSTMPL read while TSYNCRXCTL.RXTT is clear");
	rig_read(RXSTMPH); /* LINUX: to make sure that it is empty */
}

static void stamps_get_lost(void **s)
{
	(void)s;
	unsigned taken = 0;
	stand_still();
	rig_write(RXMTRL, 319u << 16);
	rig_write(TSYNCRXCTL, TYPE(RX_V2_EVENTS));
	rig_fault_arg("stamp-lost", 4);
	for (unsigned i = 0; i < 40; i++)
		taken += try(2, 4, 319, 0);
	assert_int_equal(taken, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(t) cmocka_unit_test_setup_teardown(t, drive_strict, rig_stop)
#define T_LINE_RATE(t) cmocka_unit_test_setup_teardown(t, drive_line_rate, rig_stop)
		T(clock_counts),
		T(halves_belong_together),
		T(one_sent_at_a_time),
		T_LINE_RATE(one_sent_at_a_time),
		T(sending_rules),
		T(which_are_stamped),
		T_LINE_RATE(which_are_stamped),
		T(one_received_at_a_time),
		T_LINE_RATE(one_received_at_a_time),
		T(stamps_get_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
