/*
 * The configuration mode of a console: the prompt is `NAME(config)# `, inside a block
 * `NAME(config-if)# `, and the statements of a configuration file are commands, with `no` before
 * them too. They change the candidate, which all consoles share; `commit` puts it into force
 * (control/commit/commit.h).
 */
#ifndef CONTROL_CLI_CONFIGURE_H
#define CONTROL_CLI_CONFIGURE_H

#include "control/console/shell.h"
#include "control/management/remote.h"

/* Which commands the shell has: those of the mode it is in. */
void commands_set(struct shell *sh);

/* For sessions over the network: their commands; a session that leaves a changed candidate is told of
 * on the serial console. */
extern const struct remote_console configure_console;

/* Rows of the table of commands outside the mode. */
void configure(struct shell *sh);
void show_candidate(struct shell *sh);
void show_compare(struct shell *sh);
void show_history(struct shell *sh);

/* Prints a piece of a configuration, whatever bytes a script in it has; ctx is the shell. */
void configure_print(void *ctx, const char *text, size_t len);

#endif
