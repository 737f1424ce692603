/* See ring_rig.h. */
#include "tests/unit/rig/ring_rig.h"

static unsigned kind;

static void begin(unsigned size, unsigned buffers)
{
	start_kind(size, buffers, size, kind);
}

/* --- receive --- */

static void rx_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0, bytes = 0;
	begin(256, 1000);
	/* Until 16-bit counters have wrapped. */
	for (unsigned n = 1; seq < 100000; n = n % 200 + 7) {
		for (unsigned i = 0; i < n; i++)
			device_receive(seq + i);
		assert_int_equal(rx(256), n);
		for (unsigned i = 0; i < n; i++) {
			const struct pkt *p = &hand.pkt[i];
			assert_ptr_equal(p->data, buf_base(hand.pool, p->buf) + ring_card.data_offset);
			assert_int_equal(p->flags, 0);
			assert_int_equal(p->interface, 3);
			assert_frame(p->data, p->len, seq + i);
			bytes += p->len;
		}
		seq += n;
		assert_accounted();
		let_go();
	}
	assert_int_equal(hand.cnt->rx_pkts, seq);
	assert_int_equal(hand.cnt->rx_bytes, bytes);
	assert_int_equal(rx(256), 0);
}

static void rx_takes_no_more_than_asked(void **s)
{
	(void)s;
	begin(64, 200);
	for (unsigned i = 0; i < 50; i++)
		device_receive(i);
	assert_true(rx_waiting());
	for (unsigned got = 0; got < 50; got += 7)
		assert_int_equal(rx(7), 50 - got < 7 ? 50 - got : 7);
	assert_int_equal(rx(7), 0);
	assert_false(rx_waiting());
	for (unsigned i = 0; i < 50; i++)
		assert_frame(hand.pkt[i].data, hand.pkt[i].len, i);
}

/* Any number at a time, and buffers that come back late. The number of frames not taken is
 * known. */
static void rx_random(void **s)
{
	(void)s;
	seed_random("rx_random");
	for (unsigned life = 0; life < 20; life++) {
		uint32_t in = 0, out = 0;
		begin(16u << random_below(4), 40 + random_below(500));
		for (unsigned round = 0; round < 200; round++) {
			for (unsigned n = random_below(device_room() + 1); n; n--)
				device_receive(in++);
			unsigned n = rx(1 + random_below(100));
			for (unsigned i = hand.n - n; i < hand.n; i++)
				assert_frame(hand.pkt[i].data, hand.pkt[i].len, out++);
			assert_int_equal(rx_left(), in - out);
			if (random_below(3) == 0)
				let_go();
		}
		out += rx(256);
		assert_int_equal(out, in);
		assert_accounted();
		let_go();
	}
}

/* However many rings a core's pool feeds, half of it remains; and each ring wraps around. */
static void rx_takes_its_share(void **s)
{
	(void)s;
	assert_int_equal(nic_rx_share(10240, 16), 320);
	assert_int_equal(nic_rx_share(40, 16), NIC_RX_BUFFERS_MIN);
	for (unsigned ports = 1; ports <= 6; ports++) {
		uint32_t most = nic_rx_share(100, ports);
		start_kind(64, 100, most, 0);
		assert_int_equal(hand.pool->free, 100 - most);
		for (uint32_t seq = 0; seq < 500; seq++) {
			device_receive(seq);
			assert_int_equal(rx(256), 1);
			assert_in_range(device_room(), most - most / 4, most);
			let_go();
			assert_true(hand.pool->free >= 100 - most);
		}
	}
}

/* The pool is empty for a while: the ring shrinks, counts that, and grows again. */
static void rx_pool_runs_dry_and_recovers(void **s)
{
	(void)s;
	uint32_t seq = 0;
	begin(64, 100);
	for (unsigned round = 0; round < 3; round++) {
		while (device_room()) {
			unsigned n = device_room() < 10 ? device_room() : 10;
			for (unsigned i = 0; i < n; i++)
				device_receive(seq++);
			assert_int_equal(rx(256), n);
			assert_accounted();
		}
		assert_int_equal(hand.n, 100);
		assert_true(hand.cnt->rx_no_buffer > 0);
		uint64_t dry = hand.cnt->rx_no_buffer;
		assert_int_equal(rx(256), 0);
		assert_int_equal(hand.cnt->rx_no_buffer, dry); /* idle turns are not counted */
		/* One buffer is returned and announced at once, because the device has none. Then
		 * all. */
		pkt_free(hand.pool, &hand.pkt[--hand.n]);
		assert_int_equal(rx(256), 0);
		assert_int_equal(device_room(), 1);
		let_go();
		assert_int_equal(rx(256), 0);
		assert_int_equal(device_room(), 64 - ring_card.kept_back);
		assert_accounted();
	}
	/* Fewer buffers than places from the start. */
	begin(64, 20);
	assert_int_equal(device_room(), 20);
	for (unsigned i = 0; i < 1000; i++) {
		device_receive(i);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, i);
		let_go();
		assert_true(device_room() > 0);
		assert_accounted();
	}
}

/* --- transmit --- */

static void tx_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0, ours = 600 - (256 - ring_card.kept_back);
	begin(256, 600);
	for (unsigned n = 1; seq < 100000; n = n % 251 + 3) {
		take_frames(n, seq);
		assert_int_equal(tx(), n);
		for (unsigned i = 0; i < n; i++)
			device_send(seq + i);
		assert_int_equal(device_waiting(), 0);
		assert_int_equal(tx(), 0);
		assert_int_equal(hand.pool->free, ours - n);
		device_report();
		assert_int_equal(tx(), 0); /* reclaims all, without another being sent */
		assert_int_equal(hand.pool->free, ours);
		assert_accounted();
		seq += n;
	}
	assert_int_equal(hand.cnt->tx_pkts, seq);
	assert_int_equal(hand.cnt->tx_full, 0);
}

/* Takes one more packet, of any kind, in hand. */
static void take_any(uint32_t seq)
{
	if (random_below(3) == 0)
		take_frags(seq, 1 + random_below(PKT_FRAGS_MAX));
	else
		take_frames(1, seq);
	if (random_below(4) == 0)
		keep(&hand.pkt[hand.n - 1], 1 + random_below(3));
}

/* Bursts of less than `most`, with sending and reports at random; the ring is full now and then,
 * and the test releases its holds at any time. */
static void send_random(unsigned size, unsigned buffers, unsigned most, bool any_kind)
{
	uint32_t taken = 0, sent = 0;
	unsigned refused = 0;
	begin(size, buffers);
	for (unsigned round = 0; round < 2500; round++) {
		unsigned n = random_below(most);
		for (unsigned i = 0; i < n; i++) {
			if (any_kind)
				take_any(taken + i);
			else
				take_frames(1, taken + i);
		}
		unsigned k = tx();
		taken += k;
		refused += k < n;
		let_go();
		for (unsigned i = random_below(taken - sent + 1); i; i--)
			device_send(sent++);
		if (random_below(3) == 0)
			device_report();
		while (hand.nkept && random_below(3))
			let_go_of_kept(random_below(hand.nkept));
		assert_accounted();
	}
	while (sent < taken)
		device_send(sent++);
	device_report();
	assert_int_equal(tx(), 0);
	let_go_of_all_kept();
	assert_int_equal(hand.pool->free, buffers - (size - ring_card.kept_back));
	assert_int_equal(hand.cnt->tx_pkts, sent);
	assert_int_equal(hand.cnt->tx_full, refused);
	assert_true(refused > 100 && sent > 4000);
}

static void tx_random(void **s)
{
	(void)s;
	seed_random("tx_random");
	send_random(64, 400, 50, false);
}

static void tx_any_kind(void **s)
{
	(void)s;
	seed_random("tx_any_kind");
	send_random(64, 1200, 10, true);
}

static void tx_ring_full(void **s)
{
	(void)s;
	unsigned places = 64 - ring_card.kept_back;
	begin(64, 300);
	take_frames(100, 0);
	assert_int_equal(tx(), places);
	assert_int_equal(hand.cnt->tx_full, 1);
	assert_int_equal(tx(), 0);
	assert_int_equal(hand.cnt->tx_full, 2);
	for (unsigned i = 0; i < places; i++)
		device_send(i);
	device_report();
	assert_int_equal(tx(), 100 - places);
	for (unsigned i = places; i < 100; i++)
		device_send(i);
}

/* The port restarts alone at any moment: all buffers but those that the test holds return, each once, also those
 * that other packets share. */
static void released_at_any_time(void **s)
{
	(void)s;
	seed_random("released_at_any_time");
	for (unsigned life = 0; life < 60; life++) {
		const unsigned buffers = 200 + random_below(1000);
		uint32_t taken = 0, sent = 0, in = 0;
		begin(64, buffers);
		for (unsigned round = random_below(200); round; round--) {
			for (unsigned n = random_below(device_room() + 1) / 8; n; n--)
				device_receive(in++);
			rx(1 + random_below(64));
			let_go();
			for (unsigned n = random_below(10), i = 0; i < n && hand.pool->free > 100; i++)
				take_any(taken + i);
			taken += tx();
			let_go();
			for (unsigned i = random_below(taken - sent + 1); i; i--)
				device_send(sent++);
			if (random_below(3) == 0)
				device_report();
			while (hand.nkept && random_below(3))
				let_go_of_kept(random_below(hand.nkept));
		}
		release();
		assert_accounted();
		let_go_of_all_kept();
		assert_int_equal(hand.pool->free, buffers);
		release(); /* there is nothing left */
		assert_int_equal(hand.pool->free, buffers);
	}
}

/* In the ring three times and held by the sender: it is freed when all have released it. */
static void tx_shared_buffer_is_freed_once(void **s)
{
	(void)s;
	for (unsigned last = 0; last < 2; last++) {
		begin(8, 8 - ring_card.kept_back + 1);
		take_frames(1, 1);
		keep(&hand.pkt[0], 2);
		pkt_meta(hand.pool, hand.pkt[0].buf)->refs = 4;
		hand.pkt[1] = hand.pkt[2] = hand.pkt[0];
		hand.n = 3;
		assert_int_equal(hand.pool->free, 0);
		assert_int_equal(tx(), 3);
		if (!last)
			let_go_of_all_kept();
		for (unsigned i = 0; i < 3; i++)
			device_send(1);
		assert_int_equal(hand.pool->free, 0);
		device_report();
		tx();
		assert_accounted();
		let_go_of_all_kept();
		assert_int_equal(hand.pool->free, 1);
	}
}

/* A frame arrives and is received, in order. */
static void one_comes_up(uint32_t seq)
{
	device_receive(seq);
	assert_int_equal(rx(256), 1);
	assert_frame(hand.pkt[hand.n - 1].data, hand.pkt[hand.n - 1].len, seq);
}

/* At whatever place in the ring buffers run out, and however few come back. */
static void rx_runs_dry_at_any_place(void **s)
{
	(void)s;
	for (unsigned place = 0; place < 2 * 64; place++) {
		const unsigned back = 1 + place % 7;
		uint32_t seq = 0;
		begin(64, 100);
		for (; seq < place; let_go())
			one_comes_up(seq++);
		while (device_room())
			one_comes_up(seq++);
		assert_int_equal(hand.n, 100);
		assert_true(hand.cnt->rx_no_buffer > 0);
		for (unsigned i = 0; i < back; i++)
			pkt_free(hand.pool, &hand.pkt[--hand.n]);
		assert_int_equal(rx(256), 0);
		assert_int_equal(device_room(), back);
		while (device_room())
			one_comes_up(seq++);
		let_go();
		assert_int_equal(rx(256), 0);
		assert_int_equal(device_room(), 64 - ring_card.kept_back);
		for (unsigned i = 0; i < 2 * 64; i++, let_go())
			one_comes_up(seq++);
		assert_int_equal(hand.cnt->rx_pkts, seq);
		assert_accounted();
	}
}

int run_ring_tests(void)
{
	const struct CMUnitTest receive[] = {
		cmocka_unit_test_teardown(rx_in_order, teardown),
		cmocka_unit_test_teardown(rx_takes_no_more_than_asked, teardown),
		cmocka_unit_test_teardown(rx_random, teardown),
		cmocka_unit_test_teardown(rx_takes_its_share, teardown),
		cmocka_unit_test_teardown(rx_pool_runs_dry_and_recovers, teardown),
		cmocka_unit_test_teardown(rx_runs_dry_at_any_place, teardown),
	};
	const struct CMUnitTest send[] = {
		cmocka_unit_test_teardown(tx_random, teardown),
		cmocka_unit_test_teardown(tx_any_kind, teardown),
		cmocka_unit_test_teardown(tx_shared_buffer_is_freed_once, teardown),
		cmocka_unit_test_teardown(released_at_any_time, teardown),
	};
	const struct CMUnitTest fill[] = {
		cmocka_unit_test_teardown(tx_in_order, teardown),
		cmocka_unit_test_teardown(tx_ring_full, teardown),
	};
	int failed = cmocka_run_group_tests_name("nic_ops.rx_burst", receive, NULL, NULL);
	for (kind = 0; kind < ring_card.kinds; kind++) {
		printf("kind %u\n", kind);
		failed += cmocka_run_group_tests_name("nic_ops.tx_burst", send, NULL, NULL);
		if (kind < ring_card.kinds_of_a_place)
			failed += cmocka_run_group_tests_name("a full ring", fill, NULL, NULL);
	}
	return failed;
}
