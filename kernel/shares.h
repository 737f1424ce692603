/* Division of the machine's memory among the cores and published memory. */
#ifndef KERNEL_SHARES_H
#define KERNEL_SHARES_H

#include "kernel/boot.h"

/*
 * Takes the memory of boot_info->cores cores and of published memory, and records the regions in
 * boot_info. Their contents are undefined. Pages for the address spaces are left free. If the boot
 * module leaves too little memory, it is dropped (boot_info->config_left_out). If the memory still does
 * not suffice, vm_refuse() is called. Boot core, once.
 */
void shares_take(const struct boot *boot);

#endif
