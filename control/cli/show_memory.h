/* `show memory`, and notes of what private memory is used for. */
#ifndef CONTROL_CLI_SHOW_MEMORY_H
#define CONTROL_CLI_SHOW_MEMORY_H

#include "control/console/shell.h"

/* Notes that the private memory allocated since the previous note is for `what`, a constant string
 * that is identified by its address. */
void memory_note(const char *what);
extern const char memory_later[]; /* for what is allocated while the ports run */
void show_memory(struct shell *sh);

#endif
