/* What private memory is taken for. */
#ifndef CONTROL_CLI_SHOW_MEMORY_H
#define CONTROL_CLI_SHOW_MEMORY_H

#include "control/console/shell.h"

/* The private memory that was taken since the note before was for this, says `show memory`; `what` is
 * constant. */
void memory_note(const char *what);
extern const char memory_later[]; /* for that which is taken while the ports run */
void show_memory(struct shell *sh);

#endif
