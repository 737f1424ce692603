/*
 * Divides the memory of the machine among the cores, in 2 MiB pages, and builds the address
 * spaces (ARCHITECTURE.md, invariants 1, 2, 6):
 *
 *     arena     one per core, mapped by that core alone: packet buffers and NIC rings, and on
 *               the control core its tables
 *     outbox    one per core: that core writes, all others map it read-only
 *     snapshot  written by the control core, read-only for the others
 *
 * With one CPU the same core has both roles and all of it.
 */
#include "kernel/partition.h"

#include "hal/layout.h"
#include "kernel/core.h"
#include "kernel/panic.h"
#include "kernel/pci.h"
#include "kernel/program.h"
#include "lib/mem.h"

#define MIB (1ull << 20)

/* A share of v bytes, in its limits and in whole pages. */
static uint64_t share(uint64_t v, uint64_t low, uint64_t high)
{
	v = v < low ? low : v > high ? high : v;
	return align_up(v, HUGE_BYTES);
}

/* Memory window address of fresh huge pages. */
static uint64_t take(uint64_t bytes, const char *what)
{
	uint64_t phys = vm_take_huge_pages(bytes);
	if (phys == 0)
		panic("not enough memory: no %llu MiB in one piece for %s; give the machine more, or "
		      "use fewer cores (cores=N)",
		      (unsigned long long)(bytes / MIB), what);
	return MEMORY_WINDOW + phys;
}

/* The start holds the owner's state words: others read them before the owner has run. */
static void clear_header(uint64_t window_addr)
{
	memset(vm_phys(window_addr - MEMORY_WINDOW), 0, BOOT_HEADER_BYTES);
}

static void give_memory(unsigned id)
{
	struct core_memory *m = &boot_info->core[id];
	uint64_t total = vm_total(), peers = boot_info->data_cores;
	m->roles = (id == 0 ? CORE_CONTROL : 0) | (id >= boot_info->first_data_core ? CORE_DATA : 0);
	if (m->roles & CORE_CONTROL) {
		m->arena_bytes += share(total / 8, 8 * MIB, 512 * MIB);
		m->outbox_bytes += 2 * MIB * (1 + peers);
	}
	if (m->roles & CORE_DATA) {
		m->arena_bytes += share(total / 4 / peers, 8 * MIB, 128 * MIB);
		m->outbox_bytes += 4 * MIB;
	}
	m->arena = take(m->arena_bytes, "a core's arena");
	m->outbox = take(m->outbox_bytes, "a core's outbox");
	clear_header(m->outbox);
}

/* Lets the core's program read, or by VM_WRITE write, the pages that hold this memory. */
static void map_window(struct core *c, uint64_t addr, uint64_t bytes, unsigned flags)
{
	uint64_t start = align_down(addr, PAGE_BYTES), end = align_up(addr + bytes, PAGE_BYTES);
	vm_map(c->space, start, start - MEMORY_WINDOW, end - start, VM_USER | flags);
}

static void build_space(struct core *c)
{
	c->space = vm_space_new();
	program_map(c);
	map_window(c, program_boot_info(), sizeof *boot_info, 0);
	map_window(c, boot_info->core[c->id].arena, boot_info->core[c->id].arena_bytes, VM_WRITE);
	for (unsigned i = 0; i < boot_info->cores; i++)
		map_window(c, boot_info->core[i].outbox, boot_info->core[i].outbox_bytes,
		           i == c->id ? VM_WRITE : 0);
	map_window(c, boot_info->snapshot, boot_info->snapshot_bytes,
	           boot_info->core[c->id].roles & CORE_CONTROL ? VM_WRITE : 0);
	if (boot_info->config_bytes && boot_info->core[c->id].roles & CORE_CONTROL)
		map_window(c, boot_info->config, boot_info->config_bytes, 0);
	pci_map_bars(c->space);
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
	boot_info->snapshot_bytes = share(vm_total() / 8, 8 * MIB, 512 * MIB);
	boot_info->snapshot = take(boot_info->snapshot_bytes, "the snapshots");
	clear_header(boot_info->snapshot);
	for (unsigned i = 0; i < n; i++)
		give_memory(i);
	for (unsigned i = 0; i < n; i++)
		build_space(&cores[i]);
	boot_info->ram_bytes = vm_total();
	boot_info->ram_used_bytes = vm_taken();
}
