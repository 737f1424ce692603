/*
 * The kernel's guard word. Compiler code stores it behind local arrays. If it has changed when the
 * function ends, the function panics instead of returning (GUARD in the Makefile). Core programs have
 * guard words of their own (runtime/start.c).
 */
#ifndef KERNEL_GUARD_H
#define KERNEL_GUARD_H

#include "lib/types.h"

extern uintptr_t __stack_chk_guard;

/* A secret word, new at each boot. Its lowest byte is 0, so an overflow by a string copy cannot
 * reproduce it. The function that stores it in __stack_chk_guard must never return. */
uintptr_t guard_make(void);

#endif
