/*
 * drivers/virtio_net/ring.c with a device that keeps to VIRTIO 1.2. test_virtio_hostile.c has one
 * that does not.
 */
#include "tests/unit/packets.h"
#include "tests/unit/virtio_rig.h"

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
		assert_int_equal(rx(256), 0); /* not published yet */
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

/* A vector smaller than what waits: the rest stays, nothing is lost. */
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
		/* 36 in the pool: after 100 frames the device has no descriptor left */
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
		assert_int_equal(w.drx.rings, rings); /* nothing to say */
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

/* A frame arrives and comes up, in its order. */
static void one_comes_up(uint32_t seq)
{
	device_receive(0, seq);
	device_publish(&w.drx);
	assert_int_equal(rx(256), 1);
	assert_frame(hand.pkt[hand.n - 1].data, hand.pkt[hand.n - 1].len, seq);
}

/* Wherever in the ring it is that buffers run out, and however few come back. */
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

static void tx_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(256, 600);
	for (unsigned n = 1; n <= 256; n += 3) {
		take_frames(n, seq);
		assert_int_equal(tx(), n);
		assert_int_equal(hand.n, 0);
		assert_int_equal(w.dtx.n, n);
		for (unsigned i = 0; i < n; i++)
			device_send(0, seq + i);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_int_equal(w.pool.free, 600 - 256);
		assert_accounted();
		seq += n;
	}
	assert_int_equal(w.cnt.tx_pkts, seq);
	assert_int_equal(w.cnt.tx_full, 0);
}

static void tx_out_of_order(void **s)
{
	(void)s;
	uint32_t seq = 0, at[64];
	unsigned waiting = 0, sent = 0, refused = 0;
	start(64, 300);
	seed_random("tx_out_of_order");
	for (unsigned round = 0; round < 2000; round++) {
		unsigned n = random_below(40);
		take_frames(n, seq);
		unsigned k = tx();
		for (unsigned i = 0; i < k; i++)
			at[waiting++] = seq + i;
		sent += k;
		refused += k < n;
		let_go(); /* what did not fit */
		seq += n;
		assert_int_equal(w.dtx.n, waiting);
		for (unsigned done = random_below(waiting + 1); done; done--) {
			unsigned i = random_below(waiting);
			device_send(i, at[i]);
			waiting--;
			memmove(&at[i], &at[i + 1], (waiting - i) * sizeof at[0]);
		}
		device_publish(&w.dtx);
		assert_accounted();
	}
	for (unsigned i = 0; i < waiting; i++)
		device_send(0, at[i]);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.pool.free, 300 - 64);
	assert_int_equal(w.cnt.tx_pkts, sent);
	assert_int_equal(w.cnt.tx_full, refused);
	assert_true(refused > 0);
}

static void tx_ring_full(void **s)
{
	(void)s;
	start(64, 300);
	take_frames(100, 0);
	assert_int_equal(tx(), 64);
	assert_int_equal(hand.n, 36);
	assert_int_equal(w.cnt.tx_full, 1); /* times, not packets */
	unsigned rings = w.dtx.rings;
	assert_int_equal(tx(), 0); /* and no doorbell for nothing */
	assert_int_equal(w.dtx.rings, rings);
	assert_int_equal(w.cnt.tx_full, 2);
	assert_accounted();

	/* The oldest is still out: its place is not to be had, however many behind it are done. */
	for (unsigned i = 1; i < 64; i++)
		device_send(1, i);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.dtx.n, 1);
	assert_int_equal(w.pool.free, 300 - 64 - 36 - 1);
	device_send(0, 0);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 36);
	for (unsigned i = 0; i < 36; i++)
		device_send(0, 64 + i);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.pool.free, 300 - 64);
}

/* 5.1.6.2: what a frame with a partial checksum says, and that the next in its place does not. */
static void tx_partial_checksum(void **s)
{
	(void)s;
	start(4, 20);
	for (unsigned round = 0; round < 8; round++) {
		take_frames(1, round);
		struct pkt *p = &hand.pkt[0];
		if (round % 2 == 0) {
			p->flags = PKT_CSUM_PARTIAL;
			*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){.csum_start = 34, .csum_offset = 16};
		}
		memset(p->data - HEADER, 0xee, HEADER);
		assert_int_equal(tx(), 1);
		if (round % 2 == 0) {
			uint64_t at = w.dtx.chain[w.dtx.fifo[0]].addr;
			assert_int_equal(load(at, 1), 1); /* NEEDS_CSUM */
			assert_int_equal(load(at + 1, 1), 0);
			assert_int_equal(load(at + 2, 4), 0);
			assert_int_equal(load(at + 6, 2), 34);
			assert_int_equal(load(at + 8, 2), 16);
			assert_int_equal(load(at + 10, 2), 0);
			store_header(at, (struct header){0});
		}
		device_send(0, round);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
	}
}

/* --- chains, counted buffers --- */

/* Any number of pieces, many times round the ring, among plain frames. */
static void tx_chains(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 400);
	seed_random("tx_chains");
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned frags = 1; frags <= PKT_FRAGS_MAX; frags++) {
			unsigned plain = random_below(20), pieces = 1 + frags + plain;
			take_frags(seq, frags);
			take_frames(plain, seq + 1);
			assert_int_equal(tx(), 1 + plain);
			assert_int_equal(w.dtx.n, 1 + plain);
			assert_int_equal(w.dtx.chain[w.dtx.fifo[0]].pieces, 1 + frags);
			assert_int_equal((uint16_t)(w.tx.next - w.tx.done), pieces);
			for (unsigned i = 0; i < 1 + plain; i++)
				device_send(0, seq + i);
			device_publish(&w.dtx);
			assert_int_equal(tx(), 0);
			assert_int_equal(w.pool.free, 400 - 64);
			assert_accounted();
			seq += 1 + plain;
		}
	}
	assert_int_equal(w.cnt.tx_pkts, seq);
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < seq; i++)
		bytes += frame_len(i);
	assert_int_equal(w.cnt.tx_bytes, bytes);
}

/* Places of avail are written again for one round after a chain, and then no more. */
static void tx_avail_settles_after_a_chain(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 300);
	take_frags(seq, 4);
	assert_int_equal(tx(), 1);
	device_send(0, seq++);
	assert_int_equal(w.tx.stale, 64);
	for (unsigned i = 0; i < 200; i++) {
		device_publish(&w.dtx);
		take_frames(1, seq);
		assert_int_equal(tx(), 1);
		assert_int_equal(w.tx.stale, i < 63 ? 63 - i : 0);
		device_send(0, seq++);
	}
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
}

/* A chain that does not fit stays with the caller, as it was, and what is behind it too. */
static void tx_chain_waits_for_room(void **s)
{
	(void)s;
	start(64, 300);
	seed_random("tx_chain_waits_for_room");
	take_frames(32, 0);
	take_frags(32, PKT_FRAGS_MAX); /* 33 pieces, 32 places */
	take_frames(1, 33);
	struct pkt before = hand.pkt[32];
	memset(before.data - HEADER, 0xee, HEADER);
	assert_int_equal(tx(), 32);
	assert_int_equal(w.cnt.tx_full, 1);
	assert_int_equal(hand.n, 2);
	assert_memory_equal(&hand.pkt[0], &before, sizeof before);
	for (unsigned i = 0; i < HEADER; i++)
		assert_int_equal(before.data[(int)i - HEADER], 0xee);
	assert_int_equal(tx(), 0);
	assert_accounted();
	device_send(0, 0);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 1); /* to the last descriptor */
	assert_int_equal((uint16_t)(w.tx.next - w.tx.done), 64);
	assert_int_equal(hand.n, 1);
	for (unsigned i = 1; i <= 32; i++)
		device_send(0, i);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 1);
	device_send(0, 33);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.pool.free, 300 - 64);
}

/* One packet of any kind more in hand. */
static void take_any(uint32_t seq, unsigned frags_max)
{
	if (random_below(3) == 0)
		take_frags(seq, 1 + random_below(frags_max));
	else
		take_frames(1, seq);
	if (random_below(4) == 0)
		keep(&hand.pkt[hand.n - 1], 1 + random_below(3));
}

/* All kinds at random, given back in any order; the test lets go of its holds at any time. */
static void tx_any_kind_out_of_order(void **s)
{
	(void)s;
	uint32_t seq = 0, at[64];
	unsigned waiting = 0, sent = 0, refused = 0;
	start(64, 2000);
	seed_random("tx_any_kind_out_of_order");
	for (unsigned round = 0; round < 4000; round++) {
		unsigned n = random_below(8);
		for (unsigned i = 0; i < n; i++)
			take_any(seq + i, PKT_FRAGS_MAX);
		unsigned k = tx();
		for (unsigned i = 0; i < k; i++)
			at[waiting++] = seq + i;
		sent += k;
		refused += k < n;
		let_go();
		seq += n;
		assert_int_equal(w.dtx.n, waiting);
		for (unsigned done = random_below(waiting + 1); done; done--) {
			unsigned i = random_below(waiting);
			device_send(i, at[i]);
			waiting--;
			memmove(&at[i], &at[i + 1], (waiting - i) * sizeof at[0]);
		}
		device_publish(&w.dtx);
		while (hand.nkept && random_below(3))
			let_go_of_kept(random_below(hand.nkept));
		assert_accounted();
	}
	for (unsigned i = 0; i < waiting; i++)
		device_send(0, at[i]);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	let_go_of_all_kept();
	assert_int_equal(w.pool.free, 2000 - 64);
	assert_int_equal(w.cnt.tx_pkts, sent);
	assert_true(refused > 100 && sent > 4000);
}

/* A counted buffer is in the ring three times and held by who sends it: as TCP does that sends
 * again. It is free when all have let go, in whatever order. */
static void tx_shared_buffer_is_freed_once(void **s)
{
	(void)s;
	for (unsigned order = 0; order < 8; order++) {
		start(16, 17);
		assert_int_equal(w.pool.free, 1); /* no other is left: a second free would show */
		take_frames(1, order);
		keep(&hand.pkt[0], 2);
		hand.pkt[1] = hand.pkt[2] = hand.pkt[0];
		pkt_meta(&w.pool, hand.pkt[0].buf)->refs = 4;
		hand.n = 3;
		assert_int_equal(tx(), 3);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(w.pool.free, 0);
			if (i == order % 4)
				let_go_of_kept(0);
			else
				device_send(order & 4 ? w.dtx.n - 1 : 0, order);
			device_publish(&w.dtx);
			assert_int_equal(tx(), 0);
			assert_accounted();
		}
		assert_int_equal(w.pool.free, 1);
	}
}

/* --- segmentation --- */

/* Headers of a frame in hand: `tags` VLAN tags, IPv4 or IPv6, TCP with these flags or UDP. Returns
 * where the L4 header starts. */
static unsigned make_headers(struct pkt *p, unsigned tags, bool six, bool tcp, uint8_t flags)
{
	unsigned l3 = 14 + 4 * tags, l4 = l3 + (six ? 40 : 20);
	memset(p->data, 0, l4 + 20);
	for (unsigned i = 0; i < tags; i++)
		put16(p->data + 12 + 4 * i, i + 1 < tags ? 0x88a8 : 0x8100);
	put16(p->data + l3 - 2, six ? 0x86dd : 0x0800);
	p->data[l3] = six ? 0x60 : 0x45;
	p->data[l3 + (six ? 6 : 9)] = tcp ? 6 : 17;
	if (tcp)
		p->data[l4 + 13] = flags;
	return l4;
}

/* 5.1.6.2: what the header says of a frame to be cut, whole or in pieces. */
static void tx_segmentation(void **s)
{
	(void)s;
	static const struct {
		bool tcp, six, ecn;
		uint8_t tags, flags, gso;
	} row[] = {
		{true, false, true, 0, 0x18, 1},
		{true, true, true, 0, 0x18, 4},
		{true, false, true, 0, 0x90, 0x81}, /* CWR: RFC 3168 */
		{true, true, true, 0, 0x90, 0x84},
		{true, false, false, 0, 0x90, 1}, /* a device that does not know it is not told */
		{true, false, true, 0, 0x50, 1},  /* ECE is no CWR */
		{true, false, true, 1, 0x18, 1},
		{true, true, true, 2, 0x98, 0x84},
		{false, false, true, 0, 0, 5},
		{false, true, true, 0, 0, 5},
		{false, false, true, 0, 0x90, 5},
	};
	seed_random("tx_segmentation");
	for (unsigned i = 0; i < 2 * ARRAY_LEN(row); i++) {
		unsigned r = i / 2, l4_bytes = row[r].tcp ? 20 : 8;
		bool chain = i % 2;
		start(64, 200);
		w.tx.ecn = row[r].ecn;
		do {
			let_go();
			if (chain)
				take_frags(300, 7);
			else
				take_frames(1, 300);
		} while (hand.pkt[0].len < 14 + 8 + 40 + 20); /* headers lie in the first piece */
		struct pkt *p = &hand.pkt[0];
		unsigned l4 = make_headers(p, row[r].tags, row[r].six, row[r].tcp, row[r].flags);
		struct pkt_meta *m = pkt_meta(&w.pool, p->buf);
		m->csum_start = (uint16_t)l4;
		m->csum_offset = row[r].tcp ? 16 : 6;
		m->mss = 536;
		m->hdr_bytes = (uint16_t)(l4 + l4_bytes);
		p->flags |= PKT_CSUM_PARTIAL | (row[r].tcp ? PKT_TSO : PKT_USO);
		memset(p->data - HEADER, 0xee, HEADER);
		assert_int_equal(tx(), 1);
		static uint8_t all[HEADER + BUF_STRIDE_STANDARD];
		unsigned id = device_pick(&w.dtx, 0);
		assert_int_equal(device_read(&w.dtx, id, all), HEADER + frame_len(300));
		const uint8_t *h = all;
		if (h[0] != 1 || h[1] != row[r].gso)
			fail_msg("row %u: flags %x, gso_type %x", r, h[0], h[1]);
		assert_int_equal(h[2] | h[3] << 8, l4 + l4_bytes);
		assert_int_equal(h[4] | h[5] << 8, 536);
		assert_int_equal(h[6] | h[7] << 8, l4);
		assert_int_equal(h[8] | h[9] << 8, row[r].tcp ? 16 : 6);
		assert_int_equal(h[10] | h[11] << 8, 0);
		device_use(&w.dtx, id, 0);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_int_equal(w.pool.free, 200 - 64);
	}
}

/* A checksum over a chain is the device's, or the driver's. */
static void tx_partial_checksum_of_a_chain(void **s)
{
	(void)s;
	seed_random("tx_partial_checksum_of_a_chain");
	for (unsigned i = 0; i < 64; i++) {
		static uint8_t want[BUF_STRIDE_STANDARD], all[HEADER + BUF_STRIDE_STANDARD];
		bool here = i % 2; /* by the driver */
		start(64, 200);
		w.tx.csum = !here;
		do {
			let_go();
			take_frags(200 + i, 1 + i / 2);
		} while (hand.pkt[0].len < 54);
		struct pkt *p = &hand.pkt[0];
		unsigned len = flat(&w.pool, p, want);
		pkt_meta(&w.pool, p->buf)->csum_start = 34;
		pkt_meta(&w.pool, p->buf)->csum_offset = 16;
		p->flags |= PKT_CSUM_PARTIAL;
		assert_int_equal(tx(), 1);
		unsigned id = device_pick(&w.dtx, 0);
		assert_int_equal(device_read(&w.dtx, id, all), HEADER + len);
		assert_int_equal(all[0], !here);
		if (here) {
			uint16_t sum = slow_csum(want + 34, len - 34);
			put16(want + 50, sum ? sum : 0xffff);
		}
		assert_memory_equal(all + HEADER, want, len);
		device_use(&w.dtx, id, 0);
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
	}
}

/* Frames with a checksum for the device, or for the driver, among plain ones of the same burst. */
static void tx_partial_checksums_in_a_burst(void **s)
{
	(void)s;
	seed_random("tx_partial_checksums_in_a_burst");
	for (unsigned round = 0; round < 400; round++) {
		static uint8_t want[BUF_STRIDE_STANDARD], all[HEADER + BUF_STRIDE_STANDARD];
		bool partial[30];
		start(32, 100);
		w.tx.csum = round % 2;
		for (unsigned i = 0; i < ARRAY_LEN(partial); i++) {
			take_frames(1, round + i);
			struct pkt *p = &hand.pkt[i];
			partial[i] = random_below(2);
			if (!partial[i])
				continue;
			p->flags = PKT_CSUM_PARTIAL;
			*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){.csum_start = 20, .csum_offset = 6};
		}
		assert_int_equal(tx(), ARRAY_LEN(partial));
		for (unsigned i = 0; i < ARRAY_LEN(partial); i++) {
			unsigned id = device_pick(&w.dtx, 0), len = device_read(&w.dtx, id, all) - HEADER;
			static const uint8_t asks[HEADER] = {[0] = 1, [6] = 20, [8] = 6}, none[HEADER];
			assert_memory_equal(all, partial[i] && w.tx.csum ? asks : none, HEADER);
			assert_int_equal(len, frame_len(round + i));
			make_frame(want, round + i);
			if (partial[i] && !w.tx.csum) {
				uint16_t sum = slow_csum(want + 20, len - 20);
				put16(want + 26, sum ? sum : 0xffff);
			}
			assert_memory_equal(all + HEADER, want, len);
			device_use(&w.dtx, id, 0);
		}
		device_publish(&w.dtx);
		assert_int_equal(tx(), 0);
		assert_int_equal(w.pool.free, 100 - 32);
	}
}

/* A received header, and what has to become of the frame of 100 bytes behind it. */
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
		/* Without GUEST_CSUM flags mean nothing. */
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
		/* The next frame is taken for what it is. */
		device_receive(0, i);
		device_publish(&w.drx);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, i);
		let_go();
	}
}

/* 5.1.6.4: a frame spread over `buffers`, with `tail` bytes in the last. The bytes of all but the
 * first look like a header and frame 666, as a sender would have them to smuggle one in. */
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

/* A frame larger than a buffer is dropped whole, also where a burst ends in the middle of it. */
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

/* A frame dropped for its own header takes nothing with it, even after one that did. */
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

/* 2.7.10: one doorbell for a burst that gave the device something, none if it says NO_NOTIFY. */
static void notifications(void **s)
{
	(void)s;
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
		assert_int_equal(tx(), 0); /* reclaims only */
		assert_int_equal(w.dtx.rings - before_tx, wants_tx && n);
		device_take(&w.drx); /* a device that polls finds all the same */
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
 * 2.7.13.4.1, the race: the driver saw NO_NOTIFY and kept quiet, the device had cleared it after it
 * last looked at avail.idx. The doorbell follows within two idle turns, once, and only then.
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
	assert_false(virtio_rx_interrupt(&w.rx, true)); /* not used yet */
	device_publish(&w.drx);
	assert_true(virtio_rx_interrupt(&w.rx, true)); /* do not sleep */
	assert_int_equal(rx(256), 1);
	assert_int_equal(load(w.drx.avail, 2), 0); /* a burst leaves it as it is */
	virtio_rx_interrupt(&w.rx, false);
	assert_int_equal(load(w.drx.avail, 2), 1);
	/* What a burst left behind counts as waiting, over the wrap of the index too. */
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
	for (unsigned round = 0; round < 2000; round++) {
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

/* Descriptors without a buffer get one in their turn. */
static void rx_refills_in_order(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 100);
	seed_random("rx_refills_in_order");
	for (unsigned round = 0; round < 3000; round++) {
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

/* used.idx is all there is to know: nothing that stands in the used ring matters. */
static void tx_by_the_index_alone(void **s)
{
	(void)s;
	uint32_t seq = 0;
	start(64, 2000);
	seed_random("tx_by_the_index_alone");
	for (unsigned round = 0; round < 4000; round++) {
		unsigned n = random_below(8);
		for (unsigned i = 0; i < n; i++)
			take_any(seq + i, PKT_FRAGS_MAX);
		seq += tx();
		let_go();
		for (unsigned done = random_below(w.dtx.n + 1); done; done--)
			device_send(0, seq - w.dtx.n);
		for (unsigned i = 0; i < 8 * 64; i += 4)
			store(w.dtx.used + 4 + i, 4, random64());
		device_publish(&w.dtx);
		while (hand.nkept && random_below(3))
			let_go_of_kept(random_below(hand.nkept));
		assert_accounted();
	}
	while (w.dtx.n)
		device_send(0, seq - w.dtx.n);
	device_publish(&w.dtx);
	assert_int_equal(tx(), 0);
	let_go_of_all_kept();
	assert_int_equal(w.pool.free, 2000 - 64);
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
		cmocka_unit_test_teardown(tx_in_order, teardown_good),
		cmocka_unit_test_teardown(tx_out_of_order, teardown_good),
		cmocka_unit_test_teardown(tx_ring_full, teardown_good),
		cmocka_unit_test_teardown(tx_partial_checksum, teardown_good),
		cmocka_unit_test_teardown(tx_chains, teardown_good),
		cmocka_unit_test_teardown(tx_avail_settles_after_a_chain, teardown_good),
		cmocka_unit_test_teardown(tx_chain_waits_for_room, teardown_good),
		cmocka_unit_test_teardown(tx_any_kind_out_of_order, teardown_good),
		cmocka_unit_test_teardown(tx_shared_buffer_is_freed_once, teardown_good),
		cmocka_unit_test_teardown(tx_segmentation, teardown_good),
		cmocka_unit_test_teardown(tx_partial_checksum_of_a_chain, teardown_good),
		cmocka_unit_test_teardown(tx_partial_checksums_in_a_burst, teardown_good),
		cmocka_unit_test_teardown(notifications, teardown_good),
		cmocka_unit_test_teardown(missed_notification_is_made_up_for, teardown_good),
		cmocka_unit_test_teardown(interrupt_arming, teardown_good),
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
		cmocka_unit_test_teardown(tx_in_order, teardown_good),
		cmocka_unit_test_teardown(tx_by_the_index_alone, teardown_good),
		cmocka_unit_test_teardown(tx_chains, teardown_good),
		cmocka_unit_test_teardown(tx_avail_settles_after_a_chain, teardown_good),
		cmocka_unit_test_teardown(tx_chain_waits_for_room, teardown_good),
		cmocka_unit_test_teardown(tx_segmentation, teardown_good),
		cmocka_unit_test_teardown(notifications, teardown_good),
		cmocka_unit_test_teardown(missed_notification_is_made_up_for, teardown_good),
	};
	int failed = cmocka_run_group_tests_name("virtio_ring", tests, guest_map, NULL);
	return failed + cmocka_run_group_tests_name("virtio_ring, in order", tests_in_order,
	                                            negotiate_in_order, NULL);
}
