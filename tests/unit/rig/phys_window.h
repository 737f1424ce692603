/*
 * The kernel's window to physical memory, for tests that include a kernel source: it lies where a host process has
 * no memory, so vm_phys leads to memory of the test's instead. To be included before that source.
 */
#ifndef TESTS_UNIT_RIG_PHYS_WINDOW_H
#define TESTS_UNIT_RIG_PHYS_WINDOW_H

#include "tests/unit/rig/host.h"

#include <sys/mman.h>

#define vm_phys vm_phys_of_the_kernel
#include "kernel/vm.h"
#undef vm_phys
#define WINDOW_BYTES (4ull << 30)
static uint8_t *window;
static inline void *vm_phys(uint64_t phys)
{
	assert_true(phys < WINDOW_BYTES);
	return window + phys;
}

/* Makes the memory, zeroed, at the first call. */
static inline void window_open(void)
{
	if (!window)
		window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(window != MAP_FAILED);
}

#endif
