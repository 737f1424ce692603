/*
 * Memory of XDP programs and their maps, and of content (runtime.h, core_region_alloc): which part of the regions
 * is free. The kernel's list (struct boot_info) says where the regions are. What is in use is known from calls
 * alone; at the start of a control program all counts as free, until it is claimed.
 *
 * Memory for the lists is taken with the first call for a kind. Nothing is taken without one.
 */
#include "runtime/extent.h"
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"

#define CONTENT_SPARES (6u << 20) /* of tables at the start, and of commits later */
#define EXTENTS_MAX (CORE_REGION_PIECES + REGIONS_MAX) /* extent.h: pieces in use, and regions */

static struct kind {
	struct extents free;
	unsigned known; /* regions of boot_info that have been looked at */
	unsigned used;  /* pieces */
} kinds[REGION_KINDS];

/* The address of a region's memory in our lists. */
static uint64_t address_of(const struct region *r)
{
	return r->kind == REGION_CODE ? CODE_WINDOW + r->offset : r->at;
}

/* Adds what regions the kernel has made since the last call. False: there is no memory for the list. */
static bool look(enum region_kind kind)
{
	struct kind *k = &kinds[kind];
	if (!k->free.v) {
		k->free.v = core_private_alloc(EXTENTS_MAX * sizeof *k->free.v);
		k->free.max = EXTENTS_MAX;
	}
	for (; k->free.v && k->known < self.info->regions; k->known++) {
		const struct region *r = &self.info->region[k->known];
		if (r->kind == kind)
			extents_give(&k->free, address_of(r), r->bytes);
	}
	return k->free.v;
}

size_t core_content_room(void)
{
	const size_t left = core_private_left(), others = tables_private_needed() + tables_needed() + CONTENT_SPARES;
	return left > others ? align_down(left - others, REGION_UNIT) : 0;
}

static bool take_region(enum region_kind kind, size_t bytes)
{
	return (kind != REGION_CONTENT || bytes <= core_content_room()) && tables_region(kind, bytes);
}

/* Has the kernel make a region for `bytes` more: half as much as there is, or, if that is too much, what is
 * needed. */
static bool grow(enum region_kind kind, size_t bytes)
{
	const size_t least = align_up(bytes, REGION_UNIT);
	const size_t half = align_down(core_region_bytes(kind) / regions_parts(kind) / 2, REGION_UNIT);
	if (least < bytes)
		return false;
	return (take_region(kind, u64_max(least, half)) || (half > least && take_region(kind, least))) &&
	       look(kind);
}

static void clear(enum region_kind kind, void *at, size_t bytes)
{
	if (kind == REGION_CODE || kind == REGION_CONTENT) /* the kernel has erased it; its owner writes all of it */
		return;
	for (unsigned d = 0; d < regions_parts(kind); d++)
		memset(kind == REGION_OWN ? core_region_own(at, d) : at, 0, bytes);
}

void *core_region_alloc(enum region_kind kind, size_t bytes)
{
	struct kind *k = &kinds[kind];
	uint64_t at;
	const size_t whole = align_up(bytes, CORE_REGION_ALIGN);
	if (bytes == 0 || whole < bytes || k->used == CORE_REGION_PIECES || !look(kind))
		return NULL;
	if (!extents_take(&k->free, whole, &at) &&
	    !(grow(kind, whole) && extents_take(&k->free, whole, &at)))
		return NULL;
	k->used++;
	clear(kind, (void *)(uintptr_t)at, whole);
	return (void *)(uintptr_t)at;
}

void core_region_free(enum region_kind kind, void *at, size_t bytes)
{
	struct kind *k = &kinds[kind];
	const size_t whole = align_up(bytes, CORE_REGION_ALIGN);
	if (kind == REGION_CODE)
		kcall(KCALL_CODE_WRITE, (uint64_t)(uintptr_t)at - CODE_WINDOW, 0, whole);
	const bool given = extents_give(&k->free, (uint64_t)(uintptr_t)at, whole);
	assert(given);
	k->used--;
}

bool core_region_claim(enum region_kind kind, void *at, size_t bytes)
{
	struct kind *k = &kinds[kind];
	const size_t whole = align_up(bytes, CORE_REGION_ALIGN);
	if ((uintptr_t)at % CORE_REGION_ALIGN || whole < bytes || k->used == CORE_REGION_PIECES || !look(kind) ||
	    !extents_claim(&k->free, (uint64_t)(uintptr_t)at, whole))
		return false;
	k->used++;
	return true;
}

void *core_region_own(void *at, unsigned d)
{
	for (unsigned i = 0; i < self.info->regions; i++) {
		const struct region *r = &self.info->region[i];
		if (r->kind == REGION_OWN && (uint64_t)(uintptr_t)at - r->at < r->bytes)
			return (uint8_t *)at + d * r->bytes;
	}
	return NULL;
}

size_t core_region_bytes(enum region_kind kind)
{
	size_t bytes = 0;
	for (unsigned i = 0; i < self.info->regions; i++)
		if (self.info->region[i].kind == kind)
			bytes += self.info->region[i].bytes * regions_parts(kind);
	return bytes;
}

size_t core_region_bytes_free(enum region_kind kind)
{
	return core_region_bytes(kind) && look(kind) ? extents_free(&kinds[kind].free) * regions_parts(kind) : 0;
}

int core_code_write(void *at, const void *code, size_t bytes)
{
	return (int)kcall(KCALL_CODE_WRITE, (uint64_t)(uintptr_t)at - CODE_WINDOW, (uint64_t)(uintptr_t)code,
	                  bytes);
}
