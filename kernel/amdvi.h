/*
 * The registers of one AMD IOMMU. AMD I/O Virtualization Technology (IOMMU) Specification, publication 48882:
 * MMIO registers, commands and events are called by their names there. Every wait has a deadline.
 *
 * 1. Commands go through a ring in memory. The driver does not read the ring's head: it waits for a COMPLETION_WAIT
 *    before the ring is full.
 * 2. A unit that has not completed in time is not given another command: it might still read those it has.
 * 3. Refused accesses come from the event log. Its indices are checked; an entry that is not yet written is read
 *    later.
 *
 * Missing: the unit's own interrupts, peripheral page requests, guest translation, device caches (ATS).
 */
#ifndef KERNEL_AMDVI_H
#define KERNEL_AMDVI_H

#include "kernel/iommu_kind.h"

#define AMDVI_REGS_BYTES 0x4000u
#define AMDVI_MEMORY_BYTES 0x3000u /* commands, events, the completion word: a page each */
#define AMDVI_FUNCTIONS 65536u     /* entries of a device table */
#define AMDVI_DEVICE_WORDS 4u      /* 64-bit words of an entry */

struct amdvi {
	volatile uint8_t *regs;
	uint64_t features;
	uint64_t memory; /* physical; 0: the unit is off */
	unsigned tail, pending, event; /* entries of the rings: next command, commands that may be unread, next event */
	uint64_t completions;
	bool stuck;      /* a completion did not come in time */
	bool late_event; /* the next event was not written when it was announced */
};

/* What a unit works with: physical addresses of pages that the caller has written. */
struct amdvi_tables {
	uint64_t devices;  /* AMDVI_FUNCTIONS entries */
	uint64_t memory;   /* AMDVI_MEMORY_BYTES, zeroed, for this unit alone */
	uint8_t ivrs_flags;
	bool wide; /* entries of the table of interrupts have 128 bits, and 32-bit APIC IDs */
};

/* Maps the unit whose registers begin at `phys` and reads its features. E_DEVICE: no unit responds there. */
int amdvi_open(struct amdvi *u, uint64_t phys);

/* True if the unit supports our maps (Extended Feature Register: HATS is not 11b). */
bool amdvi_has_maps(const struct amdvi *u);

/* True if the unit can remap interrupts to 32-bit APIC IDs (Extended Feature Register: XTSup, GASup). */
bool amdvi_knows_wide_ids(const struct amdvi *u);

/* Starts the unit, and has it forget all that it has cached. What firmware has left on is turned off first.
 * E_TIMEOUT: it did not answer, and is off again. */
int amdvi_start(struct amdvi *u, const struct amdvi_tables *t);

/* Stops remapping. */
void amdvi_stop(struct amdvi *u);

/* Has the unit forget the pages of domains 1 to `domains`, and waits until accesses under way by them have ended.
 * E_TIMEOUT: it does not answer. */
int amdvi_forget_pages(struct amdvi *u, unsigned domains);

/* Has the unit forget what it has cached of the interrupts of these functions. E_TIMEOUT: it does not answer. */
int amdvi_forget_interrupts(struct amdvi *u, const uint16_t *bdf, unsigned count);

/* Takes one event; false if there is none. r->reason is the event code. `*more`: the log has overflowed. */
bool amdvi_take_refusal(struct amdvi *u, struct iommu_refusal *r, bool *more);

#endif
