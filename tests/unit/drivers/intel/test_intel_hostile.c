/*
 * drivers/intel/ring.c and ring_tx.c with a hostile device. Nothing it writes may lose a buffer,
 * give one two owners, or cause an access outside of memory (detected by ASan).
 */
#include "tests/unit/rig/intel_rig.h"

enum { DD = 1, EOP = 2 };

/* Lengths a descriptor cannot have. */
static void lengths(void **s)
{
	(void)s;
	static const unsigned bad[] = {0, 2049, 2100, 2176, 9216, 0x7fff, 0x8000, 0xffff};
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		device_receive(1);
		device_write_back(EOP, bad[i], 0);
		device_receive(2);
		assert_int_equal(rx(256), 2);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, 1);
		assert_frame(hand.pkt[1].data, hand.pkt[1].len, 2);
		assert_int_equal(w.cnt.rx_bad_len, i + 1);
		let_go();
		assert_accounted();
	}
}

/* A bad length or error within a frame over several descriptors drops the whole frame, once. */
static void bad_parts(void **s)
{
	(void)s;
	for (unsigned at = 0; at < 3 * RIG_CARDS; at++) {
		const unsigned bad_at = at / RIG_CARDS;
		rig_card(at % RIG_CARDS);
		for (unsigned kind = 0; kind < 3; kind++) {
			for (unsigned max = 1; max < 6; max++) {
				start(64, 200, BUF_STRIDE_STANDARD);
				for (unsigned i = 0; i < 3; i++) {
					static const unsigned lens[] = {0, 4000, 10};
					bool bad = i == bad_at;
					device_write_back((i == 2 ? EOP : 0) |
					                          (bad && kind == 2 ? card->mac : 0),
					                  bad ? lens[kind] : 10, 0);
				}
				device_receive(5);
				for (unsigned i = 0; i < 8; i++) {
					rx(max);
					assert_accounted();
				}
				assert_int_equal(hand.n, 1);
				assert_frame(hand.pkt[0].data, hand.pkt[0].len, 5);
				assert_int_equal(w.cnt.rx_bad_len, kind < 2);
				assert_int_equal(w.cnt.rx_bad_desc, kind == 2);
				assert_int_equal(w.cnt.rx_oversize, 0);
			}
		}
	}
}

/* A frame without end is dropped once, however long, and the next one is received correctly. */
static void frame_without_end(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < 1000; i++) {
		device_write_back(0, 2048, 0);
		assert_int_equal(rx(256), 0);
		assert_accounted();
	}
	assert_int_equal(w.cnt.rx_oversize, 1);
	device_write_back(EOP, 100, 0);
	device_receive(9);
	assert_int_equal(rx(256), 1);
	assert_frame(hand.pkt[0].data, hand.pkt[0].len, 9);
}

/* One byte at a time: gathered until the buffer is full. */
static void crumbs(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < BUF_STRIDE_STANDARD - BUF_DATA_OFFSET; i++) {
		*device_buffer() = (uint8_t)i;
		device_write_back(0, 1, 0);
		assert_int_equal(rx(256), 0);
	}
	assert_int_equal(w.cnt.rx_oversize, 0);
	device_write_back(EOP, 1, 0);
	assert_int_equal(rx(256), 0);
	assert_int_equal(w.cnt.rx_oversize, 1);
}

/* DD in descriptors that the device was never given: ignored. */
static void done_beyond_the_tail(void **s)
{
	(void)s;
	start(64, 20, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < 64; i++)
		memset(w.rx_desc + 16 * i + 8, 0xff, 8); /* all errors, length 65535 */
	w.rx_head = 20; /* the device had buffers for these */
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(rx(256), 0);
		assert_accounted();
	}
	assert_int_equal(w.cnt.rx_bad_desc, 20);
}

/* A write-back that is lost does not stop the ring. The frame behind it is dropped, too, because it
 * may be the rest of the lost one. */
static void lost_write_backs(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < 300; i++) {
		device_buffer();
		w.rx_head = (w.rx_head + 1) % w.size; /* lost */
		for (unsigned t = 0; t < 5; t++)
			assert_int_equal(rx(256), 0); /* nothing visible yet */
		assert_int_equal(w.cnt.rx_bad_desc, i);
		device_receive(1);
		device_receive(2);
		device_receive(3);
		rx(256);
		assert_int_equal(w.cnt.rx_bad_desc, i); /* not acted upon at first sight */
		for (unsigned t = 0; t < 4; t++)
			rx(256);
		assert_int_equal(w.cnt.rx_bad_desc, i + 1);
		assert_int_equal(hand.n, 2);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, 2);
		assert_frame(hand.pkt[1].data, hand.pkt[1].len, 3);
		let_go();
		assert_accounted();
	}
	/* in the middle of a frame */
	device_write_back(0, 2048, 0);
	device_buffer();
	w.rx_head = (w.rx_head + 1) % w.size;
	device_write_back(EOP, 10, 0);
	device_receive(4);
	for (unsigned t = 0; t < 4; t++)
		rx(256);
	assert_int_equal(hand.n, 1);
	assert_frame(hand.pkt[0].data, hand.pkt[0].len, 4);
}

/* Any value in the second quadword. */
static void random_write_backs(void **s)
{
	(void)s;
	static const uint32_t strides[] = {BUF_STRIDE_STANDARD, BUF_STRIDE_JUMBO};
	seed_random("random_write_backs");
	for (unsigned round = 0; round < 200; round++) {
		start(32, 100, strides[round % 2]);
		w.rx.csum_mask = INTEL_RXD_L4I | card->checksum4 | card->checksum3;
		w.rx.vlan_mask = round % 3 ? INTEL_RXD_VP : 0;
		for (unsigned turn = 0; turn < 100; turn++) {
			for (unsigned n = random_below(20); n && device_room(); n--) {
				uint32_t status = (uint32_t)random64();
				device_write_back(random_below(4) ? status & ~card->mac : status,
				                  random_below(random_below(2) ? 12000 : 2200), 1);
			}
			unsigned n = rx(1 + random_below(32));
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

/* A head outside of what the device was given breaks the queue; every head inside is valid. */
static void written_heads(void **s)
{
	(void)s;
	static const uint32_t wild[] = {64,    65,         127,        1024,
	                                65536, 0x7fffffff, 0x80000000, 0xffffffff};
	for (uint32_t head = 0; head < 64 + ARRAY_LEN(wild); head++) {
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
			uint32_t value = head < 64 ? head : wild[head - 64];
			memcpy(w.written_head, &value, 4);
			tx();
			bool good = value < 64 && ((value - old) & 63) <= 20;
			assert_int_equal(w.broken, !good);
			assert_int_equal(w.cnt.tx_bad_desc, !good);
			assert_accounted();
		}
	}
	/* A broken queue sends nothing more. */
	take_frames(1, 1);
	uint32_t lie = 0xffffffff;
	memcpy(w.written_head, &lie, 4);
	assert_int_equal(tx(), 0);
}

/* A head in the middle of a frame frees nothing of it: its owner is in its last descriptor. */
static void written_heads_within_a_chain(void **s)
{
	(void)s;
	seed_random("written_heads_within_a_chain");
	for (uint32_t head = 0; head < 34; head++) {
		start(64, 300, BUF_STRIDE_STANDARD);
		take_frags(100, PKT_FRAGS_MAX);
		take_frames(1, 1);
		keep(&hand.pkt[0], 2);
		assert_int_equal(tx(), 2);
		unsigned free = w.pool.free;
		memcpy(w.written_head, &head, 4);
		assert_int_equal(tx(), 0);
		assert_false(w.broken);
		assert_int_equal(w.tx.tail, head);
		assert_int_equal(w.pool.free > free, head > PKT_FRAGS_MAX);
		assert_accounted();
		let_go_of_all_kept();
		assert_accounted();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(lengths, teardown),
		cmocka_unit_test_teardown(bad_parts, teardown),
		cmocka_unit_test_teardown(frame_without_end, teardown),
		cmocka_unit_test_teardown(crumbs, teardown),
		cmocka_unit_test_teardown(done_beyond_the_tail, teardown),
		cmocka_unit_test_teardown(lost_write_backs, teardown),
		cmocka_unit_test_teardown(random_write_backs, teardown),
		cmocka_unit_test_teardown(written_heads, teardown),
		cmocka_unit_test_teardown(written_heads_within_a_chain, teardown),
	};
	return cmocka_run_group_tests(tests, guest_map, NULL);
}
