/*
 * The kernel's last words, kept in memory over a warm restart: the report of what ended the machine
 * is told by the next boot. Memory that no loader writes lies behind the image (linker.ld); whether
 * it survives is the firmware's business, so what is found there is believed only whole.
 */
#ifndef KERNEL_KEEP_H
#define KERNEL_KEEP_H

#include "hal/boot_info.h"

/* Begins a report; once, later calls change nothing. */
void keep_begin(void);

/* Adds to it; without keep_begin nothing is done. What it has no room for is left out, and it says so at
 * its end. */
void keep_add(const char *text, size_t bytes);

/* It is complete, and in memory, not in a cache. */
void keep_end(void);

/* Prints the report of the last boot, if there is one, and forgets it: the next boot does not tell it. */
void keep_tell(void);

/* Copies what keep_tell has printed; *to is all zero before, and stays so if there was none, or if a
 * report of this boot has been begun in its place. */
void keep_take(struct boot_before *to);

#endif
