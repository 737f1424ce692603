/*
 * The kernel's guard word: it stands behind local arrays, and a function in which it has changed
 * panics instead of returning (GUARD in the Makefile). Core programs have their own (core/start.c).
 */
#ifndef KERNEL_GUARD_H
#define KERNEL_GUARD_H

#include "lib/types.h"

extern uintptr_t __stack_chk_guard;

/* A word that nobody outside can know, another one at each boot; its lowest byte is 0, so that no
 * string's end is copied over it. Who writes it to __stack_chk_guard may never return. */
uintptr_t guard_make(void);

#endif
