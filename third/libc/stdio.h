/* For foreign code: nothing of it is used. */
#ifndef THIRD_STDIO_H
#define THIRD_STDIO_H

#include <stddef.h>

#endif
