/*
 * Physical memory and page tables.
 *
 * Kernel half (the same tables in every address space, supervisor only):
 *     KERNEL_BASE + p   the image: text r-x, rodata r--, data rw-
 *     PHYS_BASE + p     all usable memory, rw-, 2 MiB pages
 *     DEVICE_BASE ...   device registers, uncached, handed out one after the other
 *     STACK_BASE ...    one slot per core: guard page, trap stack, guard page, emergency stack
 * Program half: hal/layout.h.
 *
 * Memory is only ever taken, never given back: everything is laid out before the first program
 * starts, and a restart re-uses what the core has.
 */
#ifndef KERNEL_VM_H
#define KERNEL_VM_H

#include "kernel/boot.h"
#include "lib/types.h"

#define KERNEL_BASE 0xffffffff80000000ull
#define PHYS_BASE 0xffff800000000000ull
#define DEVICE_BASE 0xffff900000000000ull
#define STACK_BASE 0xffffa00000000000ull

#define PAGE_BYTES 4096ull
#define HUGE_BYTES 0x200000ull

/* A core's stack slot, from its start: guard, trap stack, guard, emergency stack. */
#define STACK_SLOT 0x10000ull
#define STACK_TRAP_TOP 0x9000ull
#define STACK_TRAP_BYTES 0x8000ull
#define STACK_EMERGENCY_TOP 0xd000ull
#define STACK_EMERGENCY_BYTES 0x3000ull

enum vm_flags {
	VM_WRITE = 1 << 0,
	VM_EXEC = 1 << 1,
	VM_USER = 1 << 2,
	VM_DEVICE = 1 << 3, /* uncached */
};

/* An address space: physical address of its top-level table. */
typedef uint64_t vm_space_t;

/* Memory at a physical address, for the kernel. */
static inline void *vm_phys(uint64_t phys)
{
	return (void *)(PHYS_BASE + phys);
}

/* Takes over the machine's memory from the loader's map and switches to the final tables. */
void vm_init(const struct boot *boot);

/* Pages (4 KiB) of memory, zeroed when `zero`; physical address. Panics when there is none left. */
uint64_t vm_take_pages(size_t pages, bool zero);

/* 2 MiB pages in one piece, not zeroed, from the top of memory; 0 when there is none left. */
uint64_t vm_take_huge(size_t count);

/* A page below 1 MiB for the start of the other cores. */
uint64_t vm_low_page(void);

uint64_t vm_total(void); /* usable bytes in the machine */
uint64_t vm_taken(void); /* bytes handed out, and the image */

/* Maps device registers for the kernel, uncached. */
void *vm_map_device(uint64_t phys, uint64_t bytes);

/* Maps the stacks of `core`, with guard pages around them. */
void vm_map_stack(unsigned core);

/* A new address space whose kernel half is complete and whose program half is empty. */
vm_space_t vm_space_new(void);

/* Maps [virt, virt+bytes) to phys in `space`; all multiples of 4 KiB; 2 MiB pages where both
 * addresses allow. What was mapped there is replaced. */
void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags);

/* Physical address behind virt as ring 3 may read it in `space`; false when it may not. */
bool vm_user_to_phys(vm_space_t space, uint64_t virt, uint64_t *phys);

/* Copies from ring-3 memory; false, with nothing promised about dst, when any byte is not readable. */
bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes);

#endif
