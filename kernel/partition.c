/*
 * Builds the address spaces of the cores (ARCHITECTURE.md, invariants 1, 2, 6) over the memory that
 * shares.c has given to each:
 *
 *     arena      one per data core, which alone writes it: packet buffers and NIC rings. The control
 *                core maps it read-only, for data too large for shared memory
 *     shared     one per core: that core writes, all others map it read-only
 *     published  written by the control core, read-only for the others
 *     tables     the control core's alone. Published memory and tables are one piece of memory; the control
 *                core moves the boundary (KCALL_SHARE), because both sizes depend on the configuration
 *
 * Later the control core may give parts of its tables away for XDP programs (regions.c).
 *
 * With one CPU the same core has both roles and all of this memory.
 */
#include "kernel/partition.h"

#include "abi/layout.h"
#include "kernel/core.h"
#include "kernel/numa.h"
#include "kernel/pci.h"
#include "kernel/program.h"
#include "kernel/regions.h"
#include "kernel/shares.h"
#include "lib/mem.h"

/* The header holds the owner's state words. Other cores may read them before the owner has run. */
static void clear_header(uint64_t window_addr)
{
	memset(vm_phys(window_addr - MEMORY_WINDOW), 0, BOOT_HEADER_BYTES);
}

/* Maps the pages of this memory into the core's program, read-only unless flags has VM_WRITE. */
static void map_window(struct core *c, uint64_t addr, uint64_t bytes, unsigned flags)
{
	uint64_t start = align_down(addr, PAGE_BYTES), end = align_up(addr + bytes, PAGE_BYTES);
	vm_map(c->space, start, start - MEMORY_WINDOW, end - start, VM_USER | flags);
}

static void map_windows(struct core *c)
{
	const struct core_memory *m = &boot_info->core[c->id];
	map_window(c, program_boot_info(), sizeof *boot_info, 0);
	map_window(c, m->tables, m->tables_bytes, VM_WRITE);
	for (unsigned i = 0; i < boot_info->cores; i++) {
		const struct core_memory *of = &boot_info->core[i];
		unsigned flags = i == c->id ? VM_WRITE : 0;
		map_window(c, of->shm, of->shm_bytes, flags);
		if (i == c->id || m->roles & CORE_CONTROL)
			map_window(c, of->arena, of->arena_bytes, flags);
	}
	map_window(c, boot_info->published, boot_info->published_bytes,
	           m->roles & CORE_CONTROL ? VM_WRITE : 0);
	if (boot_info->config_bytes && m->roles & CORE_CONTROL)
		map_window(c, boot_info->config, boot_info->config_bytes, 0);
	pci_map_bars(c->space, m->roles & CORE_CONTROL);
}

/* Bytes of page tables still needed to share `bytes` of the control core's tables. */
static uint64_t tables_missing(uint64_t bytes)
{
	uint64_t missing = 0;
	for (unsigned i = 1; i < boot_info->cores; i++)
		missing += vm_tables_missing(cores[i].space, boot_info->core[0].tables, bytes);
	return missing;
}

int partition_share(uint64_t bytes)
{
	struct core_memory *m = &boot_info->core[0];
	if (bytes == 0 || bytes % HUGE_BYTES || bytes >= m->tables_bytes || regions_overlap(m->tables, bytes))
		return E_INVAL;
	if (tables_missing(bytes) > vm_free())
		return E_NOMEM; /* the caller can do with less, so this is no panic */
	for (unsigned i = boot_info->first_data_core; i < boot_info->cores; i++)
		if (i > 0) /* the entries were not present, so no TLB holds them (SDM vol. 3A, 4.10.2) */
			map_window(&cores[i], m->tables, bytes, 0);
	m->tables += bytes;
	m->tables_bytes -= bytes;
	boot_info->published_bytes += bytes;
	return E_OK;
}

void partition_cores(unsigned n, const struct boot *boot)
{
	boot_info->cores = n;
	boot_info->first_data_core = n > 1;
	boot_info->data_cores = n > 1 ? n - 1 : 1;
	if (boot->module.end) {
		boot_info->config = MEMORY_WINDOW + boot->module.start;
		boot_info->config_bytes = boot->module.end - boot->module.start;
	}
	boot_info->nodes = numa_nodes();
	for (unsigned i = 0; i < boot_info->nodes; i++)
		boot_info->node_bytes[i] = vm_node_bytes(i);
	for (unsigned i = 0; i < n; i++) { /* the programs' pages first: shares_take takes the rest */
		boot_info->core[i].node = numa_node_of_core(cores[i].apic_id);
		cores[i].space = vm_space_new();
		program_map(&cores[i]);
	}
	shares_take(boot);
	clear_header(boot_info->published);
	for (unsigned i = 0; i < n; i++)
		clear_header(boot_info->core[i].shm);
	for (unsigned i = 0; i < n; i++)
		map_windows(&cores[i]);
	boot_info->ram_bytes = vm_total();
	boot_info->ram_used_bytes = vm_taken();
}
