/*
 * AMD-Vi as a kind of IOMMU (iommu_kind.h): AMD I/O Virtualization Technology (IOMMU) Specification, publication
 * 48882: Device Table Entry Format, I/O Page Tables for Host Translations. Firmware's table is ivrs.c's, registers
 * are amdvi.c's.
 *
 * 1. All units share one device table, with an entry for each function of the segment: a function without a valid
 *    entry would reach all memory. An entry that nobody has given anything refuses every access, and every
 *    interrupt if interrupts are remapped.
 * 2. A card's entry is the one of the ID that its requests bear. Two cards with one ID share a map.
 * 3. Interrupts are remapped if each card bears its own ID, and the table names every I/O APIC: the messages of one
 *    that it leaves out come from an unknown function, so they would be refused.
 */
#include "kernel/iommu_kind.h"

#include "kernel/amdvi.h"
#include "kernel/core.h"
#include "kernel/ivrs.h"
#include "kernel/vm.h"

/* Device table entry, first word. With mode 0 addresses are not translated, and only IR and IW apply. */
#define DEVICE_VALID 1ull            /* V */
#define DEVICE_TRANSLATION (1ull << 1) /* TV */
#define DEVICE_MODE_AT 9             /* levels of the map */
#define DEVICE_RW (3ull << 61)       /* IR, IW */
#define MAP_LEVELS 4ull
/* Third word. IntCtl 00b: fixed and arbitrated interrupts are refused. */
#define DEVICE_INTERRUPTS 1ull       /* IV */
#define DEVICE_TABLE_LOG2_AT 1       /* IntTabLen */
#define DEVICE_REMAP (2ull << 60)    /* IntCtl 10b */

/* Entries of maps: PR, IR, IW. A directory names the level that it leads to. In a page, FC: its accesses are
 * coherent with the caches. */
#define MAP_PRESENT (1ull | DEVICE_RW)
#define MAP_LEVEL(n) (MAP_PRESENT | (uint64_t)(n) << 9)
#define MAP_COHERENT (1ull << 60)

#define DOMAINS 65536u
#define LIMIT (1ull << 48) /* four levels, which every unit supports */

static struct ivrs ivrs;
static struct amdvi unit[IVRS_UNITS_MAX];
static const bool *in_use;
static bool names_ioapics; /* firmware's table names all I/O APICs of the MADT */
static struct {
	uint64_t devices; /* the device table */
	uint64_t rings;   /* AMDVI_MEMORY_BYTES for each unit */
} mem;

static int amdvi_find(const struct acpi *acpi)
{
	int e = acpi->ivrs ? ivrs_parse(&ivrs, acpi->ivrs, acpi->ivrs_bytes) : E_NOENT;
	names_ioapics = e == E_OK;
	for (unsigned i = 0; i < acpi->ioapics && names_ioapics; i++)
		names_ioapics = ivrs_ioapic_of(&ivrs, acpi->ioapic[i].id) != NULL;
	return e;
}

static unsigned amdvi_units(void) { return ivrs.units; }

static struct iommu_unit amdvi_unit(unsigned n)
{
	return (struct iommu_unit){ivrs.unit[n].regs, AMDVI_REGS_BYTES};
}

static int amdvi_unit_of(uint16_t bdf) { return ivrs_unit_of(&ivrs, bdf); }

static uint32_t amdvi_proximity(unsigned n)
{
	(void)n; /* IVRS does not tell it */
	return UINT32_MAX;
}

static const char *amdvi_open_used(const bool *used)
{
	in_use = used;
	for (unsigned n = 0; n < ivrs.units; n++) {
		if (used[n] && amdvi_open(&unit[n], ivrs.unit[n].regs) != E_OK)
			return "a unit does not respond";
		if (used[n] && !amdvi_has_maps(&unit[n]))
			return "the units lack page tables for hosts";
	}
	return NULL;
}

static bool is_served(unsigned card) { return boot_info->pci[card].segment == 0; }
static uint16_t card_id(unsigned card) { return ivrs_requester(&ivrs, boot_info->pci[card].bdf); }

static unsigned amdvi_domains(void)
{
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		for (unsigned k = 0; k < i; k++)
			if (is_served(i) && is_served(k) && card_id(i) == card_id(k))
				return 1;
	return DOMAINS;
}

static uint64_t amdvi_limit(void) { return LIMIT; }

static bool amdvi_remaps_interrupts(bool *wide)
{
	*wide = names_ioapics;
	for (unsigned n = 0; n < ivrs.units; n++)
		*wide = *wide && (!in_use[n] || amdvi_knows_wide_ids(&unit[n]));
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		if (is_served(i) && card_id(i) != boot_info->pci[i].bdf)
			return *wide = false;
	return names_ioapics;
}

static int amdvi_ioapic_source(uint8_t id)
{
	const struct ivrs_ioapic *io = ivrs_ioapic_of(&ivrs, id);
	return io && in_use[io->unit] ? io->source : -1;
}

static unsigned amdvi_take_memory(void)
{
	mem.devices = vm_take_pages(AMDVI_FUNCTIONS * AMDVI_DEVICE_WORDS * sizeof(uint64_t), "the IOMMU's device table");
	mem.rings = vm_take_zeroed_pages((uint64_t)ivrs.units * AMDVI_MEMORY_BYTES, "the IOMMU's rings");
	return 0;
}

static uint64_t *device(uint16_t bdf)
{
	return (uint64_t *)vm_phys(mem.devices) + AMDVI_DEVICE_WORDS * bdf;
}

/* Has the device's interrupts use the block of `entries` entries, a power of two, that begins at `first`. */
static void set_interrupts(uint16_t bdf, const struct iommu_interrupts *in, uint32_t first, uint32_t entries)
{
	unsigned log2 = (unsigned)__builtin_ctz(entries);
	uint64_t at = in->phys + (uint64_t)first * irt_amdvi.entry_bytes(in->wide);
	device(bdf)[2] = at | DEVICE_INTERRUPTS | (uint64_t)log2 << DEVICE_TABLE_LOG2_AT | DEVICE_REMAP;
}

static void amdvi_make_tables(const struct iommu_interrupts *in)
{
	for (unsigned bdf = 0; bdf < AMDVI_FUNCTIONS; bdf++) {
		uint64_t *d = device((uint16_t)bdf);
		d[0] = DEVICE_VALID | DEVICE_TRANSLATION;
		d[2] = in ? DEVICE_INTERRUPTS : 0;
		d[1] = d[3] = 0;
	}
	for (unsigned i = 0; i < ivrs.ioapics && in; i++)
		set_interrupts(ivrs.ioapic[i].source, in, 0, irt_amdvi.serial_entries);
}

static void amdvi_install(unsigned card, unsigned map, unsigned domain, const struct iommu_interrupts *in)
{
	uint64_t *d = device(card_id(card));
	d[0] = iomap_top(map, true) | DEVICE_VALID | DEVICE_TRANSLATION | MAP_LEVELS << DEVICE_MODE_AT | DEVICE_RW;
	d[1] = domain;
	if (in)
		set_interrupts(card_id(card), in, in->first[card], irt_amdvi.block(boot_info->pci[card].msix_vectors));
}

/* The cards' entries are written afterwards. */
static void amdvi_exempt(unsigned domain)
{
	for (unsigned i = 0; i < ivrs.reserveds; i++)
		for (unsigned bdf = ivrs.reserved[i].first; bdf <= ivrs.reserved[i].last; bdf++) {
			if (iommu_is_card((uint16_t)bdf))
				continue;
			device((uint16_t)bdf)[0] = DEVICE_VALID | DEVICE_TRANSLATION | DEVICE_RW;
			device((uint16_t)bdf)[1] = domain;
		}
}

static int amdvi_start_unit(unsigned n, const struct iommu_interrupts *in)
{
	const struct amdvi_tables t = {mem.devices, mem.rings + (uint64_t)n * AMDVI_MEMORY_BYTES, ivrs.unit[n].flags,
	                               in && in->wide};
	return amdvi_start(&unit[n], &t);
}

static void amdvi_stop_unit(unsigned n) { amdvi_stop(&unit[n]); }
static int amdvi_forget(unsigned n, unsigned domains) { return amdvi_forget_pages(&unit[n], domains); }

static int amdvi_forget_table(unsigned n)
{
	uint16_t bdf[BOOT_PCI_MAX + IVRS_IOAPICS_MAX];
	unsigned count = 0;
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		if (is_served(i))
			bdf[count++] = boot_info->pci[i].bdf;
	for (unsigned i = 0; i < ivrs.ioapics; i++)
		bdf[count++] = ivrs.ioapic[i].source;
	return amdvi_forget_interrupts(&unit[n], bdf, count);
}

static bool amdvi_take(unsigned n, struct iommu_refusal *r, bool *more)
{
	return amdvi_take_refusal(&unit[n], r, more);
}

/* Event codes (Event Log). */
static const char *amdvi_reason(const struct iommu_refusal *r)
{
	switch (r->reason) {
	case 2: /* IO_PAGE_FAULT */
		return r->interrupt ? "there is no such entry" : "not memory for this device";
	case 5: /* ILLEGAL_COMMAND_ERROR, COMMAND_HARDWARE_ERROR */
	case 6:
		return "a command is wrong";
	case 8: /* INVALID_DEVICE_REQUEST */
		return "a device does not make such requests";
	default:
		return "a table is wrong";
	}
}

static const struct iomap_format amdvi_maps = {.table = {0, MAP_LEVEL(1), MAP_LEVEL(2), MAP_LEVEL(3)},
                                               .leaf = MAP_PRESENT | MAP_COHERENT, .writes = 1ull << 62};

const struct iommu_kind iommu_amdvi = {
	.number = BOOT_IOMMU_AMDVI, .name = "AMD-Vi", .table = "IVRS", .messages_by_index = false,
	.maps = &amdvi_maps, .interrupts = &irt_amdvi, .find = amdvi_find, .units = amdvi_units, .unit = amdvi_unit,
	.unit_of = amdvi_unit_of, .proximity = amdvi_proximity, .open = amdvi_open_used, .domains = amdvi_domains,
	.limit = amdvi_limit, .remaps_interrupts = amdvi_remaps_interrupts, .ioapic_source = amdvi_ioapic_source,
	.take_memory = amdvi_take_memory, .make_tables = amdvi_make_tables, .install = amdvi_install,
	.exempt = amdvi_exempt, .start = amdvi_start_unit, .stop = amdvi_stop_unit, .forget = amdvi_forget,
	.forget_interrupts = amdvi_forget_table, .take_refusal = amdvi_take, .reason = amdvi_reason,
};
