/*
 * drivers/intel/ring.c and ring_tx.c with a device that complies with the datasheet: what is
 * specific to Intel's cards. ring_tests.c tests what nic_ops requires, test_intel_hostile.c has a hostile
 * device.
 */
#include "tests/unit/rig/intel_rig.h"
#include "tests/unit/rig/packets.h"

/* Status and error bits of 7.1.6.2 */
enum { EOP = 2, VP = 8, L4I = 0x20, IPCS = 0x40 };

/* 8.2.3.8.1, 8.2.3.8.3: alignment; parts do not overlap. */
static void layout(void **s)
{
	(void)s;
	for (unsigned size = 8; size <= INTEL_RING_SIZE; size *= 2) {
		struct intel_layout l = intel_layout(size);
		assert_int_equal((l.rx_desc | l.tx_desc | l.written_head | l.bytes) % 128, 0);
		assert_true(l.rx_desc + 16 * size <= l.tx_desc);
		assert_true(l.tx_desc + 16 * size <= l.written_head);
		assert_true(l.written_head + 64 <= l.rx_owner); /* a cache line of its own */
		assert_true(l.rx_owner + 4 * size <= l.tx_owner);
		assert_true(l.tx_owner + 4 * size <= l.bytes);
		start(size, BUFS_MAX, BUF_STRIDE_STANDARD);
		assert_int_equal(device_room(), size - 1);
		assert_int_equal(w.rx_writes, 1);
		assert_accounted();
	}
}

/* Invariant 2: one write for `bulk` descriptors or more; the device never runs dry meanwhile. */
static void tail_is_written_in_bulk(void **s)
{
	(void)s;
	start(256, 1000, BUF_STRIDE_STANDARD);
	for (unsigned burst = 1; burst <= 200; burst++) {
		unsigned writes = w.rx_writes, n = 0;
		while (n < 3200) {
			assert_true(device_room() >= 255 - 32);
			for (unsigned i = 0; i < burst; i++)
				device_receive(n + i);
			assert_int_equal(rx(256), burst);
			let_go();
			n += burst;
		}
		assert_in_range(w.rx_writes - writes, 0, n / (burst < 32 ? 32 : burst) + 1);
	}
	/* Buffers that come back one by one are announced in bulk as well. */
	start(256, 100, BUF_STRIDE_STANDARD);
	unsigned before = w.rx_writes;
	for (unsigned i = 0; i < 640; i++) {
		device_receive(i);
		assert_int_equal(rx(256), 1);
		let_go();
	}
	assert_in_range(w.rx_writes - before, 1, 640 / 32);
	/* Idle turns write nothing, except for buffers that came back in the last busy one. */
	rx(256);
	unsigned writes = w.rx_writes;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(rx(256), 0);
	assert_int_equal(w.rx_writes, writes);
}

/* 7.1.11: the packet flags that follow from status and error bits of each card. */
static void rx_checksum_flags(void **s)
{
	(void)s;
	const struct {
		bool asked;
		uint32_t status;
		bool error4, error3;
		uint8_t flags;
	} row[] = {
		{true, 0, false, false, 0},
		{true, L4I, false, false, PKT_CSUM_OK},
		{true, L4I | IPCS, false, false, PKT_CSUM_OK},
		{true, IPCS, false, false, 0},
		{true, L4I | IPCS, true, false, 0},
		{true, L4I | IPCS, false, true, 0},
		{true, L4I | IPCS, true, true, 0},
		{true, 0, true, false, 0},
		{false, L4I | IPCS, false, false, 0},
		{false, 0, false, false, 0},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row) * RIG_CARDS; i++) {
		const unsigned n = i / RIG_CARDS;
		rig_card(i % RIG_CARDS);
		start(8, 40, BUF_STRIDE_STANDARD);
		w.rx.csum_mask = row[n].asked ? INTEL_RXD_L4I | card->checksum4 | card->checksum3 : 0;
		make_frame(device_buffer(), i);
		device_write_back(EOP | row[n].status | (row[n].error4 ? card->checksum4 : 0) |
		                          (row[n].error3 ? card->checksum3 : 0),
		                  frame_len(i), 0);
		assert_int_equal(rx(8), 1);
		assert_int_equal(hand.pkt[0].flags, row[n].flags);
		assert_frame(hand.pkt[0].data, hand.pkt[0].len, i);
	}
}

static void rx_vlan(void **s)
{
	(void)s;
	start(16, 40, BUF_STRIDE_STANDARD);
	for (unsigned asked = 0; asked < 2; asked++) {
		w.rx.vlan_mask = asked ? INTEL_RXD_VP : 0;
		make_frame(device_buffer(), 1);
		device_write_back(EOP | VP, frame_len(1), 0xa123);
		device_receive(2);
		assert_int_equal(rx(8), 2);
		assert_int_equal(hand.pkt[0].flags, asked ? PKT_VLAN : 0);
		if (asked)
			assert_int_equal(pkt_meta(&w.pool, hand.pkt[0].buf)->vlan_tci, 0xa123);
		assert_int_equal(hand.pkt[1].flags, 0);
		let_go();
	}
}

/* A frame of `len` bytes over several descriptors; byte i is (seq + i). */
static void receive_spread(unsigned len, uint32_t seq, uint32_t last_status)
{
	unsigned room = w.pool.stride - RX_AT;
	for (unsigned at = 0; at < len; at += room) {
		unsigned n = len - at < room ? len - at : room;
		uint8_t *to = device_buffer();
		for (unsigned i = 0; i < n; i++)
			to[i] = (uint8_t)(seq + at + i);
		bool last = at + n == len;
		device_write_back(last ? EOP | last_status : 0, n, last ? 0x123 : 0);
	}
}

/* Frames somewhat longer than a descriptor's buffer are gathered, longer ones dropped whole,
 * wherever a burst ends, and with small frames around them. */
static void rx_frames_over_several_descriptors(void **s)
{
	(void)s;
	static const uint32_t strides[] = {BUF_STRIDE_STANDARD, BUF_STRIDE_JUMBO};
	for (unsigned k = 0; k < 2; k++) {
		unsigned share = strides[k] - RX_AT, most = strides[k] - BUF_DATA_OFFSET;
		const unsigned lens[] = {share,    share + 1, most - 1, most,
		                         most + 1, 2 * share, 5 * share};
		start(16, 60, strides[k]);
		w.rx.csum_mask = INTEL_RXD_L4I | card->checksum4 | card->checksum3;
		w.rx.vlan_mask = INTEL_RXD_VP;
		for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
			for (unsigned max = 1; max <= 8; max++) {
				bool passes = lens[i] <= most;
				uint64_t oversize = w.cnt.rx_oversize;
				device_receive(1);
				receive_spread(lens[i], max, L4I | VP);
				device_receive(2);
				for (unsigned t = 0; t < 16; t++) {
					rx(max);
					assert_accounted();
				}
				assert_int_equal(hand.n, passes ? 3 : 2);
				assert_int_equal(w.cnt.rx_oversize - oversize, !passes);
				const struct pkt *p = &hand.pkt[1], *last = &hand.pkt[hand.n - 1];
				assert_frame(hand.pkt[0].data, hand.pkt[0].len, 1);
				assert_int_equal(hand.pkt[0].flags, 0);
				assert_frame(last->data, last->len, 2);
				if (passes) {
					unsigned tci = pkt_meta(&w.pool, p->buf)->vlan_tci;
					assert_int_equal(p->len, lens[i]);
					assert_int_equal(p->flags, PKT_CSUM_OK | PKT_VLAN);
					assert_int_equal(tci, 0x123);
				}
				for (unsigned b = 0; passes && b < lens[i]; b++)
					assert_int_equal(p->data[b], (uint8_t)(max + b));
				let_go();
			}
		}
		assert_int_equal(w.cnt.rx_bad_len + w.cnt.rx_bad_desc, 0);
	}
}

/* The ring is released in the middle of a frame: what has been gathered of it returns, too. */
static void rx_released_within_a_frame(void **s)
{
	(void)s;
	start(16, 40, BUF_STRIDE_STANDARD);
	device_buffer();
	device_write_back(0, w.pool.stride - RX_AT, 0);
	assert_int_equal(rx(8), 0);
	assert_non_null(w.rx.part.data);
	release();
	assert_int_equal(w.pool.free, 40);
	start(16, 40, BUF_STRIDE_STANDARD);
}

/* --- transmit --- */

/* A long burst is reported in between, every INTEL_TX_REPORT descriptors. */
static void tx_reports_within_a_burst(void **s)
{
	(void)s;
	start(256, 600, BUF_STRIDE_STANDARD);
	take_frames(200, 0);
	assert_int_equal(tx(), 200);
	for (unsigned i = 0; i < 200; i++) {
		unsigned on_the_way = (i + 1) / INTEL_TX_REPORT * INTEL_TX_REPORT;
		device_send(i);
		assert_int_equal(w.reported, i == 199 ? 200 : on_the_way);
	}
	store(bus_of(w.written_head), 4, 96); /* the report of frame 95 */
	assert_int_equal(tx(), 0);
	assert_int_equal(w.tx.tail, 96);
	device_report();
}

/* --- chains, shared buffers --- */

/* 1 to 33 pieces; the bytes of all are counted. */
static void tx_chains(void **s)
{
	(void)s;
	uint64_t bytes = 0;
	seed_random("tx_chains");
	start(64, 300, BUF_STRIDE_STANDARD);
	for (unsigned frags = 1; frags <= PKT_FRAGS_MAX; frags++) {
		static uint8_t all[BUF_STRIDE_STANDARD];
		unsigned n;
		take_frags(frags, frags);
		assert_int_equal(tx(), 1);
		struct sent d = device_gather(all, &n);
		assert_int_equal(d.pieces, 1 + frags);
		assert_int_equal(d.olinfo, n << 14);
		assert_frame(all, n, frags);
		bytes += n;
		device_report();
		assert_int_equal(tx(), 0);
		assert_int_equal(w.pool.free, 300 - 63);
	}
	assert_int_equal(w.cnt.tx_bytes, bytes);
	assert_int_equal(w.contexts, 0);
}

/* A chain for whose pieces or context there is no room stays unchanged. */
static void tx_chain_waits_for_room(void **s)
{
	(void)s;
	seed_random("tx_chain_waits_for_room");
	for (unsigned room = 30; room < 36; room++) {
		bool fits = room >= 34;
		uint8_t before[BUF_STRIDE_STANDARD], now[BUF_STRIDE_STANDARD];
		start(64, 300, BUF_STRIDE_STANDARD);
		take_frames(63 - room, 0);
		do {
			if (hand.n > 63 - room)
				pkt_free(&w.pool, &hand.pkt[--hand.n]);
			take_frags(1000, PKT_FRAGS_MAX);
		} while (hand.pkt[63 - room].len < 54);
		struct pkt *p = &hand.pkt[63 - room];
		make_ip(p->data + 14, 1, 2, 6, NULL, 0, frame_len(1000) - 34);
		put16(p->data + 12, 0x0800);
		p->flags |= PKT_CSUM_PARTIAL | PKT_TSO;
		pkt_meta(&w.pool, p->buf)->csum_start = 34;
		pkt_meta(&w.pool, p->buf)->csum_offset = 16;
		pkt_meta(&w.pool, p->buf)->mss = 100;
		pkt_meta(&w.pool, p->buf)->hdr_bytes = 54;
		struct pkt copy = *p;
		unsigned n = flat(&w.pool, &copy, before);
		assert_int_equal(tx(), 63 - room + fits);
		assert_int_equal(hand.n, !fits);
		assert_int_equal(w.cnt.tx_full, !fits);
		if (!fits) {
			assert_int_equal(flat(&w.pool, &hand.pkt[0], now), n);
			assert_memory_equal(now, before, n);
		}
	}
}

/* --- transmit offloads --- */

static struct pkt *in_hand(unsigned len)
{
	struct pkt *p = &hand.pkt[hand.n++];
	assert_true(pkt_alloc(&w.pool, p));
	p->len = (uint16_t)len;
	memset(p->data, 0x5a, len);
	return p;
}

/* An Ethernet frame with `tags` VLAN tags, IPv4 with nopt bytes of options, `l4` bytes of protocol
 * `proto`, whose checksum field is at `offset` and holds `pseudo`. */
static struct pkt *in_hand4(unsigned tags, unsigned nopt, uint8_t proto, unsigned l4,
                            unsigned offset, uint16_t pseudo)
{
	static const uint8_t opt[40] = {1, 1, 1, 1};
	unsigned l3 = 14 + 4 * tags, start_at = l3 + 20 + nopt;
	struct pkt *p = in_hand(start_at + l4);
	for (unsigned i = 0; i < tags; i++)
		put16(p->data + 12 + 4 * i, i + 1 < tags ? 0x88a8 : 0x8100);
	put16(p->data + l3 - 2, 0x0800);
	make_ip(p->data + l3, 0xc0000201, 0xc6336401, proto, opt, nopt, l4);
	put16(p->data + start_at + offset, pseudo);
	p->flags = PKT_CSUM_PARTIAL;
	*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){.csum_start = (uint16_t)start_at,
	                                             .csum_offset = (uint16_t)offset};
	return p;
}

static void tx_checksum_offload(void **s)
{
	(void)s;
	static const struct {
		unsigned tags, nopt;
		uint8_t proto;
		unsigned offset;
		bool here;         /* offloaded to the device */
		uint32_t tucmd;    /* without DTYP and DEXT */
	} row[] = {
		{0, 0, 6, 16, true, 0x400 | 0x800},
		{0, 0, 17, 6, true, 0x400},
		{0, 40, 6, 16, true, 0x400 | 0x800},
		{1, 0, 17, 6, true, 0x400},
		{2, 4, 6, 16, true, 0x400 | 0x800},
		{0, 0, 33, 6, false, 0},  /* DCCP has its checksum at UDP's offset */
		{0, 0, 17, 16, false, 0}, /* at another offset */
		{0, 0, 1, 2, false, 0},   /* ICMP */
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		start(16, 60, BUF_STRIDE_STANDARD);
		struct pkt p = *in_hand4(row[i].tags, row[i].nopt, row[i].proto, 100,
		                         row[i].offset, 0x1234);
		unsigned l3 = 14 + 4 * row[i].tags, ip = 20 + row[i].nopt;
		assert_int_equal(tx(), 1);
		struct sent d = device_take();
		assert_int_equal(d.cmd & 0xf000ffff, 0x20000000 | p.len);
		assert_int_equal(d.olinfo, (uint32_t)p.len << 14 | (row[i].here ? 0x200 : 0));
		assert_int_equal(w.contexts, row[i].here);
		const uint8_t *l4 = p.data + l3 + ip;
		if (row[i].here) {
			assert_int_equal(w.context[0], ip | l3 << 9);
			assert_int_equal(w.context[1], 0);
			assert_int_equal(w.context[2], 0x20200000 | row[i].tucmd);
			assert_int_equal(w.context[3], 0);
			assert_int_equal(l4[row[i].offset] << 8 | l4[row[i].offset + 1], 0x1234);
		} else {
			/* With the pseudo header: 0. */
			assert_int_equal(slow_csum(l4, 100), 0x1234);
		}
		device_report();
		tx();
	}
}

/* IPv6 without extension headers; with one, software computes the checksum. */
static void tx_checksum_offload_ip6(void **s)
{
	(void)s;
	for (unsigned ext = 0; ext <= 8; ext += 8) {
		start(16, 60, BUF_STRIDE_STANDARD);
		struct pkt *p = in_hand(14 + 40 + ext + 60);
		put16(p->data + 12, 0x86dd);
		p->data[14] = 0x60;
		p->data[14 + 6] = ext ? 60 : 6;
		p->flags = PKT_CSUM_PARTIAL;
		*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){.csum_start = (uint16_t)(54 + ext),
		                                             .csum_offset = 16};
		assert_int_equal(tx(), 1);
		struct sent d = device_take();
		assert_int_equal(d.olinfo >> 8 & 0x3f, ext ? 0 : 2);
		if (!ext) {
			assert_int_equal(w.context[0], 40 | 14 << 9);
			assert_int_equal(w.context[2], 0x20200800);
		}
	}
}

/* A context is given once, and again only when it differs. */
static void tx_context_is_cached(void **s)
{
	(void)s;
	start(64, 200, BUF_STRIDE_STANDARD);
	for (unsigned i = 0; i < 20; i++)
		in_hand4(0, 0, 6, 100 + i, 16, 0x1111);
	assert_int_equal(tx(), 20);
	for (unsigned i = 0; i < 20; i++)
		device_take();
	assert_int_equal(w.contexts, 1);
	device_report();
	take_frames(1, 7); /* plain frames need no context and change none */
	in_hand4(0, 0, 6, 100, 16, 0x1111);
	in_hand4(0, 0, 17, 100, 6, 0x1111);
	in_hand4(0, 0, 6, 100, 16, 0x1111);
	assert_int_equal(tx(), 4);
	device_send(7);
	for (unsigned i = 0; i < 3; i++)
		device_take();
	assert_int_equal(w.contexts, 3);
	device_report();
	assert_int_equal(tx(), 0);
	assert_int_equal(w.pool.free, 200 - 63);
}

/* Room for one descriptor but not for its context: the frame stays with the caller, unchanged. */
static void tx_no_room_for_the_context(void **s)
{
	(void)s;
	start(8, 60, BUF_STRIDE_STANDARD);
	take_frames(6, 0);
	struct pkt *p = in_hand4(0, 0, 6, 100, 16, 0x1111);
	p->flags |= PKT_TSO;
	pkt_meta(&w.pool, p->buf)->mss = 50;
	pkt_meta(&w.pool, p->buf)->hdr_bytes = 54;
	uint8_t before[154];
	memcpy(before, p->data, sizeof before);
	assert_int_equal(tx(), 6);
	assert_int_equal(hand.n, 1);
	assert_memory_equal(hand.pkt[0].data, before, sizeof before);
	for (unsigned i = 0; i < 6; i++)
		device_send(i);
	assert_int_equal(tx(), 0); /* not yet reported: still one */
	device_report();
	assert_int_equal(tx(), 1);
	device_take();
	assert_int_equal(w.contexts, 1);
}

static void tx_vlan(void **s)
{
	(void)s;
	start(16, 60, BUF_STRIDE_STANDARD);
	take_frames(1, 5);
	hand.pkt[0].flags = PKT_VLAN;
	pkt_meta(&w.pool, hand.pkt[0].buf)->vlan_tci = 0xe00a;
	in_hand4(0, 0, 17, 100, 6, 0x1111)->flags |= PKT_VLAN;
	pkt_meta(&w.pool, hand.pkt[1].buf)->vlan_tci = 0x0001;
	unsigned len = hand.pkt[1].len;
	assert_int_equal(tx(), 2);
	struct sent d = device_take();
	assert_int_equal(d.cmd >> 30, 1); /* VLE */
	assert_int_equal(d.olinfo, frame_len(5) << 14);
	assert_int_equal(w.context[0], 0xe00a0000 | 14 << 9);
	assert_frame(bus(d.addr, frame_len(5)), frame_len(5), 5);
	d = device_take();
	assert_int_equal(d.cmd >> 30, 1);
	assert_int_equal(d.olinfo, len << 14 | 0x200);
	assert_int_equal(w.context[0], 0x00010000 | 14 << 9 | 20);
}

/* 7.2.4: the requirements of segmentation for descriptors and headers. */
static void tx_segmentation(void **s)
{
	(void)s;
	for (unsigned six = 0; six < 2; six++) {
		start(16, 60, BUF_STRIDE_JUMBO);
		unsigned ip = six ? 40 : 20, l4 = 32 + 5000, check = 14 + ip + 16;
		struct pkt p;
		/* Pseudo-header sum: 0x4000 without the length, and with it: */
		uint16_t pseudo = (uint16_t)(0x4000 + l4);
		if (six) {
			p = *in_hand(14 + ip + l4);
			put16(p.data + 12, 0x86dd);
			p.data[14] = 0x60;
			put16(p.data + 18, l4);
			p.data[20] = 6;
			put16(p.data + check, pseudo);
		} else {
			p = *in_hand4(0, 0, 6, l4, 16, pseudo);
		}
		hand.pkt[0].flags = PKT_CSUM_PARTIAL | PKT_TSO;
		*pkt_meta(&w.pool, p.buf) = (struct pkt_meta){.csum_start = (uint16_t)(14 + ip),
		                                            .csum_offset = 16,
		                                            .mss = 1448,
		                                            .hdr_bytes = (uint16_t)(14 + ip + 32)};
		assert_int_equal(tx(), 1);
		struct sent d = device_take();
		assert_int_equal(d.cmd >> 28, 0xa); /* TSE, DEXT */
		assert_int_equal(d.cmd & 0xffff, p.len);
		assert_int_equal(d.olinfo, 5000u << 14 | (six ? 0x200 : 0x300));
		assert_int_equal(w.context[0], 14 << 9 | ip);
		assert_int_equal(w.context[2], 0x20200800 | (six ? 0 : 0x400));
		assert_int_equal(w.context[3], 1448u << 16 | 32 << 8);
		assert_int_equal(p.data[check] << 8 | p.data[check + 1], 0x4000);
		unsigned length_at = six ? 18 : 16;
		assert_int_equal(p.data[length_at] | p.data[length_at + 1], 0);
		if (!six)
			assert_int_equal(p.data[24] | p.data[25], 0); /* header checksum */
	}
}

/* The same for a chain, and for UDP: PAYLEN and the pseudo header's length are those of all pieces;
 * only the first descriptor has them. */
static void tx_segmentation_of_a_chain(void **s)
{
	(void)s;
	static uint8_t all[BUF_STRIDE_STANDARD];
	seed_random("tx_segmentation_of_a_chain");
	for (unsigned i = 0; i < 2 * PKT_FRAGS_MAX; i++) {
		bool udp = i % 2;
		unsigned hdr = udp ? 42 : 54, check = 34 + (udp ? 6 : 16), n;
		start(64, 300, BUF_STRIDE_STANDARD);
		do {
			let_go();
			take_frags(290, 1 + i / 2);
		} while (hand.pkt[0].len < hdr);
		struct pkt p = hand.pkt[0];
		unsigned bytes = frame_len(290);
		put16(p.data + 12, 0x0800);
		make_ip(p.data + 14, 1, 2, udp ? 17 : 6, NULL, 0, bytes - 34);
		put16(p.data + check, 0x4000 + bytes - 34);
		struct pkt_meta *m = pkt_meta(&w.pool, p.buf);
		m->csum_start = 34;
		m->csum_offset = (uint16_t)(check - 34);
		m->mss = 700;
		m->hdr_bytes = (uint16_t)hdr;
		hand.pkt[0].flags |= PKT_CSUM_PARTIAL | (udp ? PKT_USO : PKT_TSO);
		assert_int_equal(tx(), 1);
		struct sent d = device_gather(all, &n);
		assert_int_equal(n, bytes);
		assert_int_equal(d.pieces, 2 + i / 2);
		assert_int_equal(d.cmd >> 28, 0xa); /* TSE, DEXT */
		assert_int_equal(d.olinfo, (bytes - hdr) << 14 | 0x300);
		assert_int_equal(w.context[0], 14 << 9 | 20);
		assert_int_equal(w.context[2], 0x20200400 | (udp ? 0 : 0x800));
		assert_int_equal(w.context[3], 700u << 16 | (hdr - 34) << 8);
		assert_int_equal(all[check] << 8 | all[check + 1], 0x4000);
		assert_int_equal(all[16] | all[17] | all[24] | all[25], 0); /* length, checksum */
		device_report();
		assert_int_equal(tx(), 0);
		assert_int_equal(w.pool.free, 300 - 63);
	}
}

/* Segments of another size, or with longer headers, need another context, even if all else is
 * equal. */
static void tx_context_of_another_size(void **s)
{
	static const struct {
		uint16_t mss, tcp;
	} row[] = {{1448, 20}, {1448, 20}, {536, 20}, {536, 32}, {1448, 20}};
	(void)s;
	start(32, 60, BUF_STRIDE_JUMBO);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		struct pkt *p = in_hand4(0, 0, 6, row[i].tcp + 5000u, 16, 0x4000);
		p->flags = PKT_CSUM_PARTIAL | PKT_TSO;
		*pkt_meta(&w.pool, p->buf) = (struct pkt_meta){.csum_start = 34,
		                                             .csum_offset = 16,
		                                             .mss = row[i].mss,
		                                             .hdr_bytes = 34 + row[i].tcp};
		assert_int_equal(tx(), 1);
		device_take();
		assert_int_equal(w.context[3], (uint32_t)row[i].mss << 16 | (uint32_t)row[i].tcp << 8);
	}
	assert_int_equal(w.contexts, 4);
}

static void tx_short_frames_are_padded(void **s)
{
	(void)s;
	start(32, 60, BUF_STRIDE_STANDARD);
	for (unsigned len = 14; len < 20; len++) {
		in_hand(40)->len = (uint16_t)len;
		assert_int_equal(tx(), 1);
		struct sent d = device_take();
		unsigned want = len < 17 ? 17 : len;
		assert_int_equal(d.cmd & 0xffff, want);
		assert_int_equal(d.olinfo, want << 14);
		for (unsigned i = 0; i < want; i++)
			assert_int_equal(*bus(d.addr + i, 1), i < len ? 0x5a : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(layout, teardown),
		cmocka_unit_test_teardown(tail_is_written_in_bulk, teardown),
		cmocka_unit_test_teardown(rx_checksum_flags, teardown),
		cmocka_unit_test_teardown(rx_vlan, teardown),
		cmocka_unit_test_teardown(rx_frames_over_several_descriptors, teardown),
		cmocka_unit_test_teardown(rx_released_within_a_frame, teardown),
		cmocka_unit_test_teardown(tx_reports_within_a_burst, teardown),
		cmocka_unit_test_teardown(tx_chains, teardown),
		cmocka_unit_test_teardown(tx_chain_waits_for_room, teardown),
		cmocka_unit_test_teardown(tx_checksum_offload, teardown),
		cmocka_unit_test_teardown(tx_checksum_offload_ip6, teardown),
		cmocka_unit_test_teardown(tx_context_is_cached, teardown),
		cmocka_unit_test_teardown(tx_no_room_for_the_context, teardown),
		cmocka_unit_test_teardown(tx_context_of_another_size, teardown),
		cmocka_unit_test_teardown(tx_vlan, teardown),
		cmocka_unit_test_teardown(tx_segmentation, teardown),
		cmocka_unit_test_teardown(tx_segmentation_of_a_chain, teardown),
		cmocka_unit_test_teardown(tx_short_frames_are_padded, teardown),
	};
	int failed = cmocka_run_group_tests_name("ixgbe_ring", tests, guest_map, NULL);
	return failed + run_ring_tests();
}
