/* The memory of the machine, divided among the cores. */
#ifndef KERNEL_PARTITION_H
#define KERNEL_PARTITION_H

#include "kernel/boot.h"

/* Gives each of `n` cores its memory, builds their address spaces, and says where all is in
 * boot_info. Boot core, once. Panics when the memory does not suffice. */
void partition_cores(unsigned n, const struct boot *boot);

#endif
