/*
 * Names of the machine and its firmware: System Management BIOS (DMTF DSP0134, 3.7.0). For reports
 * only; nothing else depends on them.
 */
#ifndef KERNEL_SMBIOS_H
#define KERNEL_SMBIOS_H

#include "abi/hardware.h"
#include "kernel/boot.h"

/* Sets the texts of hw, and hw->firmware if the loader has not told. A missing or malformed structure
 * leaves its texts empty. After vm_init. */
void smbios_read(struct hardware *hw, const struct boot *boot);

/* Finds the texts in a structure table of `bytes` bytes (DSP0134, 6.1). The table is untrusted. */
void smbios_parse(struct hardware *hw, const uint8_t *table, uint32_t bytes);

#endif
