/*
 * The calls of a core program to the kernel. The program calls kcall() below; kcall_serve()
 * (kernel/kcall.c) serves the call. All calls are cold: the data path makes none.
 *
 * A call is a breakpoint exception. int3 is the one trap that software-virtualised hosts deliver from
 * ring 3 as well (ARCHITECTURE.md, Kernel). Only kcall() contains the instruction. RAX is the call,
 * RDI RSI RDX are its arguments, RAX the result. All other registers keep their values, including
 * vector registers, and the program's stack is not touched.
 *
 * Rules of all calls
 * 1. Any core may make any call, unless the row says otherwise.
 * 2. The result is 0 or a negative enum error, unless the row says otherwise. An unknown call number
 *    or an argument out of range gives E_INVAL and changes nothing.
 * 3. A text, or code, is passed by its address in the caller's own address space. The kernel reads only
 *    memory that ring 3 may read, keeps no pointer after the call, and writes through none.
 * 4. Only KCALL_SLEEP waits for an event. Interrupts are off during all others.
 *
 * To add a call: a row here; its case in kcall_serve(), which treats the arguments as untrusted and
 * checks all of them before it acts; an answer in tests/host/harness.c, where programs run without a
 * kernel. Numbers may change: kernel and programs are one image. More than three arguments are packed, as in
 * KCALL_PCI_WRITE.
 */
#ifndef ABI_KCALL_H
#define ABI_KCALL_H

#include "lib/types.h"

#define TEST_DMA_MESSAGE (1ull << 32)
#define DMA_ALL UINT64_MAX
#define KCALL_LEND_UNIT (2ull << 20)

enum kcall {
	/* (text, bytes): prints the bytes on the console unchanged, at the speed of the serial
	 * line. E_INVAL at the first byte that cannot be read; the chunks before it have been
	 * printed. */
	KCALL_LOG,
	/* (): the next byte typed, 0 to 255; E_AGAIN if there is none. */
	KCALL_CONSOLE_READ,
	/* (tsc): halts until an interrupt from a NIC, the serial line or KCALL_WAKE, or until the
	 * TSC has passed `tsc`; 0: no time limit. An interrupt that arrived before the call counts.
	 * May return early. */
	KCALL_SLEEP,
	/* (core): ends that core's sleep, or its next one if it is awake. */
	KCALL_WAKE,
	/* (code): ends the machine (docs/command-line.md, exit codes); does not return. */
	KCALL_EXIT,
	/* (): restarts the machine; does not return. */
	KCALL_REBOOT,
	/* (device, offset, size): the value, zero-extended. device is struct pci_dev.index; offset
	 * and size are as in pci_read() (abi/pci.h). */
	KCALL_PCI_READ,
	/* (device, offset | size << 16, value), as pci_write(). */
	KCALL_PCI_WRITE,
	/* (device, entry, core), as pci_msix_route(). */
	KCALL_MSIX_ROUTE,
	/* (): prints and counts the accesses that the IOMMU has refused since the last call.
	 * Returns the number since boot, 0 without an IOMMU. E_INVAL from a core without the
	 * control role. */
	KCALL_DMA_LOOK,
	/* (device, at, bytes): from now on only this device reaches that memory of the core's arena; DMA_ALL:
	 * all devices do. A number that is no device's: none does. Whole 2 MiB pages. E_INVAL: it is not in the
	 * arena. E_NOTSUP: there is no IOMMU, or it has one map for all devices. E_DEVICE: it does not
	 * answer, and devices may still reach what they reached before.
	 * A disk reaches nothing at first. For a disk, the memory is in the control core's tables: that disk reaches
	 * it besides what it has been given before, and no network card does. */
	KCALL_DMA_RESERVE,
	/* (): counts errors that PCI functions report (abi/hardware.h), and prints the first of each. Returns
	 * the number since boot. E_INVAL from a core without the control role. */
	KCALL_PCI_ERRORS,
	/* (device, region): for tests, E_INVAL without test=1. The device's interrupts write to a word of
	 * kernel memory from now on, until they are routed again; or, if `region` is the index of a region,
	 * to its last word. Returns 1 if the word has been written, which an IOMMU must prevent, else 0. With
	 * TEST_DMA_MESSAGE + n they use entry n of the interrupt remapping table instead; returns 0. With an
	 * address in an arena they write there, and the result says so. */
	KCALL_TEST_DMA,
	/* (enum test_panic): for tests, E_INVAL without test=1: the kernel fails; does not return.
	 */
	KCALL_TEST_PANIC,
	/* (bytes): moves that much memory from the start of the control core's tables to the end of
	 * the published memory, which all cores read. A multiple of 2 MiB, not 0. The move is
	 * permanent. E_INVAL also from a core other than the control core, or if the tables are not
	 * larger than that. E_NOMEM: there is no memory for the page tables. */
	KCALL_SHARE,
	/* (at, bytes, enum region_kind): gives that memory of the control core's tables away, as struct
	 * region says; of REGION_OWN `bytes` are for each data core. Both are multiples of 2 MiB, not
	 * 0. Code is filled with int3; other contents stay. Permanent. E_INVAL also from a core without
	 * the control role, or if the memory is not all in the tables, or in a region already. E_NOMEM:
	 * there are REGIONS_MAX regions, the code window is full, or there is no memory for page tables.
	 * E_DEVICE: an IOMMU does not answer. */
	KCALL_REGION,
	/* (to, owner + bytes, at): core `to` may write that memory of the arena of core `owner`, and no other
	 * part of another core's arena; bytes 0: no part at all. Whole pages of KCALL_LEND_UNIT. `to` does not
	 * use what it loses. E_INVAL also from a core without the control role, or unless both are different
	 * cores with the data role alone. E_NOMEM: there is no memory for page tables. */
	KCALL_LEND,
	/* (offset, from, bytes): copies code into the regions of REGION_CODE, `offset` bytes behind
	 * CODE_WINDOW; from 0: fills with int3. E_INVAL from a core without the control role, or beyond the
	 * regions, or if `from` cannot be read; then nothing has changed. */
	KCALL_CODE_WRITE,
	/* (hash): sets struct boot_info.config_hash, for reports. E_INVAL from a core without the
	 * control role. */
	KCALL_CONFIG_HASH,
	/* (expression, file, line): the texts end in NUL. Reports the failed assert and restarts
	 * this core's program; does not return. */
	KCALL_ASSERT,
	/* (address): the caller's function at this address has written beyond a local array.
	 * Reports the overflow with the function's name and restarts this core's program; does not
	 * return. */
	KCALL_SMASHED,
	/* (core): that core's program is stuck; it is reported as failed and restarted. If the core
	 * is in the kernel at that moment, about to return or asleep, nothing happens and the
	 * result is still E_OK: the caller checks again later. The caller's own program is
	 * restarted without a report, and the call does not return. A core without the control role
	 * may name only core 0, the control core; E_AGAIN unless its program has not called the
	 * kernel for 30 seconds. */
	KCALL_RESTART,
};

/* Kinds of kernel failure for KCALL_TEST_PANIC. */
enum test_panic {
	TEST_PANIC_FAULT,  /* a page fault */
	TEST_PANIC_STACK,  /* stack exhausted: a double fault */
	TEST_PANIC_FRAME,  /* a page fault with an invalid frame pointer */
	TEST_PANIC_ASSERT,
	TEST_PANIC_SMASH,  /* a write beyond the end of a local array */
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
