/*
 * VT-d as a kind of IOMMU (iommu_kind.h): Intel Virtualization Technology for Directed I/O, Architecture
 * Specification, rev. 3.0: 9.1 root entries, 9.3 context entries, appendix A fault reasons. Firmware's table
 * is dmar.c's, registers are vtd.c's.
 */
#include "kernel/iommu_kind.h"

#include "kernel/core.h"
#include "kernel/dmar.h"
#include "kernel/pci.h"
#include "kernel/vm.h"
#include "kernel/vtd.h"

#define ENTRY_PRESENT 1ull
#define CONTEXT_PASS (2ull << 2) /* 9.3, TT 10b: not remapped */
#define CONTEXT_WIDTH_39 1ull    /* 9.3, AW */
#define CONTEXT_WIDTH_48 2ull
#define CONTEXT_DOMAIN_AT 8
#define BUSES 256

static struct dmar dmar;
static struct vtd unit[DMAR_UNITS_MAX];
static const bool *in_use;
static unsigned widths; /* address widths that all used units support */
static struct {
	uint64_t root;
	uint64_t queues; /* VTD_QUEUE_BYTES for each unit in `unit`; 0: interrupts are not remapped */
} mem;

static int vtd_find(const struct acpi *acpi)
{
	return acpi->dmar ? dmar_parse(&dmar, acpi->dmar, acpi->dmar_bytes) : E_NOENT;
}

static unsigned vtd_units(void) { return dmar.units; }
static struct iommu_unit vtd_unit(unsigned n) { return (struct iommu_unit){dmar.unit[n].regs, PAGE_BYTES}; }
static int vtd_unit_of(uint16_t bdf) { return dmar_unit_of(&dmar, bdf, pci_buses_behind); }
static uint32_t vtd_proximity(unsigned n) { return dmar.unit[n].domain; }

static const char *vtd_open_used(const bool *used)
{
	in_use = used;
	widths = VTD_WIDTH_39 | VTD_WIDTH_48;
	for (unsigned n = 0; n < dmar.units; n++) {
		if (!used[n])
			continue;
		if (vtd_open(&unit[n], dmar.unit[n].regs) != E_OK)
			return "a unit does not respond";
		widths &= vtd_widths(&unit[n]);
	}
	return widths ? NULL : "the units lack 2 MiB pages, or a width that they have in common";
}

static unsigned vtd_fewest_domains(void)
{
	unsigned least = UINT32_MAX;
	for (unsigned n = 0; n < dmar.units; n++)
		if (in_use[n] && vtd_domains(&unit[n]) < least)
			least = vtd_domains(&unit[n]);
	return least;
}

static uint64_t vtd_common_limit(void)
{
	uint64_t limit = widths & VTD_WIDTH_48 ? 1ull << 48 : 1ull << 39;
	for (unsigned n = 0; n < dmar.units; n++)
		if (in_use[n] && vtd_limit(&unit[n]) < limit)
			limit = vtd_limit(&unit[n]);
	return limit;
}

static bool vtd_all_remap_interrupts(bool *wide)
{
	bool able = dmar.remaps_interrupts;
	*wide = able;
	for (unsigned n = 0; n < dmar.units; n++) {
		able = able && (!in_use[n] || vtd_remaps_interrupts(&unit[n]));
		*wide = able && *wide && (!in_use[n] || vtd_knows_wide_ids(&unit[n]));
	}
	return able;
}

static int vtd_ioapic_source(uint8_t id)
{
	const struct dmar_ioapic *io = dmar_ioapic_of(&dmar, id);
	return io && in_use[io->unit] ? dmar_scope_bdf(&io->source, pci_buses_behind) : -1;
}

/* The device of scope n, which names reserved memory that firmware still uses. -1: the scope's device
 * is not behind a used unit that supports pass-through, or is one of our cards. */
static int reserved_device(unsigned n)
{
	int bdf = dmar_scope_bdf(&dmar.scope[n], pci_buses_behind);
	int by = bdf < 0 ? -1 : vtd_unit_of((uint16_t)bdf);
	if (by < 0 || !in_use[by] || !vtd_passes_through(&unit[by]) || iommu_is_card((uint16_t)bdf))
		return -1;
	return bdf;
}

/* The root table, and a context table for each bus that has a device. */
static unsigned vtd_take_memory(void)
{
	bool bus[BUSES] = {false}, wide;
	unsigned pages = 1;
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		bus[boot_info->pci[i].bdf >> 8] = true;
	for (unsigned n = dmar.first_reserved; n < dmar.scopes; n++)
		if (reserved_device(n) >= 0)
			bus[reserved_device(n) >> 8] = true;
	for (unsigned i = 0; i < BUSES; i++)
		pages += bus[i];
	if (vtd_all_remap_interrupts(&wide))
		mem.queues = vm_take_zeroed_pages(dmar.units * VTD_QUEUE_BYTES, "the IOMMU's queues");
	return pages;
}

static void vtd_make_tables(const struct iommu_interrupts *in)
{
	(void)in;
	mem.root = iomap_page();
}

/* Domain 0 is reserved (9.3, with caching mode). */
static void set_context(uint16_t bdf, uint64_t low, uint64_t high, unsigned domain)
{
	uint64_t *root = vm_phys(mem.root), *entry = &root[2 * (bdf >> 8)];
	if (*entry == 0)
		*entry = iomap_page() | ENTRY_PRESENT;
	uint64_t *context = vm_phys(*entry & ~(PAGE_BYTES - 1));
	context[2 * (bdf & 255)] = low | ENTRY_PRESENT;
	context[2 * (bdf & 255) + 1] = high | (uint64_t)domain << CONTEXT_DOMAIN_AT;
}

static void vtd_install(unsigned card, unsigned map, unsigned domain, const struct iommu_interrupts *in)
{
	bool wide = widths & VTD_WIDTH_48;
	(void)in; /* its entries name the cards */
	set_context(boot_info->pci[card].bdf, iomap_top(map, wide), wide ? CONTEXT_WIDTH_48 : CONTEXT_WIDTH_39, domain);
}

static void vtd_exempt(unsigned domain)
{
	for (unsigned n = dmar.first_reserved; n < dmar.scopes; n++) {
		int bdf = reserved_device(n);
		if (bdf < 0)
			continue;
		/* 9.3: a pass-through entry must have the largest width that the unit supports. */
		bool wide = vtd_widths(&unit[vtd_unit_of((uint16_t)bdf)]) & VTD_WIDTH_48;
		set_context((uint16_t)bdf, CONTEXT_PASS, wide ? CONTEXT_WIDTH_48 : CONTEXT_WIDTH_39, domain);
	}
}

static int vtd_start_unit(unsigned n, const struct iommu_interrupts *in)
{
	struct vtd_tables t = {.root = mem.root};
	if (in)
		t = (struct vtd_tables){mem.root, mem.queues + n * VTD_QUEUE_BYTES, in->phys, in->log2, in->wide};
	return vtd_start(&unit[n], &t);
}

static void vtd_stop_unit(unsigned n) { vtd_stop(&unit[n]); }

static int vtd_forget(unsigned n, unsigned domains_cached)
{
	(void)domains_cached; /* the pages of all are forgotten */
	return vtd_forget_pages(&unit[n]);
}

static int vtd_forget_table(unsigned n) { return vtd_forget_interrupts(&unit[n]); }

static bool vtd_take(unsigned n, struct iommu_refusal *r, bool *more)
{
	return vtd_take_refusal(&unit[n], r, more);
}

/* Reasons of appendix A, as far as our tables can cause them. 20h to 26h: a message that the interrupt
 * remapping table does not allow. */
static const char *vtd_reason(const struct iommu_refusal *r)
{
	switch (r->reason) {
	case 1:
	case 2:
		return "the device has no memory";
	case 4:
		return "the address is too large";
	case 5:
	case 6:
		return "not memory for this device";
	case 0x21:
	case 0x22:
		return "there is no such entry";
	case 0x25:
		return "it has no index";
	case 0x26:
		return "it is another device's";
	default:
		return "a table is wrong";
	}
}

/* Second-level entries (9.8): readable, writable; bit 7: a page of 2 MiB. */
static const struct iomap_format vtd_maps = {.table = {3, 3, 3, 3}, .leaf = 3 | 1ull << 7, .writes = 2};

const struct iommu_kind iommu_vtd = {
	.number = BOOT_IOMMU_VTD, .name = "VT-d", .table = "DMAR", .messages_by_index = true,
	.maps = &vtd_maps, .interrupts = &irt_vtd, .find = vtd_find, .units = vtd_units, .unit = vtd_unit,
	.unit_of = vtd_unit_of, .proximity = vtd_proximity, .open = vtd_open_used, .domains = vtd_fewest_domains,
	.limit = vtd_common_limit, .remaps_interrupts = vtd_all_remap_interrupts, .ioapic_source = vtd_ioapic_source,
	.take_memory = vtd_take_memory, .make_tables = vtd_make_tables, .install = vtd_install, .exempt = vtd_exempt,
	.start = vtd_start_unit, .stop = vtd_stop_unit, .forget = vtd_forget, .forget_interrupts = vtd_forget_table,
	.take_refusal = vtd_take, .reason = vtd_reason,
};
