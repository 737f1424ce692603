/*
 * Slots of the ixgbe driver (drivers/nic.h; drivers/intel/ring.h, invariant 6): the device reads
 * what was put, one write of the tail per send, every send is reported to its end, and a hostile
 * device does no harm.
 */
#include "tests/unit/rig/intel_rig.h"
#include "tests/unit/rig/slots_rig.h"

#define RS 0x08000000u

static void start_slots(unsigned size, unsigned kind)
{
	(void)kind;
	start(size, 2 * size + 100, BUF_STRIDE_STANDARD);
	frame_most = 200;
}

static unsigned open_ring(void)
{
	return intel_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken);
}

static void put_slots(unsigned first, const struct nic_slot *s, unsigned n)
{
	intel_slots_put(&w.tx, first, s, n);
}

static unsigned known_free(void)
{
	return intel_slots_free(&w.tx, &w.cnt, &w.broken);
}

static void send_slots(unsigned n, uint64_t bytes)
{
	intel_slots_send(&w.tx, &w.cnt, n, bytes);
}

static void forget(void)
{
	w.tx.tail = w.tx.head; /* owner[] no longer names buffers */
}

static unsigned tails(void)
{
	return w.tx_writes;
}

static bool send_next(uint32_t seq)
{
	unsigned at = w.tx_head;
	device_send(seq);
	return load(bus_of(w.tx_desc) + 16 * at + 8, 4) & RS;
}

/* Reports at fixed places, and one for the last slot of a send, which requested it once. */
static void assert_reports(uint32_t from, unsigned reports)
{
	unsigned every = w.size / 4 < 32 ? w.size / 4 : 32;
	assert_int_equal(reports, t.next / every - from / every + (t.next % every != 0));
}

const struct slots_card slots_card = {
	.kept_back = 1,
	.start = start_slots,
	.open = open_ring,
	.put = put_slots,
	.free = known_free,
	.send = send_slots,
	.end = forget,
	.tx = tx,
	.doorbells = tails,
	.device_send = send_next,
	.device_report = device_report,
	.assert_reports = assert_reports,
};

/* A sender of all free slots, with a device that is behind, writes nothing into the ring, and the
 * device reports once in 32. */
static void prepared_once(void **s)
{
	(void)s;
	static uint8_t before[16384];
	unsigned reports = 0;
	begin(1024, 0);
	send(slots_free()); /* all but one: does not end at a fixed place */
	for (unsigned i = 0; i < 74; i++) {
		if (i == 10) { /* after three rounds */
			memcpy(before, w.tx_desc, sizeof before);
			reports = 0;
		}
		reports += device_sends(352);
		device_report();
		send(slots_free());
		assert_int_equal(t.next % 32, 0);
	}
	assert_memory_equal(before, w.tx_desc, sizeof before);
	assert_int_equal(reports, 64 * 352 / 32);
	device_sends_all();
	end();
}

/* The device has one long burst: free slots grow in steps, and in the end all are free. */
static void comes_back(void **s)
{
	(void)s;
	begin(256, 0);
	send(255);
	assert_int_equal(slots_free(), 0);
	for (unsigned i = 1; i <= 255; i++) {
		device_sends(1);
		device_report();
		unsigned done = w.reported == 255 ? 255 : i / 32 * 32;
		assert_int_equal(w.reported, done);
		unsigned exact = done, portions = (255 + done) / 32 * 32 - 255;
		assert_int_equal(slots_free(), 255 - done > 127 ? (done ? portions : 0) : exact);
	}
	end();
}

/* A head that is not between what was sent and what is known breaks the queue. */
static void head_lies(void **s)
{
	(void)s;
	static const uint32_t bad[] = {6, 7, 63, 64, 1000, 0x80000005, 0xffffffff};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		begin(64, 0);
		send(5);
		store(bus_of(w.written_head), 4, bad[i]);
		assert_int_equal(slots_free(), 0);
		assert_true(w.broken);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		end();
	}
}

/* Whatever the device writes, the ring is never overfilled. */
static void random_heads(void **s)
{
	(void)s;
	unsigned broken = 0;
	seed_random("random_heads");
	for (unsigned life = 0; life < 1000; life++) {
		begin(8u << random_below(5), 0);
		w.broken = false;
		for (unsigned round = 0; round < 50 && !w.broken; round++) {
			unsigned room = slots_free();
			assert_in_range(w.tx.head - w.tx.tail + room, 0, t.all);
			send(random_below(room + 1));
			uint32_t sent = random_below(w.tx.head - w.tx.tail + 1);
			uint32_t good = (w.tx.tail + sent) & w.tx.mask;
			store(bus_of(w.written_head), 4, random_below(20) ? good : (uint32_t)random64());
		}
		broken += w.broken;
		end();
	}
	assert_in_range(broken, 100, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(prepared_once, teardown),
		cmocka_unit_test_teardown(any_portion, teardown),
		cmocka_unit_test_teardown(comes_back, teardown),
		cmocka_unit_test_teardown(opened_after_packets, teardown),
		cmocka_unit_test_teardown(head_lies, teardown),
		cmocka_unit_test_teardown(random_heads, teardown),
	};
	return cmocka_run_group_tests_name("ixgbe_slots", tests, guest_map, NULL);
}
