/* Exceptions, interrupts and kernel calls: the one way into the kernel. */
#ifndef KERNEL_TRAP_H
#define KERNEL_TRAP_H

#include "lib/types.h"

/* As kernel/trap.asm and the CPU push it. */
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

/* The vectors that are not treated alike; below TRAP_EXCEPTIONS they are the CPU's. */
enum {
	TRAP_NMI = 2,
	TRAP_BREAKPOINT = 3,
	TRAP_DOUBLE_FAULT = 8,
	TRAP_PAGE_FAULT = 14,
	TRAP_MACHINE_CHECK = 18,
	TRAP_EXCEPTIONS = 32,
};

enum { IST_EMERGENCY = 1 }; /* double fault, NMI, machine check */

/* Fills the interrupt descriptor table, which all cores share. Boot core, once. Until
 * trap_use_stacks() every exception is taken on the stack that is in use. */
void trap_init(void);

/* Loads that table on the core that calls. */
void trap_load(void);

/* Double fault, NMI and machine check get a stack of their own from here on: the boot core has
 * loaded its TSS, and the others load theirs before they load the table. */
void trap_use_stacks(void);

/* Called by trap.asm for every vector. */
void trap_handler(struct trap_frame *f);

/* Leaves the kernel with this frame (trap.asm). */
_Noreturn void trap_return(struct trap_frame *f);

/* Serves the kernel call in f (hal/kcall.h); the result is left in f->rax. */
void kcall_serve(struct trap_frame *f);

/*
 * A core program has failed: prints the report, then restarts the program, or stops the core when
 * it fails too often. `what` says why; NULL: it is the exception of the frame.
 */
_Noreturn void fault_in_program(struct trap_frame *f, const char *what);

/* The kernel has failed: prints the report and ends the machine. */
_Noreturn void fault_in_kernel(struct trap_frame *f);

#endif
