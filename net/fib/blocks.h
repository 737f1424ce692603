/*
 * Allocator for a table's nodes (for net/fib alone): a buddy system with blocks of 8 << order bytes
 * from one area. Its bookkeeping lies in the writer's memory, never in the area, because readers
 * may still use a released block.
 *
 * 1. A block lies at a multiple of its size. A block and its buddy, the other half of the next
 *    larger one, are never both free: they merge, up to the largest order.
 * 2. Splitting wastes nothing, so blocks_suffice() can tell in advance whether a set of blocks can
 *    be allocated.
 */
#ifndef NET_FIB_BLOCKS_H
#define NET_FIB_BLOCKS_H

#include "lib/types.h"

#define BLOCK_ORDERS 8 /* 8 bytes to 1 KiB */
#define BLOCK_UNIT 8u
#define BLOCK_LARGEST (BLOCK_UNIT << (BLOCK_ORDERS - 1))

/* Number of blocks of each order. */
struct block_needs {
	uint32_t of[BLOCK_ORDERS];
};

struct blocks {
	uint8_t *scratch; /* one byte per byte of the area; a block's part belongs to its user while
	                     in use */
	uint8_t *state;   /* one byte per unit: see blocks.c */
	uint32_t fresh;   /* no block was ever made from here on */
	uint32_t limit;
	uint32_t head[BLOCK_ORDERS]; /* heads of the lists of free blocks */
	struct block_needs free;     /* lengths of these lists */
	uint32_t used;               /* bytes neither free nor resting */
	uint32_t retired;            /* list of resting blocks */
	uint32_t retired_count;      /* its length */
};

static inline uint32_t block_bytes(unsigned order) { return BLOCK_UNIT << order; }

/* Bytes of writer's memory for an area of `area` bytes, a multiple of BLOCK_LARGEST. */
static inline size_t blocks_memory(size_t area) { return area + area / BLOCK_UNIT; }

/* memory: 8-byte aligned, with any content. */
void blocks_init(struct blocks *b, uint8_t *memory, uint32_t area);

bool blocks_suffice(const struct blocks *b, const struct block_needs *needs);

/* Allocates a block and returns its place in the area. blocks_suffice must have confirmed it. */
uint32_t blocks_take(struct blocks *b, unsigned order);

/* Releases a block that readers may still use: it rests until blocks_reclaim. */
void blocks_retire(struct blocks *b, uint32_t at, unsigned order);
void blocks_reclaim(struct blocks *b);

#endif
