/* Options of commands: words that take a value. */
#ifndef CONTROL_CLI_OPTIONS_H
#define CONTROL_CLI_OPTIONS_H

#include "control/console/shell.h"

/* "NAME N": *value is set to N, from min to max; max 0: N is the name of an interface. */
struct option {
	const char *name;
	uint32_t min, max;
	uint32_t *value; /* holds the default at first */
};

/* The number of the interface with that name: eth0 or 0, eth0.100, lo0. E_INVAL; E_NOENT. */
int option_interface(const char *word, uint32_t *n);

/* Parses the options after the command's first argument. False: one is wrong, and an error was
 * printed. */
bool options_read(struct shell *sh, const struct option *option, unsigned options);

#endif
