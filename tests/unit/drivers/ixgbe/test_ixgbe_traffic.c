/*
 * The ixgbe driver and a well-behaved 82599 model in one process: frames in both directions, RSS,
 * offloads, and the counters for them.
 */
#include "tests/unit/rig/ixgbe_port.h"
#include "tests/unit/rig/packets.h"

/* Registers from the datasheet, for the trace. */
enum { RDT = 0x1018, TDT = 0x6018, RXNFGPC = 0x41b0 };

/* --- frames in both directions --- */

static void receives(void **s)
{
	(void)s;
	uint32_t seq = 0, got = 0;
	uint64_t bytes = 0;
	up(1, ALL, STANDARD);
	while (got < 10000) { /* many times around the ring of 1024 */
		unsigned n = 1 + seq % 97;
		for (unsigned i = 0; i < n; i++) {
			unsigned len = make_udp(seq + i, (seq + i) * 7 % 1400 + 18);
			assert_true(rig_receive(frame, len));
		}
		assert_int_equal(rx_all(0), n);
		for (unsigned i = 0; i < n; i++) {
			const struct pkt *p = &port.pair[0].hands[i];
			unsigned len = make_udp(seq + i, (seq + i) * 7 % 1400 + 18);
			assert_int_equal(p->len, len);
			assert_memory_equal(p->data, frame, len);
			assert_int_equal(p->interface, 5);
			assert_int_equal(p->flags, PKT_CSUM_OK);
			assert_int_equal((uintptr_t)p->data % 64, 0);
			bytes += len;
		}
		seq += n;
		got += n;
		assert_buffers();
		let_go(0);
	}
	assert_int_equal(port.pair[0].cnt.rx_pkts, got);
	assert_int_equal(port.pair[0].cnt.rx_bytes, bytes);
}

static void filters(void **s)
{
	(void)s;
	static const struct {
		uint8_t to[6];
		bool passes;
	} row[] = {
		{{0x02, 0x00, 0x5e, 0x00, 0x53, 0x01}, true},
		{{255, 255, 255, 255, 255, 255}, true},
		{{0x02, 0x00, 0x5e, 0x00, 0x53, 0x02}, false},
		{{0x01, 0x00, 0x5e, 0, 0, 1}, true}, /* all groups: data cores filter them */
		{{0x33, 0x33, 0, 0, 0, 1}, true},
	};
	up(1, ALL, STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		unsigned len = make_udp(1, 60);
		memcpy(frame, row[i].to, 6);
		rig_force(frame, len, 0);
		assert_int_equal(rx_all(0), row[i].passes);
		let_go(0);
	}
}

static void filtered_frames_are_counted(void **s)
{
	(void)s;
	struct nic_stats stats = {.rx_filtered = 10};
	up(1, ALL, STANDARD);
	const struct reg_row *r = rig.m->ops->regs;
	while (r->name && r->offset != RXNFGPC)
		r++;
	if (!r->name) {
		teardown(s); /* the model does not count what passes the MAC */
		skip();
	}
	for (unsigned round = 1; round <= 3; round++) {
		for (unsigned i = 0; i < 20; i++) {
			unsigned len = make_udp(1, 60);
			frame[5] = (uint8_t)(i % 4); /* one in four is ours */
			rig_force(frame, len, 0);
		}
		assert_int_equal(rx_all(0), 5);
		let_go(0);
		ixgbe_ops.stats(&port.nic, &stats);
		assert_int_equal(stats.rx_filtered, 10 + 15 * round);
	}
}

static void sends(void **s)
{
	(void)s;
	uint32_t seq = 0;
	up(1, ALL, STANDARD);
	while (seq < 10000) {
		unsigned n = 1 + seq % 200;
		for (unsigned i = 0; i < n; i++) {
			unsigned len = make_udp(seq + i, (seq + i) * 11 % 1400 + 18);
			take(0, frame, len);
		}
		assert_int_equal(tx(0), n);
		rig_run(100000);
		for (unsigned i = 0; i < n; i++)
			assert_sent(make_udp(seq + i, (seq + i) * 11 % 1400 + 18));
		seq += n;
		assert_int_equal(tx(0), 0); /* reclaims what was sent */
		assert_int_equal(port.pair[0].pool.free, port.pair[0].pool.count - 1023);
	}
	assert_int_equal(port.pair[0].cnt.tx_pkts, seq);
	assert_int_equal(port.pair[0].cnt.tx_full, 0);
	assert_int_equal(port.pair[0].cnt.tx_bad_desc, 0);
}

/* Frames in slots leave as they were put, in batches of any size, after packets sent the normal
 * way. */
static void sends_by_slots(void **s)
{
	struct nic_queue *q = &port.pair[0].q;
	struct nic_slot slot[97];
	unsigned next = 0;
	up(1, ALL, STANDARD);
	if (!ixgbe_ops.slots_open) {
		teardown(s); /* not available with completion by DD */
		skip();
	}
	take(0, frame, make_udp(0, 100));
	assert_int_equal(tx(0), 1);
	assert_int_equal(ixgbe_ops.slots_open(q), 0);
	rig_run(100000);
	assert_sent(make_udp(0, 100));
	unsigned n = ixgbe_ops.slots_open(q), all = ixgbe_ops.slots_free(q);
	assert_int_equal(n, 1024);
	assert_int_equal(all, 1023);
	for (unsigned i = 0; i < ARRAY_LEN(slot); i++) {
		struct pkt *p = take(0, frame, make_udp(i, 18 + i * 13 % 1400));
		slot[i] = (struct nic_slot){p->data, p->len};
	}
	for (unsigned i = 0; i < n; i++)
		ixgbe_ops.slots_put(q, i, &slot[i % ARRAY_LEN(slot)], 1);
	for (unsigned round = 0; round < 60; round++) {
		unsigned burst = 1 + round * 37 % 300;
		slots_send(0, burst, burst);
		rig_run(100000);
		for (unsigned i = 0; i < burst; i++, next++) {
			unsigned k = next % n % ARRAY_LEN(slot);
			assert_sent(make_udp(k, 18 + k * 13 % 1400));
		}
		assert_int_equal(ixgbe_ops.slots_free(q), all);
	}
	assert_int_equal(port.pair[0].cnt.tx_pkts, 1 + next);
	let_go(0);
}

/* Makes a PTP event message, with its own EtherType or over UDP, in `frame`; returns its length. */
static unsigned make_ptp(uint16_t number, bool udp)
{
	unsigned len = udp ? make_l4(17, 0xc0000202, 0xc6336402, 319, 319, 44, 0) : 60;
	uint8_t *p = frame + (udp ? 42 : 14);
	if (!udp)
		ether(0x88f7);
	memset(p, 0, 44);
	p[1] = 2;
	p[30] = (uint8_t)(number >> 8);
	p[31] = (uint8_t)number;
	return len;
}

/* The device's clock runs, and the marked slot and received PTP messages have their times: each
 * once, and no other frame has any. */
static void takes_times(void **s)
{
	(void)s;
	struct nic_queue *q = &port.pair[0].q;
	struct nic_stamps got;
	struct rig_frame out;
	up(1, ALL, STANDARD);
	if (port.nic.no_clock) { /* X550 */
		assert_int_equal(ixgbe_ops.time_start(&port.nic), E_NOTSUP);
		return;
	}
	rig.tick_ns = 0;
	assert_int_equal(ixgbe_ops.time_start(&port.nic), E_OK);
	uint64_t zero = rig.now;
	for (uint64_t ns = 1; ns < 100000000000; ns *= 7) {
		rig.now = zero + ns;
		assert_in_range(ixgbe_ops.time_now(&port.nic), ns < 7 ? 0 : ns - 7, ns);
	}
	for (unsigned i = 0; i < 10; i++) {
		rig_run(1000000);
		assert_true(rig_receive(frame, i % 3 ? make_ptp((uint16_t)(0x1234 + i), i % 3 == 1)
		                                     : make_udp(i, 100)));
		ixgbe_ops.time_stamps(&port.nic, &got);
		assert_false(got.sent);
		assert_int_equal(got.received, i % 3 != 0);
		if (got.received) {
			assert_int_equal(got.number, 0x1234 + i);
			assert_in_range(rig.now - zero - got.received_ns, 0, 7);
		}
	}
	if (ixgbe_ops.slots_open) {
		unsigned n = ixgbe_ops.slots_open(q);
		struct pkt *p = take(0, frame, make_ptp(1, true));
		const struct nic_slot slot = {p->data, p->len};
		for (unsigned i = 0; i < n; i++)
			ixgbe_ops.slots_put(q, i, &slot, 1);
		ixgbe_ops.slot_stamp(q, 5);
		for (unsigned i = 0; i < n + 8; i++) {
			rig_run(1000);
			slots_send(0, 1, p->len);
			rig_run(0);
			if (i == n) /* a slot with another frame loses its mark */
				ixgbe_ops.slots_put(q, 5, &slot, 1);
			assert_true(rig_sent(&out));
			ixgbe_ops.time_stamps(&port.nic, &got);
			assert_int_equal(got.sent, i == 5);
			if (got.sent)
				assert_in_range(out.at - zero - got.sent_ns, 0, 7);
			ixgbe_ops.slots_free(q);
		}
		let_go(0);
	}
	rig_carrier(false);
	rig_run(100000000);
	assert_int_equal(ixgbe_ops.time_start(&port.nic), E_AGAIN);
}

/* Frames of a limited pair leave at the rate that the driver reports; those of the other pair do
 * not wait. */
static void limits_rates(void **s)
{
	(void)s;
	static const uint32_t kbps[] = {9999999, 7500000, 1000000, 123457, 10000};
	up(2, ALL, STANDARD);
	for (unsigned r = 0; r < ARRAY_LEN(kbps); r++) {
		struct rig_frame out;
		uint32_t set, len = make_udp(0, 400);
		uint64_t first = 0, last = 0;
		assert_int_equal(ixgbe_ops.rate(&port.nic, 0, kbps[r], &set), E_OK);
		assert_in_range(set, kbps[r] - kbps[r] / 10000, kbps[r]);
		for (unsigned i = 0; i < 101; i++)
			take(0, frame, len);
		take(1, frame, 60);
		assert_int_equal(tx(0), 101);
		assert_int_equal(tx(1), 1);
		rig_work();
		rig_run(100000000);
		for (unsigned i = 0; i < 102; i++) {
			assert_true(rig_sent(&out));
			if (out.bytes != 60) {
				first = first ? first : out.at;
				last = out.at;
			} else {
				assert_in_range(out.at - first, 0, 2000);
			}
		}
		/* The first few at once: what an idle queue may catch up. */
		uint64_t took = 100ull * (len + 4) * 8 * 1000000 / set;
		assert_in_range(last - first, took - 3300, took + 1);
		tx(0);
	}
	uint32_t set;
	assert_int_equal(ixgbe_ops.rate(&port.nic, 0, 10000000, &set), E_INVAL);
	assert_int_equal(ixgbe_ops.rate(&port.nic, 0, 9000, &set), E_INVAL);
	assert_int_equal(ixgbe_ops.rate(&port.nic, 0, 0, &set), E_OK);
	assert_int_equal(set, 10000000);
	rig_carrier(false);
	rig_run(100000000);
	assert_int_equal(ixgbe_ops.rate(&port.nic, 0, 1000000, &set), E_AGAIN);
}

/* Short frames leave with 60 bytes (HLREG0.TXPADEN). */
static void short_frames_are_padded(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned len = 14; len < 60; len++) {
		struct rig_frame f;
		memset(frame, 0, 60);
		ether(0x1234);
		memset(frame + 14, 0xaa, len - 14);
		take(0, frame, len);
		assert_int_equal(tx(0), 1);
		rig_run(100000);
		assert_true(rig_sent(&f));
		assert_int_equal(f.bytes, 60);
		assert_memory_equal(f.data, frame, len);
		tx(0);
	}
}

/* ARCHITECTURE.md, invariant 4, on the trace of a forwarded burst. */
static void forwarding_writes_two_tails_a_burst(void **s)
{
	(void)s;
	up(2, ALL, STANDARD);
	for (unsigned turn = 0; turn < 50; turn++) {
		unsigned n = 0;
		for (unsigned i = 0; i < 64; i++) {
			unsigned len = make_udp(turn * 64 + i, 18);
			n += rig_receive(frame, len);
		}
		assert_int_equal(n, 64);
		rig_run(200000);
		for (unsigned i = 0; i < 2; i++) {
			unsigned from = port.traced;
			uint64_t writes = port.pair[i].cnt.mmio_writes;
			rx(i, PKT_VECTOR_MAX);
			tx(i);
			assert_int_equal(find_access(from, READS, 0, UINT32_MAX), -1);
			int rdt = find_access(from, WRITES, RDT + 0x40 * i, 4);
			int tdt = find_access(from, WRITES, TDT + 0x40 * i, 4);
			assert_int_equal(port.traced - from, (rdt >= 0) + (tdt >= 0));
			assert_int_equal(port.pair[i].cnt.mmio_writes - writes, port.traced - from);
			assert_int_equal(port.pair[i].nhands, 0);
		}
		rig_run(200000);
		assert_int_equal(rig_sent_count(), 64);
		struct rig_frame f;
		while (rig_sent(&f))
			;
	}
}

/* The device makes no progress: bursts are refused, nothing is lost, and in the end everything is
 * sent. */
static void full_ring(void **s)
{
	(void)s;
	unsigned len = make_udp(1, 1000), sent = 0;
	up(1, ALL, STANDARD);
	rig_fault("head-stuck");
	for (unsigned i = 0; i < 1200; i++) {
		take(0, frame, len);
		if (i % 100 == 99)
			sent += tx(0);
	}
	assert_int_equal(sent, 1023);
	assert_true(port.pair[0].cnt.tx_full > 0);
	assert_buffers();
	rig_fault_clear("head-stuck");
	rig_run(100000000);
	while (port.pair[0].nhands) {
		assert_true(tx(0) > 0);
		rig_run(100000000);
	}
	for (unsigned i = 0; i < 100; i++)
		rig_run(10000000);
	assert_int_equal(rig_sent_count(), 1200);
	tx(0);
	assert_int_equal(port.pair[0].pool.free, port.pair[0].pool.count - 1023);
}

/* One pair has no buffers left: the device drops and counts its frames, but not the other's. When
 * some buffers come back it receives again. */
static void empty_pool(void **s)
{
	(void)s;
	struct nic_stats stats = {0};
	unsigned len = make_udp(1, 18), held = 0, q;
	up(2, ALL, STANDARD);
	rig_receive(frame, len);
	q = rx_all(0) ? 0 : 1;
	struct port_pair *p = &port.pair[q];
	rx_all(q);
	for (unsigned i = 0; i < p->pool.count + 500; i++) {
		rig_force(frame, len, 0);
		if (i % 64 == 63)
			rx(q, PKT_VECTOR_MAX);
	}
	rx_all(q);
	held = p->nhands;
	assert_int_equal(held, p->pool.count);
	assert_true(p->cnt.rx_no_buffer > 0);
	ixgbe_ops.stats(&port.nic, &stats);
	assert_int_equal(stats.rx_no_desc + stats.rx_missed, 501);
	if (rig.mode == RIG_STRICT) /* at line rate QPRDC is in a page that reads do not clear */
		assert_int_equal(stats.rx_missed, 0);
	ixgbe_ops.stats(&port.nic, &stats);
	assert_int_equal(stats.rx_no_desc + stats.rx_missed, 501);
	assert_buffers();
	for (unsigned i = 0; i < 100; i++) {
		len = make_udp(i, 18);
		rig_force(frame, len, 0);
	}
	assert_in_range(rx_all(!q), 20, 80);
	let_go(q);
	assert_int_equal(rx_all(q), 0);
	len = make_udp(1, 18);
	rig_receive(frame, len);
	assert_int_equal(rx_all(q), 1);
}

/* --- RSS --- */

/* The vectors of Microsoft's "Verifying the RSS Hash Calculation", for IPv4 with and without
 * TCP. */
static void rss_is_toeplitz(void **s)
{
	(void)s;
	static const struct {
		uint32_t src, dst, tcp, ip;
		uint16_t sport, dport;
	} row[] = {
		{0x420995bb, 0xa18e6450, 0x51ccc178, 0x323e8fc2, 2794, 1766},
		{0xc75c6f02, 0x41458c53, 0xc626b0ea, 0xd718262a, 14230, 4739},
		{0x1813c65f, 0x0c16cfb8, 0x5c2b394a, 0xd2d0a5de, 12898, 38024},
		{0x261bcd1e, 0xd18ea306, 0xafc7327f, 0x82989176, 48228, 2217},
		{0x9927a3bf, 0xcabc7f02, 0x10e828a2, 0x5d1809c5, 44251, 1303},
	};
	up(16, ALL, STANDARD);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		for (unsigned k = 0; k < 3; k++) {
			static const uint8_t protos[] = {6, 17, 47};
			uint32_t hash = k == 2 ? row[i].ip : row[i].tcp, want = hash % 128 % 16;
			unsigned len = make_l4(k == 0 ? 6 : 17, row[i].src, row[i].dst,
			                       row[i].sport, row[i].dport, 30, 1);
			frame[23] = protos[k];
			slow_ip_csum(frame + 14);
			rig_receive(frame, len);
			rig_run(100000);
			for (unsigned q = 0; q < 16; q++)
				if (rx(q, 256) != (q == want))
					fail_msg("vector %u, protocol %u is not in pair %u", i,
					         protos[k], want);
			let_go(want);
		}
	}
}

static void rss_spreads_flows(void **s)
{
	(void)s;
	for (unsigned pairs = 2; pairs <= 16; pairs += 7) {
		unsigned total = 0;
		if (pairs > 2)
			rig_stop(NULL);
		up(pairs, ALL, STANDARD);
		for (unsigned i = 0; i < 800; i++) {
			unsigned len = make_l4(i % 2 ? 6 : 17, 0x0a000000 + i * 77, 0x0b000000 + i,
			                       80, (uint16_t)(i * 13), 30, i);
			rig_receive(frame, len);
		}
		for (unsigned q = 0; q < pairs; q++) {
			unsigned n = rx_all(q);
			assert_in_range(n, 800 / pairs / 2, 800 / pairs * 2);
			total += n;
			let_go(q);
		}
		assert_int_equal(total, 800);
	}
}

/* --- offloads --- */

static void receive_checksums(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned proto = 6; proto <= 17; proto += 11) {
		unsigned check = 14 + 20 + (proto == 6 ? 16 : 6);
		for (unsigned bad = 0; bad < 3; bad++) {
			unsigned len = make_l4((uint8_t)proto, 1, 2, 3, 4, 333, 5);
			if (bad == 1)
				frame[check] ^= 0x40;
			if (bad == 2)
				frame[24] ^= 0x40; /* IP header */
			rig_receive(frame, len);
			assert_int_equal(rx_all(0), 1);
			assert_int_equal(port.pair[0].hands[0].flags, bad ? 0 : PKT_CSUM_OK);
			let_go(0);
		}
	}
	ether(0x0806); /* not IP */
	rig_receive(frame, 60);
	assert_int_equal(rx_all(0), 1);
	assert_int_equal(port.pair[0].hands[0].flags, 0);
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* 16-bit sum of the IPv4 pseudo header, without the length if that is 0. */
static uint16_t pseudo_sum(uint8_t proto, unsigned l4)
{
	uint8_t h[12];
	memcpy(h, frame + 26, 8);
	h[8] = 0;
	h[9] = proto;
	put16(h + 10, l4);
	return (uint16_t)~slow_csum(h, 12);
}

static void transmit_checksums(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned i = 0; i < 200; i++) {
		memset(frame, 0, sizeof frame);
		uint8_t proto = i % 3 ? 6 : 17;
		unsigned n = i * 7 + 1, check = proto == 6 ? 16 : 6;
		unsigned len = make_l4(proto, 0xc0000200 + i, 0xc6336400, (uint16_t)i, 80, n, i);
		struct pkt *p = take(0, frame, len);
		put16(p->data + 34 + check, pseudo_sum(proto, len - 34));
		p->flags = PKT_CSUM_PARTIAL;
		*pkt_meta(&port.pair[0].pool, p->buf) =
			(struct pkt_meta){.csum_start = 34, .csum_offset = (uint16_t)check};
		assert_int_equal(tx(0), 1);
		rig_run(100000);
		assert_sent(len < 60 ? 60 : len); /* make_l4 has put the right checksum */
	}
}

static void segmentation(void **s)
{
	(void)s;
	const unsigned mss = 1000, n = 4321, total = 54 + n;
	static uint8_t whole[FRAME_BYTES_MAX];
	up(1, ALL, BUF_STRIDE_JUMBO);
	for (unsigned round = 0; round < 3; round++) {
		make_l4(6, 0xc0000201, 0xc6336401, 1, 2, n, 0xfffff000);
		frame[14 + 20 + 13] = 0x19; /* ACK, PSH, FIN */
		memcpy(whole, frame, total);
		struct pkt *p = take(0, frame, total);
		put16(p->data + 50, pseudo_sum(6, total - 34));
		p->flags = PKT_CSUM_PARTIAL | PKT_TSO;
		*pkt_meta(&port.pair[0].pool, p->buf) = (struct pkt_meta){
			.csum_start = 34, .csum_offset = 16, .mss = mss, .hdr_bytes = 54};
		assert_int_equal(tx(0), 1);
		rig_run(1000000);
		for (unsigned at = 0; at < n; at += mss) {
			struct rig_frame f;
			unsigned part = n - at < mss ? n - at : mss;
			assert_true(rig_sent(&f));
			assert_int_equal(f.bytes, 54 + part);
			assert_memory_equal(f.data, whole, 14);
			assert_int_equal(get16(f.data + 16), 40 + part);         /* IP length */
			assert_int_equal(get16(f.data + 18), 0xbeef + at / mss); /* IP id */
			assert_int_equal(slow_csum(f.data + 14, 20), 0);
			assert_int_equal((uint32_t)get16(f.data + 38) << 16 | get16(f.data + 40),
			                 0xfffff000 + at); /* sequence */
			/* FIN and PSH at the end */
			assert_int_equal(f.data[47], at + mss < n ? 0x10 : 0x19);
			assert_memory_equal(f.data + 54, whole + 54 + at, part);
			uint8_t all[12 + 20 + 1000];
			memcpy(all, f.data + 26, 8);
			put16(all + 8, 6);
			put16(all + 10, 20 + part);
			memcpy(all + 12, f.data + 34, 20 + part);
			assert_int_equal(slow_csum(all, 12 + 20 + part), 0);
		}
		assert_int_equal(rig_sent_count(), 0);
		tx(0);
	}
	assert_int_equal(port.pair[0].cnt.tx_pkts, 3);
}

/* Takes the bytes of `frame` in hand as a chain: `first` bytes in the first piece, the rest divided
 * into `frags` pieces, in buffers that the test holds as well, as TCP does. */
static struct pkt *take_pieces(unsigned len, unsigned first, unsigned frags, uint32_t *kept)
{
	struct bufpool *pool = &port.pair[0].pool;
	struct pkt *p = take(0, frame, first), body;
	unsigned at = first;
	p->flags = PKT_CHAIN;
	*pkt_meta(pool, p->buf) =
		(struct pkt_meta){.frag_bytes = (uint16_t)(len - first), .frags = (uint8_t)frags};
	for (unsigned i = 0; i < frags; i++) {
		unsigned n = i + 1 < frags ? (len - first) / frags - i % 2 : len - at;
		assert_true(pkt_alloc(pool, &body));
		pkt_meta(pool, body.buf)->refs = 2;
		kept[i] = body.buf;
		memcpy(body.data + i % 3, frame + at, n);
		pkt_frags(pool, p->buf)[i] = (struct pkt_frag){
			body.buf, (uint16_t)(BUF_DATA_OFFSET + i % 3), (uint16_t)n};
		at += n;
	}
	return p;
}

static void let_go_of_pieces(const uint32_t *kept, unsigned frags)
{
	while (frags)
		buf_put(&port.pair[0].pool, kept[--frags]);
	assert_int_equal(port.pair[0].pool.free, port.pair[0].pool.count - 1023);
}

/* Frames in 2 to 33 pieces, with and without a checksum to be completed: each is one frame on the
 * wire. */
static void chains(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	for (unsigned i = 0; i < 3 * PKT_FRAGS_MAX; i++) {
		uint32_t kept[PKT_FRAGS_MAX];
		unsigned frags = 1 + i / 3, len = make_udp(i, 1400 - i);
		struct pkt *p = take_pieces(len, 42 + i % 7, frags, kept);
		if (i % 3) {
			put16(p->data + 40, pseudo_sum(17, len - 34));
			p->flags |= PKT_CSUM_PARTIAL;
			struct pkt_meta *m = pkt_meta(&port.pair[0].pool, p->buf);
			m->csum_start = 34;
			m->csum_offset = 6;
		}
		assert_int_equal(tx(0), 1);
		rig_run(1000000);
		assert_sent(len);
		assert_int_equal(rig_sent_count(), 0);
		tx(0);
		let_go_of_pieces(kept, frags);
	}
}

/* From 2 to 33 pieces: each datagram or segment has the right length, numbers and checksums. */
static void segmentation_of_chains(void **s)
{
	(void)s;
	static uint8_t whole[FRAME_BYTES_MAX];
	up(1, ALL, STANDARD);
	for (unsigned round = 0; round < 2 * PKT_FRAGS_MAX; round++) {
		bool udp = round % 2;
		unsigned frags = 1 + round / 2, mss = 300 + round, hdr = udp ? 42 : 54;
		unsigned n = frags < 5 ? 1900 * frags : 9100, len = hdr + n;
		uint32_t kept[PKT_FRAGS_MAX];
		make_l4(udp ? 17 : 6, 0xc0000201, 0xc6336401, 1, 2, n, 0xfffff000);
		memcpy(whole, frame, len);
		struct pkt *p = take_pieces(len, hdr, frags, kept);
		put16(p->data + (udp ? 40 : 50), pseudo_sum(udp ? 17 : 6, len - 34));
		p->flags |= PKT_CSUM_PARTIAL | (udp ? PKT_USO : PKT_TSO);
		struct pkt_meta *m = pkt_meta(&port.pair[0].pool, p->buf);
		m->csum_start = 34;
		m->csum_offset = udp ? 6 : 16;
		m->mss = (uint16_t)mss;
		m->hdr_bytes = (uint16_t)hdr;
		assert_int_equal(tx(0), 1);
		rig_run(1000000);
		for (unsigned at = 0; at < n; at += mss) {
			struct rig_frame f;
			unsigned part = n - at < mss ? n - at : mss, l4 = hdr - 34 + part;
			assert_true(rig_sent(&f));
			assert_int_equal(f.bytes, hdr + part < 60 ? 60 : hdr + part);
			assert_int_equal(get16(f.data + 16), 20 + l4);
			assert_int_equal(slow_csum(f.data + 14, 20), 0);
			if (udp)
				assert_int_equal(get16(f.data + 38), l4);
			else
				assert_int_equal((uint32_t)get16(f.data + 38) << 16 | get16(f.data + 40),
				                 0xfffff000 + at);
			assert_memory_equal(f.data + hdr, whole + hdr + at, part);
			uint8_t all[12 + 20 + 400];
			memcpy(all, f.data + 26, 8);
			put16(all + 8, udp ? 17 : 6);
			put16(all + 10, l4);
			memcpy(all + 12, f.data + 34, l4);
			assert_int_equal(slow_csum(all, 12 + l4), 0);
		}
		assert_int_equal(rig_sent_count(), 0);
		tx(0);
		let_go_of_pieces(kept, frags);
	}
	assert_int_equal(port.pair[0].cnt.tx_pkts, 2 * PKT_FRAGS_MAX);
}

static void vlan_tags(void **s)
{
	(void)s;
	up(1, ALL | NIC_VLAN, STANDARD);
	/* Received: the tag is stripped. */
	unsigned len = make_udp(1, 100);
	static uint8_t tagged[2000];
	memcpy(tagged, frame, 12);
	put16(tagged + 12, 0x8100);
	put16(tagged + 14, 0x6123);
	memcpy(tagged + 16, frame + 12, len - 12);
	rig_receive(tagged, len + 4);
	rig_receive(frame, len);
	assert_int_equal(rx_all(0), 2);
	const struct pkt *p = &port.pair[0].hands[0];
	assert_int_equal(p->flags & PKT_VLAN, PKT_VLAN);
	assert_int_equal(pkt_meta(&port.pair[0].pool, p->buf)->vlan_tci, 0x6123);
	assert_int_equal(p->len, len);
	assert_memory_equal(p->data, frame, len);
	assert_int_equal(p[1].flags & PKT_VLAN, 0);
	/* Sent: it is inserted. */
	assert_int_equal(tx(0), 2);
	rig_run(100000);
	struct rig_frame f;
	assert_true(rig_sent(&f));
	assert_int_equal(f.bytes, len + 4);
	assert_memory_equal(f.data, tagged, len + 4);
	assert_sent(len);
}

/* Without NIC_VLAN tags stay in the frame. */
static void vlan_tags_stay(void **s)
{
	(void)s;
	up(1, ALL, STANDARD);
	unsigned len = make_udp(1, 100);
	memmove(frame + 16, frame + 12, len - 12);
	put16(frame + 12, 0x8100);
	put16(frame + 14, 0x6123);
	rig_receive(frame, len + 4);
	assert_int_equal(rx_all(0), 1);
	assert_int_equal(port.pair[0].hands[0].flags & PKT_VLAN, 0);
	assert_int_equal(port.pair[0].hands[0].len, len + 4);
	assert_memory_equal(port.pair[0].hands[0].data, frame, len + 4);
	assert_int_equal(tx(0), 1);
	rig_run(100000);
	assert_sent(len + 4);
}

/* Frames up to the end of a buffer, beyond one descriptor's buffer, and beyond the maximum. */
static void large_frames(void **s)
{
	(void)s;
	static const uint32_t strides[] = {BUF_STRIDE_STANDARD, BUF_STRIDE_JUMBO};
	for (unsigned k = 0; k < 2; k++) {
		unsigned share = strides[k] - 128, most = strides[k] - BUF_DATA_OFFSET;
		const unsigned lens[] = {1514,  1515,      1518,     share - 1,
		                         share, share + 1, most - 1, most};
		if (k)
			rig_stop(NULL);
		up(1, ALL, strides[k]);
		for (unsigned i = 0; i < ARRAY_LEN(lens); i++) {
			unsigned len = make_udp(i, lens[i] - 42);
			rig_receive(frame, len);
			assert_int_equal(rx_all(0), 1);
			assert_int_equal(port.pair[0].hands[0].len, len);
			assert_memory_equal(port.pair[0].hands[0].data, frame, len);
			assert_int_equal(tx(0), 1);
			rig_run(100000);
			assert_sent(len);
		}
		/* One byte too many: the device refuses it (MAXFRS). */
		struct nic_stats stats = {0};
		unsigned len = make_udp(1, most + 1 - 42);
		rig_force(frame, len, 0);
		assert_int_equal(rx_all(0), 0);
		ixgbe_ops.stats(&port.nic, &stats);
		assert_true(stats.rx_length > 0);
		assert_int_equal(port.pair[0].cnt.rx_oversize, 0);
		/* And the next one is received. */
		len = make_udp(2, 100);
		rig_receive(frame, len);
		assert_int_equal(rx_all(0), 1);
		let_go(0);
	}
}

static void damaged_frames_are_counted(void **s)
{
	(void)s;
	struct nic_stats stats = {.rx_crc = 100};
	up(1, ALL, STANDARD);
	unsigned len = make_udp(1, 100);
	for (unsigned i = 0; i < 7; i++)
		rig_force(frame, len, FRAME_BAD_FCS);
	assert_int_equal(rx_all(0), 0);
	ixgbe_ops.stats(&port.nic, &stats);
	assert_int_equal(stats.rx_crc, 107);
	ixgbe_ops.stats(&port.nic, &stats); /* counted once */
	assert_int_equal(stats.rx_crc, 107);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(receives, teardown),
		cmocka_unit_test_teardown(filters, teardown),
		cmocka_unit_test_teardown(filtered_frames_are_counted, teardown),
		cmocka_unit_test_teardown(sends, teardown),
		cmocka_unit_test_teardown(sends_by_slots, teardown),
		cmocka_unit_test_teardown(takes_times, teardown),
		cmocka_unit_test_teardown(limits_rates, teardown),
		cmocka_unit_test_teardown(short_frames_are_padded, teardown),
		cmocka_unit_test_teardown(forwarding_writes_two_tails_a_burst, teardown),
		cmocka_unit_test_teardown(full_ring, teardown),
		cmocka_unit_test_teardown(empty_pool, teardown),
		cmocka_unit_test_teardown(rss_is_toeplitz, teardown),
		cmocka_unit_test_teardown(rss_spreads_flows, teardown),
		cmocka_unit_test_teardown(receive_checksums, teardown),
		cmocka_unit_test_teardown(transmit_checksums, teardown),
		cmocka_unit_test_teardown(segmentation, teardown),
		cmocka_unit_test_teardown(chains, teardown),
		cmocka_unit_test_teardown(segmentation_of_chains, teardown),
		cmocka_unit_test_teardown(vlan_tags, teardown),
		cmocka_unit_test_teardown(vlan_tags_stay, teardown),
		cmocka_unit_test_teardown(large_frames, teardown),
		cmocka_unit_test_teardown(damaged_frames_are_counted, teardown),
	};
	int failed = cmocka_run_group_tests_name("strict", tests, strict, NULL);
	return failed + cmocka_run_group_tests_name("line rate", tests, line_rate, NULL);
}
