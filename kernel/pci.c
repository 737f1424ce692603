/*
 * PCI Local Bus specification 3.0: 3.2.2.3.2 (configuration mechanism 1), 6.2.5 (BARs), 6.8.2
 * (MSI-X); PCI Express base specification 3.0, 7.2.2 (ECAM).
 *
 * Buses are scanned through the bridges that firmware has numbered, in all segments that have ECAM. BARs are used as
 * firmware set them. Only those that firmware left without an address get one here (kernel/pci_assign.c); a card
 * of which a BAR stays without is left off.
 *
 * The contents of configuration space are untrusted (tests/fuzz/fuzz_pci.c):
 * 1. A BAR is shown to core programs only if it overlaps nothing else: no memory, interrupt controller,
 *    IOMMU unit, ECAM or other BAR.
 *    It has a place in MMIO_WINDOW of its own, because its physical address may lie anywhere: servers put BARs
 *    at 56 TiB and higher. BARs that share a page share it there, too.
 * 2. Every bus is scanned once, whatever bridges lead to it. The walk of a capability list is bounded.
 */
#include "kernel/pci.h"

#include "abi/layout.h"
#include "hal/cpuid.h"
#include "hal/mmio.h"
#include "kernel/console.h"
#include "kernel/cpu.h"
#include "kernel/pci_assign.h"
#include "kernel/pci_bars.h"
#include "kernel/pci_config.h"
#include "kernel/pci_report.h"
#include "lib/mem.h"

#define VENDOR_VIRTIO 0x1af4
#define DEVICE_VIRTIO_DISK 0x1042
#define DEVICE_VIRTIO_DISK_TRANSITIONAL 0x1001
#define MSIX_ENABLE (1u << 31)
#define MSIX_MASK_ALL (1u << 30)
#define MSIX_ENTRY_BYTES 16
#define BRIDGES_MAX 16 /* in a chain */
#define BUSES 256
#define BAR_BYTES_MAX (1ull << 30)
#define APIC_BYTES 4096
#define CPUID_ADDRESS_SIZES 0x80000008u /* EAX 7:0: bits of a physical address */
#define PHYS_BITS_LEAST 36              /* if the CPU has no such leaf */
_Static_assert(2ull * BOOT_PCI_MAX * PCI_BARS * BAR_BYTES_MAX <= MEMORY_WINDOW - MMIO_WINDOW, "all have a place");

/* The kernel's data besides struct pci_dev: physical BARs and the address of the MSI-X table. */
struct pci_private {
	uint64_t bar_phys[PCI_BARS];
	bool lacks; /* an address for some BAR */
	uint8_t msix_cap; /* offset of the capability; 0: none */
	volatile uint8_t *msix_table;
};

static const struct acpi *acpi;
static const struct iommu_units *iommus;
static const struct boot *boot;
static struct boot_info *info;
static uint64_t phys_end;    /* what the CPU can address */
static uint64_t window_next; /* the rest of MMIO_WINDOW is free */
static struct pci_private priv[BOOT_PCI_MAX];
static unsigned disks;
static bool lacking; /* some function lacks an address */
static bool walked[ACPI_ECAMS_MAX + 1][BUSES]; /* the last: segment 0 without ECAM */

static pci_address_t address_of(const struct pci_dev *dev)
{
	return (pci_address_t)dev->segment << 16 | dev->bdf;
}

/* Says on the console why the function's BAR n is left out. */
static void report_bar(const struct pci_dev *dev, unsigned n, const struct hardware_bar *b)
{
	static const char *const words[] = {
		[HARDWARE_BAR_UNASSIGNED] =
			"was left unassigned by firmware, and there is no room for it: the card is left off",
		[HARDWARE_BAR_ODD] = "has an impossible size, or an address that is no multiple of it, and is left out",
		[HARDWARE_BAR_BEYOND] = "lies beyond what the CPU can address and is left out",
		[HARDWARE_BAR_TAKEN] = "lies where something else is and is left out",
	};
	char name[FMT_PCI_MAX];
	console_print("pci %s: BAR %u of %llu bytes %s\n", fmt_pci(name, dev->segment, dev->bdf), n,
	              (unsigned long long)b->bytes, words[b->state]);
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

/* True if the range overlaps another BAR, or if its pages overlap anything else that the kernel knows.
 * BARs are mapped in whole pages. */
static bool is_taken(uint64_t phys, uint64_t bytes)
{
	uint64_t page = align_down(phys, PAGE_BYTES), whole = align_up(phys + bytes, PAGE_BYTES) - page;
	bool taken = boot_has_ram(boot, page, page + whole) ||
	             overlap(page, whole, acpi->lapic, APIC_BYTES);
	for (unsigned i = 0; i < acpi->ioapics; i++)
		taken |= overlap(page, whole, acpi->ioapic[i].addr, APIC_BYTES);
	for (unsigned i = 0; i < iommus->units; i++)
		taken |= overlap(page, whole, iommus->unit[i].regs, iommus->unit[i].bytes);
	for (unsigned i = 0; i < acpi->ecams; i++) {
		const struct acpi_ecam *e = &acpi->ecam[i];
		taken |= overlap(page, whole, e->base + ((uint64_t)e->first_bus << 20),
		                 (e->last_bus - e->first_bus + 1ull) << 20);
	}
	for (unsigned d = 0; d < BOOT_PCI_MAX; d++) /* including the function being read */
		for (unsigned b = 0; b < PCI_BARS; b++)
			taken |= overlap(phys, bytes, priv[d].bar_phys[b], info->pci[d].bar[b].bytes);
	return taken;
}

/* Where core programs see a BAR. It is aligned as the BAR is, so that large pages can map it. */
static uint64_t place_in_window(uint64_t phys, uint64_t bytes)
{
	const uint64_t page = align_down(phys, PAGE_BYTES), whole = align_up(bytes, PAGE_BYTES);
	for (unsigned d = 0; d < BOOT_PCI_MAX; d++)
		for (unsigned b = 0; b < PCI_BARS; b++)
			if (priv[d].bar_phys[b] && align_down(priv[d].bar_phys[b], PAGE_BYTES) == page)
				return align_down(info->pci[d].bar[b].addr, PAGE_BYTES) + (phys - page);
	const uint64_t start = align_up(window_next, whole);
	window_next = start + whole;
	return start + (phys - page);
}

/* What becomes of a memory BAR. */
static enum hardware_bar_state judge(const struct hardware_bar *b)
{
	if (b->bytes == 0)
		return HARDWARE_BAR_NONE;
	if (b->bytes & (b->bytes - 1) || b->addr & (b->bytes - 1) || b->bytes > BAR_BYTES_MAX)
		return HARDWARE_BAR_ODD;
	if (b->addr == 0)
		return HARDWARE_BAR_UNASSIGNED;
	if (b->addr >= phys_end || b->bytes > phys_end - b->addr)
		return HARDWARE_BAR_BEYOND;
	return is_taken(b->addr, b->bytes) ? HARDWARE_BAR_TAKEN : HARDWARE_BAR_MAPPED;
}

/* Records BAR n for core programs if it can be mapped, and sets its state; reports it if it is left out. One
 * without an address is not reported: it may get one. */
static void take_bar(struct pci_dev *dev, struct pci_private *p, unsigned n, struct hardware_bar *b)
{
	const bool assigned = b->state == HARDWARE_BAR_ASSIGNED;
	const enum hardware_bar_state state = judge(b);
	b->state = (uint8_t)(state == HARDWARE_BAR_MAPPED && assigned ? HARDWARE_BAR_ASSIGNED : state);
	if (state == HARDWARE_BAR_MAPPED) {
		dev->bar[n].addr = place_in_window(b->addr, b->bytes);
		dev->bar[n].bytes = b->bytes;
		p->bar_phys[n] = b->addr;
	} else if (state == HARDWARE_BAR_UNASSIGNED) {
		p->lacks = true;
	} else if (state != HARDWARE_BAR_NONE) {
		report_bar(dev, n, b);
	}
}

static void read_bars(struct pci_dev *dev, struct pci_private *p, struct hardware_bar bars[PCI_BARS])
{
	const uint32_t command = pci_decode_stop(address_of(dev));
	for (unsigned n = 0; n < PCI_BARS;) {
		const unsigned slots = pci_bar_read(address_of(dev), n, PCI_BARS, &bars[n]);
		take_bar(dev, p, n, &bars[n]);
		n += slots;
	}
	if (!p->lacks) /* otherwise it would decode addresses from 0 */
		pci_decode_set(address_of(dev), command | CFG_COMMAND_MEMORY);
}

static void read_msix(struct pci_dev *dev, struct pci_private *p)
{
	unsigned cap = pci_find_capability(address_of(dev), CAP_MSIX);
	if (cap == 0)
		return;
	unsigned vectors = (pci_config_get(address_of(dev), cap + 2, 2) & 0x7ff) + 1;
	uint32_t where = pci_config_get(address_of(dev), cap + 4, 4);
	unsigned bar = where & 7;
	uint64_t offset = where & ~7u, bytes = vectors * MSIX_ENTRY_BYTES;
	if (bar >= PCI_BARS || !p->bar_phys[bar] || offset + bytes > dev->bar[bar].bytes)
		return;
	p->msix_cap = (uint8_t)cap;
	p->msix_table = vm_map_device(p->bar_phys[bar] + offset, bytes);
	dev->msix_vectors = (uint16_t)vectors;
}

/* Returns the function's index in info->pci, and its BARs; HARDWARE_NOT_LISTED: there is no room. */
static uint16_t add_function(pci_address_t at, enum pci_kind kind, struct hardware_bar bars[PCI_BARS])
{
	if (info->pci_count == BOOT_PCI_MAX || (kind == PCI_DISK && disks == BOOT_DISKS_MAX))
		return HARDWARE_NOT_LISTED;
	disks += kind == PCI_DISK;
	struct pci_dev *dev = &info->pci[info->pci_count];
	dev->index = (uint16_t)info->pci_count;
	dev->segment = pci_segment(at);
	dev->bdf = pci_bdf(at);
	dev->kind = kind;
	dev->vendor = (uint16_t)pci_config_get(at, CFG_VENDOR, 2);
	dev->device = (uint16_t)pci_config_get(at, CFG_DEVICE, 2);
	read_bars(dev, &priv[dev->index], bars);
	if (priv[dev->index].lacks)
		lacking = true;
	else
		read_msix(dev, &priv[dev->index]);
	info->pci_count++;
	return dev->index;
}

static void scan_bus(uint16_t segment, unsigned bus, unsigned depth);

/* VIRTIO 1.2, 4.1.2: a block device, modern or transitional. Its class may be any. */
static bool is_virtio_disk(pci_address_t at)
{
	const uint16_t device = (uint16_t)pci_config_get(at, CFG_DEVICE, 2);
	return pci_config_get(at, CFG_VENDOR, 2) == VENDOR_VIRTIO &&
	       (device == DEVICE_VIRTIO_DISK || device == DEVICE_VIRTIO_DISK_TRANSITIONAL);
}

/* Does a core program drive such a function? Sets *kind. */
static bool is_driven(pci_address_t at, uint32_t class, enum pci_kind *kind)
{
	if ((pci_config_get(at, CFG_HEADER, 1) & HEADER_TYPE) != 0)
		return false;
	*kind = class >> 8 == CLASS_NETWORK ? PCI_NETWORK : PCI_DISK;
	return *kind == PCI_NETWORK || is_virtio_disk(at) ||
	       (class == CLASS_NVME && pci_config_get(at, CFG_REVISION + 1, 1) == INTERFACE_NVME);
}

/* Adds a network card or a disk, or scans the bus behind a bridge. Core programs drive no other functions. */
static void look_at(pci_address_t at, unsigned depth)
{
	uint32_t class = pci_config_get(at, CFG_CLASS, 2);
	uint16_t listed = HARDWARE_NOT_LISTED;
	struct hardware_bar bars[PCI_BARS] = {0};
	enum pci_kind kind;
	if (is_driven(at, class, &kind))
		listed = add_function(at, kind, bars);
	pci_note(&info->hardware, at, listed, listed == HARDWARE_NOT_LISTED ? NULL : bars);
	if (class != CLASS_BRIDGE_PCI || depth == BRIDGES_MAX)
		return;
	unsigned below = pci_config_get(at, CFG_SECONDARY_BUS, 1);
	char name[FMT_PCI_MAX];
	if (below == 0)
		console_print("pci %s: firmware gave the bus behind this bridge no number: what is there is not seen\n",
		              fmt_pci(name, pci_segment(at), pci_bdf(at)));
	if (below > pci_bus(at))
		scan_bus(pci_segment(at), below, depth + 1);
}

/* Marks a bus as scanned; returns true if it was before. A segment's buses are marked in the row of its first
 * ECAM region. */
static bool was_walked(uint16_t segment, unsigned bus)
{
	unsigned row = 0;
	while (row < acpi->ecams && acpi->ecam[row].segment != segment)
		row++;
	bool was = walked[row][bus];
	walked[row][bus] = true;
	return was;
}

static void scan_bus(uint16_t segment, unsigned bus, unsigned depth)
{
	if (was_walked(segment, bus))
		return;
	for (unsigned slot = 0; slot < 32; slot++) {
		const pci_address_t first = (pci_address_t)segment << 16 | bus << 8 | slot << 3;
		if (!pci_config_exists(first))
			continue;
		bool several = pci_config_get(first, CFG_HEADER, 1) & HEADER_SEVERAL;
		for (unsigned n = 0; n < (several ? 8 : 1); n++)
			if (pci_config_exists(first | n))
				look_at(first | n, depth);
	}
}

/*
 * Which buses belong to host bridges is known to AML only, which the kernel does not run. So each bus that
 * no bridge leads to is probed: what answers there is behind another host bridge. A bus that does not exist
 * reads as all ones. In a guest each read may take a millisecond (a hypervisor that emulates ring 0), so only
 * device 0 of these buses is looked for, and on the first bus of a segment all.
 */
static void probe_buses(uint16_t segment, unsigned first, unsigned last)
{
	const bool guest = cpu_is_guest(); /* read once: in a guest CPUID may take microseconds */
	scan_bus(segment, first, 0);
	for (unsigned bus = first + 1; bus <= last; bus++)
		if (!guest || pci_config_exists((pci_address_t)segment << 16 | bus << 8))
			scan_bus(segment, bus, 0);
}

static void scan_all(void)
{
	if (acpi->ecams == 0 || acpi->ecam[0].segment != 0)
		probe_buses(0, 0, BUSES - 1);
	for (unsigned i = 0; i < acpi->ecams; i++)
		probe_buses(acpi->ecam[i].segment, acpi->ecam[i].first_bus, acpi->ecam[i].last_bus);
}

/* A card is used with all its BARs or not at all: those without an address would be decoded from 0. */
static void leave_off(struct pci_dev *dev, struct pci_private *p)
{
	memset(dev->bar, 0, sizeof dev->bar);
	memset(p->bar_phys, 0, sizeof p->bar_phys);
}

/* Takes over the addresses that pci_assign has found. */
static void complete(struct pci_dev *dev, struct hardware_function *f)
{
	struct pci_private *p = &priv[dev->index];
	p->lacks = false;
	for (unsigned n = 0; n < PCI_BARS; n++) {
		if (f->bar[n].state == HARDWARE_BAR_ASSIGNED)
			take_bar(dev, p, n, &f->bar[n]);
		if (f->bar[n].state != HARDWARE_BAR_UNASSIGNED)
			continue;
		p->lacks = true;
		report_bar(dev, n, &f->bar[n]);
	}
	if (p->lacks) {
		leave_off(dev, p);
		return;
	}
	pci_decode_set(address_of(dev), pci_config_get(address_of(dev), CFG_COMMAND, 2) | CFG_COMMAND_MEMORY);
	read_msix(dev, p);
}

/* The function's place in the reports; NULL: they have no room for it. */
static struct hardware_function *find_note(unsigned listed)
{
	struct hardware *hw = &info->hardware;
	for (unsigned i = 0; i < hw->functions; i++)
		if (hw->function[i].listed == listed)
			return &hw->function[i];
	return NULL;
}

static void assign_missing(void)
{
	char name[FMT_PCI_MAX];
	pci_assign(&info->hardware, acpi, iommus, boot, phys_end);
	for (unsigned d = 0; d < info->pci_count; d++) {
		struct pci_dev *dev = &info->pci[d];
		struct hardware_function *f = priv[d].lacks ? find_note(d) : NULL;
		if (f) {
			complete(dev, f);
		} else if (priv[d].lacks) {
			console_print("pci %s: firmware left a BAR unassigned: the card is left off\n",
			              fmt_pci(name, dev->segment, dev->bdf));
			leave_off(dev, &priv[d]);
		}
	}
}

void pci_init(const struct acpi *tables, const struct iommu_units *units, const struct boot *loader,
              struct boot_info *boot_info)
{
	acpi = tables;
	iommus = units;
	boot = loader;
	info = boot_info;
	window_next = MMIO_WINDOW;
	const struct cpuid sizes = cpu_id(CPUID_ADDRESS_SIZES, 0);
	phys_end = 1ull << (sizes.a & 0xff ? sizes.a & 0xff : PHYS_BITS_LEAST);
	pci_config_init(tables);
	lacking = false;
	disks = 0;
	scan_all();
	if (lacking)
		assign_missing();
}

void pci_map_bars(vm_space_t space, bool all)
{
	for (unsigned d = 0; d < info->pci_count; d++)
		for (unsigned b = 0; b < PCI_BARS; b++) {
			const struct pci_bar *bar = &info->pci[d].bar[b];
			if (bar->bytes && (all || info->pci[d].kind != PCI_DISK))
				vm_map(space, align_down(bar->addr, PAGE_BYTES), align_down(priv[d].bar_phys[b], PAGE_BYTES),
				       align_up(bar->bytes, PAGE_BYTES), VM_USER | VM_WRITE | VM_DEVICE);
		}
}

static bool access_ok(uint64_t index, uint64_t offset, uint64_t size)
{
	return index < info->pci_count && (size == 1 || size == 2 || size == 4) && offset < 4096 &&
	       offset % size == 0;
}

int64_t pci_config_read(uint64_t index, uint64_t offset, uint64_t size)
{
	if (!access_ok(index, offset, size))
		return E_INVAL;
	return pci_config_get(address_of(&info->pci[index]), (unsigned)offset, (unsigned)size);
}

int64_t pci_config_write(uint64_t index, uint64_t offset, uint64_t size, uint32_t value)
{
	if (!access_ok(index, offset, size))
		return E_INVAL;
	pci_config_put(address_of(&info->pci[index]), (unsigned)offset, (unsigned)size, value);
	return E_OK;
}

static void write_message(const struct pci_private *p, uint64_t entry, uint64_t address,
                          uint32_t data)
{
	volatile uint8_t *e = p->msix_table + entry * MSIX_ENTRY_BYTES;
	mmio_write32(e + 12, 1); /* masked while it changes */
	mmio_write32(e + 0, (uint32_t)address);
	mmio_write32(e + 4, (uint32_t)(address >> 32));
	mmio_write32(e + 8, data);
	mmio_write32(e + 12, 0);
}

int64_t pci_msix_program(uint64_t index, uint64_t entry, uint64_t address, uint32_t data)
{
	if (index >= info->pci_count || entry >= info->pci[index].msix_vectors)
		return E_INVAL;
	const struct pci_private *p = &priv[index];
	const pci_address_t at = address_of(&info->pci[index]);
	uint32_t control = pci_config_get(at, p->msix_cap, 4);
	if (!(control & MSIX_ENABLE)) {
		/* Entries are masked after reset (6.8.2.9), so enabling raises no interrupt. */
		pci_config_put(at, p->msix_cap, 4, (control | MSIX_ENABLE) & ~MSIX_MASK_ALL);
	}
	write_message(p, entry, address, data);
	return E_OK;
}

int64_t pci_msix_aim(uint64_t index, uint64_t phys, uint32_t data)
{
	if (index >= info->pci_count || info->pci[index].msix_vectors == 0)
		return E_INVAL;
	for (unsigned entry = 0; entry < info->pci[index].msix_vectors; entry++)
		write_message(&priv[index], entry, phys, data);
	return E_OK;
}

unsigned pci_buses_behind(uint16_t bdf)
{
	if (!pci_config_exists(bdf) || pci_config_get(bdf, CFG_CLASS, 2) != CLASS_BRIDGE_PCI)
		return 0;
	return pci_config_get(bdf, CFG_SECONDARY_BUS, 1) | pci_config_get(bdf, CFG_SUBORDINATE_BUS, 1) << 8;
}
