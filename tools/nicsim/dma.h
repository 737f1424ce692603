/*
 * Guest memory as the device reaches it: ranges of bus addresses, each a piece of a file that the
 * guest's host passed to us. A pointer is valid only as long as its range: firmware sends DMA_UNMAP
 * several times, so no pointer may be kept across messages. A model reaches this memory through
 * sim_host.dma (model.h).
 */
#ifndef NICSIM_DMA_H
#define NICSIM_DMA_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/model.h"

#define DMA_REGIONS 512 /* behind an IOMMU a guest's memory comes in pieces of 2 MiB */

/* A piece of the guest's memory. A region of whole pages is mapped at the window plus its bus
 * address, so an access that spans two such regions is contiguous for us as well. */

struct dma_region {
	uint64_t bus, bytes;
	uint8_t *at; /* NULL: not memory that we can reach (ROM, BARs of other devices) */
	bool writable;
	void *map; /* the whole mapping around it: the file's page size may be large */
	uint64_t map_bytes;
	bool windowed;
};

struct dma_map {
	struct dma_region region[DMA_REGIONS]; /* `count` of them, without overlap */
	unsigned count;
	uint8_t *window; /* reserved addresses; NULL: not reserved yet, or the reservation failed */
	unsigned last; /* index of the region found last; if stale, that region is empty */
};

/* Maps `bytes` of `fd` from `offset` (the caller keeps the fd); fd -1: a range without memory.
 * Returns 0, or a negative errno with nothing changed: -EINVAL bad range, or the file is too short;
 * -EEXIST overlaps another range; -ENOSPC too many ranges; or an error of mmap. */
int dma_add(struct dma_map *map, uint64_t bus, uint64_t bytes, int fd, uint64_t offset,
            bool writable);

/* Removes all regions inside [bus, bus + bytes). -ENOENT: none there; -EINVAL: it would split
 * one. */
int dma_remove(struct dma_map *map, uint64_t bus, uint64_t bytes);
void dma_clear(struct dma_map *map);

/* The slow path of dma_find: searches all regions. */
void *dma_search(struct dma_map *map, uint64_t bus, uint64_t bytes, enum dma_access access);

/* The host address of [bus, bus + bytes), valid until the map changes. NULL: part of the range is
 * not memory, may not be written, or the range is not contiguous for us. */
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

/* The region around `bus`; false: there is none that we can reach. */
bool dma_piece(const struct dma_map *map, uint64_t bus, struct dma_piece *out);

#endif
