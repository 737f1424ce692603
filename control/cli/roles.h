/* The role that each command of the console needs (control/text/role.h, docs/console.md). */
#ifndef CONTROL_CLI_ROLES_H
#define CONTROL_CLI_ROLES_H

#include "control/console/shell.h"
#include "control/text/role.h"

/* ROLE_NONE: no rule names the command; it then needs ROLE_CONFIGURE. */
enum role roles_stated(const struct shell_command *c);

/* For shell_set_guard: may the shell's user run the command? Prints why not. */
bool roles_allow(struct shell *sh, const struct shell_command *c);

/* Prints the role of every command that can be typed outside the configuration mode. */
void roles_print(struct shell *sh);

#endif
