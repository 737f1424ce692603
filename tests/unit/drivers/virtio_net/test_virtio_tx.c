/* drivers/virtio_net/ring_tx.c with a device that complies with VIRTIO 1.2. */
#include "tests/unit/rig/packets.h"
#include "tests/unit/rig/virtio_rig.h"

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
	assert_int_equal(tx(), 0); /* and no needless doorbell */
	assert_int_equal(w.dtx.rings, rings);
	assert_int_equal(w.cnt.tx_full, 2);
	assert_accounted();

	/* The oldest is still outstanding: its place is not available, however many behind it are
	 * done. */
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

/* 5.1.6.2: the header of a frame with a partial checksum, and that the next in its place has
 * none. */
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

/* --- chains, shared buffers --- */

/* Any number of pieces, many times around the ring, among plain frames. */
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

/* Entries of avail are written again for one round after a chain, and then no more. */
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

/* A chain that does not fit stays with the caller, unchanged, and so does everything behind it. */
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

/* Takes one more packet, of any kind, in hand. */
static void take_any(uint32_t seq, unsigned frags_max)
{
	if (random_below(3) == 0)
		take_frags(seq, 1 + random_below(frags_max));
	else
		take_frames(1, seq);
	if (random_below(4) == 0)
		keep(&hand.pkt[hand.n - 1], 1 + random_below(3));
}

/* All kinds at random, returned in any order; the test releases its holds at any time. */
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

/* A shared buffer is in the ring three times and held by the sender, as by TCP for retransmission.
 * It is freed when all have released it, in whatever order. */
static void tx_shared_buffer_is_freed_once(void **s)
{
	(void)s;
	for (unsigned order = 0; order < 8; order++) {
		start(16, 17);
		assert_int_equal(w.pool.free, 1); /* no other is left: a second free would be noticed */
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

/* Makes the headers of a frame in hand: `tags` VLAN tags, IPv4 or IPv6, TCP with these flags or
 * UDP. Returns where the L4 header starts. */
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

/* 5.1.6.2: the virtio header of a frame to be segmented, whole or in pieces. */
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
		{true, false, false, 0, 0x90, 1}, /* a device without support is not told of it */
		{true, false, true, 0, 0x50, 1},  /* ECE is not CWR */
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

/* The checksum over a chain is completed by the device, or by the driver. */
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

/* Frames with a checksum for the device, or for the driver, among plain ones in the same burst. */
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
			if (partial[i]) {
				p->flags = PKT_CSUM_PARTIAL;
				*pkt_meta(&w.pool, p->buf) =
					(struct pkt_meta){.csum_start = 20, .csum_offset = 6};
			}
			if (random_below(2))
				keep(p, 2);
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
		let_go_of_all_kept();
		assert_int_equal(w.pool.free, 100 - 32);
	}
}

/* The device sends each burst at once. The driver reads that when another would make it more than 32
 * descriptors in use, or more than half of the ring, and when it has nothing to send. */
static void tx_short_bursts_share_a_read(void **s)
{
	(void)s;
	for (unsigned size = 4; size <= 256; size *= 2) {
		const unsigned most = size / 2 < 32 ? size / 2 : 32;
		unsigned seq = 0, used = 0;
		start(size, 600);
		device_wants_doorbell(&w.dtx, false);
		assert_int_equal(tx(), 0);
		for (unsigned i = 0; i < 300; i++) {
			const unsigned n = 1 + i % 3;
			used = used == 0 || used + n > most ? n : used + n;
			take_frames(n, seq);
			assert_int_equal(tx(), n);
			assert_int_equal((uint16_t)(w.tx.next - w.tx.done), used);
			assert_int_equal(w.pool.free, 600 - size - used);
			device_take(&w.dtx);
			for (unsigned k = 0; k < n; k++)
				device_send(0, seq++);
			device_publish(&w.dtx);
			assert_accounted();
		}
		assert_int_equal(tx(), 0);
		assert_int_equal(w.pool.free, 600 - size);
	}
}

/* used.idx is the only information: the contents of the used ring do not matter. */
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
		cmocka_unit_test_teardown(tx_short_bursts_share_a_read, teardown_good),
	};
	const struct CMUnitTest tests_in_order[] = {
		cmocka_unit_test_teardown(tx_in_order, teardown_good),
		cmocka_unit_test_teardown(tx_by_the_index_alone, teardown_good),
		cmocka_unit_test_teardown(tx_chains, teardown_good),
		cmocka_unit_test_teardown(tx_avail_settles_after_a_chain, teardown_good),
		cmocka_unit_test_teardown(tx_chain_waits_for_room, teardown_good),
		cmocka_unit_test_teardown(tx_segmentation, teardown_good),
		cmocka_unit_test_teardown(tx_short_bursts_share_a_read, teardown_good),
	};
	int failed = cmocka_run_group_tests_name("virtio_tx", tests, guest_map, NULL);
	return failed + cmocka_run_group_tests_name("virtio_tx, in order", tests_in_order,
	                                            negotiate_in_order, NULL);
}
