/*
 * Addresses for what firmware left out: BARs of network functions, and windows of the bridges above them
 * (PCI 3.0, 6.2.5; PCI-to-PCI Bridge Architecture Specification 1.2). What firmware assigned does not move, except
 * windows in which nothing lies, and buses keep their numbers.
 */
#ifndef KERNEL_PCI_ASSIGN_H
#define KERNEL_PCI_ASSIGN_H

#include "kernel/acpi.h"
#include "kernel/iommu_kind.h"

/* Finds addresses for the BARs in hw whose state is HARDWARE_BAR_UNASSIGNED and that have a size: natural powers of
 * two, 1 GiB at most. Writes the addresses to the functions, whose memory decoding the caller has stopped, and to
 * hw; the state becomes HARDWARE_BAR_ASSIGNED. A BAR for which there is no room keeps its state. Opens windows
 * of bridges, has these forward, and says so on the console. phys_end: the end of what the CPU addresses. Boot
 * core, once, while no core uses a device: to learn what is taken, it stops the decoding of other functions
 * for the moment in which it reads a BAR's size. */
void pci_assign(struct hardware *hw, const struct acpi *acpi, const struct iommu_units *iommus, const struct boot *boot,
                uint64_t phys_end);

#endif
