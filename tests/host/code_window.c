/* See code_window.h. */
#define _GNU_SOURCE
#include "tests/host/code_window.h"

#include <string.h>
#include <sys/mman.h>

#include "abi/layout.h"
#include "tests/host/lines.h"

#define UNIT 0x200000u
#define INT3 0xcc

static uint64_t whole(const struct boot_info *info, uint64_t kind, uint64_t bytes)
{
	return kind == REGION_OWN ? bytes * info->data_cores : bytes;
}

static uint64_t code_bytes(const struct boot_info *info)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < info->regions; i++)
		bytes += info->region[i].kind == REGION_CODE ? info->region[i].bytes : 0;
	return bytes;
}

static bool is_sound(const struct boot_info *info, uint64_t at, uint64_t bytes, uint64_t kind)
{
	const struct core_memory *m = &info->core[0];
	if (kind >= REGION_KINDS || bytes == 0 || (at | bytes) % UNIT || bytes > m->tables_bytes ||
	    at < m->tables || at + whole(info, kind, bytes) > m->tables + m->tables_bytes)
		return false;
	for (unsigned i = 0; i < info->regions; i++) {
		const struct region *r = &info->region[i];
		if (at < r->at + whole(info, r->kind, r->bytes) && r->at < at + whole(info, kind, bytes))
			return false;
	}
	return true;
}

static void protect(const struct region *r, int rights)
{
	if (mprotect((void *)(uintptr_t)(CODE_WINDOW + r->offset), r->bytes, rights) != 0)
		broken("the code window's rights do not change");
}

/* Shows the region's memory in the window. */
static void show(const struct region *r)
{
	void *const at = (void *)(uintptr_t)(CODE_WINDOW + r->offset);
	if (mmap(at, r->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at)
		broken("something is in the code window");
	memcpy(at, (const void *)(uintptr_t)r->at, r->bytes);
	protect(r, PROT_READ | PROT_EXEC);
}

int host_region(struct boot_info *info, uint64_t at, uint64_t bytes, uint64_t kind)
{
	const uint64_t code = kind == REGION_CODE ? code_bytes(info) : 0;
	if (!is_sound(info, at, bytes, kind))
		return E_INVAL;
	if (info->regions == REGIONS_MAX || (kind == REGION_CODE && bytes > CODE_WINDOW_BYTES - code))
		return E_NOMEM;
	struct region *r = &info->region[info->regions++];
	*r = (struct region){at, bytes, (uint32_t)kind, (uint32_t)code};
	if (kind == REGION_CODE) {
		memset((void *)(uintptr_t)at, INT3, bytes);
		show(r);
	}
	return E_OK;
}

/* Copies, or erases, the part of [offset, offset + bytes) that lies in region r. */
static void write_part(const struct region *r, uint64_t offset, const void *from, uint64_t bytes)
{
	const uint64_t begin = offset > r->offset ? offset : r->offset;
	const uint64_t end = offset + bytes < r->offset + r->bytes ? offset + bytes : r->offset + r->bytes;
	if (r->kind != REGION_CODE || begin >= end)
		return;
	uint8_t *kept = (uint8_t *)(uintptr_t)r->at + (begin - r->offset);
	if (from)
		memcpy(kept, (const uint8_t *)from + (begin - offset), end - begin);
	else
		memset(kept, INT3, end - begin);
	protect(r, PROT_READ | PROT_WRITE);
	memcpy((void *)(uintptr_t)(CODE_WINDOW + begin), kept, end - begin);
	protect(r, PROT_READ | PROT_EXEC);
}

int host_code_write(const struct boot_info *info, uint64_t offset, const void *from, uint64_t bytes)
{
	const uint64_t room = code_bytes(info);
	if (offset > room || bytes > room - offset)
		return E_INVAL;
	for (unsigned i = 0; i < info->regions; i++)
		write_part(&info->region[i], offset, from, bytes);
	return E_OK;
}

void host_code_go_on(const struct boot_info *info)
{
	for (unsigned i = 0; i < info->regions; i++)
		if (info->region[i].kind == REGION_CODE)
			show(&info->region[i]);
}
