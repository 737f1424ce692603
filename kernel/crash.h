/*
 * Reports of failed programs, kept where all programs can read them (struct crash, abi/boot_info.h),
 * because console output may have been missed. The first report is kept, as the likely cause, and the
 * last CRASHES_MAX - 1.
 */
#ifndef KERNEL_CRASH_H
#define KERNEL_CRASH_H

#include "abi/boot_info.h"

/* Begins a report of this core and returns its slot. NULL: another core is writing in that slot, and
 * this report is not kept. */
struct crash *crash_begin(unsigned core);

/* Appends to the report. A report that is full ends in a line that says so. k may be NULL. */
void crash_add(struct crash *k, const char *text, size_t bytes);

/* Completes the report and publishes it to readers. k may be NULL. */
void crash_end(struct crash *k);

#endif
