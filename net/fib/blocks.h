/*
 * The room for a table's nodes (for net/fib alone): blocks of 8 << order bytes out of one area, a
 * buddy system. What it has to remember lies in the writer's memory, never in the area, because
 * readers may still be in a block that was given up.
 *
 * 1. A block lies at a multiple of its size. It and its buddy, the other half of the next larger
 *    one, are never free both: they become one, up to the largest order.
 * 2. Splitting wastes nothing, so that blocks_suffice() can say in advance whether a set of blocks
 *    will be had.
 */
#ifndef NET_FIB_BLOCKS_H
#define NET_FIB_BLOCKS_H

#include "lib/types.h"

#define BLOCK_ORDERS 8 /* 8 bytes to 1 KiB */
#define BLOCK_UNIT 8u
#define BLOCK_LARGEST (BLOCK_UNIT << (BLOCK_ORDERS - 1))

/* How many blocks of each order. */
struct block_needs {
	uint32_t of[BLOCK_ORDERS];
};

struct blocks {
	uint8_t *scratch; /* a byte for each of the area's: a block's are its user's while it is used */
	uint8_t *state;   /* of each unit: blocks.c */
	uint32_t fresh;   /* no block has been made from here on */
	uint32_t limit;
	uint32_t head[BLOCK_ORDERS]; /* of the lists of free ones, */
	struct block_needs free;     /* which are so long */
	uint32_t used;               /* bytes that are neither free nor resting */
	uint32_t retired;            /* list of those that rest, */
	uint32_t retired_count;      /* which is so long */
};

static inline uint32_t block_bytes(unsigned order) { return BLOCK_UNIT << order; }

/* Bytes of writer's memory for an area of so many bytes, a multiple of BLOCK_LARGEST. */
static inline size_t blocks_memory(size_t area) { return area + area / BLOCK_UNIT; }

/* Memory: 8-byte aligned, with any contents. */
void blocks_init(struct blocks *b, uint8_t *memory, uint32_t area);

bool blocks_suffice(const struct blocks *b, const struct block_needs *needs);

/* The place in the area of a block, which is there (blocks_suffice). */
uint32_t blocks_take(struct blocks *b, unsigned order);

/* Gives up a block that readers may be in: it rests until blocks_reclaim. */
void blocks_retire(struct blocks *b, uint32_t at, unsigned order);
void blocks_reclaim(struct blocks *b);

#endif
