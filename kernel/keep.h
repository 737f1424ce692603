/*
 * The kernel's final report, kept in memory across a warm restart and printed by the next boot. It lies
 * behind the image in memory that no loader writes (linker.ld). Firmware may still overwrite it, so a
 * report is used only if its checksum is right.
 */
#ifndef KERNEL_KEEP_H
#define KERNEL_KEEP_H

#include "abi/boot_info.h"

/* Begins a report. Only the first call has an effect. */
void keep_begin(void);

/* Appends to the report; does nothing before keep_begin. A report that is full ends in a line that says
 * so. */
void keep_add(const char *text, size_t bytes);

/* Completes the report and flushes it from the caches to memory. */
void keep_end(void);

/* Prints the report of the last boot, if there is one, and invalidates it for the next boot. */
void keep_tell(void);

/* Copies the report that keep_tell has printed. The caller passes *to all zero. It stays zero if there
 * was no report, or if a report of this boot has replaced it. */
void keep_take(struct boot_before *to);

#endif
