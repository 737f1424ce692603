/*
 * What a core program may ask of the kernel. Entered by a breakpoint exception: int3 is the one
 * trap that software-virtualised hosts deliver from ring 3 as well (ARCHITECTURE.md, Kernel); this
 * function is the ONE place that knows. RAX is the call, RDI RSI RDX its arguments, RAX the
 * result (0 or a negative enum error unless the table says otherwise).
 *
 * All of it is cold: the data path never comes here.
 */
#ifndef HAL_KCALL_H
#define HAL_KCALL_H

#include "lib/types.h"

enum kcall {
	KCALL_LOG,          /* (text, bytes): prints on the console as it is */
	KCALL_CONSOLE_READ, /* (): next byte typed, or E_AGAIN */
	KCALL_SLEEP,        /* (tsc): halts until an interrupt, or until the TSC passes (0: never) */
	KCALL_WAKE,         /* (core): ends that core's sleep */
	KCALL_EXIT,         /* (code): ends the machine; does not return */
	KCALL_REBOOT,       /* (): restarts the machine; does not return */
	KCALL_PCI_READ,     /* (device index, offset, size): the value */
	KCALL_PCI_WRITE,    /* (device index, offset | size << 16, value) */
	KCALL_MSIX_ROUTE,   /* (device index, entry, core) */
	KCALL_ASSERT,       /* (expr, file, line): reports, then restarts this core's program */
	KCALL_MAX
};

static inline int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	int64_t result;
	__asm__ volatile("int3"
	                 : "=a"(result)
	                 : "a"((uint64_t)number), "D"(a), "S"(b), "d"(c)
	                 : "memory");
	return result;
}

#endif
