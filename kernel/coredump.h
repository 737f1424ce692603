/* Copies the data of a failed program (abi/coredump.h) into its report. */
#ifndef KERNEL_COREDUMP_H
#define KERNEL_COREDUMP_H

#include "abi/boot_info.h"
#include "kernel/vm.h"

/* Copies the data of the failed program in `space` into its report. The program's addresses are
 * untrusted: anything outside its own memory is left out. */
void coredump_copy(vm_space_t space, struct crash *to);

#endif
