/* The memory of the machine, divided among the cores. */
#ifndef KERNEL_PARTITION_H
#define KERNEL_PARTITION_H

#include "kernel/boot.h"

/* Gives each of `n` cores its memory, builds their address spaces, and says where all is in
 * boot_info. A boot module that leaves too little goes: boot_info->config_left_out. Boot core, once.
 * Panics, naming what it was for, when the memory does not suffice all the same. */
void partition_cores(unsigned n, const struct boot *boot);

/* What KCALL_SHARE does; E_INVAL: the tables are not so large, or it is no whole page. E_NOMEM: there is
 * no page left for a data core's page tables; nothing has changed. */
int partition_share(uint64_t bytes);

#endif
