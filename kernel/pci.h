/* PCI: finding functions, their BARs and MSI-X tables; configuration space for core programs. */
#ifndef KERNEL_PCI_H
#define KERNEL_PCI_H

#include "hal/boot_info.h"
#include "kernel/acpi.h"

/* Lists all functions into info->pci, network controllers first, and remembers their BARs. */
void pci_init(const struct acpi *acpi, struct boot_info *info);

/* Maps the BARs of all network controllers into a program's address space. */
void pci_map_bars(uint64_t space, const struct boot_info *info);

/* Configuration space of device `index` of info->pci, checked: any arguments may come. */
int64_t pci_config_read(uint64_t index, uint64_t offset, uint64_t size);
int64_t pci_config_write(uint64_t index, uint64_t offset, uint64_t size, uint32_t value);

/* Programs MSI-X entry `entry` to raise VECTOR_WAKE on the core with this APIC ID. */
int64_t pci_msix_program(uint64_t index, uint64_t entry, uint32_t apic_id);

#endif
