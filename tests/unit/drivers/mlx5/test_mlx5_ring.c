/*
 * drivers/mlx5/ring.c and ring_tx.c with a device that complies with the PRM, and one that does
 * not: what is specific to mlx5. ring_tests.c tests what nic_ops requires.
 */
#include "tests/unit/rig/mlx5_ring_rig.h"
#include "tests/unit/rig/packets.h"

#define ROUND 6 /* queues of 64, to wrap often */

static void layout(void **s)
{
	(void)s;
	for (unsigned log_size = 4; log_size <= MLX5_RING_LOG_SIZE; log_size++) {
		struct mlx5_layout l = mlx5_layout(log_size);
		size_t n = (size_t)1 << log_size;
		assert_int_equal((l.rq | l.sq | l.rx_cq | l.tx_cq | l.eq) % 4096, 0);
		assert_int_equal((l.rq_dbr | l.sq_dbr | l.rx_cq_dbr | l.tx_cq_dbr) % 64, 0);
		assert_true(l.rq + 16 * n <= l.sq && l.sq + 64 * n <= l.rx_cq);
		assert_true(l.rx_cq + 64 * n <= l.tx_cq && l.tx_cq + 64 * n <= l.eq);
		assert_true(l.eq + 4096 <= l.rq_dbr && l.tx_cq_dbr + 64 <= l.rx_owner);
		assert_true(l.rx_owner + 4 * n <= l.tx_owner && l.tx_owner + 4 * n <= l.bytes);
		start(log_size, BUFS_MAX, BUF_STRIDE_STANDARD, 0);
		assert_int_equal(device_room(), n);
		assert_accounted();
	}
}

/* --- receive --- */

static void rx_checksum_flags(void **s)
{
	(void)s;
	for (unsigned on = 0; on < 2; on++) {
		start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
		w.rx.csum_mask = on ? MLX5_CQE_H_OK : 0;
		for (unsigned checks = 0; checks < 8; checks++) {
			make_frame(device_buffer(), checks);
			device_complete(frame_len(checks), (uint8_t)checks, 0x10, 0);
			assert_int_equal(rx(1), 1);
			assert_int_equal(hand.pkt[0].flags, on && checks >= 6 ? PKT_CSUM_OK : 0);
			let_go();
		}
		assert_accounted();
	}
}

static void rx_vlan(void **s)
{
	(void)s;
	start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
	for (unsigned on = 0; on < 2; on++) {
		w.rx.vlan_mask = on ? MLX5_CQE_H_VLAN : 0;
		make_frame(device_buffer(), 9);
		device_complete(frame_len(9), 1, 0x31, 0xe123);
		assert_int_equal(rx(1), 1);
		assert_int_equal(hand.pkt[0].flags, on ? PKT_VLAN : 0);
		if (on)
			assert_int_equal(pkt_meta(&w.pool, hand.pkt[0].buf)->vlan_tci, 0xe123);
		let_go();
	}
}

static void rx_bad_lengths(void **s)
{
	(void)s;
	enum { MOST = BUF_STRIDE_STANDARD - BUF_DATA_OFFSET };
	static const unsigned bad[] = {0, MOST + 1, 65535, 65536 + 60, 0xffffffff};
	start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		device_complete(bad[i], 1, 0, 0);
		device_receive(i);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, i);
		let_go();
		assert_int_equal(w.cnt.rx_bad_len, i + 1);
	}
	device_complete(MOST, 1, 0, 0);
	assert_int_equal(rx(256), 1);
	assert_int_equal(hand.pkt[0].len, MOST);
	assert_false(w.broken);
}

/* A CQE that is not for a frame, or not for the next WQE, breaks the queue; frames before it are
 * good. */
static void rx_broken(void **s)
{
	(void)s;
	static const struct {
		int counter;
		uint8_t opcode;
	} bad[] = {{0, 13}, {0, 0}, {62, 2}, {-1, 2}, {0x100, 2}, {0, 4}};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
		device_receive(1);
		device_receive(2);
		device_rx_cqe(60, (uint16_t)((int)w.rq_at + bad[i].counter), bad[i].opcode);
		assert_int_equal(rx(256), 2);
		assert_true(w.broken);
		assert_int_equal(w.cnt.rx_bad_desc, 1);
		assert_false(w.rx.failed);
		assert_accounted();
	}
	/* More frames than it had WQEs. */
	start(ROUND, 40, BUF_STRIDE_STANDARD, 0);
	for (unsigned i = 0; i < 40; i++)
		device_receive(i);
	device_rx_cqe(60, 40, 2);
	assert_int_equal(rx(256), 40);
	assert_true(w.broken);
}

/*
 * An error CQE, wherever the queue is and whatever CQEs of given-up WQEs follow: the record is 0
 * before the error is counted, no buffer leaves the queue before the restart, and then everything
 * starts again.
 */
static void rx_failed(void **s)
{
	(void)s;
	for (unsigned before = 0; before < 150; before += 7) {
		unsigned flushed = before % 60;
		start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
		for (unsigned i = 0; i < before; i++) {
			device_receive(i);
			assert_int_equal(rx(256), 1);
			let_go();
		}
		uint32_t had = w.rx.tail - w.rx.head;
		device_receive(7);
		device_rx_cqe(0, (uint16_t)w.rq_at, 14);
		assert_int_equal(rx(256), 1);
		assert_true(w.broken && w.rx.failed);
		assert_int_equal(w.cnt.rx_queue_errors, 1);
		assert_int_equal(w.cnt.rx_bad_desc, 0);
		assert_int_equal(be32_load(w.rq_dbr), 0);
		assert_int_equal(w.rx.tail - w.rx.head, had - 1);
		for (unsigned i = 1; i <= flushed; i++)
			device_rx_cqe(0, (uint16_t)(w.rq_at + i), 14);
		mlx5_rx_restart(&w.rx, &w.pool, &w.cnt);
		w.broken = false;
		w.rq_at = 0; /* the device has passed through RST */
		assert_false(w.rx.failed);
		assert_int_equal(device_room(), w.size);
		for (unsigned i = 0; i < 150; i++) {
			device_receive(i);
			assert_int_equal(rx(256), 1);
			let_go();
		}
		assert_false(w.broken);
		assert_accounted();
	}
}

/* CQEs that were lost: frames behind them are good, and the lost ones are counted. */
static void rx_lost(void **s)
{
	(void)s;
	uint32_t seq = 0, lost = 0;
	start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		for (unsigned n = round % 5; n; n--, lost++)
			w.rq_at++;
		unsigned n = 1 + round % 20, got = 0;
		for (unsigned i = 0; i < n; i++)
			device_receive(seq + i);
		for (unsigned i = 0; i < 2; i++) /* the first burst detects the loss */
			got += rx(256);
		assert_int_equal(got, n);
		for (unsigned i = 0; i < n; i++)
			assert_frame(hand.pkt[i].data, hand.pkt[i].len, seq++);
		assert_int_equal(w.cnt.rx_bad_desc, lost);
		assert_accounted();
		let_go();
	}
	assert_false(w.broken);
}

static void rx_hostile(void **s)
{
	(void)s;
	unsigned broken = 0;
	seed_random("rx_hostile");
	for (unsigned life = 0; life < 400; life++) {
		start(4 + random_below(3), 300, BUF_STRIDE_STANDARD, 0);
		for (unsigned round = 0; round < 50 && !w.broken; round++) {
			for (unsigned n = random_below(8); n && device_room(); n--) {
				uint64_t cqe = bus_of(w.rx_cq) + (w.rx_cq_at % w.size) * 64;
				device_receive(round);
				if (random_below(40) == 0)
					random_fill(bus(cqe, 64), 64);
			}
			rx(1 + random_below(40));
			let_go();
			assert_accounted();
		}
		broken += w.broken;
	}
	assert_in_range(broken, 40, 400);
}

/* --- send --- */

/* A CQE for one WQE in 32 and for the last of a burst, and no others. */
static void tx_reports(void **s)
{
	(void)s;
	start(MLX5_RING_LOG_SIZE, 1500, BUF_STRIDE_STANDARD, 0);
	take_frames(100, 0);
	assert_int_equal(tx(), 100);
	for (unsigned i = 0; i < 100; i++)
		device_send(i);
	assert_int_equal(w.reports, 4);
	assert_int_equal(w.report[3], 99);
	w.reports = 2;
	device_report();
	assert_int_equal(tx(), 0);
	assert_int_equal(w.tx.tail, 64);
	device_tx_cqe(99, 0);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.tx.tail, 100);
}

/* Plain frames share WQEs, 32 in one; others have their own, in order. */
static void tx_multi(void **s)
{
	(void)s;
	static uint8_t got[SENT_BYTES_MAX];
	unsigned len;
	start(MLX5_RING_LOG_SIZE, 1500, BUF_STRIDE_STANDARD, 0);
	w.tx.multi = true;
	take_frames(45, 0);
	take_frags(45, 2);
	take_frames(14, 46);
	take_frags(60, 2);
	assert_int_equal(tx(), 61);
	assert_int_equal(w.tx.head, 9 + 4 + 2 + 4 + 2);
	for (unsigned i = 0; i < 61; i++) {
		struct sent d = device_gather(got, &len);
		assert_int_equal(d.opcode, i == 45 || i == 60 ? 0x0a : 0x29);
		assert_frame(got, len, i);
	}
	assert_int_equal(w.reports, 1);
	device_report();
	assert_int_equal(tx(), 0);
	assert_int_equal(w.pool.free, 1500 - w.size);
}

/* A packet that is not plain, at each place of a burst of any length; the flags of the others say
 * nothing about sending. With one frame in a WQE, with many, and with many without AVX2. */
static void tx_odd_anywhere(void **s)
{
	(void)s;
	static uint8_t got[SENT_BYTES_MAX];
	for (unsigned kind = 0; kind < 3; kind++) {
		uint64_t bytes = 0, all = 0;
		uint32_t seq = 0;
		start_kind(64, 300, 64, kind);
		for (unsigned place = 0; place < 42; place++)
			for (unsigned n = place; n < 42; n += 1 + n % 3) {
				take_frames(place, seq);
				if (n > place)
					take_frags(seq + place, 2);
				take_frames(n > place ? n - place - 1 : 0, seq + place + 1);
				for (unsigned i = 0; i < n; i++)
					hand.pkt[i].flags |= i % 2 ? PKT_CSUM_OK : PKT_OWN;
				all += n > 0;
				assert_int_equal(tx(), n);
				for (unsigned i = 0; i < n; i++, seq++) {
					unsigned len;
					struct sent d = device_gather(got, &len);
					assert_int_equal(d.opcode, kind && i != place ? 0x29 : 0x0a);
					assert_int_equal(d.pieces, i == place ? 3 : 1);
					assert_frame(got, len, seq);
					bytes += len;
				}
				device_report();
				assert_int_equal(tx(), 0);
				assert_accounted();
			}
		assert_int_equal(w.cnt.tx_pkts, seq);
		assert_int_equal(w.cnt.tx_bytes, bytes);
		assert_int_equal(w.doorbells, all);
	}
}

/* No more frames than WQEBBs, and the last WQE ends where the space does. */
static void tx_multi_full(void **s)
{
	(void)s;
	for (unsigned first = 1; first < 64; first++) {
		start(ROUND, 300, BUF_STRIDE_STANDARD, 0);
		w.tx.multi = true;
		for (unsigned i = 0; i < first; i++) {
			take_frames(1, i);
			assert_int_equal(tx(), 1);
		}
		take_frames(100, first);
		unsigned took = tx(), seen = 0;
		assert_int_equal(took, 64 - first); /* a frame needs at most one WQEBB */
		assert_int_equal(tx(), 0);
		for (; seen < first + took; seen++)
			device_send(seen);
		device_report();
		assert_int_equal(tx(), 100 - took < 64 ? 100 - took : 64);
		assert_accounted();
	}
}

/* A whole short frame may lie inline. */
static void tx_short_frames(void **s)
{
	(void)s;
	static uint8_t got[SENT_BYTES_MAX];
	start(ROUND, 200, BUF_STRIDE_STANDARD, MLX5_INLINE_L4);
	for (unsigned len = 14; len < 100; len++) {
		unsigned bytes;
		take_frames(1, 5);
		hand.pkt[0].len = (uint16_t)len;
		assert_int_equal(tx(), 1);
		struct sent d = device_gather(got, &bytes);
		assert_int_equal(bytes, len);
		assert_int_equal(d.header, len < 78 ? len : 78);
		assert_int_equal(d.pieces, len > 78);
		device_report();
	}
}

static struct pkt *take_l4(unsigned ip6, uint8_t proto, unsigned tags, unsigned payload)
{
	unsigned l3 = 14 + 4 * tags, l4 = l3 + (ip6 ? 40 : 20), head = proto == 6 ? 20 : 8;
	struct pkt *p = &hand.pkt[hand.n];
	take_frames(1, 3);
	memset(p->data, 0, l4 + head + payload);
	for (unsigned i = 0; i < tags; i++)
		put16(p->data + 12 + 4 * i, i ? 0x8100 : 0x88a8);
	put16(p->data + l3 - 2, ip6 ? 0x86dd : 0x0800);
	p->data[l3] = ip6 ? 0x60 : 0x45;
	p->data[l3 + (ip6 ? 6 : 9)] = proto;
	for (unsigned i = 0; i < payload; i++)
		p->data[l4 + head + i] = (uint8_t)(i * 5);
	p->len = (uint16_t)(l4 + head + payload);
	p->flags = PKT_CSUM_PARTIAL;
	*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){.csum_start = (uint16_t)l4,
	                                               .csum_offset = proto == 6 ? 16 : 6,
	                                               .hdr_bytes = (uint16_t)(l4 + head)};
	return p;
}

static void tx_checksum_offload(void **s)
{
	(void)s;
	static uint8_t got[SENT_BYTES_MAX];
	start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
	for (unsigned k = 0; k < 12; k++) {
		unsigned len;
		take_l4(k & 1, k & 2 ? 17 : 6, k / 4, 100);
		assert_int_equal(tx(), 1);
		struct sent d = device_gather(got, &len);
		assert_int_equal(d.csum, 0xc0);
		assert_int_equal(d.header, 0);
		device_report();
	}
}

/* The driver computes checksums that the device cannot: another protocol, an extension header, a
 * checksum at another place. */
static void tx_checksum_here(void **s)
{
	(void)s;
	static uint8_t got[SENT_BYTES_MAX];
	start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
	for (unsigned k = 0; k < 4; k++) {
		unsigned len;
		struct pkt *p = take_l4(k == 1, k == 0 ? 1 : 17, 0, 100);
		struct pkt_meta *m = pkt_meta(&w.pool, p->buf);
		if (k == 0)
			m->csum_offset = 2;
		if (k == 1)
			m->csum_start += 8; /* behind an extension header */
		if (k == 2)
			m->csum_offset = 4;
		if (k == 3)
			put16(p->data + 12, 0x0806);
		unsigned at = m->csum_start, check = at + m->csum_offset;
		put16(p->data + check, 0x1234); /* the sum of the pseudo header */
		uint16_t want = slow_csum(p->data + at, p->len - at);
		assert_int_equal(tx(), 1);
		struct sent d = device_gather(got, &len);
		assert_int_equal(d.csum, 0);
		assert_int_equal(got[check] << 8 | got[check + 1], want);
		device_report();
	}
}

static void tx_segmentation(void **s)
{
	(void)s;
	static uint8_t got[SENT_BYTES_MAX], want[SENT_BYTES_MAX];
	for (unsigned k = 0; k < 4; k++) {
		unsigned len;
		start(ROUND, 200, BUF_STRIDE_STANDARD, k & 2 ? MLX5_INLINE_L2 : 0);
		struct pkt *p = take_l4(k & 1, 6, 1, 1400);
		p->flags |= PKT_TSO;
		pkt_meta(&w.pool, p->buf)->mss = 536;
		unsigned header = pkt_meta(&w.pool, p->buf)->hdr_bytes, all = p->len;
		memcpy(want, p->data, all);
		assert_int_equal(tx(), 1);
		struct sent d = device_gather(got, &len);
		assert_int_equal(d.opcode, 0x0e);
		assert_int_equal(d.mss, 536);
		assert_int_equal(d.header, header);
		assert_int_equal(d.pieces, 1);
		assert_int_equal(d.csum, 0xc0);
		assert_int_equal(len, all);
		assert_memory_equal(got, want, all);
		device_report();
		assert_int_equal(tx(), 0);
		assert_accounted();
	}
}

/* The tag goes into inline headers, even if the frame would have none. */
static void tx_vlan(void **s)
{
	(void)s;
	static const unsigned inlines[] = {0, MLX5_INLINE_L2, MLX5_INLINE_L4};
	static uint8_t got[SENT_BYTES_MAX], want[SENT_BYTES_MAX];
	for (unsigned k = 0; k < ARRAY_LEN(inlines); k++) {
		unsigned len;
		start(ROUND, 200, BUF_STRIDE_STANDARD, inlines[k]);
		take_frames(1, 20);
		hand.pkt[0].flags = PKT_VLAN;
		pkt_meta(&w.pool, hand.pkt[0].buf)->vlan_tci = 0x2005;
		memcpy(want, hand.pkt[0].data, 12);
		put32(want + 12, 0x81002005);
		memcpy(want + 16, hand.pkt[0].data + 12, frame_len(20) - 12);
		assert_int_equal(tx(), 1);
		struct sent d = device_gather(got, &len);
		assert_int_equal(d.header, (inlines[k] ? inlines[k] : 14) + 4);
		assert_int_equal(len, frame_len(20) + 4);
		assert_memory_equal(got, want, len);
		device_report();
	}
}

/* A frame of several units waits until there is room for all of it. */
static void tx_chain_waits_for_room(void **s)
{
	(void)s;
	static uint8_t got[SENT_BYTES_MAX];
	unsigned len;
	start(4, 200, BUF_STRIDE_STANDARD, 0);
	take_frames(10, 0);
	take_frags(10, 32); /* 2 + 1 + 32 segments: 9 units */
	assert_int_equal(tx(), 10);
	assert_int_equal(tx(), 0);
	for (unsigned i = 0; i < 10; i++)
		device_send(i);
	assert_int_equal(tx(), 0);
	device_report();
	assert_int_equal(tx(), 1);
	struct sent d = device_gather(got, &len);
	assert_frame(got, len, 10);
	assert_int_equal(d.units, 9); /* around the end of the ring */
	assert_int_equal(d.pieces, 33);
	device_report();
	assert_int_equal(tx(), 0);
	assert_int_equal(w.tx.tail, w.tx.head);
}

/* A CQE of another kind, of a WQE that was not announced or requested none, or that goes back. */
static void tx_broken(void **s)
{
	(void)s;
	static const struct {
		uint16_t counter;
		uint8_t opcode;
	} bad[] = {{39, 14}, {39, 2}, {40, 0}, {63, 0}, {0xffff, 0}, {5, 0}, {0x8000, 0}};
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
		take_frames(40, 0);
		assert_int_equal(tx(), 40);
		device_tx_cqe(bad[i].counter, bad[i].opcode);
		assert_int_equal(tx(), 0);
		assert_true(w.broken);
		assert_int_equal(w.cnt.tx_bad_desc, 1);
		assert_accounted();
	}
	start(ROUND, 200, BUF_STRIDE_STANDARD, 0);
	take_frames(40, 0);
	assert_int_equal(tx(), 40);
	device_tx_cqe(39, 0);
	device_tx_cqe(31, 0);
	assert_int_equal(tx(), 0);
	assert_true(w.broken);
}

/* An error CQE among frames of every kind, and CQEs of what is given up. */
static void tx_failed(void **s)
{
	(void)s;
	for (unsigned before = 0; before < 150; before += 7) {
		start(ROUND, 300, BUF_STRIDE_STANDARD, 0);
		w.tx.multi = before & 1;
		for (unsigned i = 0; i < before; i++) {
			take_frames(1, i);
			assert_int_equal(tx(), 1);
			device_send(i);
			device_report();
		}
		take_frames(40, 0);
		assert_int_equal(tx(), 40);
		device_send(0);
		device_tx_cqe((uint16_t)w.sq_at, 13);
		assert_int_equal(tx(), 0);
		assert_true(w.broken && w.tx.failed);
		assert_int_equal(w.cnt.tx_queue_errors, 1);
		assert_int_equal(w.cnt.tx_bad_desc, 0);
		assert_int_equal(be32_load(w.sq_dbr + 4), 0);
		assert_accounted();
		for (unsigned i = 1; i <= before % 39; i++)
			device_tx_cqe((uint16_t)(w.sq_at + i), 13);
		mlx5_tx_restart(&w.tx, &w.pool);
		w.broken = false;
		w.sq_at = w.sq_told = w.reports = w.segment = 0; /* it has passed through RST */
		assert_false(w.tx.failed);
		assert_int_equal(w.tx.tail, w.tx.head);
		for (unsigned i = 0; i < 150; i++) {
			take_frames(1, i);
			assert_int_equal(tx(), 1);
			device_send(i);
			device_report();
		}
		assert_int_equal(tx(), 0);
		assert_false(w.broken);
		assert_accounted();
	}
}

static void tx_hostile(void **s)
{
	(void)s;
	unsigned broken = 0;
	static uint8_t got[SENT_BYTES_MAX];
	seed_random("tx_hostile");
	for (unsigned life = 0; life < 400; life++) {
		start(4 + random_below(3), 300, BUF_STRIDE_STANDARD, 0);
		w.tx.multi = life & 1;
		for (unsigned round = 0; round < 50 && !w.broken; round++) {
			unsigned len;
			take_frames(random_below(10), 0);
			tx();
			while (device_waiting() && random_below(4))
				device_gather(got, &len);
			if (random_below(20) == 0 && w.reports)
				w.report[random_below(w.reports)] = (uint16_t)random64();
			if (!w.broken)
				device_report();
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
		cmocka_unit_test_teardown(layout, teardown),
		cmocka_unit_test_teardown(rx_checksum_flags, teardown),
		cmocka_unit_test_teardown(rx_vlan, teardown),
		cmocka_unit_test_teardown(rx_bad_lengths, teardown),
		cmocka_unit_test_teardown(rx_broken, teardown),
		cmocka_unit_test_teardown(rx_failed, teardown),
		cmocka_unit_test_teardown(rx_lost, teardown),
		cmocka_unit_test_teardown(rx_hostile, teardown),
		cmocka_unit_test_teardown(tx_reports, teardown),
		cmocka_unit_test_teardown(tx_multi, teardown),
		cmocka_unit_test_teardown(tx_odd_anywhere, teardown),
		cmocka_unit_test_teardown(tx_multi_full, teardown),
		cmocka_unit_test_teardown(tx_short_frames, teardown),
		cmocka_unit_test_teardown(tx_checksum_offload, teardown),
		cmocka_unit_test_teardown(tx_checksum_here, teardown),
		cmocka_unit_test_teardown(tx_segmentation, teardown),
		cmocka_unit_test_teardown(tx_vlan, teardown),
		cmocka_unit_test_teardown(tx_chain_waits_for_room, teardown),
		cmocka_unit_test_teardown(tx_broken, teardown),
		cmocka_unit_test_teardown(tx_failed, teardown),
		cmocka_unit_test_teardown(tx_hostile, teardown),
	};
	int failed = cmocka_run_group_tests_name("mlx5_ring", tests, guest_map, NULL);
	return failed + run_ring_tests();
}
