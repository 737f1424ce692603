/*
 * Divides the memory of the machine, in 2 MiB pages (ARCHITECTURE.md, Address spaces). The kernel
 * does not know what the machine will be: a router with a million routes wants tables and
 * snapshots, a server with a million connections wants arenas. So
 *
 * 1. the control core gets one piece for its tables and the snapshots: a quarter of the memory, enough
 *    for the routes that so much is bought for, and three times what the boot module has of whole
 *    pages: a router's text makes tables twice as large as it is, and the traces that a generator is
 *    to replay are laid out in the snapshots (tools/pktgen/trace.h). The snapshots begin small, and
 *    the control core makes them larger when it knows (KCALL_SHARE). Where that is too much, it
 *    gets less; and where even the least is too much beside the module, the module goes;
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

#define MIB (1ull << 20)
#define SHARE_LOW (8 * MIB)    /* some 16,000 routes; the rings of 16 ports, and buffers for them */
#define SHARE_HIGH (512 * MIB) /* twice as much is more than a million routes take */
#define CONTROL_LEAST (2 * SHARE_LOW)
#define TEXT_HIGH (64 * MIB) /* of texts: a larger module is files */
/* About what the most connections that can be configured (control/config_statements.c) and the most buffers
 * (core/data.c) take together. */
#define ARENA_HIGH (4096 * MIB)

/* An eighth of the memory, in its limits and in whole pages. */
static uint64_t eighth(void)
{
	uint64_t v = vm_total() / 8;
	v = v < SHARE_LOW ? SHARE_LOW : v > SHARE_HIGH ? SHARE_HIGH : v;
	return align_up(v, HUGE_BYTES);
}

/* What could not be had. */
struct want {
	uint64_t bytes;
	const char *what; /* NULL: all is there */
};

/* Fresh huge pages, *at their memory window address, unless something could not be had already. */
static void take(struct want *missing, uint64_t bytes, const char *what, uint64_t *at)
{
	const uint64_t phys = missing->what ? 0 : vm_take_huge_pages(bytes);
	*at = MEMORY_WINDOW + phys;
	if (phys == 0 && !missing->what)
		*missing = (struct want){bytes, what};
}

static void take_outbox(struct want *missing, struct core_memory *m)
{
	m->outbox_bytes = m->roles & CORE_CONTROL ? 2 * MIB * (1 + boot_info->data_cores) : 0;
	m->outbox_bytes += m->roles & CORE_DATA ? 4 * MIB : 0;
	take(missing, m->outbox_bytes, "a core's outbox", &m->outbox);
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
	return vm_huge_share(boot_info->data_cores, most < ARENA_HIGH ? most : ARENA_HIGH);
}

static void take_arenas(struct want *missing)
{
	const uint64_t bytes = arena_bytes();
	if (bytes < SHARE_LOW && !missing->what)
		*missing = (struct want){SHARE_LOW, "a core's packets"};
	for (unsigned i = boot_info->first_data_core; i < boot_info->cores; i++) {
		struct core_memory *m = &boot_info->core[i];
		m->arena_bytes = bytes;
		take(missing, bytes, "a core's packets", &m->arena);
	}
}

/* All of it, with so much for tables and snapshots; returns what could not be had. */
static struct want take_all(uint64_t control)
{
	struct core_memory *m = boot_info->core;
	struct want missing = {0, NULL};
	take(&missing, control, "the tables", &boot_info->snapshot);
	boot_info->snapshot_bytes = SHARE_LOW;
	m->tables = boot_info->snapshot + SHARE_LOW;
	m->tables_bytes = control - SHARE_LOW;
	for (unsigned i = 0; i < boot_info->cores; i++) {
		m[i].roles = (i == 0 ? CORE_CONTROL : 0) |
		             (i >= boot_info->first_data_core ? CORE_DATA : 0);
		take_outbox(&missing, &m[i]);
	}
	take_arenas(&missing);
	return missing;
}

static uint64_t control_most(void)
{
	const uint64_t module = align_down(boot_info->config_bytes, HUGE_BYTES);
	return 2 * eighth() + 2 * module + (module < TEXT_HIGH ? module : TEXT_HIGH);
}

/* With as much for the control core as there is beside the least for the others. */
static struct want take_most(void)
{
	uint64_t control = control_most();
	struct want missing;
	vm_ram_mark();
	while ((missing = take_all(control)).what && control > CONTROL_LEAST) {
		vm_ram_rewind();
		control = align_down(control - control / 16 - 1, HUGE_BYTES);
		control = control < CONTROL_LEAST ? CONTROL_LEAST : control;
	}
	return missing;
}

void shares_take(const struct boot *boot)
{
	struct want missing = take_most();
	if (missing.what && boot_info->config_bytes) {
		vm_ram_rewind();
		boot_info->config_left_out = boot_info->config_bytes;
		boot_info->config = boot_info->config_bytes = 0;
		vm_ram_give_module(boot);
		missing = take_most();
	}
	if (missing.what)
		vm_refuse(missing.bytes, missing.what);
}
