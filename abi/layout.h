/*
 * Layout of a core program's address space (ring 3, lower half). In MEMORY_WINDOW the virtual address is
 * the physical address plus a constant, so virtual to physical is a subtraction (invariant 6). Memory and device
 * registers have the same address in every address space that maps them.
 */
#ifndef ABI_LAYOUT_H
#define ABI_LAYOUT_H

#define PROGRAM_BASE 0x400000ull          /* code, data; linked there by runtime/program.ld */
#define PROGRAM_STACK_TOP 0x7fff0000ull   /* a guard page lies below the stack */
#define PROGRAM_STACK_BYTES 0x20000ull
/* Compiled XDP programs. It lies in the same GiB as the stack, which saves a page table, and within 2 GiB of
 * PROGRAM_BASE, so that 32-bit displacements reach the program from here. The image's program ends below. */
#define CODE_WINDOW 0x70000000ull
#define CODE_WINDOW_BYTES 0x4000000ull
#define CODE_WINDOW_HAS(address) ((uint64_t)(address) - CODE_WINDOW < CODE_WINDOW_BYTES)
#define MMIO_WINDOW 0x200000000000ull     /* device registers, uncached, one BAR behind the other */
#define MEMORY_WINDOW 0x400000000000ull   /* packet memory, rings, published memory */

#endif
