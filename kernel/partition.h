/* Divides the memory of the machine among the cores. */
#ifndef KERNEL_PARTITION_H
#define KERNEL_PARTITION_H

#include "kernel/boot.h"

/* Gives each of `n` cores its memory, builds their address spaces, and records the layout in boot_info.
 * If the boot module leaves too little memory, it is dropped (boot_info->config_left_out). If the memory
 * still does not suffice, panics and names the purpose. Boot core, once. */
void partition_cores(unsigned n, const struct boot *boot);

/* Serves KCALL_SHARE: moves `bytes` from the tables to published memory. E_INVAL: 0, not a multiple of 2 MiB, not less
 * than the tables, or a region lies there. E_NOMEM: no page is left for a data core's page tables. On error nothing
 * has changed. */
int partition_share(uint64_t bytes);

#endif
