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

static const struct command_row rows[] = {
	{0x100, "QUERY_HCA_CAP", 0x10, CAP_AT + CAP_BYTES, WHEN_ENABLED, caps_query, function},
	{0x101, "QUERY_ADAPTER", 0x10, 0x110, WHEN_READY, hca_query_adapter, NULL},
	{0x102, "INIT_HCA", 0x10, 0x10, WHEN_ENABLED, hca_init, NULL},
	{0x103, "TEARDOWN_HCA", 0x10, 0x10, WHEN_READY, hca_teardown, profile},
	{0x104, "ENABLE_HCA", 0x10, 0x10, WHEN_ALWAYS, hca_enable, function},
	{0x105, "DISABLE_HCA", 0x10, 0x10, WHEN_ENABLED, hca_disable, function},
	{0x107, "QUERY_PAGES", 0x10, 0x10, WHEN_ENABLED, hca_query_pages, function},
	{0x108, "MANAGE_PAGES", PAGES_AT, PAGES_AT, WHEN_ENABLED, hca_manage_pages, pages},
	{0x109, "SET_HCA_CAP", CAP_AT, 0x10, WHEN_ENABLED, caps_set, function},
	{0x10a, "QUERY_ISSI", 0x10, 0x70, WHEN_ENABLED, hca_query_issi, NULL},
	{0x10b, "SET_ISSI", 0x10, 0x10, WHEN_ENABLED, hca_set_issi, issi},
	{0x10d, "SET_DRIVER_VERSION", 0x10, 0x10, WHEN_READY, hca_driver_version, NULL},
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
