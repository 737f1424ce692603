/*
 * The transmit half of the 82599 model: rings, completion, offloads, segmentation, loopback,
 * faults.
 */
#include "tests/unit/rig/drive_82599.h"

static uint32_t be16_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static struct rig_frame sent(void)
{
	struct rig_frame out;
	assert_true(rig_sent(&out));
	return out;
}

static void expect_sent(const uint8_t *data, uint32_t bytes)
{
	struct rig_frame out = sent();
	assert_int_equal(out.bytes, bytes);
	assert_memory_equal(out.data, data, bytes);
}

/* --- rings, both modes --- */

static void in_order(void **s)
{
	(void)s;
	uint32_t seq = 0, got = 0;
	for (unsigned n = 1; n < RING; n = n * 2 + 1) {
		unsigned first = tx_ring[0].next;
		for (unsigned i = 0; i < n; i++, seq++)
			drive_data(0, f, numbered(seq, 60 + i), CMD_FRAME, PAYLEN(60 + i));
		drive_tail(0);
		for (unsigned i = 0; i < n; i++) {
			expect_sent(f, numbered(got++, 60 + i));
			assert_int_equal(drive_tx_status(0, (first + i) % RING) >> 32 & 1, 1);
		}
		assert_int_equal(rig_sent_count(), 0);
		assert_int_equal(rig_read(TDH), seq % RING);
	}
}

/* Plain frames and others at once, some with RS, one perhaps with a bad address: all before that one
 * are sent, and those of them with RS are completed. */
static void rows(void **s)
{
	(void)s;
	static struct {
		uint8_t data[400];
		uint32_t bytes;
		unsigned index;
		bool rs;
	} d[RING];
	const bool pieces = random_below(2);
	for (unsigned round = 0; round < 200; round++) {
		const unsigned n = 1 + random_below(RING - 1);
		const unsigned bad = round % 10 == 9 ? random_below(n) : n;
		rig.piece = pieces ? 4096 : 0;
		for (unsigned i = 0; i < n; i++) {
			d[i].bytes = numbered(round * RING + i, 60 + random_below(300));
			f[0] |= random_below(8) == 0;
			memcpy(d[i].data, f, d[i].bytes);
			d[i].rs = random_below(3) == 0;
			d[i].index = drive_data(0, f, d[i].bytes, CMD_FRAME & ~(d[i].rs ? 0 : (uint32_t)TXD_RS),
			                        PAYLEN(d[i].bytes));
		}
		uint64_t *ring = rig_mem(tx_ring[0].bus, RING * 16);
		if (bad < n)
			ring[2 * d[bad].index] = RIG_MEMORY - 30;
		drive_tail(0);
		for (unsigned i = 0; i < n; i++) {
			if (i < bad)
				expect_sent(d[i].data, d[i].bytes);
			assert_int_equal(drive_tx_status(0, d[i].index) >> 32 & 1, i < bad && d[i].rs);
		}
		assert_int_equal(rig_sent_count(), 0);
		if (bad == n)
			continue;
		rig_expect_violation("transmit buffer");
		rig_write(TXDCTL, 0);
		drive_tx(0);
	}
}

static void many_queues(void **s)
{
	(void)s;
	for (unsigned q = 1; q < 128; q += 9)
		drive_tx(q);
	for (unsigned q = 1; q < 128; q += 9) {
		drive_send(q, f, numbered(q, 100));
		expect_sent(f, 100);
	}
}

/* More frames at once than the model sends in a turn: it continues by itself. */
static void long_ring(void **s)
{
	(void)s;
	const unsigned size = 1024, frames = 1000;
	const uint64_t ring = rig_alloc(16 * size, 128), buffer = rig_alloc(2048, 64);
	memcpy(rig_mem(buffer, 60), f, numbered(0, 60));
	uint64_t *d = rig_mem(ring, 16 * size);
	for (unsigned i = 0; i < frames; i++) {
		d[2 * i] = buffer;
		d[2 * i + 1] = 60 | (uint64_t)CMD_FRAME | (uint64_t)PAYLEN(60) << 32;
	}
	rig_write(TDBAL + 64, (uint32_t)ring);
	rig_write(TDLEN + 64, 16 * size);
	rig_write(TXDCTL + 64, TXDCTL_ENABLE);
	rig_run(2000);
	rig_write(TDT + 64, frames);
	rig_run(1000000);
	assert_int_equal(rig_sent_count(), frames);
	assert_int_equal(rig_read(TDH + 64), frames);
}

/* DD means that the device is done with the buffer, so it must have read it before: on the fast
 * path (a plain frame) and on the slow one (one to be padded), with write-back of descriptors and
 * of the head. */
static void read_before_done(void **s)
{
	(void)s;
	const uint64_t head = rig_alloc(64, 64);
	for (unsigned way = 0; way < 4; way++) {
		const uint32_t bytes = way & 1 ? 59 : 1000;
		rig_write(TXDCTL, 0);
		rig_write(TDWBAL, way & 2 ? (uint32_t)head | TDWBAL_HEAD_WB_EN : 0);
		drive_tx(0);
		memset(rig_mem(head, 8), 0, 8);
		numbered(way, bytes);
		const unsigned i = drive_data(0, f, bytes, CMD_FRAME, PAYLEN(bytes));
		const uint64_t word = way & 2 ? head : tx_ring[0].bus + 16 * i + 8;
		rig_watch(tx_ring[0].bufs + 16384 * i, word);
		drive_tail(0);
		const uint64_t seen = rig_watched(), now = *(uint64_t *)rig_mem(word, 8);
		assert_int_equal(way & 2 ? seen : seen >> 32 & 1, 0);
		assert_int_equal(way & 2 ? now : now >> 32 & 1, 1);
		assert_memory_equal(sent().data, f, bytes);
	}
}

/* 7.2.3.5: status only where RS is set. */
static void sparse_rs(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 8; i++)
		drive_data(0, f, numbered(i, 60), CMD_FRAME & ~(i == 7 ? 0u : (unsigned)TXD_RS), PAYLEN(60));
	drive_tail(0);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(drive_tx_status(0, i) >> 32 & 1, i == 7);
	assert_int_equal(rig_sent_count(), 8);
}

static void head_write_back(void **s)
{
	(void)s;
	uint64_t at = rig_alloc(64, 64);
	rig_write(TXDCTL, 0);
	rig_write(TDWBAL, (uint32_t)at | 1);
	rig_write(TDWBAH, (uint32_t)(at >> 32));
	drive_tx(0);
	const uint32_t *head = rig_mem(at, 64);
	for (unsigned n = 0; n < 200; n++) {
		drive_send(0, f, numbered(n, 60));
		assert_int_equal(head[0], (n + 1) % RING);
		assert_int_equal(head[1], 0);
		assert_int_equal(drive_tx_status(0, n % RING) >> 32 & 1, 0); /* descriptors stay as
		                                                                they are */
		expect_sent(f, 60);
	}
	rig_write(TXDCTL, 0);
	rig_write(TXDCTL, TXDCTL_ENABLE | 1u << 16);
	rig_run(2000);
	rig_expect_violation("WTHRESH");
}

static void gather(void **s)
{
	(void)s;
	seed_random("gather");
	for (unsigned round = 0; round < 300; round++) {
		uint32_t bytes = numbered(round, 60 + random_below(9000)), at = 0;
		unsigned pieces = 1 + random_below(20);
		for (unsigned i = 0; i < pieces; i++) {
			uint32_t left = bytes - at;
			uint32_t k = i + 1 == pieces ? left : left / (pieces - i) ? 1 + random_below(left / (pieces - i)) : 1;
			bool last = i + 1 == pieces;
			drive_data(0, f + at, k, last ? CMD_FRAME : CMD_FRAME & ~(TXD_EOP | (unsigned)TXD_RS),
			           i ? 0 : PAYLEN(bytes));
			at += k;
		}
		drive_tail(0);
		expect_sent(f, bytes);
	}
}

static void padding(void **s)
{
	(void)s;
	uint8_t want[60] = {0};
	numbered(1, 20);
	memcpy(want, f, 20);
	drive_send(0, f, 20);
	expect_sent(want, 60);
	rig_write(HLREG0, rig_read(HLREG0) & ~(uint32_t)HLREG0_TXPADEN);
	drive_send(0, f, 20);
	expect_sent(f, 20);
}

static void waits_for_eop(void **s)
{
	(void)s;
	drive_data(0, f, numbered(0, 100), CMD_FRAME & ~(unsigned)TXD_EOP, PAYLEN(200));
	drive_tail(0);
	assert_int_equal(rig_sent_count(), 0);
	assert_int_equal(rig_read(TDH), 0);
	drive_data(0, f + 100, 100, CMD_FRAME, 0);
	drive_tail(0);
	assert_int_equal(sent().bytes, 200);
	drive_data(0, f, 100, CMD_FRAME & ~(unsigned)TXD_EOP, PAYLEN(200));
	drive_tail(0);
	for (unsigned i = 0; i < 3; i++) {
		rig_run(100000000);
		rig_work();
	}
	rig_expect_violation("no EOP");
}

static void legacy(void **s)
{
	(void)s;
	uint64_t buf = rig_alloc(2048, 64);
	struct flow flow = {.version = 4, .protocol = 17, .payload = 61};
	uint32_t bytes = make_ip(f, &flow);
	memcpy(rig_mem(buf, bytes), f, bytes);
	uint8_t *csum = rig_mem(buf + 14 + 26, 2);
	uint16_t pseudo = slow_sum(f, 0, slow_pseudo(f + 14, 4, 17, 69));
	csum[0] = (uint8_t)(pseudo >> 8);
	csum[1] = (uint8_t)pseudo;
	/* CSO 40, CSS 34, IC, VLE with tag 0x0fff */
	drive_desc(0, buf, bytes | 40u << 16 | TXD_EOP | TXD_IFCS | TXD_LEGACY_IC | TXD_RS | TXD_VLE |
	                           34ull << 40 | 0x0fffull << 48);
	drive_tail(0);
	struct rig_frame out = sent();
	assert_int_equal(out.bytes, bytes + 4);
	assert_memory_equal(out.data, f, 12);
	assert_memory_equal(out.data + 12, ((uint8_t[]){0x81, 0, 0x0f, 0xff}), 4);
	assert_memory_equal(out.data + 16, f + 12, bytes - 12);
	assert_int_equal(drive_tx_status(0, 0) >> 32 & 1, 1);
}

/* --- checksums --- */

/* Clears what the device is to fill in: the IP checksum, and the L4 checksum to that of the pseudo
 * header. */
static void prepare(uint8_t *p, const struct flow *flow, uint32_t bytes, bool tso)
{
	const uint32_t l3 = flow->tagged ? 18 : 14, l4 = l3 + (flow->version == 4 ? 20 : 40);
	uint32_t at = l4 + (flow->protocol == 6 ? 16 : 6);
	uint32_t length = tso ? 0 : bytes - l4;
	uint16_t pseudo = slow_sum(p, 0, slow_pseudo(p + l3, flow->version, flow->protocol, length));
	p[at] = (uint8_t)(pseudo >> 8);
	p[at + 1] = (uint8_t)pseudo;
	if (flow->version == 4)
		p[l3 + 10] = p[l3 + 11] = 0xee;
}

static uint32_t l4_of(const struct flow *flow)
{
	return (flow->tagged ? 18 : 14) + (flow->version == 4 ? 20u : 40u);
}

static void checksums(void **s)
{
	(void)s;
	static uint8_t p[2048];
	seed_random("tx checksums");
	for (unsigned i = 0; i < 400; i++) {
		struct flow flow = {.version = i & 1 ? 4 : 6, .protocol = i & 2 ? 6 : 17,
		                    .payload = 30 + random_below(1300), .tagged = i & 4};
		bool v4 = flow.version == 4;
		random_fill(flow.src, 32);
		uint32_t bytes = make_ip(f, &flow);
		memcpy(p, f, bytes);
		prepare(p, &flow, bytes, false);
		drive_context(0, i & 1, flow.tagged ? 18 : 14, v4 ? 20 : 40, v4,
		              flow.protocol == 6 ? L4T_TCP : L4T_UDP, 0, 0, 0);
		drive_data(0, p, bytes, CMD_FRAME,
		           PAYLEN(bytes) | (i & 1) << 4 | TXD_TXSM | (v4 ? (unsigned)TXD_IXSM : 0u));
		drive_tail(0);
		expect_sent(f, bytes);
	}
}

/* A UDP checksum of 0 is sent as all ones (RFC 768). */
static void udp_zero(void **s)
{
	(void)s;
	struct flow flow = {.version = 4, .protocol = 17, .payload = 40};
	uint32_t bytes = make_ip(f, &flow);
	uint32_t sum = slow_sum(f + 34, 48, slow_pseudo(f + 14, 4, 17, 48));
	assert_int_equal(sum, 0xffff);
	/* Move the present sum into the payload: then everything but the field sums to 0xffff. */
	uint32_t word = be16_at(f + 42) + (f[40] << 8 | f[41]);
	word = (word & 0xffff) + (word >> 16);
	f[42] = (uint8_t)(word >> 8);
	f[43] = (uint8_t)word;
	prepare(f, &flow, bytes, false);
	drive_context(0, 0, 14, 20, true, L4T_UDP, 0, 0, 0);
	drive_data(0, f, bytes, CMD_FRAME, PAYLEN(bytes) | TXD_TXSM);
	drive_tail(0);
	struct rig_frame out = sent();
	assert_int_equal(out.data[40] << 8 | out.data[41], 0xffff);
}

static void sctp(void **s)
{
	(void)s;
	/* RFC 3720 B.4: the CRC32c of 32 zero bytes is aa 36 91 8a on the wire. A packet of 12
	 * bytes of header and zeros behind has the same bytes. */
	struct flow flow = {.version = 4, .protocol = 132, .payload = 32};
	uint32_t bytes = make_ip(f, &flow);
	memset(f + 34, 0, 32);
	drive_context(0, 0, 14, 20, true, L4T_SCTP, 0, 0, 0);
	drive_data(0, f, bytes, CMD_FRAME, PAYLEN(bytes) | TXD_TXSM);
	drive_tail(0);
	struct rig_frame out = sent();
	assert_memory_equal(out.data + 34 + 8, ((uint8_t[]){0xaa, 0x36, 0x91, 0x8a}), 4);
}

static void vlan_insert(void **s)
{
	(void)s;
	drive_context(0, 1, 14, 0, false, L4T_NONE, 0, 0, 0xa123);
	drive_data(0, f, numbered(3, 60), CMD_FRAME | TXD_VLE, PAYLEN(60) | 1u << 4);
	drive_tail(0);
	struct rig_frame out = sent();
	assert_int_equal(out.bytes, 64);
	assert_memory_equal(out.data, f, 12);
	assert_memory_equal(out.data + 12, ((uint8_t[]){0x81, 0, 0xa1, 0x23}), 4);
	assert_memory_equal(out.data + 16, f + 12, 48);
}

/* --- segmentation --- */

/* One request, spread over descriptors; each of its segments is checked. */
static void one_tso(const struct flow *flow, uint32_t mss, unsigned pieces)
{
	static uint8_t p[70000];
	bool v4 = flow->version == 4, tcp = flow->protocol == 6;
	uint32_t bytes = make_ip(p, flow), l4 = l4_of(flow), headers = l4 + (tcp ? 20 : 8);
	uint32_t l3 = l4 - (v4 ? 20 : 40), payload = bytes - headers;
	assert_int_equal(payload, flow->payload);
	if (tcp) {
		memcpy(p + l4 + 4, (uint8_t[]){0xff, 0xff, 0xf0, 0x00}, 4); /* wraps */
		p[l4 + 13] = 0x19; /* FIN PSH ACK */
	}
	prepare(p, flow, bytes, true);
	drive_context(0, 0, l3, l4 - l3, v4, tcp ? L4T_TCP : L4T_UDP, headers - l4, mss, 0);
	for (uint32_t at = 0, i = 0; at < bytes; i++) {
		uint32_t k = i + 1 == pieces ? bytes - at : (bytes + pieces - 1) / pieces;
		k = k < bytes - at ? k : bytes - at;
		bool last = at + k == bytes;
		drive_data(0, p + at, k, (last ? CMD_FRAME : CMD_FRAME & ~(TXD_EOP | (unsigned)TXD_RS)) | TXD_TSE,
		           i ? 0 : PAYLEN(payload) | TXD_TXSM | (v4 ? (unsigned)TXD_IXSM : 0u));
		at += k;
	}
	drive_tail(0);
	for (uint32_t from = 0, n = 0; from < payload; from += mss, n++) {
		uint32_t k = payload - from < mss ? payload - from : mss;
		struct rig_frame out = sent();
		const uint8_t *d = out.data;
		assert_int_equal(out.bytes, headers + k < 60 ? 60 : headers + k);
		assert_memory_equal(d, p, l3);
		assert_memory_equal(d + headers, p + headers + from, k);
		if (v4) {
			assert_int_equal(be16_at(d + l3 + 2), headers + k - l3);
			assert_int_equal(be16_at(d + l3 + 4), 0x1234 + n);
			assert_int_equal(slow_sum(d + l3, 20, 0), 0xffff);
		} else {
			assert_int_equal(be16_at(d + l3 + 4), headers + k - l4);
		}
		uint32_t length = headers + k - l4;
		assert_int_equal(slow_sum(d + l4, length, slow_pseudo(d + l3, flow->version, flow->protocol,
		                                                     length)), 0xffff);
		if (tcp) {
			uint32_t seq = (uint32_t)be16_at(d + l4 + 4) << 16 | be16_at(d + l4 + 6);
			assert_int_equal(seq, 0xfffff000u + from);
			assert_int_equal(d[l4 + 13], from + k == payload ? 0x19 : 0x10);
		} else {
			assert_int_equal(be16_at(d + l4 + 4), length);
		}
	}
	assert_int_equal(rig_sent_count(), 0);
}

static void segmentation(void **s)
{
	(void)s;
	seed_random("segmentation");
	for (unsigned i = 0; i < 200; i++) {
		struct flow flow = {.version = i & 1 ? 4 : 6, .protocol = i & 2 ? 6 : 17, .tagged = i & 4,
		                    .payload = 50 + random_below(i & 8 ? 15000 : 4000)};
		random_fill(flow.src, 32);
		one_tso(&flow, i == 0 ? flow.payload : 200 + random_below(8000), 1 + random_below(9));
	}
}

static void tso_rules(void **s)
{
	(void)s;
	struct flow flow = {.version = 4, .protocol = 6, .payload = 3000};
	uint32_t bytes = make_ip(f, &flow);
	prepare(f, &flow, bytes, true);
	const struct {
		uint32_t bytes, l3len, l4t, l4len, mss, payload, olinfo;
		bool ipv6;
		const char *text;
	} bad[] = {
		{bytes, 20, L4T_TCP, 20, 0, 3000, TXD_TXSM | TXD_IXSM, false, "MSS is 0"},
		{bytes, 20, L4T_TCP, 20, 1460, 3054, TXD_TXSM | TXD_IXSM, false, "PAYLEN"},
		{bytes, 20, L4T_TCP, 20, 1460, 3000, TXD_IXSM, false, "TSE without TXSM"},
		{bytes, 20, L4T_TCP, 20, 1460, 3000, TXD_TXSM, false, "without IXSM"},
		{bytes, 40, L4T_TCP, 20, 1460, 3000, TXD_TXSM | TXD_IXSM, false, "PAYLEN"},
		{bytes, 8, L4T_TCP, 20, 1460, 3000, TXD_TXSM | TXD_IXSM, false, "IPLEN too small"},
		{bytes, 20, L4T_SCTP, 20, 1460, 3000, TXD_TXSM | TXD_IXSM, false, "L4T is neither"},
		{bytes, 20, L4T_TCP, 16, 1460, 3004, TXD_TXSM | TXD_IXSM, false, "L4LEN too small"},
		{bytes, 40, L4T_TCP, 20, 1460, 2980, TXD_TXSM, true, "TUCMD.IPV4"},
		{bytes, 20, L4T_TCP, 20, 16350, 3000, TXD_TXSM | TXD_IXSM, false, "MSS longer"},
		{60, 60, L4T_TCP, 20, 1460, 0, TXD_TXSM | TXD_IXSM, false, "headers longer"},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		drive_context(0, 0, 14, bad[i].l3len, !bad[i].ipv6, bad[i].l4t, bad[i].l4len,
		              bad[i].mss, 0);
		drive_data(0, f, bad[i].bytes, CMD_FRAME | TXD_TSE,
		           PAYLEN(bad[i].payload) | bad[i].olinfo);
		drive_tail(0);
		rig_expect_violation(bad[i].text);
		assert_int_equal(rig_sent_count(), 0);
	}
	f[14 + 20 + 16] ^= 1;
	drive_context(0, 0, 14, 20, true, L4T_TCP, 20, 1460, 0);
	drive_data(0, f, bytes, CMD_FRAME | TXD_TSE, PAYLEN(3000) | TXD_TXSM | TXD_IXSM);
	drive_tail(0);
	rig_expect_violation("pseudo");
	assert_int_equal(rig_sent_count(), 3); /* sent with errors, as the device would */
}

/* --- loopback, as in ethtool -t --- */

static void loopback(void **s)
{
	(void)s;
	rig_carrier(false);
	rig_write(HLREG0, rig_read(HLREG0) | HLREG0_LPBK);
	rig_write(AUTOC, rig_read(AUTOC) | AUTOC_FLU);
	assert_true(rig_read(LINKS) & LINKS_UP);
	for (unsigned i = 0; i < 40; i++) {
		struct received r;
		drive_send(0, f, numbered(i, 1024));
		assert_true(drive_received(0, &r));
		assert_int_equal(r.bytes, 1024);
		assert_memory_equal(r.data, f, 1024);
	}
	assert_int_equal(rig_sent_count(), 0);
	rig_force(f, 60, 0); /* nothing is received meanwhile */
	struct received r;
	assert_false(drive_received(0, &r));
}

/* The frame waits: its descriptor is written back when the link is up again. */
static void link_down(void **s)
{
	(void)s;
	rig_carrier(false);
	drive_send(0, f, numbered(0, 60));
	rig_run(1000000000);
	assert_int_equal(rig_sent_count(), 0);
	assert_int_equal(drive_tx_status(0, 0) >> 32 & 1, 0);
	assert_int_equal(rig_read(GPTC), 0);
	rig_carrier(true);
	rig_run(100000000);
	assert_int_equal(rig_sent_count(), 1);
	assert_int_equal(drive_tx_status(0, 0) >> 32 & 1, 1);
	assert_int_equal(rig_read(GPTC), 1);
}

/* --- what a driver may not do --- */

static void tail_rules(void **s)
{
	(void)s;
	rig_write(TDT, RING);
	rig_expect_violation("TDT[0] = 64");
	rig_write(TDT + 64, 1);
	rig_expect_violation("TXDCTL[1].ENABLE is not set");
	rig_write(TDBAL, 0x10000);
	rig_expect_violation("TDBA[0]");
	rig_write(TDWBAL, 0x10000);
	rig_expect_violation("TDWBA[0]");
	rig_write(TXDCTL, 0);
	rig_write(TDT, 0);
	rig_write(DMATXCTL, rig_read(DMATXCTL) & ~(uint32_t)DMATXCTL_TE);
	rig_write(TXDCTL, TXDCTL_ENABLE);
	rig_run(2000);
	rig_expect_violation("DMATXCTL.TE");
}

static void passes_head(void **s)
{
	(void)s;
	rig_fault("head-stuck");
	for (unsigned i = 0; i < 40; i++)
		drive_data(0, f, numbered(0, 60), CMD_FRAME, PAYLEN(60));
	drive_tail(0);
	for (unsigned i = 0; i < 40; i++)
		drive_data(0, f, numbered(0, 60), CMD_FRAME, PAYLEN(60));
	drive_tail(0);
	rig_expect_violation("passes TDH");
	assert_int_equal(rig_read(TDH), 0);
	rig_fault_clear("head-stuck");
}

static void descriptor_rules(void **s)
{
	(void)s;
	numbered(0, 100);
	drive_data(0, f, 100, CMD_FRAME, PAYLEN(99));
	drive_tail(0);
	rig_expect_violation("PAYLEN 99");
	drive_data(0, f, 100, CMD_FRAME, PAYLEN(100) | TXD_TXSM | 1u << 4);
	drive_tail(0);
	rig_expect_violation("context 1 used and never given");
	drive_data(0, f, 100, CMD_FRAME & ~(unsigned)TXD_IFCS, PAYLEN(100));
	drive_tail(0);
	rig_expect_violation("IFCS");
	drive_data(0, f, 100, CMD_FRAME | 1u << 26, PAYLEN(100));
	drive_tail(0);
	rig_expect_violation("reserved");
	drive_data(0, f, 100, CMD_FRAME, PAYLEN(100) | TXD_STA_DD);
	drive_tail(0);
	rig_expect_violation("DD");
	drive_context(0, 0, 14, 200, true, L4T_TCP, 20, 0, 0);
	drive_data(0, f, 100, CMD_FRAME, PAYLEN(100) | TXD_TXSM);
	drive_tail(0);
	rig_expect_violation("do not fit");
}

/* These stop the queue until it is enabled again. */
static void frame_rules(void **s)
{
	(void)s;
	const uint32_t piece = CMD_FRAME & ~(TXD_EOP | (unsigned)TXD_RS);
	drive_data(0, f, 100, piece, PAYLEN(200)); /* a context within a frame */
	drive_context(0, 0, 14, 20, true, L4T_TCP, 20, 0, 0);
	drive_tail(0);
	rig_expect_violation("DTYP 2 within a frame");
	rig_write(TXDCTL, 0);
	drive_tx(0);
	for (unsigned i = 0; i < 41; i++)
		drive_data(0, f, 100, piece, PAYLEN(4200));
	drive_tail(0);
	rig_expect_violation("4100 bytes in 41 descriptors");
	assert_int_equal(rig_sent_count(), 0);
}

/* The frame is not sent, or sent unchanged; the queue goes on. */
static void offload_rules(void **s)
{
	(void)s;
	const uint32_t legacy = TXD_EOP | TXD_IFCS | TXD_RS;
	const uint64_t buffer = rig_alloc(32768, 64);
	drive_desc(0, 14 << 9, 2u << TXD_DTYP_SHIFT | TXD_DEXT | 1u << 24);
	drive_tail(0);
	rig_expect_violation("reserved bits set");
	numbered(0, 100);
	drive_context(0, 0, 14, 20, false, L4T_TCP, 20, 0, 0);
	drive_data(0, f, 100, CMD_FRAME, PAYLEN(100) | TXD_IXSM);
	drive_tail(0);
	rig_expect_violation("IXSM without TUCMD.IPV4");
	drive_context(0, 0, 14, 20, true, L4T_NONE, 20, 0, 0);
	drive_data(0, f, 100, CMD_FRAME, PAYLEN(100) | TXD_TXSM);
	drive_tail(0);
	rig_expect_violation("TXSM with L4T 3");
	assert_int_equal(rig_sent_count(), 2);
	drive_data(0, f, 16384, CMD_FRAME, PAYLEN(16384));
	drive_tail(0);
	rig_expect_violation("frame of 16384 bytes");
	drive_desc(0, buffer, legacy | 16384);
	drive_tail(0);
	rig_expect_violation("frame of 16384 bytes");
	drive_desc(0, buffer, legacy | TXD_LEGACY_IC | 100 | 99u << 16);
	drive_tail(0);
	rig_expect_violation("CSO 99 in a frame of 100");
	drive_desc(0, buffer, legacy | TXD_LEGACY_IC | 100 | 100ull << 40);
	drive_tail(0);
	rig_expect_violation("CSS 100");
	rig_write(HLREG0, rig_read(HLREG0) & ~(uint32_t)HLREG0_TXPADEN);
	drive_send(0, f, 13);
	rig_expect_violation("frame of 13 bytes");
	assert_int_equal(rig_sent_count(), 2);
	drive_send(0, f, numbered(1, 60));
	assert_int_equal(rig_sent_count(), 3);
}

static void set_up_rules(void **s)
{
	(void)s;
	uint64_t *d = rig_mem(DRIVE_BAD_RING, 16); /* a good descriptor: sent by the last of these */
	d[0] = 0x20000;
	d[1] = 60 | (uint64_t)CMD_FRAME | (uint64_t)PAYLEN(60) << 32;
	drive_bad_queue(TX_BLOCK(1), 0, 0, 0, "TDLEN[1] = 0");
	drive_bad_queue(TX_BLOCK(1), RING * 16, RING, 0, "TDH 64, TDT 0, of 64");
	drive_bad_queue(TX_BLOCK(1), RING * 16, 0, RING, "TDH 0, TDT 64, of 64");
	drive_bad_queue(TX_BLOCK(1), RING * 16, 0, 1, "before TXDCTL[1].ENABLE reads back");
}

static void dead_queue(void **s)
{
	(void)s;
	drive_desc(0, RIG_MEMORY - 10, 100 | (uint64_t)CMD_FRAME | (uint64_t)PAYLEN(100) << 32);
	drive_tail(0);
	rig_expect_violation("transmit buffer");
	drive_send(0, f, numbered(0, 60));
	assert_int_equal(rig_sent_count(), 0);
	rig_write(TXDCTL, 0);
	drive_tx(0);
	drive_data(0, f, 0, CMD_FRAME, 0);
	drive_tail(0);
	rig_expect_violation("length 0");
}

/* --- faults --- */

static void faults(void **s)
{
	(void)s;
	rig_fault_arg("writeback-delay", 200);
	drive_send(0, f, numbered(0, 60));
	expect_sent(f, 60);
	assert_int_equal(drive_tx_status(0, 0) >> 32 & 1, 0);
	rig_run(200000);
	assert_int_equal(drive_tx_status(0, 0) >> 32 & 1, 1);
	rig_fault_clear("writeback-delay");
	rig_fault_arg("writeback-lost", 2);
	for (unsigned i = 1; i < 9; i++) {
		drive_send(0, f, numbered(0, 60));
		assert_int_equal(drive_tx_status(0, i) >> 32 & 1, i % 2);
	}
	rig_fault_clear("writeback-lost");
	/* the same with head write-back */
	const uint64_t at = rig_alloc(64, 64);
	const uint32_t *head = rig_mem(at, 4);
	rig_write(TXDCTL, 0);
	rig_write(TDWBAL, (uint32_t)at | TDWBAL_HEAD_WB_EN);
	drive_tx(0);
	rig_fault_arg("writeback-delay", 200);
	drive_send(0, f, numbered(0, 60));
	assert_int_equal(*head, 0);
	rig_run(200000);
	assert_int_equal(*head, 1);
	rig_fault_clear("writeback-delay");
	rig_fault_arg("writeback-lost", 1);
	drive_send(0, f, numbered(0, 60));
	assert_int_equal(*head, 1);
	assert_int_equal(rig_read(TDH), 2);
	rig_fault_clear("writeback-lost");
	rig_fault("txdctl-stuck");
	rig_write(TXDCTL, 0);
	assert_true(rig_read(TXDCTL) & TXDCTL_ENABLE);
	rig_write(TXDCTL + 64, TXDCTL_ENABLE);
	rig_run(1000000);
	assert_false(rig_read(TXDCTL + 64) & TXDCTL_ENABLE);
}

/* --- the rate limiter --- */

#define RATE(tenths) (1u << 31 | (tenths) * 16384u / 10) /* link speed divided by the rate, in tenths */

static void limit(unsigned q, uint32_t config)
{
	rig_write(RTTBCNRM, 4);
	rig_write(RTTDQSEL, q);
	rig_write(RTTBCNRC, config);
}

/* Tells the device, which reads at once; unlike drive_tail it takes no time. */
static void tell(unsigned q)
{
	rig_write(TDT + 64 * q, tx_ring[q].next);
	rig_work();
}

/* Frames of any length leave one after the other, at distances stretched by the factor: to the
 * nanosecond, without rounding errors. */
static void limiter_spaces(void **s)
{
	(void)s;
	static const unsigned tenths[] = {10, 15, 20, 33, 100, 999};
	for (unsigned r = 0; r < ARRAY_LEN(tenths); r++) {
		struct rig_frame out;
		for (unsigned i = 0; i < 60; i++)
			drive_data(0, f, numbered(i, 60 + 20 * i), CMD_FRAME, PAYLEN(60 + 20 * i));
		rig_run(100000000); /* what an idle queue may catch up is in the next test */
		limit(0, RATE(tenths[r]));
		uint64_t from = rig.now;
		tell(0);
		uint64_t start = rig.now, bits = 0;
		rig_run(60 * 1300 * tenths[r] / 10);
		for (unsigned i = 0; i < 60; i++) {
			assert_true(rig_sent(&out));
			assert_int_equal(out.bytes, 60 + 20 * i);
			uint64_t due = from + bits * (RATE(tenths[r]) & 0xffffff) / 163840;
			assert_int_equal(out.at, due < start ? start : due);
			bits += 8 * (out.bytes + 4);
		}
		assert_int_equal(rig_sent_count(), 0);
	}
	limit(0, 0);
	drive_send(0, f, numbered(1, 60));
	expect_sent(f, 60);
}

/* A queue that was idle catches up the amount in RTTBCNRM, 4 KB of the link, and no more. */
static void limiter_window(void **s)
{
	(void)s;
	limit(0, RATE(100));
	rig_run(100000000);
	for (unsigned i = 0; i < 50; i++)
		drive_data(0, f, numbered(i, 60), CMD_FRAME, PAYLEN(60));
	tell(0);
	/* 3276 ns at 512 ns each, the first at once */
	assert_int_equal(rig_sent_count(), 7);
	rig_run(512 * 10);
	assert_int_equal(rig_sent_count(), 17);
	rig_run(1000000);
	assert_int_equal(rig_sent_count(), 50);
}

static void limiter_rules(void **s)
{
	(void)s;
	rig_write(RTTDQSEL, 5);
	rig_write(RTTBCNRC, RATE(20));
	rig_expect_violation("RTTBCNRM 0");
	limit(6, 1u << 31 | 16383);
	rig_expect_violation("factor below 1");
	rig_write(RTTBCNRC, 1u << 24);
	rig_expect_violation("RTTBCNRC");
	limit(7, RATE(30));
	rig_write(RTTDQSEL, 5);
	assert_int_equal(rig_read(RTTBCNRC), RATE(20));
	rig_write(RTTDQSEL, 7);
	assert_int_equal(rig_read(RTTBCNRC), RATE(30));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(t) cmocka_unit_test_setup_teardown(t, drive_strict, rig_stop)
#define T_LINE_RATE(t) cmocka_unit_test_setup_teardown(t, drive_line_rate, rig_stop)
		T(in_order),
		T(rows),
		T_LINE_RATE(rows),
		T_LINE_RATE(in_order),
		T(many_queues),
		T_LINE_RATE(many_queues),
		T(long_ring),
		T_LINE_RATE(long_ring),
		T(read_before_done),
		T_LINE_RATE(read_before_done),
		T(sparse_rs),
		T(head_write_back),
		T(gather),
		T_LINE_RATE(gather),
		T(padding),
		T(waits_for_eop),
		T(legacy),
		T(checksums),
		T(udp_zero),
		T(sctp),
		T(vlan_insert),
		T(segmentation),
		T(tso_rules),
		T(loopback),
		T(link_down),
		T(tail_rules),
		T(passes_head),
		T(descriptor_rules),
		T(frame_rules),
		T(offload_rules),
		T(set_up_rules),
		T(dead_queue),
		T(limiter_spaces),
		T(limiter_window),
		T(limiter_rules),
		T(faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
