/*
 * All commands, sorted by opcode: opcode, minimum lengths, the state they need, and the bits of the
 * fixed input that have a meaning.
 */
#include "tools/nicsim/mlx5/state.h"

#define BITS(name, ...) static const struct input_bits name[] = {__VA_ARGS__, {0, 0}}
#define ALL 0xffffffff

BITS(function, {0x08, 0x0000ffff});
BITS(pages, {0x08, 0x0000ffff}, {0x0c, ALL});
BITS(issi, {0x08, 0x0000ffff});
BITS(profile, {0x08, 0x0000ffff});
BITS(number, {0x08, 0x00ffffff});
BITS(mkey, {0x10, 0x5c07ff30}, {0x14, ALL}, {0x1c, 0x81ffffff}, {0x20, ALL}, {0x24, ALL},
     {0x28, ALL}, {0x2c, ALL}, {0x30, ALL}, {0x44, ALL}, {0x48, 0x0000005f}, {0x60, ALL});
BITS(eq, {0x10, 0x00060000}, {0x1c, 0x1fffffff}, {0x24, 0x00000fff}, {0x28, 0x1f000000},
     {0x58, ALL}, {0x5c, ALL});
#define CQ_CONTEXT {0x10, 0x00fff000}, {0x1c, 0x1fffffff}, {0x20, 0x0fffffff}, {0x24, 0x000000ff}, \
	{0x28, 0x1f000000}, {0x48, ALL}, {0x4c, ALL}
BITS(cq, CQ_CONTEXT);
BITS(cq_change, {0x08, 0x00ffffff}, {0x0c, ALL}, CQ_CONTEXT);
BITS(counter, {0x18, 0x80000000}, {0x1c, 0x000000ff});

BITS(vport, {0x08, 0x8000ffff});
BITS(vport_list, {0x08, 0x8000ffff}, {0x0c, 0x07000000});
BITS(vport_counter, {0x08, 0x800fffff}, {0x18, 0x80000000});
BITS(vport_change, {0x08, 0x8000ffff}, {0x0c, ALL}, {0x100, 0x07000007}, {0x104, 0x8000001f},
     {0x124, 0x0000ffff}, {0x1f0, 0xe7000fff}, {0x1f4, 0x0000ffff}, {0x1f8, ALL});
BITS(access, {0x08, 0x0000ffff}, {0x0c, ALL});

#define WQ_CONTEXT {0x50, ALL}, {0x54, 0xf01fffff}, {0x58, 0x00ffffff}, {0x5c, 0x00ffffff}, \
	{0x60, ALL}, {0x64, ALL}, {0x70, 0x000f1f1f}
BITS(sq, {0x20, 0xffff0030}, {0x24, 0x00ffffff}, {0x28, 0x00ffffff}, {0x40, 0xffff0000},
     {0x4c, 0x00ffffff}, WQ_CONTEXT);
BITS(sq_change, {0x08, 0xf0ffffff}, {0x10, ALL}, {0x14, ALL}, {0x20, 0xffff0030});
BITS(rq, {0x20, 0xfff40030}, {0x24, 0x00ffffff}, {0x28, 0x00ffffff}, {0x2c, 0xff000000},
     WQ_CONTEXT);
BITS(rq_change, {0x08, 0xf0ffffff}, {0x10, ALL}, {0x14, ALL}, {0x20, 0xfff40030},
     {0x2c, 0xff000000});
BITS(tis, {0x20, 0x000f0000}, {0x44, 0x00ffffff}, {0x4c, 0x00ffffff});
#define TIR_CONTEXT {0x24, 0xf0000000}, {0x30, 0x0fffffff}, {0x3c, 0x00ffffff}, \
	{0x40, 0x80ffffff}, {0x44, 0xf3ffffff}, {0x48, ALL}, {0x4c, ALL}, {0x50, ALL}, \
	{0x54, ALL}, {0x58, ALL}, {0x5c, ALL}, {0x60, ALL}, {0x64, ALL}, {0x68, ALL}, \
	{0x6c, ALL}, {0x70, ALL}, {0x74, ALL}
BITS(tir, TIR_CONTEXT);
BITS(tir_change, {0x08, 0x00ffffff}, {0x14, 0x0000001f}, TIR_CONTEXT);
BITS(rqt, {0x34, 0x0000ffff}, {0x38, 0x0000ffff});
BITS(rqt_change, {0x08, 0x00ffffff}, {0x14, 1}, {0x34, 0x0000ffff}, {0x38, 0x0000ffff});

#define FLOW_WHERE {0x08, 0x8000ffff}, {0x10, 0xff000000}
BITS(root, FLOW_WHERE, {0x14, 0x00ffffff});
BITS(table, FLOW_WHERE, {0x18, 0x0fff00ff}, {0x1c, 0x00ffffff});
BITS(table_gone, FLOW_WHERE, {0x14, 0x00ffffff});
BITS(table_change, {0x08, 0x8000ffff}, {0x0c, 0x0000ffff}, {0x10, 0xff000000}, {0x14, 0x00ffffff},
     {0x18, 0x0f0000ff}, {0x1c, 0x00ffffff});
BITS(group, FLOW_WHERE, {0x14, 0x00ffffff}, {0x1c, ALL}, {0x24, ALL}, {0x3c, 0x000000ff});
BITS(group_gone, FLOW_WHERE, {0x14, 0x00ffffff}, {0x18, ALL});
BITS(fte, FLOW_WHERE, {0x14, 0x00ffffff}, {0x18, 0x800000ff}, {0x20, ALL}, {0x44, ALL},
     {0x48, 0x00ffffff}, {0x4c, 0x0000ffff}, {0x50, 0x30ffffff}, {0x54, 0x00ffffff});
BITS(fte_gone, FLOW_WHERE, {0x14, 0x00ffffff}, {0x20, ALL});

#define ROW(opcode, ...) {opcode, #opcode, __VA_ARGS__}

static const struct command_row rows[] = {
	ROW(QUERY_HCA_CAP, 0x10, CAP_AT + CAP_BYTES, WHEN_ENABLED, caps_query, function, NO_KIND),
	ROW(QUERY_ADAPTER, 0x10, 0x110, WHEN_READY, hca_query_adapter, NULL, NO_KIND),
	ROW(INIT_HCA, 0x10, 0x08, WHEN_ENABLED, hca_init, NULL, NO_KIND),
	ROW(TEARDOWN_HCA, 0x10, 0x08, WHEN_READY, hca_teardown, profile, NO_KIND),
	ROW(ENABLE_HCA, 0x10, 0x08, WHEN_ALWAYS, hca_enable, function, NO_KIND),
	ROW(DISABLE_HCA, 0x10, 0x08, WHEN_ENABLED, hca_disable, function, NO_KIND),
	ROW(QUERY_PAGES, 0x10, 0x10, WHEN_ENABLED, hca_query_pages, function, NO_KIND),
	ROW(MANAGE_PAGES, PAGES_AT, PAGES_AT, WHEN_ENABLED, hca_manage_pages, pages, NO_KIND),
	ROW(SET_HCA_CAP, CAP_AT, 0x08, WHEN_ENABLED, caps_set, function, NO_KIND),
	ROW(QUERY_ISSI, 0x10, 0x70, WHEN_ENABLED, hca_query_issi, NULL, NO_KIND),
	ROW(SET_ISSI, 0x10, 0x08, WHEN_ENABLED, hca_set_issi, issi, NO_KIND),
	ROW(SET_DRIVER_VERSION, 0x10, 0x08, WHEN_READY, hca_driver_version, NULL, NO_KIND),
	ROW(CREATE_MKEY, 0x110, 0x10, WHEN_READY, mkey_create, mkey, NO_KIND),
	ROW(DESTROY_MKEY, 0x10, 0x08, WHEN_READY, object_destroy, number, MKEY),
	ROW(CREATE_EQ, 0x110, 0x10, WHEN_READY, eq_create, eq, NO_KIND),
	ROW(DESTROY_EQ, 0x10, 0x08, WHEN_READY, object_destroy, number, EQ),
	ROW(QUERY_EQ, 0x10, 0x110, WHEN_READY, eq_query, number, NO_KIND),
	ROW(CREATE_CQ, 0x110, 0x10, WHEN_READY, cq_create, cq, NO_KIND),
	ROW(DESTROY_CQ, 0x10, 0x08, WHEN_READY, object_destroy, number, CQ),
	ROW(QUERY_CQ, 0x10, 0x110, WHEN_READY, cq_query, number, NO_KIND),
	ROW(MODIFY_CQ, 0x110, 0x08, WHEN_READY, cq_modify, cq_change, NO_KIND),
	ROW(QUERY_VPORT_STATE, 0x10, 0x10, WHEN_READY, vport_state, vport, NO_KIND),
	ROW(QUERY_NIC_VPORT_CONTEXT, 0x10, 0x110, WHEN_READY, vport_query, vport_list, NO_KIND),
	ROW(MODIFY_NIC_VPORT_CONTEXT, 0x200, 0x08, WHEN_READY, vport_modify, vport_change, NO_KIND),
	ROW(QUERY_VPORT_COUNTER, 0x20, 0x210, WHEN_READY, vport_counters, vport_counter, NO_KIND),
	ROW(ALLOC_Q_COUNTER, 0x10, 0x10, WHEN_READY, object_alloc, NULL, COUNTER),
	ROW(DEALLOC_Q_COUNTER, 0x10, 0x08, WHEN_READY, object_destroy, number, COUNTER),
	ROW(QUERY_Q_COUNTER, 0x20, 0x100, WHEN_READY, counter_query, counter, NO_KIND),
	ROW(ALLOC_PD, 0x10, 0x10, WHEN_READY, object_alloc, NULL, PD),
	ROW(DEALLOC_PD, 0x10, 0x08, WHEN_READY, object_destroy, number, PD),
	ROW(ALLOC_UAR, 0x10, 0x10, WHEN_READY, object_alloc, NULL, UAR),
	ROW(DEALLOC_UAR, 0x10, 0x08, WHEN_READY, object_destroy, number, UAR),
	ROW(ACCESS_REG, 0x10, 0x10, WHEN_ENABLED, eth_port_access, access, NO_KIND),
	ROW(ALLOC_TRANSPORT_DOMAIN, 0x10, 0x10, WHEN_READY, object_alloc, NULL, TD),
	ROW(DEALLOC_TRANSPORT_DOMAIN, 0x10, 0x08, WHEN_READY, object_destroy, number, TD),
	ROW(CREATE_TIR, 0x110, 0x10, WHEN_READY, tir_create, tir, NO_KIND),
	ROW(MODIFY_TIR, 0x110, 0x08, WHEN_READY, tir_modify, tir_change, NO_KIND),
	ROW(DESTROY_TIR, 0x10, 0x08, WHEN_READY, object_destroy, number, TIR),
	ROW(CREATE_SQ, 0x110, 0x10, WHEN_READY, sq_create, sq, NO_KIND),
	ROW(MODIFY_SQ, 0x110, 0x08, WHEN_READY, sq_modify, sq_change, NO_KIND),
	ROW(DESTROY_SQ, 0x10, 0x08, WHEN_READY, object_destroy, number, SQ),
	ROW(QUERY_SQ, 0x10, 0x110, WHEN_READY, sq_query, number, NO_KIND),
	ROW(CREATE_RQ, 0x110, 0x10, WHEN_READY, rq_create, rq, NO_KIND),
	ROW(MODIFY_RQ, 0x110, 0x08, WHEN_READY, rq_modify, rq_change, NO_KIND),
	ROW(DESTROY_RQ, 0x10, 0x08, WHEN_READY, object_destroy, number, RQ),
	ROW(QUERY_RQ, 0x10, 0x110, WHEN_READY, rq_query, number, NO_KIND),
	ROW(CREATE_TIS, 0xc0, 0x10, WHEN_READY, tis_create, tis, NO_KIND),
	ROW(DESTROY_TIS, 0x10, 0x08, WHEN_READY, object_destroy, number, TIS),
	ROW(CREATE_RQT, 0x110, 0x10, WHEN_READY, rqt_create, rqt, NO_KIND),
	ROW(MODIFY_RQT, 0x110, 0x08, WHEN_READY, rqt_modify, rqt_change, NO_KIND),
	ROW(DESTROY_RQT, 0x10, 0x08, WHEN_READY, object_destroy, number, RQT),
	ROW(SET_FLOW_TABLE_ROOT, 0x40, 0x08, WHEN_READY, root_set, root, NO_KIND),
	ROW(CREATE_FLOW_TABLE, 0x40, 0x10, WHEN_READY, table_create, table, NO_KIND),
	ROW(DESTROY_FLOW_TABLE, 0x40, 0x08, WHEN_READY, table_destroy, table_gone, NO_KIND),
	ROW(CREATE_FLOW_GROUP, GROUP_MATCH, 0x10, WHEN_READY, group_create, group, NO_KIND),
	ROW(DESTROY_FLOW_GROUP, 0x40, 0x08, WHEN_READY, group_destroy, group_gone, NO_KIND),
	ROW(SET_FLOW_TABLE_ENTRY, FTE_AT + FTE_VALUE, 0x08, WHEN_READY, fte_set, fte, NO_KIND),
	ROW(DELETE_FLOW_TABLE_ENTRY, 0x40, 0x08, WHEN_READY, fte_delete, fte_gone, NO_KIND),
	ROW(MODIFY_FLOW_TABLE, 0x40, 0x08, WHEN_READY, table_modify, table_change, NO_KIND),
};
#define ROWS (sizeof rows / sizeof rows[0])

const struct command_row *command_find(uint16_t opcode)
{
	unsigned low = 0, high = ROWS;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (rows[middle].opcode == opcode)
			return &rows[middle];
		if (rows[middle].opcode < opcode)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
