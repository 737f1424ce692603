/*
 * The ConnectX-5 model's receiving half: flow tables, vport filters, RSS, contents of completions,
 * and the causes of queue errors. Hashes are compared with those of "Verifying the RSS Hash
 * Calculation".
 */
#include "tests/unit/rig/drive_mlx5.h"
#include "tests/unit/rig/nicsim_frames.h"

static struct got got;

static void expect_received(unsigned queue, const void *data, uint32_t bytes)
{
	assert_true(drive_received(queue, &got));
	assert_int_equal(got.cqe[CQE_OP_OWN] >> 4, CQE_RECEIVED);
	assert_int_equal(got.bytes, bytes);
	assert_memory_equal(got.data, data, bytes);
}

static void expect_error(enum cqe_syndrome syndrome)
{
	assert_true(drive_received(0, &got));
	assert_int_equal(got.cqe[CQE_OP_OWN] >> 4, CQE_RX_ERROR);
	assert_int_equal(got.cqe[CQE_SYNDROME], syndrome);
	assert_int_equal(rq_state(&net.rq[0], QUEUE_ERR, QUEUE_RST), OK);
}

static uint32_t out_of_buffer(void)
{
	cmd_new(QUERY_Q_COUNTER, 0x20, 0x100);
	cmd_put(FIELD(0x1c, 7, 0), net.counter);
	assert_int_equal(cmd_run(), OK);
	return cmd_get(FIELD(0x30, 31, 0));
}

/* --- frames --- */

static void plain(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 200; i++) {
		uint32_t bytes = numbered(i, 60 + i);
		assert_true(rig_receive(f, bytes));
		expect_received(0, f, bytes);
		assert_int_equal(be32(got.cqe + CQE_FLAGS_RQPN), net.rq[0].number);
		drive_refill(0, 1);
	}
}

/* `count` frames of equal length, consecutive at `data`, arrive in one call. */
static void at_once(const uint8_t *data, unsigned count, uint32_t bytes)
{
	rig_gather();
	for (unsigned i = 0; i < count; i++)
		rig_force(data + i * bytes, bytes, 0);
	rig_burst();
}

static void bursts(void **s)
{
	(void)s;
	static uint8_t many[48 * 100];
	for (unsigned i = 0; i < sizeof many; i++)
		many[i] = (uint8_t)(i % 251);
	for (unsigned turn = 0; turn < 6; turn++) { /* around rings with 64 entries */
		cq_ring(&net.rx_cq[0], false);
		rig.irqs[2] = 0;
		eq_ring(&net.completions, true);
		at_once(many, 48, 100);
		assert_int_equal(rig.irqs[2], 1);
		while (eq_next(&net.completions))
			;
		for (unsigned i = 0; i < 48; i++) {
			expect_received(0, many + 100 * i, 100);
			assert_int_equal(be16(got.cqe + CQE_COUNTER), 48 * turn + i);
		}
		assert_false(drive_received(0, &got));
		drive_refill(0, 48);
	}
}

static void burst_without_room(void **s)
{
	(void)s;
	static uint8_t many[64 * 60];
	dbr_write(&net.rq[0], DBR_RECEIVE, 10);
	at_once(many, 64, 60);
	for (unsigned i = 0; i < 10; i++)
		expect_received(0, many, 60);
	assert_false(drive_received(0, &got));
	assert_int_equal(out_of_buffer(), 54);
}

static void burst_that_fails(void **s)
{
	(void)s;
	static uint8_t many[8 * 60];
	put_be32(queue_at(&net.rq[0], 3) + 4, net.mkey ^ 1);
	at_once(many, 8, 60);
	rig_expect_violation("no such key");
	for (unsigned i = 0; i < 3; i++)
		expect_received(0, many, 60);
	expect_error(SYNDROME_LOCAL_PROTECTION);
	assert_false(drive_received(0, &got));
	assert_int_equal(rig.m->rx_missed, 4);
}

static void short_ones_are_padded(void **s)
{
	(void)s;
	uint8_t want[60] = {0};
	numbered(1, 20);
	memcpy(want, f, 20);
	assert_true(rig_receive(f, 20));
	expect_received(0, want, 60);
}

static void too_long_and_damaged(void **s)
{
	(void)s;
	rig_force(f, numbered(1, 1519), 0); /* 1522 with FCS is the port's MTU */
	rig_force(f, numbered(1, 64), FRAME_BAD_FCS);
	assert_false(drive_received(0, &got));
	rig_force(f, numbered(1, 1518), 0);
	expect_received(0, f, 1518);
}

static void no_room(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 1u << RX_LOG; i++)
		assert_true(rig_receive(f, numbered(i, 64)));
	assert_false(rig_receive(f, 64));
	assert_in_range(rig.m->ops->deadline(rig.m), rig.now, rig.now + 20000); /* polls again */
	rig_force(f, 64, 0);
	assert_int_equal(out_of_buffer(), 1);
	assert_int_equal(rig.m->rx_missed, 1);
	assert_true(drive_received(0, &got));
	drive_refill(0, 1);
	assert_true(rig_receive(f, 64));
}

static void scattered(void **s)
{
	(void)s;
	struct queue cq, rq;
	cq_command(&cq, 6, net.uar, net.completions.number);
	queue_run(&cq);
	rq_command(&rq, &cq, 6); /* four data segments */
	queue_run(&rq);
	assert_int_equal(rq_state(&rq, QUEUE_RST, QUEUE_RDY), OK);
	uint64_t at = rig_alloc(4096, 4096);
	uint8_t *entry = queue_at(&rq, 0);
	for (unsigned i = 0; i < 3; i++) {
		put_be32(entry + 16 * i, 30 + i);
		put_be32(entry + 16 * i + 4, net.mkey);
		put_be64(entry + 16 * i + 8, at + 512 * i);
	}
	put_be32(entry + 52, LKEY_TERMINATE);
	dbr_write(&rq, DBR_RECEIVE, 1);
	cmd_new(CREATE_TIR, 0x110, 16);
	cmd_put_at(CONTEXT_AT, TIRC_RQN, rq.number);
	cmd_put_at(CONTEXT_AT, TIRC_TD, net.td);
	assert_int_equal(cmd_run(), OK);
	uint32_t tir = cmd_get(OUT_NUMBER);
	fte_command(net.table, net.group, 0, NULL, DEST_TIR, tir);
	assert_int_equal(cmd_run(), OK);
	assert_true(rig_receive(f, numbered(1, 90)));
	assert_non_null(cq_next(&cq));
	assert_memory_equal(rig_mem(at, 30), f, 30);
	assert_memory_equal(rig_mem(at + 512, 31), f + 30, 31);
	assert_memory_equal(rig_mem(at + 1024, 29), f + 61, 29);
}

/* --- contents of a completion --- */

static void contents(void **s)
{
	(void)s;
	static const struct {
		struct flow flow;
		uint8_t headers, ok;
	} table[] = {
		{{.version = 4, .protocol = 6, .payload = 100}, CQE_IPV4 | CQE_L4_TCP_DATA, 7},
		{{.version = 4, .protocol = 6}, CQE_IPV4 | CQE_L4_TCP_ACK, 7},
		{{.version = 6, .protocol = 17, .payload = 30}, CQE_IPV6 | CQE_L4_UDP, 7},
		{{.version = 4, .protocol = 1, .payload = 60}, CQE_IPV4, 3},
	};
	for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
		uint32_t bytes = make_ip(f, &table[i].flow);
		assert_true(rig_receive(f, bytes));
		expect_received(0, f, bytes);
		assert_int_equal(got.cqe[CQE_HEADERS], table[i].headers);
		assert_int_equal(got.cqe[CQE_OK], table[i].ok);
		assert_int_equal(be16(got.cqe + CQE_CHECKSUM), slow_sum(f + 14, bytes - 14, 0));
	}
	numbered(1, 64);
	assert_true(rig_receive(f, 64));
	expect_received(0, f, 64);
	assert_int_equal(got.cqe[CQE_OK], CQE_L2_OK);
}

static void wrong_sums(void **s)
{
	(void)s;
	uint32_t bytes = make_ip(f, &(struct flow){.version = 4, .protocol = 17, .payload = 99});
	f[40] ^= 1; /* UDP's checksum */
	assert_true(rig_receive(f, bytes));
	expect_received(0, f, bytes);
	assert_int_equal(got.cqe[CQE_OK], CQE_L2_OK | CQE_L3_OK);
	f[40] ^= 1;
	f[24] ^= 1; /* IP's checksum */
	assert_true(rig_receive(f, bytes));
	expect_received(0, f, bytes);
	assert_int_equal(got.cqe[CQE_OK], CQE_L2_OK | CQE_L4_OK);
}

static void tags(void **s)
{
	(void)s;
	const struct flow flow = {
		.version = 4, .protocol = 6, .payload = 100, .tagged = true, .tci = 0xa123};
	static uint8_t want[200];
	uint32_t bytes = make_ip(f, &flow);
	memcpy(want, f, 12);
	memcpy(want + 12, f + 16, bytes - 16);
	assert_true(rig_receive(f, bytes));
	expect_received(0, want, bytes - 4);
	assert_int_equal(got.cqe[CQE_HEADERS], CQE_STRIPPED | CQE_IPV4 | CQE_L4_TCP_DATA);
	assert_int_equal(be16(got.cqe + CQE_VLAN), 0xa123);
	assert_int_equal(got.cqe[CQE_OK], 7);
	assert_int_equal(be16(got.cqe + CQE_CHECKSUM), slow_sum(want + 14, bytes - 18, 0));
	cmd_new(MODIFY_RQ, 0x110, 16);
	cmd_put(IN_NUMBER, net.rq[0].number);
	cmd_put(MODIFY_STATE, QUEUE_RDY);
	cmd_put(MODIFY_MASK, RQ_MODIFY_KEEP_VLAN);
	cmd_put_at(CONTEXT_AT, RQC_STATE, QUEUE_RDY);
	cmd_put_at(CONTEXT_AT, RQC_KEEP_VLAN, 1);
	assert_int_equal(cmd_run(), OK);
	assert_true(rig_receive(f, bytes));
	expect_received(0, f, bytes);
}

/* --- the vport --- */

static void vport(uint32_t promisc, unsigned list, uint64_t address)
{
	cmd_new(MODIFY_NIC_VPORT_CONTEXT, 0x208, 16);
	cmd_put(VPORT_SELECT, SELECT_PROMISC | SELECT_ADDRESSES);
	cmd_put_at(VPORT_MODIFY_AT, VPORT_PROMISC, promisc);
	cmd_put_at(VPORT_MODIFY_AT, VPORT_LIST_TYPE, list);
	cmd_put_at(VPORT_MODIFY_AT, VPORT_LIST_SIZE, address != 0);
	put_be64(cmd.in + VPORT_MODIFY_AT + VPORT_LIST, address);
	assert_int_equal(cmd_run(), OK);
}

static bool arrives(uint64_t address)
{
	numbered(1, 64);
	put_be16(f, (uint32_t)(address >> 32));
	put_be32(f + 2, (uint32_t)address);
	assert_true(rig_receive(f, 64));
	return drive_received(0, &got);
}

static void addresses(void **s)
{
	(void)s;
	const uint64_t mine = 0x02005e005301, other = 0x020000000001, group = 0x01005e000001;
	const uint64_t broadcast = 0xffffffffffff;
	vport(0, LIST_UNICAST, 0);
	assert_true(arrives(mine));
	assert_false(arrives(other));
	assert_false(arrives(group));
	assert_false(arrives(broadcast));
	vport(0, LIST_UNICAST, other);
	assert_true(arrives(other));
	vport(0, LIST_MULTICAST, group);
	assert_true(arrives(group));
	assert_false(arrives(group + 1));
	vport(PROMISC_MULTICAST, LIST_MULTICAST, 0);
	assert_true(arrives(group + 1));
	assert_true(arrives(broadcast));
	assert_false(arrives(other + 1));
	vport(PROMISC_UNICAST, LIST_MULTICAST, 0);
	assert_true(arrives(other + 1));
	assert_false(arrives(group));
	cmd_new(QUERY_NIC_VPORT_CONTEXT, 16, 0x118);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(be64(cmd.out + VPORT_QUERY_AT + VPORT_PERMANENT), mine);
	assert_int_equal(field_get(cmd.out + VPORT_QUERY_AT, VPORT_LIST_SIZE), 1);
	assert_int_equal(be64(cmd.out + VPORT_QUERY_AT + VPORT_LIST), other);
	cmd_new(MODIFY_NIC_VPORT_CONTEXT, 0x208, 16);
	cmd_put(VPORT_SELECT, SELECT_ADDRESSES);
	cmd_put_at(VPORT_MODIFY_AT, VPORT_LIST_SIZE, 1);
	put_be64(cmd.in + VPORT_MODIFY_AT + VPORT_LIST, group);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("no address for list 0");
}

/* --- loopback of sent frames --- */

static void local_lb(uint32_t select, uint32_t disabled)
{
	cmd_new(MODIFY_NIC_VPORT_CONTEXT, 0x200, 16);
	cmd_put(VPORT_SELECT, select);
	cmd_put_at(VPORT_MODIFY_AT, VPORT_LOCAL_LB, disabled);
	assert_int_equal(cmd_run(), OK);
}

static void self_lb(uint32_t allowed)
{
	cmd_new(MODIFY_TIR, 0x110, 16);
	cmd_put(IN_NUMBER, net.tir);
	cmd_put(MODIFY_MASK, TIR_MODIFY_SELF_LB);
	cmd_put_at(CONTEXT_AT, TIRC_SELF_LB, allowed);
	assert_int_equal(cmd_run(), OK);
}

/* Sends a frame, tagged by the card: does it reach the wire, and come back? */
static void expect_loop(uint64_t to, bool leaves, bool returns)
{
	struct rig_frame out;
	uint32_t bytes = numbered(1, 64);
	put_be16(f, (uint32_t)(to >> 32));
	put_be32(f + 2, (uint32_t)to);
	uint8_t *w = wqe_new(WQE_SEND);
	field_set(w + WQE_ETH, ETH_INSERT_VLAN, 1);
	field_set(w + WQE_ETH, ETH_VLAN, 5);
	wqe_data(f, bytes);
	wqe_post();
	drive_doorbell();
	assert_non_null(drive_sent());
	assert_int_equal(rig_sent(&out), leaves);
	if (leaves) {
		assert_int_equal(out.bytes, 68);
		assert_memory_equal(out.data + 16, f + 12, 52);
	}
	assert_int_equal(drive_received(0, &got), returns);
	if (returns) {
		assert_int_equal(got.bytes, 64);
		assert_memory_equal(got.data, f, 64);
	}
}

static void own_frames(void **s)
{
	(void)s;
	const uint64_t mine = 0x02005e005301, other = 0x020000000001, group = 0x01005e000001;
	vport(0, LIST_MULTICAST, group);
	expect_loop(mine, true, false); /* disabled by drive_net */
	local_lb(SELECT_NO_LB_UNICAST, 0);
	expect_loop(mine, false, false); /* the TIR is in the same transport domain */
	expect_loop(group, true, false);
	self_lb(SELF_LB_UNICAST);
	expect_loop(mine, false, true);
	expect_loop(other, true, false);
	local_lb(SELECT_NO_LB_MULTICAST, 0);
	expect_loop(group, true, false);
	self_lb(SELF_LB_MULTICAST);
	expect_loop(mine, false, false);
	expect_loop(group, true, true);
	expect_loop(group + 1, true, false);
	vport(PROMISC_ALL, LIST_MULTICAST, 0); /* accepts what others send */
	expect_loop(other, true, false);
}

/* --- flow tables --- */

/* UDP to port 53 goes to queue 1, by entry 5 of `high`; what misses there goes to the first table,
 * to queue 0. */
static void by_port(uint32_t *high, uint32_t *udp, uint8_t value[64])
{
	drive_rq(1);
	cmd_new(CREATE_TIR, 0x110, 16);
	cmd_put_at(CONTEXT_AT, TIRC_RQN, net.rq[1].number);
	cmd_put_at(CONTEXT_AT, TIRC_TD, net.td);
	assert_int_equal(cmd_run(), OK);
	uint32_t tir = cmd_get(OUT_NUMBER);
	uint8_t mask[64] = {0};
	memset(value, 0, 64);
	field_set(mask, MATCH_PROTOCOL, 0xff);
	field_set(value, MATCH_PROTOCOL, 17);
	field_set(mask, MATCH_UDP_PORTS, 0xffff);
	field_set(value, MATCH_UDP_PORTS, 53);
	cmd_new(DELETE_FLOW_TABLE_ENTRY, 0x40, 16);
	cmd_put(FLOW_TABLE, net.table);
	cmd_put(FTE_INDEX, 15);
	assert_int_equal(cmd_run(), OK);
	uint32_t low = flow_table(1, 4, 0), all = flow_group(low, 0, 0, NULL);
	*high = flow_table(0, 4, low);
	*udp = flow_group(*high, 4, 7, mask);
	fte_command(low, all, 0, NULL, DEST_TIR, net.tir);
	assert_int_equal(cmd_run(), OK);
	fte_command(*high, *udp, 5, value, DEST_TIR, tir);
	cmd_put_at(FTE_AT, FTE_TAG, 0x1234);
	assert_int_equal(cmd_run(), OK);
	flow_root(*high);
}

static void tables(void **s)
{
	(void)s;
	uint8_t value[64];
	uint32_t high, udp;
	by_port(&high, &udp, value);
	struct flow flow = {.version = 4, .protocol = 17, .dport = 53, .payload = 40};
	uint32_t bytes = make_ip(f, &flow);
	assert_true(rig_receive(f, bytes));
	expect_received(1, f, bytes);
	assert_int_equal(be32(got.cqe + CQE_OPCODE_QPN), 0x1234);
	flow.dport = 54;
	bytes = make_ip(f, &flow);
	assert_true(rig_receive(f, bytes));
	expect_received(0, f, bytes);
	/* An entry before it drops the frames, */
	fte_command(high, udp, 4, value, 0, 0);
	cmd_put_at(FTE_AT, FTE_ACTION, ACTION_DROP);
	cmd_put_at(FTE_AT, FTE_DESTINATIONS, 0);
	assert_int_equal(cmd_run(), OK);
	flow.dport = 53;
	bytes = make_ip(f, &flow);
	assert_true(rig_receive(f, bytes));
	assert_false(drive_received(1, &got));
	/* and is changed to send them to queue 0. */
	fte_command(high, udp, 4, value, DEST_TIR, net.tir);
	cmd_put(IN_OP_MOD, 1);
	cmd_put(FTE_MODIFY, FTE_MODIFY_LIST | FTE_MODIFY_ACTION);
	assert_int_equal(cmd_run(), OK);
	assert_true(rig_receive(f, bytes));
	expect_received(0, f, bytes);
}

/* In a burst each frame is steered by itself, however similar to the one before. */
static void tables_in_a_burst(void **s)
{
	(void)s;
	static uint8_t many[FRAME_BURST * 100], value[64];
	static const uint16_t dport[] = {53, 53, 54, 53, 55, 55, 53, 53};
	uint32_t high, udp, bytes = 0;
	by_port(&high, &udp, value);
	for (unsigned i = 0; i < 16; i++) {
		const struct flow flow = {.version = 4, .protocol = i < 8 ? 17 : 6,
		                          .dport = dport[i % 8], .payload = 20 + (i < 8 ? 12 : 0)};
		bytes = make_ip(f, &flow);
		memcpy(many + i * bytes, f, bytes);
	}
	at_once(many, 16, bytes);
	for (unsigned i = 0; i < 16; i++) {
		const bool to_1 = i < 8 && dport[i] == 53;
		expect_received(to_1, many + i * bytes, bytes);
		assert_int_equal(be32(got.cqe + CQE_OPCODE_QPN) & 0xffffff, to_1 ? 0x1234 : 0);
	}
}

static void bad_tables(void **s)
{
	(void)s;
	uint32_t table = flow_table(3, 4, 0), group = flow_group(table, 0, 3, NULL);
	cmd_new(CREATE_FLOW_GROUP, 0x400, 16);
	cmd_put(FLOW_TABLE, table);
	cmd_put(GROUP_START, 3);
	cmd_put(GROUP_END, 5);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("another group's");
	cmd_put(GROUP_START, 8);
	cmd_put(GROUP_END, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("of 16");
	cmd_put(GROUP_END, 9);
	cmd_put(GROUP_CRITERIA, 2);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("criteria");
	cmd_put(GROUP_CRITERIA, 0);
	cmd.in[GROUP_MATCH] = 1;
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("criteria");
	fte_command(table, group, 4, NULL, DEST_TIR, net.tir);
	assert_int_equal(cmd_run(), STATUS_BAD_INDEX);
	rig_expect_violation("not of the group");
	fte_command(table, group, 1, NULL, DEST_TABLE, net.table);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("from level 3 to level 0");
	fte_command(table, group, 1, NULL, DEST_TIR, 0x123);
	assert_int_equal(cmd_run(), STATUS_BAD_RESOURCE);
	rig_expect_violation("TIR");
	fte_command(net.table, net.group, 15, NULL, DEST_TIR, net.tir);
	assert_int_equal(cmd_run(), STATUS_BAD_INDEX);
	rig_expect_violation("entry 15 is there");
	cmd_new(DESTROY_FLOW_TABLE, 0x40, 16);
	cmd_put(FLOW_TABLE, net.table);
	assert_int_equal(cmd_run(), STATUS_BAD_RES_STATE);
	rig_expect_violation("in use");
	cmd_new(DESTROY_TIR, 16, 16);
	cmd_put(IN_NUMBER, net.tir);
	assert_int_equal(cmd_run(), STATUS_BAD_RES_STATE);
	rig_expect_violation("in use");
}

/* --- RSS --- */

static const uint8_t key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/* Everything goes to a new TIR: Toeplitz over what is selected, for TCP and IPv4, to four
 * queues. */
static void spread(uint32_t selected, bool symmetric)
{
	for (unsigned i = 1; i < 4; i++)
		drive_rq(i);
	cmd_new(CREATE_RQT, CONTEXT_AT + RQTC_LIST + 4 * 8, 16);
	cmd_put_at(CONTEXT_AT, RQTC_MAX, 8);
	cmd_put_at(CONTEXT_AT, RQTC_SIZE, 8);
	for (unsigned i = 0; i < 8; i++)
		put_be32(cmd.in + CONTEXT_AT + RQTC_LIST + 4 * i, net.rq[i % 4].number);
	assert_int_equal(cmd_run(), OK);
	uint32_t rqt = cmd_get(OUT_NUMBER);
	cmd_new(CREATE_TIR, 0x110, 16);
	cmd_put_at(CONTEXT_AT, TIRC_TYPE, TIR_INDIRECT);
	cmd_put_at(CONTEXT_AT, TIRC_RQT, rqt);
	cmd_put_at(CONTEXT_AT, TIRC_TD, net.td);
	cmd_put_at(CONTEXT_AT, TIRC_HASH, HASH_TOEPLITZ);
	cmd_put_at(CONTEXT_AT, TIRC_SYMMETRIC, symmetric);
	cmd_put_at(CONTEXT_AT, TIRC_SELECTED, selected);
	memcpy(cmd.in + CONTEXT_AT + TIRC_KEY, key, sizeof key);
	assert_int_equal(cmd_run(), OK);
	uint32_t tir = cmd_get(OUT_NUMBER);
	fte_command(net.table, net.group, 0, NULL, DEST_TIR, tir);
	assert_int_equal(cmd_run(), OK);
}

static void hashes(void **s)
{
	(void)s;
	struct flow flow = {.version = 4, .protocol = 6, .payload = 20,
	                    .src = {66, 9, 149, 187}, .dst = {161, 142, 100, 80},
	                    .sport = 2794, .dport = 1766};
	const uint32_t with_ports = 0x51ccc178, without = 0x323e8fc2;
	spread(SELECT_SRC_IP | SELECT_DST_IP | SELECT_SRC_PORT | SELECT_DST_PORT, false);
	uint32_t bytes = make_ip(f, &flow);
	assert_true(rig_receive(f, bytes));
	expect_received(with_ports % 8 % 4, f, bytes);
	assert_int_equal(be32(got.cqe + CQE_RSS_HASH), with_ports);
	assert_int_equal(got.cqe[CQE_RSS_TYPE], RSS_IPV4 | RSS_TCP);
	flow.protocol = 17; /* not of the TIR's kind: only addresses are hashed */
	bytes = make_ip(f, &flow);
	assert_true(rig_receive(f, bytes));
	expect_received(without % 8 % 4, f, bytes);
	assert_int_equal(be32(got.cqe + CQE_RSS_HASH), without);
	assert_int_equal(got.cqe[CQE_RSS_TYPE], RSS_IPV4);
}

static void symmetric(void **s)
{
	(void)s;
	struct flow there = {.version = 4, .protocol = 6, .payload = 20, .src = {66, 9, 149, 187},
	                     .dst = {161, 142, 100, 80}, .sport = 2794, .dport = 1766};
	struct flow back = there;
	memcpy(back.src, there.dst, 4);
	memcpy(back.dst, there.src, 4);
	back.sport = there.dport;
	back.dport = there.sport;
	spread(SELECT_SRC_IP | SELECT_DST_IP | SELECT_SRC_PORT | SELECT_DST_PORT, true);
	uint32_t hash[2];
	for (unsigned i = 0; i < 2; i++) {
		uint32_t bytes = make_ip(f, i ? &back : &there);
		assert_true(rig_receive(f, bytes));
		unsigned q = 0;
		while (q < 4 && !drive_received(q, &got))
			q++;
		assert_in_range(q, 0, 3);
		hash[i] = be32(got.cqe + CQE_RSS_HASH);
	}
	assert_int_equal(hash[0], hash[1]);
}

/* --- compressed completions --- */

#define SESSION_FRAMES 32 /* at most */

/* Frames seq to seq + n - 1 arrive in one burst. */
static void burst(uint32_t seq, unsigned n)
{
	rig_gather();
	for (; n; n--, seq++)
		rig_force(f, numbered(seq, 60 + seq % 900), 0);
	rig_burst();
}

static void take_places(unsigned n)
{
	struct queue *cq = &net.rx_cq[1];
	for (; n; n--)
		queue_at(cq, cq->ci++)[CQE_OP_OWN] = CQE_INVALID << 4;
	cq_read_to(cq);
}

static void expect_frame(uint32_t seq, const uint8_t *mini, enum mini_format format)
{
	const uint32_t bytes = numbered(seq, 60 + seq % 900);
	const uint64_t at = net.buffers[1] + (seq & ((1u << RX_LOG) - 1)) * BUFFER;
	const uint32_t sum = format == MINI_CHECKSUM ? slow_sum(f + 14, bytes - 14, 0) : 0;
	assert_int_equal(be32(mini + MINI_CQE_BYTE_COUNT), bytes);
	assert_int_equal(be32(mini), sum << 16); /* no known protocol: the hash is 0 */
	assert_memory_equal(rig_mem(at, bytes), f, bytes);
}

/* A session of such frames, at the head of the CQ. */
static void expect_session(uint32_t seq, unsigned n, enum mini_format format)
{
	const struct queue *cq = &net.rx_cq[1];
	const uint8_t *title = queue_at(cq, cq->ci), owner = cq->ci >> RX_LOG & 1;
	assert_int_equal(title[CQE_OP_OWN], CQE_RECEIVED << 4 | CQE_COMPRESSED | owner);
	assert_int_equal(be32(title + CQE_BYTE_COUNT), n);
	assert_int_equal(be16(title + CQE_COUNTER), seq & 0xffff);
	assert_int_equal(be32(title + CQE_FLAGS_RQPN), net.rq[1].number);
	assert_int_equal(title[CQE_OK], CQE_L2_OK);
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *minis = queue_at(cq, cq->ci + (i < 8 ? 1 : i & ~7u));
		expect_frame(seq + i, minis + i % 8 * MINI_CQE_BYTES, format);
		if (i > 1 && i % 8)
			assert_int_equal(queue_at(cq, cq->ci + i)[CQE_OP_OWN] >> 4, CQE_INVALID);
	}
	take_places(n);
	drive_refill(1, n);
}

static void expect_single(uint32_t seq)
{
	const uint32_t bytes = numbered(seq, 60 + seq % 900);
	const uint8_t *cqe = queue_at(&net.rx_cq[1], net.rx_cq[1].ci);
	assert_int_equal(be16(cqe + CQE_COUNTER), seq & 0xffff);
	expect_received(1, f, bytes);
	net.rx_cq[1].ci--;
	take_places(1);
	drive_refill(1, 1);
}

static void expect_nothing(void)
{
	assert_false(drive_received(1, &got));
}

/* Of every length, at every place of the CQ. */
static void sessions(enum mini_format format)
{
	uint32_t seq = 0;
	drive_compressed(1, format);
	for (unsigned n = 2; n <= SESSION_FRAMES; seq += n++) {
		burst(seq, n);
		expect_session(seq, n, format);
		expect_nothing();
	}
	for (unsigned round = 0; round < 70; round++, seq += SESSION_FRAMES + 1) {
		burst(seq, SESSION_FRAMES + 1); /* one more than a session can have */
		expect_session(seq, SESSION_FRAMES, format);
		expect_single(seq + SESSION_FRAMES);
		expect_nothing();
	}
}

static void sessions_with_hashes(void **s)
{
	(void)s;
	sessions(MINI_HASH);
}

static void sessions_with_sums(void **s)
{
	(void)s;
	sessions(MINI_CHECKSUM);
}

/* A frame that does not match a title begins another one; so does a frame behind a gap. */
static void sessions_end(void **s)
{
	(void)s;
	static const struct flow udp = {.version = 4, .protocol = 17, .payload = 40};
	struct queue *cq = &net.rx_cq[1];
	drive_compressed(1, MINI_CHECKSUM);
	rig_gather();
	for (unsigned i = 0; i < 8; i++) {
		uint32_t bytes = make_ip(f, &udp);
		f[40] ^= i == 3; /* UDP's checksum */
		rig_force(f, bytes, 0);
	}
	rig_burst();
	assert_int_equal(be32(queue_at(cq, 0) + CQE_BYTE_COUNT), 3);
	assert_int_equal(queue_at(cq, 0)[CQE_OK], 7);
	assert_int_equal(be32(queue_at(cq, 3) + CQE_BYTE_COUNT), 82);
	assert_int_equal(queue_at(cq, 3)[CQE_OP_OWN], CQE_RECEIVED << 4);
	assert_int_equal(queue_at(cq, 3)[CQE_OK], 3);
	assert_int_equal(be32(queue_at(cq, 4) + CQE_BYTE_COUNT), 4);
	assert_int_equal(queue_at(cq, 4)[CQE_OK], 7);
	take_places(8);
	rig_fault_arg("completion-lost", 4);
	burst(8, 8);
	rig_fault_clear("completion-lost");
	for (unsigned i = 8; i < 14; i += 3) {
		assert_int_equal(be32(queue_at(cq, i) + CQE_BYTE_COUNT), 3);
		assert_int_equal(be16(queue_at(cq, i) + CQE_COUNTER), i == 8 ? 8 : 12);
	}
	take_places(6);
	expect_nothing();
	rig_fault_arg("receive-error", 1);
	burst(0, 1);
	assert_int_equal(queue_at(cq, 14)[CQE_OP_OWN] >> 4, CQE_RX_ERROR);
}

/* The flow tag is in the title only, so frames of one session have the same. */
static void sessions_have_one_tag(void **s)
{
	(void)s;
	struct queue *cq = &net.rx_cq[1];
	uint8_t odd[64] = {0};
	odd[MATCH_UDP_PORTS.at + 3] = 1;
	drive_compressed(1, MINI_CHECKSUM);
	cmd_new(CREATE_TIR, 0x110, 16);
	cmd_put_at(CONTEXT_AT, TIRC_RQN, net.rq[1].number);
	cmd_put_at(CONTEXT_AT, TIRC_TD, net.td);
	assert_int_equal(cmd_run(), OK);
	const uint32_t tir = cmd_get(OUT_NUMBER), table = flow_table(0, 4, 0);
	const uint32_t group = flow_group(table, 0, 7, odd);
	for (unsigned i = 0; i < 2; i++) {
		fte_command(table, group, i, i ? odd : (uint8_t[64]){0}, DEST_TIR, tir);
		cmd_put_at(FTE_AT, FTE_TAG, 5 + i);
		assert_int_equal(cmd_run(), OK);
	}
	flow_root(table);
	rig_gather();
	for (unsigned i = 0; i < 6; i++)
		rig_force(f, make_ip(f, &(struct flow){.version = 4, .protocol = 17, .payload = 40, .dport = i >= 3}), 0);
	rig_burst();
	for (unsigned i = 0; i < 6; i += 3) {
		assert_int_equal(be32(queue_at(cq, i) + CQE_BYTE_COUNT), 3);
		assert_int_equal(be32(queue_at(cq, i) + CQE_OPCODE_QPN), i ? 6 : 5);
	}
}

/* A driver that leaves an old entry unchanged would mistake it for a new one. */
static void sessions_want_places(void **s)
{
	(void)s;
	drive_compressed(1, MINI_HASH);
	for (unsigned i = 0; i < 1u << RX_LOG; i++)
		queue_at(&net.rx_cq[1], i)[CQE_OP_OWN] = CQE_RECEIVED << 4 | 1;
	burst(0, SESSION_FRAMES);
	queue_at(&net.rx_cq[1], 37)[CQE_OP_OWN] = CQE_RECEIVED << 4;
	burst(SESSION_FRAMES, SESSION_FRAMES);
	rig_expect_violation("entry 0x25 looks new");
	drive_refill(1, 1);
	burst(0, 1);
	rig_expect_violation("is full");
}

static void bad_compression(void **s)
{
	(void)s;
	struct queue cq;
	cq_command(&cq, RX_LOG, net.uar, net.completions.number);
	cmd_put_at(CQC_AT, CQC_MINI_FORMAT, MINI_CHECKSUM);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("mini CQEs of format 1");
	cmd_put_at(CQC_AT, CQC_COMPRESS, 1);
	cmd_put_at(CQC_AT, CQC_MINI_FORMAT, 3); /* with stride indices */
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("mini CQEs of format 3");
}

/* --- frames that their wire vouches for --- */

#define ROUNDS 60

enum way_there { PLAIN_CQ, COMPRESSED_BY_HASH, COMPRESSED_BY_SUM, HASHED, BY_PORT };

static uint64_t number; /* of this generator, which both runs begin alike */

static uint32_t below(uint32_t n)
{
	number = number * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((number >> 32) * n >> 32);
}

/* A TIR of one queue with a hash. */
static void hash_frames(void)
{
	cmd_new(CREATE_TIR, 0x110, 16);
	cmd_put_at(CONTEXT_AT, TIRC_RQN, net.rq[0].number);
	cmd_put_at(CONTEXT_AT, TIRC_TD, net.td);
	cmd_put_at(CONTEXT_AT, TIRC_HASH, HASH_TOEPLITZ);
	cmd_put_at(CONTEXT_AT, TIRC_L4, 1);
	cmd_put_at(CONTEXT_AT, TIRC_SELECTED, SELECT_SRC_IP | SELECT_DST_IP | SELECT_SRC_PORT | SELECT_DST_PORT);
	memcpy(cmd.in + CONTEXT_AT + TIRC_KEY, key, sizeof key);
	assert_int_equal(cmd_run(), OK);
	fte_command(net.table, net.group, 0, NULL, DEST_TIR, cmd_get(OUT_NUMBER));
	assert_int_equal(cmd_run(), OK);
}

/* Odd ports of UDP go to no queue. */
static void steer_by_port(void)
{
	uint8_t mask[64] = {0};
	mask[MATCH_UDP_PORTS.at + 3] = 1;
	const uint32_t table = flow_table(0, 4, 0);
	const uint32_t group = flow_group(table, 0, 7, mask);
	fte_command(table, group, 1, (uint8_t[64]){0}, DEST_TIR, net.tir);
	assert_int_equal(cmd_run(), OK);
	flow_root(table);
}

static void some_frame(bool vouch)
{
	struct flow flow = {.version = 4, .protocol = below(8) ? 17 : 6, .payload = 18 + (below(2) ? 0 : below(900)),
	                    .src = {10, 0, 0, (uint8_t)below(5)}, .dst = {(uint8_t)below(256), 2, 3, 4},
	                    .sport = (uint16_t)below(65536), .dport = (uint16_t)below(4),
	                    .tagged = below(20) == 0, .tci = 7};
	const uint32_t bytes = make_ip(f, &flow);
	if (below(20) == 0)
		f[0] |= 1;
	if (below(20) == 0)
		f[11] ^= 1;
	rig_force(f, bytes, vouch && flow.protocol == 17 && !flow.tagged ? FRAME_UDP4 : 0);
}

static uint64_t add_memory(uint64_t hash, const uint8_t *p, uint32_t bytes)
{
	for (uint32_t at = 0; at < bytes; at += 8) {
		uint64_t w;
		memcpy(&w, p + at, 8);
		hash = (hash ^ w) * 0x100000001b3;
	}
	return hash;
}

/* Of what the device writes: buffers, CQ and EQ. */
static uint64_t memory_hash(unsigned i)
{
	uint64_t hash = add_memory(0xcbf29ce484222325, rig_mem(net.buffers[i], BUFFER << RX_LOG), BUFFER << RX_LOG);
	for (uint32_t k = 0; k < 1u << RX_LOG; k++)
		hash = add_memory(hash, queue_at(&net.rx_cq[i], k), CQE_BYTES);
	return add_memory(hash, queue_at(&net.completions, 0), 64);
}

/* The guest takes what has come; it gives back about as many entries. */
static void take_all(unsigned i, uint64_t frames)
{
	struct queue *cq = &net.rx_cq[i];
	for (; frames; frames--)
		queue_at(cq, cq->ci++)[CQE_OP_OWN] = CQE_INVALID << 4;
	cq_read_to(cq);
	const uint32_t taken = (1u << RX_LOG) - ((net.rq[i].pi - cq->ci) & 0xffff);
	drive_refill(i, below(3) ? taken : below(taken + 1));
}

/* Runs of the same frames, vouched for or not, leave the same in memory and counters. */
static void vouched_run(enum way_there way, uint64_t piece, bool vouch, uint64_t seen[ROUNDS + 1])
{
	const unsigned i = way == COMPRESSED_BY_HASH || way == COMPRESSED_BY_SUM;
	if (i)
		drive_compressed(1, way == COMPRESSED_BY_HASH ? MINI_HASH : MINI_CHECKSUM);
	else if (way == HASHED)
		hash_frames();
	else if (way == BY_PORT)
		steer_by_port();
	rig.piece = piece;
	if (piece) /* buffers across the ends of pieces */
		for (unsigned k = 0; k < 1u << RX_LOG; k++)
			put_be64(queue_at(&net.rq[i], k) + 8, (net.buffers[i] -= k ? 0 : 40) + k * BUFFER);
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint64_t before = rig.m->rx_frames;
		rig_gather();
		for (unsigned n = 1 + below(FRAME_BURST); n; n--)
			some_frame(vouch);
		rig_burst();
		rig_run(1000000);
		seen[round] = memory_hash(i);
		take_all(i, rig.m->rx_frames - before);
	}
	cmd_new(QUERY_VPORT_COUNTER, 0x20, 0x210);
	assert_int_equal(cmd_run(), OK);
	seen[ROUNDS] = out_of_buffer() + rig.m->rx_bytes + rig.m->rx_refused * 1000003;
	for (unsigned at = 16; at < 0x210; at++)
		seen[ROUNDS] = seen[ROUNDS] * 31 + cmd.out[at];
	assert_false(rig_violated());
	assert_true(rig.m->rx_frames > 10 * ROUNDS);
}

static void vouched(void **s)
{
	static const uint64_t pieces[] = {0, 4096, 1u << 20};
	uint64_t seen[2][ROUNDS + 1];
	for (enum way_there way = PLAIN_CQ; way <= BY_PORT; way++)
		for (unsigned mode = 0; mode < 2; mode++) {
			const uint64_t start = random64(), piece = pieces[random_below(ARRAY_LEN(pieces))];
			for (unsigned vouch = 0; vouch < 2; vouch++) {
				rig_stop(NULL);
				if (mode)
					drive_net_line_rate(s);
				else
					drive_net(s);
				number = start;
				vouched_run(way, piece, vouch, seen[vouch]);
			}
			for (unsigned round = 0; round <= ROUNDS; round++)
				if (seen[0][round] != seen[1][round])
					fail_msg("way %u, mode %u, round %u", way, mode, round);
		}
}

/* --- errors --- */

static void no_buffer_for_it(void **s)
{
	(void)s;
	put_be32(queue_at(&net.rq[0], 0), 50);
	assert_true(rig_receive(f, numbered(1, 64)));
	rig_expect_violation("room for 50 bytes");
	expect_error(SYNDROME_LOCAL_LENGTH);
}

static void bad_memory(void **s)
{
	(void)s;
	put_be32(queue_at(&net.rq[0], 0) + 4, net.mkey ^ 1);
	assert_true(rig_receive(f, numbered(1, 64)));
	rig_expect_violation("no such key");
	expect_error(SYNDROME_LOCAL_PROTECTION);
}

static void empty_segment(void **s)
{
	(void)s;
	put_be32(queue_at(&net.rq[0], 0), 0);
	assert_true(rig_receive(f, numbered(1, 64)));
	rig_expect_violation("data segment of 0 bytes");
	expect_error(SYNDROME_LOCAL_QP_OP);
}

static void too_many_given(void **s)
{
	(void)s;
	dbr_write(&net.rq[0], DBR_RECEIVE, (1u << RX_LOG) + 1);
	rig_force(f, numbered(1, 64), 0);
	rig_expect_violation("doorbell record 65");
}

/* --- queues in ERR --- */

/* All frames go to a queue of its own: ready, filled, and with or without flushing. */
static void to_flushed(unsigned i, bool flushes)
{
	cq_command(&net.rx_cq[i], RX_LOG, net.uar, net.completions.number);
	queue_run(&net.rx_cq[i]);
	rq_command(&net.rq[i], &net.rx_cq[i], 4);
	cmd_put_at(CONTEXT_AT, RQC_FLUSH, flushes);
	queue_run(&net.rq[i]);
	net.buffers[i] = rig_alloc(BUFFER << RX_LOG, 4096);
	assert_int_equal(rq_state(&net.rq[i], QUEUE_RST, QUEUE_RDY), OK);
	drive_refill(i, 1u << RX_LOG);
	cmd_new(CREATE_TIR, 0x110, 16);
	cmd_put_at(CONTEXT_AT, TIRC_RQN, net.rq[i].number);
	cmd_put_at(CONTEXT_AT, TIRC_TD, net.td);
	assert_int_equal(cmd_run(), OK);
	fte_command(net.table, net.group, i, NULL, DEST_TIR, cmd_get(OUT_NUMBER));
	assert_int_equal(cmd_run(), OK);
}

/* The next completion is an error for entry `index`. */
static void expect_given_up(unsigned i, unsigned index, enum cqe_syndrome syndrome)
{
	assert_true(drive_received(i, &got));
	assert_int_equal(got.cqe[CQE_OP_OWN] >> 4, CQE_RX_ERROR);
	assert_int_equal(got.cqe[CQE_SYNDROME], syndrome);
	assert_int_equal(be16(got.cqe + CQE_COUNTER), index);
	assert_int_equal(be32(got.cqe + CQE_OPCODE_QPN), net.rq[i].number);
}

static void flushed(void **s)
{
	(void)s;
	const unsigned all = 1u << RX_LOG;
	to_flushed(1, true);
	put_be32(queue_at(&net.rq[1], 2) + 4, net.mkey ^ 1);
	for (unsigned i = 0; i < 3; i++)
		rig_force(f, numbered(1, 64), 0);
	rig_expect_violation("no such key");
	for (unsigned i = 0; i < 2; i++)
		expect_received(1, f, 64);
	expect_given_up(1, 2, SYNDROME_LOCAL_PROTECTION);
	for (unsigned i = 3; i < all; i++)
		expect_given_up(1, i, SYNDROME_FLUSHED);
	assert_false(drive_received(1, &got));
	drive_refill(1, 5); /* still in ERR */
	rig_run(30000);
	for (unsigned i = 0; i < 5; i++)
		expect_given_up(1, all + i, SYNDROME_FLUSHED);
	/* What a driver must not do before the queue is in RST. */
	dbr_write(&net.rq[1], DBR_RECEIVE, 0);
	rig_run(30000);
	rig_expect_violation("doorbell record 0");
	assert_int_equal(rq_state(&net.rq[1], QUEUE_ERR, QUEUE_RST), OK);
	rig_run(30000);
	assert_int_equal(rq_state(&net.rq[1], QUEUE_RST, QUEUE_RDY), OK);
	net.rq[1].pi = 0;
	drive_refill(1, all);
	rig_force(f, numbered(1, 64), 0);
	expect_received(1, f, 64);
}

static void flushed_by_command(void **s)
{
	(void)s;
	to_flushed(1, true);
	assert_int_equal(rq_state(&net.rq[1], QUEUE_RDY, QUEUE_ERR), OK);
	for (unsigned i = 0; i < 1u << RX_LOG; i++)
		expect_given_up(1, i, SYNDROME_FLUSHED);
	assert_false(drive_received(1, &got));
	rig_force(f, numbered(1, 64), 0);
	assert_int_equal(rig.m->rx_missed, 1);
}

static void not_flushed(void **s)
{
	(void)s;
	to_flushed(1, false);
	assert_int_equal(rq_state(&net.rq[1], QUEUE_RDY, QUEUE_ERR), OK);
	dbr_write(&net.rq[1], DBR_RECEIVE, 0x8000);
	rig_run(30000);
	assert_false(drive_received(1, &got));
}

static void faults(void **s)
{
	(void)s;
	rig_fault("receive-stuck");
	rig_force(f, numbered(1, 64), 0);
	assert_false(drive_received(0, &got));
	assert_int_equal(out_of_buffer(), 1);
	rig_fault_clear("receive-stuck");
	rig_fault_arg("bad-length", 1);
	assert_true(rig_receive(f, 64));
	assert_true(drive_received(0, &got));
	assert_int_equal(got.bytes, 0xffff);
	rig_fault_clear("bad-length");
	rig_fault_arg("receive-error", 1);
	assert_true(rig_receive(f, 64));
	expect_error(SYNDROME_LOCAL_QP_OP);
}

/* --- the port --- */

static void access(unsigned mode, uint16_t id, uint32_t bytes)
{
	cmd_new(ACCESS_REG, ACCESS_AT + bytes, ACCESS_AT + bytes);
	cmd_put(IN_OP_MOD, mode);
	cmd_put(FIELD(0x08, 15, 0), id);
	cmd_put_at(ACCESS_AT, FIELD(0x00, 23, 16), 1);
}

static void link_goes(void **s)
{
	(void)s;
	const uint8_t *e;
	while ((e = eq_next(&net.events)))
		;
	eq_ring(&net.events, true);
	rig_carrier(false);
	assert_int_equal(rig.irqs[1], 1);
	e = eq_next(&net.events);
	assert_non_null(e);
	assert_int_equal(e[EQE_TYPE], EVENT_PORT);
	assert_int_equal(e[EQE_SUBTYPE], PORT_DOWN);
	assert_int_equal(e[EQE_DATA + 8] >> 4, 1);
	drive_send(f, numbered(1, 64), 0);
	assert_int_equal(rig_sent_count(), 0); /* but the WQE is executed */
	assert_non_null(drive_sent());
	rig_carrier(true);
	rig_run(30000000);
	e = eq_next(&net.events);
	assert_non_null(e);
	assert_int_equal(e[EQE_SUBTYPE], PORT_UP);
	access(0, 0x5006, 16); /* PAOS: down */
	cmd_put_at(ACCESS_AT, FIELD(0x00, 11, 8), 2);
	cmd_put_at(ACCESS_AT, BIT(0x04, 31), 1);
	assert_int_equal(cmd_run(), OK);
	e = eq_next(&net.events);
	assert_non_null(e);
	assert_int_equal(e[EQE_SUBTYPE], PORT_DOWN);
	access(1, 0x5006, 16);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + ACCESS_AT, FIELD(0x00, 3, 0)), 2);
}

static void registers(void **s)
{
	(void)s;
	access(0, 0x5003, 16); /* PMTU */
	cmd_put_at(ACCESS_AT, FIELD(0x08, 31, 16), 9022);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + ACCESS_AT, FIELD(0x0c, 31, 16)), 9022);
	access(1, 0x5004, 64); /* PTYS */
	cmd_put_at(ACCESS_AT, FIELD(0x00, 2, 0), 4);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(field_get(cmd.out + ACCESS_AT, FIELD(0x24, 31, 0)), 1 << 21);
	assert_true(rig_receive(f, numbered(1, 100)));
	assert_true(rig_receive(f, numbered(1, 60)));
	access(1, 0x5008, 256); /* PPCNT, RFC 2819 */
	cmd_put_at(ACCESS_AT, FIELD(0x00, 5, 0), 2);
	assert_int_equal(cmd_run(), OK);
	const uint8_t *set = cmd.out + ACCESS_AT + 8;
	assert_int_equal(be64(set + 8), 168);
	assert_int_equal(be64(set + 16), 2);
	assert_int_equal(be64(set + 0x58), 1); /* 64 bytes */
	assert_int_equal(be64(set + 0x60), 1); /* to 127 */
	access(1, 0x5031, 256); /* PDDR */
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(be32(cmd.out + ACCESS_AT + 0x0c), 0);
	rig_carrier(false);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(be32(cmd.out + ACCESS_AT + 0x0c), 1024);
	access(1, 0x9999, 16);
	assert_int_equal(cmd_run(), STATUS_BAD_PARAM);
	rig_expect_violation("no register 0x9999");
	cmd_new(QUERY_VPORT_COUNTER, 0x20, 0x210);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(be64(cmd.out + 0x90), 2);
	assert_int_equal(be64(cmd.out + 0x98), 160);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, drive_net, rig_stop)

int main(void)
{
	seed_random("mlx5_rx");
	const struct CMUnitTest tests[] = {
		TEST(plain), TEST(bursts), TEST(burst_without_room), TEST(burst_that_fails),
		TEST(short_ones_are_padded), TEST(too_long_and_damaged), TEST(no_room),
		TEST(scattered), TEST(contents), TEST(wrong_sums), TEST(tags), TEST(addresses),
		TEST(own_frames), TEST(tables), TEST(tables_in_a_burst), TEST(bad_tables),
		TEST(hashes), TEST(symmetric), TEST(sessions_with_hashes), TEST(sessions_with_sums),
		TEST(sessions_end), TEST(sessions_have_one_tag), TEST(sessions_want_places), TEST(bad_compression),
		TEST(vouched), TEST(no_buffer_for_it),
		TEST(bad_memory), TEST(empty_segment), TEST(too_many_given), TEST(flushed),
		TEST(flushed_by_command), TEST(not_flushed), TEST(faults), TEST(link_goes),
		TEST(registers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
