/* The kernel command line: words separated by blanks, options of the form NAME=VALUE. Read by the
 * kernel and by the core programs. */
#ifndef LIB_CMDLINE_H
#define LIB_CMDLINE_H

#include "lib/types.h"

/* Copies the value of the first option `name` whose value fits in size bytes with its NUL to buf;
 * false, buf untouched, when there is none. */
bool cmdline_option(const char *cmdline, const char *name, char *buf, size_t size);

#endif
