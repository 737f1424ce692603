/*
 * One remapping unit: its registers. Intel Virtualization Technology for Directed I/O,
 * Architecture Specification, rev. 3.0, chapter 10; sections are of that revision. Invalidation
 * is by registers (6.5.1), interrupts are not remapped. Every wait has an end.
 */
#ifndef KERNEL_VTD_H
#define KERNEL_VTD_H

#include "lib/types.h"

/* Widths of what a device may give as an address (SAGAW, 10.4.2), as bits. */
#define VTD_WIDTH_39 2u
#define VTD_WIDTH_48 4u

struct vtd {
	volatile uint8_t *regs;
	uint64_t cap, ecap;
};

/* An access that a unit refused (10.4.14). */
struct vtd_refusal {
	uint64_t addr; /* bus address, of the page */
	uint16_t bdf;
	uint8_t reason; /* appendix A of the specification */
	bool read;
};

/* Looks at the unit whose registers begin at `phys`. E_DEVICE: nobody answers there. */
int vtd_open(struct vtd *u, uint64_t phys);

/* Widths it knows, of VTD_WIDTH_; 0 when it does not know 2 MiB pages, which ours are. */
unsigned vtd_widths(const struct vtd *u);

/* The first address beyond what it takes (MGAW, 10.4.2). */
uint64_t vtd_limit(const struct vtd *u);

/* Lets a context entry say that a device is not remapped (10.4.3, PT). */
bool vtd_passes_through(const struct vtd *u);

/* Remaps from now on, by the root table at `root`, which the caller has written and flushed from
 * the caches. E_TIMEOUT: a register did not become what it has to; E_NOTSUP: firmware has left on
 * what we do not use (queued invalidation, interrupt remapping). Then the unit is off. */
int vtd_start(const struct vtd *u, uint64_t root);

/* Remaps no more. */
void vtd_stop(const struct vtd *u);

/* Takes one recorded refusal; false when there is none. `*more`: some were not recorded since. */
bool vtd_take_refusal(const struct vtd *u, struct vtd_refusal *r, bool *more);

#endif
