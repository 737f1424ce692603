#include "tools/nicsim/dma.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define WINDOW_BYTES (64ull << 30) /* bus addresses from 0; others are mapped anywhere */

/* The unit in which a file can be mapped: a hugetlbfs file reports its page size in st_blksize. */
static uint64_t mapping_unit(const struct stat *st)
{
	uint64_t unit = (uint64_t)st->st_blksize;
	return unit > 4096 && (unit & (unit - 1)) == 0 ? unit : 4096;
}

/* Reserves addresses at `at`, in the window, or anywhere if `at` is NULL. */
static void *reserve(void *at, uint64_t bytes)
{
	return mmap(at, bytes, PROT_NONE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

/* The window; reserved at the first call. */
static uint8_t *window_of(struct dma_map *map)
{
	if (map->window == NULL) {
		void *at = reserve(NULL, WINDOW_BYTES);
		map->window = at == MAP_FAILED ? NULL : at;
	}
	return map->window;
}

/* Where the region is to be mapped; NULL: anywhere. Only whole pages have a fixed place. */
static void *place_of(struct dma_map *map, const struct dma_region *r, uint64_t unit,
                      uint64_t offset)
{
	if ((r->bus | r->bytes | offset) % unit != 0 || r->bus >= WINDOW_BYTES ||
	    r->bytes > WINDOW_BYTES - r->bus || !window_of(map))
		return NULL;
	return map->window + r->bus;
}

static int map_file(struct dma_map *map, struct dma_region *r, int fd, uint64_t offset)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return -errno;
	/* Access to a page beyond the end of the file would raise SIGBUS. */
	if (!S_ISREG(st.st_mode) || offset > (uint64_t)st.st_size ||
	    r->bytes > (uint64_t)st.st_size - offset)
		return -EINVAL;
	uint64_t unit = mapping_unit(&st), skip = offset % unit;
	r->map_bytes = (skip + r->bytes + unit - 1) / unit * unit;
	void *place = place_of(map, r, unit, offset);
	r->windowed = place != NULL;
	r->map = mmap(place, r->map_bytes, PROT_READ | (r->writable ? PROT_WRITE : 0),
	              MAP_SHARED | (place ? MAP_FIXED : 0), fd, (off_t)(offset - skip));
	if (r->map == MAP_FAILED) {
		int error = errno;
		if (place) /* the failed mmap may have unmapped it */
			reserve(place, r->map_bytes);
		return -error;
	}
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
		int error = map_file(map, &r, fd, offset);
		if (error)
			return error;
	}
	map->region[map->count++] = r;
	return 0;
}

static void release(struct dma_map *map, unsigned i)
{
	const struct dma_region *r = &map->region[i];
	if (r->windowed) /* its addresses stay reserved */
		reserve(r->map, r->map_bytes);
	else if (r->map)
		munmap(r->map, r->map_bytes);
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

/* The region that contains `bus`, if it allows this access. */
static struct dma_region *region_at(struct dma_map *map, uint64_t bus, enum dma_access access)
{
	for (unsigned i = 0; i < map->count; i++) {
		struct dma_region *r = &map->region[i];
		if (bus - r->bus < r->bytes)
			return r->at && (access == DMA_READ || r->writable) ? r : NULL;
	}
	return NULL;
}

bool dma_piece(const struct dma_map *map, uint64_t bus, struct dma_piece *out)
{
	const struct dma_region *r = &map->region[map->last];
	for (unsigned i = 0; bus - r->bus >= r->bytes; i++) {
		if (i == map->count)
			return false;
		r = &map->region[i];
	}
	*out = (struct dma_piece){r->bus, r->bytes, r->at, r->writable};
	return r->at != NULL;
}

void *dma_search(struct dma_map *map, uint64_t bus, uint64_t bytes, enum dma_access access)
{
	const struct dma_region *first = region_at(map, bus, access);
	if (first == NULL || bytes > UINT64_MAX - bus)
		return NULL;
	for (const struct dma_region *r = first; r->bus + r->bytes < bus + bytes;) {
		const struct dma_region *next = region_at(map, r->bus + r->bytes, access);
		if (next == NULL || next->at != r->at + r->bytes)
			return NULL;
		r = next;
	}
	map->last = (unsigned)(first - map->region);
	return first->at + (bus - first->bus);
}
