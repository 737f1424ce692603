/* The kernel command line: words separated by blanks, options of the form NAME=VALUE. Read by the
 * kernel and by the core programs. */
#ifndef LIB_CMDLINE_H
#define LIB_CMDLINE_H

#include "lib/types.h"

/* Copies the value of the first option `name` whose value fits in size bytes with its NUL to buf;
 * false, buf untouched, when there is none. */
bool cmdline_option(const char *cmdline, const char *name, char *buf, size_t size);

/* The same as a number, decimal or 0x; `fallback` when absent, malformed or beyond 64 bits. */
uint64_t cmdline_number(const char *cmdline, const char *name, uint64_t fallback);

#endif
