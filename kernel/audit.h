/*
 * Whether the page tables say what ARCHITECTURE.md promises of them (invariants 1, 2, 8). The
 * rules, of every page that any core can reach:
 *
 * 1. Nothing is both writable and executable, whatever the address it is reached by: what may be
 *    executed is the kernel's code, at ring 0, and the program, at ring 3. Code and constants of the
 *    image nobody writes, not by another address either.
 * 2. Ring 3 reaches nothing in the upper half, of the image nothing but the program, and no page table.
 * 3. Memory that one core's program may write no other core's may. Device registers are the
 *    exception: every core has those of all network cards.
 */
#ifndef KERNEL_AUDIT_H
#define KERNEL_AUDIT_H

#include "hal/boot_info.h"
#include "kernel/vm.h"

#define AUDIT_OWNED_MAX 16 /* pieces of memory that one core's program may write */

/* Parts of the image by physical address, ends excluded: behind the kernel's code its constants, and
 * among these the program, in whole pages. */
struct audit_image {
	uint64_t code, constants, program, program_end, data, end;
};

struct audit {
	struct audit_image image;
	unsigned core; /* whose address space is looked at */
	unsigned owned_count;
	struct audit_owned {
		uint64_t phys, bytes;
		unsigned core;
	} owned[CORES_MAX * AUDIT_OWNED_MAX];
	uint64_t pages; /* looked at, of 4 KiB */
};

/* Both NULL when the piece of the map keeps the rules, else which it breaks. The first notes what
 * a program may write, the second compares with all that was noted. */
const char *audit_note(struct audit *a, const struct vm_piece *p);
const char *audit_compare(struct audit *a, const struct vm_piece *p);

/* Looks at all address spaces and prints what it saw; panics when a rule is broken. Boot core,
 * before the programs start. */
void audit_address_spaces(unsigned n);

#endif
