/*
 * The ConnectX-5 model from power-on to INIT_HCA and back: initialisation segment, command queue,
 * pages, capabilities; and every driver error there.
 */
#include "tests/unit/rig/drive_mlx5.h"

static int queue_only(void **state)
{
	(void)state;
	drive_queue(RIG_STRICT);
	return 0;
}

/* --- initialisation segment --- */

static void segment(void **s)
{
	(void)s;
	rig_start(&connectx5_ops, RIG_STRICT);
	assert_int_equal(dev_read(FW_REV) & 0xffff, 16);
	assert_int_equal(dev_read(CMDIF_REV) >> 16, CMDIF_REVISION);
	assert_int_equal(dev_read(CMDQ_ADDR_L), 0x56);
	assert_true(dev_read(INITIALIZING) >> 31);
	assert_int_equal(dev_read(HEALTH + HEALTH_FW_VER) >> 24, 16);
	rig_run(30000000);
	assert_false(dev_read(INITIALIZING) >> 31);
}

static void clocks_run(void **s)
{
	(void)s;
	uint32_t timer = dev_read(TIMER_L), beats = dev_read(HEALTH_COUNTER);
	rig_run(100000000);
	assert_in_range(dev_read(TIMER_L) - timer, 15625000, 15625000 + 200);
	assert_int_equal(dev_read(HEALTH_COUNTER) - beats, 10);
	assert_int_equal(dev_read(TIMER_H), 0);
	rig_run(60000000000);
	assert_int_equal(dev_read(TIMER_H), 2);
}

static void bytes_of_the_health_buffer(void **s)
{
	(void)s;
	assert_int_equal(model_read(rig.m, 0, HEALTH + HEALTH_SYNDROME, 1, rig.now), 0);
	rig_fault("health-syndrome");
	assert_int_equal(model_read(rig.m, 0, HEALTH + HEALTH_SYNDROME, 1, rig.now), HEALTH_FW_ERROR);
	rig_fault_clear("health-syndrome");
	assert_int_equal(model_read(rig.m, 0, HEALTH + HEALTH_SYNDROME, 1, rig.now), 0);
	assert_int_equal(model_read(rig.m, 0, HEALTH + HEALTH_FW_VER, 1, rig.now), 16);
}

static void initializing_stuck(void **s)
{
	(void)s;
	rig_start(&connectx5_ops, RIG_STRICT);
	rig_fault("initializing-stuck");
	rig_run(3000000000);
	assert_true(dev_read(INITIALIZING) >> 31);
	dev_write(CMDQ_ADDR_L, 0x10000);
	rig_expect_violation("CMDQ_ADDR_L written while INITIALIZING");
	rig_fault_clear("initializing-stuck");
	assert_false(dev_read(INITIALIZING) >> 31);
}

static void health_stuck(void **s)
{
	(void)s;
	rig_fault("health-stuck");
	uint32_t beats = dev_read(HEALTH_COUNTER);
	rig_run(1000000000);
	assert_int_equal(dev_read(HEALTH_COUNTER), beats);
	rig_fault_clear("health-stuck");
	assert_true(dev_read(HEALTH_COUNTER) > beats);
}

static void bad_accesses(void **s)
{
	(void)s;
	dev_write(FW_REV, 1);
	rig_expect_violation("FW_REV");
	dev_write(0x100, 1);
	rig_expect_violation("no register");
	model_write(rig.m, 0, CMD_DOORBELL, 2, 0, rig.now);
	rig_expect_violation("write of 2 bytes");
	model_write(rig.m, 0, CMD_DOORBELL + 2, 4, 0, rig.now);
	rig_expect_violation("aligned");
	assert_int_equal(rig_read(UAR_AT + 0x800), 0);
	assert_int_equal(rig_read(BAR_BYTES - 4), 0);
}

/* A driver that gives up tells the device by nic_interface, and can start again. */
static void let_go(void **s)
{
	(void)s;
	drive_enable();
	uint32_t low = dev_read(CMDQ_ADDR_L);
	dev_write(CMDQ_ADDR_L, (low & 0xfffff000) | 1 << 8);
	assert_int_equal(dev_read(CMDQ_ADDR_L) >> 8 & 7, 1);
	dev_write(CMDQ_ADDR_L, low & 0xfffff000);
	rig_run(2000000);
	drive_init();
}

/* --- commands: the entry --- */

static void takes_time(void **s)
{
	(void)s;
	cmd_new(ENABLE_HCA, 16, 16);
	assert_true(cmd_try());
	uint64_t before = rig.now;
	cmd_new(QUERY_ISSI, 16, 0x70);
	assert_int_equal(cmd_run(), OK);
	assert_true(rig.now > before);
	assert_int_equal(cmd_get(FIELD(0x6c, 31, 0)), 2);
}

static void every_slot(void **s)
{
	(void)s;
	cmd_simple(ENABLE_HCA, 0);
	for (cmd.slot = 0; cmd.slot < 32; cmd.slot++) {
		cmd_new(QUERY_ISSI, 16, 0x70);
		assert_int_equal(cmd_run(), OK);
	}
}

static void mailboxes_both_ways(void **s)
{
	(void)s;
	cmd_simple(ENABLE_HCA, 0);
	cmd_new(QUERY_HCA_CAP, 16, 16 + 4096);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + 16, FIELD(0x34, 9, 8)), 1);
	for (unsigned i = 16 + 256; i < 16 + 4096; i++)
		assert_int_equal(cmd.out[i], 0);
	drive_pages(PAGES_BOOT);
	drive_pages(PAGES_INIT); /* 64 pages: two mailboxes */
}

static uint32_t spoil_at;
static uint8_t spoil_value;

static void spoil_entry(uint8_t *entry, uint8_t *in, uint8_t *out)
{
	(void)in;
	(void)out;
	entry[spoil_at] = spoil_value;
}

static void spoil_in(uint8_t *entry, uint8_t *in, uint8_t *out)
{
	(void)entry;
	(void)out;
	in[spoil_at] ^= spoil_value;
}

static void spoil_out(uint8_t *entry, uint8_t *in, uint8_t *out)
{
	(void)entry;
	(void)in;
	out[spoil_at] ^= spoil_value;
}

/* A command with both kinds of mailboxes, corrupted in this way; returns its delivery status. */
static unsigned spoil(void (*how)(uint8_t *, uint8_t *, uint8_t *), uint32_t at, uint8_t value)
{
	cmd_new(QUERY_HCA_CAP, 0x420, 16 + 4096);
	cmd.spoil = how;
	spoil_at = at;
	spoil_value = value;
	assert_true(cmd_try());
	cmd.spoil = NULL;
	return cmd.delivery;
}

static void bad_entries(void **s)
{
	(void)s;
	static const struct {
		void (*how)(uint8_t *, uint8_t *, uint8_t *);
		uint32_t at;
		uint8_t value;
		enum delivery delivery;
		const char *text;
	} bad[] = {
		{spoil_entry, 0x00, 6, DELIVERY_BAD_TYPE, "type"},
		{spoil_entry, 0x02, 1, DELIVERY_RESERVED, "reserved"},
		{spoil_entry, 0x3e, 1, DELIVERY_RESERVED, "reserved"},
		{spoil_entry, 0x04, 1, DELIVERY_IN_LENGTH, "input length"},
		{spoil_entry, 0x38, 1, DELIVERY_OUT_LENGTH, "output length"},
		{spoil_entry, 0x0f, 4, DELIVERY_IN_POINTER, "input mailbox"},
		{spoil_entry, 0x08, 4, DELIVERY_IN_POINTER, "input mailbox"},
		{spoil_entry, 0x37, 8, DELIVERY_OUT_POINTER, "output mailbox"},
		{spoil_entry, 0x3c, 0, DELIVERY_TOKEN, "token"},
		{spoil_in, 0x23d, 0xff, DELIVERY_TOKEN, "token"},
		{spoil_in, 0x23b, 1, DELIVERY_BLOCK_NUMBER, "numbered"},
		{spoil_in, 0x230, 0x40, DELIVERY_IN_POINTER, "input mailbox"},
		{spoil_out, 0x23d, 0xff, DELIVERY_TOKEN, "token"},
		{spoil_out, 0x23b, 1, DELIVERY_BLOCK_NUMBER, "numbered"},
	};
	cmd_simple(ENABLE_HCA, 0);
	assert_int_equal(spoil(NULL, 0, 0), DELIVERY_OK);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(spoil(bad[i].how, bad[i].at, bad[i].value), bad[i].delivery);
		rig_expect_violation(bad[i].text);
	}
	assert_int_equal(spoil(NULL, 0, 0), DELIVERY_OK);
}

static void signatures(void **s)
{
	(void)s;
	cmd_simple(ENABLE_HCA, 0);
	cmd_new(QUERY_HCA_CAP, 16, 16 + 4096);
	cmd_put(IN_OP_MOD, 1);
	assert_int_equal(cmd_run(), OK);
	uint8_t general[256];
	memcpy(general, cmd.out + 16, 256);
	field_set(general, FIELD(0x40, 15, 14), 3);
	cmd_new(SET_HCA_CAP, 16 + 4096, 16);
	memcpy(cmd.in + 16, general, 256);
	assert_int_equal(cmd_run(), OK);
	cmd.sign = true;
	assert_int_equal(spoil(NULL, 0, 0), DELIVERY_OK);
	assert_int_equal(spoil(spoil_entry, 0x3d, 0x55), DELIVERY_SIGNATURE);
	rig_expect_violation("signature");
	assert_int_equal(spoil(spoil_in, 0x23f, 1), DELIVERY_SIGNATURE);
	rig_expect_violation("signature of a mailbox");
	assert_int_equal(spoil(spoil_in, 0x23e, 1), DELIVERY_SIGNATURE);
	rig_expect_violation("control signature");
	assert_int_equal(spoil(spoil_out, 0x23e, 1), DELIVERY_SIGNATURE);
	rig_expect_violation("control signature");
}

static void not_the_devices(void **s)
{
	(void)s;
	dev_write(CMD_DOORBELL, 1);
	rig_run(1000000);
	rig_expect_violation("entry 0 is not the device's");
}

/* --- commands: contents --- */

static void unknown_and_short(void **s)
{
	(void)s;
	cmd_new(0x666, 16, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_OP);
	assert_int_not_equal(cmd_get(OUT_SYNDROME), 0);
	assert_false(rig_violated()); /* a query is allowed */
	cmd_simple(ENABLE_HCA, 0);
	cmd_new(QUERY_ISSI, 8, 0x70);
	assert_int_equal(cmd_run(), STATUS_BAD_INPUT_LENGTH);
	rig_expect_violation("QUERY_ISSI: input of 8 bytes");
	cmd_new(QUERY_ISSI, 16, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_OUTPUT_LENGTH);
	rig_expect_violation("QUERY_ISSI: output of 16 bytes");
	cmd_new(QUERY_ISSI, 16, 0x70);
	cmd.in[3] = 1;
	assert_int_equal(cmd_run(), OK);
	rig_expect_violation("bits 0x00000001 are reserved");
	cmd_new(SET_ISSI, 16, 16);
	cmd_put(FIELD(0x08, 15, 0), 2);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("interface step 2");
}

static void states(void **s)
{
	(void)s;
	cmd_new(QUERY_HCA_CAP, 16, 16 + 4096);
	assert_int_equal(cmd_run(), STATUS_BAD_SYS_STATE);
	cmd_new(TEARDOWN_HCA, 16, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_SYS_STATE);
	drive_enable();
	cmd_new(ENABLE_HCA, 16, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_SYS_STATE);
	cmd_new(INIT_HCA, 16, 16);
	assert_int_equal(cmd_run(), STATUS_LIMIT);
	rig_expect_violation("16 pages given, 80 wanted");
	drive_pages(PAGES_INIT);
	cmd_simple(INIT_HCA, 0);
	cmd_new(INIT_HCA, 16, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_SYS_STATE);
	cmd_new(DISABLE_HCA, 16, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_SYS_STATE);
	rig_expect_violation("before TEARDOWN_HCA");
}

static uint32_t take(uint32_t most)
{
	cmd_new(MANAGE_PAGES, 16, 16 + 8 * most);
	cmd_put(IN_OP_MOD, PAGES_TAKE);
	cmd_put(PAGES_COUNT, most);
	assert_int_equal(cmd_run(), OK);
	return cmd_get(PAGES_TAKEN);
}

static void pages_come_back(void **s)
{
	(void)s;
	drive_init();
	assert_int_equal(take(10), 0); /* it needs them */
	cmd_simple(TEARDOWN_HCA, 0);
	cmd_new(DISABLE_HCA, 16, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_SYS_STATE);
	rig_expect_violation("80 pages");
	uint64_t seen[80];
	unsigned have = 0;
	while (have < 80) {
		uint32_t n = take(30);
		assert_int_equal(n, have < 60 ? 30 : 20);
		for (unsigned i = 0; i < n; i++)
			seen[have + i] = be64(cmd.out + 16 + 8 * i);
		have += n;
	}
	for (unsigned i = 0; i < 80; i++)
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(seen[i], seen[j]);
	assert_int_equal(take(1), 0);
	cmd_simple(DISABLE_HCA, 0);
	drive_init();
}

static enum status give_one(uint64_t page)
{
	cmd_new(MANAGE_PAGES, 24, 16);
	cmd_put(IN_OP_MOD, PAGES_GIVE);
	cmd_put(PAGES_COUNT, 1);
	put_be64(cmd.in + 16, page);
	return cmd_run();
}

static void bad_pages(void **s)
{
	(void)s;
	cmd_simple(ENABLE_HCA, 0);
	uint64_t page = rig_alloc(4096, 4096);
	assert_int_equal(give_one(page), OK);
	assert_int_equal(give_one(page), STATUS_BAD_PARAM);
	rig_expect_violation("given before");
	assert_int_equal(give_one(page + 512), STATUS_BAD_PARAM);
	rig_expect_violation("no page");
	assert_int_equal(give_one(RIG_MEMORY), STATUS_BAD_PARAM);
	rig_expect_violation("MANAGE_PAGES");
	cmd_new(MANAGE_PAGES, 24, 16);
	cmd_put(IN_OP_MOD, PAGES_GIVE);
	cmd_put(PAGES_COUNT, 2);
	assert_int_equal(cmd_run(), STATUS_BAD_INPUT_LENGTH);
	cmd_put(PAGES_COUNT, 100000);
	assert_int_equal(cmd_run(), STATUS_LIMIT);
	cmd_new(MANAGE_PAGES, 16, 16);
	cmd_put(IN_OP_MOD, PAGES_TAKE);
	cmd_put(PAGES_COUNT, 1);
	assert_int_equal(cmd_run(), STATUS_BAD_OUTPUT_LENGTH);
	cmd_put(IN_OP_MOD, 7);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	cmd_put(FIELD(0x08, 15, 0), 1);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("no other function");
}

static void capabilities(void **s)
{
	(void)s;
	cmd_simple(ENABLE_HCA, 0);
	cmd_new(QUERY_HCA_CAP, 16, 16 + 4096);
	cmd_put(IN_OP_MOD, CAP_ETHERNET << 1);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + 16, BIT(0, 31)), 1);
	cmd_put(IN_OP_MOD, CAP_FLOW_TABLE << 1);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + 16, BIT(0x40, 31)), 1);
	cmd_put(IN_OP_MOD, 99 << 1);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("capabilities 99");
}

static void setting_capabilities(void **s)
{
	(void)s;
	cmd_simple(ENABLE_HCA, 0);
	cmd_new(QUERY_HCA_CAP, 16, 16 + 4096);
	cmd_put(IN_OP_MOD, 1);
	assert_int_equal(cmd_run(), OK);
	uint8_t page[256];
	memcpy(page, cmd.out + 16, 256);
	cmd_new(SET_HCA_CAP, 16 + 4096, 16);
	memcpy(cmd.in + 16, page, 256);
	cmd_put_at(16, FIELD(0x40, 15, 14), 0);
	assert_int_equal(cmd_run(), OK);
	cmd_put_at(16, FIELD(0x90, 15, 0), 1);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("1 is more than 0");
	memcpy(cmd.in + 16, page, 256);
	cmd_put_at(16, FIELD(0x18, 4, 0), 24);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("cannot be set");
	cmd_put(IN_OP_MOD, CAP_ETHERNET << 1);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	cmd_new(SET_HCA_CAP, 16 + 64, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_INPUT_LENGTH);
	rig_expect_violation("not a whole page");
}

static void who(void **s)
{
	(void)s;
	drive_init();
	cmd_new(QUERY_ADAPTER, 16, 0x110);
	assert_int_equal(cmd_run(), OK);
	assert_string_equal((char *)cmd.out + 0x100, "MT_0000000012");
	cmd_new(SET_DRIVER_VERSION, 0x50, 16);
	strcpy((char *)cmd.in + 16, "Linux,mlx5_core,6.1.0");
	assert_int_equal(cmd_run(), OK);
	memset(cmd.in + 16, 'x', 64);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("does not end");
}

/* --- faults --- */

static void command_faults(void **s)
{
	(void)s;
	cmd_simple(ENABLE_HCA, 0);
	cmd_new(QUERY_ISSI, 16, 0x70);
	rig_fault_arg("command-timeout", 1);
	assert_false(cmd_try());
	rig_fault_clear("command-timeout");
	rig_fault_arg("command-status", 1);
	assert_int_equal(cmd_run(), STATUS_INTERNAL);
	assert_int_not_equal(cmd_get(OUT_SYNDROME), 0);
	rig_fault_clear("command-status");
	rig_fault_arg("command-delivery", 1);
	assert_true(cmd_try());
	assert_int_equal(cmd.delivery, DELIVERY_INTERNAL);
	rig_fault_clear("command-delivery");
	assert_int_equal(cmd_run(), OK);
	assert_false(rig_violated());
}

#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, rig_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(segment, NULL),
		TEST(clocks_run, queue_only),
		TEST(bytes_of_the_health_buffer, queue_only),
		TEST(initializing_stuck, NULL),
		TEST(health_stuck, queue_only),
		TEST(bad_accesses, queue_only),
		TEST(let_go, queue_only),
		TEST(takes_time, queue_only),
		TEST(every_slot, queue_only),
		TEST(mailboxes_both_ways, queue_only),
		TEST(bad_entries, queue_only),
		TEST(signatures, queue_only),
		TEST(not_the_devices, queue_only),
		TEST(unknown_and_short, queue_only),
		TEST(states, queue_only),
		TEST(pages_come_back, queue_only),
		TEST(bad_pages, queue_only),
		TEST(capabilities, queue_only),
		TEST(setting_capabilities, queue_only),
		TEST(who, queue_only),
		TEST(command_faults, queue_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
