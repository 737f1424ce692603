/* Failures of the kernel itself, on purpose: for KCALL_TEST_PANIC. */
#ifndef KERNEL_SELFTEST_H
#define KERNEL_SELFTEST_H

#include "lib/types.h"

/* Fails in the way of enum test_panic (hal/kcall.h); E_INVAL without test=1, or for no such way. */
int64_t selftest_panic(uint64_t kind);

#endif
