/*
 * The configuration mode of a console: the prompt is `NAME(config)# `, inside a block
 * `NAME(config-if)# `, and the statements of a configuration file are commands, with `no` before
 * them too. They change the candidate, which all consoles share; `commit` puts it into force
 * (control/commit.h).
 */
#ifndef CONTROL_CONFIGURE_H
#define CONTROL_CONFIGURE_H

#include "control/shell.h"

/* Which commands the shell has: those of the mode it is in. */
void commands_set(struct shell *sh);

/* The session of that shell ends: if it leaves a changed candidate, says so. */
void configure_leave(struct shell *sh, const char *who);

/* Rows of the table of commands outside the mode. */
void configure(struct shell *sh, int argc, char **argv);
void show_candidate(struct shell *sh, int argc, char **argv);
void show_compare(struct shell *sh, int argc, char **argv);
void show_history(struct shell *sh, int argc, char **argv);

/* Prints a piece of a configuration, whatever bytes a script in it has; ctx is the shell. */
void configure_print(void *ctx, const char *text, size_t len);

#endif
