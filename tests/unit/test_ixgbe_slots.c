/*
 * Slots of the ixgbe driver (drivers/nic.h; drivers/ixgbe/ring.h, invariant 6): what the device
 * reads is what was put, one write of the tail for each send, every send reported to its end, and a
 * device that lies.
 */
#include "tests/unit/ixgbe_rig.h"

#define SLOTS_MAX 1024u
#define RS 0x08000000u

/* The frames of the test's slots lie in the first buffers of the pool, which it keeps. */
static struct slots {
	unsigned n, all, put; /* all: free when the device has none; put: how often a slot was */
	uint32_t next, seen;  /* slots sent, and sent by the device */
	uint32_t seq[SLOTS_MAX];
	struct nic_slot slot[SLOTS_MAX];
} t;

static unsigned slots_free(void)
{
	unsigned n = ixgbe_slots_free(&w.tx, &w.cnt, &w.broken);
	assert_in_range(n, 0, t.n - 1);
	return n;
}

static void put(unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned k = (first + i) % t.n;
		t.seq[k] = t.put++;
		t.slot[k].len = frame_len(t.seq[k]);
		make_frame(t.slot[k].data, t.seq[k]);
		ixgbe_slots_put(&w.tx, first + i, &t.slot[k], 1);
	}
}

static void open_slots(void)
{
	memset(&t, 0, sizeof t);
	t.n = ixgbe_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken);
	assert_int_equal(t.n, w.size);
	t.all = slots_free();
	assert_int_equal(t.all, t.n - 1);
	for (unsigned i = 0; i < t.n; i++) {
		struct pkt p;
		assert_true(pkt_alloc(&w.pool, &p));
		t.slot[i].data = p.data;
		hand.kept[hand.nkept++] = p.buf;
		pkt_meta(&w.pool, p.buf)->refs = 1;
	}
}

static void send(unsigned n)
{
	unsigned writes = w.tx_writes;
	uint64_t bytes = w.cnt.tx_bytes, pkts = w.cnt.tx_pkts;
	ixgbe_slots_send(&w.tx, &w.cnt, n, 100 * n);
	t.next += n;
	assert_int_equal(w.tx_writes - writes, n > 0);
	assert_int_equal(w.cnt.tx_pkts - pkts, n);
	assert_int_equal(w.cnt.tx_bytes - bytes, 100 * n);
}

/* The device sends so many more; returns how many of them asked for a report. */
static unsigned device_sends(unsigned n)
{
	unsigned reports = 0;
	for (; n; n--, t.seen++) {
		unsigned at = w.tx_head;
		device_send(t.seq[t.seen % t.n]);
		reports += load(bus_of(w.tx_desc) + 16 * at + 8, 4) & RS ? 1 : 0;
	}
	return reports;
}

static unsigned outstanding(void)
{
	return t.next - t.seen;
}

static void begin(unsigned size)
{
	start(size, 2 * size + 100, BUF_STRIDE_STANDARD, IXGBE_HEAD_WRITE_BACK);
	frame_most = 200;
	open_slots();
	put(0, t.n);
}

static void end(void)
{
	let_go_of_all_kept();
	w.tx.tail = w.tx.head; /* owner[] names no buffers any more */
}

/* Who sends all that is free, to a device that is behind, writes nothing into the ring, and the
 * device reports once in 32. */
static void prepared_once(void **s)
{
	(void)s;
	static uint8_t before[16384];
	unsigned reports = 0;
	begin(1024);
	send(slots_free()); /* all but one: not to a fixed place */
	for (unsigned i = 0; i < 74; i++) {
		if (i == 10) { /* three times round */
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
	device_sends(outstanding());
	device_report();
	assert_int_equal(slots_free(), t.all);
	end();
}

/* Portions of any size, other frames each time: each send is reported to its end by itself, and a
 * slot that asked for it does so once. */
static void any_portion(void **s)
{
	(void)s;
	seed_random("any_portion");
	for (unsigned life = 0; life < 32; life++) {
		unsigned size = 8u << life % 8;
		begin(size);
		unsigned every = size / 4 < 32 ? size / 4 : 32;
		for (unsigned round = 0; round < 100; round++) {
			unsigned room = slots_free(), n = random_below(room + 1);
			if (random_below(3) == 0)
				put(t.next, n);
			uint32_t from = t.next;
			send(n);
			unsigned fixed = t.next / every - from / every, on = t.next % every != 0 && n;
			if (outstanding() == n && n) {
				assert_int_equal(device_sends(n), fixed + on);
				device_report();
				assert_int_equal(slots_free(), t.all);
			}
			device_sends(random_below(outstanding() + 1));
			if (random_below(2))
				device_report();
			assert_in_range(slots_free(), 0, t.all - (t.next - t.seen));
		}
		device_sends(outstanding());
		device_report();
		assert_int_equal(slots_free(), t.all);
		end();
	}
}

/* All it has is a long burst: what is free grows in portions, and all of it is free at last. */
static void comes_back(void **s)
{
	(void)s;
	begin(256);
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

/* After packets of core's own, some of which the device has yet when it is asked first. */
static void opened_after_packets(void **s)
{
	(void)s;
	start(64, 300, BUF_STRIDE_STANDARD, IXGBE_HEAD_WRITE_BACK);
	take_frames(5, 0);
	assert_int_equal(tx(), 5);
	assert_int_equal(ixgbe_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken), 0);
	for (unsigned i = 0; i < 5; i++)
		device_send(i);
	device_report();
	open_slots();
	put(0, t.n);
	for (unsigned round = 0; round < 500; round++) {
		send(1 + round % 50);
		device_sends(outstanding());
		device_report();
		assert_int_equal(slots_free(), t.all);
	}
	end();
}

/* A head that is not between what was sent and what is known breaks the queue. */
static void head_lies(void **s)
{
	(void)s;
	static const uint32_t bad[] = {6, 7, 63, 64, 1000, 0x80000005, 0xffffffff};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		begin(64);
		send(5);
		store(bus_of(w.written_head), 4, bad[i]);
		assert_int_equal(slots_free(), 0);
		assert_true(w.broken);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		end();
	}
}

/* Whatever it writes, the ring is never overfilled. */
static void random_heads(void **s)
{
	(void)s;
	unsigned broken = 0;
	seed_random("random_heads");
	for (unsigned life = 0; life < 1000; life++) {
		begin(8u << random_below(5));
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
