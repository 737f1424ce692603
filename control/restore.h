/* A new control program takes over the neighbours of the previous one. */
#ifndef CONTROL_RESTORE_H
#define CONTROL_RESTORE_H

#include "lib/types.h"

/* control_hooks.restore. */
bool restore_tables(const void *old, size_t bytes);

#endif
