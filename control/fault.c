/* The test-only faults of the console command `test fault`. Each ends this core's program. */
#include "control/view.h"
#include "lib/assert.h"

#define STALL_S 6 /* longer than core_quiesce waits */

typedef void (*code_fn)(void);

void view_test_fault(enum test_fault fault)
{
	static uint8_t data[16] = {0xc3}; /* ret */
	volatile unsigned sink = 0, zero = 0;
	volatile uintptr_t address = 0;
	(void)sink;
	switch (fault) {
	case TEST_FAULT_NULL:
		sink = *(volatile const uint8_t *)address;
		break;
	case TEST_FAULT_WRITE:
		address = (uintptr_t)view_test_fault;
		*(volatile uint8_t *)address = 0;
		break;
	case TEST_FAULT_EXEC:
		address = (uintptr_t)data;
		((code_fn)address)();
		break;
	case TEST_FAULT_STACK:
		__asm__ volatile("1: pushq $0\n\tjmp 1b" : : : "memory");
		break;
	case TEST_FAULT_UD:
		__builtin_trap();
	case TEST_FAULT_DIVIDE:
		__asm__ volatile("divl %0" : : "r"(zero), "a"(1), "d"(0));
		break;
	case TEST_FAULT_STALL:
		for (uint64_t end = clock_tsc() + STALL_S * self.clock.tsc_hz; clock_tsc() < end;)
			;
		break;
	case TEST_FAULT_ASSERT:
		assert(fault != TEST_FAULT_ASSERT);
		break;
	}
}
