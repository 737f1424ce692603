/* Exceptions, interrupts and kernel calls: the only entry into the kernel. */
#ifndef KERNEL_TRAP_H
#define KERNEL_TRAP_H

#include "lib/types.h"

/* As pushed by the CPU and kernel/trap.asm. */
struct trap_frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector, error;
	uint64_t rip, cs, rflags, rsp, ss;
};
_Static_assert(sizeof(struct trap_frame) == 22 * 8, "15 pushed, 2 by the stub, 5 by the CPU");

enum segment {
	SEG_KERNEL_CODE = 0x08,
	SEG_KERNEL_DATA = 0x10,
	SEG_USER_DATA = 0x18 | 3,
	SEG_USER_CODE = 0x20 | 3,
	SEG_TSS = 0x28,
};

/* Vectors with special treatment. Those below TRAP_EXCEPTIONS are the CPU's exceptions. */
enum {
	TRAP_NMI = 2,
	TRAP_BREAKPOINT = 3,
	TRAP_DOUBLE_FAULT = 8,
	TRAP_PAGE_FAULT = 14,
	TRAP_MACHINE_CHECK = 18,
	TRAP_EXCEPTIONS = 32,
};

enum { IST_EMERGENCY = 1 }; /* double fault, NMI, machine check */

/* Fills the interrupt descriptor table, which all cores share. Until trap_use_stacks() an exception at
 * ring 0 uses the current stack. Boot core, once. */
void trap_init(void);

/* Loads the interrupt descriptor table on the calling core. */
void trap_load(void);

/* From here on double fault, NMI and machine check use the emergency stack. The boot core has loaded
 * its TSS before; the other cores load theirs before they load the table. */
void trap_use_stacks(void);

/* Called by trap.asm for every vector. */
void trap_handler(struct trap_frame *f);

/* Leaves the kernel with this frame (trap.asm). */
_Noreturn void trap_return(struct trap_frame *f);

/* Serves the kernel call in f (abi/kcall.h) and stores the result in f->rax. */
void kcall_serve(struct trap_frame *f);

/*
 * A core program has failed: reports the failure, then restarts the program, or stops the core if it
 * fails too often. `what` is the reason; NULL: the exception in the frame.
 */
_Noreturn void fault_in_program(struct trap_frame *f, const char *what);

/* The kernel has failed: prints the report and ends the machine. */
_Noreturn void fault_in_kernel(struct trap_frame *f);

#endif
