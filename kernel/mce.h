/*
 * Machine checks: what the CPU says of an error of its own, of memory or of a bus (Intel SDM vol.
 * 3B, chapter 15). Each ends the machine, for what it broke is not known; corrected errors raise
 * none and are not looked for, but those that a bank still holds at boot are told.
 */
#ifndef KERNEL_MCE_H
#define KERNEL_MCE_H

#include "lib/fmt.h"
#include "lib/types.h"

#define MCE_TEXT_MAX 160

/* Turns machine checks on for the core that calls, and tells of what its banks hold from before.
 * Nothing where CPUID has neither MCE nor MCA. */
void mce_init(void);

/* Notes the banks of the core that calls; of several that have a machine check each does, before
 * one of them ends the machine. Waits some milliseconds for the others. */
void mce_note(void);

/* Says line by line what was noted. */
void mce_say(void (*say)(const char *format, ...));

/* A bank's status in words (15.3.2.2, 15.9), MCE_TEXT_MAX bytes at most with the NUL. */
void mce_describe(char text[MCE_TEXT_MAX], uint64_t status);

#endif
