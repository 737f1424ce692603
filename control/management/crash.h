/* Reports of programs that failed. */
#ifndef CONTROL_MANAGEMENT_CRASH_H
#define CONTROL_MANAGEMENT_CRASH_H

#include "control/console/shell.h"

/* The console's `show crash`. */
void show_crash(struct shell *sh);

#endif
