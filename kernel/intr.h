/*
 * Routes of device interrupts: the MSI-X entries of network cards, and the serial line. By interrupt
 * remapping (irt.h) where a unit serves the device, otherwise by messages that hold eight bits of an APIC
 * ID.
 *
 * Without remapping by 32-bit IDs no card can interrupt a core whose APIC ID is above 254. Such cores are
 * not used: a data core that cannot be woken could not sleep.
 */
#ifndef KERNEL_INTR_H
#define KERNEL_INTR_H

#include "kernel/acpi.h"

/* Takes memory for the table, if interrupts will be remapped. After iommu_prepare, before
 * partition_cores. */
void intr_prepare(void);

/* How many of the first n cores can be used; says so if it is fewer. After intr_prepare. */
unsigned intr_cores(unsigned n);

/* Starts the IOMMU with the table, then routes the serial line to core 0. */
void intr_start(const struct acpi *acpi);

/* Routes MSI-X entry `entry` of info->pci[index] to the core with this APIC ID, as VECTOR_WAKE, and
 * unmasks the entry. All arguments are untrusted. E_INVAL: there is no such entry. E_NOTSUP: no message
 * reaches this core. E_TIMEOUT: a unit does not answer. */
int64_t intr_route(uint64_t index, uint64_t entry, uint32_t apic_id);

#endif
