/* Deliberate failures of the kernel, for KCALL_TEST_PANIC. */
#ifndef KERNEL_SELFTEST_H
#define KERNEL_SELFTEST_H

#include "lib/types.h"

/* Fails as enum test_panic says (abi/kcall.h). E_INVAL without test=1, or for an unknown kind. */
int64_t selftest_panic(uint64_t kind);

#endif
