/* The core program (ring 3): one ELF image, one instance per core. */
#ifndef KERNEL_PROGRAM_H
#define KERNEL_PROGRAM_H

#include "kernel/core.h"

/* Checks the program image carried in the kernel. Boot core, once. */
void program_init(void);

/* Maps the program into the core's address space: shared code, its own data, bss and stack. */
void program_map(struct core *c);

/* Where the programs see boot_info. */
uint64_t program_boot_info(void);

/* Restores pristine data and bss, and enters the program at its start. */
_Noreturn void program_run(struct core *c);

/* Address of a global of the program, 0 when there is none of that name. */
uint64_t program_symbol(const char *name);

/* Name of the function that holds `addr`, with the distance from its start; NULL: unknown. */
const char *program_function(uint64_t addr, uint64_t *offset);

/* The same for the kernel's own functions (kernel/symbols.c). */
const char *kernel_function(uint64_t addr, uint64_t *offset);

/*
 * The function, of either, that an address of a backtrace belongs to, with the distance of addr from
 * its start; NULL: unknown. An address that a call `returns` to is looked up by the byte before it:
 * where the function called does not return, the call may be the last instruction of its function,
 * and the address that of the next function.
 */
const char *function_of(uint64_t addr, bool returns, uint64_t *offset);

/* The build id of the image, hexadecimal digits (tools/symbols.awk). */
extern const char kernel_build_id[];

#endif
