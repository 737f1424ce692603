/*
 * Machine checks: the CPU's reports of errors in itself, in memory or on a bus (Intel SDM vol. 3B,
 * chapter 15). Each ends the machine, because the extent of the damage is unknown. Corrected errors
 * raise no machine check and are not polled. Errors that a bank still holds at boot are printed.
 */
#ifndef KERNEL_MCE_H
#define KERNEL_MCE_H

#include "lib/fmt.h"
#include "lib/types.h"

#define MCE_TEXT_MAX 160

/* Enables machine checks for the calling core, and prints what its banks hold from before. Does nothing
 * unless CPUID has both MCE and MCA. */
void mce_init(void);

/* Records the banks of the calling core. Each core with a machine check calls this before one of them
 * ends the machine. Waits 10 ms for the other cores. */
void mce_note(void);

/* Prints the recorded banks line by line. */
void mce_say(void (*say)(const char *format, ...));

/* A bank's status as text (15.3.2.2, 15.9), at most MCE_TEXT_MAX bytes including the NUL. */
void mce_describe(char text[MCE_TEXT_MAX], uint64_t status);

#endif
