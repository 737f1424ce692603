/* The kernel command line: words separated by blanks, options of the form NAME=VALUE. The kernel and the
 * core programs read it. */
#ifndef LIB_CMDLINE_H
#define LIB_CMDLINE_H

#include "lib/types.h"

/* Copies to buf the value of the first option `name` whose value fits in size bytes with its NUL.
 * False if there is none; buf is then unchanged. */
bool cmdline_option(const char *cmdline, const char *name, char *buf, size_t size);

/* The option's value as a number, decimal or 0x; `fallback` if absent, malformed or beyond 64 bits. */
uint64_t cmdline_number(const char *cmdline, const char *name, uint64_t fallback);

#endif
