/*
 * Registers as data: one row per register of a model, for access checks, counts, traces and dumps.
 * Rows are typed from the manual, only those the model knows.
 *
 * model_write reports what a row forbids: a write to a read-only register, a reserved bit set, an
 * offset without a row. It changes nothing: the model's read and write decide what an access does
 * (82599.c calls model_reg for the row, to ignore what the table forbids).
 */
#ifndef NICSIM_REG_H
#define NICSIM_REG_H

#include <stdbool.h>
#include <stdint.h>

enum reg_access {
	REG_RO, /* a write is a violation, as to REG_RC */
	REG_RW,
	REG_WO,
	REG_RC,  /* reading clears (statistics) */
	REG_W1C, /* writing 1 clears */
	REG_W1S, /* writing 1 sets */
};

/* All registers have 32 bits; wider ones are several rows. `writable` is in the byte order of the
 * guest's CPU: for a big-endian register, the manual's bits swapped. */
struct reg_row {
	const char *name;       /* as the manual writes it: "RDT" */
	uint32_t offset;        /* in BAR 0, a multiple of 4 */
	uint32_t stride;        /* bytes between registers of an array */
	uint32_t count;         /* of an array, up to 65536; 1: a single register */
	enum reg_access access;
	uint32_t writable;      /* bits that a driver may write as 1; others are a violation */
	const char *section;    /* of the manual */
};

struct reg_stats {
	uint64_t reads, writes;
};

/* A register found by its offset. */
struct reg_ref {
	const struct reg_row *row; /* NULL: no register there */
	unsigned row_index;
	unsigned index; /* in the array */
};

/* Finds the row of an offset; an offset that is not a multiple of 4 has none. Several rows may
 * claim the same offset (aliases): the first in the table wins. Constant time after
 * reg_map_make. */
struct reg_map;
struct reg_map *reg_map_make(const struct reg_row *rows, uint64_t bar_bytes); /* NULL: no memory */
void reg_map_free(struct reg_map *map);
struct reg_ref reg_find(const struct reg_map *map, uint32_t offset); /* map NULL: no register */

/* "RDT[3]", "CTRL", or "0x01234" for no register; returns buf. */
const char *reg_name(const struct reg_map *map, uint32_t offset, char *buf, unsigned size);

#endif
