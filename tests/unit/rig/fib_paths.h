/* The look-up methods (enum fib_path) that this host supports. */
#ifndef TESTS_UNIT_RIG_FIB_PATHS_H
#define TESTS_UNIT_RIG_FIB_PATHS_H

#include "net/fib/fib.h"

#define FIB_PATHS 3

extern const char *const fib_path_name[FIB_PATHS];

bool fib_path_runs(enum fib_path path);

#endif
