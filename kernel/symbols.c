/*
 * Names of the kernel's functions. The table is generated from the first link of the kernel and placed
 * in .symbols for the second (see the Makefile): entries sorted by address, then names. The code of XDP
 * programs has no names here.
 */
#include "abi/layout.h"
#include "kernel/program.h"

struct symbol {
	uint64_t addr;
	uint64_t name; /* offset from kernel_symbol_names */
};

extern const struct symbol kernel_symbols[];
extern const uint64_t kernel_symbol_count;
extern const char kernel_symbol_names[];
extern const char kernel_text[], kernel_rodata[];

const char *kernel_function(uint64_t addr, uint64_t *offset)
{
	const struct symbol *best = NULL;
	if (addr < (uint64_t)kernel_text || addr >= (uint64_t)kernel_rodata)
		return NULL;
	for (uint64_t i = 0; i < kernel_symbol_count && kernel_symbols[i].addr <= addr; i++)
		best = &kernel_symbols[i];
	if (!best)
		return NULL;
	*offset = addr - best->addr;
	return kernel_symbol_names + best->name;
}

const char *function_of(uint64_t addr, bool returns, uint64_t *offset)
{
	if (CODE_WINDOW_HAS(addr - returns)) { /* the control core knows which program that is */
		*offset = addr - CODE_WINDOW;
		return "xdp code";
	}
	const char *name = program_function(addr - returns, offset);
	if (!name)
		name = kernel_function(addr - returns, offset);
	if (name)
		*offset += returns;
	return name;
}
