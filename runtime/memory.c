/*
 * The control core's memory: its part of published memory, and its private tables.
 *
 *     published  header | ... the application's part in force ... | room to grow
 *     tables     room for published memory to grow | holes, allocated from their ends | struct persistent
 *
 * In the tables lie the regions that were given away for XDP programs (struct region, abi/boot_info.h). They
 * stay where they are, as the kernel's list says, and no hole contains them.
 *
 * A program that restarts while data cores continue (warm_restart.c) builds its part of published memory beside
 * the one that they read: below it or behind it. Private memory is allocated afresh. Kept memory, of the
 * devices and of the application (core_persist_alloc), stays in place, and allocations go around it.
 */
#include "runtime/shared.h"
#include "abi/kcall.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "lib/siphash.h"

#define SHARE_UNIT (2u << 20) /* granularity of KCALL_SHARE */
#define PAGE_BYTES 4096u
#define AREA_LEAST \
	(4u << 20) /* initial size of a part after a warm restart; the first part is larger */

static const struct siphash_key seal_key = {0x6879617465206b65, 0x707420626c6f636b};

/* Free private memory; each hole is one piece, allocated from its end. The last hole begins at the
 * current start of the tables, which can move. */
static struct hole {
	uint64_t begin, end;
} holes[PERSIST_PIECES_MAX + REGIONS_MAX + 1];
static unsigned hole_count;
static size_t private_used;
static size_t window_end; /* end of our part, counted like self.area; 0: it may grow */
static size_t taken;      /* size set by the last core_published_take */
static size_t spare_private, spare_published; /* core_set_spare */

struct persistent *kept(void)
{
	const struct core_memory *m = &self.info->core[self.id];
	return (struct persistent *)(uintptr_t)(m->tables + m->tables_bytes - PERSIST_BYTES);
}

/* --- kept memory --- */

static uint64_t pieces_seal(const struct persistent *k)
{
	return siphash24(&seal_key, k->piece, sizeof k->piece) ^ k->pieces;
}

static uint64_t region_whole(const struct region *r)
{
	return r->bytes * regions_parts((enum region_kind)r->kind);
}

static bool is_in_region(uint64_t at, uint64_t bytes)
{
	for (unsigned i = 0; i < self.info->regions; i++) {
		const struct region *r = &self.info->region[i];
		if (at < r->at + region_whole(r) && r->at < at + bytes)
			return true;
	}
	return false;
}

/* True if the piece lies in the tables, below struct persistent, and in no region. */
static bool is_sane(const struct persist_piece *p)
{
	const uint64_t end = (uint64_t)(uintptr_t)kept();
	const uint64_t begin = self.info->core[self.id].tables;
	return p->what < CORE_PERSISTS && p->at >= begin && p->at < end && p->bytes <= end - p->at &&
	       p->at % PAGE_BYTES == 0 && p->bytes % PAGE_BYTES == 0 && !is_in_region(p->at, p->bytes);
}

static bool are_sane(const struct persistent *k)
{
	for (unsigned i = 0; i < k->pieces; i++)
		if (!is_sane(&k->piece[i]) ||
		    (i && k->piece[i].at + k->piece[i].bytes > k->piece[i - 1].at))
			return false;
	return true;
}

/* Inserts [begin, end) into a list by address, highest first. */
static void insert(struct hole *list, unsigned n, uint64_t begin, uint64_t end)
{
	for (; n > 0 && list[n - 1].begin < begin; n--)
		list[n] = list[n - 1];
	list[n] = (struct hole){begin, end};
}

/* Computes the holes between pieces and regions. */
static void find_holes(void)
{
	struct hole occupied[PERSIST_PIECES_MAX + REGIONS_MAX];
	const struct persistent *k = kept();
	uint64_t end = (uint64_t)(uintptr_t)k;
	unsigned n = 0;
	private_used = PERSIST_BYTES;
	for (unsigned i = 0; i < k->pieces; i++) {
		insert(occupied, n++, k->piece[i].at, k->piece[i].at + k->piece[i].bytes);
		private_used += k->piece[i].bytes;
	}
	for (unsigned i = 0; i < self.info->regions; i++) {
		const struct region *r = &self.info->region[i];
		insert(occupied, n++, r->at, r->at + region_whole(r));
	}
	hole_count = 0;
	for (unsigned i = 0; i < n; i++) {
		holes[hole_count++] = (struct hole){occupied[i].end, end};
		end = occupied[i].begin;
	}
	holes[hole_count++] = (struct hole){0, end};
}

void tables_init(void)
{
	struct persistent *k = kept();
	struct published *s = published_header();
	if (s->lives == 0 || k->pieces > PERSIST_PIECES_MAX || pieces_seal(k) != k->pieces_seal ||
	    !are_sane(k)) {
		memset(k, 0, PERSIST_BYTES);
		k->pieces_seal = pieces_seal(k);
	}
	s->lives++;
	find_holes();
	self.area = 0;
	window_end = taken = 0;
}

static void drop(enum core_persist what)
{
	struct persistent *k = kept();
	unsigned left = 0;
	for (unsigned i = 0; i < k->pieces; i++)
		if (k->piece[i].what != what)
			k->piece[left++] = k->piece[i];
	memset(&k->piece[left], 0, (PERSIST_PIECES_MAX - left) * sizeof k->piece[0]);
	k->pieces = left;
	k->pieces_seal = pieces_seal(k);
}

void tables_forget_devices(void)
{
	drop(CORE_PERSIST_DEVICES);
	find_holes();
}

/* Inserts a piece in address order. A devices' piece directly below another one is merged with it.
 * False: there are too many pieces. */
static bool enter(enum core_persist what, uint64_t at, size_t bytes)
{
	struct persistent *k = kept();
	unsigned i = 0;
	while (i < k->pieces && k->piece[i].at > at)
		i++;
	struct persist_piece *above = i ? &k->piece[i - 1] : NULL;
	if (above && above->what == CORE_PERSIST_DEVICES && what == CORE_PERSIST_DEVICES &&
	    at + bytes == above->at) {
		above->at = at;
		above->bytes += bytes;
	} else {
		if (k->pieces == PERSIST_PIECES_MAX)
			return false;
		memmove(&k->piece[i + 1], &k->piece[i], (k->pieces - i) * sizeof k->piece[0]);
		k->piece[i] = (struct persist_piece){.at = at, .bytes = bytes, .what = what};
		k->pieces++;
	}
	k->pieces_seal = pieces_seal(k);
	return true;
}

void *core_persist_find(enum core_persist what, size_t *bytes)
{
	const struct persistent *k = kept();
	for (unsigned i = 0; i < k->pieces; i++)
		if (k->piece[i].what == what) {
			*bytes = k->piece[i].bytes;
			return (void *)(uintptr_t)k->piece[i].at;
		}
	return NULL;
}

/* --- private memory --- */

static uint64_t hole_begin(unsigned i)
{
	return i == hole_count - 1 ? self.info->core[self.id].tables : holes[i].begin;
}

static size_t hole_bytes(unsigned i) { return holes[i].end - hole_begin(i); }

/* Takes [at, end) out of hole i. What lies above becomes a hole of its own. */
static void split(unsigned i, uint64_t at, uint64_t end)
{
	const struct hole above = {end, holes[i].end};
	holes[i].end = at;
	if (above.begin == above.end || hole_count == sizeof holes / sizeof holes[0])
		return;
	memmove(&holes[i + 1], &holes[i], (hole_count - i) * sizeof holes[0]);
	holes[i] = above;
	hole_count++;
}

bool tables_region(enum region_kind kind, size_t bytes)
{
	const uint64_t whole = bytes * regions_parts(kind);
	for (unsigned i = 0; i < hole_count; i++) {
		const uint64_t begin = hole_begin(i);
		if (whole > holes[i].end - begin)
			continue;
		const uint64_t at = align_down(holes[i].end - whole, REGION_UNIT);
		if (at < begin)
			continue;
		if (kcall(KCALL_REGION, at, bytes, kind) != E_OK)
			return false;
		split(i, at, at + whole);
		return true;
	}
	return false;
}

size_t core_private_left(void)
{
	size_t most = 0;
	for (unsigned i = 0; i < hole_count; i++)
		most = u64_max(most, hole_bytes(i));
	return most;
}

size_t core_private_used(void) { return private_used; }

/* Takes private memory, a multiple of PAGE_BYTES, with the contents that it has. */
static void *take(size_t bytes)
{
	for (unsigned i = 0; i < hole_count; i++) {
		if (bytes > hole_bytes(i))
			continue;
		holes[i].end -= bytes; /* from the end: published memory grows into the last hole */
		private_used += bytes;
		return (void *)(uintptr_t)holes[i].end;
	}
	return NULL;
}

void *core_private_alloc(size_t bytes)
{
	const size_t whole = align_up(bytes, PAGE_BYTES);
	void *p = take(whole);
	return p ? memset(p, 0, whole) : NULL;
}

void *core_persist_alloc(enum core_persist what, size_t bytes)
{
	bytes = align_up(bytes, PAGE_BYTES);
	void *p = what == CORE_PERSIST_PROGRAMS_WORK ? take(bytes) : core_private_alloc(bytes);
	if (p && what != CORE_PERSIST_DEVICES)
		drop(what);
	return p && enter(what, (uint64_t)(uintptr_t)p, bytes) ? p : NULL;
}

/* Takes zeroed private memory that begins at a multiple of CORE_LEND_UNIT. */
static void *take_aligned(size_t bytes)
{
	for (unsigned i = 0; i < hole_count; i++) {
		if (bytes > hole_bytes(i))
			continue;
		const uint64_t at = align_down(holes[i].end - bytes, CORE_LEND_UNIT);
		if (at < hole_begin(i))
			continue;
		split(i, at, at + bytes);
		private_used += bytes;
		return memset((void *)(uintptr_t)at, 0, bytes);
	}
	return NULL;
}

void *core_persist_alloc_aligned(enum core_persist what, size_t bytes)
{
	bytes = align_up(bytes, PAGE_BYTES);
	void *p = take_aligned(bytes);
	if (p)
		drop(what);
	return p && enter(what, (uint64_t)(uintptr_t)p, bytes) ? p : NULL;
}

int core_lend(unsigned device, void *at, size_t bytes)
{
	return (int)kcall(KCALL_DMA_RESERVE, device, (uint64_t)(uintptr_t)at, bytes);
}

/* --- published memory --- */

/* Bytes of the tables behind published memory that published memory can still take. */
static size_t shareable(void)
{
	const struct boot_info *b = self.info;
	const bool follow = b->core[self.id].tables == b->published + b->published_bytes;
	const size_t free = hole_bytes(hole_count - 1);
	return follow && free ? align_down(free - 1, SHARE_UNIT) : 0;
}

static size_t whole(void)
{
	return self.info->published_bytes - PUBLISHED_HEADER;
}

void *core_published_area(size_t *bytes)
{
	*bytes = (window_end ? window_end : whole()) - self.area;
	return (uint8_t *)published_header() + PUBLISHED_HEADER + self.area;
}

size_t core_published_beside(void)
{
	return self.area + (window_end ? whole() - window_end : 0);
}

size_t core_published_most(void)
{
	return window_end ? window_end - self.area : whole() + shareable() - self.area;
}

int core_published_take(size_t bytes)
{
	if (bytes > core_published_most())
		return E_NOMEM;
	if (self.area + bytes > whole() &&
	    kcall(KCALL_SHARE, align_up(self.area + bytes - whole(), SHARE_UNIT), 0, 0) != 0)
		return E_NOMEM;
	taken = bytes;
	return E_OK;
}

size_t tables_taken(void) { return taken; }

void core_set_spare(size_t private_bytes, size_t published_bytes)
{
	spare_private = private_bytes;
	spare_published = published_bytes;
}

size_t tables_needed(void)
{
	return taken - u64_min(taken, spare_published);
}

size_t tables_private_needed(void)
{
	const struct persistent *k = kept();
	size_t kept_bytes = PERSIST_BYTES;
	for (unsigned i = 0; i < k->pieces; i++)
		kept_bytes += k->piece[i].bytes;
	return private_used - kept_bytes - u64_min(private_used - kept_bytes, spare_private);
}

bool tables_move(size_t used, size_t bytes, size_t needed, size_t private_needed)
{
	const size_t behind = align_up(used + bytes, PAGE_BYTES), end = behind + needed;
	const size_t growth = end > whole() ? align_up(end - whole(), SHARE_UNIT) : 0;
	if (private_needed + growth > core_private_left() || (used < needed && growth > shareable()))
		return false;
	window_end = used >= needed ? used : 0;
	self.area = window_end ? 0 : behind;
	return core_published_take(u64_min(needed, AREA_LEAST)) == E_OK;
}
