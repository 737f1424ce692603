/* See test_fault.h. */
#include "dataplane/test_fault.h"

#include "dataplane/state.h"
#include "runtime/events.h"
#include "lib/assert.h"

enum kind { TEST_READ, TEST_WRITE, TEST_EXEC, TEST_PRIVILEGED, TEST_OTHER };

#define KERNEL_IMAGE 0xffff800000100000ull /* in the kernel's map of all memory */

typedef void (*code_fn)(void);

static const uint8_t constant[16] = {0xc3}; /* ret */
static uint8_t variable[16] = {0xc3};

/* Another data core, or this one if there is no other. */
static unsigned other_data_core(void)
{
	return self.id == self.info->first_data_core ? self.info->cores - 1 : self.info->first_data_core;
}

/* The index of that core among data cores. */
static unsigned other_index(void)
{
	return other_data_core() - self.info->first_data_core;
}

/* The address of the first region of that kind, or of a core's part of it; 0: there is none. */
static uintptr_t part_of(enum region_kind kind, unsigned part)
{
	for (unsigned i = 0; i < self.info->regions; i++)
		if (self.info->region[i].kind == kind)
			return self.info->region[i].at + part * self.info->region[i].bytes;
	return 0;
}

/* Writes this core's word of the shared map and of its own, and fails. */
_Noreturn static void write_marks(void)
{
	const unsigned mine = self.id - self.info->first_data_core;
	((volatile uint32_t *)part_of(REGION_SHARED, 0))[self.id] = 0x5a000000u + self.id;
	((volatile uint32_t *)part_of(REGION_OWN, mine))[self.id] = 0xa5000000u + self.id;
	__builtin_trap();
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

/* Writes 48 bytes beyond the array, over the return address. The asm hides from the compiler where
 * `at` points. */
__attribute__((noinline)) static void write_beyond_an_array(void)
{
	uint8_t array[16];
	uint8_t *at = array;
	__asm__ volatile("" : "+r"(at) : : "memory");
	for (unsigned i = 0; i < sizeof array + 48; i++)
		at[i] = 0xa5;
	__asm__ volatile("" : : "r"(at) : "memory");
}

/* Faults that need code of their own. */
static void run_other(enum test_fault fault)
{
	volatile unsigned zero = 0;
	switch (fault) {
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
	case TEST_FAULT_MARK:
		write_marks();
	case TEST_FAULT_DIVIDE:
		__asm__ volatile("divl %0" : : "r"(zero), "a"(1), "d"(0));
		break;
	case TEST_FAULT_SPIN:
		for (;;)
			__asm__ volatile("pause");
	case TEST_FAULT_ASSERT:
		assert(fault != TEST_FAULT_ASSERT);
		break;
	default:
		break;
	}
}

#define KIND(name, word, kind, address) kind,
#define ADDRESS(name, word, kind, address) (uintptr_t)(address),

void test_fault_run(enum test_fault fault)
{
	static const uint8_t kinds[] = {TEST_FAULTS(KIND)};
	const struct core_memory *mine = &self.info->core[self.id];
	const struct core_memory *other = &self.info->core[other_data_core()];
	uint8_t stack[16] = {0xc3};
	const uintptr_t addresses[] = {TEST_FAULTS(ADDRESS)};
	uintptr_t address = addresses[fault];
	core_event(EVENT_test_fault, fault, 0);
	/* hides the address from the compiler */
	__asm__ volatile("" : "+r"(address) : "r"(stack) : "memory");
	switch (kinds[fault]) {
	case TEST_READ:
		(void)*(volatile const uint8_t *)address;
		break;
	case TEST_WRITE:
		write_back(address);
		break;
	case TEST_EXEC:
		((code_fn)address)();
		break;
	case TEST_PRIVILEGED:
		run_privileged(fault);
		break;
	default:
		run_other(fault);
	}
}
