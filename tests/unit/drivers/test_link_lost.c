/*
 * Frames that are queued while the link is down: Intel's cards keep them and send them, stale, when the link returns,
 * unless the port is stopped and started before (nic_ops.tx_left, runtime/ports.c). Driver and model in one process,
 * once for each card.
 */
#include "tests/unit/rig/model_port.h"
#include "tests/unit/rig/nicsim_frames.h"

#define FRAMES 5u
#define SERVED 2u /* pairs */
#define RING_FRAMES 1023u

static void settle_ms(unsigned ms)
{
	rig_run(ms * 1000000ull);
}

static unsigned left(unsigned i)
{
	const unsigned writes = port.writes;
	const unsigned n = card.driver->tx_left(&port.nic, i, port.pair[i].mem);
	assert_int_equal(port.writes, writes);
	return n;
}

/* Queues n plain frames on pair i, of which each names its place. */
static unsigned queue_frames(unsigned i, unsigned first, unsigned n)
{
	unsigned taken = 0;
	for (unsigned k = 0; k < n; k++) {
		take(i, f, numbered(first + k, 80));
		taken += tx(i);
	}
	let_go(i);
	return taken;
}

/* A frame with a context descriptor before it, which is no frame. */
static void queue_with_context(unsigned i)
{
	struct flow w = {.version = 4, .protocol = 17, .src = {10, 1, 1, 1}, .dst = {10, 1, 1, 2}, .sport = 7,
	                 .dport = 9, .payload = 40};
	struct pkt *p = take(i, f, make_ip(f, &w));
	p->flags |= PKT_CSUM_PARTIAL;
	*pkt_meta(&port.pair[i].pool, p->buf) = (struct pkt_meta){.csum_start = 34, .csum_offset = 6};
	assert_int_equal(tx(i), 1);
}

static void lose_link(void)
{
	rig_carrier(false);
	settle_ms(1);
	assert_false(link_now().up);
}

static void regain_link(void)
{
	rig_carrier(true);
	assert_true(link_within(5000).up);
	settle_ms(1);
}

static void goes(uint32_t seq)
{
	struct rig_frame out;
	assert_true(rig_sent(&out));
	numbered(seq, 80);
	assert_int_equal(out.bytes, 80);
	assert_memory_equal(out.data, f, 80);
}

/* The card: it sends nothing, completes nothing, and sends all when the link returns. */
static void card_keeps_frames(void **s)
{
	(void)s;
	up(SERVED, NIC_TX_CSUM, STANDARD);
	lose_link();
	const uint32_t free = port.pair[1].pool.free;
	assert_int_equal(queue_frames(1, 100, FRAMES), FRAMES);
	settle_ms(3000);
	assert_int_equal(rig_sent_count(), 0);
	assert_int_equal(left(1), FRAMES);
	assert_int_equal(left(0), 0);
	card.driver->tx_burst(&port.pair[1].q, NULL, 0);
	assert_int_equal(port.pair[1].pool.free, free - FRAMES);
	regain_link();
	for (unsigned k = 0; k < FRAMES; k++)
		goes(100 + k);
	assert_int_equal(left(1), 0);
	card.driver->tx_burst(&port.pair[1].q, NULL, 0);
	assert_int_equal(port.pair[1].pool.free, free);
	assert_int_equal(rig.m->tx_lost, 0);
}

static void stop_and_start(void)
{
	port_stop();
	assert_buffers(); /* those in the rings are the driver's */
	if (port_start(SERVED, NIC_TX_CSUM, STANDARD, POOL_MAX) != E_OK)
		fail_msg("%s", port.nic.error);
	port_attach();
}

/* The mend: after stop and start none of them leaves, and what is queued from then on does. */
static void restart_drops_frames(void **s)
{
	(void)s;
	up(SERVED, NIC_TX_CSUM, STANDARD);
	for (unsigned round = 0; round < 3; round++) {
		lose_link();
		assert_int_equal(queue_frames(0, 100, FRAMES), FRAMES);
		assert_int_equal(queue_frames(1, 200, FRAMES), FRAMES);
		settle_ms(100);
		stop_and_start();
		assert_int_equal(left(0) + left(1), 0);
		regain_link();
		assert_int_equal(rig_sent_count(), 0);
		assert_int_equal(queue_frames(1, 300, 1), 1);
		settle_ms(1);
		goes(300);
		assert_int_equal(rig_sent_count(), 0);
	}
}

/* The link returns while the port is stopped: each frame is either sent or counted as unsent. */
static void each_frame_has_one_fate(void **s)
{
	(void)s;
	up(SERVED, NIC_TX_CSUM, STANDARD);
	lose_link();
	assert_int_equal(queue_frames(0, 100, FRAMES), FRAMES);
	assert_int_equal(queue_frames(1, 200, FRAMES), FRAMES);
	rig_carrier(true);
	settle_ms(3000);
	assert_int_equal(queue_frames(1, 300, FRAMES), FRAMES);
	port_stop();
	assert_int_equal(rig_sent_count() + left(0) + left(1), 3 * FRAMES);
	if (port_start(SERVED, NIC_TX_CSUM, STANDARD, POOL_MAX) != E_OK)
		fail_msg("%s", port.nic.error);
	port_attach();
	assert_int_equal(left(0) + left(1), 0);
}

/* What a stopped port had not sent is known until it starts. */
static void stopped_port_tells(void **s)
{
	(void)s;
	up(SERVED, NIC_TX_CSUM, STANDARD);
	lose_link();
	assert_int_equal(queue_frames(1, 100, FRAMES), FRAMES);
	port_stop();
	assert_int_equal(left(0), 0);
	assert_int_equal(left(1), FRAMES);
	assert_int_equal(rig_sent_count(), 0);
}

/* Frames are counted, not descriptors; a full ring too, wherever it begins. */
static void frames_are_counted(void **s)
{
	(void)s;
	up(SERVED, NIC_TX_CSUM, STANDARD);
	assert_int_equal(queue_frames(0, 0, 700), 700);
	settle_ms(10);
	assert_int_equal(rig_sent_count(), 700);
	lose_link();
	queue_with_context(1);
	assert_int_equal(queue_frames(1, 0, 2), 2);
	assert_int_equal(left(1), 3);
	assert_int_equal(queue_frames(0, 0, 1100), RING_FRAMES);
	assert_int_equal(left(0), RING_FRAMES);
	stop_and_start();
	assert_int_equal(left(0) + left(1), 0);
}

/* A device that is gone reads all ones. */
static uint32_t all_ones(uint32_t value)
{
	return value | UINT32_MAX;
}

static uint32_t beyond(uint32_t value)
{
	return value + 1024;
}

static void device_lies(void **s)
{
	(void)s;
	up(SERVED, NIC_TX_CSUM, STANDARD);
	lose_link();
	assert_int_equal(queue_frames(0, 0, FRAMES), FRAMES);
	port.lie = all_ones;
	assert_int_equal(left(0), 0);
	port.lie = beyond;
	assert_int_equal(left(0), 0);
	port.lie = NULL;
	assert_int_equal(left(0), FRAMES);
}

#define TESTS \
	cmocka_unit_test_teardown(card_keeps_frames, teardown), \
		cmocka_unit_test_teardown(restart_drops_frames, teardown), \
		cmocka_unit_test_teardown(each_frame_has_one_fate, teardown), \
		cmocka_unit_test_teardown(stopped_port_tells, teardown), \
		cmocka_unit_test_teardown(frames_are_counted, teardown), \
		cmocka_unit_test_teardown(device_lies, teardown)

int main(void)
{
	const struct CMUnitTest strictly[] = {TESTS};
	const struct CMUnitTest at_line_rate[] = {TESTS};
	int failed = cmocka_run_group_tests(strictly, strict, NULL);
	return failed + cmocka_run_group_tests(at_line_rate, line_rate, NULL);
}
