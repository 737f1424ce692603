/*
 * Registers by offset: one 4-byte entry per dword of BAR 0, filled once from the rows, so that an
 * access costs one load regardless of the table's length.
 */
#include "tools/nicsim/reg.h"

#include <stdio.h>
#include <stdlib.h>

struct entry {
	uint16_t row; /* + 1; 0: no register */
	uint16_t index;
};

struct reg_map {
	const struct reg_row *rows;
	uint32_t dwords;
	struct entry entry[];
};

static void map_row(struct reg_map *map, const struct reg_row *row)
{
	for (uint32_t i = 0; i < row->count; i++) {
		uint64_t at = (row->offset + (uint64_t)i * row->stride) / 4;
		if (at >= map->dwords || map->entry[at].row != 0)
			continue; /* an alias: the first row in the table wins */
		map->entry[at] = (struct entry){(uint16_t)(row - map->rows + 1), (uint16_t)i};
	}
}

struct reg_map *reg_map_make(const struct reg_row *rows, uint64_t bar_bytes)
{
	uint64_t dwords = bar_bytes / 4;
	if (rows == NULL || dwords > UINT32_MAX)
		return NULL;
	struct reg_map *map = calloc(1, sizeof *map + dwords * sizeof map->entry[0]);
	if (map == NULL)
		return NULL;
	map->rows = rows;
	map->dwords = (uint32_t)dwords;
	for (const struct reg_row *row = rows; row->name; row++)
		map_row(map, row);
	return map;
}

void reg_map_free(struct reg_map *map)
{
	free(map);
}

struct reg_ref reg_find(const struct reg_map *map, uint32_t offset)
{
	const struct reg_ref none = {NULL, 0, 0};
	if (map == NULL || offset % 4 != 0 || offset / 4 >= map->dwords)
		return none;
	struct entry e = map->entry[offset / 4];
	if (e.row == 0)
		return none;
	return (struct reg_ref){&map->rows[e.row - 1], e.row - 1u, e.index};
}

const char *reg_name(const struct reg_map *map, uint32_t offset, char *buf, unsigned size)
{
	struct reg_ref r = reg_find(map, offset);
	if (r.row == NULL)
		snprintf(buf, size, "0x%05x", offset);
	else if (r.row->count > 1)
		snprintf(buf, size, "%s[%u]", r.row->name, r.index);
	else
		snprintf(buf, size, "%s", r.row->name);
	return buf;
}
