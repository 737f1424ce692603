/*
 * The configuration mode of a console. The prompt is `NAME(config)# `, inside an interface block
 * `NAME(config-if)# `, in an access list `NAME(config-acl)# `. The statements of a configuration
 * file are commands, with or without `no` before them. They change the candidate, which all
 * consoles share; `commit` puts it into force (control/commit/commit.h).
 */
#ifndef CONTROL_CLI_CONFIGURE_H
#define CONTROL_CLI_CONFIGURE_H

#include "control/console/shell.h"
#include "control/management/remote.h"

/* Gives the shell the commands of the mode that it is in. */
void commands_set(struct shell *sh);

/* Hooks for sessions over the network. A session that leaves a changed candidate is logged on the
 * serial console. */
extern const struct remote_console configure_console;

/* Is the row one of the mode alone, not one of commands_all()? */
bool configure_is_own(const struct shell_command *c);

/* Commands outside the mode. */
void configure(struct shell *sh);
void show_candidate(struct shell *sh);
void show_compare(struct shell *sh);
void show_history(struct shell *sh);

/* Prints a piece of a configuration; ctx is the shell. Unprintable bytes of a script become
 * blanks. */
void configure_print(void *ctx, const char *text, size_t len);

#endif
