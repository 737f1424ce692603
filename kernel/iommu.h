/*
 * What network cards may reach of memory: what core programs give to devices, and nothing else
 * (docs/RELIABILITY.md, Isolation).
 *
 * 1. A card reaches the arenas, the snapshot and the control core's tables, at their physical
 *    addresses, so dma_addr() (hal/dma.h) is the same with an IOMMU and without. Not the kernel,
 *    no page table, no outbox, no program's variables, no registers of other devices.
 * 2. All cards share the one map, which never changes: KCALL_SHARE moves memory between two of the
 *    regions that it has.
 * 3. Message interrupts, writes to 0xfeexxxxx, are no accesses to memory for the units, and pass.
 * 4. A unit is turned on only when it covers one of our cards. Of its other devices those that
 *    firmware goes on using (RMRR) reach what they did, the others nothing.
 * 5. Where anything is missing or does not answer, no unit is used, and the console says why.
 */
#ifndef KERNEL_IOMMU_H
#define KERNEL_IOMMU_H

#include "kernel/acpi.h"
#include "kernel/dmar.h"

/* Reads firmware's table of them; before pci_init, which shows no program their registers. The
 * table is valid for ever; it is empty when there is none, or one that is malformed. */
const struct dmar *iommu_find(const struct acpi *acpi);

/* Chooses the units and takes the memory for their tables; before partition_cores, which leaves
 * none, and after pci_init. */
void iommu_prepare(void);

/* Turns the units on, by boot_info's regions; before the first program. */
void iommu_start(void);

/* Counts and prints what devices were refused since the last look; the number since boot. One core
 * calls it. */
int64_t iommu_look(void);

/* For tests, see KCALL_TEST_DMA. */
int64_t iommu_test(uint64_t device);

#endif
