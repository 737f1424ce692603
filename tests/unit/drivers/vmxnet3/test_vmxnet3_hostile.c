/*
 * drivers/vmxnet3/ring*.c with a hostile device. Nothing it writes may lose a buffer, give one two owners, or cause
 * an access outside of memory (detected by ASan).
 */
#include "tests/unit/rig/vmxnet3_rig.h"

/* Lengths that the buffer cannot have. */
static void lengths(void **s)
{
	(void)s;
	static const unsigned bad[] = {0, ROOM + 1, 2176, 9216, 0x3fff};
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		device_receive(1);
		device_complete(WHOLE, bad[i]);
		device_receive(2);
		assert_int_equal(rx(256), 2);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, 1);
		assert_frame(hand.pkt[1].data, hand.pkt[1].len, 2);
		assert_int_equal(w.cnt.rx_bad_len, i + 1);
		let_go();
		assert_accounted();
	}
}

/* A frame over several descriptors, which the device was told not to make, is dropped whole and counted once; so is
 * the end of one that never began. */
static void pieces(void **s)
{
	(void)s;
	for (unsigned max = 1; max < 6; max++) {
		start(64, 200, BUF_STRIDE_STANDARD);
		device_complete(1u << 15, ROOM); /* beginning */
		device_complete(0, ROOM);
		device_complete(1u << 14, 10); /* end */
		device_receive(5);
		device_complete(1u << 14, 10); /* of nothing */
		device_receive(6);
		device_complete(1u << 15, 100); /* never ends */
		device_receive(7);
		for (unsigned i = 0; i < 10; i++) {
			rx(max);
			assert_accounted();
		}
		assert_int_equal(hand.n, 3);
		for (unsigned i = 0; i < 3; i++)
			assert_frame(hand.pkt[i].data, hand.pkt[i].len, 5 + i);
		assert_int_equal(w.cnt.rx_oversize, 2);
		assert_int_equal(w.cnt.rx_bad_desc, 1);
	}
}

/* Descriptors that are not the device's, and queues that are not ours, are counted and skipped. */
static void indexes(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	unsigned bad = 0;
	for (unsigned round = 0; round < 100; round++) {
		/* The one kept back, the one before; beyond the ring; another ring of ours, another queue. */
		const uint32_t wrong[] = {(w.rx.tail & 63) | QUEUE << 16, ((w.rx.head - 1) & 63) | QUEUE << 16,
		                          64 | QUEUE << 16, 0xfff | QUEUE << 16, (w.rx.head & 63) | (QUEUE + 4) << 16,
		                          (w.rx.head & 63) | 0x3ff << 16, w.rx.head & 63};
		for (unsigned i = 0; i < ARRAY_LEN(wrong); i++, bad++)
			device_write(wrong[i] | WHOLE, 100);
		device_receive(round);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, round);
		assert_int_equal(w.cnt.rx_bad_desc, bad);
		let_go();
		assert_accounted();
	}
}

/* One descriptor reported again and again gives one packet. */
static void reported_twice(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	device_receive(1);
	for (unsigned i = 0; i < 20; i++)
		device_write(0 | QUEUE << 16 | WHOLE, 100);
	assert_int_equal(rx(256), 1);
	assert_int_equal(w.cnt.rx_bad_desc, 20);
	assert_accounted();
}

/* A completion ring that is full of valid entries: each burst ends. */
static void never_ends(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	memset(w.rx_comp, 0xff, 16 * 128);
	for (unsigned i = 0; i < 100; i++) {
		rx(7);
		assert_accounted();
		let_go();
	}
	assert_in_range(vmxnet3_rx_left(w.rings, 64, 0), 0, 64);
	memset(w.rx_comp, 0, 16 * 128);
	assert_in_range(vmxnet3_rx_left(w.rings, 64, 0xffffffffffffffff), 0, 64);
}

/* Any contents of any completion. */
static void random_completions(void **s)
{
	(void)s;
	static const uint32_t strides[] = {BUF_STRIDE_STANDARD, BUF_STRIDE_JUMBO};
	seed_random("random_completions");
	for (unsigned round = 0; round < 200; round++) {
		start(32, 100, strides[round % 2]);
		w.hostile = true;
		for (unsigned turn = 0; turn < 100; turn++) {
			for (unsigned n = random_below(20); n; n--) {
				uint32_t first = (uint32_t)random64();
				if (random_below(4))
					first = (first & ~0x3ff0fe0u) | QUEUE << 16;
				if (random_below(4))
					first |= WHOLE;
				device_write(first, random64());
			}
			const unsigned n = rx(1 + random_below(32));
			for (unsigned i = 0; i < n; i++) {
				const struct pkt *p = &hand.pkt[i];
				const uint8_t *base = buf_base(&w.pool, p->buf);
				assert_true(p->data >= base + BUF_META && p->len > 0);
				assert_true(p->data + p->len <= base + w.pool.stride);
			}
			assert_accounted();
			let_go();
		}
	}
}

/* A transmit completion outside of what the device was given breaks the queue; every one inside is valid. */
static void sent_indexes(void **s)
{
	(void)s;
	for (uint32_t index = 0; index < 70; index++) {
		for (unsigned old = 0; old < 64; old += 21) {
			start(64, 300, BUF_STRIDE_STANDARD);
			take_frames(old, 0);
			tx();
			for (unsigned i = 0; i < old; i++)
				device_send(i);
			device_report();
			tx();
			take_frames(20, 1);
			assert_int_equal(tx(), 20);
			const uint32_t value = index < 64 ? index : index == 64 ? 64 : 0xfff - index;
			device_tx_write(value);
			tx();
			const bool good = value < 64 && ((value - old) & 63) < 20;
			assert_int_equal(w.broken, !good);
			assert_int_equal(w.cnt.tx_bad_desc, !good);
			assert_accounted();
		}
	}
	/* A broken queue sends nothing more. */
	take_frames(1, 1);
	assert_int_equal(tx(), 0);
}

/* A completion in the middle of a frame frees nothing of it. */
static void sent_within_a_chain(void **s)
{
	(void)s;
	seed_random("sent_within_a_chain");
	for (uint32_t index = 0; index < 12; index++) {
		start(64, 300, BUF_STRIDE_STANDARD);
		take_frags(100, 10);
		take_frames(1, 1);
		keep(&hand.pkt[0], 2);
		assert_int_equal(tx(), 2);
		const unsigned free = w.pool.free;
		device_tx_write(index);
		assert_int_equal(tx(), 0);
		assert_false(w.broken);
		assert_int_equal(w.tx.tail, index + 1);
		assert_int_equal(w.pool.free > free, index >= 10);
		assert_accounted();
		let_go_of_all_kept();
		assert_accounted();
	}
}

/* All completions valid, of whatever index: taken or broken, but it ends. */
static void all_sent(void **s)
{
	(void)s;
	start(64, 300, BUF_STRIDE_STANDARD);
	take_frames(63, 0);
	assert_int_equal(tx(), 63);
	memset(w.tx_comp, 0xff, 16 * 64);
	tx();
	assert_true(w.broken);
	assert_accounted();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(lengths, teardown),
		cmocka_unit_test_teardown(pieces, teardown),
		cmocka_unit_test_teardown(indexes, teardown),
		cmocka_unit_test_teardown(reported_twice, teardown),
		cmocka_unit_test_teardown(never_ends, teardown),
		cmocka_unit_test_teardown(random_completions, teardown),
		cmocka_unit_test_teardown(sent_indexes, teardown),
		cmocka_unit_test_teardown(sent_within_a_chain, teardown),
		cmocka_unit_test_teardown(all_sent, teardown),
	};
	return cmocka_run_group_tests(tests, guest_map, NULL);
}
