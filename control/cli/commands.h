/* The commands of the console. */
#ifndef CONTROL_CLI_COMMANDS_H
#define CONTROL_CLI_COMMANDS_H

#include "control/console/shell.h"

/* Adds the commands for tests. The table must stay valid. */
void commands_add_tests(const struct shell_command *row, unsigned count);

/* All commands: the console's own, those for tests, and the application's once it is known. */
const struct shell_command *commands_all(unsigned *count);

/* Ends the machine when a command's time for that has come. Returns core_now_ns() of the next call,
 * UINT64_MAX for none. */
uint64_t commands_timer(void);

#endif
