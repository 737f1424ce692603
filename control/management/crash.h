/* Reports of programs that failed. */
#ifndef CONTROL_MANAGEMENT_CRASH_H
#define CONTROL_MANAGEMENT_CRASH_H

#include "control/console/shell.h"

/* Keeps the reports in the store ("crash/last") for the next boot: those of this boot and, if the kernel has failed,
 * of the one before. Returns core_now_ns() of the next call. */
uint64_t crash_timer(void);

/* The console's `show crash`. */
void show_crash(struct shell *sh);

#endif
