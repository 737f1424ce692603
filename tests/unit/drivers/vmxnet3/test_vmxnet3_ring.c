/*
 * drivers/vmxnet3/ring.c and ring_tx.c with a device that keeps to the rules: what all rings of one place per frame
 * have in common (rig/ring_tests.c), offloads of both directions, frames in pieces, descriptors that the device
 * passes over.
 */
#include "lib/bytes.h"
#include "lib/csum.h"
#include "tests/unit/rig/vmxnet3_rig.h"

static uint8_t all[65536 + 64];

/* --- receive --- */

enum { L4_OK = 48, UDP, TCP, IP_OK, IP6, IP4, FRAGMENT };
#define BIT(n) (1ull << (n))

/* One frame with these bits; returns its packet, which stays in hand. */
static const struct pkt *received(uint32_t first, uint64_t end)
{
	make_frame(device_buffer(), 1);
	device_complete(WHOLE | first, end | frame_len(1));
	assert_int_equal(rx(256), 1);
	const struct pkt *p = &hand.pkt[hand.n - 1];
	assert_frame(p->data, p->len, 1);
	return p;
}

static void rx_checksums(void **s)
{
	(void)s;
	const uint64_t tcp4 = BIT(L4_OK) | BIT(TCP) | BIT(IP4) | BIT(IP_OK), udp6 = BIT(L4_OK) | BIT(UDP) | BIT(IP6);
	static const struct {
		uint64_t without, with;
		uint32_t first;
		bool six, ok;
	} rows[] = {
		{.ok = true},
		{.six = true, .ok = true},
		{.first = 1u << 30},                    /* not calculated */
		{.first = 1u << 30, .six = true},
		{.without = BIT(L4_OK)},
		{.without = BIT(L4_OK), .six = true},
		{.without = BIT(IP_OK)},
		{.without = BIT(TCP)},                  /* neither TCP nor UDP */
		{.without = BIT(IP4)},                  /* no IP */
		{.with = BIT(FRAGMENT)},
		{.with = BIT(FRAGMENT), .six = true},
		{.without = BIT(TCP), .with = BIT(UDP), .ok = true},
	};
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		const uint64_t end = ((rows[i].six ? udp6 : tcp4) & ~rows[i].without) | rows[i].with;
		assert_int_equal(received(rows[i].first, end)->flags, rows[i].ok ? PKT_CSUM_OK : 0);
	}
	w.rx.csum = false;
	assert_int_equal(received(0, tcp4)->flags, 0);
}

static void rx_tags(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	const struct pkt *p = received(1u << 30, BIT(15) | 0xa123ull << 16);
	assert_int_equal(p->flags, PKT_VLAN);
	assert_int_equal(pkt_meta(&w.pool, p->buf)->vlan_tci, 0xa123);
	assert_int_equal(received(1u << 30, 0xa123ull << 16)->flags, 0);
	w.rx.vlan = false;
	assert_int_equal(received(1u << 30, BIT(15) | 0xa123ull << 16)->flags, 0);
}

/* A frame as long as the buffer is received; a longer one is cut, marked, and dropped. */
static void rx_long_frames(void **s)
{
	(void)s;
	static const uint32_t strides[] = {BUF_STRIDE_STANDARD, BUF_STRIDE_JUMBO};
	for (unsigned i = 0; i < 2; i++) {
		start(64, 200, strides[i]);
		device_complete(WHOLE | 1u << 30, strides[i] - BUF_DATA_OFFSET);
		assert_int_equal(rx(256), 1);
		assert_int_equal(hand.pkt[0].len, strides[i] - BUF_DATA_OFFSET);
		device_complete(WHOLE | 1u << 30, (strides[i] - BUF_DATA_OFFSET) | BIT(14));
		device_receive(7);
		assert_int_equal(rx_left(), 1);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[1].data, hand.pkt[1].len, 7);
		assert_int_equal(w.cnt.rx_oversize, 1);
		assert_accounted();
	}
}

/* The device may take a descriptor without a frame: its buffer comes back, and the next frame is right. */
static void rx_passed_over(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	for (uint32_t seq = 0; seq < 300; seq++) {
		w.rx_at += seq % 5;
		device_receive(seq);
		assert_int_equal(rx(256), 1);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, seq);
		let_go();
		assert_accounted();
	}
	assert_int_equal(w.cnt.rx_bad_desc, 300 / 5 * (1 + 2 + 3 + 4));
}

/* A device that has taken descriptors without the doorbell, and has none left, is told of the first new ones. */
static void rx_untold(void **s)
{
	(void)s;
	start(64, 70, BUF_STRIDE_STANDARD);
	for (uint32_t seq = 0; seq < 70; seq++) {
		device_receive(seq);
		if (seq == 15) {
			assert_int_equal(rx(256), 16);
			assert_int_equal(device_room(), 63 - 16);
			w.rx_told += 7; /* it goes by the generation */
		}
	}
	assert_int_equal(rx(256), 70 - 16);
	for (unsigned i = 0; i < 3; i++)
		pkt_free(&w.pool, &hand.pkt[--hand.n]);
	assert_int_equal(rx(256), 0);
	assert_int_equal(device_room(), 3);
	assert_accounted();
}

/* --- transmit --- */

#define L4 (14 + 20)

/* A frame of TCP, or UDP, over IPv4 or 6, of `len` bytes with a partial checksum, as the stack makes it; the last in
 * hand. */
static struct pkt *take_l4(unsigned len, bool six, bool tcp)
{
	struct pkt *p = &hand.pkt[hand.n++];
	const unsigned l4 = six ? 54 : L4, sum = tcp ? 16 : 6;
	assert_true(pkt_alloc(&w.pool, p));
	random_fill(p->data, len);
	be16_store(p->data + 12, six ? 0x86dd : 0x0800);
	p->data[14] = six ? 0x60 : 0x45;
	p->data[six ? 20 : 23] = tcp ? 6 : 17;
	p->len = (uint16_t)len;
	p->flags = PKT_CSUM_PARTIAL;
	*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){.csum_start = (uint16_t)l4, .csum_offset = (uint16_t)sum};
	be16_store(p->data + l4 + sum, (uint16_t)(0x1234 + len - l4)); /* pseudo header, with the length */
	return p;
}

static void tx_checksums(void **s)
{
	(void)s;
	for (unsigned kind = 0; kind < 4; kind++) {
		unsigned len;
		start(64, 200, BUF_STRIDE_STANDARD);
		const bool six = kind & 1, tcp = kind & 2;
		take_l4(200, six, tcp);
		uint8_t want[200];
		memcpy(want, hand.pkt[0].data, sizeof want);
		assert_int_equal(tx(), 1);
		struct sent f = device_gather(all, &len);
		assert_int_equal(f.how & 0xc00, 2 << 10);
		assert_int_equal(f.how & 0x3ff, six ? 54 : 34);
		assert_int_equal(f.len_word >> 18, (six ? 54 : 34) + (tcp ? 16 : 6));
		assert_int_equal(len, sizeof want);
		assert_memory_equal(all, want, len);
		device_report();
		tx();
	}
}

/* What the device cannot complete is complete when it is sent. */
static void tx_checksum_in_software(void **s)
{
	(void)s;
	unsigned len;
	start(64, 200, BUF_STRIDE_STANDARD);
	struct pkt *p = take_l4(200, false, true);
	p->data[23] = 99; /* neither TCP nor UDP */
	struct pkt copy = *p;
	uint8_t before[200];
	memcpy(before, p->data, sizeof before);
	assert_int_equal(tx(), 1);
	struct sent f = device_gather(all, &len);
	assert_int_equal(f.how & 0xfff, 0);
	memcpy(copy.data, before, sizeof before);
	pkt_csum_complete(&w.pool, &copy);
	assert_memory_equal(all, copy.data, len);
	device_report();
	tx();
}

static void tx_tags(void **s)
{
	(void)s;
	unsigned len;
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < 200; i++) {
		take_frames(1, i);
		hand.pkt[0].flags = PKT_VLAN;
		pkt_meta(&w.pool, hand.pkt[0].buf)->vlan_tci = (uint16_t)(i * 0x123);
		assert_int_equal(tx(), 1);
		struct sent f = device_gather(all, &len);
		assert_int_equal(f.how & ~0x3000u, 1u << 15 | (uint32_t)(uint16_t)(i * 0x123) << 16);
		assert_frame(all, len, i);
		device_report();
	}
}

/* Adds a fragment of `n` random bytes to the last packet in hand. */
static void add_frag(unsigned n)
{
	struct pkt *p = &hand.pkt[hand.n - 1], body;
	struct pkt_meta *m = pkt_meta(&w.pool, p->buf);
	assert_true(pkt_alloc(&w.pool, &body));
	random_fill(body.data, n);
	pkt_meta(&w.pool, body.buf)->refs = 1;
	pkt_frags(&w.pool, p->buf)[m->frags++] = (struct pkt_frag){body.buf, BUF_DATA_OFFSET, (uint16_t)n};
	m->frag_bytes = (uint16_t)(m->frag_bytes + n);
	p->flags |= PKT_CHAIN;
}

/* Segmentation, in any number of pieces; those beyond what the device takes are gathered. The pseudo-header sum omits
 * the length. */
static void tx_segmentation(void **s)
{
	(void)s;
	seed_random("tx_segmentation");
	static uint8_t want[65536 + 64];
	for (unsigned kind = 0; kind < 2 * (PKT_FRAGS_MAX + 1); kind++) {
		const bool six = kind & 1;
		const unsigned frags = kind / 2, l4 = six ? 54 : 34;
		unsigned len;
		start(64, 200, BUF_STRIDE_STANDARD);
		struct pkt *p = take_l4(frags ? l4 + 20 : 1500, six, true);
		for (unsigned i = 0; i < frags; i++)
			add_frag(1448);
		p->flags |= PKT_TSO;
		struct pkt_meta *m = pkt_meta(&w.pool, p->buf);
		m->mss = 1448;
		m->hdr_bytes = (uint16_t)(l4 + 20);
		be16_store(p->data + l4 + 16, (uint16_t)(0x1234 + pkt_bytes(&w.pool, p) - l4));
		const unsigned total = flat(&w.pool, p, want);
		be16_store(want + l4 + 16, 0x1234);
		if (!six)
			be16_store(want + 24, 0);
		const uint32_t free = w.pool.free;
		assert_int_equal(tx(), 1);
		struct sent f = device_gather(all, &len);
		assert_int_equal(f.how & 0xfff, 3 << 10 | (l4 + 20));
		assert_int_equal(f.len_word >> 18, 1448);
		assert_int_equal(len, total);
		/* sums without carry: 0x1234 + length fits 16 bits */
		assert_memory_equal(all, want, len);
		assert_int_equal(f.pieces, frags < 24 ? 1 + frags : (total + ROOM - 1) / ROOM);
		assert_accounted();
		device_report();
		tx();
		assert_int_equal(w.pool.free, free + 1 + frags);
	}
}

/* Without buffers to gather into the frame waits; nothing of it has changed. */
static void tx_gather_waits_for_buffers(void **s)
{
	(void)s;
	unsigned len;
	start_kind(64, 70, 8, 0);
	take_frags(1, PKT_FRAGS_MAX);
	const unsigned before = hand.n;
	take_frames(w.pool.free, 2);
	assert_int_equal(tx(), 0);
	assert_int_equal(w.cnt.tx_full, 1);
	while (hand.n > before)
		pkt_free(&w.pool, &hand.pkt[--hand.n]);
	assert_int_equal(tx(), 1);
	device_gather(all, &len);
	assert_frame(all, len, 1);
	device_report();
	tx();
	assert_accounted();
}

/* More data than 24 buffers hold, in more than 24 pieces: counted, dropped, and the ring goes on. */
static void tx_too_long_to_gather(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	struct pkt *p = take_l4(54, false, true);
	for (unsigned i = 0; i < PKT_FRAGS_MAX; i++)
		add_frag(2000);
	p->flags |= PKT_TSO;
	pkt_meta(&w.pool, p->buf)->mss = 1448;
	pkt_meta(&w.pool, p->buf)->hdr_bytes = 54;
	assert_int_equal(tx(), 1);
	assert_int_equal(w.cnt.tx_bad_desc, 1);
	assert_int_equal(device_waiting(), 0);
	assert_accounted();
	take_frames(1, 5);
	assert_int_equal(tx(), 1);
	device_send(5);
	device_report();
	tx();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rx_checksums, teardown),
		cmocka_unit_test_teardown(rx_tags, teardown),
		cmocka_unit_test_teardown(rx_long_frames, teardown),
		cmocka_unit_test_teardown(rx_passed_over, teardown),
		cmocka_unit_test_teardown(rx_untold, teardown),
		cmocka_unit_test_teardown(tx_checksums, teardown),
		cmocka_unit_test_teardown(tx_checksum_in_software, teardown),
		cmocka_unit_test_teardown(tx_tags, teardown),
		cmocka_unit_test_teardown(tx_segmentation, teardown),
		cmocka_unit_test_teardown(tx_gather_waits_for_buffers, teardown),
		cmocka_unit_test_teardown(tx_too_long_to_gather, teardown),
	};
	int failed = cmocka_run_group_tests(tests, guest_map, NULL);
	return failed + run_ring_tests();
}
