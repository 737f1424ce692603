/* PCI: finding network functions, their BARs and MSI-X tables; their configuration space for core
 * programs. */
#ifndef KERNEL_PCI_H
#define KERNEL_PCI_H

#include "hal/boot_info.h"
#include "kernel/acpi.h"
#include "kernel/dmar.h"
#include "kernel/vm.h"

/* Lists the network functions in info->pci, BOOT_PCI_MAX at most, and remembers their BARs, but
 * those that lie over memory, interrupt controllers, ECAM or the units of `iommus`. Keeps all four
 * pointers. Boot core, once. */
void pci_init(const struct acpi *acpi, const struct dmar *iommus, const struct boot *boot,
              struct boot_info *info);

/* Maps the BARs of all listed functions into a program's address space. */
void pci_map_bars(vm_space_t space);

/* Configuration space of info->pci[index], for KCALL_PCI_READ and _WRITE: any arguments may come,
 * E_INVAL for what is not there. */
int64_t pci_config_read(uint64_t index, uint64_t offset, uint64_t size);
int64_t pci_config_write(uint64_t index, uint64_t offset, uint64_t size, uint32_t value);

/* Programs MSI-X entry `entry` of info->pci[index] to raise VECTOR_WAKE on the core with this APIC
 * ID, and unmasks it. E_INVAL: there is no such entry. */
int64_t pci_msix_program(uint64_t index, uint64_t entry, uint32_t apic_id);

/* For tests: all MSI-X entries of info->pci[index] write `data` to physical memory, until they are
 * programmed again. E_INVAL: there is no such function, or it has none. */
int64_t pci_msix_aim(uint64_t index, uint64_t phys, uint32_t data);

/* The buses behind the bridge `bdf`: secondary | subordinate << 8; 0 when it is no bridge. */
unsigned pci_buses_behind(uint16_t bdf);

#endif
