/*
 * Regions (see regions.h): XDP programs' code and maps, in memory that was the control core's.
 *
 * 1. Code is executable in CODE_WINDOW, and writable nowhere: the control core's own map of that memory
 *    goes, and the kernel's map of it is read-only except while regions_code_write copies. Another core
 *    that has a translation of the kernel's map from before may keep it: of ring 0, which does not use it.
 * 2. A region is given away once. No entry that a data core's page tables get here was present before, so
 *    no TLB of theirs holds it (Intel SDM vol. 3A, 4.10.2.3), and none is asked to forget one.
 * 3. Devices reach the control core's tables, but no region: the IOMMU forgets it first. Content they read.
 * 4. Bytes of code that are not in use are int3, which in CODE_WINDOW is a failure and not a kernel call
 *    (trap_handler).
 *
 * Nothing here knows what code does. That is the verifier's and the compiler's part (bpf/), in the control
 * core's program: whoever controls this program controls the code of data cores.
 */
#include "kernel/regions.h"

#include "abi/layout.h"
#include "kernel/audit.h"
#include "kernel/iommu.h"
#include "kernel/vm.h"
#include "lib/assert.h"
#include "lib/cmdline.h"
#include "lib/mem.h"

#define INT3 0xcc

static uint64_t parts(uint64_t kind)
{
	return kind == REGION_OWN ? boot_info->data_cores : 1;
}

uint64_t region_whole(const struct region *r)
{
	return r->bytes * parts(r->kind);
}

bool regions_overlap(uint64_t at, uint64_t bytes)
{
	for (unsigned i = 0; i < boot_info->regions; i++) {
		const struct region *r = &boot_info->region[i];
		if (at < r->at + region_whole(r) && r->at < at + bytes)
			return true;
	}
	return false;
}

static uint64_t code_bytes(void)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < boot_info->regions; i++)
		bytes += boot_info->region[i].kind == REGION_CODE ? boot_info->region[i].bytes : 0;
	return bytes;
}

/* True if the region lies in the tables, and in no other region. */
static bool is_sound(uint64_t at, uint64_t bytes, uint64_t kind)
{
	const struct core_memory *m = &boot_info->core[0];
	if (kind >= REGION_KINDS || bytes == 0 || (at | bytes) % HUGE_BYTES)
		return false;
	if (at < m->tables || at - m->tables > m->tables_bytes)
		return false;
	const uint64_t room = m->tables_bytes - (at - m->tables);
	return bytes <= room / parts(kind) && !regions_overlap(at, bytes * parts(kind));
}

/* Where a core's program sees the region, or its part of it: address, bytes, rights. 0 bytes: nowhere, or
 * where the control core's tables show it already. */
struct view {
	uint64_t virt, phys, bytes;
	unsigned flags;
};

static struct view view_of(const struct region *r, const struct core *c)
{
	const unsigned roles = boot_info->core[c->id].roles, d = c->id - boot_info->first_data_core;
	const uint64_t phys = r->at - MEMORY_WINDOW;
	if (r->kind == REGION_CODE)
		return (struct view){CODE_WINDOW + r->offset, phys, r->bytes,
		                     VM_USER | (roles & CORE_DATA ? VM_EXEC : 0)};
	if (roles & CORE_CONTROL)
		return (struct view){0};
	if (r->kind == REGION_OWN)
		return (struct view){r->at + d * r->bytes, phys + d * r->bytes, r->bytes, VM_USER | VM_WRITE};
	return (struct view){r->at, phys, r->bytes, VM_USER | (r->kind == REGION_SHARED ? VM_WRITE : 0)};
}

static uint64_t tables_missing(const struct region *r)
{
	uint64_t missing = 0;
	for (unsigned i = 0; i < boot_info->cores; i++) {
		const struct view v = view_of(r, &cores[i]);
		missing += v.bytes ? vm_tables_missing(cores[i].space, v.virt, v.bytes) : 0;
	}
	return missing;
}

/* Takes code from the control core's tables, erases it and seals it. */
static void seal(const struct region *r)
{
	const uint64_t phys = r->at - MEMORY_WINDOW;
	vm_change(cores[0].space, r->at, r->bytes, VM_NOTHING);
	memset(vm_phys(phys), INT3, r->bytes);
	vm_seal(phys, r->bytes);
}

/* With test=1 the page tables are checked after each change. */
static void check(bool say)
{
	if (cmdline_number(boot_info->cmdline, "test", 0) == 1)
		audit_address_spaces(boot_info->cores, say);
}

int regions_add(uint64_t at, uint64_t bytes, uint64_t kind)
{
	if (!is_sound(at, bytes, kind))
		return E_INVAL;
	const uint64_t code = kind == REGION_CODE ? code_bytes() : 0;
	const struct region r = {at, bytes, (uint32_t)kind, (uint32_t)code};
	const bool fits = kind != REGION_CODE || bytes <= CODE_WINDOW_BYTES - code;
	if (boot_info->regions == REGIONS_MAX || !fits || tables_missing(&r) > vm_free())
		return E_NOMEM;
	const int e = iommu_withdraw(at, region_whole(&r), kind == REGION_CONTENT);
	if (e != E_OK)
		return e;
	if (kind == REGION_CODE)
		seal(&r);
	for (unsigned i = 0; i < boot_info->cores; i++) {
		const struct view v = view_of(&r, &cores[i]);
		if (v.bytes)
			vm_map(cores[i].space, v.virt, v.phys, v.bytes, v.flags);
	}
	boot_info->region[boot_info->regions] = r;
	__atomic_store_n(&boot_info->regions, boot_info->regions + 1, __ATOMIC_RELEASE);
	check(true);
	return E_OK;
}

/* --- writing code --- */

/* Writes the part of [offset, offset + bytes) that lies in region r. */
static void write_part(const struct core *c, const struct region *r, uint64_t offset, uint64_t from, uint64_t bytes)
{
	const uint64_t begin = offset > r->offset ? offset : r->offset;
	const uint64_t end = offset + bytes < r->offset + r->bytes ? offset + bytes : r->offset + r->bytes;
	if (r->kind != REGION_CODE || begin >= end)
		return;
	const uint64_t phys = r->at - MEMORY_WINDOW + (begin - r->offset);
	const uint64_t page = align_down(phys, HUGE_BYTES);
	const uint64_t pages = align_up(phys + (end - begin), HUGE_BYTES) - page;
	bool copied = true;
	vm_unseal(page, pages);
	if (from)
		copied = vm_copy_from_user(c->space, vm_phys(phys), from + (begin - offset), end - begin);
	else
		memset(vm_phys(phys), INT3, end - begin);
	vm_seal(page, pages);
	assert(copied); /* vm_user_may_read said so */
}

int regions_code_write(const struct core *c, uint64_t offset, uint64_t from, uint64_t bytes)
{
	const uint64_t room = code_bytes();
	if (offset > room || bytes > room - offset || (from && !vm_user_may_read(c->space, from, bytes)))
		return E_INVAL;
	for (unsigned i = 0; i < boot_info->regions; i++)
		write_part(c, &boot_info->region[i], offset, from, bytes);
	check(false);
	return E_OK;
}
