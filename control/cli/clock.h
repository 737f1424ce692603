/* `show clock` and `clock set`. */
#ifndef CONTROL_CLI_CLOCK_H
#define CONTROL_CLI_CLOCK_H

#include "control/console/shell.h"

void show_clock(struct shell *sh);
void clock_set_command(struct shell *sh);

#endif
