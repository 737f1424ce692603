/*
 * The ConnectX-5 model's objects: numbers and references; event queues and their interrupts, by the
 * commands' own events; completion queues and keys as far as commands go.
 */
#include "tests/unit/rig/drive_mlx5.h"

static enum status destroy(uint16_t opcode, uint32_t number)
{
	cmd_new(opcode, 16, 16);
	cmd_put(IN_NUMBER, number);
	return cmd_run();
}

/* --- numbers --- */

static void numbers(void **s)
{
	(void)s;
	uint32_t a = cmd_alloc(ALLOC_PD), b = cmd_alloc(ALLOC_PD);
	assert_int_not_equal(a, b);
	cmd_simple(DEALLOC_PD, a);
	assert_int_not_equal(cmd_alloc(ALLOC_PD), a); /* not reused so soon */
	assert_int_equal(destroy(DEALLOC_PD, a), STATUS_BAD_RESOURCE);
	rig_expect_violation("PD 0x10 is not there");
	assert_int_equal(destroy(DEALLOC_TRANSPORT_DOMAIN, b), STATUS_BAD_RESOURCE);
	rig_expect_violation("transport domain");
	assert_int_equal(destroy(DEALLOC_PD, 0xffffff), STATUS_BAD_RESOURCE);
	rig_forgive();
}

static void none_left(void **s)
{
	(void)s;
	unsigned n = 0;
	while (n < 100) {
		cmd_new(ALLOC_PD, 16, 16);
		if (cmd_run() != OK)
			break;
		n++;
	}
	assert_int_equal(n, 64);
	assert_int_equal(cmd_get(OUT_STATUS), STATUS_NO_RESOURCES);
	rig_expect_violation("no PD is left");
	cmd_simple(DEALLOC_PD, 0x20);
	assert_int_equal(cmd_alloc(ALLOC_PD), 0x20);
}

static void teardown_forgets(void **s)
{
	(void)s;
	uint32_t uar = cmd_alloc(ALLOC_UAR);
	struct queue eq;
	eq_command(&eq, 4, uar, 0, 0);
	queue_run(&eq);
	cmd_simple(TEARDOWN_HCA, 0);
	cmd_simple(INIT_HCA, 0);
	assert_int_equal(destroy(DESTROY_EQ, eq.number), STATUS_BAD_RESOURCE);
	rig_forgive();
}

static void counters(void **s)
{
	(void)s;
	uint32_t set = cmd_alloc(ALLOC_Q_COUNTER);
	assert_in_range(set, 1, 255);
	cmd_new(QUERY_Q_COUNTER, 0x20, 0x100);
	cmd_put(FIELD(0x1c, 7, 0), set);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(cmd_get(FIELD(0x30, 31, 0)), 0);
	cmd_put(FIELD(0x1c, 7, 0), set + 1);
	assert_int_equal(cmd_run(), STATUS_BAD_RESOURCE);
	rig_expect_violation("counter set");
	cmd_simple(DEALLOC_Q_COUNTER, set);
}

/* --- event queues --- */

#define COMMANDS (1ull << EVENT_COMMAND)

/* An EQ of 2^log entries that takes the commands' events, vector 3. */
static void command_eq(struct queue *eq, unsigned log)
{
	eq_command(eq, log, cmd_alloc(ALLOC_UAR), 3, COMMANDS);
	queue_run(eq);
}

static void nop(void)
{
	cmd_new(QUERY_ISSI, 16, 0x70);
	assert_int_equal(cmd_run(), OK);
}

static void command_events(void **s)
{
	(void)s;
	struct queue eq;
	command_eq(&eq, 4);
	assert_null(eq_next(&eq)); /* its own creation generates no event */
	assert_int_equal(rig.irqs[3], 0);
	eq_ring(&eq, true);
	cmd.slot = 5;
	nop();
	assert_int_equal(rig.irqs[3], 1);
	const uint8_t *e = eq_next(&eq);
	assert_non_null(e);
	assert_int_equal(e[EQE_TYPE], EVENT_COMMAND);
	assert_int_equal(be32(e + EQE_DATA), 1 << 5);
	nop(); /* not armed */
	assert_int_equal(rig.irqs[3], 1);
	eq_ring(&eq, true); /* one is already there */
	assert_int_equal(rig.irqs[3], 2);
	assert_non_null(eq_next(&eq));
	assert_null(eq_next(&eq));
	eq_ring(&eq, false);
	nop();
	assert_int_equal(rig.irqs[3], 2);
}

static void many_passes(void **s)
{
	(void)s;
	struct queue eq;
	command_eq(&eq, 7); /* two pages */
	for (unsigned i = 0; i < 700; i++) {
		nop();
		assert_non_null(eq_next(&eq));
		assert_null(eq_next(&eq));
		if (i % 50 == 0)
			eq_ring(&eq, false);
	}
	cmd_new(QUERY_EQ, 16, 0x110);
	cmd_put(IN_NUMBER, eq.number);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + EQC_AT, EQC_PI), 700);
	assert_int_equal(field_get(cmd.out + EQC_AT, EQC_STATE), EQ_FIRED);
	assert_int_equal(field_get(cmd.out + EQC_AT, EQC_UAR), eq.uar);
}

static void full(void **s)
{
	(void)s;
	struct queue eq;
	command_eq(&eq, 2);
	for (unsigned i = 0; i < 4; i++)
		nop();
	assert_false(rig_violated());
	nop();
	rig_expect_violation("is full");
}

static void bad_eqs(void **s)
{
	(void)s;
	struct queue eq;
	uint32_t uar = cmd_alloc(ALLOC_UAR);
	eq_command(&eq, 4, uar, 64, 0);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("no vector 64");
	eq_command(&eq, 4, uar + 1, 0, 0);
	assert_int_equal(cmd_run(), STATUS_BAD_RESOURCE);
	rig_expect_violation("UAR");
	eq_command(&eq, 4, uar, 0, 0);
	cmd_put_at(EQC_AT, EQC_LOG_SIZE, 17);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("2^17 entries");
	eq_command(&eq, 7, uar, 0, 0);
	cmd.in_bytes -= 8;
	assert_int_equal(cmd_run(), STATUS_BAD_INPUT_LENGTH);
	rig_expect_violation("2 pages");
	eq_command(&eq, 4, uar, 0, 0);
	put_be64(cmd.in + EQ_PAS_AT, eq.page[0] + 64);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("page 0");
	eq_command(&eq, 4, uar, 0, 0);
	put_be64(cmd.in + EQ_PAS_AT, RIG_MEMORY);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("page 0");
	eq_command(&eq, 4, uar, 0, 0);
	cmd_put_at(EQC_AT, EQC_OFFSET, 1);
	assert_int_equal(cmd_run(), OK);
	rig_expect_violation("reserved");
}

static void bad_doorbells(void **s)
{
	(void)s;
	struct queue eq;
	command_eq(&eq, 4);
	uint32_t other = cmd_alloc(ALLOC_UAR);
	eq.ci = 4;
	eq_ring(&eq, false);
	rig_expect_violation("consumer counter 0x4");
	eq.ci = 0;
	eq.uar = other;
	eq_ring(&eq, true);
	rig_expect_violation("is not there");
	eq.uar = other + 1;
	eq_ring(&eq, true);
	rig_expect_violation("not allocated");
}

static void held(void **s)
{
	(void)s;
	struct queue eq, cq;
	command_eq(&eq, 4);
	cq_command(&cq, 4, eq.uar, eq.number);
	queue_run(&cq);
	assert_int_equal(destroy(DEALLOC_UAR, eq.uar), STATUS_BAD_RES_STATE);
	rig_expect_violation("in use");
	assert_int_equal(destroy(DESTROY_EQ, eq.number), STATUS_BAD_RES_STATE);
	rig_expect_violation("in use");
	cmd_simple(DESTROY_CQ, cq.number);
	cmd_simple(DESTROY_EQ, eq.number);
	cmd_simple(DEALLOC_UAR, eq.uar);
}

/* --- completion queues --- */

static void cq_commands(void **s)
{
	(void)s;
	struct queue eq, cq;
	command_eq(&eq, 4);
	cq_command(&cq, 8, eq.uar, eq.number);
	cmd_put_at(CQC_AT, CQC_PERIOD, 16);
	queue_run(&cq);
	cmd_new(MODIFY_CQ, 0x110, 16);
	cmd_put(IN_NUMBER, cq.number);
	cmd_put(CQ_MODIFY, CQ_MODIFY_PERIOD | CQ_MODIFY_COUNT);
	cmd_put_at(CQC_AT, CQC_PERIOD, 8);
	cmd_put_at(CQC_AT, CQC_MAX_COUNT, 32);
	assert_int_equal(cmd_run(), OK);
	cmd_put(IN_OP_MOD, 1);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("resized");
	cq_ring(&cq, false);
	cmd_new(QUERY_CQ, 16, 0x110);
	cmd_put(IN_NUMBER, cq.number);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + CQC_AT, CQC_PERIOD), 8);
	assert_int_equal(field_get(cmd.out + CQC_AT, CQC_MAX_COUNT), 32);
	assert_int_equal(field_get(cmd.out + CQC_AT, CQC_STATE), CQ_STATE_ARMED);
}

static void bad_cqs(void **s)
{
	(void)s;
	struct queue eq, cq;
	command_eq(&eq, 4);
	cq_command(&cq, 4, eq.uar, eq.number + 1);
	assert_int_equal(cmd_run(), STATUS_BAD_RESOURCE);
	rig_expect_violation("EQ");
	cq_command(&cq, 4, eq.uar, eq.number);
	put_be64(cmd.in + CQC_AT + CQC_DBR, cq.dbr + 4);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("doorbell record");
	cq_command(&cq, 4, eq.uar, eq.number);
	cmd_put_at(CQC_AT, CQC_CQE_SIZE, 1);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("whole entries");
	cq_command(&cq, 4, eq.uar, eq.number);
	queue_run(&cq);
	dbr_write(&cq, 4, 6);
	uar_write64(cq.uar, UAR_CQ_ARM, 7, cq.number);
	rig_expect_violation("its record says 0x00000006");
	uar_write64(cq.uar, UAR_CQ_ARM, 0x02000006, cq.number);
	rig_expect_violation("bits 0x02000000 are reserved");
	uar_write64(cq.uar, UAR_CQ_ARM, 0, cq.number + 1);
	rig_expect_violation("is not there");
}

/* --- keys --- */

static void mkey_command(uint32_t pd)
{
	cmd_new(CREATE_MKEY, 0x110, 16);
	cmd_put_at(MKC_AT, MKC_LOCAL_READ, 1);
	cmd_put_at(MKC_AT, MKC_LOCAL_WRITE, 1);
	cmd_put_at(MKC_AT, MKC_QPN, MKEY_NO_QPN);
	cmd_put_at(MKC_AT, MKC_LENGTH64, 1);
	cmd_put_at(MKC_AT, MKC_PD, pd);
	cmd_put_at(MKC_AT, MKC_VARIANT, 0x5a);
}

static void keys(void **s)
{
	(void)s;
	uint32_t pd = cmd_alloc(ALLOC_PD);
	mkey_command(pd);
	assert_int_equal(cmd_run(), OK);
	uint32_t key = cmd_get(OUT_NUMBER);
	assert_int_equal(destroy(DEALLOC_PD, pd), STATUS_BAD_RES_STATE);
	rig_expect_violation("in use");
	cmd_simple(DESTROY_MKEY, key);
	cmd_simple(DEALLOC_PD, pd);
	mkey_command(pd);
	assert_int_equal(cmd_run(), STATUS_BAD_RESOURCE);
	rig_expect_violation("PD");
	pd = cmd_alloc(ALLOC_PD);
	mkey_command(pd);
	cmd_put_at(MKC_AT, MKC_MODE, 1);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("not PA");
	mkey_command(pd);
	cmd_put_at(MKC_AT, MKC_QPN, 5);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("bound to a QP");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, drive_ready, rig_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers), TEST(none_left), TEST(teardown_forgets), TEST(counters),
		TEST(command_events), TEST(many_passes), TEST(full), TEST(bad_eqs),
		TEST(bad_doorbells), TEST(held), TEST(cq_commands), TEST(bad_cqs), TEST(keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
