/* PCI: discovery of network cards and disks, their BARs and MSI-X tables; access to their configuration space
 * for core programs. */
#ifndef KERNEL_PCI_H
#define KERNEL_PCI_H

#include "abi/boot_info.h"
#include "kernel/acpi.h"
#include "kernel/iommu_kind.h"
#include "kernel/vm.h"

/* Lists network cards and disks in info->pci, BOOT_PCI_MAX at most, BOOT_DISKS_MAX of them disks, and records their
 * BARs, except those that overlap memory, interrupt controllers, ECAM, the units of `iommus` or other BARs. Keeps
 * all four pointers. Boot core, once. */
void pci_init(const struct acpi *acpi, const struct iommu_units *iommus, const struct boot *boot,
              struct boot_info *info);

/* Maps the BARs of all listed network cards into a program's address space; `all`: those of the disks too. */
void pci_map_bars(vm_space_t space, bool all);

/* Configuration space of info->pci[index], for KCALL_PCI_READ and _WRITE. The arguments are untrusted;
 * E_INVAL: no such device, or an invalid offset or size. */
int64_t pci_config_read(uint64_t index, uint64_t offset, uint64_t size);
int64_t pci_config_write(uint64_t index, uint64_t offset, uint64_t size, uint32_t value);

/* Has MSI-X entry `entry` of info->pci[index] write `data` to `address`, and unmasks it (kernel/intr.h says
 * which core that interrupts). E_INVAL: there is no such entry. */
int64_t pci_msix_program(uint64_t index, uint64_t entry, uint64_t address, uint32_t data);

/* For tests: all MSI-X entries of info->pci[index] write `data` to physical address `phys`, until they
 * are programmed again. E_INVAL: there is no such function, or it has no MSI-X. */
int64_t pci_msix_aim(uint64_t index, uint64_t phys, uint32_t data);

/* The buses behind the bridge `bdf` of segment 0: secondary | subordinate << 8; 0 if it is no bridge. */
unsigned pci_buses_behind(uint16_t bdf);

#endif
