/* Free physical addresses for PCI: what a root bus may use, and what of it is taken. */
#ifndef KERNEL_PCI_ROOM_H
#define KERNEL_PCI_ROOM_H

#include "kernel/boot.h"
#include "kernel/iommu_kind.h"
#include "kernel/pci_bridges.h"

#define PCI_ROOMS_MAX 4 /* ranges of one root bus */

/* What the machine is known to have. */
struct pci_machine {
	const struct acpi *acpi;
	const struct iommu_units *iommus;
	const struct boot *boot;
	uint64_t phys_end; /* what the CPU can address */
	struct hardware *hw;
	struct pci_bridge *bridge;
	unsigned bridges;
};

/* Writes the ranges in which the root bus (segment << 8 | bus) may have devices, best first; parts of them may
 * be taken. Returns their number; 0: nothing is known to be the bus's. */
unsigned pci_room_of_root(const struct pci_machine *m, unsigned bus, struct boot_range room[PCI_ROOMS_MAX]);

/* The lowest free multiple of `align`, a power of two, at which `bytes` fit into the range; 0: there is none.
 * What the windows of the bridges `above` hold is not taken because the window has it. */
uint64_t pci_room_find(const struct pci_machine *m, const bool above[PCI_BRIDGES_MAX], const struct boot_range *in,
                       uint64_t bytes, uint64_t align);

#endif
