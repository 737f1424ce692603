/*
 * drivers/virtio_net/ring.c with a device that breaks the rules (ring.h, invariant 3): whatever it
 * writes, no memory but its own is accessed, received packets are valid, and no buffer is lost or
 * owned twice.
 */
#include "tests/unit/rig/virtio_liar.h"

/* used.idx ahead of what was given, or moved back: the queue is broken and nothing of it is
 * used. */
static void rx_index_lies(void **s)
{
	(void)s;
	static const unsigned ahead[] = {17, 18, 100, 32767, 32768, 40000, 65534, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(ahead); i++) {
		for (uint32_t base = 0; base < 3; base++) {
			start(16, 60);
			for (uint32_t k = 0; k < base; k++)
				device_receive(0, k);
			device_publish(&w.drx);
			assert_int_equal(rx(256), base);
			hostile();
			unsigned head = w.rx.head, rings = w.drx.rings, free = w.pool.free;
			store(w.drx.used + 2, 2, base + ahead[i]);
			assert_int_equal(rx(256), 0);
			assert_true(w.broken);
			assert_int_equal(w.rx.head, head);
			assert_int_equal(w.drx.rings, rings);
			assert_int_equal(w.pool.free, free);
			assert_int_equal(w.cnt.rx_pkts, base);
			assert_accounted();
		}
	}
	/* Fewer descriptors given than the ring has: the limit is what was given. */
	start(16, 10);
	store(w.drx.used + 2, 2, 11);
	assert_int_equal(rx(256), 0);
	assert_true(w.broken);
	/* A broken queue gets no more buffers. */
	start(16, 10);
	device_receive(0, 1);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 1);
	let_go();
	hostile();
	store(w.drx.used + 2, 2, 40);
	assert_int_equal(rx(256), 0);
	assert_true(w.broken);
	assert_int_equal(w.pool.free, 1);
}

static void tx_index_lies(void **s)
{
	(void)s;
	static const unsigned ahead[] = {6, 16, 17, 32768, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(ahead); i++) {
		start(16, 60);
		take_frags(0, 6); /* one entry of avail, seven descriptors: used.idx counts entries */
		take_frames(4, 1);
		assert_int_equal(tx(), 5);
		hostile();
		store(w.dtx.used + 2, 2, ahead[i]);
		take_frames(3, 5);
		unsigned rings = w.dtx.rings, free = w.pool.free;
		assert_int_equal(tx(), 0);
		assert_true(w.broken);
		assert_int_equal(hand.n, 3);
		assert_int_equal(w.dtx.rings, rings);
		assert_int_equal(w.pool.free, free);
		assert_int_equal(w.cnt.tx_pkts, 5);
		assert_accounted();
	}
}

/* Entries that name no descriptor of the device are counted; those around them are processed as
 * usual. */
static void rx_bad_ids(void **s)
{
	(void)s;
	static const uint32_t bad[] = {16, 17, 255, 0x10000, 0x10003, 0x7fffffff, 0x80000000,
	                               0xfffffffe, 0xffffffff};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		start(16, 60);
		hostile();
		w.drx.n = 16; /* the device still knows its own */
		device_receive(0, 1);
		device_use(&w.drx, bad[i], HEADER + 60);
		device_receive(0, 2);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 2);
		assert_int_equal(w.cnt.rx_bad_desc, 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, 1);
		assert_frame(hand.pkt[1].data, hand.pkt[1].len, 2);
		assert_accounted();
	}
}

static void rx_id_twice(void **s)
{
	(void)s;
	start(16, 60);
	hostile();
	for (unsigned i = 0; i < 5; i++)
		device_use(&w.drx, 3, HEADER + 60);
	store_header(w.drx.chain[3].addr, plain_header);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 1);
	assert_int_equal(w.cnt.rx_bad_desc, 4);
	assert_accounted();

	/* Its descriptor has a new buffer already, of which the device does not know. */
	start(16, 60);
	hostile();
	w.drx.n = 16;
	for (unsigned i = 0; i < 8; i++)
		device_receive(0, i);
	device_use(&w.drx, 3, HEADER + 60);
	device_use(&w.drx, 7, HEADER + 60);
	device_receive(0, 8);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 9);
	assert_int_equal(w.cnt.rx_bad_desc, 2);
	for (unsigned i = 0; i < 9; i++)
		assert_frame(hand.pkt[i].data, hand.pkt[i].len, i);
	assert_accounted();

	/* An id the device was never given: the pool had no buffer for it. */
	start(16, 10);
	hostile();
	device_use(&w.drx, 12, HEADER + 60);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 0);
	assert_int_equal(w.cnt.rx_bad_desc, 1);
	assert_int_equal(w.rx.missing, 6);
}

/* A device that claims to have returned everything and has returned nothing will never receive
 * again: the queue is reported as broken. */
static void rx_starved_by_bad_ids(void **s)
{
	(void)s;
	start(16, 60);
	hostile();
	for (unsigned i = 0; i < 16; i++) {
		assert_false(w.broken);
		device_use(&w.drx, 0xffff, HEADER + 60);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 0);
	}
	assert_int_equal(w.cnt.rx_bad_desc, 16);
	assert_int_equal(rx(256), 0);
	assert_true(w.broken);
}

/* In order: the device uses its `n` oldest buffers by one entry, which has the length of the last
 * one. */
static void device_batch(unsigned n, uint32_t len)
{
	unsigned first = w.drx.idx % w.drx.size, last = (first + n - 1) % w.drx.size;
	for (unsigned i = 0; i < n; i++)
		store_header(w.drx.chain[(first + i) % w.drx.size].addr, plain_header);
	store(w.drx.used + 4 + 8 * first, 4, last);
	store(w.drx.used + 8 + 8 * first, 4, len);
	w.drx.idx = (uint16_t)(w.drx.idx + n);
	device_publish(&w.drx);
}

/* In order (2.7.9): a used entry that names a buffer beyond used.idx, or none, is counted and
 * breaks the queue. Frames before it are delivered; nothing of it is. */
static void rx_batch_lies(void **s)
{
	(void)s;
	static const uint32_t bad[] = {3, 4, 15, 0, 1, 16, 18, 0x10002, 0x80000002, 0xffffffff};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		start(16, 60);
		device_receive(0, 1);
		device_receive(0, 2);
		hostile();
		device_use(&w.drx, bad[i], HEADER + 60); /* for buffer 2 */
		device_publish(&w.drx);
		assert_int_equal(rx(256), 2);
		assert_true(w.broken);
		assert_int_equal(w.cnt.rx_bad_desc, 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, 1);
		assert_frame(hand.pkt[1].data, hand.pkt[1].len, 2);
		assert_int_equal(w.rx.tail, 2);
		assert_accounted();
	}
	/* A batch of the maximum length; its length field is false. */
	for (unsigned n = 1; n <= 16; n++) {
		start(16, 60);
		hostile();
		device_batch(n, HEADER + ROOM + 1);
		assert_int_equal(rx(256), n - 1);
		assert_int_equal(w.cnt.rx_bad_len, 1);
		assert_false(w.broken);
		assert_accounted();
	}
}

/* In order: used.idx moves back while a batch is taken. If it moves to a buffer of the batch not
 * yet taken, it is accepted; if to one already taken, the queue is broken. The entry's contents do
 * not matter then, and no buffer is taken twice. */
static void rx_index_goes_back_in_a_batch(void **s)
{
	(void)s;
	for (unsigned back = 0; back <= 6; back++) {
		start(16, 60);
		hostile();
		device_batch(6, HEADER + 60);
		assert_int_equal(rx(3), 3);
		store(w.drx.used + 2, 2, back);
		random_fill(bus(w.drx.used + 4, 8 * 6), 8 * 6);
		assert_int_equal(rx(256), back < 3 ? 0 : back - 3);
		assert_int_equal(w.broken, back < 3);
		assert_accounted();
		if (w.broken)
			continue;
		w.drx.idx = 6;
		device_publish(&w.drx);
		assert_int_equal(rx(256), 6 - back);
		assert_int_equal(hand.pkt[5].len, 60);
		assert_int_equal(w.cnt.rx_bad_desc + w.cnt.rx_bad_len, 0);
		assert_accounted();
	}
}

/* In order: the first buffers of a batch claim that a frame continues endlessly, or beyond the
 * batch. */
static void rx_spread_in_a_batch_lies(void **s)
{
	(void)s;
	static const struct {
		uint16_t buffers;
		unsigned got; /* from two batches of 5 */
	} row[] = {{0, 9}, {1, 10}, {2, 8}, {5, 5}, {6, 4}, {10, 0}, {16, 0}, {17, 9}, {65535, 9}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		struct header h = plain_header;
		h.num_buffers = row[i].buffers;
		start(16, 60);
		hostile();
		device_batch(5, HEADER + 60);
		store_header(w.drx.chain[0].addr, h);
		unsigned got = rx(256);
		device_batch(5, HEADER + 60);
		got += rx(256);
		assert_int_equal(got, row[i].got);
		assert_int_equal(w.cnt.rx_oversize, row[i].buffers != 1);
		assert_false(w.broken);
		assert_accounted();
	}
}

static void rx_bad_lengths(void **s)
{
	(void)s;
	static const struct {
		uint32_t len;
		bool passes;
	} row[] = {
		{0, false},
		{1, false},
		{11, false},
		{12, false}, /* a header and nothing */
		{13, true},
		{ROOM + HEADER, true},
		{ROOM + HEADER + 1, false},
		{65535, false},
		{65536 + HEADER, false}, /* 0 in 16 bits */
		{65536 + HEADER + 60, false},
		{0x7fffffff, false},
		{0x80000000 + HEADER + 60, false},
		{0xffffffff, false},
	};
	start(16, 60);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		uint64_t bad = w.cnt.rx_bad_len;
		unsigned id = device_pick(&w.drx, 0);
		store_header(w.drx.chain[id].addr, plain_header);
		device_use(&w.drx, id, row[i].len);
		device_receive(0, i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1 + row[i].passes);
		assert_int_equal(w.cnt.rx_bad_len - bad, !row[i].passes);
		if (row[i].passes)
			assert_int_equal(hand.pkt[0].len, row[i].len - HEADER);
		assert_frame(hand.pkt[row[i].passes].data, hand.pkt[row[i].passes].len, i);
		assert_int_equal(w.drx.n, 16);
		assert_accounted();
		let_go();
	}
}

static void tx_bad_ids(void **s)
{
	(void)s;
	static const uint32_t bad[] = {16, 0x10000, 0x10003, 0x80000000, 0xffffffff, 9, 0};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		start(16, 60);
		take_frames(6, 0);
		assert_int_equal(tx(), 6);
		hostile();
		device_use(&w.dtx, 0, 0);
		device_use(&w.dtx, bad[i], 0); /* the last: 0 once more */
		device_use(&w.dtx, 2, 0xffffffff);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		assert_int_equal(w.pool.free, 60 - 16 - 6 + 2);
		assert_false(w.broken); /* three are outstanding: correct entries may still come */
		assert_accounted();
	}
}

/* The same for transmit: everything is reported as returned, except one frame. Its place would be
 * held for ever, and the queue would fill up behind it. */
static void tx_stuck_by_a_bad_id(void **s)
{
	(void)s;
	start(16, 60);
	hostile();
	take_frames(5, 0);
	assert_int_equal(tx(), 5);
	static const uint32_t ids[] = {0, 1, 77, 3, 4};
	for (unsigned i = 0; i < 5; i++)
		device_use(&w.dtx, ids[i], 0);
	device_publish(&w.dtx);
	take_frames(1, 5);
	assert_int_equal(tx(), 0);
	assert_true(w.broken);
	assert_int_equal(w.cnt.tx_bad_desc, 1);
	assert_int_equal(hand.n, 1);
	assert_int_equal(w.tx.owner[2] == VIRTIO_NONE, false);
}

/* Only its first descriptor identifies a chain, and only once: nothing of it is freed before. */
static void tx_chain_by_a_bad_id(void **s)
{
	(void)s;
	seed_random("tx_chain_by_a_bad_id");
	for (unsigned frags = 1; frags <= 12; frags++) {
		start(16, 60);
		hostile();
		take_frags(100, frags);
		take_frames(1, 101);
		keep(&hand.pkt[0], 2);
		assert_int_equal(tx(), 2);
		unsigned free = w.pool.free;
		for (unsigned i = 1; i <= frags; i++) { /* its other pieces, one used entry in total */
			w.dtx.idx = 0;
			device_use(&w.dtx, i, 0);
		}
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		assert_int_equal(w.pool.free, free);
		assert_int_equal(w.tx.done, 0);
		assert_false(w.broken);
		assert_accounted();
		device_use(&w.dtx, 0, 0);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_true(w.broken); /* both are reported as returned, and the frame behind is not */
		assert_int_equal(w.tx.done, 1 + frags);
		assert_accounted();
		let_go_of_all_kept();
		assert_accounted();
	}
	/* The same one twice: the fragments and the shared buffer are released once. */
	start(16, 60);
	hostile();
	take_frags(100, 5);
	keep(&hand.pkt[0], 3);
	take_frames(2, 101);
	assert_int_equal(tx(), 3);
	device_use(&w.dtx, 0, 0);
	device_use(&w.dtx, 0, 0);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.cnt.tx_bad_desc, 1);
	assert_accounted();
	let_go_of_all_kept();
}

/* --- random lies --- */

static void random_device(void **s)
{
	(void)s;
	unsigned long long restarts = 0, rx_pkts = 0, tx_pkts = 0, bad = 0;
	seed_random("random_device");
	for (unsigned round = 0; round < 100000; round++) {
		if (round == 0 || w.broken || random_below(500) == 0) {
			rx_pkts += w.cnt.rx_pkts;
			tx_pkts += w.cnt.tx_pkts;
			bad += w.cnt.rx_bad_desc + w.cnt.tx_bad_desc + w.cnt.rx_bad_len;
			liar_start();
			restarts++;
		}
		liar_round();
	}
	printf("random_device: %llu restarts, %llu received, %llu sent, %llu bad\n", restarts, rx_pkts,
	       tx_pkts, bad);
	/* The test is useful only if much traffic gets through. */
	assert_true(rx_pkts > 10000 && tx_pkts > 10000 && bad > 10000 && restarts < 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rx_index_lies, teardown),
		cmocka_unit_test_teardown(tx_index_lies, teardown),
		cmocka_unit_test_teardown(rx_bad_ids, teardown),
		cmocka_unit_test_teardown(rx_id_twice, teardown),
		cmocka_unit_test_teardown(rx_starved_by_bad_ids, teardown),
		cmocka_unit_test_teardown(rx_bad_lengths, teardown),
		cmocka_unit_test_teardown(tx_bad_ids, teardown),
		cmocka_unit_test_teardown(tx_stuck_by_a_bad_id, teardown),
		cmocka_unit_test_teardown(tx_chain_by_a_bad_id, teardown),
		cmocka_unit_test_teardown(random_device, teardown),
	};
	const struct CMUnitTest tests_in_order[] = {
		cmocka_unit_test_teardown(rx_index_lies, teardown),
		cmocka_unit_test_teardown(tx_index_lies, teardown),
		cmocka_unit_test_teardown(rx_batch_lies, teardown),
		cmocka_unit_test_teardown(rx_index_goes_back_in_a_batch, teardown),
		cmocka_unit_test_teardown(rx_spread_in_a_batch_lies, teardown),
		cmocka_unit_test_teardown(rx_bad_lengths, teardown),
		cmocka_unit_test_teardown(random_device, teardown),
	};
	int failed = cmocka_run_group_tests_name("virtio_hostile", tests, guest_map, NULL);
	return failed + cmocka_run_group_tests_name("virtio_hostile, in order", tests_in_order,
	                                            negotiate_in_order, NULL);
}
