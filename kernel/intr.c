/* See intr.h. */
#include "kernel/intr.h"

#include "kernel/apic.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/iommu.h"
#include "kernel/irt.h"
#include "kernel/lock.h"
#include "kernel/pci.h"
#include "kernel/vm.h"

static struct irt table;             /* entries_log2 is 0 without remapping */
static uint64_t table_phys;
static bool remapped;                /* the units use the table */
static uint32_t first[BOOT_PCI_MAX]; /* index of each card's first entry */
static struct lock lock;             /* of the table */

void intr_prepare(void)
{
	if (!iommu_remaps_interrupts(&table.wide))
		return;
	const struct irt_kind *kind = table.kind = iommu_interrupt_kind();
	uint64_t entries = kind->serial_entries;
	for (unsigned i = 0; i < boot_info->pci_count; i++) {
		uint32_t block = kind->block(boot_info->pci[i].msix_vectors);
		first[i] = (uint32_t)(kind->aligned ? align_up(entries, block) : entries);
		entries = first[i] + block;
	}
	table.wide &= apic_is_x2apic(); /* only then do the cores have such IDs */
	table.entries_log2 = irt_log2(entries);
	table_phys = vm_take_zeroed_pages((uint64_t)kind->entry_bytes(table.wide) << table.entries_log2,
	                                  "the interrupt remapping table");
	table.table = vm_phys(table_phys);
}

unsigned intr_cores(unsigned n)
{
	if (boot_info->pci_count == 0 || (table.entries_log2 && table.wide))
		return n;
	unsigned usable = 1;
	while (usable < n && cores[usable].apic_id <= APIC_ID_SHORT_MAX)
		usable++;
	if (usable < n)
		console_print("smp: %u of %u cores are not used: their APIC IDs are above %u, and no IOMMU remaps "
		              "interrupts to such IDs\n", n - usable, n, APIC_ID_SHORT_MAX);
	return usable;
}

/* Routes the serial line, which is a pin of I/O APIC n. Without a route the console is polled. */
static void route_serial(const struct acpi *acpi, unsigned n, uint32_t apic_id)
{
	int source = remapped ? iommu_ioapic_source(acpi->ioapic[n].id) : -1;
	uint64_t entry = (uint64_t)apic_id << 56; /* 82093AA, 3.2.4: bits 63:56 */
	if (source >= 0) {
		const struct irt_kind *kind = table.kind;
		if (kind->set(&table, kind->serial, (uint16_t)source, VECTOR_SERIAL, apic_serial_is_level(acpi), apic_id) ||
		    iommu_forget_interrupts())
			return;
		entry = kind->redirection(kind->serial);
	} else if (apic_id > APIC_ID_SHORT_MAX) {
		return;
	}
	apic_route_serial(acpi, n, entry);
}

void intr_start(const struct acpi *acpi)
{
	const struct iommu_interrupts in = {table_phys, table.entries_log2, table.wide, first};
	remapped = iommu_start(table.entries_log2 ? &in : NULL);
	for (unsigned n = 0; n < acpi->ioapics; n++)
		if (apic_has_serial(acpi, n))
			route_serial(acpi, n, cores[0].apic_id);
}

static int remap(unsigned index, uint32_t entry, uint32_t apic_id)
{
	if (entry >= table.kind->block(boot_info->pci[index].msix_vectors))
		return E_INVAL;
	lock_take(&lock);
	int e = table.kind->set(&table, first[index] + entry, boot_info->pci[index].bdf, VECTOR_WAKE, false, apic_id);
	int forgotten = iommu_forget_interrupts();
	lock_drop(&lock);
	return e == E_OK ? forgotten : e;
}

int64_t intr_route(uint64_t index, uint64_t entry, uint32_t apic_id)
{
	if (index >= boot_info->pci_count || entry >= boot_info->pci[index].msix_vectors)
		return E_INVAL;
	struct message m = {apic_msi_address(apic_id), apic_msi_data()};
	if (remapped && iommu_covers((unsigned)index)) {
		int e = remap((unsigned)index, (uint32_t)entry, apic_id);
		if (e != E_OK)
			return e;
		m = table.kind->message(first[index] + (uint32_t)entry, (uint32_t)entry);
	} else if (apic_id > APIC_ID_SHORT_MAX) {
		return E_NOTSUP;
	}
	return pci_msix_program(index, entry, m.address, m.data);
}
