/* The loader's information, in one form for both loaders. */
#ifndef KERNEL_BOOT_H
#define KERNEL_BOOT_H

#include "abi/boot_info.h"
#include "lib/types.h"

#define BOOT_RANGES_MAX 64

enum boot_loader { BOOT_PVH = 1, BOOT_MULTIBOOT2 = 2 }; /* as in boot/entry.asm */

struct boot_range {
	uint64_t start, end; /* physical, [start, end) */
};

struct boot_framebuffer {
	uint64_t addr; /* physical; 0: none */
	uint32_t pitch, width, height;
	uint8_t bits;
	uint8_t red_shift, green_shift, blue_shift;
};

struct boot {
	struct boot_range ram[BOOT_RANGES_MAX]; /* usable, as the firmware lists it */
	unsigned ram_count;
	struct boot_range reserved[BOOT_RANGES_MAX]; /* all that the firmware lists as anything else */
	unsigned reserved_count;
	bool reserved_lost; /* there are more */
	struct boot_range module; /* the first module: the configuration file; empty: none */
	uint64_t rsdp;            /* physical address of the ACPI root pointer; 0: search for it */
	struct boot_framebuffer fb;
	bool uefi;           /* the loader says that the firmware is UEFI */
	uint64_t efi_system; /* its system table, of the 64-bit form; 0: not known */
	char loader[32];
	char cmdline[BOOT_CMDLINE_MAX];
};

/* Reads the loader's information at physical address `info`. Panics if it is missing. The caller
 * passes `boot` zeroed. */
void boot_parse(struct boot *boot, enum boot_loader loader, uint64_t info);

/* True if any of [start, end) is memory, by the loader's map. */
bool boot_has_ram(const struct boot *boot, uint64_t start, uint64_t end);

#endif
