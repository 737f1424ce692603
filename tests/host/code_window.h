/*
 * The kernel's part of regions (KCALL_REGION, KCALL_CODE_WRITE) in a host process. Code can be executed, at
 * the same addresses as in the image, and a write there ends the process: only in a process linked at a fixed
 * address (-no-pie) that lies below the window are both within reach of 32-bit displacements.
 */
#ifndef TESTS_HOST_CODE_WINDOW_H
#define TESTS_HOST_CODE_WINDOW_H

#include "abi/boot_info.h"

/* As KCALL_REGION. A copy of code is kept in the region's own memory, for host_code_go_on. */
int host_region(struct boot_info *info, uint64_t at, uint64_t bytes, uint64_t kind);

/* As KCALL_CODE_WRITE. */
int host_code_write(const struct boot_info *info, uint64_t offset, const void *from, uint64_t bytes);

/* A process that goes on with the memory of another (tests/host/lives.h) shows its code again. */
void host_code_go_on(const struct boot_info *info);

#endif
