/* What a program that has failed leaves (hal/remains.h), for its report. */
#ifndef KERNEL_REMAINS_H
#define KERNEL_REMAINS_H

#include "hal/boot_info.h"
#include "kernel/vm.h"

/* Copies it out of the program that runs in `space` into its report. What the program says of it is
 * not believed: what is no memory of its own is left out. */
void remains_copy(vm_space_t space, struct crash *to);

#endif
