/*
 * Physical memory and page tables.
 *
 * Kernel half (the same tables in every address space, supervisor only):
 *     KERNEL_BASE + p   the image: text r-x, rodata r--, data rw-
 *     PHYS_BASE + p     all usable memory, rw-, 2 MiB pages; code and constants of the image r--
 *     DEVICE_BASE ...   device registers, uncached, allocated in sequence
 *     STACK_BASE ...    one slot per core: guard page, trap stack, guard page, emergency stack
 * Program half: abi/layout.h.
 *
 * Memory is never freed. All of it is allocated before the first program starts, and a restarted
 * program reuses its core's memory. Only the boot module may be released, before that. Later the
 * control core's tables may pass to other uses (KCALL_SHARE, KCALL_REGION).
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
	VM_DEVICE = 1 << 3,  /* uncached */
	VM_TABLE = 1 << 4,   /* vm_visit only: a page table itself */
	VM_COMBINE = 1 << 5, /* uncached, writes combined */
};

/* An address space: physical address of its top-level table. */
typedef uint64_t vm_space_t;

/* The kernel's pointer to a physical address. */
static inline void *vm_phys(uint64_t phys)
{
	return (void *)(PHYS_BASE + phys);
}

#define VM_IMAGE_PHYS 0x100000ull /* linker.ld */
#define VM_LOW_PAGE 0x8000ull     /* preferred by vm_low_page: clear of the BIOS data area and the boot sector */

/* Takes over the machine's memory by the loader's map and switches to the final tables. */
void vm_init(const struct boot *boot);

/* The first part of vm_init: the free memory is what the loader lists, without the image and the
 * module. */
void vm_ram_init(const struct boot *boot);

/* Takes `bytes` of contiguous memory, in whole 4 KiB pages; returns the physical address. The contents
 * are undefined, or zero. If no such piece is left, calls vm_refuse(bytes, what). */
uint64_t vm_take_pages(uint64_t bytes, const char *what);
uint64_t vm_take_zeroed_pages(uint64_t bytes, const char *what);

/* Panics because there is no contiguous memory of `bytes` for the purpose `what`; the message says how
 * the memory is used. */
_Noreturn void vm_refuse(uint64_t bytes, const char *what);

/* Takes contiguous 2 MiB pages (`bytes` is a multiple), not zeroed, from the top of memory; 0 if none
 * are left. */
uint64_t vm_take_huge_pages(uint64_t bytes);

/* The same on a NUMA node, or on the nearest one that has them. */
uint64_t vm_take_huge_pages_near(uint64_t bytes, unsigned node);

/* vm_take_pages on a NUMA node, or anywhere if it has none left. */
uint64_t vm_take_pages_near(uint64_t bytes, unsigned node, const char *what);

/* Divides the free ranges at the borders of NUMA nodes. Before that all memory counts as one node's. */
void vm_ram_learn_nodes(void);

/* Save the state of free memory, and restore it: memory taken since the mark is free again. */
void vm_ram_mark(void);
void vm_ram_rewind(void);

/* Adds the boot module's memory to the free memory. */
void vm_ram_give_module(const struct boot *boot);

/* The largest size, in 2 MiB pages and at most `most` bytes, that vm_take_huge_pages can give `pieces`
 * times (pieces >= 1); 0: not even one page each. */
uint64_t vm_huge_share(unsigned pieces, uint64_t most);

/* The same for vm_take_huge_pages_near on this node, without others. */
uint64_t vm_huge_share_on(unsigned node, unsigned pieces, uint64_t most);

/* A page of memory below 640 KiB for the start of the other cores, clear of the boot module; 0: there is none. */
uint64_t vm_low_page(void);

uint64_t vm_node_bytes(unsigned node); /* usable bytes of a NUMA node */
uint64_t vm_total(void); /* usable bytes in the machine */
uint64_t vm_taken(void); /* bytes taken, including the image */
uint64_t vm_free(void);  /* bytes not taken, in any number of pieces */
uint64_t vm_image_bytes(void);

/* Maps device registers for the kernel, uncached. */
void *vm_map_device(uint64_t phys, uint64_t bytes);

/* Maps firmware's tables above 4 GiB for the kernel, cached and read-only. Below, vm_phys reads them. */
const void *vm_map_firmware(uint64_t phys, uint64_t bytes);

/* Maps a framebuffer for the kernel: its writes may be combined, and its reads are slow. */
void *vm_map_framebuffer(uint64_t phys, uint64_t bytes);

/* Maps the stacks of `core`, with guard pages around them. */
void vm_map_stack(unsigned core);

/* A new address space whose kernel half is complete and whose program half is empty. */
vm_space_t vm_space_new(void);

/* Maps [virt, virt+bytes) to phys in `space`; all are multiples of 4 KiB. Uses 2 MiB pages where both
 * addresses allow; `flags` as in enum vm_flags. No TLB is invalidated, so no core may have used an
 * earlier mapping of these addresses. */
void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags);

/* Changes the rights of 2 MiB pages that are mapped, or with VM_NOTHING unmaps them; this core forgets
 * their translations at once, others whenever they load CR3. */
#define VM_NOTHING UINT32_MAX
void vm_change(vm_space_t space, uint64_t virt, uint64_t bytes, unsigned flags);

/* The kernel's own map of memory: makes whole 2 MiB pages read-only, or writable. Without a program's map
 * nothing else maps them. */
void vm_seal(uint64_t phys, uint64_t bytes);
void vm_unseal(uint64_t phys, uint64_t bytes);

/* Bytes of page tables that vm_map would create for [virt, virt+bytes). The range and its physical
 * memory are whole 2 MiB pages. */
uint64_t vm_tables_missing(vm_space_t space, uint64_t virt, uint64_t bytes);

/* Upper bound of the bytes of page tables that vm_map creates for [virt, virt+bytes), if virt and phys
 * are equal modulo 2 MiB: a table for each 512 GiB and each GiB that the range touches, and one for
 * each end that is not on a 2 MiB boundary. */
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

/* vm_tables_bytes of all memory of the machine, in 2 MiB pages. */
uint64_t vm_ram_tables_bytes(void);

/* Pages that are contiguous in virtual and physical addresses and have the same effective rights, all
 * levels combined. */
struct vm_piece {
	uint64_t virt, phys, bytes;
	unsigned flags; /* enum vm_flags; VM_TABLE: virt is the first address the table covers */
};

/* Calls piece() for everything mapped in `space`, both halves, and for each page table. */
void vm_visit(vm_space_t space, void (*piece)(void *arg, const struct vm_piece *p), void *arg);

/* True if vm_copy_from_user would succeed. */
bool vm_user_may_read(vm_space_t space, uint64_t virt, size_t bytes);

/* Copies memory at virt in `space`. False if ring 3 may not read all of it, or if it is a device's
 * registers; dst is then undefined. */
bool vm_copy_from_user(vm_space_t space, void *dst, uint64_t virt, size_t bytes);

#endif
