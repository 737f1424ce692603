/* The command `test regions`: memory of XDP programs and their maps, for tests of the kernel's part. */
#ifndef CONTROL_TEST_REGION_WORDS_H
#define CONTROL_TEST_REGION_WORDS_H

#include "control/console/shell.h"

/* `make`, `claim`, `free`, `show` or `fill MIB`; the caller has checked test=1. */
void region_words(struct shell *sh);

#endif
