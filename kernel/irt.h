/*
 * The table of interrupts: which interrupt a device's message raises, and on which core. Its form is the kind's
 * of IOMMU: irt_vtd.c, irt_amdvi.c. This code does not access the machine: tests/unit/kernel/test_intr.c and
 * test_intr_amdvi.c read the table as a unit does.
 *
 * 1. All units share one table. The serial line's entries come first. A block of entries for each card follows,
 *    one for each of its MSI-X entries, as far as the table reaches.
 * 2. A card raises VECTOR_WAKE on the cores that the entries of its block name, and no other interrupt.
 * 3. An entry that was never programmed is not present.
 *
 * Missing: posted interrupts; cards behind a bridge from PCI Express to PCI, whose messages carry the
 * bridge's ID.
 */
#ifndef KERNEL_IRT_H
#define KERNEL_IRT_H

#include "lib/types.h"

#define IRT_ENTRIES_MAX 65536u
#define IRT_SHORT_ID_MOST 0xfeu /* 0xff is all cores */

struct irt_kind;

struct irt {
	const struct irt_kind *kind;
	void *table;
	unsigned entries_log2; /* 8 to 16 */
	bool wide;             /* 32-bit APIC IDs; otherwise 8-bit IDs */
};

/* What a device writes to raise an interrupt. */
struct message {
	uint64_t address;
	uint32_t data;
};

struct irt_kind {
	uint32_t serial;         /* index of the serial line's entry */
	uint32_t serial_entries; /* entries of its block, which begins at index 0 */
	bool aligned;            /* a block of n entries begins at a multiple of n */

	/* The size of an entry, in bytes; and of the block of a card with this many MSI-X entries, in entries. A block
	 * may have fewer entries than the card (irt_amdvi.c). */
	unsigned (*entry_bytes)(bool wide);
	uint32_t (*block)(uint32_t vectors);

	/* Has messages of entry `index` from the function `source` raise `vector` on the core with this APIC ID.
	 * level: the line is level-triggered, which messages of cards never are. E_INVAL: there is no such entry.
	 * E_NOTSUP: the table cannot express this ID; the entry is not present then. The caller has the units forget
	 * the previous entry. */
	int (*set)(const struct irt *t, uint32_t index, uint16_t source, uint8_t vector, bool level, uint32_t apic_id);

	/* The message that uses entry `index`, which is number `entry` of its card's block. */
	struct message (*message)(uint32_t index, uint32_t entry);

	/* The same for a pin of an I/O APIC: bits of its redirection entry, without vector, polarity, trigger mode and
	 * mask. */
	uint64_t (*redirection)(uint32_t index);
};

extern const struct irt_kind irt_vtd, irt_amdvi;

/* The smallest table of at least `entries` entries, as log2; at most IRT_ENTRIES_MAX. */
static inline unsigned irt_log2(uint64_t entries)
{
	unsigned log2 = 8;
	while (log2 < 16 && 1ull << log2 < entries)
		log2++;
	return log2;
}

#endif
