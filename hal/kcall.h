/*
 * What a core program may ask of the kernel. The program's side is kcall() below, the kernel's is
 * kcall_serve() (kernel/kcall.c). All of it is cold: the data path never comes here.
 *
 * Entered by a breakpoint exception: int3 is the one trap that software-virtualised hosts deliver
 * from ring 3 as well (ARCHITECTURE.md, Kernel); kcall() is the ONE place that knows. RAX is the
 * call, RDI RSI RDX its arguments, RAX the result. All other registers keep their values, vector
 * registers too, and the program's stack is not touched.
 *
 * Rules of all calls
 * 1. Any core may make any call, but KCALL_RESTART.
 * 2. The result is 0 or a negative enum error, unless the row says otherwise. A number that is no
 *    call, or an argument out of range, is E_INVAL, and nothing has been done.
 * 3. A text is given by its address in the caller's own address space. The kernel reads it (what
 *    ring 3 may not read, it does not), keeps no pointer after the call and writes through none.
 * 4. Only KCALL_SLEEP waits for an event. Interrupts are off during all others.
 *
 * To add one: a row here; its case in kcall_serve(), with arguments checked as those of a stranger,
 * first all checks, then what it does; an answer in tests/host/harness.c, where core/ runs without
 * a kernel. Numbers may change: kernel and programs are one image. More than three arguments, or a
 * result of more than 63 bits: pack them, as KCALL_PCI_WRITE does.
 */
#ifndef HAL_KCALL_H
#define HAL_KCALL_H

#include "lib/types.h"

enum kcall {
	/* (text, bytes): prints them on the console as they are, at the pace of the serial line.
	 * E_INVAL where they cannot be read; what stands before that is printed. */
	KCALL_LOG,
	/* (): the next byte typed, 0 to 255; E_AGAIN when there is none. */
	KCALL_CONSOLE_READ,
	/* (tsc): halts until an interrupt of a NIC, the serial line or KCALL_WAKE, or until the TSC
	 * has passed `tsc`; 0: without such an end. An interrupt that came before the call counts.
	 * May return early. */
	KCALL_SLEEP,
	/* (core): ends that core's sleep, or, when it is awake, its next one. */
	KCALL_WAKE,
	/* (code): ends the machine (docs/command-line.md, exit codes); does not return. */
	KCALL_EXIT,
	/* (): restarts the machine; does not return. */
	KCALL_REBOOT,
	/* (device, offset, size), device as struct pci_dev.index, the others as in pci_read()
	 * (hal/pci.h): the value, zero-extended. */
	KCALL_PCI_READ,
	/* (device, offset | size << 16, value), as pci_write(). */
	KCALL_PCI_WRITE,
	/* (device, entry, core), as pci_msix_route(). */
	KCALL_MSIX_ROUTE,
	/* (): prints and counts what the IOMMU has refused to devices since the last time; the
	 * number since boot, 0 without an IOMMU. E_INVAL from a core without the control role. */
	KCALL_DMA_LOOK,
	/* (device): for tests, E_INVAL without test=1. The device's interrupts write to a word of
	 * the kernel's from now on, until they are routed again. 1: it has been written to, which
	 * an IOMMU has to prevent; 0: it has not. */
	KCALL_TEST_DMA,
	/* (enum test_panic): for tests, E_INVAL without test=1: the kernel fails; does not return. */
	KCALL_TEST_PANIC,
	/* (bytes), a multiple of 2 MiB, not 0: so much more of the control core's tables, from their
	 * start, is of the snapshot, which ends there: all cores read it from now on. Never given
	 * back. E_INVAL too from any core but the control core, or when it has less.
	 * E_NOMEM: there is no memory for the page tables. */
	KCALL_SHARE,
	/* (hash): struct boot_info.config_hash, for reports. E_INVAL from a core without the control
	 * role. */
	KCALL_CONFIG_HASH,
	/* (expression, file, line): the texts end in NUL. Reports the failed assert and restarts
	 * this core's program; does not return. */
	KCALL_ASSERT,
	/* (address): the function of the caller's that lies there has written beyond a local array.
	 * Reports that with the function's name and restarts this core's program; does not return. */
	KCALL_SMASHED,
	/* (core): that core's program is stuck: wherever it is, it is reported as failed and started
	 * anew. Nothing happens, and the result is E_OK all the same, when the core is in the kernel
	 * just then, for it is about to come back, or sleeps: who asks looks again later. The caller's
	 * own program is started anew without a report, and the call does not return. A core
	 * without the control role may ask for core 0 alone, the control core: E_AGAIN unless its
	 * program has not called the kernel for half a minute. */
	KCALL_RESTART,
};

/* Ways for the kernel to fail. */
enum test_panic {
	TEST_PANIC_FAULT,  /* a page fault */
	TEST_PANIC_STACK,  /* no stack is left: a double fault */
	TEST_PANIC_FRAME,  /* a page fault, and a frame pointer to nowhere */
	TEST_PANIC_ASSERT,
	TEST_PANIC_SMASH,  /* a local array written beyond its end */
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
