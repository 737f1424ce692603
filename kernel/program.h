/* The core program (ring 3): one ELF image, one instance per core. */
#ifndef KERNEL_PROGRAM_H
#define KERNEL_PROGRAM_H

#include "kernel/core.h"

/* Checks the program image in the kernel; panics if it is damaged. Boot core, once. */
void program_init(void);

/* Maps the program into the core's address space: shared code; data, bss and stack of its own. */
void program_map(struct core *c);

/* Address of boot_info in the programs' address spaces. */
uint64_t program_boot_info(void);

/* Restores pristine data and bss, and enters the program at its start. */
_Noreturn void program_run(struct core *c);

/* Address of a global of the program; 0 if no symbol has that name. */
uint64_t program_symbol(const char *name);

/* Name of the function that holds `addr`, with the distance from its start; NULL: unknown. */
const char *program_function(uint64_t addr, uint64_t *offset);

/* The same for the kernel's own functions (kernel/symbols.c). */
const char *kernel_function(uint64_t addr, uint64_t *offset);

/*
 * Name of the function, of program or kernel, that an address of a backtrace belongs to, with the
 * distance from its start; NULL: unknown. With `returns`, addr is a return address, and the byte before
 * it is looked up: if the called function never returns, the call may be the last instruction of its
 * function, and addr the start of the next one.
 */
const char *function_of(uint64_t addr, bool returns, uint64_t *offset);

/* The build id of the image, hexadecimal digits (tools/symbols.awk). */
extern const char kernel_build_id[];

#endif
