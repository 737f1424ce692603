/* Packets that a program had received before it failed (hal/remains.h), for its report. */
#ifndef KERNEL_REMAINS_H
#define KERNEL_REMAINS_H

#include "hal/boot_info.h"
#include "kernel/vm.h"

/* Copies them out of the program that runs in `space` into its report. What the program says of
 * them is not believed: what is no memory of its own is left out. */
void remains_copy(vm_space_t space, struct crash *to);

#endif
