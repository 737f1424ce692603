#include "tools/nicsim/dma.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The unit in which a file can be mapped: huge pages announce themselves by st_blksize. */
static uint64_t mapping_unit(const struct stat *st)
{
	uint64_t unit = (uint64_t)st->st_blksize;
	return unit > 4096 && (unit & (unit - 1)) == 0 ? unit : 4096;
}

static int map_file(struct dma_region *r, int fd, uint64_t offset)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return -errno;
	/* A page beyond the end would be a SIGBUS at the first access. */
	if (!S_ISREG(st.st_mode) || offset > (uint64_t)st.st_size ||
	    r->bytes > (uint64_t)st.st_size - offset)
		return -EINVAL;
	uint64_t unit = mapping_unit(&st), skip = offset % unit;
	r->map_bytes = (skip + r->bytes + unit - 1) / unit * unit;
	r->map = mmap(NULL, r->map_bytes, PROT_READ | (r->writable ? PROT_WRITE : 0), MAP_SHARED,
	              fd, (off_t)(offset - skip));
	if (r->map == MAP_FAILED)
		return -errno;
	r->at = (uint8_t *)r->map + skip;
	return 0;
}

static bool overlaps(const struct dma_region *r, uint64_t bus, uint64_t bytes)
{
	return bus < r->bus + r->bytes && r->bus < bus + bytes;
}

int dma_add(struct dma_map *map, uint64_t bus, uint64_t bytes, int fd, uint64_t offset,
            bool writable)
{
	struct dma_region r = {.bus = bus, .bytes = bytes, .writable = writable};
	/* The sums here and in overlaps() stay below 2^64. */
	if (bytes == 0 || bytes > INT64_MAX || bus > UINT64_MAX - bytes ||
	    offset > INT64_MAX - bytes)
		return -EINVAL;
	if (map->count == DMA_REGIONS)
		return -ENOSPC;
	for (unsigned i = 0; i < map->count; i++)
		if (overlaps(&map->region[i], bus, bytes))
			return -EEXIST;
	if (fd >= 0) {
		int error = map_file(&r, fd, offset);
		if (error)
			return error;
	}
	map->region[map->count++] = r;
	return 0;
}

static void release(struct dma_map *map, unsigned i)
{
	if (map->region[i].map)
		munmap(map->region[i].map, map->region[i].map_bytes);
	map->region[i] = map->region[--map->count];
	memset(&map->region[map->count], 0, sizeof map->region[0]); /* `last` may point there */
}

int dma_remove(struct dma_map *map, uint64_t bus, uint64_t bytes)
{
	unsigned inside = 0;
	if (bytes == 0 || bus > UINT64_MAX - bytes)
		return -EINVAL;
	for (unsigned i = 0; i < map->count; i++) {
		const struct dma_region *r = &map->region[i];
		if (!overlaps(r, bus, bytes))
			continue;
		if (r->bus < bus || r->bus + r->bytes > bus + bytes)
			return -EINVAL;
		inside++;
	}
	for (unsigned i = map->count; i-- > 0;)
		if (overlaps(&map->region[i], bus, bytes))
			release(map, i);
	return inside ? 0 : -ENOENT;
}

void dma_clear(struct dma_map *map)
{
	while (map->count > 0)
		release(map, map->count - 1);
}

void *dma_search(struct dma_map *map, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	for (unsigned i = 0; i < map->count; i++) {
		const struct dma_region *r = &map->region[i];
		uint64_t offset = bus - r->bus;
		if (offset >= r->bytes || bytes > r->bytes - offset)
			continue;
		if (r->at == NULL || (access == DMA_WRITE && !r->writable))
			return NULL;
		map->last = i;
		return r->at + offset;
	}
	return NULL;
}
