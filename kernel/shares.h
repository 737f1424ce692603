/* How much of the machine's memory each core and the snapshots get. */
#ifndef KERNEL_SHARES_H
#define KERNEL_SHARES_H

#include "kernel/boot.h"

/*
 * Takes the memory of boot_info->cores cores and of the snapshots, and says in boot_info where it
 * is; what it holds is undefined. Pages for the address spaces remain. A boot module that leaves too
 * little is given up: boot_info->config_left_out. Boot core, once. vm_refuse() when the memory does
 * not suffice all the same.
 */
void shares_take(const struct boot *boot);

#endif
