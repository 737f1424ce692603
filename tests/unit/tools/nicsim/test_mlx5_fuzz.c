/*
 * The ConnectX-5 model against a hostile guest: commands with random contents, rings and doorbells
 * in any order, frames and time in between. The model may report any violations; ASan, UBSan and
 * the rig's checked DMA tell whether it stays within its bounds. Afterwards a reset must make it
 * work again.
 */
#include "tests/unit/rig/drive_mlx5.h"
#include "tests/unit/rig/nicsim_frames.h"

/* A number that may name an object. */
static uint32_t some_number(void)
{
	const uint32_t known[] = {net.uar,        net.pd,           net.td,      net.mkey,
	                          net.tis,        net.counter,      net.table,   net.group,
	                          net.tir,        net.events.number, net.sq.number, net.tx_cq.number,
	                          net.rq[0].number, net.rx_cq[0].number, net.rq[1].number,
	                          net.rx_cq[1].number, 0, 1};
	switch (random_below(4)) {
	case 0:
		return (uint32_t)random64();
	case 1:
		return random_below(64);
	default:
		return known[random_below(sizeof known / sizeof known[0])];
	}
}

static void some_command(void)
{
	static const uint16_t opcodes[] = {
		QUERY_HCA_CAP, SET_HCA_CAP, QUERY_PAGES, MANAGE_PAGES, CREATE_MKEY, DESTROY_MKEY,
		CREATE_EQ, DESTROY_EQ, QUERY_EQ, CREATE_CQ, DESTROY_CQ, QUERY_CQ, MODIFY_CQ,
		QUERY_VPORT_STATE, QUERY_NIC_VPORT_CONTEXT, MODIFY_NIC_VPORT_CONTEXT,
		QUERY_VPORT_COUNTER, ALLOC_Q_COUNTER, DEALLOC_Q_COUNTER, QUERY_Q_COUNTER, ALLOC_PD,
		DEALLOC_PD, ALLOC_UAR, DEALLOC_UAR, ACCESS_REG, CREATE_TIR, MODIFY_TIR, DESTROY_TIR,
		CREATE_SQ, MODIFY_SQ, DESTROY_SQ, CREATE_RQ, MODIFY_RQ, DESTROY_RQ, CREATE_TIS,
		DESTROY_TIS, CREATE_RQT, MODIFY_RQT, DESTROY_RQT, SET_FLOW_TABLE_ROOT,
		CREATE_FLOW_TABLE, DESTROY_FLOW_TABLE, CREATE_FLOW_GROUP, DESTROY_FLOW_GROUP,
		SET_FLOW_TABLE_ENTRY, DELETE_FLOW_TABLE_ENTRY, MODIFY_FLOW_TABLE};
	const unsigned n = random_below(sizeof opcodes / sizeof opcodes[0]);
	cmd_new(opcodes[n], 16 + 4 * random_below(random_below(2) ? 300 : 20),
	        16 + 4 * random_below(random_below(2) ? 1100 : 60));
	for (unsigned i = random_below(30); i; i--) {
		uint32_t at = 8 + 4 * random_below(random_below(2) ? 24 : 280);
		put_be32(cmd.in + at, random_below(4) ? some_number() : 1u << random_below(32));
	}
	if (random_below(2))
		put_be32(cmd.in + 8, some_number() & 0xffffff);
	if (random_below(10) == 0)
		put_be32(cmd.in + 4, random_below(4));
	cmd.slot = random_below(32);
	cmd_try();
}

static void some_wqe(void)
{
	static const uint8_t opcodes[] = {WQE_NOP, WQE_SEND, WQE_LSO, WQE_MULTI_PACKET};
	uint8_t *w = wqe_new(opcodes[random_below(4)]);
	struct flow flow = {.version = random_below(2) ? 4 : 6, .protocol = random_below(2) ? 6 : 17,
	                    .payload = random_below(1400), .tagged = random_below(2)};
	uint32_t bytes = make_ip(f, &flow);
	if (random_below(3) == 0)
		wqe_inline(f, random_below(80));
	for (unsigned i = random_below(4); i; i--)
		wqe_data(f, bytes);
	field_set(w + WQE_ETH, ETH_MSS, random_below(2000));
	field_set(w + WQE_ETH, ETH_CSUM, random_below(256));
	for (unsigned i = random_below(3) ? 0 : random_below(4); i; i--)
		w[random_below(96)] ^= (uint8_t)(1u << random_below(8));
	wqe_post();
	drive_doorbell();
}

static void some_write(void)
{
	static const uint16_t within[] = {0x20, 0x24, 0x40, 0x48, 0x800, 0x804, 0x900, 0xa04};
	uint32_t at = net.uar * PAGE + within[random_below(8)];
	if (random_below(8) == 0)
		at = random_below(BAR_BYTES / 4) * 4;
	if (at != CMDQ_ADDR_L && at != CMDQ_ADDR_H)
		dev_write(at, some_number());
}

static void some_memory(void)
{
	struct queue *queues[] = {&net.sq, &net.rq[0], &net.tx_cq, &net.rx_cq[0], &net.rq[1],
	                          &net.rx_cq[1]};
	struct queue *q = queues[random_below(6)];
	if (random_below(2))
		put_be32(rig_mem(q->dbr + 4 * random_below(2), 4), random_below(100));
	else
		queue_at(q, random_below(64))[random_below(16)] ^= (uint8_t)(1u << random_below(8));
}

static void something(unsigned faults)
{
	switch (random_below(6)) {
	case 0:
		some_command();
		break;
	case 1:
		some_wqe();
		break;
	case 2:
		some_write();
		break;
	case 3:
		some_memory();
		break;
	case 4:
		rig_gather();
		for (unsigned n = random_below(4) ? 1 : random_below(FRAME_BURST); n; n--)
			some_frames(1400, 1);
		rig_burst();
		break;
	default:
		rig_run(random_below(100000));
	}
	if (random_below(500) == 0)
		rig_fault_arg(rig.m->ops->faults[random_below(faults)].name, random_below(50));
	if (random_below(100) == 0)
		rig.m->faults = 0;
	if (random_below(100) == 0)
		rig.piece = random_below(2) ? 4096u << random_below(8) : 0;
}

static void anything(int (*start)(void **))
{
	unsigned faults = 0;
	start(NULL);
	while (rig.m->ops->faults[faults].name)
		faults++;
	drive_compressed(1, random_below(2) ? MINI_HASH : MINI_CHECKSUM);
	const uint64_t brk = rig.brk;
	for (unsigned i = 0; i < 2000; i++) {
		struct rig_frame out;
		rig.brk = brk;
		something(faults);
		while (rig_sent(&out))
			;
		assert_in_range(rig.m->ops->rx_room(rig.m, 64), 0, 64);
	}
	rig.m->faults = 0;
	rig_forgive();
	rig.m->ops->reset(rig.m);
	drive_begin();
	drive_init();
	rig_stop(NULL);
}

static void strict(void **s)
{
	(void)s;
	seed_random("strict");
	for (unsigned i = 0; i < 3; i++)
		anything(drive_net);
}

static void line_rate(void **s)
{
	(void)s;
	seed_random("line_rate");
	for (unsigned i = 0; i < 3; i++)
		anything(drive_net_line_rate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(strict), cmocka_unit_test(line_rate)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
