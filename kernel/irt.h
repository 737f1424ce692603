/*
 * The interrupt remapping table: which interrupt a device's message raises, and on which core. Intel
 * Virtualization Technology for Directed I/O, Architecture Specification, rev. 3.0: 5.1 (messages), 9.9
 * and 9.10 (table and entries). This code does not access the machine:
 * tests/unit/kernel/test_intr.c reads the table as a unit does.
 *
 * 1. All units share one table. Entry 0 is the serial line's. The entries of each card follow, one for
 *    each of its MSI-X entries, as far as the table reaches.
 * 2. An entry names the function that may use it (9.10, SVT and SID). A card raises VECTOR_WAKE on the
 *    cores that its entries name, and no other interrupt.
 * 3. An entry that was never programmed is not present.
 *
 * Missing: posted interrupts; cards behind a bridge from PCI Express to PCI, whose messages carry the
 * bridge's ID.
 */
#ifndef KERNEL_IRT_H
#define KERNEL_IRT_H

#include "lib/types.h"

#define IRT_ENTRY_BYTES 16
#define IRT_ENTRIES_MAX 65536u
#define IRT_SERIAL 0u /* index of the serial line's entry */

struct irt {
	uint64_t (*entry)[2];
	unsigned entries_log2; /* 8 to 16 */
	bool wide;             /* 32-bit APIC IDs (EIM); otherwise 8-bit IDs */
};

/* What a device writes to raise an interrupt. */
struct message {
	uint64_t address;
	uint32_t data;
};

/* The smallest table of at least `entries` entries, as log2; at most IRT_ENTRIES_MAX. */
unsigned irt_log2(uint64_t entries);

/* Has messages of entry `index` from the function `source` raise `vector` on the core with this APIC ID.
 * level: the line is level-triggered, which messages of cards never are. E_INVAL: there is no such entry. E_NOTSUP: the table cannot express this ID; the entry is not present
 * then. The caller has the units forget the previous entry. */
int irt_set(const struct irt *t, uint32_t index, uint16_t source, uint8_t vector, bool level,
            uint32_t apic_id);

/* The message that uses entry `index` (5.1.2.2). */
struct message irt_message(uint32_t index);

/* The same for a pin of an I/O APIC (5.1.5.1): bits of its redirection entry, without vector, polarity,
 * trigger mode and mask. */
uint64_t irt_redirection(uint32_t index);

#endif
