/* Host twin of abi/kcall.h, found first by -Itests/host: the test is the kernel. */
#ifndef TESTS_HOST_ABI_KCALL_H
#define TESTS_HOST_ABI_KCALL_H

/* with parameters, so that `enum kcall` keeps its name */
#define kcall(...) kcall_by_exception(__VA_ARGS__)
#include "../../../abi/kcall.h"
#undef kcall

int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c);

#endif
