/* See selftest.h. The tests look for the names of these functions in the backtrace. */
#include "kernel/selftest.h"

#include "abi/kcall.h"
#include "kernel/core.h"
#include "lib/assert.h"
#include "lib/cmdline.h"

/* Pushes until the guard page. The page fault then has no stack and becomes a double fault. */
static void run_off_the_stack(void)
{
	__asm__ volatile("1: pushq $0\n\tjmp 1b" : : : "memory");
}

/* The first page is never mapped. The address is in a register, so the compiler cannot see the fault. */
static void write_to_nothing(void)
{
	uint64_t address = 8;
	__asm__ volatile("movq %0, (%0)" : : "r"(address) : "memory");
}

/* Like write_to_nothing, with a frame pointer into a guard page, at which the backtrace ends. */
static void lose_the_frame(void)
{
	uint64_t address = 8;
	__asm__ volatile("movq %0, %%rbp\n\tmovq %1, (%1)"
	                 : : "r"((uint64_t)__builtin_frame_address(0) & ~(STACK_SLOT - 1)), "r"(address)
	                 : "memory");
}

/* Writes 48 bytes beyond the array, over the return address and further. The asm hides from the
 * compiler what `at` points to. */
__attribute__((noinline)) static void write_beyond_an_array(void)
{
	uint8_t array[16];
	uint8_t *at = array;
	__asm__ volatile("" : "+r"(at) : : "memory");
	for (unsigned i = 0; i < sizeof array + 48; i++)
		at[i] = 0xa5;
	__asm__ volatile("" : : "r"(at) : "memory");
}

int64_t selftest_panic(uint64_t kind)
{
	if (cmdline_number(boot_info->cmdline, "test", 0) != 1)
		return E_INVAL;
	switch (kind) {
	case TEST_PANIC_FAULT:
		write_to_nothing();
		break;
	case TEST_PANIC_STACK:
		run_off_the_stack();
		break;
	case TEST_PANIC_FRAME:
		lose_the_frame();
		break;
	case TEST_PANIC_ASSERT:
		assert(kind != TEST_PANIC_ASSERT);
		break;
	case TEST_PANIC_SMASH:
		write_beyond_an_array();
		break;
	default:
		break;
	}
	return E_INVAL;
}
