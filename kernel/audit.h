/*
 * Checks that the page tables keep the promises of ARCHITECTURE.md (invariants 1, 2, 8). The rules for
 * every page that any core can reach:
 *
 * 1. No page is both writable and executable, at any of its addresses. Only the kernel's code is
 *    executable at ring 0. At ring 3 it is the program, and XDP code in its window, which programs reach
 *    at no other address. The image's code and constants and XDP code are not writable at any address.
 * 2. Ring 3 can reach nothing in the upper half, nothing of the image but the program, and no page
 *    table.
 * 3. No memory is writable by the programs of two cores. The exceptions are device registers, as every
 *    core maps those of all network cards; regions (struct region, abi/boot_info.h), which the cores
 *    write that may; and packet buffers that a core has lent to another (kernel/lend.h).
 *
 * With test=1 they are checked at boot, and whenever a region has been added or code written.
 */
#ifndef KERNEL_AUDIT_H
#define KERNEL_AUDIT_H

#include "abi/boot_info.h"
#include "kernel/lend.h"
#include "kernel/vm.h"

#define AUDIT_OWNED_MAX 16 /* pieces of memory that one core's program may write */

/* Parts of the image by physical address, ends excluded. The constants follow the kernel's code and
 * contain the program, in whole pages. */
struct audit_image {
	uint64_t code, constants, program, program_end, data, end;
};

struct audit {
	struct audit_image image;
	const struct region *region;
	const struct lent *lent; /* by core; NULL: no memory is lent */
	unsigned regions, first_data_core, data_cores;
	unsigned core; /* core whose address space is being checked */
	unsigned owned_count;
	struct audit_owned {
		uint64_t phys, bytes;
		unsigned core;
	} owned[CORES_MAX * AUDIT_OWNED_MAX];
	uint64_t pages; /* 4 KiB pages checked */
};

/* Both return NULL if the piece of the map keeps the rules, else a text that names the violation. The
 * first records the memory that a program may write; the second compares with all records. */
const char *audit_note(struct audit *a, const struct vm_piece *p);
const char *audit_compare(struct audit *a, const struct vm_piece *p);

/* Checks the address spaces of n cores, and prints the result if `say`; panics if a rule is broken. Core 0
 * only. */
void audit_address_spaces(unsigned n, bool say);

#endif
