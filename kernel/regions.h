/* Memory that the control core gives away for XDP programs and their maps (struct region, abi/boot_info.h). */
#ifndef KERNEL_REGIONS_H
#define KERNEL_REGIONS_H

#include "kernel/core.h"

/* Serves KCALL_REGION, whose arguments and errors these are. On error nothing has changed, but that devices
 * may no longer reach the memory (E_DEVICE). */
int regions_add(uint64_t at, uint64_t bytes, uint64_t kind);

/* Serves KCALL_CODE_WRITE for the program of core c. */
int regions_code_write(const struct core *c, uint64_t offset, uint64_t from, uint64_t bytes);

/* All bytes of a region, of all cores' parts. */
uint64_t region_whole(const struct region *r);

/* True if any region overlaps this part of the memory window. */
bool regions_overlap(uint64_t at, uint64_t bytes);

#endif
