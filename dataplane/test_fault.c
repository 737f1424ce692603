/* The test-only faults of the console command `test fault`. Each ends this core's program. */
#include "dataplane/state.h"
#include "lib/assert.h"

typedef void (*code_fn)(void);

static const uint8_t constant[16] = {0xc3}; /* ret */
static uint8_t variable[16] = {0xc3};

/* Another data core than this one; the only one itself. */
static unsigned other_data_core(void)
{
	return self.id == self.info->first_data_core ? self.info->cores - 1 : self.info->first_data_core;
}

/* Where the faults reach that read, write or execute what they may not. */
static uintptr_t forbidden(enum test_fault fault, const uint8_t *stack)
{
	const struct core_memory *mine = &self.info->core[self.id];
	const struct core_memory *other = &self.info->core[other_data_core()];
	switch (fault) {
	case TEST_FAULT_WRITE:
		return (uintptr_t)view_test_fault;
	case TEST_FAULT_CONSTANT:
	case TEST_FAULT_EXEC_CONSTANT:
		return (uintptr_t)constant;
	case TEST_FAULT_EXEC:
		return (uintptr_t)variable;
	case TEST_FAULT_EXEC_STACK:
		return (uintptr_t)stack;
	case TEST_FAULT_BOOT_INFO:
		return (uintptr_t)self.info;
	case TEST_FAULT_SNAPSHOT:
	case TEST_FAULT_EXEC_SNAPSHOT:
		return self.info->snapshot;
	case TEST_FAULT_OUTBOX:
		return other->outbox;
	case TEST_FAULT_ARENA:
		return other->arena;
	case TEST_FAULT_EXEC_ARENA:
		return mine->arena;
	case TEST_FAULT_TABLES:
		return self.info->core[0].tables;
	case TEST_FAULT_KERNEL:
		return 0xffff800000100000ull; /* the image, in the map of all memory */
	default:
		return 0;
	}
}

static void write_back(uintptr_t address)
{
	volatile uint8_t *at = (volatile uint8_t *)address;
	*at = *at;
}

static void run_privileged(enum test_fault fault)
{
	uint8_t table[10];
	if (fault == TEST_FAULT_CLI)
		__asm__ volatile("cli");
	else if (fault == TEST_FAULT_PORT)
		__asm__ volatile("outb %%al, $0x80" : : "a"(0)); /* the POST port */
	else if (fault == TEST_FAULT_MSR)
		__asm__ volatile("rdmsr" : : "c"(0x10) : "eax", "edx"); /* the TSC */
	else
		__asm__ volatile("sgdt %0" : "=m"(table));
}

/* 48 bytes more than the array has: over the return address and on. The compiler knows nothing of what
 * is behind `at`. */
__attribute__((noinline)) static void write_beyond_an_array(void)
{
	uint8_t array[16];
	uint8_t *at = array;
	__asm__ volatile("" : "+r"(at) : : "memory");
	for (unsigned i = 0; i < sizeof array + 48; i++)
		at[i] = 0xa5;
	__asm__ volatile("" : : "r"(at) : "memory");
}

void view_test_fault(enum test_fault fault)
{
	uint8_t stack[16] = {0xc3};
	volatile unsigned zero = 0;
	uintptr_t address = forbidden(fault, stack);
	__asm__ volatile("" : "+r"(address) : "r"(stack) : "memory"); /* for all the compiler knows */
	switch (fault) {
	case TEST_FAULT_NULL:
	case TEST_FAULT_TABLES:
	case TEST_FAULT_KERNEL:
		(void)*(volatile const uint8_t *)address;
		break;
	case TEST_FAULT_WRITE:
	case TEST_FAULT_CONSTANT:
	case TEST_FAULT_BOOT_INFO:
	case TEST_FAULT_SNAPSHOT:
	case TEST_FAULT_OUTBOX:
	case TEST_FAULT_ARENA:
		write_back(address);
		break;
	case TEST_FAULT_EXEC:
	case TEST_FAULT_EXEC_CONSTANT:
	case TEST_FAULT_EXEC_STACK:
	case TEST_FAULT_EXEC_SNAPSHOT:
	case TEST_FAULT_EXEC_ARENA:
		((code_fn)address)();
		break;
	case TEST_FAULT_CLI:
	case TEST_FAULT_PORT:
	case TEST_FAULT_MSR:
	case TEST_FAULT_SGDT:
		run_privileged(fault);
		break;
	case TEST_FAULT_DRIVER:
		core_test_driver();
		__builtin_trap();
	case TEST_FAULT_STACK:
		__asm__ volatile("1: pushq $0\n\tjmp 1b" : : : "memory");
		break;
	case TEST_FAULT_SMASH:
		write_beyond_an_array();
		break;
	case TEST_FAULT_UD:
		__builtin_trap();
	case TEST_FAULT_DIVIDE:
		__asm__ volatile("divl %0" : : "r"(zero), "a"(1), "d"(0));
		break;
	case TEST_FAULT_SPIN:
		for (;;)
			__asm__ volatile("pause");
	case TEST_FAULT_RESTART:
		break;
	case TEST_FAULT_ASSERT:
		assert(fault != TEST_FAULT_ASSERT);
		break;
	}
}
