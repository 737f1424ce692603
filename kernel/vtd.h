/*
 * The registers of one remapping unit. Intel Virtualization Technology for Directed I/O, Architecture
 * Specification, rev. 3.0, chapter 10; section numbers are of that revision. Every wait has a deadline.
 *
 * Invalidation is register-based (6.5.1), or goes through a queue (6.5.2) in a unit that remaps
 * interrupts: only the queue can invalidate cached entries of the interrupt remapping table.
 */
#ifndef KERNEL_VTD_H
#define KERNEL_VTD_H

#include "kernel/iommu_kind.h"

/* Widths of device addresses (SAGAW, 10.4.2), one bit each. */
#define VTD_WIDTH_39 2u
#define VTD_WIDTH_48 4u

struct vtd {
	volatile uint8_t *regs;
	uint64_t cap, ecap;
	uint64_t queue; /* physical; 0: invalidation is register-based */
};

/* What a unit works with: physical addresses of pages that the caller has written, and flushed from the
 * caches. */
struct vtd_tables {
	uint64_t root;
	uint64_t queue; /* VTD_QUEUE_BYTES, zeroed, for this unit alone; 0: interrupts are not remapped */
	uint64_t interrupts; /* interrupt remapping table */
	unsigned interrupts_log2; /* its entries */
	bool wide; /* its entries have 32-bit APIC IDs */
};
#define VTD_QUEUE_BYTES 0x2000u

/* Maps the unit whose registers begin at `phys` and reads its capabilities. E_DEVICE: no unit responds
 * there. */
int vtd_open(struct vtd *u, uint64_t phys);

/* Supported widths, of VTD_WIDTH_; 0 if the unit does not support 2 MiB pages, which our tables use. */
unsigned vtd_widths(const struct vtd *u);

/* The first address beyond the unit's range (MGAW, 10.4.2). */
uint64_t vtd_limit(const struct vtd *u);

/* The number of domains that the unit can tell apart (ND, 10.4.2). */
unsigned vtd_domains(const struct vtd *u);

/* True if a context entry can exempt a device from remapping (10.4.3, PT). */
bool vtd_passes_through(const struct vtd *u);

/* True if the unit can remap interrupts, and with 32-bit APIC IDs (10.4.3: IR, QI, EIM). */
bool vtd_remaps_interrupts(const struct vtd *u);
bool vtd_knows_wide_ids(const struct vtd *u);

/* Starts remapping. What firmware has left on is turned off first. E_TIMEOUT: a register did not reach the
 * expected value; remapping is off again. */
int vtd_start(struct vtd *u, const struct vtd_tables *t);

/* Has the unit forget what it has cached of the interrupt remapping table. E_TIMEOUT: it does not answer. */
int vtd_forget_interrupts(const struct vtd *u);

/* Has the unit forget all that it has cached of the cards' maps, and waits until accesses under way by what it had
 * cached have ended. The context cache, which has the entries of cards only (6.2.2), stays valid; if it is forgotten
 * too, QEMU takes all memory from the cards for a while. E_TIMEOUT: it does not answer. */
int vtd_forget_pages(const struct vtd *u);

/* Stops remapping. */
void vtd_stop(struct vtd *u);

/* Takes one recorded refusal (10.4.14), with a reason of appendix A; of an interrupt, addr is the index of its
 * entry. False if there is none. `*more` is set if some went unrecorded since the
 * last overflow was cleared. */
bool vtd_take_refusal(const struct vtd *u, struct iommu_refusal *r, bool *more);

#endif
