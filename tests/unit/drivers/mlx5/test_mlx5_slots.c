/*
 * Slots of the mlx5 driver (drivers/nic.h; drivers/mlx5/ring.h, invariant 6): the device reads what
 * was put, one doorbell per send, every send is completed to its end, and a hostile device does no
 * harm.
 */
#include "tests/unit/rig/mlx5_ring_rig.h"
#include "tests/unit/rig/slots_rig.h"

/* WQEs with and without inline headers, and with many frames. */
enum { PLAIN, INLINE, MULTI, KINDS };

static void start_slots(unsigned size, unsigned kind)
{
	start((unsigned)__builtin_ctz(size), 2 * size + 100, BUF_STRIDE_STANDARD,
	      kind % KINDS == INLINE ? MLX5_INLINE_L2 : 0);
	w.tx.multi = kind % KINDS == MULTI;
	frame_most = 200;
}

static unsigned open_ring(void)
{
	return mlx5_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken);
}

static void put_slots(unsigned first, const struct nic_slot *s, unsigned n)
{
	mlx5_slots_put(&w.tx, first, s, n);
}

static unsigned known_free(void)
{
	return mlx5_slots_free(&w.tx, &w.cnt, &w.broken);
}

static void send_slots(unsigned n, uint64_t bytes)
{
	mlx5_slots_send(&w.tx, &w.cnt, n, bytes);
}

static void forget(void) {} /* the ring keeps track of its slots */

static unsigned doorbells(void)
{
	return w.doorbells;
}

static bool send_next(uint32_t seq)
{
	unsigned before = w.reports;
	device_send(seq);
	return w.reports > before;
}

/* One report in 32 WQEBBs, and one for the last WQE of a send, which may be the same. A WQE of one
 * frame is one WQEBB; a WQE of many has up to 32 frames in 9 of them. */
static void assert_reports(uint32_t from, unsigned reports)
{
	unsigned wqes = (t.next - from + 31) / 32, most = 9 * wqes / 32 + 2;
	if (w.tx.multi)
		assert_in_range(reports, 1, wqes < most ? wqes : most);
	else
		assert_int_equal(reports, t.next / 32 - from / 32 + (t.next % 32 != 0));
}

const struct slots_card slots_card = {
	.start = start_slots,
	.open = open_ring,
	.put = put_slots,
	.free = known_free,
	.send = send_slots,
	.end = forget,
	.tx = tx,
	.doorbells = doorbells,
	.device_send = send_next,
	.device_report = device_report,
	.assert_reports = assert_reports,
};

/* A sender of all free slots requests one CQE in 32 WQEBBs, and one with each doorbell. */
static void prepared_once(void **s)
{
	(void)s;
	for (unsigned multi = 0; multi < 2; multi++) {
		unsigned reports = 0, rounds = multi ? 1200 : 300;
		begin(1024, multi ? MULTI : PLAIN);
		send(1000);
		for (unsigned i = 0; i < rounds; i++) { /* 16 bits of index wrap */
			reports += device_sends(352);
			device_report();
			send(slots_free());
		}
		assert_in_range(reports, rounds, rounds * (multi ? 5 : 12));
		device_sends_all();
		end();
	}
}

static void counter_lies(void **s)
{
	(void)s;
	static const uint16_t bad[] = {5, 6, 63, 64, 1000, 0xffff};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		begin(64, PLAIN);
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
