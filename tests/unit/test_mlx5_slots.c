/*
 * Slots of the mlx5 driver (drivers/nic.h; drivers/mlx5/ring.h, invariant 5): what the device reads
 * is what was put, one doorbell for each send, every send completed to its end, and a device that
 * lies.
 */
#include "tests/unit/mlx5_ring_rig.h"

#define SLOTS_MAX 1024u

/* The frames of the test's slots lie in the first buffers of the pool, which it keeps. */
static struct slots {
	unsigned n, put;      /* put: how often a slot was */
	uint32_t next, seen;  /* slots sent, and sent by the device */
	uint32_t seq[SLOTS_MAX];
	struct nic_slot slot[SLOTS_MAX];
} t;

static unsigned slots_free(void)
{
	unsigned n = mlx5_slots_free(&w.tx, &w.cnt, &w.broken);
	assert_in_range(n, 0, t.n);
	return n;
}

static void put(unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned k = (first + i) % t.n;
		t.seq[k] = t.put++;
		t.slot[k].len = frame_len(t.seq[k]);
		make_frame(t.slot[k].data, t.seq[k]);
		mlx5_slots_put(&w.tx, first + i, &t.slot[k], 1);
	}
}

static void open_slots(void)
{
	memset(&t, 0, sizeof t);
	t.n = mlx5_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken);
	assert_int_equal(t.n, w.size);
	assert_int_equal(slots_free(), t.n);
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
	unsigned doorbells = w.doorbells;
	uint64_t bytes = w.cnt.tx_bytes, pkts = w.cnt.tx_pkts;
	mlx5_slots_send(&w.tx, &w.cnt, n, 100 * n);
	t.next += n;
	assert_int_equal(w.doorbells - doorbells, n > 0);
	assert_int_equal(w.cnt.tx_pkts - pkts, n);
	assert_int_equal(w.cnt.tx_bytes - bytes, 100 * n);
}

/* The device sends so many more; returns how many of them asked for a CQE. */
static unsigned device_sends(unsigned n)
{
	unsigned before = w.reports;
	for (; n; n--, t.seen++)
		device_send(t.seq[t.seen % t.n]);
	return w.reports - before;
}

static unsigned outstanding(void)
{
	return t.next - t.seen;
}

static void begin(unsigned log_size, unsigned inline_bytes, bool multi)
{
	start(log_size, (2u << log_size) + 100, BUF_STRIDE_STANDARD, inline_bytes);
	w.tx.multi = multi;
	frame_most = 200;
	open_slots();
	put(0, t.n);
}

static void end(void)
{
	let_go_of_all_kept();
}

/* Who sends all that is free asks for one CQE in 32 WQEBBs, and one with each doorbell. */
static void prepared_once(void **s)
{
	(void)s;
	for (unsigned multi = 0; multi < 2; multi++) {
		unsigned reports = 0, rounds = multi ? 1200 : 300;
		begin(10, 0, multi);
		send(1000);
		for (unsigned i = 0; i < rounds; i++) { /* 16 bits of index go round */
			reports += device_sends(352);
			device_report();
			send(slots_free());
		}
		assert_in_range(reports, rounds, rounds * (multi ? 5 : 12));
		device_sends(outstanding());
		device_report();
		assert_int_equal(slots_free(), t.n);
		end();
	}
}

/* Portions of any size, other frames each time: each send is reported to its end by itself. */
static void any_portion(void **s)
{
	(void)s;
	seed_random("any_portion");
	for (unsigned life = 0; life < 32; life++) {
		unsigned log_size = 3 + life % 7;
		bool multi = life % 3 == 2;
		begin(log_size, life % 3 == 1 ? MLX5_INLINE_L2 : 0, multi);
		for (unsigned round = 0; round < 100; round++) {
			unsigned room = slots_free(), n = random_below(room + 1);
			if (random_below(3) == 0)
				put(t.next, n);
			uint32_t from = t.next;
			send(n);
			unsigned fixed = t.next / 32 - from / 32, on = t.next % 32 != 0 && n;
			if (outstanding() == n && n) {
				unsigned reports = device_sends(n);
				assert_in_range(reports, 1, fixed + 1);
				if (!multi)
					assert_int_equal(reports, fixed + on);
				device_report();
				assert_int_equal(slots_free(), t.n);
			}
			device_sends(random_below(outstanding() + 1));
			if (random_below(2))
				device_report();
			assert_in_range(slots_free(), 0, t.n - (t.next - t.seen));
		}
		device_sends(outstanding());
		device_report();
		assert_int_equal(slots_free(), t.n);
		end();
	}
}

/* After packets of core's own, some of which the device has yet when it is asked first. */
static void opened_after_packets(void **s)
{
	(void)s;
	start(6, 300, BUF_STRIDE_STANDARD, 0);
	take_frames(5, 0);
	assert_int_equal(tx(), 5);
	assert_int_equal(mlx5_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken), 0);
	for (unsigned i = 0; i < 5; i++)
		device_send(i);
	device_report();
	frame_most = 200;
	open_slots();
	put(0, t.n);
	for (unsigned round = 0; round < 500; round++) {
		send(1 + round % 50);
		device_sends(outstanding());
		device_report();
		assert_int_equal(slots_free(), t.n);
	}
	end();
}

static void counter_lies(void **s)
{
	(void)s;
	static const uint16_t bad[] = {5, 6, 63, 64, 1000, 0xffff};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		begin(6, 0, false);
		send(5);
		device_tx_cqe(bad[i], 0);
		assert_int_equal(slots_free(), 0);
		assert_true(w.broken);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(prepared_once, teardown),
		cmocka_unit_test_teardown(any_portion, teardown),
		cmocka_unit_test_teardown(opened_after_packets, teardown),
		cmocka_unit_test_teardown(counter_lies, teardown),
	};
	return cmocka_run_group_tests(tests, guest_map, NULL);
}
