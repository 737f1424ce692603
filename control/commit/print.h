/* The running configuration as text in memory, for the store. */
#ifndef CONTROL_COMMIT_PRINT_H
#define CONTROL_COMMIT_PRINT_H

#include "lib/types.h"

/* Returns the bytes of the text; 0: it is longer than `room`. */
size_t print_running(char *to, size_t room);

#endif
