/*
 * The ConnectX-5 model's sending half: WQEs of all kinds, offloads, completions, and every cause
 * that puts a queue into ERR.
 */
#include "tests/unit/rig/drive_mlx5.h"
#include "tests/unit/rig/nicsim_frames.h"

static struct rig_frame out;

static void expect_frame(const void *data, uint32_t bytes)
{
	assert_true(rig_sent(&out));
	assert_int_equal(out.bytes, bytes);
	assert_memory_equal(out.data, data, bytes);
}

/* The next completion must be there, good, and of the WQE at that index. */
static void expect_done(uint32_t index)
{
	const uint8_t *cqe = drive_sent();
	assert_non_null(cqe);
	assert_int_equal(cqe[CQE_OP_OWN] >> 4, CQE_REQUESTER);
	assert_int_equal(be16(cqe + CQE_COUNTER), index);
	assert_int_equal(be32(cqe + CQE_OPCODE_QPN) & 0xffffff, net.sq.number);
}

static void expect_error(enum cqe_syndrome syndrome)
{
	const uint8_t *cqe = drive_sent();
	assert_non_null(cqe);
	assert_int_equal(cqe[CQE_OP_OWN] >> 4, CQE_REQ_ERROR);
	assert_int_equal(cqe[CQE_SYNDROME], syndrome);
	assert_false(rig_sent_count());
	cmd_new(QUERY_SQ, 16, 0x110);
	cmd_put(IN_NUMBER, net.sq.number);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + CONTEXT_AT, SQC_STATE), QUEUE_ERR);
}

/* --- packets --- */

static void plain(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 200; i++) { /* three passes over the queue */
		uint32_t bytes = numbered(i, 60 + i);
		drive_send(f, bytes, 0);
		expect_frame(f, bytes);
		expect_done(i);
	}
}

static void padded(void **s)
{
	(void)s;
	uint8_t want[60] = {0};
	numbered(1, 20);
	memcpy(want, f, 20);
	drive_send(f, 20, 0);
	expect_frame(want, 60);
}

static void gathered(void **s)
{
	(void)s;
	uint32_t bytes = numbered(3, 1400);
	wqe_new(WQE_SEND);
	wqe_inline(f, 18);
	wqe_data(f + 18, 100);
	wqe_inline_data(f + 118, 33);
	wqe_data(f + 151, bytes - 151);
	wqe_post();
	drive_doorbell();
	expect_frame(f, bytes);
	expect_done(0);
	assert_int_equal(net.sq.pi, 2); /* 16 bytes each: 1 + 1 + 1 + 1 + 3 + 1 */
}

static void burst_with_one_doorbell(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 50; i++) {
		numbered(i, 64);
		uint8_t *w = wqe_new(WQE_SEND);
		field_set(w, WQE_COMPLETION, i == 49 ? COMPLETION_ALWAYS : COMPLETION_ON_ERROR);
		wqe_data(f, 64);
		wqe_post();
	}
	uint64_t writes = rig.m->writes;
	drive_doorbell();
	assert_int_equal(rig.m->writes - writes, 2);
	assert_int_equal(rig_sent_count(), 50);
	expect_done(49);
	assert_null(drive_sent());
}

static void doorbell_in_one_write(void **s)
{
	(void)s;
	numbered(1, 64);
	uint8_t *w = wqe_new(WQE_SEND);
	wqe_data(f, 64);
	wqe_post();
	dbr_write(&net.sq, DBR_SEND, net.sq.pi);
	uint64_t value;
	memcpy(&value, w, 8);
	model_write(rig.m, 0, net.uar * PAGE + UAR_SQ_DB + 0x100, 8, value, rig.now);
	rig_run(1000);
	expect_frame(f, 64);
}

static void record_alone_does_nothing(void **s)
{
	(void)s;
	numbered(1, 64);
	wqe_new(WQE_SEND);
	wqe_data(f, 64);
	wqe_post();
	dbr_write(&net.sq, DBR_SEND, net.sq.pi);
	rig_run(1000000);
	assert_int_equal(rig_sent_count(), 0);
	drive_doorbell();
	assert_int_equal(rig_sent_count(), 1);
}

static void line_rate(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 100; i++) {
		numbered(i, 64);
		wqe_new(WQE_SEND);
		wqe_data(f, 64);
		wqe_post();
		dbr_write(&net.sq, DBR_SEND, net.sq.pi);
		rig_run(1000);
		expect_frame(f, 64);
		expect_done(i);
	}
}

static void nothing_to_send(void **s)
{
	(void)s;
	wqe_new(WQE_NOP);
	wqe_post();
	drive_doorbell();
	assert_int_equal(rig_sent_count(), 0);
	expect_done(0);
}

static void multi_packet(void **s)
{
	(void)s;
	wqe_new(WQE_MULTI_PACKET);
	for (unsigned i = 0; i < 8; i++) {
		numbered(i, 64 + i);
		if (i % 2)
			wqe_inline_data(f, 64 + i);
		else
			wqe_data(f, 64 + i);
	}
	wqe_post();
	drive_doorbell();
	for (unsigned i = 0; i < 8; i++) {
		numbered(i, 64 + i);
		expect_frame(f, 64 + i);
	}
	expect_done(0);
	assert_null(drive_sent());
}

/* Multi-packet WQEs whose packets take every path, in one doorbell: all leave in order, each WQE is
 * completed that asks for it. */
static void multi_packet_rows(void **s)
{
	(void)s;
	static struct rig_frame want[16 * 30];
	for (unsigned round = 0; round < random_rounds(200); round++) {
		unsigned frames = 0, asked = 0, first = net.sq.pi, asks[16];
		const uint64_t brk = rig.brk;
		rig.piece = random_below(2) ? 4096 : 0;
		for (unsigned n = 1 + random_below(6); n; n--) {
			uint8_t *w = wqe_new(WQE_MULTI_PACKET);
			const bool asking = n == 1 || random_below(2);
			field_set(w + WQE_ETH, ETH_CSUM, random_below(4) ? 0 : ETH_CSUM_L4); /* nothing to sum */
			if (!asking)
				field_set(w, WQE_COMPLETION, 0);
			else
				asks[asked++] = (net.sq.pi - first) & 0xffff;
			for (unsigned k = 1 + random_below(30); k; k--) {
				const uint32_t bytes = random_below(8) ? 60 : 18 + random_below(1400);
				const bool inlined = bytes < 100 && k < 3;
				numbered(round * 1000 + frames, bytes);
				f[0] |= random_below(10) == 0;
				f[5] ^= random_below(10) == 0;
				struct rig_frame *e = &want[frames++];
				e->bytes = bytes < 60 ? 60 : bytes;
				e->data = realloc(e->data, 1500);
				memset(e->data, 0, 60);
				memcpy(e->data, f, bytes);
				if (inlined)
					wqe_inline_data(f, bytes);
				else
					wqe_data(f, bytes);
			}
			wqe_post();
		}
		drive_doorbell();
		for (unsigned i = 0; i < frames; i++)
			expect_frame(want[i].data, want[i].bytes);
		assert_int_equal(rig_sent_count(), 0);
		for (unsigned i = 0; i < asked; i++)
			expect_done((first + asks[i]) & 0xffff);
		assert_null(drive_sent());
		rig.brk = brk;
	}
	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		free(want[i].data);
		want[i].data = NULL;
	}
}

/* A key that is not known, in the middle: the packets before it have left. */
static void multi_packet_fails(void **s)
{
	(void)s;
	uint8_t *w = wqe_new(WQE_MULTI_PACKET);
	for (unsigned i = 0; i < 8; i++)
		wqe_data(f, numbered(i, 64));
	put_be32(w + 32 + 5 * 16 + 4, net.mkey ^ 0x100);
	wqe_post();
	drive_doorbell();
	for (unsigned i = 0; i < 5; i++) {
		numbered(i, 64);
		expect_frame(f, 64);
	}
	rig_expect_violation("there is no such key");
	expect_error(SYNDROME_LOCAL_PROTECTION);
}

static void vlan(void **s)
{
	(void)s;
	uint8_t want[68];
	numbered(1, 64);
	memcpy(want, f, 12);
	put_be32(want + 12, 0x81006064);
	memcpy(want + 16, f + 12, 52);
	uint8_t *w = wqe_new(WQE_SEND);
	field_set(w + WQE_ETH, ETH_INSERT_VLAN, 1);
	field_set(w + WQE_ETH, ETH_VLAN, 0x6064);
	wqe_data(f, 64);
	wqe_post();
	drive_doorbell();
	expect_frame(want, 68);
}

/* --- checksums and segments --- */

static const struct flow flows[] = {
	{.version = 4, .protocol = 6, .src = {192, 0, 2, 1}, .dst = {192, 0, 2, 2}, .payload = 101},
	{.version = 4, .protocol = 17, .src = {192, 0, 2, 1}, .dst = {192, 0, 2, 2}, .payload = 50},
	{.version = 6, .protocol = 6, .src = {0x20, 1}, .dst = {0x20, 2}, .payload = 333},
	{.version = 6, .protocol = 17, .src = {0x20, 1}, .dst = {0x20, 2}, .payload = 1},
	{.version = 4, .protocol = 6, .payload = 64, .tagged = true, .tci = 5},
};

static void checksums(void **s)
{
	(void)s;
	for (unsigned i = 0; i < sizeof flows / sizeof flows[0]; i++) {
		static uint8_t want[2048];
		uint32_t bytes = make_ip(want, &flows[i]);
		memcpy(f, want, bytes);
		const uint32_t l3 = flows[i].tagged ? 18 : 14;
		const uint32_t l4 = l3 + (flows[i].version == 4 ? 20 : 40);
		if (flows[i].version == 4)
			put_be16(f + l3 + 10, 0xdead);
		put_be16(f + l4 + (flows[i].protocol == 6 ? 16 : 6), 0xbeef);
		drive_send(f, bytes, ETH_CSUM_L3 | ETH_CSUM_L4);
		expect_frame(want, bytes);
		drive_send(f, bytes, 0);
		expect_frame(f, bytes);
	}
}

/* The packet, whose length is left open, is segmented by mss bytes; each segment equals what make_ip
 * would make, except for identification, sequence number and flags. */
static void segments_of(const struct flow *whole, uint32_t mss)
{
	const uint32_t bytes = make_ip(f, whole);
	const uint32_t l3 = whole->tagged ? 18 : 14, tcp = whole->protocol == 6;
	const uint32_t l4 = l3 + (whole->version == 4 ? 20 : 40), headers = l4 + (tcp ? 20 : 8);
	put_be16(f + l3 + (whole->version == 4 ? 2 : 4), 0);
	uint8_t *w = wqe_new(WQE_LSO);
	field_set(w + WQE_ETH, ETH_MSS, mss);
	field_set(w + WQE_ETH, ETH_CSUM, ETH_CSUM_L3 | ETH_CSUM_L4);
	wqe_inline(f, headers);
	wqe_data(f + headers, bytes - headers);
	wqe_post();
	drive_doorbell();
	uint32_t left = whole->payload, sent = 0;
	for (uint32_t i = 0; left; i++) {
		const uint32_t part = left < mss ? left : mss;
		assert_true(rig_sent(&out));
		assert_int_equal(out.bytes, headers + part < 60 ? 60 : headers + part);
		out.bytes = headers + part; /* without padding */
		assert_memory_equal(out.data + headers, f + headers + sent, part);
		const uint8_t *ip = out.data + l3;
		if (whole->version == 4) {
			assert_int_equal(be16(ip + 2), out.bytes - l3);
			assert_int_equal(be16(ip + 4), 0x1234 + i);
			assert_int_equal(slow_sum(ip, 20, 0), 0xffff);
		} else {
			assert_int_equal(be16(ip + 4), out.bytes - l4);
		}
		uint32_t pseudo = slow_pseudo(ip, whole->version, whole->protocol, out.bytes - l4);
		assert_int_equal(slow_sum(out.data + l4, out.bytes - l4, pseudo), 0xffff);
		if (tcp) {
			assert_int_equal(be32(out.data + l4 + 4), sent);
			assert_int_equal(out.data[l4 + 13], left == part ? 0x18 : 0x10);
		}
		left -= part;
		sent += part;
	}
	assert_false(rig_sent(&out));
	assert_non_null(drive_sent());
}

static void segmentation(void **s)
{
	(void)s;
	segments_of(&(struct flow){.version = 4, .protocol = 6, .payload = 10000}, 1448);
	segments_of(&(struct flow){.version = 6, .protocol = 6, .payload = 5000}, 1000);
	segments_of(&(struct flow){.version = 4, .protocol = 6, .payload = 1000}, 1000);
	segments_of(&(struct flow){.version = 4, .protocol = 17, .payload = 4100}, 512);
	segments_of(&(struct flow){.version = 4, .protocol = 6, .payload = 60000}, 536);
	segments_of(&(struct flow){.version = 4, .protocol = 6, .payload = 3000, .tagged = true, .tci = 5}, 1000);
	segments_of(&(struct flow){.version = 6, .protocol = 17, .payload = 3000, .tagged = true, .tci = 5}, 512);
}

/* --- interrupts --- */

static void armed(void **s)
{
	(void)s;
	drive_send(f, numbered(1, 64), 0);
	assert_null(eq_next(&net.completions));
	net.tx_cq.ci = 0;
	cq_ring(&net.tx_cq, false); /* one is already there */
	eq_ring(&net.completions, true);
	assert_int_equal(rig.irqs[2], 1);
	const uint8_t *e = eq_next(&net.completions);
	assert_non_null(e);
	assert_int_equal(e[EQE_TYPE], EVENT_COMPLETION);
	assert_int_equal(be32(e + EQE_CQN), net.tx_cq.number);
	assert_non_null(drive_sent());
	cq_ring(&net.tx_cq, false);
	eq_ring(&net.completions, true);
	assert_int_equal(rig.irqs[2], 1);
	drive_send(f, 64, 0);
	assert_int_equal(rig.irqs[2], 2);
	drive_send(f, 64, 0); /* not armed */
	assert_non_null(eq_next(&net.completions));
	assert_null(eq_next(&net.completions));
}

static void solicited(void **s)
{
	(void)s;
	eq_ring(&net.completions, true);
	cq_ring(&net.tx_cq, true);
	drive_send(f, numbered(1, 64), 0);
	assert_int_equal(rig.irqs[2], 0);
	rig_fault_arg("send-error", 1);
	drive_send(f, numbered(1, 64), 0);
	assert_int_equal(rig.irqs[2], 1);
}

static void moderated(void **s)
{
	(void)s;
	cmd_new(MODIFY_CQ, 0x110, 16);
	cmd_put(IN_NUMBER, net.tx_cq.number);
	cmd_put(CQ_MODIFY, CQ_MODIFY_PERIOD | CQ_MODIFY_COUNT);
	cmd_put_at(CQC_AT, CQC_PERIOD, 100);
	cmd_put_at(CQC_AT, CQC_MAX_COUNT, 4);
	assert_int_equal(cmd_run(), OK);
	eq_ring(&net.completions, true);
	cq_ring(&net.tx_cq, false);
	drive_send(f, numbered(1, 64), 0);
	rig_run(50000);
	assert_int_equal(rig.irqs[2], 0);
	rig_run(60000);
	assert_int_equal(rig.irqs[2], 1); /* the period has passed */
	assert_non_null(eq_next(&net.completions));
	eq_ring(&net.completions, true);
	assert_non_null(drive_sent());
	cq_ring(&net.tx_cq, false);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(rig.irqs[2], 1);
		drive_send(f, 64, 0);
	}
	assert_int_equal(rig.irqs[2], 2); /* the fourth */
	assert_non_null(eq_next(&net.completions));
	eq_ring(&net.completions, true);
	for (unsigned i = 0; i < 4; i++)
		drive_send(f, 64, 0); /* not armed */
	cq_ring(&net.tx_cq, false); /* four are there already */
	assert_int_equal(rig.irqs[2], 3);
}

/* --- errors --- */

/* One WQE, corrupted after it was made. */
static void post_spoilt(struct field field, uint32_t at, uint32_t value)
{
	uint8_t *w = wqe_new(WQE_SEND);
	numbered(1, 64);
	wqe_data(f, 64);
	field_set(w + at, field, value);
	wqe_post();
	drive_doorbell();
}

static void bad_wqes(void **s)
{
	(void)s;
	static const struct {
		struct field field;
		uint32_t at, value;
		enum cqe_syndrome syndrome;
		const char *text;
	} bad[] = {
		{FIELD(0x00, 23, 8), 0, 9, SYNDROME_LOCAL_QP_OP, "wqe_index"},
		{FIELD(0x04, 31, 8), 0, 0x2001, SYNDROME_LOCAL_QP_OP, "qpn"},
		{FIELD(0x00, 7, 0), 0, 0x77, SYNDROME_LOCAL_QP_OP, "unknown opcode"},
		{FIELD(0x04, 31, 0), 32, 0x80043, SYNDROME_LOCAL_PROTECTION, "no such key"},
		{FIELD(0x08, 31, 0), 32, 1, SYNDROME_LOCAL_PROTECTION, "not the guest's memory"},
		{FIELD(0x00, 30, 0), 32, 0, SYNDROME_LOCAL_LENGTH, "length of a data segment"},
		{FIELD(0x00, 30, 0), 32, 1 << 20, SYNDROME_LOCAL_LENGTH, "length of a data"},
		{FIELD(0x00, 30, 0), 32, 9000, SYNDROME_LOCAL_LENGTH, "MTU"},
		{FIELD(0x00, 31, 31), 32, 1, SYNDROME_LOCAL_LENGTH, "inline data beyond"},
		{FIELD(0x0c, 25, 16), 16, 500, SYNDROME_LOCAL_LENGTH, "inline header beyond"},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		post_spoilt(bad[i].field, bad[i].at, bad[i].value);
		rig_expect_violation(bad[i].text);
		expect_error(bad[i].syndrome);
		assert_int_equal(sq_state(&net.sq, QUEUE_ERR, QUEUE_RST), OK);
		net.sq.pi = 0;
		dbr_write(&net.sq, DBR_SEND, 0);
		assert_int_equal(sq_state(&net.sq, QUEUE_RST, QUEUE_RDY), OK);
		drive_send(f, numbered(i, 64), 0);
		expect_frame(f, 64);
		expect_done(0);
		net.sq.pi = 1;
		assert_int_equal(sq_state(&net.sq, QUEUE_RDY, QUEUE_RST), OK);
		net.sq.pi = 0;
		dbr_write(&net.sq, DBR_SEND, 0);
		assert_int_equal(sq_state(&net.sq, QUEUE_RST, QUEUE_RDY), OK);
	}
}

/* Bits that mean nothing without a capability: the packet is sent all the same. */
static void reserved(void **s)
{
	(void)s;
	static const struct {
		struct field field;
		uint32_t at;
	} bad[] = {
		{FIELD(0x00, 31, 24), 0},  /* opmod */
		{FIELD(0x04, 7, 6), 0},
		{FIELD(0x08, 15, 8), 0},
		{FIELD(0x00, 31, 0), 16},  /* software parser: offsets, */
		{FIELD(0x04, 23, 16), 16}, /* and what they refer to */
		{FIELD(0x04, 29, 28), 16}, /* inner checksums */
		{FIELD(0x08, 31, 0), 16},  /* metadata */
		{FIELD(0x0c, 30, 26), 16},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		post_spoilt(bad[i].field, bad[i].at, 1);
		rig_expect_violation("are reserved");
		expect_frame(f, 64);
		expect_done(i);
	}
}

/* A key of 50 bytes does not cover more, wherever they begin. */
static void small_key(void **s)
{
	(void)s;
	cmd_new(CREATE_MKEY, 0x110, 16);
	cmd_put_at(MKC_AT, MKC_LOCAL_READ, 1);
	cmd_put_at(MKC_AT, MKC_QPN, MKEY_NO_QPN);
	cmd_put_at(MKC_AT, MKC_PD, net.pd);
	put_be64(cmd.in + MKC_AT + MKC_LENGTH, 50);
	assert_int_equal(cmd_run(), OK);
	net.mkey = cmd_get(OUT_NUMBER) << 8;
	drive_send(f, numbered(1, 64), 0);
	rig_expect_violation("outside of it");
	expect_error(SYNDROME_LOCAL_PROTECTION);
}

static void flushed(void **s)
{
	(void)s;
	rig_fault_arg("send-error", 1);
	for (unsigned i = 0; i < 5; i++) {
		wqe_new(WQE_SEND);
		numbered(i, 64);
		wqe_data(f, 64);
		wqe_post();
	}
	drive_doorbell();
	expect_error(SYNDROME_LOCAL_QP_OP);
	for (unsigned i = 1; i < 5; i++) {
		const uint8_t *cqe = drive_sent();
		assert_non_null(cqe);
		assert_int_equal(cqe[CQE_OP_OWN] >> 4, CQE_REQ_ERROR);
		assert_int_equal(cqe[CQE_SYNDROME], SYNDROME_FLUSHED);
		assert_int_equal(be16(cqe + CQE_COUNTER), i);
	}
	assert_null(drive_sent());
	rig_fault_clear("send-error");
	drive_send(f, 64, 0); /* still in ERR */
	expect_error(SYNDROME_FLUSHED);
	/* What a driver must not do before the queue is in RST. */
	dbr_write(&net.sq, DBR_SEND, 0);
	uar_write64(net.uar, UAR_SQ_DB, WQE_SEND, net.sq.number << 8 | 4);
	rig_run(1000);
	rig_expect_violation("doorbell record 0");
}

static void states(void **s)
{
	(void)s;
	assert_int_equal(sq_state(&net.sq, QUEUE_RST, QUEUE_RDY), STATUS_BAD_RES_STATE);
	rig_expect_violation("state is 1, not 0");
	assert_int_equal(sq_state(&net.sq, QUEUE_RDY, QUEUE_ERR), OK);
	assert_int_equal(sq_state(&net.sq, QUEUE_ERR, QUEUE_RDY), STATUS_BAD_RES_STATE);
	rig_expect_violation("from state 3 to 1");
	assert_int_equal(sq_state(&net.sq, QUEUE_ERR, QUEUE_RST), OK);
	numbered(1, 64);
	wqe_new(WQE_SEND);
	wqe_data(f, 64);
	wqe_post();
	drive_doorbell();
	rig_expect_violation("not ready");
}

static void bad_doorbells(void **s)
{
	(void)s;
	uar_write64(net.uar, UAR_SQ_DB, 0, 0x2fff00);
	rig_expect_violation("SQ 0x2fff is not there");
	wqe_new(WQE_SEND);
	numbered(1, 64);
	wqe_data(f, 64);
	wqe_post();
	dbr_write(&net.sq, DBR_SEND, 1);
	uar_write64(net.uar, UAR_SQ_DB, 7 << 8, net.sq.number << 8);
	rig_expect_violation("its record says 1");
	dev_write(net.uar * PAGE + 0x900 + 8, 0);
	rig_expect_violation("no register");
}

static void bad_sqs(void **s)
{
	(void)s;
	static const struct {
		struct field field;
		uint32_t value;
		const char *text;
	} bad[] = {
		{FIELD(0x08, 23, 0), 0x1fff, "CQ"},
		{FIELD(0x2c, 23, 0), 0x999, "TIS"},
		{FIELD(0x00, 23, 20), 1, "RST"},
		{FIELD(0x00, 26, 24), 4, "min_wqe_inline_mode 4"},
		{FIELD(0x20, 31, 16), 2, "more than one TIS"},
		{FIELD(WQ_AT + 0x00, 26, 25), 2, "end_padding_mode 2"},
		{FIELD(WQ_AT + 0x00, 31, 28), 0, "cyclic"},
		{FIELD(WQ_AT + 0x08, 23, 0), 0x99, "PD"},
		{FIELD(WQ_AT + 0x0c, 23, 0), 1, "UAR"},
		{FIELD(WQ_AT + 0x14, 31, 0), 4, "doorbell record"},
		{FIELD(WQ_AT + 0x20, 19, 16), 7, "stride"},
		{FIELD(WQ_AT + 0x20, 4, 0), 16, "2^16"},
	};
	struct queue q;
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		sq_command(&q, &net.tx_cq);
		cmd_put_at(CONTEXT_AT, bad[i].field, bad[i].value);
		assert_int_not_equal(cmd_run(), OK);
		rig_expect_violation(bad[i].text);
	}
}

static void min_inline(void **s)
{
	(void)s;
	struct queue q = net.sq;
	rig_fault_arg("min-inline", INLINE_L2);
	struct queue refused;
	sq_command(&refused, &net.tx_cq);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("the vport wants 1");
	cmd_simple(DESTROY_SQ, q.number);
	sq_command(&net.sq, &net.tx_cq);
	cmd_put_at(CONTEXT_AT, SQC_MIN_INLINE, INLINE_L2);
	queue_run(&net.sq);
	assert_int_equal(sq_state(&net.sq, QUEUE_RST, QUEUE_RDY), OK);
	numbered(1, 100);
	wqe_new(WQE_SEND);
	wqe_inline(f, 14);
	wqe_data(f + 14, 86);
	wqe_post();
	drive_doorbell();
	expect_frame(f, 100);
	expect_done(0);
	drive_send(f, 100, 0);
	rig_expect_violation("min_wqe_inline_mode");
	expect_error(SYNDROME_LOCAL_QP_OP);
}

static void cq_overrun(void **s)
{
	(void)s;
	for (unsigned i = 0; i < (1u << TX_LOG) + 1; i++)
		drive_send(f, numbered(i, 64), 0); /* completions are not taken */
	rig_expect_violation("is full");
	const uint8_t *e = eq_next(&net.events);
	while (e && e[EQE_TYPE] == EVENT_PORT)
		e = eq_next(&net.events);
	assert_non_null(e);
	assert_int_equal(e[EQE_TYPE], EVENT_CQ_ERROR);
	assert_int_equal(be32(e + EQE_DATA), net.tx_cq.number);
}

static void stuck_and_lost(void **s)
{
	(void)s;
	rig_fault("send-stuck");
	drive_send(f, numbered(1, 64), 0);
	rig_run(1000000);
	assert_int_equal(rig_sent_count(), 0);
	rig_fault_clear("send-stuck");
	rig_run(1000);
	expect_frame(f, 64);
	expect_done(0);
	rig_fault_arg("completion-lost", 1);
	drive_send(f, 64, 0);
	expect_frame(f, 64);
	assert_null(drive_sent());
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, drive_net, rig_stop)

int main(void)
{
	seed_random("mlx5_tx");
	const struct CMUnitTest tests[] = {
		TEST(plain), TEST(padded), TEST(gathered), TEST(burst_with_one_doorbell),
		TEST(doorbell_in_one_write), TEST(record_alone_does_nothing),
		cmocka_unit_test_setup_teardown(line_rate, drive_net_line_rate, rig_stop),
		TEST(nothing_to_send), TEST(multi_packet), TEST(multi_packet_rows),
		cmocka_unit_test_setup_teardown(multi_packet_rows, drive_net_line_rate, rig_stop),
		TEST(multi_packet_fails), TEST(vlan), TEST(checksums),
		TEST(segmentation), TEST(armed), TEST(solicited), TEST(moderated), TEST(bad_wqes),
		TEST(reserved), TEST(small_key), TEST(flushed), TEST(states),
		TEST(bad_doorbells), TEST(bad_sqs), TEST(min_inline),
		TEST(cq_overrun), TEST(stuck_and_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
