/* The commands of the console. */
#ifndef CONTROL_CLI_COMMANDS_H
#define CONTROL_CLI_COMMANDS_H

#include "control/console/shell.h"

/* Adds the commands of tests, in a table that stays where it is. */
void commands_add_tests(const struct shell_command *row, unsigned count);

/* All commands: ours, and, once it is known, those of the application. */
const struct shell_command *commands_all(unsigned *count);

#endif
