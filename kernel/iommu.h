/*
 * DMA isolation: network cards and disks reach only the memory that core programs give to devices
 * (docs/RELIABILITY.md, Isolation).
 *
 * 1. A card reaches the arenas, published memory and the control core's tables, at their physical
 *    addresses, so dma_addr() (hal/dma.h) is the same with and without an IOMMU. A card reaches no
 *    kernel memory, page table, shared memory, program variable or register of another device.
 *    A disk reaches only what the control core lends it out of its tables (KCALL_DMA_RESERVE), and no network
 *    card reaches that.
 * 2. Each card has a map of its own, if the units have enough domains. KCALL_DMA_RESERVE takes the rings of
 *    a card out of the other cards' maps, and may put them back. KCALL_SHARE moves memory between two
 *    regions that are both in all maps. KCALL_REGION takes memory out of all maps for good; content
 *    (REGION_CONTENT) they may still read.
 * 3. Message interrupts, writes to 0xfeexxxxx, are not memory accesses to the units. Where all used units
 *    can, they are remapped (intr.h), and a card raises no interrupts but its own. Otherwise they pass.
 * 4. A unit is enabled only if it covers one of our cards. Among its other devices, those that
 *    firmware still uses (RMRR, IVMD) keep their access; the rest can access nothing.
 * 5. If anything is missing or does not respond, no unit is used, and the console says why.
 */
#ifndef KERNEL_IOMMU_H
#define KERNEL_IOMMU_H

#include "kernel/iommu_kind.h"

/* Parses firmware's table of the units. Called before pci_init, which hides the units' registers from
 * programs. The result stays valid; it is empty if there is no table or a malformed one. */
const struct iommu_units *iommu_find(const struct acpi *acpi);

/* Writes the NUMA nodes of the cards into boot_info->pci: those of their units. After pci_init, whether or not
 * the units will be used. */
void iommu_tell_nodes(void);

/* Chooses the units and takes memory for their tables. Called after pci_init and before
 * partition_cores, which takes all the remaining memory. */
void iommu_prepare(void);

/* True if the units will remap interrupts. `*wide` says if by 32-bit APIC IDs. After iommu_prepare. */
bool iommu_remaps_interrupts(bool *wide);

/* The form of the table of interrupts. Only if the units will remap interrupts. */
const struct irt_kind *iommu_interrupt_kind(void);

/* Enables the units for boot_info's regions; before the first program. `interrupts`: NULL without
 * remapping. True if interrupts are remapped from now on. */
bool iommu_start(const struct iommu_interrupts *interrupts);

/* True if a unit serves info->pci[index]. */
bool iommu_covers(unsigned index);

/* The function by which the messages of the I/O APIC with this ID are known to a used unit; -1: no used unit
 * receives them. */
int iommu_ioapic_source(uint8_t id);

/* Has all units forget what they have cached of the interrupt remapping table. E_TIMEOUT: one does not
 * answer. */
int iommu_forget_interrupts(void);

/* Takes whole 2 MiB pages of the control core's tables, given by their address in the memory window, from
 * all cards; `readable`: they may still read them. When it returns, no other access is under way. E_DEVICE: a
 * unit does not answer, and cards reach the memory as before. */
int iommu_withdraw(uint64_t window, uint64_t bytes, bool readable);

/* For KCALL_DMA_RESERVE by the program of `core`: see there. */
int64_t iommu_reserve(unsigned core, uint64_t device, uint64_t window, uint64_t bytes);

/* Counts and prints the accesses refused since the last call; returns the number since boot. Called by
 * one core only. */
int64_t iommu_look(void);

/* For tests; see KCALL_TEST_DMA. */
int64_t iommu_test(uint64_t device, uint64_t region);

#endif
