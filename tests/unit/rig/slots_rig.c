#include "tests/unit/rig/slots_rig.h"

struct slots t;

unsigned slots_free(void)
{
	unsigned n = slots_card.free();
	assert_in_range(n, 0, t.all);
	return n;
}

void put(unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned k = (first + i) % t.n;
		t.seq[k] = t.put++;
		t.slot[k].len = frame_len(t.seq[k]);
		make_frame(t.slot[k].data, t.seq[k]);
		memset(t.slot[k].data - NIC_SLOT_ROOM, 0, NIC_SLOT_ROOM);
		slots_card.put(first + i, &t.slot[k], 1);
	}
}

void open_slots(void)
{
	memset(&t, 0, sizeof t);
	t.n = slots_card.open();
	t.all = t.n - slots_card.kept_back;
	assert_int_equal(slots_free(), t.all);
	for (unsigned i = 0; i < t.n; i++) {
		struct pkt p;
		assert_true(pkt_alloc(hand.pool, &p));
		t.slot[i].data = p.data;
		hand.kept[hand.nkept++] = p.buf;
		pkt_meta(hand.pool, p.buf)->refs = 1;
	}
}

void begin(unsigned size, unsigned kind)
{
	slots_card.start(size, kind);
	open_slots();
	assert_int_equal(t.n, size);
	put(0, t.n);
}

void end(void)
{
	let_go_of_all_kept();
	slots_card.end();
}

void send(unsigned n)
{
	unsigned doorbells = slots_card.doorbells();
	uint64_t bytes = hand.cnt->tx_bytes, pkts = hand.cnt->tx_pkts;
	slots_card.send(n, 100 * n);
	t.next += n;
	assert_int_equal(slots_card.doorbells() - doorbells, n > 0);
	assert_int_equal(hand.cnt->tx_pkts - pkts, n);
	assert_int_equal(hand.cnt->tx_bytes - bytes, 100 * n);
}

unsigned device_sends(unsigned n)
{
	unsigned reports = 0;
	for (; n; n--, t.seen++)
		reports += slots_card.device_send(t.seq[t.seen % t.n]);
	return reports;
}

void device_sends_all(void)
{
	device_sends(outstanding());
	slots_card.device_report();
	assert_int_equal(slots_free(), t.all);
}

unsigned outstanding(void)
{
	return t.next - t.seen;
}

/* Batches of any size, with other frames each time: each send is reported to its end by itself. */
void any_portion(void **s)
{
	(void)s;
	seed_random("any_portion");
	for (unsigned life = 0; life < 32; life++) {
		begin(8u << life % 8, life);
		for (unsigned round = 0; round < 100; round++) {
			unsigned n = random_below(slots_free() + 1);
			if (random_below(3) == 0)
				put(t.next, n);
			uint32_t from = t.next;
			send(n);
			if (outstanding() == n && n) {
				unsigned reports = device_sends(n);
				if (slots_card.assert_reports)
					slots_card.assert_reports(from, reports);
				slots_card.device_report();
				assert_int_equal(slots_free(), t.all);
			}
			device_sends(random_below(outstanding() + 1));
			if (random_below(2))
				slots_card.device_report();
			assert_in_range(slots_free(), 0, t.all - outstanding());
		}
		device_sends_all();
		end();
	}
}

/* After packets of the core's own, one in pieces, so that places, packets and descriptors have
 * shifted against each other; at the first call the device still has some. */
void opened_after_packets(void **s)
{
	(void)s;
	slots_card.start(64, 0);
	take_frames(4, 0);
	take_frags(4, 6);
	assert_int_equal(slots_card.tx(), 5);
	assert_int_equal(slots_card.open(), 0);
	for (unsigned i = 0; i < 5; i++)
		slots_card.device_send(i);
	slots_card.device_report();
	open_slots();
	put(0, t.n);
	for (unsigned round = 0; round < 500; round++) {
		send(1 + round % 50);
		device_sends_all();
	}
	end();
}
