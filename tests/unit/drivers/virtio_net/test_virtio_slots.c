/*
 * Slots of drivers/virtio_net/ring.c (drivers/nic.h, ring.h, invariant 5): the device reads what
 * was put, one doorbell per send, completions in order and in any other, and a hostile device.
 */
#include "tests/unit/rig/slots_rig.h"
#include "tests/unit/rig/virtio_rig.h"

static void start_slots(unsigned size, unsigned kind)
{
	(void)kind;
	start(size, 2 * size + 100);
	frame_most = size > 64 ? 200 : ROOM; /* large rings are slow enough as it is */
}

static unsigned open_ring(void)
{
	return virtio_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken);
}

static void put_slots(unsigned first, const struct nic_slot *s, unsigned n)
{
	virtio_slots_put(&w.tx, first, s, n);
}

/* The free slots that the driver knows of without a look after a send, and with one: as many, or
 * more. */
static unsigned known_free(void)
{
	unsigned known = virtio_slots_free(&w.tx, &w.cnt, &w.broken);
	unsigned n = w.broken ? 0 : virtio_slots_free(&w.tx, &w.cnt, &w.broken);
	assert_in_range(n, w.broken ? 0 : known, t.n);
	return n;
}

static void send_slots(unsigned n, uint64_t bytes)
{
	virtio_slots_send(&w.tx, &w.cnt, n, bytes);
}

static void forget(void)
{
	for (unsigned i = 0; i < w.tx.size; i++)
		w.tx.owner[i] = VIRTIO_NONE;
}

static unsigned rings(void)
{
	return w.dtx.rings;
}

static bool send_next(uint32_t seq)
{
	device_send(0, seq);
	return false;
}

static void publish(void)
{
	device_publish(&w.dtx);
}

const struct slots_card slots_card = {
	.start = start_slots,
	.open = open_ring,
	.put = put_slots,
	.free = known_free,
	.send = send_slots,
	.end = forget,
	.tx = tx,
	.doorbells = rings,
	.device_send = send_next,
	.device_report = publish,
};

/* The device sends the i-th oldest that it holds; returns its slot. */
static unsigned device_sends_any(unsigned i)
{
	unsigned slot = (w.dtx.fifo[i] - w.tx.slot_base) & (t.n - 1);
	device_send(i, t.seq[slot]);
	return slot;
}

/* Prepared once, sent repeatedly: no descriptor, avail or header is written again. */
static void prepared_once(void **s)
{
	(void)s;
	begin(64, 0);
	size_t bytes = virtio_ring_bytes(64);
	static uint8_t before[32768], after[32768];
	memcpy(before, w.tx.desc, bytes);
	for (unsigned round = 0; round < random_rounds(3000); round++) {
		unsigned n = 1 + round % 64;
		assert_int_equal(slots_free(), 64);
		send(n);
		device_sends_all();
	}
	memcpy(after, w.tx.desc, bytes);
	/* Descriptors, and avail except for its index. */
	assert_memory_equal(before, after, 64 * 16 + 2);
	assert_memory_equal(before + 64 * 16 + 4, after + 64 * 16 + 4, 64 * 2);
	send(0);
	assert_int_equal(slots_free(), 64);
	end();
}

/* Full, then free as the device sends. */
static void fills_up(void **s)
{
	(void)s;
	begin(16, 0);
	send(16);
	assert_int_equal(slots_free(), 0);
	for (unsigned i = 1; i <= 16; i++) {
		device_sends(1);
		assert_int_equal(slots_free(), i - 1);
		device_publish(&w.dtx);
		assert_int_equal(slots_free(), i);
	}
	end();
}

/* used.idx is read when half of the slots or fewer are known to be free, when nothing was sent
 * since the last call, and in the eighth call at the latest. */
static void looks_seldom(void **s)
{
	static const struct {
		unsigned burst, size, looked_in; /* which call */
	} row[] = {{4, 64, 8}, {1, 64, 8}, {5, 64, 7}, {16, 64, 2}, {31, 64, 2}, {32, 64, 1}, {64, 64, 1}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		begin(row[i].size, 0);
		for (unsigned round = 0; round < 100; round++) {
			assert_int_equal(slots_free(), t.n);
			for (unsigned call = 1;; call++) {
				send(row[i].burst);
				device_sends(row[i].burst);
				device_publish(&w.dtx);
				unsigned n = virtio_slots_free(&w.tx, &w.cnt, &w.broken);
				assert_int_equal(n, t.n - (call < row[i].looked_in ? call * row[i].burst : 0));
				if (call == row[i].looked_in)
					break;
			}
		}
		end();
	}
}

/* Any order of completion: a slot is free when all before it are. */
static void any_order(void **s)
{
	(void)s;
	seed_random("any_order");
	for (unsigned life = 0; life < 60; life++) {
		bool back[1024] = {0};
		uint64_t done = 0;
		begin(2u << random_below(8), 0);
		for (unsigned round = 0; round < 300; round++) {
			unsigned n = random_below(slots_free() + 1);
			send(n);
			unsigned used = random_below(w.dtx.n + 1);
			for (unsigned i = 0; i < used; i++) {
				unsigned far = random_below(4) ? 0 : random_below(w.dtx.n);
				back[device_sends_any(far)] = true;
			}
			device_publish(&w.dtx);
			while (done < t.next && back[done % t.n])
				back[done++ % t.n] = false;
			assert_int_equal(slots_free(), t.n - (t.next - done));
		}
		while (w.dtx.n)
			device_sends_any(0);
		device_publish(&w.dtx);
		assert_int_equal(slots_free(), t.n);
		end();
	}
}

/* In order: the contents of the used ring do not matter. */
static void by_the_index_alone(void **s)
{
	(void)s;
	seed_random("by_the_index_alone");
	begin(64, 0);
	for (unsigned round = 0; round < random_rounds(3000); round++) {
		send(random_below(slots_free() + 1));
		device_sends(random_below(outstanding() + 1));
		random_fill(bus(w.dtx.used + 4, 8 * 64), 8 * 64);
		device_publish(&w.dtx);
		assert_int_equal(slots_free(), t.n - (t.next - t.seen));
	}
	device_sends_all();
	end();
}

/* --- a device that lies --- */

static void index_lies(void **s)
{
	(void)s;
	static const unsigned ahead[] = {6, 16, 17, 32768, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(ahead); i++) {
		begin(16, 0);
		send(5);
		store(w.dtx.used + 2, 2, ahead[i]);
		assert_int_equal(slots_free(), 0);
		assert_true(w.broken);
		end();
	}
}

/* Entries that name no slot of the device, or one twice, are counted; the others are processed. If
 * they leave nothing that it could return, the queue is broken. */
static void ids_lie(void **s)
{
	(void)s;
	static const uint32_t bad[] = {16, 17, 255, 0x10000, 0x7fffffff, 0xffffffff, 5, 15, 0};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		begin(16, 0);
		send(5);
		w.dtx.strict = false;
		device_use(&w.dtx, 0, 0);
		device_use(&w.dtx, bad[i], 0);
		device_use(&w.dtx, 2, 0);
		device_publish(&w.dtx);
		assert_int_equal(slots_free(), 12);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		assert_false(w.broken);
		device_use(&w.dtx, 1, 0);
		device_use(&w.dtx, 3, 0);
		device_publish(&w.dtx);
		assert_int_equal(slots_free(), 0);
		assert_true(w.broken);
		end();
	}
}

/* Whatever it writes: no slot is free before the device named it, and no other memory is
 * accessed. */
static void random_lies(void **s)
{
	(void)s;
	unsigned broken = 0, bad = 0;
	seed_random("random_lies");
	for (unsigned life = 0; life < random_rounds(2000); life++) {
		begin(2u << random_below(6), 0);
		w.dtx.strict = false;
		uint16_t idx = 0;
		for (unsigned round = 0; round < 40 && !w.broken; round++) {
			send(random_below(slots_free() + 1));
			unsigned n = random_below(t.n + 1);
			for (unsigned i = 0; i < n; i++, idx++) {
				uint32_t id = random_below(8) ? idx % t.n : (uint32_t)random64();
				store(w.dtx.used + 4 + 8 * (idx % t.n), 4, random_below(3) ? id : id % t.n);
			}
			if (random_below(50) == 0)
				idx = (uint16_t)random64();
			else if ((uint16_t)(w.tx.head - idx) > t.n)
				idx = w.tx.head;
			store(w.dtx.used + 2, 2, idx);
			unsigned room = slots_free();
			assert_int_equal(room, w.broken ? 0 : t.n - (uint16_t)(w.tx.head - w.tx.slot_done));
		}
		broken += w.broken;
		bad += w.cnt.tx_bad_desc > 0;
		end();
	}
	assert_in_range(broken, 100, 2000);
	assert_in_range(bad, w.tx.in_order ? 0 : 100, w.tx.in_order ? 0 : 2000); /* ids are not read */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(prepared_once, teardown_good),
		cmocka_unit_test_teardown(any_portion, teardown_good),
		cmocka_unit_test_teardown(fills_up, teardown_good),
		cmocka_unit_test_teardown(looks_seldom, teardown_good),
		cmocka_unit_test_teardown(opened_after_packets, teardown_good),
		cmocka_unit_test_teardown(any_order, teardown_good),
		cmocka_unit_test_teardown(index_lies, teardown),
		cmocka_unit_test_teardown(ids_lie, teardown),
		cmocka_unit_test_teardown(random_lies, teardown),
	};
	const struct CMUnitTest tests_in_order[] = {
		cmocka_unit_test_teardown(prepared_once, teardown_good),
		cmocka_unit_test_teardown(any_portion, teardown_good),
		cmocka_unit_test_teardown(fills_up, teardown_good),
		cmocka_unit_test_teardown(looks_seldom, teardown_good),
		cmocka_unit_test_teardown(opened_after_packets, teardown_good),
		cmocka_unit_test_teardown(by_the_index_alone, teardown_good),
		cmocka_unit_test_teardown(index_lies, teardown),
		cmocka_unit_test_teardown(random_lies, teardown),
	};
	int failed = cmocka_run_group_tests_name("virtio_slots", tests, guest_map, NULL);
	return failed + cmocka_run_group_tests_name("virtio_slots, in order", tests_in_order,
	                                            negotiate_in_order, NULL);
}
