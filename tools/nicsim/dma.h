/*
 * Guest memory as the device reaches it: ranges of bus addresses, each a piece of a file that the
 * guest's owner handed to us. Pointers die with the range: DMA_UNMAP comes several times while
 * firmware runs, and nothing may be kept over it. What the model sees of it is sim_host.dma
 * (model.h).
 */
#ifndef NICSIM_DMA_H
#define NICSIM_DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/model.h"

#define DMA_REGIONS 512 /* behind an IOMMU a guest's memory comes in pieces of 2 MiB */

/* A piece of the guest's memory. Whole pages lie at the window plus their bus address, so that what
 * reaches from one such region into the next is contiguous for us as well. */

struct dma_region {
	uint64_t bus, bytes;
	uint8_t *at; /* NULL: not memory that we can reach (ROM, BARs of other devices) */
	bool writable;
	void *map; /* what was mapped around it: the file's page size may be large */
	uint64_t map_bytes;
	bool windowed;
};

struct dma_map {
	struct dma_region region[DMA_REGIONS]; /* of `count`, none overlaps another */
	unsigned count;
	uint8_t *window; /* reserved addresses; NULL: not yet, or there were none to be had */
	unsigned last; /* index of the region found last; may be stale, then that one is empty */
};

/* Maps `bytes` of `fd` from `offset` (the fd stays the caller's); fd -1: a range without memory.
 * Returns 0 or a negative errno; then nothing has changed: -EINVAL no such range, or the file does
 * not hold it; -EEXIST overlaps another; -ENOSPC too many; or of mmap. */
int dma_add(struct dma_map *map, uint64_t bus, uint64_t bytes, int fd, uint64_t offset,
            bool writable);

/* Removes all regions inside [bus, bus + bytes). -ENOENT: none there; -EINVAL: it would cut one. */
int dma_remove(struct dma_map *map, uint64_t bus, uint64_t bytes);
void dma_clear(struct dma_map *map);

/* The slow half of dma_find: looks through all regions. */
void *dma_search(struct dma_map *map, uint64_t bus, uint64_t bytes, enum dma_access access);

/* Where [bus, bus + bytes) is, until the map changes. NULL: it is not all memory, or may not be
 * written, or is no piece for us. */
static inline void *dma_find(struct dma_map *map, uint64_t bus, uint64_t bytes,
                             enum dma_access access)
{
	const struct dma_region *r = &map->region[map->last];
	uint64_t offset = bus - r->bus;
	if (__builtin_expect(offset < r->bytes && bytes <= r->bytes - offset && r->at &&
	                             (r->writable || access == DMA_READ), 1))
		return r->at + offset;
	return dma_search(map, bus, bytes, access);
}

#endif
