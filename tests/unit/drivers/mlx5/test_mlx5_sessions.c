/*
 * Compressed CQEs of the mlx5 driver (drivers/mlx5/ring.h, invariant 5): sessions of every length
 * at every place of the CQ, taken in bursts of every length, single CQEs between them, and a
 * hostile device. The rig's device does not write the places that a session skips, and fails the
 * test if one of them looks new to the driver.
 */
#include "tests/unit/rig/mlx5_ring_rig.h"

#define ROUND 6 /* queues of 64, to wrap often */

static void begin(unsigned log_size, unsigned buffers)
{
	start_sharing(log_size, buffers, BUF_STRIDE_STANDARD, 0, 0);
	mlx5_rx_compressed(&w.rx);
	mlx5_rx_fill(&w.rx, &w.pool, &w.cnt);
	assert_int_equal(device_room(), w.size - 8);
}

static void expect_frames(uint32_t seq, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct pkt *p = &hand.pkt[hand.n - n + i];
		assert_ptr_equal(p->data, buf_base(&w.pool, p->buf) + BUF_DATA_OFFSET);
		assert_int_equal(p->interface, 3);
		assert_frame(p->data, p->len, seq + i);
	}
}

/* Takes all that is there, in bursts of at most `max`. */
static void take_all(uint32_t seq, unsigned n, unsigned max)
{
	while (n) {
		assert_true(mlx5_rx_waiting(&w.rx));
		unsigned k = rx(max);
		assert_int_equal(k, n < max ? n : max);
		expect_frames(seq, k);
		seq += k;
		n -= k;
	}
	assert_false(mlx5_rx_waiting(&w.rx));
	assert_int_equal(rx(max), 0);
	assert_false(w.broken);
}

static void every_length(void **s)
{
	(void)s;
	uint32_t seq = 0;
	begin(ROUND, 200);
	for (unsigned n = 2; n <= 42; n++) {
		for (unsigned max = 1; max <= n + 1; seq += n, max++) {
			device_session(seq, n, 1, 0, 0);
			take_all(seq, n, max);
			let_go();
		}
		assert_accounted();
	}
	assert_int_equal(w.cnt.rx_pkts, seq);
	assert_int_equal(w.cnt.rx_bad_desc + w.cnt.rx_bad_len, 0);
}

/* Up to the last place that there is, until the 16-bit counters have wrapped. */
static void any_mixture(void **s)
{
	(void)s;
	uint32_t in = 0, out = 0;
	seed_random("any_mixture");
	begin(ROUND, 300);
	while (out < 200000) {
		for (unsigned parts = random_below(6); parts && device_room(); parts--) {
			unsigned n = 1 + random_below(device_room());
			if (n > 1 && random_below(3))
				device_session(in, n, 1, 0, 0);
			else
				for (unsigned i = 0; i < n; i++)
					device_receive(in + i);
			in += n;
		}
		uint64_t before = w.cnt.rx_place;
		unsigned n = rx(1 + random_below(80));
		uint64_t behind = w.cnt.rx_place;
		w.cnt.rx_place = before; /* as if the program had failed within the burst */
		assert_int_equal(rx_left(), in - out);
		w.cnt.rx_place = behind;
		expect_frames(out, n);
		out += n;
		assert_int_equal(rx_left(), in - out);
		if (random_below(3) == 0)
			let_go();
	}
	assert_false(w.broken);
	assert_int_equal(w.cnt.rx_pkts, out);
}

/* A core that has failed may have written any place: no more frames are left than the queue has. */
static void any_place(void **s)
{
	(void)s;
	seed_random("any_place");
	begin(ROUND, 300);
	w.cnt.rx_place |= (uint64_t)(w.size + random_below(1u << 20)) << 32;
	assert_int_equal(rx_left(), 0);
	w.cnt.rx_place = (uint64_t)UINT32_MAX << 32 | (uint32_t)w.cnt.rx_place;
	assert_int_equal(rx_left(), 0);
}

static void title_speaks_for_all(void **s)
{
	(void)s;
	for (unsigned on = 0; on < 2; on++) {
		begin(ROUND, 200);
		w.rx.csum_mask = on ? MLX5_CQE_H_OK : 0;
		w.rx.vlan_mask = on ? MLX5_CQE_H_VLAN : 0;
		for (unsigned checks = 0; checks < 8; checks++) {
			unsigned good = checks >= 6 ? PKT_CSUM_OK | PKT_VLAN : PKT_VLAN;
			device_session(checks, 20, (uint8_t)checks, 0x31, 0xe123);
			assert_int_equal(rx(7) + rx(256), 20);
			for (unsigned i = 0; i < 20; i++) {
				const struct pkt *p = &hand.pkt[i];
				assert_int_equal(p->flags, on ? good : 0);
				assert_true(!on || pkt_meta(&w.pool, p->buf)->vlan_tci == 0xe123);
			}
			let_go();
		}
		assert_accounted();
	}
}

static void bad_lengths(void **s)
{
	(void)s;
	static const uint32_t bad[] = {0, 2101, 65535, 65536 + 60, 0xffffffff};
	begin(ROUND, 200);
	for (unsigned i = 0; i < 20; i++) {
		device_session(0, 20, 1, 0, 0);
		device_session_bytes(20, i, bad[i % ARRAY_LEN(bad)]);
		assert_int_equal(rx(10) + rx(10), 19);
		for (unsigned k = 0; k < 19; k++)
			assert_frame(hand.pkt[k].data, hand.pkt[k].len, k + (k >= i));
		assert_int_equal(w.cnt.rx_bad_len, i + 1);
		assert_accounted();
		let_go();
	}
	assert_false(w.broken);
}

/* Titles of no frames or one, of more than the device has WQEs, not of the next WQE, in another
 * format. */
static void bad_titles(void **s)
{
	(void)s;
	static const struct {
		uint32_t n;
		int counter;
		uint8_t format;
	} bad[] = {{0, 0, 3}, {1, 0, 3}, {55, 0, 3}, {0x10002, 0, 3}, {0xffffffff, 0, 3},
	           {8, -1, 3}, {8, 54, 3}, {8, 50, 3}, {8, 0x100, 3}, {8, 0, 1}, {8, 0, 2}};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		uint16_t counter = (uint16_t)(2 + bad[i].counter);
		begin(ROUND, 64); /* no buffers to refill with */
		device_receive(1);
		device_receive(2);
		device_rx_title(bad[i].n, counter, bad[i].format, 2);
		assert_int_equal(rx(256), 2);
		assert_true(w.broken);
		assert_int_equal(w.cnt.rx_bad_desc, 1);
		assert_false(w.rx.failed);
		assert_accounted();
	}
}

/* Without compression there is no session. */
static void not_asked_for(void **s)
{
	(void)s;
	start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
	device_session(0, 20, 1, 0, 0);
	assert_int_equal(rx(256), 0);
	assert_true(w.broken);
	assert_int_equal(w.cnt.rx_bad_desc, 1);
}

/* CQEs that were lost, before a session. */
static void lost_before(void **s)
{
	(void)s;
	uint32_t seq = 0, lost = 0;
	begin(ROUND, 200);
	for (unsigned round = 0; round < 2000; round++) {
		unsigned n = 2 + round % 20;
		for (unsigned k = round % 5; k; k--, lost++)
			w.rq_at++;
		device_session(seq, n, 1, 0, 0);
		assert_int_equal(rx(256) + rx(256), n); /* the first burst detects the loss */
		expect_frames(seq, n);
		seq += n;
		assert_int_equal(w.cnt.rx_bad_desc, lost);
		assert_accounted();
		let_go();
	}
	assert_false(w.broken);
}

/* An error CQE behind a session that is half taken. The CQ, which still holds sessions of given-up
 * WQEs, continues. */
static void failed(void **s)
{
	(void)s;
	for (unsigned before = 2; before < 40; before++) {
		begin(ROUND, 200);
		for (unsigned i = 0; i < before; i++) {
			device_session(i, before, 1, 0, 0);
			take_all(i, before, 9);
			let_go();
		}
		device_session(0, 5, 1, 0, 0);
		device_rx_cqe(0, (uint16_t)w.rq_at, 14);
		device_rx_title(7, (uint16_t)w.rq_at, 3, 7);
		device_rx_cqe(0, (uint16_t)w.rq_at, 14);
		device_rx_title(0, (uint16_t)w.rq_at, 3, 1);
		device_rx_title(0xffffffff, (uint16_t)w.rq_at, 3, 1);
		assert_int_equal(rx(3), 3);
		assert_false(w.broken);
		assert_int_equal(rx(256), 2);
		assert_true(w.broken && w.rx.failed);
		assert_accounted();
		mlx5_rx_restart(&w.rx, &w.pool, &w.cnt);
		w.broken = false;
		w.rq_at = 0; /* the device has passed through RST */
		let_go();
		for (unsigned i = 0; i < 50; i++) {
			device_session(i, 30, 1, 0, 0);
			take_all(i, 30, 256);
			let_go();
		}
		assert_int_equal(w.cnt.rx_queue_errors, 1);
		assert_int_equal(w.cnt.rx_bad_desc, 0);
	}
}

static void hostile(void **s)
{
	(void)s;
	unsigned broken = 0;
	seed_random("hostile");
	for (unsigned life = 0; life < 400; life++) {
		begin(5 + random_below(2), 300);
		for (unsigned round = 0; round < 50 && !w.broken; round++) {
			uint32_t from = w.rx_cq_at, room = device_room();
			unsigned n = room < 2 ? room : 2 + random_below(room - 1);
			if (n > 1)
				device_session(round, n, 1, 0, 0);
			else if (n)
				device_receive(round);
			if (random_below(20) == 0 && n) { /* in the title, or in mini CQEs */
				uint32_t i = random_below(n), place = i < 8 ? i < 2 : i / 8 * 8;
				uint64_t at = (from + place) % w.size * 64;
				uint8_t *cqe = bus(bus_of(w.rx_cq) + at, 64);
				random_fill(cqe, random_below(2) ? 64 : 0x30);
			}
			rx(1 + random_below(40));
			let_go();
			assert_accounted();
		}
		broken += w.broken;
	}
	assert_in_range(broken, 40, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_length, teardown),
		cmocka_unit_test_teardown(any_mixture, teardown),
		cmocka_unit_test_teardown(any_place, teardown),
		cmocka_unit_test_teardown(title_speaks_for_all, teardown),
		cmocka_unit_test_teardown(bad_lengths, teardown),
		cmocka_unit_test_teardown(bad_titles, teardown),
		cmocka_unit_test_teardown(not_asked_for, teardown),
		cmocka_unit_test_teardown(lost_before, teardown),
		cmocka_unit_test_teardown(failed, teardown),
		cmocka_unit_test_teardown(hostile, teardown),
	};
	return cmocka_run_group_tests(tests, guest_map, NULL);
}
