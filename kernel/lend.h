/*
 * Lends packet buffers of a data core's arena to other data cores, which handle packets that the first
 * one has received (runtime/steer.h).
 */
#ifndef KERNEL_LEND_H
#define KERNEL_LEND_H

#include "lib/types.h"

/* What one core may write of another core's arena: physical addresses. bytes 0: nothing. */
struct lent {
	uint64_t phys, bytes;
	unsigned owner;
};

/* By number of the core that borrows. */
extern struct lent lent_to[];

/*
 * Serves KCALL_LEND: core `to` may write the memory at `at`, an address of the memory window in another core's
 * arena, and no other part of another core's arena. owner_bytes: the number of the core that owns the arena, plus
 * the bytes, whole pages of KCALL_LEND_UNIT; 0 bytes: no part at all. `to` does not use what it loses.
 * E_INVAL: not two data cores, or not in that arena. E_NOMEM: there is no memory for page tables. On error nothing
 * has changed.
 */
int lend_serve(uint64_t to, uint64_t owner_bytes, uint64_t at);

#endif
