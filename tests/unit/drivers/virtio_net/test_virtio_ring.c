/*
 * drivers/virtio_net/ring.c with a device that complies with VIRTIO 1.2: receiving, and what both
 * directions share. test_virtio_tx.c has sending, test_virtio_hostile.c a device that does not
 * comply.
 */
#include "tests/unit/rig/packets.h"
#include "tests/unit/rig/virtio_rig.h"

/* 2.7: alignment and size of the three parts; they do not overlap each other or the owner table. */
static void layout(void **s)
{
	(void)s;
	for (unsigned size = 2; size <= VIRTIO_RING_MAX; size *= 2) {
		start(size, BUFS_MAX);
		const struct vq *q = &w.dtx;
		assert_int_equal(virtio_ring_bytes(size) % 64, 0);
		assert_int_equal(q->desc % 16, 0);
		assert_int_equal(q->avail % 2, 0);
		assert_int_equal(q->used % 4, 0);
		assert_true(q->desc + 16 * size <= q->avail);
		assert_true(q->avail + 6 + 2 * size <= q->used);
		assert_true(q->used + 6 + 8 * size <= bus_of(w.tx.owner));
		assert_true(bus_of(w.tx.owner) + 4 * size <= q->desc + virtio_ring_bytes(size));
		assert_int_equal(load(q->avail, 2), 1); /* no interrupts */
		assert_int_equal(load(q->avail + 2, 2), 0);
		assert_int_equal(w.drx.n, size);
		assert_int_equal(w.rx.missing, 0);
		assert_accounted();
	}
}

static void rx_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0, bytes = 0;
	start(256, 600);
	for (unsigned n = 1; n <= 256; n += 5) {
		for (unsigned i = 0; i < n; i++)
			device_receive(0, seq + i);
		assert_int_equal(rx(256), 0); /* not yet published */
		device_publish(&w.drx);
		assert_int_equal(rx(256), n);
		for (unsigned i = 0; i < n; i++) {
			const struct pkt *p = &hand.pkt[i];
			assert_ptr_equal(p->data, buf_base(&w.pool, p->buf) + BUF_DATA_OFFSET);
			assert_int_equal(p->flags, 0);
			assert_frame(p->data, p->len, seq + i);
			bytes += p->len;
		}
		seq += n;
		assert_int_equal(w.drx.n, 256);
		assert_accounted();
		let_go();
	}
	assert_int_equal(w.cnt.rx_pkts, seq);
	assert_int_equal(w.cnt.rx_bytes, bytes);
}

static void rx_out_of_order(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 300);
	seed_random("rx_out_of_order");
	for (unsigned round = 0; round < 500; round++) {
		unsigned n = 1 + random_below(64);
		for (unsigned i = 0; i < n; i++)
			device_receive(random_below(w.drx.n), seq + i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), n);
		for (unsigned i = 0; i < n; i++)
			assert_frame(hand.pkt[i].data, hand.pkt[i].len, seq + i);
		seq += n;
		assert_accounted();
		let_go();
	}
	assert_int_equal(w.cnt.rx_pkts, seq);
}

static unsigned rx_left(void)
{
	return virtio_rx_left(w.rx.desc, w.rx.size, w.cnt.rx_place); /* they come first */
}

/* A vector smaller than the number waiting: the rest stays, nothing is lost. */
static void rx_takes_no_more_than_asked(void **s)
{
	(void)s;
	start(64, 200);
	for (unsigned i = 0; i < 50; i++)
		device_receive(0, i);
	device_publish(&w.drx);
	for (unsigned got = 0; got < 50; got += 7) {
		assert_int_equal(rx_left(), 50 - got);
		assert_int_equal(rx(7), 50 - got < 7 ? 50 - got : 7);
	}
	assert_int_equal(rx_left(), 0);
	assert_int_equal(rx(7), 0);
	for (unsigned i = 0; i < 50; i++)
		assert_frame(hand.pkt[i].data, hand.pkt[i].len, i);
}

static void indices_wrap(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(128, 600);
	while (seq < 3 * 65536 + 1000) {
		unsigned n = 1 + seq % 128;
		for (unsigned i = 0; i < n; i++)
			device_receive(0, seq + i);
		device_publish(&w.drx);
		assert_int_equal(rx_left(), n);
		assert_int_equal(rx(256), n);
		assert_int_equal(tx(), n);
		assert_int_equal(hand.n, 0);
		for (unsigned i = 0; i < n; i++)
			device_send(0, seq + i);
		device_publish(&w.dtx);
		seq += n;
	}
	assert_int_equal(tx(), 0);
	assert_accounted();
	assert_int_equal(w.cnt.rx_pkts, seq);
	assert_int_equal(w.cnt.tx_pkts, seq);
	assert_int_equal(w.cnt.tx_bytes, w.cnt.rx_bytes);
	assert_int_equal(w.pool.free, 600 - 128);
}

static void rx_pool_runs_dry_and_recovers(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 100);
	for (unsigned round = 0; round < 3; round++) {
		/* 36 buffers in the pool: after 100 frames the device has no descriptor left. */
		while (w.drx.n) {
			unsigned n = w.drx.n < 10 ? w.drx.n : 10;
			for (unsigned i = 0; i < n; i++)
				device_receive(w.drx.n / 2, seq++);
			device_publish(&w.drx);
			assert_int_equal(rx(256), n);
			assert_accounted();
		}
		assert_int_equal(hand.n, 100);
		assert_int_equal(w.rx.missing, 64);
		assert_int_equal(w.cnt.rx_no_buffer, 64 * (round + 1));
		unsigned rings = w.drx.rings;
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.rings, rings); /* nothing new to notify */
		assert_false(w.broken);

		/* One comes back, then all. */
		pkt_free(&w.pool, &hand.pkt[--hand.n]);
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.n, 1);
		let_go();
		w.cnt.rx_no_buffer = 64 * (round + 1);
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.n, 64);
		assert_int_equal(w.rx.missing, 0);
		assert_accounted();
	}
	/* Fewer buffers than descriptors from the start. */
	start(64, 20);
	assert_int_equal(w.drx.n, 20);
	for (unsigned i = 0; i < 1000; i++) {
		device_receive(random_below(w.drx.n), i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, i);
		let_go();
		assert_accounted();
	}
	assert_int_equal(rx(256), 0);
	assert_int_equal(w.drx.n, 20);
}

/* A frame arrives and is received, in order. */
static void one_comes_up(uint32_t seq)
{
	device_receive(0, seq);
	device_publish(&w.drx);
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
		start(64, 100);
		for (; seq < place; let_go())
			one_comes_up(seq++);
		while (w.drx.n)
			one_comes_up(seq++);
		assert_int_equal(hand.n, 100);
		assert_int_equal(w.cnt.rx_no_buffer, 64);
		for (unsigned i = 0; i < back; i++)
			pkt_free(&w.pool, &hand.pkt[--hand.n]);
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.n, back);
		while (w.drx.n)
			one_comes_up(seq++);
		let_go();
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.n, 64);
		for (unsigned i = 0; i < 2 * 64; i++, let_go())
			one_comes_up(seq++);
		assert_int_equal(w.cnt.rx_pkts, seq);
		assert_accounted();
	}
}

/* A received header, and the expected result for the frame of 100 bytes behind it. */
static void rx_headers(void **s)
{
	(void)s;
	static const struct {
		bool offload;
		struct header h;
		bool passes;
		uint8_t flags;
		unsigned bad_len, oversize;
	} row[] = {
		{true, {0, 0, 0, 0, 1}, true, 0, 0, 0},
		{true, {1, 0, 34, 16, 1}, true, PKT_CSUM_PARTIAL, 0, 0},
		{true, {1, 0, 0, 0, 1}, true, PKT_CSUM_PARTIAL, 0, 0},
		{true, {1, 0, 82, 16, 1}, true, PKT_CSUM_PARTIAL, 0, 0}, /* the last two bytes */
		{true, {1, 0, 83, 16, 1}, false, 0, 1, 0},
		{true, {1, 0, 0, 99, 1}, false, 0, 1, 0},
		{true, {1, 0, 0, 98, 1}, true, PKT_CSUM_PARTIAL, 0, 0},
		{true, {1, 0, 100, 0, 1}, false, 0, 1, 0},
		{true, {1, 0, 0xffff, 0xffff, 1}, false, 0, 1, 0},
		{true, {1, 0, 0xffff, 3, 1}, false, 0, 1, 0}, /* 65536 + 2 in 16 bits fits */
		{true, {1, 0, 3, 0xffff, 1}, false, 0, 1, 0},
		{true, {2, 0, 0, 0, 1}, true, PKT_CSUM_OK, 0, 0},
		{true, {2, 0, 0xffff, 0xffff, 1}, true, PKT_CSUM_OK, 0, 0},
		{true, {0xfc, 0, 0xffff, 0xffff, 1}, true, 0, 0, 0}, /* unknown bits: ignored */
		{true, {0, 1, 0, 0, 1}, false, 0, 0, 1},             /* GSO was not negotiated */
		{true, {0, 4, 0, 0, 1}, false, 0, 0, 1},
		{true, {0, 0x80, 0, 0, 1}, false, 0, 0, 1},
		{true, {1, 0xff, 34, 16, 1}, false, 0, 0, 1},
		{true, {0, 0, 0, 0, 0}, false, 0, 0, 1},
		{true, {0, 0, 0, 0, 65535}, false, 0, 0, 1},
		/* Without GUEST_CSUM flags are ignored. */
		{false, {0, 0, 0, 0, 1}, true, 0, 0, 0},
		{false, {1, 0, 0xffff, 0xffff, 1}, true, 0, 0, 0},
		{false, {2, 0, 0, 0, 1}, true, 0, 0, 0},
		{false, {0, 0, 0, 0, 0}, false, 0, 0, 1},
		{false, {0, 0, 0, 0, 65535}, false, 0, 0, 1},
	};
	start(8, 40);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		memset(&w.cnt, 0, sizeof w.cnt);
		w.drx.rings = w.dtx.rings = 0;
		w.offload = row[i].offload;
		unsigned id = device_pick(&w.drx, 0);
		store_header(w.drx.chain[id].addr, row[i].h);
		device_use(&w.drx, id, HEADER + 100);
		device_publish(&w.drx);
		unsigned n = rx(256);
		if (n != row[i].passes || w.cnt.rx_bad_len != row[i].bad_len ||
		    w.cnt.rx_oversize != row[i].oversize || (n && hand.pkt[0].flags != row[i].flags))
			fail_msg("row %u: %u packets", i, n);
		assert_int_equal(w.cnt.rx_pkts, n);
		assert_int_equal(w.cnt.rx_bytes, 100 * n);
		if (row[i].flags == PKT_CSUM_PARTIAL) {
			const struct pkt_meta *m = pkt_meta(&w.pool, hand.pkt[0].buf);
			assert_int_equal(m->csum_start, row[i].h.csum_start);
			assert_int_equal(m->csum_offset, row[i].h.csum_offset);
		}
		assert_accounted();
		let_go();
		/* The next frame is received correctly. */
		device_receive(0, i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, i);
		let_go();
	}
}

/* 5.1.6.4: a frame spread over `buffers`, with `tail` bytes in the last. All but the first look
 * like a header and frame 666, as made by a sender to smuggle one in. */
static void device_receive_spread(unsigned buffers, unsigned tail)
{
	struct header h = plain_header;
	h.num_buffers = (uint16_t)buffers;
	for (unsigned i = 0; i < buffers; i++) {
		unsigned id = device_pick(&w.drx, 0);
		uint64_t at = w.drx.chain[id].addr;
		store_header(at, i ? plain_header : h);
		make_frame(bus(at + HEADER, frame_len(666)), 666);
		device_use(&w.drx, id, i + 1 < buffers ? ROOM + HEADER : tail);
	}
}

/* A frame larger than a buffer is dropped whole, even if a burst ends in the middle of it. */
static void rx_spread_frame_is_dropped_whole(void **s)
{
	(void)s;
	static const unsigned tails[] = {1, 5, HEADER, 60, ROOM + HEADER};
	start(16, 60);
	for (unsigned max = 1; max <= 16; max++) {
		for (unsigned buffers = 2; buffers <= 8; buffers++) {
			memset(&w.cnt, 0, sizeof w.cnt);
			w.drx.rings = w.dtx.rings = 0;
			device_receive(0, 1);
			device_receive(0, 2);
			device_receive_spread(buffers, tails[(max + buffers) % ARRAY_LEN(tails)]);
			device_receive(0, 3);
			device_publish(&w.drx);
			for (unsigned i = 0; i < 16; i++)
				rx(max);
			assert_int_equal(hand.n, 3);
			for (unsigned i = 0; i < 3; i++)
				assert_frame(hand.pkt[i].data, hand.pkt[i].len, 1 + i);
			assert_int_equal(w.cnt.rx_pkts, 3);
			assert_int_equal(w.cnt.rx_oversize, 1);
			assert_int_equal(w.cnt.rx_bad_len, 0);
			assert_int_equal(w.drx.n, 16);
			assert_accounted();
			let_go();
		}
	}
}

/* A frame dropped for its own header takes no other with it, even after a spread one that did. */
static void rx_drops_after_a_spread_frame(void **s)
{
	(void)s;
	start(16, 60);
	w.offload = true;
	for (unsigned max = 1; max <= 8; max++) {
		device_receive_spread(3, 60);
		unsigned id = device_pick(&w.drx, 0);
		store_header(w.drx.chain[id].addr, (struct header){1, 0, 2000, 0, 1});
		device_use(&w.drx, id, HEADER + 60);
		for (unsigned i = 0; i < 4; i++)
			device_receive(0, i);
		device_publish(&w.drx);
		for (unsigned i = 0; i < 8; i++)
			rx(max);
		assert_int_equal(hand.n, 4);
		for (unsigned i = 0; i < 4; i++)
			assert_frame(hand.pkt[i].data, hand.pkt[i].len, i);
		let_go();
	}
	assert_int_equal(w.cnt.rx_bad_len, 8);
	assert_int_equal(w.cnt.rx_oversize, 8);
}

/* 2.7.10: one doorbell for a burst that gave the device something, none if it has set NO_NOTIFY. A burst to
 * send that does not read the flags has it in the second idle turn. */
static void notifications(void **s)
{
	(void)s;
	bool wanted = true;
	unsigned in_use = 0;
	start(64, 300);
	assert_int_equal(w.drx.rings, 1); /* the first fill */
	for (unsigned round = 0; round < 200; round++) {
		bool wants_rx = round & 1, wants_tx = round & 2;
		unsigned before_rx = w.drx.rings, before_tx = w.dtx.rings;
		unsigned n = round % 65;
		device_wants_doorbell(&w.drx, wants_rx);
		device_wants_doorbell(&w.dtx, wants_tx);
		for (unsigned i = 0; i < n; i++)
			device_receive(0, i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), n);
		assert_int_equal(rx(256), 0);
		assert_int_equal(w.drx.rings - before_rx, wants_rx && n);
		assert_int_equal(tx(), n);
		bool reads = wanted || in_use == 0 || in_use + n > 32;
		assert_int_equal(w.dtx.rings - before_tx, wants_tx && n && reads);
		idle_turns(2);
		assert_int_equal(w.drx.rings - before_rx, wants_rx && n);
		assert_int_equal(w.dtx.rings - before_tx, wants_tx && n);
		assert_int_equal(tx(), 0); /* reclaims only */
		assert_int_equal(w.dtx.rings - before_tx, wants_tx && n);
		wanted = wants_tx;
		in_use = n;
		device_take(&w.drx); /* a device that polls finds the entries all the same */
		device_take(&w.dtx);
		assert_int_equal(w.drx.n, 64);
		assert_int_equal(w.dtx.n, n);
		for (unsigned i = 0; i < n; i++)
			device_send(0, i);
		device_publish(&w.dtx);
	}
	assert_int_equal(tx(), 0);
}

/*
 * 2.7.13.4.1, the race: the driver saw NO_NOTIFY and did not notify; the device had cleared it
 * after its last read of avail.idx. The doorbell follows within two idle turns, once, and only
 * then.
 */
static void missed_notification_is_made_up_for(void **s)
{
	(void)s;
	start(16, 60);
	for (unsigned round = 0; round < 50; round++) {
		bool wants_rx = round & 1, wants_tx = round & 2;
		unsigned before_rx = w.drx.rings, before_tx = w.dtx.rings;
		device_wants_doorbell(&w.drx, false);
		device_wants_doorbell(&w.dtx, false);
		device_receive(0, round);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1);
		assert_int_equal(tx(), 1);
		assert_int_equal(w.drx.rings - before_rx + w.dtx.rings - before_tx, 0);
		device_wants_doorbell(&w.drx, wants_rx);
		device_wants_doorbell(&w.dtx, wants_tx);
		idle_turns(2);
		assert_int_equal(w.drx.rings - before_rx, wants_rx);
		assert_int_equal(w.dtx.rings - before_tx, wants_tx);
		idle_turns(10);
		assert_int_equal(w.drx.rings - before_rx, wants_rx);
		assert_int_equal(w.dtx.rings - before_tx, wants_tx);
		device_take(&w.drx);
		device_take(&w.dtx);
		device_send(0, round);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
	}
}

/* 2.7.7: avail.flags 1 asks for no interrupts. */
static void interrupt_arming(void **s)
{
	(void)s;
	start(16, 60);
	assert_int_equal(load(w.drx.avail, 2), 1);
	assert_false(virtio_rx_interrupt(&w.rx, true));
	assert_int_equal(load(w.drx.avail, 2), 0);
	device_receive(0, 1);
	assert_false(virtio_rx_interrupt(&w.rx, true)); /* not yet used */
	device_publish(&w.drx);
	assert_true(virtio_rx_interrupt(&w.rx, true)); /* do not sleep */
	assert_int_equal(rx(256), 1);
	assert_int_equal(load(w.drx.avail, 2), 0); /* a burst leaves it unchanged */
	virtio_rx_interrupt(&w.rx, false);
	assert_int_equal(load(w.drx.avail, 2), 1);
	/* What a burst left behind counts as waiting, also when the index wraps. */
	for (unsigned i = 0; i < 70000; i += 5) {
		for (unsigned k = 0; k < 5; k++)
			device_receive(0, i + k);
		device_publish(&w.drx);
		let_go();
		assert_int_equal(rx(4), 4);
		assert_true(virtio_rx_interrupt(&w.rx, true));
		assert_int_equal(rx(4), 1);
		assert_false(virtio_rx_interrupt(&w.rx, true));
	}
	assert_int_equal(load(w.dtx.avail, 2), 1); /* transmit never interrupts */
}

/* --- VIRTIO_F_IN_ORDER --- */

/* Frames that fill their buffers share the used entry of the one behind them, however many the
 * driver takes at a time. */
static void rx_batches(void **s)
{
	(void)s;
	uint32_t seq = 0;
	unsigned full = 0;
	start(64, 300);
	seed_random("rx_batches");
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		unsigned n = 1 + random_below(64), got = 0;
		bool fills[64];
		for (unsigned i = 0; i < n; i++) {
			fills[i] = random_below(4) != 0;
			full += fills[i];
			if (!fills[i]) {
				device_receive(0, seq + i);
				continue;
			}
			unsigned id = device_pick(&w.drx, 0);
			store_header(w.drx.chain[id].addr, plain_header);
			store(w.drx.chain[id].addr + HEADER + ROOM - 4, 4, seq + i);
			device_use(&w.drx, id, HEADER + ROOM);
		}
		device_publish(&w.drx);
		while (got < n) {
			unsigned k = rx(1 + random_below(20));
			assert_int_not_equal(k, 0);
			got += k;
			assert_int_equal(rx_left(), n - got);
		}
		assert_int_equal(got, n);
		for (unsigned i = 0; i < n; i++) {
			const struct pkt *p = &hand.pkt[i];
			if (!fills[i]) {
				assert_frame(p->data, p->len, seq + i);
				continue;
			}
			assert_int_equal(p->len, ROOM);
			assert_int_equal(load(bus_of(p->data) + ROOM - 4, 4), seq + i);
		}
		seq += n;
		assert_accounted();
		let_go();
	}
	assert_true(full > 10000);
}

/* Descriptors without a buffer get one in order. */
static void rx_refills_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 100);
	seed_random("rx_refills_in_order");
	for (unsigned round = 0; round < random_rounds(3000); round++) {
		unsigned n = random_below(w.drx.n + 1);
		for (unsigned i = 0; i < n; i++)
			device_receive(0, seq + i);
		device_publish(&w.drx);
		unsigned before = hand.n;
		assert_int_equal(rx(256), n);
		for (unsigned i = 0; i < n; i++)
			assert_frame(hand.pkt[before + i].data, hand.pkt[before + i].len, seq + i);
		seq += n;
		while (hand.n && random_below(40))
			pkt_free(&w.pool, &hand.pkt[--hand.n]);
		assert_accounted();
	}
	assert_true(w.cnt.rx_no_buffer > 1000);
}

/* The port restarts alone at any moment: all buffers but those that the test holds return, each once. */
static void released_at_any_time(void **s)
{
	(void)s;
	seed_random("released_at_any_time");
	for (unsigned life = 0; life < 100; life++) {
		const unsigned buffers = 200 + random_below(800);
		uint32_t taken = 0;
		start(64, buffers);
		for (unsigned round = random_below(60); round; round--) {
			for (unsigned n = random_below(8), i = 0; i < n && w.drx.n; i++)
				device_receive(0, i);
			rx(1 + random_below(64));
			let_go();
			for (unsigned n = random_below(6), i = 0; i < n && w.pool.free > 100; i++) {
				if (random_below(3) == 0)
					take_frags(taken + i, 1 + random_below(PKT_FRAGS_MAX));
				else
					take_frames(1, taken + i);
				if (random_below(4) == 0)
					keep(&hand.pkt[hand.n - 1], 1 + random_below(3));
			}
			taken += tx();
			let_go();
		}
		virtio_release(&w.rx, &w.pool);
		virtio_release(&w.tx, &w.pool);
		let_go_of_all_kept();
		assert_int_equal(w.pool.free, buffers);
		virtio_release(&w.tx, &w.pool); /* there is nothing left */
		assert_int_equal(w.pool.free, buffers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(layout, teardown_good),
		cmocka_unit_test_teardown(rx_in_order, teardown_good),
		cmocka_unit_test_teardown(rx_out_of_order, teardown_good),
		cmocka_unit_test_teardown(rx_takes_no_more_than_asked, teardown_good),
		cmocka_unit_test_teardown(indices_wrap, teardown_good),
		cmocka_unit_test_teardown(rx_pool_runs_dry_and_recovers, teardown_good),
		cmocka_unit_test_teardown(rx_runs_dry_at_any_place, teardown_good),
		cmocka_unit_test_teardown(rx_headers, teardown_good),
		cmocka_unit_test_teardown(rx_spread_frame_is_dropped_whole, teardown_good),
		cmocka_unit_test_teardown(rx_drops_after_a_spread_frame, teardown_good),
		cmocka_unit_test_teardown(notifications, teardown_good),
		cmocka_unit_test_teardown(missed_notification_is_made_up_for, teardown_good),
		cmocka_unit_test_teardown(interrupt_arming, teardown_good),
		cmocka_unit_test(released_at_any_time),
	};
	const struct CMUnitTest tests_in_order[] = {
		cmocka_unit_test_teardown(layout, teardown_good),
		cmocka_unit_test_teardown(rx_in_order, teardown_good),
		cmocka_unit_test_teardown(rx_takes_no_more_than_asked, teardown_good),
		cmocka_unit_test_teardown(indices_wrap, teardown_good),
		cmocka_unit_test_teardown(rx_headers, teardown_good),
		cmocka_unit_test_teardown(rx_spread_frame_is_dropped_whole, teardown_good),
		cmocka_unit_test_teardown(rx_drops_after_a_spread_frame, teardown_good),
		cmocka_unit_test_teardown(rx_batches, teardown_good),
		cmocka_unit_test_teardown(rx_refills_in_order, teardown_good),
		cmocka_unit_test_teardown(notifications, teardown_good),
		cmocka_unit_test_teardown(missed_notification_is_made_up_for, teardown_good),
		cmocka_unit_test(released_at_any_time),
	};
	int failed = cmocka_run_group_tests_name("virtio_ring", tests, guest_map, NULL);
	return failed + cmocka_run_group_tests_name("virtio_ring, in order", tests_in_order,
	                                            negotiate_in_order, NULL);
}
