/* What the kernel found in the machine, for reports (abi/hardware.h). */
#ifndef KERNEL_HARDWARE_H
#define KERNEL_HARDWARE_H

#include "kernel/acpi.h"
#include "kernel/boot.h"
#include "kernel/iommu_kind.h"

/* Fills hw, except for the PCI functions, which pci_init has recorded. Boot core, once, after pci_init. */
void hardware_describe(struct hardware *hw, const struct acpi *acpi, const struct iommu_units *units,
                       const struct boot *boot);

#endif
