/*
 * The receive half of the 82599 model: rings, packet buffer, filters, checksums, RSS, VLAN, faults.
 */
#include "tests/unit/rig/drive_82599.h"

static struct received take(unsigned q)
{
	struct received r;
	assert_true(drive_received(q, &r));
	return r;
}

static void none(unsigned q)
{
	struct received r;
	assert_false(drive_received(q, &r));
}

/* --- rings --- */

/* In order, across the end of the ring, in any batch. Run in both modes. */
static void in_order(void **s)
{
	(void)s;
	uint32_t sent = 0, got = 0;
	for (unsigned n = 1; n < RING; n = n * 2 + 1) {
		for (unsigned i = 0; i < n; i++)
			assert_true(rig_receive(f, numbered(sent++, 60 + i)));
		for (unsigned i = 0; i < n; i++) {
			struct received r = take(0);
			assert_int_equal(r.bytes, numbered(got++, 60 + i));
			assert_int_equal(r.status & 3, 3);
			assert_memory_equal(r.data, f, r.bytes);
		}
		none(0);
		drive_refill(0, n);
	}
	assert_int_equal(rig_read(RDH), got % RING);
}

static struct expected {
	uint32_t bytes;
	uint8_t data[1600];
} expected[FRAME_BURST];

/* A plain frame, or one with a group's address or a tag. Half of UDP's are vouched for. */
static void some_frame(uint32_t seq, struct expected *e)
{
	const struct flow udp = {.version = 4, .protocol = 17, .payload = 4 + random_below(1000),
	                         .tagged = random_below(8) == 0, .tci = 5};
	uint32_t flags = 0;
	if (random_below(2)) {
		e->bytes = numbered(seq, random_below(2) ? 60 : 60 + random_below(1455));
		if (random_below(8) == 0)
			f[0] |= 1;
	} else {
		e->bytes = make_ip(f, &udp);
		if (!udp.tagged && udp.payload >= 18 && random_below(2))
			flags = FRAME_UDP4;
	}
	memcpy(e->data, f, e->bytes);
	rig_force(f, e->bytes, flags);
}

static void expect_received(const struct expected *e)
{
	struct received r;
	for (unsigned looks = 0; !drive_received(0, &r); looks++) { /* it waits in the packet buffer */
		assert_in_range(looks, 0, 2);
		drive_refill(0, (rx_ring[0].done + RING - 1 - rx_ring[0].next) % RING);
		rig_run(100000);
	}
	const bool ip = e->data[12] == 0x08;
	assert_int_equal(r.bytes, e->bytes);
	assert_memory_equal(r.data, e->data, e->bytes);
	assert_int_equal(r.low & 0xfff0, ip ? (PTYPE_IPV4 | PTYPE_UDP) << 4 : r.low & 0xfff0);
	if (ip)
		assert_int_equal(r.status, RXD_DD | RXD_EOP | RXD_IPCS | RXD_L4CS | RXD_UDPCS);
}

/* Bursts, some of which find too few descriptors: each frame is delivered as it came, in order. */
static void receive_bursts(void)
{
	uint32_t seq = 0;
	for (unsigned round = 0; round < 300; round++) {
		const unsigned n = 1 + random_below(FRAME_BURST);
		rig_gather();
		for (unsigned i = 0; i < n; i++)
			some_frame(seq++, &expected[i]);
		rig_burst();
		for (unsigned i = 0; i < n; i++)
			expect_received(&expected[i]);
		none(0);
		if (random_below(2))
			drive_refill(0, random_below((rx_ring[0].done + RING - 1 - rx_ring[0].next) % RING + 1));
	}
	assert_int_equal(rig_read(GPRC), seq);
}

/* Run in both modes. */
static void bursts(void **s)
{
	(void)s;
	receive_bursts();
}

/* Buffers that lie in two pieces of memory. */
static void bursts_across_pieces(void **s)
{
	(void)s;
	uint64_t *d = rig_mem(rx_ring[0].bus, RING * 16);
	rig.piece = 4096;
	rx_ring[0].bufs -= 40; /* where rig_alloc has left room */
	for (unsigned i = 0; i < RING; i++)
		d[2 * i] -= 40;
	receive_bursts();
}

/* Fills the ring and the packet buffer with frames from `seq` on until one is lost; returns how
 * many the buffer took. */
static uint32_t fill_buffer(uint32_t seq)
{
	for (unsigned i = 0; i < RING - 1; i++)
		assert_true(rig_receive(f, numbered(seq++, 1514)));
	assert_true(rig_receive(f, numbered(seq++, 1514))); /* one into the buffer */
	assert_false(rig_receive(f, numbered(seq, 1514)));  /* then the model asks for a pause */
	uint32_t held = 1;
	for (;; held++) {
		rig_force(f, numbered(seq++, 1514), 0);
		if (rig_read(RXMPC))
			return held;
	}
}

/* All of them are received, in order; afterwards the ring is full of descriptors. */
static void drain_buffer(uint32_t seq, uint32_t count)
{
	for (unsigned idle = 0; count; idle++) {
		struct received r;
		while (drive_received(0, &r)) {
			assert_int_equal(r.bytes, numbered(seq++, 1514));
			assert_memory_equal(r.data, f, 1514);
			drive_refill(0, 1);
			count--;
			idle = 0;
		}
		assert_true(idle < 3);
		rig_work();
	}
	none(0);
}

/* The packet buffer holds in order what the ring cannot; then frames are lost. The same when its
 * records wrap around the end. */
static void packet_buffer(void **s)
{
	(void)s;
	uint32_t first = 0;
	for (unsigned round = 0; round < 12; round++) {
		uint32_t held = fill_buffer(1000 * round);
		assert_in_range(held, 300, 512 * 1024 / 1514);
		first = round ? first : held;
		assert_in_range(held, first - 1, first); /* space for one record may be left at the end */
		drain_buffer(1000 * round, RING - 1 + held);
	}
}

static void packet_buffer_rules(void **s)
{
	(void)s;
	rig_write(RXPBSIZE, 32 << 10);
	uint32_t held = fill_buffer(0);
	assert_in_range(held, 20, 32 * 1024 / 1514);
	/* 4.6.7.1: turning reception off discards waiting frames; delivered ones stay. */
	rig_write(RXCTRL, 0);
	rig_write(RXCTRL, RXCTRL_RXEN);
	drain_buffer(0, RING - 1);
	assert_true(rig_receive(f, numbered(7, 60)));
	assert_int_equal(take(0).bytes, 60);
}

static void drop_enable(void **s)
{
	(void)s;
	rig_write(SRRCTL_1014, 2u | 1u << 25 | SRRCTL_DROP_EN);
	for (unsigned i = 0; i < RING + 9; i++)
		rig_force(f, numbered(i, 60), 0);
	assert_int_equal(rig_read(QPRDC), 10);
	assert_int_equal(rig_read(RXMPC), 0);
	for (unsigned i = 0; i < RING - 1; i++)
		take(0);
	none(0);
}

/* 9216 bytes into buffers of 2 KB: DD in each, EOP in the last. */
static void jumbo(void **s)
{
	(void)s;
	rig_write(MAXFRS, 9220u << 16);
	rig_force(f, numbered(1, 9216), 0);
	none(0);
	assert_int_equal(rig_read(ROC), 1);
	rig_write(HLREG0, rig_read(HLREG0) | HLREG0_JUMBOEN);
	rig_force(f, numbered(1, 9217), 0);
	assert_int_equal(rig_read(ROC), 1);
	assert_true(rig_receive(f, numbered(1, 9216)));
	for (uint32_t at = 0; at < 9216; at += 2048) {
		struct received r = take(0);
		bool last = at + 2048 > 9216;
		assert_int_equal(r.status & 3, last ? 3 : 1);
		assert_int_equal(r.bytes, last ? 1024 : 2048);
		assert_memory_equal(r.data, f + at, r.bytes);
	}
	none(0);
}

static void legacy_descriptors(void **s)
{
	(void)s;
	rig_write(RXDCTL, 0);
	rig_write(SRRCTL_1014, 2);
	drive_rx(0);
	rig_write(SRRCTL_1014, 2);
	assert_true(rig_receive(f, numbered(7, 77)));
	const uint64_t *d = rig_mem(rx_ring[0].bus, 16);
	assert_int_equal(d[1] & 0xffff, 77);
	assert_int_equal(d[1] >> 32 & 3, 3);
	assert_int_equal(d[0], rx_ring[0].bufs); /* the address is unchanged */
}

static void keeps_fcs(void **s)
{
	(void)s;
	rig_write(HLREG0, rig_read(HLREG0) & ~(uint32_t)HLREG0_RXCRCSTRP);
	assert_true(rig_receive(f, numbered(0, 60)));
	struct received r = take(0);
	assert_int_equal(r.bytes, 64);
	/* IEEE 802.3, 3.2.9: the remainder over frame and FCS is a constant. */
	uint32_t crc = ~0u;
	for (unsigned i = 0; i < 64; i++) {
		crc ^= r.data[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	assert_int_equal(crc, 0xdebb20e3);
}

/* A driver that sees DD finds the data: the model writes the buffer before the descriptor, on the
 * fast path (unicast) and on the slow one (multicast). Run in both modes. */
static void data_before_done(void **s)
{
	(void)s;
	for (unsigned group = 0; group < 2; group++) {
		const unsigned i = rx_ring[0].done;
		const uint64_t status = rx_ring[0].bus + 16 * i + 8;
		numbered(i, 1000);
		f[0] = group ? 3 : 2;
		rig_watch(rx_ring[0].bufs + i * BUFFER, status);
		rig_force(f, 1000, 0);
		assert_int_equal(rig_watched() & RXD_DD, 0);
		assert_memory_equal(take(0).data, f, 1000);
		rig_force(f, 60, 0); /* the other buffer in that page */
		take(0);
	}
}

/* --- MAC --- */

static void bad_frames(void **s)
{
	(void)s;
	rig_force(f, numbered(0, 100), FRAME_BAD_FCS);
	none(0);
	assert_int_equal(rig_read(CRCERRS), 1);
	numbered(0, 100);
	f[12] = 0;
	f[13] = 200; /* the length field claims more than there is */
	rig_force(f, 100, 0);
	none(0);
	assert_int_equal(rig_read(RLEC), 1);
	f[13] = 40; /* the rest is padding */
	rig_force(f, 100, 0);
	take(0);
	rig_write(FCTRL, rig_read(FCTRL) | FCTRL_SBP);
	rig_force(f, numbered(0, 100), FRAME_BAD_FCS);
	assert_true(take(0).status & RXD_RXE);
	assert_int_equal(rig_read(GPRC), 1);
	assert_int_equal(rig_read(RXNFGPC), 1);
	assert_int_equal(rig_read(TPR), 4);
	rig_force(f, 42, 0); /* the sender pads */
	assert_int_equal(take(0).bytes, 60);
}

static void deaf(void **s)
{
	(void)s;
	rig_write(RXCTRL, 0);
	assert_true(rig_receive(f, numbered(0, 60)));
	rig_write(RXCTRL, RXCTRL_RXEN);
	rig_carrier(false);
	assert_true(rig_receive(f, numbered(0, 60)));
	rig_carrier(true);
	none(0);
	drive_link();
	rig_write(SECRXCTRL, SECRXCTRL_RX_DIS);
	assert_true(rig_receive(f, numbered(0, 60)));
	none(0);
	rig_write(SECRXCTRL, 0);
	assert_true(rig_receive(f, numbered(0, 60)));
	take(0);
}

static bool passes(uint64_t address)
{
	numbered(0, 60);
	for (unsigned i = 0; i < 6; i++)
		f[i] = (uint8_t)(address >> 8 * (5 - i));
	rig_force(f, 60, 0);
	struct received r;
	bool yes = drive_received(0, &r);
	if (yes)
		drive_refill(0, 1);
	none(0);
	return yes;
}

static void mac_filters(void **s)
{
	(void)s;
	rig_write(FCTRL, 0);
	assert_true(passes(0x02005e005301));
	assert_false(passes(0x02005e005302));
	assert_false(passes(0xffffffffffff));
	assert_false(passes(0x01005e000001));
	rig_write(FCTRL, FCTRL_BAM);
	assert_true(passes(0xffffffffffff));
	assert_false(passes(0x01005e000001));
	rig_write(FCTRL, FCTRL_MPE);
	assert_true(passes(0x01005e000001));
	assert_false(passes(0x02005e005302));
	rig_write(FCTRL, FCTRL_UPE);
	assert_true(passes(0x02005e005302));
	assert_false(passes(0x01005e000001));
	rig_write(FCTRL, 0);
	rig_write(RAL + 8 * 127, 0x22334402); /* the last of 128 */
	rig_write(RAH + 8 * 127, 0x80000000 | 0x6655);
	assert_true(passes(0x024433225566));
	rig_write(RAH + 8 * 127, 0x6655);
	assert_false(passes(0x024433225566));
}

/* MTA: for each of the four choices of bits (8.2.3.7.7), one address passes by its own bit only. */
static void multicast_table(void **s)
{
	(void)s;
	static const unsigned lowest[4] = {36, 35, 34, 32}; /* of the 48 bits, in wire order */
	rig_write(FCTRL, 0);
	seed_random("multicast_table");
	for (unsigned i = 0; i < 40; i++) {
		uint64_t wire = (random64() & 0xffffffffffff) | 1; /* byte 0 lowest */
		uint64_t address = 0;
		for (unsigned k = 0; k < 6; k++)
			address = address << 8 | (wire >> 8 * k & 0xff);
		uint32_t hash = wire >> lowest[i % 4] & 0xfff;
		rig_write(MCSTCTRL, i % 4);
		rig_write(MTA + 4 * (hash / 32), 1u << hash % 32);
		assert_false(passes(address)); /* MFE clear */
		rig_write(MCSTCTRL, 4 | i % 4);
		assert_true(passes(address));
		rig_write(MTA + 4 * (hash / 32), ~(1u << hash % 32));
		assert_false(passes(address));
		rig_write(MTA + 4 * (hash / 32), 0);
	}
}

/* --- VLAN --- */

static void vlan(void **s)
{
	(void)s;
	struct flow flow = {.version = 4, .protocol = 17, .payload = 64, .tagged = true, .tci = 0x6123};
	uint32_t bytes = make_ip(f, &flow);
	assert_true(rig_receive(f, bytes));
	struct received r = take(0);
	assert_int_equal(r.bytes, bytes);
	assert_false(r.status & RXD_VP);
	rig_write(RXDCTL, RXDCTL_ENABLE | RXDCTL_VME);
	assert_true(rig_receive(f, bytes));
	r = take(0);
	assert_true(r.status & RXD_VP);
	assert_int_equal(r.tag, 0x6123);
	assert_int_equal(r.bytes, bytes - 4);
	assert_memory_equal(r.data, f, 12);
	assert_memory_equal(r.data + 12, f + 16, bytes - 16);
	assert_true((r.status & (RXD_L4CS | RXD_TCPE)) == RXD_L4CS);
	rig_write(VLNCTRL, rig_read(VLNCTRL) | VLNCTRL_VFE);
	rig_force(f, bytes, 0);
	none(0);
	rig_write(VFTA + 4 * (0x123 / 32), 1u << 0x123 % 32);
	rig_force(f, bytes, 0);
	take(0);
	rig_force(f, numbered(0, 60), 0); /* untagged: not filtered */
	take(0);
}

/* 8.2.3.22.8: a tag comes on top of the longest frame, 1518 bytes with FCS. */
static void vlan_longest(void **s)
{
	(void)s;
	struct flow flow = {.version = 4, .protocol = 17, .tagged = true, .tci = 5};
	for (uint32_t bytes = 1517; bytes <= 1519; bytes++) {
		flow.payload = bytes - 18 - 20 - 8;
		assert_int_equal(make_ip(f, &flow), bytes);
		rig_force(f, bytes, 0);
		assert_int_equal(rig_read(ROC), bytes > 1518);
		if (bytes <= 1518)
			assert_int_equal(take(0).bytes, bytes);
		none(0);
	}
}

/* --- checksums --- */

static uint32_t status_of(uint32_t bytes)
{
	rig_force(f, bytes, 0);
	uint32_t status = take(0).status;
	drive_refill(0, 1);
	return status & (RXD_IPCS | RXD_IPE | RXD_L4CS | RXD_TCPE);
}

static void checksums(void **s)
{
	(void)s;
	seed_random("checksums");
	for (unsigned i = 0; i < 600; i++) {
		struct flow flow = {.version = i & 1 ? 4 : 6, .protocol = i & 2 ? 6 : 17,
		                    .payload = random_below(i & 16 ? 1400 : 40), .tagged = i & 4};
		random_fill(flow.src, 32);
		flow.sport = (uint16_t)random64();
		uint32_t bytes = make_ip(f, &flow);
		const uint32_t l3 = flow.tagged ? 18 : 14, l4 = l3 + (flow.version == 4 ? 20 : 40);
		const uint32_t ip = flow.version == 4 ? RXD_IPCS : 0;
		assert_int_equal(status_of(bytes), ip | RXD_L4CS);
		uint32_t at = l4 + (flow.protocol == 6 ? 16 : 6);
		uint8_t old = f[at];
		f[at] ^= (uint8_t)(1 + random_below(255)); /* a difference of 0xffff would go unnoticed */
		uint32_t want = ip | RXD_L4CS | RXD_TCPE;
		if (flow.protocol == 17 && f[at] == 0 && f[at + 1] == 0)
			want = ip; /* no checksum */
		assert_int_equal(status_of(bytes), want);
		f[at] = old;
		if (flow.version == 4) {
			f[l3 + 8]--;
			assert_int_equal(status_of(bytes), RXD_IPCS | RXD_IPE | RXD_L4CS);
		}
	}
}

static void checksum_exceptions(void **s)
{
	(void)s;
	struct flow flow = {.version = 4, .protocol = 17, .payload = 30};
	uint32_t bytes = make_ip(f, &flow);
	f[14 + 20 + 6] = f[14 + 20 + 7] = 0; /* UDP without a checksum */
	assert_int_equal(status_of(bytes), RXD_IPCS);
	f[14 + 6] |= 0x20; /* a fragment: only the header is checked, whose sum is now wrong */
	assert_int_equal(status_of(bytes), RXD_IPCS | RXD_IPE);
	flow.protocol = 89;
	assert_int_equal(status_of(make_ip(f, &flow)), RXD_IPCS);
	bytes = make_ip(f, &flow);
	f[16] = 0xff; /* longer than the frame: not recognised as IP */
	assert_int_equal(status_of(bytes), 0);
	/* IPv6 with a hop-by-hop header before TCP */
	flow = (struct flow){.version = 6, .protocol = 6, .payload = 100};
	bytes = make_ip(f, &flow);
	memmove(f + 14 + 48, f + 14 + 40, bytes - 54);
	memcpy(f + 14 + 40, (uint8_t[]){6, 0, 5, 2, 0, 0, 1, 0}, 8);
	f[14 + 6] = 0;
	f[14 + 5] = (uint8_t)(f[14 + 5] + 8);
	rig_force(f, bytes + 8, 0);
	struct received r = take(0);
	assert_int_equal(r.status & (RXD_L4CS | RXD_TCPE), RXD_L4CS);
	assert_int_equal(r.low >> 4 & 0xfff, PTYPE_IPV6E | PTYPE_TCP);
	f[14 + 6] = 44; /* the same eight bytes as a fragment header: L4 is not checked */
	rig_force(f, bytes + 8, 0);
	r = take(0);
	assert_int_equal(r.status & (RXD_L4CS | RXD_TCPE), 0);
	assert_int_equal(r.low >> 4 & 0xfff, PTYPE_IPV6E);
	/* IPv4 with options before TCP */
	flow = (struct flow){.version = 4, .protocol = 6, .payload = 100};
	bytes = make_ip(f, &flow);
	memmove(f + 14 + 24, f + 14 + 20, bytes - 34);
	memset(f + 14 + 20, 1, 4); /* no operation */
	f[14] = 0x46;
	f[14 + 3] = (uint8_t)(f[14 + 3] + 4);
	f[14 + 10] = f[14 + 11] = 0;
	uint16_t sum = (uint16_t)~slow_sum(f + 14, 24, 0);
	f[14 + 10] = (uint8_t)(sum >> 8);
	f[14 + 11] = (uint8_t)sum;
	rig_force(f, bytes + 4, 0);
	r = take(0);
	assert_int_equal(r.status & (RXD_IPCS | RXD_IPE | RXD_L4CS | RXD_TCPE), RXD_IPCS | RXD_L4CS);
	assert_int_equal(r.low >> 4 & 0xfff, PTYPE_IPV4E | PTYPE_TCP);
}

static void packet_types(void **s)
{
	(void)s;
	const struct {
		struct flow flow;
		uint32_t ptype;
	} v[] = {{{.version = 4, .protocol = 6}, PTYPE_IPV4 | PTYPE_TCP},
	         {{.version = 4, .protocol = 17}, PTYPE_IPV4 | PTYPE_UDP},
	         {{.version = 6, .protocol = 17}, PTYPE_IPV6 | PTYPE_UDP},
	         {{.version = 6, .protocol = 6, .tagged = true}, PTYPE_IPV6 | PTYPE_TCP},
	         {{.version = 4, .protocol = 1, .payload = 40}, PTYPE_IPV4}};
	for (unsigned i = 0; i < sizeof v / sizeof v[0]; i++) {
		rig_force(f, make_ip(f, &v[i].flow), 0);
		assert_int_equal(take(0).low >> 4 & 0xfff, v[i].ptype);
	}
	rig_force(f, numbered(0, 60), 0);
	assert_int_equal(take(0).low >> 4 & 0xfff, 0);
}

/* --- RSS: "Verifying the RSS Hash Calculation", Microsoft, Windows driver documentation --- */

static const uint8_t ms_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

static void rss_on(uint32_t fields)
{
	for (unsigned i = 0; i < 10; i++)
		rig_write(RSSRK + 4 * i, ms_key[4 * i] | (uint32_t)ms_key[4 * i + 1] << 8 |
		                                 (uint32_t)ms_key[4 * i + 2] << 16 |
		                                 (uint32_t)ms_key[4 * i + 3] << 24);
	rig_write(RXCSUM, RXCSUM_PCSD);
	rig_write(MRQC, 1 | fields);
}

struct vector {
	struct flow flow;
	uint32_t ip, tcp; /* hashes */
};

#define V4(a, b, c, d) {a, b, c, d}
static const struct vector vectors[] = {
	{{4, 6, V4(66, 9, 149, 187), V4(161, 142, 100, 80), 2794, 1766, 0, false, 0}, 0x323e8fc2, 0x51ccc178},
	{{4, 6, V4(199, 92, 111, 2), V4(65, 69, 140, 83), 14230, 4739, 0, false, 0}, 0xd718262a, 0xc626b0ea},
	{{4, 6, V4(24, 19, 198, 95), V4(12, 22, 207, 184), 12898, 38024, 0, false, 0}, 0xd2d0a5de, 0x5c2b394a},
	{{4, 6, V4(38, 27, 205, 30), V4(209, 142, 163, 6), 48228, 2217, 0, false, 0}, 0x82989176, 0xafc7327f},
	{{4, 6, V4(153, 39, 163, 191), V4(202, 188, 127, 2), 44251, 1303, 0, false, 0}, 0x5d1809c5, 0x10e828a2},
	{{6, 6, {0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x1f, 0xff, 0, 0, 0, 0, 0, 0, 0, 7},
	  {0x3f, 0xfe, 0x25, 0x01, 0x02, 0x00, 0x00, 0x03, 0, 0, 0, 0, 0, 0, 0, 1}, 2794, 1766, 0, false, 0},
	 0x2cc18cd5, 0x40207d3d},
	{{6, 6, {0x3f, 0xfe, 0x05, 0x01, 0x00, 0x08, 0, 0, 0x02, 0x60, 0x97, 0xff, 0xfe, 0x40, 0xef, 0xab},
	  {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 14230, 4739, 0, false, 0},
	 0x0f0c461c, 0xdde51bbf},
	{{6, 6, {0x3f, 0xfe, 0x19, 0x00, 0x45, 0x45, 0x00, 0x03, 0x02, 0x00, 0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf},
	  {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x00, 0xf8, 0xff, 0xfe, 0x21, 0x67, 0xcf}, 44251, 38024, 0, false, 0},
	 0x4b61e985, 0x02d1feef},
};

static void expect_hash(const struct flow *flow, uint32_t type, uint32_t hash)
{
	rig_force(f, make_ip(f, flow), 0);
	struct received r = take(0);
	drive_refill(0, 1);
	assert_int_equal(r.low & 15, type);
	assert_int_equal(r.low >> 32, hash);
}

static void rss_vectors(void **s)
{
	(void)s;
	for (unsigned i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
		const struct vector *v = &vectors[i];
		struct flow udp = v->flow, other = v->flow;
		bool v4 = v->flow.version == 4;
		udp.protocol = 17;
		other.protocol = 89;
		other.payload = 40;
		rss_on(MRQC_TCP4 | MRQC_IP4 | MRQC_TCP6 | MRQC_IP6);
		expect_hash(&v->flow, v4 ? RSS_TCP4 : RSS_TCP6, v->tcp);
		expect_hash(&udp, v4 ? RSS_IP4 : RSS_IP6, v->ip);
		expect_hash(&other, v4 ? RSS_IP4 : RSS_IP6, v->ip);
		rss_on(MRQC_UDP4 | MRQC_UDP6);
		expect_hash(&udp, v4 ? RSS_UDP4 : RSS_UDP6, v->tcp); /* over the same fields */
		expect_hash(&v->flow, RSS_NONE, 0);
		rss_on(MRQC_IP4 | MRQC_IP6);
		expect_hash(&v->flow, v4 ? RSS_IP4 : RSS_IP6, v->ip);
	}
}

static void rss_queues(void **s)
{
	(void)s;
	for (unsigned q = 1; q < 16; q++)
		drive_rx(q);
	rss_on(MRQC_TCP4 | MRQC_IP4 | MRQC_TCP6 | MRQC_IP6);
	for (unsigned i = 0; i < 32; i++) /* entry k: queue (k * 5) mod 16 */
		rig_write(RETA + 4 * i, (4 * i * 5 & 15) | ((4 * i + 1) * 5 & 15) << 8 |
		                                ((4 * i + 2) * 5 & 15) << 16 | ((4 * i + 3) * 5 & 15) << 24);
	for (unsigned i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
		rig_force(f, make_ip(f, &vectors[i].flow), 0);
		unsigned q = vectors[i].tcp % 128 * 5 % 16;
		for (unsigned k = 0; k < 16; k++)
			if (k != q)
				none(k);
		take(q);
	}
	rig_force(f, numbered(0, 60), 0); /* not IP: queue 0 */
	take(0);
	rig_write(RXDCTL + 64 * (vectors[0].tcp % 128 * 5 % 16), 0);
	rig_force(f, make_ip(f, &vectors[0].flow), 0);
	rig_expect_violation("RETA");
}

static void fragment_sums(void **s)
{
	(void)s;
	struct flow flow = {.version = 4, .protocol = 17, .payload = 50};
	uint32_t bytes = make_ip(f, &flow);
	f[14 + 6] = 0x20;
	rig_write(RXCSUM, RXCSUM_IPPCSE);
	rig_force(f, bytes, 0);
	struct received r = take(0);
	assert_int_equal(r.low >> 32 & 0xffff, 0x1234); /* identification */
	uint16_t sum = (uint16_t)(r.low >> 48);
	assert_int_equal((uint16_t)(sum << 8 | sum >> 8), slow_sum(f + 34, bytes - 34, 0));
}

/* --- many queues, and those above 64 --- */

static void high_queues(void **s)
{
	(void)s;
	drive_rx(64);
	drive_rx(127);
	rig_write(0x5400, 0); /* this loses no frame of queue 0 */
	assert_int_equal(rig_read(0xd028) & RXDCTL_ENABLE, RXDCTL_ENABLE);
	assert_int_equal(rig_read(0xd000 + 63 * 64 + 8), RING * 16);
	assert_true(rig_receive(f, numbered(0, 60)));
	take(0);
}

/* --- what a driver may not do --- */

static void tail_rules(void **s)
{
	(void)s;
	rig_write(RDT, RING);
	rig_expect_violation("RDT[0] = 64");
	rig_write(RDT, rx_ring[0].next);
	assert_false(rig_violated());
	rig_write(RDT, 0); /* one too many: head is at 0 */
	rig_expect_violation("passes RDH");
	rig_write(RDT + 64, 5);
	rig_expect_violation("RXDCTL[1].ENABLE is not set");
	rig_write(RDBAL, 0x10000);
	rig_expect_violation("RDBA[0] written while");
	rig_write(RDLEN, 0x10000);
	rig_expect_violation("RDLEN[0] written while");
	rig_write(RDH, 3);
	rig_expect_violation("RDH[0] written while");
}

static void enable_rules(void **s)
{
	(void)s;
	rig_write(RXDCTL + 64, RXDCTL_ENABLE);
	rig_run(2000);
	rig_expect_violation("RDLEN[1] = 0"); /* and before that, one for SRRCTL */
	rig_write(RXDCTL + 64, 0);
	rig_write(RDLEN + 64, 1024);
	rig_write(RDBAL + 64, 0x10000);
	rig_write(SRRCTL_1014 + 64, 2 | 1u << 25);
	rig_write(RXDCTL + 64, RXDCTL_ENABLE);
	assert_false(rig_read(RXDCTL + 64) & RXDCTL_ENABLE); /* it takes a while */
	rig_write(RDT + 64, 1);
	rig_expect_violation("is not set");
	rig_write(RDT + 64, 0);
	rig_write(RXDCTL + 64, 0);
	rig_write(SRRCTL_1014 + 64, 2 | 5u << 25);
	rig_write(RXDCTL + 64, RXDCTL_ENABLE);
	rig_run(2000);
	rig_expect_violation("DESCTYPE");
}

static void bad_srrctl(uint32_t value, const char *text)
{
	rig_write(SRRCTL_1014 + 64, value);
	drive_bad_queue(RX_BLOCK(1), RING * 16, 0, 0, text);
}

static void set_up_rules(void **s)
{
	(void)s;
	const uint32_t good = 2 | DESCTYPE_ONE_BUFFER << SRRCTL_DESCTYPE_SHIFT;
	bad_srrctl(good & ~0x1fu, "BSIZEPACKET = 0");
	bad_srrctl(good | 0x11, "BSIZEPACKET = 19");
	bad_srrctl(2 | 2u << SRRCTL_DESCTYPE_SHIFT, "DESCTYPE = 2");
	rig_write(SRRCTL_1014 + 64, good);
	drive_bad_queue(RX_BLOCK(1), RING * 16, RING, 0, "RDH 64, RDT 0, of 64");
	drive_bad_queue(RX_BLOCK(1), RING * 16, 0, RING, "RDH 0, RDT 64, of 64");
	drive_bad_queue(RX_BLOCK(1), RING * 16, 0, 1, "before RXDCTL[1].ENABLE reads back");
}

static void descriptor_rules(void **s)
{
	(void)s;
	uint64_t *d = rig_mem(rx_ring[0].bus, RING * 16);
	d[0] = RIG_MEMORY - 10; /* a buffer partly outside of memory */
	rig_force(f, numbered(0, 60), 0);
	rig_expect_violation("receive buffer");
	rig_force(f, numbered(0, 60), 0); /* the queue has stopped */
	assert_int_equal(d[3] & 1, 0);
}

static void ring_not_memory(void **s)
{
	(void)s;
	rig_write(RXDCTL, 0);
	rig_write(RDT, 0);
	rig_write(RDH, 0);
	rig_write(RDBAL, RIG_MEMORY - 128);
	rig_write(RXDCTL, RXDCTL_ENABLE);
	rig_run(2000);
	rig_write(RDT, 10);
	rig_force(f, numbered(0, 60), 0);
	rig_expect_violation("receive ring");
}

/* --- faults --- */

static void faults(void **s)
{
	(void)s;
	rig_fault_arg("bad-length", 2);
	rig_force(f, numbered(0, 60), 0);
	rig_force(f, numbered(0, 60), 0);
	assert_int_equal(take(0).bytes, 60);
	assert_true(take(0).bytes > BUFFER);
	rig_fault_clear("bad-length");
	rig_fault_arg("error-bits", 3);
	for (unsigned i = 0; i < 6; i++) {
		rig_force(f, numbered(0, 60), 0);
		assert_int_equal(take(0).status & (RXD_RXE | RXD_TCPE), i % 3 == 2 ? RXD_RXE | RXD_TCPE : 0);
	}
	rig_fault_clear("error-bits");
	rig_fault_arg("writeback-delay", 100);
	rig_force(f, numbered(0, 60), 0);
	rig_run(99000);
	none(0);
	rig_run(2000);
	take(0);
	rig_force(f, numbered(0, 60), 0);
	rig.m->masters = false; /* a late write-back waits, too */
	rig_run(200000);
	none(0);
	rig.m->masters = true;
	rig_run(2000);
	take(0);
	rig_fault_clear("writeback-delay");
	rig_fault("rx-stuck");
	rig_force(f, numbered(0, 60), 0);
	none(0);
	assert_int_equal(rig.m->ops->rx_room(rig.m, 64), 0);
	rig_fault_clear("rx-stuck");
	rig_work();
	take(0);
	rig_fault_arg("dd-garbage", 1);
	for (unsigned i = 0; i < 4; i++) {
		rig_force(f, numbered(0, 60), 0);
		struct received r = take(0);
		assert_int_equal(r.status & 3, 3);
		assert_true(r.bytes != 60 && r.low != 0);
	}
	rig_fault_clear("dd-garbage");
	rig_fault_arg("writeback-lost", 1);
	rig_force(f, numbered(0, 60), 0);
	none(0);
	rig_fault("rxdctl-stuck");
	rig_write(RXDCTL, 0);
	rig_run(1000000);
	assert_true(rig_read(RXDCTL) & RXDCTL_ENABLE);
}

/* --- line-rate --- */

static void line_rate_counters(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 5; i++)
		assert_true(rig_receive(f, numbered(i, 60)));
	rig_run(100000);
	assert_int_equal(rig_read(QPRC), 0); /* plain memory, which cannot clear on read */
	assert_int_equal(rig_read(RDH), 5);
	assert_int_equal(rig_read(GPRC), 5);
	assert_int_equal(rig_read(GPRC), 0); /* not in a mapped page */
	rig_write(RXDCTL, 0);
	rig_run(100000);
	const uint64_t missed = rig.m->rx_missed;
	rig_force(f, numbered(5, 60), 0);
	assert_int_equal(rig_read(RXMPC), 1); /* QPRDC is in a mapped page */
	assert_int_equal(rig.m->rx_missed, missed + 1);
	for (unsigned i = 0; i < 5; i++)
		take(0);
	none(0);
}

int main(void)
{
	seed_random("82599_rx");
	const struct CMUnitTest tests[] = {
#define T(t) cmocka_unit_test_setup_teardown(t, drive_strict, rig_stop)
#define T_LINE_RATE(t) cmocka_unit_test_setup_teardown(t, drive_line_rate, rig_stop)
		T(in_order),
		T_LINE_RATE(in_order),
		T(bursts),
		T_LINE_RATE(bursts),
		T(bursts_across_pieces),
		T_LINE_RATE(bursts_across_pieces),
		T_LINE_RATE(packet_buffer),
		T_LINE_RATE(line_rate_counters),
		T(packet_buffer),
		T(packet_buffer_rules),
		T(data_before_done),
		T_LINE_RATE(data_before_done),
		T(drop_enable),
		T(jumbo),
		T(legacy_descriptors),
		T(keeps_fcs),
		T(bad_frames),
		T(deaf),
		T(mac_filters),
		T(multicast_table),
		T(vlan),
		T(vlan_longest),
		T(checksums),
		T(checksum_exceptions),
		T(packet_types),
		T(rss_vectors),
		T(rss_queues),
		T(fragment_sums),
		T(high_queues),
		T(tail_rules),
		T(enable_rules),
		T(set_up_rules),
		T(descriptor_rules),
		T(ring_not_memory),
		T(faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
