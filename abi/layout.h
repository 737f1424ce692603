/*
 * Layout of a core program's address space (ring 3, lower half). In a window the virtual address is
 * the physical address plus a constant, so virtual to physical is a subtraction (invariant 6), and
 * memory has the same address in every address space that maps it.
 */
#ifndef ABI_LAYOUT_H
#define ABI_LAYOUT_H

#define PROGRAM_BASE 0x400000ull          /* code, data; linked there by runtime/program.ld */
#define PROGRAM_STACK_TOP 0x7fff0000ull   /* a guard page lies below the stack */
#define PROGRAM_STACK_BYTES 0x20000ull
#define MMIO_WINDOW 0x200000000000ull     /* device registers, uncached */
#define MEMORY_WINDOW 0x400000000000ull   /* packet memory, rings, published memory */

#endif
