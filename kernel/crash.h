/*
 * Reports of failed programs, kept where all programs can read them (struct crash, hal/boot_info.h):
 * a console that nobody watched has lost them. The first is kept, for it tells what began, and the
 * last CRASHES_MAX - 1.
 */
#ifndef KERNEL_CRASH_H
#define KERNEL_CRASH_H

#include "hal/boot_info.h"

/* The place for the report of this core, which is about to be written; NULL: another core is just
 * writing there, and this report is not kept. */
struct crash *crash_begin(unsigned core);

/* Adds to the report; what it has no room for is left out, and it says so at its end. k
 * may be NULL. */
void crash_add(struct crash *k, const char *text, size_t bytes);

/* It is complete, and readers may have it. */
void crash_end(struct crash *k);

#endif
