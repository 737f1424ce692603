/* net/stp/bpdu: the octets of each type, validation (IEEE 802.1D-2004 9.3), every length. */
#include "tests/unit/rig/host.h"

#include "net/stp/bpdu.h"

#define BRIDGE 0x8000020000000007ull
#define PORT 0x8003

static const uint8_t source[ETH_ALEN] = {2, 0, 0, 0, 0, 9};

static const struct stp_bpdu rst = {
	.type = STP_BPDU_RST,
	.version = 2,
	.role = STP_BPDU_ROLE_DESIGNATED,
	.tc = true,
	.proposal = true,
	.learning = true,
	.priority = {.RootBridgeID = 0x1000020000000001ull,
	             .RootPathCost = 0x01020304,
	             .DesignatedBridgeID = 0x9000020000000002ull,
	             .DesignatedPortID = 0x8001},
	.times = {.MessageAge = 0x0100, .MaxAge = 0x1400, .HelloTime = 0x0200, .ForwardDelay = 0x0f00},
};

/* What every frame begins with; the length and the BPDU follow. */
static const uint8_t head[] = {1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 9};

static const uint8_t body[] = {
	0x10, 0, 2, 0, 0, 0, 0, 1, 1, 2, 3, 4, 0x90, 0, 2, 0, 0, 0, 0, 2, 0x80, 1,
	1, 0, 0x14, 0, 2, 0, 0x0f, 0,
};

static void expect_frame(const struct stp_bpdu *b, const uint8_t *start, unsigned n, bool with_body)
{
	uint8_t frame[STP_FRAME_LEN + 1], want[STP_FRAME_LEN] = {0};
	memset(frame, 0xee, sizeof frame);
	stp_bpdu_write(frame, source, b);
	memcpy(want, head, sizeof head);
	memcpy(want + sizeof head, start, n);
	if (with_body)
		memcpy(want + sizeof head + n, body, sizeof body);
	assert_memory_equal(frame, want, sizeof want);
	assert_int_equal(frame[STP_FRAME_LEN], 0xee);
}

static void test_octets(void **state)
{
	(void)state;
	struct stp_bpdu b = rst;
	static const uint8_t as_rst[] = {0, 39, 0x42, 0x42, 3, 0, 0, 2, 2, 0x1f};
	expect_frame(&b, as_rst, sizeof as_rst, true);
	b = (struct stp_bpdu){.type = STP_BPDU_RST, .role = STP_BPDU_ROLE_ALTERNATE, .forwarding = true,
	                      .agreement = true, .tcAck = true, .priority = rst.priority,
	                      .times = rst.times};
	static const uint8_t as_agreement[] = {0, 39, 0x42, 0x42, 3, 0, 0, 2, 2, 0x64};
	expect_frame(&b, as_agreement, sizeof as_agreement, true);
	b = rst;
	b.type = STP_BPDU_CONFIG; /* has no flags but these two */
	b.tcAck = true;
	static const uint8_t as_config[] = {0, 38, 0x42, 0x42, 3, 0, 0, 0, 0, 0x81};
	expect_frame(&b, as_config, sizeof as_config, true);
	b.type = STP_BPDU_TCN;
	static const uint8_t as_tcn[] = {0, 7, 0x42, 0x42, 3, 0, 0, 0, 0x80};
	expect_frame(&b, as_tcn, sizeof as_tcn, false);
}

static void expect_same(const struct stp_bpdu *a, const struct stp_bpdu *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->role, b->role);
	assert_int_equal(a->tc, b->tc);
	assert_int_equal(a->proposal, b->proposal);
	assert_int_equal(a->learning, b->learning);
	assert_int_equal(a->forwarding, b->forwarding);
	assert_int_equal(a->agreement, b->agreement);
	assert_true(a->priority.RootBridgeID == b->priority.RootBridgeID);
	assert_true(a->priority.DesignatedBridgeID == b->priority.DesignatedBridgeID);
	assert_int_equal(a->priority.RootPathCost, b->priority.RootPathCost);
	assert_int_equal(a->priority.DesignatedPortID, b->priority.DesignatedPortID);
	assert_memory_equal(&a->times, &b->times, sizeof a->times);
}

static void test_round_trip(void **state)
{
	(void)state;
	seed_random("round_trip");
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t frame[STP_FRAME_LEN];
		struct stp_bpdu b = {.type = STP_BPDU_RST, .role = 1 + random_below(3),
		                     .tc = random_below(2), .proposal = random_below(2),
		                     .learning = random_below(2), .forwarding = random_below(2),
		                     .agreement = random_below(2)};
		b.priority.RootBridgeID = random64();
		b.priority.DesignatedBridgeID = random64();
		b.priority.RootPathCost = (uint32_t)random64();
		b.priority.DesignatedPortID = (uint16_t)random64();
		random_fill(&b.times, sizeof b.times);
		stp_bpdu_write(frame, source, &b);
		struct stp_bpdu out;
		assert_int_equal(stp_bpdu_read(frame, sizeof frame, BRIDGE, PORT, &out), CNT_NONE);
		expect_same(&out, &b);
	}
}

/* Reads a frame with one octet changed. */
static enum counter read_with(const struct stp_bpdu *b, unsigned at, uint8_t value, struct stp_bpdu *out)
{
	uint8_t frame[STP_FRAME_LEN];
	stp_bpdu_write(frame, source, b);
	frame[at] = value;
	return stp_bpdu_read(frame, sizeof frame, BRIDGE, PORT, out);
}

static void test_refused(void **state)
{
	(void)state;
	struct stp_bpdu out;
	struct stp_bpdu config = rst, tcn = rst;
	config.type = STP_BPDU_CONFIG;
	tcn.type = STP_BPDU_TCN;
	static const struct { unsigned at; uint8_t value; } wrong[] = {
		{0, 3}, {5, 1},             /* another destination */
		{13, 38}, {13, 2}, {13, 0}, /* too short for its type */
		{13, 47},                   /* beyond the frame */
		{12, 8},                    /* a type */
		{14, 0xaa}, {15, 0xaa}, {16, 0xf3},
		{17, 1}, {18, 1},           /* protocol identifier */
		{19, 0}, {19, 1},           /* an RST BPDU of an STP version */
		{20, 1}, {20, 3}, {20, 0x82},
	};
	assert_int_equal(read_with(&rst, 13, 39, &out), CNT_NONE);
	for (unsigned i = 0; i < ARRAY_LEN(wrong); i++)
		assert_int_equal(read_with(&rst, wrong[i].at, wrong[i].value, &out),
		                 CNT_drop_stp_malformed);
	assert_int_equal(read_with(&config, 13, 37, &out), CNT_drop_stp_malformed);
	assert_int_equal(read_with(&config, 13, 38, &out), CNT_NONE);
	assert_int_equal(read_with(&tcn, 13, 6, &out), CNT_drop_stp_malformed);
	assert_int_equal(read_with(&tcn, 13, 7, &out), CNT_NONE);
	assert_int_equal(out.type, STP_BPDU_TCN);
}

/* What later versions send is read as far as we know it (9.3.4, 802.1Q-2018 14.6). */
static void test_later_versions(void **state)
{
	(void)state;
	struct stp_bpdu out, config = rst;
	assert_int_equal(read_with(&rst, 19, 3, &out), CNT_NONE); /* MSTP */
	assert_int_equal(out.version, 3);
	expect_same(&out, &rst);
	assert_int_equal(read_with(&rst, 13, 46, &out), CNT_NONE); /* with more octets */
	config.type = STP_BPDU_CONFIG;
	assert_int_equal(read_with(&config, 19, 9, &out), CNT_NONE);
	assert_int_equal(out.role, STP_BPDU_ROLE_DESIGNATED);
	assert_false(out.proposal);
	assert_false(out.learning);
	/* role Unknown: as a Configuration BPDU (9.2.9) */
	assert_int_equal(read_with(&rst, 21, 0x72, &out), CNT_NONE);
	assert_int_equal(out.role, STP_BPDU_ROLE_DESIGNATED);
	assert_false(out.proposal || out.learning || out.forwarding || out.agreement);
	/* an STP bridge sends no flags but two */
	assert_int_equal(read_with(&config, 21, 0x7e, &out), CNT_NONE);
	assert_false(out.tc || out.proposal || out.learning || out.agreement);
}

static void test_age_and_own(void **state)
{
	(void)state;
	uint8_t frame[STP_FRAME_LEN];
	struct stp_bpdu out, b = rst;
	b.type = STP_BPDU_CONFIG;
	b.times.MessageAge = b.times.MaxAge;
	stp_bpdu_write(frame, source, &b);
	assert_int_equal(stp_bpdu_read(frame, sizeof frame, BRIDGE, PORT, &out), CNT_drop_stp_age);
	b.times.MessageAge--;
	stp_bpdu_write(frame, source, &b);
	assert_int_equal(stp_bpdu_read(frame, sizeof frame, BRIDGE, PORT, &out), CNT_NONE);
	/* our own, by address and number: priorities may have changed */
	const uint64_t own = b.priority.DesignatedBridgeID ^ 0x3000000000000000ull;
	assert_int_equal(stp_bpdu_read(frame, sizeof frame, own, 0x1001, &out), CNT_drop_stp_own);
	assert_int_equal(stp_bpdu_read(frame, sizeof frame, own, 0x8002, &out), CNT_NONE);
	b.type = STP_BPDU_RST;
	stp_bpdu_write(frame, source, &b);
	assert_int_equal(stp_bpdu_read(frame, sizeof frame, own, 0x1001, &out), CNT_drop_stp_own);
}

/* Each prefix of a frame, in memory of that length (ASan), and a length field of any value. */
static void test_every_length(void **state)
{
	(void)state;
	uint8_t frame[STP_FRAME_LEN];
	struct stp_bpdu out;
	stp_bpdu_write(frame, source, &rst);
	for (unsigned n = 0; n <= sizeof frame; n++) {
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, frame, n);
		assert_int_equal(stp_bpdu_read(exact, n, BRIDGE, PORT, &out),
		                 n >= 53 ? CNT_NONE : CNT_drop_stp_malformed);
		for (unsigned length = 0; n > 13 && length < 256; length++) {
			exact[13] = (uint8_t)length;
			stp_bpdu_read(exact, n, BRIDGE, PORT, &out);
		}
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octets),         cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused),        cmocka_unit_test(test_later_versions),
		cmocka_unit_test(test_age_and_own),    cmocka_unit_test(test_every_length),
	};
	return cmocka_run_group_tests_name("stp_bpdu", tests, NULL, NULL);
}
