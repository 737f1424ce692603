/*
 * Slots of the vmxnet3 driver (drivers/nic.h; drivers/vmxnet3/ring.h, invariant 7): the device reads what was put, in
 * every round of the ring, one doorbell per send, and a hostile device does no harm.
 */
#include "tests/unit/rig/slots_rig.h"
#include "tests/unit/rig/vmxnet3_rig.h"

static void start_slots(unsigned size, unsigned kind)
{
	(void)kind;
	start(size, 2 * size + 100, BUF_STRIDE_STANDARD);
	frame_most = 200;
}

static unsigned open_ring(void)
{
	return vmxnet3_slots_open(&w.tx, &w.pool, &w.cnt, &w.broken);
}

static void put_slots(unsigned first, const struct nic_slot *s, unsigned n)
{
	vmxnet3_slots_put(&w.tx, first, s, n);
}

static unsigned known_free(void)
{
	return vmxnet3_slots_free(&w.tx, &w.cnt, &w.broken);
}

static void send_slots(unsigned n, uint64_t bytes)
{
	vmxnet3_slots_send(&w.tx, &w.cnt, n, bytes);
}

static void forget(void)
{
	w.tx.tail = w.tx.head; /* owner[] no longer names buffers */
}

static unsigned rung(void)
{
	return w.tx_writes;
}

static bool send_next(uint32_t seq)
{
	device_send(seq);
	return true;
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
	.doorbells = rung,
	.device_send = send_next,
	.device_report = device_report,
};

/* Nothing of a descriptor but its generation changes while its frame is sent again. */
static void prepared_once(void **s)
{
	(void)s;
	static uint8_t before[16 * 256], now[16 * 256];
	begin(256, 0);
	memcpy(before, w.tx_desc, sizeof before);
	for (unsigned i = 0; i < 100; i++) {
		send(i % 3 ? 100 : slots_free());
		device_sends_all();
	}
	memcpy(now, w.tx_desc, sizeof now);
	for (unsigned i = 0; i < 256; i++) {
		before[16 * i + 9] &= 0xbf;
		now[16 * i + 9] &= 0xbf;
	}
	assert_memory_equal(before, now, sizeof now);
	end();
}

/* A completion that is not between what was sent and what is known breaks the queue. */
static void lies(void **s)
{
	(void)s;
	for (unsigned index = 0; index < 70; index++) {
		begin(64, 0);
		send(20);
		device_sends(20);
		device_tx_write(index);
		const unsigned free = slots_free();
		assert_int_equal(w.broken, index >= 20);
		assert_int_equal(free, index < 20 ? 63 - 20 + index + 1 : 0);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(any_portion, teardown),
		cmocka_unit_test_teardown(opened_after_packets, teardown),
		cmocka_unit_test_teardown(prepared_once, teardown),
		cmocka_unit_test_teardown(lies, teardown),
	};
	return cmocka_run_group_tests(tests, guest_map, NULL);
}
