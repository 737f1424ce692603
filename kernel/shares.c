/*
 * Divides the memory of the machine, in 2 MiB pages (ARCHITECTURE.md, Address spaces). The kernel
 * does not know what the machine will be: a router with a million routes wants tables and
 * snapshots, a server with a million connections wants arenas. So
 *
 * 1. tables and snapshots get an eighth each, enough for the routes that so much memory is bought
 *    for;
 *    snapshots twice as much more as the boot module has of whole pages: the traces that a generator
 *    is to replay are laid out there (tools/pktgen/trace.h), and texts are smaller than a page;
 * 2. the data cores get all that is left, the same for each: nobody else would use it, and memory
 *    that is not touched costs nothing. Only so much remains as the page tables need;
 * 3. each region is in one piece of physical memory. The small ones are taken first, then the
 *    arenas are as large as the holes of the machine allow.
 *
 * Nothing here looks at memory: tests/unit/test_shares.c divides machines of all sizes.
 */
#include "kernel/shares.h"

#include "hal/layout.h"
#include "kernel/core.h"
#include "kernel/panic.h"

#define MIB (1ull << 20)
#define SHARE_LOW (8 * MIB)    /* some 16,000 routes; the rings of 16 ports, and buffers for them */
#define SHARE_HIGH (512 * MIB) /* more than a million routes take */
/* About what the most connections that can be configured (control/config.c) and the most buffers
 * (core/data.c) take together. */
#define ARENA_HIGH (4096 * MIB)

/* An eighth of the memory, in its limits and in whole pages. */
static uint64_t eighth(void)
{
	uint64_t v = vm_total() / 8;
	v = v < SHARE_LOW ? SHARE_LOW : v > SHARE_HIGH ? SHARE_HIGH : v;
	return align_up(v, HUGE_BYTES);
}

static _Noreturn void refuse(uint64_t bytes, const char *what)
{
	panic("not enough memory: no %llu MiB in one piece for %s; give the machine more, or use fewer "
	      "cores (cores=N)",
	      (unsigned long long)(bytes / MIB), what);
}

/* Memory window address of fresh huge pages. */
static uint64_t take(uint64_t bytes, const char *what)
{
	uint64_t phys = vm_take_huge_pages(bytes);
	if (phys == 0)
		refuse(bytes, what);
	return MEMORY_WINDOW + phys;
}

static void take_outbox(struct core_memory *m)
{
	m->outbox_bytes = m->roles & CORE_CONTROL ? 2 * MIB * (1 + boot_info->data_cores) : 0;
	m->outbox_bytes += m->roles & CORE_DATA ? 4 * MIB : 0;
	m->outbox = take(m->outbox_bytes, "a core's outbox");
}

/* Of page tables that are still to be made for a core (map_windows, kernel/partition.c). The
 * control core sees nearly all memory; what one of several data cores needs less is not worth
 * reckoning: all tables of 64 cores are a four-thousandth of the memory. */
static uint64_t tables_bytes(void)
{
	uint64_t bytes = vm_ram_tables_bytes();
	bytes += vm_tables_bytes((uint64_t)boot_info, sizeof *boot_info);
	bytes += vm_tables_bytes(boot_info->config, boot_info->config_bytes);
	for (unsigned d = 0; d < boot_info->pci_count; d++)
		for (unsigned b = 0; b < PCI_BARS; b++) {
			const struct pci_bar *bar = &boot_info->pci[d].bar[b];
			bytes += vm_tables_bytes(bar->addr, bar->bytes);
		}
	return bytes;
}

static uint64_t arena_bytes(void)
{
	uint64_t kept = boot_info->cores * tables_bytes(), free = vm_free();
	uint64_t most = free > kept ? (free - kept) / boot_info->data_cores : 0;
	uint64_t bytes = vm_huge_share(boot_info->data_cores, most < ARENA_HIGH ? most : ARENA_HIGH);
	if (bytes < SHARE_LOW)
		refuse(SHARE_LOW, "a core's packets");
	return bytes;
}

void shares_take(void)
{
	struct core_memory *m = boot_info->core;
	m[0].tables_bytes = eighth();
	boot_info->snapshot_bytes = eighth() + 2 * align_down(boot_info->config_bytes, HUGE_BYTES);
	boot_info->snapshot = take(boot_info->snapshot_bytes, "the snapshots");
	m[0].tables = take(m[0].tables_bytes, "the control core's tables");
	for (unsigned i = 0; i < boot_info->cores; i++) {
		m[i].roles = (i == 0 ? CORE_CONTROL : 0) |
		             (i >= boot_info->first_data_core ? CORE_DATA : 0);
		take_outbox(&m[i]);
	}
	uint64_t arena = arena_bytes();
	for (unsigned i = boot_info->first_data_core; i < boot_info->cores; i++) {
		m[i].arena_bytes = arena;
		m[i].arena = take(arena, "a core's packets");
	}
}
