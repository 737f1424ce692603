/*
 * See iommu.h. Tables as in the VT-d specification, rev. 3.0: 9.1 root entries, 9.3 context entries. The
 * cards' maps are iomap.c's.
 */
#include "kernel/iommu.h"

#include "abi/kcall.h"
#include "abi/layout.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/iomap.h"
#include "kernel/irt.h"
#include "kernel/lock.h"
#include "kernel/numa.h"
#include "kernel/pci.h"
#include "kernel/vm.h"
#include "kernel/vtd.h"
#include "lib/assert.h"
#include "lib/cmdline.h"
#include "lib/mem.h"

#define ENTRY_PRESENT 1ull
#define CONTEXT_PASS (2ull << 2) /* 9.3, TT 10b: not remapped */
#define CONTEXT_WIDTH_39 1ull    /* 9.3, AW */
#define CONTEXT_WIDTH_48 2ull
#define CONTEXT_DOMAIN_AT 8
#define BUSES 256
#define LOOK_MAX 64    /* most refusals read from a unit per call: it may keep recording */
#define PRINTED_ALL 16 /* refusals printed; after them only each whose number is a power of two */

static struct dmar dmar;
static int dmar_error = E_NOENT; /* result of dmar_parse; E_NOENT: firmware has no table */
static struct vtd unit[DMAR_UNITS_MAX];
static bool used[DMAR_UNITS_MAX];
static unsigned widths; /* address widths that all used units support; 0: no unit is used */
static struct lock queues_lock; /* a unit executes one set of descriptors at a time */
static unsigned maps; /* one for each card; 1: all cards share it */
static struct {
	uint64_t root;
	uint64_t queues; /* VTD_QUEUE_BYTES for each unit in `unit`; 0: interrupts are not remapped */
} mem;
#define TEST_DATA 0x5ca1ab1eu
static volatile uint32_t test_word; /* written only by a device that escapes the IOMMU */

static const char *error_text(int e)
{
	return e == E_TIMEOUT  ? "does not answer"
	       : e == E_NOTSUP ? "was left in a use that is not supported"
	                       : "is not there";
}

static void give_up(const char *why)
{
	console_print("iommu: not used: %s\n", why);
	widths = 0;
}

/* The units of segment 0 are the only ones that are used; see dmar.h. */
static bool may_be_covered(const struct pci_dev *dev)
{
	return dev->segment == 0;
}

/* Marks the units of the cards; returns how many cards have a unit. */
static unsigned choose_units(void)
{
	unsigned cards = 0;
	for (unsigned i = 0; i < boot_info->pci_count; i++) {
		uint16_t bdf = boot_info->pci[i].bdf;
		int n = may_be_covered(&boot_info->pci[i]) ? dmar_unit_of(&dmar, bdf, pci_buses_behind) : -1;
		if (n >= 0) {
			used[n] = true;
			cards++;
		} else {
			char name[FMT_PCI_MAX];
			console_print("iommu: no unit covers %s\n", fmt_pci(name, boot_info->pci[i].segment, bdf));
		}
	}
	return cards;
}

static void open_units(void)
{
	widths = VTD_WIDTH_39 | VTD_WIDTH_48;
	for (unsigned n = 0; n < dmar.units; n++) {
		int e = used[n] ? vtd_open(&unit[n], dmar.unit[n].regs) : E_OK;
		if (e != E_OK) {
			give_up(error_text(e));
			return;
		}
		if (used[n])
			widths &= vtd_widths(&unit[n]);
	}
	if (widths == 0)
		give_up("the units lack 2 MiB pages, or a width that they have in common");
}

/* The device of scope n, which names reserved memory that firmware still uses. -1: the scope's device
 * is not behind a used unit that supports pass-through, or is one of our cards. */
static int reserved_device(unsigned n)
{
	int bdf = dmar_scope_bdf(&dmar.scope[n], pci_buses_behind);
	int by = bdf < 0 ? -1 : dmar_unit_of(&dmar, (uint16_t)bdf, pci_buses_behind);
	if (by < 0 || !used[by] || !vtd_passes_through(&unit[by]))
		return -1;
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		if (may_be_covered(&boot_info->pci[i]) && boot_info->pci[i].bdf == bdf)
			return -1;
	return bdf;
}

/* Gives each card a map of its own, if the units have enough domains: one for each map, one for the devices of
 * firmware, and 0. */
static void choose_maps(void)
{
	maps = boot_info->pci_count;
	for (unsigned n = 0; n < dmar.units; n++)
		if (used[n] && vtd_domains(&unit[n]) < boot_info->pci_count + 2)
			maps = 1;
}

static unsigned map_of(unsigned card) { return maps > 1 ? card : 0; }

/* Takes pages for the root table, a context table for each bus that has a device, and the maps. */
static void take_memory(void)
{
	bool bus[BUSES] = {false};
	unsigned buses = 0;
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		bus[boot_info->pci[i].bdf >> 8] = true;
	for (unsigned n = dmar.first_reserved; n < dmar.scopes; n++)
		if (reserved_device(n) >= 0)
			bus[reserved_device(n) >> 8] = true;
	for (unsigned i = 0; i < BUSES; i++)
		buses += bus[i];
	uint64_t bytes = iomap_bytes(maps, 1 + buses);
	iomap_init(maps, vm_take_zeroed_pages(bytes, "the IOMMU's tables"), bytes);
	bool wide;
	if (iommu_remaps_interrupts(&wide))
		mem.queues = vm_take_zeroed_pages(dmar.units * VTD_QUEUE_BYTES, "the IOMMU's queues");
}

bool iommu_remaps_interrupts(bool *wide)
{
	bool able = widths && dmar.remaps_interrupts;
	*wide = able;
	for (unsigned n = 0; n < dmar.units; n++) {
		able = able && (!used[n] || vtd_remaps_interrupts(&unit[n]));
		*wide = able && *wide && (!used[n] || vtd_knows_wide_ids(&unit[n]));
	}
	return able;
}

bool iommu_covers(unsigned index)
{
	return widths && dmar_unit_of(&dmar, boot_info->pci[index].bdf, pci_buses_behind) >= 0;
}

int iommu_ioapic_source(uint8_t id)
{
	const struct dmar_ioapic *io = dmar_ioapic_of(&dmar, id);
	return io && used[io->unit] ? dmar_scope_bdf(&io->source, pci_buses_behind) : -1;
}

const struct dmar *iommu_find(const struct acpi *acpi)
{
	if (acpi->dmar)
		dmar_error = dmar_parse(&dmar, acpi->dmar, acpi->dmar_bytes);
	return &dmar;
}

void iommu_tell_nodes(void)
{
	for (unsigned i = 0; i < boot_info->pci_count; i++) {
		struct pci_dev *dev = &boot_info->pci[i];
		int n = dmar_unit_of(&dmar, dev->bdf, pci_buses_behind);
		unsigned node = n < 0 ? NUMA_NONE : numa_node_of_domain(dmar.unit[n].domain);
		dev->node = node == NUMA_NONE ? PCI_NODE_NONE : (uint16_t)node;
	}
}

void iommu_prepare(void)
{
	char wanted[4];
	if (dmar_error == E_NOENT)
		return;
	if (cmdline_option(boot_info->cmdline, "iommu", wanted, sizeof wanted) &&
	    memcmp(wanted, "off", sizeof "off") == 0) {
		console_print("iommu: off, as the command line says\n");
		return;
	}
	if (dmar_error != E_OK) {
		give_up("the DMAR table is malformed, or has more than there is room for");
		return;
	}
	boot_info->iommu.cards = choose_units();
	if (boot_info->iommu.cards == 0)
		return;
	open_units();
	if (widths == 0)
		return;
	choose_maps();
	take_memory();
}

/* --- the tables --- */

/* Maps all memory that cards may reach; returns the first physical address above it. */
static uint64_t reach_all(void)
{
	const struct core_memory *m = boot_info->core;
	uint64_t most = m[0].tables + m[0].tables_bytes;
	iomap_add(boot_info->published, boot_info->published_bytes);
	iomap_add(m[0].tables, m[0].tables_bytes);
	for (unsigned i = 0; i < boot_info->cores; i++) {
		uint64_t end = m[i].arena + m[i].arena_bytes;
		if (m[i].arena_bytes)
			iomap_add(m[i].arena, m[i].arena_bytes);
		most = end > most ? end : most;
	}
	return most - MEMORY_WINDOW;
}

static void set_context(uint16_t bdf, uint64_t low, uint64_t high, unsigned domain)
{
	uint64_t *root = vm_phys(mem.root), *entry = &root[2 * (bdf >> 8)];
	if (*entry == 0)
		*entry = iomap_page() | ENTRY_PRESENT;
	uint64_t *context = vm_phys(*entry & ~(PAGE_BYTES - 1));
	context[2 * (bdf & 255)] = low | ENTRY_PRESENT;
	context[2 * (bdf & 255) + 1] = high | (uint64_t)domain << CONTEXT_DOMAIN_AT;
}

/* Domain 0 is reserved (9.3, with caching mode). */
static unsigned domain_of(unsigned map) { return map + 1; }

static void set_contexts(void)
{
	bool wide = widths & VTD_WIDTH_48;
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		if (may_be_covered(&boot_info->pci[i]))
			set_context(boot_info->pci[i].bdf, iomap_top(map_of(i), wide),
			            wide ? CONTEXT_WIDTH_48 : CONTEXT_WIDTH_39, domain_of(map_of(i)));
	for (unsigned n = dmar.first_reserved; n < dmar.scopes; n++) {
		int bdf = reserved_device(n);
		if (bdf < 0)
			continue;
		/* 9.3: a pass-through entry must have the largest width that the unit supports. */
		int by = dmar_unit_of(&dmar, (uint16_t)bdf, pci_buses_behind);
		wide = vtd_widths(&unit[by]) & VTD_WIDTH_48;
		set_context((uint16_t)bdf, CONTEXT_PASS, wide ? CONTEXT_WIDTH_48 : CONTEXT_WIDTH_39, domain_of(maps));
	}
}

static void start_units(const struct iommu_interrupts *in)
{
	for (unsigned n = 0; n < dmar.units; n++) {
		struct vtd_tables t = {.root = mem.root};
		if (in)
			t = (struct vtd_tables){mem.root, mem.queues + n * VTD_QUEUE_BYTES, in->phys, in->log2, in->wide};
		int e = used[n] ? vtd_start(&unit[n], &t) : E_OK;
		boot_info->iommu.units += used[n] && e == E_OK;
		if (e == E_OK)
			continue;
		while (n-- > 0)
			if (used[n])
				vtd_stop(&unit[n]);
		boot_info->iommu.units = 0;
		give_up(error_text(e));
		return;
	}
}

bool iommu_start(const struct iommu_interrupts *interrupts)
{
	if (widths == 0)
		return false;
	mem.root = iomap_page();
	uint64_t limit = widths & VTD_WIDTH_48 ? 1ull << 48 : 1ull << 39, end = reach_all();
	for (unsigned n = 0; n < dmar.units; n++)
		if (used[n] && vtd_limit(&unit[n]) < limit)
			limit = vtd_limit(&unit[n]);
	if (end > limit) {
		give_up("memory lies beyond the addresses that the units know");
		return false;
	}
	set_contexts();
	iomap_flush();
	start_units(interrupts);
	if (widths)
		console_print("iommu: VT-d: %u of %u cards reach packet memory only%s\n",
		              boot_info->iommu.cards, boot_info->pci_count,
		              interrupts ? ", and raise their own interrupts only" : "");
	return widths && interrupts;
}

int iommu_forget_interrupts(void)
{
	int e = E_OK;
	lock_take(&queues_lock);
	for (unsigned n = 0; n < dmar.units && e == E_OK; n++)
		e = used[n] ? vtd_forget_interrupts(&unit[n]) : E_OK;
	lock_drop(&queues_lock);
	return e;
}

/* --- memory withdrawn later --- */

static int forget_all(void)
{
	int e = E_OK;
	lock_take(&queues_lock);
	for (unsigned n = 0; n < dmar.units && e == E_OK; n++)
		e = used[n] ? vtd_invalidate(&unit[n]) : E_OK;
	lock_drop(&queues_lock);
	return e == E_OK ? E_OK : E_DEVICE;
}

int iommu_withdraw(uint64_t window, uint64_t bytes)
{
	if (widths == 0)
		return E_OK;
	for (unsigned n = 0; n < maps; n++)
		iomap_set(n, window, bytes, false);
	if (forget_all() == E_OK)
		return E_OK;
	for (unsigned n = 0; n < maps; n++)
		iomap_set(n, window, bytes, true);
	return E_DEVICE;
}

/* True if these are whole 2 MiB pages of the core's arena. */
static bool is_arena(unsigned core, uint64_t window, uint64_t bytes)
{
	const struct core_memory *m = &boot_info->core[core];
	return bytes && (window | bytes) % HUGE_BYTES == 0 && window >= m->arena &&
	       window - m->arena < m->arena_bytes && bytes <= m->arena_bytes - (window - m->arena);
}

int64_t iommu_reserve(unsigned core, uint64_t device, uint64_t window, uint64_t bytes)
{
	if (!is_arena(core, window, bytes))
		return E_INVAL;
	if (widths == 0 || maps < boot_info->pci_count)
		return E_NOTSUP;
	for (unsigned n = 0; n < maps; n++)
		iomap_set(n, window, bytes, device == DMA_ALL || device == n);
	return forget_all();
}

/* --- refused accesses --- */

/* Fault reasons of appendix A of the specification, as far as our tables can cause them. */
static const char *reason_text(unsigned reason)
{
	return reason == 1 || reason == 2   ? "the device has no memory"
	       : reason == 4                ? "the address is too large"
	       : reason == 5 || reason == 6 ? "not memory for this device"
	                                    : "a table is wrong";
}

/* Fault reasons 20h to 26h: a message that the interrupt remapping table does not allow. */
static const char *interrupt_text(unsigned reason)
{
	return reason == 0x25   ? "it has no index"
	       : reason == 0x26 ? "it is another device's"
	       : reason == 0x21 || reason == 0x22 ? "there is no such entry"
	                                          : "a table is wrong";
}

static void tell(const struct vtd_refusal *r)
{
	uint64_t n = ++boot_info->iommu.refused;
	if (n > PRINTED_ALL && n & (n - 1))
		return;
	if (r->interrupt) {
		console_print("iommu: refused: %02x:%02x.%x sent interrupt %llu: %s (reason %u; %llu so far)\n",
		              r->bdf >> 8, r->bdf >> 3 & 31, r->bdf & 7, (unsigned long long)r->addr,
		              interrupt_text(r->reason), r->reason, (unsigned long long)n);
		return;
	}
	console_print("iommu: refused: %02x:%02x.%x %s %llx: %s (reason %u; %llu so far)\n",
	              r->bdf >> 8, r->bdf >> 3 & 31, r->bdf & 7, r->read ? "read" : "wrote",
	              (unsigned long long)r->addr, reason_text(r->reason), r->reason,
	              (unsigned long long)n);
}

int64_t iommu_look(void)
{
	for (unsigned n = 0; n < dmar.units && widths; n++) {
		struct vtd_refusal r;
		bool more = false;
		for (unsigned i = 0; used[n] && i < LOOK_MAX && vtd_take_refusal(&unit[n], &r, &more); i++)
			tell(&r);
		boot_info->iommu.refused += more; /* at least one was not recorded */
	}
	return (int64_t)boot_info->iommu.refused;
}

/* True if the word at this address of the memory window lies in an arena. */
static bool is_an_arena(uint64_t window)
{
	for (unsigned i = 0; i < boot_info->cores; i++)
		if (window % sizeof test_word == 0 && window - boot_info->core[i].arena < boot_info->core[i].arena_bytes)
			return true;
	return false;
}

int64_t iommu_test(uint64_t device, uint64_t region)
{
	const volatile uint32_t *word = &test_word;
	uint64_t phys = (uint64_t)&test_word - KERNEL_BASE;
	if (cmdline_number(boot_info->cmdline, "test", 0) != 1)
		return E_INVAL;
	if (region - TEST_DMA_MESSAGE < IRT_ENTRIES_MAX)
		return pci_msix_aim(device, irt_message((uint32_t)(region - TEST_DMA_MESSAGE)).address, 0);
	if (region < boot_info->regions) {
		const struct region *r = &boot_info->region[region];
		phys = r->at - MEMORY_WINDOW + r->bytes - sizeof *word;
		word = vm_phys(phys);
	} else if (is_an_arena(region)) {
		phys = region - MEMORY_WINDOW;
		word = vm_phys(phys);
	} else if (region != UINT32_MAX) {
		return E_INVAL;
	}
	int e = pci_msix_aim(device, phys, TEST_DATA);
	return e == E_OK ? *word == TEST_DATA : e;
}
