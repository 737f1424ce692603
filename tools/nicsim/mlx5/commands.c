/*
 * All commands: opcode, least lengths, the state they need, and which bits of the fixed input mean
 * something. Sorted by opcode.
 */
#include "tools/nicsim/mlx5/state.h"

#define BITS(name, ...) static const struct input_bits name[] = {__VA_ARGS__, {0, 0}}
#define ALL 0xffffffff

BITS(function, {0x08, 0x0000ffff});
BITS(pages, {0x08, 0x0000ffff}, {0x0c, ALL});
BITS(issi, {0x08, 0x0000ffff});
BITS(profile, {0x08, 0x0000ffff});
BITS(number, {0x08, 0x00ffffff});
BITS(mkey, {0x10, 0x5c07ff30}, {0x14, ALL}, {0x1c, 0x81ffffff}, {0x20, ALL}, {0x24, ALL}, {0x28, ALL},
     {0x2c, ALL}, {0x30, ALL}, {0x44, ALL}, {0x48, 0x0000005f}, {0x60, ALL});
BITS(eq, {0x10, 0x00060000}, {0x1c, 0x1fffffff}, {0x24, 0x00000fff}, {0x28, 0x1f000000}, {0x58, ALL},
     {0x5c, ALL});
#define CQ_CONTEXT {0x10, 0x00ff8000}, {0x1c, 0x1fffffff}, {0x20, 0x0fffffff}, {0x24, 0x000000ff}, \
	{0x28, 0x1f000000}, {0x48, ALL}, {0x4c, ALL}
BITS(cq, CQ_CONTEXT);
BITS(cq_change, {0x08, 0x00ffffff}, {0x0c, ALL}, CQ_CONTEXT);
BITS(counter, {0x18, 0x80000000}, {0x1c, 0x000000ff});

#define ROW(opcode, ...) {opcode, #opcode, __VA_ARGS__}

static const struct command_row rows[] = {
	ROW(QUERY_HCA_CAP, 0x10, CAP_AT + CAP_BYTES, WHEN_ENABLED, caps_query, function, NO_KIND),
	ROW(QUERY_ADAPTER, 0x10, 0x110, WHEN_READY, hca_query_adapter, NULL, NO_KIND),
	ROW(INIT_HCA, 0x10, 0x10, WHEN_ENABLED, hca_init, NULL, NO_KIND),
	ROW(TEARDOWN_HCA, 0x10, 0x10, WHEN_READY, hca_teardown, profile, NO_KIND),
	ROW(ENABLE_HCA, 0x10, 0x10, WHEN_ALWAYS, hca_enable, function, NO_KIND),
	ROW(DISABLE_HCA, 0x10, 0x10, WHEN_ENABLED, hca_disable, function, NO_KIND),
	ROW(QUERY_PAGES, 0x10, 0x10, WHEN_ENABLED, hca_query_pages, function, NO_KIND),
	ROW(MANAGE_PAGES, PAGES_AT, PAGES_AT, WHEN_ENABLED, hca_manage_pages, pages, NO_KIND),
	ROW(SET_HCA_CAP, CAP_AT, 0x10, WHEN_ENABLED, caps_set, function, NO_KIND),
	ROW(QUERY_ISSI, 0x10, 0x70, WHEN_ENABLED, hca_query_issi, NULL, NO_KIND),
	ROW(SET_ISSI, 0x10, 0x10, WHEN_ENABLED, hca_set_issi, issi, NO_KIND),
	ROW(SET_DRIVER_VERSION, 0x10, 0x10, WHEN_READY, hca_driver_version, NULL, NO_KIND),
	ROW(CREATE_MKEY, 0x110, 0x10, WHEN_READY, mkey_create, mkey, NO_KIND),
	ROW(DESTROY_MKEY, 0x10, 0x10, WHEN_READY, object_destroy, number, MKEY),
	ROW(CREATE_EQ, 0x110, 0x10, WHEN_READY, eq_create, eq, NO_KIND),
	ROW(DESTROY_EQ, 0x10, 0x10, WHEN_READY, object_destroy, number, EQ),
	ROW(QUERY_EQ, 0x10, 0x110, WHEN_READY, eq_query, number, NO_KIND),
	ROW(CREATE_CQ, 0x110, 0x10, WHEN_READY, cq_create, cq, NO_KIND),
	ROW(DESTROY_CQ, 0x10, 0x10, WHEN_READY, object_destroy, number, CQ),
	ROW(QUERY_CQ, 0x10, 0x110, WHEN_READY, cq_query, number, NO_KIND),
	ROW(MODIFY_CQ, 0x110, 0x10, WHEN_READY, cq_modify, cq_change, NO_KIND),
	ROW(ALLOC_Q_COUNTER, 0x10, 0x10, WHEN_READY, object_alloc, NULL, COUNTER),
	ROW(DEALLOC_Q_COUNTER, 0x10, 0x10, WHEN_READY, object_destroy, number, COUNTER),
	ROW(QUERY_Q_COUNTER, 0x20, 0x100, WHEN_READY, counter_query, counter, NO_KIND),
	ROW(ALLOC_PD, 0x10, 0x10, WHEN_READY, object_alloc, NULL, PD),
	ROW(DEALLOC_PD, 0x10, 0x10, WHEN_READY, object_destroy, number, PD),
	ROW(ALLOC_UAR, 0x10, 0x10, WHEN_READY, object_alloc, NULL, UAR),
	ROW(DEALLOC_UAR, 0x10, 0x10, WHEN_READY, object_destroy, number, UAR),
	ROW(ALLOC_TRANSPORT_DOMAIN, 0x10, 0x10, WHEN_READY, object_alloc, NULL, TD),
	ROW(DEALLOC_TRANSPORT_DOMAIN, 0x10, 0x10, WHEN_READY, object_destroy, number, TD),
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
