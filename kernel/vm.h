/*
 * Physical memory and page tables.
 *
 * Kernel half (the same tables in every address space, supervisor only):
 *     KERNEL_BASE + p   the image: text r-x, rodata r--, data rw-
 *     PHYS_BASE + p     all usable memory, rw-, 2 MiB pages; code and constants of the image r--
 *     DEVICE_BASE ...   device registers, uncached, handed out one after the other
 *     STACK_BASE ...    one slot per core: guard page, trap stack, guard page, emergency stack
 * Program half: hal/layout.h.
 *
 * Memory is only ever taken: everything is laid out before the first program starts, and a restart
 * re-uses what the core has. Only the boot module may be given back, before.
 */
#ifndef KERNEL_VM_H
#define KERNEL_VM_H

#include "lib/number.h"

struct boot;

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
	VM_TABLE = 1 << 4,  /* vm_visit only: a page table, not what it maps */
};

/* An address space: physical address of its top-level table. */
typedef uint64_t vm_space_t;

/* Memory at a physical address, for the kernel. */
static inline void *vm_phys(uint64_t phys)
{
	return (void *)(PHYS_BASE + phys);
}

#define VM_IMAGE_PHYS 0x100000ull /* linker.ld */
#define VM_LOW_PAGE 0x8000ull     /* clear of the BIOS data area and the boot sector */

/* Takes over the machine's memory from the loader's map and switches to the final tables. */
void vm_init(const struct boot *boot);

/* Its first half: the free memory is what the loader lists, less the image and the module. */
void vm_ram_init(const struct boot *boot);

/* Memory for `bytes`, in whole pages of 4 KiB and in one piece; physical address. What it holds is
 * undefined, or zero. vm_refuse(bytes, what) when there is none left. */
uint64_t vm_take_pages(uint64_t bytes, const char *what);
uint64_t vm_take_zeroed_pages(uint64_t bytes, const char *what);

/* Panics: there is no memory for so many bytes in one piece, what they are for, and where the
 * memory is. */
_Noreturn void vm_refuse(uint64_t bytes, const char *what);

/* The same in 2 MiB pages (`bytes` is a multiple), not zeroed, from the top of memory; 0 when there
 * is none left. */
uint64_t vm_take_huge_pages(uint64_t bytes);

/* The free memory as it is, and as it was at the mark: what was taken since is free again. */
void vm_ram_mark(void);
void vm_ram_rewind(void);

/* The boot module is free memory from now on. */
void vm_ram_give_module(const struct boot *boot);

/* The most bytes, in 2 MiB pages and no more than `most`, that vm_take_huge_pages can give so many
 * times (pieces >= 1); 0: not even one page each. */
uint64_t vm_huge_share(unsigned pieces, uint64_t most);

/* A page below 1 MiB for the start of the other cores. Panics when that is not usable. */
uint64_t vm_low_page(void);

uint64_t vm_total(void); /* usable bytes in the machine */
uint64_t vm_taken(void); /* bytes handed out, and the image */
uint64_t vm_free(void);  /* bytes not handed out, in however many pieces */
uint64_t vm_image_bytes(void);

/* Maps device registers for the kernel, uncached. */
void *vm_map_device(uint64_t phys, uint64_t bytes);

/* Maps the stacks of `core`, with guard pages around them. */
void vm_map_stack(unsigned core);

/* A new address space whose kernel half is complete and whose program half is empty. */
vm_space_t vm_space_new(void);

/* Maps [virt, virt+bytes) to phys in `space`; all multiples of 4 KiB; 2 MiB pages where both
 * addresses allow; `flags` of enum vm_flags. No TLB is told, so nobody may have used what was
 * mapped there before. */
void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags);

/* Bytes of tables that vm_map would make for [virt, virt+bytes), which begins and ends with a page of
 * 2 MiB, as does what it is mapped to. */
uint64_t vm_tables_missing(vm_space_t space, uint64_t virt, uint64_t bytes);

/* Bytes of tables that vm_map makes for [virt, virt+bytes), at most, where phys lies in its 2 MiB
 * as virt does: below the top-level table for each 512 GiB and each GiB that it touches, and for
 * the ends that are not whole 2 MiB pages. */
static inline uint64_t vm_tables_bytes(uint64_t virt, uint64_t bytes)
{
	uint64_t last = virt + bytes - 1, part = HUGE_BYTES - 1;
	if (bytes == 0)
		return 0;
	uint64_t ends = ((virt & part) != 0) + (((last + 1) & part) != 0);
	if (ends == 2 && virt / HUGE_BYTES == last / HUGE_BYTES)
		ends = 1;
	return ((last >> 39) - (virt >> 39) + 1 + (last >> 30) - (virt >> 30) + 1 + ends) * PAGE_BYTES;
}

/* The same for all the memory there is, in 2 MiB pages. */
uint64_t vm_ram_tables_bytes(void);

/* What vm_visit shows: pages that follow each other in both kinds of address and have the same
 * rights, as the CPU sees them (all levels taken together). */
struct vm_piece {
	uint64_t virt, phys, bytes;
	unsigned flags; /* enum vm_flags; VM_TABLE: virt is where its reach begins */
};

/* Calls piece() for all that is mapped in `space`, both halves, and for each page table. */
void vm_visit(vm_space_t space, void (*piece)(void *arg, const struct vm_piece *p), void *arg);

/* Copies what ring 3 may read at virt in `space`, device registers excepted; false, with nothing
 * promised about dst, when it may not read any byte of it. */
bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes);

#endif
