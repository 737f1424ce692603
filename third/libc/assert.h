/* For foreign code: an assertion that fails ends the program. */
#ifndef THIRD_ASSERT_H
#define THIRD_ASSERT_H

#include <stdlib.h>

#define assert(x) ((x) ? (void)0 : abort())

#endif
